/* SPDX-License-Identifier: Apache-2.0 */
/* Nadam. The sections: kernel/optimizers.list. Scalars: 0 1 - beta_1, 1 1 - beta_2, 2 epsilon, 3 u_{t+1},
 * 4 1 - u_product_{t+1}, 5 1 - u_t, 6 1 - u_product_t, 7 1 - beta_2^t. u_product is a scalar that all variables share,
 * which an operation of its own moves on (artel__op_nadam_product). */

#ifdef RULE
RULE(NADAM, nadam, .idle = ARTEL__IDLE_FADES, .divides = true, .reads = ARTEL__OCCURRENCE_SQUARE, .product = true,
     .slot = {{.name = "momentum", .when = ARTEL__SLOT_ALWAYS}, {.name = "velocity", .when = ARTEL__SLOT_ALWAYS}})
#endif

#ifdef RULE_SCALARS
/* u_t: beta_1 * (1 - 0.5 * 0.96^t). */
static artel__real nadam_u(artel__real beta_1, artel__real t)
{
    return beta_1 * (1 - (artel__real)0.5 * real_pow(as_cast(0.96), t));
}

static void prepare_nadam(const preparing *p)
{
    artel__real beta_1 = as_cast(p->options->beta_1), beta_2 = as_cast(p->options->beta_2);
    artel__real t = (artel__real)(p->iteration + 1), u_next = nadam_u(beta_1, (artel__real)(p->iteration + 2));
    p->scalar[0] = 1 - beta_1;
    p->scalar[1] = 1 - beta_2;
    p->scalar[3] = u_next;
    p->scalar[4] = 1 - p->u_product * u_next;
    p->scalar[5] = 1 - nadam_u(beta_1, t);
    p->scalar[6] = 1 - p->u_product;
    p->scalar[7] = 1 - real_pow(beta_2, t);
}
#endif

#ifdef RULE_FORMULA
ARTEL__MATH element apply_nadam(const artel__real *s, artel__real rate, rule_flags f, element e)
{
    e.slot[0] = as_held(f, e.slot[0] + (e.g - e.slot[0]) * s[0]);
    e.slot[1] = as_held(f, e.slot[1] + (e.gg - e.slot[1]) * s[1]);
    artel__real m_hat = s[3] * e.slot[0] / s[4] + s[5] * e.g / s[6];
    e.w = e.w - m_hat * rate / (real_sqrt(e.slot[1] / s[7]) + s[2]);
    return e;
}
#endif

#ifdef RULE_PROGRAM
RULE_PROGRAM(NADAM, "x g x - A * + =x y q y - B * + =y D x * 1 U D * - / F g * 1 U - / + =h w h R * y H / sqrt C + / "
                    "- =w")
#endif

#ifdef RULE_CLASS
RULE_CLASS(NADAM, .class_name = "Nadam", .name = "nadam", .learning_rate = 0.001,
           .options = OPTIONS(BETAS("0.999"), EPSILON("1e-07")))
#endif
