# SPDX-License-Identifier: Apache-2.0
# timeout: 120
"""The stage function: saved functions, and models of Keras in them, on elements of a pipeline. Values are those of tf.data's map with the same
mathematics, a condition that a function computes filters, what is random draws by stage, element and pass; training has the same bits on any number of
workers and over a resumption; what does not fit is refused by name.
"""
import json
import os
import shutil
import subprocess
import sys

import numpy as np
from data import ARTEL, BUILD, PROGRAM, check, deliver, report, run, same
from pipelines import chain, refused, rows, save

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
import keras
import tensorflow as tf

RNG = np.random.default_rng(17)
N = 60
X = RNG.integers(-9, 10, (N, 4)).astype("f4")
Y = RNG.integers(0, 50, N)
MEAN = np.array([1, 2, 3, 4], "f4")


def write(name, *functions):
    done = subprocess.run([os.path.join(BUILD, "tests", "data", "prog_functions"), name, *functions], capture_output=True, text=True)
    check("writes " + name, done.returncode == 0, done.stderr)


def column(value, name, dtype, **more):
    save(value)
    env = dict(os.environ, **more)
    rc, out, err = run(PROGRAM, "pipeline:p.json#" + name, dtype, "out.raw", env=env)
    if rc != 0:
        raise AssertionError(err)
    return np.fromfile("out.raw", dtype).reshape(tuple(map(int, out.split())))


def values():
    ds = tf.data.Dataset.from_tensor_slices((X, Y))
    norm = chain("npz:d.npz", ("function", dict(file="norm.artel")))
    same("one column", rows(norm), np.array([v.numpy() for v in ds.map(lambda x, y: (x - MEAN) * 0.5)]))
    same("others stay", column(norm, "y", "int64"), Y)
    same("by name", rows(chain("npz:d.npz", ("function", dict(file="all.artel", function="norm", columns=["x"], to=["x"])))), rows(norm))
    twice = chain("npz:d.npz", ("function", dict(file="norm.artel")), ("function", dict(file="norm.artel")))
    same("one upon another", rows(twice), ((X - MEAN) * np.float32(0.5) - MEAN) * np.float32(0.5))
    both = chain("npz:d.npz", ("function", dict(file="all.artel", function="both", to=["sum", "y", "passes"])))
    truth = list(ds.map(lambda x, y: (tf.reduce_sum(x), tf.cast(y, tf.int32) * 2, tf.reduce_sum(x) > 0)))
    for k, (name, dtype) in enumerate((("sum", "float32"), ("y", "int32"), ("passes", "uint8"))):
        same("several: " + name, column(both, name, dtype), np.array([t[k].numpy() for t in truth]).astype(dtype))
    same("its own column", column(both, "x", "float32"), X)
    kept = dict(both, stages=both["stages"] + [{"stage": "filter", "column": "passes", "is": "==", "value": 1}, dict(stage="repeat", count=2)])
    wanted = np.array([x.numpy() for x, y in ds.filter(lambda x, y: tf.reduce_sum(x) > 0).repeat(2)])
    same("a filter by a function", column(kept, "x", "float32"), wanted)
    np.savez("wide.npz", x=X.astype("f8"), y=Y)
    same("converted", rows(chain("npz:wide.npz", ("function", dict(file="norm.artel")))), rows(norm))


