# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""artel launch from the outside: what it starts, what it prints, how it ends, and that nothing outlives it."""

import dataclasses
import glob
import json
import os
import pty
import re
import resource
import select
import signal
import subprocess
import sys
import time

from oracle import ARTEL, Failure, clean_environment, table
from started import STARTED, cleaning

PATIENCE = 240  # seconds; a guard against hanging, and no promise


@dataclasses.dataclass
class Row:
    name: str
    run: object  # folder -> None


@dataclasses.dataclass
class Ran:
    rc: int
    out: str
    err: str


def start(*args, **more):
    env = clean_environment(more.pop("env", None))
    STARTED.append(subprocess.Popen([ARTEL, "launch", *[str(a) for a in args]], env=env, stdin=subprocess.DEVNULL,
                                    **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}))
    return STARTED[-1]


def finish(process):
    try:
        out, err = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        raise Failure("no end after %d s" % PATIENCE)
    return Ran(process.returncode, *[(text or b"").decode(errors="replace") for text in (out, err)])


def launch(*args, rc=0, **more):
    ran = finish(start(*args, **more))
    if ran.rc != rc:
        raise Failure("%s: exit %d, expected %d: %s" % (" ".join(map(str, args))[:200], ran.rc, rc, (ran.out + ran.err)[-400:]))
    return ran


def shell(script):
    return ["--program", "sh", "--", "-c", script]


def python(script):
    return ["--program", sys.executable, "--", "-c", script]


def same(found, expected, what="output"):
    if found != expected:
        raise Failure("%s: %r, expected %r" % (what, found if len(str(found)) < 900 else str(found)[:900], expected))


def await_lines(process, count):
    """The first lines of its output, read byte by byte so that nothing is taken from communicate()."""
    lines, line, end = [], b"", time.monotonic() + PATIENCE
    while len(lines) < count:
        if not select.select([process.stdout], [], [], max(0, end - time.monotonic()))[0]:
            raise Failure("no line for %d s; so far %r" % (PATIENCE, lines))
        byte = os.read(process.stdout.fileno(), 1)
        if not byte:
            raise Failure("ended early: %r" % lines)
        line += byte
        if byte == b"\n":
            lines.append(line[:-1].decode())
            line = b""
    return lines


def folders():
    """What launchers of this row have made; others' would come and go."""
    return glob.glob(os.path.join(os.environ["XDG_RUNTIME_DIR"], "artel-launch-*"))


# ---------------------------------------------------------------- what is printed
def prefixes(folder):
    ran = launch("-n", 2, "--chief", "--ps", 1, "--evaluator", *shell("echo one; echo two; printf three; echo e >&2"))
    for who in ("chief 0", "worker 0", "evaluator 0"):  # the parameter server may be told to end before it says anything
        own = [line for line in ran.out.splitlines() if line.startswith("[%s] " % who)]
        same(own, ["[%s] %s" % (who, w) for w in ("one", "two", "three")])
        if "[%s] e\n" % who not in ran.err:
            raise Failure("stderr: %r" % ran.err)
    if not all(re.match(r"\[(chief|worker|ps|evaluator) 0\] (one|two|three)$", line) for line in ran.out.splitlines()):
        raise Failure(ran.out)


def colours(folder):
    def through_terminal(**env):
        mine, theirs = pty.openpty()
        process = start("-n", 2, *shell("echo x"), stdout=theirs, stderr=theirs, env={"TERM": "xterm", **env})
        os.close(theirs)
        text = b""
        while True:
            try:
                piece = os.read(mine, 4096)
            except OSError:
                break
            if not piece:
                break
            text += piece
        os.close(mine)
        same(finish(process).rc, 0, "exit")
        return sorted(text.decode().replace("\r", "").splitlines())

    same(through_terminal(), ["\x1b[33m[worker 1]\x1b[0m x", "\x1b[36m[worker 0]\x1b[0m x"])
    same(through_terminal(NO_COLOR="1"), ["[worker 0] x", "[worker 1] x"])
    same(through_terminal(TERM="dumb"), ["[worker 0] x", "[worker 1] x"])


