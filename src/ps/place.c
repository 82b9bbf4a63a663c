/* SPDX-License-Identifier: Apache-2.0 */
/* Which server owns which piece: in turn, as TensorFlow does, or by load. */
#include <string.h>

#include "ps/part.h"

void artel__place_in_turn(int64_t first, int pieces, int servers, int *place)
{
    for (int i = 0; i < pieces; i++) place[i] = (int)((first + i) % servers);
}

static void measure(const uint64_t *load, int pieces, int servers, const int *place, uint64_t *sum)
{
    memset(sum, 0, (size_t)servers * sizeof *sum);
    for (int i = 0; i < pieces; i++) sum[place[i]] += load[i];
}

int artel__place_lightest(const uint64_t *sum, int servers)
{
    int found = 0;
    for (int s = 1; s < servers; s++)
        if (sum[s] < sum[found]) found = s;
    return found;
}

static int find_fullest(const uint64_t *sum, int servers)
{
    int found = 0;
    for (int s = 1; s < servers; s++)
        if (sum[s] > sum[found]) found = s;
    return found;
}

/* Heap sort of the pieces' numbers: largest load first, equal ones by number. */
static bool goes_later(const uint64_t *load, int a, int b)
{
    return load[a] != load[b] ? load[a] < load[b] : a > b;
}

static void sift(const uint64_t *load, int *order, int from, int count)
{
    int moved = order[from];
    for (int child; (child = 2 * from + 1) < count; from = child) {
        if (child + 1 < count && goes_later(load, order[child + 1], order[child])) child++;
        if (!goes_later(load, order[child], moved)) break;
        order[from] = order[child];
        order[child] = moved;
    }
}

static void sort(const uint64_t *load, int *order, int count)
{
    for (int i = 0; i < count; i++) order[i] = i;
    for (int i = count / 2; i-- > 0;) sift(load, order, i, count);
    for (int end = count; end-- > 1;) {
        int last = order[0];
        order[0] = order[end];
        order[end] = last;
        sift(load, order, 0, end);
    }
}

void artel__place_by_load(const uint64_t *load, int pieces, int servers, int *place, int *order)
{
    uint64_t sum[ARTEL__PLACE_SERVERS] = {0};
    sort(load, order, pieces);
    for (int i = 0; i < pieces; i++) {
        int server = artel__place_lightest(sum, servers);
        place[order[i]] = server;
        sum[server] += load[order[i]];
    }
}

/* The piece of `from` whose move to `to` makes the larger of the two smallest; -1: none makes it smaller. */
static int find_move(const uint64_t *load, int pieces, const int *place, int from, uint64_t full, uint64_t light)
{
    int found = -1;
    uint64_t best = full;
    for (int i = 0; i < pieces; i++) {
        if (place[i] != from || !load[i]) continue;
        uint64_t left = full - load[i], right = light + load[i], larger = left > right ? left : right;
        if (larger < best) found = i, best = larger;
    }
    return found;
}

/* The servers of another placement get the names under which most of their load stays where it is. */
static void rename_servers(const uint64_t *load, int pieces, int servers, const int *place, int *other)
{
    bool taken[ARTEL__PLACE_SERVERS] = {false};
    int name[ARTEL__PLACE_SERVERS];
    for (int s = 0; s < servers; s++) {
        uint64_t kept[ARTEL__PLACE_SERVERS] = {0};
        for (int i = 0; i < pieces; i++) kept[place[i]] += other[i] == s ? load[i] : 0;
        name[s] = -1;
        for (int k = 0; k < servers; k++)
            if (!taken[k] && (name[s] < 0 || kept[k] > kept[name[s]])) name[s] = k;
        taken[name[s]] = true;
    }
    for (int i = 0; i < pieces; i++) other[i] = name[other[i]];
}

/* Single moves are not enough: all anew. Returns how many pieces differ, or -1 when it is no better. */
static int place_anew(const uint64_t *load, int pieces, int servers, const int *place, int *anew)
{
    int moved = 0;
    artel__place_by_load(load, pieces, servers, anew, anew + pieces);
    if (artel__place_skew(load, pieces, servers, anew, NULL) >= artel__place_skew(load, pieces, servers, place, NULL))
        return -1;
    rename_servers(load, pieces, servers, place, anew);
    for (int i = 0; i < pieces; i++) moved += anew[i] != place[i];
    return moved;
}

int artel__place_correct(const uint64_t *load, int pieces, int servers, double limit, int *place, int *scratch)
{
    uint64_t sum[ARTEL__PLACE_SERVERS];
    int moved = 0, *before = scratch + 2 * pieces;
    memcpy(before, place, (size_t)pieces * sizeof *place);
    measure(load, pieces, servers, place, sum);
    while (moved < pieces && artel__place_skew(load, pieces, servers, place, NULL) > limit) {
        int from = find_fullest(sum, servers), to = artel__place_lightest(sum, servers);
        int piece = find_move(load, pieces, place, from, sum[from], sum[to]);
        if (piece < 0) break;
        place[piece] = to;
        sum[from] -= load[piece];
        sum[to] += load[piece];
        moved++;
    }
    if (artel__place_skew(load, pieces, servers, place, NULL) <= limit) return moved;
    int all = place_anew(load, pieces, servers, before, scratch);
    if (all < 0 || artel__place_skew(load, pieces, servers, scratch, NULL) >=
                       artel__place_skew(load, pieces, servers, place, NULL))
        return moved;
    memcpy(place, scratch, (size_t)pieces * sizeof *place);
    return all;
}

double artel__place_skew(const uint64_t *load, int pieces, int servers, const int *place, int *heaviest)
{
    uint64_t sum[ARTEL__PLACE_SERVERS], all = 0;
    measure(load, pieces, servers, place, sum);
    int from = find_fullest(sum, servers), found = -1;
    for (int i = 0; i < pieces; i++) {
        all += load[i];
        if (place[i] == from && (found < 0 || load[i] > load[found])) found = i;
    }
    if (heaviest) *heaviest = found;
    return all > 0 ? (double)sum[from] * servers / (double)all : 1;
}

void artel__place_name(int server, bool device, artel__text *out)
{
    artel__text_printf(out, "/job:ps/task:%d%s", server, device ? "/device:CPU:0" : "");
}
