/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks under one mutex; fetching is done outside of it, into a block that nobody else sees yet. */
#include "service/ahead.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/failures.h"
#include "data/data.h"
#include "service/texts.h"

#define RUN_BYTES ((size_t)512 << 10) /* of a block in order */
#define TOLD_BYTES ((size_t)4 << 20)  /* of one that was said */

typedef struct block {
    uint64_t *number; /* of elements, ascending; the elements' bytes lie behind, on the heap with them */
    uint8_t *bytes;
    artel__texts *texts;   /* of the elements, on the heap; NULL: they hold none */
    int64_t count, cursor; /* where the next one is likely to be */
    uint64_t used;         /* when, for who has to go */
    int64_t first, pass;   /* of rows in order: [first, first + count) */
    bool runs, followed;   /* in order; the next one has been asked for */
} block;

struct artel__service_ahead {
    artel_context *ctx;
    artel__service_client *client;
    artel__service_rows rows;
    const artel__service_dataset *dataset;
    size_t row_bytes, row_guess; /* in memory; about, on its way */
    artel__texts texts;          /* of elements whose reader keeps none himself (data/texts.h) */
    pthread_mutex_t mutex;       /* guards all that follows; innermost */
    pthread_cond_t work, done;
    block block[ARTEL__AHEAD_BLOCKS];
    uint64_t clock;
    int64_t follows; /* the row that a reader in order asks for next */
    int64_t next, next_pass;
    bool wanted, working, quit, started; /* of the thread: `next` is to be fetched, is being fetched */
    pthread_t thread;
};

static uint64_t number_of(const artel__service_ahead *a, int64_t row, int64_t pass)
{
    return artel__row_in_pass((uint64_t)(row * a->rows.stride + a->rows.offset), pass);
}

static int compare(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return a < b ? -1 : a > b;
}

/* ---- blocks ---- */

static void free_block(const artel__service_ahead *a, block *b)
{
    if (b->texts) artel__texts_fini(b->texts);
    artel__free(a->ctx, b->texts);
    artel__free(a->ctx, b->number);
    *b = (block){.count = 0};
}

static artel_status make_block(const artel__service_ahead *a, int64_t count, block *out)
{
    void *memory;
    *out = (block){.count = count};
    ARTEL_TRY(artel__alloc(a->ctx, (size_t)count * (a->row_bytes + sizeof(uint64_t)) + 16, "elements", &memory));
    out->number = memory;
    out->bytes = (uint8_t *)(out->number + count);
    if (!artel__service_has_texts(a->dataset)) return ARTEL_OK;
    artel_status status = artel__alloc(a->ctx, sizeof *out->texts, "elements", &memory);
    if (status < 0) {
        free_block(a, out);
        return status;
    }
    out->texts = memory;
    artel__texts_init(out->texts, a->ctx, 0);
    return ARTEL_OK;
}

typedef struct filling {
    uint8_t *bytes;
    size_t row_bytes;
} filling;

static void put_row(void *user, int64_t at, const uint8_t *row)
{
    const filling *f = user;
    memcpy(f->bytes + (size_t)at * f->row_bytes, row, f->row_bytes);
}

/* The elements of a block whose numbers are set; it is freed when that fails. */
static artel_status fill_block(const artel__service_ahead *a, block *b)
{
    filling f = {b->bytes, a->row_bytes};
    artel__texts *before = artel__texts_set_keeper(b->texts);
    artel_status status = artel__service_client_fetch(a->client, b->number, b->count, put_row, &f);
    artel__texts_set_keeper(before);
    if (status < 0) free_block(a, b);
    return status;
}

/* Rows in order from `first` on. */
static artel_status fetch_run(const artel__service_ahead *a, int64_t first, int64_t count, int64_t pass, block *out)
{
    ARTEL_TRY(make_block(a, count, out));
    for (int64_t i = 0; i < count; i++) out->number[i] = number_of(a, first + i, pass);
    out->first = first;
    out->pass = pass;
    out->runs = true;
    return fill_block(a, out);
}

static int64_t run_length(const artel__service_ahead *a, int64_t first)
{
    int64_t left = a->rows.count - first, most = 1 + (int64_t)(RUN_BYTES / (a->row_guess + 1));
    return left < most ? left : most;
}

