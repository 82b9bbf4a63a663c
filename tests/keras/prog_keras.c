/* SPDX-License-Identifier: Apache-2.0 */
/* Models from the command line, for the tests that compare with Keras.
 *
 *   prog_keras load IN                  what a model holds, as JSON
 *   prog_keras convert IN OUT [WEIGHTS] loads, takes weights from another file, saves
 *   prog_keras digest FILE              the digest of a file, without making the model
 *   prog_keras compile IN OUT OPTIMIZER LOSS METRICS
 *   prog_keras summary IN               the rows of its summary, as JSON
 *   prog_keras build sequential|functional OUT   a model made by calls
 *   prog_keras mutants FILE COUNT SEED  loads copies of FILE with 1-3 bytes changed; prints how they ended
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "artel/build.h"
#include "base/json.h"
#include "keras/model.h"
#include "keras/summary.h"

static int complain(artel_context *ctx)
{
    const artel_error *e = artel_context_error(ctx);
    fprintf(stderr, "%s: %s: %s; %s\n", artel_status_name(e->status), e->where, e->what, e->advice);
    return 1;
}

static artel_status add_weight(void *user, const artel__model_variable *variable)
{
    json_object_set_new(user, variable->path, json_boolean(variable->trainable));
    return ARTEL_OK;
}

static json_t *shape_json(const artel_shape *shape)
{
    json_t *list = json_array();
    for (int i = 0; i < shape->rank; i++) json_array_append_new(list, json_integer(shape->dim[i]));
    return list;
}

static void print_model(const artel_model *model)
{
    char digest[65] = "", all[65] = "";
    int64_t trainable, frozen;
    json_t *weights = json_object(), *inputs = json_object(), *outputs = json_object();
    artel__keras_count(model, &trainable, &frozen);
    artel__model_visit(model->nn, add_weight, weights);
    if (model->initialised) {
        artel__keras_digest(model, false, digest);
        artel__keras_digest(model, true, all);
    }
    for (int i = 0; i < artel_model_input_count(model); i++) {
        const char *name;
        artel_shape shape;
        artel_model_input(model, i, &name, NULL, &shape);
        json_object_set_new(inputs, name, shape_json(&shape));
    }
    for (int i = 0; i < artel_model_output_count(model); i++) {
        const char *name;
        artel_shape shape;
        artel_model_output(model, i, &name, NULL, &shape);
        json_object_set_new(outputs, name, shape_json(&shape));
    }
    json_t *whole =
        json_pack("{s:s, s:s, s:I, s:I, s:i, s:o, s:o, s:o, s:O?}", "digest", digest, "all", all, "trainable",
                  (json_int_t)trainable, "frozen", (json_int_t)frozen, "optimizer", model->optimizer.count, "weights",
                  weights, "inputs", inputs, "outputs", outputs, "compile", model->compile_config);
    char *text = json_dumps(whole, 0);
    puts(text);
    free(text);
    json_decref(whole);
}

static int convert(artel_context *ctx, char **argv, int argc)
{
    artel_model *model;
    if (artel_model_load(ctx, argv[0], &model) < 0) return complain(ctx);
    int failed = 0;
    if (argc > 2 && artel_model_load_weights(model, argv[2]) < 0) failed = complain(ctx);
    if (!failed && artel_model_save(model, argv[1]) < 0) failed = complain(ctx);
    artel_model_destroy(model);
    return failed;
}

static int compile(artel_context *ctx, char **argv)
{
    artel_model *model;
    if (artel_model_load(ctx, argv[0], &model) < 0) return complain(ctx);
    int failed = 0;
    if (artel_model_compile(model, argv[2], argv[3], argv[4]) < 0) failed = complain(ctx);
    if (!failed && artel_model_save(model, argv[1]) < 0) failed = complain(ctx);
    artel_model_destroy(model);
    return failed;
}

static int summarise(artel_context *ctx, const char *path)
{
    artel_model *model;
    artel__model_summary summary;
    if (artel_model_load(ctx, path, &model) < 0) return complain(ctx);
    if (artel__keras_summary(model, false, &summary) < 0) {
        artel_model_destroy(model);
        return complain(ctx);
    }
    json_t *rows = json_array();
    for (int i = 0; i < summary.rows; i++) {
        const artel__layer_row *row = &summary.row[i];
        json_array_append_new(rows, json_pack("[s, s, s, I, s]", row->name, row->class_name, row->output_shape,
                                              (json_int_t)row->params, row->connected_to));
    }
    char *text = json_dumps(rows, 0);
    puts(text);
    free(text);
    json_decref(rows);
    artel__keras_summary_fini(&summary);
    artel_model_destroy(model);
    return 0;
}

static artel_status build_sequential(artel_context *ctx, artel_model **out)
{
    artel_builder *b;
    artel_status status =
        artel_sequential_create(ctx, "built", ARTEL_DTYPE_FLOAT32, &(artel_shape){3, {12, 12, 1}}, &b);
    if (status < 0) return status;
    artel_layer_rescaling(b, &(artel_rescaling_options){.scale = 1.0 / 255});
    artel_layer_conv2d(b, &(artel_conv2d_options){
                              .filters = 4, .kernel = {3, 3}, .activation = "relu", .kernel_initializer = "he_normal"});
    artel_layer_separable_conv2d(
        b, &(artel_conv2d_options){.filters = 6, .kernel = {3, 3}, .padding = "same", .no_bias = true});
    artel_layer_batch_normalization(b, &(artel_normalization_options){.momentum = 0.9});
    artel_layer_activation(b, &(artel_activation_options){.activation = "relu"});
    artel_layer_max_pooling2d(b, NULL);
    artel_layer_dropout(b, &(artel_dropout_options){.rate = 0.25});
    artel_layer_flatten(b, NULL);
    artel_layer_dense(
        b, &(artel_dense_options){.units = 10,
                                  .activation = "softmax",
                                  .kernel_regularizer = "{\"class_name\": \"L2\", \"config\": {\"l2\": 0.001}}"});
    return artel_sequential_finish(b, out);
}

static artel_status build_functional(artel_context *ctx, artel_model **out)
{
    artel_builder *b;
    artel_tensor x, y, left, right, early, late, sum, ends[2];
    artel_status status = artel_functional_create(ctx, "built", &b);
    if (status < 0) return status;
    artel_input(b, "x", ARTEL_DTYPE_FLOAT32, &(artel_shape){1, {6}}, &x);
    artel_input(b, "y", ARTEL_DTYPE_FLOAT32, &(artel_shape){1, {6}}, &y);
    artel_apply(b, "Dense", "{\"units\": 5, \"activation\": \"relu\", \"name\": \"shared\"}", &x, 1, &left);
    artel_apply_again(b, left, &y, 1, &right);
    artel_apply(b, "Dense", "{\"units\": 4, \"name\": \"early\"}", &left, 1,
                &early); /* Keras lists it behind the next one */
    artel_apply(b, "Dense", "{\"units\": 4, \"name\": \"late\"}", &left, 1, &late);
    artel_apply(b, "Dense", "{\"units\": 4, \"name\": \"later\"}", &late, 1, &late);
    artel_apply(b, "Concatenate", NULL, (artel_tensor[]){left, right, early, late}, 4, &sum);
    artel_apply(b, "Dense", "{\"units\": 1, \"name\": \"a\"}", &sum, 1, &ends[0]);
    artel_apply(b, "Dense", "{\"units\": 2, \"name\": \"b\"}", &right, 1, &ends[1]);
    return artel_functional_finish(b, ends, 2, out);
}

