# SPDX-License-Identifier: Apache-2.0
"""One peer, one model, one process: for each line of its input it trains for about a second and prints
{"rate": examples a second, "rss": MB at the peak} as JSON.

usage: peer.py tensorflow:function|tensorflow:xla|tensorflow:raw|torch:eager|torch:channels_last|torch:compile MODEL BATCH THREADS

tensorflow:raw is for the wide models: TensorFlow's own operations that change the rows of a table, without Keras' optimizer (which also
handles rows, at other costs). Models with tables see another batch at every step, or all their rows would lie in a cache.
"""
import itertools
import json
import os
import resource
import sys
import time

import models

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
peer, name, batch, threads = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])


def serve(step):
    """Answers every line of the input with the rate of a window of about a second, after steps that warm up."""
    for _ in range(3):
        step()
    start = time.perf_counter()
    step()
    count = max(1, int(1.0 / max(time.perf_counter() - start, 1e-6)))
    for _ in sys.stdin:
        step()  # the caches are another program's
        start = time.perf_counter()
        for _ in range(count):
            step()
        rate = count * batch / (time.perf_counter() - start)
        print(json.dumps({"rate": rate, "rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}), flush=True)


def batches(convert):
    """What each step takes in turn: one batch, or many where it matters which rows it names."""
    import numpy as np

    rng = np.random.default_rng(1)
    made = [models.batch_of(name, batch, rng) for _ in range(64 if name in models.WIDE else 1)]
    return itertools.cycle([([convert(a) for a in x], convert(y)) for x, y in made])


def raw_step():
    """The wide models by hand: gradients of what was looked up, rows added up, and one operation that changes them."""
    import numpy as np
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    rng, n, w = np.random.default_rng(1), models.TABLES, models.TABLE_WIDTH
    tables = [tf.Variable(rng.uniform(-0.05, 0.05, (models.TABLE_ROWS, w)).astype("float32")) for _ in range(n)]
    sums = [tf.Variable(tf.fill((models.TABLE_ROWS, w), 0.1)) for _ in range(n)] if name == "wide_adagrad" else None
    dense = [tf.Variable(rng.uniform(-0.1, 0.1, s).astype("float32")) for s in ((n * w, 64), (64,), (64, 1), (1,))]
    dense_sums = [tf.Variable(tf.fill(v.shape, 0.1)) for v in dense]
    data = batches(tf.constant)

    @tf.function
    def step(ids, y):
        ids = [tf.reshape(i, (-1,)) for i in ids]
        found = [tf.gather(t, i) for t, i in zip(tables, ids)]
        with tf.GradientTape() as tape:
            tape.watch(found)
            z = tf.nn.relu(tf.concat(found, 1) @ dense[0] + dense[1]) @ dense[2] + dense[3]
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(y, z))
        of_rows, of_dense = tape.gradient(loss, [found, dense])
        for k in range(n):
            if sums:
                tf.raw_ops.ResourceSparseApplyAdagradV2(var=tables[k].handle, accum=sums[k].handle, lr=0.01, epsilon=1e-7, grad=of_rows[k], indices=ids[k])
            else:
                tf.raw_ops.ResourceScatterSub(resource=tables[k].handle, indices=ids[k], updates=0.01 * of_rows[k])
        for k, g in enumerate(of_dense):
            if sums:
                tf.raw_ops.ResourceApplyAdagradV2(var=dense[k].handle, accum=dense_sums[k].handle, lr=0.01, epsilon=1e-7, grad=g)
            else:
                tf.raw_ops.ResourceApplyGradientDescent(var=dense[k].handle, alpha=0.01, delta=g)
        return loss

    return lambda: float(step(*next(data)))


def tensorflow_step(xla):
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    model = models.keras_model(name)
    data = batches(tf.constant)
    model.optimizer.build(model.trainable_variables)

    @tf.function(jit_compile=xla)
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = model.loss(y, model(x if len(x) > 1 else x[0], training=True))
        model.optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
        return loss

    return lambda: float(step(*next(data)))


def torch_step(mode):
    import torch

    torch.set_num_threads(threads)
    model, loss, make = models.torch_model(name)

    def convert(array):
        a = torch.from_numpy(array)
        a = a.permute(0, 3, 1, 2).contiguous() if a.dim() == 4 else a.long() if a.dtype == torch.int32 else a
        return a.to(memory_format=torch.channels_last) if mode == "channels_last" and a.dim() == 4 else a

    data = batches(convert)
    if mode == "channels_last":
        model = model.to(memory_format=torch.channels_last)
    optimizer = make(model)
    run = torch.compile(model) if mode == "compile" else model

    def step():
        x, y = next(data)
        optimizer.zero_grad(set_to_none=True)
        value = loss(run(*x), y)
        value.backward()
        optimizer.step()
        return float(value)

    return step


framework, mode = peer.split(":")
serve(raw_step() if mode == "raw" else tensorflow_step(mode == "xla") if framework == "tensorflow" else torch_step(mode))
