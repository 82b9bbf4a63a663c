/* SPDX-License-Identifier: Apache-2.0 */
/* What the library calls a field, a user of the program calls an option.
 *
 * Messages of the library name what has to change as a C program writes it: ".batch_size", a field of the options that
 * it was given (base/argument.h). The program says "--batch-size" instead, in every error, note and event that it
 * shows. tests/house/test_fields.sh looks for fields without a row here, and for options that the library names.
 *
 * A hidden file may be named like a field (".keep", ".data"). A word that stands in the command line, or that is a file
 * here, is left as it is; so is what messages quote.
 */
#include "cli/fields.h"

#include <ctype.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"

typedef struct field_option {
    const char *field, *option;
} field_option;

/* In the order of names. */
static const field_option fields[] = {
    {"allow_mixed_arithmetic", "allow-mixed-arithmetic"},
    {"arithmetic", "arithmetic"},
    {"audit_data", "audit-data"},
    {"auto_shard", "auto-shard"},
    {"batch_norm_groups", "batch-norm"},
    {"batch_size", "batch-size"},
    {"bind", "bind"},
    {"callbacks", "callbacks"},
    {"cert_dir", "cert-dir"},
    {"check_data", "check-data"},
    {"checkpoint_dir", "checkpoint-dir"},
    {"class_weight", "class-weight"},
    {"collective_timeout", "collective-timeout"},
    {"consistency", "consistency"},
    {"data", "data"},
    {"days", "days"},
    {"device", "device"},
    {"device_kernels", "device-kernels"},
    {"device_memory", "device-memory"},
    {"device_precision", "device-precision"},
    {"device_reduce", "device-reduce"},
    {"embedding_updates", "embedding-updates"},
    {"epochs", "epochs"},
    {"file", "cluster-file"},
    {"fresh", "fresh"},
    {"hosts", "hosts"},
    {"initial_epoch", "initial-epoch"},
    {"insecure_network", "insecure-network"},
    {"keep", "keep"},
    {"learning_rate", "learning-rate"},
    {"min_workers", "min-workers"},
    {"name", "name"},
    {"port", "port"},
    {"ps_copies", "ps-copies"},
    {"ps_loss", "ps-loss"},
    {"ps_partitioner", "partitioner"},
    {"ps_placement", "ps-placement"},
    {"recompute", "recompute"},
    {"rendezvous", "rendezvous"},
    {"replicas", "replicas"},
    {"resolver", "resolver"},
    {"resume", "resume"},
    {"save_every", "save-every"},
    {"shards", "shards"},
    {"shell", "shell"},
    {"standard_step", "standard-step"},
    {"steps", "steps"},
    {"steps_per_epoch", "steps-per-epoch"},
    {"stop_on_nan", "stop-on-nan"},
    {"strategy", "strategy"},
    {"suspect_after", "suspect-after"},
    {"task", "task"},
    {"threads", "threads"},
    {"validation_batch_size", "validation-batch-size"},
    {"validation_data", "validation"},
    {"validation_epochs", "validation-freq"},
    {"validation_frequency", "validation-freq"},
    {"validation_split", "validation-split"},
    {"validation_steps", "validation-steps"},
    {"wait_for_cluster", "wait-for-cluster"},
    {"workers", "workers"},
};

static int word_count;
static char *const *word;

void artel__cli_keep_words(int count, char *const *words)
{
    word_count = count;
    word = words;
}

/* Whether a word of the command line holds the name as a whole, between marks of data specifications or alone. */
static bool was_given(const char *name, size_t length)
{
    for (int i = 0; i < word_count; i++) {
        for (const char *at = strstr(word[i], name); at; at = strstr(at + 1, name)) {
            if ((at == word[i] || strchr(":,+=", at[-1])) && (!at[length] || strchr(":,+#", at[length]))) return true;
        }
    }
    return false;
}

static bool names_file(const char *at, size_t length)
{
    char name[64];
    struct stat info;
    if (length >= sizeof name) return false;
    memcpy(name, at, length);
    name[length] = '\0';
    return was_given(name, length) || lstat(name, &info) == 0;
}

/* The option of the field whose name begins here; *length: of that name. Files end in such words ("a.data"), so a dot
 * counts only at the beginning of a word. */
static const char *find_option(const char *begin, const char *at, size_t *length)
{
    if (*at != '.' || (at > begin && !strchr(" (", at[-1]))) return NULL;
    *length = 1 + strspn(at + 1, "abcdefghijklmnopqrstuvwxyz_");
    if (isalnum((unsigned char)at[*length]) || at[*length] == '/') return NULL;
    for (size_t i = 0; i < ARTEL__COUNT(fields); i++) {
        if (strlen(fields[i].field) == *length - 1 && memcmp(fields[i].field, at + 1, *length - 1) == 0)
            return names_file(at, *length) ? NULL : fields[i].option;
    }
    return NULL;
}

const char *artel__cli_name_options(const char *text, char *out, size_t size)
{
    if (!text) return NULL;
    size_t made = 0;
    for (const char *at = text; *at && made + 1 < size;) {
        size_t length = 1;
        const char *option = find_option(text, at, &length);
        if (option) {
            int wrote = snprintf(out + made, size - made, "--%s", option);
            made = (size_t)wrote < size - made ? made + (size_t)wrote : size - 1;
            at += length;
        } else
            out[made++] = *at++;
    }
    out[made] = '\0';
    return out;
}
