/* SPDX-License-Identifier: Apache-2.0 */
/* TensorBoard event files, encoded by hand.
 *
 * A message is built from the inside out: tensor and metadata go into `value`, that into `summary`, that into
 * `event`, and the frame of it to `pending`. The four buffers live as long as the writer, so a scalar costs no heap
 * call once they have grown. protobuf's rules in use: a field is (number << 3 | wire type) and then a varint (0),
 * eight bytes (1) or a length and bytes (2); fields that hold their default are left out, as TensorFlow does.
 */
#include "observe/tfevents.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/protobuf.h"
#include "observe/stream.h"
#include "observe/tfevents_fields.h"
#include "tensor/shape.h"

enum {
    FLUSH_BYTES = 64 * 1024,
    SEQUENCE_TRIES = 1000,
    CHUNK = 512
};
static const int64_t FLUSH_NS = 2000000000;

enum {
    WIRE_FIXED64 = 1
};

struct artel__tfevents {
    artel_context *ctx;
    artel__stream stream;
    artel__text tensor, value, summary, event; /* being built */
    artel__text pending;                       /* framed, not yet written */
    int64_t flushed_at;                        /* CLOCK_MONOTONIC */
    artel_status status;                       /* of the first failure */
};

/* What the summary of one point says beside its tensor. */
typedef struct point {
    const char *tag, *plugin, *content;
    int64_t step;
} point;

static void store_le(uint8_t *out, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) out[i] = (uint8_t)(value >> (8 * i));
}

static void put_double(artel__text *out, unsigned field, double value)
{
    uint64_t bits;
    uint8_t bytes[8];
    memcpy(&bits, &value, sizeof bits);
    store_le(bytes, bits, 8);
    artel__put_varint(out, field << 3 | WIRE_FIXED64);
    artel__text_append_bytes(out, bytes, 8);
}

/* Remembers the first failure, so that later calls answer the same. */
static artel_status settle(artel__tfevents *events, artel_status status)
{
    if (status < 0 && events->status == ARTEL_OK) events->status = status;
    return status;
}

/* Frames the finished event and lets it go when enough has gathered. */
static artel_status emit(artel__tfevents *events)
{
    artel__text *texts[] = {&events->tensor, &events->value, &events->summary, &events->event};
    for (size_t i = 0; i < ARTEL__COUNT(texts); i++) {
        artel_status built = artel__text_status(texts[i]);
        if (built < 0) return settle(events, built);
    }
    uint8_t head[12], tail[4];
    store_le(head, events->event.length, 8);
    store_le(head + 8, artel__crc32c_mask(artel__crc32c(0, head, 8)), 4);
    store_le(tail, artel__crc32c_mask(artel__crc32c(0, events->event.data, events->event.length)), 4);
    artel__text_append_bytes(&events->pending, head, sizeof head);
    artel__text_append_text(&events->pending, &events->event);
    artel__text_append_bytes(&events->pending, tail, sizeof tail);
    artel_status status = artel__text_status(&events->pending);
    if (status < 0) return settle(events, status);
    if (events->pending.length < FLUSH_BYTES && artel__now_ns() - events->flushed_at < FLUSH_NS) return ARTEL_OK;
    return artel__tfevents_flush(events);
}

static void begin_event(artel__tfevents *events, int64_t step)
{
    artel__text_clear(&events->event);
    put_double(&events->event, ARTEL__EVENT_WALL_TIME, artel__wall_seconds());
    if (step != 0) artel__put_integer(&events->event, ARTEL__EVENT_STEP, (uint64_t)step);
}

/* Wraps events->tensor into summary and event. */
static artel_status emit_point(artel__tfevents *events, const point *p)
{
    artel__text *value = &events->value, *summary = &events->summary;
    artel__text_clear(value);
    artel__put_string(value, ARTEL__VALUE_TAG, p->tag);
    artel__put_message(value, ARTEL__VALUE_TENSOR, &events->tensor);
    artel__text_clear(summary); /* first holds the plug-in's data, then its wrapper's length is known */
    artel__put_string(summary, ARTEL__PLUGIN_NAME, p->plugin);
    if (p->content[0]) artel__put_string(summary, ARTEL__PLUGIN_CONTENT, p->content);
    begin_event(events, p->step);
    artel__text_clear(&events->tensor);
    artel__put_message(&events->tensor, ARTEL__METADATA_PLUGIN_DATA, summary);
    artel__put_message(value, ARTEL__VALUE_METADATA, &events->tensor);
    artel__text_clear(summary);
    artel__put_message(summary, ARTEL__SUMMARY_VALUE, value);
    artel__put_message(&events->event, ARTEL__EVENT_SUMMARY, summary);
    return emit(events);
}

