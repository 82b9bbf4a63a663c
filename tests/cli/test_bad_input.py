# SPDX-License-Identifier: Apache-2.0
# timeout: 900
"""Bad input of every kind: exit 1 or 2, no signal, under 5 s, one message that names thing and remedy, no output left.

Rows with a name say what the message must hold. The mutants are `.keras` files with 1 to 3 bytes changed, as they are
or with the zip's checksums mended so that the change reaches the JSON and HDF5 readers, and files cut short: 300 of
them, 10,000 with ARTEL_LONG=1. A mutant may also be harmless: then artel ends with 0.
"""

import concurrent.futures
import dataclasses
import io
import json
import os
import struct
import zipfile

import numpy as np
from cli import K, L, mlp, save, save_arrays
from oracle import LONG, Failure, artel, table

MUTANTS = int(os.environ.get("ARTEL_MUTANTS") or (10000 if LONG else 300))
LIMIT = 20.0  # of what takes a tenth of a second
SLOWER = 12.0 if os.environ.get("ARTEL_SANITIZED") else 1.0  # sanitizers, and other tests beside this one


def check(ran, words=(), codes=(1, 2), outputs=(), what=""):
    """The contract of a failure."""
    shown = "%s exit %d, stderr %r" % (what, ran.rc, ran.err[-400:])
    if ran.rc not in codes:
        raise Failure("exit code should be one of %s: %s" % (codes, shown))
    if ran.seconds > LIMIT * SLOWER:
        raise Failure("took %.1f s: %s" % (ran.seconds, shown))
    errors = [line for line in ran.err.splitlines() if line.startswith("artel:") and not line.startswith(("artel: note", "artel: warning"))]
    if len(errors) != 1:
        raise Failure("%d messages instead of one: %s" % (len(errors), shown))
    if errors[0].count(": ") < 2 or "; " not in errors[0]:
        raise Failure("not of the form `artel: THING: what is wrong; what to do`: %s" % shown)
    for word in words:
        if word.lower() not in ran.err.lower():
            raise Failure("the message does not name %r: %s" % (word, shown))
    for path in outputs:
        folder, base = os.path.split(path)
        left = [n for n in os.listdir(folder) if n == base or base in n]
        if left:
            raise Failure("output left behind: %s: %s" % (left, shown))


# ---------------------------------------------------------------- files made wrong
def members(path):
    with zipfile.ZipFile(path) as z:
        return {n: z.read(n) for n in z.namelist()}


