/* SPDX-License-Identifier: Apache-2.0 */
/* The stage "function" of pipelines (data/stage.h): a function that artel_functions_save() has written, on the columns
 * of an element. What Dataset.map is to tf.data, and with a filter behind it Dataset.filter.
 *
 * A function is run with one row, the element. Strategies belong to one thread at a time. One is loaded when the stage
 * is opened; who finds none free loads a further one, all alike, while the file is still the one that was opened and
 * the memory for data has room (base/budget.h), else waits. Which of them runs an element cannot be told: they write no
 * variables, and random operations draw by the number of the run, which is made of stage, element and pass. What is
 * wanted of an element together, outputs and columns that pass by, takes one reading of the input and one run. Some ask
 * for one column after another, so each strategy remembers whose outputs it has.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "artel/saved.h"
#include "base/budget.h"
#include "base/hash.h"
#include "data/remote.h"
#include "data/stage.h"
#include "function/function_impl.h"

enum {
    MOST_RUNNERS = 8,
    RUNNERS_PERCENT = 50 /* of the memory for data, with what others have taken: for all but the first */
};

typedef struct function_options {
    const char *file, *function, *columns, *to;
} function_options;

static const artel__option table[] = {
    {"file", "that artel_functions_save has written", ARTEL__OPTION_STRING, offsetof(function_options, file), NULL, 0,
     0, NULL},
    {"function", "which one of it; left out: the only one", ARTEL__OPTION_STRING, offsetof(function_options, function),
     "null", 0, 0, NULL},
    {"columns", "what its arguments are, in their order; left out: columns called as they are", ARTEL__OPTION_JSON,
     offsetof(function_options, columns), "null", 0, 0, NULL},
    {"to", "names of what it gives; left out: of the columns it is made from, in their order", ARTEL__OPTION_JSON,
     offsetof(function_options, to), "null", 0, 0, NULL},
    {.name = NULL},
};

/* One strategy of the file. */
typedef struct runner {
    artel_strategy *strategy;
    artel_function *function;
    artel_array *in, *out;
    bool busy;
    bool holds; /* outputs of this element and pass */
    int64_t index;
    uint64_t pass;
} runner;

typedef struct function_state {
    pthread_mutex_t mutex; /* guards busy, holds, index and pass of all runners, and the next four; innermost */
    int runners, most;     /* loaded; that may be */
    bool loading;          /* a thread loads runner[runners] */
    uint64_t charged;      /* of the budget */
    pthread_cond_t freed;  /* or loaded */
    runner *runner;
    uint64_t cost;    /* bytes of one */
    struct stat file; /* before the first was loaded */
    int *argument;    /* by argument: a column of the input */
    size_t *place;    /* by argument: where it is read to */
    size_t bytes;     /* of all arguments */
    int *output;      /* by column: of the function; -1: the input's own */
    size_t *results;  /* by output: bytes */
} function_state;

/* ---- the file ---- */

static const char *file_of(const artel__stage *stage)
{
    return ((const function_options *)stage->options)->file;
}

/* What is elsewhere is fetched, and is the file from there on. */
static artel_status bring(const artel__stage *stage)
{
    function_options *o = stage->options;
    char *copy;
    if (!artel__is_remote(o->file)) return ARTEL_OK;
    ARTEL_TRY(artel__remote_fetch(stage->ctx, o->file, &copy));
    o->file = artel__arena_printf(stage->arena, "%s", copy);
    artel__free(stage->ctx, copy);
    return artel__arena_status(stage->arena);
}

/* The same file by another name gives the same elements, another one of this name does not. */
static artel_status find_file(const artel__stage *stage, const char **path)
{
    ARTEL_TRY(bring(stage));
    *path = file_of(stage);
    return ARTEL_OK;
}

static artel_status find_function(const artel__stage *stage, artel_strategy *strategy, artel_function **out)
{
    const char *name = ((const function_options *)stage->options)->function, *names[65];
    int count = 0;
    for (artel_function *f = strategy->function; f; f = f->next) {
        bool is = name ? strcmp(f->name, name) == 0 : !f->next && count == 0;
        if (is) *out = f;
        if (is) return ARTEL_OK;
        if (count < 64) names[count++] = f->name;
    }
    names[count] = NULL;
    if (!name)
        return artel__stage_wrong(stage, "say which: \"function\": \"whiten\"", "the file holds %s",
                                  count > 0 ? "several functions" : "no function");
    const char *near = artel__nearest_name(name, names);
    return artel__stage_wrong(stage, "name one that was saved", "no function '%s' in the file%s%s", name,
                              near ? "; the nearest is " : "", near ? near : "");
}

