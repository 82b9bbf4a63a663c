# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""Inputs of strings through the command line: every format that holds text gives the same bits, as do any number of replicas, threads,
two workers and a run that is continued; what is no text, no known word or no string is refused with the record's number; devices see numbers; ONNX refuses by name."""

import json
import os
import struct

import numpy as np
from cli import Row, expect
from oracle import artel, digest, table
from support.checksum import masked_crc32c

N = 90
WORDS = ["red", "green", "blüe", "", "語", "no such", "42", "a \"quote\", and a comma"]
TEXTS = ["The cat sat.", "a CAT, the dog!", "", "naïve café", "dog dog dog", "語 of the cat"]


def tensor(name):
    return {"class_name": "__keras_tensor__", "config": {"shape": [None, 1], "dtype": "string", "keras_history": [name, 0, 0]}}


def layer(class_name, name, *inputs, **config):
    calls = [{"args": [[tensor(i) for i in inputs] if len(inputs) > 1 else tensor(inputs[0])], "kwargs": {}}] if inputs else []
    return {"module": "keras.layers", "class_name": class_name, "config": {"name": name, **config}, "registered_name": None, "name": name, "inbound_nodes": calls}


def model(**lookup):
    """A word, a text and a number; a cross of the word with a bin of the number; some of it behind another layer."""
    layers = [
        layer("InputLayer", "word", batch_shape=[None, 1], dtype="string"), layer("InputLayer", "text", batch_shape=[None, 1], dtype="string"),
        layer("InputLayer", "size", batch_shape=[None, 1], dtype="float32"),
        layer("StringLookup", "lookup", "word", vocabulary=["red", "green", "blüe", "語", "42"], output_mode="one_hot", **lookup),
        layer("TextVectorization", "vectors", "text", vocabulary=["the", "cat", "dog", "naïve"], output_sequence_length=4),
        layer("Embedding", "embedding", "vectors", input_dim=6, output_dim=5), layer("Flatten", "flat", "embedding"),
        layer("Discretization", "bins", "size", bin_boundaries=[-1, 0, 1]), layer("HashedCrossing", "cross", "word", "bins", num_bins=11, output_mode="one_hot"),
        layer("Dense", "first", "size", units=4, activation="tanh"), layer("Discretization", "later", "first", bin_boundaries=[-0.3, 0.2], output_mode="count"),
        layer("Concatenate", "all", "lookup", "flat", "cross", "first", "later"), layer("Dropout", "dropout", "all", rate=0.2),
        layer("Dense", "target", "dropout", units=1)]
    config = {"name": "m", "trainable": True, "layers": layers, "input_layers": [["word", 0, 0], ["text", 0, 0], ["size", 0, 0]], "output_layers": [["target", 0, 0]]}
    with open("model.json", "w", encoding="utf-8") as f:
        json.dump({"module": "keras", "class_name": "Functional", "config": config, "registered_name": "Functional", "compile_config": None}, f)
    return "model.json"


def rows(words=WORDS):
    rng = np.random.default_rng(3)
    return {"word": rng.choice(words, N), "text": rng.choice(TEXTS, N), "size": rng.normal(0, 1.5, N).astype("f4").round(2),
            "target": rng.normal(size=N).astype("f4").round(2)}


# ---- files
def npz(d, strings=lambda a: a, order="C"):
    two = {k: np.array(strings(a) if a.dtype.kind == "U" else a, order=order).reshape(N, 1) for k, a in d.items()}
    np.savez("d.npz", **two)
    return "npz:d.npz"


def csv(d):
    quoted = ['"%s"' % w.replace('"', '""') if '"' in w or i % 3 == 0 else w for i, w in enumerate(d["word"])]
    with open("d.csv", "w", encoding="utf-8", newline="") as f:
        f.write("size,text,unused,word,target\r\n")
        for i in range(N):
            f.write('%r,"%s",x y,%s,%r\r\n' % (float(d["size"][i]), d["text"][i], quoted[i], float(d["target"][i])))
    return "csv:d.csv#label=target"


def streamed(d):
    return csv(d) + "&columns=size,text,word&stream=yes"


def jsonl(d):
    with open("d.jsonl", "w", encoding="utf-8") as f:
        for i in range(N):
            f.write(json.dumps({k: a[i].item() if k in ("size", "target") else [str(a[i])] for k, a in d.items()}, ensure_ascii=i % 2 == 0) + "\n")
    return "jsonl:d.jsonl#label=target"


def masked(data):
    return struct.pack("<I", masked_crc32c(data))


def field(number, data):
    assert len(data) < 1 << 14
    size = bytes([len(data)]) if len(data) < 128 else bytes([len(data) & 127 | 128, len(data) >> 7])
    return bytes([number << 3 | 2]) + size + data


def tfrecord(d, encode=lambda text, i: text.encode()):
    with open("d.tfrecord", "wb") as f:
        for i in range(N):
            features = b""
            for k, a in d.items():
                value = field(1, field(1, encode(a[i], i))) if a.dtype.kind == "U" else field(2, field(1, struct.pack("<f", a[i])))
                features += field(1, field(1, k.encode()) + field(2, value))
            record = field(1, features)
            head = struct.pack("<Q", len(record))
            f.write(head + masked(head) + record + masked(record))
    with open("f.json", "w") as f:
        spec = {k: {"dtype": "bytes", "decode": "string", "shape": [1]} if a.dtype.kind == "U" else {"dtype": "float32", "shape": [1]} for k, a in d.items()}
        json.dump({**spec, "target": {**spec["target"], "role": "y"}}, f)
    return "tfrecord:d.tfrecord#features=f.json"


