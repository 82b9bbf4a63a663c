# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# long form: 900
"""Models of float64 beside real Keras, whose process then has that floatx: predictions, History, weights, slots, to some 1e-12.

A file does not say which floatx the process that trains has, and Keras computes losses, metrics and the rate in that: artel computes the loss
and the metrics of a prediction of float64 in float64, so the other side is Keras after set_floatx("float64"). Settings that Keras' TensorFlow backend
rounds to float32 on their way (betas, momentum, decay, factors of regularisers, accumulators' starts, Rescaling's factor) are that here, too.
The file of a trained model has Keras' dtypes in each place, and Keras predicts with it what artel does.
"""

import dataclasses
import io
import json
import os
import zipfile

import numpy as np
from oracle import K, L, O, Q, M, Failure, artel, keras_module, rng_of, table

MOST = 1e-9  # of the largest value of an array: predictions, History, weights, slots


@dataclasses.dataclass
class Row:
    name: str
    layers: object  # () -> layers between input and head, or a model
    shape: tuple = (5,)
    opt: object = None  # () -> optimizer; None: Adam
    loss: object = "mse"
    metrics: tuple = ()
    y: str = "real"
    vocabulary: int = 0
    weights: bool = False
    head: bool = True
    unit: bool = False  # predictions of length 1
    refuse: str = None
    most: float = MOST


def merged():
    i = K.Input((5,))
    a, b = L.Dense(4)(i), L.Dense(4, activation="softplus")(i)
    x = L.Concatenate()([L.Multiply()([a, b]), L.Add()([a, b]), L.Average()([a, b]), L.Maximum()([a, b]), L.Subtract()([a, b])])
    return K.Model(i, L.Dense(2)(L.Dropout(0.0)(K.ops.tanh(x) + 0.1 * x)))


def images(*layers):
    """Equal bounds: nothing is drawn."""
    return [L.Activation("sigmoid"), *layers, L.Conv2D(2, 3, activation="tanh"), L.Flatten()]


def colors():
    unit = {"value_range": (0, 1)}
    return images(L.Pipeline([L.Equalization(bins=64, **unit)]), L.RandomBrightness((0.1, 0.1), **unit), L.RandomContrast((0.0, 0.0), **unit), L.RandomSaturation((0.4, 0.4), **unit), L.RandomHue((1.0, 1.0), **unit),
                  L.RandomColorDegeneration((0.4, 0.4), **unit), L.RandomSharpness((0.3, 0.3), **unit), L.RandomGrayscale(0.0),
                  L.RandomColorJitter((0, 1), (0.1, 0.1), (0.0, 0.0), (0.6, 0.6), (0.0, 0.0)), L.RandomInvert((1.0, 1.0), **unit), L.AutoContrast(**unit),
                  L.RandomGaussianBlur((1.0, 1.0), 3, (0.7, 0.7), **unit), L.RandomErasing((1.0, 1.0), (0.0, 0.0), **unit))


def steps():
    return images(L.RandomPosterization((5, 5), value_range=(0, 1)), L.Solarization(value_range=(0, 1)))


def places():
    return images(L.RandomTranslation((0.21, 0.21), (-0.32, -0.32)), L.RandomTranslation((0.21, 0.21), (0.0, 0.0), "constant", "nearest", fill_value=0.5),
                  L.RandomZoom((0.3, 0.3), interpolation="nearest"), L.RandomShear(0.0, 0.0), L.RandomPerspective(0.0), L.RandomElasticTransform(0.0),
                  L.MaxNumBoundingBoxes(3), L.RandomCrop(9, 7))


def drawn():
    """Images of one colour stay what they are."""
    return [L.Rescaling(0.0, 0.4), L.RandomFlip(), L.MixUp(), L.CutMix(), L.RandomElasticTransform(value_range=(0, 1)), L.Flatten()]


def mixed():
    """A layer of float32 among those of float64, and an input of float32."""
    i = K.Input((5,), dtype="float32")
    return K.Model(i, L.Dense(2)(L.Dense(4, dtype="float32", activation="tanh")(L.Dense(4)(i))))


