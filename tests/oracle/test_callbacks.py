# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Callbacks given as Keras records, validation_split, initial_epoch, steps_per_epoch, scores in lists, weights by output: as real Keras does it."""

import dataclasses
import csv
import json
import os
import re

import numpy as np
from oracle import K, L, M, O, Failure, artel, history_error, keras_module, rng_of, table, weight_error, weights


@dataclasses.dataclass
class Row:
    name: str
    callbacks: list = ()  # (class name, config)
    keras: dict = None  # arguments of Keras' fit
    args: tuple = ()  # arguments of artel's fit
    files: tuple = ()  # that both must have written
    epochs: int = 10
    optimizer: object = None
    metrics: object = None
    classes: bool = False  # of softmax, one-hot
    data: str = ""
    weights: bool = False  # two outputs, sample weights for each
    fails: str = ""  # Keras raises an error, and artel names this
    restored: bool = False  # a run of three epochs that another one of six goes on with


SCHEDULE = {"class_name": "ExponentialDecay", "module": "keras.optimizers.schedules", "registered_name": None,
            "config": {"initial_learning_rate": 0.1, "decay_steps": 3, "decay_rate": 0.5, "staircase": False, "name": "ExponentialDecay"}}
SPLIT = dict(keras={"validation_split": 0.3}, args=("--validation-split", 0.3))

