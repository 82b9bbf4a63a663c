/* SPDX-License-Identifier: Apache-2.0 */
/* What audit.h promises. Sums are kept below 2^52, exact in the float64 that exchanges carry; each shard has one owner,
 * so the largest value at its place is what that one has counted.
 */
#include "train/audit.h"

#include <stdio.h>
#include <string.h>

#define OPTION ".audit_data"
#define MASK (((uint64_t)1 << 52) - 1)

/* G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014. */
static uint64_t mix(uint64_t number)
{
    uint64_t z = number + UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

artel_status artel__audit_begin(artel__fit *fit)
{
    if (!fit->options.audit_data) return ARTEL_OK;
    if (fit->role != ARTEL__ROLE_NONE)
        return artel__fail(fit->ctx, ARTEL_ERROR_UNSUPPORTED, OPTION, "leave it out, or use the strategy multi-worker",
                           "workers of parameter servers do not step together, and nobody sees what all of them read");
    fit->audit = (artel__fit_audit){.on = true, .whole = true, .pass_whole = true};
    fit->session->audits = true;
    return ARTEL_OK;
}

/* -- of one replica -- */

enum {
    COUNT,
    DIGEST,
    ORDER,
    SUMS
};

artel_status artel__audit_prepare(artel__replica *replica, artel__mode m)
{
    const artel__session *session = replica->session;
    artel__replica_mode *mode = &replica->mode[m];
    size_t count = SUMS * (size_t)session->options.shards;
    if (!session->audits || m != ARTEL__MODE_TRAIN) return ARTEL_OK;
    mode->audit.give =
        artel__arena_alloc(&mode->arena, count * (session->cluster ? ARTEL__MAX_NODES : 1), sizeof *mode->audit.give);
    mode->audit.take = artel__arena_alloc(&mode->arena, count, sizeof *mode->audit.take);
    return artel__arena_status(&mode->arena);
}

void artel__audit_read(artel__replica *replica, artel__mode m, const artel__batch *batch)
{
    artel__replica_audit *audit = &replica->mode[m].audit;
    const artel__fold_plan *fold = &replica->fold;
    if (!audit->give) return;
    for (int32_t i = 0; i < SUMS * fold->shards; i++) audit->give[i] = -1;
    for (int32_t v = 0; v < fold->count; v++) {
        uint64_t digest = 0, order = 0;
        for (int64_t i = fold->start[v]; i < fold->start[v + 1]; i++) {
            uint64_t number = mix(batch->rows[fold->row + i]);
            digest += number;
            order += mix(number + (uint64_t)(batch->position + fold->row + i));
        }
        double *sums = audit->give + SUMS * (fold->first + v);
        sums[COUNT] = (double)(fold->start[v + 1] - fold->start[v]);
        sums[DIGEST] = (double)(digest & MASK);
        sums[ORDER] = (double)(order & MASK);
    }
    memcpy(audit->take, audit->give, SUMS * (size_t)fold->shards * sizeof(double));
}

artel_status artel__audit_exchange(artel__replica *replica, artel__mode m, const artel__batch *batch,
                                   const artel__step *step)
{
    const artel__session *session = replica->session;
    artel__replica_mode *mode = &replica->mode[m];
    size_t count = SUMS * (size_t)replica->fold.shards;
    (void)batch;
    if (!mode->audit.give || !session->cluster || session->ranks == session->replicas) return ARTEL_OK;
    for (int i = 1; i < replica->fold.nodes; i++)
        memcpy(mode->audit.give + (size_t)i * count, mode->audit.give, count * sizeof(double));
    const artel__comm *comm = artel__group_comm(session->group, replica->index);
    artel__comm_segment segment = {.kind = ARTEL__COLLECTIVE_MAX,
                                   .dtype = ARTEL_DTYPE_FLOAT64,
                                   .count = (int64_t)count,
                                   .in = mode->audit.give,
                                   .out = mode->audit.take};
    const artel__graph *graph = &session->mode[m].objective->graph;
    return comm->ops->all_reduce(comm->self, step, graph->nodes + 4 + mode->gathers, &segment, 1);
}

/* -- of the fit -- */

static void add(artel__fit_audit *audit, const double *take, int32_t shards)
{
    for (int32_t v = 0; v < shards; v++, take += SUMS) {
        if (take[COUNT] < 0) continue;
        audit->elements += (int64_t)take[COUNT];
        audit->pass_elements += (int64_t)take[COUNT];
        audit->digest = (audit->digest + (uint64_t)take[DIGEST]) & MASK;
        audit->pass_digest = (audit->pass_digest + (uint64_t)take[DIGEST]) & MASK;
        audit->order = (audit->order + (uint64_t)take[ORDER]) & MASK;
    }
}

/* Where tasks exchange, every replica has the counts of all; else each has its own. */
void artel__audit_stepped(artel__fit *fit)
{
    const artel__session *session = fit->session;
    int replicas = session->cluster && session->ranks > session->replicas ? 1 : session->replicas;
    if (!fit->audit.on) return;
    for (int r = 0; r < replicas; r++)
        add(&fit->audit, session->replica[r].mode[ARTEL__MODE_TRAIN].audit.take, session->options.shards);
}

void artel__audit_begin_pass(artel__fit *fit)
{
    fit->audit.pass_elements = 0;
    fit->audit.pass_digest = 0;
    fit->audit.pass_whole = true;
}

/* How often a pass has each row: once for each pipeline that has all of them. */
static int64_t times_of(const artel__fit *fit)
{
    return fit->input.batches.repeated > 0 ? fit->input.batches.pipelines : 1;
}

/* What the numbers of all rows, each as often as a pass has it, add up to. */
static bool is_each_once(const artel__fit *fit)
{
    uint64_t sum = 0;
    int64_t times = times_of(fit), rows = fit->input.batches.rows / times;
    for (int64_t i = 0; i < rows; i++) sum += mix((uint64_t)i) * (uint64_t)times;
    return fit->audit.pass_elements == fit->input.batches.rows && fit->audit.pass_digest == (sum & MASK);
}

/* Both of the epoch that the account is of, which the fit's own counter may have left behind. */
static void tell(artel__fit *fit, const artel__audit_account *a)
{
    char digest[16], order[16], verdict[96];
    int64_t epoch = fit->at.epoch;
    snprintf(digest, sizeof digest, "%013llx", (unsigned long long)a->digest);
    snprintf(order, sizeof order, "%013llx", (unsigned long long)a->order);
    if (a->once && a->times > 1)
        snprintf(verdict, sizeof verdict, "each of %lld %lld times", (long long)(a->rows / a->times),
                 (long long)a->times);
    else if (a->once)
        snprintf(verdict, sizeof verdict, "each of %lld once", (long long)a->rows);
    else
        snprintf(verdict, sizeof verdict, "%lld of %lld in this pass%s", (long long)a->pass_elements,
                 (long long)a->rows, a->over ? ", NOT each once" : "");
    if (fit->writes)
        artel__log(fit->ctx, a->over && !a->once ? ARTEL_LOG_WARNING : ARTEL_LOG_NOTE,
                   "audit: epoch %lld: %lld elements%s, %s, digest %s, order %s", (long long)a->epoch + 1,
                   (long long)a->elements, a->whole ? "" : " since this run was continued", verdict, digest, order);
    artel_event event = {.kind = ARTEL_EVENT_AUDIT,
                         .examples = a->elements,
                         .digest = digest,
                         .text = order,
                         .pass_examples = a->pass_elements,
                         .rows = a->rows,
                         .each_once = a->once   ? 1
                                      : a->over ? 0
                                                : -1};
    fit->at.epoch = a->epoch;
    artel__fit_event(fit, &event);
    fit->at.epoch = epoch;
}

void artel__audit_epoch_end(artel__fit *fit)
{
    artel__fit_audit *audit = &fit->audit;
    if (!audit->on) return;
    bool over = fit->input.batches.cursor >= fit->input.batches.rows && audit->pass_whole;
    audit->last = (artel__audit_account){.unit = fit->writes ? 0 : fit->at.unit + 1,
                                         .epoch = fit->at.epoch,
                                         .elements = audit->elements,
                                         .pass_elements = audit->pass_elements,
                                         .rows = fit->input.batches.rows,
                                         .times = times_of(fit),
                                         .digest = audit->digest,
                                         .order = audit->order,
                                         .whole = audit->whole,
                                         .over = over,
                                         .once = over && is_each_once(fit)};
    tell(fit, &audit->last);
    audit->elements = 0;
    audit->digest = audit->order = 0;
    audit->whole = true;
}

void artel__audit_take_over(artel__fit *fit)
{
    artel__audit_account *last = &fit->audit.last;
    if (!fit->writes || last->unit == 0) return;
    if (last->unit == fit->at.unit) tell(fit, last);
    last->unit = 0;
}

/* An account that another task was to say, for who gets this position and may have to say it; NULL: there is none. */
static json_t *save_last(const artel__audit_account *a)
{
    if (a->unit == 0) return NULL;
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:b, s:b}", "unit", (json_int_t)a->unit, "epoch",
                     (json_int_t)a->epoch, "elements", (json_int_t)a->elements, "pass_elements",
                     (json_int_t)a->pass_elements, "rows", (json_int_t)a->rows, "times", (json_int_t)a->times, "digest",
                     (json_int_t)a->digest, "order", (json_int_t)a->order, "whole", a->whole, "over", a->over, "once",
                     a->once);
}