static artel_status load(const artel__stage *stage, runner *r)
{
    artel_strategy_options options = ARTEL_STRATEGY_OPTIONS_INIT;
    options.strategy = "one-device";
    options.threads = 1;
    ARTEL_TRY(artel_functions_load(stage->ctx, file_of(stage), &options, &r->strategy));
    return find_function(stage, r->strategy, &r->function);
}

/* ---- what it takes ---- */

/* Whether a row's results depend on other rows: something is added up over all of them. */
static bool crosses_rows(const artel_function *f)
{
    for (int i = 0; i < f->graph.values; i++) {
        artel__domain domain = f->graph.value[i].domain;
        if (domain == ARTEL__DOMAIN_NODES || domain == ARTEL__DOMAIN_BATCH) return true;
    }
    return false;
}

/* An element depends on itself alone, and is asked for any number of times. */
static artel_status check_function(const artel__stage *stage, const artel_function *f)
{
    if (f->writes || f->applies > 0)
        return artel__stage_wrong(stage, "save one that only reads variables",
                                  "'%s' changes variables, so that elements would depend on those before", f->name);
    if (f->outputs == 0) return artel__stage_wrong(stage, "save one with outputs", "'%s' gives nothing", f->name);
    for (int i = 0; i < f->arguments; i++) {
        if (f->argument[i].shared)
            return artel__stage_wrong(stage, "declare it as rows, or make it a variable",
                                      "argument '%s' of '%s' is shared by all rows", f->argument[i].name, f->name);
    }
    if (crosses_rows(f) || artel__texts_cross(f))
        return artel__stage_wrong(stage, "save one that keeps rows apart", "'%s' computes with all rows of a batch",
                                  f->name);
    for (int i = 0; i < f->outputs; i++) {
        artel_dtype dtype;
        artel_shape shape;
        bool rows;
        artel__function_describe(f, i, &dtype, &shape, &rows);
        if (f->output[i].kept < 0)
            return artel__stage_wrong(stage, "make numbers of it, or do it where the elements are read",
                                      "output %d of '%s' is made by text, which a stage does not keep", i, f->name);
        if (!rows)
            return artel__stage_wrong(stage, "leave the batch axis in it", "output %d of '%s' is shared by all rows", i,
                                      f->name);
    }
    return ARTEL_OK;
}

static artel_status take_argument(const artel__stage *stage, const artel_function *f, function_state *state, int i)
{
    const artel__function_argument *a = &f->argument[i];
    const artel__stage_column *c = &stage->inputs[0]->columns[state->argument[i]];
    char wanted[128], has[128];
    bool text = a->dtype == ARTEL_DTYPE_STRING;
    if (text != (c->dtype == ARTEL_DTYPE_STRING))
        return artel__stage_wrong(stage, text ? "name a column of text" : "lookup makes numbers of words",
                                  "argument '%s' takes %s, column '%s' holds %s", a->name, artel_dtype_name(a->dtype),
                                  c->name, artel_dtype_name(c->dtype));
    if (!artel__shape_equal(&a->shape, &c->row))
        return artel__stage_wrong(stage, "reshape, pad or resize it first",
                                  "argument '%s' takes %s, rows of '%s' are %s", a->name,
                                  artel__shape_text(&a->shape, false, wanted, sizeof wanted), c->name,
                                  artel__shape_text(&c->row, false, has, sizeof has));
    size_t bytes = (c->bytes + 63) / 64 * 64;
    if (bytes > SIZE_MAX / 4 - state->bytes)
        return artel__stage_wrong(stage, "name fewer columns", "the arguments are too large");
    state->place[i] = state->bytes;
    state->bytes += bytes;
    return ARTEL_OK;
}

