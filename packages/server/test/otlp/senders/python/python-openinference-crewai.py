"""OpenInference's instrumentations of CrewAI and of the client with which CrewAI calls models."""

from agent import QUESTION, run_agent, start
from crewai import Agent, Crew, LLM, Task
from crewai.tools import tool
from openinference.instrumentation.crewai import CrewAIInstrumentor
from openinference.instrumentation.openai import OpenAIInstrumentor

start()
CrewAIInstrumentor().instrument()
OpenAIInstrumentor().instrument()


@tool("weather")
def weather(city: str) -> str:
    """The weather of a city"""
    return "rain"


def crew_of(model):
    agent = Agent(role="forecaster", goal="Tell the weather.", backstory="Be brief.", llm=LLM(model=model), tools=[weather])
    task = Task(description=QUESTION, expected_output="The weather.", agent=agent)
    return Crew(name="forecast", agents=[agent], tasks=[task])


def work():
    crew_of("openai/gpt-4o").kickoff()
    crew_of("openai/gpt-broken").kickoff()


run_agent("python-openinference-crewai", work)
