/* SPDX-License-Identifier: Apache-2.0 */
/* What a fuzz target gives: the function of libFuzzer, and the inputs to begin with. */
#ifndef ARTEL_TESTS_FUZZ_HELP_FUZZ_H
#define ARTEL_TESTS_FUZZ_HELP_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The seed of that number, from 0 on; returns its bytes, 0: there are no more. */
size_t artel_fuzz_seed(unsigned number, uint8_t *out, size_t room);

/* For seeds that are texts: `text[number]`, of `count`. */
size_t artel_fuzz_text(const char *const *text, size_t count, unsigned number, uint8_t *out, size_t room);

/* Changes up to eight values of a tree, two bytes a change. */
struct json_t;
void artel_fuzz_change_json(struct json_t *tree, const uint8_t *data, size_t size);

#endif
