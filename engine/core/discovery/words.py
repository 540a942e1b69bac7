"""Splits text into comparable words: tokens, stop words, stems.

Whole tokens only: "topic12" and "topic1" are two words. English is assumed; tokens of other languages stay unchanged if
the stemmer does not know their endings. Pure, except for the cache of stems.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

HEAD_CHARACTERS = 3_000
TAIL_CHARACTERS = 1_000
"""Only both ends of a longer text are read: the request is usually before or after pasted material."""

_MAX_STEMMED_CHARS = 40
_TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)*(?:\+\+|#(?![^\W_]))?")
_SENTENCE_END = re.compile(r"[.!?:\n]\s*$")
# British endings are replaced by American ones first, because the stemmer knows only the latter.
_ISE = re.compile(r"(?<=..)([iy])s(e[sdr]?|ers?|ing|ations?)$")
_OUR = re.compile(r"(?<=...)our(s|al|ed|ing)?$")
_CAMEL_PART = re.compile(
    # Names of products, which are one word although they have a capital inside.
    "JavaScript|TypeScript|CoffeeScript|GitHub|GitLab|PostgreSQL|MySQL|NoSQL|GraphQL|DevOps|DevSecOps|PyTorch|TensorFlow"
    r"|[A-Z0-9]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z0-9]+"
)

_STOP_WORDS = """
    a about above after again against all also although am among an and any anybody anyone anything are aren't as at
    away be because been before being below between both but by can can't cannot could couldn't did didn't do does
    doesn't doing don't done down during each either else etc even ever every everyone everything few for from further
    gave get gets getting give given gives giving go goes going had hadn't has hasn't have haven't having he hello help
    her here hers herself hey hi him himself his how however i i'd i'll i'm i've if in instead into is isn't it it'd
    it'll it's its itself just kindly know let let's lets like lot made make makes making many may maybe me might mine
    more most much must mustn't my myself need needed needs neither never next nice no nobody none nor not nothing now
    of off often on once one only onto or other others our ours ourselves out over own per please possible put quite
    rather really s same see she should shouldn't since so some somebody someone something still such t take takes
    taking than thank thanks that that's the their theirs them themselves then there there's these they they're thing
    things this those though through till to together too toward towards two under until up upon us use used uses using
    various very via want wanted wants was wasn't way we we'd we'll we're we've well were weren't what what's whatever
    when where whether which while who whole whom whose why will with within without won't would wouldn't yes yet you
    you'd you'll you're you've your yours yourself
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())


@dataclass(slots=True, frozen=True)
class Word:
    """One token of a text, with its stem and position."""

    text: str
    """The token in lower case."""
    stem: str
    at: int
    """Its offset in the text, in characters."""
    clause: int
    """Number of its clause; phrases do not cross the end of a clause or sentence."""


@lru_cache(maxsize=65_536)
def stem(token: str) -> str:
    """Return the stem of a token: "summarising", "Summarize" and "summarized" have the same one.

    Source: M. Porter, the English (Porter2) stemmer of Snowball.
    """
    plain = unicodedata.normalize("NFKC", token).casefold().replace("’", "'").removesuffix("'s")
    if len(plain) > _MAX_STEMMED_CHARS:
        return plain
    from snowballstemmer.english_stemmer import EnglishStemmer  # its package loads thirty languages

    plain = _OUR.sub(r"or\1", _ISE.sub(r"\1z\2", plain))
    # A stemmer has mutable state, so each call makes its own: threads may share this function.
    return str(EnglishStemmer().stemWord(plain))


def tokens(text: str) -> tuple[str, ...]:
    """Return the tokens of `text` as written; "_" and "-" separate words."""
    return tuple(_TOKEN.findall(text))


def stems(text: str) -> tuple[str, ...]:
    """Return the stems of a phrase in order, without stop words unless it has no others ("IT", "Go")."""
    all_tokens = tokens(text)
    content_tokens = [token for token in all_tokens if token.lower().replace("’", "'") not in STOP_WORDS]
    return tuple(map(stem, content_tokens or all_tokens))


def phrase_key(text: str) -> str:
    """Return the stems of a phrase as one key, such as "machin learn"; empty if the text has no words."""
    return " ".join(stems(text))


def identifier_stems(name: str) -> tuple[str, ...]:
    """Return the stems of an identifier: the same for "FactChecker", "fact_checker" and "fact-checker"."""
    return stems(" ".join(part for token in tokens(name) for part in _parts(token)))


def words(text: str) -> tuple[Word, ...]:
    """Return the words of a request in order, without stop words; repeated ones too.

    A stop word written with a capital inside a sentence is a name ("ask IT", "write it in Go") and stays.
    Of a text above `HEAD_CHARACTERS + TAIL_CHARACTERS` only both ends are read.
    """
    if len(text) <= HEAD_CHARACTERS + TAIL_CHARACTERS:
        return tuple(_words(text, 0, 0))
    tail_at = len(text) - TAIL_CHARACTERS
    head = tuple(_words(text[:HEAD_CHARACTERS], 0, 0))
    return head + tuple(_words(text[tail_at:], tail_at, head[-1].clause + 1 if head else 0))


def _words(text: str, offset: int, clause: int) -> Iterator[Word]:
    is_upper = text.isupper()
    end = 0
    for token_match in _TOKEN.finditer(text):
        token = token_match.group()
        between = text[end : token_match.start()]
        starts_sentence = end == 0 or _SENTENCE_END.search(between) is not None
        clause += any(mark in between for mark in ",;.:!?\n()")
        end = token_match.end()
        lower = token.lower().replace("’", "'")
        if lower not in STOP_WORDS or (token != lower and not starts_sentence and not is_upper):
            yield Word(lower, stem(token), offset + token_match.start(), clause)


def _parts(token: str) -> list[str]:
    return _CAMEL_PART.findall(token) if token.isascii() and token.isalnum() else [token]
