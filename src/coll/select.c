/* SPDX-License-Identifier: Apache-2.0 */
/* The selection table: the first row that fits.
 *
 * Measured with bench/coll_bench.c between replicas of one process: merging everything everywhere saves a round (3 us
 * between two) and costs R times the reading, so it pays longest between two.
 */
#include "coll/select.h"

typedef struct row {
    int64_t most_bytes;
    int32_t most_ranks;
    artel__coll_algorithm algorithm;
} row;

static const row rows[] = {
    {131072, 2, ARTEL__COLL_REDUNDANT}, {16384, 4, ARTEL__COLL_REDUNDANT},          {4096, 8, ARTEL__COLL_REDUNDANT},
    {2048, 64, ARTEL__COLL_REDUNDANT},  {INT64_MAX, INT32_MAX, ARTEL__COLL_DIRECT},
};

artel__coll_algorithm artel__coll_select(int64_t bytes, int32_t ranks)
{
    const row *at = rows;
    while (bytes > at->most_bytes || ranks > at->most_ranks) at++;
    return at->algorithm;
}

const char *artel__coll_algorithm_name(artel__coll_algorithm algorithm)
{
    return algorithm == ARTEL__COLL_DIRECT ? "direct" : "redundant";
}
