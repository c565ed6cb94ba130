# Needs Go, make and git. All other tools are pinned by `tool` lines in go.mod, or in
# .ci/tools/go.mod where their dependencies do not belong in writ's.

GO          ?= go
LISTEN      ?= 127.0.0.1:8686
PROGRAM     ?= bin/writ
FUZZTIME    ?= 1m
LOADTIME    ?= 3m
REQUESTS    ?= 40000
WORLDS      ?= 10
GATEWAYS    ?= 24
HIERARCHIES ?= 1000
RELEASE     ?= bin/release
# Numbers of roles and bindings that are measured, and of those with which writ is measured alone.
SIZES       ?= 100,10000,100000
ALONE       ?=

# SEED is where random worlds and requests begin. The gate has the same for everybody, so that
# the same commit has the same result; `make soak` and `make real` begin anew each time and
# print it. `make agreement SEED=...` repeats one.
ifndef SEED
SEED := $(if $(filter soak real,$(MAKECMDGOALS)),$(shell date +%s),1795436992)
endif
export SEED

OPA           := $(GO) tool opa
GOLANGCI_LINT := $(GO) tool -modfile=.ci/tools/go.mod golangci-lint

# Tests hold little memory and make much garbage: collecting it seldom, below a limit, saves
# a quarter of their time. golangci runs vet.
TEST_GOGC     ?= 1600
TEST_MEMLIMIT ?= 1200MiB
GO_TEST       := GATE_TESTS=full GOGC=$(TEST_GOGC) GOMEMLIMIT=$(TEST_MEMLIMIT) $(GO) test -vet=off -timeout 30m

# Packages whose work is done by other processes or by one goroutine: comparisons with
# stock OPA, the cases of the built command, servers and editors that run it, the commands,
# the translator, the decisions of an engine, attacks that send one request at a time. The
# race detector finds nothing in them that it does not find in the packages that run the same
# code in parallel (server, server/api, server/envoy, server/reload, the root package), and
# makes them several times as long. A package that is not listed has the race detector.
SEQUENTIAL := ./bundles ./cmd/writ ./cmd/writ/evaluate ./cmd/writ/kubernetes ./cmd/writ/serve ./deploy/... ./rego/... \
	./server/api/kubernetes ./server/api/questions ./server/decision ./server/engine ./server/engine/bounds ./server/engine/match \
	./server/engine/visibility ./server/point ./server/projection ./server/view \
	./tests ./tests/agreement ./tests/authzen ./tests/bench ./tests/bounded ./tests/conformance ./tests/console ./tests/editor \
	./tests/hostile ./tests/opadata ./tests/oracle/... ./tests/page ./tests/pipeline ./tests/prose ./tests/real ./tests/release \
	./tests/serving ./translator ./translator/access/... ./translator/cel/... ./translator/change/... ./translator/deny/... \
	./translator/diag ./translator/emit ./translator/extension ./translator/footprint ./translator/gateway/... \
	./translator/implication ./translator/jsontext ./translator/lint/... ./translator/regotext ./translator/roles \
	./translator/schema/... ./translator/settings ./translator/source/ignore ./translator/source/redirect ./translator/visibility/...

# step names what runs, so that a log says where the time went and what failed.
step = @printf '\n== %s\n'

.DEFAULT_GOAL := help
.PHONY: help run test build lint conform fuzz load golden gen bench bench-change bench-page bench-profiles comment soak release image page pictures deploy real history cluster control-plane e2e-kubernetes oidc krew systemd registry fleet \
	format golangci rego prose vulnerabilities unit agreement kubernetes bundle

help: ## list the targets
	@grep -E '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /\1|/' | \
	while IFS='|' read -r name text; do printf '  %-14s %s\n' "$$name" "$$text"; done

build: ## build bin/writ
	$(GO) build -trimpath -o $(PROGRAM) ./cmd/writ

run: ## serve the example policies and print what to try
	@GO='$(GO)' .ci/build.sh $(PROGRAM)
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

test: lint ## the whole gate, as CI runs it: each package is tested once
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
	$(step) 'unit: go test -race'
	@$(GO_TEST) -race $$($(GO) list ./... | grep -vxF "$$($(GO) list $(SEQUENTIAL))")

agreement:
	$(step) 'agreement: what needs no race detector; engine, stock OPA and oracle in $(WORLDS) random worlds of each kind and $(GATEWAYS) with gateways, SEED=$(SEED)'
	@command -v chromium >/dev/null || printf '%s\n' 'tests/page: NOT TESTED in a browser: chromium not found. apt-get install -y --no-install-recommends chromium'
	@$(GO_TEST) $(filter-out ./tests/agreement,$(SEQUENTIAL))
	@$(GO_TEST) ./tests/agreement -world $(SEED) -worlds $(WORLDS) -deny-worlds $(WORLDS) -visibility-worlds $(WORLDS) \
		-gateway-worlds $(GATEWAYS) -hierarchies $(HIERARCHIES) -edit-worlds 1 -edits 30

