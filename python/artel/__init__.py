# SPDX-License-Identifier: Apache-2.0
"""Keras models trained by artel: load, fit, evaluate, predict, save, with NumPy arrays.

The module is a thin layer over libartel's C API (include/artel): one context a model, arrays are handed over without a copy where their
element type and layout allow it. Nothing of Keras or TensorFlow is used.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import threading
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple, Union

import numpy as np

__all__ = ["Error", "Function", "Functions", "Model", "Strategy", "checkpoints", "load", "load_functions", "version"]

Arrays = Union[np.ndarray, Sequence[np.ndarray], Dict[str, np.ndarray]]
Record = Union[None, str, Dict[str, Any], Sequence[Any]]

_DTYPES = ["float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"]
_STRING = 13  # behind these
_BY_NAME, _INPUT, _TARGET, _WEIGHT = 0, 1, 2, 3
_STEP, _EPOCH_END = 2, 3
_p, _s, _i, _b, _d = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_bool, ctypes.c_double
_l, _u, _z = ctypes.c_int64, ctypes.c_uint64, ctypes.c_size_t

class Error(RuntimeError):
    """What the library has refused or what failed: `where`, `what`, `advice`, `status`."""

    def __init__(self, status: int, where: str, what: str, advice: str) -> None:
        super().__init__(f"{where}: {what}" + (f"; {advice}" if advice else ""))
        self.status, self.where, self.what, self.advice = status, where, what, advice

# -- the C structs, field by field in the order of the headers (tests/api/test_python.py compares) --

class _Record(ctypes.Structure): _fields_ = [("status", _i), ("where", ctypes.c_char * 256), ("what", ctypes.c_char * 768), ("advice", ctypes.c_char * 512)]
class _Shape(ctypes.Structure): _fields_ = [("rank", _i), ("dim", _l * 8)]
class _String(ctypes.Structure): _fields_ = [("bytes", _s), ("length", _z)]
class _Array(ctypes.Structure): _fields_ = [("name", _s), ("role", _i), ("dtype", _i), ("shape", _Shape), ("values", _p)]
class _Metric(ctypes.Structure): _fields_ = [("name", _s), ("value", _d)]
# The head of artel_event, which is all that is read here
class _Event(ctypes.Structure): _fields_ = [("kind", _i), ("epoch", _l), ("epochs", _l), ("step", _l), ("steps_per_epoch", _l), ("step_in_epoch", _l), ("loss", _d),
        ("learning_rate", _d), ("metrics", ctypes.POINTER(_Metric)), ("metric_count", _i), ("validation", _b)]
class _FitOptions(ctypes.Structure): _fields_ = [("struct_size", _z), ("epochs", _l), ("initial_epoch", _l), ("batch_size", _l), ("steps_per_epoch", _l), ("shards", _l),
        ("seed", _u), ("shuffle", _b), ("strategy", _s), ("replicas", _i), ("threads", _i), ("validation_data", _p), ("validation_split", _d),
        ("validation_steps", _l), ("validation_batch_size", _l), ("validation_frequency", _l), ("class_weight", _s), ("learning_rate", _d),
        ("callbacks", _s), ("checkpoint_dir", _s), ("save_every", _s), ("keep", _i), ("fresh", _b), ("resume", _b), ("stop_on_nan", _b),
        ("dry_run", _b), ("on_plan", _p), ("on_event", _p), ("event_user", _p), ("batch_norm_groups", _i), ("on_profile", _p), ("cluster", _p),
        ("on_result", _p), ("recompute", _d), ("check_data", _s), ("standard_step", _b), ("arithmetic", _s), ("consistency", _s),
        ("ps_partitioner", _s), ("device", _s), ("plugin", _s), ("device_precision", _s), ("device_kernels", _s), ("device_launches", _s),
        ("auto_shard", _s), ("audit_data", _b), ("ps_copies", _l), ("all_reduce", _s), ("device_reduce", _s), ("ps_placement", _s),
        ("ps_loss", _s), ("embedding_updates", _s), ("validation_epochs", _s), ("device_memory", _s), ("allow_mixed_arithmetic", _b)]
class _EvaluateOptions(ctypes.Structure): _fields_ = [("struct_size", _z), ("batch_size", _l), ("steps", _l), ("shards", _l), ("strategy", _s), ("replicas", _i),
        ("threads", _i), ("on_event", _p), ("event_user", _p), ("cluster", _p), ("on_result", _p), ("arithmetic", _s), ("device", _s),
        ("plugin", _s), ("device_precision", _s), ("device_kernels", _s), ("device_launches", _s), ("all_reduce", _s),
        ("device_reduce", _s), ("device_memory", _s), ("allow_mixed_arithmetic", _b)]

_OnEvent = ctypes.CFUNCTYPE(None, _p, ctypes.POINTER(_Event))
_SET_BY_MODULE = {"struct_size", "validation_data", "callbacks", "on_plan", "on_event", "event_user", "on_profile", "cluster", "on_result"}

def _open() -> ctypes.CDLL:
    named = os.environ.get("ARTEL_LIBRARY")
    try:
        lib = ctypes.CDLL(named or "libartel.so.0.1")
    except OSError as error:
        advice = "ARTEL_LIBRARY names it" if named else "install artel, or name the file in ARTEL_LIBRARY"
        raise ImportError(f"{named or 'libartel.so.0.1'} cannot be opened ({error}): {advice}") from error
    lib.artel_context_error.restype = ctypes.POINTER(_Record)
    lib.artel_history_key.restype, lib.artel_history_values.restype = _s, ctypes.POINTER(_d)
    lib.artel_history_absent.restype, lib.artel_history_absent.argtypes = _b, [_d]
    for name in ["artel_context_destroy", "artel_model_destroy", "artel_data_destroy", "artel_history_destroy", "artel_predictions_destroy",
                 "artel_context_cancel", "artel_context_clear"]:
        getattr(lib, name).restype, getattr(lib, name).argtypes = None, [_p]
    return lib

_lib = _open()

def version() -> str:
    """The library's version."""
    text = _s()
    _lib.artel_version(ctypes.byref(text))
    return text.value.decode()

