# SPDX-License-Identifier: Apache-2.0
"""What somebody on the network can do: listen, sit in between, and knock at a port; with artel's greeting spoken by hand."""

import ctypes
import os
import select
import socket
import ssl
import struct
import threading

from support.checksum import crc32c

CONTROL, DATA = 2, 1  # what a greeting says the connection is for


# ---------------------------------------------------------------- elsewhere
def in_space(space, function):
    """`function()` run in a network namespace; a socket that it makes stays there."""
    answer = []

    def run():
        with open("/var/run/netns/" + space) as there:
            if ctypes.CDLL(None, use_errno=True).setns(there.fileno(), 0x40000000):  # CLONE_NEWNET
                answer.append(OSError(ctypes.get_errno(), "setns"))
                return
        try:
            answer.append(function())
        except Exception as why:
            answer.append(why)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if isinstance(answer[0], Exception):
        raise answer[0]
    return answer[0]


# ---------------------------------------------------------------- greetings
def head(purpose, version=3):
    """How a greeting begins: magic, version, kind, purpose."""
    return struct.pack("<IHBB", 0x48747261, version, 1, purpose)


def greeting(task, to, job=0, purpose=CONTROL, generation=1, version=3):
    """The 224 bytes of net/hello.h."""
    body = head(purpose, version) + struct.pack("<QQII", job, 1, generation, 0)
    body += bytes(32) + os.urandom(16) + task.encode().ljust(64, b"\0") + to.encode().ljust(64, b"\0") + bytes(12)
    return body + struct.pack("<I", crc32c(body))


def client_context(certs=None, authority=None):
    """A TLS client that takes any server, with the certificate in the folder `certs`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if certs:
        context.load_cert_chain(os.path.join(certs, "tls.crt"), os.path.join(certs, "tls.key"))
    return context


def answer_of(sock, limit=60):
    """What comes back until the other side ends, or None when it does not end in time."""
    sock.settimeout(limit)
    got = b""
    try:
        while True:
            piece = sock.recv(65536)
            if not piece:
                return got
            got += piece
    except TimeoutError:
        return None
    except OSError:
        return got


# ---------------------------------------------------------------- listening
class Capture:
    """All that passes a device of a namespace, put together to the streams of TCP: {(from, port, to, port): bytes}."""

    def __init__(self, space, device):
        def make():
            s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
            s.setsockopt(socket.SOL_SOCKET, 33, 128 << 20)  # SO_RCVBUFFORCE
            s.bind((device, 0))
            return s

        self.socket, self.packets = in_space(space, make), []
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.listen)
        self.thread.start()

    def listen(self):
        while not self.stop.is_set():
            if select.select([self.socket], [], [], 0.1)[0]:
                self.packets.append(self.socket.recv(1 << 18))

    def streams(self):
        self.stop.set()
        self.thread.join()
        dropped = struct.unpack("II", self.socket.getsockopt(263, 6, 8))[1]  # SOL_PACKET, PACKET_STATISTICS
        self.socket.close()
        if dropped:
            raise OSError("the capture has lost %d packets" % dropped)
        pieces = {}
        for p in self.packets:
            if p[12:14] != b"\x08\x00" or p[23] != 6:
                continue
            ip, tcp = 14, 14 + (p[14] & 15) * 4
            end = ip + struct.unpack_from(">H", p, ip + 2)[0] or len(p)
            source, target, number = struct.unpack_from(">HHI", p, tcp)
            data, flags = p[tcp + (p[tcp + 12] >> 4) * 4:end], p[tcp + 13]
            key = (socket.inet_ntoa(p[26:30]), source, socket.inet_ntoa(p[30:34]), target)
            if flags & 2:
                pieces[key] = [(number + 1) & 0xFFFFFFFF, {}]
            if data and key in pieces:
                at = (number - pieces[key][0]) & 0xFFFFFFFF
                if len(data) > len(pieces[key][1].get(at, b"")):
                    pieces[key][1][at] = data
        return {key: self.join(kept) for key, (_, kept) in pieces.items() if kept}

    @staticmethod
    def join(pieces):
        stream = bytearray()
        for at in sorted(pieces):
            if at > len(stream):
                break  # a hole: what follows did not arrive before the end
            if at < 1 << 31:
                stream[at:at + len(pieces[at])] = pieces[at]
        return bytes(stream)


def tls_records(stream):
    """[(type, bytes)] when the stream is whole TLS records (the last may be cut), else None."""
    found, at = [], 0
    while at + 5 <= len(stream):
        kind, version, length = struct.unpack_from(">BHH", stream, at)
        if not 20 <= kind <= 23 or version >> 8 != 3 or length > 16384 + 256:
            return None
        found.append((kind, stream[at + 5:at + 5 + length]))
        at += 5 + length
    return found


# ---------------------------------------------------------------- in between
class Proxy:
    """Stands between two tasks on loopback. `harm(kind, toward)` spoils the next long piece that travels to the server (toward
    "server") or from it: flip, replay, insert, or cut (half of it arrives, then the end)."""

    LONG_PIECE = 200

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port, self.target = self.listener.getsockname()[1], None
        self.kind = self.toward = None
        self.done = threading.Event()
        self.lock = threading.Lock()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
                far = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                if self.listener.fileno() < 0:
                    return
                near.close()
                continue
            for a, b, toward in ((near, far, "server"), (far, near, "client")):
                a.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self.pump, args=(a, b, toward), daemon=True).start()

    def harm(self, kind, toward):
        with self.lock:
            self.kind, self.toward = kind, toward
        return self.done

    def spoil(self, piece, toward):
        """What goes on instead of a piece, and whether the stream ends behind it."""
        with self.lock:
            if not self.kind or toward != self.toward or len(piece) < self.LONG_PIECE:
                return piece, False
            kind, self.kind = self.kind, None
        self.done.set()
        half = len(piece) // 2
        if kind == "flip":
            return piece[:half] + bytes([piece[half] ^ 16]) + piece[half + 1:], False
        if kind == "replay":
            return piece + piece, False
        if kind == "insert":
            return bytes(range(128, 192)) + piece, False  # no beginning of anything, which random bytes may be
        return piece[:half], True

    def pump(self, a, b, toward):
        try:
            while True:
                piece = a.recv(1 << 18)
                if not piece:
                    break
                piece, ends = self.spoil(piece, toward)
                b.sendall(piece)
                if ends:
                    break
        except OSError:
            pass
        for s in (a, b):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.listener.close()
