/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of a worker, and its readers. What a reader asks is checked against what is served before memory is taken
 * for it. */
#include "service/worker.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/threads.h"
#include "data/data.h"
#include "service/worker_impl.h"

#define MOST_QUESTION ((uint64_t)1 << 20)
#define MOST_ANSWER ((uint64_t)64 << 20) /* of more than one row */
#define CLOSING_NS INT64_C(15000000000)  /* who does not read why it is sent away is not waited for longer */

/* -- readers -- */

static artel_status say_refused(artel__reader *r, const char *why)
{
    r->closing = true;
    return artel__line_say(&r->line, json_pack("{s:s, s:s}", "say", "refused", "why", why));
}

static artel_status begin_reading(artel__worker *w, artel__reader *r, const uint8_t *bytes, size_t size)
{
    json_t *word;
    ARTEL_TRY(artel__json_load(w->ctx, "reader", (const char *)bytes, size, &word));
    const char *say = json_string_value(json_object_get(word, "say")),
               *name = json_string_value(json_object_get(word, "dataset"));
    for (int i = 0; say && name && strcmp(say, "read") == 0 && w->opened && i < w->stores; i++)
        if (strcmp(w->store[i].dataset.name, name) == 0) r->store = &w->store[i];
    json_decref(word);
    return r->store ? ARTEL_OK : say_refused(r, "this is a worker of a data service; it does not serve that");
}

/* ARTEL_ERROR_INVALID: nothing that a client of this protocol would ask. */
static artel_status take_question(artel__worker *w, artel__reader *r, const uint8_t *bytes, size_t size)
{
    uint64_t count = size / 8 - 1, most = r->store ? (uint64_t)r->store->dataset.rows : 0;
    void *memory;
    if (!r->store || size < 16 || size % 8) return ARTEL_ERROR_INVALID;
    if (r->jobs + artel__line_waiting(&r->line) >= ARTEL__WORKER_JOBS)
        return ARTEL_ERROR_INVALID; /* answers that nobody reads count */
    if (count > 1 && count * r->store->dataset.row_bytes > MOST_ANSWER) return ARTEL_ERROR_INVALID;
    ARTEL_TRY(artel__calloc(w->ctx, 1, sizeof(artel__service_job) + (size_t)count * 8, "question", &memory));
    artel__service_job *job = memory;
    job->store = r->store;
    job->reader = (int)(r - w->reader);
    job->visit = r->visit;
    job->call = artel__bytes_take(&bytes, 8);
    job->count = (int64_t)count;
    for (uint64_t i = 0; i < count; i++) {
        job->rows[i] = artel__bytes_take(&bytes, 8);
        if (artel__row_number(job->rows[i]) < most) continue;
        artel__free(w->ctx, job);
        return ARTEL_ERROR_INVALID;
    }
    r->jobs++;
    artel__service_crew_give(w->crew, job);
    return ARTEL_OK;
}

static void hear_reader(artel__worker *w, artel__reader *r)
{
    artel__line_kind kind;
    const uint8_t *bytes;
    size_t size;
    while (!r->closing) {
        artel_status status = artel__line_hear(&r->line, &kind, &bytes, &size);
        if (status == ARTEL_AGAIN) return;
        if (status == ARTEL_OK && kind == ARTEL__LINE_JSON)
            status = begin_reading(w, r, bytes, size);
        else if (status == ARTEL_OK && kind == ARTEL__LINE_ASK)
            status = take_question(w, r, bytes, size);
        else
            status = ARTEL_ERROR_INVALID;
        if (status < 0) {
            artel__log(w->ctx, ARTEL_LOG_WARNING, "%s asks what no client asks: it is sent away",
                       artel__connection_address(r->line.connection));
            artel__operation_begin(w->ctx);
            r->closing = true;
        }
    }
}

static void move_readers(artel__worker *w)
{
    for (int i = 0; i < w->readers; i++) {
        artel__reader *r = &w->reader[i];
        if (!r->line.ctx) continue;
        bool gone = artel__line_progress(&r->line) == ARTEL__CONNECTION_LOST;
        hear_reader(w, r);
        gone = gone || artel__line_progress(&r->line) == ARTEL__CONNECTION_LOST;
        if (r->closing && (!r->line.first || artel__now_ns() - r->line.heard_ns > CLOSING_NS)) gone = true;
        if (gone) {
            artel__line_close(&r->line);
            r->store = NULL;
        }
    }
    while (w->readers > 0 && !w->reader[w->readers - 1].line.ctx) w->readers--;
}

