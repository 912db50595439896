"""A LangGraph agent as a planner: pip install langgraph langchain-openai; python examples/agents/langgraph_agent.py

The environment names the model: MODEL, OPENAI_API_KEY, and OPENAI_BASE_URL for other services.
"""

import os

from endpoint import RULES, Recorder, serve
from langchain_core.tools import StructuredTool
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition


def run(recorder: Recorder) -> None:
    tools = [
        StructuredTool.from_function(
            tool.call, name=tool.name, description=tool.description, args_schema=tool.schema, infer_schema=False
        )
        for tool in recorder.tools()
    ]
    model = ChatOpenAI(model=os.environ["MODEL"]).bind_tools(tools)

    def think(state: MessagesState) -> dict[str, list[object]]:
        return {"messages": [model.invoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("think", think)
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "think")
    graph.add_conditional_edges("think", tools_condition)
    graph.add_edge("tools", "think")
    asked = {"messages": [("system", RULES), ("user", recorder.prompt)]}
    graph.compile().invoke(asked, {"recursion_limit": 50})


if __name__ == "__main__":
    serve(run)
