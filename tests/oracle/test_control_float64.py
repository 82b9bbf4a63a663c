# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""float64 in the control flow of functions (artel/control.h): choices, loops and scans, one condition for all and one for each row, values and gradients of the
first and second order within 1e-14 of the largest number of what TensorFlow's tf.cond, tf.while_loop and Python's loops give, and equal bits under every strategy."""
import ctypes
import sys

import numpy as np

from graphs import CONTEXT, DTYPES, S, Refused, Trace, check, faults, lib, pointer, shape_of
from oracle import keras_module

keras_module()
import tensorflow as tf  # noqa: E402  (after Keras has set it up)

STRATEGIES = (("one-device", 1), ("mirrored", 3), ("central-storage", 2))


# -- values of a graph that is traced, written as Python writes them --


class Value:
    graph = None

    def __init__(self, number):
        self.number = number

    def __add__(self, other):
        return binary("add", self, other)

    def __sub__(self, other):
        return binary("subtract", self, other)

    def __mul__(self, other):
        return binary("multiply", self, other)

    def __truediv__(self, other):
        return binary("divide", self, other)

    def __lt__(self, other):
        return binary("less", self, other)

    def __gt__(self, other):
        return binary("greater", self, other)

    __radd__, __rmul__ = __add__, __mul__


def value_of(x):
    return x if isinstance(x, Value) else Value(lib.artel_graph_number(Value.graph, ctypes.c_double(x)))


def binary(name, a, b):
    return Value(lib.artel_graph_binary(Value.graph, name.encode(), value_of(a).number, value_of(b).number))


def unary(name):
    return lambda x: Value(lib.artel_graph_unary(Value.graph, name.encode(), x.number))


def numbers_of(values):
    return (ctypes.c_int32 * max(len(values), 1))(*(value_of(v).number for v in values))


def traced(function, count, keep):
    """A function of Python values as the library calls it; what it raises is a fault, not an end of the process."""

    def call(_user, graph, inputs, outputs):
        outer, Value.graph = Value.graph, graph
        try:
            for i, made in enumerate(function(*(Value(inputs[k]) for k in range(count)))):
                outputs[i] = value_of(made).number
        except Exception as error:  # pylint: disable=broad-except
            faults.append(f"traced: {error!r}")
            return -1
        finally:
            Value.graph = outer
        return 0

    keep.append(Trace(call))
    return pointer(keep[-1])


class Artel:
    """What the programs below are written with; Tensor is the same for TensorFlow."""

    tanh, sin, exp, abs = (staticmethod(unary(name)) for name in ("tanh", "sin", "exp", "absolute"))

    def __init__(self):
        self.keep = []

    def constant(self, x):
        x = np.asarray(x)
        self.keep.append(x)
        return Value(lib.artel_graph_constant(Value.graph, DTYPES[x.dtype.name], ctypes.byref(shape_of(x.shape)), x.ctypes.data))

    def choose(self, condition, then, otherwise, inputs, count):
        given, out = numbers_of(inputs), (ctypes.c_int32 * count)()
        size = ctypes.sizeof(S["artel_choice"])
        sides = [traced(side, len(inputs), self.keep) for side in (then, otherwise)]
        lib.artel_graph_choose(Value.graph, ctypes.byref(S["artel_choice"](size, condition.number, *sides, None, pointer(given), count)), pointer(out))
        return [Value(i) for i in out]

    def loop(self, condition, body, state, most):
        values, size = numbers_of(state), ctypes.sizeof(S["artel_loop"])
        holds = traced(lambda *x: [condition(*x)], len(state), self.keep)
        lib.artel_graph_loop(Value.graph, ctypes.byref(S["artel_loop"](size, holds, traced(body, len(state), self.keep), None, len(state), most)), pointer(values))
        return [Value(i) for i in values[: len(state)]]

    def scan(self, body, sequences, state, results, axis, reverse):
        values, given, out = numbers_of(state), numbers_of(sequences), (ctypes.c_int32 * max(results, 1))()
        step = traced(body, len(state) + len(sequences), self.keep)
        scan = S["artel_scan"](ctypes.sizeof(S["artel_scan"]), step, None, pointer(given), len(sequences), len(state), results, axis, reverse)
        lib.artel_graph_scan(Value.graph, ctypes.byref(scan), pointer(values), pointer(out))
        return [Value(i) for i in values[: len(state)]] + [Value(i) for i in out[:results]]

    def gradients(self, target, values):
        out = (ctypes.c_int32 * len(values))()
        lib.artel_graph_gradients(Value.graph, target.number, pointer(numbers_of(values)), len(values), pointer(out))
        return [Value(i) for i in out]


class Tensor:
    """Rows of TensorFlow, each of which takes its own side and goes round as often as its own condition says."""

    tanh, sin, exp, abs, constant = (staticmethod(function) for function in (tf.tanh, tf.sin, tf.exp, tf.abs, tf.constant))

    @staticmethod
    def by_row(condition, a, b):
        return tf.where(tf.reshape(condition, condition.shape + [1] * (len(a.shape) - len(condition.shape))), a, b)

    def choose(self, condition, then, otherwise, inputs, count):
        if condition.shape.rank == 0:
            return [tf.convert_to_tensor(y, "float64") for y in tf.cond(condition, lambda: then(*inputs), lambda: otherwise(*inputs))]
        sides = zip(*([tf.convert_to_tensor(y, "float64") for y in side(*inputs)] for side in (then, otherwise)))
        return [self.by_row(condition, a, b) for a, b in sides]

    def loop(self, condition, body, state, most):
        state = [tf.convert_to_tensor(x, "float64") for x in state]
        if condition(*state).shape.rank == 0:
            return tf.while_loop(condition, body, state, maximum_iterations=most)
        active = tf.ones_like(condition(*state))
        for _ in range(most):
            active = active & condition(*state)
            state = [self.by_row(active, new, old) for new, old in zip(body(*state), state)]
        return state

    def scan(self, body, sequences, state, results, axis, reverse):
        length, made, state = sequences[0].shape[axis], [], [tf.convert_to_tensor(x, "float64") for x in state]
        for t in range(length - 1, -1, -1) if reverse else range(length):
            out = body(*state, *(tf.gather(x, t, axis=axis) for x in sequences))
            state = out[: len(state)]
            made.append(out[len(state) :])
        made = made[::-1] if reverse else made
        return [*state, *(tf.stack([m[i] for m in made], axis) for i in range(results))]


# -- both run one program --


def gradients_of(program, inputs, order):
    """Outputs of the program for TensorFlow: its values, then slopes of sum(y sin y) of the first or second order."""
    variables = [tf.constant(x) for x in inputs]
    with tf.GradientTape() as outer:
        outer.watch(variables)
        with tf.GradientTape() as inner:
            inner.watch(variables)
            made = program(Tensor(), *variables)
            target = tf.add_n([tf.reduce_sum(y * tf.sin(y)) for y in made])
        slopes = inner.gradient(target, variables, unconnected_gradients="zero")
        if order == 1:
            return [*made, *slopes]
        total = tf.add_n([tf.reduce_sum(slope * tf.cos(x)) for slope, x in zip(slopes, variables)])
    return [*made, *outer.gradient(total, variables, unconnected_gradients="zero")]


def trace_of(program, count, order):
    def trace(*inputs):
        artel = Artel()
        trace.keep = artel.keep
        made = program(artel, *inputs)
        slopes = sum_of_gradients(artel, [y * artel.sin(y) for y in made], inputs)
        if order == 2:
            slopes = sum_of_gradients(artel, [slope * unary("cos")(x) for slope, x in zip(slopes, inputs)], inputs)
        return [*made, *slopes]

    return trace


def sum_of_gradients(artel, targets, inputs):
    total = [x * 0.0 for x in inputs]
    for target in targets:
        slopes = artel.gradients(target, list(inputs))
        total = [have if slope.number < 0 else have + slope for have, slope in zip(total, slopes)]
    return total


def run(strategy, replicas, trace, inputs, shared, outputs):
    """A function of one strategy; inputs by row, or those of `shared` alike for all rows."""
    s, function, keep = ctypes.c_void_p(), ctypes.c_void_p(), []
    options = S["artel_strategy_options"](struct_size=ctypes.sizeof(S["artel_strategy_options"]), strategy=None, replicas=replicas, threads=replicas, batch_size=16)
    name = ctypes.create_string_buffer(strategy.encode())
    options.strategy = ctypes.cast(name, ctypes.c_void_p)
    check(lib.artel_strategy_create(CONTEXT, ctypes.byref(options), ctypes.byref(s)))
    try:
        arguments = (S["artel_argument"] * len(inputs))()
        for i, (argument, x) in enumerate(zip(arguments, inputs)):
            argument.dtype, argument.shared, argument.shape = DTYPES[x.dtype.name], i in shared, shape_of(x.shape if i in shared else x.shape[1:])
        how = S["artel_function_options"](struct_size=ctypes.sizeof(S["artel_function_options"]), arguments=pointer(arguments), argument_count=len(inputs), output_count=len(outputs))
        check(lib.artel_function_create(s, ctypes.byref(how), traced(trace, len(inputs), keep), None, ctypes.byref(function)))
        given, got = (S["artel_array"] * len(inputs))(), (S["artel_array"] * len(outputs))()
        for a, x in zip(given, inputs):
            a.dtype, a.shape, a.data = DTYPES[x.dtype.name], shape_of(x.shape), x.ctypes.data
        results = [np.full(y.shape, np.nan) for y in outputs]
        for a, y in zip(got, results):
            a.dtype, a.shape, a.data = DTYPES["float64"], shape_of(y.shape), y.ctypes.data
        check(lib.artel_function_run(function, pointer(given), len(inputs), pointer(got), len(outputs)))
        return results
    finally:
        lib.artel_strategy_destroy(s)


# -- the programs --

random = np.random.default_rng(23)
ROWS, STEPS = 11, 9
X, Y = random.normal(0, 1, ROWS), random.normal(0, 1, ROWS)
WIDE, POSITIVE = random.normal(0, 1, (ROWS, STEPS, 2)), random.uniform(0.1, 40, ROWS)
START = random.normal(0, 1, (ROWS, 2))


def choice(at, x, y):
    """Each row its own side; both have a constant that float32 does not hold."""
    return at.choose(x < 0.1, lambda x, y: [at.sin(x) * y * 0.3, x * x], lambda x, y: [at.exp(y) / (x * x + 0.7), y * x], [x, y], 2)


def choice_within(at, x, y):
    """One choice in another."""
    return at.choose(x > 0, lambda x, y: at.choose(y > 0.2, lambda x, y: [x * y], lambda x, y: [at.tanh(x - y)], [x, y], 1), lambda x, y: [x * 0.1], [x, y], 1)


def choice_of_all(at, x, level):
    """One condition, shared by all rows."""
    return at.choose(level > 0.5, lambda x, level: [at.sin(x) * level], lambda x, level: [at.exp(x) / level], [x, level], 1)


def roots(at, x):
    """Newton's rule, each row until it is there."""
    return at.loop(lambda x, y: at.abs(y * y - x) > x * 1e-9, lambda x, y: [x, (y + x / y) * 0.5], [x, x], 12)


