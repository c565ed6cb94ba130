# Needs Go, make and git. All other tools are pinned by `tool` lines in go.mod, or in
# .ci/tools/go.mod where their dependencies do not belong in writ's.

GO          ?= go
LISTEN      ?= 127.0.0.1:8686
PROGRAM     ?= bin/writ
FUZZTIME    ?= 1m
LOADTIME    ?= 3m
RELEASE     ?= bin/release
# EFFORT is how much random tests do: 1 is what `go test ./...` does, 2 the gate, 1000 hours.
ifndef EFFORT
EFFORT := $(if $(filter soak,$(MAKECMDGOALS)),1000,2)
endif
export EFFORT

# SEED is where random worlds and requests begin. The gate has the same for everybody, so that
# the same commit has the same result; `make soak` and `make real` begin anew each time and
# print it. `make agreement SEED=...` repeats one.
ifndef SEED
SEED := $(if $(filter soak real,$(MAKECMDGOALS)),$(shell date +%s),1795436992)
endif
export SEED

# Everything is built as a release is, without C and paths of this folder, so that a machine
# compiles each package once, in whatever folder the repository is; the race detector needs them
# in a form of its own. The tags leave out MessagePack of gin, which is 6 MB of the program, and
# traces of gRPC on a page of its own, which with its templates are 12 MB.
TAGS               := nomsgpack,grpcnotrace
export CGO_ENABLED := 0
export GOFLAGS     := $(filter-out -trimpath -tags=%,$(GOFLAGS)) -trimpath -tags=$(TAGS)

OPA           := $(GO) tool opa
GOLANGCI_LINT := $(GO) tool -modfile=.ci/tools/go.mod golangci-lint

# Tests hold little memory and make much garbage: collecting it seldom, below a limit, saves
# a quarter of their time. golangci runs vet. Each test program is linked anew: without its symbol
# table, which only debuggers read, that takes an eighth less.
TEST_GOGC     ?= 1600
TEST_MEMLIMIT ?= 1200MiB
GO_TEST       := GOGC=$(TEST_GOGC) GOMEMLIMIT=$(TEST_MEMLIMIT) $(GO) test -vet=off -ldflags=-s -timeout 30m

# CONCURRENT are the packages that start goroutines, themselves or in their tests: the race
# detector has something to find in them. It makes others several times as long for nothing.
# Tests of the built command run in other processes, and the command's scripts one by one; the
# goroutines of the translator run in the tests of server/reload, those of its tables in the tests
# of bundles.
CONCURRENT := $$(grep -rlE --include='*.go' '^[[:space:]]+go (func|[[:alpha:]_.]+\()|[.]Go\(' . \
	| grep -vE '^./((tests|bin|[.]ci)/|(cmd/writ|translator|translator/tables)/[^/]*[.]go)' | xargs -n1 dirname | sort -u)

# step names what runs, so that a log says where the time went and what failed.
step = @printf '\n== %s\n'

.DEFAULT_GOAL := help

