#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 2,000 copies of each of two HDF5 files with 1-3 bytes changed: no crash or hang of the program that reads them.
# timeout: 600
# labels: long
set -e
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" - "$folder" <<'END'
import sys, h5py, numpy as np
with h5py.File(sys.argv[1] + "/a.h5", "w") as f:
    for layer in range(6):
        g = f.create_group(f"layers/dense_{layer}/vars")
        g.attrs["name"] = f"dense_{layer}"
        g["0"], g["1"] = np.random.rand(20, 9).astype("f4"), np.zeros(9, "f4")
with h5py.File(sys.argv[1] + "/b.h5", "w") as f:
    g = f.create_group("model_weights")
    g.attrs["layer_names"] = [f"dense_{n}" for n in range(30)]
    f.attrs["model_config"] = "{}" * 3000
    g.create_dataset("packed", data=np.arange(5000.0), chunks=(500,), compression="gzip", shuffle=True)
END
for file in a b; do
    "$ARTEL_BUILD/tests/keras/prog_h5" mutants "$folder/$file.h5" 2000 5
done
