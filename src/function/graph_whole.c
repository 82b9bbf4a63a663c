/* SPDX-License-Identifier: Apache-2.0 */
/* Whole numbers in functions.
 *
 * Of int32 nearly everything is computed in float64, which holds it (graph_ops.c); here is what wraps around. No float
 * holds int64. What has a kernel of its own (op/gather.h, comparisons) is computed as it is; what moves elements or
 * adds them up is done with the two halves of each, in float64, and put together again; beside a float an int64 becomes
 * that, as in Keras; everything else is refused by name, for it would be rounded in silence.
 */
#include "function/graph_whole.h"

#include <string.h>

#include "function/direct.h"
#include "op/elementwise.h"
#include "op/gather.h"

/* -- halves -- */

static artel__value_id number(artel__graph *graph, int64_t value)
{
    artel_shape scalar = {.rank = 0};
    return artel__op_constant(graph, ARTEL_DTYPE_INT64, &scalar, &value);
}

void artel__whole_split(artel__graph *graph, artel__value_id x, artel__value_id *half)
{
    half[0] = artel__op_integer(graph, ARTEL__INTEGER_SHIFT_RIGHT, x, number(graph, 32));
    half[1] = artel__op_integer(graph, ARTEL__INTEGER_AND, x, number(graph, UINT32_MAX));
    for (int i = 0; i < 2; i++) half[i] = artel__op_cast(graph, half[i], ARTEL_DTYPE_FLOAT64);
}

artel__value_id artel__whole_join(artel__graph *graph, artel__value_id high, artel__value_id low)
{
    high = artel__op_cast(graph, high, ARTEL_DTYPE_INT64);
    low = artel__op_cast(graph, low, ARTEL_DTYPE_INT64);
    high = artel__op_integer(graph, ARTEL__INTEGER_SHIFT_LEFT, high, number(graph, 32));
    return artel__op_integer(graph, ARTEL__INTEGER_ADD, high, low);
}

static artel__value_id by_number(artel__graph *graph, artel__integer_op op, artel__value_id x, int64_t number)
{
    artel_shape scalar = {.rank = 0};
    int32_t low = (int32_t)number;
    bool is_long = graph->status == ARTEL_OK && graph->value[x].dtype == ARTEL_DTYPE_INT64;
    artel__value_id by = artel__op_constant(graph, is_long ? ARTEL_DTYPE_INT64 : ARTEL_DTYPE_INT32, &scalar,
                                            is_long ? (const void *)&number : (const void *)&low);
    return artel__op_integer(graph, op, x, by);
}

artel__value_id artel__whole_low(artel__graph *graph, const artel__variable *variable, artel__value_id value)
{
    artel_dtype dtype = variable->dtype;
    int bits = 8 * (int)artel_dtype_size(dtype);
    if (artel__is_floating(dtype) || artel__variable_held(variable) == dtype) return value;
    if (dtype >= ARTEL_DTYPE_UINT8) return by_number(graph, ARTEL__INTEGER_AND, value, ((int64_t)1 << bits) - 1);
    value = by_number(graph, ARTEL__INTEGER_SHIFT_LEFT, value, 32 - bits);
    return by_number(graph, ARTEL__INTEGER_SHIFT_RIGHT, value, 32 - bits);
}

artel__value_id artel__whole_places(artel_graph *g, artel_value value)
{
    artel__value_id id = artel__graph_take(g, value);
    if (id < 0 || g->graph->value[id].dtype != ARTEL_DTYPE_INT64) return id;
    return artel__op_cast(g->graph, id, ARTEL_DTYPE_INT32);
}

/* -- two operands -- */

/* A constant written with a batch axis loses it beside rows. */
static artel__value_id align(artel__graph *graph, artel__value_id x, artel__value_id beside)
{
    if (graph->status < 0) return ARTEL__NO_VALUE;
    const artel__value *constant = &graph->value[x], *row = &graph->value[beside];
    bool axis = constant->domain == ARTEL__DOMAIN_GLOBAL && row->domain != ARTEL__DOMAIN_GLOBAL &&
                constant->shape.rank == row->shape.rank + 1 && constant->shape.dim[0] == 1;
    if (!axis) return x;
    artel_shape shape = {.rank = constant->shape.rank - 1};
    for (int i = 0; i < shape.rank; i++) shape.dim[i] = constant->shape.dim[i + 1];
    return artel__op_reshape(graph, x, &shape);
}

