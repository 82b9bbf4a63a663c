# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""Event files beside Keras' own: the same calls, the same bytes; and TensorBoard's reader reads ours.

A tiny model is trained with keras.callbacks.TensorBoard and a callback that notes what happened; prog_observe is told
the same. Then every event of both is compared byte for byte, times and measured rates excepted, and the graph of operations, which is
of artel's own (tests/cli/test_tensorboard.py).
"""
import glob
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

BUILD = os.environ["ARTEL_BUILD"]
PROGRAM = os.path.join(BUILD, "tests", "observe", "prog_observe")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

try:
    import keras
    import numpy as np
    from tensorboard.backend.event_processing import event_accumulator
    from tensorboard.compat.proto import event_pb2
    from tensorboard.plugins.graph import keras_util
    from tensorboard.util import tensor_util
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

failures = []


def check(condition, text):
    if not condition:
        failures.append(text)
        print("FAILED:", text)


def artel(document):
    subprocess.run([PROGRAM, "tensorboard"], input=json.dumps(document).encode(), check=True)


class Notes(keras.callbacks.Callback):
    """What prog_observe is to be told. Runs before TensorBoard's callback, so weights are noted where that logs them."""

    def __init__(self, histogram_freq):
        super().__init__()
        self.calls, self.step, self.histogram_freq = [], 0, histogram_freq

    def on_train_begin(self, logs=None):
        self.calls.append({"call": "graph", "json": self.model.to_json()})

    def on_train_batch_end(self, batch, logs=None):
        self.step += 1
        self.calls.append({"call": "batch_end", "step": self.step, "seconds": 0.5, "logs": {k: float(v) for k, v in logs.items()}})

    def on_test_end(self, logs=None):
        iterations = int(self.model.optimizer.iterations.numpy())
        self.calls.append({"call": "test_end", "iterations": iterations, "logs": {k: float(v) for k, v in logs.items()}})

    def on_epoch_end(self, epoch, logs=None):
        rate = float(keras.ops.convert_to_numpy(self.model.optimizer.learning_rate))
        self.calls.append({"call": "epoch_end", "epoch": epoch, "learning_rate": rate, "steps_per_second": 2.0,
                           "logs": {k: float(v) for k, v in logs.items()}})
        if self.histogram_freq and epoch % self.histogram_freq == 0:
            for layer in self.model.layers:
                for weight in layer.weights:
                    values = [float(v) for v in np.asarray(weight).ravel()]
                    self.calls.append({"call": "weight", "epoch": epoch, "path": weight.path, "values": values})


def events_of(directory):
    """[(bytes after the time, parsed)] of the only file of a run; checks its name."""
    files = glob.glob(os.path.join(directory, "*"))
    check(len(files) == 1, f"{directory}: {len(files)} files")
    data, at, out = open(files[0], "rb").read(), 0, []
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        record = data[at + 12 : at + 12 + length]
        check(record[0] == 9, f"{files[0]}: an event does not begin with its time")
        out.append((record[9:], event_pb2.Event.FromString(record)))
        at += 16 + length
    return out, os.path.basename(files[0])


MEASURED = ("batch_steps_per_second", "epoch_steps_per_second")


def compare_runs(theirs, ours):
    (expected, their_name), (found, our_name) = events_of(theirs), events_of(ours)
    for name in (their_name, our_name):
        check(re.fullmatch(r"events\.out\.tfevents\.\d{10}\..+\.\d+\.\d\.v2", name), f"{name}: an unusual name")
    check(found[0][1].file_version == "brain.Event:2", "the first event is no version")
    expected = [e for e in expected[1:] if not e[1].HasField("graph_def")]
    found = found[1:]
    check(len(expected) == len(found), f"{ours}: {len(found)} events, Keras wrote {len(expected)}")
    for (want, want_event), (have, have_event) in zip(expected, found):
        a, b = want_event.summary.value[0], have_event.summary.value[0]
        where = f"{ours}: {a.tag} at {want_event.step}"
        if a.tag in MEASURED:
            a.tensor.tensor_content = b.tensor.tensor_content
            check(a == b and want_event.step == have_event.step, where)
        elif a.metadata.plugin_data.plugin_name == "histograms":
            x, y = tensor_util.make_ndarray(a.tensor), tensor_util.make_ndarray(b.tensor)
            check(x.shape == y.shape and (x[:, 2] == y[:, 2]).all() and np.allclose(x, y, rtol=1e-12, atol=1e-15), where)
            a.tensor.tensor_content = b.tensor.tensor_content
            check(a == b and want_event.step == have_event.step, where)
        else:
            check(want == have, f"{where}: bytes differ: {want.hex()[:200]} {have.hex()[:200]}")
    return len(found)


