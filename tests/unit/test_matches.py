"""A search adds up the points of each candidate, and says how much of the request it matches."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.core.discovery.candidate import Candidate, profile_of
from engine.core.discovery.capability_index import CapabilityIndex
from engine.core.discovery.choosing import choose
from engine.core.discovery.match import Match
from engine.core.discovery.words import words
from engine.core.records.records import copy_with
from tests.depth import examples

SAID = "research data analysis writing code testing legal contract machine learning topic1 topic12"
VOCABULARY = SAID.split()
spoken = st.lists(st.sampled_from([*VOCABULARY, "dataset", "summary", "bug", "the", "zebra"]), max_size=12)
requests = spoken.map(" ".join)
phrases = st.lists(st.sampled_from(VOCABULARY), max_size=3).map(" ".join)


@st.composite
def teams(draw: st.DrawFn) -> list[Candidate]:
    return [
        Candidate(
            id=f"a{number}",
            name=draw(st.sampled_from(["", *VOCABULARY])),
            specialties=tuple(draw(st.lists(phrases, max_size=3))),
            description=draw(phrases),
            load=draw(st.integers(0, 2)),
            age=number,
        )
        for number in range(draw(st.integers(0, 12)))
    ]


law = settings(max_examples=examples(60))
STRANGER = Candidate("stranger", "zucchini", ("gardening at night",), "waters zucchini")


@law
@given(requests, teams(), st.integers(0, 8))
def test_a_search_ranks_as_adding_up_the_points_of_each_candidate_alone_does(
    request: str, team: list[Candidate], limit: int
) -> None:
    index = CapabilityIndex(team)
    asked = index.parse_request(request)
    points = {one: round(sum(grant.points for word in asked if (grant := word.grant_of(one.id))), 6) for one in team}
    ranked = sorted((one for one in team if points[one]), key=lambda one: (-points[one], *one.rank))

    assert [match.id for match in index.search(request, limit)] == [one.id for one in ranked[:limit]]


@law
@given(requests, teams())
def test_scores_are_shares_of_the_request_the_best_first(request: str, team: list[Candidate]) -> None:
    asked = [word.text for word in CapabilityIndex(team).parse_request(request)]
    matches = CapabilityIndex(team).search(request, len(team))

    scores = [match.score for match in matches]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)
    for match in matches:
        assert match.matched
        assert match.matched == [word for word in asked if word not in match.missing]
        assert match.missing == [word for word in asked if word not in match.matched]


@law
@given(requests, teams())
def test_only_specialties_for_every_word_that_anybody_matches_score_1(request: str, team: list[Candidate]) -> None:
    index = CapabilityIndex(team)
    matches = index.search(request, len(team))
    stems = {word.text: word.stem for word in words(request)}
    matchable = {word for match in matches for word in match.matched}

    for match in matches:
        if match.score == 1:
            claimed = {stem for phrase in profile_of(index.candidate(match.id)).specialties for stem in phrase.split()}
            assert matchable == set(match.matched)
            assert {stems[word] for word in matchable} <= claimed


@law
@given(st.lists(st.sampled_from(VOCABULARY), min_size=1, unique=True))
def test_who_claims_each_word_scores_1(claims: list[str]) -> None:
    match = CapabilityIndex([Candidate("a1", "ada", tuple(claims))]).search(". ".join(claims))[0]

    assert (match.score, match.matched, match.missing) == (1, claims, [])


@law
@given(requests, teams(), st.sampled_from(VOCABULARY))
def test_who_shares_no_word_changes_neither_what_others_match_nor_their_order_for_a_word(
    request: str, team: list[Candidate], word: str
) -> None:
    # With more candidates a rare word gains more than a common one, so of several words this order may change.
    alone, joined = CapabilityIndex(team, synonyms={}), CapabilityIndex([STRANGER, *team], synonyms={})
    limit = len(team) + 1

    def covered(index: CapabilityIndex) -> dict[str, tuple[list[str], list[str]]]:
        return {match.id: (match.matched, match.missing) for match in index.search(request, limit)}

    assert covered(joined) == covered(alone)
    assert [one.id for one in joined.search(word, limit)] == [one.id for one in alone.search(word, limit)]


@law
@given(requests, teams())
def test_a_request_said_twice_is_the_same_request(request: str, team: list[Candidate]) -> None:
    index = CapabilityIndex(team)

    assert index.search(f"{request}. {request}") == index.search(request)
    assert choose(f"{request}. {request}", index) == choose(request, index)


@law
@given(requests, teams(), st.randoms(use_true_random=False))
def test_the_order_of_adding_does_not_matter(request: str, team: list[Candidate], random: object) -> None:
    shuffled = list(team)
    random.shuffle(shuffled)  # type: ignore[attr-defined]

    assert CapabilityIndex(shuffled).search(request) == CapabilityIndex(team).search(request)


@law
@given(requests, teams())
def test_who_is_chosen_says_what_it_lacks_of_the_whole_request(request: str, team: list[Candidate]) -> None:
    index = CapabilityIndex(team)
    alone = {match.id: match for match in index.search(request, len(team))}

    for match in choose(request, index).matches:
        assert set(match.matched) <= set(alone[match.id].matched)
        assert (match.score, match.missing) == (alone[match.id].score, alone[match.id].missing)


def test_a_word_that_nobody_matches_is_missing_and_does_not_lower_the_score() -> None:
    team = [Candidate("a1", "ada", ("translation",)), Candidate("a2", "bob", (), "translation of zebras")]

    ada, bob = CapabilityIndex(team).search("Translate the zebra quickly")

    assert (ada.name, ada.matched, ada.missing) == ("ada", ["translate"], ["zebra", "quickly"])
    assert (bob.name, bob.matched, bob.missing) == ("bob", ["translate", "zebra"], ["quickly"])
    assert CapabilityIndex(team[:1]).search("Translate the zebra quickly")[0].score == 1


def test_below_half_of_a_request_a_match_is_weak() -> None:
    match = CapabilityIndex([Candidate("a1", "ada", ("plot",))]).search("plot topic12")[0]

    assert not match.is_weak
    assert not copy_with(match, score=0.5).is_weak
    assert copy_with(match, score=0.49).is_weak


def test_a_match_is_a_record() -> None:
    match = CapabilityIndex([Candidate("a1", "ada", ("plot",))]).search("plot topic12")[0]

    assert msgspec.json.decode(msgspec.json.encode(match), type=Match) == match


def test_of_ten_thousand_equals_the_oldest_come_first() -> None:
    crowd = [Candidate(f"a{number}", "one", ("data",), age=-number) for number in range(10_000)]
    index = CapabilityIndex(crowd)

    assert [match.id for match in index.search("data", 3)] == ["a9999", "a9998", "a9997"]
    assert [match.id for match in choose("data", index).matches] == ["a9999"]


def test_a_request_of_100_000_characters_has_few_missing_words() -> None:
    pasted = " ".join(f"zebra{number}" for number in range(20_000))
    match = CapabilityIndex([Candidate("a1", "ada", ("plot",))]).search(f"plot {pasted}")[0]

    assert len(pasted) > 100_000
    assert len("".join(match.missing)) < 4_000
