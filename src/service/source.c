/* SPDX-License-Identifier: Apache-2.0 */
/* service:HOST:PORT[/NAME]: elements that a data service computes, as any other source.
 *
 * The order of rows is that of whoever trains; so a run has the bits, and the identity, of one that reads the same data
 * itself: data without settings of its own has the fingerprint that the workers' data has. With consumers=N and
 * consumer=I a client sees every N-th element, in rounds: round r has elements rN .. rN + N - 1, one for each consumer,
 * and all have equally many rounds.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "data/fingerprint.h"
#include "data/stage.h"
#include "service/ahead.h"

typedef struct service_state {
    artel__service_client *client;
    int64_t consumers, consumer; /* 1 and 0: all elements */
    artel__service_ahead *ahead; /* of rows that are read one by one */
} service_state;

static const artel__service_dataset *dataset_of(const artel__source *source)
{
    return artel__service_client_dataset(((const service_state *)source->state)->client);
}

/* The element that row `row` of this consumer is. */
static uint64_t element_of(const service_state *state, uint64_t row)
{
    uint64_t number = artel__row_number(row);
    return (row - number) | (number * (uint64_t)state->consumers + (uint64_t)state->consumer);
}

/* ---- opening ---- */

/* "HOST:PORT/NAME" without its name. */
static artel_status parse_target(artel__source *source, artel__service_client_options *out)
{
    const artel__data_options *o = &source->options;
    char *address = artel__arena_strdup(&source->arena, source->target);
    ARTEL_TRY(artel__arena_status(&source->arena));
    char *slash = strchr(address, '/');
    if (slash) *slash = 0;
    const char *folder = o->cert_dir ? o->cert_dir : getenv("ARTEL_CERT_DIR");
    *out = (artel__service_client_options){.address = address,
                                           .dataset = slash ? slash + 1 : "",
                                           .wait_ns = o->wait * INT64_C(1000000000),
                                           .access = {.cert_dir = folder && folder[0] ? folder : NULL,
                                                      .cert_name = o->cert_name,
                                                      .insecure_network = o->insecure_network}};
    if (strrchr(address, ':') && o->consumer < (o->consumers > 0 ? o->consumers : 1)) return ARTEL_OK;
    return artel__fail(source->ctx, ARTEL_ERROR_INVALID, source->target,
                       "write service:HOST:PORT/NAME; consumer is one of 0 to consumers - 1",
                       "no address, or a consumer that there is not");
}

static artel_status publish(artel__source *source, const service_state *state)
{
    const artel__service_dataset *d = artel__service_client_dataset(state->client);
    ARTEL_TRY(artel__source_add_arrays(source, d->column_count));
    for (int i = 0; i < d->column_count; i++) {
        const artel__rows_column *c = &d->columns[i];
        source->arrays[i] = (artel__source_array){.name = c->name,
                                                  .role = c->role,
                                                  .dtype = c->dtype,
                                                  .row = c->row,
                                                  .count = d->rows / state->consumers,
                                                  .pixels = c->pixels};
        artel__array_set_text(&source->arrays[i]);
    }
    source->draws = d->draws;
    source->far = true;
    source->sorted_by_class = d->sorted_by_class;
    if (d->rows % state->consumers)
        artel__log(source->ctx, ARTEL_LOG_NOTE, "%s: all %lld consumers have %lld rounds; %lld elements are left over",
                   source->target, (long long)state->consumers, (long long)(d->rows / state->consumers),
                   (long long)(d->rows % state->consumers));
    return ARTEL_OK;
}

static artel_status service_open(artel__source *source)
{
    artel__service_client_options options;
    service_state *state = artel__arena_alloc(&source->arena, 1, sizeof *state);
    ARTEL_TRY(artel__arena_status(&source->arena));
    ARTEL_TRY(parse_target(source, &options));
    state->consumers = source->options.consumers > 0 ? source->options.consumers : 1;
    state->consumer = source->options.consumer;
    source->state = state;
    ARTEL_TRY(artel__service_client_open(source->ctx, &options, &state->client));
    const artel__service_rows rows = {dataset_of(source)->rows / state->consumers, state->consumers, state->consumer};
    ARTEL_TRY(artel__service_ahead_create(source->ctx, state->client, &rows, &state->ahead));
    return publish(source, state);
}

