# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# long form: 7200
# Allocations and system calls that fail, one in each run, through load, fit, save, resume, evaluate, predict, convert, data, launch (there in every
# process; allocations in plaintext): the command ends
# with a message and an exit code, or its files are the same bytes as without a fault. A sample here, every single one in the long form.
"""A failure that is taken for "there is no such setting" ends with 0 and another file; that is what this looks for."""
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np

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
FIT = ["--data", "synthetic:48", "--validation", "synthetic:16", "--batch-size", "16", "--epochs", "3", "--threads", "1",
       "--optimizer", "adam:learning_rate=cosine_decay(initial=0.1,steps=9),weight_decay=0.01,clipnorm=0.5", "--loss",
       "sparse_categorical_crossentropy", "--metrics", "accuracy", "--class-weight", '{"0": 2, "1": 0.5}', "--callbacks", "callbacks.json"]
JOB = ["fit", "model.json", *FIT, "--insecure-network", "--output", "o.safetensors", "--strategy"]
PLAIN = ["launch", "-n", "2", "--insecure-network"]
PIPELINE = {"from": "npz:d.npz", "stages": [{"stage": "cache", "file": "kept"}]}
ONE = ["--replicas", "1"]
# command, the files it makes, every how many calls of each kind one fails in the short form; 0: it makes no such call
COMMANDS = {
    "fit": (["fit", "model.json", *FIT, "--replicas", "2", "--output", "o.safetensors", "--history", "h.json", "--csv-log", "c.csv"],
            ["o.safetensors", "h.json", "c.csv"],
            {"malloc": 61, "write": 3, "fsync": 1, "open": 3, "rename": 1, "thread": 1, "spawn": 0, "map": 3, "folder": 0, "handle": 0, "read": 2}),
    "save": (["fit", "start.keras", *FIT[:10], *ONE, "--output", "o.keras", "--checkpoint-dir", "ck"], ["o.keras"],
             {"malloc": 97, "write": 11, "fsync": 5, "open": 5, "rename": 3, "thread": 1, "spawn": 1, "map": 3, "folder": 1, "handle": 1, "read": 5}),
    "evaluate": (["evaluate", "start.keras", "--data", "synthetic:32", "--threads", "2", "--replicas", "2", "--confusion", "c.csv"],
                 ["stdout", "c.csv"],
                 {"malloc": 53, "write": 1, "fsync": 1, "open": 2, "rename": 1, "thread": 1, "spawn": 1, "seal": 1, "map": 3, "folder": 0, "handle": 1,
                  "read": 2}),
    "predict": (["predict", "start.keras", "--data", "synthetic:32", "--threads", "2", "--replicas", "2", "--output", "p.npy"], ["p.npy"],
                {"malloc": 59, "write": 1, "fsync": 1, "open": 3, "rename": 1, "thread": 1, "spawn": 1, "map": 3, "folder": 0, "handle": 1, "read": 2}),
    "load": (["inspect", "start.keras", "--digest"], ["stdout"],
             {"malloc": 5, "write": 1, "fsync": 0, "open": 1, "rename": 0, "thread": 0, "spawn": 1, "seal": 1, "map": 1, "folder": 0, "handle": 1, "read": 1}),
    "resume": (["fit", "start.keras", *FIT[:6], "--epochs", "4", *FIT[8:10], *ONE, "--output", "o.keras", "--checkpoint-dir", "begun"], ["o.keras"],
               {"malloc": 97, "write": 11, "fsync": 5, "open": 5, "rename": 2, "thread": 1, "spawn": 1, "map": 3, "handle": 1, "read": 7}),
    "convert": (["convert", "start.keras", "o.weights.h5"], ["o.weights.h5"], {"malloc": 31, "write": 1, "fsync": 1, "open": 2, "rename": 1, "spawn": 1}),
    "onnx": (["convert", "start.keras", "o.onnx"], ["o.onnx"], {"malloc": 31, "write": 1, "fsync": 1, "rename": 1}),
    "summary": (["summary", "model.json"], ["stdout"], {"malloc": 17, "open": 1}),
    "pipeline": (["fit", "model.json", "--data", "pipeline:p.json", *FIT[4:10], *ONE, *FIT[10:14], "--output", "o.safetensors"], ["o.safetensors"],
                 {"malloc": 43, "write": 5, "fsync": 1, "open": 2, "rename": 1, "map": 2, "folder": 0, "read": 9}),
    "records": (["data", "make", "npz:d.npz", "-o", "r"], ["r", "r.index", "r.features.json", "r.sha256"],
                {"malloc": 13, "write": 1, "fsync": 1, "open": 1, "rename": 1, "read": 1}),
    "launch": (["launch", "-n", "2", "fit", "model.json", *FIT, "--strategy", "multi-worker", "--output", "o.safetensors"],
               ["o.safetensors"], {"write": 5, "fsync": 2, "open": 7, "rename": 1, "thread": 1, "spawn": 1, "folder": 1}), # making keys, OpenSSL 3.0 itself does not bear a failed malloc
    "plain": ([*PLAIN, *JOB, "multi-worker"], ["o.safetensors"],
              {"malloc": 53, "write": 7, "fsync": 1, "open": 3, "rename": 1, "thread": 1, "spawn": 1, "map": 5, "folder": 0, "handle": 3, "read": 31}),
    "one of two": ([*PLAIN, *JOB, "multi-worker"], ["o.safetensors"], # the other goes on
                   {"malloc": 53, "write": 7, "open": 3, "thread": 1, "map": 5, "handle": 3, "read": 31}),
    "servers": (["launch", "-n", "2", "--ps", "2", "--chief", "--insecure-network", *JOB, "parameter-server", "--consistency", "sync",
                 "--wait-for-cluster", "3s"], ["o.safetensors"],
                {"malloc": 97, "write": 13, "fsync": 1, "open": 5, "rename": 1, "thread": 1, "spawn": 1, "map": 7, "handle": 3, "read": 31}),
}
ONLY = {"one of two": "worker:1"}


