.PHONY: fleet registry

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
