/* SPDX-License-Identifier: Apache-2.0 */
/* The library for C++17: handles that destroy what they hold, failures as exceptions, callbacks as functions.
 *
 * One header (so it is longer than others) and nothing to link besides libartel; everything in it is a call or two of the C interface, whose
 * headers say what things mean.
 *
 *     artel::context ctx;
 *     artel::model model(ctx, "model.keras");
 *     artel::data train(ctx, "npz:train.npz");
 *     artel::fit_options options;
 *     options.epochs = 3;
 *     artel::history history = model.fit(train, options, [](const artel_event &event) { ... });
 *     model.save("trained.keras");
 *
 * A handle is moved, not copied (a context may be copied: copies are the same one). Each keeps the context that it was made in, so that
 * handles may end in any order. As in C, a context and what was made in it belong to one thread at a time. What a callback throws
 * ends the run at the next step and comes out of the call that began it.
 */
#ifndef ARTEL_ARTEL_HPP
#define ARTEL_ARTEL_HPP

#include <array>
#include <exception>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "artel/artel.h"

namespace artel {

/* What the error record of a context says. what() is "WHERE: what is wrong; what to do about it". */
class error : public std::runtime_error {
  public:
    explicit error(const artel_error &record)
        : std::runtime_error(std::string(record.where) + ": " + record.what + (record.advice[0] ? std::string("; ") + record.advice : "")),
          record_(record)
    {
    }
    artel_status status() const noexcept
    {
        return record_.status;
    }
    const artel_error &record() const noexcept
    {
        return record_;
    }

  private:
    artel_error record_;
};

inline artel_shape shape(std::initializer_list<int64_t> extents)
{
    artel_shape out{};
    if (extents.size() > ARTEL_MAX_RANK) throw std::length_error("artel::shape: too many axes");
    for (int64_t extent : extents) out.dim[out.rank++] = extent;
    return out;
}

class context {
  public:
    using log_function = std::function<void(artel_log_level, const std::string &)>;

    /* `log` is called from any thread of the context, one call at a time, and must not throw. */
    explicit context(log_function log = nullptr, const char *isa = "auto")
        : log_(log ? std::make_shared<log_function>(std::move(log)) : nullptr)
    {
        artel_context_options options = ARTEL_CONTEXT_OPTIONS_INIT;
        artel_context *made = nullptr;
        options.isa = isa;
        if (log_) {
            options.log = [](void *user, artel_log_level level, const char *message) {
                (*static_cast<log_function *>(user))(level, message);
            };
            options.log_user = log_.get();
        }
        if (artel_context_create(&options, &made) < 0) throw error(*artel_context_error(nullptr));
        held_ = std::shared_ptr<artel_context>(made, artel_context_destroy);
    }
    artel_context *get() const noexcept
    {
        return held_.get();
    }
    /* From any thread. */
    void cancel() const noexcept
    {
        artel_context_cancel(get());
    }
    void preempt() const noexcept
    {
        artel_context_preempt(get());
    }
    void clear() const noexcept
    {
        artel_context_clear(get());
    }
    void check(artel_status status) const
    {
        if (status < 0) throw error(*artel_context_error(get()));
    }

