# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# long form: 1200
"""Every loss with its settings, sample, class and loss weights: 20 steps as real Keras."""

import numpy as np
from oracle import K, L, O, Q, Case, main, make, make_target


def net(width, last=None, rank3=False):
    def build():
        parts = [K.Input((4, 5) if rank3 else (5,)), L.Dense(7, activation="tanh"), L.Dense(width, activation=last)]
        return K.Sequential(parts)

    return build


def two():
    i = K.Input((5,), name="i")
    t = L.Dense(6, activation="tanh")(i)
    return K.Model(i, [L.Dense(2, name="a")(t), L.Dense(3, activation="softmax", name="b")(t)])


def two_alike():
    i = K.Input((5,), name="i")
    return K.Model(i, [L.Dense(2, name="a")(i), L.Dense(3, name="b")(i)])


def steps_apart():
    """Classes along the steps."""
    return K.Sequential([K.Input((4, 5)), L.Dense(3), L.Softmax(axis=1)])


def apart(rng, n, shape):
    return np.eye(4, dtype="f4")[rng.integers(0, 4, (n, 3))].transpose(0, 2, 1).copy()


def positive(rng, n):
    return rng.uniform(0, 2, n).astype("f4")


def holes(rng, n):
    return (rng.uniform(0, 1, n) > 0.4).astype("f4")


# name, loss, width of the output, its activation, kind of target
PLAIN = [
    ("mse", "mse", 3, None, "real"),
    ("mean_squared_error", "mean_squared_error", 3, None, "real"),
    ("mae", "mae", 3, None, "real"),
    ("mse-object", make(lambda: Q.MeanSquaredError()), 3, None, "real"),
    ("mse-sum", make(lambda: Q.MeanSquaredError(reduction="sum")), 3, None, "real"),
    ("mae-mean-with-sample-weight", make(lambda: Q.MeanAbsoluteError(reduction="mean_with_sample_weight")), 3, None, "real"),
    ("bce", "binary_crossentropy", 1, "sigmoid", "binary"),
    ("bce-several", "binary_crossentropy", 4, "sigmoid", "binary"),
    ("bce-soft-targets", "binary_crossentropy", 4, "sigmoid", "unit"),
    ("bce-logits", make(lambda: Q.BinaryCrossentropy(from_logits=True)), 2, None, "binary"),
    ("bce-smooth", make(lambda: Q.BinaryCrossentropy(label_smoothing=0.2)), 2, "sigmoid", "binary"),
    ("bce-logits-smooth", make(lambda: Q.BinaryCrossentropy(from_logits=True, label_smoothing=0.1, reduction="sum")), 2, None, "binary"),
    ("bce-int-labels", "binary_crossentropy", 1, "sigmoid", lambda rng, n, shape: rng.integers(0, 2, (n,)).astype("i4")),
    ("ce-of-one", "ce", 1, "sigmoid", "binary"),
    ("ce-of-numbers", "crossentropy", 4, "softmax", "class"),
    ("ce-of-numbers-in-a-column", "ce", 4, "softmax", "class1"),
    ("ce-of-one-hot", "CE", 4, "softmax", "onehot"),
    ("cce", "categorical_crossentropy", 4, "softmax", "onehot"),
    ("cce-unnormalised", "categorical_crossentropy", 4, "softplus", "onehot"),
    ("cce-soft-targets", "categorical_crossentropy", 4, "softmax", "simplex"),
    ("cce-logits", make(lambda: Q.CategoricalCrossentropy(from_logits=True)), 4, None, "onehot"),
    ("cce-smooth", make(lambda: Q.CategoricalCrossentropy(label_smoothing=0.1)), 4, "softmax", "onehot"),
    ("cce-logits-smooth", make(lambda: Q.CategoricalCrossentropy(from_logits=True, label_smoothing=0.3)), 4, None, "onehot"),
    ("scce", "sparse_categorical_crossentropy", 4, "softmax", "class"),
    ("scce-column", "sparse_categorical_crossentropy", 4, "softmax", "class1"),
    ("scce-unnormalised", "sparse_categorical_crossentropy", 4, "softplus", "class"),
    ("scce-logits", make(lambda: Q.SparseCategoricalCrossentropy(from_logits=True)), 4, None, "class"),
    ("scce-float-labels", "sparse_categorical_crossentropy", 4, "softmax", lambda rng, n, s: rng.integers(0, 4, n).astype("f4")),
    ("scce-uint8-labels", "sparse_categorical_crossentropy", 4, "softmax", lambda rng, n, s: rng.integers(0, 4, n).astype("u1")),
    ("huber", "huber", 3, None, "real"),
    ("huber-object", make(lambda: Q.Huber()), 3, None, "real"),
    ("huber-delta", make(lambda: Q.Huber(delta=0.3)), 3, None, "real"),
]

