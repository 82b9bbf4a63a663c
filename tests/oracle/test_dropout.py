# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# long form: 1200
"""Layers that draw masks, compared as distributions: with a learning rate of zero every epoch's loss is one draw.

Mean and spread of the draws are compared with Keras' (five standard errors); predictions, where nothing is drawn, one
by one. Two epochs never draw the same mask, two seeds neither, one seed always.
"""

import dataclasses
import json
import os

import numpy as np
from oracle import K, L, O, Failure, artel, keras_module, predict_error, rng_of, table

DRAWS, ROWS_OF_DATA, BATCH = 80, 32, 32  # one batch an epoch


@dataclasses.dataclass
class Row:
    name: str
    layers: object
    shape: tuple = (6, 5)
    may_refuse: str = None


def attention():
    i = K.Input((6, 5))
    return K.Model(i, L.Dense(1)(L.Flatten()(L.MultiHeadAttention(2, 3, dropout=0.4)(i, i))))


def nested():
    inner = K.Sequential([K.Input((5,)), L.Dropout(0.5)])
    return [L.TimeDistributed(inner)]


ROWS = [
    Row("dropout", lambda: [L.Dropout(0.4)]),
    Row("dropout-0.9", lambda: [L.Dropout(0.9)]),
    Row("dropout-small", lambda: [L.Dropout(0.05)]),
    Row("dropout-noise-shape", lambda: [L.Dropout(0.5, noise_shape=(None, 1, 5))]),
    Row("dropout-noise-shape-batch", lambda: [L.Dropout(0.5, noise_shape=(1, 6, 5))], may_refuse="noise_shape"),
    Row("dropout-seed", lambda: [L.Dropout(0.5, seed=3)]),
    Row("dropout-twice", lambda: [L.Dropout(0.3), L.Dropout(0.3)]),
    Row("spatial-dropout", lambda: [L.SpatialDropout2D(0.5)], (4, 4, 6)),
    Row("lstm-dropout", lambda: [L.LSTM(8, dropout=0.5, return_sequences=True)]),
    Row("lstm-recurrent-dropout", lambda: [L.LSTM(8, recurrent_dropout=0.5)]),
    Row("lstm-both", lambda: [L.LSTM(6, dropout=0.4, recurrent_dropout=0.3, return_sequences=True)]),
    Row("lstm-recurrent-dropout-1", lambda: [L.Dropout(0.2), L.LSTM(6, dropout=1.0, recurrent_dropout=1.0)]),
    Row("gru-recurrent-dropout", lambda: [L.GRU(8, recurrent_dropout=0.5, return_sequences=True)]),
    Row("gru-both", lambda: [L.GRU(8, dropout=0.3, recurrent_dropout=0.4)]),
    Row("gru-before-both", lambda: [L.GRU(8, dropout=0.3, recurrent_dropout=0.4, reset_after=False, go_backwards=True)]),
    Row("rnn-both", lambda: [L.SimpleRNN(8, dropout=0.3, recurrent_dropout=0.4)]),
    Row("cell-both", lambda: [L.RNN(L.LSTMCell(6, dropout=0.3, recurrent_dropout=0.4), return_sequences=True)]),
    Row("bidirectional-both", lambda: [L.Bidirectional(L.LSTM(4, dropout=0.2, recurrent_dropout=0.5))]),
    Row("bidirectional-dropout", lambda: [L.Bidirectional(L.GRU(4, dropout=0.5))]),
    Row("attention-dropout", attention),
    Row("time-distributed-dropout", nested),
    Row("flip", lambda: [L.RandomFlip()], (3, 4, 2)),
    Row("flip-horizontal", lambda: [L.RandomFlip("horizontal")], (2, 4, 3)),
    Row("translation", lambda: [L.RandomTranslation(0.4, (-0.1, 0.5), fill_mode="constant")], (4, 5, 2)),
    Row("zoom", lambda: [L.RandomZoom(0.5, fill_mode="constant")], (4, 5, 2)),
    Row("rotation", lambda: [L.RandomRotation(0.3, fill_mode="constant")], (4, 5, 2)),
    Row("shear", lambda: [L.RandomShear(0.4, 0.3, fill_mode="constant")], (4, 5, 2)),
    Row("crop", lambda: [L.RandomCrop(4, 5), L.GlobalMaxPooling2D()], (40, 44, 1)),
    Row("brightness", lambda: [L.RandomBrightness(0.4, value_range=(0, 2))], (3, 3, 2)),
    Row("contrast", lambda: [L.RandomContrast((0.5, 0.8), value_range=(0, 2))], (3, 3, 2)),
    Row("saturation", lambda: [L.RandomSaturation((0.2, 0.7), value_range=(0, 1))], (3, 3, 3)),
    Row("hue", lambda: [L.RandomHue(0.6, value_range=(0, 2))], (3, 3, 3)),
    Row("degeneration", lambda: [L.RandomColorDegeneration(0.9, value_range=(0, 2))], (3, 3, 3)),
    Row("sharpness", lambda: [L.RandomSharpness(0.9, value_range=(0, 2))], (3, 4, 2)),
    Row("posterization", lambda: [L.RandomPosterization((1, 5), value_range=(0, 2))], (3, 4, 2)),
    Row("color-jitter", lambda: [L.RandomColorJitter((0, 2), 0.3, 0.4, 0.5, 0.2)], (3, 3, 3)),
    Row("grayscale", lambda: [L.RandomGrayscale(0.4)], (3, 3, 3)),
    Row("invert", lambda: [L.RandomInvert((0.1, 0.7), value_range=(0, 3))], (3, 3, 2)),
    Row("solarization", lambda: [L.Solarization(0.4, (0.2, 0.7), value_range=(0, 2))], (3, 3, 2)),
    Row("erasing", lambda: [L.RandomErasing(0.8, (0.1, 0.6), fill_value=0.5, value_range=(0, 2))], (5, 6, 2)),
    Row("erasing-by-noise", lambda: [L.RandomErasing((0.6, 0.9), value_range=(-2, 2))], (5, 6, 2)),
    Row("blur", lambda: [L.RandomGaussianBlur(0.9, 3, (0.2, 0.9), value_range=(0, 2))], (4, 5, 2)),
    Row("perspective", lambda: [L.RandomPerspective(0.8, 0.9)], (5, 6, 2)),
    Row("perspective-nearest", lambda: [L.RandomPerspective((0.7, 0.9), 0.6, "nearest", fill_value=0.5)], (5, 6, 2)),
    Row("elastic", lambda: [L.RandomElasticTransform(0.9, value_range=(0, 2))], (8, 9, 2)),
    Row("elastic-smooth", lambda: [L.RandomElasticTransform((0.7, 1.0), (0.8, 1.0), fill_mode="constant", value_range=(0, 2))], (48, 44, 1)),
    Row("elastic-nearest", lambda: [L.RandomElasticTransform(1.0, (0.5, 1.0), "nearest", "wrap", value_range=(0, 2))], (22, 24, 1)),
    Row("mix-up", lambda: [L.MixUp(0.4)], (3, 4, 2)),
    Row("mix-up-even", lambda: [L.MixUp(3.0)], (3, 4, 2)),
    Row("cut-mix", lambda: [L.CutMix((0.4, 0.9))], (6, 5, 2)),
    Row("rand-augment", lambda: [L.RandAugment((0, 2), factor=0.4)], (6, 6, 3)),
    Row("rand-augment-3", lambda: [L.RandAugment((0, 2), num_ops=3, factor=(0.1, 0.3), interpolation="nearest")], (6, 6, 3)),
]


