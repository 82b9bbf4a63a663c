# SPDX-License-Identifier: Apache-2.0
"""Hosts of a network as namespaces of this machine: a cable each, to a switch that knows nobody else.

Everything lives in namespaces of its own, names and addresses too, so that tests beside one another never meet, and nothing of
the machine's own network is touched. Needs the right to make namespaces (root), the program `ip`, and a kernel with veth and bridge.
"""

import contextlib
import itertools
import json
import os
import shutil
import subprocess

from cluster import Cluster

PORT = 2222
numbers = itertools.count()


def ip(*words):
    done = subprocess.run(["ip", *[str(w) for w in words]], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise OSError("ip %s: %s" % (" ".join(str(w) for w in words), done.stderr.strip()))
    return done.stdout


def unavailable():
    """Why there can be no hosts here, in a sentence; "" when there can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    if not shutil.which("ip"):
        return "there is no program `ip` (iproute2)"
    try:
        with contextlib.closing(Hosts(2)):
            return ""
    except OSError as why:
        return "no network namespaces here: %s" % why


class Hosts:
    """`count` hosts 10.99.0.1, 10.99.0.2, ... on one switch; hosts from `second` on hang on a second one, joined by a trunk."""

    def __init__(self, count, second=None):
        self.tag = "artel-%d-%d" % (os.getpid(), next(numbers))
        self.count, self.space = count, [self.tag + "-%d" % r for r in range(count)]
        self.made, self.mac, self.switch = [], [], self.tag + "-switch"
        try:
            self.make(count if second is None else second)
        except OSError:
            self.close()
            raise

    def make(self, second):
        for space in [self.switch, *self.space]:
            ip("netns", "add", space)
            self.made.append(space)
        for name in ("left", "right"):
            ip("-n", self.switch, "link", "add", name, "type", "bridge")
            ip("-n", self.switch, "link", "set", name, "up")
        ip("-n", self.switch, "link", "add", "trunk", "type", "veth", "peer", "name", "knurt")
        for end, bridge in (("trunk", "left"), ("knurt", "right")):
            ip("-n", self.switch, "link", "set", end, "master", bridge, "up")
        for r, space in enumerate(self.space):
            ip("link", "add", "net0", "netns", space, "type", "veth", "peer", "name", "port%d" % r, "netns", self.switch)
            ip("-n", self.switch, "link", "set", "port%d" % r, "master", "left" if r < second else "right", "up")
            ip("-n", space, "addr", "add", self.address(r) + "/24", "dev", "net0")
            for device in ("lo", "net0"):
                ip("-n", space, "link", "set", device, "up")
            self.mac.append(json.loads(ip("-j", "-n", space, "link", "show", "net0"))[0]["address"])
        # Who is where is known from the start: a cut is a cut, and not a question for an address.
        for a in range(self.count):
            for b in range(self.count):
                if a != b:
                    self.neighbour(a, b, self.mac[b])

    def close(self):
        for space in self.made:
            subprocess.run(["ip", "netns", "del", space], stderr=subprocess.DEVNULL, check=False)
        self.made = []

    @staticmethod
    def address(rank):
        return "10.99.0.%d" % (rank + 1)

    def prefix(self, rank):
        """Words before a command that is to run on this host."""
        return ["ip", "netns", "exec", self.space[rank]]

    def cable(self, rank, up):
        """Pulls a host's cable out of the switch, or puts it in again. The host itself is told nothing but "no carrier"."""
        ip("-n", self.switch, "link", "set", "port%d" % rank, "up" if up else "down")

    def trunk(self, up):
        ip("-n", self.switch, "link", "set", "trunk", "up" if up else "down")

    def neighbour(self, a, b, mac):
        ip("-n", self.space[a], "neigh", "replace", self.address(b), "lladdr", mac, "dev", "net0", "nud", "permanent")

    def one_way(self, a, b, up):
        """What `a` sends to `b` gets lost on its way, silently; what `b` sends to `a` arrives."""
        self.neighbour(a, b, self.mac[b] if up else "02:00:00:00:00:99")


class HostCluster(Cluster):
    """A worker on each host, or on the first `listed`; `arguments(rank)` of `artel`."""

    def __init__(self, hosts, arguments, listed=None, environment=None, last=None):
        self.addresses = ["%s:%d" % (hosts.address(r), PORT) for r in range(listed or hosts.count)]
        self.tasks, self.start, self.hosts = {}, {}, hosts
        for r in range(len(self.addresses)):
            config = {"cluster": {"worker": self.addresses}, "task": {"type": "worker", "index": r}}
            self.start[r] = (arguments(r), environment(r) if environment else {"TF_CONFIG": json.dumps(config)}, hosts.prefix(r))
        self.begin_all((), last)
