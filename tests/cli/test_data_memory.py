# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""--data-memory changes no bit: compressed records, lines and tables, a cache, at 1 byte, 2 MB, 1 TB and by itself; wrong amounts are refused."""
import gzip
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

ARTEL = os.environ["ARTEL"]
BUDGETS = ["1", "2M", "1T"]
FOLDER = tempfile.TemporaryDirectory(prefix="artel-memory-")
RNG = np.random.default_rng(4)


def path(name):
    return os.path.join(FOLDER.name, name)


def artel(*words, code=0):
    ran = subprocess.run([ARTEL, *map(str, words)], capture_output=True, text=True, timeout=300)
    if ran.returncode != code:
        raise SystemExit("%s: exit code %d\n%s%s" % (words, ran.returncode, ran.stdout, ran.stderr))
    return ran.stdout + ran.stderr


def model():
    os.environ.update(KERAS_BACKEND="tensorflow", TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1")
    import keras
    keras.utils.set_random_seed(1)
    net = keras.Sequential([keras.Input((64,)), keras.layers.Dense(8, "relu"), keras.layers.Dense(3, "softmax")])
    net.compile("sgd", "sparse_categorical_crossentropy")
    net.save(path("m.keras"))


def sources():
    rows = 4000
    x, y = RNG.integers(0, 90, (rows, 64)).astype("f4"), RNG.integers(0, 3, rows)
    np.savez(path("d.npz"), x=x, y=y)
    artel("data", "make", "npz:" + path("d.npz"), "-o", path("d.tfrecord"), "--compression", "gzip", "--shards", 1)
    with gzip.open(path("d.jsonl.gz"), "wt", compresslevel=1) as f:
        f.writelines(json.dumps({"x": a.tolist(), "y": int(b)}) + "\n" for a, b in zip(x, y))
    with gzip.open(path("d.csv.gz"), "wt", compresslevel=1) as f:
        f.write(",".join("c%d" % i for i in range(64)) + ",y\n")
        f.writelines(",".join("%g" % v for v in a) + ",%d\n" % b for a, b in zip(x, y))
    with open(path("p.json"), "w") as f:
        json.dump({"from": "jsonl:%s#label=y" % path("d.jsonl.gz"), "stages": [{"stage": "scale", "column": "x", "divide": 90}, {"stage": "cache"}]}, f)
    return {"records": "tfrecord:" + path("d.tfrecord"), "table": "csv:%s#label=y&stream=yes" % path("d.csv.gz"), "pipeline": "pipeline:" + path("p.json")}


def trained(spec, *memory):
    artel("fit", path("m.keras"), "--data", spec, "--validation", spec, "--epochs", 2, "--batch-size", 96, "--validation-steps", 3, "--steps-per-epoch", 20,
          "--verbose", 0, "--output", path("o.keras"), *memory)
    return artel("inspect", path("o.keras"), "--digest").split()[-1]


def passed(spec, *memory):
    said = artel("evaluate", path("m.keras"), "--data", spec, "--steps", 5, "--json", *memory)
    told = json.loads(next(line for line in said.splitlines() if line.startswith("{")))
    loss = [(k, v) for k, v in sorted(told.items()) if "second" not in k and "rss" not in k]
    artel("predict", path("m.keras"), "--data", spec, "--steps", 5, "--output", path("o.npy"), *memory)
    return loss, np.load(path("o.npy")).tobytes()


def main():
    model()
    for name, spec in sources().items():
        digests = {trained(spec, "--data-memory", budget) for budget in BUDGETS} | {trained(spec)}
        if len(digests) != 1:
            raise SystemExit("%s: other bits with other --data-memory: %s" % (name, digests))
        if name == "records" and passed(spec, "--data-memory", "1") != passed(spec):
            raise SystemExit("%s: other results with --data-memory 1" % name)
    said = artel("fit", path("m.keras"), "--data", "pipeline:" + path("p.json"), "--steps-per-epoch", 1, "--data-memory", "1")
    if "nothing is kept" not in said or "made anew" not in said:
        raise SystemExit("a cache without room says nothing: " + said)
    for command, wrong in (("fit", "2Q"), ("fit", "0"), ("evaluate", "-1"), ("predict", "x"), ("fit", "1.5G"), ("fit", "99999999T"), ("fit", "M")):
        output = [] if command == "evaluate" else ["--output", path("w.npy" if command == "predict" else "w.keras")]
        said = artel(command, path("m.keras"), "--data", "npz:" + path("d.npz"), *output, "--data-memory=" + wrong, code=1)
        if "--data-memory" not in said or "no amount of memory" not in said:
            raise SystemExit("%s --data-memory=%s: %s" % (command, wrong, said))


main()
