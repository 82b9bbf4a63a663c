/* SPDX-License-Identifier: Apache-2.0 */
/* Small graphs of operations: gradients against finite differences, bits against other threads and instruction sets. */
#ifndef ARTEL_TESTS_SUPPORT_OP_BENCH_H
#define ARTEL_TESTS_SUPPORT_OP_BENCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "exec/cpu/plan_impl.h"

#define SHAPE(...) \
    ((artel_shape){.rank = (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), .dim = {__VA_ARGS__}})
#define SCALAR ((artel_shape){.rank = 0})

/* What inputs and variables hold. */
typedef enum op_numbers {
    OP_SIGNED,    /* 0.15 .. 0.95 with either sign: away from kinks at 0, 1 */
    OP_POSITIVE,  /* 0.2 .. 0.95 */
    OP_APART,     /* distinct, a tenth apart: for largest and smallest */
    OP_FAR_APART, /* two fifths apart */
    OP_SIMPLEX,   /* positive, the last axis sums to 1 */
    OP_INDICES,   /* int32 0 .. limit - 1 */
    OP_BITS       /* BOOL */
} op_numbers;

enum {
    OP_FED = 6
};

typedef struct op_fed {
    artel__value_id id;
    op_numbers numbers;
    int64_t limit;
    bool wanted;
} op_fed;

/* What a case builds into. */
typedef struct op_graph {
    artel_context *ctx;
    artel__arena arena;
    artel__variables variables;
    artel__graph graph;
    op_fed fed[OP_FED];
    int feds;
    op_numbers variable_numbers[16];
    int parameter; /* of the case */
    int64_t rows;  /* of the batch that will be computed */
} op_graph;

typedef artel__value_id op_build(op_graph *g);

artel__value_id op_row(op_graph *g, op_numbers numbers, artel_shape shape);
artel__value_id op_indices(op_graph *g, int64_t limit, artel_shape shape);
/* A variable; rows > 0: panels. */
artel__value_id op_weight(op_graph *g, op_numbers numbers, int64_t rows, artel_shape shape);

typedef struct op_case {
    const char *name;
    op_build *build;
    int parameter;
    bool bits_only; /* has no gradient, or none that a difference shows */
    bool kinks;     /* has one that jumps: it is computed, and not compared with a difference */
    bool training;
    double tolerance; /* 0: the usual */
    int order;        /* of the gradient; above 1: of half the sum of squares of those of the order before; 0: 1 */
    bool (*jumps)(int parameter); /* or NULL: parameters whose gradients jump, or are steep, within the differences:
                                     those of the second order are computed and not compared */
    bool (*flat)(int parameter);  /* or NULL: parameters whose gradient is 0 by definition, where differences show jumps
                                    or nothing */
} op_case;

/* A graph with its plan and run. */
typedef struct op_machine {
    op_graph g;
    int result, kept[24], keeps; /* gradients: feds, then variables; -1 where there is none */
    int order, below[24];        /* above 1: the gradients that kept[] are gradients of */
    int64_t result_count;        /* elements in a row, or in all */
    bool by_row;
    float *coefficient;
    artel__state *state;
    artel__pool *pool;
    artel__plan *plan;
    artel__run *run;
    artel__fold_plan fold;
    int64_t start[9];
    artel__step step;
    void *data[OP_FED];
} op_machine;

/* Of a case, for this many rows; ARTEL__ISA_COUNT: the best. */
void op_machine_open(op_machine *m, const op_case *c, int64_t rows, artel__isa isa, int threads);
void op_machine_close(op_machine *m);

/* The gradient of a weighted sum of the result by every float input and variable, in random directions, for several
 * batches. */
void op_check_gradients(const op_case *c);
/* Whether the gradient of c->order can be written; if not, `why` says what the graph said. */
bool op_can_differentiate(const op_case *c, char *why, size_t size);
/* Results, gradients and variables behind apply: the same bits with 1, 2, 5 threads and every instruction set of this
 * machine. */
void op_check_bits(const op_case *c);
/* Fails unless the cases so far contained every operation of ops.list, and differentiated every one that can be. */
void op_check_coverage(void);

#endif
