"""OpenLLMetry's instrumentation of OpenAI, in Python."""

from agent import openai_conversation, run_agent, start
from opentelemetry.instrumentation.openai import OpenAIInstrumentor

start()
OpenAIInstrumentor().instrument()
run_agent("python-openllmetry-openai", openai_conversation)
