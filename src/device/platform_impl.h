/* SPDX-License-Identifier: Apache-2.0 */
/* What a platform holds, for the files of this room. */
#ifndef ARTEL_DEVICE_PLATFORM_IMPL_H
#define ARTEL_DEVICE_PLATFORM_IMPL_H

#include <pthread.h>

#include "device/device.h"
#include "device/pjrt.h"

struct artel__program {
    artel__platform *platform;
    const char *name; /* in this block */
    PJRT_LoadedExecutable *loaded;
    PJRT_Executable *executable;
    int results;
    const int *device; /* by replica, in this block; NULL: one replica, wherever it is launched */
    int replicas;
    int *place; /* by device in the plug-in's order: its replica */
    /* Of programs that the platform keeps (obtain.c). */
    uint8_t key[ARTEL__PROGRAM_KEY], hash[ARTEL__PROGRAM_KEY]; /* what it is made of; of its bytes */
    artel__text bytes;                                         /* empty unless others may ask for them */
    struct artel__program *next;
};

/* Programs that were made or found, each key once. */
typedef struct artel__program_keep {
    pthread_mutex_t lock; /* of what follows */
    artel__program *first;
    artel__program_folder run, cache; /* beside the checkpoint; of the user */
    artel_context *files;
    uint8_t plugin[ARTEL__PROGRAM_KEY]; /* what the plug-in is */
    bool lost;                          /* it was told that programs cannot be stored or loaded */
    artel__program_counts counts;
} artel__program_keep;

struct artel__platform {
    artel_context *ctx;
    artel__arena arena; /* of the facts */
    artel__plugin plugin;
    artel__plugin_facts facts;
    const PJRT_Api *api;
    PJRT_Client *client;
    PJRT_Device *const *device; /* the client's own list */
    int devices;
    PJRT_TopologyDescription *target; /* programs are compiled for it, and launched nowhere; NULL: there are devices */
    bool
        measures; /* the plug-in may choose kernels by measuring them when it compiles, and they are kept for the run */
    bool fast;    /* the fast class */
    bool unordered; /* it also may take kernels whose sums have no order of their own */
    artel__program_keep keep;
};

/* failure.c: records what a plug-in has said, with its meaning and what to do, and gives its status. */
artel_status artel__platform_failed(artel__platform *platform, const artel__pjrt_error *said, const char *where,
                                    const char *what);
/* ARTEL_OK when there was no error; else records it, with `where` and what was tried, and releases it. */
artel_status artel__platform_check(artel__platform *platform, PJRT_Error *error, const char *where, const char *what);
/* Waits for an event and releases it. */
artel_status artel__platform_await(artel__platform *platform, PJRT_Event *event, const char *where, const char *what);

/* target.c */
void artel__platform_close_target(artel__platform *platform);
/* Compiles for it: only an executable. */
PJRT_Error *artel__target_compile(artel__platform *platform, const PJRT_Program *program, const artel__text *options,
                                  PJRT_Executable **out);

/* Options of compiling, as bytes; `dropped`: bit i leaves out the i-th flag of program.c. */
void artel__program_options(const artel__platform *platform, const artel__program_source *source, unsigned dropped,
                            artel__text *out);
/* A program of an executable that the plug-in has loaded; takes it. */
artel_status artel__program_adopt(artel__platform *platform, const artel__program_source *source,
                                  PJRT_LoadedExecutable *loaded, artel__program **out);
/* obtain.c: folders are opened; everything that is kept goes. */
artel_status artel__program_keep_init(artel__platform *platform);
void artel__program_keep_fini(artel__platform *platform);

#endif
