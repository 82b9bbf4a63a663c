/* SPDX-License-Identifier: Apache-2.0 */
/* Environments of every launcher that is read, good, odd and hostile, and files, against what is to be made of them.
 * Launchers that are not read: test_resolve_unread.c. */
#include "cluster/help_resolve.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

#define CONFIG(text)      \
    {                     \
        "TF_CONFIG=" text \
    }

static const resolve_case tf_config[] = {
    {CONFIG("{" TWO "," TASK("worker", "0") "}"), "tf-config 0/2 a:1", {0}},
    {CONFIG("{" TWO "," TASK("worker", "1") "}"), "tf-config 1/2 b:1", {0}},
    {CONFIG("{" TWO "," TASK("worker", "\"1\"") "}"), "tf-config 1/2 b:1", {0}},
    {CONFIG("{" TWO "," TASK("worker", "1.0") "}"), "tf-config 1/2 b:1", {0}},
    {CONFIG("{" TWO "," TASK("evaluator", "0") "}"), "tf-config -1/2 -", {0}},
    {CONFIG("{" TWO "," TASK("evaluator", "7") "}"), "tf-config -1/2 -", {0}},
    {CONFIG("{" TWO
            "," TASK("worker", "0") ",\"environment\":\"cloud\",\"rpc_layer\":\"grpc\",\"trial\":\"\",\"job\":{}}"),
     "tf-config 0/2 a:1",
     {0}},
    {CONFIG("{\"cluster\":{\"chief\":[\"c:1\"],\"worker\":[\"a:1\"]}," TASK("worker", "0") "}"),
     "tf-config 1/2 a:1",
     {0}},
    {CONFIG("{\"cluster\":{\"master\":[\"c:1\"],\"worker\":[\"a:1\"]}," TASK("master", "0") "}"),
     "tf-config 0/2 c:1",
     {0}},
    {CONFIG("{\"cluster\":{\"worker\":[\"a:1\"],\"ps\":[\"b:1\"],\"chief\":[\"c:1\"]}," TASK("ps", "0") "}"),
     "tf-config -1/2 b:1",
     {0}},
    {CONFIG("{\"cluster\":{\"worker\":{\"0\":\"a:1\",\"1\":\"b:1\"}}," TASK("worker", "1") "}"),
     "tf-config 1/2 b:1",
     {0}},
    {CONFIG("{\"cluster\":{\"worker\":{\"5\":\"a:1\"},\"ps\":null}," TASK("worker", "5") "}"),
     "tf-config 5/1 a:1",
     {0}},
    {CONFIG("{\"cluster\":{\"worker\":{\"0\":\"a:1\",\"2\":\"b:1\",\"7\":\"c:1\"}}," TASK("worker", "7") "}"),
     "tf-config 2/3 c:1",
     {0}},
    {CONFIG("{\"cluster\":{\"chief\":[\"d:1\"],\"worker\":{\"1\":\"a:1\",\"4\":\"b:1\"}}," TASK("worker", "1") "}"),
     "tf-config 1/3 a:1",
     {0}},
    {CONFIG("{\"sparseCluster\":{\"worker\":{\"3\":\"w3:2222\"},\"ps\":[\"p0:2222\",\"p1:2222\"]}," TASK("worker",
                                                                                                         "3") "}"),
     "tf-config 3/1 w3:2222",
     {0}},
    {CONFIG("{\"sparseCluster\":{\"worker\":{},\"ps\":[\"p1:2222\"]}," TASK("ps", "1") "}"),
     "tf-config -1/0 p1:2222",
     {0}},
    {CONFIG("{\"sparseCluster\":{\"worker\":{},\"ps\":[]}," TASK("chief", "0") "}"),
     "! TF_CONFIG: the cluster has no chief",
     {0}},
    {CONFIG("{}"), "tf-config 0/1 -", {0}},
    {CONFIG("{\"cluster\":{}}"), "tf-config 0/1 -", {0}},
    {CONFIG("{\"cluster\":{}," TASK("worker", "0") "}"), "tf-config 0/1 -", {0}},
    {CONFIG("{\"cluster\":null}"), "tf-config 0/1 -", {0}},
    {CONFIG(""), "none 0/1 -", {0}},
    {CONFIG("{" TWO "}"), "tf-config 1/2 b:1", {.task = "worker:1"}},
    {{"TF_CONFIG={" TWO "}", "ARTEL_TASK=worker-1"}, "tf-config 1/2 b:1", {0}},
    {CONFIG("{" TWO "," TASK("worker", "0") "}"), "tf-config 1/2 b:1", {.task = "worker:1"}},
    {CONFIG("{" TWO "," TASK("worker", "0") "}"), "! .task: this is no task", {.task = "gpu:1"}},
    {CONFIG("{\"cluster\":{\"worker\":[\"[::1]:1\",\"[::2]:1\"]}," TASK("worker", "1") "}"),
     "tf-config 1/2 [::2]:1",
     {0}},
    {CONFIG("{" TWO "}"), "! TF_CONFIG: there is a cluster but no task", {0}},
    {CONFIG("{" TWO ",\"task\":null}"), "! TF_CONFIG: there is a cluster but no task", {0}},
    {CONFIG("{" TWO ",\"task\":{\"type\":\"worker\"}}"), "! TF_CONFIG: task has no index", {0}},
    {CONFIG("{" TWO ",\"task\":{\"index\":0}}"), "! TF_CONFIG: task has no type", {0}},
    {CONFIG("{" TWO ",\"task\":{}}"), "! TF_CONFIG: task has no type", {0}},
    {CONFIG("{" TWO ",\"task\":[]}"), "! TF_CONFIG: task is not an object", {0}},
    {CONFIG("{" TWO ",\"task\":{\"type\":1,\"index\":0}}"), "! TF_CONFIG: the task's type is not a string", {0}},
    {CONFIG("{" TWO "," TASK("gpu", "0") "}"), "! TF_CONFIG: this task is of the unknown type \"gpu\"", {0}},
    {CONFIG("{" TWO "," TASK("Worker", "0") "}"), "! TF_CONFIG: unknown type \"Worker\"", {0}},
    {CONFIG("{" TWO "," TASK("worker", "2") "}"),
     "! TF_CONFIG: this task is worker 2, which is not in the cluster",
     {0}},
    {CONFIG("{" TWO "," TASK("worker", "-1") "}"), "! TF_CONFIG: index is impossible", {0}},
    {CONFIG("{" TWO "," TASK("worker", "99999999999999999999999") "}"),
     "! TF_CONFIG: the task's index is not a whole number",
     {0}},
    {CONFIG("{" TWO "," TASK("worker", "2147483648") "}"), "! TF_CONFIG: index is impossible", {0}},
    {CONFIG("{" TWO "," TASK("worker", "0.5") "}"), "! TF_CONFIG: index is not a whole number", {0}},
    {CONFIG("{" TWO "," TASK("worker", "true") "}"), "! TF_CONFIG: index is not a whole number", {0}},
    {CONFIG("{" TWO "," TASK("worker", "\"x\"") "}"), "! TF_CONFIG: index is not a whole number", {0}},
    {CONFIG("{" TWO "," TASK("worker", "null") "}"), "! TF_CONFIG: index is not a whole number", {0}},
    {CONFIG("{" TWO "," TASK("ps", "0") "}"), "! TF_CONFIG: the cluster has no ps", {0}},
    {CONFIG("{\"cluster\":{\"gpu\":[\"a:1\"],\"worker\":[\"b:1\"]}," TASK("worker", "0") "}"),
     "! TF_CONFIG: tasks of the unknown type \"gpu\"",
     {0}},
    {CONFIG("{\"cluster\":{\"master\":[\"a:1\"],\"chief\":[\"b:1\"]}," TASK("chief", "0") "}"),
     "! TF_CONFIG: 2 chiefs",
     {0}},
    {CONFIG("{\"cluster\":{\"chief\":[\"a:1\",\"b:1\"]}," TASK("chief", "0") "}"), "! TF_CONFIG: 2 chiefs", {0}},
    {CONFIG("{\"cluster\":{\"worker\":[\"a:1\"],\"evaluator\":[\"b:1\",\"c:1\"]}," TASK("worker", "0") "}"),
     "! TF_CONFIG: 2 evaluators",
     {0}},
    {CONFIG("{\"cluster\":{\"worker\":[\"a:1\",\"a:1\"]}," TASK("worker", "0") "}"),
     "! TF_CONFIG: worker 0 and worker 1 have the same address",
     {0}},
    {CONFIG("{\"cluster\":{\"ps\":[\"a:1\"]}," TASK("ps", "0") "}"), "! TF_CONFIG: nobody trains", {0}},
    {CONFIG("{\"cluster\":{\"worker\":{\"1\":\"a:1\",\"01\":\"b:1\"}}," TASK("worker", "1") "}"),
     "! TF_CONFIG: worker 1 is there twice",
     {0}},
    {CONFIG("{\"cluster\":{\"worker\":{\"x\":\"a:1\"}}," TASK("worker", "1") "}"),
     "! TF_CONFIG: \"x\" is no index",
     {0}},
    {CONFIG("{\"cluster\":{\"worker\":{\"-1\":\"a:1\"}}," TASK("worker", "1") "}"),
     "! TF_CONFIG: \"-1\" is no index",
     {0}},
    {CONFIG("{\"cluster\":{\"worker\":{\"9223372036854775807\":\"a:1\"}}," TASK("worker", "1") "}"),
     "! TF_CONFIG: impossible index",
     {0}},
    {CONFIG("{\"cluster\":{\"worker\":\"a:1\"}," TASK("worker", "0") "}"), "! TF_CONFIG: worker is not a list", {0}},
    {CONFIG("{\"cluster\":{\"worker\":[1]}," TASK("worker", "0") "}"), "! TF_CONFIG: an address is not a string", {0}},
    {CONFIG("{\"cluster\":{\"worker\":[null]}," TASK("worker", "0") "}"),
     "! TF_CONFIG: an address is not a string",
     {0}},
    {CONFIG("{\"cluster\":{\"worker\":[\"a\"]}," TASK("worker", "0") "}"), "! TF_CONFIG: the port is missing", {0}},
    {CONFIG("{\"cluster\":{\"worker\":[\"http://a:1\"]}," TASK("worker", "0") "}"),
     "! TF_CONFIG: begins as a URL",
     {0}},
    {CONFIG("{\"cluster\":{\"worker\":[\"me@a:1\"]}," TASK("worker", "0") "}"), "! TF_CONFIG: names a user", {0}},
    {CONFIG("{\"cluster\":{\"worker\":[\"\"]}," TASK("worker", "0") "}"), "! TF_CONFIG: it is empty", {0}},
    {CONFIG("{\"cluster\":{\"worker\":[\"a:0\"]}," TASK("worker", "0") "}"),
     "! TF_CONFIG: the port is not a number",
     {0}},
    {CONFIG("{\"cluster\":[\"a:1\"]," TASK("worker", "0") "}"), "! TF_CONFIG: cluster is not an object", {0}},
    {CONFIG("[]"), "! TF_CONFIG: the value is not a JSON object", {0}},
    {CONFIG("7"), "! TF_CONFIG: the value is not a JSON object", {0}},
    {CONFIG("null"), "! TF_CONFIG: the value is not a JSON object", {0}},
    {CONFIG("{"), "! TF_CONFIG: ", {0}},
    {CONFIG("garbage"), "! TF_CONFIG: ", {0}},
    {CONFIG("{'cluster': {}}"), "! TF_CONFIG: ", {0}},
    {CONFIG("\xff\xfe"), "! TF_CONFIG: ", {0}},
    {CONFIG("{\"a\":1} x"), "! TF_CONFIG: ", {0}},
};

