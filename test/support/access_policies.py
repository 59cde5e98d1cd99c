"""Access policies of SROS 2, for tests: their structure, and what they allow."""

import re

from lxml import etree

# Lists of an enclave: what they list, what is done with it, and the tag of an entry.
LISTS = {
    ('services', 'reply'): 'service', ('services', 'request'): 'service',
    ('actions', 'execute'): 'action', ('actions', 'call'): 'action',
    ('topics', 'publish'): 'topic', ('topics', 'subscribe'): 'topic',
}
NAME = re.compile(r'/?[a-z][a-z0-9_]*(/[a-z][a-z0-9_]*)*')


def mistakes(root, namespace='/'):
    """What the structure of a policy must not be, as sentences."""
    if root.tag != 'policy' or root.get('version') != '0.2.0' or [
        child.tag for child in root.iterchildren(etree.Element)
    ] != ['enclaves']:
        yield 'the root is no policy of version 0.2.0 with enclaves'
        return
    paths = [enclave.get('path') for enclave in root[-1].iterchildren(etree.Element)]
    if len(set(paths)) < len(paths) or not paths:
        yield 'enclaves are not unique'
    for enclave in root[-1].iterchildren(etree.Element):
        where = enclave.get('path')
        profiles = list(enclave.iterfind('profiles/profile'))
        if enclave.tag != 'enclave' or len(profiles) != 1 or [
            [child.tag for child in level] for level in (enclave, enclave[0])
        ] != [['profiles'], ['profile']]:
            yield f'{where}: an enclave has other than one profile'
            continue
        profile = profiles[0]
        if (profile.get('ns'), profile.get('node')) != (namespace, where.rpartition('/')[2]):
            yield f'{where}: the profile is of another node'
        for group in profile:
            yield from mistakes_of(group, where)


def mistakes_of(group, where):
    """What is wrong with a list of an enclave."""
    if len(group.attrib) != 1 or (group.tag, *group.attrib) not in LISTS:
        yield f'{where}: {group.tag} {dict(group.attrib)} says what no list may'
        return
    how, = group.attrib
    if group.get(how) != 'ALLOW':
        yield f'{where}: {group.tag} {how} allows nothing; what is not listed is denied'
    names = [entry.text or '' for entry in group]
    if not names or {entry.tag for entry in group} != {LISTS[group.tag, how]}:
        yield f'{where}: {group.tag} {how} has other entries than {LISTS[group.tag, how]}'
    if len(set(names)) < len(names):
        yield f'{where}: {group.tag} {how} has an entry twice'
    for name in names:
        if not NAME.fullmatch(name):
            yield f'{where}: {name!r} is no name'


def allowed(root, kind, how):
    """Names that each enclave may use in some way, by its path, without the first slash."""
    return {
        enclave.get('path'): {
            item.text.removeprefix('/') for group in enclave.iter(kind)
            if group.get(how) == 'ALLOW' for item in group}
        for enclave in root.iter('enclave')
    }
