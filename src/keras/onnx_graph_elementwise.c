/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise operations of the graph as ONNX nodes. Functions are read from the formulas that devices get
 * (op/lower_elementwise.h), word by word; runtimes fold what is constant in them. */
#include <math.h>
#include <string.h>

#include "keras/onnx_graph.h"
#include "op/elementwise.h"
#include "op/gather.h"
#include "op/lower_elementwise.h"
#include "op/lower_formula.h"
#include "op/node_attributes.h"
#include "op/ops.h"

typedef artel__onnx_site site;

/* -- formulas -- */

enum {
    DEPTH = 16
};

typedef struct machine {
    artel__onnx *onnx;
    artel_dtype dtype;
    const char *u, *v;
    const float *constant; /* a, b, c */
    const char *stack[DEPTH];
    int depth;
} machine;

static void push(machine *m, const char *name)
{
    if (m->depth < DEPTH) m->stack[m->depth++] = name;
}

static const char *pop(machine *m)
{
    return m->depth > 0 ? m->stack[--m->depth] : NULL;
}

static const struct {
    const char *word, *op;
    int operands;
} words[] = {
    {"+", "Add", 2},
    {"-", "Sub", 2},
    {"*", "Mul", 2},
    {"/", "Div", 2},
    {"max", "Max", 2},
    {"min", "Min", 2},
    {"pow", "Pow", 2},
    {"and", "And", 2},
    {"or", "Or", 2},
    {"xor", "Xor", 2},
    {"neg", "Neg", 1},
    {"abs", "Abs", 1},
    {"exp", "Exp", 1},
    {"log", "Log", 1},
    {"tanh", "Tanh", 1},
    {"sqrt", "Sqrt", 1},
    {"logistic", "Sigmoid", 1},
    {"sin", "Sin", 1},
    {"cos", "Cos", 1},
    {"sign", "Sign", 1},
    {"round", "Round", 1},
    {"floor", "Floor", 1},
    {"erf", "Erf", 1},
    {"<", "Less", 2},
    {"<=", "LessOrEqual", 2},
    {">", "Greater", 2},
    {">=", "GreaterOrEqual", 2},
    {"==", "Equal", 2},
};

static const char *number(machine *m, double value)
{
    return artel__onnx_number_of(m->onnx, m->dtype, value);
}

static const char *remainder_of(machine *m, const char *a, const char *b)
{
    artel__text node = artel__onnx_start(m->onnx, "Mod");
    artel__onnx_int(&node, "fmod", 1);
    return artel__onnx_end(m->onnx, &node, (const char *[]){a, b}, 2);
}

static bool operate(machine *m, const char *word)
{
    for (size_t i = 0; i < ARTEL__COUNT(words); i++) {
        if (strcmp(words[i].word, word) != 0) continue;
        const char *last = pop(m);
        push(m, words[i].operands == 1 ? artel__onnx_node1(m->onnx, words[i].op, last)
                                       : artel__onnx_node2(m->onnx, words[i].op, pop(m), last));
        return true;
    }
    return false;
}

static void take_word(machine *m, const char *word)
{
    if (strcmp(word, "?") == 0) {
        const char *no = pop(m), *yes = pop(m), *condition = pop(m);
        artel__text node = artel__onnx_start(m->onnx, "Where");
        push(m, artel__onnx_end(m->onnx, &node, (const char *[]){condition, yes, no}, 3));
    } else if (strcmp(word, "u") == 0 || strcmp(word, "v") == 0) {
        push(m, *word == 'u' ? m->u : m->v);
    } else if (strlen(word) == 1 && *word >= 'a' && *word <= 'c') {
        push(m, number(m, (double)m->constant[*word - 'a']));
    } else if (strcmp(word, "rem") == 0) {
        const char *b = pop(m);
        push(m, remainder_of(m, pop(m), b));
    } else if (strcmp(word, "!=") == 0) {
        const char *b = pop(m);
        push(m, artel__onnx_node1(m->onnx, "Not", artel__onnx_node2(m->onnx, "Equal", pop(m), b)));
    } else if (strcmp(word, "log1p") == 0) {
        push(m, artel__onnx_node1(m->onnx, "Log", artel__onnx_node2(m->onnx, "Add", pop(m), number(m, 1))));
    } else if (strcmp(word, "expm1") == 0) {
        push(m, artel__onnx_node2(m->onnx, "Sub", artel__onnx_node1(m->onnx, "Exp", pop(m)), number(m, 1)));
    } else if (strcmp(word, "erfc") == 0) {
        push(m, artel__onnx_node2(m->onnx, "Sub", number(m, 1), artel__onnx_node1(m->onnx, "Erf", pop(m))));
    } else if (strcmp(word, "!") != 0 && !operate(m, word)) {
        push(m, number(m, artel__formula_constant(word, m->dtype)));
    }
}

static const char *formula(machine *m, const char *text)
{
    while (*text) {
        char word[16] = "";
        size_t length = strcspn(text, " ");
        if (length > 0 && length < sizeof word) {
            memcpy(word, text, length);
            take_word(m, word);
        }
        text += length;
        text += strspn(text, " ");
    }
    return pop(m);
}