#define SLURM(rank, count, nodes, tasks)                                                   \
    {                                                                                      \
        "SLURM_PROCID=" rank, "SLURM_STEP_NUM_TASKS=" count, "SLURM_STEP_NODELIST=" nodes, \
            "SLURM_STEP_TASKS_PER_NODE=" tasks                                             \
    }

static const resolve_case slurm[] = {
    {SLURM("0", "1", "n1", "1"), "slurm 0/1 n1:8888", {0}},
    {SLURM("3", "4", "n[1-2]", "2(x2)"), "slurm 3/4 n2:8889", {0}},
    {SLURM("2", "4", "n[1-2]", "2(x2)"), "slurm 2/4 n2:8888", {0}},
    {SLURM("3", "6", "n[1-2],m5", "3,2,1"), "slurm 3/6 n2:8888", {0}},
    {SLURM("5", "6", "n[1-2],m5", "3,2,1"), "slurm 5/6 m5:8888", {0}},
    {SLURM("1", "4", "n[09-12]", "1(x4)"), "slurm 1/4 n10:8888", {0}},
    {SLURM("0", "4", "n[09-12]", "1(x4)"), "slurm 0/4 n09:8888", {0}},
    {SLURM("1", "2", "n[9-10]", "1(x2)"), "slurm 1/2 n10:8888", {0}}, /* TensorFlow would say n9 */
    {SLURM("1", "4", "n[1-2]", "2(x2)"), "slurm 1/4 n1:9001", {.port = 9000}},
    {{"SLURM_PROCID=1", "SLURM_STEP_ID=0", "SLURM_NTASKS=2", "SLURM_JOB_NODELIST=a,b", "SLURM_TASKS_PER_NODE=1(x2)"},
     "slurm 1/2 b:8888",
     {0}},
    {{"SLURM_PROCID=1", "SLURM_STEP_ID=0", "SLURM_NPROCS=2", "SLURM_NODELIST=a,b", "SLURM_TASKS_PER_NODE=1(x2)"},
     "slurm 1/2 b:8888",
     {0}},
    /* cyclic: ranks go round the nodes */
    {{"SLURM_PROCID=1", "SLURM_STEP_NUM_TASKS=4", "SLURM_STEP_NODELIST=a,b", "SLURM_STEP_TASKS_PER_NODE=2(x2)",
      "SLURM_DISTRIBUTION=cyclic", "SLURM_NODEID=1", "SLURM_LOCALID=0"},
     "slurm 1/4 b:8888",
     {0}},
    {{"SLURM_PROCID=3", "SLURM_STEP_NUM_TASKS=5", "SLURM_STEP_NODELIST=a,b", "SLURM_STEP_TASKS_PER_NODE=4,1",
      "SLURM_DISTRIBUTION=cyclic"},
     "slurm 3/5 a:8890",
     {0}},
    {{"SLURM_PROCID=2", "SLURM_STEP_NUM_TASKS=6", "SLURM_STEP_NODELIST=a,b", "SLURM_STEP_TASKS_PER_NODE=3(x2)",
      "SLURM_DISTRIBUTION=plane", "SLURM_DIST_PLANESIZE=2"},
     "slurm 2/6 b:8888",
     {0}},
    {{"SLURM_PROCID=1", "SLURM_STEP_NUM_TASKS=4", "SLURM_STEP_NODELIST=a,b", "SLURM_STEP_TASKS_PER_NODE=2(x2)",
      "SLURM_NODEID=1", "SLURM_LOCALID=0"},
     "! SLURM_NODEID: not laid out",
     {0}},
    {{"SLURM_PROCID=1", "SLURM_STEP_NUM_TASKS=4", "SLURM_STEP_NODELIST=a,b", "SLURM_STEP_TASKS_PER_NODE=2(x2)",
      "SLURM_DISTRIBUTION=arbitrary"},
     "! SLURM_DISTRIBUTION: found arbitrary",
     {0}},
    /* the batch script, salloc's shell: no step */
    {{"SLURM_PROCID=0", "SLURM_JOB_ID=7", "SLURM_NTASKS=4", "SLURM_JOB_NODELIST=a,b", "SLURM_TASKS_PER_NODE=2(x2)"},
     "none 0/1 -",
     {0}},
    {SLURM("4", "4", "n[1-2]", "2(x2)"), "! SLURM_PROCID: found 4, expected a whole number from 0 to 3", {0}},
    {SLURM("-1", "4", "n[1-2]", "2(x2)"), "! SLURM_PROCID: found -1", {0}},
    {SLURM("x", "4", "n[1-2]", "2(x2)"), "! SLURM_PROCID: found x", {0}},
    {SLURM("0", "5", "n[1-2]", "2(x2)"), "! SLURM_STEP_NUM_TASKS: 5 tasks were asked for and 4 assigned", {0}},
    {SLURM("0", "4", "n[1-3]", "2(x2)"), "! SLURM_STEP_TASKS_PER_NODE: counts tasks for 2 nodes, and there are 3", {0}},
    {SLURM("0", "2", "n1,n1", "1(x2)"), "! SLURM_STEP_NODELIST: same address, n1:8888", {0}},
    {SLURM("0", "4", "n[1-2", "2(x2)"), "! SLURM_STEP_NODELIST: closing bracket is missing", {0}},
    {SLURM("0", "4", "n[1-2]", "2(x"), "! SLURM_STEP_TASKS_PER_NODE: a number and a closing parenthesis", {0}},
    {SLURM("0", "4", "n[1-2]", "0(x2)"), "! SLURM_STEP_TASKS_PER_NODE: out of range", {0}},
    {SLURM("0", "4", "n[1-2]", "2,"), "! SLURM_STEP_TASKS_PER_NODE: a number is expected", {0}},
    {SLURM("0", "1", "n[1-999999999]", "1"), "! SLURM_STEP_NODELIST: more than 131072 names", {0}},
    {SLURM("0", "1", "n1", "999999999(x999999999)"), "! SLURM_STEP_TASKS_PER_NODE: out of range", {0}},
    {SLURM("0", "1", "n1", "99999(x99999)"), "! SLURM_STEP_TASKS_PER_NODE: more than 131072", {0}},
    {SLURM("0", "1", "bad/host", "1"), "! SLURM_STEP_NODELIST: a character that no host name has", {0}},
    {SLURM("0", "2", "n1", "2"), "! SLURM_STEP_NODELIST: the port is not a number", {.port = 65535}},
    {{"SLURM_PROCID=0", "SLURM_STEP_ID=0"}, "! SLURM_STEP_NODELIST: the variable is not set", {0}},
};

