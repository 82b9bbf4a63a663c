/* SPDX-License-Identifier: Apache-2.0 */
/* A worker of closures: asks the chief for some, and for each reads what it reads from the servers, runs it, sends what
 * is to be written, and then the outputs. The next ones lie here already while one runs. A result that the chief may
 * not have heard when a generation ends is sent once more in the next. */
#include <string.h>

#include "base/clock.h"
#include "function/closure.h"

typedef struct ticket {
    artel__lane_slot call;
    bool asked, finished; /* a result is here, that nobody has answered yet */
    artel__lane_head result;
    artel_error error;
    uint8_t *out;
    size_t room;
    artel__net_piece *piece;
    int pieces;
} ticket;

typedef struct worker {
    artel_strategy *strategy;
    int index;
    ticket ticket[ARTEL__MOST_IN_FLIGHT];
    int tickets;
    bool over; /* there is nothing more to be done */
    artel__lane chief;
    artel__lane_slot *call;                /* about each part */
    artel__lane lane[ARTEL__MOST_MEMBERS]; /* by rank */
    int32_t head[ARTEL__PLACE_SERVERS];    /* by part: its server's rank */
    artel__row_lists *rows;                /* by function and server */
    uint64_t *known;                       /* by function and server: the version of what was read; 0: nothing was */
    artel_array *in, *outputs;
    artel__net_piece *piece;
    size_t most; /* bytes of a message */
} worker;

/* -- servers -- */

/* What a function has to do with a server: reads of it, or writes it. Steps are counted by each server that has a
 * variable of the optimizer, also of those that the function leaves alone: rates go by that. */
static bool concerns(const artel_strategy *s, const artel_function *f, bool writes, int server)
{
    const artel_optimizer *o = artel__function_optimizer(f);
    for (int i = 0; writes && o && i < o->count; i++) {
        int at = 0;
        if (artel__closure_piece(s, o->variable[i]->index, server, &at)) return true;
    }
    for (int k = 0; writes && k < f->updates; k++) {
        int at = 0;
        if (artel__closure_piece(s, f->update[k].variable, server, &at)) return true;
    }
    for (int k = 0; !writes && k < f->reads; k++) {
        artel__span of;
        int at = 0;
        if (artel__closure_read(f, k, server, &at, &of)) return true;
    }
    return false;
}

/* Where an update lies, whole, as the run has left it; of moving statistics what they are now, then what they were. */
static const float *update_value(const worker *w, const artel_function *f, const artel__update *u)
{
    if (u->arranged) return u->arranged;
    return u->kept >= 0 ? artel__execution_read(f->replica[0].run, u->kept)
                        : artel__state_lend(w->strategy->state[0], u->variable);
}

static const float *update_second(const artel_function *f, const artel__update *u)
{
    if (u->kind == ARTEL__UPDATE_STATISTIC) return u->before;
    return artel__execution_read(f->replica[0].run, u->kept_squares);
}

/* What update `u` sends of a piece. */
static int list_update(const worker *w, const artel_function *f, const artel__update *u, const artel__owned_piece *p,
                       artel__net_piece *out)
{
    size_t bytes[3];
    int parts = artel__update_parts(u, p, bytes), count = 0;
    out[count] = (artel__net_piece){update_value(w, f, u) + p->first, bytes[count]};
    count++;
    if (artel__update_has_second(u)) {
        out[count] = (artel__net_piece){update_second(f, u) + p->first, bytes[count]};
        count++;
    }
    if (u->kept_norm >= 0)
        out[count] = (artel__net_piece){artel__execution_read(f->replica[0].run, u->kept_norm), bytes[count]};
    return parts;
}

/* Tokens that the next run reads, and those that the last one has steps of. */
static void look_at_read(const artel_function *f, artel__row_list *list)
{
    for (int i = 0; i < list->count; i++) {
        const artel__table_read *t = &f->tables.item[list->item[i].table];
        const int32_t *count = artel__execution_read(f->tables.run, t->number);
        artel__row_piece_look(&list->item[i], artel__execution_read(f->tables.run, t->token), *count, NULL, NULL);
    }
}

