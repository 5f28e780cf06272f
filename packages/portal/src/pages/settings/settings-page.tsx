import { TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call, type ResponseBody } from '../../api/call.ts';
import { useHasRole, useWorkspace } from '../../api/session.ts';
import { BlockSkeleton } from '../../components/block-skeleton.tsx';
import { Identifier } from '../../components/identifier.tsx';
import { LoadedContent } from '../../components/loaded-content.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { Panel } from '../../components/panel.tsx';
import { PropertyList } from '../../components/property-list.tsx';
import { formatExactTime } from '../../components/time-format.ts';
import { fieldError } from '../../forms/field-errors.ts';
import { Form } from '../../forms/form.tsx';
import { toast } from '../../toasts/toasts.tsx';
import { RetentionPanel } from './retention-panel.tsx';
import styles from './settings-page.module.css';

/** The page with the name, ID and retention of the workspace. Admins can change the name and the retention. */
export function SettingsPage() {
  const { workspace } = useWorkspace();
  const isAdmin = useHasRole('admin');
  const settings = useQuery({
    queryKey: ['settings', workspace.id],
    queryFn: ({ signal }) => call('workspace.read', { params: { workspace: workspace.id }, signal }),
  });
  return (
    <>
      <PageHeader title="Workspace" lead="The name and ID of this workspace, and how long its runs are kept." />
      <LoadedContent query={settings} skeleton={<BlockSkeleton heightPx={180} />}>
        {(facts) => (
          <div className={styles.column}>
            <Panel title="Identity">
              <PropertyList
                wide
                facts={[
                  ['Name', facts.name],
                  ['ID', <Identifier key="id" value={facts.id} what="the workspace ID" />],
                  ['Created', formatExactTime(facts.created_at)],
                ]}
              />
            </Panel>
            {isAdmin && (
              <Panel title="Rename" note="A new name is recorded in the audit ledger as workspace.renamed.">
                <RenameForm facts={facts} />
              </Panel>
            )}
            <RetentionPanel workspace={facts.id} isAdmin={isAdmin} />
          </div>
        )}
      </LoadedContent>
    </>
  );
}

function RenameForm({ facts }: { facts: ResponseBody<'workspace.read'> }) {
  const queries = useQueryClient();
  const [name, setName] = useState(facts.name);
  const mutation = useMutation({
    mutationFn: () => call('workspace.rename', { params: { workspace: facts.id }, body: { name: name.trim() } }),
    meta: { errorShownInForm: true },
    onSuccess: async () => {
      toast.done('Workspace renamed.');
      await queries.invalidateQueries();
    },
  });
  return (
    <Form
      onSubmit={() => mutation.mutate()}
      error={mutation.error}
      fields={['name']}
      pending={mutation.isPending}
      submit="Rename"
    >
      <TextInput
        label="Name"
        value={name}
        onChange={({ currentTarget }) => setName(currentTarget.value)}
        error={fieldError(mutation.error, 'name')}
      />
    </Form>
  );
}
