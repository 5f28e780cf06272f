import { Button, Progress } from '@mantine/core';
import { IconShieldCheck } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { useWorkspace } from '../../api/session.ts';
import { Identifier } from '../../components/identifier.tsx';
import { Notice } from '../../components/notice.tsx';
import { formatCount, formatCountOf, formatDuration } from '../../components/number-format.ts';
import { Panel } from '../../components/panel.tsx';
import { ProblemNotice } from '../../components/problem-notice.tsx';
import type { VerificationResult } from '../../proof/verification-messages.ts';
import { useLedgerVerification } from './use-ledger-verification.ts';
import styles from './verify-ledger.module.css';

/** Verifies the whole ledger in this browser: hashes, links, number of rows, and the tree against the signed checkpoint. */
export function VerifyLedger() {
  const { workspace } = useWorkspace();
  const { state, start, cancel } = useLedgerVerification(workspace.id);
  return (
    <Panel
      title={
        <span className="row">
          <IconShieldCheck size={18} aria-hidden color="var(--accent)" /> Verify the whole ledger
        </span>
      }
      note="Recomputes every hash in this browser and compares the result with the signed checkpoint."
      actions={
        state.kind === 'running' ? (
          <Button variant="default" onClick={cancel}>
            Cancel
          </Button>
        ) : (
          <Button onClick={start}>{state.kind === 'idle' ? 'Verify' : 'Verify again'}</Button>
        )
      }
    >
      <div aria-live="polite">
        {state.kind === 'idle' && <p className="soft">Not verified yet.</p>}
        {state.kind === 'canceled' && (
          <p className="soft">Canceled after {formatCountOf(state.checkedCount, 'entry', 'entries')}. No errors found so far.</p>
        )}
        {state.kind === 'error' && <ProblemNotice problem={state.problem} retry={start} />}
        {state.kind === 'running' && (
          <div className={styles.running}>
            <Progress
              value={state.entryCount === 0 ? 0 : (state.checkedCount / state.entryCount) * 100}
              aria-label="Entries checked"
            />
            <p className="num">
              {/* Entries that are added during the verification are verified too, so `checkedCount` can exceed `entryCount`. */}
              {formatCount(state.checkedCount)} of{' '}
              {formatCountOf(Math.max(state.entryCount, state.checkedCount), 'entry', 'entries')}
            </p>
          </div>
        )}
        {state.kind === 'finished' && <Verdict verdict={state.verdict} />}
      </div>
    </Panel>
  );
}

function Verdict({ verdict }: { verdict: VerificationResult }) {
  const { workspace } = useWorkspace();
  if (verdict.kind === 'valid') {
    const entries = formatCountOf(verdict.checkedCount, 'entry', 'entries');
    return (
      <Notice kind="good" title={`Ledger verified: ${entries} in ${formatDuration(verdict.elapsedMs)}`}>
        <div className="row">
          <span>Last hash</span> <Identifier value={verdict.head} what="the hash of the last entry" shownCharacters={24} />
        </div>
        <p>The checkpoint is signed by {verdict.signer}.</p>
      </Notice>
    );
  }
  if (verdict.kind === 'failed') {
    return (
      <Notice kind="warning" title="The verification did not finish">
        <p>The ledger is not verified: {verdict.reason}. Try again.</p>
      </Notice>
    );
  }
  if (verdict.seq === null) {
    return (
      <Notice kind="problem" title="The ledger is not valid" role="alert">
        <p>Reason: {verdict.reason}.</p>
        <p>
          {formatCountOf(verdict.checkedCount, 'entry forms', 'entries form')} a valid chain. Ask the operator of this server to
          investigate.
        </p>
      </Notice>
    );
  }
  return (
    <Notice kind="problem" title={`Entry ${verdict.seq} is not valid`} role="alert">
      <p>Reason: {verdict.reason}.</p>
      <p>
        {formatCountOf(verdict.checkedCount, 'entry before it is', 'entries before it are')} valid. Later entries were not
        checked. Ask the operator of this server to investigate.
      </p>
      <Link to="/w/$workspace/ledger/$seq" params={{ workspace: workspace.id, seq: String(verdict.seq) }}>
        View entry {verdict.seq}
      </Link>
    </Notice>
  );
}
