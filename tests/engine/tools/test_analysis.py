"""Analyzing a passage: what is kept of a report, and the librarian's files."""

from __future__ import annotations

import asyncio
import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from engine import disk
from engine.errors import NotFound, StonehandError
from engine.story import Fragment
from engine.story.librarian import MENTIONS_KEPT, latest_analysis, read_analysis, update_analysis
from engine.tools import (
    Analysis,
    Host,
    Proposal,
    accept_proposal,
    apply,
    mark_proposal,
    plan_proposal,
    proposals_of,
    save_analysis,
    take_back,
)
from engine.tools.offering import CORE
from tests.engine.story_builder import StoryBuilder, tree
from tests.engine.tools.conftest import tool_call

PASSAGE = "pr-three"


@pytest.fixture
def passage(story: StoryBuilder) -> Fragment:
    story.add(PASSAGE, "prose", content="Ines cursed. The Harbour was dark.", meta={"annotations": [{"type": "mark"}]})
    found = story.snapshot().get(PASSAGE)
    assert found is not None
    return found


@pytest.fixture
def analyst(story: StoryBuilder, passage: Fragment) -> Host:
    return Host(story.folder(), "main", "librarian.analyze", passage=passage)


def run(host: Host, name: str, **arguments: Any) -> dict[str, Any]:
    return dict(asyncio.run(CORE[name].run(tool_call("1", name, arguments), host)).value)


def report(host: Host, **more: Any) -> dict[str, Any]:
    return run(host, "reportAnalysis", **{"summary": "Ines curses.", **more})


def read(story: StoryBuilder, name: str) -> Any:
    return json.loads((story.root / name).read_bytes())


MENTIONS = [
    {"fragmentId": "ch-bafego", "text": "Ines"},
    {"fragmentId": "ch-bafego", "text": "ines"},
    {"fragmentId": "ch-nobody", "text": "Ines"},
    {"fragmentId": "lo-harbor", "text": "The Harbour"},
    {"fragmentId": "ch-bafego", "text": "Ines"},
]


def test_mentions_must_stand_in_the_passage(analyst: Host) -> None:
    told = report(analyst, mentions=MENTIONS)
    assert told == {
        "reported": True,
        "mentions": 2,
        "rejectedMentions": [
            {
                "index": 1,
                "fragmentId": "ch-bafego",
                "error": "the passage does not hold these words, exactly as they are written",
            },
            {"index": 2, "fragmentId": "ch-nobody", "error": "there is no such fragment"},
        ],
    }
    assert [(item.fragment_id, item.text) for item in analyst.collected.analysis.mentions] == [
        ("ch-bafego", "Ines"),
        ("lo-harbor", "The Harbour"),
    ]


def test_lists_are_cut_to_the_caps_and_that_is_said(analyst: Host) -> None:
    told = report(
        analyst,
        events=[str(number) for number in range(9)],
        stateChanges=["a"] * 8,
        openThreads=["a"] * 10,
        mentions=[
            {"fragmentId": "ch-bafego", "text": "Ines cursed. The Harbour was dark."[:size]} for size in range(1, 35)
        ],
        contradictions=[{"description": "x", "fragmentIds": ["ch-bafego", "ch-nobody"]}] * 13,
        timelineEvents=[{"event": "x"}] * 15,
    )
    assert told["leftOut"] == {"events": 1, "openThreads": 2, "contradictions": 1, "timelineEvents": 3}
    analysis = analyst.collected.analysis
    assert analysis.events == tuple("01234567")
    assert (len(analysis.mentions), len(analysis.contradictions), len(analysis.timeline)) == (34, 12, 12)
    assert analysis.contradictions[0].fragment_ids == ("ch-bafego",)
    assert analysis.timeline[0].position == "during"


def test_a_second_report_takes_the_place_of_the_first(analyst: Host) -> None:
    report(analyst, events=["a"], mentions=MENTIONS)
    run(analyst, "proposeDirections", directions=[{"title": "t", "description": "d", "instruction": "i"}])
    report(analyst, summary="Again.")
    analysis = analyst.collected.analysis
    assert (analysis.summary, analysis.events, analysis.mentions) == ("Again.", (), ())
    assert len(analysis.directions) == 1


