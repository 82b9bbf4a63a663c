/* SPDX-License-Identifier: Apache-2.0 */
/* Operations by name: Keras' own (nn/layer_ops.list), as if a model held them.
 *
 * A record in Keras' form is made of the name and the attributes; who adds an operation there adds it here, too. Axes
 * of rows count the batch, as in Keras. Shared values have none: their axes are moved up by one, for operations are
 * written for rows.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "function/function_impl.h"
#include "function/graph_more.h"
#include "function/graph_whole.h"
#include "function/tape.h"
#include "nn/layer_ops.h"
#include "op/elementwise.h"
#include "op/gather.h"

enum {
    MOST_INPUTS = 32,
    NAME_ROOM = 96
};

/* "log_softmax" as "LogSoftmax"; names in that form already stay. */
static void class_name_of(const char *name, char *out, size_t size)
{
    size_t length = 0;
    bool upper = true;
    for (; *name && length + 1 < size; name++) {
        if (*name == '_') {
            upper = true;
            continue;
        }
        out[length++] = (char)(upper ? toupper((unsigned char)*name) : *name);
        upper = false;
    }
    out[length] = 0;
}

/* Functions of keras.ops that have another name than their class. */
static const char *const aliases[][2] = {{"LayerNormalization", "LayerNorm"},
                                         {"RmsNormalization", "RMSNorm"},
                                         {"BatchNormalization", "BatchNorm"},
                                         {"Swish", "Silu"},
                                         {"HardSwish", "HardSilu"}};

/* "Searchsorted" and "SearchSorted", "Fft" and "FFT". */
static bool same_letters(const char *a, const char *b)
{
    while (*a && tolower((unsigned char)*a) == tolower((unsigned char)*b)) a++, b++;
    return !*a && !*b;
}

/* The operation of a class by what class_name_of makes of its name; that becomes the name of the class. */
static const artel__layer_def *operation_of(char *class_name, size_t size)
{
    char full[NAME_ROOM + 8];
    for (size_t i = 0; i < ARTEL__COUNT(aliases); i++) {
        if (strcmp(class_name, aliases[i][0]) == 0) snprintf(class_name, size, "%s", aliases[i][1]);
    }
    snprintf(full, sizeof full, "ops.%s", class_name);
    const artel__layer_def *def = artel__layer_find(full);
    for (int i = 0; !def && artel__layers[i]; i++) {
        const char *name = artel__layers[i]->class_name;
        if (!artel__is_operation(name) || !same_letters(name + 4, class_name)) continue;
        def = artel__layers[i];
        snprintf(class_name, size, "%s", name + 4);
    }
    return def;
}

static const artel__layer_def *find_operation(artel_graph *g, const char *name, char *class_name, size_t size)
{
    const artel__layer_def *def = operation_of(class_name, size);
    if (def) return def;
    const char *names[512];
    int count = 0;
    for (int i = 0; artel__layers[i] && count < 511; i++) {
        if (artel__is_operation(artel__layers[i]->class_name)) names[count++] = artel__layers[i]->class_name + 4;
    }
    names[count] = NULL;
    const char *near = artel__nearest_name(class_name, names);
    artel__graph_refuse(g, ARTEL_ERROR_UNSUPPORTED, name, "see docs/layers.md for the operations",
                        "there is no operation of this name%s%s%s", near ? " (did you mean " : "", near ? near : "",
                        near ? "?)" : "");
    return NULL;
}

/* -- JSON that is put together; a failure to is remembered, and said once -- */

typedef struct maker {
    bool failed;
} maker;

static void set(maker *m, json_t *object, const char *key, json_t *taken)
{
    if (json_object_set_new(object, key, taken) < 0) m->failed = true;
}

static void add(maker *m, json_t *list, json_t *taken)
{
    if (json_array_append_new(list, taken) < 0) m->failed = true;
}

/* `first`, taken, in front of what a list holds, or of a single value. */
static json_t *in_front(maker *m, json_t *first, json_t *list)
{
    json_t *out = json_array();
    add(m, out, first);
    for (size_t i = 0; i < json_array_size(list); i++) add(m, out, json_incref(json_array_get(list, i)));
    if (!json_is_array(list)) add(m, out, json_incref(list));
    return out;
}

/* -- axes of shared values -- */

