/* SPDX-License-Identifier: Apache-2.0 */
/* A sealed graph as programs of a device: cut at its collectives (graph/cut.h), a program for what is common to all
 * replicas and one for the rows of a shard in every stage, one for the APPLY phase, and one for each shape of a node of
 * the tree over shards, which puts the node's leaves together. The shard is the unit: whichever device computes it, it
 * runs the same program.
 *
 * Where launches would cost more than what they launch, all of a replica's shards and the sums over them are one
 * program for a stage (group.c): every shard is a computation of its own in it, apart from the others by barriers.
 *
 * A program is written and compiled when it is first asked for; those of a full batch are when the executable is made.
 * May be used by several threads.
 */
#ifndef ARTEL_DEVICE_EXECUTABLE_H
#define ARTEL_DEVICE_EXECUTABLE_H

#include <pthread.h>

#include "device/device.h"
#include "exec/device.h"
#include "graph/cut.h"
#include "graph/lower.h"

/* Devices of a platform, as artel__device.self. */
/* What is launched at once. */
typedef enum artel__launches {
    ARTEL__LAUNCHES_AUTO, /* by what a shard costs */
    ARTEL__LAUNCHES_SHARD,
    ARTEL__LAUNCHES_REPLICA
} artel__launches;

typedef struct artel__device_place {
    artel__platform *platform;
    const int *device; /* that behave alike */
    int count;
    int cores;             /* replicas of this process that are on processors instead */
    const char *precision; /* of products: as artel__hlo.precision */
    bool narrow;           /* their operands are rounded to bfloat16 */
    const char *kind;      /* of plug-in */
    artel__launches launches;
    bool fast; /* bits depend on how many replicas there are */
    int sums;  /* so many replicas, on the first of these devices, one each, have their sums made by the plug-in; 0: by
                  artel (joint.c) */
} artel__device_place;

typedef enum artel__step_part {
    ARTEL__PART_COMMON,
    ARTEL__PART_ROWS,
    ARTEL__PART_APPLY, /* of stage 0 */
    ARTEL__PART_COMBINE,
    ARTEL__PART_GROUP, /* common, the rows of all shards that a replica owns, and its sums over them */
    ARTEL__PART_STEP,  /* of a graph that is joined: rows and apply */
    ARTEL__PART_JOINT, /* the plug-in's all-reduce of what the replicas of this process have, on all their devices */
    ARTEL__PART_ALL,   /* the step of all of them, if they have as many rows: stages, all-reduces, apply (all.c) */
    ARTEL__PARTS
} artel__step_part;

enum {
    ARTEL__OF_ALL = -1,  /* one for all shards */
    ARTEL__OF_ROWS = -2, /* the rows of all owned shards in one array */
    ARTEL__OF_NODE = -3  /* -3 - n: of the n-th node of the fold; the value is what the collective makes */
};

/* A value as an argument or a result of a group; `shard`: among the owned ones, or one of these. */
typedef struct artel__group_value {
    artel__value_id id;
    int32_t shard;
} artel__group_value;

typedef struct artel__step_group {
    artel__group_value *in, *out; /* in order; behind them words, and faults */
    int ins, outs;
    artel__lowered common, rows[2]; /* of the two numbers of rows that shards have */
    uint8_t *form;                  /* by shard: which of these */
    int scalars, faults;
} artel__step_group;

/* A part of the step of all replicas. */
typedef struct artel__step_piece {
    const artel__cut_program *cut;
    artel__lowered lowered;
    int stage;
    artel__step_part part;
} artel__step_piece;

typedef struct artel__step_all {
    artel__step_piece *piece; /* in order */
    int pieces;
    artel__value_id *in, *out; /* in order; behind `in` words, behind `out` what is written, and faults */
    int ins, outs, scalars;
} artel__step_all;

