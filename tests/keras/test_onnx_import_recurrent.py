# SPDX-License-Identifier: Apache-2.0
# Recurrent ONNX nodes as Keras layers: artel's own exports, and graphs in the forms in which PyTorch, tf2onnx and keras2onnx write them (made
# with the package onnx, where it is installed). What comes out has to predict what onnxruntime predicts, in Keras and in artel.
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

ort.set_default_logger_severity(3)  # initializers that a graph does not need
R = np.random.default_rng(4)
os.chdir(tempfile.mkdtemp())


def run(*args):
    return subprocess.run([os.environ["ARTEL"], *args], capture_output=True, text=True, timeout=120)


def number(*shape):
    return R.standard_normal(shape).astype("f4") * np.float32(0.6)


def close(name, got, wanted):
    assert got.shape == wanted.shape, (name, got.shape, wanted.shape)
    error = np.abs(got - wanted).max() / max(1e-3, np.abs(wanted).max())
    assert error < 1e-4, (name, error)


# Axes of the batch in front: what `x` and `wanted` are in ONNX' order is moved there.
def front(array, batch):
    return np.ascontiguousarray(np.moveaxis(array, batch, 0))


def compare(name, feeds, wanted, ins=(), outs=(), layers=None, here=True):
    if os.path.exists("m.keras"):
        os.remove("m.keras")
    done = run("convert", "m.onnx", "m.keras")
    assert done.returncode == 0, (name, done.stderr)
    back = keras.saving.load_model("m.keras")
    feeds = {k: front(v, ins[i] if i < len(ins) else 0) for i, (k, v) in enumerate(feeds.items())}
    wanted = [front(w, outs[i] if i < len(outs) else 0) for i, w in enumerate(wanted)]
    got = back(list(feeds.values()) if len(feeds) > 1 else next(iter(feeds.values())), training=False)
    got = got if isinstance(got, (list, tuple)) else [got]
    assert len(got) == len(wanted), (name, len(got))
    for k in range(len(wanted)):
        close((name, "Keras", k), np.asarray(got[k]), wanted[k])
    if here:
        np.savez("x.npz", **feeds)
        done = run("predict", "m.onnx", "--data", "npz:x.npz", "--output", "y.npz" if len(wanted) > 1 else "y.npy")
        assert done.returncode == 0, (name, done.stderr)
        found = np.load("y.npz" if len(wanted) > 1 else "y.npy")
        found = [found[k] for k in found.files] if len(wanted) > 1 else [found]
        for k in range(len(wanted)):
            close((name, "artel", k), found[k], wanted[k])
    kinds = [type(l).__name__ for l in back.layers if not isinstance(l, L.InputLayer)]
    assert layers is None or kinds == layers, (name, kinds)
    print("ok", name, kinds, flush=True)


def keras_model(name, shape, *layers):
    model = keras.Sequential([keras.Input(shape), *layers])
    for v in model.variables:
        v.assign(v.numpy() + number(*v.shape))
    model.save("k.keras")
    done = run("convert", "k.keras", "m.onnx")
    assert done.returncode == 0, (name, done.stderr)
    x = number(3, *shape)
    compare(name, {"x": x}, [np.asarray(model(x, training=False))])


keras_model("each kind", (6, 4), L.LSTM(5, return_sequences=True), L.GRU(3, return_sequences=True), L.SimpleRNN(4, return_sequences=True, activation="relu"), L.GRU(3, reset_after=False, use_bias=False, go_backwards=True))
keras_model("both directions", (5, 3), L.Bidirectional(L.LSTM(4, return_sequences=True)), L.Bidirectional(L.GRU(3), merge_mode="sum"), L.Dense(2))
if not onnx:
    print("without the package onnx: models of other frameworks are not tried")
    sys.exit(0)

N = helper.make_node
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def weights(op, width, units, directions=1, tag=""):
    g = GATES[op] * units
    return {f"W{tag}": number(directions, g, width), f"R{tag}": number(directions, g, units), f"B{tag}": number(directions, 2 * g)}


def save(file, inputs, nodes, inits, outputs, opset=14):
    dims = {np.float32: TensorProto.FLOAT, np.int64: TensorProto.INT64}
    ports = [helper.make_tensor_value_info(k, dims[v.dtype.type], s) for k, (v, s) in inputs.items()]
    outs = [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) for o in outputs]
    g = helper.make_graph(nodes, "net", ports, outs, [numpy_helper.from_array(np.asarray(v), k) for k, v in inits.items()])
    onnx.save(helper.make_model(g, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), file)


