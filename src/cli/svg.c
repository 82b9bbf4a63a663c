/* SPDX-License-Identifier: Apache-2.0 */
/* SVG 1.1, no style sheets and no scripts, so that every viewer shows the same. */
#include "cli/svg.h"

#include <math.h>
#include <string.h>

void artel__svg_begin(artel__text *out, double width, double height)
{
    artel__text_printf(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
        "font-family=\"sans-serif\">\n",
        width, height, width, height);
    artel__svg_box(out, 0, 0, width, height, "#ffffff");
}

void artel__svg_end(artel__text *out)
{
    artel__text_append(out, "</svg>\n");
}

void artel__svg_box(artel__text *out, double x, double y, double width, double height, const char *fill)
{
    artel__text_printf(
        out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"4\" fill=\"%s\" stroke=\"#667788\"/>\n",
        x, y, width, height, fill);
}

void artel__svg_line(artel__text *out, double x1, double y1, double x2, double y2, const char *colour)
{
    artel__text_printf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n", x1, y1, x2, y2,
                       colour);
}

/* Control characters have no form in XML. */
static void put_escaped(artel__text *out, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '&': artel__text_append(out, "&amp;"); break;
        case '<': artel__text_append(out, "&lt;"); break;
        case '>': artel__text_append(out, "&gt;"); break;
        case '"': artel__text_append(out, "&quot;"); break;
        default:
            if ((unsigned char)*text >= ' ' && *text != 0x7F) artel__text_append_bytes(out, text, 1);
        }
    }
}

void artel__svg_text(artel__text *out, double x, double y, int size, const char *anchor, const char *colour,
                     const char *text)
{
    artel__text_printf(out, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%d\" text-anchor=\"%s\" fill=\"%s\">", x, y, size,
                       anchor, colour);
    put_escaped(out, text);
    artel__text_append(out, "</text>\n");
}

void artel__svg_curve(artel__text *out, const double *x, const double *y, int count, const char *colour, bool dashed)
{
    bool open = false;
    artel__text_append(out, "<path d=\"");
    for (int i = 0; i < count; i++) {
        bool here = isfinite(y[i]);
        if (here) artel__text_printf(out, "%c%.1f %.1f ", open ? 'L' : 'M', x[i], y[i]);
        open = here;
    }
    artel__text_printf(out, "\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\"%s/>\n", colour,
                       dashed ? " stroke-dasharray=\"5 3\"" : "");
}
