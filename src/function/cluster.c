/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of units, alone and among the tasks of a cluster.
 *
 * Between two units the state is whole (all variables, the counters) and a function of the unit's number, as between
 * two units of fit (train/regroup.c). Whoever was interrupted takes back what the running unit has written, rests,
 * follows the mesh's orders (gives its state, takes another one's) and goes on in the next seat. What tasks must have
 * in common, the functions and variables themselves, is compared when they form.
 */
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "function/function_impl.h"

#define MOST_UNITS 1000000000000000

struct artel__loop {
    artel_strategy *strategy;
    artel_cluster *cluster; /* NULL: alone */
    artel__mesh_seat seat;
    int64_t units, done;
    bool running, seated, over, interrupted, writer, last, begun;
    int64_t runs_of_unit; /* so far */
    bool kept;            /* of the running unit there is one */
    bool keeps;           /* the units before had more than one run: a copy of the state is kept while one is made */
    void *image;          /* of the state before the running unit */
    int64_t *counter;     /* of that time: runs, then steps of each optimizer */
    int counters;
    void *words; /* of that time: variables of strings; NULL: there are none */
    size_t words_bytes;
};

/* What goes with the variables from task to task. */
typedef struct head {
    uint64_t bytes, counters, hash;
    uint64_t words, words_hash; /* bytes of variables of strings */
} head;

static uint64_t hash_of(const artel_strategy *s)
{
    return artel__words_hash(s, artel__state_hash(s->state[0], artel__all_of(&s->variables)));
}

/* -- the state of a unit -- */

int artel__counters_count(const artel_strategy *s)
{
    int count = 1;
    for (const artel_optimizer *o = s->optimizer; o; o = o->next) count++;
    return count;
}

void artel__counters_read(const artel_strategy *s, int64_t *out)
{
    *out++ = s->runs;
    for (const artel_optimizer *o = s->optimizer; o; o = o->next) *out++ = o->iterations;
}

void artel__counters_write(artel_strategy *s, const int64_t *from)
{
    s->runs = *from++;
    for (artel_optimizer *o = s->optimizer; o; o = o->next) o->iterations = *from++;
}

static artel_status keep_state(struct artel__loop *l)
{
    artel_strategy *s = l->strategy;
    artel__counters_read(s, l->counter);
    l->kept = false;
    if (!l->keeps) return ARTEL_OK;
    artel__state_image(s->state[0], artel__all_of(&s->variables), l->image);
    artel__free(s->ctx, l->words);
    l->words = NULL;
    ARTEL_TRY(artel__words_image(s, &l->words, &l->words_bytes));
    l->kept = true;
    return ARTEL_OK;
}

static void restore_all(artel_strategy *s, const void *image)
{
    artel__variable_range all = artel__all_of(&s->variables);
    artel__state_restore(s->state[0], all, image);
    for (int r = 1; r < s->plan.replicas && !s->common; r++) artel__state_copy(s->state[r], s->state[0], all);
}

/* A run that was interrupted has written nothing; those before it in the same unit have. */
static artel_status take_back(struct artel__loop *l)
{
    artel_strategy *s = l->strategy;
    if (l->runs_of_unit == 0) return ARTEL_OK;
    if (!l->kept)
        return artel__fail(
            s->ctx, ARTEL_ERROR_RUN, "loop", "let every unit make as many runs that write variables as the one before",
            "unit %lld was interrupted after a run, and the units before had made one", (long long)l->done);
    if (l->words) ARTEL_TRY(artel__words_take_image(s, l->words, l->words_bytes));
    restore_all(s, l->image);
    artel__counters_write(s, l->counter);
    l->runs_of_unit = 0;
    return ARTEL_OK;
}

