/* SPDX-License-Identifier: Apache-2.0 */
/* stack_columns and concatenate_columns: several columns become one, as tf.stack and tf.concat make it of an element's
 * values; so the columns of a table become the feature vector that a model takes.
 *
 * Both put parts behind one another along an axis: those of stack_columns get one of extent 1 there first. A single
 * value counts as a vector of one. With a dtype each value is converted by itself, as the stage cast does it, so that a
 * table of integers and fractions needs no cast for each; without one nothing is converted, and all must be alike.
 */
#include <string.h>

#include "data/stage.h"

typedef struct join_options {
    const char *columns, *to, *dtype;
    int64_t axis;
} join_options;

/* Both stages have these, and an axis of their own. */
// clang-format off
#define JOIN_OPTIONS                                                                                                  \
    {"columns", "those that become one, in this order; left out: all that are no targets and no weights",             \
     ARTEL__OPTION_JSON, offsetof(join_options, columns), "null", 0, 0, NULL},                                        \
    {"to", "the name of the column; left out: x, of targets y, of weights sample_weight", ARTEL__OPTION_STRING,       \
     offsetof(join_options, to), "null", 0, 0, NULL},                                                                 \
    {"dtype", "what values are converted to; left out: all must be of one dtype", ARTEL__OPTION_STRING,               \
     offsetof(join_options, dtype), "null", 0, 0, NULL}
#define AXIS(help, fallback)                                                                                          \
    {"axis", help, ARTEL__OPTION_INT, offsetof(join_options, axis), fallback, -ARTEL_MAX_RANK, ARTEL_MAX_RANK, NULL}
// clang-format on

static const artel__option stack_table[] = {
    JOIN_OPTIONS, AXIS("where the new axis stands in a row; -1: at the end", "0"), {.name = NULL}};

static const artel__option concatenate_table[] = {
    JOIN_OPTIONS, AXIS("of a row, along which they lie behind one another; -1: the last", "-1"), {.name = NULL}};

/* A column of the input in the one that is made: where its row is read to, and what it adds in each of `outer` turns.
 */
typedef struct part {
    size_t place;
    int64_t run; /* elements */
} part;

typedef struct join_state {
    int *chosen; /* columns of the input */
    part *parts;
    int count;
    int at;      /* the column that is made */
    int *passed; /* columns of the input that the others are; [at] is unused */
    bool *part;  /* by column of the input: whether it is one */
    int64_t outer;
    size_t bytes; /* of a row of all parts */
} join_state;

/* ---- which columns ---- */

static bool is_input(const artel__stage_column *c)
{
    if (c->role != ARTEL_DATA_ROLE_AUTO) return c->role == ARTEL_DATA_ROLE_INPUT;
    return strcmp(c->name, "y") != 0 && strcmp(c->name, "sample_weight") != 0;
}

static artel_status choose(artel__stage *stage, join_state *state)
{
    const artel__stage *input = stage->inputs[0];
    const char *list = ((const join_options *)stage->options)->columns;
    if (list != NULL) ARTEL_TRY(artel__stage_find_list(stage, list, state->chosen, &state->count));
    for (int c = 0; list == NULL && c < input->column_count; c++) {
        if (is_input(&input->columns[c])) state->chosen[state->count++] = c;
    }
    if (state->count == 0)
        return artel__stage_wrong(stage, "write \"columns\": [\"a\", \"b\"]", "all columns are targets or weights");
    for (int i = 0; i < state->count; i++) state->part[state->chosen[i]] = true;
    return ARTEL_OK;
}

/* What the column is for follows from its parts, which must not be for two things: a target among the inputs is no
 * feature. */
static artel_status check_columns(const artel__stage *stage, const join_state *state, artel_data_role *role)
{
    static const char *const called[] = {"", "an input", "a target", "a weight"};
    const artel__stage_column *columns = stage->inputs[0]->columns, *known = NULL;
    bool converted = ((const join_options *)stage->options)->dtype != NULL;
    const artel__stage_column *first = &columns[state->chosen[0]];
    for (int i = 0; i < state->count; i++) {
        const artel__stage_column *c = &columns[state->chosen[i]];
        bool text = c->dtype == ARTEL_DTYPE_STRING;
        if (text && (converted || first->dtype != ARTEL_DTYPE_STRING))
            return artel__stage_wrong(stage, "lookup makes numbers of words; or name the columns without it",
                                      "column '%s' holds text", c->name);
        if (!converted && c->dtype != first->dtype)
            return artel__stage_wrong(stage, "give a dtype that all become: \"dtype\": \"float32\"",
                                      "column '%s' holds %s, column '%s' %s", first->name,
                                      artel_dtype_name(first->dtype), c->name, artel_dtype_name(c->dtype));
        if (c->role == ARTEL_DATA_ROLE_AUTO) continue;
        if (known != NULL && known->role != c->role)
            return artel__stage_wrong(stage, "leave one out, or rename it with another role",
                                      "column '%s' is %s, column '%s' %s", known->name, called[known->role], c->name,
                                      called[c->role]);
        known = c;
    }
    *role = known != NULL ? known->role : ARTEL_DATA_ROLE_AUTO;
    return ARTEL_OK;
}

