# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""Text that Keras' users read, beside Keras' own: the summary table, the progress bar, the CSV log, the history."""
import io
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from unittest import mock

BUILD = os.environ["ARTEL_BUILD"]
PROGRAM = os.path.join(BUILD, "tests", "observe", "prog_observe")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

try:
    import keras
    import numpy as np
    from keras.src.utils import progbar, summary_utils
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

layers = keras.layers
failures = []


def check(have, want, text):
    if have != want:
        failures.append(text)
        print(f"FAILED: {text}\n--- artel\n{have}\n--- Keras\n{want}")


def artel(command, document):
    done = subprocess.run([PROGRAM, command], input=json.dumps(document).encode(), check=True, capture_output=True)
    return done.stdout.decode()


# ---------------------------------------------------------------- summary
def plain_chain():
    return keras.Sequential([keras.Input((28, 28)), layers.Flatten(), layers.Dense(128), layers.Dropout(0.2), layers.Dense(10)])


def branches():
    given = keras.Input((8, 8, 3), name="in_put")
    a = layers.Conv2D(4, 3, padding="same", name="a_very_long_layer_name_which_will_not_fit")(given)
    b = layers.BatchNormalization()(a)
    merged = layers.Concatenate(name="cat")([a, b, layers.Add()([a, b])])
    states = layers.LSTM(4, return_state=True)(layers.Reshape((64, 12))(merged))
    return keras.Model(given, [states[0], layers.Dense(3)(states[1])], name="branches")


def nested():
    inner = keras.Sequential([keras.Input((4,)), layers.Dense(3000, name="x"), layers.Dense(3)], name="inner")
    given = keras.Input((4,))
    return keras.Model(given, inner(given), name="nested")


def unbuilt():
    return keras.Sequential([layers.Dense(3), layers.Dense(1000)], name="with_a_" + "long_" * 30 + "name")


def empty():
    return keras.Sequential(name="nothing")


def wide():
    return keras.Sequential([keras.Input((1000,)), layers.Dense(2000), layers.Dense(1, trainable=False)], name="wide")


def facts_of(model, expand_nested, show_trainable, columns):
    """The arguments of our renderer, from what Keras shows in a very wide and uncut table."""
    shown = []
    with mock.patch.dict(os.environ, {"COLUMNS": "2000"}):
        model.summary(line_length=1900, print_fn=shown.append, expand_nested=expand_nested, show_trainable=show_trainable)
    lines = shown[0].split("\n")
    connections = "Connected to" in lines[2]
    rows = []
    for line in lines:
        if not line.startswith("│"):
            continue
        cells = [c[1:].rstrip() for c in line.strip("│").split("│")]
        name, class_name = re.fullmatch(r"(.*) \((\w+)\)", cells[0]).groups()
        depth = 0
        if "└ " in name:
            prefix, name = name.split("└ ")
            depth = len(prefix) // 3
        params = cells[2].strip()
        row = {"name": name, "class_name": class_name, "output_shape": cells[1], "depth": depth, "unbuilt": "unbuilt" in params,
               "params": 0 if "unbuilt" in params else int(params.replace(",", ""))}
        if connections:
            row["connected_to"] = cells[3].strip()
        if show_trainable:
            row["trainable"] = cells[-1].strip()
        rows.append(row)

    def total(weights):
        return [summary_utils.count_params(weights), summary_utils.weight_memory_size(weights)]

    built = bool(model.compiled and model.optimizer and model.optimizer.built)
    return {"name": model.name, "rows": rows, "connections": connections, "show_trainable": show_trainable, "columns": columns,
            "trainable": total(model.trainable_weights), "non_trainable": total(model.non_trainable_weights),
            "has_optimizer": built, "optimizer": total(model.optimizer.variables) if built else [0, 0.0]}


def compare_summaries():
    count = 0
    for make in (plain_chain, branches, nested, unbuilt, empty, wide):
        model = make()
        for compiled in (False, True):
            if compiled:
                if make in (unbuilt, empty):
                    continue
                model.compile("adam", "mse")
                model.optimizer.build(model.trainable_variables)
            for columns in (80, 47, 61, 100, 119, 200):
                for expand_nested, show_trainable in ((False, False), (True, True)):
                    shown = []
                    with mock.patch.dict(os.environ, {"COLUMNS": str(columns)}):
                        model.summary(print_fn=shown.append, expand_nested=expand_nested, show_trainable=show_trainable)
                    have = artel("table", facts_of(model, expand_nested, show_trainable, columns))
                    check(have, shown[0], f"{make.__name__} at {columns} columns")
                    count += 1
    print(f"{count} summaries like Keras'")


# ---------------------------------------------------------------- progress bar
class Terminal(io.StringIO):
    def isatty(self):
        return True


def on_screen(text):
    """What remains visible after backspaces, carriage returns and erasing; every state of each line, without colours."""
    text = re.sub(r"\x1b\[[0-9]*m", "", text).replace("\b", "").replace("\x1b[K", "")
    states = re.split(r"\r", text.replace("\n", "\n\r"))
    return [state.rstrip(" ") if not state.endswith("\n") else state.rstrip(" \n") + "\n" for state in states if state.strip()]


