# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""Mistakes of whoever starts a cluster, each named within seconds: certificates, environment, strategy, kinds of tasks; and what they can look at before."""

import datetime
import json
import os
import re
import subprocess

from cli import MODELS, Row, expect, save, save_arrays
from cluster import await_listening, dated, free_ports
from oracle import ARTEL, BUILD, artel, clean_environment, table
from started import STARTED, cleaning


class Scene:
    def __init__(self, folder):
        self.folder = folder
        self.model = save(MODELS["mlp"], self.path("m.keras"))
        self.data = save_arrays("mlp", self.path("d.npz"), 200)
        self.addresses = ["127.0.0.1:%d" % p for p in free_ports(2)]

    def path(self, name):
        return os.path.join(self.folder, name)

    def fit(self, *more, env=None, task=("worker", 0), strategy="multi-worker"):
        config = json.dumps({"cluster": {"worker": self.addresses}, "task": {"type": task[0], "index": task[1]}})
        return artel("fit", self.model, "--data", self.data, "--verbose", 0, "--wait-for-cluster", "1s", *(["--strategy", strategy] if strategy else []), *more,
                     env={"TF_CONFIG": config, **(env or {})})


# What a task says that got so far as to wait for the other one.
WAITS = "missing: worker 1"


def certificates(scene):
    """The folder of another task, of another authority, an empty one, none at all."""
    if not os.path.exists(os.path.join(BUILD, "libartel-tls.so")):
        return
    certs = scene.path("certs")
    for args in (["init", certs], ["issue", certs, "worker-[0-1]"], ["init", certs + "2"], ["issue", certs + "2", "worker-0"]):
        expect(artel("cert", *args).rc == 0, "artel cert")
    os.mkdir(scene.path("empty"))
    mixed = scene.path("mixed")
    os.rename(certs + "2/worker-0", mixed)
    os.replace(certs + "/ca.crt", mixed + "/ca.crt")
    for folder, text in ((certs + "/worker-1", "certificate of another task"), (scene.path("empty"), "artel cert issue"), ("/nowhere", "artel cert issue"),
                         (mixed, "mixed/tls.crt")):
        for how in ({"env": {"ARTEL_CERT_DIR": folder}}, {}):
            ran = scene.fit(*([] if how else ["--cert-dir", folder]), **how)
            expect(ran.rc == 1 and text in ran.err, folder, ran.rc, ran.err)
    for env, more in (({"ARTEL_CERT_DIR": certs}, []), ({"ARTEL_CERT_DIR": certs + "/worker-1"}, ["--cert-dir", certs]), ({"ARTEL_CERT_DIR": ""}, [])):
        ran = scene.fit(*more, env=env)
        expect(ran.rc == 2 and WAITS in ran.err, env, more, ran.rc, ran.err)


def ends_soon(scene):
    """A certificate that ends within the hour is warned of while there is time."""
    if not os.path.exists(os.path.join(BUILD, "libartel-tls.so")):
        return
    scene.certs = scene.path("certs")
    for args in (["init", scene.certs], ["issue", scene.certs, "worker-0"]):
        expect(artel("cert", *args).rc == 0, "artel cert")
    now = datetime.datetime.now(datetime.timezone.utc)
    for minutes, warned in ((30, True), (120, False)):
        folder = dated(scene, "worker-0", now - datetime.timedelta(hours=1), now + datetime.timedelta(minutes=minutes))
        ran = scene.fit("--cert-dir", folder)
        found = re.search(r"warning: the certificate of this task \((.*)\) ends in (\d+) min; renew it", ran.err)
        expect(ran.rc == 2 and WAITS in ran.err and bool(found) == warned, minutes, ran.rc, ran.err)
        expect(not warned or (found[1] == folder and 25 <= int(found[2]) <= 30), ran.err)


def insecure(scene):
    """An address beyond this machine needs a certificate, or to be told."""
    for value, code in (("1", 2), ("true", 2), ("", 2), ("0", 2), ("perhaps", 1)):
        ran = scene.fit(env={"ARTEL_INSECURE_NETWORK": value})
        expect(ran.rc == code and ((WAITS in ran.err) if code == 2 else ("ARTEL_INSECURE_NETWORK" in ran.err)), value, ran.rc, ran.err)
    here, scene.addresses = scene.addresses, ["10.255.255.1:2222", "10.255.255.2:2222"]
    ran = scene.fit("--wait-for-cluster", "10min")  # it does not wait
    scene.addresses = here
    expect(ran.rc == 1 and "10.255.255.2" in ran.err and "--cert-dir" in ran.err and "--insecure-network" in ran.err, ran.rc, ran.err)


def alone(scene):
    """A cluster of several tasks, and none of them told to work with the others."""
    for strategy in (None, "one-device", "mirrored"):
        ran = scene.fit(strategy=strategy)
        expect(ran.rc == 0 and "worker 0 works alone" in ran.err and "--strategy multi-worker" in ran.err, strategy, ran.rc, ran.err)
    for env in ({"TF_CONFIG": ""}, {"TF_CONFIG": '{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}}'}):
        ran = scene.fit(strategy=None, env=env)
        said = [line for line in ran.err.splitlines() if "nothing will be left of the trained weights" not in line and "does nothing without --strategy" not in line]
        expect(ran.rc == 0 and not said, env, ran.rc, ran.err)


def kinds(scene):
    """Tasks that have no part in synchronous training."""
    ran = scene.fit(task=("evaluator", 0))
    expect(ran.rc == 1 and "evaluator" in ran.err, "an evaluator:", ran.rc, ran.err)
    ran = scene.fit(task=("worker", 2))
    expect(ran.rc == 1 and "worker" in ran.err and "2" in ran.err, "a worker that is not there:", ran.rc, ran.err)


