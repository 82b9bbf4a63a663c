/* SPDX-License-Identifier: Apache-2.0 */
/* The command line: one table entry a subcommand, options as tables, errors printed once.
 *
 * A subcommand describes its options (base/option.h) and positional arguments; parsing, --help, environment defaults,
 * nearest names and exit codes are done here for all. stdout carries results, everything else goes to stderr.
 */
#ifndef ARTEL_CLI_CLI_H
#define ARTEL_CLI_CLI_H

#include <stdio.h>

#include "artel/fit.h"
#include "base/arena.h"
#include "base/option.h"

typedef struct artel__invocation artel__invocation;

/* Options of a table that belong together: from `first` to the next group's. */
typedef struct artel__option_group {
    const char *first, *title;
    bool seldom; /* left out of help, unless all is asked for */
} artel__option_group;

typedef struct artel__command {
    const char *name;
    const char *summary;  /* one line for the overview */
    const char *usage;    /* "MODEL --data SPEC [options]" */
    const char *examples; /* lines of two spaces and a command */
    const char *more;     /* further help text, or NULL */
    const artel__option *options;
    const artel__option_group *groups; /* ended by one without `first`; NULL: one list */
    size_t options_size;
    int min_arguments, max_arguments;
    const char *letter;  /* one letter and the option it stands for: "n=workers", or NULL */
    const char *repeats; /* the option that may be given several times, or NULL: its values are lines of one text */
    bool passes_on;      /* what follows the first argument is another program's: no option of this command */
    artel_status (*run)(artel__invocation *call);
} artel__command;

struct artel__invocation {
    const artel__command *command;
    artel_context *ctx;
    artel__arena arena;
    void *options;         /* the command's struct */
    const char **argument; /* positional arguments */
    int arguments;
    bool *given;          /* by option of the table: set on the command line or in the environment */
    bool *typed;          /* by option of the table: set on the command line */
    bool reading_words;   /* the environment has been read */
    const char *repeated; /* what words have given the option that repeats */
    int exit_code;        /* of the command when it succeeds with another code than 0 */
};

extern const artel__command *const artel__commands[];
/* NULL when there is none of that name. */
const artel__command *artel__cli_find_command(const char *name);
/* Says so on standard error, with the nearest name; the exit code. */
int artel__cli_unknown_command(const char *name);

/* Fills call->options, arguments and given. */
artel_status artel__cli_parse(artel__invocation *call, int count, char **words);
/* Whether --help or -h is among the options; *all: --all, too. */
bool artel__cli_wants_help(const artel__command *command, int count, char **words, bool *all);
bool artel__cli_given(const artel__invocation *call, const char *name);
/* A note for each of these options that was given by a word, not by the environment: it does nothing without `what`. */
void artel__cli_note_idle(artel__invocation *call, const char *const *names, size_t count, const char *what);
/* The same for the options of a device where `device` is the processor. */
void artel__cli_note_idle_device(artel__invocation *call, const char *device);
/* From now on an abort, which is what plug-ins do with faults of their own, is a line with what to do, and then the
 * signal's end. Nothing where `device` is the processor. */
void artel__cli_catch_abort(const char *device);
/* Warns of each ARTEL_ variable that nothing reads and whose name is nearly that of one that is read. */
artel_status artel__cli_check_environment(artel__invocation *call);
/* `all`: the groups that are seldom wanted, too. */
void artel__cli_help(const artel__command *command, bool all, FILE *out);
/* The group that begins with this option, or NULL. */
const artel__option_group *artel__cli_group(const artel__command *command, const artel__option *option);
void artel__cli_overview(FILE *out);
/* The same as pages for man(1). */
void artel__cli_manual(const artel__command *command, FILE *out);
void artel__cli_manual_overview(FILE *out);
/* "--[no-]shuffle", "--epochs N"; and whether its default is worth a word. */
void artel__cli_option_left(const artel__command *command, const artel__option *option, char *left, size_t size);
bool artel__cli_shows_default(const artel__option *option);

