# SPDX-License-Identifier: Apache-2.0
"""Valid arguments of every public function, made from include/artel and a few words on what a function wants."""
import ctypes
import os
import shutil
import signal

from api.contexts import Servers
from api.header import Headers

headers = Headers(os.environ["ARTEL_SOURCE"] + "/include/artel")
lib = headers.load(os.environ["ARTEL_BUILD"] + "/libartel.so")
BOOL = 12  # ARTEL_DTYPE_BOOL
# Types that nothing destroys by name, beside those that something does.
OBJECTS = ("artel_cluster", "artel_graph", "artel_variable", "artel_optimizer", "artel_metric", "artel_function", "artel_custom_layer", "artel_ndarray", "artel_eager_function",
           "artel_all_reduce_route", "artel_hook_run", "artel_coordinator", "artel_remote", "artel_worker_data")


class Scene:
    """Valid arguments, made when they are asked for. Kept alive until the child ends."""

    def __init__(self, function):
        self.function, self.kept, self.made, self.answer = function, [], {}, None
        self.context = self.create("artel_context_create", None)
        self.functional = "functional" in function or function in ("artel_input", "artel_apply", "artel_apply_again", "artel_apply_arguments")

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

    def strategy(self):
        strategy = self.create("artel_strategy_create", self.context, self.struct("artel_strategy_options"))
        self.made["artel_strategy"] = strategy
        if self.function not in ("artel_strategy_add_model", "artel_optimizer_create_for_model"):
            assert lib.artel_strategy_add_model(strategy, self.object("artel_model")) == 0
        return strategy

    def callback(self, kind, call):
        call = call or (lambda *_: 0)
        arguments = {"artel_trace_fn": [ctypes.c_void_p] * 4, "artel_unit_fn": [ctypes.c_void_p, ctypes.c_int64],
                     "artel_layer_build_fn": [ctypes.c_void_p] * 3 + [ctypes.c_int], "artel_loss_call_fn": [ctypes.c_void_p] * 3 + [ctypes.c_int] * 2,
                     "artel_layer_call_fn": [ctypes.c_void_p] * 4 + [ctypes.c_int, ctypes.c_void_p],
                     "artel_operation_infer_fn": [ctypes.c_void_p] * 2 + [ctypes.c_int, ctypes.c_void_p],
                     "artel_operation_compute_fn": [ctypes.c_void_p] + [ctypes.c_int64] * 2 + [ctypes.c_void_p] * 2,
                     "artel_pipeline_map_fn": [ctypes.c_void_p, ctypes.c_int64] + [ctypes.c_void_p] * 3,
                     "artel_value_fn": [ctypes.c_void_p] * 3,
                     "artel_worker_open_fn": [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p],
                     "artel_worker_next_fn": [ctypes.c_void_p] * 3 + [ctypes.c_int],
                     "artel_all_reduce_list_fn": [ctypes.c_void_p] * 3, "artel_optimizer_update_fn": [ctypes.c_void_p] * 4,
                     "artel_estimator_build_fn": [ctypes.c_void_p] * 2 + [ctypes.c_int], "artel_estimator_model_fn": [ctypes.c_void_p] * 4,
                     "artel_estimator_input_fn": [ctypes.c_void_p] * 3, "artel_estimator_hook_fn": [ctypes.c_void_p] * 2, "artel_predict_fn": [ctypes.c_void_p] * 2,
                     "artel_hook_begin_fn": [ctypes.c_void_p] * 2, "artel_hook_unit_fn": [ctypes.c_void_p] * 2 + [ctypes.c_int64],
                     "artel_hook_run_fn": [ctypes.c_void_p] * 2, "artel_hook_feed_fn": [ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p],
                     "artel_operation_gradient_fn": [ctypes.c_void_p] * 3 + [ctypes.c_int] * 3 + [ctypes.c_void_p]}[kind]
        callback = ctypes.CFUNCTYPE(ctypes.c_int, *arguments)(call)
        self.kept.append(callback)
        return ctypes.cast(callback, ctypes.c_void_p).value

    def declare(self, _user, strategy, _mode):
        """A variable, and an optimizer for it."""
        variable, optimizer = ctypes.c_void_p(), ctypes.c_void_p()
        assert lib.artel_variable_create(strategy, self.struct("artel_variable_options"), ctypes.byref(variable)) == 0
        assert lib.artel_optimizer_create(strategy, b"sgd", ctypes.byref(variable), 1, ctypes.byref(optimizer)) == 0
        self.made["declared"] = variable.value, optimizer.value
        return 0

    def estimate(self, _user, graph, batch, spec):
        batch = headers.structs["artel_estimator_batch"].from_address(batch)
        spec = headers.structs["artel_estimator_spec"].from_address(spec)
        product = ctypes.c_int32(lib.artel_graph_binary(graph, b"multiply", ctypes.c_int32.from_address(batch.features).value,
                                                        lib.artel_graph_variable(graph, self.made["declared"][0])))
        spec.loss = lib.artel_graph_op(graph, b"mean", ctypes.byref(product), 1, b'{"axis": -1}')
        spec.optimizer = self.made["declared"][1]
        if batch.mode == 2:  # prediction
            spec.predictions[0].name, spec.predictions[0].value, spec.prediction_count = self.text("product"), product.value, 1
        return 0

    def feed(self, _user, context, given):
        out = ctypes.c_void_p()
        assert lib.artel_data_from_memory(context, self.keep(self.arrays()), 2, ctypes.byref(out)) == 0
        headers.structs["artel_estimator_input"].from_address(given).data = out.value
        return 0

    @staticmethod
    def condition(_user, graph, _inputs, outputs):
        ctypes.c_int32.from_address(outputs).value = lib.artel_graph_constant(graph, BOOL, ctypes.byref(headers.structs["artel_shape"](0)), ctypes.c_char_p(b"\1"))
        return 0

    @staticmethod
    def trace(_user, _graph, inputs, outputs):
        ctypes.c_int32.from_address(outputs).value = ctypes.c_int32.from_address(inputs).value
        return 0

    def called(self):
        """What the model makes of the argument."""
        inputs, outputs = (ctypes.c_int32 * 1)(0), (ctypes.c_int32 * 1)()
        assert lib.artel_graph_call(self.object("artel_graph"), self.object("artel_model"), inputs, 1, outputs, 1) == 0
        return outputs[0]

    def traced(self, work):
        """Does the work while a function is traced: `artel_graph` is an object only then."""
        def call(_user, graph, _inputs, _outputs):
            self.made["artel_graph"] = graph
            holds = ctypes.c_int32()
            self.condition(None, graph, None, ctypes.addressof(holds))
            self.made["condition"] = holds.value
            work()
            return 0
        options = self.struct("artel_function_options")
        strategy = self.object("artel_strategy")
        self.object("artel_variable"), self.object("artel_optimizer"), self.object("artel_metric")
        lib.artel_function_create(strategy, options, self.callback("artel_trace_fn", call), None, self.keep((ctypes.c_uint64 * 4)()))

    def within_layer(self, work):
        """Does the work while a layer of the program's own is built, or called for what wants a graph."""
        def build(_user, layer, _inputs, _count):
            self.made["artel_custom_layer"] = layer
            if self.function != "artel_custom_weight":
                work()
            return 0

        def call(_user, layer, graph, inputs, _count, outputs):
            self.made.update(artel_custom_layer=layer, artel_graph=graph)
            if self.function == "artel_custom_weight":
                work()
            ctypes.c_int32.from_address(outputs).value = ctypes.c_int32.from_address(inputs).value
            return 0
        definition = headers.structs["artel_layer_definition"].from_address(self.struct("artel_layer_definition"))
        definition.build = self.callback("artel_layer_build_fn", build)
        definition.call = self.callback("artel_layer_call_fn", call)
        assert lib.artel_context_add_layer(self.context, self.keep(ctypes.byref(definition))) == 0
        builder = self.create("artel_sequential_create", self.context, None, 0, self.keep(ctypes.byref(self.shape(3))))
        lib.artel_layer_add(builder, self.text("Word"), None)
        lib.artel_sequential_finish(builder, self.keep((ctypes.c_uint64 * 4)()))

    def routed(self, work):
        """Does the work while the messages of an all-reduce between two members are listed."""
        def call(_user, _group, route):
            self.made["artel_all_reduce_route"] = route
            work()
            return 0
        definition = headers.structs["artel_all_reduce_definition"].from_address(self.struct("artel_all_reduce_definition"))
        definition.list = self.callback("artel_all_reduce_list_fn", call)
        assert lib.artel_context_add_all_reduce(self.context, self.keep(ctypes.byref(definition))) == 0
        members = (ctypes.c_void_p * 2)()
        contexts = (ctypes.c_void_p * 2)(self.context, self.create("artel_context_create", None))
        assert lib.artel_communicator_create(self.keep(contexts), 2, self.keep(members)) == 0
        lib.artel_communicator_set_all_reduce(members[0], definition.name)

    def monitored(self, work):
        """Does the work before a run of a monitored session, or behind it what is for there."""
        def around(_user, run):
            self.made["artel_hook_run"] = run
            if self.function == "artel_hook_value":
                lib.artel_hook_fetch(run, 0)
            if after == (self.function == "artel_hook_value"):
                work()
            return 0

        def before(user, run):
            nonlocal after
            after = False
            return around(user, run)

        def behind(user, run):
            nonlocal after
            after = True
            return around(user, run)

        after = False
        functions = headers.structs["artel_hook_functions"](struct_size=ctypes.sizeof(headers.structs["artel_hook_functions"]))
        functions.before, functions.after = self.callback("artel_hook_run_fn", before), self.callback("artel_hook_run_fn", behind)
        hook = self.create("artel_hook_create", self.context, self.keep(ctypes.byref(functions)), None)
        session, call = self.object("artel_session"), headers.structs["artel_session_call"].from_address(self.struct("artel_session_call"))
        self.object("artel_function")
        call.feeds = 0 if self.function == "artel_hook_feed" else call.feeds
        options = headers.structs["artel_monitor_options"].from_address(self.struct("artel_monitor_options"))
        options.hooks, options.hook_count = self.array(ctypes.c_void_p, hook), 1
        empty = (headers.structs["artel_array"] * 1)()
        if self.function == "artel_hook_feed":
            call.feeds = ctypes.addressof(empty)
        run = lambda _user, _unit: lib.artel_session_run(session, self.made["artel_function"], ctypes.addressof(call))
        shutil.rmtree("monitor", ignore_errors=True)  # of the case before
        lib.artel_session_monitor(session, ctypes.addressof(options), 1, self.callback("artel_unit_fn", run), None)

    def coordinated(self, work):
        """Does the work as a task of a cluster with a server: as its worker what is for those, else as its chief."""
        servers = Servers(self, headers, lib, "worker" if self.function == "artel_coordinator_serve" else "chief")
        work()
        servers.end(self.answer)

    def place(self):
        """Where the function is called."""
        fields = headers.functions[self.function][1]
        if self.function == "artel_session_request_stop":
            return self.monitored
        places = {"artel_graph": self.traced, "artel_hook_run": self.monitored, "artel_custom_layer": self.within_layer, "artel_all_reduce_route": self.routed,
                  "artel_remote": self.coordinated}
        if self.function.startswith("artel_coordinator_"):
            return self.coordinated
        return places.get(fields[0].type if fields else None, lambda work: work())

    def model(self):
        builder = self.create("artel_sequential_create", self.context, None, 0, self.keep(ctypes.byref(self.shape(3))))
        options = headers.structs["artel_dense_options"](units=2)
        assert lib.artel_layer_dense(builder, self.keep(ctypes.byref(options))) == 0
        model = self.create("artel_sequential_finish", builder)
        assert lib.artel_model_compile(model, self.text("sgd"), self.text("mse"), self.text("mae")) == 0
        assert lib.artel_model_initialise(model, 1) == 0
        return model

    @staticmethod
    def table():
        with open("rows.csv", "w") as f:
            f.write("x,y\n1,2\n3,4\n")
        return "csv:rows.csv"

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
                "artel_pipeline": lambda: self.create("artel_pipeline_create", self.context, self.text(self.table())),
                "artel_reader": lambda: self.create("artel_reader_create", self.object("artel_data")),
                "artel_strategy": self.strategy,
                "artel_variable": lambda: self.create("artel_variable_create", self.object("artel_strategy"),
                                                      self.struct("artel_variable_options")),
                "artel_optimizer": lambda: self.create("artel_optimizer_create", self.object("artel_strategy"), self.text("sgd"),
                                                       self.array(ctypes.c_void_p, self.object("artel_variable")), 1),
                "artel_function": lambda: self.create("artel_function_create", self.object("artel_strategy"),
                                                      self.struct("artel_function_options"),
                                                      self.callback("artel_trace_fn", self.trace), None),
                "artel_metric": lambda: self.create("artel_metric_create", self.object("artel_strategy"), self.text("Mean"), None),
                "artel_eager": lambda: self.create("artel_eager_create", self.context, self.struct("artel_eager_options")),
                "artel_ndarray": lambda: self.create("artel_ndarray_full", self.object("artel_eager"), 0, self.keep(ctypes.byref(self.shape(3))), 2.0),
                "artel_eager_function": lambda: self.create("artel_eager_function_create", self.object("artel_eager"), self.text("word"),
                                                            self.callback("artel_trace_fn", self.trace), None, 1),
                "artel_coordinator": lambda: self.create("artel_coordinator_open", self.object("artel_strategy"), None),
                "artel_estimator": lambda: self.create("artel_estimator_create", self.context, self.struct("artel_estimator_options")),
                "artel_hook": lambda: self.create("artel_hook_stop_at_step", self.context, 0, 1),
                "artel_watch": lambda: self.create("artel_watch_create", self.context, self.text("."), self.struct("artel_watch_options")),
                "artel_session": lambda: self.create("artel_session_create", self.object("artel_strategy"), self.struct("artel_session_options")),
                "artel_device_setter": lambda: self.create("artel_device_setter_create", self.context, self.struct("artel_device_setter_options")),
                "artel_worker_data": lambda: self.create("artel_worker_data_create", self.object("artel_strategy"),
                                                         self.struct("artel_worker_data_options")),
                "artel_values": lambda: self.create("artel_values_create", self.object("artel_strategy"), self.struct("artel_values_options")),
                "artel_remote": lambda: self.create("artel_coordinator_schedule", self.object("artel_coordinator"), self.object("artel_function"),
                                                    self.struct("artel_array"), 1, self.object("artel_worker_data")),
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
            "artel_choice": {"condition": self.made.get("condition", 0), "inputs": self.array(ctypes.c_int32, 0), "then": self.callback("artel_trace_fn", self.trace), "otherwise": self.callback("artel_trace_fn", self.trace),
                             "output_count": 1},
            "artel_loop": {"condition": self.callback("artel_trace_fn", self.condition), "body": self.callback("artel_trace_fn", self.trace), "state_count": 1, "most": 2},
            "artel_scan": {"body": self.callback("artel_trace_fn", self.trace), "sequences": self.array(ctypes.c_int32, 0), "sequence_count": 1, "result_count": 1, "axis": 1},
            "artel_eager_options": {"threads": 1, "most_functions": 4},
            "artel_pipeline_function": {"column": self.text("x"), "name": self.text("word"), "shape": self.shape(),
                                        "function": self.callback("artel_pipeline_map_fn", None)},
            "artel_strategy_options": {"batch_size": 4, "threads": 1},
            "artel_variable_options": {"name": self.text("word"), "shape": self.shape(3)},
            "artel_argument": {"name": self.text("x"), "shape": self.shape(3)},
            "artel_array": {"shape": self.shape(2, 3), "data": self.array(ctypes.c_float, *range(8))},
            "artel_function_call": {"inputs": self.struct("artel_array") if kind == "artel_function_call" else 0, "input_count": 1, "output_count": 1,
                                    "outputs": self.struct("artel_array") if kind == "artel_function_call" else 0,
                                    "input_bytes": self.array(ctypes.c_size_t, 32), "output_bytes": self.array(ctypes.c_size_t, 32)},
            "artel_layer_definition": {"class_name": self.text("Word"), "call": self.callback("artel_layer_call_fn", None)},
            "artel_loss_definition": {"name": self.text("word"), "call": self.callback("artel_loss_call_fn", None)},
            "artel_optimizer_definition": {"class_name": self.text("Word"), "update": self.callback("artel_optimizer_update_fn", None)},
            "artel_operation": {"name": self.text("word"), "infer": self.callback("artel_operation_infer_fn", None),
                                "compute": self.callback("artel_operation_compute_fn", None)},
            "artel_all_reduce_definition": {"name": self.text("word"), "list": self.callback("artel_all_reduce_list_fn", None)},
            "artel_estimator_options": {"model_dir": self.text("estimator"), "build": self.callback("artel_estimator_build_fn", self.declare),
                                        "model": self.callback("artel_estimator_model_fn", self.estimate), "keep_checkpoint_max": 5},
            "artel_train_spec": {"input": self.callback("artel_estimator_input_fn", self.feed)},
            "artel_eval_spec": {"input": self.callback("artel_estimator_input_fn", self.feed)},
            "artel_predict_spec": {"input": self.callback("artel_estimator_input_fn", self.feed), "predict": self.callback("artel_predict_fn", lambda _user, _batch: 0)},
            "artel_warm_start": {"checkpoint": self.text("elsewhere")},
            "artel_session_options": {"clients": 1},
            "artel_device_setter_options": {"ps_tasks": 2},
            "artel_session_call": {"feeds": self.struct("artel_array") if kind == "artel_session_call" else 0, "feed_count": 1,
                                   "outputs": self.struct("artel_array") if kind == "artel_session_call" else 0, "output_count": 1},
            "artel_monitor_options": {"directory": self.text("monitor"), "save_every": 1, "keep": 2, "retries": 1},
            "artel_watch_options": {"timeout_secs": 0.0},
            "artel_hook_options": {"outputs": self.array(ctypes.c_int, 0), "count": 1, "directory": self.text("logs")},
            "artel_coordinator_options": {"in_flight": 4, "queue": 16, "patience": 60.0},
            "artel_worker_data_options": {"arrays": 1, "open": self.callback("artel_worker_open_fn", None),
                                          "next": self.callback("artel_worker_next_fn", None)},
            "artel_values_options": {"shape": self.shape(3), "count": 2, "make": self.callback("artel_value_fn", None)},
            "artel_shape": {"rank": 1, "dim": (ctypes.c_int64 * 8)(3)},
        }.get(kind, {})
        if kind == "artel_function_options":
            values = {"argument_count": 1, "output_count": 1, "arguments": self.struct("artel_argument")}
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
        named = {"path": "layers/dense/vars/1" if "weight" in self.function else "m.keras", "config": "{}", "arguments": "{}", "class_name": "Dropout",
                 "specification": "synthetic:4", "optimizer": "sgd", "metric": "mae", "loss": "mse", "metrics": "mae", "key": "loss", "directory": ".",
                 "pattern": "*", "policy": "mixed_bfloat16", "text": '"csv:rows.csv"', "join": "zip", "stage": "shuffle", "settings": "{}",
                 "name": "float32" if "dtype" in self.function else "ring" if "all_reduce" in self.function else "word"}
        if self.function in ("artel_model_load", "artel_model_load_with_policy"):
            assert lib.artel_model_save(self.object("artel_model"), self.text("m.keras")) == 0
        if self.function == "artel_model_load_weights":
            assert lib.artel_model_save(self.object("artel_model"), self.text("m.weights.h5")) == 0
            named["path"] = "m.weights.h5"
        if self.function == "artel_functions_load":
            self.object("artel_function")
            assert lib.artel_functions_save(self.object("artel_strategy"), None, 0, self.text("f.artel")) == 0
            named["path"] = "f.artel"
        if self.function == "artel_functions_save":
            self.object("artel_function")
            named["path"] = "f.artel"
        if self.function == "artel_strategy_function":
            self.object("artel_function")
            named["name"] = "function"
        if self.function in ("artel_strategy_variable", "artel_strategy_optimizer"):
            self.object("artel_optimizer")
        if self.function == "artel_strategy_leave":
            assert lib.artel_strategy_enter(self.object("artel_strategy")) == 0
        if self.function == "artel_session_place_of":
            self.object("artel_variable")  # before the session
        if self.function == "artel_coordinator_go_back":
            assert lib.artel_coordinator_keep(self.object("artel_coordinator")) == 0
        if self.function in ("artel_estimator_evaluate", "artel_estimator_predict"):
            assert lib.artel_estimator_train(self.object("artel_estimator"), self.struct("artel_train_spec")) == 0
        if self.function == "artel_cluster_get":
            assert lib.artel_cluster_put(self.object("artel_cluster"), self.text("loss"), self.text("0.25"), 4, True) == 0
        if self.function in ("artel_eager_op", "artel_eager_op_all", "artel_eager_unary", "artel_eager_binary"):
            named.update(name="add" if "binary" in self.function else "square", attributes="{}")
        if self.function.startswith("artel_graph_"):
            named.update(name="add" if "binary" in self.function else "square", attributes="{}")
        if self.function == "artel_context_load_extension":
            named["path"] = os.environ["ARTEL_BUILD"] + "/examples/my_layers.so"
        if "apply" in self.function:
            named["config"] = '{"rate": 0.5}'
        if self.function == "artel_layer_add":
            named["config"] = '{"rate": 0.5}'
        if self.function == "artel_graph_setting":
            named.update(config='{"loss": 0.5}')
        if field.type == "char" and field.stars == 1 and field.name in named:
            return self.text(named[field.name])
        special = {"artel_graph_mask.output": self.called, "artel_graph_update_metric.target": lambda: -1, "artel_graph_update_metric.weight": lambda: -1,
                   "artel_eager_op.inputs": lambda: self.array(ctypes.c_void_p, self.object("artel_ndarray")),
                   "artel_eager_op_all.inputs": lambda: self.array(ctypes.c_void_p, self.object("artel_ndarray")),
                   "artel_eager_call.inputs": lambda: self.array(ctypes.c_void_p, self.object("artel_ndarray")),
                   "artel_ndarray_transpose.axes": lambda: self.array(ctypes.c_int, 0),
                   "artel_communicator_create.contexts": lambda: self.array(ctypes.c_void_p, self.context),
                   "artel_communicator_subset.position": lambda: self.array(ctypes.c_int, 0),
                   "artel_data_from_memory.arrays": lambda: self.keep(self.arrays()).value,
                   "artel_pipeline_join.inputs": lambda: self.array(ctypes.c_void_p, self.object("artel_pipeline")),
                   "artel_functions_save.functions": lambda: self.array(ctypes.c_void_p, self.object("artel_function")),
                   "artel_optimizer_create.variables": lambda: self.array(ctypes.c_void_p, self.object("artel_variable")),
                   "artel_device_setter_place.variables": lambda: self.array(ctypes.c_void_p, self.object("artel_variable")),
                   "artel_communicator_all_reduce_many.calls": lambda: self.struct("artel_collective")}
        if key in special:
            return special[key]()
        if self.function.startswith("artel_predictor_") and field.stars == 2 and field.name in ("inputs", "targets", "outputs"):
            return self.array(ctypes.c_void_p, self.array(ctypes.c_float, *range(8)))
        if self.function.startswith(("artel_predictor_", "artel_values_")) and field.name == "rows" and not field.stars:
            return 2
        if field.type == "artel_hook_feed_fn":
            return self.callback(field.type, None)
        if field.type in ("artel_trace_fn", "artel_unit_fn"):
            return self.callback(field.type, self.trace if field.type == "artel_trace_fn" else lambda _user, _unit: 0)
        if field.stars == 1 and (field.type + "_destroy" in headers.functions or field.type in OBJECTS):
            return self.object(field.type)
        if field.stars == 1 and field.type in headers.structs:
            return self.struct(field.type)
        if field.stars:
            return self.keep((ctypes.c_uint64 * 64)()).value
        numbers = {"count": {"artel_model_get_weight": 2, "artel_model_set_weight": 2, "artel_trainer_order": 4,
                             "artel_variable_read": 3, "artel_variable_assign": 3, "artel_variable_read_as": 3, "artel_variable_assign_as": 3, "artel_ndarray_read": 3,
                             "artel_ndarray_write": 3}.get(self.function, 1),
                   "input_count": 1, "output_count": 1, "most": 1, "units": 2, "to": 1,
                   "array_count": 2, "members": 1, "bytes": 4, "room": 4, "newer_than": -1, "step": 1, "last": 1}
        if field.type in ("artel_tensor",):
            return headers.structs[field.type](0, 0)
        return numbers.get(field.name, 0)


def text_of(context):
    at = lib.artel_context_error(context)
    return ctypes.string_at(at + 4 + 256) if ctypes.c_int.from_address(at).value < 0 else b""


# -- cases, in children: what crashes or hangs is named, and the next child goes on behind it --


def child(name, cases, run_case, first, out):
    os.dup2(os.open("/dev/null", os.O_WRONLY), 2)
    for number, (label, case) in enumerate(cases):
        if number < first:
            continue
        os.write(out, f"{number}\t{label}\n".encode())
        signal.alarm(120)  # of what takes a second at the most
        wrong = run_case(name, label, case)
        signal.alarm(0)
        if wrong:
            os.write(out, f"!{label}: {wrong}\n".encode())
    os._exit(0)


def run_cases(name, cases, run_case):
    """Runs all cases (label, case) of a function; their number and what was wrong."""
    first, faults = 0, []
    while True:
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                child(name, cases, run_case, first, write)
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
        if first >= len(cases):
            return first, faults