static const resolve_case mpi[] = {
    {{OMPI("0", "1")}, "mpi 0/1 -", {0}},
    {{OMPI("1", "4"), "OMPI_COMM_WORLD_LOCAL_RANK=1", "OMPI_COMM_WORLD_LOCAL_SIZE=4"}, "mpi 1/4 127.0.0.1:8889", {0}},
    {{OMPI("1", "4"), "OMPI_COMM_WORLD_LOCAL_RANK=1", "OMPI_COMM_WORLD_LOCAL_SIZE=2", "MASTER_ADDR=n1"},
     "mpi 1/4 - n1:8888",
     {0}},
    {{OMPI("1", "4"), "OMPI_COMM_WORLD_LOCAL_RANK=1", "OMPI_COMM_WORLD_LOCAL_SIZE=2", "MASTER_ADDR=n1",
      "MASTER_PORT=4000"},
     "mpi 1/4 - n1:4000",
     {0}},
    {{OMPI("1", "4"), "ARTEL_RENDEZVOUS=n1:77"}, "mpi 1/4 - n1:77", {0}},
    {{OMPI("1", "4")}, "mpi 1/4 - [::1]:77", {.rendezvous = "[::1]:77"}},
    {{OMPI("1", "4")}, "mpi 1/4 - n1:8888", {.rendezvous = "n1"}},
    {{OMPI("1", "4"), "SLURM_JOB_NODELIST=n[7-9]", "SLURM_PROCID=0"}, "mpi 1/4 - n7:8888", {0}},
    {{OMPI("1", "4")}, "! OMPI_COMM_WORLD_RANK: does not say where rank 0 runs", {0}},
    {{OMPI("4", "4")}, "! OMPI_COMM_WORLD_RANK: found 4", {0}},
    {{OMPI("0", "0")}, "! OMPI_COMM_WORLD_SIZE: found 0", {0}},
    {{OMPI("0", "1000000")}, "! OMPI_COMM_WORLD_SIZE: found 1000000", {0}},
    {{OMPI("0", "2"), "OMPI_COMM_WORLD_LOCAL_RANK=2", "OMPI_COMM_WORLD_LOCAL_SIZE=2"},
     "! OMPI_COMM_WORLD_LOCAL_RANK: found 2",
     {0}},
    {{OMPI("1", "2"), "MASTER_ADDR=a b"}, "! MASTER_ADDR: this is no address", {0}},
    {{"PMI_RANK=2", "PMI_SIZE=3", "MPI_LOCALRANKID=2", "MPI_LOCALNRANKS=3"}, "mpi 2/3 127.0.0.1:8890", {0}},
    {{"PMI_RANK=2", "PMI_SIZE=3", "MASTER_ADDR=h"}, "mpi 2/3 - h:8888", {0}},
    {{"PMI_RANK=2", "PMI_SIZE=3"}, "! PMI_RANK: does not say where rank 0 runs", {0}},
    {{"PMI_RANK=2"}, "! PMI_RANK: one process of MPI", {0}},
    {{"PMI_RANK=0"}, "! PMI_RANK: one process of MPI", {0}},
    {{OMPI("0", "60000"), "OMPI_COMM_WORLD_LOCAL_RANK=0", "OMPI_COMM_WORLD_LOCAL_SIZE=60000"},
     "! OMPI_COMM_WORLD_RANK: not enough ports",
     {0}},
    /* srun --mpi: the same tasks, and Slurm names the hosts */
    {{"PMI_RANK=1", "PMI_SIZE=2", "SLURM_PROCID=1", "SLURM_STEP_NUM_TASKS=2", "SLURM_STEP_NODELIST=a,b",
      "SLURM_STEP_TASKS_PER_NODE=1(x2)"},
     "slurm 1/2 b:8888",
     {0}},
    /* mpirun in an allocation: its daemons are the step */
    {{OMPI("3", "4"), "OMPI_COMM_WORLD_LOCAL_RANK=1", "OMPI_COMM_WORLD_LOCAL_SIZE=2", "SLURM_PROCID=0",
      "SLURM_STEP_NUM_TASKS=1", "SLURM_STEP_NODELIST=b", "SLURM_STEP_TASKS_PER_NODE=1", "SLURM_JOB_NODELIST=a,b"},
     "mpi 3/4 - a:8888",
     {0}},
};

