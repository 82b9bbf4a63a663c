/* SPDX-License-Identifier: Apache-2.0 */
/* StableHLO: what the replicas of one program exchange. */
#include "graph/hlo_impl.h"

/* One group of all replicas; a channel would mean partitions. */
static void write_replicas(artel__hlo *h)
{
    artel__text_append(&h->body, "replica_groups = dense<[[");
    for (int i = 0; i < h->replicas; i++) artel__text_printf(&h->body, "%s%d", i ? ", " : "", i);
    artel__text_printf(&h->body, "]]> : tensor<1x%dxi64>}", h->replicas);
}

static void write_scalar(artel__hlo *h, const char *before, artel_dtype dtype, const char *behind)
{
    artel__text_append(&h->body, before);
    artel__hlo_write_type(&h->body, &(artel__hlo_type){.dtype = dtype});
    artel__text_append(&h->body, behind);
}

artel__hlo_value artel__hlo_all_sum(artel__hlo *h, artel__hlo_value a)
{
    artel__hlo_type type = *artel__hlo_type_of(h, a);
    artel__hlo_value out = artel__hlo_add(h, &type);
    if (out < 0) return -1;
    artel__text_printf(&h->body, "    %%%d = \"stablehlo.all_reduce\"(%%%d) ({\n    ^bb0(", out, a);
    write_scalar(h, "%x: ", type.dtype, ", ");
    write_scalar(h, "%y: ", type.dtype, "):\n");
    write_scalar(h, "      %s = stablehlo.add %x, %y : ", type.dtype, "\n");
    write_scalar(h, "      stablehlo.return %s : ", type.dtype, "\n    }) {");
    write_replicas(h);
    artel__hlo_write_signature(h, &a, 1, out);
    return out;
}

artel__hlo_value artel__hlo_all_gather(artel__hlo *h, artel__hlo_value a)
{
    artel__hlo_type own = *artel__hlo_type_of(h, a), all;
    if (own.rank == ARTEL__HLO_RANK) return artel__hlo_wrong(h, "all_gather");
    all = (artel__hlo_type){.dtype = own.dtype, .rank = own.rank + 1, .dim = {1}};
    for (int i = 0; i < own.rank; i++) all.dim[i + 1] = own.dim[i];
    a = artel__hlo_reshape(h, a, &all);
    all.dim[0] = h->replicas;
    artel__hlo_value out = artel__hlo_add(h, &all);
    if (out < 0) return -1;
    artel__text_printf(&h->body, "    %%%d = \"stablehlo.all_gather\"(%%%d) {all_gather_dim = 0 : i64, ", out, a);
    write_replicas(h);
    artel__hlo_write_signature(h, &a, 1, out);
    return out;
}
