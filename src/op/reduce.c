/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions over axes of a row; softmax and its relatives; ranks.
 *
 *   reduce       y = sum, mean, max, min or product over the marked axes;   gradients: kernel/reduce.h
 *   softmax      y = exp(x - max) / sum along one axis, log_softmax, sparsemax;  glu
 *   argmax, in_top_k  integers and indicators, no gradient
 * Orders of summation: kernel/reduce.h and kernel/softmax.h.
 */
#include "op/reduce.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "op/lower_formula.h"
#include "op/lower_glu.h"

typedef struct reduce_attributes {
    artel__reduction function;
    uint32_t axes;
    bool keep;
} reduce_attributes;

static artel_status infer_reduce(artel__infer *infer)
{
    const reduce_attributes *a = infer->attributes;
    const artel__value *x = infer->in[0];
    artel_shape shape = {.rank = 0};
    for (int i = 0; i < x->shape.rank; i++) {
        if (!(a->axes & (1u << i)))
            shape.dim[shape.rank++] = x->shape.dim[i];
        else if (a->keep)
            shape.dim[shape.rank++] = 1;
    }
    artel__infer_output(infer, 0, x->domain, ARTEL_DTYPE_FLOAT32, &shape);
    return ARTEL_OK;
}

/* The kernel's index space: rows in front, then the axes of `full`. */
static int reduce_space(const artel__run_args *args, artel__value_id full, uint32_t axes, int64_t *dim, bool *reduced)
{
    const artel__value *value = &args->graph->value[full];
    dim[0] = artel__args_rows(args, full);
    reduced[0] = false;
    for (int i = 0; i < value->shape.rank; i++) {
        dim[i + 1] = value->shape.dim[i];
        reduced[i + 1] = (axes & (1u << i)) != 0;
    }
    return value->shape.rank + 1;
}

static void fill_reduce(const artel__run_args *args, void *params)
{
    const reduce_attributes *a = args->attributes;
    artel__reduce *p = params;
    p->op = a->function;
    p->rank = reduce_space(args, args->node->input[0], a->axes, p->dim, p->reduced);
    p->x = args->in[0];
    p->y = args->out[0];
}

/* Inputs: x, y, dy. */
static artel_status infer_reduce_gradient(artel__infer *infer)
{
    artel__infer_output(infer, 0, infer->in[0]->domain, ARTEL_DTYPE_FLOAT32, &infer->in[0]->shape);
    return ARTEL_OK;
}

static void fill_reduce_gradient(const artel__run_args *args, void *params)
{
    const reduce_attributes *a = args->attributes;
    artel__reduce_gradient *p = params;
    p->op = a->function;
    p->rank = reduce_space(args, args->node->output[0], a->axes, p->dim, p->reduced);
    p->x = args->in[0];
    p->y = args->in[1];
    p->dy = args->in[2];
    p->dx = args->out[0];
}

/* Sums and means have the same slope everywhere. */
static uint32_t unread_by_gradient(const artel__node *node)
{
    const reduce_attributes *a = node->attributes;
    return a->function == ARTEL__REDUCE_SUM || a->function == ARTEL__REDUCE_MEAN ? 3 : 0;
}

typedef struct lower_space {
    artel__hlo_type full, kept; /* of the operand; without the axes that go */
    uint32_t gone;
    int axes[ARTEL__HLO_RANK]; /* of `full`, by axis of `kept` */
    double count;
} lower_space;

static lower_space space_of_lowered(artel__lower *lower)
{
    const reduce_attributes *a = lower->attributes;
    lower_space s = {.full = artel__lower_in_type(lower, 0), .count = 1};
    int ahead = s.full.rank - lower->graph->value[lower->node->input[0]].shape.rank;
    s.gone = a->axes << ahead;
    s.kept.dtype = s.full.dtype;
    for (int i = 0; i < s.full.rank; i++) {
        if (s.gone >> i & 1) {
            s.count *= (double)s.full.dim[i];
        } else {
            s.axes[s.kept.rank] = i;
            s.kept.dim[s.kept.rank++] = s.full.dim[i];
        }
    }
    return s;
}

/* A value of the result, everywhere it came from. */
static artel__hlo_value widen(artel__hlo *h, const lower_space *s, artel__hlo_value a)
{
    return artel__hlo_broadcast(h, artel__hlo_reshape(h, a, &s->kept), &s->full, s->axes);
}