#define TORCH(rank, size) "RANK=" rank, "WORLD_SIZE=" size, "MASTER_ADDR=m", "MASTER_PORT=29400"

static const resolve_case torchrun[] = {
    {{TORCH("0", "1")}, "torchrun 0/1 -", {0}},
    {{TORCH("1", "2")}, "torchrun 1/2 - m:29400", {0}},
    {{TORCH("1", "2"), "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=2", "TORCHELASTIC_RUN_ID=none",
      "TORCHELASTIC_USE_AGENT_STORE=True"},
     "torchrun 1/2 - m:29401",
     {0}},
    {{TORCH("1", "2"), "TORCHELASTIC_USE_AGENT_STORE=False"}, "torchrun 1/2 - m:29400", {0}},
    {{"RANK=1", "WORLD_SIZE=2", "MASTER_ADDR=m"}, "torchrun 1/2 - m:29500", {0}},
    {{"RANK=1", "WORLD_SIZE=2", "MASTER_ADDR=::1"}, "torchrun 1/2 - [::1]:29500", {0}},
    {{"RANK=1", "WORLD_SIZE=2", "MASTER_ADDR=[::1]"}, "torchrun 1/2 - [::1]:29500", {0}},
    {{TORCH("1", "2"), "ARTEL_RENDEZVOUS=x:5"}, "torchrun 1/2 - x:5", {0}},
    {{"WORLD_SIZE=2", "MASTER_ADDR=m"}, "none 0/1 -", {0}},
    {{"RANK=1", "WORLD_SIZE=2"}, "! RANK: one process of 2", {0}},
    {{TORCH("2", "2")}, "! RANK: found 2", {0}},
    {{TORCH("x", "2")}, "! RANK: found x", {0}},
    {{TORCH("0", "99999999999999999999")}, "! WORLD_SIZE: found 9999", {0}},
    {{"RANK=0", "WORLD_SIZE=2", "MASTER_ADDR=m", "MASTER_PORT=0"}, "! MASTER_PORT: found 0", {0}},
    {{"RANK=0", "WORLD_SIZE=2", "MASTER_ADDR=m m"}, "! MASTER_ADDR: no address", {0}},
    {{TORCH("0", "2"), "LOCAL_RANK=2", "LOCAL_WORLD_SIZE=2"}, "! LOCAL_RANK: found 2", {0}},
    {{TORCH("0", "2"), "LOCAL_RANK=2", "LOCAL_WORLD_SIZE=3"}, "! LOCAL_WORLD_SIZE: found 3", {0}},
    /* within a Slurm step */
    {{TORCH("3", "4"), "SLURM_PROCID=1", "SLURM_STEP_NUM_TASKS=2", "SLURM_STEP_NODELIST=a,b",
      "SLURM_STEP_TASKS_PER_NODE=1(x2)"},
     "torchrun 3/4 - m:29400",
     {0}},
    /* exported for srun: RANK is missing */
    {{"WORLD_SIZE=2", "MASTER_ADDR=a", "SLURM_PROCID=1", "SLURM_STEP_NUM_TASKS=2", "SLURM_STEP_NODELIST=a,b",
      "SLURM_STEP_TASKS_PER_NODE=1(x2)"},
     "slurm 1/2 b:8888",
     {0}},
};

