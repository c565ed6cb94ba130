package statement

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/tables"
)

// HeldBy returns the statements of one caller: what names any of its principals names the
// first one of them, and what names others alone has no subject. So the caller is a single
// principal in a comparison.
func (w *World) HeldBy(principals []string) *World {
	r := w.Whole().Revision
	r.Tables = slices.Clone(r.Tables)
	for i, table := range r.Tables {
		switch t := table.(type) {
		case *tables.Access:
			held := *t
			held.Subjects = tables.Subjects{Cluster: heldBy(t.Subjects.Cluster, principals)}
			places := make(map[string]tables.Map[[]string])
			for place, subjects := range t.Subjects.Namespaces.All() {
				if own := heldBy(*subjects, principals); own.Len() > 0 {
					places[place] = own
				}
			}
			held.Subjects.Namespaces = tables.MapOf(places)
			r.Tables[i] = &held
		case *tables.Visibility:
			held := *t
			held.Policies = slices.Clone(t.Policies)
			for j := range held.Policies {
				p := &held.Policies[j]
				names := slices.ContainsFunc(p.SubjectKeys(), func(key string) bool { return slices.Contains(principals, key) })
				p.Users, p.Groups = nil, nil
				if user, isUser := strings.CutPrefix(principals[0], UserPrefix); names && isUser {
					p.Users = []string{user}
				} else if names {
					p.Groups = []string{strings.TrimPrefix(principals[0], GroupPrefix)}
				}
			}
			r.Tables[i] = &held
		}
	}
	return NewWorld(r)
}

func heldBy(subjects tables.Map[[]string], principals []string) tables.Map[[]string] {
	var keys []string
	for _, p := range principals {
		keys = append(keys, subjects.At(p)...)
	}
	if len(keys) == 0 {
		return tables.Map[[]string]{}
	}
	return tables.MapOf(map[string][]string{principals[0]: tables.Entries(keys)})
}