def check(name, inputs, nodes, inits, outputs, ins=(), outs=(), layers=None):
    save("m.onnx", inputs, nodes, inits, outputs)
    feeds = {k: v for k, (v, _) in inputs.items()}
    compare(name, feeds, ort.InferenceSession("m.onnx", providers=["CPUExecutionProvider"]).run(None, feeds), ins, outs, layers)


# -- PyTorch: batch_first=True, two layers in both directions; zeros as many as there are rows, cut for each layer --
x = number(3, 7, 4)
zero = [N("Shape", ["x"], ["s"]), N("Constant", [], ["i0"], value=numpy_helper.from_array(np.int64(0))), N("Gather", ["s", "i0"], ["n0"], axis=0), N("Constant", [], ["ax0"], value=numpy_helper.from_array(np.array([0]))),
        N("Unsqueeze", ["n0", "ax0"], ["n1"]), N("Concat", ["four", "n1", "five"], ["zs"], axis=0), N("ConstantOfShape", ["zs"], ["z"], value=numpy_helper.from_array(np.zeros(1, "f4")))]
cut = [N("Slice", ["z", "b0", "b2", "ax0"], ["h0"]), N("Slice", ["z", "b2", "b4", "ax0"], ["h1"])]
net = [N("Transpose", ["x"], ["t"], perm=[1, 0, 2]), N("LSTM", ["t", "W", "R", "B", "", "h0", "h0"], ["y0", "hn0", "cn0"], hidden_size=5, direction="bidirectional"),
       N("Transpose", ["y0"], ["y1"], perm=[0, 2, 1, 3]), N("Reshape", ["y1", "keep"], ["y2"]), N("LSTM", ["y2", "W2", "R2", "B2", "", "h1", "h1"], ["y3", "hn1", "cn1"], hidden_size=5, direction="bidirectional"),
       N("Transpose", ["y3"], ["y4"], perm=[0, 2, 1, 3]), N("Reshape", ["y4", "keep"], ["y5"]), N("Transpose", ["y5"], ["y6"], perm=[1, 0, 2]), N("MatMul", ["y6", "fc"], ["y7"]), N("Add", ["fb", "y7"], ["y"])]
w = {**weights("LSTM", 4, 5, 2), **weights("LSTM", 10, 5, 2, "2"), "four": np.array([4]), "five": np.array([5]), "b0": np.array([0]), "b2": np.array([2]), "b4": np.array([4]), "keep": np.array([0, 0, -1]), "fc": number(10, 3), "fb": number(3)}
check("torch: two layers, both directions", {"x": (x, ["n", 7, 4])}, zero + cut + net, w, ["y"], layers=["Bidirectional", "Bidirectional", "Dense"])
check("torch: any length", {"x": (x, ["n", "t", 4])}, zero + cut + net, w, ["y"], layers=["Bidirectional", "Bidirectional", "Dense"])
# h_n: Concat of both layers' last states, of which the last two are joined for the head
head = net[:7] + [N("Concat", ["hn0", "hn1"], ["hn"], axis=0), N("Gather", ["hn", "m2"], ["hf"], axis=0), N("Gather", ["hn", "m1"], ["hb"], axis=0), N("Concat", ["hf", "hb"], ["y"], axis=1)]
check("torch: the last states joined", {"x": (x, ["n", 7, 4])}, zero + cut + head[:5] + head[7:], {**w, "m1": np.int64(-1), "m2": np.int64(-2)}, ["y", "hn"], outs=[0, 1])
# GRU; the last step of the sequence
gru = [N("Transpose", ["x"], ["t"], perm=[1, 0, 2]), N("GRU", ["t", "W", "R", "B"], ["y0", "h0"], hidden_size=5, linear_before_reset=1), N("Squeeze", ["y0", "a1"], ["y1"]), N("Transpose", ["y1"], ["y2"], perm=[1, 0, 2])]
w = {**weights("GRU", 4, 5), "a1": np.array([1]), "m1": np.int64(-1), "g": number(5, 3), "gb": number(3)}
last = gru + [N("Gather", ["y2", "m1"], ["y3"], axis=1), N("Gemm", ["y3", "g", "gb"], ["y"])]
check("torch: the last step", {"x": (x, ["n", 7, 4])}, last, w, ["y"], layers=["GRU", "Dense"])
check("torch: the last step of any length", {"x": (x, ["n", "t", 4])}, last, w, ["y"], layers=["GRU", "Dense"])
tail = gru + [N("Slice", ["y2", "m1s", "end", "a1"], ["y3"]), N("Squeeze", ["y3", "a1"], ["y"])]
check("the last step, cut", {"x": (x, ["n", 7, 4])}, tail, {**w, "m1s": np.array([-1]), "end": np.array([2**63 - 1])}, ["y"], layers=["GRU"])
mid = gru + [N("Slice", ["y2", "two", "five", "a1"], ["y3"]), N("Relu", ["y3"], ["y4"]), N("Gather", ["y2", "three"], ["y"], axis=1)]
check("steps between", {"x": (x, ["n", 7, 4])}, mid, {**w, "two": np.array([2]), "five": np.array([5]), "three": np.int64(3)}, ["y4", "y"])
# batch_first=False: time in front from the first to the last, states given and returned
t, h, c = number(7, 3, 4), number(1, 3, 5), number(1, 3, 5)
lstm = [N("Dropout", ["x"], ["d"]), N("LSTM", ["d", "W", "R", "B", "", "h", "c"], ["y0", "hn", "cn"], hidden_size=5), N("Squeeze", ["y0", "a1"], ["y1"]), N("MatMul", ["y1", "fc"], ["y2"]), N("Add", ["y2", "fb"], ["y3"]), N("Tanh", ["y3"], ["y4"]),
        N("LogSoftmax", ["y4"], ["y"], axis=2)]
