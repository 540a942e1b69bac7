"""Worker that looks for hazards: rules over the syntax tree, credentials and notes to self over the text.

A rule gets a node and the module around it; it answers with what to say, or with nothing. The order of severity is high
(an attacker or lost data), medium (a likely bug), low (worth a look).
"""

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from dashboard.demo.source import over_files, read_bytes, read_python

SEVERITIES: Final = ("high", "medium", "low")
KEPT = 25
"""Findings of one file that are listed, the most severe first; all are counted."""


@dataclass(slots=True)
class Module:
    """What a rule may know about the module around a node."""

    is_test: bool = False
    names: dict[str, str] = field(default_factory=dict)
    """Local name to the dotted name that it was imported from."""

    def dotted(self, node: ast.AST) -> str:
        """`subprocess.run` for `sp.run` after `import subprocess as sp`; empty for what is not a plain name."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        return ".".join([self.names.get(node.id, node.id), *reversed(parts)])


def module_of(tree: ast.Module, *, is_test: bool) -> Module:
    """Collect the imports of a module, wherever they stand."""
    module = Module(is_test)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            module.names.update((alias.asname, alias.name) for alias in node.names if alias.asname)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            module.names.update((alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names)
    return module


@dataclass(slots=True, frozen=True)
class Rule:
    """One thing to look for."""

    name: str
    severity: str
    kinds: tuple[type[ast.AST], ...]
    check: Callable[[Any, Module], str]
    """Says what is wrong with a node of these kinds, or nothing."""


RULES: list[Rule] = []


def _rule(name: str, severity: str, *kinds: type[ast.AST]) -> Callable[[Callable[[Any, Module], str]], None]:
    """Add a rule that looks at nodes of some kinds."""
    return lambda check: RULES.append(Rule(name, severity, kinds, check))


def _calls(name: str, severity: str) -> Callable[[Callable[[str, ast.Call, Module], str]], None]:
    """Add a rule that looks at calls, each with the dotted name of what is called."""
    return lambda check: RULES.append(
        Rule(name, severity, (ast.Call,), lambda node, module: check(module.dotted(node.func), node, module))
    )


def _forbidden(name: str, severity: str, said: str, *called: str) -> None:
    """Add a rule against every call of some functions; `said` has `{}` for what is called."""
    _calls(name, severity)(lambda found, _node, _module: said.format(found) if found in called else "")


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def _is_constant(node: ast.expr | None, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


@_calls("code from data", "high")
def _(name: str, node: ast.Call, module: Module) -> str:
    evaluates = name in ("eval", "exec", "builtins.eval", "builtins.exec")
    computed = node.args and not isinstance(node.args[0], ast.Constant)
    return f"{name}() of a value" if evaluates and computed else ""


@_calls("shell", "high")
def _(name: str, node: ast.Call, module: Module) -> str:
    through_shell = name in ("os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput")
    through_shell |= name.startswith("subprocess.") and _is_constant(_keyword(node, "shell"), True)
    fixed = bool(node.args) and isinstance(node.args[0], ast.Constant)
    return f"{name}() runs a computed text in a shell" if through_shell and not fixed else ""


_PICKLES = ("pickle", "_pickle", "cPickle", "marshal", "dill")
_LOADS = [f"{module}.{name}" for module in _PICKLES for name in ("load", "loads")]
_forbidden("unpickling", "high", "{}() runs code that the data names", "shelve.open", *_LOADS)
_forbidden("temporary name", "high", "{}(): another process may take the name first", "tempfile.mktemp")
_forbidden("debugger", "medium", "a debugger call was left in", "breakpoint", "pdb.set_trace")


@_calls("unsafe YAML", "high")
def _(name: str, node: ast.Call, module: Module) -> str:
    loader = _keyword(node, "Loader") or (node.args[1] if len(node.args) > 1 else None)
    safe = loader is not None and "Safe" in module.dotted(loader)
    return "yaml.load() without a safe loader" if name == "yaml.load" and not safe else ""


@_calls("no certificate check", "high")
def _(name: str, node: ast.Call, module: Module) -> str:
    unchecked = name == "ssl._create_unverified_context" or _is_constant(_keyword(node, "verify"), False)
    return "certificates are not checked" if unchecked else ""


@_rule("SQL from parts", "high", ast.Call)
def _(node: ast.Call, module: Module) -> str:
    runs = isinstance(node.func, ast.Attribute) and node.func.attr in ("execute", "executemany", "executescript")
    if not runs or not node.args or not isinstance(node.args[0], ast.JoinedStr | ast.BinOp):
        return ""
    parts = list(ast.walk(node.args[0]))
    texts = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    is_query = {"SELECT", "INSERT", "UPDATE", "DELETE"}.intersection(" ".join(texts).upper().split())
    computed = any(isinstance(part, ast.Name | ast.Attribute | ast.Call) for part in parts)
    return "SQL put together from parts" if computed and is_query else ""


@_calls("weak hash", "medium")
def _(name: str, node: ast.Call, module: Module) -> str:
    if name == "hashlib.new" and node.args and isinstance(node.args[0], ast.Constant):
        name = f"hashlib.{node.args[0].value!s}"
    meant = _is_constant(_keyword(node, "usedforsecurity"), False)
    return f"{name} is broken as a hash" if name in ("hashlib.md5", "hashlib.sha1") and not meant else ""


@_calls("no timeout", "medium")
def _(name: str, node: ast.Call, module: Module) -> str:
    waits = name in {f"requests.{verb}" for verb in ("get", "post", "put", "patch", "delete", "head", "request")}
    waits |= name == "urllib.request.urlopen" and len(node.args) < 3
    return f"{name}() without a timeout may wait forever" if waits and _keyword(node, "timeout") is None else ""


@_rule("bare except", "medium", ast.ExceptHandler)
def _(node: ast.ExceptHandler, module: Module) -> str:
    raises = any(isinstance(inner, ast.Raise) for statement in node.body for inner in ast.walk(statement))
    return "bare except also catches Ctrl-C and SystemExit" if node.type is None and not raises else ""


@_rule("dropped exception", "medium", ast.ExceptHandler)
def _(node: ast.ExceptHandler, module: Module) -> str:
    broad = node.type is not None and module.dotted(node.type) in ("Exception", "BaseException")
    silent = all(isinstance(statement, ast.Pass | ast.Continue) for statement in node.body)
    return "every exception is silently dropped" if broad and silent else ""


@_rule("mutable default", "medium", ast.FunctionDef, ast.AsyncFunctionDef)
def _(node: ast.FunctionDef | ast.AsyncFunctionDef, module: Module) -> str:
    defaults = [*node.args.defaults, *(default for default in node.args.kw_defaults if default)]
    shared = any(
        isinstance(one, ast.List | ast.Dict | ast.Set)
        or (isinstance(one, ast.Call) and module.dotted(one.func) in ("list", "dict", "set"))
        for one in defaults
    )
    return f"{node.name}() shares a mutable default between calls" if shared else ""


@_rule("comparison", "medium", ast.Compare)
def _(node: ast.Compare, module: Module) -> str:
    for operator, right in zip(node.ops, node.comparators, strict=True):
        literal = isinstance(right, ast.Constant) and type(right.value) in (str, int, bytes, float)
        if isinstance(operator, ast.Is | ast.IsNot) and (literal or isinstance(right, ast.Tuple | ast.List | ast.Dict)):
            return "`is` with a literal compares identity, not value"
        if isinstance(operator, ast.Eq | ast.NotEq) and _is_constant(right, None):
            return "`== None` asks the object; `is None` asks the language"
    return ""


@_rule("jump out of finally", "medium", ast.Try)
def _(node: ast.Try, module: Module) -> str:
    jumps = any(isinstance(statement, ast.Return | ast.Break | ast.Continue) for statement in node.finalbody)
    return "leaving a finally block drops the exception" if jumps else ""


@_rule("duplicate key", "medium", ast.Dict)
def _(node: ast.Dict, module: Module) -> str:
    keys = Counter((type(key.value), key.value) for key in node.keys if isinstance(key, ast.Constant))
    twice = next((key[1] for key, count in keys.items() if count > 1), None)
    return "" if max(keys.values(), default=0) < 2 else f"the key {twice!r:.40} occurs twice, the first value is lost"


@_rule("not an exception", "medium", ast.Raise)
def _(node: ast.Raise, module: Module) -> str:
    raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
    return (
        "NotImplemented is not an exception" if isinstance(raised, ast.Name) and raised.id == "NotImplemented" else ""
    )


@_rule(
    "unreachable", "medium",
    ast.FunctionDef, ast.AsyncFunctionDef, ast.For, ast.AsyncFor, ast.While, ast.If, ast.With, ast.Try,
)  # fmt: skip
def _(node: ast.stmt, module: Module) -> str:
    for name in ("body", "orelse", "finalbody"):
        for statement in getattr(node, name, [])[:-1]:
            if isinstance(statement, ast.Return | ast.Raise | ast.Break | ast.Continue):
                return f"what follows line {statement.lineno} never runs"
    return ""


_rule("wildcard import", "low", ast.ImportFrom)(
    lambda node, _: f"from {node.module} import * hides where names come from" if node.names[0].name == "*" else ""
)
_NAIVE = ("datetime.utcnow", "datetime.utcfromtimestamp")
_calls("naive time", "low")(lambda name, *_: f"{name}() knows no time zone" if name.endswith(_NAIVE) else "")


@_rule("assert", "low", ast.Assert)
def _(node: ast.Assert, module: Module) -> str:
    if isinstance(node.test, ast.Tuple) and node.test.elts:
        return "an assert of a tuple is always true"
    return "" if module.is_test else "assert is gone under python -O"


def findings(tree: ast.Module, module: Module) -> Iterator[tuple[str, str, int, str]]:
    """Rule, severity, line and what to say, for every place in a module that a rule objects to."""
    by_kind: dict[type[ast.AST], list[Rule]] = {}
    for rule in RULES:
        for kind in rule.kinds:
            by_kind.setdefault(kind, []).append(rule)
    for node in ast.walk(tree):
        for rule in by_kind.get(type(node), ()):
            if said := rule.check(node, module):
                yield rule.name, rule.severity, getattr(node, "lineno", 0), said


MAX_LINE = 2_000
"""Longer lines are cut: minified code and data, where a match would mean nothing."""

_SHAPES = {
    "private key": re.compile(r"-----BEGIN (?:[A-Z]+ ){0,3}PRIVATE KEY-----"),
    "AWS access key": re.compile(r"\bAKIA[0-9A-Z]{16}\b"),
    "GitHub token": re.compile(r"\bgh[pousr]_[A-Za-z0-9]{36,255}\b"),
    "Slack token": re.compile(r"\bxox[abprs]-[A-Za-z0-9-]{10,250}"),
    "API key": re.compile(r"\bsk-[A-Za-z0-9_-]{32,250}\b"),
    "address with a password": re.compile(
        r"\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@'\"]{1,60}:[^\s:/@'\"<>{}$*]{3,60}@[\w.-]+"
    ),
}
_NAMED = re.compile(
    r"""(?i)\b\w{0,40}(?:passwo?rd|passwd|secret|token|api_?key|access_?key|private_?key)\w{0,20}["']?\s{0,4}[:=]\s{0,4}"""
    r"""(["'])([^"'\s]{8,200})\1"""
)
_PLACEHOLDER = re.compile(r"(?i)example|placeholder|change.?me|your|dummy|test|xxxx|\*\*\*|<|\{|\$|^\W+$|^[a-z_.\-]+$")