def test_only_an_analysis_reports(story: StoryBuilder) -> None:
    assert report(Host(story.folder(), "main")) == {"error": "this run analyzes no passage"}


def test_finishing_ends_the_run(analyst: Host) -> None:
    result = asyncio.run(CORE["finishAnalysis"].run(tool_call("1", "finishAnalysis"), analyst))
    assert result.ends
    assert result.value == {"finished": True, "note": "Nothing was reported about the passage."}
    report(analyst)
    assert run(analyst, "finishAnalysis") == {"finished": True}
    assert analyst.collected.analysis.finished


def test_proposals_change_nothing_and_can_be_applied_later(story: StoryBuilder, analyst: Host) -> None:
    before = tree(story.path)
    told = run(
        analyst,
        "proposeFragmentChanges",
        title="Ines",
        rationale="She cursed.",
        operations=[
            {"op": "append_paragraph", "fragmentId": "ch-bafego", "text": "She curses."},
            {"op": "append_paragraph", "fragmentId": "ch-nobody", "text": "x"},
            {"op": "create_fragment", "type": "knowledge", "name": "Oaths", "content": "Many."},
        ],
    )
    assert [item["status"] for item in told["results"]] == ["proposed", "failed", "proposed"]
    assert "fragmentId" not in told["results"][2]
    assert tree(story.path) == before
    (proposal,) = analyst.collected.analysis.proposals
    assert len(proposal.operations) == 2
    plan = plan_proposal(story.snapshot(), proposal)
    assert (plan.title, plan.rationale) == ("Ines", "She cursed.")
    apply(plan, story.folder(), "librarian-manual-accept")
    document = read(story, "fragments/ch-bafego.json")
    report(analyst)
    assert proposals_of(read_analysis(story.root, saved(story, analyst).id)) == (proposal,)
    assert proposals_of({"fragmentChangeProposals": [1, {"operations": "x"}, {"operations": [1], "title": 2}]}) == (
        None,
        None,
        Proposal("", "", ()),
    )
    assert document["content"].endswith("\n\nShe curses.")
    assert document["versions"][0]["reason"] == "librarian-manual-accept"


def test_a_proposal_from_a_file_is_checked(story: StoryBuilder) -> None:
    with pytest.raises(StonehandError, match=r"the proposal can't be used: operations\[0\].op: must be one of"):
        plan_proposal(story.snapshot(), Proposal("", "", ({"op": "burn"},)))
    with pytest.raises(StonehandError, match="the proposal can't be used"):
        plan_proposal(story.snapshot(), Proposal("", "", ()))


def test_too_many_proposals(analyst: Host) -> None:
    operation = {"op": "append_paragraph", "fragmentId": "ch-bafego", "text": "x"}
    for _ in range(20):
        assert "results" in run(analyst, "proposeFragmentChanges", operations=[operation])
    assert "20 proposals" in run(analyst, "proposeFragmentChanges", operations=[operation])["error"]


# -- the librarian's files


def saved(story: StoryBuilder, host: Host) -> Any:
    assert host.passage is not None
    return save_analysis(story.folder(), "main", PASSAGE, host.passage.content, host.collected.analysis)


