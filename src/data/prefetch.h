/* SPDX-License-Identifier: Apache-2.0 */
/* Reading ahead: threads of their own fetch rows of the next batches while a step computes.
 *
 * The reader has a few sets of buffers: the one that a step reads from, and those being filled for the steps after it.
 * Rows are filled in pieces that whoever is free takes: those threads, and, when the batch is wanted before it is
 * whole, the threads of the caller's pool. So a step never waits longer than it would have taken to fetch what is
 * missing itself, and which rows were fetched ahead changes nothing: a row number always means the same sample, and no
 * position moves. A failure ahead of time is forgotten; the rows are fetched again when they are wanted, and only then
 * the error counts.
 *
 * How many batches are read ahead, and by how many threads, follows the steps: more, as far as the budget
 * (base/budget.h) has room, where a step had to wait for rows of which was told; fewer again where none has waited for
 * long. One batch and one thread need no room in it.
 */
#ifndef ARTEL_DATA_PREFETCH_H
#define ARTEL_DATA_PREFETCH_H

#include "data/data.h"

typedef struct artel__prefetch artel__prefetch;

enum {
    ARTEL__PREFETCH_AHEAD = 4 /* the most batches that are fetched ahead; one when they are large */
};

/* Whether rows of the feed cost enough (images to decode, records to parse) that fetching ahead pays. */
bool artel__feed_reads_ahead(const artel__feed *feed);

/* For batches of at most `most` rows of the feed, which is borrowed. Belongs to the creating thread, as do the calls
 * below. Errors: ARTEL_ERROR_NO_MEMORY. Without a thread to be had it works, and fetches nothing ahead. */
artel_status artel__prefetch_create(artel_context *ctx, const artel__feed *feed, int64_t most, artel__prefetch **out);
void artel__prefetch_destroy(artel__prefetch *prefetch); /* NULL accepted */

/* The rows, in buffers as artel__feed_fetch fills them: buffers[i] of each array of the feed, valid until the next call
 * of take. */
artel_status artel__prefetch_take(artel__prefetch *prefetch, artel__pool *pool, const uint64_t *rows, int64_t count,
                                  void **buffers);
/* After take: these rows will be wanted as the `place`-th batch from now (0: the next); they are copied. Places are
 * told in order, and what was told differently before is dropped. Places further than it reads ahead are ignored. */
void artel__prefetch_tell(artel__prefetch *prefetch, int place, const uint64_t *rows, int64_t count);
/* After tell, before take: whether these rows are the batch that was told of as the `place`-th and are all there,
 * without waiting; if so, where the take of it will find them: until then they stay, unless something else is told for
 * that place or one before. */
bool artel__prefetch_peek(artel__prefetch *prefetch, int place, const uint64_t *rows, int64_t count, void **buffers);
/* From now on the processor time that fetching takes is counted: two looks at a clock for each piece. */
void artel__prefetch_count(artel__prefetch *prefetch);
/* That of all threads, in ns, since this was asked last; 0 where it is not counted. */
int64_t artel__prefetch_spent(artel__prefetch *prefetch);
/* What take does after a step that has waited for rows of which was told, or has not: reads further ahead, or less far.
 * For tests. */
void artel__prefetch_follow(artel__prefetch *prefetch, bool waited);
/* How many batches are read ahead now, and by how many threads. */
void artel__prefetch_reach(const artel__prefetch *prefetch, int *batches, int *threads);

#endif
