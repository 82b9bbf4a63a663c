# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""artel launch --hosts: tasks of other machines, which here are other addresses of the loopback, behind a shell that does what ssh does."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

from cli import MODELS, Row, expect, save, save_arrays
from cluster import free_ports, free_range
from oracle import ARTEL, artel, clean_environment, digest, table
from started import STARTED, cleaning

HOSTS = "127.0.0.2,me@127.0.0.3"
# HOST COMMAND: by a shell of its own, elsewhere, in an environment of its own.
SHELL = """#!/bin/sh
host=$1; shift
[ "$host" = nowhere ] && { echo "cannot reach $host" >&2; exit 255; }
cd / && exec env -i PATH="$PATH" HOME="$HOME" AT="$host" sh -c "$*"
"""


class Scene:
    def __init__(self, folder):
        self.folder, self.hosts = folder, HOSTS
        self.shell = self.path("shell")
        with open(self.shell, "w") as f:
            f.write(SHELL)
        os.chmod(self.shell, 0o755)

    def path(self, name):
        return os.path.join(self.folder, name)

    def words(self, *args, hosts=None):
        return ["launch", "--hosts", hosts or self.hosts, "--shell", self.shell, "--port", free_range(3), *args]

    def script(self, text, *more, hosts=None):
        return self.words(*more, "--program", "/bin/sh", "--", "-c", text, hosts=hosts)

    def begin(self, *args):
        STARTED.append(subprocess.Popen([ARTEL, *[str(a) for a in args]], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                                        env=clean_environment({}), cwd=self.folder))
        return STARTED[-1]


def ends(process, code, limit=120):
    out, err = process.communicate(timeout=limit)
    expect(process.returncode == code, "exit code %s, expected %s:" % (process.returncode, code), out, err)
    return out, err


def all_gone(pids, limit=120):
    end = time.monotonic() + limit
    while any(os.path.exists("/proc/%d" % pid) for pid in pids):
        expect(time.monotonic() < end, "still there:", pids)
        time.sleep(0.02)


def same_digest(scene):
    model, data, out = save(MODELS["mlp"], scene.path("m.keras")), save_arrays("mlp", scene.path("d.npz"), 400), scene.path("o.keras")
    fit = ["fit", model, "--data", data, "--epochs", 2, "--verbose", 0, "--output", out]
    expect(artel(*fit, "--threads", 1).rc == 0, "one process")
    one = digest(out)
    os.unlink(out)
    ran = artel(*scene.words("-n", 3, *fit, "--strategy", "multi-worker", "--suspect-after", "60s"))
    # What is said of a shell that takes long to connect, and of its task.
    strange = [line for line in ran.err.splitlines() if "no answer from" not in line and "waiting for" not in line]
    expect(ran.rc == 0 and not strange, "three tasks on two machines:", ran.err)
    expect(digest(out) == one, "another digest")


