/* SPDX-License-Identifier: Apache-2.0 */
/* What a row of the progress display says of a task. */
#include "cli/health.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double SILENT_SECONDS = 1;

/* How much a task needs a look: one that is not heard above all, then by the share of time it works, for the others
 * wait for it. */
static double concern(const artel_cluster_task *t)
{
    if (!t->connected) return 4;
    if (t->silence > SILENT_SECONDS) return 3;
    return t->replicas == 0 ? 2 : t->busy;
}

static int by_concern(const void *a, const void *b)
{
    double x = concern(a), y = concern(b);
    if (x != y) return x > y ? -1 : 1;
    return strcmp(((const artel_cluster_task *)a)->name, ((const artel_cluster_task *)b)->name);
}

static void describe(const artel_cluster_task *t, double step_seconds, artel__text *out)
{
    if (!t->connected)
        artel__text_append(out, "not connected");
    else if (t->silence > SILENT_SECONDS)
        artel__text_printf(out, "silent for %.1f s, last in %s", t->silence, t->phase[0] ? t->phase : "no phase");
    else if (t->replicas == 0)
        artel__text_append(out, "joins");
    else {
        artel__text_printf(out, "%-8s", t->phase);
        if (t->busy >= 0) artel__text_printf(out, " works %3.0f%%", 100 * t->busy);
        if (t->busy >= 0 && step_seconds > 0)
            artel__text_printf(out, ", %.3g ms of a step", 1e3 * t->busy * step_seconds);
    }
}

void artel__health_rows(artel_cluster_task *tasks, int count, double step_seconds, artel__text *out)
{
    int shown = count > ARTEL__HEALTH_ROWS ? ARTEL__HEALTH_ROWS : count, width = 0;
    if (count > shown) qsort(tasks, (size_t)count, sizeof *tasks, by_concern);
    for (int i = 0; i < shown; i++) {
        int length = (int)strlen(tasks[i].name);
        width = length > width ? length : width;
    }
    for (int i = 0; i < shown; i++) {
        artel__text_printf(out, "  %-*s  ", width, tasks[i].name);
        describe(&tasks[i], step_seconds, out);
        artel__text_append(out, "\n");
    }
    if (count > shown) artel__text_printf(out, "  and %d more\n", count - shown);
}
