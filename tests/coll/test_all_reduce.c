/* SPDX-License-Identifier: Apache-2.0 */
/* All-reduce against the naive tree: any number of ranks and shards, any kinds and counts together, all algorithms; the
 * bits are equal, the inputs untouched, steady calls make no heap calls, and mixed-up ranks get a message, not a hang.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "help_ranks.h"
#include "kernel/moments.h"

static void merge_moments(void *out, const void *left, const void *right, int64_t count)
{
    if (out != left) memcpy(out, left, (size_t)count * sizeof(double));
    artel__moments_merge(out, right, count / 3);
}

typedef struct column {
    artel_dtype dtype;
    int kind; /* 0 sum, 1 max, 2 moments */
    int64_t count;
} column;

enum {
    MOST_COLUMNS = 8,
    MOST_RANKS = 16
};

typedef struct scene {
    artel_context *ctx;
    int32_t shards;
    int ranks, columns;
    const column *column;
    const artel__all_reduce_def *def;
    artel__coll_itinerary itinerary[MOST_RANKS];
    artel__coll_layout layout;
    artel__fabric *fabric;
    artel__coll_merge_fn *merge[MOST_COLUMNS];
    char *leaf[MOST_COLUMNS], *truth[MOST_COLUMNS];
    char *in[MOST_RANKS][MOST_COLUMNS], *before[MOST_RANKS][MOST_COLUMNS], *out[MOST_RANKS][MOST_COLUMNS];
    artel__all_reduce task[MOST_RANKS];
    artel__coll_segment segment[MOST_RANKS][MOST_COLUMNS];
    artel_status status[MOST_RANKS];
    int calls;
    int64_t extra; /* elements that rank 1 believes there are more */
    bool in_place; /* sums and maxima take the place of the first node block */
} scene;

static size_t block_bytes(const scene *s, int c)
{
    return (size_t)s->column[c].count * artel_dtype_size(s->column[c].dtype);
}

/* Floats of both signs and 20 binary orders, so that the order of additions shows. */
static void fill_leaf(const column *c, char *to, int64_t elements, uint64_t seed)
{
    for (int64_t i = 0; i < elements; i++) {
        uint64_t bits = help_mix(seed, (uint64_t)i);
        double value = ((double)(bits & 0xffffff) - 8388608.0) * (double)(1u << (bits >> 24 & 31) >> 12);
        if (c->dtype == ARTEL_DTYPE_FLOAT32)
            ((float *)to)[i] = (float)value * 0.37f;
        else if (c->dtype == ARTEL_DTYPE_FLOAT64)
            ((double *)to)[i] = value * 0.37;
        else if (c->dtype == ARTEL_DTYPE_INT32)
            ((int32_t *)to)[i] = (int32_t)bits;
        else
            ((int64_t *)to)[i] = (int64_t)bits;
    }
}

static void fill_moments(char *to, int64_t elements, uint64_t seed)
{
    double *m = (double *)to;
    int64_t columns = elements / 3;
    for (int64_t i = 0; i < columns; i++) {
        uint64_t bits = help_mix(seed, (uint64_t)i);
        m[i] = (double)(bits & 3);
        m[columns + i] = m[i] == 0 ? 0 : (double)(bits >> 40) * 0.01;
        m[2 * columns + i] = m[i] < 2 ? 0 : (double)(bits >> 20 & 0xffff) * 0.3;
    }
}

static void make_column(scene *s, int c)
{
    const column *col = &s->column[c];
    size_t bytes = block_bytes(s, c);
    s->merge[c] = col->kind == 2   ? merge_moments
                  : col->kind == 1 ? artel__coll_max(col->dtype)
                                   : artel__coll_sum(col->dtype);
    s->leaf[c] = malloc(bytes * (size_t)s->shards + 64);
    s->truth[c] = malloc(bytes + 64);
    char *scratch = malloc(bytes * 16 + 64);
    for (int32_t v = 0; v < s->shards; v++) {
        char *to = s->leaf[c] + (size_t)v * bytes;
        uint64_t seed = (uint64_t)(v + 1000 * c);
        if (col->kind == 2)
            fill_moments(to, col->count, seed);
        else
            fill_leaf(col, to, col->count, seed);
    }
    help_tree tree = {s->merge[c], col->count, artel_dtype_size(col->dtype), s->leaf[c]};
    help_tree_value(&tree, 0, s->shards, s->truth[c], scratch);
    for (int r = 0; r < s->ranks; r++) {
        int32_t first = s->layout.first[r], nodes = artel__coll_owned(&s->layout, r);
        s->in[r][c] = malloc(bytes * (size_t)nodes + 64);
        s->before[r][c] = malloc(bytes * (size_t)nodes + 64);
        s->out[r][c] = malloc(bytes + 64);
        memset(s->out[r][c], 0xa5, bytes + 64);
        for (int32_t n = 0; n < nodes; n++) {
            artel__fold_node node = s->layout.node[first + n].shards;
            help_tree_value(&tree, node.first, node.count, s->in[r][c] + (size_t)n * bytes, scratch);
        }
        memcpy(s->before[r][c], s->in[r][c], bytes * (size_t)nodes);
    }
    free(scratch);
}