/* Aligns two operands; whether they broadcast: a shared one has no more axes than a row. */
static bool meet(artel__graph *graph, artel__value_id *x)
{
    artel__value_id given[2] = {x[0], x[1]};
    artel_shape joined;
    for (int i = 0; i < 2; i++) x[i] = align(graph, given[i], given[1 - i]);
    if (graph->status < 0) return false;
    const artel__value *a = &graph->value[x[0]], *b = &graph->value[x[1]];
    bool beside_rows = a->domain != b->domain;
    const artel__value *shared = a->domain == ARTEL__DOMAIN_GLOBAL ? a : b, *rows = shared == a ? b : a;
    return artel__shape_broadcast(&a->shape, &b->shape, &joined) &&
           !(beside_rows && shared->shape.rank > rows->shape.rank);
}

/* Where a name stands in a list that ends with NULL; -1: it does not. */
static int find(const char *const *names, const char *name)
{
    for (int i = 0; names[i]; i++) {
        if (strcmp(names[i], name) == 0) return i;
    }
    return -1;
}

artel__value_id artel__whole_wrap(artel_graph *g, const char *class_name, const artel__tensor *in, int count)
{
    static const char *const names[] = {"Add", "Subtract", "Multiply", NULL};
    artel__graph *graph = g->graph;
    artel__value_id x[2];
    int function = find(names, class_name);
    bool any = false;
    if (function < 0 || count != 2) return ARTEL__NO_VALUE;
    for (int i = 0; i < 2; i++) {
        artel_dtype dtype = graph->value[in[i].value].dtype;
        if (dtype != ARTEL_DTYPE_INT32 && dtype != ARTEL_DTYPE_BOOL) return ARTEL__NO_VALUE;
        any = any || dtype == ARTEL_DTYPE_INT32;
        x[i] = in[i].value;
    }
    if (!any || !meet(graph, x)) return ARTEL__NO_VALUE;
    for (int i = 0; i < 2; i++) x[i] = artel__op_cast(graph, x[i], ARTEL_DTYPE_INT32);
    return artel__op_integer(graph, (artel__integer_op)(ARTEL__INTEGER_ADD + function), x[0], x[1]);
}

/* -- int64 -- */

/* Operands become int64; -1 after a failure. */
static int take_pair(const artel__whole_call *c, artel__value_id *x)
{
    artel__graph *graph = c->g->graph;
    for (int i = 0; i < 2; i++) x[i] = artel__graph_take(c->g, c->inputs[i]);
    if (graph->status < 0) return -1;
    if (!meet(graph, x)) {
        artel__graph_refuse(c->g, ARTEL_ERROR_INVALID, c->class_name, "give operands of shapes that fit",
                            "the shapes of the operands do not broadcast");
        return -1;
    }
    for (int i = 0; i < 2; i++) x[i] = artel__op_cast(graph, x[i], ARTEL_DTYPE_INT64);
    return graph->status < 0 ? -1 : 0;
}

static int give(const artel__whole_call *c, artel__value_id value)
{
    c->outputs[0] = artel__graph_give(c->g, value);
    return c->g->graph->status < 0 ? c->g->graph->status : 1;
}

static artel__value_id larger(artel__graph *graph, artel__value_id a, artel__value_id b, bool least)
{
    artel__comparison how = least ? ARTEL__COMPARE_LESS : ARTEL__COMPARE_GREATER;
    return artel__op_where(graph, artel__op_compare(graph, how, a, b), a, b);
}

static int call_binary(const artel__whole_call *c, int function)
{
    static const int codes[] = {ARTEL__INTEGER_ADD,        ARTEL__INTEGER_SUBTRACT,    ARTEL__INTEGER_MULTIPLY,
                                ARTEL__INTEGER_DIV,        ARTEL__INTEGER_MOD,         ARTEL__INTEGER_AND,
                                ARTEL__INTEGER_OR,         ARTEL__INTEGER_XOR,         ARTEL__INTEGER_SHIFT_LEFT,
                                ARTEL__INTEGER_SHIFT_LEFT, ARTEL__INTEGER_SHIFT_RIGHT, ARTEL__INTEGER_SHIFT_RIGHT,
                                ARTEL__INTEGER_GCD,        ARTEL__INTEGER_LCM};
    artel__graph *graph = c->g->graph;
    artel__value_id x[2];
    if (take_pair(c, x) < 0) return graph->status;
    if (function >= (int)ARTEL__COUNT(codes))
        return give(c, larger(graph, x[0], x[1], function > (int)ARTEL__COUNT(codes)));
    return give(c, artel__op_integer(graph, (artel__integer_op)codes[function], x[0], x[1]));
}

