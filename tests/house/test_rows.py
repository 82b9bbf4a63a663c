# SPDX-License-Identifier: Apache-2.0
# labels: quick
"""The conformance suite has a test for each row of the semantics that it promises, named by the row: ST strategies, VA variables, GS graphs and
sessions, KE3 loops by hand, IN6 partial batches. A test counts that its file runs."""
import os
import pathlib
import re
import sys

ROOM = pathlib.Path(os.environ["ARTEL_SOURCE"]) / "tests" / "api"
ROWS = ["ST%d" % i for i in range(1, 14)] + ["VA%d" % i for i in range(1, 10)] + ["GS%d" % i for i in (1, 2, 3, 4, 10)] + ["KE3", "IN6"]


def tests():
    for path in sorted(ROOM.glob("test_*.c")):
        for name in re.findall(r"cmocka_unit_test\((\w+)\)", path.read_text()):
            yield path.name, name
    for path in sorted(ROOM.glob("test_*.py")):
        for names in re.findall(r"run_checks\(([\w, ]+)\)", path.read_text()):
            yield from ((path.name, name) for name in names.split(", "))


def main():
    named = {row: [] for row in ROWS}
    for file, name in tests():
        for row in re.findall(r"(?<![A-Za-z0-9])[A-Z]{2}\d+(?![A-Za-z0-9])", name.replace("_", " ")):
            named.setdefault(row, []).append(f"{file}: {name}")
    missing = [row for row in ROWS if not named[row]]
    for row in missing:
        print(f"no test in tests/api has {row} in its name")
    return 1 if missing else 0


sys.exit(main())
