#!/bin/sh
# Runs the tests as they would run on Ubuntu 24.04 with ROS 2 Jazzy: by its Python, with its versions
# of what apt ships (constraints-jazzy.txt), in a colcon workspace, by the recipe of
# docs/how-to/install.md. Arguments: a Python 3.12, the folder to do it in, then those of pytest.
set -eu
source=$(pwd)
python=$1
mkdir -p "$2"
here=$(cd "$2" && pwd)
shift 2
"$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 12))' || {
    echo "$python is not the Python of Ubuntu 24.04: make test-jazzy PYTHON312=…/python3.12" >&2
    exit 1
}

# What is there before the recipe: apt's packages and ROS, in an environment that stands for /.
system=$here/system
rm -rf "$here/system" "$here/venv" "$here/workspace"
"$python" -m venv "$system"
sed '/^# Over it/q' constraints-jazzy.txt > "$here/apt.txt"
sed -n '/^# Over it/,$p' constraints-jazzy.txt > "$here/over.txt"
grep -E '^(ros-|colcon-|lark|empy|cmake|ninja|coverage|distlib|notify2|pytest-[cr])' \
    constraints.txt > "$here/ros.txt"
"$system/bin/python" -m pip install --quiet --no-deps --requirement "$here/apt.txt" \
    --requirement "$here/ros.txt"
packages=$system/lib/python3.12/site-packages
export PATH="$system/bin:$PATH" AMENT_PREFIX_PATH="$system" _ROS_WHEELS_BOOTSTRAP_COMPLETE=1
LD_LIBRARY_PATH=$(printf %s: "$system/lib" "$packages"/ros_*.libs)
export LD_LIBRARY_PATH

# The recipe. One environment cannot see another as it sees the system's packages, but by this file.
"$python" -m venv "$here/venv"
echo "import site; site.addsitedir('$packages')" \
    > "$here/venv/lib/python3.12/site-packages/system.pth"
set +u  # neither this nor the workspace's file knows all of its variables
. "$here/venv/bin/activate"
python3 -m pip install --quiet --constraint "$here/over.txt" --requirement requirements-ros.txt \
    'gtsam>=4.3'
for package in numpy scipy matplotlib pinocchio coal; do
    python3 -c "import sys, $package as p; sys.exit(not p.__file__.startswith('$packages'))" ||
        { echo "$package of the system is covered by one of pip" >&2; exit 1; }
done
mkdir -p "$here/workspace/src"
ln -s "$source" "$here/workspace/src/sysid_ros"
cd "$here/workspace"
colcon build
. install/setup.sh
export PYTHONPATH="$VIRTUAL_ENV/lib/python3.12/site-packages:$PYTHONPATH"
exec python3 -m pytest -m 'not processes' --config-file "$source/pyproject.toml" \
    --rootdir "$source" -W default::DeprecationWarning "$@"
