/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a client, and whom it knows. */
#include "service/client.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "service/client_impl.h"

#define SECOND INT64_C(1000000000)
#define ASK_NS (5 * SECOND)       /* an answer of the dispatcher is waited for so long */
#define ASK_EVERY_NS (3 * SECOND) /* so often it is asked who has come */
#define ASK_RARELY_NS (60 * SECOND)

void artel__service_peer_close(artel_context *ctx, artel__service_peer *peer)
{
    artel__line_close(&peer->line);
    artel__free(ctx, peer->here);
    peer->here = NULL;
}

static void close_session(artel__service_client *client, artel__service_session *session)
{
    for (int i = 0; i < session->peers; i++) artel__service_peer_close(client->ctx, &session->peer[i]);
    artel__free(client->ctx, session->peer);
    artel__free(client->ctx, session);
}

/* -- who works -- */

static artel__service_peer *find_peer(artel__service_session *session, const char *address)
{
    for (int i = 0; i < session->peers; i++)
        if (strcmp(session->peer[i].address, address) == 0) return &session->peer[i];
    return NULL;
}

static int compare_peers(const void *a, const void *b)
{
    return strcmp(((const artel__service_peer *)a)->address, ((const artel__service_peer *)b)->address);
}

static artel_status add_peer(artel__service_client *client, artel__service_session *session, const char *address)
{
    void *peers = session->peer;
    ARTEL_TRY(artel__realloc(client->ctx, (size_t)(session->peers + 1) * sizeof *session->peer, "workers", &peers));
    session->peer = peers;
    artel__service_peer *peer = &session->peer[session->peers++];
    *peer = (artel__service_peer){.retry_ns = 0};
    snprintf(peer->address, sizeof peer->address, "%.79s", address);
    return ARTEL_OK;
}

/* Takes in one worker of the list; what is damaged is passed over. */
static artel_status learn_peer(artel__service_client *client, artel__service_session *session, const json_t *value)
{
    const char *address = json_string_value(json_object_get(value, "address"));
    const char *task = json_string_value(json_object_get(value, "task")),
               *here = json_string_value(json_object_get(value, "here"));
    size_t parts = (size_t)client->dataset.part_count;
    if (!address || !task || !here || strlen(address) >= ARTEL__NET_ADDRESS_TEXT ||
        (parts > 0 && strlen(here) != parts))
        return ARTEL_OK;
    artel__service_peer *peer = find_peer(session, address);
    if (!peer) {
        ARTEL_TRY(add_peer(client, session, address));
        peer = &session->peer[session->peers - 1];
    }
    peer->listed = true;
    snprintf(peer->task, sizeof peer->task, "%.63s", task);
    artel__free(client->ctx, peer->here);
    peer->here = NULL;
    return artel__strdup(client->ctx, here, &peer->here);
}

/* Whether it has been asked for a run that nobody else may be asked for: without it that would never be done. */
static bool owes(const artel__service_peer *peer)
{
    bool any = false;
    for (int i = 0; i < peer->flights; i++) any = any || (peer->flight[i].run >= 0 && !peer->flight[i].given_back);
    return any;
}

/* Those that the dispatcher names, those that still answer, and those that owe something, until it is given back. Runs
 * that are under way go by numbers, so nobody may move meanwhile: called between fetches, or when whoever has moved is
 * asked nothing. */
static artel_status learn_peers(artel__service_client *client, artel__service_session *session, const json_t *list)
{
    size_t i;
    const json_t *value;
    for (int p = 0; p < session->peers; p++) session->peer[p].listed = false;
    json_array_foreach(list, i, value)
    {
        if (i < ARTEL__SERVICE_WORKERS) ARTEL_TRY(learn_peer(client, session, value));
    }
    int kept = 0;
    for (int p = 0; p < session->peers; p++) {
        artel__service_peer *peer = &session->peer[p];
        bool stays = peer->listed || (peer->line.ctx && (!peer->lost || owes(peer)));
        if (stays && kept != p) session->peer[kept] = *peer;
        if (!stays) artel__service_peer_close(client->ctx, peer);
        kept += stays;
    }
    session->peers = kept;
    if (kept > 1) qsort(session->peer, (size_t)kept, sizeof *session->peer, compare_peers);
    return ARTEL_OK;
}

