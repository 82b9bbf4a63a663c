/* SPDX-License-Identifier: Apache-2.0 */
/* One run of this task's parts. Nothing here waits: a part runs when what it needs has come, and what others need is on
 * its way when it has.
 *
 * What comes is copied where it stays until the run is over. A variable of another task is put into this task's state
 * before each part that may read it, for a run of another client may have put another value there in between; for the
 * same reason it is sent from a copy. */
#include <string.h>

#include "base/threads.h"
#include "function/session/session_impl.h"

static artel_status make_room(artel_context *ctx, void **memory, size_t *room, size_t bytes)
{
    if (*memory && *room >= bytes + 64) return ARTEL_OK;
    if (*memory) artel__free_aligned(ctx, *memory, *room);
    *memory = NULL;
    ARTEL_TRY(artel__alloc_aligned(ctx, bytes + 64, "session", memory));
    *room = bytes + 64;
    return ARTEL_OK;
}

size_t artel__placed_feed_bytes(const artel_function *f, int i, int64_t rows)
{
    const artel__function_argument *a = &f->argument[i];
    return (size_t)artel_shape_count(&a->shape) * (size_t)(a->shared ? 1 : rows) * artel_dtype_size(a->dtype);
}

artel_status artel__placed_feed(artel__placed_plan *p, int i, int64_t rows, void **out)
{
    ARTEL_TRY(
        make_room(p->session->ctx, &p->feed[i], &p->feed_bytes[i], artel__placed_feed_bytes(p->function, i, rows)));
    *out = p->feed[i];
    return ARTEL_OK;
}

/* -- what goes between tasks -- */

static size_t edge_bytes(const artel__placed_plan *p, const artel__placed_edge *edge)
{
    return artel__placed_bytes(p, edge->value, p->rows);
}

static artel__net_request message(const artel__placed_plan *p, int edge, int peer)
{
    artel__frame frame = {.kind = ARTEL__FRAME_CALL,
                          .job = ARTEL__PLACED_JOB + 1,
                          .generation = p->session->seat.generation,
                          .step = p->run,
                          .collective = (uint32_t)p->client,
                          .node = (uint32_t)edge};
    return (artel__net_request){.peer = peer, .frame = frame};
}

static artel_status send_edge(artel__placed_plan *p, int e, const void *data)
{
    artel__placed_edge *edge = &p->edge[e];
    edge->piece = (artel__net_piece){data, edge_bytes(p, edge)};
    edge->request = message(p, e, edge->to);
    edge->request.piece = &edge->piece;
    edge->request.pieces = 1;
    edge->posted = true;
    return artel__net_send(p->session->seat.endpoint, &edge->request);
}

static artel_status send_variable(artel__placed_plan *p, int e)
{
    artel__placed_edge *edge = &p->edge[e];
    ARTEL_TRY(make_room(p->session->ctx, &edge->memory, &edge->room, edge_bytes(p, edge)));
    memcpy(edge->memory, artel__state_lend(p->session->strategy->state[0], edge->variable), edge_bytes(p, edge));
    return send_edge(p, e, edge->memory);
}

static artel_status expect_edge(artel__placed_plan *p, int e)
{
    artel__placed_edge *edge = &p->edge[e];
    ARTEL_TRY(make_room(p->session->ctx, &edge->memory, &edge->room, edge_bytes(p, edge)));
    edge->request = message(p, e, edge->from);
    edge->request.most = artel__net_padded(edge_bytes(p, edge));
    edge->posted = true;
    return artel__net_receive(p->session->seat.endpoint, &edge->request);
}

static artel_status take_edge(artel__placed_plan *p, artel__placed_edge *edge)
{
    const artel__net_request *r = &edge->request; /* a wire pads parts */
    if (r->pieces != 1 || artel__net_padded(r->piece[0].bytes) != artel__net_padded(edge_bytes(p, edge)))
        return artel__placed_misfit(p->session, edge->from);
    memcpy(edge->memory, r->piece[0].data, edge_bytes(p, edge));
    edge->arrived = true;
    return artel__net_release(p->session->seat.endpoint, &edge->request);
}