static json_t *moved_axis(maker *m, json_t *axis)
{
    if (json_is_integer(axis)) return json_integer(json_integer_value(axis) + (json_integer_value(axis) >= 0));
    if (!json_is_array(axis)) return json_incref(axis);
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(axis); i++) add(m, list, moved_axis(m, json_array_get(axis, i)));
    return list;
}

static bool is_among(const char *name, const char *const *names)
{
    while (*names && strcmp(*names, name) != 0) names++;
    return *names != NULL;
}

/* Operations of one axis: the last one, where it is none (`flatten` has made one axis of all). */
static const char *const along_one[] = {"Argmax",        "Argmin",     "Nanargmax",   "Nanargmin", "Cumsum", "Cumprod",
                                        "Nancumsum",     "Nancumprod", "Repeat",      "Append",    "Take",   "Sort",
                                        "TakeAlongAxis", "Argsort",    "Concatenate", NULL};
/* Those of them that have an axis unless it is said to be none. */
static const char *const with_axis[] = {"Sort", "Argsort", "Concatenate", NULL};

/* Reductions without an axis are over all. */
static void move_axes(maker *m, json_t *out, const char *class_name, json_t *given, int rank)
{
    static const char *const axes[] = {"axis",  "axis1",  "axis2",       "axisa", "axisb",
                                       "axisc", "source", "destination", NULL};
    static const char *const reductions[] = {
        "Sum",    "Mean",     "Max",        "Min",         "Prod",          "Amax",         "Amin",    "Var",
        "Std",    "Any",      "All",        "Logsumexp",   "Norm",          "Nansum",       "Nanprod", "Nanmean",
        "Nanvar", "Nanstd",   "Nanmax",     "Nanmin",      "Average",       "Median",       "Ptp",     "Nanmedian",
        "Flip",   "Quantile", "Percentile", "Nanquantile", "Nanpercentile", "CountNonzero", NULL};
    for (int i = 0; axes[i]; i++) {
        json_t *value = json_object_get(given, axes[i]);
        if (value) set(m, out, axes[i], moved_axis(m, value));
    }
    json_t *axis = json_object_get(given, "axis");
    if (axis && !json_is_null(axis)) return;
    if (is_among(class_name, along_one) && (axis || strcmp(class_name, "Concatenate") != 0))
        set(m, out, "axis", json_integer(-1));
    if (!is_among(class_name, reductions)) return;
    json_t *all = json_array();
    for (int d = 0; d < rank; d++) add(m, all, json_integer(d + 1));
    set(m, out, "axis", all);
}

/* The settings of an operation on shared values as one on rows has them; NULL without memory. */
static json_t *for_rows(const char *class_name, json_t *given, int rank)
{
    maker m = {.failed = false};
    json_t *out = artel__json_copy(given), *value;
    move_axes(&m, out, class_name, given, rank);
    value = json_object_get(given, "axes");
    if (strcmp(class_name, "Transpose") == 0 && (!value || json_is_null(value))) {
        json_t *reversed = json_pack("[i]", 0);
        for (int d = rank; d > 0; d--) add(&m, reversed, json_integer(d));
        set(&m, out, "axes", reversed);
    } else if (value && strcmp(class_name, "Tensordot") != 0) { /* which counts from the first axis of each operand */
        json_t *moved = moved_axis(&m, value);
        set(&m, out, "axes",
            strcmp(class_name, "Transpose") == 0 ? in_front(&m, json_integer(0), moved) : json_incref(moved));
        json_decref(moved);
    }
    if ((value = json_object_get(given, "newshape"))) set(&m, out, "newshape", in_front(&m, json_null(), value));
    if ((value = json_object_get(given, "pad_width")))
        set(&m, out, "pad_width", in_front(&m, json_pack("[ii]", 0, 0), value));
    if (strcmp(class_name, "Tile") == 0 && (value = json_object_get(given, "repeats")))
        set(&m, out, "repeats", in_front(&m, json_integer(1), value));
    if (out && !m.failed) return out;
    json_decref(out);
    return NULL;
}

/* Without an axis these see one axis of all elements; what is taken by numbers keeps the shape of these. */
static void flatten(artel_graph *g, const char *class_name, json_t *attributes, artel__tensor *in, int count)
{
    json_t *axis = json_object_get(attributes, "axis");
    if (!is_among(class_name, along_one) || (axis ? !json_is_null(axis) : is_among(class_name, with_axis))) return;
    if (strcmp(class_name, "Take") == 0) count = 1;
    for (int i = 0; i < count && g->graph->status == ARTEL_OK; i++) {
        artel_shape shape = {.rank = 1, .dim = {artel_shape_count(&g->graph->value[in[i].value].shape)}};
        in[i].value = artel__op_reshape(g->graph, in[i].value, &shape);
    }
}