def models():
    model = keras.Sequential([keras.Input((4,), name="x"), keras.layers.Dense(7, "tanh"), keras.layers.LayerNormalization()])
    model.save("m.keras")
    write("model.artel", "m.keras")
    found = rows(chain("npz:d.npz", ("function", dict(file="model.artel", columns=["x"]))))
    check("a model", found.shape == (N, 7) and np.abs(found - model.predict(X, verbose=0)).max() < 1e-5)
    rc, _, err = run(ARTEL, "predict", "m.keras", "--data", "npz:d.npz#x", "--output", "p.npy")
    same("a model, as predict computes it", found, np.load("p.npy"))
    words = np.array(["a", "bb", "none", "ccc"] * 5)
    np.savez("words.npz", x=words)
    looked = keras.Sequential([keras.Input((), dtype="string", name="x"), keras.layers.StringLookup(vocabulary=["ccc", "bb", "a"]), keras.layers.Embedding(5, 3)])
    looked.save("w.keras")
    write("bucket.artel", "bucket")
    found = column(chain("npz:words.npz", ("function", dict(file="bucket.artel"))), "x", "int32")
    same("operations on text", found, tf.strings.to_hash_bucket_fast(tf.strings.lower(words), 100).numpy().astype("int32"))
    write("words.artel", "w.keras")
    truth = looked.predict(tf.constant(words), verbose=0)
    same("a model on text", rows(chain("npz:words.npz", ("function", dict(file="words.artel", columns=["x"])))).ravel(), truth.ravel())
    small = keras.Sequential([keras.Input((1,), name="x"), keras.layers.Embedding(9, 3)])
    small.save("e.keras")
    write("e.artel", "e.keras")
    np.savez("ids.npz", x=np.array([[1], [8], [9]]))
    refused("an index out of range", chain("npz:ids.npz", ("function", dict(file="e.artel", columns=["x"]))), "row 2 holds the index 9")
    save(chain("npz:ids.npz", ("function", dict(file="e.artel", columns=["x"]))))
    check("left out", deliver("pipeline:p.json#x&skip-errors=1").shape[0] == 2)


def random():
    """Numbers by stage, element and pass, whoever runs it; a cache keeps those of the first pass."""
    noise = chain("npz:d.npz", ("function", dict(file="all.artel", function="noise")))
    first, second = column(noise, "x", "float32"), column(noise, "x", "float32", ARTEL_TEST_PASS="1")
    for name, found in (("first", first), ("second", second)):
        drawn = found - X
        check("uniform, %s pass" % name, drawn.min() >= 0 and drawn.max() <= 1 and abs(drawn.mean() - 0.5) < 0.08 and len(np.unique(drawn)) > 200, drawn.min(), drawn.max())
    check("passes differ", (first != second).mean() > 0.95)
    same("again", column(noise, "x", "float32", ARTEL_TEST_PASS="1"), second)
    twice = column(dict(noise, stages=2 * noise["stages"]), "x", "float32")
    check("stages differ", (np.abs((twice - first) - (first - X)) > 1e-3).mean() > 0.95)
    order = column(noise, "x", "float32", ARTEL_TEST_ROWS=str(N), ARTEL_TEST_STEP="7")
    same("in another order", order, first[np.arange(N) * 7 % N])
    same("cached", column(dict(noise, stages=noise["stages"] + [dict(stage="cache")]), "x", "float32", ARTEL_TEST_PASS="3"), first)