def powers(at, x, level):
    """Goes round as often as a shared condition says, for all rows alike."""
    out = at.loop(lambda x, level: level < 3.3, lambda x, level: [at.tanh(x * 1.1) + 0.01, level + 0.7], [x, level], 8)
    return out[:1]


def strides(at, x):
    """Each row in steps of a number that float32 does not hold, until it is past 1.7."""
    return at.loop(lambda x, by: x < 1.7, lambda x, by: [x + at.exp(x * -0.3) * by, by], [x, 0.1], 40)[:1]


def recurrence(reverse, at, x, h):
    """h = tanh(0.7 h + x), its states and products, along axis 1."""
    def step(h, x):
        new = at.tanh(h * 0.7 + x)
        return [new, new * x]

    return at.scan(step, [x], [h], 1, 1, reverse)


def running(at, x):
    """Two states that begin as constants, one of which float32 does not hold, and no results."""
    first = at.constant(np.array([0.1, 0.2]))
    a, _ = at.scan(lambda a, b, x: [a * 0.5 + b * x, at.sin(b) + x * 0.1], [x], [first, first], 0, 1, False)
    return [a]


def from_number(at, x):
    """A state that begins as a number which float32 does not hold."""
    return at.scan(lambda h, x: [at.tanh(h * 0.7 + x), h * x], [x], [0.1], 1, 1, False)


