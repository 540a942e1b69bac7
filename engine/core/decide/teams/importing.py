"""Decides on imports: a state in one piece, or an archive in parts, so that other messages are not delayed."""

from msgspec import Raw

from engine.core import events
from engine.core.commands import ImportState
from engine.core.decide.people.trust import trust_references
from engine.core.decisions.decision_context import DecisionContext
from engine.core.decisions.outcomes import Decided
from engine.core.documents.importing import compact_ids, raise_ids
from engine.core.encoding.codec import decode_state, encode_state
from engine.core.errors import Refused
from engine.core.events import Event
from engine.core.records.records import copy_with
from engine.core.records.values import pluralize
from engine.core.signals import ArchiveChecked, PartRead, StateReady, StateUnusable
from engine.core.state import State

KINDS = ("agents", "supervisors", "runs", "tasks")
"""Kinds of entities whose numbers the result reports."""


def import_state(state: State, command: ImportState, ctx: DecisionContext) -> Decided:
    """Refuse the order: the shell handles it before the core, unless it cannot read archives."""
    raise Refused("this engine cannot read archives here; import into a database with: quarterdeck import")


def archive_checked(state: State, signal: ArchiveChecked, ctx: DecisionContext) -> list[Event]:
    """Reserve the ids of an archive whose parts are to follow."""
    if signal.order_id in state.commands:
        return []
    try:
        trust = _trust_code(state, signal, signal.references, ctx)
    except Refused as refusal:
        return [_refused_event(signal, refusal.code, refusal.reason)]
    began = events.ImportBegan(
        command_id=signal.order_id, path=signal.path, sha256=signal.sha256, above=dict(state.minted), last=signal.last
    )
    return [*trust, began]


def part_read(state: State, signal: PartRead, ctx: DecisionContext) -> list[Event]:
    """Accept a part of an archive, with its ids raised above those in use here."""
    incoming = state.incoming
    if incoming is None or incoming.command_id != signal.order_id:
        return []
    part = decode_state(signal.state)
    raise_ids(part, incoming.above, used_names={root.name for root in (*state.roots, *incoming.state.roots)})
    kind = events.SummariesImported if part.finished else events.PartImported
    return [kind(state=Raw(encode_state(part)), texts=signal.texts)]


def state_ready(state: State, signal: StateReady, ctx: DecisionContext) -> list[Event]:
    """Import a checked state, or complete an archive that came in parts."""
    if signal.order_id in state.commands:
        return []
    incoming = state.incoming
    if incoming is not None and incoming.command_id == signal.order_id:
        counts = {kind: len(getattr(incoming.state, kind)) for kind in KINDS}
        return [_imported_event(signal, signal.state), _applied_event(signal, counts)]
    try:
        trust = _trust_code(state, signal, signal.references, ctx)
    except Refused as refusal:
        return [_refused_event(signal, refusal.code, refusal.reason)]
    document = signal.state
    # Compact first: raising the ids above those in use here would keep the gaps between them.
    if state.minted:
        incoming_state = decode_state(document)
        compact_ids(incoming_state)
        raise_ids(incoming_state, state.minted, used_names={root.name for root in state.roots})
        document = Raw(encode_state(incoming_state))
    return [*trust, _imported_event(signal, document), _applied_event(signal, signal.counts)]


def state_unusable(state: State, signal: StateUnusable, ctx: DecisionContext) -> list[Event]:
    """Refuse the import of an archive with a reason."""
    if signal.order_id in state.commands:
        return []
    return [_refused_event(signal, "import_refused", signal.reason)]


def _trust_code(
    state: State, signal: ArchiveChecked | StateReady, references: list[str], ctx: DecisionContext
) -> list[Event]:
    """Return the events that allow the code of a state.

    Raises:
        NotTrusted: If some of it is not allowed.
        Refused: If another archive is being taken in.
    """
    if state.incoming is not None:
        raise Refused("another archive is being imported; import this one afterwards")
    return trust_references(state, references, copy_with(ctx, granted=signal.granted))


def _imported_event(signal: StateReady, document: Raw) -> Event:
    return events.StateImported(
        path=signal.path, sha256=signal.sha256, paused=signal.paused, state=document, texts=signal.texts
    )


def _applied_event(signal: StateReady, counts: dict[str, int]) -> Event:
    return events.CommandApplied(
        command_id=signal.order_id,
        command="import_state",
        sender=signal.sender,
        role=signal.role,
        summary=f"imported {pluralize(counts['agents'], 'agent')} and {pluralize(counts['runs'], 'open run')}",
        result={**{kind: counts[kind] for kind in KINDS}, "paused": signal.paused},
        args={"path": signal.path, "sha256": signal.sha256, "paused": signal.paused},
    )


def _refused_event(
    signal: ArchiveChecked | StateReady | StateUnusable, code: str, reason: str
) -> events.CommandRefused:
    return events.CommandRefused(
        command_id=signal.order_id,
        command="import_state",
        sender=signal.sender,
        role=signal.role,
        code=code,
        reason=reason,
    )
