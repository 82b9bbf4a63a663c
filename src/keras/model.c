/* SPDX-License-Identifier: Apache-2.0 */
/* The life of an artel_model: made from a record, initialised, asked, destroyed. */
#include "keras/model.h"

#include <string.h>

#include "base/argument.h"
#include "keras/draw.h"
#include "keras/variables.h"
#include "nn/draw.h"

artel_status artel__keras_from_record(artel_context *ctx, const char *where, json_t *record, artel_model **out)
{
    void *block;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel_model), where, &block));
    artel_model *model = block;
    model->ctx = ctx;
    artel_status status = artel__strdup(ctx, where, &model->source);
    if (status == ARTEL_OK) status = artel__model_create(ctx, where, record, &model->nn);
    if (status == ARTEL_OK) status = artel__state_create(ctx, model->nn->variables, &model->weights);
    if (status < 0) {
        artel_model_destroy(model);
        return status;
    }
    *out = model;
    return ARTEL_OK;
}

void artel__saved_optimizer_fini(artel_context *ctx, artel__saved_optimizer *optimizer)
{
    for (int i = 0; i < optimizer->count; i++) artel__free(ctx, optimizer->array[i].data);
    artel__free(ctx, optimizer->array);
    json_decref(optimizer->record);
    *optimizer = (artel__saved_optimizer){.count = 0};
}

void artel_model_destroy(artel_model *model)
{
    if (!model) return;
    artel_context *ctx = model->ctx;
    artel__saved_optimizer_fini(ctx, &model->optimizer);
    json_decref(model->compile_config);
    artel__state_destroy(model->weights);
    artel__model_destroy(model->nn);
    artel__free(ctx, model->source);
    artel__free(ctx, model);
}

/* -- initial values -- */

typedef struct filler {
    artel_model *model;
    uint64_t seed;
    uint32_t ordinal;
    size_t least; /* of variables that are left alone, where they can be drawn in parts */
    bool *left;   /* NULL: none is */
    bool any;
} filler;

/* Fans are those of a matrix where the layer says so; what depends on where an element is sees the shape. */
static artel_shape drawn_shape(const artel__model_variable *variable, const artel__variable *target)
{
    bool matrix = variable->variable->matrix_fans && target->rows > 0 &&
                  artel__initializer_has_parts(&variable->variable->initializer);
    return matrix ? artel__shape(2, target->rows, target->columns) : target->shape;
}

static bool leaves(const filler *f, const artel__model_variable *variable, const artel__variable *target)
{
    bool drawn =
        artel__initializer_has_parts(&variable->variable->initializer) && target->layout == ARTEL__LAYOUT_PLAIN;
    return f->left && drawn && variable->trainable && target->dtype == ARTEL_DTYPE_FLOAT32 &&
           (size_t)target->count * sizeof(float) >= f->least;
}

static artel_status fill_one(void *user, const artel__model_variable *variable)
{
    filler *f = user;
    artel_context *ctx = f->model->ctx;
    int index = variable->variable->index;
    const artel__variable *target = &f->model->nn->variables->item[index];
    int64_t count = artel_shape_count(&target->shape);
    void *values;
    if (leaves(f, variable, target)) {
        f->ordinal++;
        f->left[index] = f->any = true;
        return ARTEL_OK;
    }
    ARTEL_TRY(artel__calloc(ctx, (size_t)count + 8, sizeof(float) + artel_dtype_size(target->dtype), variable->path,
                            &values));
    artel_shape shape = drawn_shape(variable, target);
    artel_status status =
        artel__initializer_fill(ctx, &variable->variable->initializer, f->seed, f->ordinal++, &shape, values);
    if (status == ARTEL_OK && target->dtype != ARTEL_DTYPE_FLOAT32) {
        uint8_t *converted = (uint8_t *)values + ((size_t)count * sizeof(float) + 15) / 16 * 16;
        artel__convert(ARTEL_DTYPE_FLOAT32, values, target->dtype, converted, count);
        memmove(values, converted, (size_t)count * artel_dtype_size(target->dtype));
    }
    if (status == ARTEL_OK) artel__state_store(f->model->weights, index, values);
    artel__free(ctx, values);
    return status;
}

