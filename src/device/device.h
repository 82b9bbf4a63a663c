/* SPDX-License-Identifier: Apache-2.0 */
/* An opened plug-in: its devices, arrays on them, programs compiled for them.
 *
 * A platform is made once first contact in a child (plugin.h) has shown that the plug-in does not end its process.
 * Nothing waits that does not say so: arrays and launches are enqueued, and what is read waits for what it depends on.
 * A failure of a launch may show when its results are read. Devices are numbered as the plug-in lists them.
 *
 * A platform may be used by several threads; a buffer by one at a time. Arrays on devices are row-major to this side,
 * whatever a device makes of it; BOOL is a byte of 0 or 1.
 */
#ifndef ARTEL_DEVICE_DEVICE_H
#define ARTEL_DEVICE_DEVICE_H

#include "base/text.h"
#include "device/cache.h"
#include "device/plugin.h"
#include "tensor/shape.h"

typedef struct artel__platform artel__platform;
typedef struct artel__program artel__program; /* loaded for every device of its platform */
typedef struct PJRT_Event artel__copy;        /* an array on its way from or to this machine's memory */
typedef struct PJRT_Buffer artel__buffer;     /* an array on a device; may still be on its way */

/* Asks the plug-in in a child first, which is forked and goes on to take memory: so platforms are opened before there
 * are threads. The number of virtual devices belongs to the arithmetic of XLA's CPU, which cuts long sums by its number
 * of threads. Errors: as artel__plugin_ask. */
artel_status artel__platform_open(artel_context *ctx, const artel__plugin *plugin, const artel__client_options *options,
                                  artel__platform **out);
/* What a device has left; with ARTEL_DEVICE_MEMORY_MB of environment at most that. -1: it is not known. */
int64_t artel__platform_free_bytes(const artel__platform *platform, int device);
/* Devices that are not here: programs can be compiled for them, and nothing else. `target`: "h100", or a TPU topology,
 * "v5e:2x2". The plug-in is opened in this process. Errors: INVALID (no such target of that kind of plug-in),
 * UNSUPPORTED. */
artel_status artel__platform_open_target(artel_context *ctx, const artel__plugin *plugin, const char *target,
                                         artel__platform **out);
void artel__platform_close(artel__platform *platform); /* NULL: nothing; programs and buffers go first */

/* What a program is made of: StableHLO text with a public @main. */
typedef struct artel__program_source {
    const char *name; /* for messages */
    const char *text;
    size_t length;
    const int
        *device;  /* by replica: where it runs, each elsewhere; NULL: there is one replica, and a launch says where */
    int replicas; /* of `device` */
} artel__program_source;

/* Errors, `where` the name: UNSUPPORTED (the plug-in refuses the program), NO_MEMORY. */
artel_status artel__program_compile(artel__platform *platform, const artel__program_source *source,
                                    artel__program **out);
/* A program as bytes, for a cache or for a process with the very same plug-in and kind of device; others may load it
 * and fail later. */
artel_status artel__program_store(artel__program *program, artel__text *out);
artel_status artel__program_load(artel__platform *platform, const char *name, const void *bytes, size_t length,
                                 artel__program **out);
void artel__program_release(artel__program *program);
int artel__program_results(const artel__program *program);

/* -- programs that are kept (obtain.c) --
 *
 * A program is known by its key: the plug-in, the kind of device, the options of compiling, its text (and the devices
 * of its replicas). It is compiled
 * once: then it comes from the platform, from the folder of the run (artel__programs_in), or from the user's cache. So
 * one key is one executable in a platform, also where the plug-in chooses its kernels by measuring. */
typedef struct artel__program_counts {
    int compiled, found; /* found: in a folder, or brought by another process */
} artel__program_counts;

void artel__program_key(artel__platform *platform, const artel__program_source *source,
                        uint8_t out[ARTEL__PROGRAM_KEY]);
/* Belongs to the platform until that is closed. Errors: those of artel__program_compile. Any thread. */
artel_status artel__program_obtain(artel__platform *platform, const artel__program_source *source,
                                   artel__program **out);
/* That key, if it is here; else NULL. */
artel__program *artel__program_known(artel__platform *platform, const uint8_t key[ARTEL__PROGRAM_KEY]);
/* From the bytes of another process; one that is here stays. Errors, `where` the name: UNSUPPORTED. */
artel_status artel__program_bring(artel__platform *platform, const char *name, const uint8_t key[ARTEL__PROGRAM_KEY],
                                  const void *bytes, size_t length, artel__program **out);
/* As bytes for another process: those it was first stored as. Errors, `where` the name: UNSUPPORTED. */
artel_status artel__program_bytes(artel__program *program, const artel__text **out);
/* The SHA-256 of these bytes; zeros where the plug-in cannot store programs. */
const uint8_t *artel__program_hash(const artel__program *program);
/* Where programs of a run are kept beside its checkpoints. Before the first is obtained; `path` is copied. */
artel_status artel__programs_in(artel__platform *platform, const char *path, bool writes);
void artel__program_counts_read(artel__platform *platform, artel__program_counts *out);
/* Whether programs can be stored and loaded, as far as the plug-in's table says. */
bool artel__programs_can_be_kept(const artel__platform *platform);

/* Bytes, by the plug-in's own figures; -1 where it has none. `shared`: of results that take the place of arguments. */
typedef struct artel__program_memory {
    int64_t arguments, results, shared, scratch;
} artel__program_memory;
void artel__program_memory_read(const artel__program *program, artel__program_memory *out);

/* Enqueues the program on one device. Arguments that the program gives away (artel__hlo_argument) are spent: they may
 * only be released. `out` takes artel__program_results() buffers. */
artel_status artel__program_launch(artel__program *program, int device, artel__buffer *const *in, int count,
                                   artel__buffer **out);

/* Enqueues a program of several replicas, once for all: `in` and `out` by replica. */
artel_status artel__program_launch_all(artel__program *program, artel__buffer *const *const *in, int count,
                                       artel__buffer **const *out);

/* `host` may be changed when the call returns. */
artel_status artel__buffer_put(artel__platform *platform, int device, artel_dtype dtype, const artel_shape *shape,
                               const void *host, artel__buffer **out);
/* Without waiting: `host` stays as it is until the copy has been waited for. */
artel_status artel__buffer_put_begin(artel__platform *platform, int device, artel_dtype dtype, const artel_shape *shape,
                                     const void *host, artel__copy **copy, artel__buffer **out);
/* Waits for the array and copies it: `bytes` must be its size. */
artel_status artel__buffer_get(artel__platform *platform, artel__buffer *buffer, void *host, size_t bytes);
/* The same in two halves: enqueues the copy of one array after another; then all must be waited for, each once. `host`
 * stays. */
artel_status artel__buffer_get_begin(artel__platform *platform, artel__buffer *buffer, void *host, size_t bytes,
                                     artel__copy **out);
artel_status artel__copy_wait(artel__platform *platform, artel__copy *copy);
/* Waits until the array is there; its failure shows when it is read. */
void artel__buffer_wait(artel__platform *platform, artel__buffer *buffer);
/* Enqueues a copy to another device. */
artel_status artel__buffer_copy(artel__platform *platform, artel__buffer *buffer, int device, artel__buffer **out);
void artel__buffer_release(artel__platform *platform, artel__buffer *buffer);

#endif
