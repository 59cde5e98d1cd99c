"""Lines of a recording's settings that mend what a check names, to be pasted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def signal_line(
    quantity: str | Sequence[str], key: str, joints: Sequence[str], values: Mapping[str, float],
    usual: float,
) -> str:
    """The line with a factor or an offset of a signal, or of some, for each joint.

    Args:
        quantity: ``'position'`` or ``'effort'``, or both.
        key: ``'scale'``, ``'sign'`` or ``'offset'``.
        joints: All joints; their order is said, as columns may come in another.
        values: Values of those that are not as usual.
        usual: Value of the others.
    """
    listed = ', '.join(f'{values.get(joint, usual):.3g}' for joint in joints)
    signals = [quantity] if isinstance(quantity, str) else quantity
    said = ', '.join(f'{signal}: {{{key}: [{listed}]}}' for signal in signals)
    return f'recording: {{{said}}} (in the order {", ".join(joints)})'
