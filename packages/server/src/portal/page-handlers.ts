import { agentHandlers } from './agent-handlers.ts';
import { approvalHandlers } from './approval-handlers.ts';
import { decisionHandlers } from './decision-handlers.ts';
import { evaluationHandlers } from './evaluation-handlers.ts';
import { incidentHandlers } from './incident-handlers.ts';
import { keyHandlers } from './key-handlers.ts';
import { ledgerHandlers } from './ledger-handlers.ts';
import { runHandlers } from './run-handlers.ts';
import { signingHandlers } from './signing-handlers.ts';
import { workspaceHandlers } from './workspace-handlers.ts';

/** The handlers of a workspace's pages. */
export const PAGE_HANDLERS = {
  ...workspaceHandlers,
  ...agentHandlers,
  ...runHandlers,
  ...evaluationHandlers,
  ...approvalHandlers,
  ...decisionHandlers,
  ...ledgerHandlers,
  ...incidentHandlers,
  ...keyHandlers,
  ...signingHandlers,
};
