/* SPDX-License-Identifier: Apache-2.0 */
/* Feeds whose batches are of rows of like length: what a pipeline says at its end (stage_bucket.c), row by row. */
#include "data/feed.h"

const artel__data_buckets *artel__data_buckets_of(const artel_data *data)
{
    return data->source_count > 0 ? data->sources[0].buckets : NULL;
}

static artel_status refuse(const artel_data *data, const char *advice, const char *what)
{
    return artel__fail(data->ctx, ARTEL_ERROR_UNSUPPORTED, data->specification, advice,
                       "batches of rows of like length (bucket_by_sequence_length) %s", what);
}

artel_status artel__data_check_buckets(const artel_data *data, const artel__data_wants *wants)
{
    bool any = false;
    for (int s = 0; s < data->source_count; s++) any = any || data->sources[s].buckets;
    if (!any) return ARTEL_OK;
    if (!wants->buckets)
        return refuse(data, "name a pipeline without that stage",
                      "are for fit, evaluate and predict, and this reads any rows");
    if (data->source_count > 1)
        return refuse(data, "join the sources inside of the pipeline: {\"concatenate\": [...]}",
                      "are made of one pipeline, not of several that are joined by +");
    if (data->sources[0].skips)
        return refuse(data, "leave skip-errors out, and what is damaged by a filter",
                      "are made of rows that can all be read, not with skip-errors");
    if (wants->program)
        return refuse(data, "make numbers of the text by the stage lookup, in front of it",
                      "are not for models with layers of text or categories at their front");
    return ARTEL_OK;
}

const artel__data_buckets *artel__feed_buckets(const artel__feed *feed)
{
    return artel__data_buckets_of(feed->core->data);
}

int artel__feed_bucket_of(const artel__feed *feed, uint64_t row)
{
    uint64_t number = artel__row_number(row);
    return artel__feed_buckets(feed)->of[feed->rows ? feed->rows[number] : (uint64_t)feed->first + number];
}

artel_shape artel__feed_row(const artel__feed *feed, const artel__feed_array *array, int bucket)
{
    artel_shape row = array->row;
    if (bucket >= 0 && array->cut) row.dim[0] = artel__feed_buckets(feed)->length[bucket];
    return row;
}

void artel__feed_describe_buckets(const artel__feed *feed, artel__text *out)
{
    const artel__data_buckets *buckets = artel__feed_buckets(feed);
    int64_t rows[UINT8_MAX + 1] = {0};
    for (int64_t i = 0; buckets && i < feed->count; i++) rows[artel__feed_bucket_of(feed, (uint64_t)i)]++;
    for (int k = 0; buckets && k < buckets->count; k++) {
        artel__text_printf(out, "  length up to %lld: %lld rows", (long long)buckets->length[k], (long long)rows[k]);
        if (buckets->batch_size) artel__text_printf(out, ", batches of %lld", (long long)buckets->batch_size[k]);
        artel__text_append(out, "\n");
    }
}
