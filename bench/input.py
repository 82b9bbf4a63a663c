# SPDX-License-Identifier: Apache-2.0
"""Input alone, artel beside tf.data in the same run, and what steps wait for it.

usage: input.py --artel PROGRAM [--rounds 3] [--scale 1.0] [--out bench/input.md]

records   TFRecord of 1 KB records in the page cache, both checksums verified, one core
examples  tf.train.Example of 784 floats and an integer: parsed from memory; whole (read, verify, parse); tf.io.parse_example in batches of 256
jpeg      JPEG files of 500x375 to 96x96, one core; the same with decode=scaled, beside decode_jpeg with the same ratio
csv       a table of 5 GB, 12 numbers a line, streamed: rate of the first 4 million lines, resident memory (tf.data: TextLineDataset and
          decode_csv, batches of 1024)
shuffle   a whole shuffle of 100 million elements: resident memory without it, with one and with four
waits     MobileNetV2 at 96 px, two cores: the share of a step that waits for input, from an image folder and from TFRecord of JPEGs
lengths   epochs over 4096 sequences of log-normal length, filled up to the longest and in batches of like length, two cores
service   the examples through a data service with one worker on the same two cores, beside reading them at home

Rates are the best of the rounds. The last column says whether the bar was met. Needs 6 GB below TMPDIR, and some six minutes.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
PARTS = ("records", "examples", "jpeg", "csv", "shuffle", "waits", "lengths", "service")
PEER = """
import os, sys, time
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
import tensorflow as tf
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
def took(ds, rounds=%d):
    best = 1e9
    for _ in range(rounds):
        begin = time.perf_counter()
        n = ds.reduce(tf.constant(0, tf.int64), lambda a, *x: a + 1).numpy()
        best = min(best, time.perf_counter() - begin)
    return best
