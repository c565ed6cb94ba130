package projection

import (
	"slices"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/footprint"
)

// Visibility projects requests at the visibility point. It is immutable.
type Visibility struct {
	groups set // that policies name; nil keeps whole requests
	labels set // of clusters, by which rules select them
}

// NewVisibility returns the projection for a footprint; nil keeps whole requests.
func NewVisibility(f *footprint.Visibility) *Visibility {
	if f == nil {
		return &Visibility{}
	}
	v := &Visibility{groups: setOf(f.Groups), labels: make(set)}
	for label := range f.ClusterLabels {
		v.labels[label] = struct{}{}
	}
	return v
}

// Key returns the projection of the parts of a request that its authorization depends on:
// without groups and labels of the cluster that no policy names. Names stay, because
// entries of a user can be dropped by the name. Labels have their names in the key, so a
// key means the same at every revision.
func (v *Visibility) Key(r *decision.VisibilityRequest) string {
	if v.groups == nil {
		return r.AuthorizationKey()
	}
	reduced := *r
	reduced.Groups = slices.DeleteFunc(slices.Clone(r.Groups), func(group string) bool { return !v.groups.has(group) })
	if len(r.Cluster.Labels) > 0 {
		reduced.Cluster.Labels = make(map[string]string)
		for label, value := range r.Cluster.Labels {
			if v.labels.has(label) {
				reduced.Cluster.Labels[label] = value
			}
		}
	}
	return reduced.AuthorizationKey()
}
