# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""artel inspect on every kind of file that artel reads or writes, against what TensorFlow, h5py and NumPy say of them."""

import dataclasses
import gzip
import json
import os
import re
import struct

import numpy as np
from cli import mlp, save, save_arrays
from oracle import Failure, artel, digest, table


@dataclasses.dataclass
class Row:
    name: str
    run: object  # Bench -> None


class Bench:
    def __init__(self, folder):
        self.folder = folder
        self.model = save(mlp, self("m.keras"))
        self.data = save_arrays("mlp", self("d.npz"), 100)

    def __call__(self, name):
        return os.path.join(self.folder, name)

    def must(self, *args, rc=0):
        ran = artel(*args)
        if ran.rc != rc:
            raise Failure("artel %s: exit %d, stderr %r" % (" ".join(map(str, args))[:200], ran.rc, ran.err[-300:]))
        return ran

    def inspect(self, path, *words, rc=0):
        ran = self.must("inspect", path, rc=rc)
        for word in words:
            if word not in (ran.out if rc == 0 else ran.err):
                raise Failure("%r is missing in %r" % (word, (ran.out + ran.err)[:800]))
        return ran.out


def converted(ending, *words):
    def run(b):
        b.must("convert", b.model, b("c" + ending))
        b.inspect(b("c" + ending), *words)

    return run


def head(b):
    """Rows as NumPy has them; of a model there are none."""
    given = {"x": np.arange(24, dtype="float32").reshape(2, 12) / 3, "y": np.array([2**62 + 1, -2], "int64"), "z": np.array([0.1, 1e300])}
    np.savez(b("few.npz"), **given)
    for words in ((b("few.npz"), 5), ("npz:" + b("few.npz"), 1)):
        lines = [line for line in b.must("inspect", words[0], "--head", words[1]).out.splitlines() if line.startswith("row ")]
        if len(lines) != min(words[1], 2):
            raise Failure("%d rows: %r" % (words[1], lines))
        for i, line in enumerate(lines):
            found = re.fullmatch(r"row %d  x (.*) \.\.\. \(12 in all\)  y (\S+)  z (\S+)" % i, line)
            if not found or not np.array_equal(np.array(found.group(1).split(), "float32"), given["x"][i][:8]):
                raise Failure(line)
            if int(found.group(2)) != given["y"][i] or float(found.group(3)) != given["z"][i]:
                raise Failure(line)
    has = b.must("inspect", b.model, "--head", 3, rc=1).err
    if "--head" not in has or "specification" not in has:
        raise Failure(has)


def classes(b):
    """Folders are classes in the order in which Keras' image_dataset_from_directory numbers them."""
    from cli import K

    for name in ("dog", "Cat", "ant lion"):
        os.makedirs(b("pictures/" + name))
        K.utils.save_img(b("pictures/%s/a.png" % name), np.zeros((4, 4, 3)), scale=False)
    names = K.utils.image_dataset_from_directory(b("pictures"), verbose=False).class_names
    wanted = "  classes: " + ", ".join("%d %s" % pair for pair in enumerate(names)) + "\n"
    b.inspect("images:" + b("pictures"), wanted)
    b.inspect("images:" + b("pictures/dog"), "x: 1 row")
    if "classes" in b.inspect("images:" + b("pictures/dog")):
        raise Failure("classes where there are none")
    for i in range(50):
        os.makedirs(b("pictures/z%02d" % i))
    b.inspect("images:" + b("pictures"), "39 z36, ... (53 in all)\n")


def events(b):
    """Tags, kinds, steps and last values as TensorFlow reads them."""
    import tensorflow as tf

    b.must("fit", b.model, "--data", b.data, "--epochs", 3, "--log-dir", b("logs"), "--histogram-freq", 1, "--validation-split", 0.2)
    out = b.inspect(b("logs"), "validation", "graph_keras_model")
    for part in ("train", "validation"):
        path = b("logs/%s/%s" % (part, os.listdir(b("logs/" + part))[0]))
        said, last, count = b.inspect(path, "TensorBoard events"), {}, 0
        for record in tf.data.TFRecordDataset(path):
            event = tf.compat.v1.Event.FromString(record.numpy())
            count += 1
            for v in event.summary.value:
                last[v.tag] = (event.step, tf.make_ndarray(v.tensor))
        if "%d records" % count not in said:
            raise Failure("%d records: %r" % (count, said[:200]))
        for tag, (step, value) in last.items():
            line = next((one for one in said.splitlines() if one.split()[:1] == [tag]), None)
            if line is None or "to %d" % step not in line:
                raise Failure("%s, step %d: %r" % (tag, step, line))
            if value.dtype == np.float32 and value.shape == () and abs(float(line.split("last ")[1]) - value) > 1e-5 * abs(value):
                raise Failure("%s is %s: %r" % (tag, value, line))
        if said not in out:
            raise Failure("the directory does not show %s" % path)


