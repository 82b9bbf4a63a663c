# SPDX-License-Identifier: Apache-2.0
# timeout: 120
"""Strings in functions of strategies: operations before and behind what the graph computes, constants, shared and row arguments, variables, string outputs, layers
of words, choices and loops, as tf.function computes them; to the bit under two strategies and out of a file. What has no place in a graph is refused by name."""
import ctypes
import dataclasses
import json
import os
import sys

import numpy as np

from graphs import CONTEXT, DTYPES, S, Refused, Trace, check, faults, lib, shape_of
from oracle import L, keras_module

keras_module()
import tensorflow as tf  # noqa: E402

ROWS, BATCH = 5, 8
Choice, Loop, Scan = S["artel_choice"], S["artel_loop"], S["artel_scan"]


class String(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char_p), ("length", ctypes.c_size_t)]


KEPT = []  # what C has addresses of


def address(elements):
    """Of elements: an array of NumPy's, of ctypes', or a text."""
    if isinstance(elements, bytes):
        elements = ctypes.create_string_buffer(elements)
    elif isinstance(elements, np.ndarray) and elements.dtype.kind == "O":
        elements = (String * max(elements.size, 1))(*[(t, len(t)) for t in elements.reshape(-1).tolist()])
    elif isinstance(elements, np.ndarray):
        elements = np.ascontiguousarray(elements)
    KEPT.append(elements)
    return elements.ctypes.data_as(ctypes.c_void_p) if isinstance(elements, np.ndarray) else ctypes.cast(elements, ctypes.c_void_p)


def name_of(array):
    return "string" if array.dtype.kind == "O" else array.dtype.name


def text(*words, shape=None):
    array = np.array([w.encode() if isinstance(w, str) else w for w in words], object)
    return array if shape is None else array.reshape(shape)


class Graph:
    """A graph that is traced: g("lower", x), g.constant(...)."""

    def __init__(self, graph, variables):
        self.graph, self.variables, self.keep = ctypes.c_void_p(graph), variables, []

    def all(self, name, *values, **settings):
        out = (ctypes.c_int32 * 32)()
        made = check(lib.artel_graph_op_all(self.graph, name.encode(), (ctypes.c_int32 * len(values))(*values), len(values), json.dumps(settings).encode() if settings else None, out, 32))
        return list(out[:made])

    def __call__(self, name, *values, **settings):
        return self.all(name, *values, **settings)[0]

    def constant(self, values):
        values = np.asarray(values) if not isinstance(values, np.ndarray) else values
        made = lib.artel_graph_constant(self.graph, DTYPES[name_of(values)], ctypes.byref(shape_of(values.shape)), address(values))
        check(lib.artel_graph_status(self.graph))
        return made

    def variable(self, name):
        made = lib.artel_graph_variable(self.graph, self.variables[name])
        check(lib.artel_graph_status(self.graph))
        return made

    def assign(self, name, value):
        lib.artel_graph_assign(self.graph, self.variables[name], value)
        check(lib.artel_graph_status(self.graph))

    def gather(self, value):
        made = lib.artel_graph_gather(self.graph, value)
        check(lib.artel_graph_status(self.graph))
        return made

    def traced(self, body, given, made):
        def trace(_, graph, values, out):
            try:
                inner = Graph(graph, self.variables)
                for i, value in enumerate(body(inner, *[values[k] for k in range(given)])):
                    out[i] = value
            except Refused:
                return -1
            return 0

        self.keep.append(Trace(trace))
        return ctypes.cast(self.keep[-1], ctypes.c_void_p)

    def choose(self, condition, then, otherwise):
        out = (ctypes.c_int32 * 1)()
        choice = Choice(struct_size=ctypes.sizeof(Choice), condition=condition, then=self.traced(lambda g: [then], 0, 1), otherwise=self.traced(lambda g: [otherwise], 0, 1), output_count=1)
        check(lib.artel_graph_choose(self.graph, ctypes.byref(choice), out))
        return out[0]

    def loop(self, most, condition, body, *state):
        values = (ctypes.c_int32 * len(state))(*state)
        loop = Loop(ctypes.sizeof(Loop), self.traced(lambda g, *s: [condition(g, *s)], len(state), 1), self.traced(body, len(state), len(state)), None, len(state), most)
        check(lib.artel_graph_loop(self.graph, ctypes.byref(loop), values))
        return list(values)


