"""Provide prompts: instructions for common tasks with the tools."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

import mcp_types as types
from mcp.shared.exceptions import MCPError

from lore_server.mcp.follow import Context

_REVISION = re.compile(r"[\w][\w./@^~:+ -]{0,99}")


@dataclass(frozen=True)
class Recipe:
    """A prompt with its only argument."""

    title: str
    description: str
    argument: str
    argument_title: str
    argument_description: str
    text: str
    longest: int = 300


_DATA = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
RECIPES = {name: Recipe(**values) for name, values in _DATA.items()}


async def list_prompts(context: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
    prompts = []
    for name, recipe in RECIPES.items():
        argument = types.PromptArgument(
            name=recipe.argument, title=recipe.argument_title, description=recipe.argument_description, required=True
        )
        about = recipe.description
        prompts.append(types.Prompt(name=name, title=recipe.title, description=about, arguments=[argument]))
    return types.ListPromptsResult(prompts=prompts)


async def get_prompt(context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    recipe = RECIPES.get(params.name)
    if recipe is None:
        raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {params.name[:100]}. Prompts: {', '.join(RECIPES)}.")
    value = _checked(recipe, params.arguments or {})
    text = recipe.text.format(value=json.dumps(value, ensure_ascii=False), bare=value)
    message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
    return types.GetPromptResult(description=recipe.description, messages=[message])


def _checked(recipe: Recipe, arguments: dict[str, str]) -> str:
    unknown = sorted(set(arguments) - {recipe.argument})
    value = arguments.get(recipe.argument, "").strip()
    if unknown:
        wrong = f"There is no argument `{unknown[0][:60]}`; the only argument is `{recipe.argument}`."
    elif not value:
        wrong = f"The argument `{recipe.argument}` is missing: {recipe.argument_description}."
    elif len(value) > recipe.longest:
        wrong = f"`{recipe.argument}` is too long: at most {recipe.longest:,} characters."
    elif recipe.argument == "since" and not _REVISION.fullmatch(value):  # it becomes part of shell commands in the text
        wrong = f"`{recipe.argument}` is not a valid revision or date. Give {recipe.argument_description}."
    else:
        return value
    raise MCPError(types.INVALID_PARAMS, wrong)
