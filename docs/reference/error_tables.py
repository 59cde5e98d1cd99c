"""Errors that people meet, from the code: their classes, sentences, and codes of answers."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import settings_tables as tables

PROJECT = Path(__file__).resolve().parents[2]
_PACKAGE = PROJECT / 'sysid_ros'
_TEXTS = (ast.Constant, ast.JoinedStr)
_GENERATED = ('msg', 'srv', 'action')
_UNKNOWN = '…'
_BASE = 'SysidError'
# Words of a clause that says nothing without its place or a cure.
_FEW = 3


@dataclass(frozen=True, order=True)
class Sentence:
    """One error of the code, with what is only known at run time left open.

    Attributes:
        problem: What is wrong.
        where: What it is in.
        fix: What to do.
        code: Code of the answer it stands in, of services and actions.
    """

    problem: str
    where: str = ''
    fix: str = ''
    code: str = ''

    @property
    def telling(self) -> bool:
        """Whether it says something by itself, as 'cannot be used' does not."""
        return bool(self.where or self.fix or len(self.problem.split()) > _FEW)


def errors_page(note: str) -> str:
    """All errors by their classes, and the codes of answers.

    Args:
        note: How the page is made.
    """
    found = sentences()
    parts = [
        '# Errors', note,
        'An error reads `where: what is wrong (found …; allowed …). What to do.` '
        f'`{_UNKNOWN}` stands for what differs from case to case. In Python each is an exception '
        'of the class it stands under; all are `sysid_ros.errors.SysidError`, with `problem`, '
        '`where`, `found`, `allowed` and `fix`. What causes them, with examples: '
        '[What errors mean](../how-to/errors.md).']
    for name, about in classes().items():
        parts += [f'## {name}', about]
        rows = [f'| {_cell(one.where)} | {_cell(one.problem)} | {_cell(one.fix)} |'
                for one in sorted(found.get(name, ())) if one.telling]
        if rows:
            head = ['| where | what is wrong | what to do |', '|---|---|---|']
            parts.append('\n'.join([*head, *rows]))
    rows = [f'| `{code}` | {_cell(about)} | {_cell("; ".join(refusals(found, code)))} |'
            for code, about in codes().items()]
    parts += ['## Codes of answers',
              'In the field `code` of what services and actions answer; the field `message` says '
              'it in words.',
              '\n'.join(['| code | what it means | as in |', '|---|---|---|', *rows])]
    return '\n\n'.join(parts) + '\n'


def classes() -> dict[str, str]:
    """What each class of errors is, by its name; the general ones first."""
    found: dict[str, str] = {}
    general = _PACKAGE / 'errors.py'
    known = {_BASE}
    for _ in range(3):  # classes of classes of classes
        for file in (general, *_sources()):
            for node in _tree(file).body:
                if isinstance(node, ast.ClassDef) and node.name not in known and known & {
                        getattr(base, 'id', '') for base in node.bases}:
                    known.add(node.name)
                    found[node.name] = (ast.get_docstring(node) or '').splitlines()[0]
    return found


@cache
def _tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding='utf-8'))


def _sources() -> list[Path]:
    """Files of the package that are no generated interfaces."""
    return [file for file in sorted(_PACKAGE.rglob('*.py'))
            if file.relative_to(_PACKAGE).parts[0] not in _GENERATED]


def _cell(text: str) -> str:
    """A cell whose text is no markup."""
    return tables.cell(text.replace('<', '&lt;').replace('*', '\\*'))


def codes() -> dict[str, str]:
    """Codes of answers of services and actions, with what they mean."""
    found: dict[str, str] = {}
    last = ''
    for line in (PROJECT / 'msg' / 'ResultCode.msg').read_text(encoding='utf-8').splitlines():
        declared, _, comment = line.partition('#')
        if '=' in declared:
            last = declared.partition('=')[2].strip()
            found[last] = comment.strip()
        elif last and comment.strip():
            found[last] += f' {comment.strip()}'
    return found


def refusals(found: Mapping[str, set[Sentence]], code: str) -> list[str]:
    """What is wrong in answers of a code."""
    return sorted({one.problem for own in found.values() for one in own if one.code == code})


def sentences() -> dict[str, set[Sentence]]:
    """Errors that the code raises, by the name of their class."""
    found: dict[str, set[Sentence]] = {}
    names = {*classes(), _BASE}
    for file in _sources():
        for name, sentence in _raised(_tree(file), names):
            found.setdefault(name, set()).add(sentence)
    return found


def questions() -> list[str]:
    """What is asked where nothing tells it, without the question mark."""
    found = []
    for file in _sources():
        for node in ast.walk(_tree(file)):
            if isinstance(node, ast.Call) and getattr(node.func, 'id', '') == 'Question':
                found.append(_template(node.args[1], {}).rstrip('?'))
    return found


def _raised(tree: ast.Module, names: set[str]) -> Iterator[tuple[str, Sentence]]:
    """Class and sentence of each error in a module; of refusals, of what they refuse with."""
    words = {
        target.id: node.value for node in tree.body if isinstance(node, ast.Assign)
        for target in node.targets if isinstance(target, ast.Name)}
    codes_by_name = {code.upper(): code for code in codes()}
    refused: dict[int, str] = {}
    for node in ast.walk(tree):
        name = getattr(getattr(node, 'func', None), 'id', '')
        if not isinstance(node, ast.Call) or name not in names or not node.args:
            continue
        if name == 'RefusedError':
            refused[id(node.args[-1])] = codes_by_name.get(
                getattr(node.args[0], 'attr', ''), '')
            continue
        said = {keyword.arg: keyword.value for keyword in node.keywords}
        where, fix = (
            _template(said[key], words) if key in said else '' for key in ('where', 'fix'))
        problem = _template(node.args[0], words)
        # What is only handed on says nothing here.
        if name != 'OpenQuestionsError' and any(letter.isalpha() for letter in problem):
            code = refused.get(id(node), '')
            yield ('RefusedError' if code else name), Sentence(
                problem, where.strip() if any(map(str.isalpha, where)) else '',
                fix if any(map(str.isalpha, fix)) else '', code)


def _template(node: ast.expr, words: Mapping[str, ast.expr]) -> str:
    """Text of an expression on one line."""
    if isinstance(node, ast.Constant):
        text = '' if node.value is None else str(node.value)
    elif isinstance(node, ast.JoinedStr):
        text = ''.join(_template(part, words) for part in node.values)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        text = _template(node.left, words) + _template(node.right, words)
    elif isinstance(node, ast.Name) and isinstance(words.get(node.id), _TEXTS):
        text = _template(words[node.id], {})
    elif isinstance(node, ast.IfExp):
        text = _either([node.body, node.orelse], words)
    elif isinstance(node, ast.BoolOp):
        text = _either(node.values, words)
    elif isinstance(node, ast.Call) and getattr(node.func, 'id', '') == 'did_you_mean':
        text = f"Did you mean '{_UNKNOWN}'"
    else:
        text = _UNKNOWN
    return text


def _either(nodes: Sequence[ast.expr], words: Mapping[str, ast.expr]) -> str:
    """Alternatives that say something."""
    texts = [_template(node, words) for node in nodes]
    return ' / '.join(text for text in texts if any(map(str.isalpha, text))) or _UNKNOWN
