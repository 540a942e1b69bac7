"""The language of filters: what each term means, what is wrong in one line, and that typing is never an error."""

from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.views.measures.digest import make_digest
from dashboard.views.words.filter_words import suggestions
from dashboard.views.words.filters import KEYS, Filter, FilterError, Value, parse_filter, parse_partial_filter
from dashboard.views.words.subjects import AgentSubject, TaskSubject, filter_agents
from engine.core.commands import Submit
from engine.core.signals import PersonAsked
from tests.story import attempt
from tests.world import agent, team_world


class Row:
    """A row that says what a test wants it to say."""

    def __init__(self, *texts: str, took_ms: float | None = None, **values: str) -> None:
        self._texts, self._took_ms, self._values = texts, took_ms, values

    def has(self, word: str) -> bool:
        return any(word in text.casefold() for text in self._texts)

    def texts(self) -> Iterable[str]:
        return self._texts

    def values(self, key: str) -> Iterator[Value]:
        if key in self._values:
            name, _, an_id = self._values[key].partition("@")
            yield Value(name, an_id)

    def took_ms(self) -> float | None:
        return self._took_ms


SCOUT = Row("scout-fast", "reads files", took_ms=5_000, agent="scout-fast@a3", status="busy", kind="function")


@pytest.mark.parametrize(
    "written",
    [
        "", "scout", "SCOUT", "scout reads", '"reads files"', "agent:scout", "agent:@a3", "agent:a3", "AGENT", "-idle",
        "status:BUSY kind:func", ">4s", "<6s", ">4999ms", "<1m", ">0.5", "-<5s", "-status:idle", "/sc.ut/", "-/^fast/",
        "/READS (files|books)/ agent:fast -model:gpt", 'agent:"scout-fast"', "-agent:other >1s", "12:04 ",
    ],
)  # fmt: skip
def test_what_a_row_is_takes_it(written: str) -> None:
    if written in ("AGENT", "12:04 "):  # a word like any other
        assert not parse_filter(written).passes(SCOUT)
    else:
        assert parse_filter(written).passes(SCOUT)


@pytest.mark.parametrize(
    "written",
    ["idle", '"files reads"', "agent:a", "agent:a33 ", "-scout", "status:idle", ">5s", "<5s", "-agent:@a3", "/^ast/",
     "model:gpt", "tool:x", "scout -reads", "scout idle"],
)  # fmt: skip
def test_what_it_is_not_leaves_it_out(written: str) -> None:
    assert parse_filter(written).passes(SCOUT) == (written == "agent:a")  # a part of its name


def test_of_an_id_no_part_is_enough() -> None:
    row = Row(agent="scout@a31")

    assert parse_filter("agent:a31").passes(row)
    assert not parse_filter("agent:a3").passes(row)


