/* SPDX-License-Identifier: Apache-2.0 */
/* A confusion matrix as a table, as a drawing, and its report in the terminal, in the order that scikit-learn made
 * usual. */
#include <string.h>

#include "base/file.h"
#include "cli/confusion.h"
#include "cli/svg.h"
#include "cli/table_file.h"

enum {
    CELL_HEIGHT = 26,
    LETTER = 7, /* width, about */
    MARGIN = 24,
    MOST_DRAWN = 200
};

static int longest_name(const artel__confusion *c, int at_most)
{
    int longest = 1;
    for (int64_t i = 0; i < c->classes; i++) {
        int length = (int)strlen(c->name[i]);
        if (length > longest) longest = length;
    }
    return longest < at_most ? longest : at_most;
}

/* Means over classes, plain and by rows. */
typedef struct means {
    artel__class_report macro, weighted;
    double accuracy;
} means;

static means means_of(const artel__confusion *c)
{
    means m = {.accuracy = 0};
    int64_t rows = 0, right = 0;
    for (int64_t k = 0; k < c->classes; k++) rows += artel__class_report_of(c, k).rows;
    for (int64_t k = 0; k < c->classes; k++) {
        artel__class_report r = artel__class_report_of(c, k);
        double part = rows ? (double)r.rows / (double)rows : 0, each = 1.0 / (double)c->classes;
        right += r.right;
        m.macro.precision += r.precision * each;
        m.macro.recall += r.recall * each;
        m.macro.f1 += r.f1 * each;
        m.weighted.precision += r.precision * part;
        m.weighted.recall += r.recall * part;
        m.weighted.f1 += r.f1 * part;
    }
    m.macro.rows = m.weighted.rows = rows;
    m.accuracy = rows ? (double)right / (double)rows : 0;
    return m;
}

/* -- terminal -- */

static void show_line(int width, const char *name, const artel__class_report *r)
{
    artel__show(stdout, "%-*.*s  %9.4f  %6.4f  %6.4f  %lld\n", width, width, name, r->precision, r->recall, r->f1,
                (long long)r->rows);
}

void artel__confusion_show(const artel__confusion *c)
{
    int width = longest_name(c, 40);
    means m = means_of(c);
    if (width < 8) width = 8;
    artel__show(stdout, "\n%-*s  precision  recall      f1  rows\n", width, "class");
    for (int64_t k = 0; k < c->classes; k++) {
        artel__class_report r = artel__class_report_of(c, k);
        show_line(width, c->name[k], &r);
    }
    show_line(width, "mean", &m.macro);
    show_line(width, "by rows", &m.weighted);
    if (c->left_out) artel__show(stdout, "%lld targets of no class were left out\n", (long long)c->left_out);
}

/* -- table -- */

static void write_table(const artel__confusion *c, artel__text *out)
{
    artel__text_append(out, "true");
    for (int64_t k = 0; k < c->classes; k++) {
        artel__text_append(out, ",");
        artel__cli_put_field(out, c->name[k]);
    }
    artel__text_append(out, ",precision,recall,f1,rows\n");
    for (int64_t k = 0; k < c->classes; k++) {
        artel__class_report r = artel__class_report_of(c, k);
        artel__cli_put_field(out, c->name[k]);
        for (int64_t i = 0; i < c->classes; i++)
            artel__text_printf(out, ",%lld", (long long)c->count[k * c->classes + i]);
        artel__text_printf(out, ",%.9g,%.9g,%.9g,%lld\n", r.precision, r.recall, r.f1, (long long)r.rows);
    }
}

/* -- drawing -- */

typedef struct drawing {
    const artel__confusion *c;
    artel__text *out;
    double left, top, cell; /* of the first cell; its width */
    int letters;
} drawing;

static void put_name(const drawing *d, double x, double y, const char *anchor, const char *name)
{
    char text[32];
    snprintf(text, sizeof text, "%.*s", d->letters, name);
    artel__svg_text(d->out, x, y, 11, anchor, "#202124", text);
}

/* A cell is the bluer, the larger its share of the row is. */
static void draw_cell(const drawing *d, int64_t truth, int64_t found, int64_t rows)
{
    char fill[16], number[24];
    int64_t count = d->c->count[truth * d->c->classes + found];
    double part = rows ? (double)count / (double)rows : 0, x = d->left + (double)found * d->cell,
           y = d->top + (double)truth * CELL_HEIGHT;
    snprintf(fill, sizeof fill, "#%02x%02x%02x", (int)(255 - 229 * part), (int)(255 - 140 * part),
             (int)(255 - 23 * part));
    artel__svg_box(d->out, x, y, d->cell, CELL_HEIGHT, fill);
    if (!count) return;
    snprintf(number, sizeof number, "%lld", (long long)count);
    artel__svg_text(d->out, x + d->cell / 2, y + 17, 11, "middle", part > 0.5 ? "#ffffff" : "#202124", number);
}

static void draw_row(const drawing *d, int64_t k)
{
    char text[64];
    artel__class_report r = artel__class_report_of(d->c, k);
    double y = d->top + (double)k * CELL_HEIGHT + 17;
    put_name(d, d->left - 6, y, "end", d->c->name[k]);
    for (int64_t i = 0; i < d->c->classes; i++) draw_cell(d, k, i, r.rows);
    snprintf(text, sizeof text, "%.3f   %.3f   %.3f   %lld", r.precision, r.recall, r.f1, (long long)r.rows);
    artel__svg_text(d->out, d->left + (double)d->c->classes * d->cell + 10, y, 11, "start", "#5f6368", text);
}

static void draw(const artel__confusion *c, artel__text *out)
{
    drawing d = {.c = c, .out = out, .letters = longest_name(c, 16)};
    char text[80];
    d.cell = d.letters * LETTER + 12 > 44 ? d.letters * LETTER + 12 : 44;
    d.left = MARGIN + d.letters * LETTER + 10;
    d.top = 2 * MARGIN + 24;
    double right = d.left + (double)c->classes * d.cell, bottom = d.top + (double)c->classes * CELL_HEIGHT;
    artel__svg_begin(out, right + 220, bottom + MARGIN);
    snprintf(text, sizeof text, "rows: true class, columns: predicted class; accuracy %.4f", means_of(c).accuracy);
    artel__svg_text(out, MARGIN, MARGIN, 13, "start", "#202124", text);
    for (int64_t k = 0; k < c->classes; k++)
        put_name(&d, d.left + ((double)k + 0.5) * d.cell, d.top - 8, "middle", c->name[k]);
    artel__svg_text(out, right + 10, d.top - 8, 11, "start", "#5f6368", "precision, recall, f1, rows");
    for (int64_t k = 0; k < c->classes; k++) draw_row(&d, k);
    artel__svg_end(out);
}

artel_status artel__confusion_write(artel__invocation *call, const artel__confusion *c, const char *path)
{
    artel__text text;
    bool table = artel__ends_with(path, ".csv");
    if (!table && c->classes > MOST_DRAWN)
        return artel__fail(call->ctx, ARTEL_ERROR_INVALID, path, "name a file that ends in .csv",
                           "%lld classes are too many to draw", (long long)c->classes);
    artel__text_init(&text, call->ctx);
    if (table)
        write_table(c, &text);
    else
        draw(c, &text);
    artel_status status = artel__text_status(&text);
    if (status == ARTEL_OK) status = artel__write_file(call->ctx, path, text.data, text.length);
    artel__text_fini(&text);
    return status;
}
