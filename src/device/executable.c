/* SPDX-License-Identifier: Apache-2.0 */
/* Writing and compiling the programs of a graph. */
#include "device/executable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/threads.h"
#include "device/platform_impl.h"
#include "graph/hlo.h"

enum {
    MOST_COMPILERS = 31
};

/* -- which values live how long -- */

static void note_reads(const artel__cut_program *program, int32_t stage, int32_t *last)
{
    for (int i = 0; i < program->ins; i++) {
        if (last[program->in[i]] < stage) last[program->in[i]] = stage;
    }
}

static artel_status list_spent(artel__device_executable *x, const int32_t *last)
{
    const artel__graph *graph = x->graph;
    x->spent = artel__arena_alloc(&x->arena, (size_t)x->cut.stages, sizeof *x->spent);
    x->spent_count = artel__arena_alloc(&x->arena, (size_t)x->cut.stages, sizeof *x->spent_count);
    for (int s = 0; s < x->cut.stages && x->spent_count; s++) {
        int count = 0;
        for (int i = 0; i < graph->values; i++) count += last[i] == s;
        x->spent[s] = artel__arena_alloc(&x->arena, (size_t)count + 1, sizeof **x->spent);
        if (!x->spent[s]) break;
        for (artel__value_id i = 0; i < graph->values; i++) {
            if (last[i] == s) x->spent[s][x->spent_count[s]++] = i;
        }
    }
    return artel__arena_status(&x->arena);
}

static artel_status find_lives(artel__device_executable *x)
{
    const artel__graph *graph = x->graph;
    int32_t *last = x->last = artel__arena_alloc(&x->arena, (size_t)graph->values + 1, sizeof *last);
    if (!last) return ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < graph->values; i++) last[i] = -1;
    for (int s = 0; s < x->cut.stages; s++) {
        const artel__cut_stage *stage = &x->cut.stage[s];
        note_reads(&stage->common, s, last);
        note_reads(&stage->rows, s, last);
        for (int i = 0; i < stage->collectives; i++) last[graph->node[stage->collective[i]].input[0]] = s;
    }
    note_reads(&x->cut.apply, x->cut.stages, last);
    for (int i = 0; i < graph->kept_count; i++) last[graph->kept[i]] = x->cut.stages;
    return list_spent(x, last);
}

static artel_status find_written(artel__device_executable *x)
{
    const artel__graph *graph = x->graph;
    bool *writes = artel__arena_alloc(&x->arena, (size_t)graph->values + 1, sizeof *writes);
    if (!writes) return ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < x->cut.apply.nodes; i++) {
        const artel__node *node = &graph->node[x->cut.apply.node[i]];
        for (int k = 0; node->op->writes && k < node->op->written && k < node->inputs; k++) {
            if (node->input[k] >= 0) writes[node->input[k]] = true;
        }
    }
    for (int i = 0; i < graph->values; i++) x->writes += writes[i];
    x->written = artel__arena_alloc(&x->arena, (size_t)x->writes + 1, sizeof *x->written);
    for (int i = 0, n = 0; i < graph->values && x->written; i++) {
        if (writes[i]) x->written[n++] = i;
    }
    return artel__arena_status(&x->arena);
}

/* -- the text of a program -- */

const artel__cut_program *artel__step_part_of(const artel__device_executable *x, int stage, artel__step_part part)
{
    return part == ARTEL__PART_APPLY    ? &x->cut.apply
           : part == ARTEL__PART_COMMON ? &x->cut.stage[stage].common
           : part == ARTEL__PART_ROWS   ? &x->cut.stage[stage].rows
           : part == ARTEL__PART_STEP   ? &x->cut.step
                                        : NULL;
}

static bool is_written(const artel__device_executable *x, artel__value_id id)
{
    for (int i = 0; i < x->writes; i++) {
        if (x->written[i] == id) return true;
    }
    return false;
}

/* A program writes over no value that somebody else reads: variables in APPLY alone, and not where that is launched
 * before it is known that the step counts (STEP). */