static artel__hlo_value sum_over(artel__hlo *h, const lower_space *s, artel__hlo_value a)
{
    return widen(h, s, artel__hlo_reduce(h, "add", 0, a, s->gone));
}

/* Without a zero y / x; a single zero gets the product of the others. */
static artel__hlo_value lower_product_gradient(artel__hlo *h, const lower_space *s, artel__hlo_value x, artel__formula *f)
{
    artel__hlo_value one = artel__hlo_number(h, 1, x), zero = artel__hlo_number(h, 0, x);
    artel__hlo_value is_zero = artel__hlo_compare(h, "EQ", x, zero);
    artel__formula_set(f, 'k', sum_over(h, s, artel__hlo_select(h, is_zero, one, zero)));
    artel__hlo_value others = artel__hlo_reduce(h, "multiply", 1, artel__hlo_select(h, is_zero, one, x), s->gone);
    artel__formula_set(f, 'o', widen(h, s, others));
    return artel__formula_write(f, "k 0 == d y x / * k 1 == x 0 == and d o * 0 ? ?");
}

static void lower_reduce_gradient(artel__lower *lower)
{
    const reduce_attributes *a = lower->attributes;
    artel__hlo *h = lower->hlo;
    lower_space s = space_of_lowered(lower);
    artel__hlo_value d = widen(h, &s, lower->in[2]);
    artel__formula f;
    artel__formula_init(&f, h, d);
    artel__formula_set(&f, 'd', d);
    artel__formula_number(&f, 'n', s.count);
    if (a->function == ARTEL__REDUCE_SUM || a->function == ARTEL__REDUCE_MEAN) {
        lower->out[0] = artel__formula_write(&f, a->function == ARTEL__REDUCE_SUM ? "d" : "d n /");
        return;
    }
    artel__formula_set(&f, 'x', lower->in[0]);
    artel__formula_set(&f, 'y', widen(h, &s, lower->in[1]));
    if (a->function == ARTEL__REDUCE_PROD) {
        lower->out[0] = lower_product_gradient(h, &s, lower->in[0], &f);
        return;
    }
    artel__formula_set(&f, 't', sum_over(h, &s, artel__formula_write(&f, "x y == 1 0 ?")));
    lower->out[0] = artel__formula_write(&f, "x y == d t / 0 ?");
}

const artel__op_def artel__op_reduce_gradient_def = {
    .name = "reduce_gradient",
    .doc = "Gradient of a reduction over axes of a row.",
    .attribute_size = sizeof(reduce_attributes),
    .infer = infer_reduce_gradient,
    .lower = lower_reduce_gradient,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__reduce_gradient_kernels,
            .params_size = sizeof(artel__reduce_gradient),
            .fill = fill_reduce_gradient,
            .unread = unread_by_gradient,
        },
};

static artel_status grad_reduce(artel__gradient *g)
{
    g->in_gradient[0] = artel__graph_add(g->graph, &artel__op_reduce_gradient_def, g->attributes,
                                         (artel__value_id[]){g->in[0], g->out[0], g->out_gradient[0]}, 3);
    return ARTEL_OK;
}

static void lower_reduce(artel__lower *lower)
{
    static const struct {
        const char *op;
        double init;
    } how[] = {[ARTEL__REDUCE_SUM] = {"add", 0},
               [ARTEL__REDUCE_MEAN] = {"add", 0},
               [ARTEL__REDUCE_MAX] = {"maximum", -INFINITY},
               [ARTEL__REDUCE_MIN] = {"minimum", INFINITY},
               [ARTEL__REDUCE_PROD] = {"multiply", 1}};
    const reduce_attributes *a = lower->attributes;
    artel__hlo *h = lower->hlo;
    lower_space s = space_of_lowered(lower);
    artel__hlo_type out = artel__lower_out_type(lower, 0);
    artel__hlo_value y = artel__hlo_reduce(h, how[a->function].op, how[a->function].init, lower->in[0], s.gone);
    if (a->function == ARTEL__REDUCE_MEAN) y = artel__hlo_binary(h, "divide", y, artel__hlo_number(h, s.count, y));
    lower->out[0] = artel__hlo_reshape(h, y, &out);
}