def test_the_files_are_those_of_the_reference(story: StoryBuilder, analyst: Host) -> None:
    report(
        analyst,
        events=["a"],
        stateChanges=["b"],
        openThreads=["c"],
        mentions=MENTIONS,
        contradictions=[{"description": "d", "fragmentIds": ["ch-bafego"]}],
        timelineEvents=[{"event": "e", "position": "before"}],
    )
    run(analyst, "proposeDirections", directions=[{"title": "t", "description": "d", "instruction": "i"}])
    written = saved(story, analyst)
    assert written.problems == ()
    assert re.fullmatch("la-[0-9a-z]{8,9}", written.id)
    analysis = read(story, f"librarian/analyses/{written.id}.json")
    created = analysis["createdAt"]
    assert analysis == {
        "id": written.id,
        "createdAt": created,
        "fragmentId": PASSAGE,
        "summaryUpdate": "Ines curses.",
        "structuredSummary": {"events": ["a"], "stateChanges": ["b"], "openThreads": ["c"]},
        "mentionedCharacters": ["ch-bafego"],
        "mentions": [
            {"characterId": "ch-bafego", "fragmentId": "ch-bafego", "text": "Ines"},
            {"fragmentId": "lo-harbor", "text": "The Harbour"},
        ],
        "contradictions": [{"description": "d", "fragmentIds": ["ch-bafego"]}],
        "fragmentSuggestions": [],
        "fragmentChangeProposals": [],
        "timelineEvents": [{"event": "e", "position": "before"}],
        "directions": [{"title": "t", "description": "d", "instruction": "i"}],
    }
    assert read(story, "librarian/state.json") == {
        "lastAnalyzedFragmentId": PASSAGE,
        "summarizedUpTo": None,
        "recentMentions": {"ch-bafego": [PASSAGE]},
        "timeline": [{"event": "e", "fragmentId": PASSAGE}],
    }
    index = read(story, "librarian/index.json")
    assert list(index) == ["version", "updatedAt", "latestByFragmentId"]
    assert index["latestByFragmentId"] == {PASSAGE: {"analysisId": written.id, "createdAt": created}}
    passage = read(story, f"fragments/{PASSAGE}.json")
    assert passage["meta"] == {
        "annotations": [
            {"type": "mark"},
            {"type": "mention", "fragmentId": "ch-bafego", "text": "Ines"},
            {"type": "mention", "fragmentId": "lo-harbor", "text": "The Harbour"},
        ],
        "_librarian": {"summary": "Ines curses.", "analysisId": written.id},
    }
    assert "versions" not in passage


def test_recording_again_takes_the_place_of_what_was(story: StoryBuilder, analyst: Host) -> None:
    story.write(
        "branches/main/librarian/state.json",
        {
            "summarizedUpTo": "pr-one",
            "recentMentions": {"ch-bafego": ["pr-one", PASSAGE], "kn-mirafa": [PASSAGE], "odd": 1},
            "timeline": [{"event": "old", "fragmentId": "pr-one"}, {"event": "gone", "fragmentId": PASSAGE}],
            "unknown": {"kept": True},
        },
    )
    report(analyst, mentions=MENTIONS, timelineEvents=[{"event": "new"}])
    first, second = saved(story, analyst), saved(story, analyst)
    assert first.id != second.id
    assert read(story, "librarian/state.json") == {
        "lastAnalyzedFragmentId": PASSAGE,
        "summarizedUpTo": "pr-one",
        "recentMentions": {"ch-bafego": ["pr-one", PASSAGE], "odd": 1},
        "timeline": [{"event": "old", "fragmentId": "pr-one"}, {"event": "new", "fragmentId": PASSAGE}],
        "unknown": {"kept": True},
    }
    assert len(read(story, f"fragments/{PASSAGE}.json")["meta"]["annotations"]) == 3
    latest = latest_analysis(story.root, PASSAGE)
    assert latest is not None
    assert latest["id"] == second.id


def test_recent_mentions_do_not_grow_for_ever(story: StoryBuilder, analyst: Host) -> None:
    ids = [f"pr-{number}" for number in range(MENTIONS_KEPT)]
    story.write("branches/main/librarian/state.json", {"recentMentions": {"ch-bafego": ids}})
    report(analyst, mentions=MENTIONS)
    saved(story, analyst)
    kept = read(story, "librarian/state.json")["recentMentions"]["ch-bafego"]
    assert kept == [*ids[1:], PASSAGE]


