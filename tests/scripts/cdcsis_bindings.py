#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The engine program of the paper: unchanged as C and as C++, with one pkg-config line from an
installed tree; in Fortran and Pascal where their compilers are found; all with the same bits.
Standard headers may be included before and after the dialect's."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import suite  # noqa: E402

SOURCE = pathlib.Path(os.environ["SALTUS_SOURCE"])
BUILD = pathlib.Path(os.environ["SALTUS_BUILD"])
EXAMPLES = SOURCE / "examples" / "cdcsis"
C_HEADERS = ["assert", "complex", "ctype", "errno", "fenv", "float", "inttypes", "limits", "locale",
             "math", "setjmp", "signal", "stdarg", "stdbool", "stddef", "stdint", "stdio", "stdlib",
             "string", "tgmath", "threads", "time", "wchar", "wctype", "sys/wait", "sys/types",
             "sys/stat", "sys/time", "unistd", "pthread", "fcntl", "poll", "sys/select"]
CPP_HEADERS = ["algorithm", "atomic", "chrono", "cmath", "condition_variable", "cstdio", "cstdlib",
               "fstream", "functional", "future", "iostream", "map", "memory", "mutex", "random",
               "sstream", "string", "thread", "vector"]


def sh(arguments, folder, env=None):
    done = subprocess.run([str(a) for a in arguments], cwd=folder, capture_output=True, text=True,
                          env=env, check=False)
    assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    return done.stdout


def result(program, folder):
    sh([program], folder)
    for name in ("cdcsis-1.svg", "cdcsis-2.svg", "cdcsis.html"):
        assert (folder / name).stat().st_size > 1000, name
    data = (folder / "cdcsis.csv").read_bytes()
    assert data.count(b"\n") == 580, data.count(b"\n")
    return data


def check_headers(folder, flags):
    """Every standard header, before and after."""
    for compiler, suffix, headers in (("cc", "c", [h + ".h" for h in C_HEADERS]),
                                      ("c++", "cpp", CPP_HEADERS)):
        if not shutil.which(compiler):
            continue
        includes = "".join(f"#include <{h}>\n" for h in headers)
        body = ("void blocks() { double p = 0; if (sj == 1 && event(simtime - step, p)) hold(1, 2); }\n"
                "int main() { stest = 0; ptrans = 0; beg(0); return test(); }\n")
        for text in (includes + "#include <saltus/cdcsis.h>\n", "#include <saltus/cdcsis.h>\n" + includes):
            path = folder / f"headers.{suffix}"
            path.write_text(text + body, encoding="utf-8")
            extra = ["-std=c++17"] if suffix == "cpp" else ["-std=gnu17"]
            sh([compiler, *extra, "-Wall", "-Werror", path, "-fsyntax-only", *flags], folder)


def installed(root):
    """Flags of the installed library, as the one line with pkg-config gives them."""
    sh(["cmake", "--install", BUILD], BUILD, dict(os.environ, DESTDIR=str(root)))
    prefix = next(root.rglob("saltus/cdcsis.h")).parent.parent.parent
    if not shutil.which("pkg-config"):
        return [f"-I{prefix / 'include'}"], [f"-L{BUILD}", "-lsaltus", "-lm", f"-Wl,-rpath,{BUILD}"]
    folder = next(root.rglob("saltus.pc")).parent
    env = dict(os.environ, PKG_CONFIG_SYSROOT_DIR=str(root), PKG_CONFIG_PATH=str(folder))
    flags = sh(["pkg-config", "--cflags", "saltus"], root, env).split()
    link = sh(["pkg-config", "--libs", "saltus"], root, env).split()
    folders = [os.path.normpath(flag[2:]) for flag in flags if flag.startswith("-I")]
    assert str(prefix / "include") in folders and "-lsaltus" in link, (flags, link)
    return flags, [*link, f"-Wl,-rpath,{folder.parent}"]


def main():
    if suite.SANITIZED or "--coverage" in suite.cache_value("CMAKE_C_FLAGS_DEBUG"):
        print("instrumented library: other languages cannot link it")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        flags, link = installed(root / "tree")
        check_headers(root, flags)

        text = (EXAMPLES / "paper" / "engine.c").read_text(encoding="utf-8")
        assert text.startswith("#include <saltus/cdcsis.h>\ndouble pom,k,T1,T2,T3,"), "one include"
        results = {}
        for label, command in (("C", ["cc", EXAMPLES / "paper" / "engine.c"]),
                               ("C++", ["c++", "-x", "c++", EXAMPLES / "paper" / "engine.c", "-x", "none"])):
            if not shutil.which(command[0]):
                print(f"{label}: no compiler")
                continue
            folder = root / label
            folder.mkdir()
            sh([*command, "-o", "engine", *flags, *link], folder)
            results[label] = result(folder / "engine", folder)
        if shutil.which("gfortran"):
            folder = root / "fortran"
            folder.mkdir()
            sh(["gfortran", "-O1", "-ffp-contract=off", EXAMPLES / "fortran" / "cdcsis.f90",
                EXAMPLES / "fortran" / "engine.f90", "-o", "engine", *link], folder)
            results["Fortran"] = result(folder / "engine", folder)
        else:
            print("Fortran: no compiler, skipped")
        if shutil.which("fpc"):
            folder = root / "pascal"
            shutil.copytree(EXAMPLES / "pascal", folder)
            sh(["fpc", "-O1", f"-Fl{BUILD}", "-k-rpath", f"-k{BUILD}", "engine.pas"], folder)
            results["Pascal"] = result(folder / "engine", folder)
        else:
            print("Pascal: no compiler, skipped")
        assert len(set(results.values())) == 1, "languages differ"
        print("same bits:", ", ".join(results))


main()
