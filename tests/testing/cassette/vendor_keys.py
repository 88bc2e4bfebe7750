"""What keys of vendors look like, told without a pattern: pieces of text, letters and lengths.

Written beside `wire/core/credential_forms.json`, not from it: a test makes keys of these and looks
for them. Pieces are a length with the letter of an alphabet, or a text. The lengths are those of a
key that the vendor gives today.
"""

from __future__ import annotations

import base64
import json
import random
import string

LETTERS = {
    "A": string.ascii_letters + string.digits,
    "U": string.ascii_uppercase + string.digits,
    "L": string.ascii_lowercase + string.digits,
    "W": string.ascii_letters + string.digits + "_",
    "B": string.ascii_letters + string.digits + "-_",
    "P": string.ascii_letters + string.digits + "+/",
    "H": "0123456789abcdef",
    "D": string.digits,
    "Z": "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
}
"""The alphabets: letters and digits in one case or both, base64 of URLs and of MIME, hexadecimal,
digits, base32."""

DESCRIPTIONS = """
Anthropic API           sk-ant-api03- 93B AA
Anthropic admin         sk-ant-admin01- 93B AA
Anthropic OAuth         sk-ant-oat01- 93B AA
OpenAI project          sk-proj- 74B T3BlbkFJ 74B
OpenAI service account  sk-svcacct- 74B T3BlbkFJ 74B
OpenAI old              sk- 20A T3BlbkFJ 20A
OpenAI ephemeral        ek_ 32H
DeepSeek                sk- 32H
Moonshot                sk- 48A
Qwen                    sk- 32H
Stability               sk- 48A
OpenRouter              sk-or-v1- 64H
Langfuse                sk-lf- 8H - 4H - 4H - 4H - 12H
Cerebras                csk- 48L
Google API              AIza 35B
Google AI Studio        AQ. 50B
Google OAuth            ya29. 160B
Google refresh          1//0 98B
Google client secret    GOCSPX- 28B
Gemini Live             auth_tokens/ 64H
Groq                    gsk_ 52A
xAI                     xai- 80A
Hugging Face            hf_ 34A
Hugging Face org        api_org_ 34A
Replicate               r8_ 37A
Fireworks               fw_ 24A
Perplexity              pplx- 48A
NVIDIA                  nvapi- 64B
Together                tgp_v1_ 43B
Voyage                  pa- 43B
ElevenLabs              sk_ 48H
Novita                  sk_ 43B
LlamaCloud              llx- 48A
Friendli                flp_ 48A
RunPod                  rpa_ 46U
Anyscale                esecret_ 26L
Modal id                ak- 22A
Modal secret            as- 22A
Qianfan                 bce-v3/ALTAK- 21A / 40H
Vercel gateway          vck_ 56A
Weights & Biases        wandb_v1_ 60A
LangSmith               lsv2_pt_ 32H _ 10H
Logfire                 pylf_v1_us_ 43A
PostHog                 phx_ 44A
Mem0                    m0- 40A
Pinecone                pcsk_ 6A _ 63A
Tavily                  tvly-dev- 32A
Jina                    jina_ 60A
Firecrawl               fc- 32H
Brave Search            BSA 28B
Apify                   apify_api_ 36A
Browserbase             bb_live_ 27B
E2B                     e2b_ 40H
Daytona                 dtn_ 64H
Context7                ctx7sk- 8H - 4H - 4H - 4H - 12H
Cursor                  crsr_ 64H
Sourcegraph             sgp_ 16H _ 40H
GitHub classic          ghp_ 36A
GitHub OAuth            gho_ 36A
GitHub app              ghs_ 36A
GitHub fine-grained     github_pat_ 22A _ 59A
GitLab                  glpat- 20B
GitLab deploy           gldt- 20B
npm                     npm_ 36A
PyPI                    pypi-AgEIcHlwaS5vcmc 120B
RubyGems                rubygems_ 48H
crates.io               cio 32A
NuGet                   oy2 43L
Docker                  dckr_pat_ 27B
Clojars                 CLOJARS_ 60H
JFrog                   AKCp 69A
SonarQube               squ_ 40H
Buildkite               bkua_ 40H
CircleCI                CCIPAT_ 22A _ 40H
Atlassian               ATATT3xFfGF0 171B = 8U
AWS long                AKIA 16Z
AWS session             ASIA 16Z
Bedrock                 ABSK 109P =
Azure storage           AccountKey= 86P ==
Azure client secret     3A 8Q~ 34B
Azure OpenAI            52A JQQJ99 26A
Alibaba                 LTAI5t 18A
Tencent                 AKID 32A
Yandex                  AQVN 35B
DigitalOcean            dop_v1_ 64H
Heroku                  HRKU- 58B
Fly.io                  fo1_ 43B
Render                  rnd_ 28A
Netlify                 nfp_ 36A
Cloudflare origin       v1.0- 24H - 146H
Databricks              dapi 32H
Pulumi                  pul- 40H
Vault                   hvs. 90B
Terraform               14A .atlasv1. 67B
Doppler                 dp.pt. 43A
Tailscale               tskey-auth- 12A CNTRL- 32A
Prefect                 pnu_ 36A
Supabase secret         sb_secret_ 31B
Supabase access         sbp_ 40H
PlanetScale             pscale_tkn_ 43B
Neon                    napi_ 64L
MongoDB Atlas           mdb_sa_sk_ 40B
Xata                    xau_ 33A
ClickHouse              4b1d 38A
CockroachDB             CCDB1_ 22A _ 40A
Slack bot               xoxb- 12D - 13D - 24A
Slack app               xapp-1- 11U - 13D - 64H
Slack webhook           https://hooks.slack.com/services/ T 10U / B 10U / 24A
Discord webhook         https://discord.com/api/webhooks/ 19D / 68B
Telegram                10D :AA 33B
Twilio                  SK 32H
SendGrid                SG. 22B . 43B
Mailgun                 key- 32H
Resend                  re_ 8A _ 24A
Brevo                   xkeysib- 64H - 16A
Stripe secret           sk_live_ 99A
Stripe restricted       rk_live_ 99A
Stripe webhook          whsec_ 32A
Square                  sq0atp- 22B
Shopify                 shpat_ 32H
Razorpay                rzp_live_ 14A
Paddle                  pdl_live_apikey_ 26L _ 22A _ 3A
Linear                  lin_api_ 40A
Notion                  ntn_ 46A
Notion old              secret_ 43A
Figma                   figd_ 40B
Airtable                pat 14A . 64H
Contentful              CFPAT- 43B
HubSpot                 pat-na1- 8H - 4H - 4H - 4H - 12H
ClickUp                 pk_ 8D _ 32U
Typeform                tfp_ 44B _ 14B
Dropbox                 sl.u. 130B
Facebook                EAAG 180A
Postman                 PMAK- 24H - 34H
Grafana                 glsa_ 32A _ 8H
New Relic               NRAK- 27U
Sentry                  sntryu_ 64H
Dynatrace               dt0c01. 24U . 64U
age                     AGE-SECRET-KEY-1 58U
"""


