/* SPDX-License-Identifier: Apache-2.0 */
/* Writing StableHLO text. */
#include "graph/hlo.h"

#include <inttypes.h>
#include <string.h>

static const char *const names[] = {
    [ARTEL_DTYPE_FLOAT32] = "f32", [ARTEL_DTYPE_FLOAT64] = "f64", [ARTEL_DTYPE_FLOAT16] = "f16", [ARTEL_DTYPE_BFLOAT16] = "bf16",
    [ARTEL_DTYPE_INT8] = "i8",     [ARTEL_DTYPE_INT16] = "i16",   [ARTEL_DTYPE_INT32] = "i32",   [ARTEL_DTYPE_INT64] = "i64",
    [ARTEL_DTYPE_UINT8] = "ui8",   [ARTEL_DTYPE_UINT16] = "ui16", [ARTEL_DTYPE_UINT32] = "ui32", [ARTEL_DTYPE_UINT64] = "ui64",
    [ARTEL_DTYPE_BOOL] = "i1",
};

void artel__hlo_init(artel__hlo *h, artel_context *ctx)
{
    *h = (artel__hlo){.ctx = ctx};
    artel__text_init(&h->head, ctx);
    artel__text_init(&h->body, ctx);
}

void artel__hlo_fini(artel__hlo *h)
{
    artel__text_fini(&h->head);
    artel__text_fini(&h->body);
    artel__free(h->ctx, h->type);
}

const artel__hlo_type *artel__hlo_type_of(const artel__hlo *h, artel__hlo_value a)
{
    static const artel__hlo_type none;
    return a >= 0 && a < h->values ? &h->type[a] : &none;
}

static void write_type(artel__text *to, const artel__hlo_type *type)
{
    artel__text_append(to, "tensor<");
    for (int i = 0; i < type->rank; i++) artel__text_printf(to, "%" PRId64 "x", type->dim[i]);
    artel__text_printf(to, "%s>", names[type->dtype]);
}

/* `count` types in brackets, and an arrow. */
static void write_signature(artel__hlo *h, const artel__hlo_value *in, int count, artel__hlo_value out)
{
    artel__text_append(&h->body, " : (");
    for (int i = 0; i < count; i++) {
        if (i) artel__text_append(&h->body, ", ");
        write_type(&h->body, artel__hlo_type_of(h, in[i]));
    }
    artel__text_append(&h->body, ") -> ");
    write_type(&h->body, artel__hlo_type_of(h, out));
    artel__text_append(&h->body, "\n");
}

/* A new value; -1 after a failure. */
static artel__hlo_value add(artel__hlo *h, const artel__hlo_type *type)
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

static artel__hlo_value wrong(artel__hlo *h, const char *op)
{
    if (h->status == ARTEL_OK)
        h->status = artel__fail(h->ctx, ARTEL_ERROR_INTERNAL, "device", "please report it; training on processors is not concerned",
                                "operands of %s do not fit", op);
    return -1;
}

static bool same_shape(const artel__hlo_type *a, const artel__hlo_type *b)
{
    return a->rank == b->rank && (a->rank == 0 || memcmp(a->dim, b->dim, (size_t)a->rank * sizeof a->dim[0]) == 0);
}

static int64_t count_of(const artel__hlo_type *type)
{
    int64_t count = 1;
    for (int i = 0; i < type->rank; i++) count *= type->dim[i];
    return count;
}

artel__hlo_value artel__hlo_argument(artel__hlo *h, const artel__hlo_type *type, int aliased)
{
    artel__hlo_value out = add(h, type);
    if (out < 0) return -1;
    artel__text_printf(&h->head, "%s%%%d: ", h->arguments++ ? ", " : "", out);
    write_type(&h->head, type);
    if (aliased >= 0) artel__text_printf(&h->head, " {tf.aliasing_output = %d : i32}", aliased);
    return out;
}

