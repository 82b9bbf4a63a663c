# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# long form: 1800
"""Files of every reader, cut off, with bits changed, with lengths that lie, and bombs: each read ends by itself with rows or with one error that
names the file, in memory that follows from what the file holds: no allocation of more than four times its size and 1 MiB. And rows that are left out
on request: of each source that can, so many, each named.
"""
import gzip
import io
import json
import os
import random
import struct
import subprocess
import sys
import time
import wave
import zlib

import numpy as np
from data import ARTEL, check, report
from PIL import Image
from support.checksum import masked_crc32c

LONG = os.environ.get("ARTEL_LONG") == "1"
MEGABYTES = 48  # resident: the program itself, and files that are small
SECONDS = 60
rng = random.Random(17)
PIXELS = np.random.default_rng(3).integers(0, 255, (2, 9, 7, 3)).astype("u1")


COUNTING = os.path.abspath("counting.so")
subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", COUNTING, os.environ["ARTEL_SOURCE"] + "/tests/support/preload/counting.c"], check=True)
MIB = 1 << 20
UNICODE = 0x110000 * 4  # a table of characters


def read(spec):
    """Exit code, what is said, seconds, and the largest allocation of reading all there is."""
    begin = time.monotonic()
    env = {**os.environ, "LD_PRELOAD": COUNTING, "COUNTING": "counts"}
    p = subprocess.Popen([ARTEL, "data", "verify", spec], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", env=env)
    try:
        out, err = p.communicate(timeout=5 * SECONDS)
    except subprocess.TimeoutExpired:
        p.kill()
        out, err = p.communicate()
    with open("counts") as f:
        largest = int(f.read().split()[0])
    return p.returncode, out + err, time.monotonic() - begin, largest


def measured(spec):
    """The same under a parent whose only child it is: with its resident memory."""
    code = "import os,sys,subprocess,resource; r=subprocess.run(sys.argv[1:],capture_output=True); sys.stdout.buffer.write(r.stdout+r.stderr); " \
           "print('\\n%d %d' % (r.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))"
    begin = time.monotonic()
    p = subprocess.run([sys.executable, "-S", "-c", code, ARTEL, "data", "verify", spec], capture_output=True, text=True, errors="replace")
    rc, kilobytes = map(int, p.stdout.split("\n")[-2].split())
    return rc, p.stdout, kilobytes / 1024, time.monotonic() - begin


def image(kind, **more):
    out = io.BytesIO()
    Image.fromarray(PIXELS[0]).save(out, kind, **more)
    return out.getvalue()


def records(*payloads):
    def masked(content):
        return struct.pack("<I", masked_crc32c(content))
    heads = [struct.pack("<Q", len(p)) for p in payloads]
    return b"".join(h + masked(h) + p + masked(p) for h, p in zip(heads, payloads))


def example(values):
    packed = struct.pack("<%df" % len(values), *values)
    floats = b"\x0a" + bytes([len(packed)]) + packed
    feature = b"\x12" + bytes([len(floats)]) + floats
    entry = b"\x0a\x01x\x12" + bytes([len(feature)]) + feature
    features = b"\x0a" + bytes([len(entry)]) + entry
    return b"\x0a" + bytes([len(features)]) + features


def numpy_bytes(save, *args, **kwargs):
    out = io.BytesIO()
    save(out, *args, **kwargs)
    return out.getvalue()


def sound():
    out = io.BytesIO()
    with wave.open(out, "wb") as w:
        w.setnchannels(2)
        w.setsampwidth(2)
        w.setframerate(8000)
        w.writeframes(bytes(range(200)) * 2)
    return out.getvalue()


TABLE = ("a,b,y\n" + "".join("%d,%.3f,%d\n" % (i, i / 7, i % 3) for i in range(40))).encode()
LINES = "".join('{"x": [%d, 2.5], "y": %d}\n' % (i, i % 2) for i in range(20)).encode()
RECORDS = records(*[example([i, 1, 2]) for i in range(6)])
IDX = struct.pack(">HBBIII", 0, 8, 3, 4, 3, 3) + bytes(36)
# name of the file, content, specification of it
FILES = [
    ("a.npy", numpy_bytes(np.save, np.arange(60.0).reshape(20, 3)), "npy:%s"),
    ("a.npz", numpy_bytes(np.savez, x=np.arange(60.0).reshape(20, 3), y=np.arange(20)), "npz:%s"),
    ("b.npz", numpy_bytes(np.savez_compressed, x=np.arange(60.0).reshape(20, 3), y=np.arange(20)), "npz:%s"),
    ("i.idx", IDX, "idx:%s"),
    ("i.idx.gz", gzip.compress(IDX), "idx:%s"),
    ("t.csv", TABLE, "csv:%s#label=y"),
    ("t.csv.gz", gzip.compress(TABLE), "csv:%s#label=y"),
    ("s.csv", TABLE, "csv:%s#label=y&stream=yes"),
    ("c.bin", bytes(range(256)) * 24 + bytes(2), "cifar10:%s"),
    ("f.bin", bytes(range(250)), "fixed:%s#layout=y:uint8,x:int16:2x2&file-header=16"),
    ("l.jsonl", LINES, "jsonl:%s#label=y"),
    ("l.jsonl.gz", gzip.compress(LINES), "jsonl:%s#label=y"),
    ("a.npy.gz", gzip.compress(numpy_bytes(np.save, np.arange(60.0).reshape(20, 3))), "npy:%s"),
    ("s.csv.gz", gzip.compress(TABLE), "csv:%s#label=y&stream=yes"),
    ("f.bin.gz", gzip.compress(bytes(range(250))), "fixed:%s#layout=y:uint8,x:int16:2x2&file-header=16"),
    ("w.txt.gz", gzip.compress("wörter und noch mehr Wörter ".encode() * 5), "text:%s#length=9"),
    ("w.txt", "wörter und noch mehr Wörter ".encode() * 5, "text:%s#length=9"),
    ("r", RECORDS, "tfrecord:%s"),
    ("r.gz", gzip.compress(RECORDS), "tfrecord:%s"),
    ("r.z", zlib.compress(RECORDS), "tfrecord:%s"),
    ("p.json", json.dumps({"from": "synthetic:4", "stages": [{"stage": "take", "count": 2}]}).encode(), "pipeline:%s"),
    ("d/k/a.jpg", image("JPEG", quality=80), "images:d#size=8x8"),
    ("e/k/a.png", image("PNG"), "images:e#size=8x8"),
    ("g/k/a.gif", image("GIF"), "images:g#size=8x8"),
    ("h/k/a.bmp", image("BMP"), "images:h#size=8x8"),
    ("v/k/a.wav", sound(), "audio:v#length=40"),
]


def write(name, content):
    if "/" in name:
        os.makedirs(os.path.dirname(name), exist_ok=True)
    with open(name, "wb") as f:
        f.write(content)


def ends_well(what, name, spec):
    """Rows, or an error that names the file; no signal, no hang."""
    rc, said, seconds, largest = read(spec)
    check(what, rc in (0, 1, 2) and seconds < SECONDS, rc, seconds, said[-300:])
    most = UNICODE if name.startswith("w.txt") else 4 * os.path.getsize(name) + MIB
    check(what + ": memory", largest <= most, largest, most, said[-300:])
    if rc and name != "p.json":  # there what a changed name names is told
        check(what + ": names the file", os.path.basename(name) in said or os.path.dirname(name).split("/")[0] + "/" in said or spec in said, said[-300:])


def changed(content):
    """Cut off, bits changed, and 4 bytes that say much where numbers may stand."""
    cuts = sorted({0, 1, len(content) - 1, *(rng.randrange(len(content)) for _ in range(40 if LONG else 4))})
    for at in cuts:
        yield "cut to %d" % at, content[:at]
    for _ in range(200 if LONG else 6):
        at, bit = rng.randrange(len(content)), rng.randrange(8)
        yield "bit %d of byte %d" % (bit, at), content[:at] + bytes([content[at] ^ 1 << bit]) + content[at + 1:]
    for _ in range(200 if LONG else 6):
        at, big = rng.randrange(min(len(content), 64)), rng.choice([b"\xff" * 4, b"\xff\xff\xff\x7f", b"\x7f\xff\xff\xff", b"\0\0\0\0", b"\xff" * 8])
        yield "%s at %d" % (big.hex(), at), content[:at] + big + content[at + len(big):]
    yield "twice", content + content
    yield "with a tail", content + bytes(13)


def mutations():
    for name, content, form in FILES:
        spec = form % name if "%s" in form else form
        write(name, content)
        rc, said, *_ = read(spec)
        check(name + " as it should be", rc == 0 or name == "p.json", said[-300:])
        for what, bad in changed(content):
            write(name, bad)
            ends_well("%s, %s" % (name, what), name, spec)
        write(name, content)


def png(height, width, body, depth=8, more=()):
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, 2, 0, 0, 0)) + b"".join(chunk(*m) for m in more) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def bombs():
    """What says that it is enormous, in little: an error, before memory is taken for it."""
    zeros = gzip.compress(bytes(1 << 20)) * 64  # members one after another: 64 MiB of zeros in 64 KiB
    jpeg = bytearray(image("JPEG"))
    frame = jpeg.index(b"\xff\xc0") + 5
    jpeg[frame:frame + 4] = b"\xff\xff\xff\xff"
    large = bytearray(jpeg)  # less than what is too large at once
    large[frame:frame + 4] = struct.pack(">HH", 10000, 13000)
    bmp = bytearray(image("BMP"))
    bmp[18:26] = struct.pack("<ii", 60000, 60000)
    gif = bytearray(image("GIF"))
    gif[6:10] = b"\xff\xff\xff\xff"
    wav = bytearray(sound())
    wav[40:44] = b"\xf0\xff\xff\xff"
    wide = b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + b"{'descr': '<f8', 'fortran_order': False, 'shape': (1152921504606846976, 3), }".ljust(117) + b"\n"
    cases = [
        ("bomb.npy", wide, "npy:%s", 1),
        ("bomb.idx", struct.pack(">HBBIII", 0, 8, 3, 0xFFFFFFFF, 0xFFFF, 0xFFFF) + bytes(9), "idx:%s", 1),
        ("bomb.r", struct.pack("<Q", 1 << 62) + bytes(20), "tfrecord:%s", 1),
        ("bomb.l.jsonl", b"[" * 200000, "jsonl:%s", 1),
        ("bomb.p.json", b'{"from":' * 100000, "pipeline:%s", 1),
        ("bj/k/a.jpg", bytes(jpeg), "images:bj#size=8x8", 1),
        ("bl/k/a.jpg", bytes(large), "images:bl#size=8x8", 1),
        ("br/k/a.png", png(10000, 13000, zlib.compress(bytes(13000), 9)), "images:br#size=8x8", 1),
        ("bp/k/a.png", png(1 << 30, 1 << 30, zlib.compress(bytes(100))), "images:bp#size=8x8", 1),
        ("bq/k/a.png", png(20000, 20000, zlib.compress(bytes(20000), 9)), "images:bq#size=8x8", 1),
        ("bb/k/a.bmp", bytes(bmp), "images:bb#size=8x8", 1),
        ("bg/k/a.gif", bytes(gif), "images:bg#size=8x8", None),
        ("bw/k/a.wav", bytes(wav), "audio:bw#length=40", None),
        ("bomb.idx.gz", zeros, "idx:%s", 1),
        ("bomb.r.gz", zeros, "tfrecord:%s", 1),
    ]
    for name, content, form, want in cases:
        write(name, content)
        spec = form % name if "%s" in form else form
        rc, said, megabytes, seconds = measured(spec)
        room = MEGABYTES + (64 * 2 if name.endswith(".gz") else 0)  # what a stream holds is known when it is unfolded
        largest = 0 if name.endswith(".gz") else read(spec)[3]
        check("memory of bomb " + name, largest <= 4 * len(content) + MIB, largest, len(content))
        check("bomb " + name, rc in (0, 1, 2) and (want is None or rc == want) and megabytes < room and seconds < SECONDS, rc, megabytes, seconds, said[-300:])


