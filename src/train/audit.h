/* SPDX-License-Identifier: Apache-2.0 */
/* Which elements a run has been trained on: an account of their numbers, as --audit-data prints it at the end of each
 * epoch.
 *
 * Every replica adds up, over the rows that it has fetched for a step, how many they are, splitmix64 of their numbers,
 * and splitmix64 of that number mixed with the place in the epoch, each sum modulo 2^52. The replicas of all tasks
 * exchange these by shard before a step counts, so a row that nobody fetched, or one that was not meant, shows. What
 * has been counted is part of the run's position: of checkpoints, and of the state that one task copies from another.
 * At the end of a pass the sum is held against that of the numbers 0 .. rows - 1.
 */
#ifndef ARTEL_TRAIN_AUDIT_H
#define ARTEL_TRAIN_AUDIT_H

#include "train/fit_impl.h"
#include "train/session_impl.h"

/* Before modes are prepared. UNSUPPORTED where the tasks do not step together. */
artel_status artel__audit_begin(artel__fit *fit);
/* After a step of training. */
void artel__audit_stepped(artel__fit *fit);
void artel__audit_begin_pass(artel__fit *fit);
/* Says what has been counted, in words and as an event; the next epoch begins. */
void artel__audit_epoch_end(artel__fit *fit);
/* This task writes from here on: says the account of the epoch that has just ended, if the one that wrote may have been
 * lost before. */
void artel__audit_take_over(artel__fit *fit);
/* Part of the position of a run. With the account of the epoch that has just ended where another task was to say it:
 * who copies this position may be the one that writes in its place. */
json_t *artel__audit_save(const artel__fit *fit);
void artel__audit_restore(artel__fit *fit, const json_t *saved);

/* -- of one replica in training -- */

artel_status artel__audit_prepare(artel__replica *replica, artel__mode mode);
/* Counts the rows of the step that this replica has fetched. */
void artel__audit_read(artel__replica *replica, artel__mode mode, const artel__batch *batch);
/* Brings the counts of all ranks together; before they agree on the step. */
artel_status artel__audit_exchange(artel__replica *replica, artel__mode mode, const artel__batch *batch,
                                   const artel__step *step);

#endif
