"""The garbage collector does not walk through everything while a large package is imported."""

import gc
import platform
import subprocess
import sys
from collections.abc import Iterator

import pytest

from engine.platform.garbage import collect_rarely, collect_young, importing_package


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)


def full_collections() -> int:
    return int(gc.get_stats()[2]["collections"])


def test_no_full_collection_falls_into_an_import_and_its_objects_are_frozen() -> None:
    gc.set_threshold(50, 2, 2)
    gc.collect()
    before = full_collections()

    with importing_package():
        made = [[number] for number in range(20_000)]
        assert full_collections() == before

    assert gc.get_freeze_count() >= len(made)
    assert gc.get_threshold() == (50, 2, 2)


def test_two_imports_at_once_leave_the_thresholds_as_they_were() -> None:
    gc.set_threshold(700, 10, 7)

    first, second = importing_package(), importing_package()
    for one in (first, second):
        one.__enter__()
    first.__exit__(None, None, None)
    assert gc.get_threshold()[2] > 7
    second.__exit__(None, None, None)

    assert gc.get_threshold() == (700, 10, 7)


def test_new_objects_are_looked_through_when_told_and_older_ones_never_by_themselves() -> None:
    collect_rarely(is_manual=True)
    older, before = gc.get_stats()[1]["collections"], gc.get_stats()[0]["collections"]

    kept = []
    for _ in range(100):
        kept.append([[number] for number in range(10_000)])
        collect_young()
    assert gc.get_stats()[0]["collections"] - before >= 100
    assert gc.get_stats()[1]["collections"] == older
    before = gc.get_stats()[0]["collections"]
    collect_young()
    assert gc.get_stats()[0]["collections"] == before
    assert len(kept) == 100


LARGE = """
from pathlib import Path
from engine.platform.garbage import keep_memory_small

keep_memory_small()
text = "x" * 20_000_000
del text
blocks = ["y" * 1_000_000 for _ in range(20)]
pages = lambda: int(Path("/proc/self/statm").read_text().split()[1])
before = pages()
del blocks[::2]
print((before - pages()) * 4096)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have no such bound")
def test_large_blocks_are_given_back_also_between_others_and_after_a_larger_one() -> None:
    ran = subprocess.run([sys.executable, "-P", "-c", LARGE], capture_output=True, text=True, check=True)

    assert int(ran.stdout) > 8_000_000


SHARED = """
import threading
from pathlib import Path
from engine.platform.garbage import keep_memory_small

keep_memory_small()
kept = []
made = lambda: [bytes(1_000) for _ in range(20_000)]
reads = threading.Thread(target=lambda: kept.append(made()[::50]))
reads.start()
reads.join()
pages = lambda: int(Path("/proc/self/statm").read_text().split()[1])
before = pages()
kept.append(made())
print((pages() - before) * 4096)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have one heap")
def test_what_a_thread_has_freed_another_uses() -> None:
    ran = subprocess.run([sys.executable, "-P", "-c", SHARED], capture_output=True, text=True, check=True)

    assert int(ran.stdout) < 5_000_000


SCATTERED = """
from pathlib import Path
from engine.platform.garbage import collect_all

blocks = [bytes(1_000) for _ in range(20_000)]
pages = lambda: int(Path("/proc/self/statm").read_text().split()[1])
before = pages()
del blocks[:-1]
collect_all()
print((before - pages()) * 4096)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have a heap of their own kind")
def test_what_is_free_below_a_block_in_use_is_given_back_by_a_full_collection() -> None:
    ran = subprocess.run([sys.executable, "-P", "-c", SCATTERED], capture_output=True, text=True, check=True)

    assert int(ran.stdout) > 15_000_000