static artel_status make_room(struct artel__loop *l)
{
    artel_strategy *s = l->strategy;
    void *counter;
    if (l->counter) return ARTEL_OK;
    l->counters = artel__counters_count(s);
    ARTEL_TRY(
        artel__alloc(s->ctx, artel__image_bytes(&s->variables, artel__all_of(&s->variables)) + 1, "loop", &l->image));
    ARTEL_TRY(artel__calloc(s->ctx, (size_t)l->counters, sizeof *l->counter, "loop", &counter));
    l->counter = counter;
    l->keeps = true; /* until the first unit has shown how many runs it makes */
    return ARTEL_OK;
}

/* -- from task to task -- */

/* Who asked notices a failure, and asks again or is lost. */
static void send_state(struct artel__loop *l, artel__mesh_stream *stream)
{
    artel_strategy *s = l->strategy;
    artel__variable_range all = artel__all_of(&s->variables);
    head h = {artel__image_bytes(&s->variables, all), (uint64_t)l->counters, artel__state_hash(s->state[0], all), 0, 0};
    void *words = NULL;
    size_t bytes = 0;
    if (artel__words_image(s, &words, &bytes) < 0) return;
    h.words = bytes;
    h.words_hash = bytes ? artel__hash64(words, bytes) : 0;
    artel__counters_read(s, l->counter);
    artel__state_image(s->state[0], all, l->image);
    int64_t done = l->done;
    artel_status status = artel__mesh_send(stream, &h, sizeof h);
    if (status == ARTEL_OK) status = artel__mesh_send(stream, &done, sizeof done);
    if (status == ARTEL_OK) status = artel__mesh_send(stream, l->counter, (size_t)l->counters * sizeof *l->counter);
    if (status == ARTEL_OK) status = artel__mesh_send(stream, l->image, (size_t)h.bytes);
    if (status == ARTEL_OK && bytes) artel__mesh_send(stream, words, bytes);
    artel__free(s->ctx, words);
}

static artel_status misfit(const artel_strategy *s, const char *what)
{
    return artel__fail(s->ctx, ARTEL_ERROR_INVALID, "state", "run the same program everywhere",
                       "the state of another task %s", what);
}

/* Variables of strings: *out is the caller's. */
static artel_status receive_words(const artel_strategy *s, artel__mesh_stream *stream, const head *h, void **out)
{
    *out = NULL;
    if ((h->words > 0) != (s->words != NULL)) return misfit(s, "does not fit these variables");
    if (h->words == 0) return ARTEL_OK;
    ARTEL_TRY(artel__alloc(s->ctx, (size_t)h->words, "state", out));
    artel_status status = artel__mesh_receive(stream, *out, (size_t)h->words);
    if (status == ARTEL_OK && artel__hash64(*out, (size_t)h->words) != h->words_hash) status = misfit(s, "is damaged");
    if (status == ARTEL_OK) return ARTEL_OK;
    artel__free(s->ctx, *out);
    *out = NULL;
    return status;
}

static artel_status take_state(struct artel__loop *l, artel__mesh_stream *stream)
{
    artel_strategy *s = l->strategy;
    head h;
    int64_t done;
    void *words;
    ARTEL_TRY(artel__mesh_receive(stream, &h, sizeof h));
    if (h.bytes != artel__image_bytes(&s->variables, artel__all_of(&s->variables)) ||
        h.counters != (uint64_t)l->counters)
        return misfit(s, "does not fit these variables");
    ARTEL_TRY(artel__mesh_receive(stream, &done, sizeof done));
    ARTEL_TRY(artel__mesh_receive(stream, l->counter, (size_t)l->counters * sizeof *l->counter));
    ARTEL_TRY(artel__mesh_receive(stream, l->image, (size_t)h.bytes));
    if (artel__hash64(l->image, (size_t)h.bytes) != h.hash || done < 0) return misfit(s, "is damaged");
    ARTEL_TRY(receive_words(s, stream, &h, &words));
    artel_status status = words ? artel__words_take_image(s, words, (size_t)h.words) : ARTEL_OK;
    artel__free(s->ctx, words);
    ARTEL_TRY(status);
    restore_all(s, l->image);
    artel__counters_write(s, l->counter);
    l->done = done;
    return ARTEL_OK;
}