# beyond the list of docs/coverage.md: right, or refused by name
MORE = [
    ("msle", "mean_squared_logarithmic_error", 3, "softplus", "positive", "mean_squared_logarithmic_error"),
    ("mape", "mean_absolute_percentage_error", 3, None, "positive", "mean_absolute_percentage_error"),
    ("kld", "kl_divergence", 4, "softmax", "simplex", "kl_divergence"),
    ("poisson", "poisson", 3, "softplus", "positive", "poisson"),
    ("log-cosh", "log_cosh", 3, None, "real", "log_cosh"),
    ("hinge", "hinge", 3, "tanh", "sign", "hinge"),
    ("cosine-similarity", "cosine_similarity", 3, None, "real", "cosine_similarity"),
    ("binary-focal", make(lambda: Q.BinaryFocalCrossentropy(gamma=2.0)), 2, "sigmoid", "binary", "BinaryFocalCrossentropy"),
    ("scce-ignore-class", make(lambda: Q.SparseCategoricalCrossentropy(ignore_class=1)), 4, "softmax", "class", "ignore_class"),
]

CASES = [Case(n, net(w, a), loss=l, y=y) for n, l, w, a, y in PLAIN]
CASES += [Case(n + "-on-steps", net(w, a, True), loss=l, y=y) for n, l, w, a, y in PLAIN
          if n in ("mse", "mae", "bce", "cce", "scce", "scce-logits", "cce-logits-smooth", "huber", "mse-sum")]
CASES += [Case(n + "-weighted", net(w, a), loss=l, y=y, weight=positive, metrics=["mse"], weighted=["mae"]) for n, l, w, a, y in PLAIN
          if n in ("mse", "bce-logits", "cce", "huber", "mse-sum", "mae-mean-with-sample-weight")]
