# SPDX-License-Identifier: Apache-2.0
# timeout: 120
"""Files elsewhere: a server of this test's own serves HTTP and, with signatures of version 4 checked after AWS' description, S3. It
breaks transfers off, answers 503, denies, redirects, changes files: rows arrive whole, or the error says what the server did.
"""
import hashlib
import hmac
import http.server
import os
import re
import subprocess
import sys
import threading
import urllib.parse

import numpy as np
from data import ARTEL, BUILD, PROGRAM, check, report

SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
files, behaviour, seen, tokens = {}, {}, [], []
if not os.path.exists(os.path.join(BUILD, "libartel-curl.so")):
    print("libartel-curl.so was not built")
    sys.exit(77)


def signed(handler, path, query):
    """Whether the request's signature is the one that AWS computes (Signature Version 4, header form)."""
    found = re.match(r"AWS4-HMAC-SHA256 Credential=KEYID/(\d{8})/eu-west-7/s3/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$",
                     handler.headers.get("Authorization", ""))
    if not found:
        return False
    day, names, given = found.groups()
    stamp = handler.headers["X-Amz-Date"]
    payload = handler.headers.get("X-Amz-Content-Sha256", hashlib.sha256(b"").hexdigest())
    if "host" not in names.split(";") or "x-amz-date" not in names.split(";") or stamp[:8] != day:
        return False
    lines = "".join("%s:%s\n" % (n, " ".join(handler.headers[n].split())) for n in names.split(";"))
    canonical = "\n".join(["GET", path, "&".join(sorted(query.split("&"))) if query else "", lines, names, payload])
    text = "\n".join(["AWS4-HMAC-SHA256", stamp, "%s/eu-west-7/s3/aws4_request" % day, hashlib.sha256(canonical.encode()).hexdigest()])
    key = ("AWS4" + SECRET).encode()
    for part in (day, "eu-west-7", "s3", "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest() == given


class Server(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def page(self, query):
        """Two keys a page."""
        asked = dict(urllib.parse.parse_qsl(query))
        keys = sorted(k[len("/bucket/"):] for k in files if k.startswith("/bucket/" + asked["prefix"]))
        begin = int(asked.get("continuation-token", "0+/")[:-2])
        more = "<NextContinuationToken>%d+/</NextContinuationToken>" % (begin + 2) if begin + 2 < len(keys) else ""
        self.answer(200, ("<?xml version='1.0'?><ListBucketResult>%s%s</ListBucketResult>" % (
            "".join("<Contents><Key>%s</Key></Contents>" % k.replace("&", "&amp;") for k in keys[begin:begin + 2]), more)).encode())

    def do_GET(self):
        path, _, query = self.path.partition("?")
        seen.append(self.path)
        tokens.append(self.headers.get("x-amz-security-token"))
        what = behaviour.get(path, [])
        act = what.pop(0) if what else None
        if path.startswith("/bucket/") and not signed(self, path, query):
            return self.answer(403)
        if path == "/bucket/" and query and "prefix=endless" in query:
            return self.answer(200, b"<ListBucketResult>" + b" " * (65 << 20))
        if path == "/bucket/" and query:
            return self.page(query)
        if isinstance(act, int):
            return self.answer(act)
        if act == "moved":
            return self.answer(302, Location="/moved.npy")
        body = files.get(urllib.parse.unquote(path))
        if body is None:
            return self.answer(404)
        etag = '"%s"' % hashlib.md5(body).hexdigest()
        if self.headers.get("If-None-Match") == etag:
            return self.answer(304, ETag=etag)
        begin, status, headers = 0, 200, {"ETag": etag}
        found = re.match(r"bytes=(\d+)-$", self.headers.get("Range", ""))
        if found and self.headers.get("If-Range") == etag:
            begin, status = int(found.group(1)), 206
            headers["Content-Range"] = "bytes %d-%d/%d" % (begin, len(body) - 1, len(body))
            seen.append("range")
        if act == "break":
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body) - begin))
            self.end_headers()
            self.wfile.write(body[begin:begin + (len(body) - begin) // 2])
            self.wfile.flush()
            self.connection.shutdown(2)
            self.close_connection = True
            return None
        return self.answer(status, body[begin:], **headers)


def run(spec, **environment):
    env = dict(os.environ, ARTEL_CACHE_DIR=os.path.abspath("cache"), AWS_REGION="eu-west-7", AWS_ACCESS_KEY_ID="KEYID",
               AWS_SECRET_ACCESS_KEY=SECRET, AWS_ENDPOINT_URL=HOME, no_proxy="*", **environment)
    env.pop("http_proxy", None)
    return subprocess.run([PROGRAM, spec, "float32", "out.raw"], capture_output=True, text=True, timeout=60, env=env)


def same(name, spec, wanted, **environment):
    done = run(spec, **environment)
    found = np.fromfile("out.raw", "f4") if done.returncode == 0 else []
    check(name, np.array_equal(found, np.ravel(wanted).astype("f4")), done.stderr, found[:5])


def refused(name, spec, *words, **environment):
    done = run(spec, **environment)
    check(name, done.returncode == 1 and all(w in done.stderr for w in words), done.stderr)


def npy(a):
    np.save("a.npy", a)
    return open("a.npy", "rb").read()


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
HOME = "http://127.0.0.1:%d" % server.server_address[1]
x = np.random.default_rng(3).standard_normal((400, 50)).astype("f4")
files["/x.npy"] = files["/moved.npy"] = npy(x)

same("a file", "npy:%s/x.npy" % HOME, x)
seen.clear()
same("from the cache", "npy:%s/x.npy" % HOME, x)
check("asked once", seen == ["/x.npy"], seen)
files["/x.npy"] = npy(x + 1)
same("a changed file", "npy:%s/x.npy" % HOME, x + 1)
for breaks in (1, 3):
    files["/b%d.npy" % breaks] = npy(x * breaks)
    behaviour["/b%d.npy" % breaks] = ["break"] * breaks
    seen.clear()
    same("broken off %d times" % breaks, "npy:%s/b%d.npy" % (HOME, breaks), x * breaks)
    check("taken up", seen.count("range") == breaks, seen)
files["/busy.npy"] = npy(x)
behaviour["/busy.npy"] = [503, 429]
same("busy at first", "npy:%s/busy.npy" % HOME, x)
behaviour["/gone.npy"] = ["moved"]
same("redirected", "npy:%s/gone.npy" % HOME, x)
files["/always.npy"] = npy(x)
behaviour["/always.npy"] = [500] * 20
refused("always failing", "npy:%s/always.npy" % HOME, "always.npy", "500", "after several attempts")
refused("not there", "npy:%s/nothing.npy" % HOME, "nothing.npy", "404")
behaviour["/secret.npy"] = [401]
refused("denied", "npy:%s/secret.npy" % HOME, "401", "credentials")
refused("no server", "npy:http://127.0.0.1:9/x.npy", "127.0.0.1:9", "connect")
files["/cut.npy"] = npy(x)[:-9]
refused("a damaged file", "npy:%s/cut.npy" % HOME, "cut.npy")
text = "a,y\n" + "".join("%d,%d\n" % (i, i % 2) for i in range(30))
files["/t.csv"] = text.encode()
for options in ("", "&stream=yes"):
    same("a table" + options, "csv:%s/t.csv#label=y%s" % (HOME, options), np.arange(30))
lines = b"".join(b'{"x": %d}\n' % i for i in range(6))
for i in range(3):
    files["/set-%05d-of-00003" % i] = lines.splitlines(True)[2 * i] + lines.splitlines(True)[2 * i + 1]
same("shards", "jsonl:%s/set@3#x" % HOME, np.arange(6))

files["/bucket/in/a b+c.npy"] = npy(x)
same("s3", "npy:s3://bucket/in/a b+c.npy", x)
for i in range(5):
    files["/bucket/p/l%d.jsonl" % i] = b'{"x": %d}\n' % i
files["/bucket/session.npy"] = npy(x + 2)
files["/bucket/p/other&more.txt"] = b"no"
seen.clear()
same("s3, a pattern over pages", "jsonl:s3://bucket/p/l*.jsonl#x", np.arange(5))
check("pages", sum("list-type=2" in s for s in seen) == 3, seen)
tokens.clear()
same("s3, a session", "npy:s3://bucket/session.npy", x + 2, AWS_SESSION_TOKEN="a+token==")
check("the token is sent", tokens == ["a+token=="], tokens)
np.savez("m.npz", x=x.reshape(400, 5, 10))
made = subprocess.run([ARTEL, "data", "make", "npz:m.npz", "-o", "r", "--shards", "3"], capture_output=True, text=True)
check("records are made", made.returncode == 0, made.stderr)
for name in os.listdir("."):
    if name.startswith("r-") or name.startswith("r."):
        files["/bucket/set/" + name] = files["/set/" + name] = open(name, "rb").read()
same("s3, records with what says what they hold", "tfrecord:s3://bucket/set/r@3", x)
same("records of a server", "tfrecord:%s/set/r@3" % HOME, x)
del files["/bucket/set/r.features.json"]
same("s3, records without it", "tfrecord:s3://bucket/set/r-*-of-00003", x)
refused("s3, no match", "jsonl:s3://bucket/q/*#x", "no key")
refused("a list without end", "jsonl:s3://bucket/endless*", "s3://bucket/endless*", "over 64 MiB")
refused("s3, no key", "npy:s3://bucket/nothing.npy", "404")
refused("s3, no name", "npy:s3://B/x", "s3://BUCKET/KEY")
SECRET = SECRET[::-1]
files["/bucket/other.npy"] = npy(x)
done = subprocess.run([PROGRAM, "npy:s3://bucket/other.npy", "float32", "out.raw"], capture_output=True, text=True, timeout=60,
                      env=dict(os.environ, ARTEL_CACHE_DIR=os.path.abspath("cache"), AWS_REGION="eu-west-7", AWS_ACCESS_KEY_ID="KEYID",
                               AWS_SECRET_ACCESS_KEY=SECRET[::-1], AWS_ENDPOINT_URL=HOME, no_proxy="*"))
check("s3, another secret", done.returncode == 1 and "403" in done.stderr, done.stderr)
server.shutdown()
sys.exit(report())
