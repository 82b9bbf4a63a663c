# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""docs/coverage.md has the counts that the tables of the tests have today, and names no file that is gone."""

import os
import subprocess
import sys

from oracle import ROOT, Failure, table


class Row:
    name = "page-is-not-stale"


def run(row, index, folder, keras_only):
    del row, index, folder, keras_only
    done = subprocess.run([sys.executable, os.path.join(ROOT, "tests", "oracle", "coverage.py"), "--check"], capture_output=True, text=True)
    if done.returncode:
        raise Failure((done.stdout + done.stderr).strip()[-1500:])
    return []


if __name__ == "__main__":
    table([Row()], run, [])
