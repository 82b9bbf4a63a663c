/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of this machine, measured: what the speed of anything else can be related to. */
#ifndef ARTEL_CLI_MACHINE_H
#define ARTEL_CLI_MACHINE_H

#include "base/threads.h"

/* Operations a second of one thread, two for each fused multiply-add in registers, of float32, of AVX512_BF16's pairs
 * or of AMX' tiles; 0 when the instruction set has none or the processor lacks it. The best of several runs, in
 * processor time of the thread. */
double artel__machine_peak(artel__isa isa);
/* The same of all threads of a pool together, in wall time: threads that share a core do what the core can. */
double artel__machine_peak_of(artel__pool *pool, artel__isa isa);

/* Bytes a second of one thread over a buffer of `bytes`: read, or copied (bytes of the source counted). 0: no memory.
 */
double artel__machine_read(size_t bytes);
double artel__machine_copy(size_t bytes);

/* Median seconds of writing 4 KiB to a new file in `folder` and fsync. Fails with ARTEL_ERROR_IO. */
artel_status artel__machine_fsync(artel_context *ctx, const char *folder, double *seconds);
/* Median seconds of one byte to another thread and back over TCP on the loopback device; 0 when sockets cannot be had.
 */
double artel__machine_round_trip(void);

#endif
