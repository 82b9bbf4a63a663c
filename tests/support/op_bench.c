/* SPDX-License-Identifier: Apache-2.0 */
/* Small graphs of operations. See the header. */
#include "support/op_bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "op/fuse.h"
#include "op/elementwise.h"

static struct {
    bool run[256], differentiated[256];
} covered;

static float uniform(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (float)(*state >> 40) / 16777216.0f;
}

static int op_index(const artel__op_def *op)
{
    for (int i = 0; artel__ops[i]; i++) {
        if (artel__ops[i] == op) return i;
    }
    fail_msg("%s is not in ops.list", op->name);
    return -1;
}

/* -- what a case builds with -- */

static artel__value_id feed(op_graph *g, op_numbers numbers, int64_t limit, artel_dtype dtype, artel_shape shape)
{
    artel__value_id id = artel__graph_input(&g->graph, ARTEL__DOMAIN_ROW, dtype, &shape);
    assert_true(g->feds < OP_FED);
    g->fed[g->feds++] = (op_fed){id, numbers, limit, dtype == ARTEL_DTYPE_FLOAT32};
    return id;
}

artel__value_id op_row(op_graph *g, op_numbers numbers, artel_shape shape)
{
    return feed(g, numbers, 0, numbers == OP_BITS ? ARTEL_DTYPE_BOOL : ARTEL_DTYPE_FLOAT32, shape);
}

artel__value_id op_indices(op_graph *g, int64_t limit, artel_shape shape)
{
    return feed(g, OP_INDICES, limit, ARTEL_DTYPE_INT32, shape);
}

artel__value_id op_weight(op_graph *g, op_numbers numbers, int64_t rows, artel_shape shape)
{
    char name[32];
    snprintf(name, sizeof name, "w%d", g->variables.count);
    assert_true(g->variables.count < 16);
    int index = artel__variables_add(&g->variables, artel__arena_strdup(&g->arena, name), ARTEL__VARIABLE_TRAINABLE,
                                     ARTEL_DTYPE_FLOAT32, &shape, rows);
    assert_true(index >= 0);
    g->variable_numbers[index] = numbers;
    return artel__graph_variable(&g->graph, index);
}

static void fill(float *out, int64_t count, op_numbers numbers, int64_t last, uint64_t seed)
{
    uint64_t state = seed * 77 + 5;
    for (int64_t i = 0; i < count; i++) {
        float u = uniform(&state), sign = uniform(&state) < 0.5f ? -1.0f : 1.0f;
        float apart = (float)i - (float)count / 2;
        if (numbers == OP_SIGNED)
            out[i] = sign * (0.15f + 0.8f * u);
        else
            out[i] = numbers == OP_APART ? apart * 0.1f : numbers == OP_FAR_APART ? apart * 0.4f : 0.2f + 0.75f * u;
    }
    for (int64_t i = count - 1; (numbers == OP_APART || numbers == OP_FAR_APART) && i > 0; i--) {
        int64_t k = (int64_t)(uniform(&state) * (float)(i + 1)) % (i + 1);
        float held = out[i];
        out[i] = out[k];
        out[k] = held;
    }
    for (int64_t i = 0; numbers == OP_SIMPLEX && i + last <= count; i += last) {
        float sum = 0;
        for (int64_t k = 0; k < last; k++) sum += out[i + k];
        for (int64_t k = 0; k < last; k++) out[i + k] /= sum;
    }
}

static int64_t last_axis(const artel_shape *shape)
{
    return shape->rank ? shape->dim[shape->rank - 1] : 1;
}

/* -- a graph with its plan and run -- */

static void check_status(const op_case *c, artel_context *ctx, artel_status status)
{
    if (status < 0) fail_msg("%s: %s: %s", c->name, artel_context_error(ctx)->where, artel_context_error(ctx)->what);
}

static void note_differentiated(const artel__graph *graph)
{
    for (int i = 0; i < graph->nodes; i++) {
        if (graph->node[i].op->grad) covered.differentiated[op_index(graph->node[i].op)] = true;
    }
}

