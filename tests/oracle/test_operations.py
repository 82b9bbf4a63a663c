# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# long form: 1800
"""Operations of keras.ops between the layers of a Functional model: predictions, then 20 training steps, as real Keras. Then their edges:
infinities, NaN, signed zeros, the largest and smallest numbers, where results and their signs must be those of Keras run beside, and so must
the slopes. Numbers below 2^-126 are left out: TensorFlow takes them for 0."""

import dataclasses
import os

import numpy as np

from oracle import K, L, O, Case, Failure, artel, keras_module, run_case, table, weights

FORMS = {
    "log2": lambda ops, x: ops.log2(ops.abs(x) + 0.5),
    "log10": lambda ops, x: ops.log10(ops.abs(x) + 0.5),
    "exp2": lambda ops, x: ops.exp2(x),
    "angles": lambda ops, x: ops.rad2deg(ops.deg2rad(x) * 0.1),
    "tan": lambda ops, x: ops.tan(0.3 * x),
    "sinh": lambda ops, x: ops.sinh(x) + ops.cosh(0.5 * x),
    "rounded": lambda ops, x: x + 0.1 * ops.ceil(3 * x) + 0.1 * ops.trunc(2 * x) + 0.1 * ops.round(x),
    "special": lambda ops, x: ops.erfinv(0.9 * ops.tanh(x)) + 0.1 * ops.i0(4 * x),
    "erfc": lambda ops, x: ops.erfc(x),
    "shrink": lambda ops, x: ops.soft_shrink(x, 0.2) + ops.hard_shrink(x, 0.3),
    "squareplus": lambda ops, x: ops.squareplus(x, b=3) + ops.threshold(x, 0.1, 0.5),
    "logaddexp": lambda ops, x: ops.logaddexp(x, 2.0 * x),
    "amax": lambda ops, x: ops.amax(x, axis=1) - ops.amin(x, axis=1),
    "ptp": lambda ops, x: ops.ptp(x, axis=-1),
    "count": lambda ops, x: x[:, :, 0] * ops.cast(ops.count_nonzero(ops.relu(x), axis=2), "float32"),
    "cumsum": lambda ops, x: ops.cumsum(x, axis=1) + ops.cumsum(x, axis=-1),
    "diff": lambda ops, x: ops.diff(x, axis=1, n=2),
    "roll": lambda ops, x: ops.roll(x, 2, axis=1) + ops.roll(x, -1, axis=2),
    "tile": lambda ops, x: ops.tile(x, (1, 2, 3)),
    "unstack": lambda ops, x: ops.unstack(x, axis=1)[2] - ops.unstack(x, axis=1)[0],
    "moveaxis": lambda ops, x: ops.moveaxis(x, 1, 2),
    "resize": lambda ops, x: ops.image.resize(ops.reshape(x, (-1, 4, 3, 2)), (6, 5), interpolation="bicubic"),
    "arctan": lambda ops, x: ops.arctan(3 * x) + ops.arctan2(x, x[:, ::-1] + 0.3),
    "arcsin": lambda ops, x: ops.arcsin(0.5 * x) + 0.5 * ops.arccos(0.4 * x),
    "arcsinh": lambda ops, x: ops.arcsinh(3 * x) + ops.arccosh(1.5 + ops.square(x)) + ops.arctanh(0.8 * x),
    "cbrt": lambda ops, x: 0.2 * ops.cbrt(x + 1.5) + 0.2 * ops.sinc(x) + 0.2 * ops.fabs(x),
    "tests": lambda ops, x: ops.where(ops.logical_xor(ops.signbit(x), x > 0.5), x, 0.5 * x) * ops.cast(ops.isfinite(1 / x), "float32"),
    "not-numbers": lambda ops, x: ops.nan_to_num(ops.where(x > 0.9, float("nan"), x), nan=0.25) + ops.cast(ops.isnan(x), "float32"),
    "infinities": lambda ops, x: ops.where(ops.isinf(1 / ops.square(ops.relu(x))), x, 2 * x) + ops.where(ops.isposinf(1 / ops.square(ops.relu(x))), x, x * x),
    "isclose": lambda ops, x: x * ops.cast(ops.isclose(x, 0.5, rtol=0.2, atol=0.1), "float32") + x * ops.cast(ops.isreal(x), "float32"),
    "hypot": lambda ops, x: ops.hypot(x, 0 * x + 0.5) + ops.heaviside(x, 0 * x + 0.5) * x,
    "fmax": lambda ops, x: ops.fmax(x, 0.1) + ops.fmin(x, 2 * x) + ops.fmod(3 * x, 0.7),
    "logaddexp2": lambda ops, x: ops.logaddexp2(x, 0.5 * x) + ops.ldexp(0.2 * x, ops.cast(ops.round(2 * x), "int32")),
    "crossentropies": lambda ops, x: ops.binary_crossentropy(ops.sigmoid(x), ops.sigmoid(2 * x)) + ops.binary_crossentropy(ops.relu(x), x, from_logits=True),
    "categorical": lambda ops, x: ops.categorical_crossentropy(ops.softmax(x), 0.1 + ops.square(x)),
    "categorical-logits": lambda ops, x: ops.categorical_crossentropy(ops.softmax(x), x, from_logits=True),
    "sparse": lambda ops, x: ops.sparse_categorical_crossentropy(ops.argmax(x, axis=-1), 0.1 + 0.5 * ops.square(x)),
}


