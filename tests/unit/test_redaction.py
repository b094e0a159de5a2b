"""Secrets in documented formats or under telling names are redacted; similar text is not."""

import ast
from collections import Counter
from pathlib import Path

import pytest

from lore_etl.files.redaction import BLOCK_BYTES, RULES, _merged, _scanner, redact, redaction_version
from tests.harness.secrets import Secret, secrets

FORMATS = list(secrets(seed=1))


def test_redaction_is_idempotent_for_more_than_a_hundred_and_fifty_formats() -> None:
    once = redact("\n".join(sample.text for sample in FORMATS))[0]

    assert redact(once) == (once, 0)
    assert len({sample.name for sample in FORMATS}) == len(FORMATS) > 150


@pytest.mark.parametrize("secret", FORMATS, ids=lambda value: value.name)
@pytest.mark.promise(21)
def test_a_secret_is_redacted_and_lines_keep_their_numbers(secret: Secret) -> None:
    text, count = redact(f"before\n{secret.text}\nafter\n")

    assert not [line for line in secret.lines if line in text]
    assert text.count("\n") == secret.text.count("\n") + 3
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "[redacted-" in text
    assert count >= 1


def test_random_secrets_rarely_look_like_words() -> None:
    tried = [secret for seed in range(2, 22) for secret in secrets(seed)]
    missed = Counter(secret.name for secret in tried if any(line in redact(secret.text)[0] for line in secret.lines))

    assert sum(missed.values()) <= len(tried) / 500
    assert max(missed.values(), default=0) <= 2


@pytest.mark.parametrize(
    "code",
    [
        "password = hunter22",
        "password = sha256(raw).hexdigest()",
        "connect('host=a user=b password=hunter22')",
    ],
)
def test_code_in_which_something_is_redacted_keeps_its_syntax(code: str) -> None:
    text, count = redact(code)

    assert count == 1
    assert ast.parse(text)


@pytest.mark.parametrize("secret", FORMATS[:60:7], ids=lambda value: value.name)
@pytest.mark.parametrize("around", ["{}", "é漢 {} 漢", "`{}`", "- {}", "> {}", "\ufeff{}", "a\0b {}", "\ud800 {}"])
def test_the_text_around_a_secret_is_kept(secret: Secret, around: str) -> None:
    before, after = around.split("{}")

    text, _ = redact(f"{before}{secret.text}{after}")

    assert secret.value not in text
    assert text.startswith(before)
    assert text.endswith(after)