def attended(layer, **call):
    """Words that are padded, some at both ends of what is attended to: queries and keys of no word are masked."""

    def made():
        i = K.Input((6,), dtype="int32")
        x = L.Embedding(11, 4, mask_zero=True)(i)
        attention = layer()
        if isinstance(attention, L.AdditiveAttention | L.Attention):
            y = attention([x, L.Dense(4)(x)], **call)
        else:
            y = attention(x, L.Dense(4)(x), **call)
        y = y[0] if call.get("return_attention_scores") else y
        return K.Model(i, L.Dense(2)(L.GlobalAveragePooling1D()(y)))

    return made


def attended_images():
    """Attention along one of two axes: sequences have an axis in front."""
    i = K.Input((3, 4, 5))
    attention = L.MultiHeadAttention(2, 3, attention_axes=2, output_shape=4, bias_initializer="normal")
    return K.Model(i, L.Dense(2)(L.Flatten()(attention(i, i))))


def stateful(shape, *layers):
    """Each batch goes on where the one before ended."""

    def made():
        i = x = K.Input(batch_shape=(8, *shape))
        for layer in layers:
            x = layer()(x)
        return K.Model(i, L.Dense(2)(L.Flatten()(x)))

    return made


def inner():
    return [K.Sequential([K.Input((5,)), L.Dense(3, activation="elu")])]


def tanh():
    return [L.Dense(7, activation="tanh")]