@dataclasses.dataclass
class Argument:
    values: np.ndarray
    shared: bool = False


@dataclasses.dataclass
class Row:
    name: str
    arguments: list
    ours: object  # (graph, *values) -> values
    theirs: object  # (*tensors) -> tensors
    variables: dict = dataclasses.field(default_factory=dict)


def strategy_of(name, replicas):
    size = ctypes.sizeof(S["artel_strategy_options"])
    return S["artel_strategy_options"](struct_size=size, strategy=address(name.encode()), replicas=replicas, threads=replicas, batch_size=BATCH), ctypes.c_void_p()


def make(row, name, replicas):
    o, strategy = strategy_of(name, replicas)
    check(lib.artel_strategy_create(CONTEXT, ctypes.byref(o), ctypes.byref(strategy)))
    variables = {}
    for key, values in row.variables.items():
        v, made = S["artel_variable_options"](), ctypes.c_void_p()
        v.struct_size, v.name, v.dtype, v.shape, v.initial = ctypes.sizeof(v), address(key.encode()), DTYPES[name_of(values)], shape_of(values.shape), address(values)
        check(lib.artel_variable_create(strategy, ctypes.byref(v), ctypes.byref(made)))
        variables[key] = made
    return strategy, variables, function_of(row, strategy, variables)


def function_of(row, strategy, variables):
    arguments = (S["artel_argument"] * max(len(row.arguments), 1))()
    for i, a in enumerate(row.arguments):
        arguments[i].name, arguments[i].dtype, arguments[i].shared = address(f"argument {i}".encode()), DTYPES[name_of(a.values)], a.shared
        arguments[i].shape = shape_of(a.values.shape if a.shared else a.values.shape[1:])
    count, failed = len(row.theirs(*[tensor(a) for a in row.arguments])), []

    def trace(_, graph, values, out):
        try:
            made = row.ours(Graph(graph, variables), *[values[i] for i in range(len(row.arguments))])
            for i, value in enumerate(made):
                out[i] = value
        except Refused as refusal:
            failed.append(refusal)
            return -1
        except Exception as error:  # noqa: BLE001
            faults.append(f"{row.name}: {error!r}")
            return -1
        return 0

    f, made, callback = S["artel_function_options"](), ctypes.c_void_p(), Trace(trace)
    f.struct_size, f.name, f.arguments, f.argument_count, f.output_count = ctypes.sizeof(f), address(b"f"), address(arguments), len(row.arguments), count
    check(lib.artel_function_create(strategy, ctypes.byref(f), ctypes.cast(callback, ctypes.c_void_p), None, ctypes.byref(made)))
    return made


def tensor(argument):
    return tf.constant(argument.values, tf.string) if argument.values.dtype.kind == "O" else tf.constant(argument.values)


def run(row, function):
    given = (S["artel_array"] * max(len(row.arguments), 1))()
    for i, a in enumerate(row.arguments):
        given[i].dtype, given[i].shape, given[i].data = DTYPES[name_of(a.values)], shape_of(a.values.shape), address(a.values)
    outputs, room = lib.artel_function_outputs(function), []
    wanted = (S["artel_array"] * max(outputs, 1))()
    for i in range(outputs):
        dtype, shape, rows = ctypes.c_int(), S["artel_shape"](), ctypes.c_bool()
        check(lib.artel_function_output(function, i, ctypes.byref(dtype), ctypes.byref(shape), ctypes.byref(rows)))
        extents = ([ROWS] if rows.value else []) + list(shape.dim[: shape.rank])
        name = next(k for k, v in DTYPES.items() if v == dtype.value)
        room.append((extents, (String * max(int(np.prod(extents)), 1))() if name == "string" else np.zeros(extents, name)))
        wanted[i].dtype, wanted[i].data = dtype.value, address(room[-1][1])
    check(lib.artel_function_run(function, given, len(row.arguments), wanted, outputs))
    return [read(extents, made) for extents, made in room]


def read(extents, made):
    if isinstance(made, np.ndarray):
        return made
    out = np.empty(int(np.prod(extents)), object)
    for i in range(out.size):
        out[i] = ctypes.string_at(ctypes.cast(ctypes.byref(made, i * ctypes.sizeof(String)), ctypes.POINTER(ctypes.c_void_p))[0], made[i].length) if made[i].length else b""
    return out.reshape(extents)