json_t *artel__audit_save(const artel__fit *fit)
{
    const artel__fit_audit *a = &fit->audit; /* sums are below 2^52: whole in JSON */
    return json_pack("{s:b, s:b, s:b, s:I, s:I, s:I, s:I, s:I, s:o*}", "on", a->on, "whole", a->whole, "pass_whole",
                     a->pass_whole, "elements", (json_int_t)a->elements, "digest", (json_int_t)a->digest, "order",
                     (json_int_t)a->order, "pass_elements", (json_int_t)a->pass_elements, "pass_digest",
                     (json_int_t)a->pass_digest, "last", save_last(&a->last));
}

static int64_t number_of(const json_t *saved, const char *key)
{
    return json_integer_value(json_object_get(saved, key));
}

static artel__audit_account restore_last(const json_t *saved)
{
    return (artel__audit_account){.unit = number_of(saved, "unit"),
                                  .epoch = number_of(saved, "epoch"),
                                  .elements = number_of(saved, "elements"),
                                  .pass_elements = number_of(saved, "pass_elements"),
                                  .rows = number_of(saved, "rows"),
                                  .times = number_of(saved, "times"),
                                  .digest = (uint64_t)number_of(saved, "digest") & MASK,
                                  .order = (uint64_t)number_of(saved, "order") & MASK,
                                  .whole = json_is_true(json_object_get(saved, "whole")),
                                  .over = json_is_true(json_object_get(saved, "over")),
                                  .once = json_is_true(json_object_get(saved, "once"))};
}

/* A position that was saved without an account begins one in its midst. */
void artel__audit_restore(artel__fit *fit, const json_t *saved)
{
    artel__fit_audit *a = &fit->audit;
    bool on = json_is_true(json_object_get(saved, "on"));
    if (!a->on) return;
    *a = (artel__fit_audit){
        .on = true, .whole = fit->at.step_in_epoch == 0, .pass_whole = fit->input.batches.cursor == 0};
    if (fit->input.batches.cursor >= fit->input.batches.rows)
        a->pass_whole = true; /* the next step begins another one */
    if (!on) return;
    a->whole = json_is_true(json_object_get(saved, "whole"));
    a->pass_whole = json_is_true(json_object_get(saved, "pass_whole"));
    a->elements = number_of(saved, "elements");
    a->digest = (uint64_t)number_of(saved, "digest") & MASK;
    a->order = (uint64_t)number_of(saved, "order") & MASK;
    a->pass_elements = number_of(saved, "pass_elements");
    a->pass_digest = (uint64_t)number_of(saved, "pass_digest") & MASK;
    a->last = restore_last(json_object_get(saved, "last"));
}
