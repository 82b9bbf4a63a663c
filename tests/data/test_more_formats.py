# SPDX-License-Identifier: Apache-2.0
# timeout: 120
"""JSON lines, windows of text, BMP and GIF images, WAV files: rows against what Python, TensorFlow and the definition of each say;
what is damaged or does not fit is an error that says where."""
import gzip
import json
import os
import struct
import sys
import wave

import numpy as np
from data import PROGRAM, check, deliver, refused, report, run, same

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
import tensorflow as tf

RNG = np.random.default_rng(11)


def put(name, content):
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    with open(name, "wb") as f:
        f.write(content if isinstance(content, bytes) else content.encode())
    return name


def spec_file(**features):
    put("f.json", json.dumps(features))
    return "#features=f.json"


def json_lines():
    rows = [{"x": [[i, 2.5], [-1e300, i / 3]], "n": i - 2, "b": i % 2 == 0, "s": "text", "r": list(range(i)), "q": [[1] * k for k in range(i % 3)]}
            for i in range(7)]
    text = "\n\n".join(json.dumps(r) for r in rows) + "\n"
    put("a.jsonl", text)
    put("a.jsonl.gz", gzip.compress(text.replace("\n", "\r\n").encode()))
    with np.errstate(over="ignore"):
        x = np.array([r["x"] for r in rows]).astype("f4")
    for name in ("a.jsonl", "a.jsonl.gz"):
        same(name, deliver("jsonl:%s#x" % name), x)
        same(name + " integers", deliver("jsonl:%s#n" % name, "int64"), [r["n"] for r in rows])
        same(name + " booleans", deliver("jsonl:%s#b" % name, "int64"), [int(r["b"]) for r in rows])
    padded = np.full((7, 6), -1)
    nested = np.zeros((7, 2, 2), "f4")
    for i, r in enumerate(rows):
        padded[i, :i] = r["r"]
        for k, v in enumerate(r["q"]):
            nested[i, k, :k] = 1
    same("ragged", deliver("jsonl:a.jsonl" + spec_file(x=dict(dtype="int64", key="r", shape=[6], ragged=True, default=-1)), "int64"), padded)
    same("nested ragged", deliver("jsonl:a.jsonl" + spec_file(x=dict(dtype="float32", key="q", shape=[2, 2], ragged=True))), nested)
    same("default", deliver("jsonl:a.jsonl" + spec_file(x=dict(dtype="float32", key="none", default=1.5))), np.full(7, 1.5, "f4"))
    plain = ['{"z":"[1,{","x":[[-0,1.5],[2e3,-0.0]],"q":{"x":[9]}}', ' { "x" : [ [ 1 , 2 ] , [ 3.25e-2 , 4E+1 ] ] , "z" : "\\"}" } ',
             '{"x":[[1,1],[1,1]],"x":[[5,6.5],[7,8]]}', '{"z":[[],{}],"x":[[0.1,123456789.25],[1e22,-7]]}', '{"x":[[true,false],[1,0]],"z":null}']
    put("plain.jsonl", "\n".join(plain))
    same("numbers read in place", deliver("jsonl:plain.jsonl#x"), np.array([json.loads(v)["x"] for v in plain]).astype("f4"))
    put("special.jsonl", '{"x":NaN,"l":[1,-Infinity],"s":"a"}\n{"x":Infinity,"l":[2,3],"s":NaN}\n')
    same("numbers that are none", deliver("jsonl:special.jsonl#x"), np.array([np.nan, np.inf], "f4"))
    same("and in lists", deliver("jsonl:special.jsonl#l"), np.array([[1, -np.inf], [2, 3]], "f4"))
    rc, _, err = run(PROGRAM, "jsonl:special.jsonl#s", "string", "out.raw")
    check("a text that is none", rc == 1 and "line 1" in err and "not a string" in err, err)
    for n, broken in enumerate(('{"x":[[1,2],[3,4]', '{"x":[[1,2],[3,04]]}', '{"x":[[1,2],[3,4]]} 5', '{"x":[[1,2],[3,4.]]}', '{"x":[[1,2],[3,4],]}', '{"x":[[1 2],[3,4]]}')):
        put("broken.jsonl", plain[3] + "\n" + broken)
        refused("broken %d" % n, "jsonl:broken.jsonl#x", "line 1", "at byte %d" % (len(plain[3]) + 1))
    at = text.index('{"x": [[3')
    bad = text[:at] + text[at:].replace("2.5", "two", 1)
    put("bad.jsonl", bad)
    refused("bad JSON", "jsonl:bad.jsonl#x", "bad.jsonl", "line 3", "at byte %d" % at)
    same("bad JSON left out", deliver("jsonl:bad.jsonl#x&skip-errors=1"), np.delete(x, 3, 0))
    refused("lacking", "jsonl:a.jsonl" + spec_file(x=dict(dtype="float32", key="none")), "line 0", "none", "lacks")
    refused("text", "jsonl:a.jsonl#s", "cannot be fed")
    refused("extent", "jsonl:a.jsonl" + spec_file(x=dict(dtype="int64", key="r", shape=[1])), "line 0", "a list of 0 (expected 1)")
    put("pictures/a.jsonl", '{"x": "in/p.png"}\n{"x": "../p.png"}\n')
    pixels = RNG.integers(0, 256, (5, 4, 3), dtype="u1")
    put("pictures/in/p.png", tf.io.encode_png(pixels).numpy())
    done = spec_file(x=dict(dtype="bytes", decode="image", resize=[5, 4]))
    refused("a name that leads out", "jsonl:pictures/a.jsonl" + done, "leads out")
    put("pictures/b.jsonl", '{"x": "in/p.png"}\n')
    same("an image by name", deliver("jsonl:pictures/b.jsonl" + done), pixels[None].astype("f4"))


