/* SPDX-License-Identifier: Apache-2.0 */
/* For test_partition.py: reads lines "RULE ELEMENT_BYTES DIMENSION...", prints for each the rows of the pieces and
 * where the next pieces in turn lie on `servers` servers: prog_partition SERVERS. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ps/part.h"

int main(int argc, char **argv)
{
    char line[400];
    artel_context *ctx;
    int servers = argc > 1 ? atoi(argv[1]) : 1;
    int64_t made = 0;
    if (artel_context_create(NULL, &ctx) < 0) return 2;
    while (fgets(line, sizeof line, stdin)) {
        artel__partition_rule rule;
        artel__text name;
        int64_t shape[8], number[9];
        int rank = -1;
        char *word = strtok(line, " \n");
        if (!word || artel__partition_read(ctx, word, servers, &rule) < 0) {
            printf("refused\n");
            continue;
        }
        for (char *w; rank < 8 && (w = strtok(NULL, " \n"));) number[++rank] = strtoll(w, NULL, 10);
        for (int i = 0; i < rank; i++) shape[i] = number[1 + i];
        int64_t pieces = artel__partition_count(&rule, shape, rank, number[0]);
        artel__text_init(&name, ctx);
        for (int64_t i = 0; i < pieces; i++) {
            int place;
            int64_t rows =
                rank ? artel__partition_offset(shape[0], pieces, i + 1) - artel__partition_offset(shape[0], pieces, i)
                     : 1;
            artel__place_in_turn(made++, 1, servers, &place);
            artel__text_clear(&name);
            artel__place_name(place, true, &name);
            printf("%lld@%s ", (long long)rows, name.data);
        }
        printf("\n");
        artel__text_fini(&name);
    }
    artel_context_destroy(ctx);
    return 0;
}
