AUTHZBENCH := bin/authzbench
# Numbers of bindings of the worlds.
BINDINGS   ?= 100,1000,10000

.PHONY: authzbench authzbench-smoke authzbench-programs

# Each program is built by a module of its own, with the versions of its own go.mod. The module of
# the harness follows the go.mod of writ, which it links.
authzbench-programs:
	@for program in openfga:openfga/openfga spicedb:authzed/spicedb cerbos:cerbos/cerbos; do \
		name=$${program%%:*}; module=github.com/$${program#*:}; \
		(cd tests/authzbench/peers/$$name && GO='$(GO)' ../../../../.ci/build.sh ../../../../$(AUTHZBENCH)/$$name $$module/cmd/$$name) || exit 1; \
	done
	@$(GO) build -o $(AUTHZBENCH)/opa github.com/open-policy-agent/opa
	@$(GO) build -o $(AUTHZBENCH)/writ ./cmd/writ
	@cd tests/authzbench && $(GO) build -mod=mod -o ../../$(AUTHZBENCH)/authzbench .

authzbench: authzbench-programs ## measure writ beside OPA, Cerbos, cedar-go, OpenFGA, SpiceDB and RBAC; ONLY=opa,writ some; RESULTS=tests/authzbench writes tables and curves
	@$(AUTHZBENCH)/authzbench -n '$(BINDINGS)' -only '$(ONLY)' $(if $(RESULTS),-results $(RESULTS))

authzbench-smoke: authzbench-programs ## the same systems answer right in a small world
	@cd tests/authzbench && $(GO) vet -mod=mod . && $(GO) test -mod=mod -count=1 -v . -bin $(CURDIR)/$(AUTHZBENCH)
