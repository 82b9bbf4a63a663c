/* SPDX-License-Identifier: Apache-2.0 */
/* A variable that is cut over one to five servers is stepped as the uncut one, bit for bit, by every optimizer that the
 * library has: 20 steps of any gradients, with what optimizers keep, norms, averages and sums of several steps. One
 * that reads all of a variable has it at one server, whole. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "help_fit.h"
#include "kernel/optimize.h"
#include "support/optimizers.h"
#include "train/fit_impl.h"
#include "train/part.h"

enum {
    ROWS = 64,
    BATCH = 16,
    STEPS = 20,
    PARTS = 5,
    MOST = 256
};

#define SCALED(inner, config)                                                                             \
    "LossScaleOptimizer:initial_scale=4,dynamic_growth_steps=3,inner_optimizer={\"class_name\": \"" inner \
    "\", \"config\": {" config "}}"

/* Of these with what is not so unless it is asked for. */
static const char *const variants[] = {"adamw",
                                       "sgd:momentum=0.9",
                                       "sgd:momentum=0.9,nesterov=true",
                                       "sgd:weight_decay=0.01",
                                       "sgd:learning_rate=cosine_decay(initial=0.1,steps=15)",
                                       "rmsprop:momentum=0.5",
                                       "rmsprop:centered=true,momentum=0.5",
                                       "adam:amsgrad=true",
                                       "adam:use_ema=true,ema_overwrite_frequency=7",
                                       "adam:clipvalue=0.05",
                                       "adam:clipnorm=0.1",
                                       "adam:global_clipnorm=0.1",
                                       "nadam:weight_decay=0.01",
                                       "ftrl:l1_regularization_strength=0.01,l2_regularization_strength=0.02",
                                       "adadelta:clipnorm=0.1",
                                       "adam:gradient_accumulation_steps=3",
                                       "adam:gradient_accumulation_steps=3,clipvalue=0.05",
                                       "nadam:gradient_accumulation_steps=4,use_ema=true,weight_decay=0.01",
                                       SCALED("Adam", ""),
                                       SCALED("SGD", "\"momentum\": 0.9, \"nesterov\": true"),
                                       SCALED("Nadam", "\"global_clipnorm\": 0.1, \"use_ema\": true"),
                                       SCALED("Adam", "\"gradient_accumulation_steps\": 3")};

/* With these no variable is cut, and servers make the norms. */
static const char *const wholes[] = {"lamb",
                                     "sgd:gradient_accumulation_steps=3,clipnorm=0.1",
                                     "muon:gradient_accumulation_steps=3",
                                     "muon:clipnorm=0.1",
                                     "adafactor:gradient_accumulation_steps=2,clipnorm=0.1,use_ema=true",
                                     "adam:gradient_accumulation_steps=3,global_clipnorm=0.1",
                                     SCALED("Nadam", "\"gradient_accumulation_steps\": 2, \"global_clipnorm\": 0.1")};

/* In sync:K, of means. */
static const struct {
    const char *optimizer;
    bool cuts;
} means[] = {{"adam:clipvalue=0.05", true},
             {"adam:clipnorm=0.1", false},
             {"adam:global_clipnorm=0.1", false},
             {"sgd:gradient_accumulation_steps=3,global_clipnorm=0.1", false},
             {"sgd:gradient_accumulation_steps=3,clipnorm=0.1", false},
             {SCALED("Adam", ""), true},
             {SCALED("Adam", "\"global_clipnorm\": 0.1, \"gradient_accumulation_steps\": 2"), false}};

typedef struct owners {
    artel__arena arena;
    artel__division division;
    artel__store *store[PARTS];
    artel__entry entry[MOST];
} owners;

