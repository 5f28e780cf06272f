import type { BenchEnvironment } from '../environment.ts';
import { alternate, type RoundOptions, type Row } from '../rounds.ts';
import { loadRequestsOf, measuresOf, requestRate } from './requests.ts';

/** Compares exports of 10 GenAI spans in protobuf with the same run sent to POST /api/public/traces. */
export const otlp = async (environment: BenchEnvironment, options: RoundOptions): Promise<Row[]> => [
  await alternate(
    {
      work: 'OpenTelemetry exports',
      limit: 'the same runs as native traces',
      unit: 'traces/s',
      target: { required: 0.5, stretch: 0.8 },
    },
    options,
    requestRate(environment, loadRequestsOf(environment).otlp),
    measuresOf(environment).traces,
  ),
];
