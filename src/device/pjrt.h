/* SPDX-License-Identifier: Apache-2.0 */
/* The PJRT C interface, as far as this room uses it: opening a plug-in and its client, in the calling process.
 *
 * Sizes of structs are those of our header (0.90); a plug-in takes larger and smaller ones. What a plug-in's table does
 * not reach is not called. Wrong types of create options, and channel handles in programs, abort some plug-ins: what is
 * handed over here is right by construction.
 */
#ifndef ARTEL_DEVICE_PJRT_H
#define ARTEL_DEVICE_PJRT_H

#include <pjrt/pjrt_c_api.h>

#include "device/plugin.h"

enum {
    ARTEL__PJRT_OLDEST_MINOR = 57 /* fields were moved then */
};

/* Whether the plug-in's table reaches this function. */
#define ARTEL__PJRT_HAS(api, function) \
    (offsetof(PJRT_Api, function) + sizeof((api)->function) <= (api)->struct_size && (api)->function != NULL)

/* What went wrong, in the plug-in's words: "" when nothing did. `code` is one of PJRT_Error_Code. */
typedef struct artel__pjrt_error {
    int code;
    char text[512];
} artel__pjrt_error;

/* Takes the error and releases it; false when there was none. */
bool artel__pjrt_failed(const PJRT_Api *api, PJRT_Error *error, artel__pjrt_error *out);

/* What keeps the file of a library from being loaded here and the loader would not say: it is for another processor, or
 * cut off. NULL: nothing of the kind. */
const char *artel__library_fault(const char *path);

/* Loads the library and initialises it; the handle stays open for the life of the process, for plug-ins cannot be
 * unloaded. NULL: `out` says why. */
const PJRT_Api *artel__pjrt_load(const char *path, artel__pjrt_error *out);

/* A client of the plug-in's devices. `kind`: as in plugin.h; it decides which of the options are said. */
PJRT_Client *artel__pjrt_client(const PJRT_Api *api, const char *kind, const artel__client_options *options,
                                artel__pjrt_error *out);
void artel__pjrt_client_destroy(const PJRT_Api *api, PJRT_Client *client);

#endif
