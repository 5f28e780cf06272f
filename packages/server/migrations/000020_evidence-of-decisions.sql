-- Up Migration
-- The evidence document of each decision: what it was computed from, in canonical JSON (docs/formats.md, "Evidence"). NULL for decisions of
-- versions that kept none. The decision names its digest, so it is as append-only as the decision.
ALTER TABLE countersign.decisions ADD COLUMN evidence text;
-- Decision and evidence together exceed 2 KB, from which PostgreSQL compresses rows. Compressing costs more than the room it saves.
ALTER TABLE countersign.decisions SET (toast_tuple_target = 8160);
