/* SPDX-License-Identifier: Apache-2.0 */
/* Predictors: a session of one replica whose batches come from the caller's memory and not from a feed.
 *
 * The graph of a mode is made for the arrays of a feed, so there is one: a row of zeros in the shapes of the model,
 * which nobody fetches.
 */
#include "artel/predictor.h"

#include <string.h>

#include "base/argument.h"
#include "tensor/shape.h"
#include "base/threads.h"
#include "text/program_rows.h"
#include "train/options.h"
#include "train/session_impl.h"

#define OPTION(field) offsetof(artel_predictor_options, field)
static const artel__range ranges[] = {{".most_rows", ARTEL__RANGE_INT64, OPTION(most_rows), 1, 1e9, NULL},
                                      {".threads", ARTEL__RANGE_INT, OPTION(threads), 0, 4096, NULL},
                                      {.name = NULL}};
static const artel__options_kind kind = {"predictor options", "begin with ARTEL_PREDICTOR_OPTIONS_INIT",
                                         sizeof(artel_predictor_options), ranges};

/* A mode that was prepared. */
typedef struct form {
    artel_data *data;
    artel__feed *feed;
    const artel__feed_array *array;
    int arrays;
    const artel_data_array *given; /* inputs, then targets, as the caller gives them */
    artel__program_rows text;      /* of a model that takes text; program NULL: it does not */
    size_t text_bytes;             /* of its block */
} form;

struct artel_predictor {
    artel_context *ctx;
    artel__arena arena;
    artel_predictor_options options;
    artel__settings settings;
    artel__session *session;
    int inputs, outputs, targets;
    form form[ARTEL__MODE_COUNT];
};

/* -- making -- */

static artel_status describe_input(artel_predictor *p, const artel_model *model, int i, artel_data_array *out)
{
    const char *name;
    artel_shape row;
    ARTEL_TRY(artel_model_input(model, i, &name, &out->dtype, &row));
    if (p->options.input_shape) row = p->options.input_shape[i];
    for (int d = 0; d < row.rank; d++) {
        if (row.dim[d] < 0)
            return artel__fail(p->ctx, ARTEL_ERROR_INVALID, name, "give input_shape",
                               "axis %d of this input is open in the model", d);
    }
    if (row.rank < 0 || row.rank >= ARTEL_MAX_RANK)
        return artel__fail(p->ctx, ARTEL_ERROR_INVALID, name, "give input_shape",
                           "the input has no shape, or too many axes");
    *out = (artel_data_array){
        .name = name, .role = ARTEL_DATA_ROLE_INPUT, .dtype = out->dtype, .shape = {.rank = row.rank + 1}};
    out->shape.dim[0] = 1;
    for (int d = 0; d < row.rank; d++) out->shape.dim[d + 1] = row.dim[d];
    return ARTEL_OK;
}

/* The shape of what a loss wants, once the shape of the output is known. */
static void describe_target(const artel__data_want_target *want, artel_data_array *out)
{
    *out = (artel_data_array){.name = want->name,
                              .role = ARTEL_DATA_ROLE_TARGET,
                              .dtype = want->dtype,
                              .shape = {.rank = want->row.rank + 1}};
    out->shape.dim[0] = 1;
    for (int d = 0; d < want->row.rank; d++) out->shape.dim[d + 1] = want->row.dim[d] < 0 ? 1 : want->row.dim[d];
}

/* Where values of the program lie: results that the run reads in its buffers, others in a row's block. */
static artel_status prepare_text(artel_predictor *p, artel__mode mode)
{
    form *f = &p->form[mode];
    void **buffer = p->session->replica[0].mode[mode].buffer, *block;
    const artel__program *program = artel__feed_program(f->feed);
    size_t values = (size_t)artel__program_values(program) + 1;
    f->text = (artel__program_rows){.values = artel__arena_alloc(&p->arena, values, sizeof *f->text.values),
                                    .base = artel__arena_alloc(&p->arena, values, sizeof *f->text.base),
                                    .name = artel__arena_alloc(&p->arena, values, sizeof *f->text.name),
                                    .scratch = {.ctx = p->ctx}};
    ARTEL_TRY(artel__arena_status(&p->arena));
    f->text.program = program;
    memcpy(f->text.values, artel__feed_values(f->feed), (values - 1) * sizeof *f->text.values);
    for (int i = 0; i < program->inputs; i++) f->text.name[i] = f->given[i].name;
    for (int i = 0; i < f->arrays; i++) {
        bool made = f->array[i].role == ARTEL_DATA_ROLE_INPUT && f->array[i].index >= program->inputs;
        if (made) f->text.base[f->array[i].index] = buffer[i];
    }
    f->text_bytes = artel__program_block(&f->text); /* with room for inputs, which lie elsewhere */
    ARTEL_TRY(artel__alloc_aligned(p->ctx, f->text_bytes, "predictor", &block));
    f->text.block = block;
    return ARTEL_OK;
}

