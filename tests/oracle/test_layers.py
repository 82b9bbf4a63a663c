# SPDX-License-Identifier: Apache-2.0
# timeout: 900
"""Every layer of issue 3 with odd settings: predictions, then 20 training steps, as real Keras."""

import numpy as np
from oracle import K, L, Case, LONG, dataclasses, main

# ---- two-dimensional images
IMAGE = (7, 6, 3)
IMAGES = {
    "conv2d-valid": lambda: L.Conv2D(4, 3),
    "conv2d-same": lambda: L.Conv2D(4, 3, padding="same", activation="relu"),
    "conv2d-1x1": lambda: L.Conv2D(5, 1, activation="gelu"),
    "conv2d-3x2-kernel": lambda: L.Conv2D(4, (3, 2), padding="same"),
    "conv2d-even-kernel-same": lambda: L.Conv2D(4, 4, padding="same"),
    "conv2d-stride-2-same": lambda: L.Conv2D(4, 3, strides=2, padding="same"),
    "conv2d-stride-2-valid": lambda: L.Conv2D(4, 3, strides=2),
    "conv2d-stride-2x1": lambda: L.Conv2D(4, 3, strides=(2, 1), padding="same"),
    "conv2d-stride-3-kernel-2": lambda: L.Conv2D(4, 2, strides=3, padding="same"),
    "conv2d-1x1-stride-2": lambda: L.Conv2D(4, 1, strides=2),
    "conv2d-dilation-2": lambda: L.Conv2D(4, 3, dilation_rate=2, padding="same"),
    "conv2d-dilation-2x1-valid": lambda: L.Conv2D(4, (2, 3), dilation_rate=(2, 1)),
    "conv2d-groups-3": lambda: L.Conv2D(6, 3, groups=3, padding="same"),
    "conv2d-groups-stride": lambda: L.Conv2D(9, 3, groups=3, strides=2),
    "conv2d-no-bias": lambda: L.Conv2D(4, 3, use_bias=False),
    "conv2d-17-filters": lambda: L.Conv2D(17, 3, padding="same", activation="elu"),
    "conv2d-49-filters": lambda: L.Conv2D(49, 2),
    "conv2d-kernel-of-image": lambda: L.Conv2D(4, (7, 6)),
    "conv2d-kernel-larger-same": lambda: L.Conv2D(4, 9, padding="same"),
    "depthwise": lambda: L.DepthwiseConv2D(3),
    "depthwise-same-multiplier": lambda: L.DepthwiseConv2D(3, padding="same", depth_multiplier=2),
    "depthwise-stride": lambda: L.DepthwiseConv2D((3, 3), strides=2, padding="same", activation="relu"),
    "depthwise-dilation": lambda: L.DepthwiseConv2D(2, dilation_rate=2, padding="same", use_bias=False),
    "depthwise-even": lambda: L.DepthwiseConv2D(4, strides=2, padding="same"),
    "separable": lambda: L.SeparableConv2D(4, 3),
    "separable-all": lambda: L.SeparableConv2D(5, 3, strides=2, padding="same", depth_multiplier=2, activation="tanh"),
    "separable-dilation": lambda: L.SeparableConv2D(4, 3, dilation_rate=2, use_bias=False, padding="same"),
    "maxpool": lambda: L.MaxPooling2D(),
    "maxpool-same-odd": lambda: L.MaxPooling2D(2, padding="same"),
    "maxpool-overlap": lambda: L.MaxPooling2D(3, strides=2, padding="same"),
    "maxpool-2x3-stride-1": lambda: L.MaxPooling2D((2, 3), strides=1),
    "maxpool-gap": lambda: L.MaxPooling2D(1, strides=2),
    "avgpool": lambda: L.AveragePooling2D(2),
    "avgpool-same-odd": lambda: L.AveragePooling2D((2, 4), padding="same"),
    "avgpool-overlap": lambda: L.AveragePooling2D(3, strides=(1, 2), padding="same"),
    "avgpool-valid-3": lambda: L.AveragePooling2D(3, strides=2),
    "global-average": lambda: L.GlobalAveragePooling2D(),
    "global-average-keepdims": lambda: L.GlobalAveragePooling2D(keepdims=True),
    "global-max": lambda: L.GlobalMaxPooling2D(),
    "global-max-keepdims": lambda: L.GlobalMaxPooling2D(keepdims=True),
    "zero-padding-int": lambda: L.ZeroPadding2D(2),
    "zero-padding-pair": lambda: L.ZeroPadding2D((1, 2)),
    "zero-padding-sides": lambda: L.ZeroPadding2D(((1, 0), (2, 3))),
    "cropping-int": lambda: L.Cropping2D(2),
    "cropping-sides": lambda: L.Cropping2D(((1, 0), (2, 1))),
    "upsampling": lambda: L.UpSampling2D(),
    "upsampling-2x3": lambda: L.UpSampling2D((2, 3)),
    "upsampling-bilinear": lambda: L.UpSampling2D(2, interpolation="bilinear"),
    "batchnorm-4d": lambda: L.BatchNormalization(),
    "batchnorm-axis-1": lambda: L.BatchNormalization(axis=1),
    "batchnorm-no-scale": lambda: L.BatchNormalization(scale=False, momentum=0.7),
    "batchnorm-no-center": lambda: L.BatchNormalization(center=False, epsilon=1e-2),
    "batchnorm-frozen": lambda: L.BatchNormalization(trainable=False),
    "layernorm-4d": lambda: L.LayerNormalization(),
    "layernorm-axes": lambda: L.LayerNormalization(axis=[1, 2, 3]),
    "layernorm-axis-1": lambda: L.LayerNormalization(axis=1),
    "layernorm-plain": lambda: L.LayerNormalization(center=False, scale=False, epsilon=0.1),
    "softmax-axis-1": lambda: L.Softmax(axis=1),
    "softmax-axes": lambda: L.Softmax(axis=[1, 2]),
    "flatten": lambda: L.Flatten(),
    "reshape": lambda: L.Reshape((6, 21)),
    "reshape-minus-one": lambda: L.Reshape((2, -1, 7)),
    "permute": lambda: L.Permute((3, 1, 2)),
    "dense-on-4d": lambda: L.Dense(5, activation="selu"),
    "spatial-dropout-0": lambda: L.SpatialDropout2D(0.0),
    "time-distributed-1": lambda: L.TimeDistributed(L.Dense(4)),
    "activation-layer": lambda: L.Activation("swish"),
}

