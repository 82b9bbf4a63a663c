# SPDX-License-Identifier: Apache-2.0
"""Jobs with parameter servers whose tasks speak through cables, so that another process may take a task's place while the first one sleeps."""

import json
import os
import subprocess

from cables import Cables
from cluster import Patience, Task, free_ports
from cli import expect
from servers import STEPS, Job, jobs, path

CHIEF = ("chief", 0)
PRELOAD = path("sleeping.so")
subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", PRELOAD, os.environ["ARTEL_SOURCE"] + "/tests/support/preload/sleeping.c"], check=True)


class Wired(Job):
    """Whose tasks speak through cables. `sleeps`: the chief stops when it is about to sync a file of that name."""

    def __init__(self, workers, servers, model, data, *more, sleeps=None, **kinds):
        start = jobs(workers, servers)
        told = json.loads(start[CHIEF]["TF_CONFIG"])["cluster"]
        self.cables = Cables({who: told[who[0]][who[1]] for who in start})
        environments = {who: self.environment(who) for who in start}
        if sleeps:
            environments[CHIEF].update(LD_PRELOAD=PRELOAD, SLEEP_AT=sleeps)
        super().__init__(workers, servers, model, data, "--suspect-after", "3s", *more, environments=environments, **kinds)

    def environment(self, who):
        cluster = {}
        for (kind, _), address in self.cables.address[who].items():
            cluster.setdefault(kind, []).append(address)
        return {"TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": who[0], "index": who[1]}})}

    def replace(self, who):
        """The same task again, at another address, to which cables lead from now on. The process that was."""
        old, self.cables.address[who][who] = self.tasks[who], "127.0.0.1:%d" % free_ports(1)[0]
        self.cables.leads[who] = self.cables.address[who][who]
        self.tasks[who] = Task(self.start[who][0], self.environment(who))
        self.chief = self.tasks[CHIEF]
        return old

    def without_chief(self):
        for who, task in self.tasks.items():
            if who != CHIEF:
                expect(task.until_said("waiting for the chief", 60), who, "does not wait for the chief", task.err()[-400:], self.chief.err()[-400:])

    def goes_on(self, steps=2 * STEPS):
        before = self.chief.last_step()
        expect(Patience(60).until(lambda: self.chief.last_step() > before + steps), "they do not go on", self.chief.err()[-600:])
