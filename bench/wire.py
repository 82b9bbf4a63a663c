# SPDX-License-Identifier: Apache-2.0
"""How much of a wire of 1 Gbit/s artel uses: all-reduce beside one plain TCP stream, and training beside an unshaped cable.

usage: wire.py --artel PROGRAM --coll-bench PROGRAM [--rounds 5] [--fit-rounds 3] [--models convnet,cnn,resnet50]
               [--parts reduce,fit] [--keras-dir DIR] [--out bench/wire.md]

Two network namespaces, one cable (veth); tbf shapes what leaves each end, and the offloads of both ends are off, so that every packet
is cut, queued and merged by the processor. Needs root, `ip` and `tc`. PROGRAM of --coll-bench is bench/coll_bench.c, built as its
head says.

reduce  in each round, in turn: a TCP stream one way, a stream each way at once, all-reduces of 256 KiB, 4 MiB, 32 MiB (float32) of two
        ranks, one call after the other. Share = ideal time / time; ideal: bytes * 2 (n - 1) / n at the rate of the stream one way.
        With packets of 9000 bytes, and of 1500, which two cores may not move at this rate both ways; the streams tell
fit     in each round, in turn: `artel fit` of two workers with a core each, over the shaped cable and over the same cable unshaped, and
        two processes that know nothing of each other. Exposed = step on the shaped cable / step on the other - 1. The wire's
        time is that of the gradients at the rate of a stream, the backward time that of `--profile`, once. Packets of 9000 bytes.
        Shaping is done by the cores that compute, with a timer for nearly every packet: beside what is exposed stands what shaping alone
        adds to a step. The two processes that know nothing of each other, with streams beside them that carry as many bytes a step, at
        the wire's rate, over the one cable and the other: nobody waits for these streams, so what differs is processor time

The first round of each is a warm-up, which is not counted: it finds cold files, caches and clocks. Figures are medians over the rounds after it.
"""
import argparse
import contextlib
import ctypes
import fcntl
import json
import os
import re
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time

from run import HERE, export, find_peers, machine

RATE = "1gbit"
BURST = 20000  # bytes, two packets, that may leave at once after a pause: hides 0.16 ms of waiting at most
MTUS = (9000, 1500)
PORT = 2222
CASES = {"convnet": (128, 60), "cnn": (64, 30), "resnet50": (8, 3)}  # rows a worker and step, steps
SIZES = {256 << 10: ("256 KiB", 0.90), 4 << 20: ("4 MiB", 0.95), 32 << 20: ("32 MiB", 0.95)}
EXPOSED = 0.05
SLOW = 0.9  # of the stream one way: streams both ways at less are not held up by the wire
CLONE_NEWNET = 0x40000000
SIOCETHTOOL = 0x8946
# of <linux/ethtool.h>; each question is the number before its order
OFFLOADS = {"rx checksum": 0x15, "tx checksum": 0x17, "scatter-gather": 0x19, "tso": 0x1F, "gso": 0x24, "gro": 0x2C}


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--artel", required=True)
    p.add_argument("--coll-bench", help="needed by the part reduce")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--fit-rounds", type=int, default=3)
    p.add_argument("--models", default=",".join(CASES))
    p.add_argument("--parts", default="reduce,fit")
    p.add_argument("--keras-dir", default="", help="where the .keras files are or will be")
    p.add_argument("--out", default=os.path.join(HERE, "wire.md"))
    return p.parse_args()


def command(*words):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit("%s: %s" % (" ".join(str(w) for w in words), done.stderr.strip()))


# -- two hosts and a cable --

@contextlib.contextmanager
def inside(space):
    """Sockets that this thread makes meanwhile belong to that host."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/thread-self/ns/net") as home, open("/run/netns/" + space) as there:
        if libc.setns(there.fileno(), CLONE_NEWNET):
            sys.exit("setns: " + os.strerror(ctypes.get_errno()))
        try:
            yield
        finally:
            libc.setns(home.fileno(), CLONE_NEWNET)


def offload(device, order):
    """Switches an offload of a device of this thread's host off; whether it is still on."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        for number in (order, order - 1):
            value = ctypes.create_string_buffer(struct.pack("II", number, 0), 8)
            with contextlib.suppress(OSError):  # what the device cannot, it does not do
                fcntl.ioctl(s, SIOCETHTOOL, struct.pack("16sP16x", device.encode(), ctypes.addressof(value)))
        return struct.unpack("II", value.raw)[1] != 0


