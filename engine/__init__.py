"""Teams of agents that are supervised, watched and changed while they work.

The public names, each loaded on first use; programs import them from `quarterdeck`, which re-exports `__all__`. The
engine's parts are in the modules below.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.core.queries.work.explain import Explanation
    from engine.core.records.values import Usage
    from engine.core.specs.discovery import AgentDiscoveryMode, DiscoveryConfig
    from engine.core.specs.limits import Limits
    from engine.core.specs.management import AgentManagementTools
    from engine.core.specs.memory import MemoryOptions, SegmentRights
    from engine.core.specs.model_spec import McpSpec, ModelSpec, Price
    from engine.core.specs.options import Preempt, SupervisorOptions
    from engine.core.specs.spec import (
        AgentCapability,
        AgentSpec,
        Circuit,
        Escalate,
        Fail,
        Failover,
        Pool,
        Restart,
        Retry,
        Skip,
    )
    from engine.errors import (
        AgentCrashed,
        AlreadyStarted,
        CommandRefusedError,
        DelegationFailed,
        EngineError,
        HostStopped,
        InsightConflict,
        InsightTimeout,
        NotEmpty,
        NotInThisVersion,
        NotRunning,
        PermanentFailure,
        RecipeGone,
        RetryLater,
        StateConflict,
        TaskMismatch,
        ToolRejected,
        UnknownOption,
        UnknownRun,
        UnknownRuntime,
        Unusable,
    )
    from engine.memory.pages import Insight, InsightPage
    from engine.platform.clock import Clock, RealClock, VirtualClock
    from engine.runtimes.functions.context import BlockingContext, Context
    from engine.runtimes.functions.task import Task
    from engine.runtimes.functions.tools import idempotent, tool
    from engine.runtimes.toolbox.calling import ToolError, ToolTimeout
    from engine.stream.records import StreamEvent
    from engine.supervisor.attached import AttachedSupervisor
    from engine.supervisor.dynamic import DynamicSupervisor
    from engine.supervisor.metrics import ActiveAgent, SupervisorMetrics
    from engine.supervisor.registry import AgentInfo, AgentRegistry, SpecifiedAgent, UnknownName, create_agent_from_spec
    from engine.supervisor.results import RunCancelled, RunFailed, RunResult, RunSkipped, WorkStatus
    from engine.supervisor.state_view import DynamicSupervisorState
    from engine.workflow.agents import CoordinatorAgent, SupervisorAgent, WorkerAgent
    from engine.workflow.one_call import supervisor_worker_workflow
    from engine.workflow.pool import SharedMemoryPool
    from store import StoreBusy

_LOADED_ON_FIRST_USE = {
    "engine.platform.clock": "Clock RealClock VirtualClock",
    "engine.core.specs.discovery": "AgentDiscoveryMode DiscoveryConfig",
    "engine.core.specs.limits": "Limits",
    "engine.core.specs.management": "AgentManagementTools",
    "engine.core.specs.model_spec": "McpSpec ModelSpec Price",
    "engine.core.specs.options": "Preempt SupervisorOptions",
    "engine.core.specs.spec": "AgentCapability AgentSpec Circuit Escalate Fail Failover Pool Restart Retry Skip",
    "engine.core.queries.work.explain": "Explanation",
    "engine.core.records.values": "Usage",
    "engine.core.specs.memory": "MemoryOptions SegmentRights",
    "engine.memory.pages": "Insight InsightPage",
    "engine.errors": "AgentCrashed AlreadyStarted CommandRefusedError DelegationFailed EngineError HostStopped "
    "InsightConflict InsightTimeout NotEmpty NotInThisVersion NotRunning PermanentFailure RecipeGone RetryLater "
    "StateConflict TaskMismatch ToolRejected UnknownOption UnknownRun UnknownRuntime Unusable",
    "engine.supervisor.metrics": "ActiveAgent SupervisorMetrics",
    "engine.supervisor.registry": "AgentInfo AgentRegistry SpecifiedAgent UnknownName create_agent_from_spec",
    "engine.supervisor.state_view": "DynamicSupervisorState",
    "engine.supervisor.results": "RunCancelled RunFailed RunResult RunSkipped WorkStatus",
    "engine.runtimes.functions.context": "BlockingContext Context",
    "engine.runtimes.functions.task": "Task",
    "engine.runtimes.toolbox.calling": "ToolError ToolTimeout",
    "engine.runtimes.functions.tools": "idempotent tool",
    "engine.stream.records": "StreamEvent",
    "engine.supervisor.attached": "AttachedSupervisor",
    "engine.supervisor.dynamic": "DynamicSupervisor",
    "engine.workflow.agents": "CoordinatorAgent SupervisorAgent WorkerAgent",
    "engine.workflow.one_call": "supervisor_worker_workflow",
    "engine.workflow.pool": "SharedMemoryPool",
    "store": "StoreBusy",
}
_MODULES = {name: module for module, names in _LOADED_ON_FIRST_USE.items() for name in names.split()}

__all__ = [
    "ActiveAgent", "AgentCapability", "AgentCrashed", "AgentDiscoveryMode", "AgentInfo", "AgentManagementTools",
    "AgentRegistry", "AgentSpec", "AlreadyStarted",
    "AttachedSupervisor", "BlockingContext", "Circuit", "Clock", "CommandRefusedError", "Context", "CoordinatorAgent",
    "DelegationFailed", "DiscoveryConfig", "DynamicSupervisor", "DynamicSupervisorState",
    "EngineError", "Escalate", "Explanation", "Fail", "Failover",
    "HostStopped", "Insight", "InsightConflict", "InsightPage", "InsightTimeout", "Limits", "McpSpec", "MemoryOptions",
    "ModelSpec", "NotEmpty", "NotInThisVersion", "NotRunning", "PermanentFailure",
    "Pool", "Preempt", "Price",
    "RealClock", "RecipeGone", "Restart", "Retry", "RetryLater", "RunCancelled", "RunFailed", "RunResult", "RunSkipped",
    "SegmentRights", "SharedMemoryPool", "Skip", "SpecifiedAgent", "StateConflict", "StoreBusy", "StreamEvent",
    "SupervisorAgent", "SupervisorMetrics", "SupervisorOptions", "Task", "TaskMismatch",
    "ToolError", "ToolRejected", "ToolTimeout", "UnknownName", "UnknownOption",
    "UnknownRun", "UnknownRuntime", "Unusable", "Usage", "VirtualClock", "WorkStatus",
    "WorkerAgent", "create_agent_from_spec", "idempotent", "supervisor_worker_workflow", "tool",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
