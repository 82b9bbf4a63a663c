/* SPDX-License-Identifier: Apache-2.0 */
/* Which array feeds which input and output: the rules of COMMANDS.md, "Data specifications", tried in order.
 *
 * `#a,b,c` settles everything by position. Otherwise inputs and targets are looked for one kind at a time: by the
 * names of the layers; by the roles the source knows; by the names x and y; by x_train and y_train for training,
 * x_test and y_test for evaluation. Columns of a table stand side by side when there is one input (or one output), and
 * go by name when there are several. When nothing fits, the message lists what is there and what is wanted.
 */
#include <stdio.h>
#include <string.h>

#include "data/feed.h"

/* One side of the matching: the inputs or the targets. */
typedef struct side {
    artel_data *data;
    artel__arena *arena;
    artel__data_purpose purpose;
    artel_data_role role;
    const char *short_name; /* "x" or "y" */
    const char *noun;       /* "input" or "output" */
    const char **names;     /* of the layers */
    int count;
    artel__match *matches;
} side;

static const artel__source *first_source(const artel_data *data)
{
    return &data->sources[0];
}

static int find_array(const artel_data *data, const char *name)
{
    const artel__source *source = first_source(data);
    for (int i = 0; i < source->array_count; i++) {
        if (strcmp(source->arrays[i].name, name) == 0) return i;
    }
    return -1;
}

static artel_status set_match(artel__arena *arena, artel__match *match, int array)
{
    match->arrays = artel__arena_alloc(arena, 1, sizeof(int));
    if (match->arrays == NULL) return ARTEL_ERROR_NO_MEMORY;
    match->arrays[0] = array;
    match->count = 1;
    return ARTEL_OK;
}

/* "x_train, y_train, ..." of the data, shortened. */
static void list_arrays(const artel_data *data, char *text, size_t size)
{
    const artel__source *source = first_source(data);
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < source->array_count; i++) {
        if (used + strlen(source->arrays[i].name) + 8 > size) {
            snprintf(text + used, size - used, ", ...");
            return;
        }
        used += (size_t)snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "", source->arrays[i].name);
    }
}

static void list_names(const side *s, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < s->count && used < size; i++) {
        int more = snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "", s->names[i]);
        used += more > 0 ? (size_t)more : 0;
    }
}

static artel_status nothing_fits(const side *s)
{
    char found[256], wanted[256], advice[160];
    list_arrays(s->data, found, sizeof found);
    list_names(s, wanted, sizeof wanted);
    const char *ending = s->purpose == ARTEL__DATA_PURPOSE_TRAIN ? "_train" : "_test";
    if (first_source(s->data)->format->table && s->role == ARTEL_DATA_ROLE_TARGET) {
        snprintf(advice, sizeof advice, "name the target with #label=COLUMN");
    } else if (s->count == 1) {
        snprintf(advice, sizeof advice, "name an array %s, %s%s or like the layer, or say which with #NAME,NAME",
                 s->short_name, s->short_name, ending);
    } else {
        snprintf(advice, sizeof advice, "name the arrays like the layers, or say which with #NAME,NAME");
    }
    return artel__fail(s->data->ctx, ARTEL_ERROR_INVALID, s->data->specification, advice,
                       "no array for the %s%s %s (found: %s)", s->noun, s->count > 1 ? "s" : "", wanted, found);
}

/* The array of that name, unless the source knows it to be something else; -1 when there is none. */
static int find_own(const side *s, const char *name)
{
    int array = find_array(s->data, name);
    artel_data_role role = array >= 0 ? first_source(s->data)->arrays[array].role : ARTEL_DATA_ROLE_AUTO;
    return role == ARTEL_DATA_ROLE_AUTO || role == s->role ? array : -1;
}

/* Every layer has an array of its name. */
static artel_status match_names(side *s, bool *done)
{
    for (int i = 0; i < s->count; i++) {
        if (find_own(s, s->names[i]) < 0) return ARTEL_OK;
    }
    for (int i = 0; i < s->count; i++) ARTEL_TRY(set_match(s->arena, &s->matches[i], find_own(s, s->names[i])));
    *done = true;
    return ARTEL_OK;
}

static int count_role(const side *s)
{
    const artel__source *source = first_source(s->data);
    int count = 0;
    for (int i = 0; i < source->array_count; i++) count += source->arrays[i].role == s->role;
    return count;
}