def events(folder):
    script = 'echo \'{"event": "start", "task": "\'$ARTEL_TASK\'", "n": 1.50}\'; echo \'{"event": "step"}\'; echo words; echo \'{"a":\''
    ran = launch("-n", 2, "--json", *shell(script))
    for who in ("worker:0", "worker:1"):
        own = [line for line in ran.out.splitlines() if who in line]
        same(own, ['{"event": "start", "task": "%s", "n": 1.50}' % who, '{"event": "step", "task": "%s"}' % who])
        for text in ("words", '{"a":'):
            if "[%s] %s\n" % (who.replace(":", " "), text) not in ran.err:
                raise Failure("stderr: %r" % ran.err)
    same(len(ran.out.splitlines()), 4)
    for form in (["--json", "-n", 2, "check", "--cluster"], ["-n", 2, "check", "--cluster", "--json"]):
        tasks = [json.loads(line)["task"] for line in launch(*form).out.splitlines()]
        same(sorted(t["index"] for t in tasks), [0, 1])


def flood(folder):
    """Every line of those who print as fast as they can is there, whole and in order, and the launcher stays small."""
    count = 300000
    process = start("-n", 3, *shell("seq 1 %d | sed 's/$/ %s/'" % (count, "y" * 60)), "x")
    seen, largest, rest = {0: 0, 1: 0, 2: 0}, 0, b""
    pattern = re.compile(rb"\[worker (\d)\] (\d+) y{60}$")
    while True:
        piece = process.stdout.read1(1 << 20)
        if not piece:
            break
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            found = pattern.match(line)
            if not found or int(found[2]) != seen[int(found[1])] + 1:
                raise Failure("after %r: %r" % (seen, line[:200]))
            seen[int(found[1])] += 1
        with open("/proc/%d/status" % process.pid) as f:
            largest = max([largest] + [int(line.split()[1]) for line in f if line.startswith("VmHWM")])
    same(finish(process).rc, 0, "exit")
    same(list(seen.values()), [count] * 3)
    if largest > 40000:
        raise Failure("the launcher took %d KB" % largest)


def reader_stops(folder):
    """Nobody reads: the tasks wait, Ctrl-C is heard, the second one ends it all."""
    process = start("-n", 2, *shell("trap '' TERM; while :; do echo 0123456789; done"))
    await_lines(process, 3)
    end = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < end:  # two that come at once are one
        process.send_signal(signal.SIGINT)
        time.sleep(0.1)
    same(process.poll(), 130, "exit")
    process.stdout.close()
    process.stderr.close()


def reader_leaves(folder):
    """`| head -1`: the job goes on to its end, and the loss shows in the exit code."""
    path = os.path.join(folder, "done")
    process = start("-n", 1, *shell("echo first; sleep 0.3; seq 1 100000; echo done >'%s'" % path))
    await_lines(process, 1)
    process.stdout.close()
    same(process.wait(PATIENCE), 2, "exit")
    same(process.stderr.read(), b"artel: standard output: was closed before its end\n")
    process.stderr.close()
    if not os.path.exists(path):
        raise Failure("the task did not come to its end")


def full_output(folder):
    with open("/dev/full", "w") as out:
        ran = launch("-n", 2, "version", stdout=out, rc=2)
    same(ran.err, "artel: standard output: could not be written to the end; free some space\n")


def closed_output(folder):
    ran = launch("-n", 2, *shell("exec >&- 2>&-; sleep 0.2; exit 6"), rc=6)
    same(ran.out, "")


def left_running(folder):
    """A task that leaves a process in the background, its output open, is over soon; the process with it."""
    begun = os.path.join(folder, "begun")
    ran = launch("-n", 1, *shell("(trap '' TERM; echo in; : >'%s'; sleep 1000; echo late) & until [ -e '%s' ]; do sleep 0.02; done; echo out" % (begun, begun)))
    same(sorted(ran.out.splitlines()), ["[worker 0] in", "[worker 0] out"])


