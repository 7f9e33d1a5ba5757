"""The package with its shared library inside: pip install ./tools/python builds that from the source tree around it.

BELFRY_LIBRARY=/path/to/libbelfry.so takes one that is built already.
"""

import os
import pathlib
import re
import shutil
import subprocess

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def version():
    text = (ROOT / "drivers" / "belfry.h").read_text()
    return ".".join(re.findall(r"#define BELFRY_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", text))


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        library = os.environ.get("BELFRY_LIBRARY") or self.build_library()
        shutil.copyfile(os.path.realpath(library), pathlib.Path(self.build_lib) / "belfry" / "libbelfry.so")

    def build_library(self):
        build = pathlib.Path(self.build_lib).resolve().parent / "libbelfry"
        off = ["-DBELFRY_%s=OFF" % part for part in ("TOOLS", "TESTS", "BENCH", "INSTALL", "MPI")]
        subprocess.run(["cmake", "-S", ROOT, "-B", build, "-DBUILD_SHARED_LIBS=ON", *off], check=True)
        subprocess.run(["cmake", "--build", build, "--parallel", "--target", "belfry"], check=True)
        return build / "libbelfry.so"


class OfThisMachine(Distribution):
    def has_ext_modules(self):
        return True


setup(version=version(), packages=["belfry"], cmdclass={"build_py": BuildWithLibrary}, distclass=OfThisMachine)
