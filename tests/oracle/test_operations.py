# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Operations of keras.ops between the layers of a Functional model: predictions, then 20 training steps, as real Keras."""

from oracle import K, L, Case, main

FORMS = {
    "log2": lambda ops, x: ops.log2(ops.abs(x) + 0.5),
    "log10": lambda ops, x: ops.log10(ops.abs(x) + 0.5),
    "exp2": lambda ops, x: ops.exp2(x),
    "angles": lambda ops, x: ops.rad2deg(ops.deg2rad(x) * 0.1),
    "tan": lambda ops, x: ops.tan(0.3 * x),
    "sinh": lambda ops, x: ops.sinh(x) + ops.cosh(0.5 * x),
    "rounded": lambda ops, x: x + 0.1 * ops.ceil(3 * x) + 0.1 * ops.trunc(2 * x) + 0.1 * ops.round(x),
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


def model(form):
    def build():
        x = K.Input((5,))
        h = L.Reshape((4, 6))(L.Dense(24, activation="tanh")(x))
        return K.Model(x, L.Dense(2)(L.Flatten()(form(K.ops, h))))

    return build


CASES = [Case(name, model(form)) for name, form in FORMS.items()]

if __name__ == "__main__":
    main(CASES)