static artel_status copy(struct artel__loop *l, const artel__mesh_order *order)
{
    artel_status status = take_state(l, order->stream);
    bool whole = status == ARTEL_OK && (uint64_t)l->done == order->step;
    if (status == ARTEL_OK)
        artel__log(l->strategy->ctx, ARTEL_LOG_NOTE, "continuing from unit %lld, with the state of another task",
                   (long long)l->done);
    artel__mesh_copied(l->cluster, whole, hash_of(l->strategy));
    return status == ARTEL_ERROR_RUN ? ARTEL_OK : status;
}

/* -- seats -- */

static void unseat(struct artel__loop *l)
{
    artel_strategy *s = l->strategy;
    for (artel_function *f = s->function; f; f = f->next) artel__function_unplace(f);
    artel__group_destroy(s->group);
    s->group = NULL;
    l->seat = (artel__mesh_seat){.ranks = 0};
    l->seated = false;
}

static artel_status make_group(struct artel__loop *l, const artel__mesh_seat *seat)
{
    int host[ARTEL__MAX_SHARDS];
    artel_strategy *s = l->strategy;
    ARTEL_TRY(artel__group_create_seated(s->ctx, s->plan.replicas, (int32_t)s->options.shards, seat, &s->group));
    artel__mesh_hosts(s->options.cluster, seat->ranks, host);
    return artel__group_choose(s->group, s->plan.all_reduce, host);
}

static artel_status take_seat(struct artel__loop *l, const artel__mesh_order *order)
{
    artel_strategy *s = l->strategy;
    const artel__mesh_seat *seat = &order->seat;
    if (order->step != (uint64_t)l->done)
        return artel__fail(s->ctx, ARTEL_ERROR_INTERNAL, "cluster", "please report this",
                           "asked to go on from %llu, at %lld", (unsigned long long)order->step, (long long)l->done);
    if (seat->ranks > 1) ARTEL_TRY(make_group(l, seat));
    l->seat = *seat;
    l->writer = seat->writer;
    l->last = order->last;
    s->first = seat->first;
    s->ranks = seat->ranks;
    if (!seat->begins)
        artel__log(s->ctx, ARTEL_LOG_NOTE,
                   "generation %u: %d member%s from unit %lld, %d joined, %d left (%s); paused %.0f ms",
                   (unsigned)seat->generation, seat->members, seat->members == 1 ? "" : "s", (long long)l->done,
                   seat->joiners, seat->leavers, seat->why, (double)seat->pause_ns * 1e-6);
    l->seated = true;
    return ARTEL_OK;
}

static artel_status follow(struct artel__loop *l)
{
    artel_status status = ARTEL_OK;
    artel__mesh_order order;
    unseat(l);
    while (status == ARTEL_OK && !l->seated && !l->over) {
        ARTEL_TRY(artel__mesh_await(l->cluster, &order));
        switch (order.kind) {
        case ARTEL__MESH_COPY: status = copy(l, &order); break;
        case ARTEL__MESH_SERVE:
            send_state(l, order.stream);
            artel__mesh_served(l->cluster);
            break;
        case ARTEL__MESH_START: status = take_seat(l, &order); break;
        case ARTEL__MESH_SAVE:
            l->writer = order.writer;
            artel__mesh_saved(l->cluster, order.writer ? hash_of(l->strategy) : 0);
            break;
        case ARTEL__MESH_LEAVE: break; /* of who saves first */
        case ARTEL__MESH_DONE: l->over = true; break;
        }
    }
    return status;
}

/* -- what all must have in common -- */

static void hash_text(artel__sha256 *sha, const char *text)
{
    artel__sha256_update(sha, text, strlen(text) + 1);
}

