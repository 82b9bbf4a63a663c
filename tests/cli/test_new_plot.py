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


TABLE = [Row(name, opens(name)) for name in KINDS] + [Row(f.__name__, f) for f in (refused, draws_models, draws_histories)]


def run(row, index, folder, keras_only):
    row.check(folder)
    return []


if __name__ == "__main__":
    table(TABLE, run, [])
