/* SPDX-License-Identifier: Apache-2.0 */
/* artel data stats: what the values of each array look like: range, mean, deviation, missing ones, a histogram.
 *
 * Two passes over the rows: the first finds the range, the second fills the bins. Moments are summed after Welford in
 * float64. Ranges are reckoned in halves, since that of finite values may be too large for a number; so may the
 * deviation, which is infinite then.
 */
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "cli/data.h"
#include "cli/svg.h"
#include "observe/number.h"

enum {
    CHUNK = 256,
    BAR = 40,
    WIDTH = 520, /* of the picture, of each panel in it, and around the bars */
    PANEL = 170,
    MARGIN = 20
};

typedef struct column_stats {
    int64_t values, missing, zeros;
    double least, most, mean, squares;
    int64_t bins[64];
} column_stats;

/* A value in the first pass. */
static void add_value(column_stats *s, double value)
{
    if (!(value - value == 0)) { /* not a number, or infinite */
        s->missing++;
        return;
    }
    if (s->values == 0 || value < s->least) s->least = value;
    if (s->values == 0 || value > s->most) s->most = value;
    s->values++;
    s->zeros += value == 0;
    double before = value - s->mean, count = (double)s->values;
    s->mean += before - before == 0 ? before / count : value / count - s->mean / count;
    s->squares += before * (value - s->mean);
}

/* Half of the width of a bin. */
static double half_bin(const column_stats *s, int64_t bins)
{
    return (s->most / 2 - s->least / 2) / (double)bins;
}

/* Where bin i begins. */
static double bin_edge(const column_stats *s, int64_t i, int64_t bins)
{
    return fmin(2 * (s->least / 2 + (double)i * half_bin(s, bins)), s->most);
}

static void add_to_bin(column_stats *s, double value, int64_t bins)
{
    if (!(value - value == 0)) return;
    double half = half_bin(s, bins), place = half > 0 ? (value / 2 - s->least / 2) / half : 0;
    s->bins[place < (double)bins ? (int64_t)place : bins - 1]++;
}

static double deviation(const column_stats *s)
{
    return s->values > 0 ? sqrt(s->squares / (double)s->values) : 0;
}

/* A row of a column; bins 0: in the first pass. */
static void add_row(const artel__rows_column *c, const uint8_t *row, int64_t bins, column_stats *s)
{
    double chunk[CHUNK];
    for (int64_t at = 0; at < c->elements; at += CHUNK) {
        int64_t count = c->elements - at < CHUNK ? c->elements - at : CHUNK;
        artel__convert(c->dtype, row + (size_t)at * artel_dtype_size(c->dtype), ARTEL_DTYPE_FLOAT64, chunk, count);
        for (int64_t i = 0; i < count; i++) {
            if (bins > 0)
                add_to_bin(s, chunk[i], bins);
            else
                add_value(s, chunk[i]);
        }
    }
}

/* One pass over the rows, of all columns. */
static artel_status pass(const artel__data_opened *opened, int64_t rows, int64_t bins, column_stats *s)
{
    for (int64_t row = 0; row < rows; row++) {
        ARTEL_TRY(artel__data_go_on(opened->data->ctx, "stats"));
        ARTEL_TRY(artel__rows_fetch_all(&opened->rows, row, opened->row));
        for (int c = 0; c < opened->rows.column_count; c++) {
            const artel__rows_column *column = &opened->rows.columns[c];
            add_row(column, (const uint8_t *)opened->row + column->at, bins, &s[c]);
        }
    }
    return ARTEL_OK;
}

static artel_status say_json(artel_context *ctx, const artel__rows_column *c, const column_stats *s, int64_t bins,
                             bool last)
{
    static const char *const names[] = {"min", "max", "mean", "std"};
    const double values[] = {s->least, s->most, s->mean, deviation(s)};
    artel__text line;
    artel__text_init(&line, ctx);
    artel__text_append(&line, "  ");
    artel__text_append_json(&line, c->name);
    artel__text_printf(&line, ": {\"dtype\": \"%s\", \"values\": %lld, \"missing\": %lld, \"zeros\": %lld",
                       artel_dtype_name(c->dtype), (long long)(s->values + s->missing), (long long)s->missing,
                       (long long)s->zeros);
    for (size_t i = 0; i < ARTEL__COUNT(names) && s->values > 0; i++) {
        artel__text_printf(&line, ", \"%s\": ", names[i]);
        artel__put_json_float(&line, values[i]);
    }
    artel__text_append(&line, ", \"histogram\": [");
    for (int64_t i = 0; i < bins; i++) artel__text_printf(&line, "%s%lld", i ? ", " : "", (long long)s->bins[i]);
    artel__text_printf(&line, "]}%s\n", last ? "" : ",");
    artel_status status = artel__text_status(&line);
    if (status == ARTEL_OK) fputs(line.data, stdout); /* JSON: nothing in it commands a terminal */
    artel__text_fini(&line);
    return status;
}

