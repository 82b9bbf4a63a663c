# SPDX-License-Identifier: Apache-2.0
# timeout: 240
"""Tables of embeddings on parameter servers with real processes: which travel by rows, whose bits they have, and when a task is lost. Tables whose rows are
stepped alone (--embedding-updates lazy) beside TensorFlow's operations that step such rows."""

import re
import sys

import numpy as np
import tensorflow as tf
from cli import K, L, O, expect, run_checks, save
from oracle import artel, digest
from servers import launch, loses, one_process, path, plan, trains, words

TABLES = "npz:" + path("tables.npz") + "#a,b,c,y"
ROWS = 500


def tables(**odd):
    """Three tables: one that is averaged over five tokens, one whose last rows belong to a smaller piece, one that is smaller than a batch."""

    def build():
        a, b, c = K.Input((5,), dtype="int32", name="a"), K.Input((1,), dtype="int32", name="b"), K.Input((4,), name="c")
        big, few = L.Embedding(1000, 6, mask_zero=True, name="big")(a), L.Flatten()(L.Embedding(7, 3, name="few")(c[:, :1]))
        single = L.Flatten()(L.Embedding(3001, 9, name="odd", **odd)(b))
        h = L.Concatenate()([L.GlobalAveragePooling1D()(big), single, few, c])
        m = K.Model([a, b, c], L.Dense(3, activation="softmax")(L.Dropout(0.2)(L.Dense(16, activation="relu")(h))))
        m.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
        return m

    return build


def data():
    """Some tokens in nearly every batch, most in few, many in none; within a batch and within a record they repeat."""
    r = np.random.default_rng(1)
    a, b = r.zipf(1.2, (ROWS, 5)) % 1000, r.zipf(1.3, (ROWS, 1)) % 3001
    c = np.concatenate([r.integers(0, 7, (ROWS, 1)), r.normal(size=(ROWS, 3))], 1)
    np.savez(path("tables.npz"), a=a.astype("int32"), b=b.astype("int32"), c=c.astype("float32"), y=r.integers(0, 3, ROWS).astype("int32"))


data()
MODEL = save(tables(), path("tables.keras"))
RULES = ("sgd:learning_rate=0.1", "sgd:momentum=0.9,nesterov=true", "rmsprop:centered=true,momentum=0.5", "adagrad", "ftrl", "adadelta", "adamax", "nadam",
         "lion", "adamw", "adam:amsgrad=true", "adam:clipvalue=0.001", "adam:learning_rate=cosine_decay(initial=0.1,steps=15)")


def rules():
    """Late steps, sums over repeated tokens and squares of occurrences: one process has the same bits, whose walk of a table visits each row."""
    for i, rule in enumerate(RULES):
        more = ("--optimizer", rule, *(("--validation-batch-size", "100") if i % 2 else ()))  # more rows than a batch of training reads
        bits, kept = one_process(MODEL, TABLES, *more)
        workers, mode = ((1, "bounded:0"), (2, "sync"))[i % 2]
        h, _ = trains(workers, 2, MODEL, TABLES, "--consistency", mode, "--partitioner", "fixed:3", *more, falls=False)
        expect(digest(path("o.keras")) == bits and h == kept, "other bits with", rule, mode)


def placement(model, *more):
    ran = launch(1, 2, model, TABLES, "--explain", "--epochs", "1", *more)
    expect(ran.rc == 0, "exit code", ran.rc, ran.err[-400:])
    parts = re.split(r"^# parts, ", plan(ran), maxsplit=1, flags=re.M)[1].splitlines()
    return {t: any(t + "/embeddings" in line and "(rows travel alone)" in line for line in parts) for t in ("big", "odd", "few")}


def which():
    """Rows travel where a batch reads fewer than there are, and nothing wants the whole table; else the table does, with the same bits."""
    expect(placement(MODEL) == {"big": True, "odd": True, "few": False}, "of plain tables", placement(MODEL))
    for text in ("adam:clipnorm=0.1", "adam:use_ema=true", "lamb"):
        expect(not any(placement(MODEL, "--optimizer", text).values()), "rows travel with", text)
    for name, odd in (("embeddings_regularizer", "l2"), ("embeddings_constraint", "unit_norm")):
        model = save(tables(**{name: odd}), path("odd.keras"))
        expect(placement(model) == {"big": True, "odd": False, "few": False}, "with", name, placement(model))
        bits, _ = one_process(model, TABLES)
        trains(2, 2, model, TABLES, "--consistency", "sync")
        expect(digest(path("o.keras")) == bits, "other bits with", name)


