/* SPDX-License-Identifier: Apache-2.0 */
/* What `artel inspect` prints of files that are no models: each prints to stdout and fails with what is wrong with the
 * file. */
#ifndef ARTEL_CLI_INSPECT_H
#define ARTEL_CLI_INSPECT_H

#include "cli/cli.h"

artel_status artel__inspect_safetensors(artel__invocation *call, const char *path);
/* Groups, datasets and attributes of any HDF5 file. */
artel_status artel__inspect_h5(artel__invocation *call, const char *path);
artel_status artel__inspect_onnx(artel__invocation *call, const char *path);
/* A TFRecord file: TensorBoard events by tag, examples by feature, or just records. */
artel_status artel__inspect_records(artel__invocation *call, const char *path);
/* The first rows of data, a line each. */
artel_status artel__inspect_rows(artel__invocation *call, const char *specification, int64_t most);
/* A folder ckpt-<step>, or a directory of such folders. */
artel_status artel__inspect_checkpoint(artel__invocation *call, const char *path);
artel_status artel__inspect_checkpoints(artel__invocation *call, const char *path);

/* Whether the bytes begin like a TFRecord file (the checksum of the first length is right). */
bool artel__inspect_is_records(const void *bytes, size_t size);

#endif
