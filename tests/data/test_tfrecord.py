# SPDX-License-Identifier: Apache-2.0
# timeout: 200
# long form: 900
"""Records that TensorFlow writes: the rows delivered are those of tf.io.parse_example, for every kind of feature and compression;
damage is named with file, record and byte; training on them gives the bits that training on the same arrays gives.
"""
import json
import os
import sys

import numpy as np
from data import ARTEL, BUILD, check, deliver, refused, report, run, same

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
import keras
import tensorflow as tf

RNG = np.random.default_rng(7)
LONG = os.environ.get("ARTEL_LONG") == "1"


def floats(v):
    return tf.train.Feature(float_list=tf.train.FloatList(value=np.ravel(v).tolist()))


def ints(v):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=np.ravel(v).tolist()))


def byte(*v):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=v))


def example(**features):
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


def write(path, records, compression=None):
    with tf.io.TFRecordWriter(path, compression) as out:
        for r in records:
            out.write(r)


def features(path="f.json", **spec):
    with open(path, "w") as f:
        json.dump(spec, f)
    return "#features=" + path


def parsed(records, **spec):
    return {k: v for k, v in tf.io.parse_example(tf.constant(records, shape=[len(records)], dtype=tf.string), spec).items()}


def IN9_kinds():
    n = 37
    x, y = RNG.standard_normal((n, 4, 3)).astype("f4"), RNG.integers(-2**63, 2**63 - 1, (n, 3))
    raw = RNG.integers(0, 65536, (n, 2, 2)).astype("u2")
    lengths = RNG.integers(0, 7, n)
    ragged = [RNG.integers(-5, 300, k) for k in lengths]
    records = [example(x=floats(x[i]), y=ints(y[i]), r=ints(ragged[i]), b=byte(raw[i].tobytes()), z=floats([i] if i % 3 else []))
               for i in range(n)]
    truth = parsed(records, x=tf.io.FixedLenFeature([4, 3], tf.float32), y=tf.io.FixedLenFeature([3], tf.int64),
                   r=tf.io.RaggedFeature(tf.int64), z=tf.io.RaggedFeature(tf.float32))
    for compression in (None, "GZIP", "ZLIB"):
        label = compression or "plain"
        write("a.tfrecord", records, compression)
        spec = "tfrecord:a.tfrecord"
        same(label + " floats", deliver(spec + features(x=dict(dtype="float32", shape=[4, 3]))), truth["x"].numpy())
        same(label + " integers", deliver(spec + features(x=dict(dtype="int64", shape=[3], key="y")), "int64"), truth["y"].numpy())
        padded = truth["r"].to_tensor(shape=(n, 6)).numpy()
        same(label + " ragged", deliver(spec + features(x=dict(dtype="int64", shape=[6], key="r", ragged=True)), "int64"), padded)
        cut = truth["r"].to_tensor(default_value=-1, shape=(n, 3)).numpy()
        same(label + " truncated", deliver(spec + features(x=dict(dtype="int64", shape=[3], key="r", ragged=True, truncate=True, default=-1)),
                                           "int64"), cut)
        same(label + " raw", deliver(spec + features(x=dict(dtype="bytes", decode="uint16", shape=[2, 2], key="b"))), raw.astype("f4"))
        z = truth["z"].to_tensor(default_value=7.5, shape=(n, 1)).numpy()
        same(label + " default", deliver(spec + features(x=dict(dtype="float32", shape=[1], key="z", default=7.5))), z)
        same(label + " absent", deliver(spec + features(x=dict(dtype="int64", key="nowhere", default=-3)), "int64"), np.full(n, -3))
    write("a.tfrecord", records)
    same("inferred", deliver("tfrecord:a.tfrecord#x", "float32"), truth["x"].numpy().reshape(n, 12))
    refused("lacking", "tfrecord:a.tfrecord" + features(x=dict(dtype="int64", key="nowhere")), "a.tfrecord", "record 0", "at byte 0", "lacks it")
    refused("count", "tfrecord:a.tfrecord" + features(x=dict(dtype="float32", shape=[5])), "12 values (expected 5)")
    refused("kind", "tfrecord:a.tfrecord" + features(x=dict(dtype="int64", shape=[12])), "float_list (expected an int64_list)")
    refused("setting", "tfrecord:a.tfrecord" + features(x=dict(dtype="int64", shap=[12])), "f.json", "shap")
    refused("decode", "tfrecord:a.tfrecord" + features(x=dict(dtype="bytes")), "decode")
    return records, x


