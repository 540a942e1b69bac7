import json
import string
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.catalogue import Pack, TrustedKey
from engine.catalogue.acp_registry import read_acp_registry
from engine.catalogue.components import component_names, read_component
from engine.catalogue.pack_files import pack_yaml, read_pack, read_packs
from engine.catalogue.signatures import check_key
from engine.catalogue.writer import CatalogueWriter
from engine.core.queries.team.code import references_of
from engine.core.specs.model_spec import McpSpec
from engine.core.specs.spec import AgentSpec
from engine.errors import CatalogueError
from engine.teamfile import TeamFileError

PACK = """\
pack: {name: tides, version: "1.10", author: Ada, licence: MIT}
agents:
  - {name: surveyor, run: "os:system", specialties: [tide tables]}
  - {name: pilot, model: fast, mcp: [charts/depth], instructions: Find the channel.}
mcp: {charts: {argv: [charts-mcp]}}
"""


BOMB = "a: &a [x]\n" + "".join(
    f"{key}: &{key} [{', '.join([f'*{before}'] * 10)}]\n" for before, key in zip("abcdefg", "bcdefgh", strict=True)
)


def written(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refusal(path: Path) -> str:
    with pytest.raises((TeamFileError, CatalogueError)) as refused:
        read_packs(path)
    return str(refused.value)


def test_a_pack_is_who_made_it_and_agents_as_in_a_team_file_whose_code_is_not_imported(tmp_path: Path) -> None:
    pack = read_pack(written(tmp_path / "tides.yaml", PACK))

    assert (pack.name, pack.version, pack.author, pack.licence, pack.key) == ("tides", "1.10", "Ada", "MIT", "")
    assert [spec.name for spec in pack.agents] == ["surveyor", "pilot"]
    assert references_of(pack.agents[0]) == ["os:system"]
    assert pack.mcp == {"charts": McpSpec(argv=("charts-mcp",))}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("pack: {name: p}\nagents:\n  - {name: a, model: fast, mcp: [maps]}\n", ":3: agents[a].mcp[1]: no tool server"),
        ("pack: {name: p}\nagents:\n  - {name: a, modle: fast}\n", ":3: agents[a].modle: is not a key here; did you"),
        ("pack: {name: p}\nagents: [{name: a, model: m},\n {name: a, model: m}]\n", ":3: agents[a].name: there is a"),
        ("pack: {name: p, version: 1.10}\nagents: [{name: a, model: m}]\n", ":1: pack.version: must be"),
        ("pack: {nam: p}\nagents: []\n", ":1: pack.nam: is not a key here"),
        ("pack: {name: p}\nagent: []\n", ":2: agent: is not a key here; did you mean agents?"),
        ("pack: {name: p}\nagents: []\n", "names no agent"),
        ("version: 1\nsupervisor: {name: crew}\n", "is not a pack"),
        ("pack: {name: p}\nagents: " + "[" * 40 + "]" * 40, "nested deeper than 32"),
        (BOMB, "more than 4,000,000 values"),
        (b"\xff\xfe", "is not text in UTF-8"),
    ],
)  # fmt: skip
def test_a_fault_is_one_line_with_place_and_advice(tmp_path: Path, text: str | bytes, line: str) -> None:
    assert line in refusal(written(tmp_path / "p.yaml", text))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{"pack": {"name": "p"}, "pack": {"name": "q"}}', "has the key 'pack' twice"),
        ('{"pack": {"name": "p"}, "agents": %s}' % ("[" * 40 + "]" * 40), "nested deeper than 32"),
        ('{"pack": ', "it is not JSON"),
        ("[" * 100_000, "it is not JSON"),
    ],
)
def test_json_is_as_strict(tmp_path: Path, text: str, line: str) -> None:
    assert line in refusal(written(tmp_path / "p.json", text))


def test_json_with_signs_beyond_the_first_plane_is_read(tmp_path: Path) -> None:
    value = {"pack": {"name": "p"}, "agents": [{"name": "a", "model": "m", "description": "kelp 🌊 forest"}]}

    for text in (json.dumps(value), json.dumps(value, indent=2, ensure_ascii=False)):
        assert read_pack(written(tmp_path / "p.json", text)).agents[0].description == "kelp 🌊 forest"


def test_a_folder_is_all_its_packs_and_one_that_is_wrong_refuses_them(tmp_path: Path) -> None:
    assert "holds no file *.yaml" in refusal(tmp_path)
    written(tmp_path / "b.yaml", PACK.replace("name: tides", "name: b"))
    written(tmp_path / "a.yaml", PACK)
    written(tmp_path / "notes.txt", "no pack")
    assert [pack.name for pack in read_packs(tmp_path)] == ["tides", "b"]
    written(tmp_path / "c.yaml", "pack: {}")
    assert "c.yaml:1: pack.name: is missing" in refusal(tmp_path)
    written(tmp_path / "c.yaml", PACK)
    assert "c.yaml is a second pack 'tides' in this folder" in refusal(tmp_path)


