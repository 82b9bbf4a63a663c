# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# long form: 1200
"""Layers that prepare images. Equal bounds leave nothing to chance: predictions and 20 training steps, as real Keras."""

import numpy as np
from oracle import K, L, Case, main

SHAPE = (9, 7, 3)


def images(rng, n, shape):
    return rng.uniform(0, 1, (n, *shape)).astype("f4")


def front(*layers):
    """In front of the model, as these layers are used."""
    return lambda: [*[make() for make in layers], L.Conv2D(2, 3, activation="tanh")]


def resize(**settings):
    return lambda: L.Resizing(**{"height": 5, "width": 11, **settings})


MADE = {
    "resize-bilinear": resize(),
    "resize-nearest": resize(interpolation="nearest"),
    "resize-bicubic": resize(interpolation="bicubic"),
    "resize-bicubic-larger": resize(interpolation="bicubic", height=20, width=13),
    "resize-lanczos3": resize(interpolation="lanczos3"),
    "resize-lanczos5": resize(interpolation="lanczos5", height=4, width=4),
    "resize-area": resize(interpolation="area"),
    "resize-antialias": resize(antialias=True, height=4),
    "resize-bicubic-antialias": resize(interpolation="bicubic", antialias=True, height=4, width=4),
    "resize-lanczos3-antialias": resize(interpolation="lanczos3", antialias=True, height=4, width=3),
    "resize-crop": resize(crop_to_aspect_ratio=True),
    "resize-pad": resize(pad_to_aspect_ratio=True, fill_value=0.4),
    "center-crop": lambda: L.CenterCrop(4, 4),
    "center-crop-odd": lambda: L.CenterCrop(6, 5),
    "center-crop-too-small": lambda: L.CenterCrop(6, 9),
    "translation-reflect": lambda: L.RandomTranslation((0.21, 0.21), (-0.32, -0.32)),
    "translation-constant": lambda: L.RandomTranslation((0.21, 0.21), (-0.32, -0.32), fill_mode="constant", fill_value=0.3),
    "translation-wrap": lambda: L.RandomTranslation((-0.41, -0.41), (0.32, 0.32), fill_mode="wrap"),
    "translation-nearest": lambda: L.RandomTranslation((0.9, 0.9), (0.32, 0.32), fill_mode="nearest"),
    "translation-nearest-pixel": lambda: L.RandomTranslation((0.21, 0.21), (-0.32, -0.32), interpolation="nearest"),
    "zoom": lambda: L.RandomZoom((0.3, 0.3)),
    "zoom-both": lambda: L.RandomZoom((-0.3, -0.3), (0.4, 0.4), fill_mode="constant"),
    "rotation": lambda: L.RandomRotation((0.1, 0.1)),
    "rotation-constant": lambda: L.RandomRotation((-0.2, -0.2), fill_mode="constant", fill_value=0.5),
    "rotation-first": lambda: L.RandomRotation((0.13, 0.13), data_format="channels_first"),
    "brightness": lambda: L.RandomBrightness((0.3, 0.3), value_range=(0, 1)),
    "brightness-of-bytes": lambda: L.RandomBrightness((-0.001, -0.001)),
    "contrast": lambda: L.RandomContrast((0.0, 0.0), value_range=(0, 1)),
    "crop-too-large": lambda: L.RandomCrop(9, 7),
    "saturation": lambda: L.RandomSaturation((0.3, 0.3), value_range=(0, 1)),
    "saturation-more": lambda: L.RandomSaturation((0.7, 0.7), value_range=(0, 1)),
    "hue-opposite": lambda: L.RandomHue((1.0, 1.0), value_range=(0, 1)),
    "hue-of-bytes": lambda: L.RandomHue((0.0, 0.0)),
    "degeneration": lambda: L.RandomColorDegeneration((0.4, 0.4), value_range=(0, 1)),
    "degeneration-first": lambda: L.RandomColorDegeneration((1.0, 1.0), value_range=(0, 1)),
    "sharpness": lambda: L.RandomSharpness((0.2, 0.2), value_range=(0, 1)),
    "sharpness-more": lambda: L.RandomSharpness((0.9, 0.9), value_range=(0, 1)),
    "posterization": lambda: L.RandomPosterization((3, 3), value_range=(0, 1)),
    "posterization-1": lambda: L.RandomPosterization(1, value_range=(0, 1)),
    "grayscale": lambda: L.RandomGrayscale(1.0),
    "grayscale-never": lambda: L.RandomGrayscale(0.0),
    "invert": lambda: L.RandomInvert((1.0, 1.0), value_range=(0, 1)),
    "solarization": lambda: L.Solarization(value_range=(0, 1)),
    "auto-contrast": lambda: L.AutoContrast(value_range=(0, 1)),
    "equalization": lambda: L.Pipeline([L.Equalization(value_range=(0, 1))]),  # alone Keras leaves it out of the graph of a model
    "equalization-bins": lambda: L.Pipeline([L.Equalization(value_range=(0, 1), bins=11)]),
    "tiles": lambda: L.ContrastLimitedAdaptiveHistogramEqualization((0, 1), tile_grid_size=(2, 3)),
    "tiles-no-limit": lambda: L.ContrastLimitedAdaptiveHistogramEqualization((0, 1), clip_limit=0.0, tile_grid_size=(3, 1)),
    "tiles-few-pixels": lambda: L.ContrastLimitedAdaptiveHistogramEqualization((0, 1), clip_limit=40.0, tile_grid_size=(9, 7)),
    "color-jitter": lambda: L.RandomColorJitter((0, 1), (0.1, 0.1), (0.0, 0.0), (0.6, 0.6), (1.0, 1.0)),
    "erasing-all": lambda: L.RandomErasing((1.0, 1.0), (1.0, 1.0), fill_value=(0.1, 0.2, 0.3), value_range=(0, 1)),
    "erasing-never": lambda: L.RandomErasing((0.0, 0.0), value_range=(0, 1)),
    "blur": lambda: L.RandomGaussianBlur((1.0, 1.0), 3, (0.7, 0.7), value_range=(0, 1)),
    "blur-wide": lambda: L.RandomGaussianBlur((1.0, 1.0), (3, 5), (0.9, 0.9), value_range=(0, 1)),
    "perspective-flat": lambda: L.RandomPerspective((1.0, 1.0), 0.0),
    "perspective-never": lambda: L.RandomPerspective(0.0),
    "elastic-never": lambda: L.RandomElasticTransform(0.0, value_range=(0, 1)),
    "elastic-not-strong": lambda: L.RandomElasticTransform(scale=0.0, value_range=(0, 1)),
    "no-boxes": lambda: L.MaxNumBoundingBoxes(3),
    "zero-shear": lambda: L.RandomShear(0.0, 0.0),
}
CASES = [Case(name, front(make), SHAPE, stem=0, x=images) for name, make in MADE.items()]
CASES += [
    Case("resize-behind-a-layer", lambda: [L.Resizing(5, 11, interpolation="bicubic"), L.Conv2D(2, 3)], SHAPE),
    Case("translation-behind-a-layer", lambda: [L.RandomTranslation((0.0, 0.0), (0.0, 0.0)), L.Conv2D(2, 3)], SHAPE),
    Case("resize-of-channels-first", lambda: [L.Resizing(6, 5, interpolation="lanczos3", data_format="channels_first")], (3, 9, 7), stem=0, x=images),
    Case("pipeline", lambda: [L.Pipeline([L.RandomBrightness((0.3, 0.3), value_range=(0, 1)), L.Conv2D(2, 2), L.Pipeline([L.Conv2D(2, 2, name="again")])])],
         SHAPE, stem=0, x=images),
    Case("colors-behind-a-layer", lambda: [L.Conv2D(3, 2, activation="sigmoid"), L.RandomSharpness((0.2, 0.2), value_range=(0, 1)),
                                           L.RandomColorDegeneration((0.3, 0.3), value_range=(0, 1)), L.Conv2D(2, 3)], SHAPE, stem=0, x=images),
    Case("auto-contrast-first", lambda: [L.AutoContrast(value_range=(0, 1), data_format="channels_first"), L.Conv2D(2, 2)], SHAPE, stem=0, x=images),
    Case("tiles-first", lambda: [L.ContrastLimitedAdaptiveHistogramEqualization((0, 1), 2.0, (4, 2), data_format="channels_first"), L.Conv2D(2, 2)], SHAPE,
         stem=0, x=images),
    Case("tiles-of-bytes", lambda: K.Sequential([K.Input((20, 17, 3), dtype="uint8"), L.ContrastLimitedAdaptiveHistogramEqualization(), L.Rescaling(1 / 255), L.Flatten(),
                                                 L.Dense(2)]), vocab=256),
    Case("augmentations", lambda: [L.RandAugment((0, 1)), L.AugMix((0, 1)), L.Conv2D(2, 2)], SHAPE, stem=0, x=images, train=False),
    Case("pipeline-of-all", lambda: [L.Resizing(8, 8), L.RandomFlip("horizontal"), L.RandomRotation(0.1), L.RandomZoom(0.2), L.RandomContrast(0.2)], SHAPE,
         stem=0, x=images, train=False),
]

if __name__ == "__main__":
    main(CASES, every=3)
