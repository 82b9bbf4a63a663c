/* SPDX-License-Identifier: Apache-2.0 */
/* long form: 600 */
/* libFuzzer: a file of saved functions, changed and given its right digest again, is loaded; what loads is explained,
 * run and saved.
 *
 * The first byte says how: '{', the input is the record itself; 0, it is the whole file; else bit 0 cuts the elements
 * by the second byte, and what follows changes values of the record. What was loaded can be saved and loaded again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "artel/control.h"
#include "base/file.h"
#include "function/saved_impl.h"
#include "fuzz/help_fuzz.h"

enum {
    LARGEST = 1 << 16 /* bytes of the arguments of a function that is run */
};

static char folder[40], own[64], other[64], again[64];
static char *record;
static artel__mapping whole;

static void need(bool fact)
{
    if (!fact) abort();
}

/* -- the file to begin with: a step with a choice, a loop and random numbers -- */

static artel_status twice(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    out[0] = artel_graph_binary(g, "add", in[0], in[0]);
    return artel_graph_status(g);
}

static artel_status same(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    out[0] = in[0];
    return artel_graph_status(g);
}

static artel_status small(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    artel_value bound = artel_graph_number(g, 2);
    out[0] = artel_graph_binary(g, "less", in[0], bound);
    return artel_graph_status(g);
}

typedef struct made {
    artel_variable *variable;
    artel_optimizer *optimizer;
} made;

static artel_status trace(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    const made *m = user;
    const artel_loop loop = {sizeof loop, small, twice, NULL, 1, 3};
    artel_value weights = artel_graph_variable(g, m->variable);
    artel_value product = artel_graph_op(g, "multiply", (artel_value[]){in[0], weights}, 2, NULL);
    artel_value noise = artel_graph_uniform(g, in[0], &(artel_shape){1, {2}}, 0, 1, false);
    artel_value dropped = artel_graph_dropout(g, artel_graph_binary(g, "add", product, noise), 0.5);
    artel_value mean =
        artel_graph_reduce(g, ARTEL_REDUCTION_MEAN, artel_graph_op(g, "mean", &dropped, 1, "{\"axis\": -1}"));
    artel_value condition, state = mean;
    small(NULL, g, &mean, &condition);
    const artel_choice choice = {sizeof choice, condition, twice, same, NULL, &mean, 1};
    artel_graph_choose(g, &choice, &out[0]);
    artel_graph_loop(g, &loop, &state);
    out[1] = artel_graph_binary(g, "add", state, out[0]);
    artel_graph_minimise(g, m->optimizer, out[0]);
    return artel_graph_status(g);
}

static void save_own(artel_context *ctx)
{
    static const artel_argument argument = {"x", ARTEL_DTYPE_FLOAT32, false, {1, {2}}};
    artel_strategy_options s = ARTEL_STRATEGY_OPTIONS_INIT;
    artel_variable_options v = ARTEL_VARIABLE_OPTIONS_INIT;
    artel_function_options f = ARTEL_FUNCTION_OPTIONS_INIT;
    artel_strategy *strategy;
    artel_function *function;
    made m;
    s.batch_size = 4;
    s.threads = 1;
    need(artel_strategy_create(ctx, &s, &strategy) == ARTEL_OK);
    v.name = "w";
    v.shape = (artel_shape){1, {2}};
    need(artel_variable_create(strategy, &v, &m.variable) == ARTEL_OK);
    need(artel_optimizer_create(strategy, "sgd:momentum=0.5", &m.variable, 1, &m.optimizer) == ARTEL_OK);
    f.arguments = &argument;
    f.argument_count = 1;
    f.output_count = 2;
    f.training = true;
    need(artel_function_create(strategy, &f, trace, &m, &function) == ARTEL_OK);
    need(artel_functions_save(strategy, NULL, 0, own) == ARTEL_OK);
    artel_strategy_destroy(strategy);
}

static void clean_up(void)
{
    unlink(own);
    unlink(other);
    unlink(again);
    rmdir(folder);
}

static void prepare(void)
{
    artel_context *ctx;
    artel__saved saved;
    json_t *json;
    need(artel_context_create(NULL, &ctx) == ARTEL_OK);
    snprintf(folder, sizeof folder, "/dev/shm/artel-fuzz-XXXXXX"); /* in memory: files are synchronised */
    if (!mkdtemp(folder)) need(mkdtemp(strcpy(folder, "/tmp/artel-fuzz-XXXXXX")) != NULL);
    atexit(clean_up);
    snprintf(own, sizeof own, "%s/own", folder);
    snprintf(other, sizeof other, "%s/other", folder);
    snprintf(again, sizeof again, "%s/again", folder);
    save_own(ctx);
    artel__saved_init(&saved, ctx, own);
    need(artel__saved_read(&saved, &json) == ARTEL_OK);
    record = json_dumps(json, JSON_COMPACT);
    need(record && artel__map_file(ctx, own, &whole) == ARTEL_OK);
    json_decref(json);
    artel__saved_fini(&saved);
    artel_context_destroy(ctx);
}

