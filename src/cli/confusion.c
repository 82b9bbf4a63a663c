/* SPDX-License-Identifier: Apache-2.0 */
/* Counting: targets are fetched in the order of the predictions, piece by piece. A class is the largest of several
 * numbers, or on which side of its border the only one is: a half, or 0 of logits and hinges. Outputs with axes in
 * front of the classes (a class a pixel) count each place.
 */
#include "cli/confusion.h"

#include "train/session.h"

enum {
    PIECE = 1024,
    MOST_CLASSES = 8192
};

typedef struct counting {
    artel__invocation *call;
    artel__confusion *out;
    const artel__loss_config *loss;
    artel__feed *feed;
    const artel__feed_array *target;
    int position;          /* of the target among the feed's arrays */
    int64_t width, places; /* numbers of a prediction; of them in a row */
    float border;
    const float *value;
    int64_t rows;
} counting;

static const char *where_of(const counting *c)
{
    return c->target->name ? c->target->name : "targets";
}

static artel_status refuse(const counting *c, const char *what)
{
    return artel__fail(c->call->ctx, ARTEL_ERROR_INVALID, where_of(c),
                       "a confusion matrix is of models that choose one class; leave --confusion out", "%s", what);
}

static int64_t largest(const float *row, int64_t width)
{
    int64_t best = 0;
    for (int64_t i = 1; i < width; i++) {
        if (row[i] > row[best]) best = i;
    }
    return best;
}

/* The class that a target of numbers names: 0 or 1 (-1 is 0 for hinges), or a single one among zeros. */
static artel_status class_of_numbers(const counting *c, const float *row, int64_t *out)
{
    if (c->width == 1) {
        *out = row[0] == 1.0F;
        return row[0] == 1.0F || row[0] == 0.0F || row[0] == -1.0F ? ARTEL_OK
                                                                   : refuse(c, "a target is neither 0 nor 1");
    }
    float sum = 0;
    *out = largest(row, c->width);
    for (int64_t i = 0; i < c->width; i++) sum += row[i];
    return sum == 1.0F && row[*out] == 1.0F ? ARTEL_OK : refuse(c, "a target is no single 1 among zeros");
}

static artel_status class_of_target(const counting *c, const void *targets, int64_t at, int64_t *out)
{
    if (c->target->dtype == ARTEL_DTYPE_FLOAT32)
        return class_of_numbers(c, (const float *)targets + at * c->width, out);
    *out = c->target->dtype == ARTEL_DTYPE_INT64 ? ((const int64_t *)targets)[at] : ((const int32_t *)targets)[at];
    return ARTEL_OK;
}

static artel_status count_piece(counting *c, int64_t first, int64_t rows, const void *targets)
{
    int64_t classes = c->out->classes;
    for (int64_t i = 0; i < rows * c->places; i++) {
        int64_t truth;
        ARTEL_TRY(class_of_target(c, targets, i, &truth));
        if (truth < 0 || truth >= classes || (c->loss->has_ignored && truth == c->loss->ignored)) {
            c->out->left_out++;
            continue;
        }
        const float *row = c->value + (first * c->places + i) * c->width;
        int64_t found = c->width == 1 ? row[0] > c->border : largest(row, c->width);
        c->out->count[truth * classes + found]++;
    }
    return ARTEL_OK;
}

static artel_status count_all(counting *c)
{
    int arrays;
    artel__arena *arena = &c->call->arena;
    artel__feed_arrays(c->feed, &arrays);
    void **buffers = artel__arena_alloc(arena, (size_t)arrays, sizeof *buffers);
    uint64_t *rows = artel__arena_alloc(arena, PIECE, sizeof *rows);
    void *targets = artel__arena_alloc(arena, PIECE, c->target->row_bytes + 1);
    ARTEL_TRY(artel__arena_status(arena));
    buffers[c->position] = targets;
    for (int64_t first = 0; first < c->rows; first += PIECE) {
        int64_t count = c->rows - first < PIECE ? c->rows - first : PIECE;
        for (int64_t i = 0; i < count; i++) rows[i] = (uint64_t)(first + i);
        ARTEL_TRY(artel__feed_fetch(c->feed, NULL, rows, count, buffers));
        ARTEL_TRY(count_piece(c, first, count, targets));
    }
    return ARTEL_OK;
}

