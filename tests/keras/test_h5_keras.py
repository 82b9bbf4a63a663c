# SPDX-License-Identifier: Apache-2.0
# Containers against the real thing: what h5py and Keras write is read, what is written is read by h5py and Keras.
# timeout: 300
import hashlib, io, json, os, subprocess, sys, tempfile, zipfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
import h5py
import numpy as np

PROG = os.path.join(os.environ["ARTEL_BUILD"], "tests", "keras", "prog_h5")


def run(*args, fails=False):
    done = subprocess.run([PROG, *args], capture_output=True, text=True, timeout=60)
    assert (done.returncode == 1) == fails, (args, done.returncode, done.stderr)
    return done.stderr if fails else done.stdout


def text(value):
    return value.decode() if isinstance(value, bytes) else value


def plain(value):
    """An attribute as the dump shows it."""
    if isinstance(value, h5py.Empty):
        return []
    value = np.asarray(value)
    flat = [text(v) for v in value.ravel().tolist()]
    return flat[0] if value.shape == () else flat


def expected(path):
    """The same dump made with h5py."""
    result = {}

    def visit(name, node):
        entry = {"attributes": {k: plain(node.attrs[k]) for k in node.attrs}}
        if isinstance(node, h5py.Dataset):
            value = node[()] if node.shape is not None else np.zeros(0)
            entry["shape"] = [0] if node.shape is None else list(node.shape)
            if h5py.check_string_dtype(node.dtype):
                entry["dtype"] = "string"
                entry["texts"] = [text(v) for v in np.asarray(value).ravel().tolist()]
            elif node.dtype.kind == "V" and node.dtype.itemsize == 2 or entry["attributes"].get("dtype") == "bfloat16":
                entry["dtype"] = "bfloat16"
            elif node.dtype.kind in "fiub":
                entry["dtype"] = node.dtype.name
            else:
                entry["dtype"] = "unreadable"
            if entry["dtype"] not in ("string", "unreadable"):
                data = np.asarray(value)
                entry["sha256"] = hashlib.sha256(data.astype(data.dtype.newbyteorder("<")).tobytes()).hexdigest()
        result["/" + name if name else ""] = entry

    with h5py.File(path) as f:
        visit("", f)
        for name in everything(f):
            visit(name, f[name])
    return result


def everything(group, prefix=""):
    for key in group:
        if not isinstance(group.get(key, getlink=True), h5py.HardLink):
            continue
        node = group[key]
        yield prefix + key
        if isinstance(node, h5py.Group):
            yield from everything(node, prefix + key + "/")


def same(path):
    found, wanted = json.loads(run("dump", path)), expected(path)
    assert found.keys() == wanted.keys(), (path, found.keys() ^ wanted.keys())
    for name in wanted:
        assert found[name] == wanted[name], (path, name, found[name], wanted[name])


def write_exotic(path, **options):
    rng = np.random.default_rng(3)
    with h5py.File(path, "w", **options) as f:
        for kind in ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">f4", ">i8", ">f2", "?"):
            if kind == "?" and options.get("libver") == "latest":
                continue  # enum and compound types of libhdf5 1.14 that Debian's 1.10 does not know
            f[f"types/{kind.replace('>', 'big_')}"] = (rng.random((3, 5)) * 9).astype(kind)
        f["scalar"] = np.float32(2.5)
        f["empty"] = np.zeros((0, 4), "f4")
        f["null"] = h5py.Empty("f4")
        if options.get("libver") != "latest":
            f["complex"] = np.ones(3, "c8")
        f["strings"] = np.array(["a", "größe", ""], dtype=h5py.string_dtype())
        f["fixed"] = np.array([b"ab", b"cdefg", b""])
        f.create_dataset("packed", data=np.arange(10000, dtype="f4").reshape(100, 100), chunks=(30, 30), compression="gzip", shuffle=True, fletcher32=True)
        f.create_dataset("zeros", shape=(50, 3), dtype="f8", chunks=(10, 3))
        f.create_dataset("never", shape=(7,), dtype="f4", fillvalue=3.5)
        d = f.create_dataset("bf", data=np.arange(6, dtype="u2"))
        d.attrs["dtype"] = "bfloat16"
        f.attrs["ints"], f.attrs["real"], f.attrs["list"] = np.arange(3), 0.5, ["x", "yy"]
        f.attrs["fixed"] = np.array([b"ab", b"cde"])
        f.attrs["none"] = np.zeros(0)
        f.attrs["empty"] = h5py.Empty("f4")
        f["types"].attrs["big"] = "z" * 60000
        f["soft"] = h5py.SoftLink("/scalar")
        f["external"] = h5py.ExternalLink("/etc/passwd", "/x")
        f["hard"] = f["types"]
        f.create_group("größe/tief")


def check_hostile(folder):
    path = os.path.join(folder, "cycle.h5")
    with h5py.File(path, "w") as f:
        f["a/b/c"] = 1.0
        f["a/b/up"] = f["a"]
    assert "contains itself" in run("dump", path, fails=True)
    with h5py.File(path, "w") as f:
        for i in range(40):
            f.create_group(f"g{i}")
        for i in range(39):
            f[f"g{i}/x"] = f[f"g{i + 1}"]
            f[f"g{i}/y"] = f[f"g{i + 1}"]
    assert "more objects" in run("dump", path, fails=True)
    with h5py.File(path, "w") as f:
        f.create_dataset("huge", shape=(1 << 40,), dtype="f4", chunks=(1 << 20,))
    assert "more than the file can hold" in run("dump", path, fails=True)
    with h5py.File(path, "w") as f:
        for i in range(70):
            f = f.create_group("d")
    assert "nested deeper" in run("dump", path, fails=True)
    with open(path, "wb") as f:
        f.write(b"\x89HDF\r\n\x1a\n" + b"\0" * 200)
    assert "not an HDF5 file" in run("dump", path, fails=True)


