"""Reading policy files: values, and every rule that a file can break."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from streams.errors import InvalidInput, SettingsError
from streams.policy import COMPATIBLE, STRICT, default_policy, diff, load, policy_of, read
from streams.policy.bundle import Change
from streams.policy.read import MAX_BYTES, file_problems
from streams.settings import Settings
from tests.unit.policy.files import HEAD, policy_file

SHIPPED = Path(__file__).parents[3] / "topology" / "sap" / "constitution.toml"


def problems_of(path: Path) -> list[tuple[str, str]]:
    with pytest.raises(InvalidInput) as refusal:
        read(path)
    return [(problem.rule, problem.path) for problem in refusal.value.problems]


def test_the_policy_of_all_defaults_has_its_id() -> None:
    assert default_policy().canonical == '{"format":1}'
    assert default_policy().id == "3f0a99256beeb89a"


def test_labels_comments_order_and_defaults_do_not_change_the_digest(tmp_path: Path) -> None:
    text = "[sap]\nrate = 6\n[apc.decay]\nmin_score = 0.40\n"
    other = "# twice\n[apc.decay]\nmin_score = 0.4\nmin_samples = 5\n[sap]\nrate = 6.0\n"
    first = read(policy_file(tmp_path, text)).policy
    head = 'format = 1\nname = "b"\nversion = "2"\ndescription = "x"\n'
    second = read(policy_file(tmp_path, other, head)).policy
    assert first.canonical == '{"apc":{"decay":{"min_score":0.4}},"format":1,"sap":{"rate":6}}'
    assert first.digest == second.digest


@pytest.mark.parametrize(
    ("text", "rule", "pointer"),
    [
        ("[apc.decay]\nmin_scor = 1\n", "member_unknown", "/apc/decay/min_scor"),
        ('"apc.decay.mode" = "late"\n', "member_unknown", "/apc.decay.mode"),
        ('["apc.decay"]\nmode = "late"\n', "member_unknown", "/apc.decay"),
        ("apc = 3\n", "member_type", "/apc"),
        ('["a/b~c"]\n', "member_unknown", "/a~1b~0c"),
        ('[apc]\n"decay.mode" = "late"\n', "member_unknown", "/apc/decay.mode"),
        ('[apc]\n"decay\\".mode" = "late"\n', "member_unknown", '/apc/decay".mode'),
        ("[saop]\nhold_s = 5.0\n", "member_type", "/saop/hold_s"),
        ("[saop]\nhold_s = true\n", "member_type", "/saop/hold_s"),
        ("[saop]\nhold_s = 0\n", "number_range", "/saop/hold_s"),
        ("[sap]\nrate = inf\n", "number_range", "/sap/rate"),
        ("[sap]\nrate = nan\n", "number_range", "/sap/rate"),
        ("[sap]\nrate = -1\n", "number_range", "/sap/rate"),
        ('[sap]\nrate = "6"\n', "member_type", "/sap/rate"),
        ("[sap]\nrate = 1.234567890123456\n", "number_precision", "/sap/rate"),
        ("[sap]\nrate = 1e-400\n", "number_precision", "/sap/rate"),
        (f"[sap]\nrate = 1.{'0' * 40}1\n", "number_precision", "/sap/rate"),
        ("[sap]\nrate = 1e1000000\n", "number_range", "/sap/rate"),
        (f"[sap]\nrate = 1e{'9' * 20}\n", "number_range", "/sap/rate"),
        (f"[sap]\nrate = 0x{'f' * 100_000}\n", "number_range", "/sap/rate"),
        (f"{'a.' * 100_000}a = 1\n", "toml_invalid", ""),
        ("[sap]\nsingle_flight = 1\n", "member_type", "/sap/single_flight"),
        ("[sap]\nlearning = 1\n", "member_type", "/sap/learning"),
        ('[sap]\nlearning = "aply"\n', "value_unknown", "/sap/learning"),
        ('[sap]\nconstitution_file = ""\n', "member_type", "/sap/constitution_file"),
        ('[rtes.profile_by_prefix]\n"a" = "x"\n', "value_unknown", "/rtes/profile_by_prefix/a"),
        (
            '[rtes.profile_by_prefix]\n"a,b" = "open"\n',
            "text_invalid",
            "/rtes/profile_by_prefix/a,b",
        ),
        ("[rtes]\nprofile_by_prefix = 1\n", "member_type", "/rtes/profile_by_prefix"),
        ("[summit]\ncritic = 1\n", "member_type", "/summit/critic"),
        ('[[summit.critic]]\nagent = "a"\n', "member_type", "/summit/critic/0"),
        ('[[summit.critic]]\nagent = "A"\ncritic = "b"\n', "text_invalid", "/summit/critic/0"),
        (
            2 * '[[summit.critic]]\nagent = "a"\ncritic = "b"\n',
            "not_unique",
            "/summit/critic/1/agent",
        ),
    ],
)
def test_a_member_that_is_wrong_is_named_by_rule_and_path(
    tmp_path: Path, text: str, rule: str, pointer: str
) -> None:
    assert problems_of(policy_file(tmp_path, text)) == [(rule, pointer)]


@pytest.mark.parametrize(
    ("head", "rule", "pointer"),
    [
        (HEAD.replace("format = 1", ""), "member_missing", "/format"),
        (HEAD.replace("format = 1", "format = 2"), "format_unsupported", "/format"),
        (HEAD.replace("format = 1", "format = true"), "format_unsupported", "/format"),
        (HEAD.replace('name = "fleet"', ""), "member_missing", "/name"),
        (HEAD.replace('"fleet"', "1"), "member_type", "/name"),
        (HEAD.replace("fleet", "-fleet"), "text_invalid", "/name"),
        (HEAD.replace("2026-11-24", "x" * 65), "text_invalid", "/version"),
        (HEAD + f'description = "{"x" * 2001}"\n', "text_invalid", "/description"),
        (HEAD + "x = \n", "toml_invalid", ""),
        (HEAD + f"# {'x' * MAX_BYTES}\n", "bundle_too_large", ""),
    ],
)
def test_a_file_whose_head_or_form_is_wrong_is_refused(
    tmp_path: Path, head: str, rule: str, pointer: str
) -> None:
    assert problems_of(policy_file(tmp_path, head=head)) == [(rule, pointer)]


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert problems_of(tmp_path / "none.toml") == [("file_unreadable", "")]


def test_all_problems_are_reported_by_path(tmp_path: Path) -> None:
    text = "[saop]\nhold_s = 0\n[apc.decay]\nmode = 1\n"
    assert [path for _, path in problems_of(policy_file(tmp_path, text))] == [
        "/apc/decay/mode",
        "/saop/hold_s",
    ]


def test_variables_come_after_the_file_and_defaults_before_it(tmp_path: Path) -> None:
    path = policy_file(tmp_path, "[sap]\nrate = 6\nburst = 2.5\n[saop]\nhold_s = 7\n")
    environment = {"HEADRACE_POLICY": str(path), "HEADRACE_SAOP_HOLD_S": "9"}
    settings = Settings.load({**environment, "HEADRACE_SAP_BURST": ""})
    assert (settings.sap_rate, settings.sap_burst) == (Decimal(6), Decimal("2.5"))
    assert (settings.saop_hold_s, settings.saop_repeats) == (9, 3)
    assert settings.as_work()["SAP_RATE"] == Decimal(6)
    assert policy_of(settings).values == {
        "sap.rate": Decimal(6),
        "sap.burst": Decimal("2.5"),
        "saop.hold_s": 9,
    }


def test_settings_are_not_loaded_with_a_policy_that_has_errors(tmp_path: Path) -> None:
    path = policy_file(tmp_path, "[sap]\nrte = 6\n")
    with pytest.raises(SettingsError, match=r"member_unknown at /sap/rte.*nearest is sap.rate"):
        Settings.load({"HEADRACE_POLICY": str(path)})
    with pytest.raises(SettingsError, match="file_unreadable"):
        load(tmp_path / "none.toml")


def test_a_policy_names_files_beside_it_and_has_their_content(tmp_path: Path) -> None:
    text = '[sap]\nconstitution_file = "c.toml"\nauthorization_file = "a.toml"\n'
    (tmp_path / "c.toml").write_bytes(SHIPPED.read_bytes())
    (tmp_path / "a.toml").write_text('[[allow]]\ncapability = "*"\nkinds = ["user"]\n')
    policy_file_read = read(policy_file(tmp_path, text))
    assert policy_file_read.fields["sap_constitution"] == tmp_path / "c.toml"
    assert file_problems(policy_file_read) == []
    values = policy_file_read.policy.values
    assert values.keys() == {"sap.authorization"}, "the constitution is the shipped one"
    assert values["sap.authorization"]["label"].startswith("0@")
    before = policy_file_read.policy.digest
    (tmp_path / "a.toml").write_text('[[allow]]\ncapability = "x"\nkinds = ["user"]\n')
    assert policy_file_read.policy.digest != before


@pytest.mark.parametrize(
    ("content", "rule"), [("x = 1\n", "constitution_invalid"), (None, "file_unreadable")]
)
def test_a_constitution_that_is_wrong_is_a_problem_of_its_member(
    tmp_path: Path, content: str | None, rule: str
) -> None:
    if content is not None:
        (tmp_path / "c.toml").write_text(content)
    path = policy_file(tmp_path, '[sap]\nconstitution_file = "c.toml"\n')
    problems = file_problems(read(path))
    assert [(each.rule, each.path) for each in problems] == [(rule, "/sap/constitution_file")]


def test_pairs_in_variables_are_tables_in_the_policy() -> None:
    settings = Settings.load(
        {
            "HEADRACE_RTES_PROFILES": "b=open,a=devs,b=devs",
            "HEADRACE_SUMMIT_CRITICS": "z=c,y=c,z=d",
        }
    )
    values = policy_of(settings).values
    assert values["rtes.profile_by_prefix"] == {"a": "devs", "b": "open"}, "as the processor reads"
    assert values["summit.critic"] == [
        {"agent": "y", "critic": "c"},
        {"agent": "z", "critic": "d"},
    ]


def test_a_difference_names_both_values_and_the_rules() -> None:
    changed = policy_of(Settings.load({"HEADRACE_SAOP_REPEATS": "4"}))
    change = Change("saop.repeats", 3, 4, ("observation_repeated",))
    assert diff(default_policy(), changed) == [change]
    assert diff(changed, changed) == []


@pytest.mark.parametrize("member", ["constitution_file", "authorization_file"])
def test_a_named_file_that_cannot_be_read_is_a_problem(tmp_path: Path, member: str) -> None:
    (tmp_path / "deep.toml").write_text(f"a = {'[' * 50_000}{']' * 50_000}\n")
    rules = {"deep.toml": f"{member.removesuffix('_file')}_invalid", "a" * 5000: "file_unreadable"}
    for name, rule in rules.items():
        policy = read(policy_file(tmp_path, f'[sap]\n{member} = "{name}"\n'))
        (problem,) = file_problems(policy)
        assert (problem.rule, problem.path) == (rule, f"/sap/{member}")


def test_the_compatible_policy_has_what_the_first_release_decided_by() -> None:
    changes = diff(default_policy(), read(COMPATIBLE).policy)
    assert {change.path: change.after for change in changes} == {
        "apc.coordination.agent": "observe",
        "apc.coordination.session": "observe",
        "apc.proof.claim": "warn",
        "sap.payload_secrets": "warn",
        "sap.evidence.words": "strict",
    }
    assert load(COMPATIBLE).fields.keys() == {
        "apc_coordination_agent",
        "apc_coordination_session",
        "apc_proof_claim",
        "sap_payload_secrets",
        "sap_evidence_words",
    }


def test_the_strict_policy_turns_on_what_refuses() -> None:
    changes = diff(default_policy(), read(STRICT).policy)
    assert {change.path: change.after for change in changes} == {
        "apc.coordination.agent": "enforce",
        "apc.coordination.session": "enforce",
        "apc.decay.mode": "always",
        "apc.proof.claim": "refuse",
        "apc.proof.eval": "refuse",
        "apc.require_anti_drift": True,
        "asap.recipient_check": "always",
        "asap.skill_check": True,
        "sap.evidence.unknown_severity": "critical",
        "sap.evidence.words": "strict",
        "sap.past_deadline": "timeout",
        "summit.budget_required": True,
    }
    assert all(change.rules for change in changes)
