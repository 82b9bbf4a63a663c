# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# long form: 1200
"""`fit --dtype POLICY`: the file of one dtype policy trains like the file that real Keras makes of the same model under the other policy.

Keras builds every model twice, with equal weights. What artel makes of the first under --dtype, and of the second as it is, has the same History, the same bits
and the same policies, layer by layer; Keras reads it. That a policy trains right is checked by test_precision.py, test_variables16.py and test_models_float64.py.
"""

import dataclasses
import json
import os
import zipfile

import keras
import numpy as np
from keras import layers as L

from oracle import LONG, Failure, artel, digest, table

POLICIES = ("float32", "mixed_bfloat16", "mixed_float16", "bfloat16", "float16", "float64")


@dataclasses.dataclass
class Row:
    name: str
    build: object
    of: str = "float32"
    to: str = "mixed_bfloat16"
    file: str = "keras"  # or h5, json
    words: bool = False  # the inputs
    silent: bool = False  # the file says nothing of the model's own policy
    optimizer: object = lambda: keras.optimizers.SGD(0.05, momentum=0.5)
    refused: str = ""


OWN = {}  # dtypes of layers that have one of their own, another than the model's


def sequence():
    """A head with a policy of its own."""
    return keras.Sequential([L.Input((6, 6, 2)), L.Conv2D(4, 3, activation="relu"), L.BatchNormalization(), L.MaxPooling2D(2), L.Flatten(),
                             L.Dense(8, activation="tanh"), L.Dense(3, activation="softmax", dtype=OWN["head"])])


def graph():
    """Models inside, operations, layers inside layers, two layers with other policies."""
    x = keras.Input((6, 4))
    inner = keras.Sequential([L.Input((6, 4)), L.LayerNormalization(), L.TimeDistributed(L.Dense(5, activation="tanh"))])
    y = L.Bidirectional(L.GRU(3, recurrent_initializer="glorot_uniform"))(inner(x) * 2.0)
    y = keras.ops.concatenate([y, L.Dense(4, dtype=OWN["inside"])(L.Flatten()(x))], -1)
    y = L.RNN(L.StackedRNNCells([L.LSTMCell(3, recurrent_initializer="he_normal"), L.GRUCell(2, recurrent_initializer="he_normal")]))(L.Reshape((5, 2))(y)) + 0.5
    return keras.Model(x, L.Activation("softmax", dtype=OWN["head"])(L.Dense(3)(y)))


def most():
    """No Sequential tells the policy: it is that of most layers."""
    x = keras.Input((6, 4))
    y = L.Dense(5, activation="tanh")(L.Flatten()(x))
    return keras.Model(x, L.Dense(3, activation="softmax", dtype=OWN["head"])(L.Dense(4)(L.Rescaling(0.5)(y))))


def plain():
    """All layers have the same."""
    return keras.Sequential([L.Input((6, 4)), L.Flatten(), L.Dense(8, activation="relu"), L.Dense(3, activation="softmax")])


def identities():
    """An initializer with the name of a layer."""
    return keras.Sequential([L.Input((6, 4)), L.Identity(), L.Flatten(), L.Dense(24, kernel_initializer="identity", kernel_regularizer="l2"), L.Dense(3, activation="softmax")])


def categories():
    """Layers whose dtype is no policy."""
    x = keras.Input((3,), dtype="string")
    a = L.Embedding(9, 4)(L.StringLookup(vocabulary=["a", "b", "c"])(x))
    b = L.Hashing(5, output_mode="multi_hot")(x)
    c = L.Embedding(7, 2)(L.Hashing(7)(x))
    d = L.CategoryEncoding(4)(L.Discretization([0.0, 1.0], name="bins")(L.Dense(2)(b)))
    y = L.Concatenate()([L.Flatten()(a), L.Dense(3)(b), L.Flatten()(c), d])
    return keras.Model(x, L.Dense(3, activation="softmax", dtype=OWN["head"])(y))


ROWS = [Row("sequence-%s-%s" % (of, to), sequence, of, to) for of in POLICIES for to in POLICIES
        if of != to and (LONG or "mixed_float16" in (of, to))]
ROWS += [Row("graph-" + to, graph, to=to) for to in POLICIES[1:] if LONG or to in ("mixed_bfloat16", "float64")]
ROWS += [Row("graph-of-" + of, graph, of, "float32") for of in POLICIES[1:] if LONG or of == "bfloat16"]
ROWS += [Row("most", most), Row("most-of-mixed", most, "mixed_float16", "bfloat16"), Row("plain-float64", plain, to="float64"), Row("same", graph, "bfloat16", "bfloat16"),
         Row("categories", categories, words=True), Row("categories-float16", categories, to="float16", words=True),
         Row("legacy", plain, file="h5"), Row("legacy-scaled", plain, to="mixed_float16", file="h5"), Row("legacy-of-scaled", plain, "mixed_float16", "float32", file="h5"),
         Row("silent", graph, to="mixed_bfloat16", file="json", silent=True), Row("silent-sequence", identities, to="float64", file="json", silent=True),
         Row("text", graph, to="mixed_float16", file="json"), Row("text-of-float64", plain, "float64", "bfloat16", file="json"),
         Row("scale-of-its-own", sequence, "mixed_float16", "mixed_bfloat16",
             optimizer=lambda: keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.05), initial_scale=64.0)),
         Row("no-such-policy", plain, to="mixed_bfloat15", refused="give float32")]


