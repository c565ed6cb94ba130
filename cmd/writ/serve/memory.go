package serve

import (
	"log/slog"
	"os"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// memoryShare is the share of the container's memory that is Go's memory limit. The rest
// is for memory that Go does not count.
const memoryShare = 0.9

// limitMemory sets Go's memory limit from the limit of the container's control group.
// GOMEMLIMIT takes precedence. Without any limit, the process has none.
func limitMemory(log *slog.Logger) {
	if limit, ok := os.LookupEnv("GOMEMLIMIT"); ok {
		log.Info("memory limit", "from", "GOMEMLIMIT", "limit", limit)
		return
	}
	limit, err := memlimit.SetGoMemLimitWithOpts(memlimit.WithRatio(memoryShare))
	switch {
	case err != nil:
		log.Info("no memory limit", "cause", err)
	case limit == 0:
		log.Info("no memory limit", "cause", "the container has none")
	default:
		log.Info("memory limit", "from", "the container", "bytes", limit)
	}
}
