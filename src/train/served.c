/* SPDX-License-Identifier: Apache-2.0 */
/* A part at a server: its store, the items that it has applied, values and rows of it as messages. */
#include "train/served.h"

#include <inttypes.h>
#include <string.h>

#include "base/fetch_soon.h"

enum {
    ASKED = 512 /* bytes of a row that are asked for; what follows is fetched as a stream */
};

void artel__served_drop(artel__served_part *s)
{
    if (!s) return;
    artel_context *ctx = s->fit->ctx;
    artel__chain_fini(ctx, &s->chain);
    for (int i = 0; s->tell && i < ARTEL__MOST_SERVERS; i++) artel__slot_fini(ctx, &s->tell[i]);
    artel__some_stage_fini(&s->stage);
    artel__store_destroy(s->store);
    artel__arena_fini(&s->arena);
    artel__free(ctx, s->piece);
    artel__free(ctx, s->asked);
    artel__applied_fini(ctx, &s->applied);
    artel__free(ctx, s->before);
    artel__free(ctx, s->numbers);
    artel__free(ctx, s->tell);
    artel__free(ctx, s);
}

static artel_status list_entries(artel__served_part *s)
{
    int most = artel__division_most(&s->division);
    void *block;
    for (int l = 0; l < 4; l++) {
        s->list[l] = artel__arena_alloc(&s->arena, (size_t)most, sizeof *s->list[l]);
        if (!s->list[l]) return ARTEL_ERROR_NO_MEMORY;
        s->count[l] = artel__division_list(&s->division, s->number, (artel__part_list)l, s->list[l]);
        s->bytes[l] = artel__entries_bytes(s->list[l], s->count[l]);
    }
    ARTEL_TRY(artel__row_list_make(&s->arena, &s->division, s->number, &s->tables));
    most += 3 * s->tables.count + 4; /* a copy: the placing, what is kept, numbers, items */
    ARTEL_TRY(artel__calloc(s->fit->ctx, (size_t)most, sizeof *s->piece, "parameter server", &block));
    s->piece = block;
    return ARTEL_OK;
}

static artel_status take_place(artel__served_part *s, const artel__lane_slot *call)
{
    size_t pieces = (size_t)s->division.pieces;
    const uint8_t *placed = pieces ? artel__slot_data(call, 0, 0, pieces) : NULL;
    if (!placed || !artel__division_place(&s->division, placed)) return artel__served_misfit(s->fit);
    s->placed = artel__arena_alloc(&s->arena, pieces, 1);
    if (!s->placed) return ARTEL_ERROR_NO_MEMORY;
    memcpy(s->placed, placed, pieces);
    return ARTEL_OK;
}

size_t artel__served_kept_bytes(const artel__served_part *s)
{
    return sizeof(uint64_t) + s->bytes[ARTEL__PART_VALUES];
}

static artel_status make_kept(artel__served_part *s)
{
    void *block;
    ARTEL_TRY(artel__calloc(s->fit->ctx, artel__served_kept_bytes(s) + 8, 1, "parameter server", &block));
    s->before = block;
    return ARTEL_OK;
}

size_t artel__served_number_bytes(const artel__served_part *s)
{
    return 2 * ((size_t)artel__store_numbers(s->store) + 1) * sizeof(double);
}

static artel_status make_numbers(artel__served_part *s)
{
    void *block;
    ARTEL_TRY(artel__calloc(s->fit->ctx, artel__served_number_bytes(s), 1, "parameter server", &block));
    s->numbers = block;
    ARTEL_TRY(artel__calloc(s->fit->ctx, ARTEL__MOST_SERVERS, sizeof *s->tell, "parameter server", &block));
    s->tell = block;
    return ARTEL_OK;
}

static artel_status fill_part(artel__served_part *s, const artel__service *service, int parts,
                              const artel__lane_slot *placed)
{
    artel__fit *fit = s->fit;
    ARTEL_TRY(artel__division_make(&s->arena, fit->session, &service->rule, parts, &s->division));
    if (placed) ARTEL_TRY(take_place(s, placed));
    size_t pieces = (size_t)s->division.pieces + 1;
    s->traffic = artel__arena_alloc(&s->arena, pieces, sizeof *s->traffic);
    if (!s->traffic) return ARTEL_ERROR_NO_MEMORY;
    memset(s->traffic, 0, pieces * sizeof *s->traffic);
    ARTEL_TRY(list_entries(s));
    if (service->some) ARTEL_TRY(make_kept(s));
    ARTEL_TRY(artel__store_create(fit->ctx, &s->division, &fit->settings, s->number,
                                  artel__session_threads(fit->session), &s->store));
    return artel__store_may_ask(s->division.optimizer, s->division.mean) ? make_numbers(s) : ARTEL_OK;
}

