# SPDX-License-Identifier: Apache-2.0
# timeout: 7200
# labels: long
# processors: 2
"""Whole models compiled by the real compilers of GPUs and TPUs, without one: every program of training is taken. ARTEL_TEST_PJRT names a folder
laid out as site-packages with jax-cuda12-pjrt, libtpu or both (pip install --no-deps --target FOLDER jax-cuda12-pjrt libtpu); skipped
without. ARTEL_TEST_MODELS: some of the models, with commas."""

import os
import sys
import tempfile
import time

import numpy as np
from cli import K, MODELS, expect, save
from oracle import artel

FOLDER = tempfile.TemporaryDirectory()
PACKAGES = os.environ.get("ARTEL_TEST_PJRT", "")
PLUGINS = {
    "cuda": ("jax_plugins/xla_cuda12/xla_cuda_plugin.so", "h100"),
    "tpu": ("libtpu/libtpu.so", "v5e:2x2"),
}


def path(name):
    return os.path.join(FOLDER.name, name)


def application(name, size):
    def make():
        m = getattr(K.applications, name)(weights=None, input_shape=(size, size, 3), classes=10)
        m.compile(K.optimizers.SGD(0.1, momentum=0.9), "sparse_categorical_crossentropy")
        return m

    return make


def images(size):
    return {"x": np.zeros((64, size, size, 3), "float32"), "y": np.zeros(64, "int32")}


def rows_of(file):
    """Arrays of zeros that a model of tests/cli takes."""
    m = K.models.load_model(file)
    x = np.zeros((64, *m.input_shape[1:]), "int32" if "embedding" in m.layers[1].name else "float32")
    target = m.output_shape[1:-1] if "sparse" in str(m.loss).lower() else m.output_shape[1:]
    return {"x": x, "y": np.zeros((64, *target), "int32" if "sparse" in str(m.loss).lower() else "float32")}


CASES = {"mlp": None, "cnn": None, "transformer": None, "lstm": None, "MobileNetV2": 96, "ResNet50": 64, "InceptionV3": 96}


def compile_one(name, kind, plugin, target):
    size = CASES[name]
    file = save(application(name, size) if size else MODELS[name], path(name + ".keras"))
    np.savez(path(name + ".npz"), **(images(size) if size else rows_of(file)))
    begin = time.monotonic()
    answer = artel("check", file, "--data", "npz:" + path(name + ".npz"), "--batch-size", 64, "--device", kind, "--device-target", target,
                   "--device-kernels", "fixed", "--plugin", plugin, timeout=3600, env={"TF_CPP_MIN_LOG_LEVEL": "3", "TPU_SKIP_MDS_QUERY": "1"})
    lines = [line for line in answer.out.splitlines() if "a step needs" in line]
    expect(answer.rc == 0 and lines, "exit code", answer.rc, answer.out[-500:], answer.err[-500:])
    print("ok      %s for %s: %.0f s, %s" % (name, target, time.monotonic() - begin, lines[0]), flush=True)


def main():
    failed = 0
    chosen = os.environ.get("ARTEL_TEST_MODELS", ",".join(CASES)).split(",")
    for kind, (file, target) in PLUGINS.items():
        plugin = os.path.join(PACKAGES, file)
        for name in chosen if os.path.exists(plugin) else ():
            try:
                compile_one(name, kind, plugin, target)
            except Exception as problem:  # noqa: BLE001
                failed += 1
                print("FAILED  %s for %s: %s" % (name, target, problem), flush=True)
    return failed > 0


if __name__ == "__main__":
    if not any(os.path.exists(os.path.join(PACKAGES, file)) for file, _ in PLUGINS.values()):
        print("skipped: ARTEL_TEST_PJRT names no folder with jax-cuda12-pjrt or libtpu")
        sys.exit(77)
    sys.exit(main())
