/* SPDX-License-Identifier: Apache-2.0 */
/* Transports between hosts, by name. */
#include "net/far.h"

#include <string.h>

#include "base/advice.h"
#include "base/extension.h"

#define TRANSPORT(name) extern const artel__far_transport artel__far_##name;
#include "net/transports.list"
#undef TRANSPORT

const artel__far_transport *const artel__far_transports[] = {
#define TRANSPORT(name) &artel__far_##name,
#include "net/transports.list"
#undef TRANSPORT
    NULL,
};

enum {
    MOST_NAMES = 32
};

static artel_status unknown(artel_context *ctx, const char *name)
{
    const char *names[MOST_NAMES + 1] = {NULL};
    char advice[128];
    for (int i = 0; artel__far_transports[i] && i < MOST_NAMES; i++) names[i] = artel__far_transports[i]->name;
    artel__advise_name(name, names, advice, sizeof advice);
    return artel__fail(ctx, ARTEL_ERROR_INVALID, "transport", advice, "there is no transport named \"%.60s\"", name);
}

artel_status artel__far_find(artel_context *ctx, const char *name, const artel__far_transport **out)
{
    const artel__far_transport *const *at = artel__far_transports;
    while (name && *at && strcmp((*at)->name, name) != 0) at++;
    const artel__far_transport *found = *at ? *at : artel__extension_find(ctx, ARTEL__FAR_EXTENSION, name);
    if (!found) return unknown(ctx, name);
    *out = found;
    return ARTEL_OK;
}
