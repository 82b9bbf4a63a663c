/* SPDX-License-Identifier: Apache-2.0 */
/* Which variable lies where: what is cut, who gets it, and the order of elements in messages.
 *
 * Variables are cut by the rules of TensorFlow's partitioners (ps/part.h), between rows. Rows of a variable in panels
 * are not whole in memory; such a variable is cut at blocks of 4,096 elements, and one whose optimizer or constraint
 * reads all of it not at all. Each goes to the server with the fewest bytes, the first of equals; or in turn, as
 * TensorFlow's, which is uneven with pieces of very different size. A chief that has measured places them otherwise
 * (balance.c).
 */
#include "train/part.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "ps/part.h"
#include "graph/op_def.h"
#include "train/left.h"

/* -- pieces -- */

typedef struct maker {
    const artel__session *session;
    artel__partition_rule rule;
    artel__arena *arena;
    artel__division *out;
    int room;
    uint64_t *load; /* bytes by server */
    int *constrained, constraints;
} maker;

static const artel__variables *variables_of(const artel__division *division)
{
    return artel__state_variables(artel__session_state((artel__session *)(uintptr_t)division->session));
}

static artel_status add_piece(maker *m, const artel__piece *piece)
{
    artel__division *l = m->out;
    if (l->pieces == m->room) {
        int room = m->room ? 2 * m->room : 64;
        artel__piece *wider = artel__arena_alloc(m->arena, (size_t)room, sizeof *wider);
        if (!wider) return ARTEL_ERROR_NO_MEMORY;
        if (l->pieces) memcpy(wider, l->piece, (size_t)l->pieces * sizeof *wider);
        l->piece = wider;
        m->room = room;
    }
    int server = artel__place_lightest(m->load, l->servers);
    l->piece[l->pieces] = *piece;
    l->piece[l->pieces++].server = server;
    m->load[server] += (uint64_t)piece->count * sizeof(float);
    return ARTEL_OK;
}

static bool is_constrained(const maker *m, int variable)
{
    for (int i = 0; i < m->constraints; i++) {
        if (m->constrained[i] == variable) return true;
    }
    return false;
}

/* Into how many pieces the partitioner cuts a variable of so many rows or blocks of `unit` elements. */
static int64_t count_pieces(const maker *m, int64_t units, int64_t unit)
{
    const int64_t shape[] = {units, unit};
    return artel__partition_count(&m->rule, shape, 2, sizeof(float));
}

static bool is_table(const artel__objective *objective, int trainable)
{
    for (int i = 0; i < objective->tables; i++) {
        if (objective->table[i].trainable == trainable) return true;
    }
    return false;
}

static artel_status cut(maker *m, int trainable, int variable)
{
    const artel__variable *v = &variables_of(m->out)->item[variable];
    int64_t unit = artel__variable_unit(v), units = unit > 0 ? (v->count + unit - 1) / unit : 1;
    bool normed = m->out->mean && artel__optimizer_clips_by_norm(m->out->optimizer);
    bool together =
        trainable < 0 || artel__optimizer_reads_whole(m->out->optimizer, v) || normed || is_constrained(m, variable);
    int64_t pieces = together ? 1 : count_pieces(m, units, unit);
    for (int64_t k = 0; k < pieces; k++) {
        int64_t first = artel__partition_offset(units, pieces, k) * unit,
                end = artel__partition_offset(units, pieces, k + 1) * unit;
        if (end > v->count) end = v->count; /* the last block is a short one */
        artel__piece piece = {
            .trainable = trainable, .variable = variable, .first = first, .count = end - first, .whole = pieces == 1};
        piece.left = artel__session_left(m->session, variable);
        if (is_table(m->out->objective, trainable)) piece.width = unit;
        m->out->tables += piece.width > 0;
        ARTEL_TRY(add_piece(m, &piece));
    }
    return ARTEL_OK;
}

static artel_status check_variable(artel_context *ctx, const artel__variable *v)
{
    if (v->kind == ARTEL__VARIABLE_ROW_STATE)
        return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, v->name, "use multi-worker, or stateful=false",
                           "a state that goes from batch to batch has no place among parameter servers");
    if (v->dtype != ARTEL_DTYPE_FLOAT32)
        return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, v->name, "use multi-worker",
                           "parameter servers own variables of float32, not %s", artel_dtype_name(v->dtype));
    return ARTEL_OK;
}

