/* SPDX-License-Identifier: Apache-2.0 */
/* EinsumDense: a product along axes named by an equation, "abc,cde->abde".
 *
 * Axes of the input are kept or contracted with the kernel; axes that only the kernel has are new. A kernel that lists
 * its contracted axes first, as most do, is a matrix of panels as it stands; the input and the result are transposed
 * where the equation asks for it. Any other equation (axes that kernel, input and result have; sums over the input
 * alone; a kernel that lies the other way) is the sum of products of keras.ops.einsum. One ellipsis, left or right,
 * stands for kept axes. Shapes of kernel and bias after keras/src/layers/core/einsum_dense.py.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "nn/adapters.h"
#include "nn/layer_ops.h"
#include "op/elementwise.h"
#include "op/op.h"
#include "op/shape_ops.h"

typedef struct einsum_config {
    const char *equation, *bias_axes;
} einsum_config;

enum {
    LETTERS = 16
};

/* The equation for one rank of input, batch left out. Axes under an ellipsis are '0', '1', ... */
typedef struct einsum_axes {
    char in[LETTERS], kernel[LETTERS], out[LETTERS];
    bool elided_left;
    int elided; /* axes under the ellipsis, the batch left out */
} einsum_axes;

typedef struct einsum_parts {
    artel__activation_config activation;
    artel__weight_parts kernel, bias;
    einsum_axes axes;
    int64_t extent[128];     /* by letter */
    int contracted, created; /* leading and remaining axes of the kernel */
    artel_shape columns;     /* of the created axes */
    bool has_bias, fused;    /* the bias covers exactly the created axes */
    bool plain;              /* the kernel is no matrix as it stands: sums of products */
    bool sums;               /* so are its adapters */
    artel_shape partial;     /* output_shape of the config, -1 where open */
} einsum_parts;

static const artel__option einsum_options[] = {
    {"equation", "input,kernel->output", ARTEL__OPTION_STRING, offsetof(einsum_config, equation), NULL, 0, 0, NULL},
    {"bias_axes", "axes of the output that have a bias", ARTEL__OPTION_STRING, offsetof(einsum_config, bias_axes),
     "null", 0, 0, NULL},
    {"output_shape", "extents of the output without the batch", ARTEL__OPTION_IGNORED, 0, NULL, 0, 0, NULL},
    ARTEL__PART("activation", "activation: a name or a record"),
    ARTEL__WEIGHT_PARTS("kernel"),
    ARTEL__WEIGHT_PARTS("bias"),
    ARTEL__ADAPTER_OPTIONS,
    ARTEL__OPTIONS_END,
};

static artel_status refuse(const artel__layer *layer)
{
    const einsum_config *c = layer->config;
    return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "use an equation like \"abc,cd->abd\"",
                             "the equation \"%s\" is not supported", c->equation);
}

static bool read_partial(json_t *json, artel_shape *out)
{
    size_t count = json_is_array(json) ? json_array_size(json) : 1;
    if (count > ARTEL_MAX_RANK) return false;
    for (size_t i = 0; i < count; i++) {
        json_t *item = json_is_array(json) ? json_array_get(json, i) : json;
        int64_t extent = -1;
        if (!json_is_null(item) && (!artel__json_integer(item, &extent) || extent < 1 || extent > INT32_MAX))
            return false;
        out->dim[out->rank++] = extent;
    }
    return true;
}

static artel_status configure_einsum(artel__layer *layer)
{
    einsum_parts *parts = layer->own = artel__arena_alloc(layer->arena, 1, sizeof *parts);
    if (!parts) return ARTEL_ERROR_NO_MEMORY;
    if (!read_partial(artel__layer_setting(layer, "output_shape"), &parts->partial))
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "save the model again with Keras",
                                 "the setting \"output_shape\" is no shape");
    parts->has_bias = artel__layer_setting(layer, "bias_axes") != NULL;
    ARTEL_TRY(artel__layer_activation(layer, "activation", &parts->activation));
    ARTEL_TRY(artel__layer_weight_parts(layer, "kernel", "glorot_uniform", &parts->kernel));
    return artel__layer_weight_parts(layer, "bias", "zeros", &parts->bias);
}

