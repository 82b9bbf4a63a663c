/* SPDX-License-Identifier: Apache-2.0 */
/* Heads of calls and messages of logs: writing, reading, judging. */
#include "ps/call.h"

#include "base/bytes.h"
#include "base/hash.h"

static const struct {
    const char *name;
    uint8_t roles, flags; /* who may say it; the highest value of flags */
    bool rows;            /* carries rows */
} op_table[ARTEL__PS_OPS] = {
    [ARTEL__PS_PULL] = {"pull", ARTEL__PS_CLIENT | ARTEL__PS_COORDINATOR, 1, false},
    [ARTEL__PS_PULL_ROWS] = {"pull rows", ARTEL__PS_CLIENT | ARTEL__PS_COORDINATOR, 1, true},
    [ARTEL__PS_PUSH] = {"push", ARTEL__PS_CLIENT, 1, false},
    [ARTEL__PS_PUSH_ROWS] = {"push rows", ARTEL__PS_CLIENT, 1, true},
    [ARTEL__PS_PUSH_NODE] = {"push node", ARTEL__PS_CLIENT, 1, true},
    [ARTEL__PS_COMMIT] = {"commit", ARTEL__PS_CLIENT | ARTEL__PS_COORDINATOR, 1, false},
    [ARTEL__PS_AVERAGE] = {"average", ARTEL__PS_CLIENT, 0, false},
    [ARTEL__PS_ASSIGN] = {"assign", ARTEL__PS_COORDINATOR, 0, false},
    [ARTEL__PS_RATE] = {"rate", ARTEL__PS_COORDINATOR, 0, false},
    [ARTEL__PS_KEEP] = {"keep", ARTEL__PS_COORDINATOR, 1, false},
    [ARTEL__PS_SNAP] = {"snap", ARTEL__PS_COORDINATOR, 0, false},
    [ARTEL__PS_CLOCK] = {"clock", ARTEL__PS_CLIENT | ARTEL__PS_COORDINATOR, 0, false},
    [ARTEL__PS_ISSUE] = {"issue", ARTEL__PS_COORDINATOR, 1, false},
    [ARTEL__PS_RESULT] = {"result", ARTEL__PS_CLIENT, 1, false},
    [ARTEL__PS_RECALL] = {"recall", ARTEL__PS_COORDINATOR, 0, false},
    [ARTEL__PS_LOG] = {"log", ARTEL__PS_HOLDER, ARTEL__LOG_WORDS - 1, false},
    [ARTEL__PS_COPY] = {"copy", ARTEL__PS_HOLDER, 1, false},
    [ARTEL__PS_ANSWER] = {"answer", ARTEL__PS_CLIENT | ARTEL__PS_COORDINATOR | ARTEL__PS_HOLDER, ARTEL__LOG_WAIT, true},
};

const char *artel__ps_op_name(unsigned op)
{
    return op > 0 && op < ARTEL__PS_OPS ? op_table[op].name : "unknown";
}

void artel__ps_head_write(const artel__ps_head *head, uint8_t out[ARTEL__PS_HEAD_BYTES])
{
    uint8_t *at = artel__bytes_put(out, head->op, 1);
    at = artel__bytes_put(at, head->flags, 1);
    at = artel__bytes_put(at, head->pieces, 2);
    at = artel__bytes_put(at, head->part, 4);
    at = artel__bytes_put(at, head->epoch, 8);
    at = artel__bytes_put(at, head->client, 8);
    at = artel__bytes_put(at, head->item, 8);
    at = artel__bytes_put(at, head->position, 8);
    at = artel__bytes_put(at, head->rows, 4);
    artel__bytes_put(at, head->hash, 4);
}

const char *artel__ps_head_read(const uint8_t *bytes, size_t count, uint32_t parts, unsigned role, artel__ps_head *out)
{
    if (count < ARTEL__PS_HEAD_BYTES) return "a call that is too short";
    const uint8_t *at = bytes;
    artel__ps_head h = {.op = (uint8_t)artel__bytes_take(&at, 1)};
    h.flags = (uint8_t)artel__bytes_take(&at, 1);
    h.pieces = (uint16_t)artel__bytes_take(&at, 2);
    h.part = (uint32_t)artel__bytes_take(&at, 4);
    h.epoch = artel__bytes_take(&at, 8);
    h.client = artel__bytes_take(&at, 8);
    h.item = artel__bytes_take(&at, 8);
    h.position = artel__bytes_take(&at, 8);
    h.rows = (uint32_t)artel__bytes_take(&at, 4);
    h.hash = (uint32_t)artel__bytes_take(&at, 4);
    if (!h.op || h.op >= ARTEL__PS_OPS) return "a call of an unknown operation";
    if (!(op_table[h.op].roles & role)) return "a call that its sender may not make";
    if (h.flags > op_table[h.op].flags) return "a call with unknown flags";
    if (h.part >= parts) return "a call about a part that does not exist";
    if (h.pieces > ARTEL__PS_MOST_PIECES) return "a call of too many pieces";
    if (h.rows && !op_table[h.op].rows) return "rows where an operation has none";
    *out = h;
    return NULL;
}

