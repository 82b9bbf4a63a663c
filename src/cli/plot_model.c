/* SPDX-License-Identifier: Apache-2.0 */
/* A model as boxes, one for each call of a layer, in rows by the longest way from an input, as Keras' plot_model draws
 * it. */
#include <string.h>

#include "base/names.h"
#include "base/text.h"
#include "cli/plot.h"
#include "cli/svg.h"
#include "keras/model.h"
#include "keras/summary.h"

enum {
    BOX_WIDTH = 190,
    BOX_HEIGHT = 44,
    GAP_X = 24,
    GAP_Y = 30,
    MARGIN = 20
};

typedef struct place {
    int level, column;
    double x, y;
} place;

typedef struct drawing {
    const artel__model *nn;
    const artel__model_summary *summary;
    artel__names rows; /* of the summary, by the layer's name */
    place *at;         /* by site */
    int *in_level;     /* boxes of a level */
    int levels, widest;
} drawing;

static void layer_out(drawing *d)
{
    for (int i = 0; i < d->nn->sites; i++) {
        const artel__model_call_site *site = &d->nn->site[i];
        int level = 0;
        for (int k = 0; k < site->inputs; k++) {
            int above = d->at[site->in[k].call].level + 1;
            if (above > level) level = above;
        }
        d->at[i].level = level;
        d->at[i].column = d->in_level[level]++;
        if (level >= d->levels) d->levels = level + 1;
        if (d->in_level[level] > d->widest) d->widest = d->in_level[level];
    }
    double width = d->widest * (BOX_WIDTH + GAP_X) - GAP_X;
    for (int i = 0; i < d->nn->sites; i++) {
        place *p = &d->at[i];
        double row = d->in_level[p->level] * (BOX_WIDTH + GAP_X) - GAP_X;
        p->x = MARGIN + (width - row) / 2 + p->column * (BOX_WIDTH + GAP_X);
        p->y = MARGIN + p->level * (BOX_HEIGHT + GAP_Y);
    }
}

static const char *colour_of(const artel__layer_row *row)
{
    if (strcmp(row->class_name, "InputLayer") == 0) return "#e8f0fe";
    return !row->has_weights ? "#f4f4f4" : row->trainable ? "#e6f4ea" : "#fce8e6";
}

static void draw_box(const drawing *d, int i, artel__text *out)
{
    const artel__model_call_site *site = &d->nn->site[i];
    const char *name = site->layer ? site->layer->name : d->nn->input[site->input].name;
    const int *number = artel__names_find(&d->rows, name);
    const artel__layer_row none = {.name = name, .class_name = "", .output_shape = ""},
                           *row = number ? &d->summary->row[*number] : &none;
    char line[160];
    place p = d->at[i];
    artel__svg_box(out, p.x, p.y, BOX_WIDTH, BOX_HEIGHT, colour_of(row));
    snprintf(line, sizeof line, "%.40s%s%.40s%s", row->name, row->class_name[0] ? " (" : "", row->class_name,
             row->class_name[0] ? ")" : "");
    artel__svg_text(out, p.x + BOX_WIDTH / 2.0, p.y + 18, strlen(line) > 30 ? 9 : 12, "middle", "#202124", line);
    snprintf(line, sizeof line, "%.60s%s", row->output_shape, row->params ? ", " : "");
    if (row->params)
        snprintf(line + strlen(line), sizeof line - strlen(line), "%lld parameters", (long long)row->params);
    artel__svg_text(out, p.x + BOX_WIDTH / 2.0, p.y + 34, strlen(line) > 34 ? 8 : 10, "middle", "#5f6368", line);
}

static void draw(const drawing *d, artel__text *out)
{
    artel__svg_begin(out, 2 * MARGIN + d->widest * (BOX_WIDTH + GAP_X) - GAP_X,
                     2 * MARGIN + d->levels * (BOX_HEIGHT + GAP_Y) - GAP_Y);
    for (int i = 0; i < d->nn->sites; i++) {
        for (int k = 0; k < d->nn->site[i].inputs; k++) {
            place from = d->at[d->nn->site[i].in[k].call], to = d->at[i];
            artel__svg_line(out, from.x + BOX_WIDTH / 2.0, from.y + BOX_HEIGHT, to.x + BOX_WIDTH / 2.0, to.y,
                            "#667788");
        }
    }
    for (int i = 0; i < d->nn->sites; i++) draw_box(d, i, out);
    artel__svg_end(out);
}

static artel_status make(artel__invocation *call, const artel_model *model, const artel__model_summary *summary,
                         artel__text *out)
{
    drawing d = {.nn = model->nn, .summary = summary, .rows = {.arena = &call->arena}};
    d.at = artel__arena_alloc(&call->arena, (size_t)d.nn->sites + 1, sizeof *d.at);
    d.in_level = artel__arena_alloc(&call->arena, (size_t)d.nn->sites + 1, sizeof *d.in_level);
    ARTEL_TRY(artel__arena_status(&call->arena));
    for (int i = 0; i < summary->rows; i++) ARTEL_TRY(artel__names_set(&d.rows, summary->row[i].name, i));
    layer_out(&d);
    draw(&d, out);
    return artel__text_status(out);
}

artel_status artel__plot_model(artel__invocation *call, const char *path, artel__text *out)
{
    artel_model *model;
    artel__model_summary summary;
    ARTEL_TRY(artel__cli_load_model(call, path, &model));
    artel_status status = artel__keras_summary(model, false, &summary);
    if (status == ARTEL_OK) {
        status = make(call, model, &summary, out);
        artel__keras_summary_fini(&summary);
    }
    artel_model_destroy(model);
    return status;
}
