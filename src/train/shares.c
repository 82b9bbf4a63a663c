/* SPDX-License-Identifier: Apache-2.0 */
/* Shares of a step, and the sum of their results. */
#include "train/shares.h"

#include <string.h>

int artel__shares_count(const artel__service *s)
{
    return s->some > s->workers ? s->some : s->workers;
}

int64_t artel__shares_rows(const artel__service *s, int64_t count, int k, int64_t *first)
{
    int shares = artel__shares_count(s);
    *first = count * k / shares;
    return count * (k + 1) / shares - *first;
}

int64_t artel__shares_wanted(const artel__service *s, int64_t count)
{
    int64_t all = artel__shares_count(s) < count ? artel__shares_count(s) : count;
    return s->some < all ? s->some : all;
}

artel_status artel__shares_begin(artel__shares *c, artel__fit *fit, const artel__service *s)
{
    size_t values = (size_t)artel__tally_values(&fit->tally);
    void *block;
    artel__shares_clear(c);
    if (!s->some) return ARTEL_OK;
    artel__shares_fini(c, fit->ctx);
    ARTEL_TRY(artel__calloc(fit->ctx, values * ((size_t)artel__shares_count(s) + 1) + 1, sizeof *c->sum, "coordinator",
                            &block));
    c->sum = block;
    c->result = c->sum + values;
    c->values = (int)values;
    c->means = 1 + fit->tally.outputs;
    return ARTEL_OK;
}

/* Adds up the results that there are, in the order of shares. */
static void sum_up(artel__shares *c, const artel__service *s, int64_t count)
{
    int64_t first, all = 0;
    memset(c->sum, 0, (size_t)c->values * sizeof *c->sum);
    for (int k = 0; k < artel__shares_count(s); k++) {
        int64_t rows = c->has[k] ? artel__shares_rows(s, count, k, &first) : 0;
        const double *values = c->result + (size_t)k * (size_t)c->values;
        for (int i = 0; i < c->values && rows; i++) c->sum[i] += i < c->means ? values[i] * (double)rows : values[i];
        all += rows;
    }
    for (int i = 0; i < c->means; i++) c->sum[i] /= (double)all;
}

bool artel__shares_add(artel__shares *c, const artel__service *s, int64_t count, int k, const double *values)
{
    memcpy(c->result + (size_t)k * (size_t)c->values, values, (size_t)c->values * sizeof *values);
    c->has[k] = true;
    if (++c->results < artel__shares_wanted(s, count)) return false;
    sum_up(c, s, count);
    return true;
}

void artel__shares_clear(artel__shares *c)
{
    memset(c->has, 0, sizeof c->has);
    c->results = c->next = 0;
}

void artel__shares_fini(artel__shares *c, artel_context *ctx)
{
    artel__free(ctx, c->sum);
    c->sum = c->result = NULL;
}
