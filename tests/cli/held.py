# SPDX-License-Identifier: Apache-2.0
"""Runs of several workers, held back while something happens to them, and compared with one that nothing happened to."""

import dataclasses
import json
import os
import re
import sys
import threading

from cli import expect
from cluster import Patience, Scene
from hosts import HostCluster, Hosts, unavailable
from oracle import BUILD, LONG, artel, digest, table
from started import cleaning

STEPS_A_SECOND = 25  # at first, while something is to happen
EPOCHS, STEPS = 60 if LONG else 40, 25  # steps of an epoch


@dataclasses.dataclass
class Row:
    name: str
    check: object
    hosts: int = 0  # with namespaces
    model: str = "mlp"
    second: int = None  # hosts from this one on are behind the trunk


class Net(Scene):
    """A scene whose workers run on hosts of their own, and encrypt."""

    def __init__(self, row, folder):
        super().__init__(row, folder)
        self.certs = self.path("certs")
        for words in (["init", self.certs], ["issue", self.certs, "worker-[0-%d]" % (row.hosts - 1)]):
            ran = artel("cert", *words)
            expect(ran.rc == 0, "artel cert:", ran.err)
        self.hosts = Hosts(row.hosts, row.second)

    def workers(self, arguments):
        more = ["--strategy", "multi-worker", "--cert-dir", self.certs]
        return HostCluster(self.hosts, lambda r: [*(arguments(r) if callable(arguments) else arguments), *more])


class Run:
    """A long run past its first steps; its reader lets it do STEPS_A_SECOND and, the nearer its end, the fewer, until `free` is set: on no
    machine is it over before. `start` makes a cluster of arguments; `still`: the weights never change."""

    def __init__(self, scene, start=None, epochs=EPOCHS, still=False):
        self.scene, self.free, self.steps_of_all = scene, threading.Event(), epochs * STEPS
        fit = scene.fit("--batch-size", 16, "--epochs", epochs, "--output", scene.path("out.keras"), "--history", scene.path("h.json"))
        fit += ["--optimizer", "sgd:learning_rate=0.0"] if still else []
        self.one = self.undisturbed(fit, scene.path("out.keras"), scene.path("h.json"))
        self.cluster = (start or scene.workers)([*fit, "--json"])
        self.tasks = self.cluster.tasks
        for task in self.tasks.values():
            self.attend(task)
        self.until(lambda: self.steps(0) >= 40, "step 40 of worker 0")

    def attend(self, task):
        task.drainer = threading.Thread(target=self.read, args=(task,), daemon=True)
        task.drainer.start()

    def restart(self, rank):
        """The same command again, after the process has ended."""
        self.cluster.restart(rank)
        self.attend(self.tasks[rank])

    @staticmethod
    def undisturbed(fit, out, history):
        ran = artel(*fit)
        expect(ran.rc == 0, "one process:", ran.err)
        one = digest(out), open(history).read()
        os.unlink(out)
        return one

    def read(self, task):
        for line in task.pipe:
            task.lines.append(line)
            if not self.free.is_set():
                left = 1 - json.loads(line).get("step", 0) / self.steps_of_all
                self.free.wait(1 / STEPS_A_SECOND / max(left, 0.01) ** 2)

    def steps(self, rank):
        return sum(e["event"] == "step" for e in self.events(rank))

    def events(self, rank):
        return [json.loads(line) for line in list(self.tasks[rank].lines)]

    def until(self, condition, what, limit=20):
        """How many seconds it took, as Patience counts them."""
        patience = Patience(limit)
        expect(patience.until(condition), "%s: not within %d s:" % (what, limit), *self.said())
        return patience.used

    def said(self):
        return ["\n-- worker %d: %s" % (r, t.err()) for r, t in self.tasks.items()]

    def title(self, rank):
        return "worker %d (%s)" % (rank, self.cluster.addresses[rank])

    def named_left(self, by, lost):
        return self.until(lambda: re.search(r"[1-9]\d* left \(.*" + re.escape(self.title(lost)), self.tasks[by].err()),
                          "worker %d goes on without %d" % (by, lost))

    def parted(self, by, lost):
        """Each of `by` names all of `lost` as left, and goes on."""
        for r in by:
            for other in lost:
                self.named_left(r, other)
        self.goes_on(min(by))

    def goes_on(self, rank):
        steps = self.steps(rank)
        self.until(lambda: self.steps(rank) > steps + 10, "steps of worker %d" % rank)

    def whole(self, ranks):
        """A generation of all has begun since, as one of `ranks` says it."""
        count = self.scene.row.hosts
        self.until(lambda: any("%d members" % count in line and " 0 joined" not in line for r in ranks for line in self.tasks[r].err().splitlines()),
                   "all together again")

    def ends_well(self):
        self.free.set()
        codes = self.cluster.finish(60)
        expect(set(codes.values()) == {0}, "exit codes", codes, *self.said())
        now = digest(self.scene.path("out.keras")), open(self.scene.path("h.json")).read()
        expect(now == self.one, "another digest or history", *self.said())


def run_rows(rows):
    """Those that need hosts of their own (root, certificates) are left out, by name, where there can be none."""
    reason = unavailable()
    if not os.path.exists(os.path.join(BUILD, "libartel-tls.so")):
        reason = "libartel-tls.so is not built"
    kept = [r for r in rows if not (r.hosts and reason)]
    if len(kept) < len(rows):
        print("left out: %s (%s)" % (", ".join(r.name for r in rows if r not in kept), reason))
    if not kept:
        sys.exit(77)
    table(kept, cleaning(run_row), [], at_once=3)


def run_row(row, index, folder, keras_only):
    scene = (Net if row.hosts else Scene)(row, folder)
    try:
        row.check(scene)
    finally:
        if row.hosts:
            scene.hosts.close()
    return []
