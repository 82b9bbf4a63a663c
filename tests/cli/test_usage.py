# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""The command line from the outside: help, options, exit codes, what goes to stdout and stderr, events, logs."""

import csv
import ctypes
import dataclasses
import json
import os
import re
import shutil
import subprocess
import zipfile

import numpy as np
from cli import K, L, MODELS, O, arrays, save, save_arrays
from oracle import ARTEL, Failure, artel, clean_environment, digest, keras_module, table

SUBCOMMANDS = "new plot fit evaluate predict summary inspect convert check launch attend cert status drain data bench completion version devices".split()


@dataclasses.dataclass
class Row:
    name: str
    run: object  # Bench -> None


class Bench:
    def __init__(self, folder):
        self.folder = folder
        self.model = save(MODELS["mlp"], self("m.keras"))
        self.data = save_arrays("mlp", self("d.npz"), 200)
        self.out = self("o.keras")

    def __call__(self, name):
        return os.path.join(self.folder, name)

    def fit(self, *more, env=None, rc=0):
        return must("fit", self.model, "--data", self.data, *more, env=env, rc=rc)


def must(*args, rc=0, env=None, cwd=None):
    ran = artel(*args, env=env, cwd=cwd)
    if ran.rc != rc:
        raise Failure("artel %s: exit %d instead of %d, stderr %r" % (" ".join(map(str, args))[:200], ran.rc, rc, ran.err[-300:]))
    return ran


def has(text, *words):
    for word in words:
        if word not in text:
            raise Failure("%r is missing in %r" % (word, text[:600]))


def equal(what, a, b):
    if a != b:
        raise Failure("%s: %r is not %r" % (what, a, b))


# ---------------------------------------------------------------- help, options
def full(b):
    """Results that do not arrive are an error of whoever printed them."""
    for args in (["help"], ["help", "fit"], ["fit", "--help"], ["version"], ["summary", b.model], ["inspect", b.model], ["check", b.model],
                 ["inspect", b.model, "--digest"], ["evaluate", b.model, "--data", b.data], ["evaluate", b.model, "--data", b.data, "--json"],
                 ["predict", b.model, "--data", b.data, "--output", b("p.npy"), "--json"], ["fit", b.model, "--data", b.data, "--dry-run"],
                 ["fit", b.model, "--data", b.data, "--json"], ["fit", b.model, "--data", b.data, "--explain"], ["cert", "init", b("certs")],
                 ["check", "--cluster"], ["launch", "-n", "2", "--dry-run", "version"]):
        with open("/dev/full", "w") as out:
            ran = subprocess.run([ARTEL, *args], stdout=out, stderr=subprocess.PIPE, env=clean_environment())
        equal("exit code of artel " + " ".join(args), ran.returncode, 2)
        has(ran.stderr.decode(), "standard output")


def help_of(name):
    def run(b):
        ran = must(name, "--help")
        equal("help on stderr", ran.err, "")
        equal("artel help " + name, must("help", name).out, ran.out)
        if name == "fit":  # what is seldom wanted is named, and shown when asked for
            has(ran.out, "artel help fit --all", "tasks of a cluster")
            equal("options of a cluster in the short help", "--rendezvous" in ran.out, False)
            ran = must("help", name, "--all")
            equal("artel fit --all --help", must(name, "--all", "--help").out, ran.out)
            has(ran.out, "--rendezvous", "--consistency", "--isa")
        has(ran.out, name)
        if name != "version" and "xample" not in ran.out:
            raise Failure("no examples")
        words = {"fit": ["--data", "--validation", "--validation-split", "--strategy", "--replicas", "--threads", "--shards", "--batch-size", "--epochs",
                         "--steps-per-epoch", "--initial-epoch", "--seed", "shuffle", "--optimizer", "--loss", "--metrics", "--checkpoint-dir",
                         "--save-every", "--keep", "--resume", "--fresh", "--log-dir", "--csv-log", "--history", "--callbacks", "--output",
                         "--json", "--verbose", "--class-weight", "--explain", "--isa", "--stop-on-nan", "--dry-run", "--profile", "--batch-norm"],
                 "evaluate": ["--data", "--batch-size", "--steps", "--json"], "predict": ["--data", "--output", "--format"],
                 "inspect": ["--digest"], "convert": ["--architecture"], "check": ["--data", "--cluster", "--resolver", "--task"],
                 "cert": ["init DIR", "issue DIR NAME", "renew DIR NAME", "verify DIR", "show FILE", "--job", "--hosts", "--days", "--key", "--force"]}
        has(ran.out, *words.get(name, []))
        long = [line for line in ran.out.splitlines() if len(line) > 160]
        equal("lines over 160 columns", long, [])

    return run


def top_help(b):
    for args in (("--help",), ("help",)):
        has(must(*args).out, *SUBCOMMANDS)
    ran = must(rc=1)
    has(ran.err + ran.out, "fit", "help")


def version(b):
    ran = must("version")
    equal("stderr", ran.err, "")
    has(ran.out, "artel", "threads")
    has(must("--version").out, ran.out.splitlines()[0])


def nearest(*args, words):
    def run(b):
        ran = must(*args, rc=1)
        equal("stdout", ran.out, "")
        has(ran.err, "artel: ", *words)

    return run


def spellings(b):
    """--name value, --name=value, options before the model, after it, -- at the end, the last of two wins."""
    one = must("fit", b.model, "--data", b.data, "--batch-size", 50, "--output", b.out, "--verbose", 0)
    first = digest(b.out)
    for args in ((b.model, "--data=" + b.data, "--batch-size=50"), ("--batch-size", 50, "--data", b.data, b.model),
                 ("--batch-size", 10, "--data", b.data, b.model, "--batch-size", 50), ("--data", b.data, "--batch-size", 50, "--", b.model)):
        must("fit", "--output", b.out, "--verbose", 0, *args)
        equal("digest with %s" % (args,), digest(b.out), first)
    equal("stdout", one.out, "")


def control_characters(b):
    """A name with an escape sequence does not reach the terminal as one."""
    said = artel("fit", "no\x1b[31mmodel.keras", "--data", "npz:d.npz")
    if said.rc != 1 or "no\\x1b[31mmodel.keras" not in said.err or "\x1b" in said.err:
        raise Failure(repr(said.err))


