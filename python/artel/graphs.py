# SPDX-License-Identifier: Apache-2.0
"""Functions that are traced from Python, as include/artel/graph.h has them from C: run on NumPy arrays under any strategy (README.md has an example). A Python
function is called once, with values that stand for arrays: what it does with them is what is computed each time."""

from __future__ import annotations

import ctypes
import inspect
import threading
from typing import Any, Callable, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from . import _DTYPES, Model, Record, _Shape, _b, _d, _dump, _i, _json, _l, _lib, _numbers, _p, _s, _text, _z
from .functions import Function, _Argument, _Holder, _read, _strategy_options

__all__ = ["Optimizer", "Spec", "Strategy", "Value", "Variable", "call", "choose", "constant", "dropout", "gather", "gradients", "jacobians", "loop", "loss", "normal", "op",
           "reduce", "rows", "scan", "shared", "uniform"]

_NONE, _MOST, _INVALID = -1, 256, -1
_v = ctypes.c_int32  # artel_value
_REDUCTIONS = {"sum": 0, "mean": 1, "min": 2, "max": 3}
_Trace = ctypes.CFUNCTYPE(_i, _p, _p, ctypes.POINTER(_v), ctypes.POINTER(_v))

class _Tracing(threading.local):
    """What this thread traces, the innermost one last."""
    def __init__(self) -> None:
        self.graphs: List["_Graph"] = []

_tracing = _Tracing()

class _VariableOptions(ctypes.Structure): _fields_ = [("struct_size", _z), ("name", _s), ("dtype", _i), ("shape", _Shape), ("initial", _p), ("initializer", _s),
        ("aggregation", _s), ("synchronization", _s)]
class _FunctionOptions(ctypes.Structure): _fields_ = [("struct_size", _z), ("name", _s), ("arguments", ctypes.POINTER(_Argument)), ("argument_count", _i),
        ("output_count", _i), ("training", _b)]
class _Choice(ctypes.Structure): _fields_ = [("struct_size", _z), ("condition", _v), ("then", _Trace), ("otherwise", _Trace), ("user", _p), ("inputs", ctypes.POINTER(_v)),
        ("output_count", _i)]
class _Loop(ctypes.Structure): _fields_ = [("struct_size", _z), ("condition", _Trace), ("body", _Trace), ("user", _p), ("state_count", _i), ("most", _i)]
class _Scan(ctypes.Structure): _fields_ = [("struct_size", _z), ("body", _Trace), ("user", _p), ("sequences", ctypes.POINTER(_v)), ("sequence_count", _i), ("state_count", _i),
        ("result_count", _i), ("axis", _i), ("reverse", _b)]

Spec = NamedTuple("Spec", [("shape", Tuple[int, ...]), ("dtype", str), ("shared", bool)])  # what an argument is: rows() or shared()

def _spec(shape: Tuple[int, ...], dtype: str, shared: bool) -> Spec:
    if dtype not in _DTYPES + ["string"]:
        raise TypeError(f"arguments of {dtype!r}; element types are {', '.join(_DTYPES)}, string")
    _extents(shape)
    return Spec(shape, dtype, shared)

def rows(*shape: int, dtype: str = "float32") -> Spec:
    """An entry of this shape for each row of the batch, which is divided among replicas."""
    return _spec(shape, dtype, False)

def shared(*shape: int, dtype: str = "float32") -> Spec:
    """One array of this shape, the same on all replicas."""
    return _spec(shape, dtype, True)

class _Graph:
    """What is traced at the moment, and what the caller's Python has raised meanwhile."""

    def __init__(self, strategy: "Strategy") -> None:
        self.strategy, self.handle, self.raised, self.kept = strategy, _p(), [], []  # type: Strategy, _p, List[BaseException], List[Any]

    def check(self, status: int) -> None:
        if self.raised:
            raise self.raised[0]
        self.strategy._check(status)

    def value(self, number: int) -> "Value":
        if number < 0:
            self.check(_lib.artel_graph_status(self.handle))
            raise ValueError("there is no such value")
        return Value(self, number)

    def values(self, made: Any, count: int) -> Any:
        return self.value(made[0]) if count == 1 else [self.value(made[i]) for i in range(count)]

    def callback(self, python: Callable, inputs: int, outputs: int) -> Any:
        def trace(_user: Optional[int], handle: int, given: Any, made: Any) -> int:
            outer, self.handle = self.handle, _p(handle)
            _tracing.graphs.append(self)
            try:
                result = python(*[Value(self, given[i]) for i in range(inputs)])
                listed = list(result) if isinstance(result, (list, tuple)) else [] if result is None else [result]
                if len(listed) != outputs:
                    raise TypeError(f"{getattr(python, '__name__', 'the function')} gives {len(listed)} values, and {outputs} were announced (outputs=)")
                for i, one in enumerate(listed):
                    made[i] = _number(one)
                return _lib.artel_graph_status(self.handle)
            except BaseException as error:  # of the caller's own: it is raised again when the library returns
                self.raised.append(error)
                return _INVALID
            finally:
                _tracing.graphs.pop()
                self.handle = outer
        self.kept.append(_Trace(trace))
        return self.kept[-1]

