"""The program in which xacro runs: a process of its own, as expressions of the file are code.

It is started by :mod:`sysid_ros.robot.description.xacro_expansion` in the folder of the file and
writes one line of JSON, followed by the URDF where there is one. It imports nothing of this
package.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Mapping
from typing import Any

import xacro


def main(name: str, seconds: int, memory: int, arguments: Mapping[str, str]) -> None:
    """Expand one file and write the outcome to standard output.

    Args:
        name: The file, in the working folder: its name is all that xacro writes into the URDF.
        seconds: Processor time that it may take.
        memory: Address space that it may take in bytes.
        arguments: Values of ``<xacro:arg>`` elements by name.
    """
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    xml, outcome = b'', dict[str, Any]()
    try:
        document = xacro.process_file(name, mappings=dict(arguments), verbosity=0)
        xml = document.toprettyxml(indent='  ', encoding='utf-8')
        outcome = {'files': [os.path.abspath(file) for file in xacro.all_includes]}
    except (Exception, RecursionError, MemoryError) as error:
        outcome = {'error': _error_record(error)}
    sys.stdout.buffer.write(json.dumps(outcome).encode() + b'\n' + xml)


def _error_record(error: BaseException) -> dict[str, str]:
    """Kind, words and file of an error; xacro's own message may be only that of its cause."""
    cause = error
    while isinstance(inner := getattr(cause, 'exc', None), BaseException):
        cause = inner
    files = [str(name) for name in xacro.filestack or [] if name]
    return {
        'kind': type(cause).__name__, 'cause': str(cause), 'file': files[-1] if files else '',
        'message': ' '.join(str(error).split()) or type(error).__name__,
    }


if __name__ == '__main__':
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), json.loads(sys.argv[4]))
