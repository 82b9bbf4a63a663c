# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# long form: 900
"""Networks as Keras 2 saved them, .keras and .h5: they open and predict as they did, and what was frozen stays frozen.

Keras 3 has the same networks. Their records are written here in Keras 2's words (nodes as lists, batch_input_shape, groups of every
convolution, operators between layers as TFOpLambda and SlicingOpLambda), as tf_keras 2.21 writes them; the weights and what
the network predicts are Keras 3's.
"""

import dataclasses
import io
import json
import os
import zipfile

import numpy as np
from oracle import LONG, PREDICT_TOL, K, L, Failure, artel, keras_module, predict_error, rng_of, table, weights

GROUPED = ("DepthwiseConv1D", "DepthwiseConv2D", "SeparableConv1D", "SeparableConv2D", "Conv1DTranspose", "Conv2DTranspose")
OPERATORS = {"TrueDivide": "math.truediv", "Subtract": "math.subtract", "Add": "__operators__.add", "Multiply": "math.multiply", "Relu6": "nn.relu6"}


# ---------------------------------------------------------------- the words of Keras 2
def begins_with_input(record):
    layers = record["config"].get("layers") if record else None
    return bool(layers) and layers[0]["class_name"] == "InputLayer"


def plain(value):
    """A slice as Keras 2 wrote it; a number."""
    if isinstance(value, dict) and value.get("class_name") == "__slice__":
        return dict(zip(("start", "stop", "step"), (value["config"][k] for k in ("start", "stop", "step"))))
    return value


def reference(tensor, layers):
    """[layer, node, tensor]; a model with an input layer has a node of its own, which is number 0."""
    name, node, index = tensor["config"]["keras_history"]
    return [name, node + begins_with_input(next(r for r in layers if r["name"] == name)), index]


def call(node, layers, operator):
    args, kwargs = node["args"], dict(node["kwargs"])
    tensors = args[0] if isinstance(args[0], (list, tuple)) else [args[0]]
    if not operator:
        return [[*reference(t, layers), kwargs] for t in tensors]
    if operator == "GetItem":
        return [[*reference(args[0], layers), {"slice_spec": [plain(v) for v in args[1]]}]]
    second = [reference(a, layers) if isinstance(a, dict) else a for a in args[1:]]
    return [*reference(args[0], layers), dict(zip("y", second), name=None)]


def layer_of(record, layers, whole):
    config, name, operator = dict(record["config"]), record["class_name"], None
    module = record.get("module") or ""
    if module.startswith("keras.src.ops"):
        operator, name = name, "SlicingOpLambda" if name == "GetItem" else "TFOpLambda"
        config["function"] = OPERATORS.get(operator, "__operators__.getitem")
    if name in ("Functional", "Sequential"):
        made = model_of(record, whole)
    else:
        if name == "InputLayer":
            config["batch_input_shape"] = config.pop("batch_shape")
        if name == "BatchNormalization":
            config["axis"] = [config["axis"]]
        if name in GROUPED:
            config["groups"] = 1
        if name.startswith("Separable"):
            config.update(kernel_initializer="glorot_uniform", kernel_regularizer=None, kernel_constraint=None)
        for today in ("synchronized", "renorm", "renorm_clipping", "renorm_momentum", "quantization_config"):
            config.pop(today, None)
        config["dtype"] = "float32"
        made = {"class_name": name, "config": config}
        if whole:
            made.update(module="keras.layers", registered_name=None)
    if isinstance(made["config"], dict):
        made["name"] = made["config"]["name"]
    made["inbound_nodes"] = [call(n, layers, operator) for n in record.get("inbound_nodes", [])]
    return made


def model_of(record, whole):
    config = record["config"]
    layers = config["layers"]
    made = {"class_name": record["class_name"], "config": {"name": config["name"], "trainable": config.get("trainable", True)}}
    made["config"]["layers"] = [layer_of(r, layers, whole) for r in layers]
    for key in ("input_layers", "output_layers") if record["class_name"] == "Functional" else ():
        ends = config[key] if isinstance(config[key][0], list) else [config[key]]
        made["config"][key] = [[n, node + begins_with_input(next(r for r in layers if r["name"] == n)), i] for n, node, i in ends]
    if whole:
        made.update(module="keras.src.engine." + record["class_name"].lower(), registered_name=record["class_name"])
    return made


def files_of(model, folder):
    """m.keras and m.h5 of Keras 2."""
    import h5py

    path = lambda name: os.path.join(folder, name)
    model.save(path("3.keras"))
    keras_module().saving.save_model(model, path("m.h5"))
    with zipfile.ZipFile(path("3.keras")) as z:
        parts = {n: z.read(n) for n in z.namelist()}
    record = json.loads(parts["config.json"])
    parts["config.json"] = json.dumps(model_of(record, True)).encode()
    parts["metadata.json"] = b'{"keras_version": "2.15.0", "date_saved": "2024-01-01@00:00:00"}'
    with zipfile.ZipFile(path("m.keras"), "w") as z:
        for name, content in parts.items():
            z.writestr(name, content)
    with h5py.File(path("m.h5"), "r+") as f:
        f.attrs["model_config"] = json.dumps(model_of(record, False))
        f.attrs["keras_version"] = "2.15.0"
    return path("m.keras"), path("m.h5")


# ---------------------------------------------------------------- networks
def images(size, count=2):
    return [np.abs(rng_of("images").standard_normal((count, size, size, 3)) * 60).astype("f4")]


def application(name, size, **more):
    def build():
        return getattr(K.applications, name)(input_shape=(size, size, 3), weights=None, classes=5, classifier_activation=None, **more), images(size)

    return build


