# SPDX-License-Identifier: Apache-2.0
# timeout: 1500
# long form: 3600
"""Every layer with odd settings: predictions, then 20 training steps, as real Keras.

The short form takes a fifth of the networks, a tenth of the settings of each layer and a fifteenth of the odd ones; the long form takes all.
"""

import sys

import numpy as np
from oracle import K, L, Case, LONG, dataclasses, keras_module, main

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
    "transpose-valid": lambda: L.Conv2DTranspose(4, 3),
    "transpose-same": lambda: L.Conv2DTranspose(4, 3, padding="same", activation="relu"),
    "transpose-stride-2-same": lambda: L.Conv2DTranspose(5, 3, strides=2, padding="same", activation="tanh"),
    "transpose-stride-2-even": lambda: L.Conv2DTranspose(4, 4, strides=2, padding="same"),
    "transpose-stride-3-kernel-2": lambda: L.Conv2DTranspose(4, 2, strides=3),
    "transpose-stride-2x1": lambda: L.Conv2DTranspose(17, (3, 2), strides=(2, 1), use_bias=False),
    "transpose-output-padding": lambda: L.Conv2DTranspose(4, 3, strides=2, padding="same", output_padding=1),
    "transpose-output-padding-0": lambda: L.Conv2DTranspose(4, 3, strides=2, padding="same", output_padding=0),
    "transpose-output-padding-valid": lambda: L.Conv2DTranspose(4, (3, 2), strides=3, output_padding=(1, 2)),
    "transpose-1x1-stride-2": lambda: L.Conv2DTranspose(33, 1, strides=2, activation="softmax"),
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

# ---- the same with the channels in front
def convolve_first():
    """TensorFlow's CPU has no plain convolution with the channels in front; Keras then transposes for every layer but this one."""
    keras_module()
    import tensorflow as tf

    plain = tf.nn.convolution
    if getattr(plain, "moves_channels", False):
        return

    def convolution(x, kernel, strides, padding, data_format=None, dilations=None):
        moved = data_format in ("NCW", "NCHW")
        if moved:
            x = tf.experimental.numpy.moveaxis(x, 1, -1)
        y = plain(x, kernel, strides, padding, data_format=None if moved else data_format, dilations=dilations)
        return tf.experimental.numpy.moveaxis(y, -1, 1) if moved else y

    convolution.moves_channels = True
    tf.nn.convolution = convolution


def first(name, *args, **options):
    convolve_first()
    return getattr(L, name)(*args, data_format="channels_first", **options)


def channels_first_network():
    """Transposes in a row, and activations between them."""
    i = K.Input((3, 8, 6))
    t = first("Conv2D", 4, 3, padding="same", use_bias=False)(i)
    t = L.ReLU()(L.BatchNormalization(axis=1)(t))
    u = L.BatchNormalization(axis=1)(first("DepthwiseConv2D", 3, padding="same", use_bias=False)(t))
    t = first("MaxPooling2D", 2)(L.Add()([t, u]))
    t = first("SeparableConv2D", 5, 3, activation="relu")(first("SpatialDropout2D", 0.0)(t))
    return K.Model(i, L.Dense(3)(first("GlobalAveragePooling2D")(t)))


