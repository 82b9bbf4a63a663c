# SPDX-License-Identifier: Apache-2.0
# timeout: 180
"""Arrays of strings (artel/eager.h): what moves, chooses, compares and sorts them as NumPy's and TensorFlow's; numbers to strings and back as NumPy and Python
write and read them; lengths, buckets, letters, parts, n-grams, characters and regular expressions as tf.strings'. All to the bit."""
import ctypes
import random as chance
import json
import sys

import numpy as np

from eager import EAGER, NAMES, NUMERIC, Refused, Shape, array, check, expect, faults, finish, lib, numpy_of, shape_of
from oracle import keras_module

keras_module()
import tensorflow as tf  # noqa: E402


class String(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char_p), ("length", ctypes.c_size_t)]


STRING = NAMES.index("string")


def make(values):
    """An array of strings of one of bytes (objects); of numbers: theirs."""
    values = np.asarray(values)
    if values.dtype.kind not in "OSU":
        return array(values)
    texts = [v.encode() if isinstance(v, str) else v for v in values.reshape(-1).tolist()]
    held, out = (String * max(len(texts), 1))(*[(t, len(t)) for t in texts]), ctypes.c_void_p()
    check(lib.artel_ndarray_create(EAGER, STRING, ctypes.byref(shape_of(values.shape)), ctypes.byref(held), ctypes.byref(out)))
    return out


def read(a):
    dtype, shape = ctypes.c_int(), Shape()
    check(lib.artel_ndarray_describe(a, ctypes.byref(dtype), ctypes.byref(shape), None))
    if dtype.value != STRING:
        return numpy_of(a)
    extents = list(shape.dim[: shape.rank])
    count = int(np.prod(extents, dtype=np.int64))
    held = (String * max(count, 1))()
    check(lib.artel_ndarray_read(a, STRING, ctypes.byref(held), ctypes.c_int64(count)))
    out = np.empty(count, object)
    for i in range(count):
        out[i] = ctypes.string_at(ctypes.cast(ctypes.byref(held, i * ctypes.sizeof(String)), ctypes.POINTER(ctypes.c_void_p))[0], held[i].length)
    return out.reshape(extents)


def call(name, *inputs, **attributes):
    made, out = [make(x) for x in inputs], (ctypes.c_void_p * 32)()
    text = json.dumps(attributes).encode() if attributes else None
    count = check(lib.artel_eager_op_all(EAGER, name.encode(), ctypes.cast((ctypes.c_void_p * len(made))(*made), ctypes.c_void_p), len(made), text,
                                         ctypes.cast(out, ctypes.c_void_p), 32))
    results = [read(ctypes.c_void_p(out[i])) for i in range(count)]
    for a in [*made, *(ctypes.c_void_p(out[i]) for i in range(count))]:
        lib.artel_ndarray_release(a)
    return results


def cast(values, to):
    out, made = ctypes.c_void_p(), make(values)
    check(lib.artel_ndarray_cast(made, NAMES.index(to), ctypes.byref(out)))
    return read(out)


def same(what, got, wanted):
    got, wanted = np.asarray(got), np.asarray(wanted)
    if wanted.dtype.kind == "O":
        if got.shape != wanted.shape or got.dtype.kind != "O" or got.tolist() != wanted.tolist():
            faults.append(f"{what}: {got.ravel()[:4]}, wanted {wanted.ravel()[:4]}")
        return
    expect(what, got, wanted, exact=True)


WORDS = ["pear", "\u00e4pfel", "", "fig", "apple", "a b ", "Zoe", "fig", "\u20ac5", "\U0001f600", "apples", "  x\t"]
A = np.array([w.encode() for w in WORDS], object).reshape(3, 4)
B = A[::-1, ::-1].copy()
INDEX = np.array([2, 0, 1, 1], "int32")

# -- moved: as NumPy moves objects --