static void say_text(const artel__rows_column *c, const column_stats *s, int64_t bins)
{
    char shape[128];
    int64_t highest = 1;
    artel__show(stdout, "%s: %s %s\n", c->name, artel_dtype_name(c->dtype),
                artel__shape_text(&c->row, false, shape, sizeof shape));
    artel__show(stdout, "  %lld values, %lld missing, %lld zeros\n", (long long)(s->values + s->missing),
                (long long)s->missing, (long long)s->zeros);
    if (s->values == 0) return;
    artel__show(stdout, "  min %.6g, max %.6g, mean %.6g, standard deviation %.6g\n", s->least, s->most, s->mean,
                deviation(s));
    for (int64_t i = 0; i < bins; i++)
        if (s->bins[i] > highest) highest = s->bins[i];
    for (int64_t i = 0; i < bins && half_bin(s, bins) > 0; i++) {
        char bar[BAR + 1];
        int64_t length = (s->bins[i] * BAR + highest - 1) / highest;
        memset(bar, '#', (size_t)length);
        bar[length] = '\0';
        artel__show(stdout, "  %12.6g .. %-12.6g %10lld %s\n", bin_edge(s, i, bins), bin_edge(s, i + 1, bins),
                    (long long)s->bins[i], bar);
    }
}

/* A panel for each array, one below the other. */
static void draw(const artel__rows_column *c, const column_stats *s, int64_t bins, double top, artel__text *out)
{
    char text[160];
    int64_t highest = 1;
    double width = (WIDTH - 2.0 * MARGIN) / (double)bins, bottom = top + PANEL - 2 * MARGIN,
           room = PANEL - 4.0 * MARGIN;
    snprintf(text, sizeof text, "%.60s: %lld values, %lld missing, mean %.4g, deviation %.4g", c->name,
             (long long)(s->values + s->missing), (long long)s->missing, s->mean, deviation(s));
    artel__svg_text(out, MARGIN, top + MARGIN, 12, "start", "#222", text);
    for (int64_t i = 0; i < bins; i++)
        if (s->bins[i] > highest) highest = s->bins[i];
    for (int64_t i = 0; i < bins; i++) {
        double height = (double)s->bins[i] / (double)highest * room;
        artel__svg_box(out, MARGIN + (double)i * width, bottom - height, width - 1, height, "#4878a8");
    }
    artel__svg_line(out, MARGIN, bottom, WIDTH - MARGIN, bottom, "#888");
    snprintf(text, sizeof text, "%.6g", s->least);
    artel__svg_text(out, MARGIN, bottom + 14, 11, "start", "#666", text);
    snprintf(text, sizeof text, "%.6g", s->most);
    artel__svg_text(out, WIDTH - MARGIN, bottom + 14, 11, "end", "#666", text);
}

static artel_status say(artel__invocation *call, const artel__rows_column *c, const column_stats *s, bool last)
{
    const artel__data_command *o = call->options;
    if (o->json) return say_json(call->ctx, c, s, o->bins, last);
    say_text(c, s, o->bins);
    return ARTEL_OK;
}

/* Text or JSON on standard output, and the panels. */
static artel_status say_all(artel__invocation *call, const artel__rows *found, int64_t rows, const column_stats *s,
                            artel__text *svg)
{
    const artel__data_command *o = call->options;
    artel_status status = ARTEL_OK;
    artel__show(stdout, o->json ? "{\n" : "%lld rows\n", (long long)rows);
    for (int c = 0; c < found->column_count && status == ARTEL_OK; c++) {
        if (found->columns[c].resized)
            artel__log(call->ctx, ARTEL_LOG_NOTE, "'%s' is resized for this; #size=HxW chooses another size",
                       found->columns[c].name);
        status = say(call, &found->columns[c], &s[c], c + 1 == found->column_count);
        draw(&found->columns[c], &s[c], o->bins, PANEL * (double)c, svg);
    }
    if (o->json) artel__show(stdout, "}\n");
    return status;
}

artel_status artel__data_stats(artel__invocation *call)
{
    const artel__data_command *o = call->options;
    artel__data_opened opened;
    artel__text svg;
    if (o->output) ARTEL_TRY(artel__cli_check_target(call, o->output));
    const char *data = artel__data_specification(call, call->argument[1]);
    if (!data) return ARTEL_ERROR_NO_MEMORY;
    if (o->output) ARTEL_TRY(artel__cli_check_apart(call, "--output", o->output, data));
    if (o->output && !artel__ends_with(o->output, ".svg"))
        return artel__cli_usage(call, "--output", "give a file that ends in .svg");
    ARTEL_TRY(artel__data_open_rows(call, call->argument[1], false, &opened));
    int64_t rows = o->rows > 0 && o->rows < opened.rows.count ? o->rows : opened.rows.count;
    size_t columns = (size_t)opened.rows.column_count;
    void *stats = NULL;
    artel__text_init(&svg, call->ctx);
    artel__svg_begin(&svg, WIDTH, PANEL * (double)columns);
    artel_status status = artel__calloc(call->ctx, columns + 1, sizeof(column_stats), "stats", &stats);
    if (status == ARTEL_OK) status = pass(&opened, rows, 0, stats);
    if (status == ARTEL_OK) status = pass(&opened, rows, o->bins, stats);
    if (status == ARTEL_OK) status = say_all(call, &opened.rows, rows, stats, &svg);
    artel__svg_end(&svg);
    artel__free(call->ctx, stats);
    artel__data_close_rows(call, &opened);
    if (status == ARTEL_OK) status = artel__text_status(&svg);
    if (status == ARTEL_OK && o->output) status = artel__write_file(call->ctx, o->output, svg.data, svg.length);
    artel__text_fini(&svg);
    return status;
}