def service_links(scene):
    """What Kubernetes sets for a Service named artel is no port: the task waits for the other one at its own."""
    ran = scene.fit(env={"ARTEL_PORT": "tcp://10.0.0.7:80"})
    expect(ran.rc == 2 and "missing: worker 1 (" in ran.err and "ARTEL_PORT" not in ran.err, "says", ran.rc, ran.err)


def network(scene):
    """Before a run: every pair, over what the run will use."""
    ran = artel("launch", "-n", 3, "--json", "check", "--network", "--json")
    found = {e["task"]: e["network"] for e in ran.events()}
    expect(ran.rc == 0 and set(found) == {"worker:0", "worker:1", "worker:2"}, ran.rc, ran.out, ran.err)
    for task, others in found.items():
        expect(task not in [o["task"] for o in others] and len(others) == 2, task, others)
        for o in others:
            expect(o["reached"] and o["latency_ms"] > 0 and o["bytes_per_second_there"] > 1e4, task, o)
            expect(o["path"] == "memory", "one host:", o)
            expect(o["encrypted"] == os.path.exists(os.path.join(BUILD, "libartel-tls.so")), task, o)
            (back,) = [b for b in found[o["task"]] if b["task"] == task]
            expect(back["bytes_per_second_back"] == o["bytes_per_second_there"], "two ends differ:", o, back)
    config = json.dumps({"cluster": {"worker": scene.addresses}, "task": {"type": "worker", "index": 1}})
    ran = artel("check", "--cluster", "--network", "--wait-for-cluster", "1s", env={"TF_CONFIG": config})
    expect(ran.rc == 2 and "worker:0" in ran.out and "not reached" in ran.out and "refused" in ran.out, ran.rc, ran.out, ran.err)
    expect("needs none" in artel("check", "--network").err, "one process")


def unread(scene):
    """A launcher that numbers its processes in a way that nobody reads: who has not said how to work ends with 1."""
    env = {"TF_CONFIG": "", "FLUX_TASK_RANK": "1", "FLUX_JOB_SIZE": "4"}
    ran = scene.fit(strategy=None, env=env)
    expect(ran.rc == 1 and "FLUX_TASK_RANK" in ran.err and "Flux" in ran.err, ran.rc, ran.err)
    for strategy, more in ((None, ["--resolver", "none"]), ("one-device", [])):
        ran = scene.fit(*more, strategy=strategy, env=env)
        expect(ran.rc == 0, strategy, more, ran.rc, ran.err)
    expect(scene.fit(strategy="auto", env=env).rc == 1, "auto decides nothing")
    wrong = ({"TF_CONFIG": "nonsense"}, {"TF_CONFIG": "", "OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4"},
             {"TF_CONFIG": "", "SLURM_PROCID": "1", "SLURM_STEP_ID": "0", "SLURM_NTASKS": "4"})
    for env in wrong:
        ran = scene.fit(strategy=None, env=env)
        expect(ran.rc == 1 and any(name.split("_")[0] in ran.err for name in env) and "--resolver none" in ran.err, env, ran.rc, ran.err)
        expect(scene.fit("--resolver", "none", strategy=None, env=env).rc == 0, env)


def loopback(scene):
    """Every host calls itself localhost in its own list."""
    addresses, scene.addresses = scene.addresses, ["localhost:%s" % scene.addresses[0].rsplit(":")[1], "elsewhere.invalid:2222"]
    ran = scene.fit("--insecure-network")
    scene.addresses = addresses
    expect(ran.rc == 2 and "loopback" in ran.err and "elsewhere.invalid" in ran.err, ran.rc, ran.err)


def before_the_beginning(scene):
    """What keeps one task from starting is told to the other, which does not wait for it."""
    config = lambda i: json.dumps({"cluster": {"worker": scene.addresses}, "task": {"type": "worker", "index": i}})
    words = [ARTEL, "fit", scene.model, "--data", scene.data, "--verbose", "0", "--strategy", "multi-worker", "--wait-for-cluster", "60s"]
    for option, value in (("--output", "/nowhere/o.keras"), ("--spill", "/nowhere"), ("--post-mortem", scene.model)):
        waits = subprocess.Popen(words, env=clean_environment({"TF_CONFIG": config(0)}), stderr=subprocess.PIPE, text=True)
        STARTED.append(waits)
        await_listening([(waits, scene.addresses[0])])  # whoever comes later than a moment after the failure waits for its time
        ran = artel(*words[1:], option, value, env={"TF_CONFIG": config(1)})
        expect(ran.rc in (1, 2) and value.split("/o.")[0] in ran.err, ran.rc, ran.err)
        _, err = waits.communicate(timeout=120)
        expect(waits.returncode in (1, 2) and "worker 1 (" in err and "failed before the job began" in err, option, waits.returncode, err)


def after_the_end(scene):
    """One task of a finished run is started again: it sees that, and ends well."""
    more = ["--checkpoint-dir", scene.path("done"), "--output", scene.path("done.keras")]
    ran = artel("launch", "-n", 2, "fit", scene.model, "--data", scene.data, "--verbose", 0, "--strategy", "multi-worker", *more)
    expect(ran.rc == 0, ran.rc, ran.err)
    ran = scene.fit(*more, task=("worker", 1))
    expect(ran.rc == 0 and "the run is finished" in ran.err, ran.rc, ran.err)


TABLE = [Row(check.__name__, check) for check in (certificates, ends_soon, insecure, alone, kinds, service_links, network, unread, loopback, before_the_beginning, after_the_end)]


def run(row, index, folder, keras_only):
    row.check(Scene(folder))
    return []


if __name__ == "__main__":
    table(TABLE, cleaning(run), [], at_once=3)