  private:
    std::shared_ptr<log_function> log_; /* outlives the context below */
    std::shared_ptr<artel_context> held_;
};

namespace detail {
template <typename T, void (*destroy)(T *)> struct destroyer {
    void operator()(T *thing) const noexcept
    {
        destroy(thing);
    }
};

/* A thing and the context that it lives in, which goes after it. */
template <typename T, void (*destroy)(T *)> class handle {
  public:
    handle(handle &&) noexcept = default;
    handle &operator=(handle &&other) noexcept
    {
        held_ = std::move(other.held_); /* first: what was held needs its context to end */
        context_ = std::move(other.context_);
        return *this;
    }
    T *get() const noexcept
    {
        return held_.get();
    }
    const context &owner() const noexcept
    {
        return context_;
    }

  protected:
    explicit handle(context owner, T *thing = nullptr) : context_(std::move(owner)), held_(thing)
    {
    }
    void hold(T *thing) noexcept
    {
        held_.reset(thing);
    }
    T *release() noexcept
    {
        return held_.release();
    }

  private:
    context context_;
    std::unique_ptr<T, destroyer<T, destroy>> held_;
};
} // namespace detail

/* An array for data in memory; values are borrowed until the data has ended. */
inline artel_data_array array(const char *name, artel_data_role role, artel_dtype dtype, artel_shape extents, const void *values)
{
    artel_data_array out{};
    out.name = name;
    out.role = role;
    out.dtype = dtype;
    out.shape = extents;
    out.values = values;
    return out;
}

/* Texts as the library takes them, of data and arrays; they borrow the bytes of `from`. */
inline std::vector<artel_string> strings(const std::vector<std::string> &from)
{
    std::vector<artel_string> out;
    for (const std::string &text : from) out.push_back({text.data(), text.size()});
    return out;
}

class data : public detail::handle<artel_data, artel_data_destroy> {
  public:
    data(const context &ctx, const std::string &specification) : handle(ctx)
    {
        artel_data *made = nullptr;
        ctx.check(artel_data_open(ctx.get(), specification.c_str(), &made));
        hold(made);
    }
    data(const context &ctx, const std::vector<artel_data_array> &arrays) : handle(ctx)
    {
        artel_data *made = nullptr;
        ctx.check(artel_data_from_memory(ctx.get(), arrays.data(), static_cast<int>(arrays.size()), &made));
        hold(made);
    }
    int64_t count() const
    {
        return artel_data_count(get());
    }
    static void set_memory(const context &ctx, uint64_t bytes)
    {
        ctx.check(artel_data_set_memory(ctx.get(), bytes));
    }
};

/* Keras' History: for each key one value an epoch. */
using history = std::map<std::string, std::vector<double>>;
using event_function = std::function<void(const artel_event &)>;

struct fit_options : artel_fit_options {
    fit_options() : artel_fit_options(ARTEL_FIT_OPTIONS_INIT)
    {
    }
};
struct evaluate_options : artel_evaluate_options {
    evaluate_options() : artel_evaluate_options(ARTEL_EVALUATE_OPTIONS_INIT)
    {
    }
};

/* One output of predict. */
struct prediction {
    std::string name;
    artel_shape shape; /* with the rows in front */
    std::vector<float> values;
};

class model : public detail::handle<artel_model, artel_model_destroy> {
  public:
    model(const context &ctx, const std::string &path) : handle(ctx)
    {
        artel_model *made = nullptr;
        ctx.check(artel_model_load(ctx.get(), path.c_str(), &made));
        hold(made);
    }
    /* Under another dtype policy: "mixed_bfloat16". */
    model(const context &ctx, const std::string &path, const std::string &policy) : handle(ctx)
    {
        artel_model *made = nullptr;
        ctx.check(artel_model_load_with_policy(ctx.get(), path.c_str(), policy.c_str(), &made));
        hold(made);
    }
    /* Takes what the C interface has made in `ctx`. */
    model(const context &ctx, artel_model *made) noexcept : handle(ctx, made)
    {
    }

    void load_weights(const std::string &path)
    {
        owner().check(artel_model_load_weights(get(), path.c_str()));
    }
    void freeze(const std::string &pattern)
    {
        owner().check(artel_model_freeze(get(), pattern.c_str()));
    }
    void save(const std::string &path) const
    {
        owner().check(artel_model_save(get(), path.c_str()));
    }
    void initialise(uint64_t seed)
    {
        owner().check(artel_model_initialise(get(), seed));
    }
    void compile(const char *optimizer, const char *loss, const char *metrics = nullptr)
    {
        owner().check(artel_model_compile(get(), optimizer, loss, metrics));
    }
    std::string digest() const
    {
        std::array<char, 65> text{};
        owner().check(artel_model_digest(get(), text.data()));
        return text.data();
    }
    void get_weight(const std::string &path, std::vector<float> &values) const
    {
        owner().check(artel_model_get_weight(get(), path.c_str(), values.data(), static_cast<int64_t>(values.size())));
    }
    void set_weight(const std::string &path, const std::vector<float> &values)
    {
        owner().check(artel_model_set_weight(get(), path.c_str(), values.data(), static_cast<int64_t>(values.size())));
    }

