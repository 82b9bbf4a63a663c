/* SPDX-License-Identifier: Apache-2.0 */
/* Manual pages, made from the tables that --help is made of: `artel help --man [SUBCOMMAND]` writes one for man(1). */
#include <ctype.h>
#include <string.h>

#include "cli/cli.h"

/* A line's first dot or quote would be a request of roff, a minus a hyphen. */
static void print_text(const char *text, FILE *out)
{
    bool first = true;
    for (; *text; text++) {
        if (first && (*text == '.' || *text == '\'')) fputs("\\&", out);
        if (*text == '\\')
            fputs("\\e", out);
        else if (*text == '-')
            fputs("\\-", out);
        else
            fputc(*text, out);
        first = *text == '\n';
    }
}

static void begin_page(const char *command, const char *summary, FILE *out)
{
    fprintf(out, ".TH ARTEL%s", command ? "\\-" : "");
    for (const char *c = command ? command : ""; *c; c++) fputc(toupper((unsigned char)*c), out);
    fprintf(out, " 1 \"\" \"artel %s\" \"artel\"\n.SH NAME\nartel%s%s \\- ", ARTEL_VERSION, command ? "\\-" : "",
            command ? command : "");
    print_text(summary, out);
    fputc('\n', out);
}

static void print_literal(const char *text, FILE *out)
{
    fputs(".nf\n", out);
    print_text(text, out);
    fputs(".fi\n", out);
}

static void print_option(const artel__command *command, const artel__option *option, FILE *out)
{
    char left[96];
    artel__cli_option_left(command, option, left, sizeof left);
    fputs(".TP\n.B ", out);
    print_text(left, out);
    fputc('\n', out);
    print_text(option->help, out);
    if (artel__cli_shows_default(option)) {
        fputs(" (default ", out);
        print_text(option->fallback, out);
        fputc(')', out);
    }
    fputc('\n', out);
}

static void end_page(FILE *out)
{
    fputs(".SH EXIT STATUS\n0: done. 1: usage, unreadable or invalid model, data or configuration. 2: the run itself "
          "failed. 143: stopped by "
          "SIGTERM or a\npreemption notice after saving: start it again. 129: after SIGHUP. 130: after Ctrl\\-C.\n"
          ".SH SEE ALSO\n.BR artel (1),\nthe pages in /usr/share/doc/artel, or doc/artel of the prefix.\n",
          out);
}

void artel__cli_manual(const artel__command *command, FILE *out)
{
    begin_page(command->name, command->summary, out);
    fprintf(out, ".SH SYNOPSIS\n.B artel %s\n", command->name);
    print_text(command->usage, out);
    fputs("\n.SH DESCRIPTION\n", out);
    print_text(command->more ? command->more : command->summary, out);
    fputs("\n.SH OPTIONS\n", out);
    for (const artel__option *o = command->options; o && o->name; o++) {
        const artel__option_group *group = artel__cli_group(command, o);
        if (group) fprintf(out, ".SS %s\n", group->title);
        print_option(command, o, out);
    }
    fputs(".TP\n.B \\-\\-help\nthis text\n.SH ENVIRONMENT\nAn option's default can be given as ARTEL_<OPTION> "
          "(ARTEL_BATCH_SIZE=64).\n"
          ".SH EXAMPLES\n",
          out);
    print_literal(command->examples, out);
    end_page(out);
}

void artel__cli_manual_overview(FILE *out)
{
    begin_page(NULL, "trains Keras models without Python, the same bits on any number of replicas and threads", out);
    fputs(".SH SYNOPSIS\n.B artel\nSUBCOMMAND ...\n.SH SUBCOMMANDS\n", out);
    for (const artel__command *const *command = artel__commands; *command; command++) {
        fprintf(out, ".TP\n.BR artel\\-%s (1)\n", (*command)->name);
        print_text((*command)->summary, out);
        fputc('\n', out);
    }
    end_page(out);
}
