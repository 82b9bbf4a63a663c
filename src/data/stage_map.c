/* SPDX-License-Identifier: Apache-2.0 */
/* Stages that change one column: cast, scale, normalise, one_hot, reshape; select and rename, which change
 * none.
 *
 * Arithmetic is float32, one operation after another in the order of the settings: value * multiply / divide + add, and
 * (value - mean) / std, which gives the bits that NumPy gives for float32 arrays.
 */
#include <string.h>

#include "data/stage.h"

static artel_status float_input(const artel__stage *stage, const void *in, float *out)
{
    const artel__stage_column *from = artel__stage_given(stage);
    artel__convert(from->dtype, in, ARTEL_DTYPE_FLOAT32, out, from->elements);
    return ARTEL_OK;
}

/* ---- cast ---- */

typedef struct cast_options {
    const char *column, *dtype;
} cast_options;

static const artel__option cast_table[] = {
    ARTEL__STAGE_COLUMN("the column"),
    {"dtype", "what it becomes", ARTEL__OPTION_STRING, offsetof(cast_options, dtype), NULL, 0, 0, NULL},
    {.name = NULL},
};

static artel_status cast_open(artel__stage *stage)
{
    artel_dtype dtype;
    const char *name = ((const cast_options *)stage->options)->dtype;
    if (artel_dtype_parse(name, &dtype) < 0 || dtype == ARTEL_DTYPE_STRING)
        return artel__stage_wrong(stage, "write float32, int64, uint8, ...", "no dtype of numbers '%s'", name);
    artel_shape row = artel__stage_made(stage)->row;
    return artel__stage_set_column(stage, stage->target, dtype, &row);
}

static artel_status cast_map(const artel__stage *stage, int64_t index, const void *in, void *out)
{
    const artel__stage_column *from = artel__stage_given(stage);
    (void)index;
    artel__convert(from->dtype, in, artel__stage_made(stage)->dtype, out, from->elements);
    return ARTEL_OK;
}

const artel__stage_ops artel__stage_cast = {
    .name = "cast", .options = cast_table, .options_size = sizeof(cast_options), .open = cast_open, .map = cast_map};

/* ---- scale ---- */

typedef struct scale_options {
    const char *column;
    double multiply, divide, add;
} scale_options;

static const artel__option scale_table[] = {
    ARTEL__STAGE_COLUMN("the column"),
    {"multiply", "first", ARTEL__OPTION_FLOAT, offsetof(scale_options, multiply), "1", 0, 0, NULL},
    {"divide", "second", ARTEL__OPTION_FLOAT, offsetof(scale_options, divide), "1", 0, 0, NULL},
    {"add", "third", ARTEL__OPTION_FLOAT, offsetof(scale_options, add), "0", 0, 0, NULL},
    {.name = NULL},
};

static artel_status become_float(artel__stage *stage)
{
    artel_shape row = artel__stage_made(stage)->row;
    return artel__stage_set_column(stage, stage->target, ARTEL_DTYPE_FLOAT32, &row);
}

static artel_status scale_open(artel__stage *stage)
{
    const scale_options *o = stage->options;
    if (o->divide == 0) return artel__stage_wrong(stage, "choose another divisor", "division by 0");
    return become_float(stage);
}

static artel_status scale_map(const artel__stage *stage, int64_t index, const void *in, void *out)
{
    const scale_options *o = stage->options;
    float *values = out, by = (float)o->multiply, over = (float)o->divide, add = (float)o->add;
    int64_t count = artel__stage_made(stage)->elements;
    (void)index;
    ARTEL_TRY(float_input(stage, in, values));
    for (int64_t i = 0; i < count && by != 1; i++) values[i] *= by;
    for (int64_t i = 0; i < count && over != 1; i++) values[i] /= over;
    for (int64_t i = 0; i < count && add != 0; i++) values[i] += add;
    return ARTEL_OK;
}

const artel__stage_ops artel__stage_scale = {.name = "scale",
                                             .options = scale_table,
                                             .options_size = sizeof(scale_options),
                                             .open = scale_open,
                                             .map = scale_map};

/* ---- normalise ---- */

typedef struct normalise_options {
    const char *column;
    artel__floats mean, std;
} normalise_options;

