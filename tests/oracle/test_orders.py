# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""Gradients of gradients of models, beside TensorFlow's nested tapes: the step of a gradient penalty (WGAN-GP), of which every weight gets its gradient, and products of the
Hessian with a vector; of normalisations, pools, recurrent layers, attention, embeddings and losses. The other side computes in float64 (where masks hide all in float32, too); in float32 the largest element apart is
within 1e-4 of the largest, in float64 within 1e-11. The bits are the same under every strategy and in a function that was saved and loaded."""
import ctypes
import dataclasses
import os
import sys
import tempfile

import numpy as np

from graphs import CONTEXT, DTYPES, S, Refused, Trace, check, faults, lib, pointer, shape_of
from oracle import K, L, keras_module

keras_module()
import tensorflow as tf  # noqa: E402  (after Keras has set it up)

MOST = {"float32": 1e-4, "float64": 1e-11}
ROWS = 6


@dataclasses.dataclass
class Row:
    name: str
    layers: object  # () -> layers; the last gives two numbers a row
    shape: tuple = (5,)
    loss: str = "mean_squared_error"
    training: bool = True
    words: int = 0  # the input: whole numbers below; no slope by it
    lists: bool = False  # the targets: lists of up to three class numbers, 0 behind them; CTC takes float32 under every policy (docs/precision.md)
    hidden: bool = False  # a row of nothing but zeros and rows that begin with them; what float32 makes of masks is compared with TensorFlow's float32


def attended():
    i = K.Input((5, 6), dtype=K.config.dtype_policy().name)
    x = L.Add()([i, L.MultiHeadAttention(2, 3)(L.LayerNormalization()(i), i, use_causal_mask=True)])
    return K.Model(i, L.Dense(2)(L.Flatten()(L.Attention(use_scale=True)([x, L.Dense(6)(x)]))))


def words():
    i = K.Input((6,), dtype="int32")
    x = L.LSTM(4)(L.Embedding(9, 5, mask_zero=True)(i))
    return K.Model(i, L.Dense(2)(x))


def hidden():
    """Queries that see nothing: in float32 lowered scores lose their differences."""
    i = K.Input((6,), dtype="int32")
    q, x = L.Embedding(9, 5)(i), L.Embedding(9, 5, mask_zero=True)(i)
    seen = L.Concatenate()([L.Attention(use_scale=True)([q, x], use_causal_mask=True), L.Attention()([q, x]), L.AdditiveAttention()([q, x]), L.MultiHeadAttention(2, 3)(q, x)])
    return K.Model(i, L.Dense(2)(L.Flatten()(seen)))


def residual():
    """The normalisation takes an addition and a ReLU over."""
    i = K.Input((5, 4), dtype=K.config.dtype_policy().name)
    x = L.Conv1D(4, 3, padding="same", activation="tanh")(i)
    y = L.ReLU()(L.Add()([L.BatchNormalization()(L.Conv1D(4, 2, padding="same")(x)), x]))
    return K.Model(i, L.Dense(2)(L.GlobalAveragePooling1D()(y)))


def critic(*, training):
    """What an image goes through in a critic."""
    return Row(
        "critic" if training else "critic, moving statistics",
        lambda: [L.Conv2D(4, 3, activation="tanh"), L.BatchNormalization(), L.LeakyReLU(0.25), L.MaxPooling2D(2), L.Conv2D(3, 2, padding="same"), L.BatchNormalization(), L.ReLU(),
                 L.AveragePooling2D(2, padding="same"), L.Flatten(), L.Dense(2)],
        (8, 9, 2),
        training=training,
    )


MODELS = [
    critic(training=True),
    critic(training=False),
    Row("residual", residual, (5, 4)),
    Row("normalisations", lambda: [L.Dense(8, activation="tanh"), L.LayerNormalization(), L.Dense(8), L.GroupNormalization(4), L.RMSNormalization(), L.UnitNormalization(), L.Dense(2)]),
    Row("lstm behind pools", lambda: [L.Conv1D(4, 2, activation="tanh"), L.BatchNormalization(), L.MaxPooling1D(2), L.LSTM(4, return_sequences=True), L.LSTM(3, go_backwards=True), L.Dense(2)], (9, 3)),
    Row("gru", lambda: [L.Bidirectional(L.GRU(3, return_sequences=True)), L.GRU(3, reset_after=False), L.Dense(2)], (5, 3)),
    Row("cells", lambda: [L.SimpleRNN(4, return_sequences=True), L.RNN(L.LSTMCell(3)), L.Dense(2)], (5, 3)),
    Row("attention", attended, (5, 6)),
    Row("words", words, (6,), words=9),
    Row("attention to nothing", hidden, (6,), words=9, hidden=True),
    Row("pools", lambda: [L.Conv1D(4, 2, activation="tanh"), L.AdaptiveAveragePooling1D(5), L.AdaptiveMaxPooling1D(3), L.UpSampling1D(2), L.GlobalMaxPooling1D(), L.Dense(2)], (8, 3)),
    Row("ctc", lambda: [L.Conv1D(5, 2, activation="tanh"), L.Dense(4)], (8, 3), loss="ctc", lists=True),
    *(Row(loss, lambda: [L.Dense(6, activation="softplus"), L.Dense(2, activation="sigmoid")], loss=loss)
      for loss in ("kl_divergence", "poisson", "cosine_similarity", "squared_hinge", "binary_focal_crossentropy", "categorical_focal_crossentropy", "mean_squared_logarithmic_error")),
]


def moments(x, axes, _shift=None, keepdims=False, **_):
    """TensorFlow's hold the mean of the variance constant: right once, and not twice."""
    mean = tf.reduce_mean(x, axes, keepdims=True)
    variance = tf.reduce_mean((x - mean) ** 2, axes, keepdims=keepdims)
    return (mean if keepdims else tf.squeeze(mean, axes)), variance