def test_a_row_without_a_time_is_neither_longer_nor_shorter() -> None:
    assert not parse_filter(">1s").passes(Row())
    assert not parse_filter("<1s").passes(Row())


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("agnt:x", "did you mean agent:"), ("suprvisor:x", "supervisor:"), ("agent:", "agent:scout"), (">", ">5s"),
        ("<5x", "<5s"), (">s", ">5s"), ('"open', "closing quote"), ("/open", "closing /"), ("/usr/lib", '"/usr/lib"'),
        ("/[a/", "/[a/"), ("/(a/", "/(a/"), ("//", "nothing between"), ("-", "-status:done"), ('""', "nothing between"),
        ("/*a/", "nothing to repeat"), ("scout -", "-status:done"), ('agent:"sc', "closing quote"),
        ("x" * 1_001, "at most 1,000 characters"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_one_line_that_says_what_to_write(written: str, says: str) -> None:
    with pytest.raises(FilterError) as refused:
        parse_filter(written)

    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("whole", ['agent:scout -status:idle >5s /sc.ut/ "reads files" fast', "task:t1 <100ms -/a b/"])
def test_while_it_is_typed_nothing_is_an_error(whole: str) -> None:
    for end in range(len(whole) + 1):
        assert parse_partial_filter(whole[:end]).fault == ""


def test_what_is_not_finished_holds_for_everything() -> None:
    for written in ("agent:", ">", "/sc", '"reads fi', "-", "-agent:", "<.", "scout /x"):
        assert parse_partial_filter(written).passes(SCOUT)


def test_what_is_wrong_lets_nothing_pass_and_says_why() -> None:
    assert "at most 1,000 characters" in parse_partial_filter("a " * 501).fault
    typed = parse_partial_filter("scout /*a/")

    assert not typed.passes(SCOUT)
    assert "nothing to repeat" in typed.fault
    assert typed.apply([SCOUT], lambda row: row) == []


def test_an_expression_that_takes_too_long_lets_nothing_pass_and_says_so() -> None:
    typed = parse_partial_filter("/(a+)+[xy]z/")

    assert typed.apply([Row("a" * 3_000)], lambda row: row) == []
    assert "takes longer" in typed.fault


PLAIN = st.text(alphabet="abcxyz019_", min_size=1, max_size=6)
TERMS = st.one_of(
    PLAIN,
    PLAIN.map(lambda text: f'"{text} {text}"'),
    st.tuples(st.sampled_from(KEYS), PLAIN).map(":".join),
    st.tuples(st.sampled_from("<>"), st.integers(0, 9_999), st.sampled_from(["ms", "s", "m", "h", ""])).map(
        lambda parts: f"{parts[0]}{parts[1]}{parts[2]}"
    ),
    PLAIN.map(lambda text: f"/{text}.?/"),
)
ROWS = st.builds(
    lambda texts, took_ms, values: Row(*texts, took_ms=took_ms, **values),
    st.lists(PLAIN, max_size=3),
    st.none() | st.integers(0, 100_000),
    st.dictionaries(st.sampled_from(KEYS), PLAIN),
)


@given(st.lists(TERMS, max_size=4), ROWS)
def test_every_term_must_hold(terms: list[str], row: Row) -> None:
    assert parse_filter(" ".join(terms)).passes(row) == all(parse_filter(term).passes(row) for term in terms)


@given(TERMS, ROWS)
def test_a_minus_turns_a_term_round(term: str, row: Row) -> None:
    assert parse_filter(f"-{term}").passes(row) != parse_filter(term).passes(row)


@given(st.permutations(["agent:sc", "-idle", ">4s", "/s.*t/"]))
def test_the_order_of_terms_makes_no_difference(terms: list[str]) -> None:
    assert parse_filter("  ".join(terms)).passes(SCOUT)


@given(st.text(alphabet='ab:/-<>"5sm\\ []()*|ü', max_size=24))
def test_any_text_is_a_filter_or_one_line_and_typed_it_never_raises(written: str) -> None:
    typed = parse_partial_filter(written)
    typed.apply([SCOUT], lambda row: row)
    whole: Filter | None = None
    said = ""
    try:
        whole = parse_filter(written)
    except FilterError as refused:
        said = str(refused)

    assert "\n" not in said + typed.fault
    assert (whole is not None) != bool(said)
    assert whole is None or whole == typed


def test_a_filter_that_is_typed_is_completed_by_keys_and_by_what_the_team_has() -> None:
    team = team_world(agent("scout", "read", tools=["crew:search"]), agent("reader", "read", model="my model")).state

    assert suggestions("ag", team) == ["agent:"]
    assert suggestions("busy -s", team) == ["busy -supervisor:", "busy -status:"]
    assert suggestions("agent:", team) == ["agent:scout", "agent:reader"]
    assert suggestions("x -agent:s", team) == ["x -agent:scout"]
    assert suggestions("x" * 1_001, team) == []  # a filter that is too long is said to be, and no more
    assert suggestions('model:"m', team) == ['model:"my model"']
    assert suggestions("status:ru", team) == ["status:running"]
    assert suggestions("status:as", team) == ["status:asks"]
    assert suggestions("kind:agent_sw", team) == ["kind:agent_swapped"]
    assert suggestions("tool:crew", team) == ["tool:crew:search"]
    for ended in ("", "agent:scout ", '"ag', "/ag", ">5", "nothing:"):
        assert suggestions(ended, team) == []


@given(st.text(alphabet='agent:sc "-/x', max_size=12))
def test_a_suggestion_goes_on_from_what_was_typed_and_is_a_filter(written: str) -> None:
    team = team_world(agent("scout", "read"), agent("reader", "read", model="my model")).state

    for way in suggestions(written, team):
        assert way.startswith(written)
        assert parse_partial_filter(way).fault == parse_partial_filter(written).fault


@pytest.mark.parametrize("word", ["scou", "search", "chief", "idle", "busy", "working", "look", "nowhere"])
def test_a_word_is_in_an_agent_where_it_is_in_one_of_its_texts(word: str) -> None:
    world = team_world(agent("Scout", "Search"))
    world.order(Submit(request="Look around"))
    (one,) = world.state.agents.values()

    counts = make_digest(world.state)
    subject = AgentSubject(world.state, one, counts)
    is_in = any(word in text.casefold() for text in subject.texts())

    assert subject.has(word) == is_in
    assert filter_agents(world.state, [one], parse_partial_filter(word), counts) == [one] * is_in
    assert filter_agents(world.state, [one], parse_partial_filter(f"status:busy -{word}"), counts) == [one] * (
        not is_in
    )


def test_agents_and_tasks_that_ask_a_person_are_found_by_the_state_that_they_show() -> None:
    work = team_world(agent("ada"), agent("bob"), mode="parallel")
    work.order(Submit(request="go"))
    key = attempt(work, "ada")
    work.say(
        PersonAsked(task_id=key[0], attempt=1, generation=1, key="ask:1", kind="ask", question="go on?", options=[])
    )
    work.rest(key, why="ask")
    state, counts = work.state, make_digest(work.state)

    for text, names in (("person", ["ada"]), ("asks", ["ada"]), ("busy", ["ada", "bob"]), ("working", ["bob"])):
        found = parse_filter(f"status:{text}")
        assert [one.name for one in filter_agents(state, state.agents.values(), found, counts)] == names
    tasks = [task for task in state.tasks.values() if task.kind == "agent"]
    asks = parse_filter("status:person")
    assert [one.id for one in asks.apply(tasks, lambda task: TaskSubject(state, task, counts.activities))] == [key[0]]
