# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""artel status and artel drain: what they say of a job that waits, trains, lost or stopped somebody; exit codes of probes."""

import json
import os
import signal

from cli import MODELS, Row, expect, save, save_arrays
from cluster import Cluster, Patience, free_ports
from oracle import BUILD, artel, digest, table
from started import cleaning


class Scene:
    def __init__(self, folder):
        self.folder, self.clusters = folder, []
        self.model = save(MODELS["mlp"], self.path("m.keras"))
        self.data = save_arrays("mlp", self.path("d.npz"), 400)

    def path(self, name):
        return os.path.join(self.folder, name)

    def fit(self, *more):
        return ["fit", self.model, "--data", self.data, "--batch-size", 16, "--threads", 1, "--verbose", 0, *more]

    def cluster(self, count, *more, **kinds):
        self.clusters.append(Cluster(count, lambda r: self.fit("--strategy", "multi-worker", "--epochs", 10**6, "--suspect-after", "60s", "--json", *more), **kinds))
        return self.clusters[-1]

    def close(self):
        for cluster in self.clusters:
            stop_all(cluster)


def ask(address, *more, code=0, word="status", **kinds):
    said = artel(word, *([address] if address else []), *([] if "--timeout" in more else ["--timeout", "60s"]), *more, **kinds)
    expect(said.rc == code, "artel %s: exit code %d, expected %d:" % (word, said.rc, code), said.out, said.err)
    return said


def until(what, ready, limit=20):
    expect(Patience(limit).until(ready), "not within %d s:" % limit, what)


def stop_all(cluster):
    for rank in cluster.tasks:
        if cluster.tasks[rank].process.poll() is None:
            cluster.kill(rank, signal.SIGCONT)
            cluster.kill(rank, signal.SIGKILL)
    cluster.finish(10)


# ---------------------------------------------------------------- rows
def waits(scene):
    """One task is missing: the others answer, and do not train."""
    cluster = scene.cluster(3, absent=[2])
    until("an answer", lambda: artel("status", cluster.addresses[0]).rc == 0)
    until("two tasks", lambda: "worker:1" in artel("status", cluster.addresses[0]).out and "there, no member, heard" in artel("status", cluster.addresses[0]).out)
    said = ask(cluster.addresses[0], "--require", "running", code=2)
    expect("does not train" in said.err and "missing" in said.out, "says", said.out, said.err)
    stop_all(cluster)
    said = ask(cluster.addresses[0], code=2)
    expect("refused" in said.err, "says", said.err)


def trains(scene):
    """Every task can be asked; a probe inside its container needs no address."""
    cluster = scene.cluster(2)
    expect(cluster.tasks[0].until_step(20), "no step:", cluster.tasks[0].err())
    cluster.tasks[0].drain()
    jobs = {"worker": cluster.addresses}
    for r in range(2):
        environment = {"TF_CONFIG": json.dumps({"cluster": jobs, "task": {"type": "worker", "index": r}}), "ARTEL_JSON": "epochs"}
        answer = json.loads(ask(None, "--require", "running", "--stuck-after", "1h", env=environment).out)
        expect(answer["task"] == "worker:%d" % r and answer["pid"] == cluster.tasks[r].process.pid, "answers", answer)
        expect(answer["running"] and answer["members"] == 2 and answer["total"] == 2 and not answer["leaving"], "answers", answer)
        expect([t["task"] for t in answer["tasks"]] == ["worker:0", "worker:1"] and answer["tasks"][r]["self"], "tasks", answer)
    first = json.loads(ask(cluster.addresses[0], "--json").out)
    until("progress", lambda: json.loads(ask(cluster.addresses[0], "--json").out)["step"] > first["step"] + 10)
    expect("member, step" in ask(cluster.addresses[1]).out, "says", ask(cluster.addresses[1]).out)


