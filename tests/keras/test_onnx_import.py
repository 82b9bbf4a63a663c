# SPDX-License-Identifier: Apache-2.0
# ONNX models as Keras models: nets as exporters of channels-first frameworks write them (made with the package onnx, where it is installed), and
# artel's own exports of Keras models. What comes out has to predict what onnxruntime and Keras predict, in Keras and in artel, and train.
# timeout: 600
import os, subprocess, sys, tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
import numpy as np
import onnxruntime as ort
import keras
from keras import layers as L

try:
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError:
    onnx = None

R = np.random.default_rng(6)
os.chdir(tempfile.mkdtemp())


def run(*args):
    return subprocess.run([os.environ["ARTEL"], *args], capture_output=True, text=True, timeout=120)


def number(*shape):
    return R.standard_normal(shape).astype("f4")


def compare(name, x, wanted, trains=True):
    if os.path.exists("m.keras"):
        os.remove("m.keras")
    done = run("convert", "m.onnx", "m.keras")
    assert done.returncode == 0, (name, done.stderr)
    back = keras.saving.load_model("m.keras")
    np.save("x.npy", x)
    done = run("predict", "m.onnx", "--data", "npy:x.npy", "--output", "y.npy")  # loads it as well
    assert done.returncode == 0, (name, done.stderr)
    for got in (np.asarray(back(x, training=False)), np.load("y.npy")):
        assert got.shape == wanted.shape, (name, got.shape, wanted.shape)
        error = np.abs(got - wanted).max() / max(1e-3, np.abs(wanted).max())
        assert error < 1e-4, (name, error)
    if trains:
        done = run("fit", "m.keras", "--loss", "mse", "--optimizer", "sgd:learning_rate=0.001", "--data", "synthetic:8", "--batch-size", "4", "--verbose", "0", "--output", "t.keras")
        assert done.returncode == 0, (name, done.stderr)
    print("ok", name, flush=True)


def keras_model(name, shape, *layers, dtype="float32", x=None, folded=0):
    model = keras.Sequential([keras.Input(shape, dtype=dtype), *layers])
    for v in model.variables:
        if v.dtype == "float32":
            v.assign(v.numpy() + R.random(v.shape).astype("f4") * 0.3)
    model.save("k.keras")
    done = run("convert", "k.keras", "m.onnx")
    assert done.returncode == 0, (name, done.stderr)
    x = number(3, *shape) if x is None else x
    compare(name, x, np.asarray(model(x, training=False)))
    before, after = model.count_params(), keras.saving.load_model("m.keras")
    assert before - folded == after.count_params(), (name, "weights stay weights", before, after.count_params())
    assert not any(isinstance(l, L.Permute) for l in after.layers), (name, "no transposes of images", [l.name for l in after.layers])


keras_model("images", (12, 12, 3), L.Conv2D(4, 3, padding="same", activation="relu"), L.BatchNormalization(), L.MaxPooling2D(), L.DepthwiseConv2D(3, depth_multiplier=2, strides=2, padding="same"),
            L.ZeroPadding2D(((1, 0), (0, 2))), L.Conv2D(6, (2, 3), dilation_rate=(1, 2), groups=2), L.LeakyReLU(negative_slope=0.2), L.AveragePooling2D(2, strides=1, padding="same"),
            L.UpSampling2D(2), L.Conv2D(3, 1), L.GlobalAveragePooling2D(), L.Dense(5, "softmax"), folded=16)  # the export makes two constants of BatchNormalization
keras_model("plain", (7,), L.Dense(6, "elu"), L.LayerNormalization(), L.Dense(6, "selu"), L.Dense(4, "tanh"), L.Rescaling(0.5, 0.1), L.Reshape((2, 2)), L.Flatten(), L.Dense(2, "sigmoid"))
keras_model("words", (6,), L.Embedding(9, 4), L.Dense(3, "relu"), L.GlobalAveragePooling1D(), L.Dense(2), dtype="int32", x=R.integers(0, 9, (3, 6)).astype("i4"))

