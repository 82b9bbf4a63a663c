# SPDX-License-Identifier: Apache-2.0
# Every argument of every public function, and every field of every struct that it takes, given what does not belong there: NULL, zero,
# negative, the largest numbers, NaN, infinities, enum values that do not exist. The functions are read from include/artel, so a new one
# is tested without a line here, or the test says which valid argument it lacks. Nothing may crash or hang; a failure has a text.
"""One child process a function; what crashes is named and the child goes on with the next case."""
import ctypes
import math
import os
import re
import signal
import sys

from api.header import PLAIN, Headers

headers = Headers(os.environ["ARTEL_SOURCE"] + "/include/artel")
lib = headers.load(os.environ["ARTEL_BUILD"] + "/libartel.so")
NUMBERS = {"int": [0, -1, -(2**31), 2**31 - 1], "int64_t": [0, -1, -(2**63), 2**63 - 1], "size_t": [0, 2**64 - 1],
           "double": [0.0, -1.0, math.nan, math.inf, -math.inf, 1e308], "float": [0.0, math.nan]}
HOSTILE = {"int": [-1, -(2**31)], "int64_t": [-(2**63)], "double": [math.nan, math.inf, -math.inf]}  # which must fail

# Pointers that may be NULL, as the headers say.
OPTIONAL = set("""
artel_context_create.options artel_sequential_create.name artel_functional_create.name artel_input.name artel_layer_add.config
artel_apply.config artel_model_compile.optimizer artel_model_compile.loss artel_model_compile.metrics
artel_model_input.name artel_model_input.dtype artel_model_input.shape artel_model_output.name artel_model_output.dtype
artel_model_output.shape artel_model_fit.options artel_model_fit.out artel_model_evaluate.options artel_model_evaluate.out
artel_model_predict.options artel_predictions_get.name artel_predictions_get.shape artel_predictions_get.values artel_cluster_open.options
artel_communicator_open.cluster artel_layer_flatten.options artel_layer_global_average_pooling2d.options
artel_layer_global_max_pooling2d.options artel_layer_max_pooling2d.options artel_layer_average_pooling2d.options
artel_layer_batch_normalization.options artel_layer_layer_normalization.options artel_predictor_create.options artel_predictor_input.dtype
artel_predictor_input.row artel_predictor_target.dtype artel_predictor_target.row artel_predictor_loss.losses
artel_trainer_create.options artel_trainer_step.loss
""".split())
# Numbers that mean something although they look hostile.
MEANT = {"artel_cluster_get.seconds": [math.inf], "artel_cluster_barrier.seconds": [math.inf], "artel_cluster_finish.status": None,
         "artel_model_read_checkpoint.newer_than": None, "artel_normalization_options.axis": [-1]}
# Fields of a struct that only some of its functions look at.
ONLY = {"artel_collective.root": "communicator_(broadcast|reduce|gather)$", "artel_collective.reduction": "reduce", "artel_conv2d_options.groups": "layer_conv2d",
        "artel_conv2d_options.depth_multiplier": "depthwise|separable", "artel_conv2d_options.filters": "layer_conv2d|separable",
        "artel_normalization_options.momentum": "batch"}


