/* SPDX-License-Identifier: Apache-2.0 */
/* Keras' summary table.
 *
 * Keras asks for columns at given fractions of the line; the renderer then finds that padding and borders do not fit
 * any more and takes the excess from the columns in equal parts, rounding halves to even. That is why no column is as
 * wide as its fraction says, and it is followed here to the character. Words too long for a column are cut with an
 * ellipsis in the table and broken in the lines around it.
 */
#include "observe/table.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/utf8.h"

enum {
    MAX_COLUMNS = 5,
    MIN_TERMINAL = 40,
    DEFAULT_TERMINAL = 80
};

typedef enum align {
    ALIGN_LEFT,
    ALIGN_CENTER,
    ALIGN_RIGHT
} align;

/* The pieces of a horizontal line or of a row of cells. */
typedef struct border {
    const char *left, *fill, *middle, *right;
} border;

static const border border_top = {"┏", "━", "┳", "┓"};
static const border border_head = {"┡", "━", "╇", "┩"};
static const border border_between = {"├", "─", "┼", "┤"};
static const border border_bottom = {"└", "─", "┴", "┘"};
static const border cells_head = {"┃", " ", "┃", "┃"};
static const border cells_body = {"│", " ", "│", "│"};

/* A line of a cell: at most as many columns as there is room for. */
typedef struct cell_line {
    const char *text;
    size_t bytes;
    int columns;
    bool cut; /* an ellipsis follows, counted in columns */
} cell_line;

typedef struct cell {
    cell_line *lines;
    int line_count;
} cell;

typedef struct layout {
    artel__arena *arena;
    artel__text *out;
    int terminal, column_count;
    int width[MAX_COLUMNS]; /* with a blank on either side, without borders */
    align align[MAX_COLUMNS];
    const char *header[MAX_COLUMNS];
} layout;

char *artel__readable_bytes(char *buffer, size_t size, double bytes)
{
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB", "PB"};
    size_t unit = 0;
    /* Keras divides once more than it has units; what that prints is kept. */
    while (unit < ARTEL__COUNT(units) && bytes / 1024 >= 1) {
        bytes /= 1024;
        unit++;
    }
    snprintf(buffer, size, "%.2f %s", bytes, units[unit < ARTEL__COUNT(units) ? unit : ARTEL__COUNT(units) - 1]);
    return buffer;
}

char *artel__grouped_digits(char *buffer, size_t size, int64_t value)
{
    char digits[24], grouped[40];
    int count = snprintf(digits, sizeof digits, "%lld", (long long)value), at = 0;
    for (int i = 0; i < count; i++) {
        bool after_digit = i > 0 && digits[i - 1] != '-';
        if (after_digit && (count - i) % 3 == 0) grouped[at++] = ',';
        grouped[at++] = digits[i];
    }
    grouped[at] = '\0';
    snprintf(buffer, size, "%s", grouped);
    return buffer;
}

static bool is_blank(char c)
{
    return (unsigned char)c <= ' ' && c != '\0';
}

/* The byte after `columns` characters, or the end. */
static const char *skip_columns(const char *text, const char *end, int columns)
{
    while (text < end && columns-- > 0) {
        do text++;
        while (text < end && !artel__utf8_begins(*text));
    }
    return text;
}

static int count_columns(const char *text, const char *end)
{
    return (int)artel__utf8_count(text, (size_t)(end - text));
}

static const char *without_trailing_blanks(const char *text, const char *end)
{
    while (end > text && is_blank(end[-1])) end--;
    return end;
}

/* One word with the blanks before and after it. */
static const char *word_end(const char *text)
{
    while (is_blank(*text)) text++;
    while (*text && !is_blank(*text)) text++;
    while (is_blank(*text)) text++;
    return text;
}

/* Where to break a text, in bytes from its start; room for one entry a character. Returns how many. */
static int find_breaks(const char *text, int width, bool fold, size_t *breaks)
{
    int count = 0, offset = 0;
    for (const char *word = text; *word;) {
        const char *end = word_end(word), *solid = without_trailing_blanks(word, end);
        int length = count_columns(word, solid);
        if (width - offset >= length) {
            offset += count_columns(word, end);
        } else if (length > width && fold) {
            for (const char *piece = word; piece < end;) {
                const char *next = skip_columns(piece, end, width);
                if (piece > text) breaks[count++] = (size_t)(piece - text);
                offset = count_columns(piece, next);
                piece = next;
            }
        } else if (length > width || offset > 0) {
            if (word > text) breaks[count++] = (size_t)(word - text);
            offset = count_columns(word, end);
        }
        word = end;
    }
    return count;
}

