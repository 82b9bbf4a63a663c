/* SPDX-License-Identifier: Apache-2.0 */
/* The identity of a run: what must be equal for a checkpoint to be continued. Not part of it: epochs, replicas,
 * threads, paths, transport. */
#ifndef ARTEL_TRAIN_IDENTITY_H
#define ARTEL_TRAIN_IDENTITY_H

#include "train/fit_impl.h"

/* An object of fields; *out is the caller's (json_decref). */
artel_status artel__identity_make(artel__fit *fit, json_t **out);
/* SHA-256 of the model and its compile settings alone, layers without their names. */
artel_status artel__identity_model(artel__fit *fit, char out[65]);
/* SHA-256 of the canonical text of the object, as 64 hex digits and a NUL. */
artel_status artel__identity_hash(artel_context *ctx, const json_t *identity, char out[65]);
/* Whether a run may continue another's checkpoint. The content of the data counts where both know it. */
bool artel__identity_equal(const json_t *ours, const json_t *theirs);
/* Fails, naming the fields that differ. `where` is the checkpoint directory. */
artel_status artel__identity_refuse(artel_context *ctx, const char *where, json_t *ours, json_t *theirs);

#endif
