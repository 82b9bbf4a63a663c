/* SPDX-License-Identifier: Apache-2.0 */
/* Functions on numbers that stand for strings (text_moves.c), made and run as any function: under a strategy of one
 * replica and one thread that belongs to the function's strategy. A table, for what it calls stands above those who ask
 * for it. */
#include "function/direct.h"
#include "function/texts.h"

static artel_status moves_of(artel_strategy *s, artel_strategy **out)
{
    artel_strategy_options o = ARTEL_STRATEGY_OPTIONS_INIT;
    o.strategy = "one-device";
    o.threads = 1;
    o.batch_size = s->options.batch_size;
    if (!s->moves) ARTEL_TRY(artel_strategy_create(s->ctx, &o, &s->moves));
    *out = s->moves;
    return ARTEL_OK;
}

typedef struct moving {
    const artel__text_step *step;
    int declared, made;
} moving;

static artel_status trace(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    moving *m = user;
    const artel__text_step *s = m->step;
    m->made = artel_graph_op_all(g, s->moved->name, in, s->inputs, s->attributes, out, m->declared);
    if (m->made < 0) return (artel_status)m->made;
    if (m->made > ARTEL__STRING_OPERANDS)
        return artel__fail(g->ctx, ARTEL_ERROR_UNSUPPORTED, s->moved->name, "take parts by \"slice\"",
                           "%d results, more than %d", m->made, ARTEL__STRING_OPERANDS);
    for (int i = m->made; i < m->declared; i++) out[i] = out[0];
    return artel_graph_status(g);
}

/* Once to learn how many results there are, and once for all of them. */
static artel_status make(artel_strategy *strategy, artel__text_step *s, int *results)
{
    artel_argument argument[ARTEL__STRING_OPERANDS];
    artel_function_options o = ARTEL_FUNCTION_OPTIONS_INIT;
    moving m = {.step = s};
    artel_strategy *moves;
    artel_function *made = NULL;
    ARTEL_TRY(moves_of(strategy, &moves));
    for (int i = 0; i < s->inputs; i++) {
        const artel__text_value *v = s->in[i];
        artel_dtype dtype = v->row.dtype == ARTEL_DTYPE_STRING ? ARTEL_DTYPE_INT32 : v->row.dtype;
        argument[i] = (artel_argument){.dtype = dtype, .shared = !v->rows, .shape = v->row.shape};
    }
    o.name = s->moved->name;
    o.arguments = argument;
    o.argument_count = s->inputs;
    o.output_count = m.declared = ARTEL__STRING_OPERANDS;
    ARTEL_TRY(artel_function_create(moves, &o, trace, &m, &made));
    artel__function_drop(made);
    o.output_count = m.declared = *results = m.made;
    return artel_function_create(moves, &o, trace, &m, &s->function);
}

const artel__text_mover artel__text_moving = {
    .make = make, .run = artel__function_execute, .drop = artel__function_drop};
