/* SPDX-License-Identifier: Apache-2.0 */
/* Writing StableHLO text. */
#include "graph/hlo_impl.h"

#include <inttypes.h>
#include <string.h>

static const char *const names[] = {
    [ARTEL_DTYPE_FLOAT32] = "f32",   [ARTEL_DTYPE_FLOAT64] = "f64", [ARTEL_DTYPE_FLOAT16] = "f16",
    [ARTEL_DTYPE_BFLOAT16] = "bf16", [ARTEL_DTYPE_INT8] = "i8",     [ARTEL_DTYPE_INT16] = "i16",
    [ARTEL_DTYPE_INT32] = "i32",     [ARTEL_DTYPE_INT64] = "i64",   [ARTEL_DTYPE_UINT8] = "ui8",
    [ARTEL_DTYPE_UINT16] = "ui16",   [ARTEL_DTYPE_UINT32] = "ui32", [ARTEL_DTYPE_UINT64] = "ui64",
    [ARTEL_DTYPE_BOOL] = "i1",
};

void artel__hlo_init(artel__hlo *h, artel_context *ctx)
{
    *h = (artel__hlo){.ctx = ctx, .precision = "HIGHEST"};
    artel__text_init(&h->head, ctx);
    artel__text_init(&h->body, ctx);
    artel__text_init(&h->functions, ctx);
}

void artel__hlo_fini(artel__hlo *h)
{
    artel__text_fini(&h->head);
    artel__text_fini(&h->body);
    artel__text_fini(&h->functions);
    artel__free(h->ctx, h->type);
}

const artel__hlo_type *artel__hlo_type_of(const artel__hlo *h, artel__hlo_value a)
{
    static const artel__hlo_type none;
    return a >= 0 && a < h->values ? &h->type[a] : &none;
}

void artel__hlo_write_type(artel__text *to, const artel__hlo_type *type)
{
    artel__text_append(to, "tensor<");
    for (int i = 0; i < type->rank; i++) artel__text_printf(to, "%" PRId64 "x", type->dim[i]);
    artel__text_printf(to, "%s>", names[type->dtype]);
}

void artel__hlo_write_list(artel__text *to, const int64_t *item, int count)
{
    artel__text_append(to, "[");
    for (int i = 0; i < count; i++) artel__text_printf(to, "%s%" PRId64, i ? ", " : "", item[i]);
    artel__text_append(to, "]");
}

void artel__hlo_write_axes(artel__text *to, const int *item, int count)
{
    artel__text_append(to, "[");
    for (int i = 0; i < count; i++) artel__text_printf(to, "%s%d", i ? ", " : "", item[i]);
    artel__text_append(to, "]");
}

void artel__hlo_write_values(artel__text *to, const artel__hlo_value *in, int count)
{
    for (int i = 0; i < count; i++) artel__text_printf(to, "%s%%%d", i ? ", " : "", in[i]);
}

void artel__hlo_write_types(artel__text *to, const artel__hlo *h, const artel__hlo_value *in, int count)
{
    for (int i = 0; i < count; i++) {
        if (i) artel__text_append(to, ", ");
        artel__hlo_write_type(to, artel__hlo_type_of(h, in[i]));
    }
}

void artel__hlo_write_signature(artel__hlo *h, const artel__hlo_value *in, int count, artel__hlo_value out)
{
    artel__text_append(&h->body, " : (");
    artel__hlo_write_types(&h->body, h, in, count);
    artel__text_append(&h->body, ") -> ");
    artel__hlo_write_type(&h->body, artel__hlo_type_of(h, out));
    artel__text_append(&h->body, "\n");
}

artel__hlo_value artel__hlo_add(artel__hlo *h, const artel__hlo_type *type)
{
    artel__hlo_type copy = *type; /* may lie in the table */
    if (h->status < 0) return -1;
    if (h->values == h->capacity) {
        int capacity = h->capacity ? 2 * h->capacity : 64;
        void *block = h->type;
        h->status = artel__realloc(h->ctx, (size_t)capacity * sizeof *h->type, "device", &block);
        if (h->status < 0) return -1;
        h->type = block;
        h->capacity = capacity;
    }
    h->type[h->values] = copy;
    return h->values++;
}

