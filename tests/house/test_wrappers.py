# SPDX-License-Identifier: Apache-2.0
# labels: quick
"""docs/c-api.md says how many functions of each public header the C++ header and the Python module call, and why not the others: the figures are those of the sources."""
import os
import pathlib
import re
import sys

SOURCE = pathlib.Path(os.environ["ARTEL_SOURCE"])
ROW = re.compile(r"^\| `(\w+\.h)` \| (\d+) \| (\d+) \| (\d+) \| (.*?) *\|$", re.M)


def names_in(paths):
    """Names of functions, whole, that these files speak of; comments apart."""
    text = "".join(path.read_text() for path in paths)
    return set(re.findall(r"\bartel_\w+", re.sub(r"/\*.*?\*/", " ", text, flags=re.S)))


def main():
    told = {row[0]: row[1:] for row in ROW.findall((SOURCE / "docs/c-api.md").read_text())}
    cpp, python = names_in([SOURCE / "include/artel/artel.hpp"]), names_in(sorted((SOURCE / "python/artel").glob("*.py")))
    wrong = []
    for path in sorted((SOURCE / "include/artel").glob("*.h")):
        text = re.sub(r"/\*.*?\*/", " ", path.read_text(), flags=re.S)
        functions = set(re.findall(r"ARTEL_API [^;()]*?(\w+)\(", text))
        if not functions:
            continue
        found = (str(len(functions)), str(len(functions & cpp)), str(len(functions & python)))
        if path.name not in told or told[path.name][:3] != found or (found[1:] != (found[0],) * 2 and not told[path.name][3]):
            wrong.append(f"| `{path.name}` | {found[0]} | {found[1]} | {found[2]} | {told.get(path.name, ('',) * 4)[3]} |")
    if wrong:
        print("docs/c-api.md, \"What wrappers reach\", lacks these lines, or has others (the last column says why the rest is not reached):\n" + "\n".join(wrong))
    return bool(wrong)


sys.exit(main())
