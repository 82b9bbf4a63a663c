# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Each data format: the values that reach the model are those of the file, and so are the targets.

A model that passes its input on shows the inputs (`predict`); one that answers zero shows the targets, as their mean
square (`evaluate`).
"""

import dataclasses
import gzip
import io
import os
import struct

import numpy as np
from cli import K, L, save
from oracle import Failure, artel, quiet, table

N = 23
RNG = np.random.default_rng(5)
FLAT = RNG.standard_normal((N, 4)).astype("f4")
PIXELS = RNG.integers(0, 256, (N, 6, 5, 3)).astype("u1")
GREY = PIXELS[..., 0]
LABELS = RNG.integers(0, 7, N).astype("u1")


@dataclasses.dataclass
class Row:
    name: str
    spec: object  # Bench -> specification
    x: np.ndarray = None
    y: np.ndarray = None
    tolerance: float = 0.0


def decoded(content):
    """As Keras' image_dataset_from_directory decodes it, to the bit."""
    with quiet():
        import tensorflow as tf

        return tf.io.decode_image(content).numpy()


class Bench:
    def __init__(self, folder):
        self.folder = folder

    def __call__(self, name):
        return os.path.join(self.folder, name)

    def odd(self, form, name, options=""):
        if form == "npz":
            np.savez(self(name), x=FLAT, y=LABELS)
            return "npz:" + self(name) + options
        np.save(self(name), FLAT)
        np.save(self("y," + name), LABELS)
        return "npy:%s,%s%s" % (self(name), self("y," + name), options)

    def text(self, name, content):
        os.makedirs(os.path.dirname(self(name)), exist_ok=True)
        with open(self(name), "wb") as f:
            f.write(content if isinstance(content, bytes) else content.encode())
        return self(name)

    def npy(self, name, a):
        np.save(self(name), a)
        return self(name)

    def npz(self, compressed=False, **named):
        (np.savez_compressed if compressed else np.savez)(self("a.npz"), **named)
        return "npz:" + self("a.npz")

    def idx(self, name, a, zipped=False):
        kind = {"u1": 8, "i4": 12, "f4": 13}[a.dtype.str[1:]]
        content = struct.pack(">HBB", 0, kind, a.ndim) + struct.pack(">%dI" % a.ndim, *a.shape) + a.astype(a.dtype.newbyteorder(">")).tobytes()
        return self.text(name, gzip.compress(content) if zipped else content)

    def csv(self, delimiter=",", header=True):
        lines = [delimiter.join(["a", "b", "label", "c", "d"])] if header else []
        for x, y in zip(FLAT, LABELS):
            v = [repr(float(q)) for q in x]
            lines.append(delimiter.join([v[0], '"%s"' % v[1] if header else v[1], str(y), v[2], v[3]]))
        return self.text("t.csv", "\r\n".join(lines) + "\n")

    def cifar(self, name="data_batch_1.bin"):
        big = RNG.integers(0, 256, (N, 32, 32, 3)).astype("u1")
        self.big = big
        return self.text(name, b"".join(bytes([y]) + x.transpose(2, 0, 1).tobytes() for x, y in zip(big, LABELS)))

    def images(self, ending, rgb=True, **options):
        from PIL import Image

        order = []
        for i, (x, y) in enumerate(zip(PIXELS if rgb else GREY, LABELS)):
            name = "pictures/class%d/%03d.%s" % (y, i, ending)
            buffer = io.BytesIO()
            Image.fromarray(x).save(buffer, {"png": "PNG", "jpg": "JPEG", "bmp": "BMP"}[ending], **options)
            self.text(name, buffer.getvalue())
            order.append((y, i, decoded(buffer.getvalue())))
        order.sort(key=lambda item: item[:2])
        classes = sorted(set(LABELS.tolist()))
        self.seen = np.stack([a for _, _, a in order])  # with a last axis, of one for grey
        self.classes = np.array([classes.index(y) for y, _, _ in order])
        return self("pictures")


