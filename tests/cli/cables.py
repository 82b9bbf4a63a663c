# SPDX-License-Identifier: Apache-2.0
"""A cable of its own from each task of a job to each other one, through this test: it may be cut, as by a network that loses all packets, and lead
to another process from then on, as a name does that another host is given. It may be long: what is sent arrives that much later."""

import contextlib
import queue
import socket
import threading
import time

from cluster import HELD


class Cables:
    """`tasks`: {who: address where it listens}; `delay`: seconds that a cable takes."""

    def __init__(self, tasks, delay=0):
        self.tasks, self.leads, self.delay = dict(tasks), dict(tasks), delay
        self.whole = {frozenset((a, b)): threading.Event() for a in tasks for b in tasks if a != b}
        for event in self.whole.values():
            event.set()
        self.address = {who: {to: address if to == who else self.lay(who, to) for to, address in tasks.items()} for who in tasks}

    def lay(self, who, to):
        """The address of `to`, as `who` is told it."""
        s = socket.socket()
        s.bind(("127.0.0.1", 0))
        s.listen(64)
        HELD.append(s)
        threading.Thread(target=self.accept, args=(s, who, to), daemon=True).start()
        return "127.0.0.1:%d" % s.getsockname()[1]

    def cut(self, some, others, whole=False):
        """Nothing comes through between these from here on; what is on its way arrives when it is `whole` again."""
        for a in some:
            for b in others:
                (self.whole[frozenset((a, b))].set if whole else self.whole[frozenset((a, b))].clear)()

    def accept(self, listener, who, to):
        while True:
            near = listener.accept()[0]
            threading.Thread(target=self.connect, args=(near, who, to), daemon=True).start()

    def connect(self, near, who, to):
        whole = self.whole[frozenset((who, to))]
        whole.wait()
        host, port = self.leads[to].rsplit(":", 1)
        try:
            far = socket.create_connection((host, int(port)))
        except OSError:
            near.close()
            return
        for s in (near, far):
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        other = threading.Thread(target=carry, args=(far, near, whole, self.delay), daemon=True)
        other.start()
        carry(near, far, whole, self.delay)
        other.join()
        near.close()
        far.close()


def pieces(source, delay):
    """What comes, each piece so much later."""
    waiting = queue.Queue()

    def read():
        data = b"?"
        while data:
            try:
                data = source.recv(1 << 16)
            except OSError:
                data = b""
            waiting.put((time.monotonic() + delay, data))

    threading.Thread(target=read, daemon=True).start()
    while True:
        due, data = waiting.get()
        time.sleep(max(0, due - time.monotonic()))
        if not data:
            return
        yield data


def carry(source, sink, whole, delay=0):
    """One direction, until it ends; who reads no more is not sent any."""
    try:
        for data in pieces(source, delay) if delay else iter(lambda: source.recv(1 << 16), b""):
            whole.wait()
            sink.sendall(data)
        whole.wait()
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        for s in (source, sink):
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)
