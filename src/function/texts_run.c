/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of functions that compute with text: memory, the steps before the replicas begin and those behind them, outputs
 * and variables of strings. See texts.h. */
#include <string.h>

#include "function/texts.h"

int64_t artel__text_count(const artel__text_value *v, int64_t rows)
{
    return v->rows ? v->row.count * rows : v->row.count;
}

/* -- results of steps -- */

static artel_status take_numbers(artel__string_sink *to, artel_dtype dtype, const artel_shape *shape, void **out)
{
    artel__text_sink *s = (artel__text_sink *)(void *)to;
    if (dtype == s->value->row.dtype) {
        *out = s->value->row.data;
        return ARTEL_OK;
    }
    size_t bytes = (size_t)artel_shape_count(shape) * artel_dtype_size(dtype) + 1;
    ARTEL_TRY(artel__alloc(s->value->text.ctx, bytes, "numbers", &s->wide));
    s->dtype = dtype;
    *out = s->wide;
    return ARTEL_OK;
}

/* The bytes go into the value's own, which last until the next run. */
static artel_status take_strings(artel__string_sink *to, const artel_shape *shape, const artel_string *from)
{
    artel__text_value *v = ((artel__text_sink *)(void *)to)->value;
    artel_string *out = v->row.data;
    int64_t count = artel_shape_count(shape);
    artel__text_clear(&v->text);
    for (int64_t i = 0; i < count; i++) {
        ARTEL_TRY(artel__string_check(v->text.ctx, v->name, &from[i], i));
        artel__text_append_bytes(&v->text, from[i].bytes, from[i].length);
        artel__text_append_bytes(&v->text, "", 1);
        out[i].length = from[i].length;
    }
    ARTEL_TRY(artel__text_status(&v->text));
    const char *at = v->text.data;
    for (int64_t i = 0; i < count; at += out[i++].length + 1) out[i].bytes = at;
    return ARTEL_OK;
}

void artel__text_sink_begin(artel__text_sink *sink, artel__text_value *value)
{
    *sink = (artel__text_sink){.sink = {take_numbers, take_strings}, .value = value};
}

artel_status artel__text_sink_end(artel__text_sink *sink, artel_context *ctx, artel_status status, int64_t count)
{
    if (!sink->wide) return status;
    if (status == ARTEL_OK)
        artel__convert(sink->dtype, sink->wide, sink->value->row.dtype, sink->value->row.data, count);
    artel__free(ctx, sink->wide);
    return status;
}

/* -- memory -- */

/* Whether its elements are the function's: not the caller's, a constant's or a variable's. */
static bool is_held(const artel__text_value *v)
{
    bool given = v->argument >= 0 && v->row.dtype == ARTEL_DTYPE_STRING;
    return !given && !v->constant && !v->variable;
}

static artel_status open_value(artel_function *f, artel__text_value *v)
{
    v->row.data = (void *)(uintptr_t)v->constant;
    if (!is_held(v)) return ARTEL_OK;
    int64_t count = artel__text_count(v, f->strategy->options.batch_size);
    size_t bytes = (size_t)count * artel__cell_size(v->row.dtype) + 64;
    ARTEL_TRY(artel__alloc_aligned(f->strategy->ctx, bytes, f->name, &v->block));
    v->bytes = bytes;
    v->row.data = v->block;
    if (v->late) memset(v->block, 0, bytes); /* goes into the graph before it is known */
    return ARTEL_OK;
}

static artel_status open_program(artel_function *f, artel__text_step *s)
{
    artel__program_rows *p = s->program;
    for (int i = 0; i < s->inputs; i++) p->base[i] = s->in[i] ? f : NULL; /* of a run; here: that there is one */
    for (int v = s->inputs; v < s->outputs; v++) p->base[v] = s->out[v] ? s->out[v]->row.data : NULL;
    s->program_bytes = artel__program_block(p);
    return artel__alloc_aligned(f->strategy->ctx, s->program_bytes, f->name, &p->block);
}

artel_status artel__texts_open(artel_function *f)
{
    if (!f->texts) return ARTEL_OK;
    for (artel__text_value *v = f->texts->value; v; v = v->next) ARTEL_TRY(open_value(f, v));
    for (artel__text_step *s = f->texts->step; s; s = s->next) {
        if (s->program) ARTEL_TRY(open_program(f, s));
    }
    return ARTEL_OK;
}

static void end_write(artel_context *ctx, artel__text_write *w)
{
    artel__free(ctx, w->made);
    artel__free(ctx, w->before);
    w->made = w->before = NULL;
}

