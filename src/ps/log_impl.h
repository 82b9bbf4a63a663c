/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of a part's log, shared by log.c (the chain) and log_table.c (duplicates, copies). */
#ifndef ARTEL_PS_LOG_IMPL_H
#define ARTEL_PS_LOG_IMPL_H

#include "ps/log.h"

enum {
    ARTEL__LOG_DIGESTS = 4 /* a follower is less than two windows from its predecessor's state */
};

typedef struct artel__log_slot {
    artel__log_entry entry;
    void *payload;
} artel__log_slot;

/* Sequences of a client's words without an item. One that has left stays until its place is needed, so that what was on
 * its way is not taken for new. */
typedef struct artel__log_client {
    uint64_t client, sequence;
    uint64_t left; /* position of LEAVE; 0: it lives */
} artel__log_client;

typedef struct artel__log_table {
    uint64_t pass;      /* the present one: bits[pass & 1]; the other half is of the one before */
    uint64_t batches;   /* of a pass */
    size_t words;       /* of each half */
    uint64_t *bits;     /* [2][words] */
    uint64_t iteration; /* entries with ARTEL__LOG_STEP */
    artel__log_client client[ARTEL__LOG_CLIENTS];
    int clients;
} artel__log_table;

/* Whether the table has the entry; false for what is new. */
bool artel__log_table_has(const artel__log_table *table, const artel__log_entry *entry);
/* Whether it has room for the client of the entry. */
bool artel__log_table_takes(const artel__log_table *table, const artel__log_entry *entry);
void artel__log_table_add(artel__log_table *table, const artel__log_entry *entry);
void artel__log_table_clear(artel__log_table *table);

typedef struct artel__log_ask {
    bool waits, copying;
    uint64_t position;
} artel__log_ask;

struct artel__part_log {
    artel_context *ctx;
    artel__part_log_config config;
    /* The view. */
    uint64_t epoch;
    uint16_t task[3];
    int holders, place;          /* of this task in the chain; -1: it is not in it */
    bool fenced, level, serving; /* level: with the holder before it; serving: the view is in force */
    bool paused;                 /* takes no pushes */
    bool copying;                /* until artel__part_log_load */
    uint64_t upto;               /* while levelling: the predecessor's last, 1 more; 0: not heard */
    artel__log_ask ask;          /* of the successor, until this holder is level */
    struct {
        uint64_t epoch;
        uint32_t from;
        artel__log_ask ask;
    } early; /* one of a view that is not accepted here yet */
    /* Entries. */
    uint64_t last, applied, told; /* appended; applied; answered or known to be committed */
    uint64_t have;                /* all holders behind this one have it */
    uint64_t first;               /* the oldest kept; last + 1: none */
    uint64_t kept_bytes;
    artel__log_slot kept[ARTEL__LOG_WINDOW];
    /* Progress, for nudges. */
    uint64_t nudged_have, nudged_last;
    int stalls;
    struct {
        uint64_t at, value;
    } digest[ARTEL__LOG_DIGESTS];
    artel__log_table table;
};

#endif
