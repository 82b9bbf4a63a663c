#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 120
# long form: 300
# The commands that pages of docs/ and README.md show run as they stand there, one after another, in a folder with a small
# model and data of the names that pages use. Left out: what is cut short ("...") or asks to be filled in (SPEC). Two pages
# more with ARTEL_LONG=1.
set -eu
cd "${ARTEL_SCRATCH:?run me with scripts/run-test}"
[ -e "$ARTEL_BUILD/libartel.so" ] && [ -n "${PYTHON-}" ] || { echo "the library, or Python for the data, is not here"; exit 77; }
fail() { echo "FAILED: $*" >&2; exit 1; }

# What a shell of somebody who has installed artel finds.
mkdir bin
ln -s "$ARTEL" bin/artel
cat >bin/pkg-config <<TEXT
#!/bin/sh
echo "-I$ARTEL_SOURCE/include -L$ARTEL_BUILD -lartel -Wl,-rpath,$ARTEL_BUILD"
TEXT
chmod +x bin/pkg-config
PATH=$PWD/bin:$PATH
for name in $(env | grep -o '^ARTEL_[A-Z_]*' || true); do
    case $name in ARTEL_BUILD | ARTEL_SOURCE | ARTEL_SCRATCH | ARTEL_LONG) ;; *) unset "$name" ;; esac
done

mkdir files
cd files
"$PYTHON" - <<'TEXT'
import os, struct
import numpy as np

r = np.random.default_rng(5)
x, y = r.random((64, 28, 28, 1)).astype(np.float32), np.arange(64) % 10
for name in ("train", "test", "data", "all", "mnist"):
    np.savez(name + ".npz", x=x, y=y)
np.savez("mnist.npz", x_train=x, y_train=y, x_test=x, y_test=y)
np.save("images.npy", x)
for label in ("cat", "dog"):  # bitmaps of 8 x 8
    os.makedirs("photos/" + label)
    for n in range(4):
        pixels = r.integers(0, 256, 8 * 8 * 3, dtype=np.uint8).tobytes()
        head = b"BM" + struct.pack("<IHHI", 54 + len(pixels), 0, 0, 54) + struct.pack("<IiiHHIIiiII", 40, 8, 8, 1, 24, 0, len(pixels), 0, 0, 0, 0)
        open("photos/%s/%d.bmp" % (label, n), "wb").write(head + pixels)
TEXT
artel new mlp --input 28x28x1 --classes 10 --width 16 -o model.keras >/dev/null 2>&1
cp model.keras resnet50.keras
artel fit model.keras --data npz:train.npz --history h.json --log-dir logs --output trained.keras --verbose 0
cp "$ARTEL_SOURCE/examples/extension/my_layers.c" .
ln -s "$ARTEL_SOURCE/examples" examples
ln -s "$ARTEL_BUILD" build
cd ..

# Lines of a page that are commands; what stands behind two blanks is a remark. Of some pages those within a line, too.
commands() { # PAGE INLINE
    awk -v inline="$2" '
        held != "" { sub(/^ +/, ""); $0 = "    " held $0; held = "" }
        /^    (build\/)?(artel|cc) .*\\$/ { sub(/^    /, ""); sub(/ *\\$/, " "); held = $0; next }
        /^    (build\/)?(artel|cc) / { sub(/^    (build\/)?/, ""); sub(/ ( .*|# .*)$/, ""); print; next }
        inline { while (match($0, /`artel [a-z]+ [^`]+`/)) { print substr($0, RSTART + 1, RLENGTH - 2); $0 = substr($0, RSTART + RLENGTH) } }
    ' "$1" | grep -vE '\.\.\.| [A-Z]{3,}( |$)' || true
}
run_page() { # PAGE LEAST [inline [EXCEPT]]: at least so many commands, but for those that match, for which there are no files here
    local page=$ARTEL_SOURCE/$1 name ran=0
    name=$(basename "$1" .md)
    cp -r files "$name"
    [ ! -e "blocks/$name" ] || cp "blocks/$name"/* "$name"
    commands "$page" "${3:+1}" | grep -vE "${4:-^$}" >"$name.commands" || true
    while IFS= read -r command; do
        (cd "$name" && bash -c "$command" >said.txt 2>&1 </dev/null) || fail "$1: $command: $(tail -n 5 "$name/said.txt")"
        ran=$((ran + 1))
    done <"$name.commands"
    [ "$ran" -ge "$2" ] || fail "$1: only $ran commands were found"
}

# Files that a page shows in whole: blocks of the guide, by what they begin with.
mkdir -p blocks/adding-a-layer
awk -v folder=blocks/adding-a-layer '
    function end() { if (text ~ /ARTEL_EXTENSION/) printf "%s", text >(folder "/my_layers.c"); if (text ~ /^\{"class_name"/) printf "%s", text >(folder "/soft.json"); text = "" }
    /^    / { sub(/^    /, ""); text = text $0 "\n"; next }
    /^$/ { if (text != "") text = text "\n"; next }
    { end() }
    END { end() }' "$ARTEL_SOURCE/docs/adding-a-layer.md"

run_page README.md 8
run_page docs/adding-a-layer.md 5
digest() { artel inspect "adding-a-layer/$1" --extensions adding-a-layer/my_layers.so --digest | grep -oE '[0-9a-f]{64}'; }
[ "$(digest soft.keras)" = "$(digest same.keras)" ] || fail "docs/adding-a-layer.md: three replicas end in other bits"
run_page docs/checkpoints.md 3 "" ckpt-500
run_page docs/cluster-security.md 2
run_page docs/data.md 4 "" 'houses-|part-|train\.tfrecord'
run_page docs/deploy.md 2
run_page docs/examples.md 1
run_page docs/explain.md 2
run_page docs/extend.md 2
run_page docs/memory.md 1
run_page docs/precision.md 1
run_page docs/ten-minutes.md 8 inline
[ -n "${ARTEL_LONG-}" ] || exit 0
run_page docs/functions.md 1
run_page docs/parameter-servers.md 1
