/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a connection, for connection.c (up to the greeting), connection_share.c (a part of that) and control.c (after it). */
#ifndef ARTEL_NET_CONNECTION_IMPL_H
#define ARTEL_NET_CONNECTION_IMPL_H

#include "net/connection.h"

typedef struct artel__control artel__control;

struct artel__connection {
    artel__site *site;
    artel__net_stream stream;
    artel__net_stream carrier; /* of a transport's messages: the stream, or shared memory */
    int meeting;               /* where the accepting end can hand over memory; -1: nowhere */
    bool offered, confirmed;   /* memory has been handed over; the peer has said whether it took it */
    artel__connection_state state;
    artel__net_purpose purpose;
    artel__net_fault fault;
    bool server, begun, looked, greeted, refused_there; /* begun: who accepts has the first record of the peer */
    bool local, foreign;                                /* both ends are on loopback; the other one is, or may be, another user's */
    bool proven;                                        /* the peer has shown a certificate of the authority, and that it has its key */
    int64_t deadline;
    uint8_t nonce[16];
    artel__hello peer;
    char task[ARTEL__HELLO_NAME]; /* who should answer */
    char address[ARTEL__NET_ADDRESS_TEXT], why[512];
    uint8_t out[ARTEL__HELLO_BYTES], in[ARTEL__HELLO_BYTES]; /* greetings */
    size_t sent, received;
    artel__control *control; /* NULL until the first control message */
};

/* Ends the connection and says why; the first reason stays. */
void artel__connection_lose(artel__connection *connection, artel__net_fault fault, const char *reason);

/* Which host this is (artel__shared_host), when memory may be shared with the peer of such a connection; else 0. */
uint64_t artel__connection_host(const artel__connection *connection);
/* Once greeted: hands memory over, or takes what was handed over, if that can be; what to say about it. */
uint64_t artel__connection_answer_host(artel__connection *connection);
/* Once open: which way messages go. */
void artel__connection_begin_carrier(artel__connection *connection);
void artel__connection_forget_shared(artel__connection *connection);

void artel__control_progress(artel__connection *connection);
bool artel__control_waits(const artel__connection *connection); /* something is to be sent */

#endif
