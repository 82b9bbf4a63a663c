# SPDX-License-Identifier: Apache-2.0
"""One worker of two of a peer: prints {"rate": examples a second of both together} as JSON on rank 0.

usage: cluster_peer.py tensorflow|torch MODEL BATCH_A_WORKER RANK PORT PORT
TensorFlow trains with MultiWorkerMirroredStrategy (RING) and a loop of its own (Keras' fit fails under it), PyTorch with
DistributedDataParallel over gloo. One thread each; the caller pins.
"""
import json
import os
import statistics
import sys
import time

import models

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
peer, name, batch, rank, ports = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5:7]
WORKERS = 2


def timed(step):
    """Median rate of three windows, of equally many steps in both workers."""
    count = models.MODELS[name]["steps"]
    for _ in range(max(3, count // 10)):
        step()
    rates = []
    for _ in range(3):
        start = time.perf_counter()
        for _ in range(count):
            step()
        rates.append(count * batch * WORKERS / (time.perf_counter() - start))
    return statistics.median(rates)


def tensorflow_step():
    os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": ["127.0.0.1:" + p for p in ports]}, "task": {"type": "worker", "index": rank}})
    import numpy as np
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(2)
    communication = tf.distribute.experimental.CommunicationOptions(implementation=tf.distribute.experimental.CommunicationImplementation.RING)
    strategy = tf.distribute.MultiWorkerMirroredStrategy(communication_options=communication)
    with strategy.scope():
        model = models.keras_model(name)
        model.optimizer.build(model.trainable_variables)
    x, y = models.batch_of(name, batch, np.random.default_rng(rank))
    x, y = [tf.constant(a) for a in x], tf.constant(y)

    def replica():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model.loss(y, model(x if len(x) > 1 else x[0], training=True))) / WORKERS
        model.optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return loss

    @tf.function
    def step():
        return strategy.experimental_local_results(strategy.run(replica))[0]

    return lambda: float(step())


def torch_step():
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=ports[0], RANK=str(rank), WORLD_SIZE=str(WORKERS))
    import numpy as np
    import torch

    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")
    model, loss, make = models.torch_model(name)
    x, y = models.batch_of(name, batch, np.random.default_rng(rank))
    x, y = [torch.from_numpy(a) for a in x], torch.from_numpy(y)
    x = [a.permute(0, 3, 1, 2).contiguous() if a.dim() == 4 else a.long() if a.dtype == torch.int32 else a for a in x]
    y = y.long() if y.dtype == torch.int32 else y
    if name == "resnet50":
        model, x = model.to(memory_format=torch.channels_last), [a.to(memory_format=torch.channels_last) for a in x]
    net = torch.nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
    optimizer = make(model)

    def step():
        optimizer.zero_grad(set_to_none=True)
        value = loss(net(*x), y)
        value.backward()
        optimizer.step()
        return float(value)

    return step


rate = timed(tensorflow_step() if peer == "tensorflow" else torch_step())
if rank == 0:
    print(json.dumps({"rate": rate}), flush=True)
os._exit(0)  # the peers' threads may wait for one another for a long time