class Cable:
    """Hosts 10.98.0.1 and 10.98.0.2 with a cable between them."""

    def __init__(self):
        self.space = ["artel-wire-%d-%d" % (os.getpid(), r) for r in range(2)]
        self.address = ["10.98.0.1", "10.98.0.2"]

    def __enter__(self):
        try:
            self.make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def make(self):
        for space in self.space:
            command("ip", "netns", "add", space)
        command("ip", "link", "add", "net0", "netns", self.space[0], "type", "veth", "peer", "name", "net0", "netns", self.space[1])
        for r, space in enumerate(self.space):
            command("ip", "-n", space, "addr", "add", self.address[r] + "/24", "dev", "net0")
            for device in ("lo", "net0"):
                command("ip", "-n", space, "link", "set", device, "up")
            with inside(space):
                on = [name for name, order in OFFLOADS.items() if offload("net0", order)]
            if on:
                sys.exit("these offloads cannot be switched off here: " + ", ".join(on))

    def __exit__(self, *_):
        for space in self.space:
            subprocess.run(["ip", "netns", "del", space], stderr=subprocess.DEVNULL, check=False)

    def shape(self, shaped, mtu=MTUS[0]):
        for space in self.space:
            command("ip", "-n", space, "link", "set", "net0", "mtu", mtu)
            subprocess.run(["tc", "-n", space, "qdisc", "del", "dev", "net0", "root"], stderr=subprocess.DEVNULL, check=False)
            if shaped:
                command("tc", "-n", space, "qdisc", "add", "dev", "net0", "root", "tbf", "rate", RATE, "burst", BURST, "latency", "50ms")


# -- all-reduce --

def send(s, until):
    block = bytes(1 << 18)
    while time.monotonic() < until:
        s.sendall(block)
    s.shutdown(socket.SHUT_WR)


def receive(s, start, end, out):
    """Appends the bytes a second that arrive between two times; reads to the end of the stream."""
    block, first, total = bytearray(1 << 18), None, 0
    while count := s.recv_into(block):
        now = time.monotonic()
        if first is None and now >= start:
            first = now
        elif first is not None and now <= end:
            total, last = total + count, now
    out.append(total / (last - first))


@contextlib.contextmanager
def connected(cable):
    with inside(cable.space[1]):
        listener = socket.create_server((cable.address[1], PORT))
    with listener, inside(cable.space[0]):
        near = socket.create_connection((cable.address[1], PORT))
        far, _ = listener.accept()
    with near, far:
        yield near, far


def stream(cable, both):
    """Bytes a second of a TCP connection between the hosts: one way, or the slower of both at once."""
    with connected(cable) as (near, far):
        start = time.monotonic() + 0.2
        end, rates = start + 0.8, []
        ways = [(near, far), (far, near)] if both else [(near, far)]
        threads = [threading.Thread(target=send, args=(a, end + 0.05)) for a, _ in ways]
        threads += [threading.Thread(target=receive, args=(b, start, end, rates)) for _, b in ways]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    return min(rates)


def send_steps(s, size, rate, period, over):
    """`size` bytes every `period` seconds, at `rate`."""
    block = bytes(1 << 16)
    while not over.is_set():
        start, sent = time.monotonic(), 0
        while sent < size:
            if sent > rate * (time.monotonic() - start):
                time.sleep(0.001)
            else:
                s.sendall(block)
                sent += len(block)
        over.wait(max(0, start + period - time.monotonic()))
    s.shutdown(socket.SHUT_WR)


def drain(s):
    block = bytearray(1 << 18)
    while s.recv_into(block):
        pass


@contextlib.contextmanager
def streams_beside(cable, size, rate, period):
    """What the workers of a step of `period` seconds exchange, without workers."""
    over = threading.Event()
    with connected(cable) as ends:
        threads = [threading.Thread(target=send_steps, args=(s, size, rate, period, over)) for s in ends]
        threads += [threading.Thread(target=drain, args=(s,)) for s in ends]
        for t in threads:
            t.start()
        try:
            yield
        finally:
            over.set()
            for t in threads:
                t.join()