/* What servers do, which no worker's graph has: steps of optimizers. And how much of a closure comes from a worker's
 * data. */
static bool hash_servers(artel__sha256 *sha, const artel_strategy *s)
{
    bool good = true;
    for (const artel_optimizer *o = s->optimizer; o && good; o = o->next) {
        char *record = json_dumps(o->rule.record, JSON_COMPACT | JSON_SORT_KEYS);
        good = record != NULL;
        if (good) hash_text(sha, record);
        free(record);
        for (int i = 0; i < o->count; i++)
            artel__sha256_update(sha, &o->variable[i]->index, sizeof o->variable[i]->index);
    }
    for (const artel_worker_data *data = s->data; data; data = data->next)
        artel__sha256_update(sha, &data->options.arrays, sizeof data->options.arrays);
    return good;
}

artel_status artel__functions_hash(const artel_strategy *s, char hex[65])
{
    artel__sha256 sha;
    artel__text dump;
    artel__sha256_init(&sha);
    artel__text_init(&dump, s->ctx);
    for (artel_function *f = s->function; f; f = f->next) {
        hash_text(&sha, f->name);
        artel__graph_dump(&f->graph, &dump);
        artel__texts_dump(f, &dump);
    }
    for (int i = 0; i < s->variables.count; i++) {
        char shape[128];
        hash_text(&sha, s->variables.item[i].name);
        hash_text(&sha, artel__shape_text(&s->variables.item[i].shape, false, shape, sizeof shape));
    }
    for (const artel_variable *v = s->words; v; v = v->next) {
        char shape[128];
        hash_text(&sha, artel__words_name(v->words));
        hash_text(&sha, artel__shape_text(artel__words_shape(v->words), false, shape, sizeof shape));
    }
    hash_text(&sha, dump.data);
    bool failed = dump.failed || (s->servers && !hash_servers(&sha, s));
    artel__text_fini(&dump);
    artel__sha256_hex(&sha, hex);
    return failed ? ARTEL_ERROR_NO_MEMORY : ARTEL_OK;
}

/* Devices of one class give the same bits; its name is long. */
static void name_arithmetic(const artel_strategy *s, char out[32])
{
    const char *class = s->devices ? s->devices->arithmetic : NULL;
    if (class)
        snprintf(out, 32, "device %016llx", (unsigned long long)artel__hash64(class, strlen(class)));
    else
        snprintf(out, 32, "%s", artel__arithmetic_name(s->arithmetic));
}

static artel_status facts_of(struct artel__loop *l, char *out, size_t size)
{
    artel_strategy *s = l->strategy;
    char hex[65], arithmetic[32];
    ARTEL_TRY(artel__functions_hash(s, hex));
    name_arithmetic(s, arithmetic);
    int length = snprintf(out, size,
                          "version of artel=%s\npass=loop\nprogram=%.32s\nbatch "
                          "size=%lld\nshards=%lld\nseed=%llu\nunits=%lld\narithmetic=%s\nall-reduce=%s\n",
                          ARTEL_VERSION, hex, (long long)s->options.batch_size, (long long)s->options.shards,
                          (unsigned long long)s->options.seed, (long long)l->units, arithmetic,
                          s->plan.all_reduce ? s->plan.all_reduce->name : "auto");
    return length > 0 && (size_t)length < size ? ARTEL_OK : ARTEL_ERROR_INTERNAL;
}

static artel_status begin(struct artel__loop *l)
{
    artel_strategy *s = l->strategy;
    char facts[ARTEL__FACTS_MAX + 1];
    ARTEL_TRY(facts_of(l, facts, sizeof facts));
    ARTEL_TRY(artel__strategy_bring(s));
    artel__mesh_request request = {.facts = facts,
                                   .replicas = s->plan.replicas,
                                   .shards = (int32_t)s->options.shards,
                                   .step = (uint64_t)l->done,
                                   .hash = hash_of(s)};
    ARTEL_TRY(artel__mesh_begin(l->cluster, &request));
    l->begun = true;
    l->over = false;
    return ARTEL_OK;
}

