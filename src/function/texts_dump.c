/* SPDX-License-Identifier: Apache-2.0 */
/* What a function does with text, as text: for artel_function_explain(), and for tasks that compare their functions. */
#include "base/hash.h"
#include "function/texts.h"

static int number_of(const artel_function *f, const artel__text_value *wanted)
{
    int n = 0;
    const artel__text_value *v = f->texts->value;
    for (; v && v != wanted; v = v->next) n++;
    return v ? n : -1;
}

/* Of the elements of a constant. */
static uint64_t hash_of(const artel__text_value *v)
{
    const artel_string *s = v->constant;
    uint64_t hash = 0;
    if (v->row.dtype != ARTEL_DTYPE_STRING)
        return artel__hash64(v->constant, (size_t)v->row.count * artel_dtype_size(v->row.dtype));
    for (int64_t i = 0; i < v->row.count; i++)
        hash = (hash ^ artel__hash64(s[i].bytes, s[i].length)) * UINT64_C(0x9E3779B97F4A7C15);
    return hash;
}

static void dump_list(const artel_function *f, artel__text *out, artel__text_value *const *list, int count)
{
    for (int i = 0; i < count; i++) artel__text_printf(out, " %d", number_of(f, list[i]));
}

void artel__texts_dump(const artel_function *f, artel__text *out)
{
    char shape[128];
    int n = 0;
    if (!artel__texts_any(f)) return;
    for (const artel__text_value *v = f->texts->value; v; v = v->next) {
        artel__text_printf(out, "text %d: %s %s %s%s", n++, v->name, artel_dtype_name(v->row.dtype),
                           artel__shape_text(&v->row.shape, v->rows, shape, sizeof shape), v->late ? " late" : "");
        if (v->late > 1) artel__text_printf(out, " %d", v->late);
        if (v->argument >= 0) artel__text_printf(out, " argument %d", v->argument);
        if (v->input >= 0) artel__text_printf(out, " input %d", v->input);
        if (v->constant) artel__text_printf(out, " %016llx", (unsigned long long)hash_of(v));
        artel__text_append(out, "\n");
    }
    for (const artel__text_step *s = f->texts->step; s; s = s->next) {
        artel__text_printf(out, "step %s%s%s:", s->name, s->attributes ? " " : "", s->attributes ? s->attributes : "");
        dump_list(f, out, s->in, s->inputs);
        artel__text_append(out, " ->");
        dump_list(f, out, s->out, s->outputs);
        artel__text_append(out, "\n");
    }
    for (const artel__text_write *w = f->texts->write; w; w = w->next)
        artel__text_printf(out, "write %s: %d\n", artel__words_name(w->variable->words), number_of(f, w->value));
}