const artel__op_def artel__op_reduce_def = {
    .name = "reduce",
    .doc = "Sum, mean, maximum, minimum or product over axes of a row.",
    .attribute_size = sizeof(reduce_attributes),
    .infer = infer_reduce,
    .grad = grad_reduce,
    .lower = lower_reduce,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__reduce_kernels,
            .params_size = sizeof(artel__reduce),
            .fill = fill_reduce,
        },
};

artel__value_id artel__op_reduce(artel__graph *graph, artel__reduction function, artel__value_id x, uint32_t axes, bool keep)
{
    reduce_attributes attributes = {function, axes, keep};
    return artel__graph_add(graph, &artel__op_reduce_def, &attributes, &x, 1);
}

/* -- along one axis: [outer][length][inner] -- */

typedef struct axis_attributes {
    int function, axis;
} axis_attributes;

typedef struct axis_space {
    int64_t outer, length, inner;
} axis_space;

static axis_space space_of(const artel__run_args *args, artel__value_id id, int axis)
{
    const artel_shape *shape = &args->graph->value[id].shape;
    return (axis_space){.outer = artel__args_rows(args, id) * artel__shape_product(shape, 0, axis),
                        .length = shape->dim[axis],
                        .inner = artel__shape_product(shape, axis + 1, shape->rank)};
}

static artel_status infer_axis(artel__infer *infer)
{
    const axis_attributes *a = infer->attributes;
    const artel__value *x = infer->in[0];
    if (a->axis < 0 || a->axis >= x->shape.rank) return artel__op_fail(infer, "the axis is out of range");
    artel__infer_output(infer, 0, x->domain, ARTEL_DTYPE_FLOAT32, &x->shape);
    return ARTEL_OK;
}

static void fill_softmax(const artel__run_args *args, void *params)
{
    const axis_attributes *a = args->attributes;
    axis_space s = space_of(args, args->node->output[0], a->axis);
    *(artel__softmax_forward *)params = (artel__softmax_forward){
        .op = (artel__softmax_op)a->function, .outer = s.outer, .length = s.length, .inner = s.inner, .x = args->in[0], .y = args->out[0]};
}

/* Inputs: dy, y and, for sparsemax, x. */
static void fill_softmax_gradient(const artel__run_args *args, void *params)
{
    const axis_attributes *a = args->attributes;
    axis_space s = space_of(args, args->node->output[0], a->axis);
    *(artel__softmax_gradient *)params = (artel__softmax_gradient){.op = (artel__softmax_op)a->function,
                                                                   .outer = s.outer,
                                                                   .length = s.length,
                                                                   .inner = s.inner,
                                                                   .y = args->in[1],
                                                                   .dy = args->in[0],
                                                                   .dx = args->out[0],
                                                                   .x = args->in[2]};
}

/* `k`: the operand that lies as the result. */
static void begin_axis(artel__lower *lower, int k, artel__formula *f)
{
    const axis_attributes *a = lower->attributes;
    artel__formula_init(f, lower->hlo, lower->in[k]);
    f->axis += a->axis - lower->graph->value[lower->node->input[k]].shape.rank + 1;
}

/* Sets z, x sorted downwards, s its running sums, k the places 1 .. n; `rank`, if not NULL, becomes the place of each element of x. */
static void write_sorted(artel__formula *f, artel__hlo_value x, artel__hlo_value *rank)
{
    artel__hlo *h = f->hlo;
    artel__hlo_type type = *artel__hlo_type_of(h, x), index = type, scalar = {.dtype = type.dtype};
    int64_t low[ARTEL__HLO_RANK] = {0}, high[ARTEL__HLO_RANK] = {0}, inside[ARTEL__HLO_RANK] = {0};
    index.dtype = ARTEL_DTYPE_INT32;
    artel__hlo_value place = artel__hlo_iota(h, &index, f->axis), in[] = {x, place}, sorted[2], back[2];
    artel__hlo_sort(h, "GT", in, 2, f->axis, sorted);
    artel__hlo_value sum = sorted[0], zero = artel__hlo_splat(h, 0, &scalar);
    for (int64_t step = 1; step < type.dim[f->axis]; step *= 2) {
        low[f->axis] = step;
        high[f->axis] = -step;
        sum = artel__hlo_binary(h, "add", sum, artel__hlo_pad(h, sum, zero, low, high, inside));
    }
    artel__formula_set(f, 'z', sorted[0]);
    artel__formula_set(f, 's', sum);
    artel__formula_set(f, 'k', artel__hlo_convert(h, place, type.dtype));
    artel__formula_write(f, "k 1 + =k");
    if (!rank) return;
    artel__hlo_sort(h, "LT", (artel__hlo_value[]){sorted[1], artel__formula_get(f, 'k')}, 2, f->axis, back);
    *rank = back[1];
}

