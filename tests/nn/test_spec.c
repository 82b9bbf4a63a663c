/* SPDX-License-Identifier: Apache-2.0 */
/* The command line's way of writing records. */
#include "help_nn.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "nn/spec.h"

typedef struct spec_row {
    const char *text, *json;
} spec_row;

static const spec_row single[] = {
    {"mine>Bounded", "'mine>Bounded'"},
    {"mine>Bounded:beta=0.5", "{'class_name': 'mine>Bounded', 'config': {'beta': 0.5}}"},
    {"adam", "'adam'"},
    {"adam:", "{'class_name': 'adam', 'config': {}}"},
    {"adam:learning_rate=0.001,beta_1=0.9",
     "{'class_name': 'adam', 'config': {'learning_rate': 0.001, 'beta_1': 0.9}}"},
    {" sgd : momentum = 0.9 , nesterov=true, clipnorm=null ",
     "{'class_name': 'sgd', 'config': {'momentum': 0.9, 'nesterov': true, 'clipnorm': null}}"},
    {"AUC:curve=PR,thresholds=[0.2,0.5]", "{'class_name': 'AUC', 'config': {'curve': 'PR', 'thresholds': [0.2, 0.5]}}"},
    {"sgd:learning_rate=cosine_decay(initial=0.1,steps=15)",
     "{'class_name': 'sgd', 'config': {'learning_rate': {'class_name': 'CosineDecay', 'config': "
     "{'initial_learning_rate': 0.1, "
     "'decay_steps': 15}}}}"},
    {"sgd:learning_rate=linear_scaling(base=0.1,warmup=5,after=exponential_decay(initial=0.1,steps=3,rate=0.5))",
     "{'class_name': 'sgd', 'config': {'learning_rate': {'class_name': 'LinearScaling', 'config': {'base_rate': 0.1, "
     "'warmup_steps': 5, "
     "'after': "
     "{'class_name': 'ExponentialDecay', 'config': {'initial_learning_rate': 0.1, 'decay_steps': 3, 'decay_rate': "
     "0.5}}}}}}"},
    {"sgd:learning_rate={\"class_name\":\"X\",\"config\":{\"a\":[1,2]}},name=\"a,b:c\"",
     "{'class_name': 'sgd', 'config': {'learning_rate': {'class_name': 'X', 'config': {'a': [1, 2]}}, 'name': "
     "'a,b:c'}}"},
    {"{\"class_name\": \"SGD\", \"config\": {}}", "{'class_name': 'SGD', 'config': {}}"},
};

static const spec_row lists[] = {
    {"accuracy", "['accuracy']"},
    {"ModelCheckpoint:filepath={epoch:02d}-{loss:.2f}.keras,verbose=1",
     "[{'class_name': 'ModelCheckpoint', 'config': {'filepath': '{epoch:02d}-{loss:.2f}.keras', 'verbose': 1}}]"},
    {"ModelCheckpoint:filepath={{a}}{epoch}.keras,TerminateOnNaN",
     "[{'class_name': 'ModelCheckpoint', 'config': {'filepath': '{{a}}{epoch}.keras'}}, 'TerminateOnNaN']"},
    {"accuracy,mse", "['accuracy', 'mse']"},
    {"accuracy,auc:num_thresholds=50,curve=PR,mae",
     "['accuracy', {'class_name': 'auc', 'config': {'num_thresholds': 50, 'curve': 'PR'}}, 'mae']"},
    {"AUC:num_thresholds=20,BinaryAccuracy:threshold=0.4",
     "[{'class_name': 'AUC', 'config': {'num_thresholds': 20}}, {'class_name': 'BinaryAccuracy', 'config': "
     "{'threshold': 0.4}}]"},
};

static void check(nn_bench *bench, const spec_row *row, bool list)
{
    json_t *found, *wanted = nn_json(row->json);
    artel_status status = list ? artel__spec_read_list(bench->ctx, "metrics", row->text, &found)
                               : artel__spec_read(bench->ctx, "optimizer", row->text, &found);
    if (status < 0) fail_msg("%s: %s", row->text, artel_context_error(bench->ctx)->what);
    if (!json_equal(found, wanted)) fail_msg("%s", json_dumps(found, JSON_ENCODE_ANY));
    json_decref(found);
    json_decref(wanted);
}

static void test_text(void **state)
{
    (void)state;
    nn_bench bench;
    nn_init(&bench, 1);
    for (size_t i = 0; i < ARTEL__COUNT(single); i++) check(&bench, &single[i], false);
    for (size_t i = 0; i < ARTEL__COUNT(lists); i++) check(&bench, &lists[i], true);
    nn_fini(&bench);
}

static void test_files(void **state)
{
    (void)state;
    nn_bench bench;
    nn_init(&bench, 1);
    char path[] = "/tmp/artel-spec-XXXXXX", text[128];
    static const char content[] = "[\"mse\", {\"class_name\": \"AUC\", \"config\": {}}]";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, sizeof content - 1), sizeof content - 1);
    close(fd);
    snprintf(text, sizeof text, "accuracy,@%s", path);
    check(&bench, &(spec_row){text, "['accuracy', 'mse', {'class_name': 'AUC', 'config': {}}]"}, true);
    unlink(path);
    json_t *json;
    nn_expect_failure(bench.ctx, artel__spec_read(bench.ctx, "loss", text + strlen("accuracy,"), &json),
                      ARTEL_ERROR_NOT_FOUND, path);
    nn_fini(&bench);
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",          ":a=1",        "adam:a",       "adam:a=", "adam:=1",       "two words",
        "adam:a=(1", "adam:a=f(1)", "adam:a=f(b=1", "a-b",     "adam:a=1,,b=2", "a>",
        ">a",        "a>b>c:d=1"};
    nn_bench bench;
    json_t *json;
    nn_init(&bench, 1);
    for (size_t i = 0; i < ARTEL__COUNT(bad); i++) {
        artel_status status = artel__spec_read(bench.ctx, "optimizer", bad[i], &json);
        if (status == ARTEL_OK &&
            strcmp(bad[i], "adam:a=(1") == 0) { /* a word, which the reader of the setting refuses */
            json_decref(json);
            continue;
        }
        nn_expect_failure(bench.ctx, status, ARTEL_ERROR_INVALID, "optimizer");
    }
    nn_expect_failure(bench.ctx, artel__spec_read(bench.ctx, "optimizer", "adam:a={\"b\"", &json), ARTEL_ERROR_CORRUPT,
                      "optimizer");
    nn_expect_failure(bench.ctx, artel__spec_read_list(bench.ctx, "metrics", "accuracy,,mse", &json),
                      ARTEL_ERROR_INVALID, "a name is missing");
    nn_expect_failure(bench.ctx, artel__spec_read_list(bench.ctx, "metrics", "accuracy,k=3", &json),
                      ARTEL_ERROR_INVALID, "no name");
    nn_expect_failure(bench.ctx, artel__spec_read(bench.ctx, "optimizer", "adam:a=\xff", &json), ARTEL_ERROR_INVALID,
                      "no text");
    char deep[400] = "adam:a=";
    for (int i = 0; i < 40; i++) strcat(deep, "f(a=");
    strcat(deep, "1");
    for (int i = 0; i < 40; i++) strcat(deep, ")");
    nn_expect_failure(bench.ctx, artel__spec_read(bench.ctx, "optimizer", deep, &json), ARTEL_ERROR_INVALID, "deep");
    nn_fini(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_text), cmocka_unit_test(test_files),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