def same(what, got, wanted):
    for i, (a, b) in enumerate(zip(got, wanted, strict=True)):
        b = np.asarray(b, object) if a.dtype == object else np.asarray(b)
        if a.shape != b.shape or (a.tolist() != b.tolist() if a.dtype == object else not np.array_equal(a, b)):
            faults.append(f"{what}, output {i}: {a.tolist()}, wanted {b.tolist()}")


def read_words(variable, values):
    room = (String * values.size)()
    check(lib.artel_variable_read_as(variable, DTYPES["string"], ctypes.byref(room), ctypes.c_int64(values.size)))
    return read(values.shape, room)


W = text("Film Good", "b\u00c4d", "", "  good ", "a,b,,C")
PAIRS = text("one", "Two", "two", "One", "x", "X", "", "", "\u20ac", "euro", shape=(ROWS, 2))
NUMBERS = text("1.5", "-2e-3", "7", "1e4", "0.25")
SCORES = np.random.default_rng(3).normal(size=(ROWS, 3)).astype("float32")
COUNTS = np.array([2, -7, 0, 2147483647, 5], "int32")
NAMES = text("cat", "dog", "k\u00e4fer")
VOCABULARY = ["film good", "good", "b\u00c4d"]
lookup = L.StringLookup(vocabulary=VOCABULARY)
inverse = L.StringLookup(vocabulary=[n.decode() for n in NAMES], invert=True, num_oov_indices=1)
hashing, crossing = L.Hashing(9), L.HashedCrossing(20)
a, s = Argument, lambda values: Argument(values, True)

def twice_there(g, x):
    """Numbers become text, its length goes into the graph, and what comes of it becomes text again."""
    length = g("string_length", g("string_as_string", g("multiply", x, g.constant(np.float32(4))), precision=2))
    square = g("multiply", length, length)
    again = g("string_length", g("string_as_string", g("add", square, g.constant(np.int32(90)))))
    return [g("add", length, g.constant(np.int32(1))), g("add", again, square), length, g("string_as_string", square)]


def there_twice(x):
    length = tf.strings.length(tf.strings.as_string(x * 4, precision=2))
    square = length * length
    return [length + 1, tf.strings.length(tf.strings.as_string(square + 90)) + square, length, tf.strings.as_string(square)]


