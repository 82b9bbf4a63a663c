/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files that read ONNX. */
#ifndef ARTEL_KERAS_ONNX_READ_IMPL_H
#define ARTEL_KERAS_ONNX_READ_IMPL_H

#include "keras/onnx_read.h"

/* Repeated numbers of a message, packed or one by one. size: 0 varints, 4 or 8 fixed ones. */
typedef struct artel__onnx_list {
    artel__proto message, packed;
    int number, size;
} artel__onnx_list;

artel__onnx_list artel__onnx_list_in(artel__proto message, int number, int size);
bool artel__onnx_list_next(artel__onnx_list *list, uint64_t *out);
artel_status artel__onnx_read_tensor(const artel__onnx_file *file, artel__proto tensor, artel__onnx_numbers *out);

#endif
