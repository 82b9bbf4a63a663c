# SPDX-License-Identifier: Apache-2.0
"""Hosts of little memory: a control group for each, files that it reads counted in, or, where there can be none, a limit on what a process
itself takes."""
import os

from cli import expect

V1, V2 = "/sys/fs/cgroup/memory", "/sys/fs/cgroup"
ENTER = 'echo $$ > "$0/cgroup.procs" && exec "$@"'


class Hosts:
    """`words(host)` stand before the command of a process on that host. `close` when all have ended."""

    def __init__(self, count, bytes_):
        self.bytes, self.groups = bytes_, []
        for h in range(count):
            group = self.make(h)
            if group is None:
                break
            self.groups.append(group)
        if len(self.groups) < count:
            self.close()
            self.groups = []

    def make(self, host):
        for base, limit in ((V1, "memory.limit_in_bytes"), (V2, "memory.max")):
            group = os.path.join(base, "artel-test-%d-%d" % (os.getpid(), host))
            try:
                os.mkdir(group)
            except OSError:
                continue
            try:
                with open(os.path.join(group, limit), "w") as f:
                    f.write(str(self.bytes))
                return group
            except OSError:
                os.rmdir(group)
        return None

    def words(self, host):
        return ["sh", "-c", ENTER, self.groups[host]] if self.groups else ["prlimit", "--data=%d" % self.bytes]

    def within(self, host):
        """The most that a host has had in memory is what it may have; what was read that is gone from memory again."""
        if not self.groups:
            return
        for name in ("memory.max_usage_in_bytes", "memory.peak"):
            path = os.path.join(self.groups[host], name)
            if os.path.exists(path):
                expect(int(open(path).read()) <= self.bytes, "host", host, open(path).read(), self.bytes)

    def close(self):
        for group in self.groups:
            os.rmdir(group)


def forget(path):
    """Writes a file to the disk and drops it from memory, so that whoever reads it answers for it."""
    with open(path, "rb") as f:
        os.fsync(f.fileno())
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
