# SPDX-License-Identifier: Apache-2.0
# labels: quick
"""There is a test for each row of the semantics that are promised, named by the row: ST and SG strategies, VA variables, GS graphs and sessions, PS
parameter servers, CD ways for sums to travel, KE3 loops by hand, KE5 and PF6 of parameter servers, IN input, DS the data service. A test
counts that its file runs: of a table in Python the names of its rows, else functions that are called; a shell script names its rows in a line "# rows:"."""
import os
import pathlib
import re
import sys

TESTS = pathlib.Path(os.environ["ARTEL_SOURCE"]) / "tests"
ROOMS = ("api", "cli", "coll", "data", "examples", "ps", "service", "strategy", "train")
ROWS = ["ST%d" % i for i in range(1, 14)] + ["VA%d" % i for i in range(1, 10)] + ["GS%d" % i for i in (1, 2, 3, 4, 5, 6, 7, 8, 10, 11)]
ROWS += ["PS%d" % i for i in range(1, 22)] + ["SG4", "SG5", "SG6", "KE3", "KE5", "PF6"]
ROWS += ["CD%d" % i for i in (2, 3, 4, 5, 12, 13)] + ["IN%d" % i for i in range(1, 12)] + ["DS%d" % i for i in range(1, 8)]


def tests():
    for path in sorted(path for room in ROOMS for path in (TESTS / room).glob("test_*")):
        patterns = {".c": r"(?:cmocka_unit_test(?:_setup_teardown)?|CASE)\((\w+)[,)]", ".sh": r"(?m)^# rows: ([\w, ]+)$",
                    ".py": r"run_checks\([\w, ]+\)|\bRow\(\"[^\"]+\"|(?<!def )\b[A-Z]{2}\d\w*(?=[(,)])"}
        for names in re.findall(patterns.get(path.suffix, r"(?!)"), path.read_text()):
            yield from ((path.name, name) for name in names.split(", "))


def main():
    named = {row: [] for row in ROWS}
    for file, name in tests():
        for row in re.findall(r"(?<![A-Za-z0-9])[A-Z]{2}\d+(?![A-Za-z0-9])", name.replace("_", " ")):
            named.setdefault(row, []).append(f"{file}: {name}")
    missing = [row for row in ROWS if not named[row]]
    for row in missing:
        print(f"no test has {row} in its name")
    return 1 if missing else 0


sys.exit(main())
