# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# long form: 600
"""How a job gathers: what cannot heal ends it on every rank within five seconds, with a line; what may heal is named every five
seconds and waited for. And that more tasks do not mean more threads.

Rows that need hosts of their own (network namespaces, root) are left out, by name, where there can be none.
"""

import json
import os
import re

import hosts as network
from cli import expect
from cluster import expired
from held import Row, run_rows
from hosts import HostCluster
from oracle import BUILD, artel, digest


SECONDS = 5


def all_refuse(scene, cluster, *texts):
    """Every task ends with 1 within five seconds of the machine (Patience) and says, in a line, what was wrong."""
    scene.all_end(cluster, 1, SECONDS, *texts)
    for r, task in cluster.tasks.items():
        lines = [line for line in task.err().splitlines() if line.startswith("artel: ") and not line.startswith(("artel: note:", "artel: warning:"))]
        expect(len(lines) == 1, "worker %d says %d lines:" % (r, len(lines)), task.err())


def on_hosts(scene, tasks, cluster=None, folder=None, last=None):
    """A process on each host; `tasks[rank]` is who it believes to be."""
    def configure(r):
        listed = cluster or {"worker": ["%s:%d" % (scene.hosts.address(i), network.PORT) for i in range(len(tasks))]}
        return json.dumps({"cluster": listed, "task": {"type": tasks[r][0], "index": tasks[r][1]}})

    certs = lambda r: folder(r) if folder else os.path.join(scene.certs, "%s-%d" % tasks[r])
    made = HostCluster(scene.hosts, lambda r: [*scene.fit(), "--strategy", "multi-worker", "--cert-dir", certs(r)],
                       environment=lambda r: {"TF_CONFIG": configure(r)}, last=last)
    return made


# ---------------------------------------------------------------- what cannot heal
def two_workers(scene):
    """Two hosts believe to be worker 1, none is worker 2."""
    made = on_hosts(scene, [("worker", 0), ("worker", 1), ("worker", 1)])
    all_refuse(scene, made)
    for r, task in made.tasks.items():  # who hears of it first is told by name, the others by certificate
        expect(re.search("worker[- ]1", task.err()), "task %d does not name the worker:" % r, task.err())


def two_chiefs(scene):
    """Two hosts believe to be the chief."""
    expect(artel("cert", "issue", scene.certs, "chief-0").rc == 0, "artel cert issue")
    at = ["%s:%d" % (scene.hosts.address(i), network.PORT) for i in range(3)]
    made = on_hosts(scene, [("chief", 0), ("worker", 0), ("chief", 0)], {"chief": at[:1], "worker": at[1:]})
    all_refuse(scene, made, "chief")
    for r, task in made.tasks.items():  # who hears of it first is told by name, the others by certificate
        expect(re.search("chief[- ]0", task.err()), "worker %d does not name the chief:" % r, task.err())


def listed_chiefs(scene):
    """A description with two chiefs is refused by each task, before anything is loaded."""
    config = lambda r, ports: {"TF_CONFIG": json.dumps({"cluster": {"chief": ["127.0.0.1:%d" % p for p in ports[:2]],
                                                                    "worker": ["127.0.0.1:%d" % ports[2]]},
                                                        "task": {"type": "worker" if r == 2 else "chief", "index": 0 if r == 2 else r}})}
    all_refuse(scene, scene.cluster(3, environment=config), "chief")


def other_version(scene):
    """A task of another version, made from this one by changing its number wherever it stands."""
    home, number = scene.path("other"), artel("version").out.split()[1]
    os.mkdir(home)
    other = number[:-1] + ("9" if number[-1] != "9" else "8")
    for name in os.listdir(BUILD):
        if name in ("artel", "artel-hdf5") or name.startswith("libartel") and ".so" in name:
            with open(os.path.join(BUILD, name), "rb") as f:
                bytes_ = f.read().replace(number.encode() + b"\0", other.encode() + b"\0").replace(b"=" + number.encode(), b"=" + other.encode())
            with open(os.path.join(home, name), "wb") as f:
                f.write(bytes_)
            os.chmod(os.path.join(home, name), 0o755)
    program = os.path.join(home, "artel")
    expect(other in artel("version", program=program).out, "the other version calls itself", artel("version", program=program).out)
    all_refuse(scene, scene.cluster(3, programs={1: program}, last=1), "version")


