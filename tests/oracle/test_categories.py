# SPDX-License-Identifier: Apache-2.0
# timeout: 900
# long form: 1800
"""Layers of words and categories: one after another in models that train, and many drawn at random side by side.

A model of random layers has one output for each of them, so that a row of the table compares a dozen configurations. Words are drawn from
letters of several alphabets, blanks, punctuation and emoji, and some are empty. Keras takes strings as tensors of TensorFlow alone.
"""

import os

import numpy as np

import oracle
from oracle import K, L, Case, Failure, run_case

LETTERS = list("abcdefgXYZ") + ["ß", "é", "Ü", "я", "語", "😀", "e\u0301"]
SPACES = [" ", "  ", "\t", " \n", "\u00a0", "\u3000"]
MARKS = list("!\"#$%&()*+,-./:;<=>?@[\\]^_`{|}~'") + ["…", "«"]


def word(rng, most=6):
    return "".join(rng.choice(LETTERS, rng.integers(0, most + 1)))


def words(rng, count, most=6):
    """Different ones, none of them empty."""
    found = {}
    while len(found) < count:
        found[word(rng, most)] = None
        found.pop("", None)
    return list(found)


def text(rng):
    parts = []
    for _ in range(rng.integers(0, 12)):
        parts.append(rng.choice([word(rng, 3), word(rng, 1), str(rng.integers(0, 30)), rng.choice(["The", "the", "cat", "Cat", "of"])]))
        parts.append(rng.choice(SPACES) if rng.uniform() < 0.7 else rng.choice(MARKS))
    return "".join(parts)


# ---- strings in the table's data
VOCABULARY = words(np.random.default_rng(28), 12)


def draw_string(rng, name):
    if name.startswith("text"):
        return text(rng)
    return rng.choice(VOCABULARY) if rng.uniform() < 0.7 else word(rng)


def draw_integers(rng, name, shape):
    wide = rng.integers(-(2**40), 2**40, shape)
    return np.where(rng.uniform(size=shape) < 0.8, rng.integers(-3, 14, shape), wide) if name.startswith("wide") else rng.integers(0, 14, shape)


def make_data(case, model, rng, n):
    xs = []
    for tensor in model.inputs:
        shape, name = (n, *tensor.shape[1:]), tensor._keras_history.operation.name
        if tensor.dtype == "string":
            xs.append(np.array([draw_string(rng, name) for _ in range(int(np.prod(shape)))], dtype=object).reshape(shape))
        elif "int" in tensor.dtype:
            xs.append(draw_integers(rng, name, shape).astype(tensor.dtype))
        else:
            xs.append(rng.normal(0, 4, shape).astype("f4").round(1))
    ys = [oracle.make_target(case.y, rng, n, tuple(tensor.shape[1:])) for tensor in model.outputs] if case.train else []
    import tensorflow as tf

    return [tf.constant(x) for x in xs], ys


def save_data(path, names, xs, ys, weight=None):
    """Strings as bytes or as code points, in turn."""
    arrays = []
    for i, x in enumerate(x.numpy() for x in xs):
        arrays.append(x if x.dtype != object else x.astype("S") if i % 2 else np.char.decode(x.astype("S"), "utf-8"))
    single = len(xs) == 1 and len(ys) == 1
    named = {"x": arrays[0], "y": ys[0]} if single else {**dict(zip(names[0], arrays)), **dict(zip(names[1], ys))}
    np.savez(path, **named)


def run(case, index, folder, keras_only):
    """With the data of this table."""
    before = oracle.make_data, oracle.save_data
    oracle.make_data, oracle.save_data = make_data, save_data
    try:
        return run_case(case, index, folder, keras_only)
    finally:
        oracle.make_data, oracle.save_data = before


# ---- drawn at random
def encodings(rng, *modes):
    return {"output_mode": str(rng.choice(modes))}


