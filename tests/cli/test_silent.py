# SPDX-License-Identifier: Apache-2.0
# timeout: 120
"""Nothing is wrong in silence: what would train something else than was meant is refused by name, or said before the first step.

Models are JSON text made here, so that no Keras is needed.
"""

import dataclasses
import json
import os
import zipfile

import numpy as np
from cli import Failure
from oracle import artel, table

RNG = np.random.default_rng(3)


@dataclasses.dataclass
class Row:
    name: str
    args: object  # Bench -> words of the command
    says: tuple = ()  # in what it prints
    rc: int = 1
    never: tuple = ()


def record(layers, name="m"):
    return {"class_name": "Sequential", "config": {"name": name, "layers": layers}}


def layer(class_name, name, **config):
    return {"class_name": class_name, "config": {"name": name, **config}}


def source(shape, name="x"):
    return layer("InputLayer", name, batch_shape=[None, *shape], dtype="float32")


def node(name, index=0):
    return {"class_name": "__keras_tensor__", "config": {"shape": [None, 4], "dtype": "float32", "keras_history": [name, 0, index]}}


def misspelt(layer_record, on=1, /, **kwargs):
    """A call of it with these keywords."""
    made = functional([(source([4]), ()), (layer_record, ("x",))], ["x"], [layer_record["config"]["name"]])
    made["config"]["layers"][1]["inbound_nodes"] = [{"args": [node("x")] * on, "kwargs": kwargs}]
    return made


def functional(layers, inputs, outputs, class_name="Functional"):
    """`layers`: (record, names of what it is called on)."""
    made = [{**r, "name": r["config"]["name"], "inbound_nodes": [{"args": [node(n) for n in on], "kwargs": {}}] if on else []} for r, on in layers]
    return {"class_name": class_name, "config": {"name": "m", "layers": made, "input_layers": [[n, 0, 0] for n in inputs],
                                                 "output_layers": [[n, 0, 0] for n in outputs]}}


class Bench:
    def __init__(self, folder):
        self.folder = folder

    def __call__(self, name):
        return os.path.join(self.folder, name)

    def model(self, made):
        with open(self("model.json"), "w") as f:
            json.dump(made, f)
        return self("model.json")

    def data(self, **arrays):
        np.savez(self("d.npz"), **arrays)
        return "npz:" + self("d.npz")

    def fit(self, made, arrays, *more, loss="sparse_categorical_crossentropy", output=True):
        out = ["--output", self("out.keras")] if output else []
        return ["fit", self.model(made), "--data", self.data(**arrays), "--optimizer", "sgd", "--loss", loss, "--verbose", 0, *out, *more]

    def dense(self, *more, y=None, loss="sparse_categorical_crossentropy", units=3, output=True):
        y = RNG.integers(0, 3, 20) if y is None else y
        return self.fit(record([source([4]), layer("Dense", "d", units=units, activation="softmax" if units > 1 else "sigmoid")]),
                        {"x": RNG.standard_normal((20, 4)), "y": y}, *more, loss=loss, output=output)

    def pixels(self, *more):
        made = record([source([2, 2, 4]), layer("Dense", "d", units=3, activation="softmax")])
        return self.fit(made, {"x": RNG.standard_normal((20, 2, 2, 4)), "y": RNG.integers(0, 3, (20, 2, 2))}, *more)

    def tokens(self, *more):
        made = record([source([5, 4]), layer("Dense", "d", units=3, activation="softmax")])
        return self.fit(made, {"x": RNG.standard_normal((20, 5, 4)), "y": RNG.integers(0, 3, (20, 5))}, *more)

    def two(self, *more):
        made = functional([(source([4]), ()), (layer("Dense", "a", units=3, activation="softmax"), ("x",)),
                           (layer("Dense", "b", units=3, activation="softmax"), ("x",))], ["x"], ["a", "b"])
        return self.fit(made, {"x": RNG.standard_normal((20, 4)), "a": RNG.integers(0, 3, 20), "b": RNG.integers(0, 3, 20)}, *more)

    def mine(self, command, *more):
        made = functional([(source([4]), ()), (layer("Dense", "d", units=1), ("x",))], ["x"], ["d"], "CustomModel")
        arrays = {"x": RNG.standard_normal((20, 4)), "y": RNG.standard_normal((20, 1))}
        if command == "fit":
            return self.fit(made, arrays, *more, loss="mse")
        return [command, self.model(made), *([] if command == "check" else ["--data", self.data(**arrays)]), *more]

    def chain(self, *more, class_name="CustomChain"):
        made = {**record([source([4]), layer("Dense", "d", units=1)]), "class_name": class_name}
        return self.fit(made, {"x": RNG.standard_normal((20, 4)), "y": RNG.standard_normal((20, 1))}, *more, loss="mse")

    def pass_over(self, command, *more):
        model, data = self.model(record([source([4]), layer("Dense", "d", units=1)])), self.data(x=RNG.standard_normal((20, 4)), y=np.ones((20, 1)))
        return [command, model, "--data", data, *(["--loss", "mse"] if command == "evaluate" else []), *more]

    def weighted(self, name, names=""):
        arrays = {"x": RNG.standard_normal((20, 4)), "y": np.ones((20, 1)), name: np.ones(20)}
        words = self.fit(record([source([4]), layer("Dense", "d", units=1)]), arrays, loss="mse")
        words[3] += names
        return words

    def compiled(self, settings):
        model = self.model({**record([source([4]), layer("Dense", "d", units=1)]), "compile_config": settings})
        return ["fit", model, "--data", self.data(x=RNG.standard_normal((20, 4)), y=np.ones((20, 1))), "--verbose", 0, "--output", self("out.keras")]

    def scaled(self, command, options, layers, *more):
        made = record([source([4]), *layers, layer("Dense", "d", units=1)])
        words = self.fit(made, {"x": RNG.integers(0, 255, (20, 4)).astype("u1"), "y": RNG.standard_normal((20, 1))}, loss="mse")
        words[3] += options
        return words if command == "fit" else [command, words[1], "--data", words[3], *more]


