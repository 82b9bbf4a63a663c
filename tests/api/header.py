# SPDX-License-Identifier: Apache-2.0
"""The public headers as ctypes sees them: functions, structs and enums, read from include/artel."""
import ctypes
import pathlib
import re

PLAIN = {"int": ctypes.c_int, "int64_t": ctypes.c_int64, "uint64_t": ctypes.c_uint64, "size_t": ctypes.c_size_t,
         "double": ctypes.c_double, "float": ctypes.c_float, "bool": ctypes.c_bool, "char": ctypes.c_char, "int32_t": ctypes.c_int32, "artel_value": ctypes.c_int32}


class Field:
    """A field of a struct or a parameter: `type` without const, "*" and "[]" counted in `stars`, `length` of an array field."""

    def __init__(self, text, sizes, parameter):
        self.constant = bool(re.match(r"\s*const\b", text))
        text = re.sub(r"\bconst\b", " ", text).strip()
        array = re.search(r"\[(\w*)\]$", text)
        text = re.sub(r"\s*\[\w*\]$", "", text)
        self.name = re.search(r"(\w+)$", text).group(1)
        kind = text[: -len(self.name)]
        self.stars = kind.count("*") + bool(array and parameter)
        self.length = 0 if parameter or not array else int(sizes.get(array.group(1), array.group(1)))
        self.type = kind.replace("*", " ").split()[-1]


class Headers:
    def __init__(self, folder):
        text = "".join(path.read_text() for path in sorted(pathlib.Path(folder).glob("*.h")))
        text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
        text = re.sub(r"#ifdef __cplusplus\s+static.*?#else", "", text, flags=re.S)
        text = text.replace("\\\n", " ")
        self.sizes = dict(re.findall(r"#define (\w+) (\d+)\s", text))
        text = re.sub(r"^#.*$", "", text, flags=re.M)
        self.enums = set(re.findall(r"typedef enum \w+ \{[^}]*\} (\w+);", text))
        self.callbacks = set(re.findall(r"typedef \w+ (\w+)\([^;]*\);", text))
        self.fields = {name: self.split(body) for body, name in re.findall(r"typedef struct \w+ \{([^}]*)\} (\w+);", text)}
        self.functions = {}
        for result, name, parameters in re.findall(r"ARTEL_API ([^;()]*?)(\w+)\(([^;]*?)\);", text):
            fields = [] if parameters.strip() == "void" else [Field(p, self.sizes, True) for p in parameters.split(",")]
            self.functions[name] = (result.strip(), fields)
        self.structs = {}
        for name in self.fields:
            self.struct(name)

    def split(self, body):
        fields = []
        for line in filter(None, (part.strip() for part in body.split(";"))):
            first, *rest = [part.strip() for part in line.split(",")]
            fields.append(Field(first, self.sizes, False))
            head = first[: re.search(r"[*\w\[\]]+$", first).start()]
            fields += [Field(head + part, self.sizes, False) for part in rest]
        return fields

    def ctype(self, field):
        if field.stars or field.type in self.callbacks:
            return ctypes.c_void_p
        base = PLAIN.get(field.type) or (ctypes.c_int if field.type in self.enums else self.struct(field.type))
        return base * field.length if field.length else base

    def struct(self, name):
        if name not in self.structs:
            members = [(field.name, self.ctype(field)) for field in self.fields[name]]
            self.structs[name] = type(name, (ctypes.Structure,), {"_fields_": members})
        return self.structs[name]

    def load(self, path):
        library = ctypes.CDLL(path)
        for name, (result, fields) in self.functions.items():
            function = getattr(library, name)
            function.argtypes = [self.ctype(field) for field in fields]
            pointer = "*" in result
            base = result.replace("const", " ").replace("*", " ").split()[-1]
            plain = ctypes.c_int if base in self.enums else PLAIN.get(base)
            function.restype = ctypes.c_void_p if pointer else None if base == "void" else plain or self.struct(base)
        return library
