"""The parts that the programs share: OpenTelemetry, the span of the agent, and a conversation with the model through OpenAI's client."""

from opentelemetry import _logs, trace
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

QUESTION = "How is the weather in Bern?"
TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}


def start():
    """Starts OpenTelemetry. The endpoint comes only from the environment variables of OpenTelemetry."""
    spans = TracerProvider()
    spans.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(spans)
    logs = LoggerProvider()
    logs.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter()))
    _logs.set_logger_provider(logs)


def run_agent(name, work):
    """Runs an agent in its own span, named as the GenAI conventions require. Then sends all spans and log records."""
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": name,
        "gen_ai.conversation.id": "session-1",
    }
    tracer = trace.get_tracer("agent")
    with tracer.start_as_current_span(f"invoke_agent {name}", attributes=attributes) as span:
        try:
            work()
        except Exception as error:  # The last call fails, as it should.
            span.set_status(trace.StatusCode.ERROR, str(error))
    trace.get_tracer_provider().shutdown()
    _logs.get_logger_provider().shutdown()


def openai_conversation():
    """Has a conversation with the model through OpenAI's client: one tool call, an answer, and a last request that fails."""
    from openai import OpenAI

    client = OpenAI(max_retries=0)
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION}]
    first = client.chat.completions.create(model="gpt-4o", messages=messages, tools=[TOOL])
    call = first.choices[0].message.tool_calls[0]
    tool_call = {"id": call.id, "type": "function", "function": {"name": call.function.name, "arguments": call.function.arguments}}
    messages.append({"role": "assistant", "content": None, "tool_calls": [tool_call]})
    messages.append({"role": "tool", "tool_call_id": call.id, "content": "rain"})
    client.chat.completions.create(model="gpt-4o", messages=messages, tools=[TOOL])
    client.chat.completions.create(model="broken", messages=messages)
