# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# processors: 2
"""Mixed precision on the command line: equal bits however a run is cut, resumption in the middle of a falling loss scale, files
that Keras reads with the same policies and state, options, refusals. What is computed: tests/oracle/test_precision.py."""

import dataclasses
import json
import os
import zipfile

import numpy as np
from cli import K, L, MODELS, O, keras_module, save, save_arrays
from oracle import Failure, artel, digest, slots, table

DATA = {"mlp": 256, "cnn": 192, "transformer": 192, "lstm": 192}


@dataclasses.dataclass
class Row:
    name: str
    run: object
    policy: str = "mixed_bfloat16"
    model: str = "mlp"


def start(row, folder, build=None):
    def built():  # save() begins a new session, which forgets the policy
        keras_module().config.set_dtype_policy(row.policy)
        return (build or MODELS[row.model])()

    path = save(built, os.path.join(folder, "start.keras"))
    keras_module().config.set_dtype_policy("float32")
    with zipfile.ZipFile(path) as z:
        if row.policy not in z.read("config.json").decode():
            raise Failure("the model's file does not have the policy")
    return path


def overflowing():
    m = MODELS["cnn"]()
    m.compile(O.LossScaleOptimizer(O.Adam(0.003), initial_scale=2.0**24, dynamic_growth_steps=3), "sparse_categorical_crossentropy")
    return m


def fit(folder, model, data, *args, name="out.keras", rc=0, program=None):
    out = os.path.join(folder, name)
    ran = artel("fit", model, "--data", data, "--batch-size", 50, "--output", out, "--verbose", 0, *args, program=program)
    if ran.rc != rc:
        raise Failure("fit %s: exit %d (%s)" % (" ".join(map(str, args)), ran.rc, ran.first))
    return out if rc == 0 else ran


def ways():
    for n, t in ((1, 2), (2, 1), (3, 2), (4, 1)):
        yield ("--strategy", "mirrored", "--replicas", n, "--threads", t)
    for isa in ("baseline", "avx2", "avx512"):
        yield ("--isa", isa, "--threads", 2)
    yield ("--recompute",)


def same_bits(row, folder):
    model = start(row, folder, overflowing if row.model == "cnn" and row.policy == "mixed_float16" else None)
    data = save_arrays(row.model, os.path.join(folder, "d.npz"), DATA[row.model])
    first = digest(fit(folder, model, data, "--epochs", 2, "--threads", 1, name="first.keras"), kind="all")
    count = 0
    for way in ways():
        other = digest(fit(folder, model, data, "--epochs", 2, *way), kind="all")
        if other != first:
            raise Failure("other bits with %s" % " ".join(map(str, way)))
        count += 1
    return "%d ways" % count


def pairs(row, folder):
    """Where the processor multiplies pairs of bfloat16 the kernels that do are chosen, and not below it; others say why not."""
    def built():
        keras_module().config.set_dtype_policy("mixed_bfloat16")
        return K.Sequential([K.Input((8, 8, 2)), L.Conv2D(4, 3, strides=2), L.Conv2D(4, 3, groups=2), L.Flatten(), L.Dense(3)])

    model = save(built, os.path.join(folder, "m.keras"))
    keras_module().config.set_dtype_policy("float32")
    with open("/proc/cpuinfo") as f:
        flags = f.read().split()
    here = "avx512_bf16" in flags
    explain = ("--data", "synthetic:64", "--loss", "sparse_categorical_crossentropy", "--optimizer", "sgd", "--dry-run", "--explain")
    plan = artel("fit", model, *explain, *(("--isa", "avx512_bf16") if here else ()))
    capped = artel("fit", model, *explain, "--isa", "avx2" if here else "baseline")
    if plan.rc != 0 or capped.rc != 0:
        raise Failure("fit --dry-run: exit %d (%s), capped %d (%s)" % (plan.rc, plan.first, capped.rc, capped.first))
    words = ["avx512_bf16 " + kind + " tasks" for kind in ("product_forward", "product_weight_gradient", "conv2d_forward", "conv2d_weight_gradient")]
    words += ["refused avx512_bf16 conv2d_forward: groups"]
    for word in words if here else []:
        if word not in plan.out:
            raise Failure("--explain does not say %r" % word)
    whole = artel("fit", model, *explain)
    if "amx_bf16" in flags and "refused avx512_bf16 conv2d_forward: slow on processors with AMX" not in whole.out:
        raise Failure("pairs are not passed over where they are slow: %s" % whole.first)
    if "avx512_bf16 conv2d_forward tasks" in capped.out or "avx512_bf16 product_forward tasks" in capped.out:
        raise Failure("--isa does not cap the pairs")
    return "pairs" if here else "no pairs"


def resumes(row, folder):
    """Two epochs at once, and one after the other from a checkpoint: weights, slots, scale and counter."""
    model, data = start(row, folder, overflowing), save_arrays("cnn", os.path.join(folder, "d.npz"), 200)
    whole = fit(folder, model, data, "--epochs", 4, "--checkpoint-dir", os.path.join(folder, "a"), name="whole.keras")
    fit(folder, model, data, "--epochs", 2, "--checkpoint-dir", os.path.join(folder, "b"))
    parts = fit(folder, model, data, "--epochs", 4, "--checkpoint-dir", os.path.join(folder, "b"), name="parts.keras")
    if digest(whole, kind="all") != digest(parts, kind="all"):
        raise Failure("other bits after the resumption")
    state = slots(whole)
    if not 0 < int(state["optimizer/vars/4"]) < 16 or float(state["optimizer/vars/3"]) >= 2.0**24:
        raise Failure("no step was left out: iteration %s, scale %s" % (state["optimizer/vars/4"], state["optimizer/vars/3"]))
    return "scale %g" % state["optimizer/vars/3"]


