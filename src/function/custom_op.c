/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that a program writes: a node whose kernel, shape rule and gradient are callbacks, and shared objects that
 * hold them.
 *
 * Rows are the tasks of the kernel: any run of them may be computed by any thread. */
#include <dlfcn.h>
#include <string.h>

#include "artel/extend.h"
#include "base/extension.h"
#include "function/function_impl.h"
#include "function/tape.h"
#include "graph/lower.h"
#include "graph/op_exec.h"
#include "op/elementwise.h"
#include "op/op.h"

enum {
    MOST_INPUTS = 8,
    MOST_ASKED = 16 /* gradients, one within another */
};

typedef struct custom_attributes {
    artel_operation operation;
} custom_attributes;

typedef struct custom_params {
    const artel_operation *operation;
    int64_t rows, out_row, in_row[MOST_INPUTS]; /* elements; 0: the input is shared */
    int inputs;
    const float *in[MOST_INPUTS];
    float *out;
} custom_params;

static artel_status infer_custom(artel__infer *infer)
{
    const custom_attributes *a = infer->attributes;
    artel_shape shape[MOST_INPUTS], out = {.rank = 0};
    artel__domain domain = ARTEL__DOMAIN_GLOBAL;
    for (int i = 0; i < infer->inputs; i++) {
        const artel__value *in = infer->in[i];
        if (in->dtype != ARTEL_DTYPE_FLOAT32 || in->layout != ARTEL__LAYOUT_PLAIN || in->domain == ARTEL__DOMAIN_NODES)
            return artel__op_fail(infer, "input %d is no plain float32 value", i);
        if (in->domain == ARTEL__DOMAIN_ROW) domain = ARTEL__DOMAIN_ROW;
        shape[i] = in->shape;
    }
    artel_status status = a->operation.infer(a->operation.user, shape, infer->inputs, &out);
    if (status < 0 || out.rank < 0 || out.rank >= ARTEL_MAX_RANK || artel_shape_count(&out) < 0)
        return artel__op_fail(infer, "its shape rule takes no such inputs");
    artel__infer_output(infer, 0, domain, ARTEL_DTYPE_FLOAT32, &out);
    return ARTEL_OK;
}

static void fill_custom(const artel__run_args *args, void *params)
{
    const custom_attributes *a = args->attributes;
    custom_params *p = params;
    *p = (custom_params){.operation = &a->operation,
                         .rows = artel__args_rows(args, args->node->output[0]),
                         .out_row = artel__args_out(args, 0)->storage,
                         .inputs = args->node->inputs,
                         .out = args->out[0]};
    bool rows = artel__args_out(args, 0)->domain == ARTEL__DOMAIN_ROW;
    for (int i = 0; i < p->inputs; i++) {
        const artel__value *in = artel__args_in(args, i);
        p->in[i] = args->in[i];
        p->in_row[i] = rows && in->domain == ARTEL__DOMAIN_GLOBAL ? 0 : in->storage;
    }
}

static int64_t rows_of(const void *params)
{
    return ((const custom_params *)params)->rows;
}

static void run_custom(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const custom_params *p = params;
    const float *in[MOST_INPUTS] = {NULL};
    (void)scratch;
    for (int i = 0; i < p->inputs; i++) in[i] = p->in[i] + begin * p->in_row[i];
    p->operation->compute(p->operation->user, end - begin, p->out_row, in, p->out + begin * p->out_row);
}

static const artel__kernel custom_kernel = {
    .name = "custom", .isa = ARTEL__ISA_BASELINE, .tasks = rows_of, .run = run_custom};
static const artel__kernel *const custom_kernels[] = {&custom_kernel, NULL};

static void describe_custom(const artel__node *node, artel__text *out)
{
    artel__text_append(out, ((const custom_attributes *)node->attributes)->operation.name);
}

static artel_status grad_custom(artel__gradient *g)
{
    const custom_attributes *a = g->attributes;
    const artel__node node = g->graph->node[g->node];
    artel_value in[MOST_INPUTS], made[MOST_INPUTS];
    artel_graph wrapped;
    if (!a->operation.gradient)
        return artel__fail(artel__graph_context(g->graph), ARTEL_ERROR_UNSUPPORTED, a->operation.name,
                           "give the operation a gradient", "the operation has no gradient");
    artel__graph_wrap(&wrapped, g->graph);
    for (int i = 0; i < node.inputs; i++) {
        in[i] = artel__graph_give(&wrapped, g->in[i]);
        made[i] = ARTEL_NO_VALUE;
    }
    artel_value out = artel__graph_give(&wrapped, g->out[0]), dy = artel__graph_give(&wrapped, g->out_gradient[0]);
    ARTEL_TRY(g->graph->status);
    if (g->graph->gradient_depth == MOST_ASKED)
        return artel__fail(artel__graph_context(g->graph), ARTEL_ERROR_INVALID, a->operation.name,
                           "let it ask for no gradient that needs it", "its gradient asks for itself");
    g->graph->gradient_depth++;
    artel_status status = a->operation.gradient(a->operation.user, &wrapped, in, node.inputs, out, dy, made);
    g->graph->gradient_depth--;
    ARTEL_TRY(g->graph->status);
    if (status < 0)
        return artel__fail(artel__graph_context(g->graph), status, a->operation.name, "see what it has found",
                           "its gradient failed");
    for (int i = 0; i < node.inputs; i++) {
        if (!g->needed[i] || made[i] < 0) continue;
        artel__value_id value = artel__graph_take(&wrapped, made[i]);
        ARTEL_TRY(g->graph->status);
        g->in_gradient[i] = artel__op_sum_to(g->graph, value, g->in[i]);
    }
    return g->graph->status;
}

