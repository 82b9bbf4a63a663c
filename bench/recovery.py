# SPDX-License-Identifier: Apache-2.0
"""What a loss, a join and a crowd of strangers cost a job of three workers on this machine.

usage: recovery.py --artel PROGRAM [--rounds 20] [--minutes 3] [--parts kill,stop,storm,crowd] [--found FILE] [--out bench/recovery.md]

kill   kill -9 to one worker, in turn each, so also the coordinator and writer: until the first step that the survivors finish in
       their new generation; then it is started again: from the last step before it is a member to the first one after
stop   SIGSTOP: until a survivor names the worker, and until the survivors have finished a step without it; SIGCONT: it joins again
storm  under `artel launch --restarts`, a kill every 15 s: the sum of all these times over the time of the run
crowd  encrypted; in turn ten quiet seconds and ten in which 10,000 connections are opened to the coordinator, half of which begin a
       handshake and none of which ends it: steps a second with them over those without

Times are taken when the line of JSON of a step has been read here. A line that tells of a new generation stands between
the steps of two generations, so no step that was finished before a kill counts as recovery.
"""
import argparse
import json
import os
import re
import resource
import selectors
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from run import HERE, machine

WORKERS = 3
EVERY = 15.0  # seconds between kills of the storm
CROWD, WINDOW = 10000, 10.0  # connections, in so many seconds


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--artel", required=True)
    p.add_argument("--rounds", type=int, default=20)
    p.add_argument("--minutes", type=float, default=3)
    p.add_argument("--parts", default="kill,stop,storm,crowd")
    p.add_argument("--knock", type=int, help=argparse.SUPPRESS)  # the port at which this process is the crowd
    p.add_argument("--found", help="a file with what other calls have found, for parts that are measured one by one; added to")
    p.add_argument("--out", default=os.path.join(HERE, "recovery.md"))
    return p.parse_args()


def layer(name, units, activation):
    return {"class_name": "Dense", "config": {"name": name, "units": units, "activation": activation}}


def write_model(path):
    layers = [{"class_name": "InputLayer", "config": {"batch_shape": [None, 256], "dtype": "float32", "name": "in"}},
              layer("a", 512, "relu"), layer("b", 512, "relu"), layer("c", 10, "softmax")]
    with open(path, "w") as f:
        json.dump({"class_name": "Sequential", "config": {"name": "m", "layers": layers}}, f)


def fit(model):
    return ["fit", model, "--strategy", "multi-worker", "--data", "synthetic:60000", "--optimizer", "adam", "--loss", "sparse_categorical_crossentropy",
            "--batch-size", "256", "--epochs", "100000", "--threads", "1", "--json"]


def ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    numbers = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return numbers


class Watch:
    """Lines of many pipes with the time at which they were read."""

    def __init__(self):
        self.selector, self.rest = selectors.DefaultSelector(), {}

    def add(self, pipe):
        os.set_blocking(pipe.fileno(), False)
        self.selector.register(pipe, selectors.EVENT_READ)
        self.rest[pipe] = b""

    def lines(self, seconds):
        """What comes first: (time, line)s, maybe none."""
        found = []
        for key, _ in self.selector.select(seconds):
            data, now = os.read(key.fileobj.fileno(), 1 << 20), time.monotonic()
            if not data:
                self.selector.unregister(key.fileobj)
                continue
            parts = (self.rest[key.fileobj] + data).split(b"\n")
            self.rest[key.fileobj] = parts.pop()
            found += [(now, p) for p in parts]
        return found


