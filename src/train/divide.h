/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines that each worker has for itself: --auto-shard hint and off.
 *
 * As in tf.data, under `hint` a shard stage of the pipeline is each worker's own, so what follows it (windows, filters,
 * shuffles) works on that part alone; under `off` every worker goes through all of the data, in an order of its own.
 * The number of pipelines belongs to the run, as the seed does; who computes what does not depend on it, so a lost
 * worker's pipeline is gone on with by the others.
 */
#ifndef ARTEL_TRAIN_DIVIDE_H
#define ARTEL_TRAIN_DIVIDE_H

#include "train/fit_impl.h"

/* Whether options.auto_shard is a word that there is: auto, data, file, hint[:N], off[:N]. Sets fit->input.divide. */
artel_status artel__divide_check_option(artel__fit *fit);
/* Gives each worker its pipeline. Before the data is bound. Without hint and off it does nothing, as the others. */
artel_status artel__divide_open(artel__fit *fit, artel_data *data);
/* Sets what batches are made of, once rows are counted; says what an epoch covers. */
artel_status artel__divide_batches(artel__fit *fit, artel__batches *batches);
/* "hint of 4"; NULL: neither hint nor off. In `buffer`. */
const char *artel__divide_word(const artel__fit *fit, char buffer[32]);

#endif
