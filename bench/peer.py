# SPDX-License-Identifier: Apache-2.0
"""One peer, one model, one process: prints {"rate": examples a second (median of windows), "rss": MB} as JSON.

usage: peer.py tensorflow:function|tensorflow:xla|torch:eager|torch:channels_last|torch:compile MODEL BATCH THREADS
"""
import json
import os
import resource
import statistics
import sys
import time

import models

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
peer, name, batch, threads = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])


def timed(step):
    """Median rate of three windows of about a second each, after a warm-up."""
    for _ in range(3):
        step()
    start = time.perf_counter()
    step()
    count = max(1, int(1.0 / max(time.perf_counter() - start, 1e-6)))
    rates = []
    for _ in range(3):
        start = time.perf_counter()
        for _ in range(count):
            step()
        rates.append(count * batch / (time.perf_counter() - start))
    return statistics.median(rates)


def tensorflow_step(xla):
    import numpy as np
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    model = models.keras_model(name)
    x, y = models.batch_of(name, batch, np.random.default_rng(1))
    x, y = [tf.constant(a) for a in x], tf.constant(y)
    model.optimizer.build(model.trainable_variables)

    @tf.function(jit_compile=xla)
    def step():
        with tf.GradientTape() as tape:
            loss = model.loss(y, model(x if len(x) > 1 else x[0], training=True))
        model.optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
        return loss

    return lambda: float(step())


def torch_step(mode):
    import numpy as np
    import torch

    torch.set_num_threads(threads)
    model, loss, make = models.torch_model(name)
    x, y = models.batch_of(name, batch, np.random.default_rng(1))
    x, y = [torch.from_numpy(a) for a in x], torch.from_numpy(y)
    x = [a.permute(0, 3, 1, 2).contiguous() if a.dim() == 4 else a.long() if a.dtype == torch.int32 else a for a in x]
    y = y.long() if y.dtype == torch.int32 else y
    if mode == "channels_last":
        model, x = model.to(memory_format=torch.channels_last), [a.to(memory_format=torch.channels_last) if a.dim() == 4 else a for a in x]
    optimizer = make(model)
    run = torch.compile(model) if mode == "compile" else model

    def step():
        optimizer.zero_grad(set_to_none=True)
        value = loss(run(*x), y)
        value.backward()
        optimizer.step()
        return float(value)

    return step


framework, mode = peer.split(":")
rate = timed(tensorflow_step(mode == "xla") if framework == "tensorflow" else torch_step(mode))
print(json.dumps({"rate": rate, "rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