def handed_over(scene):
    """Directory, cluster, task, a share of the cores, a certificate that only this user can read and that is gone afterwards."""
    tell = ("import json, os; e = os.environ; d = e['ARTEL_CERT_DIR']; print(json.dumps([e['AT'], e['ARTEL_TASK'], os.getcwd(), e['ARTEL_THREADS'], e['ARTEL_SEED'], "
            "json.loads(e['TF_CONFIG'])['cluster'], d, sorted(os.listdir(d)), [oct(os.stat(d).st_mode), oct(os.stat(d + '/tls.key').st_mode)]]))")
    words = [str(w) for w in scene.words("-n", 3, "--program", sys.executable, "--", "-c", tell)]
    ran = subprocess.run([ARTEL, *words], capture_output=True, text=True, cwd=scene.folder, env=clean_environment({"ARTEL_SEED": "7"}), check=False)
    expect(ran.returncode == 0, "exit code", ran.returncode, ran.stderr)
    said = sorted(json.loads(line.split("] ", 1)[1]) for line in ran.stdout.splitlines())
    cores, port = len(os.sched_getaffinity(0)), int(words[words.index("--port") + 1])
    expect([s[:2] for s in said] == [["127.0.0.2", "worker:0"], ["127.0.0.2", "worker:2"], ["me@127.0.0.3", "worker:1"]], "who is where", said)
    for at, task, directory, threads, seed, cluster, folder, files, modes in said:
        expect(directory == os.path.realpath(scene.folder) and seed == "7", "directory, variables", directory, seed)
        expect(int(threads) == max(1, cores // (2 if at == "127.0.0.2" else 1)), "threads", at, threads)
        expect(cluster == {"worker": ["127.0.0.2:%d" % port, "127.0.0.3:%d" % port, "127.0.0.2:%d" % (port + 1)]}, "cluster", cluster)
        expect(files == ["ca.crt", "tls.crt", "tls.key"] and modes == ["0o40700", "0o100600"], "certificate", files, modes)
        expect(not os.path.exists(folder), "left behind:", folder)


def codes(scene):
    for text, code in (("exit 0", 0), ("exit 3", 3), ("[ $ARTEL_TASK = worker:1 ] && exit 3; exit 0", 3), ("kill -9 $$", 137)):
        ran = artel(*scene.script(text))
        expect(ran.rc == code, "exit code of", text, ran.rc, ran.err)
    ran = artel(*scene.script("exit 0", hosts="nowhere"))
    expect(ran.rc == 255 and "cannot reach nowhere" in ran.err, "a host that is not there", ran.rc, ran.err)
    ran = artel(*scene.words("--remote-artel", "/no/artel", "check", "--cluster"))
    expect(ran.rc == 127 and "/no/artel" in ran.err, "no artel there", ran.rc, ran.err)
    ran = artel(*scene.words("--program", "no-such-program", "--", "x"))
    expect(ran.rc == 1 and "no-such-program" in ran.err, "no such program there", ran.rc, ran.err)
    ran = artel("launch", "--hosts", "a", "--shell", "no-such-shell", "check", "--cluster")
    expect(ran.rc == 1 and "no-such-shell" in ran.err, "no such shell", ran.rc, ran.err)


def restarts(scene):
    """A task whose connection is cut is killed, and started again."""
    process = scene.begin(*scene.script("[ -e done ] && exit 0; echo $$; while :; do sleep 0.1; done", "--restarts", 1, hosts="127.0.0.2"))
    task = int(process.stdout.readline().split()[-1])
    parent = lambda pid: int(open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()[1])
    shell = parent(task)  # it became artel attend
    open(scene.path("done"), "w").close()
    os.kill(shell, signal.SIGKILL)
    all_gone([task])
    ends(process, 0)


def signals(scene):
    polite = "trap 'echo told; exit 143' TERM; echo $$; while :; do sleep 0.02; done"
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        process = scene.begin(*scene.script(polite))
        pids = [int(process.stdout.readline().split()[-1]) for _ in range(2)]
        process.send_signal(number)
        out, _ = ends(process, code)
        expect(out.count("told") == 2, "who was told", out)
        all_gone(pids)
    for stubborn in (False, True):  # a second signal kills; so does the launcher's death
        process = scene.begin(*scene.script("trap '' TERM; echo $$; while :; do sleep 0.02; done"))
        pids = [int(process.stdout.readline().split()[-1]) for _ in range(2)]
        if stubborn:
            process.kill()
            process.communicate()
        else:
            process.terminate()
            process.stderr.readline()
            process.terminate()
            ends(process, 143)
        all_gone(pids)


def silent(scene):
    """Hosts that a shell does not reach are named, once each; one that is there but has nothing to say is not."""
    with open(scene.shell, "w") as f:
        f.write(SHELL.replace("cd /", '[ "$host" = 127.0.0.3 ] && exec sleep 600\ncd /'))
    process = scene.begin(*scene.script("sleep 600", "-n", 3, hosts="127.0.0.2,127.0.0.3"))
    line = process.stderr.readline()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    expect("no answer from 127.0.0.3" in line and "worker 1" in line, "who is silent", line)


def attended(scene):
    """What comes to artel attend is looked at."""
    good = {"artel": artel("version").out.split()[1], "words": ["/bin/echo", "hello"], "directory": "/", "variables": []}
    for order, code, text in ((json.dumps(good) + "\0", 0, ""), ("", 1, "artel launch"), ("{}", 1, "artel launch"), ("{\0", 1, "attend"),
                              ("[]\0", 1, "same artel"), (json.dumps({**good, "artel": "99"}) + "\0", 1, "99"), (json.dumps({**good, "words": []}) + "\0", 1, "lacks"),
                              (json.dumps({**good, "words": [1]}) + "\0", 1, "lacks"), (json.dumps({**good, "directory": "/nowhere"}) + "\0", 1, "/nowhere"),
                              (json.dumps({**good, "words": ["/nowhere"]}) + "\0", 1, "/nowhere")):
        with open(scene.path("order"), "w") as f:
            f.write(order)
        # The file ends, so a task that takes time would be killed: echo may be, too.
        with open(scene.path("order")) as f:
            ran = subprocess.run([ARTEL, "attend"], stdin=f, capture_output=True, text=True, env=clean_environment({}), timeout=120, check=False)
        expect(ran.returncode in ((0, 137) if code == 0 else (code,)) and text in ran.stderr, order, ran.returncode, ran.stderr)


def usage(scene):
    ran = artel(*scene.script("exit 0 # \udcff"))  # a byte that is no UTF-8
    expect(ran.rc == 1 and "UTF-8" in ran.err, "what cannot be handed on", ran.rc, ran.err)
    for args, text in ((["--hosts", "", "check"], "--hosts"), (["--hosts", ",", "check"], "no host"), (["--hosts", "-oX=1", "check"], "-oX=1"),
                       (["--hosts", "a", "--pin", "check"], "--pin"), (["--hosts", "a", "--port", 65535, "-n", 2, "check"], "--port")):
        ran = artel("launch", *args)
        expect(ran.rc == 1 and text in ran.err, args, ran.rc, ran.err)


def ssh(scene):
    """The real one, with a server of its own."""
    server = shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin")
    if os.geteuid() != 0 or not server or not shutil.which("ssh"):
        print("ssh: left out (no root, or no openssh)")
        return
    for key in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", scene.path(key)], check=True)
    os.makedirs("/run/sshd", exist_ok=True)
    port = free_ports(1)[0]
    with open(scene.path("config"), "w") as f:  # SHLVL: or bash would run the user's .bashrc, whose programs may disturb one another, or say something
        f.write("Port %d\nListenAddress 127.0.0.2\nListenAddress 127.0.0.3\nHostKey %s\nAuthorizedKeysFile %s\nStrictModes no\nUsePAM no\nPermitRootLogin yes\n"
                "PidFile none\nMaxStartups 100\nSetEnv SHLVL=2\n" % (port, scene.path("host"), scene.path("user.pub")))
    daemon = subprocess.Popen([server, "-D", "-e", "-f", scene.path("config")], stderr=subprocess.DEVNULL)
    scene.hosts = HOSTS.replace("me@", "")
    scene.shell = "ssh -F /dev/null -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -p %d -i %s" % (
        port, scene.path("user"))
    try:
        end = time.monotonic() + 120
        while subprocess.run([*scene.shell.split(), "127.0.0.3", "true"], stderr=subprocess.DEVNULL, check=False).returncode:
            expect(time.monotonic() < end, "sshd does not listen")
            time.sleep(0.1)
        for check in (same_digest, signals):
            check(scene)
        ran = artel(*scene.script("echo $ARTEL_TASK; exit 5"))
        expect(ran.rc == 5 and sorted(ran.out.splitlines()) == ["[worker %d] worker:%d" % (i, i) for i in range(2)], "through ssh", ran.rc, ran.out, ran.err)
    finally:
        daemon.terminate()
        daemon.wait()


TABLE = [Row(check.__name__, check) for check in (same_digest, handed_over, codes, restarts, signals, silent, attended, usage, ssh)]


def run(row, index, folder, keras_only):
    row.check(Scene(folder))
    return []


if __name__ == "__main__":
    table(TABLE, cleaning(run), [])