/* Compiled by the program for this machine: a device is told its name alone. */
static void lower_custom(artel__lower *lower)
{
    artel__lower_refuse(lower, ((const custom_attributes *)lower->attributes)->operation.name);
}

static const artel__op_def custom_def = {
    .name = "custom",
    .doc = "An operation of the program's own.",
    .attribute_size = sizeof(custom_attributes),
    .infer = infer_custom,
    .grad = grad_custom,
    .describe = describe_custom,
    .lower = lower_custom,
    .exec =
        &(const artel__op_exec){
            .kernels = custom_kernels,
            .params_size = sizeof(custom_params),
            .fill = fill_custom,
        },
};

/* The caller's struct, whose tail may be missing, over one of this version; whole, or refused. */
static artel_status take_operation(artel_context *ctx, const artel_operation *given, artel_operation *own)
{
    static const artel__range no_ranges[] = {{.name = NULL}};
    static const artel__options_kind kind = {"operation", "set struct_size", sizeof(artel_operation), no_ranges};
    *own = (artel_operation){.struct_size = sizeof *own};
    ARTEL_TRY(artel__take_options(ctx, &kind, given, own));
    if (own->name && own->name[0] && own->infer && own->compute) return ARTEL_OK;
    return artel__fail(ctx, ARTEL_ERROR_INVALID, "operation", "give a name, infer and compute",
                       "a part of the operation is missing");
}

artel_value artel_graph_custom(artel_graph *g, const artel_operation *operation, const artel_value *inputs, int count)
{
    artel__value_id in[MOST_INPUTS];
    custom_attributes attributes;
    if (!g || g->graph->status < 0) return ARTEL_NO_VALUE;
    if (!operation || !inputs || count < 1 || count > MOST_INPUTS)
        return artel__graph_refuse(g, ARTEL_ERROR_INVALID, "operation", "give an operation and 1 to 8 inputs",
                                   "there is no operation, or there are %d inputs", inputs ? count : 0);
    g->graph->status = take_operation(g->ctx, operation, &attributes.operation);
    if (g->graph->status < 0) return ARTEL_NO_VALUE;
    for (int i = 0; i < count; i++) in[i] = artel__graph_take(g, inputs[i]);
    if (g->graph->status < 0) return ARTEL_NO_VALUE;
    const char *scope = g->graph->scope, *name = attributes.operation.name;
    if (!scope[0]) g->graph->scope = name;
    artel__tape_entry *entry =
        artel__tape_begin(g, &(artel__tape_entry){.kind = ARTEL__TAPE_CUSTOM, .name = name}, inputs, count);
    artel__value_id out = artel__graph_add(g->graph, &custom_def, &attributes, in, count);
    g->graph->scope = scope;
    return artel__tape_gave(g, entry, artel__graph_give(g, out));
}

artel_status artel_context_add_operation(artel_context *ctx, const artel_operation *operation)
{
    artel_operation own;
    void *block;
    ARTEL_TRY(artel__enter(ctx, __func__, "context operation", ctx, operation));
    ARTEL_TRY(take_operation(ctx, operation, &own));
    size_t length = strlen(own.name) + 1;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof own + length, "operation", &block));
    artel_operation *copy = block;
    *copy = own;
    copy->name = memcpy(copy + 1, own.name, length);
    return artel__extension_add(ctx, ARTEL__EXTENSION_OPERATION, copy->name, copy);
}

/* -- shared objects -- */

artel_status artel_context_load_extension(artel_context *ctx, const char *path)
{
    ARTEL_TRY(artel__enter(ctx, __func__, "context path", ctx, path));
    char full[4096];
    bool bare = !strchr(path, '/'); /* a name alone would be searched where libraries are */
    if (!path[0] || strlen(path) + 3 > sizeof full)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, "extension", "give the path of a shared object",
                           "a path of %zu bytes", strlen(path));
    strcpy(full, bare ? "./" : "");
    strcat(full, path);
    void *library = dlopen(full, RTLD_NOW | RTLD_LOCAL), *symbol = library ? dlsym(library, "artel_extension") : NULL;
    if (!symbol) {
        const char *why = library ? "it shows no such function" : dlerror();
        artel_status status =
            artel__fail(ctx, library ? ARTEL_ERROR_INVALID : ARTEL_ERROR_NOT_FOUND, path,
                        "give a shared object with a function artel_extension (artel/extend.h)", "%s", why ? why : "");
        if (library) dlclose(library);
        return status;
    }
    artel_extension_fn *add;
    memcpy(&add, &symbol, sizeof add); /* ISO C has no cast from objects to functions */
    artel_status status = add(ctx);
    if (status < 0 && artel_context_error(ctx)->status == ARTEL_OK)
        return artel__fail(ctx, status, path, "see what it has found", "its artel_extension failed");
    return status < 0 ? status : ARTEL_OK;
}