w = {**weights("LSTM", 4, 5), "a1": np.array([1]), "fc": number(5, 3), "fb": number(3)}
check("torch: time in front, states from outside", {"x": (t, [7, "n", 4]), "h": (h, [1, "n", 5]), "c": (c, [1, "n", 5])}, lstm, w, ["y", "hn", "cn"], ins=[1, 1, 1], outs=[1, 1, 1])
h, c = number(2, 3, 5), number(2, 3, 5)
both = [N("LSTM", ["x", "W", "R", "B", "", "h", "c"], ["y", "hn", "cn"], hidden_size=5, direction="bidirectional")]
check("states of both directions", {"x": (t, [7, "n", 4]), "h": (h, [2, "n", 5]), "c": (c, [2, "n", 5])}, both, weights("LSTM", 4, 5, 2), ["y", "hn", "cn"], ins=[1, 1, 1], outs=[2, 1, 1])

# -- tf2onnx: states as Expand of zeros by a shape that is cut and joined; an Embedding in front --
ids = R.integers(0, 9, (3, 7))
nodes = [N("Gather", ["E", "x"], ["e"], axis=0), N("Transpose", ["e"], ["t"], perm=[1, 0, 2]), N("Shape", ["e"], ["s"]), N("Cast", ["s"], ["s1"], to=6), N("Slice", ["s1", "b0", "b1", "b0"], ["s2"]), N("Cast", ["s2"], ["s3"], to=7),
         N("Concat", ["s3", "five"], ["s4"], axis=0), N("Expand", ["zero", "s4"], ["z"]), N("Unsqueeze", ["z", "b0"], ["z1"]), N("LSTM", ["t", "W", "R", "B", "", "z1", "z1"], ["y0", "", ""], hidden_size=5, direction="forward"),
         N("Squeeze", ["y0", "b1"], ["y1"]), N("Slice", ["y1", "m1", "end", "b0"], ["y2"]), N("Squeeze", ["y2", "b0"], ["y3"]), N("MatMul", ["y3", "fc"], ["y4"]), N("Sigmoid", ["y4"], ["y"])]
w = {**weights("LSTM", 4, 5), "E": number(9, 4), "b0": np.array([0]), "b1": np.array([1]), "m1": np.array([-1]), "end": np.array([2**31 - 1]), "five": np.array([5]), "zero": np.zeros((), "f4"), "fc": number(5, 1)}
check("tf2onnx: words", {"x": (ids, ["n", 7])}, nodes, w, ["y"], layers=["Embedding", "LSTM", "Dense", "Activation"])
# backwards, with the sequence; hard sigmoid as Keras 3 has it, and relu
nodes = [N("Transpose", ["x"], ["t"], perm=[1, 0, 2]), N("RNN", ["t", "W", "R", "B"], ["y0"], hidden_size=5, direction="reverse", activations=["Relu"]), N("Squeeze", ["y0", "a1"], ["y1"]),
         N("GRU", ["y1", "W2", "R2"], ["", "h0"], hidden_size=3, activations=["HardSigmoid", "Softsign"], activation_alpha=[1 / 6], activation_beta=[0.5]), N("Squeeze", ["h0", "a0"], ["y2"]), N("Transpose", ["y1"], ["y"], perm=[1, 0, 2])]
