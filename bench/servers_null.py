# SPDX-License-Identifier: Apache-2.0
"""Closures that do next to nothing, over two servers by two workers: artel's coordinator beside TensorFlow's.

usage: servers_null.py --artel PROGRAM --null-step PROGRAM [--rounds 5] [--out bench/servers-null.md]

A closure reads one variable, halves it, and sends that as a gradient of SGD: v -= rate * (v * 0.5). Of one float, and of 100 MB, which is at one server whole. The seconds
of the second half of the closures, so tracing and planning are not among them. In each round TensorFlow, then artel; median, least and largest of the rounds.
--null-step is bench/null_step.c, built as its head says.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

from servers import ports, row

SIZES = {1: 1000, 25_000_000: 20}  # floats: closures


def peer(floats, closures):
    """A task of TensorFlow, by TF_CONFIG; the chief prints seconds."""
    os.environ.update(CUDA_VISIBLE_DEVICES="-1", TF_CPP_MIN_LOG_LEVEL="3")
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    if resolver.task_type in ("worker", "ps"):
        tf.distribute.Server(resolver.cluster_spec(), job_name=resolver.task_type, task_index=resolver.task_id, protocol="grpc", start=True).join()
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        v = tf.Variable(tf.zeros([] if floats == 1 else [floats]))

    @tf.function
    def step():
        v.assign_sub(0.05 * (v * 0.5))

    for timed in (False, True):
        begin = time.monotonic()
        for _ in range(closures):
            coordinator.schedule(step)
        coordinator.join()
        if timed:
            print(json.dumps({"seconds": time.monotonic() - begin}), flush=True)


def tensorflow(floats, closures):
    address = ports(5)
    cluster = {"chief": address[:1], "worker": address[1:3], "ps": address[3:]}
    running = []
    for kind in ("ps", "worker", "chief"):
        for i in range(len(cluster[kind])):
            config = json.dumps({"cluster": cluster, "task": {"type": kind, "index": i}})
            running.append(subprocess.Popen([sys.executable, os.path.abspath(__file__), "--peer", "%d,%d" % (floats, closures)], env={**os.environ, "TF_CONFIG": config},
                                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True))
    said = running[-1].communicate()[0]
    for p in running:
        p.kill()
        p.wait()
    return closures / json.loads(said)["seconds"]


def artel(o, floats, closures):
    done = subprocess.run([o.artel, "launch", "--chief", "-n", "3", "--ps", "2", "--insecure-network", "--program", os.path.abspath(o.null_step), "--", str(floats), str(closures)],
                          stdout=subprocess.PIPE, text=True, check=True)
    return closures / json.loads(done.stdout.split("] ", 1)[-1])["seconds"]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--artel", default="artel")
    p.add_argument("--null-step", default="null_step")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--out", default="servers-null.md")
    p.add_argument("--peer", help=argparse.SUPPRESS)
    o = p.parse_args()
    if o.peer:
        peer(*map(int, o.peer.split(",")))
        return
    lines = ["| | | median | least | most |", "|---|---|---|---|---|"]
    for floats, closures in SIZES.items():
        theirs, ours = [], []
        for _ in range(o.rounds):
            theirs.append(tensorflow(floats, closures))
            ours.append(artel(o, floats, closures))
        lines += [row("%d bytes: artel" % (4 * floats), "closures/s", ours, 1), row("TensorFlow", "closures/s", theirs, 1),
                  row("artel / TensorFlow", "", [a / b for a, b in zip(ours, theirs)], 2)]
        print("\n".join(lines[-3:]), flush=True)
    with open(o.out, "w") as f:
        f.write("# Closures that do nothing\n\nMade by `bench/servers_null.py`: two workers, two servers; %d rounds in turn; load of the machine at the end: %.1f on %d cores.\n\n%s\n"
                % (o.rounds, os.getloadavg()[0], os.cpu_count(), "\n".join(lines)))


if __name__ == "__main__":
    main()
