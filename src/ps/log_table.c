/* SPDX-License-Identifier: Apache-2.0 */
/* The table of duplicates of a part, and its bytes beside a copy of the state.
 *
 * Two bitmaps of items, of the present pass and of the one before; what is older has been applied, since a pass ends
 * only when all its items are at all parts. A higher pass than the present one begins it: its predecessor's half
 * becomes the one before, or is cleared when a pass was left out. The bytes are little-endian and summed, and no length
 * is believed before it has been compared with what is there.
 */
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "ps/log_impl.h"

enum {
    HEAD_BYTES = 5 * 8,
    CLIENT_BYTES = 3 * 8,
    SUM_BYTES = 4
};

static uint64_t pass_of(uint64_t item)
{
    return item >> ARTEL__LOG_BATCH_BITS;
}

static uint64_t batch_of(uint64_t item)
{
    return item & ((UINT64_C(1) << ARTEL__LOG_BATCH_BITS) - 1);
}

static int find(const artel__log_table *table, uint64_t client)
{
    for (int i = 0; i < table->clients; i++)
        if (table->client[i].client == client) return i;
    return -1;
}

/* The place that a new client takes: a free one, or that of the one that left first; -1: all live. */
static int find_place(const artel__log_table *table)
{
    if (table->clients < ARTEL__LOG_CLIENTS) return table->clients;
    int oldest = -1;
    for (int i = 0; i < table->clients; i++) {
        uint64_t left = table->client[i].left;
        if (left && (oldest < 0 || left < table->client[oldest].left)) oldest = i;
    }
    return oldest;
}

static bool has_item(const artel__log_table *table, uint64_t item)
{
    uint64_t pass = pass_of(item), batch = batch_of(item);
    if (pass > table->pass) return false;
    if (pass + 1 < table->pass) return true;
    return batch < table->batches && table->bits[(pass & 1) * table->words + batch / 64] >> (batch % 64) & 1;
}

bool artel__log_table_has(const artel__log_table *table, const artel__log_entry *entry)
{
    if (entry->item != ARTEL__NO_ITEM) return has_item(table, entry->item);
    int at = find(table, entry->client);
    return at >= 0 && (table->client[at].left || entry->sequence <= table->client[at].sequence);
}

bool artel__log_table_takes(const artel__log_table *table, const artel__log_entry *entry)
{
    if (entry->item != ARTEL__NO_ITEM) return batch_of(entry->item) < table->batches;
    return find(table, entry->client) >= 0 || find_place(table) >= 0;
}

static void add_item(artel__log_table *table, uint64_t item)
{
    uint64_t pass = pass_of(item), batch = batch_of(item);
    if (pass > table->pass) {
        bool next = pass == table->pass + 1;
        memset(table->bits + (pass & 1) * table->words, 0, table->words * sizeof *table->bits);
        if (!next) memset(table->bits + (~pass & 1) * table->words, 0, table->words * sizeof *table->bits);
        table->pass = pass;
    }
    if (pass + 1 >= table->pass) table->bits[(pass & 1) * table->words + batch / 64] |= UINT64_C(1) << (batch % 64);
}

void artel__log_table_add(artel__log_table *table, const artel__log_entry *entry)
{
    if (entry->flags & ARTEL__LOG_STEP) table->iteration++;
    if (entry->item != ARTEL__NO_ITEM) {
        add_item(table, entry->item);
        return;
    }
    int at = find(table, entry->client);
    if (at < 0) at = find_place(table);
    if (at < 0) return;
    if (at == table->clients) table->clients++;
    table->client[at] =
        (artel__log_client){entry->client, entry->sequence, entry->kind == ARTEL__LOG_LEAVE ? entry->position : 0};
}

void artel__log_table_clear(artel__log_table *table)
{
    memset(table->bits, 0, 2 * table->words * sizeof *table->bits);
    table->pass = table->iteration = 0;
    table->clients = 0;
}

/* -- copies -- */

size_t artel__part_log_bytes(const artel__part_log *log)
{
    return HEAD_BYTES + (size_t)log->table.clients * CLIENT_BYTES + 2 * log->table.words * 8 + SUM_BYTES;
}

void artel__part_log_save(const artel__part_log *log, uint8_t *out)
{
    const artel__log_table *t = &log->table;
    uint8_t *at = artel__bytes_put(out, log->applied, 8);
    at = artel__bytes_put(at, t->iteration, 8);
    at = artel__bytes_put(at, t->pass, 8);
    at = artel__bytes_put(at, t->batches, 8);
    at = artel__bytes_put(at, (uint64_t)t->clients, 8);
    for (int i = 0; i < t->clients; i++) {
        at = artel__bytes_put(at, t->client[i].client, 8);
        at = artel__bytes_put(at, t->client[i].sequence, 8);
        at = artel__bytes_put(at, t->client[i].left, 8);
    }
    for (size_t i = 0; i < 2 * t->words; i++) at = artel__bytes_put(at, t->bits[i], 8);
    artel__bytes_put(at, artel__crc32c(0, out, (size_t)(at - out)), SUM_BYTES);
}

static void take_table(artel__log_table *t, const uint8_t *at, int clients)
{
    t->iteration = artel__bytes_take(&at, 8);
    t->pass = artel__bytes_take(&at, 8);
    at += 16;
    t->clients = clients;
    for (int i = 0; i < clients; i++) {
        t->client[i].client = artel__bytes_take(&at, 8);
        t->client[i].sequence = artel__bytes_take(&at, 8);
        t->client[i].left = artel__bytes_take(&at, 8);
    }
    for (size_t i = 0; i < 2 * t->words; i++) t->bits[i] = artel__bytes_take(&at, 8);
}

/* NULL, or what is wrong; *position is that of the state. */
static const char *judge(const artel__log_table *t, const uint8_t *bytes, size_t count, uint64_t *position)
{
    if (count < HEAD_BYTES + SUM_BYTES) return "too short for a copy's table";
    *position = artel__bytes_get(bytes, 8);
    uint64_t batches = artel__bytes_get(bytes + 24, 8), clients = artel__bytes_get(bytes + 32, 8);
    if (batches != t->batches) return "a copy's table of another number of items";
    if (clients > ARTEL__LOG_CLIENTS) return "a copy's table of too many clients";
    if (count != HEAD_BYTES + clients * CLIENT_BYTES + 2 * t->words * 8 + SUM_BYTES)
        return "a copy's table of a wrong length";
    size_t summed = count - SUM_BYTES;
    return artel__bytes_get(bytes + summed, SUM_BYTES) == artel__crc32c(0, bytes, summed) ? NULL
                                                                                          : "a damaged table of a copy";
}

/* Of log.c. */
void artel__log_begin_at(artel__part_log *log, uint64_t position);

const char *artel__part_log_load(artel__part_log *log, const uint8_t *bytes, size_t count)
{
    uint64_t position;
    const char *wrong = judge(&log->table, bytes, count, &position);
    if (wrong) return wrong;
    take_table(&log->table, bytes + 8, (int)artel__bytes_get(bytes + 32, 8));
    artel__log_begin_at(log, position);
    return NULL;
}
