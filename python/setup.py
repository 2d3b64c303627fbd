# SPDX-License-Identifier: MIT
"""The wheel: CMake builds the extension, setuptools packs it. SALTUS_BUILD names a build folder that has it already."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent.parent
VERSION = re.search(r'#define SLT_VERSION +"(.*)"', (ROOT / "include/saltus/saltus_rt.h").read_text())[1]
SCRATCH = ROOT / "build" / "wheel"


class Build(build_ext):
    """Let CMake do it."""

    def build_extension(self, ext):
        folder = os.environ.get("SALTUS_BUILD")
        if not folder:
            folder = SCRATCH / "cmake"
            options = ["-DCMAKE_BUILD_TYPE=Release", "-DSALTUS_TESTS=OFF", "-DSALTUS_EXAMPLES=OFF"]
            subprocess.run(["cmake", "-S", ROOT, "-B", folder, *options], check=True)
            subprocess.run(["cmake", "--build", folder, "--target", "saltus_python"], check=True)
        target = Path(self.get_ext_fullpath(ext.name))
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(Path(folder) / "python" / "saltus" / "_saltus.abi3.so", target)
        subprocess.run(["strip", "--strip-unneeded", target], check=False)


SCRATCH.mkdir(parents=True, exist_ok=True)
setup(
    version=VERSION,
    ext_modules=[Extension("saltus._saltus", [], py_limited_api=True)],
    cmdclass={"build_ext": Build},
    options={
        "bdist_wheel": {"py_limited_api": "cp311"},
        "build": {"build_base": str(SCRATCH / "tree")},
        "egg_info": {"egg_base": str(SCRATCH)},
    },
)