def foreign_names(b):
    """Nor do names from files: of layers, metrics, settings, arrays, columns, folders; none of them makes a line of its own."""
    odd = "\x1b[31m\nartel: fake"
    dense = {"name": "d" + odd, "units": 2}

    def written(name, layer=dense, kind="Dense", **compiled):
        record = {"class_name": "Sequential", "config": {"name": "s" + odd, "layers": [
            {"class_name": "InputLayer", "config": {"batch_shape": [None, 4], "name": "i" + odd}}, {"class_name": kind, "config": layer}]}}
        metrics = [{"class_name": "MeanSquaredError", "config": {"name": "m" + odd}}]
        with open(b(name), "w") as f:
            json.dump({**record, "compile_config": {"optimizer": "sgd", "loss": "mse", "metrics": metrics, **compiled}}, f)
        return b(name)

    model, rows = written("odd.json"), b("rows.npz")
    np.savez(rows, x=np.zeros((8, 4), "f4"), y=np.zeros((8, 2), "f4"))
    np.savez(b("a.npz"), **{"x" + odd: np.zeros((8, 4), "f4"), "y": np.zeros((8, 2), "f4")})
    with open(b("c.csv"), "w") as f:
        f.write('"a%s",y\n"q%s",2\n' % (odd, odd))
    with open(b("h.json"), "w") as f:
        json.dump({"loss" + odd: [1, 2]}, f)
    os.makedirs(b("pictures/k\x1b[31m"))
    open(b("pictures/k\x1b[31m/p\x1b[31m.png"), "wb").write(b"\x89PNG\r\n\x1a\n..")
    data, arrays, table_, made = "npz:" + rows, "npz:" + b("a.npz"), "csv:" + b("c.csv"), b("odd.keras")
    commands = [("fit", model, "--data", data, "--output", made, "--checkpoint-dir", b("ck"), "--log-dir", b("logs"), "--json"), ("summary", model), ("inspect", model),
                ("inspect", made), ("inspect", b("ck")), ("inspect", b("logs/train")), ("inspect", b("h.json")), ("plot", b("h.json")), ("check", model, "--data", arrays),
                ("fit", model, "--data", data, "--explain"), ("fit", model, "--data", data, "--verbose", 1), ("fit", model, "--data", arrays), ("convert", model, b("o.onnx")),
                ("inspect", b("o.onnx")), ("inspect", arrays, "--head", 1), ("inspect", table_, "--head", 1), ("fit", model, "--data", table_ + "#label=y"),
                ("inspect", "images:" + b("pictures")), ("fit", model, "--data", "images:" + b("pictures") + "#size=4x4"), ("data", "stats", arrays),
                ("data", "make", arrays, "-o", b("rec")), ("data", "inspect", "tfrecord:" + b("rec")), ("evaluate", made, "--data", data), ("fit", model, "--data", data, "--freeze", "z")]
    for name, record in (("kind", {"kind": "Dense" + odd}), ("key", {"layer": {**dense, "unit" + odd: 3}}), ("activation", {"layer": {**dense, "activation": "r" + odd}}),
                         ("loss", {"loss": "m" + odd}), ("optimizer", {"optimizer": {"class_name": "SGD", "config": {"lr" + odd: 1}}})):
        commands.append(("check", written(name + ".json", **record)))
    for args in commands:
        ran = artel(*args)
        if ran.rc not in (0, 1) or "\x1b" in ran.out + ran.err or "\nartel: fake" in "\n" + ran.out + ran.err:
            raise Failure("artel %s: exit %d, %r" % (" ".join(map(str, args))[:160], ran.rc, (ran.out + ran.err)[-400:]))


def dashes(b):
    """After -- a name may start with a dash."""
    os.rename(b.model, b("-odd.keras"))
    must("summary", "--", "-odd.keras", cwd=b.folder)
    must("summary", "-odd.keras", cwd=b.folder, rc=1)


def environment(b):
    """ARTEL_<OPTION> is a default; the command line wins."""
    b.fit("--batch-size", 50, "--output", b.out, "--verbose", 0)
    first = digest(b.out)
    b.fit("--output", b.out, "--verbose", 0, env={"ARTEL_BATCH_SIZE": "50"})
    equal("digest by ARTEL_BATCH_SIZE", digest(b.out), first)
    b.fit("--output", b.out, "--batch-size", 50, "--verbose", 0, env={"ARTEL_BATCH_SIZE": "20"})
    equal("digest by option over ARTEL_BATCH_SIZE", digest(b.out), first)
    ran = b.fit(env={"ARTEL_BATCH_SIZE": "many"}, rc=1)
    has(ran.err, "many")
    for name, meant in (("ARTEL_BATCHSIZE", "ARTEL_BATCH_SIZE"), ("ARTEL_EPOCS", "ARTEL_EPOCHS"), ("ARTEL_PJRT_PLUGN", "ARTEL_PJRT_PLUGIN"),
                        ("ARTEL_PART_DIRS", "ARTEL_PART_DIR"), ("ARTEL_CERTDIR", "ARTEL_CERT_DIR")):
        has(b.fit(env={name: "3"}).err, "warning: nothing reads %s of the environment; the nearest name is %s\n" % (name, meant))
    others = ("ARTEL_SOURCE", "ARTEL_BUILD", "ARTEL_TEST_VENV", "ARTEL_HOME", "ARTEL_IMAGE", "ARTEL_API", "ARTEL_", "ARTEL", "BATCHSIZE", "artel_epochs")
    services = {"ARTEL_PORT": "tcp://10.0.0.1:80", "ARTEL_PORT_80_TCP_PROTO": "tcp", "ARTEL_SERVICE_HOST": "10.0.0.1", "ARTEL_SERVICE_PORT": "80"}
    known = {"ARTEL_CACHE_DIR": b.folder, "ARTEL_LIBRARY": "x", "ARTEL_DAYS": "3", "ARTEL_PROGRAM_CACHE_MB": "9"}
    ran = b.fit(env={**dict.fromkeys(others, "1"), **services, **known})
    equal("warnings of other names", "warning" in ran.err, False)


