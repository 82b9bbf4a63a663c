/* SPDX-License-Identifier: Apache-2.0 */
/* Who computes which row of a batch, where each task holds only some files of the data (--auto-shard file).
 *
 * Which rows a batch has does not depend on who holds what: it is the order of one process. Within the batch the rows
 * are dealt to the ranks that hold them, as far as there is room; the few that are left over are sent, by a rank that
 * has them, to one that has room, so that the batch stays cut as ever, and files of uneven length neither end an epoch
 * early nor leave anybody waiting. So the place in the data is one number, as ever, and every element is seen once an
 * epoch whoever joins or leaves. Where every task holds everything, rows stay where they are, and the bits are those of
 * one process; else the rows of a batch are added up in another order.
 *
 * Life: artel__deal_open() before modes are prepared; in each seat, in the first unit, the ranks tell one another what
 * they hold (artel__deal_share), which fails, by name, where nobody holds some file; then artel__deal_batch() for each
 * batch.
 */
#ifndef ARTEL_TRAIN_DEAL_H
#define ARTEL_TRAIN_DEAL_H

#include "train/fit_impl.h"
#include "train/session_impl.h"

/* Makes room. Without "file" the others do nothing. */
artel_status artel__deal_open(artel__fit *fit);
bool artel__deal_is_file(const artel__fit *fit);
/* A new seat: what others hold has to be asked for. */
void artel__deal_unseat(artel__fit *fit);
artel_status artel__deal_share(artel__fit *fit);
/* The rows of a batch, dealt. `place`: 0 the batch, 1.. those ahead of it; each has room of its own until the next call
 * for it. */
artel__batch_rows artel__deal_batch(artel__fit *fit, artel__mode mode, int place, artel__batch_rows batch);

/* What a task holds, as numbers of so many bits, a bit for each part: how many there are of a feed, and of both. */
enum {
    ARTEL__DEAL_WORD = 48
};
static inline int artel__deal_words_of(const artel__deal *deal, artel__mode m)
{
    return (deal->mode[m].parts + ARTEL__DEAL_WORD - 1) / ARTEL__DEAL_WORD;
}
static inline int artel__deal_words(const artel__deal *deal)
{
    return artel__deal_words_of(deal, ARTEL__MODE_TRAIN) + artel__deal_words_of(deal, ARTEL__MODE_EVALUATE);
}

/* -- of one replica -- */

/* What this task holds, to all ranks, and what they hold. */
artel_status artel__deal_exchange_held(artel__replica *replica);
/* Rows of the replica's range of a batch that it fetches itself: all but those that are sent to it. */
int64_t artel__deal_own_rows(const artel__replica *replica, const artel__batch *batch);
/* Sends what others lack and takes what this one lacks, behind its own rows. */
artel_status artel__deal_exchange_rows(artel__replica *replica, artel__mode mode, const artel__batch *batch);

#endif
