# SPDX-License-Identifier: Apache-2.0
# timeout: 120
"""Data in buckets of moto, a server of S3 from PyPI that nobody here has written: what boto3 has put there arrives as it is, by key, by shards, by
patterns over several pages of a list, and anew when it has changed; what is not there is told. (test_remote.py has faults and signatures.)
"""
import io
import json
import logging
import os
import subprocess
import sys

os.environ["MOTO_S3_DEFAULT_MAX_KEYS"] = "10"  # of a page
try:
    import boto3
    from moto.server import ThreadedMotoServer
except ImportError:
    print("moto is not installed")
    sys.exit(77)
import numpy as np
from data import ARTEL, BUILD, check, deliver, refused, report, run, same

if not os.path.exists(os.path.join(BUILD, "libartel-curl.so")):
    print("libartel-curl.so was not built")
    sys.exit(77)
X = np.random.default_rng(3).standard_normal((50, 7)).astype("f4")
FOLDER = "a folder+é/"


def put(s3, key, content):
    s3.put_object(Bucket="rows", Key=key, Body=content)


def npy(a):
    out = io.BytesIO()
    np.save(out, a)
    return out.getvalue()


def main(s3):
    s3.create_bucket(Bucket="rows")
    place = "s3://rows/" + FOLDER
    put(s3, FOLDER + "x.npy", npy(X))
    same("a file", deliver("npy:" + place + "x.npy"), X)
    put(s3, FOLDER + "x.npy", npy(X * 2))
    same("a file that has changed", deliver("npy:" + place + "x.npy"), X * 2)
    large = np.arange(1 << 21, dtype="f4").reshape(-1, 64)
    put(s3, "large.npy", npy(large))
    same("a large one", deliver("npy:s3://rows/large.npy"), large)
    np.savez("d.npz", x=X, y=np.arange(50))
    rc, _, err = run(ARTEL, "data", "make", "npz:d.npz", "-o", "set", "--shards", 12)
    check("make", rc == 0, err)
    for name in os.listdir("."):
        if name.startswith("set"):
            put(s3, FOLDER + name, open(name, "rb").read())
    for files in ("set@12", "set@*", "set-*-of-00012"):
        same("records " + files, deliver("tfrecord:" + place + files + "#x"), X)
    for k in range(35):
        put(s3, "tables/%02d.csv" % k, b"a,b,y\n%d,%d,1\n" % (k, 2 * k))
    wanted = np.array([[k, 2 * k] for k in range(35)], "f4")
    same("a pattern over pages", deliver("csv:s3://rows/tables/*.csv#label=y"), wanted)
    same("some of them", deliver("csv:s3://rows/tables/3?.csv#label=y"), wanted[30:])
    put(s3, "p.json", json.dumps({"from": "npy:" + place + "x.npy", "stages": [{"stage": "take", "count": 9}]}))
    same("a pipeline", deliver("pipeline:s3://rows/p.json"), X[:9] * 2)
    same("in pieces", deliver("npy:" + place + "x.npy+npy:" + place + "x.npy"), np.concatenate([X * 2, X * 2]))
    refused("no such key", "npy:s3://rows/none.npy", "s3://rows/none.npy", "404")
    refused("no such bucket", "npy:s3://none/x.npy", "s3://none/x.npy", "404")
    refused("a pattern of nothing", "csv:s3://rows/nothing/*.csv", "s3://rows/nothing/*.csv", "no key of the bucket matches")
    program = os.path.join(BUILD, "tests", "data", "prog_functions")
    check("a function is saved", subprocess.run([program, "norm.artel", "norm"]).returncode == 0)
    put(s3, "norm.artel", open("norm.artel", "rb").read())
    put(s3, "f.npy", npy(X[:, :4]))
    with open("f.json", "w") as f:
        json.dump({"from": "npy:s3://rows/f.npy", "stages": [{"stage": "function", "file": "s3://rows/norm.artel"}]}, f)
    same("a function", deliver("pipeline:f.json"), (X[:, :4] - np.array([1, 2, 3, 4], "f4")) * np.float32(0.5))


logging.getLogger("werkzeug").setLevel(logging.ERROR)  # not each request
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
host, port = server.get_host_and_port()
os.environ.update(AWS_ENDPOINT_URL="http://%s:%d" % (host, port), AWS_ACCESS_KEY_ID="KEYID", AWS_SECRET_ACCESS_KEY="secret", AWS_REGION="us-east-1",
                  AWS_DEFAULT_REGION="us-east-1", ARTEL_CACHE_DIR=os.path.abspath("cache"), no_proxy="*")
os.environ.pop("http_proxy", None)
main(boto3.client("s3"))
server.stop()
sys.exit(report())
