/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a checkpoint: an image taken between two steps, written in the background; finding and reading them. */
#ifndef ARTEL_TRAIN_CHECKPOINT_FILE_H
#define ARTEL_TRAIN_CHECKPOINT_FILE_H

#include "train/fit_impl.h"

/* One tensor of state.safetensors: bytes of the image, to be brought into plain form. */
typedef struct artel__checkpoint_entry {
    char *name;
    int variable;  /* of the session's variables */
    size_t offset; /* of the block it lies in, within the image */
} artel__checkpoint_entry;

/* A copy of everything a checkpoint holds; reused from write to write. */
typedef struct artel__checkpoint_image {
    int64_t step;
    char *manifest; /* JSON text, still without the hash */
    uint8_t *bytes;
    size_t size;
    artel__variables variables; /* borrowed from the session */
    artel__checkpoint_entry *entry;
    int entries;
} artel__checkpoint_image;

artel_status artel__checkpoint_image_take(artel__fit *fit, json_t *manifest, artel__checkpoint_image *image);
void artel__checkpoint_image_fini(artel_context *ctx, artel__checkpoint_image *image);
/* Writes ckpt-<step> and removes all but the `keep` newest. Called by the writing thread. */
artel_status artel__checkpoint_write(artel_context *ctx, const char *directory, const artel__checkpoint_image *image, int keep);

/* The newest folder whose manifest is readable and whose files have the recorded hashes; *manifest NULL when there is none.
 * The caller frees *folder and releases *manifest. */
artel_status artel__checkpoint_find(artel_context *ctx, const char *directory, char **folder, json_t **manifest);
/* Reads state.safetensors into replica 0 and the callbacks' weights. */
artel_status artel__checkpoint_read_state(artel__fit *fit, const char *folder);
/* Removes what a killed run left half written. */
artel_status artel__checkpoint_sweep(artel_context *ctx, const char *directory);
artel_status artel__checkpoint_remove_all(artel_context *ctx, const char *directory);

/* Doubles that come back exactly, NaN payloads included. */
json_t *artel__hex_real(double value);
double artel__real_of_hex(const json_t *json);

#endif