/* The variables that the graph of a step writes, in the order of their nodes; the optimizer's are not among them. */
static artel_status add_averages(maker *m)
{
    const artel__graph *graph = &m->out->objective->graph;
    const artel__variables *all = variables_of(m->out);
    artel_context *ctx = m->arena->ctx;
    bool *seen = artel__arena_alloc(m->arena, (size_t)all->count + 1, sizeof *seen);
    if (!seen) return ARTEL_ERROR_NO_MEMORY;
    memset(seen, 0, (size_t)all->count + 1);
    for (int n = 0; n < graph->nodes; n++) {
        const artel__node *node = &graph->node[n];
        for (int k = 0; node->op->writes && k < node->op->written && k < node->inputs; k++) {
            int variable = node->input[k] >= 0 ? graph->value[node->input[k]].variable : -1;
            if (variable < 0 || seen[variable]) continue;
            seen[variable] = true;
            ARTEL_TRY(check_variable(ctx, &all->item[variable]));
            ARTEL_TRY(cut(m, -1, variable));
        }
    }
    return ARTEL_OK;
}

static artel_status find_constraint(void *user, const artel__model_variable *variable)
{
    maker *m = user;
    if (variable->variable->constraint.def) m->constrained[m->constraints++] = variable->variable->index;
    return ARTEL_OK;
}

/* As ParameterServerStrategy deals them: in the order in which the model makes its variables, of which those that no
 * server has (frozen ones) take their turns, too. */
static artel_status deal_in_turn(maker *m)
{
    artel__division *l = m->out;
    const artel__variables *all = variables_of(l);
    int *first = artel__arena_alloc(m->arena, (size_t)all->count + 1, sizeof *first);
    int64_t turn = 0;
    if (!first) return ARTEL_ERROR_NO_MEMORY;
    for (int v = 0; v < all->count; v++) first[v] = -1;
    for (int i = l->pieces; i-- > 0;) first[l->piece[i].variable] = i;
    for (int v = 0; v < all->count; v++) {
        int i = first[v];
        if (all->item[v].kind == ARTEL__VARIABLE_SLOT) continue;
        turn += i < 0;
        for (; i >= 0 && i < l->pieces && l->piece[i].variable == v; i++)
            artel__place_in_turn(turn++, 1, l->servers, &l->piece[i].server);
    }
    return ARTEL_OK;
}

artel_status artel__division_make(artel__arena *arena, const artel__session *session, const artel__division_rule *rule,
                                  int servers, artel__division *out)
{
    artel__division division = {.session = session,
                                .objective = artel__session_objective(session, ARTEL__MODE_TRAIN),
                                .slots = artel__session_slots(session),
                                .optimizer = artel__session_optimizer(session),
                                .servers = servers,
                                .mean = rule->mean,
                                .untaken = artel__arena_alloc(arena, 1, sizeof(int64_t))};
    const artel__model *nn = artel__session_network(session);
    const artel__variables *all = nn->variables;
    maker m = {.session = session,
               .arena = arena,
               .out = &division,
               .load = artel__arena_alloc(arena, (size_t)servers, sizeof(uint64_t)),
               .constrained = artel__arena_alloc(arena, (size_t)all->count + 1, sizeof(int))};
    ARTEL_TRY(artel__arena_status(arena));
    ARTEL_TRY(artel__partition_read(arena->ctx, rule->partitioner, servers, &m.rule));
    *division.untaken = 0;
    division.scales = division.objective->gate_kept >= 0;
    memset(m.load, 0, (size_t)servers * sizeof *m.load);
    ARTEL_TRY(artel__model_visit(nn, find_constraint, &m));
    for (int i = 0; i < division.slots->count; i++) {
        int variable = division.slots->trainable[i];
        ARTEL_TRY(check_variable(arena->ctx, &all->item[variable]));
        if (division.objective->gradient_kept[i] >= 0) ARTEL_TRY(cut(&m, i, variable));
    }
    ARTEL_TRY(add_averages(&m));
    if (rule->in_turn) ARTEL_TRY(deal_in_turn(&m));
    *out = division;
    return ARTEL_OK;
}

bool artel__division_place(artel__division *division, const uint8_t *server)
{
    for (int i = 0; i < division->pieces; i++) {
        if (server[i] >= division->servers) return false;
    }
    for (int i = 0; i < division->pieces; i++) division->piece[i].server = server[i];
    return true;
}

