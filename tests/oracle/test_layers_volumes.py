# SPDX-License-Identifier: Apache-2.0
# timeout: 900
# long form: 1800
"""Volumes, LSTMs of convolutions, adaptive pooling, filters of UpSampling2D: predictions, then 20 training steps, as real Keras."""

from oracle import K, L, Case, main

VOLUME, MOVIE = (5, 6, 4, 2), (3, 6, 5, 2)
VOLUMES = {
    "conv3d": lambda: L.Conv3D(3, 3),
    "conv3d-same-stride": lambda: L.Conv3D(3, (2, 3, 2), strides=(2, 2, 1), padding="same", activation="relu"),
    "conv3d-dilation": lambda: L.Conv3D(3, 2, dilation_rate=(2, 1, 2), use_bias=False),
    "conv3d-groups": lambda: L.Conv3D(4, (2, 2, 3), groups=2, padding="same"),
    "conv3d-of-images": lambda: L.Conv3D(35, (1, 3, 3), padding="same", activation="elu"),
    "conv3d-stride-3": lambda: L.Conv3D(3, (2, 2, 2), strides=3, padding="same"),
    "conv3d-softmax": lambda: L.Conv3D(3, 2, activation="softmax", kernel_regularizer="l2"),
    "transpose3d": lambda: L.Conv3DTranspose(3, 3),
    "transpose3d-same-stride": lambda: L.Conv3DTranspose(3, (3, 2, 3), strides=2, padding="same", activation="tanh"),
    "transpose3d-stride-over-window": lambda: L.Conv3DTranspose(2, 2, strides=(3, 2, 1)),
    "transpose3d-output-padding": lambda: L.Conv3DTranspose(2, 3, strides=2, padding="same", output_padding=1),
    "adaptive-average-3d": lambda: L.AdaptiveAveragePooling3D((2, 4, 3)),
    "adaptive-max-3d": lambda: L.AdaptiveMaxPooling3D((2, 4, 3)),
}
MOVIES = {
    "conv-lstm2d": lambda: L.ConvLSTM2D(3, 3, padding="same"),
    "conv-lstm2d-valid-stride": lambda: L.ConvLSTM2D(3, (3, 2), strides=2, return_sequences=True),
    "conv-lstm2d-backwards": lambda: L.ConvLSTM2D(2, 2, go_backwards=True, return_sequences=True, activation="relu", recurrent_activation="hard_sigmoid"),
    "conv-lstm2d-no-bias-dilation": lambda: L.ConvLSTM2D(2, 2, dilation_rate=2, use_bias=False, unit_forget_bias=False),
    "conv-lstm2d-two": lambda: L.ConvLSTM2D(3, 2, padding="same", return_sequences=True),
    "conv-lstm2d-dropout-0": lambda: L.ConvLSTM2D(2, 3, dropout=0.0, recurrent_dropout=0.0, activity_regularizer="l2"),
}
OTHERS = {
    "conv-lstm1d": ((4, 7, 3), lambda: [L.ConvLSTM1D(3, 3, padding="same", return_sequences=True), L.ConvLSTM1D(2, 2)]),
    "conv-lstm3d": ((2, 3, 4, 3, 2), lambda: [L.ConvLSTM3D(2, 2, padding="same")]),
    "conv3d-first": ((2, 5, 6, 4), lambda: [L.Conv3D(3, 2, strides=(1, 2, 1), padding="same", data_format="channels_first")]),
    "adaptive-average-1d": ((7, 3), lambda: [L.AdaptiveAveragePooling1D(3)]),
    "adaptive-average-1d-more": ((3, 2), lambda: [L.AdaptiveAveragePooling1D(5)]),
    "adaptive-average-2d": ((7, 5, 3), lambda: [L.AdaptiveAveragePooling2D((3, 2))]),
    "adaptive-average-2d-first": ((3, 7, 5), lambda: [L.AdaptiveAveragePooling2D((3, 2), data_format="channels_first")]),
    "adaptive-max-1d": ((7, 3), lambda: [L.AdaptiveMaxPooling1D(3)]),
    "adaptive-max-2d": ((7, 5, 3), lambda: [L.AdaptiveMaxPooling2D((3, 2))]),
    "upsampling-bicubic": ((4, 3, 2), lambda: [L.UpSampling2D((2, 3), interpolation="bicubic")]),
    "upsampling-lanczos3": ((4, 3, 2), lambda: [L.UpSampling2D(2, interpolation="lanczos3")]),
    "upsampling-lanczos5": ((4, 3, 2), lambda: [L.UpSampling2D(2, interpolation="lanczos5")]),
}


def states():
    x = K.Input(MOVIE)
    y, h, c = L.ConvLSTM2D(2, 3, padding="same", return_sequences=True, return_state=True)(x)
    return K.Model(x, L.Dense(2)(L.Concatenate()([L.Flatten()(y), L.Flatten()(h), L.Flatten()(c)])))


def given_state():
    x, h = K.Input(MOVIE), K.Input((6, 5, 2))
    return K.Model([x, h], L.Dense(2)(L.Flatten()(L.ConvLSTM2D(2, 3, padding="same")(x, initial_state=[h, h]))))


def stateful(layer, *shape):
    return lambda: K.Sequential([K.Input(batch_shape=(8, *shape)), layer(), L.Flatten(), L.Dense(2)])


# by SGD: two places of a window come so near one another that rounding decides, and Adam makes whole steps of what that changes
CASES = [Case(name, lambda make=make: [make()], VOLUME, opt="sgd" if name == "adaptive-max-3d" else None) for name, make in VOLUMES.items()]
CASES += [Case(name, lambda make=make: [make()], MOVIE) for name, make in MOVIES.items()]
CASES += [Case(name, build, shape) for name, (shape, build) in OTHERS.items()]
CASES += [Case("conv-lstm2d-states", states), Case("conv-lstm2d-given-state", given_state)]
CASES += [Case("conv-lstm2d-stateful", stateful(lambda: L.ConvLSTM2D(2, (3, 2), strides=2, stateful=True, return_sequences=True), *MOVIE)),
          Case("conv-lstm2d-stateful-replicas", stateful(lambda: L.ConvLSTM2D(2, 3, padding="same", go_backwards=True, stateful=True), *MOVIE), fit=("--replicas", 3)),
          Case("conv-lstm1d-stateful-validation", stateful(lambda: L.ConvLSTM1D(3, 2, stateful=True), 4, 7, 3), validation=16)]

if __name__ == "__main__":
    main(CASES, every=3)
