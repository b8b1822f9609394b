"""Runs `recap-ray` on a Ray cluster of three nodes on this machine, and does to it what happens.

usage: ray_cluster.py RECAP_RAY NAME:ARGUMENTS...

Each run has a name, which says what happens to it while its first program replays away from the
head node: `kill` ends that node, `stop` interrupts recap-ray, and anything else nothing. Prints
what became of each as a line of JSON.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time

# Ray takes 127.0.0.1 as the address of this machine, as it does on macOS and Windows.
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"

from ray.cluster_utils import Cluster  # noqa: E402

# Seconds after which a run hangs.
LONGEST = 120
# Seconds after which an interrupt is sent again; what it ends waits up to 10 for its tasks.
AGAIN = 30


def told(pid, file):
    """What the system tells of a process; nothing if it is gone."""
    try:
        with open(f"/proc/{pid}/{file}") as opened:
            return opened.read()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def processes():
    """The parent and the name of each process."""
    found = {}
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        if stat := told(pid, "stat"):
            name, rest = stat.split("(", 1)[1].rsplit(")", 1)
            found[int(pid)] = (int(rest.split()[1]), name)
    return found


def send(pid, number):
    """Sends a signal to a process that may be gone."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def below(ancestor):
    """The processes that a process started, and those that they started."""
    all_of_them, found = processes(), []
    for pid in all_of_them:
        at = pid
        while at in all_of_them and at != ancestor:
            at = all_of_them[at][0]
        if at == ancestor and pid != ancestor:
            found.append((pid, all_of_them[pid][1]))
    return found


def replaying(nodes):
    """The first program that replays a shard on one of the nodes, held, and its node."""
    until = time.monotonic() + LONGEST
    while time.monotonic() < until:
        for node in nodes:
            for pid, name in below(raylet(node)):
                if name == "recap" and "--shard" in told(pid, "cmdline"):
                    send(pid, signal.SIGSTOP)
                    return pid, node
        time.sleep(0.005)
    raise TimeoutError("no shard was replayed away from the head node")


def raylet(node):
    return node.all_processes["raylet"][0].process.pid


def is_alive(pid):
    state = told(pid, "stat").rpartition(")")[2].split()
    return bool(state) and state[0] != "Z"


def disturb(name, run, nodes):
    """Does what the name says; the program that it hit."""
    if name not in ("kill", "stop"):
        return None
    program, node = replaying(nodes)
    if name == "kill":
        own = [pid for pid, _ in below(raylet(node))]
        for pid in [raylet(node), *own]:
            send(pid, signal.SIGKILL)
        nodes.remove(node)
    else:
        # The program stays held, so that the run cannot end before the interrupt reaches it.
        run.send_signal(signal.SIGINT)
    return program


def ended(run, name):
    """What a run that ends says on standard error. Ray may swallow an interrupt that meets it in
    a callback: then it comes again, as from a person who waits."""
    for _ in range(LONGEST // AGAIN - 1):
        with contextlib.suppress(subprocess.TimeoutExpired):
            return run.communicate(timeout=AGAIN)[1]
        if name == "stop":
            run.send_signal(signal.SIGINT)
    return run.communicate(timeout=AGAIN)[1]


def main(recap_ray, runs):
    # Each node has an address of its own, and recap-ray is on the first.
    usual = {"num_cpus": 1, "include_dashboard": False, "object_store_memory": 80_000_000}
    first, *others = [{**usual, "node_ip_address": f"127.0.0.{number}"} for number in (1, 2, 3)]
    cluster = Cluster(initialize_head=True, head_node_args=first)
    try:
        nodes = [cluster.add_node(**node) for node in others]
        for run in runs:
            name, arguments = run.split(":", 1)
            began = time.monotonic()
            command = [sys.executable, recap_ray, *arguments.split(), "--address", cluster.address]
            run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            try:
                program = disturb(name, run, nodes)
                err = ended(run, name)
            finally:
                run.kill()
            left = program is not None and is_alive(program)
            seconds = round(time.monotonic() - began, 1)
            about = {"name": name, "code": run.returncode, "err": err, "left": left}
            print(json.dumps({**about, "seconds": seconds, "nodes": 1 + len(nodes)}), flush=True)
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
