import { Button, Tabs } from '@mantine/core';
import { useState } from 'react';
import { call } from '../../api/call.ts';
import { useHasRole, useWorkspace } from '../../api/session.ts';
import { PageHeader } from '../../components/page-header.tsx';
import { Panel } from '../../components/panel.tsx';
import { FilterAgent } from '../../lists/agent-select.tsx';
import { CursorList } from '../../lists/cursor-list.tsx';
import { EmptyState } from '../../lists/empty-state.tsx';
import { FilterBar, FilterSelect } from '../../lists/filter-bar.tsx';
import { useFilters } from '../../lists/use-filters.ts';
import { incidentColumns } from './incident-columns.tsx';
import { OpenIncident } from './open-incident.tsx';
import { RecordViolation } from './record-violation.tsx';
import { Violations } from './violations.tsx';

/** The page with a tab for incidents and a tab for policy violations. */
export function IncidentsPage() {
  const isAdmin = useHasRole('admin');
  const [isOpening, setIsOpening] = useState(false);
  const [isRecording, setIsRecording] = useState(false);
  const tab = useFilters(['tab']);
  const activeTab = tab.values.tab === 'violations' ? 'violations' : 'incidents';
  return (
    <>
      <PageHeader
        title="Incidents"
        lead="Problems with agents. An incident can require that the agent is re-certified before it can be promoted again."
        actions={
          isAdmin && (
            <>
              <Button variant="default" onClick={() => setIsRecording(true)}>
                Record policy violation
              </Button>
              <Button onClick={() => setIsOpening(true)}>Open incident</Button>
            </>
          )
        }
      />
      <Tabs value={activeTab} onChange={(next) => tab.set({ tab: next === 'violations' ? next : undefined })} keepMounted={false}>
        <Tabs.List mb="md">
          <Tabs.Tab value="incidents">Incidents</Tabs.Tab>
          <Tabs.Tab value="violations">Policy violations</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="incidents">
          <IncidentList />
        </Tabs.Panel>
        <Tabs.Panel value="violations">
          <Violations />
        </Tabs.Panel>
      </Tabs>
      <OpenIncident opened={isOpening} onClose={() => setIsOpening(false)} />
      <RecordViolation opened={isRecording} onClose={() => setIsRecording(false)} />
    </>
  );
}

function IncidentList() {
  const { workspace } = useWorkspace();
  const filters = useFilters(['agent_id', 'severity', 'recertification']);
  return (
    <>
      <FilterBar filters={filters}>
        <FilterAgent filters={filters} name="agent_id" />
        <FilterSelect
          filters={filters}
          name="severity"
          label="Severity"
          all="Any severity"
          options={['low', 'medium', 'high', 'critical']}
        />
        <FilterSelect
          filters={filters}
          name="recertification"
          label="Re-certification"
          all="Any re-certification"
          options={[{ value: 'open', label: 'Re-certification open' }]}
        />
      </FilterBar>
      <Panel flush>
        <CursorList
          label="Incidents"
          queryKey={['incidents', workspace.id]}
          load={(cursor, signal) =>
            call('incidents.list', {
              params: { workspace: workspace.id },
              query: { ...(filters.values as object), cursor },
              signal,
            })
          }
          filters={filters}
          columns={incidentColumns(workspace.id)}
          keyOf={({ id }) => id}
          empty={
            <EmptyState title="No incidents">
              <p>
                When an agent causes harm, an admin opens an incident here. If the incident requires re-certification, the agent
                is blocked until it passes a new evaluation and a person closes the re-certification.
              </p>
            </EmptyState>
          }
        />
      </Panel>
    </>
  );
}
