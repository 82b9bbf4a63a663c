/* SPDX-License-Identifier: Apache-2.0 */
/* long form: 600 */
/* libFuzzer: any bytes as greeting, refusal, header of a frame, header of a control message. What can be read can be
 * written, and reads back to the same; sums are made to fit, too, so that the fields behind them are reached.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "fuzz/help_fuzz.h"
#include "net/connection.h"
#include "net/frame.h"
#include "net/hello.h"

static void check_text(const char *text, size_t room)
{
    if (!memchr(text, 0, room)) abort();
    for (; *text; text++)
        if (*text < 32 || *text > 126) abort();
}

static void greeting(const uint8_t in[ARTEL__HELLO_BYTES])
{
    artel__hello hello, again;
    artel__refusal refusal, back;
    uint8_t out[ARTEL__HELLO_BYTES];
    bool refused;
    artel__net_fault fault = artel__hello_decode(in, &hello, &refusal, &refused);
    if (fault != ARTEL__FAULT_NONE) {
        if (!refused && fault != ARTEL__FAULT_GARBAGE && fault != ARTEL__FAULT_VERSION) abort();
        check_text(refusal.reason, sizeof refusal.reason);
        if (!refused) return;
        artel__refusal_encode(&refusal, out);
        if (artel__hello_decode(out, &again, &back, &refused) != fault || !refused ||
            strcmp(back.reason, refusal.reason) != 0)
            abort();
        return;
    }
    check_text(hello.task, sizeof hello.task);
    check_text(hello.to, sizeof hello.to);
    artel__hello_encode(&hello, out);
    if (memcmp(in, out, sizeof out) != 0) abort();
    const artel__hello self = {.job = 7, .task = "worker-0"};
    char reason[ARTEL__HELLO_REASON] = "";
    artel__hello_check(&self, &hello, reason);
    check_text(reason, sizeof reason);
}

static void header(const uint8_t in[ARTEL__FRAME_BYTES])
{
    artel__frame frame;
    uint8_t out[ARTEL__FRAME_BYTES];
    if (artel__frame_read(in, &frame)) return;
    artel__frame_encode(&frame, out);
    if (memcmp(in, out, sizeof out) != 0) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t bytes[ARTEL__HELLO_BYTES] = {0};
    artel__control_header control;
    memcpy(bytes, data, size < sizeof bytes ? size : sizeof bytes);
    if (artel__control_decode(bytes, &control) && (control.length < 1 || control.length > ARTEL__CONTROL_MOST)) abort();
    header(bytes);
    greeting(bytes);
    uint32_t crc = artel__crc32c(0, bytes, sizeof bytes - 4);
    for (int i = 0; i < 4; i++) bytes[sizeof bytes - 4 + i] = (uint8_t)(crc >> (8 * i));
    greeting(bytes);
    return 0;
}

size_t artel_fuzz_seed(unsigned number, uint8_t *out, size_t room)
{
    const artel__hello hello = {
        .purpose = number & 1 ? ARTEL__NET_DATA : ARTEL__NET_CONTROL, .job = 7, .task = "worker-1", .to = "worker-0"};
    const artel__refusal refusal = {.fault = ARTEL__FAULT_JOB, .reason = "another job"};
    const artel__frame frame = {
        .kind = ARTEL__FRAME_NODES, .job = 7, .generation = 1, .step = 3, .node = 1, .length = 64};
    if (number > 3 || room < ARTEL__HELLO_BYTES) return 0;
    if (number < 2) artel__hello_encode(&hello, out);
    if (number == 2) artel__refusal_encode(&refusal, out);
    if (number == 3) artel__frame_encode(&frame, out);
    return number == 3 ? ARTEL__FRAME_BYTES : ARTEL__HELLO_BYTES;
}
