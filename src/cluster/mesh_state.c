/* SPDX-License-Identifier: Apache-2.0 */
/* Which state of a mesh may follow which, as tables. */
#include "cluster/mesh_state.h"

#define BIT(state) ARTEL__MOVE_TO(state)

static const artel__move_state life[ARTEL__MESH_LIVES] = {
    [ARTEL__MESH_BARE] = {"bare", BIT(ARTEL__MESH_LOCKED)},
    [ARTEL__MESH_LOCKED] = {"locked", BIT(ARTEL__MESH_MOVING)},
    [ARTEL__MESH_MOVING] = {"moving", BIT(ARTEL__MESH_NAMING) | BIT(ARTEL__MESH_CLOSING)},
    [ARTEL__MESH_NAMING] = {"naming", BIT(ARTEL__MESH_CLOSING)},
    [ARTEL__MESH_CLOSING] = {"closing", 0},
};
const artel__moves artel__mesh_lives = {"life", life, ARTEL__MESH_LIVES};

/* A pass that could not begin, or was ended by its caller without a word of the machine, is followed by the next one.
 */
static const artel__move_state course[ARTEL__MESH_COURSES] = {
    [ARTEL__MESH_NO_PASS] = {"none", BIT(ARTEL__MESH_BEGUN)},
    [ARTEL__MESH_BEGUN] = {"begun", BIT(ARTEL__MESH_FORMED) | BIT(ARTEL__MESH_UNFORMED) | BIT(ARTEL__MESH_HOPELESS)},
    [ARTEL__MESH_FORMED] = {"formed", BIT(ARTEL__MESH_ENDED) | BIT(ARTEL__MESH_BEGUN)},
    [ARTEL__MESH_ENDED] = {"ended", BIT(ARTEL__MESH_BEGUN)},
    [ARTEL__MESH_UNFORMED] = {"unformed", BIT(ARTEL__MESH_BEGUN)},
    [ARTEL__MESH_HOPELESS] = {"hopeless", BIT(ARTEL__MESH_BEGUN)},
};
const artel__moves artel__mesh_courses = {"course", course, ARTEL__MESH_COURSES};

/* The next pass forgets what was noticed in this one, and not what was asked for. */
static const artel__move_state leave[ARTEL__MESH_LEAVES] = {
    [ARTEL__MESH_STAYS] = {"stays", BIT(ARTEL__MESH_ASKED) | BIT(ARTEL__MESH_NOTICED)},
    [ARTEL__MESH_ASKED] = {"asked", BIT(ARTEL__MESH_HEEDED)},
    [ARTEL__MESH_NOTICED] = {"noticed", BIT(ARTEL__MESH_HEEDED) | BIT(ARTEL__MESH_STAYS)},
    [ARTEL__MESH_HEEDED] = {"heeded", BIT(ARTEL__MESH_ASKED)},
};
const artel__moves artel__mesh_leaves = {"leave", leave, ARTEL__MESH_LEAVES};

/* The next pass finds the caller at rest, whatever it did when the last one failed. */
static const artel__move_state work[ARTEL__MESH_WORKS] = {
    [ARTEL__MESH_RESTS] = {"rests", BIT(ARTEL__MESH_BUSY) | BIT(ARTEL__MESH_TRAINS)},
    [ARTEL__MESH_BUSY] = {"busy", BIT(ARTEL__MESH_RESTS)},
    [ARTEL__MESH_TRAINS] = {"trains", BIT(ARTEL__MESH_RESTS)},
};
const artel__moves artel__mesh_works = {"work", work, ARTEL__MESH_WORKS};

/* Everything ends with the pass, or when it is handed out. What has been ordered the machine stops before it orders
 * anything else, and a stop it has answered first. */
static const artel__move_state due[ARTEL__MESH_DUES] = {
    [ARTEL__MESH_NOTHING] = {"nothing", BIT(ARTEL__MESH_STOP) | BIT(ARTEL__MESH_FETCH) | BIT(ARTEL__MESH_SEATS) |
                                            BIT(ARTEL__MESH_KEEP)},
    [ARTEL__MESH_STOP] = {"stop", BIT(ARTEL__MESH_NOTHING)},
    [ARTEL__MESH_FETCH] = {"fetch", BIT(ARTEL__MESH_NOTHING) | BIT(ARTEL__MESH_STOP)},
    [ARTEL__MESH_SEATS] = {"seats", BIT(ARTEL__MESH_NOTHING) | BIT(ARTEL__MESH_STOP) | BIT(ARTEL__MESH_JOIN)},
    [ARTEL__MESH_JOIN] = {"join", BIT(ARTEL__MESH_NOTHING) | BIT(ARTEL__MESH_STOP) | BIT(ARTEL__MESH_READY)},
    [ARTEL__MESH_READY] = {"ready", BIT(ARTEL__MESH_NOTHING) | BIT(ARTEL__MESH_STOP)},
    [ARTEL__MESH_KEEP] = {"keep", BIT(ARTEL__MESH_NOTHING) | BIT(ARTEL__MESH_STOP)},
};
const artel__moves artel__mesh_dues = {"due", due, ARTEL__MESH_DUES};

