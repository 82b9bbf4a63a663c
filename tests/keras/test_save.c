/* SPDX-License-Identifier: Apache-2.0 */
/* Saving: every format comes back, equal models give equal files, failures leave nothing behind. */
#include "help_models.h"

#include <errno.h>

static const char *const formats[] = {"m.keras", "m.h5", "m.weights.h5", "m.safetensors", "m.json", NULL};

static void read_all(fixture *f, const char *path, char **bytes, size_t *size)
{
    assert_ok(f, artel__read_file(f->ctx, path, (size_t)1 << 26, bytes, size));
}

static void formats_come_back(void **state)
{
    fixture *f = *state;
    artel_model *model = make_mlp(f), *back;
    char path[128], digest[65], other[65], all[65];
    give_optimizer(model);
    assert_ok(f, artel__keras_digest(model, false, digest));
    assert_ok(f, artel__keras_digest(model, true, all));
    for (int i = 0; i < 2; i++) {
        assert_ok(f, artel_model_save(model, in_folder(f, formats[i], path, sizeof path)));
        assert_ok(f, artel_model_load(f->ctx, path, &back));
        assert_ok(f, artel__keras_digest(back, true, other));
        assert_string_equal(all, other);
        assert_non_null(back->compile_config);
        artel_model_destroy(back);
        assert_ok(f, artel__keras_digest_file(f->ctx, path, false, other));
        assert_string_equal(digest, other);
    }
    assert_ok(f, artel_model_save(model, in_folder(f, "m.json", path, sizeof path)));
    assert_ok(f, artel_model_load(f->ctx, path, &back));
    assert_false(back->initialised);
    for (int i = 2; i < 4; i++) {
        assert_ok(f, artel_model_save(model, in_folder(f, formats[i], path, sizeof path)));
        assert_ok(f, artel_model_initialise(back, 99));
        assert_ok(f, artel_model_load_weights(back, path));
        assert_ok(f, artel_model_digest(back, other));
        assert_string_equal(digest, other);
        assert_ok(f, artel__keras_digest_file(f->ctx, path, false, other));
        assert_string_equal(digest, other);
    }
    artel_model_destroy(back);
    artel_model_destroy(model);
}

static void learning_rate_is_that_of_the_state(void **state)
{
    fixture *f = *state;
    artel_model *model = make_mlp(f), *back;
    char path[128];
    double rate;
    give_optimizer(model);
    assert_ok(f, artel_model_save(model, in_folder(f, "m.keras", path, sizeof path)));
    assert_ok(f, artel_model_load(f->ctx, path, &back));
    json_t *config = json_object_get(json_object_get(back->compile_config, "optimizer"), "config");
    assert_true(artel__json_number(json_object_get(config, "learning_rate"), &rate));
    assert_true(rate == 0.125);
    json_t *own = json_object_get(json_object_get(model->compile_config, "optimizer"), "config");
    assert_true(artel__json_number(json_object_get(own, "learning_rate"), &rate));
    assert_true(rate != 0.125);
    artel_model_destroy(back);
    artel_model_destroy(model);
}

static void equal_models_give_equal_files(void **state)
{
    fixture *f = *state;
    char one[128], two[128];
    for (int i = 0; formats[i]; i++) {
        char *a, *b;
        size_t m, n;
        artel_model *first = make_mlp(f), *second = make_mlp(f);
        char name[64];
        snprintf(name, sizeof name, "other-%s", formats[i]);
        assert_ok(f, artel_model_save(first, in_folder(f, formats[i], one, sizeof one)));
        assert_ok(f, artel_model_save(second, in_folder(f, name, two, sizeof two)));
        read_all(f, one, &a, &m);
        read_all(f, two, &b, &n);
        assert_int_equal(m, n);
        assert_memory_equal(a, b, n);
        artel__free(f->ctx, a);
        artel__free(f->ctx, b);
        artel_model_destroy(first);
        artel_model_destroy(second);
    }
}

