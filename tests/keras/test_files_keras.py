# SPDX-License-Identifier: Apache-2.0
# Model files against the real Keras: what it saves is loaded, what artel saves it loads, predicts and trains on with.
# timeout: 600
import sys
import json, os, subprocess, tempfile, zipfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ["COLUMNS"] = "420"  # for summaries
import numpy as np
import keras
from keras import layers as L
from keras.src.saving import saving_lib

PROG = os.path.join(os.environ["ARTEL_BUILD"], "tests", "keras", "prog_keras")
ARTEL = os.environ["ARTEL"]
R = np.random.default_rng(7)


def run(*args, fails=False):
    done = subprocess.run([PROG, *map(str, args)], capture_output=True, text=True, timeout=60)
    assert (done.returncode == 1) == fails, (args, done.returncode, done.stderr)
    return done.stderr if fails else done.stdout


def mlp():
    m = keras.Sequential([keras.Input((6,)), L.Dense(8, activation="relu", name="first"), L.BatchNormalization(),
                          L.Dropout(0.2), L.Dense(3, activation="softmax")])
    m.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return m, R.random((32, 6), "float32"), R.integers(0, 3, 32)


def branches():
    i = keras.Input((8, 8, 1), name="img")
    a = L.Conv2D(4, 3, padding="same", activation="relu")(i)
    b = L.BatchNormalization(trainable=False)(L.SeparableConv2D(4, 3, padding="same")(a))
    c = L.Flatten()(L.MaxPooling2D()(L.Add()([a, b])))
    inner = keras.Sequential([keras.Input((64,)), L.Dense(5, activation="relu"), L.BatchNormalization(), L.Dense(4)],
                             name="inner")
    shared = L.Dense(4, name="shared")
    m = keras.Model(i, [L.Dense(3, activation="softmax", name="cls")(inner(c)),
                        L.Dense(1, name="reg")(L.Concatenate()([shared(c), shared(c)]))], name="func")
    m.compile(keras.optimizers.SGD(0.01, momentum=0.9),
              loss={"cls": "sparse_categorical_crossentropy", "reg": keras.losses.MeanSquaredError()},
              loss_weights={"cls": 1.0, "reg": 0.5}, metrics={"cls": ["accuracy"]})
    return m, R.random((32, 8, 8, 1), "float32"), {"cls": R.integers(0, 3, 32), "reg": R.random((32, 1), "float32")}


def recurrent():
    m = keras.Sequential([keras.Input((7,)), L.Embedding(20, 6, mask_zero=True),
                          L.Bidirectional(L.LSTM(4, return_sequences=True)), L.GRU(5), L.Dense(2)])
    m.compile(keras.optimizers.RMSprop(keras.optimizers.schedules.ExponentialDecay(0.01, 10, 0.9), momentum=0.1), "mse")
    return m, R.integers(0, 20, (32, 7)), R.random((32, 2), "float32")


def attention():
    q = keras.Input((5, 6))
    t = L.LayerNormalization()(L.Add()([L.MultiHeadAttention(2, 3)(q, q), q]))
    t = L.GlobalAveragePooling1D()(L.TimeDistributed(L.Dense(4))(t))
    m = keras.Model(q, L.Dense(2)(t))
    m.compile("adamw", "mse")
    return m, R.random((16, 5, 6), "float32"), R.random((16, 2), "float32")


def frozen():
    n = L.Normalization(mean=[0.5] * 4, variance=[2.0] * 4)
    m = keras.Sequential([keras.Input((4,)), n, L.Dense(3, trainable=False, kernel_regularizer=keras.regularizers.L2(1e-3)),
                          L.Dense(1)])
    m.compile(keras.optimizers.Adam(1e-3, amsgrad=True, clipnorm=1.0, weight_decay=1e-3), "mse", metrics=["mae"])
    return m, R.random((16, 4), "float32"), R.random((16, 1), "float32")


def flat(outputs):
    return [np.asarray(o) for o in (outputs if isinstance(outputs, (list, tuple)) else [outputs])]