PROGRAMS = [
    ("choice", choice, (X, Y), ()),
    ("choice in a choice", choice_within, (X, Y), ()),
    ("choice for all, first side", choice_of_all, (X, np.array(0.9)), (1,)),
    ("choice for all, other side", choice_of_all, (X, np.array(0.3)), (1,)),
    ("loop", roots, (POSITIVE,), ()),
    ("loop for all", powers, (X, np.array(0.1)), (1,)),
    ("loop with a number", strides, (X,), ()),
    ("scan", lambda at, x, h: recurrence(False, at, x, h), (WIDE, START), ()),
    ("scan backwards", lambda at, x, h: recurrence(True, at, x, h), (WIDE, START), ()),
    ("scan from constants", running, (WIDE,), ()),
    ("scan from a number", from_number, (WIDE,), ()),
]


def expect(what, got, wanted):
    largest = max(np.abs(wanted).max(initial=0), 1e-300)
    apart = np.abs(got - wanted).max(initial=0) / largest
    if not apart <= 1e-14:
        faults.append(f"{what}: {apart:.1e} apart: {got.ravel()[:4]}, wanted {wanted.ravel()[:4]}")


for name, program, inputs, shared in PROGRAMS:
    for order in (1, 2):
        wanted = [np.asarray(y) for y in gradients_of(program, inputs, order)]
        first = None
        for strategy, replicas in STRATEGIES:
            what = f"{name}, slopes of order {order}, {strategy}"
            try:
                got = run(strategy, replicas, trace_of(program, len(inputs), order), inputs, shared, wanted)
            except Refused as error:
                faults.append(f"{what}: refused: {error}")
                break
            if first is None:
                first = got
                for i, (g, w) in enumerate(zip(got, wanted)):
                    expect(f"{what}, output {i}", g, w)
            faults += [f"{what}, output {i}: other bits than {STRATEGIES[0][0]}" for i, (g, f) in enumerate(zip(got, first)) if g.tobytes() != f.tobytes()]

lib.artel_context_destroy(CONTEXT)
sys.exit("\n".join(faults) or 0)
