# SPDX-License-Identifier: Apache-2.0
"""Processes that form a cluster on this machine, started and watched by a test; their model, data and certificates."""

import datetime
import fcntl
import json
import os
import signal
import socket
import subprocess
import tempfile
import threading
import time

from cli import K, L, MODELS, O, expect, save, save_arrays
from oracle import ARTEL, artel, clean_environment
from started import STARTED

PIPE = 4096  # bytes: a run is at most some sixty steps ahead of the test
PACE = 200  # steps a second that read_until lets pass, at first
AHEAD = 100  # steps that a task may be ahead of its reader, the pipe full

HELD = []  # sockets of the ports given out


def free_ports(count):
    """Ports that nobody listens on. They stay bound as long as the test runs, so that nobody else is given one; who sets SO_REUSEADDR, as
    artel does, listens there nevertheless."""
    for _ in range(count):
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(("", 0))
        HELD.append(s)
    return [s.getsockname()[1] for s in HELD[-count:]]


def free_range(count):
    """The first of so many ports one after another, held in the same way."""
    while True:
        made, first = [], free_ports(1)[0]
        try:
            for port in range(first + 1, first + count):
                made.append(socket.socket())
                made[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                made[-1].bind(("", port))
        except OSError:
            continue
        HELD.extend(made)
        return first


SLOWER = 4  # so much slower than the machines that limits are written for one may be


class Patience:
    """Seconds that the machine had for this test: those in which more was runnable than there are cores count in proportion, and all count a
    quarter. So a limit means the same on an idle machine, beside twenty others, and on a slow one."""

    def __init__(self, limit):
        self.limit, self.used, self.last = limit, 0.0, time.monotonic()

    def over(self):
        now = time.monotonic()
        with open("/proc/loadavg") as f:
            runnable = int(f.read().split()[3].split("/")[0])
        self.used += (now - self.last) * min(1.0, len(os.sched_getaffinity(0)) / max(1, runnable)) / SLOWER
        self.last = now
        return self.used >= self.limit

    def until(self, condition, pause=0.02):
        """Whether it has come true in time."""
        while not condition():
            if self.over():
                return condition()
            time.sleep(pause)
        return True


class Task:
    """One process; its events come through a small pipe, so that it waits when the test does not read. `prefix`: words before
    the command. `heed`: is shown each line of standard error, and keeps those for which it says true. `full`: the pipe is, from the start.
    `whole`: the steps of a run that ends by itself."""

    def __init__(self, args, env, prefix=(), program=ARTEL, heed=lambda line: False, full=False):
        read, write = os.pipe()
        fcntl.fcntl(write, 1031, PIPE)  # F_SETPIPE_SZ
        if full:
            os.write(write, bytes(PIPE))
        self.whole = None
        self.process = subprocess.Popen([*prefix, program, *[str(a) for a in args]], stdout=write, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                        env=clean_environment(env))
        STARTED.append(self.process)
        os.close(write)
        # Not read ahead of what is asked for, which would let the run go further.
        self.pipe = map(lambda line: line.decode(errors="replace"), os.fdopen(read, "rb", 64))
        self.lines, self.errors = [], []
        self.reader = threading.Thread(target=lambda: self.errors.extend(line for line in self.process.stderr if not heed(line)), daemon=True)
        self.reader.start()

    def until_step(self, step):
        for line in self.pipe:
            self.lines.append(line)
            event = json.loads(line)
            if event["event"] == "step" and event["step"] >= step:
                return True
        return False

    def read_until(self, condition, limit=60):
        """Reads on, so that the run goes on, until it has come true; whether it has in time. The nearer the end of the run, the slower: on no
        machine is it over before."""
        patience = Patience(limit)
        while not condition():
            if patience.over() or not self.until_step(0):
                return condition()
            left = max(0.1, 1 - (json.loads(self.lines[-1])["step"] + AHEAD) / self.whole) if self.whole else 1
            time.sleep(1 / PACE / left**3)
        return True

    def last_step(self):
        """Of those that have been read."""
        return max((e["step"] for e in map(json.loads, list(self.lines)) if e["event"] == "step"), default=-1)

    def until_said(self, text, limit=20):
        return Patience(limit).until(lambda: text in self.err())

    def drain(self):
        self.drainer = threading.Thread(target=lambda: self.lines.extend(self.pipe), daemon=True)
        self.drainer.start()

    def finish(self, limit):
        """The exit code; None when it did not end in time (and was killed then)."""
        patience = limit if isinstance(limit, Patience) else Patience(limit)
        if patience.until(lambda: self.process.poll() is not None):
            code = self.process.returncode
        else:
            self.process.kill()
            self.process.wait()
            code = None
        self.drainer.join()
        self.reader.join()
        return code

    def out(self):
        return "".join(self.lines)

    def err(self):
        return b"".join(self.errors).decode(errors="replace")

    def events(self):
        return [json.loads(line) for line in self.lines]


def await_listening(processes):
    """Until each (process, address) can be connected to; or has ended, which whoever asks next will see."""

    def listens(process, address):
        port = ":%04X" % int(address.rsplit(":", 1)[1])
        try:
            for name in ("tcp", "tcp6"):
                with open("/proc/%d/net/%s" % (process.pid, name)) as f:
                    if any(line.split()[1].endswith(port) and line.split()[3] == "0A" for line in f):
                        return True
        except OSError:
            pass  # it has just ended
        return False

    there = Patience(60).until(lambda: all(p.poll() is not None or listens(p, address) for p, address in processes))
    expect(there, "who does not listen:", [address for p, address in processes if not listens(p, address)])


class Cluster:
    """`arguments(rank)` of `artel`, for each worker. `absent` ones begin later (`begin`); `last`: one that begins when the others can be
    connected to, so that all hear of what is wrong with it, whoever is slow; `prefix`: words, or a function of the rank that gives them;
    `programs`: other ones by rank; `full`: ranks that can print nothing until the test reads."""

    full = ()

    def __init__(self, count, arguments, environment=None, chief=False, absent=(), last=None, prefix=(), programs=None, full=()):
        ports = free_ports(count)
        addresses = ["127.0.0.1:%d" % p for p in ports]
        jobs = {"chief": addresses[:1], "worker": addresses[1:]} if chief else {"worker": addresses}
        self.addresses, self.tasks, self.start, self.full = addresses, {}, {}, full
        for r in range(count):
            task = {"type": "chief", "index": 0} if chief and r == 0 else {"type": "worker", "index": r - chief}
            env = environment(r, ports) if environment else {"TF_CONFIG": json.dumps({"cluster": jobs, "task": task})}
            self.start[r] = (arguments(r), env, prefix(r) if callable(prefix) else prefix, (programs or {}).get(r, ARTEL))
        self.begin_all(absent, last)

    def begin_all(self, absent, last):
        for r in self.start:
            if r not in absent and r != last:
                self.begin(r)
        if last is not None:
            await_listening([(t.process, self.addresses[r]) for r, t in self.tasks.items()])
            self.begin(last)

    def begin(self, rank):
        self.tasks[rank] = Task(*self.start[rank], full=rank in self.full)

    def finish(self, limit=60):
        """Exit codes by rank."""
        patience = limit if isinstance(limit, Patience) else Patience(limit)
        for task in self.tasks.values():
            if not hasattr(task, "drainer"):
                task.drain()
        return {r: t.finish(patience) for r, t in self.tasks.items()}

    def kill(self, rank, number=signal.SIGKILL):
        self.tasks[rank].process.send_signal(number)

    def lose(self, reader, rank, number=signal.SIGKILL, again=False):
        """What a task that is killed, or told to leave, had printed; task `reader` goes on meanwhile, as the one that leaves waits for it. `again`:
        it is started again, and has joined when this returns."""
        task, shows = self.tasks[rank], self.tasks[reader]
        self.kill(rank, number)
        task.drain()
        expect(shows.read_until(lambda: task.process.poll() is not None), "worker %d does not end:" % rank, task.err()[-400:])
        task.finish(10)
        if again:
            self.restart(rank)
            back = shows.read_until(lambda: "with the state of another task" in self.tasks[rank].err())
            expect(back, "worker %d does not come back:" % rank, shows.err()[-400:], self.tasks[rank].err()[-400:])
        return task.lines

    def begun(self, rank):
        """Waits until a task says that the job runs; False: it is over."""
        while "running" not in artel("status", self.addresses[rank], "--insecure-network").out:
            if self.tasks[rank].process.poll() is not None:
                return False
        return True

    def restart(self, rank):
        """The same command again, after the process has ended."""
        self.tasks[rank].process.wait()
        self.begin(rank)


def wide():
    """Gradients so long that tasks of a host read them where they lie; data of mlp."""
    m = K.Sequential([K.Input((20,)), L.Dense(600, activation="relu"), L.Dropout(0.2), L.Dense(150, activation="relu"), L.Dense(10, activation="softmax")])
    m.compile(O.Adam(0.0005), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return m


class Scene:
    """A model, its data, and what one process makes of them."""

    def __init__(self, row, folder):
        self.folder = folder
        self.model = save(wide if row.model == "wide" else MODELS[row.model], self.path("m.keras"))
        self.data = save_arrays("mlp" if row.model == "wide" else row.model, self.path("d.npz"), 500)
        self.row = row

    def path(self, name):
        return os.path.join(self.folder, name)

    def fit(self, *more):
        return ["fit", self.model, "--data", self.data, "--validation-split", 0.2, "--threads", 1, "--verbose", 0, *more]

    def cluster(self, count, *more, each=None, **kinds):
        args = self.fit("--strategy", "multi-worker", *more)
        return Cluster(count, lambda r: args + (each(r) if each else []), **kinds)

    def all_end(self, cluster, code, limit, *texts):
        """Every task ends in time with that code and says all of the texts. How long it took, as Patience counts."""
        patience = Patience(limit)
        codes = cluster.finish(patience)
        said = {r: t.err() for r, t in cluster.tasks.items()}
        for r, c in codes.items():
            if c == -signal.SIGKILL:
                continue
            expect(c == code, "worker %d: exit code %s after %.1f s, expected %s;" % (r, c, patience.used, code), said[r][-400:])
            for text in texts:
                expect(text in said[r], "worker %d does not say %r:" % (r, text), said[r][-400:])
        return patience.used


def certificates(scene):
    certs = scene.path("certs")
    for args in (["init", certs], ["issue", certs, "worker-[0-2]"], ["init", certs + "2"], ["issue", certs + "2", "worker-[0-2]"]):
        ran = artel("cert", *args)
        expect(ran.rc == 0, "artel cert:", ran.err)
    return certs


def expired(scene, name):
    """A certificate of the cluster's authority that was good once, in a folder."""
    return dated(scene, name, *(datetime.datetime(2020, month, 1) for month in (1, 2)))


def dated(scene, name, begins, ends):
    """A certificate of the cluster's authority with these dates (UTC), in a folder."""
    folder = tempfile.mkdtemp(dir=scene.folder)
    begins, ends = (date.strftime("%Y%m%d%H%M%SZ") for date in (begins, ends))
    config = "[ca]\ndefault_ca=d\n[d]\ndatabase=%s/db\nserial=%s/serial\nnew_certs_dir=%s\npolicy=p\ndefault_md=sha256\n[p]\n" % (folder, folder, folder)
    config += "commonName=optional\n[x]\nsubjectAltName=DNS:%s\nextendedKeyUsage=serverAuth,clientAuth\n" % name
    for file, text in (("db", ""), ("serial", "77\n"), ("cnf", config)):
        with open(os.path.join(folder, file), "w") as f:
            f.write(text)
    path = lambda file: os.path.join(folder, file)
    for words in (["req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", path("tls.key"), "-out", path("csr"),
                   "-subj", "/CN=" + name],
                  ["ca", "-batch", "-notext", "-config", path("cnf"), "-extensions", "x", "-cert", scene.certs + "/ca.crt", "-keyfile",
                   scene.certs + "/ca.key", "-startdate", begins, "-enddate", ends, "-in", path("csr"), "-out", path("tls.crt")]):
        done = subprocess.run(["openssl", *words], capture_output=True, text=True, check=False)
        expect(done.returncode == 0, "openssl:", done.stderr)
    with open(scene.certs + "/ca.crt") as a, open(path("ca.crt"), "w") as b:
        b.write(a.read())
    return folder
