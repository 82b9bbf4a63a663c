# SPDX-License-Identifier: Apache-2.0
"""What a device gives: whether its bits repeat, and how fast it trains. For a machine that is lent for minutes: nothing but artel and Python's own
library is needed there, and what does not fit into the time is left out and named.

usage: device.py --artel PROGRAM --device cuda --models mlp.keras:512,convnet.keras:256 [--seconds 780] [--steps 60] [--out FILE]
                 [--parts about,digests,speed] [--run 'NAME=COMMAND' ...] [--plugin FILE]

about    what artel says of itself and of the devices
digests  each model by the same command: again with its programs kept, compiled anew, launched in both ways, two replicas, two tasks, cut and
         continued, twice in the fast class, and twice beside processors, in one process and in two tasks. `same` is the digest of the first run of the class; what may differ by docs/devices.md is marked
speed    each model in each class, after a run that compiles: examples a second, milliseconds of a step, of the start, of the first step.
         `fixed` beside `exact` is what it costs not to measure kernels
--run    further programs, each with what is left of the time: build/tests/device/test_lower, tests/device/own_bits/own_bits

The models are written where Keras is (bench/models.py FOLDER); data are synthetic. All is printed, and put into FILE in Markdown.
Exit code 1 if what has to be equal is not, or a run failed.
"""
import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time

CLASSES = {
    "fixed float32": ("--device-kernels", "fixed"),
    "exact float32": (),
    "exact tf32": ("--device-precision", "tf32"),
    "fast float32": ("--device-reduce", "fast"),
    "fast tf32": ("--device-reduce", "fast", "--device-precision", "tf32"),
    "fast bfloat16": ("--device-reduce", "fast", "--device-precision", "bfloat16"),
}


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--artel", required=True)
    p.add_argument("--device", required=True)
    p.add_argument("--plugin")
    p.add_argument("--models", required=True, help="FILE:BATCH, with commas")
    p.add_argument("--seconds", type=float, default=780)
    p.add_argument("--steps", type=int, default=60)
    p.add_argument("--parts", default="about,digests,speed")
    p.add_argument("--run", action="append", default=[])
    p.add_argument("--out")
    a = p.parse_args()
    a.artel = os.path.abspath(a.artel)
    return a


class Report:
    def __init__(self, a):
        self.a, self.lines, self.failed, self.left, self.begin = a, [], False, [], time.monotonic()

    def say(self, line):
        print(line, flush=True)
        self.lines.append(line)
        if self.a.out:
            with open(self.a.out, "w") as f:
                f.write("\n".join(self.lines) + "\n")

    def seconds_left(self):
        return self.a.seconds - (time.monotonic() - self.begin)

    def run(self, what, command, cache=None):
        """What it printed, or None; everything it says of a failure is told."""
        left = self.seconds_left()
        if left < 5:
            self.left.append(what)
            return None
        env = dict(os.environ, ARTEL_POST_MORTEM="none", **({"ARTEL_CACHE_DIR": cache} if cache else {}))
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env=env, timeout=left)
        except subprocess.TimeoutExpired:
            self.left.append(what)
            return None
        except OSError as absent:
            self.failed = True
            self.say("%s: %s" % (what, absent))
            return None
        if done.returncode != 0:
            self.failed = True
            said = done.stderr.decode(errors="replace").strip().splitlines() or [""]
            self.say("%s: exit code %d, %s" % (what, done.returncode, said[-1]))
            return None
        return done.stdout.decode(errors="replace")

    def fit(self, what, model, batch, more, cache, head=(), steps=None, device=True):
        a = self.a
        words = [a.artel, *head, "fit", model, "--data", "synthetic:%d" % (batch * (steps or a.steps)), "--batch-size", str(batch), "--seed", "1", "--epochs", "2",
                 "--json=epochs", "--verbose", "0", *(["--device", a.device] if device else []), *more]
        out = self.run(what, words + (["--plugin", a.plugin] if a.plugin else []), cache)
        for line in out.splitlines() if out else ():
            at = line.find("{")  # of tasks, their name is in front
            if at >= 0 and '"event": "end"' in line:
                return json.loads(line[at:])
        return None