static artel_status emit_first(artel__tfevents *events)
{
    begin_event(events, 0);
    artel__put_string(&events->event, ARTEL__EVENT_FILE_VERSION, "brain.Event:2");
    artel__text_clear(&events->summary);
    artel__put_string(&events->summary, ARTEL__SOURCE_WRITER, "artel");
    artel__put_message(&events->event, ARTEL__EVENT_SOURCE_METADATA, &events->summary);
    ARTEL_TRY(emit(events));
    return artel__tfevents_flush(events);
}

/* Opens the first file name that is free. */
static artel_status open_file(artel_context *ctx, const char *directory, int sequence, artel__stream *out)
{
    char host[256] = "localhost";
    if (gethostname(host, sizeof host - 1) != 0 || !host[0]) snprintf(host, sizeof host, "localhost");
    artel__text path;
    artel__text_init(&path, ctx);
    artel_status status = ARTEL_AGAIN;
    for (int n = sequence; n < sequence + SEQUENCE_TRIES && status == ARTEL_AGAIN; n++) {
        artel__text_clear(&path);
        artel__text_printf(&path, "%s/events.out.tfevents.%010lld.%s.%ld.%d.v2", directory,
                           (long long)artel__wall_seconds(), host, (long)getpid(), n);
        status = artel__text_status(&path);
        if (status == ARTEL_OK) status = artel__stream_open(ctx, path.data, ARTEL__STREAM_NEW, out);
    }
    if (status == ARTEL_AGAIN) {
        status = artel__fail(ctx, ARTEL_ERROR_IO, directory, "give another folder",
                             "%d event files of this second exist already", SEQUENCE_TRIES);
    }
    artel__text_fini(&path);
    return status;
}

artel_status artel__tfevents_create(artel_context *ctx, const char *directory, int sequence, artel__tfevents **out)
{
    void *block;
    ARTEL_TRY(artel__make_directory(ctx, directory));
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel__tfevents), "event file", &block));
    artel__tfevents *events = block;
    events->ctx = ctx;
    events->flushed_at = artel__now_ns();
    artel__text *texts[] = {&events->tensor, &events->value, &events->summary, &events->event, &events->pending};
    for (size_t i = 0; i < ARTEL__COUNT(texts); i++) artel__text_init(texts[i], ctx);
    artel_status status = open_file(ctx, directory, sequence, &events->stream);
    if (status == ARTEL_OK) status = emit_first(events);
    if (status < 0) {
        (void)artel__tfevents_destroy(events);
        return status;
    }
    *out = events;
    return ARTEL_OK;
}

artel_status artel__tfevents_destroy(artel__tfevents *events)
{
    if (!events) return ARTEL_OK;
    artel_status status = artel__tfevents_flush(events);
    artel_status closed = artel__stream_close(&events->stream);
    artel__text *texts[] = {&events->tensor, &events->value, &events->summary, &events->event, &events->pending};
    for (size_t i = 0; i < ARTEL__COUNT(texts); i++) artel__text_fini(texts[i]);
    artel__free(events->ctx, events);
    return status < 0 ? status : closed;
}

const char *artel__tfevents_path(const artel__tfevents *events)
{
    return events->stream.path;
}

artel_status artel__tfevents_flush(artel__tfevents *events)
{
    if (events->status < 0) return events->status;
    events->flushed_at = artel__now_ns();
    if (events->pending.length == 0) return ARTEL_OK;
    artel_status status = artel__stream_write(&events->stream, events->pending.data, events->pending.length);
    artel__text_clear(&events->pending);
    return settle(events, status);
}

/* dtype and shape of the tensor to come; rank 0 when `rows` is 0, else [rows, columns]. */
static void begin_tensor(artel__tfevents *events, unsigned dtype, unsigned rows, unsigned columns)
{
    artel__text *tensor = &events->tensor, *shape = &events->value, *dim = &events->summary;
    unsigned extents[] = {rows, columns};
    artel__text_clear(shape);
    for (size_t i = 0; i < 2 && rows > 0; i++) {
        artel__text_clear(dim);
        artel__put_integer(dim, ARTEL__DIM_SIZE, extents[i]);
        artel__put_message(shape, ARTEL__SHAPE_DIM, dim);
    }
    artel__text_clear(tensor);
    artel__put_integer(tensor, ARTEL__TENSOR_DTYPE, dtype);
    artel__put_message(tensor, ARTEL__TENSOR_SHAPE, shape);
}

artel_status artel__tfevents_scalar(artel__tfevents *events, const char *tag, int64_t step, float value)
{
    if (events->status < 0) return events->status;
    uint32_t bits;
    uint8_t bytes[4];
    memcpy(&bits, &value, sizeof bits);
    store_le(bytes, bits, 4);
    begin_tensor(events, ARTEL__DT_FLOAT, 0, 0);
    artel__put_bytes(&events->tensor, ARTEL__TENSOR_CONTENT, bytes, sizeof bytes);
    return emit_point(events, &(point){tag, "scalars", "", step});
}