ROWS = [
    Row("dense-sgd", tanh, opt=lambda: O.SGD(0.1), metrics=("mae",)),
    Row("bits-of-a-rate", tanh, opt=lambda: O.SGD(1 / 3, momentum=0.9, nesterov=True, clipnorm=0.1)),
    Row("adam-classes", lambda: [L.Dense(7, activation="silu")], loss="categorical_crossentropy", y="onehot", metrics=("accuracy", "mse")),
    Row("sparse", lambda: [L.Dense(7, activation="relu")], loss=lambda: Q.SparseCategoricalCrossentropy(from_logits=True), y="class", metrics=("accuracy",)),
    Row("regularised", lambda: [L.Dense(7, activation="relu", kernel_regularizer=K.regularizers.L1L2(0.01, 1 / 3), activity_regularizer="l2")]),
    Row("einsum-experts", lambda: [L.Reshape((2, 3)), L.EinsumDense("bec,ecd->bed", (2, 4), bias_axes="ed"), L.EinsumDense("bed,fd->bf", 3), L.Flatten()], (6,), opt=lambda: O.SGD(0.1)),
    Row("circle", lambda: [L.Dense(7, activation="tanh")], loss=lambda: Q.Circle(gamma=8, margin=0.25), y="class", opt=lambda: O.SGD(0.05), unit=True),
    Row("ctc", lambda: [L.Conv1D(5, 1)], (6, 3), loss=lambda: Q.CTC(), y="list", opt=lambda: O.SGD(0.1), head=False, most=1e-6),
    Row("constrained", lambda: [L.Dense(7, kernel_constraint="max_norm", bias_constraint="non_neg"), L.Dense(3, kernel_constraint="min_max_norm")]),
    Row("rmsprop", tanh, opt=lambda: O.RMSprop(0.01, momentum=0.9, centered=True), loss="mae"),
    Row("adagrad", tanh, opt=lambda: O.Adagrad(0.1), loss="huber"),
    Row("adamw", tanh, opt=lambda: O.AdamW(0.01, weight_decay=0.1, amsgrad=True)),
    Row("adadelta", tanh, opt=lambda: O.Adadelta(1.0, global_clipnorm=0.1)),
    Row("adamax", tanh, opt=lambda: O.Adamax(0.01, clipvalue=0.01)),
    Row("ftrl", tanh, opt=lambda: O.Ftrl(0.1, l1_regularization_strength=0.01)),
    Row("lion", tanh, opt=lambda: O.Lion(0.01)),
    Row("nadam", tanh, opt=lambda: O.Nadam(0.01, weight_decay=0.1)),
    Row("lamb", tanh, opt=lambda: O.Lamb(0.01, weight_decay=0.01)),
    Row("adafactor", lambda: [L.Dense(7, activation="tanh"), L.Dense(4)], opt=lambda: O.Adafactor(0.01, weight_decay=0.1, clip_threshold=0.3)),
    Row("muon", lambda: [L.Dense(7, activation="tanh"), L.Dense(9)], opt=lambda: O.Muon(0.01, weight_decay=0.1)),
    Row("muon-plain", tanh, opt=lambda: O.Muon(0.01, rms_rate=None, nesterov=False, clipnorm=0.1)),
    Row("schedule", tanh, opt=lambda: O.Adam(O.schedules.ExponentialDecay(0.1, 3, 0.9)), most=1e-6),
    Row("averages", tanh, opt=lambda: O.SGD(0.1, use_ema=True, ema_momentum=0.9, ema_overwrite_frequency=3)),
    Row("accumulation", tanh, opt=lambda: O.Adam(0.01, gradient_accumulation_steps=2)),
    Row("batch-normalisation", lambda: [L.Dense(7, use_bias=False), L.BatchNormalization(), L.ReLU()]),
    Row("normalisation", lambda: [L.Dense(8), L.LayerNormalization(), L.Dense(8), L.GroupNormalization(4), L.RMSNormalization(), L.UnitNormalization(), L.PReLU()],
        opt=lambda: O.SGD(0.1)),
    Row("images", lambda: [L.Conv2D(4, 3, activation="relu", padding="same", strides=2), L.MaxPooling2D(2), L.Conv2D(4, 2, use_bias=False),
                           L.GlobalAveragePooling2D()], (9, 9, 3)),
    Row("more-images", lambda: [L.DepthwiseConv2D(3), L.AveragePooling2D(2, padding="same"), L.SeparableConv2D(4, 2), L.Conv2DTranspose(3, 3, strides=2),
                                L.ZeroPadding2D(1), L.Cropping2D(1), L.Flatten()], (9, 9, 3)),
    Row("sequences", lambda: [L.Conv1D(4, 3, padding="causal"), L.MaxPooling1D(2), L.SpatialDropout1D(0.0), L.Conv1DTranspose(3, 2),
                              L.GlobalMaxPooling1D()], (6, 3)),
    Row("volumes", lambda: [L.Conv3D(4, (2, 3, 2), activation="relu", padding="same", strides=2),
                            L.Conv3DTranspose(3, 2, strides=2, activation="tanh"), L.Conv3D(4, 2, dilation_rate=(1, 2, 1)),
                            L.UpSampling3D((1, 2, 1)), L.Flatten()], (5, 6, 4, 2)),
    Row("larger-images", lambda: [L.Conv2D(2, 2), L.UpSampling2D((2, 3)), L.CenterCrop(5, 9), L.Resizing(7, 6, interpolation="nearest"),
                                  L.Flatten()], (5, 4, 2)),
    Row("filtered-images", lambda: [L.Resizing(7, 6), L.UpSampling2D(2, interpolation="bicubic"), L.Flatten()], (5, 4, 2),
        opt=lambda: O.SGD(0.1), most=1e-5),
    Row("stretched-images", lambda: [L.CenterCrop(8, 3), L.Resizing(4, 4, interpolation="lanczos3", antialias=True), L.Flatten()], (5, 4, 2),
        opt=lambda: O.SGD(0.1), most=1e-5),
    Row("adaptive-pools", lambda: [L.Conv1D(4, 2), L.AdaptiveAveragePooling1D(3), L.UpSampling1D(2), L.AdaptiveMaxPooling1D(2), L.Flatten()], (8, 3)),
    Row("spectral", lambda: [L.SpectralNormalization(L.Dense(4)), L.SpectralNormalization(L.Dense(3, activation="tanh"), power_iterations=2)]),
    Row("silent-noise", lambda: [L.GaussianNoise(0.0), L.GaussianDropout(0.0), L.AlphaDropout(0.0), L.Dense(3)]),
    Row("conv-lstm", lambda: [L.ConvLSTM2D(3, 3, padding="same", return_sequences=True), L.ConvLSTM2D(2, 2, strides=2, go_backwards=True), L.Flatten()],
        (3, 5, 4, 2)),
    Row("conv-lstm-lines", lambda: [L.ConvLSTM1D(3, 3, recurrent_activation="hard_sigmoid"), L.Flatten()], (3, 5, 2)),
    Row("conv-lstm-volumes", lambda: [L.ConvLSTM3D(2, 2), L.Flatten()], (2, 4, 3, 3, 2)),
    Row("lstm", lambda: [L.LSTM(4, return_sequences=True), L.LSTM(3, go_backwards=True)], (6, 3)),
    Row("gru", lambda: [L.Bidirectional(L.GRU(4, return_sequences=True)), L.GRU(3, reset_after=False)], (6, 3)),
    Row("cells", lambda: [L.TimeDistributed(L.Dense(4)), L.SimpleRNN(4, return_sequences=True), L.RNN(L.LSTMCell(3))], (6, 3)),
    Row("stateful", stateful((6, 3), lambda: L.LSTM(4, stateful=True, return_sequences=True), lambda: L.GRU(3, stateful=True)), (6, 3)),
    Row("stateful-images", stateful((3, 5, 4, 2), lambda: L.ConvLSTM2D(3, 2, stateful=True)), (3, 5, 4, 2)),
    Row("embedding", lambda: [L.Embedding(11, 4, mask_zero=True), L.LSTM(3)], (6,), vocabulary=11),
    Row("attention-dot", attended(lambda: L.Attention(use_scale=True)), (6,), vocabulary=5),
    Row("attention-causal", attended(lambda: L.Attention(), use_causal_mask=True), (6,), vocabulary=5),
    Row("attention-concat", attended(lambda: L.Attention(use_scale=True, score_mode="concat"), use_causal_mask=True), (6,),
        vocabulary=5),
    Row("attention-additive", attended(lambda: L.AdditiveAttention()), (6,), vocabulary=5),
    Row("attention-heads", attended(lambda: L.MultiHeadAttention(2, 3, value_dim=4, bias_initializer="normal"), use_causal_mask=True),
        (6,), vocabulary=5, opt=lambda: O.SGD(0.1)),
    Row("attention-scores", attended(lambda: L.MultiHeadAttention(2, 3, bias_initializer="normal"), return_attention_scores=True),
        (6,), vocabulary=5, opt=lambda: O.SGD(0.1)),
    Row("attention-axes", attended_images, opt=lambda: O.SGD(0.1)),
    Row("attention-groups", attended(lambda: L.GroupQueryAttention(3, 4, 2, use_gate=True, sliding_window=2, bias_initializer="normal"),
                                     use_causal_mask=True),
        (6,), vocabulary=5, opt=lambda: O.SGD(0.1)),
    Row("merged", merged),
    Row("rescaled", lambda: [L.Rescaling(0.1, 0.3), L.Normalization(mean=[0.1, 0.2, 0.3, 0.4, 0.5], variance=[1, 2, 3, 4, 5.0])], opt=lambda: O.SGD(0.1)),
    Row("inner-model", inner),
    Row("areas", lambda: [L.Dense(7)], loss="categorical_crossentropy", y="onehot", opt=lambda: O.SGD(0.1),
        metrics=("AUC", lambda: M.AUC(curve="PR", multi_label=True), lambda: M.AUC(thresholds=[0.1, 0.35, 0.5]))),
    Row("thresholds", lambda: [L.Dense(7)], loss="categorical_crossentropy", y="onehot", opt=lambda: O.SGD(0.1), weights=True,
        metrics=("Precision", lambda: M.Recall([0.2, 0.3, 0.4]), lambda: M.Precision(top_k=2, class_id=1), "TruePositives",
                 lambda: M.FalseNegatives(0.3), lambda: M.PrecisionAtRecall(0.5), lambda: M.SensitivityAtSpecificity(0.4, num_thresholds=17))),
    Row("scores", lambda: [L.Dense(7)], loss="categorical_crossentropy", y="onehot", opt=lambda: O.SGD(0.1), weights=True,
        metrics=(lambda: M.F1Score(), lambda: M.FBetaScore(average="weighted", beta=2.0, threshold=0.3), lambda: M.R2Score())),
    Row("correlations", lambda: [L.Dense(7)], opt=lambda: O.SGD(0.1),
        metrics=(lambda: M.PearsonCorrelation(), lambda: M.ConcordanceCorrelation(), "CosineSimilarity", "RootMeanSquaredError")),
    Row("overlaps", lambda: [L.Dense(7)], loss="categorical_crossentropy", y="onehot", opt=lambda: O.SGD(0.1), most=1e-6,
        metrics=(lambda: M.OneHotMeanIoU(3), lambda: M.OneHotIoU(3, [0, 2]))),
    Row("sample-weights", tanh, weights=True),
    Row("mixed", mixed, opt=lambda: O.SGD(0.1), most=1e-4),
    Row("scaled-loss", tanh, opt=lambda: O.LossScaleOptimizer(O.SGD(0.1, momentum=0.9), 1e4, 3)),
    Row("scaled-loss-clipped", tanh, opt=lambda: O.LossScaleOptimizer(O.Adam(0.01, clipnorm=0.5, use_ema=True), 1e38, 4)),
    Row("scaled-loss-accumulated", tanh, opt=lambda: O.LossScaleOptimizer(O.AdamW(0.01, gradient_accumulation_steps=2))),
    Row("scaled-loss-factor", tanh, opt=lambda: O.RMSprop(0.01, loss_scale_factor=300.0)),
    Row("first-of-sorted", lambda: [L.Dense(7)], loss="sparse_categorical_crossentropy", y="class", opt=lambda: O.SGD(0.1), weights=True,
        metrics=(lambda: M.SparseTopKCategoricalAccuracy(2, from_sorted_ids=True),)),
    Row("images-colors", colors, (9, 7, 3), opt=lambda: O.SGD(0.1)),
    Row("images-steps", steps, (9, 7, 3), opt=lambda: O.SGD(0.1)),
    Row("images-places", places, (9, 7, 3), opt=lambda: O.SGD(0.1)),
    # what Keras computes in float32 under any policy
    Row("images-tiles", lambda: images(L.ContrastLimitedAdaptiveHistogramEqualization((0, 1), tile_grid_size=(2, 3))), (9, 7, 3), opt=lambda: O.SGD(0.1), most=1e-5),
    Row("images-drawn", drawn, (6, 6, 3), opt=lambda: O.SGD(0.1), most=1e-6),
    Row("frequencies", lambda: [L.Dense(2), L.STFTSpectrogram(frame_length=16, frame_step=5, mode="psd", padding="same"), L.Flatten()], (45, 2), opt=lambda: O.SGD(1e-3)),
    Row("frequencies-log", lambda: [L.Dense(2), L.STFTSpectrogram(frame_length=16, window="hamming"), L.Flatten()], (45, 2), opt=lambda: O.SGD(1e-3)),
    Row("mel-powers", lambda: [L.MelSpectrogram(64, 40, num_mel_bins=7, power_to_db=False, mag_exp=1.3), L.Flatten()], (200,), opt=lambda: O.SGD(1e-5), most=1e-6),
    Row("renorm", lambda: [L.BatchNormalization(renorm=True, renorm_momentum=0.7, momentum=0.9, renorm_clipping={"rmax": 1.3, "rmin": 0.4, "dmax": 0.3})],
        opt=lambda: O.SGD(0.1)),
    Row("gates", lambda: [L.Dense(6, activation="sparsemax"), L.Dense(8, activation="glu"), L.GlobalMaxPooling1D(data_format="channels_first")],
        (5, 3), opt=lambda: O.SGD(0.1)),
    Row("no-odd-gates", lambda: [L.Dense(5, activation="glu")], refuse="even"),
]


