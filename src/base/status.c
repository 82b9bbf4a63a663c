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
    const char *name;
    artel_status status;
    int exit_code;
} table[] = {
    {"ok", ARTEL_OK, 0},
    {"again", ARTEL_AGAIN, 0},
    {"invalid", ARTEL_ERROR_INVALID, 1},
    {"not found", ARTEL_ERROR_NOT_FOUND, 1},
    {"corrupt", ARTEL_ERROR_CORRUPT, 1},
    {"unsupported", ARTEL_ERROR_UNSUPPORTED, 1},
    {"no memory", ARTEL_ERROR_NO_MEMORY, 2},
    {"input/output", ARTEL_ERROR_IO, 2},
    {"run failed", ARTEL_ERROR_RUN, 2},
    {"cancelled", ARTEL_ERROR_CANCELLED, 130},
    {"preempted", ARTEL_ERROR_PREEMPTED, 143},
    {"internal", ARTEL_ERROR_INTERNAL, 2},
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
