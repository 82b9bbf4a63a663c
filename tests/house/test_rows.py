# SPDX-License-Identifier: Apache-2.0
# labels: quick
"""The conformance suite has a test for each row of the semantics that it promises, named by the row: ST strategies, VA variables, GS graphs and
sessions, KE3 loops by hand, IN6 partial batches; and those of the collectives one for each CD row of ways for sums to travel. A test counts that its file runs."""
import os
import pathlib
import re
import sys

TESTS = pathlib.Path(os.environ["ARTEL_SOURCE"]) / "tests"
ROWS = {"api": ["ST%d" % i for i in range(1, 14)] + ["VA%d" % i for i in range(1, 10)] + ["GS%d" % i for i in (1, 2, 3, 4, 10)] + ["KE3", "IN6"],
        "coll": ["CD2", "CD3", "CD4", "CD5", "CD12", "CD13"]}


def tests(room):
    for path in sorted(room.glob("test_*.c")):
        for name in re.findall(r"cmocka_unit_test\((\w+)\)", path.read_text()):
            yield path.name, name
    for path in sorted(room.glob("test_*.py")):
        for names in re.findall(r"run_checks\(([\w, ]+)\)", path.read_text()):
            yield from ((path.name, name) for name in names.split(", "))


def missing(room, rows):
    named = set()
    for _, name in tests(TESTS / room):
        named.update(re.findall(r"(?<![A-Za-z0-9])[A-Z]{2}\d+(?![A-Za-z0-9])", name.replace("_", " ")))
    return [row for row in rows if row not in named]


def main():
    wrong = [(row, room) for room, rows in ROWS.items() for row in missing(room, rows)]
    for row, room in wrong:
        print(f"no test in tests/{room} has {row} in its name")
    return 1 if wrong else 0


sys.exit(main())