def unpacked():
    """Numbers one a field, a name twice, fields that no reader knows: as protobuf has it."""
    def field(number, wire, body):
        return bytes([number << 3 | wire]) + (bytes([len(body)]) + body if wire == 2 else body)
    one = field(3, 2, field(1, 0, b"\x05") + field(1, 0, b"\xff" * 9 + b"\x01") + field(1, 2, b"\x07\x80\x01"))
    two = field(2, 2, b"".join(field(1, 5, np.float32(v).tobytes()) for v in (1.5, -2)))
    entries = field(1, 2, field(1, 2, b"x") + field(2, 2, two)) + field(1, 2, field(1, 2, b"y") + field(2, 2, one)) \
        + field(1, 2, field(2, 2, one) + field(1, 2, b"x"))
    record = field(7, 2, b"unknown") + field(1, 2, entries)
    write("u.tfrecord", [record])
    truth = np.array([tf.train.Example.FromString(record).features.feature["x"].int64_list.value])
    same("unpacked, twice", deliver("tfrecord:u.tfrecord" + features(x=dict(dtype="int64", shape=[4])), "int64"), truth)


def IN9_sequences():
    steps = [RNG.standard_normal((k, 2)).astype("f4") for k in (3, 0, 5, 1)]
    records = []
    for s in steps:
        lists = tf.train.FeatureLists(feature_list={"s": tf.train.FeatureList(feature=[floats(v) for v in s])})
        context = tf.train.Features(feature={"c": ints([len(s)])})
        records.append(tf.train.SequenceExample(context=context, feature_lists=lists).SerializeToString())
    write("s.tfrecord", records)
    context, lists, _ = tf.io.parse_sequence_example(records, {"c": tf.io.FixedLenFeature([], tf.int64)}, {"s": tf.io.FixedLenSequenceFeature([2], tf.float32)})
    same("sequence", deliver("tfrecord:s.tfrecord" + features(x=dict(dtype="float32", shape=[5, 2], key="s", sequence=True, ragged=True))), lists["s"].numpy())
    same("context", deliver("tfrecord:s.tfrecord" + features(x=dict(dtype="int64", key="c")), "int64"), context["c"].numpy())
    refused("long sequence", "tfrecord:s.tfrecord" + features(x=dict(dtype="float32", shape=[4, 2], key="s", sequence=True, ragged=True)), "record 2", "at most 4")


def IN9_sparse():
    records = [example(i=ints(i), j=ints(j), v=floats(v)) for i, j, v in (([0, 2], [1, 3], [5, 6]), ([], [], []), ([1], [0], [-1.5]))]
    write("p.tfrecord", records)
    truth = parsed(records, x=tf.io.SparseFeature(["i", "j"], "v", tf.float32, [3, 4]))["x"]
    spec = "tfrecord:p.tfrecord"
    same("sparse", deliver(spec + features(x=dict(dtype="float32", shape=[3, 4], key="v", index=["i", "j"]))), tf.sparse.to_dense(truth).numpy())
    refused("sparse outside", spec + features(x=dict(dtype="float32", shape=[2, 4], key="v", index=["i", "j"])), "outside the shape")


def pictures():
    if not os.path.exists(os.path.join(BUILD, "libartel-image.so")):
        print("images are left out: libartel-image.so was not built")
        return
    images = [RNG.integers(0, 256, (20 + k, 24, 3), dtype="u1") for k in range(4)]
    coded = [(tf.io.encode_png if k % 2 else tf.io.encode_jpeg)(v).numpy() for k, v in enumerate(images)]
    write("i.tfrecord", [example(**{"image/encoded": byte(c), "image/class/label": ints([k])}) for k, c in enumerate(coded)])
    plain = np.stack([tf.io.decode_image(c, expand_animations=False).numpy()[:20] for c in coded[:1]]).astype("f4")
    small = np.stack([tf.image.resize(tf.io.decode_image(c, expand_animations=False), (8, 9)).numpy() for c in coded])
    found = deliver("tfrecord:i.tfrecord", "float32", 8, 9, 3)
    check("images", found.shape == small.shape and np.abs(found - small).max() < 1e-3)
    found = deliver("tfrecord:i.tfrecord" + features(x=dict(dtype="bytes", decode="image", key="image/encoded", resize=[20, 24], channels=3)))
    same("image as it is", found[:1], plain)
    write("j.tfrecord", [example(image=byte(coded[1][:-30]))])
    refused("cut image", "tfrecord:j.tfrecord#size=8x9", "j.tfrecord", "record 0", "image")


