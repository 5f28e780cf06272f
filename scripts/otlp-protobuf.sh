#!/bin/sh
# otlp-protobuf.sh FOLDER: generates packages/core/test/otlp/protobuf/otlp.generated.js from the published .proto files of OTLP.
# FOLDER is a checkout of github.com/open-telemetry/opentelemetry-proto at the tag v1.9.0. Needs npm and access to its
# registry. No other script runs this one.
set -eu
cd "$(dirname "$0")/.."
proto=$(cd "$1" && pwd)
out=packages/core/test/otlp/protobuf
npx --yes --package protobufjs-cli@2.7.1 pbjs -t static-module -w esm -r otlp -p "$proto" \
  --no-create --no-verify --no-convert --no-delimited --no-typeurl --no-service --no-comments --force-long \
  -o "$out/otlp.generated.js" \
  opentelemetry/proto/collector/trace/v1/trace_service.proto \
  opentelemetry/proto/collector/logs/v1/logs_service.proto