def string_lookup(rng):
    oov, mask = int(rng.integers(1, 4)), str(rng.choice(["", VOCABULARY[3], "none"]))
    mask = None if mask == "none" else mask
    mode = encodings(rng, "int", "one_hot", "multi_hot", "count", "tf_idf")
    front = ([mask] if mask is not None and mode["output_mode"] == "int" else []) + ["[UNK]"] * oov
    chosen = [str(w) for w in rng.permutation(VOCABULARY)[: rng.integers(1, 12)] if w != mask] or ["q"]
    chosen = front + chosen if rng.uniform() < 0.4 else chosen
    more = {"idf_weights": [float(w) for w in rng.uniform(0.1, 2, len(chosen)).astype("f4")]} if mode["output_mode"] == "tf_idf" else {}
    if rng.uniform() < 0.3 and mode["output_mode"] != "int":
        more.update(max_tokens=len(chosen) + len(front) + 3, pad_to_max_tokens=True)
    if rng.uniform() < 0.3:
        more["salt"] = [int(rng.integers(0, 99)), int(rng.integers(0, 2**40))]
    return L.StringLookup(vocabulary=chosen, num_oov_indices=oov, mask_token=mask, **mode, **more)


def integer_lookup(rng):
    oov, mask = int(rng.integers(1, 4)), rng.choice([0, 5, -7])
    mask = None if mask == -7 else int(mask)
    mode = encodings(rng, "int", "one_hot", "multi_hot", "count", "tf_idf")
    chosen = [int(w) for w in rng.permutation(range(-3, 14))[: rng.integers(1, 12)] if w not in (mask, -1)] or [77]
    more = {"idf_weights": [float(w) for w in rng.uniform(0.1, 2, len(chosen)).astype("f4")]} if mode["output_mode"] == "tf_idf" else {}
    if rng.uniform() < 0.5:
        more["oov_method"] = "farmhash"
        if rng.uniform() < 0.5:
            more["salt"] = int(rng.integers(0, 99))
    return L.IntegerLookup(vocabulary=chosen, num_oov_indices=oov, mask_token=mask, **mode, **more)


def hashing(rng, kind):
    more = {"salt": [3, int(rng.integers(0, 2**50))]} if rng.uniform() < 0.4 else {}
    if rng.uniform() < 0.4:
        more["mask_value"] = VOCABULARY[0] if kind == "string" else 5
    return L.Hashing(int(rng.choice([1, 2, 7, 1000])), **encodings(rng, "int", "one_hot", "multi_hot", "count"), **more)


def discretization(rng):
    boundaries = sorted(float(b) for b in rng.normal(0, 4, rng.integers(1, 9)).astype("f4").round(1))
    return L.Discretization(bin_boundaries=boundaries, **encodings(rng, "int", "one_hot", "multi_hot", "count"))


def vectorization(rng):
    mode = encodings(rng, "int", "int", "multi_hot", "count", "tf_idf")
    vocabulary = sorted({w for w in ["the", "cat", "The", "of", "the cat", "1", "2", "a", "b", "t h", "h", "é", "語", " ", "of the"] if rng.uniform() < 0.7}) + ["zz"]
    more = {"idf_weights": [float(w) for w in rng.uniform(0.1, 2, len(vocabulary)).astype("f4")]} if mode["output_mode"] == "tf_idf" else {}
    if mode["output_mode"] == "int":
        more["output_sequence_length"] = int(rng.integers(1, 9))
    standardize = [None, "lower", "strip_punctuation", "lower_and_strip_punctuation"][rng.integers(0, 4)]
    ngrams = [None, 1, 2, 3, (2,), (3, 1)][rng.integers(0, 6)]
    return L.TextVectorization(standardize=standardize, split=str(rng.choice(["whitespace", "character"])), ngrams=ngrams, vocabulary=vocabulary, **mode, **more)


def drawn(seed, make, dtype, name, shape=(3,), count=12):
    """One input, `count` random layers on it."""
    def build():
        rng = np.random.default_rng(seed)
        x = K.Input(shape, dtype=dtype, name=name)
        return K.Model(x, [make(rng)(x) for _ in range(count)])

    return build


def crossed():
    a, b, c, d = (K.Input((1,), dtype=t, name=n) for t, n in [("string", "word"), ("int64", "wide"), ("int32", "few"), ("string", "other")])
    outs = [L.HashedCrossing(7)((a, b)), L.HashedCrossing(1000)((b, c)), L.HashedCrossing(5, output_mode="one_hot")((a, d)),
            L.HashedCrossing(11)((L.Discretization([3.0, 8.0])(c), a))]
    return K.Model([a, b, c, d], outs)


def predicts(name, build, **more):
    return Case("drawn-" + name, build, train=False, rows=150, loss=None, each=True, predict_tol=2e-6, **more)


