/* SPDX-License-Identifier: Apache-2.0 */
/* A worker and its dispatcher: opening what is served, registering, and registering again. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "service/worker_impl.h"

#define SECOND INT64_C(1000000000)
#define BEAT_NS (2 * SECOND)
#define SILENT_NS (15 * SECOND)
#define RETRY_NS (SECOND / 4)
#define RATED_NS (SECOND / 50) /* of a rate: it is of so much work or so many elements at least */
#define RATED_ROWS 64

/* -- opening -- */

static artel_status open_store(artel__worker *w, const json_t *word, artel__service_store *store)
{
    const char *name = json_string_value(json_object_get(word, "name")),
               *spec = json_string_value(json_object_get(word, "spec"));
    const char *policy = json_string_value(json_object_get(word, "policy"));
    int number = 0;
    while (policy && artel__service_policies[number] && strcmp(artel__service_policies[number], policy) != 0) number++;
    if (!name || !spec || !policy || !artel__service_policies[number])
        return artel__fail(w->ctx, ARTEL_ERROR_INVALID, w->options->dispatcher, "use the same artel everywhere",
                           "a dataset that this version does not understand");
    ARTEL_TRY(artel__data_open(w->ctx, artel__arena_strdup(&w->arena, spec), &store->data));
    ARTEL_TRY(artel__service_describe(&w->arena, store->data, name, (artel__service_policy)number, &store->rows,
                                      &store->dataset));
    ARTEL_TRY(artel__service_here(&w->arena, store->data, &store->dataset, &store->here));
    return artel__service_cache_create(w->ctx, store->dataset.row_bytes, w->options->cache_bytes, &store->cache);
}

static artel_status open_all(artel__worker *w, const json_t *list)
{
    size_t count = json_array_size(list);
    w->store = artel__arena_alloc(&w->arena, count + 1, sizeof *w->store);
    ARTEL_TRY(artel__arena_status(&w->arena));
    for (size_t i = 0; i < count; i++) {
        w->stores = (int)i + 1;
        ARTEL_TRY(open_store(w, json_array_get(list, i), &w->store[i]));
    }
    w->opened = true;
    return ARTEL_OK;
}

/* -- words -- */

static artel_status say_ready(artel__worker *w)
{
    json_t *datasets = json_array(), *here = json_object();
    for (int i = 0; i < w->stores; i++) {
        artel__service_list_add(&datasets, artel__service_dataset_json(&w->store[i].dataset));
        if (json_object_set_new(here, w->store[i].dataset.name, json_string(w->store[i].here)) == 0) continue;
        json_decref(here);
        here = NULL;
    }
    return artel__line_say(&w->dispatcher,
                           json_pack("{s:s, s:o, s:o}", "say", "ready", "datasets", datasets, "here", here));
}

/* A dispatcher that was restarted may serve something else: what this worker has open is said as it is, and judged
 * there. */
static artel_status answer(artel__worker *w, const json_t *word)
{
    const char *say = json_string_value(json_object_get(word, "say")),
               *why = json_string_value(json_object_get(word, "why"));
    if (!say) say = "";
    if (strcmp(say, "datasets") == 0) {
        if (!w->opened) ARTEL_TRY(open_all(w, json_object_get(word, "datasets")));
        return say_ready(w);
    }
    if (strcmp(say, "refused") == 0)
        return artel__fail(w->ctx, ARTEL_ERROR_INVALID, w->options->dispatcher, "", "%.400s", why ? why : "refused");
    if (strcmp(say, "welcome") == 0) {
        w->welcome = true;
        w->beat_at_ns = artel__now_ns() + BEAT_NS;
        if (w->options->ready && !w->told) w->options->ready(w->options->user, w->address);
        w->told = true;
    }
    return ARTEL_OK;
}

/* -- the connection -- */

/* Where clients reach this worker, unless it was told: the address from which it speaks with the dispatcher. */
static artel_status find_address(artel__worker *w)
{
    artel__net_address own = {.bytes = sizeof own.socket};
    if (w->address[0]) return ARTEL_OK;
    if (w->options->address) {
        snprintf(w->address, sizeof w->address, "%.79s", w->options->address);
        return ARTEL_OK;
    }
    if (getsockname(artel__connection_fd(w->dispatcher.connection), (struct sockaddr *)&own.socket, &own.bytes) != 0)
        return artel__fail_errno(w->ctx, w->options->dispatcher, "find the own address towards");
    artel__net_address_text(&own, w->address);
    char *colon = strrchr(w->address, ':');
    snprintf(colon, sizeof w->address - (size_t)(colon - w->address), ":%d", artel__listener_port(w->listener));
    return ARTEL_OK;
}

static artel_status say_hello(artel__worker *w)
{
    ARTEL_TRY(find_address(w));
    w->beat_at_ns = 0;
    return artel__line_say(
        &w->dispatcher, json_pack("{s:s, s:s, s:s}", "say", "work", "address", w->address, "version", ARTEL_VERSION));
}