def built(row, dtype, weights=None):
    """A model whose numbers are not those of its beginning."""
    K.config.set_dtype_policy(dtype)
    K.utils.set_random_seed(5)
    layers = row.layers()
    model = layers if isinstance(layers, K.Model) else K.Sequential([K.Input(row.shape, dtype=dtype), *layers])
    K.config.set_dtype_policy("float32")
    random = np.random.default_rng(3)
    model.set_weights(weights or [(w + random.uniform(0.05, 0.4, w.shape)).astype("float32") for w in model.get_weights()])
    return model


def data_of(row):
    random = np.random.default_rng(8)
    x = random.integers(0, row.words, (ROWS, *row.shape)).astype("int32") if row.words else random.normal(0, 1, (ROWS, *row.shape)).astype("float32")
    if row.hidden:
        x[np.arange(row.shape[0]) < np.array([row.shape[0], 0, 1, 2, 3, 0])[:, None]] = 0
    lists = np.array([[1, 2, 3], [2, 2, 0], [3, 0, 0], [1, 1, 1], [3, 2, 3], [2, 1, 0]], "int32")
    return x, lists if row.lists else random.uniform(0.1, 0.9, (ROWS, 2)).astype("float32")


def aligned(lists, logits):
    """CTC as its paper has it (Graves and others, 2006), written out: TensorFlow's own is differentiated once."""
    each = []
    for labels, row in zip(lists, tf.unstack(tf.nn.log_softmax(logits))):
        states = [0] + [s for label in labels if label for s in (label, 0)]
        now = [row[0, states[0]], row[0, states[1]]] + [None] * (len(states) - 2)
        for at in tf.unstack(row)[1:]:
            before = [[now[s], now[s - 1] if s > 0 else None, now[s - 2] if s > 1 and states[s] and states[s] != states[s - 2] else None] for s in range(len(states))]
            reached = [[v for v in of if v is not None] for of in before]
            now = [tf.reduce_logsumexp(tf.stack(of)) + at[states[s]] if of else None for s, of in enumerate(reached)]
        each.append(-tf.reduce_logsumexp(tf.stack(now[-2:])))
    return tf.stack(each)


