/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of replicas that compute with several arithmetics: processors beside devices, in one process or several.
 *
 * All compute the same graph and exchange the same sums, but what each makes of them has last bits of its own. So
 * numbers that decide what is done next (losses, metrics, the gate of loss scaling) are those of rank 0 everywhere. Of
 * variables, among tasks, rank 0 alone makes the next ones and gives them to all; whoever does not get them whole has
 * those of the step before, and catches up like any task that was cut off behind a barrier. In one process, where
 * nobody is cut off, all make them and take over those of the first (session_step.c).
 */
#ifndef ARTEL_TRAIN_MIXED_H
#define ARTEL_TRAIN_MIXED_H

#include "train/session_impl.h"

/* Once it is known who computes. Errors: UNSUPPORTED. */
artel_status artel__mixed_check(artel__session *session);
/* The text, or, where there is no room for all of it, its beginning and a hash, both without what stands in brackets
 * (addresses, which are others each time), so that equal lists have equal words. */
void artel__mixed_words(const char *text, char out[ARTEL__ARITHMETIC_ROOM]);
/* In a seat: says in session->arithmetic what every task computes with. */
artel_status artel__mixed_seated(artel__session *session);
/* A checkpoint is taken up that was made by these, in session->arithmetic's words: among tasks of other kinds, or in
 * another order, the run goes on, and the first seat says so. Errors: NO_MEMORY. */
artel_status artel__mixed_continue(artel__session *session, const char *made_by);
/* Room of a replica, after its run was made. */
artel_status artel__mixed_prepare(artel__replica *replica, artel__mode mode);
/* Behind the barrier of a step: what rank 0 has kept. */
artel_status artel__mixed_share_kept(artel__replica *replica, artel__mode mode, const artel__step *step);
/* Among tasks, instead of the APPLY of a step of training; says by replica->applied whether this replica has its
 * result. */
artel_status artel__mixed_update(artel__replica *replica, const artel__step *step);
/* What was kept under that number, as everybody has it. */
const void *artel__mixed_kept(const artel__replica *replica, artel__mode mode, int kept);

#endif
