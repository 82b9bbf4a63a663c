/* SPDX-License-Identifier: Apache-2.0 */
/* Loading what is damaged, of the wrong kind or of another model; every message names file and thing. Against files
 * that Keras wrote: test_files_keras.py. */
#include "help_models.h"

#include "base/zip.h"
#include "keras/h5.h"
#include "keras/load.h"

static const char small[] = "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"s\", \"layers\": ["
                            "{\"class_name\": \"InputLayer\", \"config\": {\"batch_shape\": [null, 3], \"dtype\": "
                            "\"float32\", \"name\": \"in\"}},"
                            "{\"class_name\": \"Dense\", \"config\": {\"units\": 2, \"name\": \"d\"}}]}}";

static void json_is_told_by_content(void **state)
{
    fixture *f = *state;
    artel_model *model;
    char path[128];
    write_text(f, in_folder(f, "anything.txt", path, sizeof path), small);
    assert_ok(f, artel_model_load(f->ctx, path, &model));
    assert_false(model->initialised);
    assert_null(model->compile_config);
    artel_model_destroy(model);
}

static void what_is_no_model_is_refused(void **state)
{
    fixture *f = *state;
    artel_model *model;
    char path[128];
    static const struct {
        const char *text;
        artel_status status;
        const char *words;
    } cases[] = {
        {"", ARTEL_ERROR_CORRUPT, "empty"},
        {"hello", ARTEL_ERROR_CORRUPT, "not a zip archive"},
        {"{}", ARTEL_ERROR_CORRUPT, "not the record"},
        {"{\"class_name\": ", ARTEL_ERROR_CORRUPT, "m.keras"},
        {"{\"class_name\": \"Sequential\"}", ARTEL_ERROR_CORRUPT, "config"},
        {"{\"class_name\": \"Sequential\", \"config\": {\"layers\": 5}}", ARTEL_ERROR_INVALID, "no layers"},
        {"{\"class_name\": \"Sequential\", \"config\": {\"layers\": [3, null]}}", ARTEL_ERROR_CORRUPT, "class_name"},
        {"{\"class_name\": \"Mine\", \"config\": {}}", ARTEL_ERROR_UNSUPPORTED, "Mine"},
        {"{\"class_name\": 7, \"config\": {}}", ARTEL_ERROR_CORRUPT, "class_name"},
        {"PK\3\4", ARTEL_ERROR_CORRUPT, "m.keras"},
        {"\x89HDF\r\n\x1a\nrubbish", ARTEL_ERROR_CORRUPT, "m.keras"},
    };
    in_folder(f, "m.keras", path, sizeof path);
    for (size_t i = 0; i < ARTEL__COUNT(cases); i++) {
        write_text(f, path, cases[i].text);
        assert_fails(f, artel_model_load(f->ctx, path, &model), cases[i].status, cases[i].words);
    }
    remove(path);
    assert_fails(f, artel_model_load(f->ctx, path, &model), ARTEL_ERROR_NOT_FOUND, "m.keras");
}

static void weights_are_no_model_and_models_no_weights(void **state)
{
    fixture *f = *state;
    artel_model *model = make_mlp(f), *other;
    char path[128];
    assert_ok(f, artel_model_save(model, in_folder(f, "m.weights.h5", path, sizeof path)));
    assert_fails(f, artel_model_load(f->ctx, path, &other), ARTEL_ERROR_INVALID, "no architecture");
    assert_ok(f, artel_model_save(model, in_folder(f, "m.safetensors", path, sizeof path)));
    assert_fails(f, artel_model_load(f->ctx, path, &other), ARTEL_ERROR_INVALID, "no architecture");
    assert_ok(f, artel_model_save(model, in_folder(f, "m.json", path, sizeof path)));
    assert_fails(f, artel_model_load_weights(model, path), ARTEL_ERROR_INVALID, "no weights");
    artel_model_destroy(model);
}

