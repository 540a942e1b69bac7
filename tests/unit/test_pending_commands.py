"""Posted commands are carried out once, in order; everybody who waits comes back, and every error is told."""

from collections.abc import Callable

import anyio
from anyio.lowlevel import checkpoint
from hypothesis import given
from hypothesis import strategies as st

from engine.core.commands import Command, Ping
from engine.errors import CommandRefusedError, HostStopped
from engine.supervisor.command_queue import CommandQueue
from tests.patience import PATIENCE_S


def broken() -> Command:
    raise LookupError("a make that raises")


MAKES: dict[str, Callable[[], Command]] = {"fine": Ping, "refused": Ping, "broken": broken}


class Program:
    """One program that posts and waits, and what it saw."""

    def __init__(self) -> None:
        self.posted = CommandQueue()
        self.carried_out: list[str] = []
        self.told: list[str] = []
        self.back = 0

    async def carry_out(self, name: str) -> None:
        await checkpoint()
        await checkpoint()
        self.carried_out.append(name)
        if name.startswith("refused"):
            raise CommandRefusedError("no", name)

    def post(self, kind: str, number: int) -> None:
        def make() -> Command:
            self.next = f"{kind} {number}"
            return MAKES[kind]()

        self.posted.put(make)

    async def wait(self) -> None:
        try:
            await self.posted.flush()
        except (CommandRefusedError, LookupError) as error:
            self.told.append(str(error))
        self.back += 1


@given(
    st.lists(st.one_of(st.sampled_from(["wait", "turn"]), st.sampled_from(sorted(MAKES))), max_size=12), st.booleans()
)
def test_whatever_is_posted_while_others_wait_all_come_back_and_every_command_is_tried_in_order(
    deeds: list[str], is_late: bool
) -> None:
    async def main() -> Program:
        program = Program()
        with anyio.fail_after(PATIENCE_S):
            async with anyio.create_task_group() as group:
                if not is_late:
                    await group.start(program.posted.run, lambda _command: program.carry_out(program.next))
                async with anyio.create_task_group() as waiters:
                    for number, deed in enumerate(deeds):
                        if deed == "wait":
                            waiters.start_soon(program.wait)
                        elif deed == "turn":
                            await checkpoint()
                        else:
                            program.post(deed, number)
                if is_late:
                    await group.start(program.posted.run, lambda _command: program.carry_out(program.next))
                while len(program.posted):
                    await checkpoint()
                told = -1
                while told < len(program.told):
                    told = len(program.told)
                    await program.wait()
                    program.back -= 1
                group.cancel_scope.cancel()
        return program

    program = anyio.run(main)

    assert program.back == deeds.count("wait")
    assert program.carried_out == [f"{deed} {at}" for at, deed in enumerate(deeds) if deed in ("fine", "refused")]
    assert ("a make that raises" in program.told) <= ("broken" in deeds)
    assert bool(program.told) == bool({"refused", "broken"} & set(deeds))


def test_an_engine_that_ends_lets_go_who_waits_and_leaves_the_rest_to_the_next() -> None:
    async def main() -> list[str]:
        program = Program()
        program.post("fine", 1)
        program.post("fine", 2)

        async def ends(_command: Command) -> None:
            await checkpoint()
            raise HostStopped("killed")

        with anyio.fail_after(PATIENCE_S):
            async with anyio.create_task_group() as waiters:

                async def serve() -> None:
                    try:
                        await program.posted.run(ends)
                    except HostStopped:
                        program.told.append("ended")

                waiters.start_soon(serve)
                waiters.start_soon(program.wait)
            async with anyio.create_task_group() as group:
                await group.start(program.posted.run, lambda _command: program.carry_out(program.next))
                await program.wait()
                group.cancel_scope.cancel()
        return [*program.told, *program.carried_out]

    assert anyio.run(main) == ["ended", "fine 1", "fine 2"]