static void accept_readers(artel__worker *w)
{
    artel__listener_progress(w->listener);
    for (artel__connection *c = artel__listener_take(w->listener); c; c = artel__listener_take(w->listener)) {
        int i = 0;
        while (i < w->readers && w->reader[i].line.ctx) i++;
        if (i == ARTEL__WORKER_READERS || artel__connection_peer(c)->purpose != ARTEL__NET_CONTROL) {
            artel__connection_close(c);
            continue;
        }
        if (i == w->readers) w->readers++;
        w->reader[i] = (artel__reader){.visit = ++w->visits};
        artel__line_open(&w->reader[i].line, w->ctx, c, MOST_QUESTION);
    }
}

/* A worker that was told to end answers nothing more: that reading was cancelled here is no failure of who asked;
 * others are. */
static void send_answers(artel__worker *w)
{
    for (artel__service_job *job = artel__service_crew_take(w->crew); job; job = artel__service_crew_take(w->crew)) {
        artel__reader *r = &w->reader[job->reader];
        bool there = r->line.ctx && r->visit == job->visit;
        if (there) r->jobs--;
        if (there && job->answer && !artel__cancelled(w->ctx))
            artel__line_send(&r->line, job->answer);
        else
            artel__line_block_free(w->ctx, job->answer);
        if (there && !job->answer) r->closing = true; /* no memory: others may have some */
        artel__free(w->ctx, job);
    }
}

/* -- the loop -- */

static void sleep_until_ready(artel__worker *w, struct pollfd *ready)
{
    nfds_t count = 0;
    ready[count++] = (struct pollfd){.fd = artel__listener_fd(w->listener), .events = POLLIN};
    ready[count++] = (struct pollfd){.fd = artel__service_crew_fd(w->crew), .events = POLLIN};
    if (w->dispatcher.ctx)
        ready[count++] = (struct pollfd){.fd = artel__connection_fd(w->dispatcher.connection),
                                         .events = artel__connection_events(w->dispatcher.connection)};
    for (int i = 0; i < w->readers; i++) {
        const artel__connection *c = w->reader[i].line.connection;
        if (w->reader[i].line.ctx)
            ready[count++] = (struct pollfd){.fd = artel__connection_fd(c), .events = artel__connection_events(c)};
    }
    poll(ready, count, 100);
}

static artel_status serve(artel__worker *w, struct pollfd *ready)
{
    while (!artel__cancelled(w->ctx)) {
        ARTEL_TRY(artel__worker_join(w, artel__now_ns()));
        accept_readers(w);
        send_answers(w);
        move_readers(w);
        sleep_until_ready(w, ready);
    }
    return ARTEL_OK;
}

/* -- life -- */

static artel_status open_worker(artel__worker *w)
{
    const artel__listener_options listen = {.address = w->options->listen};
    int threads = w->options->threads > 0 ? w->options->threads : artel__usable_cores();
    ARTEL_TRY(artel__service_site_open(w->ctx, &w->options->access, "data-worker", false, &w->site));
    ARTEL_TRY(artel__listener_create(&w->site.site, &listen, &w->listener));
    return artel__service_crew_create(w->ctx, threads, &w->crew);
}

static void close_worker(artel__worker *w)
{
    artel__service_crew_destroy(w->crew);
    for (int i = 0; i < w->readers; i++) artel__line_close(&w->reader[i].line);
    artel__line_close(&w->dispatcher);
    artel__listener_destroy(w->listener);
    artel__service_site_close(&w->site);
    for (int i = 0; i < w->stores; i++) {
        artel__service_cache_destroy(w->ctx, w->store[i].cache);
        artel_data_destroy(w->store[i].data);
    }
    artel__arena_fini(&w->arena);
}

artel_status artel__worker_run(artel_context *ctx, const artel__worker_options *options)
{
    void *block, *ready;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel__worker), "worker", &block));
    artel__worker *w = block;
    w->ctx = ctx;
    w->options = options;
    artel__arena_init(&w->arena, ctx);
    artel_status status = artel__calloc(ctx, ARTEL__WORKER_READERS + 3, sizeof(struct pollfd), "worker", &ready);
    if (status == ARTEL_OK) {
        status = open_worker(w);
        if (status == ARTEL_OK) status = serve(w, ready);
        artel__free(ctx, ready);
    }
    close_worker(w);
    artel__free(ctx, w);
    return status;
}