static void other_models_weights_change_nothing(void **state)
{
    fixture *f = *state;
    static const char *const formats[] = {"m.keras", "m.h5", "m.weights.h5", "m.safetensors"};
    artel_model *model = make_mlp(f), *other;
    char path[128], before[65], after[65];
    write_text(f, in_folder(f, "other.json", path, sizeof path), small);
    assert_ok(f, artel_model_load(f->ctx, path, &other));
    assert_ok(f, artel_model_initialise(other, 1));
    assert_ok(f, artel_model_digest(other, before));
    for (size_t i = 0; i < ARTEL__COUNT(formats); i++) {
        assert_ok(f, artel_model_save(model, in_folder(f, formats[i], path, sizeof path)));
        assert_fails(f, artel_model_load_weights(other, path), ARTEL_ERROR_INVALID, i == 1 ? "layers" : "(3, 4)");
        assert_ok(f, artel_model_digest(other, after));
        assert_string_equal(before, after);
    }
    artel_model_destroy(other);
    artel_model_destroy(model);
}

/* A file with the model's tree after `change`. */
typedef void change_fn(artel__arena *arena, artel__h5_node *root);

static void save_changed(fixture *f, const char *path, change_fn *change)
{
    static const float values[6] = {1, 2, 3, 4, 5, 6};
    artel__arena arena;
    artel__mapping bytes;
    artel__arena_init(&arena, f->ctx);
    artel__h5_node *root = artel__h5_root(&arena), *vars = artel__h5_groups(&arena, root, "layers/dense/vars");
    artel__h5_dataset(&arena, vars, "0", ARTEL_DTYPE_FLOAT32, &(artel_shape){2, {3, 2}}, values);
    artel__h5_dataset(&arena, vars, "1", ARTEL_DTYPE_FLOAT32, &(artel_shape){1, {2}}, values);
    change(&arena, root);
    assert_ok(f, artel__h5_write(f->ctx, path, root, &bytes));
    assert_ok(f, artel__write_file(f->ctx, path, bytes.bytes, bytes.size));
    artel__h5_release(&bytes);
    artel__arena_fini(&arena);
}

static void add_extra_groups(artel__arena *arena, artel__h5_node *root)
{
    artel__h5_groups(arena, root, "layers/dropout/vars");
    artel__h5_groups(arena, root, "layers/dense/seed_generator/vars");
}

static void add_variable(artel__arena *arena, artel__h5_node *root)
{
    static const float values[2];
    artel__h5_dataset(arena, artel__h5_groups(arena, root, "layers/dense/vars"), "2", ARTEL_DTYPE_FLOAT32,
                      &(artel_shape){1, {2}}, values);
}

static void rename_variable(artel__arena *arena, artel__h5_node *root)
{
    artel__h5_node *vars = artel__h5_groups(arena, root, "layers/dense/vars");
    vars->last->name = "7";
}

static void make_old(artel__arena *arena, artel__h5_node *root)
{
    (void)arena;
    root->first->name = "_layer_checkpoint_dependencies";
}

static void trees_follow_keras_rules(void **state)
{
    fixture *f = *state;
    artel_model *model;
    char path[128], json[128];
    write_text(f, in_folder(f, "m.json", json, sizeof json), small);
    assert_ok(f, artel_model_load(f->ctx, json, &model));
    in_folder(f, "m.weights.h5", path, sizeof path);
    save_changed(f, path, add_extra_groups);
    assert_ok(f, artel_model_load_weights(model, path));
    save_changed(f, path, make_old);
    assert_ok(f, artel_model_load_weights(model, path));
    save_changed(f, path, add_variable);
    assert_fails(f, artel_model_load_weights(model, path), ARTEL_ERROR_INVALID,
                 "layers/dense/vars of layer \"d\" (Dense) holds 3 variables, expected 2");
    save_changed(f, path, rename_variable);
    assert_fails(f, artel_model_load_weights(model, path), ARTEL_ERROR_INVALID, "layers/dense/vars/1");
    artel_model_destroy(model);
}

