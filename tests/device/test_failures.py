# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""A device that fails while it computes: one line that says what it is and what to do, nothing left behind, and the run goes on from its checkpoint
to the bits of one that was never cut. And what of its memory a card's plug-in may take. By XLA's plug-in for the CPU behind one that fails on request; skipped without it."""

import os
import resource
import signal
import subprocess
import sys
import tempfile

import numpy as np
from cli import K, L, O, expect, run_checks, save
from oracle import ROOT, artel, digest, skip_without_xla

FOLDER = tempfile.TemporaryDirectory()
CASE = {}


def path(name):
    return os.path.join(FOLDER.name, name)


def model():
    m = K.Sequential([K.Input((20,)), L.Dense(24, activation="relu"), L.Dropout(0.25), L.Dense(5, activation="softmax")])
    m.compile(O.Adam(0.01), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return m


def make():
    random = np.random.default_rng(3)
    np.savez(path("rows.npz"), x=random.normal(size=(256, 20)).astype("float32"), y=random.integers(0, 5, 256).astype("int32"))
    os.mkdir(path("plug"))
    file = path("plug/faulty_cpu_plugin.so")
    subprocess.run(["gcc", "-shared", "-fPIC", "-std=gnu11", "-I" + os.path.join(ROOT, "third_party"), os.path.join(ROOT, "tests/device/faulty.c"), "-o", file, "-ldl"],
                   check=True)
    real = [w for w in artel("version").out.split() if w.rstrip(",").endswith(".so")][0].rstrip(",")
    CASE.update(model=save(model, path("m.keras")), env={"FAULTY_PLUGIN": real, "ARTEL_CACHE_DIR": path("cache")}, plugin=("--plugin", file))


def fit(out, *more, call=None, at=0, code=0, text="", on=False, abort=False, under=()):
    env = dict(CASE["env"])
    if call:
        env.update(FAULTY_CALL=call, FAULTY_AT=str(at), FAULTY_CODE=str(code), FAULTY_TEXT=text, **({"FAULTY_ON": "1"} if on else {}), **({"FAULTY_ABORT": "1"} if abort else {}))
    return artel(*under, "fit", CASE["model"], "--data", "npz:" + path("rows.npz"), "--batch-size", 32, "--epochs", 2, "--seed", 4, "--device", "cpu:xla", "--output", path(out),
                 *CASE["plugin"], *more, env=env)


def bits(out, answer):
    expect(answer.rc == 0, "exit code", answer.rc, answer.err)
    return digest(path(out))


def says(answer, out, *texts, codes=(1, 2)):
    expect(answer.rc in codes, "exit code", answer.rc, answer.err)
    expect(sum(line.startswith("artel:") and "nothing will be left" not in line for line in answer.err.splitlines()) == 1, "more than a line:", answer.err)
    for text in texts:
        expect(text in answer.err, "%r is not in %r" % (text, answer.err))
    expect(not os.path.exists(path(out)), "a model is left")


def lost():
    """In the middle of the run, for good; what was saved goes on."""
    for more in ((), ("--device-reduce", "fast")):
        whole = bits("whole.keras", fit("whole.keras", *more))
        folder = ("--checkpoint-dir", path("ck%d" % len(more)), "--save-every", "3steps")
        says(fit("cut.keras", *more, *folder, call="launch", at=16, code=13, text="CUDA_ERROR_ECC_UNCORRECTABLE: uncorrectable ECC error", on=True), "cut.keras",
             "the device is lost", "on cpu:xla:0", "ECC", "--resume")
        expect(any(name.startswith("ckpt-") for name in os.listdir(folder[1])), "no checkpoint:", os.listdir(folder[1]))
        expect(bits("rest.keras", fit("rest.keras", *more, *folder)) == whole, "continued, with other bits", more)


def central():
    """The same where variables stay here: a step that was not taken whole is none."""
    more = ("--strategy", "central-storage", "--replicas", 2, "--shards", 2, "--save-every", "3steps")
    whole = bits("whole.keras", fit("whole.keras", *more))
    for n, (call, at) in enumerate((("launch", 40), ("launch", 41), ("put", 150), ("put", 157), ("put", 161))):
        folder = ("--checkpoint-dir", path("here%d" % n))
        says(fit("cut.keras", *more, *folder, call=call, at=at, code=13, text="CUDA_ERROR_ECC_UNCORRECTABLE: uncorrectable ECC error", on=True), "cut.keras",
             "the device is lost", "ECC", "--resume")
        expect(any(name.startswith("ckpt-") for name in os.listdir(folder[1])), "no checkpoint:", os.listdir(folder[1]))
        expect(bits("rest.keras", fit("rest.keras", *more, *folder)) == whole, "continued, with other bits", call, at)


def mixed():
    """Behind each step the variables of the first replica, a device, are read for the processors beside it. What cannot be read ends the run."""
    steps, cut, folder = 16, 10, ("--checkpoint-dir", path("mixed"))
    more = ("--device", "cpu:xla:0,cpu", "--allow-mixed-arithmetic", "--save-every", "3steps")
    CASE["env"]["FAULTY_TRACE"] = path("trace")
    whole = bits("whole.keras", fit("whole.keras", *more))
    del CASE["env"]["FAULTY_TRACE"]
    lines = open(path("trace")).read().split("\n")
    launches = [i for i, line in enumerate(lines) if line == "launch"]
    expect(len(launches) % steps == 0, "launches", len(launches))
    at = lines[: launches[len(launches) // steps * cut]].count("get")  # the last one of that many steps
    says(fit("cut.keras", *more, *folder, call="get", at=at, code=14, text="the link is down"), "cut.keras", "device is lost", "--resume")
    expect(any(name.startswith("ckpt-") for name in os.listdir(folder[1])), "no checkpoint:", os.listdir(folder[1]))
    expect(bits("rest.keras", fit("rest.keras", *more, *folder)) == whole, "continued, with other bits")


def sums():
    """A plug-in that refuses sums over devices, or makes them and fails at the first: a note, and artel's own sums. One that fails in a step ends the run."""
    four = ("--device-reduce", "fast", "--strategy", "mirrored", "--replicas", 4)
    own = bits("own.keras", fit("own.keras", *four, "--all-reduce", "direct"))
    whole = bits("whole.keras", fit("whole.keras", *four))
    expect(own != whole, "the plug-in's sums are artel's")
    for call, text in (("compile", "collectives are not supported"), ("launch", "NCCL was not found"), ("get", "NCCL: unhandled system error")):
        answer = fit("note.keras", *four, call=call, at=1, code=12, text=text)
        expect(answer.rc == 0 and digest(path("note.keras")) == own, call, "is refused:", answer.rc, answer.err)
        expect("cpu:xla:0: sums of replicas are artel's and not the plug-in's: " in answer.err and text in answer.err, call, answer.err)
    CASE["env"]["FAULTY_TRACE"] = path("sums")
    bits("traced.keras", fit("traced.keras", *four))
    del CASE["env"]["FAULTY_TRACE"]
    launches = open(path("sums")).read().split("\n").count("launch")
    folder = ("--checkpoint-dir", path("cksums"), "--save-every", "3steps")
    says(fit("cut.keras", *four, *folder, call="launch", at=launches * 3 // 4, code=13, text="CUDA_ERROR_ECC_UNCORRECTABLE: uncorrectable ECC error", on=True), "cut.keras",
         "the device is lost", "--resume")
    expect(bits("rest.keras", fit("rest.keras", *four, *folder)) == whole, "continued, with other bits")


def served():
    """A worker of parameter servers: moving statistics that cannot be read behind a step end the job; those of before do not go to the servers."""
    m = K.Sequential([K.Input((20,)), L.Dense(24, activation="relu"), L.BatchNormalization(), L.Dense(5, activation="softmax")])
    m.compile(O.SGD(0.1, momentum=0.9), "sparse_categorical_crossentropy")
    line = ("launch", "-n", 1, "--ps", 1, "--insecure-network", "fit", save(lambda: m, path("served.keras")), "--data", "npz:" + path("rows.npz"), "--batch-size", 128, "--epochs", 1,
            "--strategy", "parameter-server", "--device", "cpu:xla", *CASE["plugin"], "--output", path("cut.keras"))
    answer = artel(*line, env={**CASE["env"], "FAULTY_TRACE": path("reads")})
    expect(answer.rc == 0, "exit code", answer.rc, answer.err[-800:])
    os.remove(path("cut.keras"))
    reads = open(path("reads")).read().split("\n").count("get")  # of two steps; the later half of each is variables
    for at in (reads // 4 + 1, reads * 3 // 4 + 3):
        answer = artel(*line, env={**CASE["env"], "FAULTY_CALL": "get", "FAULTY_AT": str(at), "FAULTY_CODE": "14", "FAULTY_TEXT": "the link is down"})
        expect(answer.rc in (1, 2) and "device is lost: it cannot give an array: the link is down" in answer.err, "read", at, "of", reads, "fails:", answer.rc, answer.err[-800:])
        expect(not os.path.exists(path("cut.keras")), "a model is left")


def stopped():
    """Asked to end while programs are compiled: those that are being made are the last ones, and no step is made."""
    CASE["env"].update(FAULTY_STOP="1", ARTEL_CACHE_DIR=path("stopped"))
    answer = fit("cut.keras", "--device-launches", "shard", "--shards", 8, call="compile", at=1)
    del CASE["env"]["FAULTY_STOP"]
    says(answer, "cut.keras", "stopped on request, with ", "programs compiled; start the same command again", codes=(143,))
    expect(fit("rest.keras", "--device-launches", "shard", "--shards", 8).rc == 0, "started again")
    CASE["env"]["ARTEL_CACHE_DIR"] = path("cache")


def ahead():
    """What was launched before it was asked for, and failed, is launched again when it is; what was asked for ends the run."""
    whole = bits("whole.keras", fit("whole.keras", "--device-reduce", "fast"))
    ends = {}
    for at in range(1, 9):
        answer = fit("once.keras", "--device-reduce", "fast", call="launch", at=at, code=8, text="Out of memory allocating 1099511627776 bytes.")
        ends[at] = answer.rc
        if answer.rc == 0:
            expect(digest(path("once.keras")) == whole, "launch", at, "failed once: other bits")
            os.remove(path("once.keras"))
        else:
            says(answer, "once.keras", "the device has no memory to launch a program on cpu:xla:0", "--batch-size")
    expect(0 in ends.values() and len(set(ends.values())) == 2, "launches that fail once end in", ends)


def sent():
    """Two batches are on their way while a step is computed: before the first launch of step k the inputs of step k + 1 were sent. With room for one, or
    for none, fewer are, and one where the plug-in does not say what programs take; the bits are the same. One that cannot be sent is sent again, from its step's
    rows or ahead of it, and those behind it as ever; so are two behind a step that is computed once more to find where a NaN is from."""
    width, rows, steps, need, digests = 16384, 64, 8, None, set()

    def wide():
        m = K.Sequential([K.Input((width,)), L.Dense(4, activation="softmax")])
        m.compile(O.SGD(0.01), "sparse_categorical_crossentropy")
        return m

    model, random = save(wide, path("wide.keras")), np.random.default_rng(3)
    np.savez(path("wide.npz"), x=random.normal(size=(256, width)).astype("float32"), y=random.integers(0, 4, 256).astype("int32"))
    batch, piece = rows * (width + 1) * 4, rows // 8 * width
    for n, (reach, lost) in enumerate(((2, None), (2, 3), (2, 4), (1, None), (1, 3), (0, None))):
        env = {**CASE["env"], "FAULTY_TRACE": path("trace%d" % n)}
        if lost:  # the second piece of that batch, ahead of its step
            env.update(FAULTY_CALL="put", FAULTY_LEAST=str(piece), FAULTY_AT=str(lost * pieces + min(pieces, 2)), FAULTY_CODE="8", FAULTY_TEXT="Out of memory.")
        if need:
            env["ARTEL_DEVICE_MEMORY_MB"] = str(-(-(need + reach * batch) // 2**20))
        answer = artel("fit", model, "--data", "npz:" + path("wide.npz"), "--batch-size", rows, "--epochs", 2, "--seed", 4, "--device", "cpu:xla", "--output",
                       path("wide-out.keras"), *CASE["plugin"], "--explain", env=env)
        digests.add(bits("wide-out.keras", answer))
        said = [line for line in answer.out.splitlines() if "a step needs" in line][0]
        need = int(said.split("a step needs ")[1].split()[0])
        expect("ahead of it %d batch" % reach in said and "of %d bytes" % batch in said, "with room for", reach, said)
        elements, before, puts = 0, [], 0
        for line in open(env["FAULTY_TRACE"]).read().splitlines():
            what, *count = line.split()
            for c in (int(c) for c in count if int(c) >= piece):
                puts += 1
                elements += c * (puts != int(env.get("FAULTY_AT", 0)))  # that one did not arrive
            before += [elements // (rows * width)] * (what == "launch")
        launches = len(before) // steps
        expect(launches * steps == len(before), "launches", len(before))
        due = [min(steps, step + 1 + (reach == 2 and step > 0)) for step in range(steps)]
        if lost:
            due[lost - reach + 1] -= reach == 2
            expect(puts == steps * pieces + min(pieces, 2), "with a batch that cannot be sent ahead:", puts, "arrays for", steps, "batches of", pieces)
        else:
            pieces = puts // steps
        expect(before[::launches] == due, "with room for", reach, "without", lost, "batches were sent before each step:", before[::launches], "not", due)
    silent = {**CASE["env"], "FAULTY_SILENT": "1", "ARTEL_DEVICE_MEMORY_MB": "4096"}
    answer = artel("fit", model, "--data", "npz:" + path("wide.npz"), "--batch-size", rows, "--epochs", 2, "--seed", 4, "--device", "cpu:xla", "--output",
                   path("wide-out.keras"), *CASE["plugin"], "--explain", env=silent)
    digests.add(bits("wide-out.keras", answer))
    expect("ahead of it 1 batch of" in answer.out, "of programs that nobody knows the memory of:", [line for line in answer.out.splitlines() if "ahead of it" in line])
    expect(len(digests) == 1, "other bits with other batches ahead")
    np.savez(path("nan.npz"), x=np.full((256, width), np.nan, "float32"), y=random.integers(0, 4, 256).astype("int32"))
    env = {**CASE["env"], "FAULTY_TRACE": path("trace-nan")}
    answer = artel("fit", model, "--data", "npz:" + path("nan.npz"), "--batch-size", rows, "--epochs", 2, "--seed", 4, "--device", "cpu:xla", "--output",
                   path("nan.keras"), *CASE["plugin"], env=env)
    expect(answer.rc == 0 and "nan" in answer.err, "exit code", answer.rc, answer.err)
    elements = sum(int(line.split()[1]) for line in open(env["FAULTY_TRACE"]) if line.startswith("put") and int(line.split()[1]) >= piece)
    expect(elements == (steps + 3) * rows * width, "where a step is looked at again, and two batches are sent again:", elements / rows / width, "batches")


def meanings():
    for call, code, text, told in (
        ("compile", 8, "Out of memory while trying to allocate", ("no memory to compile", "--batch-size")),
        ("compile", 13, "DNN library initialization failed.", ("library of the device is missing", "nvidia-*")),
        ("compile", 5, "Couldn't find a suitable version of ptxas.", ("library of the device is missing",)),
        ("compile", 12, "custom op is unknown", ("cannot compile", "update the plug-in")),
        ("put", 14, "the link is down", ("device is lost", "take an array", "--resume")),
        ("get", 14, "the link is down", ("device is lost", "--resume")),
        ("await", 14, "the link is down", ("device is lost", "--resume")),
        ("launch", 13, "CUDA driver version is insufficient for CUDA runtime version", ("driver is older", "update the driver")),
        ("launch", 13, "something else", ("the plug-in cannot launch a program on cpu:xla:0", "something else")),
    ):
        more = ("--device-kernels", "measured") if call == "compile" else ()  # what was compiled before is another program
        says(fit("x.keras", *more, call=call, at=1, code=code, text=text), "x.keras", *told)


def aborts():
    """A plug-in that ends the process is a line, behind its own, with what to do; the run goes on from its checkpoint, by hand or by the launcher."""
    whole = bits("whole.keras", fit("whole.keras"))
    folder = ("--checkpoint-dir", path("aborts"), "--save-every", "3steps")
    for call, at in (("compile", 1), ("launch", 16)):
        more = ("--device-kernels", "measured") if call == "compile" else ()
        answer = fit("cut.keras", *more, *folder, call=call, at=at, abort=True)
        says(answer, "cut.keras", "Check failed: id < count\nartel: --device cpu:xla: the process was ended by signal 6", "newest checkpoint", codes=(-signal.SIGABRT,))
    expect(any(name.startswith("ckpt-") for name in os.listdir(folder[1])), "no checkpoint:", os.listdir(folder[1]))
    expect(bits("rest.keras", fit("rest.keras", *folder)) == whole, "continued, with other bits")
    expect(not any(name.startswith("tmp") for name in os.listdir(folder[1])), "left:", os.listdir(folder[1]))
    folder = ("--checkpoint-dir", path("again"), "--save-every", "3steps")  # what is left of the run has fewer launches than the one that aborts
    answer = fit("again.keras", *folder, call="launch", at=24, abort=True, under=("launch", "-n", 1, "--restarts", 1))
    expect("the process was ended by signal 6" in answer.err, answer.err)
    expect(answer.err.count("Epoch 1/2") == 2 or answer.err.count("Epoch 2/2") == 2, "where it goes on is not shown, and since when:", answer.err)
    expect(bits("again.keras", answer) == whole, "started again, with other bits")


def memory():
    """What a card's plug-in is told to take of its memory, in the process that tries it, where nothing is taken at once, and in the run's own."""
    card = path("plug/xla_cuda_plugin.so")
    os.symlink(CASE["plugin"][1], card)
    for word, first, own in ((None, "preallocate=false", "preallocate=false"), ("grow", "preallocate=false", "preallocate=false"),
                             ("grow:0.4", "preallocate=false memory_fraction=0.4", "preallocate=false memory_fraction=0.4"),
                             ("0.9", "preallocate=false memory_fraction=0.9", "preallocate=true memory_fraction=0.9")):
        said = path("options-%s" % word)
        answer = artel("predict", CASE["model"], "--data", "npz:" + path("rows.npz"), "--device", "cuda:0", "--plugin", card, "--output", path("p.npy"),
                       *(("--device-memory", word) if word else ()), env={**CASE["env"], "FAULTY_OPTIONS": said})
        expect(answer.rc == 0, "exit code", answer.rc, answer.err)
        expect([line.strip() for line in open(said)] == [first, own], word, "is said as", open(said).read())
        os.remove(path("p.npy"))
    for word, more, told in (("1.5", ("--device", "cuda:0", "--plugin", card), "no part of a card's memory"), ("half", ("--device", "cuda:0", "--plugin", card), "no part"),
                             ("0.5", ("--device", "cpu:xla", *CASE["plugin"]), "only plug-ins for CUDA and ROCm")):
        answer = artel("predict", CASE["model"], "--data", "npz:" + path("rows.npz"), "--output", path("p.npy"), "--device-memory", word, *more, env=CASE["env"])
        expect(answer.rc == 1 and told in answer.err and "device memory" in answer.err, word, "exit code", answer.rc, answer.err)


def main():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    make()
    return run_checks(meanings, lost, central, mixed, sums, served, stopped, ahead, sent, aborts, memory)


if __name__ == "__main__":
    skip_without_xla()
    sys.exit(main())