int64_t artel__division_bytes(const artel__division *division, int server)
{
    int64_t bytes = 0;
    for (int i = 0; i < division->pieces; i++) {
        if (division->piece[i].server == server) bytes += division->piece[i].count * (int64_t)sizeof(float);
    }
    return bytes;
}

double artel__division_skew(const artel__division *division)
{
    int64_t most = 0, all = 0;
    for (int s = 0; s < division->servers; s++) {
        int64_t bytes = artel__division_bytes(division, s);
        most = bytes > most ? bytes : most;
        all += bytes;
    }
    return all > 0 ? (double)most * division->servers / (double)all : 1;
}

void artel__division_dump(const artel__division *division, artel__text *out)
{
    for (int s = 0; s < division->servers; s++)
        artel__text_printf(out, "ps %d: %" PRId64 " bytes of variables\n", s, artel__division_bytes(division, s));
    for (int i = 0; i < division->pieces; i++) {
        const artel__piece *p = &division->piece[i];
        artel__text_printf(out, "ps %d: %s", p->server, variables_of(division)->item[p->variable].name);
        if (!p->whole) artel__text_printf(out, " [%" PRId64 ", %" PRId64 ")", p->first, p->first + p->count);
        artel__text_printf(out, "%s\n",
                           p->trainable < 0                 ? " (average)"
                           : !p->width                      ? ""
                           : division->optimizer->lazy_rows ? " (rows travel and are stepped alone)"
                                                            : " (rows travel alone)");
    }
}

/* -- messages -- */

typedef struct lister {
    const artel__division *division;
    artel__entry *out;
    int count;
} lister;

static void add(lister *l, artel__entry_kind kind, int piece, int slot, size_t bytes)
{
    l->out[l->count++] = (artel__entry){kind, piece, slot, bytes};
}

/* Some slots of whole variables have another form than these; a task that keeps none has not declared them. */
static void add_slot(lister *l, int i, int k)
{
    const artel__optimizer *optimizer = l->division->optimizer;
    const artel__piece *p = &l->division->piece[i];
    int64_t count = p->count;
    if (!artel__optimizer_has_slot(optimizer, k)) return;
    if (optimizer->matrix && p->whole)
        count = artel__optimizer_slot_count(optimizer, &variables_of(l->division)->item[p->variable], k);
    if (count > 0) add(l, ARTEL__ENTRY_SLOT, i, k, (size_t)count * sizeof(float));
}

static void add_state(lister *l, int i)
{
    const artel__optimizer *optimizer = l->division->optimizer;
    const artel__piece *p = &l->division->piece[i];
    size_t bytes = (size_t)p->count * sizeof(float);
    if (p->trainable < 0) return;
    for (int k = 0; k < ARTEL__APPLY_SLOTS; k++) add_slot(l, i, k);
    if (optimizer->use_ema) add(l, ARTEL__ENTRY_AVERAGE, i, 0, bytes);
    if (optimizer->accumulation_steps > 1) add(l, ARTEL__ENTRY_SUM, i, 0, bytes);
}

static void add_update(lister *l, int i)
{
    const artel__objective *o = l->division->objective;
    const artel__piece *p = &l->division->piece[i];
    size_t bytes = (size_t)p->count * sizeof(float);
    if (p->width > 0) return; /* rows.h */
    if (p->trainable < 0) {
        add(l, ARTEL__ENTRY_DIFFERENCE, i, 0, bytes);
        return;
    }
    add(l, ARTEL__ENTRY_GRADIENT, i, 0, bytes);
    bool sizes = artel__optimizer_reads(l->division->optimizer) == ARTEL__OCCURRENCE_SIZE;
    if (o->squares_kept[p->trainable] >= 0) add(l, sizes ? ARTEL__ENTRY_SIZES : ARTEL__ENTRY_SQUARES, i, 0, bytes);
    if (o->norm_kept[p->trainable] >= 0) add(l, ARTEL__ENTRY_NORM, i, 0, sizeof(double));
}

