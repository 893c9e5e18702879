"""A server gives tasks to workers, each as soon as its answer has come: a program outside the simulation."""

import fabricsim

SERVER, TASK, ANSWER = 0, 4 << 10, 4 << 10
STEP_PS = 1_000_000  # How often the server looks.


def tasks_per_worker(workers: int, tasks: int) -> dict[int, int]:
    """The number of tasks that each worker gets."""
    network = {
        "topology": {"kind": "torus", "sizes": [4, 4], "hosts_per_router": 4},
        "routing": {"algorithm": "dimension-order"},
        "link": {"bandwidth": "100 Gbps"},
    }
    done = {worker: 0 for worker in range(1, workers + 1)}
    asked: dict[int, int] = {}  # Worker by number of the message with its task.
    answered: dict[int, int] = {}  # Worker by number of its answer.
    with fabricsim.Session({"network": network}) as session:
        for worker in done:
            asked[session.send(SERVER, worker, TASK, at_ps=0)] = worker
        given = workers
        while asked or answered:
            for message, time_ps in session.advance(session.now_ps + STEP_PS):
                if worker := asked.pop(message, 0):
                    # Tasks of workers with greater numbers take longer.
                    ready = max(time_ps + 10_000_000 * worker, session.now_ps)
                    answered[session.send(worker, SERVER, ANSWER, at_ps=ready)] = worker
                    continue
                worker = answered.pop(message)
                done[worker] += 1
                if given < tasks:
                    given += 1
                    asked[session.send(SERVER, worker, TASK, at_ps=session.now_ps)] = worker
        print(f"{sum(done.values())} tasks in {session.now_ps / 1e6:.0f} us")
    return done


if __name__ == "__main__":
    for worker, count in tasks_per_worker(workers=30, tasks=600).items():
        print(f"worker {worker}: {count}")
