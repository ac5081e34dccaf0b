"""The doctor: everything found wrong with a story, each with its file and what to do, and repairs on request.

Source: spec, section 15. `examine` reads and never writes; `repair` does what findings offer, and nothing else.
"""

from __future__ import annotations

from engine.doctor.associations import association_findings
from engine.doctor.branches import index_findings, layout_findings
from engine.doctor.chain import chain_findings
from engine.doctor.configs import Check, config_findings
from engine.doctor.finding import Finding, Kind, Repair
from engine.doctor.foreseeing import coming_to_light
from engine.doctor.fragments import fragment_files, name_findings, reference_findings, tag_findings, with_repair
from engine.doctor.leftovers import leftover_findings
from engine.doctor.mending import Repaired, repair
from engine.doctor.meta import missing_meta, order_findings, settings_findings, summary_findings
from engine.doctor.models import model_findings, provider_findings
from engine.doctor.others import log_findings, repeated_key_findings, story_file_findings
from engine.errors import StonehandError
from engine.models.providers import Providers
from engine.story import StoryFolder, StoryMeta

__all__ = [
    "Finding",
    "Kind",
    "Repair",
    "Repaired",
    "coming_to_light",
    "examine",
    "missing_meta",
    "provider_findings",
    "repair",
]


def examine(folder: StoryFolder, providers: Providers | None = None, check: Check | None = None) -> list[Finding]:
    """What is wrong with one story, in all its branches; each fault is told once.

    Without `providers` nothing is said of those that the story names, without `check` nothing of whether its scripts
    compile.
    """
    story = folder.path
    found: list[Finding] = []
    try:
        branches = folder.branches()
    except StonehandError as error:
        return [Finding.of(error.problem)]
    found += layout_findings(story, branches)
    found += index_findings(story, branches)
    meta: StoryMeta | None = None
    try:
        meta = folder.meta()
    except StonehandError as error:
        found.append(Finding.of(error.problem))
    everywhere: frozenset[str] = frozenset()
    summarised: list[str] = []
    for branch_id in branches.ids:
        try:
            root = folder.content_root(branch_id)
        except StonehandError as error:
            found.append(Finding.of(error.problem))
            continue
        files = fragment_files(root)
        everywhere |= files
        try:
            snapshot = folder.snapshot(branch_id) if meta is not None else folder.snapshot_without_meta(branch_id)
        except StonehandError as error:
            found.append(Finding.of(error.problem))
            found += config_findings(root, None, files, check)
            found += log_findings(root)
            continue
        told = {*branches.problems}
        found += [with_repair(problem, snapshot, root) for problem in snapshot.problems if problem not in told]
        found += chain_findings(root, snapshot, files)
        found += association_findings(root, snapshot, files)
        found += tag_findings(snapshot, root, files)
        found += name_findings(snapshot, root)
        found += reference_findings(snapshot, root, files)
        found += config_findings(root, snapshot, files, check)
        found += log_findings(root)
        if snapshot.of_type("summary", archived=True):
            summarised.append(branch_id)
    if meta is not None:
        found += settings_findings(story, meta)
        found += order_findings(story, meta, everywhere)
        found += summary_findings(story, meta, summarised, branches.ids)
        if providers is not None:
            found += model_findings(story, meta, providers)
    found += story_file_findings(story)
    found += repeated_key_findings(story)
    known = {finding.file for finding in found}
    found += [finding for finding in leftover_findings(story) if finding.file not in known]
    return list(dict.fromkeys(found))
