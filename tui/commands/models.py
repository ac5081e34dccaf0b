"""`model` and `providers`: what an agent is run with, and who there is to answer."""

from __future__ import annotations

import math
import shlex
from collections.abc import Collection
from types import EllipsisType
from typing import TYPE_CHECKING, Any

import click

from engine.errors import Problem, StonehandError, WrongInput
from tui.commands.frame import Call, Group, TargetGroup, checked, waited, warn, with_workspace
from tui.commands.looking import budget_document
from tui.output import PROGRAM, message, table, write, write_json

if TYPE_CHECKING:
    from engine.models.choice import ModelChange
    from engine.models.providers import Key, Provider
    from engine.models.resolution import Resolution
    from engine.models.wire.base import Failure
    from engine.models.wire.listing import ListedModel
    from engine.workspace import Workspace

REHEARSED = "passages come from the rehearsal, which is no model, unless `generate --provider` names a provider"


class _Model(TargetGroup):
    """`model STORY AGENT` alone, or with options, is `model STORY AGENT get`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0].startswith("-"):
            return get_model.name, get_model, args
        return super().resolve_command(ctx, args)


@click.group(cls=_Model, invoke_without_command=True, no_args_is_help=False)
@click.argument("story")
@click.argument("agent_or_role", metavar="AGENT")
@click.pass_context
def model(context: click.Context, story: str, agent_or_role: str) -> None:
    """Show and choose what an agent is run with.

    Provider, model and temperature, and the file and key that decide each. AGENT is an agent, or what several inherit
    from: generation, librarian, character-chat, directions. The choice is kept in the story's meta.json and holds for
    all its branches.

    \b
    Examples:
      stonehand model my-story generation.writer
      stonehand model my-story librarian set --provider openai --model gpt-5
      stonehand model my-story generation.writer set --temperature none
      stonehand model my-story generation.writer clear
    """
    if context.invoked_subcommand is None:
        context.invoke(get_model, as_json=context.ensure_object(Call).as_json)


def _target() -> tuple[str, str]:
    """Story and agent of a model command."""
    context = click.get_current_context()
    while "story" not in context.params and context.parent is not None:
        context = context.parent
    return context.params["story"], context.params["agent_or_role"]


@model.command("get")
@with_workspace
def get_model(workspace: Workspace, as_json: bool) -> None:
    """Show provider, model and temperature, and what decides each."""
    target = _target()
    resolution, budget = workspace.models.resolve(*target), workspace.models.budget(*target)
    _warn_all((*workspace.models.providers().problems, *resolution.problems))
    _warn_unset(resolution.provider.key)
    if as_json:
        write_json({**_document(resolution), "budget": budget_document(budget)})
    else:
        window = budget.window
        size = "not known" if window.tokens is None else f"{window.tokens:,}"
        write(_lines(resolution, ("context", size, window.source.removeprefix("not known: "))))
        message(REHEARSED)


def _temperature(
    _context: click.Context, _parameter: click.Parameter, value: str | None
) -> float | EllipsisType | None:
    """`none` as None, nothing as left out, anything else as a number."""
    if value is None:
        return ...
    if value == "none":
        return None
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not 0 <= number <= 2:
        raise click.BadParameter(f"{value!r} is neither a number from 0 to 2 nor none")
    return number


@model.command("set")
@click.option("--provider", metavar="P|none", help="A provider by its id; its model and temperature are chosen anew.")
@click.option("--model", "model_id", metavar="M|none", help="A model of that provider, by the provider's name for it.")
@click.option("--temperature", metavar="T|none", callback=_temperature, help="From 0 to 2.")
@with_workspace
def set_model(
    workspace: Workspace,
    provider: str | None,
    model_id: str | None,
    temperature: float | EllipsisType | None,
    as_json: bool,
) -> None:
    """Choose provider, model or temperature; none inherits again.

    Another provider drops the model and temperature chosen before. None clears what the agent or role itself has in the
    settings of older stories (providerId, ...), too. A model without a provider is taken from the one
    that is in use, which is chosen with it.
    """
    chosen: dict[str, Any] = {"provider": _given(provider), "model": _given(model_id), "temperature": temperature}
    if all(isinstance(value, EllipsisType) for value in chosen.values()):
        raise WrongInput("there is nothing to set", repair="give --provider, --model or --temperature")
    story, agent = _target()
    change = workspace.models.choose(story, agent, **chosen)
    resolution = workspace.models.resolve(story, agent)
    _warn_all(resolution.problems)
    for decision in resolution.explain:
        wanted = chosen[decision.what]
        if wanted is not None and not isinstance(wanted, EllipsisType) and wanted != decision.value:
            warn(f"{decision.what} {wanted} is saved but not what counts: {decision.source}")
    _tell_cleared(change)
    _tell_legacy(resolution, story, [what for what, wanted in chosen.items() if wanted is None])
    _report(change is not None, resolution, as_json, f"models of {story}: saved")


@model.command("clear")
@with_workspace
def clear_model(workspace: Workspace, as_json: bool) -> None:
    """Inherit everything again.

    What the agent or role itself has in the settings of older stories (providerId, librarianProviderId, ...) is cleared
    as well; what it inherits from others stays.
    """
    story, agent = _target()
    change = workspace.models.clear(story, agent)
    resolution = workspace.models.resolve(story, agent)
    _warn_all(resolution.problems)
    _tell_cleared(change)
    _tell_legacy(resolution, story, ("provider", "model"))
    _report(change is not None, resolution, as_json, f"models of {story}: saved")


@click.group(cls=Group, no_args_is_help=True)
def providers() -> None:
    """List, add and remove providers.

    They are those of the data folder's config.json, which is only read, and those of your own providers.toml. A key is
    never stored by these commands: an environment variable holds it.

    \b
    Examples:
      stonehand providers list
      stonehand providers add openai --preset openai --model gpt-5 --key-env OPENAI_API_KEY
      stonehand providers add local --base-url http://localhost:11434/v1 --model qwen3
      stonehand providers test local
      stonehand providers models local
      stonehand providers detect
      stonehand providers remove local
    """


@providers.command("list")
@with_workspace
def list_providers(workspace: Workspace, as_json: bool) -> None:
    """List the providers, without their keys."""
    found = workspace.models.providers()
    _warn_all(found.problems)
    if as_json:
        write_json([_provider_document(provider, provider.id == found.default) for provider in found.all])
        return
    rows = []
    for provider in found.all:
        state = "default" if provider.id == found.default else "" if provider.enabled else "disabled"
        place = str(provider.file) if provider.file is not None else "built in"
        cells = (provider.id, state, provider.default_model, _key_state(provider.key), provider.shown_url, place)
        rows.append(cells)
    write(table(("PROVIDER", "STATE", "MODEL", "KEY", "ADDRESS", "FILE"), rows))
    message(REHEARSED)


@providers.command("add")
@click.argument("provider", metavar="ID")
@click.option("--model", "default_model", metavar="M", required=True, help="The model used where none is chosen.")
@click.option("--preset", metavar="NAME", default="custom", show_default=True, help="A service whose address is known.")
@click.option("--base-url", metavar="URL", help="The address of the service; the preset's by default.")
@click.option("--key-env", metavar="NAME", help="The environment variable that holds the key.")
@click.option("--name", metavar="TEXT", help="What it is called.")
@click.option("--temperature", type=click.FloatRange(0, 2), metavar="T", help="Used where none is chosen.")
@click.option(
    "--context", type=click.IntRange(min=1), metavar="N", help="Tokens its models take, prompt and answer together."
)
@click.option("--default", is_flag=True, help="Use it where a story names no provider.")
@with_workspace
def add_provider(
    workspace: Workspace,
    provider: str,
    default_model: str,
    preset: str,
    base_url: str | None,
    key_env: str | None,
    name: str | None,
    temperature: float | None,
    context: int | None,
    default: bool,
    as_json: bool,
) -> None:
    """Add a provider to your own providers.toml.

    The first one becomes the default. One of the same id in config.json is hidden by it.
    """
    files = workspace.models.provider_files
    files.add(
        checked(provider),
        preset=preset,
        name=None if name is None else checked(name),
        base_url=None if base_url is None else checked(base_url),
        default_model=checked(default_model),
        key_variable=key_env,
        temperature=temperature,
        context=context,
        default=default,
    )
    found = files.load()
    added = found.find(provider)
    if as_json:
        write_json(_provider_document(added, provider == found.default))
    else:
        message(f"provider {provider}: saved to {files.own}")
    _warn_unset(added.key)


@providers.command("remove")
@click.argument("provider", metavar="ID")
@with_workspace
def remove_provider(workspace: Workspace, provider: str, as_json: bool) -> None:
    """Remove a provider from your own providers.toml."""
    default = workspace.models.provider_files.remove(provider)
    if as_json:
        write_json({"removed": provider, "default": default})
    else:
        message(f"provider {provider}: removed" + (f"; {default} is the default" if default is not None else ""))


@providers.command("test")
@click.argument("provider", metavar="ID")
@click.option("--model", metavar="M", help="The model that is asked; the provider's default one by default.")
@with_workspace
def test_provider(workspace: Workspace, provider: str, model: str | None, as_json: bool) -> None:
    """Ask a provider for a word.

    It shows whether address, key and model are right, and costs a few tokens.
    """
    trial = waited(workspace.models.test(provider, None if model is None else checked(model)))
    failure = trial.failure
    if as_json:
        write_json(
            {
                "provider": provider,
                "model": trial.model or None,
                "ok": failure is None,
                "text": trial.text,
                "seconds": round(trial.seconds, 3),
                "inputTokens": None if trial.usage is None else trial.usage.input_tokens,
                "outputTokens": None if trial.usage is None else trial.usage.output_tokens,
                "warnings": list(trial.warnings),
                "failure": None if failure is None else _failure_document(failure),
            }
        )
    for warning in trial.warnings:
        warn(warning)
    if failure is not None:
        raise StonehandError(failure.message)
    if not as_json:
        said = " ".join(trial.text.split())
        message(f"{provider} answers: {trial.model}, {trial.seconds:.1f} s" + (f", “{said}”" if said else ""))


@providers.command("models")
@click.argument("provider", metavar="ID")
@with_workspace
def list_models(workspace: Workspace, provider: str, as_json: bool) -> None:
    """List the models a provider has, as it tells itself."""
    found = waited(workspace.models.listed(provider))
    if as_json:
        write_json([_model_document(listed) for listed in found])
        return
    rows = [
        (
            listed.id,
            f"{listed.context:,}" if listed.context is not None else "",
            f"{listed.max_output:,}" if listed.max_output is not None else "",
            listed.name,
        )
        for listed in found
    ]
    write(table(("MODEL", "CONTEXT", "ANSWER", "NAME"), rows))
    if not rows:
        message(f"{provider} lists no models")


@providers.command("detect")
@with_workspace
def detect_providers(workspace: Workspace, as_json: bool) -> None:
    """Look for servers of models on this machine.

    Ollama, LM Studio, llama.cpp and vLLM are looked for at their usual ports of this machine, and nowhere else. What is
    found is not added.
    """
    found = waited(workspace.models.detect())
    if as_json:
        write_json(
            [
                {
                    "preset": server.preset,
                    "baseURL": server.base_url,
                    "models": [_model_document(listed) for listed in server.models],
                    "wantsKey": server.wants_key,
                }
                for server in found
            ]
        )
        return
    if not found:
        message("nothing answers at the usual ports of Ollama, LM Studio, llama.cpp and vLLM")
        return
    rows = [
        (
            server.preset,
            server.base_url,
            "it wants a key" if server.wants_key else ", ".join(listed.id for listed in server.models[:5]) or "none",
        )
        for server in found
    ]
    write(table(("PRESET", "ADDRESS", "MODELS"), rows))
    server = next((server for server in found if server.models), found[0])
    first = next((listed.id for listed in server.models if "embed" not in listed.id.casefold()), "MODEL")
    address = f"--preset {server.preset} --base-url {server.base_url}"
    key = " --key-env NAME" if server.wants_key else ""
    message(f"add one with: {PROGRAM} providers add {server.preset} {address} --model {shlex.quote(first)}{key}")


def _model_document(listed: ListedModel) -> dict[str, Any]:
    return {"id": listed.id, "name": listed.name or None, "context": listed.context, "maxOutput": listed.max_output}


def _failure_document(failure: Failure) -> dict[str, Any]:
    return {
        "kind": failure.kind,
        "message": failure.message,
        "status": failure.status,
        "said": failure.said or None,
        "cause": failure.cause or None,
        "advice": failure.advice or None,
        "requestId": failure.request_id or None,
        "retryAfter": failure.retry_after,
    }


def _tell_cleared(change: ModelChange | None) -> None:
    """Say which settings of older stories a change has cleared."""
    if change is not None and change.legacy_before:
        message(f"cleared too, from older stories: {', '.join(f'settings.{name}' for name in change.legacy_before)}")


def _tell_legacy(resolution: Resolution, story: str, cleared: Collection[str]) -> None:
    """Say which setting of older stories still decides what was to be inherited again, and how it is cleared."""
    for decision in resolution.explain:
        if decision.what in cleared and decision.legacy:
            warn(
                f"{decision.what} is {decision.value} because of {decision.source}; "
                f"'{PROGRAM} model {story} {decision.legacy} clear' clears that"
            )


def _given(value: str | None) -> str | EllipsisType | None:
    """An option's text: left out, `none`, or what it says."""
    if value is None:
        return ...
    return None if value == "none" else checked(value)