typedef struct artel__step_program {
    int stage;
    artel__step_part part;
    int64_t rows, batch;  /* of COMBINE: the shards of the node */
    int32_t first, count; /* of GROUP: owned shards */
    artel__step_group *group;
    artel__step_all *all;
    bool inside; /* a function of another program: it gives its arguments' memory to nothing */
    bool scan;   /* it looks for what is not finite, too */
    artel__lowered lowered;
    artel__text text;                          /* until it is compiled */
    uint8_t key[ARTEL__PROGRAM_KEY];           /* unless it is refused */
    artel__program *program;                   /* the platform's */
    struct artel__step_program *next, *beside; /* of all; of those of its stage and part */
} artel__step_program;

enum {
    ARTEL__MAX_JOINT = 64 /* devices that a list names */
};

/* A launch of the step of all replicas. */
typedef struct artel__joint_step {
    artel__buffer *const *in[ARTEL__MAX_JOINT]; /* by replica: arguments, which stay its own; NULL: it has left none */
    artel__buffer **out[ARTEL__MAX_JOINT];      /* what was made; NULL: none */
    const artel__step_program *program;         /* that has made it; NULL: none has */
} artel__joint_step;

/* Where the replicas of a process leave blocks for an all-reduce of the plug-in, and find its results: what one has
 * left is nobody's until it is launched, so a replica that gives up a step takes nothing away from a launch. The
 * arguments of a whole step are taken back by the replica before it lets go of them. */
typedef struct artel__joint {
    pthread_mutex_t lock;                       /* of what follows */
    artel__buffer **block[2][ARTEL__MAX_JOINT]; /* left, made; by replica and fold of the stage; NULL: none */
    artel__joint_step step[2];                  /* the one that is computed, the one behind it */
    int members, most, results;                 /* replicas; folds of a stage; of a whole step */
} artel__joint;

typedef struct artel__device_executable {
    artel_context *ctx;
    artel__arena arena;
    const artel__device_place *place;
    const artel__graph *graph;
    artel__plan_options options;
    artel__cut cut;
    bool joined;              /* the graph is not cut: one replica has the batch as one shard, and the class is fast */
    artel__joint *joint;      /* NULL: sums are artel's */
    bool all;                 /* with `joint`: where replicas have as many rows their step is one program */
    artel__value_id *written; /* variables that APPLY writes, ascending */
    int writes;
    artel__value_id **spent; /* by stage: values that nobody reads behind it */
    int *spent_count;
    int32_t *last;        /* by value: the stage that reads it last; stages: APPLY, or it is kept; -1: none */
    bool *grouped;        /* by stage: in groups, if the batch has a row for each shard */
    bool *whole;          /* by value: fed, and handed to groups as one array */
    int ahead;            /* batches that have room on the device beside the one that is computed with */
    pthread_mutex_t lock; /* of what follows, and of the arena */
    artel__step_program *first, **of_part; /* by ARTEL__PARTS stage + part */
} artel__device_executable;

artel_status artel__device_executable_create(artel_context *ctx, const artel__device_place *place,
                                             const artel__graph *graph, const artel__plan_options *options,
                                             artel__device_executable **out);
void artel__device_executable_destroy(artel__device_executable *x);
/* Writes what any replica needs for a batch of `batch` rows, in an order that is the same everywhere; sums of blocks
 * are left out, for nothing is measured in them. `out` has room for artel__step_programs_most(). Holds the lock. */
int artel__step_programs_most(const artel__device_executable *x);
artel_status artel__step_programs_list(artel__device_executable *x, int64_t batch, bool scan, artel__step_program **out,
                                       int *count);