def digests(report, model, batch, folder):
    """(what, class, whether it has to be equal, options, cache): the first of a class gives its digest."""
    kept, anew, name = os.path.join(folder, "kept"), os.path.join(folder, "anew"), os.path.basename(model)
    cut = os.path.join(folder, "cut-" + name)
    two = ("--shards", "4", "--strategy", "mirrored", "--replicas", "2")
    four = ("--shards", "4")
    fast = CLASSES["fast tf32"]
    both = four + ("--device", "cpu,%s" % (report.a.device if report.a.device[-1].isdigit() else report.a.device + ":0"), "--allow-mixed-arithmetic")
    tasks = both + ("--strategy", "multi-worker")
    rows = [
        ("first", "exact", True, four, kept, ()),
        ("programs kept", "exact", True, four, kept, ()),
        ("compiled anew", "exact", False, four, anew, ()),
        ("launched by shard", "exact", True, four + ("--device-launches", "shard"), kept, ()),
        ("launched by replica", "exact", True, four + ("--device-launches", "replica"), kept, ()),
        ("two replicas", "exact", True, two, kept, ()),
        ("two tasks", "exact", True, four + ("--strategy", "multi-worker"), kept, ("launch", "-n", "2")),
        ("cut", "exact", None, four + ("--checkpoint-dir", cut, "--epochs", "1"), kept, ()),
        ("continued", "exact", True, four + ("--checkpoint-dir", cut), kept, ()),
        ("first", "fast", True, fast, kept, ()),
        ("programs kept", "fast", True, fast, kept, ()),
        ("compiled anew", "fast", False, fast, anew, ()),
        ("first", "mixed", True, both, kept, ()),
        ("again", "mixed", True, both, kept, ()),
        ("first", "mixed tasks", True, tasks, kept, ("launch", "-n", "2")),
        ("again", "mixed tasks", True, tasks, kept, ("launch", "-n", "2")),
    ]
    known = {}
    for what, kind, equal, more, cache, head in rows:
        end = report.fit("%s, %s, %s" % (name, kind, what), model, batch, more, cache, head, steps=4)
        if not end or equal is None:
            continue
        found = end["digest"]
        same = found == known.setdefault(kind, found)
        report.failed = report.failed or (equal and not same)
        verdict = "same" if same else "DIFFERS" if equal else "differs, as it may"
        report.say("| %s | %s | %s | %s | %s |" % (name, kind, what, found[:16], verdict))


def speed(report, model, batch, folder):
    name, cache = os.path.basename(model), os.path.join(folder, "kept")
    for kind, more in CLASSES.items():
        what = "%s, %s" % (name, kind)
        first = report.fit(what + ", compiling", model, batch, more, cache, steps=2)
        end = first and report.fit(what, model, batch, more, cache)
        if end:
            report.say("| %s, %d | %s | %.0f | %.3f | %.0f | %.0f | %.1f |" % (
                name, batch, kind, batch / end["step_ms"] * 1e3, end["step_ms"], end["start_ms"], end["first_step_ms"], first["start_ms"] / 1e3))


def main():
    a = arguments()
    report, parts = Report(a), a.parts.split(",")
    models = [(os.path.abspath(m.rpartition(":")[0]), int(m.rpartition(":")[2])) for m in a.models.split(",")]
    report.say("# A device: %s" % a.device)
    if "about" in parts:
        for command in ("version",), ("devices", *(("--plugin", a.plugin) if a.plugin else ())):
            report.say("\n```\n%s```" % (report.run(" ".join(command), [a.artel, *command]) or ""))
    with tempfile.TemporaryDirectory() as folder:
        if "digests" in parts:
            report.say("\n| model | class | run | digest | beside the first |\n|---|---|---|---|---|")
            for model, batch in models:
                digests(report, model, batch, folder)
        if "speed" in parts:
            report.say("\n| model, batch | class | examples/s | step ms | start ms | first step ms | start that compiles, s |\n|---|---|---|---|---|---|---|")
            for model, batch in models:
                speed(report, model, batch, folder)
    for extra in a.run:
        name, _, command = extra.partition("=")
        out = report.run(name, shlex.split(command))
        if out is not None:
            report.say("\n## %s\n\n```\n%s```" % (name, out))
    report.say("\nLeft out for want of time: %s. %.0f s." % ("; ".join(report.left) or "nothing", time.monotonic() - report.begin))
    return report.failed


if __name__ == "__main__":
    sys.exit(main())