def promised():
    """Images whose headers promise many pixels and whose files hold next to none: each refused by name before memory is taken."""
    progressive, jpeg = image("JPEG", progressive=True), image("JPEG")
    zeros = zlib.compress(bytes(64 * MIB), 9)
    profile, text = b"p\0\0" + zeros, b"t\0\0" + zeros

    def jpeg_of(content, height, width, marker=None):
        content = bytearray(content)
        at = content.index(b"\xff\xc2" if content is progressive or b"\xff\xc2" in content else b"\xff\xc0")
        content[at + 1] = marker or content[at + 1]
        content[at + 5:at + 9] = struct.pack(">HH", height, width)
        return bytes(content)

    def gif_of(height, width, drawn=None):
        content = bytearray(image("GIF"))
        content[6:10] = struct.pack("<HH", width, height)
        at = content.index(b"\x2c", 13 + 3 * (2 << (content[10] & 7))) + 5
        content[at:at + 4] = struct.pack("<HH", *(drawn or (width, height)))
        return bytes(content)

    def bmp_of(height, width, bits):
        content = bytearray(image("BMP"))
        content[18:26], content[28:30] = struct.pack("<ii", width, height), struct.pack("<H", bits)
        return bytes(content)

    cases = []
    for height, width in ((32768, 4096), (4096, 32768), (32768, 300), (300, 32768), (3000, 3000), (1200, 1100), (65535, 65535)):
        cases += [("png", png(height, width, zlib.compress(bytes(500), 9))), ("png", png(height, width, zlib.compress(bytes(500), 9), 16)),
                  ("jpg", jpeg_of(jpeg, height, width)), ("jpg", jpeg_of(progressive, height, width)), ("gif", gif_of(height, width)),
                  ("gif", gif_of(height, width, (7, 9))), ("bmp", bmp_of(height, width, 24)), ("bmp", bmp_of(-height, width, 32)), ("bmp", bmp_of(height, width, 1))]
        if height * width > 2000 * 2000:
            cases += [("jpg", jpeg_of(jpeg, height, width, 0xC9)), ("jpg", jpeg_of(progressive, height, width, 0xCA))]
    for k, (ending, content) in enumerate(cases):
        name = "o/k/a." + ending
        write(name, content)
        rc, said, seconds, largest = read("images:o#size=8x8")
        check("promise %d of a %s" % (k, ending), rc == 1 and name in said and seconds < SECONDS, rc, seconds, said[-300:])
        check("memory of promise %d of a %s" % (k, ending), largest <= 4 * len(content) + MIB, largest, len(content), said[-300:])
        os.remove(name)
    for kind, packed in ((b"iCCP", profile), (b"zTXt", text), (b"iTXt", b"t\0\1\0\0\0" + zeros)):
        content = png(9, 7, zlib.compress(b"".join(b"\0" + row.tobytes() for row in PIXELS[0])), more=[(kind, packed)])
        write("o/k/a.png", content)
        rc, said, seconds, largest = read("images:o#size=8x8")
        check("%s that unfolds" % kind.decode(), rc in (0, 1) and largest <= 4 * len(content) + MIB, rc, largest, len(content), said[-300:])


