-- Up Migration
-- What POST /api/v1/evaluations adds to an evaluation, as far as it is searched, shown in lists or decided on; the rest is in the document.
-- null: not said, which is so for every evaluation of the public endpoint.
ALTER TABLE countersign.evaluations
  ADD COLUMN evaluated_at timestamptz,
  ADD COLUMN suite text,
  ADD COLUMN completeness text CHECK (completeness IN ('complete', 'partial', 'unknown')),
  ADD COLUMN artifact text;
