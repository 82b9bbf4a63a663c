# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""How layers are called: models inside by dictionaries, masks as arguments with axes of all kinds, states, arguments by position, as real Keras."""

import numpy as np
from oracle import K, L, Case, main


# ---- models inside, whose inputs are called otherwise than the keys, or lie deeper
def swapped():
    inputs = {"q": K.Input((4,), name="zz"), "p": K.Input((3,), name="aa")}
    inner = K.Model(inputs, L.Dense(3, name="s")(L.Concatenate()([inputs["p"], inputs["q"]])), name="inner")
    x, y = K.Input((4,), name="x"), K.Input((3,), name="yy")
    return K.Model([x, y], L.Dense(2)(inner({"p": y, "q": x})))


def deeper():
    inputs = {"b": [K.Input((4,), name="i1"), K.Input((3,), name="i2")], "a": K.Input((2,), name="i3")}
    h = L.Concatenate()([inputs["b"][0], inputs["a"], inputs["b"][1]])
    inner = K.Model(inputs, [L.Dense(3, name="s")(h), {"k": L.Dense(2, name="t")(h)}], name="inner")
    x, y, z = K.Input((4,), name="x"), K.Input((3,), name="y"), K.Input((2,), name="z")
    made = inner({"a": z, "b": [x, y]})
    return K.Model([x, y, z], L.Dense(2)(L.Concatenate()([made[0], made[1]["k"]])))


# ---- masks of attention
def attended(axes, mask, shape=(3, 4, 6), **call):
    """No biases: that of the keys has no gradient."""

    def build():
        x, m = K.Input(shape), K.Input(mask, dtype="bool")
        attention = L.MultiHeadAttention(2, 3, attention_axes=axes, use_bias=False)
        return K.Model([x, m], L.Dense(2)(L.Flatten()(attention(x, x, attention_mask=m, **call))))

    return build


def query_mask():
    """Keras takes another in its place, which this query has not."""
    x, m = K.Input((4, 6)), K.Input((4,), dtype="bool")
    return K.Model([x, m], L.Dense(2)(L.Flatten()(L.MultiHeadAttention(2, 3, use_bias=False)(x, x, query_mask=m))))


def array_mask():
    x = K.Input((4, 6))
    mask = np.tril(np.ones((1, 4, 4), "bool"))
    return K.Model(x, L.Dense(2)(L.Flatten()(L.MultiHeadAttention(2, 3, use_bias=False)(x, x, attention_mask=mask))))


# ---- Keras' MultiHeadAttention takes the masks off what it is called with: later layers see none
def words():
    x = K.Input((6,), dtype="int32")
    return x, L.Embedding(9, 4, mask_zero=True)(x)


def heads():
    return L.MultiHeadAttention(2, 2, use_bias=False)


def around():
    """Norms behind, as the first transformers had them; each position has a loss."""
    x, h = words()
    h = L.LayerNormalization()(L.Add()([h, heads()(h, h)]))
    h = L.LayerNormalization()(L.Add()([h, L.Dense(4)(L.Dense(8, activation="relu")(h))]))
    return K.Model(x, L.Dense(3, activation="softmax")(h))


def beside():
    """The second of two that are computed at one depth finds no mask."""
    x, h = words()
    a, b = heads()(h, h), heads()(h, h)
    return K.Model(x, L.Dense(2)(L.Flatten()(L.Concatenate()([b, a]))))


def before_and_behind():
    x, e = words()
    h = L.LSTM(4, return_sequences=True)(e)
    a = heads()(h, e)
    pooled = [L.GlobalAveragePooling1D()(t) for t in (e, L.Add()([a, h]))]
    return K.Model(x, L.Dense(2)(L.Concatenate()([L.GRU(3)(e), *pooled])))


def inside():
    i = K.Input((6, 4))
    inner = K.Model(i, heads()(i, i), name="inner")
    x, e = words()
    return K.Model(x, L.Dense(2)(L.GlobalAveragePooling1D()(L.Add()([e, inner(e)]))))