# ---------------------------------------------------------------- what is started
def forms(folder):
    for args in (["-n", 2, "check", "--cluster"], ["-n2", "--", "check", "--cluster"], ["--workers=2", "--", "artel", "check", "--cluster"],
                 ["-n", 2, "artel", "check", "--cluster"], ["-n", 2, ARTEL, "check", "--cluster"],
                 ["-n", 2, "--program", ARTEL, "--", "check", "--cluster"]):
        ran = launch(*args)
        for who in (0, 1):
            if "[worker %d] this task: worker:%d, rank %d of 2" % (who, who, who) not in ran.out:
                raise Failure("%s: %s" % (args, ran.out))


def usage(folder):
    for args, words in ((["check"], "-n"), (["-n", 2], "what to start is missing"), (["-n", 0, "check"], "-n"), (["-n"], "value is missing"),
                        (["-n", 2, "chekc"], "no subcommand"), (["-n", 2, "artel"], "what to start"),
                        (["-n", 2, "--program", "no-such-program"], "no such program"), (["-n", 2, "--program", folder], "no such program"),
                        (["-n", 2000, "check"], "1024"), (["-n", 1000, "--ps", 1000, "check"], "1024"), (["-x", 2, "check"], "two dashes"),
                        (["-n", 2, "--restart", 2, "check"], "--restarts"), (["-n", 2, "--cert-dir", folder, "check"], "tls.crt")):
        ran = launch(*args, rc=1)
        if words not in ran.err or ran.out:
            raise Failure("%s: %r" % (args, ran.err))
    if "--restarts N" not in launch("-n", 2, "--help").out or "--restarts" in launch("-n", 1, "check", "--help").out:
        raise Failure("--help before the subcommand is launch's, behind it the subcommand's")


def masks(text):
    return [int(re.search(name + ":([0-9a-f]{16})", text)[1], 16) for name in ("SigBlk", "SigIgn")]


def environment(folder):
    """Each task's own variables; those of another cluster are gone; signals and limits are as the launcher found them."""
    script = ("import json, os, resource; print(json.dumps({'event': 'x', 'env': dict(os.environ), 'files': resource.getrlimit(resource.RLIMIT_NOFILE)}))")
    old = {"TF_CONFIG": "{}", "ARTEL_CLUSTER_FILE": "x", "ARTEL_TASK": "ps:3", "ARTEL_RENDEZVOUS": "y", "OTHER": "kept"}
    few = (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    ran = launch("-n", 30, "--threads", 3, "--json", *python(script), env=old,
                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, few))
    seen = [json.loads(line) for line in ran.out.splitlines()]
    same(sorted(one["env"]["ARTEL_TASK"] for one in seen), sorted("worker:%d" % i for i in range(30)))
    addresses = {json.dumps(json.loads(one["env"]["TF_CONFIG"])["cluster"]) for one in seen}
    same(len(addresses), 1)
    same(len(set(json.loads(addresses.pop())["worker"])), 30)
    for one in seen:
        task = json.loads(one["env"]["TF_CONFIG"])["task"]
        same("%s:%d" % (task["type"], task["index"]), one["env"]["ARTEL_TASK"])
        same((one["env"]["OTHER"], one["env"]["ARTEL_THREADS"]), ("kept", "3"))
        same([name for name in old if name in one["env"] and name not in ("TF_CONFIG", "ARTEL_TASK", "OTHER")], [])
        same(tuple(one["files"]), few, "limit of descriptors")
    signals = "grep -E 'Sig(Ign|Blk)' /proc/self/status | tr -d '\\t\\n'"
    # A task ignores no signal that whoever runs this test does not ignore (Python itself ignores two, and gives them back).
    blocked, ignored = masks(launch("-n", 1, *shell(signals)).out)
    inherited = masks(subprocess.run(["sh", "-c", signals], stdout=subprocess.PIPE, text=True, check=True).stdout)[1]
    same((blocked, ignored & ~inherited), (0, 0), "signals blocked, ignored")


