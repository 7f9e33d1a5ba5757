"""The shared library: where it is found, and that it is of the version that was declared."""

import ctypes.util
import os
import pathlib

from ._declarations import VERSION, ffi


def _candidates():
    """Where the library may be: what the user says, in the package, beside its prefix, where the loader looks."""
    if "BELFRY_LIBRARY" in os.environ:
        yield os.environ["BELFRY_LIBRARY"]
        return
    inside = pathlib.Path(__file__).resolve().parent / "libbelfry.so"
    if inside.exists():
        yield str(inside)
        return
    above = pathlib.Path(__file__).resolve().parents
    if len(above) > 3:
        for place in (above[3], *sorted(p for p in above[3].glob("*-linux-*") if p.is_dir())):
            if (place / "libbelfry.so").exists():
                yield str(place / "libbelfry.so")
    yield "libbelfry.so.%d.%d" % VERSION
    found = ctypes.util.find_library("belfry")
    if found:
        yield found


def _load():
    reasons = []
    for name in _candidates():
        try:
            lib = ffi.dlopen(name)
        except OSError as e:
            reasons.append(str(e))
            continue
        version = ffi.string(lib.bf_version()).decode()
        if tuple(int(x) for x in version.split(".")[:2]) != VERSION:
            raise ImportError("%s is Belfry %s; this package is for %d.%d" % (name, version, *VERSION))
        return lib
    raise ImportError(
        "libbelfry.so is not found: build Belfry with -DBUILD_SHARED_LIBS=ON and install it, or name the file in "
        "BELFRY_LIBRARY\n  " + "\n  ".join(reasons)
    )


lib = _load()