/* --device, --plugin, --device-precision of a struct of options: fields of these names, strings. */
#define ARTEL__DEVICE_OPTIONS(type)                                                                                  \
    {"device",                                                                                                       \
     "what computes: cpu, auto, gpu, cuda:0, gpu:3,gpu:1, tpu; cpu:xla; see docs/devices.md",                        \
     ARTEL__OPTION_STRING,                                                                                           \
     offsetof(type, device),                                                                                         \
     "cpu",                                                                                                          \
     0,                                                                                                              \
     0,                                                                                                              \
     NULL},                                                                                                          \
        {"plugin",                                                                                                   \
         "the file of the device's PJRT plug-in; else it is searched for",                                           \
         ARTEL__OPTION_STRING,                                                                                       \
         offsetof(type, plugin),                                                                                     \
         "null",                                                                                                     \
         0,                                                                                                          \
         0,                                                                                                          \
         NULL},                                                                                                      \
        {"device-precision",                                                                                         \
         "of float32 products on a device: float32, tf32, bfloat16",                                                 \
         ARTEL__OPTION_STRING,                                                                                       \
         offsetof(type, device_precision),                                                                           \
         "float32",                                                                                                  \
         0,                                                                                                          \
         0,                                                                                                          \
         NULL},                                                                                                      \
        {"device-kernels",                                                                                           \
         "how they are chosen: fixed, measured; auto: measured on GPUs where the model convolves",                   \
         ARTEL__OPTION_STRING,                                                                                       \
         offsetof(type, device_kernels),                                                                             \
         "auto",                                                                                                     \
         0,                                                                                                          \
         0,                                                                                                          \
         NULL},                                                                                                      \
        {"device-launches",                                                                                          \
         "what is launched at once: shard, replica (all of its shards); auto: by the work of a shard",               \
         ARTEL__OPTION_STRING,                                                                                       \
         offsetof(type, device_launches),                                                                            \
         "auto",                                                                                                     \
         0,                                                                                                          \
         0,                                                                                                          \
         NULL},                                                                                                      \
        {"device-memory",                                                                                            \
         "of a GPU's memory: grow, as it is needed; grow:0.4, that part at the most; 0.9, that part at once",        \
         ARTEL__OPTION_STRING,                                                                                       \
         offsetof(type, device_memory),                                                                              \
         "grow",                                                                                                     \
         0,                                                                                                          \
         0,                                                                                                          \
         NULL},                                                                                                      \
    {                                                                                                                \
        "device-reduce",                                                                                             \
            "exact: the same bits on any number of devices; fast: a step as one program; fastest: bits differ each " \
            "time",                                                                                                  \
            ARTEL__OPTION_STRING, offsetof(type, device_reduce), "exact", 0, 0, NULL                                 \
    }

/* --allow-mixed-arithmetic of a struct of options: a field `allow_mixed_arithmetic`, a bool. */
#define ARTEL__MIXED_OPTION(type)                                                                                      \
    {                                                                                                                  \
        "allow-mixed-arithmetic",                                                                                      \
            "let --device name processors beside devices (cpu,cuda:0), and tasks differ in kind: last bits depend on " \
            "who computes what",                                                                                       \
            ARTEL__OPTION_BOOL, offsetof(type, allow_mixed_arithmetic), "false", 0, 0, NULL                            \
    }

/* --extensions of a struct of options: a field `extensions`, a string. artel__cli_load_model opens them first. */
#define ARTEL__EXTENSION_OPTION(type)                                                                        \
    {                                                                                                        \
        "extensions", "shared objects with layers, losses, metrics of your own: a.so,b.so (docs/extend.md)", \
            ARTEL__OPTION_STRING, offsetof(type, extensions), "null", 0, 0, NULL                             \
    }

/* --data-memory of a struct of options: a field `data_memory`, a string, for artel__cli_set_data_memory. */
#define ARTEL__DATA_MEMORY_OPTION(type)                                                                               \
    {                                                                                                                 \
        "data-memory",                                                                                                \
            "what reading ahead, unfolding and caches may take: bytes, 512M, 4G; auto: a quarter of memory; changes " \
            "no bit",                                                                                                 \
            ARTEL__OPTION_STRING, offsetof(type, data_memory), "auto", 0, 0, NULL                                     \
    }

/* --arithmetic of a struct of options: a field `arithmetic`, an index into the names. */
extern const char *const artel__cli_arithmetics[];
#define ARTEL__ARITHMETIC_OPTION(type, advice)                                                            \
    {                                                                                                     \
        "arithmetic", "order of sums in products of bfloat16: chain, tiles (as AMX adds); auto: " advice, \
            ARTEL__OPTION_ENUM, offsetof(type, arithmetic), "auto", 0, 0, artel__cli_arithmetics          \
    }

/* A message of the library with options of the program where it names fields; cut to fit. Returns `out`, or NULL for
 * NULL. */
const char *artel__cli_name_options(const char *text, char *out, size_t size);

/* A usage error: exit code 1 and a pointer to --help. */
artel_status artel__cli_usage(artel__invocation *call, const char *where, const char *format, ...) ARTEL__PRINTF(3, 4);

/* SIGTERM, SIGHUP (unless nohup has it ignored), SIGUSR1, SIGUSR2 and the first SIGINT ask for an orderly end that
 * saves; the second SIGINT ends at once. */
