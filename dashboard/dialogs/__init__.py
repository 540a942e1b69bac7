"""Dialogs that confirm a change, each loaded on first use."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dashboard.dialogs.answer import AnswerDialog as AnswerDialog
    from dashboard.dialogs.bulk import BulkDialog as BulkDialog
    from dashboard.dialogs.dialog import Confirm as Confirm
    from dashboard.dialogs.dialog import ConfirmCancel as ConfirmCancel
    from dashboard.dialogs.dialog import HelpScreen as HelpScreen
    from dashboard.dialogs.edit import EditDialog as EditDialog
    from dashboard.dialogs.edit import NewAgentDialog as NewAgentDialog
    from dashboard.dialogs.engine import EngineDialog as EngineDialog
    from dashboard.dialogs.engine import LeadingDialog as LeadingDialog
    from dashboard.dialogs.engine import LeaveDialog as LeaveDialog
    from dashboard.dialogs.files import ExportDialog as ExportDialog
    from dashboard.dialogs.files import ImportDialog as ImportDialog
    from dashboard.dialogs.fork import ForkDialog as ForkDialog
    from dashboard.dialogs.jump import JumpScreen as JumpScreen
    from dashboard.dialogs.line import LineDialog as LineDialog
    from dashboard.dialogs.members import MoveDialog as MoveDialog
    from dashboard.dialogs.members import ReassignDialog as ReassignDialog
    from dashboard.dialogs.members import RemoveDialog as RemoveDialog
    from dashboard.dialogs.request import RequestDialog as RequestDialog
    from dashboard.dialogs.strategy import StrategyDialog as StrategyDialog
    from dashboard.dialogs.swap import RollbackDialog as RollbackDialog
    from dashboard.dialogs.swap import SwapDialog as SwapDialog

_FILES = {
    "answer": ("AnswerDialog",),
    "bulk": ("BulkDialog",),
    "dialog": ("Confirm", "ConfirmCancel", "HelpScreen"),
    "edit": ("EditDialog", "NewAgentDialog"),
    "engine": ("EngineDialog", "LeadingDialog", "LeaveDialog"),
    "files": ("ExportDialog", "ImportDialog"),
    "fork": ("ForkDialog",),
    "jump": ("JumpScreen",),
    "line": ("LineDialog",),
    "members": ("MoveDialog", "ReassignDialog", "RemoveDialog"),
    "request": ("RequestDialog",),
    "strategy": ("StrategyDialog",),
    "swap": ("RollbackDialog", "SwapDialog"),
}
_FILE_OF = {name: file for file, names in _FILES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _FILE_OF:
        raise AttributeError(name)
    return getattr(import_module(f"{__name__}.{_FILE_OF[name]}"), name)


def load() -> None:
    """Load all dialogs ahead, so that the first one opens at once."""
    for name in _FILE_OF:
        __getattr__(name)
