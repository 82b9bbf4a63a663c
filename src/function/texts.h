/* SPDX-License-Identifier: Apache-2.0 */
/* Text in functions: values that are outside of the graph, and the steps that make them.
 *
 * Strings exist in no graph. A function that computes with them has a list of steps beside its graph: operations on
 * strings (text/words.h), movements of them (text/moved.h), choices, and programs of models and layers that take text
 * (nn/ahead.h). What depends on arguments, constants and variables of strings alone is computed of the caller's rows
 * before the replicas begin, on every task of all rows, so that all fail where one does; numbers that become of it are
 * inputs of the graph behind the arguments. What depends on what the graph has computed is `late`: computed of all rows
 * when all replicas are through, before anything is written; it goes to the caller and into variables of strings. Where
 * numbers of it go back into the graph, that is computed once more for each time that they do: what does not depend on
 * them has the same bits each time, and what does is right in the last one. `late` counts how often the graph is
 * computed before a value is known. */
#ifndef ARTEL_FUNCTION_TEXTS_H
#define ARTEL_FUNCTION_TEXTS_H

#include "function/function_impl.h"
#include "text/moved.h"
#include "text/words.h"

/* A value outside of the graph: strings, or numbers beside them. */
typedef struct artel__text_value {
    artel__cells row; /* of one row, or of all where it is shared; data: of the run, all rows */
    const char *name; /* of an argument, a layer, an operation */
    bool rows;
    int late;
    int argument;                   /* of the function, that it is; -1: none */
    int input;                      /* of the graph, that receives it; -1: none */
    int kept;                       /* of the graph's kept values, that it is a copy of; -1: none */
    artel_value place;              /* of the graph, until it is kept */
    const artel_variable *variable; /* of strings, that it is what it was before the run; NULL: none */
    const void *constant;           /* elements, in the graph's arena; NULL: none */
    void *block;                    /* elements that the function holds; NULL: somebody else does */
    size_t bytes;
    artel__text text; /* the bytes of strings in `block` */
    struct artel__text_value *next;
} artel__text_value;

typedef struct artel__text_step artel__text_step;
typedef artel_status artel__text_step_fn(artel_function *function, artel__text_step *step, int64_t rows);

struct artel__text_step {
    artel__text_step_fn *run;
    const char *name, *attributes; /* attributes: JSON, or NULL */
    artel__text_value **in, **out; /* of a program: by its input, by its value; NULL: not read, not given */
    int inputs, outputs;
    int late;
    artel__program_rows *program;
    size_t program_bytes;
    const artel__string_operation *operation;
    artel__string_settings settings; /* of `json` */
    json_t *json;
    const artel__moved *moved;
    artel_function *function; /* on numbers that stand for strings, under the strategy's `moves` */
    artel__text_step *next;
};

/* A variable of strings that a function writes. */
typedef struct artel__text_write {
    artel_variable *variable;
    artel__text_value *value;
    void *made, *before; /* made: of this run, not written yet; before: what outputs of the last run may lie in */
    struct artel__text_write *next;
} artel__text_write;

typedef struct artel__texts {
    int arguments; /* inputs of the graph that are the function's */
    artel__text_value *value, **value_end;
    artel__text_step *step, **step_end;
    artel__text_write *write;
    bool late;  /* some step or output is */
    int passes; /* how often the graph is computed for numbers that go back into it, before it is for good */
} artel__texts;

/* -- texts.c: while a function is traced. Failures mark the graph -- */

artel_status artel__texts_create(artel_graph *graph, int arguments);
artel__text_value *artel__text_value_new(artel_graph *graph, artel_dtype dtype, const artel_shape *row, bool rows,
                                         const char *name);
artel__text_step *artel__text_step_new(artel_graph *graph, artel__text_step_fn *run, const char *name, int inputs,
                                       int outputs);
/* A place for it. */
artel_value artel__text_give(artel_graph *graph, artel__text_value *value);
/* The value outside of the graph that a value of the graph is: an argument, a constant, what was fed; NULL: the graph
 * computes it. */
artel__text_value *artel__text_known(artel_graph *graph, artel__value_id id);
/* The same of any value; one that the graph computes becomes late. NULL after a failure. */
artel__text_value *artel__text_operand(artel_graph *graph, artel_value value);
/* Whether a value is strings. */
static inline bool artel__texts_is(const artel_graph *graph, artel_value value)
{
    bool is = graph->texts && value >= 0 && value < graph->places && graph->graph->status == ARTEL_OK;
    return is && graph->place[value].text && graph->place[value].text->row.dtype == ARTEL_DTYPE_STRING;
}
bool artel__texts_feed(artel_graph *graph, artel__place *place); /* of artel__graph_texts */
/* How late the last of them is. */
int artel__text_latest(artel__text_value *const *values, int count);
/* What a program of one function makes of a value; takes `held`, which its settings lie in. NULL after a failure. */
artel__text_value *artel__texts_program(artel_graph *graph, const artel__program *program, artel__text_value *in,
                                        const char *name, json_t *held);

/* text_mover.c: functions on numbers that stand for strings, under the strategy's `moves`: made of a step with its
 * operands, which learns how many results there are; run as artel__function_execute(); ended. */
typedef struct artel__text_mover {
    artel_status (*make)(artel_strategy *strategy, artel__text_step *step, int *results);
    artel_status (*run)(artel_function *function, const artel_array *in, const artel_array *out, int64_t rows);
    void (*drop)(artel_function *function);
} artel__text_mover;
extern const artel__text_mover artel__text_moving;

/* -- texts_run.c: sinks of steps -- */

typedef struct artel__text_sink {
    artel__string_sink sink;
    artel__text_value *value;
    void *wide; /* numbers of another type than the value's; converted at the end */
    artel_dtype dtype;
} artel__text_sink;

void artel__text_sink_begin(artel__text_sink *sink, artel__text_value *value);
artel_status artel__text_sink_end(artel__text_sink *sink, artel_context *ctx, artel_status status, int64_t count);
/* How many elements it has in a run of so many rows. */
int64_t artel__text_count(const artel__text_value *value, int64_t rows);

#endif
