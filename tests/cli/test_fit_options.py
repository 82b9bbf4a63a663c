# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# long form: 3600
"""`artel fit` with options drawn at random, a few good and bad values for each: the program as a whole under its own help text.

A run ends in time, with 0, or with 1 or 2, one message and no file of a result. What ends with 0 has written every file that was asked
for; done again with another strategy, number of replicas and of threads, it gives the same bits. The options are those that `artel fit
--help --all` lists; one that has no values here fails the test. Short: 60 runs, the same each time; long: 4000 with a seed of the
clock. `test_fit_options.py SEED` makes one run, and says the command.
"""

import concurrent.futures
import json
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile
import time

ARTEL = os.path.abspath(os.environ["ARTEL"])
LONG = os.environ.get("ARTEL_LONG", "") not in ("", "0")
RUNS = int(os.environ.get("ARTEL_RUNS") or (4000 if LONG else 60))
LIMIT = 120 if os.environ.get("ARTEL_SANITIZED") else 40
MODEL = {"class_name": "Sequential", "config": {"name": "s", "layers": [
    {"class_name": "InputLayer", "config": {"batch_shape": [None, 5], "dtype": "float32", "name": "x"}},
    {"class_name": "Dense", "config": {"name": "d", "units": 6, "activation": "tanh"}},
    {"class_name": "Dropout", "config": {"name": "o", "rate": 0.25}},
    {"class_name": "BatchNormalization", "config": {"name": "b"}},
    {"class_name": "Dense", "config": {"name": "e", "units": 3, "activation": "softmax"}}]}}
CALLBACKS = [{"class_name": "EarlyStopping", "config": {"monitor": "loss", "patience": 0}}, {"class_name": "TerminateOnNaN", "config": {}}]
NO_NUMBER = ["", "x", "1e", "0x10", "1.5", "9" * 30, "-9223372036854775808", " 1", "1 ", "½"]
WHOLE = ["0", "1", "2", "3", "7", "-1", *NO_NUMBER]
PART = ["0", "0.1", "0.5", "1", "-0.1", "nan", "inf", "1e-300", "1e300", *NO_NUMBER]
TIME = ["1s", "500ms", "2min", "0s", "-1s", "1", "s", "1e99s", "nan", "1h1h", ""]
FILE = ["/dev/null", "", ".", "no/such/folder/x", "a" * 300, "nul\u2028l", "/proc/x"]
TEXT = ["", "x", "%s%n%s", "\x1b[31m", "a,b", "=", "@", "@nothing.json", "{", "[]", "null"]
ALWAYS = {"--data": ["synthetic:48", "synthetic:7", "csv:d.csv", "csv:d.csv#label=y", "npz:no.npz", "synthetic:0", "synthetic:-1", "synthetic:", "csv:", *TEXT],
          "--loss": ["sparse_categorical_crossentropy", "mse", "mse:", "huber:delta=0.5", "huber:delta=nan", "dice", *TEXT],
          "--output": ["o.keras", "o.safetensors", "o.h5", "o.weights.h5", "o.txt", *FILE]}