/* Takes what has come; whether all is here that a part needs. */
static artel_status look(artel__placed_plan *p, const artel__placed_part *part, bool *ready, bool *moved)
{
    const artel_session *s = p->session;
    *ready = true;
    for (int e = 0; e < p->edges; e++) {
        artel__placed_edge *edge = &p->edge[e];
        if (edge->to != s->self || !edge->posted || edge->arrived || !artel__net_done(&edge->request)) continue;
        ARTEL_TRY(take_edge(p, edge));
        *moved = true;
    }
    for (int i = 0; i < part->graph.inputs; i++) {
        const artel__placed_source *source = &part->source[i];
        *ready = *ready && (source->kind != ARTEL__SOURCE_EDGE || p->edge[source->index].arrived);
    }
    for (int e = 0; e < p->edges; e++) {
        const artel__placed_edge *edge = &p->edge[e];
        if (edge->to == s->self && edge->variable >= 0) *ready = *ready && edge->arrived;
    }
    return ARTEL_OK;
}

/* -- parts -- */

static void set_inputs(const artel__placed_plan *p, artel__placed_part *part)
{
    for (int i = 0; i < part->graph.inputs; i++) {
        const artel__placed_source *source = &part->source[i];
        const void *at = NULL;
        if (source->kind == ARTEL__SOURCE_FEED) at = p->feed[source->index];
        if (source->kind == ARTEL__SOURCE_PART) at = artel__execution_read(p->part[source->index].run, source->kept);
        if (source->kind == ARTEL__SOURCE_EDGE) at = p->edge[source->index].memory;
        part->input[i] = at;
    }
    for (int e = 0; e < p->edges; e++) {
        const artel__placed_edge *edge = &p->edge[e];
        if (edge->to != p->session->self || edge->variable < 0) continue;
        memcpy(artel__state_lend(p->session->strategy->state[0], edge->variable), edge->memory, edge_bytes(p, edge));
    }
}

static artel_status report_fault(const artel__placed_plan *p, const artel__placed_part *part)
{
    const artel__fault *fault = artel__execution_fault(part->run);
    const char *name = part->graph.node[fault->node].name;
    return artel__fail(p->session->ctx, ARTEL_ERROR_INVALID, name[0] ? name : p->function->name,
                       "correct the data, or enlarge the vocabulary or the number of classes",
                       "row %lld holds the index %lld, which is out of range", (long long)fault->row,
                       (long long)fault->value);
}

static artel_status compute(artel__placed_plan *p, artel__placed_part *part)
{
    ARTEL_TRY(artel__placed_part_open(p, part));
    if (p->session->watch) ARTEL_TRY(artel__execution_profile(part->run));
    set_inputs(p, part);
    if (p->session->communicator) artel__coll_seat_enter(p->session->communicator, ARTEL__MEMBER_COMPUTE);
    uint32_t caller = artel__fp_enter();
    artel_status status = artel__execution_compute(part->run, &p->step, part->input);
    artel__fp_leave(caller);
    if (p->session->communicator) artel__coll_seat_enter(p->session->communicator, ARTEL__MEMBER_EXCHANGE);
    ARTEL_TRY(status);
    return artel__execution_fault(part->run)->node >= 0 ? report_fault(p, part) : ARTEL_OK;
}

static artel_status send_results(artel__placed_plan *p, const artel__placed_part *part)
{
    for (int e = 0; e < p->edges; e++) {
        const artel__placed_edge *edge = &p->edge[e];
        if (edge->from != p->session->self || edge->variable >= 0 || edge->level != part->level) continue;
        ARTEL_TRY(send_edge(p, e, artel__execution_read(part->run, edge->kept)));
    }
    return ARTEL_OK;
}

/* -- the run -- */

