"""Runs, graphs and questions in the ledger of work: plans, cancellations, limits and answers."""

from collections import Counter

from engine.core import events
from engine.core.state import MAX_EXCHANGES, OF_ATTEMPTS, TaskStatus
from engine.simulation.ledger import make_entry
from engine.simulation.ledger.work import Job, JobLedger, Question, RunEntry


class RunLedger(JobLedger):
    """Applies events about runs, graphs and questions."""

    def _on_run_submitted(self, event: events.RunSubmitted) -> None:
        self.runs[event.run_id] = make_entry(
            RunEntry,
            event,
            id=event.run_id,
            submitted_ms=event.at_ms,
            remembers=self.conversations.get((event.supervisor_id, event.conversation or ""), [])[-MAX_EXCHANGES:],
        )
        self.add(
            make_entry(
                Job,
                event,
                id=event.root_id,
                parent_id=None,
                kind="group",
                title="",
                worker_id=event.supervisor_id,
                queue=None,
                created_ms=event.at_ms,
                after=[],
                deadline_ms=None,
            )
        )

    def _on_run_paused(self, event: events.RunPaused) -> None:
        self.runs[event.run_id].paused = True
        self.ask_to_stop(event.stopping, "pause")
        for question in self.questions.values():
            if question.run_id == event.run_id and question.due_ms is not None:
                question.left_ms = max(0, question.due_ms - event.at_ms)
                question.due_ms = None

    def _note_pause(self, event: events.AgentPaused | events.SupervisorPaused) -> None:
        self.ask_to_stop(event.stopping, "pause")

    _on_agent_paused = _on_supervisor_paused = _note_pause

    def _on_run_resumed(self, event: events.RunResumed) -> None:
        self.runs[event.run_id].paused = False
        for question in self.questions.values():
            if question.run_id == event.run_id and question.left_ms is not None:
                question.due_ms = event.at_ms + question.left_ms
                question.left_ms = None

    def _on_run_finished(self, event: events.RunFinished) -> None:
        run = self.runs.pop(event.run_id)
        jobs = [self.jobs.pop(task_id) for task_id in run.tasks]
        if run.conversation is not None:
            self.conversations.setdefault((run.supervisor_id, run.conversation), []).append(run.id)
        self.past.update(self.count(jobs) + Counter(runs=1))
        for other in self.runs.values():
            if event.run_id in other.after:
                other.after.remove(event.run_id)
        for question in [question for question in self.questions.values() if question.run_id == event.run_id]:
            self.drop_question(question.id)

    def _on_cancel_requested(self, event: events.CancelRequested) -> None:
        subject = self.subject(event)
        subject.cancelling, subject.exceeded = True, subject.exceeded or event.failed
        self.ask_to_stop(event.stopping, "cancel")
        for task_id in event.cancelled:
            self.end(task_id, TaskStatus.CANCELLED, event.at_ms, event.reason)

    def _on_deadline_passed(self, event: events.DeadlinePassed | events.BudgetExhausted) -> None:
        subject = self.subject(event)
        subject.exceeded = subject.cancelling = True
        self.ask_to_stop(event.stopping, "limit")
        root_id = subject.root_id if isinstance(subject, RunEntry) else subject.id
        for task_id in event.ended:
            outcome = TaskStatus.FAILED if task_id == root_id else TaskStatus.CANCELLED
            self.end(task_id, outcome, event.at_ms, event.error)

    def _on_budget_reached(self, event: events.BudgetReached) -> None:
        self.ask_to_stop(event.stopping, "limit")

    def _on_budget_exhausted(self, event: events.BudgetExhausted) -> None:
        if event.run_id is None or event.then == "ask":
            self.ask_to_stop(event.stopping, "limit")
        else:
            self._on_deadline_passed(event)
        if event.run_id is not None:
            self.subject(event).is_on_hold = event.then == "ask"

    def _on_budget_extended(self, event: events.BudgetExtended) -> None:
        self.withdraw("budget", event.subject)
        if event.run_id is not None:
            self.subject(event).is_on_hold = False

    def _on_deadline_set(self, event: events.DeadlineSet) -> None:
        self.subject(event).deadline_ms = event.deadline_ms

    def _on_grace_ended(self, event: events.GraceEnded) -> None:
        self.ask_to_stop(event.stopping, "limit")

    def _on_priority_set(self, event: events.PrioritySet) -> None:
        if event.task_id is None:
            self.runs[event.run_id].priority = event.priority
        for job in self.open_under(event.run_id, event.task_id):
            job.priority = event.priority

    def _node(self, group: Job, node: events.NodePlan, at_ms: int) -> None:
        own = f"agent:{node.worker_id}" if node.kind == "agent" and node.worker_id else None
        self.add(
            make_entry(
                Job,
                node,
                id=node.task_id,
                run_id=group.run_id,
                parent_id=group.id,
                queue=node.queue or own,
                priority=group.priority,
                created_ms=at_ms,
            )
        )

    def _on_group_planned(self, event: events.GroupPlanned) -> None:
        group = self.jobs[event.task_id]
        group.planned = True
        group.outcome_id = event.outcome_id
        group.planned_ms = event.at_ms
        if group.parent_id is None:
            run = self.runs[group.run_id]
            run.category = event.category or run.category
        for node in event.nodes:
            self._node(group, node, event.at_ms)

    def _on_group_grown(self, event: events.GroupGrown) -> None:
        group = self.jobs[event.task_id]
        for node in event.added:
            self._node(group, node, event.at_ms)
        self._rewire(event.after, event.sees)
        for task_id in event.skipped:
            self.pass_by(task_id, event.at_ms, event.why)
        group.outcome_id = event.outcome_id or group.outcome_id
        group.failed = event.failed

    def _rewire(self, after: dict[str, list[str]], sees: dict[str, list[str]]) -> None:
        for task_id, before in after.items():
            self.jobs[task_id].after = [*before]
        for task_id, visible_ids in sees.items():
            self.jobs[task_id].sees = [*visible_ids]

    def _on_need_met(self, event: events.NeedMet) -> None:
        job = self.jobs[event.task_id]
        job.after = [*event.after]
        job.sees = [*event.answers]
        job.is_met = True

    def _on_strategy_switched(self, event: events.StrategySwitched) -> None:
        for change in event.groups:
            self._change(change, event.at_ms)

    def _change(self, change: events.GroupChange, at_ms: int) -> None:
        group = self.jobs[change.task_id]
        for task_id in change.removed:
            self.pass_by(task_id, at_ms, "strategy switched")
            self.jobs[task_id].after = []
            self.jobs[task_id].sees = None
        for task_id in group.children:
            job = self.jobs[task_id]
            job.tolerated = job.asked_by is not None or (job.tolerated and job.outcome is not None)
            job.sees, job.need = None, None
        for task_id in change.adopted:
            self._adopt_job(group, self.jobs[task_id])
        for node in change.added:
            self._node(group, node, at_ms)
        self._rewire(change.after, change.sees)
        for task_id, need in change.needs.items():
            self.jobs[task_id].need = need
        for task_id in change.tolerated:
            self.jobs[task_id].tolerated = True
        for task_id, takes in change.takes.items():
            self.jobs[task_id].takes = takes
        self.ask_to_stop(change.cancelled, "cancel")
        group.failed = None
        group.outcome_id = change.outcome_id

    def _adopt_job(self, group: Job, job: Job) -> None:
        asker = self.jobs[job.parent_id or ""]
        asker.children.remove(job.id)
        group.children.append(job.id)
        job.parent_id = group.id
        job.asked_by = asker.id
        job.tolerated = True
        if job.after:
            job.sees = [*job.after]
        else:
            job.takes = "own"

    def _on_group_ended(self, event: events.GroupEnded) -> None:
        group = self.jobs[event.task_id]
        self._hand_over(group, event.at_ms)
        group.output = self.resolve(event.output)
        group.optional = event.status is TaskStatus.SKIPPED
        self.end(event.task_id, event.status, event.at_ms, event.error)

    def _on_supervisor_failed(self, event: events.SupervisorFailed) -> None:
        for group in event.groups:
            self.jobs[group].failed = event.error

    def _hand_over(self, group: Job, at_ms: int) -> None:
        if group.begun_ms is None or group.worker_id is None:
            return
        could_ms = max([group.created_ms, *(self.jobs[predecessor_id].ended_ms or 0 for predecessor_id in group.after)])
        if group.parent_id is None:
            could_ms = max(could_ms, group.planned_ms)
        members = [self.jobs[child_id] for child_id in group.children]
        over_ms = max([member.ended_ms or 0 for member in members if member.kind in ("agent", "group")], default=at_ms)
        count, took_ms = self.hand_overs.get(group.worker_id, (0, 0))
        took_ms += max(0, group.begun_ms - could_ms) + max(0, at_ms - over_ms)
        self.hand_overs[group.worker_id] = (count + 1, took_ms)

    # Questions and stop requests

    def _on_escalated(self, event: events.Escalated) -> None:
        run = self.runs.get(event.run_id or "")
        due_ms = event.due_ms
        is_on_hold = run is not None and run.paused and due_ms is not None
        self.questions[event.escalation_id] = Question(
            event.escalation_id,
            event.kind,
            event.subject,
            event.run_id,
            None if is_on_hold else due_ms,
            due_ms - event.at_ms if is_on_hold and due_ms is not None else None,
        )
        if event.kind in OF_ATTEMPTS:
            self.jobs[event.subject].asks[str(event.detail["key"])] = event.escalation_id
        elif event.subject in self.jobs:
            self.update_question(self.jobs[event.subject])
            self.jobs[event.subject].in_doubt |= event.kind == "doubt"

    def _on_escalation_answered(self, event: events.EscalationAnswered) -> None:
        job = self.jobs.get(event.subject)
        self.drop_question(event.escalation_id)
        if job is not None and event.kind in OF_ATTEMPTS:
            answer = event.answer
            if event.scope is not None or event.where:  # the code learns only about this call
                answer = {"allow_always": "allow_once", "reject_always": "reject_once"}[answer]
            job.steps[str(event.detail["key"])] = answer if event.output is None else event.output
        elif job is not None:
            self.update_question(job)
            if event.answer == "use":
                job.output = event.output
            elif event.kind == "doubt" and event.answer == "ran":
                job.steps[str(event.detail["key"])] = event.output

    def _on_steered(self, event: events.Steered) -> None:
        for task_id in event.tasks:
            self.jobs[task_id].steers[event.steer_id] = event.text

    def _on_question_withdrawn(self, event: events.QuestionWithdrawn) -> None:
        self.drop_question(event.escalation_id)

    def _on_preemption_asked(self, event: events.PreemptionAsked) -> None:
        self.ask_to_stop([event.task_id], "preempt")

    def _on_agent_removing(self, event: events.AgentRemoving) -> None:
        if event.mode != "drain":
            self.ask_to_stop([job.id for job in self.at_work(event.agent_id)], "requeue")

    def _on_agents_restarted(self, event: events.AgentsRestarted) -> None:
        for agent_id in event.agent_ids:
            self.ask_to_stop([job.id for job in self.at_work(agent_id)], "crash")

    def _note_swap(self, event: events.AgentSwapped | events.SwapRolledBack) -> None:
        self._leave(event.agent_id, event.mode, {event.generation - 1})

    _on_agent_swapped = _on_swap_rolled_back = _note_swap

    def _on_swap_hurried(self, event: events.SwapHurried) -> None:
        self._leave(event.agent_id, event.mode, set(range(event.generation)))

    def _leave(self, agent_id: str, mode: str, generations: set[int]) -> None:
        reason = {"migrate": "migrate", "abort": "restart"}.get(mode)
        for job in self.at_work(agent_id) if reason is not None else ():
            if job.attempt is not None and job.attempt.generation in generations:
                self.ask_to_stop([job.id], reason or "")

    def _on_swap_drained(self, event: events.SwapDrained) -> None:
        self.withdraw("drain", event.agent_id)

    def _on_agent_removed(self, event: events.AgentRemoved) -> None:
        self.withdraw(None, event.agent_id)

    def _on_supervisor_removed(self, event: events.SupervisorRemoved) -> None:
        self.withdraw(None, event.supervisor_id)