@pytest.mark.parametrize("mark", ["\n", " ", "é"])
def test_a_secret_is_found_wherever_a_long_text_is_split(mark: str) -> None:
    secret = next(sample for sample in FORMATS if sample.name == "github pat")
    text = "".join(f"{mark * 997} {secret.value} " for _ in range(5 * BLOCK_BYTES // 1000))

    assert secret.value not in redact(text)[0]


@pytest.mark.parametrize("prefix", ["", "# ", " * ", "    "])
def test_the_first_and_last_line_of_a_private_key_are_kept(prefix: str) -> None:
    key = next(sample for sample in FORMATS if sample.name == "RSA key").value.split("\n")

    text, count = redact("\n".join(prefix + line for line in key))

    kept = [prefix + key[0], *["[redacted-private-key]"] * (len(key) - 2), prefix + key[-1]]
    assert (text.split("\n"), count) == (kept, 1)


@pytest.mark.parametrize(
    ("before", "value", "after"),
    [
        ('password = "', "hunter" + "2", '"'),
        ("DB_PASSWORD=", "Winter" + "2024!", ""),
        ("postgres://admin:", "letmein" + "99", "@db.example.org/x"),
        ("Authorization: Bearer ", "abcdef0123456789" * 2, ""),
        ("AWS_ACCESS_KEY_ID=", "AKIA" + "IOSFODNN7EXAMPLE", ""),
        ("aws_secret_access_key = ", "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEY", ""),
    ],
)
def test_weak_and_well_known_secrets_are_redacted(before: str, value: str, after: str) -> None:
    text, count = redact(before + value + after)

    assert value not in text
    assert (count, text.startswith(before), text.endswith(after)) == (1, True, True)


@pytest.mark.parametrize("mark", ["{} ", "{}\n", "{}, ", '"{}", ', "- {}\n", "{}é "])
def test_the_words_of_a_wallet_are_redacted_in_any_list(mark: str) -> None:
    words = "legal winner thank year wave sausage worth useful legal winner thank yellow".split()

    given = "# My wallet\n\n" + "".join(mark.format(word) for word in words) + "\n" + "Other text. " * 500
    text, _ = redact(given)

    assert text.count("\n") == given.count("\n")
    assert not [word for word in words if word in text]
    assert "# My wallet" in text
    assert text.endswith("Other text. ")


def test_only_the_password_of_an_address_and_also_a_short_last_line_of_a_private_key_are_redacted() -> None:
    begin, end = (f"-----{edge} PRIVATE " + "KEY-----" for edge in ("BEGIN", "END"))

    assert redact("postgres://user:" + "aX3kd9Qz@db.example.org:5432/x")[0].endswith("]@db.example.org:5432/x")
    assert "Zm9vYg" not in redact("\n".join((begin, "Ab3dEf9h" * 8, "Zm9vYg", end)))[0]


def test_of_two_secrets_that_overlap_the_later_one_is_removed_to_its_end() -> None:
    assert list(_merged([(4, 9, "b"), (0, 6, "a"), (2, 3, "c"), (9, 12, "d")])) == [(0, 9, "a"), (9, 12, "d")]


@pytest.mark.parametrize(
    "text",
    [
        "d41d8cd98f00b204e9800998ecf8427e",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "sha512-" + "q7Xv" * 20 + "==",
        "123e4567-e89b-12d3-a456-426614174000",
        "sk-learn, task-runner and AKIA are words; eyJ is not a token",
        "https://example.org:8080/path?user=a@b.c",
        "http://${USER}:${PASSWORD}@host and http://user:<password>@host",
        "postgres://user:password@localhost/x and redis://:secret@localhost",
        "const className = 'Neo.button.Base'; // v11.18.0",
        "npm_config_registry=https://example.org",
        'password = "changeme"',
        'password = "<your password>"',
        "password: ${DB_PASSWORD}",
        "password = os.environ['DB_PASSWORD']",
        "const token = process.env.API_TOKEN;",
        "api_key = get_secret('prod/api-key-2024')",
        'apiKey: "your-api-key-here"',
        'token = "xxxxxxxxxxxxxxxxxxxxxxxx"',
        "password: str = Field(min_length=8)",
        "def login(user, password): return check_password(password)",
        'tokenizer = "cl100k_base"',
        '"max_tokens": 4096, "token_type": "bearer"',
        'secret_name = "projects/alpha/secrets/database"',
        "token: claude-3-5-sonnet-20241022",
        'password_field = "currentPassword2"',
        "The password is Secret123 in none of our tests.",
        "return BasicAuth(username=auth[0], password=auth[1])",
        r"user_info = r'(?:(?P<user>[^\s:/]*)(?::(?P<password>[^\s/]*))?@)?'",
        "connect(user=pair2[0], password=self.pairs2[-1].words[n]), connect(user, password=config2['password'])",
        "Authorization: Bearer <token>",
        'headers = {"Authorization": f"Bearer {token}"}',
        "curl -u user:password https://example.org",
        "gh" + "p_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "<password></password> <password>secret</password> <password>${db.password}</password> <token>{{ t }}</token>",
        '<property name="password" value="%DB_PASSWORD%"/> <passwordField>currentPassword</passwordField>',
        "<input type='password' name='password' value=''> <TokenCount2>12345678</TokenCount2>",
        "  --password string   Password of the user (default: empty)",
        "  -p, --password PASSWORD, --api-key=<key>, --token TOKEN, --secret-file /run/secrets/db2",
        'app login --password $DB_PASSWORD --api-key=${API_KEY} --token "$(cat token1.txt)" --secret {{ .key2 }}',
        "docker login --username bob --password-stdin",
        "docker run -p 8080:8080 -e TOKEN app; ssh -p 2222 root@host",
        "mysql -u root -p app2 and mysql -uroot -p$MYSQL_PWD and mysql -P 3306 --protocol=tcp",
        "sshpass -p $PASS ssh root@host; sshpass -p '<password>' ssh host",
        "Cookie: session=<id>; theme=dark; lang=en-US",
        "cookie: ${sessionCookie}; document.cookie = 'theme=dark'",
        "sig=signature(data) and ?sig=<signature>&se=2030-01-01",
        "otpauth://totp/Example?secret=<secret>&issuer=x and otpauth://totp/x?secret=${secret}",
        "Passwort: <Ihr Passwort>; Passwort: geheim; Mot de passe : obligatoire",
        "password: string; token: Token2; senha: String, contraseña: obligatoria",
        "CREATE USER bob IDENTIFIED BY 'password'; discussions are identified by '#D_kwDOAbc123'",
        "xprv and zprv are prefixes; 5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTK",
        "private key: 5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTK has a wrong checksum",
        "mnemonic: " + "abandon " * 12,
        *(f"wallet: {'word ' * count}" for count in range(12, 40)),
        "A wallet needs strong words from every young person who will never write their phrase into this public place.",
        "-----BEGIN PUBLIC KEY-----\n" + "Ab3dEf9h" * 8 + "\n-----END PUBLIC KEY-----",
    ],
)
def test_hashes_ids_words_and_placeholders_are_left_alone(text: str) -> None:
    assert redact(text) == (text, 0)


@pytest.mark.long  # compiling the rules takes five seconds
def test_compiled_rules_are_kept_in_a_symlinked_cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "disk").mkdir(mode=0o700)
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "secrets").symlink_to(tmp_path / "disk")
    monkeypatch.setenv("LORE_CACHE", str(tmp_path / "cache"))

    _scanner.__wrapped__()

    assert list((tmp_path / "disk").iterdir())


@pytest.mark.parametrize(
    ("line", "other", "is_read_again"),
    [
        ("# They are compiled", "# All are compiled", False),
        ("  # -- documented", "# -- the", False),
        ("AKIA|", "", True),
    ],
)
def test_files_are_read_again_after_a_change_of_the_rules_but_not_of_their_comments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, other: str, is_read_again: bool
) -> None:
    before, text = redaction_version.__wrapped__(), RULES.read_text(encoding="utf-8")
    (tmp_path / "secrets.yml").write_text(text.replace(line, other), encoding="utf-8")
    monkeypatch.setattr("lore_etl.files.redaction.RULES", tmp_path / "secrets.yml")

    assert line in text
    assert (redaction_version.__wrapped__() != before) == is_read_again
