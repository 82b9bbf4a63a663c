/* SPDX-License-Identifier: Apache-2.0 */
/* An opened plug-in: its devices, arrays on them, programs compiled for them.
 *
 * A platform is made once first contact in a child (plugin.h) has shown that the plug-in does not end its process. Nothing waits that does
 * not say so: arrays and launches are enqueued, and what is read waits for what it depends on. A failure of a launch may show when its
 * results are read. Devices are numbered as the plug-in lists them.
 *
 * A platform may be used by several threads; a buffer by one at a time. Arrays on devices are row-major to this side, whatever a device
 * makes of it; BOOL is a byte of 0 or 1.
 */
#ifndef ARTEL_DEVICE_DEVICE_H
#define ARTEL_DEVICE_DEVICE_H

#include "base/text.h"
#include "device/plugin.h"
#include "tensor/shape.h"

typedef struct artel__platform artel__platform;
typedef struct artel__program artel__program; /* loaded for every device of its platform */
typedef struct PJRT_Event artel__copy;        /* an array on its way from or to this machine's memory */
typedef struct PJRT_Buffer artel__buffer;     /* an array on a device; may still be on its way */

/* Asks the plug-in in a child first, which is forked and goes on to take memory: so platforms are opened before there are threads.
 * `virtual_devices`: as there; it belongs to the arithmetic of XLA's CPU, which cuts long sums by its number of threads. Errors: as
 * artel__plugin_ask. */
artel_status artel__platform_open(artel_context *ctx, const artel__plugin *plugin, int virtual_devices, artel__platform **out);
void artel__platform_close(artel__platform *platform); /* NULL: nothing; programs and buffers go first */

/* Compiles StableHLO text with a public @main. `name` is for messages. Errors, `where` the name: UNSUPPORTED (the plug-in refuses the
 * program), NO_MEMORY. */
artel_status artel__program_compile(artel__platform *platform, const char *name, const char *text, size_t length, artel__program **out);
/* A program as bytes, for a cache or for a process with the very same plug-in and kind of device; others may load it and fail later. */
artel_status artel__program_store(artel__program *program, artel__text *out);
artel_status artel__program_load(artel__platform *platform, const char *name, const void *bytes, size_t length, artel__program **out);
void artel__program_release(artel__program *program);
int artel__program_results(const artel__program *program);

/* Bytes, by the plug-in's own figures; -1 where it has none. `shared`: of results that take the place of arguments. */
typedef struct artel__program_memory {
    int64_t arguments, results, shared, scratch;
} artel__program_memory;
void artel__program_memory_read(const artel__program *program, artel__program_memory *out);

/* Enqueues the program on one device. Arguments that the program gives away (artel__hlo_argument) are spent: they may only be released.
 * `out` takes artel__program_results() buffers. */
artel_status artel__program_launch(artel__program *program, int device, artel__buffer *const *in, int count, artel__buffer **out);

/* `host` may be changed when the call returns. */
artel_status artel__buffer_put(artel__platform *platform, int device, artel_dtype dtype, const artel_shape *shape, const void *host,
                               artel__buffer **out);
/* Without waiting: `host` stays as it is until the copy has been waited for. */
artel_status artel__buffer_put_begin(artel__platform *platform, int device, artel_dtype dtype, const artel_shape *shape, const void *host,
                                     artel__copy **copy, artel__buffer **out);
/* Waits for the array and copies it: `bytes` must be its size. */
artel_status artel__buffer_get(artel__platform *platform, artel__buffer *buffer, void *host, size_t bytes);
/* The same in two halves: enqueues the copy of one array after another; then all must be waited for, each once. `host` stays. */
artel_status artel__buffer_get_begin(artel__platform *platform, artel__buffer *buffer, void *host, size_t bytes, artel__copy **out);
artel_status artel__copy_wait(artel__platform *platform, artel__copy *copy);
/* Waits until the array is there; its failure shows when it is read. */
void artel__buffer_wait(artel__platform *platform, artel__buffer *buffer);
/* Enqueues a copy to another device. */
artel_status artel__buffer_copy(artel__platform *platform, artel__buffer *buffer, int device, artel__buffer **out);
void artel__buffer_release(artel__platform *platform, artel__buffer *buffer);

#endif