/* ---- the shape ---- */

/* A column's row with the axis that parts are put behind one another along. */
static artel_shape part_shape(const artel__stage *stage, const artel__stage_column *c, int axis)
{
    artel_shape row = c->row;
    bool stacks = stage->ops == &artel__stage_stack_columns;
    if (!stacks && (row.rank > 0 || axis > 0)) return row;
    memmove(row.dim + axis + 1, row.dim + axis, (size_t)(row.rank - axis) * sizeof(int64_t));
    row.dim[axis] = 1;
    row.rank++;
    return row;
}

static artel_status find_axis(const artel__stage *stage, const artel__stage_column *first, int *out)
{
    bool stacks = stage->ops == &artel__stage_stack_columns;
    int64_t axis = ((const join_options *)stage->options)->axis;
    int rank = stacks || first->row.rank == 0 ? first->row.rank + 1 : first->row.rank;
    if (rank > ARTEL_MAX_RANK) return artel__stage_wrong(stage, "reshape first", "the columns have too many axes");
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank)
        return artel__stage_wrong(stage, "axes are counted from 0, from the end from -1", "the result has %d axes",
                                  rank);
    *out = (int)axis;
    return ARTEL_OK;
}

static bool fits(const artel_shape *a, const artel_shape *b, int axis)
{
    bool good = a->rank == b->rank;
    for (int i = 0; good && i < a->rank; i++) good = i == axis || a->dim[i] == b->dim[i];
    return good;
}

static artel_status add_part(artel__stage *stage, join_state *state, int i, int axis, artel_shape *whole)
{
    const artel__stage_column *columns = stage->inputs[0]->columns;
    const artel__stage_column *first = &columns[state->chosen[0]], *c = &columns[state->chosen[i]];
    bool stacks = stage->ops == &artel__stage_stack_columns;
    artel_shape row = c->row;
    char a[128], b[128];
    bool good = !stacks || artel__shape_equal(&first->row, &row);
    if (good) row = part_shape(stage, c, axis);
    if (!good || !fits(whole, &row, axis))
        return artel__stage_wrong(
            stage, stacks ? "pad or reshape one; concatenate_columns takes any length" : "pad or reshape one",
            "rows of '%s' are %s, of '%s' %s", first->name, artel__shape_text(&first->row, false, a, sizeof a), c->name,
            artel__shape_text(&c->row, false, b, sizeof b));
    state->parts[i] = (part){state->bytes, artel__shape_product(&row, axis, row.rank)};
    size_t bytes = (c->bytes + 7) / 8 * 8;
    if (row.dim[axis] > INT64_MAX / 64 - whole->dim[axis] || bytes > SIZE_MAX / 4 - state->bytes)
        return artel__stage_wrong(stage, "name fewer columns", "the shape overflows");
    whole->dim[axis] += row.dim[axis];
    state->bytes += bytes;
    return ARTEL_OK;
}

static artel_status join_shapes(artel__stage *stage, join_state *state, artel_shape *whole)
{
    const artel__stage_column *first = &stage->inputs[0]->columns[state->chosen[0]];
    int axis = 0;
    ARTEL_TRY(find_axis(stage, first, &axis));
    *whole = part_shape(stage, first, axis);
    whole->dim[axis] = 0;
    state->outer = artel__shape_product(whole, 0, axis);
    for (int i = 0; i < state->count; i++) ARTEL_TRY(add_part(stage, state, i, axis, whole));
    return ARTEL_OK;
}

/* ---- opening ---- */

static artel_status find_dtype(const artel__stage *stage, const join_state *state, artel_dtype *out)
{
    const char *name = ((const join_options *)stage->options)->dtype;
    *out = stage->inputs[0]->columns[state->chosen[0]].dtype;
    if (name == NULL || (artel_dtype_parse(name, out) >= 0 && *out != ARTEL_DTYPE_STRING)) return ARTEL_OK;
    return artel__stage_wrong(stage, "write float32, int64, uint8, ...", "no dtype of numbers '%s'", name);
}

/* The other columns stay; the one that is made stands where the first of its parts stood. */
static artel_status arrange(artel__stage *stage, join_state *state, artel_data_role role)
{
    static const char *const names[] = {"x", "x", "y", "sample_weight"};
    const artel__stage *input = stage->inputs[0];
    const char *to = ((const join_options *)stage->options)->to;
    int at = 0;
    bool made = false, draws = false, pixels = true;
    if (to == NULL) to = names[role];
    for (int c = 0; c < input->column_count; c++) {
        const artel__stage_column *column = &input->columns[c];
        bool joined = state->part[c];
        draws |= joined && column->draws;
        pixels &= !joined || column->pixels;
        if (joined && made) continue;
        made |= joined;
        if (joined) state->at = at;
        if (!joined && strcmp(column->name, to) == 0)
            return artel__stage_wrong(stage, "choose another name with \"to\", or rename", "there is a column '%s'",
                                      to);
        state->passed[at] = c;
        stage->columns[at++] = *column;
    }
    stage->column_count = at;
    artel__stage_column *whole = &stage->columns[state->at];
    *whole = (artel__stage_column){.name = to, .role = role, .draws = draws, .pixels = pixels};
    return ARTEL_OK;
}