def colours(text):
    text = text.replace("\x1b[K", "")
    return [re.sub(r" *(\s*\r|$)", "", piece.replace("\b", "")) for piece in re.findall(r"\x1b\[[0-9]*m[^\x1b]*", text)]


def keras_bar(verbose, calls):
    """Keras' ProgbarLogger driven by the same calls, with the same clock."""
    terminal, now = Terminal(), [0.0]
    logger = keras.callbacks.ProgbarLogger()
    with mock.patch.object(sys, "stdout", terminal), mock.patch.object(progbar.time, "time", lambda: now[0]):
        for call in calls:
            now[0] = call["now"]
            logs = call.get("logs")
            if call["call"] == "begin":
                logger.set_params({"verbose": verbose, "epochs": call["epochs"], "steps": call["steps"] or None})
                logger.on_epoch_begin(call["epoch"])
            elif call["call"] == "update":
                logger.on_train_batch_end(call["current"] - 1, logs)
            else:
                logger.on_epoch_end(0, logs)
    return terminal.getvalue()


def random_calls(rng, epochs, steps, unit, known):
    calls, now = [], 1000.0
    for epoch in range(epochs):
        calls.append({"call": "begin", "now": now, "epoch": epoch, "epochs": epochs, "steps": steps if known else 0})
        logs = {}
        for current in range(1, steps + 1):
            now = round(now + unit * rng.uniform(0.5, 2.0), 9)
            logs = {"accuracy": rng.random(), "loss": rng.choice([rng.random() * 1e-3, -2.0, 1234.5678, 0.0, 1e-3])}
            calls.append({"call": "update", "now": now, "current": current, "logs": logs})
        now = round(now + unit, 9)
        calls.append({"call": "end", "now": now, "logs": {**logs, "val_loss": rng.random() - 0.5}})
    return calls


def compare_bars():
    rng = random.Random(3)
    count = 0
    for verbose in (1, 2, 0):
        for epochs, steps, unit in ((1, 1, 0.2), (2, 7, 0.9), (1, 469, 0.017), (3, 10, 0.00004), (1, 5, 700.0), (1, 100, 40.0)):
            for known in (True, False):
                calls = random_calls(rng, epochs, steps, unit, known)
                want = keras_bar(verbose, calls)
                have = artel("progress", {"verbose": verbose, "terminal": True, "calls": calls})
                name = f"progress bar, verbose {verbose}, {epochs} x {steps} steps of {unit} s"
                if not known and epochs > 1:
                    continue  # Keras keeps the first epoch's count; whoever calls us says what is known
                check(on_screen(have), on_screen(want), name)
                check(colours(have), colours(want), name + ", colours")
                if verbose == 1:
                    piped = artel("progress", {"verbose": verbose, "terminal": False, "calls": calls})
                    last = [state for state in on_screen(want) if state.endswith("\n")]
                    check(on_screen(piped), last, name + ", in a pipe")
                count += 1
    print(f"{count} progress bars like Keras'")


# ---------------------------------------------------------------- CSV, history, floats
def compare_files(scratch):
    rng = random.Random(4)
    count = 0
    for separator in (",", ";", "."):
        for first in (["loss", "acc"], ["loss", "val_loss", "a,b", 'q"q'], ["x"]):
            mine, theirs = os.path.join(scratch, "mine.csv"), os.path.join(scratch, "theirs.csv")
            for append in (False, True):
                values = lambda: rng.choice([rng.random(), float(np.float32(rng.random())), 1e-7, 3.0, float("nan"), float("inf")])
                epochs = [[e, {k: values() for k in first + (["val_x"] if e else [])}] for e in range(3)]
                logger = keras.callbacks.CSVLogger(theirs, separator=separator, append=append)
                logger.on_train_begin()
                for epoch, logs in epochs:
                    logger.on_epoch_end(epoch, logs)
                logger.on_train_end()
                artel("csv", {"path": mine, "separator": separator, "append": append, "epochs": epochs})
                check(open(mine, "rb").read(), open(theirs, "rb").read(), f"CSV of {first} with {separator!r}, append {append}")
                count += 1
    epochs = [{"loss": rng.random(), "é": float("nan")}, {"loss": 1e-9, "val_loss": float("-inf")}]
    path, want = os.path.join(scratch, "h.json"), {}
    for logs in epochs:
        for key, value in logs.items():
            want.setdefault(key, []).append(value)
    artel("history", {"path": path, "epochs": epochs})
    check(open(path).read(), json.dumps(want, ensure_ascii=False) + "\n", "history")
    print(f"{count} CSV logs and a history like Keras'")


def compare_floats():
    rng = np.random.default_rng(5)
    bits = rng.integers(0, 2**64, 4000, dtype=np.uint64).view(np.float64)
    values = [float(v) for v in bits[np.isfinite(bits)]]
    values += [float(np.float32(v)) for v in rng.random(2000)] + [10.0**e for e in range(-30, 31)] + [2.0**e for e in range(-1074, 1024)]
    for value, line in zip(values, artel("floats", values).splitlines(), strict=True):
        check(line, repr(value), f"float {value.hex()}")
    print(f"{len(values)} floats like Python's")


def main():
    compare_floats()
    compare_bars()
    with tempfile.TemporaryDirectory() as scratch:
        compare_files(scratch)
    compare_summaries()
    print("ok" if not failures else f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