class Steps:
    """The course of a job: times of steps, and what changed its members."""

    def __init__(self, watch):
        self.watch, self.last, self.between, self.changes, self.said = watch, None, None, [], []
        self.times = []

    def take(self, seconds=0.05):
        for now, line in self.watch.lines(seconds):
            if line.startswith(b'{"event": "step"'):
                if self.between:  # the first of a generation
                    self.changes.append({"event": self.between[1], "gap": now - (self.last or now), "told": self.between[0], "step": now})
                    self.between = None
                elif self.last:
                    self.times.append(now - self.last)
                self.last = now
            elif line.startswith(b'{"event": "membership"'):
                self.between = (now, json.loads(line))
            elif not line.startswith(b"{"):
                self.said.append((now, line.decode(errors="replace")))

    def until(self, done, seconds, what):
        end = time.monotonic() + seconds
        while True:
            found = done()
            if found:
                return found
            if time.monotonic() > end:
                raise SystemExit("recovery: %s did not happen in %d s:\n%s" % (what, seconds, "\n".join(t for _, t in self.said[-20:])))
            self.take()

    def rest(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.take(0.02)

    def change(self, since, members):
        """The first step after that moment of a generation with so many members."""
        return next((c for c in self.changes if c["step"] > since and len(c["event"]["members"]) == members), None)


class ByHand:
    def __init__(self, artel, folder, more=()):
        self.artel, self.model, self.more = os.path.abspath(artel), os.path.join(folder, "m.json"), more
        self.addresses = ["127.0.0.1:%d" % p for p in ports(WORKERS)]
        self.watch = Watch()
        self.steps = Steps(self.watch)
        self.tasks = [None] * WORKERS
        for i in range(WORKERS):
            self.start(i)

    def start(self, i):
        config = {"cluster": {"worker": self.addresses}, "task": {"type": "worker", "index": i}}
        self.tasks[i] = subprocess.Popen([self.artel, *fit(self.model), *self.more], env=dict(os.environ, TF_CONFIG=json.dumps(config)), stdin=subprocess.DEVNULL,
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.watch.add(self.tasks[i].stdout)
        self.watch.add(self.tasks[i].stderr)

    def close(self):
        for t in self.tasks:
            t.kill()
        for t in self.tasks:
            t.wait()


def measure_kills(a, folder):
    job, found = ByHand(a.artel, folder), {"kill": [], "join": [], "pause": []}
    steps = job.steps
    steps.until(lambda: len(steps.times) > 50, 30, "the first steps")
    for k in range(a.rounds):
        victim, since = k % WORKERS, time.monotonic()
        job.tasks[victim].kill()
        left = steps.until(lambda: steps.change(since, WORKERS - 1), 20, "going on without worker %d" % victim)
        found["kill"].append(left["step"] - since)
        job.tasks[victim].wait()
        since = time.monotonic()
        job.start(victim)
        joined = steps.until(lambda: steps.change(since, WORKERS), 20, "going on with worker %d" % victim)
        found["join"].append(joined["gap"])
        if len(joined["event"]["joined"]) == 1:  # not as the newcomer sees it, who writes when it is the lowest
            found["pause"].append(joined["event"]["pause_ms"] * 1e-3)
        steps.rest(0.7)
    found["step"] = steps.times
    job.close()
    return found


def measure_stops(a, folder):
    job, found = ByHand(a.artel, folder), {"named": [], "evicted": []}
    steps = job.steps
    steps.until(lambda: len(steps.times) > 50, 30, "the first steps")
    for k in range(a.rounds):
        victim, since = k % WORKERS, time.monotonic()
        name = re.compile(r"worker %d .*nothing heard from it" % victim)
        job.tasks[victim].send_signal(signal.SIGSTOP)
        found["named"].append(steps.until(lambda: next((t for t, line in steps.said if t > since and name.search(line)), 0), 20, "naming") - since)
        found["evicted"].append(steps.until(lambda: steps.change(since, WORKERS - 1), 20, "evicting worker %d" % victim)["step"] - since)
        since = time.monotonic()
        job.tasks[victim].send_signal(signal.SIGCONT)
        steps.until(lambda: steps.change(since, WORKERS), 20, "going on with worker %d" % victim)
        steps.rest(0.7)
    job.close()
    return found


def children(pid):
    """pid by task, of a launcher."""
    found = {}
    for thread in os.listdir("/proc/%d/task" % pid):
        for child in open("/proc/%d/task/%s/children" % (pid, thread)).read().split():
            for v in open("/proc/%s/environ" % child, "rb").read().split(b"\0"):
                if v.startswith(b"ARTEL_TASK="):
                    found[v[11:].decode()] = int(child)
    return found


def measure_storm(a, folder):
    command = [os.path.abspath(a.artel), "launch", "-n", str(WORKERS), "--restarts", "1000", "--threads", "1", "--json", *fit(os.path.join(folder, "m.json"))]
    launcher = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    watch = Watch()
    watch.add(launcher.stdout)
    watch.add(launcher.stderr)
    steps = Steps(watch)
    steps.until(lambda: len(steps.times) > 50, 30, "the first steps")
    begin, lost, kills, joins = time.monotonic(), 0.0, 0, 0
    while time.monotonic() - begin < 60 * a.minutes - 1:
        since = time.monotonic()
        os.kill(children(launcher.pid)["worker:%d" % (kills % WORKERS)], signal.SIGKILL)
        lost += steps.until(lambda: steps.change(since, WORKERS - 1), 20, "going on")["step"] - since
        joined = steps.until(lambda: steps.change(since, WORKERS), 20, "joining")
        lost, kills, joins = lost + joined["gap"], kills + 1, joins + 1
        steps.rest(EVERY - (time.monotonic() - since))
    took = time.monotonic() - begin
    launcher.kill()
    launcher.wait()
    return {"lost": lost, "took": took, "kills": kills, "joins": joins}


def knock(port):
    """Opens the connections evenly, says half a word on every other one, prints the seconds of CPU that it took, and waits."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (CROWD + 100, max(CROWD + 100, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
    begin, made = time.monotonic(), []
    for i in range(CROWD):
        s = socket.socket()
        s.setblocking(False)
        s.connect_ex(("127.0.0.1", port))
        made.append(s)
        if i % 20 == 19:
            for known in made[-40:-20:2]:
                try:
                    known.send(b"\x16\x03\x01")
                except OSError:
                    pass  # closed already
            time.sleep(max(0, begin + WINDOW * 0.97 * i / CROWD - time.monotonic()))
    print(time.process_time(), flush=True)
    sys.stdin.read()


def measure_crowd(a, folder):
    certs = os.path.join(folder, "certs")
    for words in (["init", certs], ["issue", certs, "worker-[0-%d]" % (WORKERS - 1)]):
        subprocess.run([os.path.abspath(a.artel), "cert", *words], check=True, capture_output=True)
    job, found = ByHand(a.artel, folder, ["--cert-dir", certs]), {"ratio": [], "cpu": []}
    steps, port = job.steps, job.addresses[0].rsplit(":", 1)[1]
    steps.until(lambda: len(steps.times) > 50, 30, "the first steps")

    formed = len(steps.changes)

    def window():
        before = len(steps.times)
        steps.rest(WINDOW)
        return len(steps.times) - before

    for _ in range(max(3, a.rounds // 3)):
        quiet = window()
        crowd = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--artel", a.artel, "--knock", port], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        found["ratio"].append(window() / quiet)
        found["cpu"].append(float(crowd.stdout.readline()) / WINDOW)
        crowd.stdin.close()
        crowd.wait()
        steps.rest(3)
    found["generations"] = len(steps.changes) - formed
    job.close()
    return found


def ms(values):
    return "%.0f (%.0f to %.0f)" % (1e3 * statistics.median(values), 1e3 * min(values), 1e3 * max(values))


def write(path, found):
    with open(path, "w") as out:
        out.write(f"# What a loss and a join cost\n\n{machine()}; {WORKERS} workers of one thread on the same cores, over loopback; a model of 400,000 weights with Adam, "
                  "256 rows a step; written by `bench/recovery.py`. Milliseconds: median (least to most).\n\n| | ms | bar |\n|---|---|---|\n")
        if "kill" in found:
            k = found["kill"]
            out.write(f"| a step | {1e3 * statistics.median(k['step']):.1f} | |\n| kill -9 to the next finished step of the survivors, {len(k['kill'])} kills, the coordinator every third | "
                      f"{ms(k['kill'])} | 500 + two steps |\n| a join, from the last step without it to the first with it | {ms(k['join'])} | 50 + a step |\n"
                      f"| of that the members were at rest | {ms(k['pause'])} | |\n")
        if "stop" in found:
            s = found["stop"]
            out.write(f"| SIGSTOP to its name on another worker, {len(s['named'])} stops | {ms(s['named'])} | 3000 |\n| SIGSTOP to the next finished step without it | {ms(s['evicted'])} | 3000 |\n")
        if "storm" in found:
            s = found["storm"]
            out.write(f"\n`artel launch -n {WORKERS} --restarts`, encrypted, a kill every {EVERY:.0f} s for {s['took']:.0f} s: {s['kills']} kills and {s['joins']} joins cost {s['lost']:.2f} s, "
                      f"{100 * s['lost'] / s['took']:.2f} % (bar: 5 %).\n")
        if "crowd" in found:
            c = found["crowd"]
            out.write(f"\n{CROWD:,} half-open connections to the coordinator in {WINDOW:.0f} s, encrypted, {len(c['ratio'])} times: {100 * (1 - statistics.median(c['ratio'])):.1f} % slower "
                      f"(most {100 * (1 - min(c['ratio'])):.1f} %; bar: 5 %), {c['generations']} changes of members; whoever knocks takes {100 * statistics.median(c['cpu']):.0f} % of a core of the same two.\n")


def main():
    a, found = arguments(), {}
    if a.knock:
        knock(a.knock)
        return
    if a.found and os.path.exists(a.found):
        found = json.load(open(a.found))
    with tempfile.TemporaryDirectory() as folder:
        write_model(os.path.join(folder, "m.json"))
        for part, measure in (("kill", measure_kills), ("stop", measure_stops), ("storm", measure_storm), ("crowd", measure_crowd)):
            if part in a.parts.split(","):
                found[part] = measure(a, folder)
                print(part, json.dumps({k: v if not isinstance(v, list) else [len(v), statistics.median(v), max(v)] for k, v in found[part].items()}), flush=True)
    if a.found:
        json.dump(found, open(a.found, "w"))
    write(a.out, found)


if __name__ == "__main__":
    main()