#define SUPPORT "z s 1 - k / - 0 > =i i 1 0 ? sum =n " /* inside, how many */

static void lower_softmax_gradient(artel__lower *lower)
{
    const axis_attributes *a = lower->attributes;
    artel__hlo_value rank;
    artel__formula f;
    begin_axis(lower, 0, &f);
    artel__formula_set(&f, 'd', lower->in[0]);
    artel__formula_set(&f, 'y', lower->in[1]);
    if (a->function == (int)ARTEL__SOFTMAX) {
        lower->out[0] = artel__formula_write(&f, "d d y * sum - y *");
    } else if (a->function == (int)ARTEL__LOG_SOFTMAX) {
        lower->out[0] = artel__formula_write(&f, "d y exp d sum * -");
    } else {
        write_sorted(&f, lower->in[2], &rank);
        artel__formula_set(&f, 'r', rank);
        lower->out[0] = artel__formula_write(&f, SUPPORT "y 0 > d 0 ? =p p r n <= p sum n r - 1 + n / * 0 ? -");
    }
}

const artel__op_def artel__op_softmax_gradient_def = {
    .name = "softmax_gradient",
    .doc = "Gradient of softmax and its relatives.",
    .attribute_size = sizeof(axis_attributes),
    .placement = ARTEL__PLACE_INPLACE,
    .infer = infer_axis,
    .lower = lower_softmax_gradient,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__softmax_gradient_kernels,
            .params_size = sizeof(artel__softmax_gradient),
            .fill = fill_softmax_gradient,
        },
};

static artel_status grad_softmax(artel__gradient *g)
{
    const axis_attributes *a = g->attributes;
    artel__value_id x = a->function == (int)ARTEL__SPARSEMAX ? g->in[0] : ARTEL__NO_VALUE;
    artel__value_id inputs[] = {g->out_gradient[0], g->out[0], x};
    g->in_gradient[0] = artel__graph_add(g->graph, &artel__op_softmax_gradient_def, g->attributes, inputs, 3);
    return ARTEL_OK;
}

static void describe_softmax(const artel__node *node, artel__text *out)
{
    static const char *const names[] = {"softmax", "log_softmax", "sparsemax"};
    const axis_attributes *a = node->attributes;
    artel__text_printf(out, "%s axis=%d", names[a->function], a->axis);
}

static void lower_softmax(artel__lower *lower)
{
    const axis_attributes *a = lower->attributes;
    artel__formula f;
    begin_axis(lower, 0, &f);
    artel__formula_set(&f, 'x', lower->in[0]);
    if (a->function == (int)ARTEL__SOFTMAX) {
        lower->out[0] = artel__formula_write(&f, "x x most - exp =e e 1 e sum / *");
    } else if (a->function == (int)ARTEL__LOG_SOFTMAX) {
        lower->out[0] = artel__formula_write(&f, "x x most - =z z z exp sum log -");
    } else {
        write_sorted(&f, lower->in[0], NULL);
        lower->out[0] = artel__formula_write(&f, SUPPORT "x i s 0 ? sum 1 - n / - 0 max");
    }
}

const artel__op_def artel__op_softmax_def = {
    .name = "softmax",
    .doc = "Softmax, log-softmax or sparsemax along one axis.",
    .attribute_size = sizeof(axis_attributes),
    .placement = ARTEL__PLACE_INPLACE,
    .infer = infer_axis,
    .grad = grad_softmax,
    .describe = describe_softmax,
    .lower = lower_softmax,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__softmax_forward_kernels,
            .params_size = sizeof(artel__softmax_forward),
            .fill = fill_softmax,
        },
};

static int normal_axis(const artel__graph *graph, artel__value_id x, int axis)
{
    return axis < 0 ? axis + graph->value[x].shape.rank : axis;
}

artel__value_id artel__op_softmax(artel__graph *graph, artel__softmax_op function, artel__value_id x, int axis)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    axis_attributes attributes = {(int)function, normal_axis(graph, x, axis)};
    return artel__graph_add(graph, &artel__op_softmax_def, &attributes, &x, 1);
}