static artel_status take_arguments(const artel__stage *stage, const artel_function *f, function_state *state)
{
    const char *list = ((const function_options *)stage->options)->columns;
    int most = stage->inputs[0]->column_count, count = f->arguments;
    state->argument = artel__arena_alloc(stage->arena, (size_t)(most > count ? most : count) + 1, sizeof(int));
    state->place = artel__arena_alloc(stage->arena, (size_t)count + 1, sizeof(size_t));
    ARTEL_TRY(artel__arena_status(stage->arena));
    if (list) ARTEL_TRY(artel__stage_find_list(stage, list, state->argument, &count));
    if (count != f->arguments)
        return artel__stage_wrong(stage, "name a column for each argument", "'%s' takes %d arguments, columns are %d",
                                  f->name, f->arguments, count);
    for (int i = 0; i < count && !list; i++)
        ARTEL_TRY(artel__stage_find(stage, f->argument[i].name, &state->argument[i]));
    for (int i = 0; i < count; i++) ARTEL_TRY(take_argument(stage, f, state, i));
    return ARTEL_OK;
}

/* ---- what it gives ---- */

static artel_status read_names(const artel__stage *stage, const artel_function *f, const json_t *list,
                               const char **names)
{
    const json_t *item;
    size_t i;
    if (json_array_size(list) != (size_t)f->outputs)
        return artel__stage_wrong(stage, "name each: \"to\": [\"x\", \"mask\"]",
                                  "'%s' gives %d values, \"to\" names %zu", f->name, f->outputs, json_array_size(list));
    json_array_foreach(list, i, item)
    {
        const char *name = json_string_value(item);
        if (!name || !name[0]) return artel__stage_wrong(stage, "write names", "\"to\" holds no names");
        for (size_t k = 0; k < i; k++) {
            if (strcmp(names[k], name) == 0)
                return artel__stage_wrong(stage, "name each value once", "\"to\" names '%s' twice", name);
        }
        names[i] = artel__arena_printf(stage->arena, "%s", name);
        ARTEL_TRY(artel__arena_status(stage->arena));
    }
    return ARTEL_OK;
}

static artel_status find_names(const artel__stage *stage, const artel_function *f, const function_state *state,
                               const char **names)
{
    const char *to = ((const function_options *)stage->options)->to;
    json_t *list;
    if (to) {
        ARTEL_TRY(artel__json_load(stage->ctx, stage->where, to, strlen(to), &list));
        artel_status status = read_names(stage, f, list, names);
        json_decref(list);
        return status;
    }
    if (f->outputs > f->arguments)
        return artel__stage_wrong(stage, "name what it gives: \"to\": [\"x\", \"mask\"]",
                                  "'%s' gives %d values of %d columns", f->name, f->outputs, f->arguments);
    for (int i = 0; i < f->outputs; i++) names[i] = stage->inputs[0]->columns[state->argument[i]].name;
    return ARTEL_OK;
}

/* A column of that name is replaced where it stands, others come behind the last one. */
static artel_status place_output(artel__stage *stage, const artel_function *f, function_state *state, int output,
                                 const char *name)
{
    const artel__value *value = &f->graph.value[f->graph.kept[f->output[output].kept]];
    int column = 0;
    while (column < stage->column_count && strcmp(stage->columns[column].name, name) != 0) column++;
    if (column == stage->column_count) stage->columns[stage->column_count++] = (artel__stage_column){.name = name};
    artel__stage_column *c = &stage->columns[column];
    *c = (artel__stage_column){.name = c->name, .role = c->role, .draws = f->graph.random_ops > 0};
    for (int i = 0; i < f->arguments; i++) c->draws |= stage->inputs[0]->columns[state->argument[i]].draws;
    state->output[column] = output;
    ARTEL_TRY(artel__stage_set_column(stage, column, value->dtype, &value->shape));
    state->results[output] = c->bytes;
    return ARTEL_OK;
}

static artel_status place_outputs(artel__stage *stage, const artel_function *f, function_state *state)
{
    size_t room = (size_t)(stage->column_count + f->outputs) + 1;
    artel__stage_column *columns = artel__arena_alloc(stage->arena, room, sizeof *columns);
    const char **names = artel__arena_alloc(stage->arena, (size_t)f->outputs + 1, sizeof *names);
    state->output = artel__arena_alloc(stage->arena, room, sizeof *state->output);
    state->results = artel__arena_alloc(stage->arena, (size_t)f->outputs + 1, sizeof *state->results);
    ARTEL_TRY(artel__arena_status(stage->arena));
    memcpy(columns, stage->columns, (size_t)stage->column_count * sizeof *columns);
    stage->columns = columns;
    for (size_t i = 0; i < room; i++) state->output[i] = -1;
    ARTEL_TRY(find_names(stage, f, state, names));
    for (int i = 0; i < f->outputs; i++) ARTEL_TRY(place_output(stage, f, state, i, names[i]));
    return ARTEL_OK;
}

