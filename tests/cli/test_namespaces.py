# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# long form: 900
"""Hosts with a network between them (namespaces, certificates): the bits of one process, also when cables are pulled.

Skipped where namespaces are not permitted. A run is held back by its reader while something is to happen in its midst.
"""

import json
import os
import re
import signal
import subprocess

import hosts as network
import numpy as np
from cables import Cables
from cli import MODELS, expect
from held import Row, Run, run_rows
from oracle import LONG, artel, digest


# ---------------------------------------------------------------- the same bits
def same_digests(scene):
    out, history, predicted = scene.path("out.keras"), scene.path("h.json"), scene.path("p.npy")
    fit = scene.fit("--batch-size", 96, "--epochs", 2, "--output", out, "--history", history)
    ran = artel(*fit)
    expect(ran.rc == 0, "one process:", ran.err)
    one = digest(out), open(history).read()
    os.unlink(out)
    cluster = scene.workers(lambda r: [*fit, "--replicas", 1 + r % 2])
    scene.all_end(cluster, 0, 60)
    expect((digest(out), open(history).read()) == one, "another digest or history")
    more = ["--data", scene.data, "--batch-size", 90, "--threads", 1]
    one = artel("evaluate", out, *more).out
    expect(one, "one process does not evaluate")
    cluster = scene.workers(["evaluate", out, *more])
    scene.all_end(cluster, 0, 30)
    expect(cluster.tasks[0].out() == one and not cluster.tasks[1].out(), "evaluate says", cluster.tasks[0].out(), "one process", one)
    expect(artel("predict", out, *more, "--output", predicted).rc == 0, "one process does not predict")
    one = np.load(predicted)
    os.unlink(predicted)
    scene.all_end(scene.workers(["predict", out, *more, "--output", predicted]), 0, 30)
    expect(np.array_equal(np.load(predicted), one), "other predictions")


# ---------------------------------------------------------------- trouble in the midst
def cut(rank):
    """A cable is pulled: the others go on, and so does who is cut off; the cable is put in again, and they are one."""

    def check(scene):
        run = Run(scene)
        others = [r for r in range(scene.row.hosts) if r != rank]
        scene.hosts.cable(rank, False)
        run.parted(others, [rank])
        run.parted([rank], others)
        scene.hosts.cable(rank, True)
        run.whole(range(scene.row.hosts))
        run.ends_well()

    return check


def unplugged(scene):
    """The host knows that its network is gone: its packets are refused at once."""
    run = Run(scene)
    network.ip("-n", scene.hosts.space[1], "link", "set", "net0", "down")
    run.parted([0, 2], [1])
    network.ip("-n", scene.hosts.space[1], "link", "set", "net0", "up")
    run.whole([0, 1, 2])
    run.ends_well()


def halves(scene):
    """Two halves go on, each for itself, and meet again."""
    run, second = Run(scene), scene.row.second
    left, right = list(range(second)), list(range(second, scene.row.hosts))
    scene.hosts.trunk(False)
    run.parted(left, right)
    run.parted(right, left)
    scene.hosts.trunk(True)
    run.whole(range(scene.row.hosts))
    run.ends_well()


def apart(scene):
    """Two halves that never meet again both end, with the same bits."""
    run, second = Run(scene), scene.row.second
    scene.hosts.trunk(False)
    run.parted([0], range(second, scene.row.hosts))
    run.ends_well()


def one_way(a, b):
    """What a sends to b is lost, the other direction works: the two part, nobody hangs, and all meet again."""

    def check(scene):
        run = Run(scene)
        scene.hosts.one_way(a, b, False)
        left = lambda rank: re.search(r"\b[12] left \(", run.tasks[rank].err())  # 2: on a busy machine all three are alone for a while
        since = {}  # a rank that left another out: its steps when this was seen; which one is said first is not fixed

        def goes_on():
            for rank in run.tasks:
                if left(rank):
                    since.setdefault(rank, run.steps(rank))
            return any(run.steps(rank) > steps + 10 for rank, steps in since.items())

        run.until(goes_on, "somebody is left out, and somebody goes on without", 40)
        scene.hosts.one_way(a, b, True)
        run.whole(range(scene.row.hosts))
        run.ends_well()

    return check


def short_packets(scene):
    """Long packets get lost on the way, short ones pass, and with them the heartbeats: the cause is named, and once the way is good again
    the run goes on."""
    run = Run(scene)

    def most(count):
        for r in range(scene.row.hosts):
            network.ip("-n", scene.hosts.space[r], "link", "set", "net0", "gso_max_segs", 1)
            network.ip("-n", scene.hosts.switch, "link", "set", "port%d" % r, "mtu", count)

    most(900)
    run.until(lambda: any("long packets do not pass" in t.err() for t in run.tasks.values()), "the way is named", 30)
    most(1500)
    run.ends_well()


