/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that asks, and what the answers mean; see ask.h. */
#include "launch/ask.h"

#include <string.h>

#include "base/json.h"

artel__launch_answer artel__launch_answer_of(artel_context *ctx, const char *answer, size_t count)
{
    json_t *value = NULL;
    artel__launch_answer found = ARTEL__LAUNCH_UNKNOWN;
    if (artel__json_load(ctx, "status", answer, count, &value) < 0) return found;
    const char *state = json_string_value(json_object_get(value, "state"));
    bool begun = json_integer_value(json_object_get(value, "generation")) > 0;
    if (state && strcmp(state, "joining") == 0)
        found = begun ? ARTEL__LAUNCH_LOST : ARTEL__LAUNCH_WAITS;
    else if (begun)
        found = ARTEL__LAUNCH_BEGUN;
    else if (state && strcmp(state, "loading") == 0)
        found = ARTEL__LAUNCH_LOADS;
    json_decref(value);
    return found;
}

static artel__launch_answer ask(artel_context *ctx, const artel__status_request *request)
{
    artel__text text;
    artel__launch_answer answer = ARTEL__LAUNCH_UNKNOWN;
    artel__text_init(&text, ctx);
    if (artel__status_ask(ctx, request, &text) == ARTEL_OK)
        answer = artel__launch_answer_of(ctx, text.data, text.length);
    artel__text_fini(&text);
    return answer;
}

static void *ask_all(void *user)
{
    artel__launch_inquiry *q = user;
    artel_context *ctx;
    unsigned answers = 0;
    if (artel_context_create(NULL, &ctx) < 0) ctx = NULL;
    for (int i = 0; ctx && i < q->requests && !(answers & ARTEL__LAUNCH_BEGUN) && !atomic_load(&q->stop); i++)
        answers |= (unsigned)ask(ctx, &q->request[i]);
    q->answers = ctx && answers && !atomic_load(&q->stop) ? answers : ARTEL__LAUNCH_UNKNOWN;
    artel_context_destroy(ctx);
    atomic_store(&q->done, true);
    return NULL;
}

void artel__launch_ask_start(artel__launch_inquiry *inquiry, const artel__status_request *request, int requests)
{
    inquiry->request = request;
    inquiry->requests = requests;
    atomic_store(&inquiry->done, false);
    inquiry->running = pthread_create(&inquiry->thread, NULL, ask_all, inquiry) == 0;
}

bool artel__launch_ask_look(artel__launch_inquiry *inquiry, unsigned *out)
{
    *out = ARTEL__LAUNCH_UNKNOWN;
    if (!inquiry->running) return true;
    if (!atomic_load(&inquiry->done)) return false;
    pthread_join(inquiry->thread, NULL);
    inquiry->running = false;
    *out = inquiry->answers;
    return true;
}

void artel__launch_ask_fini(artel__launch_inquiry *inquiry)
{
    atomic_store(&inquiry->stop, true);
    if (inquiry->running) pthread_join(inquiry->thread, NULL);
    inquiry->running = false;
}