def examples(b):
    import tensorflow as tf

    feature = lambda **kind: tf.train.Feature(**kind)
    with tf.io.TFRecordWriter(b("e.tfrecord")) as out:
        for k in range(5):
            out.write(tf.train.Example(features=tf.train.Features(feature={
                "image": feature(bytes_list=tf.train.BytesList(value=[b"abc"])),
                "ids": feature(int64_list=tf.train.Int64List(value=list(range(200, 201 + k)))),
                "x": feature(float_list=tf.train.FloatList(value=[1.0, 2.0]))})).SerializeToString())
    said = b.inspect(b("e.tfrecord"), "5 records of tf.train.Example")
    lines = {line.split()[0]: line for line in said.splitlines()[1:]}
    for name, words in (("image", "bytes in 5 records, 1 values"), ("ids", "int64 in 5 records, 1 to 5 values"), ("x", "float32 in 5 records, 2 values")):
        if words not in " ".join(lines[name].split()):
            raise Failure("%s: %r" % (name, lines[name]))
    data = bytearray(open(b("e.tfrecord"), "rb").read())
    data[-6] ^= 1
    open(b("bad.tfrecord"), "wb").write(data)
    b.inspect(b("bad.tfrecord"), "record 4 at byte", rc=1)
    open(b("cut.tfrecord"), "wb").write(data[:-20])
    b.inspect(b("cut.tfrecord"), "cut off within it", rc=1)
    for position in range(len(data)):
        mutant = bytearray(open(b("e.tfrecord"), "rb").read())
        mutant[position] ^= 0x55
        if position % 7:
            continue
        open(b("mutant.tfrecord"), "wb").write(mutant)
        ran = artel("inspect", b("mutant.tfrecord"))
        if ran.rc not in (0, 1):
            raise Failure("byte %d: exit %d" % (position, ran.rc))


def checkpoints(b):
    b.must("fit", b.model, "--data", b.data, "--epochs", 2, "--checkpoint-dir", b("run"), "--output", b("o.keras"))
    said = b.inspect(b("run"), "directory of checkpoints", "2 epochs, the end of the run")
    newest = sorted((n for n in os.listdir(b("run")) if n.startswith("ckpt-")), key=lambda n: int(n[5:]))[-1]
    if newest not in said:
        raise Failure(said)
    b.inspect(b("run/" + newest), "checkpoint, step", "batch-norm groups", "layers.dense.vars.0", "(20, 64)")
    wanted = digest(b("o.keras"))
    for path in (b("run"), b("run/" + newest)):
        ran = b.must("inspect", path, "--digest")
        if ran.out.split()[-1] != wanted:
            raise Failure("digest of %s: %s" % (path, ran.out))
    os.truncate(b("run/%s/manifest.json" % newest), 20)
    b.inspect(b("run"), "damaged")


def arrays(b):
    np.save(b("a.npy"), np.zeros((3, 4), "f2"))
    b.inspect(b("a.npy"), "3 rows of float16", "(4,)")
    b.inspect(b.data, "x: 100 rows of float32", "y: 100 rows of int32")
    b.inspect("npz:" + b.data[4:] if b.data.startswith("npz:") else "npz:" + b.data, "100 rows")
    raw = struct.pack(">HBBII", 0, 8, 2, 60, 7) + bytes(420)
    open(b("a.idx"), "wb").write(raw)
    b.inspect(b("a.idx"), "IDX, uint8 (60, 7)")
    with gzip.open(b("a.idx.gz"), "wb") as f:
        f.write(raw)
    b.inspect(b("a.idx.gz"), "IDX, uint8 (60, 7)")
    open(b("t.csv"), "w").write("a,b\n1,2\n")
    b.inspect(b("t.csv"), "a: 1 rows")
    b.inspect("synthetic:12", "12 rows")


def history(b):
    b.must("fit", b.model, "--data", b.data, "--epochs", 4, "--history", b("h.json"))
    values = json.load(open(b("h.json")))
    b.inspect(b("h.json"), "History", "loss", "4 epochs, last %r" % values["loss"][-1])


def refusals(b):
    open(b("x.bin"), "wb").write(b"hello world, this is nothing")
    b.inspect(b("x.bin"), "x.bin", rc=1)
    open(b("x.onnx"), "wb").write(b"\xff" * 40)
    b.inspect(b("x.onnx"), "no ONNX model", rc=1)
    os.mkdir(b("empty"))
    b.inspect(b("empty"), "neither checkpoints nor event files", rc=1)
    b.inspect(b("m.kers"), "did you mean", "m.keras", rc=1)
    open(b("none"), "wb").close()
    b.inspect(b("none"), "empty", rc=1)


ROWS = [
    Row("keras", converted(".keras", "layers/dense/vars/0", "(20, 64)", "Adam")), Row("h5", converted(".h5", "layers/dense/vars/0", "(20, 64)", "Adam")),
    Row("weights-h5", converted(".weights.h5", "HDF5", "dense_1/", "(64, 33)")), Row("safetensors", converted(".safetensors", "6 arrays", "layers.dense_1.vars.0")),
    Row("json", converted(".json", "none in the file", "dense_2")),
    Row("onnx", converted(".onnx", "opset 17", "input  input_layer: float32 (batch, 20)", "MatMul x3", "(20, 64)")),
    Row("events", events), Row("examples", examples), Row("checkpoints", checkpoints), Row("arrays", arrays), Row("head", head), Row("classes", classes), Row("history", history), Row("refusals", refusals),
]


def run(row, index, folder, keras_only):
    if not keras_only:
        row.run(Bench(folder))
    return [""]


if __name__ == "__main__":
    table(ROWS, run, [""])
