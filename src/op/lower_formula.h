/* SPDX-License-Identifier: Apache-2.0 */
/* Formulas in postfix form as programs of devices: a row of a table is an operation.
 *
 * Words, with one space between: letters are operands; numbers, some by name, as exact as the operands are; "=x" names
 * the last result x and takes it; "c x y ?" is c ? x : y;
 * "+ - * / max min pow rem and or xor", "< <= > >= == !="; "neg abs exp log log1p tanh expm1 sqrt logistic sin cos sign
 * round floor erf erfc";
 * "!" computes what is before it as written (XLA makes a / b / c a / (b * c), which may overflow); "sum" and "most"
 * along one axis, the same number everywhere on it. What a formula says twice a device's compiler computes once.
 */
#ifndef ARTEL_OP_LOWER_FORMULA_H
#define ARTEL_OP_LOWER_FORMULA_H

#include "graph/lower.h"

typedef struct artel__formula {
    artel__hlo *hlo;
    artel__hlo_value like;                  /* numbers have its type */
    artel__hlo_value letter['z' - 'A' + 1]; /* all of one type; -1: none */
    int axis;                               /* of sum and most: the last one of `like` unless set */
} artel__formula;

void artel__formula_init(artel__formula *formula, artel__hlo *hlo, artel__hlo_value like);
void artel__formula_set(artel__formula *formula, char letter, artel__hlo_value value);
void artel__formula_number(artel__formula *formula, char letter, double number);
/* A scalar. */
void artel__formula_spread(artel__formula *formula, char letter, artel__hlo_value scalar);
artel__hlo_value artel__formula_get(const artel__formula *formula, char letter);
/* What a word that is no operation stands for: a number, or the name of one that has more digits in float64. */
double artel__formula_constant(const char *word, artel_dtype dtype);
/* The last result; -1 of a formula that names all of them. */
artel__hlo_value artel__formula_write(artel__formula *formula, const char *text);

#endif
