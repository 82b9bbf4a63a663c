/* SPDX-License-Identifier: Apache-2.0 */
/* A run that is continued goes on with the rows it was trained on before: changed ones in the middle are noticed,
 * unchanged ones pass. */
#include <stdio.h>
#include <string.h>

#include "help_train.h"

enum {
    ROWS = 10000, /* 200 KB: the middle is no part of what a fingerprint sees */
    BATCH = 1000  /* 10 steps a pass */
};

static void open_run(train_bench *b, const char *check, artel_fit_options *o, char *directory)
{
    train_open(b, ROWS);
    *o = train_options(b, 1);
    snprintf(directory, 128, "%s/ckpt", b->folder);
    o->epochs = 3;
    o->batch_size = BATCH;
    o->shuffle = true;
    o->checkpoint_dir = directory;
    o->check_data = check;
}

static void stop_after(train_bench *b, artel_fit_options *o, int64_t step)
{
    b->stop_at = step;
    train_expect(b, artel_model_fit(b->model, b->data, o, NULL), ARTEL_ERROR_PREEMPTED);
    artel_context_clear(b->ctx);
    b->stop_at = 0;
}

/* What a run says of rows that changed while it was stopped after a step; "" when it goes on. */
static void check_changed(const char *check, int64_t stop, bool changed, const char *part)
{
    train_bench b;
    artel_fit_options o;
    char directory[128];
    open_run(&b, check, &o, directory);
    stop_after(&b, &o, stop);
    for (int row = 4000; changed && row < 6000; row++) b.x[5 * row + 3] += 0.5f;
    artel_status status = artel_model_fit(b.model, b.data, &o, NULL);
    if ((status < 0) != (part[0] != 0)) fail_msg("%s, stopped at %d: status %d", check, (int)stop, (int)status);
    if (part[0] && !strstr(artel_context_error(b.ctx)->what, part))
        fail_msg("it says: %s", artel_context_error(b.ctx)->what);
    assert_int_equal(b.resumed, part[0] && strcmp(check, "reading") != 0 ? 0 : stop);
    train_close(&b);
}

static void test_changed(void **state)
{
    (void)state;
    check_changed("auto", 13, true, "these differ: data content");
    check_changed("start", 13, true, "these differ: data content");
    check_changed("reading", 13, true,
                  "not those that this run was trained on before"); /* in the midst of the second pass */
    check_changed("reading", 10, true, "not those that this run was trained on before"); /* between two passes */
    check_changed("reading", 3, true,
                  "not those that this run was trained on before"); /* the first pass is half of each */
    check_changed("off", 13, true, "");
}

static void test_unchanged(void **state)
{
    (void)state;
    static const char *const checks[] = {"auto", "start", "reading", "off"};
    for (int i = 0; i < 4; i++) {
        check_changed(checks[i], 3, false, "");
        check_changed(checks[i], 17, false, "");
    }
}

/* A checkpoint of a run that knew its content otherwise, or not, can be continued. */
static void test_other_check(void **state)
{
    (void)state;
    train_bench b;
    artel_fit_options o;
    char directory[128];
    open_run(&b, "reading", &o, directory);
    stop_after(&b, &o, 13);
    o.check_data = "start";
    stop_after(&b, &o, 17);
    o.check_data = NULL;
    stop_after(&b, &o, 22);
    o.check_data = "reading";
    train_expect(&b, artel_model_fit(b.model, b.data, &o, NULL), ARTEL_OK);
    o.check_data = "sometimes";
    train_expect(&b, artel_model_fit(b.model, b.data, &o, NULL), ARTEL_ERROR_INVALID);
    assert_string_equal(artel_context_error(b.ctx)->where, ".check_data");
    train_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changed),
        cmocka_unit_test(test_unchanged),
        cmocka_unit_test(test_other_check),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
