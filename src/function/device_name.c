/* SPDX-License-Identifier: Apache-2.0 */
/* Reading, merging and writing names of places: after tensorflow/python/framework/device_spec.py, of which
 * tests/api/test_session.py asks every case. */
#include "function/device_name.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

static const char *const types[] = {"CPU", "GPU", "TPU"};

static artel_status refuse(artel_context *ctx, const char *text, const char *why)
{
    return artel__fail(ctx, ARTEL_ERROR_INVALID, "device", "write /job:NAME/task:N/device:TYPE:N, or a part of it",
                       "\"%.120s\" %s", text, why);
}

static bool read_number(const char *text, int *out)
{
    int64_t number;
    if (!artel__parse_int64(text, &number) || number < 0 || number > 0x7ffffffe) return false;
    *out = (int)number;
    return true;
}

static bool read_text(const char *text, char *out, size_t room)
{
    size_t length = strlen(text);
    if (length == 0 || length >= room) return false;
    memcpy(out, text, length + 1);
    return true;
}

/* "*" is any. */
static bool read_index(const char *text, int *out)
{
    return strcmp(text, "*") == 0 || read_number(text, out);
}

static const char *known_type(const char *word)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcasecmp(types[i], word) == 0) return types[i];
    }
    return NULL;
}

/* "cpu:0" and "device:CPU:0". NULL, or what is wrong. */
static const char *read_type(const char *type, const char *index, artel__device_name *out)
{
    if (out->type[0]) return "has two device types";
    if (!read_text(type, out->type, sizeof out->type)) return "has a device type that is none";
    for (char *c = out->type; *c; c++) *c = (char)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
    return index && !read_index(index, &out->index) ? "has a device whose number is none" : NULL;
}

/* One field between two slashes, cut at colons. NULL, or what is wrong. */
static const char *read_field(char *field, artel__device_name *out)
{
    char *value = strchr(field, ':'), *rest = NULL;
    if (value) {
        *value++ = '\0';
        rest = strchr(value, ':');
        if (rest) *rest++ = '\0';
    }
    if (rest && strchr(rest, ':')) return "has a field of more than three parts";
    if (rest) return strcmp(field, "device") == 0 ? read_type(value, rest, out) : "has a field that there is not";
    if (value && strcmp(field, "job") == 0)
        return read_text(value, out->job, sizeof out->job) ? NULL : "has a job without a name, or with too long a one";
    if (value && strcmp(field, "replica") == 0)
        return read_number(value, &out->replica) ? NULL : "has a replica that is no number";
    if (value && strcmp(field, "task") == 0)
        return read_number(value, &out->task) ? NULL : "has a task that is no number";
    return known_type(field) ? read_type(known_type(field), value, out) : "has a field that there is not";
}

artel_status artel__device_name_read(artel_context *ctx, const char *text, artel__device_name *out)
{
    char copy[ARTEL__DEVICE_TEXT];
    const char *wrong = NULL;
    *out = (artel__device_name){.replica = -1, .task = -1, .index = -1};
    if (strlen(text) >= sizeof copy) return refuse(ctx, text, "is too long");
    memcpy(copy, text, strlen(text) + 1);
    for (char *field = copy, *next; field && !wrong; field = next) {
        next = strchr(field, '/');
        if (next) *next++ = '\0';
        if (*field) wrong = read_field(field, out);
    }
    return wrong ? refuse(ctx, text, wrong) : ARTEL_OK;
}

artel__device_name artel__device_name_merge(const artel__device_name *outer, const artel__device_name *inner)
{
    artel__device_name merged = *inner;
    if (!inner->job[0]) memcpy(merged.job, outer->job, sizeof merged.job);
    if (!inner->type[0]) memcpy(merged.type, outer->type, sizeof merged.type);
    if (inner->replica < 0) merged.replica = outer->replica;
    if (inner->task < 0) merged.task = outer->task;
    if (inner->index < 0) merged.index = outer->index;
    return merged;
}

void artel__device_name_write(const artel__device_name *name, char out[ARTEL__DEVICE_TEXT])
{
    int at = 0;
    out[0] = '\0';
    if (name->job[0]) at += snprintf(out + at, ARTEL__DEVICE_TEXT - (size_t)at, "/job:%s", name->job);
    if (name->replica >= 0) at += snprintf(out + at, ARTEL__DEVICE_TEXT - (size_t)at, "/replica:%d", name->replica);
    if (name->task >= 0) at += snprintf(out + at, ARTEL__DEVICE_TEXT - (size_t)at, "/task:%d", name->task);
    if (!name->type[0]) return;
    if (name->index >= 0)
        snprintf(out + at, ARTEL__DEVICE_TEXT - (size_t)at, "/device:%s:%d", name->type, name->index);
    else
        snprintf(out + at, ARTEL__DEVICE_TEXT - (size_t)at, "/device:%s:*", name->type);
}

bool artel__device_name_means(const artel__device_name *name, const artel__device_name *task)
{
    bool job = !name->job[0] || strcmp(name->job, task->job) == 0;
    return job && (name->task < 0 || name->task == task->task) && name->replica <= 0;
}
