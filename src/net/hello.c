/* SPDX-License-Identifier: Apache-2.0 */
/* Encoding, decoding and judging greetings. Everything read here is hostile until the crc and every field fit. */
#include "net/hello.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"

enum {
    KIND_HELLO = 1,
    KIND_REFUSAL = 2,
    CRC_AT = 220
};

static void put_text(uint8_t *at, const char *text, size_t room)
{
    for (size_t i = 0; i + 1 < room && text[i]; i++) at[i] = text[i] >= ' ' && text[i] <= '~' ? (uint8_t)text[i] : '?';
}

/* Printable, ended by a zero byte, zero behind it. */
static bool take_text(const uint8_t *at, char *out, size_t room)
{
    size_t length = 0;
    while (length < room && at[length]) {
        if (at[length] < ' ' || at[length] > '~') return false;
        length++;
    }
    for (size_t i = length; i < room; i++) {
        if (at[i]) return false;
    }
    if (length == room) return false;
    memcpy(out, at, room);
    return true;
}

static void seal(uint8_t out[ARTEL__HELLO_BYTES], int kind, int detail)
{
    artel__bytes_put(out, ARTEL__HELLO_MAGIC, 4);
    artel__bytes_put(out + 4, ARTEL__HELLO_VERSION, 2);
    out[6] = (uint8_t)kind;
    out[7] = (uint8_t)detail;
    artel__bytes_put(out + CRC_AT, artel__crc32c(0, out, CRC_AT), 4);
}

void artel__hello_encode(const artel__hello *hello, uint8_t out[ARTEL__HELLO_BYTES])
{
    memset(out, 0, ARTEL__HELLO_BYTES);
    artel__bytes_put(out + 8, hello->job, 8);
    artel__bytes_put(out + 16, hello->incarnation, 8);
    artel__bytes_put(out + 24, hello->generation, 4);
    memcpy(out + 32, hello->identity, 32);
    memcpy(out + 64, hello->nonce, 16);
    put_text(out + 80, hello->task, ARTEL__HELLO_NAME);
    put_text(out + 144, hello->to, ARTEL__HELLO_NAME);
    artel__bytes_put(out + 208, hello->host, 8);
    seal(out, KIND_HELLO, hello->purpose);
}

void artel__refusal_encode(const artel__refusal *refusal, uint8_t out[ARTEL__HELLO_BYTES])
{
    memset(out, 0, ARTEL__HELLO_BYTES);
    put_text(out + 8, refusal->reason, ARTEL__HELLO_REASON);
    seal(out, KIND_REFUSAL, refusal->fault);
}

static artel__net_fault garbage(artel__refusal *refusal, const char *what)
{
    snprintf(refusal->reason, sizeof refusal->reason, "%s", what);
    return refusal->fault = ARTEL__FAULT_GARBAGE;
}

static artel__net_fault decode_refusal(const uint8_t *in, artel__refusal *refusal, bool *refused)
{
    char reason[ARTEL__HELLO_REASON];
    if (in[7] == ARTEL__FAULT_NONE || in[7] > ARTEL__FAULT_REJECTED || !take_text(in + 8, reason, sizeof reason))
        return garbage(refusal, "a malformed refusal");
    memcpy(refusal->reason, reason, sizeof reason);
    *refused = true;
    return refusal->fault = (artel__net_fault)in[7];
}

artel__net_fault artel__hello_decode(const uint8_t in[ARTEL__HELLO_BYTES], artel__hello *hello, artel__refusal *refusal,
                                     bool *refused)
{
    *refused = false;
    refusal->reason[0] = '\0';
    if (artel__bytes_get(in, 4) != ARTEL__HELLO_MAGIC)
        return garbage(refusal, "the connection does not begin as artel's do");
    unsigned version = (unsigned)artel__bytes_get(in + 4, 2);
    if (version != ARTEL__HELLO_VERSION) {
        snprintf(refusal->reason, sizeof refusal->reason,
                 "version %u of the protocol, expected %d; run the same artel everywhere", version,
                 ARTEL__HELLO_VERSION);
        return refusal->fault = ARTEL__FAULT_VERSION;
    }
    if (artel__bytes_get(in + CRC_AT, 4) != artel__crc32c(0, in, CRC_AT)) return garbage(refusal, "a damaged greeting");
    if (in[6] == KIND_REFUSAL) return decode_refusal(in, refusal, refused);
    artel__hello h = {.purpose = (artel__net_purpose)in[7],
                      .job = artel__bytes_get(in + 8, 8),
                      .incarnation = artel__bytes_get(in + 16, 8)};
    h.generation = (uint32_t)artel__bytes_get(in + 24, 4);
    h.host = artel__bytes_get(in + 208, 8);
    bool good = in[6] == KIND_HELLO && (in[7] == ARTEL__NET_DATA || in[7] == ARTEL__NET_CONTROL) &&
                artel__bytes_get(in + 28, 4) == 0 && artel__bytes_get(in + 216, 4) == 0;
    memcpy(h.identity, in + 32, sizeof h.identity);
    memcpy(h.nonce, in + 64, sizeof h.nonce);
    good = good && take_text(in + 80, h.task, sizeof h.task) && h.task[0] && take_text(in + 144, h.to, sizeof h.to);
    if (!good) return garbage(refusal, "a malformed greeting");
    *hello = h;
    return ARTEL__FAULT_NONE;
}

/* Who knows no job may ask a question of one (cluster/status.h): it sends no data. */
static bool jobs_agree(const artel__hello *self, const artel__hello *peer)
{
    return peer->job == self->job || ((peer->job == 0 || self->job == 0) && peer->purpose == ARTEL__NET_CONTROL);
}

artel__net_fault artel__hello_check(const artel__hello *self, const artel__hello *peer,
                                    char reason[ARTEL__HELLO_REASON])
{
    static const uint8_t unknown[32];
    if (!jobs_agree(self, peer)) {
        snprintf(reason, ARTEL__HELLO_REASON,
                 "%.30s belongs to another job (%08x) than %.30s (%08x): they were told other lists of tasks "
                 "(TF_CONFIG, world size)",
                 peer->task, (unsigned)peer->job, self->task, (unsigned)self->job);
        return ARTEL__FAULT_JOB;
    }
    if (peer->to[0] && strcmp(peer->to, self->task) != 0) {
        snprintf(reason, ARTEL__HELLO_REASON, "%.50s looks for %.50s here, but this is %.50s", peer->task, peer->to,
                 self->task);
        return ARTEL__FAULT_NAME;
    }
    bool known = memcmp(self->identity, unknown, 32) != 0 && memcmp(peer->identity, unknown, 32) != 0;
    if (known && memcmp(self->identity, peer->identity, 32) != 0) {
        snprintf(reason, ARTEL__HELLO_REASON, "%.50s has another model, data or options than %.50s", peer->task,
                 self->task);
        return ARTEL__FAULT_IDENTITY;
    }
    return ARTEL__FAULT_NONE;
}

const char *artel__net_fault_name(artel__net_fault fault)
{
    static const char *const names[] = {"none",      "unreachable", "lost", "slow", "crowded",  "garbage", "version",
                                        "plaintext", "certificate", "name", "job",  "identity", "rejected"};
    return (size_t)fault < ARTEL__COUNT(names) ? names[fault] : "unknown";
}