/* What all threads together could do of a dataset in a second, by what was done of late. */
static void rate_store(const artel__worker *w, artel__service_store *store)
{
    uint64_t done = atomic_load(&store->done), ns = atomic_load(&store->busy_ns);
    uint64_t rows = done - store->told_done, spent = ns - store->told_ns;
    if (rows == 0 || spent == 0 || (rows < RATED_ROWS && spent < RATED_NS)) return;
    store->rate = (double)artel__service_crew_threads(w->crew) * (double)rows * 1e9 / (double)spent;
    store->told_done = done;
    store->told_ns = ns;
}

/* By dataset; NULL without memory, of which json_pack makes none either. */
static json_t *rates_of(artel__worker *w)
{
    json_t *rates = json_object();
    for (int i = 0; i < w->stores && rates; i++) {
        rate_store(w, &w->store[i]);
        if (w->store[i].rate == 0 ||
            json_object_set_new(rates, w->store[i].dataset.name, artel__json_real(w->store[i].rate)) == 0)
            continue;
        json_decref(rates);
        rates = NULL;
    }
    return rates;
}

static artel_status say_beat(artel__worker *w)
{
    uint64_t computed, found;
    artel__service_crew_counts(w->crew, &computed, &found);
    return artel__line_say(&w->dispatcher,
                           json_pack("{s:s, s:I, s:I, s:o}", "say", "beat", "computed", (json_int_t)computed, "found",
                                     (json_int_t)found, "rates", rates_of(w)));
}

static artel_status dial(artel__worker *w, int64_t now)
{
    artel__connection_request request = {.purpose = ARTEL__NET_CONTROL, .task = ""};
    artel__connection *connection;
    w->welcome = false;
    w->join_at_ns = now + RETRY_NS;
    artel_status status = artel__net_address_resolve(w->ctx, w->options->dispatcher, &request.to);
    if (status == ARTEL_ERROR_NOT_FOUND) {
        artel__operation_begin(w->ctx);
        return ARTEL_OK; /* not known yet */
    }
    ARTEL_TRY(status);
    ARTEL_TRY(artel__connection_open(&w->site.site, &request, &connection));
    artel__line_open(&w->dispatcher, w->ctx, connection, ARTEL__LINE_JSON_MOST);
    w->beat_at_ns = -1; /* nothing has been said */
    return ARTEL_OK;
}

static artel_status lose(artel__worker *w, int64_t now)
{
    artel__net_fault fault = artel__connection_fault(w->dispatcher.connection);
    artel_status status = ARTEL_OK;
    if (fault != ARTEL__FAULT_NONE && !artel__service_may_heal(fault))
        status = artel__fail(w->ctx, ARTEL_ERROR_INVALID, w->options->dispatcher,
                             "give a certificate of the service's authority: .cert_dir", "%s",
                             artel__service_why(w->dispatcher.connection));
    if (w->welcome)
        artel__log(w->ctx, ARTEL_LOG_NOTE, "%s: the dispatcher is gone; waiting for it", w->options->dispatcher);
    artel__line_close(&w->dispatcher);
    w->welcome = false;
    w->join_at_ns = now + RETRY_NS;
    return status;
}

static artel_status hear(artel__worker *w)
{
    artel__line_kind kind;
    const uint8_t *bytes;
    size_t size;
    artel_status heard;
    while ((heard = artel__line_hear(&w->dispatcher, &kind, &bytes, &size)) == ARTEL_OK) {
        json_t *word;
        if (kind != ARTEL__LINE_JSON) continue;
        ARTEL_TRY(artel__json_load(w->ctx, w->options->dispatcher, (const char *)bytes, size, &word));
        artel_status status = answer(w, word);
        json_decref(word);
        if (status < 0) return status;
    }
    if (heard == ARTEL_AGAIN) return ARTEL_OK;
    return artel__fail(w->ctx, ARTEL_ERROR_INVALID, w->options->dispatcher, "use the same artel everywhere",
                       "words that nobody understands");
}

artel_status artel__worker_join(artel__worker *w, int64_t now)
{
    if (!w->dispatcher.ctx) return now >= w->join_at_ns ? dial(w, now) : ARTEL_OK;
    artel__connection_state state = artel__line_progress(&w->dispatcher);
    if (state == ARTEL__CONNECTION_OPEN && w->beat_at_ns < 0) ARTEL_TRY(say_hello(w));
    if (w->welcome && now >= w->beat_at_ns) {
        w->beat_at_ns = now + BEAT_NS;
        ARTEL_TRY(say_beat(w));
    }
    ARTEL_TRY(hear(w));
    if (artel__line_progress(&w->dispatcher) == ARTEL__CONNECTION_LOST || now - w->dispatcher.heard_ns > SILENT_NS)
        return lose(w, now);
    return ARTEL_OK;
}