def test_an_index_that_is_missing_is_made_of_the_analyses(story: StoryBuilder, analyst: Host) -> None:
    for name, moment in (("la-a", "2026-01-01"), ("la-c", "2026-01-02"), ("la-b", "2026-01-02")):
        story.write(
            f"branches/main/librarian/analyses/{name}.json", {"id": name, "createdAt": moment, "fragmentId": "pr-one"}
        )
    story.write("branches/main/librarian/analyses/la-broken.json", b"{")
    report(analyst)
    written = saved(story, analyst)
    latest = read(story, "librarian/index.json")["latestByFragmentId"]
    assert {key: value["analysisId"] for key, value in latest.items()} == {"pr-one": "la-c", PASSAGE: written.id}


def test_files_of_no_use_are_left_alone_and_told(story: StoryBuilder, analyst: Host) -> None:
    state = story.write("branches/main/librarian/state.json", b"{broken")
    index = story.write("branches/main/librarian/index.json", b"[]")
    report(analyst)
    written = saved(story, analyst)
    assert [problem.file for problem in written.problems] == [index, state]
    assert (state.read_bytes(), index.read_bytes()) == (b"{broken", b"[]")
    assert read_analysis(story.root, written.id)["summaryUpdate"] == "Ines curses."


def test_a_passage_that_changed_meanwhile_gets_no_notes(story: StoryBuilder, analyst: Host) -> None:
    report(analyst, mentions=MENTIONS)
    file = story.add(PASSAGE, "prose", content="Another text.")
    before = file.read_bytes()
    (problem,) = saved(story, analyst).problems
    assert "changed while it was analyzed" in problem.message
    assert file.read_bytes() == before


def test_nothing_is_saved_of_nothing(story: StoryBuilder) -> None:
    before = tree(story.path)
    with pytest.raises(StonehandError, match="nothing was reported"):
        save_analysis(story.folder(), "main", PASSAGE, "", Analysis())
    assert tree(story.path) == before


def test_proposals_alone_are_kept_and_say_nothing_of_the_passage(story: StoryBuilder, analyst: Host) -> None:
    before = (story.root / "fragments" / f"{PASSAGE}.json").read_bytes()
    run(analyst, "proposeFragmentChanges", operations=PROPOSED)
    written = saved(story, analyst)
    assert written.problems == ()
    assert proposals_of(read_analysis(story.root, written.id)) == analyst.collected.analysis.proposals
    assert (story.root / "fragments" / f"{PASSAGE}.json").read_bytes() == before
    assert not (story.root / "librarian" / "state.json").exists()


def test_an_analysis_is_read_and_updated(story: StoryBuilder, analyst: Host) -> None:
    report(analyst)
    analysis_id = saved(story, analyst).id
    update_analysis(story.root, analysis_id, lambda raw: {**raw, "mine": 1})
    assert read_analysis(story.root, analysis_id)["mine"] == 1
    with pytest.raises(NotFound):
        update_analysis(story.root, "la-nothing", dict)
    with pytest.raises(StonehandError):
        read_analysis(story.root, "../../meta")
    assert latest_analysis(story.root, "pr-one") is None


def test_several_analyses_at_once_lose_nothing(story: StoryBuilder) -> None:
    ids = [f"pr-{name}" for name in ("aaaa", "bbbb", "cccc", "dddd")]
    for fragment_id in ids:
        story.add(fragment_id, "prose", content="Ines.")

    def analyze(fragment_id: str) -> Any:
        host = Host(story.folder(), "main", passage=story.snapshot().get(fragment_id))
        report(host, mentions=MENTIONS[:1], timelineEvents=[{"event": fragment_id}])
        return save_analysis(story.folder(), "main", fragment_id, "Ines.", host.collected.analysis)

    with ThreadPoolExecutor(len(ids)) as pool:
        written = list(pool.map(analyze, ids))
    assert [item.problems for item in written] == [()] * len(ids)
    assert len({item.id for item in written}) == len(ids)
    state = read(story, "librarian/state.json")
    assert sorted(state["recentMentions"]["ch-bafego"]) == ids
    assert sorted(item["fragmentId"] for item in state["timeline"]) == ids
    assert sorted(read(story, "librarian/index.json")["latestByFragmentId"]) == ids