    /* `options.on_event` and `event_user` are used by `event`, unless that is empty. */
    history fit(const data &rows, fit_options options = fit_options(), event_function event = nullptr)
    {
        listener ear(owner(), std::move(event));
        artel_history *made = nullptr;
        ear.attach(options);
        artel_status status = artel_model_fit(get(), rows.get(), &options, &made);
        return ear.finish(status, made);
    }
    std::map<std::string, double> evaluate(const data &rows, evaluate_options options = evaluate_options(), event_function event = nullptr)
    {
        listener ear(owner(), std::move(event));
        artel_history *made = nullptr;
        ear.attach(options);
        artel_status status = artel_model_evaluate(get(), rows.get(), &options, &made);
        std::map<std::string, double> out;
        for (const auto &entry : ear.finish(status, made)) out[entry.first] = entry.second.at(0);
        return out;
    }
    std::vector<prediction> predict(const data &rows, evaluate_options options = evaluate_options())
    {
        artel_predictions *made = nullptr;
        owner().check(artel_model_predict(get(), rows.get(), &options, &made));
        std::unique_ptr<artel_predictions, detail::destroyer<artel_predictions, artel_predictions_destroy>> held(made);
        std::vector<prediction> out;
        for (int i = 0; i < artel_predictions_count(made); i++) {
            const char *name;
            const float *values;
            artel_shape extents;
            owner().check(artel_predictions_get(made, i, &name, &extents, &values));
            out.push_back({name, extents, std::vector<float>(values, values + artel_shape_count(&extents))});
        }
        return out;
    }

  private:
    /* Carries events to a function, and what that throws past the C code. */
    class listener {
      public:
        listener(const context &ctx, event_function event) : context_(ctx), event_(std::move(event))
        {
        }
        template <typename Options> void attach(Options &options)
        {
            if (!event_) return;
            options.event_user = this;
            options.on_event = [](void *user, const artel_event *event) { static_cast<listener *>(user)->hear(*event); };
        }
        history finish(artel_status status, artel_history *made)
        {
            std::unique_ptr<artel_history, detail::destroyer<artel_history, artel_history_destroy>> held(made);
            if (thrown_) {
                context_.clear(); /* it was cancelled by us */
                std::rethrow_exception(thrown_);
            }
            context_.check(status);
            history out;
            for (int k = 0; made && k < artel_history_keys(made); k++) {
                int64_t epochs = 0;
                const char *key = artel_history_key(made, k);
                const double *values = artel_history_values(made, key, &epochs);
                out.emplace(key, std::vector<double>(values, values + epochs));
            }
            return out;
        }

      private:
        void hear(const artel_event &event) noexcept
        {
            if (thrown_) return;
            try {
                event_(event);
            } catch (...) {
                thrown_ = std::current_exception();
                context_.cancel();
            }
        }
        context context_;
        event_function event_;
        std::exception_ptr thrown_;
    };
};

/* Models by calls: layers are Keras', by class and config as JSON. Either a Sequential (add) or a Functional one (input, apply). A builder
 * remembers its first failure; finish throws it. */
class builder : public detail::handle<artel_builder, artel_builder_destroy> {
  public:
    static builder sequential(const context &ctx, const artel_shape &input, artel_dtype dtype = ARTEL_DTYPE_FLOAT32,
                              const char *name = nullptr)
    {
        artel_builder *made = nullptr;
        ctx.check(artel_sequential_create(ctx.get(), name, dtype, &input, &made));
        return builder(ctx, made);
    }
    static builder functional(const context &ctx, const char *name = nullptr)
    {
        artel_builder *made = nullptr;
        ctx.check(artel_functional_create(ctx.get(), name, &made));
        return builder(ctx, made);
    }
    builder &add(const char *class_name, const char *config = nullptr)
    {
        (void)artel_layer_add(get(), class_name, config);
        return *this;
    }
    artel_tensor input(const artel_shape &row, const char *name = nullptr, artel_dtype dtype = ARTEL_DTYPE_FLOAT32)
    {
        artel_tensor out{};
        (void)artel_input(get(), name, dtype, &row, &out);
        return out;
    }
    artel_tensor apply(const char *class_name, const char *config, std::initializer_list<artel_tensor> tensors)
    {
        artel_tensor out{};
        (void)artel_apply(get(), class_name, config, tensors.begin(), static_cast<int>(tensors.size()), &out);
        return out;
    }
    builder &arguments(artel_tensor of, const char *json) /* of the call that made `of` */
    {
        (void)artel_apply_arguments(get(), of, json);
        return *this;
    }
    model finish() /* of a Sequential */
    {
        artel_model *made = nullptr;
        owner().check(artel_sequential_finish(release(), &made));
        return model(owner(), made);
    }
    model finish(std::initializer_list<artel_tensor> outputs)
    {
        artel_model *made = nullptr;
        owner().check(artel_functional_finish(release(), outputs.begin(), static_cast<int>(outputs.size()), &made));
        return model(owner(), made);
    }