for name, wanted, inputs, attributes in [
    ("concatenate", np.concatenate([A, B], 1), (A, B), {"axis": 1}), ("stack", np.stack([A, B], -1), (A, B), {"axis": -1}),
    ("take", np.take(A, INDEX, 0), (A, INDEX), {"axis": 0}), ("take", np.take(A, INDEX), (A, INDEX), {}),
    ("take_along_axis", np.take_along_axis(A, INDEX[None, :].astype("int64") % 3, 0), (A, INDEX[None, :] % 3), {"axis": 0}),
    ("reshape", A.reshape(2, 6), (A,), {"newshape": [2, 6]}), ("transpose", A.T, (A,), {}), ("swapaxes", A.T, (A,), {"axis1": 0, "axis2": 1}),
    ("expand_dims", A[:, None], (A,), {"axis": 1}), ("squeeze", A[0], (A[:1],), {"axis": 0}), ("tile", np.tile(A, (2, 1)), (A,), {"repeats": [2, 1]}),
    ("repeat", np.repeat(A, 2, 1), (A,), {"repeats": 2, "axis": 1}), ("flip", A[:, ::-1], (A,), {"axis": 1}), ("roll", np.roll(A, 1, 0), (A,), {"shift": 1, "axis": 0}),
    ("ravel", A.ravel(), (A,), {}), ("vstack", np.vstack([A, B]), (A, B), {}), ("hstack", np.hstack([A, B]), (A, B), {}), ("append", np.append(A, B, 0), (A, B), {"axis": 0}),
    ("broadcast_to", np.broadcast_to(A[:1], (3, 4)), (A[:1],), {"shape": [3, 4]}), ("slice", A[1:3, 2:3], (A,), {"start_indices": [1, 2], "shape": [2, 1]}),
    ("moveaxis", np.moveaxis(A, 0, 1), (A,), {"source": 0, "destination": 1}), ("diagonal", A.diagonal(), (A,), {}), ("rot90", np.rot90(A), (A,), {}),
    ("where", np.where(A == B, A, B), (A == B, A, B), {}), ("where", np.where(A < B, A, B[:1]), (A < B, A, B[:1]), {}),
]:
    same(name, call(name, *inputs, **attributes)[0], wanted)
for got, wanted in zip(call("split", A, indices_or_sections=2, axis=1) + call("unstack", A, axis=0), [*np.split(A, 2, 1), *A]):
    same("split", got, wanted)

# -- compared and sorted: bytes, which is the order of code points --

for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
    for one, two in ((A, B), (A, B[:1]), (A[:, :1], B[0]), (A[0, 0], B)):
        same(name, call(name, one, two)[0], getattr(np, name)(one, two).astype(bool))
same("equal", call("equal", A, B)[0], tf.equal(tf.constant(A), tf.constant(B)).numpy())
same("sort", call("sort", A, axis=0)[0], np.sort(A, 0))
same("sort", call("sort", A)[0], np.sort(A, -1))
same("argsort", call("argsort", A)[0], np.argsort(A, -1, kind="stable").astype("int32"))

# -- tf.strings --

T = tf.constant(A)
same("string_length", call("string_length", A)[0], tf.strings.length(T).numpy())
same("string_length", call("string_length", A, unit="UTF8_CHAR")[0], tf.strings.length(T, "UTF8_CHAR").numpy())
same("string_lower", call("string_lower", A)[0], tf.strings.lower(T).numpy())
same("string_upper", call("string_upper", A)[0], tf.strings.upper(T).numpy())
same("string_strip", call("string_strip", A)[0], tf.strings.strip(T).numpy())
for buckets in (1, 7, 1 << 40):
    same("string_to_hash_bucket_fast", call("string_to_hash_bucket_fast", A, num_buckets=buckets)[0], tf.strings.to_hash_bucket_fast(T, buckets).numpy())
    same("string_to_hash_bucket", call("string_to_hash_bucket", A, num_buckets=buckets)[0], tf.strings.to_hash_bucket(T, buckets).numpy())
    same("string_to_hash_bucket_strong", call("string_to_hash_bucket_strong", A, num_buckets=buckets, key=[3, 2**50])[0],
         tf.strings.to_hash_bucket_strong(T, buckets, [3, 2**50]).numpy())
