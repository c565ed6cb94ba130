.PHONY: verify-smt

verify-smt: ## compare proofs of assertions with z3, 10,000 in random worlds
	$(step) 'verify-smt: z3'
	@$(GO_TEST) -timeout 2h ./tests/smt -worlds 1000
