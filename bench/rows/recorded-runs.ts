import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { operations } from '@countersign/core/contract/operations';
import { toTrace } from '../../examples/tau-bench/convert.ts';
import { readPublishedRuns } from '../../examples/tau-bench/published-runs.ts';
import { ID_PLACEHOLDER, type LoadRequest, postRequest } from '../load.ts';

const SAMPLE = fileURLToPath(new URL('../../examples/tau-bench/sample-runs.json', import.meta.url));

/**
 * The requests that store recorded agent runs as traces, each with a new trace ID.
 * @param file recorded runs in the format of examples/tau-bench. Undefined: the sample file there.
 */
export const recordedRunRequests = (key: string, file = SAMPLE): LoadRequest[] =>
  readPublishedRuns(readFileSync(file, 'utf8')).map((run) =>
    postRequest(
      operations.ingestTrace.path,
      key,
      JSON.stringify({ ...toTrace(run, 'gpt-4o'), trace_id: `run-${ID_PLACEHOLDER}` }),
    ),
  );
