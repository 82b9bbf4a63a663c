/* SPDX-License-Identifier: Apache-2.0 */
/* BackupAndRestore, after keras/src/callbacks/backup_and_restore.py: the options of checkpoints under Keras' names.
 *
 * backup_dir is --checkpoint-dir, save_freq --save-every, double_checkpoint keeps two. A run that is interrupted goes
 * on where its last checkpoint was, to the bit, not where its epoch began. delete_checkpoint removes the checkpoints of
 * a run that has ended.
 */
#include <string.h>

#include "train/callbacks.h"

typedef struct backup_config {
    const char *backup_dir, *save_freq;
    bool double_checkpoint, delete_checkpoint;
} backup_config;

#define AT(field) offsetof(backup_config, field)
static const artel__option backup_options[] = {
    {"backup_dir", "where checkpoints go", ARTEL__OPTION_STRING, AT(backup_dir), NULL, 0, 0, NULL},
    {"save_freq", "\"epoch\", or a number of batches", ARTEL__OPTION_STRING, AT(save_freq), "epoch", 0, 0, NULL},
    {"double_checkpoint", "keep two", ARTEL__OPTION_BOOL, AT(double_checkpoint), "false", 0, 0, NULL},
    {"delete_checkpoint", "remove them when the run has ended", ARTEL__OPTION_BOOL, AT(delete_checkpoint), "true", 0, 0,
     NULL},
    {.name = NULL},
};

static artel_status backup_set(artel__fit *fit, artel__callback *callback)
{
    const backup_config *c = callback->config;
    const char *name = callback->def->class_name;
    int64_t batches = 0;
    if (!c->backup_dir || !c->backup_dir[0])
        return artel__fail(fit->ctx, ARTEL_ERROR_INVALID, name, "give backup_dir", "there is no folder to save to");
    if (fit->options.checkpoint_dir)
        return artel__fail(fit->ctx, ARTEL_ERROR_INVALID, name, "leave one of the two away",
                           "the run has a .checkpoint_dir already");
    if (artel__session_cluster(fit->session) || fit->role != ARTEL__ROLE_NONE)
        return artel__fail(fit->ctx, ARTEL_ERROR_UNSUPPORTED, name, "use .checkpoint_dir",
                           "in a cluster this callback is not supported");
    if (strcmp(c->save_freq, "epoch") != 0 && (!artel__parse_int64(c->save_freq, &batches) || batches < 1))
        return artel__fail(fit->ctx, ARTEL_ERROR_INVALID, name, "give \"epoch\" or a number of batches",
                           "save_freq is \"%s\"", c->save_freq);
    fit->options.checkpoint_dir = c->backup_dir;
    fit->options.save_every = batches ? artel__arena_printf(&fit->arena, "%lldsteps", (long long)batches) : "1epoch";
    fit->options.keep = c->double_checkpoint ? 2 : 1;
    return artel__arena_status(&fit->arena);
}

static artel_status backup_train_end(artel__fit *fit, artel__callback *callback)
{
    const backup_config *c = callback->config;
    fit->callbacks.drops_checkpoints = c->delete_checkpoint;
    return ARTEL_OK;
}

const artel__callback_def artel__callback_backup = {
    .class_name = "BackupAndRestore",
    .doc = "Saves checkpoints and continues from the newest.",
    .config_size = sizeof(backup_config),
    .options = backup_options,
    .set = backup_set,
    .train_end = backup_train_end,
    .over = backup_train_end,
};