def compare_with_keras(scratch, name, model, update_freq, **options):
    rng = np.random.default_rng(0)
    x = rng.random((40, 4), dtype=np.float32)
    y = rng.random((40, 2), dtype=np.float32)
    model.compile(keras.optimizers.Adam(1e-2), "mse", metrics=["mae"])
    notes = Notes(options["histogram_freq"])
    theirs, ours = os.path.join(scratch, name + "-keras"), os.path.join(scratch, name + "-artel")
    # With update_freq n Keras also leaves out what comes at the end of an epoch or an evaluation, unless n divides the
    # count of batches then (6 and 4 an epoch here); artel always writes it.
    board = keras.callbacks.TensorBoard(theirs, update_freq=update_freq, write_graph=True, **options)
    model.fit(x, y, batch_size=4, epochs=3, validation_split=0.4, callbacks=[notes, board], verbose=0)
    frequency = {"epoch": 0, "batch": 1}.get(update_freq, update_freq)
    artel({"log_dir": ours, "update_freq": frequency, "write_graph": True, "calls": notes.calls, **options})
    count = sum(compare_runs(os.path.join(theirs, run), os.path.join(ours, run)) for run in ("train", "validation"))
    print(f"{name}: {count} events like Keras'")
    return ours


def read_with_tensorboard(ours, model):
    train = event_accumulator.EventAccumulator(os.path.join(ours, "train"), size_guidance={"tensors": 0})
    train.Reload()
    tags = set(train.Tags()["tensors"])
    check({"keras", "epoch_loss", "epoch_mae", "epoch_learning_rate"} <= tags, f"tags of train: {sorted(tags)}")
    check(train.GetSourceWriter() == "artel", "TensorBoard does not name artel as the writer")
    content = train.SummaryMetadata("keras").plugin_data
    check((content.plugin_name, content.content) == ("graph_keras_model", b"1"), f"the graph's plug-in: {content}")
    graph = tensor_util.make_ndarray(train.Tensors("keras")[0].tensor_proto).item()
    nodes = keras_util.keras_model_to_graph_def(json.loads(graph)).node
    check(len(nodes) >= len(model.layers), f"TensorBoard draws {len(nodes)} nodes")
    check([e.step for e in train.Tensors("epoch_loss")] == [0, 1, 2], "steps of epoch_loss")
    check(train.SummaryMetadata("epoch_loss").plugin_data.plugin_name == "scalars", "epoch_loss is no scalar")


def write_text_and_edges(scratch):
    """What the callback of Keras does not write."""
    ours = os.path.join(scratch, "edges")
    big = (2**40, -1)
    artel({"log_dir": ours, "calls": [
        {"call": "text", "tag": "note", "step": 5, "text": "**größe**\n\n| a | b |"},
        {"call": "weight", "epoch": 0, "path": "a:b/empty", "values": []},
        {"call": "weight", "epoch": 0, "path": "equal", "values": [2.0] * 7},
        {"call": "test_end", "iterations": big[0], "logs": {"loss": float("nan")}},
    ]})
    train = event_accumulator.EventAccumulator(os.path.join(ours, "train"))
    train.Reload()
    text = train.Tensors("note")[0]
    check(tensor_util.make_ndarray(text.tensor_proto).item().decode() == "**größe**\n\n| a | b |", "text")
    check(train.SummaryMetadata("note").plugin_data.plugin_name == "text", "the text's plug-in")
    from tensorboard.plugins.histogram import summary_v2

    for tag, data in (("a_b/empty/histogram", []), ("equal/histogram", [2.0] * 7)):
        want = tensor_util.make_ndarray(summary_v2.histogram_pb(tag, data).value[0].tensor)
        have = tensor_util.make_ndarray(train.Tensors(tag)[0].tensor_proto)
        check(np.array_equal(want, have), f"{tag}: {have}")
    validation = event_accumulator.EventAccumulator(os.path.join(ours, "validation"))
    validation.Reload()
    point = validation.Tensors("evaluation_loss_vs_iterations")[0]
    check(point.step == big[0] and np.isnan(tensor_util.make_ndarray(point.tensor_proto)), "a large step, a NaN")


def main():
    keras.utils.set_random_seed(1)
    layers = keras.layers
    small = keras.Sequential([keras.Input((4,)), layers.Dense(3, activation="relu", name="d1"), layers.Dense(2)], name="tiny")
    given = keras.Input((4,), name="given")
    hidden = layers.Dense(5, name="hid-den")(given)
    functional = keras.Model(given, layers.Dense(2)(layers.BatchNormalization()(hidden)), name="func")
    with tempfile.TemporaryDirectory() as scratch:
        ours = compare_with_keras(scratch, "sequential", small, "epoch", histogram_freq=1, write_steps_per_second=True)
        read_with_tensorboard(ours, small)
        compare_with_keras(scratch, "functional", functional, 2, histogram_freq=2, write_steps_per_second=True)
        write_text_and_edges(scratch)
    print("ok" if not failures else f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
