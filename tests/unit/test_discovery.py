import string
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core.commands import Submit, SwapAgent
from engine.core.discovery.candidate import Candidate, category_stem, success_rate, suits
from engine.core.discovery.capability_index import CapabilityIndex
from engine.core.discovery.choosing import choose, choose_category
from engine.core.discovery.nearest import nearest
from engine.core.discovery.synonyms import SYNONYMS, synonyms_by_phrase
from engine.core.discovery.words import stem, words
from engine.core.queries.team.participants import cast_for
from tests.world import agent, team_world

RESEARCHER = Candidate(
    "a1",
    "researcher",
    ("research", "analysis", "data"),
    "Finds and checks facts",
    ("search_web", "analyse"),
)
WRITER = Candidate("a2", "writer", ("writing", "editing", "content"), "Writes and edits texts")
DATA_SCIENTIST = Candidate(
    "a3",
    "data_scientist",
    ("statistics", "machine learning", "data science"),
    "Statistics and machine learning",
    ("load_table", "app.tools:fit_model", "plot"),
)
TEAM = (RESEARCHER, WRITER, DATA_SCIENTIST)
CATEGORIES = {"research_tasks": "", "analysis_tasks": "", "content_tasks": "", "technical_tasks": ""}

SAID = "research data analysis writing code testing legal contract machine learning science plot state topic1 topic12"
VOCABULARY = SAID.split()
phrases = st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=3).map(" ".join)
requests = st.lists(st.sampled_from([*VOCABULARY, "analyze", "dataset", "the", "summary", "bug"]), max_size=12).map(
    " ".join
)


@st.composite
def teams(draw: st.DrawFn, *, max_size: int = 12) -> list[Candidate]:
    return [
        Candidate(
            id=f"a{number}",
            name=draw(st.sampled_from(VOCABULARY)),
            specialties=tuple(draw(st.lists(phrases, max_size=3))),
            description=draw(phrases),
            done=draw(st.integers(0, 3)),
            failed=draw(st.integers(0, 3)),
            load=draw(st.integers(0, 2)),
            age=draw(st.integers(0, 2)),
        )
        for number in range(draw(st.integers(0, max_size)))
    ]


def names(request: str, *team: Candidate) -> list[str]:
    return [match.name for match in choose(request, team).matches]


def candidate(name: str, *specialties: str, description: str = "", category: str | None = None) -> Candidate:
    return Candidate(name, name, specialties, description, category=category)


@given(requests, teams(), st.randoms(use_true_random=False))
def test_the_order_of_the_candidates_does_not_matter(request: str, team: list[Candidate], random: object) -> None:
    shuffled = list(team)
    random.shuffle(shuffled)  # type: ignore[attr-defined]

    assert choose(request, shuffled) == choose(request, team)


@given(requests, teams(), teams(max_size=5))
def test_who_was_added_and_removed_again_leaves_no_trace(
    request: str, team: list[Candidate], guests: list[Candidate]
) -> None:
    index = CapabilityIndex(team)
    visitors = [replace(guest, id=f"guest-{guest.id}") for guest in guests]
    for guest in visitors:
        index.add(guest)
    for guest in visitors:
        index.remove(guest.id)

    assert choose(request, index) == choose(request, team)
    assert index.search(request) == CapabilityIndex(team).search(request)


@given(requests, teams(), st.integers(0, 6))
def test_everyone_chosen_covers_a_word_of_its_own_and_there_are_never_too_many(
    request: str, team: list[Candidate], limit: int
) -> None:
    matches = choose(request, team, limit=limit).matches

    covered = [word for match in matches for word in match.matched]
    asked = [word.text for word in CapabilityIndex(team).parse_request(request)]
    assert len(matches) <= limit
    assert all(match.matched for match in matches)
    assert len(covered) == len(set(covered))
    firsts = [asked.index(match.matched[0]) for match in matches]
    assert firsts == sorted(firsts)


@given(st.text(), st.text(), st.text(), st.text())
def test_no_text_raises(request: str, name: str, specialty: str, description: str) -> None:
    member = Candidate("a1", name, (specialty,), description, (specialty,), category=name)

    choose(request, [member])
    choose_category(request, {name: "", specialty: ""}, [member])
    suits(member, request)
    nearest(request, [name, specialty])
    CapabilityIndex([member]).search(request)


@given(st.text(alphabet=string.ascii_letters + " '.-", max_size=60))
def test_words_stand_where_they_say(text: str) -> None:
    for word in words(text):
        assert text[word.at : word.at + len(word.text)].lower() == word.text


