/* SPDX-License-Identifier: Apache-2.0 */
/* artel completion: what a shell needs to complete subcommands and options, made from the tables.
 *
 * bash and fish look a subcommand's options up by its name, zsh's _arguments takes a specification each; file names are
 * offered where a word is no option.
 */
#include <string.h>

#include "cli/cli.h"

static bool negatable(const artel__option *option)
{
    return option->type == ARTEL__OPTION_BOOL && option->fallback && strcmp(option->fallback, "true") == 0;
}

static bool takes_value(const artel__option *option)
{
    return option->type != ARTEL__OPTION_BOOL && !(option->type == ARTEL__OPTION_STRING && option->choices);
}

/* Inside single quotes; `specials` get a backslash. */
static void print_quoted(const char *text, const char *specials)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", stdout);
        else
            printf("%s%c", strchr(specials, *text) ? "\\" : "", *text);
    }
}

static void print_names(void)
{
    for (const artel__command *const *command = artel__commands; *command; command++) printf("%s ", (*command)->name);
    printf("help");
}

/* -- bash -- */

static void bash_command(const artel__command *command)
{
    printf("    %s) words=\"", command->name);
    for (const artel__option *o = command->options; o && o->name; o++)
        printf("--%s %s%s%s", o->name, negatable(o) ? "--no-" : "", negatable(o) ? o->name : "",
               negatable(o) ? " " : "");
    printf("--help\" ;;\n");
}

static void write_bash(void)
{
    printf("# bash completion for artel: source it, or put it into bash-completion's folder as \"artel\".\n"
           "_artel() {\n"
           "    local current=${COMP_WORDS[COMP_CWORD]} words=\n"
           "    case ${COMP_WORDS[1]} in\n");
    for (const artel__command *const *command = artel__commands; *command; command++) bash_command(*command);
    printf("    help) words=\"");
    print_names();
    printf("\" ;;\n"
           "    esac\n"
           "    [ \"$COMP_CWORD\" -gt 1 ] || words=\"");
    print_names();
    printf("\"\n"
           "    if [ \"$COMP_CWORD\" -le 1 ] || [ \"${COMP_WORDS[1]}\" = help ] || [ \"${current#-}\" != \"$current\" "
           "]; then\n"
           "        COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
           "    else\n"
           "        COMPREPLY=($(compgen -f -- \"$current\"))\n"
           "    fi\n"
           "}\n"
           "complete -o filenames -o bashdefault -F _artel artel\n");
}

/* -- zsh -- */

static void zsh_option(const artel__option *option)
{
    printf(" \\\n            '--%s%s[", option->name, takes_value(option) ? "=" : "");
    print_quoted(option->help, "[]:\\");
    printf("]%s'", takes_value(option) ? ":value:_files" : "");
    if (!negatable(option)) return;
    printf(" \\\n            '--no-%s[not: ", option->name);
    print_quoted(option->help, "[]:\\");
    printf("]'");
}

static void write_zsh(void)
{
    printf("#compdef artel\n"
           "# zsh completion for artel: put it into a folder of $fpath as \"_artel\".\n"
           "_artel() {\n"
           "    local -a commands\n"
           "    commands=(");
    for (const artel__command *const *command = artel__commands; *command; command++) {
        printf("\n        '%s:", (*command)->name);
        print_quoted((*command)->summary, ":\\");
        printf("'");
    }
    printf("\n        'help:options and examples of a subcommand'\n    )\n"
           "    if (( CURRENT == 2 )) || [[ $words[2] == help ]]; then\n"
           "        _describe subcommand commands\n"
           "        return\n"
           "    fi\n"
           "    shift words\n"
           "    (( CURRENT-- ))\n"
           "    case $words[1] in\n");
    for (const artel__command *const *command = artel__commands; *command; command++) {
        printf("    %s)\n        _arguments -S", (*command)->name);
        for (const artel__option *o = (*command)->options; o && o->name; o++) zsh_option(o);
        printf(" \\\n            '--help[this command]' '*:file:_files' ;;\n");
    }
    printf("    esac\n"
           "}\n"
           "_artel \"$@\"\n");
}

/* -- fish -- */

static void fish_option(const artel__command *command, const artel__option *option, const char *prefix)
{
    printf("complete -c artel -n '__fish_seen_subcommand_from %s' -l %s%s%s -d '", command->name, prefix, option->name,
           takes_value(option) ? " -r" : "");
    print_quoted(option->help, "");
    printf("'\n");
}

static void write_fish(void)
{
    printf("# fish completion for artel: put it into a folder of $fish_complete_path as \"artel.fish\".\n");
    for (const artel__command *const *command = artel__commands; *command; command++) {
        printf("complete -c artel -n __fish_use_subcommand -f -a %s -d '", (*command)->name);
        print_quoted((*command)->summary, "");
        printf("'\n");
        for (const artel__option *o = (*command)->options; o && o->name; o++) {
            fish_option(*command, o, "");
            if (negatable(o)) fish_option(*command, o, "no-");
        }
    }
    printf("complete -c artel -n __fish_use_subcommand -f -a help -d 'options and examples of a subcommand'\n");
}

static artel_status run_completion(artel__invocation *call)
{
    static const struct {
        const char *shell;
        void (*write)(void);
    } shells[] = {{"bash", write_bash}, {"zsh", write_zsh}, {"fish", write_fish}};
    for (size_t i = 0; i < ARTEL__COUNT(shells); i++) {
        if (strcmp(call->argument[0], shells[i].shell) != 0) continue;
        shells[i].write();
        return ARTEL_OK;
    }
    return artel__cli_usage(call, call->argument[0], "there is no completion for this shell; give bash, zsh or fish");
}

const artel__command artel__command_completion = {
    .name = "completion",
    .summary = "what bash, zsh or fish need to complete subcommands and options",
    .usage = "bash|zsh|fish",
    .examples = "  source <(artel completion bash)\n"
                "  artel completion fish >~/.config/fish/completions/artel.fish\n",
    .min_arguments = 1,
    .max_arguments = 1,
    .run = run_completion,
};
