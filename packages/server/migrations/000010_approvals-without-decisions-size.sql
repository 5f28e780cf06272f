-- Up Migration
-- Nothing reads the number of decisions before an approval any more, because a changed value would not be detected. The column's removal
-- also removes the check that names it, so the check is added again without the column.
ALTER TABLE countersign.approvals DROP COLUMN IF EXISTS decisions_size;
ALTER TABLE countersign.approvals ADD CONSTRAINT approvals_check2 CHECK ((decided_at IS NULL) = (decided_seq IS NULL));
