/* SPDX-License-Identifier: Apache-2.0 */
/* What a traced function has asked for, call by call: the form in which functions are saved.
 *
 * A tape holds the calls of artel/graph.h with their arguments, and not the nodes that they became: replaying it
 * (replay.c) goes through the same checks as a program does, and what operations are made of may change from version to
 * version. Values are known by their places in the graph that was traced. What callbacks of control flow ask for lies
 * between ENTER (the inputs they got) and LEAVE (their outputs). */
#ifndef ARTEL_FUNCTION_TAPE_H
#define ARTEL_FUNCTION_TAPE_H

#include "function/function_impl.h"

typedef enum artel__tape_kind {
    ARTEL__TAPE_OP,
    ARTEL__TAPE_CONSTANT,
    ARTEL__TAPE_NUMBER, /* that is no float32 number */
    ARTEL__TAPE_VARIABLE,
    ARTEL__TAPE_WORDS, /* a variable of strings */
    ARTEL__TAPE_CALL,
    ARTEL__TAPE_MASK,
    ARTEL__TAPE_MODEL_LOSSES,
    ARTEL__TAPE_LOSS,
    ARTEL__TAPE_METRIC,
    ARTEL__TAPE_DROPOUT,
    ARTEL__TAPE_UNIFORM,
    ARTEL__TAPE_NORMAL,
    ARTEL__TAPE_REDUCE,
    ARTEL__TAPE_GATHER,
    ARTEL__TAPE_GRADIENTS,
    ARTEL__TAPE_ASSIGN,
    ARTEL__TAPE_ASSIGN_WORDS,
    ARTEL__TAPE_APPLY,
    ARTEL__TAPE_SCALE_LOSS,
    ARTEL__TAPE_CUSTOM,
    ARTEL__TAPE_CHOOSE,
    ARTEL__TAPE_LOOP,
    ARTEL__TAPE_SCAN,
    ARTEL__TAPE_ENTER,
    ARTEL__TAPE_LEAVE,
    ARTEL__TAPE_KINDS
} artel__tape_kind;

typedef struct artel__tape_entry {
    artel__tape_kind kind;
    const char *name;     /* of an operation, a loss, a metric (or its record) */
    const char *settings; /* of an operation, as they were given; NULL: none */
    int which;  /* the number of a variable, a model, an optimizer; a reduction; rounds of a loop; axis of a scan */
    int states; /* of a scan */
    artel_dtype dtype;    /* of a constant */
    artel_shape shape;    /* of a constant, of random numbers, of a metric's predictions */
    const void *elements; /* of a constant; in the graph's arena */
    double number[2];     /* a rate, bounds, a deviation */
    bool flag;            /* shared random numbers; a scan in reverse */
    int inputs, outputs;
    const artel_value *input, *output; /* places; ARTEL_NO_VALUE: none */
    struct artel__tape_entry *next;
} artel__tape_entry;

typedef struct artel__tape {
    artel__tape_entry *first, *last;
    int places; /* that the graph has given */
} artel__tape;

/* Adds a copy of what `call` says (texts, too) with its inputs; NULL when nothing is recorded (parts of models) or
 * memory is out, with which the graph is marked. Before the call is made: it may write its outputs over its inputs. */
artel__tape_entry *artel__tape_begin(artel_graph *graph, const artel__tape_entry *call, const artel_value *inputs,
                                     int count);
/* The outputs of the call; does nothing for NULL, or when the graph has failed. */
void artel__tape_end(artel_graph *graph, artel__tape_entry *entry, const artel_value *outputs, int count);
/* The same of one output, which it returns. */
artel_value artel__tape_gave(artel_graph *graph, artel__tape_entry *entry, artel_value value);

#endif
