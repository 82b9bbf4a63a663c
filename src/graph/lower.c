/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes as a program. */
#include "graph/lower.h"
#include "graph/op_exec.h"

#include <string.h>

enum {
    MOST_FAULTS = 64
};

typedef struct fault {
    int32_t node;
    artel__hlo_value row, value; /* scalars */
} fault;

struct artel__lower_program {
    const artel__lower_request *request;
    artel__arena *arena;
    artel__hlo hlo;
    artel__hlo_value *value;    /* by value of the graph; -1: none yet */
    artel__hlo_value *variable; /* likewise: what a variable has become; -1: it is what it was */
    artel__text refused;
    artel__lower_scalar *scalar;
    artel__hlo_value *known; /* by scalar */
    artel__hlo_value words;  /* the argument that holds them */
    int scalars, most_scalars;
    fault fault[MOST_FAULTS];
    int faults;
    int32_t *scanned; /* NULL: nobody asks */
    artel__hlo_value *scan;
    int scans;
    bool by_batch;
};

/* -- for operations -- */

artel__hlo_type artel__lower_type(const artel__graph *graph, artel__value_id id, int64_t rows, int64_t batch)
{
    const artel__value *value = &graph->value[id];
    artel__hlo_type type = {.dtype = value->dtype};
    if (value->domain == ARTEL__DOMAIN_ROW) type.dim[type.rank++] = rows;
    if (value->domain == ARTEL__DOMAIN_BATCH) type.dim[type.rank++] = batch;
    for (int i = 0; i < value->shape.rank; i++) type.dim[type.rank++] = value->shape.dim[i];
    return type;
}

int64_t artel__lower_batch(const artel__lower *lower)
{
    lower->program->by_batch = true;
    return lower->program->request->batch;
}

/* In a program. */
static artel__hlo_type type_of(artel__lower_program *p, artel__value_id id)
{
    p->by_batch = p->by_batch || p->request->graph->value[id].domain == ARTEL__DOMAIN_BATCH;
    return artel__lower_type(p->request->graph, id, p->request->rows, p->request->batch);
}

artel__hlo_type artel__lower_out_type(const artel__lower *lower, int k)
{
    return type_of(lower->program, lower->node->output[k]);
}

artel__hlo_type artel__lower_in_type(const artel__lower *lower, int k)
{
    return type_of(lower->program, lower->node->input[k]);
}

/* Whether the list has this very entry. */
static bool has_entry(const char *list, const char *entry)
{
    size_t length = strlen(entry);
    for (const char *at = strstr(list, entry); at; at = strstr(at + 1, entry)) {
        if ((at == list || at[-1] == ' ') && (at[length] == '\0' || at[length] == ',')) return true;
    }
    return false;
}

void artel__lower_refuse(artel__lower *lower, const char *detail)
{
    char entry[96];
    artel__text *refused = &lower->program->refused;
    snprintf(entry, sizeof entry, "%s%s%s", lower->node->op->name, detail[0] ? ":" : "", detail);
    if (!has_entry(refused->data, entry)) artel__text_printf(refused, "%s%s", refused->length ? ", " : "", entry);
}

/* Word `i` of the argument as what it is the bits of. */
static artel__hlo_value take_word(artel__lower_program *p, int i, artel_dtype dtype)
{
    artel__hlo *h = &p->hlo;
    artel__hlo_value word =
        artel__hlo_reshape(h, artel__hlo_slice_axis(h, p->words, 0, i, i + 1), &(artel__hlo_type){.rank = 0});
    if (dtype == ARTEL_DTYPE_FLOAT64 || dtype == ARTEL_DTYPE_UINT64) return artel__hlo_bitcast(h, word, dtype);
    if (dtype == ARTEL_DTYPE_FLOAT32)
        return artel__hlo_bitcast(h, artel__hlo_convert(h, word, ARTEL_DTYPE_UINT32), dtype);
    if (dtype != ARTEL_DTYPE_BOOL) return artel__hlo_convert(h, word, dtype);
    return artel__hlo_compare(h, "NE", word, artel__hlo_number(h, 0, word));
}

