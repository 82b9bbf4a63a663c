/* SPDX-License-Identifier: Apache-2.0 */
/* Words of the command line into options and arguments.
 *
 * Options may stand anywhere (before the first argument where a command passes the rest on): --name value,
 * --name=value,
 * --flag, --no-flag; `--` ends them. ARTEL_<NAME> in the environment gives a default. Of an option given twice the last
 * counts, unless it is the one that the command lets repeat. Unknown ones are errors with the nearest name.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"

const char *const artel__cli_arithmetics[] = {"auto", "chain", "tiles", NULL};

artel_status artel__cli_usage(artel__invocation *call, const char *where, const char *format, ...)
{
    char what[512], advice[128];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    snprintf(advice, sizeof advice, "see artel %s --help", call->command->name);
    return artel__fail(call->ctx, ARTEL_ERROR_INVALID, where, advice, "%s", what);
}

static int option_index(const artel__command *command, const char *name)
{
    if (strcmp(name, "ps-partitioner") == 0) name = "partitioner"; /* as its neighbours are called, and its field */
    for (int i = 0; command->options && command->options[i].name; i++) {
        if (strcmp(command->options[i].name, name) == 0) return i;
    }
    return -1;
}

bool artel__cli_given(const artel__invocation *call, const char *name)
{
    int i = option_index(call->command, name);
    return i >= 0 && call->given[i];
}

/* Given by a word, not by the environment, which is set for many runs of different kinds. */
static bool typed(const artel__invocation *call, const char *name)
{
    int i = option_index(call->command, name);
    return i >= 0 && call->typed[i];
}

void artel__cli_note_idle(artel__invocation *call, const char *const *names, size_t count, const char *what)
{
    for (size_t i = 0; i < count; i++) {
        if (typed(call, names[i]))
            artel__log(call->ctx, ARTEL_LOG_NOTE, "--%s does nothing without %s", names[i], what);
    }
}

void artel__cli_note_idle_device(artel__invocation *call, const char *device)
{
    static const char *const names[] = {"plugin",          "device-precision", "device-kernels",
                                        "device-launches", "device-reduce",    "device-memory"};
    if (strcmp(device, "cpu") == 0) artel__cli_note_idle(call, names, ARTEL__COUNT(names), "--device");
}

static artel_status set(artel__invocation *call, int i, const char *where, const char *value)
{
    if (call->command->options[i].type == ARTEL__OPTION_STRING &&
        !value[0]) /* a variable of a script that was never set */
        return artel__cli_usage(call, where, "the value is empty; leave the option out, or give a value");
    ARTEL_TRY(artel__options_set(&call->arena, call->command->options, call->options, where,
                                 call->command->options[i].name, value));
    call->given[i] = true;
    call->typed[i] = call->reading_words;
    return ARTEL_OK;
}

static artel_status read_environment(artel__invocation *call)
{
    for (int i = 0; call->command->options && call->command->options[i].name; i++) {
        char name[128] = "ARTEL_";
        size_t n = strlen(name);
        for (const char *c = call->command->options[i].name; *c && n + 1 < sizeof name; c++)
            name[n++] = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
        name[n] = 0;
        const char *value = getenv(name);
        if (!value || !value[0]) continue;                 /* empty counts as unset */
        if (artel__starts_with(value, "tcp://")) continue; /* Kubernetes' ARTEL_PORT of a service "artel" */
        ARTEL_TRY(set(call, i, name, value));
    }
    return ARTEL_OK;
}