static void look_at_update(const artel_function *f, artel__row_list *list)
{
    const artel__execution *run = f->replica[0].run;
    for (int i = 0; i < list->count; i++) {
        const artel__update *u = &f->update[list->item[i].table];
        const int32_t *count = artel__execution_read(run, u->kept_number);
        artel__row_piece_look(&list->item[i], artel__execution_read(run, u->kept_token), *count,
                              artel__execution_read(run, u->kept),
                              u->kept_squares >= 0 ? artel__execution_read(run, u->kept_squares) : NULL);
    }
}

static artel_status call_server(worker *w, const artel_function *f, const artel__lane_head *all, int server, int *used)
{
    const artel__owned_piece *p;
    artel__lane_head head = *all;
    int first = *used;
    artel__row_lists *rows = &w->rows[f->number * w->strategy->servers + server];
    bool writes = all->op == ARTEL__CLOSURE_APPLY;
    head.b = (uint64_t)server;
    if (!writes) head.position = w->known[f->number * w->strategy->servers + server];
    for (int k = 0; writes && k < f->updates; k++) {
        if (f->update[k].rows) continue;
        for (int at = 0; (p = artel__closure_piece(w->strategy, f->update[k].variable, server, &at)) != NULL;)
            *used += list_update(w, f, &f->update[k], p, w->piece + *used);
    }
    if (writes)
        look_at_update(f, &rows->update);
    else
        look_at_read(f, &rows->read);
    *used += artel__row_list_write(writes ? &rows->update : &rows->read, writes, w->piece + *used);
    return artel__lane_judge(
        artel__lane_call(&w->lane[w->head[server]], &w->call[server], &head, w->piece + first, *used - first, w->most));
}

static artel_status take_values(worker *w, const artel_function *f, int server, artel__slot_at *from)
{
    artel_strategy *s = w->strategy;
    artel__span of;
    for (int k = 0; k < f->reads; k++) {
        if (f->tables.of[k] >= 0) continue;
        for (int at = 0; artel__closure_read(f, k, server, &at, &of) != NULL;) {
            const void *data = artel__slot_next(&w->call[server], from, artel__span_bytes(&of));
            if (!data) return artel__closure_misfit(s->ctx, "a server");
            memcpy((float *)artel__state_lend(s->state[0], f->read[k]) + of.first, data, artel__span_bytes(&of));
        }
    }
    return ARTEL_OK;
}

/* To their places in the tables. */
static artel_status take_rows(worker *w, const artel_function *f, int server, artel__slot_at *from)
{
    artel_strategy *s = w->strategy;
    const artel__row_list *list = &w->rows[f->number * s->servers + server].read;
    for (int i = 0; i < list->count; i++) {
        const artel__row_piece *p = &list->item[i];
        size_t row = (size_t)p->width * sizeof(float);
        if (p->count == 0) continue;
        const uint8_t *data = artel__slot_next(&w->call[server], from, (size_t)p->count * row);
        float *table = artel__state_lend(s->state[0], s->piece[p->piece].variable);
        if (!data) return artel__closure_misfit(s->ctx, "a server");
        for (int32_t k = 0; k < p->count; k++) memcpy(table + p->token[k] * p->width, data + (size_t)k * row, row);
    }
    return ARTEL_OK;
}

static artel_status take_answer(worker *w, const artel_function *f, int server, unsigned op)
{
    artel__lane_head head;
    ARTEL_TRY(artel__lane_take(&w->lane[w->head[server]], &w->call[server], &head));
    if (head.flags == ARTEL__CLOSURE_STALE) return ARTEL_AGAIN;
    bool values = op == ARTEL__CLOSURE_READ && head.flags != ARTEL__CLOSURE_SAME;
    uint64_t *known = &w->known[f->number * w->strategy->servers + server];
    artel__slot_at from = {0, 0};
    if (values) {
        *known = 0; /* what is being read may turn out to be void */
        ARTEL_TRY(take_values(w, f, server, &from));
    }
    if (op == ARTEL__CLOSURE_READ) ARTEL_TRY(take_rows(w, f, server, &from));
    ARTEL_TRY(artel__lane_judge(artel__lane_done(&w->lane[w->head[server]], &w->call[server])));
    if (values) *known = head.position;
    return ARTEL_OK;
}

