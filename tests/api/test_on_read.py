# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""Variables ON_READ beside TensorFlow's under MirroredStrategy, on two replicas (VA2 to VA4). Each replica has one row where the meanings coincide for a mean (TensorFlow's
is over replicas, artel's over rows), and writes the sum of its rows where they do for a sum; a file of one is read by another number of replicas (VA3)."""
import os
import subprocess
import sys
import tempfile

import tensorflow as tf
from cli import expect, run_checks

PROGRAM = os.path.join(os.environ["ARTEL_BUILD"], "tests", "api", "prog_on_read")
ROWS = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]
DEVICES = 4
tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * DEVICES)


def strategy_of(replicas):
    return tf.distribute.MirroredStrategy([f"/cpu:{i}" for i in range(replicas)], cross_device_ops=tf.distribute.ReductionToOneDevice())


def variable(strategy, aggregation):
    with strategy.scope():
        return tf.Variable([0.0, 0.0], synchronization=tf.VariableSynchronization.ON_READ, aggregation=aggregation, trainable=False)


class Peer:
    """TensorFlow's side: what each call leaves to read."""

    def __init__(self, replicas, aggregation):
        self.strategy, self.lines = strategy_of(replicas), []
        self.v = variable(self.strategy, aggregation)
        self.reduce = tf.reduce_sum if aggregation == tf.VariableAggregation.SUM else lambda x, axis: x[0]

    def show(self, behind):
        self.lines.append((behind, self.v.read_value().numpy().tolist()))

    def run(self, name, how, rows):
        replicas = self.strategy.num_replicas_in_sync
        each = rows // replicas
        value = self.strategy.experimental_distribute_values_from_function(lambda c: tf.constant(ROWS[c.replica_id_in_sync_group * each:(c.replica_id_in_sync_group + 1) * each]))

        @tf.function
        def write():
            self.strategy.run(lambda x: getattr(self.v, how)(self.reduce(x, axis=0)), args=(value,))

        write()
        self.show(name)


def peer(replicas, then, aggregation, subtracted):
    """A sum takes any number of rows a replica; a mean and the first one as many replicas as rows."""
    p, folder = Peer(replicas, aggregation), tempfile.mkdtemp()
    p.run("add", "assign_add", 4)
    if subtracted:
        p.run("subtract", "assign_sub", 2)
    with p.strategy.scope():
        p.v.assign(tf.constant([10.0, 20.0]))
    p.show("set")
    p.run("add", "assign_add", 4)
    p.run("assign", "assign", 4)
    if subtracted:
        p.run("add", "assign_add", 2)
    path = tf.train.Checkpoint(v=p.v).write(os.path.join(folder, "ckpt"))
    q = Peer(then, aggregation)
    with q.strategy.scope():
        tf.train.Checkpoint(v=q.v).restore(path)
    q.show("restored")
    if then in (1, 2, 4) and (subtracted or then == 4):
        q.run("add", "assign_add", 4)
    return p.lines + q.lines


def mine(replicas, aggregation):
    ran = subprocess.run([PROGRAM, str(replicas), aggregation, tempfile.mkdtemp()], stdout=subprocess.PIPE, timeout=100)
    expect(ran.returncode == 0, replicas, aggregation, ran.stdout.decode())
    return [(name, [float(x) for x in values]) for name, *values in (line.split() for line in ran.stdout.decode().splitlines())]


def VA2_VA3_sum():
    """Whatever the number of replicas: TensorFlow's and artel's totals, also of a file that one more, or fewer, goes on from."""
    for replicas, then in ((1, 2), (2, 1), (2, 4)):
        wanted = peer(replicas, then, tf.VariableAggregation.SUM, subtracted=True)
        got = mine(replicas, "sum")
        expect(got == wanted, replicas, "then", then, got, wanted)


def VA2_VA3_mean_and_first():
    """With a row a replica the means are the same, and so is the first one; those with fewer rows than replicas have no counterpart in TensorFlow."""
    for name, aggregation in (("mean", tf.VariableAggregation.MEAN), ("only_first_replica", tf.VariableAggregation.ONLY_FIRST_REPLICA)):
        wanted, got = peer(DEVICES, DEVICES, aggregation, subtracted=False), mine(DEVICES, name)
        shown = [got[0], *got[2:5]]  # what is subtracted is replaced by what is set
        expect(shown == wanted[:4], name, shown, wanted[:4])
        expect(wanted[4] == ("restored", wanted[3][1]) and got[6] == ("restored", got[5][1]), name, "is restored as it was saved", got, wanted)


def VA4_errors():
    """What TensorFlow refuses; artel refuses it, too (test_conformance_on_read.c)."""
    strategy = strategy_of(2)
    def refused(word, call):
        try:
            with strategy.scope():
                call()
        except (ValueError, NotImplementedError) as error:
            expect(word in str(error), word, error)
            return
        expect(False, "TensorFlow takes", word)

    total = variable(strategy, tf.VariableAggregation.SUM)
    refused("assign_add", lambda: total.assign_add([1.0, 1.0]))
    refused("assign_sub", lambda: total.assign_sub([1.0, 1.0]))
    refused("scatter_add", lambda: total.scatter_add(tf.IndexedSlices([1.0], [0])))
    nothing = variable(strategy, tf.VariableAggregation.NONE)
    refused("NONE", nothing.read_value)
    for kind in (tf.VariableSynchronization.NONE, "never"):
        refused("variable: named", lambda: tf.Variable(1.0, name="named", synchronization=kind, aggregation=tf.VariableAggregation.SUM))
    for aggregation in (tf.VariableAggregation.MEAN, tf.VariableAggregation.ONLY_FIRST_REPLICA):
        taken = variable(strategy, aggregation)
        with strategy.scope():
            taken.assign_add([1.0, 2.0])
        expect(taken.read_value().numpy().tolist() == [1.0, 2.0], aggregation, taken)


sys.exit(run_checks(VA2_VA3_sum, VA2_VA3_mean_and_first, VA4_errors))