static int call_unary(const artel__whole_call *c, const char *name)
{
    artel__graph *graph = c->g->graph;
    artel__value_id x = artel__graph_take(c->g, c->inputs[0]);
    if (graph->status < 0) return graph->status;
    artel__value_id less = artel__op_integer(graph, ARTEL__INTEGER_SUBTRACT, number(graph, 0), x);
    if (strcmp(name, "Negative") == 0) return give(c, less);
    if (strcmp(name, "Square") == 0) return give(c, artel__op_integer(graph, ARTEL__INTEGER_MULTIPLY, x, x));
    if (strncmp(name, "Abs", 3) == 0) return give(c, larger(graph, x, less, false));
    if (strncmp(name, "Bitwise", 7) == 0)
        return give(c, artel__op_integer(graph, ARTEL__INTEGER_XOR, x, number(graph, -1)));
    return give(c, x);
}

static int call_compare(const artel__whole_call *c, int function)
{
    artel__value_id x[2];
    if (take_pair(c, x) < 0) return c->g->graph->status;
    return give(c, artel__op_compare(c->g->graph, (artel__comparison)function, x[0], x[1]));
}

/* Both halves by the operation of float64; operands that are no numbers, `place`, stay what they are. */
static int call_halves(const artel__whole_call *c, const bool *place)
{
    artel__graph *graph = c->g->graph;
    artel_value in[2][32], out[2][ARTEL__LAYER_OUTPUTS];
    artel__value_id half[2];
    artel__whole_call each = *c;
    int made = 0;
    for (int i = 0; i < c->count; i++) {
        artel__value_id x = artel__graph_take(c->g, c->inputs[i]);
        in[0][i] = in[1][i] = c->inputs[i];
        if (place[i] || graph->status < 0) continue;
        artel__whole_split(graph, artel__op_cast(graph, x, ARTEL_DTYPE_INT64), half);
        for (int k = 0; k < 2; k++) in[k][i] = artel__graph_give(c->g, half[k]);
    }
    each.most = ARTEL__LAYER_OUTPUTS;
    for (int k = 0; k < 2 && made >= 0; k++) {
        each.inputs = in[k];
        each.outputs = out[k];
        made = graph->status < 0 ? (int)graph->status : c->call(&each);
    }
    for (int i = 0; i < made && i < c->most; i++) {
        for (int k = 0; k < 2; k++) half[k] = artel__graph_take(c->g, out[k][i]);
        c->outputs[i] = artel__graph_give(c->g, artel__whole_join(graph, half[0], half[1]));
    }
    return graph->status < 0 ? graph->status : made;
}

static bool is_of(const artel__whole_call *c, int i, artel_dtype dtype)
{
    return c->g->graph->value[artel__graph_take(c->g, c->inputs[i])].dtype == dtype;
}

/* The operands of int64 as another type, and the operation of that. */
static int call_as(const artel__whole_call *c, artel_dtype dtype)
{
    artel_value in[32];
    artel__whole_call other = *c;
    for (int i = 0; i < c->count; i++) {
        artel__value_id x = artel__graph_take(c->g, c->inputs[i]);
        bool is_long = c->g->graph->status == ARTEL_OK && c->g->graph->value[x].dtype == ARTEL_DTYPE_INT64;
        in[i] = is_long ? artel__graph_give(c->g, artel__op_cast(c->g->graph, x, dtype)) : c->inputs[i];
    }
    other.inputs = in;
    return c->g->graph->status < 0 ? (int)c->g->graph->status : c->call(&other);
}

static int call_cast(const artel__whole_call *c)
{
    artel_dtype dtype = ARTEL_DTYPE_STRING;
    const char *name = json_string_value(json_object_get(c->settings, "dtype"));
    if (!name || artel_dtype_parse(name, &dtype) < 0 || !artel__computes_with(dtype))
        return call_as(c, artel__is_floating(dtype) ? ARTEL_DTYPE_FLOAT32 : ARTEL_DTYPE_FLOAT64);
    return give(c, artel__op_cast(c->g->graph, artel__graph_take(c->g, c->inputs[0]), dtype));
}

/* Operands that are places or conditions, and not what is moved. */
static void find_places(const artel__whole_call *c, bool *place)
{
    static const char *const behind[] = {"Take", "TakeAlongAxis", NULL};
    for (int i = 0; i < c->count; i++) place[i] = i > 0 && find(behind, c->class_name) >= 0;
    if (strcmp(c->class_name, "Where") == 0 || strcmp(c->class_name, "OneHot") == 0) place[0] = true;
}

