/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds of clients at one part, and which reads they hold up: consistency bounded:S of a part that guarantees it
 * alone.
 *
 * Items are dealt in rounds, one a living client; a client's clock is the number of rounds whose updates this part has
 * applied. A read for round r (the first is 0) waits until every living client of the roster has clock >= r - S here.
 * So each part guarantees the bound alone: what is read lacks at most S rounds of anybody. With S = 0 all updates of a
 * round are there before the next one reads.
 *
 * The roster is part of the state: it changes by entries of the log only (CLOCK, JOIN, LEAVE, whose payload is a number
 * of 8 bytes), so it is the same at every holder, and is copied and saved with the state. Pure; one roster belongs to
 * the thread of its log.
 */
#ifndef ARTEL_PS_CLOCK_H
#define ARTEL_PS_CLOCK_H

#include "ps/log.h"

typedef struct artel__roster {
    struct {
        uint64_t client, clock;
    } member[ARTEL__LOG_CLIENTS]; /* ascending by client */
    int members;
} artel__roster;

/* Applies CLOCK (the client has finished so many rounds; never goes back), JOIN (it begins at that round) or LEAVE;
 * other kinds change nothing. NULL, or what is wrong (a constant text; nothing has changed): a payload of another
 * length, too many clients. */
const char *artel__roster_apply(artel__roster *roster, const artel__log_entry *entry, const void *payload);

/* Whether a read for `round` may be answered; if not, *slowest (or NULL) is a client that holds it up: the slowest, of
 * equal ones the lowest. */
bool artel__roster_allows(const artel__roster *roster, uint64_t round, uint64_t bound, uint64_t *slowest);
/* The least clock of all living clients: where a newcomer begins. 0 when there is none. */
uint64_t artel__roster_least(const artel__roster *roster);

/* The roster's bytes beside a copy. */
size_t artel__roster_bytes(const artel__roster *roster);
void artel__roster_save(const artel__roster *roster, uint8_t *out);
const char *artel__roster_load(artel__roster *roster, const uint8_t *bytes, size_t count);

#endif