static artel_status join_open(artel__stage *stage)
{
    size_t room = (size_t)stage->column_count + 1;
    join_state *state = artel__arena_alloc(stage->arena, 1, sizeof *state);
    artel_data_role role = ARTEL_DATA_ROLE_AUTO;
    artel_dtype dtype = ARTEL_DTYPE_FLOAT32;
    artel_shape whole = {0};
    if (state == NULL) return ARTEL_ERROR_NO_MEMORY;
    state->chosen = artel__arena_alloc(stage->arena, room, sizeof *state->chosen);
    state->passed = artel__arena_alloc(stage->arena, room, sizeof *state->passed);
    state->part = artel__arena_alloc(stage->arena, room, sizeof *state->part);
    state->parts = artel__arena_alloc(stage->arena, room, sizeof *state->parts);
    ARTEL_TRY(artel__arena_status(stage->arena));
    ARTEL_TRY(choose(stage, state));
    ARTEL_TRY(find_dtype(stage, state, &dtype));
    ARTEL_TRY(check_columns(stage, state, &role));
    ARTEL_TRY(join_shapes(stage, state, &whole));
    ARTEL_TRY(arrange(stage, state, role));
    stage->state = state;
    return artel__stage_set_column(stage, state->at, dtype, &whole);
}

/* ---- elements ---- */

static void put_parts(const artel__stage *stage, const join_state *state, const uint8_t *room, uint8_t *out)
{
    artel_dtype to = stage->columns[state->at].dtype;
    size_t to_size = artel__cell_size(to);
    for (int64_t turn = 0; turn < state->outer; turn++) {
        for (int i = 0; i < state->count; i++) {
            artel_dtype dtype = stage->inputs[0]->columns[state->chosen[i]].dtype;
            int64_t run = state->parts[i].run;
            const uint8_t *from = room + state->parts[i].place + (size_t)(turn * run) * artel__cell_size(dtype);
            size_t bytes = (size_t)run * to_size;
            if (dtype != to)
                artel__convert(dtype, from, to, out, run);
            else if (bytes > 0)
                memcpy(out, from, bytes);
            out += bytes;
        }
    }
}

/* The parts, if they are wanted, and in the same reading the columns that pass by. */
static artel_status join_at_some(const artel__stage *stage, const artel__stage_want *wants, int count, int64_t index)
{
    const join_state *state = stage->state;
    artel__stage_scratch scratch;
    bool joins = false;
    int some = 0;
    for (int i = 0; i < count; i++) joins = joins || wants[i].column == state->at;
    size_t parts = joins ? (size_t)state->count : 0, below = (parts + (size_t)count) * sizeof *wants;
    ARTEL_TRY(artel__stage_scratch_init(stage->ctx, below + (joins ? state->bytes : 0), &scratch));
    artel__stage_want *all = scratch.bytes;
    uint8_t *room = (uint8_t *)scratch.bytes + below;
    for (size_t i = 0; i < parts; i++)
        all[some++] = (artel__stage_want){state->chosen[i], room + state->parts[i].place};
    for (int i = 0; i < count; i++)
        if (wants[i].column != state->at)
            all[some++] = (artel__stage_want){state->passed[wants[i].column], wants[i].out};
    artel_status status = artel__stage_at_some(stage->inputs[0], all, some, index);
    for (int i = 0; i < count && status == ARTEL_OK; i++)
        if (wants[i].column == state->at) put_parts(stage, state, room, wants[i].out);
    artel__stage_scratch_fini(stage->ctx, &scratch);
    return status;
}

static artel_status join_hash(const artel__stage *stage, int column, int64_t index, uint64_t *out)
{
    const join_state *state = stage->state;
    uint64_t sum = 0;
    if (column != state->at) return artel__stage_hash(stage->inputs[0], state->passed[column], index, out);
    for (int i = 0; i < state->count; i++)
        ARTEL_TRY(artel__stage_hash_add(stage->inputs[0], state->chosen[i], index, &sum));
    *out = sum;
    return ARTEL_OK;
}

const artel__stage_ops artel__stage_stack_columns = {.name = "stack_columns",
                                                     .options = stack_table,
                                                     .options_size = sizeof(join_options),
                                                     .open = join_open,
                                                     .at = artel__stage_at_one,
                                                     .at_some = join_at_some,
                                                     .hash = join_hash,
                                                     .same_number = true};

const artel__stage_ops artel__stage_concatenate_columns = {.name = "concatenate_columns",
                                                           .options = concatenate_table,
                                                           .options_size = sizeof(join_options),
                                                           .open = join_open,
                                                           .at = artel__stage_at_one,
                                                           .at_some = join_at_some,
                                                           .hash = join_hash,
                                                           .same_number = true};
