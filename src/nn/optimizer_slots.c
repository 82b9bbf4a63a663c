/* SPDX-License-Identifier: Apache-2.0 */
/* The optimizer in a model: its slots among the variables, in the order of Keras' files: averages first, then sums of
 * gradients, then the groups of the rule's slots, then Nadam's product; what scales the loss before all of them. */
#include <string.h>

#include "kernel/narrow.h"
#include "nn/layer_support.h"
#include "nn/optimizer_matrix.h"

typedef struct declaring {
    const artel__optimizer *optimizer;
    artel__variables *variables;
    artel__optimizer_slots *out;
} declaring;

static bool exists(const artel__optimizer *optimizer, artel__slot_when when)
{
    return artel__slot_exists(when, &optimizer->options);
}

bool artel__optimizer_has_slot(const artel__optimizer *optimizer, int k)
{
    const artel__slot_row *row = &optimizer->def->slot[k];
    return row->when != ARTEL__SLOT_SCRATCH && exists(optimizer, row->when);
}

bool artel__optimizer_has_product(const artel__optimizer *optimizer)
{
    return artel__rule_of(optimizer)->product;
}

/* "adam/net_dense_kernel_momentum", as Keras' paths. */
static char *slot_name(const declaring *d, const char *variable, const char *slot)
{
    char *name = artel__arena_printf(d->optimizer->arena, "%s/%s_%s", d->optimizer->name, variable, slot);
    if (!name) return NULL;
    for (char *c = name + strlen(d->optimizer->name) + 1; *c; c++) {
        if (*c == '/') *c = '_';
    }
    return name;
}

/* Whether a variable has the slot; its shape then. */
static bool form_of(const declaring *d, const artel__slot_row *row, artel__variable *like)
{
    artel_shape *shape = &like->shape;
    if (row->form == ARTEL__SLOT_OF_RULE) return artel__left_to_rule(d->optimizer, like);
    if (row->form == ARTEL__SLOT_LIKE) return true;
    if (shape->rank < 2) { /* Keras files an integer, 0, in its place, but not inside of a LossScaleOptimizer */
        if (d->optimizer->scales_loss) return false;
        *like = (artel__variable){.name = like->name, .dtype = ARTEL_DTYPE_INT32};
        return true;
    }
    if (row->form == ARTEL__SLOT_COLUMNS) shape->dim[shape->rank - 2] = shape->dim[shape->rank - 1];
    shape->rank--;
    like->rows = 0;
    return true;
}

/* A slot in the form of variable `like`; written to files when `filed`. */
static artel_status declare_like(declaring *d, artel__variable like, const char *slot, double initial, bool filed,
                                 int *out)
{
    char *name = slot_name(d, like.name, slot);
    if (!name) return ARTEL_ERROR_NO_MEMORY;
    int added = artel__variables_add(d->variables, name, ARTEL__VARIABLE_SLOT, like.dtype, &like.shape, like.rows);
    if (added < 0) return (artel_status)added;
    *out = added;
    if (!filed) return ARTEL_OK;
    d->out->initial[d->out->file_count] = initial;
    d->out->file_order[d->out->file_count++] = added;
    return ARTEL_OK;
}

static artel_status declare(declaring *d, int index, const char *slot, double initial, bool filed, int *out)
{
    return declare_like(d, d->variables->item[index], slot, initial, filed, out);
}

static artel_status declare_group(declaring *d, int group)
{
    const artel__optimizer *optimizer = d->optimizer;
    artel__optimizer_slots *slots = d->out;
    for (int i = 0; i < slots->count; i++) {
        for (int k = 0; k < slots->per_variable; k++) {
            const artel__slot_row *row = &optimizer->def->slot[k];
            if (row->group != group || !exists(optimizer, row->when)) continue;
            float initial = row->accumulator ? (float)optimizer->options.initial_accumulator_value : row->start;
            artel__variable like = d->variables->item[slots->trainable[i]];
            if (!form_of(d, row, &like)) continue;
            ARTEL_TRY(declare_like(d, like, row->name, initial, row->when != ARTEL__SLOT_SCRATCH,
                                   &slots->slot[i * slots->per_variable + k]));
        }
    }
    return ARTEL_OK;
}

static artel_status allocate(const artel__optimizer *optimizer, artel__optimizer_slots *slots)
{
    artel__arena *arena = optimizer->arena;
    size_t count = (size_t)slots->count, most = count * ((size_t)slots->per_variable + 2) + 3;
    slots->slot = artel__arena_alloc(arena, most, sizeof *slots->slot);
    slots->file_order = artel__arena_alloc(arena, most, sizeof *slots->file_order);
    slots->initial = artel__arena_alloc(arena, most, sizeof *slots->initial);
    if (optimizer->use_ema) slots->average = artel__arena_alloc(arena, count + 1, sizeof *slots->average);
    if (optimizer->accumulation_steps > 1) slots->sum = artel__arena_alloc(arena, count + 1, sizeof *slots->sum);
    ARTEL_TRY(artel__arena_status(arena));
    for (size_t i = 0; i < count * (size_t)slots->per_variable; i++) slots->slot[i] = -1;
    return ARTEL_OK;
}

/* Keras' dynamic_scale and step_counter. */
artel_status artel__optimizer_declare_scale(const artel__optimizer *optimizer, artel__variables *variables,
                                            artel__optimizer_slots *slots)
{
    artel_shape scalar = {.rank = 0};
    if (!optimizer->scales_loss) return ARTEL_OK;
    slots->steps = artel__variables_add(variables, "loss_scale_optimizer/step_counter", ARTEL__VARIABLE_SLOT,
                                        ARTEL_DTYPE_INT64, &scalar, 0);
    if (slots->steps < 0) return (artel_status)slots->steps;
    slots->scale = artel__variables_add(variables, "loss_scale_optimizer/dynamic_scale", ARTEL__VARIABLE_SLOT,
                                        ARTEL_DTYPE_FLOAT32, &scalar, 0);
    return slots->scale < 0 ? (artel_status)slots->scale : ARTEL_OK;
}