static artel_status prepare(artel_predictor *p, artel_model *model, artel__mode mode)
{
    artel__data_wants wants;
    form *f = &p->form[mode];
    ARTEL_TRY(artel__objective_wants(&p->arena, model->nn, &p->settings, mode, &wants));
    bool text = false;
    for (int i = 0; i < wants.input_count; i++) text = text || wants.inputs[i].dtype == ARTEL_DTYPE_STRING;
    if (!text) wants.program = NULL; /* rows are fetched from nowhere: everything is in the graph */
    int count = wants.input_count + wants.target_count;
    artel_data_array *array = artel__arena_alloc(&p->arena, (size_t)count + 1, sizeof *array);
    ARTEL_TRY(artel__arena_status(&p->arena));
    for (int i = 0; i < wants.input_count; i++) ARTEL_TRY(describe_input(p, model, i, &array[i]));
    for (int i = 0; i < wants.target_count; i++) describe_target(&wants.targets[i], &array[wants.input_count + i]);
    for (int i = 0; i < count; i++) {
        size_t bytes = (size_t)artel_shape_count(&array[i].shape) * artel__cell_size(array[i].dtype);
        array[i].values = artel__arena_alloc(&p->arena, 1, bytes + 1);
    }
    ARTEL_TRY(artel__arena_status(&p->arena));
    ARTEL_TRY(artel_data_from_memory(p->ctx, array, count, &f->data));
    ARTEL_TRY(artel__data_bind(f->data, &wants, &f->feed));
    f->array = artel__feed_arrays(f->feed, &f->arrays);
    f->given = array;
    p->inputs = wants.input_count;
    if (mode == ARTEL__MODE_EVALUATE) p->targets = wants.target_count;
    ARTEL_TRY(artel__session_prepare(p->session, mode, f->feed, p->options.most_rows));
    return text ? prepare_text(p, mode) : ARTEL_OK;
}

static artel_status open_predictor(artel_predictor *p, artel_model *model)
{
    const artel_predictor_options *o = &p->options;
    artel__arena_init(&p->arena, p->ctx);
    const artel__settings_source source = {.model = model, .replicas = 1, .batch_size = o->most_rows};
    if (o->loss) ARTEL_TRY(artel__settings_read(&p->arena, &source, &p->settings));
    artel__session_options session = {.model = model,
                                      .settings = &p->settings,
                                      .strategy = "one-device",
                                      .replicas = 1,
                                      .threads = o->threads,
                                      .batch_size = o->most_rows,
                                      .shards = 1,
                                      .device = ARTEL__DEVICE_REQUEST(o, false, false),
                                      .arithmetic = o->arithmetic};
    ARTEL_TRY(artel__session_create(p->ctx, &session, &p->session));
    p->outputs = model->nn->outputs;
    ARTEL_TRY(prepare(p, model, ARTEL__MODE_PREDICT));
    return o->loss ? prepare(p, model, ARTEL__MODE_EVALUATE) : ARTEL_OK;
}

artel_status artel_predictor_create(artel_model *model, const artel_predictor_options *options, artel_predictor **out)
{
    artel_predictor_options chosen = ARTEL_PREDICTOR_OPTIONS_INIT;
    void *block;
    ARTEL_TRY(artel__enter(model ? model->ctx : NULL, __func__, "model out", model, out));
    ARTEL_TRY(artel__take_options(model->ctx, &kind, options, &chosen));
    ARTEL_TRY(artel__calloc(model->ctx, 1, sizeof(artel_predictor), "predictor", &block));
    artel_predictor *p = block;
    p->ctx = model->ctx;
    p->options = chosen;
    artel_status status = open_predictor(p, model);
    if (status < 0) {
        artel_predictor_destroy(p);
        return status;
    }
    *out = p;
    return ARTEL_OK;
}