def words_of_two():
    x, c = K.Input((6,), dtype="int32"), K.Input((6,), dtype="int32")
    return x, c, L.Embedding(9, 4, mask_zero=True)(x), L.Embedding(9, 4, mask_zero=True)(c)


def inside_by_key(listed=False, keyword=False):
    """The keys are not in sorted order; of two tensors the model attends over one, and only that loses its mask."""

    def build():
        inputs = {"tokens": K.Input((6, 4), name="tokens"), "memory": K.Input((6, 4), name="memory")}
        h = L.Concatenate()([heads()(inputs["tokens"], inputs["tokens"]), L.Dense(2)(inputs["memory"])])
        inner = K.Model([inputs["memory"], inputs["tokens"]] if listed else inputs, h, name="inner")
        x, c, e, m = words_of_two()
        given = {"tokens": e, "memory": m}
        made = inner(inputs=given) if keyword else inner(given)
        h = L.Dense(4)(made)
        pooled = [L.GlobalAveragePooling1D()(L.Add()([t, h])) for t in (e, m)]
        return K.Model([x, c], L.Dense(2)(L.Concatenate()(pooled)))

    return build


def computed_by_key():
    """Of two at one depth the one whose key comes first is computed first."""
    x, h = words()
    a, b = heads()(h, h), heads()(h, h)
    inputs = {"tokens": K.Input((6, 4)), "memory": K.Input((6, 4))}
    inner = K.Model(inputs, L.Subtract()([L.Dense(3)(inputs["tokens"]), inputs["memory"][:, :, :3]]), name="inner")
    return K.Model(x, L.Dense(2)(L.Flatten()(inner({"tokens": a, "memory": b}))))


def inside_a_sequence():
    i = K.Input((6, 4))
    sequence = K.Sequential([K.Model(i, heads()(i, i), name="block"), L.Dense(4)], name="sequence")
    x, e = words()
    return K.Model(x, L.Dense(2)(L.GlobalAveragePooling1D()(L.Add()([e, sequence(e)]))))


def behind(layer, direct=False):
    """The mask lies on the tensor: a layer that returns the very one that it is given shares it."""

    def build():
        x, e = words()
        h = layer(e)
        a = heads()(h, h)
        pooled = [L.GlobalAveragePooling1D()(t) for t in ([L.Add()([a, e]), h] if direct else [a, e])]
        return K.Model(x, L.Dense(2)(L.Concatenate()(pooled)))

    return build


def model_of(*layers, dtype=None):
    i = K.Input((6, 4), dtype=dtype)
    h = i
    for layer in layers:
        h = layer(h)
    return K.Model(i, h)


def of_a_copy(inner):
    """What attends is handed a copy of another dtype, and only that loses its mask."""

    def build():
        x, e = words()
        attention = L.MultiHeadAttention(2, 2, use_bias=False, dtype="float64")
        a = model_of(lambda h: attention(h, h), dtype="float64")(e) if inner else attention(e, e)
        pooled = [L.GlobalAveragePooling1D()(t) for t in (a, e)]
        return K.Model(x, L.Dense(2)(L.Concatenate()(pooled)))

    return build


DROPS = 1e-12  # of elements: none; but in training the layer returns another tensor


# ---- recurrent layers
def both_ways(layer, shape, **settings):
    def build():
        x = K.Input(shape)
        made = L.Bidirectional(layer(), **settings)(x)
        return K.Model(x, L.Dense(2)(L.Concatenate()([L.Flatten()(t) for t in K.tree.flatten(made)])))

    return build


def stack():
    return L.RNN([L.LSTMCell(3), L.GRUCell(2)], return_sequences=True, return_state=True)


def handed_on():
    """The states of one layer begin another."""
    x, y = K.Input((4, 5, 5, 2)), K.Input((3, 5, 5, 2))
    _, h, c = L.ConvLSTM2D(2, 3, return_state=True, padding="same")(x)
    return K.Model([x, y], L.Dense(2)(L.Flatten()(L.ConvLSTM2D(2, 3, padding="same")(y, initial_state=[h, c]))))


# ---- by position
def third():
    x, m = K.Input((6, 4)), K.Input((6,), dtype="bool")
    return K.Model([x, m], L.Dense(2)(L.Bidirectional(L.LSTM(3))(x, None, m)))


