/* SPDX-License-Identifier: Apache-2.0 */
/* The formats a specification can name, in the order in which messages list them.
 *
 * To add one: a file with its artel__data_format, a line here, its name in source.h. Formats of the contract that
 * cannot be read yet stand here with the reason, so that their message says more than "unknown".
 */
#include "data/source.h"

static const artel__data_format pipeline = {.name = "pipeline",
                                            .syntax = "pipeline:FILE.json",
                                            .options = "",
                                            .missing = "name the files themselves: npz, npy, idx, csv, images or cifar10"};

const artel__data_format *const artel__data_formats[] = {
    &artel__data_idx,
    &artel__data_npy,
    &artel__data_npz,
    &artel__data_csv,
    &artel__data_cifar10,
    &artel__data_images,
    &artel__data_synthetic,
    &artel__data_audio,
    &artel__data_jsonl,
    &artel__data_tfrecord,
    &artel__data_text,
    &pipeline,
    NULL,
};
