# The commands that a user or a developer gives; each says what it does in `make help`.

PYTHON ?= python3
PREFIX ?= /usr/local
VENV := .venv
# The example that `make demo` runs.
EXAMPLE ?= reaction-diffusion
STAMP := $(VENV)/.requirements
CARGO_FLAGS ?= --locked

.PHONY: help build demo test test-tools test-all bench install wheel fmt lint docs clean

help: ## list the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 20

$(STAMP): packaging/requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Ligament needs Python 3.11 or newer; $(PYTHON) is older. Name another with make PYTHON=..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -r packaging/requirements.txt
	@touch $@

build: $(STAMP) ## build the command, the libraries, the Python package and the examples
	cargo build --release $(CARGO_FLAGS) -p ligament-cli -p ligament-capi
	ln -sf libligament.so target/release/libligament.so.0
	@if bindings/java/jdk > /dev/null 2>&1; then bindings/java/build; else \
	  echo "Ligament for Java is not built: there is no JDK of version 22 or newer (set JAVA_HOME)"; fi
	packaging/build-python $(VENV)
	$(MAKE) --no-print-directory -C examples/reaction-diffusion

demo: build ## run an example and draw its picture: EXAMPLE=reaction-diffusion, restenosis or canal
	@$(MAKE) --no-print-directory -C examples/$(EXAMPLE)
	@PATH="$(CURDIR)/$(VENV)/bin:$(CURDIR)/target/release:$$PATH" examples/$(EXAMPLE)/demo.sh

test: build ## run the tests; those whose programs are not installed are skipped
	$(PYTHON) tests/run

test-tools: ## install the programs that the tests need, as root, from Debian's packages
	$(PYTHON) tests/run --all --tools

test-all: build ## also the tests that take long
	$(PYTHON) tests/run --all

bench: build ## measure Ligament beside what a user would pick instead
	benchmarks/run pingpong

install: build ## install under PREFIX: command, library, headers, CMake package, pkg-config file
	packaging/install.sh "$(PREFIX)"

wheel: ## build the Python wheel that is given to others, into dist/
	@PYTHON="$(PYTHON)" packaging/build-wheel dist

fmt: ## format the code
	cargo fmt --all

lint: $(STAMP) ## check format and style
	cargo fmt --all --check
	cargo clippy --release --workspace --all-targets $(CARGO_FLAGS) -- -D warnings

docs: build ## build the documentation as a site, in build/site
	$(VENV)/bin/python docs/site/build build/site
	@echo "the first page is build/site/index.html; to search in it as well, say"
	@echo "  $(PYTHON) -m http.server --bind 127.0.0.1 --directory build/site"

clean: ## remove what was built
	cargo clean
	rm -rf $(VENV) build dist examples/*/build
