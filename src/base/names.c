/* SPDX-License-Identifier: Apache-2.0 */
/* An open table that is doubled when it is half full; names go by a hash of their bytes, then to the next free place.
 */
#include "base/names.h"

#include <string.h>

#include "base/hash.h"

static struct artel__names_entry *place_of(const artel__names *names, const char *name)
{
    uint32_t mask = (uint32_t)names->capacity - 1, at = (uint32_t)artel__hash64(name, strlen(name)) & mask;
    while (names->entry[at].name && strcmp(names->entry[at].name, name) != 0) at = (at + 1) & mask;
    return &names->entry[at];
}

int *artel__names_find(const artel__names *names, const char *name)
{
    if (!names->count) return NULL;
    struct artel__names_entry *entry = place_of(names, name);
    return entry->name ? &entry->number : NULL;
}

static artel_status grow(artel__names *names)
{
    artel__names wider = {
        .arena = names->arena, .count = names->count, .capacity = names->capacity ? 2 * names->capacity : 64};
    wider.entry = artel__arena_alloc(names->arena, (size_t)wider.capacity, sizeof *wider.entry);
    if (!wider.entry) return ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < names->capacity; i++) {
        if (names->entry[i].name) *place_of(&wider, names->entry[i].name) = names->entry[i];
    }
    *names = wider;
    return ARTEL_OK;
}

artel_status artel__names_set(artel__names *names, const char *name, int number)
{
    if (2 * (names->count + 1) > names->capacity) ARTEL_TRY(grow(names));
    struct artel__names_entry *entry = place_of(names, name);
    names->count += entry->name == NULL;
    *entry = (struct artel__names_entry){name, number};
    return ARTEL_OK;
}
