"""Many tasks over few workers: one call, then the same by hand, with a failure that is given to another worker.

With `QUARTERDECK_MODEL=openai/gpt-4o-mini` and a key a real model plans and answers in the first call; without it,
scripted answers.
"""

from quarterdeck import CoordinatorAgent, SharedMemoryPool, SupervisorAgent, WorkerAgent, supervisor_worker_workflow

REVIEWS = ["Lovely tea, I will come back", "Cold soup and a rude waiter", "???", "Lovely tea, I will come back", "Good"]


def mood(text: str) -> str:
    """Judge a review by its words."""
    if not any(letter.isalpha() for letter in text):
        raise ValueError(f"no words in {text!r}")
    return "bad" if {"cold", "rude"} & {*text.lower().split()} else "good"


def guess(text: str) -> str:
    """Judge what has no words."""
    return "puzzled"


def main() -> None:
    result = supervisor_worker_workflow("Find the mood of 100 customer reviews", num_workers=5, num_tasks=100)
    print(len(result["tasks"]), len(result["results"]), result["final_result"].splitlines()[0])

    with SharedMemoryPool() as pool:  # SharedMemoryPool("reviews.db") keeps everything in a file
        supervisor = SupervisorAgent(pool, planner=lambda request, count: REVIEWS)
        coordinator = CoordinatorAgent(pool)
        for number in (1, 2):
            WorkerAgent(pool, f"worker_{number}", run=mood)
        backup = WorkerAgent(pool, "backup", run=guess)

        tasks = supervisor.delegate("Find the mood", available_workers=[("worker_1", 2), ("worker_2", 1)])
        print([task["assigned_to"] for task in tasks])
        whole = supervisor.aggregate_results(tasks[0]["request_id"])
        print([result["content"] for result in whole["results"]])
        for conflict in coordinator.resolve_conflicts()["resolutions"]:
            print(f"asked for {len(conflict['workers'])} times, done once by {conflict['kept']}")

        for failure in supervisor.check_failures(tasks[0]["request_id"]):
            print("failed:", failure["content"])
            again = supervisor.reassign_task(failure["metadata"], new_worker="backup")
            print(f"{backup.name}: {backup.execute_task(again)['result']}")
        progress = coordinator.monitor_progress()
        print(progress["completed_tasks"], "completed,", progress["failed_tasks"], "failed")


if __name__ == "__main__":
    main()