def slow_ones():
    """Small images that would keep a decoder busy: scans without end, texts that unfold, codes behind a whole picture."""
    progressive = image("JPEG", progressive=True)
    first = progressive.index(b"\xff\xda")  # the means of all blocks, as often as one likes
    end = next(i for i in range(first + 12, len(progressive)) if progressive[i] == 255 and progressive[i + 1] in (0xC4, 0xDA))
    more = lambda scans: progressive[:first] + progressive[first:end] * scans + progressive[end:]
    wide = io.BytesIO()  # of ten scans by itself
    Image.new("RGB", (3000, 2000), (9, 99, 200)).save(wide, "JPEG", progressive=True)
    wide = wide.getvalue()
    ends = wide.rindex(b"\xff\xda")  # the last bits of all blocks' brightness: a byte for thousands of blocks
    many = lambda scans: wide[:ends] + wide[ends:-2] * scans + wide[-2:]
    rows = zlib.compress(b"".join(b"\0" + row.tobytes() for row in PIXELS[0]))
    zeros = zlib.compress(bytes(500000), 9)
    texts = png(9, 7, rows, more=[(b"zTXt", b"t%d\0\0" % i + zeros) for i in range(990)])
    gif = image("GIF")
    last = gif.rindex(b"\0;")
    gif = gif[:last] + bytes([255]) * 4096 * 64 + gif[last:]
    cases = [("jpg", more(400), 0, ""), ("jpg", more(600), 1, "more than 500 scans"), ("jpg", more(60000), 1, "more than 500 scans"),
             ("jpg", many(30), 0, ""), ("jpg", many(450), 1, "of 2000 x 3000 pixels take too long"), ("png", texts, 0, ""), ("gif", gif, 0, "")]
    for k, (ending, content, want, words) in enumerate(cases):
        name = "q/k/a." + ending
        write(name, content)
        rc, said, megabytes, seconds = measured("images:q#size=8x8")
        check("slow image %d" % k, rc == want and words in said and (not rc or name in said) and megabytes < MEGABYTES and seconds < SECONDS,
              rc, megabytes, seconds, said[-300:])
        os.remove(name)


