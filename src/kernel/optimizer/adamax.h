/* SPDX-License-Identifier: Apache-2.0 */
/* Adamax. The sections: kernel/optimizers.list. Scalars: 0 1 - beta_1, 1 beta_2, 2 epsilon, 3 1 - beta_1^t. */

#ifdef RULE
RULE(ADAMAX, adamax, .idle = ARTEL__IDLE_FADES, .divides = true, .reads = ARTEL__OCCURRENCE_SIZE,
     .slot = {{.name = "momentum", .when = ARTEL__SLOT_ALWAYS}, {.name = "norm", .when = ARTEL__SLOT_ALWAYS}})
#endif

#ifdef RULE_SCALARS
static void prepare_adamax(const preparing *p)
{
    p->scalar[0] = (artel__real)(1.0 - p->options->beta_1);
    p->scalar[1] = (artel__real)p->options->beta_2;
    p->scalar[3] = rest_of(p, p->options->beta_1);
}
#endif

#ifdef RULE_FORMULA
ARTEL__MATH element apply_adamax(const artel__real *s, artel__real rate, rule_flags f, element e)
{
    artel__real decayed = s[1] * e.slot[1], size = f.occurrences ? e.gg : real_abs(e.g);
    e.slot[0] = as_held(f, e.slot[0] + (e.g - e.slot[0]) * s[0]);
    e.slot[1] = as_held(f, decayed > size ? decayed : size);
    e.w = e.w - rate * e.slot[0] / (s[3] * (e.slot[1] + s[2]));
    return e;
}
#endif

#ifdef RULE_PROGRAM
RULE_PROGRAM(ADAMAX, occurrences ? "x g x - A * + =x B y * =k k q > k q ? =y w R x * D y C + * / - =w"
                                 : "x g x - A * + =x B y * =k g abs =s k s > k s ? =y w R x * D y C + * / - =w")
#endif

#ifdef RULE_CLASS
RULE_CLASS(ADAMAX, .class_name = "Adamax", .name = "adamax", .learning_rate = 0.001,
           .options = OPTIONS(BETAS("0.999"), EPSILON("1e-07")))
#endif