def reduce_times(a, cable):
    """Seconds of an all-reduce by its bytes."""
    words = [w for r in range(2) for w in (cable.space[r], cable.address[r])]
    done = subprocess.run([os.path.abspath(a.coll_bench), "wire", *words], capture_output=True, text=True, timeout=120, check=False)
    found = {int(b): float(us) * 1e-6 for b, us in re.findall(r"(\d+) bytes: all-reduce +([\d.]+) us", done.stdout)}
    if set(found) != set(SIZES):
        sys.exit("coll_bench: " + done.stderr.strip())
    return found


def measure_reduce(a, cable, mtu):
    cable.shape(True, mtu)
    rows, plain = {size: [] for size in SIZES}, {False: [], True: []}
    for _ in range(1 + a.rounds):
        for both, rates in plain.items():
            rates.append(stream(cable, both))
        for size, seconds in reduce_times(a, cable).items():
            rows[size].append((seconds, *(size / rates[-1] / seconds for rates in plain.values())))  # 2 (n - 1) / n is 1
    found = {"mtu": mtu, "stream": [statistics.median(rates[1:]) for rates in plain.values()],
             "rows": {size: [statistics.median(column[1:]) for column in zip(*row)] for size, row in rows.items()}}
    print(json.dumps(found), flush=True)
    return found


# -- training --

def fit(a, folder, name, batch, rows, *more):
    return [os.path.abspath(a.artel), "fit", os.path.join(folder, name + ".keras"), "--data", "synthetic:%d" % rows, "--batch-size", str(batch),
            "--threads", "1", "--json=epochs", "--verbose", "0", *more]


