"""Keys of queues: `Queue` says which there are."""


def own_queue(agent_id: str) -> str:
    """Return the key of the queue of tasks for one agent."""
    return f"agent:{agent_id}"


def back_queue(agent_id: str) -> str:
    """Return the key of the queue of attempts that wait for a slot to go on."""
    return f"back:{agent_id}"


def able_queue(supervisor_id: str, capability: str) -> str:
    """Return the key of the queue of tasks for any agent of a supervisor with a capability."""
    return f"able:{supervisor_id}:{capability}"


def shared_queue(supervisor_id: str, depth: int, capability: str) -> str:
    """Return the key of the queue of tasks for agents with a capability in all teams so many levels below."""
    return f"able:{supervisor_id}+{depth}:{capability}"


def is_shared(key: str) -> bool:
    """Return True for the key of a queue that several teams take from."""
    return key.startswith("able:") and "+" in key.split(":", 2)[1]


def turn_key(priority: int, queue: str) -> str:
    """Return the key under which a run remembers its last turn in a queue (`Run.turns`)."""
    return f"{priority} {queue}"
