/* SPDX-License-Identifier: Apache-2.0 */
/* SwapEMAWeights, after keras/src/callbacks/swap_ema_weights.py: validation, and with swap_on_epoch what is saved
 * behind an epoch, sees the moving averages of the optimizer in place of the variables.
 *
 * For a validation they change places around each of its batches, so that between two units of a run every state is the
 * one it would be without the callback. Behind an epoch they stay swapped until the next one begins, which the
 * callback's state remembers.
 */
#include "train/callbacks.h"

typedef struct swap_config {
    bool swap_on_epoch;
} swap_config;

static const artel__option swap_options[] = {
    {"swap_on_epoch", "also behind each epoch, for the callbacks that follow", ARTEL__OPTION_BOOL,
     offsetof(swap_config, swap_on_epoch), "false", 0, 0, NULL},
    {.name = NULL},
};

static artel_status swap_begin(artel__fit *fit, artel__callback *callback)
{
    const char *name = callback->def->class_name;
    if (!fit->settings.optimizer.use_ema)
        return artel__fail(fit->ctx, ARTEL_ERROR_INVALID, name, "set use_ema=True in the optimizer",
                           "the optimizer keeps no averages");
    if (fit->role != ARTEL__ROLE_NONE)
        return artel__fail(fit->ctx, ARTEL_ERROR_UNSUPPORTED, name, "use one-device, mirrored or multi-worker",
                           "beside parameter servers this callback is not supported");
    return ARTEL_OK;
}

static void swap_around_test(artel__fit *fit, artel__callback *callback, bool begins)
{
    (void)begins;
    if (!callback->state.up) artel__session_swap_averages(fit->session);
}

static artel_status swap_epoch_begin(artel__fit *fit, artel__callback *callback)
{
    if (callback->state.up) artel__session_swap_averages(fit->session);
    callback->state.up = false;
    return ARTEL_OK;
}

/* After the last epoch the averages are what the run ends with, whoever would swap again. */
static artel_status swap_epoch_end(artel__fit *fit, artel__callback *callback)
{
    const swap_config *c = callback->config;
    if (!c->swap_on_epoch || callback->state.up) return ARTEL_OK;
    ARTEL_TRY(artel__state_bring(artel__session_state(fit->session)));
    artel__session_swap_averages(fit->session);
    if (fit->at.epoch + 1 == fit->options.epochs) artel__session_take_averages(fit->session);
    callback->state.up = true;
    return ARTEL_OK;
}

const artel__callback_def artel__callback_swap_averages = {
    .class_name = "SwapEMAWeights",
    .doc = "Validates with the optimizer's moving averages.",
    .config_size = sizeof(swap_config),
    .options = swap_options,
    .begin = swap_begin,
    .epoch_begin = swap_epoch_begin,
    .around_test = swap_around_test,
    .epoch_end = swap_epoch_end,
};