def test_a_file_that_keeps_changing_is_told(
    story: StoryBuilder, analyst: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = story.write("branches/main/librarian/state.json", {"n": 0})
    write, theirs = disk.write_atomic, []

    def busy(path: Path, data: bytes, **options: Any) -> None:
        if path == state:
            theirs.append(len(theirs))
            state.write_bytes(disk.dump_json({"n": len(theirs)}))
        write(path, data, **options)

    monkeypatch.setattr(disk, "write_atomic", busy)
    report(analyst)
    (problem,) = saved(story, analyst).problems
    assert "changed by another program" in problem.message
    assert read(story, "librarian/state.json") == {"n": 5}


# -- accepting what was proposed

PROPOSED = [
    {"op": "append_paragraph", "fragmentId": "ch-bafego", "text": "She curses."},
    {"op": "create_fragment", "type": "knowledge", "name": "Oaths", "content": "Many."},
]


@pytest.fixture
def proposed(story: StoryBuilder, analyst: Host) -> str:
    report(analyst)
    run(analyst, "proposeFragmentChanges", title="Ines", operations=PROPOSED)
    run(analyst, "proposeFragmentChanges", title="Pace", operations=[{**PROPOSED[0], "fragmentId": "gl-tonare"}])
    return str(saved(story, analyst).id)


def proposal_statuses(story: StoryBuilder, analysis_id: str) -> list[str]:
    return [item.status for item in proposals_of(read_analysis(story.root, analysis_id)) if item is not None]


def test_accepting_a_proposal(story: StoryBuilder, proposed: str) -> None:
    folder = story.folder()
    applied = accept_proposal(folder, "main", proposed, 0)
    assert applied.problems == ()
    assert read(story, "fragments/ch-bafego.json")["versions"][0]["reason"] == "librarian-manual-accept"
    made = read(story, f"fragments/{applied.written[1].change.fragment_id}.json")
    assert made["meta"] == {
        "source": "librarian",
        "analysisId": proposed,
        "suggestionIndex": 0,
        "sourceFragmentId": PASSAGE,
    }
    assert proposal_statuses(story, proposed) == ["applied", "open"]
    with pytest.raises(StonehandError, match="the proposal was applied before"):
        accept_proposal(folder, "main", proposed, 0)
    take_back(applied, folder)
    mark_proposal(folder, "main", proposed, 0, "open")
    assert read(story, "fragments/ch-bafego.json")["content"] == "Ines keeps the light."
    assert proposal_statuses(story, proposed) == ["open", "open"]


def test_accepting_because_the_story_says_so(story: StoryBuilder, proposed: str) -> None:
    applied = accept_proposal(story.folder(), "main", proposed, 0, automatic=True)
    made = read(story, f"fragments/{applied.written[1].change.fragment_id}.json")
    assert made["meta"]["autoApplied"] is True
    assert read(story, "fragments/ch-bafego.json")["versions"][0]["reason"] == "librarian-auto-apply"


def test_declining_and_what_is_not_there(story: StoryBuilder, proposed: str) -> None:
    folder = story.folder()
    mark_proposal(folder, "main", proposed, 1, "declined")
    assert proposal_statuses(story, proposed) == ["open", "declined"]
    with pytest.raises(StonehandError, match="the proposal was declined before"):
        accept_proposal(folder, "main", proposed, 1)
    for missing in (2, -1):
        with pytest.raises(NotFound, match="has no proposal"):
            accept_proposal(folder, "main", proposed, missing)
        with pytest.raises(NotFound, match="has no proposal"):
            mark_proposal(folder, "main", proposed, missing, "declined")


def test_a_proposal_that_can_not_be_applied_whole_stays_open(story: StoryBuilder, proposed: str) -> None:
    folder = story.folder()
    (story.root / "fragments" / "ch-bafego.json").unlink()
    applied = accept_proposal(folder, "main", proposed, 0)
    assert [change.kind for change in applied.plan.changes] == ["create"]
    assert proposal_statuses(story, proposed) == ["open", "open"]
    (story.root / "fragments" / "gl-tonare.json").unlink()
    with pytest.raises(StonehandError, match="can be done any more: there is no fragment gl-tonare"):
        accept_proposal(folder, "main", proposed, 1)