def same_model(a, b, x, y, optimizer=True):
    for p, q in zip(flat(a.predict(x, verbose=0)), flat(b.predict(x, verbose=0)), strict=True):
        assert np.array_equal(p, q)
    for v, w in zip(a.variables, b.variables, strict=True):
        if "seed" not in v.path:
            assert np.array_equal(v.numpy(), w.numpy()), v.path
    if not optimizer:
        return
    assert json.dumps(a.optimizer.get_config()) == json.dumps(b.optimizer.get_config())
    for v, w in zip(a.optimizer.variables, b.optimizer.variables, strict=True):
        assert np.array_equal(v.numpy(), w.numpy()), v.path


def continues(a, b, x, y):
    ha = a.fit(x, y, epochs=2, shuffle=False, verbose=0).history
    hb = b.fit(x, y, epochs=2, shuffle=False, verbose=0).history
    assert ha.keys() == hb.keys() and all(np.allclose(ha[k], hb[k], rtol=1e-5) for k in ha), (ha, hb)


def check_formats(make, has_dropout):
    keras.utils.set_random_seed(3)
    m, x, y = make()
    m.fit(x, y, verbose=0)
    m.save("a.keras"), m.save("a.h5"), m.save_weights("a.weights.h5")
    open("a.json", "w").write(m.to_json())
    digest = run("digest", "a.keras")
    report = json.loads(run("load", "a.keras"))
    assert report["digest"] + "\n" == digest == run("digest", "a.weights.h5") == run("digest", "a.h5")
    assert json.loads(run("load", "a.h5"))["all"] == report["all"]
    assert report["trainable"] == sum(int(np.prod(v.shape)) for v in m.trainable_variables)
    assert report["optimizer"] == len(m.optimizer.variables)

    for source in ("a.keras", "a.h5"):
        run("convert", source, "b.keras")
        assert [i.filename for i in zipfile.ZipFile("b.keras").infolist()] == ["metadata.json", "config.json", "model.weights.h5"]
        b = keras.models.load_model("b.keras")
        same_model(m, b, x, y)
        if not has_dropout:
            continues(keras.models.load_model("a.keras"), b, x, y)
        run("convert", source, "b.h5")
        # Keras 3 itself loses the optimizer state here, and cannot read its own loss="mse"
        same_model(m, keras.models.load_model("b.h5", compile=False), x, y, optimizer=False)
        run("convert", "b.h5", "c.keras")
        assert run("digest", "c.keras") == digest
    run("convert", "a.keras", "b.keras"), run("convert", "b.keras", "c.keras")
    assert open("b.keras", "rb").read() == open("c.keras", "rb").read()

    run("convert", "a.json", "w.safetensors", "a.weights.h5")
    assert run("digest", "w.safetensors") == digest
    run("convert", "a.json", "w.weights.h5", "w.safetensors")
    fresh = keras.models.model_from_json(open("a.json").read())
    fresh.load_weights("w.weights.h5")
    same_model(m, fresh, x, y, optimizer=False)
    run("convert", "a.keras", "b.json")
    same = keras.models.model_from_json(open("b.json").read())
    same.set_weights(m.get_weights())
    same_model(m, same, x, y, optimizer=False)
    run("convert", "a.json", "fresh.keras")
    assert all(np.isfinite(v.numpy()).all() for v in keras.models.load_model("fresh.keras").variables)


def check_directory():
    m, x, y = mlp()
    m.fit(x, y, verbose=0)
    saving_lib.save_model(m, "folder", zipped=False)
    m.save("a.keras")
    assert run("digest", "folder") == run("digest", "a.keras") == json.loads(run("load", "folder"))["digest"] + "\n"


def check_dtypes():
    import h5py
    m, x, y = mlp()
    m.save_weights("a.weights.h5")
    open("a.json", "w").write(m.to_json())
    for dtype in ("float16", "float64"):
        with h5py.File("a.weights.h5") as f, h5py.File(dtype + ".weights.h5", "w") as g:
            names = []
            f.visit(names.append)
            for n in names:
                if isinstance(f[n], h5py.Dataset):
                    g[n] = f[n][()].astype(dtype)
        run("convert", "a.json", "b.keras", dtype + ".weights.h5")
        expected = [v.numpy().astype(dtype).astype("float32") for v in m.variables if "seed" not in v.path]
        b = keras.models.load_model("b.keras")
        got = [v.numpy() for v in b.variables if "seed" not in v.path]
        assert all(np.array_equal(p, q) for p, q in zip(expected, got, strict=True))
        assert run("digest", dtype + ".weights.h5") == run("digest", "b.keras")