/* The gradients become those of half the sum of their squares. */
static artel_status differentiate_again(artel__graph *graph, const artel__value_id *wanted, artel__value_id *found,
                                        int count)
{
    artel__value_id target[24];
    int targets = 0;
    for (int i = 0; i < count; i++) {
        if (found[i] >= 0) target[targets++] = found[i];
    }
    artel__differentiate request = {.add = &artel__op_binary_def,
                                    .narrow = &artel__op_narrow_def,
                                    .targets = target,
                                    .seeds = target,
                                    .target_count = targets,
                                    .wanted = wanted,
                                    .wanted_count = count};
    note_differentiated(graph);
    return artel__graph_differentiate(graph, &request, found);
}

static artel_status differentiate(op_machine *m, const op_case *c, artel__value_id result)
{
    artel__graph *graph = &m->g.graph;
    artel__value_id wanted[24], found[24];
    artel_shape shape = graph->value[result].shape;
    artel__value_id seed = artel__op_constant(graph, ARTEL_DTYPE_FLOAT32, &shape, m->coefficient);
    if (m->by_row) seed = artel__op_add(graph, artel__op_fill_like(graph, result, 0), seed);
    int count = 0;
    for (int i = 0; i < m->g.feds; i++) wanted[count++] = m->g.fed[i].wanted ? m->g.fed[i].id : ARTEL__NO_VALUE;
    for (int i = 0; i < m->g.variables.count; i++) wanted[count++] = artel__graph_variable(graph, i);
    note_differentiated(graph);
    artel__differentiate request = {.add = &artel__op_binary_def,
                                    .narrow = &artel__op_narrow_def,
                                    .targets = &result,
                                    .seeds = &seed,
                                    .target_count = 1,
                                    .wanted = wanted,
                                    .wanted_count = count};
    ARTEL_TRY(artel__graph_differentiate(graph, &request, found));
    m->order = c->order ? c->order : 1;
    for (int k = 1; k < m->order; k++) {
        for (int i = 0; i < count && k == m->order - 1; i++)
            m->below[i] = found[i] >= 0 ? artel__graph_keep(graph, found[i]) : -1;
        ARTEL_TRY(differentiate_again(graph, wanted, found, count));
    }
    ARTEL_TRY(artel__op_fuse_gradients(graph));
    for (int i = 0; i < count; i++) m->kept[m->keeps++] = found[i] >= 0 ? artel__graph_keep(graph, found[i]) : -1;
    return graph->status;
}

static void set_variables(op_machine *m)
{
    assert_int_equal(artel__state_create(m->g.ctx, &m->g.variables, &m->state), ARTEL_OK);
    for (int i = 0; i < m->g.variables.count; i++) {
        const artel__variable *v = &m->g.variables.item[i];
        int64_t count = artel_shape_count(&v->shape);
        float *plain = malloc((size_t)count * sizeof *plain);
        fill(plain, count, m->g.variable_numbers[i], last_axis(&v->shape), (uint64_t)i + 31);
        if (v->dtype == ARTEL_DTYPE_FLOAT32) artel__state_store(m->state, i, plain); /* counters begin at 0 */
        free(plain);
    }
}

static void set_data(op_machine *m, int64_t rows)
{
    for (int i = 0; i < m->g.feds; i++) {
        const artel_shape *shape = &m->g.graph.value[m->g.fed[i].id].shape;
        int64_t count = rows * artel_shape_count(shape);
        float *numbers = malloc((size_t)count * sizeof *numbers);
        fill(numbers, count, m->g.fed[i].numbers, last_axis(shape), (uint64_t)i + 11);
        uint64_t state = (uint64_t)i + 3;
        for (int64_t k = 0; k < count && m->g.fed[i].numbers == OP_INDICES; k++)
            ((int32_t *)numbers)[k] = (int32_t)(uniform(&state) * (float)m->g.fed[i].limit);
        for (int64_t k = 0; k < count && m->g.fed[i].numbers == OP_BITS; k++)
            ((uint8_t *)numbers)[k] = uniform(&state) < 0.6f;
        m->data[i] = numbers;
    }
}

