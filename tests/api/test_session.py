# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Sessions among processes: kills, parameter servers, other placements give the bits of one process; and names of places are TensorFlow's."""

import ctypes
import json
import logging
import os
import sys
import tempfile

from api.header import Headers
from cli import expect, run_checks
from oracle import artel

BUILD = os.environ["ARTEL_BUILD"]
PROGRAM = os.path.join(BUILD, "tests", "api", "prog_session")
UNITS = 12


def train(how, victim, places, restarts=0):
    """What the first task prints, of a job whose first and second layer and loss are at `places`."""
    tasks = how[1] + (how[3] if "--ps" in how else 0)
    ran = artel("launch", *how, "--insecure-network", "--restarts", restarts, "--program", PROGRAM, "--", tempfile.mkdtemp(), UNITS, victim, tasks, *places, timeout=240)
    hashes = [line.split()[-1] for line in ran.out.splitlines() if "variables" in line]
    sessions = 2 if victim > 0 else 1  # of one process: a client that was lost begins with its first
    expect(f"sessions {sessions} of {UNITS} units, logits seen" in ran.out, how, victim, "hooks", ran.out[-300:])
    expect(ran.rc == 0 and len(hashes) == 1, how, victim, places, "exit code", ran.rc, ran.out[-600:], ran.err[-800:])
    expect(ran.err.count("started again") == (victim >= 0), how, victim, "tasks that were lost:", ran.err[-800:])
    return hashes[0]


def GS3_monitored_session():
    """Two tasks, three, parameter servers; killed: a task that serves, the client; all alike."""
    alone = train(["-n", 1], -1, ["/task:0"] * 3)
    two = ["/job:worker/task:0", "/job:worker/task:1", "/job:worker/task:1"]
    three = ["/task:2", "/task:1", "/task:0"]
    for how, victim, places in ((["-n", 2], -1, two), (["-n", 2], 1, two), (["-n", 3], 0, three), (["-n", 3], 2, three),
                                (["-n", 2, "--ps", 1, "--chief"], -1, ["/job:worker", "/job:ps", "/job:chief"]), (["-n", 2, "--ps", 2, "--chief"], 2, ["/job:ps/task:0", "/job:ps/task:1", "/job:worker"])):
        got = train(how, victim, places, restarts=3 if victim >= 0 else 0)
        expect(got == alone, how, "victim", victim, places, "give other variables:", got, alone)


NAMES = ["", "/job:worker/task:1", "job:ps", "/cpu:0", "/CPU:1", "/device:cpu:0", "/device:GPU:*", "/gpu", "//job:a//task:2", "/task:1/job:x", "/replica:0/job:a", "/job:a/job:b",
         "/cpu:*", "gpu:1", "/device:FOO:0", "/job:a/replica:1/task:3/device:TPU:7"]
WRONG = ["/device:GPU:0/cpu:0", "/foo:1", "/task:*", "/job:a:b", "/device:CPU", " /job:a", "/task:x", "/replica:1.5"]


def names():
    """Read, merged and written as TensorFlow does; what it refuses is refused."""
    import tensorflow as tf

    library = ctypes.CDLL(os.path.join(BUILD, "libartel.so"))
    context, room = ctypes.c_void_p(), ctypes.create_string_buffer(192)
    expect(library.artel_context_create(None, ctypes.byref(context)) == 0, "no context")

    def merge(outer, inner):
        status = library.artel_device_merge(context, outer.encode(), inner.encode(), room, ctypes.c_size_t(192))
        return room.value.decode() if status == 0 else status

    for outer in NAMES:
        for inner in NAMES:
            want = tf.DeviceSpec.from_string(outer).make_merged_spec(tf.DeviceSpec.from_string(inner)).to_string()
            expect(merge(outer, inner) == want, outer, inner, merge(outer, inner), want)
    for name in WRONG:
        try:
            tf.DeviceSpec.from_string(name)
            expect(False, "TensorFlow takes", name)
        except ValueError:
            expect(isinstance(merge("", name), int), name, "is taken")
    library.artel_context_destroy(context)