/* A dialled one that is lost is dialled again, an accepted one is gone. */
static const artel__move_state way[ARTEL__MESH_WAYS] = {
    [ARTEL__MESH_TO_DIAL] = {"to_dial", BIT(ARTEL__MESH_OPENING) | BIT(ARTEL__MESH_GONE)},
    [ARTEL__MESH_OPENING] = {"opening", BIT(ARTEL__MESH_PREFACED) | BIT(ARTEL__MESH_TO_DIAL) | BIT(ARTEL__MESH_GONE)},
    [ARTEL__MESH_PREFACED] = {"prefaced", BIT(ARTEL__MESH_TO_DIAL) | BIT(ARTEL__MESH_GONE)},
    [ARTEL__MESH_GONE] = {"gone", 0},
};
const artel__moves artel__mesh_ways = {"way", way, ARTEL__MESH_WAYS};

static const artel__move_state known[ARTEL__MESH_KNOWNS] = {
    [ARTEL__MESH_UNMET] = {"unmet", BIT(ARTEL__MESH_GREETED)},
    [ARTEL__MESH_GREETED] = {"greeted", BIT(ARTEL__MESH_MET)},
    [ARTEL__MESH_MET] = {"met", BIT(ARTEL__MESH_GREETED)},
};
const artel__moves artel__mesh_knowns = {"known", known, ARTEL__MESH_KNOWNS};

/* The next pass begins anew, whatever became of the last one. */
static const artel__move_state saving[ARTEL__MESH_SAVINGS] = {
    [ARTEL__MESH_SAVES_NOTHING] = {"nothing", BIT(ARTEL__MESH_SAVES_FIRST)},
    [ARTEL__MESH_SAVES_FIRST] = {"first", BIT(ARTEL__MESH_SAVES_NOTHING) | BIT(ARTEL__MESH_SAVES_NOW)},
    [ARTEL__MESH_SAVES_NOW] = {"now", BIT(ARTEL__MESH_SAVES_NOTHING) | BIT(ARTEL__MESH_SAVES_FIRST) |
                                          BIT(ARTEL__MESH_SAVES_LATER)},
    [ARTEL__MESH_SAVES_LATER] = {"later", BIT(ARTEL__MESH_SAVES_NOTHING) | BIT(ARTEL__MESH_SAVES_FIRST) |
                                              BIT(ARTEL__MESH_SAVES_NOW)},
};
const artel__moves artel__mesh_savings = {"saving", saving, ARTEL__MESH_SAVINGS};

void artel__mesh_move_life(artel__mesh_life *at, artel__mesh_life to)
{
    artel__check_move(&artel__mesh_lives, (int)*at, (int)to);
    *at = to;
}

void artel__mesh_move_course(artel__mesh_course *at, artel__mesh_course to)
{
    artel__check_move(&artel__mesh_courses, (int)*at, (int)to);
    *at = to;
}

void artel__mesh_move_leave(artel__mesh_leave *at, artel__mesh_leave to)
{
    artel__check_move(&artel__mesh_leaves, (int)*at, (int)to);
    *at = to;
}

void artel__mesh_move_work(artel__mesh_work *at, artel__mesh_work to)
{
    artel__check_move(&artel__mesh_works, (int)*at, (int)to);
    *at = to;
}

void artel__mesh_move_due(artel__mesh_due *at, artel__mesh_due to)
{
    artel__check_move(&artel__mesh_dues, (int)*at, (int)to);
    *at = to;
}

void artel__mesh_move_way(artel__mesh_way *at, artel__mesh_way to)
{
    artel__check_move(&artel__mesh_ways, (int)*at, (int)to);
    *at = to;
}

void artel__mesh_move_known(artel__mesh_known *at, artel__mesh_known to)
{
    artel__check_move(&artel__mesh_knowns, (int)*at, (int)to);
    *at = to;
}

void artel__mesh_move_saving(atomic_int *at, artel__mesh_saving to)
{
    artel__check_move(&artel__mesh_savings, atomic_load(at), (int)to);
    atomic_store(at, (int)to);
}
