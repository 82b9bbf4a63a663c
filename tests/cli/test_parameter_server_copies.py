# SPDX-License-Identifier: Apache-2.0
# timeout: 240
# long form: 1800
"""Copies of parts on parameter servers with real processes: a lost server costs no update, two at once cost what is said."""

import json
import os
import random
import re
import signal
import sys
import time

from cli import K, L, O, expect, run_checks, save, save_arrays
from cluster import Patience
from oracle import artel, digest
from servers import STEPS, Job, launch, one_process, path, rests, trains

LONG = os.environ.get("ARTEL_LONG", "") not in ("", "0")
DATA = save_arrays("mlp", path("d.npz"), 500)


def plain():
    m = K.Sequential([K.Input((20,)), L.Dense(64, activation="relu"), L.BatchNormalization(), L.Dense(33, activation="relu"), L.Dense(10, activation="softmax")])
    m.compile(O.Adam(0.003), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return m


def smooth():
    m = K.Sequential([K.Input((20,)), L.Dense(64, activation="relu"), L.Dense(33, activation="relu"), L.Dense(10, activation="softmax")])
    m.compile(O.Adam(0.003), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return m


MODEL, SMOOTH = save(plain, path("m.keras")), save(smooth, path("s.keras"))


def without_loss():
    """Copies change no bit: of one worker in rounds, with variables that are cut, and in sync. Where there are two servers, each has a copy unless told otherwise."""
    bits, kept = one_process(SMOOTH, DATA)
    for workers, servers, mode, cut, copies in ((1, 2, "bounded:0", "none", 2), (1, 3, "bounded:0", "fixed:4", 3), (2, 2, "sync", "fixed:3", None), (2, 3, "sync", "none", 3), (1, 2, "sync", "none", 1)):
        h, ran = trains(workers, servers, SMOOTH, DATA, "--consistency", mode, "--partitioner", cut, *(("--ps-copies", copies) if copies else ()))
        copies = copies or 2
        expect(digest(path("o.keras")) == bits and h == kept, "other bits with", workers, servers, mode)
        expect(ran.err.count("has a copy") == servers * (copies - 1), "who has a copy is not said", ran.err[-400:])
    trains(3, 2, MODEL, DATA, "--ps-copies", 2)


def a_server():
    """One worker in rounds: the bits are those of a run that has lost nobody, so no update was lost, doubled or made again."""
    bits, _ = one_process(SMOOTH, DATA, "--epochs", "20")
    for servers, index in ((2, 0), (3, 1)):
        job = Job(1, servers, SMOOTH, DATA, "--consistency", "bounded:0", "--ps-copies", 2, "--partitioner", "fixed:3")
        expect(job.chief.until_step(STEPS + 3), "no steps:", job.chief.err())
        job.kill(("ps", index))
        said = job.ends()
        expect("no update is lost" in said and "are made again" not in said, "what was lost", said)
        expect(("has a new copy" in said) == (servers > 2) and ("one parameter server left" in said) == (servers == 2), "of copies", said)
        expect(digest(job.out) == bits, "other bits without", index, "of", servers)


def one_after_another():
    """Each server is killed once, and comes back, in turn; a worker between them. The run goes on until all that has been seen."""
    job = Job(2, 2, MODEL, DATA, "--ps-copies", 2, epochs=None)
    expect(job.chief.until_step(STEPS + 3), "no steps:", job.chief.err())
    job.chief.drain()
    for who in (("ps", 0), ("worker", 1), ("ps", 1)):
        copies, joined = job.chief.err().count("has a new copy"), job.joined()
        job.kill(who)
        job.restart(who)
        back = Patience(60).until(lambda: job.joined() > joined)  # pylint: disable=cell-var-from-loop
        expect(back, who, "does not come back", job.chief.err()[-800:], job.tasks[who].err()[-400:])
        copied = who[0] != "ps" or Patience(60).until(lambda: job.chief.err().count("has a new copy") > copies)  # pylint: disable=cell-var-from-loop
        expect(copied, "no new copy after", who, job.chief.err()[-800:])
    expect("are made again" not in job.stops(), "updates were lost", job.chief.err())


def sleeps(job, copy, head, copies):
    """Stops the copy, and gives the last step then. Of two, whose copy has parts of its own, all workers may happen to wait for these, and the head for nothing: then it
    is tried again."""
    for _ in range(20):
        copy.send_signal(signal.SIGSTOP)
        job.drain()
        expect(rests(job), "they go on without a copy:", job.chief.last_step())
        asleep_at = job.chief.last_step()
        if copies > 2 or Patience(4).until(lambda: re.search(r"waiting for an answer of ps 1 \(.*\), \d+ s", head.err())):
            return asleep_at
        copy.send_signal(signal.SIGCONT)
        expect(Patience(60).until(lambda: job.chief.last_step() > asleep_at + STEPS), "nobody goes on:", job.chief.err()[-800:])  # pylint: disable=cell-var-from-loop
    return expect(False, "the head does not say for whom it waits", head.err()[-400:])


def asleep():
    """Nothing is acknowledged while a copy sleeps, though its head lives and goes on ahead of it: so nothing is lost with the head."""
    for copies in (2, 3):
        job = Job(2, copies, MODEL, DATA, "--ps-copies", copies, "--suspect-after", 600, epochs=None)
        expect(job.chief.until_step(STEPS + 3), "no steps:", job.chief.err())
        copy, head = job.tasks["ps", copies - 1].process, job.tasks["ps", 0]
        asleep_at = sleeps(job, copy, head, copies)
        job.kill(("ps", 0))
        copy.send_signal(signal.SIGCONT)
        expect(Patience(60).until(lambda: job.chief.last_step() > asleep_at + STEPS), "nobody goes on:", job.chief.err()[-800:])  # pylint: disable=cell-var-from-loop
        expect("are made again" not in job.stops(), "updates were lost", job.chief.err())


def both():
    """Head and copy at once: all go back to the last whole state, and the cost is said; with a second copy there is none."""
    bits, _ = one_process(SMOOTH, DATA, "--epochs", "20")
    for copies in (2, 3):
        job = Job(1, 3, SMOOTH, DATA, "--consistency", "bounded:0", "--ps-copies", copies)
        expect(job.chief.until_step(STEPS + 3), "no steps:", job.chief.err())
        job.kill(("ps", 0), ("ps", 1))
        said = job.ends()
        lost = re.findall(r"all go back to step (\d+); (\d+) updates that were applied since are made again", said)
        expect(len(lost) == (copies == 2) and ("are made again" in said) == (copies == 2), "the cost", said)
        steps = [e["step"] for e in job.chief.events() if e["event"] == "step"]
        for back, again in lost:  # to the end of an epoch; what had been applied when the servers fell, and is told of once more
            expect(int(back) % STEPS == 0 and int(back) >= STEPS, "back to step", back)
            expect(int(back) + int(again) >= STEPS + 3 and int(again) < STEPS, "made again since step", back, again)
            told = sum(steps.count(step) - 1 for step in set(steps))
            expect(told <= int(again), "steps that came twice", told, "and", again, "updates are said to be made again")
        expect(set(steps) == set(range(1, 20 * STEPS + 1)), "steps", sorted(set(range(1, 20 * STEPS + 1)) - set(steps)))
        expect(digest(job.out) == bits, "other bits with", copies)


def fall(job, dice, kills):
    """Random tasks are killed and started again, one at a time; how many, before the run was over."""
    for n in range(kills):
        who = dice.choice([who for who in job.start if who[0] != "chief"])
        if job.chief.process.poll() is not None or job.tasks[who].process.poll() is not None:
            return n
        joined = job.joined()
        job.kill(who)
        job.restart(who)
        Patience(60).until(lambda: job.joined() > joined or job.chief.process.poll() is not None)  # pylint: disable=cell-var-from-loop
        time.sleep(dice.random())
    return kills


def storm():
    """Each update counts once, and none is made again but in sync, whose bits are those of one process. In async until all have been killed."""
    for mode, kills, epochs, copies in (("async", 200, None, 2), ("async", 50, None, 3), ("bounded:1", 30, 2000, 2), ("sync", 200, 24000, 2)) if LONG else ():
        bits = one_process(SMOOTH, DATA, "--epochs", epochs)[0] if mode == "sync" else None
        job = Job(2, 3, SMOOTH, DATA, "--consistency", mode, "--ps-copies", copies, epochs=epochs)
        expect(job.chief.until_step(STEPS), "no steps:", job.chief.err())
        job.chief.drain()
        killed = fall(job, random.Random(26), kills)
        said = job.ends(600) if epochs else job.stops(600)
        print("        %s, %d copies: %d kills, %d times back" % (mode, copies, killed, said.count("are made again")), flush=True)
        expect(epochs or killed == kills, "it ended after", killed, "kills", said[-2000:])
        expect(bits is None or digest(job.out) == bits, "other bits in", mode)
        expect(mode == "sync" or "are made again" not in said, "updates were lost in", mode, said[-2000:])


def seeing():
    """What artel status says of parts, at the chief and at servers, before and after one is lost."""
    job = Job(2, 3, SMOOTH, DATA, "--ps-copies", 2, "--insecure-network", epochs=None)
    config = json.loads(job.start["chief", 0][1]["TF_CONFIG"])["cluster"]

    def ask(address, *more):
        return artel("status", address, "--insecure-network", *more)

    def servers(address):
        said = ask(address, "--json")
        return json.loads(said.out).get("servers", {}) if said.rc == 0 else {}

    def until(ready):
        expect(Patience(60).until(lambda: ready(servers(config["chief"][0])), 0.1), "not in time", servers(config["chief"][0]), job.chief.err()[-400:])

    expect(job.chief.until_step(STEPS + 3), "no steps:", job.chief.err())
    job.chief.drain()
    until(lambda told: told.get("staleness", {}).get("updates", 0) > 0)
    told = servers(config["chief"][0])
    expect([(p["head"], p["copy"]) for p in told["parts"]] == [("ps:0", "ps:1"), ("ps:1", "ps:2"), ("ps:2", "ps:0")], "parts", told)
    expect(sum(p["bytes"] for p in told["parts"]) >= 4 * (20 * 64 + 64 + 64 * 33 + 33 + 33 * 10 + 10), "bytes", told)
    expect(told["consistency"] == "async" and 0 <= told["queue"] < STEPS and 0 <= told["out"] <= 4, "items", told)
    own = lambda: servers(config["ps"][1]).get("parts", [])  # said a few times a second
    there = lambda: [(p["part"], p["role"]) for p in own()] == [(0, "copy"), (1, "head")] and all(p["updates"] > STEPS for p in own())
    expect(Patience(60).until(there, 0.1), "of a server", own())
    words = ("parameter servers, async, placed by traffic: ", "bytes: ps:0, copy ps:1", "staleness of")  # the last one not yet, when a task has just joined
    expect(Patience(60).until(lambda: all(word in ask(config["chief"][0]).out for word in words), 0.1), "in words", ask(config["chief"][0]).out)
    job.kill(("ps", 1))
    until(lambda told: [(p["head"], p["copy"]) for p in told.get("parts", [])] in ([("ps:0", "ps:2"), ("ps:2", "ps:0"), ("ps:2", "ps:0")],))
    job.stops()


def PS18_states_of_tasks():
    """Every task, whatever it does, can be asked how all tasks are; one that is silent is missed by its heartbeat, and comes back."""
    job = Job(2, 2, SMOOTH, DATA, "--ps-copies", 2, "--insecure-network", "--suspect-after", "3s", epochs=None)
    config = json.loads(job.start["chief", 0][1]["TF_CONFIG"])["cluster"]
    names = {"%s:%d" % who for who in job.start}

    def states(kind, index):
        said = artel("status", config[kind][index], "--insecure-network", "--json")
        return {t["task"]: t["member"] for t in json.loads(said.out)["tasks"]} if said.rc == 0 else {}

    expect(job.chief.until_step(STEPS + 3), "no steps:", job.chief.err())
    job.drain()
    for kind, index in job.start:
        expect(Patience(60).until(lambda: states(kind, index) == dict.fromkeys(names, True), 0.1), kind, index, states(kind, index))  # pylint: disable=cell-var-from-loop
    job.tasks["ps", 1].process.send_signal(signal.SIGSTOP)
    for kind in ("chief", "worker", "ps"):
        missed = Patience(60).until(lambda: states(kind, 0) == {**dict.fromkeys(names, True), "ps:1": False}, 0.1)  # pylint: disable=cell-var-from-loop
        expect(missed, "a silent server is not missed by", kind, states(kind, 0))
    job.tasks["ps", 1].process.send_signal(signal.SIGCONT)
    expect(Patience(60).until(lambda: states("worker", 1) == dict.fromkeys(names, True), 0.1), "it does not come back", states("worker", 1))
    job.stops()


def refuses():
    for servers, copies, text in ((1, 2, "need as many ps tasks"), (2, 3, "need as many ps tasks"), (2, 4, "--ps-copies")):
        ran = launch(1, servers, SMOOTH, DATA, "--ps-copies", copies)
        expect(ran.rc != 0 and text in ran.err, "does not say", text, ran.err[-400:])


sys.exit(run_checks(without_loss, a_server, one_after_another, asleep, both, seeing, PS18_states_of_tasks, storm, refuses))