ONE = [0, 1, 0.5, 2, 3, 1e-3, 1e-6, 1e-10, 1e-20, 1e-37, 10, 50, 80, 88, 89, 89.4, 100, 1e3, 9999, 10001, 1e6, 1e10, 1e18, 2e19, 1e30, 3.4e38, np.inf,
       0.999999, 1.000001, 1.01, 1.5, 2.5, 5, 6, 9, 126.5, 128]
TWO = [0, 1, 0.7, 2, 3, 1e-6, 1e-20, 1e-37, 5.5, 8.25, 100, 300, 1e10, 1e18, 2e19, 3e38, np.inf]
WHOLE = [0, 1, 2, 3, 7, 100, 16777216, 16777217, 16777218, 2147483647]


def with_signs(values, dtype="float32"):
    both = np.array([v for value in values for v in (value, -value)] + [np.nan] * (dtype == "float32")).astype(dtype)
    if dtype == "float32":
        both[1] = -0.0
    return both


def pairs(values):
    return [part.reshape(1, -1) for part in np.meshgrid(values, values)]


def truth(ops, x):
    return ops.cast(x, "float32")


def zero(ops, x):
    return 0 * ops.relu(-ops.abs(x))


def of_rows(form):
    """Each pair and a 0 as a row."""
    return lambda ops, a, b: form(ops, ops.stack([a, zero(ops, a), b], axis=-1))


def classes(logits):
    return lambda ops, a, b: ops.sparse_categorical_crossentropy(ops.cast(ops.isfinite(a), "int32"), ops.stack([a, b], axis=-1), from_logits=logits)


@dataclasses.dataclass
class Edge:
    """`form` of every one of ONE, or of every pair of TWO or WHOLE."""

    name: str
    values: str
    form: object
    zeros: bool = True  # those of results have the sign that Keras gives them
    slopes: bool = False  # so are the gradients, by the first operand
    absolute: float = 1e-37  # how far a result may be off, whatever its size


def one(name, form=None, **more):
    return Edge("edges of " + name, "one", form or (lambda ops, x: getattr(ops, name)(x)), **more)


def two(name, form=None, **more):
    return Edge("edges of " + name, "two", form or (lambda ops, a, b: getattr(ops, name)(a, b)), **more)


