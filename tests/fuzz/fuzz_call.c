/* SPDX-License-Identifier: Apache-2.0 */
/* long form: 600 */
/* libFuzzer: any bytes as the head of a call, as a message of a log, as a copy's table and as ids. What can be read is
 * within its bounds, and what was written from it reads back the same; a log stays within its memory whatever other
 * holders say.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "fuzz/help_fuzz.h"
#include "ps/call.h"

enum {
    PARTS = 3,
    BATCHES = 100
};

typedef struct holder {
    uint64_t applied;
    int payloads; /* handed in and not given back */
} holder;

static void apply(void *user, const artel__log_entry *entry, const void *payload)
{
    holder *h = user;
    if (entry->position != h->applied + 1) abort();
    if (entry->length && !payload) abort();
    h->applied = entry->position;
}

static uint64_t digest(void *user)
{
    return ((holder *)user)->applied;
}

static void send(void *user, uint32_t task, const artel__log_message *message)
{
    (void)user;
    uint8_t bytes[ARTEL__PS_LOG_BYTES];
    if (task > 2 || artel__ps_log_write(message, bytes) > sizeof bytes) abort();
}

static void answer(void *user, const artel__log_entry *entry, artel__log_answer answer)
{
    (void)answer;
    if (entry->position > ((holder *)user)->applied) abort();
}

static void level(void *user, uint64_t epoch)
{
    (void)user, (void)epoch;
}

static void copy(void *user, uint64_t epoch, uint32_t from)
{
    (void)user, (void)epoch, (void)from;
}

static void differ(void *user, uint64_t position)
{
    (void)user, (void)position;
}

static void release(void *user, void *payload)
{
    ((holder *)user)->payloads--;
    free(payload);
}

static const artel__part_log_ops ops = {apply, digest, send, answer, level, copy, differ, release};

static void check_head(const uint8_t *data, size_t size)
{
    artel__ps_head head, again;
    uint8_t bytes[ARTEL__PS_HEAD_BYTES];
    for (unsigned role = 1; role < 8; role++) {
        if (artel__ps_head_read(data, size, PARTS, role, &head)) continue;
        if (head.part >= PARTS || head.pieces > ARTEL__PS_MOST_PIECES || head.op >= ARTEL__PS_OPS) abort();
        artel__ps_head_write(&head, bytes);
        if (memcmp(bytes, data, sizeof bytes) != 0 || artel__ps_head_read(bytes, sizeof bytes, PARTS, role, &again))
            abort();
    }
}

/* Messages one after another, each behind its length of two bytes; the first byte of all says what this holder is. */
static void feed(artel__part_log *log, holder *h, const uint8_t *data, size_t size)
{
    static const uint16_t chain[3] = {0, 1, 2};
    uint64_t epoch = 0;
    artel__part_log_accept(log, ++epoch, chain, 3);
    while (size > 3) {
        size_t count = (size_t)(data[0] | data[1] << 8) % (size - 2);
        uint32_t from = data[2] % 3;
        artel__log_message m;
        data += 3;
        size -= 3;
        if (count > size) count = size;
        if (!artel__ps_log_read(data, count, PARTS, &m)) {
            void *owned = m.entry.length ? malloc(m.entry.length) : NULL;
            if (owned) memcpy(owned, m.payload, m.entry.length);
            h->payloads += owned != NULL;
            m.payload = owned;
            m.part = 0;
            m.epoch = epoch;
            artel__part_log_receive(log, from, &m, owned);
        } else if (!artel__part_log_load(log, data, count)) {
            h->applied = artel__part_log_applied(log);
        }
        if (count % 5 == 0) artel__part_log_serve(log, epoch);
        if (count % 7 == 0) artel__part_log_nudge(log, NULL);
        if (count % 11 == 0) artel__part_log_accept(log, ++epoch, chain, 3);
        data += count;
        size -= count;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    artel_context *ctx;
    artel__part_log *log;
    holder h = {0};
    check_head(data, size);
    artel__ps_ids_check(data, size / 8, 1000);
    if (!size || artel_context_create(NULL, &ctx) < 0) return 0;
    artel__part_log_config c = {.part = 0, .self = data[0] % 3, .batches = BATCHES, .ops = &ops, .user = &h};
    if (artel__part_log_create(ctx, &c, &log) < 0) abort();
    feed(log, &h, data + 1, size - 1);
    artel__part_log_destroy(log);
    if (h.payloads) abort();
    artel_context_destroy(ctx);
    return 0;
}

/* A message of a log behind its length. */
static size_t put(uint8_t *out, uint32_t from, artel__log_word word, uint64_t position)
{
    artel__log_message m = {.word = word, .position = position};
    m.entry = (artel__log_entry){
        .position = position, .item = position, .length = 4, .kind = ARTEL__LOG_GRADIENT, .flags = 1};
    m.entry.hash = artel__crc32c(0, "abcd", 4);
    size_t count = artel__ps_log_write(&m, out + 3);
    if (word == ARTEL__LOG_APPEND) memcpy(out + 3 + count, "abcd", 4), count += 4;
    artel__bytes_put(out, count, 2);
    out[2] = (uint8_t)from;
    return 3 + count;
}

size_t artel_fuzz_seed(unsigned number, uint8_t *out, size_t room)
{
    if (number > 8 || room < 4096) return 0;
    size_t at = 0;
    if (number > 6) {
        artel__ps_head head = {.op = (uint8_t)number, .part = 2, .epoch = 9, .client = 4, .item = 77};
        artel__ps_head_write(&head, out);
        return ARTEL__PS_HEAD_BYTES;
    }
    out[at++] = (uint8_t)number;
    uint32_t self = number % 3;
    if (self) at += put(out + at, self - 1, ARTEL__LOG_UPTO, 0);
    if (self < 2) at += put(out + at, self + 1, ARTEL__LOG_ASK, 0);
    for (uint64_t p = 1; p < 12 && self; p++)
        at += put(out + at, self - 1, ARTEL__LOG_APPEND, number > 2 && p == 5 ? 7 : p);
    if (self < 2) at += put(out + at, self + 1, ARTEL__LOG_HAVE, 4);
    if (self < 2) at += put(out + at, self + 1, ARTEL__LOG_GAP, 2);
    if (self) at += put(out + at, self - 1, ARTEL__LOG_COPY, 20);
    return at;
}
