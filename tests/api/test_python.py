# SPDX-License-Identifier: Apache-2.0
# timeout: 120
"""The Python module (python/artel): its structs are those of the headers; what it trains is what the command line trains, to the bit;
callbacks, their failures, wrong arrays and settings."""
import ctypes
import gc
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import threading

import numpy as np

from api.header import Headers

SOURCE, BUILD = os.environ["ARTEL_SOURCE"], os.environ["ARTEL_BUILD"]
os.environ["ARTEL_LIBRARY"] = BUILD + "/libartel.so"
sys.path.insert(0, SOURCE + "/python")
import artel  # noqa: E402
from artel import functions, graphs, watch  # noqa: E402

FOLDER = tempfile.TemporaryDirectory()
RECORD = """{"class_name": "Sequential", "config": {"name": "m", "layers": [{"class_name": "InputLayer", "config": {"batch_shape": [null, 6],
"dtype": "float32", "name": "in"}}, {"class_name": "Dense", "config": {"name": "a", "units": 5, "activation": "tanh"}}, {"class_name":
"Dropout", "config": {"name": "b", "rate": 0.25}}, {"class_name": "Dense", "config": {"name": "c", "units": 3, "activation": "softmax"}}]}}"""


def path(name):
    return os.path.join(FOLDER.name, name)


def expect(condition, *what):
    if not condition:
        sys.exit("FAILED: " + " ".join(map(str, what)))


def refuses(kind, text, call):
    try:
        call()
    except kind as error:
        expect(text in str(error), "no word of", text, "in:", error)
        return error
    sys.exit("FAILED: accepted, and %s was due" % text)


def compare_structs():
    headers = Headers(SOURCE + "/include/artel")
    pairs = {"artel_fit_options": artel._FitOptions, "artel_evaluate_options": artel._EvaluateOptions, "artel_event": artel._Event,
             "artel_strategy_options": functions._StrategyOptions, "artel_argument": functions._Argument, "artel_array": functions._Values,
             "artel_variable_options": graphs._VariableOptions, "artel_function_options": graphs._FunctionOptions, "artel_choice": graphs._Choice, "artel_loop": graphs._Loop,
             "artel_scan": graphs._Scan, "artel_watch_options": watch._Options, "artel_checkpoint_info": watch._Info,
             "artel_data_array": artel._Array, "artel_string": artel._String, "artel_shape": artel._Shape, "artel_metric_value": artel._Metric, "artel_error": artel._Record}
    for name, ours in pairs.items():
        theirs = headers.structs[name]
        for field, *_ in ours._fields_:
            expect(getattr(ours, field).offset == getattr(theirs, field).offset, name, field, "lies elsewhere")
        if ours not in (artel._Event, artel._FitOptions, artel._EvaluateOptions):  # heads of what may grow
            expect(ctypes.sizeof(ours) == ctypes.sizeof(theirs), name, "has another size")


def new_model():
    model = artel.load(path("m.json"))
    model.compile("adam", "sparse_categorical_crossentropy", "accuracy")
    return model


def saved_functions(x):
    """What a C program has saved: its prediction, computed once more with NumPy."""
    file = path("predict.artel")
    subprocess.run([os.path.join(BUILD, "tests", "api", "prog_saved"), "cut", file], check=True, stdout=subprocess.DEVNULL)
    held = artel.load_functions(file, strategy="mirrored", replicas=3)
    predict = held["predict"]
    y = predict(x)
    w, b, w1, b1 = (held.variable(name) for name in ("dense/kernel", "dense/bias", "dense_1/kernel", "dense_1/bias"))
    gamma, beta, mean, variance = (held.variable("batch_normalization/" + name) for name in ("gamma", "beta", "moving_mean", "moving_variance"))
    z = x @ w + b
    h = 0.5 * z * (1 + np.vectorize(math.erf)(z / math.sqrt(2)))
    truth = ((h - mean) / np.sqrt(variance + 1e-3) * gamma + beta) @ w1 + b1
    expect(predict.arguments == ["x"] and y.shape == (len(x), 4) and np.allclose(y, truth, atol=1e-5), np.abs(y - truth).max())
    held.save(path("again.artel"))
    again = artel.load_functions(path("again.artel"))["predict"](x.astype("float64"))
    expect(np.array_equal(y, again), "one replica, of a file that was saved again, gives other bits")
    refuses(artel.Error, "no such function", lambda: held["absent"])
    refuses(TypeError, "1 arrays", lambda: predict(x, x))
    refuses(artel.Error, "", lambda: predict(x[:, :3]))
    refuses(TypeError, "the file's", lambda: artel.load_functions(file, seed=3))
    refuses(artel.Error, "not a", lambda: artel.load_functions(path("m.json")))