w = {**weights("RNN", 4, 5), **weights("GRU", 5, 3, 1, "2"), "a0": np.array([0]), "a1": np.array([1])}
del w["B2"]
check("tf2onnx: backwards", {"x": (x, ["n", 7, 4])}, nodes, w, ["y", "y2"], layers=["SimpleRNN", "GRU"])

# -- keras2onnx: the batch brought to the front of all four axes --
nodes = [N("Transpose", ["x"], ["t"], perm=[1, 0, 2]), N("GRU", ["t", "W", "R", "B"], ["y0", "h0"], hidden_size=5, direction="bidirectional", linear_before_reset=0), N("Transpose", ["y0"], ["y1"], perm=[2, 0, 1, 3]), N("Reshape", ["y1", "flat"], ["y2"]),
         N("Transpose", ["y2"], ["t2"], perm=[1, 0, 2]), N("LSTM", ["t2", "W2", "R2", "B2"], ["", "h2", "c2"], hidden_size=3), N("Transpose", ["h2"], ["h3"], perm=[1, 0, 2]), N("Squeeze", ["h3", "a1"], ["y"]), N("Reshape", ["c2", "c"], ["cs"])]
w = {**weights("GRU", 4, 5, 2), **weights("LSTM", 10, 3, 1, "2"), "flat": np.array([-1, 7, 10]), "a1": np.array([1]), "c": np.array([-1, 3])}
check("keras2onnx", {"x": (x, ["n", 7, 4])}, nodes, w, ["y", "cs"], layers=["Bidirectional", "LSTM"])
nodes = [N("Transpose", ["x"], ["t"], perm=[1, 0, 2]), N("GRU", ["t", "W", "R", "B"], ["y0", "h0"], hidden_size=5, direction="bidirectional"), N("Transpose", ["h0"], ["h1"], perm=[1, 0, 2]), N("Flatten", ["h1"], ["y"])]
check("keras2onnx: the last states", {"x": (x, ["n", 7, 4])}, nodes, w, ["y"], layers=["Bidirectional"])
nodes = [N("Transpose", ["x"], ["t"], perm=[1, 0, 2]), N("GRU", ["t", "W", "R", "B"], ["y0", "h0"], hidden_size=5, direction="bidirectional"), N("Split", ["y0"], ["f", "b"], axis=1), N("Squeeze", ["f", "a1"], ["f1"]), N("Squeeze", ["b", "a1"], ["b1"]),
         N("Sub", ["f1", "b1"], ["s"]), N("Transpose", ["s"], ["y"], perm=[1, 0, 2])]
check("directions apart", {"x": (x, ["n", 7, 4])}, nodes, w, ["y"])

# -- layout 1, which onnxruntime does not compute: what the same net with layout 0 gives --
w = weights("LSTM", 4, 5, 2)
save("m.onnx", {"x": (t, [7, "n", 4])}, [N("LSTM", ["x", "W", "R", "B"], ["y", "hn", "cn"], hidden_size=5, direction="bidirectional")], w, ["y", "hn"])
y, hn = ort.InferenceSession("m.onnx", providers=["CPUExecutionProvider"]).run(None, {"x": t})
save("m.onnx", {"x": (front(t, 1), ["n", 7, 4])}, [N("LSTM", ["x", "W", "R", "B"], ["y", "hn", "cn"], hidden_size=5, direction="bidirectional", layout=1)], w, ["y", "hn"])
compare("the batch in front", {"x": front(t, 1)}, [y, hn], outs=[2, 1])

# -- it trains on --
save("m.onnx", {"x": (x, ["n", 7, 4])}, last, {**weights("GRU", 4, 5), "a1": np.array([1]), "m1": np.int64(-1), "g": number(5, 3), "gb": number(3)}, ["y"])
done = run("fit", "m.onnx", "--loss", "mse", "--optimizer", "sgd:learning_rate=0.001", "--data", "synthetic:8", "--batch-size", "4", "--verbose", "0", "--output", "t.keras")
assert done.returncode == 0 and run("convert", "m.onnx", "m.keras").returncode == 0, done.stderr
before, after = (keras.saving.load_model(f).get_weights() for f in ("m.keras", "t.keras"))
assert len(before) == 5 and all(0 < np.abs(a - b).max() < 0.1 for a, b in zip(before, after)), "every weight moves a little"