static artel_status fill_adapter(void *user, const artel__model_variable *variable)
{
    return variable->variable->adapter ? fill_one(user, variable) : ARTEL_OK;
}

artel_status artel__keras_start_adapters(artel_model *model)
{
    filler f = {.model = model};
    return artel__model_visit(model->nn, fill_adapter, &f);
}

artel_status artel__keras_initialise(artel_model *model, uint64_t seed)
{
    filler f = {.model = model, .seed = seed};
    ARTEL_TRY(artel__model_visit(model->nn, fill_one, &f));
    model->initialised = true;
    return ARTEL_OK;
}

artel_status artel__keras_initialise_but(artel_model *model, uint64_t seed, size_t least, bool *left)
{
    filler f = {.model = model, .seed = seed, .least = least, .left = left};
    ARTEL_TRY(artel__model_visit(model->nn, fill_one, &f));
    model->initialised = !f.any;
    return ARTEL_OK;
}

typedef struct drawer {
    const artel_model *model;
    uint64_t seed;
    uint32_t ordinal;
    int variable;
    int64_t first, count;
    float *out;
} drawer;

static artel_status draw_one(void *user, const artel__model_variable *variable)
{
    drawer *d = user;
    uint32_t ordinal = d->ordinal++;
    if (variable->variable->index != d->variable) return ARTEL_OK;
    artel_shape shape = drawn_shape(variable, &d->model->nn->variables->item[d->variable]);
    return artel__initializer_fill_part(d->model->ctx, &variable->variable->initializer, d->seed, ordinal, &shape,
                                        d->first, d->count, d->out);
}

artel_status artel__keras_draw(const artel_model *model, uint64_t seed, int variable, int64_t first, int64_t count,
                               float *out)
{
    drawer d = {model, seed, 0, variable, first, count, out};
    return artel__model_visit(model->nn, draw_one, &d);
}

artel_status artel_model_initialise(artel_model *model, uint64_t seed)
{
    ARTEL_TRY(artel__enter(model ? model->ctx : NULL, __func__, "model", model));
    return artel__keras_initialise(model, seed);
}

/* -- questions -- */

typedef struct counter {
    const artel__model *nn;
    int64_t trainable, frozen;
} counter;

static artel_status count_one(void *user, const artel__model_variable *variable)
{
    counter *c = user;
    int64_t count = artel_shape_count(&c->nn->variables->item[variable->variable->index].shape);
    if (variable->trainable)
        c->trainable += count;
    else
        c->frozen += count;
    return ARTEL_OK;
}

void artel__keras_count(const artel_model *model, int64_t *trainable, int64_t *frozen)
{
    counter c = {.nn = model->nn};
    artel__model_visit(model->nn, count_one, &c);
    *trainable = c.trainable;
    *frozen = c.frozen;
}

int artel_model_input_count(const artel_model *model)
{
    return model ? model->nn->inputs : 0;
}

int artel_model_output_count(const artel_model *model)
{
    return model ? model->nn->outputs : 0;
}

static artel_status out_of_range(const artel_model *model, const char *kind, int index, int count)
{
    return artel__fail(model->ctx, ARTEL_ERROR_INVALID, model->source, "count from 0",
                       "%s %d does not exist (the model has %d)", kind, index, count);
}

artel_status artel_model_input(const artel_model *model, int index, const char **name, artel_dtype *dtype,
                               artel_shape *shape)
{
    ARTEL_TRY(artel__enter(model ? model->ctx : NULL, __func__, "model", model));
    if (index < 0 || index >= model->nn->inputs) return out_of_range(model, "input", index, model->nn->inputs);
    const artel__model_input *input = &model->nn->input[index];
    if (name) *name = input->name;
    if (dtype) *dtype = input->dtype;
    if (shape) *shape = input->shape;
    return ARTEL_OK;
}

