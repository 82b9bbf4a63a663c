# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# long form: 900
"""Stages of pipelines against NumPy, tf.data and Keras: what comes out, in which order; random stages draw alike however the elements
are asked for; errors name the stage; training on a pipeline gives the same bits on any number of workers and over a resumption.
"""
import json
import os
import shutil
import sys

import numpy as np
import data
from data import ARTEL, check, report, run, same
from pipelines import chain, column, refused, rows, save

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
import keras
import tensorflow as tf

RNG = np.random.default_rng(13)
LONG = os.environ.get("ARTEL_LONG") == "1"


def orders():
    n = 101
    a = column("a.npz", np.arange(n, dtype="i8"))
    ds = tf.data.Dataset.range(n)

    def tfd(d):
        return np.array([v.numpy() for v in d])

    same("take", rows(chain(a, ("take", dict(count=7))), "int64"), np.arange(7))
    same("skip", rows(chain(a, ("skip", dict(count=90))), "int64"), np.arange(90, n))
    same("repeat", rows(chain(a, ("take", dict(count=5)), ("repeat", dict(count=3))), "int64"), np.tile(np.arange(5), 3))
    same("endless, taken", rows(chain(a, ("repeat", {}), ("take", dict(count=250))), "int64"), tfd(ds.repeat().take(250)))
    same("endless by -1", rows(chain(a, ("repeat", dict(count=-1)), ("take", dict(count=250))), "int64"), tfd(ds.repeat(-1).take(250)))
    for first in ([], [("repeat", {})]):
        never = {"concatenate": [chain(a, *first, ("repeat", dict(count=0))), chain(a, ("take", dict(count=2)))]}
        same("repeated never", rows(never, "int64"), tfd(ds.repeat(0).concatenate(ds.take(2))))
    for k in range(3):
        same("shard", rows(chain(a, ("shard", dict(count=3, index=k))), "int64"), tfd(ds.shard(3, k)))
    for count in (1, 2, 5, 64, 65, n):
        r = rows(chain(a, ("take", dict(count=count)), ("shuffle", dict(seed=3))), "int64")
        check("shuffle %d" % count, sorted(r) == list(range(count)) and (count < 5 or list(r) != sorted(r)), r)
    orders = {tuple(rows(chain(a, ("shuffle", dict(seed=s))), "int64")) for s in range(4)}
    check("seeds differ", len(orders) == 4)
    r = rows(chain(a, ("shuffle", dict(seed=1, buffer=10))), "int64")
    check("buffered", sorted(r) == list(range(n)) and all(v < i + 10 for i, v in enumerate(r)) and max(i - v for i, v in enumerate(r)) > 9, r)
    same("filter", rows(chain(a, ("filter", {"column": "x", "is": ">=", "value": 95})), "int64"), np.arange(95, n))
    same("filter in", rows(chain(a, ("filter", {"column": "x", "is": "in", "value": [3, 1, 500]})), "int64"), [1, 3])
    far = rows(chain(a, ("repeat", dict(count=10**15)), ("shuffle", dict(seed=2)), ("skip", dict(count=10**17)), ("take", dict(count=4))), "int64")
    check("a shuffle of 10^17 elements", far.shape == (4,))
    floats = column("f.npz", np.array([1, np.nan, 3, np.inf], "f4"))
    same("filter finite", rows(chain(floats, ("filter", {"column": "x", "is": "finite"}))), np.array([1, 3], "f4"))


