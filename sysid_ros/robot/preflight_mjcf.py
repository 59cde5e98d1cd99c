"""The check of an MJCF: what this reader does not do is refused by name, never left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from lxml import etree

from sysid_ros.robot.finding import Finding, Severity, quoted
from sysid_ros.robot.mjcf_values import (
    ACTUATORS,
    ORIENTATIONS,
    Classes,
    model_elements,
    plain_attributes,
    read_values,
    value_of,
    values_of,
)
from sysid_ros.robot.preflight_mjcf_bodies import check_bodies

# Elements that make or change bodies in ways this reader does not follow.
_REFUSED = {
    'include': 'it pulls in another file; name that file if the robot is in it, or let MuJoCo '
               'write the whole model to one file (mj_saveLastXML)',
    'attach': 'it attaches another model; let MuJoCo write the result to one file',
    'replicate': 'it repeats bodies; let MuJoCo write the result to one file',
    'composite': 'soft and composite objects are not rigid bodies; remove it',
    'flexcomp': 'soft objects are not rigid bodies; remove it',
}
# Fewest and most numbers of every attribute that is read.
_POSES: dict[str, tuple[int, int]] = {
    'pos': (3, 3), 'quat': (4, 4), 'axisangle': (4, 4), 'xyaxes': (6, 6), 'zaxis': (3, 3),
    'euler': (3, 3),
}
_NUMBERS: dict[str, dict[str, tuple[int, int]]] = {
    'body': {**_POSES, 'gravcomp': (1, 1)},
    'frame': {**_POSES},
    'inertial': {**_POSES, 'mass': (1, 1), 'diaginertia': (3, 3), 'fullinertia': (6, 6)},
    'joint': {
        'pos': (3, 3), 'axis': (3, 3), 'range': (2, 2), 'ref': (1, 1), 'springref': (1, 1),
        'stiffness': (1, 3), 'damping': (1, 3), 'armature': (1, 1), 'frictionloss': (1, 1),
        'actuatorfrcrange': (2, 2), 'springdamper': (2, 2),
    },
    'geom': {**_POSES, 'size': (1, 3), 'fromto': (6, 6), 'mass': (1, 1), 'density': (1, 1),
             'group': (1, 1)},
    'compiler': {'boundmass': (1, 1), 'boundinertia': (1, 1), 'settotalmass': (1, 1),
                 'inertiagrouprange': (2, 2)},
    'option': {'gravity': (3, 3), 'density': (1, 1), 'viscosity': (1, 1)},
    'equality': {'polycoef': (1, 5), 'anchor': (3, 3), 'relpose': (7, 7)},
    'tendon': {'stiffness': (1, 3), 'damping': (1, 3), 'armature': (1, 1),
               'frictionloss': (1, 1)},
    'actuator': {'forcerange': (2, 2), 'ctrlrange': (2, 2), 'gear': (1, 6),
                 'armature': (1, 1), 'damping': (1, 3)},
}
_WORDS: dict[str, dict[str, tuple[str, ...]]] = {
    'compiler': {
        'angle': ('degree', 'radian'), 'coordinate': ('local',),
        'inertiafromgeom': ('true', 'false', 'auto'), 'autolimits': ('true', 'false'),
        'balanceinertia': ('true', 'false'),
    },
    'joint': {
        'type': ('hinge', 'slide', 'free'), 'limited': ('true', 'false', 'auto'),
    },
}
_UNITS_OF_DIRECTION = ('axis', 'quat', 'zaxis')


def mjcf_findings(root: etree._Element) -> Iterator[Finding]:
    """Findings of an MJCF: structure first; bodies only where the structure is sound."""
    structure = list(_structure(root))
    yield from structure
    if not any(finding.severity is Severity.FATAL for finding in structure):
        yield from check_bodies(root)


def _structure(root: etree._Element) -> Iterator[Finding]:
    if root.find('worldbody') is None or not list(root.iter('body')):
        yield _fatal('no-links', 'mujoco', 'it has no <body> in a <worldbody>')
    for element in root.iter(*_REFUSED):
        yield _fatal(f'{element.tag}-element', _place(element), _REFUSED[str(element.tag)])
    classes = Classes(root)
    yield from _check_names(root)
    yield from _check_values(root, classes)
    yield from _check_compiler(root)
    yield from _check_options(root)
    for element in model_elements(root):
        yield from _check_element(element, classes)
    yield from _check_equalities(root)
    yield from _check_tendons(root)


def _place(element: etree._Element) -> str:
    name = element.get('name')
    return f'{element.tag} {quoted(name)}' if name else (
        f'{element.tag} in line {element.sourceline}'
    )


def _fatal(code: str, where: str, message: str) -> Finding:
    return Finding(Severity.FATAL, code, where, message)


def _check_names(root: etree._Element) -> Iterator[Finding]:
    for kind in ('body', 'joint'):
        elements = [element for element in model_elements(root) if element.tag == kind]
        names = [element.get('name', '') for element in elements]
        for element, name in zip(elements, names, strict=True):
            if not name and kind == 'body':
                yield Finding(
                    Severity.WARNING, 'empty-name', _place(element),
                    'it has no name; it is called by its number in the file',
                )
            elif not name and element.get('type') != 'free':
                yield _fatal('empty-name', _place(element), 'it has no name (joints need one)')
            elif name in ('universe', 'world'):
                yield _fatal('reserved-name', _place(element), 'the name is that of the world')
        for name, count in Counter(names).items():
            if name and count > 1:
                yield _fatal(
                    f'duplicate-{kind}', f'{kind} {quoted(name)}',
                    f'{count} of them have this name (allowed one)',
                )


def _check_values(root: etree._Element, classes: Classes) -> Iterator[Finding]:
    """Numbers and words of all elements whose values are used, and of their defaults."""
    for element in root.iter(etree.Element):
        kind = _kind(element)
        given = plain_attributes(element)
        for name, (least, most) in _NUMBERS.get(kind, {}).items():
            if name in given:
                yield from _check_numbers(element, name, least, most)
        for name, allowed in _WORDS.get(kind, {}).items():
            if name in given and given[name] not in allowed:
                yield _fatal(
                    'unsupported-value', _place(element),
                    f'its {name} is not supported (found {quoted(given[name][:80])}; allowed '
                    f'{", ".join(allowed)})',
                )
        for name in ('class', 'childclass'):
            if element.tag != 'default' and given.get(name, 'main') not in classes:
                yield _fatal(
                    'unknown-class', _place(element),
                    f'its class does not exist (found {quoted(given[name][:80])})',
                )


def _kind(element: etree._Element) -> str:
    """What the attributes of an element mean, which depends on where it stands."""
    parent = element.getparent()
    above = '' if parent is None else str(parent.tag)
    if above in ('equality', 'tendon', 'actuator'):
        return above
    if element.tag in ('equality', 'tendon'):
        return str(element.tag) if above == 'default' else ''
    if element.tag in ACTUATORS:
        return 'actuator' if above == 'default' else ''
    below_model = above in ('default', 'body', 'worldbody', 'frame', 'mujoco')
    return str(element.tag) if below_model else ''


def _check_numbers(
    element: etree._Element, name: str, least: int, most: int
) -> Iterator[Finding]:
    text = element.get(name)
    values = read_values(text, most, least)
    if values is None:
        allowed = f'{most}' if least == most else f'{least} to {most}'
        yield _fatal(
            'unreadable-number', _place(element),
            f'its {name} cannot be read (found {quoted(str(text)[:80])}; allowed {allowed} finite '
            f'number{"s" if most > 1 else ""})',
        )
    elif name in _UNITS_OF_DIRECTION and not any(values):
        yield _fatal('zero-axis', _place(element), f'its {name} is zero')
    elif most == 3 and least == 1 and name != 'size' and any(values[1:]):
        yield _fatal(
            'nonlinear-term', _place(element),
            f'its {name} is a polynomial (found {quoted(text)}; allowed one number)',
        )


def _check_compiler(root: etree._Element) -> Iterator[Finding]:
    for element in root.findall('compiler'):
        given = plain_attributes(element)
        if (read_values(given.get('settotalmass'), 1) or (0.0,))[0] > 0.0:
            yield _fatal(
                'total-mass', 'compiler',
                'settotalmass scales all masses; let MuJoCo write the scaled model to a file '
                '(mj_saveLastXML), which has the result',
            )
        axes = given.get('eulerseq', 'xyz')
        if len(axes) != 3 or set(axes.lower()) - set('xyz'):
            yield _fatal(
                'unsupported-value', 'compiler',
                f'its eulerseq cannot be read (found {quoted(axes[:80])}; allowed three of '
                'x, y, z, X, Y, Z)',
            )


def _check_options(root: etree._Element) -> Iterator[Finding]:
    for element in root.findall('option'):
        for name in ('density', 'viscosity'):
            if (read_values(element.get(name), 1) or (0.0,))[0] > 0.0:
                yield Finding(
                    Severity.WARNING, 'fluid', 'option',
                    f'it has a medium ({name} {element.get(name)}), whose drag is not modelled',
                )


def _check_element(element: etree._Element, classes: Classes) -> Iterator[Finding]:
    given = plain_attributes(element)
    where = _place(element)
    notations = [name for name in ORIENTATIONS if name in given]
    if len(notations) > 1:
        yield _fatal(
            'several-orientations', where,
            f'its orientation is given more than once (found {", ".join(notations)})',
        )
    parent = element.getparent()
    in_frame = parent is not None and parent.tag == 'frame'
    if in_frame and element.tag in ('joint', 'freejoint', 'inertial'):
        yield _fatal(
            'in-frame', where, f'a <{element.tag}> inside a <frame>; move it into the body'
        )
    if element.tag == 'plugin':
        yield _fatal('plugin-element', where, 'plugins can add forces; remove it')
    if element.tag == 'body' and (read_values(given.get('gravcomp'), 1) or (0.0,))[0] != 0.0:
        yield Finding(
            Severity.WARNING, 'gravity-compensation', where,
            'its gravcomp is not modelled: torques are taken to hold its whole weight',
        )
    if element.tag == 'joint' and 'springdamper' in given and any(
        read_values(given['springdamper'], 2) or ()
    ):
        yield _fatal(
            'spring-damper', where,
            'its springdamper makes stiffness and damping out of the inertia; write stiffness '
            'and damping',
        )
    if element.tag == 'inertial' and 'fullinertia' in given and (
        notations or 'diaginertia' in given
    ):
        yield _fatal(
            'two-inertias', where, 'fullinertia allows no diaginertia and no orientation beside it'
        )


def _check_equalities(root: etree._Element) -> Iterator[Finding]:
    joints = {e.get('name') for e in model_elements(root) if e.tag == 'joint'}
    bodies = {e.get('name') for e in model_elements(root) if e.tag == 'body'} | {'world'}
    follows: dict[str, str] = {}
    for group in root.findall('default'):
        if any('active' in element.attrib for element in group.iter('equality')):
            yield _fatal(
                'default-equality', 'default', 'equalities that are active by default; write '
                'active at each equality'
            )
    for group in root.findall('equality'):
        for element in group.iterchildren(etree.Element):
            if element.get('active', 'true') != 'true':
                continue
            if element.tag in ('connect', 'weld'):
                yield from _check_closure(element, bodies)
            elif element.tag != 'joint':
                yield _fatal(
                    'unsupported-equality', f'equality {_place(element)}',
                    'it couples tendons or soft objects, which is not supported; remove it, or '
                    'set active="false" if the recording was made without it',
                )
            else:
                yield from _check_coupling(element, joints, follows)
    for name in follows:
        yield from _check_endless(name, follows)


def _check_closure(element: etree._Element, bodies: set[str | None]) -> Iterator[Finding]:
    given = plain_attributes(element)
    where = f'equality {_place(element)}'
    if 'site1' in given or 'site2' in given:
        yield _fatal(
            'closure-at-sites', where,
            'it closes a loop at sites, which are not read; write body1, body2 and '
            + ('anchor' if element.tag == 'connect' else 'relpose'),
        )
    elif 'body1' not in given or (element.tag == 'connect' and 'anchor' not in given):
        yield _fatal('closure-incomplete', where, 'it does not say where it closes a loop')
    for name in ('body1', 'body2'):
        if name in given and given[name] not in bodies:
            yield _fatal(
                'closure-unknown', where,
                f'its {name} does not exist (found {quoted(given[name])})',
            )


def _check_coupling(
    element: etree._Element, joints: set[str | None], follows: dict[str, str]
) -> Iterator[Finding]:
    given = plain_attributes(element)
    where = f'equality of joint {quoted(given.get("joint1"))}'
    for name in ('joint1', 'joint2'):
        if name in given and given[name] not in joints:
            yield _fatal(
                'mimic-unknown', where, f'its {name} does not exist (found {quoted(given[name])})'
            )
    if given.get('joint1') in follows:
        yield _fatal('mimic-twice', where, 'the joint follows two others (allowed one)')
    if read_values(given.get('polycoef', '0 1'), 5, 1) is not None and any(
        values_of(given, 'polycoef', (0.0,) * 5)[2:]
    ):
        yield _fatal(
            'mimic-nonlinear', where,
            f'the coupling is not linear (found {quoted(given["polycoef"])}; allowed the first '
            'two coefficients)',
        )
    follows[given.get('joint1', '')] = given.get('joint2', '')


def _check_endless(name: str, follows: dict[str, str]) -> Iterator[Finding]:
    seen, here = {name}, follows[name]
    while here in follows and here not in seen:
        seen.add(here)
        here = follows[here]
    if here == name:
        yield _fatal(
            'mimic-loop', f'equality of joint {quoted(name)}',
            'following the joints it is coupled to never ends',
        )


def _check_tendons(root: etree._Element) -> Iterator[Finding]:
    classes = Classes(root)
    for group in root.findall('tendon'):
        for element in group.iterchildren('spatial', 'fixed'):
            given = {**classes.default('tendon', element), **plain_attributes(element)}
            for name in ('stiffness', 'damping', 'armature', 'frictionloss'):
                if read_values(given.get(name, '0'), 3, 1) and value_of(given, name, 0.0) != 0.0:
                    yield _fatal(
                        'tendon-force', f'tendon {quoted(element.get("name"))}',
                        f'its {name} acts on several joints, which is not supported (found '
                        f'{quoted(given[name])})',
                    )
    for group in root.findall('actuator'):
        for element in group.iterchildren(etree.Element):
            for name in ('armature', 'damping'):
                if any(read_values(element.get(name), 3, 1) or ()):
                    yield Finding(
                        Severity.WARNING, 'actuator-term', f'actuator {_place(element)}',
                        f'its {name} is not used as a prior; write it at the joint',
                    )
