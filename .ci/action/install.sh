#!/usr/bin/env bash
# Installs a released writ into a folder and checks its checksum.
#
#   .ci/action/install.sh VERSION FOLDER
set -euo pipefail
version=${1:?usage: install.sh VERSION FOLDER}
folder=${2:?usage: install.sh VERSION FOLDER}
releases=${WRIT_RELEASES:-https://github.com/writ-policy/writ/releases/download}
case $(uname -m) in
x86_64) machine=amd64 ;;
aarch64 | arm64) machine=arm64 ;;
*) echo "no release for $(uname -m)" >&2 && exit 1 ;;
esac
name=writ_${version}_$(uname -s | tr '[:upper:]' '[:lower:]')_$machine
mkdir -p "$folder"
cd "$folder"
curl --silent --show-error --fail --location --remote-name "$releases/$version/$name"
curl --silent --show-error --fail --location --remote-name "$releases/$version/SHA256SUMS"
grep " $name\$" SHA256SUMS | sha256sum --check --quiet -
chmod +x "$name"
mv "$name" writ
