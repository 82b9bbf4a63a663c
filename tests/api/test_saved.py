# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""Functions in files: run on in another process with the bits of the one that saved them, under other strategies; and files that are damaged, or
were written by somebody who means harm: those have a digest that fits. None of them may do more than fail."""
import copy
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import zipfile

from cli import expect
from oracle import artel

PROGRAM = os.path.join(os.environ["ARTEL_BUILD"], "tests", "api", "prog_saved")
CORRUPT, UNSUPPORTED, INTERNAL = -3, -4, -10
FOLDER = tempfile.mkdtemp()
FILE = os.path.join(FOLDER, "whole.artel")


def run(*arguments, code=0):
    ran = subprocess.run([PROGRAM, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=200)
    out = ran.stdout.decode(errors="replace")
    expect(ran.returncode == code, arguments[:4], "exit code", ran.returncode, out[-600:])
    return out


def attempt(files):
    """What loading each of them says: a status and the rest of the line."""
    lines = []
    for at in range(0, len(files), 200):
        lines += run("try", *files[at:at + 200]).splitlines()
    expect(len(lines) == len(files), "lines", len(lines), "for", len(files))
    return [(int(line.split(" ", 1)[0]), line.split(" ", 1)[1]) for line in lines]


def parts(file=None):
    with zipfile.ZipFile(file or FILE) as archive:
        expect(archive.namelist() == ["functions.json", "values.bin", "digest"], archive.namelist())
        text, values, digest = (archive.read(name) for name in archive.namelist())
    expect(hashlib.sha256(text + values).hexdigest() == digest.decode(), "the digest is SHA-256 of both")
    return json.loads(text), values


def write(name, record, values):
    path = os.path.join(FOLDER, name)
    text = record if isinstance(record, bytes) else json.dumps(record).encode()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("functions.json", text)
        archive.writestr("values.bin", values)
        archive.writestr("digest", hashlib.sha256(text + values).hexdigest())
    return path


def bits():
    saved = run("save", FILE).splitlines(keepends=True)[-1]
    again = os.path.join(FOLDER, "again.artel")
    for form in ([], ["one-device", 1], ["mirrored", 3], ["central-storage", 2]):
        loaded = run("load", FILE, *form)
        expect(loaded == saved, form, loaded, saved)
    ran = artel("launch", "-n", 2, "--program", PROGRAM, "--", "together", FILE, timeout=600)
    expect(ran.rc == 0 and ran.out.count(saved) == 2, "two tasks:", ran.rc, ran.out, ran.err)
    run("resave", FILE, again)
    with open(FILE, "rb") as one, open(again, "rb") as other:
        expect(one.read() == other.read(), "a loaded strategy is saved as other bytes")


def parted():
    """What no saved function uses is not in the file."""
    path = os.path.join(FOLDER, "cut.artel")
    run("cut", path)
    with zipfile.ZipFile(path) as archive:
        record = json.loads(archive.read("functions.json"))
    expect([one["name"] for one in record["functions"]] == ["predict"] and record["optimizers"] == [], record["functions"])
    expect([sorted(item) for item in record["items"]] == [["model", "weights"]], [sorted(item) for item in record["items"]])
    record, _ = parts()
    expect([item["name"] for item in record["items"] if "name" in item] == ["total", "counts", "rows", "metrics/mae"], "a variable that nothing uses was saved")
    status, said = attempt([path])[0]
    expect(status == 0 and "predict 0" in said and "step" not in said, status, said)


def damage():
    """Bytes that were flipped, files that were cut: refused, or, where zip has bytes that mean nothing, the same function."""
    with open(FILE, "rb") as file:
        whole = file.read()
    files = []
    for at in list(range(0, len(whole), len(whole) // 100)) + list(range(len(whole) - 200, len(whole), 5)):
        files.append(os.path.join(FOLDER, "flip%d" % at))
        with open(files[-1], "wb") as file:
            file.write(whole[:at] + bytes([whole[at] ^ 0x15]) + whole[at + 1:])
    flips = len(files)
    for length in range(0, len(whole), len(whole) // 40):
        files.append(os.path.join(FOLDER, "short%d" % length))
        with open(files[-1], "wb") as file:
            file.write(whole[:length])
    good, answers = attempt([FILE])[0], attempt(files)
    for file, (status, said) in zip(files, answers):
        expect(status < 0 or (status, said) == good, file, status, said)
    expect(all(status < 0 for status, _ in answers[flips:]), "a file that was cut is loaded")
    expect(sum(status == CORRUPT for status, _ in answers) > 0.9 * len(files), answers[:20])
    record, values = parts()
    path = write("changed", record, values)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("functions.json", json.dumps(record))
        archive.writestr("values.bin", values[:-1] + b"\7")
        archive.writestr("digest", hashlib.sha256(json.dumps(record).encode() + values).hexdigest())
    status, said = attempt([path])[0]
    expect(status == CORRUPT and "digest does not fit" in said, status, said)


def named():
    """What a context lacks, and what only a newer version knows, is said by name."""
    whole, values = parts()
    for change, status, words in ((("version", 2), UNSUPPORTED, "version 2"), (("format", "recipes"), CORRUPT, "no functions of artel"),
                                  (("functions", None), CORRUPT, "no list")):
        record = copy.deepcopy(whole)
        record[change[0]] = change[1]
        answer = attempt([write("named", record, values)])[0]
        expect(answer[0] == status and words in answer[1], change, answer)
    for key in ("runs", "units"):
        record = copy.deepcopy(whole)
        record["strategy"][key] = 2**53 + 1
        answer = attempt([write("named", record, values)])[0]
        expect(answer[0] == CORRUPT and key in answer[1], key, answer)
    for kind, key, value, words in (("custom", "name", "fourth power", "does not have"), ("op", "name", "frobnicate", "no operation of this name"),
                                    ("loss", "do", "levitate", "does not know")):
        record = copy.deepcopy(whole)
        call = [one for function in record["functions"] for one in function["calls"] if one["do"] == kind][0]
        call[key] = value
        answer = attempt([write("named", record, values)])[0]
        expect(answer[0] == UNSUPPORTED and words in answer[1], kind, answer)


def places(tree, path=()):
    yield path
    for key, below in tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ():
        yield from places(below, path + (key,))


def malice():
    """Every kind of entry with what does not belong there, under a digest that fits."""
    words = os.path.join(FOLDER, "words.artel")
    run("words", words)
    status, said = attempt([words])[0]
    expect(status == 0 and "find 0" in said, status, said)
    hostile(FILE)
    hostile(words)
    record, values = parts(words)
    at = [item for item in record["items"] if item.get("dtype") == "string"][0]["at"]
    for length in (-1, 2**62, len(values)):
        changed = values[:at] + length.to_bytes(8, "little", signed=True) + values[at + 8:]
        status, said = attempt([write("longer", record, changed)])[0]
        expect(status == CORRUPT and "strings longer" in said, length, status, said)


def hostile(file):
    whole, values = parts(file)
    chosen, seen = [], {}
    for path in places(whole):
        like = tuple("#" if isinstance(key, int) else key for key in path)
        for key in path[:-1]:  # calls of a kind each
            if key == "calls":
                like += (whole["functions"][path[1]]["calls"][path[3]]["do"],)
        seen[like] = seen.get(like, 0) + 1
        if path and seen[like] <= 1 and "config" not in path:  # models have tests of their own
            chosen.append(path)
    files = []
    for path in chosen:
        for value in (None, -1, 2**62, "x", {}, [3] * 9, "gone"):
            record = copy.deepcopy(whole)
            at = record
            for key in path[:-1]:
                at = at[key]
            if value == "gone":
                del at[path[-1]]
            else:
                at[path[-1]] = value
            files.append(write("bad%d" % len(files), record, values))
    deep = {"do": "choose", "in": [0], "out": [0]}
    for calls in ([deep] * 100, [{"do": "enter", "in": [], "out": []}], [{"do": "leave", "in": [], "out": []}] * 3):
        record = copy.deepcopy(whole)
        record["functions"][0]["calls"] = calls
        files.append(write("bad%d" % len(files), record, values))
    files += [write("bad_json", b"[" * 10000, values), write("no_values", whole, b""), write("text", b"\xff\xfe{}", values)]
    answers = attempt(files)
    refused = sum(status < 0 for status, _ in answers)
    expect(not [said for status, said in answers if status == INTERNAL], "a defect is reported", [s for s in answers if s[0] == INTERNAL][:3])
    expect(refused > 0.6 * len(files), refused, "refused of", len(files))
    print("%d of %d hostile files were refused" % (refused, len(files)))


def main():
    if not os.path.exists(PROGRAM):
        print("test programs are not built here")
        return 77
    failed = 0
    for check in (bits, parted, damage, named, malice):
        try:
            check()
            print("ok      %s" % check.__name__)
        except Exception as error:  # noqa: BLE001
            print("FAILED  %s: %s: %s" % (check.__name__, type(error).__name__, error))
            failed += 1
    return 1 if failed else 0


sys.exit(main())
