# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Programs that were compiled for another version of the library: every struct that begins with its size, of every function that takes it,
# is as short as it was when each of its fields was not there yet, or longer than this library knows. Read from include/artel.
"""A shorter struct ends where memory ends, so that a look behind it is a crash; the answer is that for a whole one with the defaults in what is
missing. Of a longer one the rest must be zero; what is set there is refused."""
import ctypes
import os
import pathlib
import re
import sys

from api.scene import Scene, headers, lib, run_cases, text_of

PAGE = 4096
UNSUPPORTED = -4
LENT = {"artel_estimator_input", "artel_value_context"}  # made by the library, for a function of the program's
# Structs that a struct points to: which function takes that, the field, the field that counts them, and values for a good one.
INNER = {"artel_estimator_hook": ("artel_estimator_evaluate", "artel_eval_spec", "hooks", "hook_count"),
         "artel_exporter": ("artel_estimator_evaluate", "artel_eval_spec", "exporters", "exporter_count"),
         "artel_warm_start": ("artel_estimator_create", "artel_estimator_options", "warm_start", None),
         "artel_strategy_options": ("artel_estimator_create", "artel_estimator_options", "strategy", None)}
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def sized(name):
    return name in headers.fields and headers.fields[name][0].name == "struct_size"


def read_defaults():
    """{struct: {field: value}} as the _INIT macros say."""
    text = "".join(path.read_text() for path in sorted(pathlib.Path(os.environ["ARTEL_SOURCE"], "include/artel").glob("*.h"))).replace("\\\n", " ")
    constants = {name: int(value) for body in re.findall(r"typedef enum \w+ \{([^}]*)\}", re.sub(r"/\*.*?\*/", "", text, flags=re.S))
                 for name, value in re.findall(r"(\w+) = (-?\d+)", body)}
    found = {}
    for body in re.findall(r"#define \w+_INIT\s*\{([^}]*)\}", text):
        kind = re.search(r"sizeof\((\w+)\)", body)[1]
        found[kind] = {}
        for field, value in re.findall(r"\.(\w+) = ([^,}]+)", body):
            value = value.strip()
            if field != "struct_size":
                found[kind][field] = value.strip('"') if value.startswith('"') else value == "true" if value in ("true", "false") else constants.get(value, value)
    return found


DEFAULTS = read_defaults()


def at_the_end(size):
    """An address behind which, `size` bytes on, nothing may be read."""
    start = libc.mmap(None, 2 * PAGE, 3, 0x22, -1, 0)
    assert start != ctypes.c_void_p(-1).value and libc.mprotect(start + PAGE, PAGE, 0) == 0
    return start + PAGE - size


def set_default(scene, struct, kind, field):
    value = DEFAULTS.get(kind, {}).get(field.name, 0)
    ctype = dict(struct._fields_)[field.name]
    if isinstance(value, str) and ctype is ctypes.c_void_p:
        value = scene.text(value)
    elif isinstance(value, str):
        value = float(value) if ctype is ctypes.c_double else int(value, 0)
    at, size = getattr(type(struct), field.name).offset, ctypes.sizeof(ctype)
    ctypes.memset(ctypes.addressof(struct) + at, 0, size)
    if value:
        setattr(struct, field.name, value)


def reshape(scene, kind, whole, how):
    """Another address for the struct at `whole`: cut off, with defaults in the place of what would be cut off, or longer."""
    what, number = how
    s = headers.structs[kind].from_address(whole)
    size = ctypes.sizeof(s)
    if what == "default":
        for field in headers.fields[kind]:
            if getattr(type(s), field.name).offset >= number:
                set_default(scene, s, kind, field)
        return whole
    length = number if what == "cut" else size + 16
    out = at_the_end(length)
    ctypes.memmove(out, whole, min(size, length))
    ctypes.c_size_t.from_address(out).value = {"huge": 1 << 40, "tiny": 7}.get(what, length)
    if what == "set":
        ctypes.c_byte.from_address(out + size + number).value = 1
    return out


def answer(name, kind, inner, how):
    """What the function says."""
    said = []

    def work():
        fields = headers.functions[name][1]
        arguments = [scene.argument(field) for field in fields]
        if inner:
            _, outer, field, counter = INNER[kind]
            i = next(i for i, f in enumerate(fields) if f.type == outer)
            address = reshape(scene, kind, scene.struct(kind), how) if how else scene.struct(kind)
            holder = headers.structs[outer].from_address(arguments[i])
            setattr(holder, field, address)
            if counter:
                setattr(holder, counter, 1)
        else:
            i = next(i for i, f in enumerate(fields) if f.type == kind)
            arguments[i] = reshape(scene, kind, arguments[i], how)
        lib.artel_context_clear(None)
        scene.answer = getattr(lib, name)(*arguments)
        said.append((scene.answer if headers.functions[name][0] == "artel_status" else min(scene.answer, 0), text_of(scene.context) or text_of(None)))
    scene = Scene(name)
    scene.place()(work)
    return said[0] if said else (None, "nothing was tried")


def run_case(name, label, case):
    kind, inner, how = case
    status, text = answer(name, kind, inner, how)
    if how[0] == "cut":
        whole, words = answer(name, kind, inner, ("default", how[1]))
        return None if status == whole else f"says {status} {text}, and {whole} {words} for a whole one with defaults"
    if how[0] == "zero":  # of a watch: no checkpoint will come
        return None if status == (1 if name == "artel_watch_evaluate" else 0) else f"says {status} {text}"
    if name == "artel_coordinator_look" and how[0] != "tiny":  # what is written; an older library writes less
        return None if status == 0 else f"says {status} {text}"
    if how[0] == "set":  # a field that only a newer library has
        fits = status == UNSUPPORTED if headers.functions[name][0] == "artel_status" else status is not None and status <= 0
        return None if fits and b"older library" in text else f"says {status} {text}"
    return None if status is not None and status < 0 and text else f"is accepted ({status})"


def cases(name, kind, inner):
    s = headers.structs[kind]
    cuts = sorted({getattr(s, field.name).offset for field in headers.fields[kind]} - {0})
    hows = [("cut", at) for at in cuts if at % 8 == 0] + [("zero", 0), ("set", 0), ("set", 15), ("huge", 0), ("tiny", 0)]
    return [(f"{name} {kind} {what} {number}", (kind, inner, (what, number))) for what, number in hows]


def main():
    taken = [(name, field.type, False) for name, (_, fields) in headers.functions.items() for field in fields if field.stars == 1 and sized(field.type)]
    taken += [(INNER[kind][0], kind, True) for kind in INNER]
    faults = [f"no function was tried with {kind}" for kind in headers.fields if sized(kind) and kind not in LENT | {kind for _, kind, _ in taken}]
    total = 0
    for name, kind, inner in sorted(taken):
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        number, wrong = run_cases(name, cases(name, kind, inner), run_case)
        total += number
        faults += wrong
    print(f"{total} cases")
    if faults:
        sys.exit("\n".join(faults))


main()
