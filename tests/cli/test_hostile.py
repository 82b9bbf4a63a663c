# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# long form: 600
"""A run among strangers: who listens learns nothing, who knocks or sits in between changes nothing and is named.

Rows that need hosts of their own (network namespaces, root) are left out, by name, where there can be none.
"""

import os
import re
import resource
import socket
import ssl
import sys
import time

import wire
from cli import expect
from cluster import Cluster, certificates, expired, free_ports
from held import Row, Run, run_rows
from hosts import PORT, HostCluster
from oracle import BUILD, LONG, artel, weights


def refusals(task, fault=""):
    """Lines of the security log."""
    return [line for line in task.err().splitlines() if " refused (%s" % fault in line]


# ---------------------------------------------------------------- who listens
def secrets(scene):
    """What must not be seen: names, facts of the run, bytes of the weights as they travel to a task that joins. Eight bytes at the least:
    shorter words stand in megabytes of ciphertext by chance."""
    words = [b"worker-0", b"worker-1", wire.head(wire.CONTROL), wire.head(wire.DATA), b"accuracy", b"\nseed=0\n"]
    expect(all(len(w) >= 8 for w in words), "a short word")
    tensors = [a for a in weights(scene.model).values() if a.ndim == 2]
    return words, [a[0, :8].tobytes() for a in tensors] + [a[5, :8].tobytes() for a in tensors]


def captured(scene, more):
    """The streams of a run in which worker 1 dies and comes again; its weights do not move, so they are known."""
    def start(args):
        return HostCluster(scene.hosts, lambda r: [*args, "--strategy", "multi-worker", *more])

    capture = wire.Capture(scene.hosts.switch, "port0")
    try:
        run = Run(scene, start, epochs=16, still=True)
        run.cluster.kill(1)
        run.named_left(0, 1)
        run.restart(1)
        run.whole([0])
        run.ends_well()
    finally:
        streams = capture.streams()
    return {key: stream for key, stream in streams.items() if PORT in (key[1], key[3])}


def eavesdropped(scene):
    words, values = secrets(scene)
    open_text = b"".join(captured(scene, ["--insecure-network"]).values())
    missed = [s for s in words if s not in open_text]
    expect(not missed, "the capture of a plaintext run does not hold", missed)
    expect(any(v in open_text for v in values), "the capture of a plaintext run does not hold weights")
    streams = captured(scene, ["--cert-dir", scene.certs])
    expect(len(streams) >= 8 and sum(map(len, streams.values())) > 100000, "little was captured:", {k: len(s) for k, s in streams.items()})
    for key, stream in streams.items():
        records = wire.tls_records(stream)
        expect(records and records[0][0] == 22, "a stream is not TLS:", key, stream[:64])
        expect(all(kind in (20, 23) for kind, _ in records[1:]), "records in plaintext behind the first:", key)
        seen = [s for s in words + values if s in stream]
        expect(not seen, "plaintext in", key, seen)


# ---------------------------------------------------------------- who knocks
class Stranger:
    """Knocks at worker 0 from a host that has no task."""

    def __init__(self, scene):
        self.to, self.space = (scene.hosts.address(0), PORT), scene.hosts.space[-1]

    def connect(self):
        def make():
            s = socket.create_connection(self.to, 60)
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return s

        return wire.in_space(self.space, make)

    def say(self, bytes_):
        with self.connect() as s:
            s.sendall(bytes_)
            return wire.answer_of(s)

    def greet(self, certs, hello, context=None):
        """Says TLS with that certificate, and then a greeting; "" when it did not come to that."""
        with self.connect() as raw:
            try:
                with (context or wire.client_context(certs)).wrap_socket(raw) as s:
                    s.sendall(hello)
                    return wire.answer_of(s)
            except ssl.SSLError:
                return b""


def listed(scene, args):
    """Two workers, who take nobody for lost because the machine is busy."""
    return HostCluster(scene.hosts, lambda r: [*args, "--strategy", "multi-worker", "--cert-dir", scene.certs, "--suspect-after", "60s"], listed=2)


def old_tls():
    context = wire.client_context()
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    return context


def strangers(scene):
    """Whatever they try, they are refused with a line, and the run does not notice."""
    for folder, names in ((scene.certs, ["worker-7", "operator"]), (scene.certs + "2", ["worker-1"])):
        if not os.path.exists(folder):
            expect(artel("cert", "init", folder).rc == 0, "artel cert init")
        expect(artel("cert", "issue", folder, *names).rc == 0, "artel cert issue")
    own = lambda name: os.path.join(scene.certs, name)
    hello = wire.greeting("worker-1", "worker-0", job=1)
    capture = wire.Capture(scene.hosts.switch, "port0")
    run = Run(scene, lambda args: listed(scene, args))
    streams = capture.streams()
    recorded = max((s for (_, _, to, port), s in streams.items() if (to, port) == (scene.hosts.address(0), PORT)), key=len)
    stranger = Stranger(scene)
    attempts = [
        ("noise", "certificate", lambda: stranger.say(b"GET / HTTP/1.1\r\nHost: worker-0\r\n\r\n")),
        ("a greeting in plaintext", "plaintext", lambda: stranger.say(hello)),
        ("no certificate", "certificate", lambda: stranger.greet(None, hello)),
        ("an old TLS", "certificate", lambda: stranger.greet(None, hello, old_tls())),
        ("another authority", "certificate", lambda: stranger.greet(scene.certs + "2/worker-1", hello)),
        ("an expired certificate", "certificate", lambda: stranger.greet(expired(scene, "worker-1"), hello)),
        ("another's name", "name", lambda: stranger.greet(own("worker-7"), hello)),
        ("another job", "job", lambda: stranger.greet(own("worker-7"), wire.greeting("worker-7", "worker-0", job=1))),
        ("data of no job", "job", lambda: stranger.greet(own("operator"), wire.greeting("operator", "worker-0", purpose=wire.DATA))),
        ("another version", "version", lambda: stranger.greet(own("operator"), wire.greeting("operator", "worker-0", version=9))),
        ("a damaged greeting", "garbage", lambda: stranger.greet(own("operator"), bytes(200) + hello[200:])),
        ("a recorded stream", "certificate", lambda: stranger.say(recorded)),
    ]
    for what, fault, attempt in attempts:
        before = len(refusals(run.tasks[0], fault))
        answer = attempt()
        expect(answer is not None, what + ": the connection stays open")
        run.until(lambda: len(refusals(run.tasks[0], fault)) > before, "a line about " + what, 4)
        line = refusals(run.tasks[0], fault)[-1]
        expect(scene.hosts.address(2) + ":" in line, what + ": no address in", line)
    said = [[line for line in t.err().splitlines() if "waiting for" not in line] for t in run.tasks.values()]  # for one whose start was slow
    expect([len(lines) for lines in said] == [len(attempts), 0], "a line each is enough:", *run.said())
    run.goes_on(0)
    run.ends_well()