void artel_predictor_destroy(artel_predictor *p)
{
    if (!p) return;
    artel_context *ctx = p->ctx;
    artel__session_destroy(p->session);
    for (int m = 0; m < ARTEL__MODE_COUNT; m++) {
        if (p->form[m].text.block) artel__free_aligned(ctx, p->form[m].text.block, p->form[m].text_bytes);
        if (p->form[m].text.program) artel__row_scratch_fini(&p->form[m].text.scratch);
        artel__feed_destroy(p->form[m].feed);
        artel_data_destroy(p->form[m].data);
    }
    artel__arena_fini(&p->arena);
    artel__free(ctx, p);
}

/* -- what it takes and gives -- */

static artel_status no_index(const artel_predictor *p, const char *what, int index)
{
    return artel__fail(p->ctx, ARTEL_ERROR_INVALID, "predictor", "count from 0", "there is no %s %d", what, index);
}

static artel_status describe(const artel_predictor *p, artel__mode mode, artel_data_role role, int index,
                             artel_dtype *dtype, artel_shape *row)
{
    if (role == ARTEL_DATA_ROLE_INPUT && p->form[mode].text.program && index >= 0 && index < p->inputs) {
        const artel_data_array *given = &p->form[mode].given[index];
        if (dtype) *dtype = given->dtype;
        if (row) *row = (artel_shape){.rank = given->shape.rank - 1};
        for (int d = 1; row && d < given->shape.rank; d++) row->dim[d - 1] = given->shape.dim[d];
        return ARTEL_OK;
    }
    const artel__feed_array *array =
        p->form[mode].feed ? artel__feed_find(p->form[mode].feed, role, index, NULL) : NULL;
    if (!array) return no_index(p, role == ARTEL_DATA_ROLE_INPUT ? "input" : "target", index);
    if (dtype) *dtype = array->dtype;
    if (row) *row = array->row;
    return ARTEL_OK;
}

artel_status artel_predictor_input(const artel_predictor *p, int index, artel_dtype *dtype, artel_shape *row)
{
    ARTEL_TRY(artel__enter(p ? p->ctx : NULL, __func__, "predictor", p));
    return describe(p, ARTEL__MODE_PREDICT, ARTEL_DATA_ROLE_INPUT, index, dtype, row);
}

artel_status artel_predictor_target(const artel_predictor *p, int index, artel_dtype *dtype, artel_shape *row)
{
    ARTEL_TRY(artel__enter(p ? p->ctx : NULL, __func__, "predictor", p));
    return describe(p, ARTEL__MODE_EVALUATE, ARTEL_DATA_ROLE_TARGET, index, dtype, row);
}

static const artel__value *output_value(const artel_predictor *p, int index)
{
    const artel__objective *o = artel__session_objective(p->session, ARTEL__MODE_PREDICT);
    return &o->graph.value[o->graph.kept[o->prediction_kept[index]]];
}

artel_status artel_predictor_output(const artel_predictor *p, int index, artel_shape *row)
{
    ARTEL_TRY(artel__enter(p ? p->ctx : NULL, __func__, "predictor row", p, row));
    if (index < 0 || index >= p->outputs) return no_index(p, "output", index);
    *row = output_value(p, index)->shape;
    return ARTEL_OK;
}

/* -- running -- */

/* What layers make of text, to where the run reads it. */
static artel_status fill_text(artel_predictor *p, form *f, const void *const *inputs, int64_t rows)
{
    for (int i = 0; i < p->inputs; i++) {
        if (!inputs[i])
            return artel__fail(p->ctx, ARTEL_ERROR_INVALID, "predictor", "give every input, and every target",
                               "\"%s\" is missing", f->given[i].name);
        f->text.base[i] = (void *)(uintptr_t)inputs[i]; /* only read */
    }
    uint32_t caller = artel__fp_enter();
    artel_status status = artel__program_run_rows(&f->text, rows);
    artel__fp_leave(caller);
    return status;
}

/* Rows of the inputs, and of the targets behind them, to where the run reads them: with room behind for kernels that
 * read whole vectors. */
