/* SPDX-License-Identifier: Apache-2.0 */
/* Feeds: binding as a whole, views, and what is told about them. Fetching is in fetch.c.
 *
 * A feed is a view of a core; splitting makes two more views of the same core, so nothing is copied. A random split
 * keeps its rows in ascending order: the order of samples is the caller's affair, and files are read forwards.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/threads.h"
#include "data/feed.h"
#include "data/fingerprint.h"

static artel_status core_create(artel_data *data, const artel__data_wants *wants, artel__feed_core **out)
{
    artel__feed_core *core = NULL;
    ARTEL_TRY(artel__calloc(data->ctx, 1, sizeof *core, "data", (void **)&core));
    core->ctx = data->ctx;
    core->data = data;
    core->references = 1;
    core->seed = wants->seed;
    for (int s = 0; s < data->source_count; s++) core->draws |= data->sources[s].draws;
    core->program = wants->program;
    data->references++;
    artel__arena_init(&core->arena, data->ctx);
    *out = core;
    return ARTEL_OK;
}

static artel_status feed_create(artel__feed_core *core, int64_t first, int64_t count, artel__feed **out)
{
    artel__feed *feed = NULL;
    ARTEL_TRY(artel__calloc(core->ctx, 1, sizeof *feed, "data", (void **)&feed));
    feed->core = core;
    feed->first = first;
    feed->count = count;
    core->references++;
    *out = feed;
    return ARTEL_OK;
}

void artel__feed_destroy(artel__feed *feed)
{
    if (feed == NULL) return;
    artel_context *ctx = feed->core->ctx;
    artel__free(ctx, feed->rows);
    artel__core_release(feed->core);
    artel__free(ctx, feed);
}

/* Messages of a fetch name layers, so their names are kept. */
static artel_status run_job(artel__bind_job *job)
{
    job->layer = artel__arena_strdup(&job->core->arena, job->layer);
    if (job->layer == NULL) return ARTEL_ERROR_NO_MEMORY;
    return artel__bind_array(job, &job->core->bindings[job->core->binding_count++]);
}

static artel_status bind_matches(artel__feed_core *core, const artel__data_wants *wants, const artel__matches *matches,
                                 bool *pixel_note)
{
    int targets = wants->purpose == ARTEL__DATA_PURPOSE_PREDICT ? 0 : wants->target_count;
    core->bindings =
        artel__arena_alloc(&core->arena, (size_t)(wants->input_count + 2 * targets + 1), sizeof *core->bindings);
    if (core->bindings == NULL) return ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < wants->input_count; i++) {
        const artel__data_want_input *want = &wants->inputs[i];
        artel__bind_job job = {.core = core,
                               .match = matches->inputs[i],
                               .role = ARTEL_DATA_ROLE_INPUT,
                               .index = i,
                               .layer = want->name,
                               .dtype = want->dtype,
                               .row = want->row};
        ARTEL_TRY(run_job(&job));
        *pixel_note |= job.pixel_note;
    }
    for (int i = 0; i < targets; i++) {
        const artel__data_want_target *want = &wants->targets[i];
        artel__bind_job job = {.core = core,
                               .match = matches->targets[i],
                               .role = ARTEL_DATA_ROLE_TARGET,
                               .index = i,
                               .layer = want->name,
                               .dtype = want->dtype,
                               .row = want->row,
                               .target = want};
        ARTEL_TRY(run_job(&job));
    }
    for (int i = 0; targets > 0 && i <= targets; i++) {
        const artel__match *match = i == 0 ? &matches->weight : &matches->weights[i - 1];
        artel__bind_job job = {.core = core,
                               .match = *match,
                               .role = ARTEL_DATA_ROLE_WEIGHT,
                               .index = i,
                               .layer = "sample_weight",
                               .dtype = wants->weight,
                               .row = {.rank = -1}};
        if (match->count) ARTEL_TRY(run_job(&job));
    }
    return ARTEL_OK;
}

static int64_t binding_rows(const artel__binding *binding)
{
    int64_t rows = 0;
    for (int i = 0; i < binding->segment_count; i++) rows += binding->segments[i].count;
    return rows;
}

/* All arrays of a core have the same number of rows, at least one. */
static artel_status settle_count(artel__feed_core *core)
{
    core->count = binding_rows(&core->bindings[0]);
    for (int i = 1; i < core->binding_count; i++) {
        int64_t rows = binding_rows(&core->bindings[i]);
        if (rows == core->count) continue;
        return artel__fail(core->ctx, ARTEL_ERROR_INVALID, core->data->specification, "give as many targets as inputs",
                           "array '%s' has %lld rows (array '%s' has %lld)", core->bindings[i].public.name,
                           (long long)rows, core->bindings[0].public.name, (long long)core->count);
    }
    if (core->count > 0) return ARTEL_OK;
    return artel__fail(core->ctx, ARTEL_ERROR_INVALID, core->data->specification, "give at least one sample",
                       "the data is empty");
}