static const resolve_case kubernetes[] = {
    {{"JOB_COMPLETION_INDEX=1", "HOSTNAME=train-1", "ARTEL_SERVICE=svc", "ARTEL_WORKERS=3"},
     "kubernetes 1/3 train-1.svc:8888",
     {0}},
    {{"JOB_COMPLETION_INDEX=1", "HOSTNAME=train-1"},
     "kubernetes 1/3 train-1.svc:99",
     {.service = "svc", .workers = 3, .port = 99}},
    {{"JOB_COMPLETION_INDEX=12", "HOSTNAME=a-1-12.svc.ns.svc.cluster.local", "ARTEL_SERVICE=svc.ns",
      "ARTEL_WORKERS=13"},
     "kubernetes 12/13 a-1-12.svc.ns:8888",
     {0}},
    {{"JOB_COMPLETION_INDEX=0", "ARTEL_SERVICE=svc", "ARTEL_WORKERS=1"},
     "kubernetes 0/1 h-0.svc:8888",
     {.hostname = "h-0"}},
    {{"JOB_COMPLETION_INDEX=1", "HOSTNAME=train-1"}, "none 0/1 -", {0}},
    {{"JOB_COMPLETION_INDEX=1", "HOSTNAME=train-1", "ARTEL_SERVICE=svc"}, "! ARTEL_WORKERS: not set", {0}},
    {{"JOB_COMPLETION_INDEX=3", "HOSTNAME=train-3", "ARTEL_SERVICE=svc", "ARTEL_WORKERS=3"},
     "! JOB_COMPLETION_INDEX: found 3",
     {0}},
    {{"JOB_COMPLETION_INDEX=1", "HOSTNAME=train-2", "ARTEL_SERVICE=svc", "ARTEL_WORKERS=3"},
     "! HOSTNAME: not <job>-1",
     {0}},
    {{"JOB_COMPLETION_INDEX=1", "HOSTNAME=-1", "ARTEL_SERVICE=svc", "ARTEL_WORKERS=3"}, "! HOSTNAME: not <job>-1", {0}},
    {{"JOB_COMPLETION_INDEX=1", "ARTEL_SERVICE=svc", "ARTEL_WORKERS=3"}, "! HOSTNAME: not <job>-1", {0}},
    {{"JOB_COMPLETION_INDEX=1", "HOSTNAME=t-1", "ARTEL_SERVICE=s/vc", "ARTEL_WORKERS=3"},
     "! JOB_COMPLETION_INDEX: a character",
     {0}},
    {{"JOB_COMPLETION_INDEX=1", "HOSTNAME=t-1", "ARTEL_SERVICE=svc", "ARTEL_WORKERS=0"},
     "! ARTEL_WORKERS: found 0",
     {0}},
    /* TF_CONFIG is said on purpose */
    {{"JOB_COMPLETION_INDEX=1", "HOSTNAME=t-1", "ARTEL_SERVICE=svc", "ARTEL_WORKERS=3",
      "TF_CONFIG={" TWO "," TASK("worker", "0") "}"},
     "tf-config 0/2 a:1",
     {0}},
};

