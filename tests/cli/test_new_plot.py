# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""artel new writes models that Keras opens, predicts with and would save alike; artel plot draws every call and every metric, whatever the names."""

import json
import os
import xml.dom.minidom

import numpy as np

from cli import Row, expect, keras_module
from oracle import artel, table

KINDS = {"mlp": (["--input", "12"], (12,)), "mlp-image": (["--input", "6x6x2", "--classes", "1"], (6, 6, 2)),
         "cnn": (["--input", "12x10x3", "--width", "4"], (12, 10, 3)), "unet": (["--input", "16x16x1", "--classes", "3", "--width", "2", "--depth", "2"], (16, 16, 1)),
         "lstm": (["--input", "7x2", "--classes", "0", "--depth", "2", "--width", "5"], (7, 2)),
         "lstm-words": (["--input", "9", "--vocabulary", "30", "--width", "4"], (9,)),
         "transformer": (["--input", "8", "--vocabulary", "20", "--width", "8", "--classes", "2"], (8,)),
         "transformer-numbers": (["--input", "5x3", "--width", "8", "--depth", "1"], (5, 3))}


def opens(name):
    def run(folder):
        keras = keras_module()
        options, shape = KINDS[name]
        path = os.path.join(folder, name + ".keras")
        ran = artel("new", name.split("-")[0], *options, "-o", path)
        expect(ran.rc == 0 and path in ran.err, ran.rc, ran.err)
        model = keras.saving.load_model(path)
        expect(model.optimizer is not None and model.loss, "compile settings")
        rng = np.random.default_rng(1)
        x = rng.integers(0, 20, (10, *shape)) if "--vocabulary" in options else rng.standard_normal((10, *shape)).astype("f4")
        np.save(os.path.join(folder, name + ".npy"), x)
        out = os.path.join(folder, name + ".out.npy")
        ran = artel("predict", path, "--data", "npy:%s" % os.path.join(folder, name + ".npy"), "--output", out)
        expect(ran.rc == 0, ran.err)
        wanted, found = np.asarray(model.predict(x, verbose=0)), np.load(out)
        expect(wanted.shape == found.shape and np.abs(wanted - found).max() <= 1e-4 * max(1, np.abs(wanted).max()), name, np.abs(wanted - found).max())
        ran = artel("fit", path, "--data", "synthetic:32", "--verbose", 0, "--output", os.path.join(folder, "t.keras"))
        expect(ran.rc == 0, ran.err)
    return run


def refused(folder):
    for args, text in ((["cnnn", "--input", "1", "-o", "x.keras"], "nearest is cnn"), (["cnn", "--input", "28", "-o", "x.keras"], "HEIGHTxWIDTHxCHANNELS"),
                       (["cnn", "-o", "x.keras"], "--input"), (["mlp", "--input", "ax3", "-o", "x.keras"], "ax3"), (["mlp", "--input", "3"], "--output"),
                       (["unet", "--input", "20x20x1", "-o", "x.keras"], "--depth"), (["mlp", "--input", "3", "--vocabulary", "9", "-o", "x.keras"], "no words"),
                       (["lstm", "--input", "3x2", "--vocabulary", "9", "-o", "x.keras"], "--vocabulary STEPS"), (["mlp", "--input", "3", "-o", "/nowhere/x.keras"], "nowhere")):
        ran = artel("new", *args, cwd=folder)
        expect(ran.rc == 1 and text in ran.err, args, ran.rc, ran.err)
    expect(not os.path.exists(os.path.join(folder, "x.keras")), "a file was left")
    ran = artel("plot", "nothing/", cwd=folder)
    expect(ran.rc != 0 and "there is no such file or folder" in ran.err, ran.rc, ran.err)


def draws_models(folder):
    keras = keras_module()
    a = keras.Input((4,), name="first")
    shared = keras.layers.Dense(4, name="shared")
    b = shared(a)
    model = keras.Model(a, [keras.layers.Add(name="sum")([a, shared(b)]), keras.layers.Dense(1, name="odd_<&\">")(b)])
    path, svg = os.path.join(folder, "p.keras"), os.path.join(folder, "p.svg")
    model.save(path)
    ran = artel("plot", path, "--output", svg)
    expect(ran.rc == 0, ran.err)
    drawing = xml.dom.minidom.parse(svg)
    boxes, lines = drawing.getElementsByTagName("rect"), drawing.getElementsByTagName("line")
    expect(len(boxes) == 1 + 5 and len(lines) == 5, "boxes and lines:", len(boxes), len(lines))  # the background; one for each call
    words = [t.firstChild.data for t in drawing.getElementsByTagName("text")]
    expect(sum("shared (Dense)" in w for w in words) == 2 and any('odd_<&">' in w for w in words), words)
    places = [(float(b.getAttribute("x")), float(b.getAttribute("y"))) for b in boxes]
    expect(len(set(places)) == len(places), "boxes on one another", places)


