# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# long form: 1800
"""Every optimizer and schedule with its options: 20 steps as real Keras, the optimizer's state in the file too."""

from oracle import K, L, O, S, Case, main


def mlp():
    return K.Sequential([K.Input((6,)), L.Dense(9, activation="tanh"), L.Dense(5, activation="relu"), L.Dense(2)])


def embedder():
    """Rows that a batch does not touch, a frozen layer, a batch normalisation."""
    return K.Sequential([K.Input((4,), dtype="int32"), L.Embedding(40, 3), L.Flatten(), L.BatchNormalization(),
                         L.Dense(4, activation="tanh"), L.Dense(2)])


def convolutions():
    """Variables of one, three and four axes."""
    return K.Sequential([K.Input((6, 5, 2)), L.Conv2D(4, 3, activation="tanh"), L.DepthwiseConv2D(2), L.Flatten(), L.Dense(2)])


def built(model, optimizer):
    """With the optimizer's state in the file: z of ScheduleFreeAdamW, which Keras makes of weights that loading then replaces, or forgets."""
    optimizer.build(model.trainable_variables)
    model.compile(optimizer, "mse")
    return model


def repeats():
    """Six indices of seven a row: each batch names every row of the table many times."""
    return K.Sequential([K.Input((6,), dtype="int32"), L.Embedding(7, 4), L.Flatten(), L.Dense(2)])


def rare_repeats():
    """The same where most of the table is in no batch, so that its gradient is made as rows."""
    return K.Sequential([K.Input((6,), dtype="int32"), L.Embedding(600, 4), L.Flatten(), L.Dense(2)])


OPTIMIZERS = {
    "sgd": lambda: O.SGD(),
    "sgd-momentum": lambda: O.SGD(0.02, momentum=0.9),
    "sgd-nesterov": lambda: O.SGD(0.02, momentum=0.8, nesterov=True),
    "sgd-weight-decay": lambda: O.SGD(0.05, weight_decay=0.01),
    "sgd-clipnorm": lambda: O.SGD(0.1, clipnorm=0.05),
    "sgd-clipvalue": lambda: O.SGD(0.1, clipvalue=0.02),
    "sgd-global-clipnorm": lambda: O.SGD(0.1, global_clipnorm=0.1),
    "sgd-global-clipnorm-wide": lambda: O.SGD(0.05, global_clipnorm=1e6),
    "rmsprop": lambda: O.RMSprop(),
    "rmsprop-momentum": lambda: O.RMSprop(0.003, rho=0.8, momentum=0.5, epsilon=1e-5),
    "rmsprop-centered": lambda: O.RMSprop(0.003, centered=True, epsilon=1e-3),
    "rmsprop-both": lambda: O.RMSprop(0.003, centered=True, momentum=0.9, epsilon=1e-3, weight_decay=0.02),
    "adam": lambda: O.Adam(),
    "adam-options": lambda: O.Adam(0.01, beta_1=0.8, beta_2=0.95, epsilon=1e-4),
    "adam-amsgrad": lambda: O.Adam(0.01, amsgrad=True),
    "adam-weight-decay": lambda: O.Adam(0.01, weight_decay=0.05),
    "adam-clipnorm": lambda: O.Adam(0.01, clipnorm=0.01),
    # short steps: long ones overshoot where clipped, and what rounding left grows up to the whole tolerance
    "adam-clipvalue": lambda: O.Adam(0.002, clipvalue=0.003),
    "adam-global-clipnorm": lambda: O.Adam(0.01, global_clipnorm=0.02),
    "adamw": lambda: O.AdamW(),
    "adamw-options": lambda: O.AdamW(0.01, weight_decay=0.1, amsgrad=True, clipnorm=0.5),
    "adagrad": lambda: O.Adagrad(0.05),
    "sgd-accumulation": lambda: O.SGD(0.05, gradient_accumulation_steps=2),
    "adam-accumulation-3": lambda: O.Adam(0.01, gradient_accumulation_steps=3),
    "adam-accumulation-7": lambda: O.Adam(0.01, gradient_accumulation_steps=7),
    "adamw-accumulation-ema": lambda: O.AdamW(0.01, gradient_accumulation_steps=3, use_ema=True, ema_momentum=0.9, ema_overwrite_frequency=2,
                                              clipnorm=0.5),
    "rmsprop-accumulation-global-clipnorm": lambda: O.RMSprop(0.003, momentum=0.5, gradient_accumulation_steps=4, global_clipnorm=0.1),
    "nadam-accumulation": lambda: O.Nadam(0.01, gradient_accumulation_steps=2),
    "lamb-accumulation": lambda: O.Lamb(0.01, gradient_accumulation_steps=2),
    "schedule-accumulation": lambda: O.SGD(S.ExponentialDecay(0.1, 7, 0.5), momentum=0.9, gradient_accumulation_steps=3),
    "sgd-loss-scale": lambda: O.SGD(0.05, loss_scale_factor=8.0),
    "adam-loss-scale-clipped": lambda: O.Adam(0.01, loss_scale_factor=0.3, clipnorm=0.01),
    "adam-loss-scale-accumulation": lambda: O.Adam(0.01, loss_scale_factor=100.0, gradient_accumulation_steps=2),
    "dynamic-scale-accumulation": lambda: O.LossScaleOptimizer(O.Adam(0.01, gradient_accumulation_steps=3)),
    "dynamic-scale-clipnorm": lambda: O.LossScaleOptimizer(O.Adam(0.01, clipnorm=0.02), initial_scale=64.0),
    "adagrad-options": lambda: O.Adagrad(0.05, initial_accumulator_value=0.01, epsilon=1e-3, weight_decay=0.01),
}

