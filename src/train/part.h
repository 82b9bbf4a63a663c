/* SPDX-License-Identifier: Apache-2.0 */
/* Variables that belong to servers: which lies where, and the memory of what a server owns.
 *
 * A division says for each trainable variable, and for each that a step moves (statistics of batch normalisation),
 * which server owns it: a function of the training graph and the number of servers, so every task finds the same. What
 * one server owns is its part. An update of a part is the finished gradients of its variables; they are applied by the
 * graph that artel__optimizer_step makes, the nodes and kernels of a step in one process, so the bits are the same.
 * Messages list the elements in one order, which both sides derive from the division: artel__division_list.
 */
#ifndef ARTEL_TRAIN_PART_H
#define ARTEL_TRAIN_PART_H

#include "ps/lane.h"
#include "train/session.h"

/* Elements [first, first + count), in the order of memory, of a variable. */
typedef struct artel__piece {
    int trainable; /* its number among the trainable ones; -1: an average, of which differences are added */
    int variable;  /* of the session */
    int server;
    int64_t first, count;
    int64_t width; /* of a table whose rows travel alone (rows.h): elements of a row; 0: of no such table */
    bool whole;
    bool left; /* its first values are drawn by its server (artel__session_left) */
} artel__piece;

typedef struct artel__division {
    const artel__session *session;
    const artel__objective *objective; /* of the training graph */
    const artel__optimizer_slots *slots;
    const artel__optimizer *optimizer;
    artel__piece *piece;
    int pieces, servers;
    int tables;       /* pieces of tables */
    bool mean;        /* gradients are means of several workers', which servers make */
    bool scales;      /* the optimizer scales the loss of what it trains */
    int64_t *untaken; /* of the chief: updates of the state that were not taken, for gradients were not finite */
} artel__division;

typedef struct artel__division_rule {
    const char *partitioner; /* as artel__partition_read wants it (ps/part.h) */
    bool in_turn; /* pieces go to servers in turn, as TensorFlow's do; else to the one with the fewest bytes */
    bool mean;    /* sync:K */
} artel__division_rule;

/* In `arena`; tables get `width` where the objective has them as such. Refused, by name: variables that are not
 * float32, states of rows. */
artel_status artel__division_make(artel__arena *arena, const artel__session *session, const artel__division_rule *rule,
                                  int servers, artel__division *out);
/* Load of the fullest server over the mean, in bytes; 1: it is even, or there is one server. */
double artel__division_skew(const artel__division *division);
/* Bytes of a message of what has come and gone of each piece, in bytes; behind them there is a 0, for there may be no
 * piece. */
static inline size_t artel__division_traffic_bytes(const artel__division *division)
{
    return ((size_t)division->pieces + 1) * sizeof(uint64_t);
}
/* Gives piece i to server[i]. False: there is no such server, and nothing has changed. */
bool artel__division_place(artel__division *division, const uint8_t *server);
int64_t artel__division_bytes(const artel__division *division, int server); /* of the variables of one server */
/* A line for each piece. */
void artel__division_dump(const artel__division *division, artel__text *out);

typedef enum artel__part_list {
    ARTEL__PART_STATE,  /* variables and all that the optimizer keeps */
    ARTEL__PART_VALUES, /* variables, but tables */
    ARTEL__PART_UPDATE, /* what a step sends of these */
    ARTEL__PART_GIVEN   /* of a state, what is not left to be drawn */
} artel__part_list;

typedef enum artel__entry_kind {
    ARTEL__ENTRY_VALUE,
    ARTEL__ENTRY_SLOT,
    ARTEL__ENTRY_AVERAGE,
    ARTEL__ENTRY_SUM, /* of gradients, where those of several steps are added up */
    ARTEL__ENTRY_PRODUCT,
    ARTEL__ENTRY_SCALE, /* of a LossScaleOptimizer, as each part has it: with the steps since it changed, and the
                           updates that were none */
    ARTEL__ENTRY_SCALE_STEPS,
    ARTEL__ENTRY_UNTAKEN,
    ARTEL__ENTRY_GATE, /* finite where all gradients of a batch are, also those of other parts */
    ARTEL__ENTRY_GRADIENT,
    ARTEL__ENTRY_SQUARES,
    ARTEL__ENTRY_SIZES, /* of the same places, where the rule reads sizes */
    ARTEL__ENTRY_NORM,
    ARTEL__ENTRY_DIFFERENCE
} artel__entry_kind;

