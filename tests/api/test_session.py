# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Sessions among processes: kills, parameter servers, other placements give the bits of one process; and names of places are TensorFlow's."""

import ctypes
import os
import sys
import tempfile

from cli import expect, run_checks
from oracle import artel

BUILD = os.environ["ARTEL_BUILD"]
PROGRAM = os.path.join(BUILD, "tests", "api", "prog_session")
UNITS = 12


def train(how, victim, places, restarts=0):
    """What the first task prints, of a job whose first and second layer and loss are at `places`."""
    tasks = how[1] + (how[3] if "--ps" in how else 0)
    ran = artel("launch", *how, "--insecure-network", "--restarts", restarts, "--program", PROGRAM, "--", tempfile.mkdtemp(), UNITS, victim, tasks, *places, timeout=240)
    hashes = [line.split()[-1] for line in ran.out.splitlines() if "variables" in line]
    expect(ran.rc == 0 and len(hashes) == 1, how, victim, places, "exit code", ran.rc, ran.out[-600:], ran.err[-800:])
    expect(ran.err.count("started again") == (victim >= 0), how, victim, "tasks that were lost:", ran.err[-800:])
    return hashes[0]


def GS3_monitored_session():
    """Two tasks, three, parameter servers; killed: a task that serves, the client; all alike."""
    alone = train(["-n", 1], -1, ["/task:0"] * 3)
    two = ["/job:worker/task:0", "/job:worker/task:1", "/job:worker/task:1"]
    three = ["/task:2", "/task:1", "/task:0"]
    for how, victim, places in ((["-n", 2], -1, two), (["-n", 2], 1, two), (["-n", 3], 0, three), (["-n", 3], 2, three),
                                (["-n", 2, "--ps", 1, "--chief"], -1, ["/job:worker", "/job:ps", "/job:chief"]), (["-n", 2, "--ps", 2, "--chief"], 2, ["/job:ps/task:0", "/job:ps/task:1", "/job:worker"])):
        got = train(how, victim, places, restarts=3 if victim >= 0 else 0)
        expect(got == alone, how, "victim", victim, places, "give other variables:", got, alone)


NAMES = ["", "/job:worker/task:1", "job:ps", "/cpu:0", "/CPU:1", "/device:cpu:0", "/device:GPU:*", "/gpu", "//job:a//task:2", "/task:1/job:x", "/replica:0/job:a", "/job:a/job:b",
         "/cpu:*", "gpu:1", "/device:FOO:0", "/job:a/replica:1/task:3/device:TPU:7"]
WRONG = ["/device:GPU:0/cpu:0", "/foo:1", "/task:*", "/job:a:b", "/device:CPU", " /job:a", "/task:x", "/replica:1.5"]


def names():
    """Read, merged and written as TensorFlow does; what it refuses is refused."""
    import tensorflow as tf

    library = ctypes.CDLL(os.path.join(BUILD, "libartel.so"))
    context, room = ctypes.c_void_p(), ctypes.create_string_buffer(192)
    expect(library.artel_context_create(None, ctypes.byref(context)) == 0, "no context")

    def merge(outer, inner):
        status = library.artel_device_merge(context, outer.encode(), inner.encode(), room, ctypes.c_size_t(192))
        return room.value.decode() if status == 0 else status

    for outer in NAMES:
        for inner in NAMES:
            want = tf.DeviceSpec.from_string(outer).make_merged_spec(tf.DeviceSpec.from_string(inner)).to_string()
            expect(merge(outer, inner) == want, outer, inner, merge(outer, inner), want)
    for name in WRONG:
        try:
            tf.DeviceSpec.from_string(name)
            expect(False, "TensorFlow takes", name)
        except ValueError:
            expect(isinstance(merge("", name), int), name, "is taken")
    library.artel_context_destroy(context)


def by_turns():
    """The table of test_session.c is that of replica_device_setter."""
    import tensorflow as tf

    with tf.Graph().as_default() as graph, graph.device(tf.compat.v1.train.replica_device_setter(ps_tasks=2, worker_device="/job:worker/task:3")):
        got = [tf.compat.v1.get_variable("v%d" % i, [4 + i], use_resource=False).device for i in range(4)]
        other = tf.constant(1.0).device
    expect(got == ["/job:ps/task:0", "/job:ps/task:1"] * 2 and other == "/job:worker/task:3", got, other)


sys.exit(run_checks(GS3_monitored_session, names, by_turns))