# options that all optimizers share, and optimizers beyond the list of docs/coverage.md: right, or refused by name
MORE = {
    "sgd-ema": (lambda: O.SGD(0.05, use_ema=True, ema_momentum=0.9), "ema"),
    "adam-ema-overwrite": (lambda: O.Adam(0.01, use_ema=True, ema_momentum=0.9, ema_overwrite_frequency=5), "ema"),
    "adadelta": (lambda: O.Adadelta(0.5), "adadelta"),
    "adamax": (lambda: O.Adamax(0.01), "adamax"),
    "nadam": (lambda: O.Nadam(0.01), "nadam"),
    "ftrl": (lambda: O.Ftrl(0.05), "ftrl"),
    "lion": (lambda: O.Lion(0.003), "lion"),
    "lamb": (lambda: O.Lamb(0.01), "lamb"),
}

MATRIX = {
    "adafactor": lambda: O.Adafactor(0.05),
    "adafactor-options": lambda: O.Adafactor(0.5, beta_2_decay=-0.6, epsilon_1=1e-10, epsilon_2=0.02, clip_threshold=0.7, relative_step=False, weight_decay=0.05),
    "adafactor-clipnorm": lambda: O.Adafactor(0.05, clipnorm=0.05),
    "dynamic-scale-adafactor": lambda: O.LossScaleOptimizer(O.Adafactor(0.05, weight_decay=0.01), initial_scale=64.0, dynamic_growth_steps=7),
    "adafactor-accumulation": lambda: O.Adafactor(0.05, gradient_accumulation_steps=2, use_ema=True, ema_momentum=0.9),
    "muon": lambda: O.Muon(0.01),
    "muon-options": lambda: O.Muon(0.01, adam_beta_1=0.8, adam_beta_2=0.95, adam_weight_decay=0.02, epsilon=1e-5, weight_decay=0.05, muon_a=3.0, muon_b=-4.0,
                                   muon_c=2.0, adam_lr_ratio=0.5, momentum=0.8, ns_steps=3, nesterov=False, rms_rate=0.1),
    "muon-excluded": lambda: O.Muon(0.01, exclude_layers=["dense_1"], global_clipnorm=0.1),
    "muon-accumulation": lambda: O.Muon(0.01, gradient_accumulation_steps=2, loss_scale_factor=8.0),
}

BUILT = {
    "schedule-free": lambda: O.ScheduleFreeAdamW(0.01),
    "schedule-free-options": lambda: O.ScheduleFreeAdamW(0.02, beta_1=0.8, beta_2=0.9, epsilon=1e-5, warmup_steps=6, weight_decay=0.05, clipnorm=0.5),
    "schedule-free-accumulation": lambda: O.ScheduleFreeAdamW(0.01, gradient_accumulation_steps=2, use_ema=True, ema_momentum=0.9),
}

# on tables whose rows a batch names more than once: Keras takes squares and sizes of each occurrence
REPEATED = {
    "adamax": lambda: O.Adamax(0.02),
    "adamax-clipnorm-decay": lambda: O.Adamax(0.02, clipnorm=0.02, weight_decay=0.05),
    "adamax-clipvalue": lambda: O.Adamax(0.02, clipvalue=0.002),
    "adamax-global-clipnorm": lambda: O.Adamax(0.02, global_clipnorm=0.03),
    "adamax-accumulation-ema": lambda: O.Adamax(0.02, gradient_accumulation_steps=2, use_ema=True, ema_momentum=0.9),
    "adadelta": lambda: O.Adadelta(0.5),
    "adadelta-clipnorm-decay": lambda: O.Adadelta(0.5, clipnorm=0.02, weight_decay=0.05),
    "adadelta-clipvalue": lambda: O.Adadelta(0.5, clipvalue=0.002),
    "adadelta-global-clipnorm": lambda: O.Adadelta(0.5, global_clipnorm=0.03),
    "adafactor-clipnorm": lambda: O.Adafactor(0.05, clipnorm=0.02),
    "ftrl": lambda: O.Ftrl(0.05),
    "lion": lambda: O.Lion(0.003),
    "lamb": lambda: O.Lamb(0.01),
    "dynamic-scale-adamax-clipvalue": lambda: O.LossScaleOptimizer(O.Adamax(0.02, clipvalue=0.002), initial_scale=64.0),
    "dynamic-scale-ftrl-clipvalue": lambda: O.LossScaleOptimizer(O.Ftrl(0.05, clipvalue=0.002), initial_scale=64.0),
}

