# SPDX-License-Identifier: Apache-2.0
# timeout: 60
"""BatchNormalization and Normalization where the mean is large beside the deviation, and where both are tiny, against float64.

The inputs are float32, and so is the mean that is subtracted: a result may be off by half a step of float32 at the mean, in deviations, and by
nothing more. The training form shows in the loss against a target that is not 0.
"""

import dataclasses
import json
import os

import numpy as np
from oracle import Failure, artel, table


@dataclasses.dataclass
class Row:
    name: str
    mean: float
    deviation: float
    epsilon: float = 1e-3


ROWS = [Row("plain", 0, 1), Row("hundred", 100, 1), Row("ten-thousand", 1e4, 1), Row("million", 1e6, 1), Row("ten-million", 1e7, 2), Row("thousandths", 1, 1e-3),
        Row("near-one", 1, 1e-4, 1e-12), Row("hundredths", 1000, 1e-2, 1e-6), Row("tiny", 1e-8, 1e-8), Row("tiny-and-exact", 1e-8, 1e-8, 1e-20),
        Row("tiny-deviation", 1e-3, 1e-8, 1e-20), Row("tiny-of-tiny", 1e-8, 1e-12, 1e-30)]


def constant(value):
    return {"class_name": "Constant", "config": {"value": float(value)}}


def sequential(*layers):
    first = {"class_name": "InputLayer", "config": {"name": "x", "batch_shape": [None, 3], "dtype": "float32"}}
    return {"class_name": "Sequential", "config": {"name": "m", "layers": [first, *layers]}}


def run(row, index, folder, keras_only):
    rng = np.random.default_rng(index)
    x = (row.mean + row.deviation * rng.standard_normal((256, 3))).astype("f4")
    exact = (x.astype("f8") - x.astype("f8").mean(0)) / np.sqrt(x.astype("f8").var(0) + row.epsilon)
    y = (0.5 * exact + 0.3 * rng.standard_normal(exact.shape)).astype("f4")
    path = lambda name: os.path.join(folder, name)
    np.savez(path("d.npz"), x=x, y=y)
    mean = np.float32(row.mean)
    norm = {"class_name": "BatchNormalization", "config": {"name": "n", "epsilon": row.epsilon, "moving_mean_initializer": constant(mean),
                                                           "moving_variance_initializer": constant(row.deviation ** 2)}}
    with open(path("m.json"), "w") as f:
        json.dump(sequential(norm), f)
    half = np.spacing(np.float32(abs(x.astype("f8").mean()))) / 2 / np.sqrt(row.deviation ** 2 + row.epsilon)
    ran = artel("fit", path("m.json"), "--data", "npz:" + path("d.npz"), "--optimizer", "sgd:learning_rate=0", "--loss", "mse", "--batch-size", 256, "--no-shuffle",
                "--history", path("h.json"), "--output", path("o.keras"), "--verbose", 0)
    if ran.rc:
        raise Failure("fit: " + ran.first)
    with open(path("h.json")) as f:
        loss = json.load(f)["loss"][0]
    wanted = float(((exact - y) ** 2).mean())
    bound = 2 * half * float(np.abs(exact - y).mean()) + half ** 2 + 2e-6 * max(1, wanted)
    if abs(loss - wanted) > bound:
        raise Failure("loss %.8g, in float64 %.8g: further than %.2g" % (loss, wanted, bound))
    ran = artel("predict", path("m.json"), "--data", "npz:" + path("d.npz"), "--output", path("p.npy"))
    if ran.rc:
        raise Failure("predict: " + ran.first)
    variance = np.float32(row.deviation ** 2)
    still = (x.astype("f8") - np.float64(mean)) / np.sqrt(np.float64(variance) + row.epsilon)  # this mean is a float32
    error = float(np.abs(np.load(path("p.npy")) - still).max() / np.abs(still).max())
    if error > 1e-6:
        raise Failure("inference is off by %.2g" % error)
    return ["%.1e" % abs(loss - wanted), "%.1e" % bound, "%.1e" % error]


if __name__ == "__main__":
    table(ROWS, run, ["loss off", "bound", "inference"])