/* Copies letters, each once; false when anything else is met or there are too many. */
static bool take_letters(const char **at, const char *stop, char *out)
{
    int n = 0;
    while (**at && !strchr(stop, **at)) {
        if (!isalpha((unsigned char)**at) || n >= LETTERS - 1 || memchr(out, **at, (size_t)n)) return false;
        out[n++] = *(*at)++;
    }
    out[n] = 0;
    return true;
}

static bool take_text(const char **at, const char *text)
{
    size_t length = strlen(text);
    if (strncmp(*at, text, length) != 0) return false;
    *at += length;
    return true;
}

/* Puts the elided axes in and takes the batch out. */
static bool expand(einsum_axes *axes, char *letters, bool left, bool right)
{
    char full[LETTERS * 2];
    int n = 0, skip = 0;
    if (left) {
        for (int i = 0; i < axes->elided; i++) full[n++] = (char)('0' + i);
    } else
        skip = 1;
    for (const char *at = letters + skip; *at; at++) full[n++] = *at;
    for (int i = 0; right && i < axes->elided; i++) full[n++] = (char)('0' + i);
    full[n] = 0;
    if (n >= LETTERS) return false;
    memcpy(letters, full, (size_t)n + 1);
    return true;
}

static bool parse(const char *equation, int rank, einsum_axes *axes)
{
    const char *at = equation;
    bool left = take_text(&at, "...");
    if (!take_letters(&at, ".,", axes->in)) return false;
    bool right = !left && take_text(&at, "...");
    if (!take_text(&at, ",") || !take_letters(&at, "-", axes->kernel) || !take_text(&at, "->")) return false;
    if (left && !take_text(&at, "...")) return false;
    if (!take_letters(&at, ".", axes->out) || (right && !take_text(&at, "...")) || *at) return false;
    axes->elided = rank - (int)strlen(axes->in) + (left ? 0 : 1);
    axes->elided_left = left;
    if (axes->elided < 0 || (!left && !right && axes->elided != 0)) return false;
    bool batch_first = left || (axes->in[0] && axes->in[0] == axes->out[0] && !strchr(axes->kernel, axes->in[0]));
    return batch_first && expand(axes, axes->in, left, right) && expand(axes, axes->out, left, right);
}

static bool is_contracted(const einsum_axes *axes, char letter)
{
    return strchr(axes->in, letter) != NULL && strchr(axes->kernel, letter) != NULL &&
           strchr(axes->out, letter) == NULL;
}

/* Extents of all letters: the input's, and from output_shape those that the kernel adds. */
static bool learn_extents(einsum_parts *parts, const artel_shape *in)
{
    einsum_axes *axes = &parts->axes;
    int rank = (int)strlen(axes->in), out_rank = (int)strlen(axes->out), first = axes->elided_left ? axes->elided : 0;
    for (int i = 0; i < rank; i++) parts->extent[(unsigned char)axes->in[i]] = in->dim[i];
    for (int i = 0; i < out_rank; i++) {
        unsigned char letter = (unsigned char)axes->out[i];
        if (isdigit(letter)) continue;
        int64_t given = i - first < parts->partial.rank ? parts->partial.dim[i - first] : -1;
        if (strchr(axes->in, letter)) {
            if (given >= 0 && given != parts->extent[letter]) return false;
        } else if (!strchr(axes->kernel, letter) || given < 0)
            return false;
        else
            parts->extent[letter] = given;
    }
    for (const char *at = axes->kernel; *at; at++) {
        if (!strchr(axes->in, *at) && !strchr(axes->out, *at)) return false;
    }
    return true;
}

