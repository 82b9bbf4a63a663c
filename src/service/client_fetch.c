/* SPDX-License-Identifier: Apache-2.0 */
/* One call of fetch: dealing runs to peers, taking answers, giving again what a lost or silent peer owes.
 *
 * A run is in one of three states: not asked, asked, done. A peer that is lost, and one that has been silent for
 * SILENT_NS while it owes something, or does not come to the end of an answer, gives its runs back (not asked): whoever
 * answers first counts, the other one is passed over.
 *
 * A peer may be anybody's process that has a certificate: an answer may be as long as what was asked for can be, is
 * checked before anything of it is kept, and belongs to a question that is open. Who says anything else is lost.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/budget.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "data/data.h"
#include "service/client_impl.h"

#define SECOND INT64_C(1000000000)
#define SILENT_NS (5 * SECOND)
#define RETRY_NS (SECOND / 2)
#define POLLED 64
#define WORDS_MOST ((uint64_t)64 << 10)  /* of an answer without rows */
#define TEXTS_LEAST ((uint64_t)16 << 20) /* of an answer, however little memory there is */
#define TEXTS_SHARE 4                    /* of the memory for data, that the texts of one answer may take */

typedef struct fetch {
    artel__service_client *client;
    artel__service_session *session;
    artel__service_plan plan;
    artel__service_take_fn *take;
    void *user;
    int64_t moved_ns; /* when something was done last */
    bool told;
} fetch;

/* -- peers -- */

static void give_back(fetch *f, artel__service_peer *peer, int i)
{
    artel__service_flight *flight = &peer->flight[i];
    if (flight->run >= 0 && !flight->given_back) f->plan.run[flight->run].asked = false;
    flight->given_back = true;
}

static void lose(fetch *f, artel__service_peer *peer, const char *why)
{
    for (int i = 0; i < peer->flights; i++) give_back(f, peer, i);
    peer->flights = 0;
    snprintf(peer->why, sizeof peer->why, "%.250s", why);
    artel__line_close(&peer->line);
    peer->lost = true;
    peer->retry_ns = artel__now_ns() + RETRY_NS;
}

static void dial(fetch *f, artel__service_peer *peer)
{
    artel__connection_request request = {.purpose = ARTEL__NET_CONTROL, .task = peer->task};
    artel__connection *connection;
    if (!artel__net_address_parse(peer->address, &request.to) ||
        artel__connection_open(&f->client->site.site, &request, &connection) < 0) {
        lose(f, peer, "no socket for the connection, or no address");
        return;
    }
    artel__line_open(&peer->line, f->client->quiet, connection, WORDS_MOST);
    artel__line_say(&peer->line, json_pack("{s:s, s:s}", "say", "read", "dataset", f->client->dataset.name));
}

static bool is_open(const artel__service_peer *peer)
{
    return peer->line.ctx && artel__connection_get_state(peer->line.connection) == ARTEL__CONNECTION_OPEN;
}

/* -- asking -- */

static artel_status ask(fetch *f, artel__service_peer *peer, int index)
{
    artel__service_run *run = &f->plan.run[index];
    artel__line_block *block;
    ARTEL_TRY(artel__line_block_create(peer->line.ctx, ARTEL__LINE_ASK, 8 + 8 * (size_t)run->count, &block));
    uint64_t call = ++f->session->calls;
    uint8_t *at = artel__bytes_put(artel__line_body(block), call, 8);
    for (int64_t i = 0; i < run->count; i++) at = artel__bytes_put(at, f->plan.rows[f->plan.order[run->first + i]], 8);
    artel__line_send(&peer->line, block);
    peer->flight[peer->flights++] = (artel__service_flight){call, artel__now_ns(), run->count, index, false};
    run->asked = true;
    return ARTEL_OK;
}