static artel_status write_part(artel__device_executable *x, const artel__step_program *p, artel__text *text,
                               artel__lowered *lowered)
{
    const artel__cut_program *cut = artel__step_part_of(x, p->stage, p->part);
    int extra = p->part == ARTEL__PART_APPLY || p->part == ARTEL__PART_STEP ? x->writes : 0;
    artel__value_id *out = artel__arena_alloc(&x->arena, (size_t)(cut->outs + extra) + 1, sizeof *out);
    bool *given = artel__arena_alloc(&x->arena, (size_t)cut->ins + 1, sizeof *given);
    ARTEL_TRY(artel__arena_status(&x->arena));
    memcpy(out, cut->out, (size_t)cut->outs * sizeof *out);
    memcpy(out + cut->outs, x->written, (size_t)extra * sizeof *out);
    for (int i = 0; i < cut->ins && p->part == ARTEL__PART_APPLY && !p->inside; i++)
        given[i] = is_written(x, cut->in[i]);
    artel__lower_request request = {.graph = x->graph,
                                    .node = cut->node,
                                    .nodes = cut->nodes,
                                    .in = cut->in,
                                    .ins = cut->ins,
                                    .out = out,
                                    .outs = cut->outs + extra,
                                    .given = given,
                                    .rows = p->rows,
                                    .batch = p->batch,
                                    .precision = x->place->precision,
                                    .narrow = x->place->narrow,
                                    .half = x->place->fast,
                                    .scan = p->scan,
                                    .single = strcmp(x->place->kind, "tpu") == 0};
    return artel__lower_write(&request, &x->arena, text, lowered);
}

artel_status artel__step_part_write(artel__device_executable *x, int stage, artel__step_part part, int64_t rows,
                                    int64_t batch, artel__text *text, artel__lowered *out)
{
    artel__step_program p = {.stage = stage, .part = part, .rows = rows, .batch = batch, .inside = true};
    return write_part(x, &p, text, out);
}

/* -- programs -- */

static artel__program_source source_of(const artel__device_executable *x, const artel__step_program *p,
                                       const char *name)
{
    bool joint = p->part == ARTEL__PART_JOINT || p->part == ARTEL__PART_ALL;
    return (artel__program_source){.name = name,
                                   .text = p->text.data,
                                   .length = p->text.length,
                                   .device = joint ? x->place->device : NULL,
                                   .replicas = joint ? x->joint->members : 0};
}

/* Any thread. */
static artel_status compile(const artel__device_executable *x, artel__step_program *p)
{
    char name[96];
    if (p->program || !p->text.length) return ARTEL_OK;
    artel__step_program_name(x, p, name, sizeof name);
    artel__program_source source = source_of(x, p, name);
    ARTEL_TRY(artel__program_obtain(x->place->platform, &source, &p->program));
    artel__text_fini(&p->text);
    return ARTEL_OK;
}

static bool is_empty(const artel__device_executable *x, int stage, artel__step_part part)
{
    const artel__cut_program *cut = artel__step_part_of(x, stage, part);
    if (part == ARTEL__PART_ALL) return false;
    return cut ? cut->nodes == 0 : x->cut.stage[stage].collectives == 0;
}

/* Written, if it was not yet. */
static artel_status find(artel__device_executable *x, const artel__step_program *wanted, artel__step_program **out)
{
    artel__step_program **list = &x->of_part[ARTEL__PARTS * wanted->stage + (int)wanted->part];
    for (artel__step_program *p = *list; p; p = p->beside) {
        if (p->rows == wanted->rows && p->first == wanted->first && p->count == wanted->count &&
            p->scan == wanted->scan && (p->batch == wanted->batch || !p->lowered.by_batch)) {
            *out = p;
            return ARTEL_OK;
        }
    }
    artel__step_program *p = artel__arena_alloc(&x->arena, 1, sizeof *p);
    if (!p) return ARTEL_ERROR_NO_MEMORY;
    *p = *wanted;
    artel__text_init(&p->text, x->ctx);
    artel_status status = p->part == ARTEL__PART_COMBINE ? artel__step_combine_write(x, p, &p->text)
                          : p->part == ARTEL__PART_JOINT ? artel__step_joint_write(x, p, &p->text)
                          : p->part == ARTEL__PART_ALL   ? artel__step_all_write(x, p, &p->text)
                          : p->part == ARTEL__PART_GROUP ? artel__step_group_write(x, p, &p->text)
                                                         : write_part(x, p, &p->text, &p->lowered);
    if (status < 0) {
        artel__text_fini(&p->text);
        return status;
    }
    artel__program_source source = source_of(x, p, "");
    if (p->text.length) artel__program_key(x->place->platform, &source, p->key);
    p->next = x->first;
    x->first = p;
    p->beside = *list;
    *list = p;
    *out = p;
    return ARTEL_OK;
}