/* -- records -- */

/* A type among the settings is a policy, and belongs into the record; of float64 there is none. */
static bool is_recorded(const char *key, const json_t *value)
{
    const char *text = json_string_value(value);
    return strcmp(key, "dtype") == 0 && text && strcmp(text, "float64") != 0;
}

static json_t *record_of(maker *m, const char *class_name, json_t *attributes)
{
    json_t *config = json_pack("{s:s}", "name", class_name), *type = json_object_get(attributes, "dtype");
    if (type && is_recorded("dtype", type)) set(m, config, "dtype", json_incref(type));
    return json_pack("{s:s, s:s, s:o}", "class_name", class_name, "module", "keras.src.ops", "config", config);
}

static json_t *tensor(int i)
{
    return json_pack("{s:i}", "tensor", i);
}

/* Tensors from `first` on as a list. */
static json_t *tensors_of(maker *m, int first, int count)
{
    json_t *list = json_array();
    for (int i = 0; i < count; i++) add(m, list, tensor(first + i));
    return list;
}

/* Where the tensors go: in `lists` into one argument of all of them; conditions, choices and the default of "Select";
 * beside limits that are a setting, values; what is written into a tensor, behind its place. */
static void place_tensors(maker *m, const char *class_name, json_t *attributes, int count, json_t *args, json_t *kwargs)
{
    static const char *const lists[] = {"Concatenate", "Stack", "Hstack", "Vstack", "Dstack",
                                        "FFT",         "FFT2",  "IFFT2",  "IRFFT",  NULL};
    json_t *limits = strcmp(class_name, "SearchSorted") == 0 ? json_object_get(attributes, "sorted_sequence") : NULL;
    int by_place = count;
    if (is_among(class_name, lists)) {
        add(m, args, tensors_of(m, 0, count));
        return;
    }
    if (strcmp(class_name, "Select") == 0) {
        for (int i = 0; i < 2; i++) add(m, args, tensors_of(m, i * (count / 2), count / 2));
        if (count % 2) set(m, kwargs, "default", tensor(count - 1));
        return;
    }
    if (limits && count == 1) {
        add(m, args, json_incref(limits));
        set(m, kwargs, "values", tensor(0));
        return;
    }
    if (strcmp(class_name, "SliceUpdate") == 0 && count == 2) {
        set(m, kwargs, "updates", tensor(1));
        by_place = 1;
    }
    for (int i = 0; i < by_place; i++) add(m, args, tensor(i));
}

static json_t *arguments_of(maker *m, const char *class_name, json_t *attributes, int count)
{
    json_t *args = json_array(), *kwargs = json_object(), *value;
    const char *key;
    place_tensors(m, class_name, attributes, count, args, kwargs);
    json_t *more = json_object_get(attributes, "args");
    for (size_t i = 0; i < json_array_size(more); i++) add(m, args, json_incref(json_array_get(more, i)));
    json_object_foreach(attributes, key, value)
    {
        bool placed = strcmp(key, "args") == 0 ||
                      (strcmp(class_name, "SearchSorted") == 0 && strcmp(key, "sorted_sequence") == 0);
        if (!placed && !is_recorded(key, value)) set(m, kwargs, key, json_incref(value));
    }
    return json_pack("{s:o, s:o}", "args", args, "kwargs", kwargs);
}

/* A setting that the operation has not asked for, misspelled as a rule, would be passed over in silence. */
static artel_status check_asked(artel_graph *g, const char *class_name, json_t *kwargs, uint64_t asked)
{
    static const char *const idle[] = {"dtype",      "sorted", "assume_unique", "synchronized", "fill_mode",
                                       "fill_value", NULL}; /* Keras has them; they choose nothing here */
    const char *key;
    json_t *value;
    json_object_foreach(kwargs, key, value)
    {
        if (!(asked & 1) && !json_is_null(value) && !is_among(key, idle)) {
            artel__graph_refuse(g, ARTEL_ERROR_INVALID, class_name, "see docs/layers.md for operations and settings",
                                "the setting '%.64s' has no meaning here", key);
            return g->graph->status;
        }
        asked >>= 1;
    }
    return ARTEL_OK;
}