"""

STARTER = """
import os, sys
p = os.spawnv(os.P_NOWAIT, "/usr/bin/env", ["env", *sys.argv[2:]])
_, status, usage = os.wait4(p, 0)
os.write(int(sys.argv[1]), b"%d %d" % (os.waitstatus_to_exitcode(status), usage.ru_maxrss))
"""


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--artel", required=True)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--scale", type=float, default=1.0, help="of what is made to be read")
    p.add_argument("--parts", default=",".join(PARTS))
    p.add_argument("--out")
    return p.parse_args()


def measured(words):
    """stdout, stderr, exit code and the peak of resident memory in MB of a program. The peak that the system tells of a child is never below that
    of the process that has started it, which may hold arrays and TensorFlow here: so another one does, which holds nothing."""
    with tempfile.TemporaryFile("w+") as told:
        p = subprocess.run([sys.executable, "-S", "-c", STARTER, str(told.fileno()), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           pass_fds=[told.fileno()])
        told.seek(0)
        status, peak = map(int, told.read().split())
    return p.stdout, p.stderr, status, peak / 1024


def check_measured():
    """Refuses to report what this process holds as what a child does."""
    held = bytearray(256 << 20)
    held[::4096] = bytes(len(held[::4096])).replace(b"\0", b"\1")
    peak = measured([sys.executable, "-S", "-c", "print(1)"])[3]
    if peak > 100:
        raise SystemExit("a child that holds nothing is said to take %.0f MB" % peak)


class Bench:
    def __init__(self, args, folder):
        self.args, self.folder, self.lines = args, folder, []

    def path(self, name):
        return os.path.join(self.folder, name)

    def count(self, number):
        return max(64, int(number * self.args.scale))

    def artel(self, *words, cores="0"):
        """stdout, stderr and the peak of resident memory in MB."""
        out, err, status, peak = measured(["taskset", "-c", cores, self.args.artel, *map(str, words)])
        if status:
            raise SystemExit("%s: %s" % (words, err))
        return out, err, peak

    def bench(self, spec, *more):
        """What `artel data bench` says, by its `what`: the best rates of the rounds; and the most memory."""
        best, most = {}, 0
        for _ in range(self.args.rounds):
            out, _, peak = self.artel("data", "bench", spec, "--json", *more)
            most = max(most, peak)
            for line in map(json.loads, out.splitlines()):
                if line["rows_per_second"] > best.get(line["what"], {"rows_per_second": 0})["rows_per_second"]:
                    best[line["what"]] = line
        return best, most

    def peer(self, program):
        """Seconds that tf.data takes, best of the rounds."""
        code = PEER % self.args.rounds + "print(took(%s))" % program
        ran = subprocess.run(["taskset", "-c", "0", sys.executable, "-c", code], capture_output=True, text=True)
        if ran.returncode:
            raise SystemExit(ran.stderr[-2000:])
        return float(ran.stdout.split()[-1])

    def row(self, what, found, peer, bar="", met=None):
        self.lines.append("| %s | %s | %s | %s | %s |" % (what, found, peer, bar, {None: "", True: "met", False: "**not met**"}[met]))
        print(self.lines[-1], flush=True)

    # -- what is read --

    def examples(self):
        import numpy as np
        rng, n = np.random.default_rng(1), self.count(60000)
        if not os.path.exists(self.path("e")):
            np.savez(self.path("e.npz"), x=rng.random((n, 784), "f4"), y=rng.integers(0, 10, n))
            self.artel("data", "make", "npz:" + self.path("e.npz"), "--output", self.path("e"), "--shards", 1)
        return "tfrecord:" + self.path("e"), n

    def images(self):
        import numpy as np
        import tensorflow as tf
        if not os.path.exists(self.path("jpeg")):
            rng = np.random.default_rng(2)
            for c in range(10):
                os.makedirs(self.path("jpeg/%d" % c))
                for i in range(self.count(640) // 10):
                    soft = tf.image.resize(rng.integers(0, 255, (12, 16, 3)).astype("f4"), (375, 500), "bicubic").numpy()
                    pixels = np.clip(soft + rng.normal(0, 6, soft.shape), 0, 255).astype("u1")
                    tf.io.write_file(self.path("jpeg/%d/%d.jpg" % (c, i)), tf.io.encode_jpeg(pixels, quality=90))
        return "images:" + self.path("jpeg")

    # -- parts --

    def part_records(self):
        import numpy as np
        n = self.count(400000)
        np.savez(self.path("r.npz"), x=np.random.default_rng(1).integers(0, 256, (n, 990), "u1"))
        self.artel("data", "make", "npz:" + self.path("r.npz"), "--output", self.path("raw"), "--shards", 1)
        os.unlink(self.path("r.npz"))
        best, _ = self.bench("tfrecord:" + self.path("raw"), "--rows", 64)
        size = os.path.getsize(self.path("raw"))
        peer = size / self.peer("tf.data.TFRecordDataset(%r)" % self.path("raw"))
        found = best["records"]["bytes_per_second"]
        self.row("TFRecord, 1 KB, both checksums, one core", "%.2f GB/s" % (found / 1e9), "%.2f GB/s (%.1fx)" % (peer / 1e9, found / peer), ">= 3 GB/s, >= 4x",
                 found >= 3e9 and found >= 4 * peer)
        os.unlink(self.path("raw"))

    def part_examples(self):
        spec, n = self.examples()
        best, _ = self.bench(spec)
        described = "{'x': tf.io.FixedLenFeature([784], tf.float32), 'y': tf.io.FixedLenFeature([], tf.int64)}"
        parse = "map(lambda b: tf.io.parse_example(b, %s))" % described
        peer = n / self.peer("tf.data.TFRecordDataset(%r).batch(256).%s" % (self.path("e"), parse))
        batch = "next(iter(tf.data.TFRecordDataset(%r).batch(256)))" % self.path("e")  # of which nothing is left to be read
        alone = n // 256 * 256 / self.peer("tf.data.Dataset.from_tensors(%s).repeat(%d).%s" % (batch, n // 256, parse))
        parsed = best["parse"]["rows_per_second"]
        self.row("Example of 784 floats and an integer, parsed, one core", "%.2f million/s" % (parsed / 1e6),
                 "%.2f million/s (%.1fx)" % (alone / 1e6, parsed / alone), ">= 3x", parsed >= 3 * alone)
        self.row("the same read, verified and parsed", "%.2f million/s" % (best["in_order"]["rows_per_second"] / 1e6),
                 "%.2f million/s (%.1fx)" % (peer / 1e6, best["in_order"]["rows_per_second"] / peer))

    def part_jpeg(self):
        spec = self.images()
        for what, how, more in (("", "", ""), (", decode=scaled", "&decode=scaled", ", ratio=2")):
            best, _ = self.bench(spec + "#size=96x96" + how)
            program = ("tf.data.Dataset.list_files(%r, shuffle=False).map(lambda p: tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(p), channels=3%s), (96, 96)))"
                       % (self.path("jpeg/*/*.jpg"), more))
            peer = best["in_order"]["rows"] / self.peer(program)
            found = best["in_order"]["rows_per_second"]
            self.row("JPEG 500x375 to 96x96, one core" + what, "%.0f images/s" % found, "%.0f images/s (%.2fx)" % (peer, found / peer), ">= 1.0x", found >= peer)

    def part_csv(self):
        import numpy as np
        rng = np.random.default_rng(3)
        text = "\n".join(",".join("%.6f" % v for v in r) for r in rng.normal(0, 100, (20000, 12))) + "\n"
        times = self.count(1900)
        with open(self.path("t.csv"), "w") as f:
            f.write("a,b,c,d,e,f,g,h,i,j,k,l\n")
            for _ in range(times):
                f.write(text)
        size = os.path.getsize(self.path("t.csv"))
        out, _, peak = self.artel("data", "bench", "csv:%s#stream=yes&label=l" % self.path("t.csv"), "--json", "--rows", self.count(4000000))
        best = {line["what"]: line for line in map(json.loads, out.splitlines())}
        found = best["in_order"]["rows_per_second"] * size / (20000 * times)
        peer_rows = 400000
        peer = peer_rows * (size / (20000 * times)) / self.peer(
            "tf.data.TextLineDataset(%r).skip(1).take(%d).batch(1024).map(lambda b: tf.io.decode_csv(b, [0.0] * 12))" % (self.path("t.csv"), peer_rows))
        self.row("CSV of %.1f GB streamed, one core" % (size / 1e9), "%.0f MB/s, %.0f MB resident, opened in %.1f s" % (found / 1e6, peak, best["open"]["seconds"]),
                 "%.0f MB/s (%.1fx)" % (peer / 1e6, found / peer), ">= 200 MB/s, <= 300 MB", found >= 200e6 and peak <= 300)
        os.unlink(self.path("t.csv"))

    def part_shuffle(self):
        import numpy as np
        np.savez(self.path("s.npz"), x=np.arange(1000))
        peaks = []
        for shuffles in (0, 1, 4):
            with open(self.path("s.json"), "w") as f:
                stages = [{"stage": "repeat", "count": 100000}] + [{"stage": "shuffle", "seed": i} for i in range(shuffles)]
                json.dump({"from": "npz:" + self.path("s.npz"), "stages": stages}, f)
            best, peak = self.bench("pipeline:" + self.path("s.json"), "--rows", self.count(1000000))
            peaks.append(peak)
            if shuffles == 1:
                rate = best["in_order"]["rows_per_second"]
        found = "%.1f MB resident without, %.1f with it, %.1f with four; %.1f million/s" % (*peaks, rate / 1e6)
        self.row("shuffle of 100 million elements", found, "", "O(1) memory a stage: <= 1 MB each", max(peaks[1:]) - peaks[0] <= 3)

    def part_waits(self):
        import tensorflow as tf
        spec = self.images()
        model = tf.keras.applications.MobileNetV2((96, 96, 3), weights=None, classes=10)
        model.compile("sgd", "sparse_categorical_crossentropy")
        model.save(self.path("mobile.keras"))
        self.artel("data", "make", spec, "--output", self.path("j"), "--shards", 4)
        for name, data in (("image folder", spec), ("TFRecord of JPEGs", "tfrecord:%s@4" % self.path("j"))):
            out, err, _ = self.artel("fit", self.path("mobile.keras"), "--data", data + "#scale=1/255", "--batch-size", 32, "--epochs", 2, "--verbose", 0, "--profile", self.path("profile"),
                                   "--threads", 2, cores="0,1")
            step, wait = re.search(r"from end to end: ([\d.]+) ms.*?waiting for input ([\d.]+) ms", out + err, re.S).groups()
            fits = "it fits beside computing" in out + err
            self.row("MobileNetV2 at 96 px, %s, two cores: waiting" % name,
                     "%.1f %% of %.0f ms, and `--profile` says that reading %s beside computing" % (100 * float(wait) / float(step), float(step), "fits" if fits else "does not fit"), "",
                     "<= 2 % where it fits, else said", float(wait) <= 0.02 * float(step) or not fits)

    def part_lengths(self):
        import numpy as np
        from tensorflow import keras
        rng, n = np.random.default_rng(3), self.count(4096)
        lengths = np.clip(np.exp(rng.normal(3.3, 0.8, n)).astype(int), 1, 256)
        x = np.where(np.arange(256) < lengths[:, None], rng.integers(1, 5000, (n, 256)), 0).astype("i4")
        np.savez(self.path("l.npz"), x=x, y=rng.integers(0, 2, (n, 1)).astype("f4"))
        stage = {"stage": "bucket_by_sequence_length", "column": "x", "bucket_boundaries": [17, 33, 65, 129, 257]}
        for name, stages in (("whole", []), ("like", [stage])):
            with open(self.path(name + ".json"), "w") as f:
                json.dump({"from": "npz:" + self.path("l.npz"), "stages": stages}, f)
        bodies = {"LSTM(64)": lambda e: keras.layers.LSTM(64)(e),
                  "Conv1D(128, 5)": lambda e: keras.layers.GlobalMaxPooling1D()(keras.layers.Conv1D(128, 5, padding="same", activation="relu")(e)),
                  "MultiHeadAttention(4, 16)": lambda e: keras.layers.GlobalAveragePooling1D()(keras.layers.MultiHeadAttention(4, 16)(e, e))}
        for what, body in bodies.items():
            i = keras.Input((None,), dtype="int32")
            e = keras.layers.Embedding(5000, 64, mask_zero="Conv" not in what)(i)
            m = keras.Model(i, keras.layers.Dense(1, activation="sigmoid")(body(e)))
            m.compile("adam", "binary_crossentropy")
            m.save(self.path("l.keras"))
            rates, peaks = {}, {}
            for name in ("whole", "like") * self.args.rounds:
                out, _, peak = self.artel("fit", self.path("l.keras"), "--data", "pipeline:" + self.path(name + ".json"), "--epochs", 2, "--threads", 2, "--json", cores="0,1")
                end = next(e for e in map(json.loads, out.splitlines()) if e["event"] == "end")
                rates[name], peaks[name] = max(rates.get(name, 0), end["examples_per_second"]), max(peaks.get(name, 0), peak)
            self.row("sequences of 37 in the mean, up to 256, %s: filled up, and in batches of like length" % what,
                     "%.0f and %.0f sequences/s (%.1fx), %.0f and %.0f MB" % (rates["whole"], rates["like"], rates["like"] / rates["whole"], peaks["whole"], peaks["like"]), "")

    def part_service(self):
        spec, _ = self.examples()
        home, _ = self.bench(spec)
        d = subprocess.Popen([self.args.artel, "data-service", "dispatcher", "e=" + spec, "--port", "0"], stdout=subprocess.PIPE, text=True)
        at = d.stdout.readline().split()[-1]
        w = subprocess.Popen(["taskset", "-c", "1", self.args.artel, "data-service", "worker", at, "--threads", "1"], stdout=subprocess.PIPE, text=True)
        w.stdout.readline()
        away, _ = self.bench("service:%s/e" % at)
        for p in (w, d):
            p.terminate()
            p.wait()
        found = away["in_order"]["bytes_per_second"]
        self.row("rows of a data service, one worker, loopback", "%.2f GB/s" % (found / 1e9), "%.2f GB/s at home" % (home["in_order"]["bytes_per_second"] / 1e9))


def main():
    args = arguments()
    check_measured()
    with tempfile.TemporaryDirectory(prefix="artel-input-") as folder:
        bench = Bench(args, folder)
        for part in args.parts.split(","):
            getattr(bench, "part_" + part)()
    if args.out:
        from run import machine
        with open(args.out, "w") as f:
            f.write("# Input\n\n%s; best of %d rounds; written by `bench/input.py`.\n\n| | artel | tf.data | bar | |\n|---|---|---|---|---|\n%s\n" % (
                machine(), args.rounds, "\n".join(bench.lines)))


if __name__ == "__main__":
    main()
