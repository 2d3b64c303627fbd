#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Install the Debian packages that are needed and missing: `setup.sh build` for building, `setup.sh
# build test` for the tests too, `setup.sh python` for a wheel of the Python package, `setup.sh pictures` for PNG, `setup.sh workbench` for the page and its server, `setup.sh
# browser` for their tests, `setup.sh web` for the page with the engine inside, `setup.sh manual` for `make manual`, `setup.sh package` for `make package`,
# `setup.sh portability` for other compilers and machines, `setup.sh sundials` for the methods bdf, adams and ida (optional: the
# package brings more than a hundred others with it). Says one line when it installs something, nothing when it need not.
set -eu

have_program() { command -v "$1" >/dev/null 2>&1; }

# a header counts as present when the compiler finds it, or CMake will: CMAKE_PREFIX_PATH is a list of folders
have_header() {
  for folder in /usr /usr/local $(echo "${CMAKE_PREFIX_PATH:-}" | tr ':;' '  '); do
    [ -e "$folder/include/$1" ] && return 0
  done
  echo "#include <$1>" | cc -E -x c - >/dev/null 2>&1
}

# a module of Debian's own Python, whatever python3 is first on the path
have_module() { [ -x /usr/bin/python3 ] && /usr/bin/python3 -c "import $1" >/dev/null 2>&1; }

# the Python package and what its tests look at
python_packages() {
  have_header python3.11/Python.h || ls /usr/include/python3.*/Python.h >/dev/null 2>&1 || need python3-dev
  have_module numpy || need python3-numpy
  have_module pandas || need python3-pandas
  have_module matplotlib || need python3-matplotlib
  have_module nbconvert || need python3-nbconvert
  have_module ipykernel || need python3-ipykernel
}

missing=""
optional=""
need() { missing="$missing $1"; }
# what the build does without where nobody can install it
want() { optional="$optional $1"; }

for group in "${@:-build}"; do
  case "$group" in
    build)
      have_program cc && have_header stdio.h || need build-essential
      have_program cmake || need cmake
      have_program ninja || want ninja-build
      have_program pkg-config || need pkg-config
      have_header suitesparse/klu.h || have_header klu.h || need libsuitesparse-dev
      have_header zlib.h || want zlib1g-dev
      ;;
    pictures)
      have_header cairo/cairo.h || want libcairo2-dev
      ;;
    test)
      have_header cmocka.h || need libcmocka-dev
      have_header cairo/cairo.h || need libcairo2-dev
      have_header microhttpd.h || need libmicrohttpd-dev
      have_header zip.h || need libzip-dev
      have_header expat.h || need libexpat1-dev
      have_header hdf5/serial/hdf5.h || have_header hdf5.h || need libhdf5-dev
      have_program python3 || need python3
      have_program nvim || need neovim
      have_header nlopt.h || need libnlopt-dev
      have_program mpirun || need "libopenmpi-dev openmpi-bin"
      python_packages
      have_module markdown || need python3-markdown
      have_module simpy || need python3-simpy3
      ;;
    python)
      python_packages
      have_module wheel || need python3-wheel
      have_module setuptools || need python3-setuptools
      have_module pip || need python3-pip
      ;;
    workbench)
      have_header microhttpd.h || need libmicrohttpd-dev
      have_program node || need nodejs
      have_program npm || need npm
      ;;
    browser)
      have_program chromium || need chromium
      ;;
    web)
      have_program emcc || need emscripten
      ;;
    package)
      have_header microhttpd.h || need libmicrohttpd-dev
      have_header zip.h || need libzip-dev
      have_header expat.h || need libexpat1-dev
      have_header nlopt.h || need libnlopt-dev
      have_program dpkg-shlibdeps || need dpkg-dev
      have_program file || need file
      ;;
    manual)
      have_module markdown || need python3-markdown
      ;;
    lint)
      have_program clang-format || need clang-format
      have_program clang-tidy || need clang-tidy
      have_program shellcheck || need shellcheck
      ;;
    package-test)
      have_program mmdebstrap || need mmdebstrap
      ;;
    portability)
      have_program clang || need clang
      have_program musl-gcc || need musl-tools
      have_program aarch64-linux-gnu-gcc || need "gcc-aarch64-linux-gnu libc6-dev-arm64-cross"
      have_program qemu-aarch64 || need qemu-user
      ;;
    sundials)
      have_header cvode/cvode.h || need libsundials-dev
      ;;
    *)
      echo "setup: unknown group '$group' (known: build, pictures, test, python, workbench, browser, web, manual, package, lint, package-test, portability, sundials)" >&2
      exit 2
      ;;
  esac
done
[ -n "$missing$optional" ] || exit 0

can_install() { have_program apt-get && { [ "$(id -u)" = 0 ] || have_program sudo; }; }
if [ -z "$missing" ] && ! can_install; then
  echo "setup: going on without$optional (optional; these are Debian's names)"
  exit 0
fi
missing="$missing$optional"

if ! have_program apt-get; then
  echo "setup: missing here:$missing (these are Debian's names; install them and try again)" >&2
  exit 1
fi
if [ "$(id -u)" = 0 ]; then
  as_root=""
elif have_program sudo; then
  as_root="sudo"
else
  echo "setup: missing here:$missing; neither root nor sudo to install them. As root run:" >&2
  echo "  apt-get install$missing" >&2
  exit 1
fi

echo "setup: installing$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install_all() {
  # shellcheck disable=SC2086  # a list of words
  $as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends $missing >"$log" 2>&1
}
# package lists may be old or absent on a fresh machine
if ! install_all; then
  if ! { $as_root apt-get update -qq >"$log" 2>&1 && install_all; }; then
    cat "$log" >&2
    echo "setup: installation failed; missing:$missing" >&2
    exit 1
  fi
fi
