# SPDX-License-Identifier: Apache-2.0
"""artel beside Keras/TensorFlow and PyTorch: training examples a second on the same cores, interleaved, in one run.

usage: run.py --artel PROGRAM [--threads 1,2] [--rounds 7] [--models mlp,convnet] [--out bench/results.md]

The first round runs every mode of every peer once; the later ones artel and the modes within 20 % of the best, in turn, pinned
with taskset; modes far behind on one core are not tried on two. A peer's process lives as long as the rounds, so that what it loads
and compiles is paid once, and is stopped while others run. Figures are medians over the rounds and the ratio is to the better peer. Peers are looked for under TF_PYTHON and TORCH_PYTHON (else build/venv and python3); those that cannot be imported are left
out and named; PyTorch's ResNet-50 and Inception come from torchvision. Results go to a table in Markdown and a plot in SVG beside it.
"""
import argparse
import json
import math
import os
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import threading

import models

HERE = os.path.dirname(os.path.abspath(__file__))
PEERS = {"tensorflow": ("function", "xla"), "torch": ("eager", "channels_last", "compile")}
WIDE_PEERS = {"tensorflow": ("function", "xla", "raw"), "torch": ("eager", "compile")}
KERAS_PEERS = {"tensorflow": ("function", "xla"), "torch": ()}
NEAR = 0.8  # of the best peer of the first round
FAR = 0.6   # of the best peer on fewer cores: left out on more
LIMIT = 900  # seconds that a run may take, and a peer for one answer


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--artel", required=True)
    p.add_argument("--threads", default="1,2")
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--models", default=",".join(m for m in models.MODELS if m not in models.BY_NAME), help="also: " + ", ".join(models.BY_NAME))
    p.add_argument("--out", default=os.path.join(HERE, "results.md"))
    p.add_argument("--resume", action="store_true", help="keep the rows that an interrupted run left beside --out, in .json")
    p.add_argument("--keras-dir", default="", help="where the .keras files are or will be")
    return p.parse_args()


def can_import(python, module):
    return python and subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0


def find_peers(artel):
    venv = os.path.join(os.path.dirname(os.path.abspath(artel)), "venv", "bin", "python")
    found = {}
    for framework, variable in (("tensorflow", "TF_PYTHON"), ("torch", "TORCH_PYTHON")):
        for python in (os.environ.get(variable), venv if os.path.exists(venv) else None, "python3"):
            if can_import(python, framework):
                found[framework] = python
                break
        else:
            print(f"{framework}: not installed; left out ({variable} names a Python that has it)", file=sys.stderr)
    return found


