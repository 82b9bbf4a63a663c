# SPDX-License-Identifier: Apache-2.0
"""A Python that has imported Keras and TensorFlow once, and forks a process for each test file: the import takes five
seconds of a processor, a fork takes milliseconds.

    keras_server.py serve NAME        until standard input ends (scripts/run-tests holds it); NAME: an abstract socket.
                                      Says what each test took, the programs it ran included
    keras_server.py run NAME FILE...  runs FILE there, as `python FILE...` would: same folder, environment, arguments,
                                      standard files and exit status; starts it here where nobody serves

The server imports and starts no thread besides; what a test does with TensorFlow happens in its own process. A test
ends with its client: when the client is killed, for its time is up, the test's process group is killed.
"""

import gc
import json
import os
import selectors
import signal
import socket
import struct
import sys
import tempfile
import types

LENGTH = struct.Struct("!I")


def same_user(connection):
    return struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1] == os.getuid()


def receive(connection, length):
    """So many bytes, or fewer where the other side has ended."""
    data = b""
    while len(data) < length:
        part = connection.recv(length - len(data))
        if not part:
            break
        data += part
    return data


# ---------------------------------------------------------------- the client
def run(name, command):
    """The exit status of the command; does not come back where nobody serves."""
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect("\0" + name)
        if not same_user(connection):
            raise ConnectionError("the server is another user's")
        wish = json.dumps({"command": command, "folder": os.getcwd(), "environment": dict(os.environ)}).encode()
        socket.send_fds(connection, [LENGTH.pack(len(wish))], [0, 1, 2])
        connection.sendall(wish)
        began = connection.recv(1)
    except OSError:
        began = b""
    if not began:
        os.execv(sys.executable, [sys.executable, *command])
    status = receive(connection, LENGTH.size)
    if len(status) < LENGTH.size:
        sys.exit("keras_server: the server ended before the test did")
    code = os.waitstatus_to_exitcode(LENGTH.unpack(status)[0])
    if code < 0:
        print("keras_server: the test was killed by signal %d" % -code, file=sys.stderr)
    return code if code >= 0 else 128 - code


# ---------------------------------------------------------------- the server
def import_keras():
    import h5py, keras, numpy, tensorflow  # noqa: E401, F401

    gc.collect()
    gc.freeze()  # else every collection of every test would visit TensorFlow's million objects, and copy their pages


def asked(connection):
    """What a client wishes, and its standard files."""
    connection.settimeout(10)
    head, files, _, _ = socket.recv_fds(connection, LENGTH.size, 3)
    try:
        if len(head) < LENGTH.size or len(files) != 3 or not same_user(connection):
            raise ConnectionError("no request")
        return json.loads(receive(connection, LENGTH.unpack(head)[0])), files
    except (OSError, ValueError):
        for file in files:
            os.close(file)
        raise


class Server:
    def __init__(self, name):
        self.listening = socket.socket(socket.AF_UNIX)
        self.listening.bind("\0" + name)
        self.listening.listen(64)  # who comes during the import waits
        self.events = selectors.DefaultSelector()
        self.tests = {}  # process id -> (its client's connection, a descriptor of the process, its file)

    def serve(self):
        """None when standard input has ended; in a process forked for a test, what its client wishes."""
        self.events.register(0, selectors.EVENT_READ, self.end)
        self.events.register(self.listening, selectors.EVENT_READ, self.accept)
        while True:
            for key, _ in self.events.select():
                done = key.data()
                if done:
                    return done[0]

    def end(self):
        for pid in self.tests:
            self.kill(pid)
        return (None,)

    def interrupted(self, number, _):
        self.end()
        os._exit(128 + number)

    def kill(self, pid):
        try:
            os.killpg(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def accept(self):
        connection, _ = self.listening.accept()
        try:
            wish, files = asked(connection)
        except (OSError, ValueError):
            connection.close()
            return None
        try:
            pid = os.fork()
        except OSError:  # the client goes its own way
            connection.close()
            pid = -1
        if pid == 0:
            self.become(connection, files)
            return (wish,)
        if pid > 0:
            self.follow(pid, connection, wish["command"][0])
        for file in files:
            os.close(file)
        return None

    def follow(self, pid, connection, path):
        """Until the test ends, or its client."""
        try:
            os.setpgid(pid, pid)  # the child does the same: whoever comes first
        except OSError:
            pass
        try:
            connection.sendall(b"!")
        except OSError:  # found again below
            pass
        process = os.pidfd_open(pid)
        self.tests[pid] = connection, process, path
        self.events.register(process, selectors.EVENT_READ, lambda: self.finish(pid))
        self.events.register(connection, selectors.EVENT_READ, lambda: self.abandon(pid))

    def become(self, connection, files):
        """In the child: the client's standard files, and none of the server's own."""
        os.setpgid(0, 0)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        self.events.close()
        self.listening.close()
        connection.close()
        for other, process, _ in self.tests.values():
            other.close()
            os.close(process)

    def abandon(self, pid):
        """The client is gone."""
        if pid in self.tests:  # else both have ended at once
            self.events.unregister(self.tests[pid][0])
            self.kill(pid)

    def finish(self, pid):
        connection, process, path = self.tests.pop(pid)
        _, status, used = os.wait4(pid, 0)
        print("%7.1f s of a processor: %s" % (used.ru_utime + used.ru_stime, path), flush=True)
        self.events.unregister(process)
        os.close(process)
        if connection in self.events.get_map():
            self.events.unregister(connection)
        try:
            connection.sendall(LENGTH.pack(status))
        except OSError:
            pass
        connection.close()


def run_here(wish):
    """The test file as the program of this process."""
    os.chdir(wish["folder"])
    os.environ.clear()
    os.environ.update(wish["environment"])
    tempfile.tempdir = None  # the imports may have asked for it
    path = wish["command"][0]
    sys.argv[:] = wish["command"]
    sys.path[0] = os.path.dirname(path)
    program = types.ModuleType("__main__")
    program.__file__ = path
    sys.modules["__main__"] = program
    with open(path, "rb") as f:
        exec(compile(f.read(), path, "exec"), program.__dict__)


def main():
    action, name, *command = sys.argv[1:]
    if action == "run":
        sys.exit(run(name, command))
    os.close(os.pidfd_open(os.getpid()))  # a kernel without them: nobody serves
    server = Server(name)
    print("serving", flush=True)
    import_keras()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, server.interrupted)
    wish = server.serve()
    if wish:
        run_here(wish)


if __name__ == "__main__":
    main()
