/** The name of the agent in the portal's example requests. Lists mark this agent as an example. */
export const EXAMPLE_AGENT = 'example-agent';
