# SPDX-License-Identifier: Apache-2.0
# timeout: 200
"""artel evaluate --checkpoint-dir and the evaluator of a cluster: the values of a run's checkpoints, from beside it."""

import json
import os
import shutil
import signal
import subprocess

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


TABLE = [Row(check.__name__, check) for check in (newest, beside_a_run, of_a_cluster, mistakes)]


def run(row, index, folder, keras_only):
    row.check(Scene(folder))
    return []


if __name__ == "__main__":
    table(TABLE, cleaning(run), [])