/* The graph of a case, its gradients in it. */
static artel_status build(op_machine *m, const op_case *c, int64_t rows)
{
    *m = (op_machine){.keeps = 0};
    assert_int_equal(artel_context_create(NULL, &m->g.ctx), ARTEL_OK);
    artel_context *ctx = m->g.ctx;
    artel__arena_init(&m->g.arena, ctx);
    artel__variables_init(&m->g.variables, &m->g.arena);
    artel__graph_init(&m->g.graph, &m->g.arena, &m->g.variables, c->training);
    m->g.parameter = c->parameter;
    m->g.rows = rows;
    artel__value_id result = c->build(&m->g);
    check_status(c, ctx, m->g.graph.status);
    const artel__value *value = &m->g.graph.value[result];
    m->by_row = value->domain == ARTEL__DOMAIN_ROW;
    m->result_count = artel_shape_count(&value->shape);
    m->coefficient = malloc((size_t)m->result_count * sizeof(float));
    fill(m->coefficient, m->result_count, OP_SIGNED, 1, 99);
    m->result = artel__graph_keep(&m->g.graph, result);
    return c->bits_only ? ARTEL_OK : differentiate(m, c, result);
}

bool op_can_differentiate(const op_case *c, char *why, size_t size)
{
    op_machine m;
    bool can = build(&m, c, 2) == ARTEL_OK;
    if (!can) snprintf(why, size, "%s", artel_context_error(m.g.ctx)->what);
    artel__arena_fini(&m.g.arena);
    artel_context_destroy(m.g.ctx);
    free(m.coefficient);
    return can;
}

void op_machine_open(op_machine *m, const op_case *c, int64_t rows, artel__isa isa, int threads)
{
    artel_status status = build(m, c, rows);
    artel_context *ctx = m->g.ctx;
    check_status(c, ctx, status);
    if (isa == ARTEL__ISA_COUNT) isa = artel__context_isa(ctx);
    check_status(c, ctx, artel__graph_seal(&m->g.graph));
    for (int i = 0; i < m->g.graph.nodes; i++) covered.run[op_index(m->g.graph.node[i].op)] = true;
    set_variables(m);
    set_data(m, rows);
    artel__plan_options options = {.batch_size = rows, .shards = 8, .replicas = 1, .isa = isa};
    check_status(c, ctx, artel__pool_create(ctx, threads, &m->pool));
    check_status(c, ctx, artel__plan_create(ctx, &m->g.graph, &options, &m->plan));
    for (int i = 0; threads > 1 && i < m->g.graph.nodes; i++)
        m->plan->node[i].cost = INT64_C(1) << 40; /* wakes the threads */
    check_status(c, ctx, artel__run_create(m->plan, m->state, m->pool, NULL, &m->run));
    artel__fold_plan_make(&m->fold, 8, 0, 8, rows, m->start);
    m->step = (artel__step){
        .fold = &m->fold, .seed = 7, .batch = 3, .iteration = 2, .learning_rate = 0.1, .training = c->training};
}

void op_machine_close(op_machine *m)
{
    artel__run_destroy(m->run);
    artel__plan_destroy(m->plan);
    artel__pool_destroy(m->pool);
    artel__state_destroy(m->state);
    artel__arena_fini(&m->g.arena);
    artel_context_destroy(m->g.ctx);
    for (int i = 0; i < m->g.feds; i++) free(m->data[i]);
    free(m->coefficient);
}

static void compute(op_machine *m)
{
    assert_int_equal(artel__run_compute(m->run, &m->step, (const void *const *)m->data), ARTEL_OK);
    assert_true(artel__run_fault(m->run)->row == INT64_MAX);
}

static double half_of_squares(op_machine *m)
{
    double sum = 0;
    for (int i = 0; i < m->keeps; i++) {
        if (m->below[i] < 0) continue;
        const artel__value *value = &m->g.graph.value[m->g.graph.kept[m->below[i]]];
        const float *out = artel__run_kept(m->run, m->below[i]);
        int64_t count = (value->domain == ARTEL__DOMAIN_ROW ? m->fold.rows : 1) * value->storage;
        for (int64_t k = 0; k < count; k++) sum += 0.5 * (double)out[k] * (double)out[k];
    }
    return sum;
}