/* The same call to all servers that the function has to do with; takes the answers as they come. */
static artel_status exchange(worker *w, const artel__closure_job *j, const artel_function *f,
                             const artel__lane_head *all)
{
    artel_status status = ARTEL_OK;
    bool due[ARTEL__MOST_MEMBERS] = {false};
    int left = 0, used = 0, servers = w->strategy->servers;
    for (int i = 0; i < servers && status == ARTEL_OK; i++) {
        due[i] = concerns(w->strategy, f, all->op == ARTEL__CLOSURE_APPLY, i);
        if (!due[i]) continue;
        left++;
        status = call_server(w, f, all, i, &used);
    }
    if (status == ARTEL_OK && left) status = artel__closure_move(j);
    while (left > 0 && status == ARTEL_OK) {
        int before = left;
        for (int i = 0; i < servers && status == ARTEL_OK; i++) {
            if (!due[i] || !artel__slot_arrived(&w->call[i])) continue;
            status = take_answer(w, f, i, all->op);
            due[i] = false;
            left--;
        }
        if (left == before && status == ARTEL_OK) status = artel__closure_wait(j);
    }
    for (int i = 0; i < servers; i++) artel__lane_withdraw(&w->chief, &w->call[i]);
    return status;
}

/* -- a closure -- */

/* Arguments: those that came, then those of this worker's data; *run: what random operations draw by. */
static artel_status take_inputs(worker *w, const ticket *t, const artel_function *f, const artel__lane_head *in,
                                uint64_t *run)
{
    artel__slot_at at = {0, 0};
    artel_worker_data *data = in->b & 0xffffffff ? artel__worker_data_find(w->strategy, in->b & 0xffffffff) : NULL;
    int own = data ? data->options.arrays : 0, given = f->arguments - own;
    bool fits = given >= 0 && (data || !(in->b & 0xffffffff)) && in->a <= (uint64_t)w->strategy->options.batch_size;
    if (!fits) return artel__closure_misfit(w->strategy->ctx, "the chief");
    for (int i = 0; i < given; i++) {
        const artel__function_argument *a = &f->argument[i];
        artel_shape shape = {.rank = a->shape.rank + !a->shared, .dim = {(int64_t)in->a}};
        memcpy(shape.dim + !a->shared, a->shape.dim, (size_t)a->shape.rank * sizeof *shape.dim);
        size_t bytes = (size_t)artel_shape_count(&shape) * artel_dtype_size(a->dtype);
        const void *values = artel__slot_next(&t->call, &at, bytes);
        if (!values) return artel__closure_misfit(w->strategy->ctx, "the chief");
        w->in[i] = (artel_array){a->dtype, shape, (void *)(uintptr_t)values};
    }
    const void *number = artel__slot_next(&t->call, &at, sizeof *run);
    if (!number) return artel__closure_misfit(w->strategy->ctx, "the chief");
    memcpy(run, number, sizeof *run);
    const void *heads = artel__slot_next(&t->call, &at, artel__closure_heads(w->strategy));
    if (!heads) return artel__closure_misfit(w->strategy->ctx, "the chief");
    memcpy(w->head, heads, artel__closure_heads(w->strategy));
    return data ? artel__worker_data_next(data, w->index, w->in + given) : ARTEL_OK;
}

static artel_status make_room(const worker *w, ticket *t, const artel_function *f, int64_t rows)
{
    size_t bytes = 0;
    void *block = t->out, *pieces = t->piece;
    for (int i = 0; i < f->outputs; i++) bytes += artel__net_padded(artel__output_bytes(f, i, rows));
    if (bytes + 8 > t->room) {
        ARTEL_TRY(artel__realloc(w->strategy->ctx, bytes + 8, "closure", &block));
        t->out = block;
        t->room = bytes + 8;
    }
    ARTEL_TRY(artel__realloc(w->strategy->ctx, ((size_t)f->outputs + 1) * sizeof *t->piece, "closure", &pieces));
    t->piece = pieces;
    uint8_t *at = t->out;
    for (int i = 0; i < f->outputs; i++) {
        size_t one = artel__output_bytes(f, i, rows);
        w->outputs[i] = (artel_array){.dtype = f->graph.value[f->graph.kept[i]].dtype, .data = at};
        t->piece[i] = (artel__net_piece){at, one};
        at += artel__net_padded(one);
    }
    t->pieces = f->outputs;
    return ARTEL_OK;
}