RESCALING = layer("Rescaling", "re", scale=1 / 255, offset=0.0)
TWICE = ("scaled twice", "#scale=1/255", '"re"')
HALF = np.where(np.arange(20) == 13, 0.37, 1.0)

ONES, FOUR = ({"x": RNG.standard_normal((20, 4)), "y": np.ones((20, n))} for n in (1, 4))

ROWS = [
    # class weights: one number a record, of a class that there is
    Row("class-weight", lambda b: b.dense("--class-weight", '{"0": 2, "2": 0.5}'), rc=0),
    Row("class-weight-pixels", lambda b: b.pixels("--class-weight", '{"0": 2}'), ("--class-weight", "4 labels")),
    Row("class-weight-tokens", lambda b: b.tokens("--class-weight", '{"0": 2}'), ("--class-weight", "5 labels")),
    Row("class-weight-outputs", lambda b: b.two("--class-weight", '{"0": 2}'), ("--class-weight", "one output", "has 2")),
    Row("class-weight-no-such-class", lambda b: b.dense("--class-weight", '{"0": 2, "3": 5}'), ("no class 3", "has 3, from 0 on")),
    Row("class-weight-no-such-bit", lambda b: b.dense("--class-weight", '{"2": 5}', y=np.arange(20) % 2, units=1, loss="binary_crossentropy"),
        ("no class 2",)),
    Row("class-weight-bit", lambda b: b.dense("--class-weight", '{"1": 5}', y=np.arange(20) % 2, units=1, loss="binary_crossentropy"), rc=0),
    Row("class-weight-fraction", lambda b: b.dense("--class-weight", '{"1": 5}', "--no-shuffle", y=HALF, units=1, loss="binary_crossentropy"),
        ("--class-weight", "record 13", "0.37")),
    # labels that name no class
    Row("label-fraction", lambda b: b.dense("--no-shuffle", y=HALF), ("record 13", "0.37", "no class number", "'y'")),
    Row("label-whole-float", lambda b: b.dense(y=np.float32(np.arange(20) % 3)), rc=0),
    # keywords of a call
    Row("call-keyword", lambda b: b.fit(misspelt(layer("Dense", "d", units=1), trainning=False), ONES, loss="mse"), ("layer \"d\"", "'trainning'")),
    Row("call-keyword-of-another", lambda b: b.fit(misspelt(layer("Dropout", "drop", rate=0.5), use_causal_mask=True), FOUR, loss="mse"), ("drop", "'use_causal_mask'")),
    Row("call-keyword-of-nothing", lambda b: b.fit(misspelt(layer("Dense", "d", units=1), trainning=None, training=True), ONES, loss="mse"), (), 0),
    Row("call-keyword-tensor", lambda b: b.fit(misspelt(layer("Add", "a"), mas=node("x")), FOUR, loss="mse"), ("'mas'",)),
    Row("call-by-keyword", lambda b: b.fit(misspelt(layer("Dense", "d", units=1), 0, inputs=node("x")), ONES, loss="mse"), (), 0),
    Row("call-keyword-operation", lambda b: b.fit(misspelt({**layer("Sum", "sum", axis=-1, keepdims=True), "module": "keras.src.ops.numpy"}, keepdim=True), ONES, loss="mse"), ("'keepdim'",)),
    # a class of the user's own
    Row("own-class", lambda b: b.mine("fit"), ("CustomModel", "train_step", "--standard-step")),
    Row("own-class-standard-step", lambda b: b.mine("fit", "--standard-step"), ("CustomModel", "standard step"), 0),
    Row("own-class-predict", lambda b: b.mine("predict", "--output", b("p.npy")), ("CustomModel", "predict_step"), 0),
    Row("own-class-check", lambda b: b.mine("check"), ("CustomModel", "--standard-step"), 0),
    Row("own-class-of-sequential", lambda b: b.chain(), ("CustomChain", "train_step", "--standard-step")),
    Row("own-class-of-sequential-standard-step", lambda b: b.chain("--standard-step"), ("CustomChain", "standard step"), 0),
    Row("functional-without-ends", lambda b: b.chain(class_name="Functional"), ("input_layers",)),
    Row("own-dense", lambda b: b.fit(record([source([4]), {**layer("Dense", "d", units=1), "module": None, "registered_name": "pkg>Dense"}]),
                                     {"x": RNG.standard_normal((20, 4)), "y": RNG.standard_normal((20, 1))}, loss="mse"), ("Dense is not supported",)),
    Row("own-regulariser", lambda b: b.fit(record([source([4]), layer("Dense", "d", units=1, kernel_regularizer={
        "class_name": "L2", "module": None, "registered_name": "pkg>L2", "config": {"l2": 0.5}})]),
        {"x": RNG.standard_normal((20, 4)), "y": RNG.standard_normal((20, 1))}, loss="mse"), ("L2 is Python code of yours",)),
    # scaled by the data and by the model
    Row("scaled-twice", lambda b: b.scaled("fit", "#scale=1/255", [RESCALING]), TWICE, 0),
    Row("scaled-twice-behind", lambda b: b.scaled("fit", "#scale=1/255", [layer("Dropout", "drop", rate=0.5), RESCALING]), TWICE, 0),
    Row("scaled-twice-predict", lambda b: b.scaled("predict", "#scale=1/255", [RESCALING], "--output", b("p.npy")), TWICE, 0),
    Row("scaled-twice-nested", lambda b: b.scaled("fit", "#scale=1/255", [record([source([4], "in"), RESCALING], "inner")]), TWICE, 0),
    Row("scaled-once", lambda b: b.scaled("fit", "#scale=1/255", []), (), 0, ("scaled twice",)),
    Row("scaled-by-model", lambda b: b.scaled("fit", "", [RESCALING]), (), 0, ("scaled twice", "0..255")),
    Row("scaled-to-nothing", lambda b: b.scaled("fit", "#scale=0/255", []), ("scale", "0/255 makes all values the same")),
    Row("scaled-later", lambda b: b.scaled("fit", "#scale=1/255", [layer("Dense", "e", units=4), RESCALING]), (), 0, ("scaled twice",)),
    # what is drawn, chosen or left out without being asked for
    Row("drawn-weights", lambda b: b.pass_over("evaluate"), ("warning", "model.json holds no weights", "seed 0"), 0),
    Row("drawn-weights-predict", lambda b: b.pass_over("predict", "--output", b("p.npy")), ("model.json holds no weights",), 0),
    Row("drawn-weights-convert", lambda b: ["convert", b.pass_over("")[1], b("c.keras"), "--seed", 7], ("holds no weights", "--seed 7"), 0),
    Row("no-optimizer-named", lambda b: b.compiled({"loss": "mse"}), ("name no optimizer", "RMSprop"), 0),
    Row("optimizer-named", lambda b: b.compiled({"loss": "mse", "optimizer": "sgd"}), (), 0, ("RMSprop",)),
    Row("nothing-trains", lambda b: b.dense("--freeze", "*"), ("warning", "any trainable weights"), 0),
    Row("something-trains", lambda b: b.dense(), (), 0, ("trainable",)),
    Row("rate-of-nothing", lambda b: b.dense("--learning-rate", 0), ("--learning-rate", "a rate of 0 changes no weight", "learning_rate=0")),
    Row("rate-of-nothing-by-optimizer", lambda b: b.dense("--optimizer", "sgd:learning_rate=0"), (), 0),
    Row("groups-of-nothing", lambda b: b.dense("--batch-norm", "groups:2"), ("--batch-norm does nothing", "no BatchNormalization"), 0),
    Row("groups-of-something", lambda b: b.fit(record([source([4]), layer("BatchNormalization", "n"), layer("Dense", "d", units=1)]), {
        "x": RNG.standard_normal((20, 4)), "y": np.ones((20, 1))}, "--batch-norm", "groups:2", loss="mse"), (), 0, ("does nothing",)),
    Row("steps-beyond", lambda b: b.pass_over("evaluate", "--steps", 9), ("ends after 1 of 9 steps",), 0),
    Row("steps-without-batch", lambda b: b.dense("--steps-per-epoch", 1), ("--batch-size is 32",), 0),
    Row("steps-with-batch", lambda b: b.dense("--steps-per-epoch", 1, "--batch-size", 4), (), 0, ("--batch-size is",)),
    Row("steps-within", lambda b: b.pass_over("evaluate", "--steps", 1), (), 0, ("ends after",)),
    Row("validation-steps-beyond", lambda b: b.dense("--validation-split", 0.5, "--validation-steps", 9), ("validation ends after 1 of 9 steps",), 0),
    Row("validation-steps-within", lambda b: b.dense("--validation-split", 0.5, "--validation-steps", 1), (), 0, ("ends after",)),
    Row("validation-never", lambda b: b.dense("--validation-split", 0.5, "--validation-freq", 9, "--epochs", 5),
        ("no validation will take place: --validation-freq names none of the epochs 1 to 5",), 0),
    Row("validation-never-of-a-list", lambda b: b.dense("--validation-split", 0.5, "--validation-freq", "1,6", "--epochs", 5, "--initial-epoch", 3),
        ("no validation will take place: --validation-freq names none of the epochs 4 to 5",), 0),
    Row("validation-once", lambda b: b.dense("--validation-split", 0.5, "--validation-freq", 5, "--epochs", 5), (), 0, ("no validation",)),
    Row("categorical-of-one", lambda b: b.dense(y=np.ones((20, 1)), units=1, loss="categorical_crossentropy"), ("warning", "two classes take binary_crossentropy"), 0),
    Row("softmax-of-one", lambda b: b.fit(record([source([4]), layer("Dense", "d", units=1, activation="softmax")]), {
        "x": RNG.standard_normal((20, 4)), "y": np.ones((20, 1))}, loss="mse"), ("warning", "layer d: the softmax of one number"), 0),
    Row("categorical-of-three", lambda b: b.dense(y=np.eye(3)[np.arange(20) % 3], loss="categorical_crossentropy"), (), 0, ("two classes",)),
    # arrays that are meant for weights
    Row("weights-misnamed", lambda b: b.weighted("sample_weights"), ("warning", "'sample_weights' is not used", "'sample_weight'"), 0),
    Row("weights-of-the-only-output", lambda b: b.weighted("d_sample_weight"), ("'d_sample_weight' is not used",), 0),
    Row("weights-named", lambda b: b.weighted("sample_weight"), (), 0, ("is not used",)),
    Row("weights-listed", lambda b: b.weighted("weights", "#x,y,weights"), (), 0, ("is not used",)),
    Row("weights-of-a-prediction", lambda b: ["predict", *b.weighted("weights")[1:4], "--output", b("p.npy")], (), 0, ("is not used",)),
    # a run that leaves nothing
    Row("nothing-left", lambda b: b.dense(output=False), ("nothing will be left", "--output"), 0),
    Row("nothing-left-dry", lambda b: b.dense("--dry-run", output=False), (), 0, ("nothing will be left",)),
    Row("checkpoints-left", lambda b: b.dense("--checkpoint-dir", b("c"), output=False), (), 0, ("nothing will be left",)),
]


def run(row, index, folder, keras_only):
    b = Bench(folder)
    ran = artel(*row.args(b))
    said = ran.out + ran.err
    if ran.rc != row.rc:
        raise Failure("exit %d instead of %d: %s" % (ran.rc, row.rc, said[-300:]))
    for part in row.says:
        if part not in said:
            raise Failure("it does not say %r: %s" % (part, said[-300:]))
    for part in row.never:
        if part in said:
            raise Failure("it says %r: %s" % (part, said[-300:]))
    if ran.rc and os.path.exists(b("out.keras")):
        raise Failure("a model is written although the command failed")
    if row.name.startswith("own-class") and row.name.endswith("standard-step"):
        with zipfile.ZipFile(b("out.keras")) as z:
            kept = json.loads(z.read("config.json"))
        if kept["module"] is not None or kept["registered_name"] != kept["class_name"]:
            raise Failure("Keras would not find the class: %s" % {k: kept[k] for k in ("module", "class_name", "registered_name")})
    return [ran.rc]


if __name__ == "__main__":
    table(ROWS, run, ["exit"])