EDGES = [
    *[one(name) for name in ("relu", "sign", "expm1", "ceil", "trunc", "deg2rad", "rad2deg", "exp2", "tan", "sinc", "cbrt", "arcsin", "nan_to_num")],
    *[one(name, slopes=True) for name in ("arctan", "arcsinh", "sinh", "cosh", "erfc", "arctanh")],
    *[one(name, slopes=True) for name in ("arccos", "arccosh")],
    one("i0"),
    one("relu by signs", lambda ops, x: 1 / ops.relu(x)),
    *[one(name, lambda ops, x, name=name: truth(ops, getattr(ops, name)(x)))
      for name in ("isnan", "isinf", "isfinite", "isposinf", "isneginf", "signbit", "isreal")],
    *[two(name) for name in ("arctan2", "heaviside", "fmod", "mod", "floor_divide", "divide_no_nan")],
    *[two(name, slopes=True) for name in ("hypot", "logaddexp", "logaddexp2")],
    *[two(name, zeros=False) for name in ("fmax", "fmin", "maximum", "minimum")],  # of two zeros Keras' vectors take either
    two("ldexp", lambda ops, a, b: ops.ldexp(a, ops.cast(ops.clip(ops.nan_to_num(b), -1e9, 1e9), "int32"))),
    two("nextafter", zeros=False),
    two("isclose", lambda ops, a, b: truth(ops, ops.isclose(a, b))),
    two("isclose with tolerances", lambda ops, a, b: truth(ops, ops.isclose(a, b, rtol=0.5, atol=0.1))),
    two("isclose with equal NaN", lambda ops, a, b: truth(ops, ops.isclose(a, b, equal_nan=True))),
    two("logical_xor", lambda ops, a, b: truth(ops, ops.logical_xor(a, b))),
    two("binary_crossentropy", lambda ops, a, b: ops.binary_crossentropy(a, b)),
    two("binary_crossentropy of logits", lambda ops, a, b: ops.binary_crossentropy(a, b, from_logits=True)),
    two("sparse_categorical_crossentropy", classes(False)),
    two("sparse_categorical_crossentropy of logits", classes(True)),
    two("categorical_crossentropy of logits", lambda ops, a, b: ops.categorical_crossentropy(
        ops.stack([zero(ops, a) + 0.25, zero(ops, a) + 0.75], axis=-1), ops.stack([a, b], axis=-1), from_logits=True), absolute=1e-6),
    two("cumsum", of_rows(lambda ops, x: ops.cumsum(x, axis=-1))),
    two("argmax", of_rows(lambda ops, x: truth(ops, ops.argmax(x, axis=-1)))),
    two("logsumexp", of_rows(lambda ops, x: ops.logsumexp(x, axis=-1)), absolute=1e-6),
    two("normalize", of_rows(lambda ops, x: ops.normalize(x, axis=-1))),
    Edge("edges of isclose of integers", "whole", lambda ops, a, b: truth(ops, ops.isclose(a, b))),
    Edge("edges of isclose to an integer", "whole", lambda ops, a, b: truth(ops, ops.isclose(a, 16777216))),
    Edge("edges of ldexp of integers", "whole", lambda ops, a, b: ops.ldexp(a, b)),
    Edge("edges of arctan2 of integers", "whole", lambda ops, a, b: ops.arctan2(a, b)),
]


def operands(row):
    if row.values == "one":
        return [with_signs(ONE).reshape(1, -1)]
    return pairs(with_signs(TWO) if row.values == "two" else with_signs(WHOLE, "int32"))


def compare(what, mine, theirs, args, zeros, absolute):
    if mine.shape != theirs.shape:
        raise Failure("%s: shape %s, Keras has %s" % (what, mine.shape, theirs.shape))
    with np.errstate(all="ignore"):
        apart = np.abs(mine.astype("f8") - theirs) / (np.abs(theirs.astype("f8")) + absolute * 1e5)
        finite = np.isfinite(theirs)
        right = np.where(finite, apart <= 1e-5, (mine == theirs) | (np.isnan(mine) & np.isnan(theirs)))
        if zeros:
            right &= (theirs != 0) | (np.signbit(mine) == np.signbit(theirs))
    for place in np.argwhere(~right)[:1]:
        at = ", ".join(str(x[tuple(place[: x.ndim])]) for x in args)
        raise Failure("%s: %d differ, first of (%s): %.9g, Keras has %.9g" % (what, np.sum(~right), at, mine[tuple(place)], theirs[tuple(place)]))
    return float(np.max(apart[finite], initial=0))


