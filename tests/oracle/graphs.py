# SPDX-License-Identifier: Apache-2.0
"""libartel by ctypes for tests that trace graphs: the library, a context, its structs, and what a call that fails says."""

import ctypes
import os

from api.header import Headers

headers = Headers(os.environ["ARTEL_SOURCE"] + "/include/artel")
lib = headers.load(os.environ["ARTEL_BUILD"] + "/libartel.so")
lib.artel_dtype_name.restype = ctypes.c_char_p
DTYPES = {lib.artel_dtype_name(i).decode(): i for i in range(14)}
S, CONTEXT, faults = headers.structs, ctypes.c_void_p(), []
Trace = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int32), ctypes.POINTER(ctypes.c_int32))


class Refused(Exception):
    pass


def check(status):
    if status < 0:
        error = ctypes.cast(lib.artel_context_error(CONTEXT), ctypes.POINTER(S["artel_error"])).contents
        raise Refused(f"{error.where.decode()}: {error.what.decode()} ({status})")
    return status


check(lib.artel_context_create(None, ctypes.byref(CONTEXT)))


def shape_of(shape):
    return S["artel_shape"](len(shape), (ctypes.c_int64 * 8)(*shape))


def pointer(value):
    return ctypes.cast(ctypes.pointer(value) if isinstance(value, ctypes.Structure) else value, ctypes.c_void_p)
