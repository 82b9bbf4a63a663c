/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the recomputation pass: the model of a step that choices are tried on. Shared by recompute*.c only.
 *
 * An event is a node in the order of execution: forward, backward, apply. A buffer is what values share that are views
 * of one another; variables and fed inputs are outside. Buffers made before the first backward node are the ones of
 * interest.
 */
#ifndef ARTEL_GRAPH_RECOMPUTE_IMPL_H
#define ARTEL_GRAPH_RECOMPUTE_IMPL_H

#include "graph/op_exec.h"
#include "graph/recompute.h"

/* Lists of numbers, one for each of a row of things: those of i are item[start[i]] .. item[start[i + 1] - 1]. */
typedef struct artel__index_lists {
    int32_t *start, *item;
} artel__index_lists;

typedef struct artel__step_model {
    artel__arena arena; /* of the model, gone with it */
    artel__graph *graph;
    int64_t rows;
    int32_t events, turn, apply; /* the first backward event, the first apply event */
    int32_t *node;               /* by event */
    int32_t *busy, busy_events;  /* those that touch a buffer of the lists below */
    double *time;                /* by event: bytes that could be moved meanwhile */
    double total_time;
    int32_t buffers;
    int32_t *buffer;                  /* by value; -1: outside */
    int64_t *bytes;                   /* by buffer */
    int64_t fixed;                    /* bytes that are there in any case: variables */
    artel__value_id *value;           /* by buffer: the value that owns it */
    artel__retention *retention;      /* by buffer: DROPPED while it could be */
    artel__index_lists reads, writes; /* by event: buffers, without small ones */
    artel__index_lists makers;        /* by buffer: forward events that write it */
    struct artel__trial *trial;
} artel__step_model;

/* What a choice would cost. */
typedef struct artel__outcome {
    int64_t peak;   /* bytes alive at once */
    double swell;   /* sum over the events of (alive / alive at the worst moment without recomputation) ^ 32: a smooth
                       maximum */
    double extra;   /* share of the step's time */
    int32_t events; /* in all */
} artel__outcome;

/* `log` of a trial: events in order, those that run again as ~event. */
typedef struct artel__trial {
    int32_t *log;
    int32_t *first, *last; /* by buffer, then by buffer made again: positions in the log; first -1: never there */
    uint8_t *again;        /* by event: whether it runs again */
    bool *made;            /* by buffer */
    int32_t *stack;
    int64_t *change; /* bytes by position */
    int32_t count;
    double extra;
    int64_t base; /* peak without recomputation */
} artel__trial;

artel_status artel__step_model_init(artel__step_model *model, artel__graph *graph,
                                    const artel__recompute_options *options);
void artel__step_model_fini(artel__step_model *model);
/* Plays a step in which the buffers marked in `drop` are not kept for the backward pass: busy events alone, or all of
 * them, of which the trial's log stays. */
artel__outcome artel__step_model_try(artel__step_model *model, const bool *drop);
artel__outcome artel__step_model_log(artel__step_model *model, const bool *drop);
/* Fills `drop` (by buffer, cleared) with the best choice found within `extra_time`; recompute_choose.c. */
artel_status artel__recompute_choose(artel__step_model *model, double extra_time, bool *drop, artel__outcome *out);
/* Makes the graph do what was logged last, which was of `drop`. Values are added, none are removed. */
artel_status artel__recompute_rewrite(artel__step_model *model, const bool *drop);

#endif