static artel_status bind_files(artel__feed_core *core, const artel__data_wants *wants)
{
    artel__matches matches;
    artel__arena scratch;
    bool pixel_note = false;
    artel__arena_init(&scratch, core->ctx);
    artel_status status = artel__data_match(core->data, wants, &scratch, &matches);
    if (status == ARTEL_OK) status = bind_matches(core, wants, &matches, &pixel_note);
    artel__arena_fini(&scratch);
    if (status < 0) return status;
    if (pixel_note && !wants->scales_itself && wants->purpose == ARTEL__DATA_PURPOSE_TRAIN) {
        artel__log(core->ctx, ARTEL_LOG_NOTE,
                   "%s: bytes reach the model as 0..255; it has no Rescaling or Normalization at its front "
                   "(#scale=1/255 divides them)",
                   core->data->specification);
    }
    const artel__data_options *options = &core->data->sources[0].options;
    if (wants->rescaling && options->has_scale)
        artel__log(core->ctx, ARTEL_LOG_NOTE,
                   "%s: values are scaled twice, by #scale=%s and by the model's own layer \"%s\" (Rescaling)",
                   core->data->specification, options->scale_text, wants->rescaling);
    return settle_count(core);
}

artel_status artel__data_bind(artel_data *data, const artel__data_wants *wants, artel__feed **out)
{
    artel__feed_core *core;
    if (wants->input_count < 1) {
        return artel__fail(data->ctx, ARTEL_ERROR_INVALID, data->specification, "", "the model has no inputs");
    }
    ARTEL_TRY(artel__data_check_parts(data, wants->apart));
    ARTEL_TRY(artel__data_check_buckets(data, wants));
    ARTEL_TRY(core_create(data, wants, &core));
    uint32_t state = artel__fp_enter();
    artel_status status = artel__data_is_synthetic(data) ? artel__bind_synthetic(core, wants) : bind_files(core, wants);
    artel__fp_leave(state);
    if (status == ARTEL_OK) status = artel__feed_publish(core);
    if (status == ARTEL_OK) status = feed_create(core, 0, core->count, out);
    artel__core_release(core); /* the feed holds its own reference */
    return status;
}

artel_status artel__data_target_row(artel_data *data, const artel__data_wants *wants, int index, artel_shape *out)
{
    artel__matches matches;
    artel__arena scratch;
    *out = (artel_shape){.rank = -1};
    if (artel__data_is_synthetic(data)) return ARTEL_OK;
    artel__arena_init(&scratch, data->ctx);
    artel_status status = artel__data_match(data, wants, &scratch, &matches);
    if (status == ARTEL_OK) {
        const artel__match *match = &matches.targets[index];
        *out =
            match->count > 1 ? artel__shape(1, (int64_t)match->count) : data->sources[0].arrays[match->arrays[0]].row;
    }
    artel__arena_fini(&scratch);
    return status;
}

int64_t artel__feed_count(const artel__feed *feed)
{
    return feed->count;
}

bool artel__feed_draws(const artel__feed *feed)
{
    return feed->core->draws;
}

const artel__feed_array *artel__feed_arrays(const artel__feed *feed, int *out_count)
{
    *out_count = feed->core->array_count;
    return feed->core->arrays;
}

