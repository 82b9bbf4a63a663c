/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's list of TCP sockets, asked for one entry by sock_diag(7), or read from /proc/net/tcp.
 *
 * A socket that was closed before it is asked for belongs to nobody (inode 0), and its user number means nothing: that
 * is what a peer would look like that has said its word and run away. Addresses of IPv4 in the form of IPv6 are those
 * of IPv4 to the kernel.
 */
#include "net/owner.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVERY_STATE UINT32_MAX
#define ANSWER_SECONDS 1

/* An end as the kernel keeps it: 4 or 16 bytes, network order. */
typedef struct end {
    int family;
    uint32_t word[4];
    uint16_t port;
} end;

static bool take_end(const struct sockaddr_storage *from, end *out)
{
    *out = (end){.family = from->ss_family};
    if (from->ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)from;
        out->word[0] = v4->sin_addr.s_addr;
        out->port = v4->sin_port;
        return true;
    }
    if (from->ss_family != AF_INET6) return false;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)from;
    out->port = v6->sin6_port;
    memcpy(out->word, &v6->sin6_addr, sizeof out->word);
    if (!IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) return true;
    *out = (end){.family = AF_INET, .word = {out->word[3]}, .port = out->port};
    return true;
}

/* -- sock_diag -- */

static bool send_question(int netlink, const end *there, const end *here)
{
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 body;
    } question;
    memset(&question, 0, sizeof question);
    question.head = (struct nlmsghdr){
        .nlmsg_len = sizeof question, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST};
    question.body.sdiag_family = (uint8_t)there->family;
    question.body.sdiag_protocol = IPPROTO_TCP;
    question.body.idiag_states = EVERY_STATE;
    question.body.id.idiag_sport = there->port;
    question.body.id.idiag_dport = here->port;
    memcpy(question.body.id.idiag_src, there->word, sizeof there->word);
    memcpy(question.body.id.idiag_dst, here->word, sizeof here->word);
    question.body.id.idiag_cookie[0] = question.body.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    return send(netlink, &question, sizeof question, 0) == (ssize_t)sizeof question;
}

/* 1: known, 0: nobody, -1: it cannot be asked. */
static int ask(const end *there, const end *here, uid_t *out)
{
    union {
        struct nlmsghdr head;
        char bytes[4096];
    } answer;
    int netlink = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (netlink < 0) return -1;
    const struct timeval limit = {.tv_sec = ANSWER_SECONDS};
    setsockopt(netlink, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ssize_t count = send_question(netlink, there, here) ? recv(netlink, &answer, sizeof answer, 0) : -1;
    close(netlink);
    if (count < (ssize_t)sizeof answer.head) return -1;
    struct nlmsgerr error;
    if (answer.head.nlmsg_type == NLMSG_ERROR && count >= (ssize_t)NLMSG_LENGTH(sizeof error)) {
        memcpy(&error, NLMSG_DATA(&answer.head), sizeof error);
        return error.error == -ENOENT ? 0 : -1;
    }
    struct inet_diag_msg found;
    if (answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY || count < (ssize_t)NLMSG_LENGTH(sizeof found)) return -1;
    memcpy(&found, NLMSG_DATA(&answer.head), sizeof found);
    *out = found.idiag_uid;
    return found.idiag_inode != 0;
}

/* -- /proc -- */

static void write_end(const end *e, char out[48])
{
    int words = e->family == AF_INET ? 1 : 4, used = 0;
    for (int i = 0; i < words; i++) used += snprintf(out + used, 48 - (size_t)used, "%08X", e->word[i]);
    snprintf(out + used, 48 - (size_t)used, ":%04X", ntohs(e->port));
}

static bool look_up(const end *there, const end *here, uid_t *out)
{
    char line[512], from[48], to[48], wanted[2][48];
    unsigned owner, inode;
    bool found = false;
    FILE *list = fopen(there->family == AF_INET ? "/proc/net/tcp" : "/proc/net/tcp6", "re");
    write_end(there, wanted[0]);
    write_end(here, wanted[1]);
    while (list && !found && fgets(line, sizeof line, list)) {
        if (sscanf(line, " %*d: %47s %47s %*x %*s %*s %*s %u %*u %u", from, to, &owner, &inode) != 4) continue;
        if (strcmp(from, wanted[0]) != 0 || strcmp(to, wanted[1]) != 0) continue;
        found = inode != 0;
        *out = owner;
    }
    if (list) fclose(list);
    return found;
}

bool artel__net_owner(int socket, uid_t *out)
{
    struct sockaddr_storage local, peer;
    socklen_t sizes[2] = {sizeof local, sizeof peer};
    end here, there;
    if (getsockname(socket, (struct sockaddr *)&local, &sizes[0]) < 0 ||
        getpeername(socket, (struct sockaddr *)&peer, &sizes[1]) < 0)
        return false;
    if (!take_end(&local, &here) || !take_end(&peer, &there) || here.family != there.family) return false;
    int answer = ask(&there, &here, out);
    return answer < 0 ? look_up(&there, &here, out) : answer > 0;
}

bool artel__net_owner_is_trusted(uid_t owner)
{
    return owner == geteuid() || owner == 0;
}
