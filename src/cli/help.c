/* SPDX-License-Identifier: Apache-2.0 */
/* Help text, made from the tables; on a terminal lines are broken between words. */
#include <ctype.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/cli.h"

static const char *value_name(const artel__option *option)
{
    switch (option->type) {
    case ARTEL__OPTION_BOOL: return "";
    case ARTEL__OPTION_INT: return " N";
    case ARTEL__OPTION_FLOAT: return " X";
    case ARTEL__OPTION_JSON: return " JSON";
    case ARTEL__OPTION_INTS: return " N,N";
    case ARTEL__OPTION_FLOATS: return " X,X";
    case ARTEL__OPTION_ENUM: return " WORD";
    default: return " TEXT";
    }
}

void artel__cli_option_left(const artel__command *command, const artel__option *option, char *left, size_t size)
{
    bool negatable = option->type == ARTEL__OPTION_BOOL && option->fallback && strcmp(option->fallback, "true") == 0;
    if (option->type == ARTEL__OPTION_STRING && option->choices)
        snprintf(left, size, "--%s[=WORD]", option->name);
    else if (command->letter && strcmp(command->letter + 2, option->name) == 0)
        snprintf(left, size, "-%c, --%s%s", command->letter[0], option->name, value_name(option));
    else
        snprintf(left, size, "--%s%s%s", negatable ? "[no-]" : "", option->name, value_name(option));
}

bool artel__cli_shows_default(const artel__option *option)
{
    return option->fallback && strcmp(option->fallback, "null") != 0 && option->type != ARTEL__OPTION_BOOL &&
           option->fallback[0];
}

enum {
    LEFT_COLUMNS = 35,   /* of what stands before the text of an option */
    SUMMARY_COLUMN = 16, /* of a subcommand */
    LEAST_COLUMNS = 60   /* in narrower ones the terminal breaks lines itself */
};

/* Columns to stay within; 0: no terminal, or one that is too narrow. */
static int columns_of(FILE *out)
{
    struct winsize size;
    bool known = isatty(fileno(out)) && ioctl(fileno(out), TIOCGWINSZ, &size) == 0;
    return known && size.ws_col >= LEAST_COLUMNS ? size.ws_col : 0;
}

/* Behind `at` columns; further lines begin below it. */
static void print_wrapped(const char *text, int at, FILE *out)
{
    int columns = columns_of(out), column = at;
    while (*text) {
        int word = (int)strcspn(text, " ");
        bool breaks = columns > 0 && column > at && column + 1 + word > columns - 1;
        if (breaks) fprintf(out, "\n%*s", at, "");
        if (!breaks && column > at) fputc(' ', out);
        column = breaks ? at + word : column + word + (column > at);
        fprintf(out, "%.*s", word, text);
        text += word + (text[word] == ' ');
    }
    fputc('\n', out);
}

/* Prose: on a terminal the lines of a paragraph are broken anew, elsewhere they are kept. */
static void print_prose(const char *text, FILE *out)
{
    char paragraph[4096];
    bool anew = columns_of(out) > 0;
    while (*text) {
        size_t length = strcspn(text, "\n");
        while (anew && text[length] && text[length + 1] && !strchr(" \n", text[length + 1]))
            length += 1 + strcspn(text + length + 1, "\n");
        snprintf(paragraph, sizeof paragraph, "%.*s", (int)length, text);
        for (char *c = paragraph; *c; c++) *c = *c == '\n' ? ' ' : *c;
        print_wrapped(paragraph, 0, out);
        text += length + (text[length] == '\n');
    }
}

static void print_option(const artel__command *command, const artel__option *option, FILE *out)
{
    char left[96], text[1024];
    artel__cli_option_left(command, option, left, sizeof left);
    fprintf(out, "  %-*s ", LEFT_COLUMNS - 3, left);
    bool shown = artel__cli_shows_default(option);
    snprintf(text, sizeof text, "%s%s%s%s", option->help, shown ? " (default " : "", shown ? option->fallback : "",
             shown ? ")" : "");
    print_wrapped(text, LEFT_COLUMNS, out);
}

const artel__option_group *artel__cli_group(const artel__command *command, const artel__option *option)
{
    for (const artel__option_group *g = command->groups; g && g->first; g++)
        if (strcmp(g->first, option->name) == 0) return g;
    return NULL;
}

static void print_options(const artel__command *command, bool all, FILE *out)
{
    bool hidden = false, any = false;
    if (!command->groups) fprintf(out, "\noptions:\n");
    for (const artel__option *o = command->options; o && o->name; o++) {
        const artel__option_group *group = artel__cli_group(command, o);
        hidden = group ? group->seldom && !all : hidden;
        any = any || hidden;
        if (group && !hidden) fprintf(out, "\n%s:\n", group->title);
        if (!hidden) print_option(command, o, out);
    }
    fprintf(out, "%s  %-*s ", command->groups ? "\n" : "", LEFT_COLUMNS - 3, "--help");
    print_wrapped(command->groups ? "this text; with --all every option" : "this text", LEFT_COLUMNS, out);
    if (!any) return;
    char more[1024];
    size_t n = (size_t)snprintf(more, sizeof more, "\nMore options, about");
    for (const artel__option_group *g = command->groups; g->first && n < sizeof more; g++)
        if (g->seldom) n += (size_t)snprintf(more + n, sizeof more - n, " %s%s", g->title, g[1].first ? "," : ": ");
    if (n < sizeof more) snprintf(more + n, sizeof more - n, "artel help %s --all\n", command->name);
    print_prose(more, out);
}

void artel__cli_help(const artel__command *command, bool all, FILE *out)
{
    char begin[1024];
    snprintf(begin, sizeof begin, "usage: artel %s %s\n\n%c%s.\n", command->name, command->usage,
             toupper((unsigned char)command->summary[0]), command->summary + 1);
    print_prose(begin, out);
    if (command->more) {
        fputc('\n', out);
        print_prose(command->more, out);
    }
    print_options(command, all, out);
    print_prose("\nAn option's default can be given as ARTEL_<OPTION> in the environment (ARTEL_BATCH_SIZE=64).\n",
                out);
    fprintf(out, "\nexamples:\n%s", command->examples);
}

void artel__cli_overview(FILE *out)
{
    print_prose("usage: artel SUBCOMMAND ...\n\n"
                "artel trains Keras models without Python; the result is the same bits on any number of replicas and "
                "threads.\n\n",
                out);
    for (const artel__command *const *command = artel__commands; *command; command++) {
        fprintf(out, "  %-13s ", (*command)->name);
        print_wrapped((*command)->summary, SUMMARY_COLUMN, out);
    }
    fprintf(out, "\nartel help SUBCOMMAND shows options and examples. Start with:\n"
                 "  artel check model.keras\n"
                 "  artel fit model.keras --data npz:data.npz --epochs 5 --output trained.keras\n");
}