def _warn_all(problems: tuple[Problem, ...]) -> None:
    for problem in problems:
        warn(problem)


def _warn_unset(key: Key) -> None:
    if key.variable and key.value() is None:
        warn(f"the environment variable {key.variable}, which is to hold the key, is not set")


def _lines(resolution: Resolution, *more: tuple[str, str, str]) -> str:
    rows: list[tuple[str, str, str]] = []
    for decision in resolution.explain:
        value = "none" if decision.value is None else _shown(decision.value)
        rows.append((decision.what, value, decision.source))
    return table(("WHAT", "VALUE", "DECIDED BY"), [*rows, *more])


def _report(changed: bool, resolution: Resolution, as_json: bool, saved: str) -> None:
    if as_json:
        write_json({"changed": changed, **_document(resolution)})
    else:
        message(saved if changed else "nothing changed")
        write(_lines(resolution))


def _document(resolution: Resolution) -> dict[str, Any]:
    return {
        "agent": resolution.role,
        "chain": list(resolution.chain),
        "provider": resolution.provider.id,
        "model": resolution.model,
        "temperature": resolution.temperature,
        "maxOutputTokens": resolution.max_output_tokens,
        "wire": resolution.wire,
        "explain": [
            {
                "what": decision.what,
                "value": decision.value,
                "file": None if decision.file is None else str(decision.file),
                "field": decision.field or None,
                "reason": decision.reason or None,
            }
            for decision in resolution.explain
        ],
        "problems": [str(problem) for problem in resolution.problems],
    }


def _provider_document(provider: Provider, default: bool) -> dict[str, Any]:
    return {
        "id": provider.id,
        "name": provider.name,
        "preset": provider.preset,
        "baseURL": provider.shown_url,
        "defaultModel": provider.default_model,
        "models": [declared.id for declared in provider.models],
        "context": provider.context,
        "maxOutput": provider.max_output,
        "temperature": provider.temperature,
        "enabled": provider.enabled,
        "default": default,
        "keyVariable": provider.key.variable or None,
        "hasKey": provider.key.value() is not None,
        "file": None if provider.file is None else str(provider.file),
    }


def _key_state(key: Key) -> str:
    if key.variable:
        return f"${key.variable}" + ("" if key.value() is not None else " (not set)")
    return "in the file" if key.literal is not None else "none"


def _shown(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:g}"
