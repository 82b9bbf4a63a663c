/* SPDX-License-Identifier: Apache-2.0 */
/* Task names and network addresses: text taken apart, nothing looked up.
 *
 * Hosts are checked for characters that no name has, so that an address can be printed, put into a certificate and
 * given to a resolver as it is.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cluster/cluster.h"

static const char *const type_names[ARTEL__TASK_COUNT] = {"chief", "worker", "ps", "evaluator"};

const char *artel__task_type_name(artel__task_type type)
{
    return type_names[type];
}

bool artel__task_type_find(const char *name, artel__task_type *out)
{
    for (int i = 0; i < ARTEL__TASK_COUNT; i++) {
        if (strcmp(name, type_names[i]) != 0) continue;
        *out = (artel__task_type)i;
        return true;
    }
    if (strcmp(name, "master") != 0) return false;
    *out = ARTEL__TASK_CHIEF;
    return true;
}

bool artel__task_parse(const char *text, artel__task *out)
{
    char type[16];
    artel__task task = {.index = 0};
    size_t length = strcspn(text, ":-/");
    if (length >= sizeof type) return false;
    memcpy(type, text, length);
    type[length] = '\0';
    if (!artel__task_type_find(type, &task.type)) return false;
    if (text[length]) {
        int64_t index;
        if (!isdigit((unsigned char)text[length + 1]) || !artel__parse_int64(text + length + 1, &index)) return false;
        if (index > ARTEL__CLUSTER_MAX_INDEX) return false;
        task.index = (int32_t)index;
    } else if (task.type != ARTEL__TASK_CHIEF && task.type != ARTEL__TASK_EVALUATOR) {
        return false;
    }
    *out = task;
    return true;
}

/* Letters, digits, '.', '-' and '_' (which Windows and Kubernetes names may hold); labels are not judged further. */
static bool is_host(const char *host)
{
    for (const char *c = host; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr(".-_", *c)) return false;
    return isalnum((unsigned char)host[0]) || host[0] == '_';
}

/* Hexadecimal groups, an IPv4 tail, a zone after '%'. */
static bool is_v6(const char *host)
{
    size_t groups = strspn(host, "0123456789abcdefABCDEF:.");
    if (!strchr(host, ':')) return false;
    if (host[groups] == '%')
        return host[groups + 1] &&
               strspn(host + groups + 1, "0123456789abcdefghijklmnopqrstuvwxyz.-_") + groups + 1 == strlen(host);
    return host[groups] == '\0';
}

/* The shortest form of an IPv6 address, so that two of them can be compared as text; a zone stays. False when it is
 * none. */
static bool one_spelling(char host[ARTEL__HOST_MAX + 1])
{
    struct in6_addr address;
    char text[INET6_ADDRSTRLEN], zone[ARTEL__HOST_MAX + 1];
    snprintf(zone, sizeof zone, "%s", host + strcspn(host, "%"));
    host[strcspn(host, "%")] = '\0';
    if (inet_pton(AF_INET6, host, &address) != 1 || !inet_ntop(AF_INET6, &address, text, sizeof text)) return false;
    snprintf(host, ARTEL__HOST_MAX + 1, "%s%.200s", text, zone);
    return true;
}

static const char *parse_port(const char *text, int *out)
{
    int64_t port;
    if (!isdigit((unsigned char)text[0]) || strlen(text) > 5 || !artel__parse_int64(text, &port))
        return "the port is not a number from 1 to 65535";
    if (port < 1 || port > 65535) return "the port is not a number from 1 to 65535";
    *out = (int)port;
    return NULL;
}

static const char *parse_bracketed(const char *text, artel__host_port *out)
{
    const char *end = strchr(text, ']');
    if (!end || end[1] != ':') return "the form is not [address]:port";
    size_t length = (size_t)(end - text) - 1;
    if (length > ARTEL__HOST_MAX) return "the host name is too long";
    memcpy(out->host, text + 1, length);
    out->host[length] = '\0';
    out->v6 = true;
    return is_v6(out->host) && one_spelling(out->host) ? parse_port(end + 2, &out->port)
                                                       : "what stands in brackets is not an IPv6 address";
}

const char *artel__host_port_parse(const char *text, artel__host_port *out)
{
    memset(out, 0, sizeof *out);
    if (artel__starts_with(text, "grpc://")) text += strlen("grpc://");
    if (strstr(text, "://")) return "it begins as a URL does, and should be host:port alone (or after grpc://)";
    if (strchr(text, '@')) return "it names a user, and should be host:port alone";
    if (text[0] == '[') return parse_bracketed(text, out);
    const char *colon = strrchr(text, ':');
    if (!text[0]) return "it is empty";
    if (!colon) return "the port is missing";
    if (strchr(text, ':') != colon) return "an IPv6 address needs brackets";
    size_t length = (size_t)(colon - text);
    if (length == 0) return "the host is missing";
    if (length > ARTEL__HOST_MAX) return "the host name is too long";
    memcpy(out->host, text, length);
    out->host[length] = '\0';
    return is_host(out->host) ? parse_port(colon + 1, &out->port)
                              : "the host name holds a character that no host name has";
}

bool artel__host_is_name(const char *host)
{
    struct in6_addr number;
    return host[0] && inet_pton(AF_INET, host, &number) != 1 && inet_pton(AF_INET6, host, &number) != 1 &&
           strcmp(host, "localhost") != 0;
}

const char *artel__host_port_format(artel__arena *arena, const char *host, int port)
{
    return strchr(host, ':') ? artel__arena_printf(arena, "[%s]:%d", host, port)
                             : artel__arena_printf(arena, "%s:%d", host, port);
}