def build(row):
    made = row.layers()
    if not isinstance(made, list):
        return made
    i = x = K.Input(row.shape, dtype="int32" if row.vocabulary else None)
    for layer in made:
        x = layer(x)
    if not row.head:
        return K.Model(i, x)
    if row.unit:
        return K.Model(i, L.UnitNormalization()(L.Dense(3)(x)))
    return K.Model(i, L.Dense(3 if row.y in ("onehot", "class") else 2, activation="softmax" if row.y == "onehot" else None)(x))


def data(row, model, folder):
    rng = rng_of(row.name)
    shape = (40,) + model.input_shape[1:]
    x = rng.integers(0, row.vocabulary, shape) if row.vocabulary else rng.standard_normal(shape)
    y = {"real": lambda: rng.standard_normal((40, 2)), "class": lambda: rng.integers(0, 3, 40), "onehot": lambda: np.eye(3)[rng.integers(0, 3, 40)],
         "list": lambda: rng.integers(1, 5, (40, 2))}[row.y]()
    weight = rng.random(40) if row.weights else None
    np.savez(os.path.join(folder, "data.npz"), x=x, y=y, **({"sample_weight": weight} if row.weights else {}))
    return x, y, weight


def keras_side(row, folder):
    keras = keras_module()
    keras.backend.clear_session()
    keras.utils.set_random_seed(3)
    model = build(row)
    made = [m() if callable(m) else m for m in row.metrics]
    metrics, weighted = ([], made) if row.weights else (made, [])
    model.compile(row.opt() if row.opt else O.Adam(0.01), row.loss() if callable(row.loss) else row.loss, metrics=metrics, weighted_metrics=weighted,
                  jit_compile=False)
    model.save(os.path.join(folder, "start.keras"))
    x, y, weight = data(row, model, folder)
    if row.refuse:
        return {}, x
    said = {"predict": model.predict(x, batch_size=8, verbose=0)}
    for layer in model.layers:
        if getattr(layer, "stateful", False):
            layer.reset_state()
    said["history"] = model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0, sample_weight=weight).history
    model.save(os.path.join(folder, "keras.keras"))
    return said, x