def stopped(scene):
    """A stopped process does not answer."""
    cluster = scene.cluster(2)
    expect(cluster.tasks[0].until_step(20), "no step:", cluster.tasks[0].err())
    cluster.kill(1, signal.SIGSTOP)
    expect("no answer" in ask(cluster.addresses[1], "--timeout", "3s", code=2).err, "answers")


def drained(scene):
    """The task that is asked leaves in order, the others end as one process would have."""
    out, args = scene.path("out.keras"), ["--epochs", 400]  # not over before it has left
    expect(artel(*scene.fit(*args, "--output", scene.path("one.keras"))).rc == 0, "one process")
    cluster = scene.cluster(3, *args, "--output", out)
    expect(cluster.tasks[0].until_step(20), "no step:", cluster.tasks[0].err())
    expect("worker:1: will leave" in ask(cluster.addresses[1], word="drain").out, "says")
    codes = cluster.finish(60)
    expect(codes == {0: 0, 1: 143, 2: 0}, "exit codes", codes, cluster.tasks[0].err())
    expect("left the job in order" in cluster.tasks[1].err(), "worker 1 says", cluster.tasks[1].err())
    expect(digest(out) == digest(scene.path("one.keras")), "another digest")


def certificates(scene):
    """Who has no certificate of the authority learns nothing and changes nothing."""
    if not os.path.exists(os.path.join(BUILD, "libartel-tls.so")):
        return
    certs = scene.path("certs")
    for args in (["init", certs], ["issue", certs, "worker-[0-1]", "operator"], ["init", certs + "2"], ["issue", certs + "2", "operator"]):
        expect(artel("cert", *args).rc == 0, "artel cert")
    cluster = scene.cluster(2, "--cert-dir", certs)
    expect(cluster.tasks[0].until_step(20), "no step:", cluster.tasks[0].err())
    cluster.tasks[0].drain()
    address = cluster.addresses[1]
    for how in (["--cert-dir", certs], ["--cert-dir", certs + "/worker-1"], ["--cert-dir", certs, "--name", "worker-0"]):
        expect("running" in ask(address, *how).out, "says nothing")
    ask(None, env={"ARTEL_CERT_DIR": certs + "/worker-0", "TF_CONFIG": json.dumps({"cluster": {"worker": cluster.addresses}, "task": {"type": "worker", "index": 0}})})
    expect("--cert-dir" in ask(address, word="drain", code=1).err, "no advice")
    expect("certificate" in ask(address, "--cert-dir", certs + "2", word="drain", code=1).err, "no reason")
    expect("artel cert issue" in ask(address, "--cert-dir", scene.folder, code=1).err, "no advice")
    answer = json.loads(ask(address, "--cert-dir", certs, "--json").out)
    expect(answer["running"] and answer["members"] == 2 and not answer["leaving"], "strangers changed it:", answer)


def nobody(scene):
    ask("127.0.0.1:99999", code=1)
    port = free_ports(1)[0]
    expect("refused" in ask("127.0.0.1:%d" % port, code=2).err, "says")
    expect("host:port" in ask("127.0.0.1", code=1).err, "says")
    expect("works alone" in ask(None).err, "a probe of one process")
    one = {"TF_CONFIG": json.dumps({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}})}
    expect("TF_CONFIG: this task works alone" in ask(None, env=one).err, "a probe of a cluster of one")
    expect("nobody is there" in ask(None, word="drain", code=1).err, "drain of one process")
    expect("--timeout" in artel("status", "a:1", "--timeout", "soon").err, "a bad time")
    rank1 = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    expect("give its HOST:PORT" in ask(None, env=rank1, code=1).err, "an address nobody knows")


TABLE = [Row(check.__name__, check) for check in (waits, trains, stopped, drained, certificates, nobody)]


def run(row, index, folder, keras_only):
    scene = Scene(folder)
    try:
        row.check(scene)
    finally:
        scene.close()
    return []


if __name__ == "__main__":
    table(TABLE, cleaning(run), [], at_once=2)
