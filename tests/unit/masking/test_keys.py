"""Which keys are secret, what parts a key from its value, where values end, which are kept."""

from __future__ import annotations

import json

import pytest

from streams.masking import Masker, vocabulary

MASKER = Masker()
TOKEN = "[REDACTED:assignment]"
SECRET_KEYS = [
    *vocabulary.SECRET_ENDINGS,
    *("DB_PASSWORD", "dbPassword", "db.password", "x-api-key", "API-KEY", "apiKey", "pass-word"),
    *("aws_secret_access_key", "SecretAccessKey", "csrfToken", "id_token", "_authToken"),
    *("pass", "db_pass", "dbPass", "MYSQL_PASS", "smtp.pass", "SECRET_KEY_BASE", "X-Vault-Token"),
    *("developer_token", "launchpad_token", "userpasswd", "STORAGE_ACCOUNT_KEY", "k8s.master-key"),
]
OTHER_KEYS = [
    *("tokens", "max_tokens", "secrets", "credentials", "passport", "bypass", "compass", "PASSED"),
    *("password_hash", "token_type", "secret_name", "public_key", "primary_key", "key", "user"),
    *(f"{word}_token" for word in (*vocabulary.VOCABULARY, *vocabulary.COUNTED)),
    *(f"my.{word}Token" for word in (*vocabulary.VOCABULARY, *vocabulary.COUNTED)),
    *(f"page{word.title()}Token" for word in vocabulary.COUNTED),
    *("cost_per_token", "costpertoken", "msPerToken", "NEXT_TOKEN", "firsttoken"),
]
SEPARATORS = ["=", ":", "=>", ":=", "==", " = ", " : ", " => ", "\t:=\t", "= ", ": "]
KEPT = [
    *("", "null", "None", "NIL", "undefined", "true", "False", "str", "String", "bytes"),
    *("****", "••••", "xxxx", "XXXX", "...", "***.", "{}", "[]", "()", "-", "{},", "!?"),
    *("$NAME", "$1", "${NAME}", "${NAME:-}", "${{secrets.NAME}}", "{{name}}", "%NAME%", "<name>"),
    *("[REDACTED:jwt]", "[REDACTED:assignment:0123abcd]"),
]


@pytest.mark.parametrize("key", SECRET_KEYS)
def test_the_value_of_a_secret_key_is_replaced(key: str) -> None:
    assert MASKER.text(f"x {key}=hunter2 y") == f"x {key}={TOKEN} y"
    assert MASKER.text(f'{{"{key}": "hunter2"}}') == f'{{"{key}": "{TOKEN}"}}'


def test_the_verdict_of_a_test_runner_is_no_password() -> None:
    assert MASKER.text("--- PASS: TestParse (0.00s)") == "--- PASS: TestParse (0.00s)"
    assert MASKER.text("PASS=hunter2 pass: hunter2") == f"PASS={TOKEN} pass: {TOKEN}"


@pytest.mark.parametrize("key", OTHER_KEYS)
def test_the_value_of_another_key_is_not(key: str) -> None:
    assert MASKER.text(f"x {key}=hunter2 y") == f"x {key}=hunter2 y"


@pytest.mark.parametrize("separator", SEPARATORS)
def test_separators(separator: str) -> None:
    assert MASKER.text(f"a password{separator}hunter2") == f"a password{separator}{TOKEN}"
    assert MASKER.text(f'"password"{separator}"hunter2"') == f'"password"{separator}"{TOKEN}"'


@pytest.mark.parametrize("between", [" ", "::", "-> ", " is ", ", ", "/", " ~ ", " >= "])
def test_what_is_no_separator(between: str) -> None:
    text = f"the password{between}hunter2"
    assert MASKER.text(text) == text


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("--password hunter2", f"--password {TOKEN}"),
        ("-password hunter2", f"-password {TOKEN}"),
        ("--api-key 'a b'", f"--api-key '{TOKEN}'"),
        ("--password abcdefghijklmnop", f"--password {TOKEN}"),
        ("--password abcdefghijklmno", "--password abcdefghijklmno"),
        ("--password -x", "--password -x"),
        ("--password $PASS", "--password $PASS"),
        ("--password-file secrets7", "--password-file secrets7"),
        ("x--password hunter2", "x--password hunter2"),
    ],
)
def test_flags(text: str, masked: str) -> None:
    assert MASKER.text(f"run {text} now") == f"run {masked} now"


@pytest.mark.parametrize("value", KEPT)
def test_values_that_are_no_secret(value: str) -> None:
    for text in (f"x password={value}", f'x password="{value}"', f"password: {value}"):
        assert MASKER.text(text) == text


