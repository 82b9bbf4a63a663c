# SPDX-License-Identifier: Apache-2.0
# timeout: 200
"""artel evaluate --checkpoint-dir and the evaluator of a cluster: the values of a run's checkpoints, from beside it."""

import json
import os
import shutil
import signal
import subprocess
import sys

from cli import MODELS, Row, expect, save, save_arrays
from oracle import ARTEL, artel, clean_environment, table
from started import STARTED, cleaning


class Scene:
    def __init__(self, folder):
        self.folder = folder
        self.model, self.data = save(MODELS["mlp"], self.path("m.keras")), save_arrays("mlp", self.path("d.npz"), 400)
        self.run = self.path("run")

    def path(self, name):
        return os.path.join(self.folder, name)

    def fit(self, *more):
        return ["fit", self.model, "--data", self.data, "--batch-size", 16, "--threads", 1, "--verbose", 0, "--checkpoint-dir", self.run, *more]

    def evaluate(self, model=None, *more, **kinds):
        return artel("evaluate", model or self.model, "--data", self.data, "--json", *more, **kinds)

    def one(self, *args):
        said = self.evaluate(*args)
        expect(said.rc == 0, "exit code", said.rc, said.err)
        return json.loads(said.out)


# ---------------------------------------------------------------- rows
def newest(scene):
    """The newest checkpoint has the values of the model that the run wrote; an older one counts when it is damaged."""
    expect(artel(*scene.fit("--epochs", 3, "--output", scene.path("o.keras"))).rc == 0, "fit")
    want, have = scene.one(scene.path("o.keras")), scene.one(None, "--checkpoint-dir", scene.run)
    expect(have["metrics"] == want["metrics"] and have["step"] == 75, "values", want, have)
    state = os.path.join(scene.run, "ckpt-75", "state.safetensors")
    with open(state, "r+b") as f:
        f.seek(-4, 2)
        f.write(b"xxxx")
    expect(scene.one(None, "--checkpoint-dir", scene.run)["step"] == 50, "a damaged one counts")


def beside_a_run(scene):
    """Started before it, ended with it; a stop of the run in between is waited out."""
    watch = subprocess.Popen([ARTEL, "evaluate", scene.model, "--data", scene.data, "--json", "--checkpoint-dir", scene.run, "--follow"],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean_environment())
    STARTED.append(watch)
    first = subprocess.Popen([ARTEL, *[str(a) for a in scene.fit("--epochs", 1000000)]], env=clean_environment(), stderr=subprocess.DEVNULL)
    STARTED.append(first)
    line = json.loads(watch.stdout.readline())
    first.send_signal(signal.SIGTERM)
    expect(first.wait(100) == 143, "the run is stopped")
    epochs = max(int(name[5:]) for name in os.listdir(scene.run)) // 25 + 2
    expect(artel(*scene.fit("--epochs", epochs, "--output", scene.path("o.keras"))).rc == 0, "it goes on")
    out, err = watch.communicate(timeout=100)
    lines = [line] + [json.loads(text) for text in out.splitlines()]
    steps = [l["step"] for l in lines]
    expect(watch.returncode == 0 and steps == sorted(set(steps)) and steps[-1] == 25 * epochs, "steps", steps, err)
    expect(lines[-1]["metrics"] == scene.one(scene.path("o.keras"))["metrics"], "the last values", lines[-1])


def of_a_cluster(scene):
    """artel launch --evaluator: it evaluates what the others save, and the job waits for it."""
    said = artel("launch", "-n", 2, "--evaluator", "--json", "--", *scene.fit("--strategy", "multi-worker", "--epochs", 4, "--validation", scene.data,
                                                                             "--output", scene.path("o.keras")))
    lines = [json.loads(text) for text in said.out.splitlines()]
    mine = [l for l in lines if l["event"] == "evaluate" and l["task"] == "evaluator:0"]
    expect(said.rc == 0 and mine and mine[-1]["step"] == 100, "exit code", said.rc, said.err, mine)
    expect(mine[-1]["metrics"] == scene.one(scene.path("o.keras"))["metrics"], "values", mine[-1])


def GS10_series(scene):
    """A time-out, a number of evaluations and the end of the run end it; a checkpoint may be named itself."""
    expect(artel(*scene.fit("--epochs", 4, "--save-every", "1epoch", "--keep", 9)).rc == 0, "fit")
    follow = (None, "--checkpoint-dir", scene.run, "--follow")
    for more, last in (((), 100), (("--evaluations", 1), 100), (("--timeout", "1ms", "--min-interval", "1ms"), 100)):
        said = scene.evaluate(*follow, *more)
        expect(said.rc == 0 and [json.loads(line)["step"] for line in said.out.splitlines()] == [last], more, said.rc, said.out, said.err)
    values = {step: scene.one(None, "--checkpoint-dir", os.path.join(scene.run, f"ckpt-{step}")) for step in (25, 100)}
    expect({step: value["step"] for step, value in values.items()} == {25: 25, 100: 100}, values)
    expect(values[25]["metrics"] != values[100]["metrics"] and values[100]["metrics"] == scene.one(None, "--checkpoint-dir", scene.run)["metrics"], values)
    empty = scene.evaluate(None, "--checkpoint-dir", scene.path("none"), "--follow", "--timeout", "1ms")
    expect(empty.rc == 0 and not empty.out, "a time-out without any", empty.rc, empty.out, empty.err)
    for text, more in (("add --follow", ("--checkpoint-dir", scene.run, "--timeout", "1s")), ("is no time", (*follow[1:], "--min-interval", "soon"))):
        said = scene.evaluate(None, *more)
        expect(said.rc == 1 and text in said.err, text, said.rc, said.err)


