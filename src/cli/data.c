/* SPDX-License-Identifier: Apache-2.0 */
/* artel data: making, indexing, checking and measuring data. The actions are in data_*.c. */
#include "cli/data.h"

#include "cli/action.h"

static const char *const compressions[] = {"none", "gzip", "zlib", NULL};

static const artel__option options[] = {
    {"output", "make, split: name of the files to write; stats: FILE.svg with the histograms", ARTEL__OPTION_STRING,
     offsetof(artel__data_command, output), "null", 0, 0, NULL},
    {"shards", "make, split: number of files; 0: one for every 128 MiB", ARTEL__OPTION_INT,
     offsetof(artel__data_command, shards), "0", 0, 99999, NULL},
    {"compression", "make, split: none, gzip, zlib (a whole file in one stream)", ARTEL__OPTION_ENUM,
     offsetof(artel__data_command, compression), "none", 0, 0, compressions},
    {"index", "make, split: an index beside each plain file", ARTEL__OPTION_BOOL, offsetof(artel__data_command, index),
     "true", 0, 0, NULL},
    {"shuffle", "make, split: rows in random order", ARTEL__OPTION_BOOL, offsetof(artel__data_command, shuffle),
     "false", 0, 0, NULL},
    {"seed", "make, split, bench: of the random order", ARTEL__OPTION_INT, offsetof(artel__data_command, seed), "0", 0,
     9e18, NULL},
    {"fractions", "split: parts of the rows, for example 0.8,0.1,0.1", ARTEL__OPTION_STRING,
     offsetof(artel__data_command, fractions), "0.8,0.2", 0, 0, NULL},
    {"names", "split: names of the parts, put behind --output", ARTEL__OPTION_STRING,
     offsetof(artel__data_command, names), "null", 0, 0, NULL},
    {"bins", "stats: bins of the histograms", ARTEL__OPTION_INT, offsetof(artel__data_command, bins), "10", 1, 64,
     NULL},
    {"rows", "stats, bench: rows to read; 0: all", ARTEL__OPTION_INT, offsetof(artel__data_command, rows), "0", 0, 9e18,
     NULL},
    {"json", "verify, stats, bench: JSON on standard output", ARTEL__OPTION_BOOL, offsetof(artel__data_command, json),
     "false", 0, 0, NULL},
    {.name = NULL},
};

static const artel__action actions[] = {
    {"make", 2, 2, "make SPEC --output NAME", artel__data_make},
    {"split", 2, 2, "split SPEC --output NAME --fractions 0.8,0.2", artel__data_split},
    {"index", 2, 100000, "index FILE... | index SPEC", artel__data_index},
    {"inspect", 2, 2, "inspect SPEC", artel__data_inspect},
    {"verify", 2, 100000, "verify FILE... | verify SPEC", artel__data_verify},
    {"stats", 2, 2, "stats SPEC", artel__data_stats},
    {"bench", 2, 2, "bench SPEC", artel__data_bench},
    {.name = NULL},
};

static artel_status run_data(artel__invocation *call)
{
    const artel__action *action;
    artel__cli_cancel_by_signals(call->ctx);
    ARTEL_TRY(artel__action_find(call, actions, &action));
    return action->run(call);
}

const artel__command artel__command_data = {
    .name = "data",
    .summary = "files of records: make, split, index, inspect, verify; statistics and speed of any data",
    .usage = "make SPEC -o NAME | split SPEC -o NAME | index FILE... | inspect SPEC | verify FILE... | stats SPEC | "
             "bench SPEC",
    .more = "SPEC is a data specification (docs/data.md); a bare name means records (tfrecord:). make writes records "
            "of tf.train.Example: "
            "NAME,\n"
            "or NAME-00000-of-0000N with several shards, NAME.features.json that says what they hold, NAME.sha256 "
            "(sha256sum -c), and an "
            "index\n"
            "beside each plain file. index SPEC writes those of other formats' files, which stand for them on hosts "
            "that lack them\n(fit --auto-shard file). split does so for each part: NAME-train and so on. verify reads "
            "everything and "
            "ends with 1 when "
            "something\n"
            "is damaged, with a line for each damaged record (the first 100): file, record, byte, what is wrong.\n",
    .examples = "  artel data make 'images:photos' -o photos.tfrecord --shards 16 --shuffle\n"
                "  artel data split npz:all.npz -o all.tfrecord --fractions 0.8,0.1,0.1\n  artel data index 'train-*'\n"
                "  artel data verify train@16\n  artel data stats 'csv:houses.csv#label=price' --bins 20 -o "
                "houses.svg\n  artel data bench "
                "train@16\n",
    .options = options,
    .options_size = sizeof(artel__data_command),
    .min_arguments = 1,
    .max_arguments = 100000,
    .letter = "o=output",
    .run = run_data,
};
