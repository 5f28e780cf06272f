import { alternate, type Pace, type Row } from '../rounds.ts';
import type { World } from '../world.ts';
import { loadRequestsOf, requests, works } from './requests.ts';

/** Compares exports of 10 GenAI spans in protobuf with the same run sent to POST /api/public/traces. */
export const otlp = async (world: World, pace: Pace): Promise<Row[]> => [
  await alternate(
    {
      work: 'OpenTelemetry exports',
      limit: 'the same runs as native traces',
      unit: 'traces/s',
      goal: { atLeast: 0.5, moonshot: 0.8 },
    },
    pace,
    requests(world, loadRequestsOf(world).otlp),
    works(world).traces,
  ),
];