/* What other programs call an option that this command may have, in the order in which they are looked for. */
static const struct {
    const char *word, *option;
} synonyms[] = {{"lr", "learning-rate"},
                {"opt", "optimizer"},
                {"batch", "batch-size"},
                {"bs", "batch-size"},
                {"num-epochs", "epochs"},
                {"n-epochs", "epochs"},
                {"max-steps", "steps-per-epoch"},
                {"gpu", "device"},
                {"gpus", "device"},
                {"num-gpus", "device"},
                {"devices", "device"},
                {"accelerator", "device"},
                {"cuda", "device"},
                {"tpu", "device"},
                {"distributed", "strategy"},
                {"mixed-precision", "dtype"},
                {"precision", "dtype"},
                {"policy", "dtype"},
                {"fp16", "dtype"},
                {"bf16", "dtype"},
                {"out", "output"},
                {"o", "output"},
                {"save", "output"},
                {"output", "json"},
                {"checkpoint", "checkpoint-dir"},
                {"ckpt", "checkpoint-dir"},
                {"output-dir", "checkpoint-dir"},
                {"save-dir", "checkpoint-dir"},
                {"model-dir", "checkpoint-dir"},
                {"save-freq", "save-every"},
                {"save-interval", "save-every"},
                {"max-to-keep", "keep"},
                {"continue", "resume"},
                {"restore", "resume"},
                {"load-weights", "weights"},
                {"pretrained", "weights"},
                {"logdir", "log-dir"},
                {"tensorboard", "log-dir"},
                {"workers", "replicas"},
                {"num-workers", "replicas"},
                {"nproc-per-node", "workers"},
                {"np", "workers"},
                {"jobs", "threads"},
                {"num-threads", "threads"},
                {"val", "validation"},
                {"validation-data", "validation"},
                {"val-data", "validation"},
                {"val-split", "validation-split"},
                {"split", "validation-split"},
                {"early-stopping", "callbacks"},
                {"patience", "callbacks"},
                {"train-data", "data"},
                {"test-data", "data"},
                {"dataset", "data"},
                {"random-seed", "seed"},
                {"quiet", "verbose"},
                {"silent", "verbose"},
                {"layers", "depth"},
                {"units", "width"},
                {"num-classes", "classes"},
                {"input-shape", "input"},
                {"rows", "head"},
                {"amp", "dtype"}};

/* The nearest name among the options; `switches`: among those that can be turned off alone. */
static const char *nearest_option(const artel__command *command, const char *name, bool switches)
{
    const char *names[128];
    int count = 0;
    for (int i = 0; command->options && command->options[i].name && count < 126; i++) {
        if (!switches || command->options[i].type == ARTEL__OPTION_BOOL) names[count++] = command->options[i].name;
    }
    if (!switches) names[count++] = "help";
    names[count] = NULL;
    return artel__nearest_name(name, names);
}

static artel_status unknown_option(artel__invocation *call, const char *name)
{
    char where[300], plain[256];
    snprintf(where, sizeof where, "--%s", name);
    snprintf(plain, sizeof plain, "%s", name);
    for (char *c = plain; *c; c++) *c = *c == '_' ? '-' : *c; /* as Python writes it */
    for (size_t i = 0; i < ARTEL__COUNT(synonyms); i++) {
        if (strcmp(synonyms[i].word, plain) != 0 || option_index(call->command, synonyms[i].option) < 0) continue;
        return artel__cli_usage(call, where, "unknown option; the word for it is --%s", synonyms[i].option);
    }
    if (strcmp(name, "gpu") == 0 || strcmp(name, "gpus") == 0 || strcmp(name, "cuda") == 0 || strcmp(name, "tpu") == 0)
        return artel__fail(call->ctx, ARTEL_ERROR_UNSUPPORTED, name, "leave it out", "artel %s computes on processors",
                           call->command->name);
    if (strcmp(name, "dtype") == 0)
        return artel__fail(call->ctx, ARTEL_ERROR_UNSUPPORTED, "--dtype",
                           "set it where the model is made, or train with fit --dtype; docs/precision.md has the "
                           "policies",
                           "the dtype policy stands in the file of the model");
    if (strcmp(plain, "output") == 0 && strstr(call->command->usage, " OUT"))
        return artel__cli_usage(call, where, "unknown option; the file to write is the second word: artel %s %s",
                                call->command->name, call->command->usage);
    bool negated = strncmp(plain, "no-", 3) == 0;
    const char *near = nearest_option(call->command, negated ? plain + 3 : plain, negated);
    if (near) return artel__cli_usage(call, where, "unknown option; the nearest is --%s%s", negated ? "no-" : "", near);
    return artel__cli_usage(call, where, "unknown option");
}

/* The option that a word of the command line names. */
typedef struct named_option {
    int index;      /* of the table, or -1 */
    bool negated;   /* --no-NAME */
    int length;     /* of the word without its value */
    const char *as; /* the word */
} named_option;