static artel_status ask_once(artel__service_client *client, json_t **out)
{
    artel__operation_begin(client->quiet);
    double demand = artel__service_demand_of(&client->pace, &client->told);
    json_t *question = json_pack("{s:s, s:s, s:I, s:f}", "say", "open", "dataset", client->options.dataset, "client",
                                 (json_int_t)client->number, "demand", demand);
    if (!question) return artel__fail_memory(client->ctx, "question", 64);
    return artel__service_ask(&client->site, client->options.address, question, ASK_NS, out);
}

/* What the quiet context has recorded is told to whoever asked. */
static artel_status tell(artel__service_client *client, artel_status status)
{
    const artel_error *error = artel_context_error(client->quiet);
    return artel__fail(client->ctx, status, error->where, error->advice, "%s", error->what);
}

static bool is_described(const json_t *answer)
{
    return json_is_object(json_object_get(answer, "dataset"));
}

/* Again and again until a dispatcher answers that knows the dataset. */
static artel_status ask_patiently(artel__service_client *client, json_t **out)
{
    int64_t end = artel__now_ns() + client->options.wait_ns;
    bool told = false;
    for (;;) {
        artel_status status = ask_once(client, out);
        bool heals = status == ARTEL_ERROR_RUN || status == ARTEL_ERROR_NOT_FOUND;
        if (status < 0 && (!heals || artel__now_ns() >= end)) return tell(client, status);
        if (status == ARTEL_OK && is_described(*out)) return ARTEL_OK;
        if (status == ARTEL_OK) json_decref(*out);
        *out = NULL;
        if (artel__now_ns() >= end)
            return artel__fail(client->ctx, ARTEL_ERROR_RUN, client->options.address,
                               "start one: artel data-service worker HOST:PORT", "no worker has come that serves it");
        if (artel__cancelled(client->ctx))
            return artel__fail(client->ctx, ARTEL_ERROR_CANCELLED, client->options.address, "", "cancelled");
        if (!told)
            artel__log(client->ctx, ARTEL_LOG_NOTE, "%s: waiting for %s", client->options.address,
                       status < 0 ? "the dispatcher of the data service" : "a worker of the data service");
        told = true;
        poll(NULL, 0, 100);
    }
}

static artel_status check_same(artel__service_client *client, const json_t *answer)
{
    artel__arena arena;
    artel__service_dataset now;
    artel__arena_init(&arena, client->ctx);
    artel_status status =
        artel__service_dataset_read(&arena, client->options.address, json_object_get(answer, "dataset"), &now);
    if (status == ARTEL_OK && memcmp(now.print, client->dataset.print, 32) != 0)
        status =
            artel__fail(client->ctx, ARTEL_ERROR_INVALID, client->options.address,
                        "start again with what is served now", "the data of '%s' has changed", client->dataset.name);
    artel__arena_fini(&arena);
    return status;
}

/* What any session has heard last: without a dispatcher the others go on with it, too. */
static void remember(artel__service_client *client, json_t *list)
{
    json_t *copy = artel__json_copy_deep(list);
    if (!copy) return; /* what was known before is still there */
    pthread_mutex_lock(&client->mutex);
    json_t *before = client->workers;
    client->workers = copy;
    pthread_mutex_unlock(&client->mutex);
    json_decref(before);
}

static artel_status learn_remembered(artel__service_client *client, artel__service_session *session)
{
    pthread_mutex_lock(&client->mutex);
    json_t *copy = artel__json_copy_deep(client->workers);
    pthread_mutex_unlock(&client->mutex);
    artel_status status = copy ? learn_peers(client, session, copy) : ARTEL_OK;
    json_decref(copy);
    return status < 0 ? status : ARTEL_AGAIN;
}