def bounded():
    """A gzip stream that unfolds to gigabytes ends at the limit of what it may be, by name, not with the machine's memory."""
    block = zlib.compressobj(9, zlib.DEFLATED, 31)
    with open("huge.csv.gz", "wb") as f:
        for _ in range(64):
            f.write(block.compress(bytes(1 << 20)))
        f.write(block.flush())
    rc, said, megabytes, seconds = measured("csv:huge.csv.gz")
    check("a table of zeros", rc == 1 and "huge.csv.gz" in said and megabytes < 400 and seconds < SECONDS, rc, megabytes, seconds, said[-300:])


def left_out():
    """Records that are cut off, changed and too large, of each source that can go on: left out, counted, and named with file and place."""
    size = len(RECORDS) // 6
    spoiled = bytearray(RECORDS[:-3])  # the last is cut off
    spoiled[size + 20] ^= 4
    spoiled[3 * size + 6] ^= 64  # a length of petabytes
    table = TABLE.decode().split("\n")
    for line, bad in ((5, "1,2"), (8, "1,x,2"), (9, "1,2,3,4"), (40, '4,"5')):
        table[line] = bad
    lines = LINES.decode().split("\n")
    for line, bad in ((3, lines[3][:9]), (5, "{" + lines[5]), (8, '{"x": [1, 2, 3], "y": 1}'), (19, lines[19][:-1])):
        lines[line] = bad
    pictures = {"a.jpg": image("JPEG"), "b.jpg": image("JPEG")[:300], "c.png": image("PNG")[:60], "d.png": b"\x89PNX" + image("PNG")[4:],
                "e.bmp": image("BMP")[:40], "f.gif": image("GIF")[:9], "g.jpg": b"", "h.png": image("PNG")}
    sounds = {"a.wav": sound(), "b.wav": b"RIFX" + sound()[4:], "c.wav": sound()[:30], "d.wav": sound()}
    for folder, files in (("x/k", pictures), ("y/k", sounds)):
        for name, content in files.items():
            write(folder + "/" + name, content)
    for name, content in (("x.r", bytes(spoiled)), ("x.csv", "\n".join(table).encode()), ("x.jsonl", "\n".join(lines).encode())):
        write(name, content)
        write(name + ".gz", gzip.compress(content))
    write("x.p.json", json.dumps({"from": "images:x#size=8x8&channels=3"}).encode())
    where = ["x.", "byte "]
    for spec, rows, bad, words in (("tfrecord:x.r#", 3, 3, where), ("tfrecord:x.r.gz#", 3, 3, where), ("csv:x.csv#label=y&types=b:float&stream=yes&", 36, 4, where),
                                   ("csv:x.csv.gz#label=y&types=b:float&stream=yes&", 36, 4, where), ("jsonl:x.jsonl#label=y&", 16, 4, where),
                                   ("jsonl:x.jsonl.gz#label=y&", 16, 4, where), ("images:x#size=8x8&", 2, 6, ["x/k/"]), ("audio:y#length=40&", 2, 2, ["y/k/"]),
                                   ("pipeline:x.p.json#", 2, 6, ["x/k/"])):
        rc, said, _, largest = read(spec + "skip-errors=%d" % bad)
        notes = [line for line in said.split("\n") if "left out: " in line]
        check(spec + " goes on", rc == 0 and "%d records, 0 damaged" % rows in said and largest < 2 * MIB, rc, largest, said)
        check(spec + " names them", len(notes) == bad and all(w in line for line in notes for w in words), len(notes), said)
        rc, said, *_ = read(spec + "skip-errors=%d" % (bad - 1))
        check(spec + " one too many", rc == 1 and all(w in said for w in words), rc, said)


mutations()
bombs()
promised()
slow_ones()
bounded()
left_out()
sys.exit(report())