def training():
    write("fit.artel", "noise")
    save(chain("npz:d.npz", ("shuffle", dict(seed=2)), ("function", dict(file="fit.artel")), ("cast", dict(column="x", dtype="float32"))))
    m = keras.Sequential([keras.Input((4,)), keras.layers.Dense(5, "tanh"), keras.layers.Dense(50, "softmax")])
    m.compile("adam", "sparse_categorical_crossentropy")
    m.save("t.keras")
    digests = {}

    def fit(name, *more, launch=()):
        rc, _, err = run(ARTEL, *launch, "fit", "t.keras", "--data", "pipeline:p.json", "--epochs", 2, "--batch-size", 8, "--output", name + ".keras", "--verbose", 0, *more)
        check("fit " + name, rc == 0, err)
        digests[name] = run(ARTEL, "inspect", name + ".keras", "--digest")[1].split()[-1:]

    fit("one")
    fit("mirrored", "--strategy", "mirrored", "--replicas", 3)
    fit("workers", "--strategy", "multi-worker", launch=("launch", "-n", "2"))
    fit("middle", "--checkpoint-dir", "ck", "--save-every", "3steps", "--keep", 9)
    for step in sorted(int(name[5:]) for name in os.listdir("ck") if name.startswith("ckpt-"))[3:]:
        shutil.rmtree("ck/ckpt-%d" % step)
    os.rename("fit.artel", "renamed.artel")  # the same file by another name is the same data
    value = json.load(open("p.json"))
    value["stages"][1]["file"] = "renamed.artel"
    save(value)
    fit("middle", "--checkpoint-dir", "ck", "--save-every", "3steps", "--replicas", 2, "--strategy", "mirrored")
    for name in ("mirrored", "workers", "middle"):
        check("bits of " + name, len("".join(digests["one"])) == 64 and digests[name] == digests["one"], digests)
    write("renamed.artel", "norm")
    rc, _, err = run(ARTEL, "fit", "t.keras", "--data", "pipeline:p.json", "--epochs", 3, "--batch-size", 8, "--output", "o.keras", "--checkpoint-dir", "ck", "--verbose", 0)
    check("another function is another run", rc == 1 and "data" in err, err)
    rc, _, err = run(ARTEL, "data", "make", "pipeline:p.json", "-o", "renamed.artel")
    check("nothing overwrites the function", rc == 1 and os.path.getsize("renamed.artel") > 300, err)
    save(chain("npz:d.npz", ("function", dict(file="renamed.artel"))))
    kept = chain("npz:d.npz", ("function", dict(file="renamed.artel")), ("cache", dict(file="kept")))
    same("kept in a file", rows(kept), (X - MEAN) * np.float32(0.5))
    write("renamed.artel", "noise")
    refused("kept of another function", kept, "kept")


def errors():
    def no(name, settings, *words, source="npz:d.npz"):
        refused(name, chain(source, ("function", settings)), "stage 2 (function)", *words)

    no("no file", dict(function="norm"), "file")
    refused("a missing file", chain("npz:d.npz", ("function", dict(file="nowhere.artel"))), "nowhere.artel")
    refused("no functions", chain("npz:d.npz", ("function", dict(file="d.npz"))), "d.npz", "no functions")
    whole = open("norm.artel", "rb").read()
    with open("cut.artel", "wb") as f:
        f.write(whole[:-20])
    refused("cut off", chain("npz:d.npz", ("function", dict(file="cut.artel"))), "cut.artel")
    no("which one", dict(file="all.artel"), "several functions")
    no("another name", dict(file="all.artel", function="nrm"), "no function 'nrm'", "nearest is norm")
    for name in ("writes", "words"):
        no("one that writes", dict(file="all.artel", function=name), "'%s' changes variables" % name)
    for name in ("reduces", "centres"):
        no(name, dict(file="all.artel", function=name), "'%s' computes with all rows" % name)
    no("a shared output", dict(file="all.artel", function="fixed"), "output 0 of 'fixed' is shared")
    no("strings", dict(file="all.artel", function="says"), "output 0 of 'says' is made by text")
    no("a shared argument", dict(file="all.artel", function="shared"), "argument 'by' of 'shared' is shared")
    no("an unknown column", dict(file="norm.artel", columns=["z"]), "no column 'z'")
    no("too many columns", dict(file="norm.artel", columns=["x", "y"]), "takes 1 arguments, columns are 2")
    no("another shape", dict(file="norm.artel", columns=["y"]), "argument 'x' takes", "rows of 'y'")
    no("text", dict(file="norm.artel"), "column 'x' holds string", source="npz:text.npz")
    no("no names", dict(file="all.artel", function="both"), "gives 3 values of 2 columns")
    no("too few names", dict(file="all.artel", function="both", to=["a"]), "gives 3 values, \"to\" names 1")
    no("a name twice", dict(file="all.artel", function="both", to=["a", "b", "a"]), "names 'a' twice")
    no("names that are none", dict(file="norm.artel", to=[5]), "holds no names")
    refused("a map", chain("npz:d.npz", ("map", {})), "no stage 'map'", "function")


np.savez("d.npz", x=X, y=Y)
np.savez("text.npz", x=np.array(["a", "b"]))
write("norm.artel", "norm")
write("all.artel", "norm", "both", "noise", "writes", "words", "reduces", "shared", "centres", "fixed", "says")
for part in (values, models, random, training, errors):
    part()
sys.exit(report())
