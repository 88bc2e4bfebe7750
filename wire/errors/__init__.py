"""The public name of `wire.core.errors`: `import wire.errors` imports that module.

`_PUBLIC_MODULES` in `wire/__init__.py` says so, hence this file is never run. Editors need it as
the source of the stub beside it. `python -m tests.faces` writes both.
"""