# ---- sequences
SERIES = (6, 4)
SEQUENCES = {
    "lstm": lambda: L.LSTM(5),
    "lstm-sequences": lambda: L.LSTM(5, return_sequences=True),
    "lstm-backwards": lambda: L.LSTM(5, go_backwards=True, return_sequences=True),
    "lstm-unroll": lambda: L.LSTM(3, unroll=True),
    "lstm-relu": lambda: L.LSTM(5, activation="relu", recurrent_activation="hard_sigmoid"),
    "lstm-no-bias": lambda: L.LSTM(5, use_bias=False),
    "lstm-no-forget-bias": lambda: L.LSTM(5, unit_forget_bias=False, kernel_initializer="he_normal"),
    "lstm-17": lambda: L.LSTM(17, return_sequences=True),
    "gru": lambda: L.GRU(5),
    "gru-before": lambda: L.GRU(5, reset_after=False),
    "gru-before-sequences": lambda: L.GRU(5, reset_after=False, return_sequences=True, go_backwards=True),
    "gru-sequences": lambda: L.GRU(5, return_sequences=True, activation="softsign", recurrent_activation="tanh"),
    "gru-no-bias": lambda: L.GRU(5, use_bias=False),
    "gru-no-bias-before": lambda: L.GRU(5, use_bias=False, reset_after=False),
    "rnn": lambda: L.SimpleRNN(5),
    "rnn-sequences": lambda: L.SimpleRNN(5, return_sequences=True, activation="relu"),
    "rnn-no-bias": lambda: L.SimpleRNN(5, use_bias=False, go_backwards=True),
    "bidirectional-concat": lambda: L.Bidirectional(L.LSTM(3)),
    "bidirectional-sum": lambda: L.Bidirectional(L.GRU(3, return_sequences=True), merge_mode="sum"),
    "bidirectional-mul": lambda: L.Bidirectional(L.SimpleRNN(3, return_sequences=True), merge_mode="mul"),
    "bidirectional-ave": lambda: L.Bidirectional(L.LSTM(3), merge_mode="ave"),
    "bidirectional-other-back": lambda: L.Bidirectional(L.LSTM(3), backward_layer=L.GRU(3, go_backwards=True)),
    "time-distributed-dense": lambda: L.TimeDistributed(L.Dense(5, activation="relu")),
    "time-distributed-nested": lambda: L.TimeDistributed(K.Sequential([K.Input((4,)), L.Dense(5), L.LayerNormalization()])),
    "batchnorm-3d": lambda: L.BatchNormalization(),
    "layernorm-3d": lambda: L.LayerNormalization(epsilon=1e-5),
    "softmax": lambda: L.Softmax(),
    "relu-all": lambda: L.ReLU(max_value=0.6, negative_slope=0.1, threshold=0.1),
    "relu-plain": lambda: L.ReLU(),
    "leaky-relu": lambda: L.LeakyReLU(negative_slope=0.05),
    "rescaling": lambda: L.Rescaling(2.0, offset=-0.5),
    "rescaling-list": lambda: L.Rescaling([1.0, 2.0, -1.0, 0.5], offset=[0.0, 1.0, 2.0, 3.0]),
    "normalization": lambda: L.Normalization(mean=[0.1, 0.2, 0.3, 0.4], variance=[1.0, 2.0, 0.5, 0.25]),
    "normalization-scalar": lambda: L.Normalization(axis=None, mean=0.5, variance=4.0),
    "normalization-invert": lambda: L.Normalization(mean=0.5, variance=4.0, invert=True, axis=None),
    "dropout-0": lambda: L.Dropout(0.0),
    "dropout-noise-shape-0": lambda: L.Dropout(0.0, noise_shape=(None, 1, 4)),
    "permute-time": lambda: L.Permute((2, 1)),
    "dense-33": lambda: L.Dense(33, activation="relu"),
    "dense-no-bias": lambda: L.Dense(5, use_bias=False),
}

