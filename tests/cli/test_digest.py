# SPDX-License-Identifier: Apache-2.0
# timeout: 1800
# processors: 2
# long form: 7200
"""The same bits on any number of replicas and threads, in any build, under any instruction set.

1,000 samples, shuffled, two epochs, global batch 96 and 100 (both leave a short last batch, 100 does not divide by
8). Each row trains a model in many ways and compares digest and History to the last bit with one replica, one thread.
By default a part of the grid; all of it with ARTEL_LONG=1, and with a build by clang and one without optimisation, which train to the golden
digests too (tests/golden; the program under sanitizers, clang's as well, does so in scripts/run-sanitizer). Under CTest these builds are
made first (scripts/build-variant); run by hand, those that are there are used.
"""

import dataclasses
import functools
import itertools
import os
import shutil
import subprocess
import tempfile

from cli import K, L, O, Q, MODELS, save, save_arrays
from oracle import BUILD, LONG, Failure, artel, digest, table

HERE = os.path.dirname(os.path.abspath(__file__))
GRID = list(itertools.product((1, 2, 3, 4, 8), (1, 2, 4, 16)))
SHORT = {96: [(1, 16), (3, 2), (4, 4), (8, 1)], 100: [(1, 2), (2, 1), (3, 4), (8, 16)]}
VARIANTS = ["clang", "debug"] if LONG else []
PAIRS = {batch: GRID if LONG else SHORT[batch] for batch in (96, 100)}
FEW = GRID if LONG else [(1, 2), (3, 2), (8, 1)]


@dataclasses.dataclass
class Row:
    name: str
    model: str
    batch: int
    ways: object  # list of (label, arguments, environment, program), or a function that gives it
    synthetic: bool = False
    samples: int = 1000


def stateful():
    """State of every row from batch to batch, masks of inputs and states; rows change replicas, so all hold all."""
    m = K.Sequential([K.Input(batch_shape=(96, 12), dtype="int32"), L.Embedding(50, 12),
                      L.Bidirectional(L.LSTM(8, stateful=True, return_sequences=True, dropout=0.1, recurrent_dropout=0.2)),
                      L.GRU(8, stateful=True, recurrent_dropout=0.1), L.Dense(1, activation="sigmoid")])
    m.compile("adam", "binary_crossentropy")
    return m


def accumulating():
    """Updates every third step, of 11 an epoch, from gradients clipped together."""
    m = MODELS["cnn"]()
    m.compile(O.Adam(0.01, gradient_accumulation_steps=3, global_clipnorm=0.5, use_ema=True, ema_overwrite_frequency=2, loss_scale_factor=3.0),
              "sparse_categorical_crossentropy")
    return m


def spectral():
    m = K.Sequential([K.Input((10, 10, 3)), L.SpectralNormalization(L.Conv2D(6, 3, activation="relu")), L.Flatten(),
                      L.SpectralNormalization(L.Dense(9, kernel_regularizer="l2"), power_iterations=2), L.Dense(10)])
    m.compile("adam", Q.SparseCategoricalCrossentropy(from_logits=True))
    return m


def augmented():
    """Images changed at random, by the histogram of the batch too; an optimizer that multiplies whole matrices."""
    between = (-2, 2)
    m = K.Sequential([K.Input((10, 10, 3)), L.RandomColorJitter(between, 0.2, 0.3, 0.4, 0.2), L.RandomErasing(0.7, value_range=between),
                      L.RandomGaussianBlur(0.8, 3, (0.2, 0.9), value_range=between), L.RandAugment(between, num_ops=1), L.AugMix(between, chain_depth=1),
                      L.RandomPerspective(0.7, 0.5), L.RandomElasticTransform(0.8, value_range=between),
                      L.Pipeline([L.Equalization(between), L.AutoContrast(between)]),
                      L.ContrastLimitedAdaptiveHistogramEqualization(between, tile_grid_size=(2, 3)), L.Conv2D(6, 3),
                      L.BatchNormalization(renorm=True, renorm_clipping={"rmax": 3.0, "dmax": 5.0}), L.GlobalAveragePooling2D(), L.Dense(10)])
    m.compile(O.Muon(0.01), Q.SparseCategoricalCrossentropy(from_logits=True))
    return m


def factored():
    m = MODELS["lstm"]()
    m.compile(O.Adafactor(0.02, clipnorm=0.5), "binary_crossentropy")
    return m


def unreduced():
    """A loss that is not reduced, in front of which the other output's counts once for each of its elements: a sum over all replicas."""
    i = K.Input((6, 5))
    x = L.LSTM(8, return_sequences=True)(i)
    m = K.Model(i, [L.Dense(4, name="a")(x), L.Dense(3, name="b")(L.GlobalAveragePooling1D()(x))])
    m.compile(O.Adam(0.01), {"a": Q.MeanSquaredError(reduction="none"), "b": Q.MeanAbsoluteError()})
    return m


OWN = {"unreduced": unreduced, "stateful": stateful, "accumulating": accumulating, "augmented": augmented, "spectral": spectral, "factored": factored}


def mirrored(n, t):
    return ("%dx%d" % (n, t), ("--strategy", "mirrored", "--replicas", n, "--threads", t), {}, None)


