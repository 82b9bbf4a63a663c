/* SPDX-License-Identifier: Apache-2.0 */
/* Keras' progress bar.
 *
 * A line is built from pieces that know their width in columns apart from their bytes, because colours take bytes and
 * no columns and the bar's character takes three bytes and one column. How long a step takes is estimated as Keras
 * does: the first step of an epoch is left out once there is a second (it pays for warming up).
 */
#include "observe/progress.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/utf8.h"

enum {
    BAR_WIDTH = 20,
    ROOM_BESIDE_BAR = 12, /* two blanks, the time left, a little of the time a step */
    DEFAULT_COLUMNS = 80
};
static const int64_t REDRAW_NS = 50000000, ROWS_NS = 500000000;
static const char BAR_CELL[] = "\xe2\x94\x81"; /* U+2501 */

struct artel__progress {
    artel_context *ctx;
    artel__progress_options options;
    bool terminal;
    artel__text line, rows;
    int rows_shown;         /* below the line, where the cursor is not */
    int columns_used;       /* of the line being built */
    int64_t steps, current; /* of the running epoch */
    int64_t before;         /* its steps that another run has made */
    int64_t began_at, first_step_at, drawn_at, rows_at;
    bool first_step_known, ever_drawn;
    bool line_open; /* a line stands on the terminal without its newline */
};

static int64_t system_clock(void *user)
{
    (void)user;
    return artel__now_ns();
}

artel_status artel__progress_create(artel_context *ctx, const artel__progress_options *options, artel__progress **out)
{
    void *block;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel__progress), "progress bar", &block));
    artel__progress *progress = block;
    progress->ctx = ctx;
    progress->options = *options;
    if (!progress->options.clock) progress->options.clock = system_clock;
    progress->terminal = options->terminal < 0 ? isatty(options->fd) != 0 : options->terminal > 0;
    artel__text_init(&progress->line, ctx);
    artel__text_init(&progress->rows, ctx);
    *out = progress;
    return ARTEL_OK;
}

/* Sends the line out. A failure is dropped and leaves no error record: the run is worth more than its bar. */
static void send_line(artel__progress *progress)
{
    const char *next = progress->line.data;
    size_t left = artel__text_status(&progress->line) == ARTEL_OK ? progress->line.length : 0;
    while (left > 0) {
        ssize_t n = write(progress->options.fd, next, left);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        next += n;
        left -= (size_t)n;
    }
    artel__text_clear(&progress->line);
    progress->columns_used = 0;
}

void artel__progress_destroy(artel__progress *progress)
{
    if (!progress) return;
    if (progress->line_open) {
        artel__text_clear(&progress->line);
        artel__text_append(&progress->line, progress->rows_shown ? "\n\x1b[J" : "\n");
        send_line(progress);
    }
    artel__text_fini(&progress->line);
    artel__text_fini(&progress->rows);
    artel__free(progress->ctx, progress);
}

/* Columns a piece of UTF-8 takes, one for each character. */
static int columns_of(const char *text)
{
    return (int)artel__utf8_count(text, strlen(text));
}

/* Appends text in a colour (an SGR parameter such as "1" for bold), or plain when it is NULL or not a terminal. */
static void put(artel__progress *progress, const char *colour, const char *text)
{
    if (progress->terminal && colour && !progress->options.plain) {
        artel__text_printf(&progress->line, "\x1b[%sm%s\x1b[0m", colour, text);
    } else {
        artel__text_append(&progress->line, text);
    }
    progress->columns_used += columns_of(text);
}

