#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# include/artel/artel.hpp: the example trains to the bits of `artel fit`; handles end in any order and move; exceptions carry the error record
# and come out of callbacks.
set -eu
cd "${ARTEL_SCRATCH:?run me with scripts/run-test}"
[ -e "$ARTEL_BUILD/libartel.so" ] || { echo "the library is not built here"; exit 77; }
fail() { echo "FAILED: $*" >&2; exit 1; }
compile() { # COMPILER SOURCE PROGRAM
    $1 -Wall -Wextra -Wpedantic -Wshadow -Werror -I"$ARTEL_SOURCE/include" "$2" -o "$3" -L"$ARTEL_BUILD" -lartel -Wl,-rpath,"$ARTEL_BUILD" ||
        fail "$2 does not compile with $1"
}

compile "g++ -std=c++17" "$ARTEL_SOURCE/examples/train.cpp" train
./train - synthetic:200 built.keras 2 >out.txt 2>err.txt || fail "$(cat err.txt)"
grep -q '^epoch 2 of 2$' out.txt && grep -q '^evaluated accuracy: ' out.txt && grep -q '^dense_2: 2000 numbers$' out.txt || fail "$(cat out.txt)"
grep -q "^digest: $("$ARTEL" inspect built.keras --digest | grep -oE '[0-9a-f]{64}')\$" out.txt || fail "another digest than the file's"
"$ARTEL" fit built.keras --data synthetic:200 --epochs 2 --verbose 0 --output again.keras 2>/dev/null
./train built.keras synthetic:200 mine.keras 2 >out.txt 2>err.txt || fail "$(cat err.txt)"
grep -q "^digest: $("$ARTEL" inspect again.keras --digest | grep -oE '[0-9a-f]{64}')\$" out.txt || fail "other bits than artel fit: $(cat out.txt)"
./train nowhere.keras synthetic:200 x.keras >out.txt 2>err.txt && fail "a model that is not there"
grep -q 'nowhere.keras' err.txt || fail "$(cat err.txt)"

cat >handles.cpp <<'TEXT'
#include <artel/artel.hpp>
#include <cassert>
#include <optional>

static artel::model made()
{
    artel::context ctx; /* ends here; the model keeps it */
    artel::builder b = artel::builder::sequential(ctx, artel::shape({3}));
    return b.add("Dense", R"({"units": 2, "kernel_initializer": "ones"})").add("Dense", R"({"units": 1})").finish();
}

int main()
{
    artel::model model = made();
    std::vector<float> x(12, 1.0F), y(4, 2.0F), kernel(6);
    model.initialise(1);
    model.get_weight("layers/dense/vars/0", kernel);
    assert(kernel[5] == 1.0F);
    model.compile("sgd", "mse");
    std::optional<artel::data> rows;
    rows.emplace(model.owner(), std::vector<artel_data_array>{artel::array("x", ARTEL_DATA_ROLE_INPUT, ARTEL_DTYPE_FLOAT32, artel::shape({4, 3}), x.data()),
                                                              artel::array("y", ARTEL_DATA_ROLE_TARGET, ARTEL_DTYPE_FLOAT32, artel::shape({4, 1}), y.data())});
    assert(rows->count() == 4);
    artel::fit_options options;
    options.epochs = 50;
    int steps = 0;
    try {
        model.fit(*rows, options, [&](const artel_event &event) {
            if (event.kind == ARTEL_EVENT_STEP && ++steps == 3) throw std::logic_error("enough");
        });
        assert(!"it went on");
    } catch (const std::logic_error &thrown) {
        assert(std::string(thrown.what()) == "enough" && steps == 3);
    }
    options.epochs = 3;
    artel::history history = model.fit(*rows, options); /* the context is not cancelled any more */
    assert(history.at("loss").size() == 3 && history.at("loss")[2] < history.at("loss")[0]);
    assert(model.predict(*rows).at(0).shape.dim[0] == 4);
    try {
        artel::data nothing(model.owner(), "npz:nowhere.npz");
        assert(!"opened");
    } catch (const artel::error &thrown) {
        assert(thrown.status() == ARTEL_ERROR_NOT_FOUND && std::string(thrown.what()).find("nowhere.npz") != std::string::npos);
    }
    try {
        artel::builder::sequential(model.owner(), artel::shape({3})).add("Nonsense").add("Dense", R"({"units": 1})").finish();
        assert(!"built");
    } catch (const artel::error &thrown) {
        assert(std::string(thrown.what()).find("Nonsense") != std::string::npos);
    }
    const std::vector<std::string> text{"a", "b", "other", "a"};
    const std::vector<artel_string> words = artel::strings(text);
    artel::model reader = artel::builder::sequential(model.owner(), artel::shape({1}), ARTEL_DTYPE_STRING)
                              .add("StringLookup", R"({"vocabulary": ["a", "b"], "output_mode": "one_hot"})")
                              .add("Dense", R"({"units": 1})")
                              .finish();
    reader.initialise(2);
    artel::data texts(model.owner(), {artel::array("x", ARTEL_DATA_ROLE_INPUT, ARTEL_DTYPE_STRING, artel::shape({4, 1}), words.data())});
    const std::vector<float> scores = reader.predict(texts).at(0).values;
    assert(scores.at(0) == scores.at(3) && scores.at(0) != scores.at(1));
    artel::model other = made();
    other = std::move(model); /* the context of the first goes after its model */
    model = made();
    rows.reset();
    assert(other.digest().size() == 64);
}
TEXT
compile "g++ -std=c++17 -g" handles.cpp handles
./handles || fail "handles"
! command -v clang++ >/dev/null || compile "clang++ -std=c++20 -Wno-unused-variable" handles.cpp handles