static void unused_models_get_weights(void **state)
{
    fixture *f = *state;
    artel_builder *b;
    artel_model *model, *back;
    artel_shape shape = {1, {3}};
    char path[128], digest[65], other[65];
    assert_ok(f, artel_sequential_create(f->ctx, NULL, ARTEL_DTYPE_FLOAT32, &shape, &b));
    artel_layer_dense(b, &(artel_dense_options){.units = 4});
    assert_ok(f, artel_sequential_finish(b, &model));
    assert_fails(f, artel_model_digest(model, digest), ARTEL_ERROR_INVALID, "no weights");
    assert_ok(f, artel_model_save(model, in_folder(f, "m.keras", path, sizeof path)));
    assert_false(model->initialised);
    assert_ok(f, artel_model_load(f->ctx, path, &back));
    assert_ok(f, artel_model_initialise(model, 0));
    assert_ok(f, artel_model_digest(model, digest));
    assert_ok(f, artel_model_digest(back, other));
    assert_string_equal(digest, other);
    artel_model_destroy(back);
    artel_model_destroy(model);
}

static void unknown_endings_are_refused(void **state)
{
    fixture *f = *state;
    artel_model *model = make_mlp(f);
    char path[128];
    assert_fails(f, artel_model_save(model, in_folder(f, "m.txt", path, sizeof path)), ARTEL_ERROR_INVALID, "ending");
    assert_fails(f, artel_model_save(model, in_folder(f, "no/where.keras", path, sizeof path)), ARTEL_ERROR_NOT_FOUND,
                 "no/where.keras");
    artel_model_destroy(model);
}

static size_t count_entries(fixture *f)
{
    artel__paths paths;
    assert_ok(f, artel__list_directory(f->ctx, f->folder, &paths));
    size_t count = paths.count;
    artel__paths_fini(&paths);
    return count;
}

static void full_disks_leave_nothing(void **state)
{
    fixture *f = *state;
    artel_model *model = make_mlp(f);
    char path[128];
    for (int i = 0; formats[i]; i++) {
        bool done = false;
        for (uint64_t n = 1; n < 200 && !done; n++) {
            artel_context_clear(f->ctx);
            artel__fail_file_after(f->ctx, n, ENOSPC);
            artel_status status = artel_model_save(model, in_folder(f, formats[i], path, sizeof path));
            artel__fail_file_after(f->ctx, 0, 0);
            done = status == ARTEL_OK;
            if (!done) assert_int_equal(count_entries(f), 0);
        }
        assert_true(done);
        remove(path);
    }
    artel_model_destroy(model);
}

static void every_allocation_may_fail(void **state)
{
    fixture *f = *state;
    artel_model *model = make_mlp(f);
    char path[128];
    give_optimizer(model);
    for (int i = 0; formats[i]; i++) {
        bool done = false;
        for (uint64_t n = 1; n < 500 && !done; n++) {
            artel_context_clear(f->ctx);
            artel__fail_allocation_after(f->ctx, n);
            artel_status status = artel_model_save(model, in_folder(f, formats[i], path, sizeof path));
            artel__fail_allocation_after(f->ctx, 0);
            done = status == ARTEL_OK;
            if (!done) {
                assert_int_equal(status, ARTEL_ERROR_NO_MEMORY);
                assert_int_equal(count_entries(f), 0);
            }
        }
        assert_true(done);
        remove(path);
    }
    artel_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(formats_come_back, start_models, stop_models),
        cmocka_unit_test_setup_teardown(learning_rate_is_that_of_the_state, start_models, stop_models),
        cmocka_unit_test_setup_teardown(equal_models_give_equal_files, start_models, stop_models),
        cmocka_unit_test_setup_teardown(unused_models_get_weights, start_models, stop_models),
        cmocka_unit_test_setup_teardown(unknown_endings_are_refused, start_models, stop_models),
        cmocka_unit_test_setup_teardown(full_disks_leave_nothing, start_models, stop_models),
        cmocka_unit_test_setup_teardown(every_allocation_may_fail, start_models, stop_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
