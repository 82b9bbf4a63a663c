/* SPDX-License-Identifier: Apache-2.0 */
/* artel bench machine: the limits of this machine, to which other figures can be related. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/machine.h"

typedef struct bench_options {
    const char *folder;
    int64_t threads;
    bool json;
} bench_options;

static const artel__option options[] = {
    {"dir", "where files are written for the fsync time", ARTEL__OPTION_STRING, offsetof(bench_options, folder), ".", 0,
     0, NULL},
    {"threads", "for the peak of several cores at once; 0: those this process may use", ARTEL__OPTION_INT,
     offsetof(bench_options, threads), "0", 0, 4096, NULL},
    {"json", "one JSON object", ARTEL__OPTION_BOOL, offsetof(bench_options, json), "false", 0, 0, NULL},
    {.name = NULL},
};

static const struct {
    const char *name, *label;
    size_t bytes;
} buffers[] = {{"16KiB", "16 KiB", 16 << 10},
               {"256KiB", "256 KiB", 256 << 10},
               {"4MiB", "4 MiB", 4 << 20},
               {"256MiB", "256 MiB", 256 << 20}};

/* A figure as a row or as a JSON member. */
static void say(const bench_options *o, const char *key, const char *label, double value, const char *unit)
{
    if (o->json)
        artel__show(stdout, ",\"%s\":%.6g", key, value);
    else
        artel__show(stdout, "%-44s %12.4g %s\n", label, value, unit);
}

static void say_peaks(const bench_options *o, artel_context *ctx, artel__pool *pool)
{
    static const artel__isa sets[] = {ARTEL__ISA_AVX2, ARTEL__ISA_AVX512, ARTEL__ISA_AVX512_BF16, ARTEL__ISA_AMX};
    int threads = artel__pool_threads(pool);
    for (size_t i = 0; i < ARTEL__COUNT(sets); i++) {
        char key[64], label[64];
        const char *name = artel__isa_name(sets[i]);
        double one = sets[i] <= artel__context_isa(ctx) ? artel__machine_peak(sets[i]) : 0;
        if (one <= 0) continue;
        snprintf(key, sizeof key, "fma_%s_gflops", name);
        snprintf(label, sizeof label, "multiply-add peak, %s, one core", name);
        say(o, key, label, one * 1e-9, "GFLOP/s");
        if (threads == 1) continue;
        snprintf(key, sizeof key, "fma_%s_all_gflops", name);
        snprintf(label, sizeof label, "multiply-add peak, %s, %d threads", name, threads);
        say(o, key, label, artel__machine_peak_of(pool, sets[i]) * 1e-9, "GFLOP/s");
    }
}

static void say_all(const bench_options *o, artel_context *ctx, artel__pool *pool, double fsync_seconds)
{
    if (o->json) artel__show(stdout, "{\"threads\":%d", artel__pool_threads(pool));
    say_peaks(o, ctx, pool);
    for (size_t i = 0; i < ARTEL__COUNT(buffers); i++) {
        char key[64], label[64];
        snprintf(key, sizeof key, "read_%s_gb_s", buffers[i].name);
        snprintf(label, sizeof label, "read %s again and again", buffers[i].label);
        say(o, key, label, artel__machine_read(buffers[i].bytes) * 1e-9, "GB/s");
        snprintf(key, sizeof key, "copy_%s_gb_s", buffers[i].name);
        snprintf(label, sizeof label, "copy %s again and again", buffers[i].label);
        say(o, key, label, artel__machine_copy(buffers[i].bytes) * 1e-9, "GB/s");
    }
    say(o, "fsync_ms", "write 4 KiB and fsync", fsync_seconds * 1e3, "ms");
    say(o, "round_trip_us", "one byte and back, TCP on loopback", artel__machine_round_trip() * 1e6, "us");
    if (o->json) artel__show(stdout, "}\n");
}

/* What can fail comes before the first figure. */
static artel_status run_bench(artel__invocation *call)
{
    const bench_options *o = call->options;
    double fsync_seconds;
    artel__pool *pool;
    if (strcmp(call->argument[0], "machine") != 0)
        return artel__cli_usage(call, call->argument[0],
                                "is not a benchmark; there is: machine (make bench measures training)");
    ARTEL_TRY(artel__machine_fsync(call->ctx, o->folder, &fsync_seconds));
    ARTEL_TRY(artel__pool_create(call->ctx, o->threads ? (int)o->threads : artel__usable_cores(), &pool));
    say_all(o, call->ctx, pool, fsync_seconds);
    artel__pool_destroy(pool);
    return ARTEL_OK;
}

const artel__command artel__command_bench = {
    .name = "bench",
    .summary = "the limits of this machine: multiply-adds, memory, disk, loopback",
    .usage = "machine [--json]",
    .examples = "  artel bench machine\n  taskset -c 0 artel bench machine --json --dir /var/tmp\n",
    .options = options,
    .options_size = sizeof(bench_options),
    .min_arguments = 1,
    .max_arguments = 1,
    .run = run_bench,
};
