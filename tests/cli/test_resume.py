# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Checkpoints: a run that is stopped, killed or moved to another number of replicas ends in the bits of one that was not.

A run writes its events into a small pipe that the test reads slowly enough to act at a chosen step; no clock decides.
"""

import dataclasses
import fcntl
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import threading

import numpy as np
from cli import MODELS, arrays, save, save_arrays, scheduled
from oracle import ARTEL, LONG, Failure, artel, clean_environment, digest, table
from started import STARTED, cleaning

PIPE = 4096  # bytes: a run is at most some sixty steps ahead of the test
CALLBACKS = [
    {"class_name": "EarlyStopping", "config": {"monitor": "val_loss", "patience": 2, "restore_best_weights": True, "min_delta": 0.02}},
    {"class_name": "ReduceLROnPlateau", "config": {"monitor": "val_loss", "factor": 0.5, "patience": 1, "min_delta": 0.05}},
]


class Run:
    """`artel fit` in the background with its events."""

    def __init__(self, args):
        read, write = os.pipe()
        fcntl.fcntl(write, 1031, PIPE)  # F_SETPIPE_SZ
        self.process = subprocess.Popen([ARTEL, *[str(a) for a in args], "--json"], stdout=write, stderr=subprocess.PIPE,
                                        stdin=subprocess.DEVNULL, env=clean_environment())
        STARTED.append(self.process)
        os.close(write)
        self.pipe = os.fdopen(read, "rb", 64)  # not read ahead of what is asked for, which would let the run go further
        self.seen = []
        self.err = b""
        self.reader = threading.Thread(target=self.read_errors, daemon=True)
        self.reader.start()
        self.guard = threading.Timer(500, self.process.kill)
        self.guard.daemon = True
        self.guard.start()

    def read_errors(self):
        self.err = self.process.stderr.read()

    def until_step(self, step):
        """False when the run ended before."""
        for line in self.pipe:
            event = json.loads(line)
            self.seen.append(event)
            if event["event"] == "step" and event["step"] >= step:
                return True
        return False

    def signal(self, number):
        self.process.send_signal(number)

    def end(self):
        for line in self.pipe:
            try:
                self.seen.append(json.loads(line))
            except ValueError:  # cut short by kill -9
                break
        rc = self.process.wait()
        self.reader.join()
        self.guard.cancel()
        self.process.stderr.close()
        self.pipe.close()
        return rc

    def events(self, kind):
        return [e for e in self.seen if e["event"] == kind]


@dataclasses.dataclass
class Row:
    name: str
    run: object  # Bench -> cells
    model: str = "mlp"


class Bench:
    def __init__(self, row, folder):
        self.folder = folder
        build = scheduled if row.model == "schedule" else MODELS[row.model]
        name = "mlp" if row.model == "schedule" else row.model
        self.model = save(build, self("m.keras"))
        self.data = save_arrays(name, self("d.npz"), 1000)
        self.more = save_arrays(name, self("v.npz"), 200)
        self.rng = np.random.default_rng(sum(map(ord, row.name)))
        with open(self("c.json"), "w") as f:
            json.dump(CALLBACKS, f)

    def __call__(self, name):
        return os.path.join(self.folder, name)

    def fit(self, out, *more, epochs=4, batch=20):
        return ["fit", self.model, "--data", self.data, "--epochs", epochs, "--batch-size", batch, "--seed", 9, "--output", self(out + ".keras"),
                "--history", self(out + ".json"), *more]

    def kept(self, *more):
        return ["--checkpoint-dir", self("ck"), *more]

    def history(self, out):
        with open(self(out + ".json")) as f:
            return f.read()

    def same(self, a, b):
        if digest(self(a + ".keras")) != digest(self(b + ".keras")):
            raise Failure("another digest than the run that was not stopped")
        if self.history(a) != self.history(b):
            raise Failure("another history: %s, not stopped %s" % (self.history(a), self.history(b)))

    def whole(self, *more, **settings):
        ran = artel(*self.fit("whole", *more, "--verbose", 0, **settings))
        if ran.rc != 0:
            raise Failure("run to the end: exit %d (%s)" % (ran.rc, ran.first))

    def stop_at(self, steps, send, args, each=()):
        """Starts the command again and again, stopped at these steps; the last time it may end. Returns how often it was stopped."""
        stopped, saved = 0, False
        for i, step in enumerate(list(steps) + [None]):
            run = Run([*args, *(each[i % len(each)] if each else ())])
            if step is not None and run.until_step(step):
                run.signal(send)
            rc = run.end()
            start = (run.events("start") or [{}])[0]
            if rc == 0:
                return stopped
            wanted = 143 if send == signal.SIGTERM else -9
            if rc != wanted or step is None:
                raise Failure("exit %d instead of %d, stderr %r" % (rc, wanted, run.err[-300:].decode()))
            if send == signal.SIGTERM:
                if not run.events("checkpoint"):
                    raise Failure("no checkpoint event before the exit")
                if os.path.exists(self("stopped.keras")):
                    raise Failure("--output was written although the run was stopped")
            if saved and not start.get("resumed_from"):
                raise Failure("the start event of the second run has no resumed_from: %s" % start)
            stopped += 1
            saved = bool(checkpoints(self))
        return stopped


def sigterm(times, *more, each=(), **settings):
    def run(b):
        extra = [a(b) if callable(a) else a for a in more]
        b.whole(*extra, **settings)
        steps = sorted(int(s) for s in b.rng.integers(3, 170, times))
        stopped = b.stop_at(steps, signal.SIGTERM, b.fit("stopped", *b.kept(), *extra, **settings), each)
        if not stopped:
            raise Failure("the run ended before it could be stopped")
        b.same("stopped", "whole")
        return [stopped, str(steps)[:24]]

    return run


def sigkill(times, save_every):
    def run(b):
        b.whole()
        steps = sorted(int(s) for s in b.rng.integers(30, 170, times))
        stopped = b.stop_at(steps, signal.SIGKILL, b.fit("stopped", *b.kept("--save-every", save_every)))
        if not stopped:
            raise Failure("the run ended before it could be killed")
        b.same("stopped", "whole")
        left = [n for n in os.listdir(b("ck")) if not re.fullmatch(r"ckpt-\d+", n)]
        if left:
            raise Failure("left in the checkpoint folder: %s" % left)
        return [stopped, str(steps)[:24]]

    return run


def must_refuse(b, args, words, codes=(1,)):
    ran = artel(*args)
    if ran.rc not in codes or any(w not in ran.err for w in words):
        raise Failure("exit %d, stderr %r; %s was due" % (ran.rc, ran.err[-300:], words))


def must(b, args):
    ran = artel(*args)
    if ran.rc != 0:
        raise Failure("exit %d (%s)" % (ran.rc, ran.first))
    return ran


def checkpoints(b):
    return sorted(glob.glob(b("ck/ckpt-*")), key=lambda p: int(p.rsplit("-", 1)[1]))


def identity(*more, words):
    def run(b):
        must(b, b.fit("a", *b.kept(), epochs=1))
        must_refuse(b, b.fit("b", *b.kept(), *more, epochs=2), (*words, "--fresh"))
        must(b, b.fit("b", *b.kept("--fresh"), *more, epochs=1))
        return ["", ""]

    return run


def not_identity(*more):
    """Options that do not belong to the identity: the run is taken up."""

    def run(b):
        must(b, b.fit("a", *b.kept(), epochs=1))
        start = must(b, b.fit("b", *b.kept("--json=epochs"), *more, epochs=2)).events("start")[0]
        if not start.get("resumed_from"):
            raise Failure("not resumed: %s" % start)
        b.whole(epochs=2)
        b.same("b", "whole")
        return ["", ""]

    return run


def finished(b):
    must(b, b.fit("a", *b.kept(), epochs=2))
    before = digest(b("a.keras"))
    os.remove(b("a.keras"))
    ran = must(b, b.fit("a", *b.kept(), epochs=2))
    if "finish" not in ran.err.lower() and "complete" not in ran.err.lower():
        raise Failure("a finished run does not say so: %r" % ran.err)
    if os.path.exists(b("a.keras")) and digest(b("a.keras")) != before:
        raise Failure("another digest the second time")
    return ["", ""]


def more_epochs(b):
    """More epochs than the first time: it goes on."""
    b.whole(epochs=4)
    must(b, b.fit("a", *b.kept(), epochs=2))
    must(b, b.fit("a", *b.kept(), epochs=4))
    b.same("a", "whole")
    return ["", ""]


def keep(b):
    must(b, b.fit("a", *b.kept("--save-every", "10steps", "--keep", 2)))
    if len(checkpoints(b)) != 2:
        raise Failure("--keep 2 left %s" % [os.path.basename(p) for p in checkpoints(b)])
    return ["", ""]


def checkpoint_digest(b):
    """The checkpoint of the end has the digest of the output."""
    must(b, b.fit("a", *b.kept(), epochs=2))
    if digest(checkpoints(b)[-1]) != digest(b("a.keras")):
        raise Failure("the last checkpoint has another digest than the output")
    return ["", ""]


def damaged(b):
    """The newest checkpoint is damaged: the one before it is taken, and said."""
    b.whole(epochs=3)
    must(b, b.fit("a", *b.kept(), epochs=2))
    newest = max((os.path.join(checkpoints(b)[-1], n) for n in os.listdir(checkpoints(b)[-1])), key=os.path.getsize)
    with open(newest, "r+b") as f:
        f.seek(os.path.getsize(newest) // 2)
        byte = f.read(1)
        f.seek(-1, 1)
        f.write(bytes([byte[0] ^ 0x40]))
    ran = must(b, b.fit("a", *b.kept(), epochs=3))
    if os.path.basename(os.path.dirname(newest)) not in ran.err:
        raise Failure("the damaged checkpoint is not named: %r" % ran.err)
    b.same("a", "whole")
    return ["", ""]


def without_folder(b):
    run = Run(b.fit("a", epochs=50))
    run.until_step(20)
    run.signal(signal.SIGTERM)
    rc = run.end()
    if rc not in (143, -15) or b"--checkpoint-dir" not in run.err:
        raise Failure("exit %d, stderr %r" % (rc, run.err[-300:]))
    if os.path.exists(b("a.keras")):
        raise Failure("--output was written although the run was stopped")
    return [rc, ""]


def exit_code(b):
    run = Run(b.fit("a", *b.kept("--preempt-exit-code", 42), epochs=50))
    run.until_step(20)
    run.signal(signal.SIGTERM)
    if run.end() != 42:
        raise Failure("exit %d instead of 42: %r" % (run.process.returncode, run.err[-300:]))
    return [42, ""]


def signalled(number, rc):
    """The run ends in order and has saved the step at which it was told."""

    def run(b):
        run = Run(b.fit("a", *b.kept(), epochs=50))
        run.until_step(20)
        run.signal(number)
        if run.end() != rc or not checkpoints(b) or b"after saving" not in run.err:
            raise Failure("exit %d instead of %d, checkpoints %s: %r" % (run.process.returncode, rc, checkpoints(b), run.err[-300:]))
        return [rc, ""]

    return run


def resume_aloud(b):
    must(b, b.fit("a", *b.kept("--resume"), epochs=1))
    return ["", ""]


def backup(b):
    """Keras' own callback for it, beside one that swaps variables and averages behind every epoch and for every validation."""
    with open(b("b.json"), "w") as f:
        json.dump([{"class_name": "SwapEMAWeights", "config": {"swap_on_epoch": True}},
                   {"class_name": "BackupAndRestore", "config": {"backup_dir": b("ck"), "save_freq": 10, "double_checkpoint": True}}], f)
    more = ("--validation", b.more, "--callbacks", b("b.json"), "--optimizer", "adam:learning_rate=0.003,use_ema=true,ema_momentum=0.9")
    b.whole(*more)
    stopped = b.stop_at([50, 101, 160], signal.SIGKILL, b.fit("stopped", *more), MOVES)
    if not stopped:
        raise Failure("the run ended before it could be killed")
    b.same("stopped", "whole")
    if os.path.exists(b("ck")):
        raise Failure("delete_checkpoint left %s" % os.listdir(b("ck")))
    must_refuse(b, b.fit("a", *b.kept(), *more), ("--checkpoint-dir",))
    return [stopped, ""]


