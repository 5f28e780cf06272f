import type { Scope } from '@countersign/core/contract/scopes';
import { Checkbox } from '@mantine/core';

const DESCRIPTIONS: Record<Scope, string> = {
  telemetry: 'Send traces and telemetry events.',
  evaluations: 'Record evaluations.',
  audit: 'Append entries to the audit ledger.',
  governance: 'Request promotion decisions.',
};

/** Selects the scopes of an ingestion key. */
export function ScopeSelect({
  value,
  onChange,
  error,
}: {
  value: string[];
  onChange: (scopes: string[]) => void;
  error: string | undefined;
}) {
  return (
    <Checkbox.Group label="Scopes" value={value} onChange={onChange} error={error} withAsterisk>
      <div className="stack tight" style={{ marginTop: 6 }}>
        {Object.entries(DESCRIPTIONS).map(([scope, description]) => (
          <Checkbox key={scope} value={scope} label={scope} description={description} />
        ))}
      </div>
    </Checkbox.Group>
  );
}
