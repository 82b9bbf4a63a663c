# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# alone
"""Tables that are streamed: the rows of Python's csv module, in any order, with quotes, odd line ends and several files; types,
defaults and missing values; errors name record, byte and column; a table of 200 MB leaves the process small."""
import csv
import io
import json
import os
import subprocess
import sys

import numpy as np
import data
from data import ARTEL, check, refused, report, run

RNG = np.random.default_rng(17)


def deliver(spec):
    return data.deliver(spec, "float64")


def same(name, found, wanted):
    data.same(name, found, np.asarray(wanted, "float64"))


def put(name, text):
    with open(name, "w", newline="") as f:
        f.write(text)


values = RNG.standard_normal((1003, 4)).round(5)
values[:, 1] = RNG.integers(-500, 500, 1003)
texts = ['plain', 'with, comma', 'with "quotes"', 'two\nlines', '']
for ending in ("\n", "\r\n"):
    out = io.StringIO()
    writer = csv.writer(out, lineterminator=ending)
    writer.writerow(["a", "b", "note", "c", "y"])
    for i, v in enumerate(values):
        writer.writerow([repr(float(v[0])), int(v[1]), texts[i % 5], repr(float(v[2])), repr(float(v[3]))])
        if i % 50 == 0:
            out.write(ending)
    put("t.csv", out.getvalue())
    same("columns", deliver("csv:t.csv#stream=yes&columns=a,b,c"), values[:, :3])
    same("columns in another order", deliver("csv:t.csv#stream=yes&columns=c,a"), values[:, [2, 0]])
    refused("text", "csv:t.csv#stream=yes&label=y", "4 arrays for 1 inputs", "note")
    refused("text alone", "csv:t.csv#stream=yes&columns=note", "'note' cannot be fed", "holds text")
    refused("text that is a label", "csv:t.csv#stream=yes&label=note", "'note' holds text, which is no label")

for k in range(3):
    put("p%d.csv" % k, "x,y\n" + "".join("%d,%d\n" % (i, i % 7) for i in range(k * 100, k * 100 + 33 * k)))
wanted = [i for k in range(3) for i in range(k * 100, k * 100 + 33 * k)]
same("several files, one of a header", deliver("csv:p*.csv#stream=yes&label=y"), np.array(wanted)[:, None])
put("h.csv", "".join("%d,%d\n" % (i, i % 7) for i in range(100, 133)))
same("without a header", deliver("csv:h.csv#stream=yes&columns=1"), np.array([[i % 7] for i in range(100, 133)]))

put("m.csv", "a;b;y\n1;;0\n;2.5;1\nNA;4;2\n")
same("missing", deliver("csv:m.csv#stream=yes&delimiter=;&label=y&missing=-1"), [[1, -1], [-1, 2.5], [-1, 4]])
same("defaults", deliver("csv:m.csv#stream=yes&delimiter=;&label=y&defaults=a:9,b:nan"), [[1, np.nan], [9, 2.5], [9, 4]])
refused("empty", "csv:m.csv#stream=yes&delimiter=;&label=y", "record 0", "byte 6", "column 'b'", "empty")
put("w.csv", "a,y\n" + "1,2\n" * 1500 + "2.5,3\n")
same("a fraction behind the sample", deliver("csv:w.csv#stream=yes&label=y")[-1:], [[2.5]])
put("l.csv", "a,y\n" + "1,2\n" * 1500 + "2,3.5\n")
for name, content, words in (("width", "a,b\n1,2\n1,2,3\n", ["record 1", "3 fields"]), ("word", "a,b\n1,2\n" * 1 + "1,2\n" * 1200 + "1,two\n", ["record 1201", "'b'", "text"]),
                             ("quote", 'a,b\n1,2\n1,"2', ["quote"]), ("nothing", "a,b\n", ["no records"])):
    put("e.csv", content)
    refused(name, "csv:e.csv#stream=yes", *words)
put("e.csv", 'a,b\n1,2\n3,4"5"\n6,7.5\n')
same("a misplaced quote left out", deliver("csv:e.csv#stream=yes&skip-errors=1"), [[1, 2], [6, 7.5]])
put("e.csv", "a,b\n" + "".join("%d,%s\n" % (i, "two" if i == 1201 else i % 3) for i in range(1300)))
same("inputs beside a label that is none", deliver("csv:e.csv#stream=yes&label=b"), np.arange(1300)[:, None])
rc, out, err = run(ARTEL, "data", "verify", "csv:e.csv#stream=yes&label=b")
check("a label that is none", rc == 1 and "record 1201" in out and "'b'" in out, out, err)
labels = RNG.integers(-9, 9, 3000)
put("e.csv", "a,b,c\n" + "".join("%d,%d,%.3f\n" % (i, v, v / 4) for i, v in enumerate(labels)))
for found in (["b"], ["b", "c"]):
    rc, out, err = run(ARTEL, "data", "stats", "csv:e.csv#stream=yes&label=" + ",".join(found), "--json")
    y, mean = json.loads(out)["y"], labels.mean() if len(found) == 1 else (labels * 1.25).mean() / 2
    check("labels", abs(y["mean"] - mean) < 1e-9 and y["min"] == (labels.min() if len(found) == 1 else min(labels.min(), labels.min() / 4)), y, mean)