def others():
    x, m, ids = K.Input((6, 4)), K.Input((6,), dtype="bool"), K.Input((5,), dtype="int32")
    table = L.ReversibleEmbedding(9, 4)
    h = L.Softmax()(L.Dense(6)(L.GlobalAveragePooling1D()(x, m)), m)
    words = L.GlobalMaxPooling1D()(table(L.LSTM(4, return_sequences=True)(table(ids)), reverse=True))
    return K.Model([x, m, ids], L.Dense(2)(L.Concatenate()([h, words])))


def array_added():
    x = K.Input((3,))
    return K.Model(x, L.Dense(2)(L.Add()([x, np.ones((1, 3), "f4")])))


CASES = [
    Case("inner-keys-are-no-names", swapped),
    Case("inner-lists-in-a-dictionary", deeper),
    Case("mask-by-head", attended(None, (2, 4, 4), shape=(4, 6))),
    Case("mask-of-two-axes", attended((1, 2), (3, 4, 3, 4))),
    Case("mask-of-two-axes-by-head", attended((1, 2), (2, 1, 4, 3, 1))),
    Case("mask-of-the-last-axis", attended((2,), (3, 4, 4)), fit=("--replicas", 3)),
    Case("mask-of-the-last-axis-by-head", attended((2,), (3, 2, 4, 4))),
    Case("mask-of-the-first-axis", attended((1,), (4, 3, 3))),
    Case("mask-of-the-query-by-name", query_mask),
    Case("mask-that-is-an-array", array_mask),
    Case("masks-around-attention", around, vocab=3, y="class", loss="sparse_categorical_crossentropy", weighted=["accuracy"]),
    Case("masks-beside-one-another", beside, vocab=3),
    Case("masks-before-and-behind", before_and_behind, vocab=3),
    Case("masks-of-an-inner-model", inside, vocab=3),
    Case("masks-of-an-inner-dictionary", inside_by_key(), vocab=3),
    Case("masks-of-an-inner-list-by-name", inside_by_key(listed=True), vocab=3),
    Case("masks-of-an-inner-model-by-keyword", inside_by_key(keyword=True), vocab=3),
    Case("masks-in-the-order-of-keys", computed_by_key, vocab=3),
    Case("masks-of-a-block-in-a-sequence", inside_a_sequence, vocab=3),
    Case("masks-behind-a-dropout", behind(lambda e: L.Dropout(DROPS)(e)), vocab=5, validation=20),
    Case("masks-behind-noise", behind(lambda e: L.GaussianNoise(DROPS)(e), direct=True), vocab=5, validation=20),
    Case("masks-behind-no-dropout", behind(lambda e: L.SpatialDropout1D(0.0)(e)), vocab=5),
    Case("masks-behind-a-name", behind(lambda e: K.Sequential([L.Identity(), L.Activation("linear"), L.ActivityRegularization(0.01)])(e)), vocab=5),
    Case("masks-behind-an-inner-dropout", behind(lambda e: model_of(L.Dropout(DROPS), L.AlphaDropout(DROPS))(e)), vocab=5, validation=20),
    Case("masks-behind-a-cast", behind(lambda e: K.ops.cast(e, "float32")), vocab=5),
    Case("masks-behind-an-activation", behind(lambda e: L.Activation("tanh")(e)), vocab=5),
    Case("masks-of-a-copy", of_a_copy(False), vocab=5),
    Case("masks-of-a-copy-inside", of_a_copy(True), vocab=5),
    Case("both-ways-conv-lstm", both_ways(lambda: L.ConvLSTM2D(2, 2, return_sequences=True, return_state=True), (4, 6, 6, 2), merge_mode="sum")),
    Case("both-ways-stack", both_ways(stack, (4, 3), merge_mode=None)),
    Case("conv-lstm-states", handed_on),
    Case("mask-by-position", third),
    Case("arguments-by-position", others),
    Case("array-beside-a-tensor", array_added, refuse="array among the arguments"),
]

if __name__ == "__main__":
    main(CASES)