static double weighted(op_machine *m)
{
    compute(m);
    if (m->order > 1) return half_of_squares(m);
    const float *out = artel__run_kept(m->run, m->result);
    double sum = 0;
    int64_t rows = m->by_row ? m->fold.rows : 1;
    for (int64_t i = 0; i < rows * m->result_count; i++) sum += (double)out[i] * m->coefficient[i % m->result_count];
    return sum;
}

/* -- gradients -- */

typedef struct probe {
    op_machine *m;
    int variable; /* or -1 */
    float *values, *base, *direction;
    int64_t count;
} probe;

static double moved(probe *p, double h)
{
    for (int64_t i = 0; i < p->count; i++) p->values[i] = (float)(p->base[i] + h * p->direction[i]);
    if (p->variable >= 0) artel__state_store(p->m->state, p->variable, p->values);
    return weighted(p->m);
}

static double slope(probe *p, double h)
{
    return (moved(p, h) - moved(p, -h)) / (2 * h);
}

static void check_direction(probe *p, const op_case *c, const char *what, const float *gradient, uint64_t seed,
                            int64_t rows)
{
    double exact = 0, size = 0;
    uint64_t state = seed;
    for (int64_t i = 0; i < p->count; i++) {
        p->direction[i] = 2 * uniform(&state) - 1;
        exact += (double)gradient[i] * p->direction[i];
        size += fabs((double)gradient[i] * p->direction[i]);
    }
    double numeric = (4 * slope(p, 0.01) - slope(p, 0.02)) / 3; /* Richardson: errors of h^2 cancel */
    moved(p, 0);
    double tolerance = (c->tolerance > 0 ? c->tolerance : 2e-3) * (1 + size);
    if (!(fabs(exact - numeric) <= tolerance))
        fail_msg("%s, %s, %lld rows: gradient %.8g, difference %.8g, tolerance %g", c->name, what, (long long)rows,
                 exact, numeric, tolerance);
}

static void check_operand(op_machine *m, const op_case *c, int n, int64_t rows)
{
    bool variable = n >= m->g.feds;
    int v = n - m->g.feds;
    int64_t count = variable ? artel_shape_count(&m->g.variables.item[v].shape)
                             : rows * artel_shape_count(&m->g.graph.value[m->g.fed[n].id].shape);
    float *gradient = malloc((size_t)count * sizeof(float)), *base = malloc((size_t)count * sizeof(float));
    probe p = {m,
               variable ? v : -1,
               variable ? malloc((size_t)count * sizeof(float)) : m->data[n],
               base,
               malloc((size_t)count * sizeof(float)),
               count};
    compute(m);
    if (variable) {
        artel__state *other;
        assert_int_equal(artel__state_create(m->g.ctx, &m->g.variables, &other), ARTEL_OK);
        memcpy(artel__state_data(other, v), artel__run_kept(m->run, m->kept[n]),
               (size_t)m->g.variables.item[v].count * sizeof(float));
        artel__state_fetch(other, v, gradient);
        artel__state_destroy(other);
        artel__state_fetch(m->state, v, base);
    } else {
        memcpy(gradient, artel__run_kept(m->run, m->kept[n]), (size_t)count * sizeof(float));
        memcpy(base, m->data[n], (size_t)count * sizeof(float));
    }
    char what[32];
    snprintf(what, sizeof what, "%s %d", variable ? "variable" : "input", variable ? v : n);
    for (uint64_t k = 0; k < 3; k++) check_direction(&p, c, what, gradient, 1000 + k, rows);
    if (variable) free(p.values);
    free(p.direction);
    free(base);
    free(gradient);
}

void op_check_gradients(const op_case *c)
{
    static const int64_t batches[] = {1, 2, 5, 9};
    for (size_t b = 0; b < ARTEL__COUNT(batches); b++) {
        op_machine m;
        if (c->order > 1 && batches[b] != 5) continue;
        op_machine_open(&m, c, batches[b], ARTEL__ISA_COUNT, 1);
        int checked = 0;
        for (int i = 0; i < m.keeps; i++) {
            if (m.kept[i] < 0) continue;
            check_operand(&m, c, i, batches[b]);
            checked++;
        }
        if (!checked && c->order <= 1) fail_msg("%s: nothing has a gradient", c->name);
        op_machine_close(&m);
    }
}