texts = st.text(max_size=30).filter(lambda text: "\0" not in text)
# Not all of them may stand in YAML as they are.
special = st.text("a \u2028\u2029\ufeff\ufffe\u202e\U0001f30a:#'\"", max_size=8)
lines = st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=20) | special
specs = st.builds(
    AgentSpec,
    name=st.text(string.ascii_letters, min_size=1, max_size=5),
    model=st.just("fast"),
    description=texts,
    instructions=texts,
    specialties=st.lists(texts.filter(bool), max_size=3),
)


@given(
    lines,
    lines,
    texts | special | st.just("\x7f\x85"),
    st.lists(specs, min_size=1, max_size=4, unique_by=lambda spec: spec.name),
)
def test_a_pack_that_is_written_is_read_as_the_same(
    tmp_path_factory: pytest.TempPathFactory, version: str, author: str, argument: str, agents: list[AgentSpec]
) -> None:
    server = McpSpec(argv=("a b", '"', argument), env=("KEY",), idempotent=("x",))
    pack = Pack(
        name="p", version=version, author=author, agents=agents, mcp={"s": server, "t": McpSpec(url="http://x")}
    )

    again = read_pack(written(tmp_path_factory.mktemp("p") / "p.yaml", pack_yaml(pack)))

    assert [*again.agents] == [AgentSpec(**spec_fields(spec)) for spec in agents]
    assert (again.name, again.version, again.author, again.mcp) == (pack.name, version, author, pack.mcp)


def spec_fields(spec: AgentSpec) -> dict[str, Any]:
    return {"name": spec.name, "model": spec.model, "description": spec.description, "agent_type": spec.agent_type,
            "instructions": spec.instructions, "specialties": [*spec.specialties]}  # fmt: skip


def test_what_no_file_can_say_is_not_written() -> None:
    with pytest.raises(CatalogueError, match="scout cannot be written into a file: its run"):
        pack_yaml(Pack(name="p", agents=[AgentSpec(name="scout", run="bound:crew:scout")]))
    with pytest.raises(CatalogueError, match="several agents 'a'"):
        pack_yaml(Pack(name="p", agents=[AgentSpec(name="a", model="m")] * 2))


# Signatures, made by another program (py-minisign 0.21).

SIGNED = b"pack: {name: tides}\nagents: [{name: surveyor, model: fast}]\n"
KEY = "RWSIrhADjP7mSxVl7gXncYTuqNgIHl7yiZvHQJz/serrzZdLXVhrNoa5"
KEY_ID = "4BE6FE8C0310AE88"
PLAIN = """\
untrusted comment: signature from minisign secret key
RWSIrhADjP7mS3vMPBlxfxxMeX5XUTJ4FGeqBSTWYAIwuvt2xp2HRNSyWtkjDRoLecyzaOowwOBOnrfzzv9/WEOiePQk/CMwSAQ=
trusted comment: pack of tides
fX3NVw5bStLRJbAFW/VXtKsUiCgpMeRcJ5bl/IOXCVh51Rzn+3LQmEvhIPZ9DM5Jwx2rhZR309Hr0e+eiHFcBA==
"""
PREHASHED = """\
untrusted comment: signature from minisign secret key
RUSIrhADjP7mSxBKVaOHRJuVo3DcOhCrxtHuCjm5HSAyRk33XszdQdjXxws1doda6mXvrNSomnyiPFKYT/3o0wIwBD4eJI7FyQ4=
trusted comment: pack of tides
D573n6uM9nUna/Hi9RnILlsqhpoyUZCW9dEfFZrlpGVInlOnCvE9eNnLMtAu/9zftRBXVwp43kHCw9g5TbmCDg==
"""
OTHER_KEY = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3"
"""The key of minisign's own author, from its page."""


@pytest.mark.parametrize("signature", [PLAIN, PREHASHED, PLAIN.replace("\n", "\r\n")])
def test_a_signature_names_its_key_and_an_unknown_key_is_said_to_be_one(tmp_path: Path, signature: str) -> None:
    written(tmp_path / "tides.yaml.minisig", signature)
    path = written(tmp_path / "tides.yaml", SIGNED)
    trusted = [TrustedKey(name="frank", key=OTHER_KEY, added_ms=0), TrustedKey(name="ada", key=KEY, added_ms=0)]

    assert read_pack(path, trusted).key == f"ada {KEY_ID}"
    assert read_pack(path, trusted[:1]).key == f"unknown {KEY_ID}"