def _text(value: Optional[str]) -> Optional[bytes]:
    text = "" if value is None else os.fspath(value)
    if "\0" in text:
        raise ValueError(f"a text with a null character: {text!r}")
    return None if value is None else text.encode()

def _dump(value: Any) -> bytes:
    """As JSON; numbers and arrays of NumPy as Python's."""
    return json.dumps(value, default=lambda one: one.tolist() if isinstance(one, (np.generic, np.ndarray)) else json.JSONEncoder().default(one)).encode()

def _json(value: Record) -> Optional[bytes]:
    """Names as they are; records and lists of either as JSON."""
    return _dump(value) if isinstance(value, (dict, list, tuple)) else _text(value)

def _plain(array: Any) -> np.ndarray:
    """As the library reads it: one block, in the machine's byte order."""
    if hasattr(array, "__next__") or callable(array):
        raise TypeError("a generator or function is no array: make arrays of its rows, or give data='FORMAT:WHAT'")
    one = np.asarray(array)
    return np.ascontiguousarray(one, one.dtype.newbyteorder("=")).reshape(one.shape)

def _numbers(array: Any, dtype: str) -> np.ndarray:
    """As one block of this element type, which has to hold them; None is no NaN."""
    one = np.asarray(array)
    if one.dtype.kind in "cmMOSTU" or (dtype.startswith(("int", "uint")) and one.size and not np.iinfo(dtype).min <= one.min().item() <= one.max().item() <= np.iinfo(dtype).max):
        raise ValueError(f"{dtype} cannot be made of {array!r}")
    return np.ascontiguousarray(one, dtype).reshape(one.shape)