CASES = [predicts("string-lookup-%d" % s, drawn(s, string_lookup, "string", "word")) for s in range(3)]
CASES += [predicts("integer-lookup-%d" % s, drawn(s, integer_lookup, "int64", "wide")) for s in range(3)]
CASES += [predicts("hashing-words-%d" % s, drawn(s, lambda rng: hashing(rng, "string"), "string", "text")) for s in range(2)]
CASES += [predicts("hashing-integers-%d" % s, drawn(s, lambda rng: hashing(rng, "int"), "int64", "wide")) for s in range(2)]
CASES += [predicts("discretization-%d" % s, drawn(s, discretization, "float32", "x")) for s in range(2)]
CASES += [predicts("discretization-one", drawn(5, discretization, "float32", "x", shape=(1,)))]
CASES += [predicts("lookup-one", drawn(6, string_lookup, "string", "word", shape=(1,)))]
CASES += [predicts("vectorization-%d" % s, drawn(s, vectorization, "string", "text", shape=())) for s in range(4)]
CASES += [predicts("crossings", crossed)]


# ---- in models that train
def sentiment(**settings):
    def build():
        x = K.Input((1,), dtype="string", name="text")
        layer = L.TextVectorization(max_tokens=40, output_sequence_length=8, **settings)
        layer.adapt(np.array([" ".join(text(np.random.default_rng(i)).split()) for i in range(60)]))
        y = L.LSTM(4)(L.Embedding(40, 6, mask_zero=True)(layer(x)))
        return K.Model(x, L.Dense(2)(y))

    return build


def bag_of_words():
    layer = L.TextVectorization(output_mode="tf_idf", ngrams=2)
    layer.adapt(np.array([text(np.random.default_rng(i)) for i in range(40)]))
    x = K.Input((), dtype="string", name="text")
    return K.Model(x, L.Dense(2)(layer(x)))


def adapted_lookups():
    """Vocabularies beside the model, of three kinds, in a model inside the model, too."""
    rng = np.random.default_rng(4)
    a, b = K.Input((2,), dtype="string", name="word"), K.Input((2,), dtype="int64", name="wide")
    s, t, i = L.StringLookup(output_mode="tf_idf"), L.StringLookup(mask_token="", num_oov_indices=2), L.IntegerLookup(output_mode="count")
    s.adapt(np.array([[draw_string(rng, "word") for _ in range(2)] for _ in range(40)]))
    t.adapt(np.array([[draw_string(rng, "word") for _ in range(2)] for _ in range(40)]))
    i.adapt(draw_integers(rng, "wide", (40, 2)))
    inner_in = K.Input((2,), dtype="string")
    inner = K.Model(inner_in, L.Flatten()(L.Embedding(60, 3)(t(inner_in))))
    return K.Model([a, b], L.Dense(2, activation="sigmoid")(L.Concatenate()([s(a), i(b), inner(a)])))


def nested_sequential():
    """The usual end of an example: what was trained on numbers, behind the layer that makes them."""
    layer = L.TextVectorization(output_sequence_length=5, vocabulary=["the", "cat", "of", "1", "2"])
    core = K.Sequential([K.Input((5,), dtype="int64"), L.Embedding(9, 4), L.GlobalMaxPooling1D(), L.Dense(2)])
    return K.Sequential([K.Input((1,), dtype="string", name="text"), layer, core])


def integers_in_the_middle():
    """What the graph computes is put into bins, hashed, looked up and crossed there."""
    x = K.Input((4,), name="x")
    h = L.Dense(4, activation="tanh")(x)
    bins = L.Discretization([-0.6, -0.2, 0.3, 0.7])(h)
    looked = L.IntegerLookup(vocabulary=[1, 3, 4], output_mode="multi_hot")(bins)
    hashed = L.Flatten()(L.Embedding(6, 2)(L.Hashing(6)(bins)))
    counted = L.CategoryEncoding(6, output_mode="count")(bins, count_weights=x)
    return K.Model(x, L.Dense(2)(L.Concatenate()([h, looked, hashed, counted, L.CategoryEncoding(5)(bins)])))