def idle_options(b):
    """What is typed and does nothing is said; what the environment holds for runs of other kinds is not."""
    groups = {"--checkpoint-dir DIR": {"--keep": 2, "--preempt-exit-code": 9}, "--validation or --validation-split": {"--validation-freq": 2},
              "--strategy parameter-server": {"--consistency": "sync", "--ps-copies": 2, "--partitioner": "fixed:2"},
              "--device": {"--device-reduce": "fast", "--device-precision": "tf32", "--plugin": "x.so"},
              "--strategy multi-worker or parameter-server": {"--min-workers": 2, "--bind": "127.0.0.1", "--on-preempt": "save", "--cert-dir": "none",
                                                              "--post-mortem": "none", "--suspect-after": "3s"}}
    words = [word for group in groups.values() for pair in group.items() for word in pair]
    ran = b.fit(*words)
    for lacking, group in groups.items():
        for option in group:
            has(ran.err, "note: %s does nothing without %s\n" % (option, lacking))
    ran = b.fit(env={"ARTEL_" + w[2:].upper().replace("-", "_"): str(v) for group in groups.values() for w, v in group.items()})
    equal("notes by the environment", "does nothing" in ran.err, False)
    has(must("evaluate", b.model, "--data", b.data, "--device-reduce", "fast", "--bind", "::1").err, "--device-reduce does nothing without --device\n",
        "--bind does nothing without --strategy multi-worker\n")


def weights_of_a_checkpoint(b):
    """A run that goes on does not begin with --weights again, and says so."""
    words = ("--checkpoint-dir", b("ck"), "--weights", b.model)
    equal("first", "of the checkpoint" in b.fit(*words).err, False)
    has(b.fit(*words, "--epochs", 2).err, "the weights are those of the checkpoint, not those of --weights")


def no_optimizer(b):
    """Compile settings may lack the optimizer (Keras 3.15 loses one that was given by name): it is RMSprop, in every format."""
    with zipfile.ZipFile(b.model) as z:
        record = json.loads(z.read("config.json"))
    del record["compile_config"]["optimizer"]
    with open(b("m.json"), "w") as f:
        json.dump(record, f)
    must("convert", b("m.json"), b("m.h5"))
    must("convert", b("m.h5"), b("again.keras"))
    equal("weights", digest(b("again.keras")), digest(b("m.h5")))
    for name in ("m.h5", "again.keras"):
        equal("Keras' optimizer of " + name, type(K.saving.load_model(b(name)).optimizer).__name__, "RMSprop")
    has(must("inspect", b("m.json")).out, "optimizer: none named, RMSprop")


def same_file_twice(b):
    """Of two results that go to one file the last one would be left."""
    os.mkdir(b("sub"))
    model = open(b.model, "rb").read()
    for args, words in ((("--output", b("o.keras"), "--history", b("o.keras")), "--history would overwrite what is written by --output"),
                        (("--history", b("h"), "--csv-log", b("sub/../h")), "--csv-log would overwrite what is written by --history"),
                        (("--csv-log", b("t"), "--profile", b("t")), "--profile would overwrite what is written by --csv-log"),
                        (("--output", b("o.keras"), "--callbacks", "ModelCheckpoint:filepath=" + b("o.keras")), "--output would overwrite what ModelCheckpoint writes"),
                        (("--history", b.model), "--history would overwrite the model"), (("--csv-log", b.model), "--csv-log would overwrite the model")):
        has(b.fit(*args, rc=1).err, words, "name another file to write")
    equal("model afterwards", open(b.model, "rb").read() == model, True)
    b.fit("--csv-log", "/dev/null", "--history", "/dev/null")
    b.fit("--output", b.model)


def defaults(b):
    """Batch 32, one epoch, seed 0, shuffled."""
    b.fit("--output", b.out, "--verbose", 0)
    first = digest(b.out)
    b.fit("--output", b.out, "--verbose", 0, "--batch-size", 32, "--epochs", 1, "--seed", 0, "--shuffle")
    equal("digest with the defaults spelt out", digest(b.out), first)
    for other in (("--seed", 1), ("--no-shuffle",), ("--epochs", 2)):
        b.fit("--output", b.out, "--verbose", 0, *other)
        if digest(b.out) == first:
            raise Failure("%s makes no difference" % (other,))


# ---------------------------------------------------------------- streams
def verbose(b):
    ran = b.fit("--epochs", 3, "--verbose", 0)
    equal("stdout of --verbose 0", ran.out, "")
    if "epoch" in ran.err.lower():
        raise Failure("--verbose 0 is not silent: %r" % ran.err)
    for args in (("--verbose", 2), ()):
        ran = b.fit("--epochs", 3, *args)
        equal("stdout", ran.out, "")
        if "\r" in ran.err or "\x1b" in ran.err:
            raise Failure("redrawing or colour in a pipe: %r" % ran.err[:300])
        lines = [line for line in ran.err.splitlines() if "loss" in line]
        equal("lines with a loss, one an epoch", len(lines), 3)
        has(ran.err, "accuracy")


def no_compile(b):
    path = save(lambda: K.Sequential([K.Input((20,)), L.Dense(10)]), b("u.keras"))
    ran = must("fit", path, "--data", b.data, rc=1)
    has(ran.err, "--loss")


EVENTS = {"start": {"role": str, "pid": int, "strategy": str, "replicas": int, "threads": int, "shards": int, "arithmetic": str},
          "step": {"epoch": int, "step": int, "loss": float},
          "epoch": {"epoch": int, "loss": float, "accuracy": float, "val_loss": float, "val_accuracy": float},
          "checkpoint": {"path": str, "step": int},
          "end": {"steps": int, "examples": int, "examples_per_second": float, "step_ms": float, "first_step_ms": float, "start_ms": float,
                  "peak_rss_bytes": int, "digest": str}}


def events(b):
    ran = b.fit("--json", "--epochs", 2, "--validation", b.data, "--checkpoint-dir", b("ck"), "--output", b.out, "--history", b("h.json"),
                "--strategy", "mirrored", "--replicas", 2)
    seen = ran.events()
    for kind, fields in EVENTS.items():
        found = [e for e in seen if e["event"] == kind]
        if not found:
            raise Failure("no event %s" % kind)
        for event in found:
            for field, type_ in fields.items():
                if field not in event or not isinstance(event[field], (int, float) if type_ is float else type_) or isinstance(event[field], bool):
                    raise Failure("%s of the %s event: %r" % (field, kind, event))
    equal("first event", seen[0]["event"], "start")
    equal("last event", seen[-1]["event"], "end")
    equal("steps", [e["step"] for e in seen if e["event"] == "step"], list(range(1, 15)))
    equal("epochs", [e["epoch"] for e in seen if e["event"] == "epoch"], [1, 2] if seen[1]["epoch"] == 1 else [0, 1])
    end = seen[-1]
    equal("steps and examples of end", (end["steps"], end["examples"]), (14, 400))
    equal("digest of end", end["digest"], digest(b.out))
    equal("strategy, replicas", (seen[0]["strategy"], seen[0]["replicas"]), ("mirrored", 2))
    with open(b("h.json")) as f:
        history = json.load(f)
    equal("keys of History", list(history), ["accuracy", "loss", "val_accuracy", "val_loss"])
    for i, event in enumerate(e for e in seen if e["event"] == "epoch"):
        for key, values in history.items():
            if abs(values[i] - event[key]) > 1e-9:
                raise Failure("epoch event and history differ: %s %s" % (event, history))