def by_turns():
    """The table of test_session.c is that of replica_device_setter."""
    import tensorflow as tf

    with tf.Graph().as_default() as graph, graph.device(tf.compat.v1.train.replica_device_setter(ps_tasks=2, worker_device="/job:worker/task:3")):
        got = [tf.compat.v1.get_variable("v%d" % i, [4 + i], use_resource=False).device for i in range(4)]
        other = tf.constant(1.0).device
    expect(got == ["/job:ps/task:0", "/job:ps/task:1"] * 2 and other == "/job:worker/task:3", got, other)


class Hooked:
    """A job of one process: `count` goes up by one a run, and the loss is count times x. Events are (name, unit or value)."""

    STOP, CLASH, AGAIN, NAN = "stop", "clash", "again", "nan"

    def __init__(self, folder):
        self.headers = Headers(os.environ["ARTEL_SOURCE"] + "/include/artel")
        self.lib, self.kept, self.log = self.headers.load(BUILD + "/libartel.so"), [], []
        self.folder, self.events = folder, []
        options = self.struct("artel_context_options", log=self.call(None, "ps", lambda level, text: self.log.append(ctypes.string_at(text).decode())), log_level=2)
        self.context = self.make("artel_context_create", ctypes.byref(options))
        self.strategy = self.make("artel_strategy_create", self.context, ctypes.byref(self.struct("artel_strategy_options", batch_size=1, threads=1)))
        self.count = self.make("artel_variable_create", self.strategy, ctypes.byref(self.struct("artel_variable_options", name=b"count")))
        x = self.struct("artel_argument", name=b"x", shared=True)
        how = self.struct("artel_function_options", arguments=ctypes.addressof(x), argument_count=1, output_count=2)
        self.step = self.make("artel_function_create", self.strategy, ctypes.byref(how), self.call(ctypes.c_int, "ppp", self.trace), None)
        self.session = self.make("artel_session_create", self.strategy, ctypes.byref(self.struct("artel_session_options", clients=1)))

    def struct(self, kind, **values):
        texts = {name: ctypes.create_string_buffer(value) for name, value in values.items() if isinstance(value, bytes)}
        self.kept.append(texts)
        made = self.headers.structs[kind](**{**values, **{name: ctypes.addressof(text) for name, text in texts.items()}})
        if hasattr(made, "struct_size"):
            made.struct_size = ctypes.sizeof(made)
        self.kept.append(made)
        return made

    def call(self, result, kinds, function):
        """A C function of a user pointer and arguments of these kinds; what it raises is a failure."""
        types = {"p": ctypes.c_void_p, "l": ctypes.c_int64, "s": ctypes.c_void_p}
        made = ctypes.CFUNCTYPE(result, *[ctypes.c_void_p] + [ctypes.c_int if kinds == "ps" and i == 0 else types[kind] for i, kind in enumerate(kinds)])(
            lambda _user, *more: function(*more) or 0)
        self.kept.append(made)
        return ctypes.cast(made, ctypes.c_void_p)

    def make(self, name, *arguments):
        out = ctypes.c_void_p()
        status = getattr(self.lib, name)(*arguments, ctypes.byref(out))
        expect(status == 0, name, status)
        return out

    def trace(self, graph, inputs, outputs):
        one = ctypes.c_float(1)
        more = self.lib.artel_graph_binary(graph, b"add", self.lib.artel_graph_variable(graph, self.count),
                                           self.lib.artel_graph_constant(graph, 0, ctypes.byref(self.headers.structs["artel_shape"]()), ctypes.byref(one)))
        self.lib.artel_graph_assign(graph, self.count, more)
        into = (ctypes.c_int32 * 2).from_address(outputs)
        into[:] = more, self.lib.artel_graph_binary(graph, b"multiply", more, ctypes.c_int32.from_address(inputs).value)

    def array(self, number=0.0):
        memory = ctypes.c_float(number)
        self.kept.append(memory)
        return self.struct("artel_array", data=ctypes.addressof(memory)), memory

    def run(self, x, read_only=False):
        """The count after a run; x None: it is not fed."""
        feed = self.array(x)[0] if x is not None else self.struct("artel_array")
        out, memory = self.array()
        outputs = (self.headers.structs["artel_array"] * 2)(out)
        call = self.struct("artel_session_call", feeds=ctypes.addressof(feed), feed_count=1, outputs=ctypes.addressof(outputs), output_count=2, read_only=read_only)
        status = self.lib.artel_session_run(self.session, self.step, ctypes.byref(call))
        return memory.value if status == 0 else status

    def value(self, run, output):
        got = self.struct("artel_array")
        status = self.lib.artel_hook_value(run, output, ctypes.byref(got))
        return ctypes.c_float.from_address(got.data).value if status == 0 else status

    def recorder(self, stop_at=None):
        def after(run):
            self.events.append(("after", self.value(run, 1)))
            if stop_at is not None and self.lib.artel_hook_unit(run) + 1 >= stop_at:
                self.lib.artel_session_request_stop(self.lib.artel_hook_session(run))
        calls = {"begin": self.call(ctypes.c_int, "p", lambda s: self.events.append(("begin", 0))),
                 "before": self.call(ctypes.c_int, "p", lambda run: self.events.append(("before", 0)) or self.lib.artel_hook_fetch(run, 1)),
                 "after": self.call(ctypes.c_int, "p", after)}
        for name in ("created", "saving", "saved", "end"):
            calls[name] = self.call(ctypes.c_int, "pl", lambda s, unit, name=name: self.events.append((name, unit)))
        return self.make("artel_hook_create", self.context, ctypes.byref(self.struct("artel_hook_functions", **calls)), None)

    def feeder(self, number):
        fed = self.call(ctypes.c_int, "lp", lambda unit, to: ctypes.memmove(to, ctypes.addressof(self.array(number(unit))[0]), ctypes.sizeof(self.headers.structs["artel_array"])) and 0)
        return self.make("artel_hook_feeding", self.step, 0, fed, None)

    def watching(self, kind, **more):
        outputs, names = (ctypes.c_int * 1)(1), (ctypes.c_char_p * 1)(b"loss")
        self.kept += [outputs, names]
        options = self.struct("artel_hook_options", outputs=ctypes.addressof(outputs), names=ctypes.addressof(names), count=1, **more)
        return self.make("artel_hook_" + kind, self.step, ctypes.byref(options))

    def play(self, hooks, x=None, units=1000, save=3, runs=1):
        """Trains until it ends; how it ended."""
        results = []

        def unit(number):
            for _ in range(runs):
                results.append(self.run(x))
                if results[-1] < 0:
                    return int(results[-1])
            return 0
        listed = (ctypes.c_void_p * len(hooks))(*hooks)
        options = self.struct("artel_monitor_options", directory=self.folder.encode(), save_every=save, keep=9, retries=1, hooks=ctypes.addressof(listed), hook_count=len(hooks))
        status = self.lib.artel_session_monitor(self.session, ctypes.byref(options), units, self.call(ctypes.c_int, "l", unit), None)
        what = self.headers.structs["artel_error"].from_address(self.lib.artel_context_error(self.context)).what.decode() if status < 0 else ""
        words = {self.CLASH: "feeds argument", self.AGAIN: "after a stop", self.NAN: "is not a number"}
        return next((name for name, word in words.items() if word in what), what) if status < 0 else self.STOP

    def final(self):
        out, memory = self.array()
        outputs = (self.headers.structs["artel_array"] * 2)(out)
        feed = self.array(1)[0]
        self.kept.append(outputs)
        call = self.struct("artel_session_call", feeds=ctypes.addressof(feed), feed_count=1, outputs=ctypes.addressof(outputs), output_count=2, read_only=True)
        return self.make("artel_hook_final", self.step, ctypes.byref(call)), memory


