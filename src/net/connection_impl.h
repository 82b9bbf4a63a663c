/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a connection, for connection.c (up to the greeting), connection_judge.c, connection_share.c (a part of
 * that), control.c (after it) and connection_look.c (always). */
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
    bool local, foreign; /* both ends are on loopback; the other one is, or may be, another user's */
    bool proven;         /* the peer has shown a certificate of the authority, and that it has its key */
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

enum {
    ARTEL__CONNECTION_RECORD = ARTEL__CONNECTION_FIRST +
                               4096 /* of the first record; ours has some hundred bytes, OpenSSL would take in 128 KB */
};

/* Of who accepts: whether the first record of TLS is here, or what is no such record and no less than its head. Until
 * then the socket is asked to wake nobody. A peer that has ended sends no more: whoever reads will notice. */
bool artel__connection_first_is_here(const artel__connection *connection);
/* Whether this way may go unencrypted where no certificate is: only within this machine, unless told otherwise. */
bool artel__connection_may_be_plain(artel__connection *connection, const artel__net_address *peer);
/* Where nothing encrypts, within this machine: whether the other end is a process of this user; else LOST (it has
 * ended) or PLAINTEXT, and why. Who accepts asks before it reads a word, who connects when the other end has greeted
 * (before it has accepted, the kernel knows nobody there). */
artel__net_fault artel__connection_judge_owner(artel__connection *connection, char reason[ARTEL__HELLO_REASON]);
/* Whether TLS, whose first record is here, is begun as artel begins it: what is longer is not even looked at. */
bool artel__connection_begins_well(const artel__connection *connection);
/* Once greeted: the peer's certificate, claim, job, identity, and the site's own rule. */
artel__net_fault artel__connection_judge_peer(artel__connection *connection, char reason[ARTEL__HELLO_REASON]);

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
