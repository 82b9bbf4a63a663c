# SPDX-License-Identifier: Apache-2.0
# Exported ONNX models predict what Keras predicts.
# timeout: 600
import os, subprocess, sys, tempfile

import onnxruntime as ort

try:
    import onnx  # its checker; a virtual environment of one's own may lack it
except ImportError:
    onnx = None

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
import numpy as np
import keras
from keras import layers as L

PROG = os.path.join(os.environ["ARTEL_BUILD"], "tests", "keras", "prog_keras")
R = np.random.default_rng(11)


def convert(*args):
    return subprocess.run([PROG, "convert", *args], capture_output=True, text=True, timeout=60)


def randomise(model):
    """Moving statistics and biases that are not 0 and 1."""
    for v in model.variables:
        if "seed" not in v.path and "count" not in v.path:
            v.assign(v.numpy() + R.random(v.shape, "float32") * 0.2)


def check(name, model, *inputs, tolerance=2e-5):
    randomise(model)
    model.save("m.keras")
    done = convert("m.keras", "m.onnx")
    assert done.returncode == 0, (name, done.stderr)
    session = ort.InferenceSession("m.onnx", providers=["CPUExecutionProvider"])
    feed = {i.name: x for i, x in zip(session.get_inputs(), inputs, strict=True)}
    expected = model.predict(list(inputs) if len(inputs) > 1 else inputs[0], verbose=0)
    expected = expected if isinstance(expected, (list, tuple)) else [expected]
    for got, want in zip(session.run(None, feed), expected, strict=True):
        assert got.shape == want.shape, (name, got.shape, want.shape)
        error = np.abs(got - want).max() / max(1e-3, np.abs(want).max())
        assert error < tolerance, (name, error)
    if onnx:
        onnx.checker.check_model(onnx.load("m.onnx"), full_check=True)
    print("ok", name, flush=True)


def seq(shape, *layers, dtype="float32"):
    return keras.Sequential([keras.Input(shape, dtype=dtype), *layers])


def image(*shape):
    return R.standard_normal(shape).astype("float32")


def refused(name, model, words):
    model.save("m.keras")
    done = convert("m.keras", "bad.onnx")
    assert done.returncode == 1 and words in done.stderr and not os.path.exists("bad.onnx"), (name, done.stderr)
    print("ok", name, "is refused", flush=True)


os.chdir(tempfile.mkdtemp())
check("mlp", seq((6,), L.Rescaling(1 / 255, 0.5), L.Dense(8, "relu"), L.BatchNormalization(), L.Dropout(0.3), L.Dense(3, "softmax")), image(5, 6))
check("cnn", seq((9, 8, 3), L.Conv2D(4, 3, padding="same", strides=2, activation="relu"), L.MaxPooling2D(2, padding="same"),
                 L.Conv2D(6, 2, groups=2, use_bias=False), L.BatchNormalization(scale=False), L.LeakyReLU(), L.Flatten(), L.Dense(2)), image(3, 9, 8, 3))
check("separable", seq((8, 8, 3), L.DepthwiseConv2D(3, depth_multiplier=2, padding="same"), L.SeparableConv2D(5, 3, dilation_rate=2),
                       L.ReLU(max_value=6.0), L.GlobalAveragePooling2D()), image(2, 8, 8, 3))
for name, layer in (("conv", L.Conv2D(4, (3, 2), dilation_rate=(2, 3), padding="same")), ("depthwise", L.DepthwiseConv2D(3, dilation_rate=2, padding="same")),
                    ("separable", L.SeparableConv2D(4, 2, dilation_rate=2, padding="same"))):
    check("dilated " + name, seq((9, 8, 3), layer), image(2, 9, 8, 3))
