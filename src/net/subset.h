/* SPDX-License-Identifier: Apache-2.0 */
/* The first ranks of an endpoint as an endpoint of their own: for collectives of a part of those that are connected.
 *
 * Every operation goes to the endpoint behind it. Cancelling one cancels the other. Messages of both must differ in
 * their frames. Belongs to the thread of the endpoint behind.
 */
#ifndef ARTEL_NET_SUBSET_H
#define ARTEL_NET_SUBSET_H

#include "net/transport.h"

typedef struct artel__subset {
    artel__endpoint base; /* first: what collectives are given */
    artel__transport_ops ops;
    artel__endpoint *whole;
} artel__subset;

/* Ranks 0 .. ranks - 1 of `whole`, its own among them. Nothing is to be closed. */
void artel__subset_init(artel__subset *subset, artel__endpoint *whole, int ranks);

#endif
