/* SPDX-License-Identifier: Apache-2.0 */
#include "api/help_ball.h"

static artel_status heavy_ball(void *user, const char *config, artel_graph *g, artel_optimizer_update *u)
{
    (void)user;
    artel_value momentum = artel_graph_number(g, artel_graph_setting(g, config, "momentum", 0));
    artel_value kept = artel_graph_binary(g, "multiply", u->slots[0], momentum);
    artel_value step = artel_graph_binary(g, "multiply", u->gradient, u->rate);
    u->next_slots[0] = artel_graph_binary(g, "subtract", kept, step);
    u->next = artel_graph_binary(g, "add", u->variable, u->next_slots[0]);
    return artel_graph_status(g);
}

static const artel_optimizer_slot one_slot[] = {{.name = "momentum"}};
const artel_optimizer_definition ball = {.struct_size = sizeof ball,
                                         .class_name = "mine>HeavyBall",
                                         .settings = "{\"momentum\": 0.0}",
                                         .slots = one_slot,
                                         .slot_count = 1,
                                         .update = heavy_ball};
