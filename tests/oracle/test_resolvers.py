# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""Who is who, beside TensorFlow's own resolvers: TFConfigClusterResolver with multi_worker_util, SlurmClusterResolver.

Each case is an environment. `artel check --cluster --json` must name the same tasks, addresses, chief and ids, or refuse
where TensorFlow's validation refuses. The differences that are meant stand in STRICTER and in `tensorflow_order`.
"""

import json
import os
import subprocess
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["CUDA_VISIBLE_DEVICES"] = ""

ARTEL = os.environ.get("ARTEL", os.path.join(os.path.dirname(__file__), "..", "..", "build", "artel"))
FOREIGN = ("TF_CONFIG", "SLURM", "OMPI", "PMI", "MPI", "RANK", "WORLD", "MASTER", "TORCH", "JOB_", "ARTEL_")


def artel(env):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(FOREIGN)}
    ran = subprocess.run([ARTEL, "check", "--cluster", "--json"], env={**clean, **env}, capture_output=True, text=True, timeout=60)
    if ran.returncode not in (0, 1):
        raise AssertionError(f"exit code {ran.returncode}: {ran.stderr}")
    return (json.loads(ran.stdout), "") if ran.returncode == 0 else (None, ran.stderr.strip())


def normal(jobs):
    """ClusterSpec.as_dict() and ours with one spelling: job -> {index: address}."""
    out = {}
    for job, tasks in jobs.items():
        tasks = {int(i): a for i, a in tasks.items()} if isinstance(tasks, dict) else dict(enumerate(tasks))
        if tasks:
            out[job] = tasks
    return out


def config(cluster, kind="worker", index=0, **more):
    return json.dumps({"cluster": cluster, "task": {"type": kind, "index": index}, **more})


def hosts(*names):
    return [n + ":2222" for n in names]


TF_CONFIGS = [
    config({"worker": hosts("a")}),
    config({"worker": hosts("a", "b")}),
    config({"worker": hosts("a", "b")}, index=1),
    config({"worker": hosts("a", "b")}, index="1"),
    config({"chief": hosts("a"), "worker": hosts("b", "c")}, "chief"),
    config({"chief": hosts("a"), "worker": hosts("b", "c")}, "worker", 0),
    config({"chief": hosts("a"), "worker": hosts("b", "c")}, "worker", 1, environment="cloud"),
    config({"chief": hosts("a"), "worker": hosts("b"), "ps": hosts("c", "d")}, "ps", 1),
    config({"chief": hosts("a"), "worker": hosts("b"), "evaluator": hosts("e")}, "evaluator"),
    config({"chief": hosts("a"), "worker": hosts("b")}, "evaluator"),
    config({"evaluator": hosts("e")}, "evaluator"),
    config({"worker": {"0": "a:1", "1": "b:1"}}, index=1),
    config({"worker": hosts(*[f"tf-worker-{i}.default.svc" for i in range(300)])}, index=299, rpc_layer="grpc"),
    config({"worker": hosts("a"), "ps": []}),
    "{}",
    '{"cluster": {}}',
    # refused by TensorFlow's validation
    config({"worker": hosts("a", "b")}, index=2),
    config({"worker": hosts("a", "b")}, "ps"),
    config({"worker": hosts("a", "b")}, "chief"),
    config({"worker": hosts("a", "b")}, "gpu"),
    config({"worker": hosts("a"), "gpu": hosts("b")}),
    config({"chief": hosts("a", "b")}, "chief"),
    config({"worker": hosts("a"), "evaluator": hosts("b", "c")}),
    config({"worker": hosts("a"), "evaluator": hosts("b")}, "evaluator", 1),
    config({"worker": {"x": "a:1"}}),
    config({"worker": 7}),
    config({"worker": hosts("a", "b")}, index="x"),
    json.dumps({"cluster": {"worker": hosts("a", "b")}}),
    json.dumps({"cluster": {"worker": hosts("a", "b")}, "task": {"type": "worker"}}),
    json.dumps({"cluster": {"worker": hosts("a", "b")}, "task": {"index": 0}}),
    "garbage",
    "[",
]

# Accepted by TensorFlow, refused here: what it runs into later.
STRICTER = [
    (config({"worker": ["a:1", "a:1"]}), "same address"),
    (config({"worker": ["a", "b:1"]}), "port is missing"),
    (config({"worker": hosts("a", "b")}, index=-1), "impossible"),
    (config({"ps": hosts("a")}, "ps"), "nobody trains"),
    (config({"worker": {"0": "a:1", "00": "b:1"}}), "twice"),
]

# rank, count, nodes, tasks per node
SLURM = [
    (0, 1, "n1", "1"),
    (1, 4, "n[1-2]", "2(x2)"),
    (3, 4, "n[1-4]", "1(x4)"),
    (4, 6, "m5,n[1-2]", "1,3,2"),
    (5, 6, "m5,n[1-2]", "1,3,2"),
    (2, 10, "n[01-10]", "1(x10)"),
    (10, 12, "a[1-3],b[4,6,8-9]", "2(x5),1,1"),
    (1, 4, "rack1-node[098-101]", "1(x4)"),
    (1, 4, "n[9-12]", "1(x4)"),  # TensorFlow sorts these: n10 n11 n12 n9
]


def tensorflow_config(text):
    """(jobs, is chief, id) or None where TensorFlow refuses."""
    from tensorflow.python.distribute import multi_worker_util as util
    from tensorflow.python.distribute.cluster_resolver.tfconfig_cluster_resolver import TFConfigClusterResolver

    os.environ["TF_CONFIG"] = text
    try:
        resolver = TFConfigClusterResolver()
        spec, kind, index = resolver.cluster_spec(), resolver.task_type, resolver.task_id
        if not spec:
            return {}, True, 0
        if kind is None or index is None:  # MultiWorkerMirroredStrategy's own check
            return None
        chief = util.is_chief(spec, kind, index)
        return normal(spec.as_dict()), chief, None if kind in ("ps", "evaluator") else util.id_in_cluster(spec, kind, index)
    except (ValueError, TypeError, KeyError):
        return None
    finally:
        del os.environ["TF_CONFIG"]


def check_config(text):
    wanted = tensorflow_config(text)
    found, message = artel({"TF_CONFIG": text})
    if wanted is None:
        assert found is None, f"TensorFlow refuses this, artel says {found}"
        assert message.startswith("artel: TF_CONFIG: "), message
        return
    assert found is not None, message
    jobs, chief, number = wanted
    if not jobs:
        assert found["single"] and found["rank"] == 0, found
        return
    assert normal(found["cluster"]) == jobs, (found["cluster"], jobs)
    assert found["chief"] == chief, found
    assert found["rank"] == (-1 if number is None else number), found


def tensorflow_slurm(env):
    from tensorflow.python.distribute.cluster_resolver import slurm_cluster_resolver as module

    os.environ.update(env)
    try:
        resolver = module.SlurmClusterResolver(gpus_per_node=64, gpus_per_task=1, auto_set_gpu=False)
        spec = resolver.cluster_spec()
        return spec.as_dict()["worker"], resolver.get_task_info(), module.expand_hostlist(env["SLURM_STEP_NODELIST"])
    finally:
        for name in env:
            del os.environ[name]


def check_slurm(rank, count, nodes, tasks):
    env = {"SLURM_PROCID": str(rank), "SLURM_STEP_NUM_TASKS": str(count), "SLURM_STEP_NODELIST": nodes, "SLURM_STEP_TASKS_PER_NODE": tasks}
    addresses, task, order = tensorflow_slurm(env)
    found, message = artel(env)
    assert found is not None, message
    ours = found["cluster"]["worker"]
    tensorflow_order = order == sorted(order)
    if tensorflow_order:
        assert ours == addresses, (ours, addresses)
    else:  # the same addresses, in Slurm's order instead of the alphabet's
        assert sorted(ours) == sorted(addresses), (ours, addresses)
        assert [a.split(":")[0] for a in ours if a.endswith(":8888")] == order, (ours, order)
    assert (found["task"]["type"], found["task"]["index"]) == task == ("worker", rank), found


def check_stricter(text, reason):
    found, message = artel({"TF_CONFIG": text})
    assert tensorflow_config(text) is not None, "TensorFlow refuses this too: move it to TF_CONFIGS"
    assert found is None and reason in message, (found, message)


def main():
    cases = [(f"tf_config-{i}", check_config, (text,)) for i, text in enumerate(TF_CONFIGS)]
    cases += [(f"slurm-{i}", check_slurm, row) for i, row in enumerate(SLURM)]
    cases += [(f"stricter-{i}", check_stricter, row) for i, row in enumerate(STRICTER)]
    wrong = 0
    for name, check, arguments in cases:
        try:
            check(*arguments)
        except AssertionError as error:
            print(f"{name} {str(arguments)[:200]}: {error}")
            wrong += 1
    print(f"{len(cases)} cases, {wrong} wrong")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
