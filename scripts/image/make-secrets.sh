#!/bin/sh
# Writes the secrets for compose.yaml to .env, once. Back up .env: without it, the database cannot be used.
set -eu
cd "$(dirname "$0")/../.."
if [ -e .env ]; then
  echo "make-secrets: .env exists; nothing was changed" >&2
  exit 0
fi
umask 077
signing_key=$(openssl genpkey -algorithm ed25519)
cat >.env.new <<END
DATABASE_PASSWORD=$(openssl rand -hex 24)
DATABASE_SUPERUSER_PASSWORD=$(openssl rand -hex 24)
COUNTERSIGN_MASTER_SECRET=$(openssl rand -base64 32)
COUNTERSIGN_SIGNING_KEY="$signing_key"
END
mv .env.new .env
