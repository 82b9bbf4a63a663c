# SPDX-License-Identifier: Apache-2.0
"""Writes docs/coverage.md: `python tests/oracle/coverage.py`. The counts come from the tables themselves (--list); with --check the page is
compared, not written.
"""

import concurrent.futures
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

# what of Keras there is, and the rows' files that check it
COVERED = [
    ("Files", ".keras, .weights.h5, legacy .h5 (Keras 3 and 2), to_json() text, safetensors; odd but legal forms of each", "roundtrip"),
    ("Models", "Sequential, Functional, nested, shared layers, several inputs and outputs, dict inputs, masks", "layers"),
    ("Dense, convolution", "Dense, Conv2D, Conv2DTranspose, DepthwiseConv2D, SeparableConv2D: padding, strides, dilation, groups, multipliers", "layers"),
    ("Pooling, shape", "Max/AveragePooling2D, GlobalAverage/MaxPooling2D, Flatten, Reshape, Permute, ZeroPadding2D, Cropping2D, UpSampling2D", "layers"),
    ("Normalisation", "BatchNormalization, LayerNormalization, Normalization, Rescaling, Softmax", "layers"),
    ("Merging", "Add, Subtract, Multiply, Average, Maximum, Minimum, Concatenate, with broadcasting", "layers"),
    ("Sequences", "Embedding, LSTM, GRU, SimpleRNN, Bidirectional, TimeDistributed, MultiHeadAttention", "layers"),
    ("Dropout", "Dropout, SpatialDropout2D, dropout of RNN and attention, as distributions", "dropout"),
    ("More layers", "penalties of activities, attention by sums, batch renormalisation, ReversibleEmbedding", "layers_more"),
    ("Adapters", "`lora_rank` of Dense, EinsumDense, Embedding, Conv1D, Conv2D: both adapters and the sum, several optimizers", "adapters"),
    ("Spectral norms", "SpectralNormalization around every kind of kernel, frozen, called twice", "layers_spectral"),
    ("Stacked cells", "StackedRNNCells: masks, states, both directions of time", "layers_stacked"),
    ("Calls", "models inside called by dictionaries, masks with axes of all kinds, states, tensors by position", "layers_calls"),
    ("Spectrograms", "STFTSpectrogram, MelSpectrogram: modes, windows, scales", "spectrograms"),
    ("Volumes", "Conv3D, Conv3DTranspose, ConvLSTM1D to 3D, adaptive pooling, filters of UpSampling2D", "layers_volumes"),
    ("Operations", "operations of keras.ops in Functional models, beside those in `test_layers.py`", "operations"),
    ("Products", "einsum, matmul, dot, inner, tensordot, one model a family, forms drawn at random (`rows.py`)", "operations_products"),
    ("Order, index", "sorting, quantiles, elements by index, places, bits and divisors", "operations_order"),
    ("Arrangement", "diagonals, turns, blocks, joins, running products, means, moments", "operations_arrange"),
    ("Networks", "pooling, convolutions, normalisation, attention as operations", "operations_network"),
    ("Pictures", "colours, borders, patches, blurs, edges, maps, filters", "operations_images"),
    ("Matrices", "solutions, determinants, factors, eigenvalues, singular values, norms, Fourier transforms", "operations_matrix"),
    ("Overlaps", "Dice, Tversky, generalised cross-entropy, intersection over union, correlations", "overlaps"),
    ("Images", "Resizing, CenterCrop, random changes of places and colours with equal bounds; drawn ones as distributions in `test_dropout.py`", "layers_images"),
    ("Text and categories", "lookups, text vectorisation, hashes, crosses, bins, encodings, side by side at random and in models that train; a FeatureSpace", "categories"),
    ("Activations", "every name in keras.activations (`threshold` needs arguments and has no use by name)", "activations"),
    ("Initialisers", "every one that fills a kernel: distribution, bounds, seeds", "initializers"),
    ("Regularisers", "L1, L2, L1L2 everywhere a layer takes them; constraints are refused by name or right", "regularizers_constraints"),
    ("Losses", "mean squared and absolute error, Huber, binary, categorical, sparse cross-entropy; weights of samples, classes, outputs", "losses"),
    ("Metrics", "accuracies, AUC, precision, recall, top-k, losses as metrics; names and order of History", "metrics"),
    ("Optimizers", "SGD, RMSprop, Adam, AdamW, Adagrad, Adafactor, Muon, ScheduleFreeAdamW with decay, clipping, averages, accumulation and loss scales; their state in the file; every schedule", "optimizers"),
    ("Precision", "mixed_bfloat16 and mixed_float16, overrides by layer, LossScaleOptimizer: steps left out, growth, its state", "precision"),
    ("Other policies", "`--dtype`: the file of one policy trained under another is the file that Keras makes under that one, layer by layer and bit by bit", "policies"),
    ("Variables of 16 bits", "the policies bfloat16 and float16: dtypes in the file, eight optimizers, Adam that stands still, Keras reads it back", "variables16"),
    ("Models of float64", "layers, optimizers, losses and metrics in doubles, to 1e-9; dtypes in the file, refusals by name, Keras reads it back", "models_float64"),
    ("Devices", "the rows of the tables of layers, operations, activations, losses, metrics, optimizers, precision, float64, categories by XLA's plug-in for the CPU", "devices"),
    ("Callbacks", "EarlyStopping, ModelCheckpoint, ReduceLROnPlateau, LearningRateScheduler, CSVLogger, TerminateOnNaN, SwapEMAWeights, BackupAndRestore", "callbacks"),
    ("Applications", "ResNet50, InceptionV3, MobileNetV2, EfficientNetB0: predict, two steps", "applications"),
    ("The guide's curve", "on every strategy", "golden"),
]
OUTSIDE = [("digest", "equal bits: replicas, threads, builds, instruction sets (SG1, SG7, SG8, SG10)"),
           ("resume", "checkpoints, SIGTERM, kill -9, other replica counts (FT7, CK3, CK7, KE11)"),
           ("adapters", "`lora_rank`: gradients beside NumPy's, files that hold the sum, continued runs, replicas"),
           ("bad_input", "damaged files, wrong data, wrong options (SE4)"), ("precision", "equal bits, resumption, files that Keras reads, under mixed policies"), ("float64", "the same of float64"), ("usage", "help, exit codes, streams, events, logs"),
           ("data", "npz, npy, idx, csv, cifar10, images: values and targets, JPEG to TensorFlow's bit"), ("text", "strings from every format, over replicas and workers; what is refused"), ("tensorboard", "TensorBoard's own reader (KE12)"),
           ("fashion_mnist", "accuracy (long)")]

