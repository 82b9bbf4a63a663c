/* SPDX-License-Identifier: Apache-2.0 */
/* What a coordinator and servers say about parts to `artel status`: the object "servers" of the answer.
 *
 * The coordinator: {"consistency", "queue": batches of the phase not dealt out, "out": dealt out, "staleness":
 * {"updates", "p50", "p90", "max"} of the epoch (before its first update of the one before), "shares", "late" of
 * sync:K, "arithmetic" of workers on devices, "parts": [{"part", "bytes", "head": "ps:0", "copy": "ps:1, ps:2" or
 * missing}]}. A server:
 * {"parts": [{"part", "bytes", "role": "head" or "copy", "updates", "waits_for": "an answer of ps 1 (HOST:PORT)" or
 * missing}]}. Of closures (docs/coordinator.md) the coordinator says "closures" true, and no consistency, shares and
 * staleness. Zero it; belongs to one thread.
 */
#ifndef ARTEL_PS_TELL_H
#define ARTEL_PS_TELL_H

#include "base/text.h"
#include "cluster/mesh.h"
#include "ps/chain.h"

typedef struct artel__telling {
    int64_t when; /* said last; 0: never */
    artel__text text;
    int parts;
} artel__telling;

typedef struct artel__told_part {
    int part;
    int64_t bytes;
    const char *role; /* NULL: it is the coordinator who speaks */
    int head;         /* number of a ps task; -1 */
    int copy[ARTEL__CHAIN_HOLDERS - 1], copies;
    int64_t updates;   /* -1: not known */
    const char *waits; /* what it waits for; NULL: nothing, or not known */
} artel__told_part;

/* Whether it is time again. */
bool artel__tell_due(artel__telling *telling);
/* Members that are the caller's own are printed to `text` between begin and parts, each with a comma behind it. */
void artel__tell_begin(artel__telling *telling, artel_context *ctx);
void artel__tell_parts(artel__telling *telling);
void artel__tell_part(artel__telling *telling, const artel__told_part *part);
void artel__tell_end(artel__telling *telling, artel_cluster *cluster);

#endif