static void make_scene(scene *s, int32_t shards, int ranks, const column *columns, int count)
{
    memset(s, 0, sizeof *s);
    s->shards = shards;
    s->ranks = ranks;
    s->column = columns;
    s->columns = count;
    s->calls = 1;
    s->def = artel__all_reduces[0];
    assert_int_equal(artel_context_create(NULL, &s->ctx), ARTEL_OK);
    assert_int_equal(artel__coll_layout_init_runs(s->ctx, shards, ranks, NULL, &s->layout), ARTEL_OK);
    assert_int_equal(artel__fabric_create(s->ctx, ranks, false, &s->fabric), ARTEL_OK);
    for (int c = 0; c < count; c++) make_column(s, c);
    for (int r = 0; r < ranks; r++)
        artel__all_reduce_init(&s->task[r], artel__fabric_endpoint(s->fabric, r), &s->layout);
}

/* Hosts have two ranks each, the first one has one. */
static void choose(scene *s, const artel__all_reduce_def *def)
{
    int32_t start[MOST_RANKS + 1];
    int host[MOST_RANKS];
    artel_all_reduce_route route;
    artel_all_reduce_group group = {s->ranks, host};
    artel__coll_tree tree = {.shards = s->layout.width, .present = s->shards, .ranks = s->ranks, .start = start};
    s->def = def;
    for (int r = 0; r < s->ranks; r++) artel__coll_itinerary_fini(&s->itinerary[r]);
    if (def->ops != &artel__all_reduce_relay_ops || s->ranks == 1) return;
    for (int r = 0; r <= s->ranks; r++) start[r] = artel__replica_first_shard(s->shards, s->ranks, r);
    for (int r = 0; r < s->ranks; r++) host[r] = (r + 1) / 2;
    assert_int_equal(artel__coll_route_make(s->ctx, &def->route, &group, &route), ARTEL_OK);
    for (int r = 0; r < s->ranks; r++)
        assert_int_equal(artel__coll_itinerary_make(&route, &tree, def->name, r, &s->itinerary[r]), ARTEL_OK);
    artel__coll_route_fini(&route);
}

static void free_scene(scene *s)
{
    for (int r = 0; r < s->ranks; r++) artel__coll_itinerary_fini(&s->itinerary[r]);
    for (int c = 0; c < s->columns; c++) {
        free(s->leaf[c]);
        free(s->truth[c]);
        for (int r = 0; r < s->ranks; r++) {
            free(s->in[r][c]);
            free(s->before[r][c]);
            free(s->out[r][c]);
        }
    }
    for (int r = 0; r < s->ranks; r++) artel__all_reduce_fini(&s->task[r]);
    artel__fabric_destroy(s->fabric);
    artel__coll_layout_fini(s->ctx, &s->layout);
    artel_context_destroy(s->ctx);
}

static bool is_in_place(const scene *s, int c)
{
    return s->in_place && s->column[c].kind != 2;
}

