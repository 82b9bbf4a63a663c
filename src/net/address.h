/* SPDX-License-Identifier: Apache-2.0 */
/* Socket addresses: "host:port" to numbers and back. */
#ifndef ARTEL_NET_ADDRESS_H
#define ARTEL_NET_ADDRESS_H

#include <sys/socket.h>

#include "base/context.h"

enum {
    ARTEL__NET_ADDRESS_TEXT = 80 /* bytes that any address takes as text */
};

typedef struct artel__net_address {
    struct sockaddr_storage socket;
    socklen_t bytes;
} artel__net_address;

/* "name:port", "1.2.3.4:port", "[::1]:port". Blocks as long as the system's resolver does; the first address is taken.
 * Errors: ARTEL_ERROR_INVALID (form), ARTEL_ERROR_NOT_FOUND (no such name, or not now: worth another try). */
artel_status artel__net_address_resolve(artel_context *ctx, const char *text, artel__net_address *out);

/* The same without the resolver: false for anything but numbers. */
bool artel__net_address_parse(const char *text, artel__net_address *out);

/* "1.2.3.4:port" or "[::1]:port"; returns `out`. */
const char *artel__net_address_text(const artel__net_address *address, char out[ARTEL__NET_ADDRESS_TEXT]);

bool artel__net_address_is_loopback(const artel__net_address *address);
bool artel__net_address_same_host(const artel__net_address *a, const artel__net_address *b);
int artel__net_address_port(const artel__net_address *address);

#endif
