# SPDX-License-Identifier: Apache-2.0
# Checkpoints and SavedModels that TensorFlow writes, and weights that Keras spreads over several files, into models; and damaged ones, which are
# refused.
# timeout: 300
import json, os, re, shutil, struct, subprocess, sys, tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
import numpy as np
import tensorflow as tf
import keras
from keras import layers as L
from support.checksum import masked_crc32c

R = np.random.default_rng(4)
os.chdir(tempfile.mkdtemp())


def convert(source, out="out.keras", architecture="blank.json"):
    if os.path.exists(out):
        os.remove(out)
    return subprocess.run([os.environ["ARTEL"], "convert", source, out, "--architecture", architecture], capture_output=True, text=True, timeout=120)


def net():
    i = keras.Input((6, 4))
    x = L.Bidirectional(L.GRU(3, return_sequences=True), name="both")(L.BatchNormalization()(L.Conv1D(3, 2, name="first")(i)))
    x = L.LSTM(3)(L.MultiHeadAttention(2, 3)(x, x))
    x = keras.Sequential([keras.Input((3,)), L.Dense(4, name="hidden"), keras.Sequential([L.Dense(2, dtype="float32", name="out")], name="inmost")], name="inner")(x)
    model = keras.Model(i, x, name="net")
    model.compile("adam", "mse")
    model.fit(R.standard_normal((8, 6, 4)), R.standard_normal((8, 2)), verbose=0)
    return model


def same(model, source, architecture="blank.json"):
    done = convert(source, architecture=architecture)
    assert done.returncode == 0, (source, done.stderr)
    back = keras.saving.load_model("out.keras")
    for a, b in zip(model.weights, back.weights, strict=True):
        if "seed_generator" not in a.path:
            assert a.shape == b.shape and np.array_equal(a.numpy(), b.numpy()), (source, a.path)
    print("ok", source, flush=True)


def refused(name, text, source, architecture="blank.json"):
    done = convert(source, architecture=architecture)
    assert done.returncode == 1 and text in done.stderr and not os.path.exists("out.keras"), (name, done.returncode, done.stderr)
    print("ok", name, "is refused", flush=True)


model = net()
with open("blank.json", "w") as f:
    f.write(model.to_json())
everything = tf.train.Checkpoint(model=model, optimizer=model.optimizer, words=tf.Variable(["a", "b"]), step=tf.Variable(3))
tf.train.Checkpoint(root=model).write("plain")
everything.save("folder/ckpt")
model.fit(R.standard_normal((8, 6, 4)), R.standard_normal((8, 2)), verbose=0)
everything.save("folder/ckpt")  # the newest of two
everything.write("absolute/ckpt")
for source in ("folder", "folder/ckpt-2", "folder/ckpt-2.index", "absolute/ckpt"):
    same(model, source)
model.export("exported", verbose=False)
tf.saved_model.save(model, "saved")
same(model, "exported")
same(model, "saved")
model.save("once.keras")
tf.train.Checkpoint(keras.saving.load_model("once.keras")).write("again")  # where Bidirectional has no scope around its layers
same(model, "again")
assert subprocess.run([os.environ["ARTEL"], "convert", "folder", "x.keras"], capture_output=True).returncode == 1, "an architecture is needed"

# by name, over several data files, and of other types than the model's
values = {v.path: v.numpy().astype("f8" if "hidden" in v.path else "f4") for v in model.weights if "seed_gen" not in v.path}
with tf.Graph().as_default(), tf.compat.v1.Session() as session:
    old = {k: tf.compat.v1.get_variable(k.replace("/", "_"), initializer=v) for k, v in values.items()}
    session.run(tf.compat.v1.global_variables_initializer())
    tf.compat.v1.train.Saver(old).save(session, "./byname")
same(model, "byname")

big = keras.Sequential([keras.Input((300,)), L.Dense(400, name="one"), L.Dense(400, name="second"), L.Dense(3, name="three")])  # more than one block of the index is made below
with open("big.json", "w") as f:
    f.write(big.to_json())
tf.train.Checkpoint(model=big, others=[tf.Variable(float(i)) for i in range(700)]).write("many")
same(big, "many", "big.json")

other = keras.Sequential([keras.Input((300,)), L.Dense(400, name="one"), L.Dense(401, name="second"), L.Dense(3, name="three")])
renamed = keras.Sequential([keras.Input((300,)), L.Dense(400, name="renamed"), L.Dense(400, name="second"), L.Dense(3, name="three")])
for name, m in (("other", other), ("renamed", renamed)):
    with open(name + ".json", "w") as f:
        f.write(m.to_json())
