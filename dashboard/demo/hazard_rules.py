"""What is dangerous or likely wrong in Python, one rule a function. Pure.

A rule gets a node and the names that the module imported; it answers with what to say, or with nothing. The order of
severity is high (an attacker or lost data), medium (a likely bug), low (worth a look).
"""

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

SEVERITIES: Final = ("high", "medium", "low")


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


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def _is_constant(node: ast.expr | None, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


def _code_from_data(node: ast.Call, module: Module) -> str:
    name = module.dotted(node.func)
    if (
        name in ("eval", "exec", "builtins.eval", "builtins.exec")
        and node.args
        and not isinstance(node.args[0], ast.Constant)
    ):
        return f"{name}() of a value"
    return ""


def _shell(node: ast.Call, module: Module) -> str:
    name = module.dotted(node.func)
    through_shell = name in ("os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput")
    through_shell |= name.startswith("subprocess.") and _is_constant(_keyword(node, "shell"), True)
    fixed = bool(node.args) and isinstance(node.args[0], ast.Constant)
    return f"{name}() runs a computed text in a shell" if through_shell and not fixed else ""


_UNPICKLING = {f"{m}.{f}" for m in ("pickle", "_pickle", "cPickle", "marshal", "dill") for f in ("load", "loads")} | {
    "shelve.open"
}


def _unpickling(node: ast.Call, module: Module) -> str:
    name = module.dotted(node.func)
    return f"{name}() runs code that the data names" if name in _UNPICKLING else ""


def _yaml(node: ast.Call, module: Module) -> str:
    loader = _keyword(node, "Loader") or (node.args[1] if len(node.args) > 1 else None)
    safe = loader is not None and "Safe" in module.dotted(loader)
    return "yaml.load() without a safe loader" if module.dotted(node.func) == "yaml.load" and not safe else ""


def _no_certificate(node: ast.Call, module: Module) -> str:
    if module.dotted(node.func) == "ssl._create_unverified_context" or _is_constant(_keyword(node, "verify"), False):
        return "certificates are not checked"
    return ""


_SQL_CALLS = ("execute", "executemany", "executescript")


def _sql(node: ast.Call, module: Module) -> str:
    is_query = isinstance(node.func, ast.Attribute) and node.func.attr in _SQL_CALLS and node.args
    if not is_query or not isinstance(node.args[0], ast.JoinedStr | ast.BinOp):
        return ""
    words = {word.upper() for part in ast.walk(node.args[0]) for word in _words(part)}
    computed = any(isinstance(part, ast.Name | ast.Attribute | ast.Call) for part in ast.walk(node.args[0]))
    return "SQL put together from parts" if computed and words & {"SELECT", "INSERT", "UPDATE", "DELETE"} else ""


def _words(node: ast.AST) -> list[str]:
    return node.value.split() if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


def _temporary_name(node: ast.Call, module: Module) -> str:
    return (
        "tempfile.mktemp(): another process may take the name first"
        if module.dotted(node.func) == "tempfile.mktemp"
        else ""
    )


def _weak_hash(node: ast.Call, module: Module) -> str:
    name = module.dotted(node.func)
    if name == "hashlib.new" and node.args and isinstance(node.args[0], ast.Constant):
        name = f"hashlib.{node.args[0].value!s}"
    meant = _is_constant(_keyword(node, "usedforsecurity"), False)
    return f"{name} is broken as a hash" if name in ("hashlib.md5", "hashlib.sha1") and not meant else ""


def _no_timeout(node: ast.Call, module: Module) -> str:
    name = module.dotted(node.func)
    waits = name in {f"requests.{verb}" for verb in ("get", "post", "put", "patch", "delete", "head", "request")}
    waits |= name == "urllib.request.urlopen" and len(node.args) < 3
    return f"{name}() without a timeout may wait for ever" if waits and _keyword(node, "timeout") is None else ""


def _debugger(node: ast.Call, module: Module) -> str:
    return "a debugger call was left in" if module.dotted(node.func) in ("breakpoint", "pdb.set_trace") else ""


def _utcnow(node: ast.Call, module: Module) -> str:
    name = module.dotted(node.func)
    return f"{name}() knows no time zone" if name.endswith(("datetime.utcnow", "datetime.utcfromtimestamp")) else ""


def _bare_except(node: ast.ExceptHandler, module: Module) -> str:
    raises = any(isinstance(inner, ast.Raise) for statement in node.body for inner in ast.walk(statement))
    return "bare except also catches Ctrl-C and SystemExit" if node.type is None and not raises else ""


def _swallowed(node: ast.ExceptHandler, module: Module) -> str:
    broad = node.type is not None and module.dotted(node.type) in ("Exception", "BaseException")
    silent = all(isinstance(statement, ast.Pass | ast.Continue) for statement in node.body)
    return "every exception is silently dropped" if broad and silent else ""


def _mutable_default(node: ast.FunctionDef | ast.AsyncFunctionDef, module: Module) -> str:
    defaults = [*node.args.defaults, *(default for default in node.args.kw_defaults if default)]
    shared = [default for default in defaults if isinstance(default, ast.List | ast.Dict | ast.Set)]
    shared_calls = [d for d in defaults if isinstance(d, ast.Call) and module.dotted(d.func) in ("list", "dict", "set")]
    return f"{node.name}() shares a mutable default between calls" if shared or shared_calls else ""


def _assertion(node: ast.Assert, module: Module) -> str:
    if isinstance(node.test, ast.Tuple) and node.test.elts:
        return "an assert of a tuple is always true"
    return "" if module.is_test else "assert is gone under python -O"


def _wildcard(node: ast.ImportFrom, module: Module) -> str:
    return f"from {node.module} import * hides where names come from" if node.names[0].name == "*" else ""


def _comparison(node: ast.Compare, module: Module) -> str:
    for operator, right in zip(node.ops, node.comparators, strict=True):
        literal = isinstance(right, ast.Constant) and type(right.value) in (str, int, bytes, float)
        if isinstance(operator, ast.Is | ast.IsNot) and (literal or isinstance(right, ast.Tuple | ast.List | ast.Dict)):
            return "`is` with a literal compares identity, not value"
        if isinstance(operator, ast.Eq | ast.NotEq) and _is_constant(right, None):
            return "`== None` asks the object; `is None` asks the language"
    return ""


def _jump_in_finally(node: ast.Try, module: Module) -> str:
    jumps = any(isinstance(statement, ast.Return | ast.Break | ast.Continue) for statement in node.finalbody)
    return "leaving a finally block drops the exception" if jumps else ""


def _duplicate_key(node: ast.Dict, module: Module) -> str:
    keys = Counter((type(key.value), key.value) for key in node.keys if isinstance(key, ast.Constant))
    twice = [key[1] for key, count in keys.items() if count > 1]
    return f"the key {twice[0]!r:.40} stands twice, the first value is lost" if twice else ""


def _raise_constant(node: ast.Raise, module: Module) -> str:
    raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
    return "NotImplemented is no exception" if isinstance(raised, ast.Name) and raised.id == "NotImplemented" else ""


def _unreachable(node: ast.stmt, module: Module) -> str:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list):
            for statement in block[:-1]:
                if isinstance(statement, ast.Return | ast.Raise | ast.Break | ast.Continue):
                    return f"what follows line {statement.lineno} never runs"
    return ""