PEERS = """
import json, os, socket, sys, time
config = json.loads(os.environ["TF_CONFIG"])
addresses = [(h, int(p)) for h, p in (a.split(":") for a in config["cluster"]["worker"])]
me = config["task"]["index"]
server = socket.socket()
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.bind(addresses[me])
if len(sys.argv) > 1 and not os.path.exists(sys.argv[1] + str(me)):
    open(sys.argv[1] + str(me), "w").close()
    if me == 1: os.kill(os.getpid(), 9)  # it does not listen yet: nobody believes to have met it
server.listen(64)
heard = 0
for peer in addresses:
    while True:
        try:
            socket.create_connection(peer, 30).close()
            break
        except OSError:
            time.sleep(0.01)
while heard < len(addresses):
    server.accept()[0].close()
    heard += 1
print("met", heard)
"""


def ports(folder):
    """All meet at the addresses of TF_CONFIG; a task that died is started again at its own."""
    same(sorted(launch("-n", 5, *python(PEERS)).out.splitlines()), ["[worker %d] met 5" % i for i in range(5)])
    ran = launch("-n", 3, "--restarts", 1, *python(PEERS), os.path.join(folder, "begun"))
    same(sorted(ran.out.splitlines()), ["[worker %d] met 3" % i for i in range(3)])
    if "started again (1 of 1)" not in ran.err:
        raise Failure(ran.err)


def cores(folder):
    allowed = sorted(os.sched_getaffinity(0))
    script = "import os; print(sorted(os.sched_getaffinity(0)), os.environ['ARTEL_THREADS'])"
    for line in launch("-n", len(allowed), *python(script)).out.splitlines():
        same(line.split("] ", 1)[1].rsplit(" ", 1), [str(allowed), "1"])
    lines = sorted(launch("-n", len(allowed), "--pin", *python(script)).out.splitlines(), key=lambda s: int(s.split()[1][:-1]))
    same([line.split("] ", 1)[1] for line in lines], ["[%d] 1" % core for core in allowed])
    same(launch("-n", 1, *python(script), env={"ARTEL_THREADS": "7"}).out, "[worker 0] %s 7\n" % allowed)


def dry_run(folder):
    ran = launch("-n", 2, "--chief", "--dry-run", "check", "--cluster", "--json")
    done = subprocess.run(["sh"], input=ran.out, capture_output=True, text=True, env=clean_environment())
    same([json.loads(line)["task"]["type"] for line in done.stdout.splitlines()], ["chief", "worker"])


def many(folder):
    ran = launch("-n", 200, *shell("echo $ARTEL_TASK; read x; sleep 0.$(( $$ % 10 )); echo bye"))
    same(sorted(ran.out.splitlines()), sorted("[worker %d] %s" % (i, w) for i in range(200) for w in ("worker:%d" % i, "bye")))


# ---------------------------------------------------------------- certificates
def certificates(folder):
    if not os.path.exists(os.path.join(os.path.dirname(ARTEL), "libartel-tls.so")):
        return
    script = "'%s' cert verify $ARTEL_CERT_DIR && stat -c %%a $ARTEL_CERT_DIR/.. && ls $ARTEL_CERT_DIR/.. && '%s' cert show $ARTEL_CERT_DIR" % (ARTEL, ARTEL)
    ran = launch("-n", 2, "--evaluator", *shell(script))
    for who in ("worker-0", "worker-1", "evaluator-0"):
        own = [line.split("] ", 1)[1] for line in ran.out.splitlines() if line.startswith("[%s] " % who.replace("-", " "))]
        if "good until" not in own[0] or not any(re.match("  for +%s$" % who, line) for line in own):
            raise Failure("%s: %s" % (who, own))
        same(own[1:6], ["700", "ca.crt", "evaluator-0", "worker-0", "worker-1"])
    same(folders(), [], "left behind")
    given = os.path.join(folder, "certs")
    for args in (["init", given], ["issue", given, "worker-[0-1]"]):
        subprocess.run([ARTEL, "cert", *args], check=True, stdout=subprocess.DEVNULL)
    ran = launch("-n", 2, "--cert-dir", given, *shell("echo $ARTEL_CERT_DIR"))
    same(set(line.split("] ", 1)[1] for line in ran.out.splitlines()), {given})
    launch("-n", 3, "--cert-dir", given, *shell("echo"), rc=1)
    ran = launch("-n", 2, "--insecure-network", *shell("echo ${ARTEL_CERT_DIR-none} $ARTEL_INSECURE_NETWORK"), env={"ARTEL_CERT_DIR": "x"})
    same(set(line.split("] ", 1)[1] for line in ran.out.splitlines()), {"none true"})
    ran = launch("-n", 2, "launch", "-n", 2, *shell("'%s' cert verify $ARTEL_CERT_DIR" % ARTEL))  # each has tasks of its own
    same(len(re.findall(r"\] \[worker [01]\] \S*/worker-[01]/tls.crt: good until", ran.out)), 4)


