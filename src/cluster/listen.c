/* SPDX-License-Identifier: Apache-2.0 */
/* From the address that others know to one that a socket can be bound to. */
#include "cluster/listen.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

static bool parse(const char *host, int port, artel__net_address *out)
{
    char text[ARTEL__HOST_MAX + 16];
    bool v6 = strchr(host, ':') != NULL && host[0] != '[';
    snprintf(text, sizeof text, "%s%.200s%s:%d", v6 ? "[" : "", host, v6 ? "]" : "", port);
    return artel__net_address_parse(text, out);
}

artel_status artel__listen_address(artel_context *ctx, const artel__host_port *known, const char *bind, int port,
                                   artel__net_address *out)
{
    if (bind && parse(bind, port, out)) return ARTEL_OK;
    if (bind)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, ".bind",
                           "give an address of this machine: 10.0.0.5, ::", "\"%.100s\" is not an address", bind);
    if (strcmp(known->host, "localhost") == 0) return parse("127.0.0.1", port, out) ? ARTEL_OK : ARTEL_ERROR_INTERNAL;
    if (parse(known->host, port, out) && artel__net_address_is_loopback(out)) return ARTEL_OK;
    return parse(known->v6 ? "::" : "0.0.0.0", port, out) ? ARTEL_OK : ARTEL_ERROR_INTERNAL;
}

void artel__listen_reach(const artel__net_address *listening, int port, artel__net_address *out)
{
    *out = *listening;
    if (out->socket.ss_family == AF_INET6) {
        struct sockaddr_in6 *six = (struct sockaddr_in6 *)&out->socket;
        six->sin6_port = htons((uint16_t)port);
        if (IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr)) six->sin6_addr = in6addr_loopback;
        return;
    }
    struct sockaddr_in *four = (struct sockaddr_in *)&out->socket;
    four->sin_port = htons((uint16_t)port);
    if (four->sin_addr.s_addr == htonl(INADDR_ANY)) four->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
}