def _made(form: str, dice: random.Random) -> str:
    pieces = (
        "".join(dice.choices(LETTERS[each[-1]], k=int(each[:-1])))
        if each[-1] in LETTERS and each[:-1].isdigit()
        else each
        for each in form.split()
    )
    return "".join(pieces)


def vendor_keys(dice: random.Random) -> dict[str, str]:
    """The name of each form to a key of it."""
    rows = (row.partition("  ") for row in DESCRIPTIONS.strip().splitlines())
    made = {name: _made(form, dice) for name, _, form in rows}
    claims = json.dumps({"sub": _made("12A", dice)}).encode()
    parts = (b'{"alg":"HS256","typ":"JWT"}', claims)
    begin = ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)
    return made | {"JWT": f"{begin}.{_made('43B', dice)}"}


NAMELESS = {
    "Mistral": "32A", "Cohere": "40A", "Azure": "32H", "Deepgram": "40H", "Together": "64H",
    "AWS secret": "40P", "Exa": "8H - 4H - 4H - 4H - 12H",
    "fal": "8H - 4H - 4H - 4H - 12H : 32H",
}  # fmt: skip


def nameless_keys(dice: random.Random) -> dict[str, str]:
    """Keys without a form of their own: only the name before them tells what they are."""
    return {name: _made(form, dice) for name, form in NAMELESS.items()}