/* The kernel's axes: contracted ones first, then new ones; false otherwise, or where the input alone has more. */
static bool split_kernel(einsum_parts *parts)
{
    einsum_axes *axes = &parts->axes;
    parts->contracted = parts->created = 0;
    parts->columns = (artel_shape){.rank = 0};
    for (const char *at = axes->in; *at; at++) {
        if (!strchr(axes->out, *at) == !strchr(axes->kernel, *at)) return false;
    }
    for (const char *at = axes->kernel; *at; at++) {
        if (is_contracted(axes, *at)) {
            if (parts->created) return false;
            parts->contracted++;
        } else {
            if (parts->columns.rank == ARTEL_MAX_RANK) return false;
            parts->columns.dim[parts->columns.rank++] = parts->extent[(unsigned char)*at];
            parts->created++;
        }
    }
    return parts->contracted > 0;
}

/* The bias has extents from its first axis in the output on, 1 where it has none. */
static bool bias_shape(const einsum_config *c, const einsum_axes *axes, const int64_t *extent, artel_shape *out)
{
    int first = LETTERS;
    for (const char *at = c->bias_axes; *at; at++) {
        const char *place = isalpha((unsigned char)*at) ? strchr(axes->out, *at) : NULL;
        if (!place) return false;
        if (place - axes->out < first) first = (int)(place - axes->out);
    }
    *out = (artel_shape){.rank = 0};
    for (int i = first; i < (int)strlen(axes->out); i++) {
        if (out->rank == ARTEL_MAX_RANK) return false;
        out->dim[out->rank++] = strchr(c->bias_axes, axes->out[i]) ? extent[(unsigned char)axes->out[i]] : 1;
    }
    return out->rank > 0;
}

static artel_status declare_bias(artel__layer *layer, einsum_parts *parts)
{
    artel_shape bias;
    if (!parts->has_bias) return ARTEL_OK;
    if (!bias_shape(layer->config, &parts->axes, parts->extent, &bias)) return refuse(layer);
    size_t out_rank = strlen(parts->axes.out);
    parts->fused =
        !parts->plain && artel__shape_equal(&bias, &parts->columns) &&
        strcmp(parts->axes.out + out_rank - (size_t)parts->created, parts->axes.kernel + parts->contracted) == 0;
    return artel__layer_declare(layer, "bias", &bias, 0, true, &parts->bias);
}

/* The kernel's shape, and the rows of its matrix: 0 where it is none. Variance scaling counts as outputs what the
 * result has too, unless the initialiser names its own axes. */
static bool kernel_shape(einsum_parts *parts, artel_shape *shape, int64_t *rows)
{
    artel__ints axes[2] = {{.count = 0}, {.count = 0}};
    *shape = (artel_shape){.rank = 0};
    *rows = parts->plain ? 0 : 1;
    for (const char *at = parts->axes.kernel; *at; at++) {
        if (shape->rank == ARTEL_MAX_RANK) return false;
        artel__ints *side = &axes[strchr(parts->axes.out, *at) != NULL];
        side->item[side->count++] = shape->rank;
        shape->dim[shape->rank++] = parts->extent[(unsigned char)*at];
    }
    for (int i = 0; i < parts->contracted && !parts->plain; i++) {
        if (shape->dim[i] > 0 && *rows > INT32_MAX / shape->dim[i]) return false;
        *rows *= shape->dim[i];
    }
    artel__initializer_take_axes(&parts->kernel.initializer, &axes[0], &axes[1]);
    return true;
}

static artel_status build_einsum(artel__layer *layer, const artel__call *call)
{
    const einsum_config *c = layer->config;
    einsum_parts *parts = layer->own;
    artel_shape kernel;
    int64_t rows;
    ARTEL_TRY(artel__layer_check_input(layer, call, 1, ARTEL_MAX_RANK));
    const artel_shape *in = artel__call_shape(call, 0);
    if (!parse(c->equation, in->rank, &parts->axes) || !learn_extents(parts, in)) return refuse(layer);
    parts->plain = !split_kernel(parts);
    if (!kernel_shape(parts, &kernel, &rows)) return refuse(layer);
    ARTEL_TRY(artel__layer_declare(layer, "kernel", &kernel, rows, true, &parts->kernel));
    ARTEL_TRY(declare_bias(layer, parts));
    parts->sums = parts->plain || parts->created == 0;
    return artel__adapters_declare(layer, &(artel__adapters){.kernel = 0,
                                                             .name = "lora_kernel",
                                                             .rows = parts->sums ? 0 : rows,
                                                             .sums = parts->sums,
                                                             .parts = &parts->kernel});
}

