# SPDX-License-Identifier: Apache-2.0
# timeout: 240
"""Columns of text in pipelines against tf.data with the same stages: of every source that has them, chosen, ordered, joined, compared,
looked up, filled, written as records that TensorFlow reads; and what no stage makes of a text.
"""
import csv
import gzip
import io
import json
import os
import sys

import numpy as np
from data import ARTEL, check, report, run, same, same_texts, texts
import pipelines
from pipelines import chain, refused, save

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
import tensorflow as tf

RNG = np.random.default_rng(31)
WORDS = ["", "a", "b", "hello", "w\u00f6rld", "x,y", 'q"q', "line\nbreak", "\u65e5\u672c", "z" * 300]
S = np.array([WORDS[i] for i in RNG.integers(0, len(WORDS), 57)])
PAIRS = np.stack([S, S[::-1]], 1)
SOURCE, COLUMN = "npz:s.npz#x,y", "npz:s.npz#x"


def rows(value, name="x"):
    save(value)
    return texts("pipeline:p.json#" + name)


def values(dataset):
    return [v.numpy() for v in dataset]


def stages():
    np.savez("s.npz", x=S, y=np.arange(57), z=PAIRS)
    ds, pairs = tf.data.Dataset.from_tensor_slices(S), tf.data.Dataset.from_tensor_slices(PAIRS)
    two = chain("npz:s.npz#z", ("rename", dict(column="z", to="x")))
    parts = [chain(SOURCE, ("take", dict(count=9))), chain(SOURCE, ("skip", dict(count=9)))]
    interleaved = tf.data.Dataset.range(2).interleave(lambda k: ds.skip(k * 9).take(tf.where(k == 0, tf.constant(9, tf.int64), 48)), cycle_length=2, block_length=3)
    for name, value, wanted in (
            ("as they are", SOURCE, values(ds)),
            ("skip, take, repeat, shard", chain(SOURCE, ("skip", dict(count=5)), ("take", dict(count=20)), ("repeat", dict(count=2)), ("shard", dict(count=3, index=1))),
             values(ds.skip(5).take(20).repeat(2).shard(3, 1))),
            ("window", chain(COLUMN, ("window", dict(size=3, shift=2))), [values(w) for w in ds.window(3, 2, 1, True)]),
            ("batch", chain(COLUMN, ("batch", dict(size=4))), [b.tolist() for b in values(ds.batch(4, True))]),
            ("unbatch", chain(COLUMN, ("batch", dict(size=4)), ("unbatch", {})), values(ds.batch(4, True).unbatch())),
            ("filter ==", chain(SOURCE, ("filter", {"column": "x", "is": "==", "value": "w\u00f6rld"})), values(ds.filter(lambda v: v == "w\u00f6rld"))),
            ("filter !=", chain(SOURCE, ("filter", {"column": "x", "is": "!=", "value": ""})), values(ds.filter(lambda v: v != ""))),
            ("filter in", chain(SOURCE, ("filter", {"column": "x", "is": "in", "value": ["a", "\u65e5\u672c"]})),
             values(ds.filter(lambda v: (v == "a") | (v == "\u65e5\u672c")))),
            ("filter by a number", chain(SOURCE, ("filter", {"column": "y", "is": "<", "value": 7})), values(ds.take(7))),
            ("pad", chain(two["from"], ("rename", dict(column="z", to="x")), ("pad", dict(column="x", shape=[3]))),
             [v.tolist() for v in values(pairs.padded_batch(57, [3]).unbatch())]),
            ("reshape", chain(two["from"], ("rename", dict(column="z", to="x")), ("reshape", dict(column="x", shape=[2, 1]))),
             [v.tolist() for v in values(pairs.map(lambda v: tf.reshape(v, (2, 1))))]),
            ("cache", chain(SOURCE, ("cache", {}), ("repeat", dict(count=2))), values(ds.cache().repeat(2))),
            ("zip", {"zip": [chain(SOURCE, ("select", dict(columns=["x"]))), chain(SOURCE, ("select", dict(columns=["y"])))]}, values(ds)),
            ("concatenate", {"concatenate": [SOURCE, parts[0]]}, values(ds.concatenate(ds.take(9)))),
            ("interleave", {"interleave": parts, "cycle": 2, "block": 3}, values(interleaved))):
        same_texts(name, rows(value), wanted)
    keys = ["a", "hello", "\u65e5\u672c", ""]
    places = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, tf.range(4, dtype=tf.int64)), 7)
    same("lookup", pipelines.rows(chain(SOURCE, ("lookup", dict(column="x", keys=keys, default=7))), "int64"), values(ds.map(places.lookup)))
    for name in ("words.txt", "same.txt"):
        with open(name, "w") as f:
            f.write("".join(key + "\n" for key in keys[:3]))
    table = tf.lookup.StaticHashTable(tf.lookup.TextFileInitializer("words.txt", tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER), -1)
    by_file = ("lookup", dict(column="x", keys="words.txt", default=-1))
    same("lookup by a file", pipelines.rows(chain(SOURCE, by_file), "int64"), values(ds.map(table.lookup)))
    save(chain(SOURCE, by_file))
    rc, _, err = run(ARTEL, "data", "make", "pipeline:p.json", "-o", "words.txt")
    check("nothing overwrites the words", rc == 1 and open("words.txt").read().split() == keys[:3], err)
    kept = lambda name: chain(SOURCE, ("lookup", dict(column="x", keys=name, default=-1)), ("select", dict(columns=["x"])), ("cache", dict(file="kept")))
    same("kept in a file", pipelines.rows(kept("words.txt"), "int64"), values(ds.map(table.lookup)))
    same("the same words elsewhere", pipelines.rows(kept("same.txt"), "int64"), values(ds.map(table.lookup)))
    with open("same.txt", "a") as f:
        f.write("more\n")
    refused("kept of other words", kept("same.txt"), "kept")
    shuffled = rows(chain(SOURCE, ("shuffle", dict(seed=1)))).tolist()
    check("shuffle", sorted(shuffled) == sorted(values(ds)) and shuffled != values(ds))


