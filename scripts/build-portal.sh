#!/bin/sh
# Builds the portal's pages into packages/portal/dist if there is no build or a source file is newer. Called by setup.sh.
set -eu
cd "$(dirname "$0")/.."
built=packages/portal/dist/.built
sources="package-lock.json packages/core/src packages/portal/src packages/portal/public packages/portal/index.html packages/portal/vite.config.ts"
# shellcheck disable=SC2086  # a list of paths without spaces
if [ -f "$built" ] && [ -z "$(find $sources -newer "$built" -print | head -n 1)" ]; then exit 0; fi
echo "countersign: building the portal's pages (first start, or their sources changed) ..." >&2
node=$(sh scripts/find-node.sh)
# Build into a separate folder, then move it. A running server never serves a partial build, and two builds do not mix.
new=packages/portal/dist.$$
trap 'rm -rf "$new" "$new.old"' EXIT
mkdir -p "$new"
touch "$new/.built"
"$node" node_modules/vite/bin/vite.js build packages/portal --outDir "dist.$$/pages" --logLevel warn >&2
mv "$new/.built" "$new/pages/.built"
if [ -d packages/portal/dist ]; then mv packages/portal/dist "$new.old"; fi
mv "$new/pages" packages/portal/dist
