# SPDX-License-Identifier: Apache-2.0
"""The benchmark models: for Keras (also saved as .keras files that artel trains) and for PyTorch.

usage: models.py DIR [NAME...]   writes NAME.keras for each model
"""
import os
import sys

# name: batch, forward MFLOP of one example (2 per multiply-add), those of the layers on the inputs, steps timed
MODELS = {
    "mlp": dict(batch=(64, 256), mflop=0.813, first=0.803, steps=600),
    "cnn": dict(batch=(64,), mflop=5.93, first=0.389, steps=120),
    "convnet": dict(batch=(128,), mflop=4.87, first=0.389, steps=80),
    "lstm": dict(batch=(32,), mflop=19.7, first=0, steps=40),
    "transformer": dict(batch=(16,), mflop=879.0, first=0, steps=6),
    "resnet50": dict(batch=(16,), mflop=7720.0, first=236, steps=3),
    "inception3": dict(batch=(8,), mflop=11430.0, first=38, steps=3),
    # asked for by name: what only Keras has layers for, and models of 512 MB
    "conv3d": dict(batch=(16,), mflop=59.2, first=17.1, steps=40),
    "convlstm": dict(batch=(8,), mflop=463.0, first=9.4, steps=12),
    "augmented": dict(batch=(64,), mflop=15.9, first=1.77, steps=60),
    "wide_sgd": dict(batch=(1024,), mflop=0.0165, first=0, steps=400),
    "wide_adagrad": dict(batch=(1024,), mflop=0.0165, first=0, steps=400),
}
WIDE = ("wide_sgd", "wide_adagrad")
KERAS_ONLY = ("conv3d", "convlstm", "augmented")
BY_NAME = KERAS_ONLY + WIDE
IMAGES = ("cnn", "convnet", "resnet50", "inception3")
TABLES, TABLE_ROWS, TABLE_WIDTH = 8, 1000000, 16
VOCABULARY, LENGTH, WIDTH, BLOCKS, HEADS = 96, 128, 256, 4, 4