/* Moving statistics, before a run changes them. */
static void note_statistics(const artel_strategy *s, const artel_function *f)
{
    for (int k = 0; k < f->updates; k++) {
        const artel__update *u = &f->update[k];
        if (u->kind != ARTEL__UPDATE_STATISTIC) continue;
        memcpy(u->before, artel__state_lend(s->state[0], u->variable),
               (size_t)s->variables.item[u->variable].count * sizeof *u->before);
    }
}

/* A run has changed the copies here: whoever reads them next fetches them, though the server may have nothing newer. */
static void forget_statistics(worker *w, const artel_function *f)
{
    const artel_strategy *s = w->strategy;
    for (int k = 0; k < f->updates; k++) {
        if (f->update[k].kind != ARTEL__UPDATE_STATISTIC) continue;
        for (int p = s->first_piece[f->update[k].variable]; p < s->first_piece[f->update[k].variable + 1]; p++) {
            for (int i = 0; i <= s->function->number; i++) w->known[i * s->servers + s->piece[p].part] = 0;
        }
    }
}

static artel_status compute(worker *w, const artel__closure_job *j, artel_function *f, uint64_t run, int64_t rows)
{
    artel_strategy *s = w->strategy;
    s->runs = (int64_t)run; /* random operations are a function of the run's number, whoever makes it */
    note_statistics(s, f);
    forget_statistics(w, f);
    artel__mesh_enter(j->seat.activity, ARTEL__MEMBER_COMPUTE, artel__now_ns());
    artel_status status = artel__function_execute(f, w->in, w->outputs, rows);
    if (status == ARTEL_OK) status = artel__state_bring(s->state[0]); /* lending cannot fail */
    for (int k = 0; status == ARTEL_OK && k < f->updates; k++) {
        const artel__update *u = &f->update[k];
        if (u->arranged)
            artel__state_arrange(&s->variables.item[u->variable], artel__execution_read(f->replica[0].run, u->kept),
                                 u->arranged);
    }
    artel__mesh_enter(j->seat.activity, ARTEL__MEMBER_EXCHANGE, artel__now_ns());
    return status == ARTEL_ERROR_CANCELLED && artel__mesh_stopping(j->cluster) ? ARTEL_AGAIN : status;
}

static artel_status run_closure(worker *w, const artel__closure_job *j, ticket *t, artel_function *f,
                                const artel__lane_head *in)
{
    int64_t rows;
    uint64_t run = 0;
    artel__lane_head head = {.op = ARTEL__CLOSURE_READ, .part = in->part, .install = in->install, .item = in->item};
    artel__mesh_enter(j->seat.activity, ARTEL__MEMBER_COMPUTE, artel__now_ns()); /* the program's data may not come */
    ARTEL_TRY(take_inputs(w, t, f, in, &run));
    artel__mesh_enter(j->seat.activity, ARTEL__MEMBER_EXCHANGE, artel__now_ns());
    for (int i = 0; i < w->strategy->servers; i++) {
        if (w->head[i] < 0 || w->head[i] >= j->seat.ranks || j->type[w->head[i]] != ARTEL__TASK_PS)
            return artel__closure_misfit(j->ctx, "the chief");
    }
    ARTEL_TRY(artel__function_check(f, w->in, f->arguments, &rows));
    ARTEL_TRY(make_room(w, t, f, rows));
    if (!f->replica) {
        int64_t before = artel__now_ns();
        ARTEL_TRY(artel__function_open(f));
        t->result.b = (uint64_t)(artel__now_ns() - before);
    }
    t->result.position = (uint64_t)rows;
    ARTEL_TRY(artel__function_look(f, w->in, rows));
    artel_status status = exchange(w, j, f, &head);
    if (status == ARTEL_OK) status = compute(w, j, f, run, rows);
    if (status != ARTEL_OK) return status;
    head.op = ARTEL__CLOSURE_APPLY;
    head.rate = in->rate;
    head.a = in->position;
    return exchange(w, j, f, &head);
}

