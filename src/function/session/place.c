/* SPDX-License-Identifier: Apache-2.0 */
/* Who has which variable, and who computes which node.
 *
 * What must lie together is joined first: variables that one update reads or writes; nodes between which values of the
 * folds go, which are no one's to send; updates with their variables. Then a place that somebody has named counts, and
 * what is left goes where most of the bytes lie that it reads. All of it is a function of the program and the tasks
 * alone.
 */
#include <stdio.h>
#include <string.h>

#include "function/session/session_impl.h"

/* -- joining: disjoint sets whose first element stands for them -- */

static int first_of(int *set, int i)
{
    while (set[i] != i) i = set[i] = set[set[i]];
    return i;
}

static void join(int *set, int a, int b)
{
    int x = first_of(set, a), y = first_of(set, b);
    if (x < y) set[y] = x;
    if (y < x) set[x] = y;
}

/* -- names -- */

static bool names_task(const artel__device_name *name)
{
    return name->job[0] || name->task >= 0 || name->replica >= 0;
}

static artel_status no_place(const artel_session *s, const char *what, const artel__device_name *name, const char *why)
{
    char text[ARTEL__DEVICE_TEXT];
    artel__device_name_write(name, text);
    return artel__fail(s->ctx, ARTEL_ERROR_INVALID, what, "name a task of the session, or allow soft_placement",
                       "it cannot be at %s: %s", text, why);
}

static int find_task(const artel_session *s, const artel__device_name *name)
{
    for (int t = 0; t < s->tasks; t++) {
        if (artel__device_name_means(name, &s->task[t].name)) return t;
    }
    return ARTEL__PLACED_FREE;
}

/* The task that is meant, or ARTEL__PLACED_FREE. */
static artel_status resolve(const artel_session *s, const char *what, const artel__device_name *name, int *out)
{
    *out = ARTEL__PLACED_FREE;
    bool soft = s->options.soft_placement,
         core = (!name->type[0] || strcmp(name->type, "CPU") == 0) && name->index <= 0;
    if (!core && !soft) return no_place(s, what, name, "tasks of sessions compute on device CPU:0");
    if (!names_task(name)) return ARTEL_OK;
    *out = find_task(s, name);
    return *out >= 0 || soft ? ARTEL_OK : no_place(s, what, name, "there is no such task");
}

/* -- variables -- */

static artel_function *function_of(const artel_strategy *s, int number)
{
    artel_function *f = s->function;
    while (f && f->number != number) f = f->next;
    return f;
}

/* Variables that the updates of a function have to do with. `set`: variables, then as many nodes. */
static void join_updates(const artel_function *f, int *set, int variables)
{
    for (int n = 0; n < f->graph.nodes; n++) set[variables + n] = variables + n;
    for (int n = 0; n < f->graph.nodes; n++) {
        const artel__node *node = &f->graph.node[n];
        if (node->phase != ARTEL__PHASE_APPLY) continue;
        for (int k = 0; k < node->inputs; k++) {
            if (node->input[k] < 0) continue;
            const artel__value *v = &f->graph.value[node->input[k]];
            if (v->variable >= 0) join(set, v->variable, variables + n);
            if (v->node >= 0 && f->graph.node[v->node].phase == ARTEL__PHASE_APPLY)
                join(set, variables + v->node, variables + n);
        }
    }
}

static const artel_variable *variable_of(const artel_strategy *s, int index)
{
    const artel_variable *v = s->variable;
    while (v && v->index != index) v = v->next;
    return v;
}

/* What programs say about the variables of a set. */
static artel_status place_named(artel_session *s, int *set)
{
    const artel__variables *all = &s->strategy->variables;
    for (int i = 0; i < all->count; i++) {
        const artel_variable *v = variable_of(s->strategy, i);
        int root = first_of(set, i), task;
        if (!v || !v->device_text) continue;
        ARTEL_TRY(resolve(s, all->item[i].name, &v->device, &task));
        if (s->owner[root] >= 0 && task >= 0 && s->owner[root] != task && !s->options.soft_placement)
            return artel__fail(s->ctx, ARTEL_ERROR_INVALID, all->item[i].name,
                               "give both one place, or allow soft_placement",
                               "it is updated together with %s, which is at %s, and cannot be at %s",
                               all->item[root].name, s->task[s->owner[root]].text, s->task[task].text);
        if (s->owner[root] < 0) s->owner[root] = task;
    }
    return ARTEL_OK;
}

