/* SPDX-License-Identifier: Apache-2.0 */
/* The transport between processes: messages over TCP connections, plain or encrypted, one to each peer; to a peer on
 * this host through memory shared with it (net/shared.h), where both ends want that (artel__site.shares).
 *
 * On the wire a message is the 56-byte header (its crc field sums the 52 bytes before it) and its payload, every piece
 * padded to 8 bytes, in chunks of 256 KiB; each chunk has 8 bytes before it: {u32 crc, u32 word}, word 0, or 1: the
 * message is withdrawn here. Chunk sums cover the word and, on plain connections, the bytes (encrypted ones are
 * authenticated already, and those in memory have met no wire). All sums are masked with the connection's mask and the
 * number of the record, so that nothing damaged, repeated, left out or taken from another connection is accepted; such
 * a connection is lost, and logged.
 *
 * A long message from lendable memory to a peer that shares memory stays where it is: the header says how many pieces
 * it has there, and a description takes the place of the payload (net/tcp_lend.c).
 *
 * Memory: a message is taken in when a receive was posted for it; of messages nobody asked for yet, at most `window`
 * bytes a peer are kept, then that peer's connection is not read until they are asked for. Peers must therefore ask for
 * one another's messages in the order of sending, but for the window; collectives do. Where some overtake others,
 * nobody may wait for those before it has asked for these. Steady traffic makes no heap calls.
 *
 * Generations: messages of an older generation than the newest that was posted (or set) are dropped. A cancellation
 * reaches the peers as a message and holds for (generation, number of resumes in it) and everything before, so one that
 * comes late harms nobody. Therefore every attempt has a generation of its own, told to the endpoint before it begins
 * (artel__tcp_set_generation): ranks that were cancelled at different points agree about nothing else. Sockets may be
 * full when a rank cancels: the withdrawal of its last request then waits, 200 ms at the most, until the word is out.
 *
 * Why not gRPC for messages: bench/net_bench.c, loopback, messages of 4 MiB, AES-128-GCM, rates for each second of
 * processor time of the busier side: TCP 6.7 GB/s, OpenSSL over TCP 2.3, gRPC C-core with mutual TLS 1.46 (1.3 of wall
 * time). A rank sends and receives at once: with both directions on one core gRPC moves 0.84 GB/s each way, below the
 * 1 GB/s a core at which it would have carried the bulk; OpenSSL 1.3, TCP 5.1. A round trip of 4 bytes takes 33 us with
 * gRPC, 18 with TLS, 13 plain.
 */
#ifndef ARTEL_NET_TCP_H
#define ARTEL_NET_TCP_H

#include "net/far.h"

/* What these do is said in far.h. */
artel_status artel__tcp_create(artel_context *ctx, const artel__far_options *options, artel__endpoint **out);
artel_status artel__tcp_attach(artel__endpoint *endpoint, int peer, artel__connection *connection);
void artel__tcp_lose(artel__endpoint *endpoint, int peer, const char *reason);
bool artel__tcp_is_lost(artel__endpoint *endpoint, int peer);

/* Messages of older generations are dropped from here on, arrived ones too, and cancellations of older generations end.
 * None of the endpoint's requests may be posted. Posting a request of a newer generation does the same, but for this
 * rank's own cancellation, which needs a resume. */
void artel__tcp_set_generation(artel__endpoint *endpoint, uint32_t generation);

/* The next membership on the same connections: this rank is `rank` of `ranks` from here on, and new rank r is who was
 * `old_rank[r]` (-1: somebody new, to be attached; this rank's own entry is not looked at). Connections of those who
 * are no longer there are closed. None of the endpoint's requests may be posted (ARTEL_ERROR_INVALID); set the
 * generation afterwards. After ARTEL_ERROR_NO_MEMORY everything is as before. */
artel_status artel__tcp_remap(artel__endpoint *endpoint, int rank, int ranks, const int *old_rank);

/* Bytes kept for messages that nobody has asked for, of all peers. For tests and status. */
size_t artel__tcp_held_bytes(artel__endpoint *endpoint);

#endif
