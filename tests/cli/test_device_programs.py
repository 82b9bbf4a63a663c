# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# processors: 2
"""Programs of devices are compiled once: a second start finds them, with the same bits; damaged and foreign files are passed over with one
warning; folders that cannot be written, two processes at once. Where kernels are measured, the tasks of a cluster compile in one place, and a
run goes on with the programs beside its checkpoints or not at all. On XLA's plug-in for the CPU; skipped without it."""

import glob
import json
import os
import shutil
import signal
import sys
import tempfile

import numpy as np
from cli import K, L, O, expect, run_checks, save
from cluster import Task, free_ports
from oracle import ARTEL, artel, skip_without_xla

FOLDER = tempfile.TemporaryDirectory()
ROWS = 150
BATCH = 64
CASE = {}


def path(name):
    return os.path.join(FOLDER.name, name)


def model():
    m = K.Sequential([K.Input((20,)), L.Dense(24, activation="relu"), L.BatchNormalization(), L.Dropout(0.25), L.Dense(5, activation="softmax")])
    m.compile(O.Adam(0.01), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return m


def make():
    random = np.random.default_rng(3)
    np.savez(path("rows.npz"), x=random.normal(size=(ROWS, 20)).astype("float32"), y=random.integers(0, 5, ROWS).astype("int32"))
    CASE["words"] = ["fit", save(model, path("m.keras")), "--data", "npz:" + path("rows.npz"), "--batch-size", BATCH, "--epochs", "3", "--seed", "4",
                     "--shards", 2, "--device", "cpu:xla", "--json"]


def fit(cache, *more, **env):
    answer = artel(*CASE["words"], *more, env={"ARTEL_CACHE_DIR": path(cache), **env})
    expect(answer.rc == 0, "exit code", answer.rc, answer.err)
    end = answer.events("end")[0]
    return end["digest"], end["programs_compiled"], end["programs_found"], answer.err


def files(folder):
    return sorted(glob.glob(path(folder) + "/programs/*.program"))


def second_start():
    bits, compiled, found, _ = fit("a")
    expect(compiled > 4 and found == 0, "compiled", compiled, "found", found)
    expect(len(files("a")) == compiled, len(files("a")), "files of", compiled)
    again = fit("a")
    expect(again[:3] == (bits, 0, compiled), "the second start", again, "after", (bits, compiled))
    expect(fit("none", ARTEL_PROGRAM_CACHE_MB="0")[:3] == (bits, compiled, 0), "without a cache")
    expect(not os.path.exists(path("none")), "a cache of 0 MB has a folder")
    CASE["bits"], CASE["programs"] = bits, compiled


def progress():
    """Who waits is told how far it is."""
    _, compiled, _, err = fit("told", ARTEL_COMPILE_NOTE_SECONDS="0")
    told = [line for line in err.splitlines() if " programs are compiled, after " in line]
    expect(len(told) >= 3 and "device: 1 of " in told[0], compiled, "programs, and it says", err)
    expect("programs are compiled" not in fit("untold", ARTEL_COMPILE_NOTE_SECONDS="86400")[3], "told too early")


def damaged():
    """The first half of one, a byte of another one, one that others may write to."""
    names = files("a")
    for i, name in enumerate(names[:2]):
        whole = open(name, "rb").read()
        with open(name, "wb") as out:
            out.write(whole[: len(whole) // 2] if i == 0 else whole[:-9] + bytes([whole[-9] ^ 4]) + whole[-8:])
    os.chmod(names[2], 0o666)
    bits, compiled, found, err = fit("a")
    expect((bits, compiled, found) == (CASE["bits"], 3, CASE["programs"] - 3), "with damaged files", bits, compiled, found)
    expect(err.count("is passed over") + err.count(", and passed over") == 1, "warnings:", err)
    os.chmod(names[2], 0o644)
    expect(fit("a")[:3] == (CASE["bits"], 0, CASE["programs"]), "they were not replaced")


def no_folder():
    with open(path("file"), "w") as out:
        out.write("no folder")
    bits, compiled, found, err = fit("file")
    expect((bits, compiled, found) == (CASE["bits"], CASE["programs"], 0), "with a file in place of the folder", compiled, found)
    expect(err.count("compiled programs are not kept") == 1 and path("file") in err, err)


def full():
    """No room for the larger ones, in the cache and beside the checkpoints, where the loss is told with what it means; nothing is left that is not whole."""
    small = ("-c", 'trap "" XFSZ; ulimit -f 64; exec "$0" "$@"', ARTEL, *CASE["words"], "--device-kernels", "measured", "--checkpoint-dir", path("tight"))
    answer = artel(*small, env={"ARTEL_CACHE_DIR": path("small")}, program="bash")
    expect(answer.rc == 0 and answer.events("end")[0]["digest"] == CASE["bits"], "with little room", answer.rc, answer.err)
    expect(answer.err.count("compiled programs are not kept") == 2 and answer.err.count("the run can be continued only if") == 1, answer.err)
    for folder in (path("small/programs"), path("tight/programs")):
        left = os.listdir(folder)
        expect(all(f.endswith(".program") and os.path.getsize(os.path.join(folder, f)) <= 65536 for f in left), "left:", left)


def at_once():
    tasks = [Task([*CASE["words"]], {"ARTEL_CACHE_DIR": path("b")}) for _ in range(2)]
    for task in tasks:
        task.drain()
    expect([task.finish(120) for task in tasks] == [0, 0], "two at once", tasks[0].err(), tasks[1].err())
    for task in tasks:
        end = json.loads(task.lines[-1])
        expect(end["digest"] == CASE["bits"], "two at once: other bits")
    expect(len(files("b")) == CASE["programs"] and fit("b")[1] == 0, "two at once leave", files("b"))


def pair(more, caches):
    addresses = ["127.0.0.1:%d" % port for port in free_ports(2)]
    line = [w for w in CASE["words"]] + ["--strategy", "multi-worker", "--device-kernels", "measured", *more]
    return [Task(line if i == 0 else [w for w in line if w != "--json"],
                 {"ARTEL_CACHE_DIR": path(caches[i]), "TF_CONFIG": json.dumps({"cluster": {"worker": addresses}, "task": {"type": "worker", "index": i}})})
            for i in range(2)]


def one_place():
    """What the second task has compiled are sums of blocks alone: its cache shows it. The first step brings it the rest, also when it comes late."""
    tasks = pair(["--checkpoint-dir", path("run")], ["c", "d"])
    for task in tasks:
        task.drain()
    expect([task.finish(120) for task in tasks] == [0, 0], "two tasks", tasks[0].err(), tasks[1].err())
    end = json.loads(tasks[0].lines[-1])
    expect(end["digest"] == CASE["bits"], "two tasks: other bits")
    sums = len(files("d"))
    expect(0 < sums < len(files("c")) - 4, sums, "programs in the second task's cache of", len(files("c")))
    kept = sorted(os.path.basename(f) for f in glob.glob(path("run/programs/*")))
    expect(len(kept) >= CASE["programs"] - 3, "beside the checkpoints:", kept)


def one_leaves():
    many = ("--epochs", "40")  # more steps than a task can be ahead of what is read of it: the job is not over when one is killed
    bits = fit("e", *many, "--device-kernels", "measured")[0]
    tasks = pair(["--post-mortem", "none", *many], ["e", "f"])
    expect(tasks[0].until_step(2), "no steps:", tasks[0].err())
    tasks[1].process.send_signal(signal.SIGKILL)
    for task in tasks:
        task.drain()
    expect([task.finish(120) for task in tasks] == [0, -signal.SIGKILL], "exit codes", tasks[0].err()[-500:])
    end = json.loads(tasks[0].lines[-1])
    expect(end["digest"] == bits, "a task that leaves changes bits")


def resumption():
    """With the programs beside the checkpoint, whatever the cache has; they are part of the run."""
    words = ["--device-kernels", "measured", "--checkpoint-dir", path("cut")]
    fit("g", *words, "--epochs", "1")
    shutil.rmtree(path("g"))
    bits, compiled, found, _ = fit("g", *words)
    expect((bits, compiled) == (CASE["bits"], 0), "continued", bits, compiled, found)
    folder = sorted(glob.glob(path("cut/ckpt-*")), key=lambda f: int(f.rsplit("-", 1)[1]))[-1]
    text = open(folder + "/manifest.json").read()
    was = json.loads(text)["programs"]
    expect(len(was) == 64, "the manifest says", was)
    with open(folder + "/manifest.json", "w") as out:
        out.write(text.replace(was, was[::-1]))
    answer = artel(*CASE["words"], *words, "--epochs", "5", env={"ARTEL_CACHE_DIR": path("g")})
    expect(answer.rc == 1 and "measured again" in answer.err, "with other programs", answer.rc, answer.err)
    answer = artel(*CASE["words"], "--device-kernels", "fixed", "--checkpoint-dir", path("cut"), env={"ARTEL_CACHE_DIR": path("g")})
    expect(answer.rc == 1 and "device" in answer.err, "another class", answer.rc, answer.err)
    answer = artel(*CASE["words"], *words, env={"ARTEL_CACHE_DIR": path("g"), "XLA_FLAGS": "--xla_backend_optimization_level=0"})
    expect(answer.rc == 1 and "these differ: device" in answer.err and ", XLA_FLAGS " in answer.err, "other flags", answer.rc, answer.err)


def flags():
    """What XLA is told by the environment makes other programs."""
    bits, compiled, *_ = fit("flags")
    expect(fit("flags", XLA_FLAGS="--xla_backend_optimization_level=0")[1:3] == (compiled, 0), "with other flags the same programs are found")
    expect(fit("flags")[:3] == (bits, 0, compiled), "without flags others than before are found")


def main():
    make()
    return run_checks(second_start, progress, damaged, no_folder, full, at_once, one_place, one_leaves, resumption, flags)


if __name__ == "__main__":
    skip_without_xla()
    sys.exit(main())
