/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer: any bytes as a zip archive; every member is extracted, up to 16 MiB each. */
#include "base/zip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    artel_context *ctx;
    artel__zip zip;
    if (artel_context_create(NULL, &ctx) < 0) return 0;
    if (artel__zip_open_bytes(ctx, "fuzz", data, size, &zip) >= 0) {
        for (size_t i = 0; i < zip.count; i++) {
            artel__zip_content content;
            if (artel__zip_extract(&zip, &zip.members[i], 16 << 20, &content) >= 0) artel__zip_release(&zip, &content);
        }
        artel__zip_close(&zip);
    }
    artel_context_destroy(ctx);
    return 0;
}