check("dilated, any size", seq((None, None, 3), L.Conv2D(4, 3, dilation_rate=2, padding="same")), image(2, 9, 8, 3))
check("dilated with strides", seq((9, 8, 3), L.DepthwiseConv2D((3, 2), strides=2, dilation_rate=2, padding="same")), image(2, 9, 8, 3))
check("padding", seq((7, 6, 2), L.ZeroPadding2D(((1, 2), (0, 3))), L.Cropping2D(((1, 1), (2, 0))), L.UpSampling2D(2), L.UpSampling2D((2, 3), interpolation="bilinear"),
                     L.AveragePooling2D(3, strides=2, padding="same"), L.GlobalMaxPooling2D(keepdims=True)), image(2, 7, 6, 2), tolerance=1e-4)
check("shapes", seq((4, 6), L.Permute((2, 1)), L.Reshape((3, -1)), L.LayerNormalization(), L.Softmax(), L.Flatten()), image(2, 4, 6))
check("normalization", seq((4,), L.Normalization(mean=[1., 2., 3., 4.], variance=[1., 4., 9., 16.]), L.Dense(2)), image(3, 4))
for padding in ("valid", "same"):
    for strides, kernel, dilation in ((1, 3, 1), (2, 3, 1), (3, 2, 1), (2, 4, 1), (1, 3, 2)):
        name = "%s %d %d %d" % (padding, strides, kernel, dilation)
        more = dict(strides=strides, padding=padding)
        if strides == 1 or dilation == 1:
            check("conv1d " + name, seq((11, 4), L.Conv1D(6, kernel, dilation_rate=dilation, groups=2, activation="relu", **more)), image(2, 11, 4))
        if dilation == 1:
            check("transposed " + name, seq((5, 6, 3), L.Conv2DTranspose(4, (kernel, 3), activation="tanh", **more)), image(2, 5, 6, 3))
            check("transposed 1d " + name, seq((5, 3), L.Conv1DTranspose(4, kernel, use_bias=False, **more)), image(2, 5, 3))
check("causal", seq((11, 3), L.Conv1D(4, 3, padding="causal", dilation_rate=2), L.Conv1D(4, 2, padding="causal", strides=2)), image(2, 11, 3))
check("causal, any length", seq((None, 3), L.Conv1D(4, 3, padding="causal")), image(2, 11, 3))
check("sequences", seq((12, 3), L.SeparableConv1D(6, 3, padding="same"), L.DepthwiseConv1D(3, depth_multiplier=2), L.MaxPooling1D(3, strides=2, padding="same"),
                       L.ZeroPadding1D((1, 2)), L.UpSampling1D(2), L.Cropping1D((2, 1)), L.AveragePooling1D(2)), image(2, 12, 3))
check("output padding", seq((5, 5, 2), L.Conv2DTranspose(3, 3, strides=2, output_padding=1)), image(2, 5, 5, 2))
for act in ("elu", "selu", "gelu", "silu", "softplus", "softsign", "sigmoid", "tanh", "exponential", "hard_sigmoid", "hard_silu", "mish", "relu6",
            "leaky_relu", "log_softmax", "linear"):
    if act == "gelu":  # Keras' layer uses the tanh form only when asked
        check(act, seq((5,), L.Activation(keras.activations.gelu)), image(4, 5), tolerance=1e-4)
    else:
        check(act, seq((5,), L.Activation(act)), image(4, 5), tolerance=1e-4)
a, b = keras.Input((5,), name="a"), keras.Input((5,), name="b")
shared = L.Dense(4, name="shared")
p, q = shared(a), shared(b)
merged = L.Concatenate()([L.Add()([p, q]), L.Subtract()([p, q]), L.Multiply()([p, q]), L.Average()([p, q]), L.Maximum()([p, q]), L.Minimum()([p, q])])
inner = seq((24,), L.Dense(3), L.BatchNormalization())
check("merging", keras.Model([a, b], [inner(merged), p]), image(3, 5), image(3, 5))
check("embedding", seq((7,), L.Embedding(11, 4), L.GlobalAveragePooling1D(), L.Dense(2), dtype="int32"), R.integers(0, 11, (3, 7)).astype("int32"))
check("open axis", seq((None, 4), L.Dense(3), L.GlobalAveragePooling1D()), image(2, 9, 4))
r = keras.Input((5,))
check("raw operations", keras.Model(r, L.Dense(2)(((r + 1.5) * r - 2.0) / 4.0)), image(3, 5))
check("mask", seq((7,), L.Embedding(11, 4, mask_zero=True), L.GlobalAveragePooling1D(), dtype="int32"), R.integers(0, 3, (3, 7)).astype("int32"))