artel_status artel_model_output(const artel_model *model, int index, const char **name, artel_dtype *dtype,
                                artel_shape *shape)
{
    ARTEL_TRY(artel__enter(model ? model->ctx : NULL, __func__, "model", model));
    if (index < 0 || index >= model->nn->outputs) return out_of_range(model, "output", index, model->nn->outputs);
    const artel__model_output *output = &model->nn->output[index];
    if (name) *name = output->name;
    if (dtype) *dtype = output->dtype;
    if (shape) *shape = output->shape;
    return ARTEL_OK;
}

/* -- single weights -- */

typedef struct seeker {
    const char *path;
    int index;
} seeker;

static artel_status seek_one(void *user, const artel__model_variable *variable)
{
    seeker *s = user;
    if (strcmp(variable->path, s->path) == 0) s->index = variable->variable->index;
    return ARTEL_OK;
}

/* The variable at `path`, when it holds `count` elements. */
static artel_status find_weight(const artel_model *model, const char *path, int64_t count, int *out)
{
    seeker s = {.path = path, .index = -1};
    ARTEL_TRY(artel__model_visit(model->nn, seek_one, &s));
    if (s.index < 0)
        return artel__fail(model->ctx, ARTEL_ERROR_NOT_FOUND, path, "`artel inspect` lists the paths",
                           "the model has no weight of this path");
    const artel__variable *variable = &model->nn->variables->item[s.index];
    int64_t expected = artel_shape_count(&variable->shape);
    if (expected != count)
        return artel__fail(model->ctx, ARTEL_ERROR_INVALID, path,
                           "pass the number of elements of the weight's shape; `artel inspect` lists them",
                           "the count is wrong (found %lld, expected %lld)", (long long)count, (long long)expected);
    *out = s.index;
    return ARTEL_OK;
}

artel_status artel_model_get_weight(const artel_model *model, const char *path, float *values, int64_t count)
{
    int index = -1;
    ARTEL_TRY(artel__enter(model ? model->ctx : NULL, __func__, "model path values", model, path, values));
    ARTEL_TRY(find_weight(model, path, count, &index));
    if (!model->initialised)
        return artel__fail(model->ctx, ARTEL_ERROR_INVALID, path, "call artel_model_initialise first",
                           "the model has no weights yet");
    const artel__variable *variable = &model->nn->variables->item[index];
    if (variable->dtype == ARTEL_DTYPE_FLOAT32) {
        artel__state_fetch(model->weights, index, values);
        return ARTEL_OK;
    }
    void *plain;
    ARTEL_TRY(artel__alloc(model->ctx, (size_t)count * artel_dtype_size(variable->dtype) + 1, path, &plain));
    artel__state_fetch(model->weights, index, plain);
    artel__convert(variable->dtype, plain, ARTEL_DTYPE_FLOAT32, values, count);
    artel__free(model->ctx, plain);
    return ARTEL_OK;
}

artel_status artel_model_set_weight(artel_model *model, const char *path, const float *values, int64_t count)
{
    int index = -1;
    ARTEL_TRY(artel__enter(model ? model->ctx : NULL, __func__, "model path values", model, path, values));
    ARTEL_TRY(find_weight(model, path, count, &index));
    if (!model->initialised) ARTEL_TRY(artel__keras_initialise(model, 0));
    const artel__variable *variable = &model->nn->variables->item[index];
    if (variable->dtype == ARTEL_DTYPE_FLOAT32) {
        artel__state_store(model->weights, index, values);
        return ARTEL_OK;
    }
    void *plain;
    ARTEL_TRY(artel__alloc(model->ctx, (size_t)count * artel_dtype_size(variable->dtype) + 1, path, &plain));
    artel__convert(ARTEL_DTYPE_FLOAT32, values, variable->dtype, plain, count);
    artel__state_store(model->weights, index, plain);
    artel__free(model->ctx, plain);
    return ARTEL_OK;
}
