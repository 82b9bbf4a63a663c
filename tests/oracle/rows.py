# SPDX-License-Identifier: Apache-2.0
"""Operations of keras.ops by families, with shapes, axes and settings drawn at random: one model of real Keras has a branch for each form.

A family is a function of (ops, draw) which yields forms `Form(label, shape, call)`: call(x) makes a tensor of a Keras tensor x whose rows
have that shape. Every branch has weights of its own in front of it, so that results, losses and gradients of one do not hide another's. Both
sides predict, and take three steps of descent. What must be refused is asked form by form; the message names the layer."""

import hashlib
import os
import pickle
import random
import sys
from dataclasses import dataclass, field
from importlib.metadata import version

import numpy as np

import oracle
from oracle import CACHE, K, L, LONG, O, Failure, artel, keras_module, table, weights

ROWS, UNITS = 6, 10


@dataclass
class Form:
    label: str
    shape: tuple
    call: object
    trains: bool = True  # Keras' gradient is the derivative
    scale: float = 1.0  # of the numbers it sees
    tolerance: float = 1e-4
    whole: int = 0  # integers below this instead, which nothing is trained in front of
    inputs: int = 1


@dataclass
class Family:
    name: str
    forms: object
    refused: list = field(default_factory=list)  # Forms
    seeds: int = 1  # five times as many in the long form


class Draw(random.Random):
    """Draws of shapes and axes."""

    def shape(self, rank, low=2, high=5):
        return tuple(self.randint(low, high) for _ in range(rank))

    def axis(self, rank):
        """Of a tensor with `rank` axes beside the batch, from either end."""
        axis = self.randint(1, rank)
        return axis if self.random() < 0.5 else axis - rank - 1

    def numbers(self, *shape):
        return np.array([self.uniform(-1, 1) for _ in range(int(np.prod(shape)))], "f4").reshape(shape)


def branch(form, n, u):
    """The tensors that a form sees, and inputs of its own."""
    if form.whole:
        own = [K.Input(form.shape, dtype="int32", name="k%d_%d" % (n, i)) for i in range(form.inputs)]
        return own, own
    size = int(np.prod(form.shape))
    made = []
    for i in range(form.inputs):
        bias = K.initializers.RandomUniform(-1.0, 1.0, seed=1000 * n + i)
        h = L.Dense(size, name="d%d_%d" % (n, i), bias_initializer=bias, kernel_initializer=K.initializers.RandomNormal(stddev=0.3, seed=n))(u)
        made.append(L.Rescaling(form.scale)(L.Reshape(form.shape)(h)))
    return made, []


def build(forms):
    """(model, inputs) with an output for each form, float32."""
    keras_module().backend.clear_session()
    u = K.Input((UNITS,), name="u")
    inputs, outputs = [u], []
    for n, form in enumerate(forms):
        seen, own = branch(form, n, u)
        try:
            out = form.call(*seen)
            out = out if not isinstance(out, (list, tuple)) else out[0]
            if len(out.shape) == 1:
                out = K.ops.expand_dims(out, -1)
            out = K.ops.cast(out, "float32") if out.dtype != "float32" else out
        except Exception as e:
            raise Failure("Keras cannot build %s: %s" % (form.label, e))
        inputs += own
        outputs.append(L.Identity(name="o%d" % n)(out))
    return K.Model(inputs, outputs), inputs


def feed(model, inputs, forms, seed):
    rng = np.random.default_rng(seed)
    limits = {"k%d_%d" % (n, i): form.whole for n, form in enumerate(forms) if form.whole for i in range(form.inputs)}
    return {t.name: rng.standard_normal((ROWS, *t.shape[1:])).astype("f4") if t.name == "u" else rng.integers(0, limits[t.name], (ROWS, *t.shape[1:])).astype("i4")
            for t in inputs}


def apart(mine, theirs, label, tolerance):
    if mine.shape != theirs.shape:
        raise Failure("%s: shape %s, Keras has %s" % (label, mine.shape, theirs.shape))
    same = (mine == theirs) | (np.isnan(mine) & np.isnan(theirs))
    with np.errstate(all="ignore"):
        scale = np.max(np.abs(theirs[np.isfinite(theirs)]), initial=1e-3)
        off = np.where(same, 0, np.abs(mine.astype("f8") - theirs) / scale)
    worst = float(np.max(np.where(np.isnan(off), np.inf, off), initial=0))
    if worst > tolerance:
        at = tuple(np.argwhere(~(off <= tolerance))[0])
        raise Failure("%s: %.6g at %s, Keras has %.6g (%.1e apart)" % (label, mine[at], at, theirs[at], worst))
    return worst


def listed(outputs):
    return [np.asarray(t) for t in (outputs if isinstance(outputs, (list, tuple)) else [outputs])]


def saved(model, folder):
    path = os.path.join(folder, "rows.keras")
    model.save(path)
    with open(path, "rb") as f:
        return f.read()