static artel_status make_table(counting *c, const artel__cli_labels *names)
{
    artel__confusion *out = c->out;
    artel__arena *arena = &c->call->arena;
    *out = (artel__confusion){.classes = c->width == 1 ? 2 : c->width};
    if (out->classes > MOST_CLASSES)
        return artel__fail(c->call->ctx, ARTEL_ERROR_UNSUPPORTED, where_of(c), "leave --confusion out",
                           "%lld classes are more than a table holds", (long long)out->classes);
    ARTEL_TRY(artel__cli_check_labels(c->call->ctx, names, c->width));
    out->count = artel__arena_alloc(arena, (size_t)(out->classes * out->classes), sizeof *out->count);
    out->name = artel__arena_alloc(arena, (size_t)out->classes, sizeof *out->name);
    ARTEL_TRY(artel__arena_status(arena));
    for (int64_t i = 0; i < out->classes; i++)
        out->name[i] = names->count ? names->name[i] : artel__arena_printf(arena, "%lld", (long long)i);
    return artel__arena_status(arena);
}

/* What the targets are, and whether they fit the predictions. */
static artel_status match(counting *c, const artel__settings *settings, const artel_predictions *predictions)
{
    artel_shape shape;
    c->target = artel__feed_find(c->feed, ARTEL_DATA_ROLE_TARGET, 0, &c->position);
    if (!c->target || !settings->output[0].has_loss)
        return artel__fail(c->call->ctx, ARTEL_ERROR_INVALID, "--confusion", "compile the model, or give --loss",
                           "the output has no loss");
    c->loss = &settings->output[0].loss;
    ARTEL_TRY(artel_predictions_get(predictions, 0, NULL, &shape, &c->value));
    c->rows = shape.dim[0];
    c->width = shape.rank > 1 ? shape.dim[shape.rank - 1] : 1;
    c->places = artel_shape_count(&shape) / (c->rows * c->width);
    c->border = artel__loss_border(c->loss);
    int64_t numbers = artel_shape_count(&c->target->row),
            wanted = c->target->dtype == ARTEL_DTYPE_FLOAT32 ? c->places * c->width : c->places;
    return numbers == wanted ? ARTEL_OK : refuse(c, "targets and predictions have other extents");
}

artel_status artel__confusion_check(artel__invocation *call, const artel_model *model, const artel__cli_labels *names)
{
    const artel_shape *shape = &model->nn->output[0].shape;
    int64_t width = shape->rank ? shape->dim[shape->rank - 1] : 1;
    if (model->nn->outputs != 1)
        return artel__fail(call->ctx, ARTEL_ERROR_UNSUPPORTED, "--confusion", "leave it out",
                           "the model has %d outputs, and one is compared", model->nn->outputs);
    return artel__cli_check_labels(call->ctx, names, width > 0 ? width : 0);
}

artel_status artel__confusion_count(artel__invocation *call, const artel_model *model, artel_data *data,
                                    const artel_predictions *predictions, const artel__cli_labels *names,
                                    artel__confusion *out)
{
    artel__settings settings;
    artel__data_wants wants;
    counting c = {.call = call, .out = out};
    const artel__settings_source source = {.model = model, .data = data, .replicas = 1, .batch_size = 1};
    ARTEL_TRY(artel__settings_read(&call->arena, &source, &settings));
    ARTEL_TRY(artel__objective_wants(&call->arena, model->nn, &settings, ARTEL__MODE_EVALUATE, &wants));
    artel__data_want_target target = {.dtype = ARTEL_DTYPE_FLOAT32};
    if (wants.target_count == 1) target = wants.targets[0];
    if (target.dtype == ARTEL_DTYPE_FLOAT64) target.dtype = ARTEL_DTYPE_FLOAT32; /* they name classes */
    if (wants.target_count == 1) wants.targets = &target;
    wants.buckets = true; /* predictions are in the order of the data */
    ARTEL_TRY(artel__data_bind(data, &wants, &c.feed));
    artel_status status = match(&c, &settings, predictions);
    if (status == ARTEL_OK) status = make_table(&c, names);
    if (status == ARTEL_OK) status = count_all(&c);
    artel__feed_destroy(c.feed);
    return status;
}

static double share(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

artel__class_report artel__class_report_of(const artel__confusion *c, int64_t k)
{
    artel__class_report r = {.right = c->count[k * c->classes + k]};
    for (int64_t i = 0; i < c->classes; i++) {
        r.rows += c->count[k * c->classes + i];
        r.found += c->count[i * c->classes + k];
    }
    r.precision = share(r.right, r.found);
    r.recall = share(r.right, r.rows);
    r.f1 = share(2 * r.right, r.rows + r.found);
    return r;
}