static artel_status refuse(const artel__device_executable *x, const char *operations)
{
    return artel__fail(x->ctx, ARTEL_ERROR_UNSUPPORTED, "device", "train on processors; see docs/devices.md",
                       "devices do not compute these operations in this version: %.600s", operations);
}

/* NULL in *out: there is nothing to run. */
static artel_status write_one(artel__device_executable *x, int stage, artel__step_part part, int64_t rows,
                              int64_t batch, bool scan, artel__step_program **out)
{
    artel__step_program wanted = {.stage = stage, .part = part, .batch = batch, .scan = scan};
    *out = NULL;
    if (is_empty(x, stage, part)) return ARTEL_OK;
    bool by_rows = part == ARTEL__PART_ROWS || part == ARTEL__PART_STEP || part == ARTEL__PART_ALL;
    if (by_rows || part == ARTEL__PART_COMBINE) wanted.rows = rows;
    return find(x, &wanted, out);
}

artel_status artel__step_program_find(artel__device_executable *x, int stage, artel__step_part part, int64_t rows,
                                      int64_t batch, bool scan, const artel__step_program **out)
{
    artel__step_program *p;
    pthread_mutex_lock(&x->lock);
    artel_status status = write_one(x, stage, part, rows, batch, scan, &p);
    if (status == ARTEL_OK && p) status = p->lowered.refused ? refuse(x, p->lowered.refused) : compile(x, p);
    pthread_mutex_unlock(&x->lock);
    *out = p;
    return status;
}

artel_status artel__step_group_find(artel__device_executable *x, int stage, const artel__fold_plan *fold,
                                    const artel__step_program **out)
{
    artel__step_program *p = NULL;
    artel__step_program wanted = {
        .stage = stage, .part = ARTEL__PART_GROUP, .batch = fold->batch, .first = fold->first, .count = fold->count};
    pthread_mutex_lock(&x->lock);
    artel_status status = find(x, &wanted, &p);
    if (status == ARTEL_OK) status = p->lowered.refused ? refuse(x, p->lowered.refused) : compile(x, p);
    pthread_mutex_unlock(&x->lock);
    *out = status == ARTEL_OK && p->program ? p : NULL;
    return status;
}

/* -- all that a full batch needs -- */

static artel_status try_one(artel__device_executable *x, int stage, artel__step_part part, int64_t rows,
                            artel__text *refused)
{
    artel__step_program *p;
    ARTEL_TRY(write_one(x, stage, part, rows, x->options.batch_size, false, &p));
    if (p && p->lowered.refused) artel__text_printf(refused, "%s%s", refused->length ? ", " : "", p->lowered.refused);
    return artel__text_status(refused);
}

/* That of a replica alone. */
static artel_status try_group(artel__device_executable *x, int stage)
{
    artel__step_program *p,
        wanted = {
            .stage = stage, .part = ARTEL__PART_GROUP, .batch = x->options.batch_size, .count = x->options.shards};
    return x->options.batch_size >= x->options.shards ? find(x, &wanted, &p) : ARTEL_OK;
}