static int terminal_columns(const artel__progress *progress)
{
    struct winsize size;
    if (progress->options.columns > 0) return progress->options.columns;
    if (ioctl(progress->options.fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    return DEFAULT_COLUMNS;
}

/* "  7/469" with the first number as wide as the second. */
static void put_count(artel__progress *progress, int64_t current)
{
    char digits[24], text[64];
    int width = snprintf(digits, sizeof digits, "%lld", (long long)progress->steps);
    snprintf(text, sizeof text, "%*lld/%lld", width, (long long)current, (long long)progress->steps);
    put(progress, "1", text);
}

/* `width` columns of it. */
static void put_bar(artel__progress *progress, int64_t current, int width)
{
    char done_cells[BAR_WIDTH * sizeof BAR_CELL] = "", rest_cells[BAR_WIDTH * sizeof BAR_CELL] = "";
    int done = (int)(width * ((double)current / (double)progress->steps));
    done = done > width ? width : done < 0 ? 0 : done;
    for (int i = 0; i < done; i++) strcat(done_cells, progress->options.ascii ? "=" : BAR_CELL);
    for (int i = done; i < width; i++) strcat(rest_cells, progress->options.ascii ? "." : BAR_CELL);
    put(progress, NULL, " ");
    if (done > 0) put(progress, "32", done_cells);
    put(progress, "37", rest_cells); /* empty at the end, where Keras too writes a colour around nothing */
}

/* What a narrow terminal leaves of Keras' bar; 0: none. */
static int bar_width(const artel__progress *progress, bool last)
{
    int room =
        progress->terminal && !last ? terminal_columns(progress) - progress->columns_used - ROOM_BESIDE_BAR : BAR_WIDTH;
    return room > BAR_WIDTH ? BAR_WIDTH : room < 4 ? 0 : room;
}

/* Seconds a step takes, after `current` steps. */
static double step_seconds(artel__progress *progress, int64_t current, int64_t now)
{
    double seconds;
    current -= progress->before;
    if (current <= 0) return 0;
    if (progress->first_step_known && current > 1) {
        seconds = (double)(now - progress->first_step_at) * 1e-9 / (double)(current - 1);
    } else {
        seconds = (double)(now - progress->began_at) * 1e-9 / (double)current;
    }
    if (current == 1) {
        progress->first_step_at = now;
        progress->first_step_known = true;
    }
    return seconds;
}

static void put_step_time(artel__progress *progress, double seconds)
{
    char text[48];
    if (seconds >= 1 || seconds == 0) {
        snprintf(text, sizeof text, " %.0fs/step", seconds);
    } else if (seconds >= 1e-3) {
        snprintf(text, sizeof text, " %.0fms/step", seconds * 1e3);
    } else {
        snprintf(text, sizeof text, " %.0fus/step", seconds * 1e6);
    }
    put(progress, NULL, text);
}

/* The time left: "1:02:03" above an hour, "2:03" above a minute, "3s" else. */
static void put_time_left(artel__progress *progress, double seconds)
{
    char text[48];
    long long s = seconds < 1e15 ? (long long)seconds : 0;
    if (seconds > 3600) {
        snprintf(text, sizeof text, "%lld:%02lld:%02lld", s / 3600, s % 3600 / 60, s % 60);
    } else if (seconds > 60) {
        snprintf(text, sizeof text, "%lld:%02lld", s / 60, s % 60);
    } else {
        snprintf(text, sizeof text, "%llds", s);
    }
    put(progress, NULL, " ");
    put(progress, "1", text);
}

static void put_time_taken(artel__progress *progress, int64_t now)
{
    char text[48];
    snprintf(text, sizeof text, "%.0fs", (double)(now - progress->began_at) * 1e-9);
    put(progress, NULL, " ");
    put(progress, "1", text);
}

/* Appends " - name: value" for each that does not pass `columns` (0: no limit). */
static void put_logs(artel__progress *progress, artel__logs logs, int columns)
{
    char number[40], name[256];
    artel__log_group group = {.first = 0};
    while (artel__logs_next(logs, &group)) {
        double sum = 0; /* of a list the mean is shown, as Keras does */
        for (size_t i = 0; i < group.count; i++) sum += logs.item[group.first + i].value;
        artel__clean(group.name, strlen(group.name), name, sizeof name);
        artel__progress_number(number, sizeof number, sum / (double)group.count, progress->options.verbose == 1);
        int width = columns_of(" - : ") + columns_of(name) + columns_of(number);
        if (columns > 0 && progress->columns_used + width >= columns) continue;
        put(progress, NULL, " - ");
        put(progress, NULL, name);
        put(progress, NULL, ": ");
        put(progress, NULL, number);
    }
}

/* The rows under the line, the cursor back in it; `last`: they go. */
static void put_rows(artel__progress *progress, bool last)
{
    int columns = terminal_columns(progress), shown = 0;
    if (last) {
        artel__text_append(&progress->line, progress->rows_shown ? "\n\x1b[J" : "\n");
        progress->rows_shown = 0;
        return;
    }
    for (const char *row = progress->rows.data; *row; shown++) {
        const char *end = strchr(row, '\n');
        int length = (int)(end ? end - row : (ptrdiff_t)strlen(row));
        artel__text_printf(&progress->line, "\n%.*s\x1b[K", length < columns ? length : columns - 1, row);
        row += length + (end != NULL);
    }
    if (progress->rows_shown > shown) artel__text_append(&progress->line, "\n\x1b[J\x1b[A");
    if (shown) artel__text_printf(&progress->line, "\x1b[%dA\r", shown);
    progress->rows_shown = shown;
}

/* The line of verbose 1, in place of the one that is being drawn. */
static void draw(artel__progress *progress, artel__logs logs, int64_t now, bool last)
{
    char unknown[48];
    double seconds = step_seconds(progress, progress->current, now);
    if (!last && (!progress->terminal || (progress->ever_drawn && now - progress->drawn_at < REDRAW_NS))) return;
    artel__text_clear(&progress->line);
    progress->columns_used = 0;
    if (progress->terminal) artel__text_append(&progress->line, "\r");
    if (progress->steps > 0) {
        put_count(progress, progress->current);
        int width = bar_width(progress, last);
        if (width > 0) put_bar(progress, progress->current, width);
    } else {
        snprintf(unknown, sizeof unknown, "%7lld/Unknown", (long long)progress->current);
        put(progress, NULL, unknown);
    }
    if (progress->steps > 0 && !last) {
        put_time_left(progress, seconds * (double)(progress->steps - progress->current));
    } else {
        put_time_taken(progress, now);
    }
    if (last || progress->columns_used + (int)sizeof " 999ms/step" - 1 <= terminal_columns(progress))
        put_step_time(progress, seconds);
    put_logs(progress, logs, last ? 0 : terminal_columns(progress));
    if (progress->terminal) {
        artel__text_append(&progress->line, "\x1b[K");
        put_rows(progress, last);
    } else if (last)
        artel__text_append(&progress->line, "\n");
    send_line(progress);
    progress->drawn_at = now;
    progress->ever_drawn = true;
    progress->line_open = progress->terminal && !last;
}

/* The line of verbose 2. */
static void draw_summary(artel__progress *progress, artel__logs logs, int64_t now)
{
    char text[80];
    if (progress->steps <= 0) return;
    double seconds = step_seconds(progress, progress->current, now);
    snprintf(text, sizeof text, "%lld/%lld - %.0fs -", (long long)progress->current, (long long)progress->steps,
             (double)(now - progress->began_at) * 1e-9);
    artel__text_clear(&progress->line);
    put(progress, NULL, text);
    put_step_time(progress, seconds);
    put_logs(progress, logs, 0);
    artel__text_append(&progress->line, "\n");
    send_line(progress);
}

void artel__progress_begin(artel__progress *progress, int64_t epoch, int64_t epochs, int64_t steps)
{
    artel__progress_go_on(progress, epoch, epochs, steps, 0);
}

void artel__progress_go_on(artel__progress *progress, int64_t epoch, int64_t epochs, int64_t steps, int64_t before)
{
    if (!progress || progress->options.verbose == 0) return;
    artel__progress_pause(progress);
    progress->steps = steps;
    progress->current = progress->before = before;
    progress->first_step_known = false;
    progress->ever_drawn = false;
    progress->began_at = progress->options.clock(progress->options.clock_user);
    if (epochs <= 1) return;
    artel__text_clear(&progress->line);
    artel__text_printf(&progress->line, "Epoch %lld/%lld\n", (long long)epoch + 1, (long long)epochs);
    send_line(progress);
}

void artel__progress_update(artel__progress *progress, int64_t current, artel__logs logs)
{
    if (!progress || progress->options.verbose == 0) return;
    progress->current = current;
    if (progress->options.verbose == 1)
        draw(progress, logs, progress->options.clock(progress->options.clock_user), false);
}

void artel__progress_end(artel__progress *progress, artel__logs logs)
{
    if (!progress || progress->options.verbose == 0) return;
    if (progress->steps <= 0) progress->steps = progress->current;
    if (progress->current < progress->steps) progress->current = progress->steps; /* as Keras does */
    int64_t now = progress->options.clock(progress->options.clock_user);
    if (progress->options.verbose == 1) {
        draw(progress, logs, now, true);
    } else {
        draw_summary(progress, logs, now);
    }
}

bool artel__progress_wants_rows(const artel__progress *progress)
{
    return progress && progress->options.verbose == 1 && progress->terminal &&
           progress->options.clock(progress->options.clock_user) - progress->rows_at >= ROWS_NS;
}

void artel__progress_rows(artel__progress *progress, const char *rows)
{
    if (!progress) return;
    artel__text_clear(&progress->rows);
    artel__text_append(&progress->rows, rows);
    progress->rows_at = progress->options.clock(progress->options.clock_user);
}

void artel__progress_pause(artel__progress *progress)
{
    if (!progress || !progress->line_open) return;
    artel__text_clear(&progress->line);
    artel__text_append(&progress->line, progress->rows_shown ? "\r\x1b[J" : "\r\x1b[K");
    send_line(progress);
    progress->rows_shown = 0;
    progress->line_open = false;
    progress->ever_drawn = false;
}