def damage(records, x):
    n = len(records)
    write("d.tfrecord", records)
    whole = open("d.tfrecord", "rb").read()
    size = [len(r) + 16 for r in records]
    at = sum(size[:5])
    spec = features(x=dict(dtype="float32", shape=[4, 3]))

    def with_bytes(path, content):
        open(path, "wb").write(content)
        return "tfrecord:" + path

    def flipped(place):
        changed = bytearray(whole)
        changed[place] ^= 16
        return bytes(changed)

    refused("payload", with_bytes("d1.tfrecord", flipped(at + 40)) + spec, "d1.tfrecord", "record 5", "at byte %d:" % at, "content")
    refused("length", with_bytes("d2.tfrecord", flipped(at + 1)) + spec, "d2.tfrecord", "record 5", "at byte %d:" % at, "length")
    refused("cut", with_bytes("d3.tfrecord", whole[:-7]) + spec, "record %d" % (n - 1), "cut off")
    refused("cut in a head", with_bytes("d4.tfrecord", whole[:at + 5]) + spec, "record 5", "cut off")
    refused("no records", with_bytes("d5.tfrecord", b"hello, this is no record file at all") + spec, "record 0 (counted from 0) at byte 0")
    others = np.delete(x, 5, 0)
    same("skipped payload", deliver("tfrecord:d1.tfrecord" + spec + "&skip-errors=1"), others)
    same("skipped length", deliver("tfrecord:d2.tfrecord" + spec + "&skip-errors=1"), others)
    same("skipped end", deliver("tfrecord:d3.tfrecord" + spec + "&skip-errors=3"), x[:-1])
    twice = bytearray(flipped(at + 40))
    twice[sum(size[:9]) + 30] ^= 1
    refused("too many", with_bytes("d6.tfrecord", bytes(twice)) + spec + "&skip-errors=1", "record 8 ", "content")
    for compression in ("GZIP", "ZLIB"):
        write("z.tfrecord", records, compression)
        packed = open("z.tfrecord", "rb").read()
        refused(compression + " cut", with_bytes("z1.tfrecord", packed[:len(packed) // 2]) + spec, "z1.tfrecord")
    same("an empty file beside", deliver("tfrecord:%s,d.tfrecord" % with_bytes("e.tfrecord", b"")[9:] + spec), x)


def words():
    rows = [[b"cat"], [b"dog", b"", b"\xc3\xa9t\xc3\xa9"], [], [b"cow", b"dog"]]
    write("v.tfrecord", [example(w=byte(*r)) for r in rows])
    names = ["dog", "cat", "", "\u00e9t\u00e9"]
    layer = keras.layers.StringLookup(vocabulary=[n for n in names if n], num_oov_indices=1)
    wanted = np.full((4, 3), -1)
    for i, r in enumerate(rows):
        for k, v in enumerate(r):
            wanted[i, k] = names.index(v.decode()) if v.decode() in names else -1
    spec = dict(dtype="bytes", key="w", shape=[3], ragged=True, default=-1)
    same("words", deliver("tfrecord:v.tfrecord" + features(x=dict(spec, vocabulary=names)), "int64"), wanted)
    with open("words.txt", "w", newline="") as f:
        f.write("\r\n".join(names))
    same("words of a file", deliver("tfrecord:v.tfrecord" + features(x=dict(spec, vocabulary="words.txt")), "int64"), wanted)
    check("as Keras numbers them", int(layer("cat")) == 2)
    refused("no word", "tfrecord:v.tfrecord" + features(x=dict(dtype="bytes", key="w", shape=[3], ragged=True, vocabulary=names)), "record 3", "'cow' is not in the vocabulary")
    refused("a word twice", "tfrecord:v.tfrecord" + features(x=dict(spec, vocabulary=["a", "b", "a"])), "'a' is in the vocabulary twice")
    with open("v.jsonl", "w") as f:
        f.write("".join(json.dumps({"w": [v.decode() for v in r]}) + "\n" for r in rows))
    same("words of lines", deliver("jsonl:v.jsonl" + features(x=dict(spec, vocabulary=names)), "int64"), wanted)


def odd_names():
    """A name that C cannot hold is no name of an array; the other features are read as ever."""
    write("n.tfrecord", [example(**{"x\0y": ints([5]), "x": ints([i]), "x\0": ints([7])}) for i in range(3)])
    same("the feature beside", deliver("tfrecord:n.tfrecord", "int64"), np.arange(3))
    rc, out, err = run(ARTEL, "data", "inspect", "n.tfrecord")
    check("names with zero bytes", rc == 0 and out.count("x:") == 1 and err.count("zero byte") == 2, out, err)


def unreadable():
    """Records that are whole and hold the wrong thing; images that cannot be decoded; with and without leave to go on."""
    y = np.arange(30)
    write("w.tfrecord", [example(x=floats([i] * (3 if i in (4, 9) else 2)), y=ints([i])) for i in range(30)])
    spec = "tfrecord:w.tfrecord" + features(x=dict(dtype="float32", shape=[2]), y=dict(dtype="int64"))
    kept = np.delete(y, [4, 9])
    refused("features", spec, "record 4", "3 values")
    refused("more than allowed", spec + "&skip-errors=1", "record 9", "3 values")
    same("rows left out", deliver(spec + "&skip-errors=2"), np.repeat(kept[:, None], 2, 1).astype("f4"))
    m = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    m.compile("sgd", "mse")
    m.save("w.keras")
    np.savez("w.npz", x=np.repeat(kept[:, None], 2, 1).astype("f4"), y=kept)
    for name, words in (("w1", ["npz:w.npz"]), ("w2", [spec, "--skip-errors", 2])):
        rc, _, err = run(ARTEL, "fit", "w.keras", "--data", *words, "--output", name + ".keras", "--verbose", 0)
        check("fit with rows left out", rc == 0 and ("2 rows" in err or name == "w1"), err)
    digests = [run(ARTEL, "inspect", n + ".keras", "--digest")[1].split()[-1:] for n in ("w1", "w2")]
    check("bits with rows left out", digests[0] == digests[1] and digests[0], digests)
    rc, _, err = run(ARTEL, "evaluate", "w.keras", "--data", "npz:w.npz", "--skip-errors", 1)
    check("nothing to leave out", rc == 1 and "npz" in err, err)
    rc, _, err = run(ARTEL, "fit", "w.keras", "--data", spec, "--validation", "npz:w.npz", "--skip-errors", 2, "--output", "w3.keras", "--verbose", 0)
    check("rows left out of one of two", rc == 0 and run(ARTEL, "inspect", "w3.keras", "--digest")[1].split()[-1:] == digests[0], err)
    rc, _, err = run(ARTEL, "fit", "w.keras", "--data", "npz:w.npz", "--validation", "npz:w.npz", "--skip-errors", 2, "--output", "w3.keras")
    check("nothing to leave out of both", rc == 1 and "npz" in err and "--skip-errors" in err, err)
    # The joined parts have one budget, and each is read to its end even when nothing of it is left.
    twice = spec + "+tfrecord:w.tfrecord"
    same("joined rows left out", deliver(twice + "#skip-errors=4"), np.repeat(np.tile(kept, 2)[:, None], 2, 1).astype("f4"))
    refused("more than allowed in all", twice + "#skip-errors=3", "record 9", "3 values")
    refused("nothing left for the second", twice + "#skip-errors=2", "record 4", "3 values")
    # What verify calls damaged is what skip-errors leaves out: values that no stage takes, files that are not there.
    with open("p.json", "w") as f:
        json.dump({"from": "npz:w.npz", "stages": [{"stage": "one_hot", "column": "y", "classes": 28}]}, f)
    with open("gone.jsonl", "w") as f:
        f.write('{"x": "gone.png", "y": 0}\n{"x": "there.png", "y": 1}\n')
    open("there.png", "wb").write(tf.io.encode_png(np.full((4, 4, 3), 7, "u1")).numpy())
    pictures = "jsonl:gone.jsonl" + features(x=dict(dtype="bytes", decode="image", resize=[4, 4]), y=dict(dtype="int64"))
    for name, damaged, left in (("pipeline:p.json", 2, 26), (pictures, 1, 1)):
        if "jsonl" in name and not os.path.exists(os.path.join(BUILD, "libartel-image.so")):
            continue
        rc, out, err = run(ARTEL, "data", "verify", name)
        check("damage of " + name, rc == 1 and "%d damaged" % damaged in out, out, err)
        found = deliver(name + ("&" if "#" in name else "#") + "x&skip-errors=%d" % damaged)
        check("left out of " + name, len(found) == left, found.shape)
    if os.path.exists(os.path.join(BUILD, "libartel-image.so")):
        for k in range(5):
            os.makedirs("pics/a", exist_ok=True)
            content = tf.io.encode_png(np.full((4, 4, 3), k, "u1")).numpy()
            with open("pics/a/%d.png" % k, "wb") as f:
                f.write(content[:-20] if k == 2 else content)
        refused("a cut image", "images:pics#size=4x4", "2.png")
        found = deliver("images:pics#size=4x4&skip-errors=1")
        check("an image left out", found[:, 0, 0, 0].tolist() == [0, 1, 3, 4], found.shape)


def shards(records, x):
    for i in range(5):
        write("set-%05d-of-00005" % i, records[i * 8:i * 8 + 8])
    spec = features(x=dict(dtype="float32", shape=[4, 3]))
    for name in ("set@5", "set@*", "set", "set-*", "set-0000[0-4]-of-00005"):
        same("shards " + name, deliver("tfrecord:" + name + spec), x)
    os.rename("set-00003-of-00005", "away")
    refused("missing shard", "tfrecord:set@5" + spec, "set-00003-of-00005 is missing")
    refused("missing shard", "tfrecord:set" + spec, "set-00003-of-00005 is missing")
    same("a pattern takes what is there", deliver("tfrecord:set-*" + spec), np.concatenate([x[:24], x[32:]]))


def training():
    x, y = RNG.standard_normal((203, 6)).astype("f4"), RNG.integers(0, 3, 203)
    np.savez("t.npz", x=x, y=y)
    records = [example(x=floats(x[i]), y=ints([y[i]])) for i in range(203)]
    for i in range(4):
        write("t-%05d-of-00004" % i, records[i * 51:i * 51 + 51], "GZIP" if i == 2 else None)
    m = keras.Sequential([keras.Input((6,)), keras.layers.Dense(8, "tanh"), keras.layers.Dropout(0.2), keras.layers.Dense(3, "softmax")])
    m.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    m.save("m.keras")
    digests = {}

    def fit(name, data, *more, launch=()):
        rc, _, err = run(ARTEL, *launch, "fit", "m.keras", "--data", data, "--epochs", 2, "--output", name + ".keras", "--verbose", 0, *more)
        check("fit " + name, rc == 0, err)
        digests[name] = run(ARTEL, "inspect", name + ".keras", "--digest")[1].split()[-1:]

    fit("npz", "npz:t.npz")
    fit("records", "tfrecord:t")
    fit("mirrored", "tfrecord:t@4", "--strategy", "mirrored", "--replicas", 3)
    fit("workers", "tfrecord:t", "--strategy", "multi-worker", launch=("launch", "-n", "2"))
    fit("half", "tfrecord:t", "--epochs", 1, "--checkpoint-dir", "ck")
    fit("resumed", "tfrecord:t", "--checkpoint-dir", "ck")
    for name in ("records", "mirrored", "workers", "resumed"):
        check("bits of " + name, len("".join(digests["npz"])) == 64 and digests[name] == digests["npz"], digests)
    said = [run(ARTEL, "evaluate", "npz.keras", "--data", d)[1] for d in ("npz:t.npz", "tfrecord:t")]
    check("evaluate", said[0] == said[1] and "loss" in said[0], said)
    for d, out in (("npz:t.npz", "a.npy"), ("tfrecord:t", "b.npy")):
        run(ARTEL, "predict", "npz.keras", "--data", d, "--output", out)
    same("predict", np.load("b.npy"), np.load("a.npy"))


def several():
    """Features that are read together: the last of two entries of one name counts, two may be read from one, one may be missing; too many to guess."""
    records = [example(a=ints([i]), b=ints([i, 7]), c=ints([9])) + example(a=ints([i * 100])) for i in range(5)]
    write("several.r", records)
    spec = {"a": tf.io.FixedLenFeature([], tf.int64), "b": tf.io.FixedLenFeature([2], tf.int64), "e": tf.io.FixedLenFeature([], tf.int64, 4)}
    wanted = {k: v.numpy().reshape(5, -1) for k, v in parsed(records, **spec).items()}
    with_two = features("several.json", a=dict(dtype="int64"), b=dict(dtype="int64", shape=[2]), again=dict(dtype="int64", shape=[2], key="b"), e=dict(dtype="int64", default=4))
    with open("several.p.json", "w") as f:
        json.dump({"from": "tfrecord:several.r" + with_two, "stages": [{"stage": "concatenate_columns", "columns": ["a", "b", "again", "e"]}]}, f)
    same("several", deliver("pipeline:several.p.json#x", "int64"), np.concatenate([wanted[k] for k in ("a", "b", "b", "e")], axis=1))
    write("many.r", [example(**{"f%d" % i: ints([i]) for i in range(4097)})])
    refused("too many to guess", "tfrecord:many.r", "more than 4096 features", "#features=")


def beyond():
    """A file of more than 2 GiB that TensorFlow writes, read at its end and around 2 GiB; and one that artel writes, read by TensorFlow."""
    count, size = 2200, 1 << 20
    filler = RNG.integers(0, 256, size, dtype="u1")
    spec = features(x=dict(dtype="int64"), b=dict(dtype="bytes", decode="uint8", shape=[size]))
    with tf.io.TFRecordWriter("l.tfrecord") as out:
        for i in range(count):
            out.write(example(x=ints([i * 7]), b=byte(filler.tobytes())))
    each = os.path.getsize("l.tfrecord") // count
    check("a file of 2 GiB", os.path.getsize("l.tfrecord") > 1 << 31)
    rc, out, err = run(ARTEL, "data", "verify", "l.tfrecord")
    check("verified", rc == 0 and "%d records, 0 damaged" % count in out, out, err)
    for first in ((1 << 31) // each - 2, count - 4):
        with open("l.json", "w") as f:
            json.dump({"from": "tfrecord:l.tfrecord" + spec, "stages": [dict(stage="skip", count=first), dict(stage="take", count=4)]}, f)
        same("records from %d on" % first, deliver("pipeline:l.json#x", "int64"), np.arange(first, first + 4) * 7)
    with open("l.json", "w") as f:
        json.dump({"from": "tfrecord:l.tfrecord" + spec, "stages": [dict(stage="select", columns=["b"]), dict(stage="rename", column="b", to="x"), dict(stage="skip", count=count - 1)]}, f)
    same("bytes of the last record", deliver("pipeline:l.json#x", "uint8"), filler[None])
    os.unlink("l.tfrecord")
    np.savez("l.npz", x=np.arange(8), b=np.stack([np.roll(filler, i) for i in range(8)]))
    with open("l.json", "w") as f:
        json.dump({"from": "npz:l.npz", "stages": [dict(stage="repeat", count=count // 8)]}, f)
    rc, _, err = run(ARTEL, "data", "make", "pipeline:l.json", "-o", "m.tfrecord", "--shards", 1)
    check("written", rc == 0 and os.path.getsize("m.tfrecord") > 1 << 31, err)
    read, rolled = 0, [np.roll(filler, i).tobytes() for i in range(8)]
    for record in tf.data.TFRecordDataset("m.tfrecord"):
        e = tf.train.Example.FromString(record.numpy()).features.feature
        read += e["x"].int64_list.value[0] == read % 8 and e["b"].bytes_list.value[0] == rolled[read % 8]
    check("read by TensorFlow", read == count // 8 * 8, read)
    os.unlink("m.tfrecord")


def main():
    records, x = IN9_kinds()
    unpacked()
    IN9_sequences()
    IN9_sparse()
    pictures()
    damage(records, x)
    words()
    several()
    odd_names()
    unreadable()
    shards(records, x)
    training()
    if LONG:
        beyond()
    return report()


sys.exit(main())
