# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""Regularisers on kernels, biases and outputs, constraints: in the loss, in the gradient, as real Keras."""

from oracle import K, L, Case, Lazy, main

R = Lazy("regularizers")
C = Lazy("constraints")


def dense(**options):
    """`options` are functions: objects are made anew for each model."""
    return lambda: K.Sequential([K.Input((6,)), L.Dense(7, activation="tanh", **{k: f() for k, f in options.items()}), L.Dense(2)])


def conv(**options):
    return lambda: K.Sequential([K.Input((5, 5, 3)), L.Conv2D(4, 3, **{k: f() for k, f in options.items()}), L.Flatten(), L.Dense(2)])


def many():
    """Each kind of layer that takes regularisers."""
    r = lambda: R.L2(0.01)
    i = K.Input((6, 6, 2))
    t = L.SeparableConv2D(3, 3, depthwise_regularizer=r(), pointwise_regularizer=R.L1(0.01), bias_regularizer=r())(i)
    t = L.DepthwiseConv2D(2, depthwise_regularizer=r(), bias_regularizer=r())(t)
    t = L.BatchNormalization(beta_regularizer=r(), gamma_regularizer=r())(t)
    t = L.LayerNormalization(beta_regularizer=r(), gamma_regularizer=r())(t)
    t = L.Reshape((9, 3))(t)
    t = L.MultiHeadAttention(2, 2, kernel_regularizer=r())(t, t)
    t = L.LSTM(4, kernel_regularizer=r(), recurrent_regularizer=R.L1(0.01), bias_regularizer=r(), return_sequences=True)(t)
    t = L.GRU(3, kernel_regularizer=r(), recurrent_regularizer=r(), bias_regularizer=r())(t)
    return K.Model(i, L.Dense(2, kernel_regularizer="l2", bias_regularizer="l1")(t))


def embedding():
    return K.Sequential([K.Input((4,), dtype="int32"), L.Embedding(9, 3, embeddings_regularizer=R.L2(0.02)), L.Flatten(), L.Dense(2)])


def shared():
    a, b = K.Input((4,)), K.Input((4,))
    d = L.Dense(4, kernel_regularizer=R.L2(0.05))
    return K.Model([a, b], L.Dense(2)(L.Add()([d(a), d(b)])))


def nested():
    inner = K.Sequential([K.Input((4,)), L.Dense(4, kernel_regularizer=R.L1(0.02))])
    return K.Sequential([K.Input((4,)), inner, L.Dense(2)])


def frozen():
    m = dense(kernel_regularizer=lambda: R.L2(0.1))()
    m.layers[0].trainable = False
    return m


CASES = [
    Case("l1", dense(kernel_regularizer=lambda: R.L1(0.01))),
    Case("l2", dense(kernel_regularizer=lambda: R.L2(0.01))),
    Case("l1-l2", dense(kernel_regularizer=lambda: R.L1L2(0.01, 0.02))),
    Case("by-name", dense(kernel_regularizer=lambda: "l2", bias_regularizer=lambda: "l1")),
    Case("bias", dense(bias_regularizer=lambda: R.L2(0.1))),
    Case("conv", conv(kernel_regularizer=lambda: R.L2(0.02), bias_regularizer=lambda: R.L1(0.01))),
    Case("every-layer", many, metrics=["mae"], zero=("key_dense/vars/1",)),
    Case("embedding", embedding),
    Case("shared-layer-once", shared),
    Case("nested", nested),
    Case("frozen", frozen),
    Case("validation-includes", dense(kernel_regularizer=lambda: R.L2(0.1)), validation=20, metrics=["mse"]),
    Case("short-last-batch", dense(kernel_regularizer=lambda: R.L2(0.1)), rows=75),
    Case("sample-weight", dense(kernel_regularizer=lambda: R.L2(0.1)), weight=lambda rng, n: rng.uniform(0, 2, n).astype("f4")),
    Case("orthogonal-rows", dense(kernel_regularizer=lambda: R.OrthogonalRegularizer(0.5))),
    Case("orthogonal-columns", dense(kernel_regularizer=lambda: R.OrthogonalRegularizer(0.5, "columns")), fit=("--replicas", 2)),
    # beyond the list of docs/coverage.md: right, or refused by name
    Case("activity", dense(activity_regularizer=lambda: R.L2(0.01)), may_refuse="activity_regularizer"),
    # Keras takes full batches alone for rows
    Case("orthogonal-activity-rows", dense(activity_regularizer=lambda: R.OrthogonalRegularizer(0.8)), fit=("--replicas", 2)),
    Case("orthogonal-activity-columns", dense(activity_regularizer=lambda: R.OrthogonalRegularizer(0.8, "columns")), rows=75),
    Case("max-norm", dense(kernel_constraint=lambda: C.MaxNorm(0.8)), may_refuse="kernel_constraint"),
    Case("non-neg", dense(kernel_constraint=lambda: C.NonNeg()), may_refuse="kernel_constraint"),
    Case("unit-norm", dense(kernel_constraint=lambda: C.UnitNorm(axis=0)), may_refuse="kernel_constraint"),
    Case("min-max-norm", dense(bias_constraint=lambda: C.MinMaxNorm(0.1, 0.9, rate=0.7)), may_refuse="bias_constraint"),
    Case("unit-norm-of-outputs", dense(kernel_constraint=lambda: C.UnitNorm(axis=1)), fit=("--replicas", 2)),
    Case("min-max-norm-of-outputs", dense(kernel_constraint=lambda: C.MinMaxNorm(0.3, 0.8, rate=0.6, axis=-1))),
    Case("conv-axes-apart", conv(kernel_constraint=lambda: C.MaxNorm(0.4, axis=[0, 3]))),
    Case("conv-max-norm", conv(kernel_constraint=lambda: C.MaxNorm(0.5, axis=[0, 1, 2])), may_refuse="kernel_constraint"),
]

if __name__ == "__main__":
    main(CASES)