/* Places of int64 become int32; whether an operand of int64 is left. */
static bool settle_places(const artel__whole_call *c, const bool *place, artel_value *in)
{
    bool left = false;
    for (int i = 0; i < c->count; i++) {
        bool is_long = is_of(c, i, ARTEL_DTYPE_INT64);
        in[i] = place[i] && is_long ? artel__graph_give(c->g, artel__whole_places(c->g, c->inputs[i])) : c->inputs[i];
        left = left || (is_long && !place[i]);
    }
    return left;
}

bool artel__whole_is_long(const artel__whole_call *c)
{
    const char *to = json_string_value(json_object_get(c->settings, "dtype"));
    bool any = strcmp(c->class_name, "Cast") == 0 && to && strcmp(to, "int64") == 0;
    for (int i = 0; i < c->count && c->g->graph->status == ARTEL_OK; i++) {
        const artel__place *p = artel__graph_place(c->g, c->inputs[i]);
        any = any || (p && c->g->graph->value[p->value].dtype == ARTEL_DTYPE_INT64);
    }
    return any && c->g->graph->status == ARTEL_OK;
}

/* Of whole numbers alone. */
static int call_whole(const artel__whole_call *c, const bool *place)
{
    static const char *const binary[] = {
        "Add",       "Subtract",   "Multiply",  "FloorDivide",      "Mod",        "BitwiseAnd",
        "BitwiseOr", "BitwiseXor", "LeftShift", "BitwiseLeftShift", "RightShift", "BitwiseRightShift",
        "Gcd",       "Lcm",        "Maximum",   "Minimum",          NULL};
    static const char *const unary[] = {"Negative",      "Square", "Abs",          "Absolute", "BitwiseNot",
                                        "BitwiseInvert", "Copy",   "StopGradient", NULL};
    static const char *const compared[] = {[ARTEL__COMPARE_EQUAL] = "Equal",
                                           [ARTEL__COMPARE_NOT_EQUAL] = "NotEqual",
                                           [ARTEL__COMPARE_LESS] = "Less",
                                           [ARTEL__COMPARE_LESS_EQUAL] = "LessEqual",
                                           [ARTEL__COMPARE_GREATER] = "Greater",
                                           [ARTEL__COMPARE_GREATER_EQUAL] = "GreaterEqual",
                                           NULL};
    static const char *const halves[] = {"ArraySplit", "Concatenate",   "Cumsum",  "Diagonal", "Dstack",
                                         "ExpandDims", "Flip",          "Fliplr",  "GetItem",  "Hstack",
                                         "Moveaxis",   "Repeat",        "Reshape", "Roll",     "Rot90",
                                         "Split",      "Squeeze",       "Stack",   "Sum",      "Swapaxes",
                                         "Take",       "TakeAlongAxis", "Tile",    "Trace",    "Transpose",
                                         "Tril",       "Triu",          "Unstack", "Where",    NULL};
    static const char *const truths[] = {"LogicalAnd", "LogicalOr", "LogicalXor", "LogicalNot", NULL};
    bool plain = json_object_size(c->settings) == 0;
    int function = find(binary, c->class_name);
    if (function >= 0 && plain && c->count == 2) return call_binary(c, function);
    if ((function = find(compared, c->class_name)) >= 0 && plain && c->count == 2) return call_compare(c, function);
    if (find(unary, c->class_name) >= 0 && plain && c->count == 1) return call_unary(c, c->class_name);
    if (find(halves, c->class_name) >= 0) return call_halves(c, place);
    if (find(truths, c->class_name) >= 0) return call_as(c, ARTEL_DTYPE_BOOL);
    artel__graph_refuse(c->g, ARTEL_ERROR_UNSUPPORTED, c->class_name,
                        "cast it to int32, float32 or float64; docs/functions.md lists the operations that have int64",
                        "this operation does not compute in int64");
    return c->g->graph->status;
}

int artel__whole_call_long(const artel__whole_call *c)
{
    bool place[32], floats[2] = {false, false};
    artel_value in[32];
    artel__whole_call settled = *c;
    if (strcmp(c->class_name, "Cast") == 0 && c->count == 1) return call_cast(c);
    find_places(c, place);
    settled.inputs = in;
    if (!settle_places(c, place, in)) return c->g->graph->status < 0 ? (int)c->g->graph->status : c->call(&settled);
    for (int i = 0; i < c->count; i++) {
        floats[0] = floats[0] || (!place[i] && is_of(&settled, i, ARTEL_DTYPE_FLOAT32));
        floats[1] = floats[1] || (!place[i] && is_of(&settled, i, ARTEL_DTYPE_FLOAT64));
    }
    if (floats[1]) return call_as(&settled, ARTEL_DTYPE_FLOAT64);
    return floats[0] ? call_as(&settled, ARTEL_DTYPE_FLOAT32) : call_whole(&settled, place);
}
