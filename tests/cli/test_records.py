# SPDX-License-Identifier: Apache-2.0
# timeout: 120
"""artel data: what it writes TensorFlow reads, value for value; copies are the same bytes; an index is used only where it fits;
verify names each damaged record by file and byte; stats are NumPy's."""
import glob
import json
import os
import signal
import subprocess
import xml.etree.ElementTree

import numpy as np
from cli import Row, expect
from oracle import ARTEL, artel, quiet, table

RNG = np.random.default_rng(9)
with quiet():
    import tensorflow as tf


def data(*words, rc=0):
    ran = artel("data", *words)
    expect(ran.rc == rc, "artel data %s: exit %d" % (" ".join(map(str, words)), ran.rc), ran.err)
    return ran.out + ran.err


def records(pattern, compression=""):
    return [r.numpy() for path in sorted(glob.glob(pattern)) if not path.endswith(".index")
            for r in tf.data.TFRecordDataset(path, compression)]


def parsed(pattern, spec, compression=""):
    return {k: v.numpy() for k, v in tf.io.parse_example(records(pattern, compression), spec).items()}


def arrays(b):
    made = dict(x=RNG.standard_normal((57, 3, 2)).astype("f4"), y=RNG.integers(-2**62, 2**62, 57), w=RNG.standard_normal((57, 2)),
                u=RNG.integers(0, 256, (57, 5)).astype("u1"), s=RNG.integers(-9, 9, (57, 2)).astype("i2"), e=np.zeros((57, 0), "f4"))
    np.savez(b("a.npz"), **made)
    return made


def make(b):
    a = arrays(b)
    F = tf.io.FixedLenFeature
    spec = dict(x=F([3, 2], tf.float32), y=F([], tf.int64), w=F([], tf.string), u=F([], tf.string), s=F([2], tf.int64))
    for compression in ("none", "gzip", "zlib"):
        data("make", "npz:" + b("a.npz"), "-o", b("o"), "--shards", 4, "--compression", compression)
        kind = "" if compression == "none" else compression.upper()
        got = parsed(b("o-0*"), spec, kind)
        expect((got["x"] == a["x"]).all() and (got["y"] == a["y"]).all() and (got["s"] == a["s"]).all(), "numbers differ", compression)
        expect(b"".join(got["w"]) == a["w"].tobytes() and b"".join(got["u"]) == a["u"].tobytes(), "bytes differ")
        expect(len(glob.glob(b("o-*.index"))) == (4 if compression == "none" else 0), "indexes")
        done = subprocess.run(["sha256sum", "--quiet", "-c", "o.sha256"], cwd=b(""), capture_output=True)
        expect(done.returncode == 0, "sha256sum", done.stdout)
        for name in glob.glob(b("o*")):
            if compression != "none":
                os.remove(name)
        if compression == "none":
            expect("57 records, 0 damaged" in data("verify", b("o*")) and "57 rows" in data("inspect", "tfrecord:" + b("o*")), "what lies beside")
            with open(b("o.sha256"), "w") as f:
                f.write("no record")
            expect("1 damaged" in data("verify", b("o.sha256"), rc=1), "a file by its very name")
            os.remove(b("o.sha256"))
            data("make", b("o"), "-o", b("again.tfrecord"), "--compression", "gzip")
            expect(records(b("again.tfrecord"), "GZIP") == records(b("o-0*")), "a copy of records differs")
            f = json.load(open(b("again.tfrecord.features.json")))
            expect(f["x"] == {"dtype": "float32", "shape": [3, 2]} and f["w"]["decode"] == "float64", "features", f)


def split(b):
    a = arrays(b)
    data("split", "npz:" + b("a.npz"), "-o", b("o.tfrecord"), "--fractions", "0.5,0.25,0.25", "--shuffle", "--seed", 4)
    got = [parsed(b("o-%s.tfrecord" % n), dict(y=tf.io.FixedLenFeature([], tf.int64)))["y"] for n in ("train", "validation", "test")]
    expect([len(g) for g in got] == [29, 14, 14], "parts", [len(g) for g in got])
    expect(sorted(np.concatenate(got)) == sorted(a["y"]) and not (np.concatenate(got) == a["y"]).all(), "rows of a split")
    there = sorted(os.listdir(b("")))
    for more in (["--fractions", "0.7,0.7"], ["--fractions", "0.5,0.2,much"], ["--names", "a,b,c"], ["--names", "a,a"]):
        data("split", "npz:" + b("a.npz"), "-o", b("o"), *more, rc=1)
        expect(sorted(os.listdir(b(""))) == there, "files of a split that is refused", more, os.listdir(b("")))