def shared():
    """A table that two embeddings read, and one that a layer behind computes the tokens of."""

    def build():
        a, b, c = K.Input((5,), dtype="int32", name="a"), K.Input((1,), dtype="int32", name="b"), K.Input((4,), name="c")
        both, hashed = L.Embedding(3001, 4, name="big"), L.Embedding(1000, 4, name="odd")
        bucket = K.ops.minimum(b, 999)
        h = L.Concatenate()([L.Flatten()(both(a)), L.Flatten()(both(b)), L.Flatten()(hashed(bucket)), c])
        m = K.Model([a, b, c], L.Dense(3, activation="softmax")(h))
        m.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
        return m

    model = save(build, path("shared.keras"))
    told = placement(model)
    expect(told == {"big": False, "odd": True, "few": False}, "of two readers, and of computed tokens", told)
    bits, _ = one_process(model, TABLES)
    trains(2, 2, model, TABLES, "--consistency", "sync")
    expect(digest(path("o.keras")) == bits, "other bits")


def free():
    """Without order: every batch counts once, and it learns."""
    trains(3, 2, MODEL, TABLES, "--partitioner", "fixed:4", secure=True)
    trains(2, 2, MODEL, TABLES, "--consistency", "bounded:1")


def losing():
    """A lost worker in sync, and a lost server: rows that had waited for their steps have made them in the state that all go back to."""
    bits, _ = one_process(MODEL, TABLES, "--epochs", "20")
    loses("worker", 0, MODEL, TABLES, "--consistency", "sync")
    expect(digest(path("lost.keras")) == bits, "a lost worker changes bits in sync")
    loses("ps", 1, MODEL, TABLES, "--consistency", "sync", "--partitioner", "fixed:3")
    expect(digest(path("lost.keras")) == bits, "a lost server changes bits in sync")
    loses("worker", 1, MODEL, TABLES)


def lazy_adam(table, slots, o, tokens, g, step):
    """tensorflow_addons' LazyAdam: moments of the rows that a batch names move, and nothing else; the correction is that of the step,
    in float32 as Keras has it: 1 - 0.999 is off by 1.3e-5 of itself there."""
    m = o.beta_1 * tf.gather(slots[0], tokens) + (1 - o.beta_1) * g
    v = o.beta_2 * tf.gather(slots[1], tokens) + (1 - o.beta_2) * tf.square(g)
    slots[0].scatter_update(tf.IndexedSlices(m, tokens))
    slots[1].scatter_update(tf.IndexedSlices(v, tokens))
    beta_1, beta_2, count = (tf.constant(a, tf.float32) for a in (o.beta_1, o.beta_2, step))
    rate = RATE * tf.sqrt(1 - tf.pow(beta_2, count)) / (1 - tf.pow(beta_1, count))
    table.scatter_sub(tf.IndexedSlices(rate * m / (tf.sqrt(v) + o.epsilon), tokens))


def lazy_momentum(table, slots, o, tokens, g, step):
    tf.raw_ops.ResourceSparseApplyKerasMomentum(var=table.handle, accum=slots[0].handle, lr=RATE, grad=g, indices=tokens, momentum=o.momentum, use_nesterov=o.nesterov)


def lazy_rmsprop(table, slots, o, tokens, g, step):
    tf.raw_ops.ResourceSparseApplyRMSProp(var=table.handle, ms=slots[0].handle, mom=slots[1].handle, lr=RATE, rho=o.rho, momentum=o.momentum, epsilon=o.epsilon, grad=g, indices=tokens)


def lazy_adadelta(table, slots, o, tokens, g, step):
    tf.raw_ops.ResourceSparseApplyAdadelta(var=table.handle, accum=slots[0].handle, accum_update=slots[1].handle, lr=RATE, rho=o.rho, epsilon=o.epsilon, grad=g, indices=tokens)


RATE, LAZY_STEPS = 0.05, 26  # two epochs of 400 rows of 500
LAZY = (("adam", O.Adam, {}, lazy_adam), ("momentum", O.SGD, {"momentum": 0.9}, lazy_momentum), ("nesterov", O.SGD, {"momentum": 0.9, "nesterov": True}, lazy_momentum),
        ("rmsprop", O.RMSprop, {}, lazy_rmsprop), ("adadelta", O.Adadelta, {}, lazy_adadelta))


def lazy_model(optimizer):
    def build():
        x = K.Input((5,), dtype="int32", name="a")
        m = K.Model(x, L.Dense(3, activation="softmax", name="last")(L.Flatten()(L.Embedding(1000, 6, name="big")(x))))
        m.compile(optimizer(), "sparse_categorical_crossentropy", metrics=["accuracy"])
        return m

    return build


