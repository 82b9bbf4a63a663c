/* SPDX-License-Identifier: Apache-2.0 */
/* Recording and replaying what is computed before a graph. See the header. */
#include "nn/ahead.h"

#include <string.h>

#include "nn/layer_support.h"
#include "op/row_function.h"

static artel_status begin(artel__graph *graph, artel__program *program, int values, artel__ahead *out)
{
    *out = (artel__ahead){.program = program,
                          .value = artel__arena_alloc(graph->arena, (size_t)values + 1, sizeof *out->value)};
    if (!out->value) return ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < values; i++) out->value[i] = ARTEL__NO_VALUE;
    graph->ahead = out;
    return ARTEL_OK;
}

artel_status artel__ahead_record(artel__graph *graph, artel__program *program, artel__ahead *out)
{
    ARTEL_TRY(begin(graph, program, program->inputs, out));
    out->recording = true;
    return ARTEL_OK;
}

artel_status artel__ahead_replay(artel__graph *graph, const artel__program *program, artel__ahead *out)
{
    return begin(graph, (artel__program *)(uintptr_t)program, artel__program_values(program), out);
}

artel__value_id artel__ahead_stand_in(artel__graph *graph, artel_dtype dtype, const artel_shape *shape)
{
    const artel__value value = {
        .domain = ARTEL__DOMAIN_ROW, .dtype = dtype, .shape = *shape, .node = -1, .variable = -1, .input = -1};
    return graph->status < 0 ? ARTEL__NO_VALUE : artel__graph_add_value(graph, &value);
}

static int find_value(const artel__ahead *ahead, artel__value_id id)
{
    int values = ahead->recording ? artel__program_values(ahead->program) : ahead->program->inputs + ahead->next;
    for (int i = 0; i < values; i++) {
        if (ahead->value[i] == id) return i;
    }
    return -1;
}

artel_status artel__ahead_deliver(const artel__graph *graph, const artel__tensor *out, int outputs)
{
    artel__ahead *ahead = graph->ahead;
    ARTEL_TRY(artel__program_close(ahead->program));
    bool *delivered = ahead->program->delivered;
    for (int i = 0; i < graph->nodes; i++) {
        for (int k = 0; k < graph->node[i].inputs; k++) {
            int value = graph->node[i].input[k] < 0 ? -1 : find_value(ahead, graph->node[i].input[k]);
            if (value >= 0) delivered[value] = true;
        }
    }
    for (int i = 0; i < outputs; i++) {
        int value = find_value(ahead, out[i].value);
        if (value >= 0) delivered[value] = true;
    }
    return ARTEL_OK;
}

static bool is_stand_in(const artel__graph *graph, artel__value_id id)
{
    return id >= 0 && graph->value[id].node < 0 && graph->value[id].variable < 0 && graph->value[id].input < 0;
}

artel_status artel__ahead_check(const artel__graph *graph)
{
    for (int i = 0; i < graph->nodes; i++) {
        for (int k = 0; k < graph->node[i].inputs; k++) {
            if (is_stand_in(graph, graph->node[i].input[k]))
                return artel__fail(artel__graph_context(graph), ARTEL_ERROR_INTERNAL, graph->node[i].name, "",
                                   "the graph reads a value that is not fed");
        }
    }
    return ARTEL_OK;
}

/* Numbers of all tensors of the call among the values of the program; false when one is none of them. */
static bool find_values(const artel__ahead *ahead, const artel__call *call, int *out)
{
    if (!ahead || call->inputs > ARTEL__ROW_INPUTS) return false;
    for (int k = 0; k < call->inputs; k++) {
        out[k] = find_value(ahead, call->in[k].value);
        if (out[k] < 0) return false;
    }
    return true;
}

static artel_status widen(artel__graph *graph, artel__ahead *ahead, artel__value_id id)
{
    int values = artel__program_values(ahead->program);
    artel__value_id *wider = artel__arena_alloc(graph->arena, (size_t)values + 1, sizeof *wider);
    if (!wider) return ARTEL_ERROR_NO_MEMORY;
    memcpy(wider, ahead->value, (size_t)(values - 1) * sizeof *wider);
    wider[values - 1] = id;
    ahead->value = wider;
    return ARTEL_OK;
}

static artel_status record(artel__layer *layer, artel__call *call, const artel__program_step *step,
                           artel__value_id *out)
{
    artel__cells in[ARTEL__ROW_INPUTS], result = {.count = 0};
    for (int k = 0; k < call->inputs; k++) {
        const artel__value *value = &call->graph->value[call->in[k].value];
        in[k] = (artel__cells){.data = NULL};
        artel__cells_describe(&in[k], value->dtype, &value->shape);
    }
    const char *why = step->function->infer(step->settings, in, call->inputs, &result);
    if (why) return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "check the layer before it", "its input %s", why);
    *out = artel__ahead_stand_in(call->graph, result.dtype, &result.shape);
    ARTEL_TRY(call->graph->status);
    ARTEL_TRY(artel__program_add(call->graph->ahead->program, step));
    return widen(call->graph, call->graph->ahead, *out);
}

static artel_status check_strings(const artel__layer *layer, const artel__call *call)
{
    for (int k = 0; k < call->inputs; k++) {
        if (call->graph->value[call->in[k].value].dtype != ARTEL_DTYPE_STRING) continue;
        return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "make numbers of the strings first",
                                 call->graph->ahead ? "it takes strings together with results of other layers"
                                                    : "strings can only be fed where rows are fetched from data");
    }
    return ARTEL_OK;
}

artel_status artel__call_row_function(artel__layer *layer, artel__call *call, const artel__row_function *function,
                                      const void *settings)
{
    artel__program_step step = {
        .function = function, .settings = settings, .layer = layer->name, .inputs = call->inputs};
    artel__ahead *ahead = call->graph->ahead;
    if (!find_values(ahead, call, step.in)) {
        artel__value_id ids[ARTEL__ROW_INPUTS];
        ARTEL_TRY(check_strings(layer, call));
        for (int k = 0; k < call->inputs && k < ARTEL__ROW_INPUTS; k++) ids[k] = call->in[k].value;
        artel__call_return(call, artel__op_row_function(call->graph, function, settings, ids, call->inputs));
        return call->graph->status;
    }
    artel__value_id out = ARTEL__NO_VALUE;
    if (ahead->recording) {
        ARTEL_TRY(record(layer, call, &step, &out));
    } else {
        int n = ahead->next++;
        bool known = n < ahead->program->steps && ahead->program->step[n].settings == settings;
        out = known ? ahead->value[ahead->program->inputs + n] : ARTEL__NO_VALUE;
        if (out < 0) return artel__layer_fail(layer, ARTEL_ERROR_INTERNAL, "", "its call was not recorded");
    }
    artel__call_return(call, out);
    return ARTEL_OK;
}