# ---- runs
def fit(data, *flags, program=()):
    args = ["fit", "model.json", "--data", data, "--loss", "mse", "--optimizer", "adam:learning_rate=0.01", "--epochs", 2, "--batch-size", 16, "--shards", 8,
            "--seed", 5, "--output", "out.keras", "--verbose", 0, *flags]
    ran = artel(*program, *args)
    expect(ran.rc == 0, "fit %s %s: exit %d (%s)" % (data, flags, ran.rc, ran.err[-400:]))
    return digest("out.keras", kind="all")


def formats():
    d = rows()
    model()
    first = fit(npz(d), "--strategy", "one-device")
    expect(fit(npz(rows([w for w in WORDS if w != "red"]))) != first, "other words, the same result")
    for name, make in [("bytes", lambda: npz(d, lambda a: np.char.encode(a, "utf-8"))), ("big-endian", lambda: npz(d, lambda a: a.astype(a.dtype.newbyteorder(">")))),
                       ("fortran", lambda: npz(d, order="F")), ("csv", lambda: csv(d)), ("streamed", lambda: streamed(d)), ("jsonl", lambda: jsonl(d)), ("tfrecord", lambda: tfrecord(d))]:
        expect(fit(make()) == first, "%s: other bits" % name)
    ran = artel("evaluate", "out.keras", "--data", csv(d), "--loss", "mse")
    expect(ran.rc == 0, "evaluate:", ran.err)
    answers = []
    for spec in (npz(d), csv(d), streamed(d), tfrecord(d)):
        ran = artel("predict", "out.keras", "--data", spec, "--output", "p.npy", "--batch-size", 32)
        expect(ran.rc == 0, "predict:", ran.err)
        answers.append(np.load("p.npy").tobytes())
    expect(len(set(answers)) == 1, "predictions differ")


def replicas():
    model()
    data = tfrecord(rows())
    first = fit(data, "--strategy", "one-device", "--threads", 1)
    for spec in (data, csv(rows()), streamed(rows())):
        for count in (2, 3):
            for threads in (count, 2 * count):
                expect(fit(spec, "--strategy", "mirrored", "--replicas", count, "--threads", threads) == first, "%d replicas: other bits" % count)
    fit(data, "--epochs", 1, "--checkpoint-dir", "kept")
    expect(fit(data, "--checkpoint-dir", "kept", "--replicas", 2) == first, "continued: other bits")
    expect(fit(data, "--strategy", "multi-worker", program=("launch", "-n", 2)) == first, "two workers: other bits")


def refused(words, *args):
    ran = artel(*args)
    expect(ran.rc == 1 and all(w in ran.err for w in words), "not refused with %s: exit %d, %s" % (words, ran.rc, ran.err))


def predict(data):
    return ("predict", "model.json", "--data", data, "--output", "p.npy")


def refusals():
    d = rows()
    model()
    bad = tfrecord(d, lambda text, i: b"ab\xff" if i in (77, 41) else text.encode())
    refused(["record 41", "byte 2", "UTF-8"], *predict(bad), "--batch-size", N)
    two = {k: a.reshape(N, 1) for k, a in d.items()}
    np.savez("n.npz", **{**two, "word": np.arange(N).reshape(N, 1)})
    refused(["'word'", "int64", "takes strings"], *predict("npz:n.npz"))
    np.savez("s.npz", **{**two, "size": two["word"]})
    refused(["'size'", "strings", "numbers"], *predict("npz:s.npz"))
    np.savez("w.npz", **{**two, "text": np.concatenate([two["text"]] * 2, 1)})
    refused(["'text'", "(None, 2)"], *predict("npz:w.npz"))
    model(num_oov_indices=0)
    refused(["record", "lookup", "is not in the vocabulary"], *predict(npz(d)))


def words_of_tools():
    model()
    fit(csv(rows()))
    ran = artel("summary", "model.json")
    expect(ran.rc == 0 and "TextVectorization" in ran.out, "summary:", ran.err)
    ran = artel("inspect", "model.json")
    expect(ran.rc == 0 and "word: string (None, 1)" in ran.out, "inspect:", ran.out, ran.err)
    expect(fit("synthetic:40") == fit("synthetic:40", "--replicas", 3), "made-up strings: other bits")
    ran = artel("check", "out.keras", "--data", csv(rows()))
    expect(ran.rc == 0 and "string" in ran.out + ran.err, "check:", ran.out, ran.err)
    refused(["ONNX export does not know", "StringLookup"], "convert", "out.keras", "out.onnx")


def devices():
    """The program that a device computes knows no strings: it gets what the host has made of them. Behind another layer bins are its own."""
    model()
    data = npz(rows())
    ran = artel("devices")
    if "cpu:" not in ran.out.replace("cpu  ", ""):  # no plug-in
        return
    losses = []
    for flags in ((), ("--device", "cpu:xla")):
        fit(data, "--history", "h.json", *flags)
        with open("h.json") as f:
            losses.append(json.load(f)["loss"])
    expect(np.allclose(losses[0], losses[1], rtol=2e-4), "device: other losses", losses)


ROWS = [Row("formats", formats), Row("replicas", replicas), Row("refusals", refusals), Row("tools", words_of_tools), Row("devices", devices)]


def run(row, index, folder, keras_only):
    os.chdir(folder)
    row.check()
    return []


if __name__ == "__main__":
    table(ROWS, run, [])
