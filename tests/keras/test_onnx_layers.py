# SPDX-License-Identifier: Apache-2.0
# Layers and operations that ONNX has no node for, and uses of others that it has not: exported from the nodes of artel's graph, checked by
# onnx where it is installed, run by onnxruntime, against Keras.
# timeout: 600
import os, subprocess, sys, tempfile

import onnxruntime as ort

try:
    import onnx
except ImportError:
    onnx = None

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
import numpy as np
import keras
from keras import layers as L, ops

R = np.random.default_rng(3)
ort.set_default_logger_severity(3)


def img(*shape):
    return R.standard_normal(shape).astype("f4")


def seq(shape, *layers, dtype="float32"):
    return keras.Sequential([keras.Input(shape, dtype=dtype), *layers])


def function(shape, f, dtype="float32"):
    x = keras.Input(shape, dtype=dtype)
    return keras.Model(x, f(x))


def hidden_twice(dropout=0.0, **call):
    """A mask and the causal one: the first query sees the first key alone, which its mask hides."""
    return function((5, 8), lambda x: L.MultiHeadAttention(2, 4, dropout=dropout)(x, x, attention_mask=ops.einsum("bid,bjd->bij", x, x) < 1.0, **call))


def words_ahead(attention):
    return function((5,), lambda x: attention(L.Embedding(9, 8, mask_zero=True)(x)), "int32")


def around(e, first=lambda e: e):
    """Attention and what goes around it: the mask of the words ends at the attention, for the Add as well."""
    return L.Add()([L.MultiHeadAttention(2, 4)(first(e), first(e)), e])


def mean_around(*layers):
    return seq((5,), *layers, L.GlobalAveragePooling1D(), dtype="int32")


def by_names():
    """A model whose inputs come in another order than the names that it is called by."""
    a, b = keras.Input((6, ), name="a"), keras.Input((4, ), name="b")
    inner = keras.Model([b, a], L.Concatenate()([L.Dense(3)(a), L.Dense(2)(b)]))
    return function((10, ), lambda x: inner({"a": x[:, :6], "b": x[:, 6:]}))