def zipped(path, parts, method=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", method) as z:
        for n, c in parts.items():
            z.writestr(n, c)
    return path


class Bench:
    """Good files in a folder, and bad ones made from them."""

    def __init__(self, folder):
        self.folder = folder
        self.good = save(mlp, self("good.keras"))
        self.data = save_arrays("mlp", self("good.npz"), 64)
        self.x, self.y = (np.load(self("good.npz"))[k] for k in "xy")
        self.out = self("out.keras")
        self.p = self("out.npy")

    def __call__(self, name):
        return os.path.join(self.folder, name)

    def config(self, f):
        """A model whose config.json went through f (text -> text)."""
        parts = members(self.good)
        parts["config.json"] = f(parts["config.json"].decode()).encode()
        return zipped(self("bad.keras"), parts)

    def record(self, f):
        def change(text):
            record = json.loads(text)
            f(record)
            return json.dumps(record)

        return self.config(change)

    def hdf5(self, f):
        """A model whose weights went through f (an open h5py file)."""
        import h5py

        parts = members(self.good)
        buffer = io.BytesIO(parts["model.weights.h5"])
        with h5py.File(buffer, "r+") as h:
            f(h)
        parts["model.weights.h5"] = buffer.getvalue()
        return zipped(self("bad.keras"), parts)

    def without(self, name):
        parts = members(self.good)
        del parts[name]
        return zipped(self("bad.keras"), parts)

    def text(self, content, name="bad.keras"):
        with open(self(name), "wb") as f:
            f.write(content)
        return self(name)

    def arrays(self, name="bad.npz", **named):
        np.savez(self(name), **named)
        return "npz:" + self(name)

    def npy(self, header, body=b"", version=b"\x01\x00"):
        text = header.encode()
        text += b" " * (-(10 + len(text) + 1) % 64) + b"\n"
        return self.text(b"\x93NUMPY" + version + struct.pack("<H", len(text)) + text + body, "bad.npy")

    def bomb(self, member, size):
        """A zip whose member is `size` zeros, deflated a thousandfold."""
        parts = members(self.good)
        parts[member] = b"\0" * size
        return zipped(self("bad.keras"), parts, zipfile.ZIP_DEFLATED)

    def forged_bomb(self):
        """A stored member that claims 4 EiB."""
        raw = bytearray(open(self.good, "rb").read())
        at = raw.rindex(b"PK\1\2")
        raw[at + 20:at + 28] = struct.pack("<II", 0xfffffffe, 0xfffffffe)
        return self.text(bytes(raw))

    # commands
    def fit(self, model=None, data=None, *more):
        return ["fit", model or self.good, "--data", data or self.data, "--output", self.out, "--verbose", 0, *more]

    def predict(self, model=None, data=None, *more):
        return ["predict", model or self.good, "--data", data or self.data, "--output", self.p, *more]


def dense(record):
    return next(r for r in record["config"]["layers"] if r["class_name"] == "Dense")


def resized(path, shape):
    def change(h):
        del h[path]
        h.create_dataset(path, data=np.zeros(shape, "f4"))

    return change


def nested_json(text):
    return '{"a":' * 100000 + "1" + "}" * 100000


def deep_hdf5(h):
    g = h
    for _ in range(300):
        g = g.create_group("g")


KERNEL = "layers/dense/vars/0"


@dataclasses.dataclass
class Row:
    name: str
    args: object  # Bench -> arguments of artel
    words: tuple = ()
    codes: tuple = (1,)


def labels(value, dtype="i4"):
    def make(b):
        y = b.y.astype(dtype)
        y[37] = value
        return b.fit(data=b.arrays(x=b.x, y=y))

    return make


ROWS = [
    # the model's file
    Row("missing-model", lambda b: b.fit(b("nowhere.keras")), ("nowhere.keras",)),
    Row("missing-model-predict", lambda b: b.predict(b("nowhere.keras")), ("nowhere.keras",)),
    Row("missing-model-summary", lambda b: ["summary", b("nowhere.keras")], ("nowhere.keras",)),
    Row("missing-model-inspect", lambda b: ["inspect", b("nowhere.keras"), "--digest"], ("nowhere.keras",)),
    Row("missing-model-convert", lambda b: ["convert", b("nowhere.keras"), b.out], ("nowhere.keras",)),
    Row("folder-for-model", lambda b: b.fit(b.folder)),
    Row("empty-model", lambda b: b.fit(b.text(b"")), ("bad.keras",)),
    Row("text-for-model", lambda b: b.fit(b.text(b"hello, world\n" * 50)), ("bad.keras",)),
    Row("unreadable-ending", lambda b: b.fit(b.text(b"hello", "model.onnx")), ("model.onnx",)),
    Row("half-a-model", lambda b: b.fit(b.text(open(b.good, "rb").read()[:5000])), ("bad.keras",)),
    Row("last-byte-missing", lambda b: b.fit(b.text(open(b.good, "rb").read()[:-1])), ("bad.keras",)),
    Row("no-config", lambda b: b.fit(b.without("config.json")), ("config.json",)),
    Row("no-weights", lambda b: b.fit(b.without("model.weights.h5")), ("model.weights.h5",)),
    Row("empty-config", lambda b: b.fit(b.config(lambda t: "")), ("config.json",)),
    Row("config-half", lambda b: b.fit(b.config(lambda t: t[:len(t) // 2])), ("config.json",)),
    Row("config-list", lambda b: b.fit(b.config(lambda t: "[]"))),
    Row("config-number", lambda b: b.fit(b.config(lambda t: "3"))),
    Row("config-utf8", lambda b: b.fit(b.config(lambda t: t.replace("relu", "re\\ud800lu")))),
    Row("config-deep", lambda b: b.fit(b.config(nested_json))),
    Row("config-nan-units", lambda b: b.fit(b.record(lambda r: dense(r)["config"].update(units=float("nan")))), ("units",)),
    Row("config-nan-rate", lambda b: b.fit(b.record(lambda r: r["compile_config"]["optimizer"]["config"].update(learning_rate=float("nan")))),
        ("learning_rate",)),
    Row("config-infinite-dropout", lambda b: b.fit(b.record(lambda r: [l["config"].update(rate=float("inf")) for l in r["config"]["layers"]
                                                                       if l["class_name"] == "Dropout"])), ("rate",)),
    Row("units-negative", lambda b: b.fit(b.record(lambda r: dense(r)["config"].update(units=-4))), ("units",)),
    Row("units-zero", lambda b: b.fit(b.record(lambda r: dense(r)["config"].update(units=0))), ("units",)),
    Row("units-text", lambda b: b.fit(b.record(lambda r: dense(r)["config"].update(units="many"))), ("units",)),
    Row("units-huge", lambda b: b.fit(b.record(lambda r: dense(r)["config"].update(units=2 ** 62)))),
    Row("units-large", lambda b: b.fit(b.record(lambda r: dense(r)["config"].update(units=2 ** 31)))),
    Row("units-other", lambda b: b.fit(b.record(lambda r: dense(r)["config"].update(units=65)))),
    Row("activation-unknown", lambda b: b.fit(b.record(lambda r: dense(r)["config"].update(activation="rellu"))), ("rellu", "relu")),
    Row("loss-unknown", lambda b: b.fit(b.record(lambda r: r["compile_config"].update(loss="mean_square_error"))), ("mean_square_error",)),
    Row("layer-unknown", lambda b: b.fit(b.record(lambda r: dense(r).update(class_name="Dens", registered_name="mine>Dens"))), ("Dens",)),
    Row("layer-lambda", lambda b: b.fit(b.record(lambda r: dense(r).update(class_name="Lambda", config={"name": "danger", "function": {
        "class_name": "__lambda__", "config": {"code": "4wAAAAA=", "defaults": None, "closure": None}}}))), ("Lambda",)),
    Row("config-unknown-argument", lambda b: b.fit(b.record(lambda r: dense(r)["config"].update(unitz=3))), ("unitz",)),
    Row("config-no-layers", lambda b: b.fit(b.record(lambda r: r["config"].update(layers=[])))),
    Row("config-duplicate-names", lambda b: b.fit(b.record(lambda r: [l["config"].update(name="same") for l in r["config"]["layers"]])), ("same",)),
    Row("config-input-rank-99", lambda b: b.fit(b.record(lambda r: r["config"]["layers"][0]["config"].update(batch_shape=[None] + [1] * 99)))),
    Row("config-input-negative", lambda b: b.fit(b.record(lambda r: r["config"]["layers"][0]["config"].update(batch_shape=[None, -3])))),
    Row("functional-cycle", lambda b: b.fit(functional(b, lambda r: r["config"]["layers"][1]["inbound_nodes"][0]["args"][0]["config"].update(
        keras_history=["two", 0, 0])))),
    Row("functional-no-such-layer", lambda b: b.fit(functional(b, lambda r: r["config"]["layers"][1]["inbound_nodes"][0]["args"][0]["config"].update(
        keras_history=["ghost", 0, 0]))), ("ghost",)),
    Row("functional-node-index", lambda b: b.fit(functional(b, lambda r: r["config"]["layers"][1]["inbound_nodes"][0]["args"][0]["config"].update(
        keras_history=["in", 7, -2])))),
    Row("functional-many-outputs", lambda b: b.fit(functional(b, lambda r: r["config"].update(
        output_layers={"a": [["two", 0, 0]] * 5000, "b": [[["two", 0, 0]] * 9] * 999}))), ("too many outputs",)),
    Row("functional-many-keys", lambda b: b.fit(functional(b, lambda r: r["config"].update(
        input_layers={"k%d" % i: [] for i in range(300000)}))), ("entries",)),
    Row("functional-tensor-index", lambda b: b.fit(functional(b, lambda r: r["config"]["layers"][1]["inbound_nodes"][0]["args"][0]["config"].update(
        keras_history=["in", 0, 40]))), ("41", "16")),
    Row("functional-last-tensor-index", lambda b: b.fit(functional(b, lambda r: r["config"]["layers"][1]["inbound_nodes"][0]["args"][0]["config"].update(
        keras_history=["in", 0, 2 ** 63 - 1]))), ("tensor number 9223372036854775808", "16")),
    Row("zip-bomb", lambda b: b.fit(b.bomb("model.weights.h5", 1 << 28))),
    Row("zip-bomb-config", lambda b: b.fit(b.bomb("config.json", 1 << 28))),
    Row("zip-bomb-forged", lambda b: b.fit(b.forged_bomb())),
    Row("zip-path-outside", lambda b: b.fit(zipped(b("bad.keras"), {("../../" + n): c for n, c in members(b.good).items()}))),
    Row("weights-not-hdf5", lambda b: b.fit(zipped(b("bad.keras"), {**members(b.good), "model.weights.h5": b"not hdf5" * 999})), ("bad.keras",)),
    Row("weights-empty", lambda b: b.fit(zipped(b("bad.keras"), {**members(b.good), "model.weights.h5": b""}))),
    Row("weights-half", lambda b: b.fit(zipped(b("bad.keras"), {n: c[:len(c) // 2] if n.endswith("h5") else c for n, c in members(b.good).items()}))),
    Row("weights-shape", lambda b: b.fit(b.hdf5(resized(KERNEL, (21, 64)))), ("20", "21")),
    Row("weights-rank", lambda b: b.fit(b.hdf5(resized(KERNEL, (20 * 64,)))), ("64",)),
    Row("weights-missing", lambda b: b.fit(b.hdf5(lambda h: h.__delitem__(KERNEL))), ("dense",)),
    Row("weights-strings", lambda b: b.fit(b.hdf5(lambda h: (h.__delitem__(KERNEL), h.create_dataset(KERNEL, data=[b"a", b"b"]))))),
    Row("weights-empty-set", lambda b: b.fit(b.hdf5(resized(KERNEL, (0, 64))))),
    Row("weights-huge-claim", lambda b: b.fit(b.hdf5(lambda h: (h.__delitem__(KERNEL), h.create_dataset(KERNEL, shape=(1 << 20, 1 << 22), dtype="f4",
                                                                                                       chunks=(1024, 1024)))))),
    Row("weights-external-link", lambda b: b.fit(b.hdf5(lambda h: (h.__delitem__(KERNEL), h.__setitem__(KERNEL, external_link()))))),
    Row("weights-link-cycle", lambda b: b.fit(b.hdf5(lambda h: (h.__delitem__("layers/dense/vars"), h["layers/dense"].__setitem__("vars", h["layers"]))))),
    Row("saved-model", lambda b: b.fit(saved_model(b)), ("SavedModel",)),
    Row("json-model-bad", lambda b: b.fit(b.text(b'{"class_name": "Sequential", "config": {"layers": [', "m.json")), ("m.json",)),
    Row("h5-without-config", lambda b: b.fit(bare_h5(b)), ("bare.h5",)),
    # data
    Row("data-missing", lambda b: b.fit(data="npz:" + b("no.npz")), ("no.npz",)),
    Row("data-format-unknown", lambda b: b.fit(data="npzz:" + b("good.npz")), ("npzz", "npz")),
    Row("data-no-format", lambda b: b.fit(data=b("good.npz"))),
    Row("data-empty-text", lambda b: b.fit(data="npz:")),
    Row("data-zero-rows", lambda b: b.fit(data=b.arrays(x=b.x[:0], y=b.y[:0]))),
    Row("data-zero-synthetic", lambda b: b.fit(data="synthetic:0")),
    Row("data-negative-synthetic", lambda b: b.fit(data="synthetic:-5")),
    Row("data-no-targets", lambda b: b.fit(data=b.arrays(x=b.x))),
    Row("data-other-names", lambda b: b.fit(data=b.arrays(a=b.x, b=b.y))),
    Row("data-names-asked", lambda b: b.fit(data=b.data + "#x,nothing"), ("nothing",)),
    Row("data-lengths-differ", lambda b: b.fit(data=b.arrays(x=b.x, y=b.y[:50])), ("64", "50")),
    Row("data-wrong-width", lambda b: b.fit(data=b.arrays(x=b.x[:, :19], y=b.y)), ("19", "20")),
    Row("data-wrong-rank", lambda b: b.fit(data=b.arrays(x=b.x[:, :, None, None], y=b.y))),
    Row("data-objects", lambda b: b.fit(data=b.arrays(x=np.array([{}] * 64, dtype=object), y=b.y))),
    Row("data-strings", lambda b: b.fit(data=b.arrays(x=np.full((64, 20), "abc"), y=b.y))),
    Row("data-half-a-zip", lambda b: b.fit(data="npz:" + b.text(open(b("good.npz"), "rb").read()[:3000], "half.npz")), ("half.npz",)),
    Row("data-not-a-zip", lambda b: b.fit(data="npz:" + b.text(b"abc" * 100, "no.npz")), ("no.npz",)),
    Row("data-zip-method", lambda b: b.fit(data="npz:" + packed_otherwise(b)), ("method 12", "savez")),
    Row("npy-header-huge", lambda b: b.fit(data="npy:" + b.npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 20), }")
                                           + "," + b.npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 20), }"))),
    Row("npy-header-code", lambda b: b.predict(data="npy:" + b.npy("{'descr': __import__('os').system('touch x'), 'shape': (1,)}"))),
    Row("npy-short", lambda b: b.predict(data="npy:" + b.npy("{'descr': '<f4', 'fortran_order': False, 'shape': (64, 20), }", b"\0" * 99))),
    Row("npy-version-9", lambda b: b.predict(data="npy:" + b.npy("{}", version=b"\x09\x00"))),
    Row("label-too-large", labels(10), ("10", "37")),
    Row("label-negative", labels(-1), ("-1", "37")),
    Row("label-huge", labels(2 ** 40, "i8"), ("37",)),
    Row("label-nan", labels(float("nan"), "f4"), ("37",)),
    Row("token-too-large", lambda b: b.fit(embedding(b), b.arrays(x=np.full((64, 5), 9, "i4"), y=b.y)), ("9",)),
    Row("csv-missing-column", lambda b: b.fit(data="csv:" + b.text(b"a,b\n1,2\n", "t.csv") + "#label=c"), ("c",)),
    Row("csv-text-in-number", lambda b: b.fit(data="csv:" + b.text(b"a,b\n1,2\nx,3\n", "t.csv") + "#label=b"), ("t.csv",)),
    Row("csv-no-files", lambda b: b.fit(data="csv:" + b("*.nothing") + "#label=a"), ("*.nothing",)),
    Row("idx-magic", lambda b: b.fit(data="idx:%s,%s" % (b.text(b"\1\2\3\4" * 20, "i"), b.text(b"\1\2\3\4" * 20, "l")))),
    Row("idx-short", lambda b: b.fit(data="idx:%s,%s" % (b.text(struct.pack(">HBBIII", 0, 8, 3, 60000, 28, 28) + b"\0" * 99, "i"),
                                                         b.text(struct.pack(">HBBI", 0, 8, 1, 60000), "l")))),
    Row("images-no-folder", lambda b: b.fit(data="images:" + b("pictures")), ("pictures",)),
    Row("validation-missing", lambda b: b.fit(None, None, "--validation", "npz:" + b("no.npz")), ("no.npz",)),
    Row("validation-split-2", lambda b: b.fit(None, None, "--validation-split", 2), ("validation-split",)),
    # options
    Row("option-unknown", lambda b: b.fit(None, None, "--batchsize", 8), ("--batchsize", "--batch-size")),
    Row("option-without-value", lambda b: b.fit(None, None, "--epochs"), ("--epochs",)),
    Row("option-not-number", lambda b: b.fit(None, None, "--epochs", "ten"), ("epochs", "ten")),
    Row("batch-zero", lambda b: b.fit(None, None, "--batch-size", 0), ("batch-size",)),
    Row("batch-negative", lambda b: b.fit(None, None, "--batch-size", -8), ("batch-size",)),
    Row("batch-huge", lambda b: b.fit(None, None, "--batch-size", "99999999999999999999"), ("batch-size",)),
    Row("epochs-negative", lambda b: b.fit(None, None, "--epochs", -1), ("epochs",)),
    Row("replicas-negative", lambda b: b.fit(None, None, "--strategy", "mirrored", "--replicas", -1), ("replicas",)),
    Row("replicas-over-shards", lambda b: b.fit(None, None, "--strategy", "mirrored", "--replicas", 9), ("--shards",)),
    Row("threads-negative", lambda b: b.fit(None, None, "--threads", -1), ("threads",)),
    Row("strategy-unknown", lambda b: b.fit(None, None, "--strategy", "mirored"), ("mirored", "mirrored")),
    Row("optimizer-unknown", lambda b: b.fit(None, None, "--optimizer", "adan"), ("adan", "adam")),
    Row("optimizer-option-unknown", lambda b: b.fit(None, None, "--optimizer", "adam:lerning_rate=0.1"), ("lerning_rate", "learning_rate")),
    Row("optimizer-value-bad", lambda b: b.fit(None, None, "--optimizer", "adam:learning_rate=fast"), ("learning_rate",)),
    Row("metric-unknown", lambda b: b.fit(None, None, "--metrics", "acuracy"), ("acuracy", "accuracy")),
    Row("loss-option-unknown", lambda b: b.fit(None, None, "--loss", "msee"), ("msee",)),
    Row("callbacks-missing", lambda b: b.fit(None, None, "--callbacks", b("no.json")), ("no.json",)),
    Row("callbacks-unknown", lambda b: b.fit(None, None, "--callbacks", b.text(b'[{"class_name": "EarlyStoping", "config": {}}]', "c.json")),
        ("EarlyStoping", "EarlyStopping")),
    Row("callbacks-argument", lambda b: b.fit(None, None, "--callbacks", b.text(b'[{"class_name": "EarlyStopping", "config": {"patienc": 1}}]', "c.json")),
        ("patienc",)),
    Row("callbacks-not-json", lambda b: b.fit(None, None, "--callbacks", b.text(b"[{", "c.json")), ("callbacks", "JSON")),
    Row("class-weight-bad", lambda b: b.fit(None, None, "--class-weight", "{0: 1}"), ("class-weight",)),
    *[Row("empty-" + name, lambda b, name=name: b.fit(None, None, "--" + name, ""), ("--" + name, "empty"))
      for name in ("history", "callbacks", "csv-log", "log-dir", "checkpoint-dir", "validation", "optimizer")],
    Row("model-named-empty", lambda b: ["fit", "", "--data", b.data], ("argument 1", "empty")),
    Row("seed-text", lambda b: b.fit(None, None, "--seed", "x"), ("seed",)),
    Row("isa-unknown", lambda b: b.fit(None, None, "--isa", "mmx"), ("mmx",)),
    Row("no-compile-settings", lambda b: b.fit(uncompiled(b)), ("--loss",)),
    Row("subcommand-unknown", lambda b: ["fitt"], ("fitt", "fit")),
    Row("no-arguments-to-fit", lambda b: ["fit"]),
    Row("no-data", lambda b: ["fit", b.good], ("--data",)),
    # output
    Row("output-no-folder", lambda b: ["fit", b.good, "--data", b.data, "--output", b("no/such/out.keras")], ("no/such",), (1, 2)),
    Row("output-ending", lambda b: ["fit", b.good, "--data", b.data, "--output", b("out.pth")], (".pth",)),
    Row("output-full-disk", lambda b: ["predict", b.good, "--data", b.data, "--output", "/dev/full"], (), (1, 2)),
    Row("csv-log-full-disk", lambda b: ["fit", b.good, "--data", b.data, "--verbose", 0, "--csv-log", "/dev/full"], ("/dev/full", "No space left"), (2,)),
    Row("log-dir-is-file", lambda b: b.fit(None, None, "--log-dir", b.good), (), (1, 2)),
    Row("nan-in-inputs-stop", lambda b: b.fit(None, b.arrays(x=np.full_like(b.x, np.nan), y=b.y), "--stop-on-nan"), (), (2,)),
]


def packed_otherwise(b):
    import zipfile

    with zipfile.ZipFile(b("bz.npz"), "w", zipfile.ZIP_BZIP2) as z:
        for name, content in members(b("good.npz")).items():
            z.writestr(name, content)
    return b("bz.npz")


def saved_model(b):
    os.makedirs(b("saved/variables"), exist_ok=True)
    b.text(b"\x08\x01", "saved/saved_model.pb")
    return b("saved")


def external_link():
    import h5py

    return h5py.ExternalLink("/etc/passwd", "/x")


def functional(b, f):
    def build():
        i = K.Input((20,), name="in")
        m = K.Model(i, L.Dense(10, name="two", activation="softmax")(L.Dense(5, name="one")(i)))
        m.compile("sgd", "sparse_categorical_crossentropy")
        return m

    parts = members(save(build, b("f.keras")))
    record = json.loads(parts["config.json"])
    f(record)
    parts["config.json"] = json.dumps(record)
    return zipped(b("bad.keras"), parts)


def embedding(b):
    def build():
        m = K.Sequential([K.Input((5,), dtype="int32"), L.Embedding(9, 4), L.Flatten(), L.Dense(10, activation="softmax")])
        m.compile("sgd", "sparse_categorical_crossentropy")
        return m

    return save(build, b("e.keras"))


def uncompiled(b):
    return save(lambda: K.Sequential([K.Input((20,)), L.Dense(10)]), b("u.keras"))


def bare_h5(b):
    import h5py

    with h5py.File(b("bare.h5"), "w") as f:
        f.create_group("model_weights")
    return b("bare.h5")


# ---------------------------------------------------------------- mutants
def crc_mended(raw, parts, rng):
    """One member changed, the zip's checksums right."""
    name = ("config.json", "model.weights.h5")[int(rng.integers(0, 2))]
    content = bytearray(parts[name])
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(0, min(len(content), 4096 if rng.random() < 0.5 else len(content))))
        content[at] = int(rng.integers(0, 256))
    buffer = io.BytesIO()
    zipped(buffer, {**parts, name: bytes(content)})
    return buffer.getvalue()


def mutate(raw, parts, number):
    rng = np.random.default_rng(number)
    kind = number % 10
    if kind == 0:
        return raw[:int(rng.integers(0, len(raw)))]
    if kind < 4:
        content = bytearray(raw)
        for _ in range(int(rng.integers(1, 4))):
            content[int(rng.integers(0, len(content)))] = int(rng.integers(0, 256))
        return bytes(content)
    return crc_mended(raw, parts, rng)


def try_mutant(bench, raw, parts, number):
    path, out = bench("m%d.keras" % number), bench("m%d.npy" % number)
    with open(path, "wb") as f:
        f.write(mutate(raw, parts, number))
    ran = artel("predict", path, "--data", bench.data, "--output", out, timeout=120)
    try:
        if ran.rc == 0:
            if len(np.load(out)) != 64 or ran.seconds > LIMIT * SLOWER:
                raise Failure("mutant %d: exit 0 after %.1f s with a wrong output" % (number, ran.seconds))
            os.remove(out)
            return "harmless"
        check(ran, (), (1, 2), (out,), "mutant %d (seed of its change):" % number)
        return "refused"
    finally:
        os.remove(path)


def mutants(folder):
    bench = Bench(folder)
    raw, parts, counts = open(bench.good, "rb").read(), members(bench.good), {"harmless": 0, "refused": 0}
    bad = []
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(try_mutant, bench, raw, parts, n) for n in range(MUTANTS)]
        for job in jobs:
            try:
                counts[job.result()] += 1
            except Failure as why:
                bad.append(str(why))
    if bad:
        raise Failure("%d of %d: %s" % (len(bad), MUTANTS, " | ".join(bad[:4])))
    if not counts["refused"]:
        raise Failure("no mutant was refused")
    return ["%d" % counts["refused"], "%d" % counts["harmless"]]


ROWS.append(Row("mutants", None))


def run(row, index, folder, keras_only):
    if row.args is None:
        return ["", ""] if keras_only else mutants(folder)
    bench = Bench(folder)
    args = row.args(bench)
    if keras_only:
        return ["", ""]
    ran = artel(*args, timeout=120)
    check(ran, row.words, row.codes, (bench.out, bench.p))
    return [ran.rc, "%.2f s" % ran.seconds]


if __name__ == "__main__":
    table(ROWS, run, ["exit", "time"])
