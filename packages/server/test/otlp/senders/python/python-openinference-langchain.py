"""OpenInference's instrumentation of LangChain, in Python."""

from agent import QUESTION, run_agent, start
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from openinference.instrumentation.langchain import LangChainInstrumentor

start()
LangChainInstrumentor().instrument()


@tool
def weather(city: str) -> str:
    """The weather of a city."""
    return "rain"


def ask(model, messages):
    return ChatOpenAI(model=model, max_retries=0).bind_tools([weather]).invoke(messages)


def converse():
    messages = [("system", "Be brief."), ("user", QUESTION)]
    first = ask("gpt-4o", messages)
    messages += [first, weather.invoke(first.tool_calls[0])]
    ask("gpt-4o", messages)
    ask("broken", messages)


run_agent("python-openinference-langchain", converse)