static const resolve_case order[] = {
    {{NULL}, "none 0/1 -", {0}},
    {{"TF_CONFIG={" TWO "," TASK("worker", "1") "}", TORCH("0", "2"), OMPI("0", "1")}, "tf-config 1/2 b:1", {0}},
    {{"TF_CONFIG={" TWO "," TASK("worker", "1") "}", TORCH("0", "2"), OMPI("0", "1")},
     "torchrun 0/2 - m:29400",
     {.resolver = "torchrun"}},
    {{"TF_CONFIG={" TWO "," TASK("worker", "1") "}", TORCH("0", "2"), OMPI("0", "1"), "ARTEL_RESOLVER=mpi"},
     "mpi 0/1 -",
     {0}},
    {{"TF_CONFIG={" TWO "," TASK("worker", "1") "}", TORCH("0", "2"), OMPI("0", "1")},
     "none 0/1 -",
     {.resolver = "none"}},
    {{TORCH("0", "2"), OMPI("0", "1")}, "torchrun 0/2 - m:29400", {0}},
    {{NULL}, "! .resolver: there is no resolver slrum", {.resolver = "slrum"}},
    {{NULL}, "! .task: no cluster is described", {.task = "worker:0"}},
    {{OMPI("0", "1")}, "! .task: already known from mpi", {.task = "worker:0"}},
    {{NULL}, "! SLURM_STEP_NODELIST: not set", {.resolver = "slurm"}},
    {{NULL}, "! WORLD_SIZE: not set", {.resolver = "torchrun"}},
    {{NULL}, "! OMPI_COMM_WORLD_SIZE: not set", {.resolver = "mpi"}},
    {{NULL}, "! ARTEL_SERVICE: not set", {.resolver = "kubernetes"}},
    {{NULL}, "! .file: not given", {.resolver = "file"}},
    {{NULL}, "tf-config 0/1 -", {.resolver = "tf-config"}},
    {{"ARTEL_PORT=x"}, "! ARTEL_PORT: found x", {0}},
    {{"ARTEL_PORT=70000"}, "! ARTEL_PORT: found 70000", {0}},
};

