# SPDX-License-Identifier: Apache-2.0
"""What scripts/keras-coverage tries: values by the name of an argument, and inputs by the name of a class.

An argument that is not here and has no truth value as its default stops the script, so that nothing new in Keras passes unseen. A
value that Keras itself refuses for a class is passed over. Where a list has several values all of them are tried.
"""

# what needs Python code or another framework at run time; refused by name
PYTHON = set("""Lambda Layer Wrapper InputSpec FlaxLayer JaxLayer TFSMLayer TorchModuleWrapper Initializer Regularizer Constraint Loss
Metric Optimizer LearningRateSchedule Callback LambdaCallback CallbackList RemoteMonitor OrbaxCheckpoint OptimizerMap
MultiOptimizer""".split())
# what occurs inside another class only, or is no class of its own
ELSEWHERE = set("Input deserialize serialize get legacy schedules MeanMetricWrapper History ProgbarLogger Mean Sum".split())

RECORD = "a record"  # stands for an object that `objects` makes

ARGUMENTS = {  # required ones and others alike
    "units": [3], "filters": [4], "kernel_size": [2], "pool_size": [3], "strides": [2, 3], "dilation_rate": [2], "groups": [2],
    "depth_multiplier": [2], "padding": ["same", "causal", 1, ((1, 1), (1, 1)), ((1, 1), (1, 1), (1, 1))], "output_padding": [0],
    "data_format": ["channels_first"], "activation": ["tanh"], "recurrent_activation": ["tanh"], "size": [3],
    "cropping": [1], "interpolation": ["bilinear", "nearest", "bicubic", "lanczos3", "lanczos5", "area"],
    "target_shape": [(-1, 2)], "dims": [(2, 1)], "n": [3], "rate": [0.3], "drop_rate": [0.3], "noise_shape": [(None, 1)], "seed": [7], "stddev": [0.2],
    "mean": [0.1, [0.1] * 6], "variance": [[1.5] * 6], "momentum": [0.9], "epsilon": [0.01], "axis": [-1, 1, [1, 2]], "rms_scaling": [True],
    "synchronized": [True], "scale": [0.5], "offset": [0.5], "beta_initializer": ["ones"], "gamma_initializer": ["zeros"], "moving_mean_initializer": ["ones"],
    "moving_variance_initializer": ["zeros"], "renorm_clipping": [{"rmax": 3.0}], "renorm_momentum": [0.9],
    "max_value": [6.0, 1.0], "negative_slope": [0.1], "threshold": [0.2, 0.5], "alpha": [0.2, 0.6], "alpha_initializer": ["ones"], "shared_axes": [[1]],
    "mask_value": [1.0], "axes": [1], "normalize": [True], "input_dim": [7], "output_dim": [4], "lora_rank": [2], "lora_alpha": [3.0],
    "weights": [None], "input_length": [5], "mask_zero": [True], "reverse_scale": [1.5], "logit_soft_cap": [2.0], "l1": [0.1], "l2": [0.1],
    "equation": ["ab,bc->ac"], "output_shape": [4], "bias_axes": ["c"], "num_heads": [2], "key_dim": [3], "value_dim": [2], "attention_axes": [(1,)],
    "dropout": [0.2], "recurrent_dropout": [0.2], "implementation": [1], "zero_output_for_mask": [True], "head_dim": [3], "num_query_heads": [4],
    "num_key_value_heads": [2], "score_mode": ["concat"], "flash_attention": [False], "power_iterations": [2], "merge_mode": ["sum", "mul", "ave", None],
    "layer": [RECORD], "cell": [RECORD], "cells": [RECORD], "backward_layer": [RECORD], "layers": [RECORD], "height": [5], "width": [5], "crop_to_aspect_ratio": [True], "fill_mode": ["constant", "wrap", "nearest", "reflect"],
    "fill_value": [0.3], "pad_to_aspect_ratio": [True], "antialias": [True], "mode": ["horizontal", "vertical"], "factor": [0.3], "height_factor": [0.2, (-0.2, 0.3)],
    "width_factor": [0.2, (-0.2, 0.3)], "value_range": [(0, 1)], "x_factor": [0.2], "y_factor": [0.2], "hue_factor": [0.2], "brightness_factor": [0.2],
    "contrast_factor": [0.2], "saturation_factor": [0.2], "num_ops": [1], "num_chains": [2], "chain_depth": [1], "all_ops": [False],
    "magnitude": [0.2], "magnitude_stddev": [0.1], "bounding_box_format": ["xyxy"], "max_number": [4], "tile_grid_size": [(4, 4)],
    "addition_factor": [0.1], "threshold_factor": [0.1], "bins": [16], "sigma": [1.0], "kernel_initializer": ["ones"], "bias_initializer": ["ones"],
    "recurrent_initializer": ["ones"], "embeddings_initializer": ["ones"], "depthwise_initializer": ["ones"], "pointwise_initializer": ["ones"],
    "query_scale": [0.3], "batch_size": [2], "batch_shape": [(2, 6)], "shape": [(6,)], "input_tensor": [None], "sparse": [False], "ragged": [False],
    "bin_boundaries": [[0.0, 1.0]], "num_bins": [5], "num_tokens": [7], "output_mode": ["multi_hot", "count"], "max_tokens": [9], "vocabulary": [["a", "b"]],
    "vocabulary_size": [7], "oov_token": ["?"], "mask_token": [""], "num_oov_indices": [2], "salt": [3], "standardize": ["lower"], "split": ["character"],
    "ngrams": [2], "output_sequence_length": [4], "idf_weights": [[0.1, 0.2]], "pad_to_max_tokens": [True], "encoding": ["latin-1"], "vocabulary_dtype": ["int32"],
    "invert": [False], "fft_length": [8], "sequence_length": [8], "sequence_stride": [4], "frame_length": [4], "frame_step": [2], "window": ["hamming"],
    "sampling_rate": [8000], "num_mel_bins": [4], "min_freq": [10.0], "max_freq": [3000.0], "mel_norm": [2.0], "power_to_db": [False],
    "output_size": [2, 3], "total_epochs": [3], "label_smoothing": [0.1], "from_logits": [True], "reduction": ["sum", "mean", "none", "mean_with_sample_weight"], "ignore_class": [0],
    "gamma": [1.5], "delta": [0.5], "beta": [0.4], "margin": [0.3], "q": [0.5], "remove_diagonal": [False],
    "num_classes": [3], "thresholds": [0.4, [0.3, 0.6]], "top_k": [2], "class_id": [1], "k": [2], "specificity": [0.4], "sensitivity": [0.4], "precision": [0.4],
    "recall": [0.4], "num_thresholds": [20], "curve": ["PR"], "summation_method": ["minoring"], "multi_label": [True], "num_labels": [3], "label_weights": [[0.2, 0.3, 0.5]],
    "target_class_ids": [[0, 1], [0]], "sparse_y_true": [False], "sparse_y_pred": [False], "average": ["micro", "macro", "weighted"], "class_aggregation": ["variance_weighted_average", None],
    "num_regressors": [1], "learning_rate": [0.02], "weight_decay": [0.01], "clipnorm": [1.0], "clipvalue": [0.5], "global_clipnorm": [1.0], "ema_momentum": [0.9],
    "ema_overwrite_frequency": [2], "loss_scale_factor": [8.0], "gradient_accumulation_steps": [2], "beta_1": [0.8], "beta_2": [0.9], "rho": [0.8], "initial_accumulator_value": [0.2],
    "learning_rate_power": [-0.4], "l1_regularization_strength": [0.1], "l2_regularization_strength": [0.1], "l2_shrinkage_regularization_strength": [0.1],
    "epsilon_1": [1e-20], "epsilon_2": [0.01], "clip_threshold": [0.9], "relative_step": [False], "beta_2_decay": [-0.7], "warmup_steps": [3], "ns_steps": [4],
    "exclude_layers": [["bias"]], "exclude_embeddings": [False], "muon_a": [3.0], "muon_b": [-4.0], "muon_c": [2.0], "adam_lr_ratio": [0.2], "adam_beta_1": [0.8], "adam_beta_2": [0.9],
    "adam_weight_decay": [0.01], "rms_rate": [0.1], "inner_optimizer": [RECORD], "initial_scale": [16.0], "dynamic_growth_steps": [5], "name": ["other"],
    "initial_learning_rate": [0.1], "decay_steps": [5], "decay_rate": [0.9], "staircase": [True], "end_learning_rate": [0.01], "power": [2.0], "cycle": [True],
    "warmup_target": [0.2], "first_decay_steps": [5], "t_mul": [1.5], "m_mul": [0.9], "boundaries": [[2, 4]], "values": [[0.1, 0.05, 0.01]],
    "minval": [-0.1], "maxval": [0.1], "value": [0.3], "gain": [0.5], "distribution": ["uniform", "untruncated_normal"], "min_value": [0.1], "input_axes": [[0]], "output_axes": [[-1]],
    "side": ["real", "imag"], "scaling": ["density"], "periodic": [True], "monitor": ["loss"], "patience": [2], "min_delta": [0.1], "verbose": [1], "baseline": [0.5],
    "restore_best_weights": [True], "start_from_epoch": [1], "filepath": ["f.keras"], "save_best_only": [True], "save_weights_only": [True], "save_freq": [2],
    "initial_value_threshold": [0.5], "cooldown": [1], "min_lr": [0.001], "schedule": [[0.1, 0.05]], "filename": ["f.csv"], "separator": [";"], "append": [True],
    "log_dir": ["logs"], "histogram_freq": [1], "write_graph": [False], "write_images": [True], "write_steps_per_second": [True], "update_freq": ["batch"], "profile_batch": [2],
    "embeddings_freq": [1], "embeddings_metadata": [None], "backup_dir": ["backup"], "delete_checkpoint": [False], "double_checkpoint": [False], "swap_on_epoch": [True],
    "keepdims": [True], "source_name": ["float32"], "default_policy": ["float32"], "policy_map": [None], "quantization_config": [None], "dtype": ["mixed_bfloat16"],
    "output_data_format": ["channels_first"], "perturb": [True], "same_positions": [True], "tie_weights": [False], "logits_dtype": ["float32"], "input_dtype": ["float32"], "autocast": [False],
    "labels": [[0]], "ord": [1], "order": [1], "initial": [0.5], "approximate": [False], "correction": [1], "sorted": [False], "shift": [1], "repeats": [2],
    "activity_regularizer": ["l2"], "kernel_regularizer": ["l2"], "bias_regularizer": ["l2"], "recurrent_regularizer": ["l2"], "embeddings_regularizer": ["l2"], "depthwise_regularizer": ["l2"],
    "pointwise_regularizer": ["l2"], "beta_regularizer": ["l2"], "gamma_regularizer": ["l2"], "alpha_regularizer": ["l2"], "sequence_kernel": [None],
    "kernel_constraint": ["max_norm"], "bias_constraint": ["max_norm"], "recurrent_constraint": ["max_norm"], "embeddings_constraint": ["max_norm"], "depthwise_constraint": ["max_norm"],
    "pointwise_constraint": ["max_norm"], "beta_constraint": ["max_norm"], "gamma_constraint": ["max_norm"], "alpha_constraint": ["max_norm"], "contrast_limit": [2.0], "p": [0.5],
    "clip_limit": [2.0], "gptq_unpacked_column_size": [None], "use_cudnn": [False], "sliding_window": [2], "oov_method": ["floormod"], "top_db": [60.0], "mag_exp": [1.0],
    "min_power": [1e-8], "ref_power": [2.0], "reverse_dtype": ["float32"], "amax_history_length": [16],
}
BASE = {  # settings without which Keras takes no model at all
    "GroupNormalization": {"groups": 2}, "CategoryEncoding": {"num_tokens": 9}, "STFTSpectrogram": {"frame_length": 8, "frame_step": 4}, "MelSpectrogram": {"fft_length": 16, "sequence_stride": 8},
    "TextVectorization": {"output_sequence_length": 4},
}
BESIDE = {  # settings that go with an argument: "Class.argument"
    "ModelCheckpoint.save_weights_only": {"filepath": "f.weights.h5"},
    "Dense.lora_alpha": {"lora_rank": 2}, "EinsumDense.lora_alpha": {"lora_rank": 2}, "Embedding.lora_alpha": {"lora_rank": 2},
}
SPECIAL = {  # "Class.argument"
    "Cropping2D.cropping": [1, ((1, 2), (0, 1))], "Dot.axes": [1, -1], "Concatenate.axis": [1, -1], "Normalization.axis": [-1, None], "EinsumDense.output_shape": [4],
    "Softmax.axis": [-1, 1], "MultiHeadAttention.output_shape": [4], "AttentionLayer.score_mode": ["concat"], "AdaptiveAveragePooling2D.output_size": [(2, 3)], "AdaptiveMaxPooling2D.output_size": [(2, 3)], "AdaptiveAveragePooling3D.output_size": [(2, 3, 2)],
    "AdaptiveMaxPooling3D.output_size": [(2, 3, 2)], "RandomPosterization.factor": [4], "STFTSpectrogram.mode": ["magnitude", "psd"], "STFTSpectrogram.padding": ["same"], "Discretization.output_mode": ["one_hot"], "IntegerLookup.vocabulary": [[3, 4, 5]], "StringLookup.vocabulary": [["c", "d", "e"]], "TextVectorization.vocabulary": [["c", "d", "e"]], "TextVectorization.output_sequence_length": [6], "IntegerLookup.oov_token": [-2], "IntegerLookup.mask_token": [0], "RandomCrop.height": [5],
    "RandomHue.factor": [0.2], "RandomRotation.factor": [0.1, (-0.2, 0.3)], "RandomZoom.interpolation": ["nearest", "bilinear"],  "CategoricalFocalCrossentropy.alpha": [0.3],
    "RepeatVector.n": [2], "IoU.num_classes": [3], "BinaryIoU.threshold": [0.4], "F1Score.threshold": [0.4], "FBetaScore.threshold": [0.4],
    "FBetaScore.beta": [0.5], "UpSampling1D.size": [3], "Reshape.target_shape": [(-1, 2), (3, 2)], "Hashing.salt": [3], "MinMaxNorm.rate": [0.5], "RandomErasing.factor": [0.5], "GroupNormalization.groups": [4],
    "TerminateOnNaN.value": [1], "Activation.activation": ["tanh"], "MixUp.alpha": [0.3], "RandomGaussianBlur.kernel_size": [3], "BinaryAccuracy.threshold": [0.4], "RMSNormalization.axis": [-1],
    "Orthogonal.gain": [0.5], "Identity.gain": [0.5], "OrthogonalRegularizer.mode": ["columns"], "OrthogonalRegularizer.factor": [0.1], "Ftrl.beta": [0.1], "ReduceLROnPlateau.factor": [0.5], "ReduceLROnPlateau.mode": ["min", "max"],
    "EarlyStopping.mode": ["min", "max"], "ModelCheckpoint.mode": ["min", "max"], "VarianceScaling.mode": ["fan_out", "fan_avg"], "VarianceScaling.scale": [0.5], "GroupQueryAttention.seed": [7],
    "PReLU.shared_axes": [[1]], "Lamb.epsilon": [0.01], "Pipeline.layers": [RECORD], "SeparableConv1D.dilation_rate": [2], "RandomElasticTransform.scale": [0.5], "Tversky.axis": [[1]],
    "Dice.axis": [[1]], "CTC.name": ["other"], "Muon.nesterov": [False], "LayerNormalization.axis": [-1], "UnitNormalization.axis": [-1], 
     "ReLU.threshold": [0.2], "ReLU.max_value": [1.0], "Normalization.mean": [[0.3] * 6], "Normalization.variance": [[2.5] * 6], "Discretization.bin_boundaries": [[-0.5, 0.0, 2.0]], "CategoryEncoding.sparse": [True],
    "ZeroPadding2D.padding": [2, ((1, 2), (0, 1))], "ZeroPadding3D.padding": [2, ((1, 2), (0, 1), (1, 0))], "Cropping1D.cropping": [2, (1, 2)], "Cropping3D.cropping": [2, ((1, 2), (0, 1), (1, 0))],
    "MultiHeadAttention.attention_axes": [(1,), (2,), (1, 2)], "ExponentialDecay.decay_rate": [0.9],
}
SHAPES = {  # of a row, where the name does not say it, or for an argument; two: a layer of two inputs
    "MultiHeadAttention.attention_axes": [(3, 5, 4), (3, 5, 4)],
    "Embedding": ["int32", (5,)], "Masking": [(5, 4)], "TimeDistributed": [(5, 4)], "Bidirectional": [(5, 4)], "RNN": [(5, 4)], "LSTM": [(5, 4)], "GRU": [(5, 4)],
    "SimpleRNN": [(5, 4)], "Attention": [(5, 4), (5, 4)], "AdditiveAttention": [(5, 4), (5, 4)], "MultiHeadAttention": [(5, 4), (5, 4)], "GroupQueryAttention": [(5, 4), (5, 4)],
    "Permute": [(6, 1)], "GroupNormalization": [(6, 4)], "Add": [(6,), (6,)], "Subtract": [(6,), (6,)], "Multiply": [(6,), (6,)], "Average": [(6,), (6,)], "Maximum": [(6,), (6,)],
    "Minimum": [(6,), (6,)], "Concatenate": [(6,), (6,)], "Dot": [(6,), (6,)], "ReversibleEmbedding": ["int32", (5,)], "CategoryEncoding": ["int32", (5,)], "IntegerLookup": ["int64", (5,)],
    "StringLookup": ["string", (5,)], "TextVectorization": ["string", (1,)], "Hashing": ["int64", (5,)], "HashedCrossing": ["int64", (1,), (1,)], "MelSpectrogram": [(64,)], "STFTSpectrogram": [(64, 1)],
    "ConvLSTM1D": [(3, 6, 3)], "ConvLSTM2D": [(3, 6, 6, 3)], "ConvLSTM3D": [(3, 4, 4, 4, 2)], "SpatialDropout1D": [(6, 3)], "UpSampling1D": [(6, 3)], "EinsumDense": [(6,)], "RepeatVector": [(6,)],
    "LSTMCell": [(4,)], "GRUCell": [(4,)], "SimpleRNNCell": [(4,)], "StackedRNNCells": [(5, 4)], "BatchNormalization": [(6, 4)], "LayerNormalization": [(6, 4)], "UnitNormalization": [(6, 4)], "RMSNormalization": [(6, 4)],
    "Softmax": [(6, 4)], "PReLU": [(6, 4)], "Discretization": [(6,)], "SpectralNormalization": [(6,)],
}
IMAGES = set("""MelSpectrogram Resizing CenterCrop Pipeline AutoContrast Equalization Solarization MixUp CutMix AugMix RandAugment ContrastLimitedAdaptiveHistogramEqualization
MaxNumBoundingBoxes""".split())

