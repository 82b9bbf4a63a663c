/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of one's own on several processes: mean, variance and histogram of data that no process holds as a whole.
 *
 *     collectives [ROWS]
 *     artel launch -n 3 --program build/examples/collectives 1000000
 *
 * Each task takes its part of ROWS numbers (a function of their index), the tasks add up what they have found, and the
 * chief prints it. The number of tasks changes the order of the float64 sums, and nothing else; the integers are the
 * same on any number.
 */
#include <artel/communicator.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    BINS = 8
};

/* Number `i` of the data: between 0 and 1. */
static double value_of(uint64_t i)
{
    i = (i + 1) * 0x9e3779b97f4a7c15u;
    i = (i ^ (i >> 31)) * 0xbf58476d1ce4e5b9u;
    return (double)((i ^ (i >> 29)) >> 11) / 9007199254740992.0;
}

typedef struct summary {
    double sum[2]; /* of the values, of their squares */
    int64_t bin[BINS];
    double extreme[2]; /* the least, and minus the greatest: one reduction finds both */
} summary;

static summary look_at(int64_t first, int64_t end)
{
    summary s = {.extreme = {2, 2}};
    for (int64_t i = first; i < end; i++) {
        double x = value_of((uint64_t)i);
        s.sum[0] += x;
        s.sum[1] += x * x;
        s.bin[(int)(x * BINS)]++;
        if (x < s.extreme[0]) s.extreme[0] = x;
        if (-x < s.extreme[1]) s.extreme[1] = -x;
    }
    return s;
}

static artel_status work(artel_communicator *c, int64_t rows)
{
    int64_t position = artel_communicator_position(c), members = artel_communicator_members(c);
    summary s = look_at(position * rows / members, (position + 1) * rows / members);
    /* In place, and together: small ones of a kind travel in one message. */
    const artel_collective calls[] = {
        {.dtype = ARTEL_DTYPE_FLOAT64, .count = 2, .in = s.sum, .out = s.sum},
        {.dtype = ARTEL_DTYPE_FLOAT64, .reduction = ARTEL_REDUCTION_MIN, .count = 2, .in = s.extreme, .out = s.extreme},
        {.dtype = ARTEL_DTYPE_INT64, .count = BINS, .in = s.bin, .out = s.bin},
    };
    artel_status status = artel_communicator_all_reduce_many(c, calls, 3);
    if (status < 0 || position > 0) return status;
    double mean = s.sum[0] / (double)rows;
    printf("%lld rows on %lld member%s\nmean %.6f, variance %.6f, least %.6f, greatest %.6f\nbins", (long long)rows,
           (long long)members, members == 1 ? "" : "s", mean, s.sum[1] / (double)rows - mean * mean, s.extreme[0],
           -s.extreme[1]);
    for (int i = 0; i < BINS; i++) printf(" %lld", (long long)s.bin[i]);
    printf("\n");
    return status;
}

int main(int argc, char **argv)
{
    int64_t rows = argc > 1 ? strtoll(argv[1], NULL, 10) : 100000;
    artel_context *ctx;
    artel_cluster *cluster = NULL;
    artel_communicator *c = NULL;
    if (argc > 2 || rows < 1) {
        fprintf(stderr, "usage: collectives [ROWS]\n");
        return 1;
    }
    if (artel_context_create(NULL, &ctx) < 0) return fprintf(stderr, "%s\n", artel_context_error(NULL)->what), 2;
    artel_cluster_options options = ARTEL_CLUSTER_OPTIONS_INIT;
    options.cert_dir = getenv("ARTEL_CERT_DIR"); /* those of artel launch, or of artel cert */
    artel_status status =
        artel_cluster_open(ctx, &options, &cluster); /* who is who: TF_CONFIG, Slurm, ...; alone without them */
    if (status == ARTEL_OK) status = artel_communicator_open(ctx, cluster, &c);
    if (status == ARTEL_OK) status = work(c, rows);
    if (status == ARTEL_OK) status = artel_communicator_finish(c);
    artel_communicator_destroy(c);
    const artel_error *error = artel_context_error(ctx);
    if (status < 0) fprintf(stderr, "%s: %s; %s\n", error->where, error->what, error->advice);
    artel_cluster_close(cluster);
    artel_context_destroy(ctx);
    return artel_status_exit_code(status);
}
