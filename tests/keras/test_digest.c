/* SPDX-License-Identifier: Apache-2.0 */
/* The digest is SHA-256 over exactly the bytes that keras/model.h says. */
#include "help_models.h"

#include "base/hash.h"

static const float kernel[6] = {1, 2, 3, 4, 5, 6}, bias[2] = {-1, 0.5f};

static artel_model *make_dense(const fixture *f)
{
    artel_builder *b;
    artel_model *model;
    artel_shape shape = {1, {3}};
    assert_ok(f, artel_sequential_create(f->ctx, "m", ARTEL_DTYPE_FLOAT32, &shape, &b));
    artel_layer_dense(b, &(artel_dense_options){.units = 2});
    assert_ok(f, artel_sequential_finish(b, &model));
    assert_ok(f, artel_model_set_weight(model, "layers/dense/vars/0", kernel, 6));
    assert_ok(f, artel_model_set_weight(model, "layers/dense/vars/1", bias, 2));
    return model;
}

static void update_text(artel__sha256 *hash, const char *text)
{
    artel__sha256_update(hash, text, strlen(text));
}

static void digest_is_what_the_header_says(void **state)
{
    fixture *f = *state;
    artel_model *model = make_dense(f);
    char digest[65], expected[65];
    artel__sha256 hash;
    artel__sha256_init(&hash);
    update_text(&hash, "layers/dense/vars/0\nfloat32\n(3, 2)\n");
    artel__sha256_update(&hash, kernel, sizeof kernel);
    update_text(&hash, "layers/dense/vars/1\nfloat32\n(2,)\n");
    artel__sha256_update(&hash, bias, sizeof bias);
    artel__sha256_hex(&hash, expected);
    assert_ok(f, artel_model_digest(model, digest));
    assert_string_equal(digest, expected);
    artel_model_destroy(model);
}

static void optimizer_counts_only_when_asked(void **state)
{
    fixture *f = *state;
    artel_model *model = make_dense(f);
    char own[65], with[65], without[65];
    assert_ok(f, artel__keras_digest(model, false, own));
    assert_ok(f, artel__keras_digest(model, true, without));
    assert_string_equal(own, without);
    give_optimizer(model);
    assert_ok(f, artel__keras_digest(model, false, without));
    assert_ok(f, artel__keras_digest(model, true, with));
    assert_string_equal(own, without);
    assert_string_not_equal(own, with);
    artel_model_destroy(model);
}

static void one_bit_changes_it(void **state)
{
    fixture *f = *state;
    artel_model *model = make_dense(f);
    char before[65], after[65];
    float changed[2] = {-1, 0.5f};
    ((unsigned char *)changed)[0] ^= 1;
    assert_ok(f, artel_model_digest(model, before));
    assert_ok(f, artel_model_set_weight(model, "layers/dense/vars/1", changed, 2));
    assert_ok(f, artel_model_digest(model, after));
    assert_string_not_equal(before, after);
    artel_model_destroy(model);
}

static void architectures_have_none(void **state)
{
    fixture *f = *state;
    artel_model *model = make_dense(f);
    char path[128], digest[65];
    assert_ok(f, artel_model_save(model, in_folder(f, "m.json", path, sizeof path)));
    assert_fails(f, artel__keras_digest_file(f->ctx, path, false, digest), ARTEL_ERROR_INVALID, "no weights");
    artel_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(digest_is_what_the_header_says, start_models, stop_models),
        cmocka_unit_test_setup_teardown(optimizer_counts_only_when_asked, start_models, stop_models),
        cmocka_unit_test_setup_teardown(one_bit_changes_it, start_models, stop_models),
        cmocka_unit_test_setup_teardown(architectures_have_none, start_models, stop_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