artel__hlo_value artel__lower_scalar_of(artel__lower *lower, size_t offset, artel_dtype dtype)
{
    artel__lower_program *p = lower->program;
    int32_t node = (int32_t)(lower->node - lower->graph->node);
    for (int i = 0; i < p->scalars; i++) {
        const artel__lower_scalar *s = &p->scalar[i];
        if (s->node == node && s->offset == offset && s->dtype == dtype) return p->known[i];
    }
    if (p->scalars == p->most_scalars) {
        p->hlo.status = artel__fail(p->hlo.ctx, ARTEL_ERROR_INTERNAL, lower->node->name, "",
                                    "%s asks for too many scalars", lower->node->op->name);
        return -1;
    }
    int i = p->scalars++;
    p->scalar[i] = (artel__lower_scalar){node, (uint32_t)offset, dtype};
    return p->known[i] = take_word(p, i, dtype);
}

void artel__lower_fault_in(artel__lower *lower, artel__hlo_value bad, artel__hlo_value value)
{
    artel__lower_program *p = lower->program;
    artel__hlo *h = &p->hlo;
    artel__hlo_type type = *artel__hlo_type_of(h, bad),
                    flat = {.dtype = ARTEL_DTYPE_INT64, .rank = 1, .dim = {artel__hlo_count(&type)}};
    int64_t inner = lower->rows > 0 ? flat.dim[0] / lower->rows : 1;
    if (p->faults == MOST_FAULTS || flat.dim[0] == 0) return; /* the first of so many nodes are told */
    artel__hlo_value place = artel__hlo_iota(h, &flat, 0), none = artel__hlo_integer(h, INT64_MAX, &flat);
    artel__hlo_value where = artel__hlo_select(h, artel__hlo_reshape(h, bad, &flat), place, none);
    artel__hlo_value first = artel__hlo_reduce(h, "minimum", 9.2e18, where, 1);
    artel__hlo_value met = artel__hlo_compare(h, "EQ", place, artel__hlo_broadcast(h, first, &flat, NULL));
    artel__hlo_value one =
        artel__hlo_select(h, met, artel__hlo_reshape(h, value, &flat), artel__hlo_number(h, 0, place));
    artel__hlo_value row = artel__hlo_binary(h, "divide", first, artel__hlo_number(h, (double)inner, first));
    artel__hlo_value far = artel__hlo_integer(h, INT64_MAX, &(artel__hlo_type){.dtype = ARTEL_DTYPE_INT64});
    artel__hlo_value found = artel__hlo_compare(h, "LT", first, artel__hlo_number(h, (double)flat.dim[0], first));
    p->fault[p->faults++] = (fault){(int32_t)(lower->node - lower->graph->node), artel__hlo_select(h, found, row, far),
                                    artel__hlo_reduce(h, "add", 0, one, 1)};
}

bool artel__lower_halves(const artel__lower *lower)
{
    return lower->program->request->half;
}

artel_dtype artel__lower_held(const artel__lower *lower, int a, int b)
{
    artel_dtype of_a = lower->graph->value[lower->node->input[a]].precision,
                of_b = lower->graph->value[lower->node->input[b]].precision;
    return of_a == of_b && (of_a == ARTEL_DTYPE_BFLOAT16 || of_a == ARTEL_DTYPE_FLOAT16) ? of_a : ARTEL_DTYPE_FLOAT32;
}

/* -- programs -- */

/* What an operand is now: of a variable what nodes before have made of it. */
static artel__hlo_value current(const artel__lower_program *p, artel__value_id id)
{
    return p->variable[id] >= 0 ? p->variable[id] : p->value[id];
}

