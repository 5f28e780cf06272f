import { Button, Textarea } from '@mantine/core';
import { useState } from 'react';
import { Panel } from '../../components/panel.tsx';
import { checkDecision, type DecisionFindings, type PublicKeys } from '../../proof/check-decision.ts';
import styles from './decision-page.module.css';
import { FindingItem } from './finding-item.tsx';

/** A panel that verifies a pasted copy of this decision, for example from a CI log. */
export function CheckCopy({
  keys,
  decisionKey,
  attestation,
  evidence,
}: {
  keys: PublicKeys;
  decisionKey: Uint8Array | undefined;
  attestation: unknown;
  evidence: string;
}) {
  const [text, setText] = useState('');
  const [findings, setFindings] = useState<DecisionFindings>();
  const check = () => setFindings(checkDecision(text.trim(), { envelope: attestation, keys, evidence, decisionKey }));
  return (
    <Panel
      title="Check a copy"
      note="Paste a copy of this decision, for example from a CI log. The copy is checked against the proof above."
    >
      <div className="stack tight">
        <Textarea
          aria-label="Decision as JSON"
          placeholder='{"allowed":true,…}'
          autosize
          minRows={3}
          maxRows={12}
          value={text}
          onChange={({ currentTarget }) => {
            setText(currentTarget.value);
            setFindings(undefined);
          }}
          classNames={{ input: 'mono' }}
        />
        <div className="row">
          <Button variant="default" size="xs" disabled={text.trim() === ''} onClick={check}>
            Check copy
          </Button>
        </div>
        {findings !== undefined && (
          <ul className={styles.findings} role="status">
            <FindingItem title="Hash of the copy" finding={findings.hash} />
            <FindingItem title="Matches the attestation" finding={findings.attestation} />
            {findings.hmac !== undefined && <FindingItem title="Signature (HMAC-SHA256)" finding={findings.hmac} />}
          </ul>
        )}
      </div>
    </Panel>
  );
}
