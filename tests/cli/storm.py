# SPDX-License-Identifier: Apache-2.0
"""A job in a storm: what befalls its tasks, decided by a seed, done to real processes by the clock and by what they say.

A Storm is a list of blows made from the seed alone. A Job is where they fall: under `artel launch --restarts` (Launched), or
processes that the test itself starts, stops and starts again, so that the cluster grows and shrinks (ByHand).
"""

import dataclasses
import json
import os
import re
import signal
import subprocess
import time

from cluster import free_ports
from oracle import ARTEL, clean_environment

# What is waited for before a blow falls: in what the tasks print.
MOMENTS = {
    "membership": re.compile(r"generation \d+: "),
    "loss": re.compile(r"form a new generation"),
    "copy": re.compile(r"with the state of another task"),
    "restart": re.compile(r"it is started again|started by the test"),
    "checkpoint": re.compile(r'"event": "checkpoint"'),
    "epoch": re.compile(r'"event": "epoch"'),
    "validation": re.compile(r'"event": "evaluate"'),
}


@dataclasses.dataclass
class Blow:
    delay: float  # seconds after the blow before, or after the moment
    moment: str  # "" or one of MOMENTS, waited for at most PATIENCE
    victims: list  # numbers: victim v is task v modulo their count; -1 the lowest that lives
    verb: str  # kill, term, stop
    pause: float  # of a stop
    end: bool  # a stop ends with a kill instead of SIGCONT


PATIENCE = 2.0


def make_blows(rng, count):
    blows = []
    for i in range(count):
        verb = rng.choices(["kill", "term", "stop"], [5, 2, 2])[0]
        moment = rng.choice(["", "", "", *MOMENTS])
        delay = rng.choice([0.0, rng.uniform(0, 0.02), rng.uniform(0.05, 0.4)]) if moment else rng.choice([rng.uniform(0, 0.05), rng.uniform(0.1, 0.9), rng.uniform(0.3, 1.2)])
        several = rng.random() < 0.2
        victims = [rng.randrange(60) for _ in range(2)] if several else [rng.choice([-1, rng.randrange(60), rng.randrange(60)])]
        blows.append(Blow(delay, moment, victims, verb, rng.choice([0.1, 0.5, 1.5, 3.0]), rng.random() < 0.2))
    return blows


class Tail:
    """A file that a process writes, read as it grows."""

    def __init__(self, path):
        self.path, self.file = path, open(path, "w+")
        self.reader = open(path)
        self.text = ""

    def more(self):
        new = self.reader.read()
        self.text += new
        return new

    def close(self):
        self.more()
        self.file.close()
        self.reader.close()


def children(pid):
    """The tasks that a launcher has started: pid by name."""
    found = {}
    try:
        threads = os.listdir("/proc/%d/task" % pid)
    except OSError:
        return found
    for thread in threads:
        try:
            pids = open("/proc/%d/task/%s/children" % (pid, thread)).read().split()
        except OSError:
            continue
        for child in pids:
            try:
                variables = open("/proc/%s/environ" % child, "rb").read().split(b"\0")
            except OSError:
                continue
            for v in variables:
                if v.startswith(b"ARTEL_TASK="):
                    found[v[11:].decode()] = int(child)
    return found


class Job:
    """Processes with output in files; `tasks()` gives those that live, pid by name, in order."""

    def __init__(self, folder):
        self.folder, self.begin, self.log = folder, time.monotonic(), []
        self.blows, self.waking = 0, []  # blows that fell; (time, pid, signal)

    def say(self, text, *args):
        self.log.append("%7.3f %s" % (time.monotonic() - self.begin, text % args))

    def send(self, pid, number):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return False
        return True

    def strike(self, blow):
        tasks = sorted(self.tasks().items())
        if not tasks:
            return False
        chosen = {tasks[0] if v < 0 else tasks[v % len(tasks)] for v in blow.victims}
        for name, pid in sorted(chosen):
            number = {"kill": signal.SIGKILL, "term": signal.SIGTERM, "stop": signal.SIGSTOP}[blow.verb]
            if not self.send(pid, number):
                continue
            self.blows += 1
            self.say("%s %s (%d)%s", blow.verb, name, pid, " for %.1f s%s" % (blow.pause, ", then kill" if blow.end else "") if blow.verb == "stop" else "")
            if blow.verb == "stop":
                self.waking.append((time.monotonic() + blow.pause, pid, signal.SIGKILL if blow.end else signal.SIGCONT))
        return True

    def wake(self):
        now = time.monotonic()
        for due, pid, number in [w for w in self.waking if w[0] <= now]:
            self.send(pid, number)
            self.say("%s %d", signal.Signals(number).name, pid)
        self.waking = [w for w in self.waking if w[0] > now]

    def pass_time(self, seconds, pattern=None):
        """True when the pattern has been said, False when the time is over or the job has ended."""
        until = time.monotonic() + seconds
        while not self.over():
            self.wake()
            new = self.listen()
            if pattern and pattern.search(new):
                return True
            left = until - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(0.004, left))
        return False

    def suffer(self, blows):
        for blow in blows:
            if blow.moment:
                self.pass_time(PATIENCE, MOMENTS[blow.moment])
            self.pass_time(blow.delay)
            if self.over():
                return
            self.strike(blow)

    def wait(self, limit):
        """Whether all ended in time."""
        self.pass_time(limit)
        return self.over()

    def stacks(self):
        """Where those hang that have not ended, as far as a debugger is there."""
        text = ""
        for name, pid in sorted(self.tasks().items()):
            try:
                ran = subprocess.run(["gdb", "-p", str(pid), "-batch", "-ex", "thread apply all bt 14"], capture_output=True, timeout=20)
                lines = [line for line in ran.stdout.decode(errors="replace").splitlines() if line.startswith(("#", "Thread"))]
            except (OSError, subprocess.TimeoutExpired):
                lines = []
            text += "%s (%d) lives:\n%s\n" % (name, pid, "\n".join(lines))
        return text