def _strings(array: np.ndarray) -> Optional[ctypes.Array]:
    """The elements of an array of text (str, bytes, or objects that are these) as the library reads them; None: it is none."""
    if array.dtype.kind not in "USOT":
        return None
    items = array.reshape(-1).tolist()
    if not all(isinstance(item, (str, bytes)) for item in items):
        return None
    texts = [item.encode() if isinstance(item, str) else item for item in items]
    return (_String * max(len(texts), 1))(*[(text, len(text)) for text in texts])

def _read_strings(made: ctypes.Array, shape: List[int]) -> np.ndarray:
    """An array of str, of elements that the library has written."""
    array = np.empty(int(np.prod(shape, dtype=np.int64)), object)
    for i in range(array.size):
        at = ctypes.cast(ctypes.byref(made, i * ctypes.sizeof(_String)), ctypes.POINTER(_p))[0]
        array[i] = ctypes.string_at(at, made[i].length).decode() if made[i].length else ""
    return array.reshape(shape)

def _named(arrays: Arrays) -> List[Tuple[Optional[bytes], np.ndarray]]:
    """One array, several (a list of arrays), or those of a dict by the names of the model's inputs or outputs. A list of numbers, or of lists of
    them, is one array, as to NumPy."""
    if isinstance(arrays, dict):
        return [(name.encode(), _plain(one)) for name, one in arrays.items()]
    several = isinstance(arrays, (list, tuple)) and len(arrays) > 0 and all(hasattr(one, "shape") and np.ndim(one) > 0 for one in arrays)
    return [(None, _plain(one)) for one in (arrays if several else [arrays])]

class _Context:
    """A context of the library, which ends what is made from it before itself: of objects in a circle Python finalizes any one first."""

    def __init__(self) -> None:
        self.handle, self.lock, self.made = _p(), threading.RLock(), {}  # type: _p, Any, Dict[int, Callable]
        self.check(_lib.artel_context_create(None, ctypes.byref(self.handle)))

    def own(self, handle: ctypes.c_void_p, destroy: Callable) -> None:
        self.made[handle.value] = destroy

    def end(self, handle: ctypes.c_void_p) -> None:
        destroy = self.made.pop(handle.value, None)
        if destroy:
            destroy(handle)

    def check(self, status: int) -> None:
        if status >= 0:
            return
        record = _lib.artel_context_error(self.handle if self.handle else None).contents
        raise Error(status, record.where.decode(errors="replace"), record.what.decode(errors="replace"),
                    record.advice.decode(errors="replace"))

    def __del__(self) -> None:
        for handle in list(self.made):
            self.end(_p(handle))
        if self.handle:
            _lib.artel_context_destroy(self.handle)
            self.handle = _p()

class _Data:
    """Arrays, or a specification, as artel_data; keeps what it borrows."""

    def __init__(self, context: _Context, x: Optional[Arrays], y: Optional[Arrays], weight: Optional[np.ndarray],
                 specification: Optional[str]) -> None:
        self.handle = _p()
        self.context = context
        self.kept: List[Any] = []
        if (x is None) == (specification is None):
            raise ValueError("give arrays, or data='FORMAT:WHAT', and not both")
        if specification is not None:
            context.check(_lib.artel_data_open(context.handle, _text(specification), ctypes.byref(self.handle)))
            return context.own(self.handle, _lib.artel_data_destroy)
        roles = [(name, one, _INPUT) for name, one in _named(x)] + [(name, one, _TARGET) for name, one in (_named(y) if y is not None else [])]
        if weight is not None:
            roles.append((None, _plain(weight), _WEIGHT))
        described = (_Array * len(roles))(*[self.describe(*one) for one in roles])
        context.check(_lib.artel_data_from_memory(context.handle, described, len(roles), ctypes.byref(self.handle)))
        context.own(self.handle, _lib.artel_data_destroy)

    def describe(self, name: Optional[bytes], array: np.ndarray, role: int) -> _Array:
        text = _strings(array)
        if text is None and str(array.dtype) not in _DTYPES:
            mixed = ": its rows or columns are of several kinds or lengths; choose numeric ones and convert them" if array.dtype == object else ""
            raise TypeError(f"arrays of {array.dtype} cannot be handed over{mixed}; use one of {', '.join(_DTYPES)}")
        if not 1 <= array.ndim <= 8:
            raise ValueError(f"an array of {array.ndim} axes; rows are the first of 1 to 8")
        self.kept.append(array)
        self.kept.append(text)
        shape = _Shape(array.ndim, (_l * 8)(*array.shape))
        dtype, values = (_STRING, ctypes.addressof(text)) if text is not None else (_DTYPES.index(str(array.dtype)), array.ctypes.data)
        return _Array(name, _BY_NAME if name else role, dtype, shape, values)

    def __del__(self) -> None:
        self.context.end(self.handle)

