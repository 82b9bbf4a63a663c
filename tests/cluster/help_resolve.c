/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/help_resolve.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

int resolve_set_up(void **state)
{
    return artel_context_create(NULL, (artel_context **)state);
}

int resolve_tear_down(void **state)
{
    artel_context_destroy(*state);
    return 0;
}

const char *resolve_look(void *user, const char *name)
{
    static char buffer[65536];
    const char *const *variable = user;
    size_t length = strlen(name);
    memset(buffer, '!', 64);
    for (; *variable; variable++) {
        if (strncmp(*variable, name, length) != 0 || (*variable)[length] != '=') continue;
        const char *value = *variable + length + 1;
        if (strlen(value) >= sizeof buffer) return value;
        return strcpy(buffer, value);
    }
    return NULL;
}

void resolve_answer(artel_context *ctx, const resolve_case *c, char *out, size_t size)
{
    artel__cluster cluster;
    artel__operation_begin(ctx);
    artel_status status = artel__cluster_resolve(ctx, resolve_look, (void *)c->variable, &c->options, &cluster);
    if (status < 0) {
        const artel_error *error = artel_context_error(ctx);
        snprintf(out, size, "! %s: %s", error->where, error->what);
        assert_true(error->advice[0] || status == ARTEL_ERROR_CORRUPT);
        return;
    }
    snprintf(out, size, "%s %d/%d %s%s%s", cluster.resolver, cluster.rank, cluster.trainers,
             cluster.self.address ? cluster.self.address : "-", cluster.rendezvous ? " " : "",
             cluster.rendezvous ? cluster.rendezvous : "");
    artel__cluster_fini(&cluster);
}

bool resolve_fits(const char *expected, const char *found)
{
    char where[128];
    if (expected[0] != '!') return strcmp(expected, found) == 0;
    const char *colon = strchr(expected, ':');
    snprintf(where, sizeof where, "%.*s", (int)(colon - expected), expected);
    return strncmp(found, where, strlen(where)) == 0 && strstr(found, colon + 2);
}

void resolve_run(artel_context *ctx, const resolve_case *cases, size_t count)
{
    char found[2048];
    for (size_t i = 0; i < count; i++) {
        resolve_answer(ctx, &cases[i], found, sizeof found);
        if (!resolve_fits(cases[i].expected, found))
            fail_msg("case %zu (%.200s): expected %s, found %s", i, cases[i].variable[0] ? cases[i].variable[0] : "",
                     cases[i].expected, found);
    }
}