static artel_status declare_scale(declaring *d)
{
    artel__optimizer_slots *slots = d->out;
    ARTEL_TRY(artel__optimizer_declare_scale(d->optimizer, d->variables, slots));
    slots->file_order[slots->file_count++] = slots->steps;
    slots->initial[slots->file_count] = d->optimizer->initial_scale;
    slots->file_order[slots->file_count++] = slots->scale;
    return ARTEL_OK;
}

/* Of the dtype that the first variable has. */
static artel_status declare_product(declaring *d)
{
    artel_shape scalar = {.rank = 0};
    artel__optimizer_slots *slots = d->out;
    artel_dtype dtype = slots->count ? d->variables->item[slots->trainable[0]].dtype : ARTEL_DTYPE_FLOAT32;
    char *name = artel__arena_printf(d->optimizer->arena, "%s/u_product", d->optimizer->name);
    if (!name) return ARTEL_ERROR_NO_MEMORY;
    slots->product = artel__variables_add(d->variables, name, ARTEL__VARIABLE_SLOT, dtype, &scalar, 0);
    if (slots->product < 0) return (artel_status)slots->product;
    slots->initial[slots->file_count] = 1.0;
    slots->file_order[slots->file_count++] = slots->product;
    return ARTEL_OK;
}

/* Where 1 - beta_2^t is a factor or a divisor of the step, Keras rounds beta_2 to the variable's dtype first. */
static void warn_of_beta_2(const declaring *d)
{
    const artel__apply_options *o = &d->optimizer->options;
    for (int i = 0; i < d->out->count && artel__rule_of(d->optimizer)->corrects; i++) {
        const artel__variable *v = &d->variables->item[d->out->trainable[i]];
        if (!artel__variable_narrow(v) || artel__narrow_one(v->dtype, (float)o->beta_2) < 1.0f) continue;
        artel__log(d->optimizer->arena->ctx, ARTEL_LOG_WARNING,
                   "%s: beta_2 = %g is 1 in %s, so that variables of that type do not train, in Keras neither; give a "
                   "smaller one, as 0.99, or "
                   "use a mixed policy",
                   d->optimizer->class_name, o->beta_2, artel_dtype_name(v->dtype));
        return;
    }
}

artel_status artel__optimizer_declare(const artel__optimizer *optimizer, artel__variables *variables,
                                      const int *trainable, int count, artel__optimizer_slots *out)
{
    *out = (artel__optimizer_slots){.per_variable = ARTEL__APPLY_SLOTS,
                                    .count = count,
                                    .trainable = trainable,
                                    .scale = -1,
                                    .steps = -1,
                                    .product = -1};
    declaring d = {optimizer, variables, out};
    ARTEL_TRY(allocate(optimizer, out));
    warn_of_beta_2(&d);
    if (optimizer->scales_loss) ARTEL_TRY(declare_scale(&d));
    for (int i = 0; i < count && out->average; i++)
        ARTEL_TRY(declare(&d, trainable[i], "average", 0.0, true, &out->average[i]));
    for (int i = 0; i < count && out->sum; i++)
        ARTEL_TRY(declare(&d, trainable[i], "gradient_accumulator", 0.0, true, &out->sum[i]));
    for (int group = 0; group < ARTEL__APPLY_SLOTS; group++) ARTEL_TRY(declare_group(&d, group));
    return artel__rule_of(optimizer)->product ? declare_product(&d) : ARTEL_OK;
}

uint64_t artel__optimizer_slot_bytes(const artel__optimizer *optimizer, const artel__variable *of)
{
    declaring d = {.optimizer = optimizer};
    uint64_t others = (uint64_t)optimizer->use_ema + (optimizer->accumulation_steps > 1);
    uint64_t bytes = others * artel__variable_bytes(of);
    for (int k = 0; k < ARTEL__APPLY_SLOTS; k++) {
        artel__variable like = *of;
        if (artel__optimizer_has_slot(optimizer, k) && form_of(&d, &optimizer->def->slot[k], &like))
            bytes += artel__variable_bytes(&like);
    }
    return bytes;
}

int64_t artel__optimizer_slot_count(const artel__optimizer *optimizer, const artel__variable *of, int k)
{
    declaring d = {.optimizer = optimizer};
    const artel__slot_row *row = &optimizer->def->slot[k];
    artel__variable like = *of;
    if (!artel__optimizer_has_slot(optimizer, k) || !form_of(&d, row, &like)) return 0;
    bool alike = row->form == ARTEL__SLOT_LIKE || row->form == ARTEL__SLOT_OF_RULE;
    return alike ? of->count : artel_shape_count(&like.shape);
}

double artel__optimizer_slot_start(const artel__optimizer *optimizer, const artel__optimizer_slots *slots, int slot)
{
    (void)optimizer;
    for (int i = 0; i < slots->file_count; i++) {
        if (slots->file_order[i] == slot) return slots->initial[i];
    }
    return 0.0;
}

int artel__optimizer_slot_source(const artel__optimizer *optimizer, const artel__optimizer_slots *slots, int slot)
{
    for (int i = 0; i < slots->count * slots->per_variable; i++) {
        bool copies = optimizer->def->slot[i % slots->per_variable].when == ARTEL__SLOT_COPY;
        if (copies && slots->slot[i] == slot) return slots->trainable[i / slots->per_variable];
    }
    return -1;
}
