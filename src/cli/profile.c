/* SPDX-License-Identifier: Apache-2.0 */
/* The first step is left out of the table (it touches memory for the first time): a step lasts from the end of the one
 * before it to its own, so that each has the whole of its time and nothing of the first's. The timeline ends after some
 * steps so that viewers can open it. */
#include "cli/profile.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "base/threads.h"
#include "base/utf8.h"
#include "cli/machine.h"
#include "observe/number.h"
#include "observe/trace.h"

enum {
    TRACED_STEPS = 50,
    MOST_LINES = 40,
    NAME_COLUMNS = 46,
    MOST_COLUMNS = 64
};

/* Sums under one name. */
typedef struct line {
    const char *name, *phase; /* the phase is NULL for layers */
    double ns, operations, counted_ns;
    int64_t nodes;
} line;

typedef struct table {
    line *item;
    int count;
    int32_t *of_node; /* where a node was found last */
} table;

struct artel__profiler {
    artel_context *ctx;
    artel__arena arena;
    artel__text arguments; /* of a span */
    artel__trace *trace;
    const char *path;
    table operations, layers;
    int replicas, threads, room;
    int64_t steps, seen, last_end_ns;
    int64_t own_ns; /* what was spent here after that */
    double busy_ns, span_ns, period_ns, input_ns;
    double read_ns;     /* processor time of reading ahead */
    int64_t process_ns; /* that of the process: at the end of the first step, and of the last one */
    int64_t process_end_ns;
    artel_status status;
};

artel_status artel__profiler_create(artel_context *ctx, const char *path, artel__profiler **out)
{
    void *block;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel__profiler), "profile", &block));
    artel__profiler *p = block;
    p->ctx = ctx;
    artel__arena_init(&p->arena, ctx);
    artel__text_init(&p->arguments, ctx);
    bool folder = artel__is_directory(path) || artel__ends_with(path, "/");
    artel_status status = folder ? artel__make_directory(ctx, path) : ARTEL_OK;
    p->path = folder ? artel__arena_printf(&p->arena, "%s%strace.json", path, artel__ends_with(path, "/") ? "" : "/")
                     : artel__arena_strdup(&p->arena, path);
    if (status == ARTEL_OK) status = artel__arena_status(&p->arena);
    if (status == ARTEL_OK) status = artel__trace_create(ctx, p->path, 0, "artel fit", &p->trace);
    if (status < 0) {
        artel__profiler_destroy(p);
        return status;
    }
    artel__trace_thread(p->trace, 0, "replica 0");
    *out = p;
    return ARTEL_OK;
}

void artel__profiler_start(artel__profiler *profiler, int replicas, int threads)
{
    profiler->replicas = replicas;
    profiler->threads = threads;
}

static bool is_of(const line *l, const char *name, const char *phase)
{
    return strcmp(l->name, name) == 0 && (!phase || strcmp(l->phase, phase) == 0);
}

/* The line of node `index`: mostly the one it had in the step before. Names are compared by content and kept: the graph
 * is gone when the table is printed. NULL: there is no room. */
static line *line_of(artel__profiler *p, table *t, int index, const char *name, const char *phase)
{
    int32_t *known = index < p->room ? &t->of_node[index] : NULL;
    int found = known && *known < t->count && is_of(&t->item[*known], name, phase) ? *known : 0;
    while (found < t->count && !is_of(&t->item[found], name, phase)) found++;
    if (found == p->room) return NULL;
    if (known) *known = found;
    if (found < t->count) return &t->item[found];
    line *l = &t->item[found];
    l->name = artel__arena_strdup(&p->arena, name);
    l->phase = phase ? artel__arena_strdup(&p->arena, phase) : NULL;
    if (!l->name || (phase && !l->phase)) return NULL;
    t->count++;
    return l;
}

static void add(line *l, const artel_profile_node *node)
{
    if (!l) return;
    l->ns += (double)node->ns;
    l->operations += node->operations;
    if (node->operations > 0) l->counted_ns += (double)node->ns;
    l->nodes++;
}

/* A layer's name is any text. NULL: no memory for it. */
static const char *span_arguments(artel__profiler *p, const artel_profile_node *node)
{
    const char *const member[][2] = {{"layer", node->layer}, {"kernel", node->kernel}, {"phase", node->phase}};
    artel__text_clear(&p->arguments);
    for (size_t i = 0; i < ARTEL__COUNT(member); i++) {
        artel__text_printf(&p->arguments, "%s\"%s\": ", i ? ", " : "{", member[i][0]);
        artel__text_append_json(&p->arguments, member[i][1]);
    }
    artel__text_append(&p->arguments, "}");
    return artel__text_status(&p->arguments) == ARTEL_OK ? p->arguments.data : NULL;
}

