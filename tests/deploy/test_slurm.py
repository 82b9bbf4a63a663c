# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""deploy/artel.sbatch on a Slurm of one node, made for the test: the bits of one process, whoever stops the job on the way.

munged, slurmctld and slurmd run as whoever runs the test, with ports, keys and folders of their own.
"""

import dataclasses
import getpass
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from cli import MODELS, save, save_arrays
from cluster import free_ports
from oracle import ARTEL, ROOT, Failure, artel, clean_environment, digest, table

SCRIPT = os.path.join(ROOT, "deploy", "artel.sbatch")
PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"
CONF = """
ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.sock,cred_expire=5
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1,batch_sched_delay=0
KillWait=3
NodeName=localhost NodeAddr=127.0.0.1 CPUs=8
PartitionName=all Nodes=localhost Default=YES State=UP
"""


def skip(why):
    print("skipped: %s" % why)
    sys.exit(77)


class Slurm:
    def __init__(self, folder):
        self.folder, self.daemons = folder, []
        for name in ("munged", "slurmctld", "slurmd", "sbatch", "srun"):
            if not shutil.which(name, path=PATH):
                skip("there is no %s (packages slurmctld, slurmd, slurm-client, munge)" % name)
        for name in ("state", "spool"):
            os.mkdir(os.path.join(folder, name))
        self.conf = os.path.join(folder, "slurm.conf")
        with open(self.conf, "w") as f:
            f.write(CONF.format(user=getpass.getuser(), folder=folder, ports=free_ports(2)))
        self.env = clean_environment({"SLURM_CONF": self.conf, "PATH": PATH, "ARTEL": ARTEL})
        for name in list(self.env):
            if name.startswith(("SLURM_", "SBATCH_", "SRUN_")) and name != "SLURM_CONF":
                del self.env[name]
        self.start()

    def start(self):
        key = os.path.join(self.folder, "munge.key")
        with open(os.open(key, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as f:
            f.write(os.urandom(64))
        at = lambda name: os.path.join(self.folder, name)
        self.daemon("munged", "-F", "--force", "--key-file", key, "--socket", at("munge.sock"), "--pid-file", at("munge.pid"), "--log-file",
                    at("munge.log"), "--seed-file", at("munge.seed"))
        self.until("munged does not start", lambda: os.path.exists(at("munge.sock")))
        self.daemon("slurmctld", "-D", "-f", self.conf)
        self.daemon("slurmd", "-D", "-f", self.conf, "-N", "localhost")
        self.until("its node does not become idle", lambda: "idle" in self.call("sinfo", "-h", "-o", "%T"))

    def daemon(self, *words):
        with open(os.path.join(self.folder, words[0] + ".out"), "wb") as out:
            self.daemons.append(subprocess.Popen(words, stdout=out, stderr=out, stdin=subprocess.DEVNULL, env=self.env))

    def until(self, why, ready):
        end = time.monotonic() + 60
        while not ready():
            if time.monotonic() > end:
                said = [open(os.path.join(self.folder, f), errors="replace").read()[-300:] for f in os.listdir(self.folder) if f.endswith((".log", ".out"))]
                self.stop()
                skip("a Slurm of one node does not run here: %s\n%s" % (why, "\n".join(said)))
            time.sleep(0.1)

    def stop(self):
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in reversed(self.daemons):
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()

    def call(self, *words):
        done = subprocess.run([str(w) for w in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=self.env, timeout=120)
        return done.stdout.decode(errors="replace")


@dataclasses.dataclass
class Row:
    name: str
    tasks: int
    disturb: object = None  # (job): while it runs
    restarts: int = 0
    ends: str = "COMPLETED"
    code: str = None
    more: tuple = ()
    says: tuple = ()
    servers: int = 0


class Job:
    def __init__(self, slurm, folder, tasks, args, env=None):
        self.slurm, self.out, self.err = slurm, os.path.join(folder, "job.out"), os.path.join(folder, "job.err")
        said = subprocess.run(["sbatch", "--parsable", "--nodes=1", "--ntasks-per-node=%d" % tasks, "--output", self.out, "--error", self.err, SCRIPT,
                               *[str(a) for a in args]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**slurm.env, **(env or {})}, cwd=folder)
        self.id = said.stdout.decode().strip()
        if not self.id.isdigit():
            raise Failure("sbatch says %s" % self.id)

    def said(self, path):
        return open(path, errors="replace").read() if os.path.exists(path) else ""

    def show(self):
        fields = (word.partition("=") for word in self.slurm.call("scontrol", "-o", "show", "job", self.id).split())
        return {name: value for name, _, value in fields}

    def wait(self, what, ready, limit=240):
        end = time.monotonic() + limit
        while not ready():
            if time.monotonic() > end:
                raise Failure("%s not within %d s: %s %s" % (what, limit, self.show().get("JobState"), self.said(self.err)[-600:]))
            time.sleep(0.1)

    def until_step(self, step):
        self.wait("step %d" % step, lambda: '"step": %d,' % step in self.said(self.out))

    def ended(self):
        state = self.show()
        if state.get("Reason") == "BeginTime":  # a job that was requeued waits for some seconds
            self.slurm.call("scontrol", "update", "JobId=" + self.id, "StartTime=now")
        return state["JobState"] in ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL")

    def end(self):
        self.wait("the end", self.ended)
        return self.show()


# ---------------------------------------------------------------- what may happen to a job
def near_the_limit(job):
    """What --signal=B:TERM@120 does when the time limit comes near."""
    job.slurm.call("scancel", "--batch", "--signal=TERM", job.id)


def requeued(job):
    """By hand, or by a preempting partition: every task gets SIGTERM, and SIGKILL after KillWait."""
    job.slurm.call("scontrol", "requeue", job.id)


def one_killed(job):
    """A task dies with its node, say."""
    mine = "SLURM_JOB_ID=%s" % job.id
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            environment = open("/proc/%s/environ" % pid).read().split("\0")
            if mine in environment and "SLURM_PROCID=1" in environment and os.readlink("/proc/%s/exe" % pid) == os.path.realpath(ARTEL):
                os.kill(int(pid), signal.SIGKILL)
                return
        except OSError:
            pass
    raise Failure("task 1 was not found")


def cancelled(job):
    job.slurm.call("scancel", job.id)


TABLE = [
    Row("two", 2),
    Row("three", 3, more=("--replicas", 2)),
    Row("time-limit", 2, near_the_limit, 1, says=("ended with 143; the job goes back into the queue", "continuing from")),
    Row("requeue", 3, requeued, 1, says=("continuing from",)),
    Row("killed", 2, one_killed, 1, says=("back into the queue",)),
    Row("servers", 4, near_the_limit, 1, servers=1, more=("--consistency", "sync"), says=("continuing from",)),
    Row("cancel", 2, cancelled, ends="CANCELLED"),
    Row("mistake", 2, ends="FAILED", code="1:0", more=("--loss", "mean_squared_eror"), says=("mean_squared_error",)),
]


def check(row, index, folder, keras_only):
    out, data = os.path.join(folder, "out.keras"), save_arrays("mlp", os.path.join(folder, "d.npz"), 400)
    epochs = (400 if row.servers else 1000) if row.disturb else 3  # of 25 steps: it is not over when it is disturbed
    args = ["fit", save(MODELS["mlp"], os.path.join(folder, "m.keras")), "--data", data, "--batch-size", 16, "--threads", 1, "--epochs", epochs,
            "--verbose", 0, "--json", "--output", out]
    strategy = "parameter-server" if row.servers else "multi-worker"
    job = Job(slurm, folder, row.tasks, [*args, "--strategy", strategy, "--checkpoint-dir", os.path.join(folder, "ckpt"), "--save-every", "500steps", *row.more],
              {"ARTEL_PS": str(row.servers)} if row.servers else None)
    if row.disturb:
        job.until_step(600)
        row.disturb(job)
    ended, said = job.end(), job.said(job.err)
    found = ended["JobState"], ended["ExitCode"], int(ended["Restarts"])
    if found[0] != row.ends or row.code not in (None, found[1]) or found[2] != row.restarts:
        raise Failure("the job ended %s, expected %s: %s" % (found, (row.ends, row.code, row.restarts), said[-800:]))
    for text in row.says:
        if text not in said:
            raise Failure("the job does not say %r: %s" % (text, said[-800:]))
    left = [f for f in os.listdir(folder) if f.startswith(".artel-certificates")]
    if left:
        raise Failure("certificates are left: %s" % left)
    if row.ends == "COMPLETED":
        alone = os.path.join(folder, "alone.keras")
        ran = artel(*[alone if a == out else a for a in args])
        if ran.rc != 0 or digest(alone) != digest(out):
            raise Failure("another digest than that of one process %s" % ran.err[-300:])
    return []


if __name__ == "__main__":
    if "--list" in sys.argv:
        table(TABLE, check, [])  # ends here, without Slurm
    place = os.path.join(os.environ.get("ARTEL_SCRATCH") or tempfile.mkdtemp(prefix="artel-test-"), "slurm")
    shutil.rmtree(place, ignore_errors=True)
    os.mkdir(place)
    slurm = Slurm(place)
    try:
        table(TABLE, check, [], at_once=4)
    finally:
        slurm.stop()
