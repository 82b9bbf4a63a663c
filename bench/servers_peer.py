# SPDX-License-Identifier: Apache-2.0
"""One task of TensorFlow's ParameterServerStrategy, by TF_CONFIG, for servers.py. usage: servers_peer.py ROWS STEPS BATCH DATA.npz; the
chief prints seconds. The model is that of servers.py; Keras 3 has no such strategy, so the step and SGD are written with TensorFlow."""
import json
import os
import sys
import time

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

rows, steps, batch, data = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(2)
resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
if resolver.task_type in ("worker", "ps"):
    tf.distribute.Server(resolver.cluster_spec(), job_name=resolver.task_type, task_index=resolver.task_id, protocol="grpc", start=True).join()

strategy = tf.distribute.ParameterServerStrategy(resolver)
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
RATE = 0.05
with strategy.scope():
    tables = [tf.Variable(tf.random.uniform((rows, 16), -0.05, 0.05)) for _ in range(8)]
    w1, b1 = tf.Variable(tf.random.normal((128, 64), stddev=0.1)), tf.Variable(tf.zeros(64))
    w2, b2 = tf.Variable(tf.random.normal((64, 1), stddev=0.1)), tf.Variable(tf.zeros(1))
dense = [w1, b1, w2, b2]


def dataset():
    arrays = np.load(data)
    return tf.data.Dataset.from_tensor_slices((arrays["x"], arrays["y"])).shuffle(20000).repeat().batch(batch, drop_remainder=True).prefetch(2)


def step(iterator):
    x, y = next(iterator)
    with tf.GradientTape() as tape:
        h = tf.concat([tf.gather(t, x[:, i]) for i, t in enumerate(tables)], 1)
        z = tf.matmul(tf.nn.relu(tf.matmul(h, w1) + b1), w2) + b2
        loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=z))
    gradient = tape.gradient(loss, tables + dense)
    for t, g in zip(tables, gradient):
        t.scatter_sub(tf.IndexedSlices(RATE * g.values, g.indices))
    for v, g in zip(dense, gradient[8:]):
        v.assign_sub(RATE * g)
    return loss


work = tf.function(step)
iterator = iter(coordinator.create_per_worker_dataset(dataset))
for _ in range(20):
    coordinator.schedule(work, args=(iterator,))
coordinator.join()
begin = time.monotonic()
for _ in range(steps):
    coordinator.schedule(work, args=(iterator,))
coordinator.join()
print(json.dumps({"seconds": time.monotonic() - begin}), flush=True)