@functools.cache
def builds():
    """Programs made by other compilers."""
    source = os.environ.get("ARTEL_SOURCE")
    for name in VARIANTS if source and shutil.which("clang") else ():
        made = subprocess.run([os.path.join(source, "scripts", "build-variant"), name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if made.returncode != 0:
            raise Failure("build-variant %s: %s" % (name, made.stdout[-1500:].decode(errors="replace")))
    return [p for p in (os.path.join(BUILD, "variants", name, "artel") for name in VARIANTS) if os.path.exists(p)]


def odd_ways():
    yield "omp", ("--threads", 2), {"OMP_NUM_THREADS": "7", "MKL_NUM_THREADS": "3", "ONEDNN_MAX_CPU_ISA": "SSE41"}, None
    yield "default", (), {}, None
    yield "json", ("--json", "--strategy", "auto"), {}, None
    yield "shards", ("--shards", 8, "--strategy", "one-device"), {}, None
    for isa in ("baseline", "avx2", "avx512", "avx512_bf16", "amx"):
        yield "isa-" + isa, ("--isa", isa, "--threads", 2), {}, None
    for path in builds():
        yield "build-" + os.path.basename(os.path.dirname(path)), ("--strategy", "mirrored", "--replicas", 3), {}, path


ROWS = [Row("%s-%d" % (m, b), m, b, [mirrored(*p) for p in PAIRS[b]]) for m in MODELS for b in (96, 100)]
ROWS += [Row("%s-odd-ways" % m, m, 100, odd_ways) for m in MODELS]
ROWS += [Row("%s-synthetic" % m, m, 96, [mirrored(3, 2), mirrored(8, 1)], True) for m in MODELS]
ROWS += [Row("golden", "", 0, None)] if VARIANTS else []
ROWS += [Row("stateful", "lstm", 96, [mirrored(*p) for p in PAIRS[96]], samples=960)]
ROWS += [Row("accumulating", "cnn", 100, [mirrored(*p) for p in PAIRS[100]])]
ROWS += [Row("augmented", "cnn", 100, [mirrored(*p) for p in FEW], samples=250)]
ROWS += [Row("unreduced", "", 100, [mirrored(*p) for p in FEW], True)]
ROWS += [Row("spectral", "cnn", 100, [mirrored(*p) for p in (GRID if LONG else [(2, 1), (3, 2), (8, 1)])], samples=250)]
ROWS += [Row("factored", "lstm", 96, [mirrored(*p) for p in FEW], samples=250)]


def in_cpu(isa):
    with open("/proc/cpuinfo") as f:
        return {"baseline": "sse2", "avx2": "avx2", "avx512": "avx512f", "avx512_bf16": "avx512_bf16", "amx": "amx_bf16"}[isa] in f.read().split()


def train(row, folder, model, data, way):
    label, args, env, program = way
    out, history = os.path.join(folder, label + ".keras"), os.path.join(folder, label + ".json")
    ran = artel("fit", model, "--data", data, "--epochs", 2, "--batch-size", row.batch, "--seed", 5, "--verbose", 0, "--output", out,
                "--history", history, *args, env=env, program=program)
    if ran.rc == 1 and label.startswith("isa-") and label[4:] in ran.err and not in_cpu(label[4:]):
        return None  # this machine lacks it, and artel says so
    if ran.rc != 0:
        raise Failure("%s: exit %d (%s)" % (label, ran.rc, ran.first))
    if "--json" in args and ran.events("end")[0]["digest"] != digest(out):
        raise Failure("%s: the end event has another digest than the file" % label)
    with open(history) as f:
        return digest(out), f.read()


@functools.cache
def given(name, data, synthetic, samples):
    """A model and its data, for all rows that have them."""
    folder = tempfile.mkdtemp()
    model = save(OWN.get(name) or MODELS[name], os.path.join(folder, "m.keras"))
    return model, "synthetic:1000" if synthetic else save_arrays(data, os.path.join(folder, "d.npz"), samples)


FIRST = {}  # what one replica makes of a model and its data at a batch size


def golden(folder):
    script = os.path.join(os.path.dirname(HERE), "golden", "test_digests.sh")
    for path in builds():
        ran = subprocess.run(["bash", script, "corners"], cwd=folder, env=dict(os.environ, ARTEL=path, ARTEL_SOURCE=os.path.dirname(os.path.dirname(HERE))),
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if ran.returncode != 0:
            raise Failure("%s: %s" % (path, ran.stdout[-1500:]))
    return [len(builds()), ""]


def run(row, index, folder, keras_only):
    if row.name == "golden":
        return ["", ""] if keras_only else golden(folder)
    model, data = what = given(row.name if row.name in OWN else row.model, row.model, row.synthetic, row.samples)
    if keras_only:
        return ["", ""]
    if (what, row.batch) not in FIRST:
        FIRST[what, row.batch] = train(row, folder, model, data, ("first", ("--strategy", "one-device", "--replicas", 1, "--threads", 1), {}, None))
        if FIRST[what, row.batch][0] == digest(model):
            raise Failure("training changed nothing")
    first = FIRST[what, row.batch]
    told = [(way[0], train(row, folder, model, data, way)) for way in (row.ways() if callable(row.ways) else row.ways)]
    told = [(label, what) for label, what in told if what]
    other = [label for label, what in told if what[0] != first[0]]
    if other:
        raise Failure("another digest: %s (equal: %s)" % (" ".join(other), " ".join(l for l, w in told if w[0] == first[0])))
    other = [label for label, what in told if what[1] != first[1]]
    if other:
        raise Failure("another history: %s" % " ".join(other))
    return [len(told), first[0][:8]]


if __name__ == "__main__":
    table(ROWS, run, ["equal", "digest"])
