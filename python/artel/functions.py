# SPDX-License-Identifier: Apache-2.0
"""Functions that a C program has traced and saved (include/artel/saved.h), run on NumPy arrays.

    functions = artel.load_functions("trained.artel", strategy="mirrored", replicas=2)
    scores = functions["predict"](x)
"""

from __future__ import annotations

import ctypes
from typing import Any, Dict, List, Sequence, Union

import numpy as np

from . import _DTYPES, _STRING, _Context, _Shape, _b, _fill, _i, _l, _lib, _p, _plain, _read_strings, _s, _String, _strings, _text, _u, _z

__all__ = ["Function", "Functions", "load_functions"]

class _StrategyOptions(ctypes.Structure):
    _fields_ = [("struct_size", _z), ("strategy", _s), ("replicas", _i), ("threads", _i), ("batch_size", _l), ("shards", _l), ("seed", _u),
                ("cluster", _p), ("arithmetic", _s), ("all_reduce", _s)] + [(name, _s) for name in (
                    "device", "plugin", "device_precision", "device_kernels", "device_launches", "device_reduce", "device_memory", "ps_partitioner")] + [("ps_copies", _l), ("allow_mixed_arithmetic", _b)]

class _Argument(ctypes.Structure): _fields_ = [("name", _s), ("dtype", _i), ("shared", _b), ("shape", _Shape)]
class _Values(ctypes.Structure): _fields_ = [("dtype", _i), ("shape", _Shape), ("data", _p)]  # artel_array

def _values(array: np.ndarray, text: Any = None) -> _Values:
    dtype, data = (_STRING, ctypes.addressof(text)) if text is not None else (_DTYPES.index(str(array.dtype)), array.ctypes.data)
    return _Values(dtype, _Shape(array.ndim, (_l * 8)(*array.shape)), data)

class Function:
    """A function of a file or of a strategy: called with an array for each argument, it gives the output, or a list of the outputs."""

    def __init__(self, owner: "_Holder", handle: ctypes.c_void_p, name: str) -> None:
        self._owner, self._handle, self.name = owner, handle, name
        self._arguments = []
        for index in range(_lib.artel_function_arguments(self._handle)):
            argument = _Argument()
            owner._check(_lib.artel_function_argument(self._handle, index, ctypes.byref(argument)))
            self._arguments.append(argument)

    @property
    def arguments(self) -> List[str]:
        """Their names."""
        return [argument.name.decode() for argument in self._arguments]

    def _outputs(self, rows: int) -> List[Any]:
        """Arrays; of strings, elements for the library and their shape."""
        arrays: List[Any] = []
        for index in range(_lib.artel_function_outputs(self._handle)):
            dtype, shape, by_row = _i(), _Shape(), _b()
            self._owner._check(_lib.artel_function_output(self._handle, index, ctypes.byref(dtype), ctypes.byref(shape), ctypes.byref(by_row)))
            extents = ([rows] if by_row.value else []) + [shape.dim[i] for i in range(shape.rank)]
            strings = dtype.value == _STRING
            arrays.append(((_String * max(int(np.prod(extents)), 1))(), extents) if strings else np.zeros(extents, _DTYPES[dtype.value]))
        return arrays

    def __call__(self, *arrays: Any) -> Union[np.ndarray, List[np.ndarray]]:
        if len(arrays) != len(self._arguments):
            raise TypeError(f"{self.name} takes {len(self._arguments)} arrays ({', '.join(self.arguments)}), and was given {len(arrays)}")
        given = [_plain(array) for array in arrays]
        texts = [_strings(array) for array in given]
        for array, text in zip(given, texts):
            if (text is None and str(array.dtype) not in _DTYPES) or array.ndim > 8:
                raise TypeError(f"an array of {array.dtype} with {array.ndim} axes cannot be handed over")
        rows = [array.shape[0] if array.ndim else 0 for array, argument in zip(given, self._arguments) if not argument.shared]
        made = self._outputs(rows[0] if rows else 1)
        inputs, outputs = (_Values * (len(given) + 1))(*map(_values, given, texts)), (_Values * (len(made) + 1))(
            *(_Values(_STRING, _Shape(), ctypes.addressof(one[0])) if isinstance(one, tuple) else _values(one) for one in made))
        with self._owner._context.lock:
            self._owner._check(_lib.artel_function_run(self._handle, inputs, len(given), outputs, len(made)))
        made = [_read_strings(*one) if isinstance(one, tuple) else one for one in made]
        return made[0] if len(made) == 1 else made

class _Holder:
    """A strategy of the library, with the functions it has."""

    def __init__(self, extensions: Sequence[str] = ()) -> None:
        self._context, self._handle = _Context(), _p()
        for extension in extensions:
            self._check(_lib.artel_context_load_extension(self._context.handle, _text(extension)))

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._context.end(self._handle)

    def _check(self, status: int) -> None:
        self._context.check(status)

    def __getitem__(self, name: str) -> Function:
        handle = _p()
        self._check(_lib.artel_strategy_function(self._handle, _text(name), ctypes.byref(handle)))
        return Function(self, handle, name)

    def save(self, path: str) -> None:
        """All of it, as it is now, for load_functions()."""
        self._check(_lib.artel_functions_save(self._handle, None, 0, _text(path)))

class Functions(_Holder):
    """What a file holds: see load_functions()."""

    def __init__(self, path: str, extensions: Sequence[str], settings: Any) -> None:
        super().__init__(extensions)
        for name in ("batch_size", "shards", "seed", "arithmetic"):
            if name in settings:
                raise TypeError(f"{name} is the file's, for results depend on it")
        options = _strategy_options(settings)
        self._check(_lib.artel_functions_load(self._context.handle, _text(path), ctypes.byref(options), ctypes.byref(self._handle)))
        self._context.own(self._handle, _lib.artel_strategy_destroy)

    def variable(self, name: str) -> np.ndarray:
        """The values of a variable ("dense/kernel") as they are now."""
        handle = _p()
        self._check(_lib.artel_strategy_variable(self._handle, _text(name), ctypes.byref(handle)))
        return _read(self, handle)

def _strategy_options(settings: Dict[str, Any]) -> _StrategyOptions:
    options = _StrategyOptions(struct_size=ctypes.sizeof(_StrategyOptions), batch_size=32)
    _fill(options, settings)
    return options

def _read(owner: _Holder, variable: ctypes.c_void_p) -> np.ndarray:
    """Its values, in its own element type."""
    shape, dtype = _Shape(), _i()
    owner._check(_lib.artel_variable_shape(variable, ctypes.byref(shape)))
    owner._check(_lib.artel_variable_dtype(variable, ctypes.byref(dtype)))
    if dtype.value == _STRING:
        count = int(np.prod([shape.dim[i] for i in range(shape.rank)]))
        texts = (_String * max(count, 1))()
        owner._check(_lib.artel_variable_read_as(variable, _STRING, _p(ctypes.addressof(texts)), _l(count)))
        return _read_strings(texts, [shape.dim[i] for i in range(shape.rank)])
    values = np.empty([shape.dim[i] for i in range(shape.rank)], _DTYPES[dtype.value])
    owner._check(_lib.artel_variable_read_as(variable, dtype, values.ctypes.data_as(_p), _l(values.size)))
    return values

def load_functions(path: str, extensions: Sequence[str] = (), **settings: Any) -> Functions:
    """Reads functions that artel_functions_save() has written. `settings` are fields of artel_strategy_options: strategy, replicas, threads, all_reduce,
    device."""
    return Functions(path, extensions, settings)

_lib.artel_strategy_destroy.restype, _lib.artel_strategy_destroy.argtypes = None, [_p]
