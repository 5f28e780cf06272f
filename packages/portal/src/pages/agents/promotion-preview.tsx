import { NumberInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { call, type ResponseBody } from '../../api/call.ts';
import { toProblem } from '../../api/problem.ts';
import { useWorkspace } from '../../api/session.ts';
import { BlockSkeleton } from '../../components/block-skeleton.tsx';
import { ConditionList, replaceEvaluationId } from '../../components/condition-list.tsx';
import { Notice } from '../../components/notice.tsx';
import { Panel } from '../../components/panel.tsx';
import { ProblemNotice } from '../../components/problem-notice.tsx';
import { fieldError, formError } from '../../forms/field-errors.ts';
import styles from './agent-page.module.css';

const TYPING_PAUSE_MS = 350;

/**
 * A panel that runs promotion checks with criteria from its fields. Nothing is recorded. After a change of the criteria, the panel shows no
 * verdict until the new verdict arrives.
 */
export function PromotionPreview({ agent }: { agent: ResponseBody<'agents.read'> }) {
  const { workspace } = useWorkspace();
  const [criteria, setCriteria] = useState<{ min_pass_rate: number | string; max_age_hours: number | string }>({
    min_pass_rate: 80,
    max_age_hours: 72,
  });
  const [debouncedCriteria] = useDebouncedValue(criteria, TYPING_PAUSE_MS);
  const query = Object.fromEntries(
    Object.entries(debouncedCriteria).flatMap(([name, value]) => (value === '' ? [] : [[name, String(value)]])),
  );
  const preview = useQuery({
    queryKey: ['preview', workspace.id, agent.id, query],
    queryFn: ({ signal }) =>
      call('agents.promotion_preview', { params: { workspace: workspace.id, agent: agent.id }, query, signal }),
  });
  const isInvalid = preview.isError && toProblem(preview.error).kind === 'invalid';
  return (
    <Panel title="Promotion preview" note="Runs a promotion check with these criteria. Nothing is recorded.">
      <div className={styles.criteria}>
        <NumberInput
          label="Required pass rate (%)"
          value={criteria.min_pass_rate}
          onChange={(value) => setCriteria({ ...criteria, min_pass_rate: value })}
          error={fieldError(preview.error, 'min_pass_rate')}
          placeholder="Default: 80"
          decimalScale={6}
          size="xs"
        />
        <NumberInput
          label="Maximum evaluation age (hours)"
          value={criteria.max_age_hours}
          onChange={(value) => setCriteria({ ...criteria, max_age_hours: value })}
          error={fieldError(preview.error, 'max_age_hours')}
          placeholder="Default: 72"
          allowDecimal={false}
          size="xs"
        />
      </div>
      {isInvalid ? (
        <Notice kind="problem" role="alert">
          <p>{formError(preview.error, Object.keys(criteria)) ?? 'Correct the criteria above to see the result.'}</p>
        </Notice>
      ) : preview.isError ? (
        <ProblemNotice problem={preview.error} retry={() => void preview.refetch()} />
      ) : (
        <div className="stack" aria-live="polite">
          {preview.data === undefined || criteria !== debouncedCriteria ? (
            <BlockSkeleton heightPx={360} />
          ) : (
            <Verdict preview={preview.data} agent={agent.id} />
          )}
        </div>
      )}
    </Panel>
  );
}

function Verdict({ preview, agent }: { preview: ResponseBody<'agents.promotion_preview'>; agent: string }) {
  return (
    <>
      <Notice
        kind={preview.promotable ? 'good' : 'problem'}
        title={preview.promotable ? 'Promotion would be allowed' : 'Promotion would be blocked'}
      >
        <p>{replaceEvaluationId(preview.message, preview.evaluation)}</p>
      </Notice>
      <ConditionList checks={preview.checks} agent={agent} evaluation={preview.evaluation} />
    </>
  );
}