  private:
    builder(const context &ctx, artel_builder *made) : handle(ctx, made)
    {
    }
};

/* -- functions of one's own, traced once and run under any strategy (artel/strategy.h, artel/graph.h) -- */

class graph;

/* Of the graph that is traced; what fails says so when the function is made. */
struct value {
    artel_graph *within = nullptr;
    artel_value number = ARTEL_NO_VALUE;

    bool there() const noexcept /* a gradient may be none */
    {
        return number != ARTEL_NO_VALUE;
    }
};
using values = std::vector<value>;
/* What is computed of the inputs, or, within, of the state. */
using trace_function = std::function<values(graph &, const values &)>;

inline value operator+(value a, value b)
{
    return {a.within, artel_graph_binary(a.within, "add", a.number, b.number)};
}
inline value operator-(value a, value b)
{
    return {a.within, artel_graph_binary(a.within, "subtract", a.number, b.number)};
}
inline value operator*(value a, value b)
{
    return {a.within, artel_graph_binary(a.within, "multiply", a.number, b.number)};
}
inline value operator/(value a, value b)
{
    return {a.within, artel_graph_binary(a.within, "divide", a.number, b.number)};
}
inline value operator-(value a)
{
    return {a.within, artel_graph_unary(a.within, "negative", a.number)};
}

/* Of a strategy, which ends them; handles of one may be copied. */
class variable {
  public:
    variable(context owner, artel_variable *held) : context_(std::move(owner)), held_(held)
    {
    }
    artel_variable *get() const noexcept
    {
        return held_;
    }
    std::string name() const
    {
        return artel_variable_name(held_);
    }
    artel_shape shape() const
    {
        artel_shape out{};
        context_.check(artel_variable_shape(held_, &out));
        return out;
    }
    artel_dtype dtype() const
    {
        artel_dtype out{};
        context_.check(artel_variable_dtype(held_, &out));
        return out;
    }
    std::vector<double> read() const
    {
        const artel_shape extents = shape();
        std::vector<double> out(static_cast<size_t>(artel_shape_count(&extents)));
        context_.check(artel_variable_read_as(held_, ARTEL_DTYPE_FLOAT64, out.data(), static_cast<int64_t>(out.size())));
        return out;
    }
    void assign(const std::vector<double> &elements) const
    {
        context_.check(artel_variable_assign_as(held_, ARTEL_DTYPE_FLOAT64, elements.data(), static_cast<int64_t>(elements.size())));
    }

  private:
    context context_;
    artel_variable *held_;
};

namespace detail {
inline std::vector<artel_value> numbers(const values &from)
{
    std::vector<artel_value> out;
    for (const value &one : from) out.push_back(one.number);
    return out;
}

/* Carries a trace to functions, and what they throw past the C code. */
struct tracer {
    std::array<const trace_function *, 2> function{};
    std::array<size_t, 2> outputs{};
    size_t inputs = 0;
    std::exception_ptr *thrown = nullptr;

