# SPDX-License-Identifier: Apache-2.0
"""What training over parameter servers costs in accuracy when one worker is slow.

usage: servers_accuracy.py --artel PROGRAM [--epochs 8] [--goal 0.88] [--slower 5] [--seeds 1] [--out bench/servers-accuracy.md]

The CNN of examples/fashion-mnist on Fashion-MNIST (Debian's dataset-fashion-mnist), Adam, batches of 128; one process, and then a chief, four
workers of one thread and one server: async, bounded:2, sync:3 (of 4). The last worker is stopped for (slower - 1) of every `slower` slices
of 20 ms, so it computes `slower` times less. Of each: the seconds from the first step until the accuracy on the 10,000 test images was `goal` at
the end of an epoch, and the best of the epochs; staleness of the last epoch. Four workers share the machine's cores: seconds say how the ways
compare here, not how four machines would.
"""
import argparse
import itertools
import json
import os
import signal
import subprocess
import tempfile
import threading
import time

from servers import ports

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = "/usr/share/datasets/fashion-mnist/"
SLICE = 0.02  # seconds
WAYS = ("async", "bounded:2", "sync:3")


def words(o, seed, *more):
    idx = "idx:" + DATA + "%s-images-idx3-ubyte.gz," + DATA + "%s-labels-idx1-ubyte.gz#scale=1/255"
    return [o.artel, "fit", os.path.join(HERE, "../examples/fashion-mnist/cnn.json"), "--data", idx % ("train", "train"), "--validation", idx % ("t10k", "t10k"),
            "--epochs", str(o.epochs), "--batch-size", "128", "--seed", str(seed), "--optimizer", "adam", "--loss", "sparse_categorical_crossentropy",
            "--metrics", "accuracy", "--threads", "1", "--verbose", "0", *more]


def slow(process, times, over):
    """Until it is over: it runs for one slice of `times`."""
    while not over.is_set() and process.poll() is None:
        process.send_signal(signal.SIGSTOP)
        over.wait(SLICE * (times - 1))
        process.send_signal(signal.SIGCONT)
        over.wait(SLICE)


def follow(o, process):
    """Seconds to the goal (None: never), the best accuracy, the last staleness."""
    begin = reached = staleness = None
    best = 0
    for event in map(json.loads, process.stdout):
        if event["event"] == "step" and begin is None:
            begin = time.monotonic()
        elif event["event"] == "staleness":
            staleness = event
        elif event["event"] == "epoch":
            best = max(best, event["val_accuracy"])
            if reached is None and best >= o.goal:
                reached = time.monotonic() - begin
    return reached, best, staleness


def one_process(o, seed):
    process = subprocess.Popen([*words(o, seed), "--json"], stdout=subprocess.PIPE, text=True)
    found = follow(o, process)
    assert process.wait() == 0, "one process failed"
    return found


def servers(o, seed, way):
    """Its output is read until the chief has ended."""
    address = ports(6)
    cluster = {"chief": address[:1], "worker": address[1:5], "ps": address[5:]}
    over, tasks = threading.Event(), []
    with tempfile.TemporaryDirectory() as folder:
        for kind, index in [("ps", 0), *(("worker", i) for i in range(4)), ("chief", 0)]:
            more = ["--strategy", "parameter-server", "--consistency", way, "--insecure-network", "--post-mortem", "none", "--suspect-after", "60"]
            with open(os.path.join(folder, kind + str(index)), "w") as log:
                tasks.append(subprocess.Popen(words(o, seed, *more, *(["--json"] if kind == "chief" else [])), stderr=log, text=True,
                                              env={**os.environ, "TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": kind, "index": index}})},
                                              stdout=subprocess.PIPE if kind == "chief" else subprocess.DEVNULL))
        braking = threading.Thread(target=slow, args=(tasks[4], o.slower, over))
        braking.start()
        found = follow(o, tasks[-1])
        over.set()
        braking.join()
        assert [task.wait() for task in tasks] == [0] * len(tasks), way + " failed"
    return found


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--artel", required=True)
    p.add_argument("--epochs", type=int, default=8)
    p.add_argument("--goal", type=float, default=0.88)
    p.add_argument("--slower", type=int, default=5)
    p.add_argument("--seeds", type=int, default=1)
    p.add_argument("--out", default=os.path.join(HERE, "servers-accuracy.md"))
    o = p.parse_args()
    lines = ["| | seed | seconds to %g | best accuracy | points below one process | staleness: half, 90 %%, most |" % o.goal, "|---|---|---|---|---|---|"]
    base = {}
    for seed, way in itertools.product(range(1, o.seeds + 1), ("one process", *WAYS)):
        reached, best, staleness = one_process(o, seed) if way == "one process" else servers(o, seed, way)
        base.setdefault(seed, best)
        lines.append("| %s | %d | %s | %.4f | %.2f | %s |" % (way, seed, "never" if reached is None else "%.1f" % reached, best, 100 * (base[seed] - best),
                                                           "" if staleness is None else "%(p50)d, %(p90)d, %(max)d" % staleness))
        print(lines[-1], flush=True)
    with open(o.out, "w") as f:
        f.write("# Accuracy over parameter servers\n\nMade by `bench/servers_accuracy.py`: four workers, one of them %d times slower, one server, %d epochs; load of the machine at "
                "the end: %.1f on %d cores.\n\n%s\n" % (o.slower, o.epochs, os.getloadavg()[0], os.cpu_count(), "\n".join(lines)))


if __name__ == "__main__":
    main()
