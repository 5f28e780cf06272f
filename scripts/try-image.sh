#!/bin/sh
# Builds the image without an image registry and tests it. mmdebstrap installs Debian, buildah builds the image, and bubblewrap
# runs it with a read-only root and an unprivileged user. Needs root, the three programs, a Debian mirror and npm's registry.
set -eu
cd "$(dirname "$0")/.."
for program in mmdebstrap buildah bwrap; do
  command -v "$program" >/dev/null || { echo "try-image: install $program (apt-get install mmdebstrap buildah bubblewrap)" >&2; exit 2; }
done
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
work=$(mktemp -d)
container=
clean() {
  if [ -n "$container" ]; then buildah rm "$container" >/dev/null 2>&1 || true; fi
  rm -rf "$work"
}
trap clean EXIT

# Create the base image, and the image of the build stage: the base image plus this machine's Node and npm.
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

# Only committed files are included in the image.
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