def forgotten(scene):
    """A firewall has forgotten the connection for data, and drops what comes on it; the one for control passes, and new ones do."""
    run = Run(scene)
    said = subprocess.run(["ip", "netns", "exec", scene.hosts.space[0], "ss", "-tniHO", "state", "established"], capture_output=True, text=True, check=True).stdout
    flows = {line: int(re.search(r"bytes_sent:(\d+)", line)[1]) for line in said.splitlines() if ":%d" % network.PORT in line}
    most = max(flows, key=flows.get)  # gradients, not heartbeats
    near, far = (address.rsplit(":", 1)[1] for address in most.split()[2:4])
    for r, (source, sink) in enumerate(((far, near), (near, far))):  # what arrives, not what is sent: its sender is not told
        subprocess.run([*scene.hosts.prefix(r), "sysctl", "-qw", "net.ipv4.ip_early_demux=0"], check=True)
        for rule in ("add pref 10 lookup local", "del pref 0", "add pref 5 blackhole iif net0 ipproto tcp sport %s dport %s" % (source, sink)):
            network.ip("-n", scene.hosts.space[r], "rule", *rule.split())
    run.until(lambda: any("a firewall has forgotten" in t.err() for t in run.tasks.values()), "the way is named", 30)
    run.ends_well()


def strangers(scene):
    """Two hosts never reach each other, though both reach the third: each says for whom it waits, and the wait has an end."""
    for a, b in ((1, 2), (2, 1)):
        scene.hosts.one_way(a, b, False)
    cluster = scene.workers(scene.fit("--wait-for-cluster", "7s", "--post-mortem", "none"))
    scene.all_end(cluster, 2, 60, "worker 1 (10.99.0.2:2222) and worker 2 (10.99.0.3:2222) do not reach each other")
    for r, other in ((1, 2), (2, 1)):
        said = cluster.tasks[r].err()
        expect("waiting for worker %d (" % other in said, "worker", r, "does not say for whom it waits", said[-600:])


def far_away(scene):
    """A third of a second there and back: nobody is missed, and the bits are those of one process."""
    out, cables = scene.path("out.keras"), []

    def environment(r, ports):
        if not cables:
            cables.append(Cables({k: "127.0.0.1:%d" % port for k, port in enumerate(ports)}, 0.16))
        return {"TF_CONFIG": json.dumps({"cluster": {"worker": list(cables[0].address[r].values())}, "task": {"type": "worker", "index": r}})}

    more = ["--batch-size", 200, "--output", out]
    expect(artel(*scene.fit(*more)).rc == 0, "one process")
    one = digest(out)
    cluster = scene.cluster(2, *more, "--no-shared-memory", environment=environment)
    scene.all_end(cluster, 0, 60)
    expect(digest(out) == one and not any("left (" in t.err() for t in cluster.tasks.values()), *(t.err() for t in cluster.tasks.values()))


def frozen(rank):
    """A process is stopped: it is named within three seconds, left behind, and joins again when it wakes."""

    def check(scene):
        run = Run(scene)
        others = [r for r in range(scene.row.hosts) if r != rank]
        run.cluster.kill(rank, signal.SIGSTOP)
        took = sum(run.named_left(r, rank) for r in others)
        run.goes_on(min(others))
        run.cluster.kill(rank, signal.SIGCONT)
        run.whole(range(scene.row.hosts))
        run.ends_well()
        expect(took <= 3, "it took %.1f s" % took)

    return check


TABLE = [Row("digests-" + m, same_digests, 2, m) for m in (MODELS if LONG else ["cnn"])] + [
    Row("digests-three", same_digests, 3, "transformer" if LONG else "mlp"),
    Row("cut-0", cut(0), 3),
    Row("halves", halves, 4, second=2),
    Row("one-way-0-1", one_way(0, 1), 3),
    Row("frozen-1", frozen(1), 3),
    Row("short-packets", short_packets, 2, "cnn"),
    Row("forgotten", forgotten, 2, "cnn"),
    Row("strangers", strangers, 3),
    Row("far-away", far_away),
]
if LONG:
    TABLE += [
        Row("cut-1", cut(1), 3),
        Row("cut-2", cut(2), 3),
        Row("cut-two", cut(1), 2),
        Row("unplugged", unplugged, 3),
        Row("apart", apart, 4, second=2),
        Row("apart-three", apart, 3, second=2),
        Row("one-way-1-0", one_way(1, 0), 3),
        Row("one-way-1-2", one_way(1, 2), 3),
        Row("one-way-2-0", one_way(2, 0), 3),
        Row("frozen-0", frozen(0), 3),
        Row("frozen-2", frozen(2), 3),
    ]


if __name__ == "__main__":
    run_rows(TABLE)
