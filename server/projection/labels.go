package projection

import (
	"maps"
	"slices"

	"github.com/writ-policy/writ/translator/footprint"
)

// maxLabels is how many labels are looked up in a request; with more of them all labels
// of the request are kept.
const maxLabels = 64

// labels are the labels that rules compare, with their values.
type labels struct {
	names  []string // sorted
	values []set
	sorted [][]string // the same
}

func labelsOf(l footprint.Labels) *labels {
	v := &labels{names: slices.Sorted(maps.Keys(l))}
	for _, name := range v.names {
		v.values = append(v.values, setOf(l[name]))
		v.sorted = append(v.sorted, l[name])
	}
	return v
}

// append appends, for each label that rules compare, its value if they name it, else
// whether it is there. Unknown labels differ from none.
func (v *labels) append(b []byte, given map[string]string) []byte {
	if given == nil {
		return append(b, absent)
	}
	if len(v.names) > maxLabels {
		return appendTextMap(b, given)
	}
	b = append(b, unnamed)
	for i, name := range v.names {
		value, found := given[name]
		switch {
		case !found:
			b = append(b, absent)
		case v.values[i].has(value):
			b = appendText(b, value)
		default:
			b = append(b, unnamed)
		}
	}
	return b
}
