"""The hash that ties each record to the one before, so that a torn or edited file is found."""

from hashlib import blake2b

from store.records import Record, Row

HASH_BYTES = 16


def anchor_of(file_id: str) -> bytes:
    """What the first record of a file is tied to: rows moved from another file do not fit."""
    return blake2b(file_id.encode(), digest_size=HASH_BYTES).digest()


def linked(previous: bytes, seq: int, row: Row | Record) -> bytes:
    """Hash of one record.

    Args:
        previous: Hash of the record before, or the anchor.
        seq: Place of this one.
        row: What it holds.

    Returns:
        16 bytes.

    Raises:
        ValueError: If its kind or an id holds a NUL, which would make two records look alike.
    """
    run, task, agent = row.run_id, row.task_id, row.agent_id
    # "=" tells an empty id from none.
    head = (
        f"{seq}\0{row.at_ms}\0{row.kind}\0{'' if run is None else '=' + run}"
        f"\0{'' if task is None else '=' + task}\0{'' if agent is None else '=' + agent}\0"
    )
    if head.count("\0") != 6:
        raise ValueError(f"the kind and ids of record {seq} must not hold a NUL character")
    return blake2b(previous + head.encode() + row.body, digest_size=HASH_BYTES).digest()