# ---------------------------------------------------------------- how it ends
def codes(folder):
    one, first = '[ $ARTEL_TASK = worker:1 ]', os.path.join(folder, "first")
    after = "until [ -s '%s' ] && ! kill -0 $(cat '%s') 2>/dev/null; do sleep 0.02; done" % (first, first)  # when the launcher has seen its end
    for script, rc, words in (("exit 0", 0, ""), ("exit 3", 3, "the job failed: worker "), ("kill -9 $$", 137, "SIGKILL"),
                              ("%s && echo $$ >'%s' && exit 4; %s; exit 5" % (one, first, after), 4, "failed: worker 1 ended with exit code 4"),
                              ("%s && kill -9 $$; exit 0" % one, 0, "worker 1 was ended by signal 9"),
                              ("%s && kill -9 $$; sleep 0.3; exit 2" % one, 2, "failed: worker "),
                              ("%s && exit 143; exit 0" % one, 0, "143"), ("%s && exit 9; exit 0" % one, 9, "failed: worker 1")):
        ran = launch("-n", 3, *shell(script), rc=rc)
        if words not in ran.err or (not words and ran.err):
            raise Failure("%s: %r" % (script, ran.err))


def restarts(folder):
    script = "echo x >>'%s'/$ARTEL_TASK; [ $ARTEL_TASK = worker:1 ] || exit 0; [ $(wc -l <'%s'/$ARTEL_TASK) -gt %d ] || %s"
    for failures, allowed, how, rc, runs in ((2, 2, "exit 7", 0, 3), (3, 2, "exit 7", 7, 3), (1, 5, "kill -9 $$", 0, 2), (1, 0, "exit 7", 7, 1)):
        home = os.path.join(folder, "%d%d" % (failures, allowed))
        os.mkdir(home)
        launch("-n", 2, "--restarts", allowed, *shell(script % (home, home, failures, how)), rc=rc)
        with open(os.path.join(home, "worker:1")) as f:
            same(len(f.readlines()), runs, "runs")
    ran = launch("-n", 2, "--restarts", 3, "fit", "no-such-model.keras", "--data", "synthetic:8", rc=1)  # artel's verdict is final
    if "started again" in ran.err or ran.err.count("no-such-model") != 2:
        raise Failure(ran.err)


def kill_a_task(folder):
    """From outside; the others go on."""
    process = start("-n", 3, *shell("echo $$; until [ -e '%s/go' ]; do sleep 0.02; done" % folder))
    pids = dict(line[1:].split("] ") for line in await_lines(process, 3))
    os.kill(int(pids["worker 1"]), signal.SIGKILL)
    open(folder + "/go", "w").close()
    ran = finish(process)
    same(ran.rc, 0, "exit")
    if "worker 1 was ended by signal 9 (SIGKILL)" not in ran.err:
        raise Failure(ran.err)


def services(folder):
    launch("-n", 1, "--ps", 2, *shell("case $ARTEL_TASK in ps*) sleep 1000;; esac; exit 0"))
    launch("-n", 1, "--evaluator", *shell("case $ARTEL_TASK in ev*) sleep 1000;; esac; exit 3"), rc=3)
    ran = launch("-n", 1, "--evaluator", *shell("case $ARTEL_TASK in ev*) sleep 0.5; echo seen;; esac; exit 0"))
    same(ran.out, "[evaluator 0] seen\n")


