-- Up Migration
-- An archived agent is left out of the portal's lists and counts. Nothing else changes: its records stay, new ones are taken, and the
-- promotion check decides about it as about any other.

ALTER TABLE countersign.agents ADD COLUMN archived_at timestamptz;