    template <int which> static artel_status call(void *user, artel_graph *g, const artel_value *in, artel_value *out);
};
} // namespace detail

class graph {
  public:
    graph(artel_graph *held, std::exception_ptr *thrown) : held_(held), thrown_(thrown)
    {
    }
    artel_graph *get() const noexcept
    {
        return held_;
    }
    bool training() const
    {
        return artel_graph_training(held_);
    }
    /* Of a row, or of the whole shared value. */
    artel_shape shape(value x) const
    {
        artel_shape out{};
        (void)artel_graph_describe(held_, x.number, nullptr, &out, nullptr);
        return out;
    }
    value number(double x)
    {
        return {held_, artel_graph_number(held_, x)};
    }
    value constant(const artel_shape &extents, const std::vector<float> &elements)
    {
        return {held_, artel_graph_constant(held_, ARTEL_DTYPE_FLOAT32, &extents, elements.data())};
    }
    value constant(artel_dtype dtype, const artel_shape &extents, const void *elements)
    {
        return {held_, artel_graph_constant(held_, dtype, &extents, elements)};
    }
    value read(const variable &v)
    {
        return {held_, artel_graph_variable(held_, v.get())};
    }
    /* An operation of keras.ops by its name, with its settings as JSON. */
    value op(const char *name, const values &inputs, const char *attributes = nullptr)
    {
        const std::vector<artel_value> in = detail::numbers(inputs);
        return {held_, artel_graph_op(held_, name, in.data(), static_cast<int>(in.size()), attributes)};
    }
    /* All results of one that has several. */
    values op_all(const char *name, const values &inputs, const char *attributes = nullptr)
    {
        const std::vector<artel_value> in = detail::numbers(inputs);
        std::vector<artel_value> out(256);
        const int count = artel_graph_op_all(held_, name, in.data(), static_cast<int>(in.size()), attributes, out.data(), 256);
        out.resize(count > 0 ? static_cast<size_t>(count) : 0);
        return given(out);
    }
    values call(const model &m, const values &inputs)
    {
        const std::vector<artel_value> in = detail::numbers(inputs);
        std::vector<artel_value> out(static_cast<size_t>(artel_model_output_count(m.get())), ARTEL_NO_VALUE);
        (void)artel_graph_call(held_, m.get(), in.data(), static_cast<int>(in.size()), out.data(), static_cast<int>(out.size()));
        return given(out);
    }
    value loss(const char *name, value target, value prediction)
    {
        return {held_, artel_graph_loss(held_, name, target.number, prediction.number)};
    }
    value dropout(value x, double rate)
    {
        return {held_, artel_graph_dropout(held_, x.number, rate)};
    }
    value uniform(value like, const artel_shape &extents, double low = 0, double high = 1, bool shared = false)
    {
        return {held_, artel_graph_uniform(held_, like.number, &extents, low, high, shared)};
    }
    value normal(value like, const artel_shape &extents, double deviation = 1)
    {
        return {held_, artel_graph_normal(held_, like.number, &extents, deviation)};
    }
    value reduce(artel_reduction reduction, value rows)
    {
        return {held_, artel_graph_reduce(held_, reduction, rows.number)};
    }
    value gather(value rows, int axis = 0)
    {
        return {held_, artel_graph_gather_along(held_, rows.number, axis)};
    }
    values gradients(value target, const values &wanted)
    {
        return slopes(artel_graph_gradients, target, wanted);
    }
    values jacobians(value target, const values &wanted)
    {
        return slopes(artel_graph_jacobians, target, wanted);
    }
    void assign(const variable &v, value x)
    {
        artel_graph_assign(held_, v.get(), x.number);
    }
    void apply(artel_optimizer *optimizer, const values &gradients)
    {
        const std::vector<artel_value> in = detail::numbers(gradients);
        artel_graph_apply(held_, optimizer, in.data(), static_cast<int>(in.size()));
    }
    void minimise(artel_optimizer *optimizer, value target)
    {
        artel_graph_minimise(held_, optimizer, target.number);
    }
    /* tf.cond, and tf.while_loop with maximum_iterations (artel/control.h). */
    values choose(value condition, const values &inputs, int outputs, const trace_function &then, const trace_function &otherwise)
    {
        const size_t made = outputs > 0 ? static_cast<size_t>(outputs) : 0;
        const std::vector<artel_value> in = detail::numbers(inputs);
        detail::tracer user{{&then, &otherwise}, {made, made}, inputs.size(), thrown_};
        std::vector<artel_value> out(made + 1, ARTEL_NO_VALUE);
        artel_choice choice{};
        choice.struct_size = sizeof choice;
        choice.condition = condition.number;
        choice.then = detail::tracer::call<0>;
        choice.otherwise = detail::tracer::call<1>;
        choice.user = &user;
        choice.inputs = in.data();
        choice.output_count = outputs;
        (void)artel_graph_choose(held_, &choice, out.data());
        out.resize(made);
        return given(out);
    }
    values loop(const values &state, int most, const trace_function &condition, const trace_function &body)
    {
        std::vector<artel_value> out = detail::numbers(state);
        detail::tracer user{{&condition, &body}, {1, state.size()}, state.size(), thrown_};
        artel_loop l{};
        l.struct_size = sizeof l;
        l.condition = detail::tracer::call<0>;
        l.body = detail::tracer::call<1>;
        l.user = &user;
        l.state_count = static_cast<int>(state.size());
        l.most = most;
        (void)artel_graph_loop(held_, &l, out.data());
        return given(out);
    }

