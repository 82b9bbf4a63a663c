/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a session, shared by the files of this room only. */
#ifndef ARTEL_TRAIN_SESSION_IMPL_H
#define ARTEL_TRAIN_SESSION_IMPL_H

#include "strategy/crew.h"
#include "comm/group.h"
#include "strategy/strategy.h"
#include "train/session.h"

enum {
    ARTEL__ARITHMETIC_ROOM = 1024 /* of a session's arithmetic in words */
};

/* Hashes of the rows that a replica has read, by shard (content.h). */
typedef struct artel__replica_content {
    uint64_t *sum, *step; /* since the last comparison, without the running step; of the running step */
    double *give, *take;  /* of a comparison: [2][shards], the former for each fold node */
    bool compared, differs;
    int32_t shard;  /* the first one that differs */
    uint64_t total; /* all rows since the last comparison if compared, else this replica's own of the step; known before
                       it is applied, as another replica may bring the step to its end */
} artel__replica_content;

/* Counts of the rows of a step, three numbers a shard (audit.h). NULL: none are made. */
typedef struct artel__replica_audit {
    double *give, *take; /* of an exchange: the former for each fold node */
} artel__replica_audit;

/* Rows that were sent to or by other tasks; memory only grows. */
typedef struct artel__replica_parcels {
    void *data;
    size_t bytes;
} artel__replica_parcels;

/* Where ranks compute with several arithmetics: what rank 0 gives (mixed.h). */
typedef struct artel__mixed_room {
    double *kept;               /* all kept values without rows, one behind the other; NULL: each has its own */
    artel__comm_parcel *parcel; /* [ranks] */
    void *image;                /* of the variables, in training among tasks */
    size_t image_bytes;
} artel__mixed_room;

typedef struct artel__next_batch {
    void **buffer; /* as those of the step */
    uint64_t *rows;
    int64_t count;
} artel__next_batch;

typedef struct artel__replica_mode {
    artel__replica_content content;
    artel__replica_audit audit;
    artel__replica_parcels parcels;
    artel__mixed_room mixed;
    artel__arena arena; /* of the lists below: a seat's */
    artel__execution *run;
    void **buffer;             /* by fed input: where the step reads */
    void **whole;              /* by array of the feed: rows as they are read, of which the buffers have the beginnings;
                                  NULL: rows are not cut */
    uint64_t *numbers;         /* of the rows with their pass, where that matters */
    size_t *bytes;             /* 0: those of a reader that fetches ahead */
    artel__prefetch *prefetch; /* or NULL */
    int buffers;
    /* While a device computes, the rows of the next batches are fetched here and sent to it (ahead.c), in the order in
     * which they will be asked for. */
    artel__next_batch next[ARTEL__SENT_AHEAD];
    int most_nexts, nexts; /* that have room: 0: nothing is sent ahead; that were sent */
    void **gathered;       /* PREDICT in a cluster, by output: the rows of all ranks */
    size_t *gathered_bytes;
    int gathers;
} artel__replica_mode;

typedef struct artel__replica {
    artel__session *session;
    int index;           /* among those of this process; its rank is session->first + index */
    artel__state *state; /* common ones belong to the first replica */
    artel__pool *pool;
    artel__replica_mode mode[ARTEL__MODE_COUNT];
    artel__replica_mode *bucket[ARTEL__MODE_COUNT]; /* those that are not chosen (buckets.c); NULL: there are none */
    artel__fold_plan fold;
    int64_t *start;
    artel_status status; /* of the last step */
    bool faulted;
    bool applied;          /* all ranks came through the last step: its result counts */
    bool failed_here;      /* not because of another replica */
    bool looked;           /* for values that are not finite; all replicas do or none */
    artel__mode computing; /* and what: for artel__ahead_meanwhile */
    const artel__batch *batch;
    int64_t fetch_ns, fetch_begin_ns; /* of the last step, if it was measured: until its rows were there */
    artel__nonfinite nonfinite;       /* node -1: none found in the last step */
} artel__replica;

typedef struct artel__session_mode {
    artel__objective *objective;
    artel__executable *plan;
    const artel__feed *feed;
    int64_t batch_size, most; /* rows of a batch; of that of any bucket */
    bool weighted;            /* the sample weight comes from class weights */
    int target, weight;       /* fed inputs that class weights read and write */
} artel__session_mode;

/* Batches of like length: what each bucket of a mode's feed has for itself (buckets.c). */
typedef struct artel__session_buckets {
    int count, chosen;         /* 0: batches are of any rows */
    artel__session_mode *mode; /* by bucket; that of the chosen one lies in the session's list of modes */
} artel__session_buckets;

/* Products of two bfloat16 operands (arithmetic.c). */
typedef struct artel__session_products {
    bool present; /* in some graph that was prepared */
    bool asked;   /* --arithmetic names one */
    bool decided; /* not yet in a cluster that agrees */
    bool noted;
    artel__arithmetic arithmetic;
    const char *why;
} artel__session_products;