artel__hlo_value artel__hlo_wrong(artel__hlo *h, const char *op)
{
    if (h->status == ARTEL_OK)
        h->status =
            artel__fail(h->ctx, ARTEL_ERROR_INTERNAL, "device",
                        "please report it; training on processors is not concerned", "operands of %s do not fit", op);
    return -1;
}

bool artel__hlo_same_shape(const artel__hlo_type *a, const artel__hlo_type *b)
{
    return a->rank == b->rank && (a->rank == 0 || memcmp(a->dim, b->dim, (size_t)a->rank * sizeof a->dim[0]) == 0);
}

int64_t artel__hlo_count(const artel__hlo_type *type)
{
    int64_t count = 1;
    for (int i = 0; i < type->rank; i++) count *= type->dim[i];
    return count;
}

artel__hlo_value artel__hlo_argument(artel__hlo *h, const artel__hlo_type *type, int aliased)
{
    artel__hlo_value out = artel__hlo_add(h, type);
    if (out < 0) return -1;
    artel__text_printf(&h->head, "%s%%%d: ", h->arguments++ ? ", " : "", out);
    artel__hlo_write_type(&h->head, type);
    if (aliased >= 0) artel__text_printf(&h->head, " {tf.aliasing_output = %d : i32}", aliased);
    return out;
}

artel__hlo_value artel__hlo_unary(artel__hlo *h, const char *op, artel__hlo_value a)
{
    artel__hlo_value out = artel__hlo_add(h, artel__hlo_type_of(h, a));
    if (out < 0) return -1;
    bool other = strchr(op, '.') != NULL; /* chlo has no brackets around operands' types */
    artel__text_printf(&h->body, "    %%%d = %s%s %%%d", out, other ? "" : "stablehlo.", op, a);
    if (other) {
        artel__text_append(&h->body, " : ");
        artel__hlo_write_type(&h->body, artel__hlo_type_of(h, a));
        artel__text_append(&h->body, " -> ");
        artel__hlo_write_type(&h->body, artel__hlo_type_of(h, out));
        artel__text_append(&h->body, "\n");
    } else {
        artel__hlo_write_signature(h, &a, 1, out);
    }
    return out;
}

artel__hlo_value artel__hlo_binary(artel__hlo *h, const char *op, artel__hlo_value a, artel__hlo_value b)
{
    const artel__hlo_type *type = artel__hlo_type_of(h, a);
    if (!artel__hlo_same_shape(type, artel__hlo_type_of(h, b)) || type->dtype != artel__hlo_type_of(h, b)->dtype)
        return artel__hlo_wrong(h, op);
    artel__hlo_value out = artel__hlo_add(h, type);
    if (out < 0) return -1;
    artel__text_printf(&h->body, "    %%%d = stablehlo.%s %%%d, %%%d", out, op, a, b);
    artel__hlo_write_signature(h, (artel__hlo_value[]){a, b}, 2, out);
    return out;
}

artel__hlo_value artel__hlo_splat(artel__hlo *h, double number, const artel__hlo_type *type)
{
    float narrow = (float)number;
    uint32_t word;
    uint64_t wide;
    memcpy(&word, &narrow, sizeof word);
    memcpy(&wide, &number, sizeof wide);
    if (type->dtype != ARTEL_DTYPE_FLOAT32 && type->dtype != ARTEL_DTYPE_FLOAT64)
        return artel__hlo_integer(h, (uint64_t)(int64_t)number, type);
    artel__hlo_value out = artel__hlo_add(h, type);
    if (out < 0) return -1;
    if (h->type[out].dtype == ARTEL_DTYPE_FLOAT32)
        artel__text_printf(&h->body, "    %%%d = stablehlo.constant dense<0x%08" PRIX32 "> : ", out, word);
    else
        artel__text_printf(&h->body, "    %%%d = stablehlo.constant dense<0x%016" PRIX64 "> : ", out, wide);
    artel__hlo_write_type(&h->body, &h->type[out]);
    artel__text_append(&h->body, "\n");
    return out;
}

