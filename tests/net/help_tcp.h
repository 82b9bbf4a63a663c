/* SPDX-License-Identifier: Apache-2.0 */
/* Endpoints of the TCP driver that a test moves by hand. */
#ifndef ARTEL_TESTS_NET_HELP_TCP_H
#define ARTEL_TESTS_NET_HELP_TCP_H

#include "support/net_mesh.h"

/* All ranks in one context, which close ends, too. */
void tcp_open(support_mesh *mesh, int ranks, bool secure);
void tcp_close(support_mesh *mesh);
/* A message of generation 5 of at most one piece. */
artel__net_request tcp_request(int peer, uint32_t slice, const artel__net_piece *piece);
/* Progresses all ranks until `done` or an error of rank `of`; returns the last status of that rank. */
artel_status tcp_run(support_mesh *mesh, int of, const artel__net_request *done);

#endif
