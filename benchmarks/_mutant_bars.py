"""What share of mutants has to be killed, and whether a sample says that it is."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from _mutation import Mutant
from scipy.stats import binom

#: Modules of which more has to be killed, and the shares in [%].
GUARDS = (
    'sysid_ros/excitation/safety/', 'sysid_ros/excitation/playback/', 'sysid_ros/evaluation/',
    'sysid_ros/release/', 'sysid_ros/runs/commit.py')
OF_GUARDS, ELSEWHERE = 95.0, 85.0
# Chance of a worse sample under which the bar is said to be missed.
_CHANCE = 0.05


#: What a mutant is found again by after other lines of its module have changed: module, kind,
#: words, and the line of the source as it is without the change.
Key = tuple[str, str, str, str]


def equivalent_mutants(file: Path) -> set[Key]:
    """Mutants that change nothing a test could be about.

    Args:
        file: One JSON object a line: ``module``, ``kind``, ``words``, ``source`` and ``reason``.

    Raises:
        ValueError: One of them has no reason.
    """
    found = set()
    for number, line in enumerate(file.read_text(encoding='utf-8').splitlines(), 1):
        entry = json.loads(line)
        if not entry.get('reason'):
            raise ValueError(f'{file.name}, line {number}: a mutant without its reason')
        found.add((entry['module'], entry['kind'], entry['words'], entry['source']))
    return found


def key_of(mutant: Mutant, root: Path) -> Key:
    """What a mutant of the sources below a root is found again by."""
    lines = (root / mutant.module).read_text(encoding='utf-8').splitlines()
    return mutant.module, mutant.kind, mutant.words, lines[mutant.line - 1].strip()


def figures(outcomes: Iterable[tuple[str, bool]]) -> list[dict[str, Any]]:
    """Killed shares of guards and of the rest, as benchmarks print them.

    A sample misses the bar when so few would be killed with a chance below 5 % if the bar held.

    Args:
        outcomes: Module of each mutant that counts, and whether it survived.
    """
    groups: dict[bool, list[bool]] = {}
    for module, survived in outcomes:
        groups.setdefault(module.startswith(GUARDS), []).append(survived)
    named = ((True, 'safety, evaluation and release', OF_GUARDS), (False, 'the rest', ELSEWHERE))
    return [
        _figure(name, bar, groups[guards]) for guards, name, bar in named if guards in groups]


def _figure(name: str, bar: float, survived: list[bool]) -> dict[str, Any]:
    count = len(survived)
    killed = count - sum(survived)
    return {
        'name': f'mutants of {name}: killed of {count}', 'value': 100.0 * killed / count,
        'unit': '%', 'bar': f'>= {bar:.0f} %',
        'ok': bool(binom.cdf(killed, count, bar / 100.0) >= _CHANCE)}