artel_status artel__served_make(artel__fit *fit, const artel__service *service, int number, int parts,
                                const artel__lane_slot *placed, artel__served_part **place)
{
    void *block;
    artel__served_drop(*place);
    *place = NULL;
    ARTEL_TRY(artel__calloc(fit->ctx, 1, sizeof(artel__served_part), "parameter server", &block));
    artel__served_part *p = *place = block;
    p->fit = fit;
    p->number = number;
    p->stage.ctx = fit->ctx;
    artel__arena_init(&p->arena, fit->ctx);
    return fill_part(p, service, parts, placed);
}

artel_status artel__served_misfit(artel__fit *fit)
{
    return artel__fail(fit->ctx, ARTEL_ERROR_INVALID, "parameter servers",
                       "run the same artel, model and options everywhere",
                       "what another task sent does not fit this part of the variables");
}

void *artel__served_place(void *user, const artel__entry *entry)
{
    return artel__store_locate(user, entry);
}

static artel_status take_kept(const artel__served_part *s, const artel__lane_slot *call, artel__slot_at *at, void *to,
                              size_t bytes)
{
    const void *kept = artel__slot_next(call, at, bytes);
    if (!kept) return artel__served_misfit(s->fit);
    memcpy(to, kept, bytes);
    return ARTEL_OK;
}

/* Copies a state into the part; of a copy what is kept, and the items that were applied, are behind it. */
artel_status artel__served_take_state(artel__served_part *s, const artel__lane_slot *call, const artel__lane_head *in)
{
    artel__slot_at at = {0, 0};
    bool draws = in->flags & ARTEL__FLAG_DRAW;
    artel__part_list list = draws ? ARTEL__PART_GIVEN : ARTEL__PART_STATE;
    if (s->placed) at = (artel__slot_at){1, artel__net_padded((size_t)s->division.pieces)};
    if (!artel__entries_take(s->list[list], s->count[list], call, &at, artel__served_place, s->store))
        return artel__served_misfit(s->fit);
    if (draws) ARTEL_TRY(artel__store_draw(s->store));
    if ((in->flags & ARTEL__FLAG_COPY) && s->before)
        ARTEL_TRY(take_kept(s, call, &at, s->before, artel__served_kept_bytes(s)));
    if ((in->flags & ARTEL__FLAG_COPY) && s->numbers)
        ARTEL_TRY(take_kept(s, call, &at, s->numbers, artel__served_number_bytes(s)));
    size_t rest = call->length - at.offset;
    if (!(in->flags & ARTEL__FLAG_COPY)) return rest == 0 ? ARTEL_OK : artel__served_misfit(s->fit);
    const void *bits = rest ? artel__slot_next(call, &at, rest) : NULL;
    if (rest && !bits) return artel__served_misfit(s->fit);
    return artel__applied_take(s->fit->ctx, &s->applied, bits, rest);
}

static size_t rows_of(const artel__row_piece *p)
{
    return (size_t)p->count * (size_t)p->width * sizeof(float);
}

void artel__served_count(artel__served_part *s, artel__part_list list)
{
    for (int i = 0; i < s->count[list]; i++) s->traffic[s->list[list][i].piece] += s->list[list][i].bytes;
}

/* Rows of the list, with their tokens. */
static void count_rows(artel__served_part *s)
{
    for (int i = 0; i < s->tables.count; i++) {
        const artel__row_piece *p = &s->tables.item[i];
        s->traffic[p->piece] += (size_t)p->count * sizeof *p->token + rows_of(p);
    }
}

/* An update: gradients, then rows of tables. */
artel_status artel__served_take_update(artel__served_part *s, const artel__lane_slot *call)
{
    artel__slot_at at = {0, 0};
    bool fits = artel__entries_take(s->list[ARTEL__PART_UPDATE], s->count[ARTEL__PART_UPDATE], call, &at,
                                    artel__served_place, s->store) &&
                artel__row_list_read(&s->tables, call, &at, true) && at.offset == call->length;
    if (!fits) return artel__served_misfit(s->fit);
    artel__served_count(s, ARTEL__PART_UPDATE);
    count_rows(s);
    for (int i = 0; i < s->tables.count; i++) {
        const artel__row_piece *p = &s->tables.item[i];
        artel__store_table to = artel__store_locate_table(s->store, p->piece);
        size_t bytes = rows_of(p);
        if (!artel__row_piece_tokens(p, to.token)) return artel__served_misfit(s->fit);
        *to.count = p->count;
        size_t row = (size_t)p->width * sizeof(float);
        for (int32_t k = 0; k < p->count; k++) /* a copy has not read these rows before: they are asked for here */
            artel__fetch_soon(to.values + to.token[k] * p->width, row < ASKED ? row : ASKED);
        if (p->count) memcpy(to.rows, p->row, bytes);
        if (p->count && to.squares) memcpy(to.squares, p->square, bytes);
    }
    return ARTEL_OK;
}

