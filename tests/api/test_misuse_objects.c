/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 60 */
/* What a program gets wrong with values, metrics, sessions, hooks and watches: calls from within what they call,
 * objects of two contexts, settings that there are not, checkpoints that fit nothing. */
#include "api/help_forms.h"

#include "artel/estimator.h"
#include "artel/hooks.h"
#include "artel/values.h"
#include "artel/watch.h"

static const api_form two = {"mirrored", 2, 2};

static artel_status ask_for_values(void *user, const artel_value_context *context, void *element)
{
    (void)context, (void)element;
    return artel_values_local(*(artel_values **)user, NULL, NULL, NULL, NULL);
}

static void values_that_ask_for_themselves_end(void **state)
{
    artel_context *ctx = api_context();
    artel_strategy *s = api_strategy(ctx, &two, 8);
    artel_values_options o = ARTEL_VALUES_OPTIONS_INIT;
    artel_values *values;
    (void)state;
    o.make = ask_for_values;
    o.user = &values;
    api_ok(ctx, artel_values_create(s, &o, &values));
    for (int i = 0; i < 2; i++)
        api_refused(ctx, artel_values_local(values, NULL, NULL, NULL, NULL), ARTEL_ERROR_INVALID, "asks for them");
    artel_strategy_destroy(s);
    artel_context_destroy(ctx);
}

static void settings_of_metrics_are_looked_at(void **state)
{
    artel_context *ctx = api_context();
    artel_strategy *s = api_strategy(ctx, &two, 8);
    artel_metric *m;
    (void)state;
    api_refused(ctx, artel_metric_create(s, "Mean:bogus=1", NULL, &m), ARTEL_ERROR_UNSUPPORTED, "bogus");
    api_refused(ctx, artel_metric_create(s, "{\"class_name\": \"Sum\", \"config\": {\"axis\": 1}}", NULL, &m),
                ARTEL_ERROR_UNSUPPORTED, "axis");
    api_ok(ctx, artel_metric_create(
                    s, "{\"class_name\": \"Sum\", \"config\": {\"name\": \"all\", \"dtype\": \"float32\"}}", NULL, &m));
    assert_string_equal(artel_metric_name(m), "all");
    artel_strategy_destroy(s);
    artel_context_destroy(ctx);
}

/* -- sessions and hooks -- */

typedef struct monitored {
    artel_context *ctx;
    artel_session *session;
    artel_function *words;
    const char *folder;
    bool within, text;
} monitored;

static artel_status watch_over(monitored *m, artel_hook *hook);

static artel_status one_unit(void *user, int64_t number)
{
    monitored *m = user;
    artel_string word = {"a", 1};
    artel_session_call c = ARTEL_SESSION_CALL_INIT;
    const artel_array in = {ARTEL_DTYPE_STRING, {1, {1}}, &word}, out = {.dtype = ARTEL_DTYPE_STRING};
    (void)number;
    if (m->within) return watch_over(m, NULL);
    c.feeds = &in;
    c.outputs = &out;
    c.feed_count = c.output_count = 1;
    return m->text ? artel_session_run(m->session, m->words, &c) : ARTEL_ERROR_IO;
}

static artel_status watch_over(monitored *m, artel_hook *hook)
{
    artel_monitor_options o = ARTEL_MONITOR_OPTIONS_INIT;
    o.directory = m->folder;
    o.hooks = &hook;
    o.hook_count = hook != NULL;
    return artel_session_monitor(m->session, &o, 1, one_unit, m);
}

static artel_status fail_as_hook(void *user, artel_session *session, int64_t unit)
{
    (void)user, (void)session, (void)unit;
    return ARTEL_ERROR_IO;
}

static artel_status trace_upper(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    out[0] = artel_graph_unary(g, "string_upper", in[0]);
    return artel_graph_status(g);
}

static void sessions_are_monitored_once(void **state)
{
    artel_context *ctx = api_context(), *far = api_context();
    artel_strategy *s;
    artel_variable_options v = ARTEL_VARIABLE_OPTIONS_INIT;
    artel_variable *variable;
    artel_hook *hook, *far_hook;
    artel_hook_functions call = {.struct_size = sizeof call, .created = fail_as_hook};
    const artel_argument argument = {.name = "t", .dtype = ARTEL_DTYPE_STRING};
    artel_function_options f = ARTEL_FUNCTION_OPTIONS_INIT;
    char folder[64];
    monitored m = {.ctx = ctx, .folder = folder};
    (void)state;
    api_folder_make(folder);
    api_ok(ctx, artel_strategy_create(ctx, NULL, &s));
    v.name = "v";
    f.arguments = &argument;
    f.argument_count = f.output_count = 1;
    api_ok(ctx, artel_variable_create(s, &v, &variable));
    api_ok(ctx, artel_function_create(s, &f, trace_upper, NULL, &m.words));
    api_ok(ctx, artel_session_create(s, NULL, &m.session));
    api_ok(ctx, artel_hook_create(ctx, &call, NULL, &hook));
    api_ok(far, artel_hook_create(far, &call, NULL, &far_hook));
    api_refused(ctx, watch_over(&m, far_hook), ARTEL_ERROR_INVALID, "a hook is another context's");
    api_refused(ctx, watch_over(&m, hook), ARTEL_ERROR_IO, "hook 0 has failed");
    api_refused(ctx, watch_over(&m, NULL), ARTEL_ERROR_IO, "unit 0 has failed");
    m.text = true; /* whose outputs are not the graph's */
    api_refused(ctx, watch_over(&m, NULL), ARTEL_ERROR_UNSUPPORTED, "text");
    m.within = true;
    api_refused(ctx, watch_over(&m, NULL), ARTEL_ERROR_INVALID, "monitored already");
    artel_hook_destroy(hook);
    artel_hook_destroy(far_hook);
    artel_session_destroy(m.session);
    artel_strategy_destroy(s);
    api_folder_remove(folder);
    artel_context_destroy(far);
    artel_context_destroy(ctx);
}

