import type { Convention } from './convention.ts';

const SPEC = 'https://langfuse.com/integrations/native/opentelemetry#property-mapping';

/** The additional attributes of Langfuse's instrumentation. */
export const langfuse: Convention = {
  kindOf: () => undefined,
  rules: [
    { field: 'cost_usd', from: ['gen_ai.usage.cost', 'langfuse.observation.cost_details.total'], source: SPEC },
    { field: 'session_id', from: ['langfuse.session.id'], source: SPEC },
    { field: 'external_user_id', from: ['langfuse.user.id'], source: SPEC },
  ],
};
