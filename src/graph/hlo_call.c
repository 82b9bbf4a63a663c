/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of a module and their calls. Compilers put the function in place of its call; what shall stay apart is put
 * between barriers. */
#include <string.h>

#include "graph/hlo_impl.h"

/* "%7, %8 = " */
static bool begin_results(artel__hlo *h, const artel__hlo_type *type, int count, artel__hlo_value *out)
{
    artel__hlo_value first = -1;
    for (int i = 0; i < count; i++) {
        out[i] = artel__hlo_add(h, &type[i]);
        if (out[i] < 0) return false;
        if (i == 0) first = out[0];
        artel__text_printf(&h->body, "%s%%%d", i ? ", " : "    ", out[i]);
    }
    if (first >= 0) artel__text_append(&h->body, " = ");
    return first >= 0;
}

void artel__hlo_call(artel__hlo *h, const char *name, const artel__hlo_value *in, int ins, const artel__hlo_type *type,
                     int outs, artel__hlo_value *out)
{
    if (!begin_results(h, type, outs, out)) return;
    artel__text_printf(&h->body, "func.call @%s(", name);
    artel__hlo_write_values(&h->body, in, ins);
    artel__text_append(&h->body, ") : (");
    artel__hlo_write_types(&h->body, h, in, ins);
    artel__text_append(&h->body, ") -> (");
    artel__hlo_write_types(&h->body, h, out, outs);
    artel__text_append(&h->body, ")\n");
}

void artel__hlo_barriers(artel__hlo *h, artel__hlo_value *values, int count)
{
    void *block;
    if (count == 0 || h->status < 0) return;
    h->status = artel__alloc(h->ctx, (size_t)count * (sizeof(artel__hlo_type) + sizeof *values), "device", &block);
    if (h->status < 0) return;
    artel__hlo_type *type = block;
    artel__hlo_value *in = (artel__hlo_value *)(type + count);
    for (int i = 0; i < count; i++) type[i] = *artel__hlo_type_of(h, in[i] = values[i]);
    if (begin_results(h, type, count, values)) {
        artel__text_append(&h->body, "stablehlo.optimization_barrier ");
        artel__hlo_write_values(&h->body, in, count);
        artel__text_append(&h->body, " : ");
        artel__hlo_write_types(&h->body, h, in, count);
        artel__text_append(&h->body, "\n");
    }
    artel__free(h->ctx, block);
}

void artel__hlo_add_function(artel__hlo *h, const char *name, const char *module)
{
    static const char entry[] = "  func.func public @main";
    const char *begin = strstr(module, entry), *end = strrchr(module, '}');
    if (!begin || !end || end < begin) {
        artel__hlo_wrong(h, "func");
        return;
    }
    begin += strlen(entry);
    artel__text_printf(&h->functions, "  func.func private @%s", name);
    artel__text_append_bytes(&h->functions, begin, (size_t)(end - begin));
}