class Scene:
    """Valid arguments, made when they are asked for. Kept alive until the child ends."""

    def __init__(self, function):
        self.function, self.kept, self.made = function, [], {}
        self.context = self.create("artel_context_create", None)
        self.functional = "functional" in function or function in ("artel_input", "artel_apply", "artel_apply_again")

    def create(self, name, *arguments):
        out = ctypes.c_void_p()
        status = getattr(lib, name)(*arguments, self.keep(ctypes.byref(out)))
        assert status == 0, f"{name} fails with {status}: {text_of(getattr(self, 'context', None))}"
        return out.value

    def keep(self, thing):
        self.kept.append(thing)
        return ctypes.cast(thing, ctypes.c_void_p) if not isinstance(thing, bytes) else thing

    def shape(self, *dims):
        return headers.structs["artel_shape"](len(dims), (ctypes.c_int64 * 8)(*dims))

    def array(self, ctype, *values):
        return self.keep((ctype * max(len(values), 1))(*values)).value

    def text(self, value):
        return self.keep(ctypes.create_string_buffer(value.encode())).value

    def builder(self):
        if self.functional:
            builder = self.create("artel_functional_create", self.context, None)
            tensor = headers.structs["artel_tensor"]()
            assert lib.artel_input(builder, None, 0, self.keep(ctypes.byref(self.shape(3))), self.keep(ctypes.byref(tensor))) == 0
            return builder
        images = any(word in self.function for word in ("2d", "flatten", "normalization"))
        series = any(word in self.function for word in ("lstm", "gru", "rnn"))
        row = self.shape(8, 8, 4) if images else self.shape(5, 3) if series else self.shape(4)
        return self.create("artel_sequential_create", self.context, None, 0, self.keep(ctypes.byref(row)))

    def model(self):
        builder = self.create("artel_sequential_create", self.context, None, 0, self.keep(ctypes.byref(self.shape(3))))
        options = headers.structs["artel_dense_options"](units=2)
        assert lib.artel_layer_dense(builder, self.keep(ctypes.byref(options))) == 0
        model = self.create("artel_sequential_finish", builder)
        assert lib.artel_model_compile(model, self.text("sgd"), self.text("mse"), self.text("mae")) == 0
        assert lib.artel_model_initialise(model, 1) == 0
        return model

    def arrays(self):
        kind = headers.structs["artel_data_array"]
        x = kind(self.text("x"), 1, 0, self.shape(4, 3), self.array(ctypes.c_float, *range(12)))
        y = kind(self.text("y"), 2, 0, self.shape(4, 2), self.array(ctypes.c_float, *range(8)))
        return (kind * 2)(x, y)

    def object(self, kind):
        """An object by the noun of its type."""
        if kind in self.made:
            return self.made[kind]
        model, data = (self.object("artel_model"), self.object("artel_data")) if kind in ("artel_history", "artel_predictions") else (0, 0)
        make = {"artel_context": lambda: self.context, "artel_builder": self.builder, "artel_model": self.model,
                "artel_data": lambda: self.create("artel_data_from_memory", self.context, self.keep(self.arrays()), 2),
                "artel_history": lambda: self.create("artel_model_evaluate", model, data, None),
                "artel_predictions": lambda: self.create("artel_model_predict", model, data, None),
                "artel_cluster": lambda: self.create("artel_cluster_open", self.context, self.struct("artel_cluster_options")),
                "artel_predictor": lambda: self.create("artel_predictor_create", self.object("artel_model"), self.struct("artel_predictor_options")),
                "artel_trainer": lambda: self.create("artel_trainer_create", self.object("artel_model"), self.object("artel_data"),
                                                     self.struct("artel_trainer_options")),
                "artel_communicator": lambda: self.create("artel_communicator_open", self.context, None)}
        self.made[kind] = make[kind]()
        return self.made[kind]

    def struct(self, kind):
        """A struct of options or the like with good values; what an _INIT macro of the headers sets is set here too."""
        s = headers.structs[kind]()
        rows = ctypes.c_int64 * 2
        values = {
            "artel_context_options": {"log_level": 2},
            "artel_dense_options": {"units": 2}, "artel_dropout_options": {"rate": 0.5}, "artel_activation_options": {"activation": self.text("relu")},
            "artel_conv2d_options": {"filters": 4, "kernel": rows(3, 3)}, "artel_rescaling_options": {"scale": 2.0},
            "artel_reshape_options": {"shape": self.shape(2, 2)}, "artel_embedding_options": {"input_dim": 7, "output_dim": 3},
            "artel_recurrent_options": {"units": 3}, "artel_normalization_options": {"axis": -1},
            "artel_fit_options": {"epochs": 1, "batch_size": 2, "shuffle": True, "strategy": self.text("auto"), "validation_frequency": 1,
                                  "save_every": self.text("1epoch"), "keep": 3, "threads": 1},
            "artel_evaluate_options": {"batch_size": 2, "strategy": self.text("auto"), "threads": 1},
            "artel_cluster_options": {"resolver": self.text("none"), "wait_for_cluster": 60.0, "collective_timeout": 60.0, "suspect_after": 2.0},
            "artel_trainer_options": {"batch_size": 2, "strategy": self.text("auto"), "threads": 1},
            "artel_predictor_options": {"most_rows": 2, "threads": 1, "loss": True},
            "artel_collective": {"count": 2, "in": self.array(ctypes.c_float, 1, 2), "out": self.array(ctypes.c_float, 0, 0),
                                 "destination": self.array(ctypes.c_int, 0)},
            "artel_sparse": {"width": 2, "count": 1, "id": self.array(ctypes.c_int64, 3), "row": self.array(ctypes.c_float, 1, 2)},
            "artel_data_callback": {"arrays": self.keep(self.arrays()).value, "array_count": 2, "count": 4,
                                    "fetch": ctypes.cast(self.fetch(), ctypes.c_void_p).value},
            "artel_shape": {"rank": 1, "dim": (ctypes.c_int64 * 8)(3)},
        }.get(kind, {})
        if "struct_size" in dict(s._fields_):
            values["struct_size"] = ctypes.sizeof(s)
        for name, value in values.items():
            setattr(s, name, value)
        return self.keep(ctypes.pointer(s)).value

    def fetch(self):
        prototype = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 2, ctypes.c_int64, *[ctypes.c_void_p] * 2)
        callback = prototype(lambda *_: 0)
        self.kept.append(callback)
        return callback

    def argument(self, field):
        """A valid value of a parameter."""
        key = f"{self.function}.{field.name}"
        named = {"path": "layers/dense/vars/1" if "weight" in self.function else "m.keras", "config": "{}", "class_name": "Dropout",
                 "specification": "synthetic:4", "optimizer": "sgd", "loss": "mse", "metrics": "mae", "key": "loss", "directory": ".",
                 "name": "float32" if "dtype" in self.function else "word"}
        if self.function == "artel_model_load":
            assert lib.artel_model_save(self.object("artel_model"), self.text("m.keras")) == 0
        if self.function == "artel_model_load_weights":
            assert lib.artel_model_save(self.object("artel_model"), self.text("m.weights.h5")) == 0
            named["path"] = "m.weights.h5"
        if self.function == "artel_cluster_get":
            assert lib.artel_cluster_put(self.object("artel_cluster"), self.text("loss"), self.text("0.25"), 4, True) == 0
        if "apply" in self.function:
            named["config"] = '{"rate": 0.5}'
        if self.function == "artel_layer_add":
            named["config"] = '{"rate": 0.5}'
        if field.type == "char" and field.stars == 1 and field.name in named:
            return self.text(named[field.name])
        special = {"artel_communicator_create.contexts": lambda: self.array(ctypes.c_void_p, self.context),
                   "artel_communicator_subset.position": lambda: self.array(ctypes.c_int, 0),
                   "artel_data_from_memory.arrays": lambda: self.keep(self.arrays()).value,
                   "artel_communicator_all_reduce_many.calls": lambda: self.struct("artel_collective")}
        if key in special:
            return special[key]()
        if self.function.startswith("artel_predictor_") and field.stars == 2 and field.name in ("inputs", "targets", "outputs"):
            return self.array(ctypes.c_void_p, self.array(ctypes.c_float, *range(8)))
        if self.function.startswith("artel_predictor_") and field.name == "rows":
            return 2
        if field.stars == 1 and (field.type + "_destroy" in headers.functions or field.type == "artel_cluster"):
            return self.object(field.type)
        if field.stars == 1 and field.type in headers.structs:
            return self.struct(field.type)
        if field.stars:
            return self.keep((ctypes.c_uint64 * 64)()).value
        numbers = {"count": {"artel_model_get_weight": 2, "artel_model_set_weight": 2, "artel_trainer_order": 4}.get(self.function, 1),
                   "array_count": 2, "members": 1, "bytes": 4, "room": 4, "newer_than": -1}
        if field.type in ("artel_tensor",):
            return headers.structs[field.type](0, 0)
        return numbers.get(field.name, 0)


