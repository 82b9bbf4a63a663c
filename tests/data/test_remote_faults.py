# SPDX-License-Identifier: Apache-2.0
# timeout: 120
"""Servers that fail, or lie: a transfer cut at every byte, lengths and parts that do not agree, content that changes in the middle,
drips, circles, pauses, credentials that expire, lists cut off. Rows arrive whole, or the error says what the server did; never fewer.
"""
import json
import os
import re
import socketserver
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from data import BUILD, PROGRAM, check, report

if not os.path.exists(os.path.join(BUILD, "libartel-curl.so")):
    print("libartel-curl.so was not built")
    sys.exit(77)
TIMES, SEEN, LOCK = {}, {}, threading.Lock()


def content(name, rows=6):
    """Lines of this name's own, so that a mixture of two shows."""
    return b"".join(b'{"x": %d}\n' % (sum(name.encode()) * 100 + i) for i in range(rows))


def values(body):
    return [json.loads(line)["x"] for line in body.splitlines()]


def head(status, *lines):
    return ("HTTP/1.1 %s\r\n%s\r\nConnection: close\r\n\r\n" % (status, "\r\n".join(lines))).encode()


def sized(body, *lines):
    return head("200 OK", "Content-Length: %d" % len(body), *lines) + body


def chunked(body, *lines):
    pieces = [body[i:i + 20] for i in range(0, len(body), 20)]
    return head("200 OK", "Transfer-Encoding: chunked", *lines) + b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in pieces) + b"0\r\n\r\n"


def ranged(body, asked, etag='"v1"'):
    """What an honest server answers."""
    found = re.search(rb"\nRange: bytes=(\d+)-\r", asked)
    same = ("\nIf-Range: %s\r" % etag).encode() in asked
    if not found or not same:
        return sized(body, "ETag: " + etag)
    begin = int(found.group(1))
    if begin >= len(body):
        return head("416 Range Not Satisfiable", "Content-Length: 0")
    return part(body, begin, len(body), len(body), etag)


def part(body, begin, end, total, etag='"v1"'):
    return head("206 Partial Content", "Content-Length: %d" % (end - begin), "Content-Range: bytes %d-%d/%d" % (begin, end - 1, total),
                "ETag: " + etag) + body[begin:end]


def cut(kind, at, nth, asked, name):
    body = content(name)
    whole = {"sized": ranged(body, asked), "chunked": chunked(body, 'ETag: "v1"'), "plain": sized(body)}[kind]
    return whole[:at] if nth == 0 else ranged(body, asked) if kind == "chunked" else whole


def act(name, nth, asked):
    """The bytes of the nth answer to this name; a list: with a second between its pieces."""
    body, new = content(name), content(name + "!", 4)
    half = len(body) // 2
    if name.startswith("cut-"):
        kind, count, shard = re.match(r"cut-(\w+)-\d+-(\d+)-(\d+)-of", name).groups()
        return cut(kind, int(count) + int(shard), nth, asked, name)
    first = sized(body, 'ETag: "v1"')
    return {
        "longer": lambda: head("200 OK", "Content-Length: %d" % (len(body) + 9), 'ETag: "v1"') + body,
        "weak": lambda: sized(body, 'ETag: W/"v1"')[:-half] if nth == 0 else sized(body, 'ETag: W/"v1"'),
        "mixed": lambda: first[:-half] if nth == 0 else part(content(name + "!"), half, len(body), len(body), '"v2"') if nth == 1
        else sized(content(name + "!"), 'ETag: "v2"'),
        "unnamed": lambda: first[:-half] if nth == 0 else part(body, half, len(body), len(body)).replace(b'ETag: "v1"\r\n', b"") if nth == 1 else first,
        "replaced": lambda: first[:len(first) - len(body) + len(new)] if nth == 0 else sized(new, 'ETag: "v2"'),
        "grown": lambda: first[:-half] if nth == 0 else part(body + new, half, len(body), len(body + new)) if nth == 1 else sized(body + new, 'ETag: "v1"'),
        "whole206": lambda: part(body, 0, len(body), len(body)),
        "parts": lambda: part(body, 0, half, len(body)) if nth == 0 else ranged(body, asked),
        "elsewhere": lambda: part(body, half, len(body), len(body)),
        "nameless206": lambda: head("206 Partial Content", "Content-Length: %d" % len(body)) + body,
        "disagreeing": lambda: part(body, 0, len(body), len(body)).replace(b"Content-Length: %d" % len(body), b"Content-Length: 10"),
        "endless": lambda: head("200 OK", 'ETag: "v1"') + body,
        "unchanged": lambda: head("304 Not Modified", 'ETag: "v1"'),
        "soon": lambda: head("503 Busy", "Retry-After: 1", "Content-Length: 0") if nth == 0 else first,
        "late": lambda: head("429 Busy", "Retry-After: 3600", "Content-Length: 0"),
        "circle": lambda: head("302 Found", "Location: /circle", "Content-Length: 0"),
        "moved": lambda: head("301 Moved", "Location: /moved", "Content-Length: 0"),
        "drip": lambda: [first[:-half]] + [first[i:i + 1] for i in range(len(first) - half, len(first))] if nth == 0 else ranged(body, asked),
        "bucket/old.jsonl": lambda: error("400 Bad Request", "ExpiredToken"),
        "bucket/skew.jsonl": lambda: error("403 Forbidden", "RequestTimeTooSkewed"),
        "bucket/middle.jsonl": lambda: first[:-half] if nth == 0 else error("403 Forbidden", "ExpiredToken"),
        "bucket/odd.jsonl": lambda: error("403 Forbidden", "\x1b[31mOdd"),
        "bucket/": lambda: listing(asked.split(b" ")[1].decode()),
    }[name]()


