"""OpenTelemetry's own instrumentation of OpenAI, in Python."""

from agent import openai_conversation, run_agent, start
from opentelemetry.instrumentation.openai_v2 import OpenAIInstrumentor

start()
OpenAIInstrumentor().instrument()
run_agent("python-otel-openai", openai_conversation)
