# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Compressed files that are unfolded by blocks: rows of files by Python's gzip and zlib and by TensorFlow, in order and at random places, are
those of the plain files, in memory far below what they unfold to; several members, what follows the last, damage."""
import gzip
import io
import json
import os
import re
import sys
import zlib

import numpy as np
from data import ARTEL, PROGRAM, check, refused, report, run

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
import tensorflow as tf

RNG = np.random.default_rng(29)
ROWS, WIDTH = 10000, 1024  # 40 MB of float32
PEAK = 24 << 10            # kB: the program, what is mapped of the compressed file, a budget of 2 MB
VALUES = np.repeat(RNG.integers(0, 40, (ROWS, WIDTH // 8)), 8, 1).astype("f4")
VALUES[:, 0] = np.arange(ROWS)


def read(spec, dtype="float32", memory=None, rows=None, step=1):
    """The rows, and the peak of memory in kB."""
    env = dict(os.environ)
    if memory is not None:
        env["ARTEL_TEST_MEMORY"] = str(memory)
    if rows is not None:
        env.update(ARTEL_TEST_ROWS=str(rows), ARTEL_TEST_STEP=str(step))
    rc, out, err = run(PROGRAM, spec, dtype, "out.raw", env=env)
    if rc != 0:
        raise AssertionError("%s: %s" % (spec, err.strip()))
    peak = re.search(r"peak (\d+)", err)
    return np.fromfile("out.raw", dtype).reshape(tuple(map(int, out.split()))), int(peak.group(1)) if peak else 0


def places(rows, step, count):
    return np.arange(rows) * step % count


def put(name, content):
    with open(name, "wb") as f:
        f.write(content)
    return name


def bounded(label, spec, wanted, far):
    """In order in little memory; at random in little; in as much as it likes."""
    for memory, rows, step in ((1, len(wanted), 1), (1, far, 7919), (2 << 20, far, 4099), (1 << 40, len(wanted), 7919)):
        found, peak = read(spec, wanted.dtype.str[1:].replace("f4", "float32").replace("f8", "float64"), memory, rows, step)
        check("%s, budget %d, step %d" % (label, memory, step), found.tobytes() == wanted[places(rows, step, len(wanted))].tobytes(), found.shape)
        check("%s: memory at budget %d, step %d" % (label, memory, step), memory > 2 << 20 or peak < PEAK, peak)


def records():
    feature = lambda v: tf.train.Feature(float_list=tf.train.FloatList(value=v))
    coded = [tf.train.Example(features=tf.train.Features(feature={"x": feature(v)})).SerializeToString() for v in VALUES]
    for compression in ("GZIP", "ZLIB"):
        with tf.io.TFRecordWriter("r.tfrecord", compression) as out:
            for record in coded:
                out.write(record)
        packed = os.path.getsize("r.tfrecord")
        check("it is worth while", packed < 8 << 20, packed)
        bounded("records, " + compression, "tfrecord:r.tfrecord", VALUES, 60)
    whole = open("r.tfrecord", "rb").read()
    content = zlib.decompress(whole)
    # Several members, and what follows them.
    cut = len(content) // 3 + 5
    parts = gzip.compress(content[:cut], 1) + gzip.compress(b"", 1) + gzip.compress(content[cut:], 1)
    for label, behind in (("", b""), (" and zeros", bytes(512)), (" and garbage", b"no member")):
        found, _ = read("tfrecord:" + put("m.gz", parts + behind), memory=1 << 20)
        check("members" + label, found.tobytes() == VALUES.tobytes())
    # Cut off: named with file, byte and place; what comes before may be kept.
    short = put("cut.tfrecord", parts[:len(parts) // 2])
    refused("cut off", "tfrecord:" + short, short, "ends too early at byte %d, " % (len(parts) // 2), "bytes into the content")
    found, _ = read("tfrecord:%s#skip-errors=1" % short)
    check("kept of a file that is cut off", len(found) > ROWS // 4 and found.tobytes() == VALUES[:len(found)].tobytes(), len(found))
    rc, out, _ = run(ARTEL, "data", "verify", short)
    check("verified where it is cut off", rc == 1 and "ends too early" in out and "1 damaged" in out and "%d records" % (len(found) + 1) in out, out)
    damaged = bytearray(parts)
    damaged[len(parts) // 3] ^= 255
    refused("damaged", "tfrecord:" + put("bad.tfrecord", bytes(damaged)), "bad.tfrecord", "byte")
    # The checksum at the end of the stream counts, too.
    refused("checksum", "tfrecord:" + put("sum.tfrecord", whole[:-1] + bytes([whole[-1] ^ 1])), "sum.tfrecord", "damaged at byte")
    # A damaged record within a good stream, and looking for the next.
    spoiled = bytearray(content)
    size = len(coded[0]) + 16
    spoiled[7 * size + 3] ^= 1
    spoiled[9 * size + 500] ^= 1
    put("spoiled.tfrecord", gzip.compress(bytes(spoiled), 1))
    refused("a damaged length", "tfrecord:spoiled.tfrecord", "record 7", "at byte %d of what it unfolds to" % (7 * size))
    found, _ = read("tfrecord:spoiled.tfrecord#skip-errors=2", memory=1)
    check("damaged records left out", found.tobytes() == np.delete(VALUES, [7, 9], 0).tobytes(), found.shape)


def strings():
    """Strings of compressed records live as long as those of plain ones."""
    one = lambda i: tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"word%d" % (i % 50)]))
    coded = [tf.train.Example(features=tf.train.Features(feature={"x": one(i)})).SerializeToString() for i in range(3000)]
    import keras
    model = keras.Sequential([keras.Input((), dtype="string"), keras.layers.StringLookup(vocabulary=["word%d" % i for i in range(0, 50, 3)])])
    model.save("strings.keras")
    said = []
    for compression in (None, "GZIP"):
        with tf.io.TFRecordWriter("s.tfrecord", compression) as out:
            for record in coded:
                out.write(record)
        rc, _, err = run(ARTEL, "predict", "strings.keras", "--data", "tfrecord:s.tfrecord", "--output", "s.npy")
        check("strings %s" % compression, rc == 0, err)
        said.append(np.load("s.npy").tobytes() if rc == 0 else b"")
    check("the same strings", said[0] == said[1] and len(said[0]) > 0)


def lines():
    text = "".join(json.dumps({"x": v.tolist()}) + "\r\n" * (1 + i % 2) for i, v in enumerate(VALUES[:, ::32]))
    text = "\ufeff" + text * 2 + text[:-2]  # the last line without an end
    wanted = np.tile(VALUES[:, ::32], (3, 1))
    put("l.jsonl.gz", gzip.compress(text.encode(), 1))
    bounded("lines", "jsonl:l.jsonl.gz", wanted, 200)
    refused("lines cut off", "jsonl:" + put("c.jsonl.gz", open("l.jsonl.gz", "rb").read()[:-100]), "c.jsonl.gz", "ends too early at byte")
    bad = text.encode()
    at = bad.index(b"\n{", len(bad) // 2) + 1
    put("b.jsonl.gz", gzip.compress(bad[:at] + b"#" + bad[at + 1:], 1))
    refused("a bad line", "jsonl:b.jsonl.gz", "b.jsonl.gz", "at byte %d" % at)
    found, _ = read("jsonl:b.jsonl.gz#skip-errors=1", memory=1)
    check("a line left out", len(found) == len(wanted) - 1)
    put("g.jsonl.gz", gzip.compress(b"".join(b'{"x": [%d]}' % i + b"\n" * (60 << 20) for i in range(3)), 1))
    found, peak = read("jsonl:g.jsonl.gz", memory=1)
    check("what follows a line is not unfolded for it", found.tolist() == [[0], [1], [2]] and peak < PEAK, found, peak)
    long = json.dumps({"x": list(range(100000))})
    put("long.jsonl.gz", gzip.compress((long + "\n" + long).encode(), 1))
    found, _ = read("jsonl:long.jsonl.gz", memory=1)
    check("lines longer than blocks", found.shape == (2, 100000) and (found[1] == np.arange(100000)).all(), found.shape)


def tables():
    rows = 200000
    columns = [np.arange(rows), RNG.integers(0, 10, rows), np.round(RNG.random(rows), 3)]
    body = "".join('%d,"%d",%r\r\n' % (a, b, float(c)) if a % 3 == 0 else "%d,%d,%r\r\n" % (a, b, float(c)) for a, b, c in zip(*columns))
    put("t.csv.gz", gzip.compress(("a,b,c\n" + body).encode(), 1))
    wanted = np.stack(columns, 1).astype("f8")
    bounded("table", "csv:t.csv.gz#stream=yes", wanted, 300)
    put("u.csv", ("a,b,c\n" + body).encode())
    put("v.csv.gz", gzip.compress(("a,b,c\n" + body[:body.index("\n", 5000) + 1]).encode(), 1))
    found, _ = read("csv:[u-v].csv*#stream=yes&label=a", "float64", memory=1, rows=1000, step=7919)
    plain, _ = read("csv:u.csv#stream=yes&label=a", "float64", rows=1000, step=7919)
    check("plain and compressed tables together", found.shape == plain.shape and found.shape[1] == 2)
    refused("a table that is cut off", "csv:%s#stream=yes" % put("w.csv.gz", open("t.csv.gz", "rb").read()[:-50]), "w.csv.gz", "ends too early at byte")
    names = [b"red", b"gr\"een", b"blue, dark", b"two\nlines", b"x" * 300]
    text = b"name,y\n" + b"".join(b'"%s",%d\n' % (names[i % 5].replace(b'"', b'""'), i % 2) for i in range(5000))
    put("n.csv", text)
    put("n.csv.gz", gzip.compress(text))
    import keras
    model = keras.Sequential([keras.Input((1,), dtype="string"), keras.layers.StringLookup(vocabulary=["red", 'gr"een', "x" * 300])])
    model.save("names.keras")
    said = []
    for name in ("n.csv", "n.csv.gz"):
        rc, _, err = run(ARTEL, "predict", "names.keras", "--data", "csv:%s#stream=yes&columns=name" % name, "--output", "n.npy")
        check("texts of " + name, rc == 0, err)
        said.append(np.load("n.npy").tobytes() if rc == 0 else b"")
    check("the same texts", said[0] == said[1] and len(said[0]) > 0)


def whole_tables():
    """Tables that are read at once: pieces of whole records, whatever stands at their ends; the text is not kept."""
    rows = 60000
    long = '"' + "many ""words"", and\n\n more " * 20 + '"'
    odd = "# a \"quote\n\r\n#\n" + "\r\n" * 3
    body = "".join("%d,%s,%.3f\r\n%s" % (i, long if i % 3 else "", i / 7, "\n" * (i % 4 == 0)) for i in range(rows))
    put("w.csv", (odd + "a,note,c\n" + body).encode())
    put("w.csv.gz", gzip.compress(("\ufeff" + odd + "a,note,c\n" + body).encode(), 1))
    wanted = np.stack([np.arange(rows), np.round(np.arange(rows) / 7, 3)], 1).astype("f8")
    for stream in ("", "&stream=yes"):
        found, peak = read("csv:w.csv.gz#columns=a,c" + stream, "float64", memory=1)
        check("a table with long texts" + stream, found.tobytes() == wanted.tobytes(), found.shape)
        check("its memory" + stream, peak < PEAK, peak)
    for at, bad in ((body.index("\n50000,") + 1, "x"), (body.rindex("\r\n", 0, -4) + 2, '"')):
        spoiled = (odd + "a,note,c\n" + body[:at] + bad + body[at:]).encode()
        said = [refused("a bad field of " + name, "csv:%s#columns=a,c" % put(name, content), name, " line ", "column 1")
                for name, content in (("b.csv", spoiled), ("b.csv.gz", gzip.compress(spoiled, 1)))]
        check("the same line", said[0].replace("b.csv", "") == said[1].replace("b.csv.gz", ""), said)
    empty = gzip.compress(b"\n" * (100 << 20), 1)
    put("e.csv.gz", empty * 3 + gzip.compress(b"a,b\n" + b"1,2\n" * 8) + empty * 3 + gzip.compress(b"3,4\n"))
    for stream in ("", "#stream=yes"):
        found, peak = read("csv:e.csv.gz" + stream, "float64", memory=1)
        check("empty lines pass by" + stream, found.tolist() == [[1, 2]] * 8 + [[3, 4]] and peak < PEAK, found, peak)


def texts():
    """Windows of text, those of plain files beside."""
    alphabet = list("etaoin shrdlu\n") + ["\u00e9", "\u4e2d", "\U0001f600"]
    text = "".join(RNG.choice(alphabet, 300000, p=[0.06] * 14 + [0.06, 0.05, 0.05])).encode()
    cut = text.index("\u4e2d".encode(), 200000) + 1  # within a character
    put("a-0.txt", text[:cut])
    put("a-1.txt", text[cut:])
    put("b-0.txt", text[:cut])
    put("b-1.txt", gzip.compress(text[cut:], 1))
    put("c.txt", gzip.compress(text, 1))
    for options in ("length=100", "length=1500&step=7777", "length=3&step=999&tokens=bytes", "length=4096&tokens=bytes"):
        wanted, _ = read("text:a-*.txt#" + options, "int32")
        for name in ("b-*.txt", "c.txt"):
            for memory, step in ((1, 1), (1 << 40, 7919)):
                found, peak = read("text:%s#%s" % (name, options), "int32", memory, len(wanted), step)
                check("text %s %s" % (name, options), found.tobytes() == wanted[places(len(wanted), step, len(wanted))].tobytes(), found.shape)
    put("d.txt.gz", gzip.compress(text[:text.rindex(b"\n", 0, 20000)] * 4000, 1))
    found, peak = read("text:d.txt.gz#length=1000", "int32", 1, 200, 104729)
    check("a long text", found.shape == (200, 1000) and peak < PEAK, peak)
    refused("text that is cut off", "text:%s#length=9" % put("e.txt.gz", gzip.compress(text, 1)[:-20]), "e.txt.gz", "ends too early at byte")
    refused("bytes of text that are cut off", "text:%s#length=9&tokens=bytes" % put("e.txt.gz", gzip.compress(text, 1)[:-20]), "ends too early at byte")
    refused("no UTF-8", "text:%s#length=9" % put("f.txt.gz", gzip.compress(text[:100000] + b"\xff" + text[100000:], 1)), "f.txt.gz", "is no UTF-8")
    refused("a character without its end", "text:%s#length=9" % put("f.txt.gz", gzip.compress(text[:cut], 1)), "f.txt.gz", "byte %d is no UTF-8" % (cut - 1))


def arrays():
    """The header of an array says what it must unfold to, before anything is taken for it."""
    out = io.BytesIO()
    np.save(out, VALUES)
    put("v.npy.gz", gzip.compress(out.getvalue(), 1))
    found, peak = read("npy:v.npy.gz", memory=1)
    check("npy.gz", found.tobytes() == VALUES.tobytes() and peak < PEAK + VALUES.nbytes // 1024, peak)
    refused("npy.gz cut off", "npy:" + put("x.npy.gz", gzip.compress(out.getvalue(), 1)[:-3000]), "x.npy.gz", "ends too early at byte")
    for size, word in ((-8, "bytes (expected"), (8, "more than")):
        content = out.getvalue()[:size] if size < 0 else out.getvalue() + bytes(size)
        refused("npy.gz of another size", "npy:" + put("y.npy.gz", gzip.compress(content, 1)), "y.npy.gz", word)
    head = out.getvalue()[:128].replace(b"(10000, 1024)", b"(99999, 9999)")
    refused("npy.gz that promises much", "npy:" + put("z.npy.gz", gzip.compress(head + bytes(1000))), "z.npy.gz", "promises")


records()
strings()
lines()
tables()
whole_tables()
texts()
arrays()
sys.exit(report())
