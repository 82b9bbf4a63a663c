# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Mixed precision on the command line: equal bits however a run is cut, resumption in the middle of a falling loss scale, files
that Keras reads with the same policies and state, options, refusals; and the two orders in which products of bfloat16 are added
(--arithmetic): who decides, what says so. What is computed: tests/oracle/test_precision.py."""

import dataclasses
import functools
import json
import os
import re
import zipfile

import numpy as np
from cli import K, L, MODELS, O, expect, keras_module, save, save_arrays
from cluster import Cluster
from oracle import LONG, Failure, artel, digest, slots, table
from started import cleaning

DATA = {"mlp": 256, "cnn": 192, "transformer": 192, "lstm": 192}
CLASSES = ("chain", "tiles")


@functools.lru_cache(None)
def version():
    return dict(re.findall("^(--arithmetic|instruction set) +(.*)$", artel("version").out, re.M))


def has_amx():
    return version()["instruction set"].startswith("amx ")


@dataclasses.dataclass
class Row:
    name: str
    run: object
    policy: str = "mixed_bfloat16"
    model: str = "mlp"
    arithmetic: str = "auto"


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
    for n, t in ((1, 2), (2, 1), (3, 2), (8, 1)):
        yield ("--strategy", "mirrored", "--replicas", n, "--threads", t)
    for isa in ("baseline", "avx2", "avx512", "avx512_bf16", "amx"):
        yield ("--isa", isa, "--threads", 2)
        if version()["instruction set"].split()[0] == isa:
            break
    yield ("--recompute",)


def same_bits(row, folder):
    model = start(row, folder, overflowing if row.model == "cnn" and row.policy == "mixed_float16" else None)
    data = save_arrays(row.model, os.path.join(folder, "d.npz"), DATA[row.model])
    common = ("--epochs", 2, "--arithmetic", row.arithmetic)
    first = digest(fit(folder, model, data, *common, "--threads", 1, name="first.keras"), kind="all")
    count = 0
    for way in ways():
        other = digest(fit(folder, model, data, *common, *way), kind="all")
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
    explain = ("--data", "synthetic:64", "--loss", "sparse_categorical_crossentropy", "--optimizer", "sgd", "--dry-run", "--explain",
               "--arithmetic", "chain")
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


def residual():
    """Two bottlenecks of a residual network behind its stem."""
    x = a = K.Input((64, 64, 3))
    x = L.MaxPooling2D(3, strides=2, padding="same")(L.ReLU()(L.BatchNormalization()(L.Conv2D(64, 7, strides=2, padding="same")(x))))
    for strides in (1, 2):
        y = L.ReLU()(L.BatchNormalization()(L.Conv2D(64, 1, strides=strides)(x)))
        y = L.ReLU()(L.BatchNormalization()(L.Conv2D(64, 3, padding="same")(y)))
        y = L.BatchNormalization()(L.Conv2D(256, 1)(y))
        x = L.ReLU()(L.Add()([L.BatchNormalization()(L.Conv2D(256, 1, strides=strides)(x)), y]))
    return K.Model(a, L.Dense(10)(L.GlobalAveragePooling2D()(x)))


def planned(policy, build, folder):
    """Bytes of activations, values stored as bfloat16, and weights that products round themselves, of a plan in tiles."""
    keras = keras_module()

    def built():
        keras.config.set_dtype_policy(policy)
        return build()

    model = save(built, os.path.join(folder, policy + ".keras"))
    keras.config.set_dtype_policy("float32")
    plan = artel("fit", model, "--data", "synthetic:64", "--batch-size", 16, "--loss", "mse", "--optimizer", "sgd", "--dry-run", "--explain",
                 "--arithmetic", "tiles", "--strategy", "one-device")
    expect(plan.rc == 0, "fit --dry-run: exit", plan.rc, plan.first)
    stored, weights = plan.out.count("stored as bfloat16"), plan.out.count("rounded by its readers")
    return int(re.search("activations ([0-9]+) bytes", plan.out)[1]), stored, weights


def memory(row, folder):
    """A step keeps what is bfloat16 as such: at most 0.65 of the memory of float32."""
    whole, none, plain = planned("float32", row.model, folder)
    half, some, weights = planned("mixed_bfloat16", row.model, folder)
    expect(none == 0 and some > 30, "values stored as bfloat16:", none, some)
    expect(plain == 0 and weights >= 8, "weights rounded by their readers:", plain, weights)
    expect(half <= 0.65 * whole, "the plan takes", half, "bytes, in float32", whole)
    return "%.2f of float32" % (half / whole)


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


def variables_of_16_bits(row, folder):
    """Two epochs at once, one after the other from a checkpoint that keeps 16 bits of each number, and on three replicas: equal bits, in a
    file of which every weight and slot has the dtype."""
    model, data = start(row, folder), save_arrays(row.model, os.path.join(folder, "d.npz"), DATA[row.model])
    common = ("--optimizer", "sgd:learning_rate=0.05,momentum=0.9", "--arithmetic", "chain", "--threads", 1)
    whole = digest(fit(folder, model, data, *common, "--epochs", 2, name="whole.keras"), kind="all")
    kept = os.path.join(folder, "kept")
    fit(folder, model, data, *common, "--epochs", 1, "--checkpoint-dir", kept)
    parts = fit(folder, model, data, *common, "--epochs", 2, "--checkpoint-dir", kept, name="parts.keras")
    expect(digest(parts, kind="all") == whole, "other bits after the resumption")
    expect(digest(fit(folder, model, data, *common, "--epochs", 2, "--replicas", 3), kind="all") == whole, "other bits on three replicas")
    file = next(os.path.join(at, name) for at, _, names in os.walk(kept) for name in names if name == "state.safetensors")
    with open(file, "rb") as f:
        header = json.loads(f.read(int.from_bytes(f.read(8), "little")))
    word = {"bfloat16": "BF16", "float16": "F16"}[row.policy]
    expect({v["dtype"] for k, v in header.items() if "seed" not in k} == {word}, "the checkpoint holds", header)
    held = {k: v.dtype.str for k, v in slots(parts).items() if v.shape}
    expect(set(held.values()) == {{"bfloat16": "|V2", "float16": "<f2"}[row.policy]}, "the file holds", held)
    other = artel("fit", model, "--data", data, "--optimizer", "adam", "--dry-run")
    expect(("do not train" in other.err) == (row.policy == "bfloat16"), "Adam says", other.err)
    return "%d variables" % len(header)


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
    for dtype in ("float8", policy("float8"),
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


def wide():
    """Sums that are long enough to differ between the classes within an epoch."""
    m = K.Sequential([K.Input((20,)), L.Dense(200, activation="relu"), L.Dense(200, activation="relu"), L.Dense(10, activation="softmax", dtype="float32")])
    m.compile("adam", "sparse_categorical_crossentropy")
    return m


def events(ran, kind="start"):
    return [e for e in map(json.loads, ran.out.splitlines()) if e["event"] == kind]


def check_words(said, wanted, isa=None):
    expect(said == "artel-1 %s (computed with %s)" % (wanted, isa or version()["instruction set"].split()[0]), "the arithmetic is said to be", said)


def machine_words():
    return "bfloat16 tiles: this machine has AMX" if has_amx() else "bfloat16 chain: this machine has no AMX"


def decides(row, folder):
    """By default the machine does, whatever --isa, else the option or the environment; other policies have nothing to decide. All that
    describes a run says it."""
    model, data = start(row, folder, wide), save_arrays("mlp", os.path.join(folder, "d.npz"), 100)
    expect(version()["--arithmetic"].startswith(machine_words()[9:] + " ("), "artel version:", version())
    plain = ("fit", model, "--data", data, "--json=epochs", "--verbose", 0)
    for more, env, words, isa in (((), {}, machine_words(), None), (("--isa", "baseline"), {}, machine_words(), "baseline"),
                                  (("--arithmetic", "chain"), {}, "bfloat16 chain: --arithmetic", None),
                                  ((), {"ARTEL_ARITHMETIC": "tiles"}, "bfloat16 tiles: --arithmetic", None)):
        ran = artel(*plain, *more, env=env)
        expect(ran.rc == 0, "fit: exit", ran.rc, ran.first)
        check_words(events(ran)[0]["arithmetic"], words, isa)
        emulated = "tiles" in words and not has_amx()
        expect(("without AMX" in ran.err) == emulated, "the note of emulation:", ran.err)
        plan = artel("fit", model, "--data", data, "--dry-run", *more, env=env)
        check_words(plan.out.splitlines()[0].replace("# arithmetic: ", ""), words, isa)
    for policy in ("float32", "mixed_float16"):
        other = start(Row("", None, policy), folder, wide) if policy != "float32" else save(wide, os.path.join(folder, "f.keras"))
        said = [artel("fit", other, "--data", data, "--json=epochs", "--verbose", 0, "--arithmetic", a) for a in ("auto", *CLASSES)]
        for ran in said:
            check_words(events(ran)[0]["arithmetic"], "float32")
        expect(len({events(ran, "end")[0]["digest"] for ran in said}) == 1, "--arithmetic changes bits of", policy)
        expect(["does nothing" in ran.err for ran in said] == [False, True, True], "--arithmetic is idle with", policy, said[1].err)
        expect("arithmetic" not in artel("fit", other, "--data", data, "--dry-run").out, "--explain speaks of it with", policy)
    ran = fit(folder, model, data, "--arithmetic", "tile", rc=1)
    expect("tiles" in ran.err, "a wrong value:", ran.err)
    return machine_words()[9:14]


def passes(row, folder):
    """evaluate and predict: by the machine, or as they are told; alone and with others."""
    model, data = start(row, folder, wide), save_arrays("mlp", os.path.join(folder, "d.npz"), 3000)
    made = {}
    for a in ("auto", *CLASSES):
        out = os.path.join(folder, a + ".npy")
        ran = artel("predict", model, "--data", data, "--output", out, "--arithmetic", a)
        expect(ran.rc == 0, "predict: exit", ran.rc, ran.first)
        ran = artel("launch", "-n", 2, "evaluate", model, "--data", data, "--strategy", "multi-worker", "--threads", 1, "--arithmetic", a, "--json")
        expect(ran.rc == 0, "evaluate: exit", ran.rc, ran.first)
        alone = artel("evaluate", model, "--data", data, "--arithmetic", a, "--json")
        losses = [events(r, "evaluate")[0]["loss"] for r in (ran, alone)]
        expect(losses[0] == losses[1], a, "evaluates to", losses)
        made[a] = (np.load(out).tobytes(), losses[0])
    expect(made["chain"][0] != made["tiles"][0], "both classes predict the same bits")
    expect(made["auto"] == made["tiles" if has_amx() else "chain"], "auto is not the machine's")
    return ""


def continues(row, folder):
    """A run goes on in the class of its checkpoint, on any machine; another one is refused; what has no class was a chain."""
    model, data = start(row, folder, wide), save_arrays("mlp", os.path.join(folder, "d.npz"), 250)
    whole = {a: digest(fit(folder, model, data, "--epochs", 2, "--arithmetic", a)) for a in CLASSES}
    expect(whole["chain"] != whole["tiles"], "both classes train to the same bits")
    for a, other in (CLASSES, CLASSES[::-1]):
        kept = os.path.join(folder, a)
        fit(folder, model, data, "--arithmetic", a, "--checkpoint-dir", kept)
        manifest = os.path.join(kept, "ckpt-5", "manifest.json")
        said = artel("inspect", os.path.dirname(manifest)).out
        expect("bfloat16 %s: --arithmetic" % a in said and re.search("^ +arithmetic +%s$" % a, said, re.M), "artel inspect:", said[:600])
        ran = fit(folder, model, data, "--epochs", 2, "--arithmetic", other, "--checkpoint-dir", kept, rc=1)
        expect("these differ: arithmetic;" in ran.err, "refused with", ran.err)
        if a == "chain":
            with open(manifest) as f:
                old = json.load(f)
            del old["identity"]["arithmetic"]
            with open(manifest, "w") as f:
                json.dump(old, f)
        ran = artel("fit", model, "--data", data, "--batch-size", 50, "--epochs", 2, "--checkpoint-dir", kept, "--json=epochs", "--verbose", 0)
        check_words(events(ran)[0]["arithmetic"], "bfloat16 %s: as in the checkpoint" % a)
        expect(events(ran, "end")[0]["digest"] == whole[a], a, "goes on to other bits")
    return ""


def in_cluster(folder, model, data, count, *more, each=None):
    args = ["fit", model, "--data", data, "--batch-size", 50, "--epochs", 2, "--strategy", "multi-worker", "--threads", 1, "--verbose", 0, "--json",
            "--output", os.path.join(folder, "out.keras"), *more]
    return Cluster(count, lambda r: args + (each(r) if each else []))


def check_cluster(cluster, folder, wanted, *words):
    codes = cluster.finish(90)
    for r, task in cluster.tasks.items():
        if codes[r] == -9:
            continue
        expect(codes[r] == 0, "worker %d: exit" % r, codes[r], task.err()[-300:])
        said = [e["arithmetic"] for e in task.events() if e["event"] == "start"][0]
        expect(any(said.startswith("artel-1 " + w + " (") for w in words), "worker %d says" % r, said)
    expect(digest(os.path.join(folder, "out.keras")) == wanted, "other bits with", len(codes), "workers")


def members(row, folder):
    """Two and three tasks, one of them killed: the bits of one process in each class. Tasks with other options do not meet."""
    model, data = start(row, folder, wide), save_arrays("mlp", os.path.join(folder, "d.npz"), 500)
    whole = {a: digest(fit(folder, model, data, "--epochs", 2, "--arithmetic", a)) for a in CLASSES}
    for a in CLASSES:
        check_cluster(in_cluster(folder, model, data, 2, "--arithmetic", a), folder, whole[a], "bfloat16 %s: --arithmetic" % a)
        cluster = in_cluster(folder, model, data, 3, "--arithmetic", a)
        cluster.tasks[0].until_step(4)
        cluster.kill(2)
        check_cluster(cluster, folder, whole[a], "bfloat16 %s: --arithmetic" % a)
    own = "tiles: every member has AMX" if has_amx() else "chain: this machine has no AMX"
    check_cluster(in_cluster(folder, model, data, 3), folder, whole[own[:5]], "bfloat16 " + own)
    cluster = in_cluster(folder, model, data, 2, each=lambda r: ["--arithmetic", CLASSES[r]])
    codes = cluster.finish(60)
    for r, task in cluster.tasks.items():
        expect(codes[r] == 1 and "arithmetic (there artel-1 bfloat16 " in task.err(), "worker %d:" % r, codes[r], task.err()[-300:])
    return ""


def members_continue(row, folder):
    """One task holds a checkpoint of the class that this machine would not choose: all go on in it."""
    model, data = start(row, folder, wide), save_arrays("mlp", os.path.join(folder, "d.npz"), 250)
    a = "chain" if has_amx() else "tiles"
    wanted = digest(fit(folder, model, data, "--epochs", 2, "--arithmetic", a))
    fit(folder, model, data, "--arithmetic", a, "--checkpoint-dir", os.path.join(folder, "kept1"))
    cluster = in_cluster(folder, model, data, 3, each=lambda r: ["--checkpoint-dir", os.path.join(folder, "kept%d" % r)])
    check_cluster(cluster, folder, wanted, "bfloat16 %s: as in the checkpoint" % a, "bfloat16 %s: as the run began" % a)
    said = artel("inspect", os.path.join(folder, "kept0", "ckpt-10")).out
    expect(re.search("^ +arithmetic +%s$" % a, said, re.M), "artel inspect:", said[:600])
    return a


ROWS = [Row("same-bits-bfloat16-%s-%s" % (model, a), same_bits, "mixed_bfloat16", model, a) for model in MODELS if model != "many" for a in CLASSES]
ROWS += [Row("same-bits-float16-%s" % model, same_bits, "mixed_float16", model) for model in MODELS if model != "many"]
ROWS += [Row("arithmetic-" + run.__name__, run) for run in (decides, passes, continues, members, members_continue)]
ROWS += [Row("resume-falling-scale", resumes, "mixed_float16", "cnn")]
ROWS += [Row("back-to-keras-%s-%s" % (policy[6:], model), back_to_keras, policy, model)
         for policy in ("mixed_bfloat16", "mixed_float16") for model in ("mlp", "cnn")]
ROWS += [Row("variables-" + policy, variables_of_16_bits, policy, model) for policy, model in (("bfloat16", "cnn"), ("float16", "mlp"))]
ROWS += [Row("variables-back-to-keras", back_to_keras, "float16", "cnn")]
ROWS += [Row("options", by_option, "mixed_float16"), Row("refusals", refused), Row("pairs", pairs), Row("memory", memory, model=residual)]
ROWS += [Row("memory-resnet50", memory, model=lambda: keras_module().applications.ResNet50(weights=None))] if LONG else []


if __name__ == "__main__":
    table(ROWS, cleaning(lambda row, index, folder, keras_only: [""] if keras_only else [row.run(row, folder)]), ["found"])