/* What every part has for itself. */
static void add_common(lister *l, artel__part_list list)
{
    bool state = list == ARTEL__PART_STATE || list == ARTEL__PART_GIVEN, scales = l->division->scales;
    if (state && artel__optimizer_has_product(l->division->optimizer))
        add(l, ARTEL__ENTRY_PRODUCT, 0, 0, sizeof(float));
    if (scales && list != ARTEL__PART_UPDATE) add(l, ARTEL__ENTRY_SCALE, 0, 0, sizeof(float));
    if (scales && state) add(l, ARTEL__ENTRY_SCALE_STEPS, 0, 0, sizeof(int64_t));
    if (scales && state) add(l, ARTEL__ENTRY_UNTAKEN, 0, 0, sizeof(int64_t));
    if (scales && list == ARTEL__PART_UPDATE) add(l, ARTEL__ENTRY_GATE, 0, 0, sizeof(double));
}

int artel__division_most(const artel__division *division)
{
    return division->pieces * (ARTEL__APPLY_SLOTS + 3) + 4;
}

int artel__division_list(const artel__division *division, int server, artel__part_list list, artel__entry *out)
{
    lister l = {.division = division, .out = out};
    for (int i = 0; i < division->pieces; i++) {
        const artel__piece *p = &division->piece[i];
        bool state = list == ARTEL__PART_STATE || (list == ARTEL__PART_GIVEN && !p->left);
        if (p->server != server) continue;
        bool value = state || (list == ARTEL__PART_VALUES && p->width == 0);
        if (value) add(&l, ARTEL__ENTRY_VALUE, i, 0, (size_t)p->count * sizeof(float));
        if (state) add_state(&l, i);
        if (list == ARTEL__PART_UPDATE) add_update(&l, i);
    }
    add_common(&l, list);
    return l.count;
}

size_t artel__entries_bytes(const artel__entry *entry, int count)
{
    size_t bytes = 0;
    for (int i = 0; i < count; i++) bytes += artel__net_padded(entry[i].bytes);
    return bytes;
}

void artel__entries_list(const artel__entry *entry, int count, artel__entry_place_fn *place, void *user,
                         artel__net_piece *out)
{
    for (int i = 0; i < count; i++) out[i] = (artel__net_piece){place(user, &entry[i]), entry[i].bytes};
}

bool artel__entries_take(const artel__entry *entry, int count, const artel__lane_slot *slot, artel__slot_at *at,
                         artel__entry_place_fn *place, void *user)
{
    artel__slot_at own = {0, 0};
    size_t bytes = artel__entries_bytes(entry, count);
    if (at ? slot->length < bytes : slot->length != bytes) return false;
    for (int i = 0; i < count; i++) {
        const void *data = artel__slot_next(slot, at ? at : &own, entry[i].bytes);
        if (!data) return false;
        memcpy(place(user, &entry[i]), data, entry[i].bytes);
    }
    return true;
}

void *artel__division_locate(const artel__division *division, artel__session *session, const artel__entry *entry,
                             float *const *difference)
{
    const artel__optimizer_slots *slots = division->slots;
    const artel__objective *o = division->objective;
    const artel__piece *p = &division->piece[entry->piece];
    artel__state *state = artel__session_state(session);
    int i = p->trainable;
    float *at = NULL;
    switch (entry->kind) {
    case ARTEL__ENTRY_VALUE: at = artel__state_lend(state, p->variable); break;
    case ARTEL__ENTRY_SLOT: at = artel__state_lend(state, slots->slot[i * slots->per_variable + entry->slot]); break;
    case ARTEL__ENTRY_AVERAGE: at = artel__state_lend(state, slots->average[i]); break;
    case ARTEL__ENTRY_SUM: at = artel__state_lend(state, slots->sum[i]); break;
    case ARTEL__ENTRY_PRODUCT: return artel__state_lend(state, slots->product);
    case ARTEL__ENTRY_SCALE: return artel__state_lend(state, slots->scale);
    case ARTEL__ENTRY_SCALE_STEPS: return artel__state_lend(state, slots->steps);
    case ARTEL__ENTRY_UNTAKEN: return division->untaken;
    case ARTEL__ENTRY_GATE: return artel__session_kept(session, o->gate_kept);
    case ARTEL__ENTRY_GRADIENT: at = artel__session_gradient(session, i); break;
    case ARTEL__ENTRY_SQUARES:
    case ARTEL__ENTRY_SIZES: at = artel__session_kept(session, o->squares_kept[i]); break;
    case ARTEL__ENTRY_NORM: return artel__session_kept(session, o->norm_kept[i]);
    case ARTEL__ENTRY_DIFFERENCE: return difference[entry->piece];
    }
    return at + p->first;
}
