#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# make install gives a tree that can be moved anywhere: the program runs, a stranger's program compiles with pkg-config,
# links and runs.
set -eu
cd "${ARTEL_SCRATCH:?run me with scripts/run-test}"
cmake --install "$ARTEL_BUILD" --prefix "$PWD/first" >log 2>&1 || { cat log; exit 1; }
mv first moved
moved/bin/artel version >version.txt
grep -q . version.txt
cat >user.c <<'C'
#include <stdio.h>
#include <artel/context.h>
int main(void)
{
    artel_context *ctx = NULL;
    artel_status status = artel_context_create(NULL, &ctx);
    printf("%s\n", artel_status_name(status));
    artel_context_destroy(ctx);
    return status == ARTEL_OK ? 0 : 1;
}
C
export PKG_CONFIG_PATH=$PWD/moved/lib/pkgconfig
gcc -std=c11 -Wall -Werror user.c -o user $(pkg-config --cflags --libs artel)
LD_LIBRARY_PATH=$PWD/moved/lib ./user

# The same by CMake, with the library and with the archive; a version that does not fit is refused.
mkdir project && cp user.c project
cat >project/CMakeLists.txt <<'C'
cmake_minimum_required(VERSION 3.25)
project(user C)
find_package(artel 0.1 REQUIRED)
add_executable(shared user.c)
target_link_libraries(shared PRIVATE artel::artel)
add_executable(archive user.c)
target_link_libraries(archive PRIVATE artel::static)
C
cmake -S project -B project/build -DCMAKE_PREFIX_PATH="$PWD/moved" >log 2>&1 && cmake --build project/build >>log 2>&1 || { cat log; exit 1; }
LD_LIBRARY_PATH=$PWD/moved/lib project/build/shared
project/build/archive
sed -i 's/artel 0.1/artel 7.0/' project/CMakeLists.txt
! cmake -S project -B project/refused -DCMAKE_PREFIX_PATH="$PWD/moved" >log 2>&1

# The library brings its name with its version, and what it opens later is found beside it, wherever the tree lies.
[ "$(readlink moved/lib/libartel.so)" = libartel.so.0.1 ]
moved/bin/artel cert init here >/dev/null # opens libartel-tls.so
rm moved/lib/artel/libartel-tls.so
! moved/bin/artel cert init there >log 2>&1
grep -q libartel-tls.so log

# A manual page for each subcommand, and completion that knows subcommands and options.
for command in $(moved/bin/artel help | sed -n 's/^  \([a-z-]\+\)  \+.*/\1/p'); do
    zcat "moved/share/man/man1/artel-$command.1.gz" >page.1
    grep -q '^\.SH SYNOPSIS' page.1
    for option in $(moved/bin/artel help "$command" --all | sed -n 's/^  \(-[a-z], \)\{0,1\}--\([a-z][a-z0-9-]*\).*/\2/p'); do
        grep -q "^\.B .*\\\\-\\\\-$(echo "$option" | sed 's/-/\\\\-/g')" page.1 || { echo "no --$option in artel-$command(1)"; exit 1; }
    done
done
grep -q 'artel\\-fit (1)' <(zcat moved/share/man/man1/artel.1.gz)
complete_words() {
    bash -c 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _artel; echo "${COMPREPLY[*]}"' \
        moved/share/bash-completion/completions/artel "$@"
}
[ "$(complete_words artel ev)" = evaluate ]
[ "$(complete_words artel fit --ep)" = --epochs ]
[ "$(complete_words artel fit --no-shuf)" = --no-shuffle ]
[ "$(complete_words artel help pre)" = predict ]
grep -q "'--epochs=\[" moved/share/zsh/site-functions/_artel
grep -q "__fish_seen_subcommand_from fit' -l epochs -r" moved/share/fish/vendor_completions.d/artel.fish
