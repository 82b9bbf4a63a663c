# SPDX-License-Identifier: Apache-2.0
# timeout: 240
"""The stages stack_columns and concatenate_columns against tf.stack and tf.concat: along every axis, of every dtype, behind and in front of other
stages; a table joined by a stage trains as the table itself does, to the bit; what does not go together is refused by name.
"""
import json
import os
import sys

import numpy as np
import data
from data import ARTEL, check, report, run, same, same_texts, texts
import pipelines
from pipelines import chain, column, refused, save

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
import keras
import tensorflow as tf

RNG = np.random.default_rng(37)
KINDS = ("uint8", "int16", "int64", "float16", "float32", "float64", "bool")


def rows(value, dtype="float32"):
    return pipelines.rows(value, dtype)


def one(name, stage, **settings):
    """x alone of a chain of one stage."""
    return chain("npz:" + name, (stage, settings), ("select", dict(columns=["x"])))


def shapes():
    """Any number of columns of any rank, on any axis, with and without a dtype."""
    for turn in range(24):
        rank, count, kind = int(RNG.integers(0, 4)), int(RNG.integers(1, 5)), KINDS[turn % len(KINDS)]
        base, n = [int(v) for v in RNG.integers(1, 4, rank)], int(RNG.integers(1, 6))
        parts = {"c%d" % k: RNG.integers(0, 100, [n, *base]).astype(kind) for k in range(count)}
        np.savez("s.npz", **parts, y=np.arange(n))
        names = list(RNG.permutation(sorted(parts)))
        axis = int(RNG.integers(-rank - 1, rank + 1))
        wanted = np.stack([tf.stack([tf.constant(parts[k][i]) for k in names], axis).numpy() for i in range(n)])
        same("stack of %s at %d" % ([kind, count, base], axis), rows(one("s.npz", "stack_columns", columns=names, axis=axis), kind), wanted)
        if rank > 0:
            axis = int(RNG.integers(-rank, rank))
            for k in parts:
                extents = list(base)
                extents[axis] = int(RNG.integers(0, 4))
                parts[k] = RNG.integers(0, 100, [n, *extents]).astype(kind)
            np.savez("s.npz", **parts, y=np.arange(n))
            wanted = np.stack([tf.concat([tf.constant(parts[k][i]) for k in names], axis).numpy() for i in range(n)])
            if wanted.size:
                same("concatenation of %s at %d" % ([kind, count, base], axis),
                     rows(one("s.npz", "concatenate_columns", columns=names, axis=axis), kind), wanted)
    mixed = {"a": RNG.integers(-9, 9, 50), "b": RNG.standard_normal((50, 3)), "c": RNG.integers(0, 256, 50).astype("u1")}
    np.savez("m.npz", **mixed)
    wanted = np.column_stack([mixed[k].astype("f4") for k in mixed])
    same("single values and vectors", rows(one("m.npz", "concatenate_columns", dtype="float32")), wanted)
    same("they in another order", rows(one("m.npz", "concatenate_columns", dtype="float32", columns=["b", "c"])), wanted[:, 1:])
    both = chain("npz:m.npz", ("filter", {"column": "a", "is": ">", "value": 0}), ("scale", dict(column="c", divide=255)), ("shuffle", dict(seed=3)),
                 ("concatenate_columns", dict(dtype="float64", to="all")), ("repeat", dict(count=2)), ("batch", dict(size=2)), ("rename", dict(column="all", to="x")))
    after = chain("npz:m.npz", ("filter", {"column": "a", "is": ">", "value": 0}), ("shuffle", dict(seed=3)), ("shuffle", dict(seed=3)))
    del after["stages"][-2]  # the shuffle stands where that of the other does, and draws alike
    after["stages"].insert(1, dict(stage="cast", column="a", dtype="int64"))
    order = rows(dict(after, stages=after["stages"] + [dict(stage="select", columns=["b"]), dict(stage="rename", column="b", to="x")]), "float64")
    left = [int(np.flatnonzero((mixed["b"] == b).all(1))[0]) for b in order] * 2
    wanted = np.column_stack([mixed["a"], mixed["b"], (mixed["c"].astype("f4") / np.float32(255)).astype("f8")])[left[:len(left) // 2 * 2]]
    same("among other stages", rows(both, "float64"), wanted.reshape(-1, 2, 5))
    np.savez("t.npz", p=np.array(["a", "bc", ""]), q=np.array(["d", "", "ef"]))
    save(one("t.npz", "stack_columns"))
    same_texts("words", texts("pipeline:p.json#x"), [[b"a", b"d"], [b"bc", b""], [b"", b"ef"]])


def table():
    """400 lines; of which 70 columns and a target, more than are read together."""
    names = ["c%d" % k for k in range(70)]
    values = [RNG.integers(-50, 50, 400) if k % 3 else np.round(RNG.standard_normal(400), 3) for k in range(70)]
    with open("t.csv", "w") as f:
        f.write(",".join(names + ["y", "word"]) + "\n")
        for i in range(400):
            f.write(",".join([repr(v[i].item()) for v in values] + [str(i * 7 % 3), "w%d" % i]) + "\n")
    return names, np.column_stack([v.astype("f4") for v in values])


def training():
    """The features of a table, joined here, give the bits of the table itself: at once, streamed, in other orders, resumed."""
    names, wanted = table()
    plain = "csv:t.csv#label=y,columns=" + ",".join(names)
    joined = ("stack_columns", dict(columns=names, dtype="float32"))
    kept = ("select", dict(columns=["x", "y"]))
    forms = {"one": chain("csv:t.csv#label=y", joined, kept), "columns": chain(plain, ("concatenate_columns", dict(dtype="float32"))),
             "streamed": chain("csv:t.csv#stream=yes,label=y,columns=" + ",".join(names), ("concatenate_columns", dict(dtype="float32"))),
             "behind": chain(plain, ("repeat", dict(count=1)), ("cache", {}), joined)}
    m = keras.Sequential([keras.Input((70,)), keras.layers.Dense(8, "tanh"), keras.layers.Dense(3, "softmax")])
    m.compile("adam", "sparse_categorical_crossentropy")
    m.save("m.keras")
    digests = {}

    def fit(name, spec, *more):
        rc, _, err = run(ARTEL, "fit", "m.keras", "--data", spec, "--epochs", 2, "--output", name + ".keras", "--verbose", 0, "--audit-data", *more)
        check("fit " + name, rc == 0, err)
        digests[name] = run(ARTEL, "inspect", name + ".keras", "--digest")[1].split()[-1:]

    fit("table", plain)
    for name, value in forms.items():
        save(value)
        fit(name, "pipeline:p.json")
        same("rows of " + name, data.deliver("pipeline:p.json#x"), wanted)
    fit("replicas", "pipeline:p.json", "--strategy", "mirrored", "--replicas", 3)
    for name in digests:
        check("bits of " + name, len("".join(digests["table"])) == 64 and digests[name] == digests["table"], digests)
    save(forms["one"])
    rc, out, err = run(ARTEL, "inspect", "pipeline:p.json", "--head", 1)
    check("inspect", rc == 0 and "x: 400 rows of float32 (70,), input" in out and "y: 400 rows of int64 (), target" in out, out, err)
    rc, _, err = run(ARTEL, "data", "make", "pipeline:p.json", "-o", "made")
    check("data make", rc == 0, err)
    same("records", data.deliver("tfrecord:made#x"), wanted)


def errors():
    np.savez("e.npz", a=np.zeros(4), b=np.zeros(4, "i4"), v=np.zeros((4, 3)), w=np.zeros((4, 2)), m=np.zeros((4, 2, 3)), y=np.zeros(4), word=np.array(list("abcd")))

    def no(name, stage, settings, *words):
        refused(name, chain("npz:e.npz", (stage, settings)), "stage 2 (%s)" % stage, *words)

    for stage in ("stack_columns", "concatenate_columns"):
        no("unknown column", stage, dict(columns=["a", "vv"]), "no column 'vv'", "nearest is v")
        no("no list", stage, dict(columns="a"), "no list")
        no("an empty list", stage, dict(columns=[]), "no list")
        no("numbers", stage, dict(columns=["a", 1]), "no names")
        no("twice", stage, dict(columns=["a", "b", "a"], dtype="int32"), "'a' is named twice")
        no("unequal types", stage, dict(columns=["a", "b"]), "'a' holds float64, column 'b' int32", '"dtype": "float32"')
        no("text among numbers", stage, dict(columns=["a", "word"]), "'word' holds text")
        no("numbers of text", stage, dict(columns=["word"], dtype="float32"), "'word' holds text")
        no("a dtype that is none", stage, dict(columns=["a"], dtype="float33"), "float33")
        no("text as dtype", stage, dict(columns=["a"], dtype="string"), "string")
        no("an axis that is none", stage, dict(columns=["v"], axis=2), "the result has %d axes" % (2 if stage[0] == "s" else 1))
        no("a name that is taken", stage, dict(columns=["a"], to="b"), "there is a column 'b'", "to")
        no("unknown setting", stage, dict(column="a"), "column", "columns")
    no("unequal rows", "stack_columns", dict(columns=["v", "w"]), "rows of 'v' are (3,), of 'w' (2,)", "concatenate_columns")
    no("unequal axes", "concatenate_columns", dict(columns=["m", "v"]), "rows of 'm' are (2, 3), of 'v' (3,)")
    no("a single value in a matrix", "concatenate_columns", dict(columns=["m", "a"]), "of 'a' ()")
    targets = chain("npz:e.npz", ("rename", dict(column="a", role="y")), ("rename", dict(column="v", role="x")))
    refused("a target among inputs", dict(targets, stages=targets["stages"] + [dict(stage="concatenate_columns", columns=["v", "a"])]),
            "'v' is an input, column 'a' a target")
    only = chain("npz:e.npz", ("select", dict(columns=["y"])), ("stack_columns", {}))
    refused("targets alone", only, "all columns are targets or weights")
    refused("a join as a stage", chain("npz:e.npz", ("zip", {})), "'zip' is no stage, but joins sources")
    refused("the name of tf", chain("npz:e.npz", ("stack", {})), "no stage 'stack'", "stack_columns")


def runs():
    """Stages on single columns one upon another, in any order and among others, against NumPy: each column goes its own way."""
    f = np.float32
    for turn in range(12):
        n, names = int(RNG.integers(3, 9)), ["a", "b", "c"]
        values = {c: RNG.integers(0, 50, (n, 4)).astype("i8") for c in names}
        np.savez("runs.npz", **values)
        stages = []
        for k in range(int(RNG.integers(1, 25))):
            c = str(RNG.choice(list(values)))
            v, kind = values[c], RNG.choice(["cast", "scale", "reshape", "lookup", "pad", "rename", "take", "repeat", "select", "skip"])
            if kind == "cast":
                dtype = str(RNG.choice(["int32", "float32", "uint8", "float64"]))
                stages.append((kind, dict(column=c, dtype=dtype)))
                values[c] = np.clip(v, 0, 255).astype(dtype) if dtype == "uint8" else v.astype(dtype)
            elif kind == "scale":
                stages.append((kind, dict(column=c, multiply=2, add=1)))
                values[c] = v.astype(f) * f(2) + f(1)
            elif kind == "reshape":
                shape = [-1] if v.ndim > 2 else [2, -1] if v.shape[1] % 2 == 0 else [1, -1]
                stages.append((kind, dict(column=c, shape=shape)))
                values[c] = v.reshape([len(v)] + shape)
            elif kind == "lookup":
                stages.append((kind, dict(column=c, keys=[1, 3, 5], default=7)))
                values[c] = np.select([v == 1, v == 3, v == 5], [0, 1, 2], 7).astype("i8")
            elif kind == "pad" and v.shape[-1] < 9:
                stages.append((kind, dict(column=c, shape=[-1] * (v.ndim - 2) + [v.shape[-1] + 1], value=k)))
                values[c] = np.pad(v, [(0, 0)] * (v.ndim - 1) + [(0, 1)], constant_values=k)
            elif kind == "rename":
                stages.append((kind, dict(column=c, to="n%d" % k)))
                values = {"n%d" % k if old == c else old: w for old, w in values.items()}
            elif kind in ("take", "skip") and len(v) > 2:
                stages.append((kind, dict(count=len(v) - 1 if kind == "take" else 1)))
                values = {name: w[:-1] if kind == "take" else w[1:] for name, w in values.items()}
            elif kind == "repeat" and len(v) < 30:
                stages.append((kind, dict(count=2)))
                values = {name: np.concatenate([w, w]) for name, w in values.items()}
            elif kind == "select" and len(values) > 1 and k % 3 == 0:
                order = list(RNG.permutation(list(values)))[:max(1, len(values) - k % 2)]
                stages.append((kind, dict(columns=[str(name) for name in order])))
                values = {str(name): values[str(name)] for name in order}
        for name, wanted in values.items():
            only = chain("npz:runs.npz", *stages, ("select", dict(columns=[name])), ("rename", dict(column=name, to="x")))
            same("run %d, %s: %s" % (turn, name, stages), rows(only, str(wanted.dtype)), wanted)
    wide = 1500
    np.savez("wide.npz", **{"c%d" % i: np.arange(3) + i for i in range(wide)})
    each = [("scale", dict(column="c%d" % i, add=i)) for i in range(wide)] + [("scale", dict(column="c%d" % i, multiply=2)) for i in range(wide)]
    found = rows(chain("npz:wide.npz", *each, ("stack_columns", dict(columns=["c%d" % i for i in range(wide)])), ("select", dict(columns=["x"]))))
    same("a stage for each of many columns", found, ((np.arange(3)[:, None] + 2 * np.arange(wide)[None]) * 2).astype(f))
    many = {"c%d" % i: RNG.standard_normal((5, 1 + i % 3)).astype(f) for i in range(150)}
    np.savez("many.npz", **many)
    rc, _, err = run(ARTEL, "data", "make", "npz:many.npz", "-o", "many", "--shards", 1)
    check("many features are written", rc == 0, err)
    order = [str(c) for c in RNG.permutation(list(many))]
    found = rows(chain("tfrecord:many", ("scale", dict(column="c7", multiply=3)), ("concatenate_columns", dict(columns=order)), ("select", dict(columns=["x"]))))
    same("many features of a record", found, np.concatenate([many[c] * f(3 if c == "c7" else 1) for c in order], axis=1))
    one = column("deep.npz", np.arange(4))
    same("500 stages for a value", rows(chain(one, *[("scale", dict(column="x", add=1))] * 500)), (np.arange(4) + 500).astype(f))
    refused("501 stages for a value", chain(one, *[("scale", dict(column="x", add=1))] * 501), "stage 502 (scale): more than 500 stages")
    refused("501 stages", chain(one, *[("take", dict(count=3))] * 30000), "stage 502 (take): more than 500 stages")


for part in (shapes, training, errors, runs):
    part()
sys.exit(report())