static void call(void *user, int r)
{
    scene *s = user;
    artel__all_reduce *task = &s->task[r];
    for (int c = 0; c < s->columns; c++) {
        s->segment[r][c] = (artel__coll_segment){.merge = s->merge[c],
                                                 .count = s->column[c].count + (r == 1 ? s->extra : 0),
                                                 .element = (int32_t)artel_dtype_size(s->column[c].dtype),
                                                 .whole = s->column[c].kind == 2,
                                                 .in = s->in[r][c],
                                                 .out = is_in_place(s, c) ? s->in[r][c] : s->out[r][c]};
    }
    task->segment = s->segment[r];
    task->segments = s->columns;
    task->algorithm = s->def->exchange;
    task->base.ops = s->itinerary[r].ctx ? s->def->ops : &artel__all_reduce_exchange_ops;
    task->itinerary = &s->itinerary[r];
    artel__coll_task *tasks[] = {&task->base};
    for (int i = 0; i < s->calls && s->status[r] == ARTEL_OK; i++) {
        task->base.frame = (artel__frame){.generation = 3, .step = (uint64_t)i, .collective = 7};
        s->status[r] = artel__coll_run(task->base.endpoint, tasks, 1);
    }
}

static void check_scene(const scene *s)
{
    for (int r = 0; r < s->ranks; r++) {
        assert_int_equal(s->status[r], ARTEL_OK);
        for (int c = 0; c < s->columns; c++) {
            size_t bytes = block_bytes(s, c), untouched = is_in_place(s, c) ? bytes : 0;
            size_t all = bytes * (size_t)artel__coll_owned(&s->layout, r);
            assert_memory_equal(untouched ? s->in[r][c] : s->out[r][c], s->truth[c], bytes);
            assert_int_equal((uint8_t)s->out[r][c][bytes], 0xa5);
            assert_memory_equal(s->in[r][c] + untouched, s->before[r][c] + untouched, all - untouched);
        }
    }
}

static void check(int32_t shards, int ranks, const column *columns, int count)
{
    scene *s = malloc(sizeof *s);
    make_scene(s, shards, ranks, columns, count);
    for (int a = 0; artel__all_reduces[a / 2]; a++) {
        choose(s, artel__all_reduces[a / 2]);
        s->in_place = a & 1;
        help_run_ranks(ranks, call, s);
        check_scene(s);
        for (int r = 0; r < ranks; r++) {
            for (int c = 0; c < count; c++) {
                memset(s->out[r][c], 0xa5, block_bytes(s, c) + 64);
                memcpy(s->in[r][c], s->before[r][c], block_bytes(s, c) * (size_t)artel__coll_owned(&s->layout, r));
            }
        }
    }
    free_scene(s);
    free(s);
}

static const int rank_counts[] = {1, 2, 3, 5, 8, 16};

static void every_rank_and_shard_count(void **state)
{
    (void)state;
    static const column columns[] = {{ARTEL_DTYPE_FLOAT32, 0, 4099},  {ARTEL_DTYPE_FLOAT32, 0, 0},
                                     {ARTEL_DTYPE_FLOAT64, 2, 3 * 5}, {ARTEL_DTYPE_INT64, 0, 7},
                                     {ARTEL_DTYPE_FLOAT64, 0, 33},    {ARTEL_DTYPE_FLOAT32, 1, 1}};
    for (size_t i = 0; i < sizeof rank_counts / sizeof *rank_counts; i++) {
        for (int32_t shards = 1; shards <= 256; shards *= 2) {
            if (rank_counts[i] <= shards) check(shards, rank_counts[i], columns, 6);
        }
    }
}

/* As many as replicas, and fewer replicas than there were (the fast class of devices). */
static void shards_that_are_no_power_of_two(void **state)
{
    (void)state;
    static const column columns[] = {
        {ARTEL_DTYPE_FLOAT32, 0, 4099}, {ARTEL_DTYPE_FLOAT64, 2, 3 * 5}, {ARTEL_DTYPE_INT64, 1, 7}};
    static const int32_t shards[] = {3, 5, 6, 7, 11, 13};
    for (size_t i = 0; i < sizeof shards / sizeof *shards; i++) {
        check(shards[i], 2, columns, 3);
        check(shards[i], shards[i] / 2 + 1, columns, 3);
        check(shards[i], shards[i], columns, 3);
    }
}

static void every_element_count(void **state)
{
    (void)state;
    static const int64_t counts[] = {0, 1, 2, 5, 4095, 4096, 4097, 8191, 40001};
    for (size_t i = 0; i < sizeof rank_counts / sizeof *rank_counts; i++) {
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
            column columns[] = {{ARTEL_DTYPE_FLOAT32, 0, counts[k]}};
            check(16, rank_counts[i], columns, 1);
        }
    }
}

