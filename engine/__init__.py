"""Teams of agents that are supervised, watched and changed while they work.

The public names, each loaded on first use; programs import them from `quarterdeck`, which re-exports `__all__`. The
engine's parts are in the modules below.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.clock import Clock, RealClock, VirtualClock
    from engine.core.limits import Limits
    from engine.core.model_spec import McpSpec, ModelSpec, Price
    from engine.core.options import Preempt, SupervisorOptions
    from engine.core.spec import (
        AgentCapability,
        AgentSpec,
        Circuit,
        DiscoveryConfig,
        Escalate,
        Fail,
        Failover,
        Pool,
        Restart,
        Retry,
        Skip,
    )
    from engine.core.values import Usage
    from engine.errors import (
        AgentCrashed,
        AlreadyStarted,
        CommandRefusedError,
        DelegationFailed,
        EngineError,
        HostStopped,
        NotEmpty,
        NotInThisVersion,
        NotRunning,
        PermanentFailure,
        RetryLater,
        ToolRejected,
        UnknownOption,
        UnknownRun,
        UnknownRuntime,
        Unusable,
    )
    from engine.metrics import AgentView, SupervisionMetrics
    from engine.registry import AgentInfo, AgentRegistry, SpecifiedAgent, UnknownName, create_agent_from_spec
    from engine.results import RunCancelled, RunFailed, RunResult, RunSkipped, WorkStatus
    from engine.runtimes.context import BlockingContext, Context
    from engine.runtimes.task import Task
    from engine.runtimes.toolbox.calling import ToolError, ToolTimeout
    from engine.runtimes.tools import idempotent, tool
    from engine.stream.records import StreamEvent
    from engine.supervisor.attached import AttachedSupervisor
    from engine.supervisor.dynamic import DynamicSupervisor
    from store import StoreBusy

_LOADED_ON_FIRST_USE = {
    "engine.clock": "Clock RealClock VirtualClock",
    "engine.core.limits": "Limits",
    "engine.core.model_spec": "McpSpec ModelSpec Price",
    "engine.core.options": "Preempt SupervisorOptions",
    "engine.core.spec": "AgentCapability AgentSpec Circuit DiscoveryConfig Escalate Fail Failover Pool Restart Retry "
    "Skip",
    "engine.core.values": "Usage",
    "engine.errors": "AgentCrashed AlreadyStarted CommandRefusedError DelegationFailed EngineError HostStopped "
    "NotEmpty NotInThisVersion NotRunning PermanentFailure RetryLater ToolRejected UnknownOption UnknownRun "
    "UnknownRuntime Unusable",
    "engine.metrics": "AgentView SupervisionMetrics",
    "engine.registry": "AgentInfo AgentRegistry SpecifiedAgent UnknownName create_agent_from_spec",
    "engine.results": "RunCancelled RunFailed RunResult RunSkipped WorkStatus",
    "engine.runtimes.context": "BlockingContext Context",
    "engine.runtimes.task": "Task",
    "engine.runtimes.toolbox.calling": "ToolError ToolTimeout",
    "engine.runtimes.tools": "idempotent tool",
    "engine.stream.records": "StreamEvent",
    "engine.supervisor.attached": "AttachedSupervisor",
    "engine.supervisor.dynamic": "DynamicSupervisor",
    "store": "StoreBusy",
}
_MODULES = {name: module for module, names in _LOADED_ON_FIRST_USE.items() for name in names.split()}

__all__ = [
    "AgentCapability", "AgentCrashed", "AgentInfo", "AgentRegistry", "AgentSpec", "AgentView", "AlreadyStarted",
    "AttachedSupervisor", "BlockingContext", "Circuit", "Clock", "CommandRefusedError", "Context",
    "DelegationFailed", "DiscoveryConfig", "DynamicSupervisor", "EngineError", "Escalate", "Fail", "Failover",
    "HostStopped", "Limits", "McpSpec", "ModelSpec", "NotEmpty", "NotInThisVersion", "NotRunning", "PermanentFailure",
    "Pool", "Preempt", "Price",
    "RealClock", "Restart", "Retry", "RetryLater", "RunCancelled", "RunFailed", "RunResult", "RunSkipped", "Skip",
    "SpecifiedAgent", "StoreBusy", "StreamEvent", "SupervisionMetrics", "SupervisorOptions", "Task", "ToolError",
    "ToolRejected", "ToolTimeout", "UnknownName",
    "UnknownOption", "UnknownRun", "UnknownRuntime", "Unusable", "Usage", "VirtualClock", "WorkStatus",
    "create_agent_from_spec", "idempotent", "tool",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
