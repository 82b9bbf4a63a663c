# SPDX-License-Identifier: Apache-2.0
# labels: quick
"""The binary interface of the public headers beside the one in tests/golden/abi.txt: what a program that was compiled then relies on is still so.

Constants, prototypes and the places of fields stay. A struct that begins with its size grows behind its end only, where no padding of old programs
lies, and by fields whose default is zero. New functions, structs and constants may come; a release records them: scripts/run-test tests/house/test_abi.py --record."""
import ctypes
import os
import pathlib
import re
import sys

from api.header import Headers

SOURCE = pathlib.Path(os.environ["ARTEL_SOURCE"])
RECORD = SOURCE / "tests/golden/abi.txt"
# What the library makes and lends to a function of the program's may grow at its end, too (docs/c-api.md).
LENT = {"artel_event", "artel_value_context", "artel_estimator_batch", "artel_estimator_spec", "artel_estimator_moment", "artel_estimator_input", "artel_all_reduce_group", "artel_optimizer_update"}


def written(field):
    return f"{'const ' * field.constant}{field.type}{'*' * field.stars}{f'[{field.length}]' if field.length else ''}"


def interface(folder):
    """{what: how it is}."""
    headers = Headers(folder)
    text = "".join(path.read_text() for path in sorted(folder.glob("*.h")))
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S).replace("\\\n", " ")
    found = {}
    for body, name in re.findall(r"typedef enum \w+ \{([^}]*)\} (\w+);", text):
        value = -1
        for constant in filter(None, (part.strip() for part in body.split(","))):
            key, _, given = constant.partition("=")
            value = int(given, 0) if given.strip() else value + 1
            found[f"constant {key.strip()}"] = str(value)
    for name, number in re.findall(r"#define (ARTEL_\w+) (\d+)\s", text):
        if not name.startswith("ARTEL_VERSION"):
            found[f"constant {name}"] = number
    for name, (result, fields) in headers.functions.items():
        found[f"function {name}"] = f"{result} ({', '.join(map(written, fields))})"
    for result, name, parameters in re.findall(r"typedef ([\w ]+?[ *]*)(\w+)\(([^;]*)\);", text):
        found[f"callback {name}"] = f"{result.strip()} ({re.sub(chr(92) + 's+', ' ', parameters)})"
    for name, struct in headers.structs.items():
        found[f"struct {name}"] = str(ctypes.sizeof(struct))
        for field in headers.fields[name]:
            found[f"field {name}.{field.name}"] = f"{getattr(struct, field.name).offset} {written(field)}"
    return found


def initial(folder):
    """Fields that an _INIT macro sets to something else than zero."""
    text = "".join(path.read_text() for path in sorted(folder.glob("*.h"))).replace("\\\n", " ")
    return {f"{kind}.{field}" for kind, body in re.findall(r"#define \w+_INIT\s*\{\s*\.struct_size = sizeof\((\w+)\)([^}]*)\}", text)
            for field, value in re.findall(r"\.(\w+) = ([^,}]+)", body) if value.strip() not in ("0", "NULL", "false")}


def grows(name, now):
    return name in LENT or f"field {name}.struct_size" in now


def faults(then, now, set_fields):
    for what, how in then.items():
        kind, _, name = what.partition(" ")
        if what not in now:
            yield f"there is no {what} any more"
        elif kind == "struct" and not grows(name, now) and now[what] != how:
            yield f"{what} has {now[what]} bytes, and had {how}: programs make lists of it, or pass it by value"
        elif kind == "struct" and int(now[what]) < int(how):
            yield f"{what} has {now[what]} bytes, and had {how}"
        elif kind != "struct" and now[what] != how:
            yield f"{what} is {now[what]}, and was {how}"
    for what, how in now.items():
        kind, _, name = what.partition(" ")
        owner = name.partition(".")[0]
        if kind != "field" or what in then or f"struct {owner}" not in then:
            continue
        if int(how.split()[0]) < int(then[f"struct {owner}"]):
            yield f"{what} lies where programs that were compiled before have other fields or padding: it begins at {how.split()[0]}, the struct had {then[f'struct {owner}']} bytes"
        if name in set_fields:
            yield f"{what} is not zero by default: a program that sets nothing would ask an older library for what it has not"


def check_itself(now):
    """The test finds what it is for."""
    size, first = now["struct artel_strategy_options"], next(what for what in now if what.startswith("field artel_strategy_options.") and "struct_size" not in what)
    wrong = [({**now, "constant ARTEL_DTYPE_BOOL": "99"}, set()), ({k: v for k, v in now.items() if k != "function artel_version"}, set()), ({**now, first: "16 int"}, set()),
             ({**now, "struct artel_shape": "80"}, set()), ({**now, "field artel_strategy_options.late": f"{int(size) - 4} int"}, set()),
             ({**now, "field artel_strategy_options.late": f"{size} int"}, {"artel_strategy_options.late"})]
    for changed, set_fields in wrong:
        assert list(faults(now, changed, set_fields)), changed
    assert not list(faults(now, {**now, "struct artel_strategy_options": str(int(size) + 8), "field artel_strategy_options.late": f"{size} int"}, set()))


def main():
    now = interface(SOURCE / "include/artel")
    if "--record" in sys.argv:
        RECORD.write_text("".join(f"{what}: {how}\n" for what, how in sorted(now.items())))
        return 0
    then = dict(line.split(": ", 1) for line in RECORD.read_text().splitlines())
    check_itself(now)
    found = list(faults(then, now, initial(SOURCE / "include/artel")))
    for fault in found:
        print(fault)
    return 1 if found else 0


sys.exit(main())