static artel_status try_all(artel__device_executable *x, artel__text *refused)
{
    int64_t batch = x->options.batch_size, least = batch / x->options.shards,
            most = (batch + x->options.shards - 1) / x->options.shards;
    if (x->cut.step.nodes) return try_one(x, 0, ARTEL__PART_STEP, batch, refused);
    if (artel__step_all_takes(x, batch)) {
        ARTEL_TRY(try_one(x, 0, ARTEL__PART_ALL, most, refused));
        if (refused->length == 0) return ARTEL_OK;
        artel__text_clear(refused); /* all names, from the parts */
    }
    for (int s = 0; s < x->cut.stages; s++) {
        ARTEL_TRY(try_one(x, s, ARTEL__PART_COMMON, 0, refused));
        ARTEL_TRY(try_one(x, s, ARTEL__PART_ROWS, most, refused));
        if (least != most && least) ARTEL_TRY(try_one(x, s, ARTEL__PART_ROWS, least, refused));
        if (x->options.replicas == 1) ARTEL_TRY(try_one(x, s, ARTEL__PART_COMBINE, x->options.shards, refused));
        if (x->joint) ARTEL_TRY(try_one(x, s, ARTEL__PART_JOINT, 0, refused));
        if (x->options.replicas == 1 && x->grouped[s] && refused->length == 0) ARTEL_TRY(try_group(x, s));
    }
    return try_one(x, 0, ARTEL__PART_APPLY, 0, refused);
}

/* Threads that compile what is written, one program after another. */
typedef struct compiling {
    artel__device_executable *x;
    pthread_mutex_t lock;
    artel__step_program *const *list;
    int next, done, count;
    int64_t begin_ns, tell_ns, every_ns; /* when to say how far they are */
    bool stops;                          /* when the context is cancelled */
    artel_status status;
} compiling;

enum {
    TELL_SECONDS = 10
};

static int64_t tell_every_ns(void)
{
    const char *text = getenv("ARTEL_COMPILE_NOTE_SECONDS");
    int64_t seconds;
    bool given = text && artel__parse_int64(text, &seconds) && seconds >= 0 && seconds <= 86400;
    return (given ? seconds : TELL_SECONDS) * INT64_C(1000000000);
}

/* Holds the lock. */
static void tell_progress(compiling *c)
{
    int64_t now = artel__now_ns();
    c->done++;
    if (c->status < 0 || c->done == c->count || now < c->tell_ns) return;
    c->tell_ns = now + c->every_ns;
    artel__log(c->x->ctx, ARTEL_LOG_NOTE, "device: %d of %d programs are compiled, after %.0f s", c->done, c->count,
               (double)(now - c->begin_ns) * 1e-9);
}

/* Somebody waits for the end, which may be minutes away. Holds the lock. */
static artel_status look_for_stop(const compiling *c)
{
    artel_context *ctx = c->x->ctx;
    bool preempted = artel__preempted(ctx);
    if (!preempted && !artel__cancelled(ctx)) return ARTEL_OK;
    return artel__fail(ctx, preempted ? ARTEL_ERROR_PREEMPTED : ARTEL_ERROR_CANCELLED, "device",
                       "start the same command again", "stopped on request, with %d of %d programs compiled", c->done,
                       c->count);
}

static void *compile_next(void *user)
{
    compiling *c = user;
    for (;;) {
        pthread_mutex_lock(&c->lock);
        if (c->stops && c->status == ARTEL_OK && c->next < c->count) c->status = look_for_stop(c);
        artel__step_program *p = c->status == ARTEL_OK && c->next < c->count ? c->list[c->next++] : NULL;
        pthread_mutex_unlock(&c->lock);
        if (!p) return NULL;
        artel_status status = compile(c->x, p);
        pthread_mutex_lock(&c->lock);
        if (status < 0) c->status = status;
        tell_progress(c);
        pthread_mutex_unlock(&c->lock);
    }
}

/* With fewer threads it takes longer. */
static artel_status compile_list(artel__device_executable *x, artel__step_program *const *list, int count, bool stops)
{
    compiling c = {.x = x, .lock = PTHREAD_MUTEX_INITIALIZER, .list = list, .count = count, .stops = stops};
    pthread_t thread[MOST_COMPILERS];
    int cores = artel__usable_cores(), threads = 0;
    c.begin_ns = artel__now_ns();
    c.every_ns = tell_every_ns();
    c.tell_ns = c.begin_ns + c.every_ns;
    while (threads < MOST_COMPILERS && threads < cores - 1 && threads < count - 1 &&
           pthread_create(&thread[threads], NULL, compile_next, &c) == 0)
        threads++;
    compile_next(&c);
    for (int i = 0; i < threads; i++) pthread_join(thread[i], NULL);
    pthread_mutex_destroy(&c.lock);
    return c.status;
}

artel_status artel__step_programs_compile(artel__device_executable *x, artel__step_program *const *list, int count)
{
    return compile_list(x, list, count, false);
}

