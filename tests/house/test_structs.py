# SPDX-License-Identifier: Apache-2.0
"""The structs that whole rooms share have so many fields at the most: what belongs together in them has a struct of its own, with a
name; and what follows one another is a state with a table of moves (cluster/moves.h), not a row of booleans.

A field is a declarator at the outermost level of the struct: `int a, b;` are two, a nested struct is one."""

# labels: quick
import os
import re
import sys

# file, struct, most fields, most booleans among them
BARS = [
    ("src/cluster/mesh_impl.h", "artel_cluster", 40, 1),
    ("src/cluster/mesh_impl.h", "artel__mesh_pass", 10, 0),
    ("src/cluster/mesh_impl.h", "artel__mesh_training", 10, 1),
    ("src/cluster/mesh_impl.h", "artel__mesh_orders", 10, 1),
    ("src/cluster/mesh_impl.h", "artel__mesh_generation", 10, 1),
    ("src/cluster/membership_impl.h", "artel__membership", 40, 1),
    ("src/cluster/membership_impl.h", "artel__ms_peer", 25, 1),
    ("src/train/fit_impl.h", "artel__fit", 25, 1),
]


def fields_of(text, name):
    """The (declaration, names) of a struct, or None."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"^\s*#.*$", "", text, flags=re.M)
    head = re.search(r"\bstruct\s+%s\s*\{" % re.escape(name), text)
    if not head:
        return None
    depth, at, part, parts = 1, head.end(), "", []
    while depth:
        c = text[at]
        at += 1
        depth += (c == "{") - (c == "}")
        if depth == 1 and c == ";":
            parts.append(part)
            part = ""
        elif depth == 1 or (depth == 2 and c == "{"):
            part += "" if c in "{}" else c
    out = []
    for part in parts:
        part = re.sub(r"\[[^]]*\]|\([^)]*\)(?=\s*$)", "", part)
        out += [(part.split()[0], declarator.strip()) for declarator in part.split(",")]
    return out


def count(text, name):
    fields = fields_of(text, name)
    return fields and (len(fields), sum(kind in ("bool", "atomic_bool") for kind, _ in fields))


EXAMPLE = """
/* a comment; with a semicolon */
struct example {
    const char *a, *b;
    bool c, d; /* e; */
    struct {
        bool inner;
        int other;
    } nested;
    int table[4][2], last;
    void (*call)(int x, int y);
};
"""


def main():
    assert count(EXAMPLE, "example") == (8, 2), count(EXAMPLE, "example")
    failed = False
    for path, name, most, most_booleans in BARS:
        with open(os.path.join(os.environ["ARTEL_SOURCE"], path)) as file:
            found = count(file.read(), name)
        if not found:
            print("%s: there is no struct %s that this test can read" % (path, name))
            failed = True
        elif found[0] > most or found[1] > most_booleans:
            print("%s: struct %s has %d fields, %d of them booleans (at most %d and %d)" % (path, name, *found, most, most_booleans))
            failed = True
    return failed


if __name__ == "__main__":
    sys.exit(main())
