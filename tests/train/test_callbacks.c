/* SPDX-License-Identifier: Apache-2.0 */
/* Callbacks that cannot do what they are asked for are refused before the first step; what a run is like is in
 * tests/oracle. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "help_train.h"

static artel_status fit_with(train_bench *b, const char *callbacks)
{
    artel_fit_options o = train_options(b, 1);
    char text[1024];
    snprintf(text, sizeof text, callbacks, b->folder);
    o.callbacks = text;
    return artel_model_fit(b->model, b->data, &o, NULL);
}

static void refuse(train_bench *b, const char *callbacks, const char *part)
{
    train_expect(b, fit_with(b, callbacks), ARTEL_ERROR_INVALID);
    if (!strstr(artel_context_error(b->ctx)->what, part))
        fail_msg("\"%s\" does not say %s", artel_context_error(b->ctx)->what, part);
}

#define EARLY(config) "[{\"class_name\": \"EarlyStopping\", \"config\": {" config "}}]"
#define SAVE(file, config) \
    "[{\"class_name\": \"ModelCheckpoint\", \"config\": {\"filepath\": \"%s/" file "\"" config "}}]"

static void test_directions(void **state)
{
    (void)state;
    train_bench b;
    train_open(&b, 40);
    train_expect(&b, artel_model_compile(b.model, NULL, NULL, "[\"accuracy\"]"), ARTEL_OK);
    refuse(&b, EARLY("\"monitor\": \"acuracy\""),
           "whether more or less of \"acuracy\" is better (the run has loss, accuracy,");
    refuse(&b, EARLY("\"monitor\": \"val_acuracy\""), "\"val_acuracy\"");
    train_expect(&b, fit_with(&b, EARLY("\"monitor\": \"acuracy\", \"mode\": \"max\"")), ARTEL_OK);
    train_expect(&b, fit_with(&b, EARLY("\"monitor\": \"accuracy\"")), ARTEL_OK);
    train_expect(&b, fit_with(&b, SAVE("a.keras", ", \"monitor\": \"acuracy\"")), ARTEL_OK);
    refuse(&b, SAVE("a.keras", ", \"monitor\": \"acuracy\", \"save_best_only\": true"), "\"acuracy\"");
    train_close(&b);
}

/* A name that holds what will never be known is no name "nan". */
static void test_file_names(void **state)
{
    (void)state;
    train_bench b;
    char path[128];
    train_open(&b, 40);
    refuse(&b, SAVE("{epoch}-{val_loss:.2f}.keras", ""), "\"val_loss\"");
    refuse(&b, SAVE("{epoch}-{los}.keras", ""), "\"los\"");
    refuse(&b, SAVE("{batch}.keras", ""), "\"batch\"");
    refuse(&b, SAVE("{batch}-{val_loss}.keras", ", \"save_freq\": 2"), "\"val_loss\"");
    train_expect(&b, fit_with(&b, SAVE("{epoch}-{batch}.keras", ", \"save_freq\": 2")), ARTEL_OK);
    snprintf(path, sizeof path, "%s/1-2.keras", b.folder);
    assert_true(artel__file_exists(path));
    train_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_directions),
        cmocka_unit_test(test_file_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
