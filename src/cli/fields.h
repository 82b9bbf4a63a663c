/* SPDX-License-Identifier: Apache-2.0 */
/* What artel__cli_name_options (cli.h) has to be told once: the words of the command line, which may name files as the
 * library names fields. Kept, not copied. */
#ifndef ARTEL_CLI_FIELDS_H
#define ARTEL_CLI_FIELDS_H

void artel__cli_keep_words(int count, char *const *words);

#endif
