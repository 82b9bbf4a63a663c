# SPDX-License-Identifier: Apache-2.0
"""Real Keras beside artel: one row of a table is one model, trained by both from the same `.keras` file.

A test file is a list of rows `Case(name, build, ...)` and a call of `main(CASES)`. For each row Keras builds the
model, saves it untrained, predicts, trains 20 steps without shuffle and tells history and weights; artel does the
same through its command line; the two are compared (tolerances below). Keras is imported
on first use, and not at all for a row whose answer is kept from an earlier run (build/oracle-cache; the key is the
text of the test, of this file, and Keras' version).

Environment: ARTEL the program (default build/artel), ARTEL_LONG=1 the long form, ARTEL_KEEP=1 keeps the scratch
folder, ARTEL_ORACLE_CACHE another folder for Keras' answers (empty: none are kept), ARTEL_ORACLE_DEVICE (cpu:xla --device-reduce fast) what computes artel's
side. Arguments of a test file: `-k TEXT` only rows whose name holds TEXT (repeatable), `--keras-only` runs Keras' side alone, `--list`
names the rows.
"""

import concurrent.futures
import dataclasses
import gc
import hashlib
import io
import json
import multiprocessing
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ARTEL = os.environ.get("ARTEL") or os.path.join(ROOT, "build", "artel")
LONG = os.environ.get("ARTEL_LONG", "") not in ("", "0")
BUILD = os.environ.get("ARTEL_BUILD") or os.path.join(ROOT, "build")
CACHE = os.environ.get("ARTEL_ORACLE_CACHE", os.path.join(BUILD, "oracle-cache") if os.path.isdir(BUILD) else "")
DEVICE = os.environ.get("ARTEL_ORACLE_DEVICE", "")

PREDICT_TOL = 1e-4  # of the largest value
HISTORY_TOL = 2e-4  # absolute below one, relative above
WEIGHT_REL, WEIGHT_ABS = 1e-3, 2e-5
ROWS, BATCH, EPOCHS = 80, 8, 2  # twenty steps


# ---------------------------------------------------------------- Keras, on first use
def keras_module():
    if not keras_module.ready:
        keras_module.ready = True
        os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
        os.environ["KERAS_BACKEND"] = "tensorflow"
        import warnings

        warnings.filterwarnings("ignore")
        with quiet():
            import tensorflow as tf

            tf.config.threading.set_intra_op_parallelism_threads(int(os.environ.get("ARTEL_ORACLE_THREADS", "1")))
            tf.config.threading.set_inter_op_parallelism_threads(1)
            import keras
            import logging

            for name in ("tensorflow", "absl"):
                logging.getLogger(name).setLevel(logging.ERROR)
            import absl.logging

            absl.logging.set_verbosity(absl.logging.ERROR)
        gc.freeze()  # TensorFlow's million objects stay: every collection, one a row, would visit them
    return sys.modules["keras"]


keras_module.ready = False


class quiet:
    """Drops what C++ code writes to file descriptor 2 meanwhile (TensorFlow greets on import)."""

    def __enter__(self):
        sys.stderr.flush()
        self.saved = os.dup(2)
        self.null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(self.null, 2)

    def __exit__(self, *_):
        os.dup2(self.saved, 2)
        os.close(self.saved)
        os.close(self.null)


class Lazy:
    """`L.Dense` is keras.layers.Dense, imported when it is used."""

    def __init__(self, path=""):
        self._path = path

    def __getattr__(self, name):
        where = keras_module()
        for part in filter(None, self._path.split(".")):
            where = getattr(where, part)
        return getattr(where, name)


K = Lazy()
L = Lazy("layers")
O = Lazy("optimizers")
S = Lazy("optimizers.schedules")
M = Lazy("metrics")
Q = Lazy("losses")


