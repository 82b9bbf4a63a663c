# SPDX-License-Identifier: Apache-2.0
# timeout: 240
"""Which parameter server owns what: --ps-placement beside the devices that TensorFlow's ParameterServerStrategy gives the same model; bits do not depend on it."""

import os
import re
import sys

import numpy as np
from cli import K, L, expect, run_checks, save
from cluster import free_ports
from oracle import digest
from servers import launch, one_process, path, plan, trains

import tensorflow as tf

SERVERS = 3
DATA = "npz:" + path("placed.npz") + "#a,c,y"
PIECE = re.compile(r"^ps (\d+): ([\w/]+)( \(.*\))?$", re.M)


def model():
    """Tables, moving statistics, and a frozen layer in between: what takes a turn among servers without being owned by one."""
    a, c = K.Input((2,), dtype="int32", name="a"), K.Input((4,), name="c")
    h = L.Concatenate()([L.Flatten()(L.Embedding(3000, 16, name="table")(a)), L.BatchNormalization(name="norm")(c)])
    h = L.Dense(64, activation="relu", name="one")(h)
    h = L.Dense(32, activation="relu", name="still", trainable=False)(h)
    h = L.Dense(256, activation="relu", name="two")(h)
    m = K.Model([a, c], L.Dense(3, activation="softmax", name="last")(h))
    m.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return m


r = np.random.default_rng(4)
np.savez(path("placed.npz"), a=r.integers(0, 3000, (500, 2)).astype("int32"), c=r.normal(size=(500, 4)).astype("float32"), y=r.integers(0, 3, 500).astype("int32"))
MODEL = save(model, path("placed.keras"))


def tensorflow():
    """The server of each variable, by name, as a strategy of as many servers in this process places them."""
    address = ["127.0.0.1:%d" % p for p in free_ports(1 + SERVERS)]
    cluster = tf.train.ClusterSpec({"worker": address[:1], "ps": address[1:]})
    servers = [tf.distribute.Server(cluster, job_name=job, task_index=i) for job, i in [("worker", 0), *(("ps", k) for k in range(SERVERS))]]
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(cluster, rpc_layer="grpc")
    strategy = tf.distribute.experimental.ParameterServerStrategy(resolver)
    with strategy.scope():
        made = model()
    expect(len(servers) == 1 + SERVERS, "servers")
    return {v.path: int(re.search(r"job:ps/.*task:(\d+)", v.value.device).group(1)) for v in made.variables if "seed" not in v.path}


def placed(said):
    return {name: int(server) for server, name, _ in PIECE.findall(said) if "/" in name}


def skew(said):
    return float(re.search(r"has ([0-9.]+) times the mean bytes", said).group(1))


def PS4_in_turn():
    """By name, all servers are those that TensorFlow has chosen."""
    theirs = tensorflow()
    _, ran = trains(1, SERVERS, MODEL, DATA, "--ps-placement", "round-robin", "--explain", falls=False)
    ours = placed(plan(ran))
    expect("# parts, placed by round-robin; " in plan(ran), plan(ran)[-600:])
    expect(len(ours) == 11 and ours == {name: theirs[name] for name in ours}, "ours", ours, "theirs", theirs)
    expect(set(theirs) - set(ours) == {"still/kernel", "still/bias"}, "owned by none", set(theirs) - set(ours))


def same_bits():
    """Each has the bits of one process, and says how even it is; whoever is told to stay stays."""
    alone, kept = one_process(MODEL, DATA)
    told = {}
    for how in ("round-robin", "bytes", "traffic"):
        h, ran = trains(2, 2, MODEL, DATA, "--consistency", "sync", "--ps-placement", how, "--explain", falls=False)
        expect(digest(path("o.keras")) == alone and h == kept, "other bits", how)
        told[how] = plan(ran)
        expect(how == "traffic" or " goes from " not in ran.err, how, ran.err[-800:])
        expect("# parts, placed by %s" % how in told[how], how, told[how][-600:])
    expect(placed(told["bytes"]) != placed(told["round-robin"]), "both are placed alike")
    expect(skew(told["bytes"]) < skew(told["round-robin"]), "bytes are no more even", skew(told["bytes"]))


def unknown():
    ran = launch(1, 1, MODEL, DATA, "--ps-placement", "nearest")
    expect(ran.rc == 1 and '"nearest" is not a placement' in ran.err and "--ps-placement" in ran.err and "round-robin" in ran.err, ran.rc, ran.err[-600:])


if __name__ == "__main__":
    code = run_checks(PS4_in_turn, same_bits, unknown)
    sys.stdout.flush()
    os._exit(code)  # TensorFlow's servers have no end of their own