/* In place of what was used longest ago; under the mutex. */
static void keep_block(artel__service_ahead *a, const block *b)
{
    block *oldest = &a->block[0];
    for (int i = 1; i < ARTEL__AHEAD_BLOCKS; i++)
        if (a->block[i].used < oldest->used) oldest = &a->block[i];
    free_block(a, oldest);
    *oldest = *b;
    oldest->used = ++a->clock;
}

static const uint8_t *find_in(artel__service_ahead *a, block *b, uint64_t number)
{
    if (b->count == 0 || number < b->number[0] || number > b->number[b->count - 1]) return NULL;
    int64_t at = b->cursor;
    if (at >= b->count || b->number[at] != number) {
        const uint64_t *found = bsearch(&number, b->number, (size_t)b->count, sizeof number, compare);
        if (!found) return NULL;
        at = found - b->number;
    }
    b->cursor = at + 1;
    b->used = ++a->clock;
    return b->bytes + (size_t)at * a->row_bytes;
}

static const uint8_t *find(artel__service_ahead *a, uint64_t number, block **out)
{
    for (int i = 0; i < ARTEL__AHEAD_BLOCKS; i++) {
        const uint8_t *row = find_in(a, &a->block[i], number);
        if (!row) continue;
        *out = &a->block[i];
        return row;
    }
    return NULL;
}

/* ---- the thread ---- */

static void *thread_main(void *user)
{
    artel__service_ahead *a = user;
    block b;
    artel__failures_forget(true);
    pthread_mutex_lock(&a->mutex);
    while (!a->quit) {
        if (!a->wanted) {
            pthread_cond_wait(&a->work, &a->mutex);
            continue;
        }
        int64_t first = a->next, pass = a->next_pass;
        a->wanted = false;
        a->working = true;
        pthread_mutex_unlock(&a->mutex);
        artel_status status = fetch_run(a, first, run_length(a, first), pass, &b);
        pthread_mutex_lock(&a->mutex);
        if (status == ARTEL_OK) keep_block(a, &b);
        a->working = false;
        pthread_cond_broadcast(&a->done);
    }
    pthread_mutex_unlock(&a->mutex);
    return NULL;
}

/* Asks for what stands behind a block that is being read in order; under the mutex. Without a thread it is fetched when
 * it is wanted. */
static void follow(artel__service_ahead *a, block *b)
{
    if (!b->runs || b->followed) return;
    b->followed = true;
    a->follows = b->first + b->count;
    if (a->follows >= a->rows.count || a->wanted || a->working) return;
    if (!a->started && pthread_create(&a->thread, NULL, thread_main, a) != 0) return;
    a->started = true;
    a->next = a->follows;
    a->next_pass = b->pass;
    a->wanted = true;
    pthread_cond_signal(&a->work);
}

/* Whether the thread brings that row, or is about to; under the mutex. */
static bool comes(const artel__service_ahead *a, int64_t row, int64_t pass)
{
    return (a->wanted || a->working) && pass == a->next_pass && row >= a->next &&
           row < a->next + run_length(a, a->next);
}

/* ---- reading ---- */

/* The row that is not there, with those behind it where rows are read in order; under the mutex, which is left
 * meanwhile. */
static artel_status bring(artel__service_ahead *a, int64_t row, int64_t pass)
{
    block b;
    int64_t count = row == a->follows ? run_length(a, row) : 1;
    pthread_mutex_unlock(&a->mutex);
    artel_status status = fetch_run(a, row, count, pass, &b);
    pthread_mutex_lock(&a->mutex);
    if (status < 0) return status;
    b.followed = count == 1; /* nothing is likely to follow what is read at random */
    a->follows = row + count;
    keep_block(a, &b);
    return ARTEL_OK;
}

/* Texts that are taken from a block end with it: the reader gets his own. */
static artel_status hand_on(artel__service_ahead *a, const uint8_t *row, artel__service_take_fn *take, void *user)
{
    void *copy;
    if (!artel__service_has_texts(a->dataset)) {
        take(user, 0, row);
        return ARTEL_OK;
    }
    ARTEL_TRY(artel__alloc(a->ctx, a->row_bytes, "elements", &copy));
    memcpy(copy, row, a->row_bytes);
    artel_status status = artel__service_texts_hand_on(a->dataset, &a->texts, copy);
    if (status == ARTEL_OK) take(user, 0, copy);
    artel__free(a->ctx, copy);
    return status;
}