def text_of(context):
    at = lib.artel_context_error(context)
    return ctypes.string_at(at + 4 + 256) if ctypes.c_int.from_address(at).value < 0 else b""


def cases(name):
    """(label, spoil): `spoil` changes the list of arguments."""
    yield "valid", None
    for i, field in enumerate(headers.functions[name][1]):
        label = f"{name}.{field.name}"
        if field.stars:
            yield f"{label} NULL", (i, None, None)
        elif field.type in NUMBERS or field.type in headers.enums:
            for value in NUMBERS.get(field.type, [-1, 99]):
                yield f"{label} {value}", (i, None, value)
        if field.stars == 1 and field.constant and field.type in headers.fields and field.type + "_destroy" not in headers.functions:
            for inner in headers.fields[field.type]:
                yield from spoilt_fields(f"{name} {field.type}.{inner.name}", i, inner)


def spoilt_fields(label, i, inner):
    if inner.stars or inner.type in headers.callbacks:
        yield f"{label} NULL", (i, inner.name, None)
    elif inner.type in headers.enums or inner.type in NUMBERS:
        for value in NUMBERS.get(inner.type, [-1, 99]):
            yield f"{label} {value}", (i, inner.name, [value] * inner.length if inner.length else value)


def must_fail(label, spoil, field_type):
    """Whether the case has to be refused: pointers that are no option, NaN, infinities, negative numbers; field by field where a struct
    says that 0 and NULL are defaults."""
    if spoil is None:
        return False
    place = label.split(" ")[-2]
    meant = MEANT.get(place, [])
    i, inner, value = spoil
    if value is None:
        return inner is None and place not in OPTIONAL
    first = value[0] if isinstance(value, list) else value
    if not re.search(ONLY.get(place, ""), label.split(" ")[0]):
        return False
    if meant is None or any(first == m for m in meant):
        return False
    hostile = HOSTILE.get(field_type, [])
    return any(first == h or (h != h and first != first) for h in hostile) or field_type in headers.enums