static void large_and_mixed(void **state)
{
    (void)state;
    static const column columns[] = {{ARTEL_DTYPE_FLOAT32, 0, 100003},   {ARTEL_DTYPE_FLOAT32, 0, 13},
                                     {ARTEL_DTYPE_FLOAT64, 2, 3 * 3001}, {ARTEL_DTYPE_FLOAT64, 0, 12289},
                                     {ARTEL_DTYPE_INT32, 0, 5001},       {ARTEL_DTYPE_INT64, 1, 5000},
                                     {ARTEL_DTYPE_FLOAT64, 1, 4097},     {ARTEL_DTYPE_INT32, 1, 9}};
    check(8, 2, columns, 8);
    check(8, 3, columns, 8);
    check(8, 5, columns, 8);
    check(16, 16, columns, 8);
}

static void nothing_at_all(void **state)
{
    (void)state;
    check(8, 3, NULL, 0);
}

static void steady_calls_take_no_memory(void **state)
{
    (void)state;
    static const column columns[] = {{ARTEL_DTYPE_FLOAT32, 0, 20000}, {ARTEL_DTYPE_FLOAT64, 2, 300}};
    scene *s = malloc(sizeof *s);
    make_scene(s, 8, 5, columns, 2);
    for (int a = 0; artel__all_reduces[a]; a++) {
        choose(s, artel__all_reduces[a]);
        s->calls = 1;
        help_run_ranks(s->ranks, call, s);
        uint64_t before = artel__heap_calls(s->ctx);
        s->calls = 50;
        help_run_ranks(s->ranks, call, s);
        check_scene(s);
        assert_int_equal(artel__heap_calls(s->ctx), before);
    }
    free_scene(s);
    free(s);
}

/* Each allocation fails once, on whichever rank it hits: that rank says so, the others are cancelled, and the next
 * attempt works. */
static void fail_allocations(const artel__all_reduce_def *def)
{
    static const column columns[] = {{ARTEL_DTYPE_FLOAT32, 0, 9000}};
    bool failed = true;
    for (uint64_t n = 1; failed; n++) {
        scene *s = malloc(sizeof *s);
        make_scene(s, 8, 3, columns, 1);
        choose(s, def);
        artel__fail_allocation_after(s->ctx, n);
        help_run_ranks(s->ranks, call, s);
        artel__fail_allocation_after(s->ctx, 0);
        failed = false;
        for (int r = 0; r < s->ranks; r++) {
            failed = failed || s->status[r] == ARTEL_ERROR_NO_MEMORY;
            assert_true(s->status[r] == ARTEL_OK || s->status[r] == ARTEL_ERROR_NO_MEMORY ||
                        s->status[r] == ARTEL_ERROR_CANCELLED);
            s->status[r] = ARTEL_OK;
            artel__net_resume(artel__fabric_endpoint(s->fabric, r));
        }
        help_run_ranks(s->ranks, call, s);
        check_scene(s);
        free_scene(s);
        free(s);
    }
}

static void failing_allocations(void **state)
{
    (void)state;
    for (int a = 0; artel__all_reduces[a]; a++) fail_allocations(artel__all_reduces[a]);
}

static void disagree(const artel__all_reduce_def *def)
{
    static const column columns[] = {{ARTEL_DTYPE_FLOAT32, 0, 50}};
    scene *s = malloc(sizeof *s);
    make_scene(s, 2, 2, columns, 1);
    s->extra = -10;
    choose(s, def);
    help_run_ranks(s->ranks, call, s);
    bool run = s->status[0] == ARTEL_ERROR_RUN || s->status[1] == ARTEL_ERROR_RUN;
    assert_true(run && s->status[0] < 0 && s->status[1] < 0);
    assert_non_null(strstr(artel_context_error(s->ctx)->what, "were expected"));
    free_scene(s);
    free(s);
}

static void ranks_that_disagree_are_told(void **state)
{
    (void)state;
    for (int a = 1; artel__all_reduces[a]; a++)
        disagree(artel__all_reduces[a]); /* direct: slices alike, so equal lengths */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rank_and_shard_count),
        cmocka_unit_test(shards_that_are_no_power_of_two),
        cmocka_unit_test(every_element_count),
        cmocka_unit_test(large_and_mixed),
        cmocka_unit_test(nothing_at_all),
        cmocka_unit_test(steady_calls_take_no_memory),
        cmocka_unit_test(failing_allocations),
        cmocka_unit_test(ranks_that_disagree_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
