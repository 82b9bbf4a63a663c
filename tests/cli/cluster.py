# SPDX-License-Identifier: Apache-2.0
"""Processes that form a cluster on this machine, started and watched by a test."""

import fcntl
import json
import os
import signal
import socket
import subprocess
import threading
import time

import cli  # noqa: F401  it tells where the oracle is
from oracle import ARTEL, clean_environment

PIPE = 4096  # bytes: a run is at most some fifty steps ahead of the test


def free_ports(count):
    """Ports that nobody listens on; another process may take one meanwhile, then the test says so."""
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Task:
    """One process; its events come through a small pipe, so that it waits when the test does not read. `prefix`: words before
    the command."""

    def __init__(self, args, env, prefix=(), program=ARTEL):
        read, write = os.pipe()
        fcntl.fcntl(write, 1031, PIPE)  # F_SETPIPE_SZ
        self.process = subprocess.Popen([*prefix, program, *[str(a) for a in args]], stdout=write, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                        env=clean_environment(env))
        os.close(write)
        self.pipe = os.fdopen(read)
        self.lines, self.errors = [], []
        self.reader = threading.Thread(target=lambda: self.errors.extend(self.process.stderr))
        self.reader.start()

    def until_step(self, step):
        for line in self.pipe:
            self.lines.append(line)
            event = json.loads(line)
            if event["event"] == "step" and event["step"] >= step:
                return True
        return False

    def until_said(self, text, limit=20):
        end = time.monotonic() + limit
        while time.monotonic() < end:
            if text in self.err():
                return True
            time.sleep(0.05)
        return False

    def drain(self):
        self.drainer = threading.Thread(target=lambda: self.lines.extend(self.pipe))
        self.drainer.start()

    def finish(self, limit):
        """The exit code; None when it did not end in time (and was killed then)."""
        try:
            self.process.wait(limit)
            code = self.process.returncode
        except subprocess.TimeoutExpired:
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


class Cluster:
    """`arguments(rank)` of `artel`, for each worker. `absent` ones begin later (`begin`); `programs`: other ones by rank."""

    def __init__(self, count, arguments, environment=None, chief=False, absent=(), prefix=(), programs=None):
        ports = free_ports(count)
        addresses = ["127.0.0.1:%d" % p for p in ports]
        jobs = {"chief": addresses[:1], "worker": addresses[1:]} if chief else {"worker": addresses}
        self.addresses, self.tasks, self.start = addresses, {}, {}
        for r in range(count):
            task = {"type": "chief", "index": 0} if chief and r == 0 else {"type": "worker", "index": r - chief}
            env = environment(r, ports) if environment else {"TF_CONFIG": json.dumps({"cluster": jobs, "task": task})}
            self.start[r] = (arguments(r), env, prefix, (programs or {}).get(r, ARTEL))
            if r not in absent:
                self.begin(r)

    def begin(self, rank):
        self.tasks[rank] = Task(*self.start[rank])

    def finish(self, limit=60):
        """Exit codes by rank."""
        end = time.monotonic() + limit
        for task in self.tasks.values():
            if not hasattr(task, "drainer"):
                task.drain()
        return {r: t.finish(max(0.1, end - time.monotonic())) for r, t in self.tasks.items()}

    def kill(self, rank, number=signal.SIGKILL):
        self.tasks[rank].process.send_signal(number)

    def restart(self, rank):
        """The same command again, after the process has ended."""
        self.tasks[rank].process.wait()
        self.begin(rank)
