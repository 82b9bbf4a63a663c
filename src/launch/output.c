/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of tasks into the launcher's output.
 *
 * Bytes are searched once: a line within one piece goes to the outlet without a copy between. Memory is bounded: a line
 * of at most ARTEL__LAUNCH_LINE_MAX is held for each stream, and whoever feeds stops at ARTEL__OUTLET_FULL. When
 * memory is out, output is lost and the job goes on; the outlet says so.
 */
#include "launch/output.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"

/* -- outlets -- */

void artel__outlet_init(artel_context *ctx, int fd, bool colour, artel__outlet *out)
{
    *out = (artel__outlet){.fd = fd, .colour = colour};
    artel__text_init(&out->text, ctx);
}

void artel__outlet_fini(artel__outlet *outlet)
{
    artel__text_fini(&outlet->text);
}

bool artel__outlet_pending(const artel__outlet *outlet)
{
    return !outlet->broken && outlet->written < outlet->text.length;
}

bool artel__outlet_full(const artel__outlet *outlet)
{
    return !outlet->broken && outlet->text.length - outlet->written >= ARTEL__OUTLET_FULL;
}

static void drop(artel__outlet *outlet)
{
    artel__text_clear(&outlet->text);
    outlet->written = 0;
}

void artel__outlet_write(artel__outlet *outlet)
{
    if (!artel__outlet_pending(outlet)) return;
    size_t left = outlet->text.length - outlet->written;
    ssize_t done = write(outlet->fd, outlet->text.data + outlet->written, left < PIPE_BUF ? left : PIPE_BUF);
    if (done > 0) outlet->written += (size_t)done;
    if (done < 0 && errno != EINTR && errno != EAGAIN) {
        outlet->broken = true;
        outlet->closed = errno == EPIPE;
    }
    if (!artel__outlet_pending(outlet)) drop(outlet);
}

static void append(artel__outlet *outlet, const char *bytes, size_t count)
{
    if (outlet->broken) return;
    if (outlet->written >= ARTEL__OUTLET_FULL) { /* moves the rest to the front, so that a busy outlet does not grow */
        memmove(outlet->text.data, outlet->text.data + outlet->written, outlet->text.length - outlet->written);
        outlet->text.length -= outlet->written;
        outlet->text.data[outlet->text.length] = '\0';
        outlet->written = 0;
    }
    artel__text_append_bytes(&outlet->text, bytes, count);
    if (outlet->text.failed) outlet->broken = true;
}

/* -- lines -- */

static void put_prefixed(const artel__launch_stream *stream, artel__outlet *outlet, const char *line, size_t length)
{
    static const char *const colours[] = {"36", "33", "35", "32", "34", "31"};
    char prefix[96];
    size_t count = ARTEL__COUNT(colours);
    if (outlet->colour)
        snprintf(prefix, sizeof prefix, "\033[%sm[%s]\033[0m ", colours[(size_t)stream->colour % count], stream->label);
    else
        snprintf(prefix, sizeof prefix, "[%s] ", stream->label);
    append(outlet, prefix, strlen(prefix));
    append(outlet, line, length);
    append(outlet, "\n", 1);
}

/* A JSON object goes out byte by byte as it came; only "task" is added where it is missing. False when it is none. */
static bool put_object(const artel__launch_stream *stream, const char *line, size_t length)
{
    json_t *object = NULL;
    artel_context *ctx = stream->held.ctx;
    size_t start = 0;
    while (start < length && isspace((unsigned char)line[start])) start++;
    while (length > start && isspace((unsigned char)line[length - 1])) length--;
    if (start == length || line[start] != '{' || line[length - 1] != '}') return false;
    if (artel__json_load(ctx, stream->label, line + start, length - start, &object) < 0) {
        artel__operation_begin(ctx);
        return false;
    }
    const json_t *task = json_object_get(object, "task");
    if (json_is_null(task)) {
        artel__text text;
        artel__text_init(&text, ctx);
        if (json_object_set_new(object, "task", json_string(stream->name)) == 0 &&
            artel__json_dump(object, ARTEL__JSON_UTF8, &text) == ARTEL_OK)
            append(stream->out, text.data, text.length);
        artel__text_fini(&text);
    } else if (task) {
        append(stream->out, line + start, length - start);
    } else {
        append(stream->out, line + start, length - start - 1);
        append(stream->out, ", ", json_object_size(object) ? 2 : 0);
        append(stream->out, "\"task\": \"", 9);
        append(stream->out, stream->name, strlen(stream->name));
        append(stream->out, "\"}", 2);
    }
    append(stream->out, "\n", 1);
    json_decref(object);
    return true;
}

static void put_line(artel__launch_stream *stream, const char *line, size_t length)
{
    if (stream->greeting && !stream->greeted && length == strlen(stream->greeting) &&
        memcmp(line, stream->greeting, length) == 0) {
        stream->greeted = true;
        return;
    }
    if (stream->json && put_object(stream, line, length)) return;
    put_prefixed(stream, stream->json ? stream->rest : stream->out, line, length);
}

void artel__launch_stream_init(artel__launch_stream *stream, artel_context *ctx)
{
    artel__text_init(&stream->held, ctx);
}

void artel__launch_stream_fini(artel__launch_stream *stream)
{
    artel__text_fini(&stream->held);
}

static void put_held(artel__launch_stream *stream)
{
    put_line(stream, stream->held.data, stream->held.length);
    if (stream->held.failed) stream->out->broken = true;
    artel__text_clear(&stream->held);
}

void artel__launch_stream_take(artel__launch_stream *stream, const char *bytes, size_t count)
{
    while (count > 0) {
        const char *end = memchr(bytes, '\n', count);
        size_t length = end ? (size_t)(end - bytes) : count, room = ARTEL__LAUNCH_LINE_MAX - stream->held.length;
        bool cut = length > room;
        if (cut) length = room;
        if (end && !cut && stream->held.length == 0) {
            put_line(stream, bytes, length);
        } else {
            artel__text_append_bytes(&stream->held, bytes, length);
            if (end || cut) put_held(stream);
        }
        size_t used = length + (end && !cut ? 1 : 0);
        bytes += used;
        count -= used;
    }
}

void artel__launch_stream_end(artel__launch_stream *stream)
{
    if (stream->held.length > 0) put_held(stream);
}