def comparisons():
    """Fractions as the column's dtype holds them and whole numbers exactly, as tf.data and NumPy compare with a Python number."""
    f = np.array([0.1, 0.2, 0.3, -0.1, np.nan, np.inf, -np.inf, 0.1 + 1e-7])
    ways = {"==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}
    for dtype in ("float16", "float32", "float64"):
        values = f.astype(dtype)
        a = column("c.npz", values)
        for way, function in ways.items():
            truth = [v.numpy() for v in tf.data.Dataset.from_tensor_slices(values).filter(
                lambda v: {"==": v == 0.1, "!=": v != 0.1, "<": v < 0.1, "<=": v <= 0.1, ">": v > 0.1, ">=": v >= 0.1}[way])]
            same("%s %s" % (dtype, way), rows(chain(a, ("filter", {"column": "x", "is": way, "value": 0.1})), dtype), np.array(truth, dtype))
            huge = values[function(values.astype("f8"), 1e300)]
            if len(huge):
                same("%s %s 1e300" % (dtype, way), rows(chain(a, ("filter", {"column": "x", "is": way, "value": 1e300})), dtype), huge)
        same(dtype + " in", rows(chain(a, ("filter", {"column": "x", "is": "in", "value": [5, 0.1]})), dtype), values[values == values[0]])
        keys = ("lookup", dict(column="x", keys=[0.3, 0.1], default=9))
        same(dtype + " lookup", rows(chain(a, keys), "int64"), np.where(values == values[2], 0, np.where(values == values[0], 1, 9)))
    at = 2**53
    for dtype, more in (("int64", [-at - 1, 2**63 - 1]), ("uint64", [2**63, 2**64 - 1])):
        ids = np.array([at - 1, at, at + 1, at + 2, 7] + more, dtype)
        a = column("c.npz", ids)
        for key in (at, at + 1, 2**63 - 1):
            for way, function in ways.items():
                wanted = ids[function(ids, np.array(key, dtype))]
                if len(wanted):
                    same("%s %s %d" % (dtype, way, key), rows(chain(a, ("filter", {"column": "x", "is": way, "value": key})), dtype), wanted)
        keys = ("lookup", dict(column="x", keys=[at + 1, at], default=9))
        same(dtype + " lookup", rows(chain(a, keys), "int64"), np.where(ids == at, 1, np.where(ids == at + 1, 0, 9)))
        same(dtype + " as float", rows(chain(a, ("filter", {"column": "x", "is": "<", "value": 7.5})), dtype), ids[ids.astype("f8") < 7.5])
    same("saturated", rows(column("c.npz", ids), "int64"), np.minimum(ids, 2**63 - 1).astype("i8"))
    same("saturated by a stage", rows(chain(column("c.npz", np.array([300, -5, 255])), ("cast", dict(column="x", dtype="uint8"))), "uint8"), np.array([255, 0, 255], "u1"))
    refused("no key", chain(column("c.npz", np.array([at + 1])), ("lookup", dict(column="x", keys=[at]))), "element 0: %d is no key" % (at + 1))


def joins():
    parts = [np.arange(k * 100, k * 100 + c) for k, c in enumerate((7, 0, 12, 3, 5))]
    names = [column("j%d.npz" % k, p) for k, p in enumerate(parts)]
    same("concatenate", rows({"concatenate": names}, "int64"), np.concatenate(parts))
    held = tf.ragged.constant([list(p) for p in parts], dtype=tf.int64)
    for cycle, block in ((2, 1), (3, 2), (5, 4), (1, 1)):
        truth = tf.data.Dataset.range(5).interleave(lambda k: tf.data.Dataset.from_tensor_slices(held[k]), cycle_length=cycle, block_length=block)
        same("interleave %d %d" % (cycle, block), rows({"interleave": names, "cycle": cycle, "block": block}, "int64"),
             [v.numpy() for v in truth])
    r = rows({"sample": names, "weights": [1, 1, 2, 1, 1], "seed": 5}, "int64")
    check("sample", sorted(r) == sorted(np.concatenate(parts)) and all(list(r[r // 100 == k]) == list(p) for k, p in enumerate(parts)), r)
    long = [column("l%d.npz" % k, np.full(4000, k)) for k in range(3)]
    r = rows({"sample": long, "weights": [1, 2, 5], "seed": 1, "stop_on_empty": True}, "int64")
    share = np.bincount(r) / len(r)
    check("weights", np.abs(share - [1 / 8, 2 / 8, 5 / 8]).max() < 0.02 and np.bincount(r).max() == 4000, share)
    np.savez("y.npz", y=np.arange(20) * 10)
    same("zip", rows({"zip": [names[2], "npz:y.npz"]}, "int64"), parts[2])
    same("select, rename", rows(chain({"zip": [names[2], "npz:y.npz"]}, ("select", dict(columns=["y"])), ("rename", dict(column="y", to="x"))), "int64"),
         np.arange(12) * 10)


def any_source(rng, depth, length):
    """A pipeline and what tf.data makes of the same: of whole numbers, each a row of `length` (0: a number alone)."""
    if depth == 0:
        n = rng.choice([0, 1, 2, 5, 9, 17])
        values = rng.integers(0, 1000, (n, length) if length else n)
        any_source.files += 1
        return column("any%d.npz" % any_source.files, values), tf.data.Dataset.from_tensor_slices(values)
    kind = rng.choice(["concatenate", "interleave", "chain", "chain", "chain", "chain"])
    if kind == "chain":
        source, truth = any_source(rng, depth - 1, length)
        return any_stages(rng, source, truth, length)
    parts = [any_source(rng, depth - 1, length) for _ in range(rng.integers(1, 5))]
    truths = [t for _, t in parts]
    if kind == "concatenate":
        whole = truths[0]
        for t in truths[1:]:
            whole = whole.concatenate(t)
        return {"concatenate": [s for s, _ in parts]}, whole
    cycle, block = int(rng.integers(1, 7)), int(rng.integers(1, 4))
    choices = tf.data.Dataset.range(len(parts))

    def part(k):
        whole = truths[-1]
        for i in range(len(truths) - 1):  # the k-th, chosen inside the graph
            whole = truths[i].take(tf.where(k == i, tf.int64.max, 0)).concatenate(whole.take(tf.where(k == i, tf.constant(0, tf.int64), tf.int64.max)))
        return whole

    return {"interleave": [s for s, _ in parts], "cycle": cycle, "block": block}, choices.interleave(part, cycle_length=cycle, block_length=block)


def any_stages(rng, source, truth, length):
    stages = []
    for _ in range(rng.integers(1, 5)):
        kind, n = rng.choice(["take", "skip", "repeat", "shard", "filter", "cache", "window", "batch", "pad", "stack", "lookup"]), int(rng.integers(0, 12))
        if kind in ("take", "skip"):
            stages.append((kind, dict(count=n)))
            truth = getattr(truth, kind)(n)
        elif kind == "repeat":
            count = int(rng.integers(1, 4))
            stages.append((kind, dict(count=count)))
            truth = truth.repeat(count)
        elif kind == "shard":
            count = int(rng.integers(1, 4))
            index = int(rng.integers(0, count))
            stages.append((kind, dict(count=count, index=index)))
            truth = truth.shard(count, index)
        elif kind == "filter":
            limit = int(rng.integers(100, 1000))
            stages.append((kind, {"column": "x", "is": "<", "value": limit}))
            truth = truth.filter(lambda v, limit=limit: tf.reduce_all(v < limit))
        elif kind == "cache":
            stages.append((kind, {}))
        elif kind == "window":  # and taken apart again, since joins want elements of one shape
            size, shift, stride = (int(v) for v in rng.integers(1, 5, 3))
            stages += [(kind, dict(size=size, shift=shift, stride=stride)), ("unbatch", {})]
            truth = truth.window(size, shift, stride, drop_remainder=True).flat_map(lambda w: w)
        elif kind == "batch":
            size = int(rng.integers(1, 5))
            stages += [(kind, dict(size=size)), ("unbatch", {})]
            truth = truth.batch(size, drop_remainder=True).unbatch()
        elif kind == "pad":
            stages += [("batch", dict(size=1)), (kind, dict(column="x", shape=[2] + [-1] * (length > 0), value=n)), ("unbatch", {})]
            truth = truth.batch(1).padded_batch(1, [2] + [length] * (length > 0), tf.constant(n, tf.int64)).unbatch().unbatch()
        elif kind == "stack":
            stages += [("stack_columns", dict(columns=["x"])), ("stack_columns", dict(columns=["x"])), ("concatenate_columns", dict(axis=0)), ("unbatch", {}), ("unbatch", {})]
        else:
            stages.append(("lookup", dict(column="x", keys=list(range(0, 1000, 7)), default=500)))
            truth = truth.map(lambda v: tf.where(v % 7 == 0, v // 7, tf.constant(500, tf.int64)))
    return chain(source, *stages), truth


any_source.files = 0


def any_tree():
    """Stages and joins in any order, nested, with nothing in some of them, against tf.data."""
    rng, told = np.random.default_rng(21), 0
    for turn in range(400 if LONG else 25):
        length = int(rng.choice([0, 3]))
        value, truth = any_source(rng, int(rng.integers(1, 4)), length)
        wanted = np.array([v.numpy() for v in truth], dtype="i8").reshape((-1, 3) if length else (-1,))
        save(value)
        if len(wanted) == 0:
            rc, _, err = run(data.PROGRAM, "pipeline:p.json#x", "int64", "out.raw")
            check("tree %d is empty" % turn, rc == 1 and "empty" in err, err, value)
            continue
        told += 1
        same("tree %d: %s" % (turn, json.dumps(value)), rows(value, "int64"), wanted)
    check("trees with rows", told >= 10, told)
    for turn in range(100 if LONG else 12):
        n, size, shift, stride = int(rng.integers(1, 40)), int(rng.integers(1, 6)), int(rng.integers(1, 5)), int(rng.integers(1, 4))
        values = rng.integers(0, 1000, n)
        truth = tf.data.Dataset.from_tensor_slices(values).window(size, shift, stride, drop_remainder=True)
        wanted = np.array([[v.numpy() for v in w] for w in truth])
        if len(wanted):
            same("window of %s" % [n, size, shift, stride],
                 rows(chain(column("w.npz", values), ("window", dict(size=size, shift=shift, stride=stride))), "int64"), wanted)


def series():
    x, y = RNG.standard_normal((50, 3)).astype("f4"), np.arange(50)
    np.savez("s.npz", x=x, y=y)
    for size, shift, stride in ((5, 1, 1), (4, 3, 2), (10, 10, 1), (50, 1, 1)):
        kept = keras.utils.timeseries_dataset_from_array(x, None, size, sequence_stride=shift, sampling_rate=stride, batch_size=None)
        same("window %d %d %d" % (size, shift, stride), rows(chain("npz:s.npz", ("window", dict(size=size, shift=shift, stride=stride, columns=["x"])), ("select", dict(columns=["x"])))),
             np.stack([v.numpy() for v in kept]))
    later = chain("npz:s.npz", ("window", dict(size=5, shift=1, offset=2, columns=["x"])), ("select", dict(columns=["y"])), ("rename", dict(column="y", to="x")))
    same("a target ahead", rows(later, "int64"), np.arange(6, 50))


def maps():
    x = RNG.integers(0, 256, (9, 4), dtype="u1")
    a = column("m.npz", x)
    f = np.float32
    same("cast", rows(chain(a, ("cast", dict(column="x", dtype="int16"))), "int16"), x.astype("i2"))
    same("scale", rows(chain(a, ("scale", dict(column="x", multiply=2, divide=255, add=-1)))), x.astype(f) * f(2) / f(255) + f(-1))
    m, s = [1.5, 2, 3, 4], [2, 3, 5, 7]
    same("normalise", rows(chain(a, ("normalise", dict(column="x", mean=m, std=s)))), (x.astype(f) - np.array(m, f)) / np.array(s, f))
    same("reshape", rows(chain(a, ("reshape", dict(column="x", shape=[2, -1]))), "uint8"), x.reshape(9, 2, 2))
    k = x % 3
    same("one hot", rows(chain(column("k.npz", k), ("one_hot", dict(column="x", classes=3)))), np.eye(3, dtype=f)[k])
    for other in (9, -1, -2**63, 2**63 - 1):
        same("lookup", rows(chain(column("k.npz", k), ("lookup", dict(column="x", keys=[2, 0], default=other))), "int64"), np.choose(k, [np.int64(1), np.int64(other), np.int64(0)]))
    refused("a default that is too large", chain(column("k.npz", k), ("lookup", dict(column="x", keys=[2, 0], default=2**63))), "no whole number")
    for dtype, base in (("int64", 1 << 53), ("int64", -(1 << 63)), ("uint64", (1 << 63) - 4)):  # neighbours that are one as float64
        wide = np.array([base, base + 1, base + 2, base + 3], dtype)
        source, key = column("wide.npz", wide), int(wide[1])
        same("%s, looked up" % dtype, rows(chain(source, ("lookup", dict(column="x", keys=[key], default=9))), "int64"), [9, 0, 9, 9])
        for name, compare in (("==", np.equal), ("!=", np.not_equal), ("<", np.less), (">", np.greater), (">=", np.greater_equal)):
            value = chain(source, ("filter", {"column": "x", "is": name, "value": key}), ("lookup", dict(column="x", keys=wide.tolist()[:4])))
            same("%s %s" % (dtype, name), rows(value, "int64"), np.arange(4)[compare(wide, wide[1])])
    refused("which one", chain(column("wide.npz", wide[:1].astype("int64")), ("lookup", dict(column="x", keys=[1]))), "element 0: %d is no key" % wide[0])
    same("cache", rows(chain(a, ("scale", dict(column="x", divide=3)), ("cache", {}), ("repeat", dict(count=3)))), np.tile(x.astype(f) / f(3), (3, 1)))


def images():
    x = RNG.integers(0, 256, (6, 17, 13, 3), dtype="u1")
    a = column("i.npz", x)
    for method in ("bilinear", "nearest"):
        truth = np.stack([tf.cast(tf.image.resize(v, (8, 21), method=method), tf.float32).numpy() for v in x])
        for first in ([], [("cast", dict(column="x", dtype="float32"))], [("cast", dict(column="x", dtype="int32"))]):
            found = rows(chain(a, *first, ("resize", dict(column="x", height=8, width=21, interpolation=method))))
            check("resize " + method, found.shape == truth.shape and np.abs(found - truth).max() < 1e-3)
    same("crop", rows(chain(a, ("crop", dict(column="x", height=5, width=6, top=2, left=7)))), x[:, 2:7, 7:13].astype("f4"))
    same("central crop", rows(chain(a, ("crop", dict(column="x", height=5, width=6)))), x[:, 6:11, 3:9].astype("f4"))
    found = rows(chain(a, ("repeat", dict(count=30)), ("random_crop", dict(column="x", height=9, width=9, seed=4))))
    places = set()
    for i, v in enumerate(found):
        where = [(t, l) for t in range(9) for l in range(5) if (x[i % 6, t:t + 9, l:l + 9] == v).all()]
        check("a crop is a part", len(where) == 1)
        places.update(where)
    check("crops differ", len(places) > 35, len(places))
    found = rows(chain(a, ("repeat", dict(count=40)), ("random_flip", dict(column="x", seed=4))))
    flipped = [bool((x[i % 6, :, ::-1] == v).all()) for i, v in enumerate(found)]
    check("flips", all(f or (x[i % 6] == found[i]).all() for i, f in enumerate(flipped)) and 80 < sum(flipped) < 160, sum(flipped))
    up = rows(chain(a, ("random_flip", dict(column="x", axis="vertical", probability=1))))
    same("vertical flip", up, x[:, ::-1].astype("f4"))
    b = rows(chain(a, ("repeat", dict(count=20)), ("random_brightness", dict(column="x", low=-20, high=30, seed=2)))) - np.tile(x, (20, 1, 1, 1)).astype("f4")
    d = b[:, 0, 0, 0]
    check("brightness", np.abs(b - d[:, None, None, None]).max() < 1e-4 and d.min() < -10 and d.max() > 20 and d.min() >= -20 and d.max() <= 30, d)
    c = rows(chain(a, ("random_contrast", dict(column="x", low=0.5, high=0.5))))
    truth = np.stack([tf.image.adjust_contrast(v.astype("f4"), 0.5).numpy() for v in x])
    check("contrast", np.abs(c - truth).max() < 1e-2, np.abs(c - truth).max())
    np.savez("two.npz", x=x, y=x)
    both = chain("npz:two.npz", *[("random_crop", dict(column=k, height=4, width=4, seed=1, draw=7)) for k in ("x", "y")])
    one = rows(both)
    same("two columns cropped alike", rows(dict(both, stages=both["stages"] + [dict(stage="select", columns=["y"]), dict(stage="rename", column="y", to="x")])), one)


def in_pass(number, value):
    os.environ["ARTEL_TEST_PASS"] = str(number)
    found = rows(value)
    del os.environ["ARTEL_TEST_PASS"]
    return found


def IN11_passes():
    """Random stages draw anew in each pass over the data, as a map of tf.data does; what keeps values keeps those of the first."""
    x = RNG.integers(0, 256, (40, 12, 12, 3), dtype="u1")
    np.savez("q.npz", x=x, y=x)
    a = "npz:q.npz"
    for name, stage in (("random_crop", dict(height=7, width=6)), ("random_flip", {}), ("random_flip", dict(axis="vertical")),
                        ("random_brightness", dict(low=-9, high=9)), ("random_contrast", dict(low=0.2, high=2))):
        value = chain(a, (name, dict(stage, column="x", seed=3)))
        found = [in_pass(p, value) for p in (0, 1, 2, 1000000)]
        same(name + ", the first pass", found[0], rows(value))
        same(name + ", again", in_pass(2, value), found[2])
        for p in range(1, 4):
            differ = np.mean([not np.array_equal(f, g) for f, g in zip(found[p], found[p - 1])])
            check("%s differs in pass %d" % (name, p), differ > 0.25, differ)
        cached = dict(value, stages=value["stages"] + [dict(stage="cache"), dict(stage="scale", column="x", divide=2)])
        same(name + ", cached", in_pass(5, cached), found[0] / np.float32(2))
        behind = dict(value, stages=[dict(stage="cache")] + value["stages"])
        check(name + " behind a cache", not np.array_equal(in_pass(1, behind), in_pass(2, behind)))
    flips = np.array([[np.array_equal(f, v) for f, v in zip(in_pass(p, chain(a, ("random_flip", dict(column="x")))), x[:, :, ::-1])] for p in range(8)])
    check("each row flips half of the time", (flips.sum(0) < 8).all() and (flips.sum(0) > 0).mean() > 0.9 and 100 < flips.sum() < 220, flips.sum(0))
    both = chain(a, *[("random_crop", dict(column=k, height=4, width=4, seed=1, draw=7)) for k in ("x", "y")])
    other = dict(both, stages=both["stages"] + [dict(stage="select", columns=["y"]), dict(stage="rename", column="y", to="x")])
    same("two columns alike in each pass", in_pass(3, other), in_pass(3, both))
    same("an order stays", in_pass(4, chain(a, ("shuffle", dict(seed=2)))), rows(chain(a, ("shuffle", dict(seed=2)))))
    again = chain(column("o.npz", np.arange(60)), ("shuffle", dict(seed=2, reshuffle_each_iteration=True)))
    found = [in_pass(p, again) for p in range(5)]
    same("an order, the first pass", found[0], rows(chain("npz:o.npz", ("shuffle", dict(seed=2)))))
    check("orders differ", all(sorted(f) == list(range(60)) for f in found) and len({tuple(f) for f in found}) == 5, found)
    some = dict(again, stages=again["stages"] + [dict(stage="take", count=20), dict(stage="batch", size=2)])
    same("what stands behind it", in_pass(3, some), found[3][:20].reshape(10, 2))
    same("kept", in_pass(3, dict(again, stages=again["stages"] + [dict(stage="cache")])), found[0])
    same("filtered", in_pass(3, dict(again, stages=again["stages"] + [{"stage": "filter", "column": "x", "is": "<", "value": 9}])), found[0][found[0] < 9])
    apart = {"zip": [chain(again, ("rename", dict(column="x", to="z"))), "npz:o.npz"]}
    same("zipped to what stays", in_pass(3, apart), np.arange(60, dtype="f4"))
    refused("of a buffer", chain("npz:o.npz", ("shuffle", dict(buffer=5, reshuffle_each_iteration=True))), "stage 2 (shuffle)", "drawn once")
    bright = chain(a, ("random_brightness", dict(column="x", low=-200, high=200)), ("filter", {"column": "x", "is": ">", "value": 0}))
    kept = in_pass(6, bright)
    check("what passed a filter passes in each pass", 0 < len(kept) < 40 and (kept > 0).all(), kept.shape)
    joined = {"concatenate": [a, chain(a, ("random_flip", dict(column="x")), ("cast", dict(column="x", dtype="uint8")))]}
    check("joined", not np.array_equal(in_pass(1, joined), in_pass(2, joined)))
    zipped = {"zip": [chain(a, ("select", dict(columns=["y"]))), chain(a, ("select", dict(columns=["x"])), ("random_flip", dict(column="x")))]}
    check("zipped", not np.array_equal(in_pass(1, zipped), in_pass(2, zipped)))
    repeated = chain(a, ("repeat", dict(count=2)), ("random_crop", dict(column="x", height=5, width=5)))
    check("repeated", not np.array_equal(in_pass(1, repeated)[:40], in_pass(1, repeated)[40:]))


def errors():
    a = column("a.npz", np.arange(5))
    refused("no end", chain(a, ("repeat", {})), "no end")
    refused("unknown stage", chain(a, ("shufle", {})), "nearest is shuffle")
    refused("padded batches", chain(a, ("padded_batch", dict(batch_size=3))), "no stage 'padded_batch'", "ragged")
    for name, words in (("flat_map", "interleave"), ("scan", "does not depend on those before"), ("rejection_resample", "weights"), ("parse_example", "features"),
                        ("random_rotation", "layer"), ("normalize", "normalise"), ("ignore_errors", "skip-errors")):
        refused(name + " of other libraries", chain(a, (name, {})), "no stage '%s'" % name, words)
    refused("null for a setting that must be there", chain(a, ("take", dict(count=None))), 'the setting "count" is missing')
    same("null for one that may be left out", rows(chain(a, ("repeat", dict(count=2)), ("shuffle", dict(seed=None, buffer=None)))), rows(chain(a, ("repeat", dict(count=2)), ("shuffle", {}))))
    for stage, name, more in (("cache", "file", {}), ("snapshot", "folder", {}), ("concatenate_columns", "to", {}), ("rename", "to", dict(column="x")),
                              ("cast", "dtype", dict(column="x")), ("function", "file", {})):
        for value in (True, 5, 1.5, ["x"], [], {"a": 1}, ""):
            refused("%s as %s of %s" % (value, name, stage), chain(a, (stage, {name: value, **more})), "stage 2 (%s)" % stage, "%s does not fit (found " % name, "expected a text")
    check("what is no name made no file", not any(os.path.exists(v) for v in ("true", "5", "1.5", '["x"]', "[]", '{"a": 1}')))
    refused("a key twice", chain(a, ("lookup", dict(column="x", keys=[3, 1, 3], default=0))), "stage 2 (lookup)", "3 is in keys twice")
    save(chain(a, ("take", dict(count=3)), ("filter", {"column": "x", "is": ">", "value": 9}), ("scale", dict(column="x", divide=2))))
    rc, out, err = run(ARTEL, "data", "stats", "pipeline:p.json")
    check("which stage leaves nothing", "stage 3 (filter): no element is left" in err, rc, out, err)
    refused("a map", chain(a, ("map", {})), "no stage 'map'", "cast")
    refused("unknown setting", chain(a, ("take", dict(cont=3))), "stage 2 (take)", "count")
    refused("unknown column", chain(a, ("cast", dict(column="y", dtype="float32"))), "stage 2 (cast)", "no column 'y'")
    refused("no dtype", chain(a, ("cast", dict(column="x", dtype="float33"))), "float33")
    refused("no images", chain(a, ("resize", dict(column="x", height=2, width=2))), "holds no images")
    refused("other columns", {"concatenate": [a, column("b.npz", np.zeros((3, 2)))]}, "other columns")
    refused("a name twice", {"zip": [a, a]}, "two inputs have a column 'x'")
    refused("no classes", chain(a, ("one_hot", dict(column="x", classes=4))), "element 4", "none of 4 classes")
    refused("a missing file", chain("npz:nowhere.npz", ("take", dict(count=1))), "nowhere.npz")
    refused("itself", "pipeline:p.json", "cannot name another")
    refused("a number", 5, "a source is expected")
    refused("a list", [a, a], "found a list", "concatenate")
    refused("a misspelt join", {"zp": [a]}, "is it zip")
    refused("stages misspelt", {"from": a, "stage": []}, 'found "stage"')
    refused("stages that are none", {"from": a, "stages": {"stage": "take"}}, '"stages" is no list')
    refused("a name alone", {"from": a, "stages": [dict(stage="take", count=3), "take"]}, 'entry 2 of "stages" is no object')
    refused("no name", {"from": a, "stages": [dict(name="take")]}, 'entry 1 of "stages" has no "stage"')
    refused("a misspelt setting that is missing", chain(a, ("cast", dict(columns="x", dtype="float32"))), "no option columns", "did you mean column?")
    refused("a setting of tf.data", chain(a, ("batch", dict(batch_size=3))), "no option batch_size", "there are size")
    refused("a setting of a stage without any", chain(a, ("unbatch", dict(batch_size=3))), "no option batch_size", "leave it out")
    refused("fractions as classes", chain(column("h.npz", np.array([1, 0.5])), ("one_hot", dict(column="x", classes=2))), "element 1: 0.5 is no class number")
    np.savez("two.npz", x=np.zeros(3), z=np.zeros(3))
    refused("a name that is taken", chain("npz:two.npz", ("rename", dict(column="z", to="x"))), "there is a column 'x'")
    deep = a
    for _ in range(40):
        deep = {"concatenate": [deep]}
    refused("nested", deep, "deep")
    refused("too much to keep", chain(a, ("cache", dict(limit=10))), "limit 10")


def IN1_training():
    x, y = RNG.integers(0, 256, (120, 8, 8, 1), dtype="u1"), RNG.integers(0, 4, 120)
    np.savez("t.npz", x=x, y=y)
    save(chain("npz:t.npz", ("shuffle", dict(seed=1)), ("filter", {"column": "y", "is": "<", "value": 3}), ("scale", dict(column="x", divide=255)),
               ("random_crop", dict(column="x", height=7, width=7)), ("random_flip", dict(column="x"))))
    m = keras.Sequential([keras.Input((7, 7, 1)), keras.layers.Conv2D(4, 3), keras.layers.Flatten(), keras.layers.Dense(3, "softmax")])
    m.compile("adam", "sparse_categorical_crossentropy")
    m.save("m.keras")
    digests = {}

    def fit(name, *more, launch=()):
        rc, _, err = run(ARTEL, *launch, "fit", "m.keras", "--data", "pipeline:p.json", "--epochs", 2, "--output", name + ".keras", "--verbose", 0, *more)
        check("fit " + name, rc == 0, err)
        digests[name] = run(ARTEL, "inspect", name + ".keras", "--digest")[1].split()[-1:]

    fit("one")
    fit("mirrored", "--strategy", "mirrored", "--replicas", 3)
    fit("workers", "--strategy", "multi-worker", launch=("launch", "-n", "2"))
    fit("half", "--epochs", 1, "--checkpoint-dir", "ck")
    fit("resumed", "--checkpoint-dir", "ck")
    fit("middle", "--checkpoint-dir", "ck2", "--save-every", "2steps", "--keep", 9)
    for step in sorted(int(name[5:]) for name in os.listdir("ck2") if name.startswith("ckpt-"))[2:]:
        shutil.rmtree("ck2/ckpt-%d" % step)  # what is left is of the midst of the second epoch
    fit("middle", "--checkpoint-dir", "ck2", "--save-every", "2steps", "--replicas", 2, "--strategy", "mirrored")
    frozen = json.load(open("p.json"))
    save(dict(frozen, stages=frozen["stages"] + [dict(stage="cache")]))
    fit("frozen")
    save(frozen)
    check("epochs have their own draws", digests["frozen"] != digests["one"])
    for name in ("mirrored", "workers", "resumed", "middle"):
        check("bits of " + name, len("".join(digests["one"])) == 64 and digests[name] == digests["one"], digests)
    save(chain("npz:t.npz", ("repeat", dict(count=10**6)), ("shuffle", dict(seed=5)), ("take", dict(count=96)),
               ("filter", {"column": "y", "is": "<", "value": 3}), ("random_crop", dict(column="x", height=7, width=7))))
    fit("some of 120 million")
    fit("some of 120 million, 4 workers", "--strategy", "multi-worker", launch=("launch", "-n", "4"))
    check("an order of 120 million elements", digests["some of 120 million"] == digests["some of 120 million, 4 workers"] != digests["one"], digests)
    save(frozen)
    changed = json.load(open("p.json"))
    changed["stages"][0]["seed"] = 2
    save(changed)
    rc, _, err = run(ARTEL, "fit", "m.keras", "--data", "pipeline:p.json", "--epochs", 3, "--output", "o.keras", "--checkpoint-dir", "ck", "--verbose", 0)
    check("another pipeline is another run", rc == 1 and "data" in err, err)


def IN9_other_elements():
    """Training where each epoch has other elements: the bits of workers, and of a run that goes on; what is checked stays the same."""
    np.savez("e.npz", x=RNG.standard_normal((90, 5)).astype("f4"), y=RNG.integers(0, 3, 90))
    order = ("shuffle", dict(seed=1, reshuffle_each_iteration=True))
    m = keras.Sequential([keras.Input((5,)), keras.layers.Dense(3, "softmax")])
    m.compile("sgd", "sparse_categorical_crossentropy")
    m.save("e.keras")

    def fit(name, *more, launch=()):
        rc, _, err = run(ARTEL, *launch, "fit", "e.keras", "--data", "pipeline:p.json", "--epochs", 3, "--batch-size", 9, "--output", name + ".keras", "--verbose", 0, *more)
        check("fit " + name, rc == 0, err)
        return run(ARTEL, "inspect", name + ".keras", "--digest")[1].split()[-1:]

    save(chain("npz:e.npz", ("shuffle", dict(seed=1)), ("take", dict(count=30))))
    stays = fit("stays")
    save(chain("npz:e.npz", order, ("take", dict(count=30))))
    one = fit("one", "--check-data", "reading")
    check("epochs have other elements", len("".join(one)) == 64 and one != stays)
    check("checked at the start", fit("start", "--check-data", "start", "--strategy", "mirrored", "--replicas", 3) == one)
    check("workers", fit("workers", "--strategy", "multi-worker", "--check-data", "reading", launch=("launch", "-n", "2")) == one)
    fit("middle", "--checkpoint-dir", "ck3", "--save-every", "3steps", "--keep", 9, "--check-data", "reading")
    for step in sorted(int(name[5:]) for name in os.listdir("ck3") if name.startswith("ckpt-")):
        if step > 7:
            shutil.rmtree("ck3/ckpt-%d" % step)
    check("continued", fit("middle", "--checkpoint-dir", "ck3", "--save-every", "3steps", "--check-data", "reading", "--replicas", 2, "--strategy", "mirrored") == one)


for part in (orders, comparisons, joins, any_tree, series, maps, images, IN11_passes, errors, IN1_training, IN9_other_elements):
    part()
sys.exit(report())
