# SPDX-License-Identifier: Apache-2.0
"""Parameter servers: artel beside TensorFlow's ParameterServerStrategy, and what the loss of a task costs.

usage: servers.py --artel PROGRAM [--rounds 5] [--rows 20000,200000] [--parts wide,copies,loss] [--kills 20] [--out bench/servers.md]

wide    a model of 8 tables of `rows` x 16, Dense 64, 1; SGD, batches of 1,024, two workers of one thread and one server, asynchronous: examples a
        second of artel and of TensorFlow in turn, and their ratio in each round
copies  the same of artel on two servers with --ps-copies 2 over --ps-copies 1, who goes first in turn; and the processor time of all tasks a step, with 1
        over with 2: what the former would be where nobody waits
loss    kill -9, in a small model: to one of two servers with copies, and to the chief, which is started again at once and goes on from its
        checkpoint of at most 100 steps before; from the signal to the line of the next step

Median, least and largest over the rounds. Machines that do other things give other rates; ratios are of runs that stand beside one another.
"""
import argparse
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS, BATCH = 600, 1024


def ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    found = ["127.0.0.1:%d" % s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return found


def tasks(workers, servers):
    address = ports(1 + workers + servers)
    cluster = {"chief": address[:1], "worker": address[1 : 1 + workers], "ps": address[1 + workers :]}
    return [(kind, i, json.dumps({"cluster": cluster, "task": {"type": kind, "index": i}})) for kind in ("ps", "worker", "chief") for i in range(len(cluster[kind]))]


def begin(command, kind, config):
    return subprocess.Popen(command(kind), env={**os.environ, "TF_CONFIG": config}, stdout=subprocess.PIPE if kind == "chief" else subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL, text=True)


def start(command, workers, servers):
    return {(kind, i): begin(command, kind, config) for kind, i, config in tasks(workers, servers)}


def stop(running):
    for p in running.values():
        p.kill()
        p.wait()


def spent(running):
    """Seconds of processor time of all tasks up to now."""
    ticks = 0
    for p in running.values():
        with open("/proc/%d/stat" % p.pid) as f:
            ticks += sum(map(int, f.read().rsplit(")", 1)[1].split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def words(o, model, data, *more):
    def command(kind):
        return [o.artel, "fit", model, "--data", "npz:" + data, "--strategy", "parameter-server", "--batch-size", str(BATCH), "--threads", "1", "--verbose", "0",
                "--post-mortem", "none", "--insecure-network", *more, *(["--json"] if kind == "chief" else [])]

    return command


def fit(o, model, data, servers, *more):
    return start(words(o, model, data, *more), 2, servers)


def artel(o, model, data, servers, *more):
    """Of the second epoch, between its first and its last step: examples a second, and milliseconds of processor time a step."""
    running = fit(o, model, data, servers, "--epochs", "2", *more)
    at = {}
    for line in running["chief", 0].stdout:
        event = json.loads(line)
        if event["event"] == "step" and event["step"] in (STEPS + 1, 2 * STEPS):
            at[event["step"]] = time.monotonic(), spent(running)
    stop(running)
    seconds, busy = (b - a for a, b in zip(at[STEPS + 1], at[2 * STEPS]))
    return (STEPS - 1) * BATCH / seconds, 1e3 * busy / (STEPS - 1)


def tensorflow(rows, data):
    running = start(lambda kind: [sys.executable, os.path.join(HERE, "servers_peer.py"), str(rows), str(STEPS), str(BATCH), data], 2, 1)
    said = running["chief", 0].communicate()[0]
    stop(running)
    return STEPS * BATCH / json.loads(said)["seconds"]


def loss(o, model, data):
    running = fit(o, model, data, 2, "--epochs", "1000", "--ps-copies", "2")
    took = None
    for line in running["chief", 0].stdout:
        event = json.loads(line)
        if event["event"] == "membership" and took is not None:
            killed = True
        if event["event"] != "step":
            continue
        if took is None and event["step"] > STEPS:
            running["ps", 0].send_signal(signal.SIGKILL)
            took, killed = time.monotonic(), False
        elif took is not None and killed:
            took = time.monotonic() - took
            break
    stop(running)
    return took


def steps(task):
    return (event["step"] for event in map(json.loads, task.stdout) if event["event"] == "step")


def loss_of_chief(o, model, data):
    with tempfile.TemporaryDirectory() as folder:
        command = words(o, model, data, "--epochs", "1000", "--checkpoint-dir", folder, "--save-every", "100steps")
        found = tasks(2, 2)
        running = {(kind, i): begin(command, kind, config) for kind, i, config in found}
        next(step for step in steps(running["chief", 0]) if step > 2 * STEPS)
        since = time.monotonic()
        running["chief", 0].kill()
        running["chief", 0].wait()
        running["chief", 0] = begin(command, "chief", found[-1][2])
        step = next(steps(running["chief", 0]))
        took = time.monotonic() - since
        stop(running)
        assert step > STEPS, "it began anew"
        return took


def make(folder, rows):
    os.environ["KERAS_BACKEND"] = "tensorflow"
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
    import keras
    import numpy as np
    from keras import layers as L

    r = np.random.default_rng(0)
    data, model = os.path.join(folder, "%d.npz" % rows), os.path.join(folder, "%d.keras" % rows)
    np.savez(data, x=r.integers(0, rows, (STEPS * BATCH, 8)).astype("int32"), y=r.integers(0, 2, (STEPS * BATCH, 1)).astype("float32"))
    x = keras.Input((8,), dtype="int32")
    h = L.Concatenate()([L.Flatten()(L.Embedding(rows, 16)(x[:, i : i + 1])) for i in range(8)])
    m = keras.Model(x, L.Dense(1, activation="sigmoid")(L.Dense(64, activation="relu")(h)))
    m.compile(keras.optimizers.SGD(0.05), "binary_crossentropy")
    m.save(model)
    return model, data


def row(name, unit, values, digits=0):
    return "| %s | %s | %.*f | %.*f | %.*f |" % (name, unit, digits, statistics.median(values), digits, min(values), digits, max(values))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--artel", required=True)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--rows", default="20000,200000")
    p.add_argument("--parts", default="wide,copies,loss")
    p.add_argument("--kills", type=int, default=20)
    p.add_argument("--out", default=os.path.join(HERE, "servers.md"))
    o = p.parse_args()
    lines = ["| | | median | least | most |", "|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        for rows in map(int, filter(None, o.rows.split(","))):
            model, data = make(folder, rows)
            ours, theirs, copies = [], [], []
            for k in range(o.rounds):
                if "wide" in o.parts:
                    theirs.append(tensorflow(rows, data))
                    ours.append(artel(o, model, data, 1)[0])
                if "copies" in o.parts:
                    found = {n: artel(o, model, data, 2, "--ps-copies", n) for n in ("21" if k % 2 else "12")}
                    copies.append((found["2"][0] / found["1"][0], found["1"][1] / found["2"][1], found["1"][1], found["2"][1]))
            if ours:
                lines += [row("8 tables of %d rows: artel" % rows, "examples/s", ours), row("TensorFlow", "examples/s", theirs),
                          row("artel / TensorFlow", "", [a / b for a, b in zip(ours, theirs)], 2)]
            if copies:
                of = "8 tables of %d rows, two servers: " % rows
                for name, unit, values in zip(("copies 2 / 1", "processor time, copies 1 / 2", "processor time with 1 copy", "with 2"), ("", "", "ms/step", "ms/step"), zip(*copies)):
                    lines.append(row(of + name, unit, values, 2))
            print("\n".join(lines[2:]), flush=True)
        if "loss" in o.parts:
            model, data = make(folder, 2000)
            for name, lose in (("a server with copies", loss), ("the chief", loss_of_chief)):
                lines.append(row("kill of %s to the next step (%d kills)" % (name, o.kills), "ms", [1e3 * lose(o, model, data) for _ in range(o.kills)]))
    text = "\n".join(lines) + "\n"
    print(text)
    with open(o.out, "w") as f:
        f.write("# Parameter servers\n\nMade by `bench/servers.py`; load of the machine at the end: %.1f on %d cores.\n\n%s" % (os.getloadavg()[0], os.cpu_count(), text))


if __name__ == "__main__":
    main()
