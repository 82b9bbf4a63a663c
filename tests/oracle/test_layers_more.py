# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""More of Keras' layers, a family after another: predictions, then 20 training steps, as real Keras."""

from oracle import K, L, Case, main


def chain(*layers, shape=(6,)):
    return lambda: K.Sequential([K.Input(shape), *[make() for make in layers], L.Flatten(), L.Dense(2)])


# ---- penalties of activities
def sparse_autoencoder():
    return K.Sequential([K.Input((6,)), L.Dense(4, activation="relu", activity_regularizer=K.regularizers.L1(0.01)), L.Dense(6)])


def shared():
    """A layer called twice adds to the loss twice; so does one inside a model inside the model."""
    x = K.Input((6,))
    twice = L.Dense(6, activity_regularizer="l2")
    inner = K.Sequential([K.Input((6,)), L.Dense(3, activity_regularizer="l1")])
    return K.Model(x, L.Dense(2)(inner(twice(twice(x)))))


def attention(cls, *sizes):
    def build():
        x = K.Input((5, 4))
        return K.Model(x, L.Dense(2)(L.Flatten()(cls()(*sizes, activity_regularizer=K.regularizers.L2(0.02))(x, x))))

    return build


def only_penalty():
    """One output without a loss of its own: what is left is the penalty."""
    x = K.Input((6,))
    a, b = L.Dense(3, name="a", activity_regularizer="l2")(x), L.Dense(2, name="b")(x)
    return K.Model(x, [a, b])


CASES = [
    Case("activity-autoencoder", sparse_autoencoder),
    Case("activity-batch-that-is-short", sparse_autoencoder, rows=78),
    Case("activity-regularization", chain(lambda: L.Dense(8), lambda: L.ActivityRegularization(l1=0.01, l2=0.02))),
    Case("activity-of-convolution", chain(lambda: L.Conv2D(3, 3, activation="tanh", activity_regularizer=K.regularizers.L1L2(0.01, 0.02)), shape=(6, 6, 2))),
    Case("activity-of-separable", chain(lambda: L.SeparableConv2D(3, 3, activity_regularizer="l2"), shape=(6, 6, 2))),
    Case("activity-of-relu", chain(lambda: L.Dense(8), lambda: L.ReLU(activity_regularizer="l1"))),
    Case("activity-of-lstm", chain(lambda: L.LSTM(4, return_sequences=True, activity_regularizer="l2"), shape=(5, 3))),
    Case("activity-in-time-distributed", chain(lambda: L.TimeDistributed(L.Dense(4, activity_regularizer="l2")), shape=(5, 3))),
    Case("activity-in-bidirectional", chain(lambda: L.Bidirectional(L.GRU(3, activity_regularizer="l2")), shape=(5, 3))),
    Case("activity-shared-and-nested", shared),
    Case("activity-of-two-outputs", only_penalty, y=["real", "real"], loss=["mse", None]),
    Case("activity-validation-and-weights", sparse_autoencoder, validation=20, weight=lambda rng, n: rng.uniform(0.5, 2, n).astype("f4")),
    Case("activity-of-multi-head", attention(lambda: L.MultiHeadAttention, 2, 3)),
    Case("activity-of-grouped", attention(lambda: L.GroupQueryAttention, 3, 4, 2)),
    Case("activity-of-a-cell", chain(lambda: L.RNN(L.LSTMCell(3, activity_regularizer="l2")), shape=(5, 3)), refuse="activity_regularizer"),
]


# ---- attention by sums
def additive(scores=False, masked=False, causal=False, three=False, **settings):
    def build():
        words, x = K.Input((5,), dtype="int32"), K.Input((6, 4))
        q = L.Embedding(9, 4, mask_zero=True)(words) if masked else L.Embedding(9, 4)(words)
        v = L.Masking(-9.0)(x) if masked else x
        cls = L.Attention if "score_mode" in settings else L.AdditiveAttention
        tensors = [q, v, L.Dense(4)(v)] if three else [q, v]
        out = cls(**settings)(tensors, return_attention_scores=scores, use_causal_mask=causal)
        out = L.Concatenate(axis=-1)(list(out)) if scores else out
        return K.Model([words, x], L.Dense(2)(L.Flatten()(out)))

    return build


