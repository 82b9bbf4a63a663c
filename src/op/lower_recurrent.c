/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent cells as loops.
 *
 * What lies by time is turned to [steps][rows][...], in the order of the steps (against time with go_backwards), so
 * that a step reads and writes one run of memory. A loop carries the states and the arrays it fills; backward, turn k
 * is step steps - 1 - k. In masked steps states are chosen element by element.
 */
#include "op/lower_recurrent.h"

#include "op/lower_elementwise.h"

enum {
    MOST_GATES = 4
};

typedef artel__cell_activation activation;

typedef struct cell {
    artel__lower *lower;
    artel__hlo *hlo;
    const artel__recurrent_settings *s;
    int64_t rows, steps, u, g;   /* g: columns of all gates */
    artel__hlo_type state, flag; /* [rows][u]: FLOAT32, BOOL */
    artel__hlo_value weights;    /* [u][g]; backward [g][u] */
    artel__hlo_value keep;       /* [rows][g]; -1: none */
    artel_dtype held;            /* what operands of products are rounded to */
    artel__hlo_value step;       /* scalar INT32 */
} cell;

static artel__hlo_value add(const cell *c, artel__hlo_value a, artel__hlo_value b)
{
    return artel__hlo_binary(c->hlo, "add", a, b);
}

static artel__hlo_value times(const cell *c, artel__hlo_value a, artel__hlo_value b)
{
    return artel__hlo_binary(c->hlo, "multiply", a, b);
}

static artel__hlo_value zeros(const cell *c, int64_t rows, int64_t columns)
{
    return artel__hlo_splat(c->hlo, 0,
                            &(artel__hlo_type){.dtype = ARTEL_DTYPE_FLOAT32, .rank = 2, .dim = {rows, columns}});
}

/* Columns of gate `k`, or of `count` gates from it on. */
static artel__hlo_value gates_of(const cell *c, artel__hlo_value a, int64_t k, int64_t count)
{
    return artel__hlo_slice_axis(c->hlo, a, 1, k * c->u, (k + count) * c->u);
}

static artel__hlo_value joined(const cell *c, const artel__hlo_value *gate, int count)
{
    return artel__hlo_concatenate(c->hlo, gate, count, 1);
}

/* -- activations -- */

static bool keeps_argument(const activation *a)
{
    return artel__unary_table[a->function].reads == ARTEL__READS_X;
}

static artel__hlo_value activate(const cell *c, const activation *a, artel__hlo_value x)
{
    return artel__lower_function(c->hlo, a->function, a->parameter, x);
}

/* Of a gate: what is kept, from its argument; and its value, from what was kept. */
static artel__hlo_value kept_of(const cell *c, const activation *a, artel__hlo_value x)
{
    return keeps_argument(a) ? x : activate(c, a, x);
}

static artel__hlo_value value_of(const cell *c, const activation *a, artel__hlo_value kept)
{
    return keeps_argument(a) ? activate(c, a, kept) : kept;
}

static artel__hlo_value slope(const cell *c, const activation *a, artel__hlo_value kept, artel__hlo_value d)
{
    return artel__lower_slope(c->hlo, a->function, a->parameter, kept, d);
}

/* -- by time and by step -- */

/* [rows][steps][...] as [steps][rows][...] in the order of the steps. */
static artel__hlo_value by_step(const cell *c, artel__hlo_value a)
{
    artel__hlo_value turned = artel__hlo_transpose(c->hlo, a, (const int[]){1, 0, 2});
    return c->s->go_backwards ? artel__hlo_reverse(c->hlo, turned, 0) : turned;
}

static artel__hlo_value by_time(const cell *c, artel__hlo_value a)
{
    return artel__hlo_transpose(c->hlo, c->s->go_backwards ? artel__hlo_reverse(c->hlo, a, 0) : a,
                                (const int[]){1, 0, 2});
}

/* An array that a loop fills. */
static artel__hlo_value room_for(const cell *c, int64_t columns)
{
    artel__hlo_type type = {.dtype = ARTEL_DTYPE_FLOAT32, .rank = 3, .dim = {c->steps, c->rows, columns}};
    return artel__hlo_splat(c->hlo, 0, &type);
}