/* Puts programs of different texts first, and says how many they are: blocks of a model that are alike have the same
 * programs, and two threads would make one of them twice. */
static int put_different_first(artel__step_program **list, int count)
{
    int different = 0;
    for (int i = 0; i < count; i++) {
        artel__step_program *p = list[i];
        bool met = false;
        for (int k = 0; k < different && !met; k++) met = memcmp(list[k]->key, p->key, sizeof p->key) == 0;
        if (met) continue;
        list[i] = list[different];
        list[different++] = p;
    }
    return different;
}

/* Nothing has begun that could be lost; among tasks whoever is asked to leave says so first. */
static artel_status compile_all(artel__device_executable *x)
{
    int count = 0;
    for (artel__step_program *p = x->first; p; p = p->next) count++;
    artel__step_program **list = artel__arena_alloc(&x->arena, (size_t)count + 1, sizeof *list);
    if (!list) return ARTEL_ERROR_NO_MEMORY;
    count = 0;
    bool whole = x->options.batch_size >= x->options.shards; /* then stages in groups have no other programs */
    for (artel__step_program *p = x->first; p; p = p->next) {
        bool other = p->part == ARTEL__PART_COMMON || p->part == ARTEL__PART_ROWS || p->part == ARTEL__PART_COMBINE;
        if (!other || !whole || !x->grouped[p->stage]) list[count++] = p;
    }
    int different = put_different_first(list, count);
    ARTEL_TRY(compile_list(x, list, different, !x->options.across));
    for (int i = different; i < count; i++) ARTEL_TRY(compile(x, list[i]));
    return ARTEL_OK;
}

/* -- what all replicas need -- */

int artel__step_programs_most(const artel__device_executable *x)
{
    return 3 * x->cut.stages + 1;
}

bool artel__step_programs_are_shared(const artel__device_executable *x)
{
    return x->options.across && !x->options.staged && x->place->platform->measures;
}

static artel_status list_one(artel__device_executable *x, int stage, artel__step_part part, const int64_t rows_of[2],
                             bool scan, artel__step_program **out, int *count)
{
    artel__step_program *p;
    ARTEL_TRY(write_one(x, stage, part, rows_of[0], rows_of[1], scan, &p));
    if (!p) return ARTEL_OK;
    if (p->lowered.refused) return refuse(x, p->lowered.refused);
    out[(*count)++] = p;
    return ARTEL_OK;
}

static artel_status list_all(artel__device_executable *x, int64_t batch, bool scan, artel__step_program **out,
                             int *count)
{
    int64_t least = batch / x->options.shards, most = (batch + x->options.shards - 1) / x->options.shards;
    *count = 0;
    if (x->cut.step.nodes && !scan)
        return list_one(x, 0, ARTEL__PART_STEP, (int64_t[]){batch, batch}, false, out, count);
    if (artel__step_all_takes(x, batch) && !scan)
        return list_one(x, 0, ARTEL__PART_ALL, (int64_t[]){most, batch}, false, out, count);
    for (int s = 0; s < x->cut.stages; s++) {
        ARTEL_TRY(list_one(x, s, ARTEL__PART_COMMON, (int64_t[]){0, batch}, scan, out, count));
        ARTEL_TRY(list_one(x, s, ARTEL__PART_ROWS, (int64_t[]){most, batch}, scan, out, count));
        if (least != most && least)
            ARTEL_TRY(list_one(x, s, ARTEL__PART_ROWS, (int64_t[]){least, batch}, scan, out, count));
    }
    return list_one(x, 0, ARTEL__PART_APPLY, (int64_t[]){0, batch}, false, out, count);
}

artel_status artel__step_programs_list(artel__device_executable *x, int64_t batch, bool scan, artel__step_program **out,
                                       int *count)
{
    pthread_mutex_lock(&x->lock);
    artel_status status = list_all(x, batch, scan, out, count);
    pthread_mutex_unlock(&x->lock);
    return status;
}