const char *artel__onnx_function(artel__onnx *onnx, artel_dtype dtype, artel__unary function, const float constant[3],
                                 const char *x)
{
    machine m = {.onnx = onnx, .dtype = dtype, .v = x, .constant = constant};
    bool plain = function == ARTEL__UNARY_RELU && constant[0] == 0 && isinf(constant[1]) && constant[2] == 0;
    return plain ? artel__onnx_node1(onnx, "Relu", x) : formula(&m, artel__unary_words(function));
}

static void write_unary(site *s)
{
    const artel__unary_attributes *a = s->node->attributes;
    s->out[0] = artel__onnx_function(s->onnx, artel__onnx_out_value(s)->dtype, a->function, a->parameter, s->in[0]);
}

static void write_binary(site *s)
{
    machine m = {.onnx = s->onnx,
                 .dtype = artel__onnx_out_value(s)->dtype,
                 .u = artel__onnx_spread(s, 0),
                 .v = artel__onnx_spread(s, 1)};
    s->out[0] = formula(&m, artel__binary_words(artel__op_binary_function(s->node)));
}

/* -- conditions -- */

static void write_compare(site *s)
{
    static const struct {
        const char *op;
        bool inverted;
    } how[] = {
        [ARTEL__COMPARE_EQUAL] = {"Equal", false},     [ARTEL__COMPARE_NOT_EQUAL] = {"Equal", true},
        [ARTEL__COMPARE_LESS] = {"Less", false},       [ARTEL__COMPARE_LESS_EQUAL] = {"LessOrEqual", false},
        [ARTEL__COMPARE_GREATER] = {"Greater", false}, [ARTEL__COMPARE_GREATER_EQUAL] = {"GreaterOrEqual", false}};
    int function = ((const artel__function_attributes *)s->node->attributes)->function;
    const char *y = artel__onnx_node2(s->onnx, how[function].op, artel__onnx_spread(s, 0), artel__onnx_spread(s, 1));
    s->out[0] = how[function].inverted ? artel__onnx_node1(s->onnx, "Not", y) : y;
}

static void write_logical(site *s)
{
    static const char *const how[] = {[ARTEL__LOGIC_AND] = "And", [ARTEL__LOGIC_OR] = "Or", [ARTEL__LOGIC_XOR] = "Xor"};
    int function = ((const artel__function_attributes *)s->node->attributes)->function;
    const char *first = artel__onnx_spread(s, 0);
    s->out[0] = function == ARTEL__LOGIC_NOT
                    ? artel__onnx_node1(s->onnx, "Not", first)
                    : artel__onnx_node2(s->onnx, how[function], first, artel__onnx_spread(s, 1));
}

static void write_select(site *s)
{
    const char *side[3];
    artel_dtype dtype = artel__onnx_out_value(s)->dtype;
    for (int k = 0; k < 3; k++)
        side[k] = s->in[k] ? artel__onnx_spread(s, k) : artel__onnx_number_of(s->onnx, dtype, 0);
    artel__text node = artel__onnx_start(s->onnx, "Where");
    s->out[0] = artel__onnx_end(s->onnx, &node, side, 3);
}

/* -- others -- */

static void write_cast(site *s)
{
    s->out[0] = artel__onnx_cast(s->onnx, s->in[0], artel__onnx_out_value(s)->dtype);
}

static void write_same(site *s)
{
    s->out[0] = s->in[0];
}

static void write_constant(site *s)
{
    const artel__constant_attributes *a = s->node->attributes;
    s->out[0] = artel__onnx_constant(s->onnx, a->dtype, &a->shape, a->data);
}

static void write_fill(site *s)
{
    const artel__fill_attributes *a = s->node->attributes;
    const char *scalar = artel__onnx_number_of(s->onnx, artel__onnx_out_value(s)->dtype, (double)a->number);
    s->out[0] = artel__onnx_node2(s->onnx, "Expand", scalar, artel__onnx_node1(s->onnx, "Shape", s->in[0]));
}

static void write_integer(site *s)
{
    int function = ((const artel__function_attributes *)s->node->attributes)->function;
    artel__onnx *o = s->onnx;
    const char *a = artel__onnx_spread(s, 0), *b = artel__onnx_spread(s, 1), *rest;
    if (function != (int)ARTEL__INTEGER_DIV && function != (int)ARTEL__INTEGER_MOD) {
        s->refused = "bits and divisors of integers";
        return;
    }
    rest = artel__onnx_node2(o, "Mod", a, b);
    s->out[0] = function == (int)ARTEL__INTEGER_MOD
                    ? rest
                    : artel__onnx_node2(o, "Div", artel__onnx_node2(o, "Sub", a, rest), b);
}

const artel__onnx_operation artel__onnx_elementwise[] = {
    {&artel__op_unary_def, write_unary, true, 0},
    {&artel__op_binary_def, write_binary, true, 0},
    {&artel__op_compare_def, write_compare, true, 0},
    {&artel__op_logical_def, write_logical, true, 0},
    {&artel__op_select_def, write_select, true, 0},
    {&artel__op_cast_def, write_cast, true, 0},
    {&artel__op_narrow_def, write_same, true, 0},
    {&artel__op_stop_gradient_def, write_same, true, 0},
    {&artel__op_constant_def, write_constant, true, 0},
    {&artel__op_fill_def, write_fill, true, 0},
    {&artel__op_integer_def, write_integer, true, 0},
    {&artel__op_stand_in_def, write_same, true, 1u << 1},
    {NULL, NULL, false, 0},
};