/* INT64 [1][3]: see artel__lowered. */
static void scan_value(artel__lower *lower, int k)
{
    artel__lower_program *p = lower->program;
    artel__hlo *h = lower->hlo;
    artel__domain domain = lower->graph->value[lower->node->output[k]].domain;
    artel__hlo_type type = *artel__hlo_type_of(h, lower->out[k]),
                    flat = {.dtype = ARTEL_DTYPE_INT64, .rank = 1, .dim = {artel__hlo_count(&type)}};
    artel__hlo_type row = {.dtype = ARTEL_DTYPE_INT64, .rank = 2, .dim = {1, 3}}, one = {.rank = 1, .dim = {1}};
    if (type.dtype > ARTEL_DTYPE_FLOAT64 || flat.dim[0] == 0) return;
    bool by_row = domain == ARTEL__DOMAIN_ROW || domain == ARTEL__DOMAIN_BATCH;
    int64_t inner = by_row ? flat.dim[0] / type.dim[0] : flat.dim[0];
    artel__hlo_value x = artel__hlo_reshape(h, artel__hlo_convert(h, lower->out[k], ARTEL_DTYPE_FLOAT64), &flat),
                     place = artel__hlo_iota(h, &flat, 0);
    artel__hlo_value good = artel__hlo_is_finite(h, x), none = artel__hlo_integer(h, INT64_MAX, &flat);
    artel__hlo_value first = artel__hlo_reduce(h, "minimum", 9.2e18, artel__hlo_select(h, good, none, place), 1);
    artel__hlo_value last =
        artel__hlo_reduce(h, "maximum", -1, artel__hlo_select(h, good, artel__hlo_number(h, -1, place), place), 1);
    artel__hlo_value is_first = artel__hlo_compare(h, "EQ", place, artel__hlo_broadcast(h, first, &flat, NULL));
    artel__hlo_value bits = artel__hlo_bitcast(h, x, ARTEL_DTYPE_INT64);
    artel__hlo_value value =
        artel__hlo_reduce(h, "add", 0, artel__hlo_select(h, is_first, bits, artel__hlo_number(h, 0, bits)), 1);
    artel__hlo_value width = artel__hlo_number(h, (double)inner, first), word[3];
    artel__hlo_value found = artel__hlo_compare(h, "GE", last, artel__hlo_number(h, 0, last));
    word[0] = artel__hlo_select(h, found, artel__hlo_binary(h, "divide", first, width), first);
    word[1] = artel__hlo_select(h, found, artel__hlo_binary(h, "divide", last, width), last);
    word[2] = value;
    for (int i = 0; i < 3; i++) word[i] = artel__hlo_reshape(h, word[i], &one);
    p->scanned[p->scans] = (int32_t)(lower->node - lower->graph->node);
    p->scan[p->scans++] = artel__hlo_reshape(h, artel__hlo_concatenate(h, word, 3, 0), &row);
}

/* Rounded, and there in 16 bits for whoever lays it down. */
static artel__hlo_value stored_as(artel__hlo *h, artel__hlo_value a, artel_dtype precision)
{
    return artel__hlo_convert(h, artel__hlo_convert(h, a, precision), ARTEL_DTYPE_FLOAT32);
}

static void finish_outputs(artel__lower *lower)
{
    artel__lower_program *p = lower->program;
    const artel__graph *graph = lower->graph;
    for (int k = 0; k < lower->node->outputs; k++) {
        artel__value_id id = lower->node->output[k];
        const artel__value *value = &graph->value[id];
        if (lower->out[k] >= 0 && value->rounds && value->dtype == ARTEL_DTYPE_FLOAT32)
            lower->out[k] = p->request->half ? stored_as(lower->hlo, lower->out[k], value->precision)
                                             : artel__hlo_round(lower->hlo, lower->out[k], value->precision);
        if (lower->out[k] >= 0 && lower->node->again) lower->out[k] = artel__hlo_barrier(lower->hlo, lower->out[k]);
        p->value[id] = lower->out[k];
        if (p->scanned && lower->out[k] >= 0) scan_value(lower, k);
    }
}

/* A node that is passed over leaves what it writes as it was. */
static artel__hlo_value when_open(artel__lower *lower, artel__hlo_value open, artel__hlo_value now,
                                  artel__hlo_value was)
{
    if (open < 0) return now;
    artel__hlo_type type = *artel__hlo_type_of(lower->hlo, was);
    type.dtype = ARTEL_DTYPE_BOOL;
    return artel__hlo_select(lower->hlo, artel__hlo_broadcast(lower->hlo, open, &type, NULL), now, was);
}

/* BOOL, or -1: always. */
static artel__hlo_value find_open(artel__lower *lower)
{
    artel__lower_program *p = lower->program;
    artel__hlo *h = lower->hlo;
    artel__hlo_value open = -1;
    if (lower->node->period > 1) {
        artel__hlo_value turn = artel__lower_scalar_of(lower, ARTEL__LOWER_TURN, ARTEL_DTYPE_INT64);
        open = artel__hlo_compare(h, "NE", turn, artel__hlo_number(h, 0, turn));
    }
    if (!lower->node->gated || lower->graph->gate < 0) return open;
    artel__hlo_value gate = p->value[lower->graph->gate];
    artel__hlo_type scalar = {.dtype = artel__hlo_type_of(h, gate)->dtype};
    artel__hlo_value finite = artel__hlo_is_finite(h, artel__hlo_reshape(h, gate, &scalar));
    return open < 0 ? finite : artel__hlo_binary(h, "and", open, finite);
}

