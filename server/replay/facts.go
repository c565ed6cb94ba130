package replay

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/writ-policy/writ/translator/change/statement"
)

// fact is something that a request lacks, with requests that have it.
type fact struct {
	name     string
	variants [][]byte
}

// lacking returns the facts that a request at the point access lacks and that its decisions
// mention.
func lacking(r *record, before, after statement.Verdict) []fact {
	if r.point != statement.PointAccess {
		return nil
	}
	mentions := func(text string) bool {
		return strings.Contains(string(before.Decision), text) || strings.Contains(string(after.Decision), text)
	}
	if !mentions("unavailable") && !mentions("unknown") && !mentions("undecidable") {
		return nil
	}
	var request map[string]any
	if err := json.Unmarshal(r.request, &request); err != nil {
		return nil // it is decided as valid
	}
	lacks := func(key string) bool { return request[key] == nil || request[key] == "" }
	var out []fact
	if mentions("pod spec unavailable") && lacks("pod") && lacks("podError") {
		out = append(out, vary("pod", request, "pod", map[string]any{"spec": safeSpec()}, map[string]any{"spec": riskySpec()}))
	}
	if mentions("namespace labels are unknown") && lacks("namespaceLabels") {
		out = append(out, vary("namespaceLabels", request, "namespaceLabels", map[string]any{}))
	}
	if mentions("undecidable") {
		if lacks("labels") {
			out = append(out, vary("labels", request, "labels", map[string]any{}))
		}
		if lacks("fields") {
			out = append(out, vary("fields", request, "fields", []any{}, []any{"other"}))
		}
		if lacks("attributes") {
			out = append(out, vary("attributes", request, "attributes", map[string]any{"minion": "a", "podMinion": "a"}, map[string]any{"minion": "a", "podMinion": "b"}))
		}
	}
	return out
}

func vary(name string, request map[string]any, key string, values ...any) fact {
	f := fact{name: name}
	for _, value := range values {
		with := maps.Clone(request)
		with[key] = value
		if text, err := json.Marshal(with); err == nil {
			f.variants = append(f.variants, text)
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
