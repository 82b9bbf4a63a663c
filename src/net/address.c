/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses are compared by their bytes; an IPv4 address inside IPv6 (::ffff:a.b.c.d) counts as what it is. */
#include "net/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* Cuts "host:port" apart; brackets go. */
static bool split(const char *text, char *host, size_t host_bytes, char *port, size_t port_bytes)
{
    const char *colon = strrchr(text, ':');
    int64_t number;
    if (!colon || strlen(colon + 1) >= port_bytes) return false;
    /* Without a sign; what is larger libc would wrap. */
    if (colon[1] < '0' || !artel__parse_int64(colon + 1, &number) || number > 65535) return false;
    const char *begin = text, *end = colon;
    if (*begin == '[') {
        begin++;
        if (end == begin || *--end != ']') return false;
    }
    size_t length = (size_t)(end - begin);
    if (length == 0 || length >= host_bytes) return false;
    memcpy(host, begin, length);
    host[length] = '\0';
    strcpy(port, colon + 1);
    return true;
}

static int look_up(const char *text, int flags, artel__net_address *out)
{
    char host[256], port[8];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = flags | AI_NUMERICSERV}, *list;
    if (!split(text, host, sizeof host, port, sizeof port)) return EAI_BADFLAGS;
    int result = getaddrinfo(host, port, &hints, &list);
    if (result != 0) return result;
    *out = (artel__net_address){.bytes = list->ai_addrlen};
    memcpy(&out->socket, list->ai_addr, list->ai_addrlen);
    freeaddrinfo(list);
    return 0;
}

/* What looks like an address and is none. */
static artel_status check_form(artel_context *ctx, const char *text)
{
    const char *scheme = strstr(text, "://"), *colon = strrchr(text, ':');
    int64_t port;
    if (scheme)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, text, "leave out what stands in front of the host",
                           "this is a URL (expected host:port)");
    if (colon && colon[1] >= '0' && artel__parse_int64(colon + 1, &port) && port > 65535)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, text, "ports are numbers up to 65535", "there is no port %lld",
                           (long long)port);
    return ARTEL_OK;
}

artel_status artel__net_address_resolve(artel_context *ctx, const char *text, artel__net_address *out)
{
    ARTEL_TRY(check_form(ctx, text));
    int result = look_up(text, 0, out);
    if (result == EAI_BADFLAGS || result == EAI_SERVICE)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, text, "write host:port, IPv6 addresses in brackets",
                           "not an address");
    if (result != 0)
        return artel__fail(ctx, ARTEL_ERROR_NOT_FOUND, text, "check the name", "cannot be resolved: %s",
                           gai_strerror(result));
    return ARTEL_OK;
}

bool artel__net_address_parse(const char *text, artel__net_address *out)
{
    return look_up(text, AI_NUMERICHOST, out) == 0;
}

/* The four bytes of an IPv4 address, mapped ones too; NULL for others. */
static const uint8_t *four_bytes(const artel__net_address *a)
{
    if (a->socket.ss_family == AF_INET) return (const uint8_t *)&((const struct sockaddr_in *)&a->socket)->sin_addr;
    if (a->socket.ss_family != AF_INET6) return NULL;
    const struct in6_addr *six = &((const struct sockaddr_in6 *)&a->socket)->sin6_addr;
    return IN6_IS_ADDR_V4MAPPED(six) ? six->s6_addr + 12 : NULL;
}

const char *artel__net_address_text(const artel__net_address *address, char out[ARTEL__NET_ADDRESS_TEXT])
{
    char host[INET6_ADDRSTRLEN] = "?";
    const uint8_t *four = four_bytes(address);
    if (four) {
        inet_ntop(AF_INET, four, host, sizeof host);
        snprintf(out, ARTEL__NET_ADDRESS_TEXT, "%s:%d", host, artel__net_address_port(address));
        return out;
    }
    if (address->socket.ss_family == AF_INET6)
        inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)&address->socket)->sin6_addr, host, sizeof host);
    snprintf(out, ARTEL__NET_ADDRESS_TEXT, "[%s]:%d", host, artel__net_address_port(address));
    return out;
}

bool artel__net_address_is_loopback(const artel__net_address *address)
{
    const uint8_t *four = four_bytes(address);
    if (four) return four[0] == 127;
    return address->socket.ss_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)&address->socket)->sin6_addr);
}

bool artel__net_address_same_host(const artel__net_address *a, const artel__net_address *b)
{
    const uint8_t *x = four_bytes(a), *y = four_bytes(b);
    if (x && y) return memcmp(x, y, 4) == 0;
    if (x || y || a->socket.ss_family != b->socket.ss_family || a->socket.ss_family != AF_INET6) return false;
    return memcmp(&((const struct sockaddr_in6 *)&a->socket)->sin6_addr,
                  &((const struct sockaddr_in6 *)&b->socket)->sin6_addr, 16) == 0;
}

int artel__net_address_port(const artel__net_address *address)
{
    if (address->socket.ss_family == AF_INET) return ntohs(((const struct sockaddr_in *)&address->socket)->sin_port);
    if (address->socket.ss_family == AF_INET6) return ntohs(((const struct sockaddr_in6 *)&address->socket)->sin6_port);
    return 0;
}
