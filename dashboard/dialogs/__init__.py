"""Dialogs that confirm a change, each loaded on first use."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dashboard.dialogs.answer import AnswerDialog
    from dashboard.dialogs.bulk import BulkDialog, BulkLineDialog
    from dashboard.dialogs.dialog import Confirm, ConfirmCancel, HelpScreen
    from dashboard.dialogs.edit import EditDialog, NewAgentDialog
    from dashboard.dialogs.engine import EngineDialog, LeadingDialog, LeaveDialog
    from dashboard.dialogs.files import ExportDialog, ImportDialog
    from dashboard.dialogs.fork import ForkDialog
    from dashboard.dialogs.jump import JumpScreen
    from dashboard.dialogs.line import LineDialog
    from dashboard.dialogs.members import MoveDialog, ReassignDialog, RemoveDialog
    from dashboard.dialogs.request import RequestDialog
    from dashboard.dialogs.strategy import StrategyDialog
    from dashboard.dialogs.swap import RollbackDialog, SwapDialog

_LOADED_ON_FIRST_USE = {
    "answer": "AnswerDialog",
    "bulk": "BulkDialog BulkLineDialog",
    "dialog": "Confirm ConfirmCancel HelpScreen",
    "edit": "EditDialog NewAgentDialog",
    "engine": "EngineDialog LeadingDialog LeaveDialog",
    "files": "ExportDialog ImportDialog",
    "fork": "ForkDialog",
    "jump": "JumpScreen",
    "line": "LineDialog",
    "members": "MoveDialog ReassignDialog RemoveDialog",
    "request": "RequestDialog",
    "strategy": "StrategyDialog",
    "swap": "RollbackDialog SwapDialog",
}
_FILE_OF = {name: file for file, names in _LOADED_ON_FIRST_USE.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _FILE_OF:
        raise AttributeError(name)
    from engine.strategies_plugins import installed_strategies  # 25 ms, for which no first frame waits

    installed_strategies()  # dialogs offer these too
    return getattr(import_module(f"{__name__}.{_FILE_OF[name]}"), name)


def load() -> None:
    """Load all dialogs ahead, so that the first one opens at once."""
    for name in _FILE_OF:
        __getattr__(name)
