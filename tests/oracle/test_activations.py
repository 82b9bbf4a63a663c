# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# long form: 900
"""Every activation of keras.activations: far values, then training with it in the middle of a network."""

import numpy as np
from oracle import K, L, Case, Failure, keras_module, main

NAMES = """celu elu exponential gelu hard_shrink hard_sigmoid hard_silu hard_tanh leaky_relu linear log_sigmoid log_softmax mish
relu relu6 selu sigmoid silu soft_shrink softmax softplus softsign sparse_plus sparse_sigmoid sparsemax squareplus tanh
tanh_shrink""".split()
ALIASES = ["swish", "hard_swish"]
ELSEWHERE = {"glu", "threshold"}  # one halves an axis (its row is below), one needs arguments and has no use by name
WIDE = np.array([-200, -88.5, -30, -9, -6.5, -3.01, -3, -2.5, -1, -0.5, -1e-3, -1e-20, 0, 1e-20, 1e-3, 0.5, 1, 2.5, 3, 3.01, 6, 6.5, 9, 30, 85], "f4")


def wide(rng, n, shape):
    """Every row is the list above, times something near one."""
    return (WIDE * rng.uniform(0.9, 1.0, (n, 1))).astype("f4")


def listed():
    """The table has every name that Keras has."""
    from keras.src import activations

    missing = {f.__name__ for f in activations.ALL_OBJECTS} - set(NAMES) - ELSEWHERE
    if missing:
        raise Failure("keras.activations has names that the table lacks: %s" % sorted(missing))
    return K.Sequential([K.Input((3,)), L.Dense(2)])


def middle(name):
    return lambda: K.Sequential([K.Input((6,)), L.Dense(8, activation=name), L.Dense(5), L.Activation(name), L.Dense(2)])


CASES = [Case("listed", listed)]
CASES += [Case(n + "-values", lambda n=n: K.Sequential([K.Input((len(WIDE),)), L.Activation(n)]), x=wide, train=False, each=True) for n in NAMES + ALIASES]
CASES += [Case(n, middle(n), opt="adam" if n in ("exponential", "log_softmax") else None) for n in NAMES + ALIASES]
CASES += [
    Case("glu", lambda: K.Sequential([K.Input((6,)), L.Dense(8), L.Activation("glu")]), train=False, may_refuse="glu"),
    Case("lstm-with-gelu", lambda: K.Sequential([K.Input((4, 3)), L.LSTM(4, activation="gelu", recurrent_activation="softplus"), L.Dense(2)])),
    Case("softmax-on-4d", lambda: K.Sequential([K.Input((3, 2, 5)), L.Dense(4, activation="softmax"), L.Flatten(), L.Dense(2)])),
]

if __name__ == "__main__":
    main(CASES, every=3)