REFUSED = [("text", b"no model", "ONNX"), ("empty", b"", "ONNX")]
i = keras.Input((5, 4))
keras.Model(i, L.LSTM(3)(i)).save("k.keras")
assert run("convert", "k.keras", "bad.onnx").returncode == 0
with open("bad.onnx", "rb") as f:
    whole = f.read()
REFUSED.append(("cut off", whole[:len(whole) // 2], "onnx"))
for name, data, text in REFUSED:
    with open("bad.onnx", "wb") as f:
        f.write(data)
    done = run("convert", "bad.onnx", "bad.keras")
    assert done.returncode == 1 and text in done.stderr and not os.path.exists("bad.keras"), (name, done.stderr)
for at in range(0, len(whole), max(1, len(whole) // 30)):  # damage anywhere is refused or read, and never a crash
    with open("bad.onnx", "wb") as f:
        f.write(whole[:at] + bytes([whole[at] ^ 255]) + whole[at + 1:])
    assert run("convert", "bad.onnx", "bad.keras").returncode in (0, 1), at
with open("bad.onnx", "wb") as f:
    f.write(b"version https://git-lfs.github.com/spec/v1\n")
assert "git lfs pull" in run("convert", "bad.onnx", "bad.keras").stderr
keras_model("by content", (4,), L.Dense(2))
os.rename("m.onnx", "m.model")
assert run("convert", "m.model", "m2.keras").returncode == 0 and run("inspect", "m.model").stdout.startswith("m.model: ONNX")
if not onnx:
    print("without the package onnx: models of other frameworks are not tried")
    sys.exit(0)


def graph(name, x, nodes, weights, out, opset=17, **kwargs):
    inits = [numpy_helper.from_array(np.asarray(v), k) for k, v in weights.items()]
    kind = TensorProto.FLOAT if x.dtype == np.float32 else TensorProto.INT64
    g = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", kind, ["n", *x.shape[1:]])], [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", *out])], inits)
    model = helper.make_model(g, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, "m.onnx")
    return ort.InferenceSession("m.onnx", providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]


N = helper.make_node
w = {"c1": number(6, 3, 3, 3), "b1": number(6), "g": np.abs(number(6)), "be": number(6), "mu": number(6), "va": np.abs(number(6)) + 0.5, "dw": number(6, 1, 3, 3), "pw": number(6, 6, 1, 1),
     "s1": number(2, 6, 1, 1), "sb1": number(2), "s2": number(6, 2, 1, 1), "sb2": number(6), "fc": number(5, 6 * 3 * 3), "fb": number(5), "half": np.float32(0.5), "mean": number(1, 3, 1, 1)}
nodes = [N("Sub", ["x", "mean"], ["x0"]), N("Mul", ["x0", "half"], ["x1"]), N("Conv", ["x1", "c1", "b1"], ["a"], pads=[1, 1, 1, 1], strides=[2, 2]),
         N("BatchNormalization", ["a", "g", "be", "mu", "va"], ["b"]), N("Relu", ["b"], ["c"]), N("MaxPool", ["c"], ["d"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
         N("Conv", ["d", "dw"], ["e"], group=6, pads=[1, 1, 1, 1]), N("Clip", ["e", "zero", "six"], ["f"]), N("Conv", ["f", "pw"], ["h"]), N("Add", ["h", "d"], ["i"]),
         N("GlobalAveragePool", ["i"], ["s"]), N("Conv", ["s", "s1", "sb1"], ["t"]), N("Relu", ["t"], ["u"]), N("Conv", ["u", "s2", "sb2"], ["v"]), N("Sigmoid", ["v"], ["gate"]),
         N("Mul", ["i", "gate"], ["k"]), N("Flatten", ["k"], ["l"]), N("Gemm", ["l", "fc", "fb"], ["m"], transB=1), N("Softmax", ["m"], ["y"], axis=-1)]
x = number(4, 3, 12, 12)
compare("a residual net with gates", x, graph("torch", x, nodes, {**w, "zero": np.float32(0), "six": np.float32(6)}, [5]))

w = {"c": number(4, 2, 3), "b": number(4), "t": number(4, 3, 4), "tb": number(3), "shape": np.array([0, -1]), "axes": np.array([1]), "p": number(3, 1), "m": number(48, 5), "mb": number(5)}
nodes = [N("Conv", ["x", "c", "b"], ["a"], dilations=[2], pads=[2, 2]), N("Tanh", ["a"], ["b0"]), N("ConvTranspose", ["b0", "t", "tb"], ["d"], strides=[2], pads=[1, 1]), N("PRelu", ["d", "p"], ["e"]),
         N("Concat", ["e", "e"], ["f"], axis=2), N("AveragePool", ["f"], ["g"], kernel_shape=[2], strides=[2]), N("Reshape", ["g", "shape"], ["h"]), N("MatMul", ["h", "m"], ["i"]), N("Add", ["mb", "i"], ["j"]),
         N("Unsqueeze", ["j", "axes"], ["k"]), N("Squeeze", ["k", "axes"], ["l"]), N("LogSoftmax", ["l"], ["y"], axis=1)]
x = number(3, 2, 8)
compare("a sequence net", x, graph("seq", x, nodes, w, [5]))

w = {"c": number(4, 3, 3, 3), "up": np.array([1, 1, 2, 2], "f4")}
nodes = [N("Conv", ["x", "c"], ["a"], pads=[0, 1, 2, 1]), N("Constant", [], ["k"], value=numpy_helper.from_array(np.float32(2.5))), N("Div", ["a", "k"], ["b"]), N("Resize", ["b", "", "up"], ["d"], mode="nearest"),
         N("Transpose", ["d"], ["e"], perm=[0, 2, 3, 1]), N("Softmax", ["e"], ["f"], axis=-1), N("Transpose", ["f"], ["g"], perm=[0, 3, 1, 2]), N("AveragePool", ["g"], ["h"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1),
         N("Transpose", ["h"], ["i"], perm=[0, 1, 3, 2]), N("ReduceMean", ["i"], ["j"], axes=[2, 3], keepdims=0), N("Identity", ["j"], ["y"])]
x = number(2, 3, 6, 7)
compare("layouts", x, graph("layouts", x, nodes, w, [4]))

# view(x.size(0), -1) with constants as newer exporters write them; channels that are split, space that is cut and turned round
w = {"c": number(4, 3, 3, 3), "m": number(40, 5), "end": np.array([2**63 - 1]), "start": np.array([-2**63])}
nodes = [N("Conv", ["x", "c"], ["a"], pads=[1, 1, 1, 1]), N("Split", ["a"], ["p", "q"], axis=1), N("Constant", [], ["two"], value_ints=[2]), N("Constant", [], ["minus"], value_ints=[-1]), N("Constant", [], ["zero"], value_int=0),
         N("Constant", [], ["half"], value_float=0.5), N("Mul", ["q", "half"], ["h"]), N("Slice", ["p", "minus", "start", "two", "minus"], ["r"]), N("Add", ["r", "h"], ["s"]), N("Slice", ["s", "minus6", "end", "three"], ["b"]), N("Gather", ["b", "two"], ["row"], axis=2), N("Add", ["b", "row"], ["d"]),
         N("Slice", ["d", "one", "end", "two"], ["e"]), N("Shape", ["e"], ["sh"]), N("Gather", ["sh", "zero"], ["n"]), N("Unsqueeze", ["n", "axis"], ["n1"]), N("Concat", ["n1", "minus"], ["to"], axis=0), N("Reshape", ["e", "to"], ["g"]), N("MatMul", ["g", "m"], ["y"])]
x = number(2, 3, 5, 7)
compare("parts and reckoned shapes", x, graph("parts", x, nodes, {**w, "minus6": np.array([-5]), "three": np.array([3]), "one": np.array([1]), "axis": np.array([0])}, [5]))

w = {"third": np.array([1, 1, 3], "f4"), "twice": np.array([1, 1, 2], "f4"), "along": number(24), "one": number(1), "channel": number(4, 1)}  # an axis as long as there are channels
nodes = [N("Resize", ["x", "", "third"], ["a"], mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"), N("PRelu", ["a", "one"], ["b"]),
         N("Resize", ["b", "", "twice"], ["c"], mode="nearest", coordinate_transformation_mode="pytorch_half_pixel", nearest_mode="round_prefer_ceil"), N("PRelu", ["c", "along"], ["d"]),
         N("AveragePool", ["d"], ["e"], kernel_shape=[6], strides=[6]), N("PRelu", ["e", "channel"], ["f"]), N("LayerNormalization", ["f", "one4"], ["y"])]
x = number(2, 4, 4)
compare("slopes and factors", x, graph("slopes", x, nodes, {**w, "one4": number(4)}, [4, 4]))

x = number(2, 3, 6, 7)
image, vast = ["n", 3, 6, 7], 2**62
for name, shape, nodes, weights, text in (("negative pads", image, [N("MaxPool", ["x"], ["y"], kernel_shape=[3, 3], pads=[2, 2, 2, 2])], {}, "negative"), ("an operator", image, [N("Einsum", ["x"], ["y"], equation="abcd->ab")], {}, "Einsum"),
                                   ("ceil_mode", image, [N("AveragePool", ["x"], ["y"], kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)], {}, "ceil_mode"),
                                   ("the batch", image, [N("Transpose", ["x"], ["t"], perm=[1, 0, 2, 3]), N("MaxPool", ["t"], ["y"], kernel_shape=[2, 2])], {}, "batch"),
                                   ("more axes than slopes share", ["n", 2, 3, 3, 3, 3], [N("PRelu", ["x", "w"], ["y"])], {"w": number(2, 1, 1, 1, 1)}, "slopes"),
                                   ("axes that are none", image, [N("ReduceMean", ["x"], ["y"], axes=[34, 35])], {}, "these axes"),
                                   ("an axis twice", image, [N("Unsqueeze", ["x", "w"], ["y"])], {"w": np.array([2, 2])}, "twice"),
                                   ("a vast dilation", ["n", 3, 6], [N("Conv", ["x", "w"], ["y"], dilations=[vast], pads=[9, 9])], {"w": number(2, 3, 3)}, "as large"),
                                   ("vast pads", image, [N("Pad", ["x", "w"], ["y"])], {"w": np.array([0, 0, vast, 0, 0, 0, vast, 0])}, "as large"),
                                   ("a vast shape", image, [N("Reshape", ["x", "w"], ["y"])], {"w": np.array([0, vast, 4])}, "this shape"),
                                   ("factors that are none", image, [N("Resize", ["x", "", "w"], ["y"])], {"w": np.array([1, 1, np.nan, 1e30], "f4")}, "factors"),
                                   ("factors of which a number is not repeated alike", image, [N("Resize", ["x", "", "w"], ["y"], coordinate_transformation_mode="asymmetric")], {"w": np.array([1, 1, 2, 3], "f4")}, "factors"),
                                   ("factors rounded down from the middle", image, [N("Resize", ["x", "", "w"], ["y"], nearest_mode="floor")], {"w": np.array([1, 1, 2, 2], "f4")}, "factors"),
                                   ("a computed bound", image, [N("Clip", ["x", "w", "x"], ["y"])], {"w": np.float32(0)}, "no constant"),
                                   ("a computed offset", image, [N("LayerNormalization", ["x", "w", "x"], ["y"])], {"w": number(7)}, "no constant"),
                                   ("a computed number around", image, [N("Pad", ["x", "w", "x"], ["y"])], {"w": np.array([0, 0, 1, 1, 0, 0, 1, 1])}, "no constant"),
                                   ("automatic pads that count", image, [N("AveragePool", ["x"], ["y"], kernel_shape=[2, 2], auto_pad="SAME_UPPER", count_include_pad=1)], {}, "count"),
                                   ("another gamma", image, [N("Selu", ["x"], ["y"], gamma=2.0)], {}, "Selu"),
                                   ("weights that the file does not hold", ["n", 2**14], [N("MatMul", ["x", "w"], ["y"])], {"w": number(2, 2000)}, "expected")):
    g = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)], [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                          [numpy_helper.from_array(v, k) for k, v in weights.items()])
    onnx.save(helper.make_model(g, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "bad.onnx")
    done = run("convert", "bad.onnx", "bad.keras")
    assert done.returncode == 1 and text in done.stderr, (name, done.stderr)
sys.exit(0)
