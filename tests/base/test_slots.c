/* SPDX-License-Identifier: Apache-2.0 */
/* Values at fixed places: threads that write and read the same ones, a disk that takes nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/slots.h"

enum {
    PLACES = 64,
    BYTES = 40,
    THREADS = 4
};

static const uint8_t key[32] = {7};
static int warnings;

static void count_warning(void *user, artel_log_level level, const char *message)
{
    (void)user;
    warnings += level == ARTEL_LOG_WARNING && strstr(message, "made anew");
}

static void fill(uint8_t out[BYTES], uint64_t place)
{
    for (uint64_t i = 0; i < BYTES; i++) out[i] = (uint8_t)(place * 37 + i);
}

/* What is there is right, at any time; what is not is written. */
static void *work(void *user)
{
    artel__slots *slots = user;
    for (uint64_t i = 0; i < (uint64_t)20 * PLACES; i++) {
        uint8_t got[BYTES], want[BYTES];
        fill(want, i * 7 % PLACES);
        if (artel__slots_read(slots, i * 7 % PLACES, 8, got, BYTES)) {
            if (memcmp(got, want, BYTES) != 0) return user;
        } else {
            artel__slots_write(slots, i * 7 % PLACES, 8, want, BYTES);
        }
    }
    return NULL;
}

static void threads_agree(void **state)
{
    artel_context *ctx;
    char folder[] = "/tmp/artel-slots-XXXXXX", path[64];
    artel_context_options options = ARTEL_CONTEXT_OPTIONS_INIT;
    artel__slots slots, again;
    pthread_t thread[THREADS];
    uint8_t value[BYTES], want[BYTES];
    void *wrong;
    (void)state;
    options.log = count_warning;
    assert_int_equal(artel_context_create(&options, &ctx), ARTEL_OK);
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/s", folder);
    const uint64_t stride = 8 + artel__slots_room(BYTES);
    assert_int_equal(artel__slots_open(ctx, path, key, PLACES, stride, &slots), ARTEL_OK);
    assert_int_equal(artel__slots_open(ctx, path, key, PLACES, stride, &again), ARTEL_OK);
    assert_false(artel__slots_read(&slots, 3, 8, value, BYTES));
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, work, i % 2 ? &again : &slots), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], &wrong);
        assert_null(wrong);
    }
    for (uint64_t i = 0; i < PLACES; i++) {
        fill(want, i);
        assert_true(artel__slots_read(&again, i, 8, value, BYTES));
        assert_memory_equal(value, want, BYTES);
    }
    artel__slots_close(&again);
    assert_int_equal(artel__slots_open(ctx, path, key, PLACES + 1, stride, &again), ARTEL_ERROR_INVALID);
    /* Nothing can be written: that is said once, and what is there stays. */
    close(slots.fd);
    slots.fd = open(path, O_RDONLY);
    for (uint64_t i = 0; i < 3; i++) artel__slots_write(&slots, i, 8, value, BYTES);
    assert_int_equal(warnings, 1);
    fill(want, 2);
    assert_true(artel__slots_read(&slots, 2, 8, value, BYTES));
    assert_memory_equal(value, want, BYTES);
    artel__slots_close(&slots);
    assert_int_equal(artel__slots_open(ctx, path, key, UINT64_MAX / 8, stride, &slots), ARTEL_ERROR_INVALID);
    assert_int_equal(artel__remove_tree(ctx, folder), ARTEL_OK);
    artel_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
