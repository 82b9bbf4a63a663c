/* SPDX-License-Identifier: Apache-2.0 */
/* What divide.h promises. */
#include "train/divide.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "data/data.h"
#include "train/deal.h"

#define OPTION ".auto_shard"

enum {
    MOST_WORKERS = 4096
};

static bool takes_number(const char *text, const char *word, const char **number)
{
    size_t length = strlen(word);
    if (strncmp(text, word, length) != 0 || (text[length] && text[length] != ':')) return false;
    *number = text[length] ? text + length + 1 : NULL;
    return true;
}

artel_status artel__divide_check_option(artel__fit *fit)
{
    const char *text = fit->options.auto_shard, *number = NULL;
    int64_t workers = fit->options.cluster ? artel_cluster_size(fit->options.cluster) : 1;
    fit->input.divide = (artel__divide){.pipelines = 0};
    if (!text || strcmp(text, "auto") == 0 || strcmp(text, "data") == 0 || strcmp(text, "file") == 0) return ARTEL_OK;
    fit->input.divide.off = takes_number(text, "off", &number);
    if (!fit->input.divide.off && !takes_number(text, "hint", &number))
        return artel__fail(fit->ctx, ARTEL_ERROR_INVALID, OPTION, "give auto, file, data, hint or off",
                           "\"%.60s\" is none of these", text);
    if (number && (!artel__parse_int64(number, &workers) || workers < 1 || workers > MOST_WORKERS))
        return artel__fail(fit->ctx, ARTEL_ERROR_INVALID, OPTION, "for example off:4",
                           "\"%.60s\" is no number of workers from 1 to %d", number, MOST_WORKERS);
    if (fit->role != ARTEL__ROLE_NONE)
        return artel__fail(fit->ctx, ARTEL_ERROR_UNSUPPORTED, OPTION, "leave it out, or use the strategy multi-worker",
                           "workers of parameter servers take batches of any rows");
    if (fit->options.validation_split > 0)
        return artel__fail(fit->ctx, ARTEL_ERROR_UNSUPPORTED, OPTION, "name .validation_data data of their own",
                           ".validation_split does not part pipelines that workers have for themselves");
    fit->input.divide.pipelines = (int32_t)workers;
    return ARTEL_OK;
}

artel_status artel__divide_open(artel__fit *fit, artel_data *data)
{
    artel__divide *d = &fit->input.divide;
    if (d->pipelines == 0) return ARTEL_OK;
    d->first = artel__arena_alloc(&fit->arena, (size_t)d->pipelines + 1, sizeof *d->first);
    ARTEL_TRY(artel__arena_status(&fit->arena));
    return d->off ? ARTEL_OK : artel__data_divide(data, d->pipelines, d->first);
}

static void say_cover(const artel__fit *fit, int64_t rows)
{
    const artel__divide *d = &fit->input.divide;
    int64_t least = rows, most = 0;
    if (!fit->writes) return;
    if (d->off) {
        artel__log(fit->ctx, ARTEL_LOG_NOTE,
                   "training: each of %d workers goes through all %lld rows; an epoch has each row %d times",
                   d->pipelines, (long long)rows, d->pipelines);
        return;
    }
    for (int i = 0; i < d->pipelines; i++) {
        int64_t count = d->first[i + 1] - d->first[i];
        if (count < least) least = count;
        if (count > most) most = count;
    }
    artel__log(fit->ctx, ARTEL_LOG_NOTE,
               "training: %d workers have pipelines of their own, of %lld to %lld rows; an epoch has each of these "
               "%lld rows once%s",
               d->pipelines, (long long)least, (long long)most, (long long)rows,
               most > least ? "; where one ends, the others fill its place" : "");
}

artel_status artel__divide_batches(artel__fit *fit, artel__batches *batches)
{
    artel__divide *d = &fit->input.divide;
    if (d->pipelines == 0) return ARTEL_OK;
    if (d->off && batches->rows < batches->batch_size)
        return artel__fail(fit->ctx, ARTEL_ERROR_INVALID, OPTION, "give a smaller .batch_size, or .auto_shard data",
                           "off takes batches of no more rows than the data has (%lld, found %lld)",
                           (long long)batches->rows, (long long)batches->batch_size);
    say_cover(fit, batches->rows);
    if (d->off)
        for (int i = 0; i <= d->pipelines; i++) d->first[i] = batches->rows * i;
    if (d->off) batches->repeated = batches->rows;
    batches->rows = d->first[d->pipelines];
    batches->pipelines = d->pipelines;
    batches->first = d->first;
    return ARTEL_OK;
}

const char *artel__divide_word(const artel__fit *fit, char buffer[32])
{
    const artel__divide *d = &fit->input.divide;
    snprintf(buffer, 32, "%s of %d", d->off ? "off" : "hint", d->pipelines);
    return d->pipelines ? buffer : NULL;
}