def policies(path):
    """Of every layer in a file, in order."""
    found = []

    def walk(value):
        for item in value if isinstance(value, list) else []:
            walk(item)
        if not isinstance(value, dict):
            return
        config = value.get("config")
        if "class_name" in value and isinstance(config, dict) and "dtype" in config and not value["class_name"].startswith("__"):
            dtype = config["dtype"]
            found.append((value["class_name"], dtype if isinstance(dtype, str) else (dtype or {}).get("config", {}).get("name")))
        for key, item in value.items():
            if key not in ("dtype", "inbound_nodes", "compile_config"):
                walk(item)

    with zipfile.ZipFile(path) as z:
        config = json.loads(z.read("config.json"))
    walk(config)
    return found, (config.get("compile_config") or {}).get("optimizer", {}).get("class_name")


def made(row, policy):
    keras.utils.clear_session()
    keras.config.set_dtype_policy(policy)
    OWN.update(head=None if row.of == "float32" else "float32", inside="mixed_bfloat16" if row.of == "float32" else None)
    keras.utils.set_random_seed(5)
    model = row.build()
    optimizer = row.optimizer()
    if policy == "mixed_float16" and not isinstance(optimizer, keras.optimizers.LossScaleOptimizer):
        optimizer = keras.optimizers.LossScaleOptimizer(optimizer)  # a Functional model's compile() forgets it
    model.compile(optimizer, "sparse_categorical_crossentropy")
    return model


def say_nothing(value):
    """Takes out the policies of layers that have the model's own, float32."""
    for item in value if isinstance(value, list) else value.values() if isinstance(value, dict) else ():
        say_nothing(item)
    dtype = (value.get("config") or {}).get("dtype") if isinstance(value, dict) and value.get("module") == "keras.layers" else None
    if isinstance(dtype, dict) and dtype["config"]["name"] == "float32":
        del value["config"]["dtype"]


def save(row, model, folder, name):
    path = os.path.join(folder, name + "." + row.file)
    if row.file == "json":
        config = json.loads(model.to_json())
        if row.silent and name == "first":
            say_nothing(config)
        with open(path, "w") as f:
            json.dump(config, f)
    else:
        model.save(path)
    return path


def fit(path, data, folder, name, *more):
    out, history = os.path.join(folder, name + "-out.keras"), os.path.join(folder, name + "-history.json")
    ran = artel("fit", path, "--data", data, "--batch-size", 8, "--epochs", 2, "--no-shuffle", "--verbose", 0, "--output", out, "--history", history, *more)
    if ran.rc != 0:
        return ran, out, None
    with open(history) as f:
        return ran, out, json.load(f)


def passes(path, data, folder, *more):
    """What evaluate and predict say of a model."""
    said, out = artel("evaluate", path, "--data", data, *more), os.path.join(folder, "p.npy")
    predicted = artel("predict", path, "--data", data, "--output", out, *more)
    if said.rc != 0 or predicted.rc != 0:
        raise Failure("evaluate, predict: exit %d, %d (%s)" % (said.rc, predicted.rc, said.first or predicted.first))
    return said.out, np.load(out).tobytes()


def run(row, index, folder, keras_only):
    del keras_only
    rng = np.random.default_rng(index)
    first = made(row, row.of)
    mine = save(row, first, folder, "first")
    shape = (32, *first.input_shape[1:])
    x = rng.choice(np.array(["a", "b", "c", "other"]), shape) if row.words else rng.normal(size=shape).astype("float32")
    np.savez(os.path.join(folder, "d.npz"), x=x, y=rng.integers(0, 3, 32))
    data = "npz:" + os.path.join(folder, "d.npz")
    compiled = ("--optimizer", "sgd", "--loss", "sparse_categorical_crossentropy") if row.file == "json" else ()
    ran, out, got = fit(mine, data, folder, "first", "--dtype", row.to, *compiled)
    if row.refused:
        if ran.rc == 0 or row.refused not in ran.err or os.path.exists(out):
            raise Failure("exit %d (%s)" % (ran.rc, ran.first))
        return ["", ""]
    if ran.rc != 0:
        raise Failure("exit %d (%s)" % (ran.rc, ran.first))
    saved = first.get_weights()
    second = made(row, row.to)
    second.set_weights(saved)
    ran, wanted, want = fit(save(row, second, folder, "second"), data, folder, "second", *compiled)
    if ran.rc != 0:
        raise Failure("the other file: exit %d (%s)" % (ran.rc, ran.first))
    if policies(out) != policies(wanted):
        raise Failure("policies %s, expected %s" % (policies(out), policies(wanted)))
    if got != want or digest(out, kind="all") != digest(wanted, kind="all"):
        raise Failure("other bits: history %s, expected %s" % (got, want))
    if not compiled and passes(mine, data, folder, "--dtype", row.to) != passes(os.path.join(folder, "second." + row.file), data, folder):
        raise Failure("evaluate or predict say otherwise")
    keras.config.set_dtype_policy("float32")
    keras.models.load_model(out)
    return [len(policies(out)[0]), "%.6f" % got["loss"][-1]]


if __name__ == "__main__":
    table(ROWS, run, ["layers", "loss"])