@dataclass(slots=True, frozen=True)
class Rule:
    """One thing to look for."""

    name: str
    severity: str
    kinds: tuple[type[ast.AST], ...]
    check: Callable[[Any, Module], str]
    """Says what is wrong with a node of these kinds, or nothing."""


_BLOCKS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.For, ast.AsyncFor, ast.While, ast.If, ast.With, ast.Try)
RULES: Final = (
    Rule("code from data", "high", (ast.Call,), _code_from_data),
    Rule("shell", "high", (ast.Call,), _shell),
    Rule("unpickling", "high", (ast.Call,), _unpickling),
    Rule("unsafe YAML", "high", (ast.Call,), _yaml),
    Rule("no certificate check", "high", (ast.Call,), _no_certificate),
    Rule("SQL from parts", "high", (ast.Call,), _sql),
    Rule("temporary name", "high", (ast.Call,), _temporary_name),
    Rule("weak hash", "medium", (ast.Call,), _weak_hash),
    Rule("no timeout", "medium", (ast.Call,), _no_timeout),
    Rule("debugger", "medium", (ast.Call,), _debugger),
    Rule("bare except", "medium", (ast.ExceptHandler,), _bare_except),
    Rule("dropped exception", "medium", (ast.ExceptHandler,), _swallowed),
    Rule("mutable default", "medium", (ast.FunctionDef, ast.AsyncFunctionDef), _mutable_default),
    Rule("comparison", "medium", (ast.Compare,), _comparison),
    Rule("jump out of finally", "medium", (ast.Try,), _jump_in_finally),
    Rule("duplicate key", "medium", (ast.Dict,), _duplicate_key),
    Rule("not an exception", "medium", (ast.Raise,), _raise_constant),
    Rule("unreachable", "medium", _BLOCKS, _unreachable),
    Rule("wildcard import", "low", (ast.ImportFrom,), _wildcard),
    Rule("naive time", "low", (ast.Call,), _utcnow),
    Rule("assert", "low", (ast.Assert,), _assertion),
)


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
