/* SPDX-License-Identifier: Apache-2.0 */
/* The environment of a TPU host. */
#include "device/tpu.h"

#include <stdlib.h>
#include <string.h>

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] ? value : NULL;
}

static void add(artel__text *out, const char *before, const char *value)
{
    if (value) artel__text_printf(out, "%s%s%.200s", out->length ? ", " : "", before, value);
}

static int count_hosts(const char *names)
{
    int count = names != NULL;
    for (; names && *names; names++) count += *names == ',';
    return count;
}

artel_status artel__tpu_topology(artel_context *ctx, artel__text *out, int *hosts)
{
    const char *which = variable("TPU_WORKER_ID") ? "TPU_WORKER_ID" : "CLOUD_TPU_TASK_ID";
    const char *number = variable(which), *names = variable("TPU_WORKER_HOSTNAMES");
    int64_t host = 0;
    *hosts = count_hosts(names);
    if (number && (!artel__parse_int64(number, &host) || host < 0 || (*hosts && host >= *hosts)))
        return artel__fail(ctx, ARTEL_ERROR_INVALID, which, "correct it, or unset it where this is no TPU host",
                           "\"%.40s\" is not the number of one of %d host%s", number, *hosts, *hosts == 1 ? "" : "s");
    add(out, "", variable("TPU_NAME"));
    add(out, "", variable("TPU_ACCELERATOR_TYPE"));
    add(out, "topology ", variable("TPU_TOPOLOGY"));
    if (number) artel__text_printf(out, "%shost %lld", out->length ? ", " : "", (long long)host);
    if (*hosts)
        artel__text_printf(out, "%sof %d (%.400s)", number ? " " : out->length ? ", one " : "one ", *hosts, names);
    return artel__text_status(out);
}
