.PHONY: bench bench-change bench-page bench-profiles bench-reach bench-sessions bench-verify

# Numbers of roles and bindings that are measured, and of those with which writ is measured alone.
SIZES       ?= 100,10000,100000
ALONE       ?=

# Benchmarks in the form of benchstat: go test ./tests/bench -run - -bench . -count 10
bench: build ## measure writ beside OPA and Kubernetes' authorizer; RESULTS=tests/bench writes the tables and curves there
	@mkdir -p bin/bench
	$(GO) build -trimpath -o bin/bench/opa github.com/open-policy-agent/opa
	cd tests/kubernetes && $(GO) build -trimpath -o ../../bin/bench/kubernetes ./serve
	$(GO) run ./tests/bench -writ bin/writ -opa bin/bench/opa -kubernetes bin/bench/kubernetes -n '$(SIZES)' $(if $(ALONE),-alone $(ALONE)) $(if $(RESULTS),-results $(RESULTS))

bench-change: build ## measure diff, who-can and the replay of EVENTS (1000000) events; RESULTS=tests/bench writes CHANGE.md there
	$(GO) run ./tests/bench -writ bin/writ -events $(or $(EVENTS),1000000) $(if $(RESULTS),-results $(RESULTS))

bench-verify: build ## measure the proofs of assertions beside a check, after an edit, and mutants; RESULTS=tests/bench writes VERIFY.md there
	$(GO) run ./tests/bench -writ bin/writ -verify $(if $(RESULTS),-results $(RESULTS))

bench-reach: build ## measure paths to administrators, what a change opens, and smaller documents; RESULTS=tests/bench writes REACH.md there
	$(GO) run ./tests/bench -writ bin/writ -reach $(if $(RESULTS),-results $(RESULTS))

bench-sessions: ## measure what 10,000 sessions cost beside 100,000 bindings
	$(GO) run ./tests/bench -sessions 100000

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