def signals(folder):
    stubborn = "trap 'echo told' TERM; echo up; while :; do sleep 0.02; done"
    polite = "trap 'echo saved; exit 143' TERM; echo up; while :; do sleep 0.02; done"
    for number, rc in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGUSR1, 143)):
        process = start("-n", 2, "--restarts", 9, *shell(polite))
        await_lines(process, 2)
        process.send_signal(number)
        ran = finish(process)
        same((ran.rc, sorted(ran.out.splitlines())), (rc, ["[worker 0] saved", "[worker 1] saved"]))
        process = start("-n", 2, *shell(stubborn))
        await_lines(process, 2)
        process.send_signal(number)
        same(sorted(await_lines(process, 2)), ["[worker 0] told", "[worker 1] told"])
        process.send_signal(number)
        same(finish(process).rc, rc, "exit")
    process = start("-n", 2, *shell("trap 'exit 2' TERM; echo up; while :; do sleep 0.02; done"))
    await_lines(process, 2)
    process.terminate()
    same(finish(process).rc, 2, "a task that could not save")
    for ignored, rc, seconds in ((signal.SIGINT, 130, 1000), (signal.SIGHUP, 0, 0.3)):  # as for a shell's background job, and by nohup
        process = start("-n", 1, *shell("echo up; sleep %s" % seconds), preexec_fn=lambda: signal.signal(ignored, signal.SIG_IGN))
        await_lines(process, 1)
        process.send_signal(ignored)
        same(finish(process).rc, rc, "exit")
    process = start("-n", 1, *shell("echo up; kill -STOP $$"))  # a stopped one hears it, too
    await_lines(process, 1)
    time.sleep(0.1)
    process.terminate()
    same(finish(process).rc, 143, "exit")


def state_of(pid):
    with open("/proc/%d/stat" % pid) as f:
        return f.read().rsplit(") ", 1)[1][0]


def suspended(folder):
    """Ctrl-Z stops the tasks with the launcher, fg lets all go on."""
    process = start("-n", 2, *shell("echo $$; until [ -e '%s/go' ]; do sleep 0.02; done; echo over" % folder))
    pids = [process.pid] + [int(line.split("] ")[1]) for line in await_lines(process, 2)]
    process.send_signal(signal.SIGTSTP)
    end = time.monotonic() + PATIENCE
    stands = lambda: [state_of(pid) in "TD" for pid in pids]  # D: stopped while it waits for a child to begin, which is stopped
    while not all(stands()) and time.monotonic() < end:
        time.sleep(0.01)
    same(stands(), [True] * 3, "stopped")
    open(folder + "/go", "w").close()
    process.send_signal(signal.SIGCONT)
    ran = finish(process)
    same((ran.rc, sorted(ran.out.splitlines())), (0, ["[worker 0] over", "[worker 1] over"]))


def names_who_is_waited_for(folder):
    process = start("-n", 2, *shell("[ $ARTEL_TASK = worker:1 ] && trap '' TERM; echo up; while :; do sleep 0.02; done"))
    await_lines(process, 2)
    process.send_signal(signal.SIGINT)
    text, end = b"", time.monotonic() + PATIENCE
    while b"waiting for" not in text and select.select([process.stderr], [], [], max(0, end - time.monotonic()))[0]:
        text += os.read(process.stderr.fileno(), 4096)
    process.send_signal(signal.SIGINT)
    same(finish(process).rc, 130, "exit")
    if b"waiting for worker 1 to end" not in text:
        raise Failure(text)


def no_orphans(folder):
    """kill -9 of the launcher: a pipe that every process below it holds tells when the last is gone."""
    mine, theirs = os.pipe()
    script = "trap '' TERM INT HUP; (trap '' TERM INT HUP; sleep 1000) & echo $ARTEL_TASK; sleep 1000"
    process = start("-n", 20, *shell(script), pass_fds=[theirs])
    os.close(theirs)
    await_lines(process, 20)
    same(len(folders()), 1, "folders")
    process.kill()
    same(process.wait(PATIENCE), -9, "exit")
    if not select.select([mine], [], [], PATIENCE)[0] or os.read(mine, 1) != b"":
        raise Failure("something still runs %d s later" % PATIENCE)
    os.close(mine)
    process.stdout.close()
    process.stderr.close()
    end = time.monotonic() + PATIENCE
    while folders() and time.monotonic() < end:
        time.sleep(0.01)
    same(folders(), [], "left behind")


