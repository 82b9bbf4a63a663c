/* SPDX-License-Identifier: Apache-2.0 */
/* What the header promises. */
#include "function/help_closures.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <artel/build.h>

static void must(const closures *c, artel_status status, const char *what)
{
    if (status != ARTEL_OK) fail_msg("%s: %s", what, artel_context_error(c->ctx)->what);
}

void closures_open(closures *c, int servers, const char *cut)
{
    artel_strategy_options o = ARTEL_STRATEGY_OPTIONS_INIT;
    *c = (closures){.number = 0};
    o.strategy = "one-device";
    o.threads = 1;
    o.batch_size = 8;
    o.seed = 3;
    assert_int_equal(artel_context_create(NULL, &c->ctx), ARTEL_OK);
    must(c, artel_strategy_create(c->ctx, &o, &c->strategy), "strategy");
    c->strategy->servers = servers;
    c->strategy->copies = 1;
    if (!servers) return;
    must(c, artel__partition_read(c->ctx, cut, servers, &c->strategy->partition), cut);
    assert_int_equal(artel__fabric_create(c->ctx, 2, false, &c->fabric), ARTEL_OK);
    artel__lane lane = {.endpoint = artel__fabric_endpoint(c->fabric, 0), .peer = 1, .job = 9, .generation = 1};
    must(c, artel__chain_client_open(c->ctx, &c->client, &lane, 1), "a client");
}

void closures_begin(closures *c)
{
    must(c, artel__strategy_open(c->strategy), "open");
    for (int i = 0; i < c->strategy->servers; i++) must(c, artel__owned_create(c->strategy, i, &c->part[i]), "a part");
}

void closures_close(closures *c)
{
    for (int i = 0; i < c->strategy->servers; i++) artel__owned_destroy(c->part[i]);
    if (c->fabric) artel__chain_client_close(c->ctx, &c->client);
    artel__fabric_destroy(c->fabric);
    c->strategy->servers = 0; /* none of them is a task's */
    artel_strategy_destroy(c->strategy);
}

artel_model *closures_add_table(closures *c, int rows, int width, int tokens, artel_variable **table)
{
    artel_builder *b;
    artel_model *made = NULL;
    artel_variable *const *variable;
    int count = 0;
    must(c, artel_sequential_create(c->ctx, "words", ARTEL_DTYPE_INT32, &(artel_shape){1, {tokens}}, &b), "words");
    artel_layer_embedding(b, &(artel_embedding_options){.input_dim = rows, .output_dim = width});
    must(c, artel_sequential_finish(b, &made), "words");
    must(c, artel_strategy_add_model(c->strategy, made), "words");
    must(c, artel_strategy_variables(c->strategy, made, false, &variable, &count), "words");
    assert_int_equal(count, 1);
    *table = variable[0];
    return made;
}

/* -- messages -- */

const artel__lane_slot *closures_say(closures *c, int count)
{
    static uint8_t head[ARTEL__LANE_HEAD];
    assert_in_range(count, 0, CLOSURES_MOST - 1);
    c->piece[0] = (artel__net_piece){head, sizeof head};
    c->slot.receive.piece = c->piece;
    c->slot.receive.pieces = count + 1;
    c->slot.length = count ? artel__net_length(c->piece + 1, count) : 0;
    return &c->slot;
}

artel_status closures_apply(closures *c, int part, const artel__lane_head *head, int count)
{
    artel__owned_part *p = c->part[part];
    const artel__lane_slot *slot = closures_say(c, count);
    int pieces;
    if (head->op == ARTEL__CLOSURE_APPLY && artel__applied_has(&p->applied, head->item)) return ARTEL_OK; /* own.c */
    artel_status status = artel__owned_put(p, head->op, head, slot, &pieces);
    return status == ARTEL_OK ? artel__owned_apply(p, head->op, head, slot) : status;
}

artel_status closures_read(closures *c, int part, const artel__lane_head *head, int count, const artel__net_piece **out,
                           int *pieces)
{
    artel__chain_call *at = &c->client.slot[0];
    artel__lane_head answer;
    at->call.receive = closures_say(c, count)->receive;
    at->call.length = c->slot.length;
    artel_status status = artel__owned_read(c->part[part], &c->client, at, head, &answer, pieces);
    at->call.receive = (artel__net_request){.pieces = 0};
    if (status == ARTEL_OK) c->known[part] = answer.position;
    *out = c->part[part]->piece;
    return status;
}

/* -- a worker -- */