/* Where a variable is read first by a node that has a place. One that no task has is an error of whoever runs the
 * function. */
static void place_by_readers(const artel_session *s, const artel_function *f, int *set)
{
    for (int n = 0; n < f->graph.nodes; n++) {
        const artel__node *node = &f->graph.node[n];
        artel__device_name device = artel__function_device(f, n);
        int task = names_task(&device) ? find_task(s, &device) : ARTEL__PLACED_FREE;
        for (int k = 0; k < node->inputs && task >= 0; k++) {
            int variable = node->input[k] >= 0 ? f->graph.value[node->input[k]].variable : -1;
            if (variable >= 0 && s->owner[first_of(set, variable)] < 0) s->owner[first_of(set, variable)] = task;
        }
    }
}

artel_status artel__placed_place_variables(artel_session *s)
{
    artel_strategy *strategy = s->strategy;
    int count = strategy->variables.count, functions = strategy->function ? strategy->function->number + 1 : 0,
        nodes = 0;
    for (const artel_function *f = strategy->function; f; f = f->next)
        nodes = f->graph.nodes > nodes ? f->graph.nodes : nodes;
    s->owner = artel__arena_alloc(&s->arena, (size_t)count + 1, sizeof *s->owner);
    int *set = artel__arena_alloc(&s->arena, (size_t)count + (size_t)nodes + 1, sizeof *set);
    if (!s->owner || !set) return ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < count; i++) set[i] = i;
    for (int i = 0; i < count; i++) s->owner[i] = ARTEL__PLACED_FREE;
    for (int i = 0; i < functions; i++) {
        const artel_function *f = function_of(strategy, i);
        if (f) join_updates(f, set, count);
    }
    ARTEL_TRY(place_named(s, set));
    for (int i = 0; i < functions; i++) {
        const artel_function *f = function_of(strategy, i);
        if (f) place_by_readers(s, f, set);
    }
    for (int i = 0; i < count; i++) {
        int root = first_of(set, i);
        if (s->owner[root] < 0) s->owner[root] = 0;
        s->owner[i] = s->owner[root];
    }
    return ARTEL_OK;
}

/* -- nodes -- */

bool artel__placed_reads(const artel__node *node, int k)
{
    return node->input[k] >= 0 && !(node->op->placement == ARTEL__PLACE_VIEW && k > 0) && artel__node_reads(node, k);
}

/* Whether a value can be sent: rows, and what all replicas share; and nobody writes into it where it lies. */
static bool may_go(const artel__placed_plan *p, const artel__node *reader, int k)
{
    const artel__value *v = &p->function->graph.value[reader->input[k]];
    bool domain = v->domain == ARTEL__DOMAIN_ROW || v->domain == ARTEL__DOMAIN_GLOBAL;
    bool written = reader->op->placement == ARTEL__PLACE_VIEW_WRITTEN && k == 0;
    return domain && !written && p->function->graph.node[v->node].phase != ARTEL__PHASE_APPLY;
}

static void join_nodes(const artel__placed_plan *p, int *set)
{
    const artel__graph *graph = &p->function->graph;
    for (int n = 0; n < graph->nodes; n++) set[n] = n;
    for (int n = 0; n < graph->nodes; n++) {
        const artel__node *node = &graph->node[n];
        for (int k = 0; k < node->inputs && p->place[n] != -1; k++) {
            if (node->input[k] < 0 || graph->value[node->input[k]].node < 0) continue;
            if (artel__placed_reads(node, k) && !may_go(p, node, k)) join(set, graph->value[node->input[k]].node, n);
        }
    }
}

enum {
    UNDECIDED = -2
};

/* The task of an update's variables; UNDECIDED: it has none. */
static int place_of_update(const artel__placed_plan *p, const artel__node *node)
{
    for (int k = 0; node->phase == ARTEL__PHASE_APPLY && k < node->inputs; k++) {
        int variable = node->input[k] >= 0 ? p->function->graph.value[node->input[k]].variable : -1;
        if (variable >= 0) return p->session->owner[variable];
    }
    return UNDECIDED;
}

