import { Checkbox, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call, type ResponseBody } from '../../api/call.ts';
import { BlockSkeleton } from '../../components/block-skeleton.tsx';
import { LoadedContent } from '../../components/loaded-content.tsx';
import { Panel } from '../../components/panel.tsx';
import { PropertyList } from '../../components/property-list.tsx';
import { formatExactTime } from '../../components/time-format.ts';
import { fieldError } from '../../forms/field-errors.ts';
import { Form } from '../../forms/form.tsx';
import { toast } from '../../toasts/toasts.tsx';

type Facts = ResponseBody<'retention.read'>;

const NOTE =
  'A period applies only to runs that are received after it was set. A run is kept longer if it is named in an ' +
  'evaluation, in an audit entry with the action incident.created, or in an audit entry whose retention date has not passed. ' +
  'The audit ledger, decisions and evaluations are never deleted.';

/** Panels that show how long runs are kept. Admins can change the periods. */
export function RetentionPanel({ workspace, isAdmin }: { workspace: string; isAdmin: boolean }) {
  const retention = useQuery({
    queryKey: ['retention', workspace],
    queryFn: ({ signal }) => call('retention.read', { params: { workspace }, signal }),
  });
  const facts = retention.data;
  return (
    <>
      <Panel title="Retention" note={NOTE}>
        <LoadedContent query={retention} skeleton={<BlockSkeleton heightPx={80} />} what="This panel">
          {(current) => <PropertyList wide facts={factsOf(current)} />}
        </LoadedContent>
      </Panel>
      {isAdmin && facts !== undefined && (
        <Panel title="Change retention" note="A change is recorded in the audit ledger as retention.changed.">
          <RetentionForm workspace={workspace} facts={facts} />
        </Panel>
      )}
    </>
  );
}

function factsOf({ trace_days, telemetry_days, periods }: Facts): [string, string][] {
  const since = periods.at(-1)?.since;
  return [
    ['Traces', formatPeriod(trace_days)],
    ['Telemetry', formatPeriod(telemetry_days)],
    ...(since === undefined ? [] : [['For runs received since', formatExactTime(since)] as [string, string]]),
  ];
}

const formatPeriod = (days: number | null): string => {
  if (days === null) return 'Kept forever';
  return days === 1 ? 'Kept for 1 day' : `Kept for ${days} days`;
};

function RetentionForm({ workspace, facts }: { workspace: string; facts: Facts }) {
  const queries = useQueryClient();
  // A field without input shows the current period, which another admin may change meanwhile.
  const [input, setInput] = useState<{ traces?: string; telemetry?: string }>({});
  const { traces = facts.trace_days?.toString() ?? '', telemetry = facts.telemetry_days?.toString() ?? '' } = input;
  const [isConfirmed, setConfirmed] = useState(false);
  const needsConfirmation =
    isNewAndShort(traces, facts.trace_days, facts) || isNewAndShort(telemetry, facts.telemetry_days, facts);
  const mutation = useMutation({
    mutationFn: () =>
      call('retention.set', {
        params: { workspace },
        // Unchanged fields are omitted, because another admin may have changed these periods since the page was loaded.
        body: {
          ...(daysOf(traces) === facts.trace_days ? {} : { trace_days: daysOf(traces) }),
          ...(daysOf(telemetry) === facts.telemetry_days ? {} : { telemetry_days: daysOf(telemetry) }),
          confirm_short: isConfirmed,
        },
      }),
    meta: { errorShownInForm: true },
    onSuccess: async () => {
      toast.done('Retention set.');
      await queries.invalidateQueries();
      setInput({});
      setConfirmed(false);
    },
  });
  return (
    <Form
      onSubmit={() => mutation.mutate()}
      error={mutation.error}
      fields={['trace_days', 'telemetry_days']}
      pending={mutation.isPending}
      submit="Set retention"
    >
      <TextInput
        label="Keep traces for (days)"
        description="Also applies to OpenTelemetry exports and log records. Leave empty to keep them forever."
        inputMode="numeric"
        placeholder="forever"
        value={traces}
        onChange={({ currentTarget }) => setInput({ ...input, traces: currentTarget.value })}
        error={fieldError(mutation.error, 'trace_days')}
      />
      <TextInput
        label="Keep telemetry events for (days)"
        description="Leave empty to keep them forever."
        inputMode="numeric"
        placeholder="forever"
        value={telemetry}
        onChange={({ currentTarget }) => setInput({ ...input, telemetry: currentTarget.value })}
        error={fieldError(mutation.error, 'telemetry_days')}
      />
      {needsConfirmation && (
        <Checkbox
          label={`Keeping runs for less than ${facts.confirm_below} days is permitted for the agents of this workspace`}
          description="The EU AI Act (articles 19 and 26(6)) requires the logs of high-risk systems to be kept for at least six months."
          checked={isConfirmed}
          onChange={({ currentTarget }) => setConfirmed(currentTarget.checked)}
        />
      )}
    </Form>
  );
}

/** The number in a field; null for an empty field. Text that is not a number is returned unchanged, so that the server rejects it. */
function daysOf(text: string): number | null {
  if (text.trim() === '') return null;
  const days = Number(text);
  return Number.isFinite(days) ? days : (text as unknown as number);
}

const isNewAndShort = (text: string, before: number | null, { confirm_below }: Facts): boolean => {
  const days = daysOf(text);
  return days !== null && days !== before && days < confirm_below;
};