def credentials_in(text: str) -> Iterator[tuple[int, str]]:
    """Line number and a description of each credential, the value cut down to its first characters."""
    for number, line in enumerate(text.splitlines(), 1):
        if found := _credential(line[:MAX_LINE]):
            yield number, found


def _credential(line: str) -> str:
    for kind, shape in _SHAPES.items():
        if match := shape.search(line):
            return f"{kind} {match[0][:4]}…"
    match = _NAMED.search(line)
    if match and not _PLACEHOLDER.search(match[2]) and len(set(match[2])) > 5:
        return f"value {match[2][:3]}… for a name that says it is secret"
    return ""


_NOTE = re.compile(r"(?:#|//|/\*)\s*(TODO|FIXME|XXX|HACK)\b[:\s]*([^\n]{0,80})")
_TEST_NAME = re.compile(r"(?:^|/)(?:tests?/|test_[^/]*$|conftest\.py$|[^/]*_test\.py$)")


def scan(value: dict[str, Any]) -> dict[str, Any]:
    """Findings of each file of a work item: `[severity, rule, line, what]`, and counts by rule."""
    return over_files(value, _look)


def _look(folder: str, name: str) -> dict[str, Any]:
    found: list[tuple[str, str, int, str]] = []
    if name.endswith(".py"):
        source = read_python(folder, name)
        text = source.text
        module = module_of(source.tree, is_test=is_test(name))
        found += [(severity, rule, line, said) for rule, severity, line, said in findings(source.tree, module)]
        found += [("low", "invalid escape", line, said) for line, said in source.warnings]
    else:
        text = read_bytes(folder, name).decode("utf-8", "replace")
    found += [("high", "credential", line, said) for line, said in credentials_in(text)]
    found += [("low", "note", line, said) for line, said in notes_in(text)]
    found.sort(key=lambda each: (SEVERITIES.index(each[0]), each[2]))
    counts = Counter(f"{severity}: {rule}" for severity, rule, _, _ in found)
    return {"file": name, "counts": dict(counts), "findings": [list(each) for each in found[:KEPT]]}