artel_status artel__service_ahead_take(artel__service_ahead *a, int64_t row, int64_t pass, artel__service_take_fn *take,
                                       void *user)
{
    uint64_t number = number_of(a, row, pass);
    artel_status status = ARTEL_OK;
    const uint8_t *found;
    block *in = NULL;
    pthread_mutex_lock(&a->mutex);
    while (!(found = find(a, number, &in)) && status == ARTEL_OK) {
        if (comes(a, row, pass))
            while (a->wanted || a->working) pthread_cond_wait(&a->done, &a->mutex);
        else
            status = bring(a, row, pass);
    }
    if (found) {
        follow(a, in);
        status = hand_on(a, found, take, user);
    }
    pthread_mutex_unlock(&a->mutex);
    return status;
}

/* Rows one behind another from where a reader in order is: the thread sees to them. */
static bool in_order(artel__service_ahead *a, const int64_t *rows, int64_t count, int64_t pass)
{
    block *in = NULL;
    int64_t same = 1;
    while (same < count && rows[same] == rows[0] + same) same++;
    if (same < count) return false;
    pthread_mutex_lock(&a->mutex);
    bool there = rows[0] == a->follows ||
                 (find(a, number_of(a, rows[0], pass), &in) && in->runs && in->first + in->count <= a->follows);
    pthread_mutex_unlock(&a->mutex);
    return there;
}

int64_t artel__service_ahead_expect(artel__service_ahead *a, const int64_t *rows, int64_t count, int64_t pass)
{
    int64_t most = 1 + (int64_t)(TOLD_BYTES / (a->row_guess + 1)), missing = 0;
    block b, *in;
    if (count > most) count = most;
    if (in_order(a, rows, count, pass) || make_block(a, count, &b) < 0) return count;
    pthread_mutex_lock(&a->mutex);
    for (int64_t i = 0; i < count; i++) {
        uint64_t number = number_of(a, rows[i], pass);
        if (!find(a, number, &in)) b.number[missing++] = number;
    }
    pthread_mutex_unlock(&a->mutex);
    b.count = missing;
    qsort(b.number, (size_t)missing, sizeof *b.number, compare);
    if (missing == 0) {
        free_block(a, &b);
        return count;
    }
    bool forgot = artel__failures_forget(true);
    artel_status status = fill_block(a, &b);
    artel__failures_forget(forgot);
    pthread_mutex_lock(&a->mutex);
    if (status == ARTEL_OK) keep_block(a, &b);
    pthread_mutex_unlock(&a->mutex);
    return count;
}

/* ---- life ---- */

artel_status artel__service_ahead_create(artel_context *ctx, artel__service_client *client,
                                         const artel__service_rows *rows, artel__service_ahead **out)
{
    void *memory;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel__service_ahead), "elements", &memory));
    artel__service_ahead *a = memory;
    a->ctx = ctx;
    a->client = client;
    a->rows = *rows;
    a->dataset = artel__service_client_dataset(client);
    a->row_bytes = a->dataset->row_bytes;
    a->row_guess = artel__service_row_guess(a->dataset);
    artel__texts_init(&a->texts, ctx, 0);
    pthread_mutex_init(&a->mutex, NULL);
    pthread_cond_init(&a->work, NULL);
    pthread_cond_init(&a->done, NULL);
    *out = a;
    return ARTEL_OK;
}

void artel__service_ahead_destroy(artel__service_ahead *a)
{
    if (!a) return;
    artel_context *ctx = a->ctx;
    pthread_mutex_lock(&a->mutex);
    a->quit = true;
    pthread_cond_broadcast(&a->work);
    pthread_mutex_unlock(&a->mutex);
    artel__service_client_stop(a->client);
    if (a->started) pthread_join(a->thread, NULL);
    for (int i = 0; i < ARTEL__AHEAD_BLOCKS; i++) free_block(a, &a->block[i]);
    artel__texts_fini(&a->texts);
    pthread_cond_destroy(&a->work);
    pthread_cond_destroy(&a->done);
    pthread_mutex_destroy(&a->mutex);
    artel__free(ctx, a);
}