/* The step's part of what lies by step, and that part put there. */
static artel__hlo_value read_step(const cell *c, artel__hlo_value a)
{
    artel__hlo_type type = *artel__hlo_type_of(c->hlo, a),
                    flat = {.dtype = type.dtype, .rank = 2, .dim = {type.dim[1], type.dim[2]}};
    artel__hlo_value zero = artel__hlo_number(c->hlo, 0, c->step), first[] = {c->step, zero, zero};
    return artel__hlo_reshape(
        c->hlo, artel__hlo_dynamic_slice(c->hlo, a, first, (const int64_t[]){1, type.dim[1], type.dim[2]}), &flat);
}

static artel__hlo_value write_step(const cell *c, artel__hlo_value a, artel__hlo_value part)
{
    artel__hlo_type type = *artel__hlo_type_of(c->hlo, a);
    artel__hlo_value zero = artel__hlo_number(c->hlo, 0, c->step), first[] = {c->step, zero, zero};
    type.dim[0] = 1;
    return artel__hlo_dynamic_update(c->hlo, a, artel__hlo_reshape(c->hlo, part, &type), first);
}

/* The mask by step, [steps][rows][1]; -1: none. */
static artel__hlo_value mask_by_step(const cell *c, int operand)
{
    artel__hlo_type type = {.dtype = ARTEL_DTYPE_BOOL, .rank = 3, .dim = {c->rows, c->steps, 1}};
    artel__hlo_value mask = c->lower->in[operand];
    return mask < 0 ? -1 : by_step(c, artel__hlo_reshape(c->hlo, mask, &type));
}

/* Whether a row takes the step, [rows][u]; -1: all do. */
static artel__hlo_value read_mask(const cell *c, artel__hlo_value mask)
{
    return mask < 0 ? -1 : artel__hlo_broadcast(c->hlo, read_step(c, mask), &c->flag, (const int[]){0, 1});
}

/* a where the row takes the step, else b. */
static artel__hlo_value when(const cell *c, artel__hlo_value on, artel__hlo_value a, artel__hlo_value b)
{
    return on < 0 ? a : artel__hlo_select(c->hlo, on, a, b);
}

static cell cell_of(artel__lower *lower, int weights, int keep, int by_time_operand)
{
    cell c = {.lower = lower, .hlo = lower->hlo, .s = lower->attributes, .rows = lower->rows, .keep = -1, .step = -1};
    const artel__value *value = &lower->graph->value[lower->node->input[weights]];
    c.u = c.s->units;
    c.g = artel__cell_gates(c.s->cell) * c.u;
    c.steps = artel__lower_in_type(lower, by_time_operand).dim[1];
    c.state = (artel__hlo_type){.dtype = ARTEL_DTYPE_FLOAT32, .rank = 2, .dim = {c.rows, c.u}};
    c.flag = c.state;
    c.flag.dtype = ARTEL_DTYPE_BOOL;
    c.held = value->precision == ARTEL_DTYPE_BFLOAT16 ? ARTEL_DTYPE_BFLOAT16 : ARTEL_DTYPE_FLOAT32;
    artel__hlo_type factors = {.dtype = ARTEL_DTYPE_FLOAT32, .rank = 2, .dim = {c.rows, c.g}}, matrix = factors;
    bool back = weights == ARTEL__RECURRENT_BACK_WEIGHTS;
    matrix.dim[back ? 1 : 0] = c.u;
    matrix.dim[back ? 0 : 1] = c.g;
    c.weights = artel__hlo_convert(c.hlo, artel__hlo_reshape(c.hlo, lower->in[weights], &matrix), c.held);
    if (lower->in[keep] >= 0) c.keep = artel__hlo_reshape(c.hlo, lower->in[keep], &factors);
    return c;
}

/* A state a loop begins with: the operand, or zeros. */
static artel__hlo_value state_of(const cell *c, int operand)
{
    artel__hlo_value state = c->lower->in[operand];
    return state < 0 ? zeros(c, c->rows, c->u) : artel__hlo_reshape(c->hlo, state, &c->state);
}

static artel__hlo_value trips(const cell *c)
{
    return artel__hlo_integer(c->hlo, (uint64_t)c->steps, &(artel__hlo_type){.dtype = ARTEL_DTYPE_INT32});
}

