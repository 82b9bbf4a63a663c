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

enum {
    ARTEL__LAUNCHES_FOR_ALL = 4
};

/* Launches for several devices that are under way, the next one's place first. With more of them XLA's CPU may stand
 * still: it lets 32 launches wait for a device, each next one on a thread of the pool that all devices have, and then
 * lacks one for the device that the others wait for in a sum. */
typedef struct artel__program_crowd {
    pthread_mutex_t lock; /* of what follows */
    PJRT_Event *done[ARTEL__LAUNCHES_FOR_ALL];
    int next;
} artel__program_crowd;

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
    artel__program_crowd crowd;
};

/* failure.c: records what a plug-in has said, with its meaning and what to do, and gives its status. */
artel_status artel__platform_failed(artel__platform *platform, const artel__pjrt_error *said, const char *where,
                                    const char *what);
/* ARTEL_OK when there was no error; else records it, with `where` and what was tried, and releases it. */
artel_status artel__platform_check(artel__platform *platform, PJRT_Error *error, const char *where, const char *what);
/* Waits for an event and releases it. */
artel_status artel__platform_await(artel__platform *platform, PJRT_Event *event, const char *where, const char *what);

/* program.c; whatever is under way is waited for. */
void artel__program_crowd_fini(artel__platform *platform);
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