/* The input with its kept axes first and the contracted ones behind, in the kernel's order. `order` receives the
 * letters kept. */
static artel__value_id arrange_input(artel__graph *graph, const einsum_parts *parts, artel__value_id x, char *order)
{
    const einsum_axes *axes = &parts->axes;
    int permutation[LETTERS], n = 0, kept = 0, rank = (int)strlen(axes->in);
    bool same = true;
    for (int i = 0; i < rank; i++) {
        if (is_contracted(axes, axes->in[i])) continue;
        order[kept++] = axes->in[i];
        permutation[n++] = i;
    }
    for (int i = 0; i < parts->contracted; i++) permutation[n++] = (int)(strchr(axes->in, axes->kernel[i]) - axes->in);
    for (const char *at = axes->kernel + parts->contracted; *at; at++) order[kept++] = *at;
    order[kept] = 0;
    for (int i = 0; i < rank; i++) same = same && permutation[i] == i;
    return same ? x : artel__op_transpose(graph, x, permutation);
}

/* As a product with panels; the bias is in it where it is fused. */
static artel_status call_matrix(artel__layer *layer, artel__call *call, artel__value_id bias, int fusion,
                                artel__value_id *out)
{
    einsum_parts *parts = layer->own;
    artel__graph *graph = call->graph;
    char order[LETTERS * 2];
    artel__value_id x = arrange_input(graph, parts, artel__as_float(graph, call->in[0].value), order);
    int a = parts->sums ? 0 : artel__adapters_of(layer, 0);
    artel__value_id y =
        artel__op_product(graph, x, artel__layer_weight(layer, graph, 0), parts->fused ? bias : ARTEL__NO_VALUE,
                          parts->contracted, &parts->columns, fusion);
    if (a) {
        artel_shape narrow = parts->columns;
        artel__value_id w = artel__layer_weight(layer, graph, a);
        ARTEL_TRY(graph->status);
        narrow.dim[narrow.rank - 1] = graph->value[w].shape.dim[graph->value[w].shape.rank - 1];
        artel__value_id xa =
            artel__op_product(graph, x, w, ARTEL__NO_VALUE, parts->contracted, &narrow, ARTEL__FUSED_NONE);
        y = artel__adapters_add(layer, graph, 0, y, xa);
    }
    int permutation[LETTERS], rank = (int)strlen(parts->axes.out);
    if (strcmp(order, parts->axes.out) != 0) {
        for (int i = 0; i < rank; i++) permutation[i] = (int)(strchr(order, parts->axes.out[i]) - order);
        y = artel__op_transpose(graph, y, permutation);
    }
    *out = y;
    return ARTEL_OK;
}

/* The sum of products of a value with rows and a weight; the batch, which their axes leave out, is '@'. */
static artel_status sum_up(const artel__layer *layer, const artel__call *call, const artel__value_id values[2],
                           const char *const axes[3], artel__value_id *out)
{
    char in[4 * LETTERS], result[4 * LETTERS];
    snprintf(in, sizeof in, "@%s", axes[0]);
    snprintf(result, sizeof result, "@%s", axes[2]);
    return artel__raw_sum_of_products(layer, call, values, (const char *[]){in, axes[1], result}, out);
}

static artel_status call_sum(const artel__layer *layer, const artel__call *call, artel__value_id *out)
{
    const einsum_axes *axes = &((const einsum_parts *)layer->own)->axes;
    artel__value_id values[2] = {call->in[0].value, artel__layer_weight(layer, call->graph, 0)};
    return sum_up(layer, call, values, (const char *[]){axes->in, axes->kernel, axes->out}, out);
}