OPTIONS = {
    "--validation": ["synthetic:16", "csv:d.csv", *TEXT], "--validation-split": PART, "--validation-steps": WHOLE, "--validation-freq": [*WHOLE, "2,3", "[2]", "[2, 3]", "2,", "[]", "[[2]]", "2,-1", "1,9999999999"],
    "--validation-batch-size": WHOLE, "--class-weight": ['{"0": 2}', '{"0": -1}', '{"9": 1}', '{"0": "x"}', '{"a": 1}', *TEXT],
    "--shuffle": None, "--skip-errors": WHOLE, "--data-memory": ["1", "2M", "1T", "auto", "2Q", "9T9", *WHOLE], "--check-data": ["start", "reading", "off", "auto", *TEXT],
    "--epochs": WHOLE[:7] + NO_NUMBER, "--batch-size": [*WHOLE, "16", "1000000"], "--steps-per-epoch": WHOLE, "--initial-epoch": WHOLE,
    "--seed": WHOLE, "--optimizer": ["sgd", "adam:learning_rate=0.01,clipnorm=1", "adamw:weight_decay=0.1", "sgd:momentum=2", "adam:beta_1=nan", "lion", "ftrl",
                                     "sgd:learning_rate=cosine_decay(initial=0.1,steps=9)", "sgd:learning_rate=(", "adam:adam", *TEXT],
    "--learning-rate": PART, "--metrics": ["accuracy", "accuracy,auc", "mae,mae", "accuracy:", "f1:average=macro", ",", *TEXT],
    "--callbacks": ["c.json", "d.csv", "EarlyStopping:monitor=loss,patience=0", "TerminateOnNaN,EarlyStopping:", *FILE, *TEXT],
    "--dtype": ["float32", "mixed_bfloat16", "mixed_float16", "bfloat16", "float16", "float64", "int8", "float8", *TEXT],
    "--weights": ["m.json", "d.csv", *FILE], "--freeze": ["d", "*", "[de]", "[", "d,e", "nothing", ",", *TEXT], "--stop-on-nan": None, "--standard-step": None, "--device": ["cpu", "cpu:0", "cuda:99", "abacus", "cpu,cuda:99", *TEXT], "--allow-mixed-arithmetic": None,
    "--strategy": ["auto", "one-device", "mirrored", "central-storage", "multi-worker", "parameter-server", *TEXT], "--replicas": [*WHOLE, "8"],
    "--threads": [*WHOLE, "4"], "--plugin": FILE, "--device-precision": ["float32", "tf32", *TEXT], "--device-kernels": ["fixed", "measured", *TEXT],
    "--recompute": [None, "0", "25", "101", *NO_NUMBER], "--history": ["h.json", *FILE], "--csv-log": ["l.csv", *FILE], "--log-dir": ["logs", *FILE],
    "--histogram-freq": WHOLE, "--checkpoint-dir": ["ck", *FILE], "--save-every": ["1epoch", "2steps", "0steps", "-1epoch", "epoch", "1e9steps", *TEXT],
    "--keep": WHOLE, "--resume": None, "--fresh": None, "--preempt-exit-code": WHOLE, "--verbose": ["0", "1", "2", *WHOLE],
    "--log-level": ["note", "debug", "error", *TEXT], "--json": [None, "epochs", "steps", *TEXT], "--dry-run": None, "--explain": None, "--profile": ["p.json", *FILE],
    "--shards": ["8", "1", "64", "3", *WHOLE], "--batch-norm": ["global", "groups:2", "groups:3", "groups:", "groups:-1", *TEXT],
    "--isa": ["auto", "baseline", "avx2", "avx512", "mmx", *TEXT], "--arithmetic": ["auto", "chain", "tiles", *TEXT],
    "--consistency": ["async", "bounded:2", "sync", "bounded:", *TEXT], "--partitioner": ["none", "auto", "fixed:2", "min:9", "max:", *TEXT], "--ps-placement": ["round-robin", "bytes", "traffic", *TEXT], "--ps-loss": ["checkpoint", "stop", *TEXT],
    "--embedding-updates": ["exact", "lazy", "Lazy", *TEXT],
    "--resolver": ["auto", "none", "file", "slurm", "tf-config", *TEXT], "--cluster-file": FILE, "--task": ["worker:0", "chief:1", "worker:", "x:y", *TEXT],
    "--rendezvous": ["localhost:1", "host", ":", *TEXT], "--service": TEXT, "--workers": WHOLE, "--port": ["0", "65536", *NO_NUMBER],
    "--bind": ["127.0.0.1", "localhost", "300.1.1.1", *TEXT], "--cert-dir": FILE, "--insecure-network": None, "--shared-memory": None,
    "--wait-for-cluster": TIME, "--min-workers": WHOLE, "--suspect-after": TIME, "--on-preempt": ["leave", "save", *TEXT],
    "--post-mortem": ["none", *FILE], "--collective-timeout": TIME, "--audit-data": None, "--auto-shard": ["auto", "file", "data", *TEXT],
    "--device-launches": ["auto", "shard", "replica", *TEXT], "--all-reduce": ["auto", "direct", "redundant", "ring", "hierarchical", *TEXT], "--device-reduce": ["exact", "fast", "fastest", *TEXT], "--device-memory": ["grow", "grow:0.4", "0.9", "grow:", "0", "1.1", "grow:nan", *TEXT], "--extensions": [*FILE, "x.so,y.so", ","], "--ps-copies": WHOLE, "--spill": FILE,
}
# What another number of replicas or threads may meet: the run is then not the same by what is documented, or refused.
NOT_AGAIN = ("--strategy", "--replicas", "--threads", "--device", "--shards", "--dry-run", "--explain", "--profile", "--checkpoint-dir", "--csv-log")
RESULTS = {"--output": "output", "--history": "history", "--csv-log": "log"}


def listed():
    said = subprocess.run([ARTEL, "fit", "--help", "--all"], capture_output=True, text=True).stdout
    return {"--" + name for name in re.findall(r"^  (?:-[a-z], )?--(?:\[no-\])?([a-z0-9-]+)", said, re.M)} - {"--help"}


def draw(rng):
    """Options with a value each, None: without one. Most values are good ones, which stand first."""
    def value(values):
        return rng.choice(values[:3]) if rng.random() < 0.75 else rng.choice(values)

    chosen = {name: value(values) for name, values in ALWAYS.items()}
    for name in rng.sample(sorted(OPTIONS), rng.choice((0, 1, 2, 4, 8))):
        chosen[name] = value(OPTIONS[name]) if OPTIONS[name] else None
    return chosen