const artel__feed_array *artel__feed_find(const artel__feed *feed, artel_data_role role, int index, int *out_position)
{
    for (int i = 0; i < feed->core->array_count; i++) {
        const artel__feed_array *array = &feed->core->arrays[i];
        if (array->role != role || array->index != index) continue;
        if (out_position != NULL) *out_position = i;
        return array;
    }
    return NULL;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Gives a feed its own list of rows: numbers of the parent feed, sorted, turned into numbers of the core. */
static artel_status set_rows(artel__feed *feed, const artel__feed *parent, uint64_t *chosen)
{
    void *rows;
    ARTEL_TRY(artel__alloc(feed->core->ctx, (size_t)feed->count * sizeof(uint64_t), "data split", &rows));
    feed->rows = rows;
    qsort(chosen, (size_t)feed->count, sizeof *chosen, by_number);
    for (int64_t i = 0; i < feed->count; i++)
        feed->rows[i] = parent->rows != NULL ? parent->rows[chosen[i]] : (uint64_t)parent->first + chosen[i];
    return ARTEL_OK;
}

static artel_status choose_rows(const artel__feed *feed, bool random, artel__feed *train, artel__feed *validation)
{
    void *block;
    if (!random && feed->rows == NULL) return ARTEL_OK; /* runs of rows need no list */
    ARTEL_TRY(artel__alloc(feed->core->ctx, (size_t)feed->count * sizeof(uint64_t), "data split", &block));
    uint64_t *order = block;
    if (random) {
        artel__rng_permutation(feed->core->seed, ARTEL__STREAM_SPLIT, 0, (uint64_t)feed->count, order);
    } else {
        for (int64_t i = 0; i < feed->count; i++) order[i] = (uint64_t)i;
    }
    artel_status status = set_rows(train, feed, order);
    if (status == ARTEL_OK) status = set_rows(validation, feed, order + train->count);
    artel__free(feed->core->ctx, block);
    return status;
}

artel_status artel__feed_split(const artel__feed *feed, double fraction, artel__feed **out_train,
                               artel__feed **out_validation)
{
    artel__feed_core *core = feed->core;
    artel__feed *train = NULL, *validation = NULL;
    bool random = core->data->sources[0].sorted_by_class;
    int64_t split = fraction > 0 && fraction < 1 ? (int64_t)floor((double)feed->count * (1.0 - fraction)) : 0;
    if (split < 1 || split >= feed->count) {
        return artel__fail(core->ctx, ARTEL_ERROR_INVALID, "validation split",
                           "choose a fraction between 0 and 1 that leaves rows on both sides",
                           "%g of %lld rows leaves %s", fraction, (long long)feed->count,
                           split < 1 ? "none to train on" : "none to validate with");
    }
    artel_status status = feed_create(core, feed->first, split, &train);
    if (status == ARTEL_OK) status = feed_create(core, feed->first + split, feed->count - split, &validation);
    if (status == ARTEL_OK) status = choose_rows(feed, random, train, validation);
    if (status < 0) {
        artel__feed_destroy(train);
        artel__feed_destroy(validation);
        return status;
    }
    if (random) {
        artel__log(core->ctx, ARTEL_LOG_NOTE,
                   "%s: sorted by class, so a random %lld of %lld rows validate (a function of the seed)",
                   core->data->specification, (long long)(feed->count - split), (long long)feed->count);
    }
    *out_train = train;
    *out_validation = validation;
    return ARTEL_OK;
}

static void hash_binding(const artel__binding *binding, artel__sha256 *hash)
{
    artel__hash_text(hash, binding->public.name);
    artel__hash_integer(hash, (uint64_t)binding->public.role);
    artel__hash_integer(hash, (uint64_t)binding->public.index);
    artel__hash_integer(hash, (uint64_t)binding->public.dtype);
    artel__hash_shape(hash, &binding->public.row);
    artel__hash_integer(hash, (uint64_t)binding->conversion.kind);
    if (!binding->is_synthetic) return;
    artel__hash_integer(hash, binding->synthetic.seed);
    artel__hash_integer(hash, (uint64_t)binding->synthetic.limit);
}

artel_status artel__feed_fingerprint(const artel__feed *feed, uint8_t out[32])
{
    const artel__feed_core *core = feed->core;
    artel__sha256 hash;
    uint8_t data[32];
    ARTEL_TRY(artel__data_fingerprint(core->data, data));
    artel__sha256_init(&hash);
    artel__sha256_update(&hash, data, sizeof data);
    for (int i = 0; i < core->binding_count; i++) hash_binding(&core->bindings[i], &hash);
    artel__hash_integer(&hash, (uint64_t)feed->first);
    artel__hash_integer(&hash, (uint64_t)feed->count);
    for (int64_t i = 0; feed->rows != NULL && i < feed->count; i++) artel__hash_integer(&hash, feed->rows[i]);
    artel__sha256_final(&hash, out);
    return ARTEL_OK;
}

void artel__feed_describe(const artel__feed *feed, artel__text *out)
{
    static const char *const kinds[] = {"as it is", "cast", "scaled", "class numbers", "one-hot"};
    const artel__feed_core *core = feed->core;
    artel__text_show(out, "%s: %lld rows\n", core->data->specification, (long long)feed->count);
    for (int i = 0; i < core->binding_count; i++) {
        const artel__binding *binding = &core->bindings[i];
        char from[128], to[128];
        artel__text_show(
            out, "  %s %s %s -> %s %s %s (%s)\n", binding->public.name, artel_dtype_name(binding->conversion.from),
            artel__shape_text(&binding->source_row, true, from, sizeof from), binding->layer,
            artel_dtype_name(binding->public.dtype), artel__shape_text(&binding->public.row, true, to, sizeof to),
            binding->is_synthetic ? "synthetic" : kinds[binding->conversion.kind]);
    }
    artel__feed_describe_buckets(feed, out);
}