def test_one_request_that_needs_two_abilities_gets_two_agents_in_its_order() -> None:
    choice = choose("Research the state of quantum error correction and write a two-page summary", TEAM)

    assert [match.name for match in choice.matches] == ["researcher", "writer"]
    assert choice.explanation == "researcher for 'research', writer for 'write', 'summary'"
    assert choice.matches[0].missing == ["state", "quantum", "error", "correction", "write", "page", "summary"]


def test_who_covers_several_words_stands_where_the_first_of_them_does() -> None:
    team = (candidate("lawyer", "contract"), candidate("tester", "testing", "plot"))

    assert names("testing the contract plot", *team) == ["tester", "lawyer"]


def test_a_specialist_who_joins_takes_the_request_that_the_generalist_had() -> None:
    request = "Analyze this dataset and build a predictive model"

    assert names(request, RESEARCHER, WRITER) == ["researcher"]
    assert names(request, *TEAM) == ["data_scientist"]


def test_without_synonyms_a_dataset_finds_nobody() -> None:
    assert names("analyze dataset", DATA_SCIENTIST) == ["data_scientist"]
    assert choose("analyze dataset", CapabilityIndex([DATA_SCIENTIST], synonyms={})).matches == ()


def test_a_team_teaches_words_of_its_own_in_both_directions() -> None:
    own = {**SYNONYMS, "brew": ("roasting",)}

    assert choose("Brew something", CapabilityIndex([candidate("a", "roasting")], synonyms=own)).matches
    assert choose("Roast something", CapabilityIndex([candidate("a", "brewing")], synonyms=own)).matches
    assert not choose("Brew something", [candidate("a", "roasting")]).matches


@pytest.mark.parametrize(
    ("request_text", "claim"),
    [
        ("Summarise this article", "summarization"),
        ("Fix the crash on login", "debugging"),
        ("Pay invoice 4711", "accounts payable"),
        ("Check the clauses of this agreement", "contract law"),
        ("Find the mood of 100 customer reviews", "sentiment analysis"),
        ("Deploy it to Kubernetes", "devops"),
        ("Reply to the complaint", "customer support"),
        ("Translate the manual", "translation"),
        ("Write it in Go", "go"),
        ("Ask IT for a laptop", "IT"),
        ("Port this to C++", "c++"),
        ("Optimise colours", "color optimization"),
    ],
)
def test_everyday_requests_find_who_claims_the_ability(request_text: str, claim: str) -> None:
    assert "expert_7" in names(request_text, candidate("expert_7", claim), candidate("gardener", "gardening"))


def test_tokens_are_whole() -> None:
    one, twelve = candidate("first", "topic1"), candidate("second", "topic12")

    assert names("topic12", one, twelve) == ["second"]
    assert not suits(one, "topic12")
    assert not choose("Write Java", [candidate("a", "javascript")]).matches


def test_a_whole_phrase_is_worth_more_than_one_word_of_it() -> None:
    index = CapabilityIndex([candidate("b", "machine learning"), candidate("a", "machine tools", "learning theory")])

    assert [match.name for match in index.search("machine learning")] == ["b", "a"]
    assert index.search("machine. Learning")[0].score == index.search("machine. Learning")[1].score


def test_a_stray_word_in_a_description_adds_nobody() -> None:
    clerk = candidate("clerk", "filing", description="Keeps the state of tickets")

    assert names("Research the state of quantum physics", RESEARCHER, clerk) == ["researcher"]
    assert names("What is the state", clerk) == ["clerk"]


def test_descriptions_alone_can_cover_a_request() -> None:
    finder, author = candidate("a", description="Finds facts"), candidate("b", description="Composes verse")

    assert names("Compose verse about facts", finder, author) == ["b", "a"]


def test_a_rare_synonym_does_not_outbid_the_word_itself() -> None:
    many = [candidate(f"r{number}", "research") for number in range(20)]

    assert names("research", candidate("a", "literature review"), *many) == ["r0"]


def test_equals_by_different_words_are_in_the_order_of_their_ranks() -> None:
    team = [Candidate(word, word, (word,), load=load) for load, word in enumerate(("plot", "state", "legal"))]

    assert _found(CapabilityIndex(team), "legal state plot") == ["plot", "state", "legal"]


def test_equals_are_parted_by_success_then_load_then_age() -> None:
    base = candidate("a", "research")
    good, idle, old = (
        replace(base, id="good", done=5, load=3, age=9),
        replace(base, id="idle", done=5, load=4, age=1),
        replace(base, id="old", done=0, failed=0, age=0),
    )

    found = CapabilityIndex([old, idle, good]).search("research")

    assert [match.id for match in found] == ["good", "idle", "old"]
    assert choose("research", [old, idle, good]).matches[0].id == "good"
    assert success_rate(0, 0) == 0.5