# ---- layers that item 5 does not list: right, or refused by name
EXTRAS = {
    "conv1d": (lambda: L.Conv1D(4, 3, padding="causal"), SERIES, "conv1d"),
    "conv2d-transpose": (lambda: L.Conv2DTranspose(4, 3, strides=2), IMAGE, "conv2d_transpose"),
    "group-normalization": (lambda: L.GroupNormalization(3), IMAGE, "group_normalization"),
    "prelu": (lambda: L.PReLU(), SERIES, "p_re_lu"),
    "elu-layer": (lambda: L.ELU(), SERIES, "elu"),
    "global-average-1d": (lambda: L.GlobalAveragePooling1D(), SERIES, "global_average_pooling1d"),
    "repeat-vector": (lambda: L.RepeatVector(3), (4,), "repeat_vector"),
    "maxpool-channels-first": (lambda: L.MaxPooling2D(2, data_format="channels_first"), IMAGE, "channels_first"),
    "flatten-channels-first": (lambda: L.Flatten(data_format="channels_first"), IMAGE, "channels_first"),
    "upsampling-bicubic": (lambda: L.UpSampling2D(2, interpolation="bicubic"), IMAGE, "bicubic"),
    "unit-normalization": (lambda: L.UnitNormalization(), SERIES, "unit_normalization"),
}


# ---- functional models
def model(inputs, outputs):
    return K.Model(inputs, outputs)


def merge(kind, *shapes, **options):
    """`kind` over Dense images of inputs of these shapes."""

    def build():
        ins = [K.Input(s) for s in shapes]
        parts = [L.Dense(s[-1], activation="tanh")(i) for s, i in zip(shapes, ins)]
        t = getattr(L, kind)(**options)(parts)
        return model(ins, L.Dense(2)(t))

    return build


def attention(causal=False, second=None, shape=(5, 6), key=False, scores=False, **options):
    """MultiHeadAttention over Dense images: query, value (None: the query), a key of its own if `key`."""

    def build():
        q_in = K.Input(shape)
        ins, args = [q_in], {}
        q = L.Dense(shape[-1], activation="tanh")(q_in)
        v = q
        if second:
            ins.append(K.Input(second))
            v = L.Dense(second[-1])(ins[-1])
        if key:
            args["key"] = L.Dense(7)(ins[-1])
        layer = L.MultiHeadAttention(**options)
        t = layer(q, v, use_causal_mask=causal, return_attention_scores=scores, **args)
        outs = list(t) if scores else [t]
        return model(ins, [L.Dense(2)(o) for o in outs])

    return build