ROWS = [
    Row("validation-split", **SPLIT, epochs=3),
    Row("validation-split-odd", keras={"validation_split": 0.17}, args=("--validation-split", 0.17), epochs=3),
    Row("initial-epoch", keras={"initial_epoch": 3}, args=("--initial-epoch", 3), epochs=6),
    Row("steps-per-epoch", keras={"steps_per_epoch": 4}, args=("--steps-per-epoch", 4), epochs=2),
    Row("steps-per-epoch-uneven", keras={"steps_per_epoch": 7}, args=("--steps-per-epoch", 7), epochs=5),
    Row("steps-per-epoch-beyond", keras={"steps_per_epoch": 14}, args=("--steps-per-epoch", 14), epochs=3),
    Row("early-stopping", [("EarlyStopping", {"monitor": "loss", "min_delta": 0.05})]),
    Row("early-stopping-patience", [("EarlyStopping", {"monitor": "val_loss", "patience": 2})], **SPLIT, epochs=40, optimizer=lambda: O.SGD(0.3)),
    Row("early-stopping-restore", [("EarlyStopping", {"monitor": "val_loss", "patience": 3, "restore_best_weights": True})], **SPLIT, epochs=40,
        optimizer=lambda: O.SGD(0.3)),
    Row("early-stopping-restore-at-end", [("EarlyStopping", {"monitor": "val_mae", "patience": 50, "restore_best_weights": True, "mode": "min"})],
        **SPLIT, epochs=12, optimizer=lambda: O.SGD(0.3)),
    Row("early-stopping-max", [("EarlyStopping", {"monitor": "val_mae", "mode": "max", "patience": 2})], **SPLIT),
    Row("mode-auto-up", [("EarlyStopping", {"monitor": "val_gap", "patience": 2}), ("ReduceLROnPlateau", {"monitor": "val_gap", "patience": 1})],
        **SPLIT, optimizer=lambda: O.SGD(0.3), metrics=lambda: [M.CosineSimilarity(name="gap")]),
    Row("mode-auto-down", [("EarlyStopping", {"monitor": "val_accuracy_gap", "patience": 2})],
        **SPLIT, optimizer=lambda: O.SGD(0.3), metrics=lambda: [M.RootMeanSquaredError(name="accuracy_gap")]),
    Row("early-stopping-baseline", [("EarlyStopping", {"monitor": "val_loss", "baseline": 0.01, "patience": 3})], **SPLIT),
    Row("early-stopping-start", [("EarlyStopping", {"monitor": "val_loss", "min_delta": 10.0, "start_from_epoch": 4})], **SPLIT),
    Row("plateau", [("ReduceLROnPlateau", {"monitor": "loss", "factor": 0.3, "patience": 1, "min_delta": 0.1})]),
    Row("plateau-cooldown", [("ReduceLROnPlateau", {"monitor": "val_loss", "factor": 0.5, "patience": 2, "cooldown": 2, "min_lr": 0.004,
                                                     "min_delta": 0.05})], **SPLIT, epochs=16),
    Row("plateau-adam", [("ReduceLROnPlateau", {"monitor": "loss", "factor": 0.1, "patience": 1, "min_delta": 1.0})],
        optimizer=lambda: O.Adam(0.01)),
    Row("rates-by-epoch", [("LearningRateScheduler", {"schedule": [0.1, 0.1, 0.05, 0.01, 0.2]})], epochs=5),
    Row("rates-by-schedule", [("LearningRateScheduler", {"schedule": SCHEDULE})], epochs=6),
    Row("two", [("EarlyStopping", {"monitor": "val_loss", "patience": 4}), ("ReduceLROnPlateau", {"monitor": "val_loss", "patience": 1, "factor": 0.5})],
        **SPLIT, epochs=30, optimizer=lambda: O.SGD(0.3)),
    Row("csv-logger", [("CSVLogger", {"filename": "@/log.csv"})], **SPLIT, epochs=3, files=("log.csv",)),
    Row("csv-logger-separator", [("CSVLogger", {"filename": "@/log.csv", "separator": ";"})], epochs=2, files=("log.csv",)),
    Row("csv-logger-before-the-rate", [("CSVLogger", {"filename": "@/log.csv"}), ("ReduceLROnPlateau", {"monitor": "loss", "patience": 1, "min_delta": 5.0})],
        epochs=3, files=("log.csv",)),
    Row("csv-logger-behind-the-rate", [("ReduceLROnPlateau", {"monitor": "loss", "patience": 1, "min_delta": 5.0}), ("CSVLogger", {"filename": "@/log.csv"})],
        epochs=3, files=("log.csv",)),
    Row("csv-logger-between-rates", [("ReduceLROnPlateau", {"monitor": "loss", "patience": 1, "min_delta": 5.0}), ("CSVLogger", {"filename": "@/log.csv"}),
                                     ("LearningRateScheduler", {"schedule": [0.1, 0.05, 0.02, 0.2]})], epochs=4, files=("log.csv",)),
    Row("csv-logger-among-plateaus", [("ReduceLROnPlateau", {"monitor": "loss", "patience": 1, "min_delta": 5.0}),
                                      ("ReduceLROnPlateau", {"monitor": "loss", "patience": 1, "factor": 0.5, "min_delta": 5.0}), ("CSVLogger", {"filename": "@/log.csv"}),
                                      ("ReduceLROnPlateau", {"monitor": "mae", "patience": 1, "factor": 0.3, "min_delta": 5.0})], epochs=4, files=("log.csv",)),
    Row("validation-epochs", keras={"validation_split": 0.3, "validation_freq": [2, 5]}, args=("--validation-split", 0.3, "--validation-freq", "2,5"), epochs=6),
    Row("validation-epochs-one", keras={"validation_split": 0.3, "validation_freq": [3]}, args=("--validation-split", 0.3, "--validation-freq", "[3]"), epochs=4),
    Row("validation-frequency", keras={"validation_split": 0.3, "validation_freq": 3}, args=("--validation-split", 0.3, "--validation-freq", 3), epochs=7),
    Row("model-checkpoint-formats", [("ModelCheckpoint", {"filepath": "@/{{e}}{epoch:_>4}-{val_loss:6.2f}-{mae:+.1%}-{loss:.1e}.keras"})], **SPLIT, epochs=2, files=("*",)),
    Row("model-checkpoint", [("ModelCheckpoint", {"filepath": "@/e{epoch:02d}.keras"})], epochs=3, files=("e01.keras", "e02.keras", "e03.keras")),
    Row("model-checkpoint-best", [("ModelCheckpoint", {"filepath": "@/best.keras", "monitor": "val_loss", "save_best_only": True})], **SPLIT,
        epochs=12, files=("best.keras",), optimizer=lambda: O.SGD(0.3)),
    Row("model-checkpoint-weights", [("ModelCheckpoint", {"filepath": "@/w.weights.h5", "save_weights_only": True, "monitor": "mae", "mode": "max",
                                                          "save_best_only": True})], epochs=4, files=("w.weights.h5",)),
    Row("model-checkpoint-metric-in-name", [("ModelCheckpoint", {"filepath": "@/{epoch}-{val_loss:.2f}.keras"})], **SPLIT, epochs=2, files=("*",)),
    Row("model-checkpoint-steps", [("ModelCheckpoint", {"filepath": "@/s.keras", "save_freq": 7})], epochs=2, files=("s.keras",)),
    Row("model-checkpoint-steps-best", [("ModelCheckpoint", {"filepath": "@/s.keras", "save_freq": 3, "monitor": "val_loss", "save_best_only": True})],
        **SPLIT, epochs=2, files=("s.keras",)),
    Row("terminate-on-nan", [("TerminateOnNaN", {})], epochs=4),
    Row("terminate-on-nan-with-an-error", [("TerminateOnNaN", {"raise_error": True})], optimizer=lambda: O.SGD(1e30), fails="the loss of batch"),
    Row("swap-averages", [("SwapEMAWeights", {})], **SPLIT, epochs=3, optimizer=lambda: O.SGD(0.1, use_ema=True, ema_momentum=0.8)),
    Row("swap-averages-saved", [("SwapEMAWeights", {"swap_on_epoch": True}), ("ModelCheckpoint", {"filepath": "@/e{epoch}.keras"})], **SPLIT, epochs=3,
        files=("e1.keras", "e2.keras", "e3.keras"), optimizer=lambda: O.SGD(0.1, use_ema=True, ema_momentum=0.8)),
]