artel__hlo_value artel__hlo_number(artel__hlo *h, double number, artel__hlo_value like)
{
    artel__hlo_type type = *artel__hlo_type_of(h, like);
    return artel__hlo_splat(h, number, &type);
}

static bool is_unsigned(artel_dtype dtype)
{
    return dtype >= ARTEL_DTYPE_UINT8 && dtype <= ARTEL_DTYPE_UINT64;
}

artel__hlo_value artel__hlo_integer(artel__hlo *h, uint64_t number, const artel__hlo_type *type)
{
    if (type->dtype < ARTEL_DTYPE_INT8) return artel__hlo_wrong(h, "constant");
    artel__hlo_value out = artel__hlo_add(h, type);
    if (out < 0) return -1;
    artel__text_printf(&h->body, "    %%%d = stablehlo.constant dense<", out);
    if (type->dtype == ARTEL_DTYPE_BOOL)
        artel__text_append(&h->body, number ? "true" : "false");
    else if (is_unsigned(type->dtype))
        artel__text_printf(&h->body, "%" PRIu64, number);
    else
        artel__text_printf(&h->body, "%" PRId64, (int64_t)number);
    artel__text_append(&h->body, "> : ");
    artel__hlo_write_type(&h->body, &h->type[out]);
    artel__text_append(&h->body, "\n");
    return out;
}

artel__hlo_value artel__hlo_table(artel__hlo *h, const void *data, const artel__hlo_type *type)
{
    if (type->dtype == ARTEL_DTYPE_BOOL || artel__hlo_count(type) < 1) return artel__hlo_wrong(h, "constant");
    const uint8_t *byte = data;
    size_t bytes = (size_t)artel__hlo_count(type) * artel_dtype_size(type->dtype);
    artel__hlo_value out = artel__hlo_add(h, type);
    if (out < 0) return -1;
    artel__text_printf(&h->body, "    %%%d = stablehlo.constant dense<\"0x", out);
    for (size_t i = 0; i < bytes; i++) artel__text_printf(&h->body, "%02X", byte[i]);
    artel__text_append(&h->body, "\"> : ");
    artel__hlo_write_type(&h->body, &h->type[out]);
    artel__text_append(&h->body, "\n");
    return out;
}

artel__hlo_value artel__hlo_iota(artel__hlo *h, const artel__hlo_type *type, int axis)
{
    if (axis < 0 || axis >= type->rank) return artel__hlo_wrong(h, "iota");
    artel__hlo_value out = artel__hlo_add(h, type);
    if (out < 0) return -1;
    artel__text_printf(&h->body, "    %%%d = stablehlo.iota dim = %d : ", out, axis);
    artel__hlo_write_type(&h->body, &h->type[out]);
    artel__text_append(&h->body, "\n");
    return out;
}

artel__hlo_value artel__hlo_compare(artel__hlo *h, const char *how, artel__hlo_value a, artel__hlo_value b)
{
    artel__hlo_type type = *artel__hlo_type_of(h, a);
    if (!artel__hlo_same_shape(&type, artel__hlo_type_of(h, b))) return artel__hlo_wrong(h, "compare");
    type.dtype = ARTEL_DTYPE_BOOL;
    artel__hlo_value out = artel__hlo_add(h, &type);
    if (out < 0) return -1;
    artel__text_printf(&h->body, "    %%%d = stablehlo.compare %s, %%%d, %%%d", out, how, a, b);
    artel__hlo_write_signature(h, (artel__hlo_value[]){a, b}, 2, out);
    return out;
}

artel__hlo_value artel__hlo_select(artel__hlo *h, artel__hlo_value condition, artel__hlo_value a, artel__hlo_value b)
{
    const artel__hlo_type *type = artel__hlo_type_of(h, a);
    if (!artel__hlo_same_shape(type, artel__hlo_type_of(h, b)) ||
        !artel__hlo_same_shape(type, artel__hlo_type_of(h, condition)))
        return artel__hlo_wrong(h, "select");
    artel__hlo_value out = artel__hlo_add(h, type);
    if (out < 0) return -1;
    artel__text_printf(&h->body, "    %%%d = stablehlo.select %%%d, %%%d, %%%d", out, condition, a, b);
    artel__hlo_write_signature(h, (artel__hlo_value[]){condition, a, b}, 3, out);
    return out;
}

