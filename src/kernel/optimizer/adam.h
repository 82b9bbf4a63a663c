/* SPDX-License-Identifier: Apache-2.0 */
/* Adam, and AdamW, which decays. The sections: kernel/optimizers.list. Scalars: 0 1 - beta_1, 1 1 - beta_2, 2 epsilon,
 * 3 alpha. */

#ifdef RULE
RULE(ADAM, adam, .flags = ARTEL__FLAG_AMSGRAD, .idle = ARTEL__IDLE_FADES, .divides = true,
     .reads = ARTEL__OCCURRENCE_SQUARE, .corrects = true,
     .slot = {{.name = "momentum", .when = ARTEL__SLOT_ALWAYS},
              {.name = "velocity", .when = ARTEL__SLOT_ALWAYS},
              {.name = "velocity_hat", .when = ARTEL__SLOT_AMSGRAD, .group = 1}})
#endif

#ifdef RULE_FIELDS
double rate_ratio; /* what the rate is multiplied by, but for the decay; 0: 1 */
#endif

#ifdef RULE_SCALARS
static void prepare_adam(const preparing *p)
{
    const artel__apply_options *o = p->options;
    artel__real rate = o->rate_ratio != 0 ? p->rate * (artel__real)o->rate_ratio : p->rate;
    artel__real root = as_type(o->held, real_sqrt(rest_of(p, o->beta_2)));
    p->scalar[0] = (artel__real)(1.0 - o->beta_1);
    p->scalar[1] = (artel__real)(1.0 - o->beta_2);
    p->scalar[3] = as_type(o->held, rate * root) / rest_of(p, o->beta_1);
}
#endif

#ifdef RULE_FORMULA
ARTEL__MATH element apply_adam(const artel__real *s, artel__real rate, rule_flags f, element e)
{
    (void)rate;
    e.slot[0] = as_held(f, e.slot[0] + (e.g - e.slot[0]) * s[0]);
    e.slot[1] = as_held(f, e.slot[1] + (e.gg - e.slot[1]) * s[1]);
    artel__real v = e.slot[1];
    if (f.amsgrad) {
        e.slot[2] = e.slot[2] > v ? e.slot[2] : v;
        v = e.slot[2];
    }
    e.w = e.w - e.slot[0] * s[3] / (real_sqrt(v) + s[2]);
    return e;
}
#endif

#ifdef RULE_PROGRAM
RULE_PROGRAM(ADAM, o->amsgrad ? "x g x - A * + =x y q y - B * + =y z y > z y ? =z w x D * z sqrt C + / - =w"
                              : "x g x - A * + =x y q y - B * + =y w x D * y sqrt C + / - =w")
#endif

#ifdef RULE_CLASS
RULE_CLASS(ADAM, .class_name = "Adam", .name = "adam", .learning_rate = 0.001,
           .options = OPTIONS(BETAS("0.999"), EPSILON("1e-07"), BOOL(amsgrad, "keep the greatest velocity")))
RULE_CLASS(ADAM, .class_name = "AdamW", .name = "adam_w", .learning_rate = 0.001, .weight_decay = 0.004,
           .options = OPTIONS(BETAS("0.999"), EPSILON("1e-07"), BOOL(amsgrad, "keep the greatest velocity")))
#endif