# several tasks: of these files one may be C, whose cases are not counted
CLUSTER = [
    ("cluster/test_resolve.c", "TF_CONFIG, Slurm, MPI, torchrun, Kubernetes, files; with test_spec.c and test_hostlist.c (CL1 to CL7, CL10)"),
    ("cluster/test_membership_faults.c", "the protocol in a simulated network: faults, kills, partitions, zombies; with its test_membership_*.c (FT1 to FT3, FT6, FT11 to FT13, CO10, CO11)"),
    ("cluster/test_membership_shared.c", "named barriers with the list of the missing, the key-value store, and who leads is lost (FT4, FT5)"),
    ("coll/test_call.c", "every collective, type, reduction, subset, size; with test_communicator*.c over threads and tasks (CO1 to CO8, CD1, CD4, CD10, CD14)"),
    ("coll/test_route.c", "ways for sums to travel at up to 128 simulated ranks; by name between replicas and tasks in `test_all_reduce.sh`, of a program in `test_communicator_route.c` (CD2, CD3, CD12, CD13)"),
    ("coll/test_schedule.c", "messages, bytes and connections of 64, 100 and 512 ranks by their formulas (CO2, CO3, CO5)"),
    ("coll/test_over_tcp.c", "a lost, late, wrong peer ends a collective by name (CO12, CO14, CL16)"),
    ("cli/test_multi_worker.py", "equal bits; other model, data, seed, epochs; kills, stops, leaving, joining, saving on request (CD4, CO13, FT7, FT8, FT11 to FT13, CK5, KE11)"),
    ("cli/test_gather.py", "who is not up, not named, named twice, of another cluster (CL3, CL4, FT3)"),
    ("cli/test_namespaces.py", "hosts of their own: cables cut, one way too, partitions, a frozen process, long packets lost (FT1, FT2, FT12)"),
    ("cli/test_hostile.py", "captures, strangers, wrong certificates, replays, damage, half-open connections (CL13)"),
    ("cli/test_reference.py", "what one process makes of the models of the tests above and below, beside Keras"),
    ("cli/test_storm.py", "kills, stops and leaving at moments of a seed, under a launcher and by hand (FT12, FT13)"),
    ("cli/test_embedding.py", "sparse gradients, alone and among tasks (CD8, CD9)"),
    ("cli/test_launch.py", "output, ends, restarts, certificates, signals of `artel launch`; test_launch_hosts.py: over ssh (CL12)"),
    ("cli/test_status.py", "`artel status` and `artel drain` (FT6, FT7)"),
    ("cli/test_flat_memory.py", "memory and descriptors over steps and joins"),
    ("api/test_functions.c", "functions, gradients, variables, optimizers under seven forms of strategies; test_functions_fit.c: with the bits of fit (ST1 to ST13, VA1 to VA9)"),
    ("api/test_conformance.c", "each row by its ID under all strategies of a process, on XLA's device, among tasks and over parameter servers; with test_conformance_contexts.c, _models.c, _on_read.c, _scope.c, _values.c, _variables.c and _whole.c; ON_READ beside TensorFlow's MirroredStrategy in test_on_read.py (ST1 to ST13, VA1 to VA9, IN6, KE3)"),
    ("api/test_loop_tasks.c", "loops by hand: a task comes back, one comes for the first time, one leaves, one has all save; another number of tasks goes on (FT7, FT8, FT12, FT13)"),
    ("examples/test_custom_loop.sh", "a loop on tasks that are killed or get SIGTERM, which saves, and goes on; test_custom_loop_device.sh: on XLA's device (KE3, FT7, FT8, FT12)"),
    ("examples/test_gan.sh", "a loop of several runs among tasks that are killed and come back (ST10, FT12)"),
    ("deploy/test_slurm.py", "sbatch on a Slurm of one node: requeue, signals (CL10, FT7)"),
    ("deploy/test_kubernetes.py", "TFJob and Job manifests (CL5, CL8)"),
]

