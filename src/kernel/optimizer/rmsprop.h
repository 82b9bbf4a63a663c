/* SPDX-License-Identifier: Apache-2.0 */
/* RMSprop. The sections: kernel/optimizers.list. Scalars: 0 rho, 1 1 - rho, 2 epsilon, 3 momentum. */

#ifdef RULE
RULE(RMSPROP, rmsprop, .flags = ARTEL__FLAG_MOMENTUM | ARTEL__FLAG_CENTERED, .idle = ARTEL__IDLE_FADES, .divides = true,
     .reads = ARTEL__OCCURRENCE_SQUARE,
     .slot = {{.name = "velocity", .when = ARTEL__SLOT_ALWAYS},
              {.name = "momentum", .when = ARTEL__SLOT_MOMENTUM, .group = 1},
              {.name = "average_gradient", .when = ARTEL__SLOT_CENTERED, .group = 2}})
#endif

#ifdef RULE_SCALARS
static void prepare_rmsprop(const preparing *p)
{
    p->scalar[0] = (artel__real)p->options->rho;
    p->scalar[1] = (artel__real)(1.0 - p->options->rho);
    p->scalar[3] = (artel__real)p->options->momentum;
}
#endif

#ifdef RULE_FORMULA
ARTEL__MATH element apply_rmsprop(const artel__real *s, artel__real rate, rule_flags f, element e)
{
    e.slot[0] = as_held(f, s[0] * e.slot[0] + s[1] * (e.gg));
    artel__real denominator = e.slot[0] + s[2];
    if (f.centered) {
        e.slot[2] = as_held(f, s[0] * e.slot[2] + s[1] * e.g);
        denominator = (e.slot[0] - e.slot[2] * e.slot[2]) + s[2];
    }
    artel__real increment = rate * e.g / real_sqrt(denominator);
    if (f.momentum) {
        e.slot[1] = as_held(f, s[3] * e.slot[1] + increment);
        increment = e.slot[1];
    }
    e.w = e.w - increment;
    return e;
}
#endif

#ifdef RULE_PROGRAM
RULE_PROGRAM(RMSPROP, o->centered
                          ? o->momentum != 0.0
                                ? "A x * B q * + =x A z * B g * + =z D y * R g * x z z * - C + sqrt / + =y w y - =w"
                                : "A x * B q * + =x A z * B g * + =z w R g * x z z * - C + sqrt / - =w"
                      : o->momentum != 0.0 ? "A x * B q * + =x D y * R g * x C + sqrt / + =y w y - =w"
                                           : "A x * B q * + =x w R g * x C + sqrt / - =w")
#endif

#ifdef RULE_CLASS
RULE_CLASS(RMSPROP, .class_name = "RMSprop", .name = "rm_sprop", .learning_rate = 0.001,
           .options = OPTIONS(RHO("0.9"), MOMENTUM, EPSILON("1e-07"), BOOL(centered, "subtract the mean gradient")))
#endif
