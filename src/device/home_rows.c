/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of which this machine has the rows that a step reads, and no others (kernel/held_rows.h). On the device such a
 * table is whole, zeros at first; a program of one scatter puts these rows in their places, on the device, before the
 * step. So what is sent is rows, and no program of the step knows of it. Rows that no step reads any more stay what
 * they were, which nobody sees.
 */
#include <string.h>

#include "device/home.h"
#include "graph/hlo.h"

typedef struct artel__home_table {
    int32_t room;          /* rows that the program takes */
    artel__program *place; /* the platform's */
    float *row;            /* [room][width] */
    int32_t *token;        /* [room], in the same block; behind those that are held numbers that no row has */
} artel__home_table;

static artel__hlo_type type_of(const artel__variable *v)
{
    return (artel__hlo_type){.dtype = ARTEL_DTYPE_FLOAT32, .rank = 2, .dim = {v->shape.dim[0], v->shape.dim[1]}};
}

/* `h` has one result. */
static artel_status obtain(artel__device_home *home, const artel__variable *v, artel__hlo *h, artel__hlo_value result,
                           artel__program **out)
{
    artel__text text;
    artel__text_init(&text, home->ctx);
    artel_status status = artel__hlo_finish(h, &result, 1, &text);
    artel__program_source source = {.name = v->name, .text = text.data, .length = text.length};
    if (status == ARTEL_OK) status = artel__program_obtain(home->platform, &source, out);
    artel__text_fini(&text);
    artel__hlo_fini(h);
    return status;
}

static artel_status make_zeros(artel__device_home *home, const artel__variable *v, artel__buffer **out)
{
    artel__hlo h;
    artel__program *program;
    artel__hlo_type type = type_of(v);
    artel__hlo_init(&h, home->ctx);
    ARTEL_TRY(obtain(home, v, &h, artel__hlo_splat(&h, 0, &type), &program));
    return artel__program_launch(program, home->device, NULL, 0, out);
}

static artel_status make_program(artel__device_home *home, const artel__variable *v, int32_t room, artel__program **out)
{
    artel__hlo h;
    artel__hlo_type type = type_of(v), rows = type;
    const artel__hlo_type index = {.dtype = ARTEL_DTYPE_INT32, .rank = 1, .dim = {room}};
    rows.dim[0] = room;
    artel__hlo_init(&h, home->ctx);
    artel__hlo_value table = artel__hlo_argument(&h, &type, 0);
    artel__hlo_value at = artel__hlo_argument(&h, &index, -1);
    artel__hlo_value row = artel__hlo_argument(&h, &rows, -1);
    return obtain(home, v, &h, artel__hlo_scatter_rows(&h, table, at, row, false), out);
}

/* Twice the room of before, or more: few programs are ever made. */
static artel_status make_room(artel__device_home *home, artel__home_table *t, const artel__variable *v, int32_t room)
{
    void *block;
    size_t width = (size_t)v->shape.dim[1];
    if (t->room >= room) return ARTEL_OK;
    ARTEL_TRY(artel__alloc(home->ctx, (size_t)room * (width + 1) * sizeof(float), "rows of a table", &block));
    artel__free(home->ctx, t->row);
    *t = (artel__home_table){.room = room, .row = block};
    t->token = (int32_t *)(t->row + (size_t)room * width);
    memset(t->row, 0, (size_t)room * width * sizeof(float));
    return make_program(home, v, room, &t->place);
}

static void take_held(artel__home_table *t, const artel__variable *v, const artel__held_rows *held)
{
    size_t width = (size_t)v->shape.dim[1];
    for (int32_t i = 0; i < t->room; i++) t->token[i] = -1 - i; /* outside, and no two are equal */
    for (uint32_t i = 0; i <= held->mask; i++) {
        const artel__held_place *p = &held->place[i];
        if (p->token < 0) continue;
        t->token[p->at] = p->token;
        memcpy(t->row + (size_t)p->at * width, held->row + (size_t)p->at * width, width * sizeof(float));
    }
}

static artel_status scatter(artel__device_home *home, const artel__home_table *t, const artel__variable *v,
                            artel__buffer **table)
{
    artel__buffer *in[3] = {*table}, *made = NULL;
    const artel_shape index = {.rank = 1, .dim = {t->room}}, rows = {.rank = 2, .dim = {t->room, v->shape.dim[1]}};
    artel__platform *p = home->platform;
    artel_status status = artel__buffer_put(p, home->device, ARTEL_DTYPE_INT32, &index, t->token, &in[1]);
    if (status == ARTEL_OK) status = artel__buffer_put(p, home->device, ARTEL_DTYPE_FLOAT32, &rows, t->row, &in[2]);
    if (status == ARTEL_OK) status = artel__program_launch(t->place, home->device, in, 3, &made);
    artel__buffer_release(p, in[1]);
    artel__buffer_release(p, in[2]);
    ARTEL_TRY(status);
    artel__buffer_release(p, *table);
    *table = made;
    return ARTEL_OK;
}

static artel_status place(artel__device_home *home, const artel__variable *v, int i, const artel__held_rows *held)
{
    artel__home_table *t = &home->table[i];
    ARTEL_TRY(make_room(home, t, v, (int32_t)(held->mask / 2 + 1))); /* places are twice the rows, or more */
    take_held(t, v, held);
    if (!home->variable[i]) ARTEL_TRY(make_zeros(home, v, &home->variable[i]));
    return scatter(home, t, v, &home->variable[i]);
}

artel_status artel__device_home_place(artel__device_home *home, const artel__state *state, int variable,
                                      const artel__held_rows *held)
{
    void *block;
    if (!home->table) {
        ARTEL_TRY(artel__calloc(home->ctx, (size_t)home->count, sizeof *home->table, "rows of tables", &block));
        home->table = block;
    }
    artel_status status = place(home, &artel__state_variables(state)->item[variable], variable, held);
    if (status < 0) home->failed = status; /* what the table holds is not known */
    return status;
}

bool artel__device_home_places(const artel__device_home *home, int variable)
{
    return home->table && home->table[variable].row;
}

void artel__device_home_drop_table(artel__device_home *home, int variable)
{
    if (!artel__device_home_places(home, variable)) return;
    artel__free(home->ctx, home->table[variable].row);
    home->table[variable] = (artel__home_table){.room = 0};
}

void artel__device_home_drop_tables(artel__device_home *home)
{
    for (int i = 0; home->table && i < home->count; i++) artel__device_home_drop_table(home, i);
    artel__free(home->ctx, home->table);
    home->table = NULL;
}
