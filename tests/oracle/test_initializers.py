# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""A model that comes as the text of to_json(): its first weights have Keras' distribution, and depend on the seed alone.

Every variable is compared with a sample that Keras drew: constants exactly, random ones by the Kolmogorov-Smirnov
distance of two samples, mean, deviation and bounds. Orthogonal kernels are multiplied out.
"""

import os

import numpy as np
from oracle import K, L, Failure, Lazy, artel, dataclasses, keras_module, table, weights

I = Lazy("initializers")


@dataclasses.dataclass
class Row:
    name: str
    build: object
    orthogonal: tuple = ()  # parts of paths
    gain: float = 1.0


def dense(init, rows=150, columns=90):
    return lambda: K.Sequential([K.Input((rows,)), L.Dense(columns, kernel_initializer=init())])


def conv(init):
    return lambda: K.Sequential([K.Input((8, 8, 16)), L.Conv2D(48, 3, kernel_initializer=init()), L.Flatten(), L.Dense(2)])


def everything():
    """The defaults of every layer that has variables."""
    i = K.Input((12, 12, 8))
    t = L.SeparableConv2D(32, 3)(L.DepthwiseConv2D(3)(L.Conv2D(24, 3)(i)))
    t = L.LayerNormalization()(L.BatchNormalization()(t))
    t = L.Reshape((36, 32))(t)
    t = L.MultiHeadAttention(4, 16)(t, t)
    t = L.SimpleRNN(40, return_sequences=True)(L.GRU(40, return_sequences=True)(L.LSTM(40, return_sequences=True)(t)))
    return K.Model(i, L.Dense(50)(L.Bidirectional(L.LSTM(20))(t)))


def einsum():
    """Kernels of several contracted and several new axes."""
    i = K.Input((12, 40))
    t = L.EinsumDense("abc,cde->abde", output_shape=(12, 9, 25))(i)
    t = L.EinsumDense("abde,def->abf", output_shape=(12, 30), kernel_initializer="he_normal")(t)
    t = L.EinsumDense("abf,bfg->ag", output_shape=(50,))(t)
    return K.Model(i, L.Dense(2)(t))


def attention():
    """A kernel of three axes is orthogonal as Keras flattens it: all but the last one are rows."""
    i = K.Input((6, 30))
    return K.Model(i, L.Dense(2)(L.MultiHeadAttention(3, 20, kernel_initializer="orthogonal")(i, i)))


ROWS = [
    Row("zeros", dense(lambda: "zeros")),
    Row("ones", dense(lambda: "ones")),
    Row("constant", dense(lambda: I.Constant(0.3))),
    Row("identity", dense(lambda: I.Identity(gain=2.0), 40, 40)),
    Row("random-normal", dense(lambda: "random_normal")),
    Row("random-normal-options", dense(lambda: I.RandomNormal(1.0, 0.2))),
    Row("random-uniform", dense(lambda: "random_uniform")),
    Row("random-uniform-options", dense(lambda: I.RandomUniform(-1.0, 3.0, seed=4))),
    Row("truncated-normal", dense(lambda: I.TruncatedNormal(0.5, 0.3))),
    Row("glorot-uniform", dense(lambda: "glorot_uniform")),
    Row("glorot-normal", dense(lambda: "glorot_normal")),
    Row("he-uniform", dense(lambda: "he_uniform")),
    Row("he-normal", dense(lambda: "he_normal")),
    Row("lecun-uniform", dense(lambda: "lecun_uniform")),
    Row("lecun-normal", dense(lambda: "lecun_normal")),
    Row("variance-scaling", dense(lambda: I.VarianceScaling(2.0, "fan_avg", "untruncated_normal"))),
    Row("variance-scaling-out", dense(lambda: I.VarianceScaling(0.5, "fan_out", "uniform"))),
    Row("orthogonal-tall", dense(lambda: "orthogonal", 120, 60), ("dense/vars/0",)),
    Row("orthogonal-wide", dense(lambda: I.Orthogonal(gain=1.5), 60, 120), ("dense/vars/0",), 1.5),
    Row("conv-glorot-uniform", conv(lambda: "glorot_uniform")),
    Row("conv-he-normal", conv(lambda: "he_normal")),
    Row("conv-lecun-uniform", conv(lambda: "lecun_uniform")),
    Row("embedding", lambda: K.Sequential([K.Input((4,), dtype="int32"), L.Embedding(300, 40), L.Flatten(), L.Dense(2)])),
    Row("lstm", lambda: K.Sequential([K.Input((4, 30)), L.LSTM(40), L.Dense(2)]), ("recurrent",)),
    Row("einsum", einsum),
    Row("einsum-orthogonal", lambda: K.Sequential([K.Input((12, 40)), L.EinsumDense("abc,cde->abde", (12, 9, 25), kernel_initializer="orthogonal"), L.Flatten(), L.Dense(2)]), ("einsum_dense/vars/0",)),
    Row("attention-orthogonal", attention, ("query_dense/vars/0",)),
    Row("defaults-of-layers", everything),
]


def first_weights(folder, text, seed, name):
    """The weights artel starts from: a fit whose learning rate is zero."""
    out = os.path.join(folder, name + ".keras")
    ran = artel("fit", text, "--data", "synthetic:2", "--seed", seed, "--optimizer", "sgd:learning_rate=0", "--loss", "mse", "--batch-size", 2,
                "--verbose", 0, "--output", out)
    if ran.rc != 0:
        raise Failure("fit: exit %d (%s)" % (ran.rc, ran.first))
    return weights(out)


def distance(a, b):
    """Kolmogorov-Smirnov: the largest difference of the two empirical distributions."""
    both = np.sort(np.concatenate([a, b]))
    return float(np.max(np.abs(np.searchsorted(np.sort(a), both, "right") / a.size - np.searchsorted(np.sort(b), both, "right") / b.size)))


def compare(path, mine, theirs):
    """0 .. 1: how much of the allowance is used."""
    if mine.shape != theirs.shape or mine.dtype != theirs.dtype:
        raise Failure("%s: %s %s, Keras has %s %s" % (path, mine.dtype, mine.shape, theirs.dtype, theirs.shape))
    values = np.unique(theirs)
    if len(values) <= 2:  # constants, forget biases, identity
        if not np.array_equal(mine, theirs):
            raise Failure("%s: not Keras' constants %s" % (path, values))
        return 0.0
    allowed = 2.3 * np.sqrt(2 / theirs.size)
    used = distance(mine.ravel(), theirs.ravel()) / allowed
    if used > 1:
        raise Failure("%s: distribution differs (%.2f of the allowance): mean %.4g, Keras %.4g; deviation %.4g, Keras %.4g"
                      % (path, used, mine.mean(), theirs.mean(), mine.std(), theirs.std()))
    if theirs.size > 500 and not np.isclose(np.abs(mine - mine.mean()).max(), np.abs(theirs - theirs.mean()).max(), rtol=0.35):
        raise Failure("%s: bounds %.4g, Keras %.4g" % (path, np.abs(mine).max(), np.abs(theirs).max()))
    return used


def check_orthogonal(path, mine, gain):
    flat = mine.reshape(-1, mine.shape[-1]).astype("f8") / gain
    product = flat.T @ flat if flat.shape[0] >= flat.shape[1] else flat @ flat.T
    if np.max(np.abs(product - np.eye(len(product)))) > 1e-5:
        raise Failure("%s is not orthogonal" % path)


def run(row, index, folder, keras_only):
    keras = keras_module()
    keras.utils.set_random_seed(7 + index)
    keras.backend.clear_session()
    model = row.build()
    text = os.path.join(folder, "model.json")
    with open(text, "w") as f:
        f.write(model.to_json())
    with open(text) as f:
        keras.models.model_from_json(f.read()).save(os.path.join(folder, "theirs.keras"))  # what the text has lost is lost for both
    theirs = weights(os.path.join(folder, "theirs.keras"))
    random = [k for k, v in theirs.items() if len(np.unique(v)) > 2]
    if keras_only:
        return ["", ""]
    one, again, other = (first_weights(folder, text, s, n) for s, n in ((1, "a"), (1, "b"), (2, "c")))
    if set(one) != set(theirs):
        raise Failure("variables %s, Keras has %s" % (sorted(one), sorted(theirs)))
    if any(not np.array_equal(one[k], again[k]) for k in one):
        raise Failure("the same seed gives other weights")
    if any(np.array_equal(one[k], other[k]) for k in random):
        if "seed=" not in row.name and row.name != "random-uniform-options":
            raise Failure("another seed gives the same weights")
    moving = ("batch_normalization/vars/2", "batch_normalization/vars/3")  # the one step of the fit has moved them
    used = max([compare(k, one[k], theirs[k]) for k in theirs if not k.endswith(moving)] + [0.0])
    for part in row.orthogonal:
        for k in one:
            if part in k or (part == "recurrent" and k.endswith("cell/vars/1")):
                check_orthogonal(k, one[k], row.gain)
    for a in random:
        for b in random:
            if a < b and one[a].shape == one[b].shape and np.array_equal(one[a], one[b]):
                raise Failure("%s and %s are the same numbers" % (a, b))
    return [len(one), "%.2f" % used]


if __name__ == "__main__":
    table(ROWS, run, ["variables", "distance"])
