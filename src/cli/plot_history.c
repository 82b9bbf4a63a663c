/* SPDX-License-Identifier: Apache-2.0 */
/* Keras' History, as --history writes it: an object from key to a list with a number for each epoch. */
#include <math.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/plot.h"
#include "cli/svg.h"
#include "observe/number.h"

enum {
    WIDTH = 480,
    HEIGHT = 260,
    LEFT = 64,
    MARGIN = 28,
    MOST_POINTS = 1 << 20
};

typedef struct series {
    const char *key;
    double *value;
    int count;
} series;

/* A number; of a list, such as a score by class, the mean. */
static double mean_of(const json_t *item)
{
    double sum = 0;
    size_t index;
    json_t *part;
    if (!json_is_array(item)) return json_is_number(item) ? json_number_value(item) : NAN;
    json_array_foreach(item, index, part) sum += json_is_number(part) ? json_number_value(part) : NAN;
    return sum / (double)json_array_size(item);
}

static artel_status read_series(artel__invocation *call, const char *path, const char *key, const json_t *list,
                                series *out)
{
    *out = (series){.key = key, .count = (int)json_array_size(list)};
    if (!json_is_array(list) || json_array_size(list) > MOST_POINTS)
        return artel__fail(call->ctx, ARTEL_ERROR_INVALID, path, "give a file of --history",
                           "\"%.60s\" is no list of numbers: this is no History", key);
    out->value = artel__arena_alloc(&call->arena, (size_t)out->count + 1, sizeof *out->value);
    if (!out->value) return ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < out->count; i++) {
        const json_t *item = json_array_get(list, (size_t)i);
        out->value[i] = mean_of(item);
    }
    return ARTEL_OK;
}

static bool range_of(const series *s, double *low, double *high)
{
    for (int i = 0; i < s->count; i++) {
        if (!isfinite(s->value[i])) continue;
        if (!(*low <= s->value[i])) *low = s->value[i];
        if (!(*high >= s->value[i])) *high = s->value[i];
    }
    return *low <= *high;
}

static artel_status draw_curve(artel__invocation *call, const series *s, double top, double low, double high,
                               bool partner, artel__text *out)
{
    double *x = artel__arena_alloc(&call->arena, (size_t)s->count + 1, sizeof *x),
           *y = artel__arena_alloc(&call->arena, (size_t)s->count + 1, sizeof *y);
    if (!x || !y) return ARTEL_ERROR_NO_MEMORY;
    double span = high > low ? high - low : 1;
    for (int i = 0; i < s->count; i++) {
        x[i] = LEFT + (s->count > 1 ? (double)i / (s->count - 1) : 0.5) * (WIDTH - LEFT - MARGIN);
        y[i] = top + MARGIN + (1 - (s->value[i] - low) / span) * (HEIGHT - 2 * MARGIN);
    }
    artel__svg_curve(out, x, y, s->count, partner ? "#d93025" : "#1a73e8", partner);
    if (s->count == 1 && isfinite(y[0])) artel__svg_box(out, x[0] - 3, y[0] - 3, 6, 6, partner ? "#d93025" : "#1a73e8");
    return ARTEL_OK;
}

/* One chart: a key, and the same in validation where there is one. */
static artel_status draw_chart(artel__invocation *call, const series *s, const series *partner, const char *axis,
                               double top, artel__text *out)
{
    double low = NAN, high = NAN;
    char number[40], title[160];
    range_of(s, &low, &high);
    if (partner) range_of(partner, &low, &high);
    if (!(low <= high)) low = high = 0;
    artel__svg_line(out, LEFT, top + MARGIN, LEFT, top + HEIGHT - MARGIN, "#9aa0a6");
    artel__svg_line(out, LEFT, top + HEIGHT - MARGIN, WIDTH - MARGIN, top + HEIGHT - MARGIN, "#9aa0a6");
    snprintf(title, sizeof title, "%.60s%s%.60s%s", s->key, partner ? " (blue), " : "", partner ? partner->key : "",
             partner ? " (red)" : "");
    artel__svg_text(out, LEFT, top + MARGIN - 10, 13, "start", "#202124", title);
    artel__svg_text(out, LEFT - 6, top + MARGIN + 4, 10, "end", "#5f6368",
                    artel__progress_number(number, sizeof number, high, true));
    artel__svg_text(out, LEFT - 6, top + HEIGHT - MARGIN, 10, "end", "#5f6368",
                    artel__progress_number(number, sizeof number, low, true));
    snprintf(title, sizeof title, "%s 1 to %d", axis, s->count);
    artel__svg_text(out, WIDTH - MARGIN, top + HEIGHT - MARGIN + 14, 10, "end", "#5f6368", title);
    ARTEL_TRY(draw_curve(call, s, top, low, high, false, out));
    return partner ? draw_curve(call, partner, top, low, high, true, out) : ARTEL_OK;
}

