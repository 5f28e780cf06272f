import type { Evaluation } from '@countersign/core/contract/evaluation';
import type { Message } from '@countersign/core/contract/message';
import type { Span, Trace } from '@countersign/core/contract/trace';
import { InvalidRunsError, type PublishedMessage, type PublishedRun, type PublishedToolCall } from './published-runs.ts';

/** The name of the agent that uses this model. */
export const agentNameOf = (model: string): string => `tau-airline-${model}`;

/** The trace ID of a run. It is the same in every import, so a second import finds the traces of the first one. */
export const traceIdOf = ({ task_id, trial }: PublishedRun, model: string): string =>
  `tau-bench-airline-${model}-task-${task_id}-trial-${trial}`;

/**
 * Converts a published run to a trace. The file has no times, token counts or costs, so the trace has none either. No message is lost: the
 * `messages` of the llm spans in order, followed by `closing_messages`, are all messages of the run (`traj` in the file).
 */
export function toTrace(run: PublishedRun, model: string): Trace {
  const { instruction, actions } = run.info?.task ?? {};
  const { spans, closing } = toSpans(run, model);
  return {
    trace_id: traceIdOf(run, model),
    agent_name: agentNameOf(model),
    outcome: run.reward === 1 ? 'success' : 'failure',
    ...(instruction === undefined ? {} : { detail: instruction }),
    metadata: {
      task_id: run.task_id,
      trial: run.trial,
      reward: run.reward,
      ...(actions === undefined ? {} : { expected_actions: actions }),
      ...(closing.length === 0 ? {} : { closing_messages: closing }),
    },
    spans,
  };
}

/**
 * Converts each assistant message to an llm span, followed by a tool span for each of its calls. `closing` contains the messages after the
 * last assistant message. Throws an InvalidRunsError if a call has no result.
 */
function toSpans(run: PublishedRun, model: string): { spans: Span[]; closing: Message[] } {
  const spans: Span[] = [];
  let newMessages: PublishedMessage[] = [];
  run.traj.forEach((message, position) => {
    newMessages.push(message);
    if (message.role !== 'assistant') return;
    const llm = toLlmSpan(position, newMessages, model);
    const calls = message.tool_calls ?? [];
    const results = resultsOf(calls, run, position, model);
    spans.push(llm, ...calls.map((call, number) => toToolSpan(llm.span_id, number, call, results[number]!)));
    newMessages = [];
  });
  return { spans, closing: newMessages.map(toMessage) };
}

/**
 * The span of one call of the model. It has the messages that are new to the model (from the system, the customer and tools), then the
 * model's own message. If each span had the whole context of its call, every span would repeat the conversation.
 */
const toLlmSpan = (position: number, messages: PublishedMessage[], model: string): Span => ({
  span_id: `message-${position}`,
  kind: 'llm',
  name: 'assistant',
  model,
  messages: messages.map(toMessage),
});

function toToolSpan(parent: string, number: number, call: PublishedToolCall, resultMessage: PublishedMessage): Span {
  const result = resultMessage.content ?? '';
  // A result that begins with `Error` is the only sign that a tool of τ-bench failed. Without a status, the default would be `success`.
  const hasFailed = result.startsWith('Error');
  return {
    // By position, because the model sometimes uses the same ID for two calls of a run.
    span_id: `${parent}-call-${number}`,
    parent_span_id: parent,
    kind: 'tool',
    name: call.function.name,
    ...(hasFailed ? { status: 'failure', error: result } : {}),
    tool_arguments: jsonOrText(call.function.arguments),
    tool_result: resultMessage.content,
    metadata: { tool_call_id: call.id },
  };
}

/** The results of a message's calls: the tool messages directly after it, matched by the ID of the call. */
function resultsOf(calls: readonly PublishedToolCall[], run: PublishedRun, position: number, model: string): PublishedMessage[] {
  const following = run.traj.slice(position + 1);
  const end = following.findIndex(({ role }) => role !== 'tool');
  const results = end === -1 ? following : following.slice(0, end);
  return calls.map(({ id, function: { name } }) => {
    const index = results.findIndex(({ tool_call_id }) => tool_call_id === id);
    if (index === -1)
      throw new InvalidRunsError(
        `${traceIdOf(run, model)}: message ${position} calls ${name}, but no result of this call follows`,
      );
    return results.splice(index, 1)[0]!;
  });
}

function toMessage({ role, content, name, tool_call_id, tool_calls }: PublishedMessage): Message {
  return {
    role,
    content,
    ...(name === undefined ? {} : { name }),
    ...(tool_call_id === undefined ? {} : { tool_call_id }),
    ...(tool_calls ? { tool_calls } : {}),
  };
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** One evaluation for each trial, and at the end one over all trials, because the gate uses the evaluation that was recorded last. */
export function toEvaluations(runs: readonly PublishedRun[], model: string): Evaluation[] {
  const trials = [...new Set(runs.map(({ trial }) => trial))].sort((left, right) => left - right);
  return [
    ...trials.map((trial) =>
      toEvaluation(
        `trial ${trial}`,
        runs.filter((run) => run.trial === trial),
        model,
      ),
    ),
    toEvaluation(`all ${trials.length} trials`, runs, model),
  ];
}

/**
 * The status is `passing`, because every run was completed and graded, and τ-bench requires no pass rate. The gate decides with its own
 * threshold whether the pass rate is sufficient.
 */
function toEvaluation(trials: string, runs: readonly PublishedRun[], model: string): Evaluation {
  const passed = runs.filter(({ reward }) => reward === 1).length;
  return {
    name: `tau-bench airline, ${trials}`,
    agent_name: agentNameOf(model),
    category: 'tau-bench',
    status: 'passing',
    pass_rate: (100 * passed) / runs.length,
    notes: `${passed} of ${runs.length} runs ended as their task requires (reward 1.0).`,
  };
}
