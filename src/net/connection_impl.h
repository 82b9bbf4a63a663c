/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a connection, for connection.c (up to the greeting) and control.c (after it). */
#ifndef ARTEL_NET_CONNECTION_IMPL_H
#define ARTEL_NET_CONNECTION_IMPL_H

#include "net/connection.h"

typedef struct artel__control artel__control;

struct artel__connection {
    artel__site *site;
    artel__net_stream stream;
    artel__connection_state state;
    artel__net_purpose purpose;
    artel__net_fault fault;
    bool server, looked, greeted, refused_there;
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

void artel__control_progress(artel__connection *connection);
bool artel__control_waits(const artel__connection *connection); /* something is to be sent */

#endif