/* Nor an operand. The first is one of any operation. */
static artel_status check_taken(artel_graph *g, const char *class_name, int count, uint64_t taken)
{
    for (int i = 1; i < count; i++) {
        if (taken >> i & 1) continue;
        artel__graph_refuse(g, ARTEL_ERROR_INVALID, class_name, "see docs/layers.md for operations and settings",
                            "there are %d operands, of which number %d has no meaning here", count, i + 1);
        return g->graph->status;
    }
    return ARTEL_OK;
}

static artel_status call_operation(artel_graph *g, const char *class_name, json_t *attributes, artel__call *call)
{
    maker m = {.failed = false};
    json_t *record = record_of(&m, class_name, attributes);
    call->arguments = arguments_of(&m, class_name, attributes, call->inputs);
    artel__layer *layer;
    artel_status status = record && call->arguments && !m.failed ? ARTEL_OK : artel__fail_memory(g->ctx, class_name, 1);
    if (status == ARTEL_OK) status = artel__layer_create(g->graph->arena, NULL, record, &layer);
    uint64_t asked = 0, taken = 0;
    call->asked = &asked;
    call->taken = &taken;
    if (status == ARTEL_OK) status = artel__layer_call(layer, call);
    if (status == ARTEL_OK) status = check_asked(g, class_name, json_object_get(call->arguments, "kwargs"), asked);
    if (status == ARTEL_OK) status = check_taken(g, class_name, call->inputs, taken);
    call->asked = call->taken = NULL;
    json_decref(call->arguments);
    json_decref(record);
    return status;
}

/* -- products with a shared matrix -- */

static bool in_float32(artel_dtype a, artel_dtype b)
{
    return a != ARTEL_DTYPE_FLOAT64 && b != ARTEL_DTYPE_FLOAT64 && (a != ARTEL_DTYPE_INT32 || b != ARTEL_DTYPE_INT32);
}

static int shared_product(artel_graph *g, const artel_value *inputs, artel_value *out)
{
    artel__graph *graph = g->graph;
    artel__value_id x = artel__graph_take(g, inputs[0]);
    const artel__place *place = artel__graph_place(g, inputs[1]);
    if (x < 0 || !place) return graph->status;
    artel_shape in = graph->value[x].shape, w = place->shape;
    if (w.rank != 2 || in.rank < 1 || in.dim[in.rank - 1] != w.dim[0]) {
        char a[128], b[128];
        artel__graph_refuse(g, ARTEL_ERROR_INVALID, "matmul",
                            "the last axis of rows meets the first of a shared matrix",
                            "rows of %s cannot be multiplied with %s", artel__shape_text(&in, false, a, sizeof a),
                            artel__shape_text(&w, false, b, sizeof b));
        return graph->status;
    }
    bool fits = graph->value[place->value].layout == ARTEL__LAYOUT_PANELS && place->rows == w.dim[0];
    artel__value_id panels = fits ? place->value : artel__op_panels(graph, artel__graph_take(g, inputs[1]));
    artel_shape columns = {.rank = 1, .dim = {w.dim[1]}};
    out[0] = artel__graph_give(g, artel__op_product(graph, artel__as_float(graph, x), panels, ARTEL__NO_VALUE, 1,
                                                    &columns, ARTEL__FUSED_NONE));
    return graph->status < 0 ? graph->status : 1;
}

/* -- public -- */

static json_t *read_attributes(artel_graph *g, const char *name, const char *text)
{
    json_t *json = NULL;
    artel_status status = artel__json_load(g->ctx, name, text ? text : "{}", text ? strlen(text) : 2, &json);
    if (status == ARTEL_OK && json_is_object(json)) return json;
    json_decref(json);
    artel__graph_refuse(g, ARTEL_ERROR_INVALID, name, "give a JSON object, such as {\"axis\": -1}",
                        "the attributes are no JSON object");
    return NULL;
}

