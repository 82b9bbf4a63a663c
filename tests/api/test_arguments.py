# SPDX-License-Identifier: Apache-2.0
# timeout: 900
# Every argument of every public function, and every field of every struct that it takes, given what does not belong there: NULL, zero,
# negative, the largest numbers, NaN, infinities, enum values that do not exist. The functions are read from include/artel, so a new one
# is tested without a line here, or the test says which valid argument it lacks. Nothing may crash or hang; a failure has a text.
"""One child process a function; what crashes is named and the child goes on with the next case."""
import concurrent.futures
import ctypes
import math
import multiprocessing
import os
import re
import sys
import tempfile

from api.scene import Scene, headers, lib, run_cases, text_of

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
artel_trainer_create.options artel_trainer_step.loss artel_strategy_create.options artel_function_create.user artel_function_output.dtype
artel_function_output.shape artel_function_output.rows artel_graph_describe.dtype artel_graph_describe.shape artel_graph_describe.rows
artel_functions_save.functions artel_functions_load.options artel_metric_create.prediction
artel_strategy_loop.user artel_custom_add_weight.initializer artel_eager_create.options artel_eager_function_create.user
artel_eager_function_create.name artel_eager_op.attributes artel_eager_op_all.attributes artel_ndarray_create.elements artel_ndarray_describe.dtype
artel_graph_choose.inputs artel_graph_scan.state artel_choice.inputs artel_choice.user artel_loop.user artel_scan.user artel_ndarray_describe.shape artel_ndarray_describe.strides artel_ndarray_transpose.axes
artel_pipeline_add.settings artel_pipeline_join.settings
artel_reader_position.pass artel_reader_position.element
artel_communicator_set_all_reduce.name artel_coordinator_open.options artel_coordinator_close.coordinator artel_coordinator_done.done
artel_coordinator_schedule.data artel_coordinator_schedule.remote artel_remote_fetch.rows
artel_train_and_evaluate.out artel_device_setter_create.options artel_session_create.options artel_session_monitor.user artel_graph_device.device
artel_hook_create.user artel_hook_feeding.user artel_hook_step_counter.directory
artel_watch_create.options artel_watch_found.folder artel_watch_evaluate.options artel_watch_evaluate.out
artel_strategy_set.strategy artel_values_local.first artel_values_local.count artel_values_local.all artel_values_local.elements
artel_values_options.user
""".split())
# Numbers that mean something although they look hostile.
MEANT = {"artel_cluster_get.seconds": [math.inf], "artel_cluster_barrier.seconds": [math.inf], "artel_cluster_finish.status": None,
         "artel_model_read_checkpoint.newer_than": None, "artel_ndarray_full.number": None, "artel_ndarray_slice.axis": [-1], "artel_ndarray_index.axis": [-1],
         "artel_ndarray_slice.begin": None, "artel_ndarray_slice.end": None, "artel_ndarray_slice.step": None, "artel_ndarray_index.position": [-1], "artel_normalization_options.axis": [-1], "artel_graph_gather_along.axis": [-1]}
# Fields of a struct that only some of its functions look at.
ONLY = {"artel_collective.root": "communicator_(broadcast|reduce|gather)$", "artel_collective.reduction": "reduce", "artel_conv2d_options.groups": "layer_conv2d",
        "artel_conv2d_options.depth_multiplier": "depthwise|separable", "artel_conv2d_options.filters": "layer_conv2d|separable",
        "artel_normalization_options.momentum": "batch"}


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
    scene, wrong = Scene(name), []
    work = lambda: wrong.append(try_case(scene, name, label, spoil))
    scene.place()(work)
    return wrong[0] if wrong else "nothing was tried"


def try_case(scene, name, label, spoil):
    result, fields = headers.functions[name]
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
    answer = scene.answer = getattr(lib, name)(*arguments)
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


def try_function(name):
    return run_cases(name, list(cases(name)), run_case)


def main():
    wanted = sys.argv[1:] or sorted(headers.functions)
    total, faults = 0, []
    # Four at a time, each in a folder of its own: much of it is waiting for clusters.
    with concurrent.futures.ProcessPoolExecutor(4, multiprocessing.get_context("fork"), lambda: os.chdir(tempfile.mkdtemp(dir="."))) as pool:
        for count, wrong in pool.map(try_function, wanted):
            total += count
            faults += wrong
    print(f"{len(wanted)} functions, {total} cases")
    if faults:
        sys.exit("\n".join(faults))


main()
