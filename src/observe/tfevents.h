/* SPDX-License-Identifier: Apache-2.0 */
/* TensorBoard event files: one file of framed tf.Event messages that TensorBoard reads while it grows.
 *
 * Layout: TFRecord framing (length, masked CRC-32C of it, message, masked CRC-32C of that) around protobuf messages
 * that are encoded by hand: a dozen fields (tensorflow/core/util/event.proto, framework/summary.proto and
 * framework/tensor.proto). Summaries have the form that TensorFlow 2 writes: a tensor and the name of the plug-in
 * that shows it, in the same field order as Keras' own callback, so that equal values give equal bytes.
 * A writer belongs to one thread. After a failed write every later call fails with the same status.
 */
#ifndef ARTEL_OBSERVE_TFEVENTS_H
#define ARTEL_OBSERVE_TFEVENTS_H

#include "artel/tensor.h"
#include "observe/graph_def.h"

typedef struct artel__tfevents artel__tfevents;

/* Creates `directory` and in it events.out.tfevents.<seconds>.<host>.<pid>.<n>.v2, where n is `sequence` or the next
 * number that is free, and writes the first record (file version "brain.Event:2", writer "artel"). */
artel_status artel__tfevents_create(artel_context *ctx, const char *directory, int sequence, artel__tfevents **out);

/* Flushes, closes and frees; NULL is accepted. The status is that of the last flush. */
artel_status artel__tfevents_destroy(artel__tfevents *events);

const char *artel__tfevents_path(const artel__tfevents *events);

/* Appends one point. Points reach the file at a flush, when 64 KiB have gathered, or when the last flush is two
 * seconds old. `step` is the horizontal axis: the epoch for epoch_ tags, the batch for others. */
artel_status artel__tfevents_scalar(artel__tfevents *events, const char *tag, int64_t step, float value);
artel_status artel__tfevents_text(artel__tfevents *events, const char *tag, int64_t step, const char *markdown);

/* `count` values of a numeric dtype, as 30 buckets; see artel__histogram_compute. */
artel_status artel__tfevents_histogram(artel__tfevents *events, const char *tag, int64_t step, artel_dtype dtype,
                                       const void *values, int64_t count);

/* The model's architecture, the text of Keras' model.to_json(); TensorBoard's graph page draws it (tag `keras`). */
artel_status artel__tfevents_keras_graph(artel__tfevents *events, const char *model_json);

/* The operations, which that page draws when a run is chosen. Ends the graph. */
artel_status artel__tfevents_graph(artel__tfevents *events, artel__graph_def *graph);

artel_status artel__tfevents_flush(artel__tfevents *events);

#define ARTEL__HISTOGRAM_BUCKETS 30

/* Rows of (left edge, right edge, number of values), of equal width between the least and the greatest value; every
 * bucket but the last is open on the right. All values equal: all edges are that value and the last row has the
 * count. No values: all zero. Values that are not finite are left out (TensorFlow's own buckets are undefined with
 * them). Source: tensorboard/plugins/histogram/summary_v2.py. */
void artel__histogram_compute(artel_dtype dtype, const void *values, int64_t count,
                              double rows[ARTEL__HISTOGRAM_BUCKETS][3]);

#endif