# ---------------------------------------------------------------- many who knock
def flooded(scene):
    """10,000 connections that say nothing, or half a word: few are kept, and the run goes on."""
    crowd = 10000
    resource.setrlimit(resource.RLIMIT_NOFILE, (crowd + 1000, max(crowd + 1000, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
    run = Run(scene, lambda args: listed(scene, args), epochs=60)
    process, stranger = run.tasks[0].process.pid, Stranger(scene)
    count = lambda: len(os.listdir("/proc/%d/fd" % process))
    memory = lambda: int(re.search(r"VmRSS:\s+(\d+)", open("/proc/%d/status" % process).read()).group(1)) << 10
    files, bytes_, steps, peaks = count(), memory(), run.steps(0), []

    def knock():
        made = []
        for i in range(crowd):
            s = socket.socket()
            s.setblocking(False)
            s.connect_ex(stranger.to)
            made.append(s)
            if i % 500 == 499:
                time.sleep(0.05)
                for known in made[-250:]:
                    try:
                        known.send(b"\x16\x03\x01")
                    except OSError:
                        pass
                peaks.append((count(), memory()))
        return made

    knocking = wire.in_space(stranger.space, knock)
    most = max(p[0] for p in peaks) - files
    grown = max(p[1] for p in peaks) - bytes_
    run.until(lambda: run.steps(0) > steps, "a step meanwhile")
    expect(most <= 256 + 8, "%d files were open beside the run's own" % most)
    expect(grown <= 32 << 20, "memory grew by %d MB" % (grown >> 20))
    run.until(lambda: count() <= files + 2, "the crowd is gone", 10)
    lines = refusals(run.tasks[0])
    expect(lines and all(scene.hosts.address(2) in line for line in lines), "lines:", lines)
    expect(len(lines) <= 64, "%d lines fill the log" % len(lines))
    for s in knocking:
        s.close()
    expect("generation" not in "".join(run.said()), "the run was disturbed:", *run.said())
    run.ends_well()


# ---------------------------------------------------------------- who sits in between
def spoiled(kind, toward, secure):
    """One piece of what two tasks say is spoiled on its way: it is noticed, the link is made anew, no bit changes."""

    def check(scene):
        proxy = wire.Proxy()
        ports = free_ports(2)
        proxy.target = ports[0]
        address = lambda r, by: "127.0.0.1:%d" % (proxy.port if (r, by) == (0, 1) else ports[r])
        environment = lambda r, _: {"TF_CONFIG": '{"cluster": {"worker": ["%s", "%s"]}, "task": {"type": "worker", "index": %d}}'
                                                 % (address(0, r), address(1, r), r)}
        more = ["--cert-dir", certificates(scene)] if secure else []
        try:
            run = Run(scene, lambda args: Cluster(2, lambda r: [*args, "--strategy", "multi-worker", "--no-shared-memory", *more], environment=environment))
            done = proxy.harm(kind, toward)
            run.until(done.is_set, "the piece to spoil")
            victim = run.tasks[0 if toward == "server" else 1]
            if kind != "cut":
                run.until(lambda: refusals(victim, "garbage"), "a line about it")
                expect("127.0.0.1:" in refusals(victim, "garbage")[0], "no address:", *run.said())
            run.until(lambda: any(re.search("generation [2-9]: 2 members", t.err()) for t in run.tasks.values()), "both together again")
            run.ends_well()
        finally:
            proxy.close()

    return check


KINDS = ["flip", "replay", "insert", "cut"]
SHORT = [("flip", "server", True), ("replay", "client", True), ("replay", "server", False), ("flip", "client", False), ("cut", "server", True)]
TABLE = [Row("eavesdropped", eavesdropped, 2), Row("strangers", strangers, 3), Row("flooded", flooded, 3)]
for kind_, toward_, secure_ in [(k, t, s) for k in KINDS for t in ("server", "client") for s in (True, False)] if LONG else SHORT:
    TABLE.append(Row("%s-to-%s-%s" % (kind_, toward_, "tls" if secure_ else "plain"), spoiled(kind_, toward_, secure_)))


if __name__ == "__main__":
    if not os.path.exists(os.path.join(BUILD, "libartel-tls.so")):
        print("skipped: libartel-tls.so is not built")
        sys.exit(77)
    run_rows(TABLE)
