# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# long form: 900
"""The coordinator with real processes: each letter is a promise that prog_coordinator.c checks on the chief."""

import json
import os
import re
import signal
import sys
import tempfile

from cli import expect, run_checks
from cluster import Patience, Task, await_listening, free_ports
from oracle import artel

LONG = os.environ.get("ARTEL_LONG", "") not in ("", "0")
PROGRAM = os.path.join(os.environ["ARTEL_BUILD"], "tests", "api", "prog_coordinator")
ESTIMATOR = os.path.join(os.environ["ARTEL_BUILD"], "tests", "api", "prog_estimator")
EXAMPLE = os.path.join(os.environ["ARTEL_BUILD"], "examples", "coordinator")


def keeps(cases, *more, servers=2, restarts=0, env=None):
    ran = artel("launch", "--chief", "-n", 3, "--ps", servers, *([] if "g" in cases else ["--insecure-network"]), "--restarts", restarts, "--program", PROGRAM, "--", tempfile.mkdtemp(), cases, *more, timeout=600, env=env)
    expect(ran.rc == 0 and "all promises kept: " + cases in ran.out, cases, more, "exit code", ran.rc, ran.out[-600:], ran.err[-800:])
    return ran


def begin(cases, servers=1, rules=None, only=None, more=()):
    """A chief, a worker and servers by themselves, so that nobody starts them again: tasks by name. `rules`: other optimizers; who has one comes
    when the others can be connected to."""
    address = ["127.0.0.1:%d" % p for p in free_ports(2 + servers)]
    cluster = {"chief": address[:1], "worker": address[1:2], "ps": address[2:]}
    folder, tasks = tempfile.mkdtemp(), {}
    for kind in [only] if only else sorted(cluster, key=(rules or {}).__contains__):
        if kind in (rules or {}):
            await_listening([(task.process, cluster[name.split()[0]][int(name.split()[1])]) for name, task in tasks.items()])
        for i in range(len(cluster[kind])):
            words, told = [folder, cases, (rules or {}).get(kind, "adam"), *more], {"cluster": cluster, "task": {"type": kind, "index": i}}
            task = tasks["%s %d" % (kind, i)] = Task(words, {"TF_CONFIG": json.dumps(told)}, program=PROGRAM)
            task.drain()
            task.address, task.folder, task.words, task.told = cluster[kind][i], folder, words, told
    return tasks


def PS10_PS11_PS12_PS13_promises():
    """What is scheduled runs once, errors are raised once, data comes in order; with one closure a worker and a queue of three, too."""
    keeps("roaedg")
    keeps("1qroae", servers=1)


def VA7_PF6_values_of_workers():
    keeps("v")


def bits():
    """One closure after another does what one process does: a rule with slots, one with norms, a program's own, on two servers. Every optimizer, on one to
    five servers: tests/function/test_parts.c."""
    for rule in ("adam", "muon", "adam:gradient_accumulation_steps=3,clipnorm=0.1", "HeavyBall:momentum=0.9"):
        keeps("1b", rule)


def variables_in_pieces():
    """What a partitioner cuts has the bits of what is whole: any number of pieces at any number of servers; rules that read a variable whole, and
    averages, too."""
    for servers, rule, cut in ((1, "sgd:momentum=0.9", "fixed:2"), (2, "adam:clipnorm=0.1", "fixed:5"), (2, "adam:gradient_accumulation_steps=3,clipnorm=0.1", "max:256")):
        keeps("1b", rule, cut, servers=servers)
    keeps("roaedg", "adam", "fixed:3")
    keeps("v", "adam", "fixed:3")


def rows_of_tables():
    """A table of 640 KB: closures read and step few rows of it, which alone travel, also in pieces, but for two that step it whole; rules that change all
    rows have those wait. A rule that clips by the norm of the whole gradient sends that."""
    for rule, cut, most in (("sgd", "none", 2.8e6), ("adam", "fixed:3", 2.8e6), ("ftrl", "fixed:5", 2.8e6), ("nadam", "fixed:2", 2.8e6), ("adam:clipnorm=0.1", "fixed:3", 1e9)):
        ran = keeps("1m", rule, cut)
        moved = [sum(map(int, numbers)) for numbers in re.findall(r"updates, of (\d+) bytes; workers have read (\d+) bytes", ran.out + ran.err)]
        expect(len(moved) == 2 and 0 < sum(moved) < most and (most < 1e9 or sum(moved) > 12 * 640e3), rule, cut, "bytes moved:", moved)


def PS14_PS15_PS17_losses():
    """Workers, servers and the chief are killed."""
    ran = keeps("ws", restarts=9)
    expect(ran.err.count("started again") == 4, "four kills:", ran.err)
    keeps("c", restarts=1)
    keeps("C", restarts=1)


def copies_of_servers():
    """Of servers that have copies of one another any one may be killed: no update is lost or counts twice, and of one closure after another the bits stay
    those of one process; what they are is seen by artel status. A chief that comes back finds all."""
    keeps("roaedg", "adam", "fixed:3", 2)
    ran = keeps("1bmj", "adam", "fixed:3", 2, restarts=9)
    killed = len(re.findall(r"ps \d was ended by signal 9", ran.err))
    expect(killed >= 8 and "no update is lost" in ran.err + ran.out, "kills of servers:", killed, ran.err)  # the last one may be seen too late
    keeps("c", "adam", "none", 2, restarts=1)