static bool is_ahead(const artel_profile_node *node)
{
    return strcmp(node->phase, "ahead") == 0;
}

static void trace_step(artel__profiler *p, int64_t step, const artel_profile_node *nodes, int count, int64_t begin,
                       int64_t end)
{
    char name[64];
    snprintf(name, sizeof name, "step %lld", (long long)step);
    artel__trace_span(p->trace,
                      &(artel__trace_span_record){.category = "step", .name = name, .begin_ns = begin, .end_ns = end});
    for (int i = 0; i < count; i++) {
        const artel_profile_node *n = &nodes[i];
        if (n->ns <= 0 || is_ahead(n)) continue;
        artel__trace_span(p->trace, &(artel__trace_span_record){.category = "op",
                                                                .name = n->operation,
                                                                .begin_ns = n->begin_ns,
                                                                .end_ns = n->begin_ns + n->longest_ns,
                                                                .arguments = span_arguments(p, n)});
    }
}

static bool make_table(artel__profiler *p, table *t, int room)
{
    t->item = artel__arena_alloc(&p->arena, (size_t)room, sizeof *t->item);
    t->of_node = artel__arena_alloc(&p->arena, (size_t)room, sizeof *t->of_node);
    return t->item && t->of_node;
}

static void add_step(artel__profiler *p, const artel_profile_node *nodes, int count, int64_t begin, int64_t end)
{
    p->steps++;
    p->period_ns += (double)(end - p->last_end_ns - p->own_ns);
    p->span_ns += (double)(end - begin);
    for (int i = 0; i < count; i++) {
        const artel_profile_node *n = &nodes[i];
        if (is_ahead(n)) {
            p->read_ns += (double)n->ns;
            continue;
        }
        p->busy_ns += (double)n->ns;
        if (strcmp(n->phase, "input") == 0) p->input_ns += (double)n->ns;
        add(line_of(p, &p->operations, i, n->operation, n->phase), n);
        add(line_of(p, &p->layers, i, n->layer[0] ? n->layer : "(no layer)", NULL), n);
    }
}

void artel__profiler_step(artel__profiler *p, int64_t step, const artel_profile_node *nodes, int count)
{
    int64_t called = artel__now_ns(), begin = INT64_MAX, end = 0;
    if (!p->room && make_table(p, &p->operations, count + 1) && make_table(p, &p->layers, count + 1))
        p->room = count + 1;
    for (int i = 0; i < count; i++) {
        if (nodes[i].ns <= 0 || is_ahead(&nodes[i])) continue;
        if (nodes[i].begin_ns < begin) begin = nodes[i].begin_ns;
        if (nodes[i].begin_ns + nodes[i].longest_ns > end) end = nodes[i].begin_ns + nodes[i].longest_ns;
    }
    if (begin == INT64_MAX) return;
    if (p->seen < TRACED_STEPS) trace_step(p, step, nodes, count, begin, end);
    if (p->seen++ > 0 && p->room)
        add_step(p, nodes, count, begin, end);
    else
        p->process_ns = artel__process_time_ns();
    p->process_end_ns = artel__process_time_ns();
    p->last_end_ns = end;
    p->own_ns = artel__now_ns() - called;
}

static int by_time(const void *a, const void *b)
{
    double x = ((const line *)a)->ns, y = ((const line *)b)->ns;
    return (x < y) - (x > y);
}

/* One column a character of UTF-8, and at least NAME_COLUMNS. Terminals take control characters for orders. */
static void print_name(const line *l, FILE *out)
{
    int columns = 0;
    const char *const part[] = {l->name, l->phase ? ", " : "", l->phase ? l->phase : ""};
    for (size_t i = 0; i < ARTEL__COUNT(part); i++) {
        for (const char *c = part[i]; *c; c++) {
            bool begins = artel__utf8_begins(*c);
            if (begins && columns == MOST_COLUMNS) break;
            columns += begins;
            fputc((unsigned char)*c < ' ' || *c == 0x7F ? '?' : *c, out);
        }
    }
    artel__show(out, "%*s", columns < NAME_COLUMNS ? NAME_COLUMNS - columns : 0, "");
}

