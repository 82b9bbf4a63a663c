# SPDX-License-Identifier: Apache-2.0
"""Steps that do next to nothing, by two workers over two servers: artel's coordinator beside TensorFlow's, and rows of a table beside those of a larger one.

usage: servers_null.py --artel PROGRAM --null-step PROGRAM [--parts closures,sparse] [--tables 1,8] [--rounds 5] [--out bench/servers-null.md]

closures  A closure reads one variable, halves it, and sends that as a gradient of SGD: v -= rate * (v * 0.5). Of one float, and of 100 MB, which is at one server whole.
          The seconds of the second half of the closures, so tracing and planning are not among them. In each round TensorFlow, then artel. --null-step is
          bench/null_step.c, built as its head says
sparse    Each step of `artel fit` reads 32 rows of 16 floats of a table, and steps them by SGD, asynchronously. Tables of so many GiB (--tables), half of each at either
          server, which draws it (so much memory is needed); steps a second behind the first 2,000, and microseconds of processor time of all tasks a step. Tables
          take turns, in every other round the largest first

Median, least and largest of the rounds.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

from servers import begin, ports, row, spent, stop, tasks

SIZES = {1: 1000, 25_000_000: 20}  # floats: closures
WIDTH, ROWS, WARM, STEPS = 16, 32, 2000, 30_000  # of a table; of a step; steps


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


def make(folder, size):
    """An architecture without weights, as Keras writes it, and data that names any rows of the table."""
    os.environ.update(KERAS_BACKEND="tensorflow", CUDA_VISIBLE_DEVICES="-1", TF_CPP_MIN_LOG_LEVEL="3")
    import keras
    import numpy as np
    from keras import layers as L

    count, total = int(size * 2**30) // (4 * WIDTH), (WARM + 2 * STEPS) * ROWS
    model, data = os.path.join(folder, "%g.json" % size), os.path.join(folder, "%g.npz" % size)
    x = keras.Input((1,), dtype="int32")
    m = keras.Model(x, L.Dense(1)(L.Flatten()(L.Embedding(999, WIDTH)(x))))
    with open(model, "w") as f:
        f.write(m.to_json().replace('"input_dim": 999', '"input_dim": %d' % count))
    r = np.random.default_rng(0)
    np.savez(data, x=r.integers(0, count, (total, 1)).astype("int32"), y=r.random((total, 1)).astype("float32"))
    return model, data


def sparse(o, folder, model, data):
    """Steps a second, and microseconds of processor time a step. The end of the epoch, when the chief takes the table, is never reached."""
    def command(kind):
        return [o.artel, "fit", model, "--data", "npz:" + data + "#x,y", "--loss", "mse", "--optimizer", "sgd", "--epochs", "1", "--strategy", "parameter-server", "--partitioner", "fixed:2",
                "--ps-copies", "1", "--batch-size", str(ROWS), "--threads", "1", "--verbose", "0", "--post-mortem", "none", "--insecure-network", "--spill", folder,
                *(["--json"] if kind == "chief" else [])]

    running = {(kind, i): begin(command, kind, config) for kind, i, config in tasks(2, 2)}
    at = {}
    for line in running["chief", 0].stdout:
        event = json.loads(line)
        if event["event"] == "step" and event["step"] in (WARM, WARM + STEPS):
            at[event["step"]] = time.monotonic(), spent(running)
        if WARM + STEPS in at:
            break
    stop(running)
    seconds, busy = (b - a for a, b in zip(at[WARM], at[WARM + STEPS]))
    return STEPS / seconds, 1e6 * busy / STEPS


def tables(o):
    sizes, lines = sorted(map(float, o.tables.split(","))), []
    rates = {size: [] for size in sizes}
    with tempfile.TemporaryDirectory() as folder:
        made = {size: make(folder, size) for size in sizes}
        for k in range(o.rounds):
            for size in sizes[::-1] if k % 2 else sizes:
                rates[size].append(sparse(o, folder, *made[size]))
                print("%g GiB: %.0f steps/s, %.1f us of processor time a step" % (size, *rates[size][-1]), flush=True)
    for size in sizes:
        name = "%d rows of a table of %g GiB" % (ROWS, size)
        lines += [row(name, "steps/s", [rate for rate, _ in rates[size]]), row(name, "us of processor time a step", [busy for _, busy in rates[size]], 1)]
    for size in sizes[1:]:
        pairs = list(zip(rates[size], rates[sizes[0]]))
        lines += [row("steps/s, %g GiB / %g GiB" % (size, sizes[0]), "", [a[0] / b[0] for a, b in pairs], 3),
                  row("processor time, %g GiB / %g GiB" % (sizes[0], size), "", [b[1] / a[1] for a, b in pairs], 3)]
    return lines


def closures(o):
    lines = []
    for floats, count in SIZES.items():
        theirs, ours = [], []
        for _ in range(o.rounds):
            theirs.append(tensorflow(floats, count))
            ours.append(artel(o, floats, count))
        lines += [row("%d bytes: artel" % (4 * floats), "closures/s", ours, 1), row("TensorFlow", "closures/s", theirs, 1),
                  row("artel / TensorFlow", "", [a / b for a, b in zip(ours, theirs)], 2)]
        print("\n".join(lines[-3:]), flush=True)
    return lines


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--artel", default="artel")
    p.add_argument("--null-step", default="null_step")
    p.add_argument("--parts", default="closures,sparse")
    p.add_argument("--tables", default="1,8")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--out", default="servers-null.md")
    p.add_argument("--peer", help=argparse.SUPPRESS)
    o = p.parse_args()
    if o.peer:
        peer(*map(int, o.peer.split(",")))
        return
    lines = ["| | | median | least | most |", "|---|---|---|---|---|"]
    if "closures" in o.parts:
        lines += closures(o)
    if "sparse" in o.parts:
        lines += tables(o)
    print("\n".join(lines))
    with open(o.out, "w") as f:
        f.write("# Steps that do nothing\n\nMade by `bench/servers_null.py --parts %s`: two workers, two servers; %d rounds in turn; load of the machine at the end: %.1f on %d cores.\n\n%s\n"
                % (o.parts, o.rounds, os.getloadavg()[0], os.cpu_count(), "\n".join(lines)))


if __name__ == "__main__":
    main()
