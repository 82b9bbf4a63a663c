/* SPDX-License-Identifier: Apache-2.0 */
/* The sparse all-reduce among threads gives, to the bit, the rows that the dense one of arrays with zeros elsewhere
 * gives; ids that repeat, members without rows, rows without elements, and members that differ. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "artel/communicator.h"
#include "base/context.h"
#include "help_ranks.h"
#include "tensor/shape.h"

enum {
    MOST_MEMBERS = 6,
    IDS = 50,
    MOST_WIDTH = 700
};

static const artel_dtype dtypes[] = {ARTEL_DTYPE_FLOAT32,  ARTEL_DTYPE_FLOAT64, ARTEL_DTYPE_FLOAT16,
                                     ARTEL_DTYPE_BFLOAT16, ARTEL_DTYPE_INT32,   ARTEL_DTYPE_INT64};

typedef struct scene {
    int members;
    artel_context *ctx[MOST_MEMBERS];
    artel_communicator *c[MOST_MEMBERS];
    atomic_int wrong;
    uint64_t seed;
    artel_dtype dtype;
    artel_reduction reduction;
    int64_t width;
} scene;

static void make_scene(scene *s, int members)
{
    memset(s, 0, sizeof *s);
    s->members = members;
    for (int r = 0; r < members; r++) assert_int_equal(artel_context_create(NULL, &s->ctx[r]), ARTEL_OK);
    assert_int_equal(artel_communicator_create(s->ctx, members, s->c), ARTEL_OK);
}

static void free_scene(scene *s)
{
    for (int r = 0; r < s->members; r++) {
        artel_communicator_destroy(s->c[r]);
        artel_context_destroy(s->ctx[r]);
    }
}

static void expect(scene *s, bool right, int line)
{
    if (right) return;
    print_message("line %d\n", line);
    atomic_fetch_add(&s->wrong, 1);
}
#define EXPECT(right) expect(s, right, __LINE__)

static void store(artel_dtype dtype, void *row, int64_t i, uint64_t bits)
{
    float value = (bits & 7) == 0 ? -0.0f : ((float)(bits & 0xffff) - 32768.0f) * 0.0037f;
    double wide = (double)value * 1.37;
    uint16_t half = dtype == ARTEL_DTYPE_FLOAT16 ? artel__float_to_half(value) : artel__float_to_bfloat16(value);
    size_t size = artel_dtype_size(dtype);
    const void *from = dtype == ARTEL_DTYPE_FLOAT32   ? (void *)&value
                       : dtype == ARTEL_DTYPE_FLOAT64 ? (void *)&wide
                       : size == 2                    ? (void *)&half
                                                      : (void *)&bits;
    memcpy((char *)row + (size_t)i * size, from, size);
}

/* A member's rows, of different ids in any order; member 1 has none. Returns their number. */
static int64_t make_rows(const scene *s, int r, int64_t *id, char *rows)
{
    int64_t count = 0, stride = 7;
    for (int64_t i = 0; i < IDS && r != 1; i++) {
        int64_t wanted = i * stride % IDS; /* 7 and IDS have no common divisor */
        if (help_mix(s->seed + 3, (uint64_t)(wanted * 8 + r)) % 3) continue;
        id[count] = wanted * 1000003 - 25000000;
        for (int64_t k = 0; k < s->width; k++)
            store(s->dtype, rows, count * s->width + k, help_mix(s->seed + (uint64_t)r, (uint64_t)(wanted * 4096 + k)));
        count++;
    }
    return count;
}