/* One operand, another type of result. */
static artel__hlo_value change(artel__hlo *h, const char *op, artel__hlo_value a, artel_dtype to)
{
    artel__hlo_type type = *artel__hlo_type_of(h, a);
    type.dtype = to;
    artel__hlo_value out = artel__hlo_add(h, &type);
    if (out < 0) return -1;
    artel__text_printf(&h->body, "    %%%d = stablehlo.%s %%%d", out, op, a);
    artel__hlo_write_signature(h, &a, 1, out);
    return out;
}

artel__hlo_value artel__hlo_is_finite(artel__hlo *h, artel__hlo_value a)
{
    return change(h, "is_finite", a, ARTEL_DTYPE_BOOL);
}

artel__hlo_value artel__hlo_convert(artel__hlo *h, artel__hlo_value a, artel_dtype to)
{
    return artel__hlo_type_of(h, a)->dtype == to ? a : change(h, "convert", a, to);
}

artel__hlo_value artel__hlo_bitcast(artel__hlo *h, artel__hlo_value a, artel_dtype to)
{
    artel_dtype from = artel__hlo_type_of(h, a)->dtype;
    if (artel_dtype_size(from) != artel_dtype_size(to) || from == ARTEL_DTYPE_BOOL)
        return artel__hlo_wrong(h, "bitcast_convert");
    return from == to ? a : change(h, "bitcast_convert", a, to);
}

artel__hlo_value artel__hlo_round(artel__hlo *h, artel__hlo_value a, artel_dtype to)
{
    artel__hlo_type type = *artel__hlo_type_of(h, a);
    if (type.dtype != ARTEL_DTYPE_FLOAT32) return artel__hlo_wrong(h, "reduce_precision");
    artel__hlo_value out = artel__hlo_add(h, &type);
    if (out < 0) return -1;
    artel__text_printf(&h->body, "    %%%d = stablehlo.reduce_precision %%%d, format = %s : ", out, a,
                       to == ARTEL_DTYPE_BFLOAT16 ? "e8m7" : "e5m10");
    artel__hlo_write_type(&h->body, &type);
    artel__text_append(&h->body, "\n");
    return out;
}

artel__hlo_value artel__hlo_barrier(artel__hlo *h, artel__hlo_value a)
{
    artel__hlo_type type = *artel__hlo_type_of(h, a);
    artel__hlo_value out = artel__hlo_add(h, &type);
    if (out < 0) return -1;
    artel__text_printf(&h->body, "    %%%d = stablehlo.optimization_barrier %%%d : ", out, a);
    artel__hlo_write_type(&h->body, &type);
    artel__text_append(&h->body, "\n");
    return out;
}

artel_status artel__hlo_finish(artel__hlo *h, const artel__hlo_value *results, int count, artel__text *out)
{
    ARTEL_TRY(h->status);
    artel__text_printf(out,
                       "module @artel attributes {mhlo.num_replicas = %d : i32, mhlo.num_partitions = 1 : i32} {\n"
                       "  func.func public @main(",
                       h->replicas > 1 ? h->replicas : 1);
    artel__text_append_text(out, &h->head);
    artel__text_append(out, ") -> (");
    artel__hlo_write_types(out, h, results, count);
    artel__text_append(out, ") {\n");
    artel__text_append_text(out, &h->body);
    artel__text_append(out, "    return ");
    for (int i = 0; i < count; i++) artel__text_printf(out, "%s%%%d", i ? ", " : "", results[i]);
    artel__text_append(out, " : ");
    artel__hlo_write_types(out, h, results, count);
    artel__text_append(out, "\n  }\n");
    artel__text_append_text(out, &h->functions);
    artel__text_append(out, "}\n");
    return artel__text_status(out);
}