static artel_status place_updates(const artel__placed_plan *p, int *set, int *at)
{
    const artel__graph *graph = &p->function->graph;
    for (int n = 0; n < graph->nodes; n++) {
        int task = p->place[n] == -1 ? UNDECIDED : place_of_update(p, &graph->node[n]);
        int *root = &at[first_of(set, n)];
        if (task == UNDECIDED) continue;
        if (*root != UNDECIDED && *root != task)
            return artel__fail(p->session->ctx, ARTEL_ERROR_INVALID, graph->node[n].name, "give them one place",
                               "variables of %s and of %s are updated in one calculation", p->session->task[*root].text,
                               p->session->task[task].text);
        *root = task;
    }
    return ARTEL_OK;
}

static artel_status place_as_named(const artel__placed_plan *p, int *set, int *at, bool *updated)
{
    const artel__graph *graph = &p->function->graph;
    const artel_session *s = p->session;
    for (int n = 0; n < graph->nodes; n++) {
        artel__device_name device = artel__function_device(p->function, n);
        const char *what = graph->node[n].name[0] ? graph->node[n].name : graph->node[n].op->name;
        int root = first_of(set, n), task;
        if (p->place[n] == -1 || graph->node[n].phase == ARTEL__PHASE_APPLY) continue;
        ARTEL_TRY(resolve(s, what, &device, &task));
        if (task < 0 || updated[root]) continue;
        if (at[root] != UNDECIDED && at[root] != task && !s->options.soft_placement)
            return artel__fail(s->ctx, ARTEL_ERROR_INVALID, what, "give both one place, or allow soft_placement",
                               "%s at %s makes sums of rows that are taken up at %s", graph->node[n].op->name,
                               s->task[at[root]].text, s->task[task].text);
        if (at[root] == UNDECIDED) at[root] = task;
    }
    return ARTEL_OK;
}

/* Where most of the bytes are that a node reads; ties: what it reads first. */
static int near_inputs(const artel__placed_plan *p, const artel__node *node, int *set, const int *at)
{
    const artel__graph *graph = &p->function->graph;
    size_t bytes[ARTEL__PLACED_MOST_TASKS] = {0};
    int best = UNDECIDED;
    for (int k = 0; k < node->inputs; k++) {
        if (!artel__placed_reads(node, k)) continue;
        const artel__value *v = &graph->value[node->input[k]];
        int task = v->variable >= 0 ? p->session->owner[v->variable]
                   : v->node >= 0   ? at[first_of(set, v->node)]
                                    : UNDECIDED;
        if (task < 0) continue;
        bytes[task] += 1 + artel__placed_bytes(p, node->input[k], graph->batch_size);
        if (best == UNDECIDED || bytes[task] > bytes[best]) best = task;
    }
    return best;
}

/* Of nodes that read nothing that has a place: where what they make is read first. */
static int near_reader(const artel__placed_plan *p, int made, int *set, const int *at)
{
    const artel__graph *graph = &p->function->graph;
    for (int n = made + 1; n < graph->nodes; n++) {
        const artel__node *node = &graph->node[n];
        for (int k = 0; k < node->inputs && p->place[n] != -1; k++) {
            bool reads =
                node->input[k] >= 0 && graph->value[node->input[k]].node == made && artel__placed_reads(node, k);
            if (reads && at[first_of(set, n)] >= 0) return at[first_of(set, n)];
        }
    }
    return p->client;
}

artel_status artel__placed_place_nodes(artel__placed_plan *p)
{
    const artel__graph *graph = &p->function->graph;
    size_t nodes = (size_t)graph->nodes + 1;
    int *set = artel__arena_alloc(&p->arena, nodes, sizeof *set),
        *at = artel__arena_alloc(&p->arena, nodes, sizeof *at);
    bool *updated = artel__arena_alloc(&p->arena, nodes, sizeof *updated);
    if (!set || !at || !updated) return ARTEL_ERROR_NO_MEMORY;
    join_nodes(p, set);
    for (int n = 0; n < graph->nodes; n++) at[n] = UNDECIDED;
    ARTEL_TRY(place_updates(p, set, at));
    for (int n = 0; n < graph->nodes; n++) updated[n] = at[n] != UNDECIDED;
    ARTEL_TRY(place_as_named(p, set, at, updated));
    for (int n = 0; n < graph->nodes; n++) {
        int *root = &at[first_of(set, n)];
        if (p->place[n] == -1) continue;
        if (*root == UNDECIDED) *root = near_inputs(p, &graph->node[n], set, at);
        if (*root == UNDECIDED) *root = near_reader(p, n, set, at);
        p->place[n] = *root;
    }
    return ARTEL_OK;
}
