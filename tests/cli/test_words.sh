#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 120
# What the program answers to other programs' words, to sources that are no files, and what it shows on terminals of all kinds.
set -eu
cd "${ARTEL_SCRATCH:?run me with scripts/run-test}"
fail() { echo "FAILED: $*" >&2; exit 1; }
# says CODE 'PART' WORDS...: the exit code, and a part of standard error
says() {
    local code=$1 part=$2 found=0
    shift 2
    "$ARTEL" "$@" >out.txt 2>err.txt </dev/null || found=$?
    [ "$found" = "$code" ] || fail "artel $*: exit code $found instead of $code: $(cat err.txt)"
    grep -qF -- "$part" err.txt || fail "artel $*: no '$part' in: $(cat err.txt)"
}
"$ARTEL" convert "$ARTEL_SOURCE/examples/fashion-mnist/cnn.json" model.keras 2>/dev/null

for pair in train:fit test:evaluate eval:evaluate info:inspect infer:predict stop:drain; do
    says 1 "the word for it is ${pair#*:}" "${pair%:*}" model.keras
done
says 1 'the nearest is fit' trian model.keras
says 1 'the nearest is summary' summry model.keras
says 1 'the word for it is --learning-rate' fit model.keras --lr 0.1
says 1 'the word for it is --log-dir' fit model.keras --tensorboard logs
says 1 'gpu' fit model.keras --gpu
says 1 'the nearest is verify' cert verfy certs
says 1 'they are make, split, index, inspect, verify, stats, bench' data 12345 npz:a.npz
says 1 'an argument is missing; usage: artel data-service worker HOST:PORT' data-service worker
says 1 'one argument too many; usage: artel cert init DIR' cert init a b

# Other programs' options, as Python writes them, too; words where none is taken.
for pair in num-epochs:epochs mixed-precision:dtype amp:dtype num_gpus:device patience:callbacks save_freq:save-every restore:resume validation_data:validation \
    val_split:validation-split distributed:strategy random-seed:seed max-to-keep:keep num_threads:threads; do
    says 1 "--${pair%:*}: unknown option; the word for it is --${pair#*:}" fit model.keras "--${pair%:*}" 3
done
says 1 'at most eight axes, and 2147483647 values' new mlp --input 1000000x1000000 -o large.keras
says 1 'the word for it is --depth' new mlp --input 4 --layers 3
says 1 'the word for it is --head' inspect model.keras --rows 3
says 1 'the word for it is --json' evaluate model.keras --output result.json
says 1 'the file to write is the second word' convert model.keras --output out.h5
says 1 'the nearest is --no-shuffle' fit model.keras --no-shufle
says 1 '(--shuffle takes no value); write --no-shuffle' fit model.keras --shuffle false
says 1 '(--explain takes no value); leave the word out' fit model.keras --explain plan
says 1 '(a value of --digest stands behind =); write --digest=all' inspect model.keras --digest all
says 1 '(the value of --metrics is one word)' fit model.keras --data synthetic:8 --metrics accuracy precision
says 1 '(the value of -o is one word)' fit model.keras --epochs 3 -o out.keras extra
says 1 '(the value of -o is one word)' fit model.keras --epochs 3 -oout.keras extra
says 1 '(the value of --epochs is one word)' fit model.keras -o out.keras --epochs=3 extra
says 1 '(--no-shuffle takes no value); leave the word out, --no-shuffle alone says it' fit model.keras --no-shuffle extra
says 1 '(--no-shuffle takes no value); write --shuffle' fit model.keras --no-shuffle false
says 1 "(data is named by an option); write --data 'npz:a.npz'" evaluate model.keras npz:a.npz
says 1 'one argument too many; usage' summary model.keras other.keras
says 1 'options stand behind the subcommand' --data npz:a.npz fit model.keras
says 1 'this is a file, not a subcommand' model.keras
says 1 'give a file that ends in .svg' data stats synthetic:8 --output histograms.png
"$ARTEL" predict model.keras --data synthetic:3 -o letter.npy && [ -s letter.npy ] || fail "predict -o"
"$ARTEL" fit model.keras --data synthetic:8 --loss sparse_categorical_crossentropy --verbose 0 -o letter.keras && [ -s letter.keras ] || fail "fit -o"

# Sources: standard input, addresses, a name that is nearly right.
cp "$ARTEL_SOURCE/examples/fashion-mnist/cnn.json" train.npz
printf 'a,y\n1,2\n' >train.csv
says 1 'standard input cannot be read' fit - --data synthetic:8
says 1 'standard input cannot be read' fit model.keras --data npz:-
says 1 'only files' summary https://example.org/model.keras
says 1 'only files' inspect https://example.org/model.keras
says 1 'only files' fit model.keras --data gs://bucket/train.npz
says 1 'not written to' fit model.keras --data synthetic:8 --checkpoint-dir s3://bucket/run --loss sparse_categorical_crossentropy
says 1 'not written to' fit model.keras --data synthetic:8 --log-dir gs://bucket/logs --loss sparse_categorical_crossentropy
says 1 'not written to' predict model.keras --data synthetic:8 --output https://host/p.csv
says 1 'not written to' new mlp --input 3 --output s3://bucket/m.json
[ ! -e s3: ] && [ ! -e gs: ] || fail "folders of the names of addresses"
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n' >pointer
for file in pointer pointer.keras pointer.h5; do
    cp pointer "here-$file"
    says 1 'git lfs pull' summary "here-$file"
