# SPDX-License-Identifier: Apache-2.0
"""For tests of data formats: rows as prog_data delivers them to a model, compared bit for bit; refusals by their words."""
import os
import subprocess

import numpy as np

BUILD = os.environ["ARTEL_BUILD"]
PROGRAM = os.path.join(BUILD, "tests", "data", "prog_data")
ARTEL = os.environ.get("ARTEL", os.path.join(BUILD, "artel"))
failures = []


def check(name, good, *more):
    if not good:
        failures.append(name)
        print("FAILED:", name, *more)


def run(*words, env=None):
    """Exit code, stdout, stderr."""
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=120, env=env)
    return done.returncode, done.stdout, done.stderr


def deliver(spec, dtype="float32", *extents):
    """All rows of the first input; `extents`: those that the model states."""
    rc, out, err = run(PROGRAM, spec, dtype, "out.raw", *extents)
    if rc != 0:
        raise AssertionError("%s: %s" % (spec, err.strip()))
    return np.fromfile("out.raw", dtype).reshape(tuple(map(int, out.split())))


def texts(spec, *extents):
    """The same of an input of strings: an array of bytes objects."""
    rc, out, err = run(PROGRAM, spec, "string", "out.raw", *extents)
    if rc != 0:
        raise AssertionError("%s: %s" % (spec, err.strip()))
    content, found, at = open("out.raw", "rb").read(), [], 0
    while at < len(content):
        end = at + 4 + int.from_bytes(content[at:at + 4], "little")
        found.append(content[at + 4:end])
        at = end
    shape = tuple(map(int, out.split()))
    whole = np.empty(len(found), object)
    whole[:] = found
    return whole.reshape(shape)


def same_texts(name, found, wanted):
    check(name, found.tolist() == np.asarray(wanted, object).tolist(), found.shape, found.ravel()[:6], np.asarray(wanted, object).ravel()[:6])


def same(name, found, wanted):
    wanted = np.asarray(wanted)
    check(name, found.shape == wanted.shape and found.dtype == wanted.dtype and found.tobytes() == wanted.tobytes(),
          found.shape, wanted.shape, found.ravel()[:6], wanted.ravel()[:6])


def refused(name, spec, *words):
    rc, _, err = run(PROGRAM, spec, "float32", "out.raw")
    check(name, rc == 1 and all(w in err for w in words), err)
    return err


def report():
    """The exit code of the test."""
    print("%d failures" % len(failures))
    return 1 if failures else 0
