/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of row functions. See the header. */
#include "text/program.h"

#include <stdio.h>
#include <string.h>

artel_status artel__program_add(artel__program *program, const artel__program_step *step)
{
    if (program->steps == program->capacity) {
        int capacity = program->capacity ? program->capacity * 2 : 8;
        artel__program_step *wider = artel__arena_alloc(program->arena, (size_t)capacity, sizeof *wider);
        if (!wider) return ARTEL_ERROR_NO_MEMORY;
        if (program->steps) memcpy(wider, program->step, (size_t)program->steps * sizeof *wider);
        program->step = wider;
        program->capacity = capacity;
    }
    program->step[program->steps++] = *step;
    return ARTEL_OK;
}

artel_status artel__program_close(artel__program *program)
{
    program->delivered =
        artel__arena_alloc(program->arena, (size_t)artel__program_values(program) + 1, sizeof *program->delivered);
    return program->delivered ? ARTEL_OK : ARTEL_ERROR_NO_MEMORY;
}

static void gather(const artel__program_step *step, const artel__cells *values, artel__cells *in)
{
    for (int k = 0; k < step->inputs; k++) in[k] = values[step->in[k]];
}

artel_status artel__program_infer(artel_context *ctx, const artel__program *program, artel__cells *values)
{
    for (int i = 0; i < program->steps; i++) {
        const artel__program_step *step = &program->step[i];
        artel__cells in[ARTEL__ROW_INPUTS];
        char where[256];
        gather(step, values, in);
        const char *why = step->function->infer(step->settings, in, step->inputs, &values[program->inputs + i]);
        if (!why) continue;
        snprintf(where, sizeof where, "layer \"%s\" (%s)", step->layer, step->function->name);
        return artel__fail(ctx, ARTEL_ERROR_INVALID, where, "check the data and the layer before it", "its input %s",
                           why);
    }
    return ARTEL_OK;
}

artel_status artel__program_run(const artel__program *program, artel__cells *values, artel__row_scratch *scratch,
                                artel__row_fault *fault, int *at)
{
    for (int i = 0; i < program->steps; i++) {
        const artel__program_step *step = &program->step[i];
        artel__cells in[ARTEL__ROW_INPUTS];
        gather(step, values, in);
        *at = i;
        ARTEL_TRY(step->function->run(step->settings, in, step->inputs, &values[program->inputs + i], scratch, fault));
    }
    return ARTEL_OK;
}
