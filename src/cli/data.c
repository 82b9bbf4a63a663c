/* SPDX-License-Identifier: Apache-2.0 */
/* artel data: making, indexing, checking and measuring data. The actions are in data_*.c. */
#include "cli/data.h"

#include <string.h>

#include "base/file.h"
#include "base/text.h"

static const char *const compressions[] = {"none", "gzip", "zlib", NULL};

static const artel__option options[] = {
    {"output", "make, split: name of the files to write; stats: FILE.svg with the histograms", ARTEL__OPTION_STRING,
     offsetof(artel__data_command, output), "null", 0, 0, NULL},
    {"shards", "make, split: number of files; 0: one for every 128 MiB", ARTEL__OPTION_INT, offsetof(artel__data_command, shards), "0", 0,
     99999, NULL},
    {"compression", "make, split: none, gzip, zlib (a whole file in one stream)", ARTEL__OPTION_ENUM,
     offsetof(artel__data_command, compression), "none", 0, 0, compressions},
    {"index", "make, split: an index beside each plain file", ARTEL__OPTION_BOOL, offsetof(artel__data_command, index), "true", 0, 0, NULL},
    {"shuffle", "make, split: rows in random order", ARTEL__OPTION_BOOL, offsetof(artel__data_command, shuffle), "false", 0, 0, NULL},
    {"seed", "make, split, bench: of the random order", ARTEL__OPTION_INT, offsetof(artel__data_command, seed), "0", 0, 9e18, NULL},
    {"fractions", "split: parts of the rows, for example 0.8,0.1,0.1", ARTEL__OPTION_STRING, offsetof(artel__data_command, fractions),
     "0.8,0.2", 0, 0, NULL},
    {"names", "split: names of the parts, put behind --output", ARTEL__OPTION_STRING, offsetof(artel__data_command, names), "null", 0, 0,
     NULL},
    {"bins", "stats: bins of the histograms", ARTEL__OPTION_INT, offsetof(artel__data_command, bins), "10", 1, 64, NULL},
    {"rows", "stats, bench: rows to read; 0: all", ARTEL__OPTION_INT, offsetof(artel__data_command, rows), "0", 0, 9e18, NULL},
    {"json", "verify, stats, bench: JSON on standard output", ARTEL__OPTION_BOOL, offsetof(artel__data_command, json), "false", 0, 0, NULL},
    {.name = NULL},
};

artel_status artel__data_open_rows(artel__invocation *call, const char *text, artel__data_opened *out)
{
    memset(out, 0, sizeof *out);
    if (!artel__cli_is_specification(text)) {
        static const char *const others[] = {".npz", ".npy", ".csv", ".keras", ".h5", ".json"};
        for (size_t i = 0; i < ARTEL__COUNT(others); i++)
            if (artel__ends_with(text, others[i])) ARTEL_TRY(artel__cli_check_data(call, "SPEC", text));
        if (artel__is_directory(text)) return artel__cli_check_data(call, "SPEC", text);
        text = artel__arena_printf(&call->arena, "tfrecord:%s", text);
        if (!text) return ARTEL_ERROR_NO_MEMORY;
    }
    ARTEL_TRY(artel_data_open(call->ctx, text, &out->data));
    artel_status status = artel__rows_open(out->data, &call->arena, &out->rows);
    if (status == ARTEL_OK) status = artel__alloc(call->ctx, out->rows.row_bytes + 1, text, &out->row);
    if (status < 0) artel__data_close_rows(call, out);
    return status;
}

void artel__data_close_rows(artel__invocation *call, artel__data_opened *opened)
{
    artel__free(call->ctx, opened->row);
    artel_data_destroy(opened->data);
    memset(opened, 0, sizeof *opened);
}

static const struct action {
    const char *name;
    int least, most; /* arguments, the action among them */
    const char *usage;
    artel_status (*run)(artel__invocation *call);
} actions[] = {
    {"make", 2, 2, "make SPEC --output NAME", artel__data_make},
    {"split", 2, 2, "split SPEC --output NAME --fractions 0.8,0.2", artel__data_split},
    {"index", 2, 100000, "index FILE...", artel__data_index},
    {"inspect", 2, 2, "inspect SPEC", artel__data_inspect},
    {"verify", 2, 100000, "verify FILE... | verify SPEC", artel__data_verify},
    {"stats", 2, 2, "stats SPEC", artel__data_stats},
    {"bench", 2, 2, "bench SPEC", artel__data_bench},
};

static artel_status run_data(artel__invocation *call)
{
    const char *names[ARTEL__COUNT(actions) + 1] = {NULL};
    artel__cli_cancel_by_signals(call->ctx);
    for (size_t i = 0; i < ARTEL__COUNT(actions); i++) {
        const struct action *action = &actions[i];
        names[i] = action->name;
        if (strcmp(call->argument[0], action->name) != 0) continue;
        if (call->arguments < action->least)
            return artel__cli_usage(call, action->name, "an argument is missing; usage: artel data %s", action->usage);
        if (call->arguments > action->most)
            return artel__cli_usage(call, call->argument[action->most], "one argument too many; usage: artel data %s", action->usage);
        return action->run(call);
    }
    const char *near = artel__nearest_name(call->argument[0], names);
    return artel__cli_usage(call, call->argument[0], "no such action; %s%s",
                            near ? "the nearest is " : "they are make, split, index, inspect, verify, stats, bench", near ? near : "");
}

const artel__command artel__command_data = {
    .name = "data",
    .summary = "files of records: make, split, index, inspect, verify; statistics and speed of any data",
    .usage = "make SPEC -o NAME | split SPEC -o NAME | index FILE... | inspect SPEC | verify FILE... | stats SPEC | bench SPEC",
    .more = "SPEC is a data specification (docs/data.md); a bare name means records (tfrecord:). make writes records of tf.train.Example: "
            "NAME,\n"
            "or NAME-00000-of-0000N with several shards, NAME.features.json that says what they hold, NAME.sha256 (sha256sum -c), and an "
            "index\n"
            "beside each plain file. split does so for each part: NAME-train and so on. verify reads everything and ends with 1 when "
            "something\n"
            "is damaged, with a line for each damaged record (the first 100): file, record, byte, what is wrong.\n",
    .examples = "  artel data make 'images:photos' -o photos.tfrecord --shards 16 --shuffle\n"
                "  artel data split npz:all.npz -o all.tfrecord --fractions 0.8,0.1,0.1\n  artel data index 'train-*'\n"
                "  artel data verify train@16\n  artel data stats 'csv:houses.csv#label=price' --bins 20 -o houses.svg\n  artel data bench "
                "train@16\n",
    .options = options,
    .options_size = sizeof(artel__data_command),
    .min_arguments = 1,
    .max_arguments = 100000,
    .letter = "o=output",
    .run = run_data,
};
