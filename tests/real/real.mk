.PHONY: history real

real: build ## check and compare the projects below REAL, whose documents others publish
	$(step) 'real: the projects below $(REAL)'
	@$(GO) test -count=1 ./tests/real -v -writ ../../bin/writ -real $(abspath $(REAL)) -depth $(or $(DEPTH),1)
	$(step) 'real: their RBAC against the authorizer of Kubernetes, SEED=$(SEED)'
	@cd tests/kubernetes && $(GO) test -count=1 . -run Published -v -writ ../../bin/writ -seed $(SEED) \
		-real $(abspath $(REAL)) -depth $(or $(DEPTH),1)

history: ## compare the reports of writ diff over a history of PROJECT, a folder of argo-cd's RBAC documents
	$(step) 'history: each commit around $(PROJECT)'
	@$(GO) test -count=1 ./cmd/writ -run Histories -v -project $(abspath $(PROJECT))