# What is seldom run stands beside what it runs.
include $(wildcard tests/*/*.mk) deploy/deploy.mk

.PHONY: help run test build lint conform fuzz golden gen release \
	format golangci rego prose vulnerabilities unit agreement kubernetes bundle

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /\1|/' | \
	while IFS='|' read -r name text; do printf '  %-14s %s\n' "$$name" "$$text"; done

build: ## build bin/writ
	$(GO) build -ldflags '-s -w' -o $(PROGRAM) ./cmd/writ

run: ## serve the example policies and print what to try
	@GO='$(GO)' .ci/build.sh $(PROGRAM) ./cmd/writ -ldflags '-s -w'
	@printf '%s\n' \
	'' \
	'Try, in another terminal:' \
	'' \
	'curl -s http://$(LISTEN)/v1/decisions/access -H "Content-Type: application/json" -d '\''{"user":"Edgar","verb":"delete","resource":"deploymentconfigs","namespace":"hammer","labels":{"protected":"yes"}}'\''' \
	'' \
	'curl -s http://$(LISTEN)/apis/authorization.k8s.io/v1/subjectaccessreviews -H "Content-Type: application/json" -d '\''{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"priya","groups":["shop-developers"],"resourceAttributes":{"verb":"list","group":"apps","resource":"deployments","namespace":"shop"}}}'\''' \
	'' \
	'Or ask in a browser: http://$(LISTEN)/page/' \
	'Why the first one is denied: http://$(LISTEN)/page/ask?user=Edgar&verb=delete&resource=deploymentconfigs&namespace=hammer&labels=protected%3A+yes' \
	'' \
	'Change a file below examples/policies and ask again. Ctrl-C stops the server.' \
	''
	@exec $(PROGRAM) serve --policies examples/policies --listen $(LISTEN)

test: ## the whole gate, as CI runs it: each package is tested once
	@$(MAKE) --no-print-directory -j2 lint
	@$(MAKE) --no-print-directory -j2 unit agreement kubernetes bundle
	@printf '\n== passed\n'

lint: format golangci rego prose vulnerabilities ## static checks: format, Go, Rego, language, vulnerabilities

format:
	$(step) 'format: gofmt'
	@bad=$$(gofmt -l .) && if [ -n "$$bad" ]; then printf 'not formatted by gofmt:\n%s\n' "$$bad"; exit 1; fi

golangci:
	$(step) 'golangci: vet, staticcheck and the other linters of .golangci.yml'
	@GOGC=200 $(GOLANGCI_LINT) run ./...

rego:
	$(step) 'rego: stock opa fmt, check with the schemas of input and data, and test on the library'
	@$(OPA) fmt --list --fail rego
	@$(OPA) check --strict --schema rego/schemas rego
	@$(OPA) test --ignore schemas rego

prose:
	$(step) 'prose: the language of comments, messages, names and documents'
	@$(GO) run ./tests/prose

vulnerabilities:
	$(step) 'vulnerabilities: govulncheck, where its database can be reached'
	@.ci/vulnerabilities.sh

unit:
	$(step) 'unit: go test -race, of what starts goroutines'
	@CGO_ENABLED=1 $(GO_TEST) -race $(CONCURRENT)

# The packages with the longest tests begin first: short ones keep both processors busy at the end.
agreement:
	$(step) 'agreement: everything else; engine, stock OPA and oracle in random worlds, EFFORT=$(EFFORT) SEED=$(SEED)'
	@command -v chromium >/dev/null || printf '%s\n' 'tests/page: NOT TESTED in a browser: chromium not found. apt-get install -y --no-install-recommends chromium'
	@$(GO_TEST) $$($(GO) list ./tests/... ./cmd/... ./... | grep -vxF "$$($(GO) list $(CONCURRENT))")

# The test cache does not see a command that a test runs.
kubernetes: build
	$(step) 'kubernetes: random requests against its own authorizer, EFFORT=$(EFFORT) SEED=$(SEED)'
	@cd tests/kubernetes && $(GO) vet ./... && $(GO_TEST) -count=1 . -writ ../../bin/writ -requests $$(($(EFFORT) * 4000)) -seed $(SEED)

bundle: build
	$(step) 'bundle: stock opa test on the bundle of the examples'
	@rm -rf bin/examples && bin/writ build examples/policies -o bin/examples/
	@$(OPA) test --bundle bin/examples

conform: ## the conformance cases alone
	$(GO) test ./tests/conformance/...

fuzz: ## run every fuzz target for FUZZTIME (1m)
	@FUZZTIME=$(FUZZTIME) .ci/fuzz.sh

golden: ## rewrite the expected files of golden tests from what is
	$(GO) test ./translator ./cmd/writ -update
	$(GO) test ./tests/console ./server/console/page -update

gen: ## regenerate what is generated
	$(GO) generate ./...
	cd tests/kubernetes && $(GO) run ./export

release: ## build stripped binaries for each platform, with checksums, into RELEASE (bin/release)
	$(step) 'release'
	@.ci/release.sh $(RELEASE)
