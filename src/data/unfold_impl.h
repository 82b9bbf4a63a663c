/* SPDX-License-Identifier: Apache-2.0 */
/* What keeps blocks (unfold.c) and what unfolds them (unfold_stream.c) share. */
#ifndef ARTEL_DATA_UNFOLD_IMPL_H
#define ARTEL_DATA_UNFOLD_IMPL_H

#include <pthread.h>
#include <zlib.h>

#include "data/unfold.h"

enum {
    BLOCK = 64 << 10,       /* of content */
    STATE_BYTES = 48 << 10, /* that inflate takes, window included */
    INTERVAL = 1 << 20,     /* of content, from one kept state to the next, at first */
    LEAST_BLOCKS = 4,       /* of a pool, whatever the budget is */
    LEAST_MARKS = 16,
    CURSORS = 4
};

/* inflate at a place of a file. It stays where it is: the state knows its stream. */
typedef struct artel__inflater {
    z_stream stream;
    bool live;   /* the stream is to be ended */
    bool ended;  /* behind the last member */
    size_t in;   /* bytes of the file */
    uint64_t at; /* bytes of the content */
} artel__inflater;

/* A block of content. */
typedef struct unfold_block {
    artel__unfold *file; /* NULL: it holds nothing */
    uint64_t number;     /* in the file */
    size_t size;         /* less than BLOCK where the content ends */
    int pins;            /* threads that read from it */
    bool filling;
    bool recent; /* it has been read since the hand passed */
    uint8_t bytes[BLOCK];
} unfold_block;

typedef struct unfold_cursor {
    artel__inflater inflater;
    artel__unfold *file; /* NULL: none yet */
    uint64_t to;         /* while it is busy: the place it goes to */
    bool lost;           /* it stands nowhere; while it is busy that belongs to its thread */
    uint64_t used;       /* when, by the pool's clock */
    bool busy;
} unfold_cursor;

struct artel__unfold {
    artel__unfold_pool *pool;
    const char *path;
    const uint8_t *packed;
    size_t packed_size;
    unfold_block **block; /* by number; NULL: not kept */
    size_t block_room;
    artel__inflater **mark; /* states, in the order of their places */
    size_t mark_count, mark_room;
    uint64_t interval, next_mark;
    bool complete; /* the end has been seen: `size` counts */
    uint64_t size;
    int damage;       /* code of zlib that ended the content; 0: it ended as it should */
    size_t damage_in; /* the byte of the file there */
    artel__unfold *next;
};

struct artel__unfold_pool {
    artel_context *ctx;
    artel__unfold *files;
    pthread_mutex_t mutex;  /* guards all below and the blocks and ends of files; innermost */
    pthread_cond_t changed; /* a block has been filled or let go, a cursor is free */
    int waiting;
    unfold_block **block;
    size_t block_count, block_room, hand;
    unfold_cursor cursor[CURSORS];
    int cursor_count;
    size_t mark_count; /* of all files */
    uint64_t clock;
    uint64_t charged; /* of the budget */
};

/* Readies a stream at the beginning of the file. */
artel_status artel__inflater_start(artel_context *ctx, const char *path, artel__inflater *out);
/* Makes *out what `from` is. */
artel_status artel__inflater_copy(artel_context *ctx, const char *path, const artel__inflater *from,
                                  artel__inflater *out);
void artel__inflater_end(artel__inflater *inflater);
/* `size` bytes of content, fewer where it ends (Z_STREAM_END: as it should) or is damaged; else Z_OK. */
int artel__inflater_read(const artel__unfold *file, artel__inflater *inflater, uint8_t *out, size_t size, size_t *got);
/* What zlib's code means that ended the content of a file (file->damage). */
artel_status artel__unfold_damaged(artel_context *ctx, const artel__unfold *file);

#endif