/* One run more for each peer that has room, until nobody takes any: so that the first does not get all. */
static artel_status deal(fetch *f)
{
    bool dealt = true;
    for (int round = 0; round < ARTEL__SERVICE_FLIGHTS && dealt; round++) {
        dealt = false;
        for (int p = 0; p < f->session->peers; p++) {
            artel__service_peer *peer = &f->session->peer[p];
            if (!is_open(peer) || peer->lost || peer->flights > round)
                continue; /* lost, but open: it owes something and is silent */
            for (int i = 0; i < f->plan.runs; i++) {
                const artel__service_run *run = &f->plan.run[i];
                if (run->asked || run->done || !artel__service_may_do(f->session, peer, run)) continue;
                ARTEL_TRY(ask(f, peer, i));
                dealt = true;
                break;
            }
        }
    }
    return ARTEL_OK;
}

/* -- answers -- */

/* The flight of that call, taken off the peer's list: its run, or -1 (of an earlier fetch). False: it was not asked. */
static bool land(artel__service_peer *peer, uint64_t call, int *out)
{
    for (int i = 0; i < peer->flights; i++) {
        if (peer->flight[i].call != call) continue;
        *out = peer->flight[i].run;
        memmove(peer->flight + i, peer->flight + i + 1, (size_t)(peer->flights - i - 1) * sizeof peer->flight[0]);
        peer->flights--;
        return true;
    }
    return false;
}

/* The bytes of the longest message that a peer may send now. */
static uint64_t longest_answer(const fetch *f, const artel__service_peer *peer)
{
    const artel__service_dataset *dataset = &f->client->dataset;
    uint64_t most = WORDS_MOST, texts = artel__budget_limit(f->client->ctx) / TEXTS_SHARE;
    if (texts < TEXTS_LEAST) texts = TEXTS_LEAST;
    if (texts > ARTEL__SERVICE_TEXTS_MOST) texts = ARTEL__SERVICE_TEXTS_MOST;
    if (!artel__service_has_texts(dataset)) texts = 0;
    for (int i = 0; i < peer->flights; i++) {
        uint64_t answer = 8 + (uint64_t)peer->flight[i].rows * dataset->row_bytes + texts;
        if (answer > most) most = answer;
    }
    return most;
}

/* Rows with texts, which lie behind them. */
static artel_status take_texts(fetch *f, const artel__service_run *run, const uint8_t *rows, size_t size)
{
    artel__service_client *client = f->client;
    size_t row_bytes = client->dataset.row_bytes, all = (size_t)run->count * row_bytes, place = 0;
    artel_status status = ARTEL_OK;
    void *row;
    if (size < all || !artel__service_texts_fit(&client->dataset, rows, run->count, size - all))
        return ARTEL_ERROR_INVALID;
    ARTEL_TRY(artel__alloc(client->ctx, row_bytes, client->dataset.name, &row));
    for (int64_t i = 0; i < run->count && status == ARTEL_OK; i++) {
        memcpy(row, rows + (size_t)i * row_bytes, row_bytes);
        status = artel__service_texts_unpack(&client->dataset, &client->texts, row, rows + all, size - all, &place);
        if (status == ARTEL_OK) f->take(f->user, f->plan.order[run->first + i], row);
    }
    artel__free(client->ctx, row);
    return status;
}

/* The rows of an answer; INVALID, not recorded: they are others than were asked for. */
static artel_status take_run(fetch *f, const artel__service_run *run, const uint8_t *rows, size_t size)
{
    size_t row_bytes = f->client->dataset.row_bytes;
    if (artel__service_has_texts(&f->client->dataset)) return take_texts(f, run, rows, size);
    if (size != (size_t)run->count * row_bytes) return ARTEL_ERROR_INVALID;
    for (int64_t i = 0; i < run->count; i++)
        f->take(f->user, f->plan.order[run->first + i], rows + (size_t)i * row_bytes);
    return ARTEL_OK;
}

/* INVALID, not recorded: no answer to what was asked; others are asked for that run. */
static artel_status take_rows(fetch *f, artel__service_peer *peer, const uint8_t *bytes, size_t size)
{
    int index;
    if (size < 8 || !land(peer, artel__bytes_get(bytes, 8), &index)) return ARTEL_ERROR_INVALID;
    if (index < 0 || f->plan.run[index].done) return ARTEL_OK;
    artel__service_run *run = &f->plan.run[index];
    artel_status status = take_run(f, run, bytes + 8, size - 8);
    if (status < 0) {
        run->asked = false;
        return status;
    }
    run->done = true;
    f->plan.done++;
    f->moved_ns = artel__now_ns();
    return ARTEL_OK;
}

