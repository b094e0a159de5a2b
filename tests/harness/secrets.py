"""Generate secrets of all formats at run time, so that no file contains a secret."""

from __future__ import annotations

import base64
import random
import re
import string
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

_LETTERS, _DIGITS = string.ascii_letters, string.digits
_ALPHABETS = {
    "": _LETTERS + _DIGITS,
    "letter": _LETTERS,
    "digit": _DIGITS,
    "hex": _DIGITS + "abcdef",
    "HEX": _DIGITS + "ABCDEF",
    "url": _LETTERS + _DIGITS + "_-",
    "b64": _LETTERS + _DIGITS + "+/",
    "base32": string.ascii_uppercase + "234567",
    "low32": string.ascii_lowercase + "234567",
    "base36": string.ascii_lowercase + _DIGITS,
    "upper36": string.ascii_uppercase + _DIGITS,
    "bech": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
    "symbol": string.ascii_lowercase + _DIGITS + "!@#$%^&*(-_=+)",
}
_ARMOURS = ("", "RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED ")
# name | secret | line with the secret at @@, the secret alone by default; {24:hex}: 24 random characters of an alphabet
_FORMATS = r"""
aws access key id | AKIA{16:base32} | aws_access_key_id = @@
aws sts id | ASIA{16:base32} | key: @@
aws secret key | {40:b64} | aws_secret_access_key = @@
aws secret env | {40:b64} | export AWS_SECRET_ACCESS_KEY=@@
aws secret quoted | {40:b64} | "SecretAccessKey": "@@",
aws session token | {300:b64} | aws_session_token = @@
sendgrid | SG.{22:url}.{43:url} | key @@ here
pypi | pypi-AgEIcHlwaS5vcmc{120:url} | password = @@
twilio api key | SK{32:hex} | TWILIO_API_KEY=@@
twilio auth token | {32:hex} | TWILIO_AUTH_TOKEN=@@
slack webhook | https://hooks.slack.com/services/T{9:upper36}/B{9:upper36}/{24} | url: @@
slack app | xapp-1-A{10:upper36}-{13:digit}-{64:hex}
slack bot | xoxb-{12:digit}-{13:digit}-{24}
slack user | xoxp-{12:digit}-{12:digit}-{12:digit}-{32:hex}
slack config | xoxe.xoxp-1-{160}
stripe live | sk_live_{24}
stripe test | sk_test_{24}
stripe restricted test | rk_test_{24}
stripe long | sk_test_51{97}
stripe webhook | whsec_{32}
google oauth secret | GOCSPX-{28:url} | "client_secret":"@@"
google access | ya29.{100:url}
google refresh | 1//0{60:url} | "refresh_token": "@@"
google api | AIzaSy{33:url}
hugging face | hf_{34:letter}
hugging face org | api_org_{34:letter}
digitalocean | dop_v1_{64:hex}
digitalocean oauth | doo_v1_{64:hex}
npm | npm_{36}
npmrc legacy | {uuid} | //registry.npmjs.org/:_authToken=@@
npmrc auth | {32:b64}== | //registry.example.org/:_auth=@@
azure storage | {85:b64}== | DefaultEndpointsProtocol=https;AccountName=x;AccountKey=@@;EndpointSuffix=core.windows.net
azure sas | {40}%3D | https://x.blob.core.windows.net/c?sv=2022-11-02&ss=b&sig=@@
azure client secret | {3}8Q~{34:url} | AZURE_CLIENT_SECRET=@@
azure devops | {52:low32} | AZURE_DEVOPS_EXT_PAT=@@
service bus | {42:b64}== | Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=@@
postgres url | {16} | postgres://user:@@@db.example.org:5432/x
mysql url | {12}!x | DATABASE_URL=mysql+pymysql://root:@@@10.0.0.1/app
mongodb url | {18} | mongodb+srv://admin:@@@cluster0.abcde.mongodb.net/test
redis url | {18} | redis://:@@@cache.example.org:6379/0
amqp url | {18} | amqp://svc:@@@mq.internal/vh
ado.net | {14}#9 | Server=tcp:x.database.windows.net;Database=a;User ID=sa;Password=@@;Encrypt=True
jdbc | {14} | jdbc:mysql://db/app?user=root&password=@@
odbc pwd | {12} | Driver={SQL Server};Server=x;Uid=sa;Pwd=@@;
libpq | {14} | "host=db user=app password=@@ dbname=x"
bearer header | {40:url} | Authorization: Bearer @@
bearer curl | {40:url} | curl -H 'Authorization: Bearer @@' https://x
basic header | {base64:user:{16}} | Authorization: Basic @@
x-api-key | {32:hex} | -H "X-API-Key: @@"
password quoted | {12}! | password = "@@"
password single | {11} | db_password: '@@'
password word | Tr0ub4dor&3zebra | password = "@@"
password env | {14} | DB_PASSWORD=@@
password yaml | {14} |   password: @@
password json | {14} | "password": "@@"
token yaml | {30} |   token: @@
client secret | {32} | client_secret = "@@"
secret key django | {50:symbol} | SECRET_KEY = 'django-insecure-@@'
api key js | {32} | const apiKey = '@@';
passphrase | {20} | passphrase: "@@"
curl -u | {16} | curl -u admin:@@ https://example.org/api
gitlab pat | glpat-{20:url}
gitlab routable | glpat-{27:url}.01.{9:base36}
gitlab deploy | gldt-{20:url}
gitlab runner | glrt-{20:url}
gitlab trigger | glptt-{40:hex}
gitlab ci job | glcbt-{2:hex}_{20:url}
gitlab feed | glft-{20:url}
gitlab agent | glagent-{50:url}
gitlab oauth | gloas-{64:hex}
gitlab scim | glsoat-{20:url}
gitlab incoming | glimt-{25:url}
gitlab registration | GR1348941{20:url}
github pat | ghp_{36}
github fine | github_pat_{22}_{59}
github app | ghs_{36}
github oauth | gho_{36}
github refresh | ghr_{76}
shopify | shpat_{32:hex}
shopify secret | shpss_{32:hex}
shopify custom | shpca_{32:hex}
shopify private | shppa_{32:hex}
square | sq0atp-{22:url}
square secret | sq0csp-{43:url}
square new | EAAA{60:url} | SQUARE_ACCESS_TOKEN=@@
mailgun | key-{32:hex} | MAILGUN_API_KEY=@@
mailgun new | {32:hex}-{8:hex}-{8:hex} | mailgun key: @@
mailchimp | {32:hex}-us12
mandrill | md-{22:url} | MANDRILL_KEY=@@
databricks | dapi{32:hex}
doppler | dp.pt.{43}
doppler service | dp.st.dev.{43}
linear | lin_api_{40}
linear oauth | lin_oauth_{64:hex}
notion | ntn_{11:digit}{35}
notion old | secret_{43}
figma | figd_{40:url}
grafana service | glsa_{32}_{8:hex}
grafana cloud | glc_eyJ{80}
vault | hvs.{95:url}
vault short | hvs.{24}
vault batch | hvb.{140:url}
vault old | s.{24} | VAULT_TOKEN=@@
terraform | {14}.atlasv1.{67:url}
atlassian | ATATT3xFfGF0{170:url}={8:HEX}
bitbucket app | ATBB{24}{8:HEX}
atlassian old | {24} | JIRA_API_TOKEN=@@
telegram | {10:digit}:AA{33:url}
discord | MT{24}.{6}.{38:url}
discord webhook | {68:url} | https://discord.com/api/webhooks/{18:digit}/@@
cloudflare | {40:url} | CLOUDFLARE_API_TOKEN=@@
cloudflare global | {37:hex} | CF_API_KEY=@@
cloudflare origin ca | v1.0-{24:hex}-{146:hex}
fastly | {32:url} | FASTLY_API_TOKEN=@@
newrelic | NRAK-{27:upper36}
newrelic license | {36:hex}NRAL
newrelic insert | NRII-{32:url}
datadog | {32:hex} | DD_API_KEY=@@
datadog app | {40:hex} | DD_APP_KEY=@@
docker | dckr_pat_{27:url}
docker org | dckr_oat_{32:url}
docker config | {base64:user:{20}} | {"auths": {"https://index.docker.io/v1/": {"auth": "@@"}}}
age | AGE-SECRET-KEY-1{58:bech}
jwt | eyJ{33:url}.eyJ{60:url}.{43:url}
supabase | sbp_{40:hex}
supabase secret | sb_secret_{22:url}_{8:url}
planetscale | pscale_tkn_{43:url}
planetscale pw | pscale_pw_{43:url}
planetscale oauth | pscale_oauth_{43:url}
postman | PMAK-{24:hex}-{34:hex}
pulumi | pul-{40:hex}
sentry org | sntrys_eyJ{100:b64}_{43:b64}
sentry user | sntryu_{64:hex}
okta | 00{40:url} | OKTA_API_TOKEN=@@
okta ssws | 00{40:url} | Authorization: SSWS @@
anthropic | sk-ant-api03-{93:url}AA
anthropic admin | sk-ant-admin01-{93:url}AA
openai old | sk-{20}T3BlbkFJ{20}
openai project | sk-proj-{74:url}T3BlbkFJ{74:url}
openai svc | sk-svcacct-{74:url}T3BlbkFJ{74:url}
openrouter | sk-or-v1-{64:hex}
groq | gsk_{52}
xai | xai-{80}
perplexity | pplx-{48}
replicate | r8_{37:url}
langsmith | lsv2_pt_{32:hex}_{10:hex}
deepseek | sk-{32:hex} | DEEPSEEK_API_KEY=@@
cohere | {40} | COHERE_API_KEY=@@
tavily | tvly-dev-{32}
chroma | ck-{44} | CHROMA_API_KEY=@@
rubygems | rubygems_{48:hex}
crates | cio{32} | token = "@@"
nuget | oy2{43:base36}
clojars | CLOJARS_{60:base36}
netlify | nfp_{36}
vercel | {24} | VERCEL_TOKEN=@@
heroku | HRKU-AA{58:url}
heroku old | {uuid} | HEROKU_API_KEY=@@
fly | Fm1_{180:b64} | FLY_API_TOKEN=@@
artifactory | AKC{70}
dynatrace | dt0c01.{24:upper36}.{64:upper36}
airtable | pat{14}.{64:hex}
asana | 1/{16:digit}:{32:hex} | ASANA_TOKEN=@@
dropbox | sl.B{140:url}
brevo | xkeysib-{64:hex}-{16}
hubspot | pat-na1-{uuid}
facebook | EAACEdEose0cBA{80}
twitter bearer | AAAAAAAAAAAAAAAAAAAAAAMLheAAAAAAA0%2B{60}
easypost | EZAK{54}
buildkite | bkua_{40:hex}
circleci | CCIPAT_{22}_{40:hex}
tailscale | tskey-api-{17}-{32}
onepassword | ops_eyJ{260:b64}
teams webhook | {32:hex} | https://x.webhook.office.com/webhookb2/{uuid}@{uuid}/IncomingWebhook/@@/{uuid}
alibaba | LTAI{20}
launchdarkly | sdk-{uuid}
git url | x-token:{20} | git clone https://@@@example.org/a.git
git url token | {32:hex} | url = https://@@@git.example.org/a.git
pgpass | {16} | db.example.org:5432:app:root:@@
netrc | {16} | machine api.example.org login bob password @@
"""


