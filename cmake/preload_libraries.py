# The pip build puts this before the generated imports of msg, srv and action.
# rmw opens the type support libraries by bare file name; a ROS workspace has them on
# LD_LIBRARY_PATH, a wheel beside the package, where only a loaded library is found.
import ctypes as _ctypes
from pathlib import Path as _Path

for _library in sorted(_Path(__file__).parents[1].glob('libsysid_ros__rosidl_*.so')):
    _ctypes.CDLL(str(_library), mode=_ctypes.RTLD_GLOBAL)

