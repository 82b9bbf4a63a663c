/* SPDX-License-Identifier: Apache-2.0 */
/* A training loop of one's own: the caller says which samples a step sees, at which rate, and when to stop; a step runs
 * on all replicas of a strategy as one of artel_model_fit() does.
 *
 * What Keras' train_on_batch and test_on_batch are. A loop that takes the batches in the order of artel_trainer_order()
 * gives the bits of artel_model_fit() with the same seed, batch size and shards; whatever loop it is, the strategy, the
 * number of replicas and of threads change no bit. A trainer has weights and optimizer state of its own, taken from the
 * model when it is made; artel_trainer_store() puts them back.
 *
 * Threads: as all that is made from a context, a trainer belongs to one thread at a time. A steady step makes no heap
 * call for data in memory. Model and data outlive the trainer; the model may be used, not compiled anew, between two
 * calls. */
#ifndef ARTEL_TRAINER_H
#define ARTEL_TRAINER_H

#include <stdbool.h>

#include "artel/data.h"
#include "artel/model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct artel_trainer artel_trainer;

typedef struct artel_trainer_options {
    size_t struct_size;
    int64_t batch_size;    /* the most samples of a step, of all replicas together (global batch); 32 */
    int64_t shards;        /* 0: a function of the batch size; part of the result */
    const char *strategy;  /* "auto" (NULL), "one-device", "mirrored", ...: docs/strategies.md */
    int replicas, threads; /* 0: decided */
    uint64_t seed;         /* of new weights, dropout, order of samples */
    int64_t steps_before; /* steps that earlier trainers of this run have made: random numbers go on behind theirs; 0 */
    bool standard_step;   /* as in artel_fit_options */
    const char *arithmetic; /* as in artel_fit_options */
    const char *device, *plugin, *device_precision, *device_kernels, *device_launches, *device_reduce; /* likewise */
    const char *device_memory;                                                                         /* likewise */
    bool allow_mixed_arithmetic; /* likewise: `device` may name processors beside devices, "cpu,cuda:0" */
} artel_trainer_options;

#ifdef __cplusplus
static inline artel_trainer_options artel_trainer_options_init(void)
{
    artel_trainer_options options = artel_trainer_options();
    options.struct_size = sizeof options;
    options.batch_size = 32;
    options.strategy = "auto";
    return options;
}
#define ARTEL_TRAINER_OPTIONS_INIT artel_trainer_options_init()
#else
#define ARTEL_TRAINER_OPTIONS_INIT                                                         \
    {                                                                                      \
        .struct_size = sizeof(artel_trainer_options), .batch_size = 32, .strategy = "auto" \
    }
#endif

/* Of a model with compile settings and data that fits it; `options` NULL: defaults. Errors: ARTEL_ERROR_INVALID (no
 * loss or optimizer, data that does not fit, options), ARTEL_ERROR_UNSUPPORTED (a class of the user's own, see
 * standard_step), ARTEL_ERROR_NO_MEMORY. On failure *out is untouched. */
ARTEL_API artel_status artel_trainer_create(artel_model *model, artel_data *data, const artel_trainer_options *options,
                                            artel_trainer **out);
ARTEL_API void artel_trainer_destroy(artel_trainer *trainer); /* NULL accepted; what was not stored is lost */

/* Samples of the data, replicas that step together (num_replicas_in_sync), and optimizer steps that the model has
 * behind it. */
ARTEL_API int64_t artel_trainer_samples(const artel_trainer *trainer);
ARTEL_API int artel_trainer_replicas(const artel_trainer *trainer);
ARTEL_API int64_t artel_trainer_iteration(const artel_trainer *trainer);

/* The order in which fit would take the samples in pass 0, 1, ... over the data: a permutation of 0 .. samples-1, a
 * function of the seed, the pass and the number of samples. `count` is the room in `samples` and must be
 * artel_trainer_samples(). */
ARTEL_API artel_status artel_trainer_order(const artel_trainer *trainer, int64_t pass, uint64_t *samples,
                                           int64_t count);

/* One optimizer step on the samples of these numbers, in this order (1 to batch_size of them; repeats are allowed).
 * `learning_rate` 0: that of the optimizer or its schedule. `loss` (or NULL) receives the loss of the batch before the
 * step, penalties included. After a failure nothing has changed and the step can be made again. Errors:
 * ARTEL_ERROR_INVALID (a number of samples, an index, a label out of range), ARTEL_ERROR_CORRUPT, ARTEL_ERROR_IO (of
 * the data), ARTEL_ERROR_CANCELLED (artel_context_cancel). */
ARTEL_API artel_status artel_trainer_step(artel_trainer *trainer, const uint64_t *samples, int64_t count,
                                          double learning_rate, double *loss);

/* The loss of these samples as evaluation computes it (no dropout, moving statistics), with the weights of the moment;
 * changes no weight. The first call makes a plan and takes memory. Errors as of artel_trainer_step(). */
ARTEL_API artel_status artel_trainer_evaluate(artel_trainer *trainer, const uint64_t *samples, int64_t count,
                                              double *loss);

/* Puts weights and optimizer state into the model, for artel_model_save() and the like. `last`: the training is over,
 * so that with use_ema the averages become the weights, as at the end of fit; no step may follow. */
ARTEL_API artel_status artel_trainer_store(artel_trainer *trainer, bool last);

#ifdef __cplusplus
}
#endif
#endif
