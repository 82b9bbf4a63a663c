/* SPDX-License-Identifier: Apache-2.0 */
/* Cutting variables and dealing the pieces to servers: TensorFlow's rules exactly, and placement by load.
 *
 * Source of the rules: tf.distribute.experimental.partitioners and ParameterServerStrategyV2 of TensorFlow 2.x; the
 * tables of tests/ps/test_partition.c were printed by it, and tests/ps/test_partition.py compares with the one that is
 * installed. Nothing here knows a variable: rows, bytes and loads go in, numbers of pieces and servers come out. Pure
 * functions; any thread.
 */
#ifndef ARTEL_PS_PART_H
#define ARTEL_PS_PART_H

#include "base/context.h"
#include "base/text.h"

typedef enum artel__partition_kind {
    ARTEL__PARTITION_NONE,  /* nothing is cut */
    ARTEL__PARTITION_FIXED, /* FixedShardsPartitioner(shards) */
    ARTEL__PARTITION_MIN,   /* MinSizePartitioner(bytes, shards) */
    ARTEL__PARTITION_MAX    /* MaxSizePartitioner(bytes, shards) */
} artel__partition_kind;

enum {
    ARTEL__PARTITION_MIN_BYTES = 256 << 10 /* of MinSizePartitioner, unless said */
};

typedef struct artel__partition_rule {
    artel__partition_kind kind;
    int64_t bytes;  /* of a piece: at least (MIN), at most (MAX) */
    int64_t shards; /* pieces: so many (FIXED), at most (MIN, MAX; 0: MAX has no limit) */
} artel__partition_rule;

/* "none", "fixed:N", "auto" (min), "min[:BYTES[:N]]", "max:BYTES[:N]"; BYTES with the suffix K, M or G. MIN without N:
 * at most `servers` pieces, where TensorFlow's default of one would cut nothing. ARTEL_ERROR_INVALID: anything else,
 * and numbers below 1. */
artel_status artel__partition_read(artel_context *ctx, const char *text, int servers, artel__partition_rule *out);

/* Pieces of a variable of that shape, cut along its first axis: between 1 and its rows. Scalars (rank 0) and variables
 * without rows are never cut. `element_bytes` at least 1 (TensorFlow counts 16 for a string). */
int64_t artel__partition_count(const artel__partition_rule *rule, const int64_t *shape, int rank,
                               int64_t element_bytes);

/* The division rule: first row of piece `piece` of `pieces` (at `pieces`: the number of rows); the first rows % pieces
 * pieces have one row more. 13 rows over 5: 0 3 6 9 11 13. */
int64_t artel__partition_offset(int64_t rows, int64_t pieces, int64_t piece);
/* Which piece has the row. */
int64_t artel__partition_find(int64_t rows, int64_t pieces, int64_t row);

/* -- placing: `place[i]` becomes the server of piece i; at most ARTEL__PLACE_SERVERS servers -- */

enum {
    ARTEL__PLACE_SERVERS = 256
};

/* TensorFlow's: the pieces of all variables in order of creation, in turn. `first`: pieces created before these. */
void artel__place_in_turn(int64_t first, int pieces, int servers, int *place);

/* The server with the least, the first of equals. */
int artel__place_lightest(const uint64_t *sum, int servers);

/* Largest load first to the least loaded server; equal loads by number, equal servers the lowest. `load`: bytes, or
 * bytes times rows expected a step, or measured traffic. `order`: scratch of `pieces` numbers. */
void artel__place_by_load(const uint64_t *load, int pieces, int servers, int *place, int *order);

/* Moves pieces until the fullest server has at most `limit` times the mean (1.1), where that is possible; returns how
 * many have moved. For traffic measured in a run: one piece after another from the fullest to the lightest, so most
 * stay where they are; only where that does not do, all are placed by load, and the servers renamed so that most stay.
 * `scratch`: of 3 * pieces numbers. */
int artel__place_correct(const uint64_t *load, int pieces, int servers, double limit, int *place, int *scratch);

/* Load of the fullest server over the mean; 1 when there is no load. When it is above 1.1 there is a piece larger than
 * the mean allows: `heaviest` (or NULL) is the number of the largest piece of the fullest server. */
double artel__place_skew(const uint64_t *load, int pieces, int servers, const int *place, int *heaviest);

/* The device that TensorFlow's replica_device_setter and ParameterServerStrategy give: "/job:ps/task:1/device:CPU:0"
 * or, as the setter merges it, "/job:ps/task:1". */
void artel__place_name(int server, bool device, artel__text *out);

#endif