static void set_step(artel__placed_plan *p, const artel__placed_start *start)
{
    artel_strategy *s = p->session->strategy;
    const artel_optimizer *o = artel__function_optimizer(p->function);
    int32_t shards = (int32_t)s->options.shards;
    int64_t iteration =
        o && o->iterations > start->iteration ? o->iterations : start->iteration; /* other clients have made steps */
    artel__fold_plan_make(&p->fold, shards, 0, shards, start->rows, p->start);
    p->step = (artel__step){.fold = &p->fold,
                            .seed = s->options.seed,
                            .batch = start->batch,
                            .iteration = iteration,
                            .learning_rate = !o                ? 0
                                             : start->rate > 0 ? start->rate
                                                               : artel__schedule_rate(&o->rule.schedule, iteration),
                            .training = p->function->training};
}

artel_status artel__placed_begin(artel__placed_plan *p, const artel__placed_start *start)
{
    int self = p->session->self;
    p->active = true;
    p->computed = p->answered = false;
    p->run = start->run;
    p->rows = start->rows;
    p->next = 0;
    set_step(p, start);
    for (int e = 0; e < p->edges; e++) {
        p->edge[e].posted = p->edge[e].arrived = false;
        if (p->edge[e].to == self) ARTEL_TRY(expect_edge(p, e));
    }
    for (int e = 0; e < p->edges; e++) {
        if (p->edge[e].from == self && p->edge[e].variable >= 0) ARTEL_TRY(send_variable(p, e));
    }
    return ARTEL_OK;
}

artel_status artel__placed_advance(artel__placed_plan *p, bool *moved)
{
    while (p->next < p->parts) {
        artel__placed_part *part = &p->part[p->next];
        bool ready;
        ARTEL_TRY(look(p, part, &ready, moved));
        if (!ready) return ARTEL_OK;
        ARTEL_TRY(compute(p, part));
        ARTEL_TRY(send_results(p, part));
        p->next++;
        *moved = true;
    }
    p->computed = true;
    return ARTEL_OK;
}

void artel__placed_commit(artel__placed_plan *p)
{
    artel_optimizer *o = artel__function_optimizer(p->function);
    if (o && o->iterations > p->step.iteration) { /* another client's step came in between */
        p->step.iteration = o->iterations;
        if (o->rate <= 0) p->step.learning_rate = artel__schedule_rate(&o->rule.schedule, o->iterations);
    }
    uint32_t caller = artel__fp_enter();
    for (int i = 0; i < p->parts; i++) {
        if (p->part[i].applies) artel__execution_apply(p->part[i].run, &p->step);
    }
    artel__fp_leave(caller);
    if (o && p->updates) o->iterations = p->step.iteration + 1;
}

void artel__placed_drop(artel__placed_plan *p)
{
    artel__endpoint *endpoint = p->session->seat.endpoint;
    for (int e = 0; e < p->edges && endpoint; e++) { /* receives first */
        if (p->edge[e].to == p->session->self && p->edge[e].posted) artel__net_withdraw(endpoint, &p->edge[e].request);
    }
    for (int e = 0; e < p->edges && endpoint; e++) {
        if (p->edge[e].from == p->session->self && p->edge[e].posted)
            artel__net_withdraw(endpoint, &p->edge[e].request);
    }
    for (int e = 0; e < p->edges; e++) p->edge[e].posted = false;
    p->active = false;
}

void artel__placed_tell_times(const artel__placed_plan *p)
{
    static const char *const phases[] = {"forward", "backward", "apply"};
    for (int i = 0; i < p->parts; i++) {
        const artel__placed_part *part = &p->part[i];
        const artel__node_time *time = artel__execution_times(part->run);
        for (int n = 0; time && n < part->graph.nodes; n++) {
            double operations;
            const artel__node *node = &part->graph.node[n];
            if (time[n].calls == 0) continue;
            p->session->watch(
                p->session->watch_user,
                &(artel__placed_time){.layer = node->name ? node->name : "",
                                      .operation = node->op->name,
                                      .kernel = artel__executable_kernel(part->executable, n, p->rows, &operations),
                                      .phase = phases[node->phase],
                                      .begin_ns = time[n].begin_ns,
                                      .longest_ns = time[n].longest_ns});
        }
    }
}

const void *artel__placed_output(const artel__placed_plan *p, int output)
{
    int part = p->kept_part[output];
    return part >= 0 ? artel__execution_read(p->part[part].run, p->kept[output]) : NULL;
}