typedef struct artel__entry {
    artel__entry_kind kind;
    int piece, slot;
    size_t bytes;
} artel__entry;

/* The entries of a message about a server's part, in order: fills `out`, which has room for artel__division_most, and
 * returns how many. */
int artel__division_list(const artel__division *division, int server, artel__part_list list, artel__entry *out);
int artel__division_most(const artel__division *division);
/* Bytes of that message behind its head. */
size_t artel__entries_bytes(const artel__entry *entry, int count);
/* Where an entry lies. */
typedef void *artel__entry_place_fn(void *user, const artel__entry *entry);
/* The pieces of a message about these entries. */
void artel__entries_list(const artel__entry *entry, int count, artel__entry_place_fn *place, void *user,
                         artel__net_piece *out);
/* Copies what has arrived to where the entries lie. False: it does not fit them, and some may have been copied. With
 * `at` more may follow, from there on. */
bool artel__entries_take(const artel__entry *entry, int count, const artel__lane_slot *slot, artel__slot_at *at,
                         artel__entry_place_fn *place, void *user);
/* Where an entry lies in a session: its state, or what the last step has kept. `difference`: by piece, for those. */
void *artel__division_locate(const artel__division *division, artel__session *session, const artel__entry *entry,
                             float *const *difference);

/* -- what a server owns (store.c) -- */

typedef struct artel__store artel__store;

artel_status artel__store_create(artel_context *ctx, const artel__division *division, const artel__settings *settings,
                                 int server, int threads, artel__store **out);
void artel__store_destroy(artel__store *store);
void *artel__store_locate(artel__store *store, const artel__entry *entry);
/* Where rows of a table's update are put, and the table. `token` counts from the piece's first row. */
typedef struct artel__store_table {
    int32_t *token, *count;
    float *rows, *squares; /* squares NULL: not wanted */
    float *values;
} artel__store_table;
artel__store_table artel__store_locate_table(artel__store *store, int piece);
/* Rows that a table has are as new as all others are: of those named, or of all tables. Rules that change rows without
 * a gradient make the steps that these lack. Before rows are read. */
void artel__store_refresh_rows(artel__store *store, int piece, const int32_t *token, int32_t count);
void artel__store_refresh(artel__store *store);
/* Pieces that are left to be drawn get the values of the session's seed, and their slots those that an optimizer begins
 * with. */
artel_status artel__store_draw(artel__store *store);
/* After state was put in place. */
void artel__store_begin(artel__store *store);
/* Applies the update that lies in the store's places for it. `rate` negative: the schedule's at this iteration.
 * `assign`: what was put for averages are their new values. */
artel_status artel__store_apply(artel__store *store, double rate, bool assign);
/* Updates that it has applied, those among them that were not taken, too. Set after state was put in place. */
int64_t artel__store_iteration(const artel__store *store);
void artel__store_set_iteration(artel__store *store, int64_t iteration);
/* Whether updates ever want numbers of other parts: norms, by which all gradients together are clipped; a gate, where
 * parts take the mean of different ones (`mean`: sync:K). The ordinal of the update that lies in its place among those
 * that do, from 1 on, the same at all parts; 0: it does not. The numbers of this part, of that update: by trainable
 * variable of the session, 0 for those of others, then the gate; so many they are. The sums of all, before it is
 * applied. */
bool artel__store_may_ask(const artel__optimizer *optimizer, bool mean);
int64_t artel__store_ask(const artel__store *store);
int artel__store_numbers(const artel__store *store);
void artel__store_preview(artel__store *store, double *numbers);
void artel__store_take_sums(artel__store *store, double squared_norm, double gate);

#endif
