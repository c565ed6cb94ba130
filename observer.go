package writ

import (
	"time"

	"github.com/writ-policy/writ/server/metrics"
)

// observer calls done after each attempt to load the documents. It ignores everything
// else that reloads report.
type observer struct{ done func() }

func (o observer) Reloaded(result metrics.Result, _ time.Time) {
	if result != metrics.Unchanged {
		o.done()
	}
}

func (observer) ReloadRefused(metrics.Cause) {}
func (observer) Degraded(bool)               {}
func (observer) StateFails(bool)             {}
func (observer) Diagnosed(int, int)          {}
func (observer) Serves(string)               {}
func (observer) ByOPA(map[string]bool)       {}
func (observer) Inherits(metrics.Inherited)  {}