def json_epochs(b):
    seen = b.fit("--json=epochs", "--epochs", 2).events()
    equal("events", [e["event"] for e in seen], ["start", "epoch", "epoch", "end"])


def csv_log(b):
    b.fit("--epochs", 3, "--csv-log", b("l.csv"), "--history", b("h.json"), "--validation", b.data, "--verbose", 0)
    with open(b("l.csv")) as f:
        rows = list(csv.DictReader(f))
    with open(b("h.json")) as f:
        history = json.load(f)
    equal("columns", list(rows[0]), ["epoch", "accuracy", "loss", "val_accuracy", "val_loss"])
    equal("epochs", [r["epoch"] for r in rows], ["0", "1", "2"])
    for key, values in history.items():
        if any(abs(float(r[key]) - v) > 1e-6 * max(1, abs(v)) for r, v in zip(rows, values)):
            raise Failure("%s: %s, history %s" % (key, rows, values))


def initial_epoch(b):
    """--initial-epoch counts from where one was; --steps-per-epoch cuts an epoch."""
    seen = b.fit("--json", "--epochs", 5, "--initial-epoch", 3, "--steps-per-epoch", 2).events()
    equal("steps", len([e for e in seen if e["event"] == "step"]), 4)
    equal("epochs", len([e for e in seen if e["event"] == "epoch"]), 2)


def no_epochs(b):
    """Of no epochs the model comes back as it was, with an empty history and a word."""
    keras = keras_module()
    x, y = arrays("mlp", 200)
    theirs = keras.models.load_model(b.model).fit(x, y, epochs=0, verbose=0).history
    ran = b.fit("--epochs", 0, "--output", b.out, "--history", b("h.json"), "--json")
    has(ran.err, "--epochs is 0: nothing is trained")
    equal("events", [e["event"] for e in ran.events()], ["start", "end"])
    equal("weights", digest(b.out), digest(b.model))
    with open(b("h.json")) as f:
        equal("history", json.load(f), theirs)
    has(b.fit("--epochs", -1, rc=1).err, "--epochs: ", "found -1")


# ---------------------------------------------------------------- the other subcommands
def evaluate(b):
    keras = keras_module()
    x, y = arrays("mlp", 200)
    theirs = keras.models.load_model(b.model).evaluate(x, y, verbose=0, return_dict=True)
    said = must("evaluate", b.model, "--data", b.data)
    mine = dict(line.split() for line in said.out.splitlines())
    if set(mine) != set(theirs) or any(abs(float(mine[k]) - theirs[k]) > 2e-4 for k in mine):
        raise Failure("%s, Keras has %s" % (mine, theirs))
    event = must("evaluate", b.model, "--data", b.data, "--json", "--batch-size", 7, "--strategy", "mirrored", "--replicas", 3).events("evaluate")
    if len(event) != 1 or any(abs(event[0]["metrics"][k] - theirs[k]) > 2e-4 for k in theirs):
        raise Failure("%s, Keras has %s" % (event, theirs))
    must("evaluate", b.model, "--data", b.data, "--steps", 2)
    equal("a batch beyond the data", must("evaluate", b.model, "--data", b.data, "--batch-size", 10**9).out, must(
        "evaluate", b.model, "--data", b.data, "--batch-size", 200, "--shards", 256).out)
    ends = [b.fit("--batch-size", size, "--shards", 8, "--json=epochs").events("end")[0]["digest"] for size in (200, 10**9)]
    equal("digests", ends[0], ends[1])


def predict(b):
    must("predict", b.model, "--data", b.data, "--output", b("p.npy"))
    p = np.load(b("p.npy"))
    equal("dtype, shape", (str(p.dtype), p.shape), ("float32", (200, 10)))
    must("predict", b.model, "--data", b.data, "--output", b("p.npz"))
    with np.load(b("p.npz")) as z:
        equal("names", len(z.files), 1)
        if not np.array_equal(z[z.files[0]], p):
            raise Failure("other values in .npz")
    for args in (("--batch-size", 1), ("--batch-size", 77), ("--strategy", "mirrored", "--replicas", 5), ("--threads", 3), ("--format", "native")):
        must("predict", b.model, "--data", b.data, "--output", b("q.npy"), *args)
        if not np.array_equal(np.load(b("q.npy")), p):
            raise Failure("other bits with %s" % (args,))
    ran = must("predict", b.model, "--data", b.data, "--output", b("j.npy"), "--json", "--batch-size", 64)
    equal("event", [(e["event"], e["steps"], e["examples"], e["digest"]) for e in ran.events()], [("end", 4, 200, digest(b.model))])
    x, _ = arrays("mlp", 200)
    np.savez(b("x.npz"), x=x)
    must("predict", b.model, "--data", "npz:" + b("x.npz"), "--output", b("q.npy"))
    if not np.array_equal(np.load(b("q.npy")), p):
        raise Failure("other values without targets")


def predict_outputs_of_one_name(b):
    """A layer called more than once gives outputs of its name: the second becomes NAME_1, or the next that is no other's."""
    i = K.Input((20,))
    twice = L.Dense(3, name="twice")
    model = K.Model(i, [twice(i), twice(L.ReLU()(i)), L.Dense(2, name="twice_2")(i), twice(L.ELU()(i))])
    model.save(b("twice.keras"))
    x, _ = arrays("mlp", 50)
    np.save(b("x.npy"), x)
    must("predict", b("twice.keras"), "--data", "npy:" + b("x.npy"), "--output", b("twice.npz"))
    with np.load(b("twice.npz")) as z:
        equal("names", z.files, ["twice", "twice_1", "twice_2", "twice_3"])
        for mine, theirs in zip(z.values(), model.predict(x, verbose=0)):
            if not np.allclose(mine, theirs, rtol=1e-4, atol=1e-5):
                raise Failure("other values")


