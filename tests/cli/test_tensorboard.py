# SPDX-License-Identifier: Apache-2.0
# timeout: 120
"""What --log-dir leaves is read by TensorBoard's own reader: names, steps, values, histograms, graph."""

import dataclasses
import glob
import json
import os
import re

from cli import K, L, MODELS, save, save_arrays
from oracle import Failure, artel, table

EPOCHS = 3


@dataclasses.dataclass
class Row:
    name: str
    check: object  # (Logs) -> None
    args: tuple = ()
    model: str = "mlp"
    record: dict = None  # settings of a TensorBoard among the callbacks, in place of --log-dir
    refuse: str = None  # what is wrong with it


class Logs:
    def __init__(self, folder):
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

        self.folder, self.read = folder, {}
        for part in ("train", "validation"):
            self.read[part] = EventAccumulator(os.path.join(folder, "logs", part), size_guidance={"scalars": 0, "histograms": 0, "tensors": 0})
            self.read[part].Reload()
        with open(os.path.join(folder, "h.json")) as f:
            self.history = json.load(f)

    def scalars(self, part):
        """tag -> list of (step, value), from old and new style summaries."""
        import tensorboard.util.tensor_util as tensor_util

        acc, found = self.read[part], {}
        for tag in acc.Tags()["scalars"]:
            found[tag] = [(e.step, e.value) for e in acc.Scalars(tag)]
        for tag in acc.Tags()["tensors"]:
            if acc.SummaryMetadata(tag).plugin_data.plugin_name == "scalars":
                found[tag] = [(e.step, float(tensor_util.make_ndarray(e.tensor_proto))) for e in acc.Tensors(tag)]
        return found

    def histograms(self):
        acc = self.read["train"]
        return list(acc.Tags()["histograms"]) + [t for t in acc.Tags()["tensors"] if acc.SummaryMetadata(t).plugin_data.plugin_name == "histograms"]


def scalars(logs):
    """As Keras' callback: epoch_<name> by epoch, from 0, in train/ and validation/."""
    for part, prefix in (("train", ""), ("validation", "val_")):
        found = logs.scalars(part)
        for key in ("loss", "accuracy"):
            wanted = [(i, v) for i, v in enumerate(logs.history[prefix + key])]
            got = found.get("epoch_" + key)
            if got is None or [s for s, _ in got] != [s for s, _ in wanted] or any(abs(a - b) > 1e-6 for (_, a), (_, b) in zip(got, wanted)):
                raise Failure("%s/epoch_%s is %s, the history has %s (tags: %s)" % (part, key, got, wanted, sorted(found)))


def rates(logs):
    tags = sorted(logs.scalars("train"))
    for word in ("learning_rate", "steps_per_second"):
        if not any(word in t for t in tags):
            raise Failure("no scalar for %s among %s" % (word, tags))


def histograms(logs):
    tags = logs.histograms()
    for word in ("dense", "kernel"):
        if not any(word in t for t in tags):
            raise Failure("no histogram for %s among %s" % (word, tags))


def settings(logs):
    """Those of a record, with Keras' defaults."""
    found = logs.scalars("train")
    steps = [s for s, _ in found["batch_steps_per_second"]]
    if steps != [s for s, _ in found["batch_loss"]] or steps != list(range(4, EPOCHS * 10 + 1, 4)) or "keras" in logs.read["train"].Tags()["tensors"]:
        raise Failure("steps %s, tags %s" % (steps, logs.read["train"].Tags()))


def defaults(logs):
    tags = [*logs.scalars("train"), *logs.read["train"].Tags()["tensors"]]
    if "keras" not in tags or [t for t in tags if "per_second" in t or t.startswith("batch_")]:
        raise Failure("tags %s" % tags)


def page(logs, conceptual):
    """What the page "Graphs" is given: by TensorBoard's own plug-in, from the files, as TensorFlow's GraphDef."""
    from google.protobuf import text_format
    from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer
    from tensorboard.compat.proto import graph_pb2
    from tensorboard.context import RequestContext
    from tensorboard.plugins import base_plugin
    from tensorboard.plugins.graph import graphs_plugin

    runs = plugin_event_multiplexer.EventMultiplexer().AddRunsFromDirectory(os.path.join(logs.folder, "logs"))
    runs.Reload()
    plugin = graphs_plugin.GraphsPlugin(base_plugin.TBContext(logdir=logs.folder, data_provider=data_provider.MultiplexerDataProvider(runs, logs.folder)))
    info = plugin.info_impl(RequestContext(), "")["train"]
    if not info["run_graph"] or not info["tags"]["keras"]["conceptual_graph"]:
        raise Failure("the page offers %s" % info)
    text, _ = plugin.graph_impl(RequestContext(), "train", "keras" if conceptual else None, conceptual, "", None, None)
    return text_format.Parse(text, graph_pb2.GraphDef())


