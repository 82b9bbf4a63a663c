/* SPDX-License-Identifier: Apache-2.0 */
/* ScheduleFreeAdamW. The sections: kernel/optimizers.list. Scalars: 0 1 - beta_1, 1 1 - beta_2, 2 epsilon, 3 rate with
 * its warmup, 4 1 - beta_2^t, 5 1 / t, 6 1 - 1 / t, 7 beta_1. The variable is what gradients are taken at, y; slot 0 is
 * z. The average x is not kept, it follows from y and z: from the new z, for on TensorFlow what Keras calls the old one
 * is read behind the step. */

#ifdef RULE
RULE(SCHEDULE_FREE, schedule_free, .idle = ARTEL__IDLE_CHANGES, .reads = ARTEL__OCCURRENCE_SQUARE,
     .slot = {{.name = "momentum", .when = ARTEL__SLOT_COPY}, {.name = "velocity", .when = ARTEL__SLOT_ALWAYS}})
#endif

#ifdef RULE_FIELDS
int64_t warmup_steps;
#endif

#ifdef RULE_SCALARS
static void prepare_schedule_free(const preparing *p)
{
    const artel__apply_options *o = p->options;
    artel__real t = (artel__real)(p->iteration + 1), beta_1 = as_cast(o->beta_1), beta_2 = as_cast(o->beta_2);
    artel__real rate = p->rate;
    if (o->warmup_steps > 0) rate = rate * real_min(t / (artel__real)o->warmup_steps, 1);
    p->scalar[0] = 1 - beta_1;
    p->scalar[1] = 1 - beta_2;
    p->scalar[2] = as_cast(o->epsilon);
    p->scalar[3] = rate;
    p->scalar[4] = 1 - real_pow(beta_2, t);
    p->scalar[5] = 1 / t;
    p->scalar[6] = 1 - 1 / t;
    p->scalar[7] = beta_1;
}
#endif

#ifdef RULE_FORMULA
ARTEL__MATH element apply_schedule_free(const artel__real *s, artel__real rate, rule_flags f, element e)
{
    (void)rate;
    e.slot[1] = as_held(f, e.slot[1] + (e.gg - e.slot[1]) * s[1]);
    e.slot[0] = as_held(f, e.slot[0] - s[3] * e.g / (real_sqrt(e.slot[1] / s[4]) + s[2]));
    artel__real average = s[6] * ((e.w - s[0] * e.slot[0]) / s[7]) + s[5] * e.slot[0];
    e.w = s[0] * e.slot[0] + s[7] * average;
    return e;
}
#endif

#ifdef RULE_PROGRAM
RULE_PROGRAM(SCHEDULE_FREE, "y q y - B * + =y x D g * y E / sqrt C + / - =x G w A x * - H / * F x * + =k A x * H k * + "
                            "=w")
#endif

#ifdef RULE_CLASS
RULE_CLASS(SCHEDULE_FREE, .class_name = "ScheduleFreeAdamW", .name = "schedule_free_adam_w", .learning_rate = 0.0025,
           .options = OPTIONS(BETAS("0.999"), EPSILON("1e-08"),
                              COUNT(warmup_steps, "0", 0, 0x1p53, "steps in which the rate grows")))
#endif