def draws_logs(folder):
    """Logs of artel, of Keras' callback and of writers that know no tensors, resumed, cut off, damaged."""
    keras = keras_module()
    from tensorboard.compat.proto import event_pb2, summary_pb2
    from tensorboard.summary.writer.event_file_writer import EventFileWriter
    path, logs, theirs, plain = (os.path.join(folder, name) for name in ("l.keras", "logs", "theirs", "plain"))
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, name="d")])
    model.compile("sgd", "mse", metrics=["mae"])
    model.save(path)
    x, y = np.eye(3, dtype="f4"), np.ones((3, 2), "f4")
    np.savez(os.path.join(folder, "l.npz"), x=x, y=y)
    data = "npz:" + os.path.join(folder, "l.npz")
    ran = artel("fit", path, "--data", data, "--validation", data, "--epochs", 3, "--log-dir", logs, "--history", os.path.join(folder, "l.json"), "--verbose", 0)
    expect(ran.rc == 0, ran.err)
    theirs_history = model.fit(x, y, epochs=3, validation_data=(x, y), verbose=0, callbacks=[keras.callbacks.TensorBoard(os.path.join(theirs, "run"))]).history
    writer = EventFileWriter(plain)
    for step, value in ((5, 50.0), (1, 10.0), (3, 99.0), (3, 30.0)):  # out of order, and once more
        writer.add_event(event_pb2.Event(step=step, summary=summary_pb2.Summary(value=[summary_pb2.Summary.Value(tag="Loss/train", simple_value=value)])))
    writer.close()

    def shown(of):
        ran = artel("plot", of)
        expect(ran.rc == 0, ran.err)
        return {line.split()[0]: (float(line.split()[-3]), float(line.split()[-1])) for line in ran.out.splitlines()}

    def same(found, wanted, before=""):
        for key, values in wanted.items():
            val = "val_" if key.startswith("val_") else ""
            got = found[val + before + key[len(val):]]
            expect(np.allclose(got, (values[0], values[-1]), rtol=1e-3), key, got, values)

    with open(os.path.join(folder, "l.json")) as file:
        same(shown(logs), json.load(file))
    same(shown(theirs), theirs_history, "run/")
    expect(shown(plain) == {"Loss/train": (10.0, 50.0)}, shown(plain))
    svg = os.path.join(folder, "l.svg")
    expect(artel("plot", plain, "-o", svg).rc == 0 and xml.dom.minidom.parse(svg).getElementsByTagName("path")[0].getAttribute("d").count("L") == 2, "three points")
    events = os.path.join(plain, os.listdir(plain)[0])
    whole = open(events, "rb").read()
    with open(events, "wb") as file:  # as a writer at work leaves it
        file.write(whole[:-7])
    expect(shown(plain) == {"Loss/train": (10.0, 50.0)}, "cut off: 3 keeps the value before", shown(plain))
    with open(events, "wb") as file:
        file.write(whole[:-3] + bytes([whole[-3] ^ 1]) + whole[-2:])
    for of, words in ((plain, "is damaged"), (folder, "is damaged"), (os.path.join(logs, "validation"), None), (os.path.join(folder, "empty"), "no event file")):
        os.makedirs(of, exist_ok=True)
        ran = artel("plot", of)
        expect(ran.rc == (0 if words is None else 1) and (words or "") in ran.err, of, ran.rc, ran.err)


def draws_histories(folder):
    path, svg = os.path.join(folder, "h.json"), os.path.join(folder, "h.svg")
    with open(path, "w") as f:
        json.dump({"loss": [3.0, 2.0, 1.0], "val_loss": [3.5, None, 2.0], "acc<": [0.1, 0.2, float("nan")]}, f)
    ran = artel("plot", path, "--output", svg)
    expect(ran.rc == 0, ran.err)
    curves = xml.dom.minidom.parse(svg).getElementsByTagName("path")
    heights = [[float(p.split()[1]) for p in c.getAttribute("d").replace("L", "M").split("M")[1:]] for c in curves]
    expect(len(curves) == 3 and len(heights[0]) == 3 and heights[0][0] < heights[0][1] < heights[0][2], "the loss falls:", heights)
    expect(len(heights[1]) == 2 and len(heights[2]) == 2, "what is no number is left out:", heights)
    ran = artel("plot", path)
    expect(ran.rc == 0 and "loss" in ran.out and "3.0000 > 1.0000" in ran.out, ran.out, ran.err)
    for text, part in (("[1]", "model"), ("{}", "no list"), ('{"loss": 3}', "no list of numbers"), ("{", "h.json")):
        with open(path, "w") as f:
            f.write(text)
        ran = artel("plot", path, "--output", svg)
        expect(ran.rc == 1 and ran.err, text, part, ran.rc, ran.err)


TABLE = [Row(name, opens(name)) for name in KINDS] + [Row(f.__name__, f) for f in (refused, draws_models, draws_logs, draws_histories)]


def run(row, index, folder, keras_only):
    row.check(folder)
    return []


if __name__ == "__main__":
    table(TABLE, run, [])