def nasnet():
    keras_module()
    from keras.src.applications.nasnet import NASNet  # a small one

    return NASNet(input_shape=(32, 32, 3), penultimate_filters=96, num_blocks=1, stem_block_filters=8, skip_reduction=False, weights=None, classes=5, default_size=32,
                  classifier_activation=None), images(32)


def transfer():
    """The tutorial: augmentation, preprocessing by operators, a frozen network that never trains, a new head."""
    base = K.applications.MobileNetV2(input_shape=(32, 32, 3), alpha=0.35, weights=None, include_top=False)
    base.trainable = False
    x = i = K.Input((32, 32, 3))
    x = K.applications.mobilenet_v2.preprocess_input(x)
    x = L.GlobalAveragePooling2D()(base(x, training=False))
    return K.Model(i, L.Dense(3, name="head")(L.Dropout(0.2)(x))), images(32, 4)


def encoder(name="encoder"):
    i = K.Input((6,))
    return K.Model(i, L.Dense(5, activation="relu", name="e")(L.BatchNormalization(name="n")(i)), name=name)


def vectors(*seeds):
    return [np.random.default_rng(s).standard_normal((4, 6)).astype("f4") for s in seeds]


def nested():
    inside = encoder()
    i, j = K.Input((6,)), K.Input((6,))
    middle = K.Model(i, L.Dense(4, name="d")(inside(i)), name="middle")
    tail = K.Sequential([K.Input((4,)), L.Dense(3, activation="tanh", name="t"), L.Dense(2, name="u")], name="tail")
    return K.Model(j, tail(middle(j))), vectors(1)


def siamese():
    both = encoder()
    a, b = K.Input((6,), name="a"), K.Input((6,), name="b")
    x, y = both(a), both(b)
    return K.Model([a, b], L.Dense(1)(L.Concatenate()([L.Subtract()([x, y]), (x + y) * 0.5]))), vectors(1, 2)


def last_step():
    i = K.Input((4, 3))
    x = L.LSTM(5, return_sequences=True)(i)
    return K.Model(i, L.Dense(2)(x[:, -1, :])), [np.random.default_rng(3).standard_normal((4, 4, 3)).astype("f4")]


@dataclasses.dataclass
class Row:
    name: str
    build: object
    frozen: str = ""  # this part of the weights' paths does not train


ROWS = [Row("MobileNet", application("MobileNet", 32, alpha=0.25)), Row("EfficientNetB0", application("EfficientNetB0", 32)), Row("NASNet", nasnet),
        Row("transfer", transfer, "layers/functional/"), Row("nested", nested), Row("siamese", siamese), Row("last-step", last_step)]
ROWS += [Row("Xception", application("Xception", 71)), Row("NASNetMobile", application("NASNetMobile", 32)),
         Row("MobileNetV3Small", application("MobileNetV3Small", 32))] if LONG else []


def lively(model):
    """Weights of which each one counts."""
    for k, v in enumerate(model.weights):
        if "seed" in v.path:
            continue
        r, fan = np.random.default_rng(k), max(1, int(np.prod(v.shape[:-1])))
        scale = 1.5 / np.sqrt(fan) if "kernel" in v.path else 0.1
        v.assign(r.uniform(0.5, 1.0, v.shape) if "variance" in v.path or "gamma" in v.path else r.standard_normal(v.shape) * scale)


def trains(row, path, folder, inputs, spec):
    """A step: the head's weights move, the frozen ones do not."""
    out = os.path.join(folder, "trained.keras")
    ran = artel("fit", path, "--data", spec, "--loss", "mse", "--optimizer", "sgd:learning_rate=0.1", "--output", out, "--verbose", 0)
    if ran.rc:
        raise Failure("fit %s: %s" % (os.path.basename(path), ran.first))
    before, after = weights(os.path.join(folder, "3.keras")), weights(out)
    moved = {k for k in before if not np.array_equal(before[k], after[k])}
    if not moved or [k for k in moved if k.startswith(row.frozen)] or not [k for k in before if k.startswith(row.frozen)]:
        raise Failure("trained: %s" % sorted(moved)[:5])


def run(row, index, folder, keras_only):
    keras = keras_module()
    keras.backend.clear_session()
    keras.utils.set_random_seed(3)
    model, inputs = row.build()
    lively(model)
    wanted = np.asarray(model(inputs if len(inputs) > 1 else inputs[0], training=False))
    arrays = dict(zip([t.name for t in model.inputs], inputs)) if len(inputs) > 1 else {"x": inputs[0]}
    data = os.path.join(folder, "d.npz")
    np.savez(data, **arrays, **({"y": np.zeros(wanted.shape, "f4")} if row.frozen else {}))
    spec, shown = "npz:" + data, []
    for path in files_of(model, folder):
        out = os.path.join(folder, "p.npy")
        if not keras_only:
            ran = artel("predict", path, "--data", spec + ("#" + ",".join(arrays) if row.frozen else ""), "--output", out)
            if ran.rc:
                raise Failure("%s: exit %d (%s)" % (os.path.basename(path), ran.rc, ran.first))
            error = predict_error([np.load(out)], [wanted])
            if not error <= PREDICT_TOL or not wanted.std() > 1e-3:
                raise Failure("%s differs by %.2g of the largest value" % (os.path.basename(path), error))
            shown.append("%.1e" % error)
            if row.frozen:
                trains(row, path, folder, inputs, spec)
    return shown or ["", ""]


if __name__ == "__main__":
    table(ROWS, run, [".keras", ".h5"])