def a_stale_view():
    """What a server has that slept, while the others went on with its copies, is void: it says that they did, and gets copies anew."""
    ran = keeps("D", "adam", "fixed:2", 2)
    for server in (0, 1):
        expect(re.search(r"^\[ps %d\] .*the job went on without this task" % server, ran.err + ran.out, re.M), "ps", server, "does not say so:", ran.err[-1500:])


def what_is_kept():
    """Nothing of a server that has lost its variables is kept or read; a keep that a loss interrupts leaves what was kept before."""
    keeps("l", restarts=9)
    keeps("t", restarts=9)


def an_estimator_goes_on():
    """A server is lost while no chief is there: what the checkpoint has is given to all servers anew, and the training goes on from it."""
    ran = artel("launch", "--chief", "-n", 2, "--ps", 2, "--insecure-network", "--restarts", 9, "--program", ESTIMATOR, "--", tempfile.mkdtemp(), timeout=600)
    expect(ran.rc == 0 and "each step counts once" in ran.out, "exit code", ran.rc, ran.out[-600:], ran.err[-800:])
    expect(re.search(r"ps 0 was ended by signal 9", ran.err) and re.search(r"chief 0 was ended by signal 9", ran.err), "nobody was lost:", ran.err[-800:])


def what_is_not_raised():
    """An error of a closure that a loss goes before, and one that nobody has joined for, are said in the log."""
    ran = keeps("i", restarts=9)
    for text in (r"the loss of ps 0 is raised instead of a closure's error: .*out of range", r"closed with an error that was not raised: .*out of range"):
        expect(len(re.findall(text, ran.err + ran.out)) == 1, text, ran.err[-1500:])


def PS2_only_inside_schedule():
    keeps("f")


def PS16_pauses():
    keeps("u")


def PS19_staggered_start():
    keeps("y")
    keeps("z")


def storm():
    if LONG:
        keeps("k", restarts=60)
        keeps("K", "adam", "fixed:2", 2, restarts=60)
        keeps("K", "adam", "none", 3, servers=3, restarts=60)


def refusals():
    """Without a cluster; an optimizer that servers do not have; a server that runs another program."""
    alone = artel(tempfile.mkdtemp(), "r", program=PROGRAM, timeout=600)
    expect(alone.rc == 1 and "parameter-server needs a chief" in alone.out, "alone:", alone.rc, alone.out, alone.err)
    rule = "adam:gradient_accumulation_steps=2,global_clipnorm=0.1"
    ran = artel("launch", "--chief", "-n", 2, "--ps", 1, "--insecure-network", "--program", PROGRAM, "--", tempfile.mkdtemp(), "r", rule, timeout=600)
    expect(ran.rc == 1 and "clipping wants the norm of all gradients together" in ran.out, rule, ran.rc, ran.out, ran.err)
    ran = artel("launch", "--chief", "-n", 2, "--ps", 1, "--insecure-network", "--program", PROGRAM, "--", tempfile.mkdtemp(), "r", "adam", "fixed:0", timeout=600)
    expect(ran.rc == 1 and "not a partitioner: fixed:0" in ran.out, "fixed:0", ran.rc, ran.out, ran.err)
    ran = artel("launch", "--chief", "-n", 2, "--ps", 1, "--insecure-network", "--program", PROGRAM, "--", tempfile.mkdtemp(), "r", "adam", "none", 2, timeout=600)
    expect(ran.rc == 1 and "2 servers are to have each variable, of 1" in ran.out, "two copies of one:", ran.rc, ran.out, ran.err)
    address = ["127.0.0.1:%d" % p for p in free_ports(4)]
    whole = {"chief": address[:1], "worker": address[1:2], "ps": address[2:3]}
    for cluster, text in [({k: v for k, v in whole.items() if k != lack}, "parameter-server needs a " + said) for lack, said in (("chief", "chief"), ("worker", "worker"), ("ps", "ps task"))] + [
            ({**whole, "chief": [address[0], address[3]]}, "there are 2 chiefs")]:
        for kind in cluster:
            env = {"TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": kind, "index": 0}})}
            ran = artel(tempfile.mkdtemp(), "r", program=PROGRAM, env=env, timeout=600)
            expect(ran.rc == 1 and text in ran.out, kind, "of", cluster, ran.rc, ran.out, ran.err)
    patience = Patience(60)
    for name, task in begin("r", rules={"ps": "sgd"}).items():
        expect(task.finish(patience) == 1 and "differs in program" in task.err() + task.out(), name, "of unequal programs:", task.out(), task.err())


