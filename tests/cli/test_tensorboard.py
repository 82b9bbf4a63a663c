# SPDX-License-Identifier: Apache-2.0
# timeout: 120
"""What --log-dir leaves is read by TensorBoard's own reader: names, steps, values, histograms, graph."""

import dataclasses
import glob
import json
import os

from cli import MODELS, save, save_arrays
from oracle import Failure, artel, table

EPOCHS = 3


@dataclasses.dataclass
class Row:
    name: str
    check: object  # (Logs) -> None
    args: tuple = ()


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


def graph(logs):
    acc = logs.read["train"]
    if not acc.Tags()["graph"] and not any("graph" in t or "keras" in t for t in acc.Tags()["tensors"]):
        raise Failure("no graph: %s" % acc.Tags())


def not_empty(logs):
    for part in ("train", "validation"):
        if not glob.glob(os.path.join(logs.folder, "logs", part, "events.out.tfevents.*")):
            raise Failure("no event file in %s/" % part)


ROWS = [Row("files", not_empty), Row("scalars", scalars), Row("scalars-mirrored", scalars, ("--strategy", "mirrored", "--replicas", 3)),
        Row("rates", rates), Row("histograms", histograms, ("--histogram-freq", 1)), Row("graph", graph)]


def run(row, index, folder, keras_only):
    model = save(MODELS["mlp"], os.path.join(folder, "m.keras"))
    data, more = save_arrays("mlp", os.path.join(folder, "d.npz"), 320), save_arrays("mlp", os.path.join(folder, "v.npz"), 100)
    import tensorboard  # noqa: F401  the reader must be there

    if keras_only:
        return [""]
    ran = artel("fit", model, "--data", data, "--validation", more, "--epochs", EPOCHS, "--log-dir", os.path.join(folder, "logs"), "--history",
                os.path.join(folder, "h.json"), "--verbose", 0, *row.args)
    if ran.rc != 0:
        raise Failure("fit: exit %d (%s)" % (ran.rc, ran.first))
    row.check(Logs(folder))
    return [""]


if __name__ == "__main__":
    table(ROWS, run, [""])
