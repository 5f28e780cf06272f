/** The agent of the example requests in the portal. Lists mark it as an example. */
export const EXAMPLE_AGENT = 'example-agent';