ROWS_OF_TESTS = [
    Row("constant, lower, lookup", [a(W)], lambda g, x: [g("StringLookup", g("string_lower", g("string_join", x, g.constant(text("").reshape(()))))
                                                            , vocabulary=VOCABULARY)], lambda x: [np.asarray(lookup(tf.strings.lower(x)), "int32")]),
    Row("string output", [a(W)], lambda g, x: [g("string_upper", x), x], lambda x: [tf.strings.upper(x), x]),
    Row("each", [a(W)], lambda g, x: [g("string_lower", x), g("string_strip", x), g("string_length", x), g("string_length", x, unit="UTF8_CHAR"), g("string_substr", x, pos=0, len=3)],
        lambda x: [tf.strings.lower(x), tf.strings.strip(x), tf.strings.length(x), tf.strings.length(x, "UTF8_CHAR"), tf.strings.substr(x, 0, 3)]),
    Row("regular expressions", [a(W)], lambda g, x: [g("string_regex_replace", x, pattern="[aeiou]+", rewrite="<\\0>"), g("string_regex_full_match", x, pattern=".*o.*")],
        lambda x: [tf.strings.regex_replace(x, "[aeiou]+", r"<\0>"), tf.strings.regex_full_match(x, ".*o.*")]),
    Row("buckets", [a(W)], lambda g, x: [g("string_to_hash_bucket_fast", x, num_buckets=50), g("string_to_hash_bucket", x, num_buckets=50), g("string_to_hash_bucket_strong", x, num_buckets=50, key=[1, 2])],
        lambda x: [np.asarray(f, "int32") for f in (tf.strings.to_hash_bucket_fast(x, 50), tf.strings.to_hash_bucket(x, 50), tf.strings.to_hash_bucket_strong(x, 50, [1, 2]))]),
    Row("split", [a(W)], lambda g, x: [g("string_split", x, sep=",", parts=3), g("string_unicode_split", x, parts=4), g("string_unicode_decode", x, parts=4)],
        lambda x: [tf.strings.split(x, ",").to_tensor("", shape=[None, 3]), tf.strings.unicode_split(x, "UTF-8").to_tensor("", shape=[None, 4]),
                   tf.strings.unicode_decode(x, "UTF-8").to_tensor(0, shape=[None, 4])]),
    Row("join", [a(PAIRS), s(text("-").reshape(()))], lambda g, x, y: [g("string_join", x, x, separator="+"), g("string_join", x, y), g("string_reduce_join", x, axis=-1, separator=" "),
                                                                        g("string_ngrams", x, ngram_width=2, separator="_")],
        lambda x, y: [tf.strings.join([x, x], "+"), tf.strings.join([x, y]), tf.strings.reduce_join(x, axis=-1, separator=" "), tf.strings.ngrams(x, 2, "_")]),
    Row("to numbers and on", [a(NUMBERS)], lambda g, x: [g("multiply", g("string_to_number", x), g.constant(np.float32(2))), g("string_to_number", x, out_type="float64")],
        lambda x: [tf.strings.to_number(x) * 2, tf.strings.to_number(x, tf.float64)]),
    Row("compared", [a(PAIRS), s(text("two"))], lambda g, x, y: [g(n, x, y) for n in ("equal", "not_equal", "less", "greater_equal")] + [g("sum", g("cast", g("equal", x, y), dtype="int32"), axis=-1)],
        lambda x, y: [tf.equal(x, y), tf.not_equal(x, y), x.numpy() < y.numpy(), x.numpy() >= y.numpy(), np.sum(x.numpy() == y.numpy(), -1).astype("int32")]),
    Row("moved", [a(PAIRS), a(W)], lambda g, x, w: [g("reshape", x, newshape=[-1, 1, 2]), g("concatenate", x, x, axis=1), g("stack", w, w, axis=1), g("take", x, indices=[1, 1, 0], axis=1),
                                                     g("where", g("equal", x, g("flip", x, axis=1)), x, g("string_upper", x)), g("expand_dims", w, axis=1)] + g.all("split", x, indices_or_sections=2, axis=1),
        lambda x, w: [tf.reshape(x, [-1, 1, 2]), tf.concat([x, x], 1), tf.stack([w, w], 1), tf.gather(x, [1, 1, 0], axis=1), tf.where(x == x[:, ::-1], x, tf.strings.upper(x)), w[:, None], x[:, :1], x[:, 1:]]),
    Row("moved, then lower, then lookup", [a(PAIRS)], lambda g, x: [g("string_lookup", g("string_lower", g("concatenate", x, x, axis=1)), g.constant(text("two", "x")), default_value=-3)],
        lambda x: [np.asarray(tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["two", "x"], tf.range(2, dtype=tf.int64)), -3).lookup(tf.strings.lower(tf.concat([x, x], 1))), "int32")]),
    Row("shared alone", [s(NAMES)], lambda g, x: [g("string_upper", x), g("string_reduce_join", x, separator="/"), g("take", x, g.constant(np.int32([2, 0])), axis=0), g("sort", x), g("string_length", x)],
        lambda x: [tf.strings.upper(x), tf.strings.reduce_join(x, separator="/"), tf.gather(x, [2, 0]), np.sort(x.numpy()), tf.strings.length(x)]),
    Row("inverse lookup behind the graph", [a(SCORES)], lambda g, x: [g("StringLookup", g("add", g("argmax", x, axis=-1), g.constant(np.int32(1))), vocabulary=[n.decode() for n in NAMES], invert=True),
                                                                      g("argmax", x, axis=-1)],
        lambda x: [inverse(tf.argmax(x, -1) + 1), np.asarray(tf.argmax(x, -1), "int32")]),
    Row("names of classes behind the graph", [a(SCORES), s(NAMES)], lambda g, x, n: [g("take", n, g("argmax", x, axis=-1), axis=0), g("string_join", g("take", n, g("argmax", x, axis=-1), axis=0), g.constant(text("!").reshape(())))],
        lambda x, n: [tf.gather(n, tf.argmax(x, -1)), tf.strings.join([tf.gather(n, tf.argmax(x, -1)), "!"])]),
    Row("as_string", [a(COUNTS), a(SCORES)], lambda g, c, x: [g("string_as_string", c), g("string_as_string", g("multiply", x, g.constant(np.float32(4))), precision=3), g("string_length", g("string_as_string", g("add", c, c)))],
        lambda c, x: [tf.strings.as_string(c), tf.strings.as_string(x * 4, precision=3), tf.strings.length(tf.strings.as_string(c + c))]),
    Row("where behind the graph", [a(SCORES), a(PAIRS)], lambda g, x, p: [g("where", g("greater", g("sum", x, axis=-1), g.constant(np.float32(0))), *g.all("unstack", p, axis=1))],
        lambda x, p: [tf.where(tf.reduce_sum(x, -1) > 0, p[:, 0], p[:, 1])]),
    Row("choices", [a(SCORES), a(PAIRS)], lambda g, x, p: [g.choose(g("greater", g("sum", x, axis=-1), g.constant(np.float32(0))), p, g("string_upper", p)),
                                                           g.choose(g("any", g("equal", p, g.constant(text("two"))), axis=-1), g("string_lower", p), p)],
        lambda x, p: [tf.where((tf.reduce_sum(x, -1) > 0)[:, None], p, tf.strings.upper(p)), tf.where(tf.reduce_any(p == "two", -1)[:, None], tf.strings.lower(p), p)]),
    Row("a choice before the graph", [a(W)], lambda g, x: [g("StringLookup", g.choose(g("string_regex_full_match", x, pattern=".*ood.*"), g("string_lower", x), x), vocabulary=VOCABULARY)],
        lambda x: [np.asarray(lookup(tf.where(tf.strings.regex_full_match(x, ".*ood.*"), tf.strings.lower(x), x)), "int32")]),
    Row("loop", [a(W), a(COUNTS)], lambda g, x, n: g.loop(4, lambda g, i, t: g("less", i, n), lambda g, i, t: [g("add", i, g.constant(np.int32(1))), g("string_join", t, g.constant(text("*").reshape(())))],
                                                          g("subtract", n, n), x)[1:],
        lambda x, n: [tf.constant([t + b"*" * min(4, max(0, k)) for t, k in zip(x.numpy(), n.numpy())])]),
    Row("text between parts of the graph", [a(SCORES)], lambda g, x: twice_there(g, x), lambda x: there_twice(x)),
    Row("a loop by what it makes", [a(W)], lambda g, x: g.loop(6, lambda g, t: g("less", g("string_length", t), g.constant(np.int32(7))),
                                                               lambda g, t: [g("string_join", t, g.constant(text("*").reshape(())))], x),
        lambda x: [tf.constant([t + b"*" * min(6, max(0, 7 - len(t))) for t in x.numpy()])]),
    Row("gather of rows", [a(W)], lambda g, x: [g.gather(g("string_lower", x)), g("string_length", g.gather(x))],
        lambda x: [tf.concat([tf.strings.lower(x), tf.fill([BATCH - ROWS], "")], 0), tf.concat([tf.strings.length(x), tf.zeros([BATCH - ROWS], tf.int32)], 0)]),
    Row("variables", [a(SCORES)], lambda g, x: [g("take", g.variable("classes"), g("argmax", x, axis=-1), axis=0), g.variable("classes"), g("add", x, g.variable("bias")),
                                                *([] if g.assign("classes", g("string_upper", g.variable("classes"))) else [])],
        lambda x: [tf.gather(NAMES, tf.argmax(x, -1)), NAMES, x + 1], {"classes": NAMES, "bias": np.float32([1, 1, 1])}),
    Row("a cross of columns", [a(W), a(text("a", "b", "", "a", "b")), a(COUNTS)], lambda g, x, y, n: [g("HashedCrossing", g("string_lower", x), y, num_bins=20), g("HashedCrossing", y, n, num_bins=20)],
        lambda x, y, n: [np.asarray(crossing((tf.strings.lower(x), y)), "int32"), np.asarray(crossing((y, tf.cast(n, tf.int64))), "int32")]),
    Row("hashing of what was made", [a(W)], lambda g, x: [g("Hashing", g("string_regex_replace", x, pattern="[^a-z]", rewrite=""), num_bins=9)],
        lambda x: [np.asarray(hashing(tf.strings.regex_replace(x, "[^a-z]", "")), "int32")]),
]