def _fill(options: ctypes.Structure, settings: Dict[str, Any]) -> None:
    known = {name: kind for name, kind in options._fields_ if name not in _SET_BY_MODULE}
    for name, value in settings.items():
        if name not in known:
            raise TypeError(f"there is no setting {name!r}; there are {', '.join(sorted(known))}")
        try:
            setattr(options, name, _text(value) if known[name] is _s else value)
        except TypeError:
            wanted = {_s: "a text", _b: "True or False", _d: "a number"}.get(known[name], "a whole number")
            raise TypeError(f"the setting {name!r} takes {wanted}, and was given {value!r}") from None

def _history(handle: ctypes.c_void_p) -> Dict[str, List[float]]:
    result, epochs = {}, _l()
    for index in range(_lib.artel_history_keys(handle)):
        key = _lib.artel_history_key(handle, index)
        values = _lib.artel_history_values(handle, key, ctypes.byref(epochs))
        result[key.decode()] = [values[i] for i in range(epochs.value) if not _lib.artel_history_absent(values[i])]
    _lib.artel_history_destroy(handle)
    return result

@contextmanager
def _interruptible(context: _Context, raised: List[BaseException]) -> Iterator[None]:
    """While the library runs, other threads wait, and Ctrl-C ends what it does at the next step: an exception in the midst of a callback would be lost."""
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        with context.lock:
            yield
        return

    def interrupt(_number: int, _frame: Any) -> None:
        raised.append(KeyboardInterrupt())
        _lib.artel_context_cancel(context.handle)

    with context.lock:
        signal.signal(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)