def by_class():
    return [M.F1Score(name="f1"), M.FBetaScore(beta=2.0, threshold=0.4), M.Precision(thresholds=[0.6, 0.3, 0.5], name="p"),
            M.Recall(thresholds=[0.0, 0.5, 1.0]), M.Recall(thresholds=[0.3, 0.3, 0.7], class_id=1, name="r1"),
            M.Precision(thresholds=[0.1, 0.4], top_k=2, name="top"), K.losses.huber, K.losses.log_cosh]


LISTS = dict(classes=True, metrics=by_class, epochs=2, optimizer=lambda: O.SGD(0.3))
ROWS += [
    Row("scores-by-class", [("CSVLogger", {"filename": "@/log.csv"})], keras={"validation_split": 0.3}, args=("--validation-split", 0.3),
        files=("log.csv",), **LISTS),
    Row("scores-by-class-two-replicas", args=("--replicas", 2), **LISTS),
    Row("backup-restored", optimizer=lambda: O.SGD(0.05, momentum=0.9), restored=True),
    Row("weights-by-output", weights=True, epochs=2),
    Row("weights-by-output-listed", weights=True, epochs=2, keras={"validation_split": 0.25},
        args=("--validation-split", 0.25), data="#x,q,p,q_sample_weight,p_sample_weight"),
]


def flat(history):
    """Lists of numbers only: an element of a list that is a value gets a name of its own."""
    said = {}
    for key, values in history.items():
        values = np.asarray(values, "f8")
        said.update({key: values.tolist()} if values.ndim == 1 else {"%s[%d]" % (key, i): values[:, i].tolist() for i in range(values.shape[1])})
    return said


def make_callbacks(row, folder):
    keras, made = keras_module(), []
    for name, config in row.callbacks:
        config = {k: v.replace("@", folder) if isinstance(v, str) else v for k, v in config.items()}
        if name == "LearningRateScheduler":
            schedule = config["schedule"]
            if isinstance(schedule, list):
                config["schedule"] = lambda epoch, _, rates=schedule: rates[epoch]
            else:
                made_schedule = keras.optimizers.schedules.deserialize(schedule)
                config["schedule"] = lambda epoch, _: float(made_schedule(epoch))
        made.append(getattr(keras.callbacks, name)(**config))
    return made


NUMBER = re.compile(r"-?\d[\d.e+-]*")


def alike(p, q):
    """Two fields of a CSV file: the same text around numbers that are near."""
    a, b = NUMBER.findall(p), NUMBER.findall(q)
    return NUMBER.sub("#", p) == NUMBER.sub("#", q) and len(a) == len(b) and all(abs(float(m) - float(n)) <= 2e-4 for m, n in zip(a, b))


