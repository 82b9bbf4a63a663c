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

} // namespace artel
#endif
