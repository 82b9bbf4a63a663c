/* SPDX-License-Identifier: Apache-2.0 */
/* A model kept warm: graph, plan, memory and threads are made once, then each call computes a few rows.
 *
 * For programs that ask for one prediction after another: a call takes no memory from the heap, writes no log and reads
 * no file. The values are those of artel_model_predict() and artel_model_evaluate(), to the bit. A predictor has the
 * weights of the moment in which it was made; the model may be trained or destroyed meanwhile.
 *
 * Threads: a predictor serves one thread at a time. Several predictors, of one model and context too, may run at the
 * same time, each in a thread of its own; making and destroying them belongs to the context's thread, and so does
 * looking at its error record. */
#ifndef ARTEL_PREDICTOR_H
#define ARTEL_PREDICTOR_H

#include <stdbool.h>

#include "artel/model.h"
#include "artel/tensor.h"
#include "artel/text.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct artel_predictor artel_predictor;

typedef struct artel_predictor_options {
    size_t struct_size;
    int64_t most_rows;              /* the most rows of a call; 1 */
    int threads;                    /* compute threads; 1. 0: the cores that the process may use */
    bool loss;                      /* artel_predictor_loss() will be called: the model needs its compile settings */
    const artel_shape *input_shape; /* by input, of one row; NULL: those of the model, which must leave no axis open */
    const char *arithmetic;         /* as in artel_fit_options */
    /* likewise; on a device calls do take memory */
    const char *device, *plugin, *device_precision, *device_kernels, *device_launches, *device_reduce;
    const char *device_memory; /* likewise */
} artel_predictor_options;

#ifdef __cplusplus
static inline artel_predictor_options artel_predictor_options_init(void)
{
    artel_predictor_options options = artel_predictor_options();
    options.struct_size = sizeof options;
    options.most_rows = 1;
    options.threads = 1;
    return options;
}
#define ARTEL_PREDICTOR_OPTIONS_INIT artel_predictor_options_init()
#else
#define ARTEL_PREDICTOR_OPTIONS_INIT                                                 \
    {                                                                                \
        .struct_size = sizeof(artel_predictor_options), .most_rows = 1, .threads = 1 \
    }
#endif

/* Errors: ARTEL_ERROR_INVALID (an input whose shape is not known, settings that the loss lacks),
 * ARTEL_ERROR_UNSUPPORTED (as of artel_model_predict), ARTEL_ERROR_NO_MEMORY. On failure *out is untouched. */
ARTEL_API artel_status artel_predictor_create(artel_model *model, const artel_predictor_options *options,
                                              artel_predictor **out);
ARTEL_API void artel_predictor_destroy(artel_predictor *predictor); /* NULL accepted */

/* One row of an input, an output, or of what the loss compares an output with: element type and extents. Values lie in
 * row-major order. Targets (of models with a loss only) are class numbers or values, as the loss takes them.
 * ARTEL_ERROR_INVALID: there is no such index. */
ARTEL_API artel_status artel_predictor_input(const artel_predictor *predictor, int index, artel_dtype *dtype,
                                             artel_shape *row);
ARTEL_API artel_status artel_predictor_output(const artel_predictor *predictor, int index, artel_shape *row);
ARTEL_API artel_status artel_predictor_target(const artel_predictor *predictor, int index, artel_dtype *dtype,
                                              artel_shape *row);

/* Computes `rows` rows (1 to most_rows): inputs[i] holds those of input i (artel_string where it is text, borrowed for
 * the call), outputs[k] receives float32 values of output k (NULL: not wanted). Input and output do not overlap.
 * Errors: ARTEL_ERROR_INVALID (rows, a pointer that is NULL, an index beyond an embedding, text that is no UTF-8). */
ARTEL_API artel_status artel_predictor_run(artel_predictor *predictor, const void *const *inputs, int64_t rows,
                                           float *const *outputs);

/* The loss of these rows alone, penalties included, as evaluate() would give it for a data set of them: nobody else is
 * asked, whatever the strategy the model is trained by. `targets` by target; `loss` receives the total, `losses` (or
 * NULL) one for each output. */
ARTEL_API artel_status artel_predictor_loss(artel_predictor *predictor, const void *const *inputs,
                                            const void *const *targets, int64_t rows, double *loss, double *losses);

#ifdef __cplusplus
}
#endif
#endif
