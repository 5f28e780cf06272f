#!/bin/sh
# Builds the image without any registry and tries it: Debian by mmdebstrap, the build by buildah, the run by bubblewrap with a read-only
# root and a user without rights. Needs root, those three programs, and npm's access to its registry.
set -eu
cd "$(dirname "$0")/.."
for program in mmdebstrap buildah bwrap; do
  command -v "$program" >/dev/null || { echo "try-image: $program is needed (apt-get install mmdebstrap buildah bubblewrap)" >&2; exit 2; }
done
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
work=$(mktemp -d)
container=
clean() {
  if [ -n "$container" ]; then buildah rm "$container" >/dev/null 2>&1 || true; fi
  rm -rf "$work"
}
trap clean EXIT

# The base image, and the same with this machine's Node and npm for the build stage.
mmdebstrap --quiet --variant=minbase bookworm "$work/base.tar"
container=$(buildah from scratch)
buildah add --quiet "$container" "$work/base.tar" / >/dev/null
buildah commit --quiet "$container" localhost/countersign-base >/dev/null
node=$(readlink -f "$(sh scripts/find-node.sh)")
npm=$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")
buildah copy --quiet "$container" "$node" /usr/local/bin/node >/dev/null
buildah copy --quiet "$container" "$npm" /usr/local/lib/node_modules/npm >/dev/null
buildah run "$container" -- ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm
buildah commit --quiet "$container" localhost/countersign-build >/dev/null
buildah rm "$container" >/dev/null
container=

# Only what is committed gets into the image.
mkdir "$work/context"
git archive HEAD | tar -x -C "$work/context"
set --
if [ -f "$HOME/.npmrc" ]; then set -- "$@" --secret "id=npmrc,src=$HOME/.npmrc"; fi
if [ -n "${NODE_EXTRA_CA_CERTS:-}" ]; then set -- "$@" --secret "id=ca,src=$NODE_EXTRA_CA_CERTS"; fi
buildah bud --quiet --pull-never --format docker "$@" \
  --build-arg BUILD_IMAGE=localhost/countersign-build --build-arg BASE_IMAGE=localhost/countersign-base \
  --file "$work/context/Containerfile" --tag localhost/countersign "$work/context" >/dev/null

container=$(buildah from --pull-never localhost/countersign)
buildah inspect --format '{{.Docker.Config.User}} {{.Docker.Config.Entrypoint}} {{.Docker.Config.Cmd}}' "$container"
root=$(buildah mount "$container")
du -sh "$root" | sed "s|$root|the image|"
sh scripts/run.sh scripts/try-image.ts "$root"
