/* SPDX-License-Identifier: Apache-2.0 */
/* A phase of the coordinator: some batches, of training or of validation, dealt out to whoever asks and added up in
 * their order.
 *
 * Results arrive in any order and are kept until those before them are there, so what the logs say depends on the
 * values alone. Between two phases nothing is under way: variables are one cut. phase.c knows no message.
 */
#ifndef ARTEL_TRAIN_COORDINATE_H
#define ARTEL_TRAIN_COORDINATE_H

#include "train/servers.h"

typedef enum artel__phase_state {
    ARTEL__ITEM_NEW,
    ARTEL__ITEM_OUT,
    ARTEL__ITEM_DONE
} artel__phase_state;

typedef struct artel__phase_item {
    int64_t pass, cursor, count;
    uint8_t state; /* artel__phase_state */
    bool again;    /* it was dealt out a second time */
} artel__phase_item;

/* Where a run stands. */
typedef struct artel__phase_place {
    int64_t pass, cursor, step, step_in_epoch, iteration, unit, examples, validation_row;
    bool stop;
    artel__tally tally; /* its lists are the fit's */
} artel__phase_place;

typedef struct artel__phase_run {
    bool open;
    artel__mode mode;
    int64_t serial;
    int64_t items, next, added, done; /* next: none before it is new; added: of those before it the results count */
    uint64_t first;                   /* number of the first item in the run */
    artel__phase_item *item;
    int64_t dealt_ns; /* the last item was dealt out */
    int64_t since_ns; /* the last result was added up, or the phase opened */
    double *values;   /* of the results */
    int stride;       /* of one */
    bool owes;        /* callbacks have not heard of the last step, for they want the variables */
    double owed_loss; /* of this step */
    /* As it was when the phase began: where a lost server leads back to. */
    artel__phase_place saved;
    double *saved_sums; /* of the tally: outputs, then sums */
} artel__phase_run;

/* Opens what comes next in the run, or ends it (fit->at.ended); ends of epochs that lie between are gone through.
 * `state` has been taken from the servers. */
artel_status artel__phase_open_next(artel__fit *fit, artel__phase_run *phase);
/* The next item to deal out, or -1: all are out or done. */
int64_t artel__phase_deal(artel__phase_run *phase);
/* In a phase that changes no variable: an item that has been out for a second while nothing else was left, once more;
 * -1: there is none. Who sleeps holds up nobody; of two results the first counts, and they are the same. */
int64_t artel__phase_deal_again(artel__phase_run *phase);
/* A result; an item that has one already is left alone. Adds up what can be. */
artel_status artel__phase_take(artel__fit *fit, artel__phase_run *phase, uint64_t number, const double *values);
/* The phase is done and `state` has been taken from the servers: what callbacks are owed. */
artel_status artel__phase_pay(artel__fit *fit, artel__phase_run *phase);
bool artel__phase_is_done(const artel__phase_run *phase);
void artel__phase_recall(artel__phase_run *phase);                   /* what is out is new again */
void artel__phase_go_back(artel__fit *fit, artel__phase_run *phase); /* as it began */
void artel__phase_close(artel__fit *fit, artel__phase_run *phase);   /* its memory */

#endif