/* ---- opening ---- */

/* Of all that may be loaded, for the arena belongs to who opens. */
static artel_status describe_arrays(const artel__stage *stage, const artel_function *f, const function_state *state)
{
    for (int k = 0; k < state->most; k++) {
        runner *r = &state->runner[k];
        r->in = artel__arena_alloc(stage->arena, (size_t)f->arguments + 1, sizeof *r->in);
        r->out = artel__arena_alloc(stage->arena, (size_t)f->outputs + 1, sizeof *r->out);
        ARTEL_TRY(artel__arena_status(stage->arena));
        for (int i = 0; i < f->arguments; i++) {
            const artel__stage_column *c = &stage->inputs[0]->columns[state->argument[i]];
            r->in[i] = (artel_array){.dtype = c->dtype, .shape = {c->row.rank + 1, {1}}};
            memcpy(r->in[i].shape.dim + 1, c->row.dim, (size_t)c->row.rank * sizeof(int64_t));
        }
        for (int i = 0; i < f->outputs; i++)
            r->out[i] = (artel_array){.dtype = f->graph.value[f->graph.kept[f->output[i].kept]].dtype};
    }
    return ARTEL_OK;
}

/* What a runner takes at the most: its variables, once more where they came from a model, and every value of the graph
 * for the batch that its plan is made for, though values share memory. */
static uint64_t cost_of(const artel_function *f)
{
    const artel_strategy *s = f->strategy;
    uint64_t variables = 0, row = 0;
    for (int i = 0; i < s->variables.count; i++) variables += artel__variable_bytes(&s->variables.item[i]);
    for (int i = 0; i < f->graph.values; i++) {
        int64_t cells = artel_shape_count(&f->graph.value[i].shape);
        if (cells > 0) row += (uint64_t)cells * artel__cell_size(f->graph.value[i].dtype);
    }
    return 2 * variables + row * (uint64_t)s->options.batch_size;
}

static artel_status open_runner(const artel__stage *stage, const function_state *state, runner *r)
{
    for (int i = 0; i < r->function->outputs; i++)
        ARTEL_TRY(artel__alloc(stage->ctx, state->results[i] + 1, stage->where, &r->out[i].data));
    return artel__function_open(r->function);
}

static void close_runner(const artel__stage *stage, runner *r)
{
    for (int i = 0; r->function && r->out && i < r->function->outputs; i++) {
        artel__free(stage->ctx, r->out[i].data);
        r->out[i].data = NULL;
    }
    artel_strategy_destroy(r->strategy);
    r->strategy = NULL;
    r->function = NULL;
}

static artel_status function_open(artel__stage *stage)
{
    function_state *state = artel__arena_alloc(stage->arena, 1, sizeof *state);
    int most = artel__usable_cores() < MOST_RUNNERS ? artel__usable_cores() : MOST_RUNNERS;
    if (!state) return ARTEL_ERROR_NO_MEMORY;
    state->runner = artel__arena_alloc(stage->arena, (size_t)most, sizeof *state->runner);
    if (!state->runner) return ARTEL_ERROR_NO_MEMORY;
    pthread_mutex_init(&state->mutex, NULL);
    pthread_cond_init(&state->freed, NULL);
    stage->state = state;
    state->most = stat(file_of(stage), &state->file) == 0 ? most : 1;
    runner *first = &state->runner[state->runners++];
    ARTEL_TRY(load(stage, first));
    ARTEL_TRY(check_function(stage, first->function));
    ARTEL_TRY(take_arguments(stage, first->function, state));
    ARTEL_TRY(place_outputs(stage, first->function, state));
    ARTEL_TRY(describe_arrays(stage, first->function, state));
    state->cost = cost_of(first->function);
    return open_runner(stage, state, first);
}

static void function_close(artel__stage *stage)
{
    function_state *state = stage->state;
    for (int i = 0; i < state->runners; i++) close_runner(stage, &state->runner[i]);
    artel__budget_give(stage->ctx, state->charged);
    pthread_cond_destroy(&state->freed);
    pthread_mutex_destroy(&state->mutex);
}

/* ---- elements ---- */

/* What is read of an element. */
typedef struct element_room {
    artel__stage_want *wants; /* of the input */
    uint8_t *arguments;
} element_room;

