/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer: any bytes as a control message. What can be read can be written, and reads back to the same bytes. */
#include <stdlib.h>
#include <string.h>

#include "cluster/message.h"

enum {
    MEMBERS = 16
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t once[65536], twice[65536];
    artel__member member[MEMBERS], again[MEMBERS];
    artel__message first = {.member = member, .member_capacity = MEMBERS}, second = {.member = again, .member_capacity = MEMBERS};
    if (artel__message_decode(data, size, &first)) return 0;
    size_t count = artel__message_encode(&first, once, sizeof once);
    if (!count) return 0; /* a set of tasks that is too long */
    if (artel__message_decode(once, count, &second)) abort();
    if (artel__message_encode(&second, twice, sizeof twice) != count || memcmp(once, twice, count) != 0) abort();
    return 0;
}
