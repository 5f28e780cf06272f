import type { Attack } from './attack.ts';
import { costlyBodies } from './costly-bodies.ts';
import { crowdingBodies } from './crowding-bodies.ts';
import { fuzzedRequests } from './fuzzed-requests.ts';
import { killedProcesses } from './killed-processes.ts';
import { longTrace } from './long-trace.ts';
import { loopingViewers } from './looping-viewers.ts';
import { manyConnections, pipelinedFlood } from './pipelined-floods.ts';
import { halfOpenSockets, headerFlood, slowSenders } from './slow-senders.ts';
import { unreadDocuments } from './unread-documents.ts';

/** Every attack by its name. By default, they run in this order. */
export const ATTACKS = {
  'pipelined-flood': pipelinedFlood,
  'many-connections': manyConnections,
  'unread-documents': unreadDocuments,
  'crowding-bodies': crowdingBodies,
  'costly-bodies': costlyBodies,
  'long-trace': longTrace,
  'looping-viewers': loopingViewers,
  'slow-senders': slowSenders,
  'half-open-sockets': halfOpenSockets,
  'header-flood': headerFlood,
  'killed-processes': killedProcesses,
  'fuzzed-requests': fuzzedRequests,
} as const satisfies Record<string, Attack>;
export type AttackName = keyof typeof ATTACKS;