CASES += [
    Case("additive", additive()),
    Case("additive-no-scale", additive(use_scale=False, scores=True)),
    Case("additive-key-and-causal", additive(three=True, causal=True)),
    Case("additive-masked", additive(masked=True)),
    Case("concat", additive(score_mode="concat", scores=True)),
    Case("concat-scale-masked", additive(score_mode="concat", use_scale=True, masked=True, causal=True)),
]


# ---- queries that see nothing: rows of padding alone are an eighth of these
def blind(layer, causal=False, scores=False, large=1.0, axes=False):
    """What Keras makes of them depends on its way: a dropout that never drops leads it where its scores are masked apart."""

    def build():
        words, x = K.Input((3,), dtype="int32"), K.Input((3, 4))
        more = K.Input((3,), dtype="int32")
        q = L.Embedding(2, 4, mask_zero=True, embeddings_initializer=K.initializers.RandomNormal(stddev=large))(words)
        v = L.Dense(4)(L.Embedding(2, 4, mask_zero=True)(more) + x) * large
        call = {"use_causal_mask": causal, "return_attention_scores": scores}
        made = layer()
        if axes:
            spread = L.Reshape((1, 3, 4))
            out = made(spread(q), spread(v), attention_mask=K.ops.reshape(K.ops.cast(more, "bool"), (-1, 1, 3)), **call)
        else:
            out = made([q, v], **call) if isinstance(made, L.Attention) else made(q, v, **call)
        out = L.Concatenate()([L.Flatten()(part) for part in out]) if scores else L.Flatten()(out)
        return K.Model([words, more, x], L.Dense(2)(out))

    return build


NEVER = 1e-12
CASES += [
    Case("blind-heads", blind(lambda: L.MultiHeadAttention(2, 3)), vocab=2, zero=("key_dense/vars/1",)),
    Case("blind-heads-dropout", blind(lambda: L.MultiHeadAttention(2, 3, dropout=NEVER)), vocab=2, zero=("key_dense/vars/1",)),
    Case("blind-heads-scores-causal", blind(lambda: L.MultiHeadAttention(2, 3), causal=True, scores=True), vocab=2, zero=("key_dense/vars/1",)),
    Case("blind-heads-causal", blind(lambda: L.MultiHeadAttention(2, 3), causal=True), vocab=2, zero=("key_dense/vars/1",)),
    Case("blind-heads-axes", blind(lambda: L.MultiHeadAttention(2, 3, attention_axes=(2,)), axes=True), vocab=2, zero=("key_dense/vars/1",)),
    Case("blind-groups", blind(lambda: L.GroupQueryAttention(3, 4, 2)), vocab=2, zero=("key_dense/vars/1",)),
    Case("blind-groups-dropout", blind(lambda: L.GroupQueryAttention(3, 4, 2, dropout=NEVER), causal=True), vocab=2, zero=("key_dense/vars/1",)),
    Case("blind-groups-scores", blind(lambda: L.GroupQueryAttention(3, 4, 2), scores=True), vocab=2, zero=("key_dense/vars/1",)),
    Case("blind-dots", blind(lambda: L.Attention(use_scale=True), scores=True), vocab=2),
    Case("blind-dots-causal", blind(lambda: L.Attention(dropout=NEVER), causal=True), vocab=2),
    Case("blind-dots-large", blind(lambda: L.Attention(), scores=True, large=4.0), vocab=2),
    Case("blind-sums", blind(lambda: L.AdditiveAttention(), causal=True, scores=True), vocab=2),
    Case("blind-concat", blind(lambda: L.Attention(score_mode="concat"), scores=True), vocab=2),
]


# ---- batches that are corrected towards moving statistics
def renorm(*shape, masked=False, **settings):
    def build():
        x = K.Input(shape)
        h = L.Masking(0.0)(x) if masked else L.Dense(shape[-1], activation="tanh")(x)
        return K.Model(x, L.Dense(2)(L.Flatten()(L.BatchNormalization(renorm=True, **settings)(h))))

    return build


def with_padding(rng, n, shape):
    x = rng.standard_normal((n, *shape)).astype("f4")
    x[rng.uniform(size=x.shape[:-1]) < 0.4] = 0
    return x


