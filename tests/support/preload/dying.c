/* SPDX-License-Identifier: Apache-2.0 */
/* For LD_PRELOAD: tasks of a program that is linked with libartel die (SIGKILL), each once, at their so manieth call of
 * artel_function_run, which is a step of a loop by hand: DYING=worker:1@4,worker:2@9 DYING_ONCE=NAME. The file
 * NAME.worker:1 is made first; where it is there already, the task lives on. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "artel/strategy.h"

typedef artel_status run_fn(artel_function *, const artel_array *, int, const artel_array *, int);

static void die_if_due(void)
{
    static long calls;
    const char *who = getenv("DYING"), *once = getenv("DYING_ONCE"), *task = getenv("ARTEL_TASK");
    char path[4096];
    calls++;
    for (size_t length = task ? strlen(task) : 0; who && once && task; who += *who == ',') {
        bool due = strncmp(who, task, length) == 0 && who[length] == '@' && atol(who + length + 1) == calls;
        snprintf(path, sizeof path, "%s.%s", once, task);
        if (due && open(path, O_CREAT | O_EXCL | O_WRONLY, 0600) >= 0) kill(getpid(), SIGKILL);
        who += strcspn(who, ",");
        if (!*who) return;
    }
}

artel_status artel_function_run(artel_function *function, const artel_array *inputs, int input_count,
                                const artel_array *outputs, int output_count)
{
    static run_fn *next;
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, "artel_function_run");
    die_if_due();
    return next(function, inputs, input_count, outputs, output_count);
}