AT_ONCE = 4  # most wait for one another's processes


def run(name, fault, place, again=False):
    """Runs the command in a folder of its own, or again where it ran before; (exit code, standard error, the bytes of its files)."""
    words, files, _ = COMMANDS[name]
    if not fault:  # then nobody waits for one that does not come
        words = ["60s" if word == "3s" else word for word in words]
    counts, here = place / "counts", place / "run"
    counts.unlink(missing_ok=True)
    if not again:
        shutil.rmtree(here, ignore_errors=True)
        shutil.copytree("given", here)
    env = dict(os.environ, LD_PRELOAD=PRELOAD, FAULT=fault, FAULT_COUNTS=str(counts))
    if name in ONLY:
        env["FAULT_ONLY"] = ONLY[name]
    try:
        done = subprocess.run([ARTEL, *words], cwd=here, env=env, capture_output=True, timeout=240)
    except subprocess.TimeoutExpired:
        return "no end", "", []
    (here / "stdout").write_bytes(done.stdout)
    made = [(here / file).read_bytes() if (here / file).exists() else None for file in files]
    return done.returncode, done.stderr.decode(errors="replace"), made


def left_behind(place):
    return [str(p.relative_to(place)) for p in (place / "run").rglob("*") if ".tmp" in p.name or p.name.startswith("tmp-ckpt")]


def judge(name, fault, whole, place):
    code, errors, made = run(name, fault, place)
    files = COMMANDS[name][1]
    if code not in (0, 1, 2):
        return f"ends with {code}"
    if code and not errors.strip():
        return f"ends with {code} without a word"
    if code and fault.split(":")[0] in ("thread", "spawn") and not ("ulimit -u" in errors and "pids.max" in errors):
        return f"ends with {code}, and does not name the limit of threads: {errors[-300:]}"
    if fault.startswith("seal") and code:
        return f"ends with {code}, though the kernel is only busy"
    if code == 0 and made != whole:
        return "ends with 0, and %s differ" % " ".join(f for f, a, b in zip(files, made, whole) if a != b)
    torn = [f for f, a, b in zip(files, made, whole) if a not in (None, b) and f not in ("stdout", "c.csv")]
    if torn:
        return f"leaves {torn[0]} torn"
    left = left_behind(place)
    if left and code and COMMANDS[name][0][0] == "launch":  # by tasks that a launcher which could not go on has killed: the next run removes it
        code, errors, made = run(name, "", place, again=True)
        if code or made != whole:
            return f"cannot be run again beside {left[0]}: {code}, {errors[-300:]}"
        left = left_behind(place)
    return f"leaves {left[0]} behind" if left and not fault.startswith("open") else None


def in_a_place(work, *what):
    with tempfile.TemporaryDirectory(dir=".") as place:
        return work(*what, pathlib.Path(place).resolve())


def cases_of(name, place):
    """(command, fault, of how many, files without a fault) of each run."""
    code, errors, whole = run(name, "", place)
    assert code == 0 and None not in whole, (name, code, errors)
    assert run(name, "", place)[2] == whole, f"{name}: two runs differ"
    counts, cases = {}, []
    for line in (place / "counts").read_text().split():
        kind, number = line.split("=")
        counts[kind] = max(counts.get(kind, 0), int(number))
    for kind, step in COMMANDS[name][2].items():
        assert (counts[kind] == 0) == (step == 0), f"{name}: {counts[kind]} calls of {kind}"
        cases += [(name, f"{kind}:{n}", counts[kind], whole) for n in range(1, counts[kind] + 1, 1 if LONG else max(step, 1))]
    return cases


def main():
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", PRELOAD, os.environ["ARTEL_SOURCE"] + "/tests/support/preload/failing.c", "-ldl",
                    "-lpthread"], check=True)
    os.mkdir("given")
    pathlib.Path("given/model.json").write_text(json.dumps(MODEL))
    pathlib.Path("given/callbacks.json").write_text(json.dumps(CALLBACKS))
    pathlib.Path("given/p.json").write_text(json.dumps(PIPELINE))
    rng = np.random.default_rng(5)
    np.savez("given/d.npz", x=rng.standard_normal((48, 6)).astype("f4"), y=rng.integers(0, 3, 48))
    for more in (["model.json", *FIT, *ONE, "--output", "start.keras"], ["start.keras", *FIT[:10], *ONE, "--checkpoint-dir", "begun"]):
        subprocess.run([ARTEL, "fit", *more, "--verbose", "0"], cwd="given", check=True)
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        cases = [case for some in pool.map(lambda name: in_a_place(cases_of, name), sys.argv[1:] or COMMANDS) for case in some]
        wrong = list(pool.map(lambda case: in_a_place(judge, case[0], case[1], case[3]), cases))
    print(f"{len(cases)} faults")
    faults = [f"{name}, {fault} of {count}: {what}" for (name, fault, count, _), what in zip(cases, wrong) if what]
    if faults:
        sys.exit("\n".join(faults))


main()