# ---------------------------------------------------------------- running artel
@dataclasses.dataclass
class Result:
    rc: int
    out: str
    err: str
    seconds: float

    @property
    def first(self):
        """The line that explains a failure."""
        lines = [line for line in self.err.splitlines() if line.startswith("artel:")] or self.err.splitlines()
        return (lines[-1] if lines else "") if self.rc >= 0 else "killed by signal %d: %s" % (-self.rc, self.err[-300:])

    def events(self, kind=None):
        found = [json.loads(line) for line in self.out.splitlines() if line.strip()]
        return [event for event in found if kind is None or event.get("event") == kind]


def clean_environment(extra=None):
    """Without ARTEL_* (they are defaults of options) and TF_CONFIG; jobs that fail on purpose leave no post-mortem files."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("ARTEL") and k not in ("TF_CONFIG", "OMP_NUM_THREADS")}
    env["ARTEL_POST_MORTEM"] = "none"
    env.update(extra or {})
    return env


def artel(*args, timeout=120, env=None, cwd=None, program=None, stdin=None):
    begin = time.monotonic()
    if DEVICE and args[0] in ("fit", "evaluate", "predict") and "--device" not in args:
        args += ("--device", *DEVICE.split())
    try:
        done = subprocess.run(
            [program or ARTEL, *[str(a) for a in args]], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout,
            env=clean_environment(env), cwd=cwd, stdin=stdin or subprocess.DEVNULL)
        rc, out, err = done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired as late:
        rc, out, err = -9, late.stdout or b"", (late.stderr or b"") + b"\nartel: no end after %d s (test's limit)" % timeout
    except OSError as absent:
        rc, out, err = 127, b"", ("artel: %s" % absent).encode()
    return Result(rc, out.decode(errors="replace"), err.decode(errors="replace"), time.monotonic() - begin)


def skip_without_xla():
    """Ends a test where there is no XLA for the CPU, as a plug-in."""
    if DEVICE and not DEVICE.startswith("cpu:"):
        return  # another one was asked for
    if "cpu:" not in artel("devices").out.replace("cpu  ", ""):
        print("skipped: no lammps-jax-pjrt-cpu")
        sys.exit(77)


def digest(path, program=None, kind=None):
    """The 64 hex digits of `artel inspect PATH --digest`."""
    said = artel("inspect", path, "--digest" + ("=" + kind if kind else ""), program=program)
    word = said.out.split()[-1] if said.out.split() else ""
    if said.rc != 0 or len(word) != 64 or any(c not in "0123456789abcdef" for c in word):
        raise Failure("inspect --digest %s: exit %d, %r %s" % (path, said.rc, said.out[:200], said.first))
    return word


# ---------------------------------------------------------------- files
def h5_tree(path):
    """Path -> array of every dataset of a `.keras`, `.weights.h5` or legacy `.h5` file."""
    import h5py

    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as z:
            path = io.BytesIO(z.read("model.weights.h5"))
    found = {}
    with h5py.File(path, "r") as f:
        f.visititems(lambda name, item: found.__setitem__(name, item[()]) if isinstance(item, h5py.Dataset) else None)
    return found


def weights(path):
    """The model's own variables: the tree without optimizer and without the seeds of random layers."""
    return {k: v for k, v in h5_tree(path).items() if not k.startswith("optimizer") and "seed_generator" not in k}


def slots(path):
    return {k: v for k, v in h5_tree(path).items() if k.startswith("optimizer")}


