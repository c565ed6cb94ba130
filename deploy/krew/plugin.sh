#!/usr/bin/env bash
# Packs the binaries of a release for krew, the plugin manager of kubectl, and writes its
# manifest, writ.yaml. Equal binaries make equal archives.
#
#   deploy/krew/plugin.sh RELEASE URL VERSION
#
# RELEASE is the folder of .ci/release.sh, URL where its files can be downloaded.
set -euo pipefail
release=$(realpath "${1:?usage: plugin.sh RELEASE URL VERSION}")
url=${2:?} version=${3:?}
license=$(realpath "$(dirname "$0")/../../LICENSE")
case $version in v[0-9]*.[0-9]*.[0-9]*) ;; *) echo "krew: $version must be a version such as v1.2.3" >&2; exit 1 ;; esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$license" "$work/LICENSE"

cd "$release"
{
	cat <<MANIFEST
apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: writ
spec:
  version: $version
  homepage: https://github.com/writ-policy/writ
  shortDescription: Check, test and ask authorization policy
  description: |
    Checks policy documents and what a cluster has of them, compares revisions, lists who
    can do something, and checks the chain from an API server to writ.
  platforms:
MANIFEST
	found=0
	for binary in writ_"${version}"_*; do
		case $binary in *.tar.gz) continue ;; esac
		platform=${binary#writ_"${version}"_} archive=kubectl-$binary.tar.gz
		install -m 755 "$binary" "$work/kubectl-writ"
		tar -C "$work" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf - kubectl-writ LICENSE | gzip -9n >"$archive"
		cat <<PLATFORM
  - selector: {matchLabels: {os: ${platform%_*}, arch: ${platform#*_}}}
    uri: $url/$archive
    sha256: $(sha256sum "$archive" | cut -d' ' -f1)
    bin: kubectl-writ
PLATFORM
		found=$((found + 1))
	done
	[ "$found" -gt 0 ] || { echo "krew: $release has no binary of $version" >&2; exit 1; }
} >writ.yaml.new
mv writ.yaml.new writ.yaml