def waits_end():
    """For a server that nobody starts again; for tasks that never come."""
    patience, tasks = Patience(120), begin("p", servers=2)
    for name, task in tasks.items():
        wanted = -signal.SIGKILL if name == "ps 0" else 0
        expect(task.finish(patience) == wanted, name, "without ps 0:", task.process.returncode, task.out(), task.err())
    expect("all promises kept: p" in tasks["chief 0"].out(), tasks["chief 0"].out())
    chief = begin("n", only="chief")["chief 0"]
    expect(chief.finish(60) == 0 and "all promises kept: n" in chief.out(), "without the others:", chief.out(), chief.err())


def second_chief(first):
    """A second process as the chief of a job that runs, at its address and at another one: it says why it ends, and the first one goes on."""
    other = {**first.told, "cluster": {**first.told["cluster"], "chief": ["127.0.0.1:%d" % free_ports(1)[0]]}}
    for told, text in ((first.told, "cannot bind"), (other, "two processes have that task index")):
        ran = artel(*first.words, program=PROGRAM, env={"TF_CONFIG": json.dumps(told)}, timeout=600)
        expect(ran.rc == 1 and text in ran.out + ran.err, "a second chief:", ran.rc, ran.out, ran.err)


def PS20_waits_are_named():
    """A worker whose data does not come is named to who joins, and ended by collective_timeout; workers and servers whose chief is gone wait as long as the
    cluster's wait_for_cluster says, and say for whom."""
    stuck, alone, patience = begin("h", servers=2, more=("fixed:2", 2)), begin("x"), Patience(180)

    def told(name, *more):
        ran = artel("status", stuck[name].address, *more)
        return ran.out if ran.rc == 0 else "{}"

    parts = lambda name: [(p["part"], p.get("head"), p.get("copy"), p.get("role")) for p in json.loads(told(name, "--json")).get("servers", {}).get("parts", [])]
    wanted = {"chief 0": [(0, "ps:0", "ps:1", None), (1, "ps:1", "ps:0", None)], "ps 0": [(0, None, None, "head"), (1, None, None, "copy")]}
    for name, those in wanted.items():
        expect(patience.until(lambda: parts(name) == those, 0.1), name, "says of parts", parts(name))  # pylint: disable=cell-var-from-loop
    expect(re.search(r"closures over parameter servers: \d+ wait, \d+ are out", told("chief 0")), "in words:", told("chief 0"))
    second_chief(stuck["chief 0"])
    with open(os.path.join(stuck["chief 0"].folder, "looked-0"), "w"):
        pass  # from here on the worker's data does not come
    codes = {name: task.finish(patience) for name, task in stuck.items()}
    said = stuck["chief 0"].out() + stuck["chief 0"].err()
    expect(codes["chief 0"] == 0 and "all promises kept: h" in said, "chief:", codes, said)
    expect(re.search(r"waiting for closure \d+, count batch, which worker 0 has had for ([5-9]|1\d) s", said), "it is not said who is waited for:", said)
    said = stuck["worker 0"].out() + stuck["worker 0"].err()
    expect(codes["worker 0"] == 1 and "for 12 s (.collective_timeout)" in said, "worker:", codes, said)
    codes = {name: task.finish(patience) for name, task in alone.items()}
    expect(codes == {"chief 0": 0, "worker 0": 1, "ps 0": 1}, "without the chief:", codes)
    for name in ("worker 0", "ps 0"):
        said = alone[name].out() + alone[name].err()
        expect("waiting for the chief, without which nothing goes on" in said and "waited 20 s for the chief (.wait_for_cluster)" in said, name, said)


def on_devices():
    """Closures that workers run on XLA's plug-in for the CPU: what is scheduled runs once, outputs come, variables are assigned, and losses are near those of one
    process on the device, of rows of tables, too."""
    if "cpu:" not in artel("devices").out.replace("cpu  ", ""):
        return
    device = {"ARTEL_CLOSURE_DEVICE": "cpu:xla"}
    keeps("1roa", env=device)
    keeps("1b", "adam:clipnorm=0.1", "fixed:2", env=device)
    keeps("1m", "adam", "fixed:2", env=device)


def example():
    """It learns; how well depends on who is late, so the bounds are wide."""
    ran = artel("launch", "--chief", "-n", 3, "--ps", 1, "--insecure-network", "--program", EXAMPLE, "--", 4, 100, timeout=600)
    told = [line.split("] ", 1)[-1] for line in ran.out.splitlines()]
    accuracy = [float(line.split()[-1]) for line in told if line.startswith("epoch")]
    expect(ran.rc == 0 and len(accuracy) == 4 and max(accuracy) > 0.7 and any(line.startswith("404 closures, ") for line in told), "example:", ran.out, ran.err)


def main():
    if not os.path.exists(EXAMPLE):
        print("the examples are not built here")
        return 77
    return run_checks(PS10_PS11_PS12_PS13_promises, VA7_PF6_values_of_workers, bits, variables_in_pieces, rows_of_tables, PS14_PS15_PS17_losses, copies_of_servers, a_stale_view, what_is_kept, an_estimator_goes_on, what_is_not_raised, PS2_only_inside_schedule, PS16_pauses, PS19_staggered_start, storm, refusals, waits_end, PS20_waits_are_named, on_devices, example)


sys.exit(main())
