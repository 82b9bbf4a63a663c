/* SPDX-License-Identifier: Apache-2.0 */
/* A second transport between hosts: what the first of the list carries, under a descriptor and a table of its own, and
 * counted. Whoever took another way than through these would not be counted. */
#ifndef SUPPORT_RELAY_H
#define SUPPORT_RELAY_H

#include "net/far.h"

extern const artel__far_transport support_relay;

/* Of all endpoints in this process, ever. */
typedef struct support_relay_counts {
    _Atomic int created, closed, attached, sent, progressed;
} support_relay_counts;
extern support_relay_counts support_relay_counted;

/* The context knows it, as "relay". */
artel_status support_relay_add(artel_context *ctx);

#endif