def cifar(b, suffix=""):
    path = b.cifar()
    return "cifar10:" + path + suffix, b.big, LABELS


def cifar_two(b):
    b.cifar("data_batch_2.bin")
    two = b.big
    b.cifar("data_batch_1.bin")
    return "cifar10:" + b("data_batch_*.bin"), np.concatenate([b.big, two]), np.concatenate([LABELS, LABELS])


def images(ending, rgb=True, **options):
    def spec(b):
        folder = b.images(ending, rgb, **options)
        return "images:" + folder, b.seen, b.classes

    return spec


ROWS = [
    Row("npz", lambda b: b.npz(x=FLAT, y=LABELS), FLAT, LABELS),
    Row("npz-compressed", lambda b: b.npz(True, x=FLAT, y=LABELS), FLAT, LABELS),
    Row("npz-named", lambda b: b.npz(pictures=FLAT, answers=LABELS) + "#pictures,answers", FLAT, LABELS),
    Row("npz-train-names", lambda b: b.npz(x_train=FLAT, y_train=LABELS, x_test=FLAT + 1, y_test=LABELS + 1), FLAT + 1, LABELS + 1),
    Row("npz-float64", lambda b: b.npz(x=FLAT.astype("f8"), y=LABELS.astype("f8")), FLAT, LABELS),
    Row("npz-float16", lambda b: b.npz(x=FLAT.astype("f2"), y=LABELS), FLAT.astype("f2"), LABELS),
    Row("npz-bool", lambda b: b.npz(x=FLAT > 0, y=LABELS > 3), (FLAT > 0).astype("f4"), (LABELS > 3).astype("f4")),
    Row("npz-int64", lambda b: b.npz(x=(FLAT * 9).astype("i8"), y=LABELS.astype("i8")), (FLAT * 9).astype("i8"), LABELS),
    Row("npz-int16-big-endian", lambda b: b.npz(x=(FLAT * 9).astype(">i2"), y=LABELS.astype(">u4")), (FLAT * 9).astype("i2"), LABELS),
    Row("npz-fortran", lambda b: b.npz(x=np.asfortranarray(PIXELS), y=LABELS), PIXELS, LABELS),
    Row("npz-uint8-scaled", lambda b: b.npz(x=PIXELS, y=LABELS) + "#x,y&scale=1/255",
        PIXELS / np.float32(255), LABELS, 1e-6),
    Row("npy", lambda b: "npy:%s,%s" % (b.npy("x.npy", FLAT), b.npy("y.npy", LABELS)), FLAT, LABELS),
    Row("npy-big-endian", lambda b: "npy:%s,%s" % (b.npy("x.npy", FLAT.astype(">f8")), b.npy("y.npy", LABELS)), FLAT, LABELS),
    Row("npy-fortran", lambda b: "npy:%s,%s" % (b.npy("x.npy", np.asfortranarray(FLAT)), b.npy("y.npy", LABELS)), FLAT, LABELS),
    Row("npy-scaled", lambda b: "npy:%s,%s#scale=1/127.5,shift=-1" % (b.npy("x.npy", PIXELS), b.npy("y.npy", LABELS)),
        PIXELS / np.float32(127.5) - 1, LABELS, 1e-6),
    Row("npy-joined", lambda b: "npy:%s,%s+npy:%s,%s" % (b.npy("x.npy", FLAT), b.npy("y.npy", LABELS), b.npy("x2.npy", FLAT * 2), b.npy("y2.npy", LABELS)),
        np.concatenate([FLAT, FLAT * 2]), np.concatenate([LABELS, LABELS])),
    Row("npz-odd-name", lambda b: b.odd("npz", "run #1, a&b=c %23é+x.npz"), FLAT, LABELS),
    Row("npz-odd-name-named", lambda b: b.odd("npz", "a#x#y.npz", "#x,y"), FLAT, LABELS),
    Row("npy-odd-names", lambda b: b.odd("npy", "x#1,2&.npy", "#scale=1"), FLAT, LABELS),
    Row("idx", lambda b: "idx:%s,%s" % (b.idx("i", GREY), b.idx("l", LABELS)), GREY[..., None], LABELS),
    Row("idx-gz", lambda b: "idx:%s,%s" % (b.idx("i.gz", GREY, True), b.idx("l.gz", LABELS, True)), GREY[..., None], LABELS),
    Row("idx-scaled", lambda b: "idx:%s,%s#scale=1/255" % (b.idx("i", GREY), b.idx("l", LABELS)), GREY[..., None] / np.float32(255), LABELS, 1e-6),
    Row("idx-float", lambda b: "idx:%s,%s" % (b.idx("i", FLAT), b.idx("l", LABELS)), FLAT, LABELS),
    Row("csv", lambda b: "csv:" + b.csv() + "#label=label", FLAT, LABELS, 1e-6),
    Row("csv-semicolon", lambda b: "csv:" + b.csv(";") + "#label=label&delimiter=;", FLAT, LABELS, 1e-6),
    Row("csv-header-yes", lambda b: "csv:" + b.csv() + "#label=label&header=yes", FLAT, LABELS, 1e-6),
    Row("csv-columns", lambda b: "csv:" + b.csv() + "#label=label&columns=d,a", FLAT[:, [3, 0]], LABELS, 1e-6),
    Row("csv-missing-values", lambda b: "csv:" + b.text("t.csv", "a,b,y\n1,,3\n,2.5,4\n") + "#label=y&missing=-9",
        np.array([[1, -9], [-9, 2.5]], "f4"), np.array([3, 4])),
    Row("cifar10", cifar),
    Row("cifar10-two-files", cifar_two),
    Row("images-png", images("png")),
    Row("images-png-grey", images("png", False)),
    Row("images-jpeg", images("jpg", quality=95)),
]


