"""An invented credential of every kind that imports know."""

from __future__ import annotations

# In parts, so that no scanner takes this file for a leak.
KEYS = {
    "a secret API key": "sk" + "-proj1234567890abcdef",
    "a GitHub token": "gh" + "p_0123456789abcdefABCDEF0123456789abcd",
    "an AWS access key": "AK" + "IAIOSFODNN7EXAMPLE",
    "a PEM block": "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIB",
    "a JSON Web Token": "ey" + "JhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    "a Slack token": "xo" + "xb-123456789012-abcdef",
    "a Google API key": "AI" + "zaSyA-1234567890abcdefghijklmnopqrstu",
    "a GitLab token": "gl" + "pat-abcdefghij0123456789",
    "a Hugging Face token": "hf" + "_abcdefghijklmnopqrstuvwxyz",
    "a bearer token": "Authorization: Bea" + "rer abcdef0123456789abcdef",
    "a password in a URL": "postgres://me:hunter2@db.example/x",
    "an npm token": "np" + "m_" + "a1" * 18,
    "an Azure account key": "AccountName=x;Account" + "Key=" + "a1B2" * 20 + "==",
    "a SendGrid key": "S" + "G.a1B2c3D4e5F6g7H8i9J0k1." + "a1B2c3D4" * 5,
    "an authorization header": "authorization: Bas" + "ic dXNlcjpodW50ZXIy",
}