@dataclass(frozen=True)
class Secret:
    """A secret and a text that contains it."""

    name: str
    value: str
    text: str

    @property
    def lines(self) -> list[str]:
        """Return the lines of the secret; redaction must leave nothing of them."""
        lines = re.split(r"\n|\\n", self.value)
        return [line for line in lines if line and "KEY" not in line and ": " not in line]


def secrets(seed: int) -> Iterator[Secret]:
    """Return a secret of each format; another seed gives other secrets."""
    chance = random.Random(seed)
    for row in _FORMATS.strip().splitlines():
        name, value, line = (*row.split(" | "), "@@")[:3]
        filled = _filled(value, chance)
        yield Secret(name, filled, _filled(line, chance).replace("@@", filled))
    for kind in _ARMOURS:
        key = _armoured(f"{kind}PRIVATE " + "KEY", chance)
        yield Secret(f"{kind}key", key, key)
        yield Secret(f"{kind}key in JSON", key, '{"private_key": "' + key.replace("\n", "\\n") + '"}')
        yield Secret(f"{kind}key in code", key, "\n".join(f'    "{line}\\n"' for line in key.split("\n")))
    key = _armoured("PGP PRIVATE " + "KEY BLOCK", chance, "Version: GnuPG v2\n\n")
    yield Secret("PGP key", key, key)
    body = "\n".join(_filled("{64:b64}", chance) for _ in range(3))
    yield Secret("PuTTY key", body, f"PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 3\n{body}\nPrivate-MAC: 12")
    yield Secret("key without an end", body, "-----BEGIN PRIVATE " + f"KEY-----\n{body}")


def _armoured(kind: str, chance: random.Random, head: str = "") -> str:
    body = "\n".join(_filled(line, chance) for line in ("{64:b64}", "{64:b64}", "{64:b64}", "{30:b64}=="))
    return f"-----{'BEGIN'} {kind}-----\n{head}{body}\n-----{'END'} {kind}-----"


def _filled(template: str, chance: random.Random) -> str:
    def fill(match: re.Match[str]) -> str:
        alphabet = _ALPHABETS[match[2] or ""]
        return "".join(chance.choice(alphabet) for _ in range(int(match[1])))

    text = re.sub(r"\{(\d+)(?::(\w+))?\}", fill, template)
    text = re.sub(r"\{uuid\}", lambda _: str(uuid.UUID(int=chance.getrandbits(128), version=4)), text)
    return re.sub(r"\{base64:([^}]+)\}", lambda match: base64.b64encode(match[1].encode()).decode(), text)