# operations that need more than tensors; of ops.NAME, with x [4][6] behind a layer and h [6]
OPS = {
    "adaptive_average_pool": "ops.adaptive_average_pool(x, (2,))", "adaptive_max_pool": "ops.adaptive_max_pool(x, (2,))", "append": "ops.append(x, x, axis=1)",
    "average_pool": "ops.average_pool(x, 2)", "max_pool": "ops.max_pool(x, 2)", "broadcast_to": None, "cast": "ops.cast(x, 'int32')", "saturate_cast": "ops.saturate_cast(x, 'int32')",
    "batch_normalization": "ops.batch_normalization(x, c6, c6, axis=-1)", "clip": "ops.clip(x, -0.5, 0.5)", "concatenate": "ops.concatenate([x, x], axis=1)", "conv": "ops.conv(x, c266)",
    "conv_transpose": "ops.conv_transpose(x, c266)", "depthwise_conv": "ops.depthwise_conv(x, c262)", "separable_conv": "ops.separable_conv(x, c262, c124)", "cross": "ops.cross(x[..., :3], x[..., 3:])",
    "diag": None, "digitize": "ops.digitize(x, c6)", "dot": "ops.dot(x, c66)", "dot_product_attention": "ops.dot_product_attention(q, q, q)", "einsum": "ops.einsum('btc,bsc->bts', x, x)",
    "expand_dims": "ops.expand_dims(x, 1)", "flip": "ops.flip(x, axis=1)", "full_like": "ops.full_like(x, 2.0)", "get_item": "x[:, 1:3]", "gather": "ops.take(x, [0, 2], axis=1)", "in_top_k": "ops.in_top_k(k, h, 2)",
    "inner": "ops.inner(x, c66)", "isin": "ops.isin(x, [0.0])", "kron": "ops.kron(x, c122)", "ldexp": "ops.ldexp(x, c6)", "matmul": "ops.matmul(x, c66)", "moveaxis": "ops.moveaxis(x, 1, 2)", "multi_hot": "ops.multi_hot(k4, 5)",
    "normalize": "ops.normalize(x)", "one_hot": "ops.one_hot(k4, 5)", "pad": "ops.pad(x, ((0, 0), (1, 1), (0, 2)))", "percentile": "ops.percentile(x, 30, axis=1)", "quantile": "ops.quantile(x, 0.3, axis=1)",
    "nanpercentile": "ops.nanpercentile(x, 30, axis=1)", "nanquantile": "ops.nanquantile(x, 0.3, axis=1)", "repeat": "ops.repeat(x, 2, axis=1)", "reshape": "ops.reshape(x, (-1, 24))",
    "roll": "ops.roll(x, 1, axis=1)", "rearrange": None, "rot90": "ops.rot90(x, axes=(1, 2))", "scatter": None, "searchsorted": "ops.searchsorted(c6, h)", "segment_max": None, "segment_min": None, "segment_prod": None,
    "segment_sum": None, "select": "ops.select([x > 0, x < 0], [x, x])", "slice": None, "slice_update": "ops.slice_update(x, (0, 0, 0), x[:, :2, :2])", "split": "ops.split(x, 2, axis=1)[0]",
    "array_split": "ops.array_split(x, 2, axis=1)[0]", "hsplit": "ops.hsplit(x, 2)[0]", "dsplit": "ops.dsplit(x, 2)[0]", "vsplit": None, "squeeze": "ops.squeeze(x[:, :1], 1)", "stack": "ops.stack([x, x], axis=1)", "hstack": "ops.hstack([x, x])",
    "dstack": "ops.dstack([x, x])", "vstack": None, "swapaxes": "ops.swapaxes(x, 1, 2)", "take": "ops.take(x, [0, 2], axis=1)", "take_along_axis": "ops.take_along_axis(x, ops.argsort(x, axis=1), axis=1)", "tensordot": "ops.tensordot(x, c66, axes=1)",
    "threshold": "ops.threshold(x, 0.2, 0.1)", "tile": "ops.tile(x, (1, 2, 1))", "top_k": "ops.top_k(x, 2)[0]", "transpose": "ops.transpose(x, (0, 2, 1))", "unstack": "ops.unstack(x, axis=1)[0]", "where": "ops.where(x > 0, x, 0.1)",
    "binary_crossentropy": "ops.binary_crossentropy(x, x)", "categorical_crossentropy": "ops.categorical_crossentropy(x, x)", "sparse_categorical_crossentropy": "ops.sparse_categorical_crossentropy(k4, x)",
    "extract_sequences": "ops.extract_sequences(h, 3, 2)", "fft": "ops.fft((x, x))[0]", "fft2": "ops.fft2((x, x))[0]", "ifft2": "ops.ifft2((x, x))[0]", "irfft": "ops.irfft((x, x))", "rfft": "ops.rfft(x)[0]", "stft": "ops.stft(h, 4, 2, 4)[0]", "istft": None, "polar": None, "angle": "ops.angle(x)", "real": "ops.real(x)", "imag": "ops.imag(x)", "conj": "ops.conj(x)", "conjugate": "ops.conjugate(x)",
    "layer_normalization": "ops.layer_normalization(x, c6, c6)", "rms_normalization": "ops.rms_normalization(x, c6)", "moments": "ops.moments(x, axes=[1])[0]", "logical_and": "ops.logical_and(x > 0, x < 1)", "logical_or": "ops.logical_or(x > 0, x < 1)",
    "logical_xor": "ops.logical_xor(x > 0, x < 1)", "logical_not": "ops.logical_not(x > 0)", "bitwise_and": "ops.bitwise_and(k4, k4)", "bitwise_or": "ops.bitwise_or(k4, k4)", "bitwise_xor": "ops.bitwise_xor(k4, k4)", "bitwise_invert": "ops.bitwise_invert(k4)",
    "bitwise_not": "ops.bitwise_not(k4)", "bitwise_left_shift": "ops.bitwise_left_shift(k4, 1)", "bitwise_right_shift": "ops.bitwise_right_shift(k4, 1)", "left_shift": "ops.left_shift(k4, 1)", "right_shift": "ops.right_shift(k4, 1)",
    "gcd": "ops.gcd(k4, k4)", "lcm": "ops.lcm(k4, k4)", "bincount": None, "trapezoid": "ops.trapezoid(x, axis=1)", "unfold": "ops.unfold(im, 2)", "fold": "ops.fold(x, (2, 3), 1)", "depth_to_space": "ops.depth_to_space(ops.space_to_depth(im, 2), 2)", "space_to_depth": "ops.space_to_depth(im, 2)", "view": None, "view_as_complex": None, "view_as_real": None,
    "cumsum": "ops.cumsum(x, axis=1)", "cumprod": "ops.cumprod(x, axis=1)", "sort": "ops.sort(x, axis=1)", "argsort": "ops.argsort(x, axis=1)", "diff": "ops.diff(x, axis=1)", "average": "ops.average(x, axis=1)", "count_nonzero": "ops.count_nonzero(x, axis=1)",
    "ptp": "ops.ptp(x, axis=1)", "argpartition": None, "vander": None, "vdot": None, "corrcoef": None, "correlate": None, "histogram": None, "meshgrid": None, "outer": None, "unravel_index": "ops.unravel_index(k4, (2, 3))[0]", "vectorize": None, "psnr": None, "unique": None,
    "nonzero": None, "diagonal": "ops.diagonal(x, axis1=1, axis2=2)", "trace": "ops.trace(x, axis1=1, axis2=2)", "power": "ops.power(x, 2.0)", "nextafter": "ops.nextafter(x, x)", "flipud": None, "fliplr": "ops.fliplr(x)", "cdist": "ops.cdist(x, x)", "diagflat": None,
    "ravel": None, "allclose": None, "logdet": "ops.logdet(sq)", "det": "ops.det(sq)", "inv": "ops.inv(sq)", "slogdet": "ops.slogdet(sq)[1]", "solve": "ops.solve(sq, sq)", "solve_triangular": "ops.solve_triangular(sq, sq, lower=True)", "lstsq": "ops.lstsq(sq, sq)", "lu_factor": "ops.lu_factor(sq)[0]", "qr": "ops.qr(sq)[0]", "svd": "ops.svd(sq)[1]", "eig": "ops.eig(sq)[0]", "eigh": "ops.eigh(sq)[0]", "cholesky": "ops.cholesky(sq)",
    "cholesky_inverse": "ops.cholesky_inverse(sq)", "pinv": "ops.pinv(sq)", "matrix_rank": "ops.matrix_rank(sq)", "nancumsum": "ops.nancumsum(x, axis=1)", "nancumprod": "ops.nancumprod(x, axis=1)", "trace_": None, "amax": "ops.amax(x, axis=1)", "amin": "ops.amin(x, axis=1)",
    "norm": "ops.norm(x, axis=1)", "logsumexp": "ops.logsumexp(x, axis=1)", "glu": "ops.glu(x)", "image.resize": "ops.image.resize(im, (4, 4))", "image.rgb_to_grayscale": "ops.image.rgb_to_grayscale(im)", "image.crop_images": "ops.image.crop_images(im, 1, 1, 4, 4)",
    "image.gaussian_blur": "ops.image.gaussian_blur(im)", "image.extract_patches": "ops.image.extract_patches(im, 2)", "image.extract_patches_3d": "ops.image.extract_patches_3d(ops.expand_dims(im, -1), (2, 2, 1))",
    "image.affine_transform": "ops.image.affine_transform(im, ops.convert_to_numpy([1, 0, 1, 0, 1, 2, 0, 0]))", "image.ssim": "ops.image.ssim(im, im, filter_size=4)",
    "image.perspective_transform": "ops.image.perspective_transform(im, ops.convert_to_numpy([[0, 0], [0, 7], [7, 0], [7, 7]]), ops.convert_to_numpy([[0, 0], [0, 7], [7, 0], [6, 7]]))",
    "image.pad_images": "ops.image.pad_images(im, 1, 1, 10, 10)", "associative_scan": None, "ctc_loss": None, "ctc_decode": None, "scatter_update": None,
}