/* What a worker could not read, no other could; unless one has. */
static artel_status take_failure(fetch *f, artel__service_peer *peer, const uint8_t *bytes, size_t size, bool *asked)
{
    int index = -1;
    *asked = size >= 16 && land(peer, artel__bytes_get(bytes, 8), &index);
    if (index < 0 || f->plan.run[index].done) return ARTEL_OK;
    int64_t status = (int64_t)artel__bytes_get(bytes + 8, 8);
    bool sensible = status < 0 && status >= ARTEL_ERROR_INTERNAL && status != ARTEL_ERROR_CANCELLED &&
                    status != ARTEL_ERROR_PREEMPTED;
    if (!sensible) status = ARTEL_ERROR_CORRUPT;
    return artel__fail(f->client->ctx, (artel_status)status, f->client->dataset.name, "correct the data on the workers",
                       "%.*s (at %s)", (int)(size - 16 < 600 ? size - 16 : 600), (const char *)bytes + 16,
                       peer->address);
}

static artel_status hear(fetch *f, artel__service_peer *peer)
{
    artel__line_kind kind;
    const uint8_t *bytes;
    size_t size;
    artel_status heard;
    peer->line.most = longest_answer(f, peer);
    while ((heard = artel__line_hear(&peer->line, &kind, &bytes, &size)) == ARTEL_OK) {
        bool asked = kind != ARTEL__LINE_JSON; /* words: it does not serve this (any more) */
        if (kind == ARTEL__LINE_FAILED) ARTEL_TRY(take_failure(f, peer, bytes, size, &asked));
        if (kind == ARTEL__LINE_ROWS) heard = take_rows(f, peer, bytes, size);
        if (heard < 0 && heard != ARTEL_ERROR_INVALID) return heard;
        if (!asked) heard = ARTEL_ERROR_INVALID;
        if (heard < 0) break;
        peer->lost = false;
        peer->line.most = longest_answer(f, peer);
    }
    bool long_one = peer->line.ctx && peer->line.expected > peer->line.most;
    if (heard < 0 && long_one)
        lose(f, peer,
             "its answer is longer than what was asked for may be (its texts: a quarter of the memory for data)");
    else if (heard < 0)
        lose(f, peer, "it does not serve this dataset, or speaks otherwise");
    return ARTEL_OK;
}

static artel_status move(fetch *f, artel__service_peer *peer, int64_t now)
{
    if (!peer->line.ctx) {
        if (now >= peer->retry_ns) dial(f, peer);
        return ARTEL_OK;
    }
    artel__connection_state state = artel__line_progress(&peer->line);
    if (state == ARTEL__CONNECTION_OPEN && peer->flights == 0) peer->lost = false;
    ARTEL_TRY(hear(f, peer)); /* whoever answers is not lost */
    if (peer->line.ctx && artel__connection_get_state(peer->line.connection) == ARTEL__CONNECTION_LOST)
        lose(f, peer, artel__service_why(peer->line.connection));
    for (int i = 0; i < peer->flights; i++) { /* of earlier calls, too: who owes those does nothing new either */
        int64_t silent =
            now - (peer->flight[i].since_ns > peer->line.heard_ns ? peer->flight[i].since_ns : peer->line.heard_ns);
        bool slow = now - peer->flight[i].since_ns > f->client->options.wait_ns / 2;
        if ((silent < SILENT_NS && !slow) || peer->flight[i].given_back) continue;
        give_back(f, peer, i);
        peer->lost = true;
    }
    return ARTEL_OK;
}

/* -- waiting -- */

static void sleep_until_ready(const fetch *f)
{
    struct pollfd ready[POLLED];
    int count = 0;
    for (int p = 0; p < f->session->peers && count < POLLED; p++) {
        const artel__service_peer *peer = &f->session->peer[p];
        if (!peer->line.ctx) continue;
        ready[count++] = (struct pollfd){.fd = artel__connection_fd(peer->line.connection),
                                         .events = artel__connection_events(peer->line.connection)};
    }
    poll(ready, (nfds_t)count, 50);
}

