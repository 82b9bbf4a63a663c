/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a session, shared by the files of this room only. */
#ifndef ARTEL_TRAIN_SESSION_IMPL_H
#define ARTEL_TRAIN_SESSION_IMPL_H

#include <pthread.h>

#include "strategy/strategy.h"
#include "train/session.h"

typedef struct artel__replica_mode {
    artel__run *run;
    void **buffer; /* by fed input */
    size_t *bytes;
    int buffers;
} artel__replica_mode;

typedef struct artel__replica {
    artel__session *session;
    int rank;
    artel__state state;
    artel__pool *pool;
    artel__replica_mode mode[ARTEL__MODE_COUNT];
    artel__fold_plan fold;
    int64_t *start;
    pthread_t thread;
    bool started;
    artel_status status; /* of the last step */
    bool faulted;
    artel__nonfinite nonfinite; /* node -1: none found in the last step */
} artel__replica;

typedef struct artel__session_mode {
    artel__objective *objective;
    artel__plan *plan;
    const artel__feed *feed;
    int64_t batch_size;
    bool weighted;      /* the sample weight comes from class weights */
    int target, weight; /* fed inputs that class weights read and write */
} artel__session_mode;

struct artel__session {
    artel_context *ctx;
    artel__arena arena;
    artel__session_options options;
    artel__strategy_plan strategy;
    artel__group *group;
    artel__variables variables;
    artel__optimizer_slots slots;
    artel__session_mode mode[ARTEL__MODE_COUNT];
    artel__replica *replica;
    int replicas;
    int64_t iteration; /* of the optimizer at the start */
    char arithmetic[128];
    pthread_mutex_t mutex; /* guards what follows; innermost */
    pthread_cond_t work, done;
    uint64_t generation; /* of the work handed out */
    int unfinished;
    bool quit;
    artel__mode current;
    const artel__batch *batch;
    char fault[512];
    bool fault_reported;
};

/* The loss of the last batch as one replica has it; all have the same bits. */
double artel__session_replica_loss(const artel__session *session, artel__mode m, int rank, double *by_output);

/* replica.c */
artel_status artel__replica_open(artel__session *session, int rank);
void artel__replica_close(artel__replica *replica);
artel_status artel__replica_prepare(artel__replica *replica, artel__mode mode);
void artel__replica_step(artel__replica *replica, artel__mode mode, const artel__batch *batch);

/* optimizer_state.c */
artel_status artel__session_take_up(artel__session *session);

#endif