def test_nobody_is_told_with_the_nearest_names() -> None:
    choice = choose("reserch", TEAM)

    assert choice.matches == ()
    assert choice.nearest == ("researcher",)
    assert "researcher" in choice.explanation
    assert choose("Go on with it", TEAM).explanation == "no agent matches a word of the request"
    assert choose("anything", []).matches == ()


def test_a_capability_suits_who_claims_it_or_is_called_so() -> None:
    team = [candidate("parser", "files"), candidate("b", "log parsing"), candidate("c", "parse")]

    assert [one.id for one in team if suits(one, "parse")] == ["b", "c"]
    assert [one.id for one in team if suits(one, "PARSER")] == ["parser"]
    assert not any(suits(one, "...") for one in team)


def test_a_capability_suits_who_claims_all_its_words_at_once() -> None:
    team = [candidate("a", "log shipping", "xml parsing"), candidate("b", "parsing of logs")]

    assert [one.id for one in team if suits(one, "log parsing")] == ["b"]


def _found(index: CapabilityIndex, request: str) -> list[str]:
    return [match.id for match in index.search(request)]


def test_bringing_up_to_date_changes_rank_or_words() -> None:
    index = CapabilityIndex([candidate("a", "research"), candidate("b", "research")])
    index.add(replace(candidate("a", "research"), load=4))
    assert _found(index, "research") == ["b", "a"]
    index.add(candidate("a", "writing"))

    assert _found(index, "research") == ["b"]
    assert _found(index, "write") == ["a"]
    with pytest.raises(KeyError):
        index.remove("nobody")


def test_a_request_goes_to_the_category_of_who_would_do_it() -> None:
    coder = candidate("coder", "python coding")
    team = (*TEAM, coder)

    assert choose_category("Write a summary", CATEGORIES, team) == "content_tasks"
    assert choose_category("Research the market", CATEGORIES, team) == "research_tasks"
    assert choose_category("Analyze sales data", CATEGORIES, team) == "analysis_tasks"
    assert choose_category("Fix the bug in python", CATEGORIES, team) == "technical_tasks"
    assert choose_category("Wash the car", CATEGORIES, team) is None
    assert choose_category("Drive", {"transport": ""}, [candidate("d", "drive", category="transport")]) == "transport"


def test_category_keys_are_compared_without_their_noun_of_work() -> None:
    assert category_stem("research_tasks") == category_stem("Research") == "research"
    assert category_stem("tasks") == "task"


def test_nearest_names_ignore_case_and_order() -> None:
    known = ["researcher", "Writer", "data_scientist"]

    assert nearest("RESERCHER", known) == ("researcher",)
    assert nearest("writr", known) == nearest("writr", reversed(known)) == ("Writer",)
    assert nearest("zzz", known) == nearest("writer", known, limit=0) == ()
    assert nearest("agent_77", [f"worker_{number}" for number in range(2_000)] + ["agent_7"])[0] == "agent_7"


@pytest.mark.parametrize("crowded", [500, 5_000])
def test_broad_words_among_thousands_still_find_the_one_who_has_them_all(crowded: int) -> None:
    crowd = [Candidate(str(number), "one", (("data", "legal")[number % 2],)) for number in range(2 * crowded)]
    index = CapabilityIndex([*crowd, candidate("both", "data", "legal", "diving")])

    assert index.search("legal data and diving", 1)[0].name == "both"
    assert [match.name for match in choose("legal data and diving", index).matches] == ["both"]
    assert len(index.search("data", 7)) == 7


def test_only_both_ends_of_a_very_long_request_are_read() -> None:
    pasted = "blah " * 20_000

    assert names(f"Research this: {pasted} and write a summary", *TEAM) == ["researcher", "writer"]
    assert len(words(pasted)) < 1_000


def test_the_synonyms_that_ship_are_useful_and_work_both_ways() -> None:
    table = synonyms_by_phrase(SYNONYMS)

    assert len(SYNONYMS) > 300
    assert "data scienc" in table["dataset"]
    assert "dataset" in table["data scienc"]
    assert all(said not in called for said, called in table.items())
    assert stem("Summarising") == stem("summarize") == stem("summarized’s".removesuffix("’s"))


def test_a_crew_is_looked_up_by_the_words_it_has_and_by_how_it_does_now() -> None:
    world = team_world(agent("ada", "parse"), agent("bob", "parse"), auto_discover=True)
    chief = world.state.supervisors["s1"]
    assert cast_for(world.state, chief, "parse it").members == ["a1"]

    world.order(Submit(request="parse it"))
    world.fail(next(iter(world.started)))
    assert cast_for(world.state, chief, "parse it").members == ["a2"]
    world.order(SwapAgent(agent="bob", spec=agent("bob", "write")))

    assert cast_for(world.state, chief, "parse it").members == ["a1"]
    assert cast_for(world.state, chief, "write it").members == ["a2"]