/* Beside a float64 operand all numbers of the operation are that; false where it is not made for it. */
static bool choose_real(artel_graph *g, const char *class_name, const artel__tensor *in, int count)
{
    bool wide = false;
    for (int i = 0; i < count; i++) wide = wide || g->graph->value[in[i].value].dtype == ARTEL_DTYPE_FLOAT64;
    if (wide && !artel__raw_has_float64(class_name)) {
        artel__graph_refuse(g, ARTEL_ERROR_UNSUPPORTED, class_name,
                            "cast it to float32; docs/eager.md lists the operations that have float64",
                            "this operation does not compute in float64");
        return false;
    }
    g->graph->real = wide ? ARTEL_DTYPE_FLOAT64 : ARTEL_DTYPE_FLOAT32;
    return true;
}

/* Operations whose results are whole numbers where their operands are, as in Keras, and that have no kernel for these:
 * computed in float64, which holds every int32 and what becomes of it until it overflows. Those of `places` have int32
 * results in any case, and those of `first` one operand of numbers, the rest being places. */
static const char *const whole[] = {
    "Abs",      "Absolute", "Add",      "Amax",       "Amin",      "Append",      "Clip",    "Cross",   "Cumprod",
    "Cumsum",   "Diff",     "Dot",      "Dstack",     "Einsum",    "FloorDivide", "Fmax",    "Fmin",    "Fmod",
    "FullLike", "Hstack",   "Inner",    "Kron",       "Matmul",    "Max",         "Maximum", "Min",     "Minimum",
    "Mod",      "Multiply", "NanToNum", "Nancumprod", "Nancumsum", "Nanmax",      "Nanmin",  "Nanprod", "Nansum",
    "Negative", "OnesLike", "Power",    "Prod",       "Ptp",       "Relu",        "Relu6",   "Round",   "Select",
    "Sign",     "Sort",     "Square",   "Subtract",   "Sum",       "Tensordot",   "TopK",    "Trace",   "Tril",
    "Triu",     "Trunc",    "Unstack",  "Where",      "ZerosLike", NULL};
static const char *const places[] = {"Argmax", "Argmin", "Argsort", "Digitize", "IsIn", "SearchSorted", NULL};
static const char *const first[] = {"TakeAlongAxis", NULL};

/* Makes float64 of the operands of such an operation; whether its results become int32 again. */
static bool widen_whole(artel_graph *g, const char *class_name, artel__tensor *in, int count)
{
    bool back = is_among(class_name, whole) || is_among(class_name, first), any = false;
    if (!back && !is_among(class_name, places)) return false;
    if (is_among(class_name, first)) count = 1;
    for (int i = 0; i < count; i++) {
        artel_dtype dtype = g->graph->value[in[i].value].dtype;
        if (dtype != ARTEL_DTYPE_INT32 && dtype != ARTEL_DTYPE_BOOL) return false;
        any = any || dtype == ARTEL_DTYPE_INT32;
    }
    for (int i = 0; i < count && any; i++) {
        if (g->graph->value[in[i].value].dtype == ARTEL_DTYPE_INT32)
            in[i].value = artel__op_cast(g->graph, in[i].value, ARTEL_DTYPE_FLOAT64);
    }
    return back && any;
}

static artel_value give_result(artel_graph *g, artel__value_id value, bool is_whole)
{
    if (is_whole && value >= 0 && g->graph->status == ARTEL_OK && g->graph->value[value].dtype == ARTEL_DTYPE_FLOAT64)
        value = artel__op_cast(g->graph, value, ARTEL_DTYPE_INT32);
    return artel__graph_give(g, value);
}

static int call_with(artel_graph *g, const char *class_name, json_t *attributes, const artel_value *inputs, int count,
                     artel_value *outputs, int most)
{
    artel__graph *graph = g->graph;
    artel__tensor in[MOST_INPUTS], out[ARTEL__LAYER_OUTPUTS];
    artel__call call = {.graph = graph, .in = in, .inputs = count, .out = out, .shared = true};
    for (int i = 0; i < count; i++) {
        in[i] = (artel__tensor){artel__graph_take(g, inputs[i]), ARTEL__NO_VALUE};
        if (graph->status < 0) return graph->status;
        call.shared = call.shared && graph->value[in[i].value].domain != ARTEL__DOMAIN_ROW;
    }
    artel__value_id wrapped =
        json_object_size(attributes) == 0 ? artel__whole_wrap(g, class_name, in, count) : ARTEL__NO_VALUE;
    if (graph->status < 0) return graph->status;
    if (wrapped >= 0) {
        outputs[0] = artel__graph_give(g, wrapped);
        return graph->status < 0 ? graph->status : 1;
    }
    bool is_whole = widen_whole(g, class_name, in, count);
    if (graph->status < 0 || !choose_real(g, class_name, in, count)) return graph->status;
    if (call.shared) flatten(g, class_name, attributes, in, count);
    if (graph->status < 0) return graph->status;
    json_t *settings =
        call.shared ? for_rows(class_name, attributes, graph->value[in[0].value].shape.rank) : json_incref(attributes);
    artel_status status =
        settings ? call_operation(g, class_name, settings, &call) : artel__fail_memory(g->ctx, class_name, 1);
    json_decref(settings);
    graph->real = ARTEL_DTYPE_FLOAT32;
    if (status < 0) {
        if (graph->status == ARTEL_OK) graph->status = status;
        return graph->status;
    }
    for (int i = 0; i < call.outputs && i < most; i++) outputs[i] = give_result(g, out[i].value, is_whole);
    return graph->status < 0 ? graph->status : call.outputs;
}

