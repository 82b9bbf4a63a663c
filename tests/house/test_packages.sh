#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cpack's Debian packages: lintian finds no error where it is installed, and each release of Debian that they are for installs them
# by apt-get into a bare root (debootstrap; as root, with a mirror) and runs them: HDF5, images, encryption between tasks, a stranger's
# program.
# labels: long
# timeout: 1800
set -eu
cd "${ARTEL_SCRATCH:?run me with scripts/run-test}"
command -v dpkg-deb >/dev/null && command -v dpkg-shlibdeps >/dev/null || { echo "skipped: dpkg-dev is not installed"; exit 77; }
cpack -G DEB --config "$ARTEL_BUILD/CPackConfig.cmake" >log 2>&1 || { cat log; exit 1; }
[ "$(ls ./*.deb | wc -l)" = 3 ]
if command -v lintian >/dev/null; then lintian --allow-root --fail-on error ./*.deb; fi
for package in ./*.deb; do dpkg-deb -x "$package" root; done
root/usr/bin/artel version
root/usr/bin/artel cert init certs # finds its part
dpkg-deb -f artel_*.deb Depends | grep -q 'libartel[0-9.]* (= '
dpkg-deb -f libartel[0-9]*.deb Depends | grep -q libssl

# ---------------------------------------------------------------- in a bare Debian
cat >try <<'END'
set -eu
export DEBIAN_FRONTEND=noninteractive HOME=/root
apt-get -q update
apt-get -q -y install --no-install-recommends /try/artel_*.deb /try/libartel[0-9]*.deb
cd /root
if ldd /usr/bin/artel /usr/lib/artel/* | grep 'not found'; then exit 1; fi
artel version
artel new cnn --input 8x8x1 --classes 2 -o model.keras
mkdir -p images/a images/b
for i in 1 2 3 4; do cp /try/square.png images/a/$i.png; cp /try/square.png images/b/$i.png; done
artel fit model.keras --data "images:images#size=8x8,channels=1" --epochs 2 --batch-size 4 --output one.h5 --verbose 0
artel convert one.h5 one.keras
artel inspect --digest one.h5 | awk '{print $NF}' >a && artel inspect --digest one.keras | awk '{print $NF}' >b && cmp a b
artel fit model.keras --data synthetic:64 --epochs 1 --output alone.keras --verbose 0
artel launch -n 2 fit model.keras --strategy multi-worker --data synthetic:64 --epochs 1 --output together.keras --verbose 0
artel inspect --digest alone.keras | awk '{print $NF}' >a && artel inspect --digest together.keras | awk '{print $NF}' >b && cmp a b
artel predict alone.keras --data synthetic:16 --output p.npy
artel convert alone.keras alone.onnx
apt-get -q -y install --no-install-recommends /try/libartel-dev_*.deb gcc libc6-dev pkg-config
gcc -Wall -Werror /try/user.c -o user $(pkg-config --cflags --libs artel)
./user
apt-get -q -y purge artel libartel-dev 'libartel[0-9]*'
if find /usr -name '*artel*' | grep .; then exit 1; fi
echo the packages work
END
cat >user.c <<'END'
#include <artel/artel.h>
#include <stdio.h>
int main(void)
{
    artel_context *ctx = NULL;
    artel_status status = artel_context_create(NULL, &ctx);
    const char *version;
    artel_version(&version);
    printf("%s %s\n", version, artel_status_name(status));
    artel_context_destroy(ctx);
    return status == ARTEL_OK ? 0 : 1;
}
END
[ "$(id -u)" = 0 ] && command -v debootstrap >/dev/null || { echo "not tried in a bare Debian: that needs root and debootstrap"; exit 0; }
lists=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null || true)
mirror=$(grep -v '^#' <<<"$lists" | grep -oE 'https?://[^ ]*/debian/?( |$)' | head -n 1) || true
cat >square.py <<'END'
import struct, sys, zlib


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


rows = b"".join(b"\0" + bytes((9 * x + 31 * y) % 256 for x in range(8)) for y in range(8))
sys.stdout.buffer.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) +
                        chunk(b"IEND", b""))
END
for suite in bookworm trixie; do
    debootstrap --variant=minbase "$suite" "$suite" "${mirror:-http://deb.debian.org/debian}" >log 2>&1 ||
        { tail -n 5 log; echo "no bare $suite: debootstrap failed"; exit 1; }
    mkdir "$suite/try"
    cp ./*.deb try user.c "$suite/try"
    python3 square.py >"$suite/try/square.png"
    unshare --mount --propagation private sh -c 'mount -t proc proc "$1/proc" && exec chroot "$1" bash /try/try' sh "$suite" >log 2>&1 || { tail -n 30 log; echo "the packages do not work in $suite"; exit 1; }
    echo "$suite: $(tail -n 1 log)"
    rm -rf --one-file-system "$suite"
done