    /* The state behind the last position, then what is stacked along the axis (of rows time is 1): `results` values that
     * the body, of the state and a position of each sequence, gives behind the state. */
    values scan(const values &sequences, const values &state, int results, int axis, const trace_function &body, bool reverse = false)
    {
        const size_t stacked = results > 0 ? static_cast<size_t>(results) : 0;
        const std::vector<artel_value> along = detail::numbers(sequences);
        std::vector<artel_value> now = detail::numbers(state), out(stacked + 1, ARTEL_NO_VALUE);
        detail::tracer user{{&body, nullptr}, {state.size() + stacked, 0}, state.size() + sequences.size(), thrown_};
        artel_scan s{};
        s.struct_size = sizeof s;
        s.body = detail::tracer::call<0>;
        s.user = &user;
        s.sequences = along.data();
        s.sequence_count = static_cast<int>(along.size());
        s.state_count = static_cast<int>(now.size());
        s.result_count = results;
        s.axis = axis;
        s.reverse = reverse;
        (void)artel_graph_scan(held_, &s, now.data(), out.data());
        out.resize(stacked);
        now.insert(now.end(), out.begin(), out.end());
        return given(now);
    }

  private:
    values given(const std::vector<artel_value> &from) const
    {
        values out;
        for (artel_value one : from) out.push_back({held_, one});
        return out;
    }
    template <typename Differentiate> values slopes(Differentiate differentiate, value target, const values &wanted)
    {
        const std::vector<artel_value> by = detail::numbers(wanted);
        std::vector<artel_value> out(by.size(), ARTEL_NO_VALUE);
        (void)differentiate(held_, target.number, by.data(), static_cast<int>(by.size()), out.data());
        return given(out);
    }
    artel_graph *held_;
    std::exception_ptr *thrown_;
};

namespace detail {
template <int which> artel_status tracer::call(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    auto *t = static_cast<tracer *>(user);
    try {
        graph wrapped(g, t->thrown);
        values inputs;
        for (size_t i = 0; i < t->inputs; i++) inputs.push_back({g, in[i]});
        const values made = (*t->function[which])(wrapped, inputs);
        if (made.size() != t->outputs[which]) throw std::logic_error("artel: a traced function gives another number of values than was announced");
        for (size_t i = 0; i < made.size(); i++) out[i] = made[i].number;
        return artel_graph_status(g);
    } catch (...) {
        *t->thrown = std::current_exception();
        return ARTEL_ERROR_INVALID;
    }
}
} // namespace detail

/* Memory of the caller's, for a run. */
template <typename T> artel_array memory(artel_dtype dtype, artel_shape extents, T *elements)
{
    artel_array out{};
    out.dtype = dtype;
    out.shape = extents;
    out.data = const_cast<void *>(static_cast<const void *>(elements));
    return out;
}
inline artel_array memory(artel_shape extents, float *elements)
{
    return memory(ARTEL_DTYPE_FLOAT32, extents, elements);
}

/* Of a strategy, which ends it. */
class function {
  public:
    function(context owner, artel_function *held) : context_(std::move(owner)), held_(held)
    {
    }
    artel_function *get() const noexcept
    {
        return held_;
    }
    void operator()(const std::vector<artel_array> &inputs, const std::vector<artel_array> &outputs) const
    {
        context_.check(artel_function_run(held_, inputs.data(), static_cast<int>(inputs.size()), outputs.data(), static_cast<int>(outputs.size())));
    }

