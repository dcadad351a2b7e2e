#!/bin/sh
# Install the commit of this clone into /opt/recipient-fields-VERSION, or into the folder of the argument. Run it as root
# in the clone. It checks the hashes of all packages, also of those that build the wheel. It builds in another
# folder, because files that an earlier build left in the clone would be part of the wheel.
set -eu
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' pyproject.toml)
target=${1:-/opt/recipient-fields-$version}
if [ -e "$target" ]; then
    echo "$target exists. Delete it, or pass the path of another folder." >&2
    exit 1
fi
build=$(mktemp --directory)
trap 'rm -rf "$build"' EXIT
mkdir "$build/source"
git archive HEAD | tar --extract --directory "$build/source"

python3 -m venv "$build/tools"
"$build/tools/bin/pip" install --quiet --no-deps --require-hashes --requirement "$build/source/requirements-build.txt"
"$build/tools/bin/pip" wheel --quiet --no-deps --no-build-isolation --wheel-dir "$build" "$build/source"

python3 -m venv "$target"
"$target/bin/pip" install --quiet --no-deps --require-hashes --requirement "$build/source/requirements.txt"
"$target/bin/pip" install --quiet --no-deps --no-index "$build"/*.whl
"$target/bin/recipient-fields" --version
# The first version is the one in use. An upgrade changes the link.
if [ $# -eq 0 ] && [ ! -e /opt/recipient-fields ]; then
    ln -s "$target" /opt/recipient-fields
fi