def compare_files(row, theirs, mine):
    names = sorted(os.listdir(theirs))
    if sorted(os.listdir(mine)) != names:
        raise Failure("files %s, Keras wrote %s" % (sorted(os.listdir(mine)), names))
    for name in names:
        a, b = os.path.join(mine, name), os.path.join(theirs, name)
        if name.endswith((".keras", ".h5")):
            w, path, _ = weight_error(weights(a), weights(b))
            if w > 1:
                raise Failure("%s: weights differ by %.3g tolerances: %s" % (name, w, path))
            continue
        rows = [list(csv.reader(open(f, newline=""), delimiter=";" if "separator" in row.name else ",")) for f in (a, b)]
        if rows[0][0] != rows[1][0] or len(rows[0]) != len(rows[1]):
            raise Failure("%s: %s, Keras wrote %s" % (name, rows[0][:2], rows[1][:2]))
        if any(p != q and not alike(p, q) for r, s in zip(rows[0][1:], rows[1][1:]) for p, q in zip(r, s)):
            raise Failure("%s: other values" % name)


def build(row, folder):
    """Model, inputs, targets and sample weights; d.npz holds the same."""
    rng = rng_of("callbacks")
    x = rng.standard_normal((80, 6)).astype("f4")
    y = (np.tanh(x[:, :2] - x[:, 2:4]) + 0.3 * rng.standard_normal((80, 2))).astype("f4")
    np.savez(os.path.join(folder, "d.npz"), x=x, y=y)
    if row.classes:
        y = np.eye(3, dtype="f4")[np.argmax(x[:, :3] + y[:, :1], -1)]
        np.savez(os.path.join(folder, "d.npz"), x=x, y=y)
    if row.weights:
        i = K.Input((6,), name="x")
        h = L.Dense(12, activation="tanh")(i)
        model = K.Model(i, [L.Dense(2, name="q")(h), L.Dense(1, activation="sigmoid", name="p")(h)])
        model.compile(O.SGD(0.1), ["mse", "binary_crossentropy"], weighted_metrics=[["mae"], ["accuracy"]], metrics=[["mse"], []])
        q, p = y, (y[:, :1] > 0).astype("f4")
        w = [rng.uniform(0, 3, len(x)).astype("f4") for _ in range(2)]
        np.savez(os.path.join(folder, "d.npz"), x=x, q=q, p=p, q_sample_weight=w[0], p_sample_weight=w[1])
        return model, x, [q, p], {"sample_weight": w}
    model = K.Sequential([K.Input((6,)), L.Dense(12, activation="tanh"), L.Dense(3, activation="softmax") if row.classes else L.Dense(2)])
    model.compile(row.optimizer() if row.optimizer else O.SGD(0.05), "categorical_crossentropy" if row.classes else "mse", metrics=row.metrics() if row.metrics else ["mae"])
    return model, x, y, {}