static const artel__option normalise_table[] = {
    ARTEL__STAGE_COLUMN("the column"),
    {"mean", "a number, or one for each place of the last axis", ARTEL__OPTION_FLOATS,
     offsetof(normalise_options, mean), NULL, 0, 0, NULL},
    {"std", "likewise", ARTEL__OPTION_FLOATS, offsetof(normalise_options, std), NULL, 0, 0, NULL},
    {.name = NULL},
};

static artel_status normalise_open(artel__stage *stage)
{
    const normalise_options *o = stage->options;
    const artel_shape *row = &artel__stage_made(stage)->row;
    int64_t last = row->rank > 0 ? row->dim[row->rank - 1] : 1;
    if ((o->mean.count != 1 && o->mean.count != last) || (o->std.count != 1 && o->std.count != last))
        return artel__stage_wrong(stage, "give one number, or one for each place", "the last axis has %lld places",
                                  (long long)last);
    for (int i = 0; i < o->std.count; i++) {
        if (o->std.item[i] == 0) return artel__stage_wrong(stage, "leave constant columns out", "std[%d] is 0", i);
    }
    return become_float(stage);
}

static artel_status normalise_map(const artel__stage *stage, int64_t index, const void *in, void *out)
{
    const normalise_options *o = stage->options;
    float *values = out;
    (void)index;
    ARTEL_TRY(float_input(stage, in, values));
    for (int64_t i = 0; i < artel__stage_made(stage)->elements; i++)
        values[i] = (values[i] - (float)o->mean.item[i % o->mean.count]) / (float)o->std.item[i % o->std.count];
    return ARTEL_OK;
}

const artel__stage_ops artel__stage_normalise = {.name = "normalise",
                                                 .options = normalise_table,
                                                 .options_size = sizeof(normalise_options),
                                                 .open = normalise_open,
                                                 .map = normalise_map};

/* ---- one_hot ---- */

typedef struct one_hot_options {
    const char *column;
    int64_t classes;
} one_hot_options;

static const artel__option one_hot_table[] = {
    ARTEL__STAGE_COLUMN("of class numbers"),
    {"classes", "how many there are", ARTEL__OPTION_INT, offsetof(one_hot_options, classes), NULL, 1, 1e9, NULL},
    {.name = NULL},
};

static artel_status one_hot_open(artel__stage *stage)
{
    artel_shape row = artel__stage_made(stage)->row;
    if (row.rank == ARTEL_MAX_RANK) return artel__stage_wrong(stage, "reshape first", "the column has too many axes");
    row.dim[row.rank++] = ((const one_hot_options *)stage->options)->classes;
    return artel__stage_set_column(stage, stage->target, ARTEL_DTYPE_FLOAT32, &row);
}

static artel_status one_hot_map(const artel__stage *stage, int64_t index, const void *in, void *out)
{
    const artel__stage_column *from = artel__stage_given(stage);
    int64_t classes = ((const one_hot_options *)stage->options)->classes;
    size_t size = artel_dtype_size(from->dtype);
    float *values = out;
    memset(out, 0, artel__stage_made(stage)->bytes);
    for (int64_t i = 0; i < from->elements; i++) {
        int64_t class;
        double number;
        artel__convert(from->dtype, (const uint8_t *)in + (size_t)i * size, ARTEL_DTYPE_INT64, &class, 1);
        artel__convert(from->dtype, (const uint8_t *)in + (size_t)i * size, ARTEL_DTYPE_FLOAT64, &number, 1);
        if (number != (double)class)
            return artel__stage_wrong(stage, "lookup or cast makes whole numbers of it",
                                      "element %lld: %.9g is no class number", (long long)index, number);
        if (class < 0 || class >= classes)
            return artel__stage_wrong(stage, "correct the data or the classes",
                                      "element %lld: %lld is none of %lld classes", (long long)index, (long long)class,
                                      (long long)classes);
        values[i * classes + class] = 1;
    }
    return ARTEL_OK;
}

const artel__stage_ops artel__stage_one_hot = {.name = "one_hot",
                                               .options = one_hot_table,
                                               .options_size = sizeof(one_hot_options),
                                               .open = one_hot_open,
                                               .map = one_hot_map};

/* ---- reshape ---- */

typedef struct reshape_options {
    const char *column;
    artel__ints shape;
} reshape_options;

static const artel__option reshape_table[] = {
    ARTEL__STAGE_COLUMN("the column"),
    {"shape", "extents of a row; -1 for one that follows", ARTEL__OPTION_INTS, offsetof(reshape_options, shape), NULL,
     0, 0, NULL},
    {.name = NULL},
};