artel_status artel__served_collect(artel__served_part *p, const artel__chain_call *at, const artel__lane_head *in,
                                   bool *whole)
{
    const artel__entry *entry = p->list[ARTEL__PART_UPDATE];
    int count = p->count[ARTEL__PART_UPDATE];
    uint64_t rows = in->a & UINT32_MAX, share = in->a >> 32;
    *whole = false;
    if (rows > INT32_MAX || share >= ARTEL__MOST_SHARES || in->b > ARTEL__MOST_SHARES || p->tables.count)
        return artel__served_misfit(p->fit);
    artel_status status =
        artel__some_stage_take(&p->stage, entry, count, &at->call, in->item, (int)share, (int64_t)rows);
    if (status == ARTEL_ERROR_INVALID) return artel__served_misfit(p->fit);
    ARTEL_TRY(status);
    artel__served_count(p, ARTEL__PART_UPDATE);
    if ((uint64_t)p->stage.count < in->b) return ARTEL_OK;
    artel__some_stage_mean(&p->stage, entry, count, artel__served_place, p->store);
    artel__some_stage_drop(&p->stage);
    *whole = true;
    return ARTEL_OK;
}

int artel__served_list_update(artel__served_part *s, const artel__lane_slot *call)
{
    artel__slot_at at = {0, 0};
    int count = s->count[ARTEL__PART_UPDATE];
    for (int i = 0; i < count; i++) {
        size_t bytes = s->list[ARTEL__PART_UPDATE][i].bytes;
        s->piece[i] = (artel__net_piece){artel__slot_next(call, &at, bytes), bytes};
    }
    int more = artel__row_list_write(&s->tables, true, s->piece + count);
    if (more)
        s->piece[count].data =
            artel__slot_next(call, &at, s->piece[count].bytes); /* the list's own is of the next one soon */
    return count + more;
}

void artel__served_list(artel__served_part *s, artel__part_list list)
{
    artel__entries_list(s->list[list], s->count[list], artel__served_place, s->store, s->piece);
}

/* The pieces as they are now. */
static void copy_pieces(artel__served_part *s, artel__part_list list, uint8_t *copy)
{
    for (int i = 0; i < s->count[list]; i++) {
        artel__net_piece *p = &s->piece[i];
        p->data = memcpy(copy, p->data, p->bytes);
        copy += artel__net_padded(p->bytes);
    }
}

void artel__served_keep(artel__served_part *s, uint64_t item)
{
    uint64_t number = item + 1;
    memcpy(s->before, &number, sizeof number);
    artel__served_list(s, ARTEL__PART_VALUES);
    copy_pieces(s, ARTEL__PART_VALUES, s->before + sizeof number);
}

/* -- the log -- */

#define STATE "part %d of state %016" PRIx64 ", epoch %" PRIu64 ": "

void artel__served_log_installed(const artel__served_part *s)
{
    artel__log(s->fit->ctx, ARTEL_LOG_DEBUG, STATE "installed with %" PRId64 " updates, items from %" PRIu64 " on",
               s->number, s->install, s->epoch, artel__store_iteration(s->store), s->applied.base);
}

void artel__served_log_applied(const artel__served_part *s, uint64_t item)
{
    artel__log(s->fit->ctx, ARTEL_LOG_DEBUG, STATE "item %" PRIu64 " is update %" PRId64, s->number, s->install,
               s->epoch, item, artel__store_iteration(s->store));
}

static void log_acknowledged(const artel__served_part *s, uint64_t item)
{
    artel__log(s->fit->ctx, ARTEL_LOG_DEBUG, STATE "item %" PRIu64 " is acknowledged", s->number, s->install, s->epoch,
               item);
}

/* -- answers -- */

/* Nothing of it is under way to copies any more. */
static artel_status leave(const artel__served_part *s, artel__chain_client *c, artel__chain_call *at,
                          const artel__lane_head *head, const artel__net_piece *piece, int count)
{
    if (head->op == ARTEL__SERVE_PUSH) log_acknowledged(s, head->item);
    return artel__chain_answer(c, at, head, piece, count);
}

