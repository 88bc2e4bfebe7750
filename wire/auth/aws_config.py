"""The profiles of AWS: `~/.aws/config` and `~/.aws/credentials`, or the files of the variables."""

from __future__ import annotations

import os
from collections.abc import Mapping

from wire.auth.files import home, read
from wire.core.errors import ConfigurationError

Profile = Mapping[str, str]


def profile_name() -> tuple[str, str]:
    """Return the name of the profile, and the variable that names it; empty for none."""
    for variable in ("AWS_PROFILE", "AWS_DEFAULT_PROFILE"):
        if name := os.environ.get(variable, "").strip():
            return name, variable
    return "default", ""


def profile(name: str) -> Profile | None:
    """Return the keys of a profile of both files; `None` if neither has it.

    What is in the file of credentials counts first. Raises `ConfigurationError` for a file that
    cannot be read.
    """
    config, secrets = _sections(config_path(), False), _sections(credentials_path(), True)
    own = config.get("default" if name == "default" else f"profile {name}")
    own = config.get(f"profile {name}") if own is None else own
    theirs = secrets.get(name)
    return None if own is None and theirs is None else {**(own or {}), **(theirs or {})}


def names() -> list[str]:
    """List the names of all profiles."""
    config = _sections(config_path(), False)
    own = [each.removeprefix("profile ") for each in config if not each.startswith("sso-session ")]
    return sorted({*own, *_sections(credentials_path(), True)})


def sso_session(name: str) -> Profile | None:
    """Return the keys of a session of IAM Identity Center; `None` if there is none."""
    return _sections(config_path(), False).get(f"sso-session {name}")


def config_path() -> str:
    """Return the path of the configuration."""
    given = os.environ.get("AWS_CONFIG_FILE", "")
    return os.path.expanduser(given) if given else home(".aws", "config")


def credentials_path() -> str:
    """Return the path of the credentials."""
    given = os.environ.get("AWS_SHARED_CREDENTIALS_FILE", "")
    return os.path.expanduser(given) if given else home(".aws", "credentials")


def _sections(path: str, is_secret: bool) -> dict[str, Profile]:
    import configparser  # few programs read profiles

    try:
        data = read(path, "the file", is_secret=is_secret)
    except FileNotFoundError:
        return {}
    parser = configparser.RawConfigParser(default_section="", strict=False)
    try:
        parser.read_string(data.decode("utf-8-sig"))
    except configparser.Error as cause:
        # Its text has the line, which may be a secret.
        line = getattr(cause, "lineno", None) or next(
            (number for number, _ in getattr(cause, "errors", ())), None
        )
        where = f"{path}, line {line}" if line else path
        problem = ConfigurationError(f"credentials: {where} is no section and no `key = value`")
    except UnicodeDecodeError:
        problem = ConfigurationError(f"credentials: {path} is not UTF-8")
    else:
        return {
            " ".join(section.replace('"', " ").replace("'", " ").split()): dict(parser[section])
            for section in parser.sections()
        }
    del data
    raise problem
