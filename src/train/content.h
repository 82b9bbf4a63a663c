/* SPDX-License-Identifier: Apache-2.0 */
/* Whether all train on the same rows: between the tasks of a cluster, and from one start of a run to the next.
 *
 * What is small is hashed whole before the first step and is part of what tasks and checkpoints compare (facts,
 * identity). Of what is large the rows are hashed as they are read. Among tasks each replica hashes, beside its own
 * rows, those of a replica of the next task as its own files have them; sums by virtual shard are compared every few
 * steps, at checkpoints, at the ends of epochs and passes, before the step is applied. Alone, the sum over a pass is
 * kept in checkpoints and compared at the end of the next whole pass.
 */
#ifndef ARTEL_TRAIN_CONTENT_H
#define ARTEL_TRAIN_CONTENT_H

#include "train/fit_impl.h"
#include "train/session_impl.h"

/* Settles how much is read when, from options.check_data, for a run that compares with others or saves. Hashes what is
 * small. */
artel_status artel__content_begin(artel__fit *fit, const artel__feed *feed, const artel__feed *validation,
                                  const char *check_data);
/* Whether the rows of a step that ends with `last` rows of a pass or epoch are compared. */
bool artel__content_is_due(const artel__fit *fit, bool last);
/* After a step of training, whose batch has moved the cursor. */
artel_status artel__content_stepped(artel__fit *fit);
/* A pass, or a seat, begins. */
void artel__content_begin_pass(artel__fit *fit);
void artel__content_seated(artel__fit *fit);
/* Part of the position of a run. */
json_t *artel__content_save(const artel__fit *fit);
void artel__content_restore(artel__fit *fit, const json_t *saved);

/* -- of one replica in one mode -- */

artel_status artel__content_prepare(artel__replica *replica, artel__mode mode);
/* Hashes the rows of the step: its own, and those it looks after. */
artel_status artel__content_read(artel__replica *replica, artel__mode mode, const artel__batch *batch);
/* Compares with all others where the batch says so; INVALID, on all, when there is a difference. */
artel_status artel__content_compare(artel__replica *replica, artel__mode mode, const artel__batch *batch,
                                    const artel__step *step);
void artel__content_apply(artel__replica *replica, artel__mode mode, const artel__batch *batch);
/* Records which tasks differ. */
artel_status artel__content_report(artel__session *session, artel__mode mode);

#endif
