import { Link } from '@tanstack/react-router';
import type { ResponseBody } from '../../api/call.ts';
import { useWorkspace } from '../../api/session.ts';
import { Identifier } from '../../components/identifier.tsx';
import { PropertyList } from '../../components/property-list.tsx';
import { ExactTime } from '../../components/relative-time.tsx';

type Details = ResponseBody<'evaluations.read'>['details'];

/** The details that the sender of an evaluation reported. Missing details are left out. */
export function ReportedDetails({ details }: { details: Details }) {
  const { workspace } = useWorkspace();
  const { evaluated_at: at, suite, artifact, results_sha256: results, run_url: url, trace_ids: runs } = details;
  return (
    <>
      <PropertyList
        facts={[
          ['Evaluated', at === null ? undefined : <ExactTime key="at" at={at} />],
          ['Cases', formatCases(details)],
          ['Completeness', details.completeness ?? undefined],
          ['Suite', suite === null ? undefined : [suite.name, suite.version].filter((part) => part != null).join(' ')],
          ['Highest severity', details.max_severity ?? undefined],
          [
            'Artifact',
            artifact === null ? undefined : (
              <Identifier key="artifact" value={artifact} what="the artifact's digest" shownCharacters={18} />
            ),
          ],
          [
            'Results file',
            results === null ? undefined : (
              <Identifier key="results" value={results} what="the SHA-256 of the results file" shownCharacters={8} />
            ),
          ],
        ]}
      />
      {details.blocking_failures.length > 0 && (
        <PropertyList wide facts={[['Blocking failures', details.blocking_failures.join(', ')]]} />
      )}
      {url !== null && (
        <PropertyList
          wide
          facts={[
            [
              'Page of the evaluation run',
              <a key="url" href={url} target="_blank" rel="noopener noreferrer">
                {url}
              </a>,
            ],
          ]}
        />
      )}
      {runs.length > 0 && (
        <PropertyList
          wide
          facts={[
            [
              'Evaluated runs',
              <span key="runs" className="row">
                {runs.map((run) => (
                  <Link key={run} to="/w/$workspace/runs" params={{ workspace: workspace.id }} search={{ text: run }}>
                    {run}
                  </Link>
                ))}
              </span>,
            ],
          ]}
        />
      )}
    </>
  );
}

/** The counts of cases, for example `37 of 42 passed, 2 failed, 1 errored, 2 skipped (not counted)`; undefined if none were sent. */
function formatCases({ cases, skipped_excluded: excluded }: Details): string | undefined {
  if (cases === null) return undefined;
  const first = cases.passed == null ? `${cases.total}` : `${cases.passed} of ${cases.total} passed`;
  const others = (['failed', 'errored', 'skipped'] as const).flatMap((outcome) =>
    cases[outcome] ? [`${cases[outcome]} ${outcome}`] : [],
  );
  const text = [first, ...others].join(', ');
  return excluded && cases.skipped ? `${text} (not counted)` : text;
}