/* Cuts one line to the width. A line of a cell loses the blanks at its end, another one those that do not fit. */
static cell_line fit_line(const char *text, const char *end, int width, bool of_cell)
{
    if (of_cell || count_columns(text, end) > width) end = without_trailing_blanks(text, end);
    int columns = count_columns(text, end);
    if (columns <= width) return (cell_line){text, (size_t)(end - text), columns, false};
    end = skip_columns(text, end, width - 1);
    return (cell_line){text, (size_t)(end - text), width, true};
}

/* Breaks a text into lines of at most `width` columns. */
static artel_status wrap(artel__arena *arena, const char *text, int width, bool fold, cell *out)
{
    size_t length = strlen(text);
    size_t *breaks = artel__arena_alloc(arena, length + 2, sizeof *breaks);
    cell_line *lines = artel__arena_alloc(arena, length + 2, sizeof *lines);
    if (!breaks || !lines) return artel__arena_status(arena);
    int count = find_breaks(text, width, fold, breaks);
    breaks[count] = length;
    for (int i = 0; i <= count; i++)
        lines[i] = fit_line(text + (i ? breaks[i - 1] : 0), text + breaks[i], width, !fold);
    out->lines = lines;
    out->line_count = count + 1;
    return ARTEL_OK;
}

static void put_repeated(artel__text *out, const char *piece, int count)
{
    while (count-- > 0) artel__text_append(out, piece);
}

static void put_border(const layout *l, const border *b)
{
    artel__text_append(l->out, b->left);
    for (int c = 0; c < l->column_count; c++) {
        if (c > 0) artel__text_append(l->out, b->middle);
        put_repeated(l->out, b->fill, l->width[c]);
    }
    artel__text_append(l->out, b->right);
    artel__text_append(l->out, "\n");
}

static void put_line(artel__text *out, const cell_line *line, align how, int width)
{
    int spare = width - line->columns;
    int before = how == ALIGN_RIGHT ? spare : how == ALIGN_CENTER ? spare / 2 : 0;
    put_repeated(out, " ", before);
    for (size_t i = 0; i < line->bytes; i++) {
        artel__text_append_bytes(out, is_blank(line->text[i]) ? " " : &line->text[i], 1);
    }
    if (line->cut) artel__text_append(out, "…");
    put_repeated(out, " ", spare - before);
}

/* A row of wrapped cells; those with fewer lines begin at the top, or end at the bottom in the header. */
static artel_status put_cells(const layout *l, const border *b, const char *const *texts, bool header)
{
    cell cells[MAX_COLUMNS] = {{NULL, 0}};
    int height = 1;
    for (int c = 0; c < l->column_count; c++) {
        ARTEL_TRY(wrap(l->arena, texts[c], l->width[c] - 2, false, &cells[c]));
        if (cells[c].line_count > height) height = cells[c].line_count;
    }
    for (int y = 0; y < height; y++) {
        for (int c = 0; c < l->column_count; c++) {
            static const cell_line empty = {"", 0, 0, false};
            int line = header ? y - (height - cells[c].line_count) : y;
            artel__text_append(l->out, c == 0 ? b->left : b->middle);
            artel__text_append(l->out, " ");
            put_line(l->out, line >= 0 && line < cells[c].line_count ? &cells[c].lines[line] : &empty, l->align[c],
                     l->width[c] - 2);
            artel__text_append(l->out, " ");
        }
        artel__text_append(l->out, b->right);
        artel__text_append(l->out, "\n");
    }
    return ARTEL_OK;
}

/* A line of text outside the table. */
static artel_status put_text(const layout *l, const char *text)
{
    cell paragraph = {NULL, 0};
    ARTEL_TRY(wrap(l->arena, text, l->terminal, true, &paragraph));
    for (int i = 0; i < paragraph.line_count; i++) {
        put_line(l->out, &paragraph.lines[i], ALIGN_LEFT, paragraph.lines[i].columns);
        artel__text_append(l->out, "\n");
    }
    return ARTEL_OK;
}

/* remaining / parts, halves to even. */
static int divide_to_even(int remaining, int parts)
{
    int quotient = remaining / parts, twice = 2 * (remaining % parts);
    return quotient + (twice > parts || (twice == parts && quotient % 2 == 1));
}

