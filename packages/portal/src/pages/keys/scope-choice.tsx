import type { Scope } from '@countersign/core/contract/scopes';
import { Checkbox } from '@mantine/core';

const MEANINGS: Record<Scope, string> = {
  telemetry: 'Send traces and telemetry events.',
  evaluations: 'Record how agents were evaluated.',
  audit: 'Append to the audit ledger.',
  governance: 'Ask whether an agent may be promoted.',
};

/** The scopes of an ingestion key, each with what it allows. */
export function ScopeChoice({
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
        {Object.entries(MEANINGS).map(([scope, meaning]) => (
          <Checkbox key={scope} value={scope} label={scope} description={meaning} />
        ))}
      </div>
    </Checkbox.Group>
  );
}
