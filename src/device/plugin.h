/* SPDX-License-Identifier: Apache-2.0 */
/* PJRT plug-ins: libraries that drive GPUs and TPUs, and where they are.
 *
 * A plug-in is found by its name, without being opened: the file that was named, $ARTEL_PJRT_PLUGIN, $TPU_LIBRARY_PATH,
 * then the user's folder, the virtual environment, and the places where Python keeps packages. Opening is another
 * matter: a plug-in may abort the process, and takes a card's memory, so first contact happens in a child
 * (artel__plugin_ask).
 */
#ifndef ARTEL_DEVICE_PLUGIN_H
#define ARTEL_DEVICE_PLUGIN_H

#include "base/arena.h"

typedef struct artel__plugin {
    const char *kind; /* "cuda", "rocm", "tpu", "oneapi", "cpu", "?": from its name */
    const char *path;
} artel__plugin;

typedef struct artel__plugin_list {
    artel__plugin *item; /* in the arena, in the order in which they are preferred */
    int count, capacity;
    const char *looked; /* the places, for messages */
} artel__plugin_list;

/* What --device calls devices of this kind: "cpu:xla" those of a plug-in for the CPU, for "cpu" are the cores. */
const char *artel__device_word(const char *kind);
/* Whether XLA's own plug-ins for graphics cards are of this kind: they share options, libraries and faults. */
bool artel__device_is_card(const char *kind);
/* What to install where no plug-in of the kind ("gpu": any card's) was found. */
const char *artel__plugin_source(const char *kind);
/* Refuses numbers in the environment that are none (docs/limits.md). Errors, `where` the variable: INVALID. */
artel_status artel__device_settings_check(artel_context *ctx);
/* `named`: the file to take, and no other; NULL: search. Errors: NOT_FOUND (a file that was named is not there). None
 * found is no error. */
artel_status artel__plugins_find(artel__arena *arena, const char *named, artel__plugin_list *out);

/* auto.c: the kind of plug-in whose devices have files here ($ARTEL_DEVICE_FILES, else /dev) and which was found; "" in
 * *out: none, the cores compute; with `tell` a note says which plug-in a device lacks. `named` and errors: as above. */
artel_status artel__device_auto(artel_context *ctx, const char *named, bool tell, const char **out);

/* How a plug-in's client is made. */
typedef struct artel__client_options {
    int virtual_devices; /* how many XLA's CPU pretends to have; 0: its default */
    double memory;       /* the most of a card's memory that is taken, a fraction; 0: the plug-in's default */
    bool at_once;        /* that much when the client is made; else as it is needed */
} artel__client_options;

/* reserve.c: reads --device-memory for devices of that kind into `memory` and `at_once`; NULL: as it is needed. Errors,
 * `where` "device memory": INVALID (no such words), UNSUPPORTED (a plug-in that cannot be told). */
artel_status artel__device_memory_read(artel_context *ctx, const char *text, const char *kind,
                                       artel__client_options *out);

/* What a plug-in says of itself in a process of its own. */
typedef struct artel__device_facts {
    const char *id;   /* "cuda:0", as .device takes it */
    const char *name; /* "NVIDIA H100 80GB HBM3" */
    int64_t memory;   /* bytes; -1: it does not say */
} artel__device_facts;

typedef struct artel__plugin_facts {
    int major, minor;               /* of its interface */
    const char *platform, *version; /* "cuda", and in its own words */
    artel__device_facts *device;
    int devices;
} artel__plugin_facts;

/* Asks in a child, for ten seconds at most; no memory is taken at once there. Errors, `where` the plug-in's path:
 * UNSUPPORTED (no PJRT plug-in, another interface, a library that it lacks, no driver), RUN (it died, or says
 * nothing). */
artel_status artel__plugin_ask(artel__arena *arena, const artel__plugin *plugin, const artel__client_options *options,
                               artel__plugin_facts *out);

#endif