/* One that is free and has the outputs of the element in this pass, or NULL. */
static runner *find_holder(function_state *state, int64_t index)
{
    runner *found = NULL;
    pthread_mutex_lock(&state->mutex);
    for (int i = 0; i < state->runners && !found; i++) {
        runner *r = &state->runner[i];
        if (!r->busy && r->holds && r->index == index && r->pass == artel__stage_pass()) found = r;
    }
    if (found) found->busy = true;
    pthread_mutex_unlock(&state->mutex);
    return found;
}

/* With the mutex. */
static runner *any_free(const function_state *state)
{
    for (int i = 0; i < state->runners; i++)
        if (!state->runner[i].busy) return &state->runner[i];
    return NULL;
}

/* A file that has been written anew may hold another function. */
static bool is_same_file(const artel__stage *stage, const struct stat *then)
{
    struct stat now;
    return stat(file_of(stage), &now) == 0 && now.st_dev == then->st_dev && now.st_ino == then->st_ino &&
           now.st_size == then->st_size && now.st_mtim.tv_sec == then->st_mtim.tv_sec &&
           now.st_mtim.tv_nsec == then->st_mtim.tv_nsec;
}

/* With the mutex: whether this thread is to load another one, which is charged then. */
static bool begin_loading(const artel__stage *stage, function_state *state)
{
    if (state->loading || state->runners >= state->most) return false;
    state->loading = artel__budget_take(stage->ctx, state->cost, RUNNERS_PERCENT);
    return state->loading;
}

/* *out stays NULL where the file has changed: then it is done with those there are. */
static artel_status load_another(const artel__stage *stage, function_state *state, runner **out)
{
    runner *r = &state->runner[state->runners];
    bool same = is_same_file(stage, &state->file);
    artel_status status = ARTEL_OK;
    if (same) status = load(stage, r);
    if (same && status == ARTEL_OK) status = open_runner(stage, state, r);
    same = same && status == ARTEL_OK && is_same_file(stage, &state->file);
    if (!same) close_runner(stage, r);
    pthread_mutex_lock(&state->mutex);
    state->loading = false;
    if (same) {
        r->busy = true;
        state->runners++;
        state->charged += state->cost;
        *out = r;
    } else {
        state->most = state->runners;
        artel__budget_give(stage->ctx, state->cost);
    }
    pthread_cond_broadcast(&state->freed);
    pthread_mutex_unlock(&state->mutex);
    return status;
}

/* One that is free, or a further one; waits while neither can be had. */
static artel_status take_free(const artel__stage *stage, function_state *state, runner **out)
{
    artel_status status = ARTEL_OK;
    *out = NULL;
    while (!*out && status == ARTEL_OK) {
        bool loads = false;
        pthread_mutex_lock(&state->mutex);
        while (!(*out = any_free(state)) && !(loads = begin_loading(stage, state)))
            pthread_cond_wait(&state->freed, &state->mutex);
        if (*out) (*out)->busy = true;
        pthread_mutex_unlock(&state->mutex);
        if (loads) status = load_another(stage, state, out);
    }
    return status;
}

static void give_back(function_state *state, runner *r, bool holds, int64_t index)
{
    pthread_mutex_lock(&state->mutex);
    r->busy = false;
    r->holds = holds;
    r->index = index;
    r->pass = artel__stage_pass();
    pthread_cond_signal(&state->freed);
    pthread_mutex_unlock(&state->mutex);
}

/* Random operations draw by the number of the run: another one for each element of each pass, in each stage. */
static artel_status run(const artel__stage *stage, runner *r, int64_t index, uint8_t *arguments)
{
    const function_state *state = stage->state;
    const uint64_t golden = 0x9e3779b97f4a7c15, where = (uint64_t)stage->ordinal << 32 | artel__stage_pass();
    for (int i = 0; i < r->function->arguments; i++) r->in[i].data = arguments + state->place[i];
    r->strategy->runs = (int64_t)(((uint64_t)index + where * golden) & INT64_MAX);
    r->function->first_row = index;
    return artel__function_execute(r->function, r->in, r->out, 1);
}

static void copy_outputs(const function_state *state, const runner *r, const artel__stage_want *wants, int count)
{
    for (int i = 0; i < count; i++) {
        int output = state->output[wants[i].column];
        if (output >= 0) memcpy(wants[i].out, r->out[output].data, state->results[output]);
    }
}