def in_tensorflow(folder, script):
    """The same job under MonitoredTrainingSession: events, how it ended, what was logged, steps of summaries."""
    import tensorflow as tf

    v1, events, logged = tf.compat.v1, [], []
    with tf.Graph().as_default():
        step, count = v1.train.get_or_create_global_step(), v1.get_variable("count", [], initializer=v1.zeros_initializer())
        x = v1.placeholder_with_default(0.0 if script.get("x") is None else script["x"], [])
        with tf.control_dependencies([v1.assign_add(step, 1)]):
            more = v1.assign_add(count, 1.0)
        loss = more * x

        class Recorder(v1.train.SessionRunHook):
            def begin(self):
                events.append(("begin", 0))

            def after_create_session(self, session, coord):
                events.append(("created", int(session.run(step))))

            def before_run(self, context):
                events.append(("before", 0))
                return v1.train.SessionRunArgs([loss, step])

            def after_run(self, context, values):
                events.append(("after", float(values.results[0])))
                if script.get("stop_at") is not None and context.session.run(step) >= script["stop_at"]:
                    context.request_stop()

            def end(self, session):
                events.append(("end", int(session.run(step))))

        class Listener(v1.train.CheckpointSaverListener):
            def before_save(self, session, at):
                events.append(("saving", int(at)))

            def after_save(self, session, at):
                events.append(("saved", int(at)))

        hooks = [v1.train.FeedFnHook(lambda number=number: {x: number}) for number in script.get("feeds", ())] + [Recorder()]
        if "steps" in script or "last" in script:
            hooks.append(v1.train.StopAtStepHook(num_steps=script.get("steps"), last_step=script.get("last")))
        if "logs" in script:
            hooks.append(v1.train.LoggingTensorHook({"loss": loss}, every_n_iter=script["logs"], formatter=lambda values: logged.append(float(values["loss"])) or ""))
        if "nan" in script:
            hooks.append(v1.train.NanTensorHook(loss, fail_on_nan_loss=script["nan"]))
        if "profile" in script:
            hooks.append(v1.train.ProfilerHook(save_steps=script["profile"], output_dir=folder + "/profile"))
        if "summary" in script:
            hooks.append(v1.train.SummarySaverHook(save_steps=script["summary"], output_dir=folder + "/summaries", summary_op=v1.summary.scalar("loss", loss)))
        saver = v1.train.CheckpointSaverHook(folder, save_steps=3, listeners=[Listener()])
        how = Hooked.STOP
        try:
            with v1.train.MonitoredTrainingSession(checkpoint_dir=folder, hooks=hooks, chief_only_hooks=[saver], save_checkpoint_secs=None, save_summaries_steps=None,
                                                   save_summaries_secs=None, log_step_count_steps=None) as session:
                while not session.should_stop():
                    for _ in range(script.get("runs", 1)):
                        session.run(more, feed_dict={x: script["x"]} if script.get("caller_feeds") else None)
        except v1.train.NanLossDuringTrainingError:
            how = Hooked.NAN
        except (RuntimeError, ValueError) as error:
            how = Hooked.AGAIN if "should_stop" in str(error) else Hooked.CLASH
    return events, how, logged


