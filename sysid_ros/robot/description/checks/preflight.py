"""The check of a robot description before any loader sees it.

Loaders accept much that is wrong: negative masses, inertias of no real body, zero axes,
limits that are swapped, links with two parents. This check finds all of it at once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from lxml import etree

from sysid_ros.errors import ModelError
from sysid_ros.robot.description.checks.finding import Finding, Severity, quoted
from sysid_ros.robot.description.checks.joint_checks import check_joint, check_mimics
from sysid_ros.robot.description.checks.link_checks import check_link
from sysid_ros.robot.description.checks.mjcf_checks import mjcf_findings
from sysid_ros.robot.description.safe_xml import attribute
from sysid_ros.robot.description.urdf import RobotDescription

__all__ = ['Finding', 'Severity', 'check_description', 'require_loadable']

_UNSAFE_NAME = re.compile(r'[/\\\x00-\x1f\x7f]|\.\.|^\s|\s$')


def check_description(description: RobotDescription) -> tuple[Finding, ...]:
    """Inspect every link and joint of a description.

    Args:
        description: A loaded description.

    Returns:
        All findings, in the order structure, joints, links; empty for a faultless model.

    Raises:
        ModelError: MuJoCo is not installed or refuses an MJCF as a whole.
    """
    if description.format == 'mjcf':
        return tuple(mjcf_findings(description))
    return tuple(_findings(description.root))


def require_loadable(description: RobotDescription) -> tuple[Finding, ...]:
    """Refuse a description whose kinematics would be wrong.

    Args:
        description: A loaded description.

    Returns:
        The findings that do not prevent loading.

    Raises:
        ModelError: There are fatal findings; all of them are listed.
    """
    findings = check_description(description)
    fatal = [str(finding) for finding in findings if finding.severity is Severity.FATAL]
    if fatal:
        count = 'one fatal fault' if len(fatal) == 1 else f'{len(fatal)} fatal faults'
        raise ModelError(
            f'the description has {count}: {" ".join(fatal)[:-1]}', where=description.where,
            fix='Mend the file in a text editor',
        )
    return findings


def _findings(root: etree._Element) -> Iterator[Finding]:
    links, joints = root.findall('link'), root.findall('joint')
    yield from _check_robot(root, links)
    yield from _check_names(links, 'link')
    yield from _check_names(joints, 'joint')
    yield from _check_tree(links, joints)
    for joint in joints:
        yield from check_joint(joint)
    yield from check_mimics(joints)
    moving = _moving_links(joints)
    for link in links:
        yield from check_link(link, moving.get(link.get('name', '')))


def _check_robot(root: etree._Element, links: list[etree._Element]) -> Iterator[Finding]:
    name = root.get('name')
    if not name:
        yield Finding(Severity.FATAL, 'robot-name', 'robot', 'it has no name')
    elif _UNSAFE_NAME.search(name):
        yield _unsafe_name('robot', name)
    if not links:
        yield Finding(Severity.FATAL, 'no-links', 'robot', 'it has no <link>')


def _check_names(elements: list[etree._Element], kind: str) -> Iterator[Finding]:
    for element in elements:
        name = element.get('name')
        if not name:
            yield Finding(
                Severity.FATAL, 'empty-name', f'{kind} in line {element.sourceline}',
                'it has no name',
            )
        elif kind == 'joint' and name == 'universe':
            yield Finding(
                Severity.FATAL, 'reserved-name', 'joint "universe"',
                'the name is reserved for the fixed world; rename the joint',
            )
        elif _UNSAFE_NAME.search(name):
            yield _unsafe_name(kind, name)
    for name, count in Counter(element.get('name') for element in elements).items():
        if name and count > 1:
            yield Finding(
                Severity.FATAL, f'duplicate-{kind}', f'{kind} {quoted(name)}',
                f'{count} {kind}s have this name (allowed one)',
            )


def _unsafe_name(kind: str, name: str) -> Finding:
    return Finding(
        Severity.WARNING, 'unsafe-name', f'{kind} {quoted(name)}',
        'the name holds a slash, "..", a control character or white space at an end, so it '
        'cannot become part of a file name',
    )


def _check_tree(
    links: list[etree._Element], joints: list[etree._Element]
) -> Iterator[Finding]:
    names = {attribute(link, 'name') for link in links} - {''}
    broken = False
    edges: list[tuple[str, str]] = []
    for joint in joints:
        findings = [*_check_end(joint, 'parent', names), *_check_end(joint, 'child', names)]
        yield from findings
        broken = broken or bool(findings)
        if not findings:
            edges.append(_ends(joint))
    yield from _check_parents(joints)
    yield from _check_loops(edges)
    children = {child for _, child in edges}
    roots = sorted(name for name in names if name not in children)
    # A joint with a broken end leaves a link without a parent: said once, at the joint.
    if len(roots) > 1 and not broken:
        yield Finding(
            Severity.FATAL, 'several-roots', 'robot',
            f'{len(roots)} links have no parent (found '
            f'{", ".join(map(quoted, roots))}; allowed one)',
        )


def _check_end(joint: etree._Element, end: str, links: set[str]) -> Iterator[Finding]:
    link = attribute(joint.find(end), 'link')
    where = f'joint {quoted(joint.get("name"))}'
    if not link:
        yield Finding(Severity.FATAL, f'missing-{end}', where, f'it has no {end} link')
    elif link not in links:
        yield Finding(
            Severity.FATAL, f'unknown-{end}', where,
            f'its {end} link does not exist (found {quoted(link)})',
        )


def _ends(joint: etree._Element) -> tuple[str, str]:
    """Names of the parent and the child link; empty where they are not given."""
    return attribute(joint.find('parent'), 'link'), attribute(joint.find('child'), 'link')


def _check_parents(joints: list[etree._Element]) -> Iterator[Finding]:
    parents: dict[str, list[str]] = {}
    for joint in joints:
        _, child = _ends(joint)
        if child:
            parents.setdefault(child, []).append(quoted(joint.get('name')))
    for link, names in parents.items():
        if len(names) > 1:
            yield Finding(
                Severity.FATAL, 'two-parents', f'link {quoted(link)}',
                f'it is the child of {len(names)} joints (found {", ".join(names)}; allowed '
                'one); a closed loop cannot be written as a URDF tree',
            )


def _check_loops(edges: list[tuple[str, str]]) -> Iterator[Finding]:
    """Peel off links without a parent, then without a child: what stays is on a loop."""
    left = list(edges)
    for end in (0, 1):
        while True:
            others = {edge[1 - end] for edge in left}
            kept = [edge for edge in left if edge[end] in others]
            if len(kept) == len(left):
                break
            left = kept
    if left:
        names = ', '.join(quoted(name) for name in sorted({parent for parent, _ in left}))
        yield Finding(
            Severity.FATAL, 'loop', 'robot',
            f'the joints form a loop (found through {names}; allowed a tree)',
        )


def _moving_links(joints: list[etree._Element]) -> dict[str, bool]:
    """Links below a moving joint; True for those whose own joint moves, False for fixed ones."""
    joint_of: dict[str, tuple[str, bool]] = {}
    for joint in joints:
        parent, child = _ends(joint)
        if child:
            joint_of.setdefault(child, (parent, joint.get('type') != 'fixed'))
    return {
        link: own for link, (_, own) in joint_of.items() if _has_moving_ancestor(link, joint_of)
    }


def _has_moving_ancestor(link: str, joint_of: dict[str, tuple[str, bool]]) -> bool:
    for _ in range(len(joint_of)):
        if link not in joint_of:
            return False
        link, moves = joint_of[link]
        if moves:
            return True
    return False