DIGITS = np.array([b"1.5", b"-2e-3", b" 7 ", b"1e40", b"0.1", b"inf", b"3"], object)
for out_type in ("float32", "float64"):
    same("string_to_number", call("string_to_number", DIGITS, out_type=out_type)[0], tf.strings.to_number(tf.constant(DIGITS), out_type).numpy())
same("string_to_number", call("string_to_number", DIGITS[-1:], out_type="int64")[0], tf.strings.to_number(tf.constant(DIGITS[-1:]), tf.int64).numpy())

for separator in ("", "-", "\u20ac"):
    same("string_join", call("string_join", A, B, A, separator=separator)[0], tf.strings.join([A, B, A], separator).numpy())
    same("string_join", call("string_join", np.array("s", object), A, separator=separator)[0], tf.strings.join(["s", A], separator).numpy())
    for axis in (0, 1, -1, None):
        same("string_reduce_join", call("string_reduce_join", A, separator=separator, axis=axis)[0],
             np.asarray(tf.strings.reduce_join(T, axis=axis, separator=separator).numpy(), object))
    same("string_reduce_join", call("string_reduce_join", A, separator=separator)[0], np.asarray(tf.strings.reduce_join(T, separator=separator).numpy(), object))
LINES = np.array([b"a b  c", b"", b" one\ttwo ", b"x,y,,z", b",", b"a, b", b"aXXbXXXc", b"\n"], object)
for text in (LINES, LINES.reshape(2, 4), np.array(b"a b c", object)):
    for sep in (None, "", ",", "XX", " "):
        for maxsplit in (-1, 0, 1, 2):
            wanted = tf.strings.split(tf.constant(text), sep, maxsplit)
            same(f"string_split {sep} {maxsplit}", call("string_split", text, sep=sep, maxsplit=maxsplit)[0],
                 np.asarray((wanted if text.ndim == 0 else wanted.to_tensor("")).numpy(), object))
for parts in (0, 2, 5):
    same(f"string_split {parts}", call("string_split", LINES, sep=",", parts=parts)[0], np.asarray(tf.strings.split(tf.constant(LINES), ",").to_tensor("", shape=[None, parts]).numpy(), object))
LONG = np.array([b"thumb", b"\xc3\xa4pf\xe2\x82\xacl", b"abcde"], object)
for unit, pos, length in [(u, p, n) for u in ("BYTE", "UTF8_CHAR") for p in (-5, -2, 0, 1, 5, 6) for n in (0, 1, 3, 99)]:
    text = LONG if unit == "UTF8_CHAR" else LONG[::2]
    try:
        wanted = tf.strings.substr(tf.constant(text), pos, length, unit).numpy()
    except tf.errors.InvalidArgumentError:
        wanted = None
    try:
        same(f"string_substr {unit} {pos} {length}", call("string_substr", text, pos=pos, len=length, unit=unit)[0], wanted)
    except Refused:
        if wanted is not None:
            faults.append(f"string_substr refuses {unit} {pos} {length}")
for width, pads, padding, short in [(w, p, n, k) for w in (1, 2, 3, 7, [2, 1], [5, 9]) for p in (None, "<>", ("<", ">")) for n in (None, 1, 2) for k in (False, True)]:
    if padding and pads is None:
        continue
    for text in (A, A[0], A[:, :1], np.empty((2, 0), object)):
        given = tf.constant(text, tf.string) if text.size else tf.zeros(text.shape, tf.string)
        wanted = tf.strings.ngrams(given, width, "_", pads, padding, short).numpy()
        pad_values = [x for x in pads] if isinstance(pads, tuple) else pads
        same(f"string_ngrams {width} {pads} {padding} {short} {text.shape}",
             call("string_ngrams", text, ngram_width=width, separator="_", pad_values=pad_values, padding_width=padding, preserve_short_sequences=short)[0],
             np.asarray(wanted, object))