static artel_status nobody(const fetch *f)
{
    const char *why = "no worker is there";
    for (int p = 0; p < f->session->peers; p++)
        if (f->session->peer[p].why[0]) why = f->session->peer[p].why;
    return artel__fail(f->client->ctx, ARTEL_ERROR_RUN, f->client->options.address,
                       "start workers of the data service again", "nobody computes elements of '%s': %.200s",
                       f->client->dataset.name, why);
}

/* Somebody is missing: the dispatcher may know others; and patience ends. */
static artel_status look_around(fetch *f, int64_t now)
{
    artel__service_session *session = f->session;
    bool any = false;
    if (artel__cancelled(f->client->ctx) || atomic_load(&f->client->stopped))
        return artel__fail(f->client->ctx, ARTEL_ERROR_CANCELLED, f->client->options.address, "",
                           "reading was cancelled");
    for (int p = 0; p < session->peers; p++) any |= is_open(&session->peer[p]) && !session->peer[p].lost;
    if (now - f->moved_ns > f->client->options.wait_ns) return nobody(f);
    if (!any && !f->told && now - f->moved_ns > SECOND) {
        artel__log(f->client->ctx, ARTEL_LOG_NOTE, "%s: waiting for a worker of the data service",
                   f->client->options.address);
        f->told = true;
    }
    if (!any && session->ask_every_ns > SECOND) session->ask_every_ns = SECOND / 2;
    if (now - session->asked_ns < session->ask_every_ns) return ARTEL_OK;
    artel_status status = artel__service_ask_who(f->client, session, false);
    return status < 0 ? status : ARTEL_OK;
}

static artel_status run_fetch(fetch *f)
{
    while (f->plan.done < f->plan.runs) {
        int64_t now = artel__now_ns();
        for (int p = 0; p < f->session->peers; p++) ARTEL_TRY(move(f, &f->session->peer[p], now));
        ARTEL_TRY(deal(f));
        for (int p = 0; p < f->session->peers; p++)
            if (is_open(&f->session->peer[p])) artel__line_progress(&f->session->peer[p].line);
        if (f->plan.done == f->plan.runs) break;
        ARTEL_TRY(look_around(f, now));
        sleep_until_ready(f);
    }
    return ARTEL_OK;
}

/* -- sessions -- */

static artel_status take_session(artel__service_client *client, artel__service_session **out)
{
    void *block = NULL;
    pthread_mutex_lock(&client->mutex);
    artel__service_session *session = client->idle;
    if (session) client->idle = session->next;
    pthread_mutex_unlock(&client->mutex);
    if (!session) {
        ARTEL_TRY(artel__calloc(client->ctx, 1, sizeof *session, "data service", &block));
        session = block;
    }
    session->next = NULL;
    *out = session;
    return session->peers > 0 ? ARTEL_OK : artel__service_ask_who(client, session, true);
}

/* What it was asked in a fetch that failed is answered to nobody. */
static void leave_session(artel__service_client *client, artel__service_session *session)
{
    for (int p = 0; p < session->peers; p++)
        for (int i = 0; i < session->peer[p].flights; i++) session->peer[p].flight[i].run = -1;
    pthread_mutex_lock(&client->mutex);
    session->next = client->idle;
    client->idle = session;
    pthread_mutex_unlock(&client->mutex);
}

artel_status artel__service_client_fetch(artel__service_client *client, const uint64_t *rows, int64_t count,
                                         artel__service_take_fn *take, void *user)
{
    fetch f = {.client = client, .take = take, .user = user};
    if (count <= 0) return ARTEL_OK;
    artel_status status = take_session(client, &f.session);
    f.moved_ns = artel__now_ns(); /* finding somebody may have taken long */
    if (status == ARTEL_OK) status = artel__service_plan_make(client, f.session, rows, count, &f.plan);
    if (status == ARTEL_OK) status = run_fetch(&f);
    artel__service_plan_free(client->ctx, &f.plan);
    if (f.session) leave_session(client, f.session);
    return status;
}
