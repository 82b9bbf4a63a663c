# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Losses that see more than a position: Dice and Tversky, Circle, CTC, generalised cross-entropy, intersection over union, correlations: 20 training steps as real Keras."""

import numpy as np
from oracle import K, L, M, O, Q, Case, main, make


def pixels(classes=1, activation="sigmoid"):
    return lambda: K.Sequential([K.Input((5, 4, 2)), L.Conv2D(4, 3, padding="same", activation="tanh"), L.Conv2D(classes, 1, activation=activation)])


def mask(rng, n, shape):
    return (rng.uniform(size=(n, *shape)) < 0.4).astype("f4")


def classes(rng, n, shape):
    return rng.integers(0, shape[-1], (n, *shape[:-1])).astype("i4")


def one_hot(rng, n, shape):
    return np.eye(shape[-1], dtype="f4")[classes(rng, n, shape)]


def row(width=3, activation="softmax"):
    return lambda: K.Sequential([K.Input((6,)), L.Dense(8, activation="tanh"), L.Dense(width, activation=activation)])


def case(name, build, y, loss, metrics=None, **more):
    return Case(name, build, y=y, loss=make(loss) if callable(loss) else loss, metrics=make(metrics) if metrics else None, **more)


def words(rng, n, shape):
    """Lists of classes, with repetitions, zeros behind them; one in five is empty."""
    lists = rng.integers(1, shape[-1], (n, 4))
    return np.where(np.arange(4) < rng.integers(0, 5, (n, 1)), lists, 0).astype("i4")


def steps():
    return K.Sequential([K.Input((12, 4)), L.LSTM(6, return_sequences=True), L.Dense(5)])


def directions():
    return K.Sequential([K.Input((6,)), L.Dense(8, activation="tanh"), L.Dense(4), L.UnitNormalization()])


def persons(rng, n, shape):
    """Each twice or thrice in a batch of eight: where one is alone, Keras' gradient is not a number."""
    return np.concatenate([rng.permutation([0, 0, 0, 1, 1, 2, 2, 2]) for _ in range(-(-n // 8))])[:n].astype("i4")


def some(rng, n):
    return rng.uniform(0.3, 2, n).astype("f4")


def padded():
    return K.Sequential([K.Input((5,), dtype="int32"), L.Embedding(9, 4, mask_zero=True), L.Dense(1, activation="sigmoid")])


CASES = [
    case("ctc", steps, words, "ctc", weight=lambda rng, n: rng.uniform(0.5, 2, n).astype("f4")),
    case("circle-with-itself", directions, persons, lambda: Q.Circle(gamma=4.0, margin=0.25, remove_diagonal=False, reduction="sum")),
    case("circle", directions, persons, "circle", fit=("--replicas", 3), opt=lambda: O.SGD(0.002)),
    case("dice", pixels(), mask, lambda: Q.Dice()),
    case("dice-by-name", pixels(), mask, "dice"),
    case("dice-short-batch", pixels(), mask, lambda: Q.Dice(), rows=78, validation=13),
    case("dice-weighted", pixels(), mask, lambda: Q.Dice(), weight=some, rows=78, fit=("--replicas", 3)),
    case("dice-weighted-sum", pixels(), mask, lambda: Q.Dice(reduction="sum"), weight=some),
    case("tversky-weighted-mean", pixels(2), mask, lambda: Q.Tversky(alpha=0.3, reduction="mean_with_sample_weight"), weight=some),
    case("dice-sum", pixels(), mask, lambda: Q.Dice(reduction="sum"), opt=lambda: O.SGD(0.05)),
    case("dice-none", pixels(), mask, lambda: Q.Dice(reduction="none")),
    case("dice-masked", padded, mask, lambda: Q.Dice()),
    case("dice-by-row", pixels(), mask, lambda: Q.Dice(axis=(1, 2, 3))),
    case("dice-by-channel", pixels(3), mask, lambda: Q.Dice(axis=(1, 2), reduction="sum")),
    case("tversky", pixels(), mask, lambda: Q.Tversky(alpha=0.3, beta=0.8)),
    case("tversky-by-row", pixels(), mask, lambda: Q.Tversky(axis=(1, 2, 3))),
    case("dice-and-others", pixels(), mask, lambda: Q.Dice(), lambda: [M.BinaryIoU(), "mae"]),
    case("dice-over-the-batch", pixels(), mask, lambda: Q.Dice(axis=(0, 1)), may_refuse="axis"),
    case("generalised", row(), classes, lambda: Q.CategoricalGeneralizedCrossEntropy()),
    case("generalised-q", row(), classes, lambda: Q.CategoricalGeneralizedCrossEntropy(q=0.8)),
    case("mean-iou", row(), classes, "sparse_categorical_crossentropy", lambda: [M.MeanIoU(3, sparse_y_pred=False)]),
    case("mean-iou-of-pixels", pixels(4, "softmax"), classes, "sparse_categorical_crossentropy",
         lambda: [M.MeanIoU(4, sparse_y_pred=False, ignore_class=2), M.IoU(4, [1, 3], sparse_y_pred=False)]),
    case("one-hot-iou", pixels(4, "softmax"), one_hot, "categorical_crossentropy", lambda: [M.OneHotIoU(4, [0, 2]), M.OneHotMeanIoU(4)]),
    case("binary-iou", pixels(), mask, "binary_crossentropy", lambda: [M.BinaryIoU(target_class_ids=[1], threshold=0.4)]),
    case("iou-of-classes", row(1, None), lambda rng, n, shape: rng.integers(0, 2, (n, *shape)).astype("f4"), "mse", lambda: [M.MeanIoU(2), M.IoU(2, [0])]),
    case("weighted-iou", row(), classes, "sparse_categorical_crossentropy", None, weight=lambda rng, n: rng.uniform(0.5, 2, n).astype("f4"),
         weighted=make(lambda: [M.MeanIoU(3, sparse_y_pred=False)])),
    case("correlations", row(5, None), "real", "mse", lambda: [M.PearsonCorrelation(), M.ConcordanceCorrelation(), "pearson_correlation"]),
]

if __name__ == "__main__":
    main(CASES)
