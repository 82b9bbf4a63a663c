#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every C file is as clang-format leaves it. Mend with: make format
set -eu
"$ARTEL_SOURCE/scripts/format" --check || { echo "mend with: make format"; exit 1; }
