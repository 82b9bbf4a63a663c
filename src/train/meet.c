/* SPDX-License-Identifier: Apache-2.0 */
/* The beginning of a generation, at the coordinator: whether it has a majority of the job's ps tasks
 * (ps/majority.h), which they are told. Without one it waits for those that are missing, by name: on the other side
 * of a cut another chief may have been started. */
#include <sys/random.h>

#include "base/text.h"
#include "ps/majority.h"
#include "train/install.h"

/* What a server answers: its last chief, and how many there had been with that one. */
typedef struct remembered {
    uint64_t chief[ARTEL__MOST_SERVERS], reign[ARTEL__MOST_SERVERS];
} remembered;

/* The same to all servers of the generation; what each answers, if it is wanted. */
static artel_status say(artel__installed *c, const artel__service *s, uint64_t what, remembered *answers)
{
    artel__lane_head head = {.op = ARTEL__SERVE_MEET, .position = c->reign, .a = c->chief, .b = what}, answer;
    artel_status status = ARTEL_OK;
    for (int i = 0; i < s->servers && status == ARTEL_OK; i++) {
        status = artel__installed_ask(c, s, s->server[i], &head, &answer);
        if (status == ARTEL_OK && answers) answers->chief[i] = answer.a;
        if (status == ARTEL_OK && answers) answers->reign[i] = answer.position;
        status = artel__installed_done(c, status, s->server[i]);
    }
    return status;
}

static bool is_here(const artel__service *s, int task)
{
    for (int i = 0; i < s->servers; i++) {
        if (s->task[s->server[i]] == task) return true;
    }
    return false;
}

static artel_status await_majority(const artel__installed *c, const artel__service *s)
{
    const artel__cluster *tasks = artel__mesh_tasks(s->cluster);
    int missing = 0;
    artel__text text;
    artel__text_init(&text, c->fit->ctx);
    artel__text_append(&text, "a majority of the ps tasks (");
    for (int t = 0; t < tasks->tasks; t++) {
        if (tasks->task[t].type != ARTEL__TASK_PS || is_here(s, t)) continue;
        artel__text_printf(&text, "%s%s", missing++ ? ", " : "", artel__mesh_title(s->cluster, t));
    }
    artel__text_append(&text, missing > 1 ? " are not here)" : " is not here)");
    artel_status status = artel__text_status(&text);
    if (status == ARTEL_OK) status = artel__service_await(s, text.data);
    artel__text_fini(&text);
    return status;
}

static uint64_t last_reign(const artel__service *s, const remembered *known)
{
    uint64_t last = 0;
    for (int i = 0; i < s->servers; i++) last = known->reign[i] > last ? known->reign[i] : last;
    return last;
}

/* Whether a server has been with a later chief than this one, which has had a majority before. */
static bool is_replaced(const artel__installed *c, const artel__service *s, const remembered *known)
{
    for (int i = 0; c->reign && i < s->servers; i++) {
        bool other = known->chief[i] != 0 && known->chief[i] != c->chief;
        if (known->reign[i] > c->reign || (other && known->reign[i] == c->reign)) return true;
    }
    return false;
}

artel_status artel__installed_meet(artel__installed *c, const artel__service *s)
{
    int servers = artel__mesh_tasks(s->cluster)->count[ARTEL__TASK_PS];
    remembered known;
    while (c->chief == 0) {
        if (getrandom(&c->chief, sizeof c->chief, 0) < 0)
            return artel__fail_errno(c->fit->ctx, "parameter servers", "take a random number");
    }
    artel_status status = say(c, s, ARTEL__MEET_ASKS, &known);
    if (status != ARTEL_OK) return status;
    if (is_replaced(c, s, &known))
        return artel__fail(c->fit->ctx, ARTEL_ERROR_RUN, "parameter servers",
                           "start it again: it goes on from the newest checkpoint",
                           "another chief has gone on with the job since this one was cut off or stopped");
    bool holds = artel__majority_holds(servers, c->chief, known.chief, s->servers);
    if (holds) {
        artel__service_is_whole(s);
        if (c->reign == 0) c->reign = 1 + last_reign(s, &known);
        status = say(c, s, ARTEL__MEET_LEAVES, NULL);
        return status == ARTEL_OK ? say(c, s, ARTEL__MEET_HOLDS, NULL) : status;
    }
    status = say(c, s, ARTEL__MEET_WAITS, NULL);
    return status == ARTEL_OK ? await_majority(c, s) : status;
}
