# make quickstart | test | lint | wheel | clean. Everything is installed into .venv, once.
#
# PYTHON    the interpreter to make .venv with (3.11 or newer)
# PIP_ARGS  more arguments for pip, such as an index of CPU builds of torch (README, "Two commands")
# THREADS   cores for quickstart; not given: all usable ones

PYTHON ?= $(shell command -v python3.11 || command -v python3)
PIP_ARGS ?=
THREADS ?=
PYTEST_ARGS ?=

PIP := .venv/bin/python -m pip install $(PIP_ARGS) -c constraints.txt
PINNED := setup.cfg pyproject.toml constraints.txt

.PHONY: quickstart test lint wheel clean

quickstart: .venv/.sample
	.venv/bin/zh-elmo quickstart $(if $(THREADS),--threads $(THREADS))

# Two processes of one thread each: more for two cores than one process of two threads.
test: .venv/.test
	OMP_NUM_THREADS=1 .venv/bin/python -m pytest -q -n 2 -rs $(PYTEST_ARGS)

lint: .venv/.test
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy

wheel: .venv/.test
	rm -rf build dist
	.venv/bin/python -m build

clean:
	rm -rf .venv build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find zh_elmo tests -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/python:
	@test -n "$(PYTHON)" || { echo "zh_elmo needs Python 3.11 or newer; name one: make PYTHON=..." >&2; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else f"zh_elmo needs Python 3.11 or newer, this is {sys.version.split()[0]}; name another: make PYTHON=...")'
	$(PYTHON) -m venv .venv

.venv/.sample: $(PINNED) | .venv/bin/python
	$(PIP) -e '.[sample]'
	touch $@

.venv/.test: $(PINNED) | .venv/bin/python
	$(PIP) -e '.[sample,formats,test]'
	touch $@ .venv/.sample
