# make demo    three people and three simulated scales: a year's days, and a month in two minutes  (ARGS="--days 10 --for 20")
# make test    format check, build, all tests   (ONLY="HubWireTests SamplesTests": builds and runs only these)
# make test-all the same with every plugin, client language, page and fault; make test has one of each
# make attack  hostile programs against a hub, and how it resisted                   (NAMES="importers quiet-listener")
# make torture rounds of kills, failing disks, cut wires, restores and damage      (ROUNDS=300 SEED=1; as root for all of them)
# make steady  runs hub plugin test on each plugin many times, to find flaky behaviour; not on Central, which delivers nothing without a
#              person's consent                                              (TIMES=100 AT_ONCE=4 ONLY="JSONLines SAMI")
# make build   the programs, optimised, in .build/release; they need the Swift of this machine
# make stage   the same programs for machines without Swift, with the libraries that they share, in .build/ship/stage-ARCH
# make deb     packages for Debian and Ubuntu, in .build/ship/deb; amd64 alone so far
# make tarball an archive for other distributions, its components and checksums, in .build/ship/tarball
# make image   a container image and compose.yaml, in .build/ship/image
# make test-ship  installs, upgrades and removes the packages in clean roots, unpacks the tarball, runs the image (needs root; ONLY=trixie)
# make format  formats all Swift sources
# make docs    the documentation of the libraries PluginKit and Samples, as pages in .build/docs/site
# make generated  writes the schemas and the help files of the hub's commands from their declarations (CONTRIBUTING.md)
# make pictures  Docs/Pictures: the page of the demo as Chromium shows it
# make fuzz    coverage-guided fuzzing of the record codec, scales, exports and phones        (SECONDS=300, for each)
# make release a release of the last commit in .build/ship/VERSION: packages, images and client libraries; it tags nothing
#              (COMPARE=1: built twice and compared byte by byte)
# make client-packages  a package of each client library, in .build/ship/clients
# make test-client-packages  the same packages, installed in a clean Debian, each gives a record to a hub   (needs root; HUB=.build/release/hub)
# make packages rewrites .ci/packages.txt, the list of packages that .ci/run checks
# make central three database hosts on this machine, each with its own network and disk  (needs root; Docs/Central.md)
# make test-central  the same hosts, killed, disconnected, frozen and powered off while hubs deliver          (needs root; RECORDS=30000 ONLY="pg power")
# make bench   measures the hub beside C programs, Mosquitto and JetStream    (ONLY=durable RUNS=7; Docs/Benchmarks.md)

.PHONY: demo stage test test-all central central-programs test-central attack torture steady build format lint docs generated pictures fuzz bench packages release setup setup-test client-packages test-client-packages deb tarball image test-ship
.DEFAULT_GOAL := build

# Leaves the symbols for debuggers out.
RELEASE := -c release -Xlinker -s

SOURCES := Package.swift Sources Plugins Simulators Tests Benchmarks/Package.swift Benchmarks/Sources
SECONDS ?= 60

setup:
	@.ci/setup
setup-test:
	@.ci/setup test

# What people run, in one build: a build for each program would plan the package as often.
build: setup
	HUB_TARGETS="$(shell .ci/programs --targets)" swift build $(RELEASE)

# The programs of this machine print the units and the pages of packages for another one.
MACHINE := $(shell dpkg --print-architecture 2>/dev/null)
ARCH ?= $(MACHINE)
stage: setup
	@.ci/setup ship
	for architecture in $(sort $(MACHINE) $(ARCH)); do .ci/ship/stage .build/ship/stage-$$architecture $$architecture || exit 1; done

deb: stage
	.ci/ship/deb .build/ship/stage-$(ARCH) .build/ship/deb $(ARCH)

tarball: stage
	.ci/ship/man .build/ship/stage-$(MACHINE) .build/ship/tarball
	.ci/ship/tarball .build/ship/stage-$(ARCH) .build/ship/tarball $(ARCH)

image: stage
	.ci/ship/image .build/ship/stage-$(ARCH) .build/ship/image $(ARCH)

test-ship: tarball image
	@.ci/setup test-ship
	@.ci/ship/test-deb .build/ship/stage-$(MACHINE) $(ONLY)
	@.ci/ship/test-home-assistant .build/ship/stage-$(MACHINE)/usr/lib/health-hub/bin
	@.ci/ship/test-tarball .build/ship/tarball $(ARCH)
	@.ci/ship/test-image .build/ship/image $(ARCH)

demo: setup
	@.ci/demo $(ARGS)

# Without WRITE_GENERATED these tests compare the files instead.
generated: setup
	WRITE_GENERATED=1 HUB_TARGETS="SystemTests HubCommandTests" swift test --filter '(SystemTests.CommandTableTests|HubCommandTests.HelpTests)/'

