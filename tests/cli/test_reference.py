# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""The runs of one process that tests of clusters, storms, services and resumption compare others with, beside Keras: two runs that agree
may be equally wrong.

The models, data and options are those of cli.py and cluster.py, without dropout and in the order of the files: histories, weights,
evaluate and predict are Keras' within float32.
"""

import dataclasses
import json
import os
import re

import numpy as np
from cli import MODELS, arrays, expect, save_arrays, scheduled
from cluster import wide
from oracle import K, Failure, artel, history_error, keras_module, predict_error, table, weight_error, weights

ROWS, EPOCHS = 500, 2


@dataclasses.dataclass
class Row:
    name: str
    build: object
    data: str
    random: str = r'"(rate|dropout)": 0\.\d+'
    tolerance: float = 2e-4  # of the history; a threshold of AUC or a tie of classes may fall to the other side


TABLE = [Row("mlp", MODELS["mlp"], "mlp"), Row("cnn", MODELS["cnn"], "cnn"), Row("transformer", MODELS["transformer"], "transformer"),
         Row("lstm", MODELS["lstm"], "lstm", tolerance=3e-3), Row("scheduled", scheduled, "mlp"), Row("wide", wide, "mlp")]


def without_dropout(row, path):
    """The model of the row, its random parts off; it goes to the file."""
    keras = keras_module()
    keras.backend.clear_session()
    keras.utils.set_random_seed(11)
    given = row.build()
    text, count = re.subn(row.random, lambda m: '"%s": 0.0' % m.group(1), given.to_json())
    expect(count > 0, "no dropout in", row.name)
    model = keras.models.model_from_json(text)
    model.set_weights(given.get_weights())
    model.compile_from_config(given.get_compile_config())
    model.save(path)
    return model


def run(row, index, folder, keras_only):
    path = lambda name: os.path.join(folder, name)
    model = without_dropout(row, path("m.keras"))
    x, y = arrays(row.data, ROWS)
    data = save_arrays(row.data, path("d.npz"), ROWS)
    theirs = model.fit(x, y, validation_split=0.2, epochs=EPOCHS, shuffle=False, verbose=0).history
    model.save(path("keras.keras"))
    if keras_only:
        return ["-"] * 4
    ran = artel("fit", path("m.keras"), "--data", data, "--validation-split", 0.2, "--epochs", EPOCHS, "--no-shuffle", "--threads", 1, "--verbose", 0,
                "--output", path("o.keras"), "--history", path("h.json"))
    expect(ran.rc == 0, "fit:", ran.err)
    with open(path("h.json")) as f:
        history, where = history_error(json.load(f), theirs)
    if history > row.tolerance:
        raise Failure("history: %s" % where)
    error, place, _ = weight_error(weights(path("o.keras")), weights(path("keras.keras")), absolute=5e-4)
    if error > 1:
        raise Failure("weights: %s is off by %.2g" % (place, error))
    theirs = K.models.load_model(path("o.keras"))
    ran = artel("predict", path("o.keras"), "--data", data, "--output", path("p.npy"))
    expect(ran.rc == 0, "predict:", ran.err)
    predicted = predict_error([np.load(path("p.npy"))], [theirs.predict(x, verbose=0)])
    if predicted > 1e-5:
        raise Failure("predict is off by %.2g" % predicted)
    wanted = theirs.evaluate(x, y, verbose=0, return_dict=True)
    ran = artel("evaluate", path("o.keras"), "--data", data, "--json")
    expect(ran.rc == 0, "evaluate:", ran.err)
    said = ran.events("evaluate")[0]
    evaluated = max(abs(said[k] - v) / max(1, abs(v)) for k, v in wanted.items())
    if evaluated > row.tolerance:
        raise Failure("evaluate: %s, Keras has %s" % (said, wanted))
    return ["%.1e" % e for e in (history, error, predicted, evaluated)]


if __name__ == "__main__":
    table(TABLE, run, ["history", "weights", "predict", "evaluate"])