class Model:
    """A model that Keras has saved: see load()."""

    def __init__(self, path: str, extensions: Sequence[str] = (), dtype: Optional[str] = None, context: Optional[_Context] = None) -> None:
        self._context = context or _Context()
        self._handle = _p()
        for extension in extensions:
            self._check(_lib.artel_context_load_extension(self._context.handle, _text(extension)))
        load = _lib.artel_model_load if dtype is None else _lib.artel_model_load_with_policy
        policy = () if dtype is None else (_text(dtype),)
        self._check(load(self._context.handle, _text(path), *policy, ctypes.byref(self._handle)))
        self._context.own(self._handle, _lib.artel_model_destroy)
        self._alone = context is None

    def __del__(self) -> None:
        if getattr(self, "_alone", False):  # those of a strategy, which end behind it, are left to the context
            self._context.end(self._handle)

    def _check(self, status: int) -> None:
        self._context.check(status)

    def compile(self, optimizer: Record = None, loss: Record = None, metrics: Record = None) -> None:
        """Training settings: names, short forms ("sgd:momentum=0.9"), records (dicts, or their JSON) or lists of them; None keeps what the model has."""
        self._check(_lib.artel_model_compile(self._handle, _json(optimizer), _json(loss), _json(metrics)))

    def fit(self, x: Optional[Arrays] = None, y: Optional[Arrays] = None, *, data: Optional[str] = None,
            sample_weight: Optional[np.ndarray] = None, validation_data: Union[None, str, Tuple] = None,
            callbacks: Union[Callable, Sequence[Callable[[int, Dict[str, float]], Any]]] = (), on_step: Optional[Callable[[int, Dict[str, float]], Any]] = None,
            keras_callbacks: Optional[Sequence[Dict[str, Any]]] = None, class_weight: Optional[Dict[int, float]] = None,
            **settings: Any) -> Dict[str, List[float]]:
        """Trains; History as a dict from name to one value an epoch. `settings` are the fields of artel_fit_options."""
        options = _FitOptions(struct_size=ctypes.sizeof(_FitOptions), epochs=1, batch_size=32, shuffle=True, strategy=b"auto",
                              validation_frequency=1, save_every=b"1epoch", keep=3)
        _fill(options, settings)
        rows = _Data(self._context, x, y, sample_weight, data)
        held = None
        if isinstance(validation_data, str):
            held = _Data(self._context, None, None, None, validation_data)
        elif validation_data is not None:
            if not isinstance(validation_data, (list, tuple)) or not 1 <= len(validation_data) <= 3:
                raise TypeError("validation_data is (x, y), (x, y, sample_weight) or 'FORMAT:WHAT'")
            held = _Data(self._context, *(tuple(validation_data) + (None, None))[:3], None)
        options.validation_data = held.handle if held else None
        if class_weight is not None:
            options.class_weight = _dump({str(key): float(value) for key, value in class_weight.items()})
        if keras_callbacks is not None:
            options.callbacks = _dump(list(keras_callbacks))
        raised: List[BaseException] = []
        callbacks = [callbacks] if callable(callbacks) else list(callbacks)
        if not all(map(callable, callbacks)):
            raise TypeError("callbacks are functions f(epoch, logs); those of Keras go into keras_callbacks, as records")
        call = _OnEvent(lambda _user, event: self._tell(event.contents, callbacks, on_step, raised))
        options.on_event = ctypes.cast(call, _p)
        history = _p()
        with _interruptible(self._context, raised):
            status = _lib.artel_model_fit(self._handle, rows.handle, ctypes.byref(options), ctypes.byref(history))
        if raised:
            _lib.artel_context_clear(self._context.handle)
            if history:
                _lib.artel_history_destroy(history)
            raise raised[0]
        self._check(status)
        return _history(history)

    def _tell(self, event: _Event, callbacks: Sequence[Callable], on_step: Optional[Callable], raised: List[BaseException]) -> None:
        wanted = callbacks if event.kind == _EPOCH_END else [on_step] if event.kind == _STEP and on_step and not event.validation else []
        try:
            logs = {event.metrics[i].name.decode(): event.metrics[i].value for i in range(event.metric_count)} if wanted else {}
            for call in wanted:
                call(event.epoch if event.kind == _EPOCH_END else event.step, logs)
        except BaseException as error:  # of the caller's own, Ctrl-C among them: it is raised again once the training has ended
            if not raised:
                raised.append(error)
            _lib.artel_context_cancel(self._context.handle)

    def _pass(self, function: Any, done: Any, rows: _Data, settings: Dict[str, Any]) -> ctypes.c_void_p:
        options = _EvaluateOptions(struct_size=ctypes.sizeof(_EvaluateOptions), batch_size=32, strategy=b"auto")
        _fill(options, settings)
        result, raised = _p(), []  # type: _p, List[BaseException]
        call = _OnEvent(lambda _user, _event: None)  # a place where Python sees a signal
        options.on_event = ctypes.cast(call, _p)
        with _interruptible(self._context, raised):
            status = function(self._handle, rows.handle, ctypes.byref(options), ctypes.byref(result))
        if raised:
            _lib.artel_context_clear(self._context.handle)
            if result:
                done(result)
            raise raised[0]
        self._check(status)
        return result

    def evaluate(self, x: Optional[Arrays] = None, y: Optional[Arrays] = None, *, data: Optional[str] = None,
                 sample_weight: Optional[np.ndarray] = None, **settings: Any) -> Dict[str, float]:
        """Loss and metrics by name. `settings` are the fields of artel_evaluate_options."""
        rows = _Data(self._context, x, y, sample_weight, data)
        return {key: values[0] for key, values in _history(self._pass(_lib.artel_model_evaluate, _lib.artel_history_destroy, rows, settings)).items()}

    def predict(self, x: Optional[Arrays] = None, *, data: Optional[str] = None, **settings: Any) -> Union[np.ndarray, List[np.ndarray]]:
        """The output, or a list of the outputs: float32, or float64 as the model computes it, rows first."""
        rows = _Data(self._context, x, None, None, data)
        handle = self._pass(_lib.artel_model_predict, _lib.artel_predictions_destroy, rows, settings)
        outputs = []
        for index in range(_lib.artel_predictions_count(handle)):
            name, shape, values = _s(), _Shape(), ctypes.POINTER(ctypes.c_float)()
            self._check(_lib.artel_predictions_get(handle, index, ctypes.byref(name), ctypes.byref(shape), ctypes.byref(values)))
            wide = ctypes.POINTER(ctypes.c_double)()
            self._check(_lib.artel_predictions_get_float64(handle, index, ctypes.byref(wide)))
            extents = [shape.dim[i] for i in range(shape.rank)]
            count = int(np.prod(extents, dtype=np.int64))
            held, kind = (wide, "float64") if wide else (values, "float32")
            outputs.append(np.ctypeslib.as_array(held, (count,)).reshape(extents).copy() if count else np.zeros(extents, kind))
        _lib.artel_predictions_destroy(handle)
        return outputs[0] if len(outputs) == 1 else outputs

    def save(self, path: str) -> None:
        """By the ending: .keras, .weights.h5, .h5, .json, .safetensors, .onnx."""
        self._check(_lib.artel_model_save(self._handle, _text(path)))

    def load_weights(self, path: str) -> None:
        """From .weights.h5, .keras, .h5 or .safetensors."""
        self._check(_lib.artel_model_load_weights(self._handle, _text(path)))

    def load_checkpoint(self, path: str) -> int:
        """The weights of a checkpoint ("run1/ckpt-500"), or of the newest one in the directory of a run; its step."""
        found = (_l * 3)()  # artel_checkpoint_info: step, epoch, finished
        self._check(_lib.artel_model_read_checkpoint(self._handle, _text(path), _l(-1), found))
        if found[0] < 0:
            raise FileNotFoundError(f"{path}: there is no whole checkpoint")
        return found[0]

    def freeze(self, pattern: str) -> None:
        """Layers of these names ("conv*") are not trained from here on; the optimizer starts without state."""
        self._check(_lib.artel_model_freeze(self._handle, _text(pattern)))

    def get_weight(self, path: str, shape: Sequence[int]) -> np.ndarray:
        """One weight by its path in Keras' weights tree ("layers/dense/vars/0")."""
        values = np.empty(tuple(shape), "float32")
        self._check(_lib.artel_model_get_weight(self._handle, _text(path), values.ctypes.data_as(_p), _l(values.size)))
        return values

    def set_weight(self, path: str, values: np.ndarray) -> None:
        """The same the other way."""
        plain = _numbers(values, "float32")
        self._check(_lib.artel_model_set_weight(self._handle, _text(path), plain.ctypes.data_as(_p), _l(plain.size)))

    def digest(self) -> str:
        """SHA-256 over the named weights: equal digests mean equal models."""
        text = ctypes.create_string_buffer(65)
        self._check(_lib.artel_model_digest(self._handle, text))
        return text.value.decode()

def load(path: str, extensions: Sequence[str] = (), dtype: Optional[str] = None) -> Model:
    """Reads a `.keras` file, a legacy `.h5` or the JSON of model.to_json(). `extensions`: shared objects with classes of one's own;
    `dtype`: a dtype policy instead of the model's own ("mixed_bfloat16")."""
    return Model(path, extensions, dtype)

from .functions import Function, Functions, load_functions  # noqa: E402 - it stands on what is above
from .graphs import Strategy  # noqa: E402
from .watch import checkpoints  # noqa: E402