static void test_tf_config(void **state)
{
    resolve_run(*state, tf_config, ARTEL__COUNT(tf_config));
}

static void test_slurm(void **state)
{
    resolve_run(*state, slurm, ARTEL__COUNT(slurm));
}

static void test_mpi(void **state)
{
    resolve_run(*state, mpi, ARTEL__COUNT(mpi));
}

static void test_torchrun(void **state)
{
    resolve_run(*state, torchrun, ARTEL__COUNT(torchrun));
}

static void test_kubernetes(void **state)
{
    resolve_run(*state, kubernetes, ARTEL__COUNT(kubernetes));
}

static void test_order(void **state)
{
    resolve_run(*state, order, ARTEL__COUNT(order));
}

/* Large things: a TF_CONFIG of 20,000 workers, one nested beyond reason, a Slurm step of 100,000 nodes. */
static void test_large(void **state)
{
    artel__text text;
    char found[2048];
    artel__text_init(&text, *state);
    artel__text_append(&text, "TF_CONFIG={\"cluster\":{\"worker\":[");
    for (int i = 0; i < 20000; i++) artel__text_printf(&text, "%s\"host-%d.example:2222\"", i ? "," : "", i);
    artel__text_append(&text, "]},\"task\":{\"type\":\"worker\",\"index\":19999}}");
    resolve_case c = {{text.data}, "", {0}};
    resolve_answer(*state, &c, found, sizeof found);
    assert_string_equal(found, "tf-config 19999/20000 host-19999.example:2222");
    artel__text_clear(&text);
    artel__text_append(&text, "TF_CONFIG=");
    for (int i = 0; i < 100000; i++) artel__text_append(&text, "[");
    c.variable[0] = text.data;
    resolve_answer(*state, &c, found, sizeof found);
    assert_int_equal(strncmp(found, "! TF_CONFIG: ", 13), 0);
    artel__text_fini(&text);
    static const resolve_case many = {
        SLURM("99999", "100000", "node[000001-100000]", "1(x100000)"), "slurm 99999/100000 node100000:8888", {0}};
    resolve_run(*state, &many, 1);
    static const resolve_case wide = {{"SLURM_PROCID=99999", "SLURM_STEP_NUM_TASKS=131072",
                                       "SLURM_STEP_NODELIST=n[1-131072]", "SLURM_STEP_TASKS_PER_NODE=1(x131072)",
                                       "SLURM_DISTRIBUTION=cyclic"},
                                      "slurm 99999/131072 n100000:8888",
                                      {0}};
    resolve_run(*state, &wide, 1);
}

/* -- files -- */

typedef struct file_case {
    const char *text, *task, *host, *expected;
} file_case;

