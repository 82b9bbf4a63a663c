/* SPDX-License-Identifier: Apache-2.0 */
/* Lamb, whose formula leaves the variable and writes a direction, which artel__op_lamb_step then goes by the norms of
 * both. The sections: kernel/optimizers.list. Scalars: 0 1 - beta_1, 1 1 - beta_2, 2 epsilon, 3 1 - beta_1^t,
 * 4 1 - beta_2^t. */

#ifdef RULE
RULE(LAMB, lamb, .idle = ARTEL__IDLE_CHANGES, .reads = ARTEL__OCCURRENCE_SQUARE, .corrects = true,
     .layerwise = "LAMB reads the whole table",
     .slot = {{.name = "momentum", .when = ARTEL__SLOT_ALWAYS},
              {.name = "velocity", .when = ARTEL__SLOT_ALWAYS},
              {.name = "direction", .when = ARTEL__SLOT_SCRATCH}})
#endif

#ifdef RULE_SCALARS
static void prepare_lamb(const preparing *p)
{
    p->scalar[0] = (artel__real)(1.0 - p->options->beta_1);
    p->scalar[1] = (artel__real)(1.0 - p->options->beta_2);
    p->scalar[3] = rest_of(p, p->options->beta_1);
    p->scalar[4] = rest_of(p, p->options->beta_2);
}
#endif

#ifdef RULE_FORMULA
ARTEL__MATH element apply_lamb(const artel__real *s, artel__real rate, rule_flags f, element e)
{
    (void)rate;
    e.slot[0] = as_held(f, e.slot[0] + (e.g - e.slot[0]) * s[0]);
    e.slot[1] = as_held(f, e.slot[1] + (e.gg - e.slot[1]) * s[1]);
    e.slot[2] = as_held(f, e.slot[0] / s[3] / (real_sqrt(e.slot[1] / s[4]) + s[2]));
    return e;
}
#endif

#ifdef RULE_PROGRAM
RULE_PROGRAM(LAMB, "x g x - A * + =x y q y - B * + =y x D / y E / sqrt C + / =z")
#endif

#ifdef RULE_CLASS
RULE_CLASS(LAMB, .class_name = "Lamb", .name = "lamb", .learning_rate = 0.001,
           .options = OPTIONS(BETAS("0.999"), EPSILON("1e-07")))
#endif