static void give(artel__lower *lower, int k, artel__hlo_value value)
{
    artel__hlo_type type = artel__lower_out_type(lower, k);
    lower->out[k] = artel__hlo_reshape(lower->hlo, value, &type);
}

/* Sequences of length 0: states stay, or their gradients, and everything else is 0. */
static void give_without_steps(const cell *c, int h, int c_state)
{
    artel__lower *lower = c->lower;
    for (int k = 0; k < lower->node->outputs; k++) {
        artel__hlo_type type = artel__lower_out_type(lower, k);
        lower->out[k] = artel__hlo_splat(c->hlo, 0, &type);
    }
    give(lower, 1, state_of(c, h));
    if (c->s->cell == ARTEL__CELL_LSTM) give(lower, 2, state_of(c, c_state));
}

/* -- forward -- */

/* A step of one cell: what it has, and what it makes. */
typedef struct forward_step {
    artel__hlo_value x, bias, h, c, on;  /* bias [rows][g] or -1; on: as read_mask */
    artel__hlo_value gates, extra, next; /* next: h without regard to the mask; c likewise becomes the new one */
} forward_step;

/* a R, of `count` gates from `k` on. */
static artel__hlo_value product(const cell *c, artel__hlo_value a, int64_t k, int64_t count)
{
    artel__hlo_value w = artel__hlo_slice_axis(c->hlo, c->weights, 1, k * c->u, (k + count) * c->u);
    return artel__hlo_dot(c->hlo, artel__hlo_convert(c->hlo, a, c->held), w, 1, 0);
}

/* The recurrent part of the first `count` gates; with keep, each from an h of its own. */
static artel__hlo_value recurrent_product(const cell *c, artel__hlo_value h, int64_t count)
{
    artel__hlo_value part[MOST_GATES];
    if (c->keep < 0) return product(c, h, 0, count);
    for (int64_t k = 0; k < count; k++) part[k] = product(c, times(c, h, gates_of(c, c->keep, k, 1)), k, 1);
    return joined(c, part, (int)count);
}

static void step_lstm(const cell *c, forward_step *f)
{
    const activation *r = &c->s->recurrent, *a = &c->s->activation;
    artel__hlo_value z = add(c, f->x, recurrent_product(c, f->h, 4));
    artel__hlo_value kept[] = {kept_of(c, r, gates_of(c, z, 0, 2)), kept_of(c, a, gates_of(c, z, 2, 1)),
                               kept_of(c, r, gates_of(c, z, 3, 1))};
    artel__hlo_value early = value_of(c, r, kept[0]), input = gates_of(c, early, 0, 1),
                     forget = gates_of(c, early, 1, 1);
    f->c = add(c, times(c, forget, f->c), times(c, input, value_of(c, a, kept[1])));
    f->next = times(c, value_of(c, r, kept[2]), activate(c, a, f->c));
    f->gates = joined(c, kept, 3);
}

static void step_simple(const cell *c, forward_step *f)
{
    f->gates = kept_of(c, &c->s->activation, add(c, f->x, recurrent_product(c, f->h, 1)));
    f->next = value_of(c, &c->s->activation, f->gates);
}

/* q is that of all gates with reset_after, of the first two without. */
static void step_gru(const cell *c, forward_step *f)
{
    artel__hlo *h = c->hlo;
    bool after = c->s->reset_after;
    artel__hlo_value q = recurrent_product(c, f->h, after ? 3 : 2), part;
    if (after && f->bias >= 0) q = add(c, q, f->bias);
    artel__hlo_value early = kept_of(c, &c->s->recurrent, add(c, gates_of(c, f->x, 0, 2), gates_of(c, q, 0, 2)));
    artel__hlo_value values = value_of(c, &c->s->recurrent, early), update = gates_of(c, values, 0, 1),
                     reset = gates_of(c, values, 1, 1);
    if (after) {
        f->extra = gates_of(c, q, 2, 1);
        part = times(c, reset, f->extra);
    } else {
        f->extra = times(c, reset, c->keep < 0 ? f->h : times(c, f->h, gates_of(c, c->keep, 2, 1)));
        part = product(c, f->extra, 2, 1);
    }
    artel__hlo_value late = kept_of(c, &c->s->activation, add(c, gates_of(c, f->x, 2, 1), part));
    artel__hlo_value rest = artel__hlo_binary(h, "subtract", artel__hlo_number(h, 1, update), update);
    f->next = add(c, times(c, update, f->h), times(c, rest, value_of(c, &c->s->activation, late)));
    f->gates = joined(c, (const artel__hlo_value[]){early, late}, 2);
}