void artel__cli_catch_signals(artel_context *ctx);

/* For commands that save nothing: the same signals cancel what runs, the second SIGINT ends at once. */
void artel__cli_cancel_by_signals(artel_context *ctx);

/* A mapped file that is cut off while it is read ends the process with its name and exit code 1. */
void artel__cli_watch_files(void);
/* Whether SIGINT came: the exit code is then 130. */
bool artel__cli_interrupted(void);
/* Whether SIGHUP came, the terminal's end: 129. */
bool artel__cli_hung_up(void);
/* Before a note is printed, so that a progress line does not stand in its way. */
typedef void artel__cli_pause_fn(void *user);
void artel__cli_before_notes(artel__cli_pause_fn *pause, void *user);

/* Whether a result could be written there: nothing is left behind. Fails as the write would in the end. */
artel_status artel__cli_check_target(artel__invocation *call, const char *path);
/* Refuses `path`, which `option` names to be written, if it is a file that the specification `data` (or NULL) reads. */
artel_status artel__cli_check_apart(artel__invocation *call, const char *option, const char *path, const char *data);
/* Refuses two names of one file: what is written last would be all that is left. NULL is no file. */
artel_status artel__cli_check_two(artel__invocation *call, const char *option, const char *path, const char *other,
                                  const char *other_path);
typedef struct artel__fit_files {
    const char *output, *checkpoint_dir; /* or NULL */
    int64_t keep, epochs, batch_size;
} artel__fit_files;
/* Warns where there is less room than a run will write: weights, the optimizer's slots, as many checkpoints as there
 * are at once. */
artel_status artel__cli_check_fit_room(artel__invocation *call, artel_model *model, const artel__fit_files *files);
/* Whether a file that is written line by line could be written where it lies. */
artel_status artel__cli_check_log(artel__invocation *call, const char *path);
/* Whether the text is a data specification and not a file. */
bool artel__cli_is_specification(const char *text);
/* Refuses data in place of a file, and names the nearest file when there is none of that name. */
artel_status artel__cli_check_source(artel__invocation *call, const char *path);
/* Refuses a bare file in place of a data specification, with the form that its name suggests. */
artel_status artel__cli_check_data(artel__invocation *call, const char *option, const char *text);
/* The same of a word that may be another thing: refuses it when files of data are called so; or, with `models`, models.
 */
artel_status artel__cli_check_bare_data(artel__invocation *call, const char *option, const char *path, bool models);
/* Refuses --skip-errors N where no data could leave rows out (`skips` of artel__data_open_skipping). */
artel_status artel__cli_check_skips(artel__invocation *call, const char *data, int64_t skip_errors, bool skips);
/* What comes before a model is loaded: no data specification is taken for one, --extensions are opened. */
artel_status artel__cli_expect_model(artel__invocation *call, const char *path);
/* Before data is opened. */
artel_status artel__cli_set_data_memory(artel__invocation *call, const char *text);
artel_status artel__cli_load_model(artel__invocation *call, const char *path, artel_model **out);
/* The same under the dtype policy of --dtype; NULL: the model's own. */
artel_status artel__cli_load_with_policy(artel__invocation *call, const char *path, const char *policy,
                                         artel_model **out);

/* Initialises a model that came without weights. */
artel_status artel__cli_ensure_weights(artel_model *model, uint64_t seed);

/* Weights as .npy, or several arrays as .npz; whole or not at all. */
typedef struct artel__cli_array {
    const char *name;
    artel_shape shape;
    const float *values;
    artel_dtype dtype; /* of `native`, which is written in place of `values`; NULL: there is none */
    const void *native;
} artel__cli_array;
artel_status artel__cli_write_arrays(artel_context *ctx, const char *path, const artel__cli_array *arrays, int count);

/* The names of the classes, for .csv (table_file.c): "a,b,c", or @FILE with one in each line. No names: columns are
 * numbered. */
typedef struct artel__cli_labels {
    const char **name; /* in the invocation's arena */
    int count;
    double border; /* of an output of one number: above it the second class begins */
} artel__cli_labels;
artel_status artel__cli_read_labels(artel__invocation *call, const char *text, artel__cli_labels *out);
/* Whether they name each class of an output of so many numbers; 0: it is not known yet. */
artel_status artel__cli_check_labels(artel_context *ctx, const artel__cli_labels *labels, int64_t width);
/* One array as a table, whole or not at all: with labels the class of each row, then all its numbers. */
artel_status artel__cli_write_table(artel_context *ctx, const char *path, const artel__cli_array *arrays, int count,
                                    const artel__cli_labels *labels);

#endif
