/* SPDX-License-Identifier: Apache-2.0 */
/* For test_on_read.py: what TensorFlow's program does with variables ON_READ, on N replicas; every value that it reads,
 * a line each.
 *
 *   prog_on_read REPLICAS AGGREGATION FOLDER     the folder is saved into, and restored from by so many and one more */
#include <stdio.h>
#include <stdlib.h>

#include <artel/artel.h>

enum {
    ROWS = 4,
    WIDTH = 2
};

static artel_context *ctx;

static void must(artel_status status, const char *what)
{
    if (status == ARTEL_OK) return;
    const artel_error *e = artel_context_error(ctx);
    printf("%s: %d: %s: %s; %s\n", what, (int)status, e->where, e->what, e->advice);
    exit(1);
}

typedef struct program {
    artel_strategy *strategy;
    artel_variable *v;
    artel_function *add, *less, *assign;
} program;

static artel_status trace_add(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)out;
    artel_graph_assign_add(g, ((program *)user)->v, in[0]);
    return artel_graph_status(g);
}

static artel_status trace_less(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)out;
    artel_graph_assign_sub(g, ((program *)user)->v, in[0]);
    return artel_graph_status(g);
}

static artel_status trace_assign(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)out;
    artel_graph_assign(g, ((program *)user)->v, in[0]);
    return artel_graph_status(g);
}

static program begin(int replicas, const char *aggregation)
{
    program p;
    const artel_argument x = {.name = "x", .shape = {1, {WIDTH}}};
    artel_strategy_options o = ARTEL_STRATEGY_OPTIONS_INIT;
    artel_variable_options v = ARTEL_VARIABLE_OPTIONS_INIT;
    artel_function_options f = ARTEL_FUNCTION_OPTIONS_INIT;
    o.strategy = "mirrored";
    o.replicas = replicas;
    o.batch_size = ROWS;
    o.shards = ROWS;
    v.name = "v";
    v.shape = (artel_shape){1, {WIDTH}};
    v.synchronization = "on_read";
    v.aggregation = aggregation;
    f.arguments = &x;
    f.argument_count = 1;
    must(artel_strategy_create(ctx, &o, &p.strategy), "strategy");
    must(artel_variable_create(p.strategy, &v, &p.v), "variable");
    must(artel_function_create(p.strategy, &f, trace_add, &p, &p.add), "add");
    must(artel_function_create(p.strategy, &f, trace_less, &p, &p.less), "less");
    must(artel_function_create(p.strategy, &f, trace_assign, &p, &p.assign), "assign");
    return p;
}

static void show(const program *p, const char *behind)
{
    float value[WIDTH];
    must(artel_variable_read(p->v, value, WIDTH), "read");
    printf("%s %.9g %.9g\n", behind, (double)value[0], (double)value[1]);
}

static void run(const program *p, artel_function *f, int rows, const char *name)
{
    float x[ROWS * WIDTH];
    for (int i = 0; i < ROWS * WIDTH; i++) x[i] = (float)(i + 1);
    const artel_array in = {ARTEL_DTYPE_FLOAT32, {2, {rows, WIDTH}}, x};
    must(artel_function_run(f, &in, 1, NULL, 0), name);
    show(p, name);
}

int main(int argc, char **argv)
{
    const float set[WIDTH] = {10, 20};
    int64_t step = -1;
    if (argc != 4) return 2;
    int replicas = atoi(argv[1]);
    must(artel_context_create(NULL, &ctx), "context");
    program p = begin(replicas, argv[2]);
    run(&p, p.add, ROWS, "add");
    run(&p, p.less, 2, "subtract");
    must(artel_variable_assign(p.v, set, WIDTH), "set");
    show(&p, "set");
    run(&p, p.add, ROWS, "add");
    run(&p, p.assign, ROWS, "assign");
    run(&p, p.add, 2, "add");
    must(artel_strategy_save(p.strategy, argv[3], 1, 1), "save");
    artel_strategy_destroy(p.strategy);
    p = begin(replicas % 4 + 1, argv[2]);
    must(artel_strategy_restore(p.strategy, argv[3], &step), "restore");
    show(&p, "restored");
    run(&p, p.add, ROWS, "add");
    artel_strategy_destroy(p.strategy);
    artel_context_destroy(ctx);
    return 0;
}
