# SPDX-License-Identifier: Apache-2.0
"""SpectralNormalization: the kernel is another one at each step, in training alone; 20 training steps, as real Keras."""

from oracle import K, L, O, Case, main


def words(rng, n, shape):
    return rng.integers(0, 7, (n, *shape)).astype("f4")


def wrapped(make, **settings):
    return lambda: [L.SpectralNormalization(make(), **settings)]


def shared():
    x = K.Input((5,))
    norm = L.SpectralNormalization(L.Dense(5, activation="tanh"))
    return K.Model(x, L.Dense(2)(norm(norm(x))))


def zeros():
    return [L.SpectralNormalization(L.Dense(4, kernel_initializer="zeros")), L.SpectralNormalization(L.Dense(3, bias_initializer="ones"))]


def frozen():
    layer = L.SpectralNormalization(L.Dense(6))
    layer.trainable = False  # its kernel and vector go on changing
    return [layer]


CASES = [
    Case("dense", wrapped(lambda: L.Dense(6, activation="tanh")), (5,)),
    Case("dense-wide", wrapped(lambda: L.Dense(40), power_iterations=3), (5,)),
    Case("dense-penalised", wrapped(lambda: L.Dense(6, kernel_regularizer="l2", bias_regularizer="l1")), (5,)),
    Case("dense-constrained", wrapped(lambda: L.Dense(6, kernel_constraint="non_neg", activity_regularizer="l2")), (5,)),
    Case("conv", wrapped(lambda: L.Conv2D(4, 3, activation="relu"), power_iterations=2), (7, 6, 3)),
    Case("conv-transposed", wrapped(lambda: L.Conv2DTranspose(3, 2, strides=2)), (4, 4, 2)),
    Case("conv-depthwise", wrapped(lambda: L.DepthwiseConv2D(2, depth_multiplier=2)), (5, 5, 3)),
    Case("conv-volumes", wrapped(lambda: L.Conv3D(3, 2)), (4, 4, 3, 2)),
    Case("einsum", wrapped(lambda: L.EinsumDense("abc,cde->abde", (4, 2, 3), bias_axes="de")), (4, 5)),
    Case("embedding", wrapped(lambda: L.Embedding(7, 3)), (4,), stem=0, x=words),
    Case("frozen", frozen, (5,)),
    Case("zeros", zeros, (5,)),
    Case("twice", shared, (5,)),
    Case("two", lambda: [L.Dense(4), L.SpectralNormalization(L.Dense(4)), L.ReLU(), L.SpectralNormalization(L.Dense(3))], (5,)),
    Case("mean-of-two-batches", wrapped(lambda: L.Dense(6)), (5,), opt=lambda: O.SGD(0.1, gradient_accumulation_steps=2)),
]

if __name__ == "__main__":
    main(CASES)