static artel_status reshape_open(artel__stage *stage)
{
    const reshape_options *o = stage->options;
    int64_t elements = artel__stage_made(stage)->elements, known = 1;
    artel_shape row = {o->shape.count, {0}};
    int open = -1;
    for (int i = 0; i < o->shape.count; i++) {
        row.dim[i] = o->shape.item[i];
        if (row.dim[i] == -1 && open < 0)
            open = i;
        else if (row.dim[i] < 0 || (row.dim[i] > 0 && known > INT64_MAX / row.dim[i]))
            return artel__stage_wrong(stage, "give extents of 0 or more", "the shape is not possible");
        else
            known *= row.dim[i];
    }
    if (open >= 0) row.dim[open] = known > 0 ? elements / known : 0;
    if (artel_shape_count(&row) != elements)
        return artel__stage_wrong(stage, "choose a shape of as many elements", "%lld elements do not make this shape",
                                  (long long)elements);
    return artel__stage_set_column(stage, stage->target, artel__stage_made(stage)->dtype, &row);
}

const artel__stage_ops artel__stage_reshape = {.name = "reshape",
                                               .options = reshape_table,
                                               .options_size = sizeof(reshape_options),
                                               .open = reshape_open,
                                               .texts = true};

/* ---- select ---- */

typedef struct select_options {
    const char *columns;
} select_options;

static const artel__option select_table[] = {
    {"columns", "those to keep, in this order", ARTEL__OPTION_JSON, offsetof(select_options, columns), NULL, 0, 0,
     NULL},
    {.name = NULL},
};

static artel_status select_open(artel__stage *stage)
{
    int *chosen = artel__arena_alloc(stage->arena, (size_t)stage->column_count + 1, sizeof *chosen);
    if (chosen == NULL) return ARTEL_ERROR_NO_MEMORY;
    stage->state = chosen;
    ARTEL_TRY(
        artel__stage_find_list(stage, ((const select_options *)stage->options)->columns, chosen, &stage->column_count));
    for (int i = 0; i < stage->column_count; i++) stage->columns[i] = stage->inputs[0]->columns[chosen[i]];
    return ARTEL_OK;
}

static int select_which(const artel__stage *stage, int column)
{
    return ((const int *)stage->state)[column];
}

static artel_status select_at(const artel__stage *stage, int column, int64_t index, void *out)
{
    return artel__stage_at(stage->inputs[0], ((const int *)stage->state)[column], index, out);
}

static artel_status select_hash(const artel__stage *stage, int column, int64_t index, uint64_t *out)
{
    return artel__stage_hash(stage->inputs[0], ((const int *)stage->state)[column], index, out);
}

const artel__stage_ops artel__stage_select = {.name = "select",
                                              .options = select_table,
                                              .options_size = sizeof(select_options),
                                              .open = select_open,
                                              .at = select_at,
                                              .hash = select_hash,
                                              .which = select_which,
                                              .same_number = true};

/* ---- rename ---- */

typedef struct rename_options {
    const char *column, *to;
    int role;
} rename_options;

static const char *const roles[] = {"auto", "x", "y", "weight", NULL};

static const artel__option rename_table[] = {
    ARTEL__STAGE_COLUMN("the column"),
    {"to", "its new name: that of a layer, for example", ARTEL__OPTION_STRING, offsetof(rename_options, to), "null", 0,
     0, NULL},
    {"role", "x, y or weight; auto: as its name says", ARTEL__OPTION_ENUM, offsetof(rename_options, role), "auto", 0, 0,
     roles},
    {.name = NULL},
};

static artel_status rename_open(artel__stage *stage)
{
    const rename_options *o = stage->options;
    for (int i = 0; o->to != NULL && i < stage->column_count; i++) {
        if (i != stage->target && strcmp(stage->columns[i].name, o->to) == 0)
            return artel__stage_wrong(stage, "select the columns that are wanted first",
                                      "there is a column '%s' already", o->to);
    }
    if (o->to != NULL) stage->columns[stage->target].name = o->to;
    stage->columns[stage->target].role = (artel_data_role)o->role;
    return ARTEL_OK;
}

const artel__stage_ops artel__stage_rename = {.name = "rename",
                                              .options = rename_table,
                                              .options_size = sizeof(rename_options),
                                              .open = rename_open,
                                              .texts = true};