def restored(row, folder, keras_only):
    """BackupAndRestore: where a second run begins, its weights beside those of a run that nothing stopped, the folder's life; and what Keras
    does with a copy from the midst of an epoch, which docs/callbacks.md tells."""
    path = lambda *names: os.path.join(folder, *names)
    model, x, y, _ = build(row, folder)
    model.save(path("start.keras"))
    backup = keras_module().callbacks.BackupAndRestore

    class Stop(keras_module().callbacks.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            if self.model.optimizer.iterations == 27:
                raise KeyboardInterrupt

    def keras_fit(epochs, *callbacks):
        again = keras_module().models.load_model(path("start.keras"))
        again.jit_compile = False
        history = again.fit(x, y, batch_size=8, epochs=epochs, shuffle=False, verbose=0, callbacks=list(callbacks)).history
        again.save(path("theirs.keras"))
        return history, weights(path("theirs.keras"))

    whole, aim = keras_fit(6)
    keras_fit(3, backup(path("k"), delete_checkpoint=False))
    if not os.path.exists(path("k")):
        raise Failure("Keras deletes what it was told to keep")
    history, theirs = keras_fit(6, backup(path("k")))
    if len(history["loss"]) != 3 or weight_error(theirs, aim)[0] > 1 or os.path.exists(path("k")):
        raise Failure("Keras goes on elsewhere than with the fourth epoch, or keeps its folder: %s" % history["loss"])
    try:
        keras_fit(6, backup(path("m"), save_freq=7), Stop())  # stopped behind 27 batches of 60, saved behind 21
    except KeyboardInterrupt:
        pass
    history, theirs = keras_fit(6, backup(path("m"), save_freq=7))
    if len(history["loss"]) != 4 or weight_error(theirs, aim)[0] <= 1:
        raise Failure("Keras goes on in the midst of an epoch: mend docs/callbacks.md")
    if keras_only:
        return [6, "", ""]
    for epochs, deletes in ((3, False), (6, False), (6, True)):
        with open(path("c.json"), "w") as f:
            json.dump([{"class_name": "BackupAndRestore", "config": {"backup_dir": path("a"), "delete_checkpoint": deletes}}], f)
        ran = artel("fit", path("start.keras"), "--data", "npz:" + path("d.npz"), "--no-shuffle", "--batch-size", 8, "--epochs", epochs, "--verbose", 0, "--history",
                    path("h.json"), "--output", path("mine.keras"), "--callbacks", path("c.json"))
        if ran.rc:
            raise Failure("fit: exit %d (%s)" % (ran.rc, ran.first))
        if os.path.exists(path("a")) == deletes:
            raise Failure("delete_checkpoint=%s: the folder is%s there" % (deletes, "" if deletes else " not"))
    with open(path("h.json")) as f:
        h, where = history_error(json.load(f), whole)
    if not h <= 2e-4:
        raise Failure("history differs by %.2g: %s" % (h, where))
    w, where, _ = weight_error(weights(path("mine.keras")), aim)
    if not w <= 1:
        raise Failure("weights differ by %.3g tolerances: %s" % (w, where))
    return [6, "%.1e" % h, "%.2f" % w]


def run(row, index, folder, keras_only):
    keras = keras_module()
    keras.backend.clear_session()
    keras.utils.set_random_seed(21)
    if row.restored:
        return restored(row, folder, keras_only)
    model, x, y, weights_given = build(row, folder)
    start, end, mine = (os.path.join(folder, n) for n in ("start.keras", "theirs.keras", "mine.keras"))
    model.save(start)
    model.jit_compile = False
    for part in ("theirs", "mine"):
        os.mkdir(os.path.join(folder, part))
    try:
        ran = model.fit(x, y, batch_size=8, epochs=row.epochs, shuffle=False, verbose=0, callbacks=make_callbacks(row, os.path.join(folder, "theirs")),
                        **(row.keras or {}), **weights_given)
    except RuntimeError:
        ran = None
    if (ran is None) != bool(row.fails):
        raise Failure("Keras' run fails, or does not: mend the row")
    history = flat(ran.history if ran else {"loss": []})
    model.save(end)
    if keras_only:
        return [len(history["loss"]), "", ""]
    with open(os.path.join(folder, "c.json"), "w") as f:
        f.write(json.dumps([{"class_name": n, "config": c} for n, c in row.callbacks]).replace("@", os.path.join(folder, "mine")))
    args = ["fit", start, "--data", "npz:" + os.path.join(folder, "d.npz") + row.data, "--no-shuffle", "--batch-size", 8, "--epochs", row.epochs, "--verbose", 0,
            "--history", os.path.join(folder, "h.json"), "--output", mine, *row.args]
    if row.callbacks:
        args += ["--callbacks", os.path.join(folder, "c.json")]
    ran = artel(*args)
    if row.fails and ran.rc == 2 and row.fails in ran.first and not os.path.exists(mine):
        return [0, "", ""]
    if ran.rc != 0 or row.fails:
        raise Failure("fit: exit %d (%s)" % (ran.rc, ran.first))
    with open(os.path.join(folder, "h.json")) as f:
        h, where = history_error(flat(json.load(f)), history)
    if not h <= 2e-4:
        raise Failure("history differs by %.2g: %s" % (h, where))
    w, path, _ = weight_error(weights(mine), weights(end))
    if not w <= 1:
        raise Failure("weights differ by %.3g tolerances: %s" % (w, path))
    if row.files:
        compare_files(row, os.path.join(folder, "theirs"), os.path.join(folder, "mine"))
    return [len(history["loss"]), "%.1e" % h, "%.2f" % w]


if __name__ == "__main__":
    table(ROWS, run, ["epochs", "history", "weights"])