CASES += [Case("more-" + n, net(w, a), loss=l, y=y, may_refuse=word, opt="adam" if n == "mape" else None) for n, l, w, a, y, word in MORE]
CASES += [
    Case("bce-axis", net(3, "sigmoid", True), loss=make(lambda: Q.BinaryCrossentropy(axis=1)), y="binary"),
    Case("bce-axis-logits-smooth", net(3, None, True), loss=make(lambda: Q.BinaryCrossentropy(from_logits=True, label_smoothing=0.1, axis=1)), y="binary"),
    Case("cce-axis", net(3, "softplus", True), loss=make(lambda: Q.CategoricalCrossentropy(axis=1)), y="unit", metrics=[make(lambda: K.metrics.CategoricalCrossentropy(axis=1))]),
    Case("cce-axis-softmax", steps_apart, loss=make(lambda: Q.CategoricalCrossentropy(axis=1, label_smoothing=0.2)), y=apart),
    Case("focal-axis", net(3, "softplus", True), loss=make(lambda: Q.CategoricalFocalCrossentropy(axis=1)), y="unit"),
    Case("binary-focal-axis", net(3, "sigmoid", True), loss=make(lambda: Q.BinaryFocalCrossentropy(axis=1)), y="binary"),
    Case("cce-axis-is-the-last", net(3, "softmax"), loss=make(lambda: Q.CategoricalCrossentropy(axis=1)), y="onehot"),
    Case("scce-holes", net(4, "softmax"), loss="sparse_categorical_crossentropy", y="class", weight=holes, metrics=["accuracy"],
         weighted=["accuracy"]),
    Case("class-weight-scce", net(3, "softmax"), loss="sparse_categorical_crossentropy", y="class", class_weight={0: 1.0, 1: 5.0, 2: 0.5},
         metrics=["accuracy"]),
    Case("class-weight-cce", net(3, "softmax"), loss="categorical_crossentropy", y="onehot", class_weight={0: 2.0, 1: 0.1, 2: 1.0}),
    Case("class-weight-bce", net(1, "sigmoid"), loss="binary_crossentropy", y="binary", class_weight={0: 1.0, 1: 3.0}, weighted=["accuracy"]),
    Case("class-weight-partial", net(3, "softmax"), loss="sparse_categorical_crossentropy", y="class", class_weight={1: 5.0}),
    Case("two-losses", two, loss=["mse", "sparse_categorical_crossentropy"], y=["real", "class:3"]),
    Case("two-losses-weights", two, loss=["mae", "categorical_crossentropy"], y=["real", "onehot:3"], loss_weights=[2.0, 0.25]),
    Case("two-losses-dict", two, loss={"a": "mse", "b": "categorical_crossentropy"}, loss_weights={"a": 0.5, "b": 1.5},
         y=["real", "onehot:3"], metrics={"b": ["accuracy"], "a": ["mae"]}),
    Case("two-losses-sample-weight", two, loss=["mse", "sparse_categorical_crossentropy"], y=["real", "class:3"], weight=positive),
    Case("ce-beside-an-output-without-any", two, loss=[None, "ce"], y=["real", "class:3"], metrics=[[], ["accuracy"]]),
    Case("one-loss-for-both", two, loss="mse", y=["real", "real"]),
    Case("validation", net(3), loss="mse", metrics=["mae"], validation=21),
    # no short batch: Keras does not weigh the losses of single outputs by rows then
    Case("validation-two", two, loss=["mse", "sparse_categorical_crossentropy"], y=["real", "class:3"], validation=16,
         metrics=[["mae"], ["accuracy"]]),
    Case("two-losses-eagerly", two, loss=["mse", "sparse_categorical_crossentropy"], y=["real", "class:3"], rows=75, validation=13, compile={"run_eagerly": True}),
    Case("short-last-batch", net(3), loss="mse", metrics=["mae"], rows=75),
    Case("short-last-batch-weighted", net(3), loss="mse", weighted=["mae"], weight=positive, rows=75),
    Case("short-last-batch-sum", net(3), loss=make(lambda: Q.MeanSquaredError(reduction="sum")), rows=75),
    Case("batch-larger-than-data", net(3), loss="mse", rows=21, batch=32, epochs=20),
    Case("batch-1", net(3), loss="mse", rows=10, batch=1),
]



def without(kind):
    """Targets without the last axis, which is 1."""
    return lambda rng, n, shape: make_target(kind, rng, n, shape[:-1])


def both(a, b):
    return make(lambda: [Q.MeanSquaredError(reduction=a), Q.MeanSquaredError(reduction=b)])


REDUCTIONS = ("sum", "none", "sum_over_batch_size", "mean_with_sample_weight")
SMALL = dict(rows=23, opt=lambda: O.SGD(0.001))
CASES += [Case(f"without-an-axis-{r}", net(1, None, True), loss=make(lambda r=r: Q.Huber(reduction=r)), y=without("real"), metrics=["mae"], **SMALL)
          for r in REDUCTIONS]
CASES += [
    Case("without-an-axis-weighted", net(1, "sigmoid", True), loss=make(lambda: Q.BinaryCrossentropy(reduction="sum")), y=without("binary"), weight=positive,
         metrics=["accuracy"], weighted=["mae"], **SMALL),
    Case("without-an-axis-cosine", net(1, None, True), loss="cosine_similarity", y=without("real"), metrics=["cosine_similarity"], **SMALL),
    Case("without-an-axis-flat", net(1), loss=make(lambda: Q.MeanSquaredError(reduction="sum")), y=without("real"), **SMALL),
]
CASES += [Case(f"one-not-reduced-{r}-{w is None}", two_alike, loss=both(r, "none") if w else both("none", r), loss_weights=w, **SMALL)
          for r in REDUCTIONS for w in (None, [0.5, 2.0])]

if __name__ == "__main__":
    main(CASES, every=3)