def back_to_keras(row, folder):
    """Policies, predictions and the optimizer's state in Keras are those of the file; and what it trains on, artel takes up again."""
    keras = keras_module()
    model, data = start(row, folder), save_arrays(row.model, os.path.join(folder, "d.npz"), 200)
    trained = fit(folder, model, data)
    policies = [layer.dtype_policy.name for layer in keras.models.load_model(model).layers]
    loaded = keras.models.load_model(trained)
    if [layer.dtype_policy.name for layer in loaded.layers] != policies or row.policy not in policies:
        raise Failure("policies %s became %s" % (policies, [layer.dtype_policy.name for layer in loaded.layers]))
    if (row.policy == "mixed_float16") != isinstance(loaded.optimizer, keras.optimizers.LossScaleOptimizer):
        raise Failure("Keras makes a %s of the optimizer" % type(loaded.optimizer).__name__)
    state = slots(trained)
    for i, variable in enumerate(loaded.optimizer.variables):
        if not np.array_equal(np.asarray(variable), state["optimizer/vars/%d" % i]):
            raise Failure("optimizer variable %s differs in Keras" % variable.path)
    x, y = (np.load(data[4:])[key] for key in "xy")
    loaded.fit(x, y, batch_size=50, verbose=0)
    loaded.save(os.path.join(folder, "further.keras"))
    ran = artel("fit", os.path.join(folder, "further.keras"), "--data", data, "--batch-size", 50, "--output", os.path.join(folder, "o.keras"))
    if ran.rc != 0 or "dropped" in ran.err:
        raise Failure("fit after Keras: exit %d (%s)" % (ran.rc, ran.err[-300:]))
    steps = slots(os.path.join(folder, "o.keras"))["optimizer/vars/%d" % (4 if row.policy == "mixed_float16" else 0)]
    if int(steps) != 12:
        raise Failure("%d steps behind it, not 12" % steps)
    return "%d variables" % len(state)


def by_option(row, folder):
    """compile() wraps whatever optimizer it is given; a LossScaleOptimizer of one's own stays as it is."""
    model, data = start(row, folder), save_arrays("mlp", os.path.join(folder, "d.npz"), 100)
    for option, scale in (("sgd:learning_rate=0.1", 32768), ('LossScaleOptimizer:inner_optimizer="adam",initial_scale=512', 512)):
        out = fit(folder, model, data, "--optimizer", option)
        with zipfile.ZipFile(out) as z:
            record = json.loads(z.read("config.json"))["compile_config"]["optimizer"]
        if record["class_name"] != "LossScaleOptimizer" or record["config"]["initial_scale"] != scale or record["config"]["inner_optimizer"]["class_name"] not in ("SGD", "Adam"):
            raise Failure("%s: the record is %s" % (option, record))
    for option, word in (("LossScaleOptimizer", "inner_optimizer"), ('LossScaleOptimizer:inner_optimizer="adam",clipnorm=1', "clipnorm"),
                         ('LossScaleOptimizer:inner_optimizer="adam",initial_scale=-1', "initial_scale")):
        ran = fit(folder, model, data, "--optimizer", option, rc=1)
        if word not in ran.err:
            raise Failure("%s: says %r" % (option, ran.first))
    return ""


def refused(row, folder):
    """A policy that is not there is named with its layer."""
    model, said = os.path.join(folder, "m.json"), []
    text = K.Sequential([K.Input((4,)), L.Dense(2, name="odd")]).to_json()
    policy = lambda name: {"module": "keras", "class_name": "DTypePolicy", "config": {"name": name}, "registered_name": None}
    for dtype in (policy("bfloat16"), "float16", policy("float64"),
                  {"module": "keras", "class_name": "QuantizedDTypePolicy", "config": {"mode": "int8", "source_name": "float32"}}):
        record = json.loads(text)
        record["config"]["layers"][1]["config"]["dtype"] = dtype
        with open(model, "w") as f:
            json.dump(record, f)
        ran = artel("summary", model)
        word = dtype if isinstance(dtype, str) else dtype["config"].get("name", dtype["class_name"])
        if ran.rc != 1 or '"odd"' not in ran.err or '"%s"' % word not in ran.err or "mixed_bfloat16" not in ran.err:
            raise Failure("%s: exit %d, %r" % (word, ran.rc, ran.first))
        said.append(word)
    return "%d policies" % len(said)


ROWS = [Row("same-bits-%s-%s" % (policy[6:], model), same_bits, policy, model) for policy in ("mixed_bfloat16", "mixed_float16") for model in MODELS]
ROWS += [Row("resume-falling-scale", resumes, "mixed_float16", "cnn")]
ROWS += [Row("back-to-keras-%s-%s" % (policy[6:], model), back_to_keras, policy, model)
         for policy in ("mixed_bfloat16", "mixed_float16") for model in ("mlp", "cnn")]
ROWS += [Row("options", by_option, "mixed_float16"), Row("refusals", refused), Row("pairs", pairs)]


if __name__ == "__main__":
    table(ROWS, lambda row, index, folder, keras_only: [""] if keras_only else [row.run(row, folder)], ["found"])
