# SPDX-License-Identifier: Apache-2.0
# timeout: 1200
# labels: long
"""bench/device.py, which measures a device that is lent for minutes, on XLA's plug-in for the CPU: every run has the digest it has to have, what there
is no time for is named, and a run that fails is told and makes the whole fail. Skipped without the plug-in."""

import os
import subprocess
import sys
import tempfile

from cli import MODELS, expect, run_checks, save
from oracle import ARTEL, ROOT, clean_environment, skip_without_xla

FOLDER = tempfile.TemporaryDirectory()


def measure(*more):
    model = os.path.join(FOLDER.name, "mlp.keras")
    if not os.path.exists(model):
        save(MODELS["mlp"], model)
    done = subprocess.run([sys.executable, os.path.join(ROOT, "bench", "device.py"), "--artel", ARTEL, "--models", model + ":64", "--steps", "4", *more],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=clean_environment(), timeout=1100)
    return done.returncode, done.stdout.decode(errors="replace")


def repeats():
    report = os.path.join(FOLDER.name, "report.md")
    rc, out = measure("--device", "cpu:xla", "--parts", "digests", "--seconds", "1000", "--out", report)
    expect(rc == 0 and out.count("| same |") == 15, "exit code", rc, out)
    with open(report) as f:
        expect(f.read() in out, "the report is not what was said")


def little_time():
    rc, out = measure("--device", "cpu:xla", "--parts", "speed", "--seconds", "1", "--run", "echo=echo said")
    expect(rc == 0 and "Left out for want of time: mlp.keras, fixed float32" in out and "echo" in out.splitlines()[-1], "exit code", rc, out)


def failures():
    rc, out = measure("--device", "gpus", "--parts", "digests")
    expect(rc == 1 and "names no device" in out, "exit code", rc, out)


if __name__ == "__main__":
    skip_without_xla()
    sys.exit(run_checks(repeats, little_time, failures))