static void compare_with_dense(void *user, int r)
{
    scene *s = user;
    size_t bytes = (size_t)s->width * artel_dtype_size(s->dtype);
    int64_t id[IDS];
    char *rows = malloc(IDS * bytes + 8), *dense = calloc(IDS, bytes + 8), *zero = calloc(1, bytes + 8);
    artel_sparse in = {.dtype = s->dtype, .reduction = s->reduction, .width = s->width, .id = id, .row = rows}, out;
    in.count = make_rows(s, r, id, rows);
    for (int64_t i = 0; i < in.count; i++)
        memcpy(dense + (size_t)((id[i] + 25000000) / 1000003) * bytes, rows + (size_t)i * bytes, bytes);
    artel_collective call = {
        .dtype = s->dtype, .reduction = s->reduction, .count = IDS * s->width, .in = dense, .out = dense};
    EXPECT(artel_communicator_all_reduce(s->c[r], &call) == ARTEL_OK);
    EXPECT(artel_communicator_all_reduce_sparse(s->c[r], &in, &out) == ARTEL_OK);
    int64_t at = 0;
    for (int64_t i = 0; i < IDS; i++) {
        bool there = at < out.count && out.id[at] == i * 1000003 - 25000000;
        EXPECT(memcmp(there ? (const char *)out.row + (size_t)at * bytes : zero, dense + (size_t)i * bytes, bytes) ==
               0);
        at += there;
    }
    EXPECT(at == out.count && out.width == s->width && out.dtype == s->dtype);
    free(rows);
    free(dense);
    free(zero);
}

static void as_dense(void **state)
{
    (void)state;
    static const int64_t widths[] = {1, 3, 64, MOST_WIDTH, 0};
    for (int members = 1; members <= MOST_MEMBERS; members++) {
        scene s;
        make_scene(&s, members);
        for (size_t d = 0; d < ARTEL__COUNT(dtypes); d++) {
            for (size_t w = 0; w < ARTEL__COUNT(widths); w++) {
                s.seed = (uint64_t)(members * 1000) + d * 10 + w;
                s.dtype = dtypes[d];
                s.width = widths[w];
                s.reduction = w % 2 ? ARTEL_REDUCTION_MEAN : ARTEL_REDUCTION_SUM;
                help_run_ranks(members, compare_with_dense, &s);
            }
        }
        assert_int_equal(atomic_load(&s.wrong), 0);
        free_scene(&s);
    }
}

/* Ids that repeat within a member are added; int64 sums do not depend on an order. */
static void add_repeated(void *user, int r)
{
    scene *s = user;
    int64_t id[] = {9, -4, 9, 9, 2}, row[] = {1, 10, 2, 3, 100};
    artel_sparse in = {.dtype = ARTEL_DTYPE_INT64,
                       .width = 1,
                       .count = r == 0   ? 5
                                : r == 2 ? 2
                                         : 0,
                       .id = id,
                       .row = row},
                 out;
    EXPECT(artel_communicator_all_reduce_sparse(s->c[r], &in, &out) == ARTEL_OK);
    const int64_t *sum = out.row;
    EXPECT(out.count == 3 && out.id[0] == -4 && out.id[1] == 2 && out.id[2] == 9);
    EXPECT(out.count == 3 && sum[0] == 20 && sum[1] == 100 && sum[2] == 7);
}

static void differ(void *user, int r)
{
    scene *s = user;
    int64_t id[] = {1, 2};
    float row[6] = {0};
    artel_sparse in = {.width = r == 1 ? 3 : 2, .count = 2, .id = id, .row = row}, out;
    EXPECT(artel_communicator_all_reduce_sparse(s->c[r], &in, &out) == ARTEL_ERROR_INVALID);
    EXPECT(artel_communicator_renew(s->c[r]) == ARTEL_OK);
    if (r == 2) in.reduction = ARTEL_REDUCTION_MAX;
    in.width = 2;
    EXPECT(artel_communicator_all_reduce_sparse(s->c[r], &in, &out) ==
           (r == 2 ? ARTEL_ERROR_UNSUPPORTED : ARTEL_ERROR_INVALID));
    if (r != 2) EXPECT(strstr(artel_context_error(s->ctx[r])->what, "member 2") != NULL);
    EXPECT(artel_communicator_renew(s->c[r]) == ARTEL_OK);
    in.reduction = ARTEL_REDUCTION_SUM;
    if (r == 0) in.id = NULL;
    EXPECT(artel_communicator_all_reduce_sparse(s->c[r], &in, &out) == ARTEL_ERROR_INVALID);
}

static void repeated_and_wrong(void **state)
{
    (void)state;
    scene s;
    make_scene(&s, 3);
    help_run_ranks(3, add_repeated, &s);
    help_run_ranks(3, differ, &s);
    assert_int_equal(atomic_load(&s.wrong), 0);
    free_scene(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_dense), cmocka_unit_test(repeated_and_wrong)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