AHEAD = np.array([[0, 0, 3, 4, 5], [1, 0, 0, 2, 0], [0, 0, 0, 0, 0]], "i4")  # words behind what is masked
CASES = [
    ("prelu", lambda: (seq((5, 4), L.PReLU()), img(3, 5, 4))),
    ("rms", lambda: (seq((5, 4), L.RMSNormalization()), img(3, 5, 4))),
    ("unit", lambda: (seq((5, 4), L.UnitNormalization()), img(3, 5, 4))),
    ("group", lambda: (seq((5, 6, 4), L.GroupNormalization(2)), img(3, 5, 6, 4))),
    ("lnrms", lambda: (seq((5, 4), L.LayerNormalization(axis=1)), img(3, 5, 4))),
    ("bn1", lambda: (seq((5, 4), L.BatchNormalization(axis=1)), img(3, 5, 4))),
    ("conv3d", lambda: (seq((5, 6, 7, 2), L.Conv3D(3, 3, padding="same", strides=2, activation="relu")), img(2, 5, 6, 7, 2))),
    ("conv3dv", lambda: (seq((5, 6, 7, 2), L.Conv3D(4, (2, 3, 2), groups=2)), img(2, 5, 6, 7, 2))),
    ("conv3dt", lambda: (seq((3, 4, 5, 2), L.Conv3DTranspose(3, 3, strides=2)), img(2, 3, 4, 5, 2))),
    ("conv3dts", lambda: (seq((3, 4, 5, 2), L.Conv3DTranspose(3, 3, strides=2, padding="same")), img(2, 3, 4, 5, 2))),
    ("convt_op", lambda: (seq((5, 6, 2), L.Conv2DTranspose(3, 3, strides=2, output_padding=1)), img(2, 5, 6, 2))),
    ("max3", lambda: (seq((5, 6, 7, 2), L.MaxPooling3D(2, padding="same")), img(2, 5, 6, 7, 2))),
    ("avg3", lambda: (seq((5, 6, 7, 2), L.AveragePooling3D(2, strides=1, padding="same")), img(2, 5, 6, 7, 2))),
    ("g3", lambda: (seq((5, 6, 7, 2), L.GlobalAveragePooling3D()), img(2, 5, 6, 7, 2))),
    ("gm3", lambda: (seq((5, 6, 7, 2), L.GlobalMaxPooling3D(keepdims=True)), img(2, 5, 6, 7, 2))),
    ("ad1", lambda: (seq((7, 3), L.AdaptiveAveragePooling1D(3)), img(2, 7, 3))),
    ("ad2", lambda: (seq((7, 5, 3), L.AdaptiveMaxPooling2D((3, 2))), img(2, 7, 5, 3))),
    ("ad3", lambda: (seq((7, 5, 4, 3), L.AdaptiveAveragePooling3D(2)), img(2, 7, 5, 4, 3))),
    ("rep", lambda: (seq((4, ), L.RepeatVector(3)), img(2, 4))),
    ("zp3", lambda: (seq((3, 4, 5, 2), L.ZeroPadding3D(((1, 2), (0, 1), (2, 0)))), img(2, 3, 4, 5, 2))),
    ("cr3", lambda: (seq((5, 4, 5, 2), L.Cropping3D(((1, 2), (0, 1), (2, 0)))), img(2, 5, 4, 5, 2))),
    ("up3", lambda: (seq((3, 4, 5, 2), L.UpSampling3D((2, 1, 3))), img(2, 3, 4, 5, 2))),
    ("up2c", lambda: (seq((4, 5, 2), L.UpSampling2D(2, interpolation="bicubic")), img(2, 4, 5, 2))),
    ("act_reg", lambda: (seq((4, ), L.ActivityRegularization(0.1)), img(2, 4))),
    ("sd3", lambda: (seq((3, 4, 5, 2), L.SpatialDropout3D(0.4)), img(2, 3, 4, 5, 2))),
    ("rnd", lambda: (seq((6, 6, 3), L.RandomFlip(), L.RandomRotation(0.1), L.RandomContrast(0.2)), img(2, 6, 6, 3))),
    ("resz", lambda: (seq((6, 7, 3), L.Resizing(4, 9)), img(2, 6, 7, 3))),
    ("reszn", lambda: (seq((6, 7, 3), L.Resizing(4, 9, interpolation="nearest")), img(2, 6, 7, 3))),
    ("cc", lambda: (seq((6, 7, 3), L.CenterCrop(4, 5)), img(2, 6, 7, 3))),
    ("masklstm", lambda: (seq((7, ), L.Embedding(11, 4, mask_zero=True), L.LSTM(5, return_sequences=True), L.LSTM(3), dtype="int32"), R.integers(0,
        3, (3, 7)).astype("i4"))),
    ("maskgru", lambda: (seq((7, ), L.Embedding(11, 4, mask_zero=True), L.Bidirectional(L.GRU(5, return_sequences=True)), L.SimpleRNN(3),
        dtype="int32"), R.integers(0, 3, (3, 7)).astype("i4"))),
    ("masking", lambda: (seq((7, 2), L.Masking(0.0), L.GRU(3, reset_after=False, go_backwards=True)), img(3, 7, 2))),
    ("gruact", lambda: (seq((7, 2), L.GRU(3, activation="gelu", recurrent_activation="hard_sigmoid")), img(3, 7, 2))),
    ("lstmstate", lambda: (function((7, 2), lambda x: L.LSTM(3, return_state=True, return_sequences=True)(x)), img(3, 7, 2))),
    ("lstminit", lambda: (function((7, 3), lambda x: L.LSTM(3)(x, initial_state=[ops.mean(x, axis=1), ops.max(x, axis=1)])), img(3, 7, 3))),
    ("convlstm1", lambda: (seq((4, 6, 2), L.ConvLSTM1D(3, 3, padding="same")), img(2, 4, 6, 2))),
    ("convlstm2", lambda: (seq((3, 5, 6, 2), L.ConvLSTM2D(3, 3, return_sequences=True)), img(2, 3, 5, 6, 2))),
    ("convlstm3", lambda: (seq((2, 4, 4, 4, 2), L.ConvLSTM3D(2, 2)), img(2, 2, 4, 4, 4, 2))),
    ("att", lambda: (function((5, 4), lambda x: L.Attention(use_scale=True)([x, x])), img(2, 5, 4))),
    ("addatt", lambda: (function((5, 4), lambda x: L.AdditiveAttention()([x, x])), img(2, 5, 4))),
    ("concatatt", lambda: (function((5, 4), lambda x: L.Attention(score_mode="concat", use_scale=True)([x, x])), img(2, 5, 4))),
    ("gqa", lambda: (function((5, 8), lambda x: L.GroupQueryAttention(4, 4, 2)(x, x)), img(2, 5, 8))),
    ("mhacausal", lambda: (function((5, 8), lambda x: L.MultiHeadAttention(2, 4)(x, x, use_causal_mask=True)), img(2, 5, 8))),
    ("mhaaxismask", lambda: (function((3, 4, 8), lambda x: L.MultiHeadAttention(2, 4, attention_axes=(2,))(
        x, x, attention_mask=ops.einsum("bijk,bilk->bijl", x, x) > 1.0)), -img(2, 3, 4, 8))),
    ("mhascores", lambda: (function((5, 8), lambda x: L.MultiHeadAttention(2, 4)(x, x, return_attention_scores=True)), img(2, 5, 8))),
    ("mha2d", lambda: (function((3, 4, 8), lambda x: L.MultiHeadAttention(2, 4, attention_axes=(1, 2))(x, x)), img(2, 3, 4, 8))),
    ("mhagate", lambda: (function((5, 8), lambda x: L.MultiHeadAttention(2, 4, use_gate=True)(query=x, value=x)), img(2, 5, 8))),
    ("mhawin", lambda: (function((5, 8), lambda x: L.MultiHeadAttention(2, 4, sliding_window=2)(x, x)), img(2, 5, 8))),
    ("mhamask", lambda: (function((7, ), lambda x: (lambda e: L.MultiHeadAttention(2, 4)(e, e))(L.Embedding(5, 8, mask_zero=True)(x)), "int32"),
        R.integers(0, 3, (3, 7)).astype("i4"))),
    ("mhaboth", lambda: (hidden_twice(use_causal_mask=True), img(3, 5, 8))),
    ("mhabothdrop", lambda: (hidden_twice(dropout=0.2, use_causal_mask=True), img(3, 5, 8))),
    ("mhabothscores", lambda: (hidden_twice(use_causal_mask=True, return_attention_scores=True), img(3, 5, 8))),
    ("gqaboth", lambda: (words_ahead(lambda e: L.GroupQueryAttention(4, 2, 2, dropout=0.2)(e, e, use_causal_mask=True)), AHEAD)),
    ("attboth", lambda: (words_ahead(lambda e: L.Attention(use_scale=True)([e, e], use_causal_mask=True)), AHEAD)),
    ("attbothscores", lambda: (words_ahead(lambda e: L.Attention(dropout=0.2)([e, e], use_causal_mask=True, return_attention_scores=True)), AHEAD)),
    ("addattboth", lambda: (words_ahead(lambda e: L.AdditiveAttention()([e, e], use_causal_mask=True)), AHEAD)),
    ("mhaaround", lambda: (mean_around(L.Embedding(9, 8, mask_zero=True), function((5, 8), around)), AHEAD)),
    ("mhaaroundwords", lambda: (mean_around(words_ahead(around)), AHEAD)),
    ("mhaaroundcall", lambda: (words_ahead(lambda e: L.GlobalAveragePooling1D()(function((5, 8), around)(e))), AHEAD)),
    ("mhabehinddropout", lambda: (mean_around(L.Embedding(9, 8, mask_zero=True), function((5, 8), lambda e: around(e, L.Dropout(0.1)))), AHEAD)),
    ("bynames", lambda: (by_names(), img(3, 10))),
    ("dot", lambda: (function((5, 4), lambda x: L.Dot(axes=(2, 2), normalize=True)([x, x])), img(2, 5, 4))),
    ("revemb", lambda: (function((5, ), lambda x: (lambda l: l(l(x), reverse=True))(L.ReversibleEmbedding(9, 4)), "int32"), R.integers(0, 9, (3,
        5)).astype("i4"))),
    ("tdconv", lambda: (seq((3, 6, 6, 2), L.TimeDistributed(L.Conv2D(3, 3, strides=2, padding="same")), L.TimeDistributed(L.MaxPooling2D(2)),
        L.TimeDistributed(L.Flatten())), img(2, 3, 6, 6, 2))),
    ("softmax2", lambda: (seq((3, 4), L.Softmax(axis=[1, 2])), img(2, 3, 4))),
    ("acts", lambda: (function((5, ), lambda x: [getattr(keras.activations,
        a)(x) for a in "celu hard_shrink hard_tanh log_sigmoid relu6 soft_shrink sparse_plus sparse_sigmoid squareplus tanh_shrink".split()]), img(3,
        5))),
    ("sparsemax", lambda: (seq((5, ), L.Activation("sparsemax")), img(3, 5))),
    ("glu", lambda: (seq((6, ), L.Activation("glu")), img(3, 6))),
    ("o_math", lambda: (function((5, ), lambda x: [ops.exp(x), ops.expm1(x), ops.log1p(ops.abs(x)), ops.sqrt(ops.abs(x)), ops.rsqrt(ops.abs(x)+1),
        ops.square(x), ops.sin(x), ops.cos(x), ops.sign(x), ops.floor(x), ops.ceil(x), ops.round(x), ops.power(ops.abs(x), 1.7), ops.maximum(x, .2),
        ops.clip(x, -.3, .4), ops.erf(x), ops.tan(x), ops.arctan(x), ops.sinh(x), ops.log2(ops.abs(x)+1), ops.logaddexp(x, x*2), ops.mod(x, .7),
        ops.floor_divide(x, .7)]), img(3, 5))),
    ("o_red", lambda: (function((5, 4), lambda x: [ops.sum(x, 1), ops.mean(x, (1, 2)), ops.max(x, -1, keepdims=True), ops.min(x, 1), ops.prod(x, 1),
        ops.var(x, 1), ops.std(x, 1), ops.logsumexp(x, 1), ops.norm(x, axis=1), ops.cumsum(x, 1), ops.argmax(x, 1), ops.argmin(x, -1), ops.sort(x,
        1), ops.argsort(x, -1), ops.any(x>0, 1), ops.count_nonzero(x, 1)]), img(3, 5, 4))),
    ("o_shape", lambda: (function((4, 6), lambda x: [ops.reshape(x, (-1, 3, 8)), ops.transpose(x, (0, 2, 1)), ops.expand_dims(x, 1),
        ops.concatenate([x, x], 1), ops.stack([x, x], 1), *ops.split(x, 2, 2), ops.flip(x, 1), ops.repeat(x, 2, 1), ops.tile(x, (1, 2, 1)),
        ops.roll(x, 1, 1), ops.pad(x, ((0, 0), (1, 2), (0, 0))), x[:, 1], x[:, ::2, 1:], x[:, ::-1], ops.swapaxes(x, 1, 2), *ops.unstack(x,
        axis=1)]), img(2, 4, 6))),
    ("o_idx", lambda: (function((4, 6), lambda x: [ops.take(x, [0, 2], axis=1), ops.take_along_axis(x, ops.argsort(x, axis=1), axis=1), *ops.top_k(x,
        2), ops.one_hot(ops.argmax(x, -1), 6), ops.where(x>0, x, -x), ops.diff(x, axis=1)]), img(2, 4, 6))),
    ("o_mat", lambda: (function((4, 6), lambda x: [ops.matmul(x, ops.transpose(x, (0, 2, 1))), ops.einsum("bij,bkj->bik", x, x), ops.matmul(x,
        np.ones((6, 3), "f4")), ops.dot(x, np.ones((6, 2), "f4"))]), img(2, 4, 6))),
    ("o_img", lambda: (function((6, 6, 2), lambda x: [ops.image.resize(x, (9, 4)), ops.average_pool(x, 2, 2), ops.max_pool(x, 3, 2, padding="same"),
        ops.conv(x, np.ones((3, 3, 2, 4), "f4"))]), img(2, 6, 6, 2))),
    ("o_norm", lambda: (function((6, 4), lambda x: [ops.softmax(x, 1), ops.log_softmax(x), ops.normalize(x, 1), ops.batch_normalization(x, np.ones(4,
        "f4"), np.ones(4, "f4")*2, -1)]), img(2, 6, 4))),
    ("o_int", lambda: (function((4, ), lambda x: [x//3, x%3, ops.cast(x, "float32")/2, ops.equal(x, 2)], "int32"), R.integers(0, 9, (3,
        4)).astype("i4"))),
    ("o_fft", lambda: (function((8, ), lambda x: list(ops.rfft(x))), img(2, 8))),
    ("open_prelu", lambda: (seq((None, 4), L.PReLU(shared_axes=[1]), L.RMSNormalization()), img(2, 5, 4))),
    ("open_mask", lambda: (seq((None, ), L.Embedding(9, 4, mask_zero=True), L.GlobalAveragePooling1D(), L.Dense(2), dtype="int32"), R.integers(0, 3,
        (3, 7)).astype("i4"))),
    ("open_lstm", lambda: (seq((None, ), L.Embedding(9, 4, mask_zero=True), L.LSTM(3), L.Dense(2), dtype="int32"), R.integers(0, 3, (3,
        7)).astype("i4"))),
    ("einsum", lambda: (seq((4, 6), L.EinsumDense("...x,xy->...y", output_shape=3, bias_axes="y")), img(2, 4, 6))),
    ("einsum2", lambda: (seq((4, 6), L.EinsumDense("abc,cde->abde", output_shape=(None, 2, 3), bias_axes="e")), img(2, 4, 6))),
]
REFUSED = [
    ("words", lambda: seq((4,), L.IntegerLookup(vocabulary=[3, 5, 7]), L.Embedding(5, 2), dtype="int64"), "words"),
    ("inverse", lambda: function((3, 3), lambda x: ops.inv(x)), "matrix"),
    ("sizes", lambda: seq((None, None, 4), L.GroupNormalization(2)), "any size"),
]


