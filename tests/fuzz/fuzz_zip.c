/* SPDX-License-Identifier: Apache-2.0 */
/* long form: 600 */
/* libFuzzer: any bytes as a zip archive; every member is extracted, up to 16 MiB each.
 */
#include <string.h>

#include "base/zip.h"
#include "fuzz/help_fuzz.h"

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

size_t artel_fuzz_seed(unsigned number, uint8_t *out, size_t room)
{
    /* One stored member "a" of three bytes. */
    static const uint8_t whole[] = {'P', 'K', 3,  4,  10, 0, 0, 0,  0,   0,   0,   0, 0x21, 0,   0xc2, 0x41, 0x24, 0x35,
                                    3,   0,   0,  0,  3,  0, 0, 0,  1,   0,   0,   0, 'a',  'a', 'b',  'c',  'P',  'K',
                                    1,   2,   10, 0,  10, 0, 0, 0,  0,   0,   0,   0, 0x21, 0,   0xc2, 0x41, 0x24, 0x35,
                                    3,   0,   0,  0,  3,  0, 0, 0,  1,   0,   0,   0, 0,    0,   0,    0,    0,    0,
                                    0,   0,   0,  0,  0,  0, 0, 0,  'a', 'P', 'K', 5, 6,    0,   0,    0,    0,    1,
                                    0,   1,   0,  47, 0,  0, 0, 34, 0,   0,   0,   0, 0};
    if (number > 0 || room < sizeof whole) return 0;
    memcpy(out, whole, sizeof whole);
    return sizeof whole;
}