artel_status artel__served_let_go(artel__chain_client *c, artel__chain_call *at)
{
    return leave((artel__served_part *)at->of, c, at, &at->reply, at->piece, at->pieces);
}

artel_status artel__served_reply(artel__served_part *s, artel__chain_client *c, artel__chain_call *at,
                                 const artel__lane_head *head, const artel__net_piece *piece, int count)
{
    if (!artel__chain_waits(&s->chain)) return leave(s, c, at, head, piece, count);
    return artel__chain_hold(s->fit->ctx, &s->chain, at, head, piece, count);
}

void artel__served_say_state(const artel__served_part *s, artel__lane_head *head)
{
    head->install = s->install;
    head->position = (uint64_t)artel__store_iteration(s->store);
}

/* The part's pieces are the values that were kept. */
static void list_kept(artel__served_part *s)
{
    uint8_t *from = s->before + sizeof(uint64_t);
    for (int i = 0; i < s->count[ARTEL__PART_VALUES]; i++) {
        size_t bytes = s->list[ARTEL__PART_VALUES][i].bytes;
        s->piece[i] = (artel__net_piece){from, bytes};
        from += artel__net_padded(bytes);
    }
}

artel_status artel__served_answer_values(artel__served_part *s, artel__chain_client *c, artel__chain_call *at,
                                         uint64_t before, artel__lane_head *head)
{
    uint8_t *to;
    uint64_t kept = 0;
    if (s->before) memcpy(&kept, s->before, sizeof kept);
    artel__served_say_state(s, head);
    ARTEL_TRY(artel__chain_room(c, at, s->bytes[ARTEL__PART_VALUES], &to));
    if (before > 0 && before == kept)
        list_kept(s);
    else
        artel__served_list(s, ARTEL__PART_VALUES);
    artel__served_count(s, ARTEL__PART_VALUES);
    copy_pieces(s, ARTEL__PART_VALUES, to);
    return artel__served_reply(s, c, at, head, s->piece, s->count[ARTEL__PART_VALUES]);
}

static artel_status make_asked(artel__served_part *s)
{
    void *wider = s->asked;
    int32_t most = 0;
    for (int i = 0; i < s->tables.count; i++) most = s->tables.item[i].count > most ? s->tables.item[i].count : most;
    if (most <= s->asked_room) return ARTEL_OK;
    ARTEL_TRY(artel__realloc(s->fit->ctx, (size_t)most * sizeof *s->asked, "parameter server", &wider));
    s->asked = wider;
    s->asked_room = most;
    return ARTEL_OK;
}

/* Copies the rows of the list, as new as the part is. Returns the pieces that there are then; -1: a token fits none. */
static int copy_rows(artel__served_part *s, uint8_t *to, int count)
{
    for (int i = 0; i < s->tables.count; i++) {
        artel__row_piece *p = &s->tables.item[i];
        artel__store_table from = artel__store_locate_table(s->store, p->piece);
        size_t row = (size_t)p->width * sizeof(float);
        if (p->count == 0) continue;
        if (!artel__row_piece_tokens(p, s->asked)) return -1;
        artel__store_refresh_rows(s->store, p->piece, s->asked, p->count);
        artel__row_piece_copy(p, from.values, s->asked, to);
        s->piece[count++] = (artel__net_piece){to, (size_t)p->count * row};
        to += artel__net_padded((size_t)p->count * row);
    }
    return count;
}

/* Rows by their tokens and, unless they are not wanted, all other variables. */
artel_status artel__served_answer_rows(artel__served_part *s, artel__chain_client *c, artel__chain_call *at,
                                       const artel__lane_head *in, artel__lane_head *head)
{
    artel__slot_at from = {0, 0};
    bool values = !(in->flags & ARTEL__FLAG_ONLY);
    size_t before = values ? s->bytes[ARTEL__PART_VALUES] : 0;
    uint8_t *to;
    if (!artel__row_list_read(&s->tables, &at->call, &from, false) || from.offset != at->call.length)
        return artel__served_misfit(s->fit);
    ARTEL_TRY(make_asked(s));
    ARTEL_TRY(artel__chain_room(c, at, before + artel__row_list_answer_bytes(&s->tables), &to));
    if (values) {
        artel__served_list(s, ARTEL__PART_VALUES);
        artel__served_count(s, ARTEL__PART_VALUES);
        copy_pieces(s, ARTEL__PART_VALUES, to);
    }
    count_rows(s);
    artel__served_say_state(s, head);
    int count = copy_rows(s, to + before, values ? s->count[ARTEL__PART_VALUES] : 0);
    return count >= 0 ? artel__served_reply(s, c, at, head, s->piece, count) : artel__served_misfit(s->fit);
}