void artel__texts_close(artel_function *f)
{
    artel_context *ctx = f->strategy->ctx;
    if (!f->texts) return;
    for (artel__text_value *v = f->texts->value; v; v = v->next) {
        if (v->bytes) artel__free_aligned(ctx, v->block, v->bytes);
        v->block = v->row.data = NULL;
        v->bytes = 0;
        artel__text_fini(&v->text);
        artel__text_init(&v->text, ctx);
    }
    for (artel__text_step *s = f->texts->step; s; s = s->next) {
        if (!s->program) continue;
        if (s->program->block) artel__free_aligned(ctx, s->program->block, s->program_bytes);
        s->program->block = NULL;
        artel__row_scratch_fini(&s->program->scratch);
    }
    for (artel__text_write *w = f->texts->write; w; w = w->next) end_write(ctx, w);
}

/* Inner functions are those of another strategy, which ends later. */
void artel__texts_end(artel_function *f)
{
    for (artel__text_step *s = f->texts ? f->texts->step : NULL; s; s = s->next) {
        if (s->function) artel__text_moving.drop(s->function);
        s->function = NULL;
        json_decref(s->json);
        s->json = NULL;
    }
}

/* -- running -- */

static artel_status check_rows(artel_context *ctx, const artel__text_value *v, int64_t rows)
{
    const artel_string *s = v->row.data;
    int64_t count = artel__text_count(v, rows), each = v->rows ? v->row.count : 1;
    for (int64_t i = 0; i < count; i++) ARTEL_TRY(artel__program_check_text(ctx, v->name, &s[i], i / each));
    return ARTEL_OK;
}

static artel_status take_arguments(artel_function *f, const artel_array *in, int64_t rows)
{
    for (artel__text_value *v = f->texts->value; v; v = v->next) {
        if (v->variable) v->row.data = artel__words_elements(v->variable);
        if (v->argument < 0) continue;
        const artel_array *given = &in[v->argument];
        if (v->row.dtype == ARTEL_DTYPE_STRING) {
            v->row.data = given->data;
            ARTEL_TRY(check_rows(f->strategy->ctx, v, rows));
        } else {
            artel__convert(given->dtype, given->data, v->row.dtype, v->row.data, artel__text_count(v, rows));
        }
    }
    return ARTEL_OK;
}

static artel_status run_steps(artel_function *f, int late, int64_t rows)
{
    artel_status status = ARTEL_OK;
    for (artel__text_step *s = f->texts->step; s && status == ARTEL_OK; s = s->next) {
        if (s->late == late) status = s->run(f, s, rows);
    }
    return status;
}

artel_status artel__texts_run(artel_function *f, const artel_array *in, int64_t rows)
{
    if (!artel__texts_any(f)) return ARTEL_OK;
    uint32_t caller = artel__fp_enter();
    artel_status status = take_arguments(f, in, rows);
    if (status == ARTEL_OK) status = run_steps(f, 0, rows);
    artel__fp_leave(caller);
    return status;
}

bool artel__texts_follow(const artel_function *f)
{
    return f->texts && (f->texts->late || f->texts->write);
}

artel_status artel__texts_run_pass(artel_function *f, int pass, int64_t rows)
{
    return run_steps(f, pass, rows);
}

artel_status artel__texts_run_late(artel_function *f, int64_t rows)
{
    ARTEL_TRY(run_steps(f, f->texts->passes + 1, rows));
    for (artel__text_write *w = f->texts->write; w; w = w->next) {
        end_write(f->strategy->ctx, w);
        ARTEL_TRY(artel__words_prepare(w->variable, w->value->row.data, &w->made));
    }
    return ARTEL_OK;
}

void artel__texts_hand_out(artel_function *f, const artel_array *out, int64_t rows)
{
    for (int i = 0; i < f->outputs; i++) {
        const artel__text_value *v = f->output[i].text;
        if (!v || !out[i].data) continue;
        memcpy(out[i].data, v->row.data, (size_t)artel__text_count(v, rows) * artel__cell_size(v->row.dtype));
    }
    for (artel__text_write *w = f->texts ? f->texts->write : NULL; w; w = w->next) {
        w->before = artel__words_swap(w->variable, w->made);
        w->made = NULL;
    }
}

const void *artel__texts_fed(const artel_function *f, int input)
{
    for (const artel__text_value *v = f->texts->value; v; v = v->next) {
        if (v->input == input) return v->row.data;
    }
    return NULL;
}

int artel__text_late(const artel__text_value *value)
{
    return value->late;
}

void *artel__text_target(const artel__text_value *value)
{
    return value->row.data;
}