@pytest.mark.parametrize("signature", [PLAIN, PREHASHED])
@pytest.mark.parametrize("part", range(5))
def test_no_part_of_a_signed_pack_can_be_changed(tmp_path: Path, signature: str, part: int) -> None:
    changed = signature.splitlines()
    if part in (1, 3):  # a byte within the signature
        changed[part] = changed[part][:40] + ("A" if changed[part][40] != "A" else "B") + changed[part][41:]
    elif part == 2:
        changed[part] += "!"
    elif part == 0:
        changed[part] = "comment"
    written(tmp_path / "tides.yaml.minisig", "\n".join(changed) + "\n")
    path = written(tmp_path / "tides.yaml", SIGNED + b"\n" * (part == 4))

    with pytest.raises(CatalogueError, match="nothing was added"):
        read_pack(path, [TrustedKey(name="ada", key=KEY, added_ms=0)])


@pytest.mark.parametrize("signature", [b"", b"\xff", b"a\nb\nc\nd\n", PLAIN.replace("RWS", "RXS").encode(), b"\n" * 9])
def test_a_file_that_is_no_signature_is_refused_also_without_trusted_keys(tmp_path: Path, signature: bytes) -> None:
    written(tmp_path / "tides.yaml.minisig", signature)

    assert "nothing was added" in refusal(written(tmp_path / "tides.yaml", SIGNED))


def test_a_good_signature_approves_nothing_and_a_key_is_kept_until_it_is_removed(tmp_path: Path) -> None:
    written(tmp_path / "tides.yaml.minisig", PREHASHED)
    with CatalogueWriter(tmp_path / "c.db") as writer:
        writer.add_key("ada", KEY)
        writer.add(read_packs(written(tmp_path / "tides.yaml", SIGNED), writer.catalogue.keys()))
        (entry,) = writer.catalogue.entries()
        assert (writer.catalogue.pack_of(entry).key, entry.approved_ms) == (f"ada {KEY_ID}", None)
        (key,) = writer.catalogue.keys()
        assert (key.name, key.key) == ("ada", KEY)
        writer.remove_key("ada")
        assert writer.catalogue.keys() == []
        with pytest.raises(CatalogueError, match="no key 'ada'"):
            writer.remove_key("ada")


@pytest.mark.parametrize(
    ("name", "key"), [("unknown", KEY), ("a b", KEY), ("ada", "RWQ"), ("ada", "ä"), ("ada", PLAIN)]
)
def test_what_is_no_key_is_refused(name: str, key: str) -> None:
    check_key("ada", KEY)
    with pytest.raises(CatalogueError):
        check_key(name, key)


