"""The whole first path: arrange the blocks, edit a script, read the prompt, generate, keep, quit; then the files."""

from __future__ import annotations

import json

from tests.e2e.place import CTRL_END, ENTER, F7, Place, ctrl, edit_block, escape, go_to, row_order

SCRIPT = "return `Slow: ${6 * 7}, ${ctx.story.name}`"


def test_the_first_path(place: Place) -> None:
    before, config = place.files(), place.config
    with place.open() as app:
        assert place.files() == before, "opening writes nothing"
        go_to(app, "House style")
        app.write(b"K")
        names = ("instructions", "House style", "system-fragments", "tools")
        app.wait_for(lambda screen: row_order(screen, *names) == list(names))

        go_to(app, "story-info")
        app.write(b" ")
        app.wait_for(lambda screen: any("✗ story-info" in line and "off" in line for line in screen.split("\n")))

        edit_block(app, "Pacing")
        app.write(F7 + b"\x7f" + SCRIPT.encode())
        app.wait_for("Slow: 42, Foot Passengers")
        escape(app)
        app.wait_for("J/K move")

        app.write(b"p")
        app.wait_for(" go ")
        app.write(CTRL_END + b"/Slow: 42" + ENTER)
        app.wait_for("Slow: 42, Foot Passengers")
        escape(app)
        if "J/K move" not in app.screen():
            escape(app)
        app.wait_for("J/K move")

        app.write(b"g")
        app.wait_for("what should happen next")
        app.write(b"Let the tide turn." + ctrl("g"))
        app.wait_for("writing")
        app.wait_for(lambda screen: sum(map(len, screen.split("\n")[11:-1])) > 60)
        app.write(ctrl("x"))
        app.wait_for("keep it, discard it")
        assert place.passages(".part"), "it is on disk before it is kept"
        app.write(ctrl("s"))
        app.wait_for("kept")
        escape(app)
        app.wait_for("J/K move")
        app.write(b"q")
        assert app.wait() == 0
        assert not place.passages("")

    # The config: what was edited, and nothing else.
    order: list[str] = config["blockOrder"]
    order.remove("cb-h4s9te")
    order.insert(order.index("instructions") + 1, "cb-h4s9te")
    config["overrides"]["story-info"] = {"enabled": False}
    for block in config["customBlocks"]:
        if block["name"] == "Pacing":
            block["content"] = SCRIPT
    saved = place.config
    saved["blockOrder"].remove("writing-brief")  # of the mode the story is not in: a new order is whole for both
    assert saved == config

    after = place.files()
    root = str(place.content.relative_to(place.data))
    changed = {name for name, data in after.items() if before.get(name) != data}
    assert before.keys() <= after.keys()
    (fragment_name,) = (name for name in after.keys() - before.keys() if "/fragments/pr-" in name)
    (log_name,) = (name for name in after.keys() - before.keys() if "/generation-logs/" in name)
    assert changed <= {
        fragment_name,
        log_name,
        f"{root}/agent-blocks/generation.writer.json",
        f"{root}/prose-chain.json",
        f"{root}/associations.json",
        f"{root.partition('/branches/')[0]}/meta.json",
    }

    fragment, log = json.loads(after[fragment_name]), json.loads(after[log_name])
    assert fragment["type"] == "prose" and fragment["content"].strip()
    assert fragment["meta"]["generatedFrom"] == "Let the tide turn."
    chain_before = json.loads(before[f"{root}/prose-chain.json"])["entries"]
    chain = json.loads(after[f"{root}/prose-chain.json"])["entries"]
    assert chain[:-1] == chain_before
    assert chain[-1] == {"proseFragments": [fragment["id"]], "active": fragment["id"]}
    assert log["generatedText"] == fragment["content"] and log["fragmentId"] == fragment["id"]
    assert log["input"] == "Let the tide turn." and log["stopped"] is True
    sent = "".join(message["content"] for message in log["messages"])
    assert "Slow: 42, Foot Passengers" in sent and "Let the tide turn." in sent
    assert sent.index("House style.") < sent.index("Everything in this book") < sent.index("Slow: 42")
