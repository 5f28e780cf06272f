"""OpenInference's instrumentation of LlamaIndex, in Python."""

from agent import QUESTION, run_agent, start
from llama_index.core.llms import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai import OpenAI
from openinference.instrumentation.llama_index import LlamaIndexInstrumentor

start()
LlamaIndexInstrumentor().instrument()


def weather(city: str) -> str:
    """The weather of a city."""
    return "rain"


def converse():
    tool = FunctionTool.from_defaults(fn=weather)
    model = OpenAI(model="gpt-4o", max_retries=0)
    messages = [ChatMessage(role="system", content="Be brief."), ChatMessage(role="user", content=QUESTION)]
    first = model.chat_with_tools([tool], chat_history=messages)
    call = model.get_tool_calls_from_response(first)[0]
    answer = tool.call(**call.tool_kwargs)
    messages += [first.message, ChatMessage(role="tool", content=str(answer), additional_kwargs={"tool_call_id": call.tool_id})]
    model.chat_with_tools([tool], chat_history=messages)
    OpenAI(model="gpt-4o", max_retries=0, additional_kwargs={"model": "broken"}).chat(messages)


run_agent("python-openinference-llama-index", converse)