static const file_case files[] = {
    {"a:1\nb:2\n", "worker:1", NULL, "file 1/2 b:2"},
    {"a:1\nb:2", NULL, "b", "file 1/2 b:2"},
    {"a.example.com:1\nb.example.com:2", NULL, "b.example.com", "file 1/2 b.example.com:2"},
    {"a:1\nb:2", NULL, "b.example.com", "file 1/2 b:2"},
    {"a:1\nb:2", NULL, "c", "! FILE: 0 of its 2 tasks are on this host, c"},
    {"a:1\na:2", NULL, "a", "! FILE: 2 of its 2 tasks are on this host, a"},
    {"a\na\nb\n", "worker:1", NULL, "file 1/3 a:8889"},
    {"# c\n\n  chief a:1 # one\r\n\tworker b\nps c:1\n", "worker:0", NULL, "file 1/2 b:8888"},
    {"[::1]:7\n", "worker:0", NULL, "file 0/1 [::1]:7"},
    {"[::1]\n[::1]\n[::2]\n", "worker:1", NULL, "file 1/3 [::1]:8889"},
    {"worker a:1 b:1\n", "worker:0", NULL, "! FILE: line 1: too many words"},
    {"gpu a:1\n", "worker:0", NULL, "! FILE: line 1: an unknown task type"},
    {"a:1\nb:x\n", "worker:0", NULL, "! FILE: the address of worker 1 is no address"},
    {"a:1\na:1\n", "worker:0", NULL, "! FILE: same address"},
    {"", "worker:0", NULL, "! FILE: there are no tasks"},
    {"# nothing\n", "worker:0", NULL, "! FILE: there are no tasks"},
    {"\x7f"
     "ELF",
     "worker:0", NULL, "! FILE: not a text file"},
    {"{\"worker\": [\"a:1\", \"b:1\"]}", "worker:1", NULL, "file 1/2 b:1"},
    {"{\"cluster\": {\"worker\": [\"a:1\", \"b:1\"]}, \"task\": {\"type\": \"worker\", \"index\": 1}}", NULL, NULL,
     "file 1/2 b:1"},
    {"{\"cluster\": {\"worker\": [\"a:1\", \"b:1\"]}}", NULL, "a", "file 0/2 a:1"},
    {"{\"cluster\": 3}", "worker:0", NULL, "! FILE: the cluster is not an object"},
    {"{\"worker\": [\"a:1\"", "worker:0", NULL, "! FILE: "},
    {"{}", "worker:0", NULL, "! FILE: nobody trains"},
};

static void test_files(void **state)
{
    char path[] = "/tmp/artel-cluster-XXXXXX", found[2048], expected[256];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    for (size_t i = 0; i < ARTEL__COUNT(files); i++) {
        const file_case *f = &files[i];
        const resolve_case c = {{"TF_CONFIG=garbage"}, "", {.file = path, .task = f->task, .hostname = f->host}};
        assert_int_equal(artel__write_file(*state, path, f->text, strlen(f->text)), ARTEL_OK);
        resolve_answer(*state, &c, found, sizeof found);
        if (strncmp(f->expected, "! FILE", 6) == 0)
            snprintf(expected, sizeof expected, "! %s%s", path, f->expected + 6);
        else
            snprintf(expected, sizeof expected, "%s", f->expected);
        if (!resolve_fits(expected, found)) fail_msg("file %zu: expected %s, found %s", i, expected, found);
    }
    unlink(path);
    const resolve_case gone = {{NULL}, "! /tmp/artel-cluster: cannot open", {.file = path, .task = "worker:0"}};
    resolve_run(*state, &gone, 1);
}

/* Each allocation fails once; nothing leaks (the sanitizer looks). */
static void test_memory(void **state)
{
    const resolve_case *const cases[] = {&tf_config[7], &slurm[3], &mpi[7], &torchrun[2], &kubernetes[0]};
    for (size_t i = 0; i < ARTEL__COUNT(cases); i++) {
        for (uint64_t n = 1;; n++) {
            artel__cluster cluster;
            artel__operation_begin(*state);
            artel__fail_allocation_after(*state, n);
            artel_status status =
                artel__cluster_resolve(*state, resolve_look, (void *)cases[i]->variable, &cases[i]->options, &cluster);
            artel__fail_allocation_after(*state, 0);
            if (status == ARTEL_OK) {
                artel__cluster_fini(&cluster);
                break;
            }
            assert_int_equal(status, ARTEL_ERROR_NO_MEMORY);
            assert_true(n < 200);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_tf_config, resolve_set_up, resolve_tear_down),
        cmocka_unit_test_setup_teardown(test_slurm, resolve_set_up, resolve_tear_down),
        cmocka_unit_test_setup_teardown(test_mpi, resolve_set_up, resolve_tear_down),
        cmocka_unit_test_setup_teardown(test_torchrun, resolve_set_up, resolve_tear_down),
        cmocka_unit_test_setup_teardown(test_kubernetes, resolve_set_up, resolve_tear_down),
        cmocka_unit_test_setup_teardown(test_order, resolve_set_up, resolve_tear_down),
        cmocka_unit_test_setup_teardown(test_large, resolve_set_up, resolve_tear_down),
        cmocka_unit_test_setup_teardown(test_files, resolve_set_up, resolve_tear_down),
        cmocka_unit_test_setup_teardown(test_memory, resolve_set_up, resolve_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