  private:
    context context_;
    artel_function *held_;
};

struct strategy_options : artel_strategy_options {
    strategy_options() : artel_strategy_options(ARTEL_STRATEGY_OPTIONS_INIT)
    {
    }
};

class strategy : public detail::handle<artel_strategy, artel_strategy_destroy> {
  public:
    explicit strategy(const context &ctx, const strategy_options &options = strategy_options()) : handle(ctx)
    {
        artel_strategy *made = nullptr;
        ctx.check(artel_strategy_create(ctx.get(), &options, &made));
        hold(made);
    }
    int replicas() const
    {
        return artel_strategy_replicas(get());
    }
    variable add(const std::string &name, const artel_shape &extents, const std::vector<float> &initial, const char *aggregation = nullptr)
    {
        artel_variable_options options = ARTEL_VARIABLE_OPTIONS_INIT;
        artel_variable *made = nullptr;
        if (static_cast<int64_t>(initial.size()) != artel_shape_count(&extents)) throw std::length_error("artel::strategy::add: not as many values as elements");
        options.name = name.c_str();
        options.shape = extents;
        options.initial = initial.data();
        options.aggregation = aggregation;
        owner().check(artel_variable_create(get(), &options, &made));
        return variable(owner(), made);
    }
    /* Of any element type that variables may have; NULL: zeros. */
    variable add(const std::string &name, artel_dtype dtype, const artel_shape &extents, const void *initial = nullptr, const char *aggregation = nullptr)
    {
        artel_variable_options options = ARTEL_VARIABLE_OPTIONS_INIT;
        artel_variable *made = nullptr;
        options.name = name.c_str();
        options.dtype = dtype;
        options.shape = extents;
        options.initial = initial;
        options.aggregation = aggregation;
        owner().check(artel_variable_create(get(), &options, &made));
        return variable(owner(), made);
    }
    void add(const model &m) /* which outlives this; its weights are changed by store() alone */
    {
        owner().check(artel_strategy_add_model(get(), m.get()));
    }
    void store(const model &m)
    {
        owner().check(artel_strategy_store(get(), m.get()));
    }
    artel_optimizer *optimizer(const char *record, const std::vector<variable> &variables)
    {
        std::vector<artel_variable *> of;
        artel_optimizer *made = nullptr;
        for (const variable &one : variables) of.push_back(one.get());
        owner().check(artel_optimizer_create(get(), record, of.data(), static_cast<int>(of.size()), &made));
        return made;
    }
    artel_optimizer *optimizer(const char *record, const model &m)
    {
        artel_optimizer *made = nullptr;
        owner().check(artel_optimizer_create_for_model(get(), record, m.get(), &made));
        return made;
    }
    /* Traced now, once; what the trace throws comes out of this call. */
    function trace(const char *name, const std::vector<artel_argument> &arguments, int outputs, const trace_function &body, bool training = false)
    {
        artel_function_options options = ARTEL_FUNCTION_OPTIONS_INIT;
        artel_function *made = nullptr;
        std::exception_ptr thrown;
        detail::tracer user{{&body, nullptr}, {outputs > 0 ? static_cast<size_t>(outputs) : 0, 0}, arguments.size(), &thrown};
        options.name = name;
        options.arguments = arguments.data();
        options.argument_count = static_cast<int>(arguments.size());
        options.output_count = outputs;
        options.training = training;
        const artel_status status = artel_function_create(get(), &options, detail::tracer::call<0>, &user, &made);
        if (thrown) std::rethrow_exception(thrown);
        owner().check(status);
        return function(owner(), made);
    }
    void save(const std::string &directory, int64_t step, int keep = 0)
    {
        owner().check(artel_strategy_save(get(), directory.c_str(), step, keep));
    }
    int64_t restore(const std::string &directory) /* -1: there is no checkpoint */
    {
        int64_t step = -1;
        owner().check(artel_strategy_restore(get(), directory.c_str(), &step));
        return step;
    }
};

/* -- graphs placed on tasks, and hooks around their runs (artel/session.h, artel/hooks.h) -- */

/* Functions around the runs of a monitored session; what they throw ends it and comes out of monitor(). Those of tf.train are made by the
 * functions of artel/hooks.h, and held by the second constructor. */
class hook : public detail::handle<artel_hook, artel_hook_destroy> {
  public:
    struct functions {
        std::function<void(artel_session *)> begin;
        std::function<void(artel_session *, int64_t)> created, saving, saved, end;
        std::function<void(artel_hook_run *)> before, after;
        std::exception_ptr thrown; /* of the last of them that threw */
    };
    hook(const context &ctx, functions calls) : handle(ctx), calls_(std::make_shared<functions>(std::move(calls)))
    {
        artel_hook_functions table{};
        artel_hook *made = nullptr;
        table.struct_size = sizeof table;
        table.begin = [](void *user, artel_session *s) { return guarded(user, [&](functions &f) { if (f.begin) f.begin(s); }); };
        table.created = [](void *user, artel_session *s, int64_t unit) { return guarded(user, [&](functions &f) { if (f.created) f.created(s, unit); }); };
        table.saving = [](void *user, artel_session *s, int64_t unit) { return guarded(user, [&](functions &f) { if (f.saving) f.saving(s, unit); }); };
        table.saved = [](void *user, artel_session *s, int64_t unit) { return guarded(user, [&](functions &f) { if (f.saved) f.saved(s, unit); }); };
        table.end = [](void *user, artel_session *s, int64_t unit) { return guarded(user, [&](functions &f) { if (f.end) f.end(s, unit); }); };
        table.before = [](void *user, artel_hook_run *run) { return guarded(user, [&](functions &f) { if (f.before) f.before(run); }); };
        table.after = [](void *user, artel_hook_run *run) { return guarded(user, [&](functions &f) { if (f.after) f.after(run); }); };
        ctx.check(artel_hook_create(ctx.get(), &table, calls_.get(), &made));
        hold(made);
    }
    hook(const context &ctx, artel_hook *taken) : handle(ctx, taken)
    {
    }
    void rethrow() const
    {
        if (calls_ && calls_->thrown) std::rethrow_exception(std::exchange(calls_->thrown, nullptr));
    }