def texts(y):
    """Text in NumPy's forms feeds a model that takes it: alike, and as from a file."""
    record = {"class_name": "Sequential", "config": {"name": "t", "layers": [
        {"class_name": "InputLayer", "config": {"batch_shape": [None, 1], "dtype": "string", "name": "words"}},
        {"class_name": "StringLookup", "config": {"name": "l", "vocabulary": ["a", "b", "\u00e4"], "output_mode": "multi_hot"}},
        {"class_name": "Dense", "config": {"name": "c", "units": 3, "activation": "softmax"}}]}}
    with open(path("t.json"), "w") as file:
        json.dump(record, file)
    words = np.array(["a", "\u00e4", "other", "b", ""] * 18)[:, None]
    digests, results = set(), []
    for rows in (words, np.char.encode(words, "utf-8"), words.astype(object), {"words": words}, None):
        model = artel.load(path("t.json"))
        model.compile("adam", "sparse_categorical_crossentropy")
        np.savez(path("t.npz"), x=words, y=y)
        model.fit(rows, y, seed=3, batch_size=16) if rows is not None else model.fit(data="npz:" + path("t.npz"), seed=3, batch_size=16)
        results.append(model.predict(words))
        digests.add(model.digest())
    expect(len(digests) == 1, "forms of one array of text train to several ends")
    expect(all(np.array_equal(results[0], one) for one in results) and len(np.unique(results[0], axis=0)) == 4, results[0][:5])
    file = path("words.artel")
    subprocess.run([os.path.join(BUILD, "tests", "api", "prog_saved"), "words", file], check=True)
    functions = artel.load_functions(file)
    expect(functions.variable("classes").tolist() == ["cat", "d\u00f6g"], functions.variable("classes"))
    find = functions["find"]
    for rows in (words[:5], np.char.encode(words[:5], "utf-8"), words[:5].astype(object)):
        places, upper, classes = find(rows)
        expect(np.array_equal(places.reshape(5, 3).argmax(1), [1, 0, 0, 2, 0]), places)
        expect(upper.tolist() == [["A"], ["\u00e4"], ["OTHER"], ["B"], [""]] and classes.tolist() == ["cat", "d\u00f6g"], upper, classes)
    refuses(artel.Error, "strings", lambda: find(np.ones((5, 1))))
    refuses(artel.Error, "UTF-8", lambda: model.predict(np.array([[b"\xc3("]])))
    refuses(artel.Error, "", lambda: new_model().predict(words))