def by_tensorflow(file, step_rows):
    """The same steps, with the table stepped by TensorFlow's operation for rows, of the sum of a token's gradients; all else by Keras."""
    m, r = K.models.load_model(file), np.load(path("tables.npz"))
    o, table = m.optimizer, m.get_layer("big").embeddings.value
    slots, rest = [tf.Variable(tf.zeros_like(table)) for _ in range(2)], [v for v in m.trainable_variables if "big" not in v.path]
    for step in range(LAZY_STEPS):
        rows = slice(32 * (step % 13), min(32 * (step % 13) + 32, 400))
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(K.losses.sparse_categorical_crossentropy(r["y"][rows], m(r["a"][rows])))
        of_table, *others = tape.gradient(loss, [table, *(v.value for v in rest)])
        tokens, place = tf.unique(tf.reshape(of_table.indices, [-1]))
        g = tf.math.unsorted_segment_sum(of_table.values, place, tf.size(tokens))
        o.apply(others, rest) if o.built else (o.build(rest), o.apply(others))
        step_rows(table, slots, o, tokens, g, step + 1)
    return m


def lazy():
    """Rows that a batch does not name stay as they are, momenta too: the rows, and all else, of TensorFlow. Order and bits are promised as for exact ones."""
    for name, kind, more, step_rows in LAZY:
        file = save(lazy_model(lambda: kind(RATE, **more)), path("lazy.keras"))  # pylint: disable=cell-var-from-loop
        data, found = "npz:" + path("tables.npz") + "#a,y", set()
        for workers, servers, mode in ((1, 2, "bounded:0"), (2, 1, "sync"))[: 2 if name == "adam" else 1]:
            trains(workers, servers, file, data, "--no-shuffle", "--consistency", mode, "--partitioner", "fixed:3", "--embedding-updates", "lazy", falls=False)
            found.add(digest(path("o.keras")))
        expect(len(found) == 1, name, "other bits of other servers")
        theirs, ours = by_tensorflow(file, step_rows), K.models.load_model(path("o.keras"))
        for a, b in zip(ours.weights, theirs.weights):
            far = np.max(np.abs(np.asarray(a) - np.asarray(b)))
            expect(far < 4e-6, name, a.path, "is", far, "from TensorFlow's")
        bits, _ = one_process(file, data, "--no-shuffle")
        expect(bits not in found, name, "lazy steps are those of one process")


def lazy_or_not():
    """What else is said of it: tables that travel whole are stepped whole, another run's checkpoint is refused, and so is what does not fit."""
    bits, _ = one_process(MODEL, TABLES, "--optimizer", "adagrad")
    _, ran = trains(1, 2, MODEL, TABLES, "--consistency", "bounded:0", "--embedding-updates", "lazy", "--optimizer", "adagrad:clipvalue=100", "--explain", falls=False)
    expect(plan(ran).count("(rows travel and are stepped alone)") == 2, "what --explain says", plan(ran)[-600:])
    whole, _ = one_process(MODEL, TABLES, "--optimizer", "adam:clipnorm=0.1")
    keep = ("--checkpoint-dir", path("lazy"), "--consistency", "bounded:0", "--optimizer", "adam:clipnorm=0.1")
    trains(1, 1, MODEL, TABLES, *keep, "--embedding-updates", "lazy", falls=False)
    expect(digest(path("o.keras")) == whole and bits != whole, "other bits of tables that travel whole")
    for more, text in ((keep, "these differ: embedding updates"), (("--embedding-updates", "eager"), "exact or lazy"),
                       (("--embedding-updates", "lazy", "--consistency", "sync:1"), "in sync:1 tables travel whole")):
        ran = launch(1, 1, MODEL, TABLES, *more)
        expect(ran.rc == 1 and text in ran.err, "does not say", text, ran.rc, ran.err[-400:])


def outside():
    """A token that no table has is named, as by one process."""
    r = np.load(path("tables.npz"))
    arrays = {k: r[k].copy() for k in r.files}
    arrays["b"][3] = 3001
    np.savez(path("outside.npz"), **arrays)
    bad = "npz:" + path("outside.npz") + "#a,b,c,y"
    alone, ran = artel(*words(MODEL, bad)), launch(1, 1, MODEL, bad)
    expect(alone.rc == 1 and "holds the index 3001" in alone.err, "one process says", alone.err)
    expect(ran.rc == 1 and "holds the index 3001" in ran.err, "servers:", ran.rc, ran.err[-400:])


sys.exit(run_checks(rules, which, shared, free, losing, lazy, lazy_or_not, outside))
