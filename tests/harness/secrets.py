"""Generate secrets of all formats at run time, so that no file contains a secret."""

import base64
import hashlib
import random
import re
import string
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

from lore_etl.files.redaction import bip39_words

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
xml password | {16} | <password>@@</password>
xml weak password | Sommer2024! | <password>@@</password>
xml prefix | {16} | <ds:Password>@@</ds:Password>
xml attribute | {16} | <db:user-password encrypted="false">@@</db:user-password>
xml api key | {32} | <apiKey>@@</apiKey>
xml secret key | {40:b64} | <secretKey>@@</secretKey>
xml passphrase | {20} | <passphrase>@@</passphrase>
xml token | {30} | <authToken type="x">@@</authToken>
xml cdata | {14}] | <password><![CDATA[@@]]></password>
xml unattend | {16} | <AdministratorPassword><Value>@@</Value><PlainText>true</PlainText></AdministratorPassword>
xml add | {24} | <add key="ApiKey" value="@@"/>
xml property | {16} | <property name="hibernate.connection.password">@@</property>
xml property value | {16} | <property name="password" value="@@"/>
xml entry | {16} | <entry key="db.password">@@</entry>
xml android | {32} | <string name="maps_api_key">@@</string>
xml plist | {16} | <key>Password</key><string>@@</string>
xml tomcat | {16} | <user username="admin" password="@@" roles="manager"/>
option password | {16} | app login --user bob --password @@ --force
option password equals | {16} | app login --password=@@
option password quoted | {16} | app login --password '@@'
option weak password | Sommer2024! | app login --password @@
option api key | {32} | app run --api-key @@
option api key equals | {32} | app run --api-key=@@ x
option api key quoted | {32} | app run --api-key="@@" x
option apikey | {32:hex} | nuget push a.nupkg --apikey @@ --source x
option token | {30} | gh-like --token @@
option access token | {30} | app --access-token=@@
option secret | {30} | app --client-secret @@
option passphrase | {20} | gpg --batch --passphrase @@ -c x
option secret key | {40:b64} | s3 --secret-key @@ --access-key x
option array | {16} | ["--password", "@@"]
option array equals | {16} | ["--db-password=@@"]
option powershell | {16} | New-User -Name bob -Password @@
option secure string | {16} | ConvertTo-SecureString "@@" -AsPlainText -Force
option java property | {16} | java -Djavax.net.ssl.keyStorePassword=@@ -jar a.jar
option keytool | {16} | keytool -list -keystore a.jks -storepass @@
option openssl | {16} | openssl rsa -in a.pem -passin pass:@@ -out b.pem
mysql -p | {16} | mysql -u root -p@@ app
mysql -p quoted | {16} | mysql -uroot -p'@@' app
mysql weak | Sommer2024! | mysql -h db -u root -p@@
mysqldump -p | {16} | mysqldump --host db -p@@ app
mariadb -p | {16} | mariadb -u root -p@@
mysqladmin | {16} | docker exec db mysqladmin -uroot -p@@ ping
sshpass -p | {16} | sshpass -p @@ ssh root@host
sshpass joined | {16} | sshpass -p@@ ssh root@host
sshpass quoted | {16} | sshpass -p '@@' ssh root@host
sshpass weak | Sommer2024! | sshpass -p @@ ssh root@host
docker login -p | {20} | docker login -u bob -p @@ registry.example.org
helm login | {20} | helm registry login r.example.org -u bob -p @@
redis -a | {20} | redis-cli -h cache -a @@ ping
sqlcmd -P | {16} | sqlcmd -S db -U sa -P @@ -Q "select 1"
unzip -P | {16} | unzip -P @@ a.zip
7z -p | {16} | 7z x -p@@ a.7z
zip -P | {16} | zip -r -P @@ a.zip a
ldapsearch -w | {16} | ldapsearch -x -D cn=admin -w @@ -b dc=x
smbclient | {16} | smbclient //host/share -U bob%@@
htpasswd | {16} | htpasswd -cb /etc/file bob @@
az login | {34:url} | az login --service-principal -u app -p @@ --tenant t
mongo -p | {16} | mongosh db -u admin -p @@ --authenticationDatabase admin
chpasswd | {16} | echo "bob:@@"|chpasswd
sudo -S | {16} | echo @@|sudo -S apt update
net use | {16} | net use \\host\share /user:bob @@
pgpassword | {16} | PGPASSWORD=@@ psql -h db
wget | {16} | wget --user=bob --password=@@ https://x
sql identified | {16} | CREATE USER 'bob'@'%' IDENTIFIED BY '@@';
sql identified with | {16} | ALTER USER 'root'@'localhost' IDENTIFIED WITH mysql_native_password BY '@@';
sql password | {16} | ALTER ROLE bob WITH LOGIN PASSWORD '@@';
sql login | {16} | CREATE LOGIN bob WITH PASSWORD = '@@';
cookie session | {32} | Cookie: session=@@
cookie of many | {32} | Cookie: theme=dark; sessionid=@@; lang=en
cookie php | {26:base36} | Cookie: PHPSESSID=@@
cookie java | {32:HEX} | Cookie: JSESSIONID=@@
cookie asp | {24:base36} | Cookie: ASP.NET_SessionId=@@
cookie express | s%3A{32:url}.{43} | Cookie: connect.sid=@@
cookie laravel | eyJpdiI6{120} | Cookie: laravel_session=@@
cookie set | {40:url} | Set-Cookie: sid=@@; HttpOnly; Secure
cookie json | {32:hex} | "Cookie": "session=@@",
cookie curl | {32:hex} | curl -H 'Cookie: session=@@' https://x
cookie curl -b | {32:hex} | curl -b "session=@@" https://x
cookie auth | {40:url} | cookie: auth_token=@@
cookie wordpress | bob%7C{10:digit}%7C{43}%7C{64:hex} | Cookie: wordpress_logged_in_{32:hex}=@@
cookie github | {48:url} | Cookie: user_session=@@; logged_in=yes
azure sas html | {42}%3D | <a href="https://x.blob.core.windows.net/c?sv=2022-11-02&amp;sig=@@&amp;se=2030">
azure sas bare | {42:b64}= | sv=2022-11-02&ss=b&sig=@@
azure sas first | {42}%3D | sig=@@&se=2030-01-01
azure sas json | {42}%3D | "sas": "sv=2022-11-02\u0026sig=@@"
azure sas of a service bus | {42}%3d | SharedAccessSignature sr=sb%3a%2f%2fx&sig=@@&se=1700000000&skn=Root
azure sas settings | {42}%3D | SharedAccessSignature=sv=2021-06-08&ss=b&sig=@@
aws presigned | {64:hex} | https://b.s3.amazonaws.com/k?X-Amz-Date=20240101T000000Z&X-Amz-Signature=@@
google presigned | {512:hex} | https://storage.googleapis.com/b/k?X-Goog-Expires=60&X-Goog-Signature=@@
otpauth | {32:base32} | otpauth://totp/Example:bob@example.org?secret=@@&issuer=Example
otpauth short | {16:base32} | otpauth://totp/x?issuer=Example&secret=@@
otpauth hotp | {26:base32} | otpauth://hotp/bob?algorithm=SHA1&secret={26:base32}&counter=1
otpauth html | {32:base32} | otpauth://totp/x?issuer=a&amp;secret=@@
xprv | {base58:0488ade4:74}
tprv | {base58:04358394:74} | key: @@
zprv | {base58:04b2430c:74} | key = "@@"
wif | {base58:80:32}
wif compressed | {base58:80:32:01} | private key: @@
wif of a test network | {base58:ef:32:01} | dumpprivkey → @@
mnemonic of 12 words | {mnemonic:16}
mnemonic of 15 words | {mnemonic:20} | wallet: @@
mnemonic of 18 words | {mnemonic:24} | MNEMONIC="@@"
mnemonic of 21 words | {mnemonic:28} | the recovery phrase is: @@
mnemonic of 24 words | {mnemonic:32} | const mnemonic = '@@';
mnemonic behind words | {mnemonic:16} | please never share this with anybody @@
cloudflare pages | CFPAT-{43:url}
contentful | CFPAT-{43:url} | CONTENTFUL_MANAGEMENT_TOKEN: @@
german password | {16} | Passwort: @@
german weak password | Sommer2024! | Passwort: @@
german password in a line | {16} | Benutzer: bob, Passwort: @@
german quoted | {16} | passwort = "@@"
german other word | {16} | Kennwort: @@
german env | {16} | DB_PASSWORT=@@
french password | {16} | Mot de passe : @@
french word | {16} | motdepasse = '@@'
french short word | {16} | mdp: @@
spanish password | {16} | Contraseña: @@
spanish ascii | {16} | contrasena: @@
portuguese password | {16} | Senha: @@
portuguese other | {16} | Palavra-passe: @@
italian password | {16} | Parola d'ordine: @@
dutch password | {16} | Wachtwoord: @@
polish password | {16} | Hasło: @@
polish ascii | {16} | haslo = "@@"
russian password | {16} | Пароль: @@
russian lower case | {16} | пароль: @@
czech password | {16} | Heslo: @@
hungarian password | {16} | Jelszó: @@
romanian password | {16} | Parolă: @@
turkish password | {16} | Şifre: @@
turkish parola | {16} | parola: @@
greek password | {16} | Κωδικός: @@
swedish password | {16} | Lösenord: @@
danish password | {16} | Adgangskode: @@
norwegian password | {16} | Passord: @@
finnish password | {16} | Salasana: @@
chinese password | {16} | 密码：@@
chinese traditional | {16} | 密碼: @@
japanese password | {16} | パスワード：@@
korean password | {16} | 비밀번호: @@
vietnamese password | {16} | Mật khẩu: @@
indonesian password | {16} | Kata sandi: @@
hindi password | {16} | पासवर्ड: @@
arabic password | {16} | كلمة المرور: @@
hebrew password | {16} | סיסמה: @@
thai password | {16} | รหัสผ่าน: @@
english password in a line | {16} | Login: bob / password: @@
password in a table | {16} | |bob|Password: @@|
password in Markdown | {16} | - **Password**: `@@`
password in Markdown bold | {16} | **Passwort:** @@
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
    text = re.sub(r"\{base58:(\w+):(\d+):?(\w*)\}", lambda match: _base58(match[1], match[2], match[3], chance), text)
    text = re.sub(r"\{mnemonic:(\d+)\}", lambda match: _mnemonic(chance.randbytes(int(match[1]))), text)
    text = re.sub(r"\{uuid\}", lambda _: str(uuid.UUID(int=chance.getrandbits(128), version=4)), text)
    return re.sub(r"\{base64:([^}]+)\}", lambda match: base64.b64encode(match[1].encode()).decode(), text)


def _base58(prefix: str, count: str, suffix: str, chance: random.Random) -> str:
    """Return random bytes between two hexadecimal texts, with their checksum, in base 58."""
    data = bytes.fromhex(prefix) + chance.randbytes(int(count)) + bytes.fromhex(suffix)
    number = int.from_bytes(data + hashlib.sha256(hashlib.sha256(data).digest()).digest()[:4])
    text = ""
    while number:
        number, digit = divmod(number, 58)
        text = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"[digit] + text
    return text


def _mnemonic(entropy: bytes) -> str:
    """Return the words of BIP-39 for some bytes: their bits and those of the checksum, eleven for each word."""
    bits = "".join(f"{byte:08b}" for byte in entropy)
    bits += f"{hashlib.sha256(entropy).digest()[0]:08b}"[: len(entropy) // 4]
    words = [word.decode() for word in bip39_words()]
    return " ".join(words[int(bits[start : start + 11], 2)] for start in range(0, len(bits), 11))
