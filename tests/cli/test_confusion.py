# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""artel evaluate --confusion counts as tf.math.confusion_matrix does, and its precision, recall and f1 are Keras' metrics by class."""

import csv
import os
import xml.dom.minidom

import numpy as np

from cli import K, L, Q, Row, expect
from oracle import artel, table

RNG = np.random.default_rng(5)


def write(folder, model, x, y):
    path, data = os.path.join(folder, "m.keras"), os.path.join(folder, "d.npz")
    model.save(path)
    np.savez(data, x=x, y=y)
    return path, "npz:" + data


def read(path):
    with open(path, newline="") as f:
        rows = list(csv.reader(f))
    classes = len(rows) - 1
    return rows[0][1:classes + 1], np.array([[int(v) for v in r[1:classes + 1]] for r in rows[1:]]), np.array([[float(v) for v in r[classes + 1:]] for r in rows[1:]])


def compare(folder, model, x, y, truth, found, *more):
    import tensorflow as tf
    path, data = write(folder, model, x, y)
    out, truth, found = os.path.join(folder, "c.csv"), np.asarray(truth, "i8"), np.asarray(found, "i8")
    ran = artel("evaluate", path, "--data", data, "--confusion", out, "--threads", 1, *more)
    expect(ran.rc == 0, ran.rc, ran.err)
    names, counts, report = read(out)
    wanted = tf.math.confusion_matrix(truth.ravel(), found.ravel(), len(counts)).numpy()
    expect(wanted.sum() > 0 and (counts == wanted).all(), "counts", counts, wanted)
    hot = [np.eye(len(counts), dtype="f4")[v.ravel()] for v in (truth, found)]
    f1 = K.metrics.F1Score(average=None)
    f1.update_state(*hot)
    expect(np.abs(report[:, 2] - f1.result()).max() < 1e-5, "f1", report, f1.result())
    for k in range(len(counts)):
        for column, metric in ((0, K.metrics.Precision(class_id=k)), (1, K.metrics.Recall(class_id=k))):
            metric.update_state(*hot)
            expect(abs(report[k, column] - float(metric.result())) < 1e-5, "of class", k, report[k], metric.result())
    expect((report[:, 3] == wanted.sum(1)).all(), "rows", report)
    return names, ran.out


def dense(shape, units, activation, loss, **kwargs):
    model = K.Sequential([K.Input(shape), L.Dense(units, activation)])
    model.compile("sgd", loss, **kwargs)
    return model


def by_index(folder):
    x, y = RNG.standard_normal((2100, 6)).astype("f4"), RNG.integers(0, 4, 2100)
    model = dense((6,), 5, "softmax", "sparse_categorical_crossentropy", metrics=["accuracy"])  # a class that no row has
    names, said = compare(folder, model, x, y, y, np.argmax(model(x), -1), "--labels", 'a,"b",c c,d,e', "--batch-size", 100)
    expect(names == ["a", '"b"', "c c", "d", "e"], names)
    accuracy = float(np.mean(np.argmax(model(x), -1) == y))
    expect("accuracy" in said and "%.4f" % accuracy in said.split("by rows")[1], "recall by rows is the accuracy", said, accuracy)


def one_hot(folder):
    x, y = RNG.standard_normal((50, 6)).astype("f4"), RNG.integers(0, 3, 50)
    model = dense((6,), 3, None, Q.CategoricalCrossentropy(from_logits=True))
    compare(folder, model, x, np.eye(3, dtype="f4")[y], y, np.argmax(model(x), -1))


def two_classes(folder):
    x, y = RNG.standard_normal((60, 6)).astype("f4"), RNG.integers(0, 2, 60)
    model = dense((6,), 1, "sigmoid", "binary_crossentropy")
    compare(folder, model, x, y, y, np.asarray(model(x))[:, 0] > 0.5)
    model = dense((6,), 1, None, Q.BinaryCrossentropy(from_logits=True))
    compare(folder, model, x, y.astype("f4"), y, np.asarray(model(x))[:, 0] > 0)
    model = dense((6,), 1, "tanh", "hinge")
    compare(folder, model, x, y * 2.0 - 1, y, np.asarray(model(x))[:, 0] > 0, "--replicas", 2, "--strategy", "mirrored")