const char *artel__ps_ids_check(const uint8_t *bytes, size_t count, uint64_t limit)
{
    uint64_t least = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t id = artel__bytes_get(bytes + 8 * i, 8);
        if (id >= limit) return "a row that does not exist";
        if (id < least) return "rows that are not in ascending order";
        least = id + 1;
    }
    return NULL;
}

/* -- logs -- */

static uint8_t *put_entry(uint8_t *at, const artel__log_entry *e)
{
    at = artel__bytes_put(at, e->position, 8);
    at = artel__bytes_put(at, e->epoch, 8);
    at = artel__bytes_put(at, e->client, 8);
    at = artel__bytes_put(at, e->sequence, 8);
    at = artel__bytes_put(at, e->item, 8);
    at = artel__bytes_put(at, (uint64_t)e->iteration, 8);
    at = artel__bytes_put(at, e->length, 4);
    at = artel__bytes_put(at, e->kind, 1);
    at = artel__bytes_put(at, e->flags, 1);
    at = artel__bytes_put(at, e->source, 2);
    at = artel__bytes_put(at, e->hash, 4);
    return artel__bytes_put(at, 0, 4);
}

static artel__log_entry take_entry(const uint8_t **at)
{
    artel__log_entry e = {.position = artel__bytes_take(at, 8)};
    e.epoch = artel__bytes_take(at, 8);
    e.client = artel__bytes_take(at, 8);
    e.sequence = artel__bytes_take(at, 8);
    e.item = artel__bytes_take(at, 8);
    e.iteration = (int64_t)artel__bytes_take(at, 8);
    e.length = (uint32_t)artel__bytes_take(at, 4);
    e.kind = (uint8_t)artel__bytes_take(at, 1);
    e.flags = (uint8_t)artel__bytes_take(at, 1);
    e.source = (uint16_t)artel__bytes_take(at, 2);
    e.hash = (uint32_t)artel__bytes_take(at, 4);
    *at += 4;
    return e;
}

/* ASK says in the head's item whether there is nothing to continue. */
size_t artel__ps_log_write(const artel__log_message *m, uint8_t out[ARTEL__PS_LOG_BYTES])
{
    artel__ps_head head = {.op = ARTEL__PS_LOG,
                           .flags = (uint8_t)m->word,
                           .part = m->part,
                           .epoch = m->epoch,
                           .item = m->entry.flags,
                           .position = m->position};
    if (m->word == ARTEL__LOG_APPEND) head.item = m->entry.item;
    artel__ps_head_write(&head, out);
    if (m->word != ARTEL__LOG_APPEND) return ARTEL__PS_HEAD_BYTES;
    uint8_t *at = put_entry(out + ARTEL__PS_HEAD_BYTES, &m->entry);
    at = artel__bytes_put(at, m->digest_at, 8);
    artel__bytes_put(at, m->digest, 8);
    return ARTEL__PS_LOG_BYTES;
}

const char *artel__ps_log_read(const uint8_t *bytes, size_t count, uint32_t parts, artel__log_message *m)
{
    artel__ps_head head;
    const char *wrong = artel__ps_head_read(bytes, count, parts, ARTEL__PS_HOLDER, &head);
    if (wrong) return wrong;
    if (head.op != ARTEL__PS_LOG || !head.flags) return "not a message of a log";
    *m = (artel__log_message){
        .word = (artel__log_word)head.flags, .part = head.part, .epoch = head.epoch, .position = head.position};
    m->entry.flags = (uint8_t)(head.item != 0);
    if (m->word != ARTEL__LOG_APPEND)
        return count == ARTEL__PS_HEAD_BYTES ? NULL : "a message of a log that is too long";
    if (count < ARTEL__PS_LOG_BYTES) return "an entry that is too short";
    const uint8_t *at = bytes + ARTEL__PS_HEAD_BYTES;
    m->entry = take_entry(&at);
    m->digest_at = artel__bytes_take(&at, 8);
    m->digest = artel__bytes_take(&at, 8);
    if (m->entry.length != count - ARTEL__PS_LOG_BYTES) return "an entry whose payload has another length";
    if (!m->entry.kind || m->entry.kind >= ARTEL__LOG_KINDS) return "an entry of unknown kind";
    if (m->entry.position != m->position || !m->position) return "an entry at another position than its head says";
    if (m->entry.hash && m->entry.hash != artel__crc32c(0, at, m->entry.length)) return "a damaged entry";
    m->payload = m->entry.length ? at : NULL;
    return NULL;
}