def is_test(name: str) -> bool:
    """Whether a file is part of a test suite, by its path."""
    return bool(_TEST_NAME.search(name))


def notes_in(text: str) -> list[tuple[int, str]]:
    """Line and text of what authors left for later: TODO, FIXME, XXX, HACK."""
    notes, line, seen = [], 1, 0
    for match in _NOTE.finditer(text):
        line += text.count("\n", seen, match.start())
        seen = match.start()
        notes.append((line, f"{match[1]} {match[2].strip()}".strip()))
    return notes


def summary(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Join the findings of all files: counts by severity and rule, and the worst ones with their place."""
    counts: Counter[str] = Counter()
    rows = []
    for entry in entries:
        counts.update(entry["counts"])
        rows += [
            {"file": entry["file"], "severity": severity, "rule": rule, "line": line, "what": what}
            for severity, rule, line, what in entry["findings"]
        ]
    rows.sort(
        key=lambda row: (SEVERITIES.index(row["severity"]), is_test(row["file"]), row["rule"], row["file"], row["line"])
    )
    totals: dict[str, dict[str, int]] = {severity: {} for severity in SEVERITIES}
    for key, count in counts.most_common():
        severity, _, rule = key.partition(": ")
        totals[severity][rule] = count
    return {"files": len(entries), "totals": totals, "findings": _kept(rows)}


def _kept(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """At most 6 of one rule, so that a common one does not push out the rare, and 30 of one severity."""
    shown: Counter[str] = Counter()
    kept = []
    for row in rows:
        shown[row["rule"]] += 1
        if shown[row["rule"]] <= 6 and shown[row["severity"]] < 30:
            shown[row["severity"]] += 1
            kept.append(row)
    return kept