class Launched(Job):
    def __init__(self, folder, count, before, arguments):
        super().__init__(folder)
        self.out, self.err = Tail(os.path.join(folder, "out")), Tail(os.path.join(folder, "err"))
        command = [ARTEL, "launch", "-n", count, "--restarts", 100000, "--threads", 1, "--json", *before, *arguments]
        self.process = subprocess.Popen([str(c) for c in command], stdout=self.out.file, stderr=self.err.file, stdin=subprocess.DEVNULL, env=clean_environment())

    def tasks(self):
        return children(self.process.pid)

    def over(self):
        return self.process.poll() is not None

    def listen(self):
        return self.out.more() + self.err.more()

    def close(self):
        for _, pid, number in self.waking:
            self.send(pid, signal.SIGCONT)
        if not self.over():
            self.process.kill()
        self.process.wait()
        self.out.close()
        self.err.close()

    def said(self):
        return self.err.text

    def printed(self):
        return self.out.text


@dataclasses.dataclass
class Life:
    process: object
    out: Tail
    err: Tail


class ByHand(Job):
    """`sizes`: how many of the tasks are wanted at first, then from each of these blows on: {0: 2, 10: 5, 25: 3}."""

    def __init__(self, folder, count, sizes, arguments):
        super().__init__(folder)
        self.addresses = ["127.0.0.1:%d" % p for p in free_ports(count)]
        self.arguments, self.sizes, self.lives, self.past = arguments, sizes, {}, []
        self.starts, self.next_start, self.codes, self.finished = 0, {}, [], False
        self.tend()

    def start(self, index):
        config = {"cluster": {"worker": self.addresses}, "task": {"type": "worker", "index": index}}
        path = os.path.join(self.folder, "%d-%d" % (self.starts, index))
        out, err = Tail(path + ".out"), Tail(path + ".err")
        command = [ARTEL, *[str(a) for a in self.arguments]]
        process = subprocess.Popen(command, stdout=out.file, stderr=err.file, stdin=subprocess.DEVNULL, env=clean_environment({"TF_CONFIG": json.dumps(config)}))
        self.lives[index] = Life(process, out, err)
        self.starts += 1
        self.say("start worker:%d (%d)", index, process.pid)

    def wanted(self):
        return [size for blow, size in sorted(self.sizes.items()) if blow <= self.blows][-1]

    def bury(self):
        for index, life in list(self.lives.items()):
            code = life.process.poll()
            if code is None:
                continue
            self.say("worker:%d ended with %d", index, code)
            life.out.close()
            life.err.close()
            self.past.append((index, life))
            self.codes.append(code)
            self.finished = self.finished or code == 0
            self.next_start[index] = time.monotonic() + 0.05
            del self.lives[index]

    def tend(self):
        """Starts what is missing, tells to leave what is too much; after one has finished, nobody is started any more."""
        self.bury()
        now, wanted = time.monotonic(), self.wanted()
        for index in range(len(self.addresses)):
            if not self.finished and len(self.lives) < wanted and index not in self.lives and now >= self.next_start.get(index, 0):
                self.start(index)
        for index in sorted(self.lives, reverse=True)[: max(0, len(self.lives) - wanted)]:
            if self.next_start.get(index, 0) > now:
                continue
            self.send(self.lives[index].process.pid, signal.SIGTERM)
            self.next_start[index] = now + 30  # told once
            self.say("leave worker:%d", index)

    def tasks(self):
        self.tend()
        return {"worker:%d" % i: life.process.pid for i, life in self.lives.items() if life.process.poll() is None}

    def over(self):
        self.bury()
        return self.finished and not self.lives

    def listen(self):
        before = self.starts
        self.tend()
        new = "started by the test\n" * (self.starts - before)
        return new + "".join(life.out.more() + life.err.more() for life in self.lives.values())

    def close(self):
        for life in self.lives.values():
            life.process.kill()
            life.process.wait()
        self.bury()

    def said(self):
        return "".join("[worker %d] %s" % (i, line) for i, life in [*self.past, *self.lives.items()] for line in life.err.text.splitlines(True))

    def printed(self):
        return "".join(life.out.text for _, life in [*self.past, *self.lives.items()])