def plain(name):
    """The page takes letters, digits and _.-/ of ASCII, no mark in front."""
    clean = re.sub(rb"[^A-Za-z0-9_./-]", b"_", name.encode()).decode()
    return clean if clean[0].isalnum() else "x" + clean


def graph(logs):
    """Every node is made before it is read; between layers run the edges of the model, as Keras' own record has them."""
    import tensorflow as tf

    found, record, names = page(logs, False), page(logs, True), set()
    tf.compat.v1.GraphDef.FromString(found.SerializeToString())
    edges, layers = set(), set()
    for node in found.node:
        if node.name in names:
            raise Failure("two nodes %s" % node.name)
        if [n for n in node.input if n.split(":")[0] not in names]:
            raise Failure("%s reads %s" % (node.name, list(node.input)))
        if "_output_shapes" not in node.attr or not node.attr["T"].type:
            raise Failure("%s has no shape or no type" % node.name)
        names.add(node.name)
        layer = node.name.split("/")[0]
        layers.add(layer)
        edges |= {(i.split("/")[0], layer) for i in node.input} - {(layer, layer)}
    # Keras' record has the model's name in front. Layers that do nothing here leave no node: what reads them reads what they read.
    wanted = {plain(n.name.split("/")[-1]): [plain(i.split("/")[-1]) for i in n.input] for n in record.node}

    def sources(name):
        return {name} if name in layers else {s for i in wanted.get(name, []) for s in sources(i)}

    expected = {(s, name) for name, inputs in wanted.items() if name in layers for i in inputs for s in sources(i)}
    if edges != expected or len(layers) < 4:
        raise Failure("edges of operations that the model has not: %s; of the model that are missing: %s" % (edges - expected, expected - edges))


def not_empty(logs):
    for part in ("train", "validation"):
        if not glob.glob(os.path.join(logs.folder, "logs", part, "events.out.tfevents.*")):
            raise Failure("no event file in %s/" % part)


ROWS = [Row("files", not_empty), Row("scalars", scalars), Row("scalars-mirrored", scalars, ("--strategy", "mirrored", "--replicas", 3)),
        Row("record", settings, record={"update_freq": 4, "write_steps_per_second": True, "write_graph": False}),
        Row("record-defaults", defaults, record={"profile_batch": 0, "embeddings_freq": 0}), Row("no-images", None, record={"write_images": True}, refuse="write_images"),
        Row("no-profile", None, record={"profile_batch": [2, 4]}, refuse="profile_batch"), Row("unknown", None, record={"histogram": 1}, refuse="histogram"),
        Row("rates", rates), Row("histograms", histograms, ("--histogram-freq", 1))]
ROWS += [Row("graph-" + name, graph, model=name) for name in (*MODELS, "odd") if name != "many"]  # text comes from rows of data


def odd():
    """Names that the page refuses, a layer called twice, one that does nothing in training."""
    shared = L.Dense(4, name="größe & 1", activation="relu")
    first, second = K.Input((4,), name="a:b"), K.Input((4,), name="_c")
    x = L.Subtract(name="-")([shared(first), L.Identity(name="id")(shared(second))])
    m = K.Model([first, second], L.Dense(10, name="dense")(L.Dropout(0.5, name="dense_")(x)))
    m.compile("sgd", "sparse_categorical_crossentropy")
    return m


def run(row, index, folder, keras_only):
    model = save({**MODELS, "odd": odd}[row.model], os.path.join(folder, "m.keras"))
    data, more = "synthetic:32", "synthetic:16"
    if row.model == "mlp":
        data, more = save_arrays("mlp", os.path.join(folder, "d.npz"), 320), save_arrays("mlp", os.path.join(folder, "v.npz"), 100)
    import tensorboard  # noqa: F401  the reader must be there

    if keras_only:
        return [""]
    logs = os.path.join(folder, "logs")
    where = ("--log-dir", logs) if row.record is None else ("--callbacks", json.dumps([{"class_name": "TensorBoard", "config": {"log_dir": logs, **row.record}}]))
    ran = artel("fit", model, "--data", data, "--validation", more, "--epochs", EPOCHS, *where, "--history", os.path.join(folder, "h.json"), "--verbose", 0, *row.args)
    if row.refuse:
        if ran.rc != 1 or row.refuse not in ran.err or os.path.exists(logs):
            raise Failure("a refusal was due: exit %d (%s)" % (ran.rc, ran.first))
        return [""]
    if ran.rc != 0:
        raise Failure("fit: exit %d (%s)" % (ran.rc, ran.first))
    row.check(Logs(folder))
    return [""]


if __name__ == "__main__":
    table(ROWS, run, [""])