def keras_side(family, seed, folder):
    """What Keras makes of a family: models as they begin, what they are fed, results, weights after the steps, models to be refused."""
    forms = list(family.forms(K.ops, Draw(seed)))
    model, inputs = build(forms)
    fed = feed(model, inputs, forms, seed)
    said = {"forms": [(form.label, form.tolerance) for form in forms], "start": saved(model, folder), "fed": fed,
            "results": listed(model([fed[t.name] for t in inputs], training=False)), "train": None}
    trained = [form for form in forms if form.trains and not form.whole]
    if trained:
        model, inputs = build(trained)
        fed = feed(model, inputs, trained, seed + 1)
        rng = np.random.default_rng(seed)
        targets = {"o%d" % n: rng.standard_normal(t.shape).astype("f4") for n, t in enumerate(listed(model([fed["u"]], training=False)))}
        model.compile(O.SGD(0.05), "mse")
        start = saved(model, folder)
        model.compile(O.SGD(0.05), "mse", run_eagerly=True)  # tracing takes longer than three steps
        model.fit(fed["u"], targets if len(trained) > 1 else targets["o0"], epochs=1, batch_size=2, shuffle=False, verbose=0)
        end = saved(model, folder)
        said["train"] = {"start": start, "end": end, "owners": [(form.label, form.tolerance) for form in trained for _ in range(form.inputs)],
                         "data": {"u": fed["u"], **targets} if len(trained) > 1 else {"x": fed["u"], "y": targets["o0"]}}
    said["refused"] = [(form.label, saved(build([form])[0], folder)) for form in family.refused] if seed == 0 else []
    return said


def reference(family, seed, folder):
    """keras_side, kept until the test, these files or Keras change."""
    if not CACHE:
        return keras_side(family, seed, folder)
    texts = [open(f, "rb").read() for f in (__file__, oracle.__file__, os.path.abspath(sys.argv[0]))]
    key = hashlib.sha256(b"".join(texts) + ("%s %d %s" % (family.name, seed, version("keras"))).encode()).hexdigest()
    path = os.path.join(CACHE, "rows-%s.pickle" % key)
    if os.path.exists(path):
        with open(path, "rb") as f:
            return pickle.load(f)
    said = keras_side(family, seed, folder)
    os.makedirs(CACHE, exist_ok=True)
    with open(path + ".%d" % os.getpid(), "wb") as f:
        pickle.dump(said, f)
    os.replace(f.name, path)
    return said


def write(folder, name, data):
    path = os.path.join(folder, name)
    with open(path, "wb") as f:
        f.write(data)
    return path


def predicted(said, folder):
    start, data = write(folder, "start.keras", said["start"]), os.path.join(folder, "rows.npz")
    np.savez(data, **said["fed"])
    many = len(said["forms"]) > 1
    out = os.path.join(folder, "out.npz" if many else "out.npy")
    ran = artel("predict", start, "--data", "npz:" + data, "--output", out)
    if ran.rc != 0:
        raise Failure("predict: exit %d (%s)" % (ran.rc, ran.first))
    got = np.load(out)
    return max(apart(got["o%d" % n] if many else got, theirs, label, tolerance)
               for n, (theirs, (label, tolerance)) in enumerate(zip(said["results"], said["forms"])))


def trained(said, folder):
    """How far three steps take the weights in front of each form."""
    if not said:
        return 0.0
    start, end, data = write(folder, "start.keras", said["start"]), os.path.join(folder, "end.keras"), os.path.join(folder, "rows.npz")
    np.savez(data, **said["data"])
    ran = artel("fit", start, "--data", "npz:" + data, "--batch-size", 2, "--epochs", 1, "--no-shuffle", "--output", end, "--verbose", 0)
    if ran.rc != 0:
        raise Failure("fit: exit %d (%s)" % (ran.rc, ran.first))
    before, mine, theirs, worst = weights(start), weights(end), weights(write(folder, "theirs.keras", said["end"])), 0.0
    for key, value in theirs.items():
        if value.shape == ():
            continue
        number = key.split("/")[1].split("_")[1:]  # dense, dense_1, ... in the order of the branches
        label, tolerance = said["owners"][int(number[0]) if number else 0]
        worst = max(worst, apart(mine[key] - before[key], value - before[key], "weights of " + label, 10 * tolerance))
    return worst


def is_refused(label, model, folder):
    ran = artel("check", write(folder, "refused.keras", model))
    if ran.rc == 0:
        raise Failure("%s is not refused" % label)
    if 'layer "' not in ran.err + ran.out:
        raise Failure("%s: no layer is named (%s)" % (label, ran.first))


def run(family, index, folder, keras_only):
    count, worst, moved = 0, 0.0, 0.0
    for seed in range(family.seeds * (5 if LONG else 1)):
        said = reference(family, seed, folder)
        if keras_only:
            continue
        count, worst, moved = count + len(said["forms"]), max(worst, predicted(said, folder)), max(moved, trained(said["train"], folder))
        for label, model in said["refused"]:
            is_refused(label, model, folder)
    return ["-", "-", "-"] if keras_only else ["%d" % count, "%.1e" % worst, "%.1e" % moved]


def main(families):
    table(families, run, ["forms", "predict", "gradients"])