# measured with Keras 3.15 on TensorFlow 2.21
QUIRKS = [
    "- With several outputs and a short last batch, the losses of single outputs (`val_a_loss`) are means over batches, not over rows. artel weighs rows.",
    "- What Keras loses when it saves (Huber's delta, the gain of Identity) is lost: both sides start from the file.",
    "- With `channels_first`, Keras adds the bias of a convolution along the width when the result is as wide as it has channels",
    "  (`keras.src.backend.tensorflow.numpy.add`), and artel to the channels, as Keras documents it.",
    "- TensorFlow's gradient of an average whose window reaches over both borders of an input (AveragePooling2D, `same`, larger than the stride) is not",
    "  the derivative of that average; artel's is.",
    "- `rot90` by two quarters of a matrix that is not square is scrambled in Keras on TensorFlow; ConvTranspose in a model cannot run there (padding and",
    "  output_padding change places), nor can Trapezoid along another axis than the last; artel computes what their documentation says.",
    "- TensorFlow's gradient of an image behind RandomRotation and its kin is the image turned back; artel's is the derivative.",
    "- TensorFlow has no gradient of the colours behind RandomHue and RandomSaturation, so that layers in front of them do not train; artel's is the",
    "  derivative.",
    "- Which changes the chains of AugMix have Keras decides by Python's random numbers when a step is compiled, artel by the layer's seed.",
    "- Keras leaves Equalization out of the file of a model unless it lies inside another layer (Pipeline).",
    "- Lion goes by signs. Under `clipvalue` the occurrences of a token may cancel to 0 or to what rounding leaves, by the order in which they are",
    "  added, and a weight goes by the whole rate or not at all: Keras' own weights change so with the order of the rows of a batch.",
    "- The average that ScheduleFreeAdamW starts from is the weights; Keras' `fit` forgets it, or takes those that loading replaces, unless the file",
    "  has the optimizer's state (`model.optimizer.build(model.trainable_variables)` before `model.save`).",
    "- TensorFlow's gradient of `celu` at exactly 0 is 2, since both of its parts count there; artel's is 1.",
    "- With `unroll` and a mask, Keras forgets to turn the mask around where it sets the outputs of a layer that goes backwards to zero",
    "  (Bidirectional over sequences); artel gives what Keras gives without `unroll`.",
    "- Class weights for a class that the model does not have, and beside targets such as 0.37, are refused; Keras passes over the former and takes",
    "  the nearest class of the latter. Class numbers with a fraction are refused as targets of a sparse loss; Keras cuts the fraction off.",
    "- A model of a class of the user's own is trained with `--standard-step` only: its train_step is in no file.",
    "- `mode` \"auto\" of callbacks knows the losses and metrics of models with several outputs (`age_mae`), which Keras refuses.",
    "- Batch statistics are float64: where a mean is ten million and the deviation 2, Keras' variance is several times too large. The mean that is",
    "  subtracted is a float32 in both.",
    "- Losses and metrics of a prediction of float64 are float64, whatever floatx the process of Keras has; there they are of that.",
    "- The optimizer of a legacy `.h5` cannot go on training in Keras 3.15 (\"Unknown variable\"), in artel it can.",
    "- Two consecutive steps of an untrained ResNet50 are chaotic (Keras against itself: 70 % of the update), so the second step starts from the file",
    "  that Keras wrote after the first.",
]