static bool hash_programs(artel__step_program *const *list, int count, char out[65])
{
    artel__sha256 hash;
    artel__sha256_init(&hash);
    for (int i = 0; i < count; i++) {
        if (!list[i]->program) return false;
        artel__sha256_update(&hash, list[i]->key, sizeof list[i]->key);
        artel__sha256_update(&hash, artel__program_hash(list[i]->program), ARTEL__PROGRAM_KEY);
    }
    artel__sha256_hex(&hash, out);
    return true;
}

bool artel__step_programs_hash(artel__device_executable *x, char out[65])
{
    void *block;
    int count;
    bool known = false;
    if (!x->place->platform->measures) return false;
    if (artel__alloc(x->ctx, (size_t)artel__step_programs_most(x) * sizeof(artel__step_program *), "device", &block) <
        0)
        return false;
    pthread_mutex_lock(&x->lock);
    if (list_all(x, x->options.batch_size, false, block, &count) == ARTEL_OK) known = hash_programs(block, count, out);
    pthread_mutex_unlock(&x->lock);
    artel__free(x->ctx, block);
    return known;
}

static artel_status make_those_needed(artel__device_executable *x)
{
    artel__text refused;
    artel__text_init(&refused, x->ctx);
    artel_status status = try_all(x, &refused);
    if (status == ARTEL_OK && refused.length) status = refuse(x, refused.data);
    artel__text_fini(&refused);
    return status == ARTEL_OK && !artel__step_programs_are_shared(x) ? compile_all(x) : status;
}

/* The step of all replicas has a second copy of the variables: where there is no room for it, part comes after part,
 * which gives the same bits. */
static artel_status make_programs(artel__device_executable *x)
{
    ARTEL_TRY(make_those_needed(x));
    if (artel__step_all_takes(x, x->options.batch_size) && !artel__step_memory_suffices(x)) {
        x->all = false;
        x->first = NULL;
        memset(x->of_part, 0, (size_t)(ARTEL__PARTS * x->cut.stages) * sizeof *x->of_part);
        ARTEL_TRY(make_those_needed(x));
    }
    return artel__step_memory_check(x);
}

/* A kept value comes before the barrier: what APPLY makes is not known then. */
static artel_status check_kept(const artel__device_executable *x)
{
    for (int i = 0; i < x->graph->kept_count; i++) {
        int32_t node = x->graph->value[x->graph->kept[i]].node;
        for (int k = 0; k < x->cut.apply.nodes; k++) {
            if (x->cut.apply.node[k] == node)
                return artel__fail(x->ctx, ARTEL_ERROR_UNSUPPORTED, "device", "train on processors",
                                   "a result of the variables' step is kept");
        }
    }
    return ARTEL_OK;
}

static artel_status prepare(artel__device_executable *x)
{
    x->joined = x->place->fast && x->options.replicas == 1 && x->options.shards == 1;
    ARTEL_TRY((x->joined ? artel__graph_join : artel__graph_cut)(x->graph, &x->arena, &x->cut));
    x->of_part = artel__arena_alloc(&x->arena, (size_t)(ARTEL__PARTS * x->cut.stages), sizeof *x->of_part);
    if (!x->of_part) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(find_lives(x));
    ARTEL_TRY(find_written(x));
    ARTEL_TRY(check_kept(x));
    ARTEL_TRY(artel__step_joint_create(x));
    ARTEL_TRY(artel__step_group_decide(x));
    return make_programs(x);
}

artel_status artel__device_executable_create(artel_context *ctx, const artel__device_place *place,
                                             const artel__graph *graph, const artel__plan_options *options,
                                             artel__device_executable **out)
{
    void *block;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel__device_executable), "device", &block));
    artel__device_executable *x = block;
    *x = (artel__device_executable){.ctx = ctx, .place = place, .graph = graph, .options = *options};
    artel__arena_init(&x->arena, ctx);
    pthread_mutex_init(&x->lock, NULL);
    artel_status status = prepare(x);
    if (status == ARTEL_OK)
        *out = x;
    else
        artel__device_executable_destroy(x);
    return status;
}

void artel__device_executable_destroy(artel__device_executable *x)
{
    for (artel__step_program *p = x->first; p; p = p->next) {
        artel__text_fini(&p->text);
    }
    artel__step_joint_destroy(x);
    pthread_mutex_destroy(&x->lock);
    artel__arena_fini(&x->arena);
    artel__free(x->ctx, x);
}
