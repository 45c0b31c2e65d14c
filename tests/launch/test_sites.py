"""Site files from the command line: begun, listed, checked."""

import json

from conftest import call


def test_a_site_is_begun_filled_in_and_found_by_its_name(tmp_path):
    env = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    new = call("ligament", "site", "new", "big", cwd=tmp_path, env=env, check=0)
    file = tmp_path / "config/ligament/sites/big.yaml"
    assert str(file) in new.stdout and file.exists()
    again = call("ligament", "site", "new", "big", cwd=tmp_path, env=env, check=2)
    assert "is there already" in again.stderr
    call("ligament", "site", "check", "big", "--offline", cwd=tmp_path, env=env, check=0)
    listed = json.loads(call("ligament", "site", "list", "--json", cwd=tmp_path, env=env, check=0).stdout)
    assert [(one["name"], one["ok"]) for one in listed["sites"]] == [("big", True)]
    call("ligament", "site", "new", "big", "--here", cwd=tmp_path, env=env, check=0)
    listed = json.loads(call("ligament", "site", "list", "--json", cwd=tmp_path, env=env, check=0).stdout)
    assert [one["file"] for one in listed["sites"]] == [
        "sites/big.yaml"], "the project's comes before the user's own"


def test_a_dry_run_prints_the_file_and_writes_nothing(tmp_path):
    env = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    dry = call("ligament", "site", "new", "big", "--dry-run", cwd=tmp_path, env=env, check=0)
    assert dry.stdout.startswith("# How Ligament starts runs at the site big.")
    assert not (tmp_path / "config").exists()


def test_mistakes_are_told_with_their_lines_all_at_once(tmp_path):
    (tmp_path / "sites").mkdir()
    (tmp_path / "sites/bad.yaml").write_text("lancher: slurm\nports: 1-0\n")
    env = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    wrong = call("ligament", "site", "check", "bad", cwd=tmp_path, env=env, check=2)
    assert ("sites/bad.yaml:1:1: error: a site file has no key \"lancher\"; did you mean "
            "\"launcher\"?") in wrong.stderr
    assert "sites/bad.yaml:2:8: error: ports must be a range" in wrong.stderr
    assert "has mistakes" in call("ligament", "site", "list", cwd=tmp_path, env=env, check=0).stdout
    misspelt = call("ligament", "site", "check", "bd", cwd=tmp_path, env=env, check=2)
    assert 'did you mean "bad"?' in misspelt.stderr
