/* SPDX-License-Identifier: Apache-2.0 */
/* The formats a specification can name, in the order in which messages list them.
 *
 * To add one: a file with its artel__data_format, a line here, its name in source.h. */
#include "data/source.h"

const artel__data_format *const artel__data_formats[] = {
    &artel__data_idx,      &artel__data_npy,       &artel__data_npz,      &artel__data_csv,     &artel__data_cifar10,
    &artel__data_images,   &artel__data_synthetic, &artel__data_audio,    &artel__data_fixed,   &artel__data_jsonl,
    &artel__data_tfrecord, &artel__data_text,      &artel__data_pipeline, &artel__data_service, NULL,
};
