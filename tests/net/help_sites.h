/* SPDX-License-Identifier: Apache-2.0 */
/* Two tasks that listen in one context, and strangers at the port of the second. */
#ifndef ARTEL_TESTS_NET_HELP_SITES_H
#define ARTEL_TESTS_NET_HELP_SITES_H

#include "support/net_mesh.h"

/* With a context of the mesh's own, which close ends, too. */
void sites_open(support_mesh *mesh, bool secure);
void sites_close(support_mesh *mesh);
/* A plain socket that is connected to the port of rank 1. */
int sites_dial(const support_mesh *mesh);

#endif