/* What the loop carries. */
enum {
    CARRY_H,
    CARRY_BEFORE,
    CARRY_GATES,
    CARRY_OUT, /* the last output */
    CARRY_ALL, /* all of them, by step; unused without settings.sequences */
    CARRY_EXTRA,
    CARRY_C,
    CARRIED
};

static void forward_turn(cell *c, const forward_step *begin, artel__hlo_value projected, artel__hlo_value mask,
                         const artel__hlo_value *has, artel__hlo_value *next)
{
    forward_step f = *begin;
    f.x = read_step(c, projected);
    f.on = read_mask(c, mask);
    f.h = has[CARRY_H];
    f.c = has[CARRY_C];
    if (c->s->cell == ARTEL__CELL_LSTM)
        step_lstm(c, &f);
    else if (c->s->cell == ARTEL__CELL_GRU)
        step_gru(c, &f);
    else
        step_simple(c, &f);
    artel__hlo_value state = has[CARRY_C], none = artel__hlo_number(c->hlo, 0, f.next);
    if (c->s->cell == ARTEL__CELL_LSTM) state = f.extra = when(c, f.on, f.c, state);
    next[CARRY_H] = when(c, f.on, f.next, f.h);
    next[CARRY_C] = state;
    next[CARRY_BEFORE] = write_step(c, has[CARRY_BEFORE], f.h);
    next[CARRY_GATES] = write_step(c, has[CARRY_GATES], f.gates);
    next[CARRY_EXTRA] = f.extra < 0 ? has[CARRY_EXTRA] : write_step(c, has[CARRY_EXTRA], f.extra);
    next[CARRY_OUT] = when(c, f.on, f.next, c->s->zero_output_for_mask ? none : has[CARRY_OUT]);
    next[CARRY_ALL] = c->s->sequences ? write_step(c, has[CARRY_ALL], next[CARRY_OUT]) : has[CARRY_ALL];
}

void artel__lower_recurrent(artel__lower *lower)
{
    cell c = cell_of(lower, ARTEL__RECURRENT_WEIGHTS, ARTEL__RECURRENT_KEEP, ARTEL__RECURRENT_PROJECTED);
    artel__hlo *h = lower->hlo;
    bool lstm = c.s->cell == ARTEL__CELL_LSTM;
    if (c.steps < 1) {
        give_without_steps(&c, ARTEL__RECURRENT_H0, ARTEL__RECURRENT_C0);
        return;
    }
    artel__hlo_type columns = {.dtype = ARTEL_DTYPE_FLOAT32, .rank = 1, .dim = {c.g}},
                    wide = {.rank = 2, .dim = {c.rows, c.g}};
    artel__hlo_value projected = by_step(&c, lower->in[ARTEL__RECURRENT_PROJECTED]), next[CARRIED];
    artel__hlo_value mask = mask_by_step(&c, ARTEL__RECURRENT_MASK), bias = lower->in[ARTEL__RECURRENT_BIAS];
    forward_step begin = {.bias = -1, .extra = -1};
    if (bias >= 0) begin.bias = artel__hlo_broadcast_trailing(h, artel__hlo_reshape(h, bias, &columns), &wide);
    artel__hlo_value init[CARRIED] = {[CARRY_H] = state_of(&c, ARTEL__RECURRENT_H0),
                                      [CARRY_BEFORE] = room_for(&c, c.u),
                                      [CARRY_GATES] = room_for(&c, c.g),
                                      [CARRY_OUT] = zeros(&c, c.rows, c.u),
                                      [CARRY_ALL] = c.s->sequences ? room_for(&c, c.u) : zeros(&c, 1, 1),
                                      [CARRY_EXTRA] =
                                          c.s->cell == ARTEL__CELL_SIMPLE ? zeros(&c, 1, 1) : room_for(&c, c.u),
                                      [CARRY_C] = lstm ? state_of(&c, ARTEL__RECURRENT_C0) : zeros(&c, 1, 1)};
    artel__hlo_loop loop;
    artel__hlo_loop_begin(h, trips(&c), init, CARRIED, &loop);
    c.step = loop.turn;
    forward_turn(&c, &begin, projected, mask, loop.carried, next);
    artel__hlo_loop_end(h, &loop, next);
    int n = 2;
    artel__hlo_value all = loop.carried[CARRY_ALL]; /* in the order of the steps */
    give(lower, 0, c.s->sequences ? artel__hlo_transpose(h, all, (const int[]){1, 0, 2}) : loop.carried[CARRY_OUT]);
    give(lower, 1, loop.carried[CARRY_H]);
    if (lstm) give(lower, n++, loop.carried[CARRY_C]);
    give(lower, n++, by_time(&c, loop.carried[CARRY_BEFORE]));
    give(lower, n++, by_time(&c, loop.carried[CARRY_GATES]));
    if (c.s->cell != ARTEL__CELL_SIMPLE) give(lower, n, by_time(&c, loop.carried[CARRY_EXTRA]));
}

