/* SPDX-License-Identifier: Apache-2.0 */
/* The content of the rows that a feed delivers, as numbers that are compared: between tasks, and when a run is
 * continued.
 *
 * A row is hashed as its source holds it (bytes in memory, an image's file), before anything is converted, with its
 * number; sums of such hashes do not depend on the order in which rows are read. Rows that are computed, or delivered
 * by a function of the caller, have none: a fingerprint says what there is to say of them.
 */
#include <string.h>

#include "base/hash.h"
#include "data/feed.h"

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static const artel__segment *segment_of(const artel__binding *binding, int64_t row)
{
    int s = 0;
    while (s + 1 < binding->segment_count && binding->segments[s + 1].first <= row) s++;
    return &binding->segments[s];
}

static bool lies_in_memory(const artel__binding *binding)
{
    return binding->segment_count > 0 && binding->segments[0].base != NULL;
}

static bool is_hashable(const artel__binding *binding)
{
    if (binding->is_synthetic || binding->segment_count == 0) return false;
    return lies_in_memory(binding) || binding->segments[0].source->format->hash_row != NULL;
}

static bool is_text(const artel__binding *binding)
{
    return binding->conversion.from == ARTEL_DTYPE_STRING;
}

uint64_t artel__strings_hash(const artel__string *strings, int64_t count)
{
    uint64_t all = 1;
    for (int64_t i = 0; i < count; i++)
        all = mix(all ^ artel__hash64(strings[i].bytes, strings[i].length)) + strings[i].length;
    return all;
}

static artel_status hash_row(const artel__binding *binding, int64_t row, uint64_t *out)
{
    const artel__segment *segment = segment_of(binding, row);
    if (segment->base == NULL)
        return segment->source->format->hash_row(segment->source, binding->array, row - segment->first, out);
    const uint8_t *at = segment->base + (size_t)(row - segment->first) * segment->stride;
    *out = is_text(binding) ? artel__strings_hash((const artel__string *)(const void *)at, binding->conversion.count)
                            : artel__hash64(at, binding->source_bytes);
    return ARTEL_OK;
}

bool artel__feed_has_content(const artel__feed *feed)
{
    bool found = false;
    for (int b = 0; b < feed->core->binding_count; b++) found = found || is_hashable(&feed->core->bindings[b]);
    return found;
}

int64_t artel__feed_content_bytes(const artel__feed *feed)
{
    int64_t bytes = 0;
    for (int b = 0; b < feed->core->binding_count; b++) {
        const artel__binding *binding = &feed->core->bindings[b];
        if (!is_hashable(binding)) continue;
        if (!lies_in_memory(binding)) return -1;
        bytes += (int64_t)binding->source_bytes * feed->core->count;
    }
    return bytes;
}

artel_status artel__feed_hash_rows(const artel__feed *feed, const uint64_t *rows, int64_t count, uint64_t *sum)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t row = feed->rows != NULL ? (int64_t)feed->rows[rows[i]] : feed->first + (int64_t)rows[i];
        uint64_t all = mix((uint64_t)row + 0x9e3779b97f4a7c15u);
        for (int b = 0; b < feed->core->binding_count; b++) {
            uint64_t one;
            if (!is_hashable(&feed->core->bindings[b])) continue;
            ARTEL_TRY(hash_row(&feed->core->bindings[b], row, &one));
            all = mix(all ^ one) + 0x9e3779b97f4a7c15u;
        }
        *sum += all;
    }
    return ARTEL_OK;
}

/* All rows of an array. What lies together is hashed in one go: a table of small rows is not slower than one of large
 * ones. */
static artel_status hash_binding(const artel__binding *binding, uint64_t *all)
{
    for (int s = 0; s < binding->segment_count; s++) {
        const artel__segment *segment = &binding->segments[s];
        bool together = segment->base != NULL && segment->stride == binding->source_bytes && !is_text(binding);
        uint64_t one = 0;
        if (together) one = artel__hash64(segment->base, segment->stride * (size_t)segment->count);
        for (int64_t row = 0; !together && row < segment->count; row++) {
            uint64_t part;
            ARTEL_TRY(hash_row(binding, segment->first + row, &part));
            one = mix(one ^ part) + 0x9e3779b97f4a7c15u;
        }
        *all = mix(*all ^ one) + 0x9e3779b97f4a7c15u;
    }
    return ARTEL_OK;
}

artel_status artel__feed_content(const artel__feed *feed, uint64_t *out)
{
    uint64_t all = 1;
    for (int b = 0; b < feed->core->binding_count; b++) {
        if (is_hashable(&feed->core->bindings[b])) ARTEL_TRY(hash_binding(&feed->core->bindings[b], &all));
    }
    *out = all;
    return ARTEL_OK;
}