refused("no stream", "csv:m.csv#defaults=a:1", "stream=yes")
refused("a type", "csv:m.csv#stream=yes&delimiter=;&types=a:word", "types=A:int,B:float,C:text")
rc, out, err = run(ARTEL, "data", "verify", "csv:l.csv#stream=yes&label=y")
check("a fraction among labels", rc == 1 and "record 1500" in out and "whole numbers" in out, out, err)
rc, out, err = run(ARTEL, "data", "stats", "csv:l.csv#stream=yes&label=y&types=y:float", "--json")
check("types", rc == 0 and json.loads(out)["y"]["max"] == 3.5, out, err)

# What stands in front of a table is the same whether it is read at once or row by row.
heads = (("commented", ["# made \"by hand\"\n# a,b,y\n1,2.5,0\n3,4,1\n", "# again\n5,6,0\n"]),
         ("blanks around names", [" a ,\tb, y\n1,2.5,0\n3,4,1\n", "a,b,y\n5,6,0\n"]),
         ("an index", [",a,b,y\n0,1,2.5,0\n1,3,4,1\n", ",a,b,y\n0,5,6,0\n"]),
         ("ends in delimiters", ["a,b,y,\n1,2.5,0,\n3,4,1,\n", "a,b,y,\n5,6,0,\n"]),
         ("a blank at the end", ["a,b,y\n1,2.5,0, \n3,4,1,\n5,6,0\n"]),
         ("names alone", ["a,b,y\n", "a,b,y\n1,2.5,0\n3,4,1\n5,6,0\n"]))
for name, files in heads:
    for k in range(2):
        put("q%d.csv" % k, files[k] if k < len(files) else "")
    label = "2" if name == "commented" else "y"
    for how in ("", "&stream=yes"):
        same(name + how, deliver("csv:q*.csv#label=%s%s" % (label, how)), [[1, 2.5], [3, 4], [5, 6]])
for name, second, words in (("a header of another file", "a,z\n5,0\n", ["q1.csv", "named 'z' (expected y)"]),
                            ("a header too long", "a,y,z\n5,0,1\n", ["expected no more"]), ("UTF-16", "a\0,\0", ["UTF-16"])):
    put("q0.csv", "a,y\n1,2\n")
    put("q1.csv", second)
    for how in ("", "&stream=yes"):
        refused(name + how, "csv:q*.csv#label=y" + how, *words)

block = "".join(",".join("%.6g" % v for v in row) + "\n" for row in RNG.standard_normal((4000, 12)))
with open("big.csv", "w") as f:
    for _ in range(700):
        f.write(block)
for label in ("", "&label=11"):
    child = subprocess.Popen([ARTEL, "data", "bench", "csv:big.csv#stream=yes" + label, "--rows", "20000"], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    check("a large table" + label, status == 0 and os.path.getsize("big.csv") > 200e6 and usage.ru_maxrss < 120e3, usage.ru_maxrss)
os.unlink("big.csv")

# More records than places of records are kept: 35 million in two files, whose digits are found wherever they are looked for.
digits = [RNG.integers(0, 10, n, dtype="u1") for n in (14_000_003, 20_500_001)]
for k, d in enumerate(digits):
    text = np.full((len(d), 2), ord("\n"), "u1")
    text[:, 0] = d + ord("0")
    text.tofile("d%d.csv" % k)
digits = np.concatenate(digits)
for first in (0, 7, 13_999_995, 14_000_003, 33_333_333, len(digits) - 12):
    with open("d.json", "w") as f:
        json.dump({"from": "csv:d*.csv#stream=yes&columns=0&header=no", "stages": [{"stage": "skip", "count": first}, {"stage": "take", "count": 12}]}, f)
    same("records from %d on" % first, deliver("pipeline:d.json"), digits[first:first + 12, None])
PEAK = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
command = [ARTEL, "data", "stats", "csv:d*.csv#stream=yes&columns=0&header=no", "--rows", "20000", "-o", "d.svg"]
rc, out, err = run(sys.executable, "-c", PEAK, *command)  # a process of its own starts it: what starts one counts as its peak, too
check("many records", rc == 0 and int(out.split()[-1]) < 160e3, out, err)
sys.exit(report())
