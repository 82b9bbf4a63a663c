/* SPDX-License-Identifier: Apache-2.0 */
/* Variables by their verbs: parts of the plain form, images of ranges, copies, hashes, in every layout. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "exec/state.h"

enum {
    VARIABLES = 5,
    ROWS = 5,
    COLUMNS = 70, /* two panels and a narrow one */
    MOST = ROWS * COLUMNS
};

typedef struct fixture {
    artel_context *ctx;
    artel__arena arena;
    artel__variables variables;
    artel__state *state;
    float plain[VARIABLES][MOST];
} fixture;

static int64_t count_of(const fixture *f, int i)
{
    return artel_shape_count(&f->variables.item[i].shape);
}

static void open_fixture(fixture *f)
{
    *f = (fixture){.ctx = NULL};
    assert_int_equal(artel_context_create(NULL, &f->ctx), ARTEL_OK);
    artel__arena_init(&f->arena, f->ctx);
    artel__variables_init(&f->variables, &f->arena);
    artel_shape matrix = artel__shape(2, (int64_t)ROWS, (int64_t)COLUMNS), vector = artel__shape(1, (int64_t)7),
                scalar = {.rank = 0};
    const artel_shape *const shape[VARIABLES] = {&matrix, &vector, &matrix, &scalar, &vector};
    const int64_t rows[VARIABLES] = {ROWS, 0, 0, 0, 0};
    for (int i = 0; i < VARIABLES; i++)
        assert_int_equal(
            artel__variables_add(&f->variables, "v", ARTEL__VARIABLE_TRAINABLE, ARTEL_DTYPE_FLOAT32, shape[i], rows[i]),
            i);
    assert_int_equal(artel__state_create(f->ctx, &f->variables, &f->state), ARTEL_OK);
    for (int i = 0; i < VARIABLES; i++) {
        for (int k = 0; k < MOST; k++) f->plain[i][k] = (float)(1000 * i + k + 1);
        artel__state_store(f->state, i, f->plain[i]);
    }
}

static void close_fixture(fixture *f)
{
    artel__state_destroy(f->state);
    artel__arena_fini(&f->arena);
    artel_context_destroy(f->ctx);
}

static void assert_holds(const fixture *f, const artel__state *state, int variable)
{
    float found[MOST];
    artel__state_fetch(state, variable, found);
    assert_memory_equal(found, f->plain[variable], (size_t)count_of(f, variable) * sizeof(float));
}

/* Every part of every variable, read and written alone. */
static void parts(void **unused)
{
    (void)unused;
    fixture f;
    open_fixture(&f);
    for (int i = 0; i < VARIABLES; i++) {
        for (int64_t first = 0; first < count_of(&f, i); first += 13) {
            for (int64_t count = 0; first + count <= count_of(&f, i); count += 31) {
                float part[MOST];
                artel__state_fetch_part(f.state, i, first, count, part);
                assert_memory_equal(part, f.plain[i] + first, (size_t)count * sizeof(float));
                for (int64_t k = 0; k < count; k++) f.plain[i][first + k] = -f.plain[i][first + k];
                artel__state_store_part(f.state, i, first, count, f.plain[i] + first);
                assert_holds(&f, f.state, i);
            }
        }
    }
    close_fixture(&f);
}

static void images(void **unused)
{
    (void)unused;
    fixture f;
    open_fixture(&f);
    artel__variable_range all = artel__all_of(&f.variables), middle = {1, 2};
    artel__state *other;
    uint8_t *image = malloc(artel__image_bytes(&f.variables, all)),
            *part = malloc(artel__image_bytes(&f.variables, middle));
    assert_int_equal(artel__state_create(f.ctx, &f.variables, &other), ARTEL_OK);
    artel__state_image(f.state, all, image);
    artel__state_image(f.state, middle, part);
    size_t before = artel__image_bytes(&f.variables, (artel__variable_range){0, 1});
    assert_memory_equal(part, image + before, artel__image_bytes(&f.variables, middle));
    artel__state_restore(other, middle, part);
    assert_holds(&f, other, 1);
    assert_holds(&f, other, 2);
    assert_true(artel__state_hash(other, middle) == artel__state_hash(f.state, middle));
    assert_true(artel__state_hash(other, all) != artel__state_hash(f.state, all));
    artel__state_copy(other, f.state, all);
    assert_true(artel__state_hash(other, all) == artel__state_hash(f.state, all));
    for (int i = 0; i < VARIABLES; i++) {
        float found[MOST];
        artel__image_fetch(&f.variables, image, i, found);
        assert_memory_equal(found, f.plain[i], (size_t)count_of(&f, i) * sizeof(float));
        f.plain[i][0] = 0.5f;
        artel__image_store(&f.variables, image, i, f.plain[i]);
    }
    artel__state_restore(other, all, image);
    for (int i = 0; i < VARIABLES; i++) assert_holds(&f, other, i);
    free(image);
    free(part);
    artel__state_destroy(other);
    close_fixture(&f);
}

static void fills(void **unused)
{
    (void)unused;
    fixture f;
    open_fixture(&f);
    artel__state_fill(f.state, 2, 0.25f);
    for (int k = 0; k < MOST; k++) f.plain[2][k] = 0.25f;
    for (int i = 0; i < VARIABLES; i++) assert_holds(&f, f.state, i);
    artel__state_assign(f.state, 4, 1);
    memcpy(f.plain[4], f.plain[1], sizeof f.plain[4]);
    for (int i = 0; i < VARIABLES; i++) assert_holds(&f, f.state, i);
    artel__variable_range one = {3, 1};
    uint64_t hash = artel__state_hash(f.state, one);
    artel__state_fill(f.state, 3, 8.0f);
    assert_true(hash != artel__state_hash(f.state, one));
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(parts), cmocka_unit_test(images), cmocka_unit_test(fills)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