def tree(path):
    """Path -> (dtype in the file, Keras' mark, shape, values)."""
    import h5py

    found = {}

    def take(name, item):
        if isinstance(item, h5py.Dataset):
            found[name] = (item.dtype.str, item.attrs.get("dtype"), item.shape, np.asarray(item[()], "f8"))

    with zipfile.ZipFile(path) as z, h5py.File(io.BytesIO(z.read("model.weights.h5")), "r") as f:
        f.visititems(take)
    return {k: v for k, v in found.items() if "seed_generator" not in k}


def apart(mine, theirs):
    mine, theirs = np.asarray(mine, "f8"), np.asarray(theirs, "f8")
    if mine.shape != theirs.shape:
        raise Failure("shapes %s, Keras has %s" % (mine.shape, theirs.shape))
    return float(np.abs(mine - theirs).max(initial=0) / max(np.abs(theirs).max(initial=0), 1e-12))


def compare(mine, theirs):
    """The largest difference; every array has Keras' form."""
    if set(mine) != set(theirs):
        raise Failure("missing %s, too many %s" % (sorted(set(theirs) - set(mine)), sorted(set(mine) - set(theirs))))
    for path, b in theirs.items():
        if mine[path][:3] != b[:3]:
            raise Failure("%s: %s, Keras has %s" % (path, mine[path][:3], b[:3]))
    return max(apart(mine[path][3], b[3]) for path, b in theirs.items())