def loss_of(row, model, y, made):
    return aligned(y, made) if row.lists else K.losses.get(row.loss)(tf.constant(y, model.compute_dtype), made)


def penalty(row, model, x, y):
    """The gradient, by each weight, of the loss and an eighth of what each example's slope is longer than 1, squared; of words the slope by all weights is the penalty."""
    x = tf.constant(x if row.words else x.astype(model.compute_dtype))
    weights = model.trainable_variables
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            inner.watch(x)
            by_row = loss_of(row, model, y, model(x, training=row.training))
            total = tf.reduce_sum(by_row)
        if row.words:
            slopes = inner.gradient(total, [w.value for w in weights])
            extra = tf.add_n([tf.reduce_sum(tf.convert_to_tensor(s) ** 2) for s in slopes])
        else:
            slope = tf.reshape(inner.gradient(total, x), (ROWS, -1))
            extra = tf.reduce_mean((tf.sqrt(tf.reduce_sum(slope**2, 1) + 2**-10) - 1) ** 2)
        target = tf.reduce_mean(by_row) + 0.125 * extra
    return [tf.convert_to_tensor(g).numpy() for g in outer.gradient(target, [w.value for w in weights], unconnected_gradients="zero")]


def directions(model):
    random = np.random.default_rng(17)
    return [random.normal(0, 1, w.shape).astype("float32") for w in model.trainable_variables]


def hessian_product(row, model, x, y):
    x, weights = tf.constant(x if row.words else x.astype(model.compute_dtype)), [w.value for w in model.trainable_variables]
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            target = tf.reduce_mean(loss_of(row, model, y, model(x, training=row.training)))
        slopes = inner.gradient(target, weights)
        along = tf.add_n([tf.reduce_sum(tf.convert_to_tensor(s) * tf.constant(v, model.compute_dtype)) for s, v in zip(slopes, directions(model))])
    return [tf.convert_to_tensor(g).numpy() for g in outer.gradient(along, weights, unconnected_gradients="zero")]


# -- the same of artel --


class Graph:
    def __init__(self, graph, row, keep):
        self.graph, self.row, self.keep = graph, row, keep

    def op(self, name, x, text=None):
        return lib.artel_graph_op(self.graph, name.encode(), pointer((ctypes.c_int32 * 1)(x)), 1, text)

    def unary(self, name, x):
        return lib.artel_graph_unary(self.graph, name.encode(), x)

    def binary(self, name, a, b):
        return lib.artel_graph_binary(self.graph, name.encode(), a, b)

    def number(self, x):
        return lib.artel_graph_number(self.graph, ctypes.c_double(x))

    def constant(self, x):
        self.keep.append(x)
        return lib.artel_graph_constant(self.graph, DTYPES[x.dtype.name], ctypes.byref(shape_of(x.shape)), x.ctypes.data)

    def sum(self, x, rows=False, mean=False):
        return lib.artel_graph_reduce(self.graph, 1 if mean else 0, x) if rows else self.unary("sum", x)

    def added(self, values):
        total = values[0]
        for value in values[1:]:
            total = self.binary("add", total, value)
        return total

    def gradients(self, target, values):
        out = (ctypes.c_int32 * len(values))()
        lib.artel_graph_gradients(self.graph, target, pointer((ctypes.c_int32 * len(values))(*values)), len(values), pointer(out))
        return list(out)


