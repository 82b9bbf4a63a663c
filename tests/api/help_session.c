/* SPDX-License-Identifier: Apache-2.0 */
/* The program of sessions under test. */
#include "help_session.h"

artel_shape session_shape(int rank, int64_t a, int64_t b)
{
    return (artel_shape){.rank = rank, .dim = {a, b}};
}

typedef struct add_at {
    session_program *program;
    const char *place;
} add_at;

float session_number(unsigned seed, unsigned i)
{
    unsigned x = seed * 2654435761u + i * 40503u;
    x ^= x >> 13;
    x *= 1274126177u;
    return (float)(x >> 8 & 0xffff) / 65536.0f - 0.5f;
}

static artel_variable *variable(session_program *p, const char *name, artel_shape shape, unsigned seed)
{
    artel_variable_options o = ARTEL_VARIABLE_OPTIONS_INIT;
    float values[SESSION_WIDE * SESSION_WIDE];
    artel_variable *made = NULL;
    for (unsigned i = 0; i < (unsigned)artel_shape_count(&shape); i++) values[i] = seed ? session_number(seed, i) : 0;
    o.name = name;
    o.shape = shape;
    o.initial = values;
    artel_variable_create(p->strategy, &o, &made);
    return made;
}

/* Outputs: the mean loss, the logits. */
static artel_status trace_step(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    session_program *p = user;
    artel_graph_device(g, p->place[0]);
    artel_value weights = artel_graph_variable(g, p->hidden), bias = artel_graph_variable(g, p->bias);
    artel_value product = artel_graph_binary(g, "matmul", in[0], weights);
    artel_value sum = artel_graph_binary(g, "add", product, bias);
    artel_value hidden = artel_graph_dropout(g, artel_graph_unary(g, "relu", sum), 0.25);
    artel_graph_device_end(g);
    artel_graph_device(g, p->place[1]);
    artel_value last = artel_graph_variable(g, p->out);
    out[1] = artel_graph_binary(g, "matmul", hidden, last);
    artel_graph_device_end(g);
    artel_graph_device(g, p->place[2]);
    artel_value each = artel_graph_loss(g, "sparse_categorical_crossentropy:from_logits=true", in[1], out[1]);
    out[0] = artel_graph_reduce(g, ARTEL_REDUCTION_MEAN, each);
    artel_graph_minimise(g, p->optimizer, out[0]);
    artel_graph_device_end(g);
    return artel_graph_status(g);
}

/* Rows of a table, and the argument itself. */
static artel_status trace_look(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    session_program *p = user;
    artel_graph_device(g, p->place[3]);
    artel_value table = artel_graph_variable(g, p->table);
    out[0] = artel_graph_op(g, "take", (artel_value[]){table, in[0]}, 2, "{\"axis\": 0}");
    artel_graph_device_end(g);
    out[1] = in[1];
    return artel_graph_status(g);
}

/* A product whose gradient by `count` is the argument. */
static artel_status trace_add(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    const add_at *a = user;
    (void)out;
    artel_graph_device(g, a->place);
    artel_value count = artel_graph_variable(g, a->program->count);
    artel_graph_minimise(g, a->program->plain, artel_graph_binary(g, "multiply", in[0], count));
    artel_graph_device_end(g);
    return artel_graph_status(g);
}

/* In float64: a line through rows, its squared error and a step down. Outputs: the error, the rows of guesses. */
static artel_status trace_digits(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    session_program *p = user;
    artel_graph_device(g, p->place[0]);
    artel_value product = artel_graph_binary(g, "matmul", in[0], artel_graph_variable(g, p->slope));
    artel_graph_device_end(g);
    artel_graph_device(g, p->place[1]);
    out[1] = artel_graph_unary(g, "tanh", artel_graph_binary(g, "add", product, artel_graph_variable(g, p->shift)));
    artel_graph_device_end(g);
    artel_graph_device(g, p->place[2]);
    artel_value square = artel_graph_unary(g, "square", artel_graph_binary(g, "subtract", out[1], in[1]));
    artel_value row = artel_graph_op(g, "mean", &square, 1, "{\"axis\": -1}");
    out[0] = artel_graph_reduce(g, ARTEL_REDUCTION_MEAN, row);
    artel_graph_minimise(g, p->precise, out[0]);
    artel_graph_device_end(g);
    return artel_graph_status(g);
}

