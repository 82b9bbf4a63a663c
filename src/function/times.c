/* SPDX-License-Identifier: Apache-2.0 */
/* How long things took, in bins whose widths grow by a tenth: means and shares of any number of times in a few hundred
 * words. */
#include "function/coordinator_impl.h"
#include "kernel/math.h"

void artel__times_add(artel__times *t, int64_t ns)
{
    double ms = (double)(ns > 0 ? ns : 0) * 1e-6;
    int bin = ms <= 1e-3 ? 0 : (int)(artel__logd(ms * 1e3) / artel__logd(1.1));
    t->bin[bin < ARTEL__TIME_BINS ? bin : ARTEL__TIME_BINS - 1]++;
    t->count++;
    t->sum += ms;
    if (ms > t->most) t->most = ms;
}

static double time_at(const artel__times *t, double share)
{
    uint64_t seen = 0;
    for (int i = 0; i < ARTEL__TIME_BINS; i++) {
        seen += t->bin[i];
        double ms = 1e-3 * artel__powd(1.1, i + 1);
        if (t->bin[i] && (double)seen >= share * (double)t->count) return ms < t->most ? ms : t->most;
    }
    return t->most;
}

artel_coordinator_times artel__times_read(const artel__times *t)
{
    return (artel_coordinator_times){.count = t->count,
                                     .mean = t->count ? t->sum / (double)t->count : 0,
                                     .half = time_at(t, 0.5),
                                     .ninety = time_at(t, 0.9),
                                     .most = t->most};
}
