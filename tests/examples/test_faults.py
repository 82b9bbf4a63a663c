# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# long form: 3600
# The examples named below while an allocation of the process fails, the first, the second and so on: each ends with a message and an exit code, or
# says what it says without a fault; no block is left that is not left then. A sample here, every single one in the long form.
"""Blocks are counted where they are taken and freed (tests/support/preload/failing.c)."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np

ARTEL, EXAMPLES = os.environ["ARTEL"], pathlib.Path(os.environ["ARTEL_BUILD"], "examples")
SOURCE, LONG = pathlib.Path(os.environ["ARTEL_SOURCE"]), os.environ.get("ARTEL_LONG") == "1"
PRELOAD = os.path.abspath("failing.so")
CNN = str(SOURCE / "examples/fashion-mnist/cnn.json")
GATE = {"class_name": "Sequential", "config": {"name": "s", "layers": [
    {"class_name": "InputLayer", "config": {"batch_shape": [None, 3], "dtype": "float32", "name": "x"}},
    {"class_name": "Gate", "registered_name": "mine>Gate", "config": {"name": "gate", "scale": 2.0}},
    {"class_name": "Dense", "config": {"units": 1, "name": "out"}}]}}
ONE = ["one-device", "1"]
# Words of a command, the name of an example first, and every how many allocations one fails in the short form and the long one.
COMMANDS = {
    "custom loop": (["custom_loop", CNN, "npz:d.npz", "out.keras", "1", *ONE], 97, 1),
    "loop of functions": (["loop", CNN, "npz:d.npz", "out.keras", "1", *ONE], 97, 1),
    "gan": (["gan", "3"], 61, 1),
    "per-example gradients": (["per_example", *ONE], 89, 1),
    "custom op": (["custom_op", *ONE], 23, 1),
    "custom layer": (["fit", "gate.json", "--extensions", str(EXAMPLES / "my_layers.so"), "--data", "synthetic:16", "--loss", "mine>log_cosh2", "--optimizer",
                      "mine>Bounded", "--replicas", "1", "--threads", "1", "--output", "out.safetensors", "--verbose", "0"], 61, 1),
    "character transformer": (["char_transformer", *ONE], 211, 3),
    "recommendation": (["recommendation", *ONE], 71, 1),
    "autoencoder": (["autoencoder", *ONE], 41, 1),
    "transfer learning": (["transfer_learning", *ONE], 97, 1),
    "two-task placement": (["placement"], 17, 1),
    "train_and_evaluate": (["estimator", "out", "55", *ONE], 149, 1),
    "small control task": (["control", *ONE], 4999, 23),
    "replicas": (["custom_op", "mirrored", "2"], 31, 1),
}


def run(words, fault):
    """(exit code, standard output, standard error, blocks left, allocations); None: no end."""
    shutil.rmtree("run", ignore_errors=True)
    shutil.copytree("given", "run")
    pathlib.Path("counts").unlink(missing_ok=True)
    program = [ARTEL, *words] if words[0] == "fit" else [str(EXAMPLES / words[0]), *words[1:]]
    env = dict(os.environ, LD_PRELOAD=PRELOAD, FAULT=fault, FAULT_COUNTS=os.path.abspath("counts"))
    try:
        done = subprocess.run(program, cwd="run", env=env, capture_output=True, timeout=120)
    except subprocess.TimeoutExpired:
        return None
    counts = dict(line.split("=") for line in pathlib.Path("counts").read_text().split()) if os.path.exists("counts") else {}
    return done.returncode, done.stdout, done.stderr.decode(errors="replace"), int(counts.get("live", 0)), int(counts.get("malloc", 0))


def judge(words, answer, whole):
    if answer is None:
        return "does not end"
    code, said, errors, left, _ = answer
    if code not in (0, 1, 2, 3):
        return f"ends with {code}: {errors[-300:]}"
    if code and not errors.strip(" :\n"):
        return f"ends with {code} without a word"
    if code == 0 and said != whole[1]:
        return f"ends with 0, and says something else: {said[-300:]!r}"
    if words[0] == "fit":  # the command line ends with what it has, more or less of it
        return None
    return f"leaves {left} blocks, and {whole[3]} without a fault: {errors[-300:]}" if left > whole[3] else None


def main():
    if not (EXAMPLES / "loop").exists():
        print("skipped: the examples are not built here")
        return 77
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", PRELOAD, str(SOURCE / "tests/support/preload/failing.c"), "-ldl", "-lpthread"], check=True)
    os.mkdir("given")
    pathlib.Path("given/gate.json").write_text(json.dumps(GATE))
    rng = np.random.default_rng(3)
    np.savez("given/d.npz", x=rng.random((40, 28, 28, 1), dtype="f4"), y=rng.integers(0, 10, 40).astype("i4"))
    faults, cases = [], 0
    for name, (words, short, long) in COMMANDS.items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        whole = run(words, "")
        assert whole and whole[0] == 0, (name, whole)
        for n in range(1, whole[4] + 1, long if LONG else short):
            wrong = judge(words, run(words, f"malloc:{n}"), whole)
            cases += 1
            if wrong:
                faults.append(f"{name}, allocation {n} of {whole[4]}: {wrong}")
    print(f"{cases} faults")
    for fault in faults:
        print(fault)
    return bool(faults)


sys.exit(main())