static void finish_written(artel__lower *lower)
{
    artel__lower_program *p = lower->program;
    bool any = false;
    for (int k = 0; k < lower->node->inputs; k++) any = any || lower->written[k] >= 0;
    artel__hlo_value open = any ? find_open(lower) : -1;
    for (int k = 0; k < lower->node->inputs; k++) {
        if (lower->written[k] < 0) continue;
        artel__hlo_value now =
            artel__hlo_reshape(lower->hlo, lower->written[k], artel__hlo_type_of(lower->hlo, lower->in[k]));
        p->variable[lower->node->input[k]] = when_open(lower, open, now, lower->in[k]);
    }
}

/* Whether it computes in float64 where float32 has another kernel (kernel/wide.h): those are named so. */
static bool is_wide(const artel__graph *graph, const artel__node *node)
{
    const artel__kernel *const *kernels = artel__node_kernels(graph, node);
    return kernels && kernels[0] && strncmp(kernels[0]->name, "float64", 7) == 0;
}

static void write_node(artel__lower_program *p, const artel__node *node)
{
    artel__lower lower = {.graph = p->request->graph,
                          .node = node,
                          .attributes = node->attributes,
                          .hlo = &p->hlo,
                          .rows = p->request->rows,
                          .program = p};
    for (int i = 0; i < ARTEL__MAX_OPERANDS; i++) lower.in[i] = lower.out[i] = lower.written[i] = -1;
    bool known = true; /* what reads a refused value is not written */
    for (int i = 0; i < node->inputs; i++) {
        if (node->input[i] >= 0) lower.in[i] = current(p, node->input[i]);
        bool unread = node->op->placement == ARTEL__PLACE_VIEW && i > 0;
        known = known && (unread || node->input[i] < 0 || lower.in[i] >= 0);
    }
    if (node->op->collective) /* of a whole graph in one program */
        lower.out[0] = lower.in[0];
    else if (!node->op->lower)
        artel__lower_refuse(&lower, "");
    else if (p->request->single && is_wide(p->request->graph, node))
        artel__lower_refuse(&lower, "float64");
    else if (known)
        node->op->lower(&lower);
    finish_outputs(&lower);
    finish_written(&lower);
}

static void write_arguments(artel__lower_program *p)
{
    const artel__lower_request *r = p->request;
    artel__hlo_type words = {.dtype = ARTEL_DTYPE_INT64, .rank = 1, .dim = {p->most_scalars}};
    for (int i = 0; i < r->ins; i++) {
        artel__hlo_type type = type_of(p, r->in[i]);
        int alias = -1;
        for (int k = 0; k < r->outs && r->given && r->given[i]; k++) alias = r->out[k] == r->in[i] ? k : alias;
        p->value[r->in[i]] = artel__hlo_argument(&p->hlo, &type, alias);
    }
    if (p->most_scalars) p->words = artel__hlo_argument(&p->hlo, &words, -1);
}

/* INT64 [faults][2] */
static artel__hlo_value write_faults(artel__lower_program *p)
{
    artel__hlo_value word[2 * MOST_FAULTS];
    artel__hlo_type one = {.rank = 1, .dim = {1}}, table = {.rank = 2, .dim = {p->faults, 2}};
    for (int i = 0; i < p->faults; i++) {
        word[2 * i] = artel__hlo_reshape(&p->hlo, p->fault[i].row, &one);
        word[2 * i + 1] = artel__hlo_reshape(&p->hlo, p->fault[i].value, &one);
    }
    return artel__hlo_reshape(&p->hlo, artel__hlo_concatenate(&p->hlo, word, 2 * p->faults, 0), &table);
}

static artel_status write_body(artel__lower_program *p, artel__text *text)
{
    const artel__lower_request *r = p->request;
    artel__hlo_value *result = artel__arena_alloc(p->arena, (size_t)r->outs + 3, sizeof *result);
    int results = 0;
    write_arguments(p);
    for (int i = 0; i < r->nodes; i++) write_node(p, &r->graph->node[r->node[i]]);
    ARTEL_TRY(artel__text_status(&p->refused));
    ARTEL_TRY(artel__arena_status(p->arena));
    if (p->refused.length) return ARTEL_OK;
    for (int i = 0; i < r->outs; i++) {
        artel__hlo_type type = type_of(p, r->out[i]);
        result[results++] = artel__hlo_reshape(&p->hlo, current(p, r->out[i]), &type);
    }
    if (p->faults) result[results++] = write_faults(p);
    if (p->scans) result[results++] = artel__hlo_concatenate(&p->hlo, p->scan, p->scans, 0);
    return artel__hlo_finish(&p->hlo, result, results, text);
}