def penalty_of(g, by_row, x, weights, _model):
    if g.row.words:
        slopes = g.gradients(by_row, weights)
        extra = g.added([g.sum(g.unary("square", s)) for s in slopes])
    else:
        slope = g.gradients(by_row, [x])[0]
        axes = str(list(range(1, len(g.row.shape) + 1))).encode()
        length = g.op("sum", g.unary("square", slope), b'{"axis": ' + axes + b"}")
        length = g.unary("sqrt", g.binary("add", length, g.number(2**-10)))
        extra = g.sum(g.unary("square", g.binary("subtract", length, g.number(1))), rows=True, mean=True)
    target = g.binary("add", g.sum(by_row, rows=True, mean=True), g.binary("multiply", extra, g.number(0.125)))
    return g.gradients(target, weights)


def product_of(g, by_row, _x, weights, model):
    slopes = g.gradients(g.sum(by_row, rows=True, mean=True), weights)
    along = [g.sum(g.binary("multiply", s, g.constant(v))) for s, v in zip(slopes, directions(model)) if s >= 0]
    return g.gradients(g.added(along), weights)


class Function:
    """Of a model in a file, under a strategy; `program` gives the values of a graph, as many as the model has trainable weights."""

    def __init__(self, row, model, path, dtype, strategy, replicas):
        self.row, self.model, self.keep = row, model, []
        self.strategy, self.of = ctypes.c_void_p(), ctypes.c_void_p()
        self.dtype = dtype
        check(lib.artel_model_load(CONTEXT, path.encode(), ctypes.byref(self.of)))
        name = ctypes.create_string_buffer(strategy.encode())
        size = ctypes.sizeof(S["artel_strategy_options"])
        options = S["artel_strategy_options"](struct_size=size, strategy=pointer(name), replicas=replicas, threads=replicas, batch_size=8)
        check(lib.artel_strategy_create(CONTEXT, ctypes.byref(options), ctypes.byref(self.strategy)))
        check(lib.artel_strategy_add_model(self.strategy, self.of))
        self.variables, count = ctypes.c_void_p(), ctypes.c_int()
        check(lib.artel_strategy_variables(self.strategy, self.of, False, ctypes.byref(self.variables), ctypes.byref(count)))
        self.count = count.value
        if self.count != len(model.trainable_variables):
            raise Refused(f"{self.count} variables, of {len(model.trainable_variables)}")

    def trace(self, program):
        def call(_user, graph, inputs, outputs):
            g = Graph(graph, self.row, self.keep)
            made = (ctypes.c_int32 * 1)()
            lib.artel_graph_call(graph, self.of, pointer((ctypes.c_int32 * 1)(inputs[0])), 1, pointer(made), 1)
            by_row = lib.artel_graph_loss(graph, self.row.loss.encode(), inputs[1], made[0])
            held = ctypes.cast(self.variables, ctypes.POINTER(ctypes.c_void_p))
            weights = [lib.artel_graph_variable(graph, held[i]) for i in range(self.count)]
            for i, value in enumerate(program(g, by_row, inputs[0], weights, self.model)):
                outputs[i] = g.binary("multiply", weights[i], g.number(0)) if value < 0 else value
            return lib.artel_graph_status(graph)

        self.keep.append(Trace(call))
        return pointer(self.keep[-1])

    def create(self, program):
        function, arguments = ctypes.c_void_p(), (S["artel_argument"] * 2)()
        arguments[0].dtype, arguments[0].shape = DTYPES["int32" if self.row.words else self.dtype], shape_of(self.row.shape)
        arguments[1].dtype, arguments[1].shape = DTYPES["int32" if self.row.lists else self.dtype], shape_of((3 if self.row.lists else 2,))
        size = ctypes.sizeof(S["artel_function_options"])
        self.name = ctypes.create_string_buffer(b"slopes")
        how = S["artel_function_options"](struct_size=size, name=pointer(self.name), arguments=pointer(arguments), argument_count=2, output_count=self.count, training=self.row.training)
        check(lib.artel_function_create(self.strategy, ctypes.byref(how), self.trace(program), None, ctypes.byref(function)))
        return function

    def close(self):
        lib.artel_strategy_destroy(self.strategy)
        lib.artel_model_destroy(self.of)


