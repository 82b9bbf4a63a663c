/* SPDX-License-Identifier: Apache-2.0 */
/* The bench: context, graph, plan, state and run of one replica. */
#include "help_nn.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void nn_init(nn_bench *bench, int64_t rows)
{
    memset(bench, 0, sizeof *bench);
    assert_int_equal(artel_context_create(NULL, &bench->ctx), ARTEL_OK);
    artel__arena_init(&bench->arena, bench->ctx);
    artel__variables_init(&bench->variables, &bench->arena);
    artel__graph_init(&bench->graph, &bench->arena, &bench->variables, true);
    artel__fold_plan_make(&bench->fold, 8, 0, 8, rows, bench->start);
    bench->step = (artel__step){.fold = &bench->fold, .training = true};
}

static void explain(nn_bench *bench, artel_status status)
{
    if (status == ARTEL_OK) return;
    const artel_error *error = artel_context_error(bench->ctx);
    fail_msg("%s: %s; %s", error->where, error->what, error->advice);
}

void nn_seal(nn_bench *bench)
{
    artel__plan_options options = {
        .batch_size = bench->fold.batch, .shards = 8, .replicas = 1, .isa = artel__context_isa(bench->ctx)};
    explain(bench, bench->graph.status);
    explain(bench, artel__graph_seal(&bench->graph));
    explain(bench, artel__plan_create(bench->ctx, &bench->graph, &options, &bench->plan));
    explain(bench, artel__state_create(bench->ctx, &bench->variables, &bench->state));
    explain(bench, artel__pool_create(bench->ctx, 1, &bench->pool));
    explain(bench, artel__run_create(bench->plan, bench->state, bench->pool, NULL, &bench->run));
}

void nn_run(nn_bench *bench, const void *const *inputs)
{
    uint32_t fp = artel__fp_enter();
    artel_status status = artel__run_compute(bench->run, &bench->step, inputs);
    if (status == ARTEL_OK) artel__run_apply(bench->run, &bench->step);
    artel__fp_leave(fp);
    explain(bench, status);
}

void nn_fini(nn_bench *bench)
{
    artel__run_destroy(bench->run);
    artel__pool_destroy(bench->pool);
    artel__state_destroy(bench->state);
    if (bench->plan) artel__plan_destroy(bench->plan);
    artel__arena_fini(&bench->arena);
    artel_context_destroy(bench->ctx);
}

json_t *nn_json(const char *text)
{
    char *copy = strdup(text);
    assert_non_null(copy);
    for (char *c = copy; *c; c++) {
        if (*c == '\'') *c = '"';
    }
    json_error_t error;
    json_t *json = json_loads(copy, JSON_DECODE_ANY, &error);
    if (!json) fail_msg("%s: %s", copy, error.text);
    free(copy);
    return json;
}

float nn_number(int64_t i, double offset, double low, double high)
{
    return (float)(fmod((double)i * 0.6180339887498949 + offset, 1.0) * (high - low) + low);
}

void nn_expect_failure(artel_context *ctx, artel_status found, artel_status expected, const char *part)
{
    const artel_error *error = artel_context_error(ctx);
    char whole[2048];
    snprintf(whole, sizeof whole, "%s: %s; %s", error->where, error->what, error->advice);
    if (found != expected) fail_msg("status %d, expected %d: %s", found, expected, whole);
    if (!strstr(whole, part)) fail_msg("\"%s\" is not in: %s", part, whole);
    artel__operation_begin(ctx);
}

void nn_assert_near(double found, double expected, double tolerance, const char *what)
{
    double size = fmax(1.0, fmax(fabs(found), fabs(expected)));
    if (!(fabs(found - expected) <= tolerance * size)) fail_msg("%s: %.9g, expected %.9g", what, found, expected);
}