def pin(command, threads, **environment):
    """The command on the first cores that this process may use, and its environment."""
    cores = ",".join(str(c) for c in sorted(os.sched_getaffinity(0))[:threads])
    env = dict(os.environ, CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3", OMP_NUM_THREADS=str(threads), **environment)
    return dict(args=["taskset", "-c", cores] + command, env=env, cwd=HERE, text=True)


def no_result(command, errors):
    print(" ".join(command[1:5]) + ": " + (errors.strip().splitlines() or ["no result"])[-1], file=sys.stderr)


def pinned(command, threads):
    """The last line of JSON that the command prints; None when it fails."""
    try:
        done = subprocess.run(**pin(command, threads), capture_output=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return None
    lines = [json.loads(l) for l in done.stdout.splitlines() if l.startswith("{")]
    if lines and done.returncode == 0:
        return lines[-1]
    no_result(command, done.stderr)
    return None


class Peer:
    """A peer that trains one model: started at its first turn, stopped between turns."""

    def __init__(self, key, python, name, batch, threads):
        # artel asks for huge pages itself, and rows of large tables are found half as fast without them
        huge = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"} if name in models.WIDE else {}
        self.command = [python, os.path.join(HERE, "peer.py"), key, name, str(batch), str(threads)]
        self.how, self.process, self.errors = pin(self.command, threads, **huge), None, tempfile.TemporaryFile("w+")

    def turn(self):
        """What it measures in a window of about a second; None when it failed, now or before."""
        if not self.process:
            self.process = subprocess.Popen(**self.how, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors)
        elif self.process.poll() is not None:
            return None
        self.process.send_signal(signal.SIGCONT)
        limit = threading.Timer(LIMIT, self.process.kill)
        limit.start()
        try:
            self.process.stdin.write("\n")
            self.process.stdin.flush()
            line = next((l for l in self.process.stdout if l.startswith("{")), None)
        except BrokenPipeError:
            line = None
        limit.cancel()
        if line:
            self.process.send_signal(signal.SIGSTOP)
            return json.loads(line)
        self.process.wait()
        self.errors.seek(0)
        no_result(self.command, self.errors.read())
        return None

    def close(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
        if self.process:
            self.process.communicate()
        self.errors.close()


def run_artel(a, folder, name, batch, threads):
    rows = models.MODELS[name]["steps"] * batch
    end = pinned([os.path.abspath(a.artel), "fit", os.path.join(folder, name + ".keras"), "--data", f"synthetic:{rows}", "--batch-size", str(batch),
                  "--threads", str(threads), "--strategy", "one-device", "--json=epochs", "--verbose", "0"], threads)
    if not end:
        raise SystemExit(f"run: artel fit of {name} failed")
    return {"rate": batch / (end["step_ms"] * 1e-3), "rss": end["peak_rss_bytes"] / 2**20}


def peak(a, threads):
    """Multiply-add rate of the cores that are used, in GFLOP/s."""
    limits = pinned([os.path.abspath(a.artel), "bench", "machine", "--json", "--threads", str(threads), "--dir", tempfile.gettempdir()], threads)
    rates = [v for k, v in (limits or {}).items() if k.startswith("fma_") and "bf16" not in k and k.endswith("_all_gflops" if threads > 1 else "_gflops")]
    return max(rates, default=float("nan"))


def hopeless(rows, name, batch, key):
    """Whether a mode was far behind on fewer cores."""
    rates = [r["rates"] for r in rows if (r["model"], r["batch"]) == (name, batch)]
    best = [max((v for k, v in r.items() if k != "artel"), default=0) for r in rates]
    return bool(rates) and all(r.get(key, 0) < FAR * b for r, b in zip(rates, best))


def peers_of(name):
    return WIDE_PEERS if name in models.WIDE else KERAS_PEERS if name in models.KERAS_ONLY else PEERS


def measure(a, folder, pythons, rows, name, batch, threads):
    keys = [(f"{f}:{mode}", python) for f, python in pythons.items() for mode in peers_of(name)[f]
            if mode != "channels_last" or name in models.IMAGES]
    peers = {k: Peer(k, python, name, batch, threads) for k, python in keys if not hopeless(rows, name, batch, k)}
    got, peaks = {k: [] for k in ("artel", *peers)}, []
    for _ in range(a.rounds):
        peaks.append(peak(a, threads))
        for key in ("artel", *peers):
            result = peers[key].turn() if key in peers else run_artel(a, folder, name, batch, threads)
            if result:
                got[key].append(result)
        best = max((v[0]["rate"] for k, v in got.items() if v and k != "artel"), default=0)
        for key in [k for k in peers if not got[k] or got[k][0]["rate"] < NEAR * best]:
            peers.pop(key).close()
    for peer in peers.values():
        peer.close()
    rates = {k: statistics.median(r["rate"] for r in v) for k, v in got.items() if v}
    best = max(((v, k) for k, v in rates.items() if k != "artel"), default=(0, "none"))
    gflops = rates.get("artel", 0) * (3 * models.MODELS[name]["mflop"] - models.MODELS[name]["first"]) * 1e-3
    row = dict(model=name, batch=batch, threads=threads, rounds=a.rounds, rates=rates, best=best[1], ratio=rates.get("artel", 0) / best[0] if best[0] else float("nan"),
               share=gflops / statistics.median(peaks), rss={k: round(v[0]["rss"]) for k, v in got.items() if v})
    print(json.dumps(row), flush=True)
    return row


def machine():
    """The processor, its family and model too where there are any: the name alone is often that of many generations."""
    fields = {}
    for line in open("/proc/cpuinfo"):
        name, _, value = line.partition(":")
        fields.setdefault(name.strip(), value.strip())
    if "model name" not in fields:
        return platform.platform()
    generation = f" (family {fields['cpu family']}, model {fields['model']})" if "cpu family" in fields and "model" in fields else ""
    return f"{fields['model name']}{generation}, {os.cpu_count()} cores, {platform.system()} {platform.release()}"


def write_table(path, rows):
    with open(path, "w") as out:
        out.write(f"# Training speed beside the peers\n\n{machine()}; interleaved rounds, medians; written by `make bench`.\n"
                  "The share of the peak counts the products of the forward pass, the weight gradients and the data gradients (none for the first layer) "
                  "over float32 FMA measured in the same rounds; taps outside of an image count, as in the figures of others, although artel leaves most of them out.\n\n"
                  "| model | batch | cores | rounds | artel, examples/s | best peer | ratio | share of FMA peak | memory MB: artel, peer |\n|---|---|---|---|---|---|---|---|---|\n")
        for r in rows:
            out.write(f"| {r['model']} | {r['batch']} | {r['threads']} | {r['rounds']} | {r['rates'].get('artel', 0):,.1f} | {r['best']} {r['rates'].get(r['best'], 0):,.1f} | "
                      f"{r['ratio']:.2f} | {100 * r['share']:.0f} % | {r['rss'].get('artel', '-')}, {r['rss'].get(r['best'], '-')} |\n")
        for threads in sorted({r["threads"] for r in rows}):
            ratios = [r["ratio"] for r in rows if r["threads"] == threads and r["ratio"] > 0]
            if ratios:
                out.write(f"\n{threads} core{'s' if threads > 1 else ''}: geometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}, worst {min(ratios):.2f}.\n")


def write_plot(path, rows):
    height = 40 + 24 * len(rows)
    scale = 420 / max([r["ratio"] for r in rows if r["ratio"] > 0] + [1.5])
    with open(path, "w") as out:
        out.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="720" height="{height}" font-family="sans-serif" font-size="12">\n'
                  '<text x="10" y="18">Training rate as a multiple of the better of TensorFlow and PyTorch</text>\n')
        for i, r in enumerate(rows):
            y, width = 30 + 24 * i, scale * max(r["ratio"], 0) if r["ratio"] == r["ratio"] else 0
            out.write(f'<text x="10" y="{y + 14}">{r["model"]} {r["batch"]}, {r["threads"]} core</text>'
                      f'<rect x="190" y="{y}" width="{width:.0f}" height="18" fill="#4878a8"/><text x="{195 + width:.0f}" y="{y + 14}">{r["ratio"]:.2f}</text>\n')
        out.write(f'<line x1="{190 + scale:.0f}" y1="26" x2="{190 + scale:.0f}" y2="{height - 8}" stroke="#c04040"/>\n</svg>\n')


def export(folder, names, pythons):
    """Writes the .keras files that are not there."""
    missing = [m for m in names if not os.path.exists(os.path.join(folder, m + ".keras"))]
    if not missing:
        return
    if "tensorflow" not in pythons:
        sys.exit("the benchmark models are made with Keras; install tensorflow-cpu (make test does) or give --keras-dir")
    subprocess.run([pythons["tensorflow"], os.path.join(HERE, "models.py"), folder] + missing, check=True, stdout=subprocess.DEVNULL)


def main():
    a = arguments()
    pythons = find_peers(a.artel)
    folder = a.keras_dir or tempfile.mkdtemp(prefix="artel-bench-")
    wanted = a.models.split(",")
    export(folder, wanted, pythons)
    base = os.path.splitext(a.out)[0]
    rows = json.load(open(base + ".json")) if a.resume and os.path.exists(base + ".json") else []
    known = {(r["model"], r["batch"], r["threads"]) for r in rows}
    for threads in map(int, a.threads.split(",")):
        for name in wanted:
            for batch in models.MODELS[name]["batch"]:
                if (name, batch, threads) in known:
                    continue
                rows.append(measure(a, folder, pythons, rows, name, batch, threads))
                with open(base + ".json", "w") as out:
                    json.dump(rows, out, indent=1)
                write_table(a.out, rows)
                write_plot(base + ".svg", rows)
    print(f"written: {a.out}")


if __name__ == "__main__":
    main()