def refusals():
    np.savez("s.npz", x=S, y=np.arange(57))
    for name, settings in (("cast", dict(dtype="float32")), ("scale", {}), ("normalise", dict(mean=1, std=1)), ("one_hot", dict(classes=3)),
                           ("resize", dict(height=2, width=2)), ("random_flip", {})):
        refused(name, chain(SOURCE, (name, dict(settings, column="x"))), "stage 2 (%s)" % name, "column 'x' holds text", "lookup makes numbers")
    refused("pad", chain(SOURCE, ("pad", dict(column="x", shape=[], value=3))), "filled with empty strings")
    for settings in ({"is": "<", "value": "a"}, {"is": "finite"}, {"is": "==", "value": ["a"]}, {"is": "in", "value": "a"}):
        refused("filter %s" % settings, chain(SOURCE, ("filter", dict(settings, column="x"))), "compared by ==, != and in")
    refused("filter by a number", chain(SOURCE, ("filter", {"column": "x", "is": "==", "value": 3})), "column 'x' holds text", "write a string")
    refused("a word for numbers", chain(SOURCE, ("filter", {"column": "y", "is": "==", "value": "a"})), "no number to compare with")
    refused("lookup of a word", chain(SOURCE, ("lookup", dict(column="x", keys=["a"]))), "is no key", "give a default")
    refused("lookup by numbers", chain(SOURCE, ("lookup", dict(column="x", keys=[1]))), "entry 0", "write a list of strings")
    refused("lookup by a file that is not there", chain(SOURCE, ("lookup", dict(column="x", keys="nowhere.txt", default=1))), "nowhere.txt")
    refused("lookup by a number", chain(SOURCE, ("lookup", dict(column="x", keys=5, default=1))), "no list of strings", "'x'")
    refused("no default", chain(SOURCE, ("lookup", dict(column="x", keys=["a"], default=0.5))), "default is no whole number")
    refused("lookup by words", chain(SOURCE, ("lookup", dict(column="y", keys=["a"], default=1))), "no list of numbers", "'y'")
    refused("in a file", chain(SOURCE, ("cache", dict(file="c.cache"))), "holds text, which is not kept in a file")
    refused("a snapshot", chain(SOURCE, ("snapshot", dict(folder="snap"))), "holds text, which is not kept in a file")
    refused("fed to numbers", SOURCE, "'x' cannot be fed to 'in'", "holds text")


def example(i, s):
    feature = {"x": tf.train.Feature(bytes_list=tf.train.BytesList(value=[s.encode()])), "n": tf.train.Feature(float_list=tf.train.FloatList(value=[i * .5])),
               "y": tf.train.Feature(int64_list=tf.train.Int64List(value=[i % 3]))}
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