# The test cache does not see a command that a test runs.
kubernetes: build
	$(step) 'kubernetes: $(REQUESTS) random requests against its own authorizer, SEED=$(SEED)'
	@cd tests/kubernetes && $(GO) vet ./... && $(GO_TEST) -count=1 . -writ ../../bin/writ -requests $(REQUESTS) -seed $(SEED)

bundle: build
	$(step) 'bundle: stock opa test on the bundle of the examples'
	@rm -rf bin/examples && bin/writ build examples/policies -o bin/examples/
	@$(OPA) test --bundle bin/examples

conform: ## the conformance cases alone
	$(GO) test ./tests/conformance/...

fuzz: ## run every fuzz target for FUZZTIME (1m)
	@FUZZTIME=$(FUZZTIME) .ci/fuzz.sh

load: build ## attack a server that reloads its documents for LOADTIME (3m), with WRK=wrk at full speed
	$(GO) run ./tests/load -writ bin/writ -duration $(LOADTIME) $(if $(WRK),-wrk $(WRK))

page: ## walk through the web console in Chromium, in every size and theme
	$(GO_TEST) -count=1 ./tests/page -everything

pictures: ## make the pictures of the web console, of the examples
	$(GO) test -count=1 ./tests/page -run TestPictures -pictures ../../server/page/pictures

golden: ## rewrite the expected files of golden tests from what is
	$(GO) test ./translator ./cmd/writ -update
	$(GO) test ./tests/console ./server/page -update

# The examples with a proposal and two edits, as a pull request shows their comment.
comment: build ## the comment of a pull request as a picture in docs, rendered by chromium
	@rm -rf bin/comment && mkdir -p bin/comment && cp -r examples/policies bin/comment/a && cp -r examples/policies bin/comment/b
	@cp examples/proposals/shop-admins.yaml bin/comment/b/shop/
	@sed -i 's/resourceNames: \[hammer, shop\]/resourceNames: [hammer, payments, shop]/' bin/comment/b/deny/freeze.yaml
	@sed -i 's/userNames: \[Vera\]/userNames: [Walter]/' bin/comment/b/hammer/project.yaml
	cd bin/comment && ../writ diff a b --point access --fail-on none -o markdown > comment.md
	cd .ci/tools && $(GO) run ./comment < ../../bin/comment/comment.md > ../../bin/comment/comment.html
	chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1000,940 --screenshot=docs/comment.png bin/comment/comment.html

gen: ## regenerate what is generated
	$(GO) generate ./...
	cd tests/kubernetes && $(GO) run ./export

# Benchmarks in the form of benchstat: go test ./tests/bench -run - -bench . -count 10
bench: build ## measure writ beside OPA and Kubernetes' authorizer; RESULTS=tests/bench writes the tables and curves there
	@mkdir -p bin/bench
	$(GO) build -trimpath -o bin/bench/opa github.com/open-policy-agent/opa
	cd tests/kubernetes && $(GO) build -trimpath -o ../../bin/bench/kubernetes ./serve
	$(GO) run ./tests/bench -writ bin/writ -opa bin/bench/opa -kubernetes bin/bench/kubernetes -n '$(SIZES)' $(if $(ALONE),-alone $(ALONE)) $(if $(RESULTS),-results $(RESULTS))

bench-change: build ## measure diff, who-can and the replay of EVENTS (1000000) events; RESULTS=tests/bench writes CHANGE.md there
	$(GO) run ./tests/bench -writ bin/writ -events $(or $(EVENTS),1000000) $(if $(RESULTS),-results $(RESULTS))

bench-page: build ## measure the web console at 10,000 and 100,000 bindings against its budgets
	$(GO) run ./tests/bench -writ bin/writ -page 10000,100000

