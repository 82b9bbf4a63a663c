# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Cells one upon another: predictions and 20 training steps as real Keras."""

from oracle import K, L, Case, main


def cells():
    return L.StackedRNNCells([L.LSTMCell(4), L.LSTMCell(3, unit_forget_bias=False), L.GRUCell(2, reset_after=False)])


def masked(**settings):
    return lambda: K.Sequential([K.Input((6,), dtype="int32"), L.Embedding(9, 4, mask_zero=True), L.RNN(cells(), **settings), L.Dense(2)])


def states():
    """The states of one stack begin another."""
    a, b = K.Input((5, 3)), K.Input((4, 3))
    first = L.RNN(cells(), return_state=True)(a)
    second = L.RNN(cells(), return_sequences=True, return_state=True)(b, initial_state=list(first[1:]))
    return K.Model([a, b], L.Dense(2)(L.Concatenate()([L.Flatten()(second[0]), second[1][0], second[3]])))


def stateful():
    """Keras itself cannot forget the states of a stack."""
    return K.Sequential([K.Input(batch_shape=(8, 5, 3)), L.RNN(L.StackedRNNCells([L.GRUCell(3), L.SimpleRNNCell(4)]), stateful=True), L.Dense(2)])


CASES = [
    Case("stacked", lambda: K.Sequential([K.Input((5, 3)), L.RNN(cells()), L.Dense(2)]), fit=("--replicas", 3)),
    Case("stacked-backwards", masked(go_backwards=True, return_sequences=True)),
    Case("stacked-masked", masked(return_sequences=True)),
    Case("stacked-states", states),
    Case("stacked-stateful", stateful, refuse="stateful"),
    Case("list-of-cells", lambda: K.Sequential([K.Input((5, 3)), L.RNN([L.SimpleRNNCell(3), L.LSTMCell(2)]), L.Dense(2)])),
]

if __name__ == "__main__":
    main(CASES)