def wrong_certificate(make):
    """One task's certificate is not good, as it sees itself; the others hear of it."""

    def check(scene):
        bad = make(scene)
        own = lambda r: os.path.join(scene.certs, "worker-%d" % r)
        all_refuse(scene, on_hosts(scene, [("worker", r) for r in range(3)], folder=lambda r: bad if r == 1 else own(r), last=1), "certificate")

    return check


# ---------------------------------------------------------------- what may heal
def one_process(scene, out):
    expect(artel(*scene.fit("--output", out)).rc == 0, "one process")
    return digest(out)


def late(scene):
    """A port that is not open yet."""
    out = scene.path("out.keras")
    one = one_process(scene, out)
    cluster = scene.cluster(2, "--output", out, absent=[1])
    expect(cluster.tasks[0].until_said("waiting for worker 1 (%s), " % cluster.addresses[1], 8), "it is not named:", cluster.tasks[0].err())
    expect(cluster.tasks[0].until_said("Connection refused", 8), "the reason is not said:", cluster.tasks[0].err())
    cluster.begin(1)
    scene.all_end(cluster, 0, 30)
    expect(digest(out) == one, "another digest")


def unknown_name(scene):
    """Host names that are not known yet; the file that will know them stands in for a name server."""
    out, names = scene.path("out.keras"), scene.path("names")
    one = one_process(scene, out)
    with open(names, "w") as f:
        f.write("127.0.0.1 localhost\n")
    prefix = ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', names]
    config = lambda r, ports: {"TF_CONFIG": json.dumps({"cluster": {"worker": ["artel-%d.invalid:%d" % (i, ports[i]) for i in range(2)]},
                                                        "task": {"type": "worker", "index": r}})}
    cluster = scene.cluster(2, "--output", out, "--bind", "127.0.0.1", environment=config, prefix=prefix)
    said = cluster.tasks[0].until_said("waiting for worker 1", 12) and cluster.tasks[0].until_said("host name", 12)
    expect(said, "it is not named:", cluster.tasks[0].err())
    with open(names, "a") as f:
        f.write("127.0.0.1 artel-0.invalid artel-1.invalid\n")
    scene.all_end(cluster, 0, 30)
    expect(digest(out) == one, "another digest")


# ---------------------------------------------------------------- threads
def threads(scene):
    """As many threads in a job of eight tasks as in one of two, once connected and in the midst of it."""
    counts = []
    for tasks in (2, 8):
        cluster = scene.cluster(tasks, "--epochs", 30, "--json")
        expect(cluster.tasks[0].until_step(10), "no step:", cluster.tasks[0].err())
        counts.append([len(os.listdir("/proc/%d/task" % t.process.pid)) for t in cluster.tasks.values()])
        for task in cluster.tasks.values():
            task.process.kill()
        cluster.finish(10)
    expect(set(counts[0]) == set(counts[1]) and len(set(counts[0])) == 1, "threads of two and of eight tasks:", counts)


TABLE = [
    Row("two-workers", two_workers, 3),
    Row("two-chiefs", two_chiefs, 3),
    Row("listed-chiefs", listed_chiefs),
    Row("other-version", other_version),
    Row("wrong-name", wrong_certificate(lambda scene: os.path.join(scene.certs, "worker-2")), 3),
    Row("expired", wrong_certificate(lambda scene: expired(scene, "worker-1")), 3),
    Row("late", late),
    Row("unknown-name", unknown_name, 2),
    Row("threads", threads),
]


if __name__ == "__main__":
    run_rows(TABLE)