def tokens(*layers, mask=True, length=6, **options):
    """Embedding with mask_zero, then layers, then Dense."""

    def build():
        i = K.Input((length,), dtype="int32")
        t = L.Embedding(9, 4, mask_zero=mask, **options)(i)
        for layer in layers:
            t = layer()(t)
        if len(t.shape) > 2:
            t = L.Flatten()(t)
        return model(i, L.Dense(3)(t))

    return build


def masked_attention():
    i = K.Input((6,), dtype="int32")
    t = L.Embedding(9, 4, mask_zero=True)(i)
    t = L.MultiHeadAttention(2, 3)(t, t)
    return model(i, L.Dense(3)(L.LSTM(4)(t)))


def masked_concat():
    i = K.Input((6,), dtype="int32")
    a, b = L.Embedding(9, 4, mask_zero=True)(i), L.Embedding(9, 3, mask_zero=True)(i)
    return model(i, L.Dense(3)(L.GRU(4)(L.Concatenate()([a, b]))))


def masked_loss():
    """A mask that reaches the loss: padded steps do not count."""
    i = K.Input((6,), dtype="int32")
    t = L.Embedding(9, 4, mask_zero=True)(i)
    return model(i, L.Dense(3)(L.LSTM(4, return_sequences=True)(t)))


def encoder_decoder():
    """return_state, initial_state: a small translator."""
    a, b = K.Input((None,), dtype="int32", name="source"), K.Input((None,), dtype="int32", name="target")
    _, h, c = L.LSTM(5, return_state=True)(L.Embedding(9, 4)(a))
    t = L.LSTM(5, return_sequences=True)(L.Embedding(9, 3)(b), initial_state=[h, c])
    return model([a, b], L.Dense(9, activation="softmax")(t))


def gru_state():
    i = K.Input(SERIES)
    t, h = L.GRU(4, return_state=True, return_sequences=True)(L.Dense(4)(i))
    return model(i, L.Concatenate()([L.Dense(3)(h), L.Flatten()(t)]))


def initial_state():
    i, s = K.Input(SERIES), K.Input((2,))
    return model([i, s], L.Dense(2)(L.SimpleRNN(4)(i, initial_state=L.Dense(4)(s))))


def bidirectional_state():
    i = K.Input(SERIES)
    t = L.Bidirectional(L.LSTM(3, return_state=True))(i)
    return model(i, L.Dense(2)(L.Concatenate()(list(t))))


def bidirectional_none():
    i = K.Input(SERIES)
    f, b = L.Bidirectional(L.LSTM(3, return_sequences=True), merge_mode=None)(i)
    return model(i, L.Dense(2)(L.Subtract()([f, b])))


def stateful(kind, **options):
    def build():
        return K.Sequential([K.Input(batch_shape=(8, 4, 3)), getattr(L, kind)(4, stateful=True, **options), L.Dense(2)])

    return build


def shared_layer():
    a, b = K.Input((4,), name="a"), K.Input((4,), name="b")
    d = L.Dense(5, activation="tanh", name="twice")
    return model([a, b], L.Dense(2)(L.Multiply()([d(a), d(b)])))


def shared_batchnorm():
    a, b = K.Input((4,), name="a"), K.Input((4,), name="b")
    d = L.BatchNormalization()
    return model([a, b], L.Dense(2)(L.Concatenate()([d(a), d(b)])))


def shared_embedding():
    a, b = K.Input((3,), dtype="int32"), K.Input((5,), dtype="int32")
    e = L.Embedding(9, 4)
    return model([a, b], L.Dense(2)(L.Flatten()(L.Concatenate(axis=1)([e(a), e(b)]))))


def nested():
    inner_in = K.Input((4,))
    inner = model(inner_in, L.Dense(3, activation="relu")(L.Dense(6, activation="tanh")(inner_in)))
    i = K.Input((4,))
    return model(i, L.Dense(2)(L.Add()([inner(i), inner(L.Dense(4)(i))])))


