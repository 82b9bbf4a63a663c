# SPDX-License-Identifier: Apache-2.0
"""What the tests of the command line share: small models, their data, rows, checks, and the oracle's runner and table."""

import dataclasses
import sys

import numpy as np
from oracle import Failure, K, L, O, Q, S, keras_module
from started import end_started


@dataclasses.dataclass
class Row:
    name: str
    check: object
    model: str = "mlp"


def expect(condition, what, *more):
    if not condition:
        raise Failure("%s %s" % (what, " ".join(str(m) for m in more)))


def run_checks(*checks):
    """Each in its turn, with a line for it; the exit code of the test."""
    failed = 0
    for check in checks:
        try:
            check()
            print("ok      %s" % check.__name__)
        except Exception as wrong:  # noqa: BLE001
            failed += 1
            print("FAILED  %s: %s" % (check.__name__, wrong))
        sys.stdout.flush()
        end_started()
    return int(failed > 0)


def mlp():
    m = K.Sequential([K.Input((20,)), L.Dense(64, activation="relu"), L.Dropout(0.3), L.Dense(33, activation="relu"), L.Dense(10, activation="softmax")])
    m.compile(O.Adam(0.003), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return m


def cnn():
    m = K.Sequential([K.Input((10, 10, 3)), L.Conv2D(8, 3, use_bias=False), L.BatchNormalization(), L.ReLU(), L.MaxPooling2D(),
                      L.Conv2D(12, 3, padding="same"), L.BatchNormalization(), L.ReLU(), L.GlobalAveragePooling2D(), L.Dropout(0.2), L.Dense(10)])
    m.compile(O.SGD(0.05, momentum=0.9), Q.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    return m


def transformer():
    i = K.Input((8,), dtype="int32")
    t = L.Embedding(30, 16)(i)
    for _ in range(2):
        n = L.LayerNormalization()(t)
        t = L.Add()([t, L.MultiHeadAttention(2, 8, dropout=0.1)(n, n, use_causal_mask=True)])
        t = L.Add()([t, L.Dense(16)(L.Dropout(0.1)(L.Dense(32, activation="gelu")(L.LayerNormalization()(t))))])
    m = K.Model(i, L.Dense(30)(L.LayerNormalization()(t)))
    m.compile(O.AdamW(0.002, global_clipnorm=1.0), Q.SparseCategoricalCrossentropy(from_logits=True))
    return m


def lstm():
    m = K.Sequential([K.Input((12,), dtype="int32"), L.Embedding(50, 12, mask_zero=True), L.LSTM(16, dropout=0.1), L.Dense(1, activation="sigmoid")])
    m.compile(O.RMSprop(0.003), "binary_crossentropy", metrics=["accuracy", "AUC"])
    return m


def scheduled():
    m = mlp()
    m.compile(O.SGD(S.CosineDecay(0.1, 150, warmup_target=0.2, warmup_steps=20), momentum=0.9), "sparse_categorical_crossentropy")
    return m


WORDS = "cat dog owl fox hen cow".split()


def many():
    """Augmentation, also by other images of the batch, volumes, recurrent convolutions, text."""
    image, text = K.Input((8, 8, 3), name="image"), K.Input((1,), dtype="string", name="text")
    t = L.RandomRotation(0.1)(L.RandomFlip()(image))
    t = L.CutMix((0.4, 0.9))(L.MixUp(0.4)(L.RandomContrast(0.3, value_range=(0, 1))(t)))
    t = L.Reshape((3, 8, 8, 1))(L.Permute((3, 1, 2))(t))
    t = L.GlobalAveragePooling2D()(L.ConvLSTM2D(4, 2)(L.Conv3D(4, 2, activation="relu")(t)))
    w = L.Embedding(9, 4)(L.TextVectorization(vocabulary=WORDS, output_sequence_length=4)(text))
    w = L.RNN(L.StackedRNNCells([L.LSTMCell(4), L.GRUCell(3)]))(w)
    m = K.Model([image, text], L.Dense(6, activation="softmax", name="y")(L.Concatenate()([t, w])))
    m.compile(O.SGD(0.05, momentum=0.9), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return m


MODELS = {"mlp": mlp, "cnn": cnn, "transformer": transformer, "lstm": lstm, "many": many}


def save(build, path):
    keras = keras_module()
    keras.backend.clear_session()
    keras.utils.set_random_seed(11)
    build().save(path)
    return path


def arrays(name, n=1000):
    """Inputs and targets with something to learn in them."""
    rng = np.random.default_rng(17)
    if name == "mlp":
        x = rng.standard_normal((n, 20)).astype("f4")
        return x, np.argmax(x[:, :10] + 0.3 * x[:, 10:], -1).astype("i4")
    if name == "cnn":
        x = rng.standard_normal((n, 10, 10, 3)).astype("f4")
        y = rng.integers(0, 10, n).astype("i4")
        return x + 0.2 * y[:, None, None, None], y
    if name == "transformer":
        x = rng.integers(0, 30, (n, 8)).astype("i4")
        return x, np.roll(x, 1, 1)
    if name == "many":
        words = rng.integers(0, len(WORDS), (n, 3))
        text = np.array([" ".join(WORDS[i] for i in row) for row in words])[:, None]
        return {"image": rng.uniform(0, 1, (n, 8, 8, 3)).astype("f4"), "text": text}, words[:, 0].astype("i4")
    x = rng.integers(0, 50, (n, 12)).astype("i4")
    return x, (x.sum(-1) % 2).astype("i4")[:, None]


def save_arrays(name, path, n=1000):
    x, y = arrays(name, n)
    np.savez(path, y=y, **(x if isinstance(x, dict) else {"x": x}))
    return "npz:" + path
