/* SPDX-License-Identifier: Apache-2.0 */
/* Sums that a plug-in makes itself: whether it can, and where replicas leave what is summed.
 *
 * A program of as many replicas as there are devices adds up what each of them has: one launch for all, and nothing
 * crosses this machine's memory. Plug-ins take such programs without being able to run them (a library for collectives
 * may be missing, devices may have no way to each other), so a sum of one number is made and looked at before a run
 * relies on them.
 */
#include "device/joint.h"

#include <stdio.h>

#include "device/executable.h"
#include "device/platform_impl.h"
#include "graph/hlo.h"

/* -- whether it can -- */

static artel_status write_trial(artel_context *ctx, int replicas, artel__text *out)
{
    artel__hlo h;
    artel__hlo_init(&h, ctx);
    h.replicas = replicas;
    artel__hlo_value own = artel__hlo_argument(&h, &(artel__hlo_type){.dtype = ARTEL_DTYPE_FLOAT32}, -1);
    artel__hlo_value result[] = {artel__hlo_all_sum(&h, own), artel__hlo_all_gather(&h, own)};
    artel_status status = artel__hlo_finish(&h, result, 2, out);
    artel__hlo_fini(&h);
    return status;
}

typedef struct trial {
    artel__platform *platform;
    const int *device;
    int replicas;
    artel__buffer *in[ARTEL__MAX_JOINT], *out[ARTEL__MAX_JOINT][2];
} trial;

/* Small whole numbers: their sum is exact in any order. */
static artel_status launch_trial(trial *t, artel__program *program)
{
    artel__buffer *const *in[ARTEL__MAX_JOINT];
    artel__buffer **out[ARTEL__MAX_JOINT];
    artel_shape scalar = {.rank = 0};
    for (int r = 0; r < t->replicas; r++) {
        float number = (float)(r + 1);
        ARTEL_TRY(artel__buffer_put(t->platform, t->device[r], ARTEL_DTYPE_FLOAT32, &scalar, &number, &t->in[r]));
        in[r] = &t->in[r];
        out[r] = t->out[r];
    }
    return artel__program_launch_all(program, in, 1, out);
}

static artel_status read_trial(trial *t)
{
    float sum, all[ARTEL__MAX_JOINT];
    for (int r = 0; r < t->replicas; r++) {
        ARTEL_TRY(artel__buffer_get(t->platform, t->out[r][0], &sum, sizeof sum));
        ARTEL_TRY(artel__buffer_get(t->platform, t->out[r][1], all, (size_t)t->replicas * sizeof *all));
        bool good = sum == (float)(t->replicas * (t->replicas + 1) / 2);
        for (int k = 0; k < t->replicas; k++) good = good && all[k] == (float)(k + 1);
        if (!good)
            return artel__fail(t->platform->ctx, ARTEL_ERROR_UNSUPPORTED, "all-reduce", "", "its sums are wrong");
    }
    return ARTEL_OK;
}

static artel_status try_sum(trial *t)
{
    artel__text text;
    artel__program *program;
    artel__text_init(&text, t->platform->ctx);
    artel_status status = write_trial(t->platform->ctx, t->replicas, &text);
    artel__program_source source = {"all-reduce", text.data, text.length, t->device, t->replicas};
    if (status == ARTEL_OK) status = artel__program_compile(t->platform, &source, &program);
    artel__text_fini(&text);
    ARTEL_TRY(status);
    status = launch_trial(t, program);
    if (status == ARTEL_OK) status = read_trial(t);
    for (int r = 0; r < t->replicas; r++) {
        artel__buffer_release(t->platform, t->in[r]);
        artel__buffer_release(t->platform, t->out[r][0]);
        artel__buffer_release(t->platform, t->out[r][1]);
    }
    artel__program_release(program);
    return status;
}

/* What fails is no failure of the run: a context of its own hears of it. */
bool artel__device_sums_try(artel__platform *platform, const int *device, int replicas, char why[256])
{
    trial t = {.platform = platform, .device = device, .replicas = replicas};
    artel_context *ctx = platform->ctx, *own;
    snprintf(why, 256, "memory is out");
    if (artel_context_create(NULL, &own) < 0) return false;
    platform->ctx = own;
    artel_status status = try_sum(&t);
    platform->ctx = ctx;
    if (status < 0) snprintf(why, 256, "%.255s", artel_context_error(own)->what);
    artel_context_destroy(own);
    return status == ARTEL_OK;
}

/* -- where blocks are left -- */

static int most_folds(const artel__device_executable *x)
{
    int most = 0;
    for (int s = 0; s < x->cut.stages; s++)
        most = x->cut.stage[s].collectives > most ? x->cut.stage[s].collectives : most;
    return most;
}

artel_status artel__step_joint_create(artel__device_executable *x)
{
    int members = x->place->sums;
    if (members < 2 || !x->options.device_sums || x->options.staged || x->options.here != members) return ARTEL_OK;
    artel__joint *joint = artel__arena_alloc(&x->arena, 1, sizeof *joint);
    if (!joint) return ARTEL_ERROR_NO_MEMORY;
    *joint = (artel__joint){.members = members, .most = most_folds(x), .results = x->graph->kept_count + x->writes + 2};
    for (int k = 0; k < 2 * members; k++)
        joint->block[k % 2][k / 2] = artel__arena_alloc(&x->arena, (size_t)joint->most + 1, sizeof(artel__buffer *));
    for (int k = 0; k < 2 * members; k++)
        joint->step[k % 2].out[k / 2] = artel__arena_alloc(&x->arena, (size_t)joint->results, sizeof(artel__buffer *));
    ARTEL_TRY(artel__arena_status(&x->arena));
    pthread_mutex_init(&joint->lock, NULL);
    x->joint = joint;
    x->all = x->options.shards == members && !x->options.common && !x->options.across;
    return ARTEL_OK;
}

void artel__step_joint_destroy(artel__device_executable *x)
{
    artel__joint *joint = x->joint;
    if (!joint) return;
    for (int r = 0; r < joint->members; r++) {
        for (int i = 0; i < joint->most; i++) {
            artel__buffer_release(x->place->platform, joint->block[0][r][i]);
            artel__buffer_release(x->place->platform, joint->block[1][r][i]);
        }
        for (int i = 0; i < joint->results; i++) {
            artel__buffer_release(x->place->platform, joint->step[0].out[r][i]);
            artel__buffer_release(x->place->platform, joint->step[1].out[r][i]);
        }
    }
    pthread_mutex_destroy(&joint->lock);
}