def nested_twice():
    core = K.Sequential([K.Input((4,)), L.Dense(4), L.BatchNormalization()], name="core")
    middle = K.Sequential([K.Input((4,)), core, L.Activation("tanh")], name="middle")
    return K.Sequential([K.Input((4,)), middle, L.Dense(2)])


def nested_many():
    a, b = K.Input((4,)), K.Input((3,))
    t = L.Concatenate()([a, b])
    inner = model([a, b], [L.Dense(3)(t), L.Dense(2, activation="tanh")(t)])
    c = K.Input((4,))
    x, y = inner([c, L.Dense(3)(c)])
    return model(c, L.Dense(2)(L.Concatenate()([y, x])))


def nested_output():
    """The output of the model is straight from a nested model."""
    inner = K.Sequential([K.Input((5,)), L.Dense(4), L.Dense(2)], name="inner")
    i = K.Input((4,))
    return model(i, inner(L.Dense(5, activation="relu")(i)))


def two_outputs():
    a, b = K.Input((4,), name="left"), K.Input((3,), name="right")
    t = L.Concatenate()([a, b])
    return model([a, b], [L.Dense(2, name="first")(t), L.Dense(3, name="second")(L.Dense(4, activation="relu")(t))])


def output_inside():
    """An output that is also an inner tensor."""
    i = K.Input((4,), name="i")
    t = L.Dense(3, activation="tanh", name="deep")(i)
    return model(i, [t, L.Dense(2, name="top")(t)])


def dict_model():
    a, b = K.Input((4,), name="left"), K.Input((3,), name="right")
    t = L.Dense(2, name="out")(L.Concatenate()([a, b]))
    return model({"left": a, "right": b}, t)


def residual():
    i = K.Input((6, 6, 3))
    t = L.Conv2D(4, 3, padding="same", use_bias=False)(i)
    t = L.Activation("relu")(L.BatchNormalization()(t))
    u = L.BatchNormalization()(L.Conv2D(4, 3, padding="same", use_bias=False)(t))
    return model(i, L.Dense(3)(L.GlobalAveragePooling2D()(L.ReLU()(L.Add()([t, u])))))


def transformer():
    i = K.Input((6,), dtype="int32")
    t = L.Embedding(9, 8)(i)
    for _ in range(2):
        n = L.LayerNormalization(epsilon=1e-6)(t)
        t = L.Add()([t, L.MultiHeadAttention(2, 4)(n, n, use_causal_mask=True)])
        n = L.Dense(16, activation="gelu")(L.LayerNormalization(epsilon=1e-6)(t))
        t = L.Add()([t, L.Dense(8)(n)])
    return model(i, L.Dense(9, activation="softmax")(L.LayerNormalization(epsilon=1e-6)(t)))


def time_distributed_conv():
    return K.Sequential([K.Input((3, 5, 5, 2)), L.TimeDistributed(L.Conv2D(3, 3, padding="same", activation="relu")),
                         L.TimeDistributed(L.MaxPooling2D()), L.TimeDistributed(L.Flatten()), L.LSTM(4), L.Dense(2)])


def time_distributed_batchnorm():
    return K.Sequential([K.Input((3, 5)), L.TimeDistributed(L.BatchNormalization()), L.Flatten(), L.Dense(2)])


def operators():
    a = K.Input((4,))
    t = L.Dense(4)(a)
    return model(a, L.Dense(2)(t * 2.0 + a))


def frozen():
    m = K.Sequential([K.Input((4,)), L.Dense(5, trainable=False, activation="relu"), L.Dense(3), L.Dense(2)])
    m.layers[1].trainable = False
    return m


def bad_axis_batchnorm():
    i = K.Input((4, 5, 3))
    return model(i, L.Dense(2)(L.Flatten()(L.BatchNormalization(axis=2, momentum=0.5)(L.Dense(3, activation="relu")(i)))))


def normalization_adapted():
    layer = L.Normalization()
    layer.adapt(np.random.default_rng(1).normal(3, 2, (50, 4)).astype("f4"))
    return K.Sequential([K.Input((4,)), layer, L.Dense(2)])