# A line through points, its jacobians and Hessian, choices and loops: one replica and three to the same bits; what a trace throws comes out.
cat >graphs.cpp <<'TEXT'
#include <artel/artel.hpp>
#include <cassert>

static std::vector<float> all(const char *name, int replicas)
{
    artel::context ctx;
    artel::strategy_options options;
    options.strategy = name;
    options.replicas = replicas;
    options.batch_size = 6;
    artel::strategy s(ctx, options);
    const artel::variable w = s.add("w", artel::shape({2, 1}), {0.5F, -1.0F});
    artel_optimizer *sgd = s.optimizer("sgd:learning_rate=0.5", {w});
    const std::vector<artel_argument> arguments{{"x", ARTEL_DTYPE_FLOAT32, false, artel::shape({2})}};
    const artel::function f = s.trace("f", arguments, 7, [&](artel::graph &g, const artel::values &in) {
        const artel::value y = g.op("tanh", {g.op("matmul", {in[0], g.read(w)})}), square = y * y - g.number(1) / g.number(2);
        const artel::value slope = g.gradients(square, in).at(0), loss = g.reduce(ARTEL_REDUCTION_MEAN, g.op("mean", {square}, R"({"axis": -1})"));
        g.minimise(sgd, loss);
        const artel::value grown = g.loop({loss}, 5, [](artel::graph &h, const artel::values &v) { return artel::values{h.op("less", {v[0], h.number(3)})}; },
                                          [](artel::graph &h, const artel::values &v) { return artel::values{v[0] + h.number(1)}; })[0];
        const artel::value chosen = g.choose(g.op("greater", {loss, g.number(0)}), {loss}, 1, [](artel::graph &, const artel::values &v) { return artel::values{-v[0]}; },
                                             [](artel::graph &, const artel::values &v) { return v; })[0];
        return artel::values{y, slope, g.jacobians(slope, in)[0], g.jacobians(g.reduce(ARTEL_REDUCTION_SUM, y), {g.read(w)})[0], grown, chosen, g.gather(in[0], 1)};
    });
    const float x[12] = {1, 2, 0.5F, -1, 0.25F, 0.75F, -2, 1, 3, 2, -0.5F, 0};
    std::vector<float> out(6 + 12 + 24 + 2 + 1 + 1 + 12);
    float *at = out.data();
    f({artel::memory(ARTEL_DTYPE_FLOAT32, artel::shape({6, 2}), x)},
      {artel::memory(artel::shape({6, 1}), at), artel::memory(artel::shape({6, 2}), at + 6), artel::memory(artel::shape({6, 2, 2}), at + 18),
       artel::memory(artel::shape({1, 2, 1}), at + 42), artel::memory(artel::shape({}), at + 44), artel::memory(artel::shape({}), at + 45), artel::memory(artel::shape({12}), at + 46)});
    for (int r = 0; r < 6; r++) { /* y = tanh(x w), its square has the slope 2 y (1 - y^2) w, and that 2 (1 - y^2) (1 - 3 y^2) w w' */
        const double t = at[r], d = 1 - t * t, v[2] = {0.5, -1};
        for (int i = 0; i < 2; i++) assert(std::abs(at[6 + 2 * r + i] - 2 * t * d * v[i]) < 1e-5);
        for (int i = 0; i < 4; i++) assert(std::abs(at[18 + 4 * r + i] - 2 * d * (1 - 3 * t * t) * v[i / 2] * v[i % 2]) < 1e-5);
    }
    for (int i = 0; i < 12; i++) assert(at[46 + i] == x[i]);
    assert(w.read().at(0) != 0.5 && w.dtype() == ARTEL_DTYPE_FLOAT32 && w.name() == "w" && s.replicas() == replicas);
    s.save("points", 1);
    w.assign({0, 0});
    assert(s.restore("points") == 1 && w.read().at(0) != 0);
    for (double one : w.read()) out.push_back(static_cast<float>(one));
    try {
        s.trace("g", arguments, 1, [](artel::graph &, const artel::values &) -> artel::values { throw std::out_of_range("mine"); });
        assert(!"traced");
    } catch (const std::out_of_range &thrown) {
        assert(std::string(thrown.what()) == "mine");
    }
    try {
        s.trace("h", arguments, 1, [](artel::graph &g, const artel::values &in) { return artel::values{g.op("frobnicate", in)}; });
        assert(!"traced");
    } catch (const artel::error &thrown) {
        assert(std::string(thrown.what()).find("frobnicate") != std::string::npos);
    }
    return out;
}

