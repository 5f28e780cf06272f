#!/bin/sh
# check-version.sh vX.Y.Z: fails unless the packages, the programs and the Helm chart have this version, and CHANGELOG.md has a
# section for it.
set -eu
cd "$(dirname "$0")/../.."
version=${1#v}
fail() { echo "check-version: $1" >&2; exit 1; }
for package in packages/*/package.json; do
  found=$(sed -n 's/^  "version": "\(.*\)",$/\1/p' "$package")
  [ "$found" = "$version" ] || fail "$package has version $found, but the tag is $version"
done
for file in packages/server/src/cli/version.ts packages/client/src/version.ts; do
  found=$(sed -n "s/^export const VERSION = '\(.*\)';$/\1/p" "$file")
  [ "$found" = "$version" ] || fail "$file has version $found, but the tag is $version"
done
for member in version appVersion; do
  found=$(sed -n "s/^$member: //p" deploy/helm/countersign/Chart.yaml)
  [ "$found" = "$version" ] || fail "$member of the Helm chart is $found, but the tag is $version"
done
sh scripts/release/changes-of.sh "$version" >/dev/null