KEY_BIAS = ("key_dense/vars/1",)  # a softmax over keys does not see what all keys share

FUNCTIONAL = [
    Case("dense-only", lambda: K.Sequential([K.Input((4,)), L.Dense(3)])),
    Case("dense-deep", lambda: K.Sequential([K.Input((13,)), L.Dense(37, "relu"), L.Dense(1, "tanh"), L.Dense(65, "relu"), L.Dense(2)])),
    Case("dense-batch-7", lambda: K.Sequential([K.Input((4,)), L.Dense(3)]), rows=66, batch=7),
    Case("batchnorm-batch-7", lambda: K.Sequential([K.Input((4,)), L.BatchNormalization(), L.Dense(3)]), rows=66, batch=7),
    Case("batchnorm-last-batch-1", lambda: K.Sequential([K.Input((4,)), L.BatchNormalization(), L.Dense(3)]), rows=81),
    Case("bias-before-batchnorm", lambda: K.Sequential([K.Input((6, 6, 3)), L.Conv2D(4, 3), L.BatchNormalization(), L.ReLU(), L.Flatten(),
                                                        L.Dense(3)]), zero=("conv2d/vars/1",), opt="sgd"),
    Case("dense-bias-before-batchnorm", lambda: K.Sequential([K.Input((6,)), L.Dense(4), L.BatchNormalization(), L.ReLU(), L.Dense(3)]),
         zero=("layers/dense/vars/1",), opt="adam"),
    Case("batchnorm-axis-2", bad_axis_batchnorm),
    Case("normalization-adapted", normalization_adapted),
    Case("frozen-layers", frozen),
    Case("add", merge("Add", (5, 4), (5, 4), (5, 4))),
    Case("add-broadcast", merge("Add", (5, 4), (1, 4))),
    Case("add-broadcast-rank", merge("Add", (5, 4), (4,))),
    Case("subtract", merge("Subtract", (5, 4), (5, 4))),
    Case("multiply-3", merge("Multiply", (4,), (4,), (4,))),
    Case("multiply-broadcast", merge("Multiply", (3, 3, 4), (1, 1, 4))),
    Case("average", merge("Average", (5, 4), (5, 4), (5, 4))),
    Case("maximum", merge("Maximum", (5, 4), (5, 4))),
    Case("maximum-3", merge("Maximum", (4,), (4,), (4,))),
    Case("minimum", merge("Minimum", (5, 4), (5, 4))),
    Case("concatenate", merge("Concatenate", (5, 4), (5, 3))),
    Case("concatenate-axis-1", merge("Concatenate", (5, 4), (2, 4), (1, 4), axis=1)),
    Case("concatenate-axis-minus-2", merge("Concatenate", (2, 5, 4), (2, 3, 4), axis=-2)),
    Case("attention", attention(num_heads=2, key_dim=3), zero=KEY_BIAS),
    Case("attention-causal", attention(causal=True, num_heads=2, key_dim=3), zero=KEY_BIAS),
    Case("attention-no-bias", attention(num_heads=3, key_dim=2, use_bias=False)),
    Case("attention-value-dim", attention(num_heads=2, key_dim=3, value_dim=5), zero=KEY_BIAS),
    Case("attention-output-shape", attention(num_heads=2, key_dim=3, output_shape=7), zero=KEY_BIAS),
    Case("attention-cross", attention(second=(7, 4), num_heads=2, key_dim=3), zero=KEY_BIAS),
    Case("attention-cross-key", attention(second=(7, 4), key=True, num_heads=2, key_dim=3), zero=KEY_BIAS + ("layers/dense_2/vars/1",)),
    Case("attention-axes", attention(shape=(3, 4, 5), num_heads=2, key_dim=3, attention_axes=(1, 2)), zero=KEY_BIAS),
    Case("attention-axis-2", attention(shape=(3, 4, 5), num_heads=2, key_dim=3, attention_axes=2), zero=KEY_BIAS),
    Case("attention-scores", attention(scores=True, num_heads=2, key_dim=3), zero=KEY_BIAS),
    Case("attention-masked", masked_attention, zero=KEY_BIAS),
    Case("embedding", tokens(mask=False)),
    Case("embedding-float-input", lambda: K.Sequential([K.Input((5,)), L.Embedding(9, 4), L.Flatten(), L.Dense(2)]),
         x=lambda rng, n, shape: rng.integers(0, 9, (n, *shape)).astype("f4")),
    Case("embedding-scalar", lambda: K.Sequential([K.Input((), dtype="int32"), L.Embedding(9, 4), L.Dense(2)])),
    Case("embedding-frozen", tokens(mask=False, trainable=False)),
    Case("mask-lstm", tokens(lambda: L.LSTM(4))),
    Case("mask-lstm-sequences", tokens(lambda: L.LSTM(4, return_sequences=True))),
    Case("mask-gru", tokens(lambda: L.GRU(4))),
    Case("mask-gru-before", tokens(lambda: L.GRU(4, reset_after=False))),
    Case("mask-rnn-backwards", tokens(lambda: L.SimpleRNN(4, go_backwards=True))),
    Case("mask-bidirectional", tokens(lambda: L.Bidirectional(L.LSTM(3, return_sequences=True)), lambda: L.GRU(4))),
    Case("mask-two-lstm", tokens(lambda: L.LSTM(4, return_sequences=True), lambda: L.LSTM(3))),
    Case("mask-time-distributed", tokens(lambda: L.TimeDistributed(L.Dense(4)), lambda: L.GRU(3))),
    Case("mask-through-dense", tokens(lambda: L.Dense(5, "relu"), lambda: L.Dropout(0.0), lambda: L.LayerNormalization(), lambda: L.LSTM(3))),
    Case("mask-batchnorm", tokens(lambda: L.BatchNormalization(), lambda: L.LSTM(3))),
    Case("mask-concatenate", masked_concat),
    Case("mask-reaches-loss", masked_loss, metrics=["mae"]),
    Case("encoder-decoder", encoder_decoder, loss="sparse_categorical_crossentropy", y="class:9", metrics=["accuracy"]),
    Case("gru-return-state", gru_state),
    Case("rnn-initial-state", initial_state),
    Case("bidirectional-state", bidirectional_state),
    Case("bidirectional-none", bidirectional_none),
    Case("lstm-stateful", stateful("LSTM"), may_refuse="stateful"),
    Case("gru-stateful", stateful("GRU"), may_refuse="stateful"),
    Case("rnn-stateful", stateful("SimpleRNN"), may_refuse="stateful"),
    Case("shared-layer", shared_layer),
    Case("shared-batchnorm", shared_batchnorm),
    Case("shared-embedding", shared_embedding),
    Case("nested", nested),
    Case("nested-twice", nested_twice, zero=("layers/dense/vars/1",)),
    Case("nested-many", nested_many),
    Case("nested-output", nested_output),
    Case("two-outputs", two_outputs),
    Case("two-outputs-losses", two_outputs, loss=["mse", "mae"], loss_weights=[0.3, 2.0], metrics=[["mae"], ["mse"]]),
    Case("output-inside", output_inside),
    Case("dict-inputs", dict_model),
    Case("residual", residual),
    Case("transformer", transformer, y="class:9", loss="sparse_categorical_crossentropy",
         zero=KEY_BIAS),
    Case("time-distributed-conv", time_distributed_conv),
    Case("time-distributed-batchnorm", time_distributed_batchnorm),
    Case("conv2d-channels-first", lambda: [L.Conv2D(4, 3, data_format="channels_first")], IMAGE, refuse="channels_first"),
    Case("operators", operators, may_refuse="keras.src.ops"),
]


def rows():
    for name, build in IMAGES.items():
        yield Case(name, lambda b=build: [b()], IMAGE)
    for name, build in SEQUENCES.items():
        yield Case(name, lambda b=build: [b()], SERIES)
    for name, (build, shape, word) in EXTRAS.items():
        yield Case("extra-" + name, lambda b=build: [b()], shape, may_refuse=word)
    yield from FUNCTIONAL


CASES = list(rows())
if LONG:  # each row with the other optimizer too
    CASES += [dataclasses.replace(c, name=c.name + "/other", opt="adam" if i % 2 == 0 else "sgd") for i, c in enumerate(CASES) if c.opt is None]

if __name__ == "__main__":
    main(CASES)