def error(status, code):
    body = ("<?xml version='1.0'?><Error><Code>%s</Code><Message>no</Message></Error>" % code).encode()
    return head(status, "Content-Length: %d" % len(body)) + body


def listing(target):
    keys = "<ListBucketResult><Contents><Key>%s1.jsonl</Key></Contents>" % re.search("prefix=(\\w+)", target).group(1)
    return sized((keys + {"cut": "<Contents><Key>cut2.js", "lost": "<IsTruncated>true</IsTruncated></ListBucketResult>",
                          "same": "<NextContinuationToken>a+b</NextContinuationToken></ListBucketResult>"}[re.search("prefix=(\\w+)", target).group(1)]).encode())


class Server(socketserver.BaseRequestHandler):
    def handle(self):
        asked = b""
        while b"\r\n\r\n" not in asked:
            more = self.request.recv(4096)
            if not more:
                return
            asked += more
        name = asked.split(b" ")[1].decode()[1:].split("?")[0]
        with LOCK:
            nth = SEEN[name] = SEEN.get(name, -1) + 1
        answer = act(name, nth, asked)
        try:
            for i, piece in enumerate(answer if isinstance(answer, list) else [answer]):
                if i > 0:
                    time.sleep(1)
                self.request.sendall(piece)
        except OSError:
            pass


class Threads(socketserver.ThreadingTCPServer):
    daemon_threads, allow_reuse_address, request_queue_size = True, True, 64


def run(spec, out):
    env = {k: v for k, v in os.environ.items() if not k.startswith("AWS_") and k != "http_proxy"}
    env.update(ARTEL_CACHE_DIR=os.path.abspath("cache"), AWS_ENDPOINT_URL=HOME, no_proxy="*", ARTEL_FETCH_SECONDS="1")
    begin = time.monotonic()
    done = subprocess.run([PROGRAM, spec, "int64", out], capture_output=True, text=True, timeout=100, env=env)
    found = open(out, "rb").read() if done.returncode == 0 else b""
    return done, [int.from_bytes(found[i:i + 8], "little", signed=True) for i in range(0, len(found), 8)], time.monotonic() - begin


def url(name):
    return "jsonl:%s/%s#x" % (HOME, name) if not name.startswith("s3:") else "jsonl:%s#x" % name


def same(name, wanted, least=0):
    done, found, seconds = run(url(name), "%s.raw" % name)
    check(name, found == wanted and seconds >= least, done.stderr, found[:8], seconds)


def refused(name, *words):
    done, _, seconds = run(url(name), "%s.raw" % re.sub("\\W", "-", name))
    check(name, done.returncode == 1 and all(w in done.stderr for w in words), done.returncode, done.stderr, seconds)
    check(name + " is clean", "\x1b" not in done.stderr, repr(done.stderr))


def cuts(kind, count, size):
    """Answers cut after `count` bytes and the following: a shard each."""
    name = "cut-%s-%d-%d" % (kind, size, count)
    done, found, _ = run("jsonl:%s/%s@%d#x" % (HOME, name, size), name + ".raw")
    wanted = sum((values(content("%s-%05d-of-%05d" % (name, i, size))) for i in range(size)), [])
    check(name, found == wanted, done.stderr[-300:], len(found), len(wanted))


server = Threads(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
HOME = "http://127.0.0.1:%d" % server.server_address[1]


def both(name):
    return values(content(name)) + values(content(name + "!", 4))


work = [(same, n, values(content(n))) for n in ("weak", "unnamed", "whole206", "parts")]
work += [(same, "mixed", values(content("mixed!"))), (same, "replaced", values(content("replaced!", 4))), (same, "grown", both("grown"))]
work += [(refused, "longer", "partial file", "after several attempts"), (refused, "elsewhere", "does not continue"), (refused, "nameless206", "does not say which"),
         (refused, "disagreeing", "does not continue"), (refused, "endless", "does not say where the file ends"), (refused, "unchanged", "nothing has changed"),
         (refused, "late", "429", "3600 s"), (refused, "circle", "302", "redirect"), (refused, "moved", "301", "redirect"),
         (refused, "s3://bucket/old.jsonl", "expired", "ExpiredToken", "renew"), (refused, "s3://bucket/skew.jsonl", "403 RequestTimeTooSkewed", "clock"),
         (refused, "s3://bucket/middle.jsonl", "expired", "renew"), (refused, "s3://bucket/odd.jsonl", "403", "denies"),
         (refused, "s3://bucket/cut*", "cut off"), (refused, "s3://bucket/lost*", "goes on"), (refused, "s3://bucket/same*", "followed by itself")]
LENGTH = {"sized": len(ranged(content("cut-sized-8-000-00000-of-00008"), b"")), "chunked": len(chunked(content("cut-chunked-8-000-00000-of-00008"), 'ETag: "v1"')),
          "plain": len(sized(content("cut-plain-8-000-00000-of-00008")))}
for kind, size, step in (("sized", 8, 8), ("chunked", 8, 8), ("plain", 8, 40)):
    work += [(cuts, kind, at, size) for at in range(0, LENGTH[kind] - size, step)]
with ThreadPoolExecutor(8) as pool:
    for done in [pool.submit(*w) for w in work] + [pool.submit(same, "soon", values(content("soon")), least=1)] + [
            pool.submit(same, "drip", values(content("drip")))]:
        done.result()
check("asked as often as it takes", SEEN["late"] == 0 and SEEN["soon"] == 1 and SEEN["drip"] == 1, SEEN)
server.shutdown()
sys.exit(report())