static void open_owners(artel__fit *fit, int parts, owners *o)
{
    char cut[16] = "none";
    if (parts > 1) snprintf(cut, sizeof cut, "fixed:%d", parts);
    artel__arena_init(&o->arena, fit->ctx);
    const artel__division_rule rule = {.partitioner = cut, .in_turn = true, .mean = fit->options.consistency != NULL};
    artel_status status = artel__division_make(&o->arena, fit->session, &rule, parts, &o->division);
    if (status != ARTEL_OK) fail_msg("%s", artel_context_error(fit->ctx)->what);
    assert_in_range(artel__division_most(&o->division), 1, MOST);
    for (int s = 0; s < parts; s++) {
        assert_int_equal(artel__store_create(fit->ctx, &o->division, &fit->settings, s, 1, &o->store[s]), ARTEL_OK);
        int count = artel__division_list(&o->division, s, ARTEL__PART_STATE, o->entry);
        for (int i = 0; i < count; i++)
            memcpy(artel__store_locate(o->store[s], &o->entry[i]),
                   artel__division_locate(&o->division, fit->session, &o->entry[i], NULL), o->entry[i].bytes);
        artel__store_begin(o->store[s]);
    }
}

static void close_owners(owners *o, int parts)
{
    for (int s = 0; s < parts; s++) artel__store_destroy(o->store[s]);
    artel__arena_fini(&o->arena);
}

/* Any number between -1 and 1, by step, variable and element; now and then 0. */
static float gradient_of(int step, int variable, int64_t element)
{
    uint64_t x = ((uint64_t)step << 40 | (uint64_t)variable << 32 | (uint64_t)element) * 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 31)) * 0xbf58476d1ce4e5b9u;
    x ^= x >> 29;
    return x % 16 == 0 ? 0 : (float)((int64_t)(x >> 20 & 0xffff) - 0x8000) / 0x8000;
}

/* What an update wants of all parts, as heads tell one another (train/numbers.h). */
static void agree(owners *o, int parts)
{
    double numbers[MOST], squares = 0, gate = 0;
    int count = artel__store_numbers(o->store[0]);
    double all[MOST] = {0};
    if (artel__store_ask(o->store[0]) == 0) return;
    assert_in_range(count, 1, MOST);
    for (int s = 0; s < parts; s++) {
        assert_int_equal(artel__store_ask(o->store[s]), artel__store_ask(o->store[0]));
        artel__store_preview(o->store[s], numbers);
        for (int i = 0; i < count; i++) all[i] += numbers[i];
    }
    for (int i = 0; i < count - 1; i++) squares += all[i];
    gate = all[count - 1];
    for (int s = 0; s < parts; s++) artel__store_take_sums(o->store[s], squares, gate);
}

static void step(owners *o, int parts, int number)
{
    for (int s = 0; s < parts; s++) {
        int count = artel__division_list(&o->division, s, ARTEL__PART_UPDATE, o->entry);
        for (int i = 0; i < count; i++) {
            const artel__entry *e = &o->entry[i];
            const artel__piece *p = &o->division.piece[e->piece];
            void *to = artel__store_locate(o->store[s], e);
            float *values = to;
            assert_true(e->kind == ARTEL__ENTRY_GRADIENT || e->kind == ARTEL__ENTRY_NORM ||
                        e->kind == ARTEL__ENTRY_GATE);
            if (e->kind == ARTEL__ENTRY_NORM)
                *(double *)to = 0.5 + p->variable;
            else if (e->kind == ARTEL__ENTRY_GATE)
                *(double *)to = number % 5 == 3 ? INFINITY : 1;
            else
                for (int64_t k = 0; k < p->count; k++) values[k] = gradient_of(number, p->variable, p->first + k);
        }
    }
    agree(o, parts);
    for (int s = 0; s < parts; s++) assert_int_equal(artel__store_apply(o->store[s], -1, false), ARTEL_OK);
}

static int piece_of(const owners *o, int variable)
{
    int i = 0;
    while (o->division.piece[i].variable != variable) i++;
    return i;
}