static artel_variable *precise(session_program *p, const char *name, artel_shape shape)
{
    artel_variable_options o = ARTEL_VARIABLE_OPTIONS_INIT;
    double values[SESSION_DIGITS * 2];
    artel_variable *made = NULL;
    for (int i = 0; i < SESSION_DIGITS * 2; i++) values[i] = 1.0 / (3 + i); /* of which float32 has half the digits */
    o.name = name;
    o.shape = shape;
    o.dtype = ARTEL_DTYPE_FLOAT64;
    o.initial = values;
    artel_variable_create(p->strategy, &o, &made);
    return made;
}

static artel_status declare_digits(session_program *p)
{
    const artel_argument arguments[] = {{"x", ARTEL_DTYPE_FLOAT64, false, session_shape(1, SESSION_DIGITS, 0)},
                                        {"y", ARTEL_DTYPE_FLOAT64, false, session_shape(1, 2, 0)}};
    artel_function_options f = ARTEL_FUNCTION_OPTIONS_INIT;
    p->slope = precise(p, "slope", session_shape(2, SESSION_DIGITS, 2));
    p->shift = precise(p, "shift", session_shape(1, 2, 0));
    artel_status status = artel_optimizer_create(p->strategy, "adam:learning_rate=0.01",
                                                 (artel_variable *[]){p->slope, p->shift}, 2, &p->precise);
    f.name = "digits";
    f.arguments = arguments;
    f.argument_count = f.output_count = 2;
    return status == ARTEL_OK ? artel_function_create(p->strategy, &f, trace_digits, p, &p->digits) : status;
}

static artel_status declare_adding(session_program *p)
{
    static const artel_argument argument = {"by", ARTEL_DTYPE_FLOAT32, true, {.rank = 0}};
    add_at at[] = {{p, "/job:worker/task:0"}, {p, "/job:worker/task:1"}};
    artel_function_options f = ARTEL_FUNCTION_OPTIONS_INIT;
    f.arguments = &argument;
    f.argument_count = 1;
    artel_status status = artel_optimizer_create(p->strategy, "sgd:learning_rate=1", &p->count, 1, &p->plain);
    for (int i = 0; i < 2 && status == ARTEL_OK; i++) {
        f.name = i == 0 ? "add" : "add too";
        status = artel_function_create(p->strategy, &f, trace_add, &at[i], &p->add[i]);
    }
    return status;
}

artel_status session_declare(session_program *p)
{
    artel_strategy_options o = ARTEL_STRATEGY_OPTIONS_INIT;
    o.strategy = "one-device";
    o.batch_size = SESSION_BATCH;
    o.threads = 1;
    o.seed = 7;
    artel_status status = artel_strategy_create(p->ctx, &o, &p->strategy);
    if (status < 0) return status;
    p->hidden = variable(p, "hidden", session_shape(2, SESSION_WIDE, SESSION_WIDE), 1);
    p->bias = variable(p, "bias", session_shape(1, SESSION_WIDE, 0), 2);
    p->out = variable(p, "out", session_shape(2, SESSION_WIDE, SESSION_CLASSES), 3);
    p->table = variable(p, "table", session_shape(2, 5, 2), 4);
    p->count = variable(p, "count", session_shape(0, 0, 0), 0);
    status = artel_optimizer_create(p->strategy, "adam:learning_rate=0.01",
                                    (artel_variable *[]){p->hidden, p->bias, p->out}, 3, &p->optimizer);
    if (status < 0) return status;
    artel_function_options f = ARTEL_FUNCTION_OPTIONS_INIT;
    const artel_argument step[] = {{"x", ARTEL_DTYPE_FLOAT32, false, session_shape(1, SESSION_WIDE, 0)},
                                   {"y", ARTEL_DTYPE_INT32, false, {.rank = 0}}};
    f.name = "step";
    f.arguments = step;
    f.argument_count = 2;
    f.output_count = 2;
    f.training = true;
    status = artel_function_create(p->strategy, &f, trace_step, p, &p->step);
    if (status < 0) return status;
    const artel_argument look[] = {{"id", ARTEL_DTYPE_INT32, false, {.rank = 0}},
                                   {"unused", ARTEL_DTYPE_FLOAT32, true, {.rank = 0}}};
    f.name = "look";
    f.arguments = look;
    status = artel_function_create(p->strategy, &f, trace_look, p, &p->look);
    if (status == ARTEL_OK) status = declare_adding(p);
    return status == ARTEL_OK ? declare_digits(p) : status;
}