def convert(model, path):
    model.save("m.keras")
    return subprocess.run([os.environ["ARTEL"], "convert", "m.keras", path], capture_output=True, text=True, timeout=60)


def check(name, model, x):
    for v in model.variables:
        if v.dtype == "float32":
            v.assign(v.numpy() + R.random(v.shape).astype("f4") * 0.2)
    done = convert(model, "m.onnx")
    assert done.returncode == 0, (name, done.stderr)
    if onnx:
        onnx.checker.check_model(onnx.load("m.onnx"), full_check=True)
    session = ort.InferenceSession("m.onnx", providers=["CPUExecutionProvider"])
    wanted = keras.tree.flatten(model(x, training=False))
    for got, want in zip(session.run(None, {session.get_inputs()[0].name: x}), wanted, strict=True):
        want = np.asarray(want)
        assert got.shape == want.shape, (name, got.shape, want.shape)
        error = np.abs(got.astype("f8") - want).max() / max(1e-3, np.abs(want).max())
        assert error < 1e-4, (name, error)


os.chdir(tempfile.mkdtemp())
for name, make in CASES:
    check(name, *make())
    print("ok", name, flush=True)
for name, make, word in REFUSED:
    done = convert(make(), "bad.onnx")
    assert done.returncode == 1 and word in done.stderr and not os.path.exists("bad.onnx"), (name, done.stderr)
print(len(CASES), "exported,", len(REFUSED), "refused by name")
sys.exit(0)
