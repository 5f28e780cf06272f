# Run by the PostgreSQL image on its first start: the server's role owns its database and is no superuser.
psql --username postgres --set ON_ERROR_STOP=1 --set password="$DATABASE_PASSWORD" <<'SQL'
CREATE ROLE countersign LOGIN PASSWORD :'password';
CREATE DATABASE countersign OWNER countersign;
SQL