def predicted(model, given, out):
    ran = artel("predict", model, "--data", "npz:" + given, "--batch-size", 8, "--output", out)
    if ran.rc != 0:
        raise Failure("predict: exit %d (%s)" % (ran.rc, ran.first))
    values = np.load(out)
    if values.dtype != np.float64:
        raise Failure("predictions are %s" % values.dtype)
    return values


def run(row, index, folder, keras_only):
    keras = keras_module()
    keras.config.set_floatx("float64")
    try:
        return both(row, folder, keras_only)
    finally:
        keras.config.set_floatx("float32")


def both(row, folder, keras_only):
    said, x = keras_side(row, folder)
    if keras_only:
        return ["", "", "", ""]
    start, other, trained, given, out, history = (os.path.join(folder, n) for n in ("start.keras", "keras.keras", "mine.keras", "data.npz", "p.npy",
                                                                                    "h.json"))
    fit = ("fit", start, "--data", "npz:" + given, "--no-shuffle", "--batch-size", 8, "--epochs", 2, "--output", trained, "--history", history,
           "--verbose", 0)
    if row.refuse:
        ran = artel(*fit)
        if ran.rc != 1 or row.refuse not in ran.err or os.path.exists(trained):
            raise Failure("a refusal was due: exit %d (%s)" % (ran.rc, ran.first))
        return ["refused", "", "", ""]
    p = apart(predicted(start, given, out), said["predict"])
    ran = artel(*fit)
    if ran.rc != 0:
        raise Failure("fit: exit %d (%s)" % (ran.rc, ran.first))
    with open(history) as f:
        got = json.load(f)
    h = max(apart(got[key], values) for key, values in said["history"].items())
    w = compare(tree(trained), tree(other))
    again = apart(predicted(trained, given, out), keras_module().models.load_model(trained).predict(x, batch_size=8, verbose=0))
    if not (p <= min(row.most, 1e-6) and h <= row.most and w <= row.most and again <= min(row.most, 1e-6)):
        raise Failure("predict %.2g, history %.2g, weights and slots %.2g, read by Keras %.2g" % (p, h, w, again))
    return ["%.1e" % value for value in (p, h, w, again)]


if __name__ == "__main__":
    table(ROWS, run, ["predict", "history", "weights", "again"], every=3)