/* A letter that none of the axes has. */
static char free_letter(const einsum_axes *axes)
{
    char letter = 'a';
    while (strchr(axes->in, letter) || strchr(axes->kernel, letter) || strchr(axes->out, letter))
        letter = (char)(letter == 'z' ? 'A' : letter + 1);
    return letter;
}

/* What adapters a [kernel's axes but the last][r] and b [r][last] add: the input meets first the one that leaves
 * less, b where it has the last axis itself. */
static artel_status add_adapters(const artel__layer *layer, const artel__call *call, artel__value_id *y)
{
    const einsum_parts *parts = layer->own;
    const einsum_axes *axes = &parts->axes;
    artel__graph *graph = call->graph;
    int n = artel__adapters_of(layer, 0), last = (int)strlen(axes->kernel) - 1, kept = 0;
    char rank = free_letter(axes), a[2 * LETTERS], b[] = {rank, axes->kernel[last], 0}, between[3 * LETTERS];
    bool b_first = strchr(axes->in, axes->kernel[last]) != NULL;
    snprintf(a, sizeof a, "%.*s%c", last, axes->kernel, rank);
    const char *first = b_first ? b : a, *second = b_first ? a : b;
    for (const char *at = axes->in; *at; at++) {
        if (strchr(axes->out, *at) || strchr(second, *at)) between[kept++] = *at;
    }
    for (const char *at = first; *at; at++) {
        if (!strchr(axes->in, *at)) between[kept++] = *at;
    }
    between[kept] = 0;
    artel__value_id more, values[2] = {call->in[0].value, artel__layer_weight(layer, graph, n + b_first)};
    ARTEL_TRY(sum_up(layer, call, values, (const char *[]){axes->in, first, between}, &more));
    values[0] = more;
    values[1] = artel__layer_weight(layer, graph, n + !b_first);
    ARTEL_TRY(sum_up(layer, call, values, (const char *[]){between, second, axes->out}, &more));
    double scale = layer->variable[0].adapter_scale;
    if (scale != 1) more = artel__op_affine(graph, more, scale, 0);
    *y = artel__op_add(graph, *y, more);
    return graph->status;
}

static artel_status call_einsum(artel__layer *layer, artel__call *call)
{
    einsum_parts *parts = layer->own;
    artel__graph *graph = call->graph;
    ARTEL_TRY(artel__layer_check_input(layer, call, 1, ARTEL_MAX_RANK));
    if (artel__call_shape(call, 0)->rank != (int)strlen(parts->axes.in)) return refuse(layer);
    artel__value_id y, bias = parts->has_bias ? artel__layer_weight(layer, graph, 1) : ARTEL__NO_VALUE;
    bool relu = !parts->plain && artel__activation_is_relu(&parts->activation) && (parts->fused || !parts->has_bias) &&
                !artel__adapters_of(layer, 0);
    ARTEL_TRY(parts->plain ? call_sum(layer, call, &y)
                           : call_matrix(layer, call, bias, relu ? ARTEL__FUSED_RELU : ARTEL__FUSED_NONE, &y));
    if (parts->sums && artel__adapters_of(layer, 0)) ARTEL_TRY(add_adapters(layer, call, &y));
    if (parts->has_bias && !parts->fused) y = artel__op_add(graph, y, bias);
    artel__call_return(call, relu ? y : artel__activation_apply(graph, &parts->activation, y));
    return ARTEL_OK;
}

const artel__layer_def artel__layer_einsum_dense_def = {
    .class_name = "EinsumDense",
    .doc = "A product along axes named by an equation.",
    .config_size = sizeof(einsum_config),
    .options = einsum_options,
    .mask = ARTEL__MASK_STOP,
    .configure = configure_einsum,
    .build = build_einsum,
    .call = call_einsum,
};