for text in (A, A[0, 1], A[:0]):
    given = tf.constant(text, tf.string)
    dense = (lambda ragged, empty: ragged.to_tensor(empty).numpy()) if np.ndim(text) else (lambda whole, empty: whole.numpy())
    if np.size(text):
        same("string_unicode_decode", call("string_unicode_decode", text, default_value=-1)[0], dense(tf.strings.unicode_decode(given, "UTF-8"), -1))
        same("string_unicode_split", call("string_unicode_split", text)[0], np.asarray(dense(tf.strings.unicode_split(given, "UTF-8"), ""), object))
for parts in (1, 4):
    same(f"string_unicode_decode {parts}", call("string_unicode_decode", A[0], default_value=-1, parts=parts)[0],
         tf.strings.unicode_decode(tf.constant(A[0]), "UTF-8").to_tensor(-1, shape=[None, parts]).numpy())
    same(f"string_unicode_split {parts}", call("string_unicode_split", A[0], parts=parts)[0],
         np.asarray(tf.strings.unicode_split(tf.constant(A[0]), "UTF-8").to_tensor("", shape=[None, parts]).numpy(), object))
CODES = np.array([[97, 0xE4, 0x20AC], [0x1F600, 0, 0xD800], [-1, 0x110000, 0x10FFFF]], "int32")
same("string_unicode_encode", call("string_unicode_encode", CODES)[0], tf.strings.unicode_encode(tf.constant(CODES), "UTF-8").numpy())
same("string_unicode_encode", np.asarray(call("string_unicode_encode", CODES[0])[0], object), np.asarray(tf.strings.unicode_encode(tf.constant(CODES[0]), "UTF-8").numpy(), object))

# -- regular expressions: what RE2 makes of many, and which it refuses --

ATOMS = ("a", "b", "ab", "-", "K", "s", "\u00e9", ".", "\\.", "\\d", "\\D", "\\w", "\\W", "\\s", "\\S", "\\b", "\\B", "^", "$", "\\A", "\\z", "\\n", "\\x61", "\\x{e9}", "\\141", "\\0", "\\_", "[ab]",
         "[^a]", "[a-c\\d]", "[]a]", "[a-]", "[^-a]", "[\\w-b]", "[[:alpha:]]", "[^[:^digit:]]", "[[:word:]-]", "[\u00e8-\u00ea]", "[^\\n]", "\\Qa.b\\E", "\\Qab\\E", "\\Q\\\\E", "\\Q\\\\\\E",
         "\\Qa\\\\b\\E", "\\Q\\E", "]", "}", "{", "a{,2}", "(?i)", "(?s)", "(?m)", "(?U)")
WRONG = ("(", ")", "*", "+?", "**", "[", "[b-a]", "[[:foo:]]", "\\1", "\\8", "\\y", "\\Z", "\\", "(?=a)", "(?P<1x", "(?P<>a)", "(?z)", "(?i", "(?-)", "a{2}{3}", "a{1001}", "(a{100}){11}", "a{3,2}", "\\x{110000}",
         "\\x6", "[a-\\d]", "[\\b]")
OPERATORS = ("*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,2}?", "{2,}", "{0}", "{0,1}", "{,3}")


def pattern_of(draw, depth=0):
    parts = []
    for _ in range(draw.randint(0 if depth else 1, 3)):
        if depth < 3 and draw.random() < 0.35:
            part = draw.choice(("(", "(", "(?:", "(?i:", "(?s-i:", "(?m:", "(?U:")) + pattern_of(draw, depth + 1) + ")"
        else:
            part = draw.choice(ATOMS)
        parts.append(part + (draw.choice(OPERATORS) if draw.random() < 0.35 else ""))
    return "".join(parts) + ("|" + pattern_of(draw, depth + 1) if depth < 3 and draw.random() < 0.25 else "")