/* Compiles those that are not, side by side. */
artel_status artel__step_programs_compile(artel__device_executable *x, artel__step_program *const *list, int count);
/* SHA-256 over what a full batch needs, as hex digits; false: kernels are not measured, or some are not here yet. */
bool artel__step_programs_hash(artel__device_executable *x, char out[65]);
/* The name of a program in messages. */
void artel__step_program_name(const artel__device_executable *x, const artel__step_program *p, char *out, size_t size);
/* One line: how many programs there are, and what a step needs. */
void artel__step_summary(const artel__device_executable *x, artel__text *out);
/* A line for each program that is compiled, with its memory, and one for a step. */
void artel__step_programs_dump(const artel__device_executable *x, artel__text *out);
/* Whether programs come from one process with the first step. */
bool artel__step_programs_are_shared(const artel__device_executable *x);
/* What a replica's step needs of a device, in bytes (memory.c). */
typedef struct artel__step_memory {
    bool known;                          /* the plug-in gives figures */
    int64_t variables, values, programs; /* values between programs; results and scratch of a program */
    int64_t most;                        /* all of that */
    int64_t batch;                       /* the inputs of a step that is sent ahead: not in it */
} artel__step_memory;
void artel__step_memory_read(const artel__device_executable *x, artel__step_memory *out);
/* Whether the device has what a step needs, as far as it is known. */
bool artel__step_memory_suffices(const artel__device_executable *x);
/* How many batches can be sent ahead. Errors: NO_MEMORY (a step needs more than the device has). */
artel_status artel__step_memory_check(artel__device_executable *x);
/* The tree over leaves; of a count that is no power of two, the largest one below it stands on the left. */
artel__hlo_value artel__step_merge(artel__hlo *h, artel__collective kind, const artel__hlo_value *leaf, int count);
/* What replicas have, in a program that all of them run. */
artel__hlo_value artel__step_join_blocks(artel__hlo *h, artel__collective kind, artel__hlo_value own);
/* merge.c: writes COMBINE and JOINT. Arguments: by collective of the stage, gathers left out, the leaves, or the
 * replica's block; results: by collective the node, or the sum. No text: the stage has nothing but gathers. */
artel_status artel__step_combine_write(artel__device_executable *x, const artel__step_program *p, artel__text *text);
artel_status artel__step_joint_write(artel__device_executable *x, const artel__step_program *p, artel__text *text);
/* all.c: whether a batch of so many rows is one launch for all replicas; writes ALL. */
bool artel__step_all_takes(const artel__device_executable *x, int64_t batch);
artel_status artel__step_all_write(artel__device_executable *x, artel__step_program *p, artel__text *text);
/* joint.c: x->joint and x->all, where the place and the options have sums made by the plug-in. */
artel_status artel__step_joint_create(artel__device_executable *x);
void artel__step_joint_destroy(artel__device_executable *x);
/* Whether a stage is launched as a group for these shards. */
bool artel__step_is_grouped(const artel__device_executable *x, int stage, const artel__fold_plan *fold, bool scan);
/* Row in the global batch at which the rows begin that the i-th fault of a group, of ALL counts from. */
int64_t artel__step_group_row(const artel__step_program *p, const artel__step *step, int fault);
int64_t artel__step_all_row(const artel__step_program *p, const artel__step *step, int fault);
/* The group of a stage; NULL in *out: there is nothing to run. Errors as below. */
artel_status artel__step_group_find(artel__device_executable *x, int stage, const artel__fold_plan *fold,
                                    const artel__step_program **out);
/* group.c: decides about stages; writes a group. */
artel_status artel__step_group_decide(artel__device_executable *x);
artel_status artel__step_group_write(artel__device_executable *x, artel__step_program *p, artel__text *text);
/* One of its parts for `rows` rows. */
artel_status artel__step_part_write(artel__device_executable *x, int stage, artel__step_part part, int64_t rows,
                                    int64_t batch, artel__text *text, artel__lowered *out);
/* The cut program; NULL for COMBINE. */
const artel__cut_program *artel__step_part_of(const artel__device_executable *x, int stage, artel__step_part part);
/* Compiled. NULL in *out: there is nothing to run. Errors: UNSUPPORTED, and those of artel__program_compile. */
artel_status artel__step_program_find(artel__device_executable *x, int stage, artel__step_part part, int64_t rows,
                                      int64_t batch, bool scan, const artel__step_program **out);

#endif