def GS10_as_tensorflow(scene):
    """artel.checkpoints() beside tf.train.checkpoints_iterator() over directories in which the same checkpoints appear, at the calls of the time-out function and
    in the midst of the loop: the same are given, and the function is asked as often."""
    import tensorflow as tf

    sys.path.insert(0, os.path.join(os.environ["ARTEL_SOURCE"], "python"))
    os.environ["ARTEL_LIBRARY"] = os.path.join(os.environ["ARTEL_BUILD"], "libartel.so")
    import artel as module

    expect(artel(*scene.fit("--epochs", 4, "--save-every", "1epoch", "--keep", 9)).rc == 0, "fit")
    saver, model = tf.train.Checkpoint(v=tf.Variable(1.0)), module.load(scene.model)
    model.compile("sgd", "sparse_categorical_crossentropy")

    def in_tensorflow(folder, epoch):
        saver.save(os.path.join(folder, f"e{epoch}"))

    def in_artel(folder, epoch):
        shutil.copytree(os.path.join(scene.run, f"ckpt-{25 * epoch}"), os.path.join(folder, f"ckpt-{25 * epoch}"))

    def play(folder, iterator, add, at_start, at_time_out, in_loop):
        """What is given, and how often the time-out function was asked when it was."""
        asked, given, pending = [], [], list(in_loop)
        for epoch in at_start:
            add(folder, epoch)

        def is_over():
            asked.append(1)
            if len(asked) > len(at_time_out or []):
                return True
            for epoch in at_time_out[len(asked) - 1]:
                add(folder, epoch)
            return False
        for path in iterator(folder, timeout=0, timeout_fn=is_over if at_time_out is not None else None):
            given.append((path, len(asked)))
            for epoch in (pending.pop(0) if pending else ()):
                add(folder, epoch)
        return given, len(asked)

    scripts = [((), None, ()), ((), ((), (), ()), ()), ((1,), None, ()), ((1, 2), None, ((3,), (), ())), ((1,), ((), (2, 3), ()), ()), ((), ((1,), (), (2,)), ((), (3,))),
               ((1,), (), ((2,),)), ((2,), ((), (), ()), ((3,), (4,)))]
    for number, script in enumerate(scripts):
        ours, theirs = scene.path(f"ours{number}"), scene.path(f"theirs{number}")
        os.mkdir(ours), os.mkdir(theirs)
        want = play(theirs, tf.train.checkpoints_iterator, in_tensorflow, *script)
        have = play(ours, lambda *args, **kinds: module.checkpoints(*args, **kinds, ignore_end=True), in_artel, *script)
        want = [(int(os.path.basename(path).split("-")[0][1:]), asked) for path, asked in want[0]], want[1]
        have = [(model.load_checkpoint(path) // 25, asked) for path, asked in have[0]], have[1]
        expect(have == want, "script", number, "TensorFlow", want, "here", have)
    expect([path[-8:] for path in module.checkpoints(scene.run)] == ["ckpt-100"], "the end of the run ends it")
    expect(list(module.checkpoints(ours, ignore_end=True, most=1)) == [os.path.join(ours, "ckpt-100")], "one is enough")
    try:
        list(module.checkpoints(scene.path("none"), timeout=0, timeout_fn=lambda: 1 // 0))
        expect(False, "what the function raises is lost")
    except ZeroDivisionError:
        pass


def mistakes(scene):
    """What cannot be evaluated is said, and changes nothing."""
    expect(artel(*scene.fit()).rc == 0, "fit")
    other = save(MODELS["cnn"], scene.path("other.keras"))
    for text, code, said in (
            ("no whole checkpoint", 1, scene.evaluate(None, "--checkpoint-dir", scene.path("none"))),
            ("missing or does not fit", 1, artel("evaluate", other, "--data", save_arrays("cnn", scene.path("c.npz"), 40), "--checkpoint-dir", scene.run)),
            ("without --checkpoint-dir", 1, scene.evaluate(None, "--follow")),
            ("another --strategy", 1, scene.evaluate(None, "--checkpoint-dir", scene.run, "--strategy", "multi-worker")),
            ("needs --checkpoint-dir", 1, artel("launch", "-n", 1, "--evaluator", "--", "fit", scene.model, "--data", scene.data, "--strategy",
                                                "multi-worker"))):
        expect(said.rc == code and text in said.err, "exit code %d, expected %d:" % (said.rc, code), text, said.err)
    shutil.rmtree(scene.run)
    watch = subprocess.Popen([ARTEL, "evaluate", scene.model, "--data", scene.data, "--checkpoint-dir", scene.run, "--follow"],
                             stderr=subprocess.PIPE, text=True, env=clean_environment())
    STARTED.append(watch)
    expect("waiting for a new checkpoint" in watch.stderr.readline(), "it says what it waits for")
    watch.send_signal(signal.SIGTERM)
    watch.stderr.read()
    expect(watch.wait(100) == 143, "it ends on SIGTERM", watch.returncode)


TABLE = [Row(check.__name__, check) for check in (newest, beside_a_run, of_a_cluster, GS10_series, GS10_as_tensorflow, mistakes)]


def run(row, index, folder, keras_only):
    row.check(Scene(folder))
    return []


if __name__ == "__main__":
    table(TABLE, cleaning(run), [])