ONE = [a(W)]
one_scalar = text("*").reshape(())
REFUSED = [  # what a function may not do, and a word of why
    (ONE, lambda g, x: [g("add", x, x)], "is text"), (ONE, lambda g, x: [g("string_split", x)], "parts"), (ONE, lambda g, x: [g("string_unicode_decode", x)], "parts"),
    (ONE, lambda g, x: [g("string_reduce_join", x)], "rows of the batch"), (ONE, lambda g, x: [g("string_reduce_join", x, axis=0)], "rows of the batch"),
    (ONE, lambda g, x: [g("string_ngrams", x, ngram_width=2)], "rows of the batch"), (ONE, lambda g, x: [g("concatenate", x, x, axis=0)], ""),
    (ONE, lambda g, x: [g("string_to_hash_bucket_fast", x, num_buckets=1 << 40)], "int32"), (ONE, lambda g, x: [g("string_to_number", x, out_type="int64")], "int32"),
    (ONE, lambda g, x: [g("string_lookup", x, x)], "rows"), (ONE, lambda g, x: [g("string_substr", x, pos=1)], "len"), (ONE, lambda g, x: [g("string_join", x, x, sep="-")], "sep"),
    (ONE, lambda g, x: [g("where", x, x, x)], "must be numbers"), (ONE, lambda g, x: [g("equal", x, g.constant(np.float32(1)))], "numbers"), (ONE, lambda g, x: [g("string_lower", g.constant(np.float32(1)))], ""),
    (ONE, lambda g, x: [g("string_regex_replace", x, pattern="(", rewrite="")], ""),
    ([s(NAMES)], lambda g, x: [g("StringLookup", x, vocabulary=["a"])], "shared"), ([s(NAMES)], lambda g, x: [g.gather(x)], "rows"),
    ([a(SCORES)], lambda g, x: [g("StringLookup", g("string_as_string", g("exp", x)), vocabulary=["a"])], "computed"),
    (ONE, lambda g, x: g.loop(20, lambda g, t: g("less", g("string_length", t), g.constant(np.int32(7))), lambda g, t: [g("string_join", t, g.constant(one_scalar))], x), "more than 16 times"),
    (ONE, lambda g, x: [g.choose(g("string_regex_full_match", x, pattern="a"), x, g("string_length", x))], "one side is strings"),
]
GIVEN = [  # what fails in a run, and how
    ([a(text("1", "x", "3", "4", "5"))], lambda g, x: [g("string_to_number", x)], "x"), ([a(text("abc", "a", "abc", "abc", "abc"))], lambda g, x: [g("string_substr", x, pos=2, len=1)], "element 1"),
    ([a(np.int32([0, 1, 2, 3, 0])), s(NAMES)], lambda g, i, n: [g("take", n, i, axis=0)], "index 3"), ([a(text(b"\xc3(", *"abcd"))], lambda g, x: [g("string_lower", x)], "row 0"),
    ([a(text("\u00e4", *"bcde"))], lambda g, x: [g("string_substr", x, pos=0, len=1)], "UTF-8"),
]
for number, (arguments, ours, why) in enumerate(REFUSED + GIVEN):
    row = Row("refused", arguments, ours, lambda *x: [0])
    try:
        strategy, _, function = make(row, "mirrored", 2)
        if number >= len(REFUSED):
            run(row, function)
        faults.append(f"taken: {number} {why}")
    except Refused as refusal:
        if why not in str(refusal):
            faults.append(f"not {why!r}: {refusal}")