def traced(settings, work):
    """Jacobians, a Hessian, a model, control flow and a training in functions of Python, and what is left behind, under a strategy."""
    s = artel.Strategy(batch_size=12, seed=3, **settings)
    w, wide = s.variable("w", work["w"]), s.variable("wide", work["w"], dtype="float64")
    model = s.load(path("m.json"))
    adam = s.optimizer({"class_name": "Adam", "config": {"learning_rate": 0.1}}, [w])
    trainer = s.optimizer("sgd:learning_rate=0.5", model)

    @s.function(graphs.rows(3), outputs=5)
    def slopes(x):
        y = graphs.tanh(x @ w)
        (first,) = graphs.gradients(graphs.sum(y * y, axis=-1), [x])
        return [y, graphs.jacobians(y, x), graphs.jacobians(first, x), graphs.jacobians(graphs.reduce(y, "sum"), w),
                graphs.gather(2 - x / [1.0, 2.0, 4.0], axis=1)]

    @s.function(graphs.rows(3), graphs.rows(2))
    def step(x, y):
        loss = graphs.reduce(graphs.loss("mean_squared_error", y, x @ w))
        adam.minimise(loss)
        wide.assign(graphs.cast(w, dtype="float64") * 0.1)
        return loss

    @s.function(graphs.rows(6), graphs.rows(dtype="int32"), outputs=2, training=True)
    def fit(x, y):
        p = graphs.call(model, x)
        loss = graphs.reduce(graphs.loss("sparse_categorical_crossentropy", y, p))
        trainer.apply(graphs.gradients(loss, s.variables(model)))
        return loss, p

    @s.function(graphs.shared(4), outputs=3)
    def flow(x):
        doubled = graphs.choose(graphs.greater(graphs.sum(x), 0.0), lambda x: x * 2, lambda x: -x, x)
        grown = graphs.loop(lambda x: graphs.less(graphs.max(x), 100), lambda x: x * x + 1, x, most=6)
        (last,), (sums,) = graphs.scan(lambda s, x: [s + x, s + x], [graphs.constant(0.0)], [x], axis=0)
        return doubled, grown, sums + 0 * last

    results = slopes(work["x"]) + [step(work["x"], work["y"]) for _ in range(3)] + [w.numpy(), wide.numpy()]
    results += fit(np.tile(work["x"], 2), np.arange(12) % 3) + flow(np.array([1, -2, 3, 0.5], "float32")) + flow(np.array([-1, -2, 0, 0.5], "float32"))
    before = model.digest()
    s.store(model)
    expect(model.digest() != before and adam.iterations() == 3 and trainer.iterations() == 1, "steps are not taken")
    s.save_checkpoint(path("traced"), 3)
    w.set(np.zeros((3, 2)))
    expect(s.restore(path("traced")) == 3 and np.array_equal(w.numpy(), results[8]), "a checkpoint does not come back")
    s.save(path("traced.artel"))
    expect(np.array_equal(artel.load_functions(path("traced.artel"))["slopes"](work["x"])[1], slopes(work["x"])[1]), "a saved function gives other slopes")
    return results


