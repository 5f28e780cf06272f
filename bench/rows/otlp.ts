import type { BenchEnvironment } from '../environment.ts';
import { alternate, type Pace, type Row } from '../rounds.ts';
import { loadRequestsOf, requests, works } from './requests.ts';

/** Compares exports of 10 GenAI spans in protobuf with the same run sent to POST /api/public/traces. */
export const otlp = async (environment: BenchEnvironment, pace: Pace): Promise<Row[]> => [
  await alternate(
    {
      work: 'OpenTelemetry exports',
      limit: 'the same runs as native traces',
      unit: 'traces/s',
      target: { required: 0.5, stretch: 0.8 },
    },
    pace,
    requests(environment, loadRequestsOf(environment).otlp),
    works(environment).traces,
  ),
];