def tables(b):
    with open(b("t.csv"), "w") as f:
        f.write("a,b,y\n" + "".join("%d,%g,%d\n" % (i, i / 8, i % 3) for i in range(20)))
    data("make", "csv:" + b("t.csv") + "#label=y", "-o", b("t"))
    got = parsed(b("t"), dict(x=tf.io.FixedLenFeature([2], tf.float32), y=tf.io.FixedLenFeature([], tf.int64)))
    expect((got["x"] == [[i, i / 8] for i in range(20)]).all() and (got["y"] == np.arange(20) % 3).all(), "columns")
    said = json.loads(artel("data", "stats", b("t"), "--json", "-o", b("t.svg")).out)
    drawn = xml.etree.ElementTree.parse(b("t.svg")).getroot()
    expect(sum(e.tag.endswith("rect") for e in drawn.iter()) >= 20 and "x: 40 values" in "".join(drawn.itertext()), "the drawing")
    expect(said["x"]["max"] == 19 and abs(said["x"]["std"] - got["x"].std()) < 1e-9 and sum(said["x"]["histogram"]) == 40, "stats", said)


def pictures(b):
    for name in ("a/1.png", "a/2.jpg", "b/3.png"):
        os.makedirs(os.path.dirname(b("p/" + name)), exist_ok=True)
        pixels = RNG.integers(0, 256, (9, 8, 3), dtype="u1")
        code = tf.io.encode_png if name.endswith("png") else tf.io.encode_jpeg
        with open(b("p/" + name), "wb") as f:
            f.write(code(pixels).numpy())
    data("make", "images:" + b("p"), "-o", b("i"))
    got = parsed(b("i"), dict(x=tf.io.FixedLenFeature([], tf.string), y=tf.io.FixedLenFeature([], tf.int64)))
    files = [open(p, "rb").read() for p in (b("p/a/1.png"), b("p/a/2.jpg"), b("p/b/3.png"))]
    expect(list(got["x"]) == files and list(got["y"]) == [0, 0, 1], "encoded images")
    expect("x: 3 rows" in data("inspect", b("i")), "inspect of images")


def verify(b):
    arrays(b)
    data("make", "npz:" + b("a.npz") + "#x,y", "-o", b("v"), "--shards", 2)
    expect("57 records, 0 damaged" in data("verify", b("v")), "a good set")
    expect("57 records, 0 damaged" in data("verify", "tfrecord:" + b("v")), "a good specification")
    path = b("v-00001-of-00002")
    content, size = bytearray(open(path, "rb").read()), os.path.getsize(path) // 29
    begin = [int(v) for v in np.fromfile(path + ".index", "<u8")[5:]]
    content[begin[3] + 20] ^= 4
    content[begin[7]] ^= 1
    open(path, "wb").write(content)
    said = data("verify", b("v"), rc=1)
    expect("%s: record 3 at byte %d" % (path, begin[3]) in said and "%s: record 7 at byte %d" % (path, begin[7]) in said, said)
    expect("2 damaged" in said and size > 0, said)
    last = json.loads(artel("data", "verify", b("v"), "--json").out.splitlines()[-1])
    expect(last["damaged"] == 2 and last["records"] == 57, last)
    odd = b('o"\udcff\n')
    with open(odd, "wb") as f:
        f.write(content)
    line = json.loads(subprocess.run([ARTEL, "data", "verify", odd, "--json"], capture_output=True).stdout.decode().splitlines()[0])
    expect(line["file"] == odd.replace("\udcff", "\ufffd") and line["record"] == 3, "the name of a file in JSON", line)
    fixed = bytearray(content)
    fixed[begin[3] + 20] ^= 4
    fixed[begin[7]] ^= 1
    open(path, "wb").write(fixed[:begin[20]])
    said = data("inspect", b("v"))
    expect("the index is not used" in said and "20 records" in said, "an index of another file", said)
    data("index", path)
    expect("the index is not used" not in data("inspect", b("v")), "a new index")


def bench(b):
    """A column is read into room for itself, whatever else the records hold."""
    np.savez(b("w.npz"), x=np.ones((5, 400000), "f4"), y=np.arange(5))
    data("make", "npz:" + b("w.npz"), "-o", b("w"))
    expect("features, parsed" in data("bench", "tfrecord:" + b("w") + "#y"), "one column of records")
    expect("rows, in order" in data("bench", b("w")), "all columns of records")