def run(function, x, y, shapes, dtype):
    x, y = (v if v.dtype == "int32" else v.astype(dtype) for v in (x, y))
    given, got = (S["artel_array"] * 2)(), (S["artel_array"] * len(shapes))()
    for a, values in zip(given, (x, y)):
        a.dtype, a.shape, a.data = DTYPES[values.dtype.name], shape_of(values.shape), values.ctypes.data
    results = [np.full(shape, np.nan, dtype) for shape in shapes]
    for a, values in zip(got, results):
        a.dtype, a.shape, a.data = DTYPES[dtype], shape_of(values.shape), values.ctypes.data
    check(lib.artel_function_run(function, pointer(given), 2, pointer(got), len(shapes)))
    return results


def compare(what, got, wanted, most):
    for i, (g, w) in enumerate(zip(got, wanted)):
        largest = max(max(np.abs(v).max(initial=0) for v in wanted), 2**-1000)
        apart = np.abs(g - w).max(initial=0) / largest
        if not apart <= most:
            faults.append(f"{what}, weight {i} {w.shape}: {apart:.1e} apart: {g.ravel()[:3]}, wanted {w.ravel()[:3]}")


def loaded_again(f, folder, x, y, shapes):
    """What a program gives that loads the file of the function."""
    path, strategy, function = os.path.join(folder, "slopes.artel").encode(), ctypes.c_void_p(), ctypes.c_void_p()
    check(lib.artel_functions_save(f.strategy, None, 0, path))
    check(lib.artel_functions_load(CONTEXT, path, None, ctypes.byref(strategy)))
    check(lib.artel_strategy_function(strategy, b"slopes", ctypes.byref(function)))
    got = run(function, x, y, shapes, "float32")
    lib.artel_strategy_destroy(strategy)
    return got


def check_row(row, folder):
    single = built(row, "float32")
    wide = built(row, "float64", single.get_weights())
    for model, dtype in ((single, "float32"), (wide, "float64")):
        model.save(os.path.join(folder, dtype + ".keras"))
    x, y = data_of(row)
    shapes = [w.shape for w in single.trainable_variables]
    for what, program, other in (("penalty", penalty_of, penalty), ("Hessian", product_of, hessian_product)):
        wanted, first = {"float64": other(row, wide, x, y)}, None
        wanted["float32"] = other(row, single, x, y) if row.hidden else wanted["float64"]
        for dtype, strategy, replicas in (("float32", "one-device", 1), ("float32", "mirrored", 3), ("float64", "one-device", 1)):
            f = Function(row, single, os.path.join(folder, dtype + ".keras"), dtype, strategy, replicas)
            try:
                function = f.create(program)
                got = run(function, x, y, shapes, dtype)
                if replicas > 1 and any(a.tobytes() != b.tobytes() for a, b in zip(first, got)):
                    faults.append(f"{row.name}, {what}: other bits under {strategy}")
                if first is None and row.name == "critic":
                    again = loaded_again(f, folder, x, y, shapes)
                    if any(a.tobytes() != b.tobytes() for a, b in zip(got, again)):
                        faults.append(f"{row.name}, {what}: other bits once it is loaded")
                first = first or got
                compare(f"{row.name}, {what}, {dtype}", got, wanted[dtype], max(MOST[dtype], 1e-6 if row.lists else 0))
            except Refused as error:
                faults.append(f"{row.name}, {what}, {dtype}: {error}")
            finally:
                f.close()


if __name__ == "__main__":
    tf.nn.moments = moments
    only = sys.argv[sys.argv.index("-k") + 1] if "-k" in sys.argv else ""
    with tempfile.TemporaryDirectory() as made:
        for entry in MODELS:
            if only in entry.name:
                check_row(entry, made)
    lib.artel_context_destroy(CONTEXT)
    sys.exit("\n".join(faults) or 0)