/* -- one input -- */

static void write_file(const void *bytes, size_t size)
{
    FILE *file = fopen(other, "wb");
    need(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
}

/* The record with its right digest; false: it is no JSON. */
static bool write_record(artel_context *ctx, const char *text, size_t size, const uint8_t *changes, size_t count,
                         size_t cut)
{
    artel__saved saved, first;
    json_t *json, *none;
    if (artel__json_load(ctx, "record", text, size, &json) < 0) return false;
    if (count) artel_fuzz_change_json(json, changes, count);
    artel__saved_init(&first, ctx, own);
    need(artel__saved_read(&first, &none) == ARTEL_OK);
    artel__saved_init(&saved, ctx, other);
    artel__text_append_bytes(&saved.values, first.bytes, first.size - (cut < first.size ? cut : first.size));
    bool written = artel__saved_write(&saved, json) == ARTEL_OK;
    artel__saved_fini(&saved);
    artel__saved_fini(&first);
    json_decref(none);
    json_decref(json);
    return written;
}

static bool lay_out(artel_context *ctx, const uint8_t *data, size_t size)
{
    if (data[0] == '{') return write_record(ctx, (const char *)data, size, NULL, 0, 0);
    if (data[0] == 0) {
        write_file(data + 1, size - 1);
        return true;
    }
    size_t cut = data[0] & 1 && size > 1 ? data[1] : 0;
    return write_record(ctx, record, strlen(record), data + 2, size > 2 ? size - 2 : 0, cut);
}

static void run(artel_function *f)
{
    static _Alignas(64) uint8_t zeros[LARGEST];
    artel_array in[8] = {{.data = NULL}}, out[8] = {{.data = NULL}};
    int arguments = artel_function_arguments(f), outputs = artel_function_outputs(f);
    if (arguments > 8 || outputs > 8) return;
    for (int i = 0; i < arguments; i++) {
        artel_argument a;
        need(artel_function_argument(f, i, &a) == ARTEL_OK);
        if (artel_shape_count(&a.shape) > LARGEST / 4) return;
        in[i] = (artel_array){a.dtype, a.shape, zeros};
        if (a.shared) continue;
        in[i].shape.rank++;
        memmove(in[i].shape.dim + 1, a.shape.dim, sizeof a.shape.dim - sizeof a.shape.dim[0]);
        in[i].shape.dim[0] = 1;
    }
    artel_function_run(f, in, arguments, out, outputs);
}

static void load(artel_context *ctx)
{
    artel_strategy_options o = ARTEL_STRATEGY_OPTIONS_INIT;
    artel_strategy *strategy = NULL, *second = NULL;
    artel_function *f;
    o.threads = 1;
    if (artel_functions_load(ctx, other, &o, &strategy) < 0) {
        need(artel_context_error(ctx)->what[0] != 0);
        return;
    }
    if (artel_strategy_function(strategy, "function", &f) == ARTEL_OK) {
        need(artel_function_explain(f)[0] != 0);
        run(f);
    }
    if (artel_functions_save(strategy, NULL, 0, again) == ARTEL_OK) {
        need(artel_functions_load(ctx, again, &o, &second) == ARTEL_OK);
        artel_strategy_destroy(second);
    }
    artel_strategy_destroy(strategy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    artel_context *ctx;
    if (!record) prepare();
    if (size == 0 || artel_context_create(NULL, &ctx) < 0) return 0;
    if (lay_out(ctx, data, size)) load(ctx);
    artel_context_destroy(ctx);
    return 0;
}

size_t artel_fuzz_seed(unsigned number, uint8_t *out, size_t room)
{
    if (!record) prepare();
    if (number == 0) return artel_fuzz_text((const char *const *)&record, 1, 0, out, room);
    for (uint8_t i = 0; i < 16; i++) out[i] = (uint8_t)(number * 31 + i * 13);
    out[0] = (uint8_t)(number < 4 ? number : 4);
    if (number < 20) return number < 4 ? 2 : 16;
    if (number > 20 || whole.size + 1 > room) return 0;
    out[0] = 0;
    memcpy(out + 1, whole.bytes, whole.size);
    return whole.size + 1;
}