artel__hlo_value artel__hlo_unary(artel__hlo *h, const char *op, artel__hlo_value a)
{
    artel__hlo_value out = add(h, artel__hlo_type_of(h, a));
    if (out < 0) return -1;
    bool other = strchr(op, '.') != NULL; /* chlo has no brackets around operands' types */
    artel__text_printf(&h->body, "    %%%d = %s%s %%%d", out, other ? "" : "stablehlo.", op, a);
    if (other) {
        artel__text_append(&h->body, " : ");
        write_type(&h->body, artel__hlo_type_of(h, a));
        artel__text_append(&h->body, " -> ");
        write_type(&h->body, artel__hlo_type_of(h, out));
        artel__text_append(&h->body, "\n");
    } else {
        write_signature(h, &a, 1, out);
    }
    return out;
}

artel__hlo_value artel__hlo_binary(artel__hlo *h, const char *op, artel__hlo_value a, artel__hlo_value b)
{
    const artel__hlo_type *type = artel__hlo_type_of(h, a);
    if (!same_shape(type, artel__hlo_type_of(h, b)) || type->dtype != artel__hlo_type_of(h, b)->dtype) return wrong(h, op);
    artel__hlo_value out = add(h, type);
    if (out < 0) return -1;
    artel__text_printf(&h->body, "    %%%d = stablehlo.%s %%%d, %%%d", out, op, a, b);
    write_signature(h, (artel__hlo_value[]){a, b}, 2, out);
    return out;
}

artel__hlo_value artel__hlo_number(artel__hlo *h, double number, artel__hlo_value like)
{
    const artel__hlo_type *type = artel__hlo_type_of(h, like);
    float narrow = (float)number;
    uint32_t word;
    uint64_t wide;
    memcpy(&word, &narrow, sizeof word);
    memcpy(&wide, &number, sizeof wide);
    if (type->dtype != ARTEL_DTYPE_FLOAT32 && type->dtype != ARTEL_DTYPE_FLOAT64) return wrong(h, "constant");
    artel__hlo_value out = add(h, type);
    if (out < 0) return -1;
    if (h->type[out].dtype == ARTEL_DTYPE_FLOAT32)
        artel__text_printf(&h->body, "    %%%d = stablehlo.constant dense<0x%08" PRIX32 "> : ", out, word);
    else
        artel__text_printf(&h->body, "    %%%d = stablehlo.constant dense<0x%016" PRIX64 "> : ", out, wide);
    write_type(&h->body, &h->type[out]);
    artel__text_append(&h->body, "\n");
    return out;
}

artel__hlo_value artel__hlo_compare(artel__hlo *h, const char *how, artel__hlo_value a, artel__hlo_value b)
{
    artel__hlo_type type = *artel__hlo_type_of(h, a);
    if (!same_shape(&type, artel__hlo_type_of(h, b))) return wrong(h, "compare");
    type.dtype = ARTEL_DTYPE_BOOL;
    artel__hlo_value out = add(h, &type);
    if (out < 0) return -1;
    artel__text_printf(&h->body, "    %%%d = stablehlo.compare %s, %%%d, %%%d", out, how, a, b);
    write_signature(h, (artel__hlo_value[]){a, b}, 2, out);
    return out;
}

artel__hlo_value artel__hlo_select(artel__hlo *h, artel__hlo_value condition, artel__hlo_value a, artel__hlo_value b)
{
    const artel__hlo_type *type = artel__hlo_type_of(h, a);
    if (!same_shape(type, artel__hlo_type_of(h, b)) || !same_shape(type, artel__hlo_type_of(h, condition))) return wrong(h, "select");
    artel__hlo_value out = add(h, type);
    if (out < 0) return -1;
    artel__text_printf(&h->body, "    %%%d = stablehlo.select %%%d, %%%d, %%%d", out, condition, a, b);
    write_signature(h, (artel__hlo_value[]){condition, a, b}, 3, out);
    return out;
}