artel_status artel__tfevents_text(artel__tfevents *events, const char *tag, int64_t step, const char *markdown)
{
    if (events->status < 0) return events->status;
    begin_tensor(events, ARTEL__DT_STRING, 0, 0);
    artel__put_string(&events->tensor, ARTEL__TENSOR_STRING, markdown);
    return emit_point(events, &(point){tag, "text", "", step});
}

artel_status artel__tfevents_keras_graph(artel__tfevents *events, const char *model_json)
{
    if (events->status < 0) return events->status;
    begin_tensor(events, ARTEL__DT_STRING, 0, 0);
    artel__put_string(&events->tensor, ARTEL__TENSOR_STRING, model_json);
    return emit_point(events, &(point){"keras", "graph_keras_model", "1", 0});
}

artel_status artel__tfevents_graph(artel__tfevents *events, artel__graph_def *graph)
{
    const artel__text *bytes;
    if (events->status < 0) return events->status;
    ARTEL_TRY(settle(events, artel__graph_def_end(graph, &bytes)));
    begin_event(events, 0);
    artel__put_message(&events->event, ARTEL__EVENT_GRAPH_DEF, bytes);
    return emit(events);
}

artel_status artel__tfevents_histogram(artel__tfevents *events, const char *tag, int64_t step, artel_dtype dtype,
                                       const void *values, int64_t count)
{
    if (events->status < 0) return events->status;
    double rows[ARTEL__HISTOGRAM_BUCKETS][3];
    uint8_t bytes[sizeof rows];
    artel__histogram_compute(dtype, values, count, rows);
    for (size_t i = 0; i < sizeof rows / sizeof(double); i++) {
        uint64_t bits;
        memcpy(&bits, &rows[i / 3][i % 3], sizeof bits);
        store_le(bytes + 8 * i, bits, 8);
    }
    begin_tensor(events, ARTEL__DT_DOUBLE, ARTEL__HISTOGRAM_BUCKETS, 3);
    artel__put_bytes(&events->tensor, ARTEL__TENSOR_CONTENT, bytes, sizeof bytes);
    return emit_point(events, &(point){tag, "histograms", "", step});
}

/* The next values as doubles, at most CHUNK; returns how many. */
static int64_t next_values(artel_dtype dtype, const void *values, int64_t at, int64_t count, double out[CHUNK])
{
    int64_t n = count - at < CHUNK ? count - at : CHUNK;
    artel__convert(dtype, (const char *)values + (size_t)at * artel_dtype_size(dtype), ARTEL_DTYPE_FLOAT64, out, n);
    return n;
}

/* The least and the greatest finite value; returns how many finite ones there are. */
static int64_t find_range(artel_dtype dtype, const void *values, int64_t count, double *least, double *greatest)
{
    double chunk[CHUNK];
    int64_t finite = 0;
    for (int64_t at = 0, n; at < count; at += n) {
        n = next_values(dtype, values, at, count, chunk);
        for (int64_t i = 0; i < n; i++) {
            if (!isfinite(chunk[i])) continue;
            if (finite == 0 || chunk[i] < *least) *least = chunk[i];
            if (finite == 0 || chunk[i] > *greatest) *greatest = chunk[i];
            finite++;
        }
    }
    return finite;
}

void artel__histogram_compute(artel_dtype dtype, const void *values, int64_t count,
                              double rows[ARTEL__HISTOGRAM_BUCKETS][3])
{
    enum {
        LAST = ARTEL__HISTOGRAM_BUCKETS - 1
    };
    double least = 0, greatest = 0, chunk[CHUNK];
    int64_t finite = find_range(dtype, values, count, &least, &greatest);
    double range = greatest - least;
    /* The second form is for float64 values so far apart that their difference overflows. */
    double width = isfinite(range) ? range / ARTEL__HISTOGRAM_BUCKETS
                                   : greatest / ARTEL__HISTOGRAM_BUCKETS - least / ARTEL__HISTOGRAM_BUCKETS;
    for (int b = 0; b <= LAST; b++) {
        rows[b][0] = least + width * b;
        rows[b][1] = b == LAST ? greatest : least + width * (b + 1);
        rows[b][2] = 0;
    }
    if (range == 0) {
        rows[LAST][2] = (double)finite;
        return;
    }
    for (int64_t at = 0, n; at < count; at += n) {
        n = next_values(dtype, values, at, count, chunk);
        for (int64_t i = 0; i < n; i++) {
            if (!isfinite(chunk[i])) continue;
            double bucket = (chunk[i] - least) / width;
            rows[bucket >= LAST ? LAST : (int)bucket][2] += 1;
        }
    }
}