static void fail(const worker *w, ticket *t, artel_status status)
{
    artel_context *ctx = w->strategy->ctx;
    t->error = *artel_context_error(ctx);
    t->error.status = status;
    artel__operation_begin(ctx);
    t->result.flags = ARTEL__CLOSURE_FAILED;
    t->pieces = 0;
}

/* A closure that has come: runs it, and has its result. */
static artel_status work_on(worker *w, const artel__closure_job *j, ticket *t, const artel__lane_head *in)
{
    artel_function *f = artel__closure_function(w->strategy, in->part);
    if (!f) return artel__closure_misfit(w->strategy->ctx, "the chief");
    int64_t before = artel__now_ns();
    t->result =
        (artel__lane_head){.op = ARTEL__CLOSURE_RESULT, .part = in->part, .install = in->install, .item = in->item};
    artel__mesh_enter(j->seat.activity, ARTEL__MEMBER_EXCHANGE, before);
    artel_status status = run_closure(w, j, t, f, in);
    artel__mesh_enter(j->seat.activity, ARTEL__MEMBER_IDLE, artel__now_ns());
    if (status == ARTEL_AGAIN) return status;
    if (status < 0) fail(w, t, status);
    t->result.a = (uint64_t)(artel__now_ns() - before);
    t->finished = true;
    artel__mesh_stepped(j->cluster, in->item, 0); /* for artel status */
    return artel__lane_judge(artel__lane_done(&w->chief, &t->call));
}

/* -- the loop -- */

/* Asks for a closure; with a result, if there is one. */
static artel_status ask(worker *w, ticket *t)
{
    artel__lane_head head = {.op = ARTEL__CLOSURE_TICKET};
    artel__net_piece error = {&t->error, sizeof t->error};
    bool failed = t->finished && t->result.flags == ARTEL__CLOSURE_FAILED;
    if (t->finished) head = t->result;
    t->asked = true;
    int pieces = failed ? 1 : t->finished ? t->pieces : 0;
    return artel__lane_judge(artel__lane_call(&w->chief, &t->call, &head, failed ? &error : t->piece, pieces, w->most));
}

/* What came first of all that is here. */
static ticket *first_here(worker *w)
{
    ticket *first = NULL;
    for (int i = 0; i < w->tickets; i++) {
        ticket *t = &w->ticket[i];
        if (t->asked && artel__slot_arrived(&t->call) && (!first || t->call.number < first->call.number)) first = t;
    }
    return first;
}

/* The first answer says how many closures a worker may have. */
static artel_status ask_for_more(worker *w, uint64_t in_flight)
{
    if (in_flight < 1 || in_flight > ARTEL__MOST_IN_FLIGHT) return artel__closure_misfit(w->strategy->ctx, "the chief");
    while (w->tickets < (int)in_flight) ARTEL_TRY(ask(w, &w->ticket[w->tickets++]));
    return ARTEL_OK;
}

static artel_status hear(worker *w, const artel__closure_job *j, ticket *t)
{
    artel__lane_head in;
    ARTEL_TRY(artel__lane_take(&w->chief, &t->call, &in));
    t->asked = t->finished = false;
    if (in.flags == ARTEL__CLOSURE_OVER) {
        w->over = true;
        return artel__lane_judge(artel__lane_done(&w->chief, &t->call));
    }
    artel_status status = ask_for_more(w, in.b >> 32);
    if (status == ARTEL_OK) status = work_on(w, j, t, &in);
    return status == ARTEL_OK ? ask(w, t) : status;
}