static void print_table(const artel__profiler *p, const table *t, const char *title, double peak, FILE *out)
{
    double steps = (double)p->steps;
    qsort(t->item, (size_t)t->count, sizeof *t->item, by_time);
    artel__show(out, "%-*s %6s %10s %7s %9s %8s\n", NAME_COLUMNS, title, "nodes", "ms a step", "share", "GFLOP/s",
                "of peak");
    for (int i = 0; i < t->count && i < MOST_LINES; i++) {
        const line *l = &t->item[i];
        print_name(l, out);
        artel__show(out, " %6lld %10.3f %6.1f%%", (long long)(l->nodes / p->steps), l->ns / steps * 1e-6,
                    100.0 * l->ns / p->busy_ns);
        if (l->operations > 0 && l->counted_ns > 0)
            artel__show(out, " %9.1f", l->operations / l->counted_ns);
        else
            artel__show(out, " %9s", "-");
        if (l->operations > 0 && l->counted_ns > 0 && peak > 0)
            artel__show(out, " %7.1f%%\n", 100.0 * l->operations / l->counted_ns * 1e9 / peak);
        else
            artel__show(out, " %8s\n", "-");
    }
    if (t->count > MOST_LINES) artel__show(out, "... and %d more\n", t->count - MOST_LINES);
}

/* In float32, of as many threads as the replica has; 0: not known. */
static double peak_of_replica(artel_context *ctx, int threads)
{
    artel__isa isa = artel__context_isa(ctx) < ARTEL__ISA_AVX512 ? artel__context_isa(ctx) : ARTEL__ISA_AVX512;
    artel__pool *pool;
    if (threads == 1) return artel__machine_peak(isa);
    if (artel__pool_create(ctx, threads, &pool) < 0) return 0;
    double peak = artel__machine_peak_of(pool, isa);
    artel__pool_destroy(pool);
    return peak;
}

/* Whether what is read ahead of a step finds time on the cores while it computes: a step that never waited would last
 * as long as now without its waiting, and has that much time on each core. */
static void print_reading(const artel__profiler *p, FILE *out)
{
    int cores = artel__usable_cores();
    double steps = (double)p->steps, read = p->read_ns / steps * 1e-6,
           rest = (double)(p->process_end_ns - p->process_ns) / steps * 1e-6 - read,
           room = (p->period_ns - p->input_ns) / steps * 1e-6 * cores;
    if (read <= 0) return;
    if (rest < 0) rest = 0;
    artel__show(
        out,
        "reading ahead: %.3f ms of a core a step; all else takes %.3f ms of the %.3f ms that %d core%s a step "
        "without waiting: %s\n",
        read, rest, room, cores, cores == 1 ? " has in" : "s have in",
        read + rest <= room * 1.02
            ? "it fits beside computing"
            : "it does not fit beside computing: smaller images, a cache of what is decoded, or more cores help");
}

void artel__profiler_print(const artel__profiler *p, FILE *out)
{
    if (p->steps == 0) {
        artel__show(out, "profile: there is one step at most, and the first is left out; timeline in %s\n", p->path);
        return;
    }
    int threads =
        p->threads / (p->replicas > 0 ? p->replicas : 1) > 0 ? p->threads / (p->replicas > 0 ? p->replicas : 1) : 1;
    double peak = peak_of_replica(p->ctx, threads), steps = (double)p->steps;
    artel__show(
        out,
        "profile of %lld steps without the first, replica 0 of %d, %d thread%s; timeline of up to %d steps in %s\n",
        (long long)p->steps, p->replicas, threads, threads == 1 ? "" : "s", TRACED_STEPS, p->path);
    fprintf(out,
            "a step from end to end: %.3f ms, of which before it (events, validation, other replicas) %.3f ms, waiting "
            "for input %.3f ms "
            "(%.1f%%), operations %.3f ms, between them %.3f ms\n",
            p->period_ns / steps * 1e-6, (p->period_ns - p->span_ns) / steps * 1e-6, p->input_ns / steps * 1e-6,
            100 * p->input_ns / p->period_ns, (p->busy_ns - p->input_ns) / steps * 1e-6,
            (p->span_ns - p->busy_ns) / steps * 1e-6);
    print_reading(p, out);
    if (peak > 0)
        artel__show(out,
                    "peak: %.1f GFLOP/s, multiply-adds in registers on %d thread%s, measured now; - where an operation "
                    "does not count\n\n",
                    peak * 1e-9, threads, threads == 1 ? "" : "s");
    else
        fputc('\n', out);
    print_table(p, &p->operations, "by operation", peak, out);
    fputc('\n', out);
    print_table(p, &p->layers, "by layer", peak, out);
}

artel_status artel__profiler_destroy(artel__profiler *profiler)
{
    if (!profiler) return ARTEL_OK;
    artel_context *ctx = profiler->ctx;
    artel_status status = artel__trace_destroy(profiler->trace);
    artel__text_fini(&profiler->arguments);
    artel__arena_fini(&profiler->arena);
    artel__free(ctx, profiler);
    return status;
}