seq = {"x": (t, [7, "n", 4])}
w = weights("LSTM", 4, 5)
lens = helper.make_tensor_value_info("l", TensorProto.INT32, ["n"])
for name, op, kwargs, more, text in (("clip", "LSTM", {"clip": 3.0}, [], "clip"), ("input_forget", "LSTM", {"input_forget": 1}, [], "input_forget"), ("lengths", "LSTM", {}, ["L"], "sequence_lens"),
                                     ("peepholes", "LSTM", {}, ["", "", "", "P"], "peepholes"), ("constant states", "LSTM", {}, ["", "S", "S"], "constants other than zeros"), ("one state", "LSTM", {}, ["", "x"], "one initial state"),
                                     ("states of another shape", "LSTM", {}, ["", "x", "x"], "another shape"), ("hard sigmoid of Keras 2", "LSTM", {"activations": ["HardSigmoid", "Tanh", "Tanh"]}, [], "activations"),
                                     ("an activation", "LSTM", {"activations": ["Sigmoid", "Affine", "Tanh"]}, [], "activations"), ("two activations", "LSTM", {"activations": ["Sigmoid", "Tanh", "Relu"]}, [], "other activations"),
                                     ("hidden_size", "LSTM", {"hidden_size": 4}, [], "other shapes"), ("another direction", "LSTM", {"direction": "bidirectional"}, [], "other shapes"), ("a direction that is none", "LSTM", {"direction": "up"}, [], "direction"),
                                     ("weights of another kind", "GRU", {}, [], "other shapes"), ("layout", "LSTM", {"layout": 2}, [], "layout")):
    node = N(op, ["x", "W", "R", "B", *more], ["y"], **{"hidden_size": 5, **kwargs})
    save("bad.onnx", seq, [node], {**w, "P": number(1, 15), "S": number(1, 3, 5), "L": np.array([7, 6, 5], "i4")}, ["y"])
    done = run("convert", "bad.onnx", "bad.keras")
    assert done.returncode == 1 and text in done.stderr and op in done.stderr, (name, done.stderr)
pre = N("LSTM", ["x", "W", "R", "B"], ["y0", "h0"], hidden_size=5)
bat = N("Transpose", ["y0"], ["y1"], perm=[2, 0, 1, 3])
for name, nodes, inits, text in (("an image of it", [pre, N("MaxPool", ["y0"], ["y"], kernel_shape=[2, 2])], {}, "first axis is not the batch"),
                                 ("joined with the batch", [pre, N("Reshape", ["y0", "r"], ["y"])], {"r": np.array([-1, 5])}, "batch with other axes"), ("cut from the batch", [pre, N("Slice", ["y0", "r", "q", "a"], ["y"])], {"r": np.array([0]), "q": np.array([1]), "a": np.array([2])}, "of the batch"),
                                 ("places beyond", [pre, bat, N("Gather", ["y1", "r"], ["y"], axis=1)], {"r": np.int64(9)}, "places that are none"), ("no places", [pre, bat, N("Slice", ["y1", "r", "q", "a"], ["y"])], {"r": np.array([3]), "q": np.array([3]), "a": np.array([1])}, "no places"),
                                 ("every second", [pre, bat, N("Slice", ["y1", "r", "q", "a", "st"], ["y"])], {"r": np.array([0]), "q": np.array([7]), "a": np.array([1]), "st": np.array([2])}, "this step"),
                                 ("zeros as a value", [pre, N("Shape", ["y0"], ["s"]), N("ConstantOfShape", ["s"], ["z"]), N("Add", ["y0", "z"], ["y"])], {}, "initial states"), ("ones", [pre, N("Shape", ["y0"], ["s"]), N("Expand", ["r", "s"], ["y"])], {"r": np.ones(1, "f4")}, "zeros"),
                                 ("a squeezed axis", [pre, N("Squeeze", ["y0", "a"], ["y"])], {"a": np.array([0])}, "more places"), ("added across", [pre, bat, N("Add", ["y0", "y1"], ["y"])], {}, "same axis")):
    save("bad.onnx", seq, nodes, {**w, **inits}, ["y"])
    done = run("convert", "bad.onnx", "bad.keras")
    assert done.returncode == 1 and text in done.stderr, (name, done.stderr)
sys.exit(0)
