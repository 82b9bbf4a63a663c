# SPDX-License-Identifier: Apache-2.0
# timeout: 120
# long form: 900
"""A worker whose neighbour dies and joins again, time after time, for thousands of steps, takes no more memory, descriptors or threads."""

import dataclasses
import os
import re

from cli import MODELS, save, save_arrays
from oracle import LONG, Failure, table
from storm import ByHand

JOINS, STEPS = (200, 10000) if LONG else (12, 1000)
ROWS, BATCH = 8000, 8  # long epochs: of each, values for the history are kept
STEPS_PER_EPOCH = 950
ROOM = 512 << 10  # bytes that the allocator may add after the first quarter
LIMIT = 300  # seconds for what takes one; a guard against hanging
PER_EPOCH = 8 * STEPS_PER_EPOCH + 2000  # the times of steps, up to a limit, for their median; the history, and copies of it


@dataclasses.dataclass
class Row:
    name: str
    neighbour: int  # who dies: above the worker that is watched, or below, so that the watched one becomes the writer each time


def watch(pid):
    """Resident bytes that are the process's own, descriptors, threads."""
    status = open("/proc/%d/status" % pid).read()
    own = int(re.search(r"RssAnon:\s+(\d+)", status).group(1)) * 1024
    return own, len(os.listdir("/proc/%d/fd" % pid)), int(re.search(r"Threads:\s+(\d+)", status).group(1))


def run(row, index, folder, keras_only):
    model, data = save(MODELS["mlp"], os.path.join(folder, "m.keras")), save_arrays("mlp", os.path.join(folder, "d.npz"), ROWS)
    watched = 1 - row.neighbour
    job = ByHand(folder, 2, {0: 2}, ["fit", model, "--data", data, "--validation-split", 0.05, "--batch-size", BATCH, "--epochs", 1000000, "--threads", 1,
                                     "--strategy", "multi-worker", "--json=epochs", "--checkpoint-dir", os.path.join(folder, "ckpt"), "--save-every", "200steps"])
    name = "worker:%d" % watched
    pid = job.tasks()[name]
    try:
        if not job.pass_time(LIMIT, re.compile(r'"why": "the job begins"')):
            raise Failure("the job does not begin: " + job.said())
        seen, joined = [], re.compile(r'"joined": \["worker %d' % row.neighbour)
        while len(seen) < JOINS or epochs(job, watched) * STEPS_PER_EPOCH < STEPS:
            os.kill(job.tasks()["worker:%d" % row.neighbour], 9)
            if not job.pass_time(LIMIT, joined):
                raise Failure("worker %d does not join again: %s" % (row.neighbour, job.said()[-2000:]))
            job.pass_time(0.1)
            seen.append((*watch(pid), epochs(job, watched)))
    finally:
        job.close()
    warm, end = seen[len(seen) // 4], seen[-1]
    grown = max(s[0] for s in seen[-3:]) - warm[0]
    if grown > ROOM + PER_EPOCH * (end[3] + 1 - warm[3]) or end[1] > warm[1] + 2 or end[2] > warm[2] + 1:
        raise Failure("after %d joins %d bytes, %d descriptors, %d threads, %d epochs; after %d %d, %d, %d, %d" % (len(seen), *end, len(seen) // 4, *warm))
    return [len(seen), grown >> 10]


def epochs(job, index):
    return job.lives[index].out.text.count('"event": "epoch"')


if __name__ == "__main__":
    table([Row("upper", 1), Row("lower", 0)], run, ["joins", "KB more"], at_once=2)
