# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Spectrograms of signals: predictions and 20 training steps as real Keras; their windows train too."""

from oracle import K, L, O, Case, main


def stft(shape=(70, 2), **settings):
    """Behind a layer that trains, so that a gradient passes the spectrogram."""
    return lambda: K.Sequential([K.Input(shape), L.Dense(shape[-1]), L.STFTSpectrogram(**{"frame_length": 16, **settings}), L.Flatten(), L.Dense(3)])


def mel(**settings):
    return lambda: K.Sequential([K.Input((200,)), L.MelSpectrogram(**{"fft_length": 64, "sequence_stride": 40, "num_mel_bins": 7, **settings}), L.Flatten(), L.Dense(3)])


def ahead(**settings):
    return lambda: K.Sequential([K.Input((200,)), L.Dense(200), L.MelSpectrogram(**{"fft_length": 64, "num_mel_bins": 7, "sequence_stride": 50, **settings}), L.Flatten(), L.Dense(3)])


def slow():
    return O.SGD(1e-5)


CASES = [
    Case("stft", stft(), opt=slow),
    Case("stft-magnitude", stft(mode="magnitude", frame_step=5, padding="same", window="hamming")),
    Case("stft-psd", stft(mode="psd", fft_length=20, scaling="spectrum", periodic=True, expand_dims=True), fit=("--replicas", 3)),
    Case("stft-real", stft((60, 3), mode="real", scaling=None, window="blackman"), opt=slow),
    Case("stft-imag", stft(mode="imag", window=None, padding="same", frame_step=7), opt=lambda: O.SGD(1e-4)),
    Case("stft-angle", stft(mode="angle", expand_dims=True), train=False),
    Case("stft-both", stft((45, 2), mode="stft", expand_dims=True)),
    Case("mel", mel(), fit=("--replicas", 3), opt=slow, x=lambda rng, n, shape: rng.standard_normal((n, *shape)).astype("f4") * 1e-3),
    Case("mel-top", mel(top_db=9.0, ref_power=2.5, min_freq=100.0, max_freq=3500.0, sampling_rate=8000), opt=slow),
    Case("mel-power", mel(power_to_db=False, mag_exp=1.3, sequence_length=50, window="hamming"), opt=slow),
    Case("mel-behind-dense", ahead(), opt=slow),
]

if __name__ == "__main__":
    main(CASES)