FIRST = (3, 7, 6)  # never as wide as there are channels behind: Keras would add the bias along the width then
FIRSTS = {
    "conv2d": lambda: first("Conv2D", 5, 3),
    "conv2d-all": lambda: first("Conv2D", 4, (3, 2), strides=(2, 1), padding="same", activation="relu"),
    "conv2d-dilation": lambda: first("Conv2D", 5, 3, dilation_rate=(2, 1), activation="tanh"),
    "conv2d-groups": lambda: first("Conv2D", 6, 3, groups=3, padding="same", use_bias=False),
    "depthwise": lambda: first("DepthwiseConv2D", 3, depth_multiplier=3, padding="same"),
    "depthwise-stride": lambda: first("DepthwiseConv2D", 3, strides=2, activation="elu"),
    "separable": lambda: first("SeparableConv2D", 4, 3, depth_multiplier=2, strides=2, padding="same"),
    "maxpool": lambda: first("MaxPooling2D", 2),
    "maxpool-overlap": lambda: first("MaxPooling2D", (3, 2), strides=(2, 1), padding="same"),
    "avgpool": lambda: first("AveragePooling2D", (2, 3), padding="same"),
    "global-average": lambda: first("GlobalAveragePooling2D"),
    "global-average-keepdims": lambda: first("GlobalAveragePooling2D", keepdims=True),
    "global-max": lambda: first("GlobalMaxPooling2D"),
    "zero-padding": lambda: first("ZeroPadding2D", ((1, 0), (2, 3))),
    "cropping": lambda: first("Cropping2D", ((1, 0), (2, 1))),
    "upsampling": lambda: first("UpSampling2D", (2, 3)),
    "upsampling-bilinear": lambda: first("UpSampling2D", (2, 3), interpolation="bilinear"),
    "spatial-dropout-0": lambda: first("SpatialDropout2D", 0.0),
    "flatten": lambda: first("Flatten"),
    "batchnorm": lambda: L.BatchNormalization(axis=1),
    "layernorm": lambda: L.LayerNormalization(axis=1),
    "layernorm-axes": lambda: L.LayerNormalization(axis=[2, 3]),
}
FIRSTS_1D = {
    "conv1d": lambda: first("Conv1D", 4, 3, strides=2),
    "conv1d-causal": lambda: first("Conv1D", 4, 3, padding="causal", dilation_rate=2),
    "depthwise1d": lambda: first("DepthwiseConv1D", 3, padding="same"),
    "separable1d": lambda: first("SeparableConv1D", 6, 3),
    "maxpool1d": lambda: first("MaxPooling1D", 2),
    "avgpool1d": lambda: first("AveragePooling1D", 3, strides=1, padding="same"),
    "global-max1d": lambda: first("GlobalMaxPooling1D", keepdims=True),
    "zero-padding1d": lambda: first("ZeroPadding1D", (1, 2)),
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

# ---- odd but legal: extents of 1, settings together that are seldom together
ODD_IMAGES = {
    "conv2d-one-pixel": (lambda: L.Conv2D(1, 1, padding="same"), (1, 1, 1)),
    "conv2d-one-row": (lambda: L.Conv2D(3, (1, 3), strides=(3, 2), padding="same"), (1, 7, 2)),
    "conv2d-one-column-dilated": (lambda: L.Conv2D(3, (2, 1), dilation_rate=(3, 1)), (7, 1, 2)),
    "conv2d-groups-dilated": (lambda: L.Conv2D(4, 2, groups=2, dilation_rate=2, padding="same", activation="relu"), (7, 6, 4)),
    "conv2d-groups-of-one": (lambda: L.Conv2D(8, 3, groups=4, padding="same", strides=(2, 3)), (7, 6, 4)),
    "conv2d-kernel-over-stride": (lambda: L.Conv2D(3, (2, 3), strides=(5, 4), padding="same", activation="tanh"), (11, 9, 2)),
    "conv2d-33-channels": (lambda: L.Conv2D(33, 3, strides=2, padding="same", use_bias=False), (7, 5, 33)),
    "depthwise-strided-dilated": (lambda: L.DepthwiseConv2D(2, strides=2, dilation_rate=2, padding="same"), (7, 6, 3)),
    "depthwise-strided-dilated-valid": (lambda: L.DepthwiseConv2D((2, 3), strides=2, dilation_rate=(1, 2), depth_multiplier=2), (9, 8, 2)),
    "depthwise-one-channel": (lambda: L.DepthwiseConv2D(3, depth_multiplier=5, padding="same", activation="relu"), (5, 4, 1)),
    "depthwise-17-channels": (lambda: L.DepthwiseConv2D((1, 4), strides=(1, 1), padding="same"), (4, 6, 17)),
    "separable-strided-dilated": (lambda: L.SeparableConv2D(4, 2, strides=2, dilation_rate=2, depth_multiplier=3), (9, 8, 2)),
    "separable-one-filter": (lambda: L.SeparableConv2D(1, (3, 1), padding="same", use_bias=False), (4, 4, 3)),
    "maxpool-gap-same": (lambda: L.MaxPooling2D((2, 1), strides=(3, 4), padding="same"), (8, 9, 2)),
    "maxpool-all": (lambda: L.MaxPooling2D((7, 6)), (7, 6, 3)),
    "maxpool-larger-same": (lambda: L.MaxPooling2D(9, strides=2, padding="same"), (7, 6, 3)),
    "avgpool-gap": (lambda: L.AveragePooling2D((1, 2), strides=(2, 5), padding="same"), (8, 9, 2)),
    "global-max-one": (lambda: L.GlobalMaxPooling2D(), (1, 1, 4)),
    "upsampling-one": (lambda: L.UpSampling2D((1, 4)), (1, 3, 2)),
    "upsampling-bilinear-one": (lambda: L.UpSampling2D((3, 2), interpolation="bilinear"), (1, 4, 2)),
    "upsampling-bilinear-3": (lambda: L.UpSampling2D(3, interpolation="bilinear"), (4, 5, 1)),
    "zero-padding-none": (lambda: L.ZeroPadding2D(0), (3, 3, 2)),
    "cropping-to-one": (lambda: L.Cropping2D(((3, 3), (0, 5))), (7, 6, 2)),
    "permute-4": (lambda: L.Permute((4, 2, 1, 3)), (2, 3, 4, 5)),
    "permute-5": (lambda: L.Permute((2, 5, 1, 4, 3)), (2, 3, 1, 2, 3)),
    "reshape-flat": (lambda: L.Reshape((-1,)), (3, 4, 2)),
    "reshape-one": (lambda: L.Reshape((1, 24, -1)), (3, 4, 2)),
    "flatten-vector": (lambda: L.Flatten(), (5,)),
    "batchnorm-vector": (lambda: L.BatchNormalization(center=False, scale=False, momentum=0.0), (5,)),
    "batchnorm-5d": (lambda: L.BatchNormalization(axis=2), (2, 3, 2, 2, 4)),
    "batchnorm-momentum-1": (lambda: L.BatchNormalization(momentum=1.0, epsilon=1e-5), (3, 4)),
    "batchnorm-synchronized": (lambda: L.BatchNormalization(synchronized=True), (3, 4)),
    "batchnorm-renamed": (lambda: L.BatchNormalization(beta_initializer="ones", moving_mean_initializer="ones", gamma_regularizer="l2"), (3, 4)),
    "layernorm-one": (lambda: L.LayerNormalization(axis=[-1, -2], scale=False), (4, 3, 1)),
    "layernorm-middle": (lambda: L.LayerNormalization(axis=2, gamma_regularizer="l1"), (3, 4, 5)),
    "layernorm-rms": (lambda: L.LayerNormalization(rms_scaling=True), (3, 4)),
    "softmax-axis-2": (lambda: L.Softmax(axis=2), (3, 4, 5)),
    "softmax-all": (lambda: L.Softmax(axis=(1, 2, 3)), (3, 4, 5)),
    "activation-softmax": (lambda: L.Activation("softmax"), (3, 4, 5)),
    "dense-5d": (lambda: L.Dense(3, activation="softmax"), (2, 1, 2, 3)),
    "dense-one": (lambda: L.Dense(1, use_bias=False), (1,)),
    "time-distributed-pool": (lambda: L.TimeDistributed(L.GlobalAveragePooling2D()), (3, 4, 4, 2)),
    "time-distributed-batchnorm-axis": (lambda: L.TimeDistributed(L.BatchNormalization(axis=1)), (3, 4, 2)),
    "time-distributed-lstm": (lambda: L.TimeDistributed(L.LSTM(3, return_sequences=True)), (3, 4, 2)),
    "time-distributed-twice": (lambda: L.TimeDistributed(L.TimeDistributed(L.Dense(3))), (3, 4, 2)),
    "time-distributed-permute": (lambda: L.TimeDistributed(L.Permute((2, 1))), (3, 4, 2)),
    "time-distributed-reshape": (lambda: L.TimeDistributed(L.Reshape((4, -1))), (3, 4, 2)),
    "time-distributed-layernorm-axis": (lambda: L.TimeDistributed(L.LayerNormalization(axis=1)), (3, 4, 2)),
    "normalization-axes": (lambda: L.Normalization(axis=(1, 2), mean=np.linspace(-1, 1, 12).reshape(3, 4), variance=np.ones((3, 4))), (3, 4)),
    "rescaling-image": (lambda: L.Rescaling(1 / 127.5, offset=-1), (4, 4, 3)),
    "leaky-relu-0": (lambda: L.LeakyReLU(negative_slope=0.0), (3, 4)),
    "relu-6": (lambda: L.ReLU(6.0), (3, 4)),
}
ODD_SEQUENCES = {
    "lstm-one": lambda: L.LSTM(1, return_sequences=True, use_bias=False),
    "gru-one": lambda: L.GRU(1, go_backwards=True),
    "rnn-one": lambda: L.SimpleRNN(1, return_sequences=True, go_backwards=True),
    "lstm-33": lambda: L.LSTM(33, go_backwards=True),
    "lstm-implementation-1": lambda: L.LSTM(4, implementation=1, return_sequences=True),
    "gru-implementation-1": lambda: L.GRU(4, implementation=1, unroll=True),
    "gru-before-implementation-1": lambda: L.GRU(4, implementation=1, reset_after=False),
    "lstm-linear": lambda: L.LSTM(4, activation=None, recurrent_activation="softsign"),
    "gru-elu": lambda: L.GRU(4, activation="elu", recurrent_activation="hard_sigmoid", reset_after=False),
    "rnn-gelu": lambda: L.SimpleRNN(4, activation="gelu"),
    "lstm-bias-ones": lambda: L.LSTM(4, bias_initializer="ones", recurrent_regularizer="l2", bias_regularizer="l1"),
    "rnn-of-cell": lambda: L.RNN(L.GRUCell(4, reset_after=False), return_sequences=True, go_backwards=True),
    "rnn-of-lstm-cell": lambda: L.RNN(L.LSTMCell(4, unit_forget_bias=False), unroll=True),
    "bidirectional-mul-last": lambda: L.Bidirectional(L.SimpleRNN(3), merge_mode="mul"),
    "bidirectional-backwards": lambda: L.Bidirectional(L.LSTM(3, return_sequences=True, go_backwards=True), merge_mode="ave",
                                                      backward_layer=L.LSTM(3, return_sequences=True)),
    "bidirectional-one": lambda: L.Bidirectional(L.GRU(1, use_bias=False), merge_mode="sum"),
    "bidirectional-rnn": lambda: L.Bidirectional(L.RNN(L.SimpleRNNCell(3), return_sequences=True)),
    "bidirectional-other-sequences": lambda: L.Bidirectional(L.LSTM(3, return_sequences=True), merge_mode="concat",
                                                            backward_layer=L.SimpleRNN(3, return_sequences=True, go_backwards=True)),
    "time-distributed-functional": lambda: L.TimeDistributed(inner_functional()),
    "time-distributed-softmax": lambda: L.TimeDistributed(L.Softmax()),
    "time-distributed-dropout-0": lambda: L.TimeDistributed(L.Dropout(0.0)),
}


def inner_functional():
    i = K.Input((4,))
    t = L.Dense(3, activation="tanh")(i)
    return K.Model(i, L.Concatenate()([L.Dense(2)(t), i]))


# ---- layers that item 5 does not list: right, or refused by name
EXTRAS = {
    "conv1d": (lambda: L.Conv1D(4, 3, padding="causal"), SERIES, "conv1d"),
    "conv1d-transpose": (lambda: L.Conv1DTranspose(4, 3, strides=2), SERIES, "conv1d_transpose"),
    "group-normalization": (lambda: L.GroupNormalization(3), IMAGE, "group_normalization"),
    "prelu": (lambda: L.PReLU(), SERIES, "p_re_lu"),
    "elu-layer": (lambda: L.ELU(), SERIES, "elu"),
    "global-average-1d": (lambda: L.GlobalAveragePooling1D(), SERIES, "global_average_pooling1d"),
    "repeat-vector": (lambda: L.RepeatVector(3), (4,), "repeat_vector"),
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


def stateful_both():
    """States of both directions, in front of a cell that keeps one too."""
    return K.Sequential([K.Input(batch_shape=(8, 4, 3)), L.Bidirectional(L.LSTM(4, stateful=True, return_sequences=True)),
                         L.RNN(L.GRUCell(3), stateful=True), L.Dense(2)])


def stateful_masked():
    return K.Sequential([K.Input(batch_shape=(8, 6), dtype="int32"), L.Embedding(9, 4, mask_zero=True), L.SimpleRNN(4, stateful=True), L.Dense(2)])


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


# ---- odd models
def hierarchy(*layers, inner=None):
    """Words in sentences: a mask of two axes, of which TimeDistributed hands a step to the layer inside."""

    def build():
        i = K.Input((3, 4), dtype="int32")
        t = L.TimeDistributed((inner or (lambda: L.LSTM(4)))())(L.Embedding(9, 4, mask_zero=True)(i))
        for layer in layers:
            t = layer()(t)
        return model(i, L.Dense(2)(L.Flatten()(t)))

    return build


def concatenated_hierarchy():
    i = K.Input((3, 4), dtype="int32")
    e = L.Embedding(9, 4, mask_zero=True)(i)
    a, b = L.TimeDistributed(L.LSTM(4))(e), L.TimeDistributed(L.GRU(4, go_backwards=True))(e)
    return model(i, L.Dense(2)(L.LSTM(3)(L.Concatenate()([a, b]))))


def inner_masked():
    """A model that takes and hands on a mask, inside TimeDistributed and alone."""
    i = K.Input((4, 4))
    return K.Model(i, L.LSTM(3)(L.Dense(4, activation="tanh")(i)))


def nested_mask():
    i = K.Input((6,), dtype="int32")
    inner_in = K.Input((6, 4))
    inner = K.Model(inner_in, L.Dense(5, activation="relu")(L.Dropout(0.0)(inner_in)))
    core = K.Sequential([K.Input((6, 5)), L.LayerNormalization(), L.GRU(4, return_sequences=True)])
    t = core(inner(L.Embedding(9, 4, mask_zero=True)(i)))
    return model(i, L.Dense(2)(L.LSTM(3)(t)))


def nested_embedding():
    """The mask is born inside the inner model."""
    core = K.Sequential([K.Input((6,), dtype="int32"), L.Embedding(9, 4, mask_zero=True), L.Dense(4, activation="tanh")])
    i = K.Input((6,), dtype="int32")
    return model(i, L.Dense(2)(L.Bidirectional(L.GRU(3))(core(i))))


def masked_softmax():
    a, m = K.Input((5, 4)), K.Input((5, 4), dtype="bool")
    return model([a, m], L.Dense(2)(L.Flatten()(L.Softmax(axis=1)(L.Dense(4)(a), mask=m))))


def masked_softmax_axes():
    a, m = K.Input((5, 4)), K.Input((1, 4), dtype="bool")
    return model([a, m], L.Dense(2)(L.Flatten()(L.Softmax(axis=(1, 2))(L.Dense(4)(a), mask=m))))


def masked_activation():
    i = K.Input((6,), dtype="int32")
    t = L.Activation("softmax")(L.Dense(4)(L.Embedding(9, 4, mask_zero=True)(i)))
    return model(i, L.Dense(2)(L.LSTM(3)(L.ReLU()(L.LeakyReLU()(t)))))


def masked_merges(kind):
    def build():
        i, j = K.Input((6,), dtype="int32"), K.Input((6,), dtype="int32")
        a, b = L.Embedding(9, 4, mask_zero=True)(i), L.Embedding(9, 4, mask_zero=True)(j)
        return model([i, j], L.Dense(2)(L.LSTM(3)(getattr(L, kind)()([a, b]))))

    return build


def half_masked(kind, **options):
    def build():
        i, j = K.Input((6,), dtype="int32"), K.Input((6, 4))
        a = L.Embedding(9, 4, mask_zero=True)(i)
        return model([i, j], L.Dense(2)(L.GRU(3)(getattr(L, kind)(**options)([a, L.Dense(4)(j)]))))

    return build


def concatenated_time():
    i, j = K.Input((6,), dtype="int32"), K.Input((3, 4))
    a = L.Embedding(9, 4, mask_zero=True)(i)
    return model([i, j], L.Dense(2)(L.GRU(3)(L.Concatenate(axis=1)([a, L.Dense(4)(j)]))))


def explicit_mask():
    i, m = K.Input(SERIES), K.Input((6,), dtype="bool")
    t = L.GRU(4, return_sequences=True)(L.Dense(4)(i), mask=m)
    return model([i, m], L.Dense(2)(L.LSTM(3)(t)))


def masked_values():
    """Masking, whose mask passes Dense, and ends in Flatten."""
    return K.Sequential([K.Input(SERIES), L.Masking(0.0), L.Dense(4), L.Bidirectional(L.LSTM(3, return_sequences=True)),
                         L.TimeDistributed(L.Dense(3)), L.BatchNormalization(), L.GRU(3), L.Dense(2)])


def with_zeros(rng, n, shape):
    x = rng.standard_normal((n, *shape)).astype("f4")
    x[rng.uniform(size=(n, shape[0])) < 0.4] = 0
    return x


def shared_lstm():
    a, b = K.Input(SERIES), K.Input((3, 4))
    d = L.LSTM(4)
    return model([a, b], L.Dense(2)(L.Subtract()([d(a), d(b)])))


def shared_bidirectional():
    a = K.Input(SERIES)
    d = L.Bidirectional(L.GRU(4, return_sequences=True), merge_mode="sum")
    return model(a, L.Dense(2)(L.Flatten()(d(d(a)))))


def shared_conv():
    a = K.Input((6, 6, 3))
    d, n = L.Conv2D(3, 3, padding="same"), L.BatchNormalization()
    return model(a, L.Dense(2)(L.Flatten()(L.ReLU()(n(d(L.ReLU()(n(d(a)))))))))


def shared_attention():
    a = K.Input((5, 6))
    d = L.MultiHeadAttention(2, 3)
    return model(a, L.Dense(2)(d(d(a, a), a)))


def bidirectional_states():
    i = K.Input(SERIES)
    f, b, h, c, g, d = L.Bidirectional(L.LSTM(3, return_state=True, return_sequences=True), merge_mode=None)(i)
    t = L.Bidirectional(L.LSTM(3), merge_mode="sum")(L.Add()([f, b]), initial_state=[h, c, g, d])
    return model(i, L.Dense(2)(t))


def attention_mask_given(shape=(5, 5), **options):
    def build():
        q, m = K.Input((5, 6)), K.Input(shape, dtype="bool")
        t = L.MultiHeadAttention(2, 3, **options)(L.Dense(6)(q), L.Dense(6)(q), attention_mask=m)
        return model([q, m], L.Dense(2)(t))

    return build


def attention_masked_cross():
    i, j = K.Input((6,), dtype="int32"), K.Input((4,), dtype="int32")
    a, b = L.Embedding(9, 4, mask_zero=True)(i), L.Embedding(9, 4, mask_zero=True)(j)
    return model([i, j], L.Dense(2)(L.LSTM(3)(L.MultiHeadAttention(2, 3)(a, b))))


def attention_masked_causal():
    i = K.Input((6,), dtype="int32")
    a = L.Embedding(9, 4, mask_zero=True)(i)
    return model(i, L.Dense(2)(L.MultiHeadAttention(2, 3, value_dim=2)(a, a, use_causal_mask=True)))


def embedding_chain():
    """mask_zero through everything that hands it on."""
    return tokens(lambda: L.Dropout(0.0), lambda: L.Dense(4, activation="gelu"), lambda: L.LayerNormalization(), lambda: L.Activation("tanh"),
                  lambda: L.BatchNormalization(), lambda: L.LSTM(4, return_sequences=True), lambda: L.TimeDistributed(L.Dense(4)),
                  lambda: L.Bidirectional(L.GRU(3, return_sequences=True), merge_mode="sum"), lambda: L.GlobalAveragePooling1D())


def attention_masked_grouped():
    """The mask passes attention over groups too, and reaches the loss."""
    i = K.Input((6,), dtype="int32")
    a = L.Embedding(9, 4, mask_zero=True)(i)
    return model(i, L.Dense(2)(L.GroupQueryAttention(3, 4, 2)(a, a, use_causal_mask=True)))


def without_gradient(**options):
    """A comparison lets no gradient through: the regularizer still acts, the constraint does not. Nothing comes near the bound."""

    def build():
        i = K.Input((4,))
        t = L.Dense(4, activation="tanh", kernel_initializer="identity")(i)
        u = K.ops.cast(L.Dense(3, kernel_initializer="ones", **options)(t) > 0.1, "float32")
        return model(i, L.Dense(2)(L.Concatenate()([t, u])))

    return build


def of_one_sign(rng, n, shape):
    return (rng.uniform(1, 2, (n, *shape)) * rng.choice((-1, 1), (n, 1))).astype("f4")


def remainders():
    """Quotients that are whole but for a rounding, of either sign."""
    i = K.Input((4,))
    t = L.Dense(4, kernel_initializer="identity")(i)
    return model(i, L.Dense(2)(L.Concatenate()([t % -0.3, t % 0.7, K.ops.mod(2.5, t + 40.0)])))


def log_sums():
    """Of minus infinity alone, too."""
    i = K.Input((4,))
    t = K.ops.log(K.ops.relu(i))
    sums = [K.ops.logsumexp(t, axis=1, keepdims=True), K.ops.expand_dims(K.ops.logsumexp(i, axis=1), 1), K.ops.logsumexp(-t, axis=1, keepdims=True)]
    return K.Model(i, L.Concatenate()(sums))


def log_sums_trained():
    i = K.Input((3, 4))
    t = L.Dense(5)(i)
    return model(i, L.Dense(2)(L.Concatenate()([K.ops.logsumexp(t, axis=(1, 2), keepdims=False)[:, None], K.ops.logsumexp(t, axis=1)])))


def three_paths():
    """Concatenate on three axes of images; a tensor that is used four times."""
    i = K.Input((4, 4, 3))
    t = L.Conv2D(3, 1, activation="relu")(i)
    a = L.Concatenate(axis=1)([t, i, t])
    b = L.Concatenate(axis=2)([a, L.ZeroPadding2D(((4, 4), (0, 0)))(t)])
    c = L.Concatenate(axis=-1)([b, L.UpSampling2D((3, 2))(t)])
    return model(i, L.Dense(2)(L.Flatten()(L.AveragePooling2D(2)(c))))


def broadcast_merges():
    a, b, c = K.Input((4, 1, 3)), K.Input((1, 5, 3)), K.Input((3,))
    t = L.Multiply()([L.Add()([L.Dense(3)(a), L.Dense(3)(b)]), L.Dense(3)(c)])
    return model([a, b, c], L.Dense(2)(L.Minimum()([L.Maximum()([t, b]), L.Average()([a, t])])))


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
    Case("lstm-stateful", stateful("LSTM")),
    Case("gru-stateful", stateful("GRU")),
    Case("rnn-stateful", stateful("SimpleRNN")),
    Case("lstm-stateful-sequences", stateful("LSTM", return_sequences=True, go_backwards=True)),
    Case("gru-stateful-validation", stateful("GRU", reset_after=False), validation=16),
    Case("bidirectional-stateful", stateful_both),
    Case("stateful-masked", stateful_masked, vocab=4),
    Case("shared-layer", shared_layer),
    Case("shared-batchnorm", shared_batchnorm),
    Case("shared-embedding", shared_embedding),
    Case("nested", nested),
    Case("nested-twice", nested_twice, opt="sgd", zero=("layers/dense/vars/1",)),
    Case("nested-many", nested_many),
    Case("nested-output", nested_output),
    Case("two-outputs", two_outputs),
    Case("two-outputs-losses", two_outputs, loss=["mse", "mae"], loss_weights=[0.3, 2.0], metrics=[["mae"], ["mse"]]),
    Case("output-inside", output_inside),
    Case("dict-inputs", dict_model),
    Case("residual", residual),
    Case("transformer", transformer, y="class:9", loss="sparse_categorical_crossentropy",
         zero=KEY_BIAS),
    # TensorFlow's gradient of an average whose window reaches over two borders is not the derivative of its average: predictions only
    Case("avgpool-larger-same", lambda: [L.AveragePooling2D(9, strides=3, padding="same")], IMAGE, train=False),
    Case("hierarchy", hierarchy()),
    Case("hierarchy-bidirectional", hierarchy(inner=lambda: L.Bidirectional(L.GRU(3)))),
    Case("hierarchy-average", hierarchy(inner=lambda: L.GlobalAveragePooling1D())),
    Case("hierarchy-model", hierarchy(inner=inner_masked)),
    Case("hierarchy-sequential", hierarchy(inner=lambda: K.Sequential([K.Input((4, 4)), L.Dense(3), L.SimpleRNN(3)]))),
    Case("hierarchy-concatenate", concatenated_hierarchy),
    Case("nested-mask", nested_mask),
    Case("nested-embedding", nested_embedding),
    Case("masked-activation", masked_activation),
    *[Case("masked-" + kind.lower(), masked_merges(kind)) for kind in ("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum")],
    *[Case("half-masked-" + kind.lower(), half_masked(kind)) for kind in ("Add", "Multiply", "Maximum", "Concatenate")],
    Case("masked-concatenate-time", concatenated_time),
    Case("masked-values", masked_values, x=with_zeros, opt="sgd", zero=("layers/time_distributed/layer/vars/1",)),
    Case("embedding-chain", embedding_chain()),
    Case("shared-lstm", shared_lstm),
    Case("shared-bidirectional", shared_bidirectional),
    Case("shared-conv", shared_conv, opt="sgd", zero=("layers/conv2d/vars/1",)),
    Case("shared-attention", shared_attention, zero=KEY_BIAS),
    Case("bidirectional-states", bidirectional_states),
    Case("softmax-mask", masked_softmax),
    Case("softmax-mask-axes", masked_softmax_axes),
    Case("explicit-mask", explicit_mask),
    Case("attention-mask", attention_mask_given(), zero=KEY_BIAS),
    Case("attention-mask-heads", attention_mask_given((2, 5, 5)), zero=KEY_BIAS),
    Case("attention-mask-one", attention_mask_given((1, 5)), zero=KEY_BIAS),
    Case("attention-masked-cross", attention_masked_cross, zero=KEY_BIAS),
    Case("attention-masked-causal", attention_masked_causal, zero=KEY_BIAS),
    Case("attention-one", attention(num_heads=1, key_dim=1, use_bias=False, value_dim=3)),
    Case("attention-output-matrix", attention(num_heads=2, key_dim=3, output_shape=(2, 4)), zero=KEY_BIAS),
    Case("attention-cross-value", attention(second=(7, 4), num_heads=3, key_dim=2, value_dim=4, output_shape=5), zero=KEY_BIAS),
    Case("attention-axes-cross", attention(shape=(3, 4, 5), second=(3, 6, 5), num_heads=2, key_dim=3, attention_axes=2), zero=KEY_BIAS),
    Case("attention-axis-1", attention(shape=(3, 4, 5), num_heads=2, key_dim=3, attention_axes=1), zero=KEY_BIAS),
    Case("attention-axes-3", attention(shape=(2, 3, 2, 4), num_heads=2, key_dim=3, attention_axes=(1, 3)), zero=KEY_BIAS),
    Case("attention-axes-value", attention(shape=(3, 4, 5), num_heads=2, key_dim=3, attention_axes=(2,), value_dim=2), zero=KEY_BIAS),
    Case("attention-causal-long", attention(causal=True, shape=(17, 6), num_heads=2, key_dim=17), zero=KEY_BIAS),
    Case("attention-masked-grouped", attention_masked_grouped, zero=KEY_BIAS, vocab=4),
    Case("no-gradient-regularizer", without_gradient(kernel_regularizer="l2", bias_regularizer="l1"), x=of_one_sign),
    Case("no-gradient-constraint", without_gradient(kernel_constraint="unit_norm"), x=of_one_sign),
    Case("log-sums", log_sums, train=False, x=lambda rng, n, shape: rng.integers(-3, 2, (n, *shape)).astype("f4")),
    Case("log-sums-trained", log_sums_trained),
    Case("remainders", remainders, train=False, x=lambda rng, n, shape: (rng.integers(-99, 99, (n, *shape)) * np.float32(0.3)).astype("f4")),
    Case("three-paths", three_paths),
    Case("broadcast-merges", broadcast_merges),
    Case("time-distributed-conv", time_distributed_conv),
    Case("time-distributed-batchnorm", time_distributed_batchnorm),
    Case("channels-first-network", channels_first_network),
    Case("first-conv2d-softmax", lambda: [first("Conv2D", 5, 3, activation="softmax")], FIRST, zero=("layers/conv2d/vars/1",)),
    Case("operators", operators, may_refuse="keras.src.ops"),
]


def rows():
    for name, build in IMAGES.items():
        yield Case(name, lambda b=build: [b()], IMAGE)
    for name, build in FIRSTS.items():
        yield Case("first-" + name, lambda b=build: [b()], FIRST)
    for name, build in FIRSTS_1D.items():
        yield Case("first-" + name, lambda b=build: [b()], (4, 7))
    for name, build in SEQUENCES.items():
        yield Case(name, lambda b=build: [b()], SERIES)
    for name, (build, shape) in ODD_IMAGES.items():
        yield Case("odd-" + name, lambda b=build: [b()], shape)
    for name, build in ODD_SEQUENCES.items():
        yield Case("odd-" + name, lambda b=build: [b()], SERIES)
    for name, (build, shape, word) in EXTRAS.items():
        yield Case("extra-" + name, lambda b=build: [b()], shape, may_refuse=word)
    yield from FUNCTIONAL


CASES = list(rows())
# Adam makes steps of noise where gradients are all but zero: with and without oneDNN Keras is further from itself than the tolerance.
NOISE = ("transformer", "softmax-mask")
if LONG:  # each row with the other optimizer too
    CASES += [dataclasses.replace(c, name=c.name + "/other", opt="adam" if i % 2 == 0 else "sgd")
              for i, c in enumerate(CASES) if c.opt is None and c.name not in NOISE]



def short(cases):
    """Whole tables would take minutes more: a row of them stands for its neighbours."""
    whole = {c.name for c in FUNCTIONAL}
    step = lambda name: 3 if name.startswith(("odd-", "first-")) else 2
    return [c for i, c in enumerate(cases) if c.name in whole or i % step(c.name) == 0]


if __name__ == "__main__":
    main(CASES if LONG or sys.argv[1:] else short(CASES), every=5)