def predict_in_every_type(b):
    """`--format native`: integers and bool as Keras gives them; else float32, but for float64."""
    keras_module().utils.set_random_seed(4)
    i = K.Input((20,))
    a = L.Dense(3, name="a")(i)
    model = K.Model(i, [a, K.ops.argmax(a, -1), K.ops.greater(a, 0.0), K.ops.cast(1e9 * a, "int64"), L.Dense(2, dtype="float16")(a), L.Dense(2, dtype="float64")(a)])
    model.save(b("types.keras"))
    x, _ = arrays("mlp", 50)
    np.save(b("x.npy"), x)
    theirs = model.predict(x, verbose=0)
    for more, dtypes in (((), ["float32"] * 5 + ["float64"]), (("--format", "native"), [str(t.dtype) for t in theirs]),
                         (("--format", "native", "--strategy", "mirrored", "--replicas", 3, "--batch-size", 7), [str(t.dtype) for t in theirs])):
        must("predict", b("types.keras"), "--data", "npy:" + b("x.npy"), "--output", b("types.npz"), *more)
        with np.load(b("types.npz")) as z:
            mine = [z[name] for name in z.files]
        equal("dtypes", [str(m.dtype) for m in mine], dtypes)
        for m, t in zip(mine, theirs):
            if m.shape != t.shape or not np.allclose(m.astype("f8"), t.astype("f8"), rtol=1e-2 if t.dtype == "float16" else 1e-4, atol=1e-2):
                raise Failure("other values of %s" % t.dtype)
    K.Model(i, K.ops.argmax(a, -1)).save(b("class.keras"))
    must("predict", b("class.keras"), "--data", "npy:" + b("x.npy"), "--output", b("class.csv"), "--format", "native")
    with open(b("class.csv")) as f:
        equal("table", f.read().split()[1:], [str(c) for c in theirs[1]])


def summary(name):
    def run(b):
        path = save(MODELS[name], b("s.keras"))
        model = keras_module().models.load_model(path)
        said = must("summary", path)
        equal("stderr", said.err, "")
        numbers = re.sub(r"(?<=\d),(?=\d)", "", said.out)
        size = lambda variables: str(sum(int(np.prod(v.shape)) for v in variables if "seed" not in v.path))
        has(numbers, size(model.trainable_variables), size(model.non_trainable_variables), *[layer.name[:12] for layer in model.layers if type(layer).__name__ != "InputLayer"])
        has(numbers, *[size(layer.variables) for layer in model.layers])
        has(said.out, "Total params", "Trainable params")

    return run


def check_names_all(b):
    """Everything a model needs that is not there, at once."""

    def build():
        i = K.Input((6, 6, 3))
        t = L.Conv2D(2, 2, data_format="channels_last")(i)
        t = L.Conv2DTranspose(2, 2)(t)
        t = L.Lambda(lambda x: x * 2)(t)
        t = L.Lambda(lambda x: x * 3, name="another")(t)
        m = K.Model(i, L.Dense(2)(L.Flatten()(t)))
        m.compile(O.Ftrl(), "mse")
        return m

    ran = must("check", save(build, b("c.keras")), rc=1)
    said = ran.out + ran.err
    missing = [w for w in ("Lambda", "another") if w not in said]
    equal("layers that check does not name", missing, [])


def check_good(b):
    must("check", b.model)
    must("check", b.model, "--data", b.data)


def dry_run(b):
    b.fit("--dry-run", "--output", b.out)
    if os.path.exists(b.out):
        raise Failure("--dry-run wrote the output")


def explain(b):
    ran = b.fit("--dry-run", "--explain")
    has(ran.out + ran.err, "dense")


def repeatable(b):
    """The same command writes the same bytes, but for the date."""
    import zipfile

    whole = []
    for _ in range(2):
        b.fit("--output", b.out, "--verbose", 0)
        with zipfile.ZipFile(b.out) as z:
            whole.append((z.read("config.json"), z.read("model.weights.h5")))
    equal("two runs", whole[0] == whole[1], True)


def overrides(b):
    """--optimizer drops saved state and says so; --learning-rate keeps it."""
    b.fit("--output", b.out, "--verbose", 0)
    ran = must("fit", b.out, "--data", b.data, "--optimizer", "sgd:learning_rate=0.01", "--output", b("p.keras"))
    has(ran.err, "state")
    must("fit", b.out, "--data", b.data, "--learning-rate", 0.01, "--output", b("p.keras"))
    model = keras_module().models.load_model(b("p.keras"))
    equal("iterations", int(model.optimizer.iterations.numpy()), 14)
    if abs(float(model.optimizer.learning_rate.numpy()) - 0.01) > 1e-8:
        raise Failure("learning rate %s" % model.optimizer.learning_rate.numpy())


