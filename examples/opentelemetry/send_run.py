"""Sends one agent run as OTLP/JSON.

Reads OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_HEADERS. Needs only the standard library.
"""

import json
import os
import secrets
import time
import urllib.parse
import urllib.request

ENDPOINT = os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:7300")
HEADERS = {
    name.strip(): urllib.parse.unquote(value.strip())
    for name, _, value in (pair.partition("=") for pair in os.environ.get("OTEL_EXPORTER_OTLP_HEADERS", "").split(","))
    if name.strip()
}

TRACE_ID = secrets.token_hex(16)
ROOT_ID = secrets.token_hex(8)
STARTED_NS = time.time_ns()


def attributes(values):
    """Attributes in OTLP's format."""
    return [
        {"key": key, "value": {"intValue" if isinstance(value, int) else "stringValue": value}}
        for key, value in values.items()
    ]


def span(span_id, parent_id, name, from_ms, to_ms, values):
    """A span with its start and end in milliseconds after the start of the run."""
    parent = {} if parent_id is None else {"parentSpanId": parent_id}
    return {
        "traceId": TRACE_ID,
        "spanId": span_id,
        **parent,
        "name": name,
        "kind": 1,
        "startTimeUnixNano": str(STARTED_NS + from_ms * 1_000_000),
        "endTimeUnixNano": str(STARTED_NS + to_ms * 1_000_000),
        "attributes": attributes(values),
    }


def message_json(role, content):
    """A list of one message, as JSON text."""
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": content}]}])


SPANS = [
    span(ROOT_ID, None, "invoke_agent weather-bot", 0, 900, {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "weather-bot",
        "gen_ai.conversation.id": "example-session",
    }),
    span(secrets.token_hex(8), ROOT_ID, "execute_tool weather", 100, 300, {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "weather",
        "gen_ai.tool.call.arguments": '{"city":"Bern"}',
        "gen_ai.tool.call.result": "rain",
    }),
    span(secrets.token_hex(8), ROOT_ID, "chat gpt-4o", 300, 900, {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-4o",
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.input.messages": message_json("user", "How is the weather in Bern?"),
        "gen_ai.output.messages": message_json("assistant", "It rains in Bern."),
    }),
]

BODY = {
    "resourceSpans": [
        {
            "resource": {"attributes": attributes({"service.name": "weather-service"})},
            "scopeSpans": [{"scope": {"name": "example"}, "spans": SPANS}],
        }
    ]
}
request = urllib.request.Request(
    f"{ENDPOINT}/v1/traces",
    data=json.dumps(BODY).encode(),
    headers={**HEADERS, "Content-Type": "application/json"},
)
urllib.request.urlopen(request).close()
print(TRACE_ID)
