# SPDX-License-Identifier: Apache-2.0
"""The checkpoints of a run, from beside it (include/artel/watch.h), as tf.train.checkpoints_iterator() gives them."""

from __future__ import annotations

import ctypes
from typing import Callable, Iterator, List, Optional

from . import _Context, _b, _d, _interruptible, _l, _lib, _p, _s, _text, _z

__all__ = ["checkpoints"]

_AGAIN = 1
_IsOver = ctypes.CFUNCTYPE(_b, _p)

# artel_watch_options
class _Options(ctypes.Structure): _fields_ = [("struct_size", _z), ("start_delay_secs", _d), ("min_interval_secs", _d), ("timeout_secs", _d), ("max_checkpoints", _l),
        ("ignore_end", _b), ("is_over", _p), ("user", _p)]
class _Info(ctypes.Structure): _fields_ = [("step", _l), ("epoch", _l), ("finished", _b)]  # artel_checkpoint_info

def checkpoints(directory: str, min_interval_secs: float = 0, timeout: Optional[float] = None, timeout_fn: Optional[Callable[[], bool]] = None,
                ignore_end: bool = False, most: int = 0) -> Iterator[str]:
    """The newest checkpoint of a directory, then each time the next one that has come, as paths for Model.load_checkpoint(), until the run has finished
    (not with `ignore_end`), `most` of them were given, or none has come for `timeout` seconds and `timeout_fn` is None or returns true."""
    context, handle, raised = _Context(), _p(), []  # type: _Context, _p, List[BaseException]

    def is_over(_user: Optional[int]) -> bool:
        try:
            return bool(timeout_fn())
        except BaseException as error:  # of the caller's own: it is raised again below
            raised.append(error)
            return True

    call = _IsOver(is_over)
    options = _Options(struct_size=ctypes.sizeof(_Options), min_interval_secs=min_interval_secs, timeout_secs=-1 if timeout is None else timeout,
                       max_checkpoints=most, ignore_end=ignore_end, is_over=ctypes.cast(call, _p) if timeout_fn else None)
    context.check(_lib.artel_watch_create(context.handle, _text(directory), ctypes.byref(options), ctypes.byref(handle)))
    context.own(handle, _lib.artel_watch_destroy)
    try:
        while True:
            with _interruptible(context, raised):
                status = _lib.artel_watch_next(handle)
            if raised:
                raise raised[0]
            context.check(status)
            if status == _AGAIN:
                return
            found, folder = _Info(), _s()
            context.check(_lib.artel_watch_found(handle, ctypes.byref(found), ctypes.byref(folder)))
            yield folder.value.decode()
    finally:
        context.end(handle)

_lib.artel_watch_create.restype = _lib.artel_watch_next.restype = _lib.artel_watch_found.restype = ctypes.c_int
_lib.artel_watch_destroy.restype, _lib.artel_watch_destroy.argtypes = None, [_p]
