/* SPDX-License-Identifier: Apache-2.0 */
/* Where a NaN or an infinity came from: the step is computed once more and every output is looked at.
 *
 * No variable has changed, so the repetition sees what the step saw. The first node in graph order whose output is
 * not finite is the origin; masks that use infinities on purpose are finite in artel (-1e9, as in Keras).
 */
#include <math.h>

#include "exec/cpu/plan_impl.h"
#include "kernel/half.h"

/* A value as it is stored. */
typedef struct stored {
    const void *data;
    bool half, wide;
} stored;

static double element(const stored *s, int64_t i)
{
    if (s->wide) return ((const double *)s->data)[i];
    float x = s->half ? artel__half_widen(((const uint16_t *)s->data)[i]) : ((const float *)s->data)[i];
    return (double)x;
}

static int64_t first_bad(const stored *s, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        if (!isfinite(element(s, i))) return i;
    }
    return -1;
}

static int64_t last_bad(const stored *s, int64_t count)
{
    for (int64_t i = count - 1; i >= 0; i--) {
        if (!isfinite(element(s, i))) return i;
    }
    return -1;
}

/* Whether it is what a layer of float64 makes; statistics of float32 are that, too. */
static bool of_float64(const artel__graph *graph, const artel__node *node, const artel__value *value)
{
    artel__value_id first = node->inputs > 0 ? node->input[0] : -1;
    return value->dtype == ARTEL_DTYPE_FLOAT64 && first >= 0 && graph->value[first].dtype == ARTEL_DTYPE_FLOAT64;
}

bool artel__scan_node(const artel__run *run, int32_t index, const artel__step *step, artel__nonfinite *out)
{
    const artel__graph *graph = run->plan->graph;
    const artel__node *node = &graph->node[index];
    for (int k = 0; k < node->outputs; k++) {
        const artel__value *value = &graph->value[node->output[k]];
        bool rows = value->domain == ARTEL__DOMAIN_ROW, wide = rows && of_float64(graph, node, value);
        if (value->dtype != ARTEL_DTYPE_FLOAT32 && !wide) continue;
        int64_t blocks = rows ? step->fold->rows : value->domain == ARTEL__DOMAIN_NODES ? step->fold->nodes : 1;
        stored data = {run->pointer[node->output[k]], run->plan->half[node->output[k]], wide};
        int64_t first = first_bad(&data, blocks * value->storage);
        if (first < 0) continue;
        int64_t last = last_bad(&data, blocks * value->storage);
        *out = (artel__nonfinite){.node = index,
                                  .name = node->name,
                                  .op = node->op->name,
                                  .first_row = -1,
                                  .last_row = -1,
                                  .value = element(&data, first)};
        if (rows && value->storage > 0) {
            out->first_row = step->fold->row + first / value->storage;
            out->last_row = step->fold->row + last / value->storage;
        }
        return true;
    }
    return false;
}

bool artel__run_find_nonfinite(artel__run *run, const artel__step *step, const void *const *inputs,
                               artel__nonfinite *out)
{
    *out = (artel__nonfinite){.node = -1};
    run->scan = out;
    artel__run_compute(run, step, inputs);
    run->scan = NULL;
    return out->node >= 0;
}