def sources():
    """The texts of each format come through a pipeline, in order and shuffled, and into records, in which TensorFlow finds them."""
    np.savez("s.npz", x=S, n=np.arange(57) * .5, y=np.arange(57) % 3)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerows([["x", "n", "y"]] + [[s, i * .5, i % 3] for i, s in enumerate(S)])
    lines = "\n".join(json.dumps(dict(x=str(s), n=i * .5, y=i % 3)) for i, s in enumerate(S))
    for name, content in (("t.csv", out.getvalue()), ("t.jsonl", lines)):
        with open(name, "wb") as f, gzip.open(name + ".gz", "wb") as g:
            f.write(content.encode())
            g.write(content.encode())
    for name, kind in (("t.tfrecord", None), ("t.gz", "GZIP"), ("t.z", "ZLIB")):
        with tf.io.TFRecordWriter(name, kind) as w:
            for i, s in enumerate(S):
                w.write(example(i, s))
    wanted = [s.encode() for s in S]
    for spec in ("npz:s.npz", "csv:t.csv#label=y", "csv:t.csv#label=y&stream=yes", "csv:t.csv.gz#label=y&stream=yes", "jsonl:t.jsonl", "jsonl:t.jsonl.gz",
                 "tfrecord:t.tfrecord", "tfrecord:t.gz", "tfrecord:t.z"):
        same_texts("a pipeline of " + spec, rows(chain(spec, ("take", dict(count=50)))), wanted[:50])
        shuffled = chain(spec, ("shuffle", dict(seed=2)), ("cache", {}))
        check("shuffled " + spec, sorted(rows(shuffled).tolist()) == sorted(wanted))
        for made in (spec, "pipeline:p.json"):
            rc, _, err = run(ARTEL, "data", "make", made, "-o", "made.tfrecord", "--shards", 1)
            check("make " + spec, rc == 0 and "left out" not in err, err)
            parsed = tf.data.TFRecordDataset("made.tfrecord").map(lambda v: tf.io.parse_single_example(v, {"x": tf.io.FixedLenFeature([], tf.string)})["x"])
            found = values(parsed)
            check("what TensorFlow finds of " + made, found == wanted if made == spec else sorted(found) == sorted(wanted), found[:5])
            same_texts("and what is read of " + made, texts("tfrecord:made.tfrecord#x"), found)
    rc, out, err = run(ARTEL, "inspect", "csv:t.csv#label=y", "--head", 57)
    check("inspect --head", rc == 0 and all('x "%s"' % w.replace('"', '""') in out for w in S if w.isascii() and w.isprintable() and len(w) < 60), out, err)
    check("a long text is cut", "z" * 60 + '"... (300 bytes)' in out, out)


def names():
    """A record holds each feature once: numbers of a table beside a text that has their name, and two columns of one name."""
    with open("x.csv", "w") as f:
        f.write("n,x,y,x_1\n1.5,hi,0,a\n2.5,there,1,b\n")
    rc, _, err = run(ARTEL, "data", "make", "csv:x.csv#label=y", "-o", "x.tfrecord", "--shards", 1)
    check("a text called x", rc == 0 and "numbers are written as 'x_2'" in err, err)
    spec = {"x": tf.io.FixedLenFeature([], tf.string), "x_1": tf.io.FixedLenFeature([], tf.string), "x_2": tf.io.FixedLenFeature([1], tf.float32),
            "y": tf.io.FixedLenFeature([], tf.int64)}
    found = [tuple(np.asarray(v).tolist() for v in (e["x"], e["x_1"], e["x_2"], e["y"]))
             for e in tf.data.TFRecordDataset("x.tfrecord").map(lambda v: tf.io.parse_single_example(v, spec))]
    check("nothing is lost", found == [(b"hi", b"a", [1.5], 0), (b"there", b"b", [2.5], 1)], found)
    same("and read here", pipelines.rows(chain("tfrecord:x.tfrecord#x_2", ("rename", dict(column="x_2", to="x")))), np.array([[1.5], [2.5]], "float32"))
    with open("d.csv", "w") as f:
        f.write("n,s,s,y\n1.5,hi,ho,0\n")
    rc, _, err = run(ARTEL, "data", "make", "csv:d.csv#label=y", "-o", "d.tfrecord", "--shards", 1)
    spec = {name: tf.io.FixedLenFeature([], tf.string) for name in ("s", "s.1")}
    found = [{name: v.numpy() for name, v in e.items()}
             for e in tf.data.TFRecordDataset("d.tfrecord").map(lambda v: tf.io.parse_single_example(v, spec))]
    check("two texts of one name", rc == 0 and found == [{"s": b"hi", "s.1": b"ho"}], found, err)
    refused("a name that is there", chain(SOURCE, ("rename", dict(column="x", to="y"))), "there is a column 'y' already")
    refused("a column twice", chain(SOURCE, ("select", dict(columns=["x", "x"]))), "column 'x' is named twice")


def zeros():
    """What stands behind a zero byte is part of a text, also where people are shown it."""
    np.savez("z.npz", x=np.array(["a\0b", "a", "\0\0c"]), y=np.arange(3))
    rc, out, err = run(ARTEL, "inspect", "npz:z.npz", "--head", 3)
    check("zero bytes are shown", rc == 0 and 'x "a\\x00b"' in out and 'x "a"' in out and 'x "\\x00\\x00c"' in out, out, err)
    refused("a word with a zero byte", chain("npz:z.npz#x,y", ("lookup", dict(column="x", keys=["a"]))), "'a\\x00b' is no key")
    same_texts("filter", rows(chain("npz:z.npz#x,y", ("filter", {"column": "x", "is": "!=", "value": "a"}))), [b"a\0b", b"\0\0c"])


for part in (stages, refusals, sources, names, zeros):
    part()
sys.exit(report())
