.PHONY: oidc

oidc: build ## test callers whose tokens a real OpenID provider issues, with node and npm
	$(step) 'oidc: install oidc-provider, and tests'
	@mkdir -p bin/oidc && cp tests/oidc/provider/* bin/oidc/
	@npm ci --prefix bin/oidc --ignore-scripts --no-audit --no-fund --silent
	@$(GO) test -count=1 -v ./tests/oidc -provider $(CURDIR)/bin/oidc -writ $(CURDIR)/bin/writ