def check_zip(folder):
    path, out = os.path.join(folder, "a.zip"), os.path.join(folder, "b.zip")
    parts = {"metadata.json": b"{}", "deep/x.bin": os.urandom(5000), "zeros": bytes(100000), "empty": b"", "größe": b"1"}
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        with zipfile.ZipFile(path, "w", method) as z:
            for name, data in parts.items():
                z.writestr(name, data)
            with z.open("wide", "w", force_zip64=True) as f:
                f.write(b"123")
            z.comment = b"PK\5\6 is not the end"
        run("rezip", path, out)
        with zipfile.ZipFile(out) as z:
            assert z.testzip() is None and z.namelist() == [*parts, "wide"]
            assert all(z.read(n) == d for n, d in parts.items())
    with open(path, "rb") as f:
        whole = f.read()
    with open(path, "wb") as f:
        f.write(b"#!/bin/sh\n" + whole)
    run("rezip", path, out)

    class Pipe(io.RawIOBase):  # not seekable: data descriptors
        def __init__(self, f):
            self.f = f

        def writable(self):
            return True

        def write(self, b):
            return self.f.write(b)

    with open(path, "wb") as f, zipfile.ZipFile(Pipe(f), "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("x", b"y" * 1000)
    run("rezip", path, out)
    np.savez_compressed(os.path.join(folder, "n.npz"), a=np.arange(1000), b=np.ones(3))
    run("rezip", os.path.join(folder, "n.npz"), out)
    assert np.load(out)["a"][999] == 999
    for cut in (0, 1, 21, 100, len(whole) // 2, len(whole) - 1):
        with open(path, "wb") as f:
            f.write(whole[:cut])
        run("rezip", path, out, fails=True)


def check_keras(folder):
    import keras
    from keras import layers as L

    keras.utils.set_random_seed(1)
    a = keras.Sequential([keras.Input((8,)), L.Dense(5, activation="relu"), L.BatchNormalization(), L.Dense(3)])
    a.compile("adam", "mse")
    a.fit(np.ones((4, 8)), np.ones((4, 3)), verbose=0)
    i = keras.Input((6, 6, 3), name="größe")
    x = L.Add()([L.Conv2D(4, 3)(i), L.Conv2D(4, 3)(i)])
    b = keras.Model(i, L.Dense(2, dtype="bfloat16")(L.Flatten()(x)))
    b.compile(keras.optimizers.SGD(0.1, momentum=0.9), "mse")
    c = keras.Sequential([keras.Input((5,)), L.Embedding(10, 4), L.Bidirectional(L.LSTM(3)), L.Dense(1)])
    c.compile("rmsprop", "mse")
    d = keras.Sequential([keras.Input((8,)), L.Dense(5, dtype=keras.dtype_policies.DTypePolicy("bfloat16")), L.Flatten(name="f")])
    for n, model in enumerate((a, b, c, d)):
        data = np.ones((2, *model.input_shape[1:]), "f4")
        wanted = np.asarray(model(data)).astype("f4")
        base = os.path.join(folder, f"m{n}")
        if getattr(model, "optimizer", None) and n > 0:
            model.optimizer.build(model.trainable_variables)
        model.save(base + ".keras")
        model.save_weights(base + ".weights.h5")
        same(base + ".weights.h5")
        with zipfile.ZipFile(base + ".keras") as z:
            z.extractall(base)
        same(os.path.join(base, "model.weights.h5"))
        run("copy", os.path.join(base, "model.weights.h5"), os.path.join(base, "again.h5"))
        same(os.path.join(base, "again.h5"))
        os.replace(os.path.join(base, "again.h5"), os.path.join(base, "model.weights.h5"))
        run("rezip", base, base + "_new.keras")
        loaded = keras.models.load_model(base + "_new.keras")
        assert np.array_equal(np.asarray(loaded(data)).astype("f4"), wanted)
        if getattr(model, "optimizer", None):
            for v, w in zip(model.optimizer.variables, loaded.optimizer.variables, strict=True):
                assert np.array_equal(np.asarray(v), np.asarray(w)), v.path
        if n == 1 or n == 3:
            continue  # the legacy format of Keras cannot hold bfloat16
        model.save(base + ".h5")
        same(base + ".h5")
        run("copy", base + ".h5", base + "_new.h5")
        same(base + "_new.h5")
        loaded = keras.models.load_model(base + "_new.h5", compile=False)
        assert np.array_equal(np.asarray(loaded(data)).astype("f4"), wanted)
    print(run("mutants", os.path.join(folder, "m0.weights.h5"), "300", "11").strip())


def main():
    with tempfile.TemporaryDirectory() as folder:
        path, out = os.path.join(folder, "x.h5"), os.path.join(folder, "y.h5")
        for options in ({}, {"libver": "latest"}, {"track_order": True}, {"userblock_size": 512}):
            write_exotic(path, **options)
            same(path)
        with h5py.File(path, "w") as f:
            f["a/b"], f["a/c"] = np.arange(7, dtype="f4"), np.float64(3)
            f["x"] = np.array([True, False])
            f["odd"] = np.arange(9, dtype="f8")
            f["h"] = np.zeros((2, 0, 3), "f2")
        run("copy", path, out)
        same(out)
        with open(out, "rb") as f:
            first = f.read()
        run("copy", out, path)
        with open(path, "rb") as f:
            assert f.read() == first, "writing is not deterministic"
        check_hostile(folder)
        check_zip(folder)
        check_keras(folder)
    print("ok")


if __name__ == "__main__":
    sys.exit(main())