/* -- backward -- */

/* What lies by step; -1: none. `dout` [steps][rows][u] of sequences alone, `old` the c before each step (LSTM). */
typedef struct kept {
    artel__hlo_value mask, before, gates, extra, old, dout;
} kept;

/* A step: the gradients of the states behind it become those before it, without regard to the mask. */
typedef struct backward_step {
    artel__hlo_value gates, extra, old, before; /* of the step */
    artel__hlo_value dh, dc;
    artel__hlo_value dz, dq, dn; /* of projected, of q (GRU), of n (GRU without reset_after); [rows][g] */
} backward_step;

/* d of `count` gates from `k` on times their rows of R^T; with keep, each times its own. */
static artel__hlo_value product_back(const cell *c, artel__hlo_value d, int64_t k, int64_t count)
{
    artel__hlo *h = c->hlo;
    artel__hlo_value sum = -1;
    int64_t at_once = c->keep < 0 ? count : 1;
    for (int64_t i = 0; i < count; i += at_once) {
        artel__hlo_value w = artel__hlo_slice_axis(h, c->weights, 0, (k + i) * c->u, (k + i + at_once) * c->u);
        artel__hlo_value part = artel__hlo_dot(h, artel__hlo_convert(h, gates_of(c, d, i, at_once), c->held), w, 1, 0);
        if (c->keep >= 0) part = times(c, part, gates_of(c, c->keep, k + i, 1));
        sum = sum < 0 ? part : add(c, sum, part);
    }
    return sum;
}

static void back_lstm(const cell *c, backward_step *b)
{
    const activation *r = &c->s->recurrent, *a = &c->s->activation;
    artel__hlo_value early = gates_of(c, b->gates, 0, 2), cell_kept = gates_of(c, b->gates, 2, 1),
                     out_kept = gates_of(c, b->gates, 3, 1);
    artel__hlo_value values = value_of(c, r, early), input = gates_of(c, values, 0, 1),
                     forget = gates_of(c, values, 1, 1);
    artel__hlo_value candidate = value_of(c, a, cell_kept), output = value_of(c, r, out_kept),
                     top = activate(c, a, b->extra);
    artel__hlo_value du = slope(c, a, keeps_argument(a) ? b->extra : top, times(c, b->dh, output)),
                     d = add(c, b->dc, du);
    const artel__hlo_value both[] = {times(c, d, candidate), times(c, d, b->old)};
    const artel__hlo_value all[] = {slope(c, r, early, joined(c, both, 2)), slope(c, a, cell_kept, times(c, d, input)),
                                    slope(c, r, out_kept, times(c, b->dh, top))};
    b->dz = joined(c, all, 3);
    b->dc = times(c, d, forget);
    b->dh = product_back(c, b->dz, 0, 4);
}

static void back_simple(const cell *c, backward_step *b)
{
    b->dz = slope(c, &c->s->activation, b->gates, b->dh);
    b->dh = product_back(c, b->dz, 0, 1);
}

