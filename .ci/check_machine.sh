#!/bin/sh
# Says what this machine lacks to build the project, and how to get it. Argument: the Python.
# Exit codes: 1 something has to be installed first, 2 make cannot build here at all.
python=$1
missing=''

# Before all else: on ARM, for example, nothing that could be installed would help.
if [ "$(uname -sm)" != 'Linux x86_64' ]; then
    echo "$(uname -sm) is not supported by make: ROS 2 wheels exist for x86_64 Linux only." \
        "Build with colcon in a ROS distribution instead (docs/how-to/install.md, Processors)." >&2
    exit 2
fi

need() {  # need <apt packages> <what for>: called after a check has failed
    missing="$missing $1"
    echo "missing: $2" >&2
}

if ! command -v "$python" > /dev/null; then
    echo "missing: $python; install Python 3.11 or later, or name it: make PYTHON=python3.12" >&2
    exit 1
fi
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "$python is $("$python" -V), but 3.11 or later is needed: make PYTHON=python3.12" >&2
    exit 1
fi
"$python" -c 'import ensurepip, venv' 2> /dev/null || need python3-venv 'venv with pip'
"$python" -c 'import os, sysconfig as s
assert os.path.exists(os.path.join(s.get_path("include"), "Python.h"))' 2> /dev/null ||
    need python3-dev 'the C headers of Python'
command -v make > /dev/null || need make 'make'
command -v g++ > /dev/null || need g++ 'a C++ compiler'
if [ -n "$missing" ]; then
    echo "On Debian or Ubuntu: apt-get install$missing" >&2
    exit 1
fi
