# SPDX-License-Identifier: Apache-2.0
# timeout: 200
"""What a job of several tasks tells of itself: rows below the progress bar on a terminal, a file when it ends badly."""

import json
import os
import pty
import re
import signal
import subprocess
import threading

import numpy as np

from cli import MODELS, Row, arrays, expect, save, save_arrays
from cluster import Cluster, Patience
from oracle import ARTEL, clean_environment, table
from started import STARTED, cleaning


class Scene:
    def __init__(self, folder):
        self.folder = folder
        self.model = save(MODELS["mlp"], self.path("m.keras"))
        self.data = save_arrays("mlp", self.path("d.npz"), 400)

    def path(self, name):
        return os.path.join(self.folder, name)

    def fit(self, *more):
        return ["fit", self.model, "--data", self.data, "--batch-size", 16, "--threads", 1, "--strategy", "multi-worker", *more]


class Terminal:
    """A process whose standard error is a terminal."""

    def __init__(self, args, env):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen([ARTEL, *[str(a) for a in args]], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=slave,
                                        env=clean_environment(env))
        STARTED.append(self.process)
        os.close(slave)
        self.bytes = b""
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        try:
            while True:
                more = os.read(self.master, 65536)
                if not more:
                    return
                self.bytes += more
        except OSError:
            pass  # the other end is closed

    def until(self, pattern, limit=20):
        seen = Patience(limit).until(lambda: re.search(pattern, self.bytes.decode(errors="replace")))
        expect(seen, "not within %d s on the terminal:" % limit, pattern, self.bytes[-500:])


# ---------------------------------------------------------------- rows
def rows_on_a_terminal(scene):
    """A row for each task with its phase and share of work."""
    cluster = Cluster(2, lambda r: scene.fit("--epochs", 100000, "--verbose", 0), absent=[0])
    jobs = {"cluster": {"worker": cluster.addresses}, "task": {"type": "worker", "index": 0}}
    shown = Terminal(scene.fit("--epochs", 100000, "--verbose", 1, "--suspect-after", "30s"), {"TF_CONFIG": json.dumps(jobs), "COLUMNS": "120"})
    try:
        for r in range(2):
            shown.until(r"worker %d \([0-9.:]+\)  (compute|exchange|apply|idle) +works +[0-9]+%%, [0-9.e+-]+ ms of a step" % r)
    finally:
        for process in (cluster.tasks[1].process, shown.process):
            process.kill()
        cluster.finish(20)
        shown.process.wait()
        shown.reader.join()
        os.close(shown.master)


def report_of_each(scene):
    """A job that fails after it has begun leaves a file at every task: cause, error, tasks, the last lines of the log."""
    x, y = arrays("mlp", 400)
    x[333, 4] = np.nan
    np.savez(scene.path("d.npz"), x=x, y=y)
    folder = scene.path("reports")
    cluster = Cluster(2, lambda r: scene.fit("--stop-on-nan", "--post-mortem", folder, "--json"))
    codes = cluster.finish(30)
    expect(set(codes.values()) == {2}, "exit codes", codes, cluster.tasks[0].err())
    for r in range(2):
        report = json.load(open(os.path.join(folder, "artel-post-mortem-worker-%d.json" % r)))
        expect(report["task"].startswith("worker %d (" % r) and report["pid"] == cluster.tasks[r].process.pid, "whose", report)
        expect("not finite" in report["cause"]["what"] and report["cause"]["task"].startswith("worker"), "cause", report["cause"])
        expect("--stop-on-nan: " in report["cause"]["what"] and ".stop_on_nan" not in json.dumps(report), "words", report)
        expect("not finite" in report["error"]["what"], "error", report["error"])
        expect([t["task"] for t in report["job"]["tasks"]] == ["worker:0", "worker:1"], "tasks", report["job"])
        expect("artel-post-mortem-worker-%d.json" % r in cluster.tasks[r].err(), "says", cluster.tasks[r].err())


def no_report(scene):
    """None after success, after SIGTERM, when the job has not begun, or where none is wanted."""
    folder = scene.path("none")
    wanted = ["--post-mortem", folder, "--json"]
    expect(set(Cluster(2, lambda r: scene.fit(*wanted)).finish(30).values()) == {0}, "success")
    expect(set(Cluster(2, lambda r: scene.fit("--seed", r, *wanted)).finish(30).values()) == {1}, "unequal seeds")
    cluster = Cluster(2, lambda r: scene.fit("--epochs", 100000, *wanted))
    expect(cluster.tasks[0].until_step(20), "no step", cluster.tasks[0].err())
    for r in range(2):
        cluster.kill(r, signal.SIGTERM)
    expect(set(cluster.finish(30).values()) == {143}, "exit codes")
    expect(not os.path.exists(folder), "written:", folder)


TABLE = [Row(check.__name__, check) for check in (rows_on_a_terminal, report_of_each, no_report)]


def run(row, index, folder, keras_only):
    row.check(Scene(folder))
    return []


if __name__ == "__main__":
    table(TABLE, cleaning(run), [])