@pytest.mark.parametrize("word", [*vocabulary.TYPES, "Optional[str]", "Optional[Secret]", "&str"])
@pytest.mark.parametrize("after", [",", ")", "]", ";", " = None", "", " | None"])
def test_types_and_literals_in_code(word: str, after: str) -> None:
    for text in (f"f(token: {word}{after}", f"password: {word}{after}"):
        assert MASKER.text(text) == text


@pytest.mark.parametrize("path", ["/srv/app", "~/x", "C:\\\\x", "C:/x", '"/a b"'])
def test_working_directories_are_no_passwords(path: str) -> None:
    assert MASKER.text(f"PWD={path} OLDPWD={path}") == f"PWD={path} OLDPWD={path}"
    assert MASKER.text("pwd=hunter2") == f"pwd={TOKEN}"


@pytest.mark.parametrize("word", ["unexpected", "Unexpected", "UNEXPECTED"])
def test_an_unexpected_token_is_one_of_a_grammar(word: str) -> None:
    assert MASKER.text(f"x: {word} token: RBRACE") == f"x: {word} token: RBRACE"
    assert MASKER.text(f"x: {word} a token: RBRACE") == f"x: {word} a token: {TOKEN}"


@pytest.mark.parametrize("lead", ["", "  ", "- ", "  - ", "> ", "< ", "+", "\t"])
def test_behind_a_key_that_leads_its_line_all_the_rest_is_the_value(lead: str) -> None:
    assert MASKER.text(f"{lead}password: a b; c") == f"{lead}password: {TOKEN}"
    assert MASKER.text(f"{lead}password: 'a b' c") == f"{lead}password: '{TOKEN}' c"
    assert MASKER.text(f"x {lead}password: a b").endswith(f"password: {TOKEN} b")


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("password=a;b", f"password={TOKEN};b"),
        ("password=a,b}c d", f"password={TOKEN} d"),
        ('{"password": a1,"b": 1}', f'{{"password": {TOKEN},"b": 1}}'),
        ('{"token": {"a": 1}}', '{"token": {"a": 1}}'),
        ('{"token": ["a", 1]}', '{"token": ["a", 1]}'),
        ("x?token=a&b=1#c", f"x?token={TOKEN}&b=1#c"),
        ("a=1&token=b#c", f"a=1&token={TOKEN}#c"),
        ("x password='a\\'b' c", f"x password='{TOKEN}' c"),
        ("x password='a\\\\' c", f"x password='{TOKEN}' c"),
        ("x password='a b", f"x password='{TOKEN}"),
        ('x password="""a "b" c""" d', f'x password="""{TOKEN}""" d'),
        ("x password='''a b", f"x password='''{TOKEN}"),
        (r"x password=\"\"\"a\"\"\" d", rf"x password=\"\"\"{TOKEN}\"\"\" d"),
        ("x password=`a b` c", f"x password=`{TOKEN}` c"),
        ('echo "password=ab"', f'echo "password={TOKEN}"'),
        ('x password = get("a b") c', f'x password = {TOKEN}") c'),
        ("password=a password=b", f"password={TOKEN} password={TOKEN}"),
        ("x token: str = 'a'", f"x token: str = '{TOKEN}'"),
    ],
)
def test_where_a_value_ends(text: str, masked: str) -> None:
    assert MASKER.text(text) == masked


@pytest.mark.parametrize("times", range(5))
@pytest.mark.parametrize("secret", ["hunter2", 'a"b\\c', "a'b`c", "\\\\", '\\"', "ü \t{}[]", '"'])
def test_json_in_json_in_json(times: int, secret: str) -> None:
    def wrapped(value: str) -> str:
        text = json.dumps({"password": value, "n": 1})
        for _ in range(times):
            text = json.dumps({"log": text, "m": 2})
        return text

    expected = wrapped(TOKEN if any(map(str.isalnum, secret)) else secret)
    assert MASKER.text(wrapped(secret)) == expected


@pytest.mark.parametrize("colour", ["\x1b[31m", "\x1b[0m", "\x1b[1;38;5;9m", "\x1b[m", "\x1b[K"])
def test_colours_hide_nothing(colour: str) -> None:
    text = f"{colour}pass{colour}word{colour}={colour}hun{colour}ter2{colour} x"
    masked = f"{colour}pass{colour}word{colour}={colour}{TOKEN}{colour} x"
    assert MASKER.text(text) == masked
    assert MASKER.text(masked) == masked
