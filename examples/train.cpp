/* SPDX-License-Identifier: Apache-2.0 */
/* The library from C++17: builds a small network or loads one, trains it, and predicts.
 *
 *     train MODEL|- DATA OUT.keras [EPOCHS]
 *
 * MODEL is anything artel_model_load() reads, with compile settings; "-" builds a network for rows of 20 numbers of 10 classes. DATA is a
 * specification as of `artel fit --data`. Compiled by: c++ -std=c++17 train.cpp $(pkg-config --cflags --libs artel)
 */
#include <artel/artel.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>

static artel::model build(const artel::context &ctx)
{
    artel::builder b = artel::builder::functional(ctx, "classifier");
    artel_tensor x = b.input(artel::shape({20}), "x");
    artel_tensor wide = b.apply("Dense", R"({"units": 32, "activation": "relu"})", {x});
    artel_tensor deep = b.apply("Dense", R"({"units": 32, "activation": "relu"})", {wide});
    artel_tensor sum = b.apply("Add", nullptr, {wide, deep});
    artel::model model = b.finish({b.apply("Dense", R"({"units": 10, "activation": "softmax"})", {sum})});
    model.compile("adam", "sparse_categorical_crossentropy", "accuracy");
    return model;
}

static int train(int argc, char **argv)
{
    artel::context ctx([](artel_log_level, const std::string &line) { std::fprintf(stderr, "note: %s\n", line.c_str()); });
    artel::model model = std::string(argv[1]) == "-" ? build(ctx) : artel::model(ctx, argv[1]);
    artel::data rows(ctx, argv[2]);
    artel::fit_options options;
    options.epochs = argc > 4 ? std::atoi(argv[4]) : 1;
    artel::history history = model.fit(rows, options, [](const artel_event &event) {
        if (event.kind == ARTEL_EVENT_EPOCH_END) std::printf("epoch %lld of %lld\n", (long long)event.epoch + 1, (long long)event.epochs);
    });
    for (const auto &[key, values] : history) std::printf("%s: %.6g\n", key.c_str(), values.back());
    for (const auto &[key, value] : model.evaluate(rows)) std::printf("evaluated %s: %.6g\n", key.c_str(), value);
    for (const artel::prediction &output : model.predict(rows)) std::printf("%s: %zu numbers\n", output.name.c_str(), output.values.size());
    model.save(argv[3]);
    std::printf("digest: %s\n", model.digest().c_str());
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        std::fprintf(stderr, "usage: train MODEL|- DATA OUT.keras [EPOCHS]\n");
        return 1;
    }
    try {
        return train(argc, argv);
    } catch (const artel::error &failure) {
        std::fprintf(stderr, "%s\n", failure.what());
        return artel_status_exit_code(failure.status());
    }
}