static artel_status fill(artel_predictor *p, artel__mode mode, const void *const *inputs, const void *const *targets,
                         int64_t rows)
{
    const form *f = &p->form[mode];
    void **buffer = p->session->replica[0].mode[mode].buffer;
    if (rows < 1 || rows > p->options.most_rows)
        return artel__fail(p->ctx, ARTEL_ERROR_INVALID, "predictor", "give most_rows when it is made",
                           "%lld rows (1 to %lld are possible)", (long long)rows, (long long)p->options.most_rows);
    int target = 0;
    if (f->text.program) ARTEL_TRY(fill_text(p, &p->form[mode], inputs, rows));
    for (int i = 0; i < f->arrays; i++) {
        const artel__feed_array *array = &f->array[i];
        bool made = f->text.program && array->role == ARTEL_DATA_ROLE_INPUT && array->index >= p->inputs;
        if (made) continue;
        const void *from = array->role == ARTEL_DATA_ROLE_INPUT ? inputs[array->index] : targets[target++];
        if (!from)
            return artel__fail(p->ctx, ARTEL_ERROR_INVALID, "predictor", "give every input, and every target",
                               "\"%s\" is missing", array->name);
        memcpy(buffer[i], from, (size_t)rows * array->row_bytes);
    }
    return ARTEL_OK;
}

static artel_status compute(artel_predictor *p, artel__mode mode, int64_t rows)
{
    artel__replica *replica = &p->session->replica[0];
    artel__execution *run = replica->mode[mode].run;
    artel__fold_plan_make(&replica->fold, 1, 0, 1, rows, replica->start);
    const artel__step step = {.fold = &replica->fold, .seed = p->session->options.seed};
    uint32_t caller = artel__fp_enter();
    artel_status status = artel__execution_compute(run, &step, (const void *const *)replica->mode[mode].buffer);
    artel__fp_leave(caller);
    ARTEL_TRY(status);
    const artel__fault *fault = artel__execution_fault(run);
    if (fault->node < 0) return ARTEL_OK;
    const artel__node *node = &artel__session_objective(p->session, mode)->graph.node[fault->node];
    return artel__fail(p->ctx, ARTEL_ERROR_INVALID, node->name, "correct the row, or enlarge the vocabulary",
                       "row %lld holds the index %lld, which is out of range", (long long)fault->row,
                       (long long)fault->value);
}

artel_status artel_predictor_run(artel_predictor *p, const void *const *inputs, int64_t rows, float *const *outputs)
{
    ARTEL_TRY(artel__enter(p ? p->ctx : NULL, __func__, "predictor inputs outputs", p, inputs, outputs));
    ARTEL_TRY(fill(p, ARTEL__MODE_PREDICT, inputs, NULL, rows));
    ARTEL_TRY(compute(p, ARTEL__MODE_PREDICT, rows));
    const artel__objective *o = artel__session_objective(p->session, ARTEL__MODE_PREDICT);
    for (int k = 0; k < p->outputs; k++) {
        const artel__value *value = output_value(p, k);
        const void *kept =
            artel__execution_read(p->session->replica[0].mode[ARTEL__MODE_PREDICT].run, o->prediction_kept[k]);
        if (outputs[k]) artel__convert(value->dtype, kept, ARTEL_DTYPE_FLOAT32, outputs[k], rows * value->storage);
    }
    return ARTEL_OK;
}

artel_status artel_predictor_loss(artel_predictor *p, const void *const *inputs, const void *const *targets,
                                  int64_t rows, double *loss, double *losses)
{
    ARTEL_TRY(artel__enter(p ? p->ctx : NULL, __func__, "predictor inputs targets loss", p, inputs, targets, loss));
    if (!p->options.loss)
        return artel__fail(p->ctx, ARTEL_ERROR_INVALID, "predictor", "set `loss` in its options",
                           "it was made for predictions alone");
    ARTEL_TRY(fill(p, ARTEL__MODE_EVALUATE, inputs, targets, rows));
    ARTEL_TRY(compute(p, ARTEL__MODE_EVALUATE, rows));
    *loss = artel__session_loss(p->session, ARTEL__MODE_EVALUATE, losses);
    return ARTEL_OK;
}