/* What each server has is what the one has that owns all; returns how many bytes were compared. */
static size_t compare(owners *cut, int parts, owners *whole, const char *optimizer)
{
    size_t compared = 0;
    for (int s = 0; s < parts; s++) {
        int count = artel__division_list(&cut->division, s, ARTEL__PART_STATE, cut->entry);
        for (int i = 0; i < count; i++) {
            const artel__entry *e = &cut->entry[i];
            const artel__piece *p = &cut->division.piece[e->piece];
            artel__entry same = *e;
            same.piece = piece_of(whole, p->variable);
            const float *all = artel__store_locate(whole->store[0], &same);
            if (e->kind != ARTEL__ENTRY_PRODUCT) all += p->first;
            if (memcmp(artel__store_locate(cut->store[s], e), all, e->bytes) != 0)
                fail_msg("%s: variable %d over %d servers has other bits (kind %d, slot %d)", optimizer, p->variable,
                         parts, (int)e->kind, e->slot);
            compared += e->bytes;
        }
    }
    return compared;
}

/* Whether any variable is. */
static bool is_cut(const owners *o)
{
    for (int i = 0; i < o->division.pieces; i++)
        if (!o->division.piece[i].whole) return true;
    return false;
}

static void compare_with(const char *optimizer, bool cuts, const char *consistency)
{
    fit_bench b;
    fit_open_mlp(&b, ROWS);
    fit_expect(&b, artel_model_compile(b.model, optimizer, "sparse_categorical_crossentropy", "[\"accuracy\"]"),
               ARTEL_OK);
    artel__fit fit = {
        .ctx = b.ctx, .model = b.model, .options = fit_options(&b, BATCH, 1, 1), .role = ARTEL__ROLE_COORDINATOR};
    artel__arena_init(&fit.arena, fit.ctx);
    fit.options.consistency = consistency;
    fit_expect(&b, artel__fit_open(&fit, b.data), ARTEL_OK);
    for (int parts = 1; parts <= PARTS; parts++) {
        static owners cut, whole;
        open_owners(&fit, 1, &whole);
        open_owners(&fit, parts, &cut);
        assert_true(is_cut(&cut) == (cuts && parts > 1));
        size_t before = compare(&cut, parts, &whole, optimizer);
        for (int i = 0; i < STEPS; i++) step(&cut, parts, i);
        for (int i = 0; i < STEPS; i++) step(&whole, 1, i);
        assert_true(compare(&cut, parts, &whole, optimizer) == before);
        artel__division_list(&whole.division, 0, ARTEL__PART_STATE, whole.entry);
        const void *began = artel__division_locate(&whole.division, fit.session, whole.entry, NULL);
        assert_memory_not_equal(artel__store_locate(whole.store[0], whole.entry), began, whole.entry[0].bytes);
        assert_true(before >= (9 * 21 + 21 + 21 * 4 + 4) * sizeof(float)); /* all variables are among it */
        assert_int_equal(artel__store_iteration(whole.store[0]), STEPS);
        close_owners(&cut, parts);
        close_owners(&whole, 1);
    }
    artel__fit_close(&fit);
    fit_close(&b);
}

static void every_optimizer_has_the_bits_of_the_uncut(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof support_rules / sizeof *support_rules; i++)
        compare_with(support_class_of(support_rules[i]), strcmp(support_rules[i], "lamb") != 0, NULL);
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) compare_with(variants[i], true, NULL);
    for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++)
        compare_with(wholes[i], strncmp(wholes[i], "muon", 4) == 0, NULL);
    for (size_t i = 0; i < sizeof means / sizeof *means; i++) compare_with(means[i].optimizer, means[i].cuts, "sync:2");
    compare_with("adafactor", false, NULL);
    compare_with("muon", true, NULL); /* what it leaves to Adam */
    assert_int_equal(SUPPORT_MATRIX_OPTIMIZERS, 2);
    assert_int_equal(sizeof support_rules / sizeof *support_rules, ARTEL__RULE_COUNT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_optimizer_has_the_bits_of_the_uncut)};
    return cmocka_run_group_tests_name("part", tests, NULL, NULL);
}
