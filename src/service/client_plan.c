/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of whom: elements that the same workers may compute stand together, in runs of some hundred kilobytes.
 */
#include <stdlib.h>
#include <string.h>

#include "data/data.h"
#include "service/client_impl.h"

#define RUN_BYTES ((size_t)256 << 10)

typedef struct key {
    int64_t at;
    int part, owner;
} key;

static int compare(const void *a, const void *b)
{
    const key *x = a, *y = b;
    if (x->part != y->part) return x->part < y->part ? -1 : 1;
    if (x->owner != y->owner) return x->owner < y->owner ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static bool has_part(const artel__service_peer *peer, int part)
{
    return !peer->here || !peer->here[0] || peer->here[part] == '1';
}

/* The part-th of the peers that have the file. */
static int owner_of_part(const artel__service_session *session, int part)
{
    int holders = 0, at = 0;
    for (int i = 0; i < session->peers; i++) holders += has_part(&session->peer[i], part);
    if (holders == 0) return -1;
    for (int i = 0, left = part % holders; i < session->peers; i++) {
        if (!has_part(&session->peer[i], part)) continue;
        at = i;
        if (left-- == 0) break;
    }
    return at;
}

static int owner_of(const artel__service_client *client, const artel__service_session *session, int64_t row, int part)
{
    if (session->peers == 0) return -1;
    switch (client->dataset.policy) {
    case ARTEL__SERVICE_DATA: return (int)(row % session->peers);
    case ARTEL__SERVICE_FILE: return client->dataset.part_count > 0 ? owner_of_part(session, part) : -1;
    case ARTEL__SERVICE_OFF: return (int)(client->number % (uint64_t)session->peers);
    default: return -1;
    }
}

bool artel__service_may_do(const artel__service_session *session, const artel__service_peer *peer,
                           const artel__service_run *run)
{
    if (!has_part(peer, run->part)) return false;
    if (run->owner < 0 || run->owner >= session->peers) return true;
    const artel__service_peer *owner =
        &session->peer[run->owner]; /* another one than at first when the list has changed */
    return owner == peer || owner->lost || !has_part(owner, run->part);
}

/* So many elements a run that workers of a small batch all have some. */
static int64_t run_length(const artel__service_client *client, const artel__service_session *session, int64_t count)
{
    int64_t by_bytes = 1 + (int64_t)(RUN_BYTES / (artel__service_row_guess(&client->dataset) + 1));
    int64_t by_peers = count / (2 * (session->peers > 0 ? session->peers : 1)) + 1;
    return by_bytes < by_peers ? by_bytes : by_peers;
}

static void cut(const key *keys, int64_t most, artel__service_plan *out)
{
    for (int64_t i = 0; i < out->count; i++) {
        artel__service_run *last = out->runs > 0 ? &out->run[out->runs - 1] : NULL;
        out->order[i] = keys[i].at;
        if (last && last->count < most && last->part == keys[i].part && last->owner == keys[i].owner)
            last->count++;
        else
            out->run[out->runs++] =
                (artel__service_run){.first = i, .count = 1, .part = keys[i].part, .owner = keys[i].owner};
    }
}

artel_status artel__service_plan_make(artel__service_client *client, const artel__service_session *session,
                                      const uint64_t *rows, int64_t count, artel__service_plan *out)
{
    const artel__service_dataset *dataset = &client->dataset;
    void *block, *keys;
    *out = (artel__service_plan){.rows = rows, .count = count};
    ARTEL_TRY(artel__calloc(client->ctx, (size_t)count, sizeof(int64_t) + sizeof(artel__service_run), "rows", &block));
    out->run = block;
    out->order = (int64_t *)(void *)(out->run + count);
    artel_status status = artel__alloc(client->ctx, (size_t)count * sizeof(key), "rows", &keys);
    if (status < 0) {
        artel__service_plan_free(client->ctx, out);
        return status;
    }
    key *by = keys;
    for (int64_t i = 0; i < count; i++) {
        int64_t row = (int64_t)artel__row_number(rows[i]);
        int part = artel__service_part_of(dataset, row);
        by[i] = (key){i, part, owner_of(client, session, row, part)};
    }
    qsort(by, (size_t)count, sizeof *by, compare);
    cut(by, run_length(client, session, count), out);
    artel__free(client->ctx, keys);
    return ARTEL_OK;
}

void artel__service_plan_free(artel_context *ctx, artel__service_plan *plan)
{
    artel__free(ctx, plan->run);
    memset(plan, 0, sizeof *plan);
}