static void back_gru(const cell *c, backward_step *b)
{
    artel__hlo *h = c->hlo;
    const activation *r = &c->s->recurrent, *a = &c->s->activation;
    artel__hlo_value update_kept = gates_of(c, b->gates, 0, 1), reset_kept = gates_of(c, b->gates, 1, 1);
    artel__hlo_value late = gates_of(c, b->gates, 2, 1), update = value_of(c, r, update_kept),
                     reset = value_of(c, r, reset_kept);
    artel__hlo_value apart = artel__hlo_binary(h, "subtract", b->before, value_of(c, a, late)),
                     none = artel__hlo_number(h, 0, b->dh);
    artel__hlo_value rest = artel__hlo_binary(h, "subtract", artel__hlo_number(h, 1, update), update);
    artel__hlo_value dupdate = slope(c, r, update_kept, times(c, b->dh, apart)),
                     dn = slope(c, a, late, times(c, b->dh, rest));
    artel__hlo_value dreset, dh = times(c, b->dh, update);
    if (c->s->reset_after) {
        dreset = slope(c, r, reset_kept, times(c, dn, b->extra));
        b->dq = joined(c, (const artel__hlo_value[]){dupdate, dreset, times(c, dn, reset)}, 3);
        dh = add(c, dh, product_back(c, b->dq, 0, 3));
    } else {
        artel__hlo_value d = product_back(c, dn, 2, 1); /* of r h */
        dreset = slope(c, r, reset_kept, times(c, d, b->before));
        b->dq = joined(c, (const artel__hlo_value[]){dupdate, dreset, none}, 3);
        b->dn = joined(c, (const artel__hlo_value[]){none, none, dn}, 3);
        dh = add(c, add(c, dh, times(c, d, reset)), product_back(c, b->dq, 0, 2));
    }
    b->dz = joined(c, (const artel__hlo_value[]){dupdate, dreset, dn}, 3);
    b->dh = dh;
}

enum {
    BACK_DH,
    BACK_LATE, /* the gradient of the output that masked steps repeat */
    BACK_DZ,
    BACK_DC, /* of LSTM */
    BACK_DQ, /* of GRU */
    BACK_DN,
    BACK_CARRIED
};

static artel__hlo_value read_kept(const cell *c, artel__hlo_value a)
{
    return a < 0 ? -1 : read_step(c, a);
}

/* Puts the gradients of a step into an array; zeros in masked rows. */
static artel__hlo_value put_back(const cell *c, artel__hlo_value to, artel__hlo_value d, artel__hlo_value mask)
{
    if (d < 0) return to;
    artel__hlo_type flag = *artel__hlo_type_of(c->hlo, d);
    flag.dtype = ARTEL_DTYPE_BOOL;
    if (mask >= 0) {
        artel__hlo_value on = artel__hlo_broadcast(c->hlo, read_step(c, mask), &flag, (const int[]){0, 1});
        d = artel__hlo_select(c->hlo, on, d, artel__hlo_number(c->hlo, 0, d));
    }
    return write_step(c, to, d);
}

static void backward_turn(const cell *c, const kept *k, const artel__hlo_value *has, artel__hlo_value *next)
{
    artel__hlo_value on = read_mask(c, k->mask), dout = read_kept(c, k->dout), late = has[BACK_LATE];
    backward_step b = {.gates = read_step(c, k->gates),
                       .extra = read_kept(c, k->extra),
                       .old = read_kept(c, k->old),
                       .before = read_kept(c, k->before),
                       .dc = has[BACK_DC],
                       .dq = -1,
                       .dn = -1};
    if (dout >= 0) late = add(c, late, dout);
    b.dh = add(c, has[BACK_DH], late);
    if (c->s->cell == ARTEL__CELL_LSTM)
        back_lstm(c, &b);
    else if (c->s->cell == ARTEL__CELL_GRU)
        back_gru(c, &b);
    else
        back_simple(c, &b);
    artel__hlo_value none = artel__hlo_number(c->hlo, 0, late);
    next[BACK_DH] = when(c, on, b.dh, has[BACK_DH]);
    next[BACK_DC] = c->s->cell == ARTEL__CELL_LSTM ? when(c, on, b.dc, has[BACK_DC]) : has[BACK_DC];
    next[BACK_LATE] = on < 0 || c->s->zero_output_for_mask ? none : when(c, on, none, late);
    next[BACK_DZ] = put_back(c, has[BACK_DZ], b.dz, k->mask);
    next[BACK_DQ] = put_back(c, has[BACK_DQ], b.dq, k->mask);
    next[BACK_DN] = put_back(c, has[BACK_DN], b.dn, k->mask);
}

