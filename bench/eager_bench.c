/* SPDX-License-Identifier: Apache-2.0 */
/* What a call costs besides its arithmetic: an eager addition of 16 numbers, a cached function that does nothing, the
 * gradient of a function of two operations. One line of JSON, in nanoseconds: the fastest of several rounds.
 * bench/eager.py runs it beside its peers. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <artel/artel.h>

enum {
    COUNT = 16,
    CALLS = 100000,
    ROUNDS = 9
};

typedef struct scene {
    artel_context *ctx;
    artel_eager *eager;
    artel_ndarray *a, *b;
    artel_eager_function *nothing, *gradient;
} scene;

static void check(const scene *s, artel_status status)
{
    if (status >= 0) return;
    fprintf(stderr, "%s\n", artel_context_error(s->ctx)->what);
    exit(1);
}

static artel_status trace_nothing(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user, (void)in, (void)out;
    return artel_graph_status(g);
}

/* d sum(x * w) / d x, of what is read twice. */
static artel_status trace_gradient(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    artel_value y = artel_graph_unary(g, "sum", artel_graph_binary(g, "multiply", in[0], in[0]));
    artel_graph_gradients(g, y, in, 1, out);
    return artel_graph_status(g);
}

static void add(scene *s)
{
    artel_ndarray *c;
    check(s, artel_eager_binary(s->eager, "add", s->a, s->b, &c));
    artel_ndarray_release(c);
}

static void call_nothing(scene *s)
{
    check(s, artel_eager_call(s->nothing, NULL, 0, NULL, 0));
}

static void call_gradient(scene *s)
{
    artel_ndarray *dx;
    check(s, artel_eager_call(s->gradient, &s->a, 1, &dx, 1));
    artel_ndarray_release(dx);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double fastest(scene *s, void (*call)(scene *))
{
    double best = 1e12;
    for (int r = 0; r < ROUNDS; r++) {
        double begin = now();
        for (int i = 0; i < CALLS; i++) call(s);
        double took = (now() - begin) / CALLS;
        if (took < best) best = took;
    }
    return best;
}

int main(void)
{
    scene s = {NULL};
    const artel_shape shape = {1, {COUNT}};
    check(&s, artel_context_create(NULL, &s.ctx));
    check(&s, artel_eager_create(s.ctx, NULL, &s.eager));
    check(&s, artel_ndarray_uniform(s.eager, &shape, -1, 1, &s.a));
    check(&s, artel_ndarray_uniform(s.eager, &shape, -1, 1, &s.b));
    check(&s, artel_eager_function_create(s.eager, "nothing", trace_nothing, NULL, 0, &s.nothing));
    check(&s, artel_eager_function_create(s.eager, "gradient", trace_gradient, NULL, 1, &s.gradient));
    printf("{\"add\": %.1f, ", fastest(&s, add));
    printf("\"empty\": %.1f, ", fastest(&s, call_nothing));
    printf("\"gradient\": %.1f}\n", fastest(&s, call_gradient));
    artel_eager_destroy(s.eager);
    artel_context_destroy(s.ctx);
    return 0;
}
