/* SPDX-License-Identifier: Apache-2.0 */
/* Steps with variables that stay in this machine's memory, once for all replicas (options.common).
 *
 * A step sends each device the variables that it reads. When the step counts, the first replica's device is sent what
 * the update reads besides, its state of the optimizer; it runs the same program as where every device has its own
 * variables, so the bits are those, and what has become of the variables comes back at once. Behind a step no device
 * has any.
 */
#include "device/execution_impl.h"

artel_status artel__step_central_create(artel__device_execution *e)
{
    artel__platform *platform = artel__step_platform(e);
    int count = artel__state_variables(e->state)->count;
    if (e->leads) return artel__device_home_settle(e->ctx, platform, e->device, e->state, &e->home);
    return artel__device_home_create(e->ctx, platform, e->device, count, &e->home);
}

void artel__step_central_destroy(artel__device_execution *e)
{
    if (!e->leads) artel__device_home_destroy(e->home);
}

static void release_variables(artel__device_execution *e)
{
    for (int i = 0; i < e->home->count; i++) artel__step_put_into(e, &e->home->variable[i], NULL);
}

/* What a program reads and the device has not. */
static artel_status send_arguments(artel__device_execution *e, const artel__cut_program *cut)
{
    for (int i = 0; i < cut->ins; i++) {
        int variable = e->x->graph->value[cut->in[i]].variable;
        if (variable < 0 || e->home->variable[variable]) continue;
        ARTEL_TRY(artel__device_home_take(e->home, e->state, variable));
    }
    return ARTEL_OK;
}

artel_status artel__step_central_send(artel__device_execution *e)
{
    ARTEL_TRY(e->home->failed);
    release_variables(e); /* of a step that was given up */
    for (int s = 0; s < e->x->cut.stages; s++) {
        ARTEL_TRY(send_arguments(e, &e->x->cut.stage[s].common));
        ARTEL_TRY(send_arguments(e, &e->x->cut.stage[s].rows));
    }
    return ARTEL_OK;
}

static bool is_written(const artel__device_execution *e, int variable)
{
    for (int i = 0; i < e->x->writes; i++) {
        if (e->x->graph->value[e->x->written[i]].variable == variable) return true;
    }
    return false;
}

/* Only what has changed comes back. */
static artel_status bring_home(artel__device_execution *e)
{
    for (int i = 0; i < e->home->count; i++) {
        if (!is_written(e, i)) artel__step_put_into(e, &e->home->variable[i], NULL);
    }
    artel__state_leave(e->state);
    return artel__state_bring(e->state);
}

artel_status artel__step_central_apply(artel__device_execution *e, const artel__step *step)
{
    const artel__step_program *p = NULL;
    artel_status status = ARTEL_OK;
    if (e->leads) status = artel__step_program_find(e->x, 0, ARTEL__PART_APPLY, 0, step->fold->batch, false, &p);
    if (status == ARTEL_OK && p) status = send_arguments(e, &e->x->cut.apply);
    if (status == ARTEL_OK && p) status = artel__step_launch(e, p, step, -1);
    if (status == ARTEL_OK && p) status = bring_home(e);
    release_variables(e);
    return status;
}
