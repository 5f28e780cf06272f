"""OpenInference's instrumentation of OpenAI, in Python."""

from agent import openai_conversation, run_agent, start
from openinference.instrumentation.openai import OpenAIInstrumentor

start()
OpenAIInstrumentor().instrument()
run_agent("python-openinference-openai", openai_conversation)