# The programs of the demo.
DEMO := hub hub-confine hub-demo hub-scale-sim hub-ihealth-hs3 hub-ihealth-hs4 hub-ihealth-hs5 hub-gap-filler hub-web hub-exist-server hub-exist

test: setup-test lint
ifneq ($(ONLY),)
	HUB_TARGETS="$(ONLY)" swift test --no-parallel
else
	@.ci/workflows
	@.ci/ship/test-release
	swift build --build-tests
	@.ci/docs
	@.ci/tests
endif

# make also gives a target's variables to its prerequisites.
test-all: export HUB_TESTS := all
test-all: test

# The programs that make central and make test-central need.
central-programs: setup
	@.ci/setup central
	for program in hub hub-confine hub-central hub-central-admin; do swift build --product $$program || exit 1; done

central: central-programs
	@[ "$$(id -u)" = 0 ] || { echo "make central needs root: it makes network namespaces and mounts disks" >&2; exit 1; }
	@Tests/Central/cluster up && Tests/Central/cluster whole && Tests/Central/cluster prepare && Tests/Central/cluster look

test-central: central-programs
	@Tests/Central/run $(ONLY)

# Tests the release build. make test-all runs five rounds, in which each fault occurs; make test runs one of them.
torture: setup-test
	for program in hub hub-confine hub-plugin hub-json-lines torture-source torture-sink hub-torture; do swift build $(RELEASE) --product $$program || exit 1; done
	.build/release/hub-torture --rounds $(or $(ROUNDS),10) $(if $(SEED),--seed $(SEED))

# Tests the release build. make test runs a short version of each attack.
attack: setup-test
	for program in hub hub-confine hub-attack; do swift build $(RELEASE) --product $$program || exit 1; done
	.build/release/hub-attack $(NAMES)

# Fails if a plugin is not platinum each time, and prints which rules it broke and how often.
steady: setup-test
	swift build
	failed=; for name in $(or $(ONLY),$(filter-out Central,$(patsubst Plugins/%/sample.conf,%,$(wildcard Plugins/*/sample.conf Plugins/*/*/sample.conf)))); do \
		echo "$$name"; \
		.build/debug/hub-plugin test Plugins/$$name --times $(or $(TIMES),100) --at-once $(or $(AT_ONCE),4) --tier platinum || failed="$$failed $$name"; \
	done; [ -z "$$failed" ] || { echo "not platinum each time:$$failed"; exit 1; }

format:
	swift format format --in-place --parallel --recursive $(SOURCES)

lint:
	swift format lint --strict --parallel --recursive $(SOURCES)

docs: setup
	@.ci/docs

# The pictures of the README; look at them before you commit them.
pictures: setup-test
	@.ci/setup pictures
	for program in $(DEMO); do swift build --product $$program || exit 1; done
	/usr/bin/python3 Tests/SystemTests/Browser/Programs/pictures.py .build/debug Docs/Pictures

fuzz: setup
	swift build --package-path Tests/Fuzz -c release --sanitize fuzzer
	for part in records frames decoders lines hs3 hs4 hs5 hsl tags export zip phones door; do \
		mkdir -p Tests/Fuzz/.build/corpus-$$part; \
		Tests/Fuzz/corpus unpack Tests/Fuzz/Corpora/$$part.txt Tests/Fuzz/.build/seeds-$$part && \
		SWIFT_BACKTRACE=enable=no Tests/Fuzz/.build/release/fuzz-$$part -max_len=4096 -rss_limit_mb=512 -timeout=10 -max_total_time=$(SECONDS) \
			Tests/Fuzz/.build/corpus-$$part Tests/Fuzz/.build/seeds-$$part || exit 1; \
	done

packages:
	.ci/packages >.ci/packages.txt

release:
	@.ci/setup ship
	@ARCHITECTURES="$(ARCHITECTURES)" .ci/ship/release $(if $(COMPARE),--compare)

client-packages:
	@.ci/setup ship
	@.ci/ship/clients

test-client-packages:
	@.ci/setup ship
	@.ci/ship/test-clients $(HUB)

# The programs that the benchmarks measure, and those that measure. The rows of the centre (ONLY=central) need only these.
BENCHED := hub hub-confine hub-central hub-central-admin
BENCHES := --product bench
ifeq ($(filter central%,$(ONLY)),)
BENCHED += hub-apple-health hub-gap-filler hub-plugin hub-json-lines hub-http-ingest hub-web
BENCHES :=
endif

# If a program for comparison cannot be installed, its row in the results says so.
bench: setup
	@.ci/setup bench || echo "going on without them" >&2
	@.ci/setup central || echo "going on without the centre" >&2
	for program in $(BENCHED); do swift build $(RELEASE) --product $$program || exit 1; done
	swift build --package-path Benchmarks -c release $(BENCHES)
	@$(MAKE) -s -C Benchmarks/Programs
	@Benchmarks/.build/release/bench --only "$(ONLY)" --runs "$(or $(RUNS),7)" --records "$(or $(RECORDS),2500000)"
