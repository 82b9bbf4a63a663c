# SPDX-License-Identifier: Apache-2.0
"""The log of parameter servers (`--log-level debug`) of a whole run, and whether each batch that was acknowledged counts once in it.

A life is one process of one server. Its lines say of a part, in a state (what the chief has installed; another one when all go back) and an epoch
of it (the chief has said anew who holds the part): which item became which update, and which item a worker was told has been applied.
"""

import re
from array import array
from collections import defaultdict

from cli import Failure

LINE = re.compile(
    rb"artel: debug: part (\d+) of state ([0-9a-f]{16}), epoch (\d+): (?:item (\d+) is (?:update (\d+)|(acknowledged))|installed with (\d+) updates, items from (\d+) on)\n"
)


class Life:
    """Called with each line that the process says; true: it was one of the log."""

    def __init__(self, who):
        self.who, self.last = who, None
        self.items, self.first, self.acknowledged, self.installed = defaultdict(lambda: array("Q")), {}, defaultdict(lambda: array("Q")), {}

    def __call__(self, line):
        if not line.startswith(b"artel: debug: "):
            return False
        found = LINE.fullmatch(line)
        if not found:
            return False
        part, state, epoch, item, update, _, updates, begin = found.groups()
        key = (state, int(part), int(epoch))
        if update:
            self.apply(key, int(item), int(update))
        elif item:
            self.acknowledged[key].append(int(item))
        else:
            self.last, self.installed[key] = state, (int(updates), int(begin))
        return True

    def apply(self, key, item, update):
        first = self.first.setdefault(key, update)
        if update != first + len(self.items[key]):
            raise Failure("%s: item %d of %s is update %d behind update %d" % (self.who, item, key, update, first + len(self.items[key]) - 1))
        self.items[key].append(item)


def agreed(lives, key):
    """Where the epoch's updates begin, and their items: head and copies have applied the same ones in the same order, as far as each has come."""
    longest = max(lives, key=lambda life: len(life.items[key]))
    items = longest.items[key]
    for life in lives:
        mine = life.items[key]
        if life.first[key] != longest.first[key] or mine != items[: len(mine)]:
            raise Failure("%s and %s do not agree on %s" % (life.who, longest.who, key))
    return longest.first[key], items


def history(lives, state, part):
    """The items of a part of a state in the order in which they were applied, through all that held it, and those that were acknowledged. What a head had
    applied alone when it was lost is not in it; nothing of that was acknowledged."""
    begin = {b for life in lives for (s, p, _), (b, _) in life.installed.items() if (s, p) == (state, part)}
    epochs = sorted({e for life in lives for book in (life.items, life.acknowledged) for (s, p, e) in book if (s, p) == (state, part)})
    start, items, here, told = min(begin) + 1, array("Q"), set(), set()
    for epoch in epochs:
        key = (state, part, epoch)
        holders = [life for life in lives if key in life.first]
        if holders:
            first, more = agreed(holders, key)
            if not start <= first <= start + len(items):
                raise Failure("part %d of %s, epoch %d: update %d follows update %d" % (part, state, epoch, first, start + len(items) - 1))
            void = set(items[first - start :])
            if void & told:
                raise Failure("part %d of %s, epoch %d: acknowledged and lost: %s" % (part, state, epoch, sorted(void & told)[:5]))
            items = items[: first - start] + more
            here = (here - void) | set(more)
        if len(here) < len(items):
            raise Failure("part %d of %s, epoch %d: an item was applied twice" % (part, state, epoch))
        new = {item for life in lives for item in life.acknowledged.get(key, ())}
        if not new <= here:
            raise Failure("part %d of %s, epoch %d: acknowledged and not applied: %s" % (part, state, epoch, sorted(new - here)[:5]))
        told |= new
    return items, told


def counts_once(lives, ended, step):
    """Of each state each item that was acknowledged was applied once at each part, at one position; of the last one, which the lives `ended` had when
    they ended by themselves, each item before `step` was. How many items were acknowledged, of how many states."""
    states = {state for life in lives for (state, _, _) in life.installed}
    last, acknowledged = {life.last for life in ended} - {None}, 0  # None: it came when all was done
    if len(last) != 1:
        raise Failure("servers end with different states: %s" % last)
    for state in states:
        for part in sorted({p for life in lives for (s, p, _) in life.installed if s == state}):
            items, told = history(lives, state, part)
            begin = min(b for life in lives for (s, p, _), (_, b) in life.installed.items() if (s, p) == (state, part))
            acknowledged += len(told)
            if any(item < begin for item in items):
                raise Failure("part %d of %s has items of before it" % (part, state))
            lacks = set(range(begin, step)) - set(items) if state in last else ()
            if lacks:
                raise Failure("part %d of %s lacks items %s of %d to %d" % (part, state, sorted(lacks)[:5], begin, step))
    return acknowledged, len(states)