/* A word behind a switch that takes none. */
static artel_status superfluous_value(artel__invocation *call, const char *word, named_option option)
{
    const char *name = call->command->options[option.index].name;
    static const char *const off[] = {"false", "False", "no", "off", "0", NULL};
    char advice[512];
    bool opposite = false;
    for (int i = 0; off[i]; i++) opposite = opposite || strcmp(word, off[i]) == 0;
    if (opposite)
        snprintf(advice, sizeof advice, "write --%s%s", option.negated ? "" : "no-", name);
    else
        snprintf(advice, sizeof advice, "leave the word out, %.*s alone says it", option.length, option.as);
    return artel__fail(call->ctx, ARTEL_ERROR_INVALID, word, advice, "one argument too many (%.*s takes no value)",
                       option.length, option.as);
}

/* A word for which the command has no place; `option`: the one that the word before belongs to. */
static artel_status superfluous(artel__invocation *call, const char *word, named_option option)
{
    const artel__command *command = call->command;
    const artel__option *before = option.index >= 0 ? &command->options[option.index] : NULL;
    char advice[512];
    if (before && before->type == ARTEL__OPTION_BOOL) return superfluous_value(call, word, option);
    if (before && before->type == ARTEL__OPTION_STRING && before->choices) {
        snprintf(advice, sizeof advice, "write --%s=%.200s; see artel %s --help", before->name, word, command->name);
        return artel__fail(call->ctx, ARTEL_ERROR_INVALID, word, advice,
                           "one argument too many (a value of %.*s stands behind =)", option.length, option.as);
    }
    if (before) {
        snprintf(advice, sizeof advice, "write it as one word, with commas or in quotes; usage: artel %s %s",
                 command->name, command->usage);
        return artel__fail(call->ctx, ARTEL_ERROR_INVALID, word, advice,
                           "one argument too many (the value of %.*s is one word)", option.length, option.as);
    }
    if (option_index(command, "data") >= 0 && artel__cli_is_specification(word)) {
        snprintf(advice, sizeof advice, "write --data '%.300s'", word);
        return artel__fail(call->ctx, ARTEL_ERROR_INVALID, word, advice,
                           "one argument too many (data is named by an option)");
    }
    for (int i = 0; i < call->arguments && option_index(command, "data") >= 0; i++)
        ARTEL_TRY(artel__cli_check_bare_data(call, "--data", call->argument[i], false));
    return artel__cli_usage(call, word, "one argument too many; usage: artel %s %s", command->name, command->usage);
}

/* Of the option that repeats, behind what other words have given. */
static artel_status set_word(artel__invocation *call, int i, const char *where, const char *value)
{
    const artel__option *option = &call->command->options[i];
    bool repeats = call->command->repeats && strcmp(option->name, call->command->repeats) == 0;
    if (!repeats || !value[0]) return set(call, i, where, value);
    const char *before = call->repeated ? call->repeated : "";
    size_t room = strlen(before) + strlen(value) + 2;
    char *text = artel__arena_alloc(&call->arena, room, 1);
    if (!text) return artel__arena_status(&call->arena);
    snprintf(text, room, "%s%s%s", before, *before ? "\n" : "", value);
    call->repeated = text;
    return set(call, i, where, text);
}

/* One option word, with its value in the same word or in the next one. */
static artel_status take_option(artel__invocation *call, char **words, int count, int *at)
{
    char name[256];
    const char *word = words[*at] + 2, *equals = strchr(word, '=');
    snprintf(name, sizeof name, "%.*s", equals ? (int)(equals - word) : (int)strlen(word), word);
    char where[300];
    snprintf(where, sizeof where, "--%s", name);
    int i = option_index(call->command, name);
    bool negated = i < 0 && strncmp(name, "no-", 3) == 0;
    if (negated) i = option_index(call->command, name + 3);
    if (i < 0 || (negated && call->command->options[i].type != ARTEL__OPTION_BOOL)) return unknown_option(call, name);
    const artel__option *option = &call->command->options[i];
    if (negated) return equals ? artel__cli_usage(call, where, "takes no value") : set(call, i, where, "false");
    if (equals) return set_word(call, i, where, equals + 1);
    if (option->type == ARTEL__OPTION_BOOL) return set(call, i, where, "true");
    bool optional = option->type == ARTEL__OPTION_STRING && option->choices; /* a default for the bare option */
    if (optional) return set(call, i, where, option->choices[0]);
    if (*at + 1 >= count) return artel__cli_usage(call, where, "the value is missing");
    return set_word(call, i, where, words[++*at]);
}

