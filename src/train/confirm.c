/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a chief of parameter servers is the one still: asked before it does what all see. */
#include "cluster/mesh.h"
#include "ps/majority.h"
#include "train/checkpoint_file.h"
#include "train/fit_impl.h"

/* Without the servers that could say it, this task is asked to save what it has and to end: as long as nobody has come
 * further. */
static artel_status confirm_alone(const artel__fit *fit, int64_t step)
{
    int64_t newest = -1;
    if (fit->options.checkpoint_dir)
        ARTEL_TRY(artel__checkpoint_newest(fit->ctx, fit->options.checkpoint_dir, &newest));
    return newest < step ? ARTEL_OK : ARTEL_AGAIN;
}

artel_status artel__fit_confirm_step(const artel__fit *fit, int64_t step)
{
    artel_cluster *cluster = fit->options.cluster;
    int servers = artel__mesh_tasks(cluster)->count[ARTEL__TASK_PS];
    if (atomic_load(&fit->job.forsaken)) return confirm_alone(fit, step);
    return artel__mesh_confirm(cluster, ARTEL__TASK_PS, artel__majority_beside(servers));
}

artel_status artel__fit_confirm(void *user)
{
    const artel__fit *fit = user;
    return artel__fit_confirm_step(fit, fit->at.step);
}
