.PHONY: soak

# What the gate runs in small, for hours: a failure prints the seed that repeats it.
soak: build ## run the random tests millions of times, for hours
	$(step) 'soak: EFFORT=$(EFFORT) SEED=$(SEED)'
	@$(GO_TEST) -timeout 24h ./tests/agreement ./analysis/... ./translator/cel
	@DATABASES=1 FILTER_WORLDS=$$(($(EFFORT) * 4)) $(GO_TEST) -timeout 24h ./tests/filters
	@cd tests/kubernetes && $(GO) test -count=1 -timeout 24h . -writ ../../bin/writ -requests $$(($(EFFORT) * 4000)) -seed $(SEED)
	@CGO_ENABLED=1 $(GO_TEST) -race -timeout 24h ./server/reload
	@$(GO_TEST) -timeout 24h ./tests/serving -run 'KilledWhileReloading|ManyFiles'
	@$(GO_TEST) -timeout 24h ./tests/serving -run MemoryUnderAttack -attack 5m
	@$(GO_TEST) -timeout 24h ./tests/serving -run HostileServers -each
	@$(GO_TEST) -timeout 24h ./tests/serving -run FloodsOfHTTP2 -attack 1m -each
