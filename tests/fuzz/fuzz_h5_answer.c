/* SPDX-License-Identifier: Apache-2.0 */
/* long form: 600 */
/* libFuzzer: any bytes as the answer of the HDF5 helper, after a valid header.
 */
#include <stdlib.h>
#include <string.h>

#include "keras/h5_tree.h"
#include "keras/h5_wire.h"
#include "fuzz/help_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    artel_context *ctx;
    artel__wire_header header = {
        .magic = ARTEL__WIRE_MAGIC, .complete = ARTEL__WIRE_COMPLETE, .length = sizeof header + size};
    static const uint8_t image[64];
    uint8_t *answer = malloc(sizeof header + size);
    if (!answer || artel_context_create(NULL, &ctx) < 0) return 0;
    memcpy(answer, &header, sizeof header);
    memcpy(answer + sizeof header, data, size);
    artel__arena arena;
    artel__arena_init(&arena, ctx);
    artel__h5_file file = {.ctx = ctx, .image = {image, sizeof image}, .reply = {answer, sizeof header + size}};
    artel__h5_parse(&arena, "fuzz", &file);
    artel__arena_fini(&arena);
    artel_context_destroy(ctx);
    free(answer);
    return 0;
}

size_t artel_fuzz_seed(unsigned number, uint8_t *out, size_t room)
{
    if (number > 3 || room < 256) return 0;
    for (size_t i = 0; i < 256; i++) out[i] = (uint8_t)(i % 8 == 0 ? number * (i / 8 + 1) : 0);
    return 256;
}