def pixels(folder):
    x, y = RNG.standard_normal((9, 4, 5, 2)).astype("f4"), RNG.integers(0, 3, (9, 4, 5))
    model = dense((4, 5, 2), 3, "softmax", Q.SparseCategoricalCrossentropy(ignore_class=1))
    found, counted = np.argmax(model(x), -1), y != 1
    compare(folder, model, x, y, y[counted], found[counted])
    compare(folder, model, x, y, y[:4][counted[:4]], found[:4][counted[:4]], "--steps", 2, "--batch-size", 2)


def draws(folder):
    x, y = RNG.standard_normal((40, 6)).astype("f4"), RNG.integers(0, 3, 40)
    model, svg = dense((6,), 3, "softmax", "sparse_categorical_crossentropy"), os.path.join(folder, "c.svg")
    path, data = write(folder, model, x, y)
    ran = artel("evaluate", path, "--data", data, "--confusion", svg, "--labels", "<a>,&b,a name of many letters", "--json")
    expect(ran.rc == 0 and "precision" not in ran.out and ran.out.count("\n") == 1, "one event alone:", ran.out, ran.err)
    drawing = xml.dom.minidom.parse(svg)
    words = [t.firstChild.data for t in drawing.getElementsByTagName("text")]
    found = np.argmax(model(x), -1)
    counts = [int(((y == i) & (found == j)).sum()) for i in range(3) for j in range(3)]
    expect(len(drawing.getElementsByTagName("rect")) == 10 and words.count("<a>") == 2 and words.count("&b") == 2, words)
    expect(sorted(w for w in words if w.isdigit()) == sorted(str(c) for c in counts if c), "a number in each cell", words, counts)


def logits(folder):
    """Labels of a table are chosen as the confusion matrix chooses: of logits at 0."""
    x = RNG.standard_normal((40, 6)).astype("f4")
    y = (x[:, 0] > 0).astype("i4")
    path, data = write(folder, dense((6,), 1, None, K.losses.BinaryCrossentropy(from_logits=True)), x, y)
    table = os.path.join(folder, "p.csv")
    ran = artel("predict", path, "--data", data, "--output", table, "--labels", "no,yes")
    expect(ran.rc == 0, ran.err)
    rows = [line.split(",") for line in open(table).read().splitlines()[1:]]
    expect([r[0] for r in rows] == ["yes" if float(r[1]) > 0 else "no" for r in rows], rows)
    expect(any(0 < float(r[1]) < 0.5 for r in rows), "no number between both borders", rows)


def refused(folder):
    x, y = RNG.standard_normal((8, 6)).astype("f4"), RNG.integers(0, 3, 8)
    good = dense((6,), 3, "softmax", "sparse_categorical_crossentropy")
    numbers = dense((6,), 1, None, "mse")
    many = dense((6,), 3, "sigmoid", "binary_crossentropy")
    i = K.Input((6,))
    two = K.Model(i, [L.Dense(1, name="a")(i), L.Dense(1, name="b")(i)])
    two.compile("sgd", {"a": "mse"})
    svg = os.path.join(folder, "no.svg")
    for model, targets, more, text in ((good, y, ["--confusion", "c.png"], ".svg or .csv"), (good, y, ["--confusion", svg, "--labels", "a,b"], "3 classes"),
                                       (good, y, ["--labels", "a,b,c"], "--confusion"), (good, y, ["--confusion", "/nowhere/c.svg"], "nowhere"),
                                       (numbers, x[:, :1] + 0.3, ["--confusion", svg], "neither 0 nor 1"), (many, np.ones((8, 3), "f4"), ["--confusion", svg], "no single 1"),
                                       (good, y, ["--confusion", svg, "--checkpoint-dir", folder], "--confusion"), (two, x[:, :1], ["--confusion", svg], "2 outputs")):
        path, data = write(folder, model, x, targets)
        ran = artel("evaluate", path, "--data", data, *more)
        expect(ran.rc == 1 and text in ran.err, more, ran.rc, ran.err)
        expect(ran.out == "" or "a target" in ran.err, "refused before the pass", more, ran.out)
    expect(not os.path.exists(svg), "a file was left")


TABLE = [Row(f.__name__, f) for f in (by_index, one_hot, two_classes, pixels, draws, logits, refused)]


def run(row, index, folder, keras_only):
    row.check(folder)
    return []


if __name__ == "__main__":
    table(TABLE, run, [])
