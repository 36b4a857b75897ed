"""The tools that the tests declare."""

from __future__ import annotations

from typing import Any


def function(name: str, description: str, required: list[str], **properties: Any) -> dict[str, Any]:
    """A function tool as the official types want it."""
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": False,
            },
        },
    }


WEATHER = function(
    "get_weather",
    "The weather of a city.",
    ["city"],
    city={"type": "string", "description": "Name of the city."},
    days={"type": "integer", "description": "How many days ahead."},
)
WRITE_FILE = function(
    "write_file",
    "Writes a text file.",
    ["path", "content"],
    path={"type": "string"},
    content={"type": "string"},
)
TOOLS = [WEATHER, WRITE_FILE]
