# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""Operations on images: colours, borders, patches, blurs, edges, maps, one form a branch (rows.py)."""

from oracle import K
from rows import Family, Form, main


def images(ops, draw):
    h, w = draw.shape(2, 5, 8)
    rgb, first, image = (h, w, 3), (3, h, w), ops.image
    unit = lambda x: ops.sigmoid(2 * x)
    yield Form("rgb_to_grayscale", rgb, lambda x: image.rgb_to_grayscale(x))
    yield Form("rgb_to_grayscale of one", (h, w, 1), lambda x: image.rgb_to_grayscale(x))
    yield Form("rgb_to_grayscale channels_first", first, lambda x: image.rgb_to_grayscale(x, data_format="channels_first"))
    yield Form("rgb_to_hsv", rgb, lambda x: image.rgb_to_hsv(unit(x)), trains=False)
    yield Form("rgb_to_hsv of grey", rgb, lambda x: image.rgb_to_hsv(ops.round(2 * unit(x)) / 2), trains=False)
    yield Form("rgb_to_hsv channels_first", first, lambda x: image.rgb_to_hsv(unit(x), data_format="channels_first"), trains=False)
    yield Form("hsv_to_rgb", rgb, lambda x: image.hsv_to_rgb(unit(x)), trains=False)
    yield Form("colours and back", rgb, lambda x: image.hsv_to_rgb(image.rgb_to_hsv(unit(x))), trains=False)
    yield Form("pad_images", rgb, lambda x: image.pad_images(x, 1, 2, 3, 0))
    yield Form("pad_images to a size", rgb, lambda x: image.pad_images(x, top_padding=1, right_padding=2, target_height=h + 3, target_width=w + 2))
    yield Form("crop_images", rgb, lambda x: image.crop_images(x, 1, 0, 2, 1))
    yield Form("crop_images to a size", first, lambda x: image.crop_images(x, 1, 1, target_height=h - 2, target_width=w - 3, data_format="channels_first"))
    for padding in ("valid", "same"):
        size, stride = (draw.randint(1, 3), draw.randint(1, 3)), draw.randint(1, 3)
        yield Form("extract_patches %s %s" % (size, padding), rgb, lambda x, p=padding, s=size, t=stride: image.extract_patches(x, s, strides=t, padding=p))
        yield Form("extract_patches of a size", rgb, lambda x, p=padding: image.extract_patches(x, 2, padding=p))
    yield Form("extract_patches dilated", rgb, lambda x: image.extract_patches(x, 2, strides=1, dilation_rate=2))
    yield Form("extract_patches_3d", (4, 5, 4, 2), lambda x: image.extract_patches_3d(x, (2, 2, 1), strides=(2, 1, 2)))
    for size, sigma in (((3, 3), (1.0, 1.0)), ((5, 3), (0.7, 1.3))):
        yield Form("gaussian_blur %s" % (size,), rgb, lambda x, s=size, g=sigma: image.gaussian_blur(x, s, g))
    yield Form("sobel_edges", rgb, lambda x: image.sobel_edges(x))
    yield Form("sobel_edges channels_first", first, lambda x: image.sobel_edges(x, data_format="channels_first"))
    yield Form("ssim", (12, 13, 2), lambda x, y: image.ssim(unit(x), unit(y)), inputs=2)
    yield Form("ssim with settings", rgb, lambda x, y: image.ssim(x, y, max_val=2.0, filter_size=4, filter_sigma=1.1, k1=0.05), inputs=2, tolerance=5e-4)
    points = lambda p: K.ops.convert_to_numpy(p)
    maps = [[1, 0.2, -0.5, -0.1, 0.9, 0.7, 0, 0]]
    for fill in ("constant", "nearest", "reflect", "wrap"):
        for how in ("bilinear", "nearest"):
            yield Form("affine_transform %s %s" % (fill, how), rgb,
                       lambda x, f=fill, i=how: image.affine_transform(x, K.ops.convert_to_numpy(maps)[0], interpolation=i, fill_mode=f, fill_value=0.3), trains=False)
    deep = [[1, 0.2, -0.5, -0.1, 0.9, 0.7, 0.03, -0.02]]
    yield Form("affine_transform deep", rgb, lambda x: image.affine_transform(x, K.ops.convert_to_numpy(deep)[0], fill_mode="reflect"), trains=False)

    def own_maps(x, interpolation="bilinear"):
        turn = ops.reshape(ops.tanh(ops.mean(x, axis=(1, 2, 3))), (-1, 1))
        return image.affine_transform(x, turn * points([[0.1, -0.2, 0.5, 0.2, 0.1, -0.3, 0.01, 0.02]]).astype("f4") + points(maps).astype("f4"), interpolation, "reflect")

    yield Form("affine_transform of own maps", rgb, own_maps, trains=False)
    yield Form("affine_transform of own maps nearest", rgb, lambda x: own_maps(x, "nearest"), trains=False)
    start, end = [[0, 0], [6, 0], [0, 5], [6, 5]], [[0.5, -0.5], [5, 1], [1, 4.5], [7, 6]]
    for how in ("bilinear", "nearest"):
        yield Form("perspective_transform %s" % how, rgb,
                   lambda x, i=how: image.perspective_transform(x, points(start), points(end), interpolation=i, fill_value=0.3), trains=False)
    yield Form("perspective_transform channels_first", first,
               lambda x: image.perspective_transform(x, points(start), points(end), data_format="channels_first"), trains=False)

    def own_corners(x):
        shift = ops.reshape(ops.tanh(ops.mean(x, axis=(1, 2, 3))), (-1, 1, 1))
        return image.perspective_transform(x, 0 * shift + points(start).astype("f4"), shift * points(end).astype("f4") / 4 + points(start).astype("f4"))

    yield Form("perspective_transform of own corners", rgb, own_corners, trains=False)
    for how in ("bilinear", "nearest", "bicubic", "lanczos3", "lanczos5", "area"):
        for target in ((h + 3, w - 1), (h - 2, 2 * w)):
            if how != "area":
                yield Form("resize %s %s" % (how, target), rgb, lambda x, i=how, t=target: image.resize(x, t, interpolation=i), trains=how == "bilinear")
                yield Form("resize %s antialias" % how, rgb, lambda x, i=how, t=target: image.resize(x, t, interpolation=i, antialias=True), trains=False)
    for target in ((h + 3, w - 1), (3, 8)):
        yield Form("resize a part to %s" % (target,), rgb, lambda x, t=target: image.resize(x, t, crop_to_aspect_ratio=True))
        yield Form("resize in a frame to %s" % (target,), rgb, lambda x, t=target: image.resize(x, t, pad_to_aspect_ratio=True, fill_value=0.5))


def windows(ops, draw):
    c, h, w = 2, *draw.shape(2, 4, 6)  # TensorFlow takes a loop over the places
    for kernel, dilation, border, stride in ((2, 1, 0, 1), ((2, 3), (1, 2), (1, 0), 2)):
        yield Form("unfold %s %s" % (kernel, stride), (c, h, w), lambda x, k=kernel, d=dilation, b=border, s=stride: ops.unfold(x, k, d, b, s))
        yield Form("fold %s %s" % (kernel, stride), (c, h, w),
                   lambda x, k=kernel, d=dilation, b=border, s=stride: ops.fold(ops.unfold(x, k, d, b, s), (h, w), k, d, b, s))


REFUSED = [
    Form("elastic_transform", (4, 4, 3), lambda x: K.ops.image.elastic_transform(x)),
]

if __name__ == "__main__":
    main([Family("images", images), Family("windows", windows, REFUSED)])
