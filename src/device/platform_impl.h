/* SPDX-License-Identifier: Apache-2.0 */
/* What a platform holds, for the files of this room. */
#ifndef ARTEL_DEVICE_PLATFORM_IMPL_H
#define ARTEL_DEVICE_PLATFORM_IMPL_H

#include "device/device.h"
#include "device/pjrt.h"

struct artel__platform {
    artel_context *ctx;
    artel__arena arena; /* of the facts */
    artel__plugin plugin;
    artel__plugin_facts facts;
    const PJRT_Api *api;
    PJRT_Client *client;
    PJRT_Device *const *device; /* the client's own list */
    int devices;
    bool measures; /* the plug-in may choose kernels by measuring them when it compiles */
};

/* ARTEL_OK when there was no error; else records it, with `where` and what was tried, and releases it. */
artel_status artel__platform_check(artel__platform *platform, PJRT_Error *error, const char *where, const char *what);
/* Waits for an event and releases it. */
artel_status artel__platform_await(artel__platform *platform, PJRT_Event *event, const char *where, const char *what);

#endif
