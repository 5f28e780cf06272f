-- Up Migration
-- Names that differ only in the amount of white space, or in full-width forms, now have the same skeletons (docs/decisions/0040). This
-- removes the digests of the old skeletons. The server computes the missing ones at its start, and before it compares a new name. A change
-- of the type rewrites the rows of all tenants, which an UPDATE cannot do under row-level security.
ALTER TABLE countersign.agents
  ALTER COLUMN name_skeleton TYPE bytea USING NULL::bytea,
  ALTER COLUMN name_skeleton_caseless TYPE bytea USING NULL::bytea;
