#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cpack's Debian packages: lintian finds no error where it is installed, and what they hold runs from another root.
# labels: long
set -eu
cd "${ARTEL_SCRATCH:?run me with scripts/run-test}"
command -v dpkg-deb >/dev/null && command -v dpkg-shlibdeps >/dev/null || { echo "skipped: dpkg-dev is not installed"; exit 77; }
cpack -G DEB --config "$ARTEL_BUILD/CPackConfig.cmake" >log 2>&1 || { cat log; exit 1; }
[ "$(ls ./*.deb | wc -l)" = 3 ]
if command -v lintian >/dev/null; then lintian --fail-on error ./*.deb; fi
for package in ./*.deb; do dpkg-deb -x "$package" root; done
root/usr/bin/artel version
root/usr/bin/artel cert init certs # finds its part
dpkg-deb -f artel_*.deb Depends | grep -q 'libartel[0-9.]* (= '
dpkg-deb -f libartel[0-9]*.deb Depends | grep -q libssl
