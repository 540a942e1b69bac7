"""Runtime `scripted`: agents that follow a script in their spec, on the engine's clock, reproducibly.

For demonstrations, for trying out a team before its real agents exist, and for tests: it delays, streams, takes steps,
delegates, fails and answers exactly as written. `options` of the spec hold the script:

    options:
      script:
        - match: "refund"          # a regular expression to search in the text; without it the rule matches every text
          times: 2                 # only for the first two attempts of a task, then the next rule
          delay_s: [0.2, 0.8]      # or one number; a range is drawn from the task's id and attempt
          fail: "the shop does not answer"
        - steps:
            - {name: read, delay_s: 0.1, output: "12 pages"}
          spend: {tokens_in: 1200, tokens_out: 80, cost_usd: "0.0042"}     # a step can have one too
          emit: ["Reading … ", "done."]
          delegate: {to: writer, text: "Summarise {text}"}
          output: "{agent} says: {answer}"

A rule is executed in the order delay, spend, emit, steps, delegate, map, and then it fails or answers. In every text,
`{text}`, `{agent}`, `{attempt}` and `{answer}` (the result of the delegation or the map) are replaced. Without a
matching rule the agent answers `{agent}: {text}`.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from engine.core.records.records import JsonValue
from engine.core.records.values import as_text
from engine.core.specs.spec import AgentSpec
from engine.errors import EngineError
from engine.platform.patterns import SLOW_TIMEOUT_S, Pattern
from engine.runtimes.attempts.work import Work
from engine.runtimes.base import Runtime
from engine.runtimes.code import Code
from engine.runtimes.functions.context import Context
from engine.runtimes.options import options_in
from engine.runtimes.script import Rule, Script, ScriptedStep, Spending
from engine.runtimes.typed_output import check_output_schema, typed_value
from engine.scripts import fill_placeholders


class ScriptedFailure(EngineError):
    """A script says that the attempt fails."""


def scripted_runtime(spec: AgentSpec, code: Code) -> Runtime:
    """Create the runtime of a spec with a script.

    Raises:
        Unusable: If the options are not a valid script; the message names the place.
    """
    return ScriptedRuntime(spec, code, options_in(spec, Script))


class ScriptedRuntime:
    """Executes a script."""

    def __init__(self, spec: AgentSpec, code: Code, script: Script) -> None:
        self._spec = spec
        self._threads = code.threads
        self._rules = script.script

    async def check(self) -> None:
        """Check the schema of its output; the script was checked before."""
        await check_output_schema(self._spec)

    async def execute(self, work: Work) -> JsonValue:
        """Execute the first rule that matches the text and the attempt."""
        text = as_text(await work.value())
        rule = self._rule(text, work.effect.attempt)
        variables = {"text": text, "agent": work.effect.agent, "attempt": str(work.effect.attempt), "answer": ""}
        context = Context(work, await work.task(), {})
        await _wait(rule, work, context)
        _spend(rule.spend, context)
        for index, piece in enumerate(rule.emit):
            if index:
                await context.sleep(rule.emit_every_s)
            context.emit(fill_placeholders(piece, variables))
        for step in rule.steps:
            await context.step(step.name, _step_of(step, context, variables))
        variables["answer"] = as_text(await _answer(rule, context, variables))
        if rule.fail is not None and _draw(work, "fail") < rule.fail_rate:
            raise ScriptedFailure(fill_placeholders(rule.fail, variables))
        return await typed_value(work, fill_placeholders(rule.output, variables), self._threads)

    def _rule(self, text: str, attempt: int) -> Rule:
        for rule in self._rules:
            if rule.match is not None and not Pattern(rule.match).is_in(text, timeout_s=SLOW_TIMEOUT_S):
                continue
            if rule.times is None or attempt <= rule.times:
                return rule
            attempt -= rule.times
        return Rule()


async def _wait(rule: Rule, work: Work, context: Context) -> None:
    low, high = rule.delay_s if isinstance(rule.delay_s, tuple) else (rule.delay_s, rule.delay_s)
    delay_s = low + (high - low) * _draw(work, "delay")
    for done in range(1, rule.progress + 1):
        await context.sleep(delay_s / rule.progress)
        context.progress(done, rule.progress)
    if not rule.progress and delay_s:
        await context.sleep(delay_s)


def _spend(spending: Spending | None, context: Context) -> None:
    if spending is not None:
        context.spent(**vars(spending))


def _step_of(step: ScriptedStep, context: Context, variables: Mapping[str, str]) -> Any:
    async def play() -> JsonValue:
        if step.delay_s:
            await context.sleep(step.delay_s)
        _spend(step.spend, context)
        return fill_placeholders(step.output, variables)

    return play


async def _answer(rule: Rule, context: Context, variables: Mapping[str, str]) -> JsonValue:
    answer: JsonValue = ""
    if rule.delegate is not None:
        try:
            answer = await context.delegate(rule.delegate.to, fill_placeholders(rule.delegate.text, variables))
        except EngineError:
            if rule.delegate.or_output is None:
                raise
            answer = fill_placeholders(rule.delegate.or_output, variables)
    if rule.map is not None:
        items = [fill_placeholders(item, variables) for item in rule.map.items]
        outputs = await context.map(rule.map.to, items, return_failures=rule.map.return_failures)
        answer = [str(output) if isinstance(output, EngineError) else output for output in outputs]
    return answer


def _draw(work: Work, purpose: str) -> float:
    """Return a number from [0, 1) that depends only on the attempt and the purpose."""
    seed = json.dumps([work.effect.task_id, work.effect.attempt, purpose])
    return int.from_bytes(hashlib.blake2b(seed.encode(), digest_size=6).digest(), "big") / 2**48
