/* SPDX-License-Identifier: Apache-2.0 */
/* Ftrl. The sections: kernel/optimizers.list. Scalars: 0 -learning_rate_power, 1 l1, 2 2 * (l2 + beta / (2 * rate)),
 * 3 2 * l2_shrinkage. */

#ifdef RULE
RULE(FTRL, ftrl, .idle = ARTEL__IDLE_CHANGES, .reads = ARTEL__OCCURRENCE_SQUARE,
     .slot = {{.name = "accumulator", .when = ARTEL__SLOT_ALWAYS, .accumulator = true},
              {.name = "linear", .when = ARTEL__SLOT_ALWAYS}})
#endif

#ifdef RULE_FIELDS
double learning_rate_power, l1, l2, l2_shrinkage, beta;
#endif

#ifdef RULE_SCALARS
static void prepare_ftrl(const preparing *p)
{
    const artel__apply_options *o = p->options;
    artel__real l2 = (artel__real)o->l2 + (artel__real)o->beta / (2 * p->rate);
    p->scalar[0] = (artel__real)-o->learning_rate_power;
    p->scalar[1] = (artel__real)o->l1;
    p->scalar[2] = 2 * l2;
    p->scalar[3] = (artel__real)(2.0 * o->l2_shrinkage);
}
#endif

#ifdef RULE_FORMULA
/* x^power for x >= 0: the square root for 0.5, as anything else through artel__real64. */
ARTEL__MATH artel__real ftrl_power(artel__real x, artel__real power)
{
    return power == (artel__real)0.5 ? real_sqrt(x) : real_pow(x, power);
}

ARTEL__MATH element apply_ftrl(const artel__real *s, artel__real rate, rule_flags f, element e)
{
    artel__real used = e.g + s[3] * e.w, accumulator = as_held(f, e.slot[0] + e.gg),
                grown = ftrl_power(accumulator, s[0]);
    e.slot[1] = as_held(f, e.slot[1] + (used - (grown - ftrl_power(e.slot[0], s[0])) / rate * e.w));
    artel__real quadratic = grown / rate + s[2];
    artel__real clipped = e.slot[1] < -s[1] ? -s[1] : e.slot[1] > s[1] ? s[1] : e.slot[1];
    e.w = quadratic == 0
              ? 0
              : (clipped - e.slot[1]) / quadratic; /* 0 where nothing was ever accumulated: padding of panels */
    e.slot[0] = accumulator;
    return e;
}
#endif

#ifdef RULE_PROGRAM
RULE_PROGRAM(FTRL, (float)-o->learning_rate_power == 0.5f
                       ? "x q + =a a sqrt =k y g D w * + k x sqrt - R / w * - + =y k R / C + =s "
                         "s 0 == 0 y B neg max B min y - s / ? =w a =x"
                       : "x q + =a a A pow =k y g D w * + k x A pow - R / w * - + =y k R / C + =s "
                         "s 0 == 0 y B neg max B min y - s / ? =w a =x")
#endif

#ifdef RULE_CLASS
RULE_CLASS(FTRL, .class_name = "Ftrl", .name = "ftrl", .learning_rate = 0.001,
           .options = OPTIONS(FLOAT(learning_rate_power, "-0.5", -MUCH, 0, "a number that is not positive"), START,
                              STRENGTH(l1, "l1_regularization_strength"), STRENGTH(l2, "l2_regularization_strength"),
                              STRENGTH(l2_shrinkage, "l2_shrinkage_regularization_strength"),
                              FLOAT(beta, "0.0", 0, 0, "a number")))
#endif
