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
