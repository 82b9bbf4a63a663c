# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# long form: 1800
"""Files go there and back: what artel writes opens in real Keras, training goes on there with the optimizer's state,
and comes back; odd but legal forms of Keras' files are read; `convert` and `inspect --digest` agree with all of it.
"""

import copy
import dataclasses
import hashlib
import io
import json
import os
import struct
import zipfile

import numpy as np
from oracle import (K, L, O, S, Failure, artel, digest, history_error, keras_module, make_target, one, predict_error, rng_of, scratch,
                    slots, table, weight_error, weights)


@dataclasses.dataclass
class Row:
    name: str
    kind: str  # the function below that runs it
    model: object
    ending: str = ".keras"
    change: object = None  # what is done to the file


# ---------------------------------------------------------------- models
def mlp(opt=lambda: O.Adam(0.01)):
    m = K.Sequential([K.Input((6,)), L.Dense(9, activation="tanh"), L.Dense(2)])
    m.compile(opt(), "mean_squared_error", metrics=["mean_absolute_error"])  # Keras cannot reopen an .h5 that says "mse"
    return m


def cnn():
    m = K.Sequential([K.Input((8, 8, 3)), L.Rescaling(0.5), L.Conv2D(4, 3, use_bias=False), L.BatchNormalization(), L.ReLU(),
                      L.MaxPooling2D(), L.SeparableConv2D(5, 2), L.Flatten(), L.Dropout(0.0), L.Dense(3, activation="softmax")])
    m.compile(O.SGD(0.05, momentum=0.9, nesterov=True), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return m


def rnn():
    m = K.Sequential([K.Input((5,), dtype="int32"), L.Embedding(9, 4, mask_zero=True), L.Bidirectional(L.LSTM(4, return_sequences=True)),
                      L.GRU(3), L.Dense(2)])
    m.compile(O.RMSprop(0.003, momentum=0.5, centered=True, epsilon=1e-3), "mean_squared_error")
    return m


def transformer():
    i = K.Input((6, 8))
    t = L.Add()([i, L.MultiHeadAttention(2, 4, use_bias=False)(L.LayerNormalization()(i), i, use_causal_mask=True)])
    m = K.Model(i, L.Dense(2)(L.Flatten()(t)))
    m.compile(O.AdamW(S.CosineDecay(0.02, 30), amsgrad=True, weight_decay=0.05), "mean_squared_error")
    return m


def many():
    a, b = K.Input((4,), name="left"), K.Input((3,), name="right")
    inner = K.Sequential([K.Input((7,)), L.Dense(5, activation="relu"), L.Dense(4)], name="inner")
    t = inner(L.Concatenate()([a, b]))
    d = L.Dense(4, name="shared")
    m = K.Model([a, b], [L.Dense(2, name="first")(d(t)), L.Dense(3, activation="softmax", name="second")(d(d(t)))])
    m.compile(O.Adagrad(0.05), {"first": "mean_squared_error", "second": "categorical_crossentropy"}, loss_weights={"first": 1.0, "second": 0.3},
              metrics={"second": ["accuracy"]})
    return m


def plain():
    """Not compiled."""
    return K.Sequential([K.Input((6,)), L.Dense(9, activation="tanh"), L.Dense(2)])


def data(model, name, n=80):
    rng = rng_of(name)
    xs, ys = [], []
    for t in model.inputs:
        xs.append(rng.integers(0, 9, (n, *t.shape[1:])).astype("i4") if "int" in t.dtype else rng.standard_normal((n, *t.shape[1:])).astype("f4"))
    for t, layer in zip(model.outputs, outputs(model)):
        kind = "real"
        if t.shape[-1] == 3:
            kind = "class" if model.name.startswith("sequential") else "onehot"
        ys.append(make_target(kind, rng, n, tuple(t.shape[1:])))
    return xs, ys


def outputs(model):
    return list(model.output_names) if hasattr(model, "output_names") else [model.layers[-1].name]


def prepare(row, folder):
    keras = keras_module()
    keras.backend.clear_session()
    keras.utils.set_random_seed(3)
    model = row.model()
    model.jit_compile = False
    xs, ys = data(model, row.name)
    names = {"x": xs[0], "y": ys[0]} if len(xs) == 1 else dict(zip([t._keras_history.operation.name for t in model.inputs] + outputs(model), xs + ys))
    np.savez(os.path.join(folder, "d.npz"), **names)
    return model, xs, ys


def file(folder, name):
    return os.path.join(folder, name)


def must(*args):
    ran = artel(*args)
    if ran.rc != 0:
        raise Failure("%s: exit %d (%s)" % (args[0], ran.rc, ran.first))
    return ran


def fit(folder, start, out, *more):
    history = file(folder, "h.json")
    must("fit", start, "--data", "npz:" + file(folder, "d.npz"), "--no-shuffle", "--batch-size", 8, "--output", out, "--history", history,
         "--verbose", 0, *more)
    with open(history) as f:
        return json.load(f)


def predict(folder, start, names):
    out = file(folder, "p.npz")
    must("predict", start, "--data", "npz:" + file(folder, "d.npz"), "--output", out)
    with np.load(out) as z:
        return [z[n] for n in names]


def lists(a):
    return list(a) if isinstance(a, (list, tuple)) else [a]


def same_predictions(what, mine, theirs, tolerance=1e-4):
    error = predict_error(mine, theirs)
    if not error <= tolerance:
        raise Failure("%s: predictions differ by %.2g" % (what, error))
    return "%.1e" % error


def load(path, row):
    """As a user opens it in Keras; weights alone go into a model built anew."""
    keras = keras_module()
    if path.endswith(".weights.h5"):
        model = row.model()
        if model.compiled:
            model.optimizer.build(model.trainable_variables)
        model.load_weights(path)
    else:
        model = keras.models.load_model(path)
    model.jit_compile = False
    return model


# ---------------------------------------------------------------- there and back
def there_and_back(row, folder, keras_only):
    """artel trains 10 steps, Keras 10 more, artel 10 more: as 30 steps of Keras."""
    model, xs, ys = prepare(row, folder)
    start = file(folder, "start.keras")
    model.save(start)
    run = lambda m: {k: [float(v) for v in vs] for k, vs in m.fit(one(xs), one(ys), batch_size=8, shuffle=False, verbose=0).history.items()}
    whole = [run(model) for _ in range(3)]
    end = file(folder, "theirs.keras")
    model.save(end)
    if keras_only:
        return ["", "", ""]
    first, second, third = (file(folder, n + row.ending) for n in ("first", "second", "third"))
    histories = [fit(folder, start, first)]
    whole_file = first
    if row.ending == ".weights.h5":
        whole_file = file(folder, "whole.keras")
        must("convert", first, whole_file, "--architecture", start)
    p = predict(folder, whole_file, outputs(model))
    opened = load(first, row)
    shown = same_predictions("Keras opens artel's file", lists(opened.predict(one(xs), verbose=0)), p)
    if int(opened.optimizer.iterations.numpy()) != 10:
        raise Failure("Keras reads %d steps from artel's optimizer, 10 were done" % opened.optimizer.iterations.numpy())
    histories.append(run(opened))
    opened.save_weights(second) if row.ending == ".weights.h5" else opened.save(second)
    if row.ending == ".weights.h5":
        both = file(folder, "both.keras")
        must("convert", second, both, "--architecture", start)
        second = both
    histories.append(fit(folder, second, file(folder, "third.keras")))
    h = 0.0
    for mine, theirs in zip(histories, whole):
        error, where = history_error(mine, theirs)
        if error > 2e-4:
            raise Failure("history: %s" % where)
        h = max(h, error)
    w, path, _ = weight_error(weights(file(folder, "third.keras")), weights(end))
    if w > 1:
        raise Failure("weights differ by %.3g tolerances: %s" % (w, path))
    return [shown, "%.1e" % h, "%.2f" % w]


def same_tree(row, folder, keras_only):
    """What artel writes has the same datasets, config and optimizer variables as what Keras writes."""
    model, xs, ys = prepare(row, folder)
    start = file(folder, "start.keras")
    model.save(start)
    model.fit(one(xs), one(ys), batch_size=8, shuffle=False, verbose=0)
    model.save(file(folder, "theirs.keras"))
    if keras_only:
        return ["", "", ""]
    fit(folder, start, file(folder, "mine.keras"))
    mine, theirs = (slots(file(folder, n + ".keras")) for n in ("mine", "theirs"))
    shape = lambda tree: {k: (v.shape, str(v.dtype)) for k, v in tree.items()}
    if shape(mine) != shape(theirs):
        raise Failure("optimizer variables %s, Keras has %s" % (shape(mine), shape(theirs)))
    w, path, _ = weight_error(weights(file(folder, "mine.keras")), weights(file(folder, "theirs.keras")))
    if w > 1:
        raise Failure("weights differ by %.3g tolerances: %s" % (w, path))
    with zipfile.ZipFile(start) as a, zipfile.ZipFile(file(folder, "mine.keras")) as b:
        if a.namelist() != b.namelist():
            raise Failure("members %s, Keras has %s" % (b.namelist(), a.namelist()))
        if plainly(json.loads(a.read("config.json"))) != plainly(json.loads(b.read("config.json"))):
            raise Failure("config.json differs from what Keras wrote")
    return ["", "", "%.2f" % w]


def plainly(record):
    """Without what may differ: ids of shared objects."""
    if isinstance(record, dict):
        return {k: plainly(v) for k, v in record.items() if k != "shared_object_id"}
    return [plainly(v) for v in record] if isinstance(record, list) else record


# ---------------------------------------------------------------- odd but legal forms
def members(path):
    with zipfile.ZipFile(path) as z:
        return {n: z.read(n) for n in z.namelist()}


def write_zip(path, parts, method=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", method) as z:
        for name, content in parts.items():
            z.writestr(name, content)


def config_changed(f):
    def change(start, out):
        parts = members(start)
        record = json.loads(parts["config.json"])
        parts["config.json"] = json.dumps(f(record) or record)
        write_zip(out, parts)

    return change


def hdf5_changed(copy_one, **options):
    def change(start, out):
        import h5py

        parts, buffer = members(start), io.BytesIO()
        with h5py.File(io.BytesIO(parts["model.weights.h5"]), "r") as old, h5py.File(buffer, "w", **options) as new:

            def visit(name, item):
                if isinstance(item, h5py.Dataset):
                    copy_one(new, name, item)
                else:
                    group = new.require_group(name)
                    for k, v in item.attrs.items():
                        group.attrs[k] = v

            old.visititems(visit)
        parts["model.weights.h5"] = buffer.getvalue()
        write_zip(out, parts)

    return change


def minimal(record):
    """Only names and required arguments."""
    keep = {"InputLayer": ("batch_shape", "dtype", "name"), "Dense": ("units", "activation", "name")}
    layers = [{"module": "keras.layers", "class_name": r["class_name"], "config": {k: r["config"][k] for k in keep[r["class_name"]] if k in r["config"]}}
              for r in record["config"]["layers"]]
    return {"module": "keras", "class_name": "Sequential", "config": {"name": record["config"]["name"], "layers": layers}}


def triples(record):
    """input_layers and output_layers as older versions wrote them."""
    wrap = lambda v: [v] if v and isinstance(v[0], str) else v
    record["config"]["input_layers"] = wrap(record["config"]["input_layers"])
    record["config"]["output_layers"] = wrap(record["config"]["output_layers"])


def shuffled(record):
    """Layers in another order than they run in; weights are counted by class, so only other classes move."""
    layers = record["config"]["layers"]
    record["config"]["layers"] = [r for r in layers if r["class_name"] in ("Add",)] + [r for r in layers if r["class_name"] not in ("Add",)]


def string_dtypes(record):
    for r in record["config"]["layers"]:
        r["config"]["dtype"] = "float32" if r["class_name"] != "InputLayer" else r["config"]["dtype"]
        r.pop("build_config", None)


CHANGES = {
    "deflated": lambda start, out: write_zip(out, members(start), zipfile.ZIP_DEFLATED),
    "members-reversed": lambda start, out: write_zip(out, dict(reversed(members(start).items()))),
    "with-assets": lambda start, out: write_zip(out, {**members(start), "assets/note.txt": b"hello"}),
    "hdf5-latest": hdf5_changed(lambda f, n, d: f.create_dataset(n, data=d[()]), libver="latest"),
    "hdf5-chunked-gzip": hdf5_changed(lambda f, n, d: f.create_dataset(n, data=d[()], compression="gzip") if d.shape
                                      else f.create_dataset(n, data=d[()])),
    "hdf5-big-endian": hdf5_changed(lambda f, n, d: f.create_dataset(n, data=d[()].astype(d.dtype.newbyteorder(">")))),
    "hdf5-float64": hdf5_changed(lambda f, n, d: f.create_dataset(n, data=d[()].astype("f8") if d.dtype == "f4" else d[()])),
    "extra-groups": hdf5_changed(lambda f, n, d: (f.create_dataset(n, data=d[()]), f.require_group("later/thing"))),
    "config-minimal": config_changed(minimal),
    "config-triples": config_changed(triples),
    "config-string-dtypes": config_changed(string_dtypes),
    "config-any-order": config_changed(shuffled),
    "indented-json": lambda start, out: write_zip(out, {n: json.dumps(json.loads(c), indent=3).encode() if n.endswith("json") else c
                                                        for n, c in members(start).items()}),
}


def odd_form(row, folder, keras_only):
    model, xs, ys = prepare(row, folder)
    start, odd = file(folder, "start.keras"), file(folder, "odd.keras")
    model.save(start)
    row.change(start, odd)
    theirs = lists(model.predict(one(xs), verbose=0))
    try:
        reopened = lists(keras_module().models.load_model(odd).predict(one(xs), verbose=0))
    except Exception as why:
        raise Failure("Keras itself does not read this form: %s" % str(why)[:200])
    same_predictions("Keras reads the odd form", reopened, theirs, 1e-6)
    if keras_only:
        return ["", "", ""]
    shown = same_predictions("odd form", predict(folder, odd, outputs(model)), theirs)
    if os.path.isfile(odd) and "float64" not in row.name and digest(odd) != digest(start):
        raise Failure("another digest than the file as Keras wrote it")
    return [shown, "", ""]


# ---------------------------------------------------------------- legacy .h5
def legacy(row, folder, keras_only):
    """A whole-model .h5 as Keras 3 writes it: read, trained 10 steps with its optimizer state, as Keras does."""
    model, xs, ys = prepare(row, folder)
    run = lambda: model.fit(one(xs), one(ys), batch_size=8, shuffle=False, verbose=0).history
    run()
    start = file(folder, "start.h5")
    model.save(start)
    theirs = lists(model.predict(one(xs), verbose=0))
    history = {k: [float(v) for v in vs] for k, vs in run().items()}
    model.save(file(folder, "end.keras"))
    if keras_only:
        return ["", "", ""]
    shown = same_predictions("legacy h5", predict(folder, start, outputs(model)), theirs)
    error, where = history_error(fit(folder, start, file(folder, "mine.keras")), history)
    if error > 2e-4:
        raise Failure("history: %s" % where)
    w, path, _ = weight_error(weights(file(folder, "mine.keras")), weights(file(folder, "end.keras")))
    if w > 1:
        raise Failure("weights differ by %.3g tolerances: %s" % (w, path))
    return [shown, "%.1e" % error, "%.2f" % w]


def own_legacy(row, folder, keras_only):
    """artel trains 10 steps into a legacy .h5, Keras opens that, artel goes on from it: as 20 steps of Keras.

    Training does not go on in Keras here: 3.15 builds the optimizer of a legacy file without variables, for its own
    files too ("Unknown variable").
    """
    model, xs, ys = prepare(row, folder)
    start, first = file(folder, "start.keras"), file(folder, "first.h5")
    model.save(start)
    histories = [{k: [float(v) for v in vs] for k, vs in model.fit(one(xs), one(ys), batch_size=8, shuffle=False, verbose=0).history.items()}
                 for _ in range(2)]
    model.save(file(folder, "end.keras"))
    if keras_only:
        return ["", "", ""]
    mine = [fit(folder, start, first), fit(folder, first, file(folder, "second.keras"))]
    p = predict(folder, first, outputs(model))
    opened = keras_module().models.load_model(first)
    shown = same_predictions("Keras opens artel's file", lists(opened.predict(one(xs), verbose=0)), p)
    worst = 0.0
    for a, b in zip(mine, histories):
        error, where = history_error(a, b)
        if error > 2e-4:
            raise Failure("history: %s" % where)
        worst = max(worst, error)
    w, path, _ = weight_error(weights(file(folder, "second.keras")), weights(file(folder, "end.keras")))
    if w > 1:
        raise Failure("weights differ by %.3g tolerances: %s" % (w, path))
    return [shown, "%.1e" % worst, "%.2f" % w]


def keras2(row, folder, keras_only):
    """A file in the manner of Keras 2: batch_input_shape, string dtypes, lists of inbound nodes, names with :0."""
    import h5py

    model, xs, ys = prepare(row, folder)
    start = file(folder, "old.h5")
    text = lambda s: np.bytes_(s.encode())
    with h5py.File(start, "w") as f:
        f.attrs["keras_version"], f.attrs["backend"] = text("2.15.0"), text("tensorflow")
        f.attrs["model_config"] = text(json.dumps(keras2_config(model)))
        group = f.create_group("model_weights")
        layers = [layer for layer in model.layers]
        group.attrs["layer_names"] = [layer.name.encode() for layer in layers]
        group.attrs["keras_version"], group.attrs["backend"] = text("2.15.0"), text("tensorflow")
        for layer in layers:
            g = group.create_group(layer.name)
            names = ["%s/%s:0" % (layer.name, v.name) for v in layer.weights]
            g.attrs["weight_names"] = [n.encode() for n in names]
            for n, v in zip(names, layer.weights):
                g.create_dataset(n, data=v.numpy())
        group.create_group("top_level_model_weights").attrs["weight_names"] = []
    theirs = lists(model.predict(one(xs), verbose=0))
    reopened = lists(keras_module().models.load_model(start, compile=False).predict(one(xs), verbose=0))
    same_predictions("Keras reads the old form", reopened, theirs, 1e-6)
    if keras_only:
        return ["", "", ""]
    return [same_predictions("old h5", predict(folder, start, outputs(model)), theirs), "", ""]


def keras2_config(model):
    """Sequential or a Functional chain, as TensorFlow 2.15 wrote them."""
    sequential = type(model).__name__ == "Sequential"
    layers, before = [], None
    for layer in model.layers:
        if type(layer).__name__ == "InputLayer" and sequential:
            continue
        c = {k: v for k, v in layer.get_config().items() if k not in ("quantization_config", "lora_rank")}
        c["dtype"] = "float32"
        for k, v in c.items():
            if isinstance(v, dict) and "class_name" in v:
                c[k] = {"class_name": v["class_name"], "config": v["config"]}
        if type(layer).__name__ == "InputLayer":
            c = {"batch_input_shape": [None, *layer.batch_shape[1:]], "dtype": "float32", "sparse": False, "ragged": False, "name": layer.name}
        record = {"class_name": type(layer).__name__, "config": c}
        if not sequential:
            record["name"], record["inbound_nodes"] = layer.name, [[[before, 0, 0, {}]]] if before else []
        layers.append(record)
        before = layer.name
    if sequential:
        first = {"class_name": "InputLayer", "config": {"batch_input_shape": [None, *model.input_shape[1:]], "dtype": "float32", "sparse": False,
                                                        "ragged": False, "name": "input_1"}}
        return {"class_name": "Sequential", "config": {"name": "old", "layers": [first] + layers}}
    return {"class_name": "Functional", "config": {"name": "old", "trainable": True, "layers": layers,
                                                   "input_layers": [[model.layers[0].name, 0, 0]], "output_layers": [[before, 0, 0]]}}


def chain():
    i = K.Input((8, 8, 3))
    t = L.Conv2D(4, 3, activation="relu")(i)
    t = L.MaxPooling2D()(L.BatchNormalization()(t))
    return K.Model(i, L.Dense(3)(L.Flatten()(t)))


# ---------------------------------------------------------------- convert, inspect
def convert(row, folder, keras_only):
    """Through every format and back: the digest stays; what Keras can open, it opens."""
    model, xs, ys = prepare(row, folder)
    start = file(folder, "start.keras")
    if model.compiled:
        model.fit(one(xs), one(ys), batch_size=8, verbose=0)
    model.save(start)
    theirs = lists(model.predict(one(xs), verbose=0))
    if keras_only:
        return ["", "", ""]
    wanted, shown = digest(start), ""
    for ending in (".weights.h5", ".h5", ".safetensors"):
        there, back = file(folder, "there" + ending), file(folder, "back.keras")
        must("convert", start, there)
        must("convert", there, back, *(() if ending == ".h5" else ("--architecture", start)))
        if digest(back) != wanted:
            raise Failure("another digest after %s and back" % ending)
        if ending == ".weights.h5" and digest(there) != wanted:
            raise Failure("another digest of %s" % ending)
        if ending != ".safetensors":
            shown = same_predictions("Keras opens %s" % ending, lists(load(there, row).predict(one(xs), verbose=0)), theirs)
        else:
            safetensors(there, start)
        same_predictions("Keras opens back.keras", lists(load(back, row).predict(one(xs), verbose=0)), theirs)
    text = file(folder, "m.json")
    must("convert", start, text)
    with open(text) as f:
        built = keras_module().models.model_from_json(f.read())
    built.load_weights(start)
    same_predictions("Keras builds from .json", lists(built.predict(one(xs), verbose=0)), theirs)
    write_zip(file(folder, "repacked.keras"), members(start), zipfile.ZIP_DEFLATED)
    if digest(file(folder, "repacked.keras")) != wanted:
        raise Failure("another digest of the repacked zip")
    if model.compiled and digest(start, kind="all") == wanted:
        raise Failure("--digest=all is the digest without the optimizer's state")
    return [shown, "", ""]


def safetensors(path, start):
    with open(path, "rb") as f:
        (n,) = struct.unpack("<Q", f.read(8))
        header, body = json.loads(f.read(n)), f.read()
    mine = {k: np.frombuffer(body[slice(*v["data_offsets"])], "f4").reshape(v["shape"]) for k, v in header.items()
            if k != "__metadata__" and not k.startswith("optimizer")}
    theirs = {k.replace("/", "."): v for k, v in weights(start).items()}
    if set(mine) != set(theirs):
        raise Failure("safetensors names %s, the tree's paths are %s" % (sorted(mine), sorted(theirs)))
    if any(not np.array_equal(mine[k], theirs[k]) for k in theirs):
        raise Failure("safetensors values differ")


def inspect(row, folder, keras_only):
    """The digest is of the weights: another initial draw has another, a renamed file the same, training changes it."""
    model, xs, ys = prepare(row, folder)
    a, b, c = (file(folder, n + ".keras") for n in "abc")
    model.save(a)
    model.save(b)
    model.fit(one(xs), one(ys), batch_size=8, verbose=0)
    model.save(c)
    if keras_only:
        return ["", "", ""]
    if digest(a) != digest(b) or digest(a) == digest(c):
        raise Failure("digests: %s %s %s" % (digest(a), digest(b), digest(c)))
    said = must("inspect", a).out
    for path, v in weights(a).items():
        if path not in said and path.replace("/", ".") not in said:
            raise Failure("inspect does not name %s" % path)
    return ["", "", ""]


MODELS = {"mlp": mlp, "cnn": cnn, "rnn": rnn, "transformer": transformer, "many": many}
ROWS = [Row("back-%s%s" % (n, e), "there_and_back", m, e) for n, m in MODELS.items() for e in (".keras", ".weights.h5")]
ROWS += [Row("own-legacy-" + n, "own_legacy", m) for n, m in MODELS.items()]
ROWS += [Row("tree-" + n, "same_tree", m) for n, m in MODELS.items()]
ROWS += [Row("odd-" + n, "odd_form", {"config-minimal": plain, "config-any-order": transformer, "config-triples": chain}.get(n, mlp), change=c)
         for n, c in CHANGES.items()]
ROWS += [Row("legacy-" + n, "legacy", m) for n, m in MODELS.items()]
ROWS += [Row("keras2-sequential", "keras2", plain), Row("keras2-functional", "keras2", chain)]
ROWS += [Row("convert-" + n, "convert", m) for n, m in (*MODELS.items(), ("plain", plain))]
ROWS += [Row("inspect-mlp", "inspect", mlp), Row("inspect-cnn", "inspect", cnn)]


def run(row, index, folder, keras_only):
    return globals()[row.kind](row, folder, keras_only)


if __name__ == "__main__":
    table(ROWS, run, ["predict", "history", "weights"], every=3)