static bool is_partner(const json_t *history, const char *key)
{
    return artel__starts_with(key, "val_") && json_object_get(history, key + 4);
}

static const json_t *partner_of(artel__invocation *call, const json_t *history, const char *key, const char **name)
{
    *name = artel__arena_printf(&call->arena, "val_%s", key);
    return *name ? json_object_get(history, *name) : NULL;
}

static artel_status check(artel__invocation *call, const char *path, const json_t *history, int *charts)
{
    const char *key;
    json_t *value;
    *charts = 0;
    json_object_foreach((json_t *)(uintptr_t)history, key, value) *charts += !is_partner(history, key);
    if (*charts > 0 && *charts < 1000) return ARTEL_OK;
    return artel__fail(call->ctx, ARTEL_ERROR_INVALID, path, "give a file of --history",
                       "it has no list of numbers to draw");
}

artel_status artel__plot_history(artel__invocation *call, const char *path, const json_t *history, const char *axis,
                                 artel__text *out)
{
    const char *key, *name;
    json_t *value;
    int charts;
    double top = 0;
    ARTEL_TRY(check(call, path, history, &charts));
    artel__svg_begin(out, WIDTH, charts * HEIGHT);
    json_object_foreach((json_t *)(uintptr_t)history, key, value)
    {
        series s, other;
        if (is_partner(history, key)) continue;
        ARTEL_TRY(read_series(call, path, key, value, &s));
        const json_t *partner = partner_of(call, history, key, &name);
        if (partner) ARTEL_TRY(read_series(call, path, name, partner, &other));
        ARTEL_TRY(draw_chart(call, &s, partner ? &other : NULL, axis, top, out));
        top += HEIGHT;
    }
    artel__svg_end(out);
    return artel__text_status(out);
}

/* The epochs of a series in at most `columns` characters of eight heights. */
static void show_bars(const series *s, int columns)
{
    static const char *const bars[] = {"\xe2\x96\x81", "\xe2\x96\x82", "\xe2\x96\x83", "\xe2\x96\x84",
                                       "\xe2\x96\x85", "\xe2\x96\x86", "\xe2\x96\x87", "\xe2\x96\x88"};
    double low = NAN, high = NAN;
    if (!range_of(s, &low, &high)) return;
    int shown = s->count < columns ? s->count : columns;
    for (int i = 0; i < shown; i++) {
        double value = s->value[(int64_t)i * s->count / shown];
        int height = isfinite(value) && high > low ? (int)((value - low) / (high - low) * 7.999) : 0;
        artel__show(stdout, "%s", isfinite(value) ? bars[height] : " ");
    }
}

artel_status artel__show_history(artel__invocation *call, const char *path, const json_t *history)
{
    const char *key;
    json_t *value;
    struct winsize size;
    int charts, longest = 0,
                columns = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 40 ? size.ws_col : 80;
    ARTEL_TRY(check(call, path, history, &charts));
    json_object_foreach((json_t *)(uintptr_t)history, key, value) longest =
        (int)strlen(key) > longest ? (int)strlen(key) : longest;
    if (longest > columns / 3) longest = columns / 3;
    json_object_foreach((json_t *)(uintptr_t)history, key, value)
    {
        series s;
        char first[40], last[40];
        ARTEL_TRY(read_series(call, path, key, value, &s));
        if (s.count == 0) continue;
        artel__progress_number(first, sizeof first, s.value[0], true);
        artel__progress_number(last, sizeof last, s.value[s.count - 1], true);
        size_t length = strlen(key), cut = length > (size_t)longest ? length - (size_t)longest : 0;
        artel__show(stdout, "%-*s ", longest, key + cut); /* the end of a long name tells it from others */
        show_bars(&s, columns - longest - 24);
        artel__show(stdout, " %s > %s\n", first, last);
    }
    return ARTEL_OK;
}