def count(path):
    env = {k: v for k, v in os.environ.items() if k != "ARTEL_LONG"}
    return len(subprocess.run([sys.executable, path, "--list"], stdout=subprocess.PIPE, check=True, env=env).stdout.splitlines())


def count_all():
    """By path, each file asked once."""
    paths = {os.path.join(HERE, "test_%s.py" % name) for _, _, name in COVERED} | {os.path.join(ROOT, "tests", "cli", "test_%s.py" % name) for name, _ in OUTSIDE}
    paths |= {os.path.join(ROOT, "tests", name) for name, _ in CLUSTER if name.endswith(".py")}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return dict(zip(sorted(paths), pool.map(count, sorted(paths))))


def page(counts):
    lines = ["# What of Keras is covered, and how it is checked", "",
             "Written by `python tests/oracle/coverage.py`. Each test is a table of cases; `python FILE --list` names them. How two programs are",
             "compared: [tests/oracle/README.md](../tests/oracle/README.md). IDs in brackets are rows of the reference list of tf.distribute.", "",
             "| | what | checked by | cases |", "|---|---|---|---|"]
    for title, what, name in COVERED:
        lines.append("| %s | %s | `tests/oracle/test_%s.py` | %d |" % (title, what, name, counts[os.path.join(HERE, "test_%s.py" % name)]))
    lines += ["", "Of one file the cases are counted together. What Keras has beyond these lists (rows called `more-`, `extra-`) is either right or refused by",
              "name, before anything is written. The program from the outside:", "", "| test | what | cases |", "|---|---|---|"]
    for name, what in OUTSIDE:
        lines.append("| `tests/cli/test_%s.py` | %s | %d |" % (name, what, counts[os.path.join(ROOT, "tests", "cli", "test_%s.py" % name)]))
    lines += ["", "Several tasks:", "", "| test | what | cases |", "|---|---|---|"]
    for name, what in CLUSTER:
        path = os.path.join(ROOT, "tests", name)
        if not os.path.exists(path):
            raise SystemExit("coverage: there is no " + path)
        lines.append("| `tests/%s` | %s | %s |" % (name, what, counts.get(path, "")))
    lines += ["", "## Where Keras on TensorFlow is not followed", "", *QUIRKS]
    return "\n".join(lines) + "\n"


def main():
    path = os.path.join(ROOT, "docs", "coverage.md")
    text = page(count_all())
    if sys.argv[1:] == ["--check"]:
        with open(path) as f:
            there = f.read().splitlines()
        stale = [line for line in there if line not in text.splitlines()] + [line for line in text.splitlines() if line not in there]
        return "docs/coverage.md is stale: run tests/oracle/coverage.py\n" + "\n".join(stale) if stale else 0
    with open(path, "w") as f:
        f.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
