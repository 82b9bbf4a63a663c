# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# long form: 1200
"""Every metric with its settings: History has Keras' keys in Keras' order, and its values."""

from oracle import K, L, M, Q, Case, main, make


def net(width, last, steps=False):
    return lambda: K.Sequential([K.Input((4, 5) if steps else (5,)), L.Dense(7, activation="tanh"), L.Dense(width, activation=last)])


def two(first="a", second="b"):
    def build():
        i = K.Input((5,), name="i")
        t = L.Dense(6, activation="tanh")(i)
        return K.Model(i, [L.Dense(1, activation="sigmoid", name=first)(t), L.Dense(3, activation="softmax", name=second)(t)])

    return build


def three_dense():
    """Unnamed layers: keys such as dense_1_accuracy."""
    i = K.Input((5,))
    t = L.Dense(6, activation="tanh", name="trunk")(i)
    return K.Model(i, [L.Dense(3, activation="softmax", name=n)(t) for n in ("dense_1", "dense_2", "dense")])


def nested(place):
    """Two outputs in lists and dictionaries inside one another."""

    def build():
        i = K.Input((5,), name="i")
        t = L.Dense(6, activation="tanh")(i)
        return K.Model(i, place(L.Dense(2, name="a")(t), L.Dense(3, name="b")(t)))

    return build


def masked(width, last):
    """A mask that reaches the metrics: means leave those steps out, the others do not."""
    return lambda: K.Sequential([K.Input((6,), dtype="int32"), L.Embedding(9, 4, mask_zero=True), L.LSTM(4, return_sequences=True),
                                 L.Dense(width, activation=last)])


def positive(rng, n):
    return rng.uniform(0, 2, n).astype("f4")


BINARY = dict(loss="binary_crossentropy", y="binary")
ONEHOT = dict(loss="categorical_crossentropy", y="onehot")
CLASS = dict(loss="sparse_categorical_crossentropy", y="class")

# rows of one sigmoid output
ON_ONE = {
    "accuracy": ["accuracy"],
    "acc": ["acc"],
    "binary_accuracy": ["binary_accuracy"],
    "binary-threshold": lambda: [M.BinaryAccuracy(threshold=0.4), M.BinaryAccuracy(threshold=0.6, name="at_06")],
    "auc": ["AUC"],
    "auc-few": lambda: [M.AUC(num_thresholds=20)],
    "auc-pr": lambda: [M.AUC(curve="PR", name="pr"), M.AUC(curve="PR", summation_method="majoring")],
    "auc-minoring": lambda: [M.AUC(summation_method="minoring", num_thresholds=50)],
    "auc-thresholds": lambda: [M.AUC(thresholds=[0.3, 0.45, 0.5, 0.55, 0.7])],
    "precision-recall": ["Precision", "Recall"],
    "precision-threshold": lambda: [M.Precision(thresholds=0.4), M.Recall(thresholds=0.6)],
    "duplicates": lambda: [M.Precision(), M.Precision(thresholds=0.4), M.Recall(), M.Recall()],
    "losses": ["mse", "mae", "binary_crossentropy"],
    "bce-smooth": lambda: [M.BinaryCrossentropy(label_smoothing=0.2)],
    "loss-names": ["mean_squared_error", "MAE", "mean_absolute_error"],
    "loss-objects": lambda: [M.MeanSquaredError(), M.MeanAbsoluteError(name="abs"), M.RootMeanSquaredError()],
}
# four sigmoid outputs
ON_MANY = {
    "accuracy-many": ["accuracy"],
    "binary-accuracy-many": ["binary_accuracy"],
    "auc-multi-label": lambda: [M.AUC(multi_label=True, num_labels=4)],
    "auc-flat": lambda: [M.AUC()],
    "precision-top-k": lambda: [M.Precision(top_k=2), M.Recall(top_k=2)],
    "precision-class": lambda: [M.Precision(class_id=1, thresholds=0.45), M.Recall(class_id=3)],
    "precision-class-top-k": lambda: [M.Precision(class_id=0, top_k=2)],
}
ON_CLASSES = {  # softmax of five, one-hot
    "cce-accuracy": ["accuracy"],
    "cce-categorical-accuracy": ["categorical_accuracy", "categorical_crossentropy"],
    "top-k": ["top_k_categorical_accuracy"],
    "top-k-2": lambda: [M.TopKCategoricalAccuracy(k=2), M.TopKCategoricalAccuracy(k=1, name="top1")],
    "auc-onehot": ["AUC"],
    "cce-metric-smooth": lambda: [M.CategoricalCrossentropy(label_smoothing=0.1)],
}
ON_INTEGERS = {  # softmax of five, integer targets
    "scce-accuracy": ["accuracy"],
    "scce-acc": ["acc"],
    "sparse-categorical-accuracy": ["sparse_categorical_accuracy", "sparse_categorical_crossentropy"],
    "sparse-top-k": lambda: [M.SparseTopKCategoricalAccuracy(k=2), M.SparseTopKCategoricalAccuracy(k=4, name="four")],
    "sparse-top-k-name": ["sparse_top_k_categorical_accuracy"],
}
MORE = {  # beyond the list of docs/coverage.md: right, or refused by name
    "mape": (["mape"], "mean_absolute_percentage_error"),
    "true-positives": (lambda: [M.TruePositives(), M.FalseNegatives(thresholds=0.4)], "TruePositives"),
    "sensitivity": (lambda: [M.SensitivityAtSpecificity(0.5)], "SensitivityAtSpecificity"),
    "r2": (lambda: [M.R2Score()], "R2Score"),
}