def steps_in(folder):
    """(tag, step) of all points below a folder of event files."""
    import tensorflow as tf

    points = []
    for place, _, files in sorted(os.walk(folder)):
        for name in sorted(files):
            for event in tf.compat.v1.train.summary_iterator(os.path.join(place, name)):
                points += [(value.tag, event.step) for value in event.summary.value]
    return points


HOOKED = [{"x": 2.0, "last": 5, "logs": 2, "summary": 2, "profile": 2}, {"x": 2.0, "steps": 3, "logs": 2}, {"x": 2.0, "stop_at": 3}, {"x": 1.0, "stop_at": 1, "runs": 2, "fails": True},
          {"feeds": [3.0], "last": 2}, {"feeds": [3.0, 3.0], "last": 2, "fails": True}, {"feeds": [3.0], "x": 3.0, "caller_feeds": True, "last": 2, "fails": True},
          {"x": float("nan"), "nan": False}, {"x": float("nan"), "nan": True, "fails": True}]


def GS3_hooks():
    """Hooks are called when MonitoredTrainingSession calls them, see what they see, and end jobs as they do; a second job goes on where the first one stopped."""
    logging.getLogger("tensorflow").setLevel(logging.CRITICAL)  # what reads its files is called old, and NaN is meant
    for script in HOOKED:
        ours, theirs = tempfile.mkdtemp(), tempfile.mkdtemp()
        for life in range(2 if "steps" in script else 1):
            job = Hooked(ours)
            hooks = [job.feeder(lambda unit, number=number: number) for number in script.get("feeds", ())] + [job.recorder(script.get("stop_at"))]
            if "steps" in script or "last" in script:
                hooks.append(job.make("artel_hook_stop_at_step", job.context, script.get("steps", 0), script.get("last", 0)))
            if "logs" in script:
                hooks.append(job.watching("logging", every_steps=script["logs"], at_end=True))
            if "nan" in script:
                hooks.append(job.make("artel_hook_nan", job.step, 1, not script["nan"]))
            if "summary" in script:
                hooks.append(job.watching("summary", every_steps=script["summary"], directory=(ours + "/summaries").encode()))
            if "profile" in script:
                options = job.struct("artel_hook_options", every_steps=script["profile"], directory=(ours + "/profile").encode())
                hooks.append(job.make("artel_hook_profiler", job.context, ctypes.byref(options)))
            final, last = job.final()
            how = job.play(hooks + [final], x=None if "feeds" in script and not script.get("caller_feeds") else script["x"], runs=script.get("runs", 1))
            events, want, logged = in_tensorflow(theirs, script)
            expect(how == want and (how == Hooked.STOP) != script.get("fails", False), script, "ends", how, "in TensorFlow", want)
            for names in (("begin", "created", "before", "after", "end"), ("saving", "saved")):
                have, due = [[event for event in one if event[0] in names] for one in (job.events, events)]
                if how == Hooked.CLASH:  # TensorFlow sees that the caller feeds, too, when it has asked all hooks
                    have, due = [[event for event in one if event[0] != "before"] for one in (have, due)]
                due = due[2:] if names[0] == "saving" and life else due  # TensorFlow writes again what it has just read
                expect(repr(have) == repr(due), script, "life", life, "calls", have, "in TensorFlow", due)
            lines = [line for line in job.log if line.startswith("loss = ")]
            seen = [value for name, value in job.events if name == "after"]
            expect([float(line.split()[2]) for line in lines] == logged + (seen[-1:] if "logs" in script else []), script, lines, logged, seen)
            units = max([unit for name, unit in job.events if name == "end"], default=None)
            expect(units is None or last.value == units + 1, "the last run sees", last.value, "behind", units)
        if "profile" in script:
            have, due = [sorted(name for name in os.listdir(folder + "/profile") if name.startswith("timeline")) for folder in (ours, theirs)]
            expect(have == due == ["timeline-2.json", "timeline-4.json"], "timelines", have, due)
            for name in have:
                with open(ours + "/profile/" + name) as file:
                    spans = [event for event in json.load(file) if event["ph"] == "X"]
                expect({"binary"} <= {span["name"] for span in spans} and all(span["dur"] >= 0 and span["args"]["kernel"] for span in spans), name, spans)
        if "summary" in script:
            expect(steps_in(ours + "/summaries") == steps_in(theirs + "/summaries"), "points", steps_in(ours + "/summaries"), steps_in(theirs + "/summaries"))


sys.exit(run_checks(GS3_hooks, GS3_monitored_session, names, by_turns))