static void archives_need_their_members(void **state)
{
    fixture *f = *state;
    artel_model *model;
    char path[128];
    artel__zip_writer zip;
    in_folder(f, "m.keras", path, sizeof path);
    assert_ok(f, artel__zip_create(f->ctx, path, &zip));
    assert_ok(f, artel__zip_add(&zip, "config.json", small, sizeof small - 1));
    assert_ok(f, artel__zip_commit(&zip));
    assert_fails(f, artel_model_load(f->ctx, path, &model), ARTEL_ERROR_CORRUPT, "model.weights.h5 is missing");
    assert_ok(f, artel__zip_create(f->ctx, path, &zip));
    assert_ok(f, artel__zip_add(&zip, "config.json", small, sizeof small - 1));
    assert_ok(f, artel__zip_add(&zip, "model.weights.npz", "x", 1));
    assert_ok(f, artel__zip_commit(&zip));
    assert_fails(f, artel_model_load(f->ctx, path, &model), ARTEL_ERROR_UNSUPPORTED, "model.weights.npz");
    assert_ok(f, artel__zip_create(f->ctx, path, &zip));
    assert_ok(f, artel__zip_add(&zip, "model.weights.h5", "x", 1));
    assert_ok(f, artel__zip_commit(&zip));
    assert_fails(f, artel_model_load(f->ctx, path, &model), ARTEL_ERROR_CORRUPT, "config.json is missing");
}

static void truncated_files_are_refused(void **state)
{
    fixture *f = *state;
    static const char *const formats[] = {"m.keras", "m.h5", "m.json"};
    artel_model *model = make_mlp(f), *other;
    char path[128], *bytes;
    size_t size;
    for (size_t i = 0; i < ARTEL__COUNT(formats); i++) {
        assert_ok(f, artel_model_save(model, in_folder(f, formats[i], path, sizeof path)));
        assert_ok(f, artel__read_file(f->ctx, path, (size_t)1 << 26, &bytes, &size));
        for (size_t part = 1; part < 8; part++) {
            assert_ok(f, artel__write_file(f->ctx, path, bytes, size * part / 8));
            artel_context_clear(f->ctx);
            assert_int_equal(artel_model_load(f->ctx, path, &other), ARTEL_ERROR_CORRUPT);
            assert_non_null(strstr(artel_context_error(f->ctx)->where, formats[i]));
        }
        artel_context_clear(f->ctx);
        artel__free(f->ctx, bytes);
    }
    artel_model_destroy(model);
}

static void every_allocation_may_fail(void **state)
{
    fixture *f = *state;
    static const char *const formats[] = {"m.keras", "m.h5"};
    artel_model *model = make_mlp(f), *other;
    char path[128];
    give_optimizer(model);
    for (size_t i = 0; i < ARTEL__COUNT(formats); i++) {
        bool done = false;
        assert_ok(f, artel_model_save(model, in_folder(f, formats[i], path, sizeof path)));
        for (uint64_t n = 1; n < 500 && !done; n++) {
            artel_context_clear(f->ctx);
            other = NULL;
            artel__fail_allocation_after(f->ctx, n);
            artel_status status = artel_model_load(f->ctx, path, &other);
            artel__fail_allocation_after(f->ctx, 0);
            done = status == ARTEL_OK;
            if (!done) assert_int_equal(status, ARTEL_ERROR_NO_MEMORY);
            artel_model_destroy(other);
        }
        assert_true(done);
    }
    artel_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(json_is_told_by_content, start_models, stop_models),
        cmocka_unit_test_setup_teardown(what_is_no_model_is_refused, start_models, stop_models),
        cmocka_unit_test_setup_teardown(weights_are_no_model_and_models_no_weights, start_models, stop_models),
        cmocka_unit_test_setup_teardown(other_models_weights_change_nothing, start_models, stop_models),
        cmocka_unit_test_setup_teardown(trees_follow_keras_rules, start_models, stop_models),
        cmocka_unit_test_setup_teardown(archives_need_their_members, start_models, stop_models),
        cmocka_unit_test_setup_teardown(truncated_files_are_refused, start_models, stop_models),
        cmocka_unit_test_setup_teardown(every_allocation_may_fail, start_models, stop_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
