# The PostgreSQL image runs this file at its first start. The role of the server owns the database and is not a superuser.
psql --username postgres --set ON_ERROR_STOP=1 --set password="$DATABASE_PASSWORD" <<'SQL'
CREATE ROLE countersign LOGIN PASSWORD :'password';
CREATE DATABASE countersign OWNER countersign;
SQL