def wrapped(folder, script):
    """A program that launch takes for artel, with what a task does first."""
    path = folder + "/artel"
    with open(path, "w") as f:
        f.write("#!/bin/sh\n%s\nexec '%s' \"$@\"\n" % (script, ARTEL))
    os.chmod(path, 0o755)
    with open(folder + "/m.json", "w") as f:
        json.dump({"class_name": "Sequential", "config": {"name": "m", "layers": [
            {"class_name": "InputLayer", "config": {"batch_shape": [None, 4], "dtype": "float32", "name": "i"}},
            {"class_name": "Dense", "config": {"name": "d", "units": 3}}]}}, f)
    return [path, "fit", folder + "/m.json", "--loss", "mse", "--data", "synthetic:64", "--strategy", "multi-worker", "--verbose", 0]


def never_began(folder):
    """Who died before the job began, and is not started again, is not waited for; unless it can begin without."""
    for end, rc in (("kill -9 $$", 137), ("exit 7", 7)):
        ran = launch("-n", 3, *wrapped(folder, "[ $ARTEL_TASK = worker:1 ] && %s" % end), rc=rc)
        for words in ("worker 1 will not come, and the job cannot begin without it", "the job failed before it began: worker 1 ", "--restarts"):
            if words not in ran.err:
                raise Failure("%r is missing in %r" % (words, ran.err))
    more = ["--wait-for-cluster", "6s", "--min-workers", 2]  # time enough for two to meet, on any machine
    launch("-n", 3, *wrapped(folder, "[ $ARTEL_TASK = worker:1 ] && kill -9 $$"), *more)
    launch("-n", 3, *wrapped(folder, "[ $ARTEL_TASK != worker:0 ] && kill -9 $$"), *more, rc=137)
    once = "[ $ARTEL_TASK = worker:1 ] && mkdir '%s/once' 2>/dev/null && kill -9 $$" % folder
    launch("-n", 2, "--restarts", 1, *wrapped(folder, once))


def never_served(folder):
    """Nor is a parameter server, without which the job does not begin."""
    servers = ["--strategy", "parameter-server"]
    for end, rc in (("kill -9 $$", 137), ("exit 7", 7)):
        ran = launch("-n", 2, "--ps", 2, *wrapped(folder, "[ $ARTEL_TASK = ps:1 ] && %s" % end), *servers, rc=rc)
        for words in ("ps 1 will not come, and the job cannot begin without it", "the job failed before it began: ps 1 "):
            if words not in ran.err:
                raise Failure("%r is missing in %r" % (words, ran.err))


def died_later(folder):
    """Once the job has begun the others go on, however few they are."""
    # Nobody reads between here and the kill, and the epochs are more than the pipes take: the job is not over then.
    process = start("-n", 2, *wrapped(folder, ""), "--epochs", 3000, "--steps-per-epoch", 2, "--json=epochs")
    pids = {}
    while len(pids) < 2:
        event = json.loads(await_lines(process, 1)[0])
        if event["event"] == "start":
            pids[event["task"]] = event["pid"]
    os.kill(pids["worker:1"], signal.SIGKILL)
    ran = finish(process)
    same(ran.rc, 0, "exit")
    if '"event": "end"' not in ran.out or "worker 1 was ended by signal 9 (SIGKILL)" not in ran.err:
        raise Failure(ran.out + ran.err)


ROWS = [Row(f.__name__, f) for f in (
    prefixes, colours, events, flood, reader_stops, reader_leaves, full_output, closed_output, left_running, forms, usage, environment, ports, cores, dry_run,
    many, certificates, codes, restarts, kill_a_task, services, signals, suspended, names_who_is_waited_for, no_orphans, never_began, never_served, died_later)]


def run(row, index, folder, keras_only):
    os.environ["XDG_RUNTIME_DIR"] = runtime = os.path.join(folder, "runtime")
    os.mkdir(runtime)
    row.run(folder)
    return []


if __name__ == "__main__":
    table(ROWS, cleaning(run), [], at_once=3)