/* -- bits -- */

typedef struct record {
    uint8_t *bytes;
    size_t count;
} record;

static void append(record *r, const void *data, size_t bytes)
{
    r->bytes = realloc(r->bytes, r->count + bytes + 1);
    memcpy(r->bytes + r->count, data, bytes);
    r->count += bytes;
}

/* No kernel needs more scratch in a run than the plan, which knows no addresses, thought. */
static void check_scratch(const op_machine *m, const char *name)
{
    for (int i = 0; i < m->g.graph.nodes; i++) {
        const artel__node_plan *node = &m->plan->node[i];
        void *in[ARTEL__MAX_OPERANDS], *out[ARTEL__MAX_OPERANDS];
        _Alignas(64) uint8_t params[ARTEL__MAX_PARAMS];
        artel__run_args args;
        if (!node->kernel || !node->kernel->scratch_bytes) continue;
        artel__plan_params(m->plan, i, 0, params);
        size_t planned = node->kernel->scratch_bytes(params);
        artel__plan_args(m->plan, m->run, i, &m->step, in, out, &args);
        memset(params, 0, sizeof params);
        node->exec->fill(&args, params);
        size_t needed = node->kernel->scratch_bytes(params);
        if (needed > planned)
            fail_msg("%s: %s: scratch of %zu bytes is needed, of %zu planned", name, node->kernel->name, needed,
                     planned);
    }
}

static record record_of(const op_case *c, int64_t rows, artel__isa isa, int threads)
{
    op_machine m;
    record r = {NULL, 0};
    op_machine_open(&m, c, rows, isa, threads);
    compute(&m);
    check_scratch(&m, c->name);
    const artel__graph *graph = &m.g.graph;
    for (int i = 0; i < graph->kept_count; i++) {
        const artel__value *value = &graph->value[graph->kept[i]];
        int64_t blocks = value->domain == ARTEL__DOMAIN_ROW     ? rows
                         : value->domain == ARTEL__DOMAIN_NODES ? m.fold.nodes
                                                                : 1;
        append(&r, artel__run_kept(m.run, i), (size_t)(blocks * value->storage) * artel_dtype_size(value->dtype));
    }
    artel__run_apply(m.run, &m.step);
    for (int i = 0; i < m.g.variables.count; i++)
        append(&r, artel__state_data(m.state, i),
               (size_t)m.g.variables.item[i].count * artel_dtype_size(m.g.variables.item[i].dtype));
    op_machine_close(&m);
    return r;
}

void op_check_bits(const op_case *c)
{
    static const int64_t batches[] = {1, 3, 9};
    static const int threads[] = {1, 2, 5};
    artel_context *ctx;
    assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
    artel__isa best = artel__context_isa(ctx);
    artel_context_destroy(ctx);
    for (size_t b = 0; b < ARTEL__COUNT(batches); b++) {
        record first = record_of(c, batches[b], ARTEL__ISA_BASELINE, 1);
        for (int isa = 0; isa <= (int)best; isa++) {
            for (size_t t = 0; t < ARTEL__COUNT(threads); t++) {
                record other = record_of(c, batches[b], (artel__isa)isa, threads[t]);
                assert_int_equal(other.count, first.count);
                size_t at = 0;
                while (at < first.count && first.bytes[at] == other.bytes[at]) at++;
                if (at < first.count)
                    fail_msg("%s, %lld rows, %s, %d threads: byte %zu of %zu differs", c->name, (long long)batches[b],
                             artel__isa_name((artel__isa)isa), threads[t], at, first.count);
                free(other.bytes);
            }
        }
        free(first.bytes);
    }
}

void op_check_coverage(void)
{
    char missing[2048] = "";
    for (int i = 0; artel__ops[i]; i++) {
        size_t used = strlen(missing);
        if (!covered.run[i])
            snprintf(missing + used, sizeof missing - used, " %s", artel__ops[i]->name);
        else if (artel__ops[i]->grad && !covered.differentiated[i])
            snprintf(missing + used, sizeof missing - used, " %s'", artel__ops[i]->name);
    }
    if (missing[0]) fail_msg("no case has:%s", missing);
}