  private:
    template <typename Call> static artel_status guarded(void *user, Call call)
    {
        auto &f = *static_cast<functions *>(user);
        try {
            call(f);
            return ARTEL_OK;
        } catch (...) {
            f.thrown = std::current_exception();
            return ARTEL_ERROR_INVALID;
        }
    }
    std::shared_ptr<functions> calls_; /* where C has its address */
};

struct session_options : artel_session_options {
    session_options() : artel_session_options(ARTEL_SESSION_OPTIONS_INIT)
    {
    }
};

struct monitor_options : artel_monitor_options {
    monitor_options() : artel_monitor_options(ARTEL_MONITOR_OPTIONS_INIT)
    {
    }
};

/* Ends before its strategy. */
class session : public detail::handle<artel_session, artel_session_destroy> {
  public:
    explicit session(strategy &of, const session_options &options = session_options()) : handle(of.owner())
    {
        artel_session *made = nullptr;
        owner().check(artel_session_create(of.get(), &options, &made));
        hold(made);
    }
    /* All arguments and outputs; those without data are not fed, not fetched. */
    void run(const function &f, const std::vector<artel_array> &feeds, const std::vector<artel_array> &outputs, bool read_only = false)
    {
        artel_session_call call = ARTEL_SESSION_CALL_INIT;
        call.feeds = feeds.data();
        call.feed_count = static_cast<int>(feeds.size());
        call.outputs = outputs.data();
        call.output_count = static_cast<int>(outputs.size());
        call.read_only = read_only;
        owner().check(artel_session_run(get(), f.get(), &call));
    }
    void serve()
    {
        owner().check(artel_session_serve(get()));
    }
    void close()
    {
        owner().check(artel_session_close(get()));
    }
    void pull()
    {
        owner().check(artel_session_pull(get()));
    }
    void push()
    {
        owner().check(artel_session_push(get()));
    }
    void request_stop()
    {
        owner().check(artel_session_request_stop(get()));
    }
    std::string place_of(const variable &v) const
    {
        return artel_session_place_of(get(), v.get());
    }
    std::string explain(const function &f)
    {
        return artel_session_explain(get(), f.get());
    }
    /* What a unit or a hook throws ends the job and comes out of this call. */
    void monitor(monitor_options options, int64_t units, const std::function<void(int64_t)> &unit, const std::vector<const hook *> &hooks = {})
    {
        struct call {
            const std::function<void(int64_t)> &unit;
            std::exception_ptr thrown;
        } mine{unit, nullptr};
        std::vector<artel_hook *> list;
        for (const hook *one : hooks) list.push_back(one->get());
        options.hooks = list.data();
        options.hook_count = static_cast<int>(list.size());
        const artel_status status = artel_session_monitor(
            get(), &options, units,
            [](void *user, int64_t number) -> artel_status {
                auto &c = *static_cast<call *>(user);
                try {
                    c.unit(number);
                    return ARTEL_OK;
                } catch (const error &failed) {
                    return failed.status(); /* a lost task is no end */
                } catch (...) {
                    c.thrown = std::current_exception();
                    return ARTEL_ERROR_INVALID;
                }
            },
            &mine);
        if (mine.thrown) std::rethrow_exception(mine.thrown);
        for (const hook *one : hooks) one->rethrow();
        owner().check(status);
    }
};

} // namespace artel
#endif
