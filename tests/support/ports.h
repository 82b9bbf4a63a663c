/* SPDX-License-Identifier: Apache-2.0 */
/* Ports for tasks that a test starts later, or again. */
#ifndef SUPPORT_PORTS_H
#define SUPPORT_PORTS_H

/* A port of 127.0.0.1, and a socket that holds it: while that is open nobody is given the port; a task listens there
 * nevertheless, for both set SO_REUSEADDR. A port that merely was free a moment ago may be another test's by now. */
int support_port_hold(int *out_socket);

#endif