TEXTS = np.array([t.encode() for t in ("", "a", "ab", "aab b-a.b", "K\u00e9s \u212aS\u017f", "a\nb\n\n", "bababab\u00e9\u00e9", "12 a_3", "\u20aca\U0001f600b", "k-K", "\\ab\\\\b\\\\")], object)
TEXTS_OF_TF = tf.constant(TEXTS)


def is_text(value):
    try:
        return bool(value.decode("utf-8") or True)
    except UnicodeDecodeError:
        return False


def regex(pattern, rewrite, once):
    """What TensorFlow gives, and with marks instead of the matches; None: it refuses the pattern."""
    try:
        return (tf.strings.regex_full_match(TEXTS_OF_TF, pattern).numpy(), tf.strings.regex_replace(TEXTS_OF_TF, pattern, rewrite, not once).numpy(),
                tf.strings.regex_replace(TEXTS_OF_TF, pattern, "<", not once).numpy())
    except tf.errors.InvalidArgumentError:
        return None


draw, known = chance.Random(7), 0
for number in range(1200):
    pattern = pattern_of(draw) if number >= len(WRONG) else WRONG[number]
    groups = min(pattern.count("(") - pattern.count("(?") - pattern.count("\\(") + pattern.count("(?P"), 9)
    rewrite = draw.choice(("<\\0>", "", "\\\\-") + ((f"[\\{groups}\\1]",) if groups > 0 else ()))
    once, wanted = number % 3 == 0, regex(pattern, rewrite, number % 3 == 0)
    try:
        got = call("string_regex_full_match", TEXTS, pattern=pattern)[0], call("string_regex_replace", TEXTS, pattern=pattern, rewrite=rewrite, replace_global=not once)[0]
    except Refused as refusal:
        if wanted is not None and "ASCII" not in str(refusal):
            faults.append(f"{pattern!r}, {rewrite!r}: {refusal}")
        continue
    known += 1
    if wanted is None:
        faults.append(f"{pattern!r}: RE2 refuses it")
        continue
    whole = np.array([is_text(t) for t in wanted[2]])  # \\B is true in the midst of a character there, and a mark comes into it
    same(f"string_regex_full_match {pattern!r}", got[0], wanted[0])
    same(f"string_regex_replace {pattern!r} {rewrite!r} {once}", got[1][whole], wanted[1][whole])
if known < 1000:
    faults.append(f"only {known} patterns were compared")
vocabulary = np.array(sorted(set(A.ravel().tolist()))[::2][::-1], object)
table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(vocabulary, tf.range(len(vocabulary), dtype=tf.int64)), -7)
same("string_lookup", call("string_lookup", A, vocabulary, default_value=-7)[0], table.lookup(T).numpy())
same("string_lookup", call("string_lookup", A, vocabulary[:0])[0], np.full(A.shape, -1, "int64"))
for name, inputs, attributes in [("string_lookup", (A, np.array(["a", "a"], object)), {}), ("string_lookup", (A, A), {}), ("string_lookup", (A,), {}),
                                 ("string_join", (A, B[:1]), {}), ("string_join", (A, np.ones((3, 4), "float32")), {}), ("string_join", (A,), {"separator": 1}),
                                 ("string_join", (A,), {"sep": ","}), ("string_reduce_join", (A,), {"axis": 2}), ("string_reduce_join", (A, B), {}),
                                 ("string_substr", (A,), {"pos": 0}), ("string_substr", (LONG[1:2],), {"pos": 1, "len": 1}), ("string_ngrams", (A,), {}),
                                 ("string_ngrams", (A,), {"ngram_width": 2, "padding_width": 1}), ("string_ngrams", (A,), {"ngram_width": [0]}),
                                 ("string_unicode_encode", (CODES.astype("int64"),), {}), ("string_unicode_encode", (CODES[0, 0],), {}), ("string_unicode_decode", (CODES,), {}),
                                 ("string_regex_replace", (A,), {"pattern": "a"}), ("string_regex_replace", (A,), {"pattern": "a", "rewrite": "\\1"}), ("string_regex_full_match", (A,), {}),
                                 ("string_regex_replace", (A,), {"pattern": "a", "rewrite": "\\x"}), ("string_regex_full_match", (A,), {"pattern": "\\pL"}),
                                 ("string_regex_full_match", (A,), {"pattern": "(?i)\u00e9"}), ("string_regex_full_match", (A,), {"pattern": "\\C"}),
                                 ("string_to_hash_bucket_strong", (A,), {"num_buckets": 3}), ("string_split", (A,), {"maxsplit": -2}), ("string_split", (A.reshape((1,) * 6 + (3, 4)),), {}), ("string_join", (), {})]:
    try:
        call(name, *inputs, **attributes)
        faults.append(f"{name} takes {attributes}")
    except Refused:
        pass

