/* SPDX-License-Identifier: Apache-2.0 */
/* What net_bench measures: carriers of byte messages between two processes, each in a file of its own. */
#ifndef NET_BENCH_H
#define NET_BENCH_H

#include <stdbool.h>
#include <stddef.h>

enum {
    SERVER,
    CLIENT
};

/* A certificate authority and a certificate for each side, as PEM text. */
typedef struct credentials {
    char *ca, *certificate[2], *key[2];
} credentials;

/* One side's connection. Functions end the process with a message when something fails. */
typedef struct carrier {
    const char *name;
    /* Before the fork: the server's place of meeting, a socket or a port of its choice. */
    void (*prepare)(const credentials *c, int *meeting);
    void *(*open)(const credentials *c, int meeting, int side); /* after the fork; NULL: not on this machine */
    void (*send)(void *link, const void *bytes, size_t count);
    void (*receive)(void *link, void *bytes, size_t count);
    void (*close)(void *link);
} carrier;

extern const carrier carrier_tcp, carrier_tls128, carrier_tls256, carrier_ktls, carrier_grpc;

_Noreturn void give_up(const char *what);

#endif