def windows():
    text = "Der Gürtel, 数学! " * 9
    put("t.txt", text)
    numbers = {c: i for i, c in enumerate(sorted(set(text)))}
    tokens = np.array([numbers[c] for c in text], "i4")
    for length, step in ((10, 10), (7, 3), (len(text) - 1, 1)):
        rows = (len(tokens) - length - 1) // step + 1
        wanted = np.stack([tokens[i * step:i * step + length] for i in range(rows)])
        same("characters %d %d" % (length, step), deliver("text:t.txt#length=%d&step=%d" % (length, step), "int32"), wanted)
    raw = np.frombuffer(text.encode(), "u1")
    wanted = np.stack([raw[i * 8:i * 8 + 8] for i in range((len(raw) - 9) // 8 + 1)])
    same("bytes", deliver("text:t.txt#tokens=bytes&length=8", "int32"), wanted.astype("i4"))
    refused("no length", "text:t.txt#tokens=bytes", "length")
    refused("too long", "text:t.txt#length=5000", "no window")
    for name, bad in (("no UTF-8", b"\xff"), ("a surrogate, which Python and RFC 3629 take for none", b"\xed\xa0\x80")):
        put("l.txt", (b"abc" + bad) * 10)
        refused(name, "text:l.txt#length=4", "byte 3 is no UTF-8")


def bmp(pixels, bits, palette=None, top=False):
    """Rows from the bottom, padded to four bytes, blue first."""
    h, w = pixels.shape[:2]
    rows = []
    for row in (pixels if top else pixels[::-1]):
        if bits < 8:
            v = np.zeros(((w * bits + 7) // 8 * 8 // bits), "u1")
            v[:w] = row
            row = sum(v[k::8 // bits].astype(int) << (8 - bits * (k + 1)) for k in range(8 // bits)).astype("u1").tobytes()
        elif bits == 8:
            row = row.tobytes()
        else:
            row = np.concatenate([row[:, 2::-1], row[:, 3:]], 1).tobytes()
        rows.append(row + b"\0" * (-len(row) % 4))
    table = b"" if palette is None else np.concatenate([palette[:, ::-1], np.zeros((len(palette), 1), "u1")], 1).tobytes()
    body, start = b"".join(rows), 54 + len(table)
    return b"BM" + struct.pack("<IHHIIiiHHIIiiII", start + len(body), 0, 0, start, 40, w, -h if top else h, 1, bits, 0, len(body), 0, 0,
                               0 if palette is None else len(palette), 0) + table + body


def gif(pixels, palette, interlaced=False, transparent=None, screen=None, at=(0, 0)):
    """An encoder of its own: LZW with a growing table, cleared when it is full."""
    h, w = pixels.shape
    order = [r for a, s in ((0, 8), (4, 8), (2, 4), (1, 2)) for r in range(a, h, s)] if interlaced else range(h)
    data = bytes(int(v) for r in order for v in pixels[r])
    bits = max(2, int(np.ceil(np.log2(len(palette)))))
    clear, out, have, count = 1 << bits, bytearray(), 0, 0

    def emit(code, size):
        nonlocal have, count
        have |= code << count
        count += size
        while count >= 8:
            out.append(have & 255)
            have >>= 8
            count -= 8

    def fresh():
        return {bytes([i]): i for i in range(clear)}, clear + 2, bits + 1

    known, following, size = fresh()
    emit(clear, size)
    word = b""
    for v in data:
        if word + bytes([v]) in known:
            word += bytes([v])
            continue
        emit(known[word], size)
        if following < 4096:
            known[word + bytes([v])] = following
            following += 1
            if following > 1 << size and size < 12:
                size += 1
        else:
            emit(clear, size)
            known, following, size = fresh()
        word = bytes([v])
    emit(known[word], size)
    emit(clear + 1, size)
    emit(0, 7)
    blocks = b"".join(bytes([len(out[i:i + 255])]) + bytes(out[i:i + 255]) for i in range(0, len(out), 255)) + b"\0"
    sw, sh = screen or (w, h)
    table = palette.tobytes() + b"\0" * (3 * ((1 << bits) - len(palette)))
    control = b"" if transparent is None else b"\x21\xf9\x04" + bytes([1, 0, 0, transparent]) + b"\0"
    return b"GIF89a" + struct.pack("<HHBBB", sw, sh, 0x80 | bits - 1, 0, 0) + table + b"\x21\xfe\x03abc\0" + control \
        + b"\x2c" + struct.pack("<HHHHB", at[0], at[1], w, h, 64 if interlaced else 0) + bytes([bits]) + blocks + b"\x3b"


def pictures():
    if not os.path.exists(os.path.join(os.environ["ARTEL_BUILD"], "libartel-image.so")):
        print("images are left out: libartel-image.so was not built")
        return
    rgb, rgba = RNG.integers(0, 256, (13, 11, 3), dtype="u1"), RNG.integers(0, 256, (13, 11, 4), dtype="u1")
    palette = RNG.integers(0, 256, (200, 3), dtype="u1")
    index = RNG.integers(0, 200, (13, 11), dtype="u1")
    smooth = (np.add.outer(np.arange(90), np.arange(120)) // 9 % 32).astype("u1")

    def one(name, content, wanted, channels=3):
        put("p/one." + name.split()[0], content)
        same(name, deliver("images:p", "float32", *wanted.shape), wanted[None].astype("f4"))
        os.remove("p/one." + name.split()[0])

    truth = tf.io.decode_bmp(bmp(rgb, 24)).numpy()
    check("the encoder of BMP", (truth == rgb).all())
    one("bmp 24", bmp(rgb, 24), rgb)
    one("bmp from the top", bmp(rgb, 24, top=True), rgb)
    one("bmp 32", bmp(rgba, 32), rgba, 4)
    one("bmp 32 without alpha", bmp(rgba, 32), rgba[..., :3])
    one("bmp 8", bmp(index, 8, palette), palette[index])
    one("bmp 4", bmp(index % 16, 4, palette[:16]), palette[index % 16])
    one("bmp 1", bmp(index % 2, 1, palette[:2]), palette[index % 2])
    grey = np.tile(RNG.integers(0, 256, (13, 11, 1), dtype="u1"), (1, 1, 3))
    one("bmp to grey", bmp(grey, 24), grey[..., :1], 1)
    for name, content, wanted in (("gif", gif(index, palette), palette[index]),
                                  ("gif interlaced", gif(index, palette, True), palette[index]),
                                  ("gif two colours", gif(index % 2, palette[:2]), palette[index % 2]),
                                  ("gif large", gif(smooth, palette[:32]), palette[smooth])):
        truth = tf.io.decode_gif(content).numpy()[0]
        check("the encoder of " + name, (truth == wanted).all())
        one(name, content, wanted)
    part = gif(index, palette, transparent=7, screen=(15, 16), at=(2, 3))
    wanted = np.zeros((16, 15, 3), "u1")
    wanted[3:, 2:13] = np.where(index[..., None] == 7, 0, palette[index])
    one("gif on a screen", part, wanted)
    os.makedirs("d", exist_ok=True)
    for name, content in (("d/a.bmp", bmp(rgb, 24)[:-5]), ("d/a.bmp", bmp(index, 8, palette[:9])), ("d/a.gif", gif(index, palette)[:-90]),
                          ("d/a.gif", b"GIF89a"), ("d/a.bmp", b"BM" + b"\xff" * 80)):
        put(name, content)
        refused("damaged " + name, "images:d#size=4x4", name)
        os.remove(name)


def sounds():
    for name, count in (("s/a/1.wav", 100), ("s/b/2.wav", 60), ("s/b/3.wav", 140)):
        samples = RNG.integers(-32768, 32768, (count, 2), dtype="i2")
        os.makedirs(os.path.dirname(name), exist_ok=True)
        with wave.open(name, "wb") as f:
            f.setparams((2, 2, 8000, count, "NONE", ""))
            f.writeframes(samples.tobytes())
    names = ("s/a/1.wav", "s/b/2.wav", "s/b/3.wav")
    truth = [tf.audio.decode_wav(open(n, "rb").read(), desired_channels=2, desired_samples=80).audio.numpy() for n in names]
    same("16 bits", deliver("audio:s#length=80"), np.stack(truth))
    with open("s/a/0.wav", "wb") as f: # in front of all others
        f.write(open(names[0], "rb").read()[:50])
    refused("a cut sound", "audio:s#length=80", "s/a/0.wav")
    same("a cut sound left out", deliver("audio:s#length=80&skip-errors=1"), np.stack(truth))
    same("as long as the first that is whole", deliver("audio:s#skip-errors=1")[:1], deliver("audio:s#length=100&skip-errors=1")[:1])
    os.remove("s/a/0.wav")
    same("as long as the first", deliver("audio:s")[:1], tf.audio.decode_wav(open(names[0], "rb").read()).audio.numpy()[None])
    refused("other channels", "audio:s#length=80&channels=1", "channels")
    values = RNG.standard_normal((50, 1)).astype("f4")

    def wav(kind, bits, body):
        head = struct.pack("<HHIIHH", kind, 1, 8000, 8000 * bits // 8, bits // 8, bits)
        return b"RIFF" + struct.pack("<I", 0) + b"WAVE" + b"fmt " + struct.pack("<I", 16) + head + b"LIST" + struct.pack("<I", 3) + b"abc\0" \
            + b"data" + struct.pack("<I", len(body)) + body

    for name, content, wanted in (
            ("float", wav(3, 32, values.tobytes()), values),
            ("8 bits", wav(1, 8, bytes(range(50))), (np.arange(50, dtype="f4")[:, None] - 128) / 128),
            ("24 bits", wav(1, 24, b"".join(int(v).to_bytes(3, "little", signed=True) for v in range(-25, 25))), np.arange(-25, 25, dtype="f4")[:, None] / 2**23),
            ("32 bits", wav(1, 32, (np.arange(50, dtype="i4") << 20).tobytes()), (np.arange(50, dtype="i4") << 20).astype("f4")[:, None] / np.float32(2**31))):
        put("w/one.wav", content)
        same(name, deliver("audio:w"), wanted[None])
    for name, content in (("cut", wav(1, 16, b"\0" * 90)[:-9]), ("compressed", wav(2, 4, b"\0" * 8)), ("no RIFF", b"hello"), ("empty", b"")):
        put("w/one.wav", content)
        refused("sound " + name, "audio:w", "w/one.wav")


def fixed():
    n = 11
    kind = np.dtype([("y", "u1"), ("x", "<f4", (3, 2)), ("pad", "u1", 5), ("z", "<i2")])
    a = np.zeros(n, kind)
    a["y"], a["x"], a["pad"], a["z"] = RNG.integers(0, 9, n), RNG.standard_normal((n, 3, 2)), 77, RNG.integers(-999, 999, n)
    put("r1.bin", b"head" + a[:4].tobytes() + b"12")
    put("r2.bin", b"HEAD" + a[4:].tobytes() + b"34")
    layout = "#layout=y:uint8,x:float32:3x2,_:uint8:5,z:int16&file-header=4&file-footer=2"
    truth = [v.numpy() for v in tf.data.FixedLengthRecordDataset(["r1.bin", "r2.bin"], kind.itemsize, 4, 2)]
    check("as tf.data cuts them", b"".join(truth) == a.tobytes())
    same("records of one size", deliver("fixed:r*.bin" + layout), a["x"])
    same("another field", deliver("fixed:r*.bin" + layout + "&z", "int16"), a["z"])
    put("r3.bin.gz", gzip.compress(b"head" + a.tobytes() + b"12"))
    same("gzipped", deliver("fixed:r3.bin.gz" + layout), a["x"])
    put("r4.bin", a.tobytes()[:-1])
    refused("cut off", "fixed:r4.bin" + layout.split("&")[0], "r4.bin", "no records of %d" % kind.itemsize)
    for bad in ("#layout=x", "#layout=x:float33", "#layout=x:uint8:3x", "#layout=_:uint8", "", "#layout=x:uint8:99999999999x99999999999"):
        refused("layout " + bad, "fixed:r1.bin" + bad, "layout")


for part in (fixed, json_lines, windows, pictures, sounds):
    part()
sys.exit(report())