done
says 1 'git lfs pull' fit model.keras --data npz:pointer --loss sparse_categorical_crossentropy
says 1 'git lfs pull' fit model.keras --data csv:pointer#label=y --loss sparse_categorical_crossentropy
says 1 'git lfs pull' fit model.keras --data npy:pointer,pointer --loss sparse_categorical_crossentropy
says 1 'git lfs pull' fit model.keras --data idx:pointer,pointer --loss sparse_categorical_crossentropy
printf '<!DOCTYPE html><html><title>Sign in</title></html>' >page.keras
says 1 'a web page' summary page.keras
printf 'PAR1\025\004\025' >train.parquet
says 1 'files of parquet are not read' fit model.keras --data train.parquet
says 1 'files of parquet are not read' data stats train.parquet
says 1 'it is a Parquet file' fit model.keras --data csv:train.parquet --loss sparse_categorical_crossentropy
says 1 'it is a Parquet file' fit model.keras --data jsonl:train.parquet#label=y --loss sparse_categorical_crossentropy
says 1 'it is a Parquet file' fit model.keras --data tfrecord:train.parquet --loss sparse_categorical_crossentropy
for made in 'PK\003\004\024\000 zip a zip archive' 'Obj\001\004\024 avro an Avro file' '\200\005\225\001 pkl a pickle of Python' 'ORC\010\003 orc an ORC file'; do
    read -r bytes ending what <<<"$made"
    printf "$bytes" >"train.$ending"
    says 1 'are not read' fit model.keras --data "train.$ending"
    says 1 "it is $what" fit model.keras --data "csv:train.$ending#label=y" --loss sparse_categorical_crossentropy
done
says 1 'arrays in HDF5' fit model.keras --data here-pointer.h5
says 1 'npz:https://' fit model.keras --data s3://bucket/train.npz
says 1 "write --data 'npz:train.npz'" fit model.keras train.npz
says 1 "write --data 'npz:train.npz'" fit train.npz model.keras
says 1 'this looks like a model' data inspect model.keras
says 1 "settings of data stand behind #; write 'csv:train.csv#label=y'" fit model.keras --data csv:train.csv,label=y
says 1 "settings of data stand behind #; write 'csv:train.csv#label=y'" fit model.keras --data 'csv:train.csv?label=y'
says 1 'several with + in between' fit model.keras --data 'npz:part-*.npz'
printf '\211PNG\r\n\032\n....' >photo.png
says 1 'it is an image; images:FOLDER' fit photo.png --data synthetic:8
says 1 'it is an image; images:FOLDER' fit model.keras --data csv:photo.png#label=y --loss sparse_categorical_crossentropy
says 1 'it is an image; images:FOLDER' inspect photo.png
says 1 'nothing stands behind the format (expected synthetic:WHAT)' fit model.keras --data synthetic
says 1 'is --validation-split' fit model.keras --data synthetic:8 --validation 0.2
says 1 'from class numbers to weights; write {"0": 1' fit model.keras --data synthetic:8 --loss sparse_categorical_crossentropy --class-weight balanced
says 1 'which crossentropy "cross_entropy" means' fit model.keras --data synthetic:8 --loss cross_entropy
says 1 'which crossentropy "crossentropy" means' fit model.keras --data synthetic:8 --loss crossentropy
"$ARTEL" new mlp --input 4 --classes 1 -o one.keras 2>/dev/null
"$ARTEL" fit one.keras --data synthetic:8 --loss crossentropy --verbose 0 -o letter.keras || fail "a crossentropy of one output is binary"
mkdir checkpoints
says 1 'checkpoints of a run are named by --checkpoint-dir' fit checkpoints --data synthetic:8
says 1 'there is no port 99999' status localhost:99999
says 1 'this is a URL (expected host:port)' status http://localhost:8888
says 1 'did you mean npz:train.npz?' fit model.keras --data npz:trian.npz
says 1 'did you mean model.keras?' summary modle.keras