/* -- units -- */

static artel_status work(struct artel__loop *l, artel_unit_fn *unit, void *user)
{
    l->runs_of_unit = 0;
    l->interrupted = false;
    if (l->cluster && l->keeps) ARTEL_TRY(artel__strategy_bring(l->strategy));
    if (l->cluster) ARTEL_TRY(keep_state(l));
    l->running = true;
    artel_status status = unit(user, l->done);
    l->running = false;
    if (status < 0)
        return artel__fail(l->strategy->ctx, status, "loop", "see what it has found", "unit %lld has failed",
                           (long long)l->done);
    l->keeps = l->runs_of_unit > 1;
    l->runs_of_unit = 0;
    l->done++;
    if (!l->cluster) return ARTEL_OK;
    bool hashed = artel__mesh_hashes(l->cluster, (uint64_t)l->done);
    if (hashed) ARTEL_TRY(artel__strategy_bring(l->strategy));
    artel__mesh_stepped(l->cluster, (uint64_t)l->done, hashed ? hash_of(l->strategy) : 0);
    return ARTEL_OK;
}

static artel_status cancelled(const artel_strategy *s)
{
    if (!artel__cancelled(s->ctx)) return ARTEL_OK;
    return artel__fail(s->ctx, ARTEL_ERROR_CANCELLED, "loop", "call artel_context_clear to go on",
                       "the loop was cancelled");
}

static artel_status loop_alone(struct artel__loop *l, artel_unit_fn *unit, void *user)
{
    while (l->done < l->units) {
        ARTEL_TRY(cancelled(l->strategy));
        if (artel__preempted(l->strategy->ctx))
            return artel__fail(l->strategy->ctx, ARTEL_ERROR_PREEMPTED, "loop", "save, and go on later",
                               "the loop was asked to end");
        ARTEL_TRY(work(l, unit, user));
    }
    return ARTEL_OK;
}

static void rest(struct artel__loop *l)
{
    unseat(l);
    artel__operation_begin(
        l->strategy->ctx); /* what a generation that is over has recorded is no failure of this loop */
    artel__mesh_rest(l->cluster, (uint64_t)l->done, hash_of(l->strategy));
}

static artel_status loop_together(struct artel__loop *l, artel_unit_fn *unit, void *user)
{
    ARTEL_TRY(begin(l));
    while (!l->over) {
        if (!l->seated) ARTEL_TRY(follow(l));
        if (l->over) break;
        artel_status status = ARTEL_OK;
        while (status == ARTEL_OK && l->done < l->units && !l->last && !artel__mesh_stopping(l->cluster))
            status = work(l, unit, user);
        if (status < 0 && !l->interrupted) return status;
        ARTEL_TRY(artel__strategy_bring_all(l->strategy)); /* the others get no state of a device that is lost */
        if (status < 0) ARTEL_TRY(take_back(l));
        if (status == ARTEL_OK && (l->done >= l->units || l->last) && !artel__mesh_stopping(l->cluster)) {
            unseat(l);
            artel__mesh_finished(l->cluster, (uint64_t)l->done, hash_of(l->strategy));
        } else
            rest(l);
    }
    if (l->last && l->done < l->units)
        return artel__fail(l->strategy->ctx, ARTEL_ERROR_PREEMPTED, "loop", "save, and go on later",
                           "the loop was asked to end");
    return ARTEL_OK;
}

/* -- for runs -- */

artel_status artel__loop_begin(artel_strategy *s, artel_cluster *cluster)
{
    void *block;
    if (s->loop) return ARTEL_OK;
    ARTEL_TRY(artel__calloc(s->ctx, 1, sizeof(struct artel__loop), "loop", &block));
    s->loop = block;
    s->loop->strategy = s;
    s->loop->cluster = cluster;
    return ARTEL_OK;
}

