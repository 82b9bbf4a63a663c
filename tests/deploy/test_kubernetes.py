# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""The manifests of deploy/kubernetes: what they say agrees with what artel reads, and their pods, started as processes, train.

A pod is a process with the environment that Kubernetes and the training operator would give its container, and the certificates that
the Secret's items and subPathExpr would show it. Names of pods lead to loopback addresses through a hosts file that only
these processes see (a mount namespace, which needs root).
"""

import base64
import dataclasses
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import time

import yaml
from cli import MODELS, save, save_arrays
from oracle import ARTEL, ROOT, Failure, artel, clean_environment, digest, slots, table

FOLDER = os.path.join(ROOT, "deploy", "kubernetes")


def expect(condition, what, *more):
    if not condition:
        raise Failure("%s %s" % (what, " ".join(str(m) for m in more)))


@dataclasses.dataclass
class Pod:
    task: str  # "worker-1"
    host: str  # the name others find it by
    port: int
    env: dict
    spec: dict

    @property
    def container(self):
        return self.spec["containers"][0]


def documents(file):
    with open(os.path.join(FOLDER, file)) as f:
        return list(yaml.safe_load_all(f))


def environment(spec, fields):
    """The container's own variables; fieldRef as the kubelet answers it."""
    env = {}
    for entry in spec["containers"][0].get("env", []):
        if "value" in entry:
            env[entry["name"]] = entry["value"]
        else:
            path = entry["valueFrom"]["fieldRef"]["fieldPath"]
            expect(path in fields, "no such field:", path)
            env[entry["name"]] = fields[path]
    return env


def indexed_job():
    service, job = documents("indexed-job.yaml")
    spec, template = job["spec"], job["spec"]["template"]
    pod = template["spec"]
    expect(job["kind"] == "Job" and spec["completionMode"] == "Indexed" and spec["completions"] == spec["parallelism"], "not an indexed Job")
    expect(service["kind"] == "Service" and service["spec"]["clusterIP"] == "None" and service["spec"]["publishNotReadyAddresses"], "no headless Service")
    expect(service["metadata"]["name"] == pod["subdomain"], "the subdomain is no Service")
    labels = template["metadata"]["labels"].items()
    expect(set(service["spec"]["selector"].items()) <= set(labels), "the Service selects other pods")
    ports = [p["port"] for p in service["spec"]["ports"]], [p["containerPort"] for p in pod["containers"][0]["ports"]]
    expect(ports[0] == ports[1] and len(ports[0]) == 1, "ports differ", ports)
    rules = spec["podFailurePolicy"]["rules"]
    expect(pod["restartPolicy"] == "Never", "podFailurePolicy needs restartPolicy Never")
    expect(rules[0]["action"] == "FailJob" and rules[0]["onExitCodes"]["values"] == [1, 2], "final exit codes")
    expect(rules[0]["onExitCodes"]["containerName"] == pod["containers"][0]["name"], "the rule is about another container")
    pods = []
    for i in range(spec["completions"]):
        name = "%s-%d" % (job["metadata"]["name"], i)
        env = environment(pod, {"metadata.annotations['batch.kubernetes.io/job-completion-index']": str(i)})
        env.update(JOB_COMPLETION_INDEX=str(i), HOSTNAME=name)
        pods.append(Pod("worker-%d" % i, "%s.%s" % (name, pod["subdomain"]), ports[0][0], env, pod))
    return pods, "kubernetes"


def tfjob(file="tfjob.yaml"):
    (job,) = documents(file)
    expect(job["kind"] == "TFJob" and job["apiVersion"] == "kubeflow.org/v1", "not a TFJob")
    name, kinds, pods = job["metadata"]["name"], job["spec"]["tfReplicaSpecs"], []
    cluster = {}
    for kind, replicas in kinds.items():
        pod = replicas["template"]["spec"]
        container = pod["containers"][0]
        expect(container["name"] == "tensorflow", "the operator looks for a container named tensorflow")
        expect([p["name"] for p in container["ports"]] == ["tfjob-port"], "the operator looks for a port named tfjob-port")
        expect(replicas["restartPolicy"] == "ExitCode", "who saved is not started again")
        hosts = ["%s-%s-%d.default.svc" % (name, kind.lower(), i) for i in range(replicas["replicas"])]
        cluster[kind.lower()] = ["%s:%d" % (h, container["ports"][0]["containerPort"]) for h in hosts]
        for i, host in enumerate(hosts):
            fields = {"metadata.labels['training.kubeflow.org/replica-index']": str(i), "metadata.labels['training.kubeflow.org/replica-type']": kind.lower()}
            env = environment(pod, fields)
            env["TF_CONFIG"] = {"task": {"type": kind.lower(), "index": i}, "environment": "cloud"}
            pods.append(Pod("%s-%d" % (kind.lower(), i), host, container["ports"][0]["containerPort"], env, pod))
    for pod in pods:
        pod.env["TF_CONFIG"] = json.dumps({"cluster": cluster, **pod.env["TF_CONFIG"]})
    return pods, "tf-config"