/* -- glu -- */

static artel_status infer_glu(artel__infer *infer)
{
    const axis_attributes *a = infer->attributes;
    artel_shape shape = infer->in[0]->shape;
    if (a->axis < 0 || a->axis >= shape.rank || shape.dim[a->axis] % 2) return artel__op_fail(infer, "the axis must have an even extent");
    shape.dim[a->axis] /= 2;
    artel__infer_output(infer, 0, infer->in[0]->domain, ARTEL_DTYPE_FLOAT32, &shape);
    return ARTEL_OK;
}

static void fill_glu(const artel__run_args *args, void *params)
{
    const axis_attributes *a = args->attributes;
    axis_space s = space_of(args, args->node->output[0], a->axis);
    *(artel__glu_forward *)params = (artel__glu_forward){s.outer, s.length, s.inner, args->in[0], args->out[0]};
}

/* Inputs: x, dy. */
static void fill_glu_gradient(const artel__run_args *args, void *params)
{
    const axis_attributes *a = args->attributes;
    axis_space s = space_of(args, args->node->input[1], a->axis);
    *(artel__glu_gradient *)params = (artel__glu_gradient){s.outer, s.length, s.inner, args->in[0], args->in[1], args->out[0]};
}

static void lower_glu(artel__lower *lower)
{
    artel__lower_glu(lower, ((const axis_attributes *)lower->attributes)->axis);
}

static void lower_glu_gradient(artel__lower *lower)
{
    artel__lower_glu_gradient(lower, ((const axis_attributes *)lower->attributes)->axis);
}

const artel__op_def artel__op_glu_gradient_def = {
    .name = "glu_gradient",
    .doc = "Gradient of the gated linear unit.",
    .attribute_size = sizeof(axis_attributes),
    .infer = infer_axis,
    .lower = lower_glu_gradient,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__glu_gradient_kernels,
            .params_size = sizeof(artel__glu_gradient),
            .fill = fill_glu_gradient,
        },
};

static artel_status grad_glu(artel__gradient *g)
{
    g->in_gradient[0] =
        artel__graph_add(g->graph, &artel__op_glu_gradient_def, g->attributes, (artel__value_id[]){g->in[0], g->out_gradient[0]}, 2);
    return ARTEL_OK;
}

const artel__op_def artel__op_glu_def = {
    .name = "glu",
    .doc = "First half of an axis times the sigmoid of the second.",
    .attribute_size = sizeof(axis_attributes),
    .infer = infer_glu,
    .grad = grad_glu,
    .lower = lower_glu,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__glu_forward_kernels,
            .params_size = sizeof(artel__glu_forward),
            .fill = fill_glu,
        },
};

artel__value_id artel__op_glu(artel__graph *graph, artel__value_id x, int axis)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    axis_attributes attributes = {0, normal_axis(graph, x, axis)};
    return artel__graph_add(graph, &artel__op_glu_def, &attributes, &x, 1);
}

/* -- ranks -- */

static artel_status infer_argmax(artel__infer *infer)
{
    artel_shape shape = infer->in[0]->shape;
    if (shape.rank < 1) return artel__op_fail(infer, "a scalar has no axis");
    shape.rank--;
    artel__infer_output(infer, 0, infer->in[0]->domain, ARTEL_DTYPE_INT32, &shape);
    return ARTEL_OK;
}

static void fill_argmax(const artel__run_args *args, void *params)
{
    axis_space s = space_of(args, args->node->input[0], artel__args_in(args, 0)->shape.rank - 1);
    *(artel__argmax *)params = (artel__argmax){s.outer, s.length, 1, args->in[0], args->out[0]};
}

/* Along the last axis: a value of the result as the operand lies. */
static artel__hlo_value along_last(artel__hlo *h, artel__hlo_value a, artel__hlo_value like)
{
    artel__hlo_type type = *artel__hlo_type_of(h, like);
    int axes[ARTEL__HLO_RANK];
    for (int i = 0; i < ARTEL__HLO_RANK; i++) axes[i] = i;
    return artel__hlo_broadcast(h, a, &type, axes);
}

static artel__hlo_value last_places(artel__hlo *h, artel__hlo_value like)
{
    artel__hlo_type type = *artel__hlo_type_of(h, like);
    type.dtype = ARTEL_DTYPE_INT32;
    return artel__hlo_iota(h, &type, type.rank - 1);
}

