# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# long form: 3600
# Allocations and system calls that fail, one in each run, through load, fit, save, evaluate, predict, convert, launch (there in every
# process; allocations in plaintext): the command ends
# with a message and an exit code, or its files are the same bytes as without a fault. A sample here, every single one in the long form.
"""A failure that is taken for "there is no such setting" ends with 0 and another file; that is what this looks for."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

ARTEL, LONG = os.environ["ARTEL"], os.environ.get("ARTEL_LONG") == "1"
PRELOAD = os.path.abspath("failing.so")
MODEL = {
    "class_name": "Sequential",
    "config": {"name": "s", "layers": [
        {"class_name": "InputLayer", "config": {"batch_shape": [None, 6], "dtype": "float32", "name": "x"}},
        {"class_name": "Dense", "config": {"name": "d", "units": 5, "activation": "relu", "kernel_regularizer": {
            "class_name": "L2", "config": {"l2": 0.01}}, "kernel_constraint": {"class_name": "MaxNorm", "config": {"max_value": 1.5}}}},
        {"class_name": "Dropout", "config": {"name": "o", "rate": 0.25}},
        {"class_name": "BatchNormalization", "config": {"name": "b", "momentum": 0.8}},
        {"class_name": "Dense", "config": {"name": "e", "units": 3, "activation": "softmax", "bias_initializer": "ones"}}]},
}
CALLBACKS = [{"class_name": "EarlyStopping", "config": {"monitor": "val_loss", "patience": 0, "restore_best_weights": True}},
             {"class_name": "TerminateOnNaN", "config": {}}]
FIT = ["--data", "synthetic:48", "--validation", "synthetic:16", "--batch-size", "16", "--epochs", "3", "--threads", "1", "--replicas", "1",
       "--optimizer", "adam:learning_rate=cosine_decay(initial=0.1,steps=9),weight_decay=0.01,clipnorm=0.5", "--loss",
       "sparse_categorical_crossentropy", "--metrics", "accuracy", "--class-weight", '{"0": 2, "1": 0.5}', "--callbacks", "callbacks.json"]
# command, the files it makes, every how many calls of each kind one fails in the short form
COMMANDS = {
    "fit": (["fit", "model.json", *FIT, "--output", "o.safetensors", "--history", "h.json", "--csv-log", "c.csv"],
            ["o.safetensors", "h.json", "c.csv"], {"malloc": 61}),
    "save": (["fit", "start.keras", *FIT[:10], "--output", "o.keras", "--checkpoint-dir", "ck"], ["o.keras"],
             {"malloc": 97, "write": 2, "fsync": 2, "open": 3, "rename": 1, "thread": 1, "spawn": 1}),
    "evaluate": (["evaluate", "start.keras", "--data", "synthetic:32", "--threads", "1"], ["stdout"], {"malloc": 53, "open": 3, "spawn": 1, "seal": 1}),
    "predict": (["predict", "start.keras", "--data", "synthetic:32", "--threads", "1", "--output", "p.npy"], ["p.npy"],
                {"malloc": 59, "write": 1, "open": 3, "rename": 1}),
    "convert": (["convert", "start.keras", "o.weights.h5"], ["o.weights.h5"], {"malloc": 31, "open": 2, "spawn": 1}),
    "onnx": (["convert", "start.keras", "o.onnx"], ["o.onnx"], {"malloc": 31, "write": 1}),
    "inspect": (["inspect", "start.keras", "--digest"], ["stdout"], {"malloc": 29}),
    "summary": (["summary", "model.json"], ["stdout"], {"malloc": 17}),
    "launch": (["launch", "-n", "2", "fit", "model.json", *FIT, "--strategy", "multi-worker", "--output", "o.safetensors"],
               ["o.safetensors"], {"write": 5, "fsync": 2, "open": 13, "rename": 1, "thread": 2, "spawn": 1}), # making keys, OpenSSL 3.0 itself does not bear a failed malloc
    "plain": (["launch", "-n", "2", "--insecure-network", "fit", "model.json", *FIT, "--strategy", "multi-worker", "--insecure-network", "--output",
               "o.safetensors"], ["o.safetensors"], {"malloc": 43}),
}


def run(words, fault, files):
    """Runs the command in an own folder; (exit code, standard error, the bytes of its files)."""
    shutil.rmtree("run", ignore_errors=True)
    pathlib.Path("counts").unlink(missing_ok=True)
    shutil.copytree("given", "run")
    env = dict(os.environ, LD_PRELOAD=PRELOAD, FAULT=fault, FAULT_COUNTS=os.path.abspath("counts"))
    try:
        done = subprocess.run([ARTEL, *words], cwd="run", env=env, capture_output=True, timeout=10)
    except subprocess.TimeoutExpired:
        return "no end", "", []
    pathlib.Path("run/stdout").write_bytes(done.stdout)
    made = [pathlib.Path("run", name).read_bytes() if os.path.exists("run/" + name) else None for name in files]
    return done.returncode, done.stderr.decode(errors="replace"), made


def judge(name, fault, answer, whole):
    code, errors, made = answer
    words, files, _ = COMMANDS[name]
    if code not in (0, 1, 2):
        return f"ends with {code}"
    if code and not errors.strip():
        return f"ends with {code} without a word"
    if fault.startswith("seal") and code:
        return f"ends with {code}, though the kernel is only busy"
    if code == 0 and made != whole:
        return "ends with 0, and %s differ" % " ".join(f for f, a, b in zip(files, made, whole) if a != b)
    torn = [f for f, a, b in zip(files, made, whole) if a not in (None, b) and f not in ("stdout", "c.csv")]
    if torn:
        return f"leaves {torn[0]} torn"
    left = [str(p) for p in pathlib.Path("run").rglob("*") if ".tmp" in p.name or p.name.startswith("tmp-ckpt")]
    return f"leaves {left[0]} behind" if left and not fault.startswith("open") else None


def main():
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", PRELOAD, os.environ["ARTEL_SOURCE"] + "/tests/support/preload/failing.c", "-ldl",
                    "-lpthread"], check=True)
    os.mkdir("given")
    pathlib.Path("given/model.json").write_text(json.dumps(MODEL))
    pathlib.Path("given/callbacks.json").write_text(json.dumps(CALLBACKS))
    subprocess.run([ARTEL, "fit", "model.json", *FIT, "--output", "start.keras", "--verbose", "0"], cwd="given", check=True)
    faults, cases = [], 0
    for name in sys.argv[1:] or COMMANDS:
        words, files, steps = COMMANDS[name]
        code, errors, whole = run(words, "", files)
        assert code == 0 and None not in whole, (name, code, errors)
        assert run(words, "", files)[2] == whole, f"{name}: two runs differ"
        counts = {}
        for line in pathlib.Path("counts").read_text().split():
            kind, number = line.split("=")
            counts[kind] = max(counts.get(kind, 0), int(number))
        for kind, step in steps.items():
            for n in range(1, counts[kind] + 1, 1 if LONG else step):
                wrong = judge(name, f"{kind}:{n}", run(words, f"{kind}:{n}", files), whole)
                cases += 1
                if wrong:
                    faults.append(f"{name}, {kind} {n} of {counts[kind]}: {wrong}")
    print(f"{cases} faults")
    if faults:
        sys.exit("\n".join(faults))


main()
