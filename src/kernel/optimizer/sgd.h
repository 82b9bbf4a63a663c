/* SPDX-License-Identifier: Apache-2.0 */
/* SGD. The sections: kernel/optimizers.list. Scalars: 0 momentum. */

#ifdef RULE
RULE(SGD, sgd, .flags = ARTEL__FLAG_MOMENTUM | ARTEL__FLAG_NESTEROV, .idle = ARTEL__IDLE_FADES,
     .slot = {{.name = "momentum", .when = ARTEL__SLOT_MOMENTUM}})
#endif

#ifdef RULE_SCALARS
static void prepare_sgd(const preparing *p)
{
    p->scalar[0] = as_cast(p->options->momentum);
}
#endif

#ifdef RULE_FORMULA
ARTEL__MATH element apply_sgd(const artel__real *s, artel__real rate, rule_flags f, element e)
{
    if (!f.momentum) {
        e.w = e.w - e.g * rate;
        return e;
    }
    e.slot[0] = as_held(f, e.slot[0] * s[0] - e.g * rate);
    e.w = e.w + (f.nesterov ? e.slot[0] * s[0] - e.g * rate : e.slot[0]);
    return e;
}
#endif

#ifdef RULE_PROGRAM
RULE_PROGRAM(SGD, o->momentum == 0.0 ? "w g R * - =w"
                  : o->nesterov      ? "x A * g R * - =x w x A * g R * - + =w"
                                     : "x A * g R * - =x w x + =w")
#endif

#ifdef RULE_CLASS
RULE_CLASS(SGD, .class_name = "SGD", .name = "sgd", .learning_rate = 0.01,
           .options = OPTIONS(MOMENTUM, BOOL(nesterov, "look ahead")))
#endif