refused("another shape", "(400, 401)", "many", "other.json")
refused("another name", '"renamed/kernel"', "many", "renamed.json")
refused("no checkpoint", "nowhere", "nowhere")

DATA = "folder/ckpt-2.data-00000-of-00001"


def spoilt(name, text, path, change):
    if os.path.exists("spoilt"):
        shutil.rmtree("spoilt")
    shutil.copytree("folder", "spoilt")
    target = path.replace("folder", "spoilt")
    with open(target, "rb") as f:
        data = bytearray(f.read())
    data = change(data)
    with open(target, "wb") as f:
        f.write(data)
    refused(name, text, "spoilt/ckpt-2")


def flip(at):
    def change(data):
        data[at] ^= 64
        return data
    return change


spoilt("a changed number", "checksum", DATA, lambda d: d.replace(model.get_layer("first").kernel.numpy().tobytes(), bytes(96)))
spoilt("data cut off", "outside of the file", DATA, lambda d: d[:50])
spoilt("an index cut off", "cut off", "folder/ckpt-2.index", lambda d: d[:-1])


# indexes that no writer makes, with right checksums


def varint(n):
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)


def made(name, text, order, *entries):  # entries: bytes shared with the key before, what is added, value
    def block(entries):
        body = b"".join(varint(shared) + varint(len(key)) + varint(len(value)) + key + value for shared, key, value in entries) + struct.pack("<II", 0, 1)
        return body + b"\0" + struct.pack("<I", masked_crc32c(body + b"\0"))

    first = block(entries)
    index = block([(0, b"key%d" % i, varint(at) + varint(len(first) - 5)) for i, at in enumerate(order)])
    footer = b"\0\0" + varint(len(first)) + varint(len(index) - 5)
    with open("made.index", "wb") as f:
        f.write(first + index + footer.ljust(40, b"\0") + struct.pack("<Q", 0xDB4775248B80FB57))
    refused(name, text, "made")


head, record = (0, b"", b"\x08" + varint(65536)), b"\x08\x01\x18" + varint(65535)
made("two heads", "number of its data files", [0], head, (0, b"a", record), (0, b"", b"\x08\x01"))
made("a block twice", "not in order", [0, 0], head, (0, b"a", record))
made("keys out of nothing", "too long", [0], head, (0, b"k" * 4096, record), *[(4096, b"", b"")] * 999)
os.remove("spoilt/ckpt-2.index")
refused("no index", "no such file", "spoilt/ckpt-2.data")
# several files
with open("compiled.json", "w") as f:
    f.write(model.to_json())
model.save("compiled.keras")
os.mkdir("shards")
model.save_weights("shards/w.weights.json", max_shard_size=700 / 1024**3)
parts = sorted(p for p in os.listdir("shards") if p.endswith(".h5"))
with open("shards/w.weights.json") as f:
    index = json.load(f)
assert len(parts) > 3 and any(isinstance(v, list) and len(v) > 1 for v in index["weight_map"].values()), (parts, index)
same(model, "shards/w.weights.json")
slots = subprocess.run([os.environ["ARTEL"], "inspect", "out.keras", "--digest=all"], capture_output=True, text=True).stdout
wanted = subprocess.run([os.environ["ARTEL"], "inspect", "compiled.keras", "--digest=all"], capture_output=True, text=True).stdout
assert re.findall("[0-9a-f]{64}", slots) == re.findall("[0-9a-f]{64}", wanted) != [], ("the optimizer's state", slots, wanted)
for name, change, text in (("a file elsewhere", lambda: index["weight_map"].update({"/x/vars": "../blank.json"}), "../blank.json"),
                           ("a file that is missing", lambda: os.remove("shards/" + parts[1]), parts[1]), ("no weights", lambda: index.pop("weight_map"), "no weights")):
    change()
    with open("shards/w.weights.json", "w") as f:
        json.dump(index, f)
    refused(name, text, "shards/w.weights.json")

size = os.path.getsize("folder/ckpt-2.index")
for at in range(0, size, max(1, size // 40)):  # anywhere: refused, or where nothing of the model lies; never a crash
    with open("folder/ckpt-2.index", "rb") as f:
        data = bytearray(f.read())
    data[at] ^= 255
    shutil.copytree("folder", "any", dirs_exist_ok=True)
    with open("any/ckpt-2.index", "wb") as f:
        f.write(data)
    assert convert("any/ckpt-2").returncode in (0, 1), at
sys.exit(0)