static void set_up_columns(layout *l, const artel__summary *summary)
{
    static const double plain[] = {0.45, 0.80, 1.0}, connected[] = {0.3, 0.56, 0.74, 1.0};
    static const char *const names[] = {"Layer (type)", "Output Shape", "Param #", "Connected to"};
    static const align aligns[] = {ALIGN_LEFT, ALIGN_LEFT, ALIGN_RIGHT, ALIGN_LEFT};
    const double *positions = summary->connections ? connected : plain;
    int count = summary->connections ? 4 : 3;
    int line = (summary->connections ? 108 : 88) + (summary->show_trainable ? 12 : 0);
    if (line > l->terminal - 4) line = l->terminal - 4;
    int used = 0;
    for (int c = 0; c < count + summary->show_trainable; c++) {
        double position = c == count ? 1.0 : summary->show_trainable ? positions[c] * 0.90 : positions[c];
        int width = (int)(position * line) - used;
        used += width;
        l->width[c] = width + 2;
        l->header[c] = c < count ? names[c] : "Trainable";
        l->align[c] = c < count ? aligns[c] : ALIGN_CENTER;
    }
    l->column_count = count + summary->show_trainable;
    /* Two blanks a column and the borders have to come out of the same line. */
    int excess = 3 * l->column_count + 1;
    for (int c = 0; c < l->column_count; c++) {
        int share = divide_to_even(excess, l->column_count - c);
        excess -= share;
        l->width[c] -= share;
        if (l->width[c] < 3) l->width[c] = 3;
    }
}

static artel_status put_row(const layout *l, const artel__summary *summary, const artel__summary_row *row)
{
    char params[32], count[32];
    const char *texts[MAX_COLUMNS];
    int c = 0;
    artel__grouped_digits(count, sizeof count, row->params);
    snprintf(params, sizeof params, "%s", row->unbuilt ? "0 (unbuilt)" : count);
    texts[c++] = artel__arena_printf(l->arena, "%*s%s%s (%s)", 3 * row->depth, "", row->depth > 0 ? "└ " : "",
                                     row->name, row->class_name);
    texts[c++] = row->output_shape;
    texts[c++] = params;
    if (summary->connections) texts[c++] = row->connected_to && row->connected_to[0] ? row->connected_to : "-";
    const char trainable[2] = {row->trainable ? row->trainable : '-', '\0'};
    if (summary->show_trainable) texts[c++] = trainable;
    ARTEL_TRY(artel__arena_status(l->arena));
    return put_cells(l, &cells_body, texts, false);
}

static artel_status put_total(const layout *l, const char *name, artel__summary_total total)
{
    char line[128], count[32], bytes[32];
    artel__grouped_digits(count, sizeof count, total.count);
    artel__readable_bytes(bytes, sizeof bytes, total.bytes);
    snprintf(line, sizeof line, " %s: %s (%s)", name, count, bytes);
    return put_text(l, line);
}

static artel_status put_totals(const layout *l, const artel__summary *summary)
{
    artel__summary_total all = {summary->trainable.count + summary->non_trainable.count,
                                summary->trainable.bytes + summary->non_trainable.bytes};
    if (summary->has_optimizer) {
        all.count += summary->optimizer.count;
        all.bytes += summary->optimizer.bytes;
    }
    ARTEL_TRY(put_total(l, "Total params", all));
    ARTEL_TRY(put_total(l, "Trainable params", summary->trainable));
    ARTEL_TRY(put_total(l, "Non-trainable params", summary->non_trainable));
    return summary->has_optimizer ? put_total(l, "Optimizer params", summary->optimizer) : ARTEL_OK;
}

static artel_status put_summary(const layout *l, const artel__summary *summary)
{
    const char *title = artel__arena_printf(l->arena, "Model: \"%s\"", summary->model_name);
    if (!title) return artel__arena_status(l->arena);
    ARTEL_TRY(put_text(l, title));
    put_border(l, &border_top);
    ARTEL_TRY(put_cells(l, &cells_head, l->header, true));
    put_border(l, &border_head);
    for (size_t i = 0; i < summary->row_count; i++) {
        if (i > 0) put_border(l, &border_between);
        ARTEL_TRY(put_row(l, summary, &summary->rows[i]));
    }
    put_border(l, &border_bottom);
    ARTEL_TRY(put_totals(l, summary));
    return artel__text_status(l->out);
}

artel_status artel__summary_render(artel_context *ctx, const artel__summary *summary, artel__text *out)
{
    artel__arena arena;
    layout l = {.arena = &arena, .out = out, .terminal = summary->columns > 0 ? summary->columns : DEFAULT_TERMINAL};
    if (l.terminal < MIN_TERMINAL) l.terminal = MIN_TERMINAL;
    artel__arena_init(&arena, ctx);
    set_up_columns(&l, summary);
    artel_status status = put_summary(&l, summary);
    artel__arena_fini(&arena);
    return status;
}
