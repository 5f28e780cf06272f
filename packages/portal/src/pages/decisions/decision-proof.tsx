import { Button } from '@mantine/core';
import { IconCircleCheckFilled, IconCircleDashed, IconCircleXFilled } from '@tabler/icons-react';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { call, type ResponseBody } from '../../api/call.ts';
import { useHasRole, useWorkspace } from '../../api/session.ts';
import { Notice } from '../../components/notice.tsx';
import { Panel } from '../../components/panel.tsx';
import { ProblemNotice } from '../../components/problem-notice.tsx';
import { ConfirmDialog } from '../../forms/confirm-dialog.tsx';
import { BlockSkeleton } from '../../lists/table-skeleton.tsx';
import { checkDecision, decisionKeyBytes, type Finding } from '../../proof/check-decision.ts';
import { fetchPublicKeys } from '../../proof/public-keys.ts';
import { CheckCopy } from './check-copy.tsx';
import styles from './decision-page.module.css';

/** Checks the decision here, in the browser: its hash, its attestation, and its HMAC once an admin has loaded the decision key. */
export function DecisionProof({ decision }: { decision: ResponseBody<'decisions.read'> }) {
  const keys = useQuery({ queryKey: ['public-keys'], queryFn: ({ signal }) => fetchPublicKeys(signal), staleTime: 300_000 });
  const [decisionKey, setDecisionKey] = useState<Uint8Array>();
  if (keys.data === undefined) {
    return (
      <Panel title="Proof">
        {keys.isError ? <ProblemNotice problem={keys.error} retry={() => void keys.refetch()} /> : <BlockSkeleton height={180} />}
      </Panel>
    );
  }
  const findings = checkDecision(decision.document, {
    envelope: decision.attestation,
    keys: keys.data,
    evidence: decision.evidence,
    decisionKey,
  });
  const sound = Object.values(findings).every(({ good }: Finding) => good) && decision.altered === null;
  return (
    <div className="stack">
      <Panel
        title="Proof"
        note="Checked in this browser, by the same code as the command line; not taken from the server's word."
      >
        <div className="stack">
          <Notice
            kind={sound ? 'good' : 'problem'}
            title={sound ? 'Verified: as it was signed' : 'Not verified: do not rely on this decision'}
            role="status"
          >
            {decision.altered !== null && <p>The server says: {decision.altered}</p>}
          </Notice>
          <ul className={styles.findings}>
            <FindingItem title="Hash of the content" finding={findings.hash} />
            <FindingItem title="Attestation (Ed25519, DSSE, in-toto)" finding={findings.attestation} />
            {findings.evidence !== undefined && <FindingItem title="Evidence" finding={findings.evidence} />}
            <FindingItem
              title="Signature (HMAC-SHA256)"
              finding={findings.hmac}
              open={<LoadKey keyId={decision.decision.key_id} onKey={setDecisionKey} />}
            />
          </ul>
        </div>
      </Panel>
      <CheckCopy keys={keys.data} decisionKey={decisionKey} attestation={decision.attestation} evidence={decision.evidence} />
    </div>
  );
}

/** One thing that was checked; `open` stands where it was not. */
export function FindingItem({ title, finding, open }: { title: string; finding: Finding | undefined; open?: ReactNode }) {
  const state = finding === undefined ? 'open' : finding.good ? 'good' : 'bad';
  const Icon = { open: IconCircleDashed, good: IconCircleCheckFilled, bad: IconCircleXFilled }[state];
  return (
    <li data-state={state}>
      <Icon size={19} aria-hidden />
      <div>
        <h3>
          {title}
          <span className="visually-hidden">: {{ open: 'not checked', good: 'good', bad: 'wrong' }[state]}</span>
        </h3>
        {finding === undefined ? open : <p>{finding.detail}</p>}
      </div>
    </li>
  );
}

function LoadKey({ keyId, onKey }: { keyId: string; onKey: (key: Uint8Array) => void }) {
  const { workspace } = useWorkspace();
  const admin = useHasRole('admin');
  const [asking, setAsking] = useState(false);
  const load = useMutation({
    mutationFn: () => call('decision_keys.show', { params: { workspace: workspace.id, key: keyId } }),
    meta: { errorShownInForm: true },
  });
  if (!admin) return <p>Needs the decision key, which only an admin of the workspace can load.</p>;
  const act = async () => {
    const { decision_key } = await load.mutateAsync();
    const key = decisionKeyBytes(decision_key);
    if (key !== undefined) onKey(key);
  };
  return (
    <>
      <p>Needs the decision key {keyId}. It stays in this page, and is gone when you leave it.</p>
      <Button variant="default" size="compact-sm" mt={6} onClick={() => setAsking(true)}>
        Load the key and check
      </Button>
      <ConfirmDialog
        opened={asking}
        onClose={() => setAsking(false)}
        title="Load the decision key?"
        submit="Load the key"
        act={act}
      >
        <p className="soft">
          Whoever has this key can check decisions, and forge them. That you loaded it is written into the audit ledger.
        </p>
      </ConfirmDialog>
    </>
  );
}