# -- numbers to strings and back --

random = np.random.default_rng(5)
for dtype in NUMERIC:
    if dtype == "bool":
        values = np.array([True, False])
    elif dtype.startswith("float"):
        values = np.concatenate([random.normal(0, 1, 50) * 10.0 ** random.integers(-6, 5, 50), [0, -0.0, 1, 0.1, 1e16, 123456789, np.inf, -np.inf, np.nan, 2.0**-24]])
        with np.errstate(all="ignore"):
            values = np.concatenate([values.astype(dtype), random.integers(0, 2**15, 200).astype("uint16").view("float16").astype(dtype)])
    else:
        values = np.array([np.iinfo(dtype).min, np.iinfo(dtype).max, 0, 1, 42], dtype)
    got = cast(values, "string")
    digits = values.astype(str)  # NumPy's shortest; where it begins with exponents depends on the type, and here it is as of Python's float
    wanted = np.array([(repr(float(d)) if dtype.startswith("float") else d).encode() for d in digits], object)
    same(f"{dtype} to strings", got, wanted)
    if dtype != "bool":
        same(f"{dtype} and back", cast(got, dtype), values)
for dtype in NUMERIC:
    if dtype.startswith("float"):
        values = np.array([0, -0.0, 1.5, -2.625, 1e-7, 123456.789, 6e4, np.inf, -np.inf, np.nan], dtype)
    else:
        values = np.array([0, 1] if dtype == "bool" else [0, 1, 42, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
    kinds = [{}, *({"width": w, "fill": f} for w in (-1, 0, 3, 9) for f in ("", " ", "+", "-", "0", "#"))]
    floats = [{"precision": p, k: True} for p in (-1, 0, 2, 9) for k in ("scientific", "shortest")] + [{"precision": p, "width": 12, "fill": "0"} for p in (0, 3, 40)]
    for attributes in kinds + (floats if dtype.startswith("float") else []):
        wanted = np.asarray(tf.strings.as_string(tf.constant(values), **attributes).numpy(), object)
        same(f"string_as_string of {dtype} {attributes}", call("string_as_string", values, **attributes)[0], wanted)
for values, attributes in ((np.ones(2, "float32"), {"scientific": True, "shortest": True}), (np.ones(2, "int32"), {"precision": 2}), (np.ones(2, "float32"), {"fill": "x"}),
                           (np.ones(2, "float32"), {"fill": "00"}), (np.ones(2, "float32"), {"width": 1001}), (np.ones(2, bool), {"shortest": True}), (A, {})):
    try:
        call("string_as_string", values, **attributes)
        faults.append(f"string_as_string takes {attributes}")
    except Refused:
        pass
for text, dtype in (("1.5", "int32"), ("", "float32"), ("300", "uint8"), ("-1", "uint64"), ("18446744073709551616", "uint64"), ("one", "float64"), ("1_0", "int32")):
    try:
        cast(np.array([text], object), dtype)
        faults.append(f"{text!r} became {dtype}")
    except Refused:
        pass
sys.exit(finish())
