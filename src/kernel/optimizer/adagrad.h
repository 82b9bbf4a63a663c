/* SPDX-License-Identifier: Apache-2.0 */
/* Adagrad. The sections: kernel/optimizers.list. Scalars: 2 epsilon. */

#ifdef RULE
RULE(ADAGRAD, adagrad, .idle = ARTEL__IDLE_STAYS, .divides = true, .reads = ARTEL__OCCURRENCE_SQUARE,
     .slot = {{.name = "accumulator", .when = ARTEL__SLOT_ALWAYS, .accumulator = true}})
#endif

#ifdef RULE_SCALARS
static void prepare_adagrad(const preparing *p)
{
    (void)p;
}
#endif

#ifdef RULE_FORMULA
ARTEL__MATH element apply_adagrad(const artel__real *s, artel__real rate, rule_flags f, element e)
{
    e.slot[0] = as_held(f, e.slot[0] + e.gg);
    e.w = e.w - rate * e.g / real_sqrt(e.slot[0] + s[2]);
    return e;
}
#endif

#ifdef RULE_PROGRAM
RULE_PROGRAM(ADAGRAD, "x q + =x w R g * x C + sqrt / - =w")
#endif

#ifdef RULE_CLASS
RULE_CLASS(ADAGRAD, .class_name = "Adagrad", .name = "adagrad", .learning_rate = 0.001,
           .options = OPTIONS(START, EPSILON("1e-07")))
#endif
