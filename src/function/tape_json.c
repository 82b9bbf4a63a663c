/* SPDX-License-Identifier: Apache-2.0 */
/* Tapes as JSON: a list of calls, {"do": "op", "name": "add", "in": [0, 1], "out": [2]}. One table says what each kind
 * of call has, for writing and reading alike. */
#include <string.h>

#include "function/saved_impl.h"

typedef enum form {
    FORM_NONE,
    FORM_TEXT,
    FORM_TEXT_OR_NONE,
    FORM_VARIABLE, /* numbers of the strategy become those of the file */
    FORM_MODEL,
    FORM_OPTIMIZER,
    FORM_WORDS,
    FORM_REDUCTION,
    FORM_INTEGER,
    FORM_REAL,
    FORM_FLAG,
    FORM_SHAPE,
    FORM_ELEMENTS /* dtype, shape, at */
} form;

typedef struct field {
    const char *name;
    form form;
    size_t offset; /* in artel__tape_entry */
} field;

#define AT(member) offsetof(artel__tape_entry, member)
static const struct {
    const char *name;
    field field[4];
} kinds[ARTEL__TAPE_KINDS] = {
    [ARTEL__TAPE_OP] = {"op", {{"name", FORM_TEXT, AT(name)}, {"settings", FORM_TEXT_OR_NONE, AT(settings)}}},
    [ARTEL__TAPE_CONSTANT] = {"constant", {{"at", FORM_ELEMENTS, AT(elements)}}},
    [ARTEL__TAPE_NUMBER] = {"number", {{"number", FORM_REAL, AT(number[0])}}},
    [ARTEL__TAPE_VARIABLE] = {"variable", {{"variable", FORM_VARIABLE, AT(which)}}},
    [ARTEL__TAPE_WORDS] = {"words", {{"words", FORM_WORDS, AT(which)}}},
    [ARTEL__TAPE_CALL] = {"call", {{"model", FORM_MODEL, AT(which)}}},
    [ARTEL__TAPE_MASK] = {"mask", {{.name = NULL}}},
    [ARTEL__TAPE_MODEL_LOSSES] = {"model_losses", {{"model", FORM_MODEL, AT(which)}}},
    [ARTEL__TAPE_LOSS] = {"loss", {{"name", FORM_TEXT, AT(name)}}},
    [ARTEL__TAPE_METRIC] = {"metric", {{"name", FORM_TEXT, AT(name)}, {"shape", FORM_SHAPE, AT(shape)}}},
    [ARTEL__TAPE_DROPOUT] = {"dropout", {{"rate", FORM_REAL, AT(number[0])}}},
    [ARTEL__TAPE_UNIFORM] = {"uniform",
                             {{"shape", FORM_SHAPE, AT(shape)},
                              {"low", FORM_REAL, AT(number[0])},
                              {"high", FORM_REAL, AT(number[1])},
                              {"shared", FORM_FLAG, AT(flag)}}},
    [ARTEL__TAPE_NORMAL] = {"normal", {{"shape", FORM_SHAPE, AT(shape)}, {"deviation", FORM_REAL, AT(number[0])}}},
    [ARTEL__TAPE_REDUCE] = {"reduce", {{"reduction", FORM_REDUCTION, AT(which)}}},
    [ARTEL__TAPE_GATHER] = {"gather", {{.name = NULL}}},
    [ARTEL__TAPE_GRADIENTS] = {"gradients", {{.name = NULL}}},
    [ARTEL__TAPE_ASSIGN] = {"assign", {{"variable", FORM_VARIABLE, AT(which)}}},
    [ARTEL__TAPE_ASSIGN_WORDS] = {"assign words", {{"words", FORM_WORDS, AT(which)}}},
    [ARTEL__TAPE_APPLY] = {"apply", {{"optimizer", FORM_OPTIMIZER, AT(which)}}},
    [ARTEL__TAPE_SCALE_LOSS] = {"scale_loss", {{"optimizer", FORM_OPTIMIZER, AT(which)}}},
    [ARTEL__TAPE_CUSTOM] = {"custom", {{"name", FORM_TEXT, AT(name)}}},
    [ARTEL__TAPE_CHOOSE] = {"choose", {{.name = NULL}}},
    [ARTEL__TAPE_LOOP] = {"loop", {{"most", FORM_INTEGER, AT(which)}}},
    [ARTEL__TAPE_SCAN] = {"scan",
                          {{"axis", FORM_INTEGER, AT(which)},
                           {"states", FORM_INTEGER, AT(states)},
                           {"reverse", FORM_FLAG, AT(flag)}}},
    [ARTEL__TAPE_ENTER] = {"enter", {{.name = NULL}}},
    [ARTEL__TAPE_LEAVE] = {"leave", {{.name = NULL}}},
};
static const char *const reductions[] = {"sum", "mean", "min", "max"};