def _graph() -> _Graph:
    if not _tracing.graphs:
        raise RuntimeError("values are there while a function is traced: decorate it with strategy.function()")
    return _tracing.graphs[-1]

def _give(function: Any, *arguments: Any) -> "Value":
    return _graph().value(function(_graph().handle, *arguments))

def _act(function: Any, *arguments: Any) -> None:
    function(_graph().handle, *arguments)
    _graph().check(_lib.artel_graph_status(_graph().handle))

class _Arithmetic:
    """Operators of Python, by operations of their names."""

    __neg__, __abs__ = lambda self: op("negative", self), lambda self: op("absolute", self)

    def __eq__(self, other: Any) -> Any:
        return op("equal", self, other) if _tracing.graphs else NotImplemented

    def __ne__(self, other: Any) -> Any:
        return op("not_equal", self, other) if _tracing.graphs else NotImplemented

    __hash__ = object.__hash__

for _python, _ours in {"add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide", "mod": "mod", "pow": "power", "matmul": "matmul",
                       "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}.items():
    setattr(_Arithmetic, f"__{_python}__", lambda self, other, ours=_ours: op(ours, self, other))
    if _ours not in ("less", "less_equal", "greater", "greater_equal"):
        setattr(_Arithmetic, f"__r{_python}__", lambda self, other, ours=_ours: op(ours, other, self))

class Value(_Arithmetic):
    """An array that is not there yet: `dtype`, `shape` (of a row, or of the whole), `by_row`."""

    __array_ufunc__ = None  # arrays on the left leave operators to us

    def __init__(self, graph: _Graph, number: int) -> None:
        self._graph, self._number = graph, number
        dtype, shape, by_row = _i(), _Shape(), _b()
        graph.check(_lib.artel_graph_describe(graph.handle, _v(number), ctypes.byref(dtype), ctypes.byref(shape), ctypes.byref(by_row)))
        self.dtype = _DTYPES[dtype.value] if dtype.value < len(_DTYPES) else "string"
        self.shape, self.by_row = tuple(shape.dim[i] for i in range(shape.rank)), by_row.value

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise TypeError("a value is no array while a function is traced: operations are those of graphs, and functions of artel run on arrays")

    def __bool__(self) -> bool:
        raise TypeError("a value has no truth while a function is traced: use graphs.choose() or op('where', ...)")

class Variable(_Arithmetic):
    """A variable of a strategy; in a function its value before the run."""

    __array_ufunc__ = None

    def __init__(self, strategy: "Strategy", handle: Any) -> None:
        self._strategy, self._handle = strategy, handle
        self.name = _lib.artel_variable_name(handle).decode()

    def numpy(self) -> np.ndarray:
        """Its values between two runs."""
        return _read(self._strategy, self._handle)

    def set(self, values: Any) -> None:
        """Between two runs."""
        before = self.numpy()
        plain = _numbers(values, str(before.dtype))
        if plain.shape != before.shape:
            raise ValueError(f"{self.name}: values of {plain.shape} for a variable of {before.shape}")
        self._strategy._check(_lib.artel_variable_assign_as(self._handle, _DTYPES.index(str(plain.dtype)), plain.ctypes.data_as(_p), _l(plain.size)))

    def assign(self, value: Any) -> None:
        """In a function: it becomes this when the run has been computed."""
        _act(_lib.artel_graph_assign, self._handle, _v(_number(value)))

class Optimizer:
    """An optimizer of Keras for variables of a strategy."""

    def __init__(self, strategy: "Strategy", handle: ctypes.c_void_p) -> None:
        self._strategy, self._handle = strategy, handle

    def minimise(self, loss: Any) -> None:
        """In a function: a step against the gradients of the loss."""
        _act(_lib.artel_graph_minimise, self._handle, _v(_number(loss)))

    def apply(self, slopes: Sequence[Optional[Value]]) -> None:
        """In a function: a step with a gradient for each variable, None for those that stay."""
        _act(_lib.artel_graph_apply, self._handle, _list(slopes), _i(len(slopes)))

    def iterations(self) -> int:
        """Steps taken."""
        return _lib.artel_optimizer_iterations(self._handle)

def _extents(shape: Sequence[int]) -> _Shape:
    if len(shape) > 8 or not all(hasattr(one, "__index__") for one in shape):
        raise ValueError(f"the shape {tuple(shape)}; a shape is up to 8 whole numbers")
    return _Shape(len(shape), (_l * 8)(*shape))

def _constant(array: Any, dtype: Optional[str]) -> int:
    plain = np.asarray(array)
    if dtype is None:
        dtype = "bool" if plain.dtype == bool else "int32" if plain.dtype.kind in "iu" else "float32"
    if dtype not in ("float32", "float64", "int32", "int64", "bool"):
        raise TypeError(f"a constant of {dtype}; constants are float32, float64, int32, int64 or bool")
    plain = _numbers(array, dtype)
    return _lib.artel_graph_constant(_graph().handle, _DTYPES.index(dtype), ctypes.byref(_extents(plain.shape)), plain.ctypes.data_as(_p))

def _number(x: Any, like: Optional[str] = None) -> int:
    """A value's number: of a variable, a number or an array as well, which takes the element type of floats beside it."""
    graph = _graph()
    if isinstance(x, Value):
        if x._graph is not graph:
            raise ValueError("the value belongs to another function")
        return x._number
    if isinstance(x, Variable):
        made = _lib.artel_graph_variable(graph.handle, x._handle)
    elif isinstance(x, float) or (isinstance(x, int) and not isinstance(x, bool) and like not in ("int32", "int64")):
        made = _lib.artel_graph_number(graph.handle, _d(x))
    else:
        made = _constant(x, like if (like, np.asarray(x).dtype.kind) in (("float32", "f"), ("float64", "f"), ("int64", "i")) else None)
    return graph.value(made)._number

def _list(values: Sequence[Any]) -> Any:
    values = [_graph().value(_lib.artel_graph_variable(_graph().handle, one._handle)) if isinstance(one, Variable) else one for one in values]
    like = next((one.dtype for one in values if isinstance(one, Value)), None)
    return (_v * max(len(values), 1))(*[_NONE if one is None else _number(one, like) for one in values])

def constant(array: Any, dtype: Optional[str] = None) -> Value:
    """A shared constant; floats are float32 unless said."""
    return _graph().value(_constant(array, dtype))

def op(name: str, *inputs: Any, **attributes: Any) -> Any:
    """An operation of keras.ops (docs/layers.md), with its settings by name: the result, or the list of them."""
    graph, made = _graph(), (_v * _MOST)()
    flat = [one for each in inputs for one in (each if isinstance(each, (list, tuple)) and any(isinstance(v, (Value, Variable)) for v in each) else [each])]
    settings = _dump(attributes) if attributes else None
    count = _lib.artel_graph_op_all(graph.handle, name.encode(), _list(flat), _i(len(flat)), settings, made, _i(_MOST))
    graph.check(min(count, 0))
    return graph.values(made, count)

def __getattr__(name: str) -> Callable[..., Any]:
    """graphs.softmax(x, axis=-1) is op("softmax", x, axis=-1)."""
    if name.startswith("_"):
        raise AttributeError(name)
    return lambda *inputs, **attributes: op(name, *inputs, **attributes)

def call(model: Model, *inputs: Any) -> Any:
    """A model of Strategy.load() on rows: its output, or the list of them."""
    graph, count = _graph(), _lib.artel_model_output_count(model._handle)
    made = (_v * count)()
    graph.check(_lib.artel_graph_call(graph.handle, model._handle, _list(inputs), _i(len(inputs)), made, _i(count)))
    return graph.values(made, count)

def loss(name: Record, target: Any, prediction: Any) -> Value:
    """A loss of Keras before any reduction: a number for each row."""
    return _give(_lib.artel_graph_loss, _json(name), _v(_number(target)), _v(_number(prediction)))

def reduce(value: Any, how: str = "mean") -> Value:
    """sum, mean, min or max over all rows of the batch, which all replicas have then."""
    if how not in _REDUCTIONS:
        raise ValueError(f"{how!r} is no reduction: {', '.join(_REDUCTIONS)}")
    return _give(_lib.artel_graph_reduce, _REDUCTIONS[how], _v(_number(value)))

def gather(value: Any, axis: int = 0) -> Value:
    """All rows of the batch as one shared value, joined along this axis, with zeros up to batch_size."""
    return _give(_lib.artel_graph_gather_along, _v(_number(value)), _i(axis))

def dropout(x: Any, rate: float) -> Value:
    """Elements kept with the probability 1 - rate and scaled."""
    return _give(_lib.artel_graph_dropout, _v(_number(x)), _d(rate))

def uniform(like: Any, shape: Sequence[int], low: float = 0, high: float = 1, same: bool = False) -> Value:
    """Numbers of this shape for each row of `like`, or with `same` for all rows alike."""
    return _give(_lib.artel_graph_uniform, _v(_number(like)), ctypes.byref(_extents(shape)), _d(low), _d(high), _b(same))

def normal(like: Any, shape: Sequence[int], deviation: float = 1) -> Value:
    """The same of mean 0."""
    return _give(_lib.artel_graph_normal, _v(_number(like)), ctypes.byref(_extents(shape)), _d(deviation))

def _slopes(function: Any, target: Any, wanted: Union[Any, Sequence[Any]]) -> Any:
    graph, several = _graph(), isinstance(wanted, (list, tuple))
    listed = list(wanted) if several else [wanted]
    made = (_v * max(len(listed), 1))()
    graph.check(function(graph.handle, _v(_number(target)), _list(listed), _i(len(listed)), made))
    results = [None if made[i] < 0 else graph.value(made[i]) for i in range(len(listed))]
    return results if several else results[0]

def gradients(target: Any, wanted: Union[Any, Sequence[Any]]) -> Any:
    """Those of the target, or the sum of its elements, by each of `wanted`; None where it does not depend on it. They may be differentiated again."""
    return _slopes(_lib.artel_graph_gradients, target, wanted)

def jacobians(target: Any, wanted: Union[Any, Sequence[Any]]) -> Any:
    """The slopes of each element of the target, whose axes come first; of rows by rows for each row. They may be differentiated again: that of a gradient is a Hessian."""
    return _slopes(_lib.artel_graph_jacobians, target, wanted)

def choose(condition: Any, then: Callable, otherwise: Callable, *inputs: Any, outputs: int = 1) -> Any:
    """What tf.cond is: both functions get the inputs, and give so many values of like shapes."""
    graph, made, listed = _graph(), (_v * outputs)(), _list(inputs)
    choice = _Choice(ctypes.sizeof(_Choice), _number(condition), graph.callback(then, len(inputs), outputs), graph.callback(otherwise, len(inputs), outputs), None, listed, outputs)
    graph.check(_lib.artel_graph_choose(graph.handle, ctypes.byref(choice), made))
    return graph.values(made, outputs)

def loop(condition: Callable, body: Callable, *state: Any, most: int) -> Any:
    """What tf.while_loop with maximum_iterations is: the last state."""
    graph, made = _graph(), _list(state)
    loop_ = _Loop(ctypes.sizeof(_Loop), graph.callback(condition, len(state), 1), graph.callback(body, len(state), len(state)), None, len(state), most)
    graph.check(_lib.artel_graph_loop(graph.handle, ctypes.byref(loop_), made))
    return graph.values(made, len(state))

def scan(body: Callable, state: Sequence[Any], sequences: Sequence[Any], results: int = 1, axis: int = 1, reverse: bool = False) -> Tuple[List[Value], List[Value]]:
    """A function along an axis: of the state and a position of each sequence to the next state and results; the last state, and results stacked along the axis."""
    graph, made, stacked, listed = _graph(), _list(state), (_v * max(results, 1))(), _list(sequences)
    count = len(state) + results
    scan_ = _Scan(ctypes.sizeof(_Scan), graph.callback(body, len(state) + len(sequences), len(state) + results), None, listed, len(sequences), len(state), results, axis, reverse)
    graph.check(_lib.artel_graph_scan(graph.handle, ctypes.byref(scan_), made, stacked))
    return [graph.value(made[i]) for i in range(len(state))], [graph.value(stacked[i]) for i in range(results)]

class Strategy(_Holder):
    """Variables, optimizers, models and functions, computed on replicas that hold the same bits. Settings are the fields of artel_strategy_options."""

    def __init__(self, strategy: Optional[str] = None, extensions: Sequence[str] = (), **settings: Any) -> None:
        super().__init__(extensions)
        self._models: List[Model] = []
        options = _strategy_options(dict(settings, strategy=strategy))
        self._check(_lib.artel_strategy_create(self._context.handle, ctypes.byref(options), ctypes.byref(self._handle)))
        self._context.own(self._handle, _lib.artel_strategy_destroy)

    @property
    def replicas(self) -> int:
        """num_replicas_in_sync."""
        return _lib.artel_strategy_replicas(self._handle)

    def variable(self, name: str, initial: Any, dtype: str = "float32", aggregation: Optional[str] = None, synchronization: Optional[str] = None) -> Variable:
        """Before the first run. float32, float64, bool or whole numbers but uint64. What rows write: by `aggregation`; with `synchronization` "on_read" when it is read."""
        if dtype not in _DTYPES:
            raise TypeError(f"{name}: there is no element type {dtype!r}; whole numbers but uint64, floats or bool")
        plain, handle = _numbers(initial, dtype), _p()
        options = _VariableOptions(ctypes.sizeof(_VariableOptions), _text(name), _DTYPES.index(dtype), _extents(plain.shape), plain.ctypes.data, None,
                                   _text(aggregation), _text(synchronization))
        self._check(_lib.artel_variable_create(self._handle, ctypes.byref(options), ctypes.byref(handle)))
        return Variable(self, handle)

    def load(self, path: str, dtype: Optional[str] = None) -> Model:
        """A model that functions call(); its weights change by store() alone."""
        model = Model(path, (), dtype, self._context)
        self._check(_lib.artel_strategy_add_model(self._handle, model._handle))
        self._models.append(model)
        return model

    def variables(self, model: Model, every: bool = False) -> List[Variable]:
        """The trainable variables of a model, in Keras' order, or every one."""
        listed, count = ctypes.POINTER(_p)(), _i()
        self._check(_lib.artel_strategy_variables(self._handle, model._handle, _b(every), ctypes.byref(listed), ctypes.byref(count)))
        return [Variable(self, _p(listed[i])) for i in range(count.value)]

    def store(self, model: Model) -> None:
        """Puts the weights of the moment into the model."""
        self._check(_lib.artel_strategy_store(self._handle, model._handle))

    def optimizer(self, optimizer: Record, variables: Union[Model, Sequence[Variable]]) -> Optimizer:
        """For these variables, or the trainable ones of a model."""
        handle = _p()
        if isinstance(variables, Model):
            self._check(_lib.artel_optimizer_create_for_model(self._handle, _json(optimizer), variables._handle, ctypes.byref(handle)))
        else:
            variables = [variables] if isinstance(variables, Variable) else list(variables)
            listed = (_p * max(len(variables), 1))(*[one._handle for one in variables])
            self._check(_lib.artel_optimizer_create(self._handle, _json(optimizer), listed, _i(len(variables)), ctypes.byref(handle)))
        return Optimizer(self, handle)

    def function(self, *specs: Spec, outputs: int = 1, training: bool = False, name: Optional[str] = None) -> Callable[[Callable], Function]:
        """A decorator: traces a Python function now, once, and gives what runs it. `specs`: what its arguments are; `outputs`: how many values it gives."""
        if not all(isinstance(spec, Spec) for spec in specs):
            raise TypeError("arguments are described by graphs.rows(...) or graphs.shared(...): @strategy.function(graphs.rows(3))")

        def trace(python: Callable) -> Function:
            graph, handle = _Graph(self), _p()
            names = [_text(one) for one in list(inspect.signature(python).parameters)[:len(specs)]] + [None] * len(specs)
            listed = (_Argument * max(len(specs), 1))(*[_Argument(names[i], 13 if spec.dtype == "string" else _DTYPES.index(spec.dtype), spec.shared, _extents(spec.shape))
                                                        for i, spec in enumerate(specs)])
            called = _text(name or getattr(python, "__name__", "function"))
            options = _FunctionOptions(ctypes.sizeof(_FunctionOptions), called, listed, len(specs), outputs, training)
            with self._context.lock:
                graph.check(_lib.artel_function_create(self._handle, ctypes.byref(options), graph.callback(python, len(specs), outputs), None, ctypes.byref(handle)))
            return Function(self, handle, called.decode())
        return trace

    def save_checkpoint(self, directory: str, step: int, keep: int = 0) -> None:
        """DIRECTORY/ckpt-STEP: variables, what optimizers keep, counters; all but the `keep` newest go (0: none)."""
        self._check(_lib.artel_strategy_save(self._handle, _text(directory), _l(step), _i(keep)))

    def restore(self, directory: str) -> int:
        """The newest checkpoint of a directory, or that one: its step; -1: there is none."""
        step = _l()
        self._check(_lib.artel_strategy_restore(self._handle, _text(directory), ctypes.byref(step)))
        return step.value

for _name in ("variable", "constant", "number", "loss", "reduce", "gather_along", "dropout", "uniform", "normal"):
    getattr(_lib, "artel_graph_" + _name).restype = _v
_lib.artel_variable_name.restype, _lib.artel_optimizer_iterations.restype = _s, _l
_lib.artel_graph_assign.restype = _lib.artel_graph_apply.restype = _lib.artel_graph_minimise.restype = None
