/* SPDX-License-Identifier: Apache-2.0 */
/* long form: 600 */
/* libFuzzer: any bytes as a control message. What can be read can be written, and reads back to the same bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "cluster/message.h"
#include "fuzz/help_fuzz.h"

enum {
    MEMBERS = 16
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t once[65536], twice[65536];
    artel__member member[MEMBERS], again[MEMBERS];
    artel__message first = {.member = member, .member_capacity = MEMBERS},
                   second = {.member = again, .member_capacity = MEMBERS};
    if (artel__message_decode(data, size, &first)) return 0;
    size_t count = artel__message_encode(&first, once, sizeof once);
    if (!count) return 0; /* a set of tasks that is too long */
    if (artel__message_decode(once, count, &second)) abort();
    if (artel__message_encode(&second, twice, sizeof twice) != count || memcmp(once, twice, count) != 0) abort();
    return 0;
}

size_t artel_fuzz_seed(unsigned number, uint8_t *out, size_t room)
{
    artel__member member[3] = {{1, 11, 1, 0, 4, 0}, {2, 12, 2, 4, 2, 1}, {3, 13, 1, 6, 2, 0}};
    artel__message m = {
        .kind = 1 + number, .task = 1, .incarnation = 11, .flags = 3, .counter = 2, .step = 300, .status = -3};
    m.facts = m.name = (artel__message_bytes){(const uint8_t *)"v=1", 3};
    m.bits = m.value = (artel__message_bytes){(const uint8_t *)"\x07", 1};
    m.member = member;
    m.members = 3;
    return number + 1 < ARTEL__MESSAGE_KINDS ? artel__message_encode(&m, out, room) : 0;
}