def step_ms(commands):
    """Of commands with a core each, run at the same time: milliseconds of the slowest one's step."""
    cores = sorted(os.sched_getaffinity(0))
    tasks = [subprocess.Popen(["taskset", "-c", str(cores[i % len(cores)]), *c], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
             for i, c in enumerate(commands)]
    took = []
    for task in tasks:
        out, err = task.communicate(timeout=120)
        if task.returncode:
            sys.exit("artel fit ended with %d: %s" % (task.returncode, err.strip()[-500:]))
        # In a cluster one worker tells it, for all.
        took += [e["step_ms"] for e in map(json.loads, out.splitlines()) if e["event"] == "end"]
    return max(took)


def fit_together(a, cable, folder, name):
    batch, steps = CASES[name]
    file = os.path.join(a.scratch, "cluster.json")
    with open(file, "w") as f:
        json.dump({"worker": ["%s:%d" % (address, PORT) for address in cable.address]}, f)
    one = fit(a, folder, name, 2 * batch, 2 * batch * steps, "--strategy", "multi-worker", "--cluster-file", file, "--insecure-network")
    return step_ms([["ip", "netns", "exec", cable.space[r], *one, "--task", "worker:%d" % r] for r in range(2)])


def fit_apart(a, folder, name):
    batch, steps = CASES[name]
    return step_ms([fit(a, folder, name, batch, batch * steps, "--strategy", "one-device")] * 2)


def backward_ms(a, folder, name):
    """Of a step of one process alone."""
    batch, steps = CASES[name]
    trace = os.path.join(a.scratch, "trace.json")
    alone = fit(a, folder, name, batch, batch * min(steps, 10), "--strategy", "one-device", "--profile", trace)
    core = str(min(os.sched_getaffinity(0)))
    done = subprocess.run(["taskset", "-c", core, *alone], capture_output=True, text=True, timeout=120, check=True)
    found = re.findall(r"^\S+, backward +\d+ +([\d.]+)", done.stdout + done.stderr, re.MULTILINE)
    if not found:
        sys.exit("artel fit --profile: no operation of the backward pass in the table")
    return sum(map(float, found))


def gradient_bytes(a, folder, name):
    done = subprocess.run([os.path.abspath(a.artel), "summary", os.path.join(folder, name + ".keras")], capture_output=True, text=True, check=True)
    return 4 * int(re.search(r"Trainable params: ([\d,]+)", done.stdout)[1].replace(",", ""))


def measure_fit(a, cable, folder, name):
    cable.shape(True)
    gradients = gradient_bytes(a, folder, name)
    rate = statistics.median([stream(cable, False) for _ in range(3)])
    row = {"model": name, "batch": CASES[name][0], "wire": gradients / rate * 1e3, "backward": backward_ms(a, folder, name)}
    got = {"apart": [], "plain": [], "shaped": [], "beside plain": [], "beside shaped": []}
    for _ in range(1 + a.fit_rounds):
        got["apart"].append(fit_apart(a, folder, name))
        for way in ("plain", "shaped"):
            cable.shape(way == "shaped")
            got[way].append(fit_together(a, cable, folder, name))
            with streams_beside(cable, gradients, rate, got["plain"][-1] * 1e-3):
                got["beside " + way].append(fit_apart(a, folder, name))
    got = {way: ms[1:] for way, ms in got.items()}
    row.update({way: statistics.median(ms) for way, ms in got.items()})
    row["exposed"] = statistics.median([s / p - 1 for s, p in zip(got["shaped"], got["plain"])])
    row["shaping"] = statistics.median([s / p - 1 for s, p in zip(got["beside shaped"], got["beside plain"])])
    print(json.dumps(row), flush=True)
    return row


# -- the report --

def write_reduce(out, found):
    one, both = (rate / 1e6 for rate in found["stream"])
    limit = " Streams both ways at once are far below that: the processor seems to be the limit here, and the last column tells more." if both < SLOW * one else ""
    out.write(f"\n## All-reduce, two ranks, packets of {found['mtu']} bytes\n\nOne TCP stream: {one:.1f} MB/s; each of two at once, one a way: "
              f"{both:.1f} MB/s.{limit}\n\n"
              "| bytes | ms | share of the stream | bar | share of the streams both ways |\n|---|---|---|---|---|\n")
    for size, (seconds, share, share_both) in found["rows"].items():
        out.write(f"| {SIZES[size][0]} | {seconds * 1e3:.2f} | {share:.3f} | {SIZES[size][1]:.2f} | {share_both:.3f} |\n")


def write_fit(out, rows):
    out.write("\n## Training, two workers with a core each, packets of 9000 bytes\n\nMilliseconds. The bar is for models whose wire time is below the "
              "backward time.\n\n| model | a worker | wire | backward | step, shaped | step, unshaped | step of two apart | exposed | bar | shaping alone |\n"
              "|---|---|---|---|---|---|---|---|---|---|\n")
    for r in rows:
        bar = f"{EXPOSED:.0%}" if r["wire"] < r["backward"] else "none"
        out.write(f"| {r['model']} | {r['batch']} | {r['wire']:.1f} | {r['backward']:.1f} | {r['shaped']:.1f} | {r['plain']:.1f} | {r['apart']:.1f} | "
                  f"{r['exposed']:.1%} | {bar} | {r['shaping']:.1%} |\n")


def main():
    a = arguments()
    parts, names, reduced, fits = a.parts.split(","), a.models.split(","), [], []
    if "reduce" in parts and not a.coll_bench:
        sys.exit("the part reduce needs --coll-bench; the head of this file says how it is built")
    with tempfile.TemporaryDirectory() as scratch, Cable() as cable:
        if "reduce" in parts:
            reduced = [measure_reduce(a, cable, mtu) for mtu in MTUS]
        if "fit" in parts:
            a.scratch, folder = scratch, a.keras_dir or scratch
            if not all(os.path.exists(os.path.join(folder, name + ".keras")) for name in names):
                export(folder, names, find_peers(a.artel))
            fits = [measure_fit(a, cable, folder, name) for name in names]
    with open(a.out, "w") as out:
        out.write(f"# The share of a wire of 1 Gbit/s\n\n{machine()}; two network namespaces, tbf of {RATE} with a burst of {BURST} bytes at both ends of a "
                  f"veth, offloads off, plaintext; {a.rounds} interleaved rounds of all-reduce, "
                  f"{a.fit_rounds} of training, after one of each to warm up, medians; written by `bench/wire.py`.\n")
        for found in reduced:
            write_reduce(out, found)
        if fits:
            write_fit(out, fits)


if __name__ == "__main__":
    main()
