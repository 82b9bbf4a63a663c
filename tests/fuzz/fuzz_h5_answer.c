/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer: any bytes as the answer of the HDF5 helper, after a valid header. */
#include <stdlib.h>
#include <string.h>

#include "keras/h5_tree.h"
#include "keras/h5_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    artel_context *ctx;
    artel__wire_header header = {.magic = ARTEL__WIRE_MAGIC, .complete = ARTEL__WIRE_COMPLETE, .length = sizeof header + size};
    static const uint8_t image[64];
    uint8_t *answer = malloc(sizeof header + size);
    if (!answer || artel_context_create(NULL, &ctx) < 0) return 0;
    memcpy(answer, &header, sizeof header);
    memcpy(answer + sizeof header, data, size);
    artel__arena arena;
    artel__arena_init(&arena, ctx);
    artel__h5_file file = {.ctx = ctx, .image = {image, sizeof image}, .reply = {answer, sizeof header + size}};
    artel__h5_parse(&arena, "fuzz", &file);
    if (file.aligned) artel__free_aligned(ctx, file.aligned, file.aligned_bytes);
    artel__arena_fini(&arena);
    artel_context_destroy(ctx);
    free(answer);
    return 0;
}
