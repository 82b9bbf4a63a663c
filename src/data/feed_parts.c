/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of data that need not all lie on one machine: files of records, lines, tables. They are counted over joined
 * sources, in order.
 *
 * Data that is bound `apart` is identified by what every machine has of it, the indexes of its files, so that machines
 * with different files agree about what they train on.
 */
#include "data/feed.h"
#include "data/part_index.h"

static int pieces_of(const artel__source *source)
{
    return source->format->parts != NULL && source->kept == NULL ? source->format->parts(source) : 0;
}

/* What can be bound apart, and what cannot. */
static artel_status check_source(const artel__source *source, bool apart)
{
    int missing = 0, pieces = pieces_of(source);
    const char *first = "";
    if (apart && (source->format->parts == NULL || source->skips != NULL))
        return artel__fail(
            source->ctx, ARTEL_ERROR_UNSUPPORTED, source->target,
            "make records of it (artel data make), or leave .auto_shard file out: every task then needs all of it",
            ".auto_shard file is for files of records (tfrecord, jsonl, csv with stream=yes, fixed, cifar10), without "
            "skip-errors");
    for (int i = 0; i < pieces; i++) {
        artel__data_piece piece = source->format->part(source, i);
        if (!piece.here && missing++ == 0) first = piece.name;
    }
    if (missing == 0 || apart) return ARTEL_OK;
    return artel__fail(source->ctx, ARTEL_ERROR_NOT_FOUND, first, artel__index_advice,
                       "of this file only the index is here (%d of %d files are elsewhere)", missing, pieces);
}

artel_status artel__data_check_parts(artel_data *data, bool apart)
{
    for (int s = 0; s < data->source_count; s++) {
        artel__sha256 hash;
        ARTEL_TRY(check_source(&data->sources[s], apart));
        data->sources[s].apart = apart;
        artel__sha256_init(&hash);
        if (apart)
            ARTEL_TRY(
                data->sources[s].format->fingerprint(&data->sources[s], &hash)); /* whether it can be identified */
    }
    return ARTEL_OK;
}

/* Records are expected to have indexes; of lines, tables and records of one size it is for who has made them. */
static bool may_lie_apart(const artel__source *source)
{
    int pieces = pieces_of(source);
    bool can = pieces > 0 && source->skips == NULL;
    for (int i = 0; i < pieces && can; i++) {
        artel__data_piece piece = source->format->part(source, i);
        can = piece.blob == NULL || artel__part_has_index(piece.name);
    }
    return can;
}

bool artel__data_can_lie_apart(const artel_data *data)
{
    bool can = true;
    for (int s = 0; s < data->source_count; s++) can = can && may_lie_apart(&data->sources[s]);
    return can;
}

int artel__feed_parts(const artel__feed *feed)
{
    const artel_data *data = feed->core->data;
    int parts = 0;
    for (int s = 0; s < data->source_count; s++) parts += data->sources[s].apart ? pieces_of(&data->sources[s]) : 0;
    return parts;
}

artel__data_piece artel__feed_part(const artel__feed *feed, int part)
{
    const artel__source *source = feed->core->data->sources;
    for (; part >= pieces_of(source); source++) part -= pieces_of(source);
    return source->format->part(source, part);
}

int artel__feed_part_of(const artel__feed *feed, uint64_t row)
{
    const artel__binding *binding = &feed->core->bindings[0];
    int64_t at = feed->rows != NULL ? (int64_t)feed->rows[row] : feed->first + (int64_t)row;
    int before = 0, s = 0;
    for (; s + 1 < binding->segment_count && at >= binding->segments[s + 1].first; s++)
        before += pieces_of(binding->segments[s].source);
    return before +
           binding->segments[s].source->format->part_of(binding->segments[s].source, at - binding->segments[s].first);
}
