/* SPDX-License-Identifier: Apache-2.0 */
/* How two processes of one host come to share a segment: see net/shared.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/hash.h"
#include "net/shared_impl.h"

#define MAGIC UINT64_C(0x31676e69726c7461) /* "atlring1" */

enum {
    HANDED = 3 /* descriptors: the segment, the accepting end's wake, the connecting end's */
};

/* -- which host -- */

uint64_t artel__shared_host(void)
{
    struct {
        char boot[40];
        uint64_t device, inode, user;
    } facts = {.user = (uint64_t)geteuid()};
    struct stat space;
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    ssize_t n = read(fd, facts.boot, sizeof facts.boot - 1);
    close(fd);
    if (n < 36 || stat("/proc/self/ns/net", &space) < 0) return 0;
    facts.device = (uint64_t)space.st_dev;
    facts.inode = (uint64_t)space.st_ino;
    return artel__hash64(&facts, sizeof facts);
}

/* -- meeting -- */

static socklen_t name_of(const uint8_t nonce[16], struct sockaddr_un *out)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    int length = snprintf(out->sun_path + 1, sizeof out->sun_path - 1, "artel-"); /* a zero byte before it: no file */
    for (int i = 0; i < 16; i++) length += snprintf(out->sun_path + 1 + length, 3, "%02x", nonce[i]);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

static bool same_user(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

int artel__shared_listen(const uint8_t nonce[16])
{
    struct sockaddr_un name;
    socklen_t length = name_of(nonce, &name);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    if (bind(fd, (struct sockaddr *)&name, length) == 0 && listen(fd, 1) == 0) return fd;
    close(fd);
    return -1;
}

static int meet(const uint8_t nonce[16])
{
    struct sockaddr_un name;
    socklen_t length = name_of(nonce, &name);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    if (connect(fd, (struct sockaddr *)&name, length) == 0 && same_user(fd)) return fd;
    close(fd);
    return -1;
}

typedef union handed {
    struct cmsghdr header;
    char room[CMSG_SPACE(HANDED * sizeof(int))];
} handed;

bool artel__shared_send_descriptors(int socket, uint64_t what, const int *fd, int count)
{
    handed box = {.room = {0}};
    struct iovec one = {&what, sizeof what};
    struct msghdr message = {.msg_iov = &one, .msg_iovlen = 1, .msg_control = box.room};
    message.msg_controllen = CMSG_SPACE((size_t)count * sizeof(int));
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN((size_t)count * sizeof(int));
    memcpy(CMSG_DATA(c), fd, (size_t)count * sizeof(int));
    return sendmsg(socket, &message, MSG_NOSIGNAL) == (ssize_t)sizeof what;
}

bool artel__shared_receive_descriptors(int socket, uint64_t *what, int *fd, int count)
{
    handed box = {.room = {0}};
    struct iovec one = {what, sizeof *what};
    struct msghdr message = {.msg_iov = &one, .msg_iovlen = 1, .msg_control = box.room};
    message.msg_controllen = CMSG_SPACE((size_t)count * sizeof(int));
    ssize_t n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    const struct cmsghdr *c = n < 0 ? NULL : CMSG_FIRSTHDR(&message);
    if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) return false;
    int got = (int)((c->cmsg_len - CMSG_LEN(0)) /
                    sizeof(int)); /* the system has seen to it that no more than the room are there */
    for (int i = 0; i < got && i < count; i++) memcpy(&fd[i], CMSG_DATA(c) + (size_t)i * sizeof(int), sizeof(int));
    return got == count && n == (ssize_t)sizeof *what;
}

/* -- the segment -- */

static void close_all(int fd[HANDED])
{
    for (int i = 0; i < HANDED; i++) {
        if (fd[i] >= 0) close(fd[i]);
        fd[i] = -1;
    }
}

static bool make(int fd[HANDED])
{
    fd[0] = artel__sealed_file(sizeof(artel__shared_segment));
    fd[1] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    fd[2] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return fd[0] >= 0 && fd[1] >= 0 && fd[2] >= 0 && fcntl(fd[0], F_ADD_SEALS, F_SEAL_SEAL) == 0;
}

/* Maps the segment and moves the descriptors that are kept out of `fd`. */
static bool map(artel_context *ctx, int fd[HANDED], int side, artel__shared **out)
{
    void *block;
    if (artel__calloc(ctx, 1, sizeof(artel__shared), "shared memory", &block) < 0) return false;
    artel__shared *s = block;
    void *memory = mmap(NULL, sizeof *s->segment, PROT_READ | PROT_WRITE, MAP_SHARED, fd[0], 0);
    if (memory == MAP_FAILED) {
        artel__free(ctx, s);
        return false;
    }
    *s = (artel__shared){
        .ctx = ctx, .segment = memory, .side = side, .wake = fd[1 + side], .wake_peer = fd[2 - side], .pass = -1};
    fd[1] = fd[2] = -1;
    *out = s;
    return true;
}

/* The socket stays with what was made over it. */
static bool keep(artel__shared *s, bool good, int socket, artel__shared **out)
{
    if (good) {
        s->pass = socket;
        *out = s;
        return true;
    }
    close(socket);
    artel__shared_destroy(s);
    return false;
}

bool artel__shared_offer(artel_context *ctx, const uint8_t proof[ARTEL__SHARED_PROOF], artel__shared **out)
{
    int fd[HANDED] = {-1, -1, -1}, socket = meet(proof);
    artel__shared *s = NULL;
    bool good = false;
    if (socket < 0) return false;
    if (make(fd)) {
        int kept[HANDED] = {fd[0], fd[1], fd[2]};
        if (map(ctx, fd, 0, &s)) {
            s->segment->magic = MAGIC;
            s->segment->ring_bytes = ARTEL__SHARED_RING;
            memcpy(s->segment->proof, proof, ARTEL__SHARED_PROOF);
            good = artel__shared_send_descriptors(socket, MAGIC, kept, HANDED);
        }
    }
    close_all(fd);
    return keep(s, good, socket, out);
}

static bool is_right(const artel__shared *s, const uint8_t proof[ARTEL__SHARED_PROOF])
{
    return s->segment->magic == MAGIC && s->segment->ring_bytes == ARTEL__SHARED_RING &&
           memcmp(s->segment->proof, proof, ARTEL__SHARED_PROOF) == 0;
}

bool artel__shared_take(artel_context *ctx, int listening, const uint8_t proof[ARTEL__SHARED_PROOF],
                        artel__shared **out)
{
    int fd[HANDED] = {-1, -1, -1}, socket = accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    artel__shared *s = NULL;
    size_t bytes;
    uint64_t what;
    if (socket < 0) return false;
    bool good = same_user(socket) && artel__shared_receive_descriptors(socket, &what, fd, HANDED) && what == MAGIC &&
                artel__is_sealed_file(fd[0], &bytes) && bytes == sizeof(artel__shared_segment) && map(ctx, fd, 1, &s) &&
                is_right(s, proof);
    close_all(fd);
    return keep(s, good, socket, out);
}

void artel__shared_destroy(artel__shared *s)
{
    if (!s) return;
    artel__shared_end_lending(s);
    if (s->pass >= 0) close(s->pass);
    munmap(s->segment, sizeof *s->segment);
    close(s->wake);
    close(s->wake_peer);
    artel__free(s->ctx, s);
}
