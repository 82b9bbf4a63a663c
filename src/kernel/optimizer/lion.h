/* SPDX-License-Identifier: Apache-2.0 */
/* Lion. The sections: kernel/optimizers.list. Scalars: 0 beta_1, 1 1 - beta_1, 2 beta_2, 3 1 - beta_2. */

#ifdef RULE
RULE(LION, lion, .idle = ARTEL__IDLE_FADES, .slot = {{.name = "momentum", .when = ARTEL__SLOT_ALWAYS}})
#endif

#ifdef RULE_SCALARS
static void prepare_lion(const preparing *p)
{
    p->scalar[0] = as_cast(p->options->beta_1);
    p->scalar[1] = 1 - as_cast(p->options->beta_1);
    p->scalar[2] = as_cast(p->options->beta_2);
    p->scalar[3] = 1 - as_cast(p->options->beta_2);
}
#endif

#ifdef RULE_FORMULA
ARTEL__MATH element apply_lion(const artel__real *s, artel__real rate, rule_flags f, element e)
{
    artel__real direction = e.slot[0] * s[0] + e.g * s[1];
    e.w = e.w - rate * (direction > 0 ? (artel__real)1 : direction < 0 ? (artel__real)-1 : (artel__real)0);
    e.slot[0] = as_held(f, e.slot[0] * s[2] + e.g * s[3]);
    return e;
}
#endif

#ifdef RULE_PROGRAM
RULE_PROGRAM(LION, "w R x A * g B * + sign * - =w x C * g D * + =x")
#endif

#ifdef RULE_CLASS
RULE_CLASS(LION, .class_name = "Lion", .name = "lion", .learning_rate = 0.001, .options = OPTIONS(BETAS("0.99")))
#endif
