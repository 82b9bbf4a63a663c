# SPDX-License-Identifier: Apache-2.0
"""A chief, a worker and a server as three contexts of one process: what a coordinator needs to do its work."""
import ctypes
import json
import socket
import threading

TASKS = ("chief", "worker", "ps")


def hold():
    """An address that nobody else is given; artel, which sets SO_REUSEADDR, listens there nevertheless."""
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("127.0.0.1", 0))
    return s


class Servers:
    """`own` is the task of the scene's context, and done by the test; the other two do their part in threads. All declare the same."""

    def __init__(self, scene, headers, lib, own):
        self.scene, self.headers, self.lib, self.own = scene, headers, lib, own
        self.held = {task: hold() for task in TASKS}
        with open("cluster.json", "w") as f:
            json.dump({"cluster": {task: ["127.0.0.1:%d" % s.getsockname()[1]] for task, s in self.held.items()}}, f)
        self.made = {task: self.declare(task) for task in TASKS}
        scene.made.update(self.made[own])
        self.threads = [threading.Thread(target=self.work, args=(task,)) for task in TASKS if task != own]
        for thread in self.threads:
            thread.start()

    def options(self, kind, **values):
        address = self.scene.struct(kind)
        for name, value in values.items():
            setattr(self.headers.structs[kind].from_address(address), name, self.scene.text(value) if isinstance(value, str) else value)
        return address

    def next(self, _user, _state, arrays, _count):
        """A batch of two rows."""
        batch = self.headers.structs["artel_array"].from_address(arrays)
        batch.shape, batch.data = self.scene.shape(2, 3), self.scene.array(ctypes.c_float, *range(6))
        return 0

    def declare(self, task):
        scene, made = self.scene, {}
        context = made["artel_context"] = scene.context if task == self.own else scene.create("artel_context_create", None)
        cluster = made["artel_cluster"] = scene.create("artel_cluster_open", context, self.options(
            "artel_cluster_options", resolver="file", file="cluster.json", task=task + ":0", parameter_servers=True))
        strategy = made["artel_strategy"] = scene.create("artel_strategy_create", context, self.options(
            "artel_strategy_options", strategy="parameter-server", cluster=cluster))
        made["artel_variable"] = scene.create("artel_variable_create", strategy, self.options("artel_variable_options"))
        made["artel_worker_data"] = scene.create("artel_worker_data_create", strategy, self.options(
            "artel_worker_data_options", next=scene.callback("artel_worker_next_fn", self.next)))
        argument = self.headers.structs["artel_argument"]
        arguments = (argument * 2)(argument(scene.text("x"), shape=scene.shape(3)), argument(scene.text("y"), shape=scene.shape(3)))
        made["artel_function"] = scene.create("artel_function_create", strategy, self.options(
            "artel_function_options", argument_count=2, arguments=scene.keep(arguments).value), scene.callback("artel_trace_fn", scene.trace), None)
        return made

    def work(self, task):
        """The part of a task that the test does not do."""
        strategy, coordinator, status = self.made[task]["artel_strategy"], ctypes.c_void_p(), 0
        if task == "chief":
            status = self.lib.artel_coordinator_open(strategy, None, ctypes.byref(coordinator))
            self.lib.artel_coordinator_close(coordinator)
        else:
            status = self.lib.artel_coordinator_serve(strategy)
        self.lib.artel_cluster_finish(self.made[task]["artel_cluster"], status)

    def end(self, answer):
        """All end in order; `answer`: of the function that was tried."""
        made = self.made[self.own]
        if self.own == "worker" and answer < 0:
            self.lib.artel_coordinator_serve(made["artel_strategy"])
        if self.own == "chief" and "artel_coordinator" not in self.scene.made:  # nothing but opening was tried: it may have failed
            self.lib.artel_coordinator_open(made["artel_strategy"], None, ctypes.byref(ctypes.c_void_p()))
        self.lib.artel_strategy_destroy(made["artel_strategy"])  # closes the coordinator
        self.lib.artel_cluster_finish(made["artel_cluster"], 0)
        for thread in self.threads:
            thread.join()
        for task in TASKS:
            if task != self.own:
                self.lib.artel_strategy_destroy(self.made[task]["artel_strategy"])
            self.lib.artel_cluster_close(self.made[task]["artel_cluster"])
            self.held[task].close()
