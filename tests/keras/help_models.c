/* SPDX-License-Identifier: Apache-2.0 */
/* See help_models.h. */
#include "help_models.h"

#include <unistd.h>

int start_models(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    *state = f;
    if (!f || artel_context_create(NULL, &f->ctx) < 0) return 1;
    strcpy(f->folder, "/tmp/artel-keras-XXXXXX");
    return mkdtemp(f->folder) ? 0 : 1;
}

int stop_models(void **state)
{
    fixture *f = *state;
    artel__remove_tree(f->ctx, f->folder);
    artel_context_destroy(f->ctx);
    free(f);
    return 0;
}

const char *in_folder(const fixture *f, const char *name, char *buffer, size_t size)
{
    snprintf(buffer, size, "%s/%s", f->folder, name);
    return buffer;
}

void assert_ok(const fixture *f, artel_status status)
{
    const artel_error *e = artel_context_error(f->ctx);
    if (status < 0) print_error("%s: %s: %s\n", artel_status_name(status), e->where, e->what);
    assert_int_equal(status, ARTEL_OK);
}

void assert_fails(const fixture *f, artel_status status, artel_status expected, const char *words)
{
    const artel_error *e = artel_context_error(f->ctx);
    if (status != expected || (!strstr(e->what, words) && !strstr(e->where, words)))
        print_error("%s: %s: %s (expected \"%s\")\n", artel_status_name(status), e->where, e->what, words);
    assert_int_equal(status, expected);
    assert_true(strstr(e->what, words) || strstr(e->where, words));
    artel_context_clear(f->ctx);
}

artel_model *make_mlp(const fixture *f)
{
    artel_builder *b;
    artel_model *model;
    artel_shape shape = {1, {3}};
    assert_ok(f, artel_sequential_create(f->ctx, "mlp", ARTEL_DTYPE_FLOAT32, &shape, &b));
    artel_layer_dense(b, &(artel_dense_options){.units = 4, .activation = "relu", .name = "first"});
    artel_layer_batch_normalization(b, NULL);
    artel_layer_dense(b, &(artel_dense_options){.units = 2});
    assert_ok(f, artel_sequential_finish(b, &model));
    assert_ok(f, artel_model_initialise(model, 5));
    assert_ok(f, artel_model_compile(model, "adam", "mse", "mae"));
    return model;
}

static void add_saved(artel_model *model, artel_dtype dtype, artel_shape shape, const void *data)
{
    artel__saved_optimizer *o = &model->optimizer;
    void *array = o->array, *copy;
    size_t bytes = (size_t)artel_shape_count(&shape) * artel_dtype_size(dtype);
    artel__realloc(model->ctx, (size_t)(o->count + 1) * sizeof *o->array, "test", &array);
    artel__alloc(model->ctx, bytes, "test", &copy);
    memcpy(copy, data, bytes);
    o->array = array;
    o->array[o->count++] = (artel__saved_array){dtype, shape, copy};
}

void give_optimizer(artel_model *model)
{
    const int64_t iteration = 7;
    const float rate = 0.125f, slot[6] = {1, 2, 3, 4, 5, 6};
    add_saved(model, ARTEL_DTYPE_INT64, (artel_shape){0}, &iteration);
    add_saved(model, ARTEL_DTYPE_FLOAT32, (artel_shape){0}, &rate);
    add_saved(model, ARTEL_DTYPE_FLOAT32, (artel_shape){2, {2, 3}}, slot);
}

void write_text(const fixture *f, const char *path, const char *text)
{
    assert_ok(f, artel__write_file(f->ctx, path, text, strlen(text)));
}