/* A monitored session whose graph scans: sums over time, a hook that sees them and one that stops; what a hook throws comes out. */
static void sessions()
{
    artel::context ctx;
    artel::strategy_options options;
    options.batch_size = 2;
    artel::strategy s(ctx, options);
    const int64_t start = int64_t{1} << 53, one = 1;
    const artel::variable steps = s.add("steps", ARTEL_DTYPE_INT64, artel::shape({}), &start);
    const artel::function f = s.trace("f", {{"x", ARTEL_DTYPE_FLOAT32, false, artel::shape({3})}}, 2, [&](artel::graph &g, const artel::values &in) {
        const artel::value first = g.op("sum", in, R"({"axis": 1})");
        g.assign(steps, g.read(steps) + g.constant(ARTEL_DTYPE_INT64, artel::shape({}), &one));
        return g.scan(in, {first - first}, 1, 1, [](artel::graph &, const artel::values &v) {
            const artel::value sum = v[0] + v[1];
            return artel::values{sum, sum};
        });
    });
    artel::session session(s);
    const float x[6] = {1, 2, 3, 4, 5, 6};
    float last[2] = {0, 0};
    int seen = 0;
    artel::hook::functions calls;
    calls.before = [&](artel_hook_run *run) { ctx.check(artel_hook_fetch(run, 1)); };
    calls.after = [&](artel_hook_run *run) {
        artel_array sums{};
        ctx.check(artel_hook_value(run, 1, &sums));
        seen += static_cast<const float *>(sums.data)[1] == 3 && static_cast<const float *>(sums.data)[5] == 15;
    };
    const artel::hook watch(ctx, calls);
    artel_hook *stop = nullptr;
    ctx.check(artel_hook_stop_at_step(ctx.get(), 0, 3, &stop));
    const artel::hook stopper(ctx, stop);
    artel::monitor_options how;
    how.directory = "jobs";
    const auto unit = [&](int64_t) { session.run(f, {artel::memory(ARTEL_DTYPE_FLOAT32, artel::shape({2, 3}), x)}, {artel::memory(artel::shape({2}), last), artel_array{}}); };
    session.monitor(how, 10, unit, {&watch, &stopper});
    assert(seen == 3 && last[0] == 6 && last[1] == 15 && session.place_of(steps).find("task:0") != std::string::npos);
    session.pull();
    int64_t counted = 0;
    ctx.check(artel_variable_read_as(steps.get(), ARTEL_DTYPE_INT64, &counted, 1));
    assert(counted == start + 3);
    calls.end = [](artel_session *, int64_t) { throw std::out_of_range("mine"); };
    const artel::hook thrower(ctx, calls);
    try {
        session.monitor(how, 4, unit, {&thrower});
        assert(!"it went on");
    } catch (const std::out_of_range &thrown) {
        assert(std::string(thrown.what()) == "mine");
    }
}

int main()
{
    assert(all("one-device", 1) == all("mirrored", 3));
    sessions();
}
TEXT
compile "g++ -std=c++17 -g" graphs.cpp graphs
./graphs || fail "graphs"
! command -v clang++ >/dev/null || compile "clang++ -std=c++20 -Wno-unused-variable" graphs.cpp graphs
echo ok