def rng_of(name):
    return np.random.default_rng(int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little"))


# ---------------------------------------------------------------- rows
class Failure(Exception):
    pass


@dataclasses.dataclass
class Case:
    name: str
    build: object  # () -> model, or () -> list of layers between stem and head (see net())
    shape: tuple = None  # of one row, for lists of layers
    stem: int = None  # width of the Dense before the layers; None: the last extent; 0: no stem
    head: int = 3  # width of the Dense after the layers; 0: no head
    last: str = None  # activation of the head
    opt: object = None  # callable or name; None: SGD and Adam in turn
    loss: object = "mse"
    loss_weights: object = None
    metrics: object = None
    weighted: object = None
    compile: dict = None  # further arguments of compile()
    y: object = "real"  # kind of the targets (make_target) or f(rng, n, shape), or a list, one an output
    vocab: int = 9  # integer inputs lie below this
    time: int = 5  # replaces None in input shapes
    x: object = None  # f(rng, n, shape) for float inputs
    weight: object = None  # f(rng, n) of sample weights
    class_weight: dict = None
    rows: int = ROWS
    batch: int = BATCH
    epochs: int = EPOCHS
    validation: int = 0  # rows of validation data
    zero: tuple = ()  # variables whose true gradient is zero, by parts of their path: compared no further
    refuse: str = None  # artel must refuse and name this (Keras saves the file, no more)
    may_refuse: str = None  # artel may refuse, naming this, or be right
    train: bool = True
    fit: tuple = ()  # further arguments of artel fit
    strip: bool = False  # artel gets the model without compile settings
    check_slots: bool = False
    predict_tol: float = PREDICT_TOL
    each: bool = False  # predictions are compared one by one, not with the largest value
    weight_rel: float = WEIGHT_REL
    weight_abs: float = WEIGHT_ABS
    seed: int = 0  # another draw of weights and data
    home: str = None  # the file of the row, where another one runs it


def net(case):
    """Input, Dense stem (so that the layer under test also sends a gradient back), layers, Flatten, Dense head."""
    built = case.build()
    if not isinstance(built, (list, tuple)):
        return built
    parts = [K.Input(case.shape)]
    if case.stem != 0:
        parts.append(L.Dense(case.stem or case.shape[-1], activation="tanh", name="stem"))
    model = K.Sequential(parts + list(built))
    if case.head:
        if len(model.output_shape) > 2:
            model.add(L.Flatten())
        model.add(L.Dense(case.head, activation=case.last, name="head"))
    return model


def make_target(kind, rng, n, shape):
    """Targets for an output of `shape` (one row)."""
    if callable(kind):
        return kind(rng, n, shape)
    word, _, number = kind.partition(":")
    k = int(number) if number else (shape[-1] if shape else 2)
    if word == "real":
        return rng.standard_normal((n, *shape)).astype("f4")
    if word == "positive":
        return rng.uniform(0.1, 2, (n, *shape)).astype("f4")
    if word == "unit":
        return rng.uniform(0, 1, (n, *shape)).astype("f4")
    if word == "binary":
        return rng.integers(0, 2, (n, *shape)).astype("f4")
    if word == "sign":
        return (2 * rng.integers(0, 2, (n, *shape)) - 1).astype("f4")
    if word == "class":  # one integer a row
        return rng.integers(0, k, (n, *shape[:-1])).astype("i4")
    if word == "class1":  # with a last axis of one
        return rng.integers(0, k, (n, *shape[:-1], 1)).astype("i8")
    if word == "onehot":
        return np.eye(k, dtype="f4")[rng.integers(0, k, (n, *shape[:-1]))]
    if word == "simplex":
        p = rng.uniform(0.05, 1, (n, *shape)).astype("f4")
        return p / p.sum(-1, keepdims=True)
    raise ValueError(kind)


def make_data(case, model, rng, n):
    xs, ys = [], []
    for tensor in model.inputs:
        shape = [case.time if d is None else d for d in tensor.shape[1:]]
        if case.x:
            xs.append(case.x(rng, n, shape))
        elif tensor.dtype == "bool":
            xs.append(rng.uniform(size=(n, *shape)) < 0.7)
        elif "int" in tensor.dtype:
            xs.append(rng.integers(0, case.vocab, (n, *shape)).astype(tensor.dtype))
        else:
            xs.append(rng.standard_normal((n, *shape)).astype("f4"))
    kinds = case.y if isinstance(case.y, (list, tuple)) else [case.y] * len(model.outputs)
    for kind, tensor in zip(kinds, model.outputs):
        ys.append(make_target(kind, rng, n, tuple(case.time if d is None else d for d in tensor.shape[1:])))
    return xs, ys


def save_data(path, model_names, xs, ys, weight=None):
    inputs, outputs = model_names
    named = {}
    if len(xs) == 1 and len(ys) == 1:
        named = {"x": xs[0], "y": ys[0]}
    else:
        named.update(zip(inputs, xs))
        named.update(zip(outputs, ys))
    if weight is not None:
        named["sample_weight"] = weight
    np.savez(path, **named)


def optimizer_of(case, index):
    if case.opt is None:
        return O.SGD(0.05) if index % 2 == 0 else O.Adam(0.01)
    return case.opt() if callable(case.opt) else case.opt


def one(items):
    return items[0] if len(items) == 1 else items


def nested(case, model, ys):
    """As the model's outputs are: Keras wants that of targets where a loss is nested."""
    outputs = getattr(model, "_outputs_struct", None)
    by_key = isinstance(outputs, dict) and isinstance(case.loss, dict)
    by_place = isinstance(outputs, list) and isinstance(case.loss, list) and any(isinstance(part, list) for part in case.loss)
    return keras_module().tree.pack_sequence_as(outputs, ys) if by_key or by_place else one(ys)


def fit_data(case, model, rng):
    xs, ys = make_data(case, model, rng, case.rows)
    weight = case.weight(rng, case.rows) if case.weight else None
    more = make_data(case, model, rng, case.validation) if case.validation else None
    return xs, ys, weight, more


def keras_side(case, index, folder):
    """Writes start.keras and data files into `folder`; returns what Keras makes of them."""
    keras = keras_module()
    keras.backend.clear_session()
    keras.utils.set_random_seed(1 + case.seed + int.from_bytes(hashlib.sha256(case.name.encode()).digest()[:3], "little"))
    rng = rng_of(case.name + str(case.seed))
    model = net(case)
    loss, metrics = resolve(case.loss), resolve(case.metrics)
    start = os.path.join(folder, "start.keras")
    if case.strip:
        model.save(start)
    if not model.compiled:
        model.compile(optimizer_of(case, index), loss, metrics=metrics, weighted_metrics=resolve(case.weighted),
                      loss_weights=case.loss_weights, **(case.compile or {}))
    if not case.strip:
        model.save(start)
        if not case.refuse:  # what saving loses (Huber's delta, for one) is lost for both
            model = keras.models.load_model(start)
    model.jit_compile = False
    xs, ys, weight, more = fit_data(case, model, rng)
    outputs = list(model.output_names) if hasattr(model, "output_names") else [model.layers[-1].name]
    names = ([t._keras_history.operation.name for t in model.inputs], outputs)
    save_data(os.path.join(folder, "data.npz"), names, xs, ys, weight)
    said = {"outputs": names[1]}
    if case.refuse:
        return said
    got = model.predict(one(xs), batch_size=case.batch, verbose=0)
    said["predict"] = [np.asarray(a) for a in keras.tree.flatten(got)]
    for layer in model._flatten_layers():
        if getattr(layer, "stateful", False):
            layer.reset_state()
    if not case.train:
        return said
    extra = {}
    if more:
        save_data(os.path.join(folder, "more.npz"), names, *more)
        extra["validation_data"] = (one(more[0]), nested(case, model, more[1]))
    if weight is not None:
        extra["sample_weight"] = weight if len(ys) == 1 else [weight] * len(ys)
    history = model.fit(one(xs), nested(case, model, ys), batch_size=case.batch, epochs=case.epochs, shuffle=False, verbose=0,
                        class_weight=case.class_weight, **extra)
    said["history"] = {k: [float(v) for v in values] for k, values in history.history.items()}
    trained = os.path.join(folder, "trained.keras")
    model.save(trained)
    said["weights"], said["slots"], said["before"] = weights(trained), slots(trained), weights(start)
    os.remove(trained)
    check_reference(case, said)
    return said


def resolve(thing):
    """Losses and metrics are made anew for every run: rows give a callable that takes nothing, marked by `make`."""
    if isinstance(thing, make):
        return thing.f()
    if isinstance(thing, (list, tuple)):
        return [resolve(t) for t in thing]
    if isinstance(thing, dict):
        return {k: resolve(v) for k, v in thing.items()}
    return thing


class make:
    def __init__(self, f):
        self.f = f


def check_reference(case, said):
    """A row must be able to fail: Keras' own training has moved something, and what is excluded stood still."""
    for key, values in said["history"].items():
        if not np.all(np.isfinite(values)):
            raise Failure("Keras' own %s is not finite: mend the row" % key)
    moved = {k: float(np.max(np.abs(v - said["before"][k]), initial=0)) for k, v in said["weights"].items() if k in said["before"]}
    if not any(v > 1e-4 for v in moved.values()):
        raise Failure("Keras' own training moves nothing: mend the row")
    for part in case.zero:
        if not any(part in k for k in moved):
            raise Failure("no variable is called %s: mend the row (%s)" % (part, ", ".join(moved)))


def reference(case, index, folder):
    """keras_side(), or what it said last time."""
    if not CACHE:
        return keras_side(case, index, folder)
    from importlib.metadata import version

    caller = case.home or sys.modules["__main__"].__file__
    with open(caller, "rb") as a, open(os.path.abspath(__file__), "rb") as b:
        key = hashlib.sha256(a.read() + b.read() + version("keras").encode()).hexdigest()[:16]
    os.makedirs(CACHE, exist_ok=True)
    home = os.path.join(CACHE, key + "-" + "".join(c if c.isalnum() else "_" for c in case.name))
    if not os.path.exists(os.path.join(home, "said.pickle")):
        said = keras_side(case, index, folder)
        part = tempfile.mkdtemp(dir=CACHE)
        shutil.copytree(folder, part, dirs_exist_ok=True)
        with open(os.path.join(part, "said.pickle"), "wb") as f:
            pickle.dump(said, f)
        shutil.rmtree(home, ignore_errors=True)
        try:
            os.rename(part, home)
        except OSError:  # another test has kept the same meanwhile
            shutil.rmtree(part, ignore_errors=True)
        return said
    shutil.copytree(home, folder, dirs_exist_ok=True)
    with open(os.path.join(home, "said.pickle"), "rb") as f:
        return pickle.load(f)


# ---------------------------------------------------------------- comparing
def predict_error(mine, theirs, each=False):
    """The largest difference as a part of the largest value; `each`: of its own value (plus a hundredth)."""
    worst = 0.0
    for a, b in zip(mine, theirs):
        if a.shape != b.shape:
            raise Failure("predict: shape %s, Keras has %s" % (a.shape, b.shape))
        if not np.all(np.isfinite(a) == np.isfinite(b)):
            raise Failure("predict: not finite where Keras is")
        finite = np.isfinite(b)
        a, b = a[finite].astype("f8"), b[finite].astype("f8")
        scale = np.abs(b) + 1e-2 if each else max(np.max(np.abs(b), initial=0), 1e-30)
        worst = max(worst, float(np.max(np.abs(a - b) / scale, initial=0)))
    return worst


def history_error(mine, theirs):
    if list(mine) != list(theirs):
        raise Failure("history keys %s, Keras has %s" % (list(mine), list(theirs)))
    worst, where = 0.0, ""
    for key in theirs:
        if len(mine[key]) != len(theirs[key]):
            raise Failure("history %s has %d epochs, Keras %d" % (key, len(mine[key]), len(theirs[key])))
        for a, b in zip(mine[key], theirs[key]):
            error = abs(a - b) / max(1.0, abs(b)) if a is not None else float("inf")
            if not error <= worst:
                worst, where = error, "%s %s != %s" % (key, a, b)
    return worst, where


def weight_error(mine, theirs, zero=(), rel=WEIGHT_REL, absolute=WEIGHT_ABS):
    """The largest |difference| / (absolute + rel * |value|), its place, and how many variables were excluded."""
    if set(mine) != set(theirs):
        raise Failure("variables: missing %s, too many %s" % (sorted(set(theirs) - set(mine)), sorted(set(mine) - set(theirs))))
    worst, where, excluded = 0.0, "", 0
    for path, b in theirs.items():
        a = mine[path]
        if a.shape != b.shape or a.dtype != b.dtype:
            raise Failure("%s: %s %s, Keras has %s %s" % (path, a.dtype, a.shape, b.dtype, b.shape))
        if any(part in path for part in zero):
            excluded += 1
            continue
        a, b = a.astype("f8"), b.astype("f8")
        ratio = float(np.max(np.abs(a - b) / (absolute + rel * np.abs(b)), initial=0))
        if not ratio <= worst:
            worst, where = ratio, path
    return worst, where, excluded


def read_predictions(path, outputs):
    if path.endswith(".npy"):
        return [np.load(path)]
    with np.load(path) as z:
        return [z[name] for name in outputs]


def artel_side(case, folder, said):
    """Runs artel in `folder` and compares. Returns the cells of the table; raises Failure."""
    start = os.path.join(folder, "start.keras")
    data = "npz:" + os.path.join(folder, "data.npz")
    out = os.path.join(folder, "p.npy" if len(said["outputs"]) == 1 else "p.npz")
    ran = artel("predict", start, "--data", data, "--batch-size", case.batch, "--output", out)
    expected = case.refuse or case.may_refuse
    if ran.rc == 1 and expected and expected.lower() in ran.err.lower():
        return ["refused", "", "", 0]
    if ran.rc != 0 or case.refuse:
        raise Failure("predict: exit %d (%s)%s" % (ran.rc, ran.first, ", a refusal was due" if case.refuse else ""))
    p = predict_error(read_predictions(out, said["outputs"]), said["predict"], case.each)
    if p > case.predict_tol:
        raise Failure("predict differs by %.2g of the largest value" % p)
    if not case.train:
        return ["%.1e" % p, "", "", 0]
    trained, history = os.path.join(folder, "mine.keras"), os.path.join(folder, "h.json")
    args = ["fit", start, "--data", data, "--no-shuffle", "--batch-size", case.batch, "--epochs", case.epochs,
            "--output", trained, "--history", history, "--verbose", 0, *case.fit]
    if case.validation:
        args += ["--validation", "npz:" + os.path.join(folder, "more.npz")]
    if case.class_weight:
        args += ["--class-weight", json.dumps({str(k): v for k, v in case.class_weight.items()})]
    ran = artel(*args)
    if ran.rc == 1 and expected and expected.lower() in ran.err.lower():
        return ["%.1e" % p, "refused", "", 0]
    if ran.rc != 0:
        raise Failure("fit: exit %d (%s)" % (ran.rc, ran.first))
    with open(history) as f:
        h, where = history_error(json.load(f), said["history"])
    if not h <= HISTORY_TOL:
        raise Failure("history differs by %.2g: %s" % (h, where))
    w, path, excluded = weight_error(weights(trained), said["weights"], case.zero, case.weight_rel, case.weight_abs)
    if not w <= 1:
        raise Failure("weights differ by %.3g tolerances: %s" % (w, path))
    if case.check_slots:
        s, path, _ = weight_error(slots(trained), said["slots"], case.zero, 1e-2, 1e-4)
        if not s <= 1:
            raise Failure("optimizer state differs by %.3g tolerances: %s" % (s, path))
    return ["%.1e" % p, "%.1e" % h, "%.2f" % w, excluded]


# ---------------------------------------------------------------- the table
def options(argv):
    only, keras_only, rest = [], False, list(argv)
    while rest:
        word = rest.pop(0)
        if word == "-k":
            only.append(rest.pop(0))
        elif word == "--keras-only":
            keras_only = True
        elif word == "--list":
            only = None
            break
        else:
            sys.exit("unknown argument %s (-k TEXT, --keras-only, --list)" % word)
    return only, keras_only


def scratch():
    return tempfile.mkdtemp(prefix="artel-oracle-")


def attempt(index):
    """Tries a row of the table that runs: its cells, "ok" or what is wrong, and seconds."""
    rows, run, columns, home, keras_only = attempt.table
    folder, t = os.path.join(home, str(index)), time.monotonic()
    os.mkdir(folder)
    try:
        cells, word = run(rows[index], index, folder, keras_only), "ok"
    except Failure as why:
        cells, word = [""] * len(columns), "FAILED: %s" % why
    except Exception as why:  # a defect of the row or of what it read
        cells, word = [""] * len(columns), "FAILED: %s: %s" % (type(why).__name__, str(why).strip()[:600])
    if not os.environ.get("ARTEL_KEEP"):
        shutil.rmtree(folder, ignore_errors=True)
    sys.stdout.flush()
    return cells, word, time.monotonic() - t


def attempts(indices, at_once):
    """Of each row in its order; `at_once` of them at a time, in processes forked before TensorFlow does anything."""
    if at_once == 1 or len(indices) == 1:
        yield from map(attempt, indices)
        return
    if "cli" in sys.modules:  # whose models are Keras'
        keras_module()
    with concurrent.futures.ProcessPoolExecutor(at_once, multiprocessing.get_context("fork")) as pool:
        yield from pool.map(attempt, indices)


def table(rows, run, columns, needs_artel=True, every=1, at_once=1):
    """Runs `run(row, index, folder)` for every row, prints one line each, and exits 0 only if all pass.

    `every`: the short form takes every so-manyth row (an odd number: optimizers take turns); such a file has a long form. `at_once`: so many
    rows at a time, where they wait more than they compute.
    """
    only, keras_only = options(sys.argv[1:])
    if only is None:
        print("\n".join(r.name for r in rows))
        sys.exit(0)
    names = [r.name for r in rows]
    if len(set(names)) != len(names):
        sys.exit("row names must differ: %s" % sorted({n for n in names if names.count(n) > 1}))
    if needs_artel and not keras_only and not os.access(ARTEL, os.X_OK):
        sys.exit("artel is not at %s: build it, or set ARTEL" % ARTEL)
    width = max(len(n) for n in names)
    print(" ".join(["%-*s" % (width, "case")] + ["%9s" % c for c in columns] + ["    s", "result"]), flush=True)
    home, failed, begin = scratch(), [], time.monotonic()
    chosen = [i for i, row in enumerate(rows) if (any(text in row.name for text in only) if only else LONG or i % every == 0)]
    attempt.table = rows, run, columns, home, keras_only
    for index, (cells, word, seconds) in zip(chosen, attempts(chosen, at_once)):
        if word != "ok":
            failed.append("%s: %s" % (rows[index].name, word))
        print(" ".join(["%-*s" % (width, rows[index].name)] + ["%9s" % c for c in cells] + ["%5.1f" % seconds, word]), flush=True)
    if os.environ.get("ARTEL_KEEP"):
        print("scratch folder: %s" % home)
    else:
        shutil.rmtree(home, ignore_errors=True)
    print("\n".join(["%d cases, %d failed, %.0f s" % (len(chosen), len(failed), time.monotonic() - begin)] + failed))
    sys.exit(1 if failed or not chosen else 0)


def run_case(case, index, folder, keras_only):
    said = reference(case, index, folder)
    if keras_only:
        return ["-", "-", "-", "-"]
    return artel_side(case, folder, said)


def main(cases, every=1):
    table(cases, run_case, ["predict", "history", "weights", "excluded"], every=every)