static int build(artel_context *ctx, const char *kind, const char *path)
{
    artel_model *model;
    if ((strcmp(kind, "sequential") == 0 ? build_sequential(ctx, &model) : build_functional(ctx, &model)) < 0)
        return complain(ctx);
    int failed = artel_model_save(model, path) < 0 ? complain(ctx) : 0;
    artel_model_destroy(model);
    return failed;
}

/* splitmix64 */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static int mutants(artel_context *ctx, const char *file, long count, uint64_t seed)
{
    char *bytes, path[64];
    size_t size;
    int ends[16] = {0};
    if (artel__read_file(ctx, file, (size_t)1 << 30, &bytes, &size) < 0) return complain(ctx);
    snprintf(path, sizeof path, "/tmp/artel-mutant-%d.keras", (int)getpid());
    for (long i = 0; i < count; i++) {
        char old[3];
        size_t at[3], changes = 1 + next_random(&seed) % 3;
        artel_model *model = NULL;
        for (size_t k = 0; k < changes; k++) {
            at[k] = next_random(&seed) % size;
            old[k] = bytes[at[k]];
            bytes[at[k]] = (char)next_random(&seed);
        }
        FILE *f = fopen(path, "wb");
        if (!f || fwrite(bytes, 1, size, f) != size) return 1;
        fclose(f);
        artel_context_clear(ctx);
        artel_status status = artel_model_load(ctx, path, &model);
        ends[-status]++;
        if (status < 0 && !*artel_context_error(ctx)->what) printf("no message for status %d\n", status);
        artel_model_destroy(model);
        for (size_t k = changes; k-- > 0;) bytes[at[k]] = old[k];
    }
    for (int i = 0; i < 16; i++) {
        if (ends[i]) printf("%s: %d\n", artel_status_name((artel_status)-i), ends[i]);
    }
    unlink(path);
    artel__free(ctx, bytes);
    return 0;
}

int main(int argc, char **argv)
{
    artel_context *ctx;
    artel_model *model;
    int result = 2;
    if (argc < 3 || artel_context_create(NULL, &ctx) < 0) return 2;
    if (strcmp(argv[1], "load") == 0) {
        result = artel_model_load(ctx, argv[2], &model) < 0 ? complain(ctx) : 0;
        if (!result) {
            print_model(model);
            artel_model_destroy(model);
        }
    } else if (strcmp(argv[1], "convert") == 0 && argc > 3) {
        result = convert(ctx, argv + 2, argc - 2);
    } else if (strcmp(argv[1], "compile") == 0 && argc > 6) {
        result = compile(ctx, argv + 2);
    } else if (strcmp(argv[1], "summary") == 0) {
        result = summarise(ctx, argv[2]);
    } else if (strcmp(argv[1], "build") == 0 && argc > 3) {
        result = build(ctx, argv[2], argv[3]);
    } else if (strcmp(argv[1], "digest") == 0) {
        char digest[65];
        result = artel__keras_digest_file(ctx, argv[2], false, digest) < 0 ? complain(ctx) : 0;
        if (!result) puts(digest);
    } else if (strcmp(argv[1], "mutants") == 0 && argc > 4) {
        result = mutants(ctx, argv[2], atol(argv[3]), strtoull(argv[4], NULL, 10));
    }
    artel_context_destroy(ctx);
    return result;
}