def extremes(b):
    """Finite values whose range is no finite number."""
    x = np.array([-1.7e308, 1.7e308, 0, 1e308, -1e308, 1.7e308, np.inf])
    np.savez(b("e.npz"), x=x, y=np.array([np.nan, np.inf] * 3 + [np.nan]))
    for bins in (1, 10, 64):
        said = json.loads(artel("data", "stats", "npz:" + b("e.npz"), "--json", "--bins", bins).out)
        wanted = np.histogram(x[:6] / 2, bins)[0]
        expect(said["x"]["histogram"] == wanted.tolist() and said["y"]["missing"] == 7, "bins of extremes", said)
        expect(abs(said["x"]["mean"] - (x[:6] / 6).sum()) < 1e295 and said["x"]["max"] == 1.7e308, "moments of extremes", said)
    expect("1.7e+308" in data("stats", "npz:" + b("e.npz")), "extremes as text")


def catches(process, number):
    """Whether the process has a handler for the signal yet."""
    for line in open("/proc/%d/status" % process.pid):
        if line.startswith("SigCgt:"):
            return int(line.split()[1], 16) >> (number - 1) & 1
    return False


def interrupted(b):
    """What would take hours ends at the first Ctrl-C or SIGTERM, with the cause said and no file left behind."""
    np.savez(b("l.npz"), x=np.arange(8.0))
    stages = [dict(stage="repeat", count=100000), dict(stage="window", size=50000, shift=1)]
    for name, more in (("p.json", stages), ("f.json", stages + [dict(stage="filter", column="x", value=9, **{"is": "<"})])):
        with open(b(name), "w") as f:
            json.dump({"from": "npz:" + b("l.npz"), "stages": more}, f)
    with open(b("z.tfrecord"), "wb") as f:
        f.truncate(8 << 30)
    there, long = sorted(os.listdir(b(""))), "pipeline:" + b("p.json")
    for number, rc in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        for words in (["verify", long], ["stats", long], ["bench", long], ["make", long, "-o", b("o"), "--shards", "1"],
                      ["inspect", "pipeline:" + b("f.json")], ["verify", b("z.tfrecord")], ["verify", "tfrecord:" + b("z.tfrecord") + "#skip-errors=1"]):
            process = subprocess.Popen([ARTEL, "data", *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            while process.poll() is None and not catches(process, number):
                pass
            process.send_signal(number)
            err = process.communicate(timeout=60)[1].decode()
            expect(process.returncode == rc and "cancelled" in err, "a signal during", " ".join(words), process.returncode, err)
            expect(sorted(os.listdir(b(""))) == there, "files left behind by", words[0], os.listdir(b("")))


def usage(b):
    arrays(b)
    data("make", "npz:" + b("a.npz"), "-o", b("r.tfrecord"))
    with open(b("r.tfrecord"), "rb") as f:
        whole = f.read()
    with open(b("p.json"), "w") as f:
        json.dump({"from": "npz:a.npz", "stages": [{"stage": "take", "count": 2}]}, f)
    for words, text in ((["mak", "x"], "nearest is make"), (["make", "npz:" + b("a.npz")], "--output"), (["make"], "argument is missing"),
                        (["make", b("a.npz"), "-o", b("o")], "npz:"), (["verify", b("none")], "no such file"),
                        (["make", "synthetic:5", "-o", b("o")], "shape of a model"),
                        (["make", b("r.tfrecord"), "-o", b("r.tfrecord"), "--shuffle"], "would overwrite a file that the data is read from"),
                        (["split", b("r.tfrecord"), "-o", b("r"), "--fractions", "1", "--names", "x", "--rows", "3"], "split takes no such option"),
                        (["make", "npz:" + b("a.npz"), "-o", b("o"), "--rows", "3"], "--rows: make takes no such option (stats, bench"),
                        (["inspect", b("r.tfrecord"), "--json"], "--json: inspect takes no such option"), (["index", b("r.tfrecord"), "--shards", "2"], "--shards"),
                        (["bench", b("r.tfrecord"), "-o", b("o")], "--output: bench takes no such option"),
                        (["inspect", b("p.json")], "pipeline:" + b("p.json"))):
        ran = artel("data", *words)
        expect(ran.rc == 1 and text in ran.err, " ".join(words), ran.err)
    with open(b("r.tfrecord"), "rb") as f:
        expect(f.read() == whole and not os.path.exists(b("o")), "what was refused has written")
    expect("rows, in random order" in data("bench", "npz:" + b("a.npz")), "bench")
    lines = [json.loads(v) for v in artel("data", "bench", "npz:" + b("a.npz"), "--json").out.splitlines()]
    expect([v["what"] for v in lines] == ["open", "in_order", "random"], lines)


ROWS = [Row(f.__name__, f) for f in (make, split, tables, pictures, verify, bench, extremes, interrupted, usage)]


def run(row, index, folder, keras_only):
    row.check(lambda name: os.path.join(folder, name))
    return []


if __name__ == "__main__":
    table(ROWS, run, [])