# Setting the benchmark up is left out. OPA evaluates what documents restrict on goroutines of
# its own, below evaluateOPA.
PROFILES := tests/bench/profiles
bench-profiles: ## write where decisions spend CPU time and memory to tests/bench/profiles
	@mkdir -p $(PROFILES) bin/bench
	@for row in Access/floor Access/^uncached/n=10000 Access/^cached/n=10000 Gateway/^uncached/routes=1000 Gateway/^cached/routes=1000; do \
		name=$$(echo $$row | tr '[:upper:]' '[:lower:]' | cut -d/ -f1-2 | tr / - | tr -d ^); \
		$(GO) test ./tests/bench -run - -bench "$$row$$" -benchtime 3s -o bin/bench/bench.test \
			-cpuprofile bin/bench/cpu.prof -memprofile bin/bench/memory.prof | grep '^Benchmark' > $(PROFILES)/$$name.txt || exit 1; \
		for sample in cpu.prof:cpu memory.prof:alloc_space; do \
			printf '\n%s\n' "$${sample#*:}" >> $(PROFILES)/$$name.txt; \
			$(GO) tool pprof -top -cum -nodecount 40 -sample_index=$${sample#*:} -focus 'b\.loop|\(\*B\)\.runN|evaluateOPA' \
				-ignore 'Activate|Translate|newWorld|WithDenyPolicies' bin/bench/bench.test bin/bench/$${sample%:*} 2>/dev/null \
				| sed -n '/^ *flat/,$$p' >> $(PROFILES)/$$name.txt; \
		done; \
	done

real: build ## check and compare the projects below REAL, whose documents others publish
	$(step) 'real: the projects below $(REAL)'
	@$(GO) test -count=1 ./tests/real -v -writ ../../bin/writ -real $(abspath $(REAL)) -depth $(or $(DEPTH),1)
	$(step) 'real: their RBAC against the authorizer of Kubernetes, SEED=$(SEED)'
	@cd tests/kubernetes && $(GO) test -count=1 . -run Published -v -writ ../../bin/writ -seed $(SEED) \
		-real $(abspath $(REAL)) -depth $(or $(DEPTH),1)

history: ## compare the reports of writ diff over a history of PROJECT, a folder of argo-cd's RBAC documents
	$(step) 'history: each commit around $(PROJECT)'
	@$(GO) test -count=1 ./cmd/writ -run Histories -v -project $(abspath $(PROJECT))

# What the gate runs in small, for hours: a failure prints the seed that repeats it.
soak: build ## run the random tests millions of times, for hours
	$(step) 'soak: SEED=$(SEED)'
	@$(GO_TEST) ./tests/agreement -timeout 24h -world $(SEED) -worlds 2000 -deny-worlds 2000 -visibility-worlds 2000 \
		-gateway-worlds 1000 -hierarchies 1000000 -edit-worlds 50 -edits 200 -process-every 1
	@cd tests/kubernetes && $(GO) test -count=1 -timeout 24h . -writ ../../bin/writ -requests 1000000 -seed $(SEED)
	@$(GO_TEST) -timeout 24h ./translator/change ./translator/change/question -pairs 10000 -seed $(SEED)
	@WRIT_CEL_COMPARISONS=1000000 WRIT_CEL_SEED=$(SEED) $(GO_TEST) -timeout 24h ./translator/cel
	@$(GO_TEST) -race -timeout 24h ./server/reload -reloads 20000 -seed $(SEED)
	@$(GO_TEST) -timeout 24h ./tests/serving -run KilledWhileReloading -kills 500
	@$(GO_TEST) -timeout 24h ./tests/serving -run MemoryUnderAttack -attack 5m
	@$(GO_TEST) -timeout 24h ./tests/serving -run HostileServers -each
	@$(GO_TEST) -timeout 24h ./tests/serving -run FloodsOfHTTP2 -attack 1m -each
	@$(GO_TEST) -timeout 24h ./tests/serving -run ManyFiles -files 100000

# The programs are built once, into bin/e2e, which takes minutes; go build knows when that is
# out of date. kube-apiserver reports its version, which clients check.
KUBERNETES := $(shell sed -n 's/^.k8s.io\/kubernetes \(v[0-9.]*\)$$/\1/p' tests/e2e/go.mod)
E2E        := $(CURDIR)/bin/e2e

control-plane:
	$(step) 'etcd, kube-apiserver and kubectl $(KUBERNETES), from the Go module proxy'
	@mkdir -p $(E2E)
	@for program in etcd:./etcd cluster:./cluster kubectl:k8s.io/kubernetes/cmd/kubectl kube-apiserver:k8s.io/kubernetes/cmd/kube-apiserver; do \
		(cd tests/e2e && GO='$(GO)' ../../.ci/build.sh $(E2E)/$${program%%:*} $${program#*:} \
			-ldflags '-X k8s.io/component-base/version.gitVersion=$(KUBERNETES)') || exit 1; done

# CLUSTER is emptied before each start.
CLUSTER ?= $(CURDIR)/bin/cluster

cluster: build control-plane ## run etcd and kube-apiserver to try writ with, until Ctrl-C; print KUBECONFIG
	$(step) 'cluster: Kubernetes $(KUBERNETES)'
	@exec $(E2E)/cluster -bin $(E2E) -dir $(abspath $(CLUSTER))

e2e-kubernetes: build control-plane ## test a cluster as a source and writ as an authorizer with a real API server
	@rm -rf bin/e2e/charts && mkdir bin/e2e/charts
	@for values in deploy/helm/values/*.yaml; do $(DEPLOY_TOOL) helm template writ deploy/helm/writ --kube-version 1.36.0 \
		--values $$values >bin/e2e/charts/$$(basename $$values) || exit 1; done
	$(step) 'e2e-kubernetes: tests'
	@cd tests/e2e && $(GO) vet ./... && $(GO) test -count=1 -timeout 30m -v . -bin $(E2E) -charts $(E2E)/charts -writ $(CURDIR)/bin/writ

oidc: build ## test callers whose tokens a real OpenID provider issues, with node and npm
	$(step) 'oidc: install oidc-provider, and tests'
	@mkdir -p bin/oidc && cp tests/oidc/provider/* bin/oidc/
	@npm ci --prefix bin/oidc --ignore-scripts --no-audit --no-fund --silent
	@$(GO) test -count=1 -v ./tests/oidc -provider $(CURDIR)/bin/oidc -writ $(CURDIR)/bin/writ

# The registry of the project distribution, built from source into bin/registry.
bin/registry: tests/registry/main.go tests/registry/go.mod
	@mkdir -p bin && cd tests/registry && $(GO) vet . && $(GO) build -trimpath -o ../../bin/registry .

registry: bin/registry ## test pushing the image to a real registry
	$(step) 'registry: the image is pushed to the registry of distribution, and read back'
	@$(GO) test -count=1 -v ./deploy/image -registry $(CURDIR)/bin/registry

# Time is compressed: by default servers poll every 30s.
REPLICAS  ?= 100
REVISIONS ?= 16
EVERY     ?= 20s
POLL      ?= 5s

fleet: bin/registry ## simulate REPLICAS (100) that poll a real registry every POLL (5s), with REVISIONS (16), one each EVERY (20s)
	$(step) 'fleet: $(REPLICAS) replicas, $(REVISIONS) revisions'
	@$(GO) test -count=1 -timeout 2h -v ./tests/fleet -registry $(CURDIR)/bin/registry -replicas $(REPLICAS) -revisions $(REVISIONS) -every $(EVERY) -poll $(POLL)

# The image is built by Go alone. PUSH=REGISTRY/REPOSITORY:TAG pushes it.
IMAGE   ?= bin/image
VERSION ?= $(shell git describe --tags --always --dirty)

image: ## build the OCI image, without a container daemon, into IMAGE (bin/image); PUSH=REFERENCE pushes it
	$(step) 'image: $(VERSION)'
	@VERSION=$(VERSION) .ci/release.sh bin/image.release linux/amd64 linux/arm64
	@$(GO) run ./deploy/image -version $(VERSION) -commit $$(git rev-parse HEAD) -o $(IMAGE) $(if $(PUSH),-push $(PUSH)) \
		linux/amd64=bin/image.release/writ_$(VERSION)_linux_amd64 linux/arm64=bin/image.release/writ_$(VERSION)_linux_arm64

# Both tools are built from the Go module proxy, which takes minutes once.
DEPLOY_TOOL := $(GO) tool -modfile=$(CURDIR)/.ci/deploy/go.mod

deploy: build ## check the chart and the alerts of deploy with helm and promtool
	$(step) 'deploy: helm lint and template, promtool check and test'
	@DEPLOY_TOOL='$(DEPLOY_TOOL)' .ci/deploy.sh

# DOWNLOADS is where the archives can be downloaded, PLUGIN a version such as v1.2.3.
DOWNLOADS ?= https://github.com/writ-policy/writ/releases/download/$(PLUGIN)
PLUGIN    ?= v0.0.0

krew: ## build the kubectl plugin PLUGIN and its krew manifest into bin/krew
	$(step) 'krew: $(PLUGIN)'
	@VERSION=$(PLUGIN) .ci/release.sh bin/krew >/dev/null
	@deploy/krew/plugin.sh bin/krew $(DOWNLOADS) $(PLUGIN)

systemd: build ## check the systemd unit, with systemd-analyze of Debian's package systemd
	$(step) 'systemd: systemd-analyze verify and security'
	@.ci/systemd.sh

release: ## build stripped binaries for each platform, with checksums, into RELEASE (bin/release)
	$(step) 'release'
	@.ci/release.sh $(RELEASE)