/* Arrays that the source knows to be inputs or targets, in order. */
static artel_status match_roles(side *s, bool *done)
{
    const artel__source *source = first_source(s->data);
    int count = count_role(s), at = 0;
    if (count == 0) return ARTEL_OK;
    if (count != s->count) {
        char found[256];
        list_arrays(s->data, found, sizeof found);
        return artel__fail(s->data->ctx, ARTEL_ERROR_INVALID, s->data->specification,
                           "give one array for each, named like the layers",
                           "%d arrays for %d %ss of the model (found: %s)", count, s->count, s->noun, found);
    }
    for (int i = 0; i < source->array_count; i++) {
        if (source->arrays[i].role == s->role) ARTEL_TRY(set_match(s->arena, &s->matches[at++], i));
    }
    *done = true;
    return ARTEL_OK;
}

/* x; x_train or x_test. */
static artel_status match_convention(side *s, bool *done)
{
    char train[32], test[32];
    if (s->count != 1) return ARTEL_OK;
    snprintf(train, sizeof train, "%s_train", s->short_name);
    snprintf(test, sizeof test, "%s_test", s->short_name);
    int array = find_own(s, s->short_name);
    if (array < 0) array = find_own(s, s->purpose == ARTEL__DATA_PURPOSE_TRAIN ? train : test);
    if (array < 0 && s->purpose == ARTEL__DATA_PURPOSE_PREDICT) array = find_own(s, train);
    if (array < 0) return ARTEL_OK;
    *done = true;
    return set_match(s->arena, &s->matches[0], array);
}

/* All columns of the role side by side. */
static artel_status match_columns(side *s, bool *done)
{
    const artel__source *source = first_source(s->data);
    artel__match *match = &s->matches[0];
    int count = count_role(s);
    if (s->count != 1 || count == 0) return ARTEL_OK;
    match->arrays = artel__arena_alloc(s->arena, (size_t)count, sizeof(int));
    if (match->arrays == NULL) return ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < source->array_count; i++) {
        if (source->arrays[i].role == s->role) match->arrays[match->count++] = i;
    }
    *done = true;
    return ARTEL_OK;
}

static artel_status match_side(side *s)
{
    bool done = false;
    bool table = first_source(s->data)->format->table;
    if (table) ARTEL_TRY(match_columns(s, &done));
    if (!done) ARTEL_TRY(match_names(s, &done));
    /* Labels of several outputs may be given in order; columns that are inputs go by name, or a typing error would go
     * unseen. */
    if (!done && !(table && s->role == ARTEL_DATA_ROLE_INPUT)) ARTEL_TRY(match_roles(s, &done));
    if (!done) ARTEL_TRY(match_convention(s, &done));
    return done ? ARTEL_OK : nothing_fits(s);
}

static artel_status match_listed(artel_data *data, const artel__data_wants *wants, artel__arena *arena,
                                 artel__matches *out)
{
    char **names;
    int count, at = 0, targets = wants->purpose == ARTEL__DATA_PURPOSE_PREDICT ? 0 : wants->target_count;
    int needed = wants->input_count + targets;
    ARTEL_TRY(artel__data_list_parse(arena, first_source(data)->options.names, &names, &count));
    bool each = count == needed + targets;
    if (count < needed || (count > needed + 1 && !each && wants->purpose != ARTEL__DATA_PURPOSE_PREDICT)) {
        return artel__fail(
            data->ctx, ARTEL_ERROR_INVALID, data->specification,
            "list the inputs, then one array for each output, then sample_weight or one for each output if any",
            "%d names after # (expected %d for %d inputs and %d outputs, or one more, or %d more)", count, needed,
            wants->input_count, targets, targets);
    }
    if (wants->purpose == ARTEL__DATA_PURPOSE_PREDICT) count = needed;
    for (; at < count; at++) {
        artel__match *match = at < wants->input_count ? &out->inputs[at]
                              : at < needed           ? &out->targets[at - wants->input_count]
                              : count > needed + 1    ? &out->weights[at - needed]
                                                      : &out->weight;
        int array = find_array(data, names[at]);
        if (array < 0) {
            char found[256];
            list_arrays(data, found, sizeof found);
            return artel__fail(data->ctx, ARTEL_ERROR_NOT_FOUND, data->specification, "check the name after #",
                               "no array '%s' (found: %s)", names[at], found);
        }
        ARTEL_TRY(set_match(arena, match, array));
    }
    return ARTEL_OK;
}