struct artel__session {
    artel_context *ctx;
    artel__arena arena;
    artel__session_options options;
    const artel__device *device;
    artel__device_set *devices; /* NULL: the cores */
    artel__strategy_plan strategy;
    artel__group *group;
    artel__variables variables;
    artel__optimizer_slots slots;
    artel__session_mode mode[ARTEL__MODE_COUNT];
    artel__session_buckets buckets[ARTEL__MODE_COUNT];
    artel__replica *replica;
    bool common;                  /* all replicas have the state of the first */
    bool reads_content;           /* rows are hashed as they are read */
    bool audits;                  /* rows of training are counted */
    bool mixed, mixed_tasks;      /* replicas may compute with several arithmetics; tasks of a cluster, that is */
    artel__deal *deal;            /* the fit's, while files lie apart; NULL: they do not */
    int replicas;                 /* of this process */
    int first, ranks;             /* rank of its first replica; replicas of all tasks */
    artel_cluster *cluster;       /* NULL: this process trains alone */
    artel__mesh_seat seat;        /* in a cluster; zero before, and outside of one */
    int64_t iteration;            /* of the optimizer at the start */
    const artel__held_rows *held; /* by variable: rows in place of tables; NULL: tables are here */
    float **arranged; /* by trainable variable: gradients that a device has made, in the layout of memory, of the last
                         step; NULL, of one: as they were kept */
    bool *left;       /* by variable: not drawn yet (`leaves`); NULL: all are */
    artel__session_products products;
    char arithmetic[ARTEL__ARITHMETIC_ROOM]; /* in words */
    const char *continues; /* what the checkpoint says that is taken up, until a seat says the same or another; NULL */
    artel__crew *crew;     /* the replicas at work */
    artel__mode current;
    const artel__batch *batch;
    char fault[512];
    bool fault_reported;
    bool interrupted, common_fault; /* of the last step that failed */
};

/* Where a rank's shards begin; `rank` may be that behind the last. */
int32_t artel__session_first_shard(const artel__session *session, int rank);
/* The same of all ranks, where they are not even; else NULL. */
const int32_t *artel__session_runs(const artel__session *session);
/* The loss of the last batch as one replica has it; all have the same bits. */
double artel__session_replica_loss(const artel__session *session, artel__mode m, int index, double *by_output);

/* arithmetic.c: reads --arithmetic; looks at the graph of a mode that is being prepared; takes what the members have
 * agreed. */
artel_status artel__session_read_arithmetic(artel__session *session);
void artel__session_find_products(artel__session *session, const artel__objective *objective);
/* That of a checkpoint; whether it was the session's already. */
bool artel__session_take_up_arithmetic(artel__session *session, artel__arithmetic arithmetic);
void artel__session_take_record(artel__session *session, const artel__mesh_seat *seat);

/* buckets.c: how many graphs, plans and runs a mode has: 1, or as many as its feed has buckets; from then on `mode` of
 * session and replicas is that of a bucket; one of them for reading, chosen or not. Room for those of a feed, which
 * must fit the model. */
int artel__session_variants(const artel__session *session, artel__mode m);
void artel__session_choose(artel__session *session, artel__mode m, int bucket);
const artel__session_mode *artel__session_variant(const artel__session *session, artel__mode m, int bucket);
artel_status artel__session_open_buckets(artel__session *session, artel__mode m, const artel__feed *feed);
/* Of a replica: the rows that were read, into the buffers of its bucket. */
void artel__replica_cut(artel__replica *replica, artel__mode m, int64_t count);

/* session_results.c: gradients that are given to servers: room for them, once there is an objective of training; behind
 * a step. */
artel_status artel__session_prepare_gradients(artel__session *session);
void artel__session_arrange_gradients(artel__session *session);

/* replica.c */
artel_status artel__replica_open(artel__session *session, int index);
void artel__replica_close(artel__replica *replica);
artel_status artel__replica_prepare(artel__replica *replica, artel__mode mode); /* where it is unprepared */
void artel__replica_unprepare(artel__replica *replica, artel__mode mode);
void artel__replica_step(artel__replica *replica, artel__mode mode, const artel__batch *batch);

/* ahead.c: room for the next batches, where it is of use; after the execution was made. What a device is given to do
 * meanwhile. Takes the rows that were fetched, if they are those of this batch. Leaves all out that were sent, between
 * steps, or where the device has left them out: after a step that failed, nobody knows how far it has come. */
artel_status artel__ahead_prepare(artel__replica *replica, artel__mode mode, int64_t most_rows);
void artel__ahead_meanwhile(void *replica);
bool artel__ahead_take(artel__replica *replica, artel__mode mode, const artel__batch *batch);
void artel__ahead_drop(artel__replica *replica, artel__mode mode);
/* replica.c: the rows as the feed is asked for them, until the next call. */
const uint64_t *artel__replica_in_pass(const artel__replica_mode *mode, const uint64_t *rows, int64_t count,
                                       int64_t pass);

/* class_weight.c: which fed inputs they read and write; the weights of these rows, which were fetched into `buffers`.
 */
artel_status artel__class_weight_find(artel__session *session, artel__session_mode *mode);
artel_status artel__class_weight_apply(const artel__replica *replica, artel__mode mode, void *const *buffers,
                                       const uint64_t *rows, int64_t count);

/* session.c: plan and runs of a mode whose objective is there, for the ranks of the moment. */
artel_status artel__session_place(artel__session *session, artel__mode mode);

/* optimizer_state.c */
artel_status artel__session_take_up(artel__session *session);

#endif