static artel_status write_once(artel__lower_program *p, int most_scalars, artel__text *text)
{
    const artel__graph *graph = p->request->graph;
    for (int i = 0; i < graph->values; i++) p->value[i] = p->variable[i] = -1;
    p->scalars = p->faults = p->scans = 0;
    p->most_scalars = most_scalars;
    artel__hlo_init(&p->hlo, artel__graph_context(graph));
    if (p->request->precision) p->hlo.precision = p->request->precision;
    p->hlo.narrow = p->request->narrow;
    artel__text_clear(&p->refused);
    artel__text_clear(text);
    artel_status status = write_body(p, text);
    artel__hlo_fini(&p->hlo);
    return status;
}

/* Twice: the number of scalars is part of a type that comes first. */
static artel_status write_program(artel__lower_program *p, artel__text *text)
{
    int most = 8 * p->request->nodes + 8;
    p->scalar = artel__arena_alloc(p->arena, (size_t)most, sizeof *p->scalar);
    p->known = artel__arena_alloc(p->arena, (size_t)most, sizeof *p->known);
    p->value = artel__arena_alloc(p->arena, (size_t)p->request->graph->values + 1, sizeof *p->value);
    if (p->request->scan) {
        size_t values = (size_t)p->request->graph->values + 1;
        p->scanned = artel__arena_alloc(p->arena, values, sizeof *p->scanned);
        p->scan = artel__arena_alloc(p->arena, values, sizeof *p->scan);
    }
    p->variable = artel__arena_alloc(p->arena, (size_t)p->request->graph->values + 1, sizeof *p->variable);
    ARTEL_TRY(artel__arena_status(p->arena));
    ARTEL_TRY(write_once(p, most, text));
    return write_once(p, p->scalars, text);
}

artel_status artel__lower_write(const artel__lower_request *request, artel__arena *arena, artel__text *text,
                                artel__lowered *out)
{
    void *block;
    ARTEL_TRY(artel__calloc(arena->ctx, 1, sizeof(artel__lower_program), "device", &block));
    artel__lower_program *p = block;
    p->request = request;
    p->arena = arena;
    artel__text_init(&p->refused, arena->ctx);
    artel_status status = write_program(p, text);
    *out = (artel__lowered){.scalar = p->scalar,
                            .scalars = p->scalars,
                            .faults = p->faults,
                            .scanned = p->scanned,
                            .scans = p->scans,
                            .by_batch = p->by_batch};
    if (status == ARTEL_OK && p->refused.length) {
        out->refused = artel__arena_strdup(arena, p->refused.data);
        artel__text_clear(text);
    }
    out->fault = artel__arena_alloc(arena, (size_t)p->faults + 1, sizeof *out->fault);
    for (int i = 0; i < p->faults && out->fault; i++) out->fault[i] = p->fault[i].node;
    artel__text_fini(&p->refused);
    artel__free(arena->ctx, p);
    return status < 0 ? status : artel__arena_status(arena);
}

artel_status artel__lower_graph(const artel__graph *graph, int64_t rows, artel__arena *arena, artel__text *text,
                                artel__lowered *out)
{
    int32_t *node = artel__arena_alloc(arena, (size_t)graph->nodes + 1, sizeof *node);
    artel__value_id *in = artel__arena_alloc(arena, (size_t)(graph->inputs + graph->variable_values) + 1, sizeof *in);
    artel__value_id *result =
        artel__arena_alloc(arena, (size_t)(graph->kept_count + graph->variable_values) + 1, sizeof *result);
    artel__lower_request request = {
        .graph = graph, .node = node, .nodes = graph->nodes, .in = in, .out = result, .rows = rows, .batch = rows};
    ARTEL_TRY(artel__arena_status(arena));
    for (int i = 0; i < graph->nodes; i++) node[i] = i;
    for (int i = 0; i < graph->inputs; i++) in[request.ins++] = graph->input[i];
    for (int i = 0; i < graph->kept_count; i++) result[request.outs++] = graph->kept[i];
    for (int i = 0; i < graph->variable_values; i++) {
        if (graph->variable_value[i] >= 0) in[request.ins++] = result[request.outs++] = graph->variable_value[i];
    }
    ARTEL_TRY(artel__lower_write(&request, arena, text, out));
    if (out->refused)
        return artel__fail(artel__graph_context(graph), ARTEL_ERROR_UNSUPPORTED, "device",
                           "train on processors; see docs/devices.md",
                           "devices do not compute these operations in this version: %s", out->refused);
    return ARTEL_OK;
}
