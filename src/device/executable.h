/* SPDX-License-Identifier: Apache-2.0 */
/* A sealed graph as programs of a device: cut at its collectives (graph/cut.h), a program for what is common to all replicas and one for
 * the rows of a shard in every stage, one for the APPLY phase, and one for each shape of a node of the tree over shards, which puts the
 * node's leaves together. The shard is the unit: whichever device computes it, it runs the same program.
 *
 * A program is written and compiled when it is first asked for; those of a full batch are when the executable is made. May be used by
 * several threads.
 */
#ifndef ARTEL_DEVICE_EXECUTABLE_H
#define ARTEL_DEVICE_EXECUTABLE_H

#include <pthread.h>

#include "device/device.h"
#include "exec/device.h"
#include "graph/cut.h"
#include "graph/lower.h"

/* Devices of a platform, as artel__device.self. */
typedef struct artel__place {
    artel__platform *platform;
    int first, count;      /* devices that behave alike */
    const char *precision; /* of products: as artel__hlo.precision */
    const char *kind;      /* of plug-in */
} artel__place;

typedef enum artel__step_part {
    ARTEL__PART_COMMON,
    ARTEL__PART_ROWS,
    ARTEL__PART_APPLY, /* of stage 0 */
    ARTEL__PART_COMBINE,
    ARTEL__PARTS
} artel__step_part;

typedef struct artel__step_program {
    int stage;
    artel__step_part part;
    int64_t rows, batch; /* of COMBINE: the shards of the node */
    bool scan;           /* it looks for what is not finite, too */
    artel__lowered lowered;
    artel__text text; /* until it is compiled */
    artel__program *program;
    struct artel__step_program *next, *beside; /* of all; of those of its stage and part */
} artel__step_program;

typedef struct artel__device_executable {
    artel_context *ctx;
    artel__arena arena;
    const artel__place *place;
    const artel__graph *graph;
    artel__plan_options options;
    artel__cut cut;
    artel__value_id *written; /* variables that APPLY writes, ascending */
    int writes;
    artel__value_id **spent; /* by stage: values that nobody reads behind it */
    int *spent_count;
    pthread_mutex_t lock;                  /* of what follows, and of the arena */
    artel__step_program *first, **of_part; /* by ARTEL__PARTS stage + part */
} artel__device_executable;

artel_status artel__device_executable_create(artel_context *ctx, const artel__place *place, const artel__graph *graph,
                                             const artel__plan_options *options, artel__device_executable **out);
void artel__device_executable_destroy(artel__device_executable *x);
/* The cut program; NULL for COMBINE. */
const artel__cut_program *artel__step_part_of(const artel__device_executable *x, int stage, artel__step_part part);
/* Compiled. NULL in *out: there is nothing to run. Errors: UNSUPPORTED, and those of artel__program_compile. */
artel_status artel__step_program_find(artel__device_executable *x, int stage, artel__step_part part, int64_t rows, int64_t batch, bool scan,
                                      const artel__step_program **out);

#endif
