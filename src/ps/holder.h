/* SPDX-License-Identifier: Apache-2.0 */
/* A server of parts without its sockets: joins the view machine (cluster/holding.h) to one log a part (ps/log.h).
 *
 * What a driver does for it: carries bytes and messages between tasks, keeps the state of the parts, and moves copies
 * of that state. What it does for the driver: it performs the orders of the view machine in the right order, levels,
 * asks for copies again until they come or are not wanted any more, sends again what was lost, and complains of a
 * holder that does not answer. Pure but for its memory: no clock, no socket, no thread; tests/ps runs it under a
 * virtual network. One holder belongs to one thread; its functions must not be called from `ops`.
 *
 * Copies. `ask_copy` asks task `from` for a part: the driver there calls artel__holder_may_copy until it says yes, then
 * sends the state with the table of the log (artel__part_log_save) before it does anything else with the holder, or
 * from a snapshot; artel__holder_copied takes it here, after the state has been put in place. A copy that was asked for
 * in a view that is over is of no use: artel__holder_wants says so, also to one that is still on its way.
 */
#ifndef ARTEL_PS_HOLDER_H
#define ARTEL_PS_HOLDER_H

#include "cluster/holding.h"
#include "ps/log.h"

typedef struct artel__holder_ops {
    void (*control)(void *user, uint32_t task, const uint8_t *bytes,
                    size_t count); /* of the view machine, on the link to `task` */
    void (*data)(void *user, uint32_t task, const artel__log_message *message); /* of a log; lent for the call */
    void (*ask_copy)(void *user, uint32_t part, uint32_t from, uint64_t epoch,
                     bool levelling); /* said again until it is there */
    void (*apply)(void *user, uint32_t part, const artel__log_entry *entry, const void *payload);
    uint64_t (*digest)(void *user, uint32_t part); /* NULL: states are not compared */
    void (*answer)(void *user, uint32_t part, const artel__log_entry *entry, artel__log_answer answer);
    void (*begin)(void *user, uint32_t part, uint64_t epoch,
                  uint64_t origin);          /* load it from that checkpoint, then artel__holder_begun */
    void (*drop)(void *user, uint32_t part); /* its state is of no use any more */
    void (*differ)(void *user, uint32_t part, uint64_t position);
    void (*release)(void *user, void *payload);
    void (*view)(void *user, const artel__view *view,
                 bool serves); /* in force; `serves`: it names this task as a member */
    void (*report)(void *user, artel__holding_action_kind kind, uint32_t part,
                   const char *text); /* REPORT, LOST, FALL_BACK */
    /* Sees each order of the view machine first; false: it is not performed. NULL: all are. For traces, and for tests.
     */
    bool (*filter)(void *user, const artel__holding_action *action);
} artel__holder_ops;

typedef struct artel__holder_config {
    artel__holding_config holding; /* act and user are filled in here */
    uint64_t batches, keep_bytes;  /* of each log */
    int64_t nudge_ns;              /* what has been without progress for so long is sent again; 0: suspect_after / 5 */
    const artel__holder_ops *ops;
    void *user;
} artel__holder_config;

typedef struct artel__holder artel__holder;

artel_status artel__holder_create(artel_context *ctx, const artel__holder_config *config, artel__holder **out);
void artel__holder_destroy(artel__holder *holder); /* NULL accepted; payloads are given back */

/* -- inputs -- */

void artel__holder_tick(artel__holder *h, int64_t now);
void artel__holder_link_up(artel__holder *h, int64_t now, uint32_t task, uint64_t incarnation);
void artel__holder_link_down(artel__holder *h, int64_t now, uint32_t task);
void artel__holder_control(artel__holder *h, int64_t now, uint32_t from, const uint8_t *bytes, size_t count);
/* A message of a log; `owned` as in artel__part_log_receive. A part that does not exist: the payload is given back. */
void artel__holder_data(artel__holder *h, int64_t now, uint32_t from, const artel__log_message *message, void *owned);
/* As artel__part_log_push. */
artel__log_answer artel__holder_push(artel__holder *h, int64_t now, uint32_t part, uint64_t epoch,
                                     const artel__log_entry *entry, void *payload, uint64_t *position);
/* The answer to `begin` of that epoch: the part's state is that of the checkpoint. After another order nothing happens.
 */
void artel__holder_begun(artel__holder *h, int64_t now, uint32_t part, uint64_t epoch);

/* -- copies -- */

/* At the task that is asked: whether the state may be sent now. While it may not because something is under way, the
 * part pauses. */
bool artel__holder_may_copy(artel__holder *h, uint32_t part, uint64_t epoch, bool levelling);
/* Whether a copy that was asked for is still wanted. */
bool artel__holder_wants(const artel__holder *h, uint32_t part, uint64_t epoch, bool levelling);
/* The state is in place, and this is its table. NULL, or what is wrong: the part is void then, and asked for again. */
const char *artel__holder_copied(artel__holder *h, int64_t now, uint32_t part, uint64_t epoch, bool levelling,
                                 const uint8_t *table, size_t count);

/* -- what it knows -- */

artel__holding *artel__holder_views(artel__holder *h);
artel__part_log *artel__holder_log(artel__holder *h, uint32_t part);

/* Performs an order of the view machine that the filter has held back. */
void artel__holder_perform(artel__holder *h, const artel__holding_action *action);

#endif