def command(chosen):
    return [ARTEL, "fit", "m.json", *(name if value is None else "%s=%s" % (name, value) for name, value in chosen.items())]


def start(words, folder):
    env = {k: v for k, v in os.environ.items() if not k.startswith("ARTEL") and k != "TF_CONFIG"}
    env["ARTEL_POST_MORTEM"] = "none"
    with open(os.path.join(folder, "m.json"), "w") as f:
        json.dump(MODEL, f)
    with open(os.path.join(folder, "c.json"), "w") as f:
        json.dump(CALLBACKS, f)
    with open(os.path.join(folder, "d.csv"), "w") as f:
        f.write("a,b,c,d,e,y\n" + "".join("%d,%d,0.5,-%d,1e-3,%d\n" % (i, i % 7, i % 5, i % 3) for i in range(40)))
    try:
        return subprocess.run(words, cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return None


def fault(chosen, folder):
    given = os.path.join(folder, "given")
    os.mkdir(given)
    done = start(command(chosen), given)
    if done is None:
        return "no end after %d s" % LIMIT
    errors = done.stderr.decode(errors="replace")
    if done.returncode not in (0, 1, 2):
        return "ends with %d: %s" % (done.returncode, errors[-600:])
    if "\x1b[31m" in errors or "report it" in errors:
        return "says %r" % errors[-600:]
    here = {name: os.path.isfile(os.path.join(given, chosen[name])) for name in RESULTS if name in chosen and chosen[name] and chosen[name][0] in "ohl"}
    if done.returncode:
        lines = [line for line in errors.splitlines() if line.startswith("artel:") and not line.startswith(("artel: note", "artel: warning"))]
        if len(lines) != 1 or lines[0].count(": ") < 2 or "; " not in lines[0]:
            return "%d messages, or none of the form THING: what; advice: %s" % (len(lines), errors[-600:])
        return "ends with %d and leaves %s" % (done.returncode, chosen["--output"]) if here.get("--output") else None
    if "--dry-run" in chosen:
        return "a dry run writes %s" % here if any(here.values()) else None
    if not all(here.values()):
        return "ends with 0, and what was asked for is not there: %s" % here
    return other_ways(chosen, folder, given) if here.get("--output") and not set(NOT_AGAIN) & set(chosen) else None


def other_ways(chosen, folder, given):
    """The same run by three replicas."""
    again = os.path.join(folder, "again")
    os.mkdir(again)
    done = start(command({**chosen, "--strategy": "mirrored", "--replicas": "3", "--threads": "4"}), again)
    if done is None or done.returncode:
        return "three replicas end otherwise: %s" % (done and done.stderr[-600:])
    for name in ("--output", "--history"):
        path = chosen.get(name)
        if not path or not os.path.isfile(os.path.join(given, path)):
            continue
        one, three = (content(name, os.path.join(f, path)) for f in (given, again))
        if one != three:
            return "three replicas give another %s: %s and %s" % (path, one[:200], three[:200])
    return None


def content(name, path):
    if name == "--history":
        with open(path, "rb") as f:
            return f.read()
    said = subprocess.run([ARTEL, "inspect", path, "--digest"], capture_output=True)
    return said.stdout.split()[-1:] or said.stderr


def one_run(seed):
    chosen = draw(random.Random(seed))
    with tempfile.TemporaryDirectory() as folder:
        begin = time.monotonic()
        wrong = fault(chosen, folder)
        return seed, wrong, chosen, time.monotonic() - begin, os.path.isdir(os.path.join(folder, "again"))


def main():
    unknown, gone = listed() - set(OPTIONS) - set(ALWAYS), (set(OPTIONS) | set(ALWAYS)) - listed()
    if unknown or gone:
        sys.exit("no values here for %s; no longer options: %s" % (sorted(unknown), sorted(gone)))
    if sys.argv[1:]:
        seed, wrong, chosen, took, _ = one_run(int(sys.argv[1]))
        print(shlex.join(command(chosen)[1:]), "%.1f s" % took, wrong or "well", sep="\n")
        return 1 if wrong else 0
    first = time.time_ns() // 1000 if LONG else 1
    faults = ends = compared = 0
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for seed, wrong, chosen, _, twice in pool.map(one_run, range(first, first + RUNS)):
            ends += 1
            compared += twice
            if wrong:
                faults += 1
                print("seed %d: artel %s\n    %s" % (seed, shlex.join(command(chosen)[1:]), wrong), flush=True)
    print("%d runs from seed %d, %.1f a second, %d of them also by three replicas, %d faults" %
          (ends, first, ends / (time.monotonic() - begin), compared, faults))
    return 1 if faults or compared == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