def check_refusals():
    import h5py
    m, x, y = mlp()
    m.save("a.keras"), m.save_weights("a.weights.h5"), m.save("a.h5")
    open("a.json", "w").write(m.to_json())
    def edit(source, target, change):
        open(target, "wb").write(open(source, "rb").read())
        with h5py.File(target, "r+") as f:
            change(f)
    def drop(f): del f["layers/dense_1/vars/1"]
    def whole(f): del f["layers/batch_normalization"]
    def shape(f):
        del f["layers/dense/vars/0"]
        f["layers/dense/vars/0"] = np.zeros((6, 9), "float32")
    for change, words in ((drop, ["layers/dense_1/vars", "1 variables", "expected 2"]),
                          (whole, ["layers/batch_normalization/vars", "0 variables", "expected 4"]),
                          (shape, ["layers/dense/vars/0", "(6, 9)", "(6, 8)", "first"])):
        edit("a.weights.h5", "bad.weights.h5", change)
        error = run("convert", "a.json", "bad.keras", "bad.weights.h5", fails=True)
        assert all(w in error for w in words + ["bad.weights.h5"]), error
        assert not os.path.exists("bad.keras")
    def legacy_shape(f):
        n = [k for k in f["model_weights/first"]][0]
        g = f["model_weights/first"][n]
        g = g if "kernel" in g else g["first"]
        del g["kernel"]
        g["kernel"] = np.zeros((6, 9), "float32")
    def legacy_count(f): f["model_weights"].attrs["layer_names"] = ["first"]
    def config(f): f.attrs["model_config"] = '{"class_name": '
    for change, words in ((legacy_shape, ["kernel", "(6, 9)", "(6, 8)"]), (legacy_count, ["1 layers", "3"]), (config, ["model_config"])):
        edit("a.h5", "bad.h5", change)
        error = run("load", "bad.h5", fails=True)
        assert all(w in error for w in words + ["bad.h5"]), error
    assert "no architecture" in run("load", "a.weights.h5", fails=True)
    assert "notes.txt" in run("convert", "a.keras", "notes.txt", fails=True)
    with zipfile.ZipFile("npz.keras", "w") as z:
        z.writestr("config.json", m.to_json()), z.writestr("model.weights.npz", b"x")
    assert "model.weights.npz" in run("load", "npz.keras", fails=True)


def check_keras2():
    """The kind of JSON that Keras 2 wrote."""
    old = {"class_name": "Sequential", "keras_version": "2.4.0", "backend": "tensorflow", "config": {"name": "seq", "layers": [
        {"class_name": "Dense", "config": {"name": "d", "trainable": True, "batch_input_shape": [None, 4], "dtype": "float32",
         "units": 3, "activation": "relu", "use_bias": True,
         "kernel_initializer": {"class_name": "GlorotUniform", "config": {"seed": None}},
         "bias_initializer": {"class_name": "Zeros", "config": {}}, "kernel_regularizer": None, "bias_regularizer": None,
         "activity_regularizer": None, "kernel_constraint": None, "bias_constraint": None}},
        {"class_name": "BatchNormalization", "config": {"name": "b", "trainable": True, "dtype": "float32", "axis": [1],
         "momentum": 0.99, "epsilon": 0.001, "center": True, "scale": True,
         "beta_initializer": {"class_name": "Zeros", "config": {}}, "gamma_initializer": {"class_name": "Ones", "config": {}},
         "moving_mean_initializer": {"class_name": "Zeros", "config": {}},
         "moving_variance_initializer": {"class_name": "Ones", "config": {}}, "beta_regularizer": None,
         "gamma_regularizer": None, "beta_constraint": None, "gamma_constraint": None}}]}}
    json.dump(old, open("old.json", "w"))
    run("convert", "old.json", "new.keras")
    m = keras.models.load_model("new.keras")
    assert m.input_shape == (None, 4) and m.output_shape == (None, 3) and m.count_params() == 27