artel_status artel__loop_may_run(const artel_strategy *s)
{
    const struct artel__loop *l = s->loop;
    if (!l || !l->cluster || (l->seated && l->running)) return ARTEL_OK;
    return artel__fail(s->ctx, ARTEL_ERROR_INVALID, "strategy", "run it in a unit of artel_strategy_loop",
                       "functions of several tasks run in their loop only");
}

void artel__loop_interrupted(artel_strategy *s)
{
    if (s->loop && s->loop->cluster) s->loop->interrupted = true;
}

void artel__loop_ran(artel_strategy *s)
{
    if (s->loop) s->loop->runs_of_unit++;
}

artel__mesh_activity *artel__loop_activity(const artel_strategy *s, int index)
{
    return s->loop && s->loop->seat.activity ? &s->loop->seat.activity[index] : NULL;
}

void artel__loop_end(artel_strategy *s)
{
    struct artel__loop *l = s->loop;
    if (!l) return;
    if (l->begun) artel__mesh_end(l->cluster);
    artel__free(s->ctx, l->image);
    artel__free(s->ctx, l->words);
    artel__free(s->ctx, l->counter);
    artel__free(s->ctx, l);
    s->loop = NULL;
}

/* -- public -- */

static artel_status run_loop(struct artel__loop *l, artel_unit_fn *unit, void *user)
{
    artel_status status = artel__strategy_open(l->strategy);
    if (!l->cluster) return status < 0 ? status : loop_alone(l, unit, user);
    if (status == ARTEL_OK) status = make_room(l);
    if (status == ARTEL_OK) status = loop_together(l, unit, user);
    unseat(l);
    if (status < 0 && l->begun && status != ARTEL_ERROR_PREEMPTED) artel__mesh_fail(l->cluster, false, status);
    if (status < 0 && !l->begun) artel__mesh_unbegun(l->cluster, status);
    if (l->begun) artel__mesh_end(l->cluster);
    l->begun = false;
    return status;
}

artel_status artel_strategy_loop(artel_strategy *s, int64_t units, artel_unit_fn *unit, void *user)
{
    ARTEL_TRY(artel__enter(s ? s->ctx : NULL, __func__, "strategy", s));
    if (!unit || units < 0 || units > MOST_UNITS)
        return artel__fail(s->ctx, ARTEL_ERROR_INVALID, "loop", "give a function, and how many units there are in all",
                           "%lld units%s", (long long)units, unit ? "" : ", and no function");
    if (s->servers)
        return artel__fail(s->ctx, ARTEL_ERROR_INVALID, "loop", "schedule closures: artel_coordinator_schedule",
                           "a loop of units is for tasks that step together, and parameter servers have none");
    ARTEL_TRY(artel__loop_begin(s, NULL));
    if (s->loop->running)
        return artel__fail(s->ctx, ARTEL_ERROR_INVALID, "loop", "let a unit run functions only",
                           "a loop in a unit of its own strategy");
    s->loop->units = units;
    return run_loop(s->loop, unit, user);
}

int64_t artel_strategy_units(const artel_strategy *s)
{
    return s && s->loop ? s->loop->done : 0;
}

artel_status artel_strategy_set_units(artel_strategy *s, int64_t units)
{
    ARTEL_TRY(artel__enter(s ? s->ctx : NULL, __func__, "strategy", s));
    ARTEL_TRY(artel__need_count(s->ctx, "loop", units, "units"));
    ARTEL_TRY(artel__loop_begin(s, NULL));
    if (s->loop->running)
        return artel__fail(s->ctx, ARTEL_ERROR_INVALID, "loop", "set the units that are done before the loop begins",
                           "%lld units, in a unit", (long long)units);
    s->loop->done = units;
    return ARTEL_OK;
}

bool artel_strategy_writes(const artel_strategy *s)
{
    return s && (!s->loop || !s->loop->cluster || s->loop->writer);
}
