/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers of the observe tests; failures end the test through cmocka. */
#include "observe/help_observe.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"

void scratch_init(scratch *s)
{
    const char *parent = getenv("TMPDIR");
    snprintf(s->directory, sizeof s->directory, "%s/artel-observe-XXXXXX", parent ? parent : "/tmp");
    assert_non_null(mkdtemp(s->directory));
    assert_int_equal(artel_context_create(NULL, &s->ctx), ARTEL_OK);
}

void scratch_fini(scratch *s)
{
    assert_int_equal(artel__remove_tree(s->ctx, s->directory), ARTEL_OK);
    artel_context_destroy(s->ctx);
}

const char *scratch_path(scratch *s, const char *name)
{
    static char paths[4][1024];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", s->directory, name);
    return path;
}

static char *read_all(FILE *file, size_t *size)
{
    size_t capacity = 1 << 16, length = 0, n;
    char *text = malloc(capacity + 1);
    assert_non_null(text);
    while ((n = fread(text + length, 1, capacity - length, file)) > 0) {
        length += n;
        if (length == capacity) text = realloc(text, (capacity *= 2) + 1);
        assert_non_null(text);
    }
    text[length] = '\0';
    if (size) *size = length;
    return text;
}

char *slurp(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *text = read_all(file, size);
    fclose(file);
    return text;
}

char *only_file(const char *directory, const char *prefix)
{
    char *found = NULL;
    DIR *dir = opendir(directory);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0 || entry->d_name[0] == '.') continue;
        assert_null(found);
        assert_true(asprintf(&found, "%s/%s", directory, entry->d_name) > 0);
    }
    closedir(dir);
    assert_non_null(found);
    return found;
}

int capture_open(void)
{
    int fd = memfd_create("capture", 0);
    assert_true(fd >= 0);
    return fd;
}

char *capture_text(int fd)
{
    FILE *file = fdopen(dup(fd), "rb");
    assert_non_null(file);
    rewind(file);
    char *text = read_all(file, NULL);
    fclose(file);
    return text;
}
