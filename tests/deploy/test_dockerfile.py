# SPDX-License-Identifier: Apache-2.0
# timeout: 1800
# labels: long
# processors: 2
"""deploy/Dockerfile, built without Docker: its steps run in bare Debian folders, and the image then trains as the image's user.

Each stage is a copy of what debootstrap makes (its smallest variant stands for bookworm-slim); RUN is a chroot, COPY a copy. Needs root,
debootstrap and Debian's mirror, else it is skipped. ARTEL_DEBOOTSTRAP names a folder that debootstrap has made before.
"""

import json
import os
import re
import shutil
import subprocess
import sys

from cli import MODELS, save, save_arrays
from oracle import ROOT, artel, digest

FILE = os.path.join(ROOT, "deploy", "Dockerfile")
KNOWN = {"FROM", "ENV", "RUN", "COPY", "USER", "WORKDIR", "ENTRYPOINT", "CMD"}


def skip(why):
    print("skipped: %s" % why)
    sys.exit(77)


def steps():
    """(word, rest) of each instruction, continued lines joined."""
    lines = [line for line in open(FILE).read().splitlines() if not line.startswith("#")]
    text = re.sub(r"\\\n", " ", "\n".join(lines))
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line.strip()]


class Stage:
    def __init__(self, base, folder):
        self.root, self.env, self.user, self.dir, self.entry, self.cmd = folder, {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, 0, "/", [], []
        subprocess.run(["cp", "-a", "--reflink=auto", base, folder], check=True)

    def command(self, words, binds=()):
        """In namespaces of its own, so that mounts end with it."""
        script = "set -e\n"
        for source, target in binds:
            script += "mount --bind '%s' '%s%s'\n" % (source, self.root, target)
        script += "mount -t proc proc '%s/proc'\n" % self.root
        script += 'cd "%s" && exec chroot --userspec=%d:%d "%s" sh -c \'cd "$0" && exec "$@"\' "%s" "$@"' % (self.root, self.user, self.user, self.root, self.dir)
        return ["unshare", "--mount", "--pid", "--fork", "sh", "-c", script, "sh", *words]

    def run(self, words, limit=1500, check=True, **more):
        done = subprocess.run(self.command(words, **more), env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=limit)
        said = done.stdout.decode(errors="replace")
        if check and done.returncode != 0:
            raise SystemExit("%s\nended with %d:\n%s" % (" ".join(words), done.returncode, said[-3000:]))
        return done.returncode, said

    def start(self, *args, **more):
        """What `docker run IMAGE ARGS` does."""
        return self.run([*self.entry, *(args or self.cmd)], check=False, **more)

    def packages(self):
        return set(self.run(["dpkg-query", "-W", "-f", "${Package}\n"])[1].split())


def copy_context(target):
    """What git knows or would add: the folder without what .dockerignore names."""
    files = subprocess.run(["git", "-C", ROOT, "-c", "safe.directory=*", "ls-files", "-co", "--exclude-standard", "-z"], stdout=subprocess.PIPE, check=True).stdout
    for name in filter(None, files.decode().split("\0")):
        source = os.path.join(ROOT, name)
        if os.path.exists(source):
            os.makedirs(os.path.join(target, os.path.dirname(name)), exist_ok=True)
            shutil.copy2(source, os.path.join(target, name), follow_symlinks=False)


def build(base, place):
    stages, stage = {}, None
    for word, rest in steps():
        if word not in KNOWN:
            raise SystemExit("this test does not know %s" % word)
        if word == "FROM":
            image, *name = re.split(r"\s+AS\s+", rest)
            if image != "debian:bookworm-slim":
                raise SystemExit("another image: %s" % image)
            stage = Stage(base, os.path.join(place, "stage%d" % len(stages)))
            stages[name[0] if name else "final"] = stage
        elif word == "ENV":
            stage.env.update([rest.split("=", 1)])
        elif word == "RUN":
            print("RUN %s" % rest[:100], flush=True)
            stage.run(["/bin/sh", "-c", rest])
        elif word == "COPY":
            origin, source, target = re.match(r"(?:--from=(\w+) )?(\S+) (\S+)$", rest).groups()
            if origin:
                shutil.copytree(stages[origin].root + source, stage.root + target, dirs_exist_ok=True, symlinks=True)
            else:
                copy_context(stage.root + target)
        elif word == "USER":
            stage.user = int(rest)
        elif word == "WORKDIR":
            stage.dir = rest
        else:
            setattr(stage, "entry" if word == "ENTRYPOINT" else "cmd", json.loads(rest))
    return stages


def expect(condition, what, *more):
    if not condition:
        raise SystemExit("%s %s" % (what, " ".join(str(m) for m in more)))


def check_contents(image, bare):
    """Nothing to build with, nothing missing, nothing that nobody needs."""
    added = image.packages() - bare
    expect(not [p for p in added if p.endswith("-dev") or re.match(r"gcc|cmake|ninja|git|python|perl(?!-base)", p)], "packages to build with:", sorted(added))
    libraries = ["/usr/local/bin/artel"] + ["/usr/local/lib/artel/" + f for f in sorted(os.listdir(image.root + "/usr/local/lib/artel"))]
    owners, needed = set(), set()
    for path in libraries:
        said = image.run(["ldd", path])[1]
        expect("not found" not in said, path, said)
        needed |= set(re.findall(r"=> (\S+)", said))
    for path in needed:
        for name in (path, os.path.realpath(image.root + path)[len(os.path.realpath(image.root)):], path.replace("/lib/", "/usr/lib/", 1)):
            owner = image.run(["dpkg-query", "-S", name], check=False)[1]
            owners |= {line.split(":")[0] for line in owner.splitlines() if "no path" not in line}
    asked = set(re.findall(r"\blib[a-z0-9.-]+|\bzlib1g\b", [r for w, r in steps() if w == "RUN" and "tini" in r][0].split("&& rm")[0]))
    expect(asked <= owners | {"libseccomp2"}, "packages that nothing needs:", sorted(asked - owners))
    size = int(subprocess.run(["du", "-sm", image.root + "/usr/local"], stdout=subprocess.PIPE).stdout.split()[0])
    print("packages added: %s; /usr/local: %d MB" % (" ".join(sorted(added)), size))


def check_running(image, place):
    work = os.path.join(place, "work")
    os.mkdir(work)
    one = [save(MODELS["cnn"], os.path.join(work, "m.keras")), save_arrays("cnn", os.path.join(work, "d.npz"), 200)]
    subprocess.run(["chown", "-R", "%d:%d" % (image.user, image.user), work], check=True)
    binds = [(work, "/work")]
    code, said = image.start(binds=binds)
    expect(code == 0 and "artel SUBCOMMAND" in said, "docker run artel:", said)
    more = ["--batch-size", "50", "--epochs", "2", "--verbose", "0"]
    code, said = image.start("fit", "m.keras", "--data", "npz:d.npz", *more, "--output", "out.keras", binds=binds)
    expect(code == 0, "fit:", code, said)
    ran = artel("fit", one[0], "--data", one[1], *more, "--output", os.path.join(place, "out.keras"))
    expect(ran.rc == 0 and digest(os.path.join(place, "out.keras")) == digest(os.path.join(work, "out.keras")), "another digest", ran.err)
    expect(os.stat(os.path.join(work, "out.keras")).st_uid == image.user, "another owner")
    code, said = image.start("launch", "-n", "2", "fit", "m.keras", "--strategy", "multi-worker", "--data", "npz:d.npz", *more, "--output", "two.keras", binds=binds)
    expect(code == 0 and "plaintext" not in said, "launch:", code, said)
    expect(digest(os.path.join(work, "two.keras")) == digest(os.path.join(work, "out.keras")), "another digest of two workers")
    code, said = image.start("fit", "m.keras", "--data", "nonsense:d", binds=binds)
    expect(code == 1, "a mistake ends with", code, said)
    code, said = image.start("status", binds=binds)
    expect(code == 0, "the probe:", code, said)


def main():
    if os.getuid() != 0:
        skip("it needs root, for chroot")
    base = os.environ.get("ARTEL_DEBOOTSTRAP")
    place = os.path.join(os.environ.get("ARTEL_SCRATCH") or os.getcwd(), "image")
    os.mkdir(place)
    if not base:
        base = os.path.join(place, "base")
        if not shutil.which("debootstrap", path=os.environ["PATH"] + ":/usr/sbin"):
            skip("there is no debootstrap")
        done = subprocess.run(["debootstrap", "--variant=minbase", "bookworm", base], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            skip("debootstrap does not work here: %s" % done.stdout.decode(errors="replace")[-300:])
    stages = build(base, place)
    final = stages["final"]
    expect(final.user != 0 and final.entry and len(stages) == 2, "an image that runs as root, or holds its compiler")
    user, final.user = final.user, 0
    check_contents(final, Stage(base, os.path.join(place, "bare")).packages())
    final.user = user
    check_running(final, place)
    print("ok")


if __name__ == "__main__":
    main()
