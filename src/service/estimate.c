/* SPDX-License-Identifier: Apache-2.0 */
/* A table of clients; mean, median and deviation of a few rates. */
#include "service/estimate.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define FRESH_NS INT64_C(60000000000) /* a client asks every three seconds, where its steps are not longer */
#define MOST_RATE 1e15
#define MOST_WORKERS 100000

#define PACED_NS INT64_C(100000000) /* of steps, that a demand is of at least */

double artel__service_demand_of(artel__pace *pace, artel__service_told *told)
{
    int64_t rows = atomic_load(&pace->rows) - told->rows, ns = atomic_load(&pace->ns) - told->ns;
    int readers = atomic_load(&pace->readers);
    if (rows > 0 && ns >= PACED_NS) {
        int at_work = atomic_exchange(&pace->at_work, 0);
        atomic_fetch_add(&pace->turn, 1);
        told->demand = (double)(at_work < readers ? at_work : readers) * (double)rows * 1e9 / (double)ns;
        told->rows += rows;
        told->ns += ns;
    }
    return readers > 0 ? told->demand : 0;
}

static bool is_rate(double rate)
{
    return rate > 0 && rate <= MOST_RATE;
}

void artel__service_estimate_hear(artel__service_estimate *e, const artel__service_demand *demand)
{
    int oldest = 0, at = 0;
    if (!is_rate(demand->rate)) return;
    for (int i = 0; i < e->demands; i++)
        if (e->demand[i].heard_ns < e->demand[oldest].heard_ns) oldest = i;
    while (at < e->demands && (e->demand[at].client != demand->client || e->demand[at].dataset != demand->dataset))
        at++;
    if (at == ARTEL__SERVICE_DEMANDS) at = oldest;
    if (at == e->demands) e->demands++;
    e->demand[at] = *demand;
}

void artel__service_estimate_begin(artel__service_estimate *e, int dataset, int64_t now_ns)
{
    e->client_count = e->worker_count = 0;
    for (int i = 0; i < e->demands; i++)
        if (e->demand[i].dataset == dataset && now_ns - e->demand[i].heard_ns < FRESH_NS)
            e->clients[e->client_count++] = e->demand[i].rate;
}

void artel__service_estimate_add(artel__service_estimate *e, double rate)
{
    if (is_rate(rate) && e->worker_count < ARTEL__SERVICE_CREWS) e->workers[e->worker_count++] = rate;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Their sum, those that stand apart taken for the median. */
static double sum_of(double *rates, int count)
{
    double mean = 0, squares = 0, sum = 0;
    qsort(rates, (size_t)count, sizeof *rates, compare);
    for (int i = 0; i < count; i++) mean += rates[i] / count;
    for (int i = 0; i < count; i++) squares += (rates[i] - mean) * (rates[i] - mean);
    double deviation = count > 1 ? sqrt(squares / (count - 1)) : INFINITY; /* one alone stands apart from nobody */
    for (int i = 0; i < count; i++) sum += fabs(rates[i] - mean) <= deviation ? rates[i] : rates[count / 2];
    return sum;
}

int64_t artel__service_estimate_end(artel__service_estimate *e, int64_t now)
{
    if (now <= 0 || e->client_count == 0 || e->worker_count == 0) return 0;
    double needed = ceil(sum_of(e->clients, e->client_count) / (sum_of(e->workers, e->worker_count) / e->worker_count));
    double most = (double)now * 4;
    if (most > (double)now + 500) most = (double)now + 500;
    if (most > MOST_WORKERS) most = MOST_WORKERS;
    return needed < 1 ? 1 : (int64_t)(needed < most ? needed : most);
}
