/* SPDX-License-Identifier: Apache-2.0 */
/* Reading formulas. */
#include "op/lower_formula.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST = 16
};

typedef struct machine {
    artel__formula *formula;
    artel__hlo_value stack[MOST];
    int depth;
} machine;

typedef struct operation {
    const char *word, *op;
    int operands; /* 0: a comparison of two */
} operation;

static const operation operations[] = {
    {"+", "add", 2},          {"-", "subtract", 2},
    {"*", "multiply", 2},     {"/", "divide", 2},
    {"max", "maximum", 2},    {"min", "minimum", 2},
    {"pow", "power", 2},      {"rem", "remainder", 2},
    {"and", "and", 2},        {"or", "or", 2},
    {"xor", "xor", 2},        {"neg", "negate", 1},
    {"abs", "abs", 1},        {"exp", "exponential", 1},
    {"log", "log", 1},        {"log1p", "log_plus_one", 1},
    {"tanh", "tanh", 1},      {"expm1", "exponential_minus_one", 1},
    {"sqrt", "sqrt", 1},      {"logistic", "logistic", 1},
    {"sin", "sine", 1},       {"cos", "cosine", 1},
    {"sign", "sign", 1},      {"round", "round_nearest_even", 1},
    {"floor", "floor", 1},    {"erf", "chlo.erf", 1},
    {"<", "LT", 0},           {"<=", "LE", 0},
    {">", "GT", 0},           {">=", "GE", 0},
    {"==", "EQ", 0},          {"!=", "NE", 0},
    {"erfc", "chlo.erfc", 1},
};

/* What is no short number: as float32 formulas have it (kernel/real.h), and those of float64 (kernel/wide/real.h). */
typedef struct constant {
    const char *word;
    double narrow, wide;
} constant;

static const constant constants[] = {
    {"inf", INFINITY, INFINITY},
    {"-root_half", -0.70710678, -0.70710678118654752440},
    {"normal", 0.39894228, 0.39894228040143267794},
    {"gelu_scale", 0.79788456, 0.79788456080286535588},
    {"selu", 1.05070098, 1.0507009873554804934},
    {"selu_below", 1.75809934, 1.7580993408473768599},
    {"erf_slope", 1.12837917, 1.12837916709551257390},
};

void artel__formula_init(artel__formula *formula, artel__hlo *hlo, artel__hlo_value like)
{
    *formula = (artel__formula){.hlo = hlo, .like = like, .axis = artel__hlo_type_of(hlo, like)->rank - 1};
    for (size_t i = 0; i < ARTEL__COUNT(formula->letter); i++) formula->letter[i] = -1;
}

void artel__formula_set(artel__formula *formula, char letter, artel__hlo_value value)
{
    formula->letter[letter - 'A'] = value;
}

void artel__formula_number(artel__formula *formula, char letter, double number)
{
    artel__formula_set(formula, letter, artel__hlo_number(formula->hlo, number, formula->like));
}

void artel__formula_spread(artel__formula *formula, char letter, artel__hlo_value scalar)
{
    artel__hlo_type type = *artel__hlo_type_of(formula->hlo, formula->like);
    artel__formula_set(formula, letter, artel__hlo_broadcast(formula->hlo, scalar, &type, NULL));
}

artel__hlo_value artel__formula_get(const artel__formula *formula, char letter)
{
    return formula->letter[letter - 'A'];
}

static void push(machine *m, artel__hlo_value value)
{
    if (m->depth < MOST) m->stack[m->depth++] = value;
}

static artel__hlo_value pop(machine *m)
{
    return m->depth > 0 ? m->stack[--m->depth] : -1;
}

static artel__hlo_value along(const artel__formula *f, const char *op, double init, artel__hlo_value a)
{
    artel__hlo_type type = *artel__hlo_type_of(f->hlo, a);
    int axes[ARTEL__HLO_RANK], rank = 0;
    for (int i = 0; i < type.rank; i++) {
        if (i != f->axis) axes[rank++] = i;
    }
    return artel__hlo_broadcast(f->hlo, artel__hlo_reduce(f->hlo, op, init, a, 1u << f->axis), &type, axes);
}

/* False when the word is no operation. */
static bool operate(machine *m, const char *word)
{
    artel__hlo *h = m->formula->hlo;
    for (size_t i = 0; i < ARTEL__COUNT(operations); i++) {
        const operation *o = &operations[i];
        if (strcmp(o->word, word) != 0) continue;
        artel__hlo_value last = pop(m);
        if (o->operands == 1)
            push(m, artel__hlo_unary(h, o->op, last));
        else if (o->operands == 2)
            push(m, artel__hlo_binary(h, o->op, pop(m), last));
        else
            push(m, artel__hlo_compare(h, o->op, pop(m), last));
        return true;
    }
    return false;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

double artel__formula_constant(const char *word, artel_dtype dtype)
{
    for (size_t i = 0; i < ARTEL__COUNT(constants); i++) {
        const constant *c = &constants[i];
        if (strcmp(c->word, word) == 0) return dtype == ARTEL_DTYPE_FLOAT64 ? c->wide : c->narrow;
    }
    return strtod(word, NULL);
}

static void take_word(machine *m, const char *word)
{
    artel__formula *f = m->formula;
    if (strcmp(word, "?") == 0) {
        artel__hlo_value no = pop(m), yes = pop(m);
        push(m, artel__hlo_select(f->hlo, pop(m), yes, no));
    } else if (strcmp(word, "!") == 0) {
        push(m, artel__hlo_barrier(f->hlo, pop(m)));
    } else if (word[0] == '=' && is_letter(word[1])) {
        artel__formula_set(f, word[1], pop(m));
    } else if (is_letter(word[0]) && word[1] == '\0') {
        push(m, artel__formula_get(f, word[0]));
    } else if (strcmp(word, "sum") == 0) {
        push(m, along(f, "add", 0, pop(m)));
    } else if (strcmp(word, "most") == 0) {
        push(m, along(f, "maximum", -INFINITY, pop(m)));
    } else if (!operate(m, word)) {
        artel_dtype dtype = artel__hlo_type_of(f->hlo, f->like)->dtype;
        push(m, artel__hlo_number(f->hlo, artel__formula_constant(word, dtype), f->like));
    }
}

artel__hlo_value artel__formula_write(artel__formula *formula, const char *text)
{
    machine m = {.formula = formula};
    while (*text) {
        char word[16] = "";
        size_t length = strcspn(text, " ");
        if (length > 0 && length < sizeof word) {
            memcpy(word, text, length);
            take_word(&m, word);
        }
        text += length;
        text += strspn(text, " ");
    }
    return pop(&m);
}
