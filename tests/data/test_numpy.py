# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""Data against those who write it: NumPy's files in every dtype, and images as Keras decodes and resizes them.

NumPy writes npy and npz files; the rows that prog_data delivers must be numpy's astype bit for bit. TensorFlow writes
JPEG and PNG files; the pixels must be those of keras.utils.image_dataset_from_directory: exactly where nothing is
resized, to rounding where it is.
"""
import os
import sys

import numpy as np
from data import deliver, failures, report, same

RNG = np.random.default_rng(3)


def near(name, found, wanted, tolerance):
    error = float(np.max(np.abs(found - wanted))) if found.shape == wanted.shape else float("inf")
    print("%-44s %.3g" % (name, error))
    if not error <= tolerance:
        failures.append(name)
        print("FAILED:", name, found.shape, wanted.shape)


def values(dtype, shape):
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return RNG.standard_normal(shape).astype(dtype)
    if dtype.kind == "b":
        return RNG.integers(0, 2, shape).astype(dtype)
    info = np.iinfo(dtype)
    return RNG.integers(info.min, info.max, shape, dtype=dtype.newbyteorder("="), endpoint=True).astype(dtype)


def numpy_files():
    names = ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"]
    for name in names:
        for order in "<>":
            for fortran in (False, True):
                for shape in ((5, 3), (4, 2, 3), (7,), (3, 1, 2, 2)):
                    array = values(np.dtype(name).newbyteorder(order), shape)
                    array = np.asfortranarray(array) if fortran else array
                    label = "%s%s %s%s" % (order, name, shape, " fortran" if fortran else "")
                    np.save("a.npy", array)
                    same("npy " + label, deliver("npy:a.npy"), array.astype("f4"))
                    np.savez("a.npz", other=np.zeros(2), x=array)
                    same("npz " + label, deliver("npz:a.npz"), array.astype("f4"))
                    np.savez_compressed("a.npz", x=array, other=np.zeros(2))
                    same("npz compressed " + label, deliver("npz:a.npz"), array.astype("f4"))


def conversions():
    small = RNG.integers(0, 100, (6, 4))
    for source in ["f4", "f8", "i2", "i8", "u1", "?"]:
        for target in ["float32", "float64", "float16", "int32", "int64", "uint8", "bool"]:
            array = small.astype(source)
            np.save("a.npy", array)
            same("%s to %s" % (source, target), deliver("npy:a.npy", target), array.astype(target))
    pixels = np.arange(256, dtype="u1").reshape(4, 64)
    np.save("a.npy", pixels)
    same("x / 255", deliver("npy:a.npy#scale=1/255"), pixels.astype("f4") / np.float32(255))
    same("x / 127.5 - 1", deliver("npy:a.npy#scale=1/127.5&shift=-1"), pixels.astype("f4") / np.float32(127.5) - np.float32(1))
    same("x * 0.1", deliver("npy:a.npy#scale=0.1"), pixels.astype("f4") * np.float32(0.1))
    same("x * 2 / 3", deliver("npy:a.npy#scale=2/3"), pixels.astype("f4") * np.float32(2) / np.float32(3))


def scaled(folder, size, channels, tf):
    """decode=scaled against the ratio of TensorFlow's decode_jpeg that leaves as many pixels as are wanted."""
    ratio = max(r for r in (1, 2, 4, 8) if r == 1 or (size[0] * r <= 37 and size[1] * r <= 53))
    files = sorted(os.path.join(top, name) for top, _, names in os.walk(folder) for name in names)
    wanted = np.stack([tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(name), channels, ratio=ratio), size).numpy() for name in files])
    found = deliver("images:%s#size=%dx%d&channels=%d&decode=scaled" % (folder, *size, channels))
    near("%s %s scaled by %d" % (folder, size, ratio), found, wanted, 1e-4)


def images():
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    try:
        import keras
        import tensorflow as tf
    except ImportError as error:
        print("images are left out:", error)
        return
    if not os.path.exists(os.path.join(os.environ["ARTEL_BUILD"], "libartel-image.so")):
        print("images are left out: libartel-image.so was not built")
        return

    y, x = np.mgrid[0:37, 0:53]
    smooth = np.stack([128 + 90 * np.sin(x / 7 + y / 11), 128 + 80 * np.cos(x / 5 - y / 9), 3 * x + y], -1).clip(0, 255).astype("u1")
    noise = RNG.integers(0, 256, (37, 53, 3), dtype="u1")
    alpha = np.concatenate([noise, smooth[..., :1]], -1)
    files = {
        "jpeg/a/444.jpg": tf.io.encode_jpeg(smooth, quality=90, chroma_downsampling=False),
        "jpeg/a/420.jpg": tf.io.encode_jpeg(smooth, quality=75),
        "jpeg/a/noise.jpeg": tf.io.encode_jpeg(noise, quality=95),
        "jpeg/b/progressive.jpg": tf.io.encode_jpeg(smooth, quality=80, progressive=True),
        "jpeg/b/grey.jpg": tf.io.encode_jpeg(smooth[..., :1], quality=85),
        "png/a/rgb.png": tf.io.encode_png(noise),
        "png/a/grey.png": tf.io.encode_png(noise[..., :1]),
        "png/b/alpha.png": tf.io.encode_png(alpha),
        "png/b/deep.png": tf.io.encode_png(noise.astype("u2") * 256 + 77),
        "png/b/two.png": tf.io.encode_png(noise[..., :2]),
    }
    for name, content in files.items():
        os.makedirs(os.path.dirname(name), exist_ok=True)
        with open(name, "wb") as f:
            f.write(content.numpy())
    for folder in ("jpeg", "png"):
        for channels, mode in ((3, "rgb"), (1, "grayscale"), (4, "rgba")):
            if folder == "jpeg" and channels == 4:
                continue
            for size in ((37, 53), (20, 20), (64, 100), (1, 1), (37, 10), (18, 26), (9, 13), (4, 6)):
                for interpolation in ("bilinear", "nearest"):
                    dataset = keras.utils.image_dataset_from_directory(folder, image_size=size, color_mode=mode, interpolation=interpolation,
                                                                       shuffle=False, batch_size=None, verbose=False)
                    wanted = np.stack([image.numpy() for image, _ in dataset]).astype("f4")
                    found = deliver("images:%s#size=%dx%d&channels=%d&interpolation=%s" % (folder, *size, channels, interpolation))
                    exact = size == (37, 53) or interpolation == "nearest"
                    near("%s %s %s %s" % (folder, mode, size, interpolation), found, wanted, 0 if exact else 1e-4)
                if folder == "jpeg":
                    scaled(folder, size, channels, tf)
    same("uint8 pixels", deliver("images:png", "uint8", 37, 53, 3), deliver("images:png", "float32", 37, 53, 3).astype("u1"))


numpy_files()
conversions()
images()
sys.exit(report())
