# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# long form: 7200
"""Tables of other files by programs of XLA's plug-in for the CPU: real Keras beside `--device cpu:xla`, with the tolerances of the tables.

The short form takes a row of each kind of layer, optimizer, loss and metric; the long form every row. Another device:
ARTEL_ORACLE_DEVICE. Skipped without the plug-in."""

import dataclasses
import importlib
import os
import sys

os.environ.setdefault("ARTEL_ORACLE_DEVICE", "cpu:xla")
if "--xla" not in os.environ.get("XLA_FLAGS", "") and os.environ["ARTEL_ORACLE_DEVICE"].startswith("cpu:"):
    os.environ["XLA_FLAGS"] = "--xla_backend_optimization_level=0"  # what is written is compared; XLA compiles it in half the time
import oracle  # noqa: E402

# by table: rows of the short form
SHORT = {
    "layers": "conv2d-groups-stride transpose-output-padding depthwise-stride maxpool-overlap avgpool-same-odd batchnorm-batch-7 "
              "layernorm-axes upsampling-bilinear gru-before-sequences mask-rnn-backwards lstm-stateful attention-masked-causal "
              "shared-batchnorm normalization-adapted masked-activation operators",
    "layers_more": "activity-autoencoder additive-masked",
    "layers_images": "resize-bicubic rotation",
    "layers_volumes": "conv3d-same-stride adaptive-average-2d conv-lstm2d-valid-stride",
    "losses": "bce-smooth cce-logits-smooth scce-holes huber-delta more-cosine-similarity two-losses-sample-weight short-last-batch-sum",
    "overlaps": "ctc circle-with-itself",
    "metrics": "auc precision-class-top-k sparse-top-k-name",
    "optimizers": "sgd-nesterov rmsprop-both adagrad-options adam-amsgrad adamw-accumulation-ema more-adadelta more-adamax more-nadam "
                  "more-ftrl more-lion more-lamb dynamic-scale-clipnorm adam-embedding schedule-cosine-warmup",
    "activations": "gelu-values mish-values sparsemax-values",
    "categories": "integers-in-the-middle",
    "regularizers_constraints": "every-layer max-norm",
    "precision": "bfloat16-cnn float16-attention",
    "models_float64": "adam-classes bits-of-a-rate batch-normalisation attention-dot",
    "operations": "count isclose|edges of logaddexp|edges of argmax|edges of normalize",
}

# XLA multiplies and adds at once, where a difference of equals, or an overflow, shows what the rounding between them was; and a model of float64 that
# sees images through a map does so in float32, as in Keras, whose last digit is XLA's own and not to be had back in float64.
APART = {"edges of logaddexp2", "edges of binary_crossentropy of logits", "images-places"}


@dataclasses.dataclass
class Row:
    name: str  # "table: row"
    run: object
    case: object
    index: int  # in its table


def rows_of(table):
    module = importlib.import_module("test_" + table)
    cases = list(module.rows()) if table == "optimizers" else getattr(module, "ROWS", []) or module.CASES + getattr(module, "EDGES", [])
    for index, case in enumerate(cases):
        if case.name in APART or "--replicas" in getattr(case, "fit", ()):  # a replica is a device, and there is one
            continue
        if isinstance(case, oracle.Case):
            case = dataclasses.replace(case, home=module.__file__)
        yield Row("%s: %s" % (table, case.name), getattr(module, "run", oracle.run_case), case, index)


def all_rows():
    for table, words in SHORT.items():
        first, *more = words.split("|")
        wanted = set(first.split() + more)
        rows = list(rows_of(table))
        absent = wanted - {row.case.name for row in rows}
        if absent:
            sys.exit("test_%s.py has no row %s" % (table, sorted(absent)))
        yield from (row for row in rows if oracle.LONG or sys.argv[1:] or row.case.name in wanted)


def run(row, index, folder, keras_only):
    return row.run(row.case, row.index, folder, keras_only)


if __name__ == "__main__":
    if "--list" not in sys.argv:
        oracle.skip_without_xla()
    oracle.table(list(all_rows()), run, ["predict", "history", "weights", "excluded"])