artel_status artel__service_ask_who(artel__service_client *client, artel__service_session *session, bool waits)
{
    json_t *answer = NULL;
    if (waits) {
        pthread_mutex_lock(&client->asking); /* one record of failure, one question at a time */
    } else if (pthread_mutex_trylock(&client->asking) != 0) {
        session->asked_ns = artel__now_ns(); /* another session asks: this one goes on with whom all know */
        return learn_remembered(client, session);
    }
    artel_status status = waits ? ask_patiently(client, &answer) : ask_once(client, &answer);
    if (status == ARTEL_OK && !is_described(answer)) status = ARTEL_AGAIN; /* a dispatcher that was just born */
    if (status == ARTEL_OK)
        status = check_same(client, answer);
    else if ((status == ARTEL_ERROR_RUN || status == ARTEL_ERROR_NOT_FOUND) && !waits)
        status = ARTEL_AGAIN; /* it is gone, perhaps for a while */
    else if (status < 0 && !waits)
        status = tell(client, status);
    pthread_mutex_unlock(&client->asking);
    session->asked_ns = artel__now_ns();
    session->ask_every_ns = status == ARTEL_OK ? ASK_EVERY_NS : session->ask_every_ns * 2;
    if (session->ask_every_ns < SECOND / 2) session->ask_every_ns = SECOND / 2;
    if (session->ask_every_ns > ASK_RARELY_NS) session->ask_every_ns = ASK_RARELY_NS;
    if (status == ARTEL_OK) {
        remember(client, json_object_get(answer, "workers"));
        status = learn_peers(client, session, json_object_get(answer, "workers"));
    } else if (status == ARTEL_AGAIN) {
        status = learn_remembered(client, session);
    }
    json_decref(answer);
    return status;
}

/* -- life -- */

static artel_status copy_options(artel__service_client *client, const artel__service_client_options *options)
{
    client->options = *options;
    client->options.address = artel__arena_strdup(&client->arena, options->address);
    client->options.dataset = artel__arena_strdup(&client->arena, options->dataset ? options->dataset : "");
    if (client->options.wait_ns <= 0) client->options.wait_ns = 60 * SECOND;
    ARTEL_TRY(artel__arena_status(&client->arena));
    return artel__service_check_name(client->ctx, "the name of a dataset", client->options.dataset);
}

static artel_status learn_dataset(artel__service_client *client)
{
    json_t *answer;
    ARTEL_TRY(ask_patiently(client, &answer));
    artel_status status = artel__service_dataset_read(&client->arena, client->options.address,
                                                      json_object_get(answer, "dataset"), &client->dataset);
    if (status == ARTEL_OK) client->options.dataset = client->dataset.name;
    json_decref(answer);
    return status;
}

artel_status artel__service_client_open(artel_context *ctx, const artel__service_client_options *options,
                                        artel__service_client **out)
{
    void *block;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel__service_client), "data service", &block));
    artel__service_client *client = block;
    client->ctx = ctx;
    artel__arena_init(&client->arena, ctx);
    artel__texts_init(&client->texts, ctx, 0);
    pthread_mutex_init(&client->asking, NULL);
    pthread_mutex_init(&client->mutex, NULL);
    artel_status status = copy_options(client, options);
    if (status == ARTEL_OK) status = artel_context_create(NULL, &client->quiet);
    if (status == ARTEL_OK)
        status = artel__service_site_open(client->quiet, &options->access, "data-client", true, &client->site);
    if (status < 0 && client->quiet) status = tell(client, status);
    if (status == ARTEL_OK) client->number = client->site.site.self.incarnation;
    if (status == ARTEL_OK) status = learn_dataset(client);
    if (status < 0) {
        artel__service_client_close(client);
        return status;
    }
    *out = client;
    return ARTEL_OK;
}

void artel__service_client_close(artel__service_client *client)
{
    if (!client) return;
    artel_context *ctx = client->ctx;
    while (client->idle) {
        artel__service_session *next = client->idle->next;
        close_session(client, client->idle);
        client->idle = next;
    }
    artel__service_site_close(&client->site);
    artel_context_destroy(client->quiet);
    json_decref(client->workers);
    pthread_mutex_destroy(&client->mutex);
    pthread_mutex_destroy(&client->asking);
    artel__texts_fini(&client->texts);
    artel__arena_fini(&client->arena);
    artel__free(ctx, client);
}

void artel__service_client_stop(artel__service_client *client)
{
    atomic_store(&client->stopped, true);
}

const artel__service_dataset *artel__service_client_dataset(const artel__service_client *client)
{
    return &client->dataset;
}

artel__pace *artel__service_client_pace(artel__service_client *client)
{
    return &client->pace;
}
