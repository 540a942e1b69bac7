"""Asserts that a journal breaks no law of the simulation."""

from collections.abc import Iterable

from engine.core.events import Event
from engine.simulation.laws import LAWS, When
from engine.simulation.shadow_ledger import ShadowLedger

OF_A_SHELL = {"tokens_rise", "a_join_has_what_it_joins"}
"""Laws about leases and outputs of joins, which `World` invents."""


def assert_lawful(journal: Iterable[Event]) -> None:
    """Assert what laws say of each event, and once of the end: one that is too strict shows in such histories."""
    ledger = ShadowLedger()
    for event in journal:
        for law in (*LAWS.get(When.ON_EVERY_EVENT, ()), *LAWS.get(type(event), ())):
            fault = None if law.__name__ in OF_A_SHELL else law(ledger, event)
            assert fault is None, f"{law.__name__}: {fault}"
        ledger.take(event)
        ledger.batch.append(event)
    faults = [fault for law in LAWS[When.AFTER_BATCH] if (fault := law(ledger)) is not None]
    assert not faults, "; ".join(faults)