for cls in (L.LSTM, L.GRU, L.SimpleRNN):
    check(cls.__name__, seq((6, 3), cls(5, return_sequences=True), cls(4), L.Dense(2)), image(3, 6, 3))
    check(cls.__name__ + " both ways", seq((6, 3), L.Bidirectional(cls(4, return_sequences=True), merge_mode="sum"), L.Bidirectional(cls(3))), image(3, 6, 3))
check("GRU before", seq((6, 3), L.GRU(5, reset_after=False, go_backwards=True)), image(3, 6, 3))
q = keras.Input((5, 6))
t = L.LayerNormalization()(L.Add()([L.MultiHeadAttention(2, 3)(q, q), q]))
check("attention", keras.Model(q, L.TimeDistributed(L.Dense(4, "relu"))(t)), image(3, 5, 6))
for setting, value in (("use_gate", True), ("sliding_window", 2)):
    check(setting, keras.Model(q, L.MultiHeadAttention(2, 3, **{setting: value})(q, q)), image(3, 5, 6))
check("attention to a matrix", keras.Model(q, L.MultiHeadAttention(2, 3, output_shape=(2, 4))(q, q)), image(3, 5, 6))
check("attention by name", keras.Model(q, L.MultiHeadAttention(2, 3)(query=q, key=q, value=q)), image(3, 5, 6))

# what ONNX' own operators do otherwise than Keras is put together from others
for layer in (L.ZeroPadding2D(1, data_format="channels_first"), L.Cropping2D(1, data_format="channels_first"),
              L.UpSampling2D(2, data_format="channels_first"), L.Flatten(data_format="channels_first"),
              L.MaxPooling2D(2, data_format="channels_first")):
    check("channels in front: " + layer.name, seq((6, 5, 4), layer), image(2, 6, 5, 4))
i, j = keras.Input((4, 5)), keras.Input((5,))
check("ranks", keras.Model([i, j], L.Add()([i, j])), image(2, 4, 5), image(2, 5))
k = keras.Input((4,), dtype="int32")
for merge in (L.Multiply, L.Maximum, L.Minimum):
    check("masked " + merge.__name__, keras.Model([k, i], merge()([L.Embedding(9, 5, mask_zero=True)(k), i])), R.integers(0, 3, (3, 4)).astype("int32"), image(3, 4, 5))
check("masked sum", keras.Model([k, i], L.Add()([L.Embedding(9, 5, mask_zero=True)(k), i])), R.integers(0, 9, (3, 4)).astype("int32"), image(3, 4, 5))
m = keras.Input((4, 5), dtype="bool")
check("masked softmax", keras.Model([i, m], L.Softmax()(i, mask=m)), image(3, 4, 5), R.random((3, 4, 5)) > 0.4)
refused("stateful", keras.Sequential([keras.Input(batch_shape=(2, 4, 5)), L.LSTM(3, stateful=True)]), "states")
check("layer normalisation over two axes", seq((4, 5), L.LayerNormalization(axis=[-1, -2])), image(2, 4, 5))
check("table of numbers", seq((2, 2), L.Rescaling([[1.0, 2.0], [3.0, 4.0]])), image(2, 2, 2))
for pool in (L.MaxPooling2D, L.AveragePooling2D):
    check("gaps of " + pool.__name__, seq((8, 9, 2), pool((1, 2), strides=(2, 5), padding="same")), image(2, 8, 9, 2))
    refused("gaps over any size", seq((None, None, 2), pool(1, strides=2, padding="same")), "any size")
check("gaps of a convolution", seq((8, 9, 2), L.Conv2D(3, (1, 2), strides=(3, 5), padding="same")), image(2, 8, 9, 2))
sys.exit(0)
