/* SPDX-License-Identifier: Apache-2.0 */
/* Pike's machine. All threads are at one place of the text, in the order in which RE2 and Perl try them; one that has
 * matched ends those behind it. A step is in a list once: who comes second would do nothing that the first does not.
 * See pattern.h. */
#include <string.h>

#include "base/utf8.h"
#include "text/pattern_impl.h"

typedef struct run {
    artel__pattern *pattern;
    const char *text;
    size_t length;
    bool whole;
} run;

static bool is_word(const run *r, size_t at)
{
    return at < r->length && artel__pattern_is_word(r->text[at]);
}

static bool holds(const run *r, int32_t assertion, size_t at)
{
    bool boundary = (at > 0 && is_word(r, at - 1)) != is_word(r, at);
    switch ((artel__assertion)assertion) {
    case ARTEL__BEGIN_TEXT: return at == 0;
    case ARTEL__END_TEXT: return at == r->length;
    case ARTEL__BEGIN_LINE: return at == 0 || r->text[at - 1] == '\n';
    case ARTEL__END_LINE: return at == r->length || r->text[at] == '\n';
    case ARTEL__WORD_BOUNDARY: return boundary;
    default: return !boundary;
    }
}

static bool contains(const artel__pattern *p, const artel__pattern_step *set, int32_t code)
{
    const artel__pattern_range *r = (const artel__pattern_range *)p->ranges.block + set->a;
    int32_t low = 0, high = set->b; /* the first that ends at `code` or behind it */
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (r[middle].high < code)
            low = middle + 1;
        else
            high = middle;
    }
    return low < set->b && r[low].low <= code;
}

/* What a step leads to without a character, into a list. `slot` is as before afterwards. */
static void follow(const run *r, artel__threads *into, int32_t from, size_t at, size_t *slot)
{
    artel__pattern *p = r->pattern;
    const artel__pattern_step *steps = p->steps.block;
    size_t left = 0;
    p->todo[left++] = (artel__todo){.step = from};
    while (left > 0) {
        artel__todo next = p->todo[--left];
        int32_t i = next.step;
        if (i < 0) {
            slot[next.slot] = next.value;
            continue;
        }
        if (into->mark[i] == p->turn) continue;
        into->mark[i] = p->turn;
        const artel__pattern_step *step = &steps[i];
        switch (step->kind) {
        case ARTEL__STEP_JUMP: p->todo[left++] = (artel__todo){.step = i + step->a}; break;
        case ARTEL__STEP_SPLIT:
            p->todo[left++] = (artel__todo){.step = i + step->b};
            p->todo[left++] = (artel__todo){.step = i + step->a};
            break;
        case ARTEL__STEP_SAVE:
            if (step->a < p->slots) {
                p->todo[left++] = (artel__todo){-1, step->a, slot[step->a]};
                slot[step->a] = at;
            }
            p->todo[left++] = (artel__todo){.step = i + 1};
            break;
        case ARTEL__STEP_ASSERT:
            if (holds(r, step->a, at)) p->todo[left++] = (artel__todo){.step = i + 1};
            break;
        default: /* it waits for a character, or has matched */
            memcpy(into->slot + (size_t)into->count * (size_t)p->slots, slot, (size_t)p->slots * sizeof *slot);
            into->step[into->count++] = i;
        }
    }
}

/* One place: threads of `now` go over the character there, of `width` bytes. True: one has matched, its slots are in
 * `out`. */
static bool advance(const run *r, const artel__threads *now, artel__threads *then, size_t at, size_t width,
                    int32_t code, size_t *out)
{
    artel__pattern *p = r->pattern;
    const artel__pattern_step *steps = p->steps.block;
    then->count = 0;
    p->turn++;
    for (int32_t i = 0; i < now->count; i++) {
        const artel__pattern_step *step = &steps[now->step[i]];
        size_t *slot = now->slot + (size_t)i * (size_t)p->slots;
        if (step->kind == ARTEL__STEP_SET) {
            if (width > 0 && contains(p, step, code)) follow(r, then, now->step[i] + 1, at + width, slot);
        } else if (!r->whole || at == r->length) {
            memcpy(out, slot, (size_t)p->slots * sizeof *out);
            return true;
        }
    }
    return false;
}

static bool search(const run *r, size_t from, size_t *out)
{
    artel__pattern *p = r->pattern;
    artel__threads *now = &p->threads[0], *then = &p->threads[1];
    bool found = false;
    now->count = 0;
    p->turn++;
    for (size_t at = from;;) {
        size_t width = 0, none[2 * ARTEL__PATTERN_GROUPS];
        if (!found && (at == from || !r->whole)) {
            memset(none, 0xFF, sizeof none); /* SIZE_MAX */
            follow(r, now, 0, at, none);
        }
        if (now->count == 0 && (found || r->whole)) return found;
        int32_t code = at < r->length ? artel__utf8_take(r->text + at, r->length - at, &width) : 0;
        found |= advance(r, now, then, at, width, code, out);
        if (at >= r->length) return found;
        at += width;
        artel__threads *swap = now;
        now = then;
        then = swap;
    }
}

bool artel__pattern_matches(artel__pattern *p, const char *text, size_t length)
{
    size_t slot[2 * ARTEL__PATTERN_GROUPS];
    return search(&(run){p, text, length, true}, 0, slot);
}

bool artel__pattern_find(artel__pattern *p, const char *text, size_t length, size_t from, artel__match *out)
{
    size_t slot[2 * ARTEL__PATTERN_GROUPS];
    memset(slot, 0xFF, sizeof slot);
    if (!search(&(run){p, text, length, false}, from, slot)) return false;
    for (int g = 0; g < ARTEL__PATTERN_GROUPS; g++) {
        out->begin[g] = slot[2 * g];
        out->end[g] = slot[2 * g + 1];
    }
    return true;
}