def backup_of_data(b):
    """Checkpoints of the callback know the rows as those of --checkpoint-dir do: one value in the midst of a file is another."""
    with open(b("b.json"), "w") as f:
        json.dump([{"class_name": "BackupAndRestore", "config": {"backup_dir": b("ck"), "delete_checkpoint": False}}], f)
    for name, array in zip("xy", arrays("mlp", 3000)):
        np.save(b(name + ".npy"), array)
    for check, words in (("start", "these differ: data content"), ("reading", "the rows of pass 2 are not those")):
        more = ("--data", "npy:%s,%s" % (b("x.npy"), b("y.npy")), "--callbacks", b("b.json"), "--check-data", check)
        must(b, b.fit("a", *more, epochs=1))
        x = np.load(b("x.npy"), mmap_mode="r+")
        x[1500, 0] += 1
        x.flush()
        must_refuse(b, b.fit("b", *more, epochs=2), ("--fresh", words))
        shutil.rmtree(b("ck"))
    return ["", ""]


VALIDATED = ("--validation", lambda b: b.more, "--callbacks", lambda b: b("c.json"))
MOVES = [("--strategy", "mirrored", "--replicas", n) for n in (1, 3, 2, 8)]

ROWS = [
    Row("sigterm-once", sigterm(1)),
    Row("sigterm-three-times", sigterm(3)),
    Row("sigterm-cnn", sigterm(2), "cnn"),
    Row("sigterm-transformer", sigterm(2), "transformer"),
    Row("sigterm-lstm", sigterm(2), "lstm"),
    Row("sigterm-schedule", sigterm(2), "schedule"),
    Row("sigterm-other-replicas", sigterm(3, each=MOVES)),
    Row("sigterm-other-replicas-cnn", sigterm(3, each=MOVES), "cnn"),
    Row("sigterm-other-replicas-many", sigterm(2, each=MOVES), "many"),
    Row("sigterm-accumulation", sigterm(3, "--optimizer", "adam:gradient_accumulation_steps=7,use_ema=true", each=MOVES)),
    Row("sigterm-callbacks", sigterm(3, *VALIDATED, epochs=12)),
    Row("sigterm-callbacks-replicas", sigterm(4, *VALIDATED, epochs=12, each=MOVES)),
    Row("sigterm-short-last-batch", sigterm(2, batch=23)),
    Row("kill-9", sigkill(3, "20steps")),
    Row("kill-9-every-step", sigkill(2, "1steps")),
    Row("kill-9-backup", backup),
    Row("backup-of-data", backup_of_data),
    Row("kill-9-by-epoch", sigkill(2, "1epoch"), "cnn"),
    Row("identity-seed", identity("--seed", 10, words=("seed",))),
    Row("identity-batch", identity("--batch-size", 25, words=("batch",))),
    Row("identity-optimizer", identity("--optimizer", "sgd", words=("compile settings",))),
    Row("identity-shuffle", identity("--no-shuffle", words=("shuffle",))),
    Row("identity-shards", identity("--shards", 16, words=("shards",))),
    Row("identity-data", lambda b: identity("--data", b.more, words=("data",))(b)),
    Row("identity-not-replicas", not_identity("--strategy", "mirrored", "--replicas", 4)),
    Row("identity-not-threads", not_identity("--threads", 3)),
    Row("finished", finished),
    Row("more-epochs", more_epochs),
    Row("keep-2", keep),
    Row("checkpoint-digest", checkpoint_digest),
    Row("damaged-checkpoint", damaged),
    Row("sigterm-without-folder", without_folder),
    Row("preempt-exit-code", exit_code),
    Row("interrupt", signalled(signal.SIGINT, 130)),
    Row("hang-up", signalled(signal.SIGHUP, 129)),
    Row("usr1", signalled(signal.SIGUSR1, 143)),
    Row("usr2", signalled(signal.SIGUSR2, 143)),
    Row("resume-aloud", resume_aloud),
]
if LONG:
    ROWS += [Row("every-step-%d" % s, (lambda s: lambda b: at_step(b, s))(s)) for s in range(1, 60)]


def at_step(b, step):
    b.whole(epochs=2)
    stopped = b.stop_at([step], signal.SIGTERM, b.fit("stopped", *b.kept(), epochs=2), MOVES)
    b.same("stopped", "whole")
    return [stopped, step]


def run(row, index, folder, keras_only):
    bench = Bench(row, folder)
    return ["", ""] if keras_only else row.run(bench)


if __name__ == "__main__":
    table(ROWS, cleaning(run), ["stops", "steps"], at_once=2)