CLIPPED = {"rmin": 0.7, "rmax": 1.2, "dmax": 0.3}
CASES += [
    Case("renorm", renorm(6)),
    Case("renorm-clipped", renorm(5, 4, renorm_clipping=CLIPPED, renorm_momentum=0.8, momentum=0.9)),
    Case("renorm-without-scale", renorm(5, 4, renorm_clipping={"rmax": 2.0}, scale=False, epsilon=0.01)),
    Case("renorm-without-anything", renorm(6, scale=False, center=False, moving_variance_initializer="zeros", renorm_clipping={"rmax": 3.0, "dmax": 2.0}), validation=20),
    Case("renorm-axis-1", renorm(3, 4, 2, axis=1, renorm_clipping={"dmax": 0.5})),
    Case("renorm-masked", renorm(5, 4, masked=True, renorm_clipping=CLIPPED), x=with_padding),
    Case("renorm-short-batch", renorm(6, renorm_momentum=0.5), rows=77),
]


# ---- axes in an order of their own
CASES += [
    Case("norm-axes-as-written", chain(lambda: L.Dense(3), lambda: L.LayerNormalization(axis=[1, -1], gamma_initializer="uniform", beta_initializer="normal"), shape=(5, 3))),
    Case("norm-axes-of-three", chain(lambda: L.Dense(3), lambda: L.LayerNormalization(axis=[3, -2, 1], rms_scaling=True, gamma_initializer="uniform"), shape=(5, 2, 3))),
    Case("norm-by-root-of-another-axis", chain(lambda: L.Dense(4), lambda: L.RMSNormalization(axis=1), shape=(4, 4))),
    Case("norm-by-root-of-two-axes", chain(lambda: L.Dense(4), lambda: L.RMSNormalization(axis=[1, 2]), shape=(4, 4, 4))),
]


# ---- a table that is read both ways
def reversible(**settings):
    def build():
        words = K.Input((5,), dtype="int32")
        table = L.ReversibleEmbedding(9, 4, **settings)
        return K.Model(words, table(L.Dense(4, activation="tanh")(table(words)), reverse=True))

    return build


CASES += [
    Case("reversible", reversible()),
    Case("reversible-untied", reversible(tie_weights=False, embeddings_initializer="glorot_uniform")),
    Case("reversible-capped", reversible(logit_soft_cap=0.5, embeddings_regularizer="l2")),
    Case("reversible-masked", reversible(mask_zero=True, reverse_dtype="float32")),
]


# ---- open axes that yet take one extent
def constant_positions():
    """The record alone says that there are six words; artel learns the shapes of variables before it sees data."""
    words, more = K.Input((None,), dtype="int32"), K.Input((None,), dtype="int32")
    x = L.Embedding(9, 4)(words) + L.Embedding(6, 4)(K.ops.expand_dims(K.ops.arange(0, 6), 0))
    return K.Model([words, more], L.Dense(3)(x + L.LSTM(4, return_sequences=True)(L.Embedding(9, 5)(more))))


CASES.append(Case("constant-positions", constant_positions, time=6))


# ---- equations whose kernel is no matrix as it stands
def einsum(equation, shape, out, **settings):
    return chain(lambda: L.EinsumDense(equation, output_shape=out, kernel_regularizer="l2", **settings), shape=shape)


CASES += [
    Case("einsum-kernel-the-other-way", einsum("btd,ndh->btnh", (4, 6), (4, 2, 3), bias_axes="nh", activation="relu")),
    Case("einsum-kernel-turned-back", einsum("btnh,nhd->btd", (4, 2, 3), (4, 5), bias_axes="d", bias_initializer="normal")),
    Case("einsum-experts", einsum("abec,ecd->abed", (4, 3, 6), (4, 3, 5), bias_axes="ed", activation="tanh")),
    Case("einsum-element-by-element", einsum("abc,bc->abc", (4, 6), (4, 6))),
    Case("einsum-input-summed", einsum("abc,cd->ad", (4, 6), 3, bias_axes="d")),
    Case("einsum-ellipsis-turned", einsum("...ab,cb->...ac", (2, 4, 6), (4, 3), kernel_initializer="he_uniform")),
]

if __name__ == "__main__":
    main(CASES)
