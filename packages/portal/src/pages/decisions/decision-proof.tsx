import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { call, type ResponseBody } from '../../api/call.ts';
import { useHasRole, useWorkspace } from '../../api/session.ts';
import { BlockSkeleton } from '../../components/block-skeleton.tsx';
import { Notice } from '../../components/notice.tsx';
import { Panel } from '../../components/panel.tsx';
import { ProblemNotice } from '../../components/problem-notice.tsx';
import { ConfirmDialog } from '../../forms/confirm-dialog.tsx';
import { checkDecision, decisionKeyBytes, type Finding } from '../../proof/check-decision.ts';
import { compareColumns } from '../../proof/compare-columns.ts';
import { fetchPublicKeys } from '../../proof/public-keys.ts';
import { CheckCopy } from './check-copy.tsx';
import styles from './decision-page.module.css';
import { FindingItem } from './finding-item.tsx';

type Decision = ResponseBody<'decisions.read'>;

/** Verifies the decision in the browser: columns, hash, attestation, evidence, and the HMAC after an admin loads the decision key. */
export function DecisionProof({ decision }: { decision: Decision }) {
  // The server signs the attestation when a page requests it, possibly with a new key. So each page fetches the keys again.
  const keys = useQuery({
    queryKey: ['public-keys', decision.id],
    queryFn: ({ signal }) => fetchPublicKeys(signal),
    gcTime: 0,
  });
  const [decisionKey, setDecisionKey] = useState<Uint8Array>();
  if (keys.data === undefined) {
    return (
      <Panel title="Proof">
        {keys.isError ? (
          <ProblemNotice problem={keys.error} retry={() => void keys.refetch()} />
        ) : (
          <BlockSkeleton heightPx={180} />
        )}
      </Panel>
    );
  }
  const findings = checkDecision(decision.document, {
    envelope: decision.attestation,
    keys: keys.data,
    evidence: decision.evidence,
    decisionKey,
  });
  const columnErrors = compareColumns({ ...decision.decision }, columnsOf(decision));
  const isValid =
    Object.values(findings).every(({ passed }: Finding) => passed) && decision.altered === null && columnErrors.length === 0;
  return (
    <div className="stack">
      <Panel
        title="Proof"
        note="Verified in this browser with the public keys of this server. The command line uses the same code."
      >
        <div className="stack">
          <Notice
            kind={isValid ? 'good' : 'problem'}
            title={isValid ? 'Verified: the decision is unaltered' : 'Not verified: do not rely on this decision'}
            role="status"
          >
            {decision.altered !== null && <p>The server reports: {decision.altered}</p>}
            {columnErrors.map((error) => (
              <p key={error}>{error}</p>
            ))}
          </Notice>
          <ul className={styles.findings}>
            <FindingItem title="Content hash" finding={findings.hash} />
            <FindingItem title="Attestation (Ed25519, DSSE, in-toto)" finding={findings.attestation} />
            {findings.evidence !== undefined && <FindingItem title="Evidence" finding={findings.evidence} />}
            <FindingItem
              title="Signature (HMAC-SHA256)"
              finding={findings.hmac}
              fallback={<LoadKey keyId={decision.decision.key_id} onKey={setDecisionKey} />}
            />
          </ul>
        </div>
      </Panel>
      <CheckCopy keys={keys.data} decisionKey={decisionKey} attestation={decision.attestation} evidence={decision.evidence} />
    </div>
  );
}

/** The columns that the page shows, with the names that their values have in the signed document. */
function columnsOf({ decision, id, decided_at, asked_by, agent, evaluation_id, allowed, reason, event }: Decision) {
  const columns = { decision_id: id, timestamp: decided_at, agent_id: agent?.id ?? null, evaluation_id, allowed, reason, event };
  // Older versions did not sign who requested the decision.
  return decision.asked_by === undefined ? columns : { ...columns, asked_by };
}

function LoadKey({ keyId, onKey }: { keyId: string; onKey: (key: Uint8Array) => void }) {
  const { workspace } = useWorkspace();
  const isAdmin = useHasRole('admin');
  const [isDialogOpen, setIsDialogOpen] = useState(false);
  if (!isAdmin) return <p>This check requires the decision key. Only an admin can load the key.</p>;
  // Does not return the key: React Query would keep the result of the dialog's mutation for minutes after the person leaves the page.
  const loadKey = async () => {
    const { decision_key } = await call('decision_keys.show', { params: { workspace: workspace.id, key: keyId } });
    const key = decisionKeyBytes(decision_key);
    if (key !== undefined) onKey(key);
  };
  return (
    <>
      <p>This check requires decision key {keyId}. The key stays in this browser and is discarded after you leave the page.</p>
      <Button variant="default" size="compact-sm" mt={6} onClick={() => setIsDialogOpen(true)}>
        Load key and verify
      </Button>
      <ConfirmDialog
        opened={isDialogOpen}
        onClose={() => setIsDialogOpen(false)}
        title="Load the decision key?"
        submit="Load key"
        action={loadKey}
      >
        <p className="soft">This key can verify decisions and can also forge them. Loading it is recorded in the audit ledger.</p>
      </ConfirmDialog>
    </>
  );
}
