# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""docs/keras-coverage.md says what artel takes of Keras today: the page is made again and compared."""

import os
import subprocess
import sys

from oracle import ARTEL, ROOT, Failure, table


class Row:
    name = "page-is-not-stale"


def run(row, index, folder, keras_only):
    del row, index, folder, keras_only
    done = subprocess.run([sys.executable, os.path.join(ROOT, "scripts", "keras-coverage"), "--check"], capture_output=True, text=True,
                          env={**os.environ, "ARTEL": ARTEL})
    if done.returncode:
        raise Failure((done.stdout[-1500:] + done.stderr[-1500:]).strip())
    return []


if __name__ == "__main__":
    table([Row()], run, [])
