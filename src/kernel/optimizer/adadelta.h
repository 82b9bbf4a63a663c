/* SPDX-License-Identifier: Apache-2.0 */
/* Adadelta. The sections: kernel/optimizers.list. Scalars: 0 rho, 1 1 - rho, 2 epsilon. */

#ifdef RULE
RULE(ADADELTA, adadelta, .idle = ARTEL__IDLE_FADES, .divides = true, .reads = ARTEL__OCCURRENCE_SQUARE,
     .slot = {{.name = "accumulated_grad", .when = ARTEL__SLOT_ALWAYS},
              {.name = "accumulated_delta_var", .when = ARTEL__SLOT_ALWAYS}})
#endif

#ifdef RULE_SCALARS
static void prepare_adadelta(const preparing *p)
{
    p->scalar[0] = (artel__real)p->options->rho;
    p->scalar[1] = (artel__real)(1.0 - p->options->rho);
}
#endif

#ifdef RULE_FORMULA
ARTEL__MATH element apply_adadelta(const artel__real *s, artel__real rate, rule_flags f, element e)
{
    e.slot[0] = as_held(f, s[0] * e.slot[0] + s[1] * (e.gg));
    artel__real delta = -(real_sqrt(e.slot[1] + s[2]) * e.g / real_sqrt(e.slot[0] + s[2]));
    artel__real square = f.occurrences ? (e.slot[1] + s[2]) * e.gg / (e.slot[0] + s[2]) : delta * delta;
    e.slot[1] = as_held(f, s[0] * e.slot[1] + s[1] * square);
    e.w = e.w + rate * delta;
    return e;
}
#endif

#ifdef RULE_PROGRAM
RULE_PROGRAM(
    ADADELTA,
    occurrences
        ? "A x * B q * + =x y C + sqrt g * x C + sqrt / neg =d y C + q * x C + / =k A y * B k * + =y w R d * + =w"
        : "A x * B q * + =x y C + sqrt g * x C + sqrt / neg =d A y * B d d * * + =y w R d * + =w")
#endif

#ifdef RULE_CLASS
RULE_CLASS(ADADELTA, .class_name = "Adadelta", .name = "adadelta", .learning_rate = 0.001,
           .options = OPTIONS(RHO("0.95"), EPSILON("1e-07")))
#endif