/* Of float32, float64, int32 and bool. */
static int call_plain(const artel__whole_call *c)
{
    artel__graph *graph = c->g->graph;
    const artel__place *a = artel__graph_place(c->g, c->inputs[0]),
                       *b = c->count == 2 ? artel__graph_place(c->g, c->inputs[1]) : NULL;
    bool product = strcmp(c->class_name, "Matmul") == 0 && a && b &&
                   graph->value[a->value].domain == ARTEL__DOMAIN_ROW &&
                   graph->value[b->value].domain == ARTEL__DOMAIN_GLOBAL &&
                   in_float32(graph->value[a->value].dtype, graph->value[b->value].dtype);
    return product ? shared_product(c->g, c->inputs, c->outputs)
                   : call_with(c->g, c->class_name, c->settings, c->inputs, c->count, c->outputs, c->most);
}

int artel_graph_op_all(artel_graph *g, const char *name, const artel_value *inputs, int count, const char *attributes,
                       artel_value *outputs, int most)
{
    ARTEL_TRY(artel__need(g ? g->ctx : NULL, __func__, "graph", g));
    if (g->graph->status < 0) return g->graph->status;
    char class_name[NAME_ROOM];
    if (!name || !inputs || count < 1 || count > MOST_INPUTS || !outputs || most < 1) {
        artel__graph_refuse(g, ARTEL_ERROR_INVALID, name ? name : "operation",
                            "give a name, 1 to 32 inputs and room for a result",
                            "an argument is missing, or there are %d inputs", count);
        return g->graph->status;
    }
    class_name_of(name, class_name, sizeof class_name);
    artel__tape_entry *entry = artel__tape_begin(
        g, &(artel__tape_entry){.kind = ARTEL__TAPE_OP, .name = name, .settings = attributes}, inputs, count);
    int texts = artel__texts_op(g, name, class_name, inputs, count, attributes, outputs, most);
    if (texts) artel__tape_end(g, entry, outputs, texts < most ? texts : most);
    if (texts) return g->graph->status < 0 ? g->graph->status : texts;
    bool more = artel__graph_has_more(class_name);
    bool found = more || find_operation(g, name, class_name, sizeof class_name);
    json_t *settings = found ? read_attributes(g, name, attributes) : NULL;
    if (!settings) return g->graph->status;
    const artel__whole_call whole_call = {g, class_name, settings, inputs, count, outputs, most, call_plain};
    int made = more                                ? artel__graph_more(g, class_name, settings, inputs, count, outputs)
               : artel__whole_is_long(&whole_call) ? artel__whole_call_long(&whole_call)
                                                   : call_plain(&whole_call);
    json_decref(settings);
    artel__tape_end(g, entry, outputs, made < most ? made : most);
    return g->graph->status < 0 ? g->graph->status : made;
}

artel_value artel_graph_op(artel_graph *g, const char *name, const artel_value *inputs, int count,
                           const char *attributes)
{
    artel_value out = ARTEL_NO_VALUE;
    return artel_graph_op_all(g, name, inputs, count, attributes, &out, 1) < 0 ? ARTEL_NO_VALUE : out;
}

artel_value artel_graph_unary(artel_graph *g, const char *name, artel_value x)
{
    return artel_graph_op(g, name, &x, 1, NULL);
}

artel_value artel_graph_binary(artel_graph *g, const char *name, artel_value a, artel_value b)
{
    const artel_value both[2] = {a, b};
    return artel_graph_op(g, name, both, 2, NULL);
}