def run(row, index, folder, keras_only):
    b = Bench(folder)
    spec = row.spec(b)
    spec, x, y = spec if isinstance(spec, tuple) else (spec, row.x, row.y)
    shown = save(lambda: shower(x.shape[1:]), b("x.keras"))
    zero = save(lambda: zeroer(x.shape[1:]), b("y.keras"))
    if keras_only:
        return ["", ""]
    ran = artel("predict", shown, "--data", spec, "--output", b("p.npy"))
    if ran.rc != 0:
        raise Failure("predict: exit %d (%s)" % (ran.rc, ran.first))
    p = np.load(b("p.npy"))
    if p.shape != x.shape:
        raise Failure("shape %s instead of %s" % (p.shape, x.shape))
    error = float(np.max(np.abs(p - x.astype("f4"))))
    if error > row.tolerance:
        raise Failure("inputs differ by %g" % error)
    ran = artel("evaluate", zero, "--data", spec)
    if ran.rc != 0 or not ran.out.startswith("loss "):
        raise Failure("evaluate: exit %d (%s)" % (ran.rc, ran.first))
    loss, wanted = float(ran.out.split()[1]), float(np.mean(y.astype("f8") ** 2))
    if abs(loss - wanted) > 1e-4 * max(wanted, 1):
        raise Failure("the mean square of the targets is %g instead of %g" % (loss, wanted))
    return ["%.1e" % error, "%.4g" % loss]


def shower(shape):
    """Passes its input on."""
    m = K.Sequential([K.Input(shape), L.Activation("linear")])
    m.compile("sgd", "mse")
    return m


def zeroer(shape):
    m = K.Sequential([K.Input(shape), L.Flatten(), L.Dense(1, kernel_initializer="zeros")])
    m.compile("sgd", "mse")
    return m


if __name__ == "__main__":
    table(ROWS, run, ["inputs", "targets"])