# Tables: a row a record, names where they are given, quoted where they must be.
"$ARTEL" predict model.keras --data synthetic:5 --output plain.csv 2>/dev/null
[ "$(wc -l <plain.csv)" = 6 ] && [ "$(head -n 1 plain.csv | tr ',' '\n' | wc -l)" = 10 ] || fail "plain.csv: $(cat plain.csv)"
printf 'shirt\ncoat, long\nthe "old" bag\nd\ne\nf\ng\nh\ni\nj\n' >names
"$ARTEL" predict model.keras --data synthetic:5 --output named.csv --labels @names 2>/dev/null
[ "$(head -n 1 named.csv)" = 'label,shirt,"coat, long","the ""old"" bag",d,e,f,g,h,i,j' ] || fail "named.csv: $(head -n 1 named.csv)"
[ "$(tail -n 5 plain.csv)" = "$(tail -n 5 named.csv | sed -E 's/^("[^"]*("")*[^"]*("")*[^"]*"|[^,]*),//')" ] || fail "rows differ: $(cat named.csv)"
tail -n 5 plain.csv | awk -F, '{ best = 1; for (i = 2; i <= NF; i++) if ($i > $best) best = i; print best }' >best
tail -n 5 named.csv | sed -E 's/^(coat|"coat).*/2/; s/^"the.*/3/; s/^shirt.*/1/' | sed -E 's/^([d-j]),.*/\1/' | tr 'd-j' '4-9t' | sed 's/t/10/' >told
cmp -s best told || fail "the likeliest classes: $(paste best told)"
says 1 'there are 2 names (the output has 10 classes)' predict model.keras --data synthetic:5 --output x.csv --labels a,b
says 1 'at least two' predict model.keras --data synthetic:5 --output x.csv --labels a
says 1 '.csv files only' predict model.keras --data synthetic:5 --output x.npy --labels a,b
[ ! -e x.csv ] || fail "a table of a failed prediction was left"

# A reader that has seen enough.
for _ in {1..50}; do "$ARTEL" help fit; done 2>err.txt | head -n 1 >/dev/null || true
grep -q 'closed before its end' err.txt && ! grep -q 'space' err.txt || fail "a closed pipe: $(cat err.txt)"

for _ in {1..5}; do "$ARTEL" fit model.keras --data synthetic:32 --json --loss sparse_categorical_crossentropy; done 2>err.txt | head -n 1 >/dev/null || true
grep -q 'has closed it before its end' err.txt && ! grep -qE 'space|disk' err.txt || fail "events into a closed pipe: $(cat err.txt)"
"$ARTEL" version >&- 2>err.txt && fail "nothing to write to"
grep -q 'is not open' err.txt || fail "no standard output: $(cat err.txt)"

# Terminals: the line fits, colours and characters only where they are wanted, help is broken between words.
command -v script >/dev/null || exit 0
on_terminal() { # COLUMNS COMMAND
    script -qec "stty cols $1; $2" /dev/null </dev/null | tr '\r' '\n'
}
export LC_ALL=C.UTF-8
esc=$(printf '\033')
for columns in 12 20 30 44 80; do
    on_terminal "$columns" "NO_COLOR=1 '$ARTEL' fit model.keras --data synthetic:400 --epochs 1 --loss sparse_categorical_crossentropy --metrics accuracy" |
        sed "s/$esc\[K//g" | awk -v most="$columns" '/\/13/ && !/^13\/13/ { gsub(/━/, "="); if (length($0) > most) { print; exit 1 } }' >wide.txt ||
        fail "a line of $columns columns and more: $(cat wide.txt)"
done
long=a_metric_whose_name_alone_is_longer_than_a_line_of_a_terminal_of_80_columns_and_more
printf '{"class_name":"Sequential","config":{"name":"s","layers":[{"class_name":"InputLayer","config":{"batch_shape":[null,4],"name":"i"}},{"class_name":"Dense","config":{"name":"d","units":2}}]},"compile_config":{"optimizer":"sgd","loss":"mse","metrics":[{"class_name":"MeanSquaredError","config":{"name":"%s"}}]}}' "$long" >long.json
for columns in 30 44 80; do
    on_terminal "$columns" "NO_COLOR=1 '$ARTEL' fit long.json --data synthetic:400 --epochs 1" | sed "s/$esc\[K//g" >said.txt
    awk -v most="$columns" '/\/13/ && !/^13\/13/ { gsub(/━/, "="); if (length($0) > most) { print; exit 1 } }' said.txt >wide.txt || fail "a line of $columns columns and more: $(cat wide.txt)"
    grep -q "^13/13 .*$long" said.txt || fail "the last line is not whole: $(cat said.txt)"
done
show="'$ARTEL' fit model.keras --data synthetic:64 --epochs 1 --loss sparse_categorical_crossentropy"
on_terminal 80 "$show" | grep -qF "$esc[1m" || fail "no colours"
on_terminal 80 "NO_COLOR=1 $show" | grep -qF "$esc[1m" && fail "colours although NO_COLOR is set"
on_terminal 80 "TERM=dumb $show" | grep -qF "$esc" && fail "control sequences on a terminal that knows none"
on_terminal 80 "LC_ALL=C $show" | grep -q '━' && fail "characters that the locale has not"
on_terminal 80 "LC_ALL=C $show" | grep -q '====' || fail "no bar in the C locale"
on_terminal 72 "'$ARTEL' help fit" | awk '/^examples/ { exit } length($0) > 72 { print; exit 1 }' ||
    fail "help is wider than the terminal"
[ "$("$ARTEL" help fit | grep -c -- '^  --batch-size N .* as in Keras (default 32)$')" = 1 ] || fail "help in a pipe has broken lines"
on_terminal 80 "'$ARTEL' evaluate model.keras --data synthetic:64 --loss sparse_categorical_crossentropy" | grep -qE '^loss [0-9]+\.[0-9]{4}$' ||
    fail "evaluate shows no four digits"
