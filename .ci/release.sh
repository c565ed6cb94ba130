#!/usr/bin/env bash
# Builds stripped binaries and their checksums into a folder: equal sources, version
# and Go make equal bytes, wherever they are built.
#
#   .ci/release.sh FOLDER [GOOS/GOARCH...]
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(realpath -m "${1:?usage: .ci/release.sh FOLDER [GOOS/GOARCH...]}")
shift
[ $# -gt 0 ] || set -- linux/amd64 linux/arm64 darwin/amd64 darwin/arm64

commit=${COMMIT:-$(git rev-parse HEAD)}
version=${VERSION:-$(git describe --tags --always --dirty)}
rm -rf "$folder"
mkdir -p "$folder"
for platform in "$@"; do
	GOOS=${platform%/*} GOARCH=${platform#*/} CGO_ENABLED=0 go build -trimpath -tags=nomsgpack,grpcnotrace -buildvcs=false \
		-ldflags "-s -w -X github.com/writ-policy/writ/cmd/writ/cli.version=$version -X github.com/writ-policy/writ/cmd/writ/cli.commit=$commit" \
		-o "$folder/writ_${version}_${platform%/*}_${platform#*/}" ./cmd/writ
done
cd "$folder"
sha256sum writ_* | tee SHA256SUMS