def features(output_mode="concat"):
    def build():
        import tensorflow as tf

        F, rng = K.utils.FeatureSpace, np.random.default_rng(3)
        space = F(features={"word": "string_categorical", "few": "integer_categorical", "a": "float_discretized", "other": F.string_hashed(8),
                            "b": "float_normalized", "c": "float", "d": F.float_rescaled(0.5, 1), "wide": F.integer_hashed(6),
                            "last": F.string_categorical(num_oov_indices=3, output_mode="one_hot")},
                  crosses=[("word", "few"), ("few", "other")], crossing_dim=9, num_discretization_bins=5, output_mode=output_mode)
        column = {"word": [draw_string(rng, "word") for _ in range(50)], "last": [draw_string(rng, "word") for _ in range(50)], "few": rng.integers(0, 14, 50).astype("i4"),
                  "other": [draw_string(rng, "word") for _ in range(50)], "wide": draw_integers(rng, "wide", 50).astype("i4")}
        column.update({k: rng.normal(0, 3, 50).astype("f4") for k in "abcd"})
        space.adapt(tf.data.Dataset.from_tensor_slices(column))
        encoded, inputs = space.get_encoded_features(), space.get_inputs()
        return K.Model(inputs, L.Dense(2)(encoded))

    return build


def before_a_head(make, dtype):
    def build():
        x = K.Input((1,), dtype=dtype, name="text" if dtype == "string" else "x")
        return K.Model(x, L.Dense(2)(make()(x)))

    return build


CASES += [
    Case("sentiment", sentiment(), rows=83),
    Case("sentiment-characters", sentiment(split="character", standardize="lower")),
    Case("bag-of-words", bag_of_words),
    Case("adapted-lookups", adapted_lookups, y="binary", loss="binary_crossentropy", metrics=["accuracy"], validation=24),
    Case("nested-sequential", nested_sequential),
    Case("integers-in-the-middle", integers_in_the_middle),
    Case("feature-space", features(), zero=("normalization/vars/2",)),
    *[Case("sparse-" + name, before_a_head(make, dtype), vocab=3) for name, make, dtype in (
        ("words", lambda: L.StringLookup(vocabulary=VOCABULARY[:8], output_mode="count", sparse=True, encoding="latin-1"), "string"),
        ("integers", lambda: L.IntegerLookup(vocabulary=[1, 2], output_mode="one_hot", sparse=True), "int64"),
        ("buckets", lambda: L.Hashing(5, output_mode="multi_hot", sparse=True), "int64"),
        ("bins", lambda: L.Discretization([0.0, 1.0], output_mode="one_hot", sparse=True), "float32"))],
]


# ---- what is refused, by name
def alone(make, dtype="string", shape=(2,)):
    def build():
        x = K.Input(shape, dtype=dtype, name="text" if dtype == "string" else "x")
        return K.Model(x, make()(x))

    return build


CASES += [
    Case("text-with-another-encoding", alone(lambda: L.TextVectorization(vocabulary=["a", "the", "cat", "é"], output_mode="multi_hot", encoding="latin-1"), shape=(1,)),
         train=False),
    Case("refuse-ragged", alone(lambda: L.TextVectorization(vocabulary=["a"], ragged=True), shape=(1,)), train=False, refuse="ragged"),
    Case("refuse-open-length", alone(lambda: L.TextVectorization(vocabulary=["a"]), shape=(1,)), train=False, refuse="output_sequence_length"),
    Case("refuse-strings-as-result", alone(lambda: L.StringLookup(vocabulary=["a"], invert=True), dtype="int64"), refuse="strings"),
]


def check_saved(case, index, folder, keras_only):
    """As every row; then real Keras reads what artel has trained, and finds the same vocabularies."""
    cells = run(case, index, folder, keras_only)
    trained, start = os.path.join(folder, "mine.keras"), os.path.join(folder, "start.keras")
    if keras_only or not os.path.exists(trained) or not case.train:
        return cells
    mine, theirs = (oracle.keras_module().models.load_model(path, compile=False) for path in (trained, start))
    for a, b in zip(mine._flatten_layers(), theirs._flatten_layers()):
        if hasattr(a, "get_vocabulary") and list(a.get_vocabulary()) != list(b.get_vocabulary()):
            raise Failure("%s: another vocabulary in the file that artel has written" % a.name)
    return cells


if __name__ == "__main__":
    oracle.table(CASES, check_saved, ["predict", "history", "weights", "excluded"], every=3)
