/* SPDX-License-Identifier: Apache-2.0 */
/* Data of which each worker of a training has a pipeline of its own. */
#include "data/feed.h"

artel_status artel__data_divide(artel_data *data, int workers, int64_t *first)
{
    artel__source *source = &data->sources[0];
    if (data->source_count != 1 || source->format->divide == NULL)
        return artel__fail(
            data->ctx, ARTEL_ERROR_UNSUPPORTED, data->specification,
            "write pipeline:FILE.json with a stage {\"stage\": \"shard\", \"hint\": true}, or use another .auto_shard",
            ".auto_shard hint is for one pipeline, without skip-errors");
    if (data->references > 1)
        return artel__fail(data->ctx, ARTEL_ERROR_INVALID, data->specification, "open it once more for this training",
                           "the data is in use by another one");
    return source->format->divide(source, workers, first);
}