def last_line(b):
    """SIGPIPE or a closed stdout is no crash."""
    import subprocess

    from oracle import ARTEL, clean_environment

    p = subprocess.Popen([ARTEL, "fit", b.model, "--data", b.data, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_environment())
    p.stdout.close()
    p.stderr.read()
    p.stderr.close()
    if p.wait(60) in (-11, -6, -7, -8):
        raise Failure("signal %d" % -p.returncode)


def dry_run_writes_nothing(b):
    """--dry-run, even with --fresh, touches neither checkpoints nor logs nor results."""
    b.fit("--checkpoint-dir", b("ck"), "--epochs", 1)
    before = sorted(os.listdir(b("ck")))
    ran = b.fit("--checkpoint-dir", b("ck"), "--fresh", "--dry-run", "--log-dir", b("lg"), "--csv-log", b("l.csv"), "--output", b.out, "--history", b("h.json"),
                "--profile", b("pr/"), "--json")
    equal("checkpoints", sorted(os.listdir(b("ck"))), before)
    equal("new files", [n for n in ("lg", "l.csv", "o.keras", "h.json", "pr") if os.path.exists(b(n))], [])
    equal("events", ran.out, "")
    has(ran.err, "# training plan")


def another_policy(b):
    """A run under one dtype policy is not continued under another; what was never trained has no state to lose."""
    equal("state dropped", "optimizer state" in b.fit("--dtype", "mixed_float16", "--output", b("half.keras")).err, False)
    has(must("fit", b("half.keras"), "--data", b.data, "--dtype", "float32").err, "optimizer state (")
    more = ["--checkpoint-dir", b("ck"), "--output", b.out]
    equal("first", b.fit("--epochs", 1, "--dtype", "mixed_bfloat16", *more).rc, 0)
    ran = artel("fit", b.model, "--data", b.data, "--epochs", 2, *more)
    equal("another", ran.rc, 1)
    has(ran.err, "belong to another run; these differ: model")
    equal("again", b.fit("--epochs", 2, "--dtype", "mixed_bfloat16", *more).rc, 0)


def profile(b):
    """A timeline that viewers can read and a table whose shares add up; the weights do not change."""
    plain = b.fit("--epochs", 3, "--json=epochs").events("end")[0]["digest"]
    ran = b.fit("--epochs", 3, "--profile", b("t.json"), "--output", b.out)
    equal("digest", digest(b.out), plain)
    has(ran.out, "by operation", "by layer", "product, forward", "dense_1", "profile of 20 steps")
    operations = ran.out.split("by operation")[1].split("by layer")[0]
    shares = [float(line.split("%")[0].split()[-1]) for line in operations.splitlines()[1:] if "%" in line]
    if abs(sum(shares) - 100) > 2:
        raise Failure("shares add up to %g" % sum(shares))
    trace = json.load(open(b("t.json")))
    equal("steps", len([e for e in trace if e.get("cat") == "step"]), 21)
    for e in trace:
        if e["ph"] == "X" and (e["ts"] < 0 or e["dur"] < 0):
            raise Failure("%s" % e)
    names = {e["args"]["layer"] for e in trace if e.get("cat") == "op"}
    if not {"dense", "dense_1", "dense_2", "optimizer"} <= names:
        raise Failure("layers %s" % names)
    ran = b.fit("--epochs", 2, "--profile", b("folder/"), "--json=epochs", "--strategy", "mirrored", "--replicas", 2)
    equal("events", [e["event"] for e in ran.events()], ["start", "epoch", "epoch", "end"])
    has(ran.err, "by operation", "all_reduce")
    json.load(open(b("folder/trace.json")))
    if "reading ahead:" in ran.err:
        raise Failure("arrays are not read ahead")
    equal("records", artel("data", "make", b.data, "-o", b("rows.tfrecord")).rc, 0)
    for replicas in (1, 2):
        ran = artel("fit", b.model, "--data", "tfrecord:" + b("rows.tfrecord"), "--replicas", replicas, "--profile", b("r.json"), "--output", b.out)
        equal("rc", ran.rc, 0)
        has(ran.out, "reading ahead: ", " fit beside computing" if "does not fit" in ran.out else "it fits beside computing")


def reads_inside(b):
    """Results do not overwrite what a pipeline's file names and keeps, a folder's images, shards, descriptions of features."""
    os.makedirs(b("pictures/cats"))
    for name in ("pictures/cats/a.png", "pictures/cats/a.json"):
        open(b(name), "wb").write(b"x")
    equal("shards", artel("data", "make", b.data, "-o", b("set"), "--shards", 2).rc, 0)
    equal("snapshots", os.makedirs(b("kept")), None)
    open(b("kept/1.snapshot"), "w").close()
    open(b("cached"), "w").close()
    inner = {"from": {"zip": [{"from": b.data, "stages": [{"stage": "cache", "file": b("cached")}]}, "tfrecord:" + b("set")]},
             "stages": [{"stage": "snapshot", "folder": b("kept")}]}
    with open(b("inner.json"), "w") as f:
        json.dump(inner, f)
    pipeline = "pipeline:" + b("inner.json")
    with open(b("words.txt"), "w") as f:
        f.write("a\nb\n")
    with open(b("v.json"), "w") as f:
        json.dump({"w": {"dtype": "bytes", "vocabulary": b("words.txt")}}, f)
    kept = {n: open(b(n), "rb").read() for n in ("words.txt", "d.npz", "cached", "kept/1.snapshot", "set-00001-of-00002", "set.features.json", "pictures/cats/a.png")}
    for data, target in ((pipeline, "d.npz"), (pipeline, "cached"), (pipeline, "kept/1.snapshot"), (pipeline, "set-00001-of-00002"), (pipeline, "inner.json"),
                         (pipeline, "set.features.json"), ("images:" + b("pictures"), "pictures/cats/a.png"), ("tfrecord:" + b("set@2"), "set-00001-of-00002"),
                         ("tfrecord:" + b("set@*"), "set.features.json"), ("jsonl:" + b("l.jsonl") + "#features=" + b("set.features.json"), "set.features.json"),
                         ("jsonl:" + b("l.jsonl") + "#features=" + b("v.json"), "words.txt")):
        ran = must("fit", b.model, "--data", data, "--history", b(target), rc=1)
        has(ran.err, b(target) + ": --history would overwrite a file that the data is read from")
    for data, output, more in (("tfrecord:" + b("set"), "set", ("--shards", 2)), (pipeline, "cached", ()), (b.data, "d.npz", ())):
        has(must("data", "make", data, "-o", b(output), *more, rc=1).err, "--output would overwrite a file that the data is read from")
    has(must("data", "stats", b.data, "-o", b("d.npz"), rc=1).err, "--output would overwrite a file that the data is read from")
    os.makedirs(b("elsewhere/deep"))
    for name in ("elsewhere/deep/c.png", "far.bin", "free.png"):
        open(b(name), "wb").write(b"y")
    for link, target in (("pictures/dogs", "elsewhere"), ("pictures/cats/z.png", "far.bin"), ("pictures/cats/up", "pictures"), ("kept/2.snapshot", "far.bin")):
        os.symlink(b(target), b(link))
    os.link(b("elsewhere/deep/c.png"), b("hard.png"))
    for data, target in (("images:" + b("pictures"), "elsewhere/deep/c.png"), ("images:" + b("pictures"), "far.bin"), ("images:" + b("pictures"), "hard.png"),
                         (pipeline, "far.bin")):
        ran = must("fit", b.model, "--data", data, "--history", b(target), rc=1)
        has(ran.err, b(target) + ": --history would overwrite a file that the data is read from")
    equal("free", "would overwrite" in must("fit", b.model, "--data", "images:" + b("pictures"), "--history", b("free.png"), rc=1).err, False)
    equal("kept", {n: open(b(n), "rb").read() for n in kept} == kept, True)
    for data, target in (("images:" + b("pictures"), "pictures/cats/a.json"), (pipeline, "kept/other.json")):
        equal("let be", "would overwrite" in must("fit", b.model, "--data", data, "--history", b(target), rc=1).err, False)
    equal("split", artel("data", "split", "tfrecord:" + b("set"), "--fractions", "0.5,0.5", "-o", b("set")).rc, 0)


def planted(b):
    """A part that everybody could have put above the prefix is not loaded; there it is looked for, where only the owner writes."""
    program, loaded = b("open/prefix/bin/artel"), b("loaded")
    os.makedirs(os.path.dirname(program))
    shutil.copy(ARTEL, program)
    code = '#include <fcntl.h>\n__attribute__((constructor)) static void begin(void) { open("%s", O_CREAT | O_WRONLY, 0600); }\n' % loaded
    subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", b("open/libartel-tls.so")], input=code, text=True, check=True)
    for mode, trusted in ((0o1777, False), (0o755, True)):
        os.chmod(b("open"), mode)
        ran = subprocess.run([program, "cert", "init", b("certs")], capture_output=True, text=True, env=clean_environment(), check=False)
        equal("exit code", ran.returncode, 1)
        equal("loaded from a folder of mode %o" % mode, os.path.exists(loaded), trusted)
    os.unlink(program)


def early_refusals(b):
    """What could not be written in the end, or does nothing, is said before the first step."""
    os.mkdir(b("folder"))
    for option, name in (("--output", "nowhere/o.keras"), ("--history", "folder"), ("--csv-log", "folder"), ("--profile", "nowhere/t.json")):
        ran = b.fit(option, b(name), rc=1)
        has(ran.err, name)
        equal("training began", "loss" in ran.err, False)
    ran = must("predict", b.model, "--data", b.data, "--output", b("nowhere/p.npy"), rc=1)
    has(ran.err, "nowhere")
    os.symlink(b("d.npz"), b("link.npz"))
    before = open(b("d.npz"), "rb").read()
    os.link(b("d.npz"), b("odd, x#1+2.npz"))
    for args in (("predict", b.model, "--data", b.data, "--output", b("link.npz")), ("predict", b.model, "--data", "npz:" + b("?.npz"), "--output", b("d.npz")),
                 ("predict", b.model, "--data", "npz:" + b("odd, x#1+2.npz") + "#scale=1", "--output", b("d.npz")),
                 ("fit", b.model, "--data", b.data, "--history", b("d.npz")), ("fit", b.model, "--data", b.data, "--csv-log", b("d.npz")),
                 ("fit", b.model, "--data", "synthetic:64", "--validation", b.data, "--profile", b("d.npz")), ("data", "make", b.data, "--output", b("d.npz"))):
        has(must(*args, rc=1).err, args[-1] + ": " + args[-2] + " would overwrite a file that the data is read from; name another")
    equal("data afterwards", open(b("d.npz"), "rb").read() == before, True)
    os.unlink(b("odd, x#1+2.npz"))
    reads_inside(b)
    open(b("cb.json"), "w").write('[{"class_name": "EarlyStopping", "config": {"patients": 1}}]')
    has(b.fit("--callbacks", b("cb.json"), rc=1).err, "EarlyStopping", "patients", "did you mean patience?")
    open(b("cb.json"), "w").write(json.dumps([{"class_name": "CSVLogger", "config": {"filename": b("nowhere/l.csv")}}]))
    has(b.fit("--callbacks", b("cb.json"), rc=1).err, "nowhere")
    open(b("cb.json"), "w").write(json.dumps([{"class_name": "ModelCheckpoint", "config": {"filepath": b("new/{epoch}/m{epoch:02d}.keras")}}]))
    b.fit("--callbacks", b("cb.json"), "--epochs", 2)
    equal("folders as Keras makes them", sorted(os.listdir(b("new"))), ["1", "2"])
    has(b.fit("--initial-epoch", 3).err, "nothing is left to train")
    has(b.fit("--save-every", "5steps").err, "--save-every does nothing without --checkpoint-dir")
    has(b.fit("--save-every", "5parsecs", rc=1).err, '"5parsecs" is not an interval; for example 500steps')
    os.symlink("loop", b("loop"))
    has(must("summary", b("loop"), rc=1).err, "symbolic links")
    open(b("empty.npz"), "w").close()
    has(must("fit", b.model, "--data", "npz:" + b("empty.npz"), rc=1).err, "the file is empty")
    has(b.fit("--weights", b("d.npz"), rc=1).err, "this is no .keras file; name a .keras, .weights.h5, .h5 or .safetensors file")
    few = ["prlimit", "--nofile=8:8", ARTEL, "summary", b.model]
    has(subprocess.run(few, capture_output=True, text=True, env=clean_environment()).stderr, "raise the limit on open files (ulimit -n)")
    has(must("fit", b("n.keras"), "--data", b.data, rc=1).err, "did you mean", "m.keras")
    has(must("fit", b.data, "--data", b("none.npz"), rc=1).err, "this names data")
    has(must("fit", b.data, "--data", b.model, rc=1).err, "this looks like a model")
    has(must("fit", b.model, "--data", b("d.npz"), rc=1).err, "the format is missing", "--data 'npz:" + b("d.npz"))
    has(must("evaluate", b.model, "--data", b("folder"), rc=1).err, "--data 'images:")
    has(b.fit("--class-weight", '{"0": 1, "cat": 2}', rc=1).err, '"cat" is not a class')
    has(b.fit("--optimizer", "sgd:lr=0.1", rc=1).err, "did you mean learning_rate?")
    err = b.fit("--epochs", "three", rc=1).err
    has(err, "artel: --epochs: ", "found three, expected an integer from 0 to 1000000000")


def doubled_keys(b):
    """Of a key that a user writes twice not the last counts: it is a mistake, which is named."""
    with open(b("cb.json"), "w") as f:
        f.write('[{"class_name": "EarlyStopping", "config": {"patience": 1, "patience": 2}}]')
    with open(b("sgd.json"), "w") as f:
        f.write('{"class_name": "SGD", "config": {"learning_rate": 0.1,\n "learning_rate": 0.2}}')
    for option, value, place in (("--class-weight", '{"0": 1, "1": 5, "0": 7}', "column 20"), ("--callbacks", b("cb.json"), "patience"),
                                 ("--optimizer", "@" + b("sgd.json"), "line 2"), ("--optimizer", "sgd:learning_rate=0.1,learning_rate=0.2", "learning_rate=0.2"),
                                 ("--optimizer", '{"class_name": "SGD", "class_name": "Adam", "config": {}}', "class_name")):
        has(b.fit(option, value, rc=1).err, "key occurs twice", place, "write each key once")
    cluster = '{"cluster": {"worker": ["a:1", "b:1"], "worker": ["a:1"]}, "task": {"type": "worker", "index": 0}}'
    has(b.fit("--strategy", "multi-worker", env={"TF_CONFIG": cluster}, rc=1).err, "TF_CONFIG: ", "key occurs twice", "worker")


def hidden_files(b):
    """Files that are named as the library names fields keep their names; fields are options all the same."""
    for name in (".keep", ".data", ".epochs", ".file"):
        with open(b(name), "w") as f:
            f.write("no arrays")
        has(must("fit", b.model, "--data", "npz:" + name, rc=1, cwd=b.folder).err, "artel: %s: " % name)
        has(must("inspect", name, rc=1, cwd=b.folder).err, "artel: %s: " % name)
        has(must("fit", name, "--data", b.data, rc=1, cwd=b.folder).err, "artel: %s: " % name)
    has(must("fit", ".task", "--data", b.data, rc=1, cwd=b.folder).err, "artel: .task: ")  # there is none
    has(must("fit", b.model, env={"ARTEL_DATA": "npz:.data"}, rc=1, cwd=b.folder).err, "artel: .data: ")  # it stands in no word
    has(b.fit("--shards", 3, rc=1).err, "artel: --shards: ")


def bound_by_permissions():
    """In a child, before exec: root, too, is told to keep out (PR_CAPBSET_DROP, CAP_DAC_OVERRIDE)."""
    ctypes.CDLL(None).prctl(24, 1, 0, 0, 0)


def unwritable(b):
    """Where results cannot go is said before training begins, and what lies there already stays as it is."""
    os.mkdir(b("shut"))
    for name in ("shut/o.keras", "old.csv"):
        with open(b(name), "w") as f:
            f.write("old")
        os.chmod(b(name), 0o444)
    os.chmod(b("shut"), 0o555)
    with open(b("cb.json"), "w") as f:
        json.dump([{"class_name": "ModelCheckpoint", "config": {"filepath": b("shut/m{epoch}.keras")}}], f)
    for option, value in (("--checkpoint-dir", "shut"), ("--checkpoint-dir", "shut/new"), ("--output", "shut/o.keras"), ("--output", "shut/n.keras"),
                          ("--history", "shut/h.json"), ("--csv-log", "shut/l.csv"), ("--csv-log", "old.csv"), ("--log-dir", "shut/logs"),
                          ("--log-dir", "shut"), ("--profile", "shut/t.json"), ("--callbacks", "cb.json")):
        ran = subprocess.run([ARTEL, "fit", b.model, "--data", b.data, "--json", option, b(value)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             env=clean_environment(), preexec_fn=bound_by_permissions, text=True)
        equal("exit code with %s %s" % (option, value), ran.returncode, 1)
        equal("events", ran.stdout, "")
        has(ran.stderr, "artel: " + b("shut" if option != "--csv-log" else value), "Permission denied; check the permissions")
    for option in ("--output", "--history", "--csv-log"):
        has(b.fit(option, b("none/file.keras"), rc=1).err, "the directory %s does not exist; create the directory first" % b("none"))
    has(b.fit("--strategy", "multi-worker", "--post-mortem", b.model, rc=1).err, b.model)
    for option in ("--checkpoint-dir", "--log-dir"):
        has(b.fit(option, b.model, rc=1).err, b.model, "is a file, expected a directory")
    equal("what is left", (os.listdir(b("shut")), open(b("shut/o.keras")).read(), open(b("old.csv")).read()), (["o.keras"], "old", "old"))


def full_disk(b):
    """Less room than the weights take is said before training, and a disk that is full in the end fails the run with 2."""
    os.mkdir(b("disk"))
    script = 'mount -t tmpfs -o size=16k,mode=777 tmpfs "$0" && head -c 12000 /dev/zero >"$0/fill" && exec "$@"'
    prefix = ["unshare", "-m", "sh", "-c", script, b("disk")]
    if subprocess.run([*prefix, "true"], stderr=subprocess.DEVNULL).returncode:
        return  # only root of a whole machine may mount
    for option, name, what in (("--output", "disk/o.keras", "weights and optimizer state take"), ("--checkpoint-dir", "disk/ck", "a checkpoint takes")):
        ran = subprocess.run([*prefix, ARTEL, "fit", b.model, "--data", b.data, option, b(name)], capture_output=True, text=True, env=clean_environment())
        equal("exit code with " + option, ran.returncode, 2)
        has(ran.stderr, "warning: %s: 0.0 MB are free where %s will be written, and %s" % (b(name), option, what), "No space left on device; free some space")


ROWS = [Row("help-" + n, help_of(n)) for n in SUBCOMMANDS]
ROWS += [
    Row("help-top", top_help), Row("version", version), Row("full-output", full),
    Row("nearest-subcommand", nearest("evalute", words=("evalute", "evaluate"))),
    Row("nearest-option", nearest("fit", "m.keras", "--bach-size", "3", words=("--bach-size", "--batch-size"))),
    Row("nearest-option-predict", nearest("predict", "m.keras", "--ouput", "3", words=("--ouput", "--output"))),
    Row("nothing-to-summarise", nearest("summary", words=())),
    Row("spellings", spellings), Row("dashes", dashes), Row("control-characters", control_characters), Row("foreign-names", foreign_names), Row("environment", environment), Row("idle-options", idle_options), Row("same-file-twice", same_file_twice), Row("weights-of-a-checkpoint", weights_of_a_checkpoint), Row("no-optimizer", no_optimizer),
    Row("defaults", defaults),
    Row("verbose", verbose), Row("no-compile-settings", no_compile), Row("events", events), Row("events-epochs", json_epochs),
    Row("csv-log", csv_log), Row("initial-epoch", initial_epoch), Row("no-epochs", no_epochs), Row("evaluate", evaluate), Row("predict", predict), Row("predict-outputs-of-one-name", predict_outputs_of_one_name), Row("predict-in-every-type", predict_in_every_type),
    *[Row("summary-" + n, summary(n)) for n in MODELS],
    Row("check-names-all", check_names_all), Row("check-good", check_good), Row("dry-run", dry_run), Row("explain", explain),
    Row("dry-run-writes-nothing", dry_run_writes_nothing), Row("profile", profile), Row("another-policy", another_policy), Row("early-refusals", early_refusals), Row("planted", planted),
    Row("doubled-keys", doubled_keys), Row("hidden-files", hidden_files), Row("unwritable", unwritable), Row("full-disk", full_disk),
    Row("repeatable", repeatable), Row("overrides", overrides), Row("closed-stdout", last_line),
]


def run(row, index, folder, keras_only):
    bench = Bench(folder)
    if not keras_only:
        row.run(bench)
    return [""]


if __name__ == "__main__":
    table(ROWS, run, [""])