def graphs_of_python():
    """Equal bits on one replica and three, beside TensorFlow's tape; what is wrong is said while it is traced."""
    import tensorflow as tf

    rng = np.random.default_rng(5)
    work = {name: rng.normal(size=shape).astype("float32") for name, shape in (("x", (12, 3)), ("y", (12, 2)), ("w", (3, 2)))}
    one, three = traced({}, work), traced({"strategy": "mirrored", "replicas": 3}, work)
    expect(all(np.array_equal(a, b) for a, b in zip(one, three)), "three replicas give other bits")
    x, w = tf.constant(work["x"]), tf.Variable(work["w"])
    with tf.GradientTape(persistent=True) as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.tanh(x @ w)
            square = tf.reduce_sum(y * y, axis=-1)
        first = tape.gradient(square, x)
        total = tf.reduce_sum(y, axis=0)
    want = [y, outer.batch_jacobian(y, x), outer.batch_jacobian(first, x), outer.jacobian(total, w), np.concatenate(2 - work["x"] / np.float32([1, 2, 4]))]
    for have, due in zip(one, want):
        expect(have.shape == due.shape and np.allclose(have, due, atol=2e-6), have, due)
    adam, losses = tf.keras.optimizers.Adam(0.1), []
    for _ in range(3):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.reduce_mean((x @ w - work["y"]) ** 2, -1))
        adam.apply([tape.gradient(loss, w)], [w])
        losses.append(loss)
    expect(np.allclose(one[5:8], losses, atol=1e-5) and np.allclose(one[8], w, atol=1e-5) and one[9].dtype == np.float64, one[5:9], losses, w)
    given = [np.array([1, -2, 3, 0.5], "float32"), np.array([-1, -2, 0, 0.5], "float32")]
    for k, a in enumerate(given):
        doubled, grown, sums = one[12 + 3 * k:15 + 3 * k]
        due = a
        for _ in range(6):
            due = due if due.max() >= 100 else due * due + 1
        expect(np.array_equal(doubled, a * 2 if a.sum() > 0 else -a) and np.allclose(grown, due) and np.allclose(sums, np.cumsum(a)), doubled, grown, sums)
    s = artel.Strategy(batch_size=4)
    v = s.variable("v", 1.0)
    function = lambda call, **more: s.function(graphs.rows(2), **more)(call)
    for kind, text, call in [
        (ZeroDivisionError, "", lambda: function(lambda x: 1 // 0)), (TypeError, "2 values, and 1 were announced", lambda: function(lambda x: (x, x))), (artel.Error, "matmul", lambda: function(lambda x: x @ np.ones((5, 1)))),
        (artel.Error, "frobnicate", lambda: function(lambda x: graphs.frobnicate(x))), (TypeError, "no truth", lambda: function(lambda x: x if x else x)), (RuntimeError, "while a function is traced", lambda: v + 1),
        (ValueError, "no reduction", lambda: function(lambda x: graphs.reduce(x, "product"))), (artel.Error, "exists", lambda: s.variable("v", 2.0)), (artel.Error, "", lambda: function(lambda x: x)(np.ones((2, 3)))),
        (TypeError, "no array", lambda: function(lambda x: np.stack([x]))), (TypeError, "no array", lambda: function(lambda x: function(lambda x: x)(x))), (TypeError, "generator", lambda: function(lambda x: x)(row for row in [x])),
        (ValueError, "int32 cannot be made of", lambda: function(lambda x: x * 2**40 + graphs.constant(2**40))), (ValueError, "int8 cannot be made of", lambda: s.variable("low", 300, dtype="int8")), (ValueError, "cannot be made of None", lambda: function(lambda x: x + graphs.constant(None))),
        (ValueError, "values of (2,)", lambda: v.set([1, 2])), (ValueError, "cannot be made of None", lambda: v.set(None)), (artel.Error, "on_reed", lambda: artel.Strategy().variable("r", 1.0, aggregation="sum", synchronization="on_reed")), (ValueError, "null", lambda: s.variable("a\0b", 1.0)), (TypeError, "'float'", lambda: s.variable("f", 1.0, "float")),
        (TypeError, "'floot'", lambda: graphs.rows(2, dtype="floot")), (ValueError, "up to 8", lambda: graphs.rows(*[1] * 9)), (ValueError, "whole numbers", lambda: graphs.shared(None)), (TypeError, "graphs.rows(...)", lambda: s.function(lambda x: x))]:
        refuses(kind, text, call)
    late = artel.Strategy()
    u = late.variable("u", 1.0)
    expect(late.optimizer({"class_name": "SGD", "config": {"learning_rate": np.float32(0.5)}}, u).iterations() == 0 and v in [u, v] and len({v, s}) == 2, "a variable is no thing among others")
    same = function(lambda x: [x == 1, graphs.sum(x != [1, 2], axis=np.int64(-1))], outputs=2)
    equal, unequal = same(np.array([[1, 2], [3, 1]], ">f4"))
    expect(np.array_equal(equal, [[True, False], [False, True]]) and np.array_equal(unequal, [0, 2]), equal, unequal)
    threads(same)


def threads(function):
    """Threads that call one function take turns; each traces what is its own."""
    barrier, results = threading.Barrier(3), []

    def work(k):
        s = artel.Strategy(batch_size=4)
        w = s.variable("w", float(k))

        def python(x):
            barrier.wait()
            y = x * w
            barrier.wait()
            return y

        own = s.function(graphs.rows(2))(python)(np.ones((4, 2)))
        results.append(own[0, 0] == k and all(np.array_equal(function(np.full((4, 2), k))[1], [1 + (k == 3)] * 4) for _ in range(40)))

    started = [threading.Thread(target=work, args=(k,)) for k in (1, 2, 3)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    expect(results == [True] * 3, "threads disturb one another", results)


def circles():
    """Objects in a circle, which Python finalizes oldest first: a context goes when all that was made from it has gone."""
    gc.collect()
    order, held = [], {name: getattr(artel._lib, "artel_%s_destroy" % name) for name in ("context", "model", "strategy")}
    for name, destroy in held.items():
        setattr(artel._lib, "artel_%s_destroy" % name, lambda handle, name=name, destroy=destroy: (order.append(name), destroy(handle)))
    s = artel.Strategy(batch_size=4)
    model = s.load(path("m.json"))
    model.function = s.function(graphs.rows(6))(lambda x: graphs.call(model, x))
    model.function(np.ones((4, 6)))
    s.model, model.strategy = model, s
    del s, model
    gc.collect()
    for name, destroy in held.items():
        setattr(artel._lib, "artel_%s_destroy" % name, destroy)
    expect(order == ["strategy", "model", "context"], order)


def plain_forms(x, y):
    """What NumPy, Keras or pandas would hand over: lists, names, other byte orders, records of settings."""
    digests = set()
    for rows, targets in ((x, y), (x.tolist(), y.tolist()), ({"in": x}, {"c": y}), (x.astype(">f4"), y.astype(">i8")), ([x], [y])):
        model = artel.load(path("m.json"))
        model.compile({"class_name": "Adam", "config": {"learning_rate": 0.01}}, "sparse_categorical_crossentropy", ["accuracy"])
        calls = []
        history = model.fit(rows, targets, seed=3, batch_size=np.int64(30), callbacks=lambda epoch, logs: calls.append(epoch))
        expect(calls == [0] and "accuracy" in history, calls, history)
        digests.add(model.digest())
    expect(len(digests) == 1, "forms of one array train to several ends")
    mixed = np.array([[1, "a"]] * 90, dtype=object)
    for kind, text, call in [
        (TypeError, "generator", lambda m: m.fit((rows for rows in [x]), y)), (TypeError, "several kinds", lambda m: m.fit(mixed, y)),
        (TypeError, "'epochs' takes a whole number", lambda m: m.fit(x, y, epochs="3")), (TypeError, "(x, y)", lambda m: m.fit(x, y, validation_data=x)),
        (TypeError, "keras_callbacks", lambda m: m.fit(x, y, callbacks=["EarlyStopping"])), (artel.Error, "", lambda m: m.fit({"im": x}, y)),
    ]:
        refuses(kind, text, lambda: call(new_model()))


def interrupted(x, y):
    """Ctrl-C from another thread, wherever it finds the training, ends it; the model may be used again."""
    model, before, begun = new_model(), signal.getsignal(signal.SIGINT), threading.Event()
    sender = threading.Thread(target=lambda: (begun.wait(), os.kill(os.getpid(), signal.SIGINT)))
    sender.start()
    refuses(KeyboardInterrupt, "", lambda: model.fit(x, y, epochs=10**9, on_step=lambda step, logs: begun.set()))
    sender.join()
    expect(signal.getsignal(signal.SIGINT) is before, "the handler is not what it was")
    expect(len(model.fit(x, y)["loss"]) == 1, "no training after Ctrl-C")


def missing_library():
    said = subprocess.run([sys.executable, "-c", "import artel"], env={**os.environ, "PYTHONPATH": SOURCE + "/python", "ARTEL_LIBRARY": path("absent.so")},
                          capture_output=True, text=True)
    expect(said.returncode == 1 and "absent.so cannot be opened" in said.stderr and "ARTEL_LIBRARY names it" in said.stderr, said.stderr)


def main():
    compare_structs()
    with open(path("m.json"), "w") as file:
        file.write(RECORD)
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(90, 6)).astype("float32"), rng.integers(0, 3, 90)
    np.savez(path("d.npz"), x=x, y=y)

    model, seen, steps = new_model(), [], []
    history = model.fit(x, y, epochs=3, batch_size=16, seed=7, validation_data=(x[:20], y[:20]),
                        callbacks=[lambda epoch, logs: seen.append((epoch, logs["val_loss"]))], on_step=lambda step, logs: steps.append(step))
    expect(sorted(history) == ["accuracy", "loss", "val_accuracy", "val_loss"] and len(history["loss"]) == 3, history)
    expect(seen == list(enumerate(history["val_loss"])) and steps == list(range(1, 19)), seen, steps)

    # The command line ends in the same bits, on two replicas, too.
    said = subprocess.run([os.environ["ARTEL"], "fit", path("m.json"), "--data", "npz:" + path("d.npz"), "--epochs", "3", "--batch-size", "16", "--seed", "7",
                           "--optimizer", "adam", "--loss", "sparse_categorical_crossentropy", "--output", path("cli.keras")], capture_output=True, text=True)
    expect(said.returncode == 0, said.stderr)
    expect(artel.load(path("cli.keras")).digest() == model.digest(), "the command line has other weights")
    other = new_model()
    other.fit(data="npz:" + path("d.npz"), epochs=3, batch_size=16, seed=7, strategy="mirrored", replicas=2)
    expect(other.digest() == model.digest(), "two replicas have other weights")

    # Evaluation and prediction agree with one another and with a file.
    model.save(path("out.keras"))
    again = artel.load(path("out.keras"))
    p, values = again.predict(x, batch_size=40), again.evaluate(x, y)
    expect(p.shape == (90, 3) and p.dtype == np.float32 and np.allclose(p.sum(1), 1, atol=1e-5), p.shape)
    expect(abs(values["accuracy"] - np.mean(p.argmax(1) == y)) < 1e-6, values)
    expect(abs(values["loss"] + np.mean(np.log(p[np.arange(90), y]))) < 1e-5, values)
    kernel = again.get_weight("layers/dense/vars/0", (6, 5))
    again.set_weight("layers/dense/vars/0", np.zeros((6, 5)))
    expect(again.digest() != model.digest(), "a weight that was set is not seen")
    again.set_weight("layers/dense/vars/0", kernel)
    expect(again.digest() == model.digest(), "a weight that was put back differs")

    # What callbacks raise, and what does not fit.
    def stop(epoch, logs):
        raise KeyError("enough")

    refuses(KeyError, "enough", lambda: new_model().fit(x, y, epochs=5, callbacks=[stop]))
    refuses(TypeError, "epoch", lambda: new_model().fit(x, y, epoch=3))
    refuses(TypeError, "complex64", lambda: new_model().fit(x.astype("complex64"), y))
    refuses(ValueError, "not both", lambda: new_model().fit(x, y, data="npz:d.npz"))
    error = refuses(artel.Error, "", lambda: new_model().fit(x[:, :4], y))
    expect(error.status < 0 and error.what and error.advice, error)
    refuses(artel.Error, "absent.keras", lambda: artel.load(path("absent.keras")))
    refuses(artel.Error, "at least 1", lambda: new_model().fit(x, y, batch_size=-1))
    expect(artel.version().count(".") == 2, artel.version())
    saved_functions(rng.normal(size=(11, 4)).astype("float32"))
    graphs_of_python()
    plain_forms(x, y)
    texts(y)
    interrupted(x, y)
    circles()
    missing_library()
    print("as the command line; forty refusals")


if __name__ == "__main__":
    main()
