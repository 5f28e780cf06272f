-- Up Migration
-- Evaluations of one suite are one series, whatever each run is named: pipelines put dates and build numbers into names. Where no suite
-- was sent, the name is the series, as the chart of pass rates has it.
CREATE OR REPLACE FUNCTION countersign.series_identity(name text, suite text, harness_id uuid) RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN sha256(convert_to(json_build_array(coalesce(suite, name), harness_id)::text, 'UTF8'));
