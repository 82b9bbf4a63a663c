/* SPDX-License-Identifier: Apache-2.0 */
/* Drawings as SVG: rectangles, lines, text. Coordinates are pixels, y downwards. Failures are the text's to remember.
 */
#ifndef ARTEL_CLI_SVG_H
#define ARTEL_CLI_SVG_H

#include "base/text.h"

void artel__svg_begin(artel__text *out, double width, double height);
void artel__svg_end(artel__text *out);
void artel__svg_box(artel__text *out, double x, double y, double width, double height, const char *fill);
void artel__svg_line(artel__text *out, double x1, double y1, double x2, double y2, const char *colour);
/* `anchor`: "start", "middle", "end". What is no XML is left out of `text`. */
void artel__svg_text(artel__text *out, double x, double y, int size, const char *anchor, const char *colour,
                     const char *text);
/* A line through points; NaN breaks it. */
void artel__svg_curve(artel__text *out, const double *x, const double *y, int count, const char *colour, bool dashed);

#endif
