/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of what a server owns (book.c), and of its tables of which rows come alone (book_rows.c). */
#ifndef ARTEL_FUNCTION_BOOK_IMPL_H
#define ARTEL_FUNCTION_BOOK_IMPL_H

#include "function/closure.h"
#include "op/optimize.h"
#include "exec/deferred.h"

typedef struct artel__book_place {
    int variable, value, squares, norm;   /* of the book's set; -1: none */
    int token, number, rows, row_squares; /* of a table's rows, of the most of any function; -1: none */
    artel__deferred *deferred;            /* of rows whose rule changes others, too; NULL */
    artel__deferred_steps steps;          /* that these have been late for */
} artel__book_place;

typedef struct artel__ruler { /* an optimizer, for the variables that are here */
    const artel_optimizer *of;
    artel__optimizer rule;
    artel__optimizer_slots slots;
    int *trainable, *item; /* by piece here: of the book's set, its number among the optimizer's variables */
    int *piece;            /* which one it is of the strategy's */
    int count;
    int64_t iteration;
} artel__ruler;

typedef struct artel__applier { /* a function */
    artel__graph graph;
    artel__executable *plan;
    artel__execution *run;
    artel__ruler *ruler; /* NULL: no optimizer steps here */
} artel__applier;

struct artel__book {
    artel_strategy *strategy;
    artel__arena arena;
    artel__variables variables;
    artel__book_place *place; /* by piece of the strategy */
    artel__ruler *ruler;
    artel__applier *applier; /* by function */
    int rulers, functions, server;
    int kept; /* variables and slots; behind them are rooms */
    artel__state *state;
    artel__pool *pool;
    artel__fold_plan fold;
    int64_t start[2];
};

/* A variable of the book's set, behind the others. */
artel_status artel__book_add_room(artel__book *book, const char *name, artel_dtype dtype, const artel_shape *shape,
                                  int *out);
/* book_rows.c. Room for rows of an update, for all functions. */
artel_status artel__book_declare_rows(artel__book *book, const artel__update *update, const artel__owned_piece *piece);
/* Once there is memory: tables whose rule changes rows without a gradient. */
artel_status artel__book_defer(artel__book *book);
/* Around an update of a function: rows that it steps make the steps that they lack, and all others will be late by this
 * one; tables that it changes whole are level before, and begin anew after. ARTEL_ERROR_NO_MEMORY: nothing is done. */
artel_status artel__book_begin_rows(artel__book *book, const artel_function *function);
void artel__book_end_rows(artel__book *book, const artel_function *function, double rate);
/* All rows are as new as the part; or those of all pieces begin anew, whose values have been put there. */
void artel__book_level(artel__book *book, int piece);
void artel__book_anew(artel__book *book);

#endif
