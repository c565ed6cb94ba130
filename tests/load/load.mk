.PHONY: load

load: build ## attack a server that reloads its documents for LOADTIME (3m), with WRK=wrk at full speed
	$(GO) run ./tests/load -writ bin/writ -duration $(LOADTIME) $(if $(WRK),-wrk $(WRK))