/* -- watches -- */

static void watch_wrongly(artel_context *ctx, const char *folder, artel_model *model, artel_data *data)
{
    artel_context *far = api_context();
    artel_data *far_data = api_rows(far, false);
    artel_model *other = api_cnn(ctx);
    artel_watch *watch;
    artel_watch_options o = ARTEL_WATCH_OPTIONS_INIT;
    artel_checkpoint_info found;
    o.timeout_secs = -0.5;
    api_refused(ctx, artel_watch_create(ctx, folder, &o, &watch), ARTEL_ERROR_INVALID, "timeout_secs");
    o.timeout_secs = 0;
    api_ok(ctx, artel_watch_create(ctx, folder, &o, &watch));
    api_refused(ctx, artel_watch_evaluate(watch, model, far_data, NULL, NULL), ARTEL_ERROR_INVALID, "the data is");
    api_ok(ctx, artel_watch_found(watch, &found, NULL));
    assert_int_equal(found.step, -1); /* nothing was taken */
    api_refused(ctx, artel_watch_evaluate(watch, other, data, NULL, NULL), ARTEL_ERROR_CORRUPT, "does not fit");
    api_ok(ctx, artel_watch_found(watch, &found, NULL));
    assert_int_equal(found.step, 3);
    assert_int_equal(artel_watch_evaluate(watch, other, data, NULL, NULL), ARTEL_AGAIN); /* it counts as given */
    artel_watch_destroy(watch);
    artel_model_destroy(other);
    artel_data_destroy(far_data);
    artel_context_destroy(far);
}

static void watches_get_past_what_does_not_fit(void **state)
{
    artel_context *ctx = api_context();
    artel_model *model = api_mlp(ctx);
    artel_data *data = api_rows(ctx, false);
    artel_fit_options fit = ARTEL_FIT_OPTIONS_INIT;
    char folder[64];
    (void)state;
    api_folder_make(folder);
    fit.checkpoint_dir = folder;
    api_ok(ctx, artel_model_fit(model, data, &fit, NULL));
    watch_wrongly(ctx, folder, model, data);
    artel_data_destroy(data);
    artel_model_destroy(model);
    api_folder_remove(folder);
    artel_context_destroy(ctx);
}

/* -- functions that fail and say nothing -- */

static artel_status fail_on_result(void *user, artel_model *model, const artel_history *history)
{
    (void)user, (void)model, (void)history;
    return ARTEL_ERROR_IO;
}

static artel_status give_rows(void *user, artel_context *ctx, artel_estimator_input *in)
{
    const bool *gives = user;
    if (*gives) in->data = api_rows(ctx, false);
    return *gives ? ARTEL_AGAIN : ARTEL_ERROR_IO; /* what is not negative is no failure */
}

static artel_status fail_to_build(void *user, artel_strategy *strategy, artel_estimator_mode mode)
{
    (void)user, (void)strategy, (void)mode;
    return ARTEL_ERROR_IO;
}

static artel_status model_nothing(void *user, artel_graph *g, const artel_estimator_batch *batch,
                                  artel_estimator_spec *spec)
{
    (void)user, (void)batch, (void)spec;
    return artel_graph_status(g);
}

static void silent_failures_are_named(void **state)
{
    artel_context *ctx = api_context();
    artel_model *model = api_mlp(ctx);
    artel_data *data = api_rows(ctx, false);
    artel_fit_options fit = ARTEL_FIT_OPTIONS_INIT;
    artel_estimator_options o = ARTEL_ESTIMATOR_OPTIONS_INIT;
    artel_train_spec train = ARTEL_TRAIN_SPEC_INIT;
    artel_estimator *e;
    bool gives = false;
    char folder[64];
    (void)state;
    api_folder_make(folder);
    fit.on_result = fail_on_result;
    api_refused(ctx, artel_model_fit(model, data, &fit, NULL), ARTEL_ERROR_IO, "writes them has failed");
    o.model_dir = folder;
    o.build = fail_to_build;
    o.model = model_nothing;
    train.input = give_rows;
    train.user = &gives;
    train.max_steps = 1;
    api_ok(ctx, artel_estimator_create(ctx, &o, &e));
    api_refused(ctx, artel_estimator_train(e, &train), ARTEL_ERROR_IO, "input function");
    gives = true;
    api_refused(ctx, artel_estimator_train(e, &train), ARTEL_ERROR_IO, "builds the model has failed");
    artel_estimator_destroy(e);
    artel_data_destroy(data);
    artel_model_destroy(model);
    api_folder_remove(folder);
    artel_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_that_ask_for_themselves_end), cmocka_unit_test(settings_of_metrics_are_looked_at),
        cmocka_unit_test(sessions_are_monitored_once), cmocka_unit_test(watches_get_past_what_does_not_fit),
        cmocka_unit_test(silent_failures_are_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
