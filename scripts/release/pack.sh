#!/bin/sh
# pack.sh FOLDER: packs the packages that are published. Adds a bill of materials (CycloneDX) for each, and SHA-256 checksums.
set -eu
cd "$(dirname "$0")/../.."
mkdir -p "$1"
folder=$(cd "$1" && pwd)
installed=$(mktemp -d)
trap 'rm -rf "$installed"' EXIT
for name in server client; do
  archive=$(npm pack --silent --workspace "packages/$name" --pack-destination "$folder" | tail -n 1)
  # The bill of materials lists the installed packages, so it is generated from an installation.
  mkdir "$installed/$name"
  (
    cd "$installed/$name"
    echo "{\"name\":\"countersign-$name\",\"version\":\"0.0.0\",\"private\":true}" >package.json
    npm install --no-audit --no-fund --loglevel=error --omit=dev --ignore-scripts "$folder/$archive" >/dev/null
    npm sbom --sbom-format cyclonedx --sbom-type application >"$folder/$name.cdx.json"
  )
done
(cd "$folder" && sha256sum -- *.tgz *.cdx.json >SHA256SUMS)
