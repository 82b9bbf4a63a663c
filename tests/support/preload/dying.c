/* SPDX-License-Identifier: Apache-2.0 */
/* For LD_PRELOAD: a task of a program that is linked with libartel dies (SIGKILL) at its so manieth call of
 * artel_function_run, which is a step of a loop by hand: DYING=worker:1 DYING_AT=4 DYING_ONCE=FILE. FILE is made first;
 * where it is there already, nobody dies. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "artel/strategy.h"

typedef artel_status run_fn(artel_function *, const artel_array *, int, const artel_array *, int);

static void die_if_due(void)
{
    static long calls;
    const char *who = getenv("DYING"), *at = getenv("DYING_AT"), *once = getenv("DYING_ONCE");
    const char *task = getenv("ARTEL_TASK");
    if (!who || !at || !once || !task || strcmp(who, task) != 0 || ++calls != atol(at)) return;
    if (open(once, O_CREAT | O_EXCL | O_WRONLY, 0600) >= 0) kill(getpid(), SIGKILL);
}

artel_status artel_function_run(artel_function *function, const artel_array *inputs, int input_count,
                                const artel_array *outputs, int output_count)
{
    static run_fn *next;
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, "artel_function_run");
    die_if_due();
    return next(function, inputs, input_count, outputs, output_count);
}
