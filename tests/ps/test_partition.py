# SPDX-License-Identifier: Apache-2.0
# timeout: 120
"""Partitioners and placement beside TensorFlow's: numbers of pieces of random shapes, and the rows and devices of the variables that a real
ParameterServerStrategy makes on two parameter servers in this process."""

import os
import random
import socket
import subprocess

os.environ["CUDA_VISIBLE_DEVICES"] = ""
import tensorflow as tf

PROGRAM = os.path.join(os.environ["ARTEL_BUILD"], "tests/ps/prog_partition")
P = tf.distribute.experimental.partitioners


def ask(lines, servers):
    ran = subprocess.run([PROGRAM, str(servers)], input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=60, check=True)
    return [[(int(w.split("@")[0]), w.split("@")[1]) for w in line.split()] for line in ran.stdout.splitlines()]


def make_rule(r):
    kind = r.choice(["fixed", "min", "max", "max-limited"])
    n, b = r.randint(1, 40), int(2 ** r.uniform(0, 22))
    if kind == "fixed":
        return f"fixed:{n}", P.FixedShardsPartitioner(n)
    if kind == "min":
        return f"min:{b}:{n}", P.MinSizePartitioner(b, n)
    if kind == "max":
        return f"max:{b}", P.MaxSizePartitioner(b)
    return f"max:{b}:{n}", P.MaxSizePartitioner(b, n)


def numbers_of_pieces():
    r = random.Random(7)
    lines, expected = [], []
    for _ in range(600):
        text, partitioner = make_rule(r)
        shape = [int(2 ** r.uniform(0, 12))] + [r.randint(1, 60) for _ in range(r.randint(0, 2))]
        dtype = r.choice([tf.float32, tf.float64, tf.bfloat16])
        lines.append(f"{text} {dtype.size} " + " ".join(map(str, shape)))
        expected.append(partitioner(tf.TensorShape(shape), dtype)[0])
    for line, pieces, want in zip(lines, ask(lines, 3), expected):
        assert len(pieces) == want, f"{line}: {len(pieces)} pieces, TensorFlow cuts {want}"
    assert max(expected) > 100 and expected.count(1) > 50


def variables_of_a_strategy():
    sockets = [socket.socket() for _ in range(3)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    addresses = [f"127.0.0.1:{s.getsockname()[1]}" for s in sockets]
    for s in sockets:
        s.close()
    cluster = tf.train.ClusterSpec({"worker": addresses[:1], "ps": addresses[1:]})
    servers = [tf.distribute.Server(cluster, job_name=job, task_index=i) for job, i in (("worker", 0), ("ps", 0), ("ps", 1))]
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(cluster, rpc_layer="grpc")
    strategy = tf.distribute.experimental.ParameterServerStrategy(resolver, variable_partitioner=P.MinSizePartitioner(64, 5))
    shapes = [[13, 4], [], [3], [100, 2], [7, 5], [1, 64], [17]]
    with strategy.scope():
        variables = [tf.Variable(tf.zeros(shape)) for shape in shapes]
    ours = ask([f"min:64:5 4 {' '.join(map(str, shape))}".strip() for shape in shapes], 2)
    for shape, variable, pieces in zip(shapes, variables, ours):
        shards = getattr(variable, "variables", [variable])
        theirs = [(s.shape[0] if s.shape.rank else 1, s.device.replace("/replica:0", "")) for s in shards]
        assert pieces == theirs, f"{shape}: {pieces}, TensorFlow has {theirs}"
    assert [n for n, _ in ours[0]] == [4, 3, 3, 3], ours[0]
    assert len(servers) == 3


def names_of_a_setter():
    setter = tf.compat.v1.train.replica_device_setter(ps_tasks=2)
    with tf.Graph().as_default() as graph, graph.device(setter):
        names = [tf.compat.v1.get_variable(f"v{i}", [2], use_resource=True).device for i in range(3)]
    assert names == [f"/job:ps/task:{i % 2}" for i in range(3)], names
    ours = ask(["none 4 2"] * 3, 2)
    assert [d.replace("/device:CPU:0", "") for line in ours for _, d in line] == names


if __name__ == "__main__":
    numbers_of_pieces()
    names_of_a_setter()
    variables_of_a_strategy()
    os._exit(0)  # the servers have no end of their own
