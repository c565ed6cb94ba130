package lower

import "github.com/writ-policy/writ/translator/resolve"

// visibility lowers MonitorAccessPolicies and MetricSources.
func visibility(*resolve.Resolved) *Visibility {
	return &Visibility{Policies: []VisibilityPolicy{}, Sources: []MetricSource{}}
}