def tfjob_ps():
    return tfjob("tfjob-ps.yaml")


# ---------------------------------------------------------------- what the manifests say
def check_tasks(pods, resolver):
    for rank, pod in enumerate(pods):
        said = artel("check", "--cluster", "--json", env=pod.env)
        expect(said.rc == 0, pod.task, said.first)
        seen = json.loads(said.out)
        addresses = [a for kind in ("chief", "worker", "ps") for a in seen["cluster"].get(kind, [])]
        trainers = sum(not p.task.startswith("ps") for p in pods)
        expect(seen["resolver"] == resolver and (rank >= trainers or seen["rank"] == rank) and seen["trainers"] == trainers, pod.task, said.out)
        expect(addresses == ["%s:%d" % (p.host, p.port) for p in pods], "other addresses:", addresses)


def check_container(pod):
    spec, container = pod.spec, pod.container
    expect(spec["enableServiceLinks"] is False, "a Service named artel would set ARTEL_PORT")
    expect("command" not in container, "the image's entry point is not used")
    known = set(re.findall(r"--(?:\[no-\])?[a-z0-9-]+", artel("help", container["args"][0], "--all").out))
    unknown = [a for a in container["args"] if a.startswith("--") and a.split("=")[0] not in known]
    expect(not unknown, "artel %s does not know" % container["args"][0], unknown)
    mounts = {m["mountPath"]: m for m in container["volumeMounts"]}
    volumes = {v["name"] for v in spec["volumes"]}
    expect({m["name"] for m in mounts.values()} == volumes, "volumes and mounts differ")
    expect(pod.env["ARTEL_CERT_DIR"] in mounts, "ARTEL_CERT_DIR is not mounted")
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        command = container[probe]["exec"]["command"]
        expect(command[:2] == ["artel", "status"], probe, command)
        ran = artel(*command[1:])  # alone, it has nothing to ask
        expect(ran.rc == 0 and "works alone" in ran.err, probe, ran.err)
        expect(container[probe]["timeoutSeconds"] > 5, "the kubelet gives up before", probe)
    image = open(os.path.join(ROOT, "deploy", "Dockerfile")).read()
    user = re.findall(r"^USER (\d+)", image, re.M)
    expect(user and int(user[-1]) == spec["securityContext"]["runAsUser"] == spec["securityContext"]["fsGroup"], "the image's user is another")


