/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers placed in the order of time: none that live together overlap, and what dies as it was born needs no byte too
 * many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "exec/cpu/lifetime.h"

enum {
    MOST = 600,
    ACTIONS = 400
};

static artel__lifetime life[MOST];

static size_t place(int count)
{
    static const artel__lifetime *list[MOST];
    static artel__lifetime_gap gap[MOST + 1];
    artel__lifetime_room room = {list, gap};
    return artel__lifetime_place(life, count, &room);
}

/* The most bytes alive in one action; fails where two that live together share a byte, or one lies behind the end. */
static size_t judge(int count, size_t end)
{
    size_t most = 0;
    for (int i = 0; i < count; i++) {
        assert_true(life[i].offset + life[i].bytes <= end);
        for (int j = 0; j < i; j++) {
            bool together = life[i].from <= life[j].to && life[j].from <= life[i].to;
            bool apart =
                life[i].offset + life[i].bytes <= life[j].offset || life[j].offset + life[j].bytes <= life[i].offset;
            assert_true(!together || apart || !life[i].bytes || !life[j].bytes);
        }
    }
    for (int a = 0; a < ACTIONS; a++) {
        size_t alive = 0;
        for (int i = 0; i < count; i++) alive += life[i].from <= a && a <= life[i].to ? life[i].bytes : 0;
        most = alive > most ? alive : most;
    }
    return most;
}

static void any_lives(void **state)
{
    (void)state;
    artel__rng_key key = artel__rng_make_key(7, ARTEL__STREAM_SYNTHETIC);
    for (uint32_t scene = 0; scene < 60; scene++) {
        int count = 1 + (int)(scene * 11) % MOST;
        for (int i = 0; i < count; i++) {
            uint32_t word[4];
            artel__rng_block(key, 0, scene, (uint32_t)i, 0, word);
            int from = (int)(word[0] % ACTIONS), to = from + (int)(word[1] % (scene % 3 ? ACTIONS : 20));
            life[i] = (artel__lifetime){
                .value = i, .from = from, .to = to < ACTIONS ? to : ACTIONS - 1, .bytes = 64 * (size_t)(word[2] % 50)};
        }
        size_t end = place(count), most = judge(count, end);
        assert_true(end >= most);
        if (scene % 3 == 0) assert_true(end <= most * 2); /* short lives */
    }
}

/* A tower of layers: activations live until the way back, what one layer needs for itself only there. */
static void a_tower(void **state)
{
    (void)state;
    int count = 0;
    for (int layer = 0; layer < ACTIONS / 2; layer++) {
        size_t bytes = 64 * (size_t)(1 + layer % 7);
        life[count] = (artel__lifetime){.value = count, .from = layer, .to = ACTIONS - 1 - layer, .bytes = bytes};
        count++;
        life[count] =
            (artel__lifetime){.value = count, .from = ACTIONS - 1 - layer, .to = ACTIONS - 1 - layer, .bytes = bytes};
        count++;
    }
    size_t end = place(count);
    assert_true(end == judge(count, end));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_lives), cmocka_unit_test(a_tower)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
