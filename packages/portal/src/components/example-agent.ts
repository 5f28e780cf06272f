/** The agent that the example calls of these pages report. The lists mark it, so that nobody takes it for a real one. */
export const EXAMPLE_AGENT = 'example-agent';