static kept kept_by_step(const cell *c)
{
    const artel__lower *lower = c->lower;
    artel__hlo *h = c->hlo;
    artel__hlo_value extra = lower->in[ARTEL__RECURRENT_BACK_EXTRA], dout = lower->in[ARTEL__RECURRENT_BACK_DOUT];
    artel__hlo_type first = {.rank = 3, .dim = {1, c->rows, c->u}};
    kept k = {.mask = mask_by_step(c, ARTEL__RECURRENT_BACK_MASK),
              .before = by_step(c, lower->in[ARTEL__RECURRENT_BACK_BEFORE]),
              .gates = by_step(c, lower->in[ARTEL__RECURRENT_BACK_GATES]),
              .extra = extra < 0 ? -1 : by_step(c, extra),
              .old = -1,
              .dout = -1};
    if (dout >= 0 && c->s->sequences) k.dout = artel__hlo_transpose(h, dout, (const int[]){1, 0, 2});
    if (c->s->cell != ARTEL__CELL_LSTM) return k;
    artel__hlo_value c0 = artel__hlo_reshape(h, state_of(c, ARTEL__RECURRENT_BACK_C0), &first);
    k.old = artel__hlo_concatenate(
        h, (const artel__hlo_value[]){c0, artel__hlo_slice_axis(h, k.extra, 0, 0, c->steps - 1)}, 2, 0);
    return k;
}

void artel__lower_recurrent_gradient(artel__lower *lower)
{
    cell c = cell_of(lower, ARTEL__RECURRENT_BACK_WEIGHTS, ARTEL__RECURRENT_BACK_KEEP, ARTEL__RECURRENT_BACK_GATES);
    artel__hlo *h = lower->hlo;
    bool lstm = c.s->cell == ARTEL__CELL_LSTM, gru = c.s->cell == ARTEL__CELL_GRU, before = gru && !c.s->reset_after;
    if (c.steps < 1) {
        give_without_steps(&c, ARTEL__RECURRENT_BACK_DH, ARTEL__RECURRENT_BACK_DC);
        return;
    }
    kept k = kept_by_step(&c);
    artel__hlo_value last =
                         artel__hlo_integer(h, (uint64_t)(c.steps - 1), &(artel__hlo_type){.dtype = ARTEL_DTYPE_INT32}),
                     next[BACK_CARRIED];
    artel__hlo_value init[BACK_CARRIED] = {[BACK_DH] = state_of(&c, ARTEL__RECURRENT_BACK_DH),
                                           [BACK_LATE] = c.s->sequences ? zeros(&c, c.rows, c.u)
                                                                        : state_of(&c, ARTEL__RECURRENT_BACK_DOUT),
                                           [BACK_DZ] = room_for(&c, c.g),
                                           [BACK_DC] = lstm ? state_of(&c, ARTEL__RECURRENT_BACK_DC) : zeros(&c, 1, 1),
                                           [BACK_DQ] = gru ? room_for(&c, c.g) : zeros(&c, 1, 1),
                                           [BACK_DN] = before ? room_for(&c, c.g) : zeros(&c, 1, 1)};
    artel__hlo_loop loop;
    artel__hlo_loop_begin(h, trips(&c), init, BACK_CARRIED, &loop);
    c.step = artel__hlo_binary(h, "subtract", last, loop.turn);
    backward_turn(&c, &k, loop.carried, next);
    artel__hlo_loop_end(h, &loop, next);
    give(lower, 0, by_time(&c, loop.carried[BACK_DZ]));
    give(lower, 1, loop.carried[BACK_DH]);
    if (lstm) give(lower, 2, loop.carried[BACK_DC]);
    if (gru) give(lower, 2, by_time(&c, loop.carried[BACK_DQ]));
    if (before) give(lower, 3, by_time(&c, loop.carried[BACK_DN]));
}
