"""Any program is an agent: one of the system, and a script that says in lines of JSON which steps it has done.

python examples/14_programs_as_agents.py
"""

import sys

import anyio

from quarterdeck import AgentSpec, DynamicSupervisor, RunFailed

COUNTER = """
import json, sys
task = json.loads(sys.stdin.readline())
words = task["text"].split()
for word in words[len(task["steps"]):]:          # after a crash it goes on behind the last step
    print(json.dumps({"type": "step", "name": "word", "output": len(word)}), flush=True)
print(json.dumps({"type": "result", "output": f"{task['text']} ({len(words)} words)"}), flush=True)
"""

SHOUT = AgentSpec(name="shout", agent_type="process", options={"argv": ["tr", "a-z", "A-Z"]})
COUNT = AgentSpec(
    name="count", agent_type="process", options={"argv": [sys.executable, "-c", COUNTER], "protocol": "jsonl"}
)


async def main() -> None:
    async with DynamicSupervisor(name="desk", agent_specs=[SHOUT, COUNT]) as team:
        print(await team.arun("the reef lies to the north"))
        await team.swap_agent("shout", AgentSpec(name="shout", agent_type="process", options={"argv": ["false"]}))
        try:
            await team.arun("again")
        except RunFailed as failed:
            print(failed)


anyio.run(main)