/* "NAME_sample_weight" for an output NAME. */
static artel_status match_weight_of(artel_data *data, artel__arena *arena, const char *output, artel__match *out)
{
    const char *name = artel__arena_printf(arena, "%s_sample_weight", output);
    if (!name) return ARTEL_ERROR_NO_MEMORY;
    int array = find_array(data, name);
    bool free = array >= 0 && first_source(data)->arrays[array].role == ARTEL_DATA_ROLE_AUTO;
    return free ? set_match(arena, out, array) : ARTEL_OK;
}

static artel_status match_weight(artel_data *data, artel__arena *arena, artel__match *out)
{
    const artel__source *source = first_source(data);
    for (int i = 0; i < source->array_count; i++) {
        const artel__source_array *array = &source->arrays[i];
        bool named = array->role == ARTEL_DATA_ROLE_AUTO && strcmp(array->name, "sample_weight") == 0;
        if (array->role == ARTEL_DATA_ROLE_WEIGHT || named) return set_match(arena, out, i);
    }
    return ARTEL_OK;
}

static bool takes(const artel__match *matches, int count, int array)
{
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < matches[i].count; k++)
            if (matches[i].arrays[k] == array) return true;
    }
    return false;
}

/* An array that is called like weights and feeds nothing: training would count each sample once without a word. Columns
 * of tables may be anybody's weight. */
static void warn_of_weights(const artel_data *data, const artel__data_wants *wants, const artel__matches *found)
{
    const artel__source *source = first_source(data);
    for (int i = 0; i < source->array_count && !source->format->table; i++) {
        if (!strcasestr(source->arrays[i].name, "weight") || takes(found->inputs, wants->input_count, i) ||
            takes(found->targets, wants->target_count, i) || takes(found->weights, wants->target_count, i) ||
            takes(&found->weight, 1, i))
            continue;
        artel__log(
            data->ctx, ARTEL_LOG_WARNING,
            "%s: array '%s' is not used; weights of samples are an array 'sample_weight', or the one named behind "
            "the targets after #",
            data->specification, source->arrays[i].name);
    }
}

artel_status artel__data_match(artel_data *data, const artel__data_wants *wants, artel__arena *arena,
                               artel__matches *out)
{
    bool predict = wants->purpose == ARTEL__DATA_PURPOSE_PREDICT;
    memset(out, 0, sizeof *out);
    out->inputs = artel__arena_alloc(arena, (size_t)wants->input_count, sizeof *out->inputs);
    out->targets = artel__arena_alloc(arena, (size_t)wants->target_count, sizeof *out->targets);
    side x = {data, arena, wants->purpose, ARTEL_DATA_ROLE_INPUT, "x", "input", NULL, wants->input_count, out->inputs};
    side y = {data,        arena, wants->purpose, ARTEL_DATA_ROLE_TARGET, "y", "output", NULL, wants->target_count,
              out->targets};
    x.names = artel__arena_alloc(arena, (size_t)wants->input_count, sizeof *x.names);
    out->weights = artel__arena_alloc(arena, (size_t)wants->target_count, sizeof *out->weights);
    y.names = artel__arena_alloc(arena, (size_t)wants->target_count, sizeof *y.names);
    ARTEL_TRY(artel__arena_status(arena));
    for (int i = 0; i < x.count; i++) x.names[i] = wants->inputs[i].name;
    for (int i = 0; i < y.count; i++) y.names[i] = wants->targets[i].name;
    if (first_source(data)->options.names != NULL) return match_listed(data, wants, arena, out);
    ARTEL_TRY(match_side(&x));
    if (predict) return ARTEL_OK;
    if (y.count > 0) ARTEL_TRY(match_side(&y));
    for (int i = 0; y.count > 1 && i < y.count; i++)
        ARTEL_TRY(match_weight_of(data, arena, y.names[i], &out->weights[i]));
    ARTEL_TRY(match_weight(data, arena, &out->weight));
    warn_of_weights(data, wants, out);
    return ARTEL_OK;
}