/* -- writing -- */

static json_t *text_or_null(const char *text)
{
    return text ? json_string(text) : json_null();
}

static void write_field(artel__saved *s, json_t *object, const field *f, const artel__tape_entry *e)
{
    const void *at = (const char *)e + f->offset;
    json_t *value = NULL;
    switch (f->form) {
    case FORM_NONE: return;
    case FORM_TEXT:
    case FORM_TEXT_OR_NONE: value = text_or_null(*(const char *const *)at); break;
    case FORM_VARIABLE:
    case FORM_MODEL:
    case FORM_OPTIMIZER:
    case FORM_WORDS: value = json_integer(s->number[f->form - FORM_VARIABLE + ARTEL__SAVED_VARIABLES][e->which]); break;
    case FORM_REDUCTION: value = json_string(reductions[e->which]); break;
    case FORM_INTEGER: value = json_integer(*(const int *)at); break;
    case FORM_REAL: value = artel__json_real(*(const double *)at); break;
    case FORM_FLAG: value = json_boolean(*(const bool *)at); break;
    case FORM_SHAPE: value = artel__saved_dims(s, &e->shape); break;
    case FORM_ELEMENTS: artel__saved_put(s, object, e->dtype, &e->shape, e->elements); return;
    }
    artel__saved_set(s, object, f->name, value);
}

/* Places as numbers without gaps. */
typedef struct numbers {
    int *of; /* by place; ARTEL_NO_VALUE: nothing has given it yet */
    int count;
} numbers;

static void write_values(artel__saved *s, json_t *object, const char *key, const artel_value *values, int count,
                         const numbers *n)
{
    json_t *list = json_array();
    for (int i = 0; i < count; i++)
        artel__saved_add(s, list, json_integer(values[i] < 0 ? ARTEL_NO_VALUE : n->of[values[i]]));
    artel__saved_set(s, object, key, list);
}

static void number_outputs(numbers *n, const artel__tape_entry *e)
{
    for (int i = 0; i < e->outputs; i++) {
        if (e->output[i] >= 0 && n->of[e->output[i]] < 0) n->of[e->output[i]] = n->count++;
    }
}

json_t *artel__tape_write(artel__saved *s, const artel__tape *tape, int arguments)
{
    json_t *list = json_array();
    int places = tape->places > arguments ? tape->places : arguments;
    numbers n = {artel__arena_alloc(&s->arena, (size_t)places + 1, sizeof *n.of), arguments};
    s->failed = s->failed || !n.of;
    if (!n.of) return list;
    for (int i = 0; i < places; i++) n.of[i] = i < arguments ? i : ARTEL_NO_VALUE;
    for (const artel__tape_entry *e = tape->first; e; e = e->next) {
        json_t *object = json_object();
        artel__saved_set(s, object, "do", json_string(kinds[e->kind].name));
        for (int i = 0; i < 4; i++) write_field(s, object, &kinds[e->kind].field[i], e);
        write_values(s, object, "in", e->input, e->inputs, &n);
        number_outputs(&n, e);
        write_values(s, object, "out", e->output, e->outputs, &n);
        artel__saved_add(s, list, object);
    }
    return list;
}

/* -- reading -- */

static artel_status read_reduction(const artel__saved *s, const json_t *object, const char *key, int *out)
{
    const char *name = NULL;
    ARTEL_TRY(artel__saved_string(s, object, key, &name));
    for (int i = 0; i < 4; i++) {
        if (strcmp(name, reductions[i]) != 0) continue;
        *out = i;
        return ARTEL_OK;
    }
    return artel__saved_damaged(s, key, "no reduction");
}