# Installed packages


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of packages in which one with agents is installed, whose code must not be imported."""
    package = tmp_path / "tides_of_ada"
    (package / "data").mkdir(parents=True)
    written(package / "__init__.py", "raise SystemExit('imported')")
    written(package / "data" / "agents.yaml", PACK)
    written(package / "stray.yaml", PACK)
    info = tmp_path / "tides_of_ada-1.0.dist-info"
    info.mkdir()
    written(info / "METADATA", "Metadata-Version: 2.1\nName: tides-of-ada\nVersion: 1.0\n")
    written(info / "RECORD", "tides_of_ada/__init__.py,,\ntides_of_ada/data/agents.yaml,,\n")
    points = (
        "tides = tides_of_ada:data/agents.yaml\nstray = tides_of_ada:stray.yaml\nup = tides_of_ada:../../etc/passwd\n"
    )
    written(info / "entry_points.txt", f"[quarterdeck.agents]\n{points}")
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_the_pack_of_an_installed_package_is_read_and_the_package_not_imported(installed: Path) -> None:
    pack = read_component("tides")

    assert (pack.name, pack.source, len(pack.agents)) == ("tides", "entry_point", 2)
    assert "tides_of_ada" not in sys.modules
    assert component_names() == ["stray", "tides", "up"]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("stray", "tides_of_ada/stray.yaml is not among the files of tides-of-ada"),
        ("up", "is not among the files"),
        ("none", "no installed package has agents named 'none'; installed are: stray, tides, up"),
    ],
)
def test_only_a_file_of_the_distribution_is_read(installed: Path, name: str, line: str) -> None:
    with pytest.raises(CatalogueError, match=line):
        read_component(name)


@pytest.mark.parametrize(
    ("file", "content", "line"),
    [
        ("entry_points.txt", b"\xff", "cannot be read .*; look for it with: pip check"),
        ("METADATA", b"Version: 1.0\n", "several packages have agents named 'tides': None, tides-of-bob"),
    ],
)
def test_a_damaged_package_is_one_line(installed: Path, file: str, content: bytes, line: str) -> None:
    other = installed / "tides_of_bob-1.0.dist-info"
    other.mkdir()
    written(other / "METADATA", "Metadata-Version: 2.1\nName: tides-of-bob\nVersion: 1.0\n")
    written(other / "entry_points.txt", "[quarterdeck.agents]\ntides = tides_of_bob:agents.yaml\n")
    written(installed / "tides_of_ada-1.0.dist-info" / file, content)
    with pytest.raises(CatalogueError, match=line):
        read_component("tides")


# The ACP registry


def registry(tmp_path: Path, *agents: Any) -> Pack:
    return read_acp_registry(written(tmp_path / "registry.json", json.dumps({"version": "1.0.0", "agents": agents})))


def acp_agent(**distribution: Any) -> dict[str, Any]:
    return {"id": "alpha", "name": "Alpha", "version": "1.2.3", "description": "Codes", "distribution": distribution}


@pytest.mark.parametrize(
    ("distribution", "argv"),
    [
        ({"npx": {"package": "@x/alpha@1.2.3", "args": ["--acp"]}}, ["npx", "--yes", "@x/alpha@1.2.3", "--acp"]),
        ({"npx": {"package": "alpha"}}, ["npx", "--yes", "alpha@1.2.3"]),
        ({"npx": {"package": "alpha@latest"}}, ["npx", "--yes", "alpha@1.2.3"]),
        ({"npx": {"package": f"alpha@1{'a' * 60}!"}}, ["npx", "--yes", "alpha@1.2.3"]),  # in linear time
        ({"npx": {"package": "alpha@^1.0"}}, ["npx", "--yes", "alpha@1.2.3"]),
        ({"npx": {"package": "alpha@2.0.0-beta.1"}}, ["npx", "--yes", "alpha@2.0.0-beta.1"]),
        ({"uvx": {"package": "alpha==4.5", "env": {"MODE": "a b"}}}, ["env", "MODE=a b", "uvx", "alpha@4.5"]),
        ({"uvx": {"package": "alpha[all]"}, "binary": {}}, ["uvx", "alpha[all]@1.2.3"]),
    ],
)
def test_npx_and_uvx_become_programs_of_an_exact_version(
    tmp_path: Path, distribution: dict[str, Any], argv: list[str]
) -> None:
    (spec,) = registry(tmp_path, acp_agent(**distribution)).agents

    assert (spec.name, spec.agent_type, spec.description) == ("alpha", "acp", "Alpha: Codes")
    assert spec.options == {"argv": argv}


@pytest.mark.parametrize(
    ("distribution", "reason"),
    [
        ({"binary": {"linux-x86_64": {"archive": "https://x/y.tgz", "cmd": "./y"}}}, "comes as binary"),
        ({}, "comes as nothing"),
        ({"npx": {"package": "--registry=http://evil"}}, "names no package"),
        ({"npx": {"package": "https://evil/x.tgz"}}, "names no package"),
        ({"npx": {"package": "../here"}}, "names no package"),
        ({"npx": {"package": ["a"]}}, "names no package"),
        ({"npx": {"package": "a", "args": [1]}}, "arguments"),
        ({"npx": {"package": "a", "args": ["a" * 200_000]}}, "is too long"),
        ({"npx": {"package": "a", "args": ["\0"]}}, "is not allowed"),
        ({"npx": {"package": "a", "env": {"-i": "x"}}}, "environment"),
        ({"npx": {"package": "a", "env": {"A": 1}}}, "environment"),
    ],
)
def test_what_cannot_be_used_is_listed_with_its_reason_and_the_others_are_read(
    tmp_path: Path, distribution: dict[str, Any], reason: str
) -> None:
    good = {**acp_agent(npx={"package": "b"}), "id": "beta"}

    pack = registry(tmp_path, acp_agent(**distribution), good, good, {**good, "id": "-"}, {**good, "id": 7})

    assert [spec.name for spec in pack.agents] == ["beta"]
    assert reason in pack.unusable["alpha"]
    assert sorted(pack.unusable) == ["-", "7", "alpha", "beta"]


@pytest.mark.parametrize(
    "text",
    ["[]", "{}", '{"agents": [1]}', "pack: {name: p}", '{"agents": {}}', json.dumps({"agents": [{}] * 100_001})],
    ids=["list", "none", "number", "pack", "block", "too many"],
)
def test_a_file_that_is_no_registry_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises((CatalogueError, TeamFileError)):
        read_acp_registry(written(tmp_path / "registry.json", text))
