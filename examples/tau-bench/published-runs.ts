/** One message of a published run, in the form of the chat interface that recorded it. */
export interface PublishedMessage {
  role: 'system' | 'user' | 'assistant' | 'tool';
  content: string | null;
  /** For the result of a tool: the name of the tool, and the ID of the call. */
  name?: string;
  tool_call_id?: string;
  tool_calls?: PublishedToolCall[] | null;
}

/** A tool call of the model. `arguments` is text that should be JSON. */
export interface PublishedToolCall {
  id: string;
  function: { name: string; arguments: string };
}

/** One run of one task in the format of τ-bench. */
export interface PublishedRun {
  task_id: number;
  trial: number;
  /** 1 if the run ended as the task requires, else 0. */
  reward: 0 | 1;
  /** The instruction for the simulated customer, and the expected actions of the agent. */
  info?: { task?: { instruction?: string; actions?: unknown[] } };
  traj: PublishedMessage[];
}

/** The file cannot be read, is not in the format of the published runs, or lacks the result of a tool call. The message says why. */
export class InvalidRunsError extends Error {
  override name = 'InvalidRunsError';
}

const ROLES = ['system', 'user', 'assistant', 'tool'];

/**
 * Parses the text of a published file and checks its structure, so that a wrong file is rejected before anything is sent.
 * @throws InvalidRunsError if the text is not JSON, has another structure, or contains a trial of a task twice.
 */
export function readPublishedRuns(json: string): PublishedRun[] {
  const runs = parse(json);
  if (!Array.isArray(runs) || runs.length === 0)
    throw new InvalidRunsError('the file must contain an array of runs, at least one');
  const earlierRuns = new Set<string>();
  runs.forEach((run: PublishedRun, index) => {
    checkRun(run, `run ${index}`);
    const taskAndTrial = `task ${run.task_id}, trial ${run.trial}`;
    if (earlierRuns.has(taskAndTrial)) throw new InvalidRunsError(`run ${index} is a duplicate of ${taskAndTrial}`);
    earlierRuns.add(taskAndTrial);
  });
  return runs;
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    throw new InvalidRunsError(`the file is not JSON: ${(error as Error).message}`);
  }
}

function checkRun(run: Partial<PublishedRun> | null, where: string): void {
  const must = (holds: boolean, what: string): void => {
    if (!holds) throw new InvalidRunsError(`${where}: ${what}`);
  };
  must(typeof run === 'object' && run !== null, 'must be an object');
  const { task_id, trial, reward, traj } = run!;
  must(Number.isInteger(task_id) && Number.isInteger(trial), 'task_id and trial must be whole numbers');
  must(reward === 0 || reward === 1, 'reward must be 0 or 1');
  must(Array.isArray(traj), 'traj must be an array of messages');
  traj!.forEach((message, index) => {
    must(ROLES.includes(message?.role), `message ${index} must have one of the roles ${ROLES.join(', ')}`);
    must(typeof (message.content ?? '') === 'string', `the content of message ${index} must be a string or null`);
    const calls = message.tool_calls ?? [];
    must(
      Array.isArray(calls) && calls.every((call) => typeof call?.function?.name === 'string'),
      `message ${index} must name the function of every tool call`,
    );
  });
}