def check_compile():
    m, x, y = mlp()
    m.save("a.keras")
    run("compile", "a.keras", "b.keras", "sgd:momentum=0.9,learning_rate=0.05", "sparse_categorical_crossentropy", "accuracy")
    b = keras.models.load_model("b.keras")
    assert b.optimizer.momentum == 0.9 and abs(float(b.optimizer.learning_rate) - 0.05) < 1e-8
    b.fit(x, y, verbose=0)
    record = '{"class_name": "RMSprop", "config": {"rho": 0.8}}'
    run("compile", "a.keras", "b.keras", record, "mse", '["mae", "mse"]')
    assert keras.models.load_model("b.keras").optimizer.rho == 0.8
    assert "adma" in run("compile", "a.keras", "b.keras", "adma", "mse", "mae", fails=True)


def check_build():
    """What the builder makes is what Keras would have made."""
    run("build", "sequential", "s.keras")
    m = keras.models.load_model("s.keras")
    assert m.input_shape == (None, 12, 12, 1) and m.output_shape == (None, 10) and m.name == "built"
    assert [l.name for l in m.layers][:4] == ["rescaling", "conv2d", "separable_conv2d", "batch_normalization"]
    assert m.get_layer("batch_normalization").momentum == 0.9 and m.get_layer("dropout").rate == 0.25
    assert m.get_layer("separable_conv2d").use_bias is False
    assert abs(float(m.get_layer("dense").kernel_regularizer.l2) - 0.001) < 1e-9
    run("build", "functional", "f.keras")
    m = keras.models.load_model("f.keras")
    assert [t.name for t in m.inputs] == ["x", "y"] and m.count_params() == 35 + 24 + 24 + 20 + 19 + 12
    x, y = R.random((3, 6), "float32"), R.random((3, 6), "float32")
    a, b = m.predict([x, y], verbose=0)
    np.savez("xy.npz", x=x, y=y)
    subprocess.run([ARTEL, "predict", "f.keras", "--data", "npz:xy.npz", "--output", "p.npz"], check=True, capture_output=True)
    with np.load("p.npz") as p:
        assert sorted(p.files) == ["a", "b"], p.files
        assert np.allclose(p["a"], a, atol=1e-5) and np.allclose(p["b"], b, atol=1e-5), (p["a"], a)


def check_summary():
    def rows(m):
        lines, table = [], []
        m.summary(line_length=400, print_fn=lambda t: lines.extend(t.split("\n")))
        for line in lines:
            if line.startswith("│"):
                cells = [c.strip() for c in line.strip("│").split("│")]
                name, kind = cells[0].rsplit(" (", 1)
                table.append([name, kind[:-1], cells[1], int(cells[2].replace(",", "")),
                              cells[3].replace("-", "", cells[3] == "-") if len(cells) > 3 else ""])
        return table
    chain = keras.Model(i := keras.Input((6,)), L.Dense(2)(L.Dense(3)(i)))
    free = keras.Sequential([keras.Input((None, None, 3)), L.Conv2D(4, 3, strides=2, padding="same"), L.GlobalAveragePooling2D()])
    for m in (mlp()[0], branches()[0], chain, free):
        m.save("a.keras")
        m = keras.models.load_model("a.keras")
        assert json.loads(run("summary", "a.keras")) == rows(m), (json.loads(run("summary", "a.keras")), rows(m))


os.chdir(tempfile.mkdtemp())
for name, make in (("mlp", mlp), ("branches", branches), ("frozen", frozen), ("recurrent", recurrent), ("attention", attention)):
    check_formats(make, has_dropout=make is mlp)
    print("ok", name, flush=True)
for check in (check_directory, check_dtypes, check_refusals, check_keras2, check_compile, check_build, check_summary):
    check()
    print("ok", check.__name__, flush=True)
sys.exit(0)