static void service_close(artel__source *source)
{
    service_state *state = source->state;
    artel__service_ahead_destroy(state->ahead);
    artel__service_client_close(state->client);
}

/* ---- many rows ---- */

typedef struct taking {
    const artel__service_dataset *dataset;
    void *const *buffers;
} taking;

static void take_columns(void *user, int64_t at, const uint8_t *row)
{
    const taking *t = user;
    for (int i = 0; i < t->dataset->column_count; i++) {
        const artel__rows_column *c = &t->dataset->columns[i];
        if (t->buffers[i]) memcpy((uint8_t *)t->buffers[i] + (size_t)at * c->bytes, row + c->at, c->bytes);
    }
}

static artel_status service_fetch_rows(const artel__source *source, const uint64_t *rows, int64_t count,
                                       void *const *buffers)
{
    service_state *state = source->state;
    taking t = {dataset_of(source), buffers};
    void *elements;
    if (state->consumers == 1) return artel__service_client_fetch(state->client, rows, count, take_columns, &t);
    ARTEL_TRY(artel__alloc(source->ctx, (size_t)count * sizeof(uint64_t), source->target, &elements));
    for (int64_t i = 0; i < count; i++) ((uint64_t *)elements)[i] = element_of(state, rows[i]);
    artel_status status = artel__service_client_fetch(state->client, elements, count, take_columns, &t);
    artel__free(source->ctx, elements);
    return status;
}

/* ---- rows one by one, as stages and tools read them ---- */

typedef struct wanting {
    const artel__service_dataset *dataset;
    const artel__row_want *want;
    int count;
} wanting;

static void take_wanted(void *user, int64_t at, const uint8_t *row)
{
    const wanting *w = user;
    (void)at;
    for (int i = 0; i < w->count; i++) {
        const artel__rows_column *c = &w->dataset->columns[w->want[i].array];
        memcpy(w->want[i].out, row + c->at, c->bytes);
    }
}

static int64_t pass_of(const artel__source *source)
{
    return dataset_of(source)->draws ? (int64_t)artel__stage_pass() : 0;
}

static artel_status service_fetch_record(const artel__source *source, int64_t row, const artel__row_want *wants,
                                         int count)
{
    wanting w = {dataset_of(source), wants, count};
    return artel__service_ahead_take(((const service_state *)source->state)->ahead, row, pass_of(source), take_wanted,
                                     &w);
}

static int64_t service_expect(const artel__source *source, const int64_t *rows, int64_t count)
{
    return artel__service_ahead_expect(((const service_state *)source->state)->ahead, rows, count, pass_of(source));
}

static artel__pace *service_pace(const artel__source *source)
{
    return artel__service_client_pace(((const service_state *)source->state)->client);
}

static artel_status service_fetch_row(const artel__source *source, int array, const artel_shape *row_shape, int64_t row,
                                      void *out)
{
    const artel__row_want want = {array, row_shape, out};
    return service_fetch_record(source, row, &want, 1);
}

/* ---- identity ---- */

static artel_status service_fingerprint(const artel__source *source, artel__sha256 *hash)
{
    const service_state *state = source->state;
    artel__sha256_update(hash, dataset_of(source)->print, 32);
    artel__hash_integer(hash, (uint64_t)state->consumers);
    artel__hash_integer(hash, (uint64_t)state->consumer);
    return ARTEL_OK;
}

/* Of data as it is served: that of the same data read here. */
static bool service_whole_print(const artel__source *source, uint8_t out[32])
{
    const artel__data_options *o = &source->options;
    if (((const service_state *)source->state)->consumers > 1 || o->names || o->scale_text || o->shift_text)
        return false;
    memcpy(out, dataset_of(source)->print, 32);
    return true;
}

const artel__data_format artel__data_service = {
    .name = "service",
    .syntax = "service:HOST:PORT/NAME",
    .options = "names scale shift cert-dir cert-name insecure-network wait consumers consumer",
    .reads_ahead = true,
    .open = service_open,
    .fetch_row = service_fetch_row,
    .fetch_record = service_fetch_record,
    .fetch_rows = service_fetch_rows,
    .expect = service_expect,
    .pace = service_pace,
    .fingerprint = service_fingerprint,
    .whole_print = service_whole_print,
    .close = service_close,
};
