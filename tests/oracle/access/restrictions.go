package access

import (
	"strings"

	"github.com/writ-policy/writ/tests/oracle"
)

// holds is the conjunction of all that the restrictions say, and the names of
// those that cannot be decided. The names are empty unless the whole is undecidable.
func (s *Restrictions) holds(w *World, r oracle.Request) (oracle.Truth, []string) {
	if s == nil {
		return oracle.Yes, nil
	}
	whole := oracle.Yes
	var undecided []string
	and := func(name string, value oracle.Truth) {
		whole = min(whole, value)
		if value == oracle.Undecidable {
			undecided = append(undecided, name)
		}
	}
	if s.Fields != nil {
		and("fieldsMutatable", changesOnly(s.Fields, r))
	}
	if s.Labels != nil {
		and("labelsContain", hasLabels(s.Labels, r))
	}
	if s.Select != nil {
		and("fieldsSelect", hasFields(s.Select, r))
	}
	switch s.Kind {
	case "":
	case "sameMinionRestriction":
		and(s.Kind, sameMinion(r))
	case "cel":
		and(s.Kind, expressions[s.Params["expression"].(string)](r))
	default:
		and(s.Kind, w.extension(s, r))
	}
	if whole != oracle.Undecidable {
		return whole, nil
	}
	return whole, undecided
}

func changesOnly(paths []string, r oracle.Request) oracle.Truth {
	for _, verb := range carries(r) {
		switch verb {
		case "get", "list", "watch":
			return oracle.Yes
		case "update", "create":
			if r.Fields == nil {
				return oracle.Undecidable
			}
			for _, changed := range r.Fields {
				if !coveredBy(paths, changed) {
					return oracle.No
				}
			}
			return oracle.Yes
		}
	}
	return oracle.No
}

func coveredBy(paths []string, changed string) bool {
	changed = longPath(changed)
	for _, path := range paths {
		path = longPath(path)
		if changed == path || strings.HasPrefix(changed, path+".") || strings.HasPrefix(changed, path+"[") {
			return true
		}
	}
	return false
}

// longPath writes out the short first segments.
func longPath(path string) string {
	first := path
	if end := strings.IndexAny(path, ".["); end >= 0 {
		first = path[:end]
	}
	switch first {
	case "labels", "annotations", "finalizers", "ownerReferences":
		return "metadata." + path
	}
	return path
}

func hasLabels(entries []string, r oracle.Request) oracle.Truth {
	if r.Labels == nil {
		return ofSelected(requirements(r, "labelSelector"), entries, true)
	}
	for _, entry := range entries {
		key, want, exact := strings.Cut(entry, "=")
		got, there := r.Labels[key]
		if !there || exact && got != want {
			return oracle.No
		}
	}
	return oracle.Yes
}

func sameMinion(r oracle.Request) oracle.Truth {
	if !oracle.SameKind(r.Resource, "pods") || r.APIGroup != "" {
		return oracle.No
	}
	requester := requesterNode(r)
	pod, scheduled := podNode(r)
	switch {
	case !scheduled:
		return oracle.No
	case requester == "":
		return oracle.Undecidable
	case pod == "":
		return hasFields([]string{"spec.nodeName=" + requester}, r)
	}
	return oracle.Of(requester == pod)
}

func requesterNode(r oracle.Request) string {
	requester, isNode := strings.CutPrefix(r.User, "system:node:")
	if !isNode {
		requester, _ = r.Attributes["minion"].(string)
	}
	return requester
}

// podNode is the node a pod runs on, empty where that is not known; false means
// that it is known to run nowhere.
func podNode(r oracle.Request) (string, bool) {
	spec, there := r.Pod["spec"].(map[string]any)
	if r.PodError != "" {
		there = false // a pod with an error is not looked at
	}
	if node, _ := spec["nodeName"].(string); there && node != "" {
		return node, true
	}
	if node, _ := r.Attributes["podMinion"].(string); node != "" {
		return node, true
	}
	return "", !there
}

func (w *World) extension(s *Restrictions, r oracle.Request) oracle.Truth {
	switch result := w.Extensions[s.Kind](r, s.Params).(type) {
	case nil:
		return oracle.No
	case bool:
		return oracle.Of(result)
	}
	return oracle.Undecidable // "unknown", or a value without a meaning
}