def mount_secret(pods, folder, file):
    """Makes the certificates as the manifest's head says, and for each pod the folder that is mounted."""
    certs = os.path.join(folder, "certs")
    head = open(os.path.join(FOLDER, file)).read()
    commands = [line[1:].strip() for line in head.splitlines() if re.match(r"#   (artel|deploy)", line)]
    expect(len(commands) == 3, "the head says", commands)
    secret = None
    for command in commands:
        command = command.replace("artel cert", ARTEL + " cert").replace("deploy/", os.path.join(ROOT, "deploy/")).replace("| kubectl apply -f -", "")
        ran = subprocess.run(["bash", "-c", command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_environment())
        expect(ran.returncode == 0, command, ran.stderr.decode())
        secret = ran.stdout
    secret = yaml.safe_load(secret)
    expect("ca.key" not in secret["data"] and not any(k.startswith("operator") for k in secret["data"]), "keys that no task needs")
    for pod in pods:
        (volume,) = [v for v in pod.spec["volumes"] if "secret" in v]
        (mount,) = [m for m in pod.container["volumeMounts"] if m["name"] == volume["name"]]
        expect(volume["secret"]["secretName"] == secret["metadata"]["name"], "another Secret")
        under = re.sub(r"\$\((\w+)\)", lambda m: pod.env[m[1]], mount["subPathExpr"]) + "/"
        place = os.path.join(folder, "mount", pod.task)
        os.makedirs(place)
        for item in volume["secret"]["items"]:
            if item["path"].startswith(under):
                with open(os.path.join(place, item["path"][len(under):]), "wb") as f:
                    f.write(base64.b64decode(secret["data"][item["key"]]))
        ran = artel("cert", "verify", place, pod.task)
        expect(ran.rc == 0 and sorted(os.listdir(place)) == ["ca.crt", "tls.crt", "tls.key"], pod.task, os.listdir(place), ran.out)
        pod.env["ARTEL_CERT_DIR"] = place
    shutil.rmtree(certs)


# ---------------------------------------------------------------- pods as processes
def start(pod, index, folder, words):
    env = {**pod.env, "ARTEL_BIND": "127.0.7.%d" % (index + 1)}
    command = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', os.path.join(folder, "hosts"), ARTEL, *words]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=clean_environment(env))


def probe(pod, index, folder, name):
    process = start(pod, index, folder, pod.container[name]["exec"]["command"][1:])
    said = process.communicate()[0].decode(errors="replace")
    return process.returncode, said


def train(pods, folder):
    can = subprocess.run(["unshare", "--mount", "mount", "--bind", "/etc/hosts", "/etc/hosts"], stderr=subprocess.DEVNULL)
    if can.returncode != 0:
        print("   (pods are not started: no mount namespace)")
        return
    with open(os.path.join(folder, "hosts"), "w") as f:
        f.write("127.0.0.1 localhost\n" + "".join("127.0.7.%d %s\n" % (i + 1, p.host) for i, p in enumerate(pods)))
    save(MODELS["mlp"], os.path.join(folder, "model.keras"))
    save_arrays("mlp", os.path.join(folder, "train.npz"))
    args = [a.replace("/work/", folder + "/") for a in pods[0].container["args"]] + ["--threads", "1", "--verbose", "0", "--json"]
    args[args.index("--epochs") + 1] = "1000000"  # not over before all have been asked how they are, and held back by a pipe that nobody reads
    running = [start(p, i, folder, args) for i, p in enumerate(pods)]
    try:
        for i, pod in enumerate(pods):
            end = time.monotonic() + 240
            while probe(pod, i, folder, "readinessProbe")[0] != 0 or "running" not in probe(pod, i, folder, "startupProbe")[1]:
                expect(time.monotonic() < end and running[i].poll() is None, pod.task, "is not ready:", probe(pod, i, folder, "readinessProbe"))
                time.sleep(0.1)
            code, said = probe(pod, i, folder, "livenessProbe")
            expect(code == 0 and "with %d of %d tasks" % (len(pods), len(pods)) in said, pod.task, said)
        for process in running:  # an eviction
            process.terminate()
        codes = [(p.communicate(timeout=240)[0], p.returncode)[1] for p in running]
        expect(codes == [143] * len(pods), "exit codes", codes)
    finally:
        for process in running:
            process.kill()
            process.wait()
    expect(probe(pods[0], 0, folder, "livenessProbe")[0] == 2, "a probe of nobody")
    # Started again, to fewer epochs than are done or some more: the bits of one process.
    steps = max(int(name[5:]) for name in os.listdir(os.path.join(folder, "checkpoints")) if name.startswith("ckpt-"))
    args[args.index("--epochs") + 1] = epochs = str(steps // 4 + 10)
    running = [start(p, i, folder, args) for i, p in enumerate(pods)]
    said = [p.communicate(timeout=400)[0].decode(errors="replace") for p in running]
    expect([p.returncode for p in running] == [0] * len(pods), "started again:", *said)
    if "parameter-server" in args:  # no bits are promised, but that each batch counts once
        kept = slots(os.path.join(folder, "trained.keras"))
        expect(int(kept["optimizer/vars/0"]) == int(epochs) * 4, "updates", kept["optimizer/vars/0"])
        return
    alone = [a for a in args if a not in ("--strategy", "multi-worker")]
    at = alone.index("--checkpoint-dir")
    del alone[at:at + 2]
    alone[alone.index("--output") + 1] = os.path.join(folder, "alone.keras")
    ran = artel(*alone)
    expect(ran.rc == 0 and digest(os.path.join(folder, "alone.keras")) == digest(os.path.join(folder, "trained.keras")), epochs, "epochs: another digest", ran.err)


# ---------------------------------------------------------------- rows
@dataclasses.dataclass
class Row:
    name: str
    read: object


TABLE = [Row("indexed-job", indexed_job), Row("tfjob", tfjob), Row("tfjob-ps", tfjob_ps)]


def check(row, index, folder, keras_only):
    pods, resolver = row.read()
    check_tasks(pods, resolver)
    for pod in pods:
        check_container(pod)
    mount_secret(pods, folder, row.name + ".yaml")
    train(pods, folder)
    return []


if __name__ == "__main__":
    files = {os.path.basename(p) for p in glob.glob(os.path.join(FOLDER, "*.yaml"))}
    if files != {row.name + ".yaml" for row in TABLE}:
        sys.exit("manifests without a row here, or the other way round: %s" % sorted(files))
    table(TABLE, check, [])