def keras_model(name):
    import keras
    from keras import layers as L

    logits = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    momentum = lambda: keras.optimizers.SGD(0.01, momentum=0.9)
    if name == "mlp":
        model = keras.Sequential([keras.Input((784,)), L.Dense(512, activation="relu"), L.Dense(10)])
        model.compile(momentum(), logits)
    elif name == "cnn":
        model = keras.Sequential([keras.Input((28, 28, 1)), L.Conv2D(32, 3, activation="relu"), L.Flatten(),
                                  L.Dense(128, activation="relu"), L.Dense(10)])
        model.compile(keras.optimizers.SGD(0.001), logits)
    elif name == "convnet":
        model = keras.Sequential([keras.Input((28, 28, 1)), L.Conv2D(32, 3, activation="relu"), L.MaxPooling2D(2),
                                  L.Conv2D(64, 3, activation="relu"), L.MaxPooling2D(2), L.Flatten(), L.Dropout(0.5),
                                  L.Dense(10, activation="softmax")])
        model.compile(keras.optimizers.Adam(1e-3), keras.losses.SparseCategoricalCrossentropy())
    elif name == "lstm":
        model = keras.Sequential([keras.Input((200,), dtype="int32"), L.Embedding(20000, 128), L.LSTM(64), L.Dense(1)])
        model.compile(keras.optimizers.Adam(1e-3), keras.losses.BinaryCrossentropy(from_logits=True))
    elif name == "transformer":
        tokens = keras.Input((LENGTH,), dtype="int32", name="tokens")
        places = keras.Input((LENGTH,), dtype="int32", name="positions")
        x = L.Add()([L.Embedding(VOCABULARY, WIDTH)(tokens), L.Embedding(LENGTH, WIDTH)(places)])
        for _ in range(BLOCKS):
            h = L.LayerNormalization(epsilon=1e-5)(x)
            x = L.Add()([x, L.MultiHeadAttention(HEADS, WIDTH // HEADS)(h, h, use_causal_mask=True)])
            h = L.LayerNormalization(epsilon=1e-5)(x)
            x = L.Add()([x, L.Dense(WIDTH)(L.Dense(4 * WIDTH, activation="gelu")(h))])
        model = keras.Model([tokens, places], L.Dense(VOCABULARY)(L.LayerNormalization(epsilon=1e-5)(x)))
        model.compile(keras.optimizers.Adam(1e-3), logits)
    elif name == "conv3d":
        model = keras.Sequential([keras.Input((24, 32, 32, 1)), L.Conv3D(16, 3, activation="relu"), L.MaxPooling3D(2), L.Conv3D(32, 3, activation="relu"),
                                  L.MaxPooling3D(2), L.GlobalAveragePooling3D(), L.Dense(10)])
        model.compile(momentum(), logits)
    elif name == "convlstm":
        model = keras.Sequential([keras.Input((8, 32, 32, 1)), L.ConvLSTM2D(16, 3, padding="same", return_sequences=True), L.ConvLSTM2D(16, 3, padding="same"),
                                  L.Conv2D(1, 3, padding="same")])
        model.compile(keras.optimizers.Adam(1e-3), keras.losses.MeanSquaredError())
    elif name == "augmented":
        model = keras.Sequential([keras.Input((32, 32, 3)), L.RandomFlip("horizontal"), L.RandomRotation(0.1), L.RandomZoom(0.1)])
        for width in (32, 64, 64):
            model.add(L.Conv2D(width, 3, padding="same", activation="relu"))
            model.add(L.MaxPooling2D(2))
        model.add(L.Flatten())
        model.add(L.Dense(10))
        model.compile(momentum(), logits)
    elif name in WIDE:
        ids = [keras.Input((1,), dtype="int32", name=f"id{i}") for i in range(TABLES)]
        x = L.Concatenate()([L.Flatten()(L.Embedding(TABLE_ROWS, TABLE_WIDTH, name=f"table{i}")(t)) for i, t in enumerate(ids)])
        model = keras.Model(ids, L.Dense(1)(L.Dense(64, activation="relu")(x)))
        model.compile(keras.optimizers.SGD(0.01) if name == "wide_sgd" else keras.optimizers.Adagrad(0.01), keras.losses.BinaryCrossentropy(from_logits=True))
    else:
        make = {"resnet50": keras.applications.ResNet50, "inception3": keras.applications.InceptionV3}[name]
        model = make(weights=None, classes=1000, classifier_activation=None)
        model.compile(momentum(), logits)
    return model


def batch_of(name, size, rng):
    """Arrays of one batch: (inputs, targets)."""
    import numpy as np

    if name == "lstm":
        return [rng.integers(0, 20000, (size, 200)).astype("int32")], rng.integers(0, 2, (size, 1)).astype("float32")
    if name == "transformer":
        text = rng.integers(0, VOCABULARY, (size, LENGTH + 1)).astype("int32")
        places = np.tile(np.arange(LENGTH, dtype="int32"), (size, 1))
        return [text[:, :-1].copy(), places], text[:, 1:].copy()
    if name == "convlstm":
        return [rng.random((size, 8, 32, 32, 1), dtype="float32")], rng.random((size, 32, 32, 1), dtype="float32")
    if name in WIDE:
        return [rng.integers(0, TABLE_ROWS, (size, 1)).astype("int32") for _ in range(TABLES)], rng.integers(0, 2, (size, 1)).astype("float32")
    shape = {"mlp": (784,), "cnn": (28, 28, 1), "convnet": (28, 28, 1), "resnet50": (224, 224, 3), "inception3": (299, 299, 3),
             "conv3d": (24, 32, 32, 1), "augmented": (32, 32, 3)}[name]
    classes = 1000 if name in ("resnet50", "inception3") else 10
    return [rng.random((size,) + shape, dtype="float32")], rng.integers(0, classes, (size,)).astype("int32")


def torch_model(name):
    """(module, loss, optimizer) doing the same arithmetic; images are NCHW."""
    import torch
    from torch import nn
    import torch.nn.functional as F

    class Lstm(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.cell, self.out = nn.Embedding(20000, 128), nn.LSTM(128, 64, batch_first=True), nn.Linear(64, 1)

        def forward(self, x):
            return self.out(self.cell(self.table(x))[0][:, -1])

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.qkv, self.proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

        def forward(self, x):
            n, t, _ = x.shape
            q, k, v = (z.view(n, t, HEADS, -1).transpose(1, 2) for z in self.qkv(self.a(x)).chunk(3, -1))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(n, t, WIDTH)
            x = x + self.proj(y)
            return x + self.down(F.gelu(self.up(self.b(x))))

    class Transformer(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
            self.blocks, self.norm, self.out = nn.Sequential(*[Block() for _ in range(BLOCKS)]), nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY)

        def forward(self, x, p):
            return self.out(self.norm(self.blocks(self.tokens(x) + self.places(p)))).transpose(1, 2)

    class Wide(nn.Module):
        def __init__(self):
            super().__init__()
            self.tables = nn.ModuleList([nn.Embedding(TABLE_ROWS, TABLE_WIDTH, sparse=True) for _ in range(TABLES)])
            self.a, self.b = nn.Linear(TABLES * TABLE_WIDTH, 64), nn.Linear(64, 1)

        def forward(self, *ids):
            return self.b(F.relu(self.a(torch.cat([t(i).flatten(1) for t, i in zip(self.tables, ids)], 1))))

    loss = F.cross_entropy
    sgd = lambda m: torch.optim.SGD(m.parameters(), 0.01, momentum=0.9)
    adam = lambda m: torch.optim.Adam(m.parameters(), 1e-3, fused=True)
    if name == "mlp":
        return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 10)), loss, sgd
    if name == "cnn":
        return (nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Flatten(), nn.Linear(32 * 26 * 26, 128), nn.ReLU(), nn.Linear(128, 10)), loss,
                lambda m: torch.optim.SGD(m.parameters(), 0.001))
    if name == "convnet":
        return (nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                              nn.Dropout(0.5), nn.Linear(1600, 10)), loss, adam)
    if name == "lstm":
        return Lstm(), F.binary_cross_entropy_with_logits, adam
    if name == "transformer":
        return Transformer(), loss, adam
    if name in WIDE:
        make = torch.optim.SGD if name == "wide_sgd" else lambda p, rate: torch.optim.Adagrad(p, rate, initial_accumulator_value=0.1, eps=1e-7)
        return Wide(), F.binary_cross_entropy_with_logits, lambda m: make(m.parameters(), 0.01)
    import torchvision

    if name == "resnet50":
        return torchvision.models.resnet50(num_classes=1000), loss, sgd
    return torchvision.models.inception_v3(num_classes=1000, aux_logits=False, init_weights=False), loss, sgd


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    for wanted in sys.argv[2:] or (m for m in MODELS if m not in BY_NAME):
        keras_model(wanted).save(os.path.join(sys.argv[1], wanted + ".keras"))
