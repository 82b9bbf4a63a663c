# SPDX-License-Identifier: Apache-2.0
"""Pipelines of stages, for tests: written as JSON, delivered, refused."""
import json

import numpy as np
import data


def save(value):
    with open("p.json", "w") as f:
        json.dump(value, f)


def rows(value, dtype="float32"):
    save(value)
    return data.deliver("pipeline:p.json#x", dtype)


def refused(name, value, *words):
    save(value)
    data.refused(name, "pipeline:p.json#x", *words)


def chain(source, *stages):
    return {"from": source, "stages": [dict(s, stage=n) for n, s in stages]}


def column(name, values):
    np.savez(name, x=np.asarray(values))
    return "npz:" + name
