/* SPDX-License-Identifier: Apache-2.0 */
/* Devices by the names that users give them. */
#ifndef ARTEL_DEVICE_SELECT_H
#define ARTEL_DEVICE_SELECT_H

#include "device/compute.h"
#include "device/mixed.h"

typedef struct artel__device_request {
    /* NULL, "cpu": the cores. "auto": what is here, else the cores. "gpu", "cuda", "rocm", "oneapi", "tpu": all of that
     * kind; "cuda:1", "gpu:3,gpu:1": these, in that order; "cpu:xla", "cpu:xla:2": XLA's plug-in for the CPU.
     * TensorFlow's "/gpu:0", "/job:worker/task:1/device:GPU:0" likewise. */
    const char *device;
    const char *plugin;    /* its file; NULL: searched */
    const char *precision; /* of float32 products: "float32" (NULL), "tf32": the device's fastest, "bfloat16" */
    /* "fixed": the plug-in chooses kernels by their shapes alone; "measured": by measuring them when it compiles; all
     * processes of a run then have the executables of one. "auto" (NULL): measured on GPUs, where the model has
     * convolutions and programs can be stored. */
    const char *kernels;
    bool convolutions;
    /* "exact" (NULL): bits do not depend on how many devices there are; "fast": a shard for each replica, and whatever
     * the plug-in is fastest with, so that a program gives the same bits each time; "fastest": that, too, may differ.
     */
    const char *reduce;
    const char *launches; /* "auto" (NULL), "shard", "replica": what is launched at once; the bits are the same */
    const char *memory;   /* of a card, what the plug-in takes: "grow" (NULL), "grow:0.4", "0.9" */
    const char *target;   /* devices that are not here, to compile for alone: artel__platform_open_target; NULL: none */
    const char *programs; /* the folder where a run that measures keeps its programs; NULL: none */
    bool writes;          /* into it */
    bool mixed, mixable;  /* a list may name processors beside devices, "cpu,cuda:0", and tasks may be of several kinds;
                             the caller could allow it */
} artel__device_request;

/* What a caller's options say of devices: a pointer to any struct with these fields. */
#define ARTEL__DEVICE_REQUEST(options, is_mixed, may_be_mixed)                                              \
    (artel__device_request)                                                                                 \
    {                                                                                                       \
        .device = (options)->device, .plugin = (options)->plugin, .precision = (options)->device_precision, \
        .kernels = (options)->device_kernels, .launches = (options)->device_launches,                       \
        .reduce = (options)->device_reduce, .memory = (options)->device_memory, .mixed = (is_mixed),        \
        .mixable = (may_be_mixed)                                                                           \
    }

/* Devices of one platform, which behave alike. */
typedef struct artel__device_set {
    artel_context *ctx;
    artel__arena arena;
    artel__platform *platform;
    artel__device_place place;
    artel__device device;
    int count;
    bool numbered;          /* the request has named each of them */
    artel__mixture mixture; /* count 0: there are no processors among them; else `device` is both */
    bool unordered;         /* bits may differ from launch to launch: only one replica can compute so */
    /* The class of its arithmetic: "pjrt cuda, NVIDIA H100 80GB HBM3, 13000-8f3a2b11, float32": platform, kind of
     * device, plug-in. */
    const char *arithmetic;
    /* The same and how replicas sum: what a run is, for those who continue it and for the members of a cluster. */
    const char *identity;
} artel__device_set;

/* Whether kernels are measured for this request on a plug-in of that kind, which can store programs or not. */
bool artel__kernels_are_measured(const artel__device_request *request, const char *kind, bool stores);
/* Whether the request names devices, not the cores. Errors: INVALID, UNSUPPORTED. */
artel_status artel__devices_named(artel_context *ctx, const artel__device_request *request, bool *out);
/* NULL in *out: the cores. Errors, `where` "device": INVALID (no such name), NOT_FOUND (no plug-in), and those of
 * artel__platform_open. */
artel_status artel__devices_open(artel_context *ctx, const artel__device_request *request, artel__device_set **out);
/* Refuses what processors cannot do beside devices: other precisions than float32, the fast classes. Errors:
 * UNSUPPORTED. */
artel_status artel__devices_check_mixable(artel_context *ctx, const artel__device_request *request);
/* Refuses several replicas on devices that cannot keep them equal. NULL: the cores, which can. */
artel_status artel__devices_check_replicas(const artel__device_set *set, bool several);
/* Who makes the sums of a run's replicas in the fast class. */
typedef struct artel__device_sums {
    int replicas;     /* of this process */
    bool among_tasks; /* others have some, too; sums between processes are artel's */
    bool own;         /* artel's way was asked for */
} artel__device_sums;

/* Has them made by the plug-in, if every replica has a device and the plug-in can; else they are artel's, and a note
 * says why. Once, before anything is compiled and while nobody else uses the devices. NULL: the cores. Errors:
 * NO_MEMORY. */
artel_status artel__devices_sum(artel__device_set *set, const artel__device_sums *sums);
/* What stays the same, in words. */
const char *artel__devices_promise(const artel__device_set *set);
void artel__devices_close(artel__device_set *set); /* NULL: nothing; executables go first */

#endif
