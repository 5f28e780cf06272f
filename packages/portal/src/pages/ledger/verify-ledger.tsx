import { Button, Progress } from '@mantine/core';
import { IconShieldCheck } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { useWorkspace } from '../../api/session.ts';
import { Identifier } from '../../components/identifier.tsx';
import { Notice } from '../../components/notice.tsx';
import { formatCount, formatDuration } from '../../components/number-format.ts';
import { Panel } from '../../components/panel.tsx';
import { ProblemNotice } from '../../components/problem-notice.tsx';
import type { VerificationResult } from '../../proof/verification-messages.ts';
import { useLedgerVerification } from './use-ledger-verification.ts';
import styles from './verify-ledger.module.css';

/** Verifies the whole ledger in this browser: every hash, every link, the number of rows, and the tree against the signed checkpoint. */
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
      note="Every entry is hashed again in this browser, and the whole held against the signed checkpoint."
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
        {state.kind === 'idle' && <p className="soft">Not verified in this visit.</p>}
        {state.kind === 'cancelled' && (
          <p className="soft">Cancelled after {formatCount(state.checked)} entries; nothing was found up to there.</p>
        )}
        {state.kind === 'refused' && <ProblemNotice problem={state.problem} retry={start} />}
        {state.kind === 'running' && (
          <div className={styles.running}>
            <Progress value={state.entries === 0 ? 0 : (state.checked / state.entries) * 100} aria-label="Entries checked" />
            <p className="num">
              {formatCount(state.checked)} of {formatCount(state.entries)} entries
            </p>
          </div>
        )}
        {state.kind === 'ended' && <Verdict verdict={state.verdict} />}
      </div>
    </Panel>
  );
}

function Verdict({ verdict }: { verdict: VerificationResult }) {
  const { workspace } = useWorkspace();
  if (verdict.kind === 'whole') {
    return (
      <Notice
        kind="good"
        title={`The ledger is whole: ${formatCount(verdict.checked)} ${verdict.checked === 1 ? 'entry' : 'entries'}, checked in ${formatDuration(verdict.elapsedMs)}`}
      >
        <div className="row">
          <span>Ends at</span> <Identifier value={verdict.head} what="the hash of the last entry" short={24} />
        </div>
        <p>The checkpoint over its tree is signed by {verdict.checkpoint}.</p>
      </Notice>
    );
  }
  if (verdict.kind === 'failed') {
    return (
      <Notice kind="warning" title="The verification could not be finished">
        <p>{verdict.reason}. This says nothing about the ledger; try again.</p>
      </Notice>
    );
  }
  return (
    <Notice kind="problem" title={`Entry ${verdict.seq} is wrong`} role="alert">
      <p>{verdict.reason}</p>
      <p>
        {formatCount(verdict.checked)} {verdict.checked === 1 ? 'entry' : 'entries'} before it{' '}
        {verdict.checked === 1 ? 'is' : 'are'} sound. What comes after rests on it.
      </p>
      <Link to="/w/$workspace/ledger/$seq" params={{ workspace: workspace.id, seq: String(verdict.seq) }}>
        Look at entry {verdict.seq}
      </Link>
    </Notice>
  );
}