static void fill(int step, float *x, int32_t *y)
{
    for (unsigned i = 0; i < SESSION_BATCH * SESSION_WIDE; i++) x[i] = session_number(100 + (unsigned)step, i);
    for (int i = 0; i < SESSION_BATCH; i++) y[i] = (i + step) % SESSION_CLASSES;
}

/* By a session, or, where there is none, by the functions themselves. */
artel_status session_run(session_program *p, artel_function *f, const artel_array *in, const artel_array *out,
                         bool read_only)
{
    artel_session_call call = ARTEL_SESSION_CALL_INIT;
    if (!p->session) return artel_function_run(f, in, 2, out, 2);
    call.feeds = in;
    call.outputs = out;
    call.feed_count = call.output_count = 2;
    call.read_only = read_only;
    return artel_session_run(p->session, f, &call);
}

artel_status session_step(session_program *p, int number, float *loss, float *logits)
{
    float x[SESSION_BATCH * SESSION_WIDE];
    int32_t y[SESSION_BATCH];
    int64_t rows = number % 4 == 2 ? 7 : SESSION_BATCH; /* short batches, too */
    artel_array in[] = {{ARTEL_DTYPE_FLOAT32, session_shape(2, rows, SESSION_WIDE), x},
                        {ARTEL_DTYPE_INT32, session_shape(1, rows, 0), y}};
    artel_array out[] = {{.data = loss}, {.data = logits}};
    fill(number, x, y);
    return session_run(p, p->step, in, out, false);
}

static artel_status step_digits(session_program *p, int number, double *error, double *guess)
{
    double x[SESSION_BATCH * SESSION_DIGITS], y[SESSION_BATCH * 2];
    int64_t rows = number % 4 == 2 ? 7 : SESSION_BATCH;
    const artel_array in[] = {{ARTEL_DTYPE_FLOAT64, session_shape(2, rows, SESSION_DIGITS), x},
                              {ARTEL_DTYPE_FLOAT64, session_shape(2, rows, 2), y}};
    const artel_array out[] = {{.dtype = ARTEL_DTYPE_FLOAT64, .data = error},
                               {.dtype = ARTEL_DTYPE_FLOAT64, .data = guess}};
    for (int i = 0; i < SESSION_BATCH * SESSION_DIGITS; i++) x[i] = (i * 7 + number) % 11 / 7.0 - 0.6;
    for (int i = 0; i < SESSION_BATCH * 2; i++) y[i] = (i + number) % 5 / 9.0;
    return session_run(p, p->digits, in, out, false);
}

artel_status session_read(session_program *p, session_outcome *o)
{
    artel_status status = p->session ? artel_session_pull(p->session) : ARTEL_OK;
    if (status == ARTEL_OK) status = artel_variable_read(p->hidden, o->hidden, SESSION_WIDE * SESSION_WIDE);
    if (status == ARTEL_OK) status = artel_variable_read(p->out, o->out, SESSION_WIDE * SESSION_CLASSES);
    if (status == ARTEL_OK)
        status = artel_variable_read_as(p->slope, ARTEL_DTYPE_FLOAT64, o->slope, SESSION_DIGITS * 2);
    if (status == ARTEL_OK) status = artel_variable_read_as(p->shift, ARTEL_DTYPE_FLOAT64, o->shift, 2);
    return status;
}

artel_status session_train(session_program *p, session_outcome *o)
{
    artel_status status = ARTEL_OK;
    for (int i = 0; i < SESSION_STEPS && status == ARTEL_OK; i++)
        status = session_step(p, i, &o->loss[i], i == SESSION_STEPS - 1 ? o->logits : NULL);
    for (int i = 0; i < SESSION_STEPS && status == ARTEL_OK; i++)
        status = step_digits(p, i, &o->error[i], i == SESSION_STEPS - 1 ? o->guess : NULL);
    return status == ARTEL_OK ? session_read(p, o) : status;
}