def results(row, folder):
    """What both make of the operands, NaN and all."""
    xs = operands(row)
    ins = [K.Input(x.shape[1:], dtype=str(x.dtype), name="x%d" % i) for i, x in enumerate(xs)]
    model = K.Model(ins, row.form(K.ops, *ins))
    start, data, out = (os.path.join(folder, name) for name in ("edge.keras", "edge.npz", "edge.npy"))
    model.save(start)
    theirs = np.asarray(model(xs, training=False))
    np.savez(data, **({"x%d" % i: x for i, x in enumerate(xs)} if len(xs) > 1 else {"x": xs[0]}))
    ran = artel("predict", start, "--data", "npz:" + data, "--output", out)
    if ran.rc != 0:
        raise Failure("predict: exit %d (%s)" % (ran.rc, ran.first))
    return xs, np.load(out), theirs


def slopes(row, folder):
    """The gradient of the sum of all results, by a step of descent on the first operands, which are a bias; where Keras' is finite."""
    xs = [x.copy() for x in operands(row)]
    usable = np.all([np.isfinite(x) & (np.abs(x) < 1e6) for x in xs], axis=0)
    xs = [x[usable].reshape(1, -1) for x in xs]
    n = xs[0].size
    ins = [K.Input((1,), name="unit")] + [K.Input((n,), name="x%d" % i) for i in range(1, len(xs))]
    h = L.Dense(n, kernel_initializer="zeros", name="edge")(ins[0])
    model = K.Model(ins, row.form(K.ops, h, *ins[1:]))
    model.get_layer("edge").bias.assign(xs[0][0])
    theirs = np.asarray(model([np.zeros((1, 1), "f4"), *xs[1:]]))
    target = np.where(np.isfinite(theirs), theirs, 0) - np.maximum(1, np.abs(theirs) * 1e-3)
    model.compile(O.SGD(float(n)), "mae")
    start, data, mine = (os.path.join(folder, name) for name in ("slope.keras", "slope.npz", "mine.keras"))
    model.save(start)
    fed = [np.zeros((1, 1), "f4"), *xs[1:]]
    np.savez(data, **({"x": fed[0], "y": target} if len(fed) == 1 else {**dict(zip(["unit", "x1"], fed)), model.output_names[0]: target}))
    model.fit(fed if len(fed) > 1 else fed[0], target, epochs=1, batch_size=1, verbose=0)
    ran = artel("fit", start, "--data", "npz:" + data, "--batch-size", 1, "--epochs", 1, "--output", mine, "--verbose", 0)
    if ran.rc != 0:
        raise Failure("fit: exit %d (%s)" % (ran.rc, ran.first))
    got = [v for k, v in weights(mine).items() if v.shape == (n,)][0]
    want = np.asarray(model.get_layer("edge").bias)
    usable = np.isfinite(want)
    return [x[0][usable] for x in xs], got[usable], want[usable]


def run_edge(row, index, folder, keras_only):
    if keras_only:
        return ["-", "-", "-", "-"]
    keras_module().backend.clear_session()
    xs, mine, theirs = results(row, folder)
    cells = ["%.1e" % compare("results", mine, theirs, xs, row.zeros, row.absolute), "", "", ""]
    if row.slopes:
        xs, mine, theirs = slopes(row, folder)
        cells[2] = "%.1e" % compare("slopes", mine, theirs, xs, False, 1e-6)
    return cells


def run(row, index, folder, keras_only):
    return (run_edge if isinstance(row, Edge) else run_case)(row, index, folder, keras_only)


def model(form):
    def build():
        x = K.Input((5,))
        h = L.Reshape((4, 6))(L.Dense(24, activation="tanh")(x))
        return K.Model(x, L.Dense(2)(L.Flatten()(form(K.ops, h))))

    return build


CASES = [Case(name, model(form)) for name, form in FORMS.items()]

if __name__ == "__main__":
    table(CASES + EDGES, run, ["predict", "history", "weights", "excluded"], every=3)