for row in ROWS_OF_TESTS:
    try:
        wanted = [np.asarray(w) for w in row.theirs(*[tensor(x) for x in row.arguments])]
        path = os.path.join(os.environ["ARTEL_SCRATCH"], "function.artel").encode()
        for name, replicas in (("one-device", 1), ("mirrored", 3)):
            strategy, variables, function = make(row, name, replicas)
            if replicas == 1:
                check(lib.artel_functions_save(strategy, None, 0, path))
            for again in range(1 if row.variables else 2):
                same(f"{row.name}, {name}, run {again}", run(row, function), wanted)
            if row.variables:
                same(f"{row.name}, {name}, variable", [read_words(variables["classes"], NAMES)], [tf.strings.upper(NAMES).numpy()])
            lib.artel_strategy_destroy(strategy)
        o, strategy = strategy_of("mirrored", 2)
        check(lib.artel_functions_load(CONTEXT, path, ctypes.byref(o), ctypes.byref(strategy)))
        function = ctypes.c_void_p()
        check(lib.artel_strategy_function(strategy, b"f", ctypes.byref(function)))
        same(f"{row.name}, of a file", run(row, function), wanted)
        lib.artel_strategy_destroy(strategy)
    except Refused as refusal:
        faults.append(f"{row.name}: {refusal}")

print("\n".join(faults))
sys.exit(bool(faults))
