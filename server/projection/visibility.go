package projection

import (
	"slices"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/footprint"
)

// VisibilityKeys projects requests at the visibility point. It is immutable.
type VisibilityKeys struct {
	groups set // that policies name; nil keeps whole requests
	labels set // of clusters, by which rules select them
}

// NewVisibilityKeys returns the projection for a footprint; nil keeps whole requests.
func NewVisibilityKeys(f *footprint.Visibility) *VisibilityKeys {
	if f == nil {
		return &VisibilityKeys{}
	}
	v := &VisibilityKeys{groups: setOf(f.Groups), labels: make(set)}
	for label := range f.ClusterLabels {
		v.labels[label] = struct{}{}
	}
	return v
}

// VisibilityKey appends the projection of the parts of a request that its authorization depends on:
// without groups and labels of the cluster that no policy names. Names stay, because
// entries of a user can be dropped by the name. Labels have their names in the key, so a
// key means the same at every revision.
func (v *VisibilityKeys) VisibilityKey(b []byte, r *decision.VisibilityRequest) []byte {
	if v.groups == nil {
		return r.AppendKey(b)
	}
	var room [16]string
	reduced := *r
	reduced.Groups = slices.DeleteFunc(append(room[:0], r.Groups...), func(group string) bool { return !v.groups.has(group) })
	if len(r.Cluster.Labels) > 0 {
		reduced.Cluster.Labels = make(map[string]string)
		for label, value := range r.Cluster.Labels {
			if v.labels.has(label) {
				reduced.Cluster.Labels[label] = value
			}
		}
	}
	return reduced.AppendKey(b)
}
