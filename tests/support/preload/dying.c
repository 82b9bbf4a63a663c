/* SPDX-License-Identifier: Apache-2.0 */
/* For LD_PRELOAD: tasks of a program that is linked with libartel die (SIGKILL), each once, at their so manieth call of
 * artel_function_run, which is a step of a loop by hand: DYING=worker:1@4,worker:2@9 DYING_ONCE=NAME. The file
 * NAME.worker:1 is made first; where it is there already, the task lives on. DYING_SIGNAL=15: they are told to end
 * (SIGTERM) instead, and each further step of that task begins a fifth of a second later, so that it has heard of it
 * before the work is done. A process that ARTEL_TASK does not name is "alone". */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "artel/strategy.h"

typedef artel_status run_fn(artel_function *, const artel_array *, int, const artel_array *, int);

static void die_if_due(void)
{
    const struct timespec pause = {.tv_nsec = 200000000};
    static bool told;
    static long calls;
    const char *who = getenv("DYING"), *once = getenv("DYING_ONCE"), *task = getenv("ARTEL_TASK"),
               *signal = getenv("DYING_SIGNAL");
    char path[4096];
    calls++;
    if (told) nanosleep(&pause, NULL);
    if (!task) task = "alone";
    for (size_t length = strlen(task); who && once; who += *who == ',') {
        bool due = strncmp(who, task, length) == 0 && who[length] == '@' && atol(who + length + 1) == calls;
        snprintf(path, sizeof path, "%s.%s", once, task);
        if (due && open(path, O_CREAT | O_EXCL | O_WRONLY, 0600) >= 0) {
            kill(getpid(), signal ? atoi(signal) : SIGKILL);
            told = true;
        }
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