static artel_status loop(worker *w, const artel__closure_job *j)
{
    artel_status status = ARTEL_OK;
    int begun = w->tickets > 0 ? w->tickets : 1;
    w->tickets = begun;
    w->over = false;
    for (int i = 0; i < begun && status == ARTEL_OK; i++) status = ask(w, &w->ticket[i]);
    if (status == ARTEL_OK) status = artel__closure_move(j);
    while (status == ARTEL_OK && !w->over) {
        ticket *t = first_here(w);
        status = t ? hear(w, j, t) : artel__closure_wait(j);
        if (t && status == ARTEL_OK) status = artel__closure_move(j);
    }
    return status;
}

static artel_status work(artel__closure_job *j, void *user)
{
    worker *w = user;
    size_t known =
        (size_t)j->strategy->servers * (size_t)(j->strategy->function ? j->strategy->function->number + 1 : 0);
    w->chief = artel__closure_lane(j, j->chief);
    for (int r = 0; r < j->seat.ranks; r++) w->lane[r] = artel__closure_lane(j, r);
    memset(w->known, 0, known * sizeof *w->known);
    artel_status status = loop(w, j);
    for (int i = 0; i < ARTEL__MOST_IN_FLIGHT; i++) {
        artel__lane_withdraw(&w->chief, &w->ticket[i].call);
        w->ticket[i].asked = false;
    }
    return status;
}

/* -- a life -- */

static artel_status make_lists(worker *w)
{
    artel_strategy *s = w->strategy;
    size_t servers = (size_t)s->servers, functions = s->function ? (size_t)s->function->number + 1 : 0, in = 1, out = 1,
           updates = 1;
    for (const artel_function *f = s->function; f; f = f->next) {
        if ((size_t)f->arguments + 1 > in) in = (size_t)f->arguments + 1;
        if ((size_t)f->outputs + 1 > out) out = (size_t)f->outputs + 1;
        size_t pieces = 1;
        for (int k = 0; k < f->updates; k++)
            pieces += 4 * (size_t)(s->first_piece[f->update[k].variable + 1] - s->first_piece[f->update[k].variable]);
        pieces += (size_t)(s->servers + s->pieces); /* tokens of what is read */
        if (pieces > updates) updates = pieces;
    }
    w->most = artel__closure_most(s);
    w->call = artel__arena_alloc(&s->arena, servers, sizeof *w->call);
    w->rows = artel__arena_alloc(&s->arena, servers * functions + 1, sizeof *w->rows);
    w->known = artel__arena_alloc(&s->arena, servers * functions + 1, sizeof *w->known);
    w->in = artel__arena_alloc(&s->arena, in, sizeof *w->in);
    w->outputs = artel__arena_alloc(&s->arena, out, sizeof *w->outputs);
    w->piece = artel__arena_alloc(&s->arena, updates, sizeof *w->piece);
    ARTEL_TRY(artel__arena_status(&s->arena));
    memset(w->call, 0, servers * sizeof *w->call);
    for (const artel_function *f = s->function; f; f = f->next) {
        for (int i = 0; i < s->servers; i++)
            ARTEL_TRY(artel__row_lists_make(&s->arena, f, i, &w->rows[f->number * s->servers + i]));
    }
    return ARTEL_OK;
}

artel_status artel__closure_work(artel_strategy *s)
{
    void *block;
    ARTEL_TRY(artel__calloc(s->ctx, 1, sizeof(worker), "worker", &block));
    worker *w = block;
    w->strategy = s;
    w->index = artel_cluster_index(s->options.cluster);
    artel_status status = make_lists(w);
    if (status == ARTEL_OK) status = artel__worker_data_open(s, w->index);
    if (status == ARTEL_OK) status = artel__closure_run(s, false, work, w);
    artel__worker_data_close(s);
    for (int i = 0; i < ARTEL__MOST_IN_FLIGHT; i++) {
        artel__slot_fini(s->ctx, &w->ticket[i].call);
        artel__free(s->ctx, w->ticket[i].out);
        artel__free(s->ctx, w->ticket[i].piece);
    }
    for (int i = 0; w->call && i < s->servers; i++) artel__slot_fini(s->ctx, &w->call[i]);
    artel__free(s->ctx, w);
    return status;
}
