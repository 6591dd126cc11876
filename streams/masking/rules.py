"""The masking rules, as data (SAOP guide, 5.4): patterns, and examples that a test runs.

In an example, the text between « and » is replaced.  Examples contain no complete token, so that
no scanner reports this file as a leak: `{36}` stands for 36 letters and digits, `{A16}` for 16
capitals and digits, `{x8}` for 8 hex digits, `{d12}` for 12 digits, and `{b64:…}` for text in
base64.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from streams.masking import vocabulary


class RuleKind(StrEnum):
    """The method by which a rule finds secrets."""

    PATTERN = "pattern"
    URL = "user info of a URL"
    KEY = "value of a key"
    BLOCK = "private key block"


class Rule(NamedTuple):
    """One kind of secret.

    triggers: a text without any of these is not searched; words are the same for its lower case
    without `_`, `.` and `-`.  patterns: the group `secret` is replaced if there is one, else the
    whole match; a pattern that begins with B or NO_LETTER_OR_DIGIT matches only at that boundary.
    masked, unmasked: examples of texts with a secret, and without one.
    """

    name: str
    kind: RuleKind
    meaning: str
    triggers: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    masked: tuple[str, ...] = ()
    unmasked: tuple[str, ...] = ()


# B of the spec: at the start, after a character that no token has, after an escape or `%xx`.
_ESCAPED = r"(?<=\\[nrt])|(?<=%[0-9A-Fa-f][0-9A-Fa-f])"
B = rf"(?:(?<![A-Za-z0-9_-])|{_ESCAPED})"
NO_LETTER_OR_DIGIT = rf"(?:(?<![A-Za-z0-9])|{_ESCAPED})"
GITLAB = ("pat", "oas", "dt", "rt", "rtr", "cbt", "ptt", "ft", "imt", "agent", "soat", "ffct")
_BEGIN, _END = "-----BEGIN", "-----END"

PEM_PRIVATE_KEY = Rule(
    "pem_private_key",
    RuleKind.BLOCK,
    "a whole private key block in one text, or a line of the body of one that is open",
    (_BEGIN,),
    masked=(
        f"key: '«{_BEGIN} PRIVATE KEY-----\\n{{64}}\\n{_END} PRIVATE KEY-----»'",
        f"«{_BEGIN} RSA PRIVATE KEY-----\n{{64}}\n{{20}}==\n{_END} RSA PRIVATE KEY-----»",
        f"a «{_BEGIN} PGP PRIVATE KEY BLOCK----- {{64}} {_END} PGP PRIVATE KEY BLOCK-----» b",
    ),
    unmasked=(
        f"{_BEGIN} PUBLIC KEY-----\\n{{64}}\\n{_END} PUBLIC KEY-----",
        f"{_BEGIN} CERTIFICATE-----",
        f"{_BEGIN} PGP PUBLIC KEY BLOCK-----",
    ),
)
PEM_OPEN = Rule(
    "pem_open",
    RuleKind.BLOCK,
    "from the BEGIN of a private key that does not end on its line, to the line's end",
    (_BEGIN, "[REDACTED:pem_"),
    masked=(
        f"deploy: «{_BEGIN} OPENSSH PRIVATE KEY-----»",
        f"«{_BEGIN} EC PRIVATE KEY----- {{20}}»",
    ),
    unmasked=("an RSA PRIVATE KEY begins with BEGIN",),
)
PEM_CLOSE = Rule(
    "pem_close",
    RuleKind.BLOCK,
    "from the start of the line up to the END of a private key",
    (_END, "[REDACTED:pem_"),
    masked=(
        f"«{{20}}==\\n{_END} RSA PRIVATE KEY-----»\\n', 'x')",
        f"«{_END} PRIVATE KEY-----» done",
    ),
    unmasked=(f"{_END} CERTIFICATE-----",),
)
URL_CREDENTIALS = Rule(
    "url_credentials",
    RuleKind.URL,
    "the user info of a URL, when it has a password or, for http and https, 16 characters",
    ("@",),
    masked=(
        "psql postgres://«app:hunter2»@db.internal:5432/app",
        "redis://«:hunter2»@127.0.0.1:6379/0",
        "https://«user:p@ss»@example.com/x?y=a@b",
        "git+https://«{20}»@example.com/r.git",
        "mysql://«app:pa/ss?w#rd»@db/app",
        "amqp://«u:p%40ss»@mq and http://«u:{8}»@proxy:3128",
    ),
    unmasked=(
        "ssh://git@github.com/org/repo.git",
        "git@github.com:org/repo.git",
        "http://localhost:8080/@scope/name",
        "https://user@example.com/",
        "http://[::1]:8080/a@b",
        "see https://example.com/a or write to me@example.com",
    ),
)
AUTHORIZATION = Rule(
    "authorization",
    RuleKind.KEY,
    "the value of the headers Authorization, Proxy-Authorization, Cookie and Set-Cookie",
    words=("authorization", "cookie"),
    masked=(
        "Authorization: «Digest username=a, response=b»",
        "curl -H 'Cookie: «sid=abc; theme=\"dark\"»' http://127.0.0.1/",
        "< set-cookie: «sid={12}; Path=/; HttpOnly»",
        '{"Proxy-Authorization": "«Bearer {20}»", "x": 1}',
        "GET / HTTP/1.1 Authorization: «Token abc»",
    ),
    unmasked=("Authorization: <token>", "authorization is required", 'Cookie: ""'),
)
BEARER = Rule(
    "bearer",
    RuleKind.PATTERN,
    "what follows the word bearer, with a digit or of at least 20 characters",
    words=("bearer",),
    patterns=(
        r"(?i:bearer)\s+(?=(?P<secret>"
        r"(?:(?=[A-Za-z._~+/-]*+[0-9])[A-Za-z0-9._~+/-]{8,}|[A-Za-z0-9._~+/-]{20,})=*))",
    ),
    masked=("using bearer «abcdefg1»", "Bearer «abcdefghij.klmnopqrst==» ok"),
    unmasked=("bearer authentication", "the bearer token", "Bearer $TOKEN"),
)
BASIC = Rule(
    "basic",
    RuleKind.PATTERN,
    "base64 of text with a colon after the word basic, or as value of a key `auth` or `_auth`",
    words=("basic", "auth"),
    patterns=(r"(?i:basic)\s+(?=(?P<secret>(?=[A-Za-z0-9+/=]{8})[A-Za-z0-9+/]++={0,2}))",),
    masked=(
        "basic «{b64:user:hunter2}»",
        '{"auths": {"r.io": {"auth": "«{b64:me:hunter2}»"}}}',
        "//registry.example/:_auth=«{b64:me:pw}»",
    ),
    unmasked=("basic authentication", "auth: required", "basic {b64:no colon here}"),
)
AWS_KEY = Rule(
    "aws_key",
    RuleKind.PATTERN,
    "an AWS access key id",
    ("AKIA", "ASIA", "ABIA", "ACCA", "A3T"),
    patterns=(NO_LETTER_OR_DIGIT + r"(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}",),
    masked=("id «AKIA{A16}»", "x_«ASIA{A16}»/y", "«A3TX{A16}»"),
    unmasked=("AKIA{A12}", "xAKIA{A16}"),
)
GCP_KEY = Rule(
    "gcp_key",
    RuleKind.PATTERN,
    "a Google API key, access token or client secret",
    ("AIza", "ya29.", "GOCSPX-"),
    patterns=(
        r"AIza[0-9A-Za-z_-]{35}",
        r"ya29\.[0-9A-Za-z._-]{20,}",
        r"GOCSPX-[0-9A-Za-z_-]{20,}",
    ),
    masked=("?key=«AIza{35}»", "«ya29.{40}»", "'«GOCSPX-{28}»'"),
    unmasked=("AIza{20}", "ya29.short", "GOCSPX-"),
)
AZURE_SECRET = Rule(
    "azure_secret",
    RuleKind.PATTERN,
    "an Azure client secret, or the signature in the query of a URL",
    ("Q~", "sig="),
    patterns=(
        r"[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}",
        r"(?:[?&;]|\\u0026|%26)sig=(?P<secret>[A-Za-z0-9%+/=_.~-]{16,})",
    ),
    masked=("«abc8Q~{34}»", "https://a.example/c?sv=1&sig=«{40}%3D»&se=2"),
    unmasked=("abc8Q~short", "?sig=short", "sig={20}"),
)
GITHUB_TOKEN = Rule(
    "github_token",
    RuleKind.PATTERN,
    "a GitHub token",
    ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    patterns=(r"gh[pousr]_[A-Za-z0-9_]{20,}", r"github_pat_[A-Za-z0-9_]{22,}"),
    masked=("remote: «ghp_{36}»", "x«ghs_{36}»", "«github_pat_{22}_{59}»"),
    unmasked=("ghp_short", "ghz_{36}"),
)
GITLAB_TOKEN = Rule(
    "gitlab_token",
    RuleKind.PATTERN,
    "a GitLab token",
    tuple(f"gl{kind}-" for kind in GITLAB),
    patterns=(B + rf"gl(?:{'|'.join(GITLAB)})-[A-Za-z0-9_.-]{{20,}}",),
    masked=("«glpat-{20}»", "a\\n«glrt-{20}»", "%20«glptt-{40}»"),
    unmasked=("glpat-short", "xglpat-{20}", "glxx-{20}"),
)
SLACK_TOKEN = Rule(
    "slack_token",
    RuleKind.PATTERN,
    "a Slack token, or the path of a webhook",
    ("xox", "xapp-", "hooks.slack"),
    patterns=(
        r"xox[a-z]-[A-Za-z0-9-]{10,}",
        r"xapp-[0-9]-[A-Za-z0-9-]{10,}",
        r"hooks\.slack(?:-gov)?\.com\\*/(?P<secret>[A-Za-z0-9/_%.~\\-]*[A-Za-z0-9/_%.~-]{10,})",
    ),
    masked=(
        "«xoxb-{d12}-{24}»",
        "«xapp-1-{A10}-{d12}»",
        "POST https://hooks.slack.com/«services/T{A8}/B{A8}/{24}» 200",
    ),
    unmasked=("xoxb-short", "https://hooks.slack.com/services"),
)
STRIPE_KEY = Rule(
    "stripe_key",
    RuleKind.PATTERN,
    "a Stripe API key or webhook secret",
    ("k_live_", "k_test_", "whsec_"),
    patterns=(
        B + r"[srp]k_(?:live|test)_[A-Za-z0-9]{10,}",
        r"whsec_[A-Za-z0-9+/=]{16,}",
    ),
    masked=("key «sk_live_{24}»", "«rk_test_{24}»", "«whsec_{32}»"),
    unmasked=("task_test_{24}", "sk_live_short", "whsec_short"),
)
NPM_TOKEN = Rule(
    "npm_token",
    RuleKind.PATTERN,
    "an npm access token",
    ("npm_",),
    patterns=(B + r"npm_[A-Za-z0-9]{30,}",),
    masked=("login «npm_{36}»",),
    unmasked=("npm_config_registry", "xnpm_{36}"),
)
PYPI_TOKEN = Rule(
    "pypi_token",
    RuleKind.PATTERN,
    "a PyPI API token",
    ("pypi-AgE",),
    patterns=(r"pypi-AgE[A-Za-z0-9_-]{16,}",),
    masked=("twine upload -p «pypi-AgE{60}»",),
    unmasked=("pypi-AgE", "pypi-server"),
)
PROVIDER_KEY = Rule(
    "provider_key",
    RuleKind.PATTERN,
    "an API key of the forms `sk-…`, `SG.….…` and `hf_…`",
    ("sk-", "SG.", "hf_"),
    patterns=(
        B + r"sk-(?=[A-Za-z_-]*+[0-9])[A-Za-z0-9_-]{20,}",
        B + r"SG\.[A-Za-z0-9_-]{16,}+\.[A-Za-z0-9_-]{16,}",
        B + r"hf_[A-Za-z0-9]{30,}",
    ),
    masked=("«sk-proj-{48}»", "«SG.{22}.{43}»", "«hf_{34}»"),
    unmasked=("task-{24}", "sk-learn-is-not-a-key-at-all", "SG.{22}", "hf_hub_download"),
)
JWT = Rule(
    "jwt",
    RuleKind.PATTERN,
    "a JSON web token",
    ("eyJ",),
    # The second branch skips a run that is no token, so that it is not scanned again.
    patterns=(r"(?P<secret>eyJ[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+){2,4}+)|eyJ[A-Za-z0-9_-]*+",),
    masked=("got «eyJ{20}.eyJ{40}.{43}»", "«eyJ{20}....{16}»"),
    unmasked=("eyJ{20}", "eyJ{20}.{20}", "eyJ.a.b"),
)
ASSIGNMENT = Rule(
    "assignment",
    RuleKind.KEY,
    "a value assigned to a secret key",
    words=("pass", *(word for word in vocabulary.SECRET_ENDINGS if not word.startswith("pass"))),
    masked=(
        "DB_PASSWORD=«hunter2»",
        '{"api_key": "«a b»", "secretKey": «1234»}',
        '{\\"token\\": \\"«a\\\\\\"b»\\", \\"n\\": 1}',
        "  password: «correct horse battery»",
        "login --password «hunter2» --user me",
        "?access_token=«abc»&x=1",
        "AccountKey=«{40}==»;EndpointSuffix=core.windows.net",
        "'db.pass' => '«hunter2»',",
        "dbPass := «hunter2»",
        "os.environ['API_TOKEN'] = '«abc»'",
        "password = b'«hunter2»'",
        'password: str = "«hunter2»"',
        'token ="«unclosed and all the rest»',
    ),
    unmasked=(
        "max_tokens=512",
        "pad_token: <pad>",
        "eos_token_id=2, next_token=abc, cost_per_token: 0.1",
        "SyntaxError: Unexpected token: punc",
        "PWD=/home/me",
        "def login(user: str, password: str, token: Optional[str] = None) -> bool:",
        "password=$PASS secret=${SECRET} token={{ token }} api_key=%KEY%",
        "password=****** token=<your token>",
        "std::token::kind",
        "the token is here and the password there",
        "login --password -v --token env",
        "token = null; secret = ''",
        "--- PASS: TestParse (0.00s)",
        "+ password = (sensitive value)",
    ),
)
HIGH_ENTROPY = Rule(
    "high_entropy",
    RuleKind.KEY,
    "a run of 24 or more random-looking characters assigned to any key",
    masked=("FOO=«{40}»", '{"value": "«{40}»"}', "--data «{32}»"),
    unmasked=(
        "git_commit={40}",
        "github.com/pkg/errors v0.9.1 h1:{43}=",
        '"integrity": "sha512-{64}=="',
        "cls=Alpha12/Beta34_Gamma56-delta78+Epsilon9",
        "path=/usr/lib/Abc1Def2Ghi3Jkl4Mno5",
        "image={40}.png",
        "src: data:image/png;base64,iVBORw0KGgo{60}",
        "digest: sha256:{x64}",
        "root=UUID=0A1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9",
    ),
)
ALL: tuple[Rule, ...] = (
    PEM_PRIVATE_KEY,
    PEM_OPEN,
    PEM_CLOSE,
    URL_CREDENTIALS,
    AUTHORIZATION,
    BEARER,
    BASIC,
    AWS_KEY,
    GCP_KEY,
    AZURE_SECRET,
    GITHUB_TOKEN,
    GITLAB_TOKEN,
    SLACK_TOKEN,
    STRIPE_KEY,
    NPM_TOKEN,
    PYPI_TOKEN,
    PROVIDER_KEY,
    JWT,
    ASSIGNMENT,
    HIGH_ENTROPY,
)
ORDER = {rule.name: number for number, rule in enumerate(ALL)}