static artel_status read_field(artel__saved *s, const json_t *object, const field *f, artel__tape_entry *e)
{
    void *at = (char *)e + f->offset;
    int64_t number = 0;
    switch (f->form) {
    case FORM_NONE: return ARTEL_OK;
    case FORM_TEXT: return artel__saved_string(s, object, f->name, at);
    case FORM_TEXT_OR_NONE:
        return json_is_null(json_object_get(object, f->name)) ? ARTEL_OK : artel__saved_string(s, object, f->name, at);
    case FORM_REDUCTION: return read_reduction(s, object, f->name, at);
    case FORM_REAL: return artel__saved_real(s, object, f->name, at);
    case FORM_FLAG: return artel__saved_flag(s, object, f->name, at);
    case FORM_SHAPE: return artel__saved_shape(s, object, at);
    case FORM_ELEMENTS: return artel__saved_get(s, object, &e->dtype, &e->shape, &e->elements);
    case FORM_INTEGER: ARTEL_TRY(artel__saved_integer(s, object, f->name, 0, INT16_MAX, &number)); break;
    case FORM_VARIABLE:
    case FORM_MODEL:
    case FORM_OPTIMIZER:
    case FORM_WORDS:
        ARTEL_TRY(artel__saved_integer(s, object, f->name, 0,
                                       s->count[f->form - FORM_VARIABLE + ARTEL__SAVED_VARIABLES] - 1, &number));
    }
    *(int *)at = (int)number;
    return ARTEL_OK;
}

static artel_status read_values(artel__saved *s, const json_t *object, const char *key, const artel_value **out,
                                int *count)
{
    const json_t *list = NULL;
    int64_t number;
    ARTEL_TRY(artel__saved_list(s, object, key, &list));
    artel_value *values = artel__arena_alloc(&s->arena, json_array_size(list) + 1, sizeof *values);
    if (!values) return ARTEL_ERROR_NO_MEMORY;
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (!artel__json_integer(json_array_get(list, i), &number) || number < ARTEL_NO_VALUE || number > INT32_MAX)
            return artel__saved_damaged(s, key, "no number of a value");
        values[i] = (artel_value)number;
    }
    *out = values;
    *count = (int)json_array_size(list);
    return ARTEL_OK;
}

static artel_status read_kind(const artel__saved *s, const json_t *object, artel__tape_kind *out)
{
    const char *name = NULL;
    ARTEL_TRY(artel__saved_string(s, object, "do", &name));
    for (int k = 0; k < ARTEL__TAPE_KINDS; k++) {
        if (strcmp(name, kinds[k].name) != 0) continue;
        *out = (artel__tape_kind)k;
        return ARTEL_OK;
    }
    return artel__fail(s->ctx, ARTEL_ERROR_UNSUPPORTED, s->path,
                       "load it with the version that saved it, or a newer one",
                       "a function does \"%.40s\", which this version does not know", name);
}

artel_status artel__tape_read(artel__saved *s, const json_t *list, artel__tape *out)
{
    artel__tape tape = {.first = NULL};
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *object = json_array_get(list, i);
        artel__tape_entry *e = artel__arena_alloc(&s->arena, 1, sizeof *e);
        if (!e) return ARTEL_ERROR_NO_MEMORY;
        *e = (artel__tape_entry){.kind = ARTEL__TAPE_OP};
        ARTEL_TRY(read_kind(s, object, &e->kind));
        for (int k = 0; k < 4; k++) ARTEL_TRY(read_field(s, object, &kinds[e->kind].field[k], e));
        ARTEL_TRY(read_values(s, object, "in", &e->input, &e->inputs));
        ARTEL_TRY(read_values(s, object, "out", &e->output, &e->outputs));
        tape.places += e->outputs; /* of a file of 256 MiB */
        if (tape.last)
            tape.last->next = e;
        else
            tape.first = e;
        tape.last = e;
    }
    *out = tape;
    return ARTEL_OK;
}
