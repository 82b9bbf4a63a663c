/* SPDX-License-Identifier: Apache-2.0 */
/* Names and exit codes of statuses.
 *
 * The command line promises: 0 success, 1 usage or bad input (whenever it is noticed), 2 the run itself failed, 130
 * cancelled, 143 preempted after saving. A library defect, a full disk and missing memory are failed runs: the same
 * command with the same input may work elsewhere.
 */
#include "artel/status.h"

#include <stddef.h>

static const struct {
    artel_status status;
    const char *name;
    int exit_code;
} table[] = {
    {ARTEL_OK, "ok", 0},
    {ARTEL_AGAIN, "again", 0},
    {ARTEL_ERROR_INVALID, "invalid", 1},
    {ARTEL_ERROR_NOT_FOUND, "not found", 1},
    {ARTEL_ERROR_CORRUPT, "corrupt", 1},
    {ARTEL_ERROR_UNSUPPORTED, "unsupported", 1},
    {ARTEL_ERROR_NO_MEMORY, "no memory", 2},
    {ARTEL_ERROR_IO, "input/output", 2},
    {ARTEL_ERROR_RUN, "run failed", 2},
    {ARTEL_ERROR_CANCELLED, "cancelled", 130},
    {ARTEL_ERROR_PREEMPTED, "preempted", 143},
    {ARTEL_ERROR_INTERNAL, "internal", 2},
};

const char *artel_status_name(artel_status status)
{
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (table[i].status == status) return table[i].name;
    return "unknown";
}

int artel_status_exit_code(artel_status status)
{
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (table[i].status == status) return table[i].exit_code;
    return status < 0 ? 2 : 0;
}
