/* SPDX-License-Identifier: Apache-2.0 */
/* Which elements of the sources elements of a pipeline will be made from, said before they are asked for: so that a
 * source on another machine is asked for many at once, though stages ask for one after another. A hint alone: what it
 * leaves out, or what fails here, is asked for as ever.
 */
#include <stdlib.h>

#include "data/stage.h"

/* Elements of one input, and which elements of the stage they are for. */
typedef struct share {
    int64_t *at, *place;
    int64_t count;
} share;

bool artel__stage_is_far(const artel__stage *stage)
{
    if (stage->ops == &artel__stage_source) {
        const artel_data *data = ((const artel__rows *)stage->state)->data;
        return data->source_count == 1 && data->sources[0].far;
    }
    for (int i = 0; i < stage->input_count; i++)
        if (artel__stage_is_far(stage->inputs[i])) return true;
    return false;
}

/* The elements that are made of elements of input `k`. */
static void share_of(const artel__stage *stage, int k, const int64_t *index, int64_t count, share *out)
{
    const artel__stage_ops *ops = stage->ops;
    out->count = 0;
    for (int64_t i = 0; i < count; i++) {
        int input = k;
        int64_t at = index[i];
        if (ops->at != NULL && ops->keeps != NULL && ops->keeps(stage, at)) continue;
        if (ops->at == NULL && ops->map == NULL && ops->locate != NULL) {
            if (ops->locate(stage, index[i], &input, &at) < 0 || input != k) continue;
        }
        out->at[out->count] = at;
        out->place[out->count++] = i;
    }
}

/* All in the pass that the inputs are asked in. */
static int64_t expect_inputs(const artel__stage *stage, const int64_t *index, int64_t count)
{
    int64_t told = count;
    void *block;
    if (artel__alloc(stage->ctx, (size_t)count * 2 * sizeof(int64_t), stage->where, &block) < 0) return count;
    share s = {.at = block, .place = (int64_t *)block + count};
    for (int k = 0; k < stage->input_count; k++) {
        if (!artel__stage_is_far(stage->inputs[k])) continue;
        share_of(stage, k, index, told, &s);
        int64_t taken = s.count > 0 ? artel__stage_expect(stage->inputs[k], s.at, s.count) : 0;
        if (taken < s.count) told = s.place[taken];
    }
    artel__free(stage->ctx, block);
    return told;
}

int64_t artel__stage_expect(const artel__stage *stage, const int64_t *index, int64_t count)
{
    if (stage->ops == &artel__stage_source) return artel__rows_expect(stage->state, index, 0, count);
    if (stage->ops->at != NULL && !stage->ops->same_number) return count;
    if (!stage->frozen) return expect_inputs(stage, index, count);
    uint64_t pass = artel__stage_set_pass(0);
    int64_t told = expect_inputs(stage, index, count);
    artel__stage_set_pass(pass);
    return told;
}