static void take_read(closures *c, const artel_function *f, int part)
{
    const artel__net_piece *from;
    artel__row_list *list = &c->rows[part].read;
    artel__span of;
    const artel__lane_head head = {.op = ARTEL__CLOSURE_READ, .part = (uint32_t)f->number, .b = (uint64_t)part};
    int pieces, k = 0;
    for (int i = 0; i < list->count; i++) {
        const artel__table_read *t = &f->tables.item[list->item[i].table];
        const int32_t *count = artel__execution_read(f->tables.run, t->number);
        artel__row_piece_look(&list->item[i], artel__execution_read(f->tables.run, t->token), *count, NULL, NULL);
    }
    must(c, closures_read(c, part, &head, artel__row_list_write(list, false, c->piece + 1), &from, &pieces), "read");
    for (int i = 0; i < pieces; i++) c->read += from[i].bytes;
    for (int r = 0; r < f->reads; r++) {
        if (f->tables.of[r] >= 0) continue;
        for (int at = 0; artel__closure_read(f, r, part, &at, &of) != NULL; k++) {
            assert_true(k < pieces && from[k].bytes == artel__span_bytes(&of));
            memcpy((float *)artel__state_lend(c->strategy->state[0], f->read[r]) + of.first, from[k].data,
                   from[k].bytes);
        }
    }
    for (int i = 0; i < list->count; i++) {
        const artel__row_piece *row = &list->item[i];
        size_t bytes = (size_t)row->width * sizeof(float);
        float *table = artel__state_lend(c->strategy->state[0], c->strategy->piece[row->piece].variable);
        if (row->count == 0) continue;
        assert_true(k < pieces && from[k].bytes == (size_t)row->count * bytes);
        for (int32_t n = 0; n < row->count; n++)
            memcpy(table + row->token[n] * row->width, (uint8_t *)from[k].data + (size_t)n * bytes, bytes);
        k++;
    }
    assert_int_equal(k, pieces);
}

static void add_piece(closures *c, int *count, const void *data, size_t bytes)
{
    assert_in_range(*count, 0, CLOSURES_MOST - 2);
    c->piece[++*count] = (artel__net_piece){(void *)(uintptr_t)data, bytes};
}

static void list_update(closures *c, const artel_function *f, const artel__update *u, int part, int *count)
{
    const artel__execution *run = f->replica[0].run;
    const artel__owned_piece *p;
    for (int at = 0; (p = artel__closure_piece(c->strategy, u->variable, part, &at)) != NULL;) {
        size_t bytes[3];
        int parts = artel__update_parts(u, p, bytes), before = *count;
        add_piece(c, count, (const float *)artel__execution_read(run, u->kept) + p->first, bytes[0]);
        if (artel__update_has_second(u))
            add_piece(c, count, (const float *)artel__execution_read(run, u->kept_squares) + p->first, bytes[1]);
        if (u->kept_norm >= 0) add_piece(c, count, artel__execution_read(run, u->kept_norm), sizeof(double));
        assert_int_equal(*count - before, parts);
    }
}

static void send_update(closures *c, const artel_function *f, int part)
{
    const artel__execution *run = f->replica[0].run;
    artel__row_list *list = &c->rows[part].update;
    const artel__lane_head head = {.op = ARTEL__CLOSURE_APPLY,
                                   .part = (uint32_t)f->number,
                                   .item = c->number,
                                   .a = c->number,
                                   .b = (uint64_t)part,
                                   .rate = -1};
    int count = 0;
    for (int k = 0; k < f->updates; k++) {
        if (!f->update[k].rows) list_update(c, f, &f->update[k], part, &count);
    }
    for (int i = 0; i < list->count; i++) {
        const artel__update *u = &f->update[list->item[i].table];
        const int32_t *number = artel__execution_read(run, u->kept_number);
        artel__row_piece_look(&list->item[i], artel__execution_read(run, u->kept_token), *number,
                              artel__execution_read(run, u->kept),
                              u->kept_squares >= 0 ? artel__execution_read(run, u->kept_squares) : NULL);
    }
    count += artel__row_list_write(list, true, c->piece + 1 + count);
    must(c, closures_apply(c, part, &head, count), "apply");
    c->written += c->slot.length;
}

void closures_run(closures *c, artel_function *f, const artel_array *in, const artel_array *out, int64_t rows)
{
    artel_strategy *s = c->strategy;
    if (!s->servers) {
        must(c, artel_function_run(f, in, f->arguments, out, f->outputs), f->name);
        return;
    }
    artel__arena arena;
    artel__arena_init(&arena, c->ctx);
    for (int i = 0; i < s->servers; i++) must(c, artel__row_lists_make(&arena, f, i, &c->rows[i]), "rows");
    must(c, artel__function_look(f, in, rows), "look");
    for (int i = 0; i < s->servers; i++) take_read(c, f, i);
    s->runs = (int64_t)c->number;
    must(c, artel__function_execute(f, in, out, rows), f->name);
    for (int i = 0; i < s->servers; i++) send_update(c, f, i);
    c->number++;
    artel__arena_fini(&arena);
}

void closures_fetch(closures *c, const artel_variable *variable, float *out)
{
    const artel_strategy *s = c->strategy;
    if (!s->servers) {
        memcpy(out, artel__state_lend(s->state[0], variable->index),
               (size_t)s->variables.item[variable->index].count * sizeof *out);
        return;
    }
    for (int i = s->first_piece[variable->index]; i < s->first_piece[variable->index + 1]; i++) {
        const artel__owned_piece *p = &s->piece[i];
        memcpy(out + p->first, artel__book_piece(c->part[p->part]->book, p), (size_t)p->count * sizeof *out);
    }
}
