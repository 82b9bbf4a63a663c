/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a checkpoint: an image taken between two steps, written in the background; finding and reading them. */
#ifndef ARTEL_TRAIN_CHECKPOINT_FILE_H
#define ARTEL_TRAIN_CHECKPOINT_FILE_H

#include "artel/fit.h"
#include "base/file.h"
#include "base/json.h"
#include "graph/graph.h"

typedef struct artel__fit artel__fit;

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
    artel__gate_fn *gate; /* asked when all is written, before it is published; NULL: nobody is */
    void *gate_user;
} artel__checkpoint_image;

artel_status artel__checkpoint_image_take(artel__fit *fit, json_t *manifest, artel__checkpoint_image *image);
void artel__checkpoint_image_fini(artel_context *ctx, artel__checkpoint_image *image);
/* Writes ckpt-<step> and removes all but the `keep` newest. Called by the writing thread. What the gate answers, if it
 * is not ARTEL_OK: nothing is there then. */
artel_status artel__checkpoint_write(artel_context *ctx, const char *directory, const artel__checkpoint_image *image,
                                     int keep);

/* The newest folder whose manifest is readable and whose files have the recorded hashes; *manifest NULL when there is
 * none. The caller frees *folder and releases *manifest. */
artel_status artel__checkpoint_find(artel_context *ctx, const char *directory, char **folder, json_t **manifest);
/* The step of the newest folder, whole or not; -1: there is none. */
artel_status artel__checkpoint_newest(artel_context *ctx, const char *directory, int64_t *step);

/* The newest one, for whoever knows that of step `newer_than` (-1: none): *out says what it is, step -1: there is none;
 * *folder is there where it is newer. Of a directory that is a checkpoint itself that one. */
artel_status artel__checkpoint_newer(artel_context *ctx, const char *directory, int64_t newer_than,
                                     artel_checkpoint_info *out, char **folder, json_t **manifest);

/* The tensors of a checkpoint, mapped. */
typedef struct artel__checkpoint_tensors {
    artel_context *ctx;
    const char *folder; /* the caller's */
    artel__mapping file;
    json_t *header;
    size_t data; /* offset of the first tensor */
} artel__checkpoint_tensors;
artel_status artel__checkpoint_open(artel_context *ctx, const char *folder, artel__checkpoint_tensors *out);
void artel__checkpoint_close(artel__checkpoint_tensors *tensors);
/* The plain bytes of a tensor, which must have this length. */
artel_status artel__checkpoint_tensor(const artel__checkpoint_tensors *tensors, const char *name, size_t bytes,
                                      const void **out);
/* Whether a record of the header has a variable's element type and shape; NULL accepted. */
bool artel__checkpoint_holds(const json_t *tensor, const artel__variable *variable);
/* artel__checkpoint_tensor() of one that holds this variable. */
artel_status artel__checkpoint_variable(const artel__checkpoint_tensors *tensors, const char *name,
                                        const artel__variable *variable, const void **out);
/* Its name for a path in Keras' weights tree. The caller frees it. */
artel_status artel__checkpoint_name(artel_context *ctx, const char *prefix, const char *path, char **out);

/* Reads state.safetensors into replica 0 and the callbacks' weights. */
artel_status artel__checkpoint_read_state(artel__fit *fit, const char *folder);

/* checkpoint_folder.c */
enum {
    ARTEL__CHECKPOINT_PATH = 4400
};
/* Where this process writes the checkpoint of a step before it is published. */
void artel__checkpoint_temporary(const char *directory, int64_t step, char out[ARTEL__CHECKPOINT_PATH]);
/* The temporary folder becomes ckpt-<step>, in place of one that is there. */
artel_status artel__checkpoint_publish(artel_context *ctx, const char *directory, const char *temporary, int64_t step);
/* Steps of the folders, the newest first; *out is the caller's. */
artel_status artel__checkpoint_steps(artel_context *ctx, const char *directory, int64_t **out, int *count);
/* Removes all but the `keep` newest. */
artel_status artel__checkpoint_thin(artel_context *ctx, const char *directory, int keep);
/* Removes what killed processes left half written: those of this host that live no more, of other hosts what is older
 * than an hour. */
artel_status artel__checkpoint_sweep(artel_context *ctx, const char *directory);

/* Doubles that come back exactly, NaN payloads included. */
json_t *artel__hex_real(double value);
double artel__real_of_hex(const json_t *json);

#endif