artel__hlo_value artel__hlo_reshape(artel__hlo *h, artel__hlo_value a, const artel__hlo_type *to)
{
    artel__hlo_type type = *to;
    if (h->status < 0) return -1;
    type.dtype = artel__hlo_type_of(h, a)->dtype;
    if (same_shape(&type, artel__hlo_type_of(h, a))) return a;
    if (count_of(&type) != count_of(artel__hlo_type_of(h, a))) return wrong(h, "reshape");
    artel__hlo_value out = add(h, &type);
    if (out < 0) return -1;
    artel__text_printf(&h->body, "    %%%d = stablehlo.reshape %%%d", out, a);
    write_signature(h, &a, 1, out);
    return out;
}

artel__hlo_value artel__hlo_broadcast(artel__hlo *h, artel__hlo_value a, const artel__hlo_type *to, const int *axes)
{
    artel__hlo_type type = *to, from = *artel__hlo_type_of(h, a);
    type.dtype = from.dtype;
    for (int i = 0; i < from.rank; i++) {
        if (axes[i] < 0 || axes[i] >= type.rank || (from.dim[i] != 1 && from.dim[i] != type.dim[axes[i]])) return wrong(h, "broadcast");
    }
    artel__hlo_value out = add(h, &type);
    if (out < 0) return -1;
    artel__text_printf(&h->body, "    %%%d = stablehlo.broadcast_in_dim %%%d, dims = [", out, a);
    for (int i = 0; i < from.rank; i++) artel__text_printf(&h->body, "%s%d", i ? ", " : "", axes[i]);
    artel__text_append(&h->body, "]");
    write_signature(h, &a, 1, out);
    return out;
}

artel__hlo_value artel__hlo_broadcast_trailing(artel__hlo *h, artel__hlo_value a, const artel__hlo_type *to)
{
    int axes[ARTEL__HLO_RANK], rank = artel__hlo_type_of(h, a)->rank;
    if (same_shape(artel__hlo_type_of(h, a), to)) return a;
    for (int i = 0; i < rank; i++) axes[i] = to->rank - rank + i;
    return artel__hlo_broadcast(h, a, to, axes);
}

artel__hlo_value artel__hlo_dot(artel__hlo *h, artel__hlo_value a, artel__hlo_value b, int axis_a, int axis_b)
{
    artel__hlo_type left = *artel__hlo_type_of(h, a), right = *artel__hlo_type_of(h, b);
    if (left.rank != 2 || right.rank != 2 || left.dtype != right.dtype || left.dim[axis_a] != right.dim[axis_b])
        return wrong(h, "dot_general");
    left.dim[0] = left.dim[1 - axis_a];
    left.dim[1] = right.dim[1 - axis_b];
    artel__hlo_value out = add(h, &left);
    if (out < 0) return -1;
    artel__text_printf(&h->body,
                       "    %%%d = stablehlo.dot_general %%%d, %%%d, contracting_dims = [%d] x [%d], precision = [HIGHEST, HIGHEST]", out,
                       a, b, axis_a, axis_b);
    write_signature(h, (artel__hlo_value[]){a, b}, 2, out);
    return out;
}

artel_status artel__hlo_finish(artel__hlo *h, const artel__hlo_value *results, int count, artel__text *out)
{
    ARTEL_TRY(h->status);
    artel__text_append(out, "module @artel attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {\n"
                            "  func.func public @main(");
    artel__text_append_text(out, &h->head);
    artel__text_append(out, ") -> (");
    for (int i = 0; i < count; i++) {
        if (i) artel__text_append(out, ", ");
        write_type(out, artel__hlo_type_of(h, results[i]));
    }
    artel__text_append(out, ") {\n");
    artel__text_append_text(out, &h->body);
    artel__text_append(out, "    return ");
    for (int i = 0; i < count; i++) artel__text_printf(out, "%s%%%d", i ? ", " : "", results[i]);
    artel__text_append(out, " : ");
    for (int i = 0; i < count; i++) {
        if (i) artel__text_append(out, ", ");
        write_type(out, artel__hlo_type_of(h, results[i]));
    }
    artel__text_append(out, "\n  }\n}\n");
    return artel__text_status(out);
}
