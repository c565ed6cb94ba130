package replay

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/change/statement"
)

// fact is something that a request lacks, with requests that have it.
type fact struct {
	name     string
	variants []decision.Question
	// open states that the variants do not stand for every value.
	open bool
}

// lacking returns the facts that a request at the point access lacks and on which its
// decisions may rest.
func (o *Options) lacking(r *record, before, after statement.Verdict) []fact {
	if r.point != statement.PointAccess {
		return nil
	}
	mentions := func(text string) bool {
		return bytes.Contains(before.Decision, []byte(text)) || bytes.Contains(after.Decision, []byte(text))
	}
	if !mentions("unavailable") && !mentions("unknown") && !mentions("undecidable") {
		return nil
	}
	var request map[string]any
	if err := json.Unmarshal(r.request(), &request); err != nil {
		return nil // it is decided as valid
	}
	lacks := func(key string) bool { return request[key] == nil || request[key] == "" }
	var out []fact
	if mentions("pod spec unavailable") && lacks("pod") && lacks("podError") {
		out = append(out, vary("pod", request, false, map[string]any{"spec": safeSpec()}, map[string]any{"spec": riskySpec()}))
	}
	open := !o.Facts.Complete
	if mentions("namespace labels are unknown") && lacks("namespaceLabels") {
		out = append(out, vary("namespaceLabels", request, open, o.Facts.NamespaceLabels...))
	}
	if mentions("labelsContain undecidable") && lacks("labels") {
		out = append(out, vary("labels", request, open, o.Facts.Labels...))
	}
	if mentions("fieldsMutatable undecidable") && lacks("fields") {
		out = append(out, vary("fields", request, open, o.Facts.Fields...))
	}
	if restrictions := undecidable(before, after); len(restrictions) > 0 {
		nodes := []map[string]any{{"minion": "a", "podMinion": "a"}, {"minion": "a", "podMinion": "b"}}
		own := strings.TrimPrefix(r.user, "system:node:")
		nodes = append(nodes, map[string]any{"podMinion": own}, map[string]any{"podMinion": own + "-other"})
		if f := vary("attributes", request, restrictions[0] != "sameMinionRestriction" || len(restrictions) > 1, nodes...); lacks("attributes") || f.open {
			out = append(out, f)
		}
	}
	return out
}

var undecidableText = regexp.MustCompile(`rule \d+: ([^ "]+) undecidable`)

// undecidable returns the restrictions beside those of labels and fields that decisions
// name as undecidable: of nodes, CEL and extensions.
func undecidable(verdicts ...statement.Verdict) []string {
	var out []string
	for _, v := range verdicts {
		for _, found := range undecidableText.FindAllSubmatch(v.Decision, -1) {
			if name := string(found[1]); name != "labelsContain" && name != "fieldsMutatable" && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return out
}

// vary returns a fact with a request for each of some values.
func vary[V any](name string, request map[string]any, open bool, values ...V) fact {
	f := fact{name: name, open: open}
	for _, value := range values {
		with := maps.Clone(request)
		with[name] = value
		if q, err := decode(statement.PointAccess, statement.Encode(with)); err == nil {
			f.variants = append(f.variants, q)
		}
	}
	return f
}

func safeSpec() map[string]any {
	return map[string]any{"containers": []any{map[string]any{"name": "c"}}}
}

// riskySpec is a pod with every risk factor that does not name a capability of its own.
func riskySpec() map[string]any {
	return map[string]any{
		"hostNetwork": true, "hostPID": true, "hostIPC": true, "securityContext": map[string]any{"runAsUser": 0},
		"volumes": []any{map[string]any{"name": "h", "hostPath": map[string]any{"path": "/"}}},
		"containers": []any{map[string]any{
			"name":            "c",
			"securityContext": map[string]any{"privileged": true, "capabilities": map[string]any{"add": []any{"ALL"}}},
			"volumeMounts":    []any{map[string]any{"name": "h", "mountPath": "/h"}},
		}},
	}
}
