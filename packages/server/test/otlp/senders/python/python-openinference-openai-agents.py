"""OpenInference's instrumentation of the OpenAI Agents SDK, which calls the Responses API."""

from agent import QUESTION, run_agent, start
from agents import Agent, Runner, function_tool
from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor

start()
OpenAIAgentsInstrumentor().instrument()


@function_tool
def weather(city: str) -> str:
    """The weather of a city"""
    return "rain"


def work():
    agent = Agent(name="forecaster", instructions="Be brief.", model="gpt-4o", tools=[weather])
    Runner.run_sync(agent, QUESTION)
    Runner.run_sync(Agent(name="broken", instructions="Be brief.", model="broken"), QUESTION)


run_agent("python-openinference-openai-agents", work)
