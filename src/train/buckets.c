/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of rows of like length: a graph, a plan and a run for each length, on the same variables.
 *
 * The modes of a session and of its replicas are what a step works with. Where the feed has buckets, those of one
 * bucket lie there and the others aside; a step chooses first. What does not belong to a length goes along with the
 * choice: the reader, which reads whole rows for all of them, and the hashes and counts of what was read.
 */
#include <string.h>

#include "train/session_impl.h"

int artel__session_variants(const artel__session *session, artel__mode m)
{
    return session->buckets[m].count ? session->buckets[m].count : 1;
}

const artel__session_mode *artel__session_variant(const artel__session *session, artel__mode m, int bucket)
{
    const artel__session_buckets *b = &session->buckets[m];
    return b->count == 0 || b->chosen == bucket ? &session->mode[m] : &b->mode[bucket];
}

static void choose_of_replica(artel__replica *replica, artel__mode m, int from, int to)
{
    artel__replica_mode *now = &replica->mode[m], *aside = replica->bucket[m];
    aside[from] = *now;
    *now = aside[to];
    now->prefetch = aside[from].prefetch;
    now->content = aside[from].content;
    now->audit = aside[from].audit;
    aside[from].prefetch = NULL;
    aside[from].content = (artel__replica_content){.sum = NULL};
    aside[from].audit = (artel__replica_audit){.give = NULL};
    aside[to] = (artel__replica_mode){.run = NULL};
}

void artel__session_choose(artel__session *session, artel__mode m, int bucket)
{
    artel__session_buckets *b = &session->buckets[m];
    if (b->count == 0 || b->chosen == bucket) return;
    b->mode[b->chosen] = session->mode[m];
    session->mode[m] = b->mode[bucket];
    for (int r = 0; r < session->replicas; r++) choose_of_replica(&session->replica[r], m, b->chosen, bucket);
    b->chosen = bucket;
}

/* What is cut feeds inputs of any length. */
static artel_status check_model(const artel__session *session, const artel__feed *feed)
{
    const artel__model *nn = session->options.model->nn;
    int count;
    const artel__feed_array *arrays = artel__feed_arrays(feed, &count);
    for (int i = 0; i < count; i++) {
        if (!arrays[i].cut || arrays[i].role != ARTEL_DATA_ROLE_INPUT) continue;
        const artel__model_input *input = &nn->input[arrays[i].index];
        if (input->shape.rank < 0 || input->shape.dim[0] < 0) continue;
        return artel__fail(session->ctx, ARTEL_ERROR_INVALID, input->name,
                           "make the model with an input of any length: Input((None, ...))",
                           "batches are of like length (bucket_by_sequence_length), and the input takes rows of %lld",
                           (long long)input->shape.dim[0]);
    }
    return ARTEL_OK;
}

artel_status artel__session_open_buckets(artel__session *session, artel__mode m, const artel__feed *feed)
{
    const artel__data_buckets *buckets = artel__feed_buckets(feed);
    artel__session_buckets *b = &session->buckets[m];
    if (!buckets) return ARTEL_OK;
    if (session->mixed)
        return artel__fail(session->ctx, ARTEL_ERROR_UNSUPPORTED, ".allow_mixed_arithmetic",
                           "leave it out, or name a pipeline without that stage",
                           "batches of like length (bucket_by_sequence_length) are computed with one arithmetic alone");
    ARTEL_TRY(check_model(session, feed));
    b->mode = artel__arena_alloc(&session->arena, (size_t)buckets->count, sizeof *b->mode);
    for (int r = 0; r < session->replicas; r++)
        session->replica[r].bucket[m] =
            artel__arena_alloc(&session->arena, (size_t)buckets->count, sizeof *session->replica[r].bucket[m]);
    ARTEL_TRY(artel__arena_status(&session->arena));
    b->count = buckets->count;
    return ARTEL_OK;
}

static const artel__value *output_of(const artel__session_mode *mode, int i)
{
    const artel__graph *graph = &mode->objective->graph;
    return &graph->value[graph->kept[mode->objective->prediction_kept[i]]];
}

artel_status artel__session_check_outputs(const artel__session *session)
{
    const artel__model *nn = session->options.model->nn;
    int buckets = artel__session_variants(session, ARTEL__MODE_PREDICT);
    const artel__session_mode *first = artel__session_variant(session, ARTEL__MODE_PREDICT, 0);
    for (int i = 0; i < nn->outputs * (buckets > 1); i++) {
        const artel__session_mode *last = artel__session_variant(session, ARTEL__MODE_PREDICT, buckets - 1);
        if (output_of(first, i)->storage == output_of(last, i)->storage) continue;
        return artel__fail(session->ctx, ARTEL_ERROR_UNSUPPORTED, nn->output[i].name,
                           "name a pipeline without bucket_by_sequence_length: rows then have one length",
                           "the output is as long as the rows of a batch, and batches are of different lengths");
    }
    return ARTEL_OK;
}

void artel__replica_cut(artel__replica *replica, artel__mode m, int64_t count)
{
    const artel__session *session = replica->session;
    const artel__graph *graph = &session->mode[m].objective->graph;
    artel__replica_mode *mode = &replica->mode[m];
    int arrays_count;
    const artel__feed_array *arrays = artel__feed_arrays(session->mode[m].feed, &arrays_count);
    for (int i = 0; i < arrays_count; i++) {
        const artel__value *value = &graph->value[graph->input[i]];
        size_t bytes = (size_t)value->storage * artel_dtype_size(value->dtype), whole = arrays[i].row_bytes;
        if (!mode->bytes[i]) mode->buffer[i] = mode->whole[i];
        for (int64_t r = 0; mode->bytes[i] && r < count; r++)
            memcpy((uint8_t *)mode->buffer[i] + (size_t)r * bytes, (const uint8_t *)mode->whole[i] + (size_t)r * whole,
                   bytes);
    }
}
