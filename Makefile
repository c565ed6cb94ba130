# Needs Go, make and git. All other tools are pinned by `tool` lines in go.mod.

GO          ?= go
LISTEN      ?= 127.0.0.1:8686
FUZZTIME    ?= 1m
REQUESTS    ?= 100000
WORLDS      ?= 100
GATEWAYS    ?= 20
HIERARCHIES ?= 20000

OPA := $(GO) tool opa

# Tests hold little and make much garbage: collecting it less often takes a quarter of
# their time away.
LAVISH := GOGC=400

# step names what runs, so that a log says where the time went and what failed.
step = @printf '\n== %s\n'

.DEFAULT_GOAL := help
.PHONY: help run test build lint conform fuzz golden gen bench \
	format vet staticcheck rego prose unit agreement kubernetes bundle

help: ## list the targets
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1|/' | \
	while IFS='|' read -r name text; do printf '  %-10s %s\n' "$$name" "$$text"; done

build: ## build bin/writ
	$(GO) build -trimpath -o bin/writ ./cmd/writ

run: build ## serve the example policies and say what to try
	@printf '%s\n' \
	'' \
	'Try, in another terminal:' \
	'' \
	'curl -s http://$(LISTEN)/v1/decisions/access -H "Content-Type: application/json" -d '\''{"user":"Edgar","verb":"delete","resource":"deploymentconfigs","namespace":"hammer","labels":{"protected":"yes"}}'\''' \
	'' \
	'curl -s http://$(LISTEN)/apis/authorization.k8s.io/v1/subjectaccessreviews -H "Content-Type: application/json" -d '\''{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"priya","groups":["shop-developers"],"resourceAttributes":{"verb":"list","group":"apps","resource":"deployments","namespace":"shop"}}}'\''' \
	'' \
	'Change a file below examples/policies and ask again. Ctrl-C stops the server.' \
	''
	@exec bin/writ serve --policies examples/policies --listen $(LISTEN)

test: lint unit agreement kubernetes bundle ## the whole gate: all of the checks, as CI runs them
	@printf '\n== passed\n'

lint: format vet staticcheck rego prose ## static checks: format, vet, staticcheck, Rego, language

format:
	$(step) 'format: gofmt'
	@bad=$$(gofmt -l .) && if [ -n "$$bad" ]; then printf 'not formatted by gofmt:\n%s\n' "$$bad"; exit 1; fi

vet:
	$(step) 'vet: go vet'
	@$(GO) vet ./...

staticcheck:
	$(step) 'staticcheck'
	@$(GO) tool staticcheck ./...

rego:
	$(step) 'rego: stock opa fmt, check and test on the library'
	@$(OPA) fmt --list --fail rego
	@$(OPA) check --strict rego
	@$(OPA) test rego

prose:
	$(step) 'prose: the language of comments, messages, names and documents'
	@$(GO) run ./tests/prose

unit:
	$(step) 'unit: go test -race, conformance, scripts and examples included'
	@$(LAVISH) $(GO) test -race $$($(GO) list ./... | grep -v /tests/agreement)

agreement:
	$(step) 'agreement: engine, stock OPA and a naive oracle in every suite and $(WORLDS) random worlds of each kind, edits of some, broken rules'
	@$(LAVISH) $(GO) test ./tests/agreement -worlds $(WORLDS) -deny-worlds $(WORLDS) -visibility-worlds $(WORLDS) -hierarchies $(HIERARCHIES) -gateway-worlds $(GATEWAYS) -edit-worlds 3 -edits 50

# A command that is run by a test is not seen by the test cache.
kubernetes: build
	$(step) 'kubernetes: $(REQUESTS) random requests against its own authorizer'
	@cd tests/kubernetes && $(GO) vet ./... && $(GO) test -count=1 . -writ ../../bin/writ -requests $(REQUESTS)

bundle: build
	$(step) 'bundle: stock opa test on the bundle of the examples'
	@rm -rf bin/examples && bin/writ build examples/policies -o bin/examples/
	@$(OPA) test --bundle bin/examples

conform: ## the conformance cases alone
	$(GO) test ./tests/conformance/...

# Targets are found, not listed: one nobody entered here would never run. None
# found means that the search is broken.
fuzz: ## run every fuzz target for FUZZTIME (1m)
	@list=$$($(GO) test -list '^Fuzz' ./...) || { printf '%s\n' "$$list"; exit 1; }; \
	targets=$$(printf '%s\n' "$$list" | { \
		names=; while read -r first rest; do \
			case "$$first" in \
			Fuzz*) names="$$names $$first" ;; \
			ok) set -- $$rest; for name in $$names; do echo "$$1 $$name"; done; names= ;; \
			esac; \
		done; }); \
	if [ -z "$$targets" ]; then echo 'no fuzz target found'; exit 1; fi; \
	printf '%s\n' "$$targets" | { status=0; while read -r package name; do \
		printf '\n== fuzz: %s %s\n' "$$package" "$$name"; \
		$(GO) test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) "$$package" </dev/null || status=1; \
	done; exit $$status; }

golden: ## rewrite the expected files of golden tests from what is
	$(GO) test ./translator ./server/metrics ./cmd/writ -update
	$(GO) test ./tests/console -update

gen: ## regenerate what is generated
	$(GO) generate ./...

bench: build ## print the benchmark tables
	$(GO) run ./tests/bench -writ bin/writ