def metric(spec):
    return make(spec) if callable(spec) else spec


CASES = [Case(n, net(1, "sigmoid"), metrics=metric(m), **BINARY) for n, m in ON_ONE.items()]
CASES += [Case(n, net(4, "sigmoid"), metrics=metric(m), **BINARY) for n, m in ON_MANY.items()]
CASES += [Case(n, net(5, "softmax"), metrics=metric(m), **ONEHOT) for n, m in ON_CLASSES.items()]
CASES += [Case(n, net(5, "softmax"), metrics=metric(m), **CLASS) for n, m in ON_INTEGERS.items()]
CASES += [Case("more-" + n, net(1, "sigmoid"), metrics=metric(m), may_refuse=word, **BINARY) for n, (m, word) in MORE.items()]
CASES += [
    Case("accuracy-on-logits", net(5, None), loss=make(lambda: Q.SparseCategoricalCrossentropy(from_logits=True)), y="class", metrics=["accuracy"]),
    Case("accuracy-on-steps", net(5, "softmax", True), metrics=["accuracy"], **CLASS),
    Case("accuracy-on-steps-onehot", net(5, "softmax", True), metrics=["accuracy"], **ONEHOT),
    Case("accuracy-regression", net(3, None), loss="mse", metrics=["mae", "mse"]),
    Case("weighted-metrics", net(1, "sigmoid"), weight=positive, metrics=["accuracy", "AUC"],
         weighted=make(lambda: ["accuracy", "mse", M.AUC(name="wauc"), M.Precision(), M.Recall()]), **BINARY),
    Case("weighted-only", net(5, "softmax"), weight=positive, weighted=["accuracy"], **CLASS),
    Case("weighted-top-k", net(5, "softmax"), weight=positive, weighted=make(lambda: [M.SparseTopKCategoricalAccuracy(k=2)]), **CLASS),
    Case("masked", masked(1, "sigmoid"), vocab=3, metrics=make(lambda: ["accuracy", "AUC", "mse", M.Precision(), M.Recall(), M.TruePositives(),
                                                                        M.RootMeanSquaredError(), M.SensitivityAtSpecificity(0.5)]),
         weighted=make(lambda: [M.AUC(name="wauc"), M.BinaryAccuracy(name="wacc")]), **BINARY),
    Case("masked-top-k", masked(5, "softmax"), vocab=3, metrics=make(lambda: ["accuracy", M.SparseTopKCategoricalAccuracy(2)]), **CLASS),
    Case("masked-onehot", masked(5, "softmax"), vocab=3, metrics=make(lambda: ["accuracy", M.Precision(class_id=1), M.CosineSimilarity()]), **ONEHOT),
    Case("class-weighted", net(5, "softmax"), class_weight={0: 3.0, 1: 1.0, 2: 0.5, 3: 1.0, 4: 2.0}, metrics=["accuracy"],
         weighted=["accuracy"], **CLASS),
    Case("keys-two-outputs", two(), loss=["binary_crossentropy", "sparse_categorical_crossentropy"], y=["binary", "class:3"],
         metrics=[["accuracy"], ["accuracy"]]),
    Case("keys-order", two("zebra", "ant"), loss=["binary_crossentropy", "sparse_categorical_crossentropy"], y=["binary", "class:3"],
         metrics=[["accuracy", "mse"], ["accuracy"]], weighted=[["mae"], []], weight=positive),
    Case("keys-dict", two("zebra", "ant"), loss={"zebra": "binary_crossentropy", "ant": "sparse_categorical_crossentropy"},
         y=["binary", "class:3"], metrics={"ant": ["accuracy"], "zebra": ["AUC"]}),
    Case("keys-dense-n", three_dense, loss=["sparse_categorical_crossentropy"] * 3, y="class:3", metrics=[["accuracy"], ["accuracy"], ["accuracy"]]),
    Case("keys-validation", two(), loss=["binary_crossentropy", "sparse_categorical_crossentropy"], y=["binary", "class:3"], validation=16,
         metrics=[["accuracy"], ["accuracy"]]),
    *[Case("keys-nested-%d" % n, nested(place), loss="mse") for n, place in enumerate((
        lambda a, b: {"q": [a, b]}, lambda a, b: {"z": {"y": a}, "q": [b]}, lambda a, b: [[a], b], lambda a, b: [{"q": b}, a]))],
    Case("nested-settings", nested(lambda a, b: {"q": [a, b]}), loss={"q": ["mse", "mae"]}, metrics={"q": [["mae"], ["mse"]]},
         loss_weights={"q": [0.5, 2.0]}),
    Case("nested-beside-plain", nested(lambda a, b: {"q": [a, b], "r": L.Dense(1, name="c")(b)}), loss={"q": ["mse", "mae"], "r": "mae"},
         metrics={"q": [["mae"], ["mse"]], "r": ["mse"]}, loss_weights={"q": [0.5, 2.0], "r": 2.0}),
    Case("nested-lists", nested(lambda a, b: [[a, b], L.Dense(1, name="c")(b)]), loss=[["mse", "mae"], "mae"], metrics=[[["mae"], ["mse"]], ["mse"]]),
    Case("losses-in-lists", nested(lambda a, b: [a, b]), loss=[["mse"], ["mae"]], metrics=[["mae"], ["mse"]]),
    Case("losses-in-lists-by-key", nested(lambda a, b: {"a": a, "b": b}), loss={"a": ["mse"], "b": ["mae"]}, metrics={"a": ["mae"], "b": ["mse"]}),
    Case("validation-auc", net(1, "sigmoid"), validation=30, metrics=["AUC", "Precision"], **BINARY),
    Case("keys-sorted-among-validation", net(5, "softmax"), validation=16, metrics=["accuracy"], weighted=["accuracy"], **CLASS),
    Case("short-last-batch", net(5, "softmax"), metrics=["accuracy"], rows=75, **CLASS),
    Case("by-option", net(5, "softmax"), strip=True, opt="sgd", metrics=["accuracy"],
         fit=("--optimizer", "sgd", "--loss", "sparse_categorical_crossentropy", "--metrics", "accuracy"), **CLASS),
    Case("by-option-settings", net(1, "sigmoid"), strip=True, opt="sgd",
         metrics=make(lambda: [M.AUC(num_thresholds=20), M.BinaryAccuracy(threshold=0.4)]),
         fit=("--optimizer", "sgd", "--loss", "binary_crossentropy", "--metrics", "AUC:num_thresholds=20,BinaryAccuracy:threshold=0.4"),
         **BINARY),
]

if __name__ == "__main__":
    main(CASES, every=3)