/* -n 3 or -n3. */
static artel_status take_letter(artel__invocation *call, char **words, int count, int *at)
{
    const char *letter = call->command->letter, *word = words[*at];
    if (!letter || word[1] != letter[0])
        return artel__cli_usage(call, word, "unknown option; options begin with two dashes");
    int i = option_index(call->command, letter + 2);
    if (word[2]) return set(call, i, word, word + 2);
    if (*at + 1 >= count) return artel__cli_usage(call, word, "the value is missing");
    return set(call, i, word, words[++*at]);
}

/* `word` begins with two dashes, or is a letter that the command takes. */
static named_option option_of(const artel__command *command, const char *word)
{
    char name[256];
    named_option named = {.index = -1, .length = (int)strcspn(word, "="), .as = word};
    if (word[1] != '-') {
        named.length = 2;
        named.index = option_index(command, command->letter + 2);
        return named;
    }
    if (snprintf(name, sizeof name, "%.*s", named.length - 2, word + 2) >= (int)sizeof name) return named;
    named.index = option_index(command, name);
    named.negated = named.index < 0 && strncmp(name, "no-", 3) == 0;
    if (named.negated) named.index = option_index(command, name + 3);
    return named;
}

/* Whether the option's value is the next word. */
static bool takes_next(const artel__command *command, const char *word)
{
    if (command->letter && word[0] == '-' && word[1] == command->letter[0] && !word[2]) return true;
    if (strncmp(word, "--", 2) != 0 || strchr(word, '=')) return false;
    int i = option_index(command, word + 2);
    return i >= 0 && command->options[i].type != ARTEL__OPTION_BOOL &&
           !(command->options[i].type == ARTEL__OPTION_STRING && command->options[i].choices);
}

bool artel__cli_wants_help(const artel__command *command, int count, char **words, bool *all)
{
    bool help = false;
    for (int i = 0; i < count && strcmp(words[i], "--") != 0; i++) {
        help = help || strcmp(words[i], "--help") == 0 || strcmp(words[i], "-h") == 0;
        *all = *all || strcmp(words[i], "--all") == 0;
        if (!command->passes_on) continue;
        if (takes_next(command, words[i]))
            i++;
        else if (words[i][0] != '-')
            return help;
    }
    return help;
}

artel_status artel__cli_parse(artel__invocation *call, int count, char **words)
{
    const artel__command *command = call->command;
    int options = 0;
    while (command->options && command->options[options].name) options++;
    call->options = artel__arena_alloc(&call->arena, 1, command->options_size + 1);
    call->given = artel__arena_alloc(&call->arena, (size_t)options + 1, sizeof *call->given);
    call->typed = artel__arena_alloc(&call->arena, (size_t)options + 1, sizeof *call->typed);
    call->argument = artel__arena_alloc(&call->arena, (size_t)count + 1, sizeof *call->argument);
    ARTEL_TRY(artel__arena_status(&call->arena));
    if (command->options) ARTEL_TRY(artel__options_default(&call->arena, command->options, call->options));
    ARTEL_TRY(read_environment(call));
    call->reading_words = true;
    bool ended = false;
    const named_option none = {.index = -1};
    named_option before = none, behind = none; /* of the word before, and of that before the first superfluous one */
    for (int i = 0; i < count; i++) {
        if (!ended && strcmp(words[i], "--") == 0)
            ended = true;
        else if (!ended && strncmp(words[i], "--", 2) == 0) {
            before = option_of(command, words[i]);
            ARTEL_TRY(take_option(call, words, count, &i));
        } else if (!ended && words[i][0] == '-' && words[i][1]) {
            const char *word = words[i];
            ARTEL_TRY(take_letter(call, words, count, &i));
            before = option_of(command, word);
        } else {
            if (!words[i][0] && !command->passes_on)
                return artel__cli_usage(call, command->name, "argument %d is empty; usage: artel %s %s",
                                        call->arguments + 1, command->name, command->usage);
            if (call->arguments == command->max_arguments) behind = before;
            before = none;
            call->argument[call->arguments++] = words[i];
            ended = ended || command->passes_on;
        }
    }
    if (call->arguments < command->min_arguments)
        return artel__cli_usage(call, command->name, "an argument is missing; usage: artel %s %s", command->name,
                                command->usage);
    if (call->arguments > command->max_arguments)
        return superfluous(call, call->argument[command->max_arguments], behind);
    return ARTEL_OK;
}