/* Whether a runner had the outputs, so that no run is needed. */
static bool copy_held(function_state *state, const artel__stage_want *wants, int count, int64_t index)
{
    runner *r = find_holder(state, index);
    if (!r) return false;
    copy_outputs(state, r, wants, count);
    give_back(state, r, true, index);
    return true;
}

static artel_status run_and_copy(const artel__stage *stage, const artel__stage_want *wants, int count, int64_t index,
                                 uint8_t *arguments)
{
    function_state *state = stage->state;
    runner *r;
    artel_status status = take_free(stage, state, &r);
    if (status == ARTEL_OK) status = run(stage, r, index, arguments);
    if (status == ARTEL_OK) copy_outputs(state, r, wants, count);
    if (r) give_back(state, r, status == ARTEL_OK, index);
    return status;
}

/* Which of the first `count` arguments a column of the input is; -1: none. */
static int find_argument(const function_state *state, int count, int column)
{
    for (int i = 0; i < count; i++)
        if (state->argument[i] == column) return i;
    return -1;
}

/* The arguments (0: none are needed), and in the same reading what is wanted of the input's own columns; one that is
 * both is read once. */
static artel_status read_element(const artel__stage *stage, int arguments, const artel__stage_want *wants, int count,
                                 int64_t index, element_room room)
{
    const function_state *state = stage->state;
    int below = 0;
    for (int i = 0; i < arguments; i++)
        room.wants[below++] = (artel__stage_want){state->argument[i], room.arguments + state->place[i]};
    for (int i = 0; i < count; i++) {
        if (state->output[wants[i].column] < 0 && find_argument(state, arguments, wants[i].column) < 0)
            room.wants[below++] = wants[i];
    }
    ARTEL_TRY(artel__stage_at_some(stage->inputs[0], room.wants, below, index));
    for (int i = 0; i < count; i++) {
        int which = find_argument(state, arguments, wants[i].column);
        if (state->output[wants[i].column] >= 0 || which < 0) continue;
        memcpy(wants[i].out, room.arguments + state->place[which], stage->columns[wants[i].column].bytes);
    }
    return ARTEL_OK;
}

static bool wants_outputs(const function_state *state, const artel__stage_want *wants, int count)
{
    for (int i = 0; i < count; i++)
        if (state->output[wants[i].column] >= 0) return true;
    return false;
}

static bool wants_others(const function_state *state, const artel__stage_want *wants, int count)
{
    for (int i = 0; i < count; i++)
        if (state->output[wants[i].column] < 0) return true;
    return false;
}

static artel_status function_at_some(const artel__stage *stage, const artel__stage_want *wants, int count,
                                     int64_t index)
{
    function_state *state = stage->state;
    artel__stage_scratch scratch;
    if (!wants_outputs(state, wants, count)) return artel__stage_at_some(stage->inputs[0], wants, count, index);
    bool held = copy_held(state, wants, count, index);
    int arguments = held ? 0 : state->runner[0].function->arguments;
    size_t below = (size_t)(arguments + count) * sizeof(artel__stage_want);
    if (held && !wants_others(state, wants, count)) return ARTEL_OK;
    ARTEL_TRY(artel__stage_scratch_init(stage->ctx, below + (held ? 0 : state->bytes), &scratch));
    const element_room room = {scratch.bytes, (uint8_t *)scratch.bytes + below};
    artel_status status = read_element(stage, arguments, wants, count, index, room);
    if (status == ARTEL_OK && !held) status = run_and_copy(stage, wants, count, index, room.arguments);
    artel__stage_scratch_fini(stage->ctx, &scratch);
    return status;
}

static artel_status function_hash(const artel__stage *stage, int column, int64_t index, uint64_t *out)
{
    const function_state *state = stage->state;
    uint64_t sum = 0;
    if (state->output[column] < 0) return artel__stage_hash(stage->inputs[0], column, index, out);
    for (int i = 0; i < state->runner[0].function->arguments; i++)
        ARTEL_TRY(artel__stage_hash_add(stage->inputs[0], state->argument[i], index, &sum));
    *out = sum;
    return ARTEL_OK;
}

const artel__stage_ops artel__stage_function = {.name = "function",
                                                .options = table,
                                                .options_size = sizeof(function_options),
                                                .find_file = find_file,
                                                .file = "file",
                                                .open = function_open,
                                                .at = artel__stage_at_one,
                                                .at_some = function_at_some,
                                                .hash = function_hash,
                                                .same_number = true,
                                                .close = function_close};