def run_case(name, label, spoil):
    """What is wrong with the answer, or nothing."""
    result, fields = headers.functions[name]
    scene = Scene(name)
    arguments = [scene.argument(field) for field in fields]
    kind = None
    if spoil:
        i, inner, value = spoil
        kind = fields[i].type
        if inner:
            kind = next(f.type for f in headers.fields[fields[i].type] if f.name == inner)
            struct = headers.structs[fields[i].type].from_address(arguments[i])
            setattr(struct, inner, type(getattr(struct, inner))(*value) if isinstance(value, list) else value)
        else:
            arguments[i] = value
    anonymous = spoil and spoil[0] == 0 and spoil[1:] == (None, None)  # the object that has the context
    lib.artel_context_clear(None)
    answer = getattr(lib, name)(*arguments)
    if result != "artel_status":
        return None
    builder = scene.made.get("artel_builder")
    finish = "artel_functional_finish" if scene.functional else "artel_sequential_finish"
    if answer == 0 and builder and not scene.functional and "finish" not in name:
        answer = getattr(lib, finish)(builder, scene.keep((ctypes.c_uint64 * 4)()))
    text = text_of(scene.context) or text_of(None)
    if anonymous:
        text = text_of(None)
    if name == "artel_cluster_finish":
        return None
    if spoil is None and answer < 0:
        return f"valid arguments fail with {answer}: {text}"
    if answer < 0 and not text:
        return f"status {answer} without a text"
    return f"is accepted (status {answer})" if must_fail(label, spoil, kind) and answer >= 0 else None


def child(name, first, out):
    os.dup2(os.open("/dev/null", os.O_WRONLY), 2)
    for number, (label, spoil) in enumerate(cases(name)):
        if number < first:
            continue
        os.write(out, f"{number}\t{label}\n".encode())
        signal.alarm(20)
        wrong = run_case(name, label, spoil)
        signal.alarm(0)
        if wrong:
            os.write(out, f"!{label}: {wrong}\n".encode())
    os._exit(0)


def run_function(name):
    """Runs all cases of a function in children; the number of cases and what was wrong."""
    first, faults = 0, []
    while True:
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                child(name, first, write)
            except BaseException as error:  # of the test itself
                os.write(write, f"!{name}: the test fails: {error!r}\n".encode())
                os._exit(0)
        os.close(write)
        with os.fdopen(read) as pipe:
            lines = pipe.read().splitlines()
        status = os.waitpid(pid, 0)[1]
        faults += [line[1:] for line in lines if line.startswith("!")]
        last = [line for line in lines if not line.startswith("!")][-1].split("\t")
        if not os.WIFSIGNALED(status):
            return int(last[0]) + 1, faults
        death = signal.Signals(os.WTERMSIG(status)).name
        faults.append(f"{last[1]}: {'hangs' if death == 'SIGALRM' else 'ends the process with ' + death}")
        first = int(last[0]) + 1
        if first >= sum(1 for _ in cases(name)):
            return first, faults


def main():
    wanted = sys.argv[1:] or sorted(headers.functions)
    total, faults = 0, []
    for name in wanted:
        cases_of, wrong = run_function(name)
        total += cases_of
        faults += wrong
    print(f"{len(wanted)} functions, {total} cases")
    if faults:
        sys.exit("\n".join(faults))


main()
