"""Words that summaries, reports and pages say, and what they mean.

The page of the reference, ``docs/reference/glossary.md``, is made from these.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

_LINK = re.compile(r'\[([^\]]*)\]\([^)]*\)|`([^`]*)`')

#: What each word means, in Markdown, in the order in which a summary has them; then words of pages.
GLOSSARY: Mapping[str, str] = MappingProxyType({
    'committable':
        'no reason was found against handing the parameters to controllers; how that is found is '
        'in [The verdict](../explanation/verdict.md)',
    'prior': 'the description before the fit; errors of the `prior` are those of its torques',
    'held-out': 'data that was kept from the fit, or another recording, by which the fit is judged',
    'training': 'data that was fitted',
    'RMS': 'root mean square of the error, in N·m or N',
    'independent ones':
        'samples of noise that are as good as so many without memory; intervals rest on them',
    'base parameters':
        "the combinations of parameters that torques can tell at all; a link's mass alone is "
        'often none',
    'physically consistent':
        'every body is a real mass distribution: positive mass, moments of inertia that a body '
        'can have',
    'margin': 'how far a body is from one that cannot be: 1 is the prior, 0 the limit',
    'Chosen by the data':
        'what the settings left open, and the value that predicted other stretches best',
    'stretches': 'parts of the recording that take turns in being left out of the fit',
    'faster': 'the fast half of rows, predicted from the slow half: what extrapolation costs',
    'over best': 'the error of a friction model over that of the best one',
    'open loop':
        'simulated from the measured torque alone, without feedback from the measured motion',
    'coasting':
        'keeping the velocity that a joint has at the beginning: a prediction that anybody can '
        'make',
    'known from this data': 'the value and its interval come from the recording',
    'in combination with others':
        'the recording tells a sum of parameters; how it is shared out comes from the prior',
    'unidentifiable': 'the parameter has no effect on any torque in this data, and keeps its prior',
    'jitter': 'how far stamps are from even ones, in parts of the period',
    'encoder': 'resolution of the positions, in bits per turn',
    'armature': 'inertia of motor and gear as the joint feels it',
    'torque_offset': 'a constant torque: of a sensor that is not zeroed, or a spring',
    'Remarks': 'what does not speak against the fit, and should be known by who uses it',
    'Content':
        'how many different loads the motion showed for each combination of parameters: fewer '
        'than one says too little',
    'Stamps': 'times of the samples: how long, how often, how evenly, and with which gaps',
    'Range': 'how much of the range that its limits allow each joint used',
    'Motion': 'how much of the time each joint moved',
    'Encoders': 'whether positions are fine enough to be differentiated twice',
    'Torques': 'noise of the torques beside what the motion takes',
    'Samples': 'how many samples can be used: what is clipped, stuck or beside a gap cannot',
    'Efforts':
        'whether the efforts are the torques that the motion takes, in their unit and with their '
        'sign',
    'held out':
        'kept from the fit, and predicted afterwards, which shows whether the model holds for '
        'other motion',
    'estimator':
        'the method that finds the parameters; docs/how-to/estimators.md says which one suits',
    'inertia ellipsoid': 'the solid of uniform density that has the mass and the inertia of a body',
})


def meaning(word: str) -> str:
    """What a word means, as plain text.

    Args:
        word: One of :data:`GLOSSARY`.
    """
    return _LINK.sub(lambda found: found[1] or found[2], GLOSSARY[word])