static void lower_argmax(artel__lower *lower)
{
    artel__hlo *h = lower->hlo;
    artel__hlo_value x = lower->in[0], least = artel__hlo_number(h, -(double)FLT_MAX, x), place = last_places(h, x);
    artel__hlo_type type = *artel__hlo_type_of(h, x);
    uint32_t last = 1u << (type.rank - 1);
    x = artel__hlo_select(h, artel__hlo_compare(h, "GT", x, least), x, least);
    artel__hlo_value most = along_last(h, artel__hlo_reduce(h, "maximum", -INFINITY, x, last), x);
    artel__hlo_value far = artel__hlo_number(h, (double)type.dim[type.rank - 1], place);
    artel__hlo_value where = artel__hlo_select(h, artel__hlo_compare(h, "EQ", x, most), place, far);
    lower->out[0] = artel__hlo_reduce(h, "minimum", INT32_MAX, where, last);
}

const artel__op_def artel__op_argmax_def = {
    .name = "argmax",
    .doc = "Index of the first largest element along the last axis.",
    .infer = infer_argmax,
    .lower = lower_argmax,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__argmax_kernels,
            .params_size = sizeof(artel__argmax),
            .fill = fill_argmax,
        },
};

artel__value_id artel__op_argmax(artel__graph *graph, artel__value_id x)
{
    return artel__graph_add(graph, &artel__op_argmax_def, NULL, &x, 1);
}

typedef struct top_attributes {
    int k;
} top_attributes;

static artel_status infer_in_top_k(artel__infer *infer)
{
    artel_shape shape = infer->in[0]->shape;
    if (shape.rank < 1 || infer->in[1]->dtype != ARTEL_DTYPE_INT32) return artel__op_fail(infer, "expected scores and int32 classes");
    shape.rank--;
    artel__infer_output(infer, 0, infer->in[0]->domain, ARTEL_DTYPE_FLOAT32, &shape);
    return ARTEL_OK;
}

static void fill_in_top_k(const artel__run_args *args, void *params)
{
    const top_attributes *a = args->attributes;
    axis_space s = space_of(args, args->node->input[0], artel__args_in(args, 0)->shape.rank - 1);
    *(artel__in_top_k *)params = (artel__in_top_k){s.outer, s.length, a->k, args->in[0], args->in[1], args->out[0]};
}

static void lower_in_top_k(artel__lower *lower)
{
    const top_attributes *a = lower->attributes;
    artel__hlo_type rows = artel__lower_out_type(lower, 0);
    artel__formula f;
    artel__hlo *h = lower->hlo;
    artel__hlo_value x = lower->in[0], target = artel__hlo_reshape(h, lower->in[1], &rows);
    artel__hlo_value here = artel__hlo_compare(h, "EQ", last_places(h, x), along_last(h, target, x));
    artel__formula_init(&f, h, x);
    artel__formula_set(&f, 'x', x);
    artel__formula_set(&f, 'h', artel__hlo_convert(h, here, ARTEL_DTYPE_FLOAT32));
    artel__formula_set(&f, 'f', artel__hlo_convert(h, artel__hlo_is_finite(h, x), ARTEL_DTYPE_FLOAT32));
    artel__formula_number(&f, 'k', (double)a->k);
    artel__formula_number(&f, 'n', (double)artel__hlo_type_of(h, x)->dim[rows.rank]);
    artel__hlo_value good =
        artel__formula_write(&f, "h 0 != x 0 ? sum =t x t > 1 0 ? sum k < h sum 1 == and f sum n == and h 0 != and 1 0 ?");
    lower->out[0] = artel__hlo_reduce(h, "add", 0, good, 1u << rows.rank);
}

const artel__op_def artel__op_in_top_k_def = {
    .name = "in_top_k",
    .doc = "Whether a class is among the k best.",
    .attribute_size = sizeof(top_attributes),
    .infer = infer_in_top_k,
    .lower = lower_in_top_k,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__in_top_k_kernels,
            .params_size = sizeof(artel__in_top_k),
            .fill = fill_in_top_k,
        },
};

artel__value_id artel__op_in_top_k(artel__graph *graph, artel__value_id x, artel__value_id target, int k)
{
    top_attributes attributes = {k};
    return artel__graph_add(graph, &artel__op_in_top_k_def, &attributes, (artel__value_id[]){x, target}, 2);
}
