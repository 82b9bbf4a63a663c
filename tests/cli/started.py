# SPDX-License-Identifier: Apache-2.0
"""What a row or a check has started: it is killed when that is over, so that one that fails ends, and the next one begins clean."""

import atexit

STARTED = []  # processes; whoever starts one that may outlive its row says so here


def end_started():
    for process in STARTED:
        if process.poll() is None:
            process.kill()
    for process in STARTED:
        process.wait()
    STARTED.clear()


def cleaning(run):
    """Of a table of rows: what one has started ends with it."""

    def cleaned(*args):
        try:
            return run(*args)
        finally:
            end_started()

    return cleaned


atexit.register(end_started)
