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
echo ok