SCHEDULES = {
    "exponential": lambda: S.ExponentialDecay(0.1, 7, 0.5),
    "exponential-staircase": lambda: S.ExponentialDecay(0.1, 7, 0.5, staircase=True),
    "piecewise": lambda: S.PiecewiseConstantDecay([4, 11], [0.1, 0.05, 0.01]),
    "polynomial": lambda: S.PolynomialDecay(0.1, 12, end_learning_rate=0.01, power=1.0),
    "polynomial-power": lambda: S.PolynomialDecay(0.1, 30, end_learning_rate=0.001, power=2.5),
    "polynomial-cycle": lambda: S.PolynomialDecay(0.1, 6, end_learning_rate=0.01, power=0.5, cycle=True),
    "inverse-time": lambda: S.InverseTimeDecay(0.1, 5, 0.7),
    "inverse-time-staircase": lambda: S.InverseTimeDecay(0.1, 5, 0.7, staircase=True),
    "cosine": lambda: S.CosineDecay(0.1, 15, alpha=0.1),
    "cosine-warmup": lambda: S.CosineDecay(0.0, 12, warmup_target=0.1, warmup_steps=6),
    "cosine-restarts": lambda: S.CosineDecayRestarts(0.1, 4, t_mul=2.0, m_mul=0.7, alpha=0.05),
    "cosine-restarts-equal": lambda: S.CosineDecayRestarts(0.1, 5, t_mul=1.0, m_mul=0.9),
}

# the same by options: artel gets the model without compile settings
OPTIONS = {
    "sgd:learning_rate=0.05,momentum=0.9,nesterov=true": lambda: O.SGD(0.05, momentum=0.9, nesterov=True),
    "adam:learning_rate=0.01,amsgrad=true": lambda: O.Adam(0.01, amsgrad=True),
    "adamw:weight_decay=0.1,global_clipnorm=0.5": lambda: O.AdamW(weight_decay=0.1, global_clipnorm=0.5),
    "rmsprop": lambda: O.RMSprop(),
    "adagrad:learning_rate=0.05": lambda: O.Adagrad(0.05),
    "sgd:learning_rate=cosine_decay(initial=0.1,steps=15)": lambda: O.SGD(S.CosineDecay(0.1, 15)),
    'sgd:learning_rate={"class_name":"ExponentialDecay","config":{"initial_learning_rate":0.1,"decay_steps":7,"decay_rate":0.5}}':
        lambda: O.SGD(S.ExponentialDecay(0.1, 7, 0.5)),
}


def rows():
    for name, f in OPTIMIZERS.items():
        yield Case(name, mlp, opt=f, check_slots=True)
    for name in ("sgd", "sgd-momentum", "rmsprop", "adam", "adamw", "adagrad", "sgd-global-clipnorm", "sgd-accumulation", "adam-accumulation-3",
                 "adam-global-clipnorm", "dynamic-scale-clipnorm", "sgd-clipvalue", "adam-clipvalue"):
        yield Case(name + "-embedding", embedder, opt=OPTIMIZERS[name], vocab=40, check_slots=True)
    for name, f in REPEATED.items():
        yield Case(name + "-repeats", repeats, opt=f, vocab=7, check_slots=True)
    for name in ("adamax", "adadelta"):
        yield Case(name + "-rare-repeats", rare_repeats, opt=REPEATED[name], vocab=7, check_slots=True)
    for name, f in MATRIX.items():
        yield Case(name, mlp, opt=f, check_slots=True)
    for name in ("adafactor", "muon"):
        yield Case(name + "-embedding", embedder, opt=MATRIX[name], vocab=40, check_slots=True)
        yield Case(name + "-convolutions", convolutions, opt=MATRIX[name], check_slots=True)
    for name, f in BUILT.items():
        yield Case(name, lambda f=f: built(mlp(), f()), check_slots=True)
        if name in ("schedule-free",):
            yield Case(name + "-embedding", lambda f=f: built(embedder(), f()), vocab=40, check_slots=True)
    for name, (f, word) in MORE.items():
        yield Case("more-" + name, mlp, opt=f, may_refuse=word, check_slots=True)
    for i, (name, f) in enumerate(SCHEDULES.items()):
        yield Case("schedule-" + name, mlp, opt=(lambda f=f: O.SGD(f())) if i % 3 else (lambda f=f: O.Adam(f(), weight_decay=0.01)),
                   check_slots=True)
    for word, f in OPTIONS.items():
        yield Case("option " + word[:44], mlp, opt=f, strip=True, fit=("--optimizer", word, "--loss", "mse"))
    yield Case("frozen-layer", lambda: frozen(), opt=OPTIMIZERS["adam"], check_slots=True)
    yield Case("seven-epochs", mlp, opt=OPTIMIZERS["adam"], epochs=7, check_slots=True)
    yield Case("name-only", mlp, opt="adam", check_slots=True)


def frozen():
    m = mlp()
    m.layers[0].trainable = False
    return m


if __name__ == "__main__":
    main(list(rows()), every=3)