def build(row):
    made = row.layers()
    model = made
    if isinstance(made, list):
        model = K.Sequential([K.Input(row.shape), *made, L.Flatten(), L.Dense(1, kernel_initializer=K.initializers.RandomUniform(0.2, 1.0))])
    model.compile(O.SGD(0.0), "mse")
    model.jit_compile = False
    return model


def draws_of(model, x):
    """What fit() would report, without its cost for each epoch."""
    import tensorflow as tf

    call = tf.function(lambda: tf.reduce_mean(tf.square(model(x, training=True))))
    return lambda: [float(call()) for _ in range(DRAWS)]


def same_distribution(mine, theirs):
    """How many standard errors lie between the means; spreads within a factor."""
    mine, theirs = np.asarray(mine), np.asarray(theirs)
    if len(np.unique(mine)) < len(mine) * 0.9:
        raise Failure("masks repeat: %d different losses in %d epochs" % (len(np.unique(mine)), len(mine)))
    apart = abs(mine.mean() - theirs.mean()) / np.sqrt(mine.var() / len(mine) + theirs.var() / len(theirs))
    spread = mine.std() / theirs.std()
    if apart > 5 or not 0.6 < spread < 1.67:
        raise Failure("losses %.4g +- %.3g, Keras %.4g +- %.3g" % (mine.mean(), mine.std(), theirs.mean(), theirs.std()))
    return ["%.1f" % apart, "%.2f" % spread]


def run(row, index, folder, keras_only):
    keras = keras_module()
    keras.backend.clear_session()
    keras.utils.set_random_seed(31)
    model = build(row)
    rng = rng_of(row.name)
    x = (1 + 0.3 * rng.standard_normal((ROWS_OF_DATA, *row.shape))).astype("f4")
    y = np.zeros((ROWS_OF_DATA, 1), "f4")
    start, data = os.path.join(folder, "m.keras"), os.path.join(folder, "d.npz")
    model.save(start)
    np.savez(data, x=x, y=y)
    draw = draws_of(model, x)
    theirs = draw()
    p = model.predict(x, verbose=0)
    if keras_only:
        return ["", *same_distribution(draw(), theirs)]
    ran = artel("predict", start, "--data", "npz:" + data, "--output", os.path.join(folder, "p.npy"))
    if ran.rc == 1 and row.may_refuse and row.may_refuse in ran.err:
        return ["refused", "", ""]
    if ran.rc != 0:
        raise Failure("predict: exit %d (%s)" % (ran.rc, ran.first))
    error = predict_error([np.load(os.path.join(folder, "p.npy"))], [p])
    if error > 1e-4:
        raise Failure("predict differs by %.2g of the largest value" % error)
    draws = []
    for seed in (1, 1, 2):
        out = os.path.join(folder, "h.json")
        ran = artel("fit", start, "--data", "npz:" + data, "--batch-size", BATCH, "--epochs", DRAWS, "--no-shuffle", "--seed", seed, "--history", out,
                    "--verbose", 0)
        if ran.rc == 1 and row.may_refuse and row.may_refuse in ran.err:
            return ["%.1e" % error, "refused", ""]
        if ran.rc != 0:
            raise Failure("fit: exit %d (%s)" % (ran.rc, ran.first))
        with open(out) as f:
            draws.append(json.load(f)["loss"])
    if draws[0] != draws[1] or draws[0] == draws[2]:
        raise Failure("one seed gives two histories" if draws[0] != draws[1] else "two seeds give one history")
    return ["%.1e" % error, *same_distribution(draws[0], theirs)]


if __name__ == "__main__":
    table(ROWS, run, ["predict", "apart", "spread"], every=3)
